r"""Gibbs sampling from noisy tables of any size, whose rows get their noise when first visited.

**Law.** Column i of M has a table of real records by its key columns and itself; a *row* has one
number for each state of column i. Every cell of every table gets independent noise, and negative
numbers are set to 0. Each of ñ records starts at a seed, uniform over the allowed cells. A step
draws column i anew: with m_v what the row of the current key holds, and S ≠ ∅ the states that
structural zeros leave open given all other columns,

    P(v) = m_v / Σ_{u ∈ S} m_u,  v ∈ S,     and uniform over S where that sum is 0.

A sweep is a step for each column; the same noisy tables serve all records.

**Guarantee.** The records are a function of the noisy tables and of randomness that does not depend
on the rows. A record has one value of column i and of its key, so it adds 1 to one cell of each
table, or to none if one of these values is out of domain. Adding or removing it changes a table by
1 in L1 and L2, replacing it by 2 and √2 at most, so noise calibrated to a cost c
(`understudy.privacy.noise.calibration`) makes one table cost c, and all M of them M·c. Any number
of records and of sweeps is post-processing.

**Lazy noise is the same law.** Write the tables as a family of independent random rows. Run the
sampler, and draw a row when a step first asks for it: from its own law, whatever was drawn before.
Since rows are independent of each other, of seeds and of picks, the conditional law of a row given
all that happened before its first visit is its unconditional law; and a row that no step asks for
has no influence. So by induction over the steps, the joint law of all records is that of tables
written out in full (and tested against it). A row must be kept once it is drawn: drawing it again
would publish a second, unpaid copy of the same counts. Which rows were visited, and what they hold,
stays here; the records may leave.

**Exactness.** Noise is a whole number, drawn exactly, and a pick is an exactly uniform integer
below Σ m_u. Cells are capped at 2⁶²/states, which is post-processing, so that sums fit 64 bits;
noise beyond that has a probability below exp(−2¹⁰).

**Cost**: 8 bytes for each state of a visited row and about 32 for the row; a step of a record takes
a look-up and a binary search, and each new row a noise draw for each of its states. Tables may have
up to 2⁶² cells.

Sources: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data" (the sampler, which pays for each step instead); Dwork & Roth (2014), Theorem 3.6
and Proposition 2.1. Lazy noise: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.mechanisms.counts.lazy_table import below_each
from understudy.privacy.mechanisms.records.key_counts import HashedRows
from understudy.privacy.noise.calibration import LawName
from understudy.privacy.noise.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.rejection_sampling import compiled
from understudy.privacy.released import Records
from understudy.schema import Sweep

__all__ = ["LazyRows", "NoisyRows", "lazy_sweeps"]

_CHUNK: Final = 2**14
"""Records that are swept at once."""
_LARGEST_TOTAL: Final = 2**62
_FREE: Final = -1

_Integers = NDArray[np.int64]
_Real = tuple[_Integers, _Integers, NDArray[np.int32], _Integers]
"""Keys, first cells, states, and records before each cell, of `HashedRows`."""


@dataclass(frozen=True, kw_only=True)
class LazyRows:
    """Specification: records swept through noisy tables that are never written out.

    Attributes:
        sweep: what each column is drawn given; public.
        sweeps: how often each column is drawn for one record.
        noise: "geometric" or "gaussian".
    """

    law: ClassVar[str] = "noisy rows"

    sweep: Sweep
    sweeps: int
    noise: LawName = "geometric"

    @property
    def query(self) -> str:
        """What is asked, in the words of the ledger."""
        names = " × ".join(self.sweep.names)
        return f"records of {names} from a noisy table for each column"


class NoisyRows:
    """The visited rows of one noisy table. CONFIDENTIAL.

    Args:
        exact: what real records hold.
        size: number of states of the column.
        law: noise of every cell.
    """

    def __init__(
        self, exact: HashedRows, size: int, law: DiscreteLaplace | DiscreteGaussian
    ) -> None:
        self._exact, self._size, self._law = exact, size, law
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
        found = np.empty(len(keys), dtype=np.int64)
        before = self._visited
        self._visited = _look_up(keys, self._slots, self._keys, before, found)
        new = self._keys[before : self._visited]
        if new.size:
            self._ends[before : self._visited] = self._drawn(new, randomness)
        return found

    @property
    def ends(self) -> _Integers:
        """Running totals of the visited rows, in order of their first visit, shape (rows, size)."""
        return self._ends[: self._visited]

    def _drawn(self, keys: _Integers, randomness: Randomness) -> _Integers:
        """Rows of new keys: real records and noise, negative numbers as 0, summed up."""
        noise = self._law.sample(len(keys) * self._size, randomness)
        cells = noise.reshape(len(keys), self._size)
        real = self._exact
        _add_records(keys, (real.keys, real.first, real.states, real.before), cells)
        np.clip(cells, 0, _LARGEST_TOTAL // self._size, out=cells)
        return np.cumsum(cells, axis=1)

    def _make_room(self, most: int) -> None:
        """Room for so many rows; slots stay at most half full, so that look-ups end soon."""
        if most > len(self._keys):
            wanted = max(most, 2 * len(self._keys))
            self._keys = _grown(self._keys, wanted)
            self._ends = _grown(self._ends, wanted)
        if 2 * most > len(self._slots):
            slots = 1 << (4 * most - 1).bit_length()
            self._slots = np.full(slots, _FREE, dtype=np.int64)
            _fill_slots(self._keys[: self._visited], self._slots)


def lazy_sweeps(
    tables: Sequence[NoisyRows], sweep: Sweep, n_rows: int, *, sweeps: int, randomness: Randomness
) -> Records:
    """Draw records, each from a seed of its own.

    Args:
        tables: one for each column.
        sweep: what each column is drawn given.
        n_rows: records to draw.
        sweeps: how often each column is drawn for a record.
        randomness: source of every draw.
    """
    states = np.empty((len(sweep.names), n_rows), dtype=np.int64)
    for start in range(0, n_rows, _CHUNK):
        seeds = sweep.domain.draw(min(_CHUNK, n_rows - start), randomness.uniforms)
        some = np.array(seeds, dtype=np.int64)
        keys = sweep.keys_of([*some])
        for _ in range(sweeps):
            for column, table in enumerate(tables):
                drawn = _step(table, sweep, column, some, keys, randomness=randomness)
                sweep.move(keys, column, drawn - some[column])
                some[column] = drawn
        states[:, start : start + _CHUNK] = some
    return Records(tuple(states))


def _step(
    table: NoisyRows,
    sweep: Sweep,
    column: int,
    states: _Integers,
    keys: _Integers,
    *,
    randomness: Randomness,
) -> _Integers:
    """New states of a column for all records."""
    rows, size = table.rows(keys[column], randomness), sweep.domain.sizes[column]
    still_open = sweep.domain.open_states(column, [*states])
    ends = table.ends
    if still_open is None:
        totals = ends[rows, -1]
        picked = below_each(np.where(totals > 0, totals, size), randomness)
        return _pick(ends, rows, picked)
    totals = _open_totals(ends, rows, still_open)
    bounds = np.where(totals > 0, totals, still_open.sum(axis=1))
    return _pick_open(ends, rows, still_open, totals, below_each(bounds, randomness))


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
    keys: _Integers, slots: _Integers, known: _Integers, n_known: int, found: _Integers
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
        found[k] = slots[place]
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


@compiled
def _pick(ends: _Integers, rows: _Integers, picked: _Integers) -> _Integers:
    """The state to which the picked unit of each row belongs (kernel, binary search)."""
    drawn = np.empty(len(rows), dtype=np.int64)
    last = ends.shape[1] - 1
    for k in range(len(rows)):
        row = ends[rows[k]]
        low, high = 0, last
        if row[last] == 0:
            low = high = picked[k]
        while low < high:
            middle = (low + high) >> 1
            if row[middle] > picked[k]:
                high = middle
            else:
                low = middle + 1
        drawn[k] = low
    return drawn


@compiled
def _open_totals(ends: _Integers, rows: _Integers, still_open: NDArray[np.bool_]) -> _Integers:
    """What each row holds in open states (kernel)."""
    totals = np.zeros(len(rows), dtype=np.int64)
    for k in range(len(rows)):
        below = 0
        for state in range(ends.shape[1]):
            if still_open[k, state]:
                totals[k] += ends[rows[k], state] - below
            below = ends[rows[k], state]
    return totals


@compiled
def _pick_open(
    ends: _Integers,
    rows: _Integers,
    still_open: NDArray[np.bool_],
    totals: _Integers,
    picked: _Integers,
) -> _Integers:
    """The open state to which the picked unit belongs; each has one if they hold none (kernel)."""
    drawn = np.empty(len(rows), dtype=np.int64)
    for k in range(len(rows)):
        left, below = picked[k], 0
        for state in range(ends.shape[1]):
            if still_open[k, state]:
                left -= 1 if totals[k] == 0 else ends[rows[k], state] - below
                if left < 0:
                    drawn[k] = state
                    break
            below = ends[rows[k], state]
    return drawn
