"""From a release alone to numbers: the right rule, refusals that help, and measured coverage.

`pytest -s` prints the measured coverage.
"""

import json
import re
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.formula.api as smf

import understudy as us
from schemas import column
from understudy.dp.calibration import calibrate
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InferenceError
from understudy.inference.contributions import cell_scores
from understudy.inference.counts import ratios
from understudy.inference.noisy_tables import marginal
from understudy.inference.question import parse
from understudy.inference.rules import FRESH, RULES, distortion, distorts, facts_of
from understudy.schema import Schema

SMALL = (
    column("sex", "categorical", levels=["f", "m"])
    + column("job", "ordinal", levels=["a", "b", "c", "d"])
    + column("kids", "integer", lower=0, upper=5)
)
NAMES = ("sex", "job", "kids")
SIZES = (2, 4, 6)
N = 2_000


@pytest.fixture(scope="module")
def small():
    return Schema.loads(SMALL)


@pytest.fixture(scope="module")
def population():
    """Probability of each of the 48 cells: associated, uneven, some of them rare."""
    sex, job, kids = np.indices(SIZES)
    mean = 1.2 + 0.5 * job + 0.4 * sex
    weight = np.array([0.4, 0.35, 0.2, 0.05])[job] * np.exp(kids * np.log(mean))
    p = weight / np.array([1, 1, 2, 6, 24, 120])[kids]
    return p / p.sum()


def rows_of(counts):
    """A Polars table with so many rows in each cell."""
    import polars as pl

    places = np.unravel_index(np.repeat(np.arange(counts.size), counts.reshape(-1)), SIZES)
    levels = (["f", "m"], ["a", "b", "c", "d"], range(6))
    return pl.DataFrame(
        {name: np.array(level)[at] for name, level, at in zip(NAMES, levels, places, strict=True)}
    )


@pytest.fixture(scope="module")
def release(small, population):
    """Makes a release of 2,000 records by the Laplace sanitizer: `release(sets=…, …)`."""

    def make(epsilon=1, seed=1, **more):
        counts = np.random.default_rng(seed).multinomial(N, population.reshape(-1))
        options = {"sets": more.pop("sets_kind", "split")} | more.pop("options", {})
        return us.synthesize(
            rows_of(counts),
            small,
            epsilon=epsilon,
            method=more.pop("method", "laplace"),
            options=options,
            insecure_noise_seed=seed,
            **more,
        )

    return make


def refusal(release, kind, formula):
    with pytest.raises(InferenceError) as caught:
        us.analyze(release, kind, formula)
    text = str(caught.value)
    assert re.fullmatch(r"No valid error bars \([a-z-]+\): .{20,600}\.\nThis .+\.\n.+\.", text)
    assert text.count(". ") == 0
    return text


# --- coverage -----------------------------------------------------------------------------------

ESTIMANDS = [
    ("proportion", "job"),
    ("proportion", "kids > 2"),
    ("mean", "kids"),
    ("mean", "log(kids + 1) ~ sex"),
    ("table", "sex + job"),
]


