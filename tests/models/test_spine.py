"""Tables on a tree of places: against dense least squares, with every variance and covariance."""

import time
import tracemalloc
from itertools import product

import numpy as np
import pytest

from understudy.models import spine
from understudy.models.spine import Hierarchy, LevelTable, SpineFit, TreeNoise, gls

SIZES = (3, 2, 2)


def random_tree(rng, depth=3, most=4):
    """Irregular fan-out, children in any order, all leaves in the last layer."""
    parents = [np.array([0])]
    for _ in range(depth):
        fan_outs = rng.integers(1, most, len(parents[-1]))
        parents.append(rng.permutation(np.repeat(np.arange(len(fan_outs)), fan_outs)))
    return Hierarchy(tuple(parents))


def leaves_of(tree):
    """For each layer, which leaves lie in each node, shape (nodes, leaves)."""
    within = [np.eye(len(tree.parents[-1]))]
    for layer in range(tree.depth - 1, -1, -1):
        rows = np.zeros((len(tree.parents[layer]), within[0].shape[1]))
        np.add.at(rows, tree.parents[layer + 1], within[0])
        within.insert(0, rows)
    return within


def marginal(sizes, axes):
    """The matrix that sums cells to a marginal."""
    parts = (np.eye(k) if j in axes else np.ones((1, k)) for j, k in enumerate(sizes))
    found = np.ones((1, 1))
    for part in parts:
        found = np.kron(found, part)
    return found


def dense(tree, sizes, tables):
    """Least squares over all cells of all leaves; exact tables are constraints.

    Returns:
        Estimates and their covariances, over leaves and cells.
    """
    within = leaves_of(tree)
    rows, told, spreads = [], [], []
    for table in tables:
        variance = np.broadcast_to(table.variance, len(tree.parents[table.level]))
        for node, counts in enumerate(table.counts):
            if np.isfinite(variance[node]):
                sums = np.kron(within[table.level][node], marginal(sizes, table.axes))
                rows.append(sums)
                told.append(np.ravel(counts))
                spreads.append(np.full(len(sums), variance[node]))
    x, y, v = np.vstack(rows), np.concatenate(told), np.concatenate(spreads)
    fixed = v == 0
    weighted = x[~fixed].T / v[~fixed]
    # Exact sums that follow from others would make the system singular.
    _, values, basis = np.linalg.svd(x[fixed], full_matrices=False)
    exact = basis[: (values > 1e-9).sum()] if fixed.any() else np.zeros((0, x.shape[1]))
    target = exact @ np.linalg.lstsq(x[fixed], y[fixed], rcond=None)[0] if fixed.any() else []
    m = len(exact)
    system = np.block([[weighted @ x[~fixed], exact.T], [exact, np.zeros((m, m))]])
    inverse = np.linalg.inv(system)
    n = x.shape[1]
    solution = inverse @ np.concatenate([weighted @ y[~fixed], target])
    return solution[:n], inverse[:n, :n]


