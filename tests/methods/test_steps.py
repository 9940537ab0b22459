"""STEPS: which trees it measures, what they cost, and what is drawn from them."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from night import NIGHT
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms.tables import RowCount
from understudy.methods.registry import configure
from understudy.papers.hierarchical import Steps
from understudy.papers.hierarchy_mechanisms import ORDER_READ, ColumnSplits, LeafRecords
from understudy.workflow.gates import open_gate

FALSE_ALARM = 1e-4
HUGE = 10**5
SIZES = {"a": 2, "b": 3, "c": 4}
RULE = """
[[forbidden]]
where = { a = "1", b = ["1", "2"] }
source = "logic"
reviewed = true
"""


def columns(sizes):
    return "".join(
        f"""
        [columns."{name}"]
        kind = "categorical"
        levels = {[str(k) for k in range(size)]}
        source = "codebook"
        reviewed = true
        """
        for name, size in sizes.items()
    )


def schema(n=None, sizes=SIZES, rule=RULE):
    head = "row_limit = 5000" if n is None else f'rows = "public"\nn_rows = {n}'
    return us.Schema.loads(f"{head}\n{columns(sizes)}{rule}")


def frame(rows, sizes=SIZES):
    labels = [tuple(str(k) for k in row) for row in rows]
    return pl.DataFrame(labels, schema=dict.fromkeys(sizes, pl.String), orient="row")


def some(n, seed=0):
    """Rows of the schema, one in ten out of domain or impossible."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.binomial(3, 0.2, n)
    b = np.where((a == 1) & (rng.random(n) < 0.9), 0, b)
    return [tuple(row) for row in np.column_stack([a, b, np.where(rng.random(n) < 0.05, 9, c)])]


def fits(row):
    return row[2] < 4 and not (row[0] == 1 and row[1] > 0)


def release(rows, epsilon=1, public=False, sets=1, kind="free", seed=None, **options):
    return us.synthesize(
        frame(rows),
        schema(len(rows) if public else None),
        epsilon=epsilon,
        method="steps",
        sets=sets,
        options=options | {"sets": kind},
        insecure_noise_seed=seed,
    )


def plan(epsilon=1, sets=1, one=None, delta=0, **options):
    return us.plan(
        one or schema(), epsilon=epsilon, delta=delta, method="steps", sets=sets, options=options
    )


def door(rows, epsilon=1, n=None, seed=1):
    gate = open_gate(Table(frame(rows), schema(n)), Budget.of(epsilon, 0), SeededRandomness(seed))
    gate.ask(RowCount(), spend=Fraction(epsilon) / 20)
    return gate


def queries(tables):
    return [table.query for table in tables]


def spent(found):
    return sum(Fraction(entry["epsilon_exact"]) for entry in found.manifest.ledger)


# --- trees ------------------------------------------------------------------------------------


def test_a_chosen_tree_is_planned_at_its_largest():
    found = plan()
    assert queries(found.setup) == [
        "a column that divides each node of layer 0, by AIC",
        "a column that divides each node of layer 1, by AIC",
    ]
    assert [(t.n_cells, t.share, t.chosen) for t in found.setup] == [
        (1, Fraction(95, 2000), False),
        (4, Fraction(95, 2000), True),
    ]
    assert [(t.n_cells, t.chosen, t.form) for t in found.tables] == [
        (5, True, "nodes"),
        (13, True, "nodes"),
        (4 * 4 + 1, False, "dense"),
    ]
    assert {t.share for t in found.tables} == {Fraction(9, 10) * Fraction(95, 100) / 3}