def test_coverage_of_noise_aware_intervals_and_of_naive_ones(small, population, release):
    """4,000 releases at ε = 1 of which 5 % buy the number of rows; false alarm below 10⁻⁵.

    The same kernel that `analyze` calls, with a leading axis of repetitions. Naive intervals take
    the synthetic set for the real table.
    """
    reps = 4_000
    rng = np.random.default_rng(2)
    one = release(sets=1)
    distribution = calibrate(
        "geometric", spend=Fraction(95, 100), accounting="pure", neighbours=small.neighbours
    )
    (measurement,) = one.measurements
    assert measurement.stddev == distribution.stddev
    counts = rng.multinomial(N, population.reshape(-1), size=reps).astype(float)
    noise = distribution.sample(counts.size, SeededRandomness(4)).reshape(counts.shape)
    noisy = counts + noise
    clipped = np.maximum(noisy, 0)
    drawn = rng.multinomial(N, clipped / clipped.sum(axis=1, keepdims=True)).astype(float)
    lines = ["", "coverage of 95 % intervals, noise-aware | naive, 4,000 repetitions"]
    for kind, formula in ESTIMANDS:
        estimand = parse(kind, formula, small)
        scores = cell_scores(estimand, small)

        def run(tables, estimand=estimand, scores=scores):
            return ratios(marginal(measurement, estimand.columns, small, counts=tables), scores)

        truth = run(1e12 * population.reshape(1, -1)).estimate[0]
        aware, naive = run(noisy), run(drawn)
        spread = np.sqrt(np.diagonal(aware.noise + aware.sampling, axis1=1, axis2=2))
        short = np.sqrt(np.diagonal(naive.sampling, axis1=1, axis2=2))
        hit = (np.abs(aware.estimate - truth) <= 1.96 * spread).mean(axis=0)
        miss = (np.abs(naive.estimate - truth) <= 1.96 * short).mean(axis=0)
        lines.append(f"{kind:10} {formula:20} {hit.round(3)} | {miss.round(3)}")
        assert ((hit >= 0.93) & (hit <= 0.97)).all()
        assert (miss < 0.90).all()
        bias = (aware.estimate - truth).mean(axis=0) / spread.mean(axis=0)
        assert np.abs(bias).max() < 6 / np.sqrt(reps)
    sys.stdout.write("\n".join(lines) + "\n")


def test_one_repetition_is_what_analyze_gives(small, release):
    one = release(sets=1)
    for kind, formula in ESTIMANDS:
        estimand = parse(kind, formula, small)
        table = marginal(one.measurements[0], estimand.columns, small)
        parts = ratios(table, cell_scores(estimand, small))
        found = us.analyze(one, kind, formula)
        np.testing.assert_array_equal(found.pooled.estimate, parts.estimate)
        np.testing.assert_array_equal(found.pooled.covariance, parts.noise + parts.sampling)
        assert found.pooled.rule == "noise-aware"
        assert found.valid


@pytest.mark.statistical
@pytest.mark.nightly
def test_coverage_of_models_from_split_sets(population, release):
    """150 whole releases of 3 sets at ε = 4, five coefficients each; false alarm below 10⁻³."""
    reps = 150
    sex, job, kids = (axis.reshape(-1) for axis in np.indices(SIZES))
    p = population.reshape(-1)
    design = np.column_stack([np.ones(48), sex, job == 1, job == 2, job == 3]).astype(float)
    truth = np.linalg.solve((design.T * p) @ design, (design.T * p) @ kids)
    hit, short = np.zeros((2, 5))
    for seed in range(reps):
        found = us.analyze(release(epsilon=4, seed=seed, sets=3), "ols", "kids ~ sex + job")
        assert found.pooled.rule == "partial"
        assert found.valid
        low, high = found.pooled.interval()
        hit += (low <= truth) & (truth <= high)
        within = found.pooled.stderr * np.sqrt(1 - found.pooled.synthesis_share)
        short += np.abs(found.pooled.estimate - truth) <= 1.96 * within
    sys.stdout.write(f"\ncoverage of split-set OLS {hit / reps}, without b/m {short / reps}\n")
    assert 0.91 <= hit.mean() / reps <= 0.985
    assert (hit >= 0.87 * reps).all()


# --- the rule -----------------------------------------------------------------------------------


def test_sums_of_counts_are_noise_aware_whatever_the_sets(release):
    for more in ({"sets": 1}, {"sets": 3}, {"sets": 3, "sets_kind": "free"}):
        found = us.analyze(release(**more), "mean", "kids ~ sex")
        assert (found.valid, found.pooled.rule) == (True, "noise-aware")
    assert "3 noisy tables" in us.analyze(release(sets=3), "mean", "kids").notes[0]


