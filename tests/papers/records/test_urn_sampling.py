"""Urns have exactly the stated law: against probabilities, a slow program, and in every branch."""

import math
from collections import Counter
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.mechanisms import urn
from understudy.mechanisms.urn import draw_urn

pytestmark = pytest.mark.statistical

# Probability that a correct implementation fails one test of a law; seeds are fixed.
LEVEL = 1e-6
# Bounds of 2⁶³ (64-bit tokens) and of 0 (Python integers throughout).
PATHS = [2**63, 0]


def step(counts, prior, drawn, reinforced):
    """Exact probability of each cell for the next record."""
    seen = Counter(drawn if reinforced else ())
    weights = [n + prior + seen[k] for k, n in enumerate(counts)]
    return [F(w) / sum(weights) for w in weights]


def distribution(counts, prior, n_rows, reinforced):
    """Exact probability of each sequence of cells, one record after the other."""
    found = {}
    for sequence in product(range(len(counts)), repeat=n_rows):
        found[sequence] = math.prod(
            step(counts, prior, sequence[:i], reinforced)[k] for i, k in enumerate(sequence)
        )
    assert sum(found.values()) == 1
    return found


def pvalue(drawn, expected):
    """Of a chi-square test of sequences of cells, shape (repetitions, n_rows)."""
    seen = Counter(map(tuple, drawn.tolist()))
    assert set(seen) <= set(expected)
    observed = [seen[one] for one in expected]
    return chisquare(observed, [float(p) * len(drawn) for p in expected.values()]).pvalue


def cells(drawn):
    """Cells, where all are listed or those that are not come last."""
    return np.where(drawn < 0, ~drawn, drawn)


CASES = [
    ((3, 1), 2, F(1), 4),
    ((3, 1), 2, F(5, 8), 4),
    ((2, 0), 3, F(3, 2), 3),  # the third cell is not listed, the second is empty
    ((), 3, F(1, 4), 3),
    ((7,), 1, F(1), 2),
    ((1, 0, 4), 4, F(1, 2), 3),
]


@pytest.mark.parametrize("largest", PATHS)
@pytest.mark.parametrize("reinforced", [True, False])
@pytest.mark.parametrize(("listed", "n_cells", "prior", "n_rows"), CASES)
@pytest.mark.nightly(every=4)
def test_sequences_have_the_stated_law(
    listed, n_cells, prior, n_rows, reinforced, largest, monkeypatch
):
    monkeypatch.setattr(urn, "_LARGEST_TOTAL", largest)
    counts = np.tile(np.array(listed, dtype=np.int64), (40_000 if largest else 4_000, 1))
    source = SeededRandomness(1)
    drawn = draw_urn(counts, n_cells, prior, n_rows, reinforced=reinforced, randomness=source)
    assert drawn.shape == (len(counts), n_rows)
    full = [*listed, *[0] * (n_cells - len(listed))]
    if n_cells == 1:
        assert not cells(drawn).any()
    else:
        assert pvalue(cells(drawn), distribution(full, prior, n_rows, reinforced)) > LEVEL


@pytest.mark.parametrize("reinforced", [True, False])
@pytest.mark.parametrize("wrong", [F(3, 4), F(5, 4)])
def test_the_same_test_rejects_another_prior(reinforced, wrong):
    counts = np.tile([3, 1], (40_000, 1))
    source = SeededRandomness(1)
    drawn = draw_urn(counts, 2, wrong, 4, reinforced=reinforced, randomness=source)
    assert pvalue(cells(drawn), distribution((3, 1), F(1), 4, reinforced)) < LEVEL


def test_the_same_test_tells_an_urn_from_independent_draws():
    counts = np.tile([3, 1], (40_000, 1))
    drawn = draw_urn(counts, 2, F(1), 4, reinforced=False, randomness=SeededRandomness(1))
    assert pvalue(cells(drawn), distribution((3, 1), F(1), 4, reinforced=True)) < LEVEL


def test_counts_are_dirichlet_multinomial():
    """The mean and variance of the closed form, at sizes beyond enumeration (± 5.5 deviations)."""
    counts, prior, n_rows, repetitions = np.array([30, 8, 2]), F(9, 2), 200, 20_000
    source = SeededRandomness(2)
    drawn = draw_urn(
        np.tile(counts, (repetitions, 1)), 4, prior, n_rows, reinforced=True, randomness=source
    )
    # The fourth cell is reached by the prior alone, and by copies of what it gave.
    weights = np.append(counts, 0) + float(prior)
    share, total = weights / weights.sum(), weights.sum()
    variance = n_rows * share * (1 - share) * (n_rows + total) / (1 + total)
    for k in range(4):
        y = (cells(drawn) == k).sum(axis=1)
        assert abs(y.mean() - n_rows * share[k]) < 5.5 * math.sqrt(variance[k] / repetitions)
        assert y.var() == pytest.approx(variance[k], rel=0.07)


@pytest.mark.parametrize("reinforced", [True, False])
def test_every_repetition_has_an_urn_of_its_own(reinforced):
    """Rows with other counts, and with none, stand side by side and keep their laws."""
    tables = [(3, 1), (0, 0), (0, 9)]
    counts = np.tile(np.array(tables), (20_000, 1))
    source = SeededRandomness(3)
    drawn = cells(draw_urn(counts, 2, F(1), 3, reinforced=reinforced, randomness=source))
    for k, table in enumerate(tables):
        assert pvalue(drawn[k::3], distribution(table, F(1), 3, reinforced)) > LEVEL
        alone = SeededRandomness(4 + k)
        single = [
            cells(draw_urn(np.array([table]), 2, F(1), 3, reinforced=reinforced, randomness=alone))[
                0
            ]
            for _ in range(800)
        ]
        assert pvalue(np.array(single), distribution(table, F(1), 3, reinforced)) > LEVEL


