"""What holds rows or exact values says nothing of itself and lets nobody copy it."""

import copy
import operator
import pickle

import numpy as np
import polars as pl
import pytest

from understudy.data.base import Confidential
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SecureRandomness
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

SCHEMA = Schema.loads(
    '[columns.name]\nkind = "categorical"\nlevels = ["Zelda"]\nsource = "codebook"\nreviewed = true'
)
ROWS = pl.DataFrame({"name": ["Zelda"] * 4711})

USES = {
    "format": format,
    "f-string": lambda one: f"{one:>3}",
    "truth": bool,
    "length": len,
    "iteration": iter,
    "unpacking": lambda one: [*one],
    "membership": lambda one: 4711 in one,
    "index": lambda one: one[0],
    "hash": hash,
    "set": lambda one: {one},
    "equal": lambda one: one == 4711,
    "unequal": lambda one: one != 4711,
    "less": lambda one: one < 4711,
    "at most": lambda one: one <= 4711,
    "more": lambda one: one > 4711,
    "at least": lambda one: one >= 4711,
    "sorted": lambda one: sorted([one, one]),
    "int": int,
    "float": float,
    "complex": complex,
    "round": round,
    "as an index": operator.index,
    "as a slot": lambda one: [0, 1][one],
    "array": np.asarray,
    "series": lambda one: pl.Series([0]) + one,
    "sum": lambda one: sum([one]),
    "plus": lambda one: one + 1,
    "times": lambda one: 2 * one,
    "negative": operator.neg,
    "pickle": pickle.dumps,
    "old pickle": lambda one: pickle.dumps(one, protocol=0),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "attributes": vars,
    "state": lambda one: one.__getstate__(),
    "another attribute": lambda one: setattr(one, "copy", 1),
}
VALUES = [4711, 4711.5, "Zelda", [4711], {"Zelda": 4711}, np.arange(4711)]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("value", VALUES, ids=lambda one: type(one).__name__)
def test_a_confidential_value_refuses_to_be_used(use, value):
    with pytest.raises((TypeError, AttributeError)) as fault:
        use(Confidential(value))
    assert "4711" not in str(fault.value)
    assert "Zelda" not in str(fault.value)


def holders():
    """Everything on the secret side of the gate, and the gate itself."""
    table = Table(ROWS, SCHEMA)
    return {
        "value": Confidential(4711),
        "rows": table,
        "total": table.total(),
        "counts": table.count([(0,)]),
        "cells": table.count_occupied((0,)),
        "gate": open_gate(table, Budget.of(1), SecureRandomness()),
        "randomness": SecureRandomness(),
    }


@pytest.fixture(params=["value", "rows", "total", "counts", "cells", "gate", "randomness"])
def holder(request):
    return holders()[request.param]


@pytest.mark.parametrize("shown", [repr, str, "{!r}".format, "{0!s:>60}".format])
def test_what_is_shown_holds_no_data(holder, shown):
    text = shown(holder)
    assert "4711" not in text
    assert "Zelda" not in text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_can_be_pickled(holder, protocol):
    with pytest.raises(TypeError):
        pickle.dumps(holder, protocol=protocol)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_nothing_can_be_copied(holder, copied):
    with pytest.raises(TypeError):
        copied(holder)


def test_the_value_is_there_for_a_mechanism_that_paid():
    assert Table(ROWS, SCHEMA).total().expose() == ROWS.height
