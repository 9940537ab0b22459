"""Urns keep their promise: exact laws over all neighbours of small tables, and the gate's verb."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.dp.released import UrnDraws
from understudy.errors import BudgetError, InsufficientBudgetError, MethodError
from understudy.mechanisms.urn import Urn, draw_urn, prior_weight
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

COLUMNS = """
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
[columns.b]
kind = "boolean"
missing = [""]
reviewed = true
[[forbidden]]
where = {a = "y", b = true}
reviewed = true
"""
SCHEMA = Schema.loads(COLUMNS)
PLACES = {name: j for j, name in enumerate(SCHEMA.names)}
# A level that is not declared, and a forbidden combination, are out of domain.
RECORDS = list(product(["x", "y", "?"], [True, None]))
KINDS = [True, False]


TABLES = {}


def engine(rows, schema=SCHEMA):
    """Rows under a schema, coded once."""
    key = tuple(rows), id(schema)
    if key not in TABLES:
        TABLES[key] = read(rows, schema)  # and it keeps the schema
    return TABLES[key]


def read(rows, schema):
    frame = pl.DataFrame(list(rows), schema={"a": pl.String, "b": pl.Boolean}, orient="row")
    return Table(frame, schema)


def tables():
    return [rows for n in range(4) for rows in combinations_with_replacement(RECORDS, n)]


def neighbours(relation):
    """Pairs of tables that differ by one record."""
    for rows in tables():
        for k, record in product(range(len(rows)), [None, *RECORDS]):
            rest = rows[:k] + rows[k + 1 :]
            if relation == "add_remove" and record is None:
                yield rows, rest
            elif relation == "replace" and record is not None:
                yield rows, tuple(sorted((*rest, record), key=RECORDS.index))


@cache
def counts(rows, columns):
    """Records in every allowed cell, by way of the engine's own coding and counting."""
    places = tuple(PLACES[name] for name in columns)
    cells = engine(rows).count_occupied(places).expose()
    table = np.zeros(math.prod(SCHEMA.domain.project(places).sizes), dtype=int)
    table[cells.codes] = cells.counts
    return tuple(table[SCHEMA.domain.project(places).allowed_mask().reshape(-1)].tolist())


@cache
def distribution(table, prior, n_rows, reinforced):
    """Probability of every sequence of cells, by its count vector (sequences are exchangeable)."""
    found = {}
    for sequence in combinations_with_replacement(range(len(table)), n_rows):
        weights, p = [n + prior for n in table], F(1)
        for k in sequence:
            p *= weights[k] / sum(weights)
            weights[k] += reinforced
        found[sequence] = p
    return found


def worst(relation, columns, prior, n_rows, reinforced):
    """Largest ratio of the probabilities of an outcome under two neighbours."""
    most = F(1)
    pairs = {(counts(a, columns), counts(b, columns)) for a, b in neighbours(relation)}
    for one, other in pairs:
        here, there = (distribution(t, prior, n_rows, reinforced) for t in (one, other))
        most = max(most, *(max(here[z] / there[z], there[z] / here[z]) for z in here))
    return most


@pytest.mark.parametrize("reinforced", KINDS)
@pytest.mark.parametrize("epsilon", [F(1, 100), F(1), F(4)])
@pytest.mark.parametrize("n_rows", [1, 2, 5])
@pytest.mark.nightly(every=6)
def test_no_outcome_is_likelier_by_more_than_e_to_the_epsilon(n_rows, epsilon, reinforced):
    """Neighbours include records that enter or leave the domain; n and ñ differ, n = 0 occurs."""
    prior = prior_weight(n_rows, epsilon, reinforced=reinforced)
    for columns in (("a",), ("a", "b")):
        for relation in ("add_remove", "replace"):
            found = worst(relation, columns, prior, n_rows, reinforced)
            assert math.log(found) <= epsilon
        # Sharp where a record is replaced: ε is used up, but for what rounding α up has cost.
        factor = 1 + n_rows / prior if reinforced else (1 + 1 / prior) ** n_rows
        assert found == factor
        assert math.log(found) > float(epsilon) * (1 - 1e-6)
        assert math.log(worst("replace", columns, prior * 9 / 10, n_rows, reinforced)) > epsilon


@pytest.mark.parametrize("reinforced", KINDS)
def test_nothing_is_said_where_one_cell_is_all_there_is(reinforced):
    prior = prior_weight(3, F(1), reinforced=reinforced)
    assert (
        distribution((0,), prior, 3, reinforced)
        == distribution((5,), prior, 3, reinforced)
        == {(0, 0, 0): 1}
    )


