"""Units and their members, read from one table or two, as rows of the wide table. CONFIDENTIAL.

A unit is all rows of one key. Everything here is done unit by unit: which members are used, in
which order they stand, and what their columns say. So tables that differ by one unit give wide
tables that differ by one row (Hu, Reiter and Wang 2018 take a household for one observation alike).

*The cut.* Of a unit with more members than slots, a choice is used. It is drawn by secure
randomness that is independent of all rows, once for a run, so that all measurements see the same
choice. For fixed randomness the choice of one unit depends on that unit alone; a mixture over
randomness that is independent of the rows keeps every guarantee. A run that is resumed draws
another choice for what is still to be measured, at the same price.

*Counts.* A column that counts members of a kind counts those that are used, so a unit's record is
still a function of that unit alone.

*Keys.* They group rows and are read for nothing else. Members without a key are a unit each. A unit
that is absent from the table of units, or stands there twice, has columns of units that fit no
state. Neither is an error, since an error would tell of a row.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.coding import ColumnCoder
from understudy.data.frames import UNLIKE, as_text, plain
from understudy.data.rows import Rows, require_columns, require_types
from understudy.errors import DataError, suggestion
from understudy.schema import Schema, Unit
from understudy.schema.base import EXACT_INTEGER
from understudy.schema.columns import NUMERIC, Cells, Column, Identifier
from understudy.schema.households import NO_MEMBER, Among, Members, slot_column

_KEY = ""  # no column has this name


def require_tables(tables: Mapping[object, object], members: Members | Unit) -> None:
    """Check that tables are those which a schema declares.

    Args:
        tables: name → table.
        members: what is declared.

    Raises:
        DataError: names the table that is absent, or that nobody declared.
    """
    wanted = {members.of, members.table}
    for name in tables:
        if name not in wanted:
            raise DataError(
                f"There is a table {str(name)!r}, which the schema does not declare"
                f"{suggestion(str(name), wanted)}; give {members.of!r} and {members.table!r}."
            )
    if members.table not in tables:
        raise DataError(f"The table {members.table!r} is absent; give it too.")


def schema_of_table(schema: Schema, *, of_units: bool, of_members: bool) -> Schema:
    """The schema of one table as it is read: how its file is written, its key and its columns.

    Args:
        schema: of the wide table.
        of_units: whether it has columns of units.
        of_members: whether it has columns of members.
    """
    form = schema.linked
    assert form is not None
    columns: dict[str, Any] = {}
    if of_units:
        columns |= _columns_of(schema)
    if of_members:
        columns |= _columns_of_members(schema)
    return Schema.model_construct(
        declared={form.key: Identifier(kind="identifier"), **columns}, file=schema.file
    )


def _columns_of(schema: Schema) -> dict[str, Column]:
    """Columns that the table of units has in a file: all that are not counted here."""
    form = schema.members
    if form is None:
        return {name: schema.columns[name] for name in schema.unit.beside}
    made = {form.size, *(one.column for one in form.counts)}
    return {
        name: column
        for name, column in form.unit_columns(schema.columns).items()
        if name not in made and not isinstance(column, Identifier)
    }


def _columns_of_members(schema: Schema) -> dict[str, Column]:
    if schema.members is not None:
        return schema.members.member_columns(schema.declared)
    return {n: one for n, one in schema.columns.items() if n not in schema.unit.beside}


def join_rows(schema: Schema, members: Rows, units: Rows) -> Rows:
    """Read members, and put the columns of its unit beside each: one record a member.

    What stands beside a member is a function of its own key and of the table of units, whoever else
    is in the unit. So members that come or go change no other record.

    Args:
        schema: of members by themselves (`Schema.unit`).
        members: rows of the members.
        units: rows of the units.

    Raises:
        DataError: a column is absent, or of a type that cannot be read; or the input breaks off.
    """
    of_units, own = _columns_of(schema), _columns_of_members(schema)
    people, homes = _read(members, schema.unit.key, own), _read(units, schema.unit.key, of_units)
    grouped = _Units.of(people[_KEY], homes[_KEY])
    beside = _columns_of_units(homes, list(of_units), grouped)
    columns = [one.gather(grouped.of_members) for one in beside]
    table = pl.DataFrame([*columns, *(people[name].alias(name) for name in own)])
    premises = units.premises + members.premises
    names = tuple(table.columns)
    return Rows(table.lazy(), names, members.kind, members.place, premises=premises)


def widen_rows(
    schema: Schema, members: Rows, units: Rows | None, rng: np.random.Generator | None = None
) -> Rows:
    """Read units and members, and lay each unit out as one row of the wide table.

    Args:
        schema: of the wide table.
        members: rows of the members.
        units: rows of the units; None if their columns stand in each row of a member.
        rng: for tests and internal evaluations; else the choice and the order of ties are drawn by
            secure randomness.

    Raises:
        DataError: a column is absent, or of a type that cannot be read; or the input breaks off.
    """
    form = schema.members
    assert form is not None
    own = form.member_columns(schema.declared)
    of_units = _columns_of(schema)
    if units is None:
        people = _read(members, form.key, {**own, **of_units})
        grouped = _Units.of(people[_KEY])
    else:
        people = _read(members, form.key, own)
        homes = _read(units, form.key, of_units)
        grouped = _Units.of(people[_KEY], homes[_KEY])
    chosen = _arrange(form, own, people, grouped, rng)
    columns = (
        _columns_of_first(people, list(of_units), chosen, grouped)
        if units is None
        else _columns_of_units(homes, list(of_units), grouped)
    )
    size = pl.Series(form.size, grouped.sizes.clip(max=form.rows_per_unit + 1))
    # A number below the least one is none, and not taken for that.
    columns.append(size.set(size < form.least(schema.columns), None))
    columns += _counts(form, own, people, chosen)
    or_nobody = {name: _with_one_more(people[name], NO_MEMBER) for name in own}
    for j in range(1, form.rows_per_unit + 1):
        for name, column in or_nobody.items():
            columns.append(column.gather(chosen[:, j - 1]).alias(slot_column(name, j)))
    wide = pl.DataFrame(columns)
    first = units or members
    premises = members.premises if units is None else units.premises + members.premises
    return Rows(wide.lazy(), tuple(wide.columns), first.kind, first.place, premises=premises)


@dataclass(frozen=True)
class Links:
    """Keys of units and members that do not fit together, as numbers. CONFIDENTIAL.

    Attributes:
        keyless: members without a key.
        orphans: members whose key is not in the table of units.
        repeated: keys that stand in the table of units more than once.
        empty: units without members.
        unlike: units whose columns differ beside their members, where these are one table.
        beyond: units with more members than slots.
    """

    keyless: int
    orphans: int
    repeated: int
    empty: int
    unlike: int
    beyond: int

    @classmethod
    def of(cls, schema: Schema, members: Rows, units: Rows | None) -> Links:
        """Count them.

        Args:
            schema: of the wide table.
            members: rows of the members.
            units: rows of the units; None if their columns stand in each row of a member.
        """
        form = schema.linked
        assert form is not None
        beside = _columns_of(schema) if units is None else {}
        people = _read(members, form.key, beside)
        keys = people[_KEY].drop_nulls()
        counts = keys.value_counts()["count"]
        homes = keys if units is None else _read(units, form.key, {})[_KEY]
        known = homes.drop_nulls()
        unlike = pl.DataFrame(people).group_by(_KEY).agg(pl.all().fill_null("").n_unique() > 1)
        differs = unlike.filter(pl.col(_KEY).is_not_null()).select(pl.exclude(_KEY))
        return cls(
            keyless=people[_KEY].null_count(),
            orphans=int((~keys.is_in(known.unique().implode())).sum()),
            repeated=0 if units is None else int((known.value_counts()["count"] > 1).sum()),
            empty=homes.null_count() + int((~known.unique().is_in(keys.unique().implode())).sum()),
            unlike=int(differs.select(pl.any_horizontal(pl.all())).sum().item()) if beside else 0,
            beyond=0 if schema.members is None else int((counts > form.rows_per_unit).sum()),
        )


class _Units:
    """Units by number.

    Args:
        of_members: unit of each member, shape (n,).
        of_rows: unit of each row of the table of units, shape (m,); empty if there is none.
        number: how many units.
    """

    def __init__(
        self, of_members: NDArray[np.int64], of_rows: NDArray[np.int64], number: int
    ) -> None:
        self.of_members, self.of_rows, self.number = of_members, of_rows, number
        self.sizes: NDArray[np.int64] = np.bincount(of_members, minlength=number)

    @classmethod
    def of(cls, members: pl.Series, rows: pl.Series | None = None) -> _Units:
        """Number the units; each row without a key is one of its own."""
        keys = members if rows is None else pl.concat([members, rows])
        numbers = keys.rank("dense").cast(pl.Int64).to_numpy().astype(float) - 1
        absent = np.isnan(numbers)
        known = int(np.nanmax(numbers, initial=-1)) + 1
        numbers[absent] = known + np.arange(int(absent.sum()))
        units = numbers.astype(np.int64)
        number = known + int(absent.sum())
        return cls(units[: len(members)], units[len(members) :], number)


def _read(rows: Rows, key: str, columns: Mapping[str, Column]) -> dict[str, pl.Series]:
    """The key, and columns as texts that are read like the values themselves."""
    if columns:
        require_columns(rows.columns, Schema.model_validate({"columns": columns}), rows.place)
    if key not in rows.columns:
        raise DataError(
            f"{rows.place} lacks the key {key!r}, by which the schema groups its rows; add it, or "
            "correct the schema."
        )
    coders = [ColumnCoder(name, column) for name, column in columns.items()]
    require_types(rows, coders)
    names = list(dict.fromkeys((key, *columns)))
    found: dict[str, list[pl.Series]] = {name: [] for name in (*columns, _KEY)}
    for batch in rows.batches(names):
        for name in columns:
            found[name].append(_as_words(batch.get_column(name)))
        found[_KEY].append(_as_key(batch.get_column(key)))
    return {name: pl.concat(parts) for name, parts in found.items()}


def _as_words(values: pl.Series) -> pl.Series:
    """Values of any type as texts that are read alike; each by itself."""
    values = plain(values.alias("values"))
    frame = pl.DataFrame([values]).select(as_text(pl.col("values"), values.dtype).cast(pl.String))
    return frame.to_series()


def _as_key(values: pl.Series) -> pl.Series:
    """Keys as texts, so that 3 and 3.0 are one: a column is real as soon as one key is absent."""
    values = plain(values.alias("values"))
    if values.dtype.is_float():
        number = pl.col("values").cast(pl.Float64)
        whole = (number == number.floor()) & (number.abs() <= EXACT_INTEGER)
        text = (
            pl.when(whole)
            .then(number.cast(pl.Int64, strict=False).cast(pl.String))
            .otherwise(as_text(number, pl.Float64()))
        )
        return pl.DataFrame([values]).select(text).to_series()
    words = _as_words(values)
    return words.set(words == "", None)


def _arrange(
    form: Members,
    columns: Mapping[str, Column],
    people: Mapping[str, pl.Series],
    units: _Units,
    rng: np.random.Generator | None,
) -> NDArray[np.int64]:
    """Which member stands in each slot of each unit; shape (units, slots).

    The number of members stands for nobody.
    """
    n, unit = len(units.of_members), units.of_members
    by = _Ranks(columns, people)
    # One key by chance decides who is kept, another one puts ties in order: the choice must not
    # tell in which order the rest stands.
    order = np.lexsort((_by_chance(n, rng), _priority(form, by, n), unit))
    order = order[_places(unit[order]) < form.rows_per_unit]
    tie = _by_chance(n, rng)[order]
    whole = [step for step in form.order if isinstance(step, str)]
    order = order[np.lexsort((tie, *(by[name][order] for name in reversed(whole)), unit[order]))]
    for step in form.order:
        if isinstance(step, Among):
            place = _places(unit[order])
            inner = [np.where(place < step.among, by[name][order], 0) for name in step.by]
            block = np.where(place < step.among, 0, place)
            order = order[np.lexsort((place, *reversed(inner), block, unit[order]))]
    chosen = np.full((units.number, form.rows_per_unit), n, dtype=np.int64)
    chosen[unit[order], _places(unit[order])] = order
    return chosen


def _counts(
    form: Members,
    columns: Mapping[str, Column],
    people: Mapping[str, pl.Series],
    chosen: NDArray[np.int64],
) -> list[pl.Series]:
    """Columns that count the members who are used; none where a value that decides fits no state.

    Args:
        form: says which.
        columns: of the members.
        people: values of the members.
        chosen: who stands in each slot of each unit, shape (units, slots).
    """
    found, n = [], len(people[_KEY])
    for one in form.counts:
        cells, unclear = dict[str, Cells](), np.zeros(n, dtype=np.bool_)
        for name in one.where:
            column = columns[name]
            reading = ColumnCoder(name, column).read(people[name])
            numbers = np.empty(0)
            if isinstance(column, NUMERIC):
                known = reading.states < column.n_ordinary
                numbers = np.where(known, np.clip(reading.number, *column.bounds), np.nan)
            cells[name] = Cells(reading.states, numbers)
            unclear |= reading.states >= column.size
        counted = np.append(one.holds(columns, cells), np.False_)[chosen].sum(axis=1)
        unknown = np.append(unclear, np.False_)[chosen].any(axis=1)
        found.append(pl.Series(one.column, counted).set(pl.Series(unknown), None))
    return found


def _places(units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place of each row within its unit, from 0; rows of a unit stand together."""
    starts = np.flatnonzero(np.diff(units, prepend=-1))
    return np.arange(len(units)) - np.repeat(starts, np.diff(starts, append=len(units)))


