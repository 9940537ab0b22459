"""Weights in proportion to marginals: what they are, what they cost, and what the kernel draws."""

import math
from collections import Counter
from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError, MethodError
from understudy.papers.gibbs_mechanisms import (
    FINEST,
    LEAST,
    UNPAID,
    StateShares,
    shares_of_rows,
    state_weight,
    state_weights,
)
from understudy.papers.perturbed_gibbs import (
    PerturbedGibbs,
    ResetBlocks,
    block_records,
    gibbs_records,
)
from understudy.schema import Domain, GibbsSweep, Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

PLAIN = GibbsSweep(("a", "b"), Domain((2, 2)), ((1,), (0,)))
RULED = GibbsSweep(
    ("a", "b"), Domain((2, 3), ({0: frozenset({1}), 1: frozenset({2})},)), ((1,), (0,))
)
UNEVEN = {2: ((0.8, 0.2), (0.3, 0.7)), 3: ((0.8, 0.2), (0.2, 0.3, 0.5))}
"""Shares by the number of states of column b."""


def weights_of(shares, prior, *, sum_kept=False):
    """The weights of all columns as exact numbers, as the oracle takes them."""
    return tuple(
        tuple(F(int(one), FINEST) for one in state_weights(column, prior, sum_kept=sum_kept))
        for column in shares
    )


@pytest.mark.parametrize("shares", [(0.5, 0.3, 0.2), (1, 0, 0), (0, 0, 0), (7, 1e-9, 3), (5.0,)])
@pytest.mark.parametrize("prior", [F(1, 1000), F(3, 7), F(130)])
def test_no_bought_weight_is_below_that_of_the_proof_and_the_sum_is_bounded(shares, prior):
    found = [F(int(one), FINEST) for one in state_weights(shares, prior, sum_kept=False)]
    assert min(found) >= prior
    assert sum(found) <= (LEAST + 1) * len(shares) * prior + F(len(shares), FINEST)
    kept = [F(int(one), FINEST) for one in state_weights(shares, prior, sum_kept=True)]
    assert min(kept) > 0
    assert 0 <= sum(kept) - len(shares) * prior <= F(len(shares), FINEST)


def test_shares_are_those_of_all_rows_of_a_table(oracle):
    rows = [(0, 0)] * 3 + [(1, 0), (1, 1), (2, 1), (1, 2)]  # two out of domain
    found = shares_of_rows(oracle.tables(rows, PLAIN), (2, 2))
    assert found == ((0.6, 0.4), (0.8, 0.2))
    empty = shares_of_rows(oracle.tables([], PLAIN), (2, 2))
    assert empty == ((0.0, 0.0), (0.0, 0.0))


def neighbours(sweep, oracle, relation):
    """Tables of up to one record in a crowd, or none, and what one record makes of them."""
    ranges = [range(size + 1) for size in sweep.domain.sizes]
    records = [one for one in product(*ranges) if oracle.allowed(one, sweep)]
    for crowd, member in product((0, 30), records):
        for n in range(2):
            for some in combinations_with_replacement(records, n):
                base = (member,) * crowd + some
                for new in records:
                    if relation == "add_remove":
                        yield base, (*base, new)
                    elif base:
                        yield base, (*base[:-1], new)


def worst(oracle, sweep, relation, weights, **how):
    """Largest log ratio of the probabilities of an outcome; `weights` are a function of the rows,
    which looks at them in the published form alone."""
    law = cache(lambda rows: oracle.distribution(rows, sweep, weights(rows), seed=(0, 0), **how))
    found = 0.0
    for one, other in neighbours(sweep, oracle, relation):
        here, there = law(tuple(sorted(one))), law(tuple(sorted(other)))
        ratios = [float(here[z] / there[z]) for z in here]
        found = max(found, math.log(max(ratios)), -math.log(min(ratios)))
    return found


