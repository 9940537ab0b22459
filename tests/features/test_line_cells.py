"""Cells of number lines: they divide the declared bins, and every value has its own."""

import datetime
from itertools import chain, combinations

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.features.grids import (
    FINE,
    MOST_EVEN,
    MOST_TIMES,
    SINGLE,
    LineCells,
    coarse_states,
    even_bins,
    is_finer,
    is_plain,
    line_bins,
    line_times,
    own_bins,
)
from understudy.schema import Schema
from understudy.schema.coarsening import with_cuts

WHOLE = "kind = 'integer'\nlower = 0\nupper = 1000\nbins = [0, 10, 200, 1000]\n"
COLUMNS = {
    "whole": WHOLE,
    "whole by default": "kind = 'integer'\nlower = 0\nupper = 999\n",
    "whole with spikes": WHOLE + "spikes = [0, 9, 10, 11, 500, 1000]\nmissing = [-9, 2000]\n",
    "ages": "kind = 'integer'\nlower = 18\nupper = 99\nbins = [18, 30, 60, 99]\n",
    "heaped": "kind = 'integer'\nlower = 0\nupper = 80\nbins = [0, 15, 40, 80]\nspikes = [0, 40]\n",
    "steps": "kind = 'continuous'\nlower = 0\nupper = 1\ndecimals = 2\nbins = 4\n",
    "tenths": "kind = 'continuous'\nlower = 0\nupper = 80\ndecimals = 1\nbins = 6\nspikes = [0]\n",
    "real": "kind = 'continuous'\nlower = -3.5\nupper = 0.7\nbins = [-3.5, 0, 0.7]\n",
    "days": "kind = 'date'\nlower = 2020-01-01\nupper = 2020-12-31\n",
    "short days": "kind = 'date'\nlower = 2020-01-01\nupper = 2020-03-31\nbins = 3\n",
}


def schema_of(text):
    return Schema.loads(f"[columns.x]\n{text}out_of_domain = '?'\nreviewed = true\n")


def fine(text):
    schema = schema_of(text)
    column = schema.columns["x"]
    return column, schema.with_bins({"x": line_bins(column)}).columns["x"]


def bins_of(column):
    return [interval for interval in column.intervals if not interval.spike]


@pytest.mark.parametrize("name", COLUMNS)
def test_cells_divide_the_bins_and_keep_spikes_and_codes(name):
    column, line = fine(COLUMNS[name])
    assert is_finer(line, column)
    assert [i for i in line.intervals if i.spike] == [i for i in column.intervals if i.spike]
    assert line.labels[line.n_ordinary :] == column.labels[column.n_ordinary :]
    assert len(bins_of(line)) <= max(SINGLE, FINE + len(bins_of(column)))
    for state, coarse in enumerate(coarse_states(line, column)[: line.n_ordinary]):
        inner, outer = line.intervals[state], column.intervals[coarse]
        assert outer.low <= inner.low <= inner.high <= outer.high
        assert inner.spike == outer.spike


@pytest.mark.parametrize("name", COLUMNS)
def test_the_cells_of_a_finer_line_divide_those_of_the_usual_one(name):
    column, usual = fine(COLUMNS[name])
    schema = schema_of(COLUMNS[name])
    for times in (4, 8, MOST_TIMES):
        line = LineCells.of_line(schema, "x", times).column
        assert is_finer(line, column)
        assert is_finer(line, usual) or line == usual
        assert len(bins_of(line)) <= times * max(SINGLE, FINE + len(bins_of(column)))
    assert LineCells.of_line(schema, "x", 1).column == usual


def test_with_more_records_or_less_noise_a_line_has_no_fewer_cells():
    for noises in ((0.0, 1, 5, 24, 200), (24,)):
        times = [[line_times(n, one) for n in (0, 10, 5_000, 10**5, 10**9)] for one in noises]
        assert (np.diff(times, axis=0) <= 0).all()
        assert (np.diff(times, axis=1) >= 0).all()
        assert {1, MOST_TIMES} <= {*np.ravel(times)} <= {1, 4, 8, MOST_TIMES}


@pytest.mark.parametrize(("name", "cells"), [("ages", 82), ("short days", 91), ("heaped", 78)])
def test_few_values_have_a_cell_each(name, cells):
    """Where spikes are, the cell around one is shared with a neighbour, and so is the last."""
    _, line = fine(COLUMNS[name])
    widths = [interval.high - interval.low for interval in bins_of(line)]
    assert len(widths) == cells
    spikes = sum(interval.spike for interval in line.intervals)
    assert sum(widths) <= 1.5 * spikes


def test_none_is_finer_than_the_unit():
    _, line = fine(COLUMNS["tenths"])
    lows = np.array([interval.low for interval in bins_of(line)])
    tenths = lows * 10
    kept = np.linspace(0, 800, 7)  # declared edges stay where they are
    assert all(abs(t - round(t)) < 1e-9 or np.isclose(kept, t).any() for t in tenths)
    assert (np.diff(lows) > 0.1 - 1e-9).all()


@pytest.mark.parametrize("more", ["", "spikes = [3]\nbins = [1, 2, 3, 5]\n"])
def test_single_values_have_the_cells_of_their_bins_and_what_lies_beyond(more):
    text = "kind = 'integer'\nlower = 1\nupper = 5\n" + more
    column, line = fine(text)
    assert is_plain(column)
    assert line.intervals == column.intervals
    assert not is_finer(line, column)
    assert not is_plain(fine(COLUMNS["ages"])[0])


