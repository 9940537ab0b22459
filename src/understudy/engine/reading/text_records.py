"""Records of a delimited text file: lines of bytes into cells, each record by itself.

A line break ends a record, inside quotes too. A record fits if its bytes can be read in the
declared encoding, hold no NUL, are at most `LINE_BYTES`, and make as many cells as the header has:

- a cell that begins with the quote runs to the next single quote, doubled quotes inside it stand
  for one, and a separator or the end of the line follows it;
- any other cell runs to the next separator and holds no quote.

What does not fit is one record too, whose cells all read `MALFORMED`: no number, no date, no level
and not absent. A blank line is a record with one empty cell.

With `multiline`, a quoted cell may run over line breaks, in a record of at most `RECORD_LINES`
lines. Where that does not make a record that fits, the first line alone is malformed, and reading
goes on with the next.

**One record decides nothing about another**: where a line begins and ends depends on line breaks
alone, and what it becomes on its own bytes and on the public form. With `multiline`, a record can
hide at most the `RECORD_LINES` − 1 lines that follow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from understudy.engine.reading.cell_kernels import NULL, Bytes, gather_cells, split_records
from understudy.schema.file_format import LINE_BYTES, RECORD_LINES, FileFormat

MALFORMED: Final = "\0"
"""Every cell of a record that does not fit; no other cell holds a NUL."""

UNCLOSED: Final = "has a quote that is not closed in it"
"""Why a line makes no record whose last quoted cell goes on, as with line breaks inside cells."""

LONG: Final = b"\0long"
"""What a line is replaced by that is too long."""

_UNDECODED: Final = "\0undecoded"
_ESCAPED = re.compile("[\udc80-\udcff]")
_CELLS_AT_ONCE = 2**22


def decoded(data: bytes, encoding: str) -> bytes:
    """Text as UTF-8; in place of bytes that cannot be read stands a NUL, and a note.

    No character goes over a line break: in these encodings it is never part of another character.
    """
    text = data.decode(encoding, "surrogateescape")
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _ESCAPED.sub(_UNDECODED, text).encode()


@dataclass(frozen=True)
class Batch:
    """Some records.

    Attributes:
        cells: the wanted columns as text; an empty cell without quotes is null.
        malformed: which records do not fit, shape (n,).
        begins: where each record begins in the text that was split, shape (n,).
        after: where in it the next record begins.
    """

    cells: pl.DataFrame
    malformed: NDArray[np.bool_]
    begins: NDArray[np.int64]
    after: int


class Splitter:
    """Splits text into records.

    Args:
        form: how the file is written.
        separator: the character between cells.
        n_cells: cells of the header.
        places: name of a column → the place of its cell, from 0.
    """

    def __init__(
        self, form: FileFormat, separator: str, n_cells: int, places: dict[str, int]
    ) -> None:
        self._separator = ord(separator)
        self._quote = ord(form.quote) if form.quote else -1
        self._most_lines = RECORD_LINES if form.multiline else 1
        self._names = tuple(places)
        self._slots = np.full(n_cells, -1, dtype=np.int64)
        self._slots[list(places.values())] = np.arange(len(places))

    def batches(self, text: bytes, *, final: bool) -> Iterator[Batch]:
        """Records of a text of whole lines, a bounded number at a time.

        Args:
            text: UTF-8; unless it is final, it ends with a line break.
            final: whether nothing follows. Otherwise a record at the end that may go on is left.

        Yields:
            At least one record.
        """
        data = np.frombuffer(text, dtype=np.uint8)
        at = 0
        while at < len(data):
            batch = self._batch(data, at, text.count(b"\n", at) + 1, final=final)
            if batch is None:
                return
            yield batch
            at = batch.after

    def _batch(self, data: Bytes, at: int, n_lines: int, *, final: bool) -> Batch | None:
        """As many records as may be held at once; None if there is none that is all there."""
        n_wanted = len(self._names)
        room = min(n_lines, max(1, _CELLS_AT_ONCE // max(1, n_wanted)))
        shape = (n_wanted, room)
        places = (np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape, np.bool_))
        begins, malformed = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.bool_)
        marks = (self._separator, self._quote, self._most_lines, final)
        n, after = split_records(data, at, marks, self._slots, (begins, malformed, places))
        if not n:
            return None
        malformed = malformed[:n]
        columns = {}
        for k, name in enumerate(self._names):
            starts, lengths, doubled = places[0][k, :n], places[1][k, :n], places[2][k, :n]
            bounds, copied = gather_cells(data, starts, lengths, doubled, self._quote)
            cells = _texts(bounds, copied, lengths != NULL)
            columns[name] = cells.set(pl.Series(malformed), MALFORMED) if malformed.any() else cells
        return Batch(pl.DataFrame(columns), malformed, begins[:n], after)


def _texts(bounds: NDArray[np.int64], copied: Bytes, given: NDArray[np.bool_]) -> pl.Series:
    """Texts that stand one behind the other, null where none is given."""
    valid = np.packbits(given, bitorder="little")
    buffers = [pa.py_buffer(part) for part in (bounds, copied, valid)]
    return pl.Series(pa.LargeStringArray.from_buffers(len(given), *buffers))


def cells_of(line: str, separator: str, form: FileFormat) -> list[str] | str:
    """The cells of one record, read slowly: for the header, and to say what is wrong with a line.

    Args:
        line: the record as `decoded`, without its line break.
        separator: the character between cells.
        form: how the file is written.

    Returns:
        The cells; or, if it does not fit whatever their number, why not, in words without a value.
    """
    for mark, cause in (
        (LONG.decode(), f"has more than {LINE_BYTES:,} bytes"),
        (_UNDECODED, f"holds bytes that are not {form.encoding} text"),
        ("\0", "holds a NUL character"),
    ):
        if mark in line:
            return cause
    return _cells(line, separator, form.quote)


def _cells(line: str, separator: str, quote: str) -> list[str] | str:
    mark = re.escape(quote)
    quoted = re.compile(f"{mark}((?:[^{mark}]|{mark}{mark})*){mark}" if quote else "(?!)")
    cells, at = [], 0
    while True:
        match = quoted.match(line, at)
        if match:
            cells.append(match.group(1).replace(quote * 2, quote))
            at = match.end()
        elif quote and line.startswith(quote, at):
            return UNCLOSED
        else:
            end = line.find(separator, at)
            end = len(line) if end < 0 else end
            cells.append(line[at:end])
            if quote and quote in cells[-1]:
                return "has a quote inside a cell that does not begin with one"
            at = end
        if at == len(line):
            return cells
        if not line.startswith(separator, at):
            return "has more text behind a closing quote"
        at += 1
