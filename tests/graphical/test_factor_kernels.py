"""Programs on tables: each kind of step against numpy."""

import numpy as np
import pytest

from understudy.graphical import factors as kernels
from understudy.graphical.factors import Recipe, TreeLayout
from understudy.graphical.junction_tree import JunctionTree


def ran(recipe, *arrays):
    """The arrays after a program that finds them one after the other in memory."""
    memory = np.concatenate([array.reshape(-1) for array in arrays])
    recipe.program().run(memory)
    ends = np.cumsum([array.size for array in arrays])
    pairs = zip(np.split(memory, ends[:-1]), arrays, strict=True)
    return [part.reshape(array.shape) for part, array in pairs]


JOINED = {
    kernels.ADD: lambda large, small, _: (large + small, small),
    kernels.MULTIPLY: lambda large, small, _: (large * small, small),
    kernels.SUM: lambda large, _, axes: (large, large.sum(axis=axes, keepdims=True)),
    kernels.LARGEST: lambda large, _, axes: (large, large.max(axis=axes, keepdims=True)),
}


@pytest.mark.parametrize("kind", JOINED)
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.nightly(every=6)
def test_tables_are_joined_along_the_axes_of_the_smaller(kind, seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    sizes = tuple(rng.integers(1, 5, d).tolist())
    layout = TreeLayout(JunctionTree.of(sizes, [tuple(range(d))]), [])
    kept = tuple(np.flatnonzero(rng.random(d) < 0.5).tolist())
    order = layout.order_columns(range(d))
    large = rng.normal(size=layout.shape(order))
    small = rng.normal(size=[sizes[j] if j in kept else 1 for j in order])
    recipe = Recipe()
    spans = (0, large.size), (large.size, large.size + small.size)
    for _ in range(2):  # the counters are at zero again after the first
        recipe.join(kind, *spans, layout.steps(tuple(range(d)), kept))
    axes = tuple(k for k, j in enumerate(order) if j not in kept)
    expected = JOINED[kind](*JOINED[kind](large, small, axes), axes)
    for found, wanted in zip(ran(recipe, large, small), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


X, Y = np.array([-1e300, -2.0, 3.0, 0.0, 1e-200]), np.array([1.0, 0.0, 4.0, -1.0, 2.0])


@pytest.mark.parametrize(
    ("kind", "x", "y"),
    [
        (kernels.EXPONENTIATE, np.array([0, np.exp(-2), np.exp(-3), 1, 1]), Y),
        (kernels.NEGATE, X, np.array([0.0, 2.0, -3.0, 0.0, -1e-200])),
        (
            kernels.ADD_LOG,
            np.array([-1e300, kernels.FORBIDDEN, 3 + np.log(4), kernels.FORBIDDEN, np.log(2)]),
            Y,
        ),
        (kernels.DIVIDE, X, np.array([0.0, 0.0, 0.75, 0.0, 0.0])),
        (kernels.SCALE, X / -2.5, Y),
        (kernels.MOVE, X, Y - 2.5 * X),
    ],
)
def test_tables_are_changed_cell_by_cell(kind, x, y):
    recipe, n = Recipe(), len(X)
    recipe.change(kind, (0, n), (n, 2 * n), -2.5)
    start = -np.abs(X) if kind == kernels.EXPONENTIATE else X
    found = ran(recipe, start, Y)
    np.testing.assert_allclose(found[0], x, rtol=1e-14)
    np.testing.assert_allclose(found[1], y, rtol=1e-14)


def test_an_empty_program_leaves_memory_alone():
    assert ran(Recipe(), X)[0].tolist() == X.tolist()
