"""The universal histogram: random layers of columns, and trees of ranges of each column."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InsufficientBudgetError, MethodError
from understudy.mechanisms.tables import RowCount
from understudy.methods.registry import configure
from understudy.models.spine import gls
from understudy.papers.hierarchical import range_weights
from understudy.papers.hierarchical_tree import NoisyLayer, RangeTree, consistent
from understudy.workflow.gates import open_gate

HUGE = 10**5
SIZES = {"a": 2, "b": 3, "c": 40}


def schema(n=None, sizes=SIZES, rule=""):
    head = "row_limit = 5000" if n is None else f'rows = "public"\nn_rows = {n}'
    body = "".join(
        f"""
        [columns.{name}]
        kind = "categorical"
        levels = {[str(k) for k in range(size)]}
        source = "codebook"
        reviewed = true
        """
        for name, size in sizes.items()
    )
    return us.Schema.loads(f"{head}\n{body}{rule}")


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    c = np.where(rng.random(n) < 0.05, 99, rng.binomial(39, 0.3, n))
    data = {"a": rng.integers(0, 2, n), "b": rng.integers(0, 3, n), "c": c}
    return pl.DataFrame({name: [str(k) for k in values] for name, values in data.items()})


def release(rows, epsilon=1, public=False, sets=1, seed=None, **options):
    return us.synthesize(
        rows,
        schema(rows.height if public else None),
        epsilon=epsilon,
        method="universal-histogram",
        sets=sets,
        options=options,
        insecure_noise_seed=seed,
    )


def plan(one=None, delta=0, **options):
    return us.plan(
        one or schema(), epsilon=1, delta=delta, method="universal-histogram", options=options
    )


def spent(found):
    return sum(Fraction(entry["epsilon_exact"]) for entry in found.manifest.ledger)


# --- layers of columns --------------------------------------------------------------------------


def test_layers_in_random_order_cost_no_choice():
    found = plan()
    assert found.setup == ()
    assert [(t.n_cells, t.chosen, t.share) for t in found.tables] == [
        (41, True, Fraction(95, 300)),
        (121, True, Fraction(95, 300)),
        (241, False, Fraction(95, 300)),
    ]


def test_the_order_is_random_and_the_same_in_all_nodes_and_sets():
    """Until six ordered pairs are seen, by day three. A false alarm (one of them never in 60) has
    probability 6·(5/6)⁶⁰, about 1e-4; the seeds are fixed."""
    orders, seeds = set(), iter(range(60))
    while len(orders) < (6 if NIGHT else 3):
        seed = next(seeds)
        found = release(frame(20), sets=2, seed=seed, **{"allocation": "leaves"})
        assert [m.kind for m in found.measurements] == ["table"] * 3
        first, second, leaves = (m.columns for m in found.measurements)
        assert second[:1] == first
        assert leaves == ("a", "b", "c")
        orders.add(second)


def test_split_sets_share_the_order():
    options = {"sets": "split", "layers": 2}
    found = us.synthesize(
        frame(20), schema(), epsilon=1, method="universal-histogram", sets=3, options=options
    )
    columns = [m.columns for m in found.measurements]
    assert len(columns) == 9
    assert columns == columns[:3] * 3
    assert spent(found) == 1


def test_a_declared_order_is_that_of_steps():
    mine = plan(order="c, a").tables
    theirs = us.plan(schema(), epsilon=1, method="steps", options={"order": "c, a"}).tables
    assert mine == theirs


# --- ranges: trees --------------------------------------------------------------------------------


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("fan_out", [2, 3, 16])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 17, 257])
def test_ranges_are_divided_into_ranges(size, fan_out, padded):
    tree = RangeTree(size, fan_out, padded)
    layers = [np.array([0, tree.edges[-1][-1]]), *tree.edges]
    assert len(layers) == tree.depth + 1
    assert np.diff(layers[-1]).tolist() == [1] * (len(layers[-1]) - 1)
    for depth in range(tree.depth):
        parents = tree.hierarchy.parents[depth + 1]
        starts, ends = layers[depth][:-1][parents], layers[depth][1:][parents]
        assert (starts <= layers[depth + 1][:-1]).all()
        assert (layers[depth + 1][1:] <= ends).all()
        assert set(layers[depth]) <= set(layers[depth + 1])
        assert tree.hierarchy.fan_outs[depth].max() <= fan_out
        assert tree.sizes[depth].sum() == size
    if padded:
        assert tree.hierarchy.fan_out == fan_out
    else:
        assert tree.edges[-1][-1] == size


def test_states_that_cannot_occur_have_no_weight():
    tree = RangeTree(5, 2, padded=True)
    rng = np.random.default_rng(0)
    for allocation in ("downward", "projected", "leaves"):
        found = [rng.normal(0, 5, (50, len(one))) for one in tree.hierarchy.parents]
        weights = range_weights(tree, found, allocation)
        assert weights.shape == (50, 5)
        assert (weights >= 0).all()
        if allocation == "downward":
            np.testing.assert_allclose(weights.sum(axis=-1), 1)


def test_padding_with_noise_is_hay_and_least_squares_of_the_padded_tree():
    rng = np.random.default_rng(0)
    tree = RangeTree(11, 3, padded=True)
    layers = [NoisyLayer(rng.normal(5, 3, len(e) - 1), 0.0, 9.0) for e in tree.edges]
    found = consistent(tree.hierarchy, layers, 60, 0.0, "hay")
    counts = [np.array([60.0]), *(one.counts for one in layers)]
    for one, two in zip(found, gls(tree.hierarchy, counts, [0, 9, 9, 9]), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-10)


def test_a_long_range_is_better_known_than_the_sum_of_its_states():
    """256 states, fan-out 4, budget as for a flat table: mean square error of the range 0..127 over
    300 draws, whose relative error is about √(2/300) = 8 %. Flat it is 128·1.84 = 236; in the tree,
    at a quarter of the budget per layer, it is below 154. Single states are better known flat."""
    tree = RangeTree(256, 4)
    rows = np.full(256, 20)
    source = SeededRandomness(1)

    def noisy(counts, scale):
        noise = DiscreteLaplace(Fraction(scale)).sample(300 * len(counts), source)
        return counts + noise.reshape(300, len(counts))

    distribution = DiscreteLaplace(Fraction(tree.depth))
    layers = [
        NoisyLayer(
            noisy(np.add.reduceat(rows, edges[:-1]), tree.depth), 0.0, distribution.stddev**2
        )
        for edges in tree.edges
    ]
    fine = consistent(tree.hierarchy, layers, np.full(300, 5120), 0.0)[-1]
    flat = noisy(rows, 1)
    assert ((fine[:, :128].sum(axis=1) - 2560) ** 2).mean() < 0.6 * 128 * 2
    assert ((flat[:, :128].sum(axis=1) - 2560) ** 2).mean() > 0.7 * 128 * 1.8
    assert ((fine - 20) ** 2).mean() > 2 * ((flat - 20) ** 2).mean()


# --- ranges: releases -----------------------------------------------------------------------------


def test_columns_and_layers_share_the_budget():
    found = plan(form="ranges", fanout=4, consistency="gls")
    assert [(t.query, t.n_cells, t.share) for t in found.tables] == [
        ("counts of 2 ranges of a", 3, Fraction(95, 300)),
        ("counts of 3 ranges of b", 4, Fraction(95, 300)),
        ("counts of 3 ranges of c", 4, Fraction(95, 900)),
        ("counts of 10 ranges of c", 11, Fraction(95, 900)),
        ("counts of 40 ranges of c", 41, Fraction(95, 900)),
    ]
    padded = plan(form="ranges", fanout=4)
    assert [t.n_cells for t in padded.tables] == [5, 5, 5, 17, 65]
    assert spent(release(frame(30), "0.3", form="ranges")) == Fraction(3, 10)


@pytest.mark.parametrize("consistency", ["hay", "gls"])
@pytest.mark.parametrize("allocation", ["downward", "projected", "leaves"])
@pytest.mark.parametrize("public", [False, True])
def test_without_noise_every_column_is_its_table(consistency, allocation, public):
    rows = frame(500)
    one = schema(500 if public else None)
    gate = open_gate(Table(rows, one), Budget.of(HUGE, 0), SeededRandomness(1))
    gate.ask(RowCount(), spend=Fraction(HUGE, 4))
    options = {"form": "ranges", "consistency": consistency, "allocation": allocation, "fanout": 3}
    model = configure("universal-histogram", options).fit(gate, Fraction(HUGE, 2), 10)
    for name, weights in zip(SIZES, model.weights, strict=True):
        counts = rows[name].cast(pl.Int64).to_numpy()
        expected = np.bincount(counts[counts < SIZES[name]], minlength=SIZES[name])
        np.testing.assert_allclose(weights / weights.sum(), expected / expected.sum(), atol=1e-9)


@pytest.mark.parametrize("consistency", ["hay", "gls"])
def test_structural_zeros_never_occur(consistency):
    rule = """
        [[forbidden]]
        where = { a = "1", b = ["1", "2"] }
        source = "logic"
        reviewed = true
        """
    options = {"form": "ranges", "consistency": consistency}
    one = schema(rule=rule)
    drawn = us.synthesize(
        frame(300), one, epsilon=1, method="universal-histogram", options=options
    ).tables[0]
    assert drawn.filter((pl.col("a") == "1") & (pl.col("b") != "0")).height == 0


@pytest.mark.parametrize("rows", [0, 1, 30])
@pytest.mark.parametrize("epsilon", ["0.00001", "100"])
@pytest.mark.parametrize("options", [{}, {"form": "ranges"}, {"consistency": "gls_inner"}])
@pytest.mark.nightly(every=4)
def test_any_rows_and_budget_will_do(rows, epsilon, options):
    assert release(frame(rows), epsilon, public=True, **options).tables[0].height == rows
    release(frame(rows), epsilon, **options)


def test_delta_buys_gaussian_noise():
    for form in ("layers", "ranges"):
        (noise,) = {
            t.noise.split(",")[0] for t in plan(delta="0.00001", form=form, order=[]).tables[:1]
        }
        assert noise == "discrete Gaussian"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"form": "ranges", "layers": 2}, "belong to form=layers"),
        ({"form": "ranges", "order": "a"}, "belong to form=layers"),
        ({"form": "ranges", "consistency": "gls_inner"}, "hay or gls"),
        ({"form": "ranges", "fanout": 1}, "greater than or equal to 2"),
        ({"form": "ranges", "fanout": 2**27}, "smaller fanout"),
        ({"consistency": "hay"}, "consistency=gls"),
    ],
)
def test_what_does_not_fit_is_refused_from_public_facts(options, words):
    with pytest.raises(MethodError, match=words):
        plan(**options)


def test_an_overdraft_is_refused_before_anything_is_spent():
    gate = open_gate(Table(frame(9), schema(9)), Budget.of(1, 0), SeededRandomness(1))
    for form in ("layers", "ranges"):
        with pytest.raises(InsufficientBudgetError):
            configure("universal-histogram", {"form": form}).fit(gate, Fraction(2), 10)
    assert gate.remaining == 1
