r"""Gibbs sampling from noisy tables of any size, whose rows get their noise when first visited.

**Distribution.** Column i of M has a table of real records by its key columns and itself; a *row*
has one number for each state of column i. Every cell of every table gets independent noise, and
negative numbers are set to 0. Each of ñ records starts at a seed, uniform over the allowed cells. A
step draws column i again: with m_v what the row of the current key holds, and S ≠ ∅ the states that
structural zeros leave open given all other columns,

    P(v) = m_v / Σ_{u ∈ S} m_u,  v ∈ S,     and uniform over S where that sum is 0.

A sweep is a step for each column; the same noisy tables serve all records.

**Guarantee.** The records are a function of the noisy tables and of randomness that does not depend
on the rows. A record has one value of column i and of its key, so it adds 1 to one cell of each
table, or to none if one of these values is out of domain. Adding or removing it changes a table by
1 in L1 and L2, replacing it by 2 and √2 at most, so noise calibrated to a cost c
(`understudy.privacy.noise.calibration`) makes one table cost c, and all M of them M·c. Any number
of records and of sweeps is post-processing.

**Lazy noise is the same distribution.** Write the tables as a family of independent random rows.
Run the sampler, and draw a row when a step first asks for it: from its own distribution, whatever
was drawn before. Since rows are independent of each other, of seeds and of picks, the conditional
distribution of a row given all that happened before its first visit is its unconditional
distribution; and a row that no step asks for has no influence. So by induction over the steps, the
joint distribution of all records is that of tables written out in full (and tested against it). A
row must be kept once it is drawn: drawing it again would publish a second, unpaid copy of the same
counts. Which rows were visited, and what they hold, stays here; the records may leave.

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
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.counts.lazy_table import below_each
from understudy.privacy.mechanisms.records.gibbs_chain import gibbs_draws, require_own
from understudy.privacy.mechanisms.records.key_counts import hashed_tables, n_cells
from understudy.privacy.mechanisms.records.noisy_rows import NoisyRows
from understudy.privacy.noise.calibration import NoiseName, describe, noise_of, sensitivity_text
from understudy.privacy.noise.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    LatticeLaplace,
)
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.rejection_sampling import compiled
from understudy.privacy.released import Records, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import GibbsSweep

__all__ = ["LazyRows", "lazy_gibbs_records"]

_CHUNK: Final = 2**14
"""Records that are swept at once."""

_Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class LazyRows(Mechanism[Released[Records], DiscreteLaplace | DiscreteGaussian]):
    """Synthetic records swept through noisy tables that are never written out.

    Each column's table costs an equal part; any number of records costs the same.

    Attributes:
        sweep: what each column is drawn given; public.
        sweeps: how often each column is drawn for one record.
        n_rows: how many records; public or released.
        noise: "geometric" or "gaussian".
    """

    name: ClassVar[str] = "noisy rows"

    sweep: GibbsSweep
    sweeps: int
    n_rows: HowMany
    noise: NoiseName = "geometric"

    def price(
        self, terms: Terms, spend: Fraction
    ) -> tuple[Charge[DiscreteLaplace | DiscreteGaussian], ...]:
        """One step for all tables together.

        Raises:
            MethodError: a sweep over another schema, or noise that does not fit the accounting.
            BudgetError: more than is left, or next to nothing for a table.
        """
        require_own(self.sweep, terms)
        terms.require(spend)
        distribution = terms.calibrated(self.noise, spend / len(self.sweep.names))
        if isinstance(distribution, LatticeLaplace):
            raise MethodError("Noisy rows need geometric or gaussian noise.")
        names = " × ".join(self.sweep.names)
        charge = Charge(
            spent=spend,
            mechanism=self.name,
            query=f"records of {names} from a noisy table for each column",
            sensitivity=f"{sensitivity_text(distribution, terms.neighbours)} in each table",
            noise=describe(distribution),
            cells=n_cells(self.sweep),
            parameter=distribution,
            recorded=noise_of(distribution),
        )
        return (charge,)

    def run(
        self,
        rows: SecretRows,
        charges: tuple[Charge[DiscreteLaplace | DiscreteGaussian], ...],
        source: Randomness,
    ) -> Outcome[Released[Records]]:
        """Draw; the records leave, and what is public about them is published."""
        sizes, distribution = self.sweep.domain.sizes, charges[0].parameter
        tables = [
            NoisyRows(exact, size, distribution)
            for exact, size in zip(hashed_tables(rows, self.sweep), sizes, strict=True)
        ]
        drawn = lazy_gibbs_records(
            tables, self.sweep, self.n_rows, sweeps=self.sweeps, randomness=source
        )
        return answer(drawn, [gibbs_draws(rows.view, self.sweep, self.name)])


def lazy_gibbs_records(
    tables: Sequence[NoisyRows],
    sweep: GibbsSweep,
    n_rows: int,
    *,
    sweeps: int,
    randomness: Randomness,
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
        current = np.array(seeds, dtype=np.int64)
        keys = sweep.keys_of([*current])
        for _ in range(sweeps):
            for column, table in enumerate(tables):
                drawn = _step(table, sweep, column, current, keys, randomness=randomness)
                sweep.move(keys, column, drawn - current[column])
                current[column] = drawn
        states[:, start : start + _CHUNK] = current
    return Records(tuple(states))


def _step(
    table: NoisyRows,
    sweep: GibbsSweep,
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
