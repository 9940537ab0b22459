"""Layers of a tree: counts, noise on every node, neighbours, and leaves that are never written."""

from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from night import NIGHT
from understudy.data.base import ExactCells
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import NoisyNodes, NoisyTable
from understudy.errors import InsufficientBudgetError, MethodError
from understudy.papers.hierarchy_mechanisms import (
    HierarchyLayers,
    LazyLeaves,
    LeafRecords,
    noisy_leaves,
    records_below,
)
from understudy.schema import Domain, Partition, Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

COLUMNS = """
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
[columns.b]
kind = "categorical"
levels = ["r", "s", "t"]
reviewed = true
[columns.c]
kind = "boolean"
reviewed = true
[[forbidden]]
where = { a = "y", b = ["s", "t"] }
reviewed = true
"""
SCHEMA = Schema.loads(f'rows = "private"\n{COLUMNS}')
LEVELS = (["x", "y", "?"], ["r", "s", "t"], [False, True])
FITTING = [(0, b, c) for b in range(3) for c in range(2)] + [(1, 0, c) for c in range(2)]
OUTSIDE = [(2, 0, 0), (1, 1, 0)]
TREE = Partition(SCHEMA.domain).divide([(0,)]).divide([(1,), (2,)])
HUGE = 10**5


@cache
def engine(rows):
    labels = [tuple(levels[k] for levels, k in zip(LEVELS, row, strict=True)) for row in rows]
    types = {"a": pl.String, "b": pl.String, "c": pl.Boolean}
    return Table(pl.DataFrame(labels, schema=types, orient="row"), SCHEMA)


def door(rows, epsilon="1", seed=1):
    return open_gate(engine(tuple(rows)), Budget.of(epsilon, 0), SeededRandomness(seed))


def exact_layers(rows):
    """The counts of both layers and the records out of domain: next to no noise at a huge ε."""
    first, second = door(rows, HUGE).ask(
        HierarchyLayers(TREE, [1, 2], noise="geometric"), spend=F(HUGE)
    )
    assert first.value.outside == second.value.outside
    counts = first.value.counts.tolist(), second.value.counts.tolist()
    return [*counts[0]], [*counts[1]], first.value.outside


def test_layers_count_the_records_that_fit_the_schema():
    rows = [(0, 0, 0), (0, 0, 1), (0, 2, 1), (1, 0, 1), *OUTSIDE]
    # Layer 2: below x by b (r, s, t), below y by c (false, true).
    assert exact_layers(rows) == ([3, 1], [2, 0, 1, 0, 1], 2)


def test_a_layer_divided_alike_is_a_table_and_any_other_is_nodes():
    first, second = door([(0, 0, 0)], HUGE).ask(
        HierarchyLayers(TREE, [1, 2], noise="geometric"), spend=F(1)
    )
    assert isinstance(first.value, NoisyTable)
    assert (first.value.columns, first.value.noise) == (("a",), first.noise)
    assert isinstance(second.value, NoisyNodes)
    assert second.value.columns == ("a", "b", "c")
    assert second.value.states.tolist() == [
        [0, 0, -1],
        [0, 1, -1],
        [0, 2, -1],
        [1, -1, 0],
        [1, -1, 1],
    ]
    assert second.value.summed.tolist() == [1] * 5


def test_a_table_has_its_columns_in_the_order_of_the_layers_and_no_noise_in_forbidden_cells():
    tree = Partition(SCHEMA.domain).divide([(1,)]).divide([(0,)] * 3)
    gate = door([(0, 2, 1)] * 5, seed=2)
    (released,) = gate.ask(HierarchyLayers(tree, [2], noise="geometric"), spend=F(1, 2))
    assert released.value.columns == ("b", "a")
    assert released.value.counts.shape == (3, 2)
    assert released.value.counts[1:, 1].tolist() == [0, 0]
    assert gate.ledger[0].query == "counts by b × a"
    assert gate.ledger[0].cells == 5  # four allowed cells and the records out of domain


def test_a_layer_changes_by_one_or_two_between_all_neighbours():
    @cache
    def flat(rows):
        first, second, outside = exact_layers(rows)
        return np.array([*first, outside]), np.array([*second, outside])

    records = [FITTING[0], FITTING[3], FITTING[-1], *OUTSIDE]
    largest = {"add": 0, "replace": 0}
    for n in range(3):
        for rows in combinations_with_replacement(records, n):
            before = flat(rows)
            for record in records:
                for kind, other in (("add", (*rows, record)), ("replace", (*rows[1:], record))):
                    if kind == "replace" and not rows:
                        continue
                    ordered = tuple(sorted(other, key=records.index))
                    for one, two in zip(before, flat(ordered), strict=True):
                        largest[kind] = max(largest[kind], int(np.abs(one - two).sum()))
    assert largest == {"add": 1, "replace": 2}