def _by_chance(n: int, rng: np.random.Generator | None) -> NDArray[np.uint64]:
    """A number by chance for each of n rows."""
    bits = secrets.token_bytes(8 * n) if rng is None else rng.bytes(8 * n)
    return np.frombuffer(bits, np.uint64)


def _priority(form: Members, by: _Ranks, n: int) -> NDArray[np.float64]:
    if form.cut is None:
        return np.zeros(n)
    return by.of_levels(form.cut.first, form.cut.levels)


class _Ranks:
    """Places of members in the order by a column; "-" before its name turns the order round.

    Numbers are in their order, levels in that of the schema; what fits no state comes last.
    """

    def __init__(self, columns: Mapping[str, Column], people: Mapping[str, pl.Series]) -> None:
        self._columns, self._people = columns, people

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        own = name.removeprefix("-")
        column = self._columns[own]
        reading = ColumnCoder(own, column).read(self._people[own])
        if isinstance(column, NUMERIC):
            rank, known = reading.number, np.isfinite(reading.number)
        else:
            rank, known = reading.states.astype(float), reading.states < column.size
        return np.where(known, -rank if name.startswith("-") else rank, np.inf)

    def of_levels(self, name: str, levels: Sequence[object]) -> NDArray[np.float64]:
        """The place of each member's value among some levels; their number for all others."""
        column = self._columns[name]
        coder = ColumnCoder(name, column)
        wanted = coder.read(pl.Series([str(level) for level in levels], dtype=pl.String)).states
        states = coder.read(self._people[name]).states
        place = np.full(column.size + 1, len(levels), dtype=float)
        place[wanted[::-1]] = np.arange(len(levels))[::-1]
        place[column.size] = len(levels)
        return place[states]