def test_a_declared_tree_is_known_and_costs_no_choice():
    found = plan(order="c, a")
    assert found.setup == ()
    assert [(t.query, t.n_cells, t.columns) for t in found.tables] == [
        ("counts by c", 5, ("c",)),
        ("counts by c × a", 9, ("c", "a")),
        ("counts by a × b × c", 17, ("a", "b", "c")),
    ]
    assert {t.share for t in found.tables} == {Fraction(95, 300)}
    assert [m.columns for m in release(some(50), order="c, a").measurements] == [
        ("c",),
        ("c", "a"),
        ("a", "b", "c"),
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"order": "a+b"}, ["counts by a × b", "counts by a × b × c"]),
        ({"order": "b, a+c"}, ["counts by b", "counts by a × b × c"]),
        ({"order": "a, b, c"}, ["counts by a", "counts by a × b", "counts by a × b × c"]),
        ({"order": "a+b+c"}, ["counts by a × b × c"]),
        ({"order": "c, a", "layers": 1}, ["counts by c", "counts by a × b × c"]),
        ({"order": "c, a, b", "layers": 2}, ["counts by c", "counts by c × a"]),
    ],
)
def test_groups_and_whole_orders(options, expected):
    """A group that leaves no column open is the layer of the leaves, as is the last column."""
    assert queries(plan(**options).tables)[: len(expected)] == expected
    assert queries(plan(**options).tables)[-1] == "counts by a × b × c"


def test_a_column_may_be_called_like_a_group():
    one = schema(sizes={"a": 2, "b": 3, "a+b": 4}, rule="")
    assert queries(plan(one=one, order=["a+b"]).tables)[0] == "counts by a+b"
    assert plan(one=one, order=["a+b"]).tables[0].n_cells == 5


def test_all_columns_but_one_are_as_good_as_all():
    assert plan(layers=3).tables == plan(layers=2).tables == plan(layers=99).tables


@pytest.mark.parametrize("options", [{}, {"split": "groups"}, {"layers": 3}])
@pytest.mark.parametrize("consistency", ["gls", "gls_inner"])
@pytest.mark.parametrize("n", [0, 30])
def test_a_single_column_has_leaves_alone(options, consistency, n):
    one = schema(n, sizes={"a": 3}, rule="")
    rows = frame([(k % 3,) for k in range(n)], {"a": 3})
    options = options | {"consistency": consistency}
    found = us.synthesize(rows, one, epsilon=1, method="steps", options=options)
    assert queries(plan(one=one, **options).tables) == ["counts by a"]
    assert plan(one=one, **options).setup == ()
    assert spent(found) == 1
    assert found.tables[0].height == n


def test_what_is_divided_next_is_the_column_of_smallest_aic():
    """Within a = 0 (even b, lone c) and a = 1 (lone b, even c) different columns stand out."""
    rows = [(0, k % 3, 0) for k in range(300)] + [(1, 0, k % 4) for k in range(300)]
    one = schema(rule="")
    gate = open_gate(Table(frame(rows), one), Budget.of(HUGE, 0), SeededRandomness(1))
    tree = configure("steps", {"order": "a"}).grow(gate, Fraction(0))
    splits = gate.ask(ColumnSplits(tree), spend=Fraction(HUGE)).value
    # AIC is smallest for the column whose counts are likeliest under its own shares: a lone state.
    assert splits == ((2,), (1,))


@pytest.mark.parametrize("split", ["columns", "groups"])
def test_a_tree_is_chosen_once_for_all_sets(split):
    for kind, fits_ in (("free", 1), ("split", 3)):
        one = release(some(40), sets=3, kind=kind, split=split)
        kinds = [m.kind for m in one.measurements]
        choices = kinds.count("choice")
        assert choices == {"columns": 2, "groups": 1}[split]
        layers = [m.columns for m in one.measurements[choices:]]
        per_fit = len(layers) // fits_
        assert layers == layers[:per_fit] * fits_
        assert spent(one) == 1


# --- what is public ---------------------------------------------------------------------------


