"""The empirical distribution function by the exponential mechanism: its exact law, its privacy.

Slow and obvious: every count vector is written out and weighted by its distance.
"""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats

from understudy.data.base import ExactTable
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.errors import MethodError
from understudy.papers import empirical_distribution
from understudy.papers.empirical_distribution import (
    Distance,
    any_path,
    block_ends,
    draw_counts,
    drawn_distribution,
    highest_level,
    log_all_paths,
    log_paths,
    needed_level,
    noise_of_distance,
    path_within,
    require_drawable,
    steps_up_to,
)
from understudy.schema import Domain

pytestmark = pytest.mark.statistical

ONE = Fraction(1)
FALSE_ALARM = 1e-4


def paths(length, total):
    """All cumulative count vectors, shape (candidates, length)."""
    return np.array(list(combinations_with_replacement(range(total + 1), length)))


def distances(counts, total):
    cumulative = np.minimum(np.cumsum(counts), total)
    return np.abs(paths(len(counts), total) - cumulative).max(axis=1)


def enumerated(counts, total, epsilon, cap=None):
    """Probability of each candidate, in the order of `paths`."""
    capped = distances(counts, total) if cap is None else np.minimum(distances(counts, total), cap)
    weights = np.exp(-float(epsilon) / 2 * capped)
    return weights / weights.sum()


def summed_by_parts(counts, total, epsilon, cap):
    """The same from what the mechanism computes with: numbers of paths in bands, and levels."""
    cumulative = np.minimum(np.cumsum(counts), total)
    n = [math.exp(log_paths(cumulative, total, t)) for t in range(cap)]
    n.append(math.exp(log_all_paths(len(counts), total)))
    w = np.append(np.exp(-float(epsilon) / 2 * np.arange(cap + 1)), 0.0)
    mixture = np.array(n) * -np.diff(w)
    inside = distances(counts, total)[:, None] <= np.arange(cap + 1)
    inside[:, cap] = True
    return (inside * mixture / n).sum(axis=1) / mixture.sum()


def rows(n_cells, most):
    """All vectors of counts with at most so many records."""
    return [y for y in product(range(most + 1), repeat=n_cells) if sum(y) <= most]


def drawn_places(counts, total, epsilon, n, source):
    """Draws as positions in `paths`."""
    place = {tuple(path): k for k, path in enumerate(paths(len(counts), total).tolist())}
    found = (draw_counts(np.array(counts), total, epsilon, source) for _ in range(n))
    return np.array([place[tuple(np.cumsum(one).tolist())] for one in found])


def fits(places, probabilities):
    """p-value; candidates that are expected less than 5 times are put together."""
    expected = probabilities * len(places)
    observed = np.bincount(places, minlength=len(expected))
    rare = expected < 5
    pooled = [np.append(x[~rare], x[rare].sum()) for x in (observed, expected)]
    return stats.chisquare(*([x[:-1] for x in pooled] if not rare.any() else pooled)).pvalue


# --- counting and drawing paths ---------------------------------------------------------------


def test_paths_in_bands_are_counted_exactly():
    rng = np.random.default_rng(0)
    for _ in range(60):
        length, total = int(rng.integers(1, 5)), int(rng.integers(0, 7))
        cumulative = np.sort(rng.integers(0, total + 1, length))
        away = np.abs(paths(length, total) - cumulative).max(axis=1)
        for band in range(total + 1):
            assert math.exp(log_paths(cumulative, total, band)) == pytest.approx(
                (away <= band).sum(), rel=1e-12
            )


@pytest.mark.parametrize(("length", "total"), [(1, 0), (3, 1), (400, 60), (60, 400), (3000, 900)])
def test_the_widest_band_holds_all_paths_however_many(length, total):
    """Up to e^2,400 of them, so that plain floating-point numbers would overflow or vanish."""
    for cumulative in (np.zeros(length, dtype=np.int64), np.full(length, total)):
        assert log_paths(cumulative, total, total) == pytest.approx(
            log_all_paths(length, total), abs=1e-8
        )


@pytest.mark.parametrize("band", [0, 1, 2, 5])
def test_a_path_is_uniform_within_its_band(band):
    cumulative, total = np.array([1, 1, 4]), 5
    every = paths(3, total)
    inside = every[np.abs(every - cumulative).max(axis=1) <= band].tolist()
    place = {tuple(path): k for k, path in enumerate(inside)}
    source = SeededRandomness(band)
    drawn = [place[tuple(path_within(cumulative, total, band, source))] for _ in range(1500)]
    observed = np.bincount(drawn, minlength=len(inside))
    assert len(inside) == 1 or stats.chisquare(observed).pvalue > FALSE_ALARM


