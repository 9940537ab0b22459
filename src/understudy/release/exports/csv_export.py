"""Synthetic tables as CSV: the values as they are, and with their labels where there are any."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from understudy.release.decoding import without_formulas
from understudy.release.exports.variable_facts import Variable, variables
from understudy.release.places_of_values import with_iso_times
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
    """Whether a value of a column has a label."""
    return any(column.value_labels for column in schema.stated.values())


def labelled(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The table with labels in the place of the values that have one.

    A label that two values of a column share stands with the value behind it.
    """
    table = with_iso_times(table)
    changed = [
        _labelled(table.get_column(one.name).alias(""), one).alias(one.name)
        for one in variables(schema)
        if any(category.label for category in one.categories)
    ]
    return table.with_columns(changed)


def _labelled(values: pl.Series, variable: Variable) -> pl.Series:
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
