"""Means of numbers kept to measured sums: how far records are moved, and when they are not."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.released import Noise, NoisyProducts, NoisyTable
from understudy.features.scores import FeatureMap
from understudy.mechanisms.second_moments import ONE, stack_sums
from understudy.methods.marginals import Marginals
from understudy.methods.measured_sums import moved_by_sums, number_sums

VALUES = 21
SCHEMA = us.Schema.loads(
    f"""
[columns.visits]
kind = "integer"
lower = 0
upper = {VALUES - 1}
bins = {VALUES}
missing = [-1]
reviewed = true
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
"""
)
NAMES = ("visits", "sex")
RNG = np.random.default_rng(5)
ROWS = pl.DataFrame(
    {
        "visits": np.where(RNG.random(4000) < 0.1, -1, np.minimum(RNG.geometric(0.2, 4000), 20)),
        "sex": RNG.choice(["f", "m"], 4000),
    }
)
TRUTH = np.array([(ROWS["visits"] == k).sum() for k in [*range(VALUES), -1]], dtype=float)


def noise(stddev):
    return Noise("discrete_gaussian", str(stddev**2), stddev)


def products(stddev=1.0, limits=(0, 20), **more):
    """Second moments without noise; their noise is said to be of such a deviation."""
    scores = FeatureMap.of(SCHEMA, NAMES, limits={"visits": limits})
    exact = Table(ROWS, SCHEMA).score_products(scores).expose()
    values = stack_sums(exact, scores) / ONE
    return NoisyProducts(NAMES, values, noise(stddev), limits={"visits": limits}, **more)


def table(counts, stddev, **more):
    return NoisyTable(("visits",), counts, more.pop("outside", 0.0), noise(stddev), **more)


def moved(masses, tables, sums):
    return moved_by_sums(SCHEMA, tables, {}, {"visits": masses}, sums).get("visits")


def places(limits=(0, 20)):
    low, high = limits
    return (np.clip(np.arange(VALUES), low, high) - low) / (high - low)


@pytest.mark.parametrize("limits", [(0, 20), (2, 9)])
def test_the_measured_sum_is_that_of_numbers_cut_off(limits):
    (found,) = number_sums([products(limits=limits)], SCHEMA).values()
    exact = float(TRUTH[:-1] @ (2 * places(limits) - 1))
    assert found.value == pytest.approx(exact, abs=1)
    assert found.limits == limits


def test_of_several_sums_the_most_precise_counts():
    found = number_sums([products(9.0), products(3.0), products(6.0)], SCHEMA)
    assert found["visits"].noise.stddev == 3.0


def test_moments_of_some_records_tell_nothing_of_all():
    assert not number_sums([replace(products(), complete=("visits",))], SCHEMA)


def test_a_column_of_one_value_has_no_sum_to_keep_to():
    """Its limits coincide, so no place between them is anywhere."""
    schema = us.Schema.loads(
        """
        [columns.wave]
        kind = "integer"
        lower = 3
        upper = 3
        reviewed = true
        [columns.sex]
        kind = "categorical"
        levels = ["f", "m"]
        reviewed = true
        """
    )
    rows = pl.DataFrame({"wave": [3] * 4000, "sex": ["f", "m"] * 2000})
    release = us.synthesize(rows, schema, epsilon=2, delta="1e-6", budget={"answers": 0.3})
    assert set(release.sets[0]["wave"].drop_nulls()) == {3}


@pytest.mark.parametrize("limits", [(0, 20), (2, 9)])
def test_records_take_a_sum_without_noise_as_it_is(limits):
    sums = number_sums([products(1e-6, limits)], SCHEMA)
    estimate = TRUTH[::-1].copy()
    estimate[[0, -1]] = estimate[[-1, 0]]
    found = estimate + moved(estimate, [table(estimate, 30.0)], sums)
    # Of a code of absence noise leaves how many there are unknown: then the sum says less.
    known = replace(table(estimate, 30.0), counts=estimate)
    assert found.sum() == pytest.approx(estimate.sum())
    assert found[-1] == estimate[-1]
    lacking = TRUTH[:-1] @ places(limits) - estimate[:-1] @ places(limits)
    taken = moved(estimate, [known], sums)[:-1] @ places(limits)
    assert 0.9 < taken / lacking <= 1.001


def test_sums_are_put_together_by_precision():
    """Over draws of all noise, the variance is that of the mean by precision, within a fifth.

    600 draws: a ratio of variances is off by more than a fifth once in 2,000 times.
    """
    rng, stddev, of_sum = np.random.default_rng(8), 20.0, 40.0
    measured = number_sums([products(of_sum)], SCHEMA)["visits"]
    place, estimates = places(), []
    for _ in range(600):
        noisy = TRUTH + rng.normal(0, stddev, TRUTH.shape)
        noisy[-1] = TRUTH[-1]  # how many have a number is known here
        noisy[:-1] *= TRUTH[:-1].sum() / noisy[:-1].sum()
        masses = np.maximum(noisy, 1.0)
        again = {"visits": measured.resample(rng)}
        found = masses + moved(masses, [table(noisy, stddev)], again)
        estimates.append([one[:-1] @ place / one[:-1].sum() for one in (masses, found)])
    counted, both = np.var(np.array(estimates) * TRUTH[:-1].sum(), axis=0)
    told = measured.stddev**2 / 4
    expected = counted * told / (counted + told)
    assert expected < 0.75 * min(counted, told)
    assert 0.8 < both / expected < 1.25


def test_noise_that_is_drawn_again_has_its_own_scale():
    measured = number_sums([products(7.0)], SCHEMA)["visits"]
    rng = np.random.default_rng(2)
    drawn = [measured.resample(rng).value for _ in range(2000)]
    assert np.std(drawn) == pytest.approx(measured.stddev, rel=0.07)


def test_a_column_with_records_out_of_domain_stays():
    sums, strays = number_sums([products()], SCHEMA), table(TRUTH, 5.0, outside=300.0)
    assert moved(TRUTH, [strays], sums) is None


def test_runs_that_were_counted_leave_less_to_move():
    """A run has one count with the noise of one state, so that the estimate is better known."""
    sums = number_sums([products(60.0)], SCHEMA)
    estimate = TRUTH * np.append(np.linspace(1.2, 0.8, VALUES), 1)
    groups = {"visits": (*(np.arange(VALUES) // 5).tolist(), 5)}
    over = table(np.bincount(groups["visits"], estimate), 10.0, groups=groups)
    alone, both = (
        np.abs(moved(estimate, tables, sums)).sum()
        for tables in ([table(estimate, 60.0)], [table(estimate, 60.0), over])
    )
    assert 0 < both < 0.7 * alone


def test_records_of_a_model_have_the_measured_mean():
    """Tables of a shape that the rows do not have, and a sum that is theirs."""
    estimate = TRUTH.copy()
    estimate[:-1] *= np.linspace(1.1, 0.8, VALUES)
    estimate *= TRUTH.sum() / estimate.sum()
    sexes = NoisyTable(("sex",), np.array([2000.0, 2000.0]), 0.0, noise(25.0))
    model = Marginals().rebuilt(
        SCHEMA, [table(estimate, 25.0), sexes], len(ROWS), [products(0.01, (0, 12))]
    )
    states, cut = model.sample(len(ROWS), np.random.default_rng(1)).states[0], places((0, 12))
    drawn = np.bincount(states, minlength=VALUES + 1)[:-1]
    means = [one @ cut / one.sum() for one in (TRUTH[:-1], estimate[:-1], drawn)]
    assert abs(means[2] - means[0]) < 0.2 * abs(means[1] - means[0])
