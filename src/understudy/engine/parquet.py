"""Parquet files and folders of them, each file read by its own types.

The types in a file follow from its rows: a part without a single value has a column of no type, a
part with an odd one has text. So parts may differ. Where they do, the column is read as text, which
says what its values say; a part that lacks a column has no values in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import polars.selectors as cs

from understudy.engine.plain import as_plain, as_text, is_plain

Types = dict[str, tuple[pl.DataType, ...]]


def scan_parquet(files: Sequence[Path]) -> tuple[pl.LazyFrame, Types]:
    """One table of all rows, not read yet, and the plain types that each column has in the files.

    Only the files' headings are read.

    Raises:
        PolarsError, OSError: a file is no Parquet file, or damaged.
    """
    parts = [plain_columns(pl.scan_parquet(file, glob=False)) for file in files]
    schemas = [part.collect_schema() for part in parts]
    if len(parts) == 1:
        return parts[0], {name: (dtype,) for name, dtype in schemas[0].items()}
    names = dict.fromkeys(name for schema in schemas for name in schema)
    types = {
        name: tuple(dict.fromkeys(schema.get(name, pl.Null()) for schema in schemas))
        for name in names
    }
    alike = [_aligned(part, schema, types) for part, schema in zip(parts, schemas, strict=True)]
    return pl.concat(alike), types


def plain_columns(lazy: pl.LazyFrame) -> pl.LazyFrame:
    """The same table with columns of plain types only."""
    schema = lazy.collect_schema()
    other = {name: dtype for name, dtype in schema.items() if not is_plain(dtype)}
    return lazy.with_columns(
        as_plain(column(name), dtype).alias(name) for name, dtype in other.items()
    )


def column(name: str) -> pl.Expr:
    """The column of that very name; Polars takes some names ("*", "^a$") for patterns."""
    return cs.by_name([name]).as_expr()


def _aligned(part: pl.LazyFrame, schema: pl.Schema, types: Types) -> pl.LazyFrame:
    """One file with the columns and types of the whole."""
    changed = []
    for name, found in types.items():
        target = _joint(found)
        if name not in schema:
            changed.append(pl.lit(None, dtype=target).alias(name))
        elif schema[name] == pl.Null:
            changed.append(column(name).cast(target).alias(name))
        elif schema[name] != target:
            changed.append(as_text(column(name), schema[name]).alias(name))
    return part.with_columns(changed).select(cs.by_name(list(types)))


def _joint(found: Sequence[pl.DataType]) -> pl.DataType:
    """The type in which a column of several files is read."""
    held = [dtype for dtype in found if dtype != pl.Null]
    return held[0] if len(held) == 1 else pl.String() if held else pl.Null()
