"""Workbooks of Excel and LibreOffice: one sheet, whose first row names the columns.

A sheet has no types, only cells, and each is read by itself, as text: a number as its digits (to
nine behind the point, which is what the library gives), a day as YYYY-MM-DD, with its time of day
if it has one, a time of day as HH:MM:SS, a truth value as "true" or "false". A formula is its last
result; an error such as #N/A is no value. A row without any cell is no record.

The columns are those from the first to the last name in the first row. A row with a cell beside
them is one record out of domain, whose cells all read `MALFORMED`, like a line of a text file that
has more cells than its header.

A sheet has at most about a million rows, and is held in memory. The library makes room for a whole
rectangle, as wide as the farthest cell. So a cell far away in a sheet of XML is moved beside the
last name, before the library sees it: else it alone could be more than memory holds.

**Cells far beside the columns of a sheet of .xlsx or .xlsm, moved beside the last of them.**

The library that reads a sheet makes room for a whole rectangle, as wide as its farthest cell: up to
16,384 columns of every row, which one stray cell is enough for. Where a cell lies far beyond the
first row, the sheet is written anew, row by row: cells beyond the first row's last one move up to
it. So the row still has a cell too many, and is out of domain, and all others are as they were.
Both ways give the same records: a row with so many cells that they cannot be moved up is one for
which the sheet is written anew, whatever the others are, and gets a cell that says so.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final
from xml.etree import ElementTree as ET

import polars as pl

from understudy._validation import require_extra
from understudy.data.csv import MALFORMED
from understudy.data.frames import UNLIKE
from understudy.data.premises import NO_PREMISES, Premises
from understudy.errors import DataError

SHEET_ENDINGS: Final = (".xlsx", ".xlsm")
FAULTS: Final = (zipfile.BadZipFile, zlib.error, ET.ParseError, OSError, EOFError, ValueError)

_NEAR: Final = 64
"""Columns beside the named ones that cost nothing worth mentioning."""

_BLOCK: Final = 2**22
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PLACE: Final = re.compile(rb'\sr="[A-Z]{1,3}[0-9]')
_CELL: Final = (b"<c ", b"<c>", b"<c\n", b":c ", b":c>", b":c\n")
_PLACED: Final = b'<c r="'
_LETTERS: Final = re.compile(r"[A-Z]{1,3}")


def narrow_workbook(path: Path) -> bytes | None:
    """A workbook without cells far beside the columns; None if it has none.

    Args:
        path: of the workbook.

    Raises:
        FAULTS: it is damaged, or locked.
    """
    with zipfile.ZipFile(path) as archive:
        sheets = {
            name: _last_of_first_row(archive, name)
            for name in archive.namelist()
            if name.startswith("xl/worksheets/") and name.endswith(".xml")
        }
        far = [name for name, last in sheets.items() if _has_far_cells(archive, name, last)]
        if not far:
            return None
        changed = io.BytesIO()
        with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
            for name in archive.namelist():
                if name not in far:
                    copy.writestr(name, archive.read(name))
                    continue
                with archive.open(name) as stream, copy.open(name, "w") as sheet:
                    for piece in _without_far_cells(stream, sheets[name]):
                        sheet.write(piece)
        return changed.getvalue()


def _has_far_cells(archive: zipfile.ZipFile, name: str, last: int) -> bool:
    """Return whether a sheet may have a cell far beyond a column, from 1."""
    rest, far = b"", _beyond(_letters(last + _NEAR))
    with archive.open(name) as stream:
        while block := stream.read(_BLOCK):
            text = rest + block
            whole, rest = text, b""
            if len(block) == _BLOCK:
                end = text.rfind(b"<")
                whole, rest = text[:end], text[end:]
            if far.search(whole):
                return True
            n_cells = sum(map(whole.count, _CELL))
            if whole.count(_PLACED) < n_cells and len(_PLACE.findall(whole)) < n_cells:
                return True  # some do not say where they are
    return False


def _beyond(letters: str) -> re.Pattern[bytes]:
    """Compile the pattern that finds the place of a cell beyond a column."""
    parts = [f"[A-Z]{{{len(letters) + 1},3}}"] if len(letters) < 3 else []
    for k, letter in enumerate(letters):
        if letter < "Z":
            rest = f"[A-Z]{{{len(letters) - k - 1}}}"
            parts.append(f"{letters[:k]}[{chr(ord(letter) + 1)}-Z]{rest}")
    return re.compile(f'r="(?:{"|".join(parts)})[0-9]'.encode())


def _last_of_first_row(archive: zipfile.ZipFile, name: str) -> int:
    """The last column, from 1, of the first row with a cell that holds something."""
    with archive.open(name) as stream:
        for row in _rows(stream):
            held = [column for column, cell in _cells(row) if len(cell)]
            if held:
                return max(held)
    return 0


def _without_far_cells(stream: IO[bytes], last: int) -> Iterator[bytes]:
    yield f'<worksheet xmlns="{_MAIN}"><sheetData>'.encode()
    number = 0
    for row in _rows(stream):
        number = int(row.get("r") or number + 1)
        kept = ET.Element("row", {"r": str(number)})
        beyond = last
        for column, cell in _cells(row):
            if column > last:
                if beyond > last + _NEAR or not len(cell):
                    continue
                beyond += 1
            place = f"{_letters(column if column <= last else beyond)}{number}"
            if beyond > last + _NEAR:
                ET.SubElement(ET.SubElement(kept, "c", {"r": place, "t": "b"}), "v").text = "1"
                continue
            said = {key: value for key, value in cell.attrib.items() if key in ("s", "t")}
            moved = ET.SubElement(kept, "c", {"r": place, **said})
            for part in cell:
                moved.append(_plain(part))
        yield ET.tostring(kept)
    yield b"</sheetData></worksheet>"


def _plain(part: ET.Element) -> ET.Element:
    """A part of a cell, under the only namespace that is written."""
    for one in part.iter():
        one.tag = one.tag.rpartition("}")[2]
        one.attrib.clear()
    return part


def _rows(stream: IO[bytes]) -> Iterator[ET.Element]:
    """Rows of a sheet, one held at a time; the parser fetches no entity and bounds their growth."""
    held: list[ET.Element] = []
    for event, one in ET.iterparse(stream, events=("start", "end")):  # noqa: S314
        name = one.tag.rpartition("}")[2]
        if event == "start":
            held.append(one)
            continue
        held.pop()
        if name == "row":
            yield one
            if held:
                held[-1].remove(one)


def _cells(row: ET.Element) -> Iterator[tuple[int, ET.Element]]:
    """Cells of a row, each with its column, from 1; where none is said, the next one."""
    column = 0
    for cell in row:
        if cell.tag.rpartition("}")[2] == "c":
            said = _LETTERS.match(cell.get("r", ""))
            column = _number(said[0]) if said else column + 1
            yield column, cell


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _letters(number: int) -> str:
    found = ""
    while number:
        number, rest = divmod(number - 1, 26)
        found = chr(ord("A") + rest) + found
    return found


ENDINGS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

_TIME = "^1899-12-31 ([0-9:.]+)$"  # the day that is 0 in a sheet, which shows none
_MIDNIGHT = "^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$"


WIDE: Final = (".xlsb", ".ods")
"""Formats in which a sheet may be thousands of columns wide, and nobody looks before it is read."""


def premises_of_sheet(path: Path) -> Premises:
    """State what is taken for granted of the rows of a workbook, by the ending of its name."""
    if path.suffix.lower() not in WIDE:
        return NO_PREMISES
    sentence = (
        "No cell of the workbook lies so far beside its columns that the whole rectangle is more "
        "than memory holds; in a sheet of .xlsx none can."
    )
    return Premises(unproved=(sentence,))


def read_sheet(path: Path, sheet: str) -> pl.DataFrame:
    """A sheet as text, null where a cell is empty. CONFIDENTIAL.

    Args:
        path: of the workbook.
        sheet: its name; "" for the first one.

    Raises:
        DataError: it cannot be read, has no such sheet, or no row of names.
        MethodError: the library for it is not installed.
    """
    require_extra("files", "A workbook", library="fastexcel")
    import fastexcel

    place = f"The file {str(path)!r}"
    unreadable = (fastexcel.FastExcelError, *FAULTS, pl.exceptions.PolarsError)
    broken = DataError(
        f"{place} cannot be read: it is truncated, damaged, locked with a password, or not what "
        "its name says; repair it, or save it anew (nothing was spent)."
    )
    try:
        narrow = narrow_workbook(path) if path.suffix.lower() in SHEET_ENDINGS else None
        book = fastexcel.read_excel(str(path) if narrow is None else narrow)
        names = list(book.sheet_names)
    except unreadable:
        raise broken from None
    if sheet and sheet not in names:
        raise DataError(
            f"{place} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, names))}. "
            "Name one of them as `sheet` in the table [file] of the schema."
        )
    try:
        cells = book.load_sheet(sheet or 0, header_row=None, dtypes="string").to_polars()
    except unreadable:
        raise broken from None
    return _with_header(pl.DataFrame(cells), place)


def _with_header(cells: pl.DataFrame, place: str) -> pl.DataFrame:
    """The rows below the first one, under the names that stand in it.

    Raises:
        DataError: names the column of the sheet that has no name, or two that share one.
    """
    filled = cells.filter(~pl.all_horizontal(pl.all().is_null()))
    if not filled.height:
        raise DataError(f"{place} is empty: it has no row that names the columns.")
    heading = filled.row(0)
    named = [k for k, name in enumerate(heading) if name]
    if not named:
        raise DataError(f"{place} has no name in the first row; write the columns' names in.")
    first, last = named[0], named[-1]
    header = heading[first : last + 1]
    for k, name in enumerate(header):
        if not name:
            raise DataError(
                f"{place} has no name in the first row of column {first + k + 1}; write it in."
            )
        if name in header[:k]:
            raise DataError(f"{place} has two columns named {name!r}; rename one of them.")
    rows = filled.slice(1)
    beyond = [*rows.get_columns()[:first], *rows.get_columns()[last + 1 :]]
    odd = pl.repeat(value=False, n=rows.height, dtype=pl.Boolean, eager=True)
    for column in beyond:
        odd |= column.is_not_null()
    texts = rows.with_columns(
        pl.all()
        .cast(pl.String)
        .str.replace(_TIME, "$1")
        .str.replace(_MIDNIGHT, "$1")
        .str.replace_all("\0", UNLIKE, literal=True)
    )
    return pl.DataFrame(
        [
            texts.to_series(first + k).set(odd, MALFORMED).alias(name)
            for k, name in enumerate(header)
        ]
    )
