"""Declared trees: branches of unequal length, what is counted of them, and what makes no tree."""

import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import MethodError
from understudy.models.spine import Hierarchy, gls
from understudy.papers.hierarchical_tree import MOST_NODES, in_branches, in_order, require_nodes

SIZES = {"x1": 2, "x2": 3, "x3": 2, "x4": 3}
FIGURE_1 = ["x1", "x1=0: x2", "x1=0 & x2=2: x4", "x1=1: x4", "x1=1 & x4=2: x2"]
"""The tree of figure 1 of the paper, as its decomposition names it: below x1 = 1 the branch x2 = 1
ends, x2 = K₂ is divided by x4; below x1 = K₁ the branch x4 = 1 ends, x4 = K₄ is divided by x2."""


def schema(n=None, sizes=SIZES, rules=""):
    head = "row_limit = 5000" if n is None else f'rows = "public"\nn_rows = {n}'
    columns = (
        f'[columns."{name}"]\nkind = "categorical"\nlevels = {[str(k) for k in range(size)]}\n'
        'source = "codebook"\nreviewed = true\n'
        for name, size in sizes.items()
    )
    return us.Schema.loads("\n".join([head, *columns, rules]))


def nodes(tree, depth):
    return tree.layers[depth].states.tolist()


def test_the_tree_of_figure_1():
    found = in_branches(schema(), FIGURE_1)
    assert found.tree.depth == found.published_layers == 3
    assert nodes(found.tree, 1) == [[0, -1, -1, -1], [1, -1, -1, -1]]
    assert nodes(found.tree, 2) == [
        *([0, k, -1, -1] for k in range(3)),
        *([1, -1, -1, k] for k in range(3)),
    ]
    ended = [[0, 0, -1, -1], [0, 1, -1, -1]], [[1, -1, -1, 0], [1, -1, -1, 1]]
    assert nodes(found.tree, 3) == [
        *ended[0],
        *([0, 2, -1, k] for k in range(3)),
        *ended[1],
        *([1, k, -1, 2] for k in range(3)),
    ]


@pytest.mark.parametrize(
    ("order", "branches", "named"),
    [
        (["x1"], ["x1"], 1),
        (["x2", "x1"], ["x2", "x1"], 2),
        (["x2", "x1+x3"], ["x2", "x1+x3"], 2),
        (["x2", "x1+x3", "x4"], ["x2", "x1+x3", "x4"], 3),
    ],
)
def test_entries_without_conditions_are_an_order(order, branches, named):
    one, other = in_order(schema(), order, None), in_branches(schema(), branches)
    assert one == other
    assert one.published_layers == named


def test_entries_divide_all_ends_that_fit_as_they_come():
    tree = in_branches(schema(), ["x1", "x2", "x2=1: x3"]).tree
    divided = [row for row in nodes(tree, 3) if row[2] >= 0]
    assert len(divided) == 4
    assert {row[1] for row in divided} == {1}


def test_names_and_values_with_signs_are_found():
    sizes = {"a: b": 2, "c+d": 2, "e": 2}
    tree = in_branches(schema(sizes=sizes), ["a: b", "c+d"]).tree
    assert tree.splits == (((0,),), ((1,), (1,)))


def test_a_forbidden_branch_does_not_exist():
    rule = '[[forbidden]]\nwhere = { x1 = "1", x2 = ["1", "2"] }\nsource = "law"\nreviewed = true'
    tree = in_branches(schema(rules=rule), ["x1", "x1=1: x2"]).tree
    assert nodes(tree, 2) == [[0, -1, -1, -1], [1, 0, -1, -1]]


