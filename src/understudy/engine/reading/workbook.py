"""Workbooks of Excel and LibreOffice: one sheet, whose first row names the columns.

A sheet has no types, only cells, and each is read by itself, as text: a number as its digits (to
nine behind the point, which is what the library gives), a day as YYYY-MM-DD, with its time of day
if it has one, a truth value as "true" or "false". A formula is its last result; an error such as
#N/A is no value. A row without any cell is no record. A sheet has at most about a million rows, and
is held in memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from understudy.errors import DataError
from understudy.extras import require_extra

ENDINGS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

_MIDNIGHT = "^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$"


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
        book = fastexcel.read_excel(str(path))
        names = list(book.sheet_names)
        if sheet and sheet not in names:
            raise DataError(
                f"{place} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, names))}. "
                "Name one of them as `sheet` in the table [file] of the schema."
            )
        cells = pl.DataFrame(
            book.load_sheet(sheet or 0, header_row=None, dtypes="string").to_polars()
        )
    except (fastexcel.FastExcelError, OSError, ValueError, pl.exceptions.PolarsError):
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
    header = filled.row(0)
    for k, name in enumerate(header):
        if not name:
            raise DataError(f"{place} has no name in the first row of column {k + 1}; write it in.")
        if name in header[:k]:
            raise DataError(f"{place} has two columns named {name!r}; rename one of them.")
    rows = filled.slice(1).with_columns(pl.all().cast(pl.String).str.replace(_MIDNIGHT, "$1"))
    return pl.DataFrame([rows.to_series(k).alias(name) for k, name in enumerate(header)])
