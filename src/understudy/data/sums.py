"""Exact sums over the rows: of bounded numbers and of their products, by cell of a table.

What a pass over the rows gathers is whole numbers. So rows may come in any order and in any number
of parts: each part sums by itself, hands on its sums as plain arrays, and the merged ones are those
of all rows.

Each number is clipped to its public bounds and put on a public lattice of `STEPS` = 2¹⁶ steps, as
the whole number z = round((x − middle) / width · 2¹⁶) between −`HALF` and `HALF`: record by record,
so that neighbouring tables stay neighbours. What is summed is then whole, and so is every sum: the
order of the rows plays no part, and no sum of floats has a larger sensitivity than its formula says
(Casacuberta, Shoemate, Vadhan & Wagaman 2022).

A record whose value of the column is absent (a code) or a spike contributes z = 0, and a record
outside the domain of the table contributes nothing.

**No overflow**: |Σ z·z'| ≤ n·2³⁰, which 64 bits hold up to n = 2³³ records, about 8.6 billion.

**Exact sums of scores of the records, and of the products of two of them, in one pass.**

Scores are those of `understudy.features.scores`, as whole numbers: those of a state stand in
its table, a number is z = round((x − middle) / width · 2¹⁶) after clipping to its limits.
Squares are centred: 2z² less 1, and half of that by absence elsewhere, for each record with the
number. What is summed is whole, and so is every sum; so the order of the rows plays no part.

The scores of a state are the same for all records that have it. So the products of two columns are
sums over their contingency table, those of a number and a state sums of the number by state, and
only the products of two numbers are formed record by record: by multiplying matrices of doubles, a
batch of at most `BATCH` rows at a time. That is exact: each product is a whole number of size at
most 2³⁰, and all partial sums stay below 2⁵³. Batches are added as integers, without overflow below
2³³ records.

**Exact sums of products of rank scores, in one pass over the states.**

**Exact counts of numeric columns over the cells of their number lines or heaps, in one pass.**

Each record is in one cell of each line, or out of domain there, by its own values alone: by that of
the column, and by those that decide with it whether the record is possible. So a line counts the
records that a table of the column counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._arrays import compiled
from understudy.data.coding import Coder, ColumnCoder, Reading, StateCodes, part_of
from understudy.data.marginals import MarginalCounter, encode, inside
from understudy.features.grids import NumberCells, holds_numbers, on_bounds
from understudy.features.scores import (
    TICKS,
    UNIT,
    FeatureMap,
    RankScores,
    ScoreMap,
    Weighting,
    shorten_vectors,
)
from understudy.features.terms import TermMap
from understudy.schema import NUMERIC, Column, Schema

T = TypeVar("T")
Arrays = Sequence[NDArray[Any]]


class Sums(ABC, Generic[T]):
    """Sums over the rows seen so far; none at first. CONFIDENTIAL."""

    @abstractmethod
    def sums(self) -> list[NDArray[Any]]:
        """All that was summed, as plain arrays."""

    @abstractmethod
    def merge(self, sums: Arrays) -> None:
        """Add what the same pass summed over other rows.

        Args:
            sums: as `sums` gives it.
        """

    @abstractmethod
    def answer(self) -> T:
        """Return what is known of all rows that were added or merged."""


class RowPass(Sums[T]):
    """A pass that reads values.

    Attributes:
        names: columns that it reads.
    """

    names: tuple[str, ...]

    @abstractmethod
    def add(self, batch: pl.DataFrame) -> None:
        """Add one batch of rows, which has these columns and perhaps others."""


class CodePass(Sums[T]):
    """A pass to which states are enough.

    Attributes:
        places: indices in the schema of the columns that it reads.
    """

    places: tuple[int, ...]

    @abstractmethod
    def add(self, columns: Sequence[StateCodes]) -> None:
        """Add one batch of rows: states of each of `places`, shape (n,) each."""


class CodingPass(RowPass[T]):
    """A pass over states as one that codes the values itself, and no column that plays no part.

    Args:
        begun: the pass, before the first row.
        schema: what rows are coded against.
        groups: column → group of each of its states; states of others are left as they are.
    """

    def __init__(
        self,
        begun: Callable[[], CodePass[T]],
        schema: Schema,
        groups: Mapping[str, Sequence[int]],
    ) -> None:
        over = begun()
        part = part_of(schema, over.places)
        chosen = [schema.names[j] for j in over.places]
        self.names = part.names
        self._over, self._coder = over, Coder(part)
        self._used = [(part.names.index(name), group_of(groups.get(name))) for name in chosen]

    def add(self, batch: pl.DataFrame) -> None:
        """Code a batch, and add it."""
        columns = self._coder.code(batch)
        self._over.add([in_groups_of(columns[k], table) for k, table in self._used])

    def sums(self) -> list[NDArray[Any]]:
        """Those of the pass over states."""
        return self._over.sums()

    def merge(self, sums: Arrays) -> None:
        """Add to those of the pass over states."""
        self._over.merge(sums)

    def answer(self) -> T:
        """That of the pass over states."""
        return self._over.answer()


def group_of(groups: Sequence[int] | None) -> StateCodes | None:
    """Group of each state; the state out of domain stays out of domain."""
    if groups is None:
        return None
    n_groups = max(groups) + 1
    return np.array([*groups, n_groups], dtype=np.min_scalar_type(n_groups))


def in_groups_of(codes: StateCodes, table: StateCodes | None) -> StateCodes:
    """States by a table of `group_of`; as they are, if there is none."""
    return codes if table is None else table[codes]


@dataclass(frozen=True)
class ExactSums:
    """Sums over the records in each cell of a table; cells in C order.

    Attributes:
        counts: records, shape (cells,).
        sums: Σ z_j, shape (p, cells) for p columns.
        products: Σ z_j·z_l for the pairs (0, 0), (0, 1), …, (1, 1), …, shape (p(p+1)/2, cells).
    """

    counts: NDArray[np.int64]
    sums: NDArray[np.int64]
    products: NDArray[np.int64]


def on_lattice(reading: Reading, column: Column) -> NDArray[np.int64]:
    """The whole number z of each value; 0 where there is none to sum.

    Args:
        reading: values of one numeric column, shape (n,).
        column: its declaration.
    """
    low, high = column.bounds  # type: ignore[union-attr]
    holds = np.append(holds_numbers(column), False)[reading.states]
    return np.where(holds, on_bounds(np.where(holds, reading.number, low), low, high), 0)


class CellSums(RowPass[ExactSums]):
    """Sums in one pass over the rows; memory in proportion to cells · p², and one batch.

    Args:
        schema: what the rows are read against.
        columns: column indices of the table of cells, in the order of its axes.
        of: column indices of the p numeric columns to sum; each also one of `columns`.
    """

    def __init__(self, schema: Schema, columns: Sequence[int], of: Sequence[int]) -> None:
        part = part_of(schema, columns)
        self.names, self._coder = part.names, Coder(part)
        self._places = [part.names.index(schema.names[j]) for j in columns]
        named = [(schema.names[j], schema.columns[schema.names[j]]) for j in of]
        self._summed = [(ColumnCoder(name, column), column) for name, column in named]
        self._sizes = tuple(schema.columns[schema.names[j]].size for j in columns)
        cells, p = int(np.prod(self._sizes, dtype=np.int64)), len(of)
        shapes = (cells,), (p, cells), (p * (p + 1) // 2, cells)
        self._total = ExactSums(*(np.zeros(shape, dtype=np.int64) for shape in shapes))

    def add(self, batch: pl.DataFrame) -> None:
        """Add one batch."""
        coded = self._coder.code(batch)
        codes = [coded[k] for k in self._places]
        within = inside(codes, self._sizes)
        cells = encode([states[within] for states in codes], self._sizes)
        z = np.empty((len(cells), len(self._summed)), dtype=np.int64)
        for j, (coder, column) in enumerate(self._summed):
            z[:, j] = on_lattice(coder.read(batch.get_column(coder.name)), column)[within]
        total = self._total
        _accumulate(cells, z, total.counts, total.sums, total.products)

    def sums(self) -> list[NDArray[Any]]:
        """Counts, sums and products."""
        return [self._total.counts, self._total.sums, self._total.products]

    def merge(self, sums: Arrays) -> None:
        """Add counts, sums and products."""
        for own, other in zip(self.sums(), sums, strict=True):
            np.add(own, other, out=own)

    def answer(self) -> ExactSums:
        """All of them."""
        return self._total


@compiled
def _accumulate(
    cells: NDArray[np.int64],
    z: NDArray[np.int64],
    counts: NDArray[np.int64],
    sums: NDArray[np.int64],
    products: NDArray[np.int64],
) -> None:
    """Add records to the totals, in place: cells of shape (n,), z of shape (n, p)."""
    p = z.shape[1]
    for i in range(len(cells)):
        cell = cells[i]
        counts[cell] += 1
        pair = 0
        for j in range(p):
            sums[j, cell] += z[i, j]
            for k in range(j, p):
                products[pair, cell] += z[i, j] * z[i, k]
                pair += 1


BATCH: Final = 2**18


@dataclass(frozen=True)
class ExactProducts:
    """Sums over all records, in units of 1/`UNIT`² of a record.

    Attributes:
        count: records that count, times `UNIT`².
        sums: Σ `UNIT`·z of each score, shape (scores,).
        products: Σ z·z' of the pairs of `FeatureMap.pairs`, shape (pairs,).
        squares: Σ (2z² − `UNIT`²) of `FeatureMap.numbers`, of records with one, shape (numbers,).
        coded: half of the same of `FeatureMap.coded`, of records with it, shape (coded squares,).
    """

    count: int
    sums: NDArray[np.int64]
    products: NDArray[np.int64]
    squares: NDArray[np.int64]
    coded: NDArray[np.int64]

    def __add__(self, other: ExactProducts) -> ExactProducts:
        """Of the records of both."""
        return ExactProducts(
            self.count + other.count,
            self.sums + other.sums,
            self.products + other.products,
            self.squares + other.squares,
            self.coded + other.coded,
        )


class ScoreProducts(RowPass[ExactProducts]):
    """Sums of scores and of their products.

    Args:
        schema: what the rows are read against.
        scores: whose products.
    """

    def __init__(self, schema: Schema, scores: FeatureMap) -> None:
        self.names = scores.columns
        self._schema, self._scores = schema, scores
        self._coders = [ColumnCoder(name, schema.columns[name]) for name in self.names]
        kinds = {name: _Kinds.of(name, schema.columns[name], scores) for name in self.names}
        self._kinds = kinds
        self._places = {name: scores.places(name) for name in self.names}
        self._numbers = [name for name in self.names if kinds[name].number]
        many, p = len(self.names), len(self._numbers)
        self._pairs = list(combinations(range(many), 2))
        sizes = [len(own.scores) for own in kinds.values()]
        self._counter = MarginalCounter(sizes, [*self._pairs, *((k,) for k in range(many))])
        self._counted = 0
        self._present = np.zeros(p, dtype=np.int64)
        self._between = np.zeros((p, p), dtype=np.int64)
        self._alone = np.zeros(p, dtype=np.int64)
        self._by = {name: np.zeros((p, len(own.scores)), np.int64) for name, own in kinds.items()}
        self._coded = np.zeros(len(scores.coded), dtype=np.int64)
        self._merged = self._zero_products()

    def _zero_products(self) -> ExactProducts:
        scores = self._scores
        shapes = len(scores), len(scores.pairs[0]), len(scores.numbers), len(scores.coded)
        return ExactProducts(0, *(np.zeros(shape, dtype=np.int64) for shape in shapes))

    def add(self, batch: pl.DataFrame) -> None:
        """Add one batch."""
        read = {coder.name: coder.read(batch.get_column(coder.name)) for coder in self._coders}
        records = _Rows.of(read, self._schema)
        for start in range(0, len(batch), BATCH):
            self._add(
                records.part(slice(start, start + BATCH)).complete(self._scores, self._schema)
            )

    def _add(self, rows: _Rows) -> None:
        columns = self._schema.columns
        self._counted += rows.n
        kinds = {name: own.of_state[rows.states[name]] for name, own in self._kinds.items()}
        self._counter.add(list(kinds.values()))
        z = np.empty((rows.n, len(self._numbers)), order="F")
        for j, name in enumerate(self._numbers):
            column, states = columns[name], rows.states[name]
            limits = self._scores.limits[name]
            z[:, j] = scored_numbers(column, states, rows.numbers[name], limits)
            self._present[j] += int((states < column.n_ordinary).sum())
            for other, sums in self._by.items():
                if other != name:
                    sums[j] += _sums_by(kinds[other], z[:, j], sums.shape[1])
        self._alone += z.sum(axis=0).astype(np.int64)
        self._between += (z.T @ z).astype(np.int64)
        self._add_coded(rows, z)

    def _add_coded(self, rows: _Rows, z: NDArray[np.float64]) -> None:
        """Centred squares of numbers where another column has no value, halved."""
        numbers = {int(place): j for j, place in enumerate(self._scores.numbers)}
        chosen: dict[tuple[str, int], NDArray[np.int64]] = {}
        for k, square in enumerate(self._scores.coded):
            key, j = (square.column, square.state), numbers[square.place]
            if key not in chosen:
                chosen[key] = np.flatnonzero(rows.states[square.column] == square.state)
            name = self._numbers[j]
            present = rows.states[name][chosen[key]] < self._schema.columns[name].n_ordinary
            own = z[chosen[key], j]
            self._coded[k] += int(own @ own) - int(present.sum()) * (UNIT**2 // 2)

    def sums(self) -> list[NDArray[Any]]:
        """The number of records, and the sums in the order of `ExactProducts`."""
        total = self.answer()
        counted = np.array(
            total.count // UNIT**2, dtype=np.int64
        )  # n · 2³⁰ may need more than 64 bits
        return [counted, total.sums, total.products, total.squares, total.coded]

    def merge(self, sums: Arrays) -> None:
        """Add all of them."""
        counted, *others = sums
        self._merged += ExactProducts(int(counted) * UNIT**2, *others)

    def answer(self) -> ExactProducts:
        """All of them."""
        tables = self._counter.tables()
        whole = np.zeros((len(self._scores), len(self._scores)), dtype=np.int64)
        for (a, b), counts in zip(self._pairs, tables[: len(self._pairs)], strict=True):
            one, other = self.names[a], self.names[b]
            places = np.ix_(self._places[one], self._places[other])
            whole[places] = self._products(one, other, counts)
        sums = [
            self._single(name, counts)
            for name, counts in zip(self.names, tables[len(self._pairs) :], strict=True)
        ]
        own = ExactProducts(
            self._counted * UNIT**2,
            np.concatenate([*sums, np.zeros(0, dtype=np.int64)]) * UNIT,
            whole[self._scores.pairs],
            2 * np.diagonal(self._between) - self._present * UNIT**2,
            self._coded,
        )
        return own + self._merged

    def _single(self, name: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums of the scores of one column."""
        kinds = self._kinds[name]
        by_state = counts @ kinds.scores
        if not kinds.number:
            return np.asarray(by_state)
        return np.append(self._alone[self._numbers.index(name)], by_state)

    def _products(self, one: str, other: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums of the products of the scores of two columns, shape (scores, scores)."""
        left, right = self._kinds[one], self._kinds[other]
        block = left.scores.T @ counts @ right.scores
        if right.number:
            j = self._numbers.index(other)
            block = np.column_stack([left.scores.T @ self._by[one][j], block])
        if left.number:
            i = self._numbers.index(one)
            first = self._by[other][i] @ right.scores
            if right.number:
                first = np.append(self._between[i, j], first)
            block = np.vstack([first, block])
        return np.asarray(block)


WEIGHTED_BATCH: Final = 2**9
"""Records whose weighted products are summed as doubles at once: |t·z·z'| ≤ 2⁴⁴, and 2⁹ such
numbers are 2⁵³ at most, which is exact."""


class _Wide:
    """Whole numbers in units of 1/(`TICKS`·`UNIT`²), as units of 1/`UNIT`² and a remainder."""

    def __init__(self, size: int) -> None:
        self.high = np.zeros(size, dtype=np.int64)
        self.low = np.zeros(size, dtype=np.int64)

    def add(self, numbers: NDArray[Any]) -> None:
        """Add whole numbers below 2⁶³."""
        whole = numbers.astype(np.int64)
        self.high += whole // TICKS
        self.low += whole % TICKS

    @property
    def floor(self) -> NDArray[np.int64]:
        """The sum in units of 1/`UNIT`², rounded down once."""
        return self.high + self.low // TICKS


class WeightedProducts(RowPass[ExactProducts]):
    """The same sums, in which each record counts with a factor t of its own, of 2¹⁴ steps.

    That is a weight, or 1; of terms it is 0 for records that do not count.

    Sums of scores and of factors are whole in the units of `ExactProducts`. Products and squares
    are added exactly in units of 1/2¹⁴ of these, and the totals are rounded down once: so a total
    that changes by v steps of a coarser lattice changes by less than v + 1, as others do.

    Args:
        schema: what the rows are read against.
        scores: whose products.
    """

    def __init__(self, schema: Schema, scores: ScoreMap) -> None:
        self._schema, self._scores = schema, scores
        weight = () if scores.weighting is None else (scores.weighting.column,)
        self.names = tuple(dict.fromkeys((*scores.columns, *weight)))
        self._coders = [ColumnCoder(name, schema.columns[name]) for name in self.names]
        self._count = np.zeros(1, dtype=np.int64)
        self._sums = np.zeros(len(scores), dtype=np.int64)
        sizes = len(scores.pairs[0]), len(scores.numbers), len(scores.coded)
        self._wide = [_Wide(size) for size in sizes]

    def add(self, batch: pl.DataFrame) -> None:
        """Add one batch."""
        read = {coder.name: coder.read(batch.get_column(coder.name)) for coder in self._coders}
        rows = _Rows.of(read, self._schema)
        for start in range(0, len(batch), WEIGHTED_BATCH):
            self._add(rows.part(slice(start, start + WEIGHTED_BATCH)))

    def _add(self, rows: _Rows) -> None:
        scores, t = self._scores, self._factors(rows)
        if isinstance(scores, TermMap):
            counts = scores.mark_counted(rows.states, self._schema)
            t = t * counts
            z = self._of_terms(scores, rows.part(counts > 0))
            t, rows = t[counts > 0], rows.part(counts > 0)
            present = {score.column: np.ones(rows.n, dtype=np.bool_) for score in scores.each}
        else:
            assert isinstance(scores, FeatureMap)
            z, present = self._of_columns(scores, rows)
        weighted = z * t[:, None]
        products, squares, coded = self._wide
        self._count += int(t.sum())
        self._sums += weighted.sum(axis=0).astype(np.int64)
        products.add((weighted.T @ z)[scores.pairs])
        # Half of a centred square, t(z² − UNIT²/2), and twice as much where it is not by absence.
        centred = {
            int(place): weighted[:, place] * z[:, place]
            - t * present[scores.each[place].column] * (UNIT**2 // 2)
            for place in scores.numbers
        }
        squares.add(2 * np.array([own.sum() for own in centred.values()]))
        coded.add(
            np.array(
                [
                    centred[one.place][rows.states[one.column] == one.state].sum()
                    for one in scores.coded
                ]
            )
        )

    def _factors(self, rows: _Rows) -> NDArray[np.float64]:
        """Return the factor that each record counts with, in steps."""
        own = self._scores.weighting
        return np.full(rows.n, float(TICKS)) if own is None else rows.factors(own, self._schema)

    def _of_columns(
        self, scores: FeatureMap, rows: _Rows
    ) -> tuple[NDArray[np.float64], dict[str, NDArray[np.bool_]]]:
        """Scores of each record, shape (n, scores), and whether it has a number of a column."""
        blocks, present = list[NDArray[np.float64]](), dict[str, NDArray[np.bool_]]()
        for name in scores.columns:
            column, states = self._schema.columns[name], rows.states[name]
            block = scores.tables[name][states].astype(np.float64)
            if isinstance(column, NUMERIC):
                block[:, 0] = scored_numbers(
                    column, states, rows.numbers[name], scores.limits[name]
                )
                present[name] = states < column.n_ordinary
            blocks.append(block)
        return np.hstack(blocks), present

    def _of_terms(self, scores: TermMap, rows: _Rows) -> NDArray[np.float64]:
        """Scores of records that count, shape (n, scores)."""
        numbers = {
            name: placed_numbers(self._schema.columns[name], rows.states[name], rows.numbers[name])
            for name in scores.limits
        }
        return scores.whole(rows.states, numbers)

    def sums(self) -> list[NDArray[Any]]:
        """The sum of factors, sums of scores, and both parts of the other numbers."""
        parts = [part for one in self._wide for part in (one.high, one.low)]
        return [self._count, self._sums, *parts]

    def merge(self, sums: Arrays) -> None:
        """Add all of them."""
        for own, other in zip(self.sums(), sums, strict=True):
            np.add(own, other, out=own)

    def answer(self) -> ExactProducts:
        """All of them."""
        products, squares, coded = (one.floor for one in self._wide)
        count = int(self._count[0]) * (UNIT**2 // TICKS)
        return ExactProducts(count, self._sums * (UNIT // TICKS), products, squares, coded)


class WeightedCounts(RowPass[NDArray[np.int64]]):
    """Sums of the factors of the records in each cell of a table, whole in steps of 1/`TICKS`.

    A record outside the domain of the table adds nothing.

    Args:
        schema: what the rows are read against.
        columns: names of the table's columns, in the order of its axes.
        weighting: factor of each record.
        groups: column → group of each of its states, where these are counted together.
    """

    def __init__(
        self,
        schema: Schema,
        columns: Sequence[str],
        weighting: Weighting,
        groups: Mapping[str, Sequence[int]],
    ) -> None:
        part = part_of(schema, [schema.names.index(name) for name in columns])
        self._schema, self._weighting, self._coder = schema, weighting, Coder(part)
        self._weights = ColumnCoder(weighting.column, schema.columns[weighting.column])
        self.names = tuple(dict.fromkeys((*part.names, weighting.column)))
        self._axes = [(part.names.index(name), group_of(groups.get(name))) for name in columns]
        pairs = ((schema.columns[name].size, groups.get(name)) for name in columns)
        self._sizes = tuple(size if own is None else max(own) + 1 for size, own in pairs)
        self._total = np.zeros(int(np.prod(self._sizes)), dtype=np.int64)

    def add(self, batch: pl.DataFrame) -> None:
        """Add one batch; exact, as all sums of factors stay below 2⁵³."""
        coded = self._coder.code(batch)
        codes = [in_groups_of(coded[place], table) for place, table in self._axes]
        within = inside(codes, self._sizes)
        cells = encode([states[within] for states in codes], self._sizes)
        read = {self._weights.name: self._weights.read(batch.get_column(self._weights.name))}
        factors = _Rows.of(read, self._schema).factors(self._weighting, self._schema)
        self._total += np.bincount(
            cells, weights=factors[within], minlength=len(self._total)
        ).astype(np.int64)

    def sums(self) -> list[NDArray[Any]]:
        """Sums by cell."""
        return [self._total]

    def merge(self, sums: Arrays) -> None:
        """Add them."""
        self._total += sums[0]

    def answer(self) -> NDArray[np.int64]:
        """Sums by cell, in C order, shape of the table."""
        return self._total.reshape(self._sizes)


class GroupedProducts(RowPass[tuple[ExactProducts, ...]]):
    """Weighted sums of the records in each state of a column, as it is in each record alone.

    Args:
        schema: what the rows are read against.
        scores: whose products, with a weighting that says by which column they are taken apart.
    """

    def __init__(self, schema: Schema, scores: ScoreMap) -> None:
        assert scores.weighting is not None
        by = scores.weighting.by
        self._coder = ColumnCoder(by, schema.columns[by])
        blocks = range(scores.weighting.blocks(schema))
        self._parts = [WeightedProducts(schema, scores) for _ in blocks]
        self.names = tuple(dict.fromkeys((*self._parts[0].names, by)))

    def add(self, batch: pl.DataFrame) -> None:
        """Add one batch."""
        states = self._coder.read(batch.get_column(self._coder.name)).states
        for state, part in enumerate(self._parts):
            part.add(batch.filter(pl.Series(states == state)))

    def sums(self) -> list[NDArray[Any]]:
        """The sums of each state after those of the one before."""
        return [array for part in self._parts for array in part.sums()]

    def merge(self, sums: Arrays) -> None:
        """Add all of them."""
        arrays = list(sums)
        each = len(arrays) // len(self._parts)
        for k, part in enumerate(self._parts):
            part.merge(arrays[k * each : (k + 1) * each])

    def answer(self) -> tuple[ExactProducts, ...]:
        """Those of each state."""
        return tuple(part.answer() for part in self._parts)


@dataclass(frozen=True)
class _Kinds:
    """The states of a column, those of equal scores taken together; the number left aside.

    Attributes:
        scores: of each kind, whole numbers, shape (kinds, scores without the number).
        of_state: kind of each state, out of domain last, shape (states + 1,).
        number: whether the column has a number as well.
    """

    scores: NDArray[np.int64]
    of_state: NDArray[np.unsignedinteger]
    number: bool

    @classmethod
    def of(cls, name: str, column: Column, scores: FeatureMap) -> _Kinds:
        """Those of one column."""
        number = isinstance(column, NUMERIC)
        table = scores.tables[name][:, int(number) :]
        different, of_state = np.unique(table, axis=0, return_inverse=True)
        dtype = np.min_scalar_type(max(len(different) - 1, 0))
        return cls(different, of_state.reshape(-1).astype(dtype), number)


def _sums_by(
    kinds: NDArray[np.unsignedinteger], numbers: NDArray[np.float64], n: int
) -> NDArray[np.int64]:
    """Sums of whole numbers by kind; exact, as in a batch all of them stay below 2⁵³."""
    return np.bincount(kinds, weights=numbers, minlength=n).astype(np.int64)


@dataclass(frozen=True)
class _Rows:
    """Some rows: states of each column, what is out of domain last, and numbers."""

    states: Mapping[str, NDArray[np.int64]]
    numbers: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(cls, readings: Mapping[str, Reading], schema: Schema) -> _Rows:
        """A batch as it was read."""
        states = {name: one.replace_outside(schema.columns[name]) for name, one in readings.items()}
        return cls(states, {name: one.number for name, one in readings.items()})

    @property
    def n(self) -> int:
        """Number of records."""
        return len(next(iter(self.states.values())))

    def factors(self, weighting: Weighting, schema: Schema) -> NDArray[np.float64]:
        """What each record counts with, in steps; 0 where it has no weight."""
        name = weighting.column
        known = self.states[name] < schema.columns[name].n_ordinary
        return weighting.ticks(np.where(known, self.numbers[name], 0.0))

    def part(self, rows: slice | NDArray[np.bool_]) -> _Rows:
        """Some of them."""
        states = {name: own[rows] for name, own in self.states.items()}
        return _Rows(states, {name: own[rows] for name, own in self.numbers.items()})

    def complete(self, scores: FeatureMap, schema: Schema) -> _Rows:
        """Those that count: with a value of every column that must have one."""
        if not scores.complete:
            return self
        ordinary = (self.states[k] < schema.columns[k].n_ordinary for k in scores.complete)
        return self.part(np.logical_and.reduce(list(ordinary)))


def scored_numbers(
    column: Column,
    states: NDArray[np.int64],
    numbers: NDArray[np.float64],
    limits: tuple[float, float],
) -> NDArray[np.int64]:
    """The whole number z of each value; 0 where it is no number.

    Args:
        column: numeric.
        states: as records are counted, shape (n,).
        numbers: as they were read, NaN for none, shape (n,).
        limits: where they are cut off.
    """
    low, high = limits
    known = states < column.n_ordinary
    placed = placed_numbers(column, states, numbers)
    return np.where(known, on_bounds(np.where(known, placed, low), low, high), 0)


def placed_numbers(
    column: Column, states: NDArray[np.int64], numbers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The number of each value: of a truth value in a column of numbers, the middle of its state.

    Args:
        column: numeric.
        states: as records are counted, shape (n,).
        numbers: as they were read, NaN for none, shape (n,).
    """
    assert isinstance(column, NUMERIC)
    known = states < column.n_ordinary
    own = np.array([(one.low + one.high) / 2 for one in column.intervals])
    nowhere = known & np.isnan(numbers)
    return np.where(nowhere, own[np.where(known, states, 0)], numbers)


class RankSums(CodePass[NDArray[np.int64]]):
    """Σ z·z' over the records, of the scores of all pairs of columns.

    Scores are whole numbers, and those of a record have a squared length of at most
    `RankScores.most`, which is below 2¹⁴ for each column. So sums of products over a batch stay
    below 2⁵³ in up to 2²⁰ columns: the product of matrices of doubles is exact, and the order of
    the rows plays no part.

    Args:
        columns: their indices in the schema, in the order of the scores.
        scores: of each state.
    """

    def __init__(self, columns: tuple[int, ...], scores: RankScores) -> None:
        self.places = columns
        self._most = scores.most
        # Out of domain comes last.
        self._tables = [np.array([*own, 0], dtype=np.float64) for own in scores.tables.values()]
        self._total = np.zeros((len(columns), len(columns)), dtype=np.int64)

    def add(self, columns: Sequence[StateCodes]) -> None:
        """Add one batch of rows."""
        for start in range(0, len(columns[0]), BATCH):
            rows = slice(start, start + BATCH)
            pairs = zip(self._tables, columns, strict=True)
            own = np.column_stack([table[states[rows]] for table, states in pairs])
            kept = shorten_vectors(own, self._most)
            self._total += (kept.T @ kept).astype(np.int64)

    def sums(self) -> list[NDArray[Any]]:
        """Products of all columns, each with itself too."""
        return [self._total]

    def merge(self, sums: Arrays) -> None:
        """Add them."""
        self._total += sums[0]

    def answer(self) -> NDArray[np.int64]:
        """Those of two columns, first < second, shape (pairs,); in units of 1/`UNIT`²."""
        return np.asarray(self._total[np.triu_indices(len(self._total), 1)])


class LineCounts(RowPass[dict[str, NDArray[np.int64]]]):
    """Counts of several columns over their lines.

    Args:
        schema: what the rows are read against.
        lines: column → its cells.
    """

    def __init__(self, schema: Schema, lines: Mapping[str, NumberCells]) -> None:
        self._lines = [_Line(name, schema, cells) for name, cells in lines.items()]
        used = {name for line in self._lines for name in line.names}
        self.names = tuple(name for name in schema.names if name in used)

    def add(self, batch: pl.DataFrame) -> None:
        """Count one batch."""
        for line in self._lines:
            line.add(batch)

    def sums(self) -> list[NDArray[Any]]:
        """Counts of each column."""
        return [line.counts for line in self._lines]

    def merge(self, sums: Arrays) -> None:
        """Add counts."""
        for line, counts in zip(self._lines, sums, strict=True):
            line.counts += counts

    def answer(self) -> dict[str, NDArray[np.int64]]:
        """Column → records in each cell, and last those out of domain, shape (cells + 1,)."""
        return {line.name: line.counts for line in self._lines}


class _Line:
    """Running counts of one column.

    Args:
        name: the column.
        schema: what rows are read against.
        cells: of the line.
    """

    def __init__(self, name: str, schema: Schema, cells: NumberCells) -> None:
        self.name = name
        self.counts = np.zeros(cells.size + 1, dtype=np.int64)
        self._cells, self._coder = cells, ColumnCoder(name, cells.column)
        self._possible = Coder(part_of(schema, (schema.names.index(name),)))

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that are read."""
        return self._possible.schema.names

    def add(self, batch: pl.DataFrame) -> None:
        """Count one batch."""
        reading = self._coder.read(batch.get_column(self.name))
        states = reading.replace_outside(self._cells.column)
        places = self._cells.places(states, reading.number)
        part = self._possible.schema
        if part.boxes:
            possible = self._possible.code(batch)[part.names.index(self.name)]
            places = np.where(possible == part.columns[self.name].size, self._cells.size, places)
        self.counts += np.bincount(places, minlength=len(self.counts))
