"""Files of Arrow (Feather): batches of rows whose types stand in the file's heading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.ipc

from understudy.engine.reading.frame_columns import arrow_column
from understudy.engine.reading.streamed_rows import streamed

ENDINGS: Final = (".feather", ".arrow", ".ipc")
_FILE_MARK = b"ARROW1"
_ROWS_AT_ONCE = 250_000


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
        return streamed(self._batches, self.types)

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
