"""Perturbed Gibbs sampling (PeGS): each record pays for each column that it draws.

**Distribution.** Each of ñ records starts at a seed, uniform over the allowed cells. A *step* draws
column i again: given the states of all other columns, let S ≠ ∅ be the states that structural zeros
leave open to it, and n_v the real records with state v in column i that agree with the current
record in the key columns of i. Then

    P(v) = (n_v + α) / Σ_{u ∈ S} (n_u + α),    v ∈ S.

A sweep is a step for each of the M columns; after s sweeps the record is released. What a step
depends on beside the real records (key, S) is a public function of the seed and earlier steps.

**Theorem.** With α ≥ 1/(e^ε₀ − 1) a step is ε₀-DP, for adding or removing a record and for
replacing one. For adding or removing one it is moreover of *ε₀-bounded range*: its log likelihood
ratio takes values in an interval of length ε₀.

*Proof.* A real record is in one row of the table of column i at most: that of its own key. If it is
out of domain in a key column or in column i it is in none; and only its state w matters, not what
it has elsewhere. Write N = Σ_{u ∈ S} (n_u + α) and a = n_w + α.

*Adding* a record. If it is in another row than the visited one, or w ∉ S, nothing changes. Else
P(w) is multiplied by (1 + 1/a)/(1 + 1/N) and all other P(v) by 1/(1 + 1/N). Since α ≤ a ≤ N, the
first factor is in [1, 1 + 1/α], the second in [1/(1 + 1/α), 1], and their ratio 1 + 1/a is at most
1 + 1/α = e^ε₀ (or less). Removing a record is the same backwards.

*Replacing* a record. The visited row sees nothing, an addition or a removal, which is the above, or
both: w becomes w'. If one of these is not in S, that is again an addition or a removal. If both
are, N stays, P(w') is multiplied by 1 + 1/(n_{w'} + α) and P(w) by 1 − 1/(n_w + α), n_w ≥ 1, whose
inverse is 1 + 1/(n_w − 1 + α): ratios within 1 + 1/α both ways. Then the range is up to 2ε₀. ∎

Weights may differ by state, if each is at least α and public: `state_weights`.

The bound is attained as N → ∞ at a = α, so α cannot be smaller. The published proof has the first
case; rules, records out of domain, and replacement are added here.

**Cost.** Steps compose adaptively, ñ·s·M of them. For adding or removing one record a step costs ε₀
in pure DP, ε₀²/8 in zCDP (bounded range: Cesar & Rogers 2021) and as much as an exponential
mechanism in Gaussian DP; for replacing one ε₀, ε₀²/2 and what ε₀-DP costs. `step_epsilon` inverts
that. The paper states ε = M·ε₀ **per record**: 1,000 records "at ε = 1" cost 1,000. Records share
the rows of one table, so nothing is parallel about them; states of earlier sweeps are not released,
but no better bound than composition is known for them.

Nothing leaves but the records. ñ must be public or released. Which columns are in a key, and their
order, must not be read off the data, as it is in the paper (mutual information, unpaid), nor seeds
be real records.

Sources:
    Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant synthetic
    data", §3.2 and 3.3; Dwork & Roth (2014), Theorem 3.14; Cesar & Rogers (2021), "Bounding,
    concentrating, and truncating"; Bun & Steinke (2016), Lemma 1.7.

**Perturbed Gibbs sampling in blocks with reset (PeGS.rs): a block pays for each table once.**

**Distribution.** As above, but records come in
blocks of B. A block starts at a seed, uniform over the allowed cells, with the tables as they are;
each of its records starts from the one before. Whenever a row has been drawn from, it is *reset*:
for the rest of the block all its counts are 0, so that draws from it are uniform over the open
states. All records of a block are released.

**Theorem.** Let α ≥ 1/(e^ε₀ − 1). A block of any length over M tables costs, in

    pure DP:    M·ε₀ for adding or removing a record,   2M·ε₀ for replacing one;
    zCDP:       M·ε₀²/8,                                M·ε₀²/2.

*Proof.* Fix two neighbouring tables. Given seed and states drawn so far, it is known which row the
next step draws from, whether it was drawn from before, and which states are open: all of this is a
function of the output. Call a step *live* if its row has different counts under the two tables and
was not drawn from before. Any other step has the same distribution under both.

Which steps are live, and what each costs, depends on the output. So let step t cost c_t, a function
of the states drawn before it, and let Σ c_t ≤ c whatever is drawn: then the block costs c. For pure
DP this is plain, as log ratios add up. For zCDP let L_t be the log ratio of step t under the first
table, E exp((a − 1)·L_t) ≤ exp((a − 1)·a·c_t) given what came before, for each order a > 1. Then
exp((a − 1)·Σ (L_t − a·c_t)) is, step by step, no larger in expectation than before the step, so its
expectation is at most 1, and E exp((a − 1)·Σ L_t) ≤ exp((a − 1)·a·c). (Feldman & Zrnic 2021; for
Gaussian DP Smith & Thakurta 2022.) It remains to bound Σ c_t.

*Adding or removing* a record changes one row of each table, at most. It is live at its first visit
only, so at most M steps are live, each ε₀-DP and of ε₀-bounded range (`papers.gibbs_mechanisms`):
M·ε₀, or M·ε₀²/8.

*Replacing* a record changes in each table either two rows, one by an addition and one by a removal,
or one by both. In the first case up to two steps are live, each ε₀-DP and of ε₀-bounded range: 2ε₀,
or 2·ε₀²/8. In the second it is one, ε₀-DP of range up to 2ε₀: ε₀, or ε₀²/2. The larger of these is
2ε₀, and ε₀²/2, for each of M tables. ∎

Weights may differ by state; each at least α, and public (`state_weights`). A row that was drawn
from is then drawn by its weights alone, under both tables alike, and the proof stands.

The published claim of M·ε₀ holds for adding or removing a record alone: for replacing one, blocks
of two records over two columns already exceed it. Without the reset nothing bounds how often the
changed row is drawn from, and the cost is that of `papers.gibbs_mechanisms` (the tests enumerate
all three cases).

**Cost.** Every block starts from restored tables, so ⌈ñ/B⌉ blocks add up; with B ≥ ñ the tables are
never restored and the whole release costs one block. Leaving records of a block out (thinning) is
post-processing and free; it saves nothing either.

**How long a block should be.** Take tables of R rows with n/R real records each, C states and k
blocks. Of a block min(B, R) draws or so are from rows not yet reset, and such a draw takes its
state from real records with probability w_k = (n/R)/(n/R + C·α_k), where α_k ≈ k·M/ε. In k = ñ/B
blocks that makes k·min(ñ/k, R)·w_k records' worth of real states: growing in k until B = R, falling
beyond, with δ > 0 as well, where α_k ∝ √k. So B ≈ R serves any ε; one block for all is as good
only where C·α_1 exceeds n/R by far. R is the number of keys, at most: public. Measured on 100,000
made-up rows of eight columns (2 to 6 states, 720 keys): the mean total variation distance of tables
of two columns was 0.161 at ε = 10 and B = R, 0.175 at R/10, 0.172 at 10R and 0.179 for one block
(0.180 for uniform records); at ε = 100 it was 0.125, 0.141, 0.169 and 0.179. As real records crowd
in some of the rows, still larger budgets favour shorter blocks (ε = 1000: 0.103, and 0.072 at
R/10).

Sources: Park & Ghosh (2014), §3.4; Feldman & Zrnic (2021), "Individual privacy accounting via a
Rényi filter", for costs that depend on the output. Proofs for replacement and zCDP, and block
lengths: ours.

**Gibbs sampling from noisy tables of any size, whose rows get their noise when first visited.**

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
(`understudy.dp.calibration`) makes one table cost c, and all M of them M·c. Any number
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

**The visited rows of one noisy table: noise when a row is first asked for, kept from then on.**

It is proved above that this is the distribution of the whole
table.

**Sweeps whose rows are made ℓ-diverse. **Not** differentially private.**

**Distribution.** As above, but each row of a
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

from understudy._arrays import Floats, Integers, compiled
from understudy.dp.admission import HowMany
from understudy.dp.budget import Accounting, Neighbours, pure_within
from understudy.dp.calibration import NoiseName, describe, noise_of, sensitivity_text
from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.distributions import DiscreteGaussian, DiscreteLaplace, LatticeLaplace
from understudy.dp.guarantee import Unpaid
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer
from understudy.dp.randomness import Randomness
from understudy.dp.released import ExactStatistics, Noise, Records, Released
from understudy.errors import BudgetError, MethodError
from understudy.mechanisms.selection import selection_epsilon
from understudy.mechanisms.sparse_tables import below_each
from understudy.mechanisms.tables import query_of
from understudy.papers.gibbs_mechanisms import (
    EVEN,
    FINEST,
    UNIFORM,
    Chains,
    HashedRows,
    StateShares,
    chain_records,
    cost_words,
    gibbs_charge,
    gibbs_draws,
    hashed_tables,
    n_cells,
    require_own,
    table_names,
    weighted_records,
)
from understudy.schema import GibbsSweep


@dataclass(frozen=True, kw_only=True)
class PerturbedGibbs(Mechanism[Released[Records], Fraction]):
    """Synthetic records that pay for each of their steps; drawing them is the mechanism.

    The weight of each state follows from the number of records and from what they may cost.

    Attributes:
        sweep: what each column is drawn given; public.
        n_rows: how many records; public or released.
        sweeps: how often each column is drawn for one record.
        shares: how weights are divided among states.
    """

    name: ClassVar[str] = "perturbed sweeps"
    form: ClassVar[Form] = Form.SWEEPS

    sweep: GibbsSweep
    n_rows: HowMany
    sweeps: int = 1
    shares: StateShares = EVEN

    def __post_init__(self) -> None:
        """Refuse numbers that the proof does not cover.

        Raises:
            MethodError: no sweep.
        """
        if self.sweeps < 1:
            raise MethodError("Each column of a record is drawn in one sweep at least.")

    def epsilon(self, spend: Fraction, accounting: Accounting, neighbours: Neighbours) -> Fraction:
        """ε₀ of a step, if all of them cost `spend`."""
        n_steps = self.n_rows * self.sweeps * len(self.sweep.names)
        return step_epsilon(spend, n_steps, accounting, neighbours)

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Fraction], ...]:
        """One step for all records; n stands for their number in its words.

        Raises:
            MethodError: a sweep over another schema.
            BudgetError: more than is left, or next to nothing for a step.
        """
        require_own(self.sweep, terms)
        terms.require(spend)
        of_record = self.sweeps * len(self.sweep.names)
        relation = terms.accounting, terms.neighbours
        charge = gibbs_charge(
            self.sweep,
            self.epsilon(spend, *relation),
            spend,
            mechanism=self.name,
            query=_sweeps_of(self.sweeps, self.sweep),
            sensitivity=SEEN[terms.neighbours],
            noise=f"perturbed draws of n records, {self.shares.words}, where "
            f"{cost_words(*relation)} = {spend}/({of_record} n)",
            shares=self.shares,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Fraction], ...], source: Randomness
    ) -> Outcome[Released[Records]]:
        """Draw; the records leave, and what is public about them is published."""
        prior, tables = charges[0].parameter, hashed_tables(rows, self.sweep)
        drawn = gibbs_records(
            tables,
            self.sweep,
            prior,
            self.n_rows,
            sweeps=self.sweeps,
            randomness=source,
            shares=self.shares,
        )
        public = gibbs_draws(rows.view, self.sweep, self.name, prior)
        return answer(drawn, [public], leaks=self.shares.leaks)


SEEN = {
    "add_remove": "one record: weight 1 in one row of each table",
    "replace": "one record: weight 1 in up to two rows of each table, of which a step sees one",
}
"""What one record changes, in the words of the ledger."""


def _sweeps_of(sweeps: int, sweep: GibbsSweep) -> str:
    rounds = "1 sweep" if sweeps == 1 else f"{sweeps} sweeps"
    return f"records after {rounds} of {' × '.join(sweep.names)}"


def step_epsilon(
    spend: Fraction, n_steps: int, accounting: Accounting, neighbours: Neighbours
) -> Fraction:
    """ε₀ of a step, if so many steps together cost `spend`; rounded down.

    Args:
        spend: in the unit of the accounting, above 0.
        n_steps: how many; no steps count as one.
        accounting: that unit.
        neighbours: relation.

    Raises:
        BudgetError: so small a cost that ε₀ would be below 10⁻¹².

    Example:
        >>> step_epsilon(Fraction(1), 1000 * 13, "pure", "add_remove")
        Fraction(1, 13000)
    """
    share = spend / max(1, n_steps)
    if neighbours == "add_remove":
        return selection_epsilon(share, accounting)
    return _positive(pure_within(share, accounting))


def _positive(epsilon: Fraction) -> Fraction:
    if epsilon <= 0:
        raise BudgetError(
            "This budget leaves next to nothing for a step; raise epsilon, or ask for fewer "
            "records, sweeps or sets."
        )
    return epsilon


def gibbs_records(
    rows: Sequence[HashedRows],
    sweep: GibbsSweep,
    prior: Fraction,
    n_rows: int,
    *,
    sweeps: int = 1,
    randomness: Randomness,
    shares: StateShares = EVEN,
) -> Records:
    """Draw records, each from a seed of its own.

    Args:
        rows: hashed table of each column.
        sweep: what each column is drawn given.
        prior: α, a multiple of 2⁻ᵏ as from `prior_weight`.
        n_rows: records to draw.
        sweeps: how often each column is drawn for a record.
        randomness: source of every draw.
        shares: how weights are divided among states.
    """
    return weighted_records(
        rows,
        sweep,
        prior,
        n_rows,
        chains=Chains(sweeps=sweeps),
        randomness=randomness,
        shares=shares,
    )


@dataclass(frozen=True, kw_only=True)
class ResetBlocks(Mechanism[Released[Records], Fraction]):
    """Synthetic records in blocks, each of which draws every row at most once.

    The weight of each state follows from the number of blocks and from what they may cost.

    Attributes:
        sweep: what each column is drawn given; public.
        n_rows: how many records; public or released.
        block: records of a block; 0 for all records in one.
        shares: how weights are divided among states.
    """

    name: ClassVar[str] = "blocks with reset"
    form: ClassVar[Form] = Form.SWEEPS

    sweep: GibbsSweep
    n_rows: HowMany
    block: int = 0
    shares: StateShares = EVEN

    def __post_init__(self) -> None:
        """Refuse numbers that the proof does not cover.

        Raises:
            MethodError: a block of fewer than no records.
        """
        if self.block < 0:
            raise MethodError("A block has a record at least; 0 puts all records in one block.")

    @property
    def length(self) -> int:
        """Records of a block, at most."""
        return min(self.block or self.n_rows, self.n_rows) or 1

    @property
    def n_tables(self) -> int:
        """Tables that are paid for: M of each block."""
        return len(self.sweep.names) * -(-self.n_rows // self.length)

    def epsilon(self, spend: Fraction, accounting: Accounting, neighbours: Neighbours) -> Fraction:
        """ε₀ of a row, if all records cost `spend`."""
        return row_epsilon(spend, self.n_tables, accounting, neighbours)

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Fraction], ...]:
        """One step for all records; n stands for their number in its words.

        Raises:
            MethodError: a sweep over another schema.
            BudgetError: more than is left, or next to nothing for a row.
        """
        require_own(self.sweep, terms)
        terms.require(spend)
        length = f"blocks of {self.block}" if self.block else "one block"
        charge = gibbs_charge(
            self.sweep,
            self.epsilon(spend, terms.accounting, terms.neighbours),
            spend,
            mechanism=self.name,
            query=f"records in {length} with reset of {' × '.join(self.sweep.names)}",
            sensitivity=CHANGED[terms.neighbours],
            noise=self._describe_draws(spend, terms),
            shares=self.shares,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Fraction], ...], source: Randomness
    ) -> Outcome[Released[Records]]:
        """Draw; the records leave, and what is public about them is published."""
        prior, tables = charges[0].parameter, hashed_tables(rows, self.sweep)
        drawn = block_records(
            tables,
            self.sweep,
            prior,
            self.n_rows,
            block=self.length,
            randomness=source,
            shares=self.shares,
        )
        public = gibbs_draws(rows.view, self.sweep, self.name, prior, self.length)
        return answer(drawn, [public], leaks=self.shares.leaks)

    def _describe_draws(self, spend: Fraction, terms: PublicContext) -> str:
        d = len(self.sweep.names)
        tables = f"{d} ceil(n/{self.block})" if self.block else f"{d}"
        twice = (terms.accounting, terms.neighbours) == ("pure", "replace")
        cost = "2 e" if twice else cost_words(terms.accounting, terms.neighbours)
        return (
            f"perturbed draws of n records, {self.shares.words}, where "
            f"{cost} = {spend}/({tables}); rows uniform once drawn from"
        )


CHANGED = {
    "add_remove": "one record: weight 1 in one row of each table, drawn from once a block",
    "replace": "one record: weight 1 in two rows of each table, drawn from once a block",
}
"""What one record changes, in the words of the ledger."""


def row_epsilon(
    spend: Fraction, n_tables: int, accounting: Accounting, neighbours: Neighbours
) -> Fraction:
    """ε₀ of a row, if so many tables together cost `spend`; rounded down.

    Replacing a record may meet a row that sees it leave and another that sees it enter, or one row
    that sees both; ε₀ allows for either.

    Args:
        spend: in the unit of the accounting, above 0.
        n_tables: how many; none count as one.
        accounting: that unit.
        neighbours: relation.

    Raises:
        BudgetError: so small a cost that ε₀ would be below 10⁻¹².

    Example:
        >>> row_epsilon(Fraction(1), 13, "pure", "replace")
        Fraction(1, 26)
    """
    share = spend / max(1, n_tables)
    if neighbours == "add_remove":
        return selection_epsilon(share, accounting)
    return min(pure_within(share, accounting), selection_epsilon(share / 2, accounting))


def usual_block(sweep: GibbsSweep) -> int:
    """A block length that serves most budgets: as many records as the median column has keys."""
    ranked = sorted(sweep.n_keys)
    return ranked[len(ranked) // 2]


def block_records(
    rows: Sequence[HashedRows],
    sweep: GibbsSweep,
    prior: Fraction,
    n_rows: int,
    *,
    block: int,
    randomness: Randomness,
    shares: StateShares = EVEN,
) -> Records:
    """Draw records in blocks.

    Args:
        rows: hashed table of each column.
        sweep: what each column is drawn given.
        prior: α, a multiple of 2⁻ᵏ as from `prior_weight`.
        n_rows: records to draw.
        block: records of a block, at least 1; the last one may have fewer.
        randomness: source of every draw.
        shares: how weights are divided among states.
    """
    return weighted_records(
        rows,
        sweep,
        prior,
        n_rows,
        chains=Chains(length=block, resetting=True),
        randomness=randomness,
        shares=shares,
    )


_LARGEST_TOTAL: Final = 2**62
_FREE: Final = -1

_Real = tuple[Integers, Integers, NDArray[np.int32], Integers]
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
        """Number of rows that have noise by now."""
        return self._visited

    @property
    def nbytes(self) -> int:
        """Memory of the visited rows."""
        return self._slots.nbytes + self._keys.nbytes + self._ends.nbytes

    def rows(self, keys: Integers, randomness: Randomness) -> Integers:
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
            self._ends[before : self._visited] = self._draw_rows(new, randomness)
        return places

    @property
    def ends(self) -> Integers:
        """Running totals of the visited rows, in order of their first visit, shape (rows, size)."""
        return self._ends[: self._visited]

    def _draw_rows(self, keys: Integers, randomness: Randomness) -> Integers:
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
            self._keys = _grow(self._keys, capacity)
            self._ends = _grow(self._ends, capacity)
        if 2 * most > len(self._slots):
            slots = 1 << (4 * most - 1).bit_length()
            self._slots = np.full(slots, _FREE, dtype=np.int64)
            _fill_slots(self._keys[: self._visited], self._slots)


def _grow(array: Integers, n: int) -> Integers:
    larger = np.empty((n, *array.shape[1:]), dtype=np.int64)
    larger[: len(array)] = array
    return larger


@compiled
def _slot(key: np.int64, mask: int) -> np.int64:
    """Compute where to look for a key first (Fibonacci hashing; kernel)."""
    return np.int64((np.uint64(key) * np.uint64(11400714819323198485)) >> np.uint64(20)) & mask


@compiled
def _look_up(
    keys: Integers, slots: Integers, known: Integers, n_known: int, places: Integers
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
def _fill_slots(known: Integers, slots: Integers) -> None:
    """Number distinct keys in an empty table (kernel)."""
    mask = len(slots) - 1
    for k in range(len(known)):
        place = _slot(known[k], mask)
        while slots[place] >= 0:
            place = (place + 1) & mask
        slots[place] = k


@compiled
def _add_records(keys: Integers, real: _Real, cells: Integers) -> None:
    """Add the real records of each key to its row, in place (kernel)."""
    occupied, first, states, before = real
    places = np.searchsorted(occupied, keys)
    for k in range(len(keys)):
        row = places[k]
        if row < len(occupied) and occupied[row] == keys[k]:
            for cell in range(first[row], first[row + 1]):
                cells[k, states[cell]] += before[cell + 1] - before[cell]


_CHUNK: Final = 2**14
"""Records that are swept at once."""


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
    form: ClassVar[Form] = Form.SWEEPS

    sweep: GibbsSweep
    sweeps: int
    n_rows: HowMany
    noise: NoiseName = "geometric"

    def price(
        self, terms: PublicContext, spend: Fraction
    ) -> tuple[Charge[DiscreteLaplace | DiscreteGaussian], ...]:
        """One step for all tables together.

        Raises:
            MethodError: a sweep over another schema, or noise that does not fit the accounting.
            BudgetError: more than is left, or next to nothing for a table.
        """
        require_own(self.sweep, terms)
        terms.require(spend)
        distribution = terms.calibrate_noise(self.noise, spend / len(self.sweep.names))
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
    states: Integers,
    keys: Integers,
    *,
    randomness: Randomness,
) -> Integers:
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
def _pick(ends: Integers, rows: Integers, picked: Integers) -> Integers:
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
def _open_totals(ends: Integers, rows: Integers, still_open: NDArray[np.bool_]) -> Integers:
    """Sum each row over open states (kernel)."""
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
    ends: Integers,
    rows: Integers,
    still_open: NDArray[np.bool_],
    totals: Integers,
    picked: Integers,
) -> Integers:
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


_LARGEST: Final = 2.0**60
_HALVINGS: Final = 60


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
    form: ClassVar[Form] = Form.SWEEPS

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

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
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
                columns=names,
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
