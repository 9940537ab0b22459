"""Parquet files and folders of them, each file read by its own types.

The types in a file follow from its rows: a part without a single value has a column of no type, a
part with an odd one has text. So parts may differ. Where they do, the column is read as text, which
says what its values say; a part that lacks a column has no values in it.

**Files of Arrow (Feather): batches of rows whose types stand in the file's heading.**
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from understudy.data.frames import (
    arrow_column,
    as_text,
    column,
    decode_bytes,
    is_text,
    plain,
    plain_columns,
    stream_batches,
)

Types = dict[str, tuple[pl.DataType, ...]]

_ROWS_AT_ONCE: Final = 250_000
_BUFFER_BYTES: Final = 2**17

_FEW_BYTES: Final = 4
_LIST_BYTES: Final = 2**12
"""Most bytes per value, and beside these, in a file that says each of its texts but once."""

_SIMPLE: Final = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64, pl.Boolean, pl.Date),
)
_ARROW_SIMPLE: Final = (
    *(pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_boolean),
    pa.types.is_date32,
)


def scan_parquet(files: Sequence[Path]) -> tuple[pl.LazyFrame, Types, bool]:
    """One table of all rows, not read yet, and the plain types that each column has in the files.

    Also whether all files have the same columns, of the same types: `parquet_batches` reads these.
    Only the files' headings are read.

    Raises:
        PolarsError, OSError: a file is no Parquet file, or damaged.
    """
    parts = [plain_columns(_scan(file)) for file in files]
    schemas = [part.collect_schema() for part in parts]
    if len(parts) == 1:
        return parts[0], {name: (dtype,) for name, dtype in schemas[0].items()}, True
    names = dict.fromkeys(name for schema in schemas for name in schema)
    types = {
        name: tuple(dict.fromkeys(schema.get(name, pl.Null()) for schema in schemas))
        for name in names
    }
    alike = [_align(part, schema, types) for part, schema in zip(parts, schemas, strict=True)]
    return pl.concat(alike), types, all(schema == schemas[0] for schema in schemas)


def _scan(file: Path) -> pl.LazyFrame:
    """One file, in the order of its rows; texts that are none cost their own cells."""
    lazy = pl.scan_parquet(file, glob=False)
    types = lazy.collect_schema()

    def batches(names: list[str]) -> Iterator[pl.DataFrame]:
        return _batches(file, lazy, {name: types[name] for name in names})

    if not any(is_text(dtype) for dtype in types.values()):
        return lazy
    return stream_batches(batches, types)


def parquet_batches(files: Sequence[Path], names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Some columns of files of the same columns and types, one file after the other.

    A column of texts of which a file holds few has a type `Enum` of these, in this batch alone:
    each is then coded once, and not once per row. No more than a batch is held at a time, and what
    the libraries decode ahead.

    Raises:
        PolarsError, ArrowException, OSError, ValueError: a file is damaged.
    """
    for file in files:
        lazy = pl.scan_parquet(file, glob=False)
        types = lazy.collect_schema()
        for batch in _batches(file, lazy, {name: types[name] for name in names}, few=True):
            yield pl.DataFrame([plain(one).alias(one.name) for one in batch.get_columns()])
    pa.default_memory_pool().release_unused()  # what Arrow keeps for a next batch


def _batches(
    file: Path, lazy: pl.LazyFrame, types: dict[str, pl.DataType], *, few: bool = False
) -> Iterator[pl.DataFrame]:
    """Some columns of a file: texts and simple types as Arrow reads them, others as Polars does."""
    with pq.ParquetFile(file) as source:
        arrow = {name: source.schema_arrow.field(name).type for name in types}
        direct = [name for name, dtype in types.items() if _is_direct(arrow[name], dtype)]
        encoded = _of_few_texts(source.metadata, direct) if few else []
    rest = lazy.select(cs.by_name([name for name in types if name not in direct]))
    if not direct:
        yield from rest.collect_batches(chunk_size=_ROWS_AT_ONCE, maintain_order=True)
        return
    at = 0
    # Not ahead, and a little of each column at a time: a group of rows may be as large as the file.
    how = {"pre_buffer": False, "buffer_size": _BUFFER_BYTES, "read_dictionary": encoded}
    with pq.ParquetFile(file, **how) as source:
        for batch in source.iter_batches(_ROWS_AT_ONCE, columns=direct):
            columns = [_series(batch.column(name), types[name], few=few) for name in direct]
            named = [one.alias(name) for one, name in zip(columns, direct, strict=True)]
            others = rest.slice(at, len(batch)).collect() if len(direct) < len(types) else None
            whole = pl.DataFrame([*named, *(others.get_columns() if others is not None else ())])
            yield pl.DataFrame([whole.get_column(name) for name in types])
            at += len(batch)


