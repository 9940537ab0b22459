"""PrivBayes: networks, what is measured and paid for them, and the records that come out."""

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.methods import privbayes
from understudy.methods.privbayes import (
    LARGEST_TABLE,
    candidates,
    edges_of,
    joints,
    most_candidates,
    read_network,
    usual_degree,
)
from understudy.methods.registry import configure
from understudy.workflow.gates import open_gate

PUBLIC = 'rows = "public"\nn_rows = {n}\n'
PRIVATE = 'rows = "private"\nrow_limit = 5000\n'


def schema_of(sizes, head=PRIVATE, rules=""):
    columns = [
        f'[columns.{name}]\nkind = "categorical"\nlevels = {[str(k) for k in range(size)]}\n'
        'reviewed = true\nsource = "codebook"\n'
        for name, size in sizes.items()
    ]
    return us.Schema.loads("\n".join([head, *columns, rules]))


def chain(n, sizes, seed=1, keep=0.85):
    """Each column repeats the one before it, modulo its size, or is uniform."""
    rng = np.random.default_rng(seed)
    columns, last = {}, rng.integers(0, 60, n)
    for name, size in sizes.items():
        fresh = rng.integers(0, size, n)
        last = np.where(rng.random(n) < keep, last % size, fresh)
        columns[name] = last
    return pl.DataFrame({name: column.astype(str) for name, column in columns.items()})


SIZES = {"a": 3, "b": 3, "c": 2, "d": 4, "e": 3}


def release_of(frame, schema, epsilon="5", **options):
    more = {k: options.pop(k) for k in ("sets", "delta", "insecure_noise_seed") if k in options}
    if "kind" in options:
        options["sets"] = options.pop("kind")
    return us.synthesize(
        frame, schema, epsilon=epsilon, method="privbayes", options=options, **more
    )


def chosen(release):
    return [one.columns for one in release.measurements if one.kind == "choice"]


def tables(release):
    return [one.columns for one in release.measurements if one.kind == "table"]


# --- networks -------------------------------------------------------------------------------------


def test_a_declared_network_is_read_with_or_without_spaces():
    schema = schema_of(SIZES)
    entries = ("c", "a <- c", "b<-a & c", "d", "e<-b")
    assert read_network(schema, entries) == (
        ("c", ()),
        ("a", ("c",)),
        ("b", ("a", "c")),
        ("d", ()),
        ("e", ("b",)),
    )


@pytest.mark.parametrize(
    ("network", "says"),
    [
        ("a, b<-a, c, d", "lacks the column 'e'"),
        ("a, b<-a, c, d, e, a", "column 'a' twice"),
        ("a, b<-c, c, d, e", "'c' as a parent of 'b' before"),
        ("a, b<-b, c, d, e", "'b' as a parent of 'b' before"),
        ("a, b<-a&a, c, d, e", "parent of 'b' twice"),
        ("a, b<-x, c, d, e", "names 'x'"),
        ("a, x, c, d, e", "names 'x'"),
        ("a, b<-, c, d, e", "names ''"),
    ],
)
def test_what_is_no_network_is_refused_by_name(network, says):
    with pytest.raises(MethodError, match=says):
        us.plan(schema_of(SIZES), epsilon=1, method="privbayes", options={"network": network})


def test_a_declared_network_leaves_nothing_to_a_degree():
    with pytest.raises(MethodError, match="leave degree out"):
        us.plan(
            schema_of({"a": 2}),
            epsilon=1,
            method="privbayes",
            options={"network": "a", "degree": 1},
        )


def test_tables_that_are_part_of_another_are_not_measured():
    edges = (("a", ()), ("b", ("a",)), ("c", ("b", "a")), ("d", ("c",)), ("e", ()))
    assert joints(edges) == (("a", "b", "c"), ("c", "d"), ("e",))


@pytest.mark.parametrize("options", [{"degree": 1}, {"degree": 2}, {"degree": 4}, {}])
def test_a_chosen_network_can_be_read_off_its_tables(options):
    release = release_of(chain(500, SIZES), schema_of(SIZES), "20", **options)
    edges = {column: set(parents) for column, parents in edges_of(tables(release))}
    assert set(edges) == set(SIZES)
    for column, *parents in chosen(release):
        assert edges[column] == set(parents)


