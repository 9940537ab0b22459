"""Each combination of key columns occurs often in a synthetic set, or not at all.

Some rules of publication refuse a file with a record that is alone in a combination of key columns,
synthetic or not. This meets them from the drawn records alone: no row is looked at, nothing is
measured, and nothing is spent. By the same token it protects nobody further. The promise of a
release is that of its noisy tables, which stay as they were measured.

**What is done.** In each set a combination is *frequent* if it occurs `count` times or more. Each
record of another one gets the key values of the nearest frequent combination. The distance is that
of Gower (1971): for each column without an order 0 or 1, for an ordered one the number of steps by
the longest way, and 1 between a value and a code of absence. Among equally near ones a combination
is drawn in proportion to its records. Nobody is moved into a combination that stays rare, and
nobody out of a frequent one. So what happens to a record depends on the counts of its set and on
chance alone, and the share of records that change is known from the counts.

**Rules.** Drawn records are moved before they get their values, so that derived columns and
numbers within bins follow from the new keys. Where a rule or a relation forbids the nearest
combinations to a record, it goes to the nearest that is allowed to it. If there is none, a copy of
a record with a frequent combination, drawn at random, takes its place.

**Units with members.** Key columns are those of the units, or those of the members. A record is a
unit with all its members in slots. Of columns of units, combinations are counted over units as over
any records. Of columns of members they are counted over the members of all slots. A rare member
moves where it stands, one slot after the other, and each step has to leave the whole unit allowed.
So rules across members hold, nobody joins or leaves a unit, and columns that count members follow
from the new keys. Where nothing is allowed to a member, a copy of another unit takes the place of
its unit. That takes other members away, and may make their combinations rare. Then the set is
counted and moved again, until none is rare. Each round has fewer frequent combinations, so it ends.

**Why not draw such records again from the model, given frequent keys.** That exchanges all columns
of a record where one would do, and most models cannot draw under conditions. Records that are moved
keep their other columns, so whatever does not use a key column is as it was: tables, quantiles,
and intervals. Mean distances of two-way tables from the rows (`benchmarks/minimum_count.py`, ACS,
four keys, `mst`, ε = 1): as drawn .0631; at least 5 times, moved .0630, drawn again .0634; at least
20 times .0663 and .0724. The table of the keys itself is nearer where records are drawn again:
.249 and .256 for 5, .259 and .286 for 20.

**What it costs.** Tables with a key column lose their smallest cells to their neighbours, which
biases all sets alike. Questions about key columns, and about columns derived from them, get no
answer from the sets then; noisy tables answer as before.

Sources: Gower (1971), "A general coefficient of similarity and some of its properties".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Integers
from understudy._validation import require, require_whole
from understudy.dp.budget import exact
from understudy.errors import MethodError, suggestion
from understudy.models.counted_members import Counts
from understudy.models.model import Sample, States, impossible
from understudy.schema import NUMERIC, Column, Domain, Integer, Schema, is_ordered
from understudy.schema.derived import sources_of
from understudy.schema.households import NO_MEMBER, slot_column

MOST_CHANGED: Final = Fraction(1, 20)
"""Share of the records of a set that may change, unless another one is stated."""
_EXAMPLE: Final = '{"columns": ["region", "sex"], "count": 5}'


@dataclass(frozen=True)
class MinimumCount:
    """The least count of each combination of key columns that occurs in a set.

    Attributes:
        columns: names of the key columns.
        count: least number of records.
        most_changed: largest share of the records of a set that may change for that.

    Example:
        >>> MinimumCount.of({"columns": ["region", "sex"], "count": 5}).most_changed
        Fraction(1, 20)
    """

    columns: tuple[str, ...]
    count: int
    most_changed: Fraction = MOST_CHANGED

    @classmethod
    def of(cls, stated: object) -> Self:
        """Read what was stated.

        Args:
            stated: a mapping with `columns`, `count` and perhaps `most_changed`.

        Raises:
            MethodError: it is none, has another entry, or an entry of the wrong type or size.
        """
        if isinstance(stated, cls):
            return stated
        name = "minimum_count"
        fits = isinstance(stated, Mapping)
        require(fits, name, f"a mapping such as {_EXAMPLE}", stated, MethodError)
        assert isinstance(stated, Mapping)
        known = [one.name for one in fields(cls)]
        if odd := [entry for entry in stated if entry not in known]:
            raise MethodError(f"{name} has no entry {odd[0]!r}; it may have {', '.join(known)}.")
        if not {"columns", "count"} <= set(stated):
            raise MethodError(f"{name} needs columns and count, such as {_EXAMPLE}.")
        columns, count = stated["columns"], stated["count"]
        listed = isinstance(columns, Iterable) and not isinstance(columns, str | bytes | Mapping)
        columns = tuple(columns) if listed else ()
        if not columns or not all(isinstance(one, str) for one in columns):
            raise MethodError(f"columns of {name} must be a list of names, such as {_EXAMPLE}.")
        if len(set(columns)) < len(columns):
            raise MethodError(f"{name} names a column twice; leave one out.")
        require_whole(f"count of {name}", count, MethodError, least=2)
        most = exact(stated.get("most_changed", MOST_CHANGED), f"most_changed of {name}")
        if not 0 <= most <= 1:
            raise MethodError(f"most_changed of {name} must be a share from 0 to 1.")
        return cls(columns, int(count), most)

    def require_fitting(self, schema: Schema) -> None:
        """Refuse key columns that cannot be such, and a count that so many rows cannot have.

        Args:
            schema: of the release.

        Raises:
            MethodError: names the column, or the numbers, and what to state instead.
        """
        ordered = {name for one in schema.relations if one.inequality for name in one.columns}
        _require_one_table(self.columns, schema)
        for name, *slots in zip(self.columns, *_places(self.columns, schema), strict=True):
            _require_key(name, slots, schema, ordered)
        cells = math.prod(column.size for column in _own_columns(self.columns, schema))
        if cells > _MOST_CELLS:
            raise MethodError(
                f"The key columns of minimum_count have {cells:,} combinations, more than can be "
                "numbered; name fewer."
            )
        most, places = schema.most_rows, len(_places(self.columns, schema))
        self.require_rows(None if most is None else most * places, self.cells(schema))

    def cells(self, schema: Schema) -> int:
        """Combinations that can occur; of members, in the slot that can hold most of them.

        Args:
            schema: of the release.
        """
        found = []
        for slot in _places(self.columns, schema):
            empty = (
                counted_table(self.columns, schema) and NO_MEMBER in schema.columns[slot[0]].codes
            )
            found.append(schema.table(slot).n_allowed - bool(empty))
        return max(found)

    def require_rows(self, n_rows: int | None, cells: int) -> None:
        """Refuse a count that so many rows cannot have in so many combinations.

        Args:
            n_rows: of a set, at most; None where that is not known beforehand.
            cells: number of combinations that can occur.
        """
        if n_rows is None or self.count * cells <= n_rows:
            return
        raise MethodError(
            f"minimum_count asks for {self.count:,} records in each of {cells:,} combinations of "
            f"{', '.join(self.columns)}, which are more than the {n_rows:,} rows; name fewer "
            "columns, declare coarser bins or levels, or ask for fewer records."
        )


_MOST_CELLS: Final = 2**62


def counted_table(columns: Collection[str], schema: Schema) -> str:
    """Name of the members' table, if these are columns of it; "" where records are counted.

    A name that both tables have is that of the units, unless another column is of members alone.

    Args:
        columns: key columns.
        schema: of the release.
    """
    form = schema.members
    if form is None or {*columns} <= {*form.unit_columns(schema.declared)}:
        return ""
    return form.table if {*columns} <= {*form.columns} else ""


def _places(columns: Iterable[str], schema: Schema) -> tuple[tuple[str, ...], ...]:
    """The key columns as a record has them: once, or once in each slot of members."""
    columns = tuple(columns)
    if not counted_table(columns, schema):
        return (columns,)
    assert schema.members is not None
    slots = range(1, schema.members.rows_per_unit + 1)
    return tuple(tuple(slot_column(name, j) for name in columns) for j in slots)


def _own_columns(columns: Iterable[str], schema: Schema) -> tuple[Column, ...]:
    """The key columns as they are without slots."""
    columns = tuple(columns)
    if not counted_table(columns, schema):
        return tuple(schema.columns[name] for name in columns)
    assert schema.members is not None
    own = schema.members.member_columns(schema.declared)
    return tuple(own[name] for name in columns)


def _require_one_table(columns: Collection[str], schema: Schema) -> None:
    """Refuse key columns of two tables: nobody could say what is to be counted."""
    form = schema.members
    if form is None or counted_table(columns, schema):
        return
    units, members = form.unit_columns(schema.declared), {*form.columns}
    known = [*units, *form.columns]
    for name in columns:
        if name not in known:
            raise MethodError(
                f"minimum_count names {name!r}, which is no column{suggestion(name, known)}."
            )
        if name in {one.column for one in form.counts}:
            raise MethodError(
                f"minimum_count names {name!r}, which counts members and follows from them; name "
                f"columns of {form.table!r}, or leave it out."
            )
    if not {*columns} <= {*units}:
        one, other = (next(n for n in columns if n in own) for own in (units, members - {*units}))
        raise MethodError(
            f"minimum_count names {one!r} of {form.of!r} and {other!r} of {form.table!r}; "
            "name columns of one table."
        )


def _require_key(
    name: str, slots: Sequence[str], schema: Schema, ordered: AbstractSet[str]
) -> None:
    """Refuse a column whose states are not what a reader of the release counts."""
    if slots[0] not in schema.columns:
        if name in schema.derived:
            told = f"follows from other columns; name {', '.join(sources_of(schema.derived[name]))}"
        elif name in schema.identifiers:
            told = "is an identifier, which differs in each record; leave it out"
        else:
            told = f"is no column{suggestion(name, schema.columns)}"
        raise MethodError(f"minimum_count names {name!r}, which {told}.")
    column = schema.columns[slots[0]]
    if not isinstance(column, NUMERIC):
        return
    if not isinstance(column, Integer) or column.bins is None:
        raise MethodError(
            f"minimum_count names {name!r}, a column of numbers: combinations are counted in "
            "levels, or in declared bins of an integer. Declare bins, or leave it out."
        )
    if not ordered.isdisjoint(slots):
        raise MethodError(
            f"minimum_count names {name!r}, which stands in an inequality: its numbers may leave "
            "their bin to keep that. Leave it out."
        )


@dataclass(frozen=True)
class KeptCount:
    """The statement of a release about a minimum count that it keeps.

    Attributes:
        columns: key columns.
        count: how often each combination that occurs in a set occurs there, at least.
        most_changed: largest share of the records of a set that was allowed to change.
        changed: records with other keys than were drawn, of each set.
        replaced: those of them that are copies of other records, of each set.
        table: of members whose combinations are counted; "" where those of records are.
    """

    columns: tuple[str, ...]
    count: int
    most_changed: str
    changed: tuple[int, ...]
    replaced: tuple[int, ...]
    table: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if name != "table" or value
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_json` wrote."""
        lists = {name: tuple(data[name]) for name in ("columns", "changed", "replaced")}
        return cls(**{**data, **lists})

    @property
    def told(self) -> str:
        """It in sentences, for people."""
        what = "combination" if len(self.columns) > 1 else "value or bin"
        changed = max(self.changed, default=0)
        of_members = f" among the rows of {self.table}" if self.table else ""
        said = (
            f"Each {what} of {', '.join(self.columns)} that occurs in a synthetic set occurs there "
            f"at least {self.count:,} times{of_members}."
        )
        if changed:
            said += f" For that, up to {changed:,} records of a set got other values there."
        if any(self.replaced):
            said += f" Up to {max(self.replaced):,} of them are copies of other synthetic records."
        return (
            f"{said} This was done to synthetic records alone and adds nothing to the promise; "
            "noisy counts are as they were measured."
        )

    def touches(self, columns: Iterable[str], schema: Schema) -> bool:
        """Return whether some columns are in the sets as they were drawn no longer.

        Args:
            columns: names.
            schema: of the release.
        """
        if any(self.replaced):
            return True
        if not any(self.changed):
            return False
        return not self._key_columns(schema).isdisjoint(columns)

    def _key_columns(self, schema: Schema) -> set[str]:
        """Key columns, and what is derived from them; of members in each slot."""
        found, before = {*self.columns}, 0
        if (form := schema.members) is not None and self.table:
            found |= {*form.slots_of(self.columns)}
            found |= {one.column for one in form.counts if not found.isdisjoint(one.where)}
        while len(found) > before:
            before = len(found)
            found |= {
                name
                for name, column in schema.derived.items()
                if not found.isdisjoint(sources_of(column))
            }
        return found