def test_split_sets_are_pooled_by_hand(release):
    made = release(epsilon=8, sets=3)
    found = us.analyze(made, "ols", "kids ~ sex")
    fits = [smf.ols("kids ~ sex", frame.to_pandas()).fit(cov_type="HC1") for frame in made.sets]
    q = np.array([fit.params for fit in fits])
    u = np.array([np.diag(fit.cov_params()) for fit in fits])
    b = q.var(axis=0, ddof=1)
    total = u.mean(axis=0) + b / 3
    np.testing.assert_allclose(found.pooled.estimate, q.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.pooled.stderr**2, total, rtol=1e-9)
    np.testing.assert_allclose(found.pooled.df, 2 * (1 + 3 * u.mean(axis=0) / b) ** 2, rtol=1e-6)
    np.testing.assert_allclose(found.pooled.synthesis_share, b / 3 / total, rtol=1e-9)


def test_one_set_without_noise_gives_what_statsmodels_gives(release):
    made = release(epsilon=100_000, sets=1)
    found = us.analyze(made, "ols", "kids ~ sex", anyway=True)
    fit = smf.ols("kids ~ sex", made.sets[0].to_pandas()).fit(cov_type="HC1")
    np.testing.assert_allclose(found.pooled.estimate, fit.params, rtol=1e-10)
    np.testing.assert_allclose(found.pooled.stderr, fit.bse, rtol=1e-10)
    np.testing.assert_allclose(found.pooled.pvalue, fit.pvalues, rtol=1e-6, atol=1e-300)


def test_free_sets_and_single_sets_are_refused(release):
    free = release(sets=3, sets_kind="free")
    assert "share its noise" in refusal(free, "ols", "kids ~ sex")
    assert '--analysis "ols kids ~ sex"' in refusal(free, "ols", "kids ~ sex")
    by_sets = refusal(free, "ols", "np.sqrt(kids) ~ sex")
    assert "--option form=dense --option sets=split --sets 3" in by_sets
    assert "one set does not show" in refusal(release(sets=1), "poisson", "kids ~ sex")


def test_columns_that_were_not_measured_together_are_refused(release):
    made = release(sets=3, method="independent")
    text = refusal(made, "ols", "kids ~ sex + job")
    assert "sex, job, kids were never measured together" in text
    assert "never measured together" in refusal(made, "table", "sex + job")
    assert us.analyze(made, "mean", "kids").pooled.rule == "noise-aware"
    assert us.analyze(made, "quantile", "kids").pooled.rule == "noise-aware"


RULED = """
[[forbidden]]
where = { sex = "f", job = "a" }
reviewed = true
"""


def test_columns_in_a_rule_over_columns_measured_apart_are_refused(small, population):
    """Their product is scaled to hold what was measured, which no combining rule takes in."""
    ruled = us.Schema.loads(SMALL + RULED)
    possible = population.copy()
    possible[0, 0] = 0
    counts = np.random.default_rng(1).multinomial(N, possible.reshape(-1) / possible.sum())
    arguments = {"epsilon": 30, "sets": 3, "options": {"sets": "split"}, "insecure_noise_seed": 1}
    made = us.synthesize(rows_of(counts), ruled, method="empirical-cdf", **arguments)
    assert "forbids combinations of columns that were measured apart" in refusal(
        made, "proportion", "sex"
    )
    assert us.analyze(made, "mean", "kids").pooled.rule == "partial"
    together = us.synthesize(
        rows_of(counts),
        ruled,
        method="laplace",
        **arguments | {"options": {"sets": "split", "form": "lazy"}},
    )
    assert us.analyze(together, "proportion", "sex").pooled.rule == "partial"


def test_sets_that_noise_has_filled_are_refused(release):
    text = refusal(release(epsilon="0.05", sets=3), "ols", "kids ~ sex")
    assert re.search(r"about \d+ % of the records are misplaced", text)
    lazy = release(epsilon="0.05", sets=3, options={"form": "lazy"})
    assert "misplaced" in refusal(lazy, "mean", "kids")


def test_lazy_and_filtered_tables_allow_split_sets(release):
    for form in ("lazy", "filtered"):
        made = release(epsilon=20, sets=3, options={"form": form})
        found = us.analyze(made, "mean", "kids")
        assert (found.valid, found.pooled.rule) == (True, "partial")


def test_a_filtered_table_that_lost_cells_is_refused(release):
    made = release(epsilon=3, sets=3, options={"form": "filtered", "threshold": 60})
    assert "small ones were changed" in refusal(made, "mean", "kids")


