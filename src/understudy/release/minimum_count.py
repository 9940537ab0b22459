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

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Integers
from understudy._validation import require, require_whole
from understudy.dp.budget import exact
from understudy.errors import MethodError, suggestion
from understudy.models.model import Sample, States, impossible
from understudy.schema import NUMERIC, Domain, Integer, Schema, is_ordered
from understudy.schema.derived import sources_of

MOST_CHANGED: Final = Fraction(1, 20)
"""Share of the records of a set that may change, unless another one is stated."""
_EXAMPLE: Final = '{"columns": ["region", "sex"], "count": 5}'


@dataclass(frozen=True)
class MinimumCount:
    """How often each combination of key columns that occurs in a set has to occur there.

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
        if schema.members is not None:
            raise MethodError(
                "minimum_count is for flat tables: records of units with members have their "
                "members in slots, over which a combination cannot be counted. Leave it out."
            )
        ordered = {name for one in schema.relations if one.inequality for name in one.columns}
        for name in self.columns:
            _require_key(name, schema, ordered)
        cells = schema.table(self.columns).n_allowed
        if cells > _MOST_CELLS:
            raise MethodError(
                f"The key columns of minimum_count have {cells:,} combinations, more than can be "
                "numbered; name fewer."
            )
        self.require_rows(schema.most_rows, cells)

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


def _require_key(name: str, schema: Schema, ordered: Collection[str]) -> None:
    """Refuse a column whose states are not what a reader of the release counts."""
    if name not in schema.columns:
        if name in schema.derived:
            told = f"follows from other columns; name {', '.join(sources_of(schema.derived[name]))}"
        elif name in schema.identifiers:
            told = "is an identifier, which differs in each record; leave it out"
        else:
            told = f"is no column{suggestion(name, schema.columns)}"
        raise MethodError(f"minimum_count names {name!r}, which {told}.")
    column = schema.columns[name]
    if not isinstance(column, NUMERIC):
        return
    if not isinstance(column, Integer) or column.bins is None:
        raise MethodError(
            f"minimum_count names {name!r}, a column of numbers: combinations are counted in "
            "levels, or in declared bins of an integer. Declare bins, or leave it out."
        )
    if name in ordered:
        raise MethodError(
            f"minimum_count names {name!r}, which stands in an inequality: its numbers may leave "
            "their bin to keep that. Leave it out."
        )


@dataclass(frozen=True)
class KeptCount:
    """What a release says of a minimum count that it keeps.

    Attributes:
        columns: key columns.
        count: how often each combination that occurs in a set occurs there, at least.
        most_changed: largest share of the records of a set that was allowed to change.
        changed: records with other keys than were drawn, of each set.
        replaced: those of them that are copies of other records, of each set.
    """

    columns: tuple[str, ...]
    count: int
    most_changed: str
    changed: tuple[int, ...]
    replaced: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
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
        said = (
            f"Each {what} of {', '.join(self.columns)} that occurs in a synthetic set occurs there "
            f"at least {self.count:,} times."
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
        return not self._touched(schema).isdisjoint(columns)

    def _touched(self, schema: Schema) -> set[str]:
        """Key columns, and what is derived from them."""
        found, before = {*self.columns}, 0
        while len(found) > before:
            before = len(found)
            found |= {
                name
                for name, column in schema.derived.items()
                if not found.isdisjoint(sources_of(column))
            }
        return found


def kept_count(asked: MinimumCount, moves: Iterable[tuple[int, int]], n_rows: int) -> KeptCount:
    """What a release will say; refused where more records would change than may.

    Args:
        asked: what was asked for.
        moves: records that change and those that are copies, of each set.
        n_rows: of a set.

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
    return KeptCount(asked.columns, asked.count, stated, changed, replaced)


