"""The verb that sums bounded numbers with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from understudy.privacy.admission import verb
from understudy.privacy.door import Door
from understudy.privacy.mechanisms.sums.moments import Calibration, noisy_moment, planned_moments
from understudy.privacy.mechanisms.sums.moments import conceded as conceded_moments
from understudy.privacy.noise.perturbation import Bounds, Mode, require_pure
from understudy.privacy.released import NoisyMoment, Released


class Summing(Door):
    """Sums of numbers and scatters."""

    @verb
    def moments(
        self,
        of: Sequence[str],
        by: Sequence[str] = (),
        *,
        spend: Fraction,
        weights: Sequence[int | Fraction] | None = None,
        calibration: Calibration = "split",
        bounds: Bounds = "threshold",
        mode: Mode = "strict",
    ) -> list[Released[NoisyMoment]]:
        """Noisy sums of bounded numbers by cell, and their scatters pooled within cells.

        Args:
            of: numeric columns, each with a single bin in this gate's schema (`rebinned`).
            by: columns of the table of cells; those of `of` that it lacks are appended.
            spend: ε of all statistics together.
            weights: how it is divided, one weight per statistic; evenly if None.
            calibration: "split", or "nonsplit" for noise of one scale in all statistics.
            bounds: "truncate" draws numbers inside their admissible intervals, calibrated for that.
            mode: "paper" for the noise of Bowen & Liu (2020); the guarantee then says what that
                leaves in.

        Returns:
            The p sums in the order of `of`, then the p(p+1)/2 scatters (0, 0), (0, 1), …, as
            `moments.planned_moments` announces them; one ledger entry each.

        Raises:
            MethodError: columns or options that do not fit, or another accounting than pure ε.
            BudgetError: more than is left, or too little to draw the noise exactly.
        """
        require_pure(self.budget.accounting)
        self._ledger.require(spend)
        plan = planned_moments(
            self.own_schema,
            of,
            by,
            spend=spend,
            weights=weights,
            calibration=calibration,
            bounds=bounds,
            mode=mode,
        )
        entries = [
            self._ledger.charge(
                one.share,
                "noisy moment",
                one.query,
                sensitivity=f"L1 = {one.sensitivity}",
                noise=one.noise,
                cells=one.n_cells,
            )
            for one in plan
        ]
        for leak in conceded_moments(plan, self.own_schema):
            self._concede(leak)
        columns = plan[0].moment.by
        places = self._places(columns), self._places(tuple(of))
        sums, bins = self._secret_engine.sums(*places).expose(), self._bins_of(columns)
        values = [noisy_moment(one, sums, self.own_schema, self._secret_randomness) for one in plan]
        released = [
            Released(replace(value, bins=bins), one.recorded, "noisy moment", entry)
            for value, one, entry in zip(values, plan, entries, strict=True)
        ]
        self._measured.extend(released)
        return released
