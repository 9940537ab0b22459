"""The tables of units and of their members, as a release gives them back.

A synthetic record of the wide table is one unit with its members in slots. `split` takes it apart:
each member that a slot holds becomes a row of the members' table, with the key of its unit. Keys
are numbers by chance (`release.sets`), so they link the two tables and say nothing else; every
member has a unit. Both tables follow from the records by public rules alone: post-processing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._storage import PARQUET_NOTE
from understudy.release.decoding import dtype_of
from understudy.release.sets import parts_of
from understudy.release.shape import Fault, quote_entry
from understudy.release.tables import write_rows
from understudy.schema import Identifier, Schema
from understudy.schema.design import Design
from understudy.schema.geography import Geography
from understudy.schema.households import NO_MEMBER, Members, slot_column

FOLDER: Final = "linked"
PACKAGE: Final = "datapackage.json"


def table_schemas(schema: Schema) -> dict[str, Schema]:
    """The schemas of both tables, without rules: name → schema, units first.

    Args:
        schema: of the wide table.
    """
    form = _members(schema)
    key = {form.key: Identifier(kind="identifier")}
    units = form.unit_columns(schema.declared)
    members = {**key, **form.member_columns(schema.declared)}
    return {
        form.of: _alone(schema, units),
        form.table: _alone(schema, members),
    }


def _members(schema: Schema) -> Members:
    assert schema.members is not None
    return schema.members


def _alone(schema: Schema, columns: Mapping[str, Any]) -> Schema:
    """A flat schema of some columns; what was derived has values like any other."""
    own = {
        name: one.model_copy(update={"derived": None}) if getattr(one, "derived", None) else one
        for name, one in columns.items()
    }
    changed = {"members": None, "columns": own, "forbidden": (), "relations": ()}
    return schema.model_copy(update={**changed, "design": Design(), "geography": Geography()})


def split(table: pl.DataFrame, schema: Schema) -> dict[str, pl.DataFrame]:
    """Take wide records apart: name of the table → its rows, units first.

    Args:
        table: records of the wide table, with their keys.
        schema: of the wide table.

    Returns:
        The units, a row each in the order of the records; and the members, unit by unit.
    """
    form = _members(schema)
    members, records = members_of(table, schema, form.columns)
    key = table.get_column(form.key).gather(records)
    units = pl.DataFrame([table.get_column(name) for name in form.unit_columns(schema.declared)])
    return {form.of: units, form.table: pl.DataFrame([key, *members])}


def members_of(
    table: pl.DataFrame, schema: Schema, columns: Sequence[str]
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Some columns of the members, unit by unit, and the wide record that each stands in.

    Args:
        table: records of the wide table.
        schema: of the wide table.
        columns: of the members' table, at least one.
    """
    form = _members(schema)
    slots = range(1, form.rows_per_unit + 1)
    there = [np.flatnonzero(present_in(table, form, j).to_numpy()) for j in slots]
    records = np.concatenate(there)
    order = np.argsort(records, kind="stable")  # slots stand behind each other already
    found = []
    for name, column in form.member_columns(schema.declared).items():
        if name in columns:
            parts = [
                _restore_type(table.get_column(slot_column(name, j)), column).gather(rows)
                for j, rows in zip(slots, there, strict=True)
            ]
            found.append(pl.concat(parts).gather(order).alias(name))
    return pl.DataFrame(found), records[order]


def present_in(table: pl.DataFrame, form: Members, j: int) -> pl.Series:
    """Return which records have a member in a slot; shape (n,)."""
    first = table.get_column(slot_column(form.columns[0], j)).cast(pl.String)
    return (first != NO_MEMBER).fill_null(value=True)


