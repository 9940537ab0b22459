"""Verbs whose answer is records drawn column by column from hashed rows."""

from __future__ import annotations

from fractions import Fraction

from understudy.errors import MethodError
from understudy.privacy.admission import HowMany, verb
from understudy.privacy.door import Door, query_of
from understudy.privacy.mechanisms.records.gibbs_chain import require_small, state_weight
from understudy.privacy.mechanisms.records.key_counts import HashedRows
from understudy.privacy.mechanisms.records.perturbed_gibbs import PerturbedSweeps
from understudy.privacy.mechanisms.records.perturbed_gibbs_reset import ResetBlocks
from understudy.privacy.not_dp.l_diverse_gibbs import DiverseRows
from understudy.privacy.released import ExactStatistics, Noise, Records, Released, SweepDraws
from understudy.schema import Sweep

SYNTACTIC = "l-diversity is syntactic: not differential privacy"


class Sweeping(Door):
    """Sweeps that pay for what they draw."""

    @verb
    def sweep(
        self, specification: PerturbedSweeps | ResetBlocks, *, n_rows: HowMany, spend: Fraction
    ) -> Released[Records]:
        """Synthetic records of a perturbed Gibbs sampler; drawing them is the mechanism.

        Proofs: `understudy.privacy.mechanisms.records.perturbed_gibbs`,
        `understudy.privacy.mechanisms.records.perturbed_gibbs_reset`. The weight of each state
        follows from `n_rows` and `spend`.

        Args:
            specification: a named mechanism and its public parameters.
            n_rows: how many; public or released.
            spend: cost of all of them together.

        Raises:
            MethodError: a sweep over another schema.
            BudgetError: next to nothing left for a step.
            InsufficientBudgetError: more than is left.
        """
        one, law = specification, specification.law
        self._require_own(one.sweep)
        self._ledger.require(spend)
        relation = self.budget.accounting, self.neighbours
        prior = state_weight(one.step_epsilon(n_rows, spend, *relation))
        require_small(prior, one.sweep.domain.sizes)
        entry = self._ledger.charge(
            spend,
            law,
            one.query,
            sensitivity=one.sensitivity(self.neighbours),
            noise=one.noise(spend, *relation),
            cells=n_cells(one.sweep),
        )
        rows = self._secret_tables_of(one.sweep)
        records = one.records(rows, prior, n_rows, self._secret_randomness)
        noise = Noise(law, str(prior), 0.0)
        draws = self._draws(one.sweep, law, prior, one.block_of(n_rows))
        self._measured.append(Released(draws, noise, law, entry))
        return Released(records, noise, law, entry)

    @verb
    def reveal_sweep(self, specification: DiverseRows, *, n_rows: HowMany) -> Released[Records]:
        """Synthetic records from rows made ℓ-diverse: the release becomes not private.

        Raises:
            NotPrivateError: not permitted with `allow_nonprivate=True`.
            MethodError: a sweep over another schema.
        """
        self._require_unlimited()
        one, law = specification, specification.law
        self._require_own(one.sweep)
        entries = [
            self._ledger.charge(
                None, law, query_of(names), sensitivity="none", noise=SYNTACTIC, cells=0
            )
            for names in table_names(one.sweep)
        ]
        noise = Noise(law, str(one.diversity), 0.0)
        self._measured.extend(
            Released(ExactStatistics(names), noise, law, entry)
            for names, entry in zip(table_names(one.sweep), entries, strict=True)
        )
        records = one.records(self._secret_tables_of(one.sweep), n_rows, self._secret_randomness)
        return Released(records, noise, law, entries[-1])

    def _draws(self, sweep: Sweep, law: str, prior: Fraction, block: int | None) -> SweepDraws:
        keys = dict(zip(sweep.names, sweep.keys, strict=True))
        return SweepDraws(sweep.names, keys, law, prior, block, self._bins_of(sweep.names))

    def _secret_tables_of(self, sweep: Sweep) -> list[HashedRows]:
        """The hashed table of each column; charged before."""
        return [
            HashedRows.of(self._secret_engine.occupied(table).expose(), size)
            for table, size in zip(sweep.tables, sweep.domain.sizes, strict=True)
        ]

    def _require_own(self, sweep: Sweep) -> None:
        if (sweep.names, sweep.domain) != (self.own_schema.names, self.own_schema.domain):
            raise MethodError("The sweep is over the columns of another schema.")


def n_cells(sweep: Sweep) -> int:
    """Cells of all hashed tables together."""
    return sum(n * size for n, size in zip(sweep.n_keys, sweep.domain.sizes, strict=True))


def table_names(sweep: Sweep) -> list[tuple[str, ...]]:
    """Names of the columns of each hashed table: its keys, and the column that is drawn."""
    return [tuple(sweep.names[j] for j in table) for table in sweep.tables]
