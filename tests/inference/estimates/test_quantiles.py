"""Quantiles of discrete columns and of bins: intervals that cover, from counts and from sets.

`pytest -s` prints the measured coverage. 95 % intervals; each assertion allows 4.5 Monte Carlo
standard errors below 95 %, a false alarm in 300,000 where the coverage is exactly 95 %.
"""

import sys
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.optimize import isotonic_regression

import understudy as us
from schemas import column
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InferenceError
from understudy.inference.bin_bias import Ranges, record_ranges, value_ranges
from understudy.inference.noisy_tables import NoisyCounts
from understudy.inference.quantiles import Curve, counted_curve, counted_estimate
from understudy.inference.question import parse
from understudy.inference.records import Records
from understudy.inference.refusals import RefusedError
from understudy.inference.set_answers import set_steps

REPETITIONS = 2_000
LEAST = 0.95 - 4.5 * np.sqrt(0.95 * 0.05 / REPETITIONS)

DISTRIBUTIONS = {
    "even": np.full(6, 1 / 6),
    "falling": np.array([0.55, 0.2, 0.12, 0.08, 0.04, 0.01]),
    "heaped": np.array([0.02, 0.03, 0.9, 0.02, 0.02, 0.01]),
    "on the edge": np.array([0.1, 0.4, 0.3, 0.1, 0.09, 0.01]),  # F is just .5 and .9 at a value
    "rare top": np.array([0.985, 0.004, 0.004, 0.003, 0.002, 0.002]),
}


def exact(values):
    """Cells with one value each."""
    values = np.asarray(values, dtype=float)
    k = len(values)
    return Ranges(("x",), np.zeros(k, dtype=int), values, values, values, np.arange(k))


def true_quantile(distribution, p):
    return int(np.searchsorted(distribution.cumsum(), p - 1e-9))


def noisy_counts(distribution, n, epsilon, repetitions, seed):
    """Noisy tables of samples, and the variance of the noise."""
    rng = np.random.default_rng(seed)
    noise = DiscreteLaplace(Fraction(1) / Fraction(str(epsilon)))
    drawn = noise.sample(repetitions * len(distribution), SeededRandomness(seed)).reshape(
        repetitions, -1
    )
    return rng.multinomial(n, distribution, repetitions) + drawn.astype(float), noise.stddev**2


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_intervals_from_noisy_counts_cover(name):
    distribution, lines = DISTRIBUTIONS[name], [""]
    for n in (200, 1_000, 5_000):
        for epsilon in (0.5, 1, 5):
            counts, variance = noisy_counts(distribution, n, epsilon, REPETITIONS, n)
            table = NoisyCounts(counts, np.full(len(distribution), variance))
            for p in (0.1, 0.5, 0.9):
                curve = counted_curve(table, np.arange(6), exact(range(6)), p, heavy=True)
                low, high = curve.interval(0.95)
                truth = true_quantile(distribution, p)
                covered = ((low <= truth) & (truth <= high)).mean()
                said = f"{covered:.3f}, {np.mean(high - low) + 1:.2f} values"
                lines.append(f"{name:12} n {n:5} ε {epsilon:3} p {p}: {said}")
                assert covered >= LEAST, lines[-1]
                assert (low <= high).all()
    sys.stdout.write("\n".join(lines) + "\n")


def test_the_errors_that_a_symmetric_interval_makes_are_seen():
    """On the edge of a heap the estimate ± 1.96 Woodruff errors leaves the median out."""
    distribution, n = DISTRIBUTIONS["on the edge"], 5_000
    counts, _ = noisy_counts(distribution, n, 5, REPETITIONS, 1)
    shares = counts.cumsum(axis=1) / counts.sum(axis=1, keepdims=True)
    reach = 1.96 * np.sqrt(0.25 / n)
    middle, low, high = ((shares < p).sum(axis=1) for p in (0.5, 0.5 - reach, 0.5 + reach))
    half = (high - low) / 2
    assert np.mean(np.abs(middle - true_quantile(distribution, 0.5)) <= half) < LEAST