def test_a_total_needs_a_full_table(release):
    found = us.analyze(release(sets=1), "total", "kids ~ sex")
    assert found.valid
    assert (found.pooled.synthesis_share == 1).all()
    made = release(epsilon=20, sets=3, options={"form": "lazy"})
    assert "full noisy table" in refusal(made, "total", "kids")
    with pytest.raises(InferenceError, match="full noisy table"):
        us.analyze(made, "total", "kids", anyway=True)


def test_distortion_is_the_share_of_noise_in_the_positive_mass(schema, measured):
    table = measured(("sex",), [90, -10], 1.0)
    assert distortion([table], ["sex"], 80, schema) == pytest.approx(1 - 80 / 90)
    assert distortion([table], ["job"], 80, schema) == 0
    totals = {"positive_cells": 3, "positive_mass": 200.0}
    lazy = measured(("sex",), [], 1.0, kind="totals", totals=totals)
    assert distortion([lazy], ["sex"], 80, schema) == pytest.approx(0.6)
    cells = measured(("sex",), [60], 1.0, kind="cells", codes=np.array([0]), threshold=30.0)
    assert distortion([cells], ["sex"], 80, schema) == pytest.approx(0.25)
    mixed = distortion([lazy, lazy, cells], ["sex"], 80, schema)
    assert mixed == pytest.approx((0.6 + 0.6 + 0.25) / 3)
    assert distortion([measured(("sex",), [-1, -2], 1.0)], ["sex"], 80, schema) == 1


def test_records_from_the_prior_are_misplaced(schema, measured):
    urn = {"prior": 10.0, "cells": 2, "reinforced": True}
    draws = measured(("sex",), [], 0.0, kind="draws", totals=urn)
    assert distortion([draws], ["sex"], 80, schema) == pytest.approx(20 / 100)
    chosen = measured(("sex",), [70, 10], 4.0, kind="distribution")
    assert distortion([chosen], ["sex"], 80, schema) == pytest.approx(0.05)
    sums = measured(("sex",), [5.0, 6.0], 1.0, kind="sums")
    assert distortion([sums], ["sex"], 80, schema) == 0


def test_cells_that_noise_lifted_over_the_threshold_are_misplaced_records(schema, measured):
    """Every record is there, yet of the mass so many are noise: n/2 · e^(−τ/b) · (τ + b)."""
    n_cells = schema.columns["sex"].size
    spurious = n_cells / 2 * np.exp(-1) * 2
    cells = measured(("sex",), [80], 1.0, kind="cells", codes=np.array([0]), threshold=1.0)
    assert distortion([cells], ["sex"], 80, schema) == pytest.approx(spurious / 80)


def test_a_rare_share_is_refused_where_a_common_one_is_not(release):
    """Misplaced records that are harmless for a common level can make a rare one vanish."""
    facts = facts_of(release(epsilon=20, sets=3, options={"form": "lazy"}), "proportion", ["sex"])
    facts = replace(facts, distortion=0.0025)
    assert not distorts(facts, np.array([0.01, 0.006]))
    assert distorts(facts, np.array([0.01, 0.004]))
    assert not distorts(replace(facts, kind="mean"), np.array([0.004]))


def test_the_table_of_rules_always_decides(release):
    assert RULES[-1].name in FRESH.values()
    assert {rule.valid for rule in RULES} == {True, False}


# --- what is said -------------------------------------------------------------------------------


def test_numbers_given_anyway_are_stamped(release):
    several = us.analyze(release(sets=3, sets_kind="free"), "ols", "kids ~ sex", anyway=True)
    single = us.analyze(release(sets=1), "ols", "kids ~ sex", anyway=True)
    assert (several.pooled.rule, single.pooled.rule) == ("partial", "single")
    for found in (several, single):
        assert not found.valid
        assert found.reason.startswith("not valid: ")
        assert "NOT VALID" in str(found)
        assert np.isnan(found.pooled.synthesis_share).all()
        assert found.to_json()["valid"] is False