VALUES = {
    WHOLE: ([0, 1000, -1, 1001, -9, 10**6, 499.5, None], [0, "last", "<", ">", "<", ">", "?", "?"]),
    COLUMNS["whole with spikes"]: (
        [0, 1000, -1, 2000, -9, 2001],
        ["spike 0", "spike 1000", "<", "2000", "-9", ">"],
    ),
    COLUMNS["real"]: (
        [-3.5, 0.7, float(np.float32(0.7)), 0.7001, -3.6, float("inf"), float("nan")],
        [0, "last", "last", ">", "<", "?", "?"],
    ),
    COLUMNS["days"]: (
        [datetime.date(2020, 1, 1), datetime.date(2020, 12, 31), datetime.date(2021, 1, 1)],
        [0, "last", ">"],
    ),
}


@pytest.mark.parametrize("text", VALUES)
def test_each_value_is_in_one_cell(text):
    values, expected = VALUES[text]
    schema, (_, line) = schema_of(text), fine(text)
    cells = LineCells(line)
    names = {"last": line.n_ordinary - 1, "<": line.size, ">": line.size + 1}
    names["?"] = line.size - 1  # the declared code for what is out of domain
    for value, meant in zip(values, expected, strict=True):
        table = Table(pl.DataFrame({"x": [value]}, strict=False), schema)
        counts = table.line_counts({"x": cells}).expose()["x"]
        assert counts.sum() == 1
        place = names.get(meant, meant)
        if isinstance(place, str):
            place = next(k for k, label in enumerate(line.labels) if label == place.split()[-1])
        assert counts[place] == 1, (value, meant)


def test_labels_and_ends():
    _, line = fine(COLUMNS["whole with spikes"])
    cells = LineCells(line)
    assert cells.labels[-2:] == ("below 0", "above 1000")
    assert len(cells.labels) == cells.size
    low, high = cells.ends
    assert (line.labels[low], line.labels[high]) == ("0", "1000")
    _, line = fine(COLUMNS["real"])
    assert LineCells(line).ends == (0, line.n_ordinary - 1)


@pytest.mark.parametrize(
    "text",
    [
        'kind = "integer"\nlower = 0\nupper = 9000000000000000\nspikes = [0, 1, 7]',
        'kind = "datetime"\nlower = 1990-01-01T00:00:00\nupper = 2030-01-01T00:00:00',
    ],
    ids=["whole", "moments"],
)
def test_a_line_costs_no_more_where_bounds_are_far_apart(text):
    """Values are not gone through one by one: these would not fit into memory."""
    schema = Schema.loads(f'[columns.x]\n{text}\nsource = "made"\nreviewed = true')
    assert 60 <= len(line_bins(schema.columns["x"])) <= 70


def test_parts_that_only_spikes_fill_are_no_cells():
    """Every choice of spikes among nine values in two bins: each cell has a value that is none."""
    for spikes in chain.from_iterable(combinations(range(10), k) for k in range(10)):
        if {0, 1, 2, 3, 4} <= {*spikes} or {5, 6, 7, 8, 9} <= {*spikes}:
            continue  # a schema has no bin of spikes alone
        head = "[columns.x]\nkind = 'integer'\nlower = 0\nupper = 9\nbins = 2\nreviewed = true"
        schema = Schema.loads(f"{head}\nspikes = {list(spikes)}")
        bins = line_bins(schema.columns["x"])
        for cell in schema.with_bins({"x": bins}).columns["x"].intervals:
            values = {*range(int(cell.low), int(cell.high) + 1)}
            assert cell.spike or values - {*spikes}


def test_levels_have_no_line():
    schema = Schema.loads("[columns.x]\nkind = 'boolean'\nreviewed = true\n")
    with pytest.raises(TypeError, match="numeric"):
        LineCells.of(schema, "x")


@pytest.mark.parametrize("name", ["whole by default", "tenths", "steps", "days"])
def test_even_bins_have_about_as_many_numbers_each(name):
    """By exact counts; where too few values are known apart, each has a bin of its own."""
    column, line = fine(COLUMNS[name].replace("bins = 6\n", "").replace("bins = 4\n", ""))
    low, high = column.bounds
    numbers = low + (high - low) * np.random.default_rng(1).beta(1, 4, 20_000)
    numbers = numbers if name in {"tenths", "steps"} else numbers.round()
    starts = np.array([one.low for one in bins_of(line)])
    own = np.bincount(np.searchsorted(starts, numbers, "right") - 1, minlength=len(starts))
    spikes = [one.low for one in line.intervals if one.spike]
    counts = np.zeros(line.size + 2)
    counts[[k for k, one in enumerate(line.intervals) if not one.spike]] = own
    bins = even_bins(counts, LineCells(line), column)
    even = schema_of(COLUMNS[name]).with_bins({"x": bins}).columns["x"]
    edges = [one.low for one in bins_of(even)]
    filled = np.histogram(numbers, [*edges, high])[0]
    assert len(edges) == MOST_EVEN
    assert np.abs(filled - 500).max() < 400, spikes


def test_even_bins_keep_what_conditions_need_and_fall_back_on_those_of_the_column():
    column, _ = fine(COLUMNS["whole by default"])
    cut = with_cuts(column, [777])
    line = schema_of(COLUMNS["whole by default"]).with_bins({"x": line_bins(cut)}).columns["x"]
    counts = np.zeros(line.size + 2)
    counts[0] = 1_000.0
    assert 777 in even_bins(counts, LineCells(line), cut)
    assert even_bins(-counts, LineCells(line), cut) == own_bins(cut)
