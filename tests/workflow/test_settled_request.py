"""Second moments of so few rows that nothing could be answered from them; heaps of many rows."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.dp.budget import exact
from understudy.features.grids import MOST_TIMES
from understudy.release.shape import Kind
from understudy.workflow.request import (
    HEAPS,
    LEAST_HEAPS,
    WITH_LINES,
    WITHOUT,
    adjust_for_row_count,
    least_rows,
    request_of,
)

BUDGET = {"epsilon": 1, "delta": "1e-6"}
NUMBER = {"kind": "integer", "lower": 0, "upper": 99, "reviewed": True}
GROUP = {"kind": "categorical", "levels": ["a", "b"], "reviewed": True}
BOTH = {"x": NUMBER, "y": NUMBER, "g": GROUP}


def schema(columns=BOTH, n_rows=None):
    told = {"rows": "private"} if n_rows is None else {"rows": "public", "n_rows": n_rows}
    return us.Schema.model_validate({**told, "columns": columns})


def rows(n, columns=BOTH):
    """The strongest relations that there can be."""
    rng = np.random.default_rng(5)
    high = rng.integers(0, 2, n)
    made = {"x": 99 * high, "y": 99 * high, "g": np.array(["a", "b"])[high]}
    return pl.DataFrame({name: made[name] for name in columns})


def request(of, **asked):
    budget = BUDGET | {name: asked.pop(name) for name in BUDGET if name in asked}
    return request_of(of, **budget, how=us.SynthesisOptions(**asked))


def spent(release):
    """All of the budget, in its unit."""
    unit = next(name for name in release.manifest.ledger[0] if name.endswith("_exact"))
    return sum(exact(one[unit]) for one in release.manifest.ledger)


def bought(release):
    return any(one.kind is Kind.PRODUCTS for one in release.measurements)


def test_many_rows_have_a_finer_line_beside_the_usual_one():
    wide = {"x": NUMBER | {"upper": 10**6}, "g": GROUP}
    asked = request(schema(wide))
    few, many = (adjust_for_row_count(asked, n) for n in (1_000, 200_000))
    assert adjust_for_row_count(many, 200_000) == many
    (alone,), (usual, finer) = few.line_steps(), many.line_steps()
    assert few.finer_lines is None
    assert many.finer_lines.times == MOST_TIMES
    assert alone.n_cells == usual.n_cells < finer.n_cells / 10
    assert usual.stddev == pytest.approx(alone.stddev * 1.5**0.5, rel=0.01)
    assert finer.stddev == pytest.approx(alone.stddev * 3**0.5, rel=0.01)
    assert few.shares == many.shares
    for columns in ({"g": GROUP}, BOTH | {"x": NUMBER | {"upper": 9}, "y": NUMBER | {"upper": 9}}):
        assert adjust_for_row_count(request(schema(columns)), 200_000).finer_lines is None


def test_a_finer_line_takes_nothing_from_columns_that_have_none():
    columns = {"x": NUMBER | {"upper": 10**6}, "y": NUMBER | {"upper": 9}, "g": GROUP}
    few, many = (adjust_for_row_count(request(schema(columns)), n) for n in (1_000, 200_000))
    (x, y), (usual, same, finer) = few.line_steps(), many.line_steps()
    assert same.stddev == y.stddev
    assert usual.stddev == pytest.approx(x.stddev * 1.5**0.5, rel=0.01)
    assert finer.stddev == pytest.approx(x.stddev * 3**0.5, rel=0.01)


@pytest.mark.parametrize("columns", [BOTH, {"g": GROUP, "h": GROUP}], ids=["lines", "no lines"])
def test_the_least_number_is_that_of_the_noise(columns):
    asked = request(schema(columns))
    (step,) = asked.answer_steps()
    most = WITH_LINES if asked.lines else WITHOUT
    assert least_rows(asked) - 1 < step.stddev / most <= least_rows(asked)
    assert adjust_for_row_count(asked, least_rows(asked)) is asked
    assert adjust_for_row_count(asked, least_rows(asked) - 1) == dataclasses.replace(
        asked, answers_spend=0, usual_answers=False
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"budget": {"answers": 0.25}},
        {"budget": {"lines": 0}},
        {"priority": ["x", "g"]},
        {"analyses": ["ols y ~ x"]},
        {"method": "marginals"},
        {"delta": 0},
    ],
    ids=str,
)
def test_what_somebody_asked_for_is_bought_of_any_rows(asked):
    made = request(schema(), **asked)
    assert least_rows(made) == 0
    assert adjust_for_row_count(made, 0) is made


@pytest.mark.nightly
def test_few_rows_have_tables_for_all_of_the_budget():
    """The ledger, the plan's remark and the manifest agree; and replicates ask for the same."""
    least = least_rows(request(schema()))
    few, more = (
        us.synthesize(rows(n), schema(), insecure_noise_seed=1, **BUDGET)
        for n in (least // 2, 2 * least)
    )
    assert (bought(few), bought(more)) == (False, True)
    assert few.manifest.answers_share in (None, "0")
    assert exact(more.manifest.answers_share) > 0
    assert spent(few) == spent(more)
    remark = us.plan(schema(), **BUDGET).remarks[-1]
    assert f"comes out at {least:,} or more" in remark
    us.analyze(few, "mean", "x", uncertainty="bootstrap", repeats=39, seed=1, anyway=True)


@pytest.mark.nightly
def test_moments_of_fewer_answer_next_to_nothing():
    """Of the strongest relations, one row below the least number: all are of numbers that are cut
    off, as lines cannot rule out that a tenth lie beyond, and two fifths as wide as is possible."""
    n = least_rows(request(schema())) - 1
    for seed in range(3):
        asked = {"budget": {"answers": 0.25}, "insecure_noise_seed": seed}
        made = us.synthesize(rows(n), schema(), **BUDGET, **asked)
        assert bought(made)
        for kind, formula in [("correlation", "x + y"), ("ols", "y ~ x"), ("mean", "x ~ g")]:
            assert "counted as 99" in us.analyze(made, kind, formula).counting
        lower, upper = us.analyze(made, "mean", "x ~ g").pooled.interval()
        assert (upper - lower).max() > 0.4 * 99


@pytest.mark.parametrize("part", [0.5, 2])
@pytest.mark.nightly(every=2)
def test_a_public_number_of_rows_is_known_to_the_plan(part):
    n = int(part * least_rows(request(schema(n_rows=10**6))))
    plan = us.plan(schema(n_rows=n), **BUDGET)
    made = us.synthesize(rows(n), schema(n_rows=n), insecure_noise_seed=1, **BUDGET)
    assert any("products" in one.query or one.form == "moments" for one in plan.setup) == (part > 1)
    assert bought(made) == (part > 1)
    assert not any("comes out" in one for one in plan.remarks)


HEAPED = {"x": {**NUMBER, "upper": 9_999, "bins": 20, "heaps": [100, 10]}, "g": GROUP}


def heap_noise(asked):
    (step,) = asked.heap_steps()
    return step.stddev


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_heaps_cost_as_much_as_makes_their_noise_small_beside_the_rows(delta):
    made = request(schema(HEAPED), delta=delta, budget={"answers": 0.25, "lines": 0})
    enough = int(HEAPS * heap_noise(made))
    assert adjust_for_row_count(made, enough) is made
    for times in (2, 5):
        many = adjust_for_row_count(made, times * enough)
        assert heap_noise(many) == pytest.approx(times * heap_noise(made), rel=0.03)
        assert many.fit_spend == made.fit_spend + made.heaps_spend - many.heaps_spend
        assert adjust_for_row_count(many, times * enough).heaps_spend / many.heaps_spend > 0.99
    assert adjust_for_row_count(made, 10**12).heaps_spend == LEAST_HEAPS * made.heaps_spend
    assert adjust_for_row_count(made, -3).heaps_spend == made.heaps_spend


@pytest.mark.parametrize("known", [False, True], ids=["private", "public"])
@pytest.mark.nightly(every=2)
def test_what_heaps_of_many_rows_save_buys_records(known):
    n = 30_000
    made = schema(HEAPED, n if known else None)
    data = pl.DataFrame({"x": np.arange(n) * 10 % 10_000, "g": ["a", "b"] * (n // 2)})
    budget = {"epsilon": 4, "delta": "1e-6"}
    plan = us.plan(made, **budget)
    release = us.synthesize(data, made, insecure_noise_seed=1, **budget)
    (step,) = (one for one in plan.setup if one.form == "heaps")
    (heaps,) = (one for one in release.measurements if one.kind is Kind.HEAPS)
    noise = n / HEAPS
    assert heaps.stddev == pytest.approx(noise, rel=0.05)
    assert step.stddev == pytest.approx(noise if known else step.stddev, rel=0.05)
    assert known or step.stddev < noise / 2
    assert spent(release) == request(made, epsilon=4).budget.amount
    assert any("counts of heaps cost less" in one for one in plan.remarks) != known
    on_tens = (release.tables[0]["x"].cast(pl.Int64) % 10 == 0).mean()
    assert on_tens == pytest.approx(1, abs=0.02)
