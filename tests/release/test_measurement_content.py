"""Nodes, sums of leaves and choices survive the way to the folder and back."""

import json

import numpy as np
import pytest

from understudy.dp.released import NO_NOISE, Choice, Noise, NoisyNodes, Released
from understudy.release.measurement import Measurement, content_of
from understudy.schema import Schema

SCHEMA = Schema.loads("""
rows = "private"
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 18, 65, 99]
missing = [""]
reviewed = true
""")
NOISE = Noise("discrete_laplace", "2", 2.7)
STATES = np.array([[0, 2], [0, -1], [1, -1]])


def nodes(**more):
    counts = np.array([5, -1, 9])
    return NoisyNodes(("sex", "age"), STATES, counts, 1.0, np.array([1, 1, 4]), **more)


def there_and_back(value, noise=NOISE):
    # `Released(` belongs to the privacy room; a test may make one of its parts.
    released = Released.__new__(Released)
    for name, part in (("value", value), ("noise", noise), ("mechanism", "m"), ("entry", 3)):
        object.__setattr__(released, name, part)
    before = Measurement.from_released(released, "table-1", SCHEMA)
    cells = before.frame(SCHEMA) if before.name else None
    text = json.dumps(before.to_json())
    return before, Measurement.from_json(json.loads(text), cells, SCHEMA)


@pytest.mark.parametrize("below", [(), ("sex", "age")])
def test_nodes_are_written_with_a_word_for_open_columns_and_read_back(below):
    totals = {"positive_cells": 3.0, "positive_mass": 14.0} if below else None
    before, after = there_and_back(nodes(below=below, totals=totals))
    assert before.kind == after.kind == ("leaf-sums" if below else "nodes")
    assert after.columns == ("sex", "age")
    assert after.codes.tolist() == before.codes.tolist() == [2, 4, 9]
    assert after.counts.tolist() == [5, -1, 9]
    assert (after.totals, after.outside, after.stddev, after.entry) == (totals, 1.0, 2.7, 3)
    frame = before.frame(SCHEMA)
    assert frame["age"].to_list() == ["65 to 99", "(any)", "(any)"]
    assert frame["sex"].to_list() == ["f", "f", "m"]


def test_a_choice_has_columns_and_no_file():
    before, after = there_and_back(Choice(("age", "sex")), NO_NOISE)
    assert (after.kind, after.name, after.columns) == ("choice", "", ("age", "sex"))
    assert len(before.codes) == len(before.counts) == 0


def test_a_value_of_another_kind_is_not_stored():
    with pytest.raises(TypeError, match="int"):
        content_of(3, SCHEMA)
