"""From state numbers back to values: dtypes, order and absent values come from the schema alone.

In a CSV, texts are guarded that a spreadsheet would take for a formula and run. A level is whatever
the schema calls it, and a spreadsheet evaluates a cell that begins with "=", "+", "-", "@", a tab
or a line break, quoted or not. An apostrophe before it makes it a text. Numbers are left alone: −9
is a number to everybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.release.ordered_numbers import put_in_order
from understudy.release.places_of_values import dtype_of_times, values_of
from understudy.schema import NUMERIC, Calendar, Column, Continuous, Schema
from understudy.schema.cell_values import Code, is_number, number_of, text_of
from understudy.schema.derived_columns import Cells, computed

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def has_formulas(table: pl.DataFrame) -> bool:
    """Whether a column or a value of it would be taken for a formula."""
    names = any(_acts(name) for name in table.columns)
    return names or any(_acts(text) for column in _texts(table) for text in _distinct(column))


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before each such text, in its header as well.

    Example:
        >>> table = pl.DataFrame({"=x": ["=1+1", "-9", "ok"]})
        >>> without_formulas(table).to_dict(as_series=False)
        {"'=x": ["'=1+1", '-9', 'ok']}
    """
    changed = []
    for column in _texts(table):
        quoted = {text: f"'{text}" for text in _distinct(column) if _acts(text)}
        if quoted:
            changed.append(column.cast(pl.String).replace(quoted).alias(column.name))
    renamed = {name: _plain(name, table.columns) for name in table.columns if _acts(name)}
    return table.with_columns(changed).rename(renamed)


def _plain(name: str, taken: list[str]) -> str:
    """The name behind as many apostrophes as it takes to be no other column's."""
    quoted = f"'{name}"
    return quoted if quoted not in taken else _plain(quoted, taken)


def _texts(table: pl.DataFrame) -> list[pl.Series]:
    return [column for column in table if column.dtype in (pl.String, pl.Enum)]


def _distinct(series: pl.Series) -> list[str]:
    return [text for text in series.unique().to_list() if text is not None]


def _acts(text: str) -> bool:
    return text.startswith(_STARTS) and number_of(text) is None


FrameKind = Literal["pandas", "polars", "arrow"]


def require_frame(frame: object) -> None:
    """Refuse a kind of data frame that is not known.

    Raises:
        ReleaseError: it is none of "pandas", "polars" and "arrow".
    """
    if frame not in get_args(FrameKind):
        raise ReleaseError(f"frame must be one of {', '.join(get_args(FrameKind))}.")


def dtype_of(column: Column) -> pl.DataType:
    """Type of a released column; a function of the schema alone.

    A numeric column with codes in text ("refused") becomes text, so that no code is lost. The
    empty code is a null in every type.
    """
    codes = [code for code in column.codes if code != ""]
    if isinstance(column, NUMERIC):
        return _numeric_dtype(column, codes)
    values = [*(level for level in column.levels if level != ""), *codes]
    if all(isinstance(value, bool) for value in values):
        return pl.Boolean()
    if all(is_number(value) for value in values):
        return pl.Int64() if all(isinstance(value, int) for value in values) else pl.Float64()
    return pl.Enum([text_of(value) for value in values])


def _numeric_dtype(column: Column, codes: Sequence[Code]) -> pl.DataType:
    if isinstance(column, Calendar):
        return pl.String() if codes else dtype_of_times(column)
    if not all(is_number(code) for code in codes):
        return pl.String()
    whole = column.kind == "integer" and all(isinstance(code, int) for code in codes)
    return pl.Int64() if whole else pl.Float64()