@dataclass(frozen=True, eq=False)
class KeyMoves:
    """Which records of a set move, and where to.

    Attributes:
        keys: places of the key columns.
        names: of these.
        domain: of all columns, with what is impossible.
        scales: of each key column, number of ordered states; 0 where they have no order.
        frequent: numbers of the combinations that stay, ascending, shape (f,).
        records: of each of them, shape (f,).
        changed: number of records that move.
    """

    keys: tuple[int, ...]
    names: tuple[str, ...]
    domain: Domain
    scales: tuple[int, ...]
    frequent: Integers
    records: Integers
    changed: int

    @classmethod
    def of(cls, asked: MinimumCount, schema: Schema, samples: Iterable[Sample]) -> Self:
        """Count the combinations of a set.

        Args:
            asked: key columns and least number of records.
            schema: of the release.
            samples: all records of the set, in one or more parts.
        """
        keys = tuple(schema.names.index(name) for name in asked.columns)
        columns = [schema.columns[name] for name in asked.columns]
        scales = tuple(one.n_ordinary if is_ordered(one) else 0 for one in columns)
        found, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        for sample in samples:
            own, many = np.unique(_number(sample.states, keys, schema.domain), return_counts=True)
            found, place = np.unique(np.concatenate([found, own]), return_inverse=True)
            counts = np.bincount(place, weights=np.concatenate([counts, many])).astype(np.int64)
        stay = counts >= asked.count
        changed = int(counts[~stay].sum())
        return cls(keys, asked.columns, schema.domain, scales, found[stay], counts[stay], changed)

    @property
    def ruled(self) -> bool:
        """True if a rule names a key column, so that a move may be forbidden."""
        return any(not box.keys().isdisjoint(self.keys) for box in self.domain.boxes)

    def stays(self, states: States) -> NDArray[np.bool_]:
        """Mark records whose combination is a frequent one, shape (n,).

        Args:
            states: one array per column, each of shape (n,).
        """
        return np.isin(_number(states, self.keys, self.domain), self.frequent)

    def apply(self, sample: Sample, rng: np.random.Generator) -> tuple[Sample, int]:
        """Records with their new keys, and how many of them are copies of others.

        Args:
            sample: records of the set, all or some; it is left as it is.
            rng: of the choice among equally near combinations.
        """
        numbers = _number(sample.states, self.keys, self.domain)
        rare = np.flatnonzero(~self.stays(sample.states))
        if not len(rare) or not len(self.frequent):
            return sample, 0
        states = [column.copy() for column in sample.states]
        values = {name: own.copy() for name, own in sample.values.items()}
        for number in np.unique(numbers[rare]).tolist():
            rows = rare[numbers[rare] == number]
            self._move(states, rows, self._draw(self._distances(number), len(rows), rng))
        forbidden = rare[impossible(self.domain, [column[rare] for column in states])]
        copies = []
        for row in forbidden.tolist():
            distances = self._distances(int(numbers[row]))
            distances[~self._allowed(states, row)] = np.inf
            if np.isfinite(distances).any():
                self._move(states, np.array([row]), self._draw(distances, 1, rng))
            else:
                copies.append(row)
        for name, key in zip(self.names, self.keys, strict=True):
            if name in values:
                values[name][states[key] != sample.states[key]] = np.nan
        if copies:
            others = np.setdiff1d(np.arange(len(numbers)), rare)
            donors = rng.choice(others, len(copies))
            for column in (*states, *values.values()):
                column[copies] = column[donors]
        return Sample(states, values), len(copies)

    def _distances(self, number: int) -> NDArray[np.float64]:
        """Distance of a combination from each frequent one, shape (f,)."""
        sizes = [self.domain.sizes[key] for key in self.keys]
        own = np.unravel_index(number, sizes)
        there = np.unravel_index(self.frequent, sizes)
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

    def _move(self, states: States, rows: Integers, numbers: Integers) -> None:
        sizes = [self.domain.sizes[key] for key in self.keys]
        for key, own in zip(self.keys, np.unravel_index(numbers, sizes), strict=True):
            states[key][rows] = own

    def _allowed(self, states: States, row: int) -> NDArray[np.bool_]:
        """Mark the frequent combinations that no rule forbids to a record, shape (f,)."""
        tried = [np.full(len(self.frequent), column[row]) for column in states]
        self._move(tried, np.arange(len(self.frequent)), self.frequent)
        return ~self.domain.forbidden(tried)


_TIE: Final = 1e-12
"""Distances that differ by less are equal but for rounding."""


def _number(states: States, keys: tuple[int, ...], domain: Domain) -> Integers:
    """Mixed-radix number of the combination of each record, shape (n,)."""
    sizes = [domain.sizes[key] for key in keys]
    own = [np.asarray(states[key], dtype=np.int64) for key in keys]
    return np.asarray(np.ravel_multi_index(own, sizes), dtype=np.int64)
