r"""Perturbed Gibbs sampling (PeGS): each record pays for each column that it draws.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.errors import BudgetError, MethodError
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

__all__ = ["SEEN", "PerturbedGibbs", "gibbs_records", "step_epsilon"]


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

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[Fraction], ...]:
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
