"""Delimited text files: their header, and their records as a lazy table of text.

The header is public, and what is wrong with it is an error. What is wrong with a record is never
one (`understudy.engine.reading.text_records`). A file is read in blocks, so that one larger than
memory can be counted, and no line is held in memory that is longer than the public `LINE_BYTES`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import polars as pl

from understudy.engine.reading.streamed_rows import streamed
from understudy.engine.reading.text_lines import FAULTS, broken, opened, pieces
from understudy.engine.reading.text_records import LONG, Batch, Splitter, cells_of, decoded
from understudy.errors import DataError
from understudy.schema import NUMERIC, Calendar, Column, Schema
from understudy.schema.cell_values import is_number
from understudy.schema.file_format import LINE_BYTES, RECORD_LINES, FileFormat, without_compression

SEPARATORS: Final = (",", ";", "\t", "|")
"""Characters between cells that files mostly have."""

_ENDINGS = (".csv", ".tsv", ".txt")
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BLANKS = r"[ \u2009\u00a0\u202f]"
_LIKE_A_NUMBER = r"^\s*[+-]?[.,]?[0-9][0-9.,]*([eE][+-]?[0-9]+)?\s*$"


def is_delimited(data: object) -> bool:
    """Whether data are the path of a delimited text file, by its ending."""
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
        numbers: columns that hold numbers; a decimal comma is read in these alone.
        columns: names of the columns, from the header.

    Raises:
        DataError: the file cannot be opened, or its header cannot be read.
    """

    path: Path
    form: FileFormat
    numbers: Collection[str] = ()
    columns: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        with opened(self.path) as stream:
            object.__setattr__(
                self,
                "columns",
                names_in(self._header(stream), self.form, self._separator, self._place),
            )

    @classmethod
    def declared(cls, path: Path, schema: Schema | None) -> Delimited:
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

        return streamed(batches, dict.fromkeys(self.columns, pl.String()))

    def faults(self, most: int) -> tuple[list[str], int]:
        """What is wrong with the first malformed records, and how many there are. CONFIDENTIAL.

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
        return f"has {n} cell{'s' * (n > 1)} where the header has {n_columns}"

    def pieces(self) -> Iterator[bytes]:
        """The file's bytes, whole lines at a time, the header first. CONFIDENTIAL.

        Raises:
            DataError: the file breaks off or its compression is damaged.
        """
        with opened(self.path) as stream:
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
            raise broken(self.path) from None
        return header

    # --- the records ----------------------------------------------------------------------------

    def _batches(self, names: Sequence[str]) -> Iterator[tuple[_Block, Batch]]:
        """Records of some columns, with the text that they were split from."""
        places = {name: self.columns.index(name) for name in names}
        splitter = Splitter(self.form, self._separator, len(self.columns), places)
        with opened(self.path) as stream:
            line = 1 + self._header(stream).count(b"\n")
            rest = b""
            for piece in pieces(self.path, stream):
                final = not piece
                text = rest + decoded(piece, self.form.encoding)
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
    text = decoded(line, form.encoding).decode()
    cells = cells_of(text, separator, form)
    if isinstance(cells, str):
        raise DataError(
            f"{place} cannot be read: its header {cells}; correct it, or the table [file] of the "
            f"schema, which says how the file is written{_meant(text, form, separator)}."
        )
    for name in cells:
        if cells.count(name) > 1:
            raise DataError(f"{place} has two columns named {name!r}; rename one of them.")
    return tuple(cells)


def _meant(header: str, form: FileFormat, separator: str) -> str:
    """Another separator by which a header that does not fit has several cells."""
    for mark in SEPARATORS:
        cells = cells_of(header, mark, form)
        if mark not in (separator, form.quote) and isinstance(cells, list):
            return f" (separator = {mark!r})" * (len(cells) > 1)
    return ""


def plainly(cells: pl.DataFrame, form: FileFormat, numbers: Collection[str]) -> pl.DataFrame:
    """Numbers as a computer writes them, in place of how people do.

    Args:
        cells: as they stand in the file.
        form: how it is written.
        numbers: columns that hold numbers.
    """
    names = [name for name in cells.columns if name in numbers]
    if names and form.thousands:
        cells = cells.with_columns(ungrouped(cells.get_column(name), form) for name in names)
    if form.decimal == "." or not names:
        return cells
    return cells.with_columns(_swapped(cells.get_column(name)) for name in names)


def numbers_of_schema(schema: Schema) -> list[str]:
    """Columns that are declared to hold numbers."""
    return [name for name, column in schema.columns.items() if _holds_numbers(column)]


def _holds_numbers(column: Column) -> bool:
    """Whether any value of a column is declared as a number."""
    if isinstance(column, NUMERIC):
        return not isinstance(column, Calendar)
    return any(is_number(level) for level in column.levels)


def grouped(form: FileFormat) -> str:
    """The pattern of a number that has marks between its thousands."""
    mark = _BLANKS if form.thousands == " " else re.escape(form.thousands)
    decimal = re.escape(form.decimal)
    return rf"^\s*[+-]?[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+(?:{decimal}[0-9]*)?\s*$"


def ungrouped(text: pl.Series, form: FileFormat) -> pl.Series:
    """The same without the marks, in the cells that are numbers with marks in the right places."""
    mark = _BLANKS if form.thousands == " " else re.escape(form.thousands)
    bare = text.str.strip_chars().str.replace_all(mark, "")
    return bare.zip_with(text.str.contains(grouped(form)).fill_null(False), text)


def _swapped(text: pl.Series) -> pl.Series:
    """Decimal commas as points and points as commas, in the cells that look like a number."""
    other = text.str.replace_many([".", ","], [",", "."])
    return other.zip_with(text.str.contains(_LIKE_A_NUMBER).fill_null(False), text)
