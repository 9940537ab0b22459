"""Delimited text files: their header, and their records as a lazy table of text.

The header is public, and what is wrong with it is an error. What is wrong with a record is never
one. A file is read in blocks, so that one larger than
memory can be counted, and no line is held in memory that is longer than the public `LINE_BYTES`.

**Text files as whole lines, some megabytes at a time, whatever they are compressed by.**

What is wrong with the compression of a file is an error, whatever damaged it. What is wrong with a
line never is.

**Records of a delimited text file: lines of bytes into cells, each record by itself.**

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

**Compiled: where the cells of each record stand in a text.**
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from understudy._arrays import Flags, compiled
from understudy.data.frames import column, stream_batches
from understudy.data.values import unit_in, without_unit
from understudy.errors import DataError
from understudy.schema import NUMERIC, Calendar, Column, Schema
from understudy.schema.base import is_number
from understudy.schema.file_format import LINE_BYTES, RECORD_LINES, FileFormat, without_compression

NULL = -1
"""Length of an empty cell without quotes."""

_MALFORMED, _CUT_OFF = -1, -2
_NUL, _LF, _CR = 0, 10, 13

Bytes = NDArray[np.uint8]
Marks = tuple[int, int, int, bool]
"""Separator; quote, −1 for none; most lines of a record; whether nothing follows the text."""
Cells = tuple[NDArray[np.int32], NDArray[np.int32], Flags]
"""First byte of each cell, its bytes, and whether it has doubled quotes."""
Records = tuple[NDArray[np.int64], Flags, Cells]
"""Where each record begins, which ones do not fit, shape (n,); and cells, shape (columns, n)."""


@compiled
def split_records(
    text: Bytes,
    at: int,
    marks: Marks,
    slots: NDArray[np.int64],
    records: Records,
) -> tuple[int, int]:
    """Find the cells of as many records as there is room for.

    Args:
        text: UTF-8.
        at: where the first record begins.
        marks: see `Marks`.
        slots: column for each cell of a record, −1 for one that is not wanted.
        records: filled in. The cells of records that do not fit have no bytes.

    Returns:
        How many records, and where the next one begins.
    """
    begins, malformed, (starts, lengths, doubled) = records
    n = 0
    while at < len(text) and n < len(begins):
        cells = (starts[:, n], lengths[:, n], doubled[:, n])
        after = _record(text, at, marks, slots, cells)
        if after == _CUT_OFF:
            break
        begins[n] = at
        malformed[n] = after == _MALFORMED
        if after == _MALFORMED:
            lengths[:, n] = 0
            while at < len(text) and text[at] != _LF:
                at += 1
            after = at + 1
        at = after
        n += 1
    return n, at


@compiled
def _record(text: Bytes, at: int, marks: Marks, slots: NDArray[np.int64], cells: Cells) -> int:
    """Find where the next record begins, or that this one does not fit or is not all there."""
    separator, quote, most_lines, _ = marks
    starts, lengths, doubled = cells
    cell = 0
    while cell < len(slots):
        slot = slots[cell]
        quoted, twice = at < len(text) and text[at] == quote, False
        start = at + 1 if quoted else at
        if quoted:
            end, most_lines, twice = _quoted_end(text, start, marks, most_lines)
            at = end + 1
        else:
            end = _plain_end(text, start, marks)
            at = end
        if end < 0:
            return end
        last = at >= len(text) or text[at] != separator
        if last and not quoted and end > start and text[end - 1] == _CR:
            end -= 1
        if slot >= 0:
            starts[slot] = start
            lengths[slot] = end - start if quoted or end > start else NULL
            doubled[slot] = twice
        cell += 1
        if last:
            break
        at += 1
    else:
        return _MALFORMED  # a separator behind the last cell
    if cell < len(slots):
        return _MALFORMED
    return _after_line(text, at)


@compiled
def _quoted_end(text: Bytes, at: int, marks: Marks, lines: int) -> tuple[int, int, bool]:
    """The closing quote of a cell, how many lines the record may still have, and doubled quotes."""
    _, quote, _, final = marks
    twice = False
    while at < len(text):
        if text[at] == quote:
            if at + 1 >= len(text) or text[at + 1] != quote:
                return at, lines, twice
            twice = True
            at += 1
        elif text[at] == _LF:
            lines -= 1
        if text[at] == _NUL or lines == 0:
            return _MALFORMED, lines, twice
        at += 1
    return (_MALFORMED if final else _CUT_OFF), lines, twice


@compiled
def _plain_end(text: Bytes, at: int, marks: Marks) -> int:
    """Match what follows a cell without quotes: a separator, or the end of the line."""
    separator, quote, _, _ = marks
    while at < len(text) and text[at] != separator and text[at] != _LF:
        if text[at] == quote or text[at] == _NUL:
            return _MALFORMED
        at += 1
    return at


@compiled
def _after_line(text: Bytes, at: int) -> int:
    """Match what follows the line break that must stand here, or the end of the text."""
    if at < len(text) and text[at] == _CR:
        at += 1
    return at + 1 if at >= len(text) or text[at] == _LF else _MALFORMED


@compiled
def gather_cells(
    text: Bytes,
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    doubled: Flags,
    quote: int,
) -> tuple[NDArray[np.int64], Bytes]:
    """Copy the cells of one column one behind the other; of doubled quotes, one is left.

    Returns:
        Where each cell begins, and where the last one ends, shape (n + 1,); and the bytes.
    """
    size = 0
    for k in range(len(lengths)):
        size += max(lengths[k], 0)
    bounds, copied = np.zeros(len(starts) + 1, dtype=np.int64), np.empty(size, dtype=np.uint8)
    place = 0
    for k in range(len(starts)):
        at = starts[k]
        end = at + max(lengths[k], 0)
        while at < end:
            copied[place] = text[at]
            place += 1
            at += 2 if doubled[k] and text[at] == quote else 1
        bounds[k + 1] = place
    return bounds, copied


MALFORMED: Final = "\0"
"""Every cell of a record that does not fit; no other cell holds a NUL."""

UNCLOSED: Final = "has a quote that is not closed in it"
"""Why a line makes no record whose last quoted cell goes on, as with line breaks inside cells."""

LONG: Final = b"\0long"
"""What a line is replaced by that is too long."""

_UNDECODED: Final = "\0undecoded"
_ESCAPED = re.compile("[\udc80-\udcff]")
_CELLS_AT_ONCE = 2**22


def decode_text(data: bytes, encoding: str) -> bytes:
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
        line: the record as `decode_text` has it, without its line break.
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


BLOCK_BYTES: Final = 2**22

FAULTS: Final = (
    *(OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException),
    *(RuntimeError, NotImplementedError, ValueError),  # a locked archive, an unknown compression
)


def open_text(path: Path) -> IO[bytes]:
    """The bytes of a text, unpacked as they are read; how, its first bytes say.

    Raises:
        DataError: it cannot be opened, or is an archive of several files.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
        opener = next((one for marks, one in _PACKED.items() if _begins(head, marks)), open)
        return cast("IO[bytes]", opener(path, "rb"))
    except DataError:  # of an archive, which is a ValueError too
        raise
    except FAULTS:
        raise broken_file_error(path) from None


