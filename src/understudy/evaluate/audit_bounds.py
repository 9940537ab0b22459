"""Lower bounds on what a release costs, from how often an event happens under two tables.

If a mechanism is (ε, δ)-private, an event of probability p under one table has at least
(p − δ) e^−ε under its neighbour; if it is μ-Gaussian private, at least Φ(Φ⁻¹(p) − μ). Turned round,
two frequencies bound ε and μ from below. Both probabilities are bounded exactly (Clopper & Pearson
1934), each at half of the error, so that a bound is above the truth with a probability of at most
that error.

Sources:
    Dong, Roth & Su (2022), "Gaussian Differential Privacy", Journal of the Royal Statistical
    Society B 84, definition 3; Jagielski, Ullman & Oprea (2020), "Auditing Differentially Private
    Machine Learning", section 3.

**An event that tells releases of one table from those of its neighbour, learned from releases.**

What is learned on a quarter of the releases (scores) and on another (where to cut which of them) is
tested on the half that neither has seen, so that the bound holds whatever was learned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from understudy._parallel import single_threaded

Unit = Literal["epsilon", "mu"]
BOUND, ALARM = 0.05, 1e-6
"""Error of a stated lower bound, and of an alarm."""


@dataclass(frozen=True)
class Stated:
    """The promise of a release, as far as an audit asks.

    Attributes:
        unit: what is bounded.
        value: ε or μ.
        delta: δ, beside an ε; 0 beside a μ.
    """

    unit: Unit
    value: float
    delta: float = 0.0


def at_least(times: ArrayLike, n: int, error: float) -> NDArray[np.float64]:
    """Lower bound on a probability, at an error, by how often an event happened in n trials."""
    hits = np.asarray(times, dtype=np.float64)
    found = betaincinv(np.maximum(hits, 1), n - hits + 1, error)
    return np.where(hits == 0, 0.0, found)


def at_most(times: ArrayLike, n: int, error: float) -> NDArray[np.float64]:
    """Upper bound on a probability, at an error, by how often an event happened in n trials."""
    hits = np.asarray(times, dtype=np.float64)
    found = betaincinv(hits + 1, np.maximum(n - hits, 1), 1 - error)
    return np.where(hits == n, 1.0, found)


def lower_bound(
    times: ArrayLike, others: ArrayLike, n: int, stated: Stated, error: float = BOUND
) -> NDArray[np.float64]:
    """Compute what an event shows ε or μ to be at least; never below 0.

    Args:
        times: how often it happened under one table.
        others: how often it happened under the other.
        n: releases of each.
        stated: in which unit, and beside which δ.
        error: probability with which the bound may be too high.

    Example:
        >>> round(float(lower_bound(7311, 2689, 10_000, Stated("epsilon", 1.0))), 2)
        0.96
    """
    likely, rare = at_least(times, n, error / 2), at_most(others, n, error / 2)
    if stated.unit == "mu":
        return np.asarray(np.maximum(0.0, ndtri(likely) - ndtri(rare)))
    with np.errstate(divide="ignore"):
        shown = np.log(np.maximum(likely - stated.delta, 0.0)) - np.log(rare)
        return np.asarray(np.maximum(0.0, shown))


def reach(n: int, stated: Stated) -> float:
    """The lower bound that so many releases show of the hardest mechanism that keeps the promise.

    Under it the best event has the probabilities of randomised response (ε), or of two normal
    distributions at a distance of μ, cut in the middle.

    Args:
        n: releases of each table.
        stated: the promise.
    """
    if stated.unit == "mu":
        likely = 0.5 * math.erfc(-stated.value / 2 / math.sqrt(2))
    else:
        likely = 1 / (1 + math.exp(-stated.value))
    rare = 1 - likely
    return float(lower_bound(round(likely * n), round(rare * n), n, stated))


_SINGLE = 24
"""Numbers of a release that are tried alone: those that differ most."""
_CUTS = 60
_LEARNED = 400
"""Fewest releases of a table from which several numbers are weighed together."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Shown:
    """The frequency of an event on releases that it was not learned from.

    Attributes:
        bound: lower bound on ε or μ that is too high in 5 of 100 audits at most.
        certain: the same, in one of a million.
        event: in words.
        times: how often it happened under the table where it is likely, and under the other.
        n: releases of each table that were asked.
    """

    bound: float
    certain: float
    event: str
    times: tuple[int, int]
    n: int