def kept_count(
    asked: MinimumCount, moves: Iterable[tuple[int, int]], n_rows: int, table: str = ""
) -> KeptCount:
    """Return what a release will say of a minimum count; refuse to change too many records.

    Args:
        asked: what was asked for.
        moves: records that change and those that are copies, of each set.
        n_rows: of a set.
        table: of members whose combinations are counted; "" where those of records are.

    Raises:
        MethodError: says which share would change, and what to do.
    """
    changed, replaced = zip(*moves, strict=True)
    share = Fraction(max(changed), max(n_rows, 1))
    if share > asked.most_changed:
        raise MethodError(
            f"minimum_count would change {100 * float(share):.3g} % of the records of a set, and "
            f"at most {100 * float(asked.most_changed):.3g} % may. The records are not published. "
            "What was paid is kept in the checkpoint: continue it with fewer key columns, a "
            "smaller count or a larger most_changed, and nothing more is spent."
        )
    stated = str(asked.most_changed)
    return KeptCount(asked.columns, asked.count, stated, changed, replaced, table)


@dataclass(frozen=True)
class _Place:
    """Where the key columns stand in a record: as they are, or in a slot of members.

    Attributes:
        columns: places of these columns.
        own: of each of them, its state → the state of the key column, shape (size,). Nobody is -1.
    """

    columns: tuple[int, ...]
    own: tuple[Integers, ...]

    @classmethod
    def of(cls, names: Sequence[str], keys: Sequence[Column], schema: Schema) -> Self:
        """Look up the states of some columns of a record.

        Args:
            names: of the columns.
            keys: these columns without slots.
            schema: of the release.
        """
        own = []
        for name, key in zip(names, keys, strict=True):
            codes = [*map(repr, key.codes)]
            states = [
                key.n_ordinary + codes.index(repr(code)) if repr(code) in codes else -1
                for code in schema.columns[name].codes
            ]
            own.append(np.array([*range(key.n_ordinary), *states], dtype=np.int64))
        return cls(tuple(schema.names.index(name) for name in names), tuple(own))