def _columns_of_units(
    homes: Mapping[str, pl.Series], names: Sequence[str], units: _Units
) -> list[pl.Series]:
    """Columns of units from their own table; out of domain where a unit is not there just once."""
    rows, n = units.of_rows, len(units.of_rows)
    times = np.bincount(rows, minlength=units.number)
    row = np.full(units.number, n, dtype=np.int64)
    row[rows] = np.arange(n)
    row[times != 1] = n
    return [_with_one_more(homes[name], UNLIKE).gather(row).alias(name) for name in names]


def _with_one_more(values: pl.Series, last: str) -> pl.Series:
    """The values, and behind them one for those who have none."""
    return pl.concat([values, pl.Series([last], dtype=pl.String)])


def _columns_of_first(
    people: Mapping[str, pl.Series],
    names: Sequence[str],
    chosen: NDArray[np.int64],
    units: _Units,
) -> list[pl.Series]:
    """Columns of units that stand beside every member: the common value; else out of domain."""
    found = []
    for name in names:
        values = people[name]
        ranks = values.fill_null("").rank("dense").cast(pl.Int64).to_numpy()
        low = np.full(units.number, np.iinfo(np.int64).max)
        high = np.full(units.number, -1)
        np.minimum.at(low, units.of_members, ranks)
        np.maximum.at(high, units.of_members, ranks)
        first = np.where(low == high, chosen[:, 0], len(values))
        found.append(_with_one_more(values, UNLIKE).gather(first).alias(name))
    return found
