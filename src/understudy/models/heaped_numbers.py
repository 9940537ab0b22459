"""Numbers of a release on their heaps: as many on each as noisy counts say.

Models draw bins, and numbers that are smooth within them. Counts by class and zone
(`understudy.features.heap_cells`) say how many of the numbers lie on heaps. So

1. **shares** of the classes are the pooled ones, drawn towards those of numbers without heaps as
   far as noise explains what they differ by, and in each zone towards the pooled ones alike
   (`understudy.models.shrunk_shares`): a heap that nobody rounds to is not made up by noise;
2. **bins** have classes in proportion, as far as they can: a bin without a multiple of 1,000 has no
   number of that class, and others more. Iterative proportional fitting (Deming & Stephan 1940)
   keeps the records of each bin and the shares of each zone;
3. **a number** gets a class, and moves to that value of the class in its bin which has its rank
   there: of k values each takes a k-th of the bin. So bins, their shape, and the order of numbers
   of one class stay as they were drawn.

All of it is post-processing of released values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers
from understudy.features.heap_cells import HeapCells
from understudy.features.line_cells import Numeric
from understudy.models.heap_values import HeapValues
from understudy.models.shrunk_shares import shrunk

_ROUNDS = 50
_FIRM = 2.0
"""Standard deviations of noise that the records of a column must pass to say anything."""


def class_shares(counts: Floats, stddev: float, without: Floats) -> Floats:
    """Shares of the classes in each zone.

    Args:
        counts: noisy ones, shape (zones, classes).
        stddev: of the noise in each.
        without: shares of the classes if there were no heaps, shape (classes,).

    Returns:
        Shape (zones, classes), rows summing to 1.
    """
    n_zones, n_classes = counts.shape
    sums, spread = counts.sum(axis=0), stddev * np.sqrt(n_zones)
    total = float(sums.sum())
    if total <= max(_FIRM * spread * np.sqrt(n_classes), 0.0):
        return np.tile(without, (n_zones, 1))
    beyond = sums - total * without
    kept = np.maximum(1 - np.divide(spread**2, beyond**2, where=beyond != 0, out=beyond * 0), 0)
    pooled = np.maximum(without + kept * beyond / total, 0.0)
    even = np.tile(pooled / pooled.sum(), n_zones)
    zones = np.repeat(np.arange(n_zones), n_classes)
    found = shrunk(counts.ravel(), zones, even, stddev).reshape(n_zones, n_classes)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class HeapedNumbers:
    """Moves the numbers of a column onto its heaps.

    Attributes:
        values: of the bins in which numbers were drawn.
        zones: of each ordinary state, shape (states,).
        shares: of the classes in each zone, shape (zones, classes).
        whole: records in each ordinary state of a whole table, where those that are moved are too
            few to go by; shape (states,).
    """

    values: HeapValues
    zones: Integers
    shares: Floats
    whole: Floats | None = field(default=None)

    @classmethod
    def of(cls, column: Numeric, counts: Floats, stddev: float) -> HeapedNumbers:
        """By noisy counts of the cells of a column.

        Args:
            column: in the bins in which numbers are drawn.
            counts: of its heap cells, shape (cells,).
            stddev: of the noise in each.
        """
        cells, (low, high) = HeapCells(column), column.bounds
        table = counts[:-1].reshape(cells.n_zones, cells.n_classes)
        shares = class_shares(table, stddev, column.roundings.among_all(low, high))
        middles = np.array([(one.low + one.high) / 2 for one in column.intervals])
        return cls(HeapValues(column), cells.zones(middles), shares)

    def settled(self, records: Floats) -> HeapedNumbers:
        """The same for some records of a whole table that has so many in each ordinary state."""
        return replace(self, whole=records)

    def moved(
        self, states: NDArray[np.integer[Any]], numbers: Floats, rng: np.random.Generator
    ) -> Floats:
        """Numbers on their heaps.

        Args:
            states: of the records; what is no bin stays as it is. Shape (n,).
            numbers: within the bins, NaN for none, shape (n,).
            rng: randomness.
        """
        k = len(self.zones)
        binned = np.append(self.values.is_bin, False)[np.minimum(states, k)]
        rows = np.flatnonzero(binned & ~np.isnan(numbers))
        own, uniforms = np.asarray(states)[rows].astype(np.int64), rng.random((2, len(rows)))
        below = self.rates(np.bincount(own, minlength=k)).cumsum(axis=1)[:, :-1]
        classes = (uniforms[0][:, np.newaxis] >= below[own]).sum(axis=1)
        moved, ranks = numbers.copy(), self.values.ranks(own, numbers[rows], uniforms[1])
        for c in range(self.values.n_classes):
            mine = np.flatnonzero(classes == c)
            found = self.values.chosen(own[mine], ranks[mine], c)
            moved[rows[mine]] = np.where(np.isnan(found), numbers[rows[mine]], found)
        return moved

    def middles(self, records: Floats) -> Floats:
        """Mean number of each ordinary state, with so many records in each; shape (states,)."""
        return np.asarray((self.rates(records) * self.values.means).sum(axis=1))

    def rates(self, records: NDArray[Any]) -> Floats:
        """Shares of the classes in each ordinary state, with so many records in each.

        Args:
            records: shape (states,).

        Returns:
            Shape (states, classes), rows summing to 1.
        """
        known = np.asarray(records if self.whole is None else self.whole, dtype=np.float64)
        possible = self.values.possible
        rates: Floats = possible / possible.sum(axis=1, keepdims=True)
        for zone in np.unique(self.zones):
            own = np.flatnonzero((self.zones == zone) & self.values.is_bin)
            rates[own] = _fitted(rates[own], np.maximum(known[own], 1e-6), self.shares[zone])
        return rates


def _fitted(rates: Floats, sizes: Floats, shares: Floats) -> Floats:
    """Rates within bins of so many records that have these shares in all of them, as far as can be.

    What must be 0 stays 0.
    """
    table, wanted = rates * sizes[:, np.newaxis], np.maximum(shares, 1e-9) * sizes.sum()
    for _ in range(_ROUNDS):
        sums = table.sum(axis=0)
        table = table * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
        table = table * (sizes / table.sum(axis=1))[:, np.newaxis]
    return np.asarray(table / sizes[:, np.newaxis])
