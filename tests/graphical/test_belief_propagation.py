"""Calibration against the full table, on trees small enough to write it out."""

import itertools

import numpy as np
import pytest

from understudy.graphical.estimation import Redundancy
from understudy.graphical.factors import (
    FORBIDDEN,
    TreeLayout,
    calibrate,
    enforceable,
    exponentiate,
    find_excluded,
)
from understudy.graphical.junction_tree import JunctionTree


def expanded(array, columns, d):
    """An array over some columns (ascending) that broadcasts over all."""
    shape = [1] * d
    for size, j in zip(array.shape, columns, strict=True):
        shape[j] = size
    return array.reshape(shape)


def margin(table, columns):
    return table.sum(axis=tuple(j for j in range(table.ndim) if j not in columns))


def random_model(seed, *, scale=2.0, most=5, columns=8, boxes=0):
    """A layout, potentials by table, boxes, and the full table of log-weights."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, columns))
    sizes = tuple(rng.integers(1, most, d).tolist())
    pool = [one for k in range(4) for one in itertools.combinations(range(d), k)]
    tables = sorted({pool[k] for k in rng.integers(0, len(pool), rng.integers(1, 9))})
    rules = [
        {
            int(j): frozenset(rng.choice(sizes[j], rng.integers(1, sizes[j] + 1)).tolist())
            for j in rng.choice(d, min(d, 2), replace=False)
        }
        for _ in range(boxes)
    ]
    covered, kept, left = enforceable(sizes, tables, rules, 1e6)
    assert not left
    layout = TreeLayout(JunctionTree.of(sizes, covered), tables)
    theta = {one: rng.normal(0, scale, [sizes[j] for j in one]) for one in tables}
    logs = np.zeros(sizes)
    for one, array in theta.items():
        logs = logs + expanded(array, one, d)
    for rule in rules:
        logs[np.ix_(*[sorted(rule.get(j, range(sizes[j]))) for j in range(d)])] = -np.inf
    return layout, theta, kept, logs


def calibrated(layout, theta, rules=()):
    cells = layout.cells()
    parts = [layout.flatten(theta[one], one) for one in layout.tables]
    cells.cliques[:] = np.nan
    cells.nodes[layout.measured] = np.concatenate([*parts, np.zeros(0)])
    constant = calibrate(layout.calibration, find_excluded(layout, rules), cells)
    return constant, cells.cliques, cells.nodes[layout.measured]


def assert_calibrated(layout, theta, rules, logs):
    largest = logs.max()
    weights = np.exp(logs - largest)
    expected = weights / weights.sum()
    constant, cliques, measured = calibrated(layout, theta, rules)
    assert constant == pytest.approx(largest + np.log(weights.sum()), rel=1e-12, abs=1e-9)
    for k, one in enumerate(layout.tree.cliques):
        flat = cliques[layout.clique_starts[k] : layout.clique_starts[k + 1]]
        found = layout.read(flat, one, one)
        np.testing.assert_allclose(found, margin(expected, one), rtol=1e-9, atol=1e-15)
        assert ((found == 0) | (margin(expected, one) > 0)).all()
    ends = np.cumsum([layout.tree.cells_of(one) for one in layout.tables])
    for one, part in zip(layout.tables, np.split(measured, ends[:-1]), strict=True):
        found = layout.read(part, one, one)
        np.testing.assert_allclose(found, margin(expected, one), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.nightly(every=4)
def test_all_marginals_are_those_of_the_full_table(seed):
    assert_calibrated(*random_model(seed))


@pytest.mark.parametrize("seed", range(10))
def test_tables_are_read_by_way_of_aids_where_cliques_are_large(seed):
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(2, 4, 9).tolist())
    tables = [*itertools.combinations(range(9), 2)]
    layout = TreeLayout(JunctionTree.of(sizes, tables), tables)
    assert layout.measured.start > len(layout.tree.cliques)
    theta = {one: rng.normal(0, 1, [sizes[j] for j in one]) for one in tables}
    logs = sum(expanded(array, one, 9) for one, array in theta.items())
    assert_calibrated(layout, theta, (), logs)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.nightly(every=4)
def test_forbidden_cells_have_exactly_no_probability(seed):
    layout, theta, rules, logs = random_model(seed, boxes=2)
    if np.isfinite(logs).any():
        assert_calibrated(layout, theta, rules, logs)
    else:
        assert calibrated(layout, theta, rules)[0] < FORBIDDEN / 2


@pytest.mark.parametrize("seed", range(20))
def test_huge_potentials_neither_overflow_nor_lose_a_conditional(seed):
    layout, theta, rules, logs = random_model(seed, scale=300.0)
    assert_calibrated(layout, theta, rules, logs)


def test_cliques_that_contradict_each_other_keep_their_conditionals():
    """Each clique finds the other's likely states e⁻¹⁰⁰⁰ less likely than its own."""
    layout = TreeLayout(JunctionTree.of((2, 2, 3), [(0, 1), (1, 2)]), [(0, 1), (1, 2)])
    theta = {
        (0, 1): np.array([[1000.0, 0.0], [1000.0, 1.0]]),
        (1, 2): np.array([[0.0, 0.0, 0.0], [1500.0, 1501.0, 1502.0]]),
    }
    _, _, measured = calibrated(layout, theta)
    e = np.e
    np.testing.assert_allclose(measured[:4].reshape(2, 2)[:, 1], [1 / (1 + e), e / (1 + e)])