def decode(
    states: Sequence[NDArray[np.integer[Any]]],
    schema: Schema,
    rng: np.random.Generator,
    values: Mapping[str, NDArray[np.float64]] | None = None,
) -> pl.DataFrame:
    """Values for coded records; numbers that are not given are drawn uniformly within their bin.

    Numbers are put in the order that inequalities declare, and derived columns are computed;
    identifiers are left to `understudy.release.fresh_identifiers`.

    Args:
        states: one array of state numbers per column, each of shape (n,).
        schema: what the states mean.
        rng: randomness for places within bins.
        values: numbers that are given, by column, each of shape (n,); used where the state is a
            bin, and rounded to what the column holds. NaN stands for one that is not given.
    """
    given = values or {}
    if schema.relations or schema.derived:
        return written(cells_of(states, schema, rng, given), schema)
    pairs = zip(schema.columns.items(), states, strict=True)  # each by itself, and then let go
    return pl.DataFrame(
        [
            _series(name, column, _cells(column, codes, rng, given.get(name)))
            for (name, column), codes in pairs
        ]
    )


def cells_of(
    states: Sequence[NDArray[np.integer[Any]]],
    schema: Schema,
    rng: np.random.Generator,
    values: Mapping[str, NDArray[np.float64]],
) -> dict[str, Cells]:
    """What `decode` writes, not yet written: all declared columns of some records."""
    pairs = zip(schema.columns.items(), states, strict=True)
    cells = {name: _cells(col, codes, rng, values.get(name)) for (name, col), codes in pairs}
    if schema.relations:
        cells = put_in_order(cells, schema, rng)
    if schema.derived:
        cells |= computed(schema.stated, cells)
    return cells


def written(cells: Mapping[str, Cells], schema: Schema) -> pl.DataFrame:
    """Records as a table, from all of their columns."""
    return pl.DataFrame([_series(name, col, cells[name]) for name, col in schema.stated.items()])


def _cells(
    column: Column,
    states: NDArray[np.integer[Any]],
    rng: np.random.Generator,
    given: NDArray[np.float64] | None,
) -> Cells:
    """States, and the numbers of those that are bins or spikes; NaN for others."""
    codes = np.asarray(states, dtype=np.int64)
    if not isinstance(column, NUMERIC):
        return Cells(codes, np.empty(0))
    ordinary = codes < column.n_ordinary
    numbers = _numbers(column, np.where(ordinary, codes, 0), given, rng)
    return Cells(codes, np.where(ordinary, numbers, np.nan))


def _series(name: str, column: Column, cells: Cells) -> pl.Series:
    """A column of a release from its states and numbers."""
    dtype, states = dtype_of(column), cells.states
    if not isinstance(column, NUMERIC):
        named = pl.Series(
            [_as(value, dtype) for value in (*column.levels, *column.codes)], dtype=dtype
        )
        return named.gather(states).alias(name)
    codes = pl.Series([_as(code, dtype) for code in column.codes], dtype=dtype)
    ordinary = states < column.n_ordinary
    values = _numbers_as(np.where(ordinary, cells.numbers, column.bounds[0]), column, dtype)
    if ordinary.all():
        return values.alias(name)
    absent = codes.gather(np.where(ordinary, 0, states - column.n_ordinary))
    return values.zip_with(pl.Series(ordinary), absent).alias(name)


def _as(value: Code, dtype: pl.DataType) -> Any:
    if value == "":
        return None
    if dtype in (pl.Enum, pl.String):
        return text_of(value)
    number = number_of(value) if dtype == pl.Float64 else None
    return value if number is None else number


def _numbers_as(numbers: NDArray[np.float64], column: Column, dtype: pl.DataType) -> pl.Series:
    if isinstance(column, Calendar):
        return values_of(numbers, column, dtype)
    if column.kind == "integer":
        values = pl.Series(numbers.astype(np.int64))
    else:
        values = pl.Series(numbers)
    return values.cast(dtype)


