"""Cells of heaps: every value is in one, and zones follow from public facts."""

import numpy as np
import pytest

from understudy.features.grids import ZONES, HeapCells, heaped_columns
from understudy.schema import Schema


def cells(text):
    return HeapCells.of(Schema.loads(f"[columns.x]\n{text}"), "x")


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("kind='integer'\nlower=0\nupper=120\nheaps=[10, 5]", [10, 20, 40]),
        ("kind='integer'\nlower=18\nupper=120\nheaps=[10]", [20, 30, 60]),
        (
            "kind='integer'\nlower=-500\nupper=729000\nheaps=[1000]",
            [0, 3e3, 9e3, 27e3, 81e3, 243e3],
        ),
        ("kind='integer'\nlower=-50\nupper=0\nheaps=[10]", [-40, -30]),
        ("kind='integer'\nlower=0\nupper=9\nheaps=[10]", []),
    ],
)
def test_zones_grow_and_begin_on_the_first_heap(text, edges):
    assert cells(text).edges.tolist() == edges
    assert cells(text).n_zones <= ZONES + 1


def test_labels_are_distinct_and_say_what_is_counted():
    own = cells("kind='continuous'\nlower=0\nupper=90\ndecimals=2\nheaps=[10,{every=1,at=0.99}]")
    assert len(set(own.labels)) == len(own.labels) == own.size
    assert own.labels[:3] == ("0 to 10: every 10", "0 to 10: every 1 at 0.99", "0 to 10: other")
    assert own.labels[-1] == "(no class)"
    day = cells("kind='date'\nlower=2024-01-01\nupper=2024-01-31\nheaps=['P7D']")
    assert day.labels[-2] == "2024-01-11 to 2024-01-31: other"


def test_spikes_codes_and_what_lies_beyond_have_no_class():
    own = cells(
        "kind='integer'\nlower=0\nupper=99\nbins=[0,50,99]\nspikes=[40]\nmissing=[-9]\nheaps=[10]"
    )
    states = np.array([0, 0, 1, 2, 3, 2, 2, 4])  # a bin, the spike, the other bin, a code, none
    numbers = np.array([10.0, 11, 40, 60, -9, 105, np.nan, np.nan])
    states[[0, 1]] = own.column.intervals.index(
        next(one for one in own.column.intervals if not one.spike)
    )
    states[2] = next(k for k, one in enumerate(own.column.intervals) if one.spike)
    found = own.places(states, numbers).tolist()
    assert [own.labels[k] if k < own.size else "out" for k in found] == [
        *("10 to 19: every 10", "10 to 19: other", "(no class)", "40 to 99: every 10"),
        *("(no class)", "(no class)", "(no class)", "out"),
    ]


def test_columns_whose_bins_say_it_all_have_nothing_to_count():
    schema = Schema.loads(
        """
        [columns.each]
        kind = "integer"
        lower = 0
        upper = 40
        heaps = [10]
        [columns.wide]
        kind = "integer"
        lower = 0
        upper = 40
        bins = 4
        heaps = [10]
        [columns.none]
        kind = "integer"
        lower = 0
        upper = 40
        bins = 4
        """
    )
    assert heaped_columns(schema) == ("wide",)
    with pytest.raises(TypeError):
        HeapCells.of(schema, "none")