@dataclass(frozen=True, eq=False)
class KeyMoves:
    """Which records of a set move, and where to.

    Attributes:
        places: where the key columns stand in a record.
        names: of all columns.
        domain: of all columns, with what is impossible.
        sizes: numbers of states of the key columns.
        scales: of each key column, number of ordered states; 0 where they have no order.
        counts: columns that count members, where keys are columns of these; None if there are none.
        frequent: numbers of the combinations that stay, ascending, shape (f,).
        records: how many records or members have each of them, shape (f,).
        changed: number of records that move.
    """

    places: tuple[_Place, ...]
    names: tuple[str, ...]
    domain: Domain
    sizes: tuple[int, ...]
    scales: tuple[int, ...]
    counts: Counts | None
    frequent: Integers
    records: Integers
    changed: int

    @classmethod
    def of(cls, asked: MinimumCount, schema: Schema, samples: Iterable[Sample]) -> Self:
        """Count the combinations of a set.

        Args:
            asked: key columns and least number of records or members.
            schema: of the release.
            samples: all records of the set, in one or more parts.
        """
        keys = _own_columns(asked.columns, schema)
        sizes = tuple(one.size for one in keys)
        slots = _places(asked.columns, schema)
        places = tuple(_Place.of(names, keys, schema) for names in slots)
        found, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        several = list[tuple[Integers, Integers]]()
        for sample in samples:
            numbers = np.stack([_number(sample.states, place, sizes) for place in places])
            several.append(_distinct(numbers))
            own, many = np.unique(numbers[numbers >= 0], return_counts=True)
            found, at = np.unique(np.concatenate([found, own]), return_inverse=True)
            counts = np.bincount(at, weights=np.concatenate([counts, many])).astype(np.int64)
        stay = counts >= asked.count
        rare = found[~stay]
        changed = sum(int(many[np.isin(own, rare).any(axis=0)].sum()) for own, many in several)
        return cls(
            places=places,
            names=schema.names,
            domain=schema.domain,
            sizes=sizes,
            scales=tuple(one.n_ordinary if is_ordered(one) else 0 for one in keys),
            counts=Counts.of(schema) if counted_table(asked.columns, schema) else None,
            frequent=found[stay],
            records=counts[stay],
            changed=changed,
        )

    @property
    def ruled(self) -> bool:
        """True if a rule names a key column, so that a move may be forbidden."""
        keys = {column for place in self.places for column in place.columns}
        return any(not box.keys().isdisjoint(keys) for box in self.domain.boxes)

    def require_some(self) -> None:
        """Refuse a set in which no combination is frequent.

        Raises:
            MethodError: records have to move and have nowhere to go.
        """
        if self.changed and not len(self.frequent):
            raise MethodError(
                "No combination of the key columns of minimum_count occurs so often in a set. The "
                "records are not published. What was paid is kept in the checkpoint: continue it "
                "with fewer key columns or a smaller count, and nothing more is spent."
            )

    def stays(self, states: States) -> NDArray[np.bool_]:
        """Mark records of which no combination is a rare one, shape (n,).

        Args:
            states: one array per column, each of shape (n,).
        """
        rare = [self._are_rare(own) for own in self._numbers(states)]
        return np.asarray(~np.logical_or.reduce(rare))

    def keep(
        self, asked: MinimumCount, schema: Schema, sample: Sample, rng: np.random.Generator
    ) -> tuple[Sample, int, int]:
        """A whole set that keeps a minimum count, the number of changed records, and of copies.

        Args:
            asked: that was counted in this set.
            schema: of the release.
            sample: all records of the set; it is left as it is.
            rng: of the choice among equally near combinations.

        Raises:
            MethodError: no combination is frequent, or no record is left that can be copied.
        """
        moves, found, copies = self, sample, np.zeros(0, dtype=np.int64)
        while moves.changed:
            moves.require_some()
            found, own = moves.apply(found, rng)
            copies = np.union1d(copies, own)
            # Copies of units may make combinations rare that their other members had.
            moves = type(self).of(asked, schema, [found])
        before, after = self._numbers(sample.states), self._numbers(found.states)
        differ = np.any([one != other for one, other in zip(before, after, strict=True)], axis=0)
        differ[copies] = True
        return found, int(differ.sum()), len(copies)

    def apply(self, sample: Sample, rng: np.random.Generator) -> tuple[Sample, Integers]:
        """Records with their new keys, and numbers of those that are copies of others.

        Args:
            sample: records of the set, all or some; it is left as it is.
            rng: of the choice among equally near combinations.

        Raises:
            MethodError: a unit has to be replaced, and there is none that can be copied.
        """
        numbers = self._numbers(sample.states)
        rare = [np.flatnonzero(self._are_rare(own)) for own in numbers]
        stuck = np.zeros(0, dtype=np.int64)
        if not any(map(len, rare)) or not len(self.frequent):
            return sample, stuck
        states = [column.copy() for column in sample.states]
        values = {name: own.copy() for name, own in sample.values.items()}
        for place, own, rows in zip(self.places, numbers, rare, strict=True):
            left = self._replace_keys(states, place, own, np.setdiff1d(rows, stuck), rng)
            stuck = np.union1d(stuck, left)
        for name, old, new in zip(self.names, sample.states, states, strict=True):
            if name in values:
                values[name][new != old] = np.nan
        if len(stuck):
            donors = rng.choice(_donors(len(states[0]), rare, stuck), len(stuck))
            for column in (*states, *values.values()):
                column[stuck] = column[donors]
        return Sample(states, values), stuck

    def _replace_keys(
        self,
        states: States,
        place: _Place,
        numbers: Integers,
        rows: Integers,
        rng: np.random.Generator,
    ) -> Integers:
        """Move records in one place, and return which of them have nowhere to go.

        These stay as they were.
        """
        for number in np.unique(numbers[rows]).tolist():
            those = rows[numbers[rows] == number]
            self._move(states, place, those, self._draw(self._distances(number), len(those), rng))
        self._count(states, rows)
        left = []
        for row in rows[impossible(self.domain, [column[rows] for column in states])].tolist():
            distances = self._distances(int(numbers[row]))
            distances[~self._mark_allowed(states, place, row)] = np.inf
            one = np.array([row])
            if np.isfinite(distances).any():
                self._move(states, place, one, self._draw(distances, 1, rng))
            else:
                left.append(row)
                self._move(states, place, one, numbers[one])
            self._count(states, one)
        return np.array(left, dtype=np.int64)

    def _numbers(self, states: States) -> list[Integers]:
        """Number of the combination in each place of each record; -1 for nobody."""
        return [_number(states, place, self.sizes) for place in self.places]

    def _are_rare(self, numbers: Integers) -> NDArray[np.bool_]:
        return (numbers >= 0) & ~np.isin(numbers, self.frequent)

    def _distances(self, number: int) -> NDArray[np.float64]:
        """Distance of a combination from each frequent one, shape (f,)."""
        own = np.unravel_index(number, self.sizes)
        there = np.unravel_index(self.frequent, self.sizes)
        total = np.zeros(len(self.frequent))
        for mine, others, scale in zip(own, there, self.scales, strict=True):
            steps = np.abs(others - mine) / max(scale - 1, 1)
            along = (others < scale) & (mine < scale)
            total += np.where(along, steps, others != mine)
        return total

    def _draw(self, distances: NDArray[np.float64], n: int, rng: np.random.Generator) -> Integers:
        """Numbers of combinations for some records, of the nearest ones by their records."""
        nearest = np.flatnonzero(distances <= distances.min() + _TIE)
        weights = self.records[nearest] / self.records[nearest].sum()
        return np.asarray(self.frequent[rng.choice(nearest, n, p=weights)])

    def _move(self, states: States, place: _Place, rows: Integers, numbers: Integers) -> None:
        keys = np.unravel_index(numbers, self.sizes)
        for column, own, key in zip(place.columns, place.own, keys, strict=True):
            states[column][rows] = _inverse(own)[key]

    def _count(self, states: States, rows: Integers) -> None:
        """Count the members of some units again."""
        if self.counts is not None:
            counted = self.counts.count_members([column[rows] for column in states])
            for column, own in zip(self.counts.places, counted, strict=True):
                states[column][rows] = own

    def _mark_allowed(self, states: States, place: _Place, row: int) -> NDArray[np.bool_]:
        """Mark the frequent combinations that no rule forbids to a record, shape (f,)."""
        tried = [np.full(len(self.frequent), column[row]) for column in states]
        every = np.arange(len(self.frequent))
        self._move(tried, place, every, self.frequent)
        self._count(tried, every)
        return ~self.domain.find_forbidden(tried)