def test_empty_nodes_get_noise_like_others_and_the_right_amount():
    """Standard deviation of 2,000 counts of nodes without records, ±10 % (false alarms < 10⁻⁴)."""
    noise = []
    for seed in range(30):
        gate = door([], epsilon=10, seed=seed)
        for _ in range(10):
            layers = gate.ask(HierarchyLayers(TREE, [1, 2], noise="geometric"), spend=F(1))
            noise.append([*layers[0].value.counts, *layers[1].value.counts])
    scale = DiscreteLaplace(F(2)).stddev
    assert layers[0].noise.stddev == pytest.approx(scale)
    assert np.std(noise) == pytest.approx(scale, rel=0.1)
    assert np.std(noise) != pytest.approx(1.3 * scale, rel=0.1)
    assert np.std(noise) != pytest.approx(0.7 * scale, rel=0.1)


def test_weights_divide_the_cost_and_an_overdraft_asks_nothing():
    gate = door([(0, 0, 0)])
    gate.ask(HierarchyLayers(TREE, [1, 2], noise="laplace", weights=[1, 4]), spend=F(1, 2))
    assert [entry.spent for entry in gate.ledger] == [F(1, 10), F(2, 5)]
    with pytest.raises(InsufficientBudgetError):
        gate.ask(HierarchyLayers(TREE, [1], noise="geometric"), spend=F(1))
    with pytest.raises(InsufficientBudgetError):
        gate.ask(LazyLeaves(TREE, noise="geometric"), spend=F(1))


# --- leaves that are never written out ----------------------------------------------------------

DOMAIN = Domain((2, 3, 2), ({0: frozenset({1}), 1: frozenset({2})},))
LEAF_TREE = Partition(DOMAIN).divide([(0,)])
EXACT = ExactCells(np.array([0, 3, 6]), np.array([4, 1, 2]), outside=3)
CELLS = np.flatnonzero(DOMAIN.allowed_mask().ravel())
LAW = DiscreteLaplace(F(3, 2))
WEIGHTS = np.array([1.0, 3.0])


def dense_runs(rng, n_rows, runs):
    """The same by writing all leaves out: sums, and records by weights and positive parts."""
    counts = np.zeros(12)
    counts[EXACT.codes] = EXACT.counts
    q = np.exp(-1 / 1.5)
    noisy = counts + rng.geometric(1 - q, (runs, 12)) - rng.geometric(1 - q, (runs, 12))
    own = (np.repeat([0, 1], 6) == [[0], [1]]) & np.isin(np.arange(12), CELLS)
    mass = np.where(own, np.maximum(noisy, 0)[:, None], 0)  # by run, node, and leaf
    mass = np.where(mass.sum(axis=2, keepdims=True) > 0, mass, own)
    nodes = rng.choice(2, (runs, n_rows), p=WEIGHTS / 4)
    reached = mass[np.arange(runs)[:, None], nodes].cumsum(axis=2)
    drawn = rng.random((runs, n_rows, 1)) * reached[..., -1:]
    records = (reached <= drawn).sum(axis=2)
    return [*zip((noisy @ own.T).tolist(), records.tolist(), strict=True)]


def lazy_run(randomness, n_rows):
    leaves, sums = noisy_leaves(EXACT, ("a", "b", "c"), LEAF_TREE, LAW, randomness)
    drawn = records_below(leaves, WEIGHTS, n_rows, randomness).columns
    return sums.counts.tolist(), np.ravel_multi_index(drawn, DOMAIN.sizes).tolist()


