"""The lazy and filtered sanitizers against the dense one, in distribution.

Each comparison counts whole outcomes of both samplers and tests that they come from one law
(chi-square on a two-row table, false-alarm rate 10⁻⁴ each). A deliberately wrong scale must be
rejected by the same comparison. Dense tables of one law are drawn once for all comparisons.
"""

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from night import NIGHT
from understudy.data.base import ExactCells, ExactTable
from understudy.dp.calibration import lattice_step, representable
from understudy.dp.distributions import DiscreteLaplace, LatticeLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.mechanisms.sparse_tables import (
    below_each,
    drawn_cells,
    lazy_records,
    noisy_cells,
    threshold_for,
)
from understudy.mechanisms.tables import noisy_table
from understudy.schema import Domain

ALPHA = 1e-4
SIZES = (3, 3)
ZERO = ({0: frozenset({2}), 1: frozenset({2})},)  # one structural zero: 8 of 9 cells allowed
DOMAIN = Domain(SIZES, ZERO)
OCCUPIED = ExactCells(np.array([0, 4]), np.array([3, 1]), 0)
EXACT = ExactTable(np.array([[3, 0, 0], [0, 1, 0], [0, 0, 0]]), 0)
N_ROWS = 3


def geometric(scale: float) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(scale).limit_denominator(1000))


def lattice(scale: float) -> LatticeLaplace:
    exact = Fraction(scale).limit_denominator(1000)
    step = lattice_step(exact)
    return LatticeLaplace(representable(exact, step), step)


RUNS = 6_000 if NIGHT else 1_500  # +30 % of the scale needs the more


@cache
def dense_counts(distribution):
    """Noisy counts of the dense table, a row of nine cells a run: all runs are one large table, as
    every cell has noise of its own."""
    exact = ExactTable(np.broadcast_to(EXACT.inside, (RUNS, *SIZES)), 0)
    domain = Domain((RUNS, *SIZES), ({1: frozenset({2}), 2: frozenset({2})},))
    names = ("run", "a", "b")
    return noisy_table(exact, names, domain, distribution, SeededRandomness(9)).counts.reshape(
        RUNS, -1
    )


def dense_pattern(counts, rng):
    weights = np.maximum(counts, 0)
    shares = (
        DOMAIN.allowed_mask().reshape(-1) / 8 if weights.sum() == 0 else weights / weights.sum()
    )
    return pattern(rng.choice(9, size=N_ROWS, p=shares))


def lazy_pattern(distribution, randomness):
    records, _ = lazy_records(
        OCCUPIED, ("a", "b"), DOMAIN, distribution, n_rows=N_ROWS, randomness=randomness
    )
    return pattern(records.columns[0] * 3 + records.columns[1])


def pattern(codes):
    """Draws of each occupied cell, and how the others are shared (their places are uniform)."""
    counts = Counter(np.asarray(codes).tolist())
    assert 8 not in counts  # the structural zero
    others = sorted(n for code, n in counts.items() if code not in (0, 4))
    return counts[0], counts[4], tuple(others)


def p_value(first, second):
    keys = [key for key in first | second if first[key] + second[key] >= 10]
    table = [[sample[key] for key in keys] for sample in (first, second)]
    return stats.chi2_contingency(table).pvalue


def patterns(law_lazy, law_dense, seed):
    randomness, rng = SeededRandomness(seed), np.random.default_rng(seed)
    lazy = Counter(lazy_pattern(law_lazy, randomness) for _ in range(RUNS))
    return p_value(lazy, Counter(dense_pattern(one, rng) for one in dense_counts(law_dense)))


@pytest.mark.parametrize(("distribution", "scale"), [(geometric, 1.43), (lattice, 1.43)])
def test_lazy_records_have_the_law_of_the_dense_sanitizer(distribution, scale):
    assert patterns(distribution(scale), distribution(scale), seed=1) > ALPHA


@pytest.mark.parametrize("factor", [0.7, pytest.param(1.3, marks=pytest.mark.nightly)])
def test_the_comparison_rejects_a_wrong_scale(factor):
    assert patterns(geometric(1.43 * factor), geometric(1.43), seed=2) < ALPHA


def test_places_of_lazy_records_are_uniform_over_the_empty_cells():
    """Chi-square over the six empty allowed cells, one record a draw."""
    randomness = SeededRandomness(3)
    counts = np.zeros(9)
    for _ in range(RUNS):
        records, _ = lazy_records(
            OCCUPIED, ("a", "b"), DOMAIN, geometric(2.0), n_rows=1, randomness=randomness
        )
        counts[int(records.columns[0][0] * 3 + records.columns[1][0])] += 1
    empty = counts[[1, 2, 3, 5, 6, 7]]
    assert counts[8] == 0
    assert stats.chisquare(empty).pvalue > ALPHA


