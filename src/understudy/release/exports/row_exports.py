"""The synthetic tables in other formats beside Parquet: which there are, and writing them.

What a format cannot hold is refused by `require_formats`, before a budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from understudy.arguments import kind_of
from understudy.errors import ReleaseError, suggestion
from understudy.extras import require_extra
from understudy.release.decoding import has_formulas
from understudy.release.exports.csv_export import has_labels, labelled, write_csv
from understudy.release.exports.dta_export import require_letters, write_dta
from understudy.release.exports.sav_export import require_missing_values, write_sav
from understudy.release.synthetic_sets import (
    PartedSets,
    part_names,
    parts_of,
)
from understudy.schema import Schema

FORMATS: Final = ("csv", "sav", "dta")
RAW_CSV: Final = "csv-raw"
"""CSV whose texts are as they are, also those that a spreadsheet would run as a formula."""
_EVERY: Final = (*FORMATS, RAW_CSV)
_NEEDS: Final = {"sav": "Writing SPSS files", "dta": "Writing Stata files"}
_WRITERS: Final[dict[str, Callable[[pl.DataFrame, Schema, Path, str], None]]] = {
    "sav": write_sav,
    "dta": write_dta,
}


def formats_of(also: object = (), *, csv: bool = False, csv_raw: bool = False) -> tuple[str, ...]:
    """The formats that were asked for, each once.

    Args:
        also: names of formats, one text ("sav,dta") or several.
        csv: whether CSV was asked for besides.
        csv_raw: whether CSV was, with its texts as they are.

    Raises:
        ReleaseError: a format that is not known.
    """
    texts = [also] if isinstance(also, str) else also
    if not isinstance(texts, Collection) or not all(isinstance(text, str) for text in texts):
        raise ReleaseError(f"`also` must name formats, such as 'sav,dta', not {kind_of(also)}.")
    asked = [name.strip().lower() for text in texts for name in text.split(",") if name.strip()]
    asked += ["csv"] * csv + [RAW_CSV] * csv_raw
    for name in asked:
        if name not in _EVERY:
            raise ReleaseError(
                f"A release cannot be written as {name[:40]!r}{suggestion(name, FORMATS)}; the "
                f"formats are {', '.join(FORMATS)}."
            )
    named = [name for name in _EVERY if name in asked]
    return tuple(name for name in named if name != "csv" or RAW_CSV not in named)


def require_formats(formats: Sequence[str], schema: Schema) -> None:
    """Refuse formats that cannot be written here, or cannot hold what a schema declares.

    Args:
        formats: by `formats_of`.
        schema: of the release.

    Raises:
        MethodError: a library is not installed.
        ReleaseError: names the column that does not fit, and what to do.
    """
    for name in formats:
        if name in _NEEDS:
            require_extra("files", _NEEDS[name])
    if "sav" in formats:
        require_missing_values(schema)
    if "dta" in formats:
        require_letters(schema)


def write_rows(
    tables: Sequence[pl.DataFrame], schema: Schema, folder: Path, formats: Sequence[str]
) -> bool:
    """Write every synthetic table in every format.

    Args:
        tables: of the release.
        schema: of the release.
        folder: for the files: set-1.csv, set-1.sav …
        formats: by `formats_of`.

    Returns:
        Whether texts in CSV got an apostrophe.
    """
    sets = range(len(tables))
    guarded = "csv" in formats and any(
        _runs(part, schema) for k in sets for part in parts_of(tables, k)
    )
    for k in sets:
        place = folder / f"set-{k + 1}"
        if "csv" in formats or RAW_CSV in formats:
            _write_csv(tables, k, schema, place, guarded=guarded)
        title = f"Synthetic: {schema.title or 'data release'}, set {k + 1}"
        endings = _part_endings(len(tables.sizes) if isinstance(tables, PartedSets) else 1)
        for name in (name for name in formats if name in _WRITERS):
            for ending, part in zip(endings, parts_of(tables, k), strict=True):
                file = place.with_name(f"{place.name}{ending}.{name}")
                _WRITERS[name](part, schema, file, title)
    return guarded


def _write_csv(
    tables: Sequence[pl.DataFrame], k: int, schema: Schema, place: Path, *, guarded: bool
) -> None:
    """One table, however long, in one file; and with labels in another, if there are any."""
    write_csv(parts_of(tables, k), place.with_suffix(".csv"), guarded=guarded)
    if has_labels(schema):
        told = (labelled(part, schema) for part in parts_of(tables, k))
        write_csv(told, place.with_name(f"{place.name}-labels.csv"), guarded=guarded)


def _runs(part: pl.DataFrame, schema: Schema) -> bool:
    """Whether a spreadsheet would run a value of a table, or a label of it."""
    told = has_labels(schema) and has_formulas(labelled(part, schema))
    return told or has_formulas(part)


def _part_endings(n_parts: int) -> list[str]:
    """What the files of SPSS and Stata are called behind the name of their set."""
    names = part_names(n_parts) if n_parts > 1 else []
    return [f"-{Path(name).stem}" for name in names] or [""]


def possible_files(n_sets: int, n_parts: int) -> set[str]:
    """Names of all files of rows that a release may have beside Parquet.

    Args:
        n_sets: number of synthetic tables.
        n_parts: in how many parts each comes.
    """
    parts = {f"{part}.{name}" for part in _part_endings(n_parts) for name in _WRITERS}
    endings = parts | {".csv", "-labels.csv"}
    return {f"set-{k}{ending}" for k in range(1, n_sets + 1) for ending in endings}
