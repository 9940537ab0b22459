"""Scores of a record: each column as a short vector of numbers, of length about 1 at most.

*A column of numbers* gives its number, cut off at limits (its public bounds, or narrower ones) and
scaled so that these become −1 and 1, and an indicator of each code of absence and of what is out of
domain; a record has at most one of these that is not 0. If it has few bins, those with a number
have contrasts between the bins as well, as below but smaller (`BINS`): they add little to the
length, and tell tables of the bins.

*A column of levels* with k states (codes of absence are states too) gives k − 1 contrasts between
them, orthonormal and each with mean 0 over the states. So the vector of a state has the squared
length 1 − 1/k: two states are told apart by one number of size √½, where two indicators would take
a vector of length 1. What is known of every record, that it has one of the states, takes no part of
a budget. Indicators are affine in the contrasts (`FeatureMap.tables`). A record out of domain has
the scores 0, as if it were an even mix of the levels.

*Among many columns* (`MANY`) the contrasts of k levels, more than `FEW_LEVELS`, are shorter by
`FEW_LEVELS`/k. A level of so many has few records, and little can be told of it; at their full
length such columns would widen the answers about all others.

For noise whose scale goes by sums of sizes (`pure`) contrasts of more than two states would be
larger than indicators, so there these stand in their place.

All scores are whole multiples of 1/`UNIT`; contrasts are rounded towards 0.

Example:
    >>> from understudy.schema import Schema
    >>> schema = Schema.loads('''
    ... rows = "public"
    ... n_rows = 9
    ... [columns.age]
    ... kind = "integer"
    ... lower = 0
    ... upper = 90
    ... [columns.sex]
    ... kind = "categorical"
    ... levels = ["f", "m"]
    ... ''')
    >>> scores = FeatureMap.of(schema, ("age", "sex"))
    >>> scores.names
    ('age', 'age out of domain', 'sex (contrast 1)')
    >>> [round(float(length), 3) for length in scores.squared_lengths]
    [1.0, 0.5]
    >>> scores.size  # three sums, two products, and a square
    6

**Contrasts between states, of which each says something that the others do not.**

**In which order the sums of scores stand, wherever they are released, stored or read.**

The number of records first, where only some count; sums of the scores; of the products of two
columns' scores; of the squares of numbers; and of these by absence elsewhere. Nobody else lays it
down: numbers are put in order, and taken apart, here.

**Scores of columns by rank, and how far a record's vector of them counts.**

The score of a state is its mid-rank by a released table of the column, from −1 to 1, over its
standard deviation, so that each column has about the squared length 1. A code of absence, and what
is out of domain, have the score 0. Where nearly all records share a state the deviation is small;
it counts as `LEAST_SPREAD` then, and the column less.

A record far out in every column would set the noise for all. So a record's vector, whose squared
length is about d in d columns, is shortened where that exceeds d + `REACH`·√d.

All scores are whole multiples of 1/`UNIT`.

Example:
    >>> scores = RankScores.of({"pain": [30.0, 40.0, 30.0], "age": [25.0, 50.0, 25.0]}, {})
    >>> scores.tables
    {'pain': (-83, 0, 83), 'age': (-91, 0, 91)}
    >>> round(scores.most / 64**2, 3)  # 2 + 1.2·√2
    3.697

**One coded column given others, as numbers: both sides of the gate use it.**
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from understudy._arrays import Floats, Integers
from understudy.errors import MethodError
from understudy.schema import NUMERIC, Column, Schema


def contrasts(k: int) -> Floats:
    """Orthonormal contrasts between k states: of each state with the mean of those before it.

    Returns:
        Shape (k, k − 1); columns have length 1 and mean 0 (Helmert).
    """
    table = np.zeros((k, k - 1))
    for j in range(1, k):
        table[:j, j - 1], table[j, j - 1] = 1, -j
        table[:, j - 1] /= np.sqrt(j * (j + 1))
    return table


def contrast_length(k: int, *, many: bool) -> float:
    """Length of the contrasts between k levels.

    Args:
        k: levels.
        many: whether they are those of one of many columns.
    """
    return min(1.0, FEW_LEVELS / k) if many else 1.0


Numbers = TypeVar("Numbers", Integers, Floats)


@dataclass(frozen=True)
class SumOrder:
    """Numbers of sums of each sort, in their order.

    Attributes:
        counts: numbers of records: 1 where only some count, else 0.
        sums: of scores.
        products: of two scores.
        squares: of numbers.
        coded: squares of numbers by absence elsewhere.
    """

    counts: int
    sums: int
    products: int
    squares: int
    coded: int

    @property
    def size(self) -> int:
        """Of all of them."""
        return sum(astuple(self))

    def join(self, parts: Iterable[Numbers]) -> Numbers:
        """All numbers in one array, shape (size,).

        Args:
            parts: of each sort, in the order of the attributes; of the number of records any, if
                it is not among the sums.
        """
        own = [part[:many] for part, many in zip(parts, astuple(self), strict=True)]
        return np.concatenate(own)

    def split(self, numbers: Numbers) -> list[Numbers]:
        """Numbers of each sort, in the order of the attributes.

        Args:
            numbers: of all, shape (size,).
        """
        return np.split(numbers, np.cumsum(astuple(self))[:-1])

    @property
    def places(self) -> list[Integers]:
        """Places of each sort among all."""
        return self.split(np.arange(self.size, dtype=np.int64))

    def weights(self, weight: float, of_squares: float) -> Floats:
        """Return the factor of each number: records and sums have one, and squares; products 1."""
        many = np.array([weight, weight, 1.0, of_squares, of_squares])
        return np.repeat(many, astuple(self))


Limits = Mapping[str, tuple[float, float]]
"""Column of numbers → where its numbers are cut off."""
Box = Mapping[str, tuple[int, ...]]
"""Column → states: the records that have one of them in each of these columns."""
Boxes = tuple[Box, ...]
UNIT: Final = 2**15
"""Steps per score of 1."""


def is_within_bounds(ends: Sequence[float], column: Column | None) -> bool:
    """Return whether two limits ascend, within the bounds of a column of numbers."""
    low, high = ends
    return isinstance(column, NUMERIC) and bool(column.bounds[0] <= low < high <= column.bounds[1])


BINS: Final = 0.2
"""Squared length of contrasts between bins, where those between levels have 1."""
MOST_BINS: Final = 12
MANY: Final = 8
"""Columns from more than which on those of many levels count less."""
FEW_LEVELS: Final = 16
"""Levels whose contrasts have their full length among many columns."""
MOST_SCORES: Final = 1_000


@dataclass(frozen=True)
class MomentFeature:
    """One score.

    Attributes:
        column: its column.
        label: how it is shown.
        number: whether it is the number of the column, which is squared as well.
    """

    column: str
    label: str
    number: bool = False


@dataclass(frozen=True)
class CodedSquare:
    """The square of a number among the records that have no value of another column.

    Attributes:
        place: of the number among the scores.
        column: the other column.
        state: its code of absence.
    """

    place: int
    column: str
    state: int


TICKS: Final = 2**14
"""Steps per factor of 1."""


@dataclass(frozen=True)
class Weighting:
    """A factor in [0, 1] that each record counts with, by its own weight; public.

    Attributes:
        column: of the weights.
        bound: the weight of a record that counts in full, B; larger ones count as it.
        power: 1 for w/B, 2 for its square.
        by: column of levels by whose states all sums are taken apart; "" for those of all records.
    """

    column: str
    bound: float
    power: int
    by: str = ""

    def ticks(self, weights: Floats) -> Floats:
        """Factors in whole steps of 1/`TICKS`, of each record by its weight alone.

        Args:
            weights: shape (n,); NaN where there is none, which counts as 0.
        """
        within = np.clip(np.nan_to_num(weights), 0.0, self.bound) / self.bound
        return np.asarray(np.rint(within**self.power * TICKS))

    @property
    def words(self) -> str:
        """The weighting of records, for a query."""
        factor = "w" if self.power == 1 else "w²"
        apart = f", by {self.by}" if self.by else ""
        return f"weighted by {factor} = {self.column} up to {self.bound!r}{apart}"

    def blocks(self, schema: Schema) -> int:
        """Return how many times all sums are there.

        Args:
            schema: that declares its columns.
        """
        return schema.columns[self.by].size if self.by else 1


class ScoreMap:
    """Behaviour that scores of columns (`FeatureMap`) and of terms (`features.terms`) share.

    Scores belong together in blocks, those of a column or of a term. Summed are each of them, the
    products of two of different blocks, and the squares of numbers.

    Attributes:
        columns: names of what is read of a record.
        each: the scores, those of a block together.
        coded: squares of numbers that are summed by absence elsewhere as well.
        complete: columns of which a record must have a value to count; then how many records count
            is summed as well, in front.
        weight: of the sums against the products, all of which have the same noise.
        limits: column of numbers → what counts as −1 and as 1, as numbers beyond it do.
        weighting: factor of all that a record adds; then the sum of factors stands in front. None
            if each counts as 1.
    """

    columns: tuple[str, ...]
    each: tuple[MomentFeature, ...]
    coded: tuple[CodedSquare, ...]
    complete: tuple[str, ...]
    weight: Fraction
    limits: Limits
    weighting: Weighting | None

    def __len__(self) -> int:
        return len(self.each)

    @property
    def names(self) -> tuple[str, ...]:
        """Name under which each is shown."""
        return tuple(score.label for score in self.each)

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """The products of scores of two blocks: places of two arrays, first < second."""
        place = {name: k for k, name in enumerate(dict.fromkeys(one.column for one in self.each))}
        block = np.array([place[score.column] for score in self.each], dtype=np.int64)
        first, second = np.triu_indices(len(self.each))
        kept = block[first] != block[second]
        return first[kept], second[kept]

    @cached_property
    def numbers(self) -> Integers:
        """Places of the numbers, whose squares are summed too."""
        return np.flatnonzero([score.number for score in self.each]).astype(np.int64)

    @cached_property
    def order(self) -> SumOrder:
        """The order of all that is summed; numbers of records and sums have the `weight`."""
        many = len(self), len(self.pairs[0]), len(self.numbers), len(self.coded)
        return SumOrder(int(bool(self.complete or self.weighting)), *many)

    @property
    def of_squares(self) -> Fraction:
        """Weight of the squares against the products, at most 1."""
        return Fraction(1)

    @cached_property
    def factors(self) -> Floats:
        """Factors of the numbers before they are released, shape (size,)."""
        return self.order.weights(float(self.weight), float(self.of_squares))

    @property
    def size(self) -> int:
        """All numbers that are summed."""
        return self.order.size

    @property
    def squared_lengths(self) -> tuple[Fraction, ...]:
        """Of the vector of each block, the largest squared length that a record can have."""
        raise NotImplementedError

    @property
    def lengths(self) -> tuple[Fraction, ...]:
        """Of the vector of each block, the largest sum of sizes that a record can have."""
        raise NotImplementedError

    @property
    def opposed(self) -> tuple[Fraction, ...]:
        """Of two vectors of each block, how far they can point apart: the largest −w·u."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class FeatureMap(ScoreMap):
    """The scores of some columns, column by column, and what is summed of them.

    Attributes:
        each: all scores, in the order of the columns; of a column the number first.
        tables: column → scores of each state, out of domain last, in units of 1/`UNIT`; the place
            of a number holds the largest it could be. Shape (states + 1, scores of the column).
        many: whether columns of many levels have shorter contrasts.
    """

    columns: tuple[str, ...]
    each: tuple[MomentFeature, ...]
    tables: Mapping[str, Integers] = field(repr=False)
    coded: tuple[CodedSquare, ...]
    complete: tuple[str, ...]
    weight: Fraction
    limits: Limits
    many: bool
    weighting: Weighting | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        columns: Sequence[str],
        complete: Sequence[str] = (),
        *,
        pure: bool = False,
        limits: Limits | None = None,
        many: bool | None = None,
        weighting: Weighting | None = None,
    ) -> FeatureMap:
        """The scores of columns of a schema, from public facts.

        Args:
            schema: their declaration.
            columns: names, each once.
            complete: those of them of which a record must have a value to count.
            pure: whether the noise goes by sums of sizes, and not of squares.
            limits: of columns of numbers, where they are narrower than the bounds.
            many: whether the columns are some of many; None if they are all, and so tell.
            weighting: factor of all that a record adds.

        Raises:
            MethodError: more scores than `MOST_SCORES`.
        """
        n = sum(n_scores(schema.columns[k], ordinary=k in complete, pure=pure) for k in columns)
        if n > MOST_SCORES:
            raise MethodError(
                f"The columns have {n:,} scores, too many for a matrix of their moments (at most "
                f"{MOST_SCORES:,}); leave out columns of many levels."
            )
        many = len(columns) > MANY if many is None else many
        each: list[MomentFeature] = []
        tables: dict[str, Integers] = {}
        for name in columns:
            own, tables[name] = _of_column(
                name, schema.columns[name], ordinary=name in complete, pure=pure, many=many
            )
            each += own
        squared = sum(map(squared_length, tables.values()), Fraction(0))
        return cls(
            tuple(columns),
            tuple(each),
            tables,
            tuple(_pair_codes(schema, each, columns, complete)),
            tuple(complete),
            weight_of_sums(float(squared)),
            {
                name: (limits or {}).get(name, column.bounds)
                for name in columns
                if isinstance(column := schema.columns[name], NUMERIC)
            },
            many,
            weighting,
        )

    def places(self, column: str) -> tuple[int, ...]:
        """Places of the scores of one column."""
        return tuple(k for k, score in enumerate(self.each) if score.column == column)

    @cached_property
    def squared_lengths(self) -> tuple[Fraction, ...]:
        """Of the vector of each column, the largest squared length that a record can have."""
        return tuple(squared_length(self.tables[name]) for name in self.columns)

    @cached_property
    def lengths(self) -> tuple[Fraction, ...]:
        """Of the vector of each column, the largest sum of sizes that a record can have."""
        return tuple(absolute_length(self.tables[name]) for name in self.columns)

    @cached_property
    def opposed(self) -> tuple[Fraction, ...]:
        """Of two vectors of each column, how far they can point apart."""
        numeric = {score.column for score in self.each if score.number}
        tables = ((int(name in numeric), self.tables[name]) for name in self.columns)
        return tuple(number + opposition(table[:, number:]) for number, table in tables)

    def part(self, columns: Sequence[str]) -> tuple[FeatureMap, Integers]:
        """The scores of some of the columns, and the places of their sums among all sums.

        Args:
            columns: names; with all of the complete ones.
        """
        kept = tuple(name for name in self.columns if name in columns)
        mine = np.array([score.column in kept for score in self.each], dtype=np.bool_)
        move = np.cumsum(mine) - 1
        first, second = self.pairs
        coded = np.array(
            [mine[square.place] and square.column in kept for square in self.coded], dtype=np.bool_
        )
        counted = np.ones(1, dtype=np.bool_)
        chosen = [counted, mine, mine[first] & mine[second], mine[self.numbers], coded]
        own = FeatureMap(
            kept,
            tuple(score for score in self.each if score.column in kept),
            {name: self.tables[name] for name in kept},
            tuple(
                CodedSquare(int(move[square.place]), square.column, square.state)
                for square, taken in zip(self.coded, coded, strict=True)
                if taken
            ),
            self.complete,
            self.weight,
            {name: ends for name, ends in self.limits.items() if name in kept},
            self.many,
            self.weighting,
        )
        return own, np.flatnonzero(self.order.join(part.astype(np.int64) for part in chosen))