def measured(tree, rng, sizes=SIZES, exact=False):
    """Tables over some axes of every level, some places left out; leaves have all cells."""
    subsets = [axes for k in product((False, True), repeat=3) if (axes := tuple(np.flatnonzero(k)))]
    tables = []
    for level, nodes in enumerate(tree.parents):
        for axes in [*subsets, ()]:
            full = level == tree.depth and len(axes) == 3
            if full or rng.random() < 0.4:
                variance = 10 ** rng.uniform(-1, 2, len(nodes))
                variance[rng.random(len(nodes)) < (0 if full else 0.2)] = np.inf
                shape = (len(nodes), *(sizes[j] for j in axes))
                tables.append(LevelTable(level, axes, rng.normal(20, 30, shape), variance))
    if exact:
        totals = rng.normal(200, 50, (len(tree.parents[1]), sizes[0]))
        tables.append(LevelTable(1, (0,), totals, 0.0))
        tables.append(LevelTable(0, (), totals.sum()[None], 0.0))
    return tables


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.nightly(every=3)
def test_fit_is_dense_least_squares_in_estimates_and_in_every_variance(seed, exact):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    tables = measured(tree, rng, exact=exact)
    fit = SpineFit(tree, SIZES, tables)
    solution, covariances = dense(tree, SIZES, tables)
    for level, sums in enumerate(leaves_of(tree)):
        for k in range(4):
            axes = tuple(sorted(rng.permutation(3)[:k].tolist()))
            matrix = np.kron(sums, marginal(SIZES, axes))
            found = fit.counts(level, axes)
            np.testing.assert_allclose(found.ravel(), matrix @ solution, rtol=0, atol=1e-9)
            spread = np.diag(matrix @ covariances @ matrix.T).reshape(len(sums), -1)
            expected = np.broadcast_to(fit.variances(level, axes)[:, None], spread.shape)
            np.testing.assert_allclose(expected, spread, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.nightly(every=3)
def test_any_sums_of_places_and_cells_have_the_covariance_of_dense_least_squares(seed, exact):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    tables = measured(tree, rng, exact=exact)
    fit = SpineFit(tree, SIZES, tables)
    solution, covariances = dense(tree, SIZES, tables)

    def drawn():
        places = {k: rng.normal(size=len(p)) for k, p in enumerate(tree.parents) if k != 1}
        cells = rng.normal(size=SIZES)
        leaves = sum(w @ leaves_of(tree)[k] for k, w in places.items())
        return places, cells, np.kron(leaves, cells.ravel())

    (first, cells, x), (second, others, y) = drawn(), drawn()
    estimate, variance = fit.answer(first, cells)
    np.testing.assert_allclose(estimate, x @ solution, rtol=1e-9)
    np.testing.assert_allclose(variance, x @ covariances @ x, rtol=1e-9)
    found = fit.covariance(first, second, cells, others)
    np.testing.assert_allclose(found, x @ covariances @ y, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("block", [1, 7, 100])
def test_blocks_change_nothing(monkeypatch, block):
    """Tables in blocks of places, and coordinates some at a time, exact tables among them."""
    rng = np.random.default_rng(5)
    tree = random_tree(rng)
    tables = measured(tree, rng, exact=True)
    whole = SpineFit(tree, SIZES, tables)
    monkeypatch.setattr(spine, "_BLOCK", block)
    parted = SpineFit(tree, SIZES, tables)
    for level, nodes in enumerate(tree.parents):
        np.testing.assert_allclose(parted.counts(level), whole.counts(level), atol=1e-9)
        np.testing.assert_array_equal(parted.variances(level), whole.variances(level))
        some = [*range(len(nodes))][::-2]
        ours = parted.counts(level, (0, 2), some)
        np.testing.assert_allclose(ours, whole.counts(level, (0, 2))[some], atol=1e-9)


def test_two_siblings_lean_on_each_other_and_cousins_by_their_common_ancestor():
    """The covariance of two places, pair by pair."""
    tree = random_tree(np.random.default_rng(2))
    variances = [np.full(len(p), 3.0 + k) for k, p in enumerate(tree.parents)]
    noise, n = TreeNoise(tree, variances), len(tree.parents[-1])
    within = np.vstack(leaves_of(tree))
    inverse = np.linalg.inv((within.T / np.concatenate(variances)) @ within)
    zeros = [0.0] * tree.depth
    found = [[noise.covariance([*zeros, a], [*zeros, b]) for b in np.eye(n)] for a in np.eye(n)]
    np.testing.assert_allclose(found, inverse, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(noise.variances[-1], np.diag(inverse), rtol=1e-12)


def test_what_nobody_measured_has_no_variance_unless_it_follows_from_the_rest():
    tree = Hierarchy((np.array([0]), np.array([0, 0, 0])))
    noise = TreeNoise(tree, [1.0, [2.0, 3.0, np.inf]])
    assert noise.variances[1].tolist() == [2, 3, 6]
    assert noise.covariance([0, [0, 0, 1]], [0, [1, 0, 0]]) == -2
    assert noise.covariance([1, 0], [0, [0, 0, 1]]) == 1
    two = TreeNoise(tree, [1.0, [2.0, np.inf, np.inf]])
    assert two.variances[1].tolist() == [2, np.inf, np.inf]
    assert two.covariance([0, [0, 1, 1]], [0, [0, 1, 1]]) == 3
    assert two.covariance([0, [0, 1, 0]], [0, [0, 1, 0]]) == np.inf


def test_a_total_is_told_where_nobody_measured_its_cells():
    tree = Hierarchy((np.array([0]), np.array([0, 0])))
    fit = SpineFit(tree, (3, 2), [LevelTable(1, (), np.array([9.0, 4.0]), 2.0)])
    assert fit.answer({1: [1, 1]}) == (pytest.approx(13), pytest.approx(4))
    assert fit.answer({1: [1, 0]}, [[1, 1], [1, 1], [1, 0]])[1] == np.inf


def test_exact_totals_have_no_variance_and_those_that_contradict_are_refused():
    tree = Hierarchy((np.array([0]), np.array([0, 0])))
    areas = LevelTable(1, (0,), np.array([[3.0, 4.0], [5.0, 6.0]]), 1.0)
    exact = LevelTable(1, (), np.array([10.0, 20.0]), np.array([0.0, np.inf]))
    fit = SpineFit(tree, (2,), [areas, exact])
    np.testing.assert_allclose(fit.counts(1), [[4.5, 5.5], [5, 6]])
    np.testing.assert_allclose(fit.variances(1, ()), [0, 2])
    other = LevelTable(1, (), np.array([11.0, 20.0]), np.array([0.0, np.inf]))
    with pytest.raises(ValueError, match="contradict"):
        SpineFit(tree, (2,), [exact, areas, other])


def test_each_place_takes_its_exact_table_whatever_the_order_of_tables():
    tree = Hierarchy((np.array([0]), np.array([0, 0])))
    first = LevelTable(1, (), np.array([10.0, 21.0]), np.array([0.0, 1.0]))
    second = LevelTable(1, (), np.array([9.0, 20.0]), np.array([1.0, 0.0]))
    for tables in ([first, second], [second, first]):
        fit = SpineFit(tree, (), tables)
        np.testing.assert_allclose(fit.counts(1), [10, 20])
        assert fit.variances(1).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (LevelTable(2, (), np.zeros(2), 1.0), "no level"),
        (LevelTable(1, (0,), np.zeros((2, 3)), 1.0), "shape"),
        (LevelTable(1, (), np.zeros(2), -1.0), "below 0"),
        (LevelTable(1, (1, 0), np.zeros((2, 2, 3)), 1.0), "ascending"),
    ],
)
def test_tables_that_do_not_fit_are_refused(table, words):
    with pytest.raises(ValueError, match=words):
        SpineFit(Hierarchy((np.array([0]), np.array([0, 0]))), (2, 3), [table])


@pytest.mark.statistical
@pytest.mark.nightly
def test_intervals_cover_the_truth_as_often_as_they_say():
    """Of 400 draws of 30 places × 6 cells, 95 % of cells and of sums off the spine.

    The share of 400 sums has a standard error of 1.1 points: ± 4.5 are passed by chance once in
    20,000 times. A standard error that is 30 % off would give 83 or 99 %.
    """
    rng = np.random.default_rng(7)
    tree = random_tree(rng, depth=3, most=5)
    sums, n = leaves_of(tree), len(tree.parents[-1])
    truth = rng.poisson(4, (n, 3, 2)).astype(float)
    cells = sums[-1][: n // 2].sum(axis=0), rng.normal(size=(3, 2))
    inside, hits = [], 0
    for _ in range(400):
        tables = []
        for level, within in enumerate(sums):
            exact = np.tensordot(within, truth, axes=1)
            for axes, scale in (((0, 1), 3.0), ((0,), 2.0), ((), 1.5)):
                dropped = tuple(1 + j for j in range(2) if j not in axes)
                table = exact.sum(axis=dropped) + rng.normal(
                    0, scale, exact.sum(axis=dropped).shape
                )
                tables.append(LevelTable(level, axes, table, scale**2))
        fit = SpineFit(tree, (3, 2), tables)
        error = np.abs(fit.counts(3) - truth) / np.sqrt(fit.variances(3))[:, None, None]
        inside.append((error < 1.959964).mean())
        estimate, variance = fit.answer({3: cells[0]}, cells[1])
        true = float((cells[0] @ truth.reshape(n, -1)) @ cells[1].ravel())
        hits += abs(estimate - true) < 1.959964 * variance**0.5
    assert 0.94 < np.mean(inside) < 0.96
    assert 0.905 < hits / 400 < 0.995


def test_ten_thousand_areas_of_a_hundred_cells_take_seconds():
    rng = np.random.default_rng(1)
    parents = [np.zeros(1, np.int64), np.zeros(16, np.int64)]
    parents += [rng.integers(0, 16, 320), rng.integers(0, 320, 10_000)]
    tree = Hierarchy(tuple(np.sort(one) for one in parents))
    tables = [
        LevelTable(level, axes, rng.normal(5, 3, (len(nodes), *[10] * len(axes))), 4.0)
        for level, nodes in enumerate(parents)
        for axes in ((0, 1), (0,), (1,), ())
    ]
    tracemalloc.start()
    start = time.process_time()
    fit = SpineFit(tree, (10, 10), tables)
    spreads = [(fit.counts(level), fit.variances(level)) for level in range(4)]
    took = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took < 4, "2 s by benchmarks/hierarchy.py; measuring memory takes time as well"
    assert peak < 400e6
    for level in range(3):
        found = np.zeros_like(spreads[level][0])
        np.add.at(found, tree.parents[level + 1], spreads[level + 1][0])
        np.testing.assert_allclose(found, spreads[level][0], rtol=0, atol=1e-8)


def test_a_tree_of_totals_alone_is_the_two_pass_of_single_counts():
    rng = np.random.default_rng(4)
    tree = random_tree(rng)
    counts = [rng.normal(9, 5, len(p)) for p in tree.parents]
    variances = [10 ** rng.uniform(-1, 1, len(p)) for p in tree.parents]
    tables = [
        LevelTable(k, (), c, v) for k, (c, v) in enumerate(zip(counts, variances, strict=True))
    ]
    fit = SpineFit(tree, (), tables)
    for level, expected in enumerate(gls(tree, counts, variances)):
        np.testing.assert_allclose(fit.counts(level), expected, rtol=1e-12)