def test_what_is_shown_and_what_is_kept(small, measured, released):
    table = measured(("sex", "job"), [[40, 30, -4, 1], [50, 20, 3, -2]], 4.0)
    made = released({"sex": ["f"], "job": ["a"], "kids": [1]}, schema=small, measurements=(table,))
    found = us.analyze(made, "proportion", "job", level=0.9)
    frame = found.to_frame()
    assert frame["lower"].min() < 0
    assert frame["estimate"].min() < 0
    text = str(found)
    shown = [row[4] for row in found.rows()]
    assert not any(lower.startswith("-") for lower in shown)
    assert "cut to [0, 1]" in text
    assert "90 % interval" in text
    lines = text.splitlines()
    assert len({len(line) for line in lines[2:7]}) == 1
    assert list(json.loads(json.dumps(found.to_json()))["terms"][0]) == ["term", *frame.columns]


def test_bins_absence_and_outsiders_are_mentioned(schema, measured, released, people):
    rng = np.random.default_rng(1)
    table = measured(("age", "income"), rng.integers(20, 90, (4, 4)), 1.0, outside=40.0)
    made = released(people(100, 1), measurements=(table,))
    # So many are out of domain that nothing is answered unless one insists.
    found = us.analyze(made, "mean", "income ~ age", anyway=True)
    notes = " ".join(found.notes)
    assert "about 40 % of age or income (noisy numbers) are out of domain" in found.reason
    assert "of the half-width is for where numbers of age, income lie within their bins" in notes
    assert "count as the bounds: income (beyond 100)." in notes
    assert "have an absent value" in notes
    quiet = us.analyze(made, "proportion", "income > 0").notes
    assert not any("bins" in note or "bounds" in note for note in quiet)


def test_rows_left_out_are_counted_set_by_set(released, people):
    made = released(people(300, 1), people(300, 2))
    found = us.analyze(made, "ols", "income ~ age")
    absent = [
        sum(a == -9 or i < 0 for a, i in zip(t["age"], t["income"], strict=True))
        for t in made.tables
    ]
    assert found.dropped == tuple(absent)
    assert f"{absent[0]}, {absent[1]}" in " ".join(found.notes)


def test_own_functions(release):
    def spread(frame):
        return {"variance": frame["kids"].var()}, [frame["kids"].var() ** 2 * 2 / len(frame)]

    found = us.analyze(release(epsilon=20, sets=3), spread, "kids")
    assert found.pooled.names == ("variance",)
    assert found.formula == "spread (kids)"
    assert found.pooled.rule == "partial"
    made = release(sets=3, method="independent")
    with pytest.raises(InferenceError, match="never measured together"):
        us.analyze(made, spread)


def test_a_level_must_be_a_probability(release):
    with pytest.raises(InferenceError, match="confidence level"):
        us.analyze(release(sets=1), "mean", "kids", level=95)
    with pytest.raises(InferenceError, match="probability"):
        us.analyze(release(sets=1), "quantile", "kids", probability=50)


def test_a_saved_release_gives_the_same(release, tmp_path):
    made = release(sets=2, epsilon=20)
    folder = made.save(tmp_path / "release")
    for kind, formula in [("mean", "kids"), ("ols", "kids ~ sex"), ("table", "sex + job")]:
        before, after = us.analyze(made, kind, formula), us.analyze(folder, kind, formula)
        assert str(before) == str(after)


def test_intervals_of_means_are_shown_within_the_bounds(small, measured, released):
    """A small group has a wide interval; nobody has fewer than 0 children."""
    table = measured(("sex", "kids"), [[3, 2, 0, -2], [400, 300, 200, 100]], 60.0)
    made = released({"sex": ["f"], "job": ["a"], "kids": [1]}, schema=small, measurements=(table,))
    found = us.analyze(made, "mean", "kids ~ sex")
    frame = found.to_frame()
    low, high = small.columns["kids"].bounds
    assert frame["lower"].min() < low
    shown = [float(row[4].replace("−", "-")) for row in found.rows()]
    assert min(shown) == low
    assert "cut to the bounds of the column" in str(found)
    assert found.limits == (low, high)
