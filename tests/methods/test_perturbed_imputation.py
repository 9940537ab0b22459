"""Perturbed imputation as a method: plan, cautions, refusals, releases."""

import math

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import BudgetError, MethodError
from understudy.schema import Schema

COLUMNS = """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[columns.job]
kind = "categorical"
levels = ["none", "worker", "boss"]
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 18, 99]
reviewed = true
[[forbidden]]
where = { age = { lower = 0, upper = 17 }, job = ["worker", "boss"] }
reviewed = true
"""
METHOD = "perturbed-imputation"


def schema(n_rows=None):
    head = "" if n_rows is None else f'rows = "public"\nn_rows = {n_rows}\n'
    return Schema.loads(head + COLUMNS)


def people(n, seed=1):
    """Three quarters of the women work, a quarter of the men; nobody is a boss."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    works = rng.random(n) < np.where(sex == "f", 0.75, 0.25)
    job = np.where(works, "worker", "none")
    return pl.DataFrame({"sex": sex, "job": job, "age": rng.integers(18, 99, n)})


@pytest.mark.parametrize("sweeps", [1, 4])
def test_a_plan_counts_the_draws_of_a_record_and_says_how_little_is_bought(sweeps):
    options = {"sweeps": sweeps}
    plan = us.plan(schema(100), epsilon=50, method=METHOD, sets=2, options=options)
    (table,) = plan.tables
    assert (table.form, table.n_cells, table.noise_mass) == ("sweeps", 3 * sweeps, 0)
    assert f"25/(n·{3 * sweeps})" in table.noise
    assert (plan.sets_kind, plan.fits) == ("split", 2)
    weight = 1 / (1 + 2 / math.expm1(25 / (300 * sweeps)))
    assert any(f"weight of {weight:.2g}" in remark for remark in plan.remarks)
    assert f"{300 * sweeps:,} draws" in " ".join(plan.remarks)
    private = us.plan(schema(), epsilon=50, method=METHOD)
    assert not any("draws" in remark for remark in private.remarks)


@pytest.mark.parametrize(
    ("option", "value"),
    [("sweeps", 0), ("penalty", -1), ("mixing", 1.5), ("most_rows", 0), ("sets", "free")],
)
def test_options_that_make_no_sense_are_refused(option, value):
    with pytest.raises(MethodError, match=option):
        us.plan(schema(), epsilon=1, method=METHOD, options={option: value})


def test_too_many_states_are_refused_in_the_plan():
    column = 'kind = "integer"\nlower = 0\nupper = 4999\nbins = 5000\nreviewed = true\n'
    wide = Schema.loads("".join(f"[columns.c{j}]\n{column}" for j in range(2)))
    with pytest.raises(MethodError, match="10,000 states"):
        us.plan(wide, epsilon=1, method=METHOD)


def test_no_seed_is_accepted():
    with pytest.raises(MethodError, match="no seed"):
        us.synthesize(people(5), schema(5), method=METHOD, epsilon=1, seed=1)


def test_a_budget_that_leaves_nothing_is_refused_before_the_rows_are_coded():
    tiny = {"epsilon": "1e-9", "delta": "1e-12"}
    with pytest.raises(BudgetError, match="next to nothing"):
        us.plan(schema(10**9), method=METHOD, **tiny)


def worker_shares(table):
    return [(table.filter(pl.col("sex") == sex)["job"] == "worker").mean() for sex in "fm"]


def test_relations_are_kept_at_a_huge_budget_and_lost_at_a_usual_one():
    """1,500 records: shares of about 750 women within 5 deviations of 0.018."""
    rows, given = people(1500), {"method": METHOD, "options": {"sweeps": 6}, "frame": "polars"}
    kept = us.synthesize(rows, schema(1500), epsilon=10**6, insecure_noise_seed=1, **given)
    assert worker_shares(kept.tables[0]) == pytest.approx([0.75, 0.25], abs=0.1)
    assert (kept.tables[0]["job"] == "boss").sum() == 0
    lost = us.synthesize(rows, schema(1500), epsilon=1, insecure_noise_seed=1, **given)
    women, men = worker_shares(lost.tables[0])
    assert abs(women - men) < 0.15
    assert (lost.tables[0]["job"] == "boss").mean() > 0.15
    (one,) = lost.measurements
    assert (one.kind, one.distribution, one.columns) == (
        "sweeps",
        METHOD.replace("-", " "),
        schema().names,
    )