@pytest.mark.parametrize(("degree", "cells"), [(1, 100), (2, 100), (2, 20), (4, 30), (3, 1)])
def test_candidates_are_the_largest_sets_of_parents_within_the_limits(degree, cells):
    schema, before = schema_of(SIZES), ("d", "b", "a")

    def fits(column, parents):
        n = np.prod([SIZES[name] for name in (column, *parents)])
        return len(parents) <= degree and (n <= cells or not parents)

    expected = {
        (column, frozenset(parents))
        for column in ("c", "e")
        for width in range(4)
        for parents in combinations(before, width)
        if fits(column, parents)
        and not any(fits(column, (*parents, one)) for one in before if one not in parents)
    }
    found = candidates(schema, before, degree=degree, cells=cells)
    assert {(column, frozenset(parents)) for column, *parents in found} == expected
    assert len(found) == len(expected)


def test_the_number_of_candidates_of_a_round_is_bounded():
    for d in (2, 5, 14, 40):
        assert most_candidates(d, usual_degree(d)) <= 10_000
    with pytest.raises(MethodError, match="smaller degree"):
        us.plan(
            schema_of({f"x{k}": 2 for k in range(60)}),
            epsilon=1,
            method="privbayes",
            options={"degree": 5},
        )


# --- what is measured -----------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [1, 2, 4, 9])
@pytest.mark.parametrize("head", [PUBLIC, PRIVATE])
def test_a_fixed_degree_measures_one_table_less_for_each_parent(degree, head):
    frame = chain(200, SIZES)
    release = release_of(frame, schema_of(SIZES, head.format(n=200)), degree=degree)
    k = min(degree, 4)
    assert len(tables(release)) == 5 - k
    assert {len(one) for one in tables(release)} == {k + 1}
    edges = chosen(release)
    assert [len(one) - 1 for one in edges] == [min(k, i) for i in range(1, 5)][: len(edges)]
    # A last column that takes all others as parents is no choice.
    assert len(edges) == (3 if k == 4 else 4)
    assert sum(cost(release)) == 5


def cost(release):
    steps = release.manifest.ledger
    return [Fraction(step.get("epsilon_exact") or step["rho_exact"]) for step in steps]


def test_each_choice_and_each_table_has_its_share_of_the_budget():
    schema = schema_of(SIZES, PUBLIC.format(n=100))
    release = release_of(chain(100, SIZES), schema, "2", degree=1, network_share="0.25")
    assert cost(release) == [Fraction(1, 8)] * 4 + [Fraction(3, 8)] * 4
    names = [step["query"].split(" by ")[-1] for step in release.manifest.ledger[:4]]
    assert set(names) == {"distance from independence"}


def test_the_network_is_bought_once_for_all_sets_and_tables_once_for_free_ones():
    schema = schema_of(SIZES, PUBLIC.format(n=100))
    frame = chain(100, SIZES)
    free = release_of(frame, schema, sets=3, degree=2)
    split = release_of(frame, schema, sets=3, degree=2, kind="split")
    assert (len(chosen(free)), len(tables(free))) == (4, 3)
    assert (len(chosen(split)), len(tables(split))) == (4, 9)
    assert tables(split)[:3] == tables(split)[3:6] == tables(split)[6:]
    assert sum(cost(free)) == sum(cost(split)) == 5


def test_a_declared_network_spends_everything_on_its_tables():
    schema = schema_of(SIZES, PUBLIC.format(n=100))
    network = "c, a<-c, b<-a&c, d<-b, e"
    release = release_of(chain(100, SIZES), schema, network=network)
    assert tables(release) == [("c", "a", "b"), ("b", "d"), ("e",)]
    assert cost(release) == [Fraction(5, 3)] * 3


@pytest.mark.parametrize("degree", [None, 1, 3])
def test_one_column_and_two_columns_leave_nothing_to_choose(degree):
    for sizes in ({"a": 3}, {"a": 3, "b": 2}):
        schema = schema_of(sizes, PUBLIC.format(n=300))
        options = {} if degree is None else {"degree": degree}
        release = release_of(chain(300, sizes), schema, "20", **options)
        assert not chosen(release)
        assert sum(cost(release)) == 20
        assert {frozenset(sizes)} <= {frozenset(one) for one in tables(release)}


def widths(n, epsilon, head=PUBLIC, **options):
    release = release_of(chain(n, SIZES), schema_of(SIZES, head.format(n=n)), epsilon, **options)
    return release, [len(one) for one in tables(release)]


