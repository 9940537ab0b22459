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
            plain = column.alias("").cast(pl.String)
            changed.append(plain.replace(quoted).alias(column.name))
    renamed = {name: _plain(name, table.columns) for name in table.columns if _acts(name)}
    return table.with_columns(changed).rename(renamed)


def _plain(name: str, taken: list[str]) -> str:
    """The name behind as many apostrophes as it takes to be no other column's."""
    quoted = f"'{name}"
    return quoted if quoted not in taken else _plain(quoted, taken)


def _texts(table: pl.DataFrame) -> list[pl.Series]:
    return [column for column in table if column.dtype in (pl.String, pl.Enum)]


def _distinct(series: pl.Series) -> list[str]:
    return [text for text in series.alias("").unique().to_list() if text is not None]


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
    if values and all(isinstance(value, bool) for value in values):
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
    if not isinstance(column, NUMERIC):
        return Cells(states, np.empty(0))
    return Cells(states, _numbers(column, states, given, rng))


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
    if ordinary.all():
        return _numbers_as(cells.numbers, column, dtype).alias(name)
    values = _numbers_as(np.where(ordinary, cells.numbers, column.bounds[0]), column, dtype)
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
    """The given numbers, and drawn ones where none is given; NaN where a state has none.

    A spike stands where it is the state, whatever is given.
    """
    assert isinstance(column, NUMERIC)
    spikes = np.full(column.size + 1, np.nan)
    spikes[: column.n_ordinary] = [one.low if one.spike else np.nan for one in column.intervals]
    numbers = spikes.take(states, mode="clip")
    ordinary = states < column.n_ordinary
    if given is not None:
        decimals = column.decimals if isinstance(column, Continuous) else 0
        rounded = given if decimals is None else np.round(given, decimals)
        np.clip(rounded, *column.bounds, out=numbers, where=ordinary & np.isnan(numbers))
    rows = np.flatnonzero(ordinary & np.isnan(numbers))
    if len(rows):
        numbers[rows] = drawn_numbers(column, states[rows], rng)
    return numbers


def drawn_numbers(
    column: Column, states: NDArray[np.integer[Any]], rng: np.random.Generator
) -> NDArray[np.float64]:
    """A number inside the interval of each record, on the grid of whole numbers or decimals.

    Args:
        column: of numbers or dates.
        states: of bins or spikes, shape (n,).
        rng: randomness.

    Returns:
        Shape (n,). Multiples of the grid that are spikes are left out of the bins; the middle
        stands for a bin that is narrower than the rounding.
    """
    assert isinstance(column, NUMERIC)
    decimals = column.decimals if isinstance(column, Continuous) else 0
    lows, highs = np.array([(one.low, one.high) for one in column.intervals]).T
    uniforms = rng.random(len(states))
    if decimals is None:
        return np.asarray(lows[states] + uniforms * (highs - lows)[states])
    grid = 10.0**decimals
    spikes = np.sort([round(one.low * grid) for one in column.intervals if one.spike])
    ends = [_grid_ends(column, one.low, one.high, grid) for one in column.intervals]
    # Places among the values of the grid that are no spikes.
    limits = np.array(ends, dtype=np.float64) + np.array([0, 1])
    firsts, afters = (one - np.searchsorted(spikes, one) for one in limits.T)
    point = np.array([one.spike or one.low == one.high for one in column.intervals])
    fixed = np.where(point, lows, np.where(afters > firsts, np.nan, (lows + highs) / 2))
    free = firsts[states] + np.floor(uniforms * (afters - firsts)[states])
    if len(spikes):
        free += np.searchsorted(spikes - np.arange(len(spikes)), free, side="right")
    drawn = fixed[states]
    return np.asarray(np.where(np.isnan(drawn), free / grid, drawn))


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