def test_a_path_among_flat_counts_is_uniform_far_beyond_the_range_of_floats():
    """The middle of a uniform path of 4,000 steps from 0 to 800 is 400 ± 15.5 (Pólya)."""
    flat = np.zeros(4000, dtype=np.int64)
    middles = [path_within(flat, 800, 800, SeededRandomness(k))[2000] for k in range(40)]
    assert abs(np.mean(middles) - 400) < 4 * 15.5 / math.sqrt(40)
    assert 9 < np.std(middles) < 25


@pytest.mark.parametrize(("length", "total"), [(3, 2), (1, 40), (2, 0)])
def test_a_path_among_all_is_uniform(length, total):
    every = paths(length, total)
    place = {tuple(path): k for k, path in enumerate(every.tolist())}
    source = SeededRandomness(7)
    drawn = [place[tuple(any_path(length, total, source))] for _ in range(4000)]
    observed = np.bincount(drawn, minlength=len(every))
    assert len(every) == 1 or stats.chisquare(observed).pvalue > FALSE_ALARM


# --- the law ----------------------------------------------------------------------------------


def test_the_worked_example():
    """Cells (1, 0, 1) of two records, the last one what is left of them."""
    column_model = enumerated((1, 0), 2, ONE)
    exact = dict(zip(map(tuple, paths(2, 2).tolist()), column_model, strict=True))
    assert exact.pop((1, 1)) == pytest.approx(0.24798, abs=5e-6)
    assert list(exact.values()) == pytest.approx([0.15040] * 5, abs=5e-6)
    assert summed_by_parts((1, 0), 2, ONE, 2) == pytest.approx(column_model, abs=1e-12)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100_000), Fraction(1, 3), ONE, Fraction(20)])
@pytest.mark.parametrize("cap", [1, 2, 5])
def test_levels_and_bands_give_the_law_of_the_full_enumeration(epsilon, cap):
    for counts in [(2, 0, 1), (0, 0, 5), (0, 0, 0), (9, 0, 0), (1,)]:
        assert summed_by_parts(counts, 5, epsilon, cap) == pytest.approx(
            enumerated(counts, 5, epsilon, cap), abs=1e-12
        )


@pytest.mark.parametrize("counts", [(1, 0, 1), (0, 4, 0), (7, 1, 1)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE, Fraction(6)])
def test_draws_have_the_exact_law(counts, epsilon):
    """The third vector has more records than candidates may have."""
    drawn = drawn_places(counts, 4, epsilon, 500, SeededRandomness(3))
    assert fits(drawn, enumerated(counts, 4, epsilon)) > FALSE_ALARM


def test_a_wrong_budget_would_be_noticed():
    drawn = drawn_places((2, 1, 1), 4, Fraction(3), 2000, SeededRandomness(3))
    for wrong in (Fraction(21, 10), Fraction(39, 10)):
        assert fits(drawn, enumerated((2, 1, 1), 4, wrong)) < 1e-6


def test_wide_blocks_of_levels_leave_the_law_as_it_is():
    """With one cell, blocks are three levels wide and more: proposals are mostly rejected."""
    total, epsilon = 60, Fraction(1, 5)
    assert max(np.diff(block_ends(1, highest_level(1, total, epsilon)))) > 20
    drawn = drawn_places((20,), total, epsilon, 1200, SeededRandomness(4))
    assert fits(drawn, enumerated((20,), total, epsilon)) > FALSE_ALARM


def test_a_cap_below_the_needed_level_gives_the_capped_law(monkeypatch):
    monkeypatch.setattr(empirical_distribution, "MOST_STEPS", 50)
    counts, total, epsilon = (3, 0), 12, Fraction(1, 2)
    cap = highest_level(2, total, epsilon)
    assert 0 < cap < needed_level(2, total, epsilon) == total
    drawn = drawn_places(counts, total, epsilon, 2000, SeededRandomness(5))
    assert fits(drawn, enumerated(counts, total, epsilon, cap)) > FALSE_ALARM
    assert fits(drawn, enumerated(counts, total, epsilon)) < 1e-6


@pytest.mark.parametrize("total", [3, 6, 11])
def test_the_number_of_records_may_be_wrong(total):
    """Candidates have at most that many; here the rows have 6."""
    drawn = drawn_places((3, 3), total, ONE, 600, SeededRandomness(6))
    assert fits(drawn, enumerated((3, 3), total, ONE)) > FALSE_ALARM


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**5), ONE, Fraction(10**15)])
def test_no_records_any_records_and_any_budget(epsilon):
    source = SecureRandomness()
    assert draw_counts(np.zeros(4, dtype=np.int64), 0, epsilon, source).tolist() == [0] * 4
    for counts in (np.zeros(4, dtype=np.int64), np.array([0, 9, 0, 1]), np.array([7])):
        drawn = draw_counts(counts, 10, epsilon, source)
        assert drawn.min() >= 0
        assert drawn.sum() <= 10
        assert drawn.shape == counts.shape
        if epsilon > 100:
            assert drawn.tolist() == counts.tolist()


# --- privacy ----------------------------------------------------------------------------------


