"""Whether derived columns follow from the others, and relations hold, in the records of a folder.

Records are read back from what was written: numbers, and which level or code each value is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.release.decoding import dtype_of
from understudy.release.shape import Fault, named
from understudy.schema import NUMERIC, Column, Schema
from understudy.schema.cell_values import Code, number_of, text_of
from understudy.schema.derived_columns import Cells, follows, sources_of
from understudy.schema.relation_boxes import breaks


def require_relations(table: pl.DataFrame, schema: Schema) -> None:
    """Refuse a synthetic table in which a rule or a relation does not hold.

    Args:
        table: as it was read, its columns of the types that the schema says.
        schema: of the release.

    Raises:
        Fault: names the column or the relation, and no row.
    """
    used = {n for c in schema.derived.values() for n in sources_of(c)} | set(schema.derived)
    used |= {name for one in schema.relations for name in one.columns}
    columns = {name: column for name, column in schema.declared.items() if name in used}
    cells = {name: _cells(table.get_column(name), column) for name, column in columns.items()}
    for name in schema.derived:
        if not follows(name, schema.declared, cells).all():
            raise Fault(f"the column {named(name)} does not follow from others by its rule")
    for one in schema.relations:
        if breaks(one, schema.columns, cells).any():
            raise Fault(f"the relation {named(one.text)} does not hold in a synthetic table")


def _cells(series: pl.Series, column: Column) -> Cells:
    """What values were written for: codes of absence by their number, and numbers as such."""
    if not isinstance(column, NUMERIC):
        return Cells(_states(series, (*column.levels, *column.codes)), np.empty(0))
    codes = _states(series, column.codes)
    numbers = _numbers(series, column)
    numbers[codes >= 0] = np.nan
    states = np.where(codes >= 0, column.n_ordinary + codes, 0)
    return Cells(states.astype(np.int64), numbers)


def _states(series: pl.Series, values: Sequence[Code]) -> NDArray[np.int64]:
    """Place of each value among some; −1 where it is none of them."""
    found = np.full(len(series), -1, dtype=np.int64)
    for k, value in enumerate(values):
        if value == "":
            hit = series.is_null()
        elif series.dtype.is_numeric():
            number = number_of(value)
            hit = series.cast(pl.Float64).is_in([] if number is None else [number])
        elif series.dtype == pl.Boolean:
            hit = series.is_in([bool(value)])
        elif series.dtype == pl.Date:
            continue
        else:
            hit = series.cast(pl.String).is_in([text_of(value)])
        found[hit.fill_null(value=False).to_numpy()] = k
    return found


def _numbers(series: pl.Series, column: Column) -> NDArray[np.float64]:
    if column.kind == "date":
        is_text = dtype_of(column) == pl.String
        days = series.str.to_date("%Y-%m-%d", strict=False) if is_text else series
        whole = days.cast(pl.Int32).cast(pl.Float64)
    else:
        whole = series.cast(pl.Float64, strict=series.dtype != pl.String)
    return whole.fill_null(np.nan).to_numpy().copy()
