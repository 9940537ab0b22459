"""The visited rows of one noisy table: noise when a row is first asked for, kept from then on.

`understudy.privacy.mechanisms.records.lazy_gibbs` proves that this is the distribution of the whole
table.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.mechanisms.records.key_counts import HashedRows
from understudy.privacy.noise.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.rejection_sampling import compiled

_LARGEST_TOTAL: Final = 2**62
_FREE: Final = -1

_Integers = NDArray[np.int64]
_Real = tuple[_Integers, _Integers, NDArray[np.int32], _Integers]
"""Keys, first cells, states, and records before each cell, of `HashedRows`."""


class NoisyRows:
    """The visited rows of one noisy table. CONFIDENTIAL.

    Args:
        exact: what real records hold.
        size: number of states of the column.
        distribution: noise of every cell.
    """

    def __init__(
        self, exact: HashedRows, size: int, distribution: DiscreteLaplace | DiscreteGaussian
    ) -> None:
        self._exact, self._size, self._noise = exact, size, distribution
        self._slots = np.full(64, _FREE, dtype=np.int64)  # number of the row, by hashed key
        self._keys = np.empty(16, dtype=np.int64)
        self._ends = np.empty((16, size), dtype=np.int64)
        self._visited = 0

    @property
    def visited(self) -> int:
        """How many rows have noise by now."""
        return self._visited

    @property
    def nbytes(self) -> int:
        """Memory of the visited rows."""
        return self._slots.nbytes + self._keys.nbytes + self._ends.nbytes

    def rows(self, keys: _Integers, randomness: Randomness) -> _Integers:
        """Numbers of the rows of some keys; new ones get their noise.

        Args:
            keys: shape (n,).
            randomness: source of the noise.

        Returns:
            Shape (n,): places in `ends`.
        """
        self._make_room(self._visited + len(keys))
        places = np.empty(len(keys), dtype=np.int64)
        before = self._visited
        self._visited = _look_up(keys, self._slots, self._keys, before, places)
        new = self._keys[before : self._visited]
        if new.size:
            self._ends[before : self._visited] = self._drawn(new, randomness)
        return places

    @property
    def ends(self) -> _Integers:
        """Running totals of the visited rows, in order of their first visit, shape (rows, size)."""
        return self._ends[: self._visited]

    def _drawn(self, keys: _Integers, randomness: Randomness) -> _Integers:
        """Rows of new keys: real records and noise, negative numbers as 0, summed up."""
        noise = self._noise.sample(len(keys) * self._size, randomness)
        cells = noise.reshape(len(keys), self._size)
        real = self._exact
        _add_records(keys, (real.keys, real.first, real.states, real.before), cells)
        np.clip(cells, 0, _LARGEST_TOTAL // self._size, out=cells)
        return np.cumsum(cells, axis=1)

    def _make_room(self, most: int) -> None:
        """Room for so many rows; slots stay at most half full, so that look-ups end soon."""
        if most > len(self._keys):
            capacity = max(most, 2 * len(self._keys))
            self._keys = _grown(self._keys, capacity)
            self._ends = _grown(self._ends, capacity)
        if 2 * most > len(self._slots):
            slots = 1 << (4 * most - 1).bit_length()
            self._slots = np.full(slots, _FREE, dtype=np.int64)
            _fill_slots(self._keys[: self._visited], self._slots)


def _grown(array: _Integers, n: int) -> _Integers:
    larger = np.empty((n, *array.shape[1:]), dtype=np.int64)
    larger[: len(array)] = array
    return larger


@compiled
def _slot(key: np.int64, mask: int) -> np.int64:
    """Where to look for a key first (Fibonacci hashing; kernel)."""
    return np.int64((np.uint64(key) * np.uint64(11400714819323198485)) >> np.uint64(20)) & mask


@compiled
def _look_up(
    keys: _Integers, slots: _Integers, known: _Integers, n_known: int, places: _Integers
) -> int:
    """Number the keys, new ones in order; how many are known afterwards (kernel)."""
    mask = len(slots) - 1
    for k in range(len(keys)):
        place = _slot(keys[k], mask)
        while slots[place] >= 0 and known[slots[place]] != keys[k]:
            place = (place + 1) & mask
        if slots[place] < 0:
            slots[place] = n_known
            known[n_known] = keys[k]
            n_known += 1
        places[k] = slots[place]
    return n_known


@compiled
def _fill_slots(known: _Integers, slots: _Integers) -> None:
    """Number distinct keys in an empty table (kernel)."""
    mask = len(slots) - 1
    for k in range(len(known)):
        place = _slot(known[k], mask)
        while slots[place] >= 0:
            place = (place + 1) & mask
        slots[place] = k


@compiled
def _add_records(keys: _Integers, real: _Real, cells: _Integers) -> None:
    """Add the real records of each key to its row, in place (kernel)."""
    occupied, first, states, before = real
    places = np.searchsorted(occupied, keys)
    for k in range(len(keys)):
        row = places[k]
        if row < len(occupied) and occupied[row] == keys[k]:
            for cell in range(first[row], first[row + 1]):
                cells[k, states[cell]] += before[cell + 1] - before[cell]