def neighbours(counts, relation):
    """Tables that differ by one record; None stands for a record outside the grid."""
    cells = [*range(len(counts)), None]
    for source, target in product(cells, cells):
        changed = list(counts)
        if source is not None and (relation == "replace" or target is None):
            changed[source] -= 1
        if target is not None and (relation == "replace" or source is None):
            changed[target] += 1
        if min(changed) >= 0:
            yield tuple(changed)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("cap", [1, 2, 4])
def test_no_neighbour_changes_a_probability_by_more_than_the_budget(relation, cap):
    """All tables of up to 5 records in 3 cells; candidates have at most 4."""
    epsilon, worst = ONE, 0.0
    for counts in rows(3, 5):
        log_law = np.log(enumerated(counts, 4, epsilon, cap))
        for other in neighbours(counts, relation):
            change = np.abs(np.log(enumerated(other, 4, epsilon, cap)) - log_law).max()
            worst = max(worst, change)
    assert 0.45 < worst <= 1 + 1e-12


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_score_has_sensitivity_one(relation):
    changes = {
        int(np.abs(distances(other, 4) - distances(counts, 4)).max())
        for counts in rows(3, 5)
        for other in neighbours(counts, relation)
    }
    assert changes == {0, 1}


# --- what is public about it ------------------------------------------------------------------


@pytest.mark.parametrize(("n_cells", "total"), [(1, 1), (3, 10), (30, 10**6), (200, 50)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 50), ONE, Fraction(30)])
def test_the_cap_is_hardly_ever_reached(n_cells, total, epsilon):
    cap = needed_level(n_cells, total, epsilon)
    excess = log_all_paths(n_cells, total) - float(epsilon) / 2 * cap
    assert cap == total or math.exp(excess) < 1e-6
    assert 1 <= cap <= total


def test_blocks_cover_every_level_below_the_cap_once():
    for n_cells, cap in [(1, 1), (1, 100), (7, 50), (100, 3000)]:
        ends = block_ends(n_cells, cap)
        assert ends[0] == 0
        assert ends[-1] == cap - 1
        assert (np.diff(ends) > 0).all()


def test_a_line_too_long_for_the_budget_is_refused():
    require_drawable(("a",), Domain((100,)), 10**6, Fraction(1, 10))
    require_drawable(("a",), Domain((5000,)), None, ONE)
    # So little budget that nothing could be gained by a higher cap.
    require_drawable(("a",), Domain((5000,)), 10**6, Fraction(1, 10**5))
    with pytest.raises(MethodError, match="larger epsilon"):
        require_drawable(("a",), Domain((5000,)), 10**6, ONE)
    with pytest.raises(MethodError, match="independent"):
        require_drawable(("a", "b"), Domain((200, 200)), 100, ONE)
    assert (
        steps_up_to(highest_level(5000, 10**6, ONE), 5000, 10**6)
        <= empirical_distribution.MOST_STEPS
    )


def test_structural_zeros_stand_outside_the_line():
    domain = Domain((2, 3), ({0: frozenset({0}), 1: frozenset({1, 2})},))
    exact = ExactTable(np.array([[5, 0, 0], [1, 2, 3]]), outside=2)
    source = SeededRandomness(1)
    for _ in range(50):
        distance = Distance(epsilon=ONE, n_rows=13, margin=4)
        drawn = drawn_distribution(exact, ("a", "b"), domain, distance, source)
        assert drawn.counts[0, 1:].tolist() == [0, 0]
        assert drawn.outside == max(0, 13 - drawn.counts.sum())
    distance = Distance(epsilon=Fraction(10**4), n_rows=13, margin=4)
    sure = drawn_distribution(exact, ("a", "b"), domain, distance, source)
    assert sure.counts.tolist() == exact.inside.tolist()
    assert sure.outside == 2


def test_the_stated_error_is_that_of_a_cumulative_count():
    """Well filled cells; 300 draws of 12 cumulative counts, correlated: ± 10 % is left with a
    probability far below 1e-4."""
    counts, source = np.full(12, 400), SeededRandomness(2)
    errors = [
        np.cumsum(draw_counts(counts, 12 * 400 + 200, ONE, source) - counts) for _ in range(300)
    ]
    stated = noise_of_distance(ONE, 12).stddev
    assert 0.9 < np.sqrt(np.mean(np.square(errors))) / stated < 1.1


def test_a_hundred_cells_and_fifty_thousand_rows_take_less_than_two_seconds():
    """Additions are what takes time, 4 ns each or so (0.05 s in all when this was written)."""
    steps = steps_up_to(highest_level(100, 50_000, ONE), 100, 50_000)
    assert steps < 2e7
    counts = np.random.default_rng(1).multinomial(50_000, np.full(100, 0.01))
    drawn = draw_counts(counts, 50_000, ONE, SecureRandomness())
    assert np.abs(np.cumsum(drawn - counts)).max() < needed_level(100, 50_000, ONE)
