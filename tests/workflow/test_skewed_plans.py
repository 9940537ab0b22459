"""Plans for skewed numbers: widths of real releases lie in the range that a plan prints.

Ten made shapes of numbers, each within what the schema calls typical, and the same without it.
Realised widths hardly depend on the noise, so one release of each tells them; seeds are fixed.
"""

from functools import cache

import numpy as np
import polars as pl
import pytest

import understudy as us
import understudy_verify
from night import NIGHT
from schemas import column
from understudy.cli import render
from understudy.cli.render import plan_json
from understudy.errors import InferenceError, SchemaError
from understudy.inference.declared import declared_analyses
from understudy.inference.noisy_tables import NoisyCounts
from understudy.inference.own_tables import bins_of_lines, counts_on_lines
from understudy.inference.quantiles import table_quantiles
from understudy.inference.records import Records
from understudy.release.decoding import decode
from understudy.workflow.expected_answers import with_skewed_numbers

pytestmark = pytest.mark.whole

N, TOP = 6_000, 10_000.0
ANALYSES = ["ols pay ~ age", "mean pay ~ sex", "ols age ~ pay"]
ASKED = {"epsilon": 4, "delta": "1e-6", "analyses": ANALYSES, "method": "independent"}


def shapes(rng):
    """Ten shapes of a number between 0 and 10,000."""
    share = rng.random(N)
    return {
        "even": rng.uniform(0, TOP, N),
        "normal": rng.normal(4_000, 800, N),
        "log-normal": np.exp(rng.normal(6.5, 0.7, N)),
        "wide log-normal": np.exp(rng.normal(6, 1.1, N)),
        "exponential": rng.exponential(900, N),
        "gamma": rng.gamma(4, 300, N),
        "left": TOP - rng.gamma(3, 500, N),
        "two heaps": np.where(share < 0.5, rng.normal(1_500, 300, N), rng.normal(5_000, 600, N)),
        "zeros": np.where(share < 0.4, 0, rng.gamma(3, 700, N)),
        "narrow": rng.normal(5_000, 350, N),
    }


SHAPES = sorted(shapes(np.random.default_rng(0)))


@cache
def rows(shape):
    rng = np.random.default_rng(3)
    pay = np.clip(shapes(rng)[shape], 0, TOP).round()
    return pl.DataFrame(
        {
            "pay": pay,
            "age": rng.integers(18, 81, N),
            "sex": rng.choice(["f", "m"], N),
        }
    )


def schema_of(shape, typical):
    low, high = np.quantile(rows(shape)["pay"].to_numpy(), [0.05, 0.95]).round(-1).tolist()
    more = {"typical": [low, high]} if typical else {}
    aged = {"typical": [21, 77]} if typical else {}
    return us.Schema.loads(
        column("pay", "continuous", lower=0.0, upper=TOP, decimals=0, source="law", **more)
        + column("age", "integer", lower=18, upper=80, source="law", **aged)
        + column("sex", "categorical", levels=["f", "m"], source="law")
    )


@cache
def realised(shape):
    """Half-widths by analysis and estimate."""
    made = us.synthesize(rows(shape), schema_of(shape, True), insecure_noise_seed=5, **ASKED)
    found = {}
    for analysis in ANALYSES:
        kind, formula = analysis.split(" ", 1)
        answer = us.analyze(made, kind, formula)
        lower, upper = answer.pooled.interval(0.95)
        halves = ((upper - lower) / 2).tolist()
        found |= {(analysis, name): w for name, w in zip(answer.pooled.names, halves, strict=True)}
    return found


@cache
def planned(shape, typical):
    return us.plan(schema_of(shape, typical), assume_rows=N, **ASKED)


def ranges(plan):
    return {(one.analysis, one.name): (one.least, one.largest) for one in plan.ranges}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.nightly(every=10)
