"""The scores of the utility tables, on tables small enough to work out by brute force."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ks_2samp

import yardstick

pytestmark = pytest.mark.whole

SIZES = (3, 2, 5)


def rows(n, seed, sizes=SIZES):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(size, size=n) for size in sizes], axis=1)


def slow_distance(real, synthetic, columns):
    """Half the L1 distance of shares, by counting tuples."""
    shares = [
        {cell: count / len(table) for cell, count in Counter(map(tuple, table[:, columns])).items()}
        for table in (real, synthetic)
    ]
    cells = shares[0].keys() | shares[1].keys()
    return sum(abs(shares[0].get(cell, 0) - shares[1].get(cell, 0)) for cell in cells) / 2


def test_distances_are_those_of_slow_counting():
    real, synthetic = rows(40, 1), rows(70, 2)
    found = yardstick.distances(real, synthetic, SIZES)
    for width in (1, 2, 3):
        expected = [slow_distance(real, synthetic, list(c)) for c in combinations(range(3), width)]
        assert found[f"tv{width}"] == pytest.approx(np.mean(expected))
    assert found["tv2_max"] == pytest.approx(
        max(slow_distance(real, synthetic, list(c)) for c in combinations(range(3), 2))
    )


def test_a_wide_table_is_counted_by_the_cells_that_occur(monkeypatch):
    real, synthetic = rows(40, 1), rows(70, 2)
    counted = yardstick.distances(real, synthetic, SIZES)
    monkeypatch.setattr(yardstick, "COUNTED_CELLS", 1)
    assert yardstick.distances(real, synthetic, SIZES) == pytest.approx(counted)


def test_equal_tables_have_distance_0_and_disjoint_ones_1():
    real = np.zeros((5, 3), dtype=int)
    same = yardstick.distances(real, real[:2], SIZES)
    apart = yardstick.distances(real, real + 1, SIZES)
    assert set(same.values()) == {0.0}
    assert set(apart.values()) == {1.0}


def test_the_triples_are_64_and_always_the_same():
    candidates = list(combinations(range(14), 3))
    chosen = yardstick.triples(candidates)
    assert len(set(chosen)) == 64
    assert chosen == sorted(chosen) == yardstick.triples(candidates)
    assert chosen[:3] == [(0, 1, 4), (0, 1, 5), (0, 1, 9)]
    assert chosen[-2:] == [(8, 10, 13), (8, 11, 13)]
    assert yardstick.triples(candidates[:64]) == candidates[:64]


def test_tables_with_too_many_cells_are_left_out():
    real, synthetic = rows(40, 1), rows(70, 2)
    found = yardstick.distances(real, synthetic, SIZES, most_cells=30)
    narrow = yardstick.distances(real, synthetic, SIZES, most_cells=9)
    assert found == yardstick.distances(real, synthetic, SIZES)
    assert narrow["tv2"] == pytest.approx(slow_distance(real, synthetic, [0, 1]))
    assert np.isnan(narrow["tv3"])


def test_the_gap_is_that_of_the_two_sample_test():
    rng = np.random.default_rng(1)
    left, right = rng.integers(9, size=50) / 9, rng.integers(2, 11, size=80) / 9
    assert yardstick.largest_gap(left, right) == pytest.approx(ks_2samp(left, right).statistic)


def test_indicators_leave_out_the_first_code_and_group_wide_columns():
    narrow = np.array([0, 2, 2, 5])
    design = yardstick.main_effects(narrow[:, None], narrow[:, None]).toarray()
    assert design.tolist() == [[0, 0], [1, 0], [1, 0], [0, 1]]

    wide = np.repeat(np.arange(40), [50, *[1] * 39])[:, None]
    design = yardstick.main_effects(wide, wide).toarray()
    assert design.shape == (89, 16)  # the mode apart, 16 groups of the rest
    assert not design[:50].any()
    assert np.all(design[50:].sum(axis=1) == 1)
    assert np.ptp(design[50:].sum(axis=0)) <= 1


def test_a_copy_is_not_told_apart_and_a_shifted_table_is():
    real = rows(2_000, 1)
    copied = yardstick.discrimination(real, real)
    shifted = yardstick.discrimination(real, np.where(real == 0, 1, real))
    assert copied["specks_lr"] < 0.01
    assert copied["pmse_ratio"] < 0.01
    assert shifted["specks_lr"] > 0.5
    assert shifted["specks_cart"] > 0.5
    assert shifted["pmse_ratio"] > 10


def test_the_ratio_is_1_for_rows_drawn_again_and_2_for_another_sample():
    # Each is a χ² with 7 degrees of freedom over 7 (twice that for another sample), so means of 40
    # have standard deviations of 0.085 and 0.17: false alarms of 4·10⁻⁴ each.
    rng, ratios = np.random.default_rng(1), []
    for k in range(40):
        real = rows(400, k)
        pairs = (real[rng.integers(400, size=400)], rows(400, 100 + k))
        ratios.append([yardstick.discrimination(real, one)["pmse_ratio"] for one in pairs])
    again, another = np.mean(ratios, axis=0)
    assert again == pytest.approx(1, abs=0.3)
    assert another == pytest.approx(2, abs=0.6)


@pytest.mark.parametrize("classes", [2, 4])
def test_prediction_rests_on_the_association_in_the_rows_it_learned_from(classes):
    rng = np.random.default_rng(1)
    real = rows(1_000, 3, (classes, classes, 3))
    real[:, 1] = np.where(rng.random(1_000) < 0.9, real[:, 0], real[:, 1])
    turned = real.copy()
    turned[:, 1] = (turned[:, 1] + 1) % classes
    good, bad = (yardstick.prediction(table, real, 1) for table in (real, turned))
    assert good["auc"] > 0.9
    assert good["accuracy"] > 0.85
    assert bad["auc"] < 0.5
    assert bad["accuracy"] < 0.15
    reached = yardstick.prediction(turned, real, 1, real_rows=True)
    assert reached["auc"] > 0.9


def test_a_synthetic_table_with_one_class_predicts_that_class():
    real = rows(500, 3, (2, 3))
    constant = real.copy()
    constant[:, 0] = 1
    found = yardstick.prediction(constant, real, 0)
    assert found["auc"] == 0.5
    assert found["accuracy"] == pytest.approx((real[:, 0] == 1).mean(), abs=0.01)