_TIE: Final = 1e-12
"""Distances that differ by less are equal but for rounding."""


def _number(states: States, place: _Place, sizes: tuple[int, ...]) -> Integers:
    """Mixed-radix number of the combination of each record, -1 for nobody; shape (n,)."""
    own = [table[states[k]] for k, table in zip(place.columns, place.own, strict=True)]
    nobody = np.minimum.reduce(own) < 0
    found = np.ravel_multi_index([np.maximum(one, 0) for one in own], sizes)
    return np.where(nobody, -1, found).astype(np.int64)


def _distinct(numbers: Integers) -> tuple[Integers, Integers]:
    """Distinct columns of an array, and how often each stands there."""
    if len(numbers) > 1:
        return np.unique(numbers, axis=1, return_counts=True)
    found, many = np.unique(numbers[0], return_counts=True)  # many times faster
    return found[np.newaxis], many


def _inverse(own: Integers) -> Integers:
    """State of a key column → state of the column in a place."""
    found = np.zeros(own.max() + 1, dtype=np.int64)
    found[own[own >= 0]] = np.flatnonzero(own >= 0)
    return found


def _donors(n: int, rare: Sequence[Integers], stuck: Integers) -> Integers:
    """Records that can be copied: those without a rare combination, else those that have moved."""
    untouched = np.setdiff1d(np.arange(n), np.concatenate(rare))
    donors = untouched if len(untouched) else np.setdiff1d(np.arange(n), stuck)
    if not len(donors):
        raise MethodError(
            "Rules forbid each frequent combination of minimum_count to each unit. The records are "
            "not published. What was paid is kept in the checkpoint: continue it with fewer key "
            "columns or a smaller count, and nothing more is spent."
        )
    return donors