def test_lazy_leaves_have_the_law_of_dense_ones():
    """Sums (each, and their product), single records, and pairs of records: false alarms 1 in 500
    in each of five tests of 2,400 dense runs and 800 lazy ones; by night of thrice as many."""
    times = 3 if NIGHT else 1
    rng, randomness = np.random.default_rng(7), SeededRandomness(8)
    dense = dense_runs(rng, 2, 2400 * times)
    lazy = [lazy_run(randomness, 2) for _ in range(800 * times)]
    for k in (0, 1):
        one, other = [r[0][k] for r in dense], [r[0][k] for r in lazy]
        assert stats.ks_2samp(one, other).pvalue > 0.002
    # Whether the sum of a node is large goes together with what falls below it.
    groups = [
        [(r[0][1] > 3, r[1][0]) for r in dense],
        [(r[0][1] > 3, r[1][0]) for r in lazy],
    ]
    assert same_law(*groups) > 0.002
    assert same_law([r[1][0] for r in dense], [r[1][0] for r in lazy]) > 0.002
    pairs = [
        [(r[1][0] == r[1][1], r[1][0] // 6, r[1][1] // 6) for r in runs] for runs in (dense, lazy)
    ]
    assert same_law(*pairs) > 0.002
    # Power: leaves with noise of another scale are told apart by their sums.
    wrong = [
        noisy_leaves(EXACT, ("a", "b", "c"), LEAF_TREE, DiscreteLaplace(F(2)), randomness)[1]
        for _ in range(1200 * times)
    ]
    sums = [one.counts[0] for one in wrong]
    assert stats.ks_2samp([r[0][0] for r in dense], sums).pvalue < 0.002


def same_law(one, other):
    """P-value of a χ² test that two samples of labels have one law."""
    labels = sorted(set(one) | set(other))
    counts = np.array([[sample.count(label) for label in labels] for sample in (one, other)])
    common = counts.sum(axis=0) >= 10
    return stats.chi2_contingency(counts[:, common]).pvalue


def test_nothing_falls_on_a_forbidden_leaf_and_weights_decide_the_node():
    randomness = SeededRandomness(1)
    leaves, sums = noisy_leaves(EXACT, ("a", "b", "c"), LEAF_TREE, LAW, randomness)
    assert sums.summed.tolist() == [6, 4]
    drawn = records_below(leaves, np.array([0.0, 1.0]), 500, randomness).columns
    assert (drawn[0] == 1).all()
    assert not DOMAIN.find_forbidden(drawn).any()


def test_without_weights_nodes_weigh_as_many_cells_as_they_have():
    """Share of the first node 6/10, ±5 standard errors."""
    randomness = SeededRandomness(1)
    empty = ExactCells(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), outside=0)
    found = []
    for _ in range(200):
        leaves, _ = noisy_leaves(empty, ("a", "b", "c"), LEAF_TREE, LAW, randomness)
        found.append(records_below(leaves, np.zeros(2), 10, randomness).columns[0])
    assert np.mean(np.concatenate(found) == 0) == pytest.approx(0.6, abs=5 * 0.011)


def test_leaves_are_drawn_from_once_and_cost_nothing_more():
    gate = door([(0, 0, 0)] * 4)
    leaves = gate.ask(LazyLeaves(TREE, noise="geometric"), spend=F(1, 2))
    assert leaves.value.below == SCHEMA.names
    assert len(leaves.value.counts) == 5
    assert gate.ledger[0].cells == 9  # eight allowed cells and the records out of domain
    records = gate.ask(LeafRecords(leaves, np.ones(5), n_rows=20))
    assert gate.remaining == F(1, 2)
    assert all(len(column) == 20 for column in records.value.columns)
    with pytest.raises(MethodError, match="once"):
        gate.ask(LeafRecords(leaves, np.ones(5), n_rows=20))


def test_a_table_of_2_to_the_60_cells_is_sampled():
    names = [f"c{k}" for k in range(60)]
    text = "".join(f'[columns.{name}]\nkind = "boolean"\nreviewed = true\n' for name in names)
    schema = Schema.loads(f'rows = "private"\n{text}')
    frame = pl.DataFrame({name: [True, False, True] for name in names})
    gate = open_gate(Table(frame, schema), Budget.of("1000", 0), SeededRandomness(1))
    tree = Partition(schema.domain).divide([(3,)])
    with pytest.raises(MethodError, match="too many"):
        gate.ask(LazyLeaves(tree, noise="geometric"), spend=F(1, 2))
    leaves = gate.ask(LazyLeaves(tree, noise="geometric"), spend=F(500))
    drawn = gate.ask(LeafRecords(leaves, np.array([0.0, 1.0]), n_rows=50)).value.columns
    assert set(np.concatenate(drawn).tolist()) == {1}


def test_every_record_of_a_fitting_cell_is_counted_once_per_layer():
    for record in product(range(2), range(3), range(2)):
        first, second, outside = exact_layers([record])
        fits = record in FITTING
        assert (sum(first), sum(second), outside) == (fits, fits, not fits)