def least_prior(n_rows, epsilon, reinforced):
    """The bound of the theorem to 50 digits."""
    with localcontext() as context:
        context.prec = 120
        power = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        if reinforced:
            return F(n_rows / (power.exp() - 1))
        return F(1 / ((power / n_rows).exp() - 1))


@pytest.mark.parametrize("reinforced", KINDS)
@pytest.mark.parametrize("n_rows", [1, 7, 40, 1000, 10**9])
def test_the_prior_is_the_bound_rounded_up(n_rows, reinforced):
    powers = [F(1, 10**k) for k in (30, 16, 14, 5, 1)] + [F(10, 3), F(63), F(64), F(65), F(200)]
    for epsilon in powers:
        prior = prior_weight(n_rows, epsilon, reinforced=reinforced)
        least = least_prior(n_rows, epsilon, reinforced)
        assert least <= prior < least * (1 + F(1, 2**22)) + F(1, 2**32)
        assert 2**32 % prior.denominator == 0


@pytest.mark.parametrize("reinforced", KINDS)
def test_budgets_at_the_edge_have_a_prior(reinforced):
    assert prior_weight(0, F(1), reinforced=reinforced) > 0
    assert prior_weight(40, F(10**15), reinforced=reinforced) == F(1, 2**32)
    for n_rows, epsilon in [(-1, F(1)), (1, F(0)), (1, F(-1))]:
        with pytest.raises(ValueError, match="prior_weight"):
            prior_weight(n_rows, epsilon, reinforced=reinforced)


def test_priors_of_the_worked_examples():
    assert float(prior_weight(40, F(1), reinforced=True)) == pytest.approx(23.2791, abs=5e-5)
    assert float(prior_weight(40, F(1), reinforced=False)) == pytest.approx(39.5021, abs=5e-5)
    assert float(prior_weight(40, F(1, 10), reinforced=True)) == pytest.approx(380.3333, abs=1e-4)


@pytest.mark.parametrize(
    ("reinforced", "n_rows", "share"),
    [(True, 40, 0.538), (True, 1000, 0.538), (False, 40, 0.664), (False, 1000, 0.667)],
)
def test_the_weight_of_the_prior_does_not_vanish(reinforced, n_rows, share):
    mass = 2 * prior_weight(n_rows, F(1), reinforced=reinforced)
    assert float(mass / (n_rows + mass)) == pytest.approx(share, abs=5e-4)


# --- the gate's verb ------------------------------------------------------------------------------

ROWS = (*[("x", True)] * 9, *[("x", None)] * 4, ("?", True), ("y", True))
PAIR = Urn(columns=("a", "b"), reinforced=True, n_rows=1)


def gate(rows=ROWS, epsilon="1", delta=0, seed=1, schema=SCHEMA):
    return open_gate(engine(rows, schema), Budget.of(epsilon, delta), SeededRandomness(seed))


@pytest.mark.parametrize("reinforced", KINDS)
@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_the_gate_gives_the_very_records_of_the_kernel(n_rows, reinforced):
    """One repetition on the same words: cells in mixed-radix order, the forbidden one left out."""
    urn = Urn(columns=("a", "b"), reinforced=reinforced, n_rows=1)
    released = gate(seed=5).ask(replace(urn, n_rows=n_rows), spend=F(1, 2))
    drawn = draw_urn(
        np.array([[9, 4]]),  # cells 0 and 2 of (x, false), (x, true), (x, empty), (y, false), …
        5,
        prior_weight(n_rows, F(1, 2), reinforced=reinforced),
        n_rows,
        reinforced=reinforced,
        randomness=SeededRandomness(5),
    )[0]
    order = list(SCHEMA.columns["b"].labels)
    occupied = [(0, order.index("true")), (0, order.index("(empty)"))]
    allowed = [c for c in product(range(2), range(3)) if c != (1, order.index("true"))]
    expected = [sorted(occupied)[k] if k >= 0 else allowed[~k] for k in drawn.tolist()]
    assert list(zip(*(c.tolist() for c in released.value.columns), strict=True)) == expected