@pytest.mark.parametrize("head", [PUBLIC, PRIVATE])
def test_tables_grow_with_the_budget_and_keep_to_theta(head):
    """With d tables at ε₂ in all, the scale is Δ·d/ε₂: n/cells ≥ θ times that."""
    n, sensitivity = 2000, 2 if head == PUBLIC else 1
    for epsilon, share in [("0.2", 0.3), ("1", 0.3), ("4", 0.5)]:
        release, found = widths(n, epsilon, head, network_share=share)
        assert len(found) == 5
        paid = sum(cost(release)[-5:])
        scale = float(5 * sensitivity / paid)
        rows = release.manifest.n_rows
        for one in tables(release):
            cells = np.prod([SIZES[name] for name in one])
            assert cells <= rows / (4 * scale) or len(one) == 1
    assert max(widths(n, "0.01", head)[1]) == 1
    assert max(widths(n, "1000", head)[1]) == 5
    low, high = widths(n, "1", head, theta=16)[1], widths(n, "1", head, theta=1)[1]
    assert sum(low) < sum(high)


def test_a_table_too_large_to_be_scored_is_no_candidate(monkeypatch):
    """Then every column has a table of its own, as nothing says that they are parts of others."""
    monkeypatch.setattr(privbayes, "LARGEST_TABLE", 9)
    schema = schema_of(SIZES, PUBLIC.format(n=100))
    release = release_of(chain(100, SIZES), schema, degree=2)
    assert len(tables(release)) == 5
    assert max(np.prod([SIZES[name] for name in one]) for one in tables(release)) <= 9
    plan = us.plan(schema, epsilon=1, method="privbayes", options={"degree": 2})
    assert [table.n_cells for table in plan.tables] == [10] * 5


class Unreadable:
    """Data that must not be looked at."""


@pytest.mark.parametrize(
    ("sizes", "head", "options", "says"),
    [
        (SIZES, 'rows = "private"\n', {"score": "mi"}, "score=r"),
        (SIZES, PRIVATE, {"score": "f"}, "two states"),
        ({"a": 2, "b": 2}, PRIVATE, {"network": "a"}, "lacks the column 'b'"),
    ],
)
def test_what_has_no_proof_or_no_sense_is_refused_before_rows_are_read(sizes, head, options, says):
    with pytest.raises(MethodError, match=says):
        us.synthesize(
            Unreadable(), schema_of(sizes, head), epsilon=1, method="privbayes", options=options
        )


def test_columns_and_declared_tables_too_large_to_write_out_are_refused():
    bins = "\n".join(
        f'[columns.{name}]\nkind = "integer"\nlower = 0\nupper = 9999\nbins = 10000\n'
        'reviewed = true\nsource = "codebook"'
        for name in "ab"
    )
    schema = us.Schema.loads(PRIVATE + bins)
    plan = us.plan(schema, epsilon=1, method="privbayes", options={"degree": 1})
    assert max(table.n_cells for table in plan.tables) == LARGEST_TABLE + 1
    with pytest.raises(MethodError, match="fewer parents"):
        us.plan(schema, epsilon=1, method="privbayes", options={"network": "a, b<-a"})


@pytest.mark.parametrize("score", ["r", "mi", "f"])
@pytest.mark.parametrize("head", [PUBLIC, PRIVATE])
@pytest.mark.nightly(diagonal=True)
def test_every_score_finds_the_links_of_a_chain(score, head):
    """Three binary columns that follow each other among four noise columns, at a large budget."""
    sizes = dict.fromkeys("abcdefg", 2)
    frame = chain(3000, sizes, keep=0).with_columns(b=pl.col("a"), c=pl.col("a"))
    schema = schema_of(sizes, head.format(n=3000))
    release = release_of(frame, schema, "60", degree=1, score=score, insecure_noise_seed=2)
    edges = {frozenset(one) for one in chosen(release)}
    assert len(edges & {frozenset(pair) for pair in ("ab", "ac", "bc")}) == 2


def test_the_first_column_is_random_and_the_noise_seed_fixes_it():
    schema, frame = schema_of(SIZES), chain(50, SIZES)
    first = [tables(release_of(frame, schema, degree=1, insecure_noise_seed=k)) for k in range(9)]
    assert len({one[0][0] for one in first}) > 2
    again = tables(release_of(frame, schema, degree=1, insecure_noise_seed=3))
    assert again == first[3]