def _restore_type(values: pl.Series, column: Any) -> pl.Series:
    """Values of a slot in the type that they have without its code for nobody."""
    wanted = dtype_of(column)
    if values.dtype == wanted:
        return values
    if values.dtype in (pl.Enum, pl.String):
        texts = values.cast(pl.String)
        texts = texts.set(texts == NO_MEMBER, None)
        if wanted == pl.Boolean:
            return (texts == "true").alias(values.name)
        return texts.cast(wanted)
    return values.cast(wanted)


def linked_files(schema: Schema, n_sets: int) -> dict[str, tuple[int, str]]:
    """Parquet files of both tables: path within a release → number of the set from 0, and table."""
    names = (_members(schema).of, _members(schema).table)
    return {
        f"{FOLDER}/set-{k + 1}-{name}.parquet": (k, name) for k in range(n_sets) for name in names
    }


def write_linked(
    tables: Sequence[pl.DataFrame], schema: Schema, folder: Path, formats: Sequence[str]
) -> None:
    """Write both tables of every set.

    Args:
        tables: wide synthetic tables.
        schema: of the wide table.
        folder: of the release.
        formats: in which they are written beside Parquet.
    """
    (folder / FOLDER).mkdir()
    several = [_split_set(tables, schema, k) for k in range(len(tables))]
    for path, (k, name) in linked_files(schema, len(tables)).items():
        several[k][name].write_parquet(folder / path, metadata=PARQUET_NOTE)
    _write_several(several, schema, folder / FOLDER, formats)


def write_linked_rows(
    tables: Sequence[pl.DataFrame], schema: Schema, folder: Path, formats: Sequence[str]
) -> bool:
    """Write both tables of every set for other programs: set-1-NAME.csv and the like.

    Args:
        tables: wide synthetic tables.
        schema: of the wide table.
        folder: for the files.
        formats: in which they are written.

    Returns:
        Whether texts in CSV got an apostrophe.
    """
    several = [_split_set(tables, schema, k) for k in range(len(tables))]
    return _write_several(several, schema, folder, formats)


def _write_several(
    several: Sequence[Mapping[str, pl.DataFrame]],
    schema: Schema,
    folder: Path,
    formats: Sequence[str],
) -> bool:
    guarded = [
        write_rows([one[name] for one in several], form, folder, formats, behind=f"-{name}")
        for name, form in table_schemas(schema).items()
    ]
    return any(guarded)


def _split_set(tables: Sequence[pl.DataFrame], schema: Schema, k: int) -> dict[str, pl.DataFrame]:
    """Both tables of one set."""
    parts = [split(part, schema) for part in parts_of(tables, k)]
    return {name: pl.concat([part[name] for part in parts]) for name in parts[0]}


def require_linked(
    folder: Path, found: Collection[str], tables: Sequence[pl.DataFrame], schema: Schema
) -> None:
    """Refuse linked tables that are not those of the synthetic records.

    Args:
        folder: of the release.
        found: files that its manifest lists in `FOLDER`.
        tables: wide synthetic tables, as they were read.
        schema: of the wide table.

    Raises:
        Fault: names the table.
    """
    if schema.members is None:
        if found:
            raise Fault("its manifest lists linked tables, and its schema declares one flat table")
        return
    needed = linked_files(schema, len(tables))
    names = {*table_schemas(schema)}
    beside = {
        f"{FOLDER}/set-{k + 1}-{name}{ending}"
        for k in range(len(tables))
        for name in names
        for ending in (".csv", "-labels.csv", ".sav", ".dta")
    }
    if not {*needed, f"{FOLDER}/{PACKAGE}"} <= {*found}:
        raise Fault("its manifest does not list the tables of units and of members")
    if {*found} - {*needed, *beside, f"{FOLDER}/{PACKAGE}"}:
        raise Fault("its manifest lists linked files that are no part of a release")
    for path, (k, name) in needed.items():
        stored = pl.read_parquet(folder / path, hive_partitioning=False)
        if not stored.equals(_split_set(tables, schema, k)[name]):
            raise Fault(f"the table {quote_entry(name)} of a set is not that of its records")
