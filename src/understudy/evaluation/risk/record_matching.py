"""Which synthetic rows agree with a target: rows are numbered, equal rows with equal numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers

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
        every = list(outcomes)
        return cls(
            np.mean([one.found for one in every], axis=0),
            np.mean([one.guessed for one in every], axis=0),
            np.mean([one.matched for one in every], axis=0),
        )


def over_sets(attack: Callable[[States], Outcome], sets: Sequence[States]) -> Outcome:
    """An attack by way of each set, and its mean over them."""
    return Outcome.over_sets(attack(one) for one in sets)


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
    found = np.unique(number, return_inverse=True)[1].astype(np.int64)
    return np.split(found, np.cumsum([len(table) for table in tables])[:-1])


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
    found = np.ones(len(targets))
    for target, column in zip(targets.T, rows.T, strict=True):
        found *= occurrences(target.astype(np.int64), column.astype(np.int64)) / len(rows)
    return found