def test_with_what_is_typical_widths_are_within_a_factor_of_two(shape):
    """Those of intercepts depend on where the mean lies, which is not declared."""
    expected = ranges(planned(shape, True))
    for key, half in realised(shape).items():
        if key[1] != "Intercept":
            least, largest = expected[key]
            assert least == largest
            assert half / 2 <= least <= 2 * half, key


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.nightly(every=12)
def test_without_it_they_lie_in_the_range_that_is_printed(shape):
    expected = ranges(planned(shape, False))
    for key, half in realised(shape).items():
        if key[1] != "Intercept":
            least, largest = expected[key]
            assert least / 2 <= half <= 2 * largest, key


BINS = {
    "usual": None,
    "uneven": [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, TOP],
    "by numbers": "numbers",
}


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("shape", ["even", "log-normal", "narrow", "zeros"])
def test_medians_by_group_are_as_wide_as_planned_in_bins_of_any_length(shape, bins):
    """Realised by counts with the noise of the plan, in bins that follow the numbers or do not.

    Where nobody declared bins, those of the table follow the noisy line.
    """
    pay, rng = rows(shape)["pay"].to_numpy(), np.random.default_rng(4)
    edges = BINS[bins]
    if edges == "numbers":
        inner = np.unique(np.quantile(pay, np.arange(1, 15) / 15).round())
        edges = [0.0, *inner[inner > 0].tolist(), TOP]
    spread = np.quantile(pay, [0.05, 0.95]).round().tolist()
    halves = {}
    for name, more in {"known": {"typical": spread}, "unknown": {}}.items():
        own = {"lower": 0.0, "upper": TOP, "decimals": 0, **more}
        binned = {} if edges is None else {"bins": edges}
        schema = us.Schema.loads(
            column("pay", "continuous", source="law", **own, **binned)
            + column("sex", "categorical", levels=["f", "m"], source="law")
        )
        asked = {"epsilon": 1, "delta": "1e-6", "analyses": ["median pay ~ sex"]}
        plan = us.plan(schema, assume_rows=N, **asked)
        halves[name] = [(one.least, one.largest) for one in plan.ranges]
    (step,) = (one for one in plan.tables if one.columns == ("pay", "sex"))
    if edges is None:
        line = next(one for one in plan.tables if one.columns == ("pay",))
        (counts,) = counts_on_lines(["pay"], schema, rows(shape)).values()
        noisy = counts + rng.normal(0, line.stddev, len(counts))
        schema = schema.with_bins(bins_of_lines(["pay"], schema, {"pay": noisy}))
    starts = np.array([one.low for one in schema.columns["pay"].intervals])
    cells = 2 * (np.searchsorted(starts, pay, "right") - 1) + (rows(shape)["sex"] == "m").to_numpy()
    counts = np.bincount(cells, minlength=2 * len(starts)) + rng.normal(
        0, step.stddev, 2 * len(starts)
    )
    table = NoisyCounts(counts, np.full(len(counts), step.stddev**2))
    (analysis,) = declared_analyses(["median pay ~ sex"], schema)
    found = table_quantiles(analysis.estimand(schema), table, schema, 1, heavy=False)
    low, high = found.pooled.interval(0.95)
    for planned in halves.values():
        for (least, largest), half in zip(planned, (high - low) / 2, strict=True):
            assert least / 2 <= half * 1.001
            assert half <= 2.001 * largest
    if bins == "usual":
        assert all(largest < 10 * least for least, largest in halves["known"])


ON_LINES = ["median pay", "quantile 0.9 pay", "gini pay", "mean {pay > 1000}"]


