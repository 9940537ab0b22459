"""A noisy number of successes: one number is enough where the number of rows is public.

**Sensitivity.** The column has two levels and no codes, and the second level is the success. A
record whose value fits neither level counts as no success, so a record adds 0 or 1. Replacing a
record changes the number by at most **1**, and that is attained. The failures, n less the
successes, are post-processing, since n is public. A contingency table, in which a replaced record
changes two cells, would need twice the noise (`calibration.py`).

Noise: discrete Laplace of scale 1/ε; truncated to [0, n] with a calibrated scale (`truncation.py`);
or, in paper mode, continuous Laplace of scale 1/ε (Bowen & Liu 2020, §4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from understudy.engine import ExactTable
from understudy.errors import MethodError
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.floating_point_laplace import ContinuousLaplace
from understudy.privacy.noise.perturbation import Bounds, Law, Mode
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.truncated_laplace import TruncatedLaplace
from understudy.privacy.released import Noise
from understudy.schema import NUMERIC, Schema

SENSITIVITY = 1


@dataclass(frozen=True)
class PlannedSuccesses:
    """A number of successes with the noise it will get: all public.

    Attributes:
        column: of two levels.
        share: of the budget, exact.
        law: calibrated noise.
    """

    column: str
    share: Fraction
    law: Law
    n_cells: int = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The column alone."""
        return (self.column,)

    @property
    def query(self) -> str:
        """What is asked, in words."""
        return f"successes of {self.column}"

    @property
    def noise(self) -> str:
        """The law of its noise, in words."""
        return perturbation.words(self.law)

    @property
    def recorded(self) -> Noise:
        """What the released value says about its noise."""
        return perturbation.recorded(self.law)

    @property
    def stddev(self) -> float:
        """Standard deviation of the noise."""
        return self.recorded.stddev


def planned_successes(
    schema: Schema,
    column: str,
    *,
    spend: Fraction,
    bounds: Bounds = "threshold",
    mode: Mode = "strict",
) -> PlannedSuccesses:
    """The number of successes with its noise, from public facts alone.

    Args:
        schema: the public schema.
        column: name of a column of two levels.
        spend: cost, in ε.
        bounds: "truncate" redraws numbers outside [0, n], calibrated for that.
        mode: "paper" for continuous Laplace noise, truncated without calibration.

    Raises:
        MethodError: another kind of column, or a private number of rows.
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    found = schema.columns.get(column)
    if found is None or isinstance(found, NUMERIC) or found.size != 2 or found.codes:
        raise MethodError(f"Successes need a column of two levels without codes, not {column!r}.")
    if schema.n_rows is None:
        raise MethodError('Successes need a public number of rows; declare rows = "public".')
    return PlannedSuccesses(column, spend, _law(schema.n_rows, spend, bounds, mode))


def _law(n_rows: int, spend: Fraction, bounds: Bounds, mode: Mode) -> Law:
    if mode == "paper":
        scale = float(SENSITIVITY / spend)
        if bounds == "truncate":
            return TruncatedLaplace(scale, 0.0, float(n_rows))
        return ContinuousLaplace(scale)
    if bounds == "truncate":
        return perturbation.truncated(spend, SENSITIVITY, (0, n_rows), coordinates=1)
    return perturbation.additive(SENSITIVITY / spend)


def noisy_successes(table: ExactTable, planned: PlannedSuccesses, source: Randomness) -> float:
    """The number of successes with its noise.

    Args:
        table: exact counts of the two levels.
        planned: what noise.
        source: where it comes from.
    """
    return float(perturbation.perturb(table.inside[1:2], planned.law, source)[0])


def conceded(bounds: Bounds, mode: Mode) -> tuple[str, ...]:
    """What the noise leaves in, unpaid; its sensitivity is right in paper mode too."""
    if mode == "strict":
        return ()
    return (perturbation.FLOATING, *((perturbation.UNCALIBRATED,) if bounds == "truncate" else ()))