def test_empty_nodes_are_divided_and_counted_like_others():
    """All rows in one cell: the tree still has every node, each with noise of its own."""
    found = release([(0, 0, 0)] * 50, layers=2, seed=3)
    tree = found.measurements[-2]
    counts = found.measurements[-2].counts
    sizes = {"table": len(tree.codes), "nodes": len(tree.codes)}[tree.kind]
    assert sizes == len(counts) > 4
    assert np.count_nonzero(counts) > len(counts) / 3


@pytest.mark.parametrize("consistency", ["gls", "gls_inner", "paper_phantom"])
def test_an_empty_branch_leaves_no_trace_in_ledger_and_measurements(consistency):
    def shape(rows):
        found = release(rows, order="a, c", consistency=consistency)
        steps = [(e["query"], e["cells"], e["noise"]) for e in found.manifest.ledger]
        return steps, [(m.kind, m.columns, m.codes.tolist()) for m in found.measurements]

    one_sided = [row for row in some(80) if row[0] == 0]
    assert shape(some(80)) == shape(one_sided) == shape([])


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"layers": 1}, {"split": "groups"}, {"order": "b"}, {"choice_share": 0.37}],
)
@pytest.mark.parametrize("sets", [1, 3])
@pytest.mark.nightly(every=3)
def test_the_budget_is_spent_to_the_last_digit(public, options, sets):
    for kind in ("free", "split"):
        found = release(some(20), "0.7", public, sets, kind, **options)
        assert spent(found) == Fraction(7, 10)


# --- counts -----------------------------------------------------------------------------------


def exact_shares(rows):
    cells = [row for row in rows if fits(row)]
    counts = np.zeros((2, 3, 4))
    for row in cells:
        counts[row] += 1
    return counts / len(cells)


def model_shares(model):
    table = np.zeros((2, 3, 4))
    table.reshape(-1)[model.codes] = model.weights / model.weights.sum()
    return table


@pytest.mark.parametrize("consistency", ["gls", "paper_phantom"])
@pytest.mark.parametrize("allocation", ["downward", "projected", "leaves"])
@pytest.mark.parametrize(
    "options", [{}, {"split": "groups"}, {"order": "b, c"}, {"noise": "laplace"}]
)
@pytest.mark.nightly(every=3)
def test_without_noise_the_model_is_the_table(consistency, allocation, options):
    rows = some(400)
    method = configure("steps", {"consistency": consistency, "allocation": allocation} | options)
    gate = door(rows, HUGE)
    prepared = method.setup(gate, Fraction(HUGE, 10))
    model = prepared.fit(Fraction(HUGE, 2), 10)
    np.testing.assert_allclose(model_shares(model), exact_shares(rows), atol=1e-3)


def test_without_noise_records_below_nodes_are_those_of_the_table():
    """Chi-square test of 4,000 records on the occupied cells; no record stands elsewhere."""
    rows = some(4000)
    (drawn,) = release(rows, HUGE, layers=1, consistency="gls_inner", seed=1).tables
    found = np.zeros((2, 3, 4))
    np.add.at(found, tuple(drawn[name].to_physical().to_numpy() for name in SIZES), 1)
    expected = exact_shares(rows) * drawn.height
    some_ = expected > 0
    assert found[~some_].sum() == 0
    assert stats.chisquare(found[some_], expected[some_]).pvalue > FALSE_ALARM


