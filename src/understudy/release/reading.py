"""Reading a release folder: each part for itself, and then whether the parts fit each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from understudy.errors import SchemaError
from understudy.release import format_1
from understudy.release.content_check import (
    require_cells,
    require_named,
    require_rows,
    require_stored,
)
from understudy.release.manifest import InferenceFacts, Manifest, require_facts
from understudy.release.measurement import Measurement
from understudy.release.measurement_content import Kind
from understudy.release.promise_check import require_promise
from understudy.release.relation_check import require_relations
from understudy.release.shape import Fault, named, require_shape
from understudy.schema import Schema

PAGES: Final = ("report.html", "results.html")
MALFORMED: Final = (
    *(SchemaError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError),
    *(OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
"""What reading a part may end in that was not written by this software."""


@dataclass(frozen=True)
class Parts:
    """What a folder holds.

    Attributes:
        tables: synthetic tables.
        schema: the public schema.
        manifest: how the release was made.
        measurements: released noisy tables.
        pages: file name → text.
    """

    tables: tuple[pl.DataFrame, ...]
    schema: Schema
    manifest: Manifest
    measurements: tuple[Measurement, ...]
    pages: Mapping[str, str]


def read_parts(folder: Path, content: dict[str, Any]) -> Parts:
    """Read a folder whose files and checksums fit, and see that its parts fit each other.

    Args:
        folder: of the release.
        content: of its manifest, with its `format`; `files` lists its files.

    Raises:
        Fault: parts that contradict each other, or an entry of the wrong kind.
        Exception: one of `MALFORMED`, for a part that cannot be read.
    """
    files, version = content.pop("files"), content.pop("format")
    require_shape(content, version)
    entries = content.pop("measurements")
    _require_files(files, content["sets"], entries)
    _require_declared(content)
    schema = Schema.load(folder / "schema.toml")
    manifest = Manifest.from_json(content, _inference(content, version, entries, schema))
    if not set(manifest.priority) <= set(schema.names):
        raise Fault("it gives priority to columns that its schema does not have")
    require_promise(manifest, [entry["ledger_entry"] for entry in entries], schema)
    measurements = tuple(_measurement(folder, data, schema) for data in entries)
    require_facts(manifest.inference, manifest.sets_kind, measurements, schema)
    tables = _tables(folder, schema, manifest, measurements)
    pages = {name: (folder / name).read_text(encoding="utf-8") for name in PAGES if name in files}
    return Parts(tables, schema, manifest, measurements, pages)


def _require_files(files: list[str], sets: int, entries: list[dict[str, Any]]) -> None:
    """Refuse files that no release has, and the lack of one that it must have."""
    names = [entry["name"] for entry in entries if entry["name"]]
    if len(set(names)) < len(names):
        raise Fault("two measurements have one name")
    synthetic = [f"synthetic/set-{k}" for k in range(1, sets + 1)]
    needed = {
        *("schema.toml", "README.md"),
        *(f"{name}.parquet" for name in synthetic),
        *(f"noisy/{name}.parquet" for name in names),
    }
    possible = needed | {*PAGES, *(f"{name}.csv" for name in synthetic)}
    if lacking := sorted(needed - set(files)):
        raise Fault(f"its manifest does not list {named(lacking[0])}")
    if more := sorted(set(files) - possible):
        raise Fault(f"its manifest lists {named(more[0])}, which is no part of a release")


def _require_declared(content: dict[str, Any]) -> None:
    """Refuse answers that were expected to other analyses than were declared."""
    declared = {f"{one['kind']} {one['formula']}" for one in content.get("analyses", ())}
    expected = content.get("expected") or {"answers": ()}
    if any(one["analysis"] not in declared for one in expected["answers"]):
        raise Fault("it expects an answer to an analysis that was not declared")


def _inference(
    content: dict[str, Any], version: int, entries: list[dict[str, Any]], schema: Schema
) -> InferenceFacts:
    """What the manifest says for inference, or what its format left to the method."""
    if version > 1:
        return InferenceFacts.from_json(content["inference"])
    tables = [tuple(entry["columns"]) for entry in entries if entry["kind"] == Kind.TABLE]
    named = content["method"], content["options"], content["sets_kind"]
    return format_1.facts_of(*named, schema, tables)


def _measurement(folder: Path, data: dict[str, Any], schema: Schema) -> Measurement:
    require_named(data, schema)
    file = folder / "noisy" / f"{data['name']}.parquet"
    cells = pl.read_parquet(file, hive_partitioning=False) if data["name"] else None
    require_stored(cells, data, schema)
    measurement = Measurement.from_json(data, cells, schema)
    require_cells(measurement, schema)
    return measurement


def _tables(
    folder: Path, schema: Schema, manifest: Manifest, measurements: tuple[Measurement, ...]
) -> tuple[pl.DataFrame, ...]:
    kept = _kept_by_all(schema, measurements)
    tables = []
    for k in range(1, manifest.sets + 1):
        file = folder / "synthetic" / f"set-{k}.parquet"
        table = pl.read_parquet(file, hive_partitioning=False)
        require_rows(table, schema, manifest.n_rows, kept)
        require_relations(table, schema)
        tables.append(table)
    return tuple(tables)


def _kept_by_all(schema: Schema, measurements: tuple[Measurement, ...]) -> Schema:
    """The schema with those rules that hold whole bins and groups of every measurement."""
    schema = schema.model_copy(update={"relations": ()})  # kept exactly, whatever the bins
    rules = schema.forbidden
    for measurement in measurements:
        if measurement.bins or measurement.groups:
            left = [set(rule.where) for rule in measurement.binned(schema).forbidden]
            rules = tuple(rule for rule in rules if set(rule.where) in left)
    return schema.model_copy(update={"forbidden": rules})
