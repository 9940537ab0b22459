"""Greedy trees against a slow, obvious growth and pruning, and against scikit-learn."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from understudy.papers.trees_exact import Stumps
from understudy.papers.trees_greedy import Greedy


def impurity(labels):
    return labels.sum() * (1 - labels).sum() / len(labels) if len(labels) else 0.0


def grown(points, labels, trees, level, step):
    """SSE, leaves and cost of the kept subtree."""
    own = impurity(labels)
    alone = own, 1, own + step
    limit = trees.depth if trees.depth is not None else np.inf
    if level >= limit or len(labels) < trees.min_split:
        return alone
    best, found = 1e-12, None
    for f in range(points.shape[1]):
        for t in np.unique(points[:, f])[:-1]:
            yes = points[:, f] <= t
            if min(yes.sum(), (~yes).sum()) < trees.min_leaf:
                continue
            gain = own - impurity(labels[yes]) - impurity(labels[~yes])
            if gain > best + 1e-12:
                best, found = gain, yes
    stopping = step if trees.rule == "stop" else 0.0
    if found is None or best <= stopping:
        return alone
    halves = [grown(points[half], labels[half], trees, level + 1, step) for half in (found, ~found)]
    sse, leaves, cost = (x + y for x, y in zip(*halves, strict=True))
    if trees.rule == "prune" and own + step <= cost + 1e-12:
        return alone
    return sse, leaves, cost


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("rule", ["prune", "stop"])
@pytest.mark.nightly(every=3)
def test_growth_and_pruning_equal_the_slow_ones(seed, rule):
    """Points without ties in gain: two columns of distinct numbers, uneven shifts."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(5, 40, 2)
    original, synthetic = rng.normal(size=(n, 2)), rng.normal(0.7, 1, size=(m, 2))
    trees = Greedy(
        depth=[None, 1, 2, 5][seed % 4],
        complexity=float(rng.choice([0.0, 0.013, 0.051])),
        rule=rule,
        min_leaf=int(rng.choice([1, 3])),
        min_split=int(rng.choice([2, 9])),
    )
    points, labels = np.concatenate([synthetic, original]), np.repeat([1, 0], [m, n])
    step = trees.complexity * impurity(labels)
    sse, leaves, _ = grown(points, labels, trees, 0, step)
    assert trees.grow(original, synthetic) == (pytest.approx(sse, abs=1e-9), leaves)


@pytest.mark.parametrize("depth", [1, 2, 5, None])
def test_trees_are_those_of_another_library(depth):
    """With a stopping rule that is the same there: a decrease relative to all points."""
    rng = np.random.default_rng(8)
    original, synthetic = rng.normal(size=(500, 2)), rng.normal(0.2, 1.2, size=(500, 2))
    points, labels = np.concatenate([synthetic, original]), np.repeat([1.0, 0.0], 500)
    other = DecisionTreeRegressor(
        max_depth=depth, min_impurity_decrease=0.25 * 0.004, min_samples_leaf=7, random_state=1
    ).fit(points, labels)
    expected = ((other.predict(points) - labels) ** 2).sum()
    trees = Greedy(depth=depth, complexity=0.004, rule="stop", min_leaf=7)
    assert trees.grow(original, synthetic) == (pytest.approx(expected), other.get_n_leaves())


def test_depth_one_is_the_best_stump():
    rng = np.random.default_rng(9)
    for original, synthetic in rng.integers(0, 6, (100, 2, 12, 3)):
        expected = Stumps().smallest_sse(original, synthetic)
        assert Greedy(depth=1).smallest_sse(original, synthetic) == pytest.approx(expected)


def test_a_split_without_gain_is_not_taken():
    """Opposite corners: no first split gains, though two levels would part all."""
    assert Greedy().grow([[0, 0], [1, 1]], [[0, 1], [1, 0]]) == (1.0, 1)
    assert Greedy(depth=0).grow([[0], [1]], [[2]]) == (pytest.approx(2 / 3), 1)
    assert Greedy().grow(np.zeros((0, 2)), np.zeros((0, 2))) == (0.0, 1)


def test_many_tables_and_the_words():
    rng = np.random.default_rng(3)
    original, many = rng.normal(size=(20, 2)), rng.normal(size=(4, 20, 2))
    trees = Greedy(depth=2)
    found = trees.prepare(original).smallest_sses(many)
    assert found.tolist() == [trees.smallest_sse(original, one) for one in many]
    assert not trees.data_independent
    assert "depend on the data" in trees.title


@pytest.mark.parametrize(
    "options", [{"depth": -1}, {"complexity": -0.1}, {"min_leaf": 0}, {"min_split": 1}, {"rule": 1}]
)
def test_what_is_not_a_limit_is_refused(options):
    with pytest.raises(ValueError, match=r"rule|start"):
        Greedy(**options)