def test_shares_of_upper_layers_are_those_of_least_squares():
    """The first layer's shares in the model are its consistent counts, whatever the leaves say."""
    rows = some(2000)
    gate = door(rows, 1, seed=4)
    prepared = configure("steps", {"order": "c, a"}).setup(gate, Fraction(0))
    shares = model_shares(prepared.fit(Fraction(9, 10), 10))
    first, second, leaves = (one.value for one in gate.measured)
    variance = gate.measured[0].noise.stddev ** 2
    # Least squares over the 16 allowed cells and the number out of domain.
    cells = [(a, b, c) for a in range(2) for b in range(3) for c in range(4) if fits((a, b, c))]
    design, noisy, weights = [np.ones(17)], [gate.n_rows.value], [gate.n_rows.noise.stddev**-2]

    def see(inside, count):
        design.append(np.append([inside(cell) for cell in cells], count is None).astype(float))
        weights.append(1 / variance)

    for table in (first, second, leaves):
        axes = ["abc".index(name) for name in table.columns]
        for state in sorted({tuple(cell[j] for j in axes) for cell in cells}):
            see(lambda cell, s=state, x=axes: tuple(cell[j] for j in x) == s, 0)
            noisy.append(table.counts[state])
        see(lambda cell: False, None)
        noisy.append(table.outside)
    x, w = np.array(design), np.sqrt(weights)
    best = np.linalg.lstsq(x * w[:, None], np.array(noisy) * w, rcond=None)[0]
    expected = np.array([best[:-1][[cell[2] == c for cell in cells]].sum() for c in range(4)])
    expected = np.maximum(expected, 0) / np.maximum(expected, 0).sum()
    np.testing.assert_allclose(shares.sum(axis=(0, 1)), expected, atol=1e-9)


def spying(gate, seen):
    """A gate that notes how records were allocated."""
    ask = gate.ask

    def noting(mechanism, **spend):
        if isinstance(mechanism, LeafRecords):
            seen.append(mechanism.weights)
        return ask(mechanism, **spend)

    gate.ask = noting
    return gate


def inner_share(engine, consistency, seed, scale=1):
    """Share of a = 0 by the consistent counts of a tree with one inner layer."""
    seen = []
    gate = spying(open_gate(engine, Budget.of(1, 0), SeededRandomness(seed)), seen)
    options = {"order": "a", "consistency": consistency}
    prepared = configure("steps", options).setup(gate, Fraction(0))
    model = prepared.fit(Fraction(1) / scale, 1)
    if consistency == "gls":
        return model_shares(model)[0].sum()
    (weights,) = seen
    return weights[0] / weights.sum()


@pytest.mark.statistical
def test_leaves_that_are_not_written_out_tell_inner_layers_the_same():
    """Means and variances of 250 shares each, by day of 80: 4 standard errors (of the ratio's
    logarithm √(7/n), at an excess kurtosis of 1.5) leave a false alarm of 1e-4. Half the budget is
    noticed."""
    n = 250 if NIGHT else 80
    engine = Table(frame(some(200)), schema(200))

    def differ(one, two):
        error = np.sqrt((np.var(one) + np.var(two)) / n)
        means = abs(np.mean(one) - np.mean(two)) > 4 * error
        return means or abs(np.log(np.var(one) / np.var(two))) > 4 * np.sqrt(7 / n)

    dense, lazy, wide = (
        [inner_share(engine, how, 1000 * k + seed, scale) for seed in range(n)]
        for k, (how, scale) in enumerate((("gls", 1), ("gls_inner", 1), ("gls_inner", 2)))
    )
    assert not differ(dense, lazy)
    assert differ(dense, wide)


def test_as_published_the_leaves_stand_as_they_were_perturbed():
    """The printed equations leave leaves uncorrected: this is the flat sanitizer at a third."""
    gate = door(some(300))
    options = {"order": "a, b", "consistency": "paper_phantom", "allocation": "leaves"}
    prepared = configure("steps", options).setup(gate, Fraction(0))
    model = prepared.fit(Fraction(3, 4), 10)
    leaves = gate.measured[-1]
    assert leaves.noise.scale == "4"
    np.testing.assert_array_equal(
        model.weights, np.maximum(leaves.value.counts.reshape(-1)[model.codes], 0)
    )


