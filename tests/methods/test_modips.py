"""MODIPS end to end: what it measures, which records it draws, and its coverage.

Tests in law compare with a Kolmogorov–Smirnov level of 1e-4; every seed is fixed.
"""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from night import NIGHT
from understudy.data.table import Table
from understudy.demo import demo_data, demo_schema
from understudy.dp.budget import Budget
from understudy.dp.confidential import terms_of
from understudy.dp.perturbation import perturb
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError, UnderstudyError
from understudy.inference.combining import partial_variance
from understudy.mechanisms.sums import moment_noises, sanitise
from understudy.mechanisms.tables import BinomialCount, RowCount
from understudy.methods.registry import configure
from understudy.papers import bayesian_models
from understudy.papers.bayesian_models import Block, BlocksModel, Drawn, Multinomial
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

REVIEWED = 'reviewed = true\nsource = "codebook"'
BINARY = f'[columns.x]\nkind = "boolean"\n{REVIEWED}'
NUMBER = f'[columns.x]\nkind = "continuous"\nlower = -4\nupper = 6\n{REVIEWED}'
MIXED = f"""
[columns.group]
kind = "categorical"
levels = ["a", "b", "c"]
{REVIEWED}
[columns.x]
kind = "continuous"
lower = 0
upper = 10
decimals = 2
spikes = [0]
missing = [""]
{REVIEWED}
[columns.y]
kind = "integer"
lower = 0
upper = 99
bins = 4
{REVIEWED}
[columns.z]
kind = "date"
lower = 2000-01-01
upper = 2009-12-31
{REVIEWED}
"""
NIST = Path(__file__).parents[3] / "shared" / "data" / "nist_acs_national2019"


def schema(columns, n=None):
    head = "row_limit = 10000" if n is None else f'rows = "public"\nn_rows = {n}'
    return Schema.loads(f"{head}\n{columns}")


