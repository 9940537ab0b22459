"""Products of rank scores: what one record can change, by enumeration, and how much noise."""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from schemas import column
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.confidential import terms_of
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError, InsufficientBudgetError, MethodError
from understudy.features.scores import RANK_UNIT, RankScores, shorten_vectors
from understudy.mechanisms.second_moments import (
    STEP,
    RankProducts,
    absolute_sensitivity,
    squared_sensitivity,
)
from understudy.methods.plan import planned_charge
from understudy.methods.ranks import planned_ranks, ranked_columns
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

RELATIONS = ("add_remove", "replace")
LEVELS = ["a", "b", "c", "d"]


def schema_of(sizes, neighbours="add_remove", n_rows=1):
    rows = f"rows = 'public'\nn_rows = {n_rows}\n" if neighbours == "replace" else ""
    each = (column(f"x{k}", "ordinal", levels=LEVELS[:size]) for k, size in enumerate(sizes))
    return Schema.loads(rows + "".join(each))


def changes(scores):
    """What each record of the whole domain adds: a value out of domain, too, in each column."""
    states = [(*own, 0) for own in scores.tables.values()]
    vectors = np.array([*itertools.product(*states)], dtype=float)
    kept = shorten_vectors(vectors, scores.most)
    first, second = np.triu_indices(len(states), 1)
    return kept[:, first] * kept[:, second], (kept != vectors).any(axis=1)


def largest(each, neighbours):
    """Largest squared change by a record, of whole numbers below 2⁵³."""
    gram = each @ each.T
    squares = np.diag(gram)
    if neighbours == "add_remove":
        return int(squares.max())
    return int((squares[:, None] + squares - 2 * gram).max())


MASSES = [
    {"x0": [30, 40, 30], "x1": [25, 25, 25, 25], "x2": [10, 20, 70]},
    {"x0": [1, 1, 98], "x1": [97, 1, 1, 1], "x2": [2, 96, 2]},
    {"x0": [50, 0, 50], "x1": [90, 10, 0], "x2": [5, 45, 45, 5]},
    {"x0": [999, 1, 0], "x1": [0, 0, 7], "x2": [1, 1, 1]},
    {"x0": [1, 2, 3], "x1": [4, 3, 2], "x2": [5, 1, 5, 1]},
]


@pytest.mark.parametrize("masses", MASSES)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_one_record_changes_no_more(masses, neighbours):
    """All records of the domain, and all pairs of them; also where the last state is apart."""
    for apart in ({}, {"x0": [2], "x2": [0]}):
        scores = RankScores.of(masses, apart)
        each = changes(scores)[0]
        assert largest(each, neighbours) <= squared_sensitivity(scores, neighbours)
        sizes = np.abs(each if neighbours == "add_remove" else each[:, None] - each).sum(axis=-1)
        assert sizes.max() <= absolute_sensitivity(scores, neighbours)


def test_some_records_of_the_cases_are_too_long():
    """So that shortening is part of what is enumerated."""
    far = [changes(RankScores.of(masses, {}))[1].mean() for masses in MASSES]
    assert min(far) < 0.5
    assert sum(share > 0.02 for share in far) >= 3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_other_scores_change_more(seed, neighbours):
    """Random ones of any size, of two to four columns: the bound rests on the length alone."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        d = int(rng.integers(2, 5))
        size = 2.0 ** rng.integers(3, 20)
        scores = RankScores(
            {f"x{k}": tuple(np.rint(rng.normal(0, size, 3)).astype(int).tolist()) for k in range(d)}
        )
        found = largest(changes(scores)[0], neighbours)
        assert found <= squared_sensitivity(scores, neighbours)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_an_added_record_nearly_attains_the_bound(d):
    """One that is equally far out in every column; what is lost is lost to whole numbers. Without
    the division by 2, or with the sensitivity of fewer columns, the test would fail."""
    scores = RankScores({f"x{k}": (-500, 0, 500) for k in range(d)})
    bound = squared_sensitivity(scores, "add_remove")
    assert 0.94 * bound <= largest(changes(scores)[0], "add_remove") <= bound


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_a_replaced_record_nearly_attains_the_bound(d):
    """(a, a, 0, …) for (a, −a, 0, …), with a as large as the length allows."""
    scores = RankScores({f"x{k}": (-500, 0, 500) for k in range(d)})
    bound = squared_sensitivity(scores, "replace")
    assert 0.94 * bound <= largest(changes(scores)[0], "replace") <= bound


def test_bounds_by_hand():
    """With M² squared units at most: M²/4 of two columns, added, and 2M²/5 of five, rounded up."""
    for d, part in ((2, Fraction(1, 4)), (3, Fraction(1, 3)), (5, Fraction(2, 5))):
        scores = RankScores({f"x{k}": (0, 1) for k in range(d)})
        added = squared_sensitivity(scores, "add_remove")
        assert added - 1 < part * scores.most**2 <= added
        assert squared_sensitivity(scores, "replace") == scores.most**2


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_rows_change_the_sums_by_what_was_enumerated(neighbours):
    """The engine's sums of one record each, which is what the bounds are about."""
    scores = RankScores.of({"x0": [90, 5, 5], "x1": [2, 90, 8], "x2": [1, 1, 98]}, {})
    schema = schema_of((3, 3, 3), neighbours)
    values = [("a", "b", "c", "?")] * 3
    each, far = changes(scores)
    assert far.any()
    for record, expected in [*zip(itertools.product(*values), each, strict=True)][::3]:
        frame = pl.DataFrame({f"x{k}": [value] for k, value in enumerate(record)})
        found = Table(frame, schema).rank_sums((0, 1, 2), scores).expose()
        assert np.array_equal(found, expected)


