"""Levels that the type of a column declares: categories of pandas, Polars and Arrow.

A declared category is a level though no row has it, and the order is the declared one. All the same
it stands in the confidential table, and programs make categories of the values that occur; so a
draft marks them like what it reads from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from understudy.engine.reading.frame_columns import is_pandas
from understudy.engine.reading.python_objects import UNLIKE, text
from understudy.schema.cell_values import Code, number_of


@dataclass(frozen=True)
class Categories:
    """What the type of a column declares.

    Attributes:
        levels: in the declared order, used or not.
        ordered: whether the order means something.
    """

    levels: tuple[Code, ...]
    ordered: bool


def declared_categories(data: object) -> Mapping[str, Categories]:
    """Categories by column; only of texts and numbers, since dates and truth values have kinds.

    Args:
        data: a table in memory; a path or a query declares none.
    """
    if is_pandas(data):
        return _found(_of_pandas(data))
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        types = data.lazy().collect_schema()
        enums = {n: t for n, t in types.items() if isinstance(t, pl.Enum)}
        return _found({n: (t.categories.to_list(), False) for n, t in enums.items()})
    if isinstance(data, pa.Table):
        return _found(_of_arrow(data))
    return {}


def _of_pandas(frame: Any) -> dict[str, tuple[list[Any], bool]]:
    found = {}
    for name, dtype in frame.dtypes.items() if hasattr(frame, "dtypes") else ():
        if type(dtype).__name__ == "CategoricalDtype":
            found[str(name)] = (list(dtype.categories), bool(dtype.ordered))
    return found


def _of_arrow(table: pa.Table) -> dict[str, tuple[list[Any], bool]]:
    found = {}
    for name, values in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(values.type):
            lists = [chunk.dictionary.to_pylist() for chunk in values.chunks]
            levels = list(dict.fromkeys(level for one in lists for level in one))
            found[name] = (levels, bool(values.type.ordered))
    return found


def _found(declared: Mapping[str, tuple[list[Any], bool]]) -> dict[str, Categories]:
    found = {}
    for name, (values, ordered) in declared.items():
        levels = [_level(value) for value in values]
        if levels and all(level is not None for level in levels):
            found[name] = Categories(tuple(one for one in levels if one is not None), ordered)
    return found


def _level(value: Any) -> Code | None:
    """A category as a level; None for one that is no text and no number."""
    if isinstance(value, str):
        return value if value and text(value) == value else None
    written = text(value)
    if written is None or written == UNLIKE or isinstance(value, bool):
        return None
    number = number_of(written)
    if number is None:  # an interval, say, which is told by its text
        return written if type(value).__name__ == "Interval" else None
    return int(number) if float(number).is_integer() else float(number)
