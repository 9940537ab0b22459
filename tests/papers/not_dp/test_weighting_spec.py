"""Forms of record weights: public numbers, and count weights of a column with spikes and codes."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.errors import MethodError
from understudy.features.grids import Drawn
from understudy.papers.record_weights import Weighting, isolation_weights
from understudy.schema import Schema

INCOME = Schema.loads("""
row_limit = 10
[columns.income]
kind = "continuous"
lower = -100
upper = 100
bins = 4
spikes = [0, 50]
missing = ["?", "refused"]
""").columns["income"]
BINS = [k for k, one in enumerate(INCOME.intervals) if not one.spike]
SPIKES = {one.low: k for k, one in enumerate(INCOME.intervals) if one.spike}
CODES = range(INCOME.n_ordinary, INCOME.size)

WRONG = {
    "scale": {"scale": -0.1},
    "no scale": {"scale": np.nan},
    "shift": {"shift": np.inf},
    "level": {"level": 0.0},
    "level above 1": {"level": 1.01},
    "bound": {"bound": 0.0},
    "radius": {"radius": -1.0},
    "reweight": {"reweight": 1.5},
    "an intruder of other weights": {"columns": ("sex",)},
    "nothing to raise": {"form": "unweighted", "reweight": 0.9},
}


@pytest.mark.parametrize("numbers", WRONG.values(), ids=WRONG)
def test_numbers_out_of_range_are_refused(numbers):
    with pytest.raises(MethodError):
        Weighting(**numbers)


def test_only_two_forms_look_at_the_plain_posterior():
    forms = ("unweighted", "vector", "scalar", "count")
    assert [Weighting(form=form).compares for form in forms] == [False, True, True, False]


def drawn(values):
    """A column of numbers, of spikes among them, and of codes (as text)."""
    states, numbers = [], []
    for value in values:
        special = CODES[INCOME.codes.index(value)] if value in INCOME.codes else SPIKES.get(value)
        states.append(BINS[0] if special is None else special)
        numbers.append(value if special is None else np.nan)
    return Drawn(np.array(states, dtype=np.int64), np.array(numbers, dtype=np.float64))


def slow_weights(values, patterns, radius):
    """The definition, pair by pair: equal codes are near each other, codes and numbers never."""

    def near(mine, other):
        if isinstance(mine, str) or isinstance(other, str):
            return mine == other
        return abs(other - mine) <= radius * abs(mine)

    found = []
    for value, pattern in zip(values, patterns, strict=True):
        alike = [one for one, p in zip(values, patterns, strict=True) if p == pattern]
        found.append(sum(near(value, one) for one in alike) / len(alike))
    return found


@pytest.mark.parametrize("radius", [0.0, 0.2, 1.5])
def test_count_weights_are_those_of_all_pairs(radius):
    rng = np.random.default_rng(4)
    values = [*np.round(rng.uniform(-100, 100, 60), 0), *[0.0] * 9, *[50.0] * 6, *["?"] * 5]
    values += ["refused"] * 4
    values = [values[k] for k in rng.permutation(len(values))]
    sex, region = (rng.integers(0, k, len(values)) for k in (2, 3))
    found = isolation_weights(INCOME, drawn(values), [Drawn(sex), Drawn(region)], radius)
    expected = slow_weights(values, list(zip(sex, region, strict=True)), radius)
    assert np.allclose(found, expected, rtol=0, atol=1e-12)
    assert len(set(expected)) > 5


def test_without_predictors_all_records_have_one_pattern():
    found = isolation_weights(INCOME, drawn([10.0, 11.0, 90.0, "?"]), [], 0.2)
    assert found.tolist() == [0.5, 0.5, 0.25, 0.25]


def test_no_records_have_no_weights():
    nobody = Drawn(np.zeros(0, dtype=np.int64))
    assert isolation_weights(INCOME, drawn([]), [nobody], 0.2).shape == (0,)