def test_the_exponential_is_that_of_the_library():
    x = np.append(-np.random.default_rng(0).exponential(60, 100_001), [0.0, -1e-300, -345, -1e300])
    found = x.copy()
    scale = np.empty(512)
    exponentiate(found, scale, scale.view(np.int64))
    np.testing.assert_allclose(found, np.where(x > -345, np.exp(x), 0), rtol=5e-16)
    assert (found[x <= -345] == 0).all()


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.nightly(every=4)
def test_redundant_changes_leave_the_distribution_as_it_is(seed):
    layout, _, _, _ = random_model(seed)
    rng = np.random.default_rng(seed)
    n = sum(layout.tree.cells_of(one) for one in layout.tables)
    redundancy = Redundancy(layout, rng.uniform(0.5, 5, len(layout.tables)).tolist())
    x, y = rng.normal(0, 1, (2, n))
    part = redundancy.extract_redundant(x)
    ends = np.cumsum([layout.tree.cells_of(one) for one in layout.tables])
    total = np.zeros(layout.tree.sizes)
    for one, flat in zip(layout.tables, np.split(part, ends[:-1]), strict=True):
        total = total + expanded(layout.read(flat, one, one), one, len(layout.tree.sizes))
    np.testing.assert_allclose(total, 0, atol=1e-12)
    np.testing.assert_allclose(redundancy.extract_redundant(part), part, atol=1e-12)
    assert y @ part == pytest.approx(redundancy.apply_transpose(y) @ x, abs=1e-10)


def test_all_redundant_changes_are_found():
    """The rank of the projection is the dimension of the potentials less that of distributions."""
    tables = [(0,), (0, 1), (1, 2), (0, 1, 2), (3,)]
    sizes = (2, 3, 2, 2)
    layout = TreeLayout(JunctionTree.of(sizes, tables), tables)
    eye = np.eye(sum(layout.tree.cells_of(one) for one in tables))
    redundancy = Redundancy(layout, [1.0] * len(tables))
    rank = np.linalg.matrix_rank(np.array([redundancy.extract_redundant(row) for row in eye]))
    columns = []
    for one in tables:
        for row in np.eye(layout.tree.cells_of(one)):
            array = layout.read(row, one, one)
            columns.append((expanded(array, one, 4) + np.zeros(sizes)).ravel())
    assert rank == len(eye) - np.linalg.matrix_rank(np.array(columns))


def test_a_table_outside_all_cliques_is_refused():
    with pytest.raises(ValueError, match="within a clique"):
        TreeLayout(JunctionTree.of((2, 2), []), [(0, 1)]).calibration  # noqa: B018
