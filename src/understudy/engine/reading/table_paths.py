"""Files of rows, each by the ending of its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from understudy.engine.reading import arrow_file, workbook
from understudy.engine.reading.arrow_file import ArrowFile
from understudy.engine.reading.delimited import Delimited, is_delimited
from understudy.engine.reading.json_lines import JsonLines, is_json_lines
from understudy.engine.reading.parquet import plain_columns, scan_parquet
from understudy.engine.reading.statistical import Statistical
from understudy.engine.reading.table_rows import READ_FAULTS, Rows, unknown
from understudy.engine.reading.workbook import premises_of_sheet, read_sheet
from understudy.errors import DataError
from understudy.schema import Schema
from understudy.schema.file_format import FileFormat
from understudy.schema.file_labels import is_statistical

ENDINGS: Final = (
    ".csv, .tsv, .txt, .jsonl or .ndjson (also .gz, .bz2, .xz, .zst, .lz4, .zip), .parquet, "
    ".feather or .arrow, .xlsx, .xls or .ods, .sav, .zsav, .por, .dta, .sas7bdat or .xpt"
)


def text_file(data: object, schema: Schema | None) -> Delimited | JsonLines | None:
    """A file of one record a line; None if data are none.

    Raises:
        DataError: it cannot be opened, or its header cannot be read.
    """
    if is_delimited(data):
        return Delimited.declared(Path(str(data)), schema)
    if is_json_lines(data):
        path = Path(str(data))
        return JsonLines.drafted(path) if schema is None else JsonLines(path, schema.names)
    return None


def is_parquet(path: str | Path) -> bool:
    """Whether a path is that of a Parquet file, or a folder of such files."""
    return Path(path).is_dir() or Path(path).name.lower().endswith((".parquet", ".pq"))


def is_workbook(data: object) -> bool:
    """Whether data are the path of a workbook."""
    return isinstance(data, str | Path) and Path(data).suffix.lower() in workbook.ENDINGS


def open_path(path: Path, schema: Schema | None) -> Rows:
    """Open a file, or a folder of Parquet files.

    Raises:
        DataError: no such file, no header, an ending that is not known, or not readable.
        MethodError: the library for it is not installed.
    """
    place = f"The file {str(path)!r}"
    try:
        exists = path.exists()
    except (OSError, ValueError):  # a name too long, or one that cannot be a name
        exists = False
    if not exists:
        raise DataError(f"{place} does not exist; check the path.")
    if path.is_dir():
        parts = sorted(path.glob("**/*.parquet"))
        if not parts:
            raise DataError(f"The folder {str(path)!r} holds no Parquet file (*.parquet).")
        return _open_parquet(parts, f"The folder {str(path)!r}")
    if is_parquet(path):
        return _open_parquet([path], place)
    file = text_file(path, schema)
    if file is not None:
        return Rows(file.lazy(), file.columns, "pandas", place)
    form = FileFormat() if schema is None else schema.file
    if is_statistical(path):
        stated = form.encoding if form.encoding != FileFormat().encoding else ""
        statistical = Statistical.opened(path, stated)
        return Rows(plain_columns(statistical.lazy()), tuple(statistical.types), "pandas", place)
    ending = path.suffix.lower()
    if ending in arrow_file.ENDINGS:
        return _open_arrow_file(ArrowFile(path), place)
    if ending in workbook.ENDINGS:
        frame = read_sheet(path, form.sheet)
        premises = premises_of_sheet(path)
        return Rows(frame.lazy(), tuple(frame.columns), "pandas", place, premises=premises)
    raise DataError(
        f"{place} has an ending that is not known; use {ENDINGS}, or a folder of Parquet files."
    )


def _open_parquet(files: Sequence[Path], place: str) -> Rows:
    try:
        lazy, types, alike = scan_parquet(files)
    except READ_FAULTS:
        raise unknown(place) from None
    several = {name: dtypes for name, dtypes in types.items() if len(dtypes) > 1}
    return Rows(
        lazy, tuple(types), "pandas", place, parts=several, files=tuple(files) if alike else ()
    )


def _open_arrow_file(file: ArrowFile, place: str) -> Rows:
    try:
        names, types = file.schema.names, file.types
    except READ_FAULTS:
        raise unknown(place) from None
    if len(set(names)) != len(names):
        raise DataError(f"{place} has two columns of one name; rename one of them.")
    unreadable = {one.name: str(one.type) for one in file.schema if one.name not in types}
    return Rows(plain_columns(file.lazy()), tuple(names), "arrow", place, unreadable)
