"""Attacks on the gate by what is of the right type and makes no sense: numbers, lists and trees.

The attacker pays next to nothing and hopes for an error that some rows cause and others do not: it
would tell of them, for sure, whatever ε says. Or for an error where a public check should refuse.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InsufficientBudgetError, MethodError, SchemaError
from understudy.mechanisms.selection import Candidate, RandomOrder
from understudy.mechanisms.selection_scores import CellCount
from understudy.mechanisms.sparse_tables import LazyTable, ThresholdTable
from understudy.mechanisms.tables import NoisyTables
from understudy.mechanisms.urn import Urn
from understudy.papers.empirical_distribution import CumulativeDistributions
from understudy.papers.exact import ExactDeviations, ExactQuartileRanges
from understudy.papers.hierarchy_mechanisms import (
    ColumnSplits,
    GroupSplit,
    HierarchyLayers,
    LazyLeaves,
)
from understudy.papers.imputation_draws import Imputation, ImputedRecords
from understudy.papers.perturbed_gibbs import LazyRows, PerturbedGibbs, ResetBlocks
from understudy.schema import GibbsSweep, Partition, Schema
from understudy.workflow.gates import open_gate

SCHEMA = Schema.loads("""
rows = "public"
n_rows = 6
[columns.a]
kind = "categorical"
levels = ["x", "y", "z"]
reviewed = true
source = "codebook"
[columns.b]
kind = "boolean"
reviewed = true
source = "codebook"
[columns.c]
kind = "continuous"
lower = 0
upper = 8
bins = 4
reviewed = true
source = "codebook"
""")
SPEND = Fraction(1, 10**6)


def gate(level="x"):
    rows = {"a": ["x"] * 5 + [level], "b": [True, False] * 3, "c": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]}
    return open_gate(Table(pl.DataFrame(rows), SCHEMA), Budget.of(100), SeededRandomness(1))


TREES = {
    "fewer splits than nodes": (((0,),), ((1,),)),
    "more splits than nodes": (((0,), (1,)),),
    "no split": ((),),
    "no split for the second layer": (((0,),), ()),
    "a column twice in a split": (((0, 0),),),
    "a column twice along a branch": (((0,),), ((0,), (1,), (1,))),
    "a column of nobody": (((9,),),),
    "a column counted from the end": (((-1,),),),
}
WITH_TREES = {
    "counts of layers": lambda tree: HierarchyLayers(tree, [1], noise="geometric"),
    "counts of leaves": lambda tree: LazyLeaves(tree, noise="geometric"),
    "splits by columns": ColumnSplits,
    "a split by groups": GroupSplit,
}


@pytest.mark.parametrize("splits", TREES)
@pytest.mark.parametrize("asked", WITH_TREES)
def test_a_tree_that_is_none_is_refused_before_it_is_paid(asked, splits):
    """Claim: whether a record finds its node does not depend on the record. With fewer splits than
    nodes, one record beyond the first node ended in an error that named its node, at any ε."""
    for level in ("x", "z"):
        door = gate(level)
        tree = Partition(door.schema.domain, TREES[splits])
        with pytest.raises(MethodError, match="no tree"):
            door.ask(WITH_TREES[asked](tree), spend=SPEND)
        assert door.ledger == ()


def test_a_tree_without_what_is_asked_of_it_is_refused_before_it_is_paid():
    """Claim: what a tree lacks is public, and costs nothing to be told."""
    door = gate()
    full = Partition(door.schema.domain).divide([(0, 1, 2)])
    with pytest.raises(MethodError, match="nothing is left"):
        door.ask(ColumnSplits(full), spend=SPEND)
    with pytest.raises(MethodError, match="root alone"):
        door.ask(GroupSplit(full), spend=SPEND)
    for depth in (0, -1, 2):
        with pytest.raises(MethodError, match="layers below the root"):
            door.ask(HierarchyLayers(full, [depth], noise="geometric"), spend=SPEND)
    assert door.ledger == ()


def sweep():
    return GibbsSweep.of(SCHEMA.names, SCHEMA.domain, {"a": ("b",), "b": ("a",)})


SENSELESS = {
    "weights for fewer tables": lambda g: g.ask(
        NoisyTables([("a",), ("b",)], noise="geometric", weights=[1]), spend=SPEND
    ),
    "weights for more tables": lambda g: g.ask(
        NoisyTables([("a",)], noise="geometric", weights=[1, 1]), spend=SPEND
    ),
    "weights of nothing": lambda g: g.ask(
        NoisyTables([("a",)], noise="geometric", weights=[0]), spend=SPEND
    ),
    "weights for more lines": lambda g: g.ask(
        CumulativeDistributions([("a",)], weights=[1, 1]), spend=SPEND
    ),
    "weights for more layers": lambda g: g.ask(
        HierarchyLayers(
            Partition(g.schema.domain).divide([(0,)]), [1], noise="laplace", weights=[1, 1]
        ),
        spend=SPEND,
    ),
    "a column twice": lambda g: g.ask(NoisyTables([("a", "a")], noise="geometric"), spend=SPEND),
    "a cell by a column twice": lambda g: g.ask(
        Candidate(range(9), CellCount((0, 0))), spend=SPEND
    ),
    "cells of no column": lambda g: g.ask(ThresholdTable((), 1, noise="laplace"), spend=SPEND),
    "records of no column": lambda g: g.ask(LazyTable(columns=(), n_rows=1), spend=SPEND),
    "an urn of no column": lambda g: g.ask(Urn(columns=(), reinforced=True, n_rows=1), spend=SPEND),
    "a threshold beyond 64 bits": lambda g: g.ask(
        ThresholdTable(("a",), 2**70, noise="laplace"), spend=SPEND
    ),
    "a deviation of levels": lambda g: g.ask(ExactDeviations(["a"])),
    "quartiles of levels": lambda g: g.ask(ExactQuartileRanges(["a"])),
    "an order of fewer than none": lambda g: g.ask(RandomOrder(-1)).value,
}
DRAWN = (
    LazyTable(columns=("a",), n_rows=1),
    Urn(columns=("a",), reinforced=True, n_rows=1),
    ImputedRecords(imputation=Imputation(penalty=0.1), n_rows=1),
    PerturbedGibbs(sweep=sweep(), n_rows=1),
    ResetBlocks(sweep=sweep(), n_rows=1),
    LazyRows(sweep=sweep(), sweeps=1, n_rows=1),
)


@pytest.mark.parametrize("attack", SENSELESS)
def test_what_makes_no_sense_is_refused_before_it_is_paid(attack):
    """Claim: what can be seen from the arguments and the schema is refused from them alone."""
    door = gate()
    with pytest.raises(MethodError):
        SENSELESS[attack](door)
    assert door.ledger == ()


@pytest.mark.parametrize("n_rows", [-1, 2**40, 2**63, np.uint64(2**63)])
@pytest.mark.parametrize("asked", DRAWN, ids=lambda one: type(one).__name__)
def test_a_number_of_records_that_no_array_holds_is_refused_before_it_is_paid(asked, n_rows):
    """Claim: how many records are drawn is public, and so is whether they can be."""
    door = gate()
    with pytest.raises(MethodError, match="n_rows must be 0 to"):
        door.ask(replace(asked, n_rows=n_rows), spend=SPEND)
    assert door.ledger == ()


def test_a_price_cannot_be_lowered_after_it_was_paid():
    """Claim: the ledger holds numbers of its own. A fraction in Python is two numbers that can be
    overwritten: the attacker makes nothing of what he handed in, of what he is shown, and of the
    budget, and asks again."""
    door, price = gate(), Fraction(100)
    heard = []
    door.listen(heard.append)
    door.ask(NoisyTables([("a",)], noise="geometric"), spend=price)
    for shown in (price, heard[0].spent, door.ledger[0].spent):
        shown._numerator = 0
    door.remaining._numerator = 10**6
    door.budget.amount._numerator = 10**6
    object.__setattr__(door.ledger[0], "spent", Fraction(0))
    assert door.remaining == 0
    with pytest.raises(InsufficientBudgetError):
        door.ask(NoisyTables([("a",)], noise="geometric"), spend=SPEND)


@pytest.mark.parametrize("bins", [10**7 + 1, 10**10, 2**63])
def test_bins_beyond_memory_are_refused_in_words(bins):
    """Claim: a schema of anybody's, or a view, asks for no more bins than can be written out."""
    with pytest.raises(SchemaError, match="at most"):
        gate().rebin({"c": bins})
    with pytest.raises(SchemaError, match="at most"):
        Schema.loads(SCHEMA.dumps().replace("bins = 4", f"bins = {bins}"))
