"""Verbs that count records with noise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from understudy.errors import MethodError
from understudy.privacy.admission import verb
from understudy.privacy.door import Door, query_of
from understudy.privacy.mechanisms.counts.binomial_count import (
    SENSITIVITY,
    noisy_successes,
    planned_successes,
)
from understudy.privacy.mechanisms.counts.binomial_count import conceded as conceded_successes
from understudy.privacy.mechanisms.counts.threshold_table import in_units, noisy_cells
from understudy.privacy.noise.calibration import LawName, noise_of
from understudy.privacy.noise.distributions import DiscreteGaussian
from understudy.privacy.noise.perturbation import (
    Bounds,
    Mode,
    require_pure,
)
from understudy.privacy.released import NoisyCells, NoisySuccesses, Released


class Counting(Door):
    """Counts of records."""

    @verb
    def count_successes(
        self,
        column: str,
        *,
        spend: Fraction,
        bounds: Bounds = "threshold",
        mode: Mode = "strict",
    ) -> Released[NoisySuccesses]:
        """Noisy number of records with the second level of a column of two levels.

        Proof: `understudy.privacy.mechanisms.counts.binomial_count`. Needs a public number of rows.

        Args:
            column: its name.
            spend: cost.
            bounds: "truncate" draws a number inside [0, n], calibrated for that.
            mode: "paper" for continuous Laplace noise; the guarantee then says what that leaves in.

        Raises:
            MethodError: another kind of column, a private number of rows, or a budget with δ.
            InsufficientBudgetError: more than is left.
        """
        require_pure(self.budget.accounting)
        self._ledger.require(spend)
        plan = planned_successes(self.own_schema, column, spend=spend, bounds=bounds, mode=mode)
        entry = self._ledger.charge(
            spend,
            "noisy successes",
            plan.query,
            sensitivity=f"L1 = {SENSITIVITY}",
            noise=plan.noise,
            cells=plan.n_cells,
        )
        for leak in conceded_successes(bounds, mode):
            self._concede(leak)
        (table,) = self._secret_engine.count([self._places((column,))]).expose()
        noisy = noisy_successes(table, plan, self._secret_randomness)
        value = NoisySuccesses((column,), noisy, self._declared_rows().value)
        released = Released(value, plan.recorded, "noisy successes", entry)
        self._measured.append(released)
        return released

    @verb
    def count_above(
        self, columns: tuple[str, ...], threshold: int, *, spend: Fraction, law: LawName
    ) -> Released[NoisyCells]:
        """The cells of a noisy table of any size that reach a public threshold.

        Args:
            columns: column names of the table.
            threshold: at least 1, chosen without looking at the rows.
            spend: cost.
            law: "geometric" or "laplace".

        Raises:
            MethodError: more than 2⁶² cells, or a law or threshold that does not fit.
            InsufficientBudgetError: more than is left.
        """
        domain = self._sparse_domain(columns)
        if threshold < 1:
            raise MethodError("The threshold must be at least 1; take the dense form below that.")
        noise = self._calibrate(law, spend)
        if isinstance(noise, DiscreteGaussian):
            raise MethodError("A filtered table needs geometric or laplace noise.")
        if threshold / in_units(noise)[1] >= 2**62:
            raise MethodError("The threshold is so high that 64-bit counts cannot reach it.")
        entry = self._charge(
            spend, "filtered noisy table", query_of(columns), noise, domain.n_allowed + 1
        )
        exact = self._secret_engine.occupied(self._places(columns)).expose()
        cells = noisy_cells(
            exact, columns, domain, noise, threshold=threshold, randomness=self._secret_randomness
        )
        cells = replace(cells, bins=self._bins_of(columns))
        released = Released(cells, noise_of(noise), "filtered noisy table", entry)
        self._measured.append(released)
        return released
