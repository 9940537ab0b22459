"""Scores of a record: each column as a short vector of numbers, of length about 1 at most.

*A column of numbers* gives its number, scaled by its public bounds so that they become −1 and 1,
and an indicator of each code of absence and of what is out of domain; a record has at most one of
these that is not 0. If it has few bins, those with a number have contrasts between the bins as
well, as below but smaller (`BINS`): they add little to the length, and tell tables of the bins.

*A column of levels* with k states (codes of absence are states too) gives k − 1 contrasts between
them, orthonormal and each with mean 0 over the states. So the vector of a state has the squared
length 1 − 1/k: two states are told apart by one number of size √½, where two indicators would take
a vector of length 1. What is known of every record, that it has one of the states, takes no part of
a budget. Indicators are affine in the contrasts (`Scores.tables`). A record out of domain has the
scores 0, as if it were an even mix of the levels.

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
    >>> scores = Scores.of(schema, ("age", "sex"))
    >>> scores.names
    ('age', 'age out of domain', 'sex (contrast 1)')
    >>> [round(float(length), 3) for length in scores.squared_lengths]
    [1.0, 0.5]
    >>> scores.size  # three sums, two products, and a square
    6
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from understudy.arrays import Integers
from understudy.errors import MethodError
from understudy.features.orthonormal_contrasts import contrasts
from understudy.features.sum_order import SumOrder
from understudy.schema import NUMERIC, Column, Schema

UNIT: Final = 2**15
"""Steps per score of 1."""
BINS: Final = 0.2
"""Squared length of contrasts between bins, where those between levels have 1."""
MOST_BINS: Final = 12
MOST_SCORES: Final = 1_000


@dataclass(frozen=True)
class Score:
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


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of some columns, column by column, and what is summed of them.

    Attributes:
        columns: names.
        each: all scores, in the order of the columns; of a column the number first.
        tables: column → scores of each state, out of domain last, in units of 1/`UNIT`; the place
            of a number holds the largest it could be. Shape (states + 1, scores of the column).
        coded: squares of numbers that are summed by absence elsewhere as well.
        complete: columns of which a record must have a value to count; then how many records count
            is summed as well, in front.
        weight: of the sums against the products, all of which have the same noise.
    """

    columns: tuple[str, ...]
    each: tuple[Score, ...]
    tables: Mapping[str, Integers] = field(repr=False)
    coded: tuple[CodedSquare, ...]
    complete: tuple[str, ...]
    weight: Fraction

    @classmethod
    def of(
        cls,
        schema: Schema,
        columns: Sequence[str],
        complete: Sequence[str] = (),
        *,
        pure: bool = False,
    ) -> Scores:
        """The scores of columns of a schema, from public facts.

        Args:
            schema: their declaration.
            columns: names, each once.
            complete: those of them of which a record must have a value to count.
            pure: whether the noise goes by sums of sizes, and not of squares.

        Raises:
            MethodError: more scores than `MOST_SCORES`.
        """
        n = sum(n_scores(schema.columns[k], ordinary=k in complete, pure=pure) for k in columns)
        if n > MOST_SCORES:
            raise MethodError(
                f"The columns have {n:,} scores, too many for a matrix of their moments (at most "
                f"{MOST_SCORES:,}); leave out columns of many levels."
            )
        each: list[Score] = []
        tables: dict[str, Integers] = {}
        for name in columns:
            own, tables[name] = _of_column(
                name, schema.columns[name], ordinary=name in complete, pure=pure
            )
            each += own
        squared = sum(map(_squared_length, tables.values()), Fraction(0))
        return cls(
            tuple(columns),
            tuple(each),
            tables,
            tuple(_coded(schema, each, columns, complete)),
            tuple(complete),
            _weight(float(squared)),
        )

    def __len__(self) -> int:
        return len(self.each)

    @property
    def names(self) -> tuple[str, ...]:
        """How each is shown."""
        return tuple(score.label for score in self.each)

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """The products of scores of two columns: places of two arrays, first < second."""
        place = {name: k for k, name in enumerate(self.columns)}
        column = np.array([place[score.column] for score in self.each], dtype=np.int64)
        first, second = np.triu_indices(len(self.each))
        kept = column[first] != column[second]
        return first[kept], second[kept]

    @cached_property
    def numbers(self) -> Integers:
        """Places of the numbers, whose squares are summed too."""
        return np.flatnonzero([score.number for score in self.each]).astype(np.int64)

    @cached_property
    def order(self) -> SumOrder:
        """The order of all that is summed; numbers of records and sums have the `weight`."""
        many = len(self), len(self.pairs[0]), len(self.numbers), len(self.coded)
        return SumOrder(int(bool(self.complete)), *many)

    @property
    def size(self) -> int:
        """All numbers that are summed."""
        return self.order.size

    def places(self, column: str) -> tuple[int, ...]:
        """Places of the scores of one column."""
        return tuple(k for k, score in enumerate(self.each) if score.column == column)

    @cached_property
    def squared_lengths(self) -> tuple[Fraction, ...]:
        """Of the vector of each column, the largest squared length that a record can have."""
        return tuple(_squared_length(self.tables[name]) for name in self.columns)

    @cached_property
    def lengths(self) -> tuple[Fraction, ...]:
        """Of the vector of each column, the largest sum of sizes that a record can have."""
        return tuple(
            Fraction(int(np.abs(self.tables[name]).sum(axis=1).max()), UNIT)
            for name in self.columns
        )

    def part(self, columns: Sequence[str]) -> tuple[Scores, Integers]:
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
        own = Scores(
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
        )
        return own, np.flatnonzero(self.order.joined(part.astype(np.int64) for part in chosen))