@pytest.mark.nightly(every=5)
@pytest.mark.parametrize("shape", sorted({*SHAPES} - {"two heaps"}))
@pytest.mark.parametrize("typical", [True, False])
def test_what_number_lines_answer_is_hardly_wider_than_planned(shape, typical):
    """It may be narrower, as a finer line is bought where records are many.

    Of two heaps the median lies where there is nobody, which no plan knows.
    """
    asked = {**ASKED, "analyses": ON_LINES}
    plan = us.plan(schema_of(shape, typical), assume_rows=N, **asked)
    made = us.synthesize(rows(shape), schema_of(shape, typical), insecure_noise_seed=5, **asked)
    for (analysis, _), (least, largest) in ranges(plan).items():
        (low,), (high,) = us.analyze(made, *analysis.split(" ", 1)).pooled.interval(0.95)
        assert least / 8 <= (high - low) / 2 <= 2.001 * largest
    assert len(plan.ranges) == len(ON_LINES) == len(plan.expected)


def test_a_mean_beside_a_median_of_the_same_columns_is_expected_in_its_own_unit():
    asked = {"epsilon": 1, "delta": "1e-6", "assume_rows": N}
    schema = schema_of("gamma", True)
    both = us.plan(schema, analyses=["mean pay ~ sex", "median pay ~ sex"], **asked)
    alone = us.plan(schema, analyses=["mean pay ~ sex"], **asked)
    for analyses in ("expected", "ranges"):
        names = [one.name for one in getattr(both, analyses)]
        assert len(names) == len(set(names)) == 4
    for one, other in zip(both.ranges, alone.ranges, strict=False):
        assert other.least < one.least < 3 * other.least


def lost(upper):
    """A number that lies in a small part of its bounds."""
    return us.Schema.loads(
        column("pay", "integer", lower=0, upper=upper, typical=[0, 2_000], source="law")
        + column("age", "integer", lower=18, upper=80, typical=[21, 77], source="law")
    )


def test_a_slope_on_a_number_in_a_small_part_of_its_bounds_is_said_to_be_refused():
    """And it is, in each release; four by night."""
    asked = {"epsilon": 1, "delta": "1e-6", "analyses": ["ols age ~ pay"]}
    asked |= {"method": "independent"}
    plan = us.plan(lost(1_000_000), assume_rows=2_000, **asked)
    assert all(one.refused for one in plan.expected)
    assert plan.ranges[0].refusal > 0.99
    assert any("far wider than what is typical: pay (500 times)" in one for one in plan.remarks)
    rng = np.random.default_rng(1)
    table = {"pay": rng.exponential(700, 2_000).astype(int), "age": rng.integers(18, 81, 2_000)}
    for seed in range(4 if NIGHT else 1):
        made = us.synthesize(
            pl.DataFrame(table), lost(1_000_000), insecure_noise_seed=seed, **asked
        )
        with pytest.raises(InferenceError):
            us.analyze(made, "ols", "age ~ pay")
    better = us.plan(lost(4_000), assume_rows=2_000, **asked)
    assert better.ranges[0].refusal < 0.01
    assert not any("far wider" in one for one in better.remarks)


def test_plan_shows_both_and_the_chance(capsys):
    plan = planned("gamma", True)
    render.describe_plan(plan)
    shown = capsys.readouterr().out
    assert "together" in shown
    assert "refused" in shown
    told = plan_json(plan)
    assert [one["name"] for one in told["ranges"]] == [one["name"] for one in told["expected"]]
    assert all(one["refusal"] < 0.01 for one in told["ranges"])