def test_noise_of_one_cell_is_given_its_tails():
    """One Laplace variable beyond 1.96 standard deviations: 93.7 % would be covered, not 95."""
    noise = DiscreteLaplace(Fraction(1_000))
    drawn = noise.sample(20_000, SeededRandomness(3)).astype(float)
    counts = np.stack([5_000 + drawn, np.full(20_000, 5_000.0)], axis=1)
    table = NoisyCounts(counts, np.array([noise.stddev**2, 0.0]))
    curve = counted_curve(table, np.arange(2), exact([0, 1]), 0.5, heavy=True)
    thin = counted_curve(table, np.arange(2), exact([0, 1]), 0.5, heavy=False)
    least = 0.95 - 4.5 * np.sqrt(0.05 * 0.95 / 20_000)
    assert np.mean(np.abs(curve.least.excess[:, 0]) <= curve.least.critical(0.95)[:, 0]) >= least
    assert np.mean(np.abs(thin.least.excess[:, 0]) <= thin.least.critical(0.95)[:, 0]) < least


def test_bins_are_covered_as_a_whole():
    """Numbers heaped at the low end of each bin: any within-bin rule errs, whole bins cannot."""
    edges = np.array([0.0, 10, 20, 50, 100])
    distribution = np.array([0.4, 0.3, 0.2, 0.1])
    k = np.arange(4)
    ranges = Ranges(("x",), np.zeros(4, dtype=int), edges[:-1], edges[1:], edges[:-1] + 1, k)
    for n, epsilon in ((200, 1), (5_000, 5)):
        counts, variance = noisy_counts(distribution, n, epsilon, REPETITIONS, 7)
        table = NoisyCounts(counts, np.full(4, variance))
        for p in (0.1, 0.5, 0.69, 0.95):
            low, high = counted_curve(table, k, ranges, p, heavy=True).interval(0.95)
            within = true_quantile(distribution, p)
            for truth in (edges[within] + 0.1, edges[within + 1] - 0.1):
                assert np.mean((low <= truth) & (truth <= high)) >= LEAST
            assert np.isin(low, edges).all()
            assert np.isin(high, edges).all()


@pytest.mark.statistical
@pytest.mark.nightly
def test_intervals_from_split_sets_cover():
    """Sets of 1,000 records from noisy tables, three each; Reiter's rule at every value."""
    rng, reps, m, n = np.random.default_rng(11), 400, 3, 1_000
    least = 0.95 - 4.5 * np.sqrt(0.05 * 0.95 / reps)
    for name in ("falling", "heaped", "on the edge"):
        distribution = DISTRIBUTIONS[name]
        for p in (0.5, 0.9):
            hits = 0
            for _ in range(reps):
                counts = rng.multinomial(n, distribution)
                noisy = np.maximum(counts + rng.laplace(0, 3, (m, 6)), 0)
                sets = [rng.choice(6, n, p=one / one.sum()).astype(float) for one in noisy]
                steps = set_steps(sets, p, "partial")
                low, high = Curve(steps, steps).interval(0.95)
                hits += low <= true_quantile(distribution, p) <= high
            assert hits / reps >= least, (name, p)


SCHEMA = us.Schema.loads(
    column("kids", "integer", lower=0, upper=5)
    + column("sex", "categorical", levels=["f", "m"])
    + column(
        "income",
        "continuous",
        lower=0,
        upper=100,
        bins=[0, 10, 20, 50, 100],
        spikes=[0, 15],
        decimals=1,
    )
)


def people(n=2_000, seed=1):
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(n) < 0.3, 0, rng.gamma(2, 12, n).clip(0, 100).round(1))
    return pl.DataFrame(
        {
            "kids": rng.choice(6, n, p=DISTRIBUTIONS["falling"]),
            "sex": rng.choice(["f", "m"], n),
            "income": income,
        }
    )


@pytest.fixture(scope="module")
def made():
    def make(method="laplace", epsilon=4, **options):
        return us.synthesize(
            people(), SCHEMA, epsilon=epsilon, method=method, sets=3, options=options,
            insecure_noise_seed=1,
        )  # fmt: skip

    return make


def test_a_quantile_has_an_interval_and_no_standard_error(made):
    found = us.analyze(made(), "quantile", "kids ~ sex", probability=0.9)
    frame = found.to_frame()
    assert found.valid
    assert found.pooled.rule == "noise-aware"
    assert frame[["stderr", "df", "pvalue"]].isna().all().all()
    assert (frame["lower"] <= frame["estimate"]).all()
    assert (frame["estimate"] <= frame["upper"]).all()
    assert set(frame["upper"]) <= set(range(6))
    assert "one number alone" in " ".join(found.notes)
    assert "p: two-sided" not in found.legend
    assert found.to_json()["terms"][0]["pvalue"] is None
    wide = us.analyze(made(), "quantile", "kids ~ sex", probability=0.9, level=0.9999).to_frame()
    assert (wide["lower"] <= frame["lower"]).all()
    assert (wide["upper"] >= frame["upper"]).all()


