"""Attacks on the gate by what is of the right type and makes no sense: numbers, lists and trees.

The attacker pays next to nothing and hopes for an error that some rows cause and others do not: it
would tell of them, for sure, whatever ε says. Or for an error where a public check should refuse.
"""

from fractions import Fraction

import polars as pl
import pytest

from understudy.engine import Table
from understudy.errors import MethodError
from understudy.privacy.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.randomness import SeededRandomness
from understudy.schema import Partition, Schema

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
    return Gate(Table(pl.DataFrame(rows), SCHEMA), Budget.of(100), SeededRandomness(1))


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
    "count_nodes": {"depths": [1], "law": "geometric"},
    "count_leaves": {"law": "geometric"},
    "divide": {},
    "divide_in_groups": {},
}


@pytest.mark.parametrize("splits", TREES)
@pytest.mark.parametrize("verb", WITH_TREES)
def test_a_tree_that_is_none_is_refused_before_it_is_paid(verb, splits):
    """Claim: whether a record finds its node does not depend on the record. With fewer splits than
    nodes, one record beyond the first node ended in an error that named its node, at any ε."""
    for level in ("x", "z"):
        door = gate(level)
        tree = Partition(door.schema.domain, TREES[splits])
        with pytest.raises(MethodError, match="no tree"):
            getattr(door, verb)(tree, spend=SPEND, **WITH_TREES[verb])
        assert door.ledger == ()


def test_a_tree_without_what_is_asked_of_it_is_refused_before_it_is_paid():
    """Claim: what a tree lacks is public, and costs nothing to be told."""
    door = gate()
    full = Partition(door.schema.domain).divided([(0, 1, 2)])
    with pytest.raises(MethodError, match="nothing is left"):
        door.divide(full, spend=SPEND)
    with pytest.raises(MethodError, match="root alone"):
        door.divide_in_groups(full, spend=SPEND)
    for depth in (0, -1, 2):
        with pytest.raises(MethodError, match="layers below the root"):
            door.count_nodes(full, [depth], spend=SPEND, law="geometric")
    assert door.ledger == ()
