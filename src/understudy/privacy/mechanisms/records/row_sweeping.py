"""The verb whose answer is records swept through noisy rows."""

from __future__ import annotations

from fractions import Fraction

from understudy.errors import MethodError
from understudy.privacy.admission import HowMany, verb
from understudy.privacy.mechanisms.records.lazy_gibbs import LazyRows, NoisyRows, lazy_sweeps
from understudy.privacy.mechanisms.records.sweeping import Sweeping, n_cells
from understudy.privacy.noise.calibration import describe, noise_of, sensitivity_text
from understudy.privacy.noise.distributions import LatticeLaplace
from understudy.privacy.released import Records, Released, SweepDraws


class RowSweeping(Sweeping):
    """Sweeps through tables that are paid for once."""

    @verb
    def sweep_noisy(
        self, specification: LazyRows, *, n_rows: HowMany, spend: Fraction
    ) -> Released[Records]:
        """Synthetic records from noisy tables that are never written out.

        Proof: `understudy.privacy.mechanisms.records.lazy_gibbs`. Each column's table costs an
        equal part.

        Args:
            specification: a named mechanism and its public parameters.
            n_rows: how many, at no further cost; public or released.
            spend: cost of all tables together.

        Raises:
            MethodError: a sweep over another schema, or noise that does not fit the accounting.
            BudgetError: next to nothing left for a table.
            InsufficientBudgetError: more than is left.
        """
        one = specification
        self._require_own(one.sweep)
        self._ledger.require(spend)
        law = self._calibrate(one.noise, spend / len(one.sweep.names))
        if isinstance(law, LatticeLaplace):
            raise MethodError("Noisy rows need geometric or gaussian noise.")
        entry = self._ledger.charge(
            spend,
            one.law,
            one.query,
            sensitivity=f"{sensitivity_text(law, self.neighbours)} in each table",
            noise=describe(law),
            cells=n_cells(one.sweep),
        )
        tables = [
            NoisyRows(exact, size, law)
            for exact, size in zip(
                self._secret_tables_of(one.sweep), one.sweep.domain.sizes, strict=True
            )
        ]
        records = lazy_sweeps(
            tables, one.sweep, n_rows, sweeps=one.sweeps, randomness=self._secret_randomness
        )
        draws = SweepDraws(
            one.sweep.names,
            dict(zip(one.sweep.names, one.sweep.keys, strict=True)),
            one.law,
            bins=self._bins_of(one.sweep.names),
        )
        self._measured.append(Released(draws, noise_of(law), one.law, entry))
        return Released(records, noise_of(law), one.law, entry)
