"""Cells far beside the columns of a sheet of .xlsx or .xlsm, moved beside the last of them.

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

ENDINGS: Final = (".xlsx", ".xlsm")
FAULTS: Final = (zipfile.BadZipFile, zlib.error, ET.ParseError, OSError, EOFError, ValueError)

_NEAR: Final = 64
"""Columns beside the named ones that cost nothing worth mentioning."""

_BLOCK: Final = 2**22
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PLACE: Final = re.compile(rb'\sr="[A-Z]{1,3}[0-9]')
_CELL: Final = (b"<c ", b"<c>", b"<c\n", b":c ", b":c>", b":c\n")
_PLACED: Final = b'<c r="'
_LETTERS: Final = re.compile(r"[A-Z]{1,3}")


def narrowed(path: Path) -> bytes | None:
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
    """Whether a sheet may have a cell far beyond a column, from 1."""
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
    """What finds the place of a cell beyond a column."""
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