def pieces(path: Path, stream: IO[bytes]) -> Iterator[bytes]:
    """Whole lines, then an empty piece; lines longer than `LINE_BYTES` are replaced.

    No more than a block and the longest line are held at once.

    Args:
        path: for errors.
        stream: of its text.

    Raises:
        DataError: the file breaks off, or its compression is damaged.
    """
    rest, skipping = b"", False
    while block := _read(path, stream):
        if skipping and b"\n" not in block:
            continue
        begin = block.find(b"\n") if skipping else 0
        block, skipping = rest + block[begin:], False
        end = block.rfind(b"\n") + 1
        rest = block[end:]
        if len(rest) > LINE_BYTES:
            rest, skipping = LONG, True
        if end:
            yield _without_long(block[:end])
    if rest:
        yield rest + b"\n"
    yield b""


def broken_file_error(path: Path) -> DataError:
    """That a file cannot be read to its end."""
    return DataError(
        f"The file {str(path)!r} cannot be read to the end: it is truncated, damaged, or not what "
        "its name says; repair it (nothing was spent)."
    )


def _read(path: Path, stream: IO[bytes]) -> bytes:
    try:
        return stream.read(BLOCK_BYTES)
    except FAULTS:
        raise broken_file_error(path) from None


def _without_long(block: bytes) -> bytes:
    """Whole lines, those that are longer than `LINE_BYTES` replaced."""
    breaks = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
    edges = np.concatenate([[-1], breaks])
    if (np.diff(edges) <= LINE_BYTES + 1).all():
        return block
    lines = (block[first + 1 : last] for first, last in pairwise(edges.tolist()))
    return b"".join((LONG if len(line) > LINE_BYTES else line) + b"\n" for line in lines)


