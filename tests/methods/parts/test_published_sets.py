"""Methods as published: each set made by itself, its noise, and what that leaves unpaid."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from night import NIGHT
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.perturbation import FLOATING, HALVED, overspent
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms.tables import NoisyTables, RowCount
from understudy.methods.registry import configure
from understudy.models.model import PooledFits
from understudy.papers.hierarchy_mechanisms import HierarchyLayers
from understudy.schema import Partition
from understudy.workflow.analyze import model_of
from understudy.workflow.gates import open_gate

FALSE_ALARM = 1e-4
PAPER = {"mode": "paper"}
SIZES = {"a": 2, "b": 3, "c": 4}
METHODS = [
    ("steps", {}),
    ("steps", {"order": "c, a"}),
    ("steps", {"split": "groups"}),
    ("universal-histogram", {"layers": 2}),
    ("privbayes", {"degree": 1}),
    ("laplace", {}),
]
TREES = [
    # options, layers of counts, L
    ("steps", {"order": "c, a"}, 3, 2),
    ("steps", {"order": "c, a", "layers": 1}, 2, 1),
    ("steps", {"order": "c, a, b"}, 3, 3),
    ("steps", {"order": "a+c, b"}, 2, 2),
    ("steps", {"layers": 3}, 3, 3),
    ("steps", {"split": "groups"}, 2, 2),
    ("steps", {"layers": 1}, 2, 1),
    ("universal-histogram", {"layers": 2}, 3, 2),
    ("universal-histogram", {"layers": 7}, 3, 3),
]


def schema(n=None, sizes=SIZES):
    head = "row_limit = 5000" if n is None else f'rows = "public"\nn_rows = {n}'
    columns = (
        f'[columns.{name}]\nkind = "categorical"\nlevels = {[str(k) for k in range(size)]}\n'
        'source = "codebook"\nreviewed = true\n'
        for name, size in sizes.items()
    )
    return us.Schema.loads("\n".join([head, *columns]))


def frame(rows, sizes=SIZES):
    labels = [tuple(map(str, row)) for row in rows]
    return pl.DataFrame(labels, schema=dict.fromkeys(sizes, pl.String), orient="row")


def some(n, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 3, n)
    return [tuple(row) for row in np.column_stack([a, b, (a + b) % 4])]


def release(method, options, rows=None, *, epsilon=6, sets=3, public=True, seed=None):
    rows = some(40) if rows is None else rows
    return us.synthesize(
        frame(rows),
        schema(len(rows) if public else None),
        epsilon=epsilon,
        method=method,
        sets=sets,
        options=PAPER | options,
        insecure_noise_seed=seed,
    )


def counts(found):
    return [m for m in found.measurements if m.kind.is_joint]


# --- sets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "options"), METHODS)
@pytest.mark.nightly(every=3)
def test_the_paper_s_form_makes_each_set_by_itself_whatever_sets_says(method, options):
    found = release(method, options | {"sets": "free"})
    assert found.manifest.sets_kind == "split"
    assert found.manifest.options["sets"] == "split"
    asked = us.plan(schema(40), epsilon=6, method=method, sets=3, options=PAPER | options)
    ledger = found.manifest.ledger
    assert not asked.setup
    assert len(ledger) == 3 * len(asked.tables)
    each = [sum(Fraction(e["epsilon_exact"]) for e in ledger[k::3]) for k in range(3)]
    assert sum(each) == 6
    size = len(asked.tables)
    for k in range(3):
        part = ledger[k * size : (k + 1) * size]
        assert sum(Fraction(entry["epsilon_exact"]) for entry in part) == 2


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_sets_are_runs_of_the_form_with_one_set_at_a_part_of_the_budget(method, options):
    """The same source of noise gives the same counts to `fit`, called three times."""
    rows = some(40)
    found = counts(release(method, options, rows, seed=7))
    gate = open_gate(Table(frame(rows), schema(40)), Budget.of(6, 0), SeededRandomness(7))
    gate.ask(RowCount(), spend=Fraction(0))
    configured = configure(method, PAPER | options)
    for _ in range(3):
        configured.fit(gate, Fraction(2), 40)
    again = [one.value for one in gate.measured if hasattr(one.value, "counts")]
    assert len(again) == len(found)
    for one, other in zip(again, found, strict=True):
        assert one.columns == other.columns
        assert np.ravel(one.counts).tolist() == np.ravel(other.counts).tolist()


@pytest.mark.nightly
def test_each_set_has_a_tree_and_a_network_of_its_own():
    """At a small ε choices are drawn alike: six equal ones in a row have probability 3⁻⁵ at most;
    of eight seeds, all would (3⁻⁴⁰)."""
    for method, options in METHODS[:1] + METHODS[3:5]:
        first = set()
        for seed in range(8):
            found = release(method, options, epsilon=0.01, sets=6, seed=seed)
            tables = [m.columns for m in counts(found)]
            size = len(tables) // 6
            first.add(len({tuple(tables[k * size : (k + 1) * size]) for k in range(6)}))
        assert max(first) > 1, method
        strict = release(method, {**options, "mode": "strict", "sets": "split"}, sets=6)
        tables = [m.columns for m in counts(strict)]
        size = len(tables) // 6
        assert len({tuple(tables[k * size : (k + 1) * size]) for k in range(6)}) == 1, method


# --- noise --------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize(("method", "options", "layers", "named"), TREES)
@pytest.mark.nightly(every=4)
def test_every_layer_has_the_noise_of_an_lth_part_and_the_promise_says_so(
    method, options, layers, named, public
):
    """Scale mL/((1 − r)ε), with the share r of choices, for added and removed records."""
    found = release(method, options, public=public)
    chosen = method == "steps" and "order" not in options
    left = (Fraction(6) if public else Fraction(6) * Fraction(95, 100)) / 3
    left *= Fraction(9, 10) if chosen else 1
    measured = counts(found)
    assert len(measured) == 3 * layers
    for one in measured:
        assert float(Fraction(one.scale)) == pytest.approx(float(named / left))
    noisy = [e for e in found.manifest.ledger if "floating point" in e["noise"]]
    assert {Fraction(e["epsilon_exact"]) for e in noisy} == {left / layers}
    assert {e["sensitivity"] for e in noisy} == {"L1 = 1"}
    leaks = [FLOATING, *[HALVED] * public]
    leaks += [overspent(Fraction(layers, named))] * (layers > named)
    assert found.guarantee.kind == "conditional"
    assert set(found.guarantee.leaks) == set(leaks)


def test_a_network_s_noise_is_the_strict_one_for_a_replaced_record():
    """2(d − k)m/ε of the half that tables have: 2·2·3/(6·½), on a lattice, and nothing unpaid."""
    found = release("privbayes", {"degree": 1, "network_share": 0.5})
    assert {Fraction(one.scale) for one in counts(found)} == {Fraction(4)}
    assert found.guarantee.kind == "pure"
    assert not found.guarantee.leaks


def drawn_noise(seed, overspend):
    """Noise of nodes and cells without records, at ε = 1 charged for each layer."""
    one = schema(0)
    gate = open_gate(Table(frame([]), one), Budget.of(9, 0), SeededRandomness(seed))
    tree = Partition(one.domain).divide([(1,)])
    how = {"noise": "geometric", "mode": "paper", "overspend": overspend}
    (layer,) = gate.ask(HierarchyLayers(tree, [1], **how), spend=Fraction(1))
    (table,) = gate.ask(NoisyTables([one.names], **how), spend=Fraction(1))
    return [*layer.value.counts, layer.value.outside, *table.value.counts.ravel()]


@pytest.mark.statistical
def test_overspent_noise_is_laplace_of_the_smaller_scale():
    """Kolmogorov-Smirnov at 10⁻⁴ of 11,200 numbers, by day of 2,800; ±30 % of it is rejected."""
    noise = np.concatenate(
        [drawn_noise(seed, Fraction(3, 2)) for seed in range(400 if NIGHT else 100)]
    )
    pvalue = stats.kstest(noise, stats.laplace(scale=2 / 3).cdf).pvalue
    assert pvalue > FALSE_ALARM
    for wrong in (0.7, 1.3, 1.5):
        assert stats.kstest(noise, stats.laplace(scale=wrong * 2 / 3).cdf).pvalue < FALSE_ALARM


def exact_layers(tree, rows):
    """Counts of all layers and of the cells."""
    columns = [np.array([row[j] for row in rows], dtype=np.int64) for j in range(3)]
    found = []
    for depth in range(1, tree.depth + 1):
        part = tree.until(depth)
        place = part.locate(columns)
        found.append(np.bincount(place, minlength=len(part.layers[-1])))
    cells = np.ravel_multi_index(columns, (2, 2, 2))
    return np.concatenate([*found, np.bincount(cells, minlength=8)])


@pytest.mark.parametrize("layers", [1, 2])
def test_what_a_published_tree_costs_for_all_neighbours(layers):
    """Log densities of Laplace noise of scale L change by (L + 1)/L if a record is added or
    removed, and by twice that if one is replaced, at most; just what the leaks say of ε = 1."""
    one = schema(sizes=dict.fromkeys("abc", 2))
    tree = Partition(one.domain)
    for j in range(layers):
        tree = tree.divide([(j,)] * len(tree.layers[-1]))
    records = [tuple(map(int, row)) for row in np.ndindex(2, 2, 2)]
    added, replaced = 0.0, 0.0
    for n in range(3):
        for rows in combinations_with_replacement(records, n):
            for record in records:
                near = exact_layers(tree, [*rows, record]) - exact_layers(tree, [*rows])
                added = max(added, np.abs(near).sum() / layers)
                for other in records:
                    far = exact_layers(tree, [*rows, record]) - exact_layers(tree, [*rows, other])
                    replaced = max(replaced, np.abs(far).sum() / layers)
    assert added == pytest.approx((layers + 1) / layers)
    assert replaced == pytest.approx(2 * (layers + 1) / layers)


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("overspend", [Fraction(1, 2), Fraction(3, 2)])
def test_strict_noise_is_worth_what_it_costs(overspend):
    gate = open_gate(Table(frame([]), schema(0)), Budget.of(9, 0), SeededRandomness(1))
    tree = Partition(schema(0).domain)
    modes = ["strict"] if overspend > 1 else ["strict", "paper"]
    for mode in modes:
        how = {"noise": "geometric", "mode": mode, "overspend": overspend}
        with pytest.raises(MethodError, match="worth what it costs"):
            gate.ask(NoisyTables([("a",)], **how), spend=Fraction(1))
        with pytest.raises(MethodError, match="worth what it costs"):
            gate.ask(HierarchyLayers(tree.divide([(0,)]), [1], **how), spend=Fraction(1))
    assert not gate.ledger


@pytest.mark.parametrize(
    ("method", "options", "delta", "said"),
    [
        ("steps", {}, "1e-6", "leave delta at 0"),
        ("privbayes", {}, "1e-6", "leave delta at 0"),
        ("steps", {"noise": "geometric"}, 0, "leave noise at auto"),
        ("privbayes", {"noise": "geometric"}, 0, "leave noise at auto"),
        ("universal-histogram", {"consistency": "gls_inner"}, 0, "than gls_inner"),
        ("universal-histogram", {"form": "ranges"}, 0, "form at layers"),
    ],
)
def test_what_was_not_published_is_refused(method, options, delta, said):
    with pytest.raises(MethodError, match=said):
        us.plan(schema(), epsilon=1, delta=delta, method=method, options=PAPER | options)


# --- networks -----------------------------------------------------------------------------------


def test_unequal_networks_promise_no_columns_together_and_equal_ones_are_told():
    """At ε = 10⁵ all sets choose alike up to the first column, which is drawn: a seed for each."""
    seen = set()
    for seed in range(12):
        found = release("privbayes", {"degree": 1}, epsilon=10**5, sets=2, seed=seed)
        network = found.manifest.inference.network
        tables = [m.columns for m in counts(found)]
        alike = tables[:2] == tables[2:]
        seen.add(alike)
        if not alike:
            assert network == tuple((name, ()) for name in found.schema.names)
        else:
            assert len([1 for _, parents in network if parents]) == 2
    assert seen == {True, False}


def test_nothing_known_of_parents_makes_a_column_uniform_as_published():
    """Of b given a, without records where a = 1: the margin in one form, uniform in the other."""
    rows = [(0, 0, 0)] * 40
    for mode, share in (("strict", 1.0), ("paper", 1 / 3)):
        options = {"network": "a, b<-a, c", "mode": mode, "noise": "laplace"}
        found = us.synthesize(
            frame(rows),
            schema(40),
            epsilon=10**5,
            method="privbayes",
            options=options,
            insecure_noise_seed=3,  # one in eight leaves no positive count there
        )
        noisy = np.reshape(counts(found)[0].counts, (2, 3))
        assert (noisy[1] <= 0).all()
        shares = model_of(found, 1).conditionals[1].shares
        assert shares[0, 0] == pytest.approx(1, abs=1e-3)
        assert shares[1, 0] == pytest.approx(share, abs=1e-3)


def test_the_model_of_a_release_pools_the_networks_of_its_sets():
    found = release("privbayes", {"degree": 1}, epsilon=0.01, seed=1)
    model = model_of(found, 3)
    assert isinstance(model, PooledFits)
    assert len({tuple(c.parents for c in one.conditionals) for one in model.models}) > 1