def test_hay_is_for_a_constant_fan_out():
    binary = schema(sizes={"a": 2, "b": 2, "c": 2}, rule="")
    rows = frame([(0, 1, 0), (1, 1, 0)] * 40)
    found = us.synthesize(
        rows, binary, epsilon=HUGE, method="steps", options={"consistency": "hay"}
    )
    assert found.tables[0].n_unique() == 2
    for one, options in ((schema(), {}), (binary, {"layers": 1}), (binary, {"order": "a"})):
        with pytest.raises(MethodError, match="consistency=gls"):
            plan(one=one, consistency="hay", **options)
    assert plan(one=binary, consistency="hay", order="a, b").tables


# --- size -------------------------------------------------------------------------------------


def test_a_table_of_a_trillion_cells_is_never_written_out():
    sizes = {f"x{k}": 2 for k in range(40)}
    one = schema(500, sizes=sizes, rule="")
    rng = np.random.default_rng(0)
    rows = frame((rng.random((500, 40)) < 0.2).astype(int), sizes)
    assert plan(one=one).tables[-1].form == "lazy"
    found = us.synthesize(rows, one, epsilon=2, method="steps", options={"order": "x1, x2"})
    assert found.tables[0].height == 500
    # Layer 1 has noise of deviation 3 in 500 records: its share of the records is kept.
    true = (rows["x1"] == "1").mean()
    assert abs((found.tables[0]["x1"] == "1").mean() - true) < 0.12


def test_sizes_decide_whether_leaves_are_written_out():
    wide = schema(sizes={f"x{k}": 128 for k in range(4)}, rule="")
    assert plan(one=wide, layers=1).tables[-1].form == "lazy"
    narrow = schema(sizes={f"x{k}": 128 for k in range(3)}, rule="")
    assert plan(one=narrow, layers=1).tables[-1].form == "dense"
    assert plan(one=narrow, layers=1, consistency="gls_inner").tables[-1].form == "lazy"
    assert plan(one=wide, layers=1, delta="0.00001").tables[-1].noise.startswith("discrete Laplace")


@pytest.mark.parametrize(
    ("sizes", "options", "words"),
    [
        (SIZES, {"order": "a, x"}, "'x', which is no column"),
        (SIZES, {"order": "a, b+a"}, "a column twice"),
        (SIZES, {"order": "a", "layers": 2}, "fewer than layers=2"),
        (SIZES, {"order": "a+b", "split": "groups"}, "leave split at columns"),
        (SIZES, {"consistency": "gls_inner", "allocation": "leaves"}, "allocated downward"),
        (SIZES, {"consistency": "gls_inner", "allocation": "projected"}, "allocated downward"),
        (SIZES, {"layers": 0}, "greater than or equal to 1"),
        (SIZES, {"choice_share": 1}, "less than 1"),
        (dict.fromkeys("abcd", 300), {"consistency": "gls", "layers": 1}, "consistency=gls_inner"),
        (dict.fromkeys("abcd", 300), {"layers": 3}, "27,000,000 nodes"),
        (dict.fromkeys("abcd", 300), {"order": "a+b+c"}, "27,000,000 nodes"),
        ({"a": 9000, "b": 3, "c": 4}, {}, "may need 81,000,000 counts"),
        ({f"x{k}": 2 for k in range(16)}, {"split": "groups"}, "among up to 15 columns"),
        (dict.fromkeys("abcdefghij", 100), {"layers": 1}, r"2\^62"),
    ],
)
def test_what_cannot_be_done_is_refused_from_public_facts(sizes, options, words):
    with pytest.raises(MethodError, match=words):
        plan(one=schema(sizes=sizes, rule=""), **options)


def test_gaussian_noise_needs_leaves_that_are_written_out():
    with pytest.raises(MethodError, match="geometric or laplace"):
        plan(delta="0.001", noise="gaussian", consistency="gls_inner")
    assert plan(delta="0.001", consistency="gls_inner").tables
    assert plan(delta="0.001").tables[-1].noise.startswith("discrete Gaussian")


