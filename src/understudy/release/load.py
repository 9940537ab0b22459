"""Reading a release folder: each part for itself, and then whether the parts fit each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import MethodError, SchemaError
from understudy.models.model import InferenceFacts
from understudy.release.consistency import (
    is_of_this_version,
    require_cells,
    require_named,
    require_pages,
    require_promise,
    require_rendered,
    require_rows,
    require_stored,
)
from understudy.release.decoding import are_fresh, breaks_distances, counts_of, places_of
from understudy.release.households import FOLDER, members_of, require_linked
from understudy.release.manifest import (
    Manifest,
    before,
    require_facts,
    require_named_later,
    without_places,
)
from understudy.release.measurement import Measurement
from understudy.release.metadata import METADATA, require_metadata
from understudy.release.noise_check import require_noise
from understudy.release.sets import PART_ROWS, part_names, part_sizes, read_sets
from understudy.release.shape import Fault, SetsKind, quote_entry, require_shape
from understudy.release.tables import FORMATS, possible_files
from understudy.schema import NUMERIC, Column, Schema
from understudy.schema.base import Code, number_of, text_of
from understudy.schema.columns import Cells
from understudy.schema.constraints import breaks
from understudy.schema.derived import follows, sources_of
from understudy.schema.geography import Geography

PAGES: Final = ("report.html", "results.html", "codebook.html")
MALFORMED: Final = (
    *(
        SchemaError,
        MethodError,
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        RecursionError,
    ),
    *(OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
"""What reading a part may end in that was not written by this software."""


@dataclass(frozen=True)
class Parts:
    """The parts of a folder.

    Attributes:
        tables: synthetic tables.
        schema: the public schema.
        manifest: how the release was made.
        measurements: released noisy tables.
        pages: file name → text.
        readme: text of its README.
    """

    tables: Sequence[pl.DataFrame]
    schema: Schema
    manifest: Manifest
    measurements: tuple[Measurement, ...]
    pages: Mapping[str, str]
    readme: str


def read_parts(folder: Path, content: dict[str, Any]) -> Parts:
    """Read a folder whose files and checksums fit, and see that its parts fit each other.

    Args:
        folder: of the release.
        content: of its manifest, with its `format`; `files` lists its files.

    Raises:
        Fault: parts that contradict each other, or an entry of the wrong kind.
        Exception: one of `MALFORMED`, for a part that cannot be read.
    """
    files = content.pop("files")
    del content["format"]
    require_shape(content)
    entries = content.pop("measurements")
    linked = {name for name in files if name.startswith(f"{FOLDER}/")}
    flat = {name: checksum for name, checksum in files.items() if name not in linked}
    parted = _require_files(flat, content, entries)
    _require_declared(content)
    schema = Schema.loads((folder / "schema.toml").read_text(encoding="utf-8"))
    manifest = Manifest.from_json(content, InferenceFacts.from_json(content["inference"]))
    if not set(manifest.priority) <= set(schema.names):
        raise Fault("it gives priority to columns that its schema does not have")
    if not {one.column for one in manifest.contradictions} <= set(schema.names):
        raise Fault("its sets are said to contradict columns that its schema does not have")
    steps = [entry["ledger_entry"] for entry in entries]
    require_promise(manifest, content["guarantee"], steps, schema)
    for data in entries:
        require_named(data, schema)
    require_noise(manifest, entries, schema)
    measurements = tuple(_measurement(folder, data, schema) for data in entries)
    behind = before(measurements, manifest.amendments)
    require_named_later(measurements, behind)
    bought = manifest.places_share is not None
    followed = without_places(behind, schema, bought=bought)
    places = len(behind) - len(followed) - sum(one.beside for one in behind)
    if bought and not 0 < places == len(schema.geography.tables):
        raise Fault("its manifest says that tables of places were measured, and they are not there")
    require_facts(manifest.inference, manifest.sets_kind, followed, schema)
    tables = _tables(folder, schema, manifest, measurements, parted=parted)
    require_linked(folder, linked, tables, schema)
    require_metadata(folder, files, schema, manifest.sets)
    pages = {name: (folder / name).read_text(encoding="utf-8") for name in PAGES if name in files}
    readme = (folder / "README.md").read_text(encoding="utf-8")
    require_pages(manifest, readme, pages)
    if is_of_this_version(manifest, "README.md", readme):
        rendered = readmes(manifest, schema, measurements, files, parted=parted)
        require_rendered("README.md", readme, rendered)
    return Parts(tables, schema, manifest, measurements, pages, readme)


def readmes(
    manifest: Manifest,
    schema: Schema,
    measurements: tuple[Measurement, ...],
    files: Mapping[str, str],
    *,
    parted: bool,
) -> tuple[str, ...]:
    """Write the README of a release as this version does: with and without guarded texts in CSV.

    Args:
        manifest: how it was made.
        schema: what is public.
        measurements: what was measured.
        files: names that its manifest lists.
        parted: whether its synthetic tables come in parts.
    """
    from understudy.release.readme import readme  # loads jinja2: only for texts of this version

    endings = {name.rsplit(".", 1)[-1] for name in files if name.startswith("synthetic/")}
    formats = [name for name in FORMATS if name in endings]
    pages = [name for name in PAGES if name in files]
    told = manifest, schema, measurements
    return tuple(
        readme(*told, formats=formats, pages=pages, guarded=guarded, parted=parted)
        for guarded in (False, True)
    )


def _require_files(
    files: Mapping[str, str], content: Mapping[str, Any], entries: list[dict[str, Any]]
) -> bool:
    """Refuse files that no release has, and the lack of one that it must have.

    Returns:
        Whether the synthetic tables come in parts.
    """
    names = [entry["name"] for entry in entries if entry["name"]]
    if len(set(names)) < len(names):
        raise Fault("two measurements have one name")
    synthetic = [f"synthetic/set-{k}" for k in range(1, content["sets"] + 1)]
    # Releases of earlier versions have one file for each set, however long it is.
    parted = content["n_rows"] > PART_ROWS and f"{synthetic[0]}.parquet" not in files
    if parted and content["n_rows"] > PART_ROWS * len(files):
        raise Fault("its manifest lists fewer parts of a synthetic table than its rows fill")
    parts = part_names(len(part_sizes(content["n_rows"]))) if parted else []
    needed = {
        *("schema.toml", "README.md"),
        *(f"{name}/{part}" for name in synthetic for part in parts),
        *(f"{name}.parquet" for name in synthetic if not parted),
        *(f"noisy/{name}.parquet" for name in names),
    }
    beside = possible_files(content["sets"], len(parts))
    possible = needed | {*PAGES, *METADATA, *(f"synthetic/{name}" for name in beside)}
    if lacking := sorted(needed - set(files)):
        raise Fault(f"its manifest does not list {quote_entry(lacking[0])}")
    if more := sorted(set(files) - possible):
        raise Fault(f"its manifest lists {quote_entry(more[0])}, which is no part of a release")
    return parted


def _require_declared(content: dict[str, Any]) -> None:
    """Refuse answers that were expected to other analyses than were declared, and other sets."""
    sets = content["options"].get("sets")
    if isinstance(sets, str) and sets in get_args(SetsKind) and sets != content["sets_kind"]:
        raise Fault("its options ask for another kind of sets than it has")
    declared = {f"{one['kind']} {one['formula']}" for one in content.get("analyses", ())}
    expected = content.get("expected") or {"answers": ()}
    if any(one["analysis"] not in declared for one in expected["answers"]):
        raise Fault("it expects an answer to an analysis that was not declared")


def _measurement(folder: Path, data: dict[str, Any], schema: Schema) -> Measurement:
    file = folder / "noisy" / f"{data['name']}.parquet"
    cells = pl.read_parquet(file, hive_partitioning=False) if data["name"] else None
    require_stored(cells, data, schema)
    measurement = Measurement.from_json(data, cells, schema)
    require_cells(measurement, schema)
    return measurement


def _tables(
    folder: Path,
    schema: Schema,
    manifest: Manifest,
    measurements: tuple[Measurement, ...],
    *,
    parted: bool,
) -> Sequence[pl.DataFrame]:
    kept = _kept_by_all(schema, measurements)
    keys = None if manifest.minimum_count is None else _Keys(manifest, schema)

    def check_table(table: pl.DataFrame, n_rows: int, start: int = 0) -> pl.DataFrame:
        require_rows(table, schema, n_rows, kept)
        require_relations(table, schema)
        if keys is not None:
            keys.add(table)
        if not are_fresh(table, schema, start):
            raise Fault("a synthetic table has other identifiers than it was given")
        return table

    places = [folder / "synthetic" / f"set-{k}" for k in range(1, manifest.sets + 1)]
    if parted:
        sets = read_sets(places, manifest.n_rows)
        for k in range(len(sets)):
            for i, part in enumerate(sets.parts(k)):
                check_table(part, sets.sizes[i], i * PART_ROWS)
            if keys is not None:
                keys.close()
        return sets
    tables = []
    for place in places:
        file = place.with_name(f"{place.name}.parquet")
        tables.append(check_table(pl.read_parquet(file, hive_partitioning=False), manifest.n_rows))
        if keys is not None:
            keys.close()
    return tuple(tables)


class _Keys:
    """Counts combinations of key columns, set by set.

    Args:
        manifest: which says of a minimum count.
        schema: of the release.

    Raises:
        Fault: its numbers are not of so many sets, a key column is none, or a combination occurs
            too seldom in a set.
    """

    def __init__(self, manifest: Manifest, schema: Schema) -> None:
        kept = manifest.minimum_count
        assert kept is not None
        if not len(kept.changed) == len(kept.replaced) == manifest.sets:
            raise Fault("its minimum count is of another number of sets")
        form, columns = schema.members, dict[str, Column](schema.columns)
        if kept.table:
            members = form is not None and form.table == kept.table
            columns = form.member_columns(schema.declared) if form is not None and members else {}
        if not set(kept.columns) <= set(columns):
            raise Fault("its minimum count is of columns that its schema does not have")
        self._count, self._schema, self._of_members = kept.count, schema, bool(kept.table)
        self._columns = {name: columns[name] for name in kept.columns}
        self._found = Counter[tuple[int, ...]]()

    def add(self, table: pl.DataFrame) -> None:
        """Count the records of a set, or of a part of it; or their members."""
        if self._of_members:
            table, _ = members_of(table, self._schema, [*self._columns])
        if not table.height:
            return
        states = [
            _key_states(table.get_column(name).alias(""), column)
            for name, column in self._columns.items()
        ]
        own, counts = np.unique(np.column_stack(states), axis=0, return_counts=True)
        self._found.update(dict(zip(map(tuple, own.tolist()), counts.tolist(), strict=True)))

    def close(self) -> None:
        """Refuse a set with a combination that occurs too seldom, and go on to the next."""
        if min(self._found.values(), default=self._count) < self._count:
            raise Fault("a combination of key columns occurs in a set less often than it says")
        self._found.clear()


def _key_states(series: pl.Series, column: Column) -> NDArray[np.int64]:
    """State of each value of a key column, numbers by their bin; shape (n,)."""
    cells = _cells(series, column)
    states = np.array(cells.states, dtype=np.int64)
    if not isinstance(column, NUMERIC):
        return states
    ends = [(one.spike, k, one.low, one.high) for k, one in enumerate(column.intervals)]
    for _, k, low, high in sorted(ends):  # spikes last, as they lie in a bin
        states[(cells.numbers >= low) & (cells.numbers <= high)] = k
    return states


def _kept_by_all(schema: Schema, measurements: tuple[Measurement, ...]) -> Schema:
    """The schema with those rules that hold whole bins and groups of every measurement."""
    # Relations are kept exactly, whatever the bins; places need theirs.
    schema = schema.model_copy(update={"relations": (), "geography": Geography()})
    rules = schema.forbidden
    for measurement in measurements:
        if measurement.bins or measurement.groups:
            left = [set(rule.where) for rule in measurement.bin_schema(schema).forbidden]
            rules = tuple(rule for rule in rules if set(rule.where) in left)
    return schema.model_copy(update={"forbidden": rules})


def require_relations(table: pl.DataFrame, schema: Schema) -> None:
    """Refuse a synthetic table in which a rule or a relation does not hold.

    Args:
        table: as it was read, its columns of the types that the schema says.
        schema: of the release.

    Raises:
        Fault: names the column or the relation, and no row.
    """
    used = {n for c in schema.derived.values() for n in sources_of(c)} | set(schema.derived)
    used |= {name for one in schema.relations for name in one.columns}
    if (form := schema.members) is not None:
        used |= {name for one in form.counts for name in (one.column, *form.slots_of(one.where))}
    columns = {name: column for name, column in schema.stated.items() if name in used}
    cells = {
        name: _cells(table.get_column(name).alias(""), column) for name, column in columns.items()
    }
    for name in schema.derived:
        if not follows(name, schema.stated, cells).all():
            raise Fault(f"the column {quote_entry(name)} does not follow from others by its rule")
    for one in schema.relations:
        if breaks(one, schema.columns, cells).any():
            raise Fault(f"the relation {quote_entry(one.text)} does not hold in a synthetic table")
    if breaks_distances(table, schema):
        raise Fault("an inequality between members does not hold in a synthetic table")
    for name, counted in counts_of(cells, schema).items():
        if not np.array_equal(cells[name].numbers, counted):
            raise Fault(f"the column {quote_entry(name)} does not count the members that there are")


def _cells(series: pl.Series, column: Column) -> Cells:
    """Recover the cells that values were written for: codes of absence by number, and numbers."""
    if not isinstance(column, NUMERIC):
        return Cells(_states(series, (*column.levels, *column.codes)), np.empty(0))
    codes = _states(series, column.codes)
    numbers = places_of(series, column)
    numbers[codes >= 0] = np.nan
    states = np.where(codes >= 0, column.n_ordinary + codes, 0)
    return Cells(states.astype(np.int64), numbers)


def _states(series: pl.Series, values: Sequence[Code]) -> NDArray[np.int64]:
    """Place of each value among some; −1 where it is none of them."""
    found = np.full(len(series), -1, dtype=np.int64)
    for k, value in enumerate(values):
        if value == "":
            hit = series.is_null()
        elif series.dtype.is_numeric():
            number = number_of(value)
            hit = series.cast(pl.Float64).is_in([] if number is None else [number])
        elif series.dtype == pl.Boolean:
            hit = series.is_in([bool(value)])
        elif series.dtype.is_temporal():
            continue
        else:
            hit = series.cast(pl.String).is_in([text_of(value)])
        found[hit.fill_null(value=False).to_numpy()] = k
    return found
