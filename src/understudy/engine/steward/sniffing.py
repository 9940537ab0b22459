"""How a text file seems to be written: encoding, separator, quote and marks. CONFIDENTIAL.

All of it is read from the rows, where a single record can decide it (one byte of Latin-1 makes a
file windows-1252), so it is for drafts alone, and what is found needs review like a bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from understudy.engine.reading.delimited import Delimited, grouped
from understudy.engine.reading.text_records import cells_of, decoded
from understudy.schema.file_format import Encoding, FileFormat

_SEPARATORS: Final = (",", ";", "\t", "|")
_LINES = 2000
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
        DataError: the file breaks off, its compression is damaged, or it has no header.
    """
    # Read as single bytes: what the lines are depends on no encoding.
    file = Delimited(path, FileFormat(encoding="latin-1", separator="\x1f", quote=""))
    encoding = _encoding(file)
    lines = _lines(file, encoding)
    usual = FileFormat().separator_in(path.name)
    # Of those that fit equally well, the first is taken.
    candidates = sorted(_SEPARATORS, key=lambda mark: mark != usual)
    best = max((_Fit.of(lines, mark) for mark in candidates), key=_Fit.rank)
    decimal = _decimal(best, lines) if best.separator != "," else "."
    stated = best.separator if best.separator != usual or decimal == "," else ""
    thousands = _thousands(best, lines, decimal)
    return FileFormat(
        encoding=encoding,
        separator=stated,
        quote=best.quote,
        decimal=decimal,
        thousands=thousands,
    )


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
class _Fit:
    """How well lines fit a separator, with the quote that suits them.

    Attributes:
        separator: between cells.
        quote: around cells, or "".
        n_cells: of the header.
        share: of the lines that have as many cells.
    """

    separator: str
    quote: str
    n_cells: int
    share: float

    @classmethod
    def of(cls, lines: list[str], separator: str) -> _Fit:
        """Of a header and the lines behind it."""
        quote = _quote(lines, separator)
        form = FileFormat(separator=separator, quote=quote)
        header = cells_of(lines[0], separator, form)
        if isinstance(header, str):
            return cls(separator, quote, 1, 0.0)
        records = (cells_of(line, separator, form) for line in lines[1:])
        fits = [isinstance(cells, list) and len(cells) == len(header) for cells in records]
        return cls(separator, quote, len(header), float(np.mean(fits)) if fits else 1.0)

    def cells(self, lines: list[str]) -> Iterator[str]:
        """Cells behind the header, of the lines that fit."""
        form = FileFormat(separator=self.separator, quote=self.quote)
        for line in lines[1:]:
            found = cells_of(line, self.separator, form)
            yield from found if isinstance(found, list) else ()

    def rank(self) -> tuple[float, float, int]:
        """Several columns come before one, then many lines that fit, then many columns."""
        return self.share * (self.n_cells > 1), self.share, self.n_cells


def _quote(lines: list[str], separator: str) -> str:
    """The mark that more lines have rightly than wrongly; the usual one where none has any."""
    for quote in ('"', "'"):
        form = FileFormat(separator=separator, quote=quote)
        marked = [line for line in lines if quote in line]
        rightly = sum(isinstance(cells_of(line, separator, form), list) for line in marked)
        if 2 * rightly > len(marked):
            return quote
        if not marked and quote == '"' and "'" not in lines[0]:
            return quote
    return "" if any('"' in line for line in lines) else '"'


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
