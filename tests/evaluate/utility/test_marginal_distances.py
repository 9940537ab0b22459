"""Distances of marginals against slow obvious forms, and their null by enumeration."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from understudy.evaluate import comparison as comparisons
from understudy.evaluate import marginals as distances
from understudy.evaluate.comparison import OUTSIDE, Comparison
from understudy.evaluate.marginals import (
    conditional_distance,
    conditional_score,
    distance_scores,
    expected_variation,
    group_scores,
    marginal_distances,
    marginals,
    total_variation,
    triples,
)
from understudy.evaluate.scores import DEFINITIONS


def slow_variation(one, other, columns):
    left = Counter(zip(*(one[j].tolist() for j in columns), strict=True))
    right = Counter(zip(*(other[j].tolist() for j in columns), strict=True))
    n, m = left.total(), right.total()
    return sum(abs(left[c] / n - right[c] / m) for c in left.keys() | right.keys()) / 2


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("most_cells", [2**24, 20])
def test_distances_are_those_of_counted_rows(compare, order, most_cells, monkeypatch):
    """Also where tables are too large to be written out."""
    monkeypatch.setattr(comparisons, "MOST_WRITTEN_OUT", most_cells)
    comparison = compare(150, 90)
    found = marginal_distances(comparison, order)
    assert set(found.marginals) == set(itertools.combinations(range(4), order))
    for columns, values in zip(found.marginals, found.values, strict=True):
        slow = [slow_variation(comparison.original, one, columns) for one in comparison.sets]
        np.testing.assert_allclose(values, slow)


@pytest.mark.parametrize(
    ("one", "other"), [([3, 1, 0], [1, 1, 2]), ([2, 0], [1, 3]), ([1, 1, 1], [0, 0, 2]), ([5], [3])]
)
def test_the_null_is_the_mean_over_all_labellings(one, other):
    cells = np.repeat(np.arange(len(one)), np.add(one, other))
    values = []
    for chosen in itertools.combinations(range(len(cells)), sum(one)):
        first = np.isin(np.arange(len(cells)), chosen)
        counts = [np.bincount(cells[mask], minlength=len(one)) for mask in (first, ~first)]
        values.append(total_variation(*counts))
    found = expected_variation(np.array(one), np.array(other))
    assert found == pytest.approx(np.mean(values))


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_fresh_sample_is_at_its_null(compare, order):
    """100 pairs of tables, 4 standard errors of the mean: false alarm below 1e-4."""
    gaps = []
    for seed in range(100):
        comparison = compare(200, 300, sets=1, seed=seed)
        (score, *_) = distance_scores(comparison, marginal_distances(comparison, order))
        gaps.append(score.value - score.null)
    error = np.std(gaps, ddof=1) / 10
    assert abs(np.mean(gaps)) < 4 * error
    assert 8 * error < score.null  # rows that are twice as far would be found


def test_triples_are_sampled_and_say_so(compare, monkeypatch):
    drawn = DEFINITIONS["total variation, 3-way (500 triples)"]
    name = "total variation, 3-way (2 triples)"
    monkeypatch.setitem(DEFINITIONS, name, replace(drawn, name=name))
    monkeypatch.setattr(distances, "MOST_TRIPLES", 2)
    comparison = compare()
    found = marginal_distances(comparison, 3)
    assert len(found.marginals) == 2
    assert found.population == 4
    (score,) = distance_scores(comparison, found)
    assert score.name == name
    assert "2 of 4 triples" in score.note
    assert "standard error" in score.note
    assert found.marginals == marginal_distances(compare(), 3).marginals


def test_the_worst_marginal_is_named(compare):
    comparison = compare(300)
    comparison.sets[0][2][:] = 0
    comparison.sets[1][2][:] = 0
    _, worst = distance_scores(comparison, marginal_distances(comparison, 1))
    assert worst.note.startswith("of member;")
    assert worst.value == pytest.approx((comparison.original[2] == 1).mean())
    first = marginals(comparison, marginal_distances(comparison, 1))[0]
    assert first.column == "member"
    assert first.labels == ("false", "true")  # nothing is outside the domain
    assert first.synthetic == (1, 0)


def test_missing_and_outside_are_states_like_any_other(compare):
    comparison = compare(300)
    found = {m.column: m for m in marginals(comparison, marginal_distances(comparison, 1))}
    assert found["city"].labels == ("Aa", "Bb", "Cc", "Dd", "?")
    assert found["city"].original[4] == pytest.approx((comparison.original[0] == 4).mean())
    assert found["grade"].labels[-1] == OUTSIDE
    assert sum(found["grade"].synthetic) == pytest.approx(1)


def test_conditional_distance_by_hand():
    """g = 0 (share 3/4): laws (2/3, 1/3) and (1/2, 1/2), L1 1/3; g = 1 is absent, counts 2."""
    original, synthetic = np.array([[2, 1], [0, 1]]), np.array([[1, 1], [0, 0]])
    assert conditional_distance(original, synthetic) == pytest.approx(0.75 / 3 + 0.25 * 2)
    assert conditional_distance(original, original) == 0


def test_the_conditional_score_is_the_mean_over_ordered_pairs(compare):
    comparison = compare(200, sets=1)
    values = []
    for i, j in itertools.permutations(range(4), 2):
        value = 0.0
        for state in np.unique(comparison.original[i]):
            first = comparison.original[j][comparison.original[i] == state]
            second = comparison.sets[0][j][comparison.sets[0][i] == state]
            weight = len(first) / 200
            if not len(second):
                value += weight * 2
                continue
            distributions = [
                np.bincount(part, minlength=12) / len(part) for part in (first, second)
            ]
            value += weight * np.abs(distributions[0] - distributions[1]).sum()
        values.append(value)
    assert conditional_score(comparison).value == pytest.approx(np.mean(values))


def grouped(shares, n, seed, tie=0.0):
    """A grouping column, one that may follow it, and one of three states beside them."""
    rng = np.random.default_rng(seed)
    group = np.minimum(rng.choice(len(shares), n, p=shares), 3)
    follows = np.where(rng.random(n) < tie, group % 2, rng.integers(0, 2, n))
    grade = rng.integers(0, 3, n)
    age = np.full(n, 3)
    return [one.astype(np.uint8) for one in (group, age, follows, grade)]


def test_groups_are_compared_by_slow_counting(schema):
    shares = (0.5, 0.42, 0.04, 0.04)
    original, made = grouped(shares, 3_000, 1, 0.9), grouped(shares, 2_000, 2)
    comparison = Comparison(schema, original, (made,))
    [score], details = group_scores(comparison)
    assert {(one.column, one.label) for one in details} == {("city", "Cc"), ("city", "Dd")}
    for one in details:
        state = comparison.labels(0).index(one.label)
        inside, copied = original[0] == state, made[0] == state
        slow = [
            [
                sum(abs(np.mean(x == s) - np.mean(y == s)) for s in range(20)) / 2
                for x, y in ((rows[inside], copy[copied]), (rows[inside], rows))
            ]
            for rows, copy in zip(original[1:], made[1:], strict=True)
        ]
        assert (one.distance, one.ungrouped) == pytest.approx(tuple(np.mean(slow, axis=0)))
        assert one.rows == inside.sum()
        assert 0 < one.fresh < one.distance
    assert score.value == pytest.approx(np.mean([one.distance for one in details]))


def test_a_group_that_a_set_lacks_is_as_far_as_can_be(schema):
    original = grouped((0.5, 0.46, 0.04, 0.0), 2_000, 1)
    made = grouped((0.5, 0.5, 0.0, 0.0), 2_000, 2)
    [score], [one] = group_scores(Comparison(schema, original, (made,)))
    assert (one.distance, score.value) == (1, 1)
    assert np.isnan(one.fresh)
    assert score.null is None


def test_without_small_groups_there_is_no_score(schema):
    rows = grouped((0.5, 0.5, 0.0, 0.0), 500, 1)
    assert group_scores(Comparison(schema, rows, (rows,))) == ((), ())


def test_the_triples_are_500_and_always_the_same():
    candidates = list(itertools.combinations(range(16), 3))
    chosen = triples(candidates)
    assert len(set(chosen)) == 500
    assert chosen == sorted(chosen) == triples(candidates)
    assert triples(candidates[:500]) == candidates[:500]


def test_wide_tables_can_be_left_out(compare):
    whole = marginal_distances(compare(200), 2)
    narrow = marginal_distances(compare(200), 2, most_cells=14)
    assert set(narrow.marginals) == {(0, 2), (2, 3)}
    assert set(narrow.marginals) < set(whole.marginals)
