"""Whether the synthetic rows of a folder are rows of its schema.

All questions are asked of a table at once, as expressions that Polars evaluates in its own threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import groupby
from operator import and_, or_

import polars as pl

from understudy.release.decoding import dtype_of
from understudy.release.shape import Fault, named
from understudy.schema import NUMERIC, Column, Continuous, Schema
from understudy.schema.cell_values import Code, number_of, text_of

_SLACK = 1e-9
"""Share of its range by which a number may pass a bound: rounding to decimals."""


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
        if table.schema[name] != dtype_of(column):
            raise Fault(f"the column {named(name)} has another type than its schema says")
        if table.get_column(name).null_count() and not _has_empty(column):
            raise Fault(f"the column {named(name)} has empty cells")
    allowed = {name: _allowed(name, column) for name, column in schema.columns.items()}
    found = table.select(one.all().alias(name) for name, one in allowed.items())
    for name in allowed:
        if not found.item(0, name):
            raise Fault(f"the column {named(name)} has values that its schema does not allow")
    # A row that is impossible wherever rounding may have moved it from.
    rules = [
        reduce(and_, (_surely_in(name, kept.columns[name], states) for name, states in one.items()))
        for one in (rule.states(kept.columns) for rule in kept.forbidden)
    ]
    if rules and table.select(reduce(or_, rules).any()).item():
        raise Fault("a synthetic table has rows that its schema declares impossible")


def _has_empty(column: Column) -> bool:
    return "" in (*column.codes, *getattr(column, "levels", ()))


def _allowed(name: str, column: Column) -> pl.Expr:
    """Whether a value is one of the column's; null for an empty cell."""
    dtype, values = dtype_of(column), pl.col(name)
    if isinstance(column, NUMERIC):
        low, high = column.bounds
        slack = _slack(column)
        inside = _number(name, column).is_between(low - slack, high + slack)
        if dtype == pl.String:
            texts = [text_of(code) for code in column.codes if code != ""]
            return inside.fill_null(value=False) | values.is_in(texts)
        return inside if dtype == pl.Date else inside | values.is_in(_numbers(column.codes))
    if dtype == pl.Enum:  # its type has said so
        return pl.lit(value=True)
    if dtype == pl.Boolean:
        return values.is_in([one for one in (*column.levels, *column.codes) if one != ""])
    return values.cast(pl.Float64).is_in(_numbers((*column.levels, *column.codes)))


def _surely_in(name: str, column: Column, states: frozenset[int]) -> pl.Expr:
    """Whether a value has one of the states; a number, wherever in its last digit it lies."""
    values, dtype = pl.col(name), dtype_of(column)
    if not isinstance(column, NUMERIC):
        return _is_one_of(values, dtype, [(*column.levels, *column.codes)[k] for k in states])
    number = _number(name, column)
    found = pl.lit(value=False)
    for low, high in _runs(column, states):
        found |= number.is_between(low, high)
    spikes = {one.low: k in states for k, one in enumerate(column.intervals) if one.spike}
    found &= ~number.is_in([low for low, inside in spikes.items() if not inside])
    if not isinstance(column, Continuous):
        found |= number.is_in([low for low, inside in spikes.items() if inside])
    codes = [code for k, code in enumerate(column.codes, column.n_ordinary) if k in states]
    return found.fill_null(value=False) | _is_one_of(values, dtype, codes)


def _is_one_of(values: pl.Expr, dtype: pl.DataType, wanted: list[Code]) -> pl.Expr:
    """Whether a value is one of these levels or codes; the empty one is a null."""
    named_ones = [one for one in wanted if one != ""]
    if isinstance(dtype, pl.Enum):
        places = {text: k for k, text in enumerate(dtype.categories)}
        found = values.to_physical().is_in([places[text_of(one)] for one in named_ones])
    elif dtype == pl.String:
        found = values.is_in([text_of(one) for one in named_ones])
    elif dtype == pl.Boolean:
        found = values.is_in([bool(one) for one in named_ones])
    elif dtype == pl.Date:
        found = pl.lit(value=False)
    else:
        found = values.cast(pl.Float64).is_in(_numbers(named_ones))
    found = found.fill_null(value=False)
    return found | values.is_null() if len(named_ones) < len(wanted) else found


def _number(name: str, column: Column) -> pl.Expr:
    """Numbers of a column (dates: days since 1970-01-01); null for what is none."""
    values, dtype = pl.col(name), dtype_of(column)
    if column.kind == "date":
        days = values.str.to_date("%Y-%m-%d", strict=False) if dtype == pl.String else values
        return days.cast(pl.Int32)
    return values.cast(pl.Float64, strict=False) if dtype == pl.String else values


def _numbers(values: Iterable[Code]) -> list[float]:
    return [number for one in values if (number := number_of(one)) is not None]


def _slack(column: Column) -> float:
    if not isinstance(column, Continuous):
        return 0.0
    return _SLACK * max(column.upper - column.lower, abs(column.lower), abs(column.upper))


def _runs(column: Column, states: frozenset[int]) -> Iterator[tuple[float, float]]:
    """Ranges of numbers that lie in bins of these states even when they were rounded."""
    assert isinstance(column, NUMERIC)
    bins = [(k in states, one) for k, one in enumerate(column.intervals) if not one.spike]
    margin = 0.0
    if isinstance(column, Continuous):
        margin = (0.5 * 10.0**-column.decimals if column.decimals is not None else 0.0) + _slack(
            column
        )
    for inside, run in groupby(bins, key=lambda pair: pair[0]):
        together = [one for _, one in run]
        if inside:
            first, last = together[0], together[-1]
            # Rounding stops at the bounds, give or take the slack that is let pass there.
            low = first.low + margin if first is not bins[0][1] else first.low - _slack(column)
            high = last.high - margin if last is not bins[-1][1] else last.high + _slack(column)
            yield low, high