def _arrow(codec: str) -> Callable[[Path, str], IO[bytes]]:
    def unpack(path: Path, _mode: str) -> IO[bytes]:
        stream: Any = pa.CompressedInputStream(pa.OSFile(str(path)), codec)
        return io.BufferedReader(stream)

    return unpack


def _member(path: Path, _mode: str) -> IO[bytes]:
    """The only file of an archive."""
    archive = zipfile.ZipFile(path)
    files = [
        one
        for one in archive.infolist()
        if not (one.is_dir() or one.filename.startswith("__MACOSX"))
    ]
    if len(files) != 1:
        raise DataError(
            f"The archive {str(path)!r} holds {len(files)} files where one is read; unpack it, and "
            "name the file."
        )
    return archive.open(files[0])


def _begins(head: bytes, marks: tuple[tuple[int, bytes], ...]) -> bool:
    return all(head[at : at + len(mark)] == mark for at, mark in marks)


_HEAD = 10
_PACKED: dict[tuple[tuple[int, bytes], ...], Callable[[Path, str], Any]] = {
    ((0, b"\x1f\x8b"),): gzip.open,
    ((0, b"BZh"), (4, b"1AY&SY")): bz2.open,
    ((0, b"\xfd7zXZ\x00"),): lzma.open,
    ((0, b"\x28\xb5\x2f\xfd"),): _arrow("zstd"),
    ((0, b"\x04\x22\x4d\x18"),): _arrow("lz4"),
    ((0, b"PK\x03\x04"),): _member,
}
"""Marks that a compressed file begins with, each at its place; and how it is opened."""


SEPARATORS: Final = (",", ";", "\t", "|")
"""Characters between cells that files mostly have."""

_ENDINGS = (".csv", ".tsv", ".txt")
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BLANKS = r"[ \u2009\u00a0\u202f]"
_LIKE_A_NUMBER = r"^\s*[+-]?[.,]?[0-9][0-9.,]*([eE][+-]?[0-9]+)?\s*$"


def is_delimited(data: object) -> bool:
    """Return whether data are the path of a delimited text file, by its ending."""
    if not isinstance(data, str | Path):
        return False
    name = Path(data).name
    return without_compression(name).endswith(_ENDINGS) or name.lower().endswith(".zip")


