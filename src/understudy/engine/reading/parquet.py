"""Parquet files and folders of them, each file read by its own types.

The types in a file follow from its rows: a part without a single value has a column of no type, a
part with an odd one has text. So parts may differ. Where they do, the column is read as text, which
says what its values say; a part that lacks a column has no values in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.parquet as pq
from polars.io.plugins import register_io_source

from understudy.engine.reading.frame_columns import arrow_column
from understudy.engine.reading.plain_types import as_plain, as_text, is_plain, is_text, plain

Types = dict[str, tuple[pl.DataType, ...]]

_ROWS_AT_ONCE: Final = 250_000


def scan_parquet(files: Sequence[Path]) -> tuple[pl.LazyFrame, Types]:
    """One table of all rows, not read yet, and the plain types that each column has in the files.

    Only the files' headings are read.

    Raises:
        PolarsError, OSError: a file is no Parquet file, or damaged.
    """
    parts = [plain_columns(_scan(file)) for file in files]
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


def _scan(file: Path) -> pl.LazyFrame:
    """One file, in the order of its rows; texts that are none cost their own cells."""
    lazy = pl.scan_parquet(file, glob=False)
    types = lazy.collect_schema()

    def read(
        names: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        _size: int | None,
    ) -> Iterator[pl.DataFrame]:
        selected = list(types) if names is None else names
        for batch in _batches(file, lazy, {name: types[name] for name in selected}):
            rows = batch if n_rows is None else batch.head(n_rows)
            yield rows if predicate is None else rows.filter(predicate)
            if n_rows is not None:
                n_rows -= rows.height
                if n_rows == 0:
                    return

    if not any(is_text(dtype) for dtype in types.values()):
        return lazy
    return register_io_source(read, schema=types)


def _batches(
    file: Path, lazy: pl.LazyFrame, types: dict[str, pl.DataType]
) -> Iterator[pl.DataFrame]:
    """Some columns of a file: texts as Arrow reads them, all others as Polars does."""
    texts = [name for name, dtype in types.items() if is_text(dtype)]
    rest = lazy.select(cs.by_name([name for name in types if name not in texts]))
    if not texts:
        yield from rest.collect_batches(chunk_size=_ROWS_AT_ONCE, maintain_order=True)
        return
    at = 0
    with pq.ParquetFile(file) as source:
        for batch in source.iter_batches(_ROWS_AT_ONCE, columns=texts):
            columns = [_text(batch.column(name), types[name]).alias(name) for name in texts]
            others = rest.slice(at, len(batch)).collect() if len(texts) < len(types) else None
            whole = pl.DataFrame([*columns, *(others.get_columns() if others is not None else ())])
            yield whole.select(cs.by_name(list(types)))
            at += len(batch)


def _text(values: pa.Array, dtype: pl.DataType) -> pl.Series:
    series = arrow_column(pa.chunked_array([values]))
    if series is None:
        raise ValueError("a text of a type that is not known")
    return plain(series).cast(dtype, strict=False)


def _aligned(part: pl.LazyFrame, schema: pl.Schema, types: Types) -> pl.LazyFrame:
    """One file with the columns and types of the whole."""
    changed = []
    for name, dtypes in types.items():
        target = _joint(dtypes)
        if name not in schema:
            changed.append(pl.lit(None, dtype=target).alias(name))
        elif schema[name] == pl.Null:
            changed.append(column(name).cast(target).alias(name))
        elif schema[name] != target:
            changed.append(as_text(column(name), schema[name]).alias(name))
    return part.with_columns(changed).select(cs.by_name(list(types)))


def _joint(dtypes: Sequence[pl.DataType]) -> pl.DataType:
    """The type in which a column of several files is read."""
    held = [dtype for dtype in dtypes if dtype != pl.Null]
    return held[0] if len(held) == 1 else pl.String() if held else pl.Null()
