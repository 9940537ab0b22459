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
last name, before the library sees it: else it alone could be more than memory holds
(`understudy.engine.reading.sheet_width`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from understudy.engine.confidential import NO_PREMISES, Premises
from understudy.engine.reading import sheet_width
from understudy.engine.reading.python_objects import UNLIKE
from understudy.engine.reading.sheet_width import narrowed
from understudy.engine.reading.text_records import MALFORMED
from understudy.errors import DataError
from understudy.extras import require_extra

ENDINGS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

_TIME = "^1899-12-31 ([0-9:.]+)$"  # the day that is 0 in a sheet, which shows none
_MIDNIGHT = "^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$"


WIDE: Final = (".xlsb", ".ods")
"""Formats in which a sheet may be thousands of columns wide, and nobody looks before it is read."""


def premises_of_sheet(path: Path) -> Premises:
    """What is taken for granted of the rows of a workbook, by the ending of its name."""
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
    try:
        narrow = narrowed(path) if path.suffix.lower() in sheet_width.ENDINGS else None
        book = fastexcel.read_excel(str(path) if narrow is None else narrow)
        names = list(book.sheet_names)
        if sheet and sheet not in names:
            raise DataError(
                f"{place} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, names))}. "
                "Name one of them as `sheet` in the table [file] of the schema."
            )
        cells = pl.DataFrame(
            book.load_sheet(sheet or 0, header_row=None, dtypes="string").to_polars()
        )
    except (fastexcel.FastExcelError, *sheet_width.FAULTS, pl.exceptions.PolarsError):
        raise DataError(
            f"{place} cannot be read: it is truncated, damaged, locked with a password, or not "
            "what its name says; repair it, or save it anew (nothing was spent)."
        ) from None
    return _with_header(cells, place)


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