def n_scores(column: Column, *, ordinary: bool = False, pure: bool = False) -> int:
    """How many scores a column has: `ordinary` if records without a value of it do not count."""
    if not isinstance(column, NUMERIC):
        k = column.n_ordinary if ordinary else column.size
        return k if pure and k > 2 else k - 1
    absent = 0 if ordinary else len(column.codes) + (column.out_of_domain is None)
    by_bins = 0 if pure or column.n_ordinary > MOST_BINS else column.n_ordinary - 1
    return 1 + absent + by_bins


def _of_column(
    name: str, column: Column, *, ordinary: bool, pure: bool
) -> tuple[list[Score], Integers]:
    """The scores of a column, and those of each of its states."""
    if not isinstance(column, NUMERIC):
        k = column.n_ordinary if ordinary else column.size
        if pure and k > 2:
            return _indicators(name, column, range(k), number=False)
        table = np.zeros((column.size + 1, k - 1), dtype=np.int64)
        table[:k] = np.trunc(UNIT * contrasts(k))
        return [Score(name, f"{name} (contrast {j})") for j in range(1, k)], table
    states = () if ordinary else range(column.n_ordinary, column.size)
    each, table = _indicators(
        name, column, states, number=True, beside=not ordinary and column.out_of_domain is None
    )
    k = column.n_ordinary
    if pure or k > MOST_BINS:
        return each, table
    bins = np.zeros((column.size + 1, k - 1), dtype=np.int64)
    bins[:k] = np.trunc(UNIT * np.sqrt(BINS) * contrasts(k))
    more = [Score(name, f"{name} (contrast {j} of bins)") for j in range(1, k)]
    return each + more, np.hstack([table, bins])


def _indicators(
    name: str, column: Column, states: Sequence[int], *, number: bool, beside: bool = False
) -> tuple[list[Score], Integers]:
    """A number, if it has one, and indicators of states, and of what is out of domain."""
    labels = [f"{name} = {column.labels[state]}" for state in states]
    labels += [f"{name} out of domain"] * beside
    places = [*states, *[column.size] * beside]
    table = np.zeros((column.size + 1, number + len(places)), dtype=np.int64)
    table[places, number + np.arange(len(places))] = UNIT
    if number:
        table[: column.n_ordinary, 0] = UNIT
    return [Score(name, name, number=True)] * number + [Score(name, x) for x in labels], table


def _squared_length(table: Integers) -> Fraction:
    """Of the vector of a column, the largest that a record can have."""
    return Fraction(int((table**2).sum(axis=1).max()), UNIT**2)


def _coded(
    schema: Schema, each: Sequence[Score], columns: Sequence[str], complete: Sequence[str]
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


def _weight(squared: float) -> Fraction:
    """A weight of the sums that suits most questions, in halves.

    With a the sum of the squared lengths, sums take a of the squared sensitivity and products about
    a²/2. Where an estimate's variance has c_1 parts of the noise of a sum and c_2 of that of a
    product, the best squared weight is √(c_1 a/(2c_2)); c_1 = 1.5·c_2 is taken.
    """
    return max(Fraction(1), Fraction(round(2 * (0.75 * squared) ** 0.25), 2))
