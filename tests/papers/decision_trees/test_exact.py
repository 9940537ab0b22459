"""Every exact class against the slow search over all its trees, on small tables full of ties."""

import numpy as np
import pytest

from understudy.papers.trees_exact import (
    DepthTwo,
    FixedGrid,
    Grid,
    GridDepthThree,
    GridDepthTwo,
    Stumps,
    code_values,
)
from understudy.papers.trees_greedy import random_partitions

SIZES = (4, 3, 5)


def problems(seed):
    """Sixty pairs of tables of whole numbers, up to eight rows each, with a penalty."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        p = int(rng.integers(1, 4))
        n, m = rng.integers(0, 9, 2)
        original, synthetic = (rng.integers(0, SIZES[:p], (rows, p)) for rows in (n, m))
        yield original, synthetic, float(rng.choice([0.0, 0.15])), rng


@pytest.mark.parametrize("seed", range(3))
def test_trees_with_real_thresholds_equal_the_slow_search(seed, slow):
    for problem in problems(seed):
        check_real_thresholds(slow, *problem)


def check_real_thresholds(slow, original, synthetic, penalty, rng):
    shift = rng.normal(size=original.shape[1])
    for trees, depth in ((Stumps(penalty), 1), (DepthTwo(penalty), 2)):
        found = trees.smallest_sse(original * 0.1 + shift, synthetic * 0.1 + shift)
        assert found == pytest.approx(slow(original, synthetic, depth, penalty=penalty), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("nominal", [False, True])
@pytest.mark.nightly(diagonal=True)
def test_trees_on_a_grid_equal_the_slow_search(seed, nominal, slow):
    for problem in problems(1000 + seed):
        check_grid(slow, nominal, *problem)


def check_grid(slow, nominal, original, synthetic, penalty, rng):
    p = original.shape[1]
    flags = tuple(rng.random(p) < 0.6) if nominal else ()
    grid = Grid(SIZES[:p], flags)
    asked = {"penalty": penalty, "nominal": set(np.flatnonzero(flags))}
    two, three = GridDepthTwo(grid, penalty), GridDepthThree(grid, penalty)
    assert two.smallest_sse(original, synthetic) == pytest.approx(
        slow(original, synthetic, 2, **asked), abs=1e-12
    )
    assert three.smallest_sse(original, synthetic) == pytest.approx(
        slow(original, synthetic, 3, **asked), abs=1e-12
    )


@pytest.mark.parametrize("seed", range(4))
def test_larger_tables_where_most_roots_are_given_up(seed):
    """Real thresholds, a grid of the distinct values, and depth 3 ≤ depth 2 ≤ depth 1."""
    rng = np.random.default_rng(seed)
    original = rng.integers(0, 30, (400, 3))
    synthetic = rng.integers(0, 30 - seed, (300, 3)) + seed // 2
    two = DepthTwo().smallest_sse(original, synthetic)
    grid = Grid((30,) * 3)
    assert two == GridDepthTwo(grid).smallest_sse(original, synthetic)
    three = GridDepthThree(grid).smallest_sse(original, synthetic)
    assert three < two < Stumps().smallest_sse(original, synthetic)
    assert three == pytest.approx(_three_by_two(grid, original, synthetic), abs=1e-9)


def _three_by_two(grid, original, synthetic):
    """Depth 3 by trying every root, each side by depth 2."""
    two = GridDepthTwo(grid)
    best = np.inf
    for f, size in enumerate(grid.sizes):
        for t in range(size - 1):
            sides = [
                two.smallest_sse(original[x], synthetic[z])
                for x, z in (
                    (original[:, f] <= t, synthetic[:, f] <= t),
                    (original[:, f] > t, synthetic[:, f] > t),
                )
            ]
            best = min(best, sum(sides))
    return best


def every_class():
    grid = Grid((4, 3), (False, True))
    return [
        Stumps(),
        DepthTwo(),
        GridDepthTwo(grid),
        GridDepthThree(grid),
        FixedGrid(((0, 2), (1,))),
        random_partitions((0, 0), (3, 2), depth=3, trees=5, seed=1, nominal=(False, True)),
    ]


@pytest.mark.parametrize("trees", every_class(), ids=lambda one: type(one).__name__)
class TestEveryClass:
    def test_many_tables_at_once_equal_one_at_a_time(self, trees):
        rng = np.random.default_rng(1)
        original = rng.integers(0, (4, 3), (20, 2))
        many = rng.integers(0, (4, 3), (2, 3, 15, 2))
        prepared = trees.prepare(original)
        found = prepared.smallest_sses(many)
        assert found.shape == (2, 3)
        for index in np.ndindex(2, 3):
            assert found[index] == trees.smallest_sse(original, many[index])
            assert found[index] == prepared.smallest_sse(many[index])

    @pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 3), (3, 0)])
    def test_an_empty_table_cannot_be_told_from_anything(self, trees, n, m):
        none = np.zeros((max(n, m), 2), int)
        assert trees.smallest_sse(none[:n], none[:m]) == 0

    def test_the_order_of_rows_does_not_matter(self, trees):
        rng = np.random.default_rng(2)
        original, synthetic = rng.integers(0, (4, 3), (2, 30, 2))
        found = trees.smallest_sse(original, synthetic)
        assert found == trees.smallest_sse(original[::-1], rng.permutation(synthetic))

    def test_it_says_what_it_is(self, trees):
        assert trees.data_independent
        assert len(trees.title) > 20
        assert trees.penalty == 0


def test_counts_are_sums_over_rows_and_all_that_is_needed():
    rng = np.random.default_rng(3)
    for trees in every_class()[2:]:
        if isinstance(trees, GridDepthThree):
            continue
        rows = rng.integers(0, (4, 3), (4, 12, 2))
        counts = trees.counts(rows)
        assert counts.shape == (4, trees.n_counts)
        np.testing.assert_array_equal(counts.sum(axis=0), trees.counts(rows.reshape(-1, 2)))
        found = trees.smallest_sses_of(counts[0], counts[1:])
        np.testing.assert_array_equal(found, trees.prepare(rows[0]).smallest_sses(rows[1:]))


def test_a_missing_number_counts_as_larger_than_all():
    original, synthetic = [[0.0], [np.nan], [np.inf]], [[1.0], [1.0]]
    assert Stumps().smallest_sse(original, synthetic) == pytest.approx(2 * 1 / 3)
    assert DepthTwo().smallest_sse(original, synthetic) == 0
    np.testing.assert_array_equal(
        code_values([[0.0], [0.5], [np.nan]], [[0.0, 1.0]]), [[0], [1], [2]]
    )


def test_a_tree_of_a_list_counts_its_leaves():
    """The depth-2 tree x ≤ 1; then y = 2, or x ≤ 3; the leaves by hand."""
    trees = random_partitions((0, 0), (4, 2), depth=2, trees=1, seed=1, nominal=(False, True))
    made = type(trees)([[0, 1, 0]], [[1.0, 2.0, 3.0]], [False, True])
    rows = [[0, 2], [1, 2], [1, 0], [3, 1], [4, 1], [4, 2], [2, 0]]
    np.testing.assert_array_equal(made.counts(rows), [2, 1, 2, 2])


def test_random_trees_are_public_functions_of_the_seed_and_stay_in_their_boxes():
    options = {"lower": (0, -1), "upper": (1, 1), "depth": 4, "trees": 50}
    first, again = (random_partitions(**options, seed=5) for _ in range(2))
    other = random_partitions(**options, seed=6)
    np.testing.assert_array_equal(first.thresholds, again.thresholds)
    assert not np.array_equal(first.thresholds, other.thresholds)
    rows = np.random.default_rng(1).uniform((0, -1), (1, 1), (20_000, 2))
    counts = first.counts(rows).reshape(first.shape)
    assert (counts.sum(axis=1) == 20_000).all()
    assert (counts == 0).mean() < 0.2  # a threshold out of its box would leave half a subtree empty


@pytest.mark.parametrize(
    "make",
    [
        lambda: Stumps(-1.0),
        lambda: DepthTwo(float("nan")),
        lambda: Grid(()),
        lambda: Grid((0, 2)),
        lambda: Grid((2, 2), (True,)),
        lambda: Grid((2,)).answers([[2]]),
        lambda: Grid((2,)).answers([[-1]]),
        lambda: Grid((2,)).answers([[0.0]]),
        lambda: Grid((2,)).answers([[0, 0]]),
        lambda: FixedGrid(((1.0, 0.0),)),
        lambda: FixedGrid(((0.0,),)).counts([[0, 0]]),
        lambda: Stumps().smallest_sse([[0]], [[0, 1]]),
        lambda: DepthTwo().smallest_sse([[0]], [[0, 1]]),
        lambda: DepthTwo().smallest_sse([0], [1]),
        lambda: random_partitions((0,), (1,), depth=1, trees=0, seed=1),
        lambda: random_partitions((1,), (0,), depth=1, trees=1, seed=1),
        lambda: random_partitions((0,), (1,), depth=1, trees=1, seed=1).counts([[0, 0]]),
    ],
)
def test_what_is_not_a_class_or_a_table_is_refused(make):
    with pytest.raises(ValueError, match=r"."):
        make()


def test_what_is_prepared_from_an_original_table_does_not_show_it():
    for trees in every_class():
        prepared = trees.prepare([[1, 2], [3, 1]])
        assert repr(prepared).startswith("<understudy.papers.")
