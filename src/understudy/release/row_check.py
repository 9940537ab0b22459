"""Whether the synthetic rows of a folder are rows of its schema."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.release.rows import dtype_of
from understudy.release.shape import Fault, named
from understudy.schema import NUMERIC, Column, Continuous, Schema
from understudy.schema.values import number_of, text_of

_SLACK = 1e-9
"""Share of its range by which a number may pass a bound: rounding to decimals."""

_Flags = NDArray[np.bool_]


def require_rows(table: pl.DataFrame, schema: Schema, n_rows: int, kept: Schema) -> None:
    """Refuse a synthetic table that its schema does not allow.

    Args:
        table: as it was read.
        schema: of the release.
        n_rows: how many rows it must have.
        kept: the schema with those rules that every measurement kept.

    Raises:
        Fault: says what does not fit; a column by its name, a row not at all.
    """
    if tuple(table.columns) != schema.names:
        raise Fault("a synthetic table has other columns than its schema")
    if table.height != n_rows:
        raise Fault("a synthetic table has another number of rows than its manifest")
    for name, column in schema.columns.items():
        series = table.get_column(name)
        if series.dtype != dtype_of(column):
            raise Fault(f"the column {named(name)} has another type than its schema says")
        if series.null_count() and "" not in (*column.codes, *getattr(column, "levels", ())):
            raise Fault(f"the column {named(name)} has empty cells")
        fits = _numbers_fit if isinstance(column, NUMERIC) else _levels_fit
        if not fits(series.drop_nulls(), column):
            raise Fault(f"the column {named(name)} has values that its schema does not allow")
    _require_possible(table, kept)


def _levels_fit(series: pl.Series, column: Column) -> bool:
    """Whether all values are levels or codes; of an enumeration the type has said so."""
    if series.dtype == pl.Enum:
        return True
    known = [value for value in (*column.levels, *column.codes) if value != ""]  # type: ignore[union-attr]
    if series.dtype == pl.Boolean:
        return set(series.unique()) <= set(known)
    allowed = {number_of(value) for value in known}
    return {float(value) for value in series.unique()} <= allowed


def _numbers_fit(series: pl.Series, column: Column) -> bool:
    """Whether all values lie within the bounds, or are codes."""
    numbers = _on_the_line(series, column)
    low, high = column.bounds  # type: ignore[union-attr]
    slack = _SLACK * max(high - low, abs(low), abs(high)) if column.kind == "continuous" else 0.0
    inside = (numbers >= low - slack) & (numbers <= high + slack)
    if inside.all():
        return True
    left = series.filter(pl.Series(~inside)).unique()
    if left.dtype == pl.String:
        return set(left) <= {text_of(code) for code in column.codes}
    if left.dtype == pl.Date:
        return False
    return {float(value) for value in left} <= {number_of(code) for code in column.codes}


def _on_the_line(series: pl.Series, column: Column) -> NDArray[np.float64]:
    """Numbers of a column without nulls (dates: days since 1970-01-01); NaN for texts."""
    if column.kind == "date" and series.dtype == pl.String:
        series = series.str.to_date("%Y-%m-%d", strict=False)
    if series.dtype == pl.Date:
        series = series.cast(pl.Int32)
    return series.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def _require_possible(table: pl.DataFrame, schema: Schema) -> None:
    """Refuse rows that a rule forbids wherever rounding may have moved them from."""
    for rule in schema.forbidden:
        inside = np.ones(table.height, dtype=np.bool_)
        for name, states in rule.states(schema.columns).items():
            inside &= _surely_in(table.get_column(name), schema.columns[name], states)
        if inside.any():
            raise Fault("a synthetic table has rows that its schema declares impossible")


def _surely_in(series: pl.Series, column: Column, states: frozenset[int]) -> _Flags:
    """Which values have one of the states; numbers, wherever in their last digit they lie."""
    if not isinstance(column, NUMERIC):
        return _named_in(series, column, states)
    absent = [code for k, code in enumerate(column.codes, column.n_ordinary) if k in states]
    coded = series.is_null().to_numpy() & ("" in absent)
    filled = series.is_not_null().to_numpy()
    numbers = np.full(series.len(), np.nan)
    numbers[filled] = _on_the_line(series.drop_nulls(), column)
    low, high = column.bounds
    ordinary = (numbers >= low) & (numbers <= high)
    if series.dtype == pl.String:
        texts = [text_of(code) for code in absent if code != ""]
        coded |= series.is_in(texts).fill_null(value=False).to_numpy()
    else:
        coded |= np.isin(numbers, [n for code in absent if (n := number_of(code)) is not None])
    width = _width(column)
    places = (np.clip(numbers[ordinary] + off, low, high) for off in (-width, 0.0, width))
    found = np.zeros(series.len(), dtype=np.bool_)
    found[ordinary] = np.logical_and.reduce([_in_bins(one, column, states) for one in places])
    return found | (coded & ~ordinary)


def _named_in(series: pl.Series, column: Column, states: frozenset[int]) -> _Flags:
    values = (*column.levels, *column.codes)  # type: ignore[union-attr]
    wanted = [values[k] for k in states]
    found = series.is_null() & ("" in wanted)
    if series.dtype == pl.Enum:
        texts = [text_of(value) for value in wanted if value != ""]
        found |= series.cast(pl.String).is_in(texts).fill_null(value=False)
    elif series.dtype == pl.Boolean:
        found |= series.is_in([bool(value) for value in wanted if value != ""]).fill_null(
            value=False
        )
    else:
        numbers = [n for value in wanted if (n := number_of(value)) is not None]
        found |= series.cast(pl.Float64).is_in(numbers).fill_null(value=False)
    return found.to_numpy()


def _width(column: Column) -> float:
    """How far rounding moves a number at most; whole numbers and days stay."""
    if not isinstance(column, Continuous):
        return 0.0
    low, high = column.bounds
    grid = 0.0 if column.decimals is None else 0.5 * 10.0**-column.decimals
    return grid + _SLACK * max(high - low, abs(low), abs(high))


def _in_bins(numbers: NDArray[np.float64], column: Column, states: frozenset[int]) -> _Flags:
    """Which numbers lie in a bin, or on a spike, of these states."""
    assert isinstance(column, NUMERIC)
    intervals = column.intervals
    bins: Sequence[int] = [k for k, one in enumerate(intervals) if not one.spike]
    member = np.array([k in states for k in bins])
    lows = np.array([intervals[k].low for k in bins])
    found = member[np.maximum(np.searchsorted(lows, numbers, side="right") - 1, 0)]
    for k, one in enumerate(intervals):
        if one.spike:
            found[numbers == one.low] = k in states
    return found
