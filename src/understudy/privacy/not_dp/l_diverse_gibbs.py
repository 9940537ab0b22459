r"""Sweeps whose rows are made ℓ-diverse. **Not** differentially private.

**Distribution.** As in `understudy.privacy.mechanisms.records.perturbed_gibbs`, but each row of a
sensitive column gets a weight α of its own: the smallest at which the entropy of its draws reaches
log ℓ,

    H(α) = −Σ_v p_v(α)·log p_v(α) ≥ log ℓ,    p_v(α) = (n_v + α)/(n + C·α),

n_v of the n real records of the row having state v of C, and log the natural logarithm. Rows of
other columns have α = 0. A row without records is uniform, and so are all rows if ℓ = C.

**Smallest α by bisection.** H is nondecreasing: with λ = Cα/(n + Cα), which grows with α,
p(α) = (1 − λ)·p(0) + λ·u, u uniform. Entropy is concave, so it is concave in λ, and it is largest
at λ = 1; a concave function on [0, 1] that is largest at 1 does not decrease. λ is bisected, and α
rounded up to a multiple of 2⁻²⁰, which by the same argument does no harm.

**What is promised.** Entropy ℓ-diversity of what a sensitive column is drawn from (Machanavajjhala
et al. 2007): a syntactic property of the rows, not of what an outsider learns. It is **not
differential privacy**: α itself depends on the records, a row that is diverse already is used as
it stands, and records that agree with one person in the key columns still lean towards that
person's state. Where structural zeros leave fewer states open, the distribution restricted to these
may have a smaller entropy, and with less than ℓ open states must: the promise is about rows before
that.

Sources: Park & Ghosh (2014), §3.3 ("ℓ-diversity"); Machanavajjhala, Kifer, Gehrke &
Venkitasubramaniam (2007), "l-diversity: privacy beyond k-anonymity", Definition 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.accounting.promise import Unpaid
from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.counts.noisy_table import query_of
from understudy.privacy.mechanisms.records.gibbs_chain import (
    FINEST,
    UNIFORM,
    Chains,
    chain_records,
    require_own,
)
from understudy.privacy.mechanisms.records.key_counts import (
    HashedRows,
    hashed_tables,
    table_names,
)
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import ExactStatistics, Noise, Records, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import GibbsSweep

__all__ = ["DiverseRows", "diverse_records", "diverse_weights"]

_LARGEST: Final = 2.0**60
_HALVINGS: Final = 60

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class DiverseRows(Mechanism[Released[Records], None]):
    """Synthetic records from rows made ℓ-diverse: the release becomes not private.

    Attributes:
        sweep: what each column is drawn given.
        diversity: ℓ, above 1 and at most the size of each sensitive column.
        sensitive: places of the sensitive columns.
        n_rows: how many records; public or released.
        sweeps: how often each column is drawn for one record.
    """

    name: ClassVar[str] = "diverse rows"

    sweep: GibbsSweep
    diversity: float
    sensitive: tuple[int, ...]
    n_rows: HowMany
    sweeps: int = 1

    def __post_init__(self) -> None:
        """Refuse numbers that the proof does not cover.

        Raises:
            MethodError: no sweep.
        """
        if self.sweeps < 1:
            raise MethodError("Each column of a record is drawn in one sweep at least.")

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """A step of infinite cost for each table.

        Raises:
            MethodError: a sweep over another schema.
        """
        require_own(self.sweep, terms)
        noise = Noise(self.name, str(self.diversity), 0.0)
        return tuple(
            Charge(
                spent=None,
                mechanism=self.name,
                query=query_of(names),
                sensitivity="none",
                noise="l-diversity is syntactic: not differential privacy",
                cells=0,
                parameter=None,
                recorded=noise,
                unpaid=Unpaid.EXACT,
            )
            for names in table_names(self.sweep)
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[Records]]:
        """Draw; the records leave."""
        drawn = diverse_records(
            hashed_tables(rows, self.sweep),
            self.sweep,
            self.n_rows,
            diversity=self.diversity,
            sensitive=self.sensitive,
            sweeps=self.sweeps,
            randomness=source,
        )
        return answer(drawn, [ExactStatistics(names) for names in table_names(self.sweep)])


def diverse_weights(rows: HashedRows, size: int, diversity: float) -> Floats:
    """The smallest weight of each row at which it is ℓ-diverse; infinite where it must be uniform.

    Args:
        rows: of one column.
        size: states of the column, at least ℓ.
        diversity: ℓ.

    Returns:
        α in records, shape (rows,).
    """
    if diversity >= size:
        return np.full(len(rows.keys), np.inf)
    least = math.log(diversity)
    low, high = np.zeros(len(rows.keys)), np.ones(len(rows.keys))
    fine = _entropy(rows, size, low) >= least
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = _entropy(rows, size, middle) >= least
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    with np.errstate(divide="ignore"):
        weights = rows.totals * high / (size * (1 - high))
    return np.where(fine, 0.0, weights)


def _entropy(rows: HashedRows, size: int, mixed: Floats) -> Floats:
    """Entropy of each row, a share `mixed` of which is uniform; shape (rows,)."""
    if not len(rows.keys):
        return np.zeros(0)
    cells = np.diff(rows.first)
    shares = rows.counts / np.repeat(rows.totals, cells)
    mixed_in = np.repeat(mixed, cells)
    occupied = np.add.reduceat(_term((1 - mixed_in) * shares + mixed_in / size), rows.first[:-1])
    return np.asarray(occupied + (size - cells) * _term(mixed / size))


def _term(p: Floats) -> Floats:
    """−p·log p, 0 at p = 0."""
    return -p * np.log(np.where(p > 0, p, 1.0))


def diverse_records(
    rows: Sequence[HashedRows],
    sweep: GibbsSweep,
    n_rows: int,
    *,
    diversity: float,
    sensitive: Sequence[int],
    sweeps: int = 1,
    randomness: Randomness,
) -> Records:
    """Draw records, each from a seed of its own.

    Args:
        rows: hashed table of each column.
        sweep: what each column is drawn given.
        n_rows: records to draw.
        diversity: ℓ, above 1 and at most the size of each sensitive column.
        sensitive: places of the sensitive columns.
        sweeps: how often each column is drawn for a record.
        randomness: source of every draw.
    """
    weights = [
        _units(diverse_weights(table, size, diversity), size)
        if j in sensitive
        else np.zeros(len(table.keys), dtype=np.int64)
        for j, (table, size) in enumerate(zip(rows, sweep.domain.sizes, strict=True))
    ]
    chains = Chains(sweeps=sweeps)
    return chain_records(
        rows, weights, sweep, n_rows, unit=FINEST, chains=chains, randomness=randomness
    )


def _units(weights: Floats, size: int) -> NDArray[np.int64]:
    """Weights in whole units, rounded up; uniform where they are too large for that."""
    scaled = np.ceil(weights * FINEST)
    finite = scaled * size < _LARGEST
    return np.where(finite, np.where(finite, scaled, 0.0), UNIFORM).astype(np.int64)