def n_scores(column: Column, *, ordinary: bool = False, pure: bool = False) -> int:
    """Count the scores of a column: `ordinary` if records without a value of it do not count."""
    if not isinstance(column, NUMERIC):
        k = column.n_ordinary if ordinary else column.size
        return k if pure and k > 2 else k - 1
    absent = 0 if ordinary else len(column.codes) + (column.out_of_domain is None)
    by_bins = 0 if pure or column.n_ordinary > MOST_BINS else column.n_ordinary - 1
    return 1 + absent + by_bins


def _of_column(
    name: str, column: Column, *, ordinary: bool, pure: bool, many: bool
) -> tuple[list[MomentFeature], Integers]:
    """The scores of a column, and those of each of its states."""
    if not isinstance(column, NUMERIC):
        k = column.n_ordinary if ordinary else column.size
        if pure and k > 2:
            return _indicators(name, column, range(k), number=False)
        table = np.zeros((column.size + 1, k - 1), dtype=np.int64)
        table[:k] = np.trunc(UNIT * contrast_length(k, many=many) * contrasts(k))
        return [MomentFeature(name, f"{name} (contrast {j})") for j in range(1, k)], table
    states = () if ordinary else range(column.n_ordinary, column.size)
    each, table = _indicators(
        name, column, states, number=True, beside=not ordinary and column.out_of_domain is None
    )
    k = column.n_ordinary
    if pure or k > MOST_BINS:
        return each, table
    bins = np.zeros((column.size + 1, k - 1), dtype=np.int64)
    bins[:k] = np.trunc(UNIT * np.sqrt(BINS) * contrasts(k))
    more = [MomentFeature(name, f"{name} (contrast {j} of bins)") for j in range(1, k)]
    return each + more, np.hstack([table, bins])


