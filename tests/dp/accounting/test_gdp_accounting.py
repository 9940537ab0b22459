"""Budgets kept in Gaussian DP, through the gate and in a release."""

import json
from fractions import Fraction

import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.guarantee import Guarantee
from understudy.dp.randomness import SeededRandomness
from understudy.mechanisms import selection
from understudy.mechanisms.selection import Candidate, gdp_cost, selection_epsilon
from understudy.mechanisms.selection_scores import CellCount
from understudy.mechanisms.tables import NoisyTables, RowCount
from understudy.methods.registry import configure
from understudy.report.public_page import public_page
from understudy.schema import Schema
from understudy.workflow.budget_shares import budget_of
from understudy.workflow.gates import open_gate

F = Fraction
SCHEMA = Schema.loads("""
rows = "private"
row_limit = 1000
[columns.a]
kind = "categorical"
levels = ["x", "y", "z"]
reviewed = true
source = "codebook"
[columns.b]
kind = "boolean"
reviewed = true
source = "codebook"
[columns.c]
kind = "boolean"
reviewed = true
source = "codebook"
""")
FRAME = pl.DataFrame({"a": ["x", "y"] * 20, "b": [True, False] * 20, "c": [True] * 40})
TABLE = Table(FRAME, SCHEMA)


def gate(epsilon=1, delta="1e-9"):
    budget = Budget.of(epsilon, delta, "gdp")
    return open_gate(TABLE, budget, SeededRandomness(1))


def test_the_gate_charges_and_promises_in_gaussian_dp():
    one = gate()
    one.ask(RowCount(), spend=one.remaining / 20)
    (noisy,) = one.ask(NoisyTables([("a",)], noise="gaussian"), spend=one.remaining)
    assert one.remaining == 0
    ideal = 1 / (2 * one.budget.amount * F(19, 20))
    assert ideal < F(noisy.noise.scale) < ideal * (1 + one.budget.amount / 5)
    entry = one.ledger[-1].to_json()
    assert F(entry["half_mu_squared_exact"]) == one.budget.amount * F(19, 20)
    assert not {"epsilon", "rho"} & set(entry)
    assert repr(gate()).startswith("Gate(μ²/2 left: 0.01655")


def test_the_promise_says_mu_and_older_releases_load():
    promise = Guarantee("approximate", F(1), F(1, 10**9), "add_remove", mu=F(182, 1000))
    assert "Gaussian differential privacy with μ = 0.182" in promise.statement
    assert Guarantee.from_json(promise.to_json()) == promise
    assert promise.not_private("x").mu is None
    older = Guarantee("approximate", F(1), F(1, 10**9), "add_remove", rho=F(1, 50))
    data = older.to_json()
    del data["mu"]
    assert Guarantee.from_json(data) == older
    assert "μ" not in older.statement


def test_a_choice_gets_the_epsilon_that_the_rest_of_the_budget_allows(monkeypatch):
    """The rest is what the ledger still allows: less each time, and nothing in the end."""
    asked = []

    def spying(scores, *, epsilon, **rest):
        asked.append(epsilon)
        return 0

    monkeypatch.setattr(selection, "select", spying)
    one = gate()
    half = one.remaining / 2
    tenth = half / 10
    for spend, rest in ((tenth, 2 * half - tenth), (half, half - tenth), (half - tenth, F(0))):
        one.ask(Candidate(range(2), CellCount((1,))), spend=spend)
        assert one.remaining == rest
        assert asked[-1] == selection_epsilon(spend, "gdp", rest=rest)
        assert gdp_cost(asked[-1], rest=rest) <= spend * (1 + F(1, 10**10))


@pytest.mark.parametrize("delta", ["1e-12", "1e-9", "1e-6", "1e-3"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "5", "20", "1000000"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_gaussian_dp_is_taken_where_its_noise_is_less(epsilon, delta, neighbours):
    """Below ε = 5 it always is; a budget that leaves noise of a record or less stays in zCDP."""
    schema = SCHEMA
    if neighbours == "replace":
        schema = SCHEMA.model_copy(update={"rows": "public", "n_rows": 40, "row_limit": None})
    method = configure("independent", {})
    budget = budget_of(epsilon, delta, method, schema)
    assert schema.neighbours == neighbours
    (table, *_) = method.plan(schema, budget.amount, budget)
    plain = Budget.of(epsilon, delta)
    (other, *_) = method.plan(schema, plain.amount, plain)
    assert table.stddev <= other.stddev
    assert budget.accounting == ("gdp" if float(epsilon) <= 5 else "zcdp") or epsilon == "20"


def test_other_noise_keeps_its_accounting():
    for distribution in ("geometric", "laplace"):
        method = configure("independent", {"noise": distribution})
        assert budget_of(1, "1e-9", method, SCHEMA).accounting == "zcdp"
    assert budget_of(1, 0, configure("independent", {}), SCHEMA).accounting == "pure"


def test_a_release_says_in_which_unit_it_paid(tmp_path):
    arguments = {"epsilon": 1, "delta": "1e-9", "method": "independent"}
    release = us.synthesize(FRAME, SCHEMA, **arguments)
    assert release.guarantee.mu is not None
    assert release.guarantee.rho is None
    release.save(tmp_path / "release")
    again = us.Release.load(tmp_path / "release")
    assert again.guarantee == release.guarantee
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text("utf-8"))
    assert manifest["budget"]["unit"] == "half_mu_squared"
    total = sum(F(entry["half_mu_squared_exact"]) for entry in manifest["ledger"])
    assert total == Budget.of(1, "1e-9", "gdp").amount
    page = public_page(again).replace("\N{NO-BREAK SPACE}", " ")
    assert "Total μ²/2 = <strong>0.01655741524" in page
    assert "by Gaussian differential privacy this gives ε = 1" in page
    assert "The steps cost exactly the stated budget." in page
