"""Gini coefficients: exact without noise, within their error with it, wherever numbers lie."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.errors import InferenceError
from understudy.inference.noisy_tables import NoisyCounts, Sources
from understudy.inference.number_line import line_gini
from understudy.inference.question import parse
from understudy.inference.refusals import RefusedError
from understudy.inference.second_moments import LostInNoiseError

N, REPETITIONS = 2_000, 400
HOURS = us.Schema.loads(column("hours", "integer", lower=0, upper=60, bins=61))
PAY = us.Schema.loads(column("pay", "continuous", lower=0, upper=100_000, decimals=0, bins=50))
SHOWN = {"hours": np.full(2, 20.0), "pay": np.full(2, 15_000.0)}


def gini(numbers):
    """Half the mean distance of two over the mean, of sorted numbers."""
    ordered = np.sort(numbers.astype(float))
    n = len(ordered)
    return (2 * np.arange(1, n + 1) - n - 1) @ ordered / n / ordered.sum()


def heaped(rng, n=N):
    """A quarter without hours, most others at tens."""
    hours = np.clip(rng.normal(35, 12, n), 0, 60).round()
    hours = np.where(rng.random(n) < 0.6, (hours / 10).round() * 10, hours)
    return np.where(rng.random(n) < 0.25, 0, hours).astype(int)


def skewed(rng, n=N):
    return np.minimum(rng.lognormal(9.5, 0.8, n), 100_000).round()


def cells_of(numbers, schema, stddev=0.0, rng=None):
    """Counts of each cell with normal noise, of which the first two share some."""
    (own,) = schema.columns.values()
    lows = np.array([one.low for one in own.intervals])
    counts = np.bincount(np.searchsorted(lows, numbers, side="right") - 1, minlength=own.size)
    gain = np.zeros((own.size, 1))
    gain[:2, 0] = 0.5, -0.5
    each = Sources.independent(np.full(own.size, stddev**2), np.arange(own.size), own.size)
    sources = each.with_sums(gain, np.zeros((1, own.size)), np.array([stddev**2]))
    mix = sources.weights(np.eye(own.size))
    noise = 0.0 if rng is None else stddev * mix @ rng.standard_normal(own.size + 1)
    return NoisyCounts(counts + noise, mix**2 @ sources.variances, sources)


def answer(numbers, schema, stddev=0.0, rng=None, formula=None, shown=None):
    (name,) = schema.names
    estimand = parse("gini", formula or name, schema)
    counts = cells_of(numbers, schema, stddev, rng)
    return line_gini(estimand, counts, schema, 1, SHOWN[name] if shown is None else shown)


def test_exact_counts_of_each_number_have_it():
    numbers = heaped(np.random.default_rng(3))
    found = answer(numbers, HOURS)
    assert found.pooled.estimate[0] == pytest.approx(gini(numbers), rel=1e-9)
    assert found.pooled.names == ("Gini coefficient of hours",)
    assert not found.varied
    assert np.isnan(found.pooled.pvalue).all()
    same = answer(numbers, HOURS, formula="hours / 8").pooled
    assert same.estimate == pytest.approx(found.pooled.estimate)
    assert same.stderr == pytest.approx(found.pooled.stderr)


@pytest.mark.parametrize("stddev", [0.0, 6.0, 15.0])
@pytest.mark.parametrize("draw", [heaped, skewed])
@pytest.mark.nightly
def test_intervals_cover(draw, stddev):
    """Of the population, with the bound for cells where there are any."""
    rng, hits = np.random.default_rng(7), 0
    schema, repetitions = (HOURS, REPETITIONS) if draw is heaped else (PAY, 100)
    truth = gini(draw(np.random.default_rng(8), 2_000_000))
    for _ in range(repetitions):
        (low,), (high,) = answer(draw(rng), schema, stddev, rng).pooled.interval()
        hits += low <= truth <= high
    assert hits / repetitions >= 0.95 - 4.5 * np.sqrt(0.95 * 0.05 / repetitions)


@pytest.mark.parametrize("stddev", [6.0, 15.0])
@pytest.mark.nightly(every=2)
def test_the_error_is_as_large_as_it_says(stddev):
    """No bias by the noise, which is squared, and no standard error that is far too large."""
    rng = np.random.default_rng(9)
    truth = gini(heaped(np.random.default_rng(8), 2_000_000))
    found = [answer(heaped(rng), HOURS, stddev, rng).pooled for _ in range(REPETITIONS)]
    errors = np.array([one.estimate[0] - truth for one in found])
    stderr = np.median([one.stderr[0] for one in found])
    assert abs(errors.mean()) < 0.3 * stderr
    assert 0.8 < errors.std() / stderr < 1.25


def test_wherever_in_its_cell_a_number_lies_the_interval_holds_it():
    """At the low ends, at the high ends, at both, and where the extremes move apart or together."""
    rng = np.random.default_rng(1)
    counts = cells_of(skewed(rng), PAY)
    lows = np.array([one.low for one in PAY.columns["pay"].intervals])
    highs = np.append(lows[1:], 100_001) - 1
    n = counts.counts.astype(int)
    own = line_gini(parse("gini", "pay", PAY), counts, PAY, 1, SHOWN["pay"]).pooled
    low, high = own.estimate[0] - own.bias[0], own.estimate[0] + own.bias[0]
    upper = np.arange(len(n)) >= np.searchsorted(n.cumsum(), 0.7 * N)
    placed = [
        np.repeat(lows, n),
        np.repeat(highs, n),
        np.where(rng.random(N) < 0.5, np.repeat(lows, n), np.repeat(highs, n)),
        np.repeat(np.where(upper, highs, lows), n),
        np.repeat(np.where(upper, lows, highs), n),
    ]
    values = [gini(one) for one in placed]
    assert all(low <= value <= high for value in values)
    assert max(values) - min(values) > own.bias[0]  # so the bound is no tenfold one


def test_of_those_that_meet_a_condition_on_the_number_cells_have_it():
    numbers = heaped(np.random.default_rng(3))
    found = answer(numbers, HOURS, formula="hours where hours > 0")
    assert found.pooled.estimate[0] == pytest.approx(gini(numbers[numbers > 0]), rel=1e-9)
    assert found.dropped == (numbers == 0).sum()


def test_what_noise_hides_or_is_below_zero_is_refused():
    rng = np.random.default_rng(2)
    with pytest.raises(LostInNoiseError, match="add up to too little"):
        answer(heaped(rng), HOURS, 40.0, rng, shown=np.full(2, 0.5))
    with pytest.raises(InferenceError, match="never below 0"):
        answer(heaped(rng), HOURS, formula="hours - 1")
    with pytest.raises(InferenceError, match="does not tell the order"):
        answer(skewed(rng), PAY, formula="abs(pay - 5000)")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    return pl.DataFrame({"hours": heaped(rng, 4_000), "sex": rng.choice(["f", "m"], 4_000)})


def released(rows, **asked):
    schema = us.Schema.loads(
        column("hours", "integer", lower=0, upper=60, bins=61)
        + column("sex", "categorical", levels=["f", "m"])
    )
    return us.synthesize(rows, schema, epsilon=2, insecure_noise_seed=1, **asked)


def test_a_release_with_number_lines_answers_it(rows):
    found = us.analyze(released(rows, delta="1e-6"), "gini", "hours")
    lower, upper = found.pooled.interval()
    assert lower[0] <= gini(rows["hours"].to_numpy()) <= upper[0]
    assert upper[0] - lower[0] < 0.1
    assert found.limits == (0.0, 1.0)


def test_one_without_says_what_buys_the_line(rows):
    alone = released(rows, method="independent")
    with pytest.raises(RefusedError, match="buys the line of hours") as refused:
        us.analyze(alone, "gini", "hours")
    assert refused.value.advice.command.endswith("--epsilon 2 --budget lines=0.1")
    bought = released(rows, method="independent", budget={"lines": "0.1"})
    assert us.analyze(bought, "gini", "hours").valid
    with pytest.raises(RefusedError, match="No request to the publisher"):
        us.analyze(alone, "gini", "hours ~ sex")