def _indicators(
    name: str, column: Column, states: Sequence[int], *, number: bool, beside: bool = False
) -> tuple[list[MomentFeature], Integers]:
    """A number, if it has one, and indicators of states, and of what is out of domain."""
    labels = [f"{name} = {column.labels[state]}" for state in states]
    labels += [f"{name} out of domain"] * beside
    places = [*states, *[column.size] * beside]
    table = np.zeros((column.size + 1, number + len(places)), dtype=np.int64)
    table[places, number + np.arange(len(places))] = UNIT
    if number:
        table[: column.n_ordinary, 0] = UNIT
    return [MomentFeature(name, name, number=True)] * number + [
        MomentFeature(name, x) for x in labels
    ], table


def squared_length(table: Integers) -> Fraction:
    """Of vectors in units of 1/`UNIT`, shape (k, scores), the largest squared length."""
    return Fraction(int((table**2).sum(axis=1).max()), UNIT**2)


def absolute_length(table: Integers) -> Fraction:
    """The largest sum of sizes of such vectors."""
    return Fraction(int(np.abs(table).sum(axis=1).max()), UNIT)


def opposition(table: Integers) -> Fraction:
    """The largest −w·u of two such vectors, or 0."""
    return max(Fraction(0), Fraction(int(-(table @ table.T).min()), UNIT**2))