def slow_urn(counts, n_cells, prior, n_rows, reinforced, words):
    """The tokens with Python integers: the high half of a product, complete blocks only."""
    weight, unit = prior.as_integer_ratio()
    drawn, stream = [], iter(words.tolist())
    for row in counts.tolist():
        records = [k for k, n in enumerate(row) for _ in range(n)]
        for _ in range(n_rows):
            known = records if reinforced else records[: sum(row)]
            total = n_cells * weight + len(known) * unit
            while True:
                token, rest = divmod(next(stream) * total, 2**64)
                if rest >= 2**64 % total:
                    break
            token -= n_cells * weight
            records.append(
                ~((token + n_cells * weight) // weight) if token < 0 else known[token // unit]
            )
        drawn.append(records[sum(row) :])
    return np.array(drawn)


@pytest.mark.parametrize("chunk", [1, 7, 2**16])
@pytest.mark.parametrize("reinforced", [True, False])
@pytest.mark.parametrize(
    ("n_cells", "prior"), [(3, F(3, 8)), (10**12, F(1)), (2**62 - 1, F(1)), (3, F(2**61 - 1))]
)
def test_records_are_those_of_the_slow_program(n_cells, prior, reinforced, chunk, monkeypatch):
    """With large totals nearly half of the words are refused; a buffer may end anywhere."""
    counts = np.array([[4, 0, 3], [0, 1, 0], [0, 0, 0], [2, 2, 2]])
    words = SeededRandomness(5).words(2_000)
    slow = slow_urn(counts, n_cells, prior, 50, reinforced, words)
    monkeypatch.setattr(urn, "_CHUNK_WORDS", chunk)
    source = SeededRandomness(5)
    fast = draw_urn(counts, n_cells, prior, 50, reinforced=reinforced, randomness=source)
    assert np.array_equal(fast, slow)


def test_high_halves_of_products_are_exact():
    edges = [0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1]
    numbers = [*edges, *SeededRandomness(6).words(50).tolist()]
    for a, b in product(numbers, repeat=2):
        found = int(urn._product_high(np.uint64(a), np.uint64(b)))
        assert found == a * b >> 64


@pytest.mark.parametrize("bound", [1, 2**63 + 1, 2**64, 3 * 2**90])
def test_wide_integers_are_uniform_below_their_bound(bound):
    source = SeededRandomness(7)
    found = [urn._below(bound, source) for _ in range(3_000)]
    assert 0 <= min(found) <= max(found) < bound
    if bound > 1:
        thirds = Counter(3 * one // bound for one in found)
        assert chisquare([thirds[k] for k in range(3)]).pvalue > LEVEL


@pytest.mark.parametrize("n_cells", [2**40, 2**60])
def test_copies_of_a_cell_that_no_record_has_find_it_again(n_cells):
    """With prior mass 1 and no rows, the second record is a copy with probability 1/2; by chance
    alone two records would never meet among so many cells."""
    counts = np.zeros((4_000, 0), dtype=np.int64)
    prior = F(1, n_cells)
    drawn = draw_urn(counts, n_cells, prior, 2, reinforced=True, randomness=SeededRandomness(8))
    same = int((drawn[:, 0] == drawn[:, 1]).sum())
    assert binomtest(same, 4_000, 0.5).pvalue > LEVEL
    fresh = draw_urn(counts, n_cells, prior, 2, reinforced=False, randomness=SeededRandomness(9))
    assert not (fresh[:, 0] == fresh[:, 1]).any()
    assert (fresh < 0).all()
    assert (~fresh < n_cells).all()
    # Cells are spread over the whole table: quarters of it are equally full.
    quarters = np.bincount(~fresh[:, 0] // (n_cells // 4), minlength=4)
    assert chisquare(quarters).pvalue > LEVEL


def test_a_prior_of_next_to_nothing_draws_real_records():
    counts = np.array([[600, 0, 400]])
    tiny = F(1, 2**32)
    drawn = draw_urn(counts, 4, tiny, 10_000, reinforced=False, randomness=SeededRandomness(10))
    assert binomtest(int((drawn == 0).sum()), 10_000, 0.6).pvalue > LEVEL
    assert set(drawn.ravel().tolist()) == {0, 2}


@pytest.mark.parametrize("shape", [(0, 2), (3, 0)])
def test_nothing_comes_of_nothing(shape):
    counts = np.ones((shape[0], 2), dtype=np.int64)
    drawn = draw_urn(counts, 2, F(1), shape[1], reinforced=True, randomness=SecureRandomness())
    assert drawn.shape == shape


@pytest.mark.parametrize(
    ("n_cells", "prior", "n_rows"), [(0, F(1), 1), (2, F(0), 1), (2, F(1, 3), 1), (2, F(1), -1)]
)
def test_what_makes_no_urn_is_refused(n_cells, prior, n_rows):
    counts = np.zeros((1, 0), dtype=np.int64)
    with pytest.raises(ValueError, match="draw_urn"):
        draw_urn(counts, n_cells, prior, n_rows, reinforced=True, randomness=SecureRandomness())
