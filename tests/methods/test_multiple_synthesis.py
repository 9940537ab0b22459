"""Classical multiple synthesis: not private and stamped so; posterior of the exact statistics."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SecureRandomness
from understudy.errors import MethodError, NotPrivateError
from understudy.inference.combining import partial_variance
from understudy.methods.registry import configure
from understudy.papers import bayesian_models
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

REVIEWED = 'reviewed = true\nsource = "codebook"'
COLUMNS = f"""
[columns.group]
kind = "categorical"
levels = ["a", "b"]
{REVIEWED}
[columns.x]
kind = "continuous"
lower = -20
upper = 20
{REVIEWED}
[columns.y]
kind = "continuous"
lower = -20
upper = 20
{REVIEWED}
"""
GIVEN = {"method": "multiple-synthesis", "epsilon": 1, "allow_nonprivate": True, "frame": "polars"}


def people(n, seed=1):
    rng = np.random.default_rng(seed)
    second = rng.random(n) < 0.3
    x = np.where(second, 3.0, 0.0) + rng.normal(size=n)
    y = np.where(second, -1.0, 1.0) + 0.5 * (x - np.where(second, 3.0, 0.0)) + rng.normal(size=n)
    return pl.DataFrame({"group": np.where(second, "b", "a"), "x": x, "y": y})


def schema(n, columns=COLUMNS, rows="public"):
    head = f"n_rows = {n}" if rows == "public" else "row_limit = 1000"
    return Schema.loads(f'rows = "{rows}"\n{head}\n{columns}')


def fitted(frame, of, **options):
    gate = open_gate(Table(frame, of), Budget.of(1), SecureRandomness(), allow_nonprivate=True)
    return configure("multiple-synthesis", options).fit(gate, gate.budget.amount, 10), gate


def test_it_is_refused_without_permission_and_before_the_rows_are_read():
    with pytest.raises(NotPrivateError, match="allow_nonprivate"):
        us.synthesize(object(), schema(10), method="multiple-synthesis", epsilon=1)


def test_the_release_has_no_guarantee_and_costs_nothing():
    release = us.synthesize(people(50), schema(50), sets=3, **GIVEN)
    assert release.guarantee.kind == "none"
    assert release.guarantee.epsilon is None
    assert release.manifest.sets_kind == "posterior"
    plan = us.plan(schema(50), method="multiple-synthesis", epsilon=1, sets=3)
    assert plan.fits == 1
    assert [step["query"] for step in release.manifest.ledger] == [t.query for t in plan.tables]
    assert {one.kind for one in release.measurements} == {"exact"}
    assert not any(one.counts.size or one.totals for one in release.measurements)
    assert us.analyze(release, "mean", "x").pooled.rule == "partial"


def test_the_statistics_are_the_exact_ones():
    frame = people(200)
    model, gate = fitted(frame, schema(200))
    found = model.blocks[0].statistics
    step = (40 / 2**16) ** 2 * 200
    assert found.counts.tolist() == [(frame["group"] == g).sum() for g in ("a", "b")]
    centred = frame.select("x", "y") - frame.select(
        pl.col("x").mean().over("group") for _ in "x"
    ).hstack([frame.select(pl.col("y").mean().over("group"))["y"]])
    values = centred.to_numpy()
    assert found.scatter == pytest.approx(values.T @ values, abs=2 + 40 * np.sqrt(step))
    for k, g in enumerate(("a", "b")):
        part = frame.filter(pl.col("group") == g).select("x", "y").to_numpy()
        assert found.sums[k] == pytest.approx(part.sum(axis=0), abs=0.05)
    assert all(entry.spent is None for entry in gate.ledger)


def test_each_set_has_parameters_of_its_own():
    """The means of sets vary by posterior and sampling, 2σ²/n; sampling alone would give σ²/n."""
    n = 400
    frame = people(n)
    model, _ = fitted(frame, schema(n))
    rng = np.random.default_rng(2)
    means = np.array([model.sample(n, rng).values["y"].mean() for _ in range(600)])
    ratio = means.var(ddof=1) / (frame["y"].var() / n)
    low, high = stats.chi2.ppf([1e-5, 1 - 1e-5], 599) / 599
    assert 2 * low < ratio < 2 * high
    assert not low < ratio < high


@pytest.mark.nightly
def test_the_rule_for_partially_synthetic_data_covers():
    """Mean of y in group b from 5 sets; 1,500 tables, so that coverage has an error of 0.6 points
    (4.5 of them: a false alarm in 150,000 seeds). One set taken for real data covers less."""
    n, m, repetitions = 200, 5, 1500
    rng = np.random.default_rng(3)
    q, u = np.empty((2, repetitions, m))
    model = bayesian_models.Mixture(
        np.array([[-20.0, 20.0]]), np.ones((2, 1), bool), np.ones(2, bool)
    )
    for r in range(repetitions):
        group = (rng.random(n) < 0.3).astype(int)
        y = rng.normal(1 - 2 * group)
        counts = np.bincount(group, minlength=2).astype(float)
        sums = np.bincount(group, y, minlength=2)
        scatter = (y**2).sum() - (sums**2 / counts).sum()
        found = bayesian_models.LocationStatistics(
            np.tile(counts, (m, 1)),
            np.tile(sums[:, None], (m, 1, 1)),
            np.full((m, 1, 1), scatter),
            exact=True,
        )
        drawn = model.predict(model.posterior(found, rng), n, rng)
        inside = np.ma.array(drawn.values[..., 0], mask=drawn.cells == 0)
        q[r], u[r] = inside.mean(axis=1), inside.var(axis=1, ddof=1) / inside.count(axis=1)
    totals = partial_variance(q[..., None], u[..., None])
    reach = stats.t.ppf(0.975, totals.df) * np.sqrt(totals.variance)
    margin = 4.5 * np.sqrt(0.95 * 0.05 / repetitions)
    assert np.mean(np.abs(totals.estimate + 1) <= reach) == pytest.approx(0.95, abs=margin)
    assert np.mean(np.abs(q[:, 0] + 1) <= 1.96 * np.sqrt(u[:, 0])) < 0.95 - margin


def test_a_binary_column_and_a_single_number():
    binary = f'[columns.x]\nkind = "boolean"\n{REVIEWED}'
    model, _ = fitted(pl.DataFrame({"x": [True] * 3 + [False] * 5}), schema(8, binary))
    assert model.blocks[0].statistics == 3
    number = f'[columns.x]\nkind = "continuous"\nlower = 0\nupper = 5\n{REVIEWED}'
    model, _ = fitted(pl.DataFrame({"x": [1.0, 2, 3, 4]}), schema(4, number))
    assert float(model.blocks[0].statistics.mean) == pytest.approx(2.5, abs=1e-3)
    assert float(model.blocks[0].statistics.variance) == pytest.approx(5 / 3, abs=1e-3)


@pytest.mark.parametrize("rows", ["private", "public"])
@pytest.mark.parametrize("n", [0, 1])
def test_next_to_no_rows(rows, n):
    release = us.synthesize(people(n), schema(n, rows=rows), sets=2, **GIVEN)
    assert {one.height for one in release.tables} == {release.manifest.n_rows}


def test_other_kinds_of_sets_are_refused():
    with pytest.raises(MethodError, match="posterior"):
        configure("multiple-synthesis", {"sets": "split"})