def _numbers(
    column: Column,
    states: NDArray[np.integer[Any]],
    given: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """The given numbers, and drawn ones where none is given."""
    absent = np.ones(len(states), dtype=np.bool_) if given is None else np.isnan(given)
    if given is not None and not absent.any():
        return _given_numbers(column, states, given)
    drawn = drawn_numbers(column, states, rng)
    if given is None:
        return drawn
    chosen = np.where(absent, drawn, given)
    return np.where(absent, drawn, _given_numbers(column, states, chosen))


def _given_numbers(
    column: Column, states: NDArray[np.integer[Any]], given: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Given numbers, rounded and kept within the bounds; a spike stands where it is the state."""
    assert isinstance(column, NUMERIC)
    decimals = column.decimals if isinstance(column, Continuous) else 0
    rounded = given if decimals is None else np.round(given, decimals)
    inside = np.clip(rounded, *column.bounds)
    spike = np.array([interval.spike for interval in column.intervals])
    if not spike.any():
        return np.asarray(inside)
    low = np.array([interval.low for interval in column.intervals])
    return np.where(spike[states], low[states], inside)


def drawn_numbers(
    column: Column, states: NDArray[np.integer[Any]], rng: np.random.Generator
) -> NDArray[np.float64]:
    """A number inside the interval of each record, on the grid of whole numbers or decimals."""
    assert isinstance(column, NUMERIC)
    decimals = column.decimals if isinstance(column, Continuous) else 0
    if decimals is None:
        low = np.array([interval.low for interval in column.intervals])
        high = np.array([interval.high for interval in column.intervals])
        return np.asarray(low[states] + rng.random(len(states)) * (high - low)[states])
    return _draw_on_grid(column, states, 10.0**decimals, rng)


def _draw_on_grid(
    column: Column, states: NDArray[np.integer[Any]], grid: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Multiples of 1/grid inside each interval, those that are spikes left out of the bins."""
    assert isinstance(column, NUMERIC)
    result = np.empty(len(states))
    spikes = np.array(
        [round(interval.low * grid) for interval in column.intervals if interval.spike]
    )
    for k, interval in enumerate(column.intervals):
        rows = np.flatnonzero(states == k)
        if interval.spike or interval.low == interval.high or not len(rows):
            result[rows] = interval.low
            continue
        first, last = _grid_ends(column, interval.low, interval.high, grid)
        holes = np.sort(spikes[(spikes >= first) & (spikes <= last)])
        n_free = last - first + 1 - len(holes)
        if n_free < 1:  # a bin narrower than the rounding: its middle stands for it
            result[rows] = (interval.low + interval.high) / 2
            continue
        drawn = rng.integers(first, first + n_free, size=len(rows))
        for hole in holes:
            drawn += drawn >= hole
        result[rows] = drawn / grid
    return result


def _grid_ends(column: Column, low: float, high: float, grid: float) -> tuple[int, int]:
    first, last = int(np.ceil(low * grid)), int(np.floor(high * grid))
    open_end = isinstance(column, Continuous) and high < column.upper and last / grid >= high
    return first, last - open_end


def to_frame(table: pl.DataFrame, schema: Schema, kind: FrameKind) -> Any:
    """The table as the kind of data frame that is wanted; dtypes depend on the schema alone.

    In pandas, whole numbers and truth values that may be absent have the nullable types, ordinal
    levels an ordered category.
    """
    if kind == "polars":
        return table
    if kind == "arrow":
        return table.to_arrow()
    frame = table.to_pandas()
    for name, column in schema.stated.items():
        nullable = "" in column.codes or "" in getattr(column, "levels", ())
        dtype = table.schema[name]
        if dtype in (pl.Int64, pl.Boolean) and nullable:
            plain = table.get_column(name).to_list()
            frame[name] = _nullable(plain, "Int64" if dtype == pl.Int64 else "boolean")
        elif dtype == pl.Enum:
            frame[name] = (
                frame[name].cat.as_ordered()
                if column.kind == "ordinal"
                else (frame[name].cat.as_unordered())
            )
    return frame


def _nullable(values: list[Any], dtype: str) -> Any:
    import pandas as pd

    return pd.array(values, dtype=dtype)