# --- what comes out -------------------------------------------------------------------------------


def shares(frame, names):
    counts = frame.group_by(names).len()
    return {tuple(row[:-1]): row[-1] / len(frame) for row in counts.iter_rows()}


def distance(one, two, names):
    p, q = (shares(frame.with_columns(pl.all().cast(pl.String)), names) for frame in (one, two))
    return sum(abs(p.get(k, 0) - q.get(k, 0)) for k in p.keys() | q.keys()) / 2


@pytest.mark.parametrize("head", [PUBLIC, PRIVATE])
@pytest.mark.parametrize("delta", ["0", "0.000001"])
def test_a_huge_budget_reproduces_the_table(head, delta):
    """288 cells: 20,000 records of the same law differ from it by 0.03 on average."""
    frame = chain(4000, SIZES)
    schema = schema_of(SIZES, head.format(n=4000))
    release = release_of(frame, schema, "10000000", degree=4, delta=delta, sets=5)
    drawn = pl.concat(release.tables)
    assert distance(frame, drawn, list(SIZES)) < 0.05


def test_a_tree_keeps_neighbours_of_a_chain_and_what_follows_from_them():
    frame = chain(20_000, SIZES)
    release = release_of(
        frame, schema_of(SIZES), "100", network="a, b<-a, c<-b, d<-c, e<-d", sets=1
    )
    for pair in pairwise(SIZES):
        assert distance(frame, release.tables[0], list(pair)) < 0.03
    assert distance(frame, release.tables[0], ["a", "c"]) < 0.03


@pytest.mark.parametrize("options", [{}, {"degree": 1}, {"degree": 2}])
def test_any_number_of_rows_and_any_budget_give_rows_of_the_schema(options):
    rules = '[[forbidden]]\nwhere = {a = "1", e = ["0", "2"]}\nreviewed = true\nsource = "law"'
    for n, epsilon in [(0, "1"), (1, "0.00001"), (60, "0.00001"), (60, "1"), (60, "100000")]:
        schema = schema_of(SIZES, PUBLIC.format(n=n), rules)
        frame = chain(n, SIZES)
        release = release_of(frame, schema, epsilon, **options)
        drawn = release.tables[0].with_columns(pl.all().cast(pl.String))
        assert len(drawn) == n
        assert not drawn.filter((pl.col("a") == "1") & pl.col("e").is_in(["0", "2"])).height


def test_rows_out_of_domain_are_counted_beside_the_tables():
    frame = pl.concat(
        [chain(50, SIZES), pl.DataFrame([["?"] * 5] * 30, schema=[*SIZES], orient="row")]
    )
    schema = schema_of(SIZES, PUBLIC.format(n=80))
    release = release_of(frame, schema, "100000", degree=1)
    assert [one.outside for one in release.measurements if one.kind == "table"] == [30.0] * 4
    assert len(release.tables[0]) == 80


def test_a_fit_without_setup_buys_its_network_from_the_same_money():
    schema = schema_of(SIZES, PUBLIC.format(n=100))
    gate = open_gate(Table(chain(100, SIZES), schema), Budget.of(3, 0), SeededRandomness(1))
    method = configure("privbayes", {"degree": 2})
    model = method.fit(gate, Fraction(2), 10)
    assert gate.remaining == 1
    assert len(model.sample(10, np.random.default_rng(1)).states) == 5


def test_the_plan_says_how_large_unknown_tables_can_be():
    schema = schema_of(SIZES, PUBLIC.format(n=10**6))
    plan = us.plan(schema, epsilon=1, method="privbayes", options={"degree": 2})
    assert [table.n_cells for table in plan.tables] == [3 * 3 * 4 + 1] * 3
    assert all(table.chosen for table in plan.tables)
    assert [table.query.split()[2] for table in plan.setup] == ["4", "3", "6", "6"]
    assert not any(table.chosen for table in plan.setup)
    useful = us.plan(schema, epsilon="0.0001", method="privbayes")
    # θ-useful: 10⁶ records, 5 tables of scale 2·5/ε, θ = 4.
    assert {table.n_cells for table in useful.tables} == {1 + max(4, int(10**6 * 1e-4 / 40))}
    assert all(table.chosen for table in useful.setup)
