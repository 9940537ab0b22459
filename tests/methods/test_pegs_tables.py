"""Gibbs sampling from noisy tables: keys, tables, forms, and the records that come out."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.dp.budget import Budget
from understudy.errors import InferenceError, MethodError
from understudy.methods.registry import configure
from understudy.papers.pegs_tables import (
    MOST_KEYS,
    distinct_tables,
    gibbs_sweep_of_tables,
    key_candidates,
    most_key_columns,
    ordered_keys,
    own_tables,
)
from understudy.schema import GibbsSweep
from understudy.workflow.budget_shares import budget_of

SIZES = {"a": 3, "b": 3, "c": 2, "d": 4, "e": 3}
PUBLIC = 'rows = "public"\nn_rows = {n}\n'
PRIVATE = 'rows = "private"\nrow_limit = 5000\n'


def schema_of(sizes=SIZES, head=PRIVATE):
    columns = [
        f'[columns.{name}]\nkind = "categorical"\nlevels = {[str(k) for k in range(size)]}\n'
        'reviewed = true\nsource = "codebook"\n'
        for name, size in sizes.items()
    ]
    return us.Schema.loads("\n".join([head, *columns]))


def chain(n, sizes=SIZES, seed=1, keep=0.9):
    """Each column repeats the one before it, modulo its size, or is uniform."""
    rng = np.random.default_rng(seed)
    columns, last = {}, rng.integers(0, 60, n)
    for name, size in sizes.items():
        last = np.where(rng.random(n) < keep, last % size, rng.integers(0, size, n))
        columns[name] = last
    return pl.DataFrame({name: column.astype(str) for name, column in columns.items()})


def release_of(frame, schema, epsilon="5", *, sets=1, delta="0", seed=None, **options):
    return us.synthesize(
        frame,
        schema,
        epsilon=epsilon,
        delta=delta,
        method="pegs-tables",
        sets=sets,
        options=options,
        insecure_noise_seed=seed,
    )


def columns_of(release, kind):
    return [one.columns for one in release.measurements if one.kind == kind]


# --- keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [5, 9, 30, 36, 10**6])
def test_candidates_are_the_largest_keys_within_the_limit(cells):
    schema, others = schema_of(), ("a", "b", "c", "d")

    def fits(key):
        return not key or math.prod(SIZES[name] for name in ("e", *key)) <= cells

    expected = {
        frozenset(key)
        for width in range(5)
        for key in combinations(others, width)
        if fits(key) and not any(fits((*key, one)) for one in others if one not in key)
    }
    found = key_candidates(schema, "e", cells)
    assert {frozenset(key) for _, *key in found} == expected
    assert len(found) == len(expected)


def test_the_number_of_candidates_is_limited():
    for d in range(1, 60):
        assert d == 1 or math.comb(d - 1, most_key_columns(d)) <= max(MOST_KEYS, d - 1)


def test_tables_tell_the_keys():
    """Whatever the keys are; columns that need the same set of columns share a table if they can
    be told apart nevertheless."""
    rng = np.random.default_rng(1)
    fewer = 0
    for _ in range(200):
        schema = schema_of(dict.fromkeys("abcd", 2))
        given = tuple(tuple(k for k in range(4) if k != j and rng.random() < 0.5) for j in range(4))
        sweep = GibbsSweep(schema.names, schema.domain, given)
        tables = distinct_tables(sweep)
        needed = {frozenset(one) for one in own_tables(sweep)}
        assert len(needed) <= len(tables) <= 4
        fewer += len(tables) < 4
        for found in (tables, own_tables(sweep)):
            again = gibbs_sweep_of_tables(schema, found)
            assert [set(one) for one in again.given] == [set(one) for one in given]
    assert fewer > 20


def test_keys_by_order_fill_the_cells():
    sweep = ordered_keys(schema_of(), ("d", "a"), (30,) * 5)
    assert sweep.keys == (("d",), ("d",), ("d", "a"), ("a",), ("d",))


def test_bought_keys_are_the_strongest_and_said_in_the_release():
    """Each column is tied to its neighbours in the chain most; at this ε nothing else is chosen."""
    frame, schema = chain(4000), schema_of(head=PUBLIC.format(n=4000))
    release = release_of(frame, schema, "200", key_limit=4)
    chosen = columns_of(release, "choice")
    near = {name: set("abcde"[max(0, j - 1) : j + 2]) for j, name in enumerate("abcde")}
    assert [names[0] for names in chosen] == list("abcde")
    assert all(set(names) <= near[names[0]] for names in chosen)
    assert columns_of(release, "table") == [(*names[1:], names[0]) for names in chosen]
    costs = [Fraction(step["epsilon_exact"]) for step in release.manifest.ledger]
    assert costs == [Fraction(20, 5)] * 5 + [Fraction(180, 5)] * 5


def test_split_sets_share_the_keys():
    options = {"sets": "split"}
    release = us.synthesize(
        chain(200), schema_of(), epsilon=3, method="pegs-tables", sets=3, options=options
    )
    assert len(columns_of(release, "choice")) == 5
    assert len(columns_of(release, "table")) == 15


def test_declared_keys_cost_nothing_and_share_tables():
    keys = "a<-b, b<-a, c<-b & d, d<-b & c"
    release = release_of(chain(200), schema_of(head=PUBLIC.format(n=200)), keys=keys)
    assert not columns_of(release, "choice")
    assert {frozenset(one) for one in columns_of(release, "table")} == {
        frozenset(one) for one in ("ab", "bcd", "e")
    }
    costs = [Fraction(step["epsilon_exact"]) for step in release.manifest.ledger]
    assert costs == [Fraction(5, 3)] * 3


def test_useful_tables_grow_with_the_budget_and_the_rows():
    def most(epsilon, n, **options):
        schema = schema_of(head=PUBLIC.format(n=n))
        plan = us.plan(schema, epsilon=epsilon, method="pegs-tables", options=options)
        return max(table.n_cells for table in plan.tables) - 1

    assert most(1, 300) < most(10, 300) <= most(10, 3000)
    assert most(1, 3000) < most(1, 3000, theta=1)
    assert most("0.00001", 300) == 4  # a column alone


# --- forms ----------------------------------------------------------------------------------------

WIDE = {f"x{j}": 20 for j in range(12)}


def lazy(schema, **options):
    budget = Budget.of(1)
    (step, *_) = configure("pegs-tables", options).plan(schema, budget.amount, budget)
    return step.records


def test_tables_are_lazy_where_they_are_too_large():
    schema = schema_of(WIDE)
    assert not lazy(schema)
    assert not lazy(schema, order="x3")
    assert not lazy(schema, order="x3", key_limit=8000)
    assert lazy(schema, order="x3", key_limit=10**9)
    assert lazy(schema, keys="x1<-x2&x3&x4&x5&x6&x7")
    assert lazy(schema, form="lazy")


def test_a_lazy_release_of_a_huge_table():
    """20¹² cells; one column repeats another, through a key of 20⁶ values."""
    frame = chain(600, WIDE, keep=1)
    schema = schema_of(WIDE, PUBLIC.format(n=600))
    keys = ", ".join(f"x{j}<-x{j - 1}" for j in range(1, 12)) + ", x0<-x1&x2&x3&x4&x5&x6"
    release = release_of(frame, schema, "5000", keys=keys)
    drawn = release.tables[0]
    assert (drawn["x3"] == drawn["x4"]).mean() > 0.95
    assert [one.kind for one in release.measurements] == ["sweeps"]
    assert [step["noise"] for step in release.manifest.ledger] == [
        "discrete Laplace (geometric), scale 3/625"
    ]
    with pytest.raises(InferenceError):
        us.analyze(release, "mean", "x3 == '1'")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"form": "lazy", "allocation": "projected"}, "leave them out"),
        ({"form": "lazy", "seeds": "chain"}, "leave them out"),
        ({"form": "lazy", "noise": "laplace"}, "whole numbers"),
        ({"keys": "a<-b", "order": "a"}, "leave one of them out"),
        ({"keys": "a<-x"}, "names 'x'"),
        ({"order": "x"}, "names 'x'"),
        ({"noise": "gaussian"}, "no pure guarantee"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_plan(options, says):
    with pytest.raises(MethodError, match=says):
        us.plan(schema_of(), epsilon=1, method="pegs-tables", options=options)


def test_gaussian_noise_is_kept_in_gaussian_dp():
    schema = schema_of()
    for distribution, accounting in (("auto", "gdp"), ("geometric", "zcdp")):
        method = configure("pegs-tables", {"noise": distribution})
        assert budget_of("1", "0.000001", method, schema).accounting == accounting


# --- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", ["0", "0.000001"])
def test_relations_are_kept(delta):
    """Neighbours in the chain agree in nine of ten rows and by chance; independent columns would
    do so in a third."""
    frame, schema = chain(3000), schema_of(head=PUBLIC.format(n=3000))
    drawn = release_of(frame, schema, "8", delta=delta, seed=1).tables[0]
    for table, least in ((frame, 0.9), (drawn, 0.8)):
        assert (table["a"] == table["b"]).mean() > least


def test_columns_of_one_table_are_analysed_by_its_counts():
    frame, schema = chain(2000), schema_of(head=PUBLIC.format(n=2000))
    release = release_of(frame, schema, "20", keys="a<-b, b<-a", seed=1)
    answer = us.analyze(release, "table", "a + b")
    assert answer.pooled.rule == "noise-aware"
    real = (frame["a"] + frame["b"] == "00").mean()
    assert answer.pooled.estimate[0] == pytest.approx(real, abs=0.05)


def test_sets_keep_no_table_as_it_was_measured():
    """So split sets have no rule either: sweeps bias all of them alike."""
    frame, schema = chain(300), schema_of(head=PUBLIC.format(n=300))
    release = release_of(frame, schema, "20", sets=3, keys="a<-b, b<-a", seed=1)
    with pytest.raises(InferenceError, match="column by column"):
        us.analyze(release, "logit", "c ~ a")


def test_no_budget_and_no_rows_are_met():
    empty = pl.DataFrame(schema=dict.fromkeys(SIZES, pl.String))
    for epsilon in ("0.00001", "1000000"):
        for form in ("dense", "lazy"):
            release = release_of(empty, schema_of(head=PUBLIC.format(n=0)), epsilon, form=form)
            assert release.tables[0].height == 0


def test_one_column_and_two_need_no_choice():
    for sizes in ({"a": 3}, {"a": 3, "b": 2}):
        frame, schema = chain(50, sizes), schema_of(sizes, PUBLIC.format(n=50))
        release = release_of(frame, schema, "50")
        assert not columns_of(release, "choice")
        assert [set(one) for one in columns_of(release, "table")] == [set(sizes)]
