"""Synthetic tables as CSV: the values as they are, and with their labels where there are any.

**The synthetic tables in other formats beside Parquet: which there are, and writing them.**

What a format cannot hold is refused by `require_formats`, before a budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from understudy._validation import kind_of, require_extra
from understudy.errors import ReleaseError, suggestion
from understudy.release.decoding import has_formulas, with_iso_times, without_formulas
from understudy.release.export_values import Variable, variables
from understudy.release.sets import PartedSets, part_names, parts_of
from understudy.release.stata_spss import (
    require_letters,
    require_missing_values,
    write_dta,
    write_sav,
)
from understudy.schema import Schema


def write_csv(parts: Iterable[pl.DataFrame], file: Path, *, guarded: bool) -> None:
    """Write one synthetic table: UTF-8, commas, an empty cell for what is missing.

    Args:
        parts: of the table, one after the other.
        file: to be written.
        guarded: whether texts that a spreadsheet would run as a formula get an apostrophe.
    """
    with file.open("wb") as stream:
        for i, part in enumerate(parts):
            written = without_formulas(part) if guarded else part
            with_iso_times(written).write_csv(stream, include_header=not i)


def has_labels(schema: Schema) -> bool:
    """Return whether a value of a column has a label."""
    return any(column.value_labels for column in schema.stated.values())


def label_values(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The table with labels in the place of the values that have one.

    A label that two values of a column share stands with the value behind it.
    """
    table = with_iso_times(table)
    changed = [
        _label_column(table.get_column(one.name).alias(""), one).alias(one.name)
        for one in variables(schema)
        if any(category.label for category in one.categories)
    ]
    return table.with_columns(changed)


def _label_column(values: pl.Series, variable: Variable) -> pl.Series:
    words = [one.words for one in variable.categories]
    told = {
        one.text: one.label if words.count(one.label) == 1 else f"{one.label} ({one.text})"
        for one in variable.categories
        if one.label
    }
    empty = told.pop("", None)
    texts = _texts(values).replace(told)
    return texts if empty is None else texts.fill_null(empty)


def _texts(values: pl.Series) -> pl.Series:
    """Values as the schema writes them: whole numbers without a point."""
    if values.dtype == pl.Float64 and not values.round().eq_missing(values).not_().any():
        return values.cast(pl.Int64).cast(pl.String)
    texts = values.cast(pl.String)
    return texts.str.strip_suffix(".0") if values.dtype == pl.Float64 else texts


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
    tables: Sequence[pl.DataFrame],
    schema: Schema,
    folder: Path,
    formats: Sequence[str],
    *,
    behind: str = "",
) -> bool:
    """Write every synthetic table in every format.

    Args:
        tables: of the release.
        schema: of the release.
        folder: for the files: set-1.csv, set-1.sav …
        formats: by `formats_of`.
        behind: ends the name of each file.

    Returns:
        Whether texts in CSV got an apostrophe.
    """
    sets = range(len(tables))
    guarded = "csv" in formats and any(
        _runs(part, schema) for k in sets for part in parts_of(tables, k)
    )
    for k in sets:
        place = folder / f"set-{k + 1}{behind}"
        if "csv" in formats or RAW_CSV in formats:
            _write_csv(tables, k, schema, place, guarded=guarded)
        title = f"Synthetic, not real people: {schema.title or 'untitled'}, set {k + 1}"
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
        told = (label_values(part, schema) for part in parts_of(tables, k))
        write_csv(told, place.with_name(f"{place.name}-labels.csv"), guarded=guarded)


def _runs(part: pl.DataFrame, schema: Schema) -> bool:
    """Return whether a spreadsheet would run a value of a table, or a label of it."""
    told = has_labels(schema) and has_formulas(label_values(part, schema))
    return told or has_formulas(part)


def _part_endings(n_parts: int) -> list[str]:
    """List the endings of files of SPSS and Stata behind the name of their set."""
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
