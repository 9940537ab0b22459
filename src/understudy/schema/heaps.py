"""Heaps: numbers that many records share since people round, such as multiples of 1,000.

`heaps = [1000, 500, 100]` says that incomes are often told in thousands, half thousands or
hundreds. That people round so is public knowledge; how many do is measured. Each number is of one
*class*: that of the first heap on which it lies, else the last class of all. So the classes of
[10, 5] are multiples of 10, odd multiples of 5, and the rest.

A heap need not begin at 0: `{ every = 1, at = 0.99 }` are prices such as 4.99. Columns of time have
heaps in lengths of time: "PT15M" is every quarter of an hour, and { every = "P7D", at =
"2024-01-01" } every Monday.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from understudy.schema.cell_values import CLOSE
from understudy.schema.column_base import Value

MOST_HEAPS = 8
_LOOKED_AT = 4096
_ALL = 1.5  # steps of a grid, below which a heap is the grid

Numbers = NDArray[np.float64]


class HeapAt(BaseModel):
    """A heap that does not begin at 0.

    Attributes:
        every: distance of its numbers; of a column of time, a length such as "PT15M" or "P7D".
        at: one of its numbers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    every: Value
    at: Value


Heap = Value | HeapAt


@dataclass(frozen=True)
class Steps:
    """Numbers at equal distances on a column's line.

    Attributes:
        every: distance.
        at: one of them.
    """

    every: float
    at: float

    def nearest(self, numbers: Numbers) -> Numbers:
        """The one next to each number, shape (n,)."""
        return np.asarray(self.at + np.rint((numbers - self.at) / self.every) * self.every)


@dataclass(frozen=True)
class Roundings:
    """The heaps of a column on its line.

    Attributes:
        steps: of each heap, in the order in which they count.
        scale: values of the column's grid per unit; 0 where it has none.

    Example:
        >>> tens = Roundings((Steps(10.0, 0.0), Steps(5.0, 0.0)), 1.0)
        >>> tens.classes(np.array([20.0, 25.0, 27.0])).tolist()
        [0, 1, 2]
    """

    steps: tuple[Steps, ...]
    scale: float

    @property
    def n_classes(self) -> int:
        """One for each heap, and one for the rest."""
        return len(self.steps) + 1

    def classes(self, numbers: Numbers) -> NDArray[np.int64]:
        """Class of each number: the first heap that has it, else the last class; shape (n,).

        What a number's class is follows from the number. One that is as near to a heap as 32 bits
        tell is on it, where numbers have decimals.
        """
        found = np.full(len(numbers), len(self.steps), dtype=np.int64)
        reach = 0.0 if self.scale == 1.0 else CLOSE
        for k in reversed(range(len(self.steps))):
            off = np.abs(numbers - self.steps[k].nearest(numbers))
            near = np.abs(numbers) + abs(self.steps[k].at)
            found[off <= reach * near] = k
        return found

    def among_all(self, low: float, high: float) -> Numbers:
        """Share of each class if every number of a column were as frequent; shape (classes,)."""
        if not self.scale:
            return np.asarray(np.eye(self.n_classes)[-1])
        n_values = int(min(_LOOKED_AT, (high - low) * self.scale + 1))
        numbers = np.round(low * self.scale + np.arange(n_values)) / self.scale
        counts = np.bincount(self.classes(numbers), minlength=self.n_classes)
        return np.asarray(counts / n_values)


def fault_of(roundings: Roundings, bounds: tuple[float, float], entries: tuple[Any, ...]) -> str:
    """What is wrong with heaps, as a sentence without a full stop; "" if nothing is.

    Args:
        roundings: the heaps.
        bounds: of the column.
        entries: as they are declared, for the sentence.
    """
    low, high = bounds
    if len(entries) > MOST_HEAPS:
        return f"has {len(entries)} heaps; at most {MOST_HEAPS} can be told apart"
    for k, entry in enumerate(entries):
        upto = Roundings(roundings.steps[: k + 1], roundings.scale)
        if said := _fault_of_last(upto, low, high):
            named = entry.every if isinstance(entry, HeapAt) else entry
            return f"heap {named!r} {said}"
    return ""


def _fault_of_last(roundings: Roundings, low: float, high: float) -> str:
    """What is wrong with the last heap."""
    step, scale = roundings.steps[-1], roundings.scale
    finest = 0.0 if scale == 1.0 else 4 * CLOSE * max(abs(low), abs(high))
    if not 0 < step.every < np.inf:
        return "must be above 0"
    if step.every <= finest:
        return f"is finer than numbers up to {high:.12g} can be told apart"
    if scale and not _on_grid(step, scale):
        return "does not lie on the values that the column holds"
    if scale and step.every * scale < _ALL:
        return "has every value of the column; take it off"
    if not _has_own(roundings, low, high):
        return (
            "has no number of its own between the bounds; put finer heaps behind coarser ones, and "
            "take off what an earlier one has"
        )
    return ""


def _on_grid(step: Steps, scale: float) -> bool:
    places = np.array([step.every, step.at]) * scale
    return bool((np.abs(places - np.rint(places)) <= 1e-6).all())


@lru_cache(maxsize=1024)  # asked for again whenever a column is made
def _has_own(roundings: Roundings, low: float, high: float) -> bool:
    """Whether the last heap has a number between the bounds that no earlier one has."""
    last = roundings.steps[-1]
    first = np.ceil((low - last.at) / last.every - 1e-9)
    numbers = last.at + (first + np.arange(_LOOKED_AT)) * last.every
    inside = numbers[(numbers >= low - 1e-9 * abs(low)) & (numbers <= high + 1e-9 * abs(high))]
    return bool((roundings.classes(inside) == len(roundings.steps) - 1).any())