@pytest.mark.parametrize("sweep", [PLAIN, RULED], ids=["plain", "ruled"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_public_weights_keep_the_promise_and_it_is_nearly_used_up(oracle, sweep, relation):
    """A record of two steps at ε₀ = 2 each; with 0.4 of the weights the promise is broken."""
    alpha = state_weight(F(2))
    weights = weights_of(UNEVEN[sweep.domain.sizes[1]], alpha)
    found = worst(oracle, sweep, relation, lambda _: weights, n_rows=1)
    assert 0.6 * 4 < found <= 4
    fewer = tuple(tuple(one * F(2, 5) for one in column) for column in weights)
    assert worst(oracle, sweep, relation, lambda _: fewer, n_rows=1) > 4


def test_blocks_with_reset_keep_the_promise_under_public_weights(oracle):
    """Rows that were drawn from are drawn by weights alone, which say nothing."""
    weights = weights_of(UNEVEN[2], state_weight(F(1)))
    how = {"n_rows": 2, "length": 2, "reset": True}
    assert 1 < worst(oracle, PLAIN, "add_remove", lambda _: weights, **how) <= 2
    assert 2 < worst(oracle, PLAIN, "replace", lambda _: weights, **how) <= 4


def test_weights_read_off_the_rows_break_the_promise(oracle):
    """As published, with the same sum: a record in a rare state costs more than ε, and its own
    share moves the weights."""

    def weights(rows):
        shares = shares_of_rows(oracle.tables(rows, PLAIN), (2, 2))
        return weights_of(shares, state_weight(F(1)), sum_kept=True)

    assert worst(oracle, PLAIN, "add_remove", weights, n_rows=1) > 2 * 2


ROWS = [(0, 0)] * 6 + [(0, 1)] * 3 + [(1, 1)] * 2 + [(0, 2)] * 4
WIDE = GibbsSweep(
    ("a", "b", "c"),
    Domain((2, 4, 3), ({0: frozenset({1}), 1: frozenset({0, 2})}, {1: frozenset({3}), 2: {0, 1}})),
    ((1, 2), (0,), ()),
)
WIDE_ROWS = [(0, 0, 0)] * 3 + [(0, 1, 2)] * 2 + [(1, 1, 0), (1, 3, 2), (0, 3, 2), (2, 1, 1)]
WIDE_SHARES = ((0.8, 0.2), (0.1, 0.4, 0.3, 0.2), (0.6, 0.3, 0.1))


@pytest.mark.parametrize("rows", [[], WIDE_ROWS], ids=["no rows", "rows"])
def test_the_kernel_has_the_law_of_the_oracle(oracle, rows):
    """χ² over all cells, with structural zeros; false alarms 1e-4 a case, as the seed is fixed
    none. Rejects even weights."""
    n, prior = 40_000, F(1, 2)
    shares = StateShares(form="bought", shares=WIDE_SHARES)
    tables = oracle.tables(rows, WIDE)
    drawn = gibbs_records(
        tables, WIDE, prior, n, sweeps=2, randomness=SeededRandomness(6), shares=shares
    )
    seen = Counter(zip(*(c.tolist() for c in drawn.columns), strict=True))

    def p_value(weights):
        law = oracle.distribution(rows, WIDE, weights, 1, sweeps=2)
        return stats.chisquare(
            [seen[one[0]] for one in law], [float(p) * n for p in law.values()]
        ).pvalue

    assert p_value(weights_of(WIDE_SHARES, prior)) > 1e-4
    assert p_value(prior) < 1e-6


def test_the_kernel_resets_to_the_weights(oracle):
    """Blocks of two records; false alarms 1e-4, as the seed is fixed none. Rejects rows that are
    uniform once drawn from."""
    n, prior = 60_000, F(1)
    shares = StateShares(form="bought", shares=UNEVEN[2])
    tables = oracle.tables(ROWS[:11], PLAIN)
    drawn = block_records(
        tables, PLAIN, prior, n, block=2, randomness=SeededRandomness(3), shares=shares
    )
    records = np.array(drawn.columns).T.reshape(-1, 2, 2).tolist()
    seen = Counter(tuple(map(tuple, pair)) for pair in records)

    def p_value(weights):
        law = oracle.distribution(ROWS[:11], PLAIN, weights, 2, length=2, reset=True)
        return stats.chisquare(
            [seen[one] for one in law], [float(p) * n / 2 for p in law.values()]
        ).pvalue

    assert p_value(weights_of(UNEVEN[2], prior)) > 1e-4
    assert p_value(prior) < 1e-6


# --- the gate ------------------------------------------------------------------------------------

SCHEMA = Schema.loads(
    """
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
[columns.b]
kind = "categorical"
levels = ["u", "v", "w"]
reviewed = true
"""
)
SWEEP = GibbsSweep.of(SCHEMA.names, SCHEMA.domain, {"a": ["b"], "b": ["a"]})


def gate(seed=1):
    frame = pl.DataFrame([("xy"[a], "uvw"[b]) for a, b in ROWS], schema=["a", "b"], orient="row")
    return open_gate(Table(frame, SCHEMA), Budget.of(1), SeededRandomness(seed))


@pytest.mark.parametrize("kind", [PerturbedGibbs, ResetBlocks])
def test_the_published_form_is_drawn_by_the_shares_of_the_rows_and_stamped(oracle, kind):
    """The gate gives the very records of the kernel with the exact shares, and says what is left
    in."""
    door = gate(seed=5)
    spec = kind(sweep=SWEEP, n_rows=20, shares=StateShares(form="paper"))
    released = door.ask(spec, spend=F(1, 2))
    prior = door.measured[0].value.prior
    how = {"block": 20} if kind is ResetBlocks else {}
    kernel = block_records if kind is ResetBlocks else gibbs_records
    expected = kernel(
        oracle.tables(ROWS, SWEEP),
        SWEEP,
        prior,
        20,
        randomness=SeededRandomness(5),
        shares=StateShares(form="paper"),
        **how,
    )
    for one, other in zip(released.value.columns, expected.columns, strict=True):
        assert np.array_equal(one, other)
    assert UNPAID in door.guarantee().leaks
    assert "on average, by the marginals of the rows" in door.ledger[0].noise


@pytest.mark.parametrize("kind", [PerturbedGibbs, ResetBlocks])
def test_bought_weights_leave_nothing_in(kind):
    door = gate()
    shares = StateShares(form="bought", shares=((3, 1), (0, 0, 9)))
    door.ask(kind(sweep=SWEEP, n_rows=20, shares=shares), spend=F(1, 2))
    assert UNPAID not in door.guarantee().leaks
    assert "or more, by released marginals" in door.ledger[0].noise


def test_shares_that_are_none_are_refused_before_they_are_paid():
    door = gate()
    for shares in ((-1.0, 2.0), (math.inf, 1.0), (math.nan, 1.0)):
        with pytest.raises(MethodError, match="at least 0"):
            StateShares(form="bought", shares=(shares, (1, 1, 1)))
    with pytest.raises(MethodError, match="for paid weights"):
        StateShares(form="paper", shares=((1, 1), (1, 1, 1)))
    other = StateShares(form="bought", shares=((1, 1, 1), (1, 1)))
    with pytest.raises(MethodError, match="other columns"):
        door.ask(PerturbedGibbs(sweep=SWEEP, n_rows=1, shares=other), spend=F(1, 2))
    assert door.ledger == ()


@pytest.mark.parametrize(("form", "most"), [("even", 1), ("bought", 11), ("paper", 1)])
def test_weights_that_tokens_cannot_number_are_refused(form, most):
    """α is about 2/ε, and tokens number 2⁶¹ units of 2⁻²⁰ for three states."""
    least = F(2 * 3 * most * 2**20, 2**61)
    asked = PerturbedGibbs(sweep=SWEEP, n_rows=1, shares=StateShares(form=form))
    gate().ask(asked, spend=least * 9 / 8)
    if form != "even":  # an even weight without a fraction needs smaller units
        with pytest.raises(BudgetError, match="next to nothing"):
            gate().ask(asked, spend=least * 7 / 8)
