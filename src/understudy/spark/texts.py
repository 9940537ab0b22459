"""Delimited texts in Spark: it hands out whole lines, and tasks split them by our own reader.

Spark's own reader of CSV fails at a line of too many cells, ends a line at a carriage return, drops
blank lines, and cuts off cells beyond the header. So Spark is asked for nothing but bytes between
line feeds, each with the place in its file where its part begins. A line longer than `LINE_BYTES`
is replaced before it leaves Spark, as it is in process. The first line of each file is the header,
which must be the same in all of them.

What this rests on: Spark gives each line of a file once, in the order of its part, and in whichever
part its first byte is. A line of about two gigabytes is more than its machine takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from understudy.data.csv import BLOCK_BYTES, LONG, Splitter, decode_text, names_in, plainly
from understudy.errors import DataError
from understudy.schema.file_format import LINE_BYTES, FileFormat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


LINES: Final = (
    f"if(octet_length(value) > {LINE_BYTES}, X'{LONG.hex()}', cast(value AS binary)) AS line",
    "_metadata.file_block_start AS begins",
    "_metadata.file_path AS file",
)


@dataclass(frozen=True)
class SparkTexts:
    """Delimited texts as lines.

    Attributes:
        lines: of all files, with where they are.
        form: how the texts are written, one record a line.
        separator: between cells.
        numbers: columns that hold numbers, each with its unit.
        header: the first line of each file.
        columns: their names.
    """

    lines: DataFrame
    form: FileFormat
    separator: str
    numbers: Mapping[str, str]
    header: bytes
    columns: tuple[str, ...]

    @classmethod
    def open_texts(
        cls, session: Any, place: str, form: FileFormat, numbers: Mapping[str, str]
    ) -> SparkTexts:
        """Texts at a path, of which the header of one is read.

        Raises:
            DataError: there is no header, or it cannot be read.
        """
        separator = form.separator_in(Path(place).name)
        lines = session.read.option("lineSep", "\n").text(place).selectExpr(*LINES)
        first = lines.filter("begins = 0").select("line").head()
        header = b"" if first is None else bytes(first[0])
        names = names_in(header, form, separator, f"The file {place!r}")
        return cls(lines, form, separator, numbers, header, names)

    def create_reader(self, names: Sequence[str]) -> partial[Iterator[pl.DataFrame]]:
        """Return what a task does with its batches of lines, to read some columns."""
        return partial(
            records,
            (self.form, self.separator, self.header, self.numbers),
            self.columns,
            tuple(names),
        )


def records(
    written: tuple[FileFormat, str, bytes, Mapping[str, str]],
    columns: tuple[str, ...],
    names: tuple[str, ...],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pl.DataFrame]:
    """Records of some columns.

    Args:
        written: form, separator, header and columns of numbers.
        columns: of the header.
        names: of the wanted ones.
        batches: lines, with where they are.

    Raises:
        DataError: another file has another header.
    """
    form, separator, header, numbers = written
    places = {name: columns.index(name) for name in names}
    splitter = Splitter(form, separator, len(columns), places)
    before: tuple[str, int] | None = None
    for batch in batches:
        where = list(zip(batch["file"].to_pylist(), batch["begins"].to_pylist(), strict=True))
        lines = batch["line"].to_pylist()
        kept = []
        for line, place in zip(lines, where, strict=True):
            if place[1] == 0 and place != before:
                if line != header:
                    raise DataError("a file has another header than the first one")
            else:
                kept.append(line)
            before = place
        for text in _texts(kept):
            for one in splitter.batches(decode_text(text, form.encoding), final=True):
                yield plainly(one.cells, form, numbers)


def _texts(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Whole lines, about a block of them at a time."""
    ends = np.cumsum([len(line) + 1 for line in lines])
    cuts = np.searchsorted(ends, np.arange(0, ends[-1] if len(ends) else 0, BLOCK_BYTES), "right")
    edges = [*dict.fromkeys(cuts.tolist()), len(lines)]
    for first, last in pairwise(edges):
        if last > first:
            yield b"\n".join(lines[first:last]) + b"\n"