@pytest.mark.parametrize("options", [{"sets": "split"}, {"sets": "split", "form": "lazy"}])
def test_bins_are_said_and_shown_as_a_whole(made, options):
    found = us.analyze(made(**options), "quantile", "income", probability=0.7)
    frame = found.to_frame()
    assert frame["lower"].item() in {0, 10, 20, 50}
    assert frame["upper"].item() in {10, 20, 49.9, 50, 99.9, 100}
    assert any("covers whole bins" in note for note in found.notes)
    assert frame["lower"].item() < people()["income"].quantile(0.7) < frame["upper"].item()


def test_a_spike_within_a_bin_may_stand_on_either_side(made):
    ranges = value_ranges(parse("quantile", "income", SCHEMA), SCHEMA)
    labels = SCHEMA.columns["income"].labels
    spike = next(k for k, one in enumerate(SCHEMA.columns["income"].intervals) if one.low == 15)
    around = [k for k in range(len(ranges.low)) if ranges.low[k] < 15 < ranges.high[k]]
    assert (ranges.low[spike], ranges.high[spike]) == (15, 15)
    assert len(around) == 1, labels


@pytest.mark.parametrize("expression", ["log(income + 1)", "-income", "income / (kids + 1)"])
def test_expressions_that_rise_or_fall_have_ranges(expression):
    estimand = parse("quantile", expression, SCHEMA)
    ranges = value_ranges(estimand, SCHEMA)
    records = Records.of(people(50), SCHEMA, estimand.columns)
    low, high = record_ranges(estimand, records, ["income"])
    value = estimand.scores(records).value
    assert ((low <= value) & (value <= high)).all()
    assert (ranges.low <= ranges.high).all()
    assert (low < high).any()


def test_an_expression_that_turns_round_is_refused(made):
    with pytest.raises(InferenceError, match="turns round within a bin"):
        us.analyze(made(), "quantile", "(income - 5) ** 2")
    with pytest.raises(InferenceError, match="depends on the other records"):
        us.analyze(made(), "quantile", "income - income.mean()")


def test_modelled_numbers_are_taken_as_they_are(made):
    found = us.analyze(made("modips", epsilon=200), "quantile", "income", probability=0.5)
    assert found.pooled.rule == "partial"
    assert found.to_frame()["lower"].item() not in {0, 10, 20, 50}


def test_a_group_without_records_has_no_quantile():
    table = people().filter(pl.col("sex") == "f")
    made = us.synthesize(table, SCHEMA, epsilon=50, method="laplace", insecure_noise_seed=2)
    frame = us.analyze(made, "quantile", "kids ~ sex").to_frame()
    assert frame["estimate"].notna().tolist() in ([True, False], [True, True])
    if frame["estimate"].notna().all():  # noise alone may have put some there: then anything goes
        assert frame["lower"].iloc[1] == 0


def test_a_bootstrap_of_a_quantile_is_refused(made):
    with pytest.raises(InferenceError, match="uncertainty='rules'"):
        us.analyze(made(), "quantile", "kids", uncertainty="bootstrap", repeats=39)


def test_a_coefficient_without_error_has_no_interval(made):
    """Non-earners earn 0: the intercept is 0 in every set, and no p-value is made of rounding."""
    release = made(epsilon=60, sets="split")
    found = us.analyze(release, "ols", "income ~ {income > 0}")
    frame = found.to_frame()
    assert frame["stderr"].isna().tolist() == [True, False]
    assert frame["pvalue"].isna().tolist() == [True, False]
    assert any("Intercept has no error bars" in note for note in found.notes)
    with pytest.raises(RefusedError, match="do not vary"):
        us.analyze(release, "ols", "I(2 * income) ~ income")
    with pytest.raises(RefusedError, match="do not vary"):
        us.analyze(release, lambda frame: ([frame["kids"].mean()], [0.0]), "kids")


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_an_estimate_is_where_sums_made_monotone_reach_the_share(p):
    rng = np.random.default_rng(5)
    for size in (1, 2, 7, 60) * 40:
        counts = rng.integers(-9, 20, size).astype(float)
        upto = counts.cumsum()
        reached = np.flatnonzero(isotonic_regression(upto).x >= p * upto[-1] * (1 - 1e-12))
        expected = reached[0] if len(reached) else size - 1
        assert counted_estimate(counts, np.arange(size), exact(np.arange(size)), p) == expected
