"""Scores of a record: each column as numbers in [−1, 1], of which the record has at most one.

A column of numbers gives its number, scaled by its public bounds so that they become −1 and 1, and
an indicator of each code of absence and of what is out of domain; a column of levels gives an
indicator of each level and code. So a record has at most one score of a column that is not 0, and
the vector of them has length at most 1: all that the sensitivity of second moments rests on
(`understudy.privacy.mechanisms.sums.score_moments`). Whether a record has a number follows from the
indicators, so that means of numbers know whom they are about.

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
    ('age', 'age out of domain', 'sex = f', 'sex = m')
    >>> scores.n_products  # the square of age, and both of its scores by each level
    5
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.arrays import Integers
from understudy.schema import NUMERIC, Column, Schema


@dataclass(frozen=True)
class Score:
    """One score.

    Attributes:
        column: its column.
        state: the state that it indicates, the number of states for what is out of domain; None
            for the number of the column.
        label: how it is shown.
    """

    column: str
    state: int | None
    label: str


@dataclass(frozen=True)
class Scores:
    """The scores of some columns, column by column.

    Attributes:
        columns: names.
        each: all of them, in the order of the columns; of a column the number first.
        complete: columns of which a record must have a value to count; then how many records count
            is summed as well, in front.
    """

    columns: tuple[str, ...]
    each: tuple[Score, ...]
    complete: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: Schema, columns: Sequence[str], complete: Sequence[str] = ()) -> Scores:
        """The scores of columns of a schema, from public facts.

        Args:
            schema: their declaration.
            columns: names, each once.
            complete: those of them of which a record must have a value to count.
        """
        each = [
            score
            for name in columns
            for score in _of_column(name, schema.columns[name], ordinary=name in complete)
        ]
        return cls(tuple(columns), tuple(each), tuple(complete))

    def __len__(self) -> int:
        return len(self.each)

    @property
    def names(self) -> tuple[str, ...]:
        """How each is shown."""
        return tuple(score.label for score in self.each)

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """The products that can differ from 0 and follow from no sum: two arrays, first ≤ second.

        Of two scores of one column that is the square of the number alone: an indicator is its own
        square, and no record has two of them.
        """
        place = {name: k for k, name in enumerate(self.columns)}
        column = np.array([place[score.column] for score in self.each], dtype=np.int64)
        number = np.array([score.state is None for score in self.each], dtype=np.bool_)
        first, second = np.triu_indices(len(self.each))
        kept = (column[first] != column[second]) | ((first == second) & number[first])
        return first[kept], second[kept]

    @property
    def n_products(self) -> int:
        """How many products there are."""
        return len(self.pairs[0])

    @property
    def size(self) -> int:
        """All numbers that are summed: of records if they are counted, sums, and products."""
        return bool(self.complete) + len(self) + self.n_products

    def places(self, column: str) -> tuple[int, ...]:
        """Places of the scores of one column."""
        return tuple(k for k, score in enumerate(self.each) if score.column == column)


def _of_column(name: str, column: Column, *, ordinary: bool) -> list[Score]:
    labels = [f"{name} = {label}" for label in column.labels]
    if not isinstance(column, NUMERIC):
        n_levels = column.n_ordinary if ordinary else column.size
        return [Score(name, k, label) for k, label in enumerate(labels[:n_levels])]
    if ordinary:
        return [Score(name, None, name)]
    codes = range(column.n_ordinary, column.size)
    absent = [Score(name, k, labels[k]) for k in codes]
    if column.out_of_domain is None:
        absent.append(Score(name, column.size, f"{name} out of domain"))
    return [Score(name, None, name), *absent]
