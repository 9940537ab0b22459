"""AIM: what it reproduces, what a single column gets, and whose tables are whose."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.methods.aim import Aim
from understudy.methods.registry import configure
from understudy.workflow.analyze import model_of
from understudy.workflow.gates import open_gate

SIZES = (3, 2, 4, 3)


def schema(sizes=SIZES, n=1_500, rules=""):
    columns = "".join(
        f'[columns.x{j}]\nkind = "categorical"\nlevels = {[str(k) for k in range(size)]}\n'
        'reviewed = true\nsource = "codebook"\n'
        for j, size in enumerate(sizes)
    )
    return us.Schema.loads(f'rows = "public"\nn_rows = {n}\n{columns}{rules}')


def states(sizes=SIZES, n=1_500, seed=0):
    """Columns that are related three at a time."""
    rng = np.random.default_rng(seed)
    found = [rng.integers(0, size, n) for size in sizes]
    for j in range(2, len(sizes)):
        tied = (found[j - 1] + found[j - 2]) % sizes[j]
        found[j] = np.where(rng.random(n) < 0.6, tied, found[j])
    return np.stack(found)


def frame(found):
    return pl.DataFrame({f"x{j}": one.astype(str) for j, one in enumerate(found)})


def gate_of(epsilon, delta="0.000001", sizes=SIZES, n=1_500, seed=1):
    budget = Budget.of(epsilon, delta, "zcdp")
    table = Table(frame(states(sizes, n)), schema(sizes, n))
    return open_gate(table, budget, SeededRandomness(seed))


@pytest.mark.parametrize(
    ("delta", "degree"), [("0", 3), ("0", 4), *(("0.000001", k) for k in (2, 3))]
)
@pytest.mark.nightly(every=2)
def test_without_noise_the_workload_is_reproduced(degree, delta):
    """There are rounds for all of it: four where δ = 0, as many as triples, else sixty."""
    gate = gate_of("1000000", delta)
    model = Aim(degree=degree).fit(gate, gate.budget.amount, 10)
    true = states()
    for one in combinations(range(4), degree):
        exact, _ = np.histogramdd(true[list(one)].T, bins=[range(SIZES[j] + 1) for j in one])
        np.testing.assert_allclose(model.fit.marginal(one), exact, atol=0.5)
    drawn = np.stack(model.sample(1_500, np.random.default_rng(1)).states)
    for one in combinations(range(4), 2):
        tables = [
            np.histogramdd(each[list(one)].T, bins=[range(SIZES[j] + 1) for j in one])[0]
            for each in (true, drawn)
        ]
        assert np.abs(tables[0] - tables[1]).max() < 5 * np.sqrt(tables[0].max())


def test_only_marginals_with_the_target_or_listed_ones_are_measured():
    for method, allowed in (
        (Aim(target="x2"), lambda one: "x2" in one or len(one) <= 2),
        (Aim(workload=("x0 & x3", "x1 & x2: 5")), lambda one: one in (("x0", "x3"), ("x1", "x2"))),
        (Aim(degree=2), lambda one: len(one) <= 2),
    ):
        gate = gate_of("10")
        method.fit(gate, gate.budget.amount, 10)
        measured = [one.value.columns for one in gate.measured]
        assert any(len(one) > 1 for one in measured)
        assert all(len(one) == 1 or allowed(one) for one in measured)


def test_a_heavier_marginal_is_measured_first():
    gate = gate_of("10")
    Aim(workload=("x0 & x3", "x1 & x2: 200")).fit(gate, gate.budget.amount, 10)
    pairs = [one.value.columns for one in gate.measured if len(one.value.columns) == 2]
    assert pairs[0] == ("x1", "x2")


def test_a_single_column_gets_all():
    gate = gate_of("1", sizes=(5,))
    Aim().fit(gate, gate.budget.amount, 10)
    assert len(gate.ledger) == 1
    assert gate.remaining == 0
    (planned,) = us.plan(schema((5,)), method="aim", epsilon=1, delta="0.000001").tables
    assert planned.share == 1


@pytest.mark.parametrize("sizes", [(4,), (2, 2), (3, 2), (2, 3, 2)])
@pytest.mark.parametrize("name", ["aim", "marginals", "mst"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.nightly(every=9)
def test_tables_of_split_sets_are_told_apart(sizes, name, seed):
    """Rounds, and tables that are bought once more, may measure single columns in the order of the
    schema, which is how a fit begins."""
    release = us.synthesize(
        frame(states(sizes, 100)), schema(sizes, 100), method=name, epsilon="0.5",
        delta="0.000001", sets=3, options={"sets": "split"}, insecure_noise_seed=seed,
    )  # fmt: skip
    costs = [Fraction(step["half_mu_squared_exact"]) for step in release.manifest.ledger]
    measured, parts, spent = release.measurements, [[], [], []], Fraction(0)
    for one, cost in zip(measured, costs, strict=True):  # each fit spends a third of the budget
        if one.kind == "table":
            parts[int(3 * spent / sum(costs))].append(one.columns)
        spent += cost
    declared = release.schema
    tables = [one.noisy(declared) for one in measured if one.kind == "table"]
    found = configure(name, {"sets": "split"}).by_fit(declared, tables, 3)
    assert [[table.columns for table in one] for one in found] == parts
    assert model_of(release, 3) is not None


@pytest.mark.parametrize("name", ["aim", "marginals", "mst"])
@pytest.mark.parametrize("epsilon", ["0.00001", "1000000"])
@pytest.mark.parametrize("n", [0, 40])
@pytest.mark.nightly(every=4)
def test_any_budget_and_number_of_rows(name, epsilon, n):
    rules = '[[forbidden]]\nwhere = { x0 = "0", x2 = ["1", "2"] }\nreviewed = true\nsource = "law"'
    declared = schema(SIZES, n, rules)
    rows = frame(states(n=n))
    release = us.synthesize(rows, declared, method=name, epsilon=epsilon, delta="0.000001")
    (table,) = release.tables
    assert table.shape == (n, 4)
    assert table.filter((pl.col("x0") == "0") & pl.col("x2").is_in(["1", "2"])).is_empty()