@dataclass(frozen=True)
class _Score:
    """A number that each release gets.

    Attributes:
        name: of the number.
        choosing: values of both tables where events are chosen.
        testing: values of both tables where they are tested.
    """

    name: str
    choosing: tuple[NDArray[np.float64], NDArray[np.float64]]
    testing: tuple[NDArray[np.float64], NDArray[np.float64]]


def distinguish(one: Matrix, other: Matrix, names: tuple[str, ...], stated: Stated) -> Shown:
    """Learn an event, and test it.

    Args:
        one: releases of one table, shape (n, numbers), in the order in which they were made.
        other: as many of its neighbour.
        names: of the numbers.
        stated: what is promised.
    """
    quarter, half = len(one) // 4, len(one) // 2
    parts = slice(0, quarter), slice(quarter, half), slice(half, 2 * half)
    learning, choosing, testing = ((one[part], other[part]) for part in parts)
    best, event = -1.0, None
    for score in _scores(learning, choosing, testing, names):
        found, cut, sign, side = _best_event(score.choosing, stated)
        if found > best:
            best, event = found, (score, cut, sign, side)
    assert event is not None
    score, cut, sign, side = event
    hits = [int(np.count_nonzero(sign * values >= cut)) for values in score.testing]
    likely, rare = hits[side], hits[1 - side]
    n = len(testing[0])
    text = f"{score.name} {'≥' if sign > 0 else '≤'} {sign * cut:.4g}"
    return Shown(
        bound=float(lower_bound(likely, rare, n, stated, BOUND)),
        certain=float(lower_bound(likely, rare, n, stated, ALARM)),
        event=text,
        times=(likely, rare),
        n=n,
    )


def _best_event(
    values: tuple[NDArray[np.float64], NDArray[np.float64]], stated: Stated
) -> tuple[float, float, int, int]:
    """The bound, cut, direction and likelier table of the event that shows most."""
    n = len(values[0])
    together = np.concatenate(values)
    best = (-1.0, 0.0, 1, 0)
    for sign in (1, -1):
        cuts = np.unique(np.quantile(sign * together, np.linspace(0, 1, _CUTS), method="higher"))
        hits = [n - np.searchsorted(np.sort(sign * part), cuts, side="left") for part in values]
        for side in (0, 1):
            bounds = lower_bound(hits[side], hits[1 - side], n, stated)
            k = int(np.argmax(bounds))
            best = max(best, (float(bounds[k]), float(cuts[k]), sign, side))
    return best


def _scores(
    learning: tuple[Matrix, Matrix],
    choosing: tuple[Matrix, Matrix],
    testing: tuple[Matrix, Matrix],
    names: tuple[str, ...],
) -> Iterator[_Score]:
    """Single numbers, and two ways to weigh all of them together."""
    spread = np.sqrt(learning[0].var(axis=0) + learning[1].var(axis=0)) + 1e-9
    apart = np.abs(learning[0].mean(axis=0) - learning[1].mean(axis=0)) / spread
    for k in np.argsort(-apart, kind="stable")[:_SINGLE]:
        columns = [
            tuple(np.asarray(part[:, k], dtype=np.float64) for part in parts)
            for parts in (choosing, testing)
        ]
        yield _Score(names[k], (columns[0][0], columns[0][1]), (columns[1][0], columns[1][1]))
    if len(learning[0]) < _LEARNED:
        return
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.concatenate(learning)
    which = np.repeat([0, 1], [len(part) for part in learning])
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    trees = HistGradientBoostingClassifier(max_iter=80, max_depth=4, random_state=0)
    for name, model in (("weighed together", linear), ("by trees", trees)):
        with single_threaded():  # several threads wait for each other, busily, over small tables
            model.fit(rows, which)
            scored = [[_score_rows(model, part) for part in parts] for parts in (choosing, testing)]
        yield _Score(name, (scored[0][0], scored[0][1]), (scored[1][0], scored[1][1]))


def _score_rows(model: object, rows: Matrix) -> NDArray[np.float64]:
    return np.asarray(model.decision_function(rows), dtype=np.float64)  # type: ignore[attr-defined]
