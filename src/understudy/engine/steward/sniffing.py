"""How a text file seems to be written: encoding, separator, quote and marks. CONFIDENTIAL.

All of it is read from the rows, where a single record can decide it (one byte of Latin-1 makes a
file windows-1252), so it is for drafts alone, and what is found needs review like a bound.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from understudy.engine.reading.delimited import SEPARATORS, Delimited, grouped
from understudy.engine.reading.text_records import cells_of, decoded
from understudy.errors import DataError
from understudy.schema.file_format import RECORD_LINES, Encoding, FileFormat

_LINES = 2000
_LOST_JOINS = 50  # lines whose quote nothing closes, after which none is looked for any more
_LEAST_SHARE = 0.5
_NEARLY_ALL = 0.8
_FEW_LINES = 3  # a header and two lines, which say little about their form
_ESCAPED = re.compile("[\udc80-\udcff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SURE = {
    ".": re.compile(r"\s*[+-]?\d{1,3}(?:(?:,\d{3}){2,}|(?:,\d{3})+\.\d+)\s*", re.ASCII),
    ",": re.compile(r"\s*[+-]?\d{1,3}(?:(?:\.\d{3}){2,}|(?:\.\d{3})+,\d+)\s*", re.ASCII),
}
"""Decimal mark → numbers that have the other mark between their thousands, and can have no other
meaning."""

_NUMBER = {mark: re.compile(rf"\s*[+-]?\d+{re.escape(mark)}\d+\s*", re.ASCII) for mark in ".,"}


def sniffed(path: Path) -> FileFormat:
    """The form that a text file seems to have.

    Raises:
        DataError: the file breaks off, its compression is damaged, it has no header, or most of its
            lines fit no form.
    """
    # Read as single bytes: what the lines are depends on no encoding.
    file = Delimited(path, FileFormat(encoding="latin-1", separator="\x1f", quote=""))
    encoding = _encoding(file)
    lines = _lines(file, encoding)
    usual = FileFormat().separator_in(path.name)
    # Of those that fit equally well, the first is taken.
    candidates = sorted(SEPARATORS, key=lambda mark: mark != usual)
    best = max((_Fit.of(lines, mark) for mark in candidates), key=_Fit.rank)
    if _fits_little(best, lines):
        raise DataError(
            f"The file {str(path)!r} cannot be drafted: most of its lines have not as many cells "
            "as its header, by commas, semicolons, tabs or bars. Take out lines above the names of "
            "the columns, and save it anew as CSV with line breaks inside cells left out."
        )
    decimal = _decimal(best, lines) if best.separator != "," else "."
    stated = best.separator if best.separator != usual or decimal == "," else ""
    form = FileFormat(
        encoding=encoding,
        separator=stated,
        quote=best.quote,
        decimal=decimal,
        thousands=_thousands(best, lines, decimal),
        multiline=best.multiline,
    )
    return _with_late_breaks(path, form)


def _with_late_breaks(path: Path, form: FileFormat) -> FileFormat:
    """The form, with `multiline` where more records fit so; breaks may begin behind the sample."""
    if form.multiline or not form.quote:
        return form
    several = form.model_copy(update={"multiline": True})
    try:
        malformed = Delimited(path, form).faults(0)[1]
        fewer = malformed and Delimited(path, several).faults(0)[1] < malformed
    except DataError:  # the header cannot be read, which whoever reads the file is told
        return form
    return several if fewer else form


def _lines(file: Delimited, encoding: Encoding) -> list[str]:
    """The header, and the first lines behind it that are text at all."""
    raw = (line for piece in file.pieces() for line in piece.split(b"\n")[:-1])
    texts = (decoded(line.removesuffix(b"\r"), encoding).decode() for line in raw)
    header = next(texts).removeprefix("\ufeff")
    return [header, *islice((text for text in texts if "\0" not in text), _LINES)]


def _encoding(file: Delimited) -> Encoding:
    """UTF-8, unless more of the characters that are not ASCII cannot be read so than can.

    The alternative is windows-1252, of which Latin-1 is a part, but for control characters.
    """
    unread = read = 0
    for piece in file.pieces():
        if piece.isascii():
            continue
        text = piece.decode("utf-8", "surrogateescape")
        escaped = len(_ESCAPED.findall(text))
        unread += escaped
        read += len(_NOT_ASCII.findall(text)) - escaped
    return "utf-8" if unread <= read else "windows-1252"


@dataclass(frozen=True)
class _Record:
    """Some lines that are read as one record.

    Attributes:
        cells: of the record; why there are none, where the lines make none.
        lines: the lines.
    """

    cells: list[str] | str
    lines: tuple[str, ...]


def _records(lines: list[str], form: FileFormat) -> Iterator[_Record]:
    """Records of some lines, the header first, as the reader makes them of a whole file."""
    at, n_cells, n_left = 0, None, _LOST_JOINS
    while at < len(lines):
        record = _Record(cells_of(lines[at], form.separator, form), (lines[at],))
        if form.multiline and n_left and isinstance(record.cells, str):
            joined = _joined(lines[at : at + RECORD_LINES], form, n_cells)
            record, n_left = joined or record, n_left - (joined is None)
        if n_cells is None and isinstance(record.cells, list):
            n_cells = len(record.cells)
        yield record
        at += len(record.lines)


def _joined(lines: list[str], form: FileFormat, n_cells: int | None) -> _Record | None:
    """The shortest record of several lines, the first among them, that fits; None if none does."""
    n_quotes = lines[0].count(form.quote)
    for k, line in enumerate(lines[1:], 2):
        n_quotes += line.count(form.quote)
        if n_quotes % 2:
            continue
        cells = cells_of("\n".join(lines[:k]), form.separator, form)
        if isinstance(cells, list) and n_cells in (None, len(cells)):
            return _Record(cells, tuple(lines[:k]))
    return None


@dataclass(frozen=True)
class _Fit:
    """How well lines fit a separator, with the quote that suits them.

    Attributes:
        separator: between cells.
        quote: around cells, or "".
        multiline: whether cells have line breaks.
        n_cells: of the header.
        share: of the lines that stand in a record of as many cells.
    """

    separator: str
    quote: str
    multiline: bool
    n_cells: int
    share: float

    @classmethod
    def of(cls, lines: list[str], separator: str) -> _Fit:
        """Of a header and the lines behind it."""
        quote, multiline = _quote(lines, separator)
        form = FileFormat(separator=separator, quote=quote, multiline=multiline)
        header, *records = _records(lines, form)
        if isinstance(header.cells, str):
            return cls(separator, quote, multiline, 1, 0.0)
        n_cells = len(header.cells)
        fits = sum(len(one.lines) for one in records if _has(one, n_cells))
        n_lines = len(lines) - len(header.lines)
        return cls(separator, quote, multiline, n_cells, fits / n_lines if n_lines else 1.0)

    def cells(self, lines: list[str]) -> Iterator[str]:
        """Cells behind the header, of the lines that fit."""
        form = FileFormat(separator=self.separator, quote=self.quote, multiline=self.multiline)
        for record in islice(_records(lines, form), 1, None):
            yield from record.cells if isinstance(record.cells, list) else ()

    def rank(self) -> tuple[float, float, int]:
        """Several columns come before one, then many lines that fit, then many columns."""
        return self.share * (self.n_cells > 1), self.share, self.n_cells


def _fits_little(fit: _Fit, lines: list[str]) -> bool:
    """Whether so many lines do not fit that the form is rather another one.

    A header of one cell fits every line by some separator; then it is whether another separator
    divides nearly all lines behind it alike, as below a title. Decimal commas do not.
    """
    if len(lines) <= _FEW_LINES:
        return False
    if fit.n_cells > 1 or fit.share < _LEAST_SHARE:
        return fit.share < _LEAST_SHARE
    for separator in SEPARATORS:
        form = FileFormat(separator=separator, quote=fit.quote)
        cells = (cells_of(line, separator, form) for line in lines[1:])
        sizes = Counter(len(one) for one in cells if isinstance(one, list))
        n_cells, n_lines = sizes.most_common(1)[0] if sizes else (1, 0)
        if n_cells > 1 and n_lines > _NEARLY_ALL * (len(lines) - 1):
            return not _many(_NUMBER[","], lines) > n_lines / 2
    return False


def _has(record: _Record, n_cells: int) -> bool:
    return isinstance(record.cells, list) and len(record.cells) == n_cells


def _quote(lines: list[str], separator: str) -> tuple[str, bool]:
    """The mark that more lines have rightly than wrongly; the usual one where none has any.

    Besides, whether its cells have line breaks: only where records of several lines fit.
    """
    for quote in ('"', "'"):
        form = FileFormat(separator=separator, quote=quote)
        marked = [line for line in lines if quote in line]
        rightly = sum(isinstance(cells_of(line, separator, form), list) for line in marked)
        if quote == '"' and rightly < len(marked):
            several = form.model_copy(update={"multiline": True})
            joined = _rightly(lines, several)
            if joined > rightly and 2 * joined > len(marked):
                return quote, True
        if 2 * rightly > len(marked):
            return quote, False
        if not marked and quote == '"' and "'" not in lines[0]:
            return quote, False
    return ("" if any('"' in line for line in lines) else '"'), False


def _rightly(lines: list[str], form: FileFormat) -> int:
    """How many lines with the quote stand in a record that has as many cells as the header."""
    header, *records = _records(lines, form)
    if isinstance(header.cells, str):
        return 0
    fitting = (one for one in (header, *records) if _has(one, len(header.cells)))
    return sum(form.quote in line for one in fitting for line in one.lines)


def _decimal(fit: _Fit, lines: list[str]) -> str:
    """A comma, if more cells are numbers with a comma than with a point.

    A number that has both, or one of them twice, says which of them stands between thousands.
    """
    cells = list(fit.cells(lines))
    sure = {mark: _many(_SURE[mark], cells) for mark in ".,"}
    if sure["."] != sure[","]:
        return "," if sure[","] > sure["."] else "."
    return "," if _many(_NUMBER[","], cells) > _many(_NUMBER["."], cells) else "."


def _thousands(fit: _Fit, lines: list[str], decimal: str) -> str:
    """The mark between thousands that most numbers have; "" if none has any for sure."""
    cells = list(fit.cells(lines))
    found = {}
    for mark in (" ", "'", "," if decimal == "." else "."):
        if mark == fit.quote:
            continue
        form = FileFormat(separator=fit.separator, decimal=decimal, thousands=mark, quote=fit.quote)
        found[mark] = _many(re.compile(grouped(form)), cells)
        if mark in ".," and not _many(_SURE[decimal], cells) and decimal == ".":
            found[mark] = 0  # 1,234 alone may as well be a little more than one
    best = max(found, key=lambda mark: found[mark])
    return best if found[best] else ""


def _many(pattern: re.Pattern[str], cells: list[str]) -> int:
    return sum(pattern.fullmatch(cell) is not None for cell in cells)
