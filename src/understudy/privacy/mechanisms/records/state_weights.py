r"""Weights that are added to the states of hashed rows: all alike, or in proportion to marginals.

A step of perturbed Gibbs sampling draws state v of a column with P(v) ∝ n_v + α_v, n_v the real
records of the row (`perturbed_gibbs`). Three forms of the weights α_v:

* **even**: α_v = α for all states.
* **bought**: α_v ≥ α, in proportion to shares q of the column's states that are public, or were
  released by noisy counts that are paid for. Shares below a tenth of an even one are raised to
  that, so that the weights sum to at most 11 times as much as even ones:

      α_v = α · q'_v / min_u q'_u,    q'_v = max(q_v, 1/(10·C)),  C states.

* **paper**: α_v = C·α·q_v with the exact shares q of the rows: the same sum as even weights.

**Theorem.** With α ≥ 1/(e^ε₀ − 1), *even* and *bought* weights make a step ε₀-DP for adding or
removing a record and for replacing one, and of ε₀-bounded range for the former.

*Proof.* The proof in `perturbed_gibbs` uses of the weights that they are fixed by what is public or
released, and that a = n_w + α_w ≥ α for the state w of the record that comes or goes, and a ≤ N.
Both hold if every α_v ≥ α: the ratio of the two factors is 1 + 1/a ≤ 1 + 1/α_w ≤ 1 + 1/α. A row
that does not exist, or was reset, is drawn by its weights alone, which are public. ∎

So the rarest state sets the price: what is gained for common states is paid with larger weights.

**What the published form leaves in.** Park & Ghosh name weights in proportion to the marginal
distribution as an example, without a proof. Read off the rows, the shares are not paid for; and a
state of share q_v has only C·q_v times the weight of the theorem, so a record in it may cost
log(1 + 1/(C·α·q_v)), above ε₀ where q_v < 1/C. Hence the promise is conditional, and says so.

**Exactness.** Weights are whole multiples of 2⁻²⁰, rounded up, in *paper* at least one.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §3.3, who give even weights a proof and name the others. Proof of the others: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.mechanisms.records.key_counts import HashedRows
from understudy.privacy.mechanisms.records.urn import prior_weight

__all__ = [
    "EVEN",
    "FINEST",
    "UNPAID",
    "WEIGHT_WORDS",
    "StateShares",
    "shares_of_rows",
    "state_weight",
    "state_weights",
]

FINEST: Final = 2**20
"""Weights of states are multiples of 1/FINEST."""
WEIGHT_WORDS: Final[Mapping[str, str]] = {
    "even": "weight of each state 1/(exp(e) - 1)",
    "bought": "weight of each state 1/(exp(e) - 1) or more, by released marginals",
    "paper": "weights of states 1/(exp(e) - 1) on average, by the marginals of the rows",
}
"""The weight of a state for the ledger, by how weights are divided among states."""
LEAST: Final = 10
"""A share is raised to that of an even spread over so many times as many states."""
UNPAID = (
    "The weights of states follow the exact marginals of the rows (as published), which were not "
    "paid for; states rarer than an even spread have a smaller weight than the stated ε needs."
)

Form = Literal["even", "bought", "paper"]
Shares = tuple[tuple[float, ...], ...]
_Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class StateShares:
    """How weights are divided among the states of each column.

    Attributes:
        form: even; bought: by `shares`, which are public; paper: by the exact shares of the rows.
        shares: of the states of each column, public, not negative; () where they are not known yet,
            which is as good as even ones.
    """

    form: Form = "even"
    shares: Shares = ()

    def __post_init__(self) -> None:
        """Refuse what is no share.

        Raises:
            MethodError: shares beside another form than "bought", or negative or endless ones.
        """
        numbers = [share for column in self.shares for share in column]
        if (numbers and self.form != "bought") or not all(0 <= one < np.inf for one in numbers):
            raise MethodError("Shares of states are numbers of at least 0, for bought weights.")

    @property
    def most(self) -> int:
        """How many times as much as even weights the weights of a column may sum to, at most."""
        return LEAST + 1 if self.form == "bought" else 1

    @property
    def words(self) -> str:
        """The weight of a state, for the ledger."""
        return WEIGHT_WORDS[self.form]

    @property
    def leaks(self) -> tuple[str, ...]:
        """What the published form leaves in."""
        return (UNPAID,) if self.form == "paper" else ()

    def require_for(self, sizes: Sequence[int]) -> None:
        """Refuse shares of other columns; a public check.

        Args:
            sizes: states of each column.

        Raises:
            MethodError: they are for others.
        """
        if self.shares and [len(column) for column in self.shares] != list(sizes):
            raise MethodError("Shares of states are for the states of other columns.")

    def weights(
        self, prior: Fraction, rows: Sequence[HashedRows], sizes: Sequence[int]
    ) -> tuple[_Integers, ...] | None:
        """Weights of the states of each column in units of 1/FINEST; None if they are even.

        Args:
            prior: α, a multiple of 1/FINEST.
            rows: hashed table of each column; looked at for the published form alone.
            sizes: states of each column.

        Raises:
            MethodError: shares for other columns.
        """
        self.require_for(sizes)
        shares = shares_of_rows(rows, sizes) if self.form == "paper" else self.shares
        if not shares:
            return None
        kept = self.form == "paper"
        return tuple(state_weights(column, prior, sum_kept=kept) for column in shares)


EVEN: Final = StateShares()


def state_weight(epsilon: Fraction) -> Fraction:
    """Weight α of each state at which a step is ε-DP, rounded up to a multiple of 1/FINEST.

    Example:
        >>> round(float(state_weight(Fraction(1, 13))), 4)
        12.5064
    """
    return Fraction(ceil(prior_weight(1, epsilon, reinforced=False) * FINEST), FINEST)


def state_weights(shares: Sequence[float], prior: Fraction, *, sum_kept: bool) -> _Integers:
    """Weights of the states of a column in units of 1/FINEST, rounded up.

    Args:
        shares: in proportion to which they are; all alike if none is above 0.
        prior: α.
        sum_kept: whether they sum to C·α, or are at least α each.

    Example:
        >>> (state_weights((0.5, 0.3, 0.2), Fraction(4), sum_kept=False) / FINEST).tolist()
        [10.0, 6.0, 4.0]
        >>> (state_weights((0.5, 0.25, 0.25), Fraction(4), sum_kept=True) / FINEST).tolist()
        [6.0, 3.0, 3.0]
    """
    size, total = len(shares), sum(map(Fraction, shares))
    exact = [Fraction(share) / total if total else Fraction(1, size) for share in shares]
    if sum_kept:
        wanted = [prior * size * share for share in exact]
    else:
        raised = [max(share, Fraction(1, LEAST * size)) for share in exact]
        wanted = [prior * share / min(raised) for share in raised]
    return np.array([max(1, ceil(weight * FINEST)) for weight in wanted], dtype=np.int64)


def shares_of_rows(rows: Sequence[HashedRows], sizes: Sequence[int]) -> Shares:
    """Exact shares of the states of each column among the rows of its table. CONFIDENTIAL.

    Args:
        rows: hashed table of each column.
        sizes: states of each column.
    """
    counts = [
        np.bincount(table.states, weights=table.counts, minlength=size)
        for table, size in zip(rows, sizes, strict=True)
    ]
    return tuple(tuple((one / max(1.0, one.sum())).tolist()) for one in counts)