MONEY = {
    "wide": {"upper": 100 * TOP, "decimals": 0},
    "steps": {"upper": 100 * TOP, "bins": [0, 100, 1_000, 10_000, 100_000, 100 * TOP]},
    "signed": {"lower": -100 * TOP, "upper": 100 * TOP, "decimals": 0},
}


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("bounds", MONEY)
def test_means_of_money_in_far_wider_bounds_are_said_to_be_between_widths(bounds, capsys):
    """Of numbers in a hundredth of their range, whose place nobody declared, and where one did."""
    halves, plans = {}, {}
    asked = {"epsilon": 1, "delta": "1e-6", "analyses": ["mean pay ~ sex", "total pay"]}
    asked |= {"method": "independent"}
    for name, more in {"known": {"typical": [200, 2_400]}, "unknown": {}}.items():
        schema = us.Schema.loads(
            column("pay", "continuous", source="law", **{"lower": 0, **MONEY[bounds], **more})
            + column("sex", "categorical", levels=["f", "m"], source="law")
        )
        plans[name] = us.plan(schema, assume_rows=N, **asked)
        halves[name] = ranges(plans[name])
    made = us.synthesize(rows("log-normal").drop("age"), schema, insecure_noise_seed=6, **asked)
    for analysis in asked["analyses"]:
        kind, formula = analysis.split(" ", 1)
        pooled = us.analyze(made, kind, formula).pooled
        lower, upper = pooled.interval(0.95)
        for name, half in zip(pooled.names, ((upper - lower) / 2).tolist(), strict=True):
            least, largest = halves["unknown"][analysis, name]
            assert least / 2 < half < largest / 20
            one, other = halves["known"][analysis, name]
            assert one == other
            assert half / 2 < one < 2 * half
    said = "How wide some intervals will be depends on how much of its range a number uses: pay."
    assert [any(one.startswith(said) for one in plan.remarks) for plan in plans.values()] == [0, 1]
    told = plan_json(plans["unknown"])["expected"]
    assert [one["half_width"] for one in told] == [[*ends] for ends in halves["unknown"].values()]
    render.describe_plan(plans["unknown"])
    shown = capsys.readouterr().out
    assert all(f"{largest:,.3g}" in shown for _, largest in halves["unknown"].values())
    _, estimates = shown.split("total pay", 1)
    assert estimates.lstrip().splitlines()[0].count("–") == 2


@pytest.mark.parametrize("typical", [[5, 5], [60, 20], [-1, 50], [10, 200]])
def test_what_is_typical_lies_within_the_bounds(typical):
    with pytest.raises(SchemaError, match="typical"):
        us.Schema.loads(column("x", "integer", lower=0, upper=100, typical=typical))


def test_it_is_written_and_read_and_needs_a_source():
    schema = schema_of("gamma", True)
    assert us.Schema.loads(schema.dumps()) == schema
    assert "typical" in schema.dumps()
    alone = us.Schema.loads(column("x", "integer", lower=0, upper=100, typical=[5, 30]))
    assert alone.columns["x"].is_unsourced


def test_a_release_with_it_loads_and_verifies(tmp_path):
    rows = pl.DataFrame({"pay": [3_000] * 40, "age": [40] * 40})
    made = us.synthesize(rows, lost(9_000), epsilon=1, insecure_noise_seed=1)
    made.save(tmp_path / "release")
    loaded = us.Release.load(tmp_path / "release")
    assert loaded.schema.columns["pay"].typical == (0, 2_000)
    told = understudy_verify.verify(tmp_path / "release")
    assert not [rule for rule in told if "broken" in rule]


@pytest.mark.parametrize("codes", [{}, {"missing": [-1]}, {"missing": ["", "none"]}])
def test_codes_stay_as_they_are(codes):
    schema = us.Schema.loads(
        column("pay", "integer", lower=0, upper=1_000, typical=[0, 50], **codes)
        + column("sex", "categorical", levels=["f", "m"])
    )
    rng = np.random.default_rng(5)
    even = decode(schema.domain.draw(4_000, rng.random), schema, rng)
    found = with_skewed_numbers(even, schema, {})
    before, after = (Records.of(each, schema, ("pay",)) for each in (even, found))
    assert (before.complete() == after.complete()).all()
    assert before.complete().all() != bool(codes)
    within = after.numbers["pay"][after.complete()] <= 50
    assert 0.93 < within.mean() < 0.97
    plan = us.plan(schema, epsilon=1, delta="1e-6", analyses=["mean pay ~ sex"], assume_rows=2_000)
    assert plan.ranges
