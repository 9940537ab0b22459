"""Consistent counts in trees: against dense least squares, worked examples, and leading axes."""

import time

import numpy as np
import pytest

from understudy.models.spine import Hierarchy, gls
from understudy.papers.hierarchical_tree import downward, hay, paper_phantom

# Root; a, b; leaves of a, leaves of b.
SMALL = Hierarchy((np.array([0]), np.array([0, 0]), np.array([0, 0, 0, 1, 1])))
COUNTS = [[100.0], [52.0, 50.0], [20.0, 15.0, 11.0, 30.0, 26.0]]


def random_tree(rng):
    """Up to four layers, one to four children, in any order; some inner nodes are leaves."""
    parents = [np.array([0])]
    for depth in range(rng.integers(1, 5)):
        width = len(parents[-1])
        children = rng.integers(1, 5, width) * (rng.random(width) < (1 if depth == 0 else 0.7))
        if not children.sum():
            break
        parents.append(rng.permutation(np.repeat(np.arange(width), children)))
    return Hierarchy(tuple(parents))


def complete_tree(fan_out, depth):
    """Every node above the last layer has the same number of children."""
    return Hierarchy(
        tuple(np.arange(fan_out**d) // (fan_out if d else 1) for d in range(depth + 1))
    )


def nodes(tree):
    return [(d, k) for d, places in enumerate(tree.parents) for k in range(len(places))]


def design(tree):
    """Which leaves each node has, shape (nodes, leaves), nodes layer by layer."""
    leaves = [(d, k) for d, k in nodes(tree) if not tree.fan_outs[d][k]]
    rows = {node: np.zeros(len(leaves)) for node in nodes(tree)}
    for place, (depth, leaf) in enumerate(leaves):
        node = leaf
        for d in range(depth, -1, -1):
            rows[d, node][place] = 1
            node = tree.parents[d][node]
    return np.array([rows[node] for node in nodes(tree)])


def dense_gls(tree, counts, variances):
    """Least squares over the leaves by a dense solve; an exact root is a constraint."""
    x, h, v = design(tree), np.concatenate(counts), np.concatenate(variances)
    seen = np.isfinite(v) & (v > 0)
    normal = (x[seen].T / v[seen]) @ x[seen]
    right = (x[seen].T / v[seen]) @ h[seen]
    exact = x[v == 0]
    n, m = len(right), len(exact)
    system = np.block([[normal, exact.T], [exact, np.zeros((m, m))]])
    solution = np.linalg.solve(system, np.concatenate([right, h[v == 0]]))
    return x @ solution[:n]


def numbers(tree, rng, lead=()):
    return [rng.normal(10, 20, (*lead, len(places))) for places in tree.parents]


@pytest.mark.parametrize("root", ["noisy", "exact", "unseen"])
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.nightly(every=4)
def test_gls_is_dense_least_squares_on_any_tree(root, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    counts = numbers(tree, rng)
    variances = [10 ** rng.uniform(-2, 2, len(places)) for places in tree.parents]
    for depth, fan_outs in enumerate(tree.fan_outs):  # inner nodes need not be observed
        variances[depth][(fan_outs > 0) & (rng.random(len(fan_outs)) < 0.3)] = np.inf
    variances[0][:] = {"noisy": 2.0, "exact": 0.0, "unseen": np.inf}[root]
    found = np.concatenate(gls(tree, counts, variances))
    np.testing.assert_allclose(found, dense_gls(tree, counts, variances), rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_one_variance_per_layer_is_as_good_as_one_per_node(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    counts, layers = numbers(tree, rng), rng.uniform(0.1, 9, len(tree.parents))
    each = [np.full(len(p), v) for p, v in zip(tree.parents, layers, strict=True)]
    for one, two in zip(gls(tree, counts, layers), gls(tree, counts, each), strict=True):
        np.testing.assert_array_equal(one, two)


def test_unobserved_leaves_take_what_is_left():
    counts = [[100.0], [60.0, np.nan], [20.0, np.nan, np.nan, 5.0, np.nan]]
    unseen = [[0.0], [0.0, np.inf], [1.0, np.inf, np.inf, 1.0, np.inf]]
    found = gls(SMALL, counts, unseen)
    assert found[1].tolist() == [60, 40]
    assert found[2].tolist() == [20, 20, 20, 5, 35]


def test_exact_leaves_stay_as_they_are():
    variances = [[1.0], [1.0, 1.0], [0.0, 0.0, 1.0, 0.0, 0.0]]
    found = gls(SMALL, COUNTS, variances)
    assert found[2][[0, 1, 3, 4]].tolist() == [20, 15, 30, 26]
    assert found[1][1] == 56
    np.testing.assert_allclose(np.concatenate(found), dense_gls(SMALL, COUNTS, variances))


def test_the_least_variance_among_linear_unbiased_estimates():
    """The mean square error over 4,000 draws is that of theory, and below that of the leaves' sum.
    ± 10 % is more than four standard errors (√(2/4000) = 2.2 %)."""
    rng = np.random.default_rng(3)
    truth = [np.array([91.0]), np.array([40.0, 51.0]), np.array([20.0, 15.0, 5.0, 30.0, 21.0])]
    noisy = [one + rng.normal(0, 3, (4000, len(one))) for one in truth]
    found = gls(SMALL, noisy, [9, 9, 9])
    x = design(SMALL)
    expected = 9 * np.diag(x @ np.linalg.inv(x.T @ x) @ x.T)
    errors = np.concatenate([a - b for a, b in zip(found, truth, strict=True)], axis=-1)
    np.testing.assert_allclose((errors**2).mean(axis=0), expected, rtol=0.1)
    assert expected[0] < 9
    assert expected[1] < 9


@pytest.mark.parametrize("estimate", ["gls", "hay", "phantom", "printed", "downward"])
def test_leading_axes_are_repetitions(estimate):
    rng = np.random.default_rng(1)
    tree = complete_tree(2, 3)
    counts = numbers(tree, rng, (2, 3))
    action = {
        "gls": lambda c: gls(tree, c, [0, 1, 2, 3]),
        "hay": lambda c: hay(tree, c, c[0][..., 0]),
        "phantom": lambda c: paper_phantom(tree, c, c[0][..., 0], as_printed=False),
        "printed": lambda c: paper_phantom(tree, c, c[0][..., 0]),
        "downward": lambda c: downward(tree, c),
    }[estimate]
    together = action(counts)
    for i, j in np.ndindex(2, 3):
        one = action([c[i, j] for c in counts])
        for a, b in zip(together, one, strict=True):
            np.testing.assert_allclose(a[i, j], b, rtol=1e-14)


@pytest.mark.parametrize("fan_out", [1, 2, 3, 5])
@pytest.mark.parametrize("exact", [False, True])
def test_hay_is_least_squares_for_a_constant_fan_out(fan_out, exact):
    rng = np.random.default_rng(fan_out)
    tree = complete_tree(fan_out, 3)
    counts = numbers(tree, rng)
    variances = [0.0 if exact else 4.0, 4, 4, 4]
    found = hay(tree, counts, counts[0][0] if exact else None)
    for one, two in zip(found, gls(tree, counts, variances), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-10)


def test_hay_refuses_other_trees():
    with pytest.raises(ValueError, match="same number of children"):
        hay(SMALL, COUNTS)
    with pytest.raises(ValueError, match="last layer"):
        paper_phantom(Hierarchy((np.array([0]), np.array([0, 0]), np.array([0, 0]))), COUNTS, 1)


def test_the_printed_equations_are_not_least_squares():
    """With b = 3 and L = 3 the leaves stay as they are, and children do not sum to their parent."""
    rng = np.random.default_rng(0)
    tree = complete_tree(3, 3)
    counts = numbers(tree, rng)
    printed, right = paper_phantom(tree, counts, counts[0][0]), hay(tree, counts, counts[0][0])
    np.testing.assert_array_equal(printed[3], counts[3])
    assert np.abs(tree.sums(2, printed[3]) - printed[2]).max() > 1
    assert np.abs(printed[1] - right[1]).max() > 0.1
    as_hay = paper_phantom(tree, counts, counts[0][0], as_printed=False)
    for one, two in zip(as_hay, right, strict=True):  # without phantoms it is Hay's
        np.testing.assert_allclose(one, two, atol=1e-12)


def test_the_printed_equations_weigh_as_they_say():
    """Layer 1 of 3 with b = 2: (4 − 2)/(4 − 1) of its own count, (2 − 1)/(4 − 1) of the children's
    sum; layer 2 its own count alone."""
    rng = np.random.default_rng(0)
    tree = complete_tree(2, 3)
    counts = numbers(tree, rng)
    z1 = counts[1] * 2 / 3 + counts[2].reshape(2, 2).sum(axis=1) / 3
    n1 = z1 + (70 - z1.sum()) / 2
    n2 = counts[2] + ((n1 - counts[2].reshape(2, 2).sum(axis=1)) / 2).repeat(2)
    found = paper_phantom(tree, counts, 70)
    assert found[0].tolist() == [70]
    np.testing.assert_allclose(found[1], n1)
    np.testing.assert_allclose(found[2], n2)


def test_the_worked_example():
    found = gls(SMALL, COUNTS, [3, 3, 3])
    expected = [[101.0345], [49.7241, 51.3103], [21.2414, 16.2414, 12.2414, 27.6552, 23.6552]]
    assert [one.round(4).tolist() for one in found] == expected
    fixed = gls(SMALL, COUNTS, [0, 3, 3])
    expected = [[100.0], [49.1765, 50.8235], [21.0588, 16.0588, 12.0588, 27.4118, 23.4118]]
    assert [one.round(4).tolist() for one in fixed] == expected


def test_a_chain_stands_beside_the_tree_in_every_layer():
    """Five records outside, measured as 3 and 9 by two layers of equal noise, root exact."""
    chained = SMALL.with_chain()
    assert [one.tolist() for one in chained.parents] == [[0], [0, 0, 0], [0, 0, 0, 1, 1, 2]]
    counts = [[96.0], [40, 50, 3], [20, 15, 5, 30, 20, 9]]
    found = gls(chained, counts, [0, 1, 1])
    assert found[1].sum() == pytest.approx(96)
    assert found[2][5] == pytest.approx(found[1][2])
    np.testing.assert_allclose(
        np.concatenate(found), dense_gls(chained, counts, [[0.0], np.ones(3), np.ones(6)])
    )


# --- shares -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_shares_sum_to_those_of_their_parents(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    shares = downward(tree, numbers(tree, rng, (3,)))
    assert (shares[0] == 1).all()
    for depth in range(tree.depth):
        inner = tree.fan_outs[depth] > 0
        below = tree.sums(depth, shares[depth + 1])
        np.testing.assert_allclose(below[:, inner], shares[depth][:, inner], atol=1e-14)
    assert min(one.min() for one in shares) >= 0


def test_shares_of_an_upper_layer_do_not_depend_on_the_layers_below():
    low = [COUNTS[0], COUNTS[1], [-1.0, -1.0, -1.0, 1e9, 1e9]]
    for one, two in zip(downward(SMALL, COUNTS)[:2], downward(SMALL, low)[:2], strict=True):
        np.testing.assert_array_equal(one, two)


def test_nodes_without_positive_children_are_uniform_over_their_cells():
    nothing = [[0.0], [-3.0, 0.0], [-1.0, -2.0, -3.0, 0.0, -1.0]]
    np.testing.assert_allclose(downward(SMALL, nothing)[2], np.full(5, 0.2))
    sizes = [[12], [10, 2], [5, 4, 1, 1, 1]]
    np.testing.assert_allclose(downward(SMALL, nothing, sizes)[2], np.array([5, 4, 1, 1, 1]) / 12)
    some = [[0.0], [1.0, -1.0], [-1.0, -2.0, -3.0, 0.0, 1.0]]
    np.testing.assert_allclose(downward(SMALL, some)[2], np.array([1, 1, 1, 0, 0]) / 3)


# --- trees --------------------------------------------------------------------------------------


def test_what_is_no_tree_is_refused():
    for parents in (([0, 0],), ([0], [1]), ([0], [0, -1]), ([1],), ()):
        with pytest.raises(ValueError, match=r"parent|root"):
            Hierarchy(tuple(np.array(one, dtype=np.int64) for one in parents))


def test_a_lone_root_is_a_tree():
    root = Hierarchy((np.array([0]),))
    assert root.depth == 0
    assert gls(root, [[5.0]], [2])[0].tolist() == [5]
    assert hay(root, [[5.0]])[0].tolist() == [5]
    assert paper_phantom(root, [[5.0]], 4)[0].tolist() == [4]
    assert downward(root, [[5.0]])[0].tolist() == [1]


@pytest.mark.nightly
def test_a_million_leaves_take_well_under_a_second():
    """1.3 million leaves below 10,000 nodes: about 0.1 s; 2 s allows for a busy machine."""
    rng = np.random.default_rng(0)
    parents = (np.array([0]), np.zeros(10_000, np.int64), rng.integers(0, 10_000, 1_300_000))
    tree = Hierarchy(parents).with_chain()
    counts = numbers(tree, rng)
    start = time.perf_counter()
    downward(tree, gls(tree, counts, [0, 1, 1]))
    assert time.perf_counter() - start < 2