def mixed(n, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    centre = np.select([group == "a", group == "b"], [3.0, 5.0], 7.0)
    x = np.clip(centre + rng.normal(size=n), 0, 10).round(2)
    x[rng.random(n) < 0.2] = 0
    days = np.datetime64("2004-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]")
    y = np.clip(50 + 5 * (centre + rng.normal(size=n)), 0, 99).astype(int)
    frame = pl.DataFrame({"group": group, "x": x, "y": y, "z": days})
    absent = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(
        pl.when(absent).then(None).otherwise(pl.col("x")).alias("x"), pl.col("z").cast(pl.Date)
    )


def gate(frame, of, seed=1, epsilon="1"):
    return open_gate(Table(frame, of), Budget.of(epsilon), SeededRandomness(seed))


def fitted(frame, of, seed=1, epsilon="1", **options):
    one = gate(frame, of, seed, epsilon)
    one.ask(RowCount(), spend=one.budget.amount / 100)
    model = configure("modips", options).fit(one, one.budget.amount * 99 / 100, 10)
    return model, one


def priced(of, spend, **options):
    """What the number of successes costs, and its noise."""
    (charge,) = BinomialCount("x", **options).price(terms_of(of, Budget.of(1)), spend)
    return charge


# --- one repetition is what the gate gives -------------------------------------------------------


@pytest.mark.parametrize("bounds", ["threshold", "truncate"])
@pytest.mark.parametrize("mode", ["strict", "paper"])
def test_one_repetition_of_the_bernoulli_kernels_is_the_release(bounds, mode):
    n, of = 40, schema(BINARY, 40)
    frame = pl.DataFrame({"x": [True] * 12 + [False] * 28})
    spend = Fraction(99, 100)
    model, _ = fitted(frame, of, seed=5, bounds=bounds, mode=mode)
    sample = model.sample(n, np.random.default_rng(3))

    charge = priced(of, spend, bounds=bounds, mode=mode)
    rng = np.random.default_rng(3)
    noisy = perturb(np.array([[12]]), charge.parameter, SeededRandomness(5))
    p = bayesian_models.binomial_posterior(noisy, n, rng)
    records = bayesian_models.binomial_records(bayesian_models.predict_binomial(p, n, rng), n, rng)
    assert sample.states[0].tolist() == records[0, 0].tolist()


@pytest.mark.parametrize("budget", ["split", "nonsplit"])
def test_one_repetition_of_the_normal_kernels_is_the_release(budget):
    n, of = 60, schema(NUMBER, 60)
    frame = pl.DataFrame({"x": np.random.default_rng(1).normal(1, 1, n)})
    model, one = fitted(frame, of, seed=5, budget=budget)
    sample = model.sample(n, np.random.default_rng(3))

    binned = of.with_bins({"x": 1})
    plan = moment_noises(binned, ("x",), ("x",), spend=Fraction(99, 100), calibration=budget)
    sums = Table(frame, binned).sums((0,), (0,)).expose()
    source, rng = SeededRandomness(5), np.random.default_rng(3)
    total = sanitise(sums.sums[0][None, :], plan[0], source)[:, 0]
    scatter = sanitise(scatter_of(sums, n)[None, :], plan[1], source)[:, 0]
    theta = bayesian_models.normal_posterior(
        1 + total / n, scatter / (n - 1), n, rng, bounds=(-4, 6)
    )
    values = bayesian_models.predict_normal(theta, n, rng, bounds=(-4, 6))
    assert sample.values["x"].tolist() == values[0].tolist()
    assert [m.value.values.tolist() for m in one.measured] == [[total[0]], [scatter[0]]]


def scatter_of(sums, n):
    """⌊Q − S²/n⌋ in whole numbers."""
    s, q = int(sums.sums[0][0]), int(sums.products[0][0])
    return np.array([(n * q - s * s) // n])


# --- in law --------------------------------------------------------------------------------------


def moments(model, n, draws, seed=1):
    """Per set: share of group a, share of spikes of x, mean of y, sd of x among its bins."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(draws):
        sample = model.sample(n, rng)
        ordinary = sample.states[1] > 0
        ordinary &= sample.states[1] < 21
        found.append(
            (
                np.mean(sample.states[0] == 0),
                np.mean(sample.states[1] == 0),
                sample.values["y"].mean(),
                sample.values["x"][ordinary].std(),
            )
        )
    return np.array(found)


def test_published_means_are_the_centres_that_the_model_draws_about():
    """Whatever the noisy counts are: a cell of few records, or of none, does not scale them."""
    of = schema(f'[columns.g]\nkind = "boolean"\n{REVIEWED}\n{NUMBER}', 60)
    rows = {"g": [True] * 3 + [False] * 57, "x": [5.0] * 3 + [-1.0] * 57}
    model, one = fitted(pl.DataFrame(rows), of, seed=2, epsilon="4", mode="paper")
    (block,) = model.blocks
    statistics = block.statistics
    binned = of.with_bins({"x": 1})
    share = Fraction(99, 100) * 4 / 3
    plan = moment_noises(binned, ("x",), ("g", "x"), spend=2 * share, mode="paper")
    assert plan[0].distribution.scale == pytest.approx(10 / float(share))
    assert "mean of x by g" in [step.query for step in one.ledger]
    counts = np.maximum(statistics.counts, 1)
    centres = 1 + statistics.sums[:, 0] / counts  # the middle of the bounds is 1
    # False comes first; noise has scale R/n_k: 0.13 and 2.5. Ten of them leave a false alarm of
    # 5e-5 each.
    for centre, exact, records in zip(centres, (-1.0, 5.0), (57, 3), strict=True):
        assert abs(centre - exact) < 10 * 10 / float(share) / records


def test_without_noise_it_is_multiple_synthesis():
    """300 sets of each, by day 100: posterior and prediction have the same law."""
    sets = 300 if NIGHT else 100
    n, of = 500, schema(MIXED, 500)
    frame = mixed(n)
    one = open_gate(Table(frame, of), Budget.of(1), SeededRandomness(1), allow_nonprivate=True)
    classical = configure("multiple-synthesis", {}).fit(one, Fraction(1), 10)
    noisy, _ = fitted(frame, of, epsilon="1000000")
    a, b = moments(classical, n, sets), moments(noisy, n, sets, seed=2)
    for j in range(a.shape[1]):
        assert stats.ks_2samp(a[:, j], b[:, j]).pvalue > 1e-4
    little, _ = fitted(frame, of, epsilon="1")
    c = moments(little, n, sets, seed=3)
    assert min(stats.ks_2samp(a[:, j], c[:, j]).pvalue for j in range(4)) < 1e-6


def test_with_a_large_budget_the_records_are_like_the_rows():
    n = 4000
    frame, of = mixed(n), schema(MIXED, n)
    (drawn,) = us.synthesize(frame, of, method="modips", epsilon=10_000, frame="polars").sets
    for group in ("a", "b", "c"):
        real, fake = (t.filter(pl.col("group").cast(pl.String) == group) for t in (frame, drawn))
        assert fake.height / n == pytest.approx(real.height / n, abs=0.05)
        for name, close in (("x", 0.3), ("y", 2)):
            inside = pl.col(name) > 0
            assert fake.filter(inside)[name].mean() == pytest.approx(
                real.filter(inside)[name].mean(), abs=close
            )
        assert fake["x"].null_count() / fake.height == pytest.approx(0.1, abs=0.06)
        assert (fake["x"] == 0).mean() == pytest.approx((real["x"] == 0).mean(), abs=0.08)
        assert fake["z"].to_physical().mean() == pytest.approx(
            real["z"].to_physical().mean(), abs=60
        )
    correlation = [
        t.filter(pl.col("x") > 0).select(pl.corr("x", "y")).item() for t in (frame, drawn)
    ]
    assert correlation[1] == pytest.approx(correlation[0], abs=0.08)


def test_a_spike_keeps_its_share_however_many_draws_are_clipped_to_it():
    """Numbers close to a spike at the lower bound: half of the draws are clipped there."""
    column = NUMBER.replace("lower = -4", "lower = 0\nspikes = [0]")
    rng = np.random.default_rng(2)
    x = np.where(rng.random(2000) < 0.3, 0.0, np.abs(rng.normal(0, 1, 2000)) * 0.1)
    of = schema(column, 2000)
    model, _ = fitted(pl.DataFrame({"x": x}), of, epsilon="10000")
    sample = model.sample(2000, rng)
    assert np.mean(sample.states[0] == 0) == pytest.approx(0.3, abs=0.05)
    assert (sample.values["x"] > 0).all()


# --- coverage ------------------------------------------------------------------------------------

REPETITIONS = 3000
MARGIN = 4.5 * np.sqrt(0.95 * 0.05 / REPETITIONS)
"""Coverage of 95 % has a Monte Carlo error of 0.4 points; a false alarm in 150,000 seeds."""


def coverage(q, u, truth):
    totals = partial_variance(q[..., None], u[..., None])
    reach = stats.t.ppf(0.975, totals.df) * np.sqrt(totals.variance)
    return np.mean(np.abs(totals.estimate - truth) <= reach)


def naive(q, u, truth):
    """The intervals of somebody who takes a set for real data."""
    return np.mean(np.abs(q[:, 0] - truth) <= 1.96 * np.sqrt(u[:, 0]))


@pytest.mark.parametrize("bounds", ["threshold", "truncate"])
def test_coverage_of_a_proportion_by_the_rule_for_partially_synthetic_data(bounds):
    n, truth, m = 1000, 0.25, 5
    rng, source = np.random.default_rng(1), SeededRandomness(1)
    charge = priced(schema(BINARY, n), Fraction(1, m), bounds=bounds)
    real = np.repeat(rng.binomial(n, truth, REPETITIONS)[:, None], m, axis=1)
    p = bayesian_models.binomial_posterior(perturb(real, charge.parameter, source), n, rng)
    q = bayesian_models.predict_binomial(p, n, rng) / n
    u = q * (1 - q) / n
    assert coverage(q, u, truth) == pytest.approx(0.95, abs=MARGIN)
    assert naive(q, u, truth) < 0.9


def test_coverage_of_a_mean_by_the_rule_for_partially_synthetic_data():
    n, truth, m, bounds = 400, 1.0, 5, (-4.0, 6.0)
    rng, source = np.random.default_rng(1), SeededRandomness(2)
    of = schema(NUMBER, n).with_bins({"x": 1})
    total, scatter = moment_noises(of, ("x",), ("x",), spend=Fraction(4, m))
    unit = 10 / 2**16
    mean = rng.normal(0, 1 / np.sqrt(n), (REPETITIONS, 1))
    squares = rng.chisquare(n - 1, (REPETITIONS, 1))
    sums = np.repeat(np.rint(n * mean / unit).astype(np.int64), m, axis=1)
    products = np.repeat(np.rint(squares / unit**2).astype(np.int64), m, axis=1)
    theta = bayesian_models.normal_posterior(
        1 + sanitise(sums, total, source) / n,
        sanitise(products, scatter, source) / (n - 1),
        n,
        rng,
        bounds=bounds,
    )
    records = bayesian_models.predict_normal(theta, n, rng, bounds=bounds)
    q, u = records.mean(axis=-1), records.var(axis=-1, ddof=1) / n
    assert coverage(q, u, truth) == pytest.approx(0.95, abs=MARGIN)
    assert naive(q, u, truth) < 0.9


# --- structural zeros ----------------------------------------------------------------------------

CHILD = f"""
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 18, 99]
{REVIEWED}
[columns.job]
kind = "boolean"
{REVIEWED}
[[forbidden]]
where = {{ age = {{ lower = 0, upper = 17 }}, job = true }}
{REVIEWED}
"""


@pytest.mark.parametrize("cells", [1, 200])
@pytest.mark.parametrize("epsilon", ["0.001", "100"])
@pytest.mark.nightly(every=2)
def test_no_record_is_impossible_within_blocks_and_across(cells, epsilon):
    """A rule cuts the single bin of age, so that only the draws can keep it."""
    of = schema(CHILD, 400)
    rows = pl.DataFrame({"age": [17] * 200 + [18] * 200, "job": [False] * 200 + [True] * 200})
    for seed in range(5):
        model, _ = fitted(rows, of, seed=seed, epsilon=epsilon, cells=cells)
        sample = model.sample(400, np.random.default_rng(seed))
        assert not of.domain.find_forbidden(sample.states).any()
        young = np.round(sample.values["age"]) < 18
        assert not (young & (sample.states[1] == 1)).any()


class Stubborn:
    """A model that draws one and the same cell."""

    def __init__(self, cell):
        self.cell = cell

    def posterior(self, statistics, rng):
        return None

    def predict(self, parameters, n_rows, rng):
        return Drawn(np.full(n_rows, self.cell), np.full((n_rows, 1), 5.0))


def test_a_model_that_draws_the_impossible_gives_way_to_the_uniform_law():
    of = schema(CHILD, 400)
    blocks = (
        Block(("age",), (1,), ("age",), Stubborn(0), None),
        Block(("job",), (2,), (), Stubborn(1), None),
    )
    sample = BlocksModel(of, blocks, redraws=3).sample(30_000, np.random.default_rng(1))
    cells, counts = np.unique(sample.states[0] * 2 + sample.states[1], return_counts=True)
    assert cells.tolist() == [0, 2, 3]
    assert stats.chisquare(counts).pvalue > 1e-4
    assert np.isnan(sample.values["age"]).all()


def test_redrawing_is_conditioning_on_what_can_occur():
    """Two independent columns of which one pair is impossible; chi-square, false alarm 1e-4."""
    columns = "".join(f'[columns.{c}]\nkind = "boolean"\n{REVIEWED}\n' for c in "ab")
    of = schema(f"{columns}[[forbidden]]\nwhere = {{ a = true, b = true }}\n{REVIEWED}", 10)
    huge = np.array([3e12, 7e12])
    model = Multinomial(np.ones(2, bool))
    blocks = tuple(Block((name,), (2,), (), model, huge) for name in "ab")
    sample = BlocksModel(of, blocks).sample(40_000, np.random.default_rng(1))
    counts = np.bincount(sample.states[0] * 2 + sample.states[1], minlength=4)
    assert counts[3] == 0
    distribution = np.array([0.09, 0.21, 0.21])
    assert stats.chisquare(counts[:3], distribution / distribution.sum() * 40_000).pvalue > 1e-4


# --- budget and options --------------------------------------------------------------------------

OPTIONS = [
    {},
    {"budget": "nonsplit"},
    {"budget": "weighted", "weights": (4, 2, 1)},
    {"budget": "weighted", "weights": "0.5, 2, 1"},
    {"bounds": "truncate"},
    {"mode": "paper"},
    {"mode": "paper", "bounds": "truncate"},
    {"cells": 1},
    {"model": "multinomial"},
    {"prior": 0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("rows", ["private", "public"])
@pytest.mark.parametrize("n", [0, 1, 50])
@pytest.mark.nightly(every=8)
def test_the_plan_is_what_happens(options, rows, n):
    of = schema(MIXED, n if rows == "public" else None)
    arguments = {"method": "modips", "epsilon": "1", "sets": 2, "options": options}
    plan = us.plan(of, **arguments)
    release = us.synthesize(mixed(n), of, **arguments)
    steps = [one for one in release.manifest.ledger if one["query"] != "number of rows"]
    planned = plan.tables * 2
    assert [s["query"] for s in steps] == [t.query for t in planned]
    assert [s["noise"] for s in steps] == [t.noise for t in planned]
    assert [s["cells"] for s in steps] == [t.n_cells for t in planned]
    costs = [Fraction(s["epsilon_exact"]) for s in steps]
    assert costs == [t.share for t in planned]
    assert sum(costs) == (Fraction(19, 20) if rows == "private" else 1)
    assert [m.stddev for m in release.measurements] == [t.stddev for t in planned]
    kind = "conditional" if options.get("mode") == "paper" else "pure"
    assert release.guarantee.kind == kind


def test_shares_follow_the_weights():
    plan = us.plan(schema(MIXED, 50), method="modips", epsilon=1)
    assert {table.share for table in plan.tables} == {Fraction(1, 10)}
    options = {"budget": "weighted", "weights": (4, 2, 1)}
    plan = us.plan(schema(MIXED, 50), method="modips", epsilon=1, options=options)
    assert [table.share * 16 for table in plan.tables] == [4, *[2] * 3, *[1] * 6]


def test_noise_of_one_scale_for_all_moments():
    options = {"budget": "nonsplit"}
    of = schema(NUMBER, 100)
    plan = us.plan(of, method="modips", epsilon=1, options=options)
    # In units of the mean and the variance: R/n + R²/n, with R = 10.
    scales = [plan.tables[0].stddev / 100, plan.tables[1].stddev / 99]
    assert scales == pytest.approx([np.sqrt(2) * 1.1] * 2, rel=1e-3)


@pytest.mark.parametrize(("budget", "scales"), [("split", (2.5, 12.5)), ("nonsplit", (7.5, 7.5))])
def test_the_worked_example_of_a_mean_and_a_variance(budget, scales):
    """x = (1, 2, 3, 4) within [0, 5], ε = 1: scales in units of the mean and of the variance."""
    of = schema(NUMBER.replace("-4", "0").replace("6", "5"), 4)
    plan = us.plan(of, method="modips", epsilon=1, options={"budget": budget})
    found = [one.stddev / np.sqrt(2) / d for one, d in zip(plan.tables, (4, 3), strict=True)]
    assert found == pytest.approx(scales, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": "weighted"}, "belong together"),
        ({"weights": (1, 1, 1)}, "belong together"),
        ({"budget": "weighted", "weights": (0, 1, 1)}, "greater than 0"),
        ({"sets": "free"}, "split"),
        ({"cells": 0}, "greater than"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(MethodError, match=message):
        us.plan(schema(MIXED, 50), method="modips", epsilon=1, options=options)


def test_an_approximate_guarantee_is_refused():
    with pytest.raises(UnderstudyError, match="leave delta at 0"):
        us.plan(schema(MIXED, 50), method="modips", epsilon=1, delta="0.000001")


# --- whole tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [BINARY, NUMBER, MIXED])
@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("epsilon", ["0.00001", "10000"])
@pytest.mark.parametrize("rows", ["private", "public"])
@pytest.mark.nightly(every=4)
def test_next_to_no_rows_and_any_budget(columns, n, epsilon, rows):
    of = schema(columns, n if rows == "public" else None)
    frame = mixed(n) if columns == MIXED else pl.DataFrame({"x": [1.0] * n})
    if columns == BINARY:
        frame = frame.cast(pl.Boolean)
    release = us.synthesize(frame, of, method="modips", epsilon=epsilon, sets=2)
    assert {len(one) for one in release.tables} == {release.manifest.n_rows}


def test_the_demonstration_goes_through():
    release = us.synthesize(demo_data(), demo_schema(), method="modips", epsilon=2, sets=2)
    assert len(release.sets) == 2
    assert release.guarantee.kind == "pure"


def nist_schema():
    declared = json.loads((NIST / "domain.json").read_text())
    columns = {}
    for name, one in declared.items():
        if one["type"] == "categorical":
            columns[name] = {"kind": "categorical", "levels": tuple(one["levels"])}
        else:
            kind = "integer" if one.get("integer") else "continuous"
            codes = ("",) if one.get("nullable") else ()
            bounds = {"lower": one["lower"], "upper": one["upper"]}
            columns[name] = {"kind": kind, "missing": codes, **bounds}
        columns[name] |= {"source": "codebook", "reviewed": True}
    return Schema(row_limit=50_000, columns=columns)


@pytest.mark.nightly
@pytest.mark.skipif(not NIST.exists(), reason="needs the table beside the repository")
def test_a_real_wide_table_goes_through():
    of = nist_schema()
    plan = us.plan(of, method="modips", epsilon=5, sets=2)
    table = NIST / "nist_acs_national2019.csv"
    release = us.synthesize(table, of, method="modips", epsilon=5, sets=2, frame="polars")
    assert sum(one.form == "dense" for one in plan.tables) > 5
    real = pl.read_csv(table, columns=["AGEP"])["AGEP"].mean()
    for drawn in release.sets:
        assert drawn.columns == list(of.names)
        assert drawn["AGEP"].mean() == pytest.approx(real, abs=6)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("1,2", "give three numbers, for tables, sums and scatters"),
        ("1,2,x", "valid number"),
        ((1, 2, 0), "greater than 0"),
    ],
)
def test_weights_that_do_not_fit_are_refused_in_a_sentence(weights, message):
    with pytest.raises(MethodError, match=message):
        configure("modips", {"budget": "weighted", "weights": weights})
