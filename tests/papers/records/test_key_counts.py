"""Hashed tables, and the kernel that draws from them."""

from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats

from understudy.data.base import ExactCells
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError
from understudy.papers import gibbs_mechanisms as chains_module
from understudy.papers.gibbs_mechanisms import (
    Chains,
    HashedRows,
    chain_records,
    even_weights,
    join_tables,
    require_small,
)
from understudy.papers.perturbed_gibbs import block_records, gibbs_records
from understudy.schema import Domain, GibbsSweep

WIDE = GibbsSweep(
    ("a", "b", "c"),
    Domain((2, 4, 3), ({0: frozenset({1}), 1: frozenset({0, 2})}, {1: frozenset({3}), 2: {0, 1}})),
    ((1, 2), (0,), ()),
)
ROWS = [(0, 0, 0)] * 3 + [(0, 1, 2)] * 2 + [(1, 1, 0), (1, 3, 2), (0, 3, 2), (2, 1, 1)]


def test_rows_are_the_runs_of_a_table():
    codes, counts = np.array([0, 2, 9, 10, 11, 3 * 10**15]), np.array([5, 1, 1, 2, 9, 4])
    rows = HashedRows.of(ExactCells(codes, counts, 7), 3)
    assert rows.keys.tolist() == [0, 3, 10**15]
    assert rows.first.tolist() == [0, 2, 5, 6]
    assert rows.states.tolist() == [0, 2, 0, 1, 2, 0]
    assert (rows.counts.tolist(), rows.totals.tolist()) == (counts.tolist(), [6, 12, 4])


def test_tables_stand_behind_one_another():
    one = HashedRows.of(ExactCells(np.array([1, 4]), np.array([2, 3]), 0), 3)
    none = HashedRows.of(ExactCells(np.zeros(0, np.int64), np.zeros(0, np.int64), 0), 2)
    whole, rows = join_tables([none, one, none, one])
    assert rows.tolist() == [0, 0, 2, 2, 4]
    assert whole.keys.tolist() == [0, 1] * 2
    assert whole.first.tolist() == [0, 1, 2, 3, 4]
    assert (whole.counts.tolist(), whole.totals.tolist()) == ([2, 3] * 2, [2, 3] * 2)


def test_memory_follows_occupied_rows_whatever_the_number_of_cells(oracle):
    d = 13
    sweep = GibbsSweep(
        tuple(f"x{j}" for j in range(d)),
        Domain((20,) * d),
        tuple(tuple(j for j in range(d) if j != i) for i in range(d)),
    )
    assert sweep.domain.n_cells > 10**16
    rng = np.random.default_rng(1)
    rows = [tuple(one) for one in rng.integers(0, 20, (50, d)).tolist()]
    tables = oracle.tables(rows, sweep)
    assert sum(v.nbytes for one in tables for v in vars(one).values()) < 50 * d * 40
    drawn = gibbs_records(tables, sweep, F(1, 2**20), 200, randomness=SeededRandomness(1))
    assert np.array(drawn.columns).shape == (d, 200)


@pytest.mark.parametrize("prior", [F(3, 4), F(2**56)])
@pytest.mark.parametrize("how", [Chains(length=4, resetting=True), Chains(sweeps=3)])
def test_where_the_words_end_does_not_matter(oracle, monkeypatch, prior, how):
    """At the larger weight about every fourth word is thrown away."""
    rows = oracle.tables(ROWS, WIDE)

    def drawn():
        return chain_records(
            rows,
            even_weights(rows, prior),
            WIDE,
            150,
            unit=prior.denominator,
            chains=how,
            randomness=SeededRandomness(3),
        ).columns

    once = drawn()
    for chunk in (1, 7):
        monkeypatch.setattr(chains_module, "_CHUNK_WORDS", chunk)
        assert np.array_equal(once, drawn())


@pytest.mark.parametrize("n_rules", [3, 70, 130])
@pytest.mark.nightly(every=3)
def test_structural_zeros_are_never_drawn(oracle, n_rules):
    rng = np.random.default_rng(n_rules)
    sizes = (6, 7, 5, 8)
    boxes = []
    for k in range(n_rules):
        chosen = sorted(rng.choice(4, size=4 - (k % 10 == 0), replace=False).tolist())
        boxes.append({j: frozenset(rng.choice(sizes[j], 2).tolist()) for j in chosen})
    domain = Domain(sizes, tuple(boxes))
    allowed = int(domain.allowed_mask().sum())
    assert 300 < allowed < 1680
    sweep = GibbsSweep(tuple("abcd"), domain, ((1, 2), (), (3, 0), (0,)))
    rows = [one for one in np.ndindex(*sizes) if oracle.allowed(one, sweep)][::3] * 5
    tables = oracle.tables(rows, sweep)
    for drawn in (
        gibbs_records(tables, sweep, F(1), 3_000, sweeps=2, randomness=SeededRandomness(1)),
        block_records(tables, sweep, F(1), 3_000, block=50, randomness=SeededRandomness(2)),
    ):
        assert not domain.find_forbidden(drawn.columns).any()
        assert len(set(zip(*(c.tolist() for c in drawn.columns), strict=True))) > allowed / 2


@pytest.mark.parametrize("rows", [[], ROWS])
def test_the_kernel_has_the_law_of_the_oracle(oracle, rows):
    """χ² over all cells; false alarms 1e-4 a case, as the seed is fixed none. Rejects a weight
    wrong by 30 %."""
    n, prior = 60_000, F(1)
    drawn = gibbs_records(
        oracle.tables(rows, WIDE), WIDE, prior, n, sweeps=2, randomness=SeededRandomness(6)
    )
    seen = Counter(zip(*(c.tolist() for c in drawn.columns), strict=True))

    def p_value(weight):
        distribution = oracle.distribution(rows, WIDE, weight, 1, sweeps=2)
        expected = np.array([float(p) * n for p in distribution.values()])
        return stats.chisquare([seen[one[0]] for one in distribution], expected).pvalue

    assert sum(seen[one[0]] for one in oracle.distribution(rows, WIDE, prior, 1)) == n
    assert p_value(prior) > 1e-4
    if rows:
        assert max(p_value(prior * 13 / 10), p_value(prior * 7 / 10)) < 1e-6


def test_no_records_are_no_draws(oracle):
    for rows in ([], ROWS):
        drawn = gibbs_records(
            oracle.tables(rows, WIDE), WIDE, F(1), 0, randomness=SeededRandomness(1)
        )
        assert [len(column) for column in drawn.columns] == [0, 0, 0]


def test_weights_that_tokens_cannot_number_are_refused():
    require_small(F(2**58), (2, 8))
    with pytest.raises(BudgetError, match="next to nothing"):
        require_small(F(2**58 + 1), (2, 8))
