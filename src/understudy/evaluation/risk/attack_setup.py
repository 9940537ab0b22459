"""The scene of the attacks: who is attacked, by way of which sets, with what known and wanted.

Which synthetic rows agree with a target is seen by numbers of rows: equal rows have equal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers
from understudy.evaluation.comparison import Comparison, Rows
from understudy.evaluation.utility.ordered_values import is_ordered
from understudy.schema import NUMERIC, Column

States = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Outcome:
    """What an attack on each target comes to; arrays of shape (n,).

    Attributes:
        found: by the attack.
        guessed: by an intruder who knows nothing of his target.
        matched: share of the sets that have a row with the target's keys.
    """

    found: Floats
    guessed: Floats
    matched: Floats

    @classmethod
    def over_sets(cls, outcomes: Iterable[Outcome]) -> Outcome:
        """Mean over the sets, target by target."""
        several = list(outcomes)
        return cls(
            np.mean([outcome.found for outcome in several], axis=0),
            np.mean([outcome.guessed for outcome in several], axis=0),
            np.mean([outcome.matched for outcome in several], axis=0),
        )


def over_sets(attack: Callable[[States], Outcome], sets: Sequence[States]) -> Outcome:
    """An attack by way of each set, and its mean over them."""
    return Outcome.over_sets(attack(rows) for rows in sets)


def numbered(*tables: States) -> list[Integers]:
    """Numbers of the rows, from 0 without gaps: equal across all tables exactly for equal rows.

    Args:
        tables: each of shape (its rows, d), of one d; no columns at all make all rows equal.

    Example:
        >>> [one.tolist() for one in numbered(np.array([[1, 5], [0, 2]]), np.array([[1, 5]]))]
        [[1, 0], [1]]
    """
    rows = np.concatenate(tables)
    number, reach = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        size = int(column.max()) + 1 if len(column) else 1
        if reach * size >= 2**62:  # the same groups by smaller numbers
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            reach = len(number)
        number, reach = number * size + column, reach * size
    renumbered = np.unique(number, return_inverse=True)[1].astype(np.int64)
    return np.split(renumbered, np.cumsum([len(table) for table in tables])[:-1])


def occurrences(targets: Integers, rows: Integers) -> Integers:
    """How many rows have the number of each target; of shape (targets,)."""
    size = int(max(targets.max(initial=0), rows.max(initial=0))) + 1
    return np.bincount(rows, minlength=size)[targets]


def chances(targets: States, rows: States) -> Floats:
    """Probability of each target's states if the columns of the rows were independent.

    Args:
        targets: shape (n, d).
        rows: shape (m, d), m > 0.
    """
    product = np.ones(len(targets))
    for target, column in zip(targets.T, rows.T, strict=True):
        product *= occurrences(target.astype(np.int64), column.astype(np.int64)) / len(rows)
    return product


_STREAM = 40


@dataclass(frozen=True)
class Scene:
    """Rows as arrays of states, one column of the array per column of the table. CONFIDENTIAL.

    Attributes:
        columns: declarations.
        names: names of the columns.
        original: all original rows, shape (n, d).
        held_out: all rows of the control, shape (m, d); None without one.
        members: targets drawn from the original rows.
        control: targets drawn from the control; None without one.
        sets: the synthetic sets.
        keys: columns that the intruder knows.
        secrets: columns that he wants to know.
        seed: of what else is random.
    """

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    original: States = field(repr=False)
    held_out: States | None = field(repr=False)
    members: States = field(repr=False)
    control: States | None = field(repr=False)
    sets: tuple[States, ...] = field(repr=False)
    keys: tuple[int, ...]
    secrets: tuple[int, ...]
    seed: int

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        control: Rows | None,
        keys: tuple[int, ...],
        secrets: tuple[int, ...],
        targets: int,
    ) -> Scene:
        """Draw the targets, without replacement, and arrange the rows.

        Args:
            comparison: original rows and sets.
            control: rows of people outside the table, coded alike.
            keys: columns that the intruder knows.
            secrets: columns that he wants to know.
            targets: most targets of each group.
        """
        original = np.column_stack(comparison.original)
        held_out = None if control is None else np.column_stack(control)
        return cls(
            columns=comparison.columns,
            names=tuple(comparison.schema.names),
            original=original,
            held_out=held_out,
            members=_drawn(original, targets, comparison.generator(_STREAM)),
            control=None
            if held_out is None
            else _drawn(held_out, targets, comparison.generator(_STREAM, 1)),
            sets=tuple(np.column_stack(rows) for rows in comparison.sets),
            keys=keys,
            secrets=secrets,
            seed=comparison.seed,
        )

    @property
    def rest(self) -> tuple[int, ...]:
        """Columns that the intruder does not know."""
        return tuple(j for j in range(len(self.columns)) if j not in self.keys)

    def generator(self, stream: int) -> np.random.Generator:
        """A source of random numbers of its own for each purpose."""
        return np.random.default_rng([self.seed, _STREAM, 2, stream])

    def equal_numbers(self) -> tuple[States, States | None]:
        """As many original rows as rows of the control, drawn at random; all without a control."""
        if self.held_out is None:
            return self.original, None
        n = min(len(self.original), len(self.held_out))
        rng = self.generator(0)
        return _drawn(self.original, n, rng), _drawn(self.held_out, n, rng)


def _drawn(rows: States, n: int, rng: np.random.Generator) -> States:
    return rows if len(rows) <= n else rows[np.sort(rng.choice(len(rows), n, replace=False))]


def numbers_of(column: Column) -> Floats | None:
    """Number that stands for each state of a numeric column, NaN for codes of absence.

    The middle of a bin; for dates in days. None for a column with levels. The state outside the
    domain is the last one.

    Args:
        column: its declaration.
    """
    if not isinstance(column, NUMERIC):
        return None
    middles = np.full(column.size + 1, np.nan)
    middles[: column.n_ordinary] = [
        (interval.low + interval.high) / 2 for interval in column.intervals
    ]
    return middles


def places_of(column: Column) -> Floats:
    """Place of each state on the scale of the column in [0, 1]; -1 for states without an order.

    Args:
        column: its declaration.
    """
    places = np.full(column.size + 1, -1.0)
    numbers = numbers_of(column)
    if numbers is not None:
        low, high = column.bounds  # type: ignore[union-attr]  # numeric columns have them
        middle = numbers[: column.n_ordinary]
        places[: column.n_ordinary] = (middle - low) / (high - low) if high > low else 0.0
    elif is_ordered(column):
        places[: column.n_ordinary] = np.linspace(0, 1, column.n_ordinary)
    return places