def _pair_codes(
    schema: Schema, each: Sequence[MomentFeature], columns: Sequence[str], complete: Sequence[str]
) -> list[CodedSquare]:
    """Each number with each code of another column."""
    absent = [
        (name, state)
        for name in columns
        if name not in complete
        for state in range(schema.columns[name].n_ordinary, schema.columns[name].size)
    ]
    return [
        CodedSquare(place, name, state)
        for place, score in enumerate(each)
        if score.number
        for name, state in absent
        if name != score.column
    ]


def weight_of_sums(squared: float) -> Fraction:
    """A weight of the sums that suits most questions, in halves.

    With a the sum of the squared lengths, sums take a of the squared sensitivity and products about
    a²/2. Where an estimate's variance has c_1 parts of the noise of a sum and c_2 of that of a
    product, the best squared weight is √(c_1 a/(2c_2)); c_1 = 1.5·c_2 is taken.
    """
    return max(Fraction(1), Fraction(round(2 * (0.75 * squared) ** 0.25), 2))


RANK_UNIT: Final = 2**6
"""Steps per score of 1."""
REACH: Final = Fraction(6, 5)
"""How far a squared length that counts lies above the usual one, in roots of how many columns."""
LEAST_SPREAD: Final = 0.25
_BELOW_ONE: Final = 1 - 2.0**-40


