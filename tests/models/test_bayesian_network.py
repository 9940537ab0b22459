"""Bayesian networks: conditionals from noisy tables, and records drawn from them."""

import time
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.dp.released import NO_NOISE, NoisyTable
from understudy.models.bayesian_network import (
    BayesianNetwork,
    Conditional,
    conditionals,
    find_kept_columns,
)
from understudy.schema import Domain, Schema

# A correct sampler fails one chi-square test with probability 1e-6; seeds are fixed.
LEVEL = 1e-6


def schema_of(sizes, rules=""):
    columns = [
        f'[columns.{name}]\nkind = "categorical"\nlevels = {[str(k) for k in range(size)]}\n'
        "reviewed = true\n"
        for name, size in sizes.items()
    ]
    return Schema.loads("\n".join([*columns, rules]))


def rule(where):
    return f'[[forbidden]]\nwhere = {where}\nreviewed = true\nsource = "law"\n'


def table(names, counts):
    return NoisyTable(tuple(names), np.array(counts), 0, NO_NOISE)


def shares_of(tables, edge, sizes):
    domain = Domain(tuple(sizes.values()))
    return conditionals(tables, [edge], domain, tuple(sizes))[0].shares


SIZES = {"a": 2, "b": 3, "c": 2}


def test_a_conditional_is_the_table_with_negative_counts_at_zero_and_rows_scaled():
    counts = [[3.0, -1.0, 1.0], [0.0, 2.0, 0.0]]
    found = shares_of([table("ab", counts)], ("b", ("a",)), SIZES)
    assert found.tolist() == [[0.75, 0, 0.25], [0, 1, 0]]


def test_the_order_of_axes_and_of_parents_does_not_matter():
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 9, (2, 3, 2))
    one = shares_of([table("cba", counts)], ("b", ("a", "c")), SIZES)
    for a, c in product(range(2), range(2)):
        expected = counts[c, :, a] / counts[c, :, a].sum()
        assert one[2 * a + c] == pytest.approx(expected)
    other = shares_of([table("abc", counts.transpose(2, 1, 0))], ("b", ("a", "c")), SIZES)
    assert other.tolist() == one.tolist()


def test_a_smaller_distribution_is_summed_from_a_larger_table_after_clipping():
    """The sum before clipping would be 1 and 3."""
    counts = np.array([[2, -1], [1, 2]])
    assert shares_of([table("ac", counts)], ("a", ()), SIZES).tolist() == [[2 / 5, 3 / 5]]


def test_of_several_tables_the_smallest_that_covers_is_taken():
    small, large = table("a", [1, 3]), table("ab", [[5, 0, 0], [5, 0, 0]])
    assert shares_of([large, small], ("a", ()), SIZES).tolist() == [[0.25, 0.75]]
    with pytest.raises(ValueError, match="no table covers"):
        shares_of([large, small], ("c", ()), SIZES)


def test_parents_without_a_positive_count_leave_the_margin_and_then_a_uniform_one():
    counts = [[3, 1, 0], [0, -2, 0]]
    assert shares_of([table("ab", counts)], ("b", ("a",)), SIZES)[1].tolist() == [0.75, 0.25, 0]
    nothing = shares_of([table("ab", np.full((2, 3), -1))], ("b", ("a",)), SIZES)
    assert nothing == pytest.approx(np.full((2, 3), 1 / 3))


def test_the_margin_keeps_to_the_states_that_are_allowed_with_the_parents():
    domain = Domain((2, 3), ({0: frozenset({1}), 1: frozenset({0})},))
    one = table("ab", [[3, 1, 0], [0, 0, 0]])
    (found,) = conditionals([one], [("b", ("a",))], domain, "ab")
    assert found.shares.tolist() == [[0.75, 0.25, 0], [0, 1, 0]]
    one = table("ab", [[3, 0, 0], [0, 0, 0]])
    (found,) = conditionals([one], [("b", ("a",))], domain, "ab")
    assert found.shares.tolist() == [[1, 0, 0], [0, 0.5, 0.5]]


def distribution(model):
    """Probability of every cell: the product of the conditionals."""
    sizes = model.domain.sizes
    result = np.ones(sizes)
    for cell in np.ndindex(*sizes):
        for one in model.conditionals:
            row = 0
            for j in one.parents:
                row = row * sizes[j] + cell[j]
            result[cell] *= one.shares[row, cell[one.column]]
    return result


def counted(model, n, seed):
    states = model.sample(n, np.random.default_rng(seed)).states
    return np.bincount(
        np.ravel_multi_index(states, model.domain.sizes), minlength=model.domain.n_cells
    ).reshape(model.domain.sizes)


def random_network(sizes, seed, boxes=()):
    """The columns in reverse, each with up to two of those before it as parents."""
    rng = np.random.default_rng(seed)
    order = list(range(len(sizes)))[::-1]
    found = []
    for i, j in enumerate(order):
        parents = tuple(rng.permutation(order[:i])[:2].tolist())
        combinations = int(np.prod([sizes[k] for k in parents], dtype=np.int64))
        shares = rng.dirichlet(np.ones(sizes[j]), size=combinations)
        shares[rng.random(shares.shape) < 0.2] = 0
        shares[:, 0] += shares.sum(axis=1) == 0
        found.append(Conditional(j, parents, shares / shares.sum(axis=1, keepdims=True)))
    return BayesianNetwork(Domain(tuple(sizes), tuple(boxes)), tuple(found))