def test_nothing_is_spent_before_an_overdraft_is_refused():
    gate = door(some(10))
    for options in ({}, {"order": "a"}, {"split": "groups"}):
        left = gate.remaining
        with pytest.raises(us.errors.InsufficientBudgetError):
            Steps(**options | ({"order": ("a",)} if "order" in options else {})).fit(
                gate, Fraction(1), 10
            )
        assert gate.remaining == left


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("rows", [[], [(2, 0, 0)] * 8, [(1, 2, 0)] * 8, [(0, 0, 0)] * 20])
@pytest.mark.parametrize("consistency", ["gls", "gls_inner", "paper_phantom"])
@pytest.mark.parametrize("epsilon", ["0.00001", "1"])
@pytest.mark.nightly(every=5)
def test_any_rows_will_do(public, rows, consistency, epsilon):
    """None, out of domain, impossible, constant."""
    found = release(rows, epsilon, public, consistency=consistency)
    for row in found.tables[0].iter_rows():
        assert fits(tuple(map(int, row)))


# --- other utilities, and groups in any order ----------------------------------------------------


@pytest.mark.parametrize("utility", ["aic", "bic"])
def test_the_utility_stands_in_the_plan_and_in_the_ledger(utility):
    for options in ({}, {"split": "groups"}, {"split": "groups", "groups": "unordered"}):
        asked = plan(utility=utility, **options)
        found = release(some(50), utility=utility, **options)
        ledger = [e for e in found.manifest.ledger if e["mechanism"] == ColumnSplits.name]
        assert [t.query for t in asked.setup] == [entry["query"] for entry in ledger]
        assert {entry["query"].rpartition(", by ")[2] for entry in ledger} == {utility.upper()}
        assert ("log 2" in ledger[0]["sensitivity"]) == (utility == "bic")


def test_two_groups_in_any_order_are_two_choices_at_half_of_what_choices_cost():
    options = {"split": "groups", "groups": "unordered"}
    asked = plan(**options)
    assert [(t.query, t.n_cells, t.share) for t in asked.setup] == [
        ("two groups of columns, by AIC", 3, Fraction(95, 2000)),
        ("the columns that divide layer 0, by AIC", 2, Fraction(95, 2000)),
    ]
    found = release(some(50), **options)
    assert spent(found) == 1
    choices = [e for e in found.manifest.ledger if e["mechanism"] == ColumnSplits.name]
    assert [entry["cells"] for entry in choices] == [3, 2]
    assert found.guarantee.kind == "pure"


@pytest.mark.parametrize("groups", ["ordered", "unordered"])
@pytest.mark.parametrize("mode", ["strict", "paper"])
def test_the_group_of_smaller_aic_divides_the_root(groups, mode):
    """Next to no noise: AICs are about 8, 6 and 20, since b is always 0, so that a and b stand
    apart from c."""
    rng = np.random.default_rng(1)
    rows = [(int(a), 0, int(c)) for a, c in rng.integers(0, (2, 4), (80, 2))]
    found = release(rows, 10**6, public=True, split="groups", groups=groups, mode=mode)
    first = next(m for m in found.measurements if m.kind.is_joint)
    assert first.columns == ("a", "b")
    unpaid = ORDER_READ in found.guarantee.leaks
    assert unpaid == (groups == "unordered" and mode == "paper")
    choices = [e for e in found.manifest.ledger if e["mechanism"] == ColumnSplits.name]
    assert len(choices) == (2 if (groups, mode) == ("unordered", "strict") else 1)


def test_two_columns_part_in_one_way():
    two = schema(sizes={"a": 2, "b": 3}, rule="")
    asked = plan(one=two, split="groups", groups="unordered")
    assert [(t.query, t.n_cells) for t in asked.setup] == [
        ("the columns that divide layer 0, by AIC", 2)
    ]


def test_groups_in_any_order_are_for_groups():
    with pytest.raises(MethodError, match="belongs to split=groups"):
        plan(groups="unordered")