@dataclass(frozen=True)
class Delimited:
    """A delimited text file.

    Attributes:
        path: where it is.
        form: how it is written.
        numbers: columns that hold numbers, each with its unit; a decimal comma is read in these
            alone.
        columns: names of the columns, from the header.

    Raises:
        DataError: the file cannot be opened, or its header cannot be read.
    """

    path: Path
    form: FileFormat
    numbers: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        with open_text(self.path) as stream:
            object.__setattr__(
                self,
                "columns",
                names_in(self._header(stream), self.form, self._separator, self._place),
            )

    @classmethod
    def of_schema(cls, path: Path, schema: Schema | None) -> Delimited:
        """A file written as a schema says; without one in UTF-8, with commas (.tsv: tabs).

        Raises:
            DataError: as for the class.
        """
        if schema is None:
            return cls(path, FileFormat())
        return cls(path, schema.file, numbers_of_schema(schema))

    def lazy(self) -> pl.LazyFrame:
        """All records; every cell is text, an empty one without quotes is null. CONFIDENTIAL.

        Raises:
            DataError: when it is read, if the file breaks off or its compression is damaged.
        """

        def batches(names: list[str]) -> Iterator[pl.DataFrame]:
            for _, batch in self._batches(names or self.columns):
                yield plainly(batch.cells, self.form, self.numbers)

        return stream_batches(batches, dict.fromkeys(self.columns, pl.String()))

    def faults(self, most: int) -> tuple[list[str], int]:
        """Describe the first malformed records, and count all of them. CONFIDENTIAL.

        Args:
            most: how many to explain.

        Returns:
            A line number and a cause for each that is explained, without a value; the number of
            malformed records.

        Raises:
            DataError: the file breaks off or its compression is damaged.
        """
        causes: list[str] = []
        n_malformed = 0
        for block, batch in self._batches(self.columns[:1]):
            begins = batch.begins[batch.malformed].tolist()
            n_malformed += len(begins)
            for begin in begins[: most - len(causes)]:
                line = block.text[begin:].partition(b"\n")[0].removesuffix(b"\r").decode()
                number = block.line + block.text.count(b"\n", 0, begin)
                causes.append(f"line {number} {self._cause(line)}")
        return causes, n_malformed

    def _cause(self, line: str) -> str:
        cells = cells_of(line, self._separator, self.form)
        if isinstance(cells, str):
            return cells
        n, n_columns = len(cells), len(self.columns)
        if not line:
            return "is blank"
        return f"has {n} cell{'s' if n > 1 else ''} where the header has {n_columns}"

    def pieces(self) -> Iterator[bytes]:
        """The file's bytes, whole lines at a time, the header first. CONFIDENTIAL.

        Raises:
            DataError: the file breaks off or its compression is damaged.
        """
        with open_text(self.path) as stream:
            yield from pieces(self.path, stream)

    # --- the header -----------------------------------------------------------------------------

    @property
    def _separator(self) -> str:
        return self.form.separator_in(self.path.name)

    @property
    def _place(self) -> str:
        return f"The file {str(self.path)!r}"

    def _header(self, stream: IO[bytes]) -> bytes:
        """The bytes of the header, its line break included; the stream stands behind it."""
        quote = self.form.quote.encode()
        try:
            header = stream.readline(LINE_BYTES + 1)
            for _ in range(RECORD_LINES - 1 if self.form.multiline and quote else 0):
                if header.count(quote) % 2 == 0:
                    break
                header += stream.readline(LINE_BYTES + 1)
        except FAULTS:
            raise broken_file_error(self.path) from None
        return header

    # --- the records ----------------------------------------------------------------------------

    def _batches(self, names: Sequence[str]) -> Iterator[tuple[_Block, Batch]]:
        """Records of some columns, with the text that they were split from."""
        places = {name: self.columns.index(name) for name in names}
        splitter = Splitter(self.form, self._separator, len(self.columns), places)
        with open_text(self.path) as stream:
            line = 1 + self._header(stream).count(b"\n")
            rest = b""
            for piece in pieces(self.path, stream):
                final = not piece
                text = rest + decode_text(piece, self.form.encoding)
                after = 0
                for batch in splitter.batches(text, final=final):
                    after = batch.after
                    yield _Block(text, line), batch
                line += text.count(b"\n", 0, after)
                rest = text[after:]


@dataclass(frozen=True)
class _Block:
    """Text that records are split from.

    Attributes:
        text: UTF-8.
        line: number of its first line in the file, from 1.
    """

    text: bytes
    line: int