@pytest.mark.parametrize("sizes", [(2, 3, 2), (1, 4), (3, 2, 2, 2), (5,)])
@pytest.mark.parametrize("seed", [1, 2])
def test_records_follow_the_product_of_the_conditionals(sizes, seed):
    model = random_network(sizes, seed)
    expected = 40_000 * distribution(model)
    found = counted(model, 40_000, seed)
    alive = expected > 0
    assert found[~alive].sum() == 0
    if alive.sum() > 1:
        assert chisquare(found[alive], expected[alive]).pvalue > LEVEL


def test_the_same_test_rejects_a_share_that_is_wrong_by_ten_percent():
    model = random_network((2, 3, 2), 1)
    wrong = 40_000 * distribution(random_network((2, 3, 2), 1)).reshape(-1)
    first, second = np.argsort(wrong)[-2:]
    wrong[first], wrong[second] = wrong[first] * 0.9, wrong[second] + wrong[first] * 0.1
    alive = wrong > 0
    assert chisquare(counted(model, 40_000, 1).reshape(-1)[alive], wrong[alive]).pvalue < LEVEL


def test_impossible_records_are_drawn_again_which_conditions_on_the_rules():
    boxes = [{0: frozenset({0}), 2: frozenset({1})}, {1: frozenset({2}), 2: frozenset({0})}]
    model = random_network((2, 3, 2), 3, boxes)
    expected = np.where(model.domain.allowed_mask(), distribution(model), 0).reshape(-1)
    expected *= 40_000 / expected.sum()
    found = counted(model, 40_000, 5).reshape(-1)
    alive = expected > 0
    assert found[~alive].sum() == 0
    assert chisquare(found[alive], expected[alive]).pvalue > LEVEL


def test_a_network_that_knows_only_impossible_records_is_uniform_over_the_others():
    domain = Domain((2, 3), ({0: frozenset({1})},))
    only = Conditional(0, (), np.array([[0.0, 1.0]]))
    other = Conditional(1, (), np.array([[0.2, 0.3, 0.5]]))
    found = counted(BayesianNetwork(domain, (only, other)), 30_000, 1)
    assert found[1].sum() == 0
    assert chisquare(found[0]).pvalue > LEVEL


def test_a_network_fitted_to_one_full_table_draws_from_that_table():
    counts = np.array([[5, 0, 1], [2, 7, -1]])
    schema = schema_of({"a": 2, "b": 3})
    model = BayesianNetwork.of_tables(schema, (("a", ()), ("b", ("a",))), [table("ab", counts)])
    assert distribution(model) == pytest.approx(np.maximum(counts, 0) / 15)


def test_a_structural_zero_inside_a_table_never_occurs():
    schema = schema_of({"a": 2, "b": 3}, rule('{a = "1", b = ["0", "1"]}'))
    counts = np.array([[1, -1, -1], [0, 0, -2]])
    model = BayesianNetwork.of_tables(schema, (("b", ()), ("a", ("b",))), [table("ab", counts)])
    assert distribution(model)[1, :2].sum() == 0
    assert counted(model, 1000, 1)[1, :2].sum() == 0


def law_without_noise(edges, truth, names):
    """The law of a network whose tables are the true margins."""
    tables = []
    for column, parents in edges:
        used = sorted((column, *parents), key=names.index)
        others = tuple(k for k, name in enumerate(names) if name not in used)
        tables.append(table(used, truth.sum(axis=others)))
    domain = Domain(truth.shape)
    return distribution(BayesianNetwork(domain, conditionals(tables, edges, domain, names)))


@pytest.mark.parametrize("seed", range(12))
def test_families_are_kept_or_not_as_said_where_nothing_is_special_about_the_truth(seed):
    rng = np.random.default_rng(seed)
    names = "abcde"
    truth = rng.dirichlet(np.full(48, 0.5)).reshape(2, 3, 2, 2, 2)
    order = rng.permutation(list(names)).tolist()
    edges = [
        (name, tuple(rng.permutation(order[:i])[: rng.integers(0, 3)].tolist()))
        for i, name in enumerate(order)
    ]
    drawn = law_without_noise(edges, truth, names)
    for column, parents in edges:
        family = frozenset((column, *parents))
        others = tuple(k for k, name in enumerate(names) if name not in family)
        error = np.abs(drawn.sum(axis=others) - truth.sum(axis=others)).max()
        if any(family <= one for one in find_kept_columns(edges)):
            assert error < 1e-12
        else:
            assert error > 1e-6


@pytest.mark.parametrize(
    "edges",
    [
        (("a", ()),),
        (("a", ("b",)), ("b", ())),
        (("a", ()), ("b", ("a", "a"))),
        (("a", ()), ("b", ()), ("a", ())),
        (("a", ()), ("b", ("b",))),
    ],
)
def test_what_is_no_network_is_refused(edges):
    full = table("ab", np.ones((2, 2)))
    with pytest.raises(ValueError, match="network"):
        BayesianNetwork.of_tables(schema_of({"a": 2, "b": 2}), edges, [full])


def test_no_records_and_a_seed():
    model = random_network((2, 3, 2), 1)
    assert [len(one) for one in model.sample(0, np.random.default_rng(1)).states] == [0, 0, 0]
    one, two = (model.sample(50_000, np.random.default_rng(4)).states for _ in range(2))
    assert all((a == b).all() for a, b in zip(one, two, strict=True))


def test_many_records_take_no_more_than_moments():
    """Some 0.1 s where it was written; twenty times that would mean a slow path was taken."""
    model = random_network((6,) * 10, 1)
    model.sample(10, np.random.default_rng(1))
    start = time.perf_counter()
    model.sample(200_000, np.random.default_rng(1))
    assert time.perf_counter() - start < 2
