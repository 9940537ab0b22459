"""The verb that counts ranges of one column's states.

The ranges of one layer are disjoint, and every record whose value is in domain is in exactly one of
them. So their counts, with the number of records out of domain as one more count, change like a
one-way table: one count by 1 under add/remove; under replace one falls and another rises by 1, or
none changes. Each layer has L1 sensitivity 1 or 2 (L2: 1 or √2), and the costs of layers add up.
All ranges get noise, empty ones included, and so do ranges of states that cannot occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.accounting.budget import split
from understudy.privacy.admission import verb
from understudy.privacy.door import Door
from understudy.privacy.noise.calibration import LawName, noise_of
from understudy.privacy.noise.perturbation import perturb
from understudy.privacy.released import NoisyRanges, Released

_MECHANISM = "noisy ranges"


class Ranging(Door):
    """Trees of ranges."""

    @verb
    def count_ranges(
        self,
        column: str,
        layers: Sequence[NDArray[np.int64]],
        *,
        spend: Fraction,
        law: LawName,
    ) -> list[Released[NoisyRanges]]:
        """Noisy counts of ranges of states, layer by layer, at equal cost.

        Args:
            column: its name.
            layers: for each layer the first states of its ranges, ascending from 0, and the end of
                the last one: at least the number of states. Beyond it there are no records.
            spend: cost of all layers together.
            law: "geometric", "laplace" or "gaussian".

        Raises:
            MethodError: ranges that do not hold every state, or noise that does not fit.
            InsufficientBudgetError: more than is left.
        """
        (place,) = self._places((column,))
        size = self.own_schema.sizes[place]
        for edges in layers:
            if len(edges) < 2 or edges[0] != 0 or edges[-1] < size or (np.diff(edges) < 1).any():
                raise MethodError("Ranges must ascend from state 0 and hold every state.")
        shares = split(spend, [1] * len(layers)) if layers else []
        self._ledger.require(spend)
        laws = [self._calibrate(law, share) for share in shares]
        entries = [
            self._charge(share, _MECHANISM, range_query(column, len(edges) - 1), noise, len(edges))
            for share, edges, noise in zip(shares, layers, laws, strict=True)
        ]
        (exact,) = self._secret_engine.count([(place,)]).expose()
        released = []
        for edges, noise, entry in zip(layers, laws, entries, strict=True):
            counts = _sums(exact.inside, edges)
            noisy = perturb(np.append(counts, exact.outside), noise, self._secret_randomness)
            bins = self._bins_of((column,))
            value = NoisyRanges((column,), edges, noisy[:-1], float(noisy[-1]), bins)
            released.append(Released(value, noise_of(noise), _MECHANISM, entry))
        self._measured.extend(released)
        return released


def range_query(column: str, n_ranges: int) -> str:
    """A layer of ranges in the words of the ledger."""
    return f"counts of {n_ranges} ranges of {column}"


def _sums(counts: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Records in each range; 0 beyond the last state."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    return np.diff(ends[np.minimum(edges, len(counts))])