def names_in(header: bytes, form: FileFormat, separator: str, place: str) -> tuple[str, ...]:
    """Names of the columns.

    Args:
        header: the first line.
        form: how the file is written.
        separator: the character between cells.
        place: what has the header, in words, for errors.

    Raises:
        DataError: there is no header, or it does not fit the form.
    """
    if header.startswith(_UTF16_MARKS):
        raise DataError(f"{place} is UTF-16 text, which is not read; save it as UTF-8.")
    bare = header.removeprefix(_UTF8_MARK) if form.encoding == "utf-8" else header
    line = bare.removesuffix(b"\n").removesuffix(b"\r")
    if not line:
        raise DataError(f"{place} is empty: it has no header line that names the columns.")
    if b"\r" in line and not form.multiline:
        raise DataError(
            f"{place} has a carriage return inside its header; save it with line breaks "
            "of line feeds (Unix) or of both (Windows)."
        )
    line = line if len(line) <= LINE_BYTES else LONG
    text = decode_text(line, form.encoding).decode()
    cells = cells_of(text, separator, form)
    if isinstance(cells, str):
        raise DataError(
            f"{place} cannot be read: its header {cells}; correct it, or the table [file] of the "
            f"schema, which says how the file is written{_guess_separator(text, form, separator)}."
        )
    if cells.count("") > 1:
        raise DataError(
            f"{place} has several columns without a name; name them, or take out the lines above "
            "the names of the columns."
        )
    for name in cells:
        if cells.count(name) > 1:
            raise DataError(f"{place} has two columns named {name!r}; rename one of them.")
    return tuple(cells)


def _guess_separator(header: str, form: FileFormat, separator: str) -> str:
    """Another separator by which a header that does not fit has several cells."""
    for mark in SEPARATORS:
        cells = cells_of(header, mark, form)
        if mark not in (separator, form.quote) and isinstance(cells, list):
            return f" (separator = {mark!r})" if len(cells) > 1 else ""
    return ""


def plainly(cells: pl.DataFrame, form: FileFormat, numbers: Mapping[str, str]) -> pl.DataFrame:
    """Numbers as a computer writes them, in place of how people do.

    Args:
        cells: as they stand in the file.
        form: how it is written.
        numbers: columns that hold numbers, each with its unit.
    """
    names = [name for name in cells.columns if name in numbers]
    if form.decimal == "," or form.thousands:
        cells = cells.with_columns(
            without_unit(column(name), numbers[name]) for name in names if numbers[name]
        )
    if names and form.thousands:
        cells = cells.with_columns(remove_marks(cells.get_column(name), form) for name in names)
    if form.decimal == "." or not names:
        return cells
    return cells.with_columns(_swap_marks(cells.get_column(name)) for name in names)


def numbers_of_schema(schema: Schema) -> dict[str, str]:
    """Columns that are declared to hold numbers, each with the unit that its cells may have."""
    return {name: unit_in(one) for name, one in schema.stated.items() if _holds_numbers(one)}


def _holds_numbers(column: Column) -> bool:
    """Return whether any value of a column is declared as a number."""
    if isinstance(column, NUMERIC):
        return not isinstance(column, Calendar)
    return any(is_number(level) for level in column.levels)


def thousands_pattern(form: FileFormat) -> str:
    """The pattern of a number that has marks between its thousands."""
    mark = _BLANKS if form.thousands == " " else re.escape(form.thousands)
    decimal = re.escape(form.decimal)
    return rf"^\s*[+-]?[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+(?:{decimal}[0-9]*)?\s*$"


def remove_marks(text: pl.Series, form: FileFormat) -> pl.Series:
    """The same without the marks, in the cells that are numbers with marks in the right places."""
    mark = _BLANKS if form.thousands == " " else re.escape(form.thousands)
    bare = text.str.strip_chars().str.replace_all(mark, "")
    return bare.zip_with(text.str.contains(thousands_pattern(form)).fill_null(False), text)


def _swap_marks(text: pl.Series) -> pl.Series:
    """Decimal commas as points and points as commas, in the cells that look like a number."""
    other = text.str.replace_many([".", ","], [",", "."])
    return other.zip_with(text.str.contains(_LIKE_A_NUMBER).fill_null(False), text)