def test_what_is_public_about_the_draws_is_recorded():
    door = gate()
    released = door.ask(replace(PAIR, n_rows=40), spend=F(1, 2))
    prior = prior_weight(40, F(1, 2), reinforced=True)
    (entry,), (measured,) = door.ledger, door.measured
    assert measured.value == UrnDraws(("a", "b"), prior, 5, reinforced=True)
    assert measured.noise == released.noise
    assert (released.noise.distribution, F(released.noise.scale)) == (
        "Dirichlet–multinomial",
        prior,
    )
    assert (entry.query, entry.spent, entry.cells) == ("records of a × b", F(1, 2), 5)
    assert entry.noise == "Dirichlet–multinomial draws of n records, prior weight n/(exp(1/2) - 1)"
    assert measured.entry == released.entry == entry.number
    assert door.guarantee().conditions == ()  # no rounding to confess


def test_sets_pay_one_by_one_and_never_beyond_the_budget():
    door = gate()
    for _ in range(2):
        door.ask(replace(PAIR, n_rows=10), spend=F(1, 2))
    assert door.remaining == 0
    with pytest.raises(InsufficientBudgetError):
        door.ask(replace(PAIR, n_rows=10), spend=F(1, 10**9))
    assert len(door.measured) == 2


def test_under_zcdp_the_prior_follows_from_the_epsilon_that_implies_the_rho():
    """ε²/2 ≤ ρ, and so nearly that no budget is wasted."""
    door = gate(epsilon="1", delta="1e-6")
    spend = door.budget.amount
    measured = door.ask(replace(PAIR, n_rows=40), spend=spend).noise
    factor = 1 + 40 / F(measured.scale)
    assert 0.999 * float(spend) < math.log(factor) ** 2 / 2 <= float(spend)


def test_a_rho_of_next_to_nothing_is_refused():
    door = gate(epsilon="1", delta="1e-6")
    with pytest.raises(BudgetError, match="next to nothing"):
        door.ask(replace(PAIR, n_rows=40), spend=F(1, 10**30))
    assert door.ledger == ()


@pytest.mark.parametrize("reinforced", KINDS)
@pytest.mark.parametrize("rows", [(), ROWS])
@pytest.mark.parametrize("epsilon", ["0.00001", "1000000"])
def test_any_budget_and_no_rows_give_records(rows, epsilon, reinforced):
    urn = Urn(columns=("a", "b"), reinforced=reinforced, n_rows=1)
    drawn = gate(rows, epsilon).ask(replace(urn, n_rows=200), spend=Budget.of(epsilon).epsilon)
    a, b = drawn.value.columns
    assert len(a) == len(b) == 200
    assert not SCHEMA.domain.find_forbidden([a, b]).any()
    if rows and epsilon == "1000000":  # real shares: 9 of 13 are true, y does not occur
        assert set(zip(a.tolist(), b.tolist(), strict=True)) == {(0, 1), (0, 2)}


def wide(n_columns):
    """So many columns of 100 states."""
    column = 'kind = "integer"\nlower = 0\nupper = 99\nbins = 100\nreviewed = true\n'
    return "".join(f"[columns.c{j}]\n{column}" for j in range(n_columns))


def test_without_rows_records_are_uniform_in_a_huge_domain():
    """More than 2⁵⁵ cells, some forbidden: codes that floating point could not tell apart."""
    schema = Schema.loads(
        wide(9)
        + "[[forbidden]]\nwhere = {c0 = {lower = 0, upper = 49}, c8 = {lower = 50, upper = 99}}\n"
        + "reviewed = true\n"
    )
    assert 2**55 < schema.domain.n_allowed < 2**62
    frame = pl.DataFrame({f"c{j}": [7] for j in range(9)})
    door = open_gate(Table(frame, schema), Budget.of(1), SecureRandomness())
    urn = Urn(columns=schema.names, reinforced=False, n_rows=1)
    columns = door.ask(replace(urn, n_rows=900), spend=F(1)).value.columns
    low, high = columns[0] < 50, columns[8] >= 50
    assert not (low & high).any()
    assert 200 < low.sum() < 400  # a third: 7 deviations of 14 on each side
    assert all(len(np.unique(column)) > 60 for column in columns)


def test_tables_that_codes_cannot_number_are_refused_before_anything_is_paid():
    schema = Schema.loads(wide(10))
    door = open_gate(
        Table(pl.DataFrame({f"c{j}": [7] for j in range(10)}), schema),
        Budget.of(1),
        SecureRandomness(),
    )
    with pytest.raises(MethodError, match="2\\^62"):
        door.ask(Urn(columns=schema.names, reinforced=True, n_rows=5), spend=F(1))
    assert door.ledger == ()
