"""SIMULATED hospital discharges. No patient is behind them.

The file of the paper (California patient discharges, Los Angeles 2011) cannot be had here. Its
table 2 gives 13 columns and how many levels each has; these are the same here, 1.02·10¹² cells.
Everything else is *made up*: shares of the levels, and how the columns hang together. So nothing
here says anything about hospitals; it says how methods cope with a table like this one.

Columns are drawn one after the other, each given some of those before it: zip area → race →
ethnicity → age → sex → diagnostic category → medical or surgical → type of care → severity → length
of stay → charge; then who pays and where the patient goes. A categorical column is drawn from a
multinomial logit, length of stay and charge are rounded from log-normal numbers. Effects that have
no name are normal numbers from a fixed seed. A few values are lost at random.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", table 2, for names and numbers of levels.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Schema

Values = NDArray[np.float64]
States = NDArray[np.int64]

N_ROWS, N_CONTROL = 100_000, 20_000
SEED = 20_112_011

WORDS = (
    "Simulated rows, no real ones: 100,000 hospital discharges with the 13 columns and numbers of "
    "levels of the paper’s own table, which cannot be had, 1.02·10¹² cells. Shares and "
    "dependences are made up. Another 20,000 from the same population are held out."
)

AGES = np.array([*np.arange(2.5, 80, 5), 85.0, np.nan])
"""Years, by state; the last state is for those not known."""
STAYS = np.array([*np.arange(10.0), 20, 40, 60, 80, 100, np.nan])
"""Days, by state."""
CHARGES = np.array([1, 3, 5, 7, 9, *np.arange(12.5, 100, 5), 130, np.nan])
"""Thousands of dollars, by state."""

_AGE = (11, 2.2, 2, 3.8, 5.2, 6, 6, 5.4, 4.8, 5, 5.6, 6, 6.2, 6.2, 6, 5.8, 12.6)
_RACE = (45, 14, 1, 12, 1, 22, 5)
_ETHNICITY = (30, 60, 7, 3)
_ZIP = (19, 4, 8, 5, 3, 6, 4, 5, 9, 10, 7, 4, 6, 3, 2, 5)
_LOST = {"age": 0.004, "sex": 0.003, "los": 0.003, "charge": 0.02}

_DIAGNOSES = (
    # weight, age at the peak, width in years, log odds of women, log odds of surgery, days, dollars
    (5.5, 65, 30, 0.0, -1.2, 0.2, 0.2),  # nervous system
    (0.3, 60, 35, 0.0, 0.3, -0.4, -0.2),  # eye
    (1.2, 25, 40, 0.0, -0.3, -0.4, -0.2),  # ear, nose, mouth and throat
    (8.5, 70, 35, 0.0, -2.2, 0.2, 0.0),  # respiratory system
    (11.5, 75, 25, -0.2, -0.7, 0.0, 0.4),  # circulatory system
    (9.0, 55, 35, 0.0, -0.6, 0.0, 0.1),  # digestive system
    (3.0, 55, 30, 0.0, 0.0, 0.1, 0.2),  # liver, gall bladder and pancreas
    (7.0, 62, 28, 0.1, 1.6, 0.1, 0.6),  # bones and muscles
    (2.5, 50, 35, 0.0, -0.8, 0.1, -0.1),  # skin and breast
    (3.2, 55, 30, 0.2, -1.0, -0.1, -0.1),  # endocrine and metabolic
    (4.4, 65, 30, 0.1, -1.2, 0.0, 0.0),  # kidney and urinary tract
    (0.8, 60, 25, -9.0, 1.4, -0.3, 0.1),  # male reproductive system
    (1.8, 45, 18, 9.0, 1.9, -0.4, 0.1),  # female reproductive system
    (26.0, 28, 7, 9.0, -0.5, -0.3, -0.3),  # pregnancy and childbirth
    (85.0, 0, 3, 0.0, -4.0, -0.2, -1.6),  # newborns
    (1.2, 50, 40, 0.0, -2.5, 0.0, 0.1),  # blood
    (1.3, 55, 30, 0.0, -0.8, 0.5, 0.7),  # neoplasms elsewhere
    (3.6, 65, 30, 0.0, -1.4, 0.5, 0.5),  # infections
    (7.5, 38, 18, 0.0, -6.0, 0.8, -0.4),  # mental diseases
    (1.6, 42, 14, -0.5, -6.0, 0.3, -0.5),  # alcohol and drugs
    (1.6, 40, 30, 0.0, -1.0, -0.1, 0.0),  # injuries and poisoning
    (0.2, 35, 30, -0.4, 0.3, 0.7, 0.7),  # burns
    (3.0, 70, 25, 0.1, -2.5, 0.9, 0.1),  # rehabilitation and other
    (0.3, 30, 18, -0.9, 0.9, 0.8, 1.1),  # multiple trauma
    (0.4, 45, 14, -1.0, -2.2, 0.6, 0.4),  # HIV
)
_PSYCHIATRIC, _ADDICTED, _REHABILITATED, _NEWBORN = 18, 19, 22, 14


@cache
def schema() -> Schema:
    """The public schema: 13 columns, 1.02·10¹² cells."""
    return Schema.loads((files(__package__) / "discharges.toml").read_text(encoding="utf-8"))


@cache
def discharges() -> States:
    """States of the simulated discharges, always the same, shape (13, 120,000).

    The first 100,000 are the table; the others are held out.
    """
    states = drawn(N_ROWS + N_CONTROL, np.random.default_rng(SEED))
    found = np.stack([states[name] for name in schema().names])
    found.flags.writeable = False
    return found


def drawn(n: int, rng: np.random.Generator) -> dict[str, States]:
    """States of each column, shape (n,); effects without a name come from a seed of their own."""
    fixed = np.random.default_rng(SEED)
    states = {"patzip": _chosen(_logs(_ZIP), n, rng)}
    _add_people(states, n, rng, fixed)
    _add_illness(states, n, rng, fixed)
    _add_stay(states, n, rng)
    _add_outcome(states, n, rng, fixed)
    for name, share in _LOST.items():
        states[name][rng.random(n) < share] = schema().columns[name].size - 1
    return states


def _add_people(
    states: dict[str, States], n: int, rng: np.random.Generator, fixed: np.random.Generator
) -> None:
    """Race by zip area, ethnicity by both, age by ethnicity, sex by age."""
    areas = fixed.normal(0, 0.9, (16, 7))
    states["race"] = _chosen(_logs(_RACE) + areas[states["patzip"]], n, rng)
    latin = np.zeros((7, 4))
    latin[:, 0] = (0.6, -2.5, -0.5, -3.0, -1.5, 2.2, 0.3)
    nearby = np.outer(fixed.normal(0, 0.7, 16), (1, 0, 0, 0))
    score = _logs(_ETHNICITY) + latin[states["race"]] + nearby[states["patzip"]]
    states["ethncty"] = _chosen(score, n, rng)
    younger = np.outer((1.0, 0.0, 0.2, 0.0), -0.018 * (AGES[:-1] - 45))
    states["age"] = _chosen(_logs(_AGE) + younger[states["ethncty"]], n, rng)
    women = np.where((AGES[states["age"]] > 15) & (AGES[states["age"]] < 42), 0.75, 0.02)
    states["sex"] = (rng.random(n) < _share(women)).astype(np.int64)


def _add_illness(
    states: dict[str, States], n: int, rng: np.random.Generator, fixed: np.random.Generator
) -> None:
    """Diagnostic category by age and sex, surgery and type of care by it, then severity."""
    weight, peak, width, women, surgery, _, _ = np.array(_DIAGNOSES).T
    years = AGES[states["age"]][:, None]
    female = states["sex"][:, None]
    score = np.log(weight) - ((years - peak) / width) ** 2 / 2
    score += np.where(women > 0, women * (female - 1), women * female)
    score += fixed.normal(0, 0.15, (16, 25))[states["patzip"]]
    states["MDC"] = _chosen(score, n, rng)
    mdc = states["MDC"]
    states["cat"] = (rng.random(n) < _share(surgery[mdc] - 0.002 * years[:, 0])).astype(np.int64)
    states["typ"] = _chosen(_kinds_of_care()[mdc] + _aged(years[:, 0]), n, rng)
    ill = 0.03 * (years[:, 0] - 45) + 0.4 * states["cat"] + fixed.normal(0, 0.6, 25)[mdc]
    ill += rng.logistic(size=n) - 2.0 * (mdc == _NEWBORN)
    states["sev"] = (ill > 0.1).astype(np.int64) + (ill > 1.9)


def _kinds_of_care() -> Values:
    """Scores of the six types of care by diagnostic category: acute, skilled nursing, and so on."""
    score = np.tile([4.2, 0.2, -4.0, -5.0, -2.0, -1.5], (25, 1))
    score[_PSYCHIATRIC, 2], score[_ADDICTED, 3], score[_REHABILITATED, 4] = 5.2, 3.6, 4.0
    score[_NEWBORN, 1:] = -6.0
    return score


def _aged(years: Values) -> Values:
    """What age adds to the scores of the types of care: skilled nursing for the old."""
    return np.outer(0.035 * (years - 60), (0, 1, 0, 0, 0.3, 0.2))


def _add_stay(states: dict[str, States], n: int, rng: np.random.Generator) -> None:
    """Length of stay by severity, type of care and diagnosis; the charge by all of these."""
    days, dollars = np.array(_DIAGNOSES).T[5:]
    severe, surgical, mdc = states["sev"], states["cat"], states["MDC"]
    care = np.array([0.0, 1.2, 0.4, 0.5, 1.0, 0.2])[states["typ"]]
    stay = np.exp(0.85 + care + 0.35 * severe + 0.15 * surgical + days[mdc]
                  + rng.normal(0, 0.6, n))  # fmt: skip
    states["los"] = np.searchsorted((*range(1, 10), 10, 30, 50, 70, 90), stay, side="right")
    cost = np.exp(1.75 + 0.75 * np.log1p(stay) + 0.2 * severe + 0.65 * surgical + dollars[mdc]
                  - 0.7 * (states["typ"] > 0) + rng.normal(0, 0.45, n))  # fmt: skip
    states["charge"] = np.searchsorted((2, 4, 6, 8, *range(10, 101, 5)), cost, side="right")


def _add_outcome(
    states: dict[str, States], n: int, rng: np.random.Generator, fixed: np.random.Generator
) -> None:
    """Who pays, by age, ethnicity and zip area; where the patient goes, by age and severity."""
    years = AGES[states["age"]]
    pays = np.tile([-1.5, 0.0, 0.6, -2.0, -1.6, -1.4, -1.2, -0.9, -3.0], (n, 1))
    pays[:, 0] += np.where(years > 65, 5.0, 0.02 * (years - 30))
    pays[:, 1] += 0.9 * (states["ethncty"] == 0) + 0.9 * (years < 20)
    pays += fixed.normal(0, 0.5, (16, 9))[states["patzip"]]
    states["pay"] = _chosen(pays, n, rng)
    goes = np.tile([3.0, -0.6, -1.6, 0.0, 0.2, -2.2, -1.4, -1.1, -2.0, -2.6, -1.8, -3.5, -3.0],
                   (n, 1))  # fmt: skip
    older, severe = 0.03 * (years - 60), states["sev"] - 0.5
    goes[:, 3] += 1.2 * older + 0.5 * severe + 0.6 * (states["los"] > 5)
    goes[:, 4] += 0.8 * older + 0.3 * severe + 0.5 * states["cat"]
    goes[:, 7] += 1.1 * older + 1.4 * severe
    goes += fixed.normal(0, 0.4, (6, 13))[states["typ"]]
    states["disp"] = _chosen(goes, n, rng)


def _logs(shares: tuple[float, ...]) -> Values:
    return np.log(np.array(shares, dtype=np.float64))


def _share(score: Values) -> Values:
    return np.asarray(1 / (1 + np.exp(-score)))


def _chosen(score: Values, n: int, rng: np.random.Generator) -> States:
    """A level for each record, from scores of shape (levels,) or (n, levels)."""
    size = score.shape[-1]
    return np.asarray(np.argmax(score + rng.gumbel(size=(n, size)), axis=1), dtype=np.int64)
