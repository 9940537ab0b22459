"""The gate: it pays first, refuses overdrafts, and gives out released values only."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from understudy.data.base import NO_PREMISES
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.gate import Gate, is_listed, load_mechanisms
from understudy.dp.mechanism import answer
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.errors import InsufficientBudgetError, MethodError, NotPrivateError
from understudy.graphical.junction_tree import TreeLimit
from understudy.mechanisms import tables
from understudy.mechanisms.selection import Candidate, CandidateColumns
from understudy.mechanisms.selection_scores import CellCount, DistanceFromModel
from understudy.mechanisms.sparse_tables import LazyTable, ThresholdTable
from understudy.mechanisms.tables import NoisyTables, RowCount
from understudy.mechanisms.urn import Urn
from understudy.papers.empirical_distribution import CumulativeDistributions
from understudy.papers.exact import ExactTables
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

SCHEMA = Schema.loads("""
row_limit = 50
[columns.a]
kind = "categorical"
levels = ["x", "y", "z"]
source = "codebook"
reviewed = true
[columns.b]
kind = "boolean"
reviewed = true
""")
PUBLIC = SCHEMA.model_copy(update={"rows": "public", "n_rows": 40, "row_limit": None})
FRAME = pl.DataFrame(
    {"a": ["x"] * 20 + ["y"] * 12 + ["z"] * 3 + ["?"] * 5, "b": [True, False] * 20}
)
TABLES = {one.rows: Table(FRAME, one) for one in (SCHEMA, PUBLIC)}


class Spy:
    """An engine that remembers what it was asked."""

    premises, has_records = NO_PREMISES, True

    def __init__(self, schema=SCHEMA):
        self.table, self.schema, self.asked = TABLES[schema.rows], schema, []

    def total(self):
        self.asked.append("total")
        return self.table.total()

    def count(self, marginals):
        self.asked.append(tuple(marginals))
        return self.table.count(marginals)

    def group(self, schema, groups):
        return self.table.group(schema, groups)

    def count_occupied(self, columns, **part):
        self.asked.append(columns)
        return self.table.count_occupied(columns, **part)


def gate(epsilon=1, delta=0, seed=1, schema=SCHEMA, **options):
    spy = Spy(schema)
    return open_gate(spy, Budget.of(epsilon, delta), SeededRandomness(seed), **options), spy


def verbs():
    half = Fraction(1, 2)
    return {
        "count_rows": lambda g, s=half: g.ask(RowCount(), spend=s),
        "count": lambda g, s=half: g.ask(NoisyTables([("a",), ("b",)], noise="geometric"), spend=s),
        "count_above": lambda g, s=half: g.ask(
            ThresholdTable(("a", "b"), 3, noise="geometric"), spend=s
        ),
        "records": lambda g, s=half: g.ask(LazyTable(columns=("a", "b"), n_rows=5), spend=s),
        "posterior": lambda g, s=half: g.ask(
            Urn(columns=("a", "b"), reinforced=True, n_rows=5), spend=s
        ),
        "draw": lambda g, s=half: g.ask(CumulativeDistributions([("a", "b")]), spend=s),
        "choose": lambda g, s=half: g.ask(Candidate(range(3), CellCount((0,))), spend=s),
    }


@pytest.mark.parametrize("verb", verbs())
def test_a_request_beyond_the_budget_is_refused_before_anything_is_computed(verb):
    door, spy = gate(epsilon="0.4")
    with pytest.raises(InsufficientBudgetError, match="nothing was computed") as caught:
        verbs()[verb](door)
    assert spy.asked == []
    assert door.ledger == ()
    assert (caught.value.requested, caught.value.remaining) == ("0.5", "0.4")


@pytest.mark.parametrize("verb", verbs())
def test_the_ledger_is_charged_before_the_engine_is_asked(verb):
    door, spy = gate()
    ask = {name: getattr(spy, name) for name in ("total", "count", "count_occupied")}

    def paid_first(name):
        def asked(*args, **options):
            assert door.ledger, "computed before it was paid"
            return ask[name](*args, **options)

        return asked

    for name in ask:
        setattr(spy, name, paid_first(name))
    verbs()[verb](door)
    assert door.remaining == Fraction(1, 2)


@pytest.mark.parametrize("verb", verbs())
@pytest.mark.parametrize("spend", [Fraction(0), Fraction(-1)])
def test_nothing_is_free(verb, spend):
    door, spy = gate()
    with pytest.raises(MethodError, match="more than nothing"):
        verbs()[verb](door, spend)
    assert spy.asked == []


def test_a_budget_can_be_spent_to_the_last_fraction_and_no_further():
    door, _ = gate()
    for _ in range(3):
        door.ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(1, 3))
    assert door.remaining == 0
    with pytest.raises(InsufficientBudgetError):
        door.ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(1, 10**12))


def test_the_public_number_of_rows_is_free_and_exact():
    door, spy = gate(schema=PUBLIC)
    assert door.ask(RowCount(), spend=Fraction(0)).value == 40
    assert spy.asked == []
    assert door.ledger == ()


def test_the_noisy_number_of_rows_is_clipped_to_the_public_limit():
    values = [
        gate(epsilon="0.01", seed=s)[0].ask(RowCount(), spend=Fraction(1, 100)).value
        for s in range(60)
    ]
    assert min(values) == 0
    assert max(values) == 50


def test_counts_are_unbiased_with_the_stated_standard_deviation():
    """Mean and variance over 1,600 draws of four counts, false-alarm rate about 10⁻⁵."""
    released = [
        gate(seed=s)[0].ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(1))[0]
        for s in range(400)
    ]
    found = [(*r.value.counts, r.value.outside) for r in released]
    draws = (np.array(found, dtype=float) - [20, 12, 3, 5]).reshape(-1)
    n, sd = len(draws), released[0].noise.stddev
    assert abs(draws.mean()) < 4.5 * sd / np.sqrt(n)
    kurtosis = 6  # excess of a Laplace-type law is about 3: var(s²) = (κ + 2)/n · σ⁴
    assert abs(draws.var() / sd**2 - 1) < 4.5 * np.sqrt(kurtosis / n)


def test_weights_divide_the_cost():
    door, _ = gate()
    door.ask(NoisyTables([("a",), ("b",)], noise="geometric", weights=[3, 1]), spend=Fraction(1))
    assert [entry.spent for entry in door.ledger] == [Fraction(3, 4), Fraction(1, 4)]
    assert [entry.noise.split()[-1] for entry in door.ledger] == ["4/3", "4"]


def test_replace_doubles_the_noise():
    door, _ = gate(schema=PUBLIC)
    door.ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(1))
    assert door.ledger[0].sensitivity == "L1 = 2"
    assert door.ledger[0].noise.endswith("scale 2")


def test_gaussian_noise_needs_a_delta():
    with pytest.raises(MethodError, match="delta"):
        gate()[0].ask(NoisyTables([("a",)], noise="gaussian"), spend=Fraction(1))


def test_choose_has_the_probabilities_of_the_exponential_mechanism():
    """Chi-square over three cells with counts 20, 12, 3; α = 10⁻⁴, and it rejects half the ε."""
    epsilon = Fraction(1, 5)
    winners = [
        gate(seed=s)[0].ask(Candidate("xyz", CellCount((0,))), spend=epsilon).value
        for s in range(400)
    ]
    observed = [winners.count(level) for level in "xyz"]

    def expected(eps):
        weights = np.exp(eps * np.array([20, 12, 3]))  # monotone: exponent ε·u
        return 400 * weights / weights.sum()

    assert stats.chisquare(observed, expected(0.2)).pvalue > 1e-4
    assert stats.chisquare(observed, expected(0.1)).pvalue < 1e-4


def test_choose_passes_over_infeasible_candidates():
    door, _ = gate(epsilon=100)
    mask = np.array([False, True, True])
    chosen = door.ask(Candidate("xyz", CellCount((0,)), feasible=mask), spend=Fraction(100))
    assert chosen.value == "y"
    assert len(door.ledger) == 1


@pytest.mark.parametrize(
    "feasible", [np.zeros(3, bool), np.ones(2, bool), np.ones(3, int), [True, True, True]]
)
def test_a_rule_that_leaves_nothing_or_does_not_fit_is_refused_before_it_is_paid(feasible):
    door, spy = gate()
    with pytest.raises(MethodError):
        door.ask(Candidate("xyz", CellCount((0,)), feasible=feasible), spend=Fraction(1))
    assert (door.ledger, spy.asked) == ((), [])


def test_a_limit_on_trees_is_for_sets_of_columns_of_this_schema():
    door, spy = gate()
    names, estimates = (("a",), ("b",)), np.zeros(5)
    score = DistanceFromModel(door.schema, names, estimates, (1, 1), np.zeros(2))
    limit = TreeLimit(door.schema.sizes, (), 9.0)
    with pytest.raises(MethodError, match="sets of columns"):
        door.ask(Candidate("xy", score, feasible=limit), spend=Fraction(1))
    with pytest.raises(MethodError, match="another schema"):
        door.ask(
            CandidateColumns(names, score, feasible=TreeLimit((7,), (), 9.0)), spend=Fraction(1)
        )
    wide = (("a", "b"),)
    score = DistanceFromModel(door.schema, wide, np.zeros(6), (1,), np.zeros(1))
    limit = TreeLimit(door.schema.sizes, (), 1.0)
    with pytest.raises(MethodError, match="No candidate is feasible"):
        door.ask(CandidateColumns(wide, score, feasible=limit), spend=Fraction(1))
    assert (door.ledger, spy.asked) == ((), [])


def test_choose_takes_named_scores_only():
    class Greedy:
        monotone = True

    with pytest.raises(MethodError, match="takes no Greedy as score"):
        gate()[0].ask(Candidate("xyz", Greedy()), spend=Fraction(1))


def test_choose_by_distance_finds_the_worst_table():
    door, _ = gate(epsilon=100)
    estimates = np.array([20.0, 12.0, 3.0, 0.0, 0.0])
    names = (("a",), ("b",))
    score = DistanceFromModel(door.schema, names, estimates, (1, 1), np.zeros(2))
    assert door.ask(Candidate(["a", "b"], score), spend=Fraction(50)).value == "b"
    assert door.ask(CandidateColumns(names, score), spend=Fraction(50)).value == ("b",)


def test_weights_and_penalties_move_the_choice():
    door, _ = gate(epsilon=300)
    names, estimates = (("a",), ("b",)), np.array([20.0, 12.0, 3.0, 0.0, 0.0])
    penalised = DistanceFromModel(door.schema, names, estimates, (1, 1), np.array([0.0, 60.0]))
    assert door.ask(Candidate(["a", "b"], penalised), spend=Fraction(100)).value == "a"
    weighted = DistanceFromModel(door.schema, names, estimates + 5, (255, 1), np.zeros(2))
    assert door.ask(Candidate(["a", "b"], weighted), spend=Fraction(100)).value == "a"


def test_a_choice_walks_past_what_a_public_rule_forbids():
    door, _ = gate(epsilon=100)
    names, estimates = (("a",), ("b",)), np.array([20.0, 12.0, 3.0, 0.0, 0.0])
    score = DistanceFromModel(door.schema, names, estimates, (1, 1), np.zeros(2))
    mask = np.array([True, False])
    choice = door.ask(CandidateColumns(names, score, feasible=mask), spend=Fraction(9))
    assert choice.value == ("a",)


@pytest.mark.parametrize(
    ("weights", "estimates"), [((0, 1), np.zeros(5)), ((1,), np.zeros(5)), ((1, 1), np.zeros(4))]
)
def test_a_score_that_does_not_fit_is_refused_before_it_is_paid(weights, estimates):
    door, spy = gate()
    with pytest.raises(MethodError):
        DistanceFromModel(door.schema, (("a",), ("b",)), estimates, weights, np.zeros(2))
    assert not spy.asked
    assert not door.ledger


def test_a_grouped_view_shares_the_ledger_and_says_how_states_are_merged():
    door, _ = gate(epsilon=1000)
    view = door.group({"a": (1, 0, 0)})
    (fine,) = door.ask(NoisyTables([("a",)], noise="geometric"), spend=Fraction(500))
    (coarse,) = view.ask(NoisyTables([("a", "b")], noise="geometric"), spend=Fraction(500))
    assert coarse.value.groups == {"a": (1, 0, 0)}
    assert (coarse.value.noise, fine.value.noise) == (coarse.noise, fine.noise)
    assert fine.value.groups == {}
    assert coarse.value.counts.sum(axis=1).tolist() == [15, 20]
    assert [one.entry for one in door.measured] == [1, 2]
    assert door.remaining == view.remaining == 0
    assert view.schema.columns["a"].levels == ("y or z", "x")
    assert door.group({"a": (1, 0, 0)}) is view


def test_reveal_needs_permission_and_stamps_the_release():
    with pytest.raises(NotPrivateError, match="allow_nonprivate"):
        gate()[0].ask(ExactTables([("a",)]))
    door, _ = gate(allow_nonprivate=True)
    (table,) = door.ask(ExactTables([("a",)]))
    assert table.value.counts.tolist() == [20, 12, 3]
    assert door.guarantee().kind == "none"
    assert door.guarantee().epsilon is None
    assert "NOT private" in door.guarantee().statement


def test_seeded_noise_is_not_private():
    assert gate()[0].guarantee().kind == "none"
    secure = open_gate(Spy(), Budget.of(1), SecureRandomness())
    assert secure.guarantee().kind == "pure"


def test_the_guarantee_names_what_is_public_and_what_has_no_source():
    inputs = {public.what: public for public in gate()[0].guarantee().public_inputs}
    assert inputs["levels of a"].source == "codebook"
    assert inputs["levels of b"].note == "no source named"
    assert "upper limit of rows, 50" in inputs


def test_huge_tables_are_refused_with_alternatives():
    columns = "".join(
        f'[columns.c{k}]\nkind = "integer"\nlower = 0\nupper = 9999\nbins = 10000\n'
        "reviewed = true\n"
        for k in range(5)
    )
    schema = Schema.loads(columns)
    frame = pl.DataFrame({f"c{k}": [1] for k in range(5)})
    door = open_gate(Table(frame, schema), Budget.of(1), SeededRandomness(1))
    with pytest.raises(MethodError, match="independent"):
        door.ask(ThresholdTable(schema.names, 5, noise="geometric"), spend=Fraction(1))
    with pytest.raises(MethodError, match="too many to write out"):
        door.ask(NoisyTables([schema.names[:2]], noise="geometric"), spend=Fraction(1))
    assert door.ledger == ()


# --- a list of other mechanisms ---------------------------------------------------------------


@dataclass(frozen=True)
class Leaking(RowCount):
    """A mechanism that nobody proved: the exact number of rows, at the price of a noisy one."""

    def run(self, rows, charges, source):
        return answer(rows.total().expose())


def test_a_gate_with_another_mechanism_stamps_its_release_as_not_private():
    """Claim: a list with a class that is not of this package buys no guarantee, asked or not."""
    source = SecureRandomness()
    ours, theirs = (
        Gate(TABLES["private"], Budget.of(1), source, mechanisms=mechanisms)
        for mechanisms in (None, (*load_mechanisms(), Leaking))
    )
    assert ours.guarantee().kind == "pure"
    assert theirs.guarantee().kind == "none"
    theirs.ask(NoisyTables([("a",)], noise="laplace"), spend=Fraction(1, 2))
    assert theirs.guarantee().kind == "none"
    with pytest.raises(MethodError, match="Leaking"):
        ours.ask(Leaking(), spend=Fraction(1, 2))
    assert ours.ledger == ()


def named_like_ours():
    """The same class under the names of a listed one."""
    kind = dataclass(frozen=True)(type("RowCount", (Leaking,), {}))
    kind.__module__, kind.__qualname__ = RowCount.__module__, RowCount.__qualname__
    return kind


@pytest.mark.parametrize("put_there", [False, True])
def test_a_class_under_a_listed_name_is_refused(put_there, monkeypatch):
    """Claim: the gate compares classes, not names; nor does it take what was put there later."""
    assert is_listed(RowCount)
    kind = named_like_ours()
    if put_there:
        monkeypatch.setattr(tables, "RowCount", kind)
    gate = Gate(TABLES["private"], Budget.of(1), SecureRandomness())
    with pytest.raises(MethodError, match="takes no RowCount"):
        gate.ask(kind(), spend=Fraction(1, 2))
    assert gate.ledger == ()
    assert is_listed(RowCount)


def test_whether_a_class_is_listed_is_not_asked_of_the_class():
    read = []

    class Telling(type):
        def __getattribute__(cls, name):
            read.append(name)
            return super().__getattribute__(name)

    kind = Telling("RowCount", (), {"__module__": RowCount.__module__})
    read.clear()
    assert not is_listed(kind)
    assert read == []