# --- noise ---------------------------------------------------------------------------------------

SCORES = RankScores({"x0": (-78, 0, 78), "x1": (-80, -30, 30, 80), "x2": (-110, 0, 20)})
SIZES = (3, 4, 3)


def frame_of(n, seed=2):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {f"x{k}": rng.choice([*LEVELS[:size], "?"], n) for k, size in enumerate(SIZES)}
    )


def gate_of(schema, frame, budget, seed=7):
    return open_gate(Table(frame, schema), budget, SeededRandomness(seed))


def exact_of(frame, schema, scores=SCORES):
    """In records."""
    places = tuple(schema.names.index(name) for name in scores.columns)
    return Table(frame, schema).rank_sums(places, scores).expose() / RANK_UNIT**2


@pytest.mark.parametrize("accounting", ["zcdp", "gdp"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_noise_is_what_its_price_asks_for_and_little_more(neighbours, accounting):
    budget = Budget.of(1, "1e-6", accounting)
    gate = gate_of(schema_of(SIZES, neighbours, 40), frame_of(40), budget)
    spend = budget.amount / 9
    released = gate.ask(RankProducts(SCORES), spend=spend)
    least = squared_sensitivity(SCORES, neighbours) / (2 * float(spend)) / RANK_UNIT**4
    assert least <= released.noise.stddev**2 <= least * 1.0001
    assert float(Fraction(released.noise.scale)) == pytest.approx(released.noise.stddev**2)


def standardised(amounts, epsilon, accounting, neighbours, repeats):
    """Noise of many releases over its stated deviation, and the stated one in units."""
    n = 200
    schema, frame = schema_of(SIZES, neighbours, n), frame_of(n)
    exact, budget = exact_of(frame, schema), Budget.of(epsilon, "1e-6", accounting)
    z, spread = [], 0.0
    for seed in range(amounts):
        gate = gate_of(schema, frame, budget, seed)
        for _ in range(repeats):
            released = gate.ask(RankProducts(SCORES), spend=budget.amount / repeats)
            spread = released.noise.stddev * RANK_UNIT**2
            z.append((released.value.values - exact) / released.noise.stddev)
    return np.concatenate(z), spread


@pytest.mark.parametrize("accounting", ["zcdp", "gdp"])
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.nightly(diagonal=True)
def test_noise_has_the_stated_scale(neighbours, accounting):
    """1,200 numbers: the mean of z² has the deviation √(2/1200) = .041, and that of z .029; a
    false alarm has a chance below 1e-5 in each. Half as much variance again is rejected."""
    z, spread = standardised(4, 1, accounting, neighbours, 100)
    assert len(z) == 1200
    assert spread > 1000
    assert abs(np.mean(z**2) - 1) < 0.19
    assert abs(np.mean(z)) < 0.13
    assert abs(np.mean(z**2) / 1.5 - 1) > 0.19
    assert abs(np.mean(z**2) * 1.5 - 1) > 0.19


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_noise_at_huge_budgets_is_whole_units_of_the_stated_scale(neighbours):
    """Some units wide, and about one. 1,200 numbers again, as above."""
    for epsilon, low, high in ((10**8, 2, 30), (2 * 10**9, 0.3, 5)):
        z, spread = standardised(4, epsilon, "zcdp", neighbours, 100)
        assert low < spread < high
        steps = z * spread
        assert np.abs(steps - np.rint(steps)).max() < 1e-6
        assert abs(np.mean(z**2) - 1) < 0.19
        assert abs(np.mean(z**2) / 1.5 - 1) > 0.19


def test_a_boundless_budget_gives_the_sums_themselves():
    schema, frame = schema_of(SIZES), frame_of(200)
    gate = gate_of(schema, frame, Budget.of(10**12, "1e-6", "zcdp"))
    released = gate.ask(RankProducts(SCORES), spend=gate.budget.amount)
    assert np.array_equal(released.value.values, exact_of(frame, schema))
    assert released.noise.stddev < 1e-6


# --- what is asked, paid and given out -----------------------------------------------------------


class Broken(Table):
    """Rows that cannot be summed."""

    def rank_sums(self, columns, scores):
        raise ArithmeticError("asked")


def test_it_is_paid_before_anything_is_counted():
    """Rows that break when they are asked leave the charge in the ledger."""
    schema, budget = schema_of(SIZES), Budget.of(1, "1e-6", "gdp")
    gate = open_gate(Broken(frame_of(30), schema), budget, SeededRandomness(1))
    with pytest.raises(ArithmeticError, match="asked"):
        gate.ask(RankProducts(SCORES), spend=budget.amount / 4)
    (entry,) = gate.ledger
    assert entry.spent == budget.amount / 4
    assert gate.remaining == budget.amount * Fraction(3, 4)
    assert not gate.measured


@dataclass(frozen=True)
class Sly(RankScores):
    """Scores that say that no record is long."""

    @property
    def most(self):
        return 1


REFUSED = {
    "one column": (RankScores({"x0": (1, 2, 3)}), "two columns"),
    "no column": (RankScores({}), "two columns"),
    "a state too many": (RankScores({"x0": (1, 2, 3, 0), "x1": (1, 2, 3, 4)}), "each state"),
    "a state too few": (RankScores({"x0": (1, 2, 3), "x1": (1, 2, 3)}), "each state"),
    "lengths exchanged": (RankScores({"x1": (1, 2, 3), "x0": (1, 2, 3, 4)}), "each state"),
    "an unknown column": (RankScores({"x0": (1, 2, 3), "y": (1, 2, 3)}), "no column 'y'"),
    "too large": (RankScores({"x0": (0, 0, 2**20 + 1), "x1": (0,) * 4}), "1048576 units"),
    "too small": (RankScores({"x0": (0, 0, -(2**20) - 1), "x1": (0,) * 4}), "1048576 units"),
    "a kind of scores": (Sly(SCORES.tables), "takes no Sly"),
    "broken numbers": (RankScores({"x0": (0.5, 0, 1), "x1": (0,) * 4}), "takes no"),
    "truths": (RankScores({"x0": (True, 0, 1), "x1": (0,) * 4}), "takes no"),
    "a list": (RankScores({"x0": [1, 2, 3], "x1": (0,) * 4}), "takes no"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("accounting", ["zcdp", "gdp"])
def test_what_cannot_be_asked_is_refused_before_anything_is_paid(accounting, case):
    scores, said = REFUSED[case]
    gate = gate_of(schema_of(SIZES), frame_of(9), Budget.of(1, "1e-6", accounting))
    with pytest.raises(MethodError, match=said):
        gate.ask(RankProducts(scores), spend=gate.budget.amount / 2)
    assert not gate.ledger
    assert not gate.measured


def test_the_largest_scores_are_taken():
    frame, schema = frame_of(50), schema_of(SIZES)
    scores = RankScores({"x0": (2**20, 0, -(2**20)), "x1": (2**20, 1, 2, -(2**20))})
    gate = gate_of(schema, frame, Budget.of(10**12, "1e-6"))
    released = gate.ask(RankProducts(scores), spend=gate.budget.amount)
    assert np.array_equal(released.value.values, exact_of(frame, schema, scores))


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_without_delta_the_noise_goes_by_sums_of_sizes(neighbours):
    """400 releases of a sum: the mean size of Laplace noise of that scale within 5 standard
    errors (false alarm below 10⁻⁵), and half or twice of it rejected."""
    schema, scores = (
        schema_of((3, 3), neighbours, 40),
        RankScores({"x0": (-9, 0, 9), "x1": (9,) * 3}),
    )
    frame = frame_of(40).select("x0", "x1")
    exact = exact_of(frame, schema, scores)
    size = absolute_sensitivity(scores, neighbours)
    table, found = Table(frame, schema), []
    for seed in range(400):
        gate = open_gate(table, Budget.of(2), SeededRandomness(seed))
        released = gate.ask(RankProducts(scores), spend=Fraction(1, 2))
        found.append(released.value.values - exact)
    (entry,) = gate.ledger
    assert entry.sensitivity == f"L1 ≤ {Fraction(size, 64**2)}"
    assert entry.noise == f"Laplace, scale {released.noise.scale}, on the lattice of step 1/4096"
    scale = size / 64**2 / 0.5
    assert released.noise.stddev == pytest.approx(np.sqrt(2) * scale, rel=1e-3)
    ratio, error = np.abs(found).mean() / scale, 1 / np.sqrt(400)
    assert abs(ratio - 1) < 5 * error
    assert min(abs(ratio - 2), abs(ratio - 0.5)) > 5 * error


def test_next_to_nothing_is_refused():
    schema = schema_of(SIZES)
    gate = gate_of(schema, frame_of(9), Budget.of(1, "1e-6"))
    for spend in (Fraction(1, 10**15), gate.budget.amount / 10**12):
        with pytest.raises(BudgetError):
            gate.ask(RankProducts(SCORES), spend=spend)
    with pytest.raises(InsufficientBudgetError):
        gate.ask(RankProducts(SCORES), spend=gate.budget.amount * 2)
    assert not gate.ledger


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_what_stands_in_the_ledger(neighbours):
    """And what is announced of the columns before any score is known: the very same price."""
    squared = Fraction(squared_sensitivity(SCORES, neighbours))
    schema, budget = schema_of(SIZES, neighbours, 40), Budget.of(2, "1e-6", "gdp")
    assert ranked_columns(schema) == ("x0", "x1", "x2")
    spend = budget.amount / 7
    gate = gate_of(schema, frame_of(40), budget)
    released = gate.ask(RankProducts(SCORES), spend=spend)
    (entry,) = gate.ledger
    assert entry.mechanism == "noisy rank products"
    assert entry.query == "sums of products of ranks of x0, x1, x2"
    assert entry.sensitivity == f"L2 ≤ √{squared / 64**4}"
    variance = Fraction(released.noise.scale)
    assert entry.noise == f"discrete Gaussian, variance {variance}, on the lattice of step 1/4096"
    assert entry.spent == spend
    assert entry.cells == 3
    assert Fraction(1, 4096) == STEP
    (planned,) = planned_ranks(schema, spend, budget, None)
    assert (planned.query, planned.noise) == (entry.query, entry.noise)
    assert (planned.n_cells, planned.stddev) == (entry.cells, released.noise.stddev)
    assert planned.share * budget.amount == entry.spent
    assert planned.columns == ("x0", "x1", "x2")
    asked = RankProducts(SCORES)
    (charge,) = asked.price(terms_of(schema, budget), spend)
    assert planned_charge(asked, charge, schema, budget, chosen=planned.chosen) == planned


def test_the_price_does_not_depend_on_the_scores():
    """Else a plan could not announce it, and a release could not be checked."""
    schema, budget = schema_of(SIZES), Budget.of(2, "1e-6", "gdp")
    none = RankScores({name: (0,) * len(own) for name, own in SCORES.tables.items()})
    terms = terms_of(schema, budget)
    one, two = (RankProducts(scores).price(terms, budget.amount / 3) for scores in (SCORES, none))
    assert one == two


def test_a_released_value_says_whose_ranks_and_by_which_scores():
    """In the order of the scores, over the groups and bins that the gate was seen through."""
    schema = Schema.loads(
        column("mood", "ordinal", levels=LEVELS)
        + column("sex", "categorical", levels=["f", "m"])
        + column("x", "integer", lower=0, upper=9, bins=5)
        + column("y", "integer", lower=0, upper=9, bins=5)
    )
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "mood": rng.choice(LEVELS, 60),
            "sex": rng.choice(["f", "m"], 60),
            "x": rng.integers(0, 10, 60),
            "y": rng.integers(0, 10, 60),
        }
    )
    bins, groups = {"x": 2}, {"mood": (0, 0, 1, 1), "sex": (0, 0)}
    gate = gate_of(schema, frame, Budget.of(10**12, "1e-6"))
    view = gate.rebin(bins).group(groups)
    scores = RankScores({"x": (-64, 64), "mood": (-50, 50)})
    released = view.ask(RankProducts(scores), spend=gate.budget.amount)
    value = released.value
    assert value.columns == ("x", "mood")
    assert value.scores == {"x": (-64, 64), "mood": (-50, 50)}
    assert type(value.scores) is dict
    assert dict(value.bins) == bins
    assert dict(value.groups) == {"mood": (0, 0, 1, 1)}
    low, first = frame["x"].to_numpy() < 5, frame["mood"].is_in(["a", "b"]).to_numpy()
    expected = np.where(low, -1, 1) @ np.where(first, -50 / 64, 50 / 64)
    assert value.values.tolist() == [expected]
    assert gate.measured == (released,)
