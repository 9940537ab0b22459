r"""Perturbed Gibbs sampling in blocks with reset (PeGS.rs): a block pays for each table once.

**Distribution.** As in `understudy.privacy.mechanisms.records.perturbed_gibbs`, but records come in
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
only, so at most M steps are live, each ε₀-DP and of ε₀-bounded range (`perturbed_sweeps`): M·ε₀,
or M·ε₀²/8.

*Replacing* a record changes in each table either two rows, one by an addition and one by a removal,
or one by both. In the first case up to two steps are live, each ε₀-DP and of ε₀-bounded range: 2ε₀,
or 2·ε₀²/8. In the second it is one, ε₀-DP of range up to 2ε₀: ε₀, or ε₀²/2. The larger of these is
2ε₀, and ε₀²/2, for each of M tables. ∎

Weights may differ by state; each at least α, and public (`state_weights`). A row that was drawn
from is then drawn by its weights alone, under both tables alike, and the proof stands.

The published claim of M·ε₀ holds for adding or removing a record alone: for replacing one, blocks
of two records over two columns already exceed it. Without the reset nothing bounds how often the
changed row is drawn from, and the cost is that of `perturbed_sweeps` (the tests enumerate all three
cases).

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.errors import MethodError
from understudy.privacy.accounting.budget import Accounting, Neighbours, pure_within
from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.records.gibbs_chain import (
    Chains,
    cost_words,
    gibbs_charge,
    gibbs_draws,
    require_own,
    weighted_records,
)
from understudy.privacy.mechanisms.records.key_counts import HashedRows, hashed_tables
from understudy.privacy.mechanisms.records.state_weights import EVEN, StateShares
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Records, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.selection.exponential_mechanism import selection_epsilon
from understudy.privacy.terms import Terms
from understudy.schema import GibbsSweep

__all__ = ["CHANGED", "ResetBlocks", "block_records", "row_epsilon", "usual_block"]


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

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[Fraction], ...]:
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
            noise=self._described(spend, terms),
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

    def _described(self, spend: Fraction, terms: Terms) -> str:
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
