"""χ² tests, their pooling, and the table of decisions."""

import itertools

import numpy as np
import pytest
from scipy import stats

from understudy.evaluate.associations import (
    agreement,
    class_table,
    consistency,
    joint_pvalue,
    pearson,
    pool_pvalues,
)


def test_pearson_drops_empty_rows_and_columns():
    counts = np.array([[10, 0, 20], [0, 0, 0], [15, 0, 5]])
    slow = stats.chi2_contingency(counts[[0, 2]][:, [0, 2]], correction=False)
    assert pearson(counts) == (pytest.approx(slow.pvalue), slow.dof)


@pytest.mark.parametrize("counts", [np.zeros((3, 2), int), np.array([[3, 4], [0, 0]])])
def test_a_constant_column_cannot_be_rejected(counts):
    assert pearson(counts) == (1.0, 0)
    assert joint_pvalue([pearson(counts)] * 2) == 1.0


def test_pvalues_of_several_sets_are_joined():
    rng = np.random.default_rng(0)
    found = [pearson(rng.integers(10, 30, (3, 3))) for _ in range(5)]
    pvalues = [p for p, _ in found]
    assert joint_pvalue(found) == pool_pvalues(pvalues, 4, rule="partial").pvalue
    assert joint_pvalue(found[:3]) == sorted(pvalues[:3])[1]
    assert joint_pvalue(found[:1]) == pvalues[0]


@pytest.mark.parametrize("sets", [1, 2, 3, 5, 10])
def test_clear_dependence_is_found_whatever_the_number_of_sets(sets):
    """What pooling two p-values would miss."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(sets):
        counts = np.zeros((6, 6), dtype=int)
        x = rng.integers(0, 6, 2000)
        np.add.at(counts, (x, np.where(rng.random(2000) < 0.6, x, rng.integers(0, 6, 2000))), 1)
        found.append(pearson(counts))
    assert joint_pvalue(found) < 1e-4


def test_agreement_by_hand():
    table = np.array([[5, 1, 0, 0], [0, 2, 1, 0], [0, 0, 1, 0], [1, 0, 0, 9]])
    assert agreement(table, 1) == pytest.approx((5 + 13) / 20)
    assert agreement(table, 2) == pytest.approx((8 + 10) / 20)
    assert agreement(table, 3) == pytest.approx((10 + 9) / 20)


def test_every_pair_is_classed(compare):
    comparison = compare(300, sets=1)
    scores, table = consistency(comparison)
    expected = np.zeros((4, 4), dtype=int)
    for i, j in itertools.combinations(range(4), 2):
        classes = []
        for rows in (comparison.original, comparison.sets[0]):
            counts = np.zeros((12, 12), dtype=int)
            np.add.at(counts, (rows[i], rows[j]), 1)
            p = pearson(counts)[0]
            classes.append(sum(p >= edge for edge in (0.01, 0.05, 0.10)))
        expected[tuple(classes)] += 1
    assert np.array_equal(table, expected)
    assert [score.better for score in scores] == ["high"] * 3
    assert scores[1].value == agreement(expected, 2)


def test_a_copy_agrees_with_itself(compare):
    comparison = compare(300)
    scores, _ = consistency(comparison.with_sets([comparison.original]))
    assert [score.value for score in scores] == [1, 1, 1]


def test_the_table_of_classes_pools_by_the_rule_that_is_asked_for(compare):
    """Worked slowly for both rules, on five sets."""
    comparison = compare(250, sets=5, seed=3)
    tables = {}
    for rule in ("partial", "li1991"):
        expected = np.zeros((4, 4), dtype=int)
        for i, j in itertools.combinations(range(4), 2):
            found = []
            for rows in (comparison.original, *comparison.sets):
                counts = np.zeros((12, 12), dtype=int)
                np.add.at(counts, (rows[i], rows[j]), 1)
                found.append(pearson(counts))
            df = round(np.mean([df for _, df in found[1:]]))
            pooled = pool_pvalues([p for p, _ in found[1:]], df, rule=rule).pvalue
            classes = [sum(p >= edge for edge in (0.01, 0.05, 0.10)) for p in (found[0][0], pooled)]
            expected[tuple(classes)] += 1
        tables[rule] = class_table(comparison, rule=rule)
        assert np.array_equal(tables[rule], expected)
    assert not np.array_equal(tables["partial"], tables["li1991"])