def _is_direct(arrow: pa.DataType, dtype: pl.DataType) -> bool:
    """Return whether Arrow reads a column as Polars does, or better: it takes texts that are none.

    Reading by Polars begins anew for every batch, far behind the beginning of a large file.
    """
    simple = dtype in _SIMPLE and any(is_type(arrow) for is_type in _ARROW_SIMPLE)
    return is_text(dtype) or (simple and pl.Series(pa.nulls(0, arrow)).dtype == dtype)


def _of_few_texts(metadata: pq.FileMetaData, names: Sequence[str]) -> list[str]:
    """Columns that every part of a file keeps as numbers of texts that it lists once."""
    large, listed = set(), set()
    for group in range(metadata.num_row_groups):
        part = metadata.row_group(group)
        for k in range(part.num_columns):
            column = part.column(k)
            listed.add(column.path_in_schema)
            most = _FEW_BYTES * column.num_values + _LIST_BYTES
            if not column.has_dictionary_page or column.total_uncompressed_size > most:
                large.add(column.path_in_schema)
    texts = {
        c.path
        for c in map(metadata.schema.column, range(len(metadata.schema)))
        if c.physical_type == "BYTE_ARRAY"
    }
    return [name for name in names if name in (listed & texts) - large]


def _series(values: pa.Array, dtype: pl.DataType, *, few: bool) -> pl.Series:
    """A column of a batch that Arrow has read."""
    if not is_text(dtype):
        return pl.Series(values)
    if not (few and pa.types.is_dictionary(values.type)):
        return _text(values, dtype)
    texts = _text(values.dictionary, pl.String())
    if texts.null_count() or texts.n_unique() < len(texts):  # such as two that are no texts
        return texts.gather(pl.Series(values.indices))
    # Sorted, so that batches mostly have the same type, and these texts are coded only once.
    return texts.cast(pl.Enum(texts.sort())).gather(pl.Series(values.indices))


def _text(values: pa.Array, dtype: pl.DataType) -> pl.Series:
    series = arrow_column(pa.chunked_array([values]))
    if series is None:
        raise ValueError("a text of a type that is not known")
    text = decode_bytes(series) if series.dtype == pl.Binary else plain(series)
    return text.cast(dtype, strict=False)


def _align(part: pl.LazyFrame, schema: pl.Schema, types: Types) -> pl.LazyFrame:
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


ENDINGS: Final = (".feather", ".arrow", ".ipc")
_FILE_MARK = b"ARROW1"


@dataclass(frozen=True)
class ArrowFile:
    """A file of Arrow, or a stream of Arrow that was written to a file.

    Attributes:
        path: where it is.
    """

    path: Path

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of its columns.

        Raises:
            ArrowException, OSError: it is no such file, or damaged.
        """
        return _reader(self.path).schema

    @cached_property
    def types(self) -> dict[str, pl.DataType]:
        """The type of each column that can be read; the others are absent."""
        empty = {one.name: arrow_column(pa.chunked_array([], one.type)) for one in self.schema}
        return {name: series.dtype for name, series in empty.items() if series is not None}

    def lazy(self) -> pl.LazyFrame:
        """All rows of the columns that can be read. CONFIDENTIAL."""
        return stream_batches(self._batches, self.types)

    def _batches(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        for whole in _record_batches(_reader(self.path)):
            whole.validate()
            for at in range(0, len(whole), _ROWS_AT_ONCE):
                part = whole.slice(at, _ROWS_AT_ONCE)
                cells = {name: arrow_column(pa.chunked_array([part[name]])) for name in names}
                yield pl.DataFrame(cells, height=len(part))


def _reader(path: Path) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    with path.open("rb") as stream:
        is_file = stream.read(len(_FILE_MARK)) == _FILE_MARK
    source = pa.memory_map(str(path))
    return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)


def _record_batches(
    reader: pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return (reader.get_batch(k) for k in range(reader.num_record_batches))
    return iter(reader)