@dataclass(frozen=True)
class RankScores:
    """The scores of some ordered columns; public.

    Attributes:
        tables: column → score of each state, in units of 1/`UNIT`.
    """

    tables: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, masses: Mapping[str, ArrayLike], apart: Mapping[str, Sequence[int]]) -> RankScores:
        """By released masses.

        Args:
            masses: column → estimated records in each state, in the order of the values.
            apart: column → states that have no place among them.
        """
        return cls({name: _rank_states(own, apart.get(name, ())) for name, own in masses.items()})

    @property
    def columns(self) -> tuple[str, ...]:
        """Names."""
        return tuple(self.tables)

    @property
    def most(self) -> int:
        """Largest squared length of a record's vector, in units of 1/`UNIT`²."""
        d = len(self.tables)
        return RANK_UNIT**2 * d + math.isqrt(int(REACH**2 * RANK_UNIT**4 * d))


def _rank_states(masses: ArrayLike, apart: Sequence[int]) -> tuple[int, ...]:
    own = np.maximum(np.array(masses, dtype=np.float64), 0)
    own[list(apart)] = 0
    total = own.sum()
    if total <= 0:
        return (0,) * len(own)
    ranks = (2 * np.cumsum(own) - own) / total - 1
    ranks[list(apart)] = 0
    spread = np.sqrt(ranks**2 @ own / total)
    return tuple(np.rint(RANK_UNIT * ranks / max(spread, LEAST_SPREAD)).astype(int).tolist())


def shorten_vectors(vectors: Floats, most: int) -> Floats:
    """Vectors of whole numbers, those that are too long made shorter; whole again.

    A factor is taken a little below √(most / squared length), by more than it could be rounded up,
    and numbers are cut towards 0. So no squared length exceeds `most`.

    Args:
        vectors: whole numbers, shape (n, d).
        most: largest squared length.

    Example:
        >>> shorten_vectors(np.array([[3.0, -4.0], [30.0, -40.0]]), 25).tolist()
        [[3.0, -4.0], [2.0, -3.0]]
    """
    squared = np.einsum("ij,ij->i", vectors, vectors)
    far = np.flatnonzero(squared > most)
    if not len(far):
        return vectors
    kept = vectors.copy()
    factors = np.sqrt(most / squared[far]) * _BELOW_ONE
    kept[far] = np.trunc(vectors[far] * factors[:, None])
    return kept