@pytest.mark.parametrize(
    ("branches", "said"),
    [
        (["x9"], "no column"),
        (["x1", "x9=0: x2"], "no column"),
        (["x1", "x1=7: x2"], "the value '7'"),
        (["x1", "x1: x2"], "the value ''"),
        (["x1=0: x2"], "fits no end"),
        (["x1", "x1=0: x2", "x1=0 & x2=0 & x3=1: x4"], "fits no end"),
        (["x1", "x1=0: x1"], "divides by one twice"),
        (["x1+x1"], "names a column twice"),
    ],
)
def test_what_makes_no_tree_is_refused(branches, said):
    with pytest.raises(MethodError, match=re.escape(said)):
        us.plan(schema(), epsilon=1, method="steps", options={"branches": branches})


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("steps", {"order": "x1"}),
        ("steps", {"layers": 1}),
        ("steps", {"split": "groups"}),
        ("steps", {"consistency": "hay"}),
        ("universal-histogram", {"form": "ranges"}),
    ],
)
def test_branches_go_with_no_other_tree(method, options):
    with pytest.raises(MethodError):
        us.plan(schema(), epsilon=1, method=method, options={"branches": FIGURE_1} | options)
    us.plan(schema(), epsilon=1, method=method, options={"branches": FIGURE_1})


def test_too_many_nodes_are_refused_before_they_are_made():
    with pytest.raises(MethodError, match="more than"):
        require_nodes(MOST_NODES + 1)
    large = {f"x{k}": 40 for k in range(4)}
    with pytest.raises(MethodError, match="more than"):
        in_branches(schema(sizes=large), [*large])


def rows(n, seed=1):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {name: rng.binomial(size - 1, 0.3, n).astype(str) for name, size in SIZES.items()}
    )


@pytest.mark.parametrize("consistency", ["gls", "gls_inner"])
def test_a_release_counts_all_nodes_and_an_ended_branch_in_each_layer_below(consistency):
    """Next to no noise at ε = 10⁵; the plan, the ledger and the counts agree."""
    table = rows(300)
    options = {"branches": FIGURE_1, "consistency": consistency}
    asked = us.plan(schema(300), epsilon=10**5, method="steps", options=options)
    found = us.synthesize(table, schema(300), epsilon=10**5, method="steps", options=options)
    assert not asked.setup
    ledger = found.manifest.ledger
    assert [t.query for t in asked.tables] == [entry["query"] for entry in ledger]
    assert [t.n_cells for t in asked.tables] == [entry["cells"] for entry in ledger]
    assert not any(t.chosen for t in asked.tables)
    assert {Fraction(entry["epsilon_exact"]) for entry in ledger} == {Fraction(10**5, 4)}
    second, third = found.measurements[1:3]
    assert second.columns == ("x1", "x2", "x4")
    assert second.counts.sum() == third.counts.sum() == 300
    tree = in_branches(schema(), FIGURE_1).tree
    kept, again = (
        dict(zip(map(tuple, nodes(tree, depth)), layer.counts.tolist(), strict=True))
        for depth, layer in ((2, second), (3, third))
    )
    assert len(set(kept) & set(again)) == 4
    for layer in (kept, again):
        for node, count in layer.items():
            where = [pl.col(name) == str(k) for name, k in zip(SIZES, node, strict=True) if k >= 0]
            assert count == table.filter(*where).height
    assert found.tables[0].height == 300


@pytest.mark.statistical
def test_what_an_ended_branch_was_counted_more_often_makes_it_more_exact():
    """Standard deviation of the node x1 = 0, x2 = 0: counted in two layers and by its six cells it
    has variance 1/(1/σ² + 1/σ² + 1/(6σ²)), by least squares, beside what its siblings know."""
    tree = in_branches(schema(), FIGURE_1).tree
    parents = tuple(layer.parents for layer in tree.layers)
    cells = np.repeat(np.arange(len(tree.layers[-1])), tree.layers[-1].sizes)
    hierarchy = Hierarchy((*parents, cells))
    rng = np.random.default_rng(0)
    widths = [len(one) for one in hierarchy.parents]
    noise = [rng.laplace(size=(20_000, width)) for width in widths]
    variances = [np.inf, *[2.0] * 4]
    found = gls(hierarchy, noise, variances)
    place = [row[:2] for row in nodes(tree, 2)].index([0, 0])
    alone = 1 / (1 / 2 + 1 / 2 + 1 / 12)
    own = float(np.var(found[2][:, place]))
    assert own < alone
    divided = [row[:2] for row in nodes(tree, 2)].index([0, 2])
    assert own < 0.95 * float(np.var(found[2][:, divided]))
