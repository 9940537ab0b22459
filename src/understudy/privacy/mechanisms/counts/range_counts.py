"""Counts of disjoint ranges of one column's states.

The ranges of one layer are disjoint, and every record whose value is in domain is in exactly one of
them. So their counts, with the number of records out of domain as one more count, change like a
one-way table: one count by 1 under add/remove; under replace one falls and another rises by 1, or
none changes. Each layer has L1 sensitivity 1 or 2 (L2: 1 or √2), and the costs of layers add up.
All ranges get noise, empty ones included, and so do ranges of states that cannot occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.accounting.budget import split
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answers
from understudy.privacy.mechanisms.counts.noisy_table import count_charge
from understudy.privacy.noise.calibration import LawName
from understudy.privacy.noise.distributions import NoiseLaw
from understudy.privacy.noise.perturbation import perturb
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyRanges, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms


@dataclass(frozen=True)
class RangeCounts(Mechanism[tuple[Released[NoisyRanges], ...], NoiseLaw]):
    """Noisy counts of ranges of states, layer by layer, at equal cost.

    Attributes:
        column: its name.
        layers: for each layer the first states of its ranges, ascending from 0, and the end of the
            last one: at least the number of states. Beyond it there are no records.
        law: "geometric", "laplace" or "gaussian".
    """

    name: ClassVar[str] = "noisy ranges"

    column: str
    layers: Sequence[NDArray[np.int64]]
    law: LawName

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[NoiseLaw], ...]:
        """One step for each layer.

        Raises:
            MethodError: ranges that do not hold every state, or noise that does not fit.
            BudgetError: more than is left, or next to nothing.
        """
        (place,) = terms.view.places((self.column,))
        size = terms.schema.sizes[place]
        for edges in self.layers:
            if len(edges) < 2 or edges[0] != 0 or edges[-1] < size or (np.diff(edges) < 1).any():
                raise MethodError("Ranges must ascend from state 0 and hold every state.")
        shares = split(spend, [1] * len(self.layers)) if self.layers else []
        terms.require(spend)
        return tuple(
            count_charge(
                terms,
                self.name,
                range_query(self.column, len(edges) - 1),
                law=terms.calibrated(self.law, share),
                cells=len(edges),
                spend=share,
            )
            for share, edges in zip(shares, self.layers, strict=True)
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[NoiseLaw], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyRanges], ...]]:
        """Count the column once, and sum it up layer by layer."""
        (exact,) = rows.tables([(self.column,)])
        bins, found = rows.view.bins_of((self.column,)), []
        for edges, one in zip(self.layers, charges, strict=True):
            counts = np.append(_sums(exact.inside, edges), exact.outside)
            noisy = perturb(counts, one.parameter, source)
            found.append(NoisyRanges((self.column,), edges, noisy[:-1], float(noisy[-1]), bins))
        return answers(found)


def range_query(column: str, n_ranges: int) -> str:
    """A layer of ranges in the words of the ledger."""
    return f"counts of {n_ranges} ranges of {column}"


def _sums(counts: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Records in each range; 0 beyond the last state."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    return np.diff(ends[np.minimum(edges, len(counts))])