def test_totals_are_those_of_the_dense_table():
    """Number of positive cells: chi-square against the dense table."""
    randomness = SeededRandomness(4)
    distribution = geometric(1.43)
    lazy = Counter(
        lazy_records(OCCUPIED, ("a", "b"), DOMAIN, distribution, n_rows=1, randomness=randomness)[
            1
        ].positive_cells
        for _ in range(RUNS)
    )
    dense = Counter((dense_counts(distribution) > 0).sum(axis=1).tolist())
    assert p_value(lazy, dense) > ALPHA


@pytest.mark.parametrize(
    ("distribution", "threshold"),
    [(geometric, 3), pytest.param(lattice, 1, marks=pytest.mark.nightly)],
)
def test_survivors_are_those_of_the_dense_table(distribution, threshold):
    """Which cells survive with which count (whole part), by chi-square; occupied ones in parts."""
    randomness, noise = SeededRandomness(5), distribution(1.43)
    parts = OCCUPIED.part(0, 1), OCCUPIED.part(1, 1), OCCUPIED.part(5, 1)

    def filtered():
        cells = noisy_cells(
            parts, ("a", "b"), DOMAIN, noise, threshold=threshold, randomness=randomness
        )
        assert (np.diff(cells.codes) > 0).all()
        return outcome(dict(zip(cells.codes.tolist(), cells.counts.tolist(), strict=True)))

    def dense(flat):
        return outcome({k: flat[k] for k in range(8) if flat[k] >= threshold})

    def outcome(kept):
        others = sorted(int(n) for code, n in kept.items() if code not in (0, 4))
        return int(kept.get(0, 0)), int(kept.get(4, 0)), tuple(others[:2]), len(others)

    first = Counter(filtered() for _ in range(RUNS))
    second = Counter(dense(flat) for flat in dense_counts(noise).tolist())
    assert p_value(first, second) > ALPHA


def test_threshold_of_the_worked_example():
    """K = 10¹², b = 1, 1,000 spurious cells: τ = 20.03, as a whole number 21."""
    assert threshold_for(10**12, Fraction(1), 1000) == 21


def test_spurious_cells_are_as_many_as_asked_for():
    """Mean of a binomial number over 40 tables of 10¹² cells, within 4.5 standard errors."""
    domain = Domain((10**4, 10**4, 10**4))
    none = ExactCells(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0)
    distribution = DiscreteLaplace(Fraction(3))
    threshold = threshold_for(domain.n_cells, distribution.scale, 200)
    rate = float(np.exp(-threshold / 3) / (1 + np.exp(-1 / 3)))
    randomness = SeededRandomness(6)
    found = [
        len(
            noisy_cells(
                [none],
                ("a", "b", "c"),
                domain,
                distribution,
                threshold=threshold,
                randomness=randomness,
            ).codes
        )
        for _ in range(40)
    ]
    expected = 1e12 * rate
    assert abs(np.mean(found) - expected) < 4.5 * np.sqrt(expected / 40)
    assert expected <= 200 * 1.2


@pytest.mark.parametrize("bound", [1, 2, 3, 2**62])
def test_below_each_stays_below_and_is_uniform(bound):
    drawn = below_each(np.full(4000, bound), SeededRandomness(7))
    assert drawn.min() >= 0
    assert drawn.max() < bound
    if 1 < bound < 10:
        assert stats.chisquare(np.bincount(drawn, minlength=bound)).pvalue > ALPHA


def test_no_mass_at_all_gives_uniform_allowed_cells():
    none = ExactCells(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0)
    distribution = DiscreteLaplace(Fraction(1, 100))  # noise is zero but with probability 4·10⁻⁴⁴
    records, _ = lazy_records(
        none, ("a", "b"), DOMAIN, distribution, n_rows=8000, randomness=SeededRandomness(8)
    )
    counts = np.bincount(records.columns[0] * 3 + records.columns[1], minlength=9)
    assert counts[8] == 0
    assert stats.chisquare(counts[:8]).pvalue > ALPHA


def test_places_of_empty_cells_are_uniform_whether_listed_or_drawn():
    """Of 8,192 cells a quarter is forbidden and some are occupied; few wanted cells are drawn, many
    listed. χ² over 32 groups of cells, false alarms 10⁻⁴; none is met twice, occupied or forbidden.
    """
    domain = Domain((2, 64, 64), ({0: frozenset({1}), 1: frozenset(range(32))},))
    codes = np.flatnonzero(domain.allowed_mask().ravel())
    occupied = codes[::7]
    empty = np.setdiff1d(codes, occupied)
    group = np.arange(len(empty)) % 32
    for n, repetitions in ((20, 400), (1000, 8)):
        randomness, found = SeededRandomness(n), []
        for _ in range(repetitions):
            cells = drawn_cells(n, domain, occupied, randomness)
            assert len(set(cells.tolist())) == n
            found.append(cells)
        places = np.searchsorted(empty, np.concatenate(found))
        assert np.array_equal(empty[places], np.concatenate(found))
        counts = np.bincount(group[places], minlength=32)
        expected = np.bincount(group, minlength=32) / len(empty) * counts.sum()
        assert stats.chisquare(counts, expected).pvalue > ALPHA
