"""A noisy number of successes: one number is enough where the number of rows is public.

**Sensitivity.** The column has two levels and no codes, and the second level is the success. A
record whose value fits neither level counts as no success, so a record adds 0 or 1. Replacing a
record changes the number by at most **1**, and that is attained. The failures, n less the
successes, are post-processing, since n is public. A contingency table, in which a replaced record
changes two cells, would need twice the noise (`understudy.privacy.noise.calibration`).

Noise: discrete Laplace of scale 1/ε; truncated to [0, n] with a calibrated scale
(`understudy.privacy.noise.truncated_laplace`); or, in paper mode, continuous Laplace of scale 1/ε
(Bowen & Liu 2020, §4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.errors import MethodError
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.floating_point_laplace import ContinuousLaplace
from understudy.privacy.noise.perturbation import Bounds, Mode, NoiseDistribution
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.truncated_laplace import TruncatedLaplace
from understudy.privacy.released import NoisySuccesses, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import NUMERIC, Schema

SENSITIVITY = 1


@dataclass(frozen=True)
class BinomialCount(Mechanism[Released[NoisySuccesses], NoiseDistribution]):
    """Noisy number of records with the second level of a column of two levels.

    Attributes:
        column: its name.
        bounds: "truncate" draws a number inside [0, n], calibrated for that.
        mode: "paper" for continuous Laplace noise, truncated without calibration if at all; the
            guarantee then names the unpaid leak.
    """

    name: ClassVar[str] = "noisy successes"

    column: str
    bounds: Bounds = "threshold"
    mode: Mode = "strict"

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[NoiseDistribution], ...]:
        """One step, in ε.

        Raises:
            MethodError: another kind of column, a private number of rows, or a budget with δ.
            BudgetError: more than is left, or so little that noise could not be drawn exactly.
        """
        perturbation.require_pure(terms.accounting)
        terms.require(spend)
        distribution = self._noise(_public_rows(terms.schema, self.column), spend)
        charge = Charge(
            spent=spend,
            mechanism=self.name,
            query=f"successes of {self.column}",
            sensitivity=f"L1 = {SENSITIVITY}",
            noise=perturbation.words(distribution),
            cells=1,
            parameter=distribution,
            recorded=perturbation.recorded(distribution),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[NoiseDistribution], ...], source: Randomness
    ) -> Outcome[Released[NoisySuccesses]]:
        """Count, and add noise to the number of the second level."""
        (table,) = rows.tables([(self.column,)])
        noisy = float(perturbation.perturb(table.inside[1:2], charges[0].parameter, source)[0])
        value = NoisySuccesses((self.column,), noisy, _public_rows(rows.view.schema, self.column))
        return answer(value, None, leaks=self._leaks)

    def _noise(self, n_rows: int, spend: Fraction) -> NoiseDistribution:
        if self.mode == "paper":
            scale = float(SENSITIVITY / spend)
            if self.bounds == "truncate":
                return TruncatedLaplace(scale, 0.0, float(n_rows))
            return ContinuousLaplace(scale)
        if self.bounds == "truncate":
            return perturbation.truncated(spend, SENSITIVITY, (0, n_rows), coordinates=1)
        return perturbation.additive(SENSITIVITY / spend)

    @property
    def _leaks(self) -> tuple[str, ...]:
        """The unpaid leak of the noise; its sensitivity is right in paper mode too."""
        if self.mode == "strict":
            return ()
        truncated = (perturbation.UNCALIBRATED,) * (self.bounds == "truncate")
        return (perturbation.FLOATING, *truncated)


def _public_rows(schema: Schema, column: str) -> int:
    """The public number of rows, of which some are successes.

    Raises:
        MethodError: another kind of column, or a private number of rows.
    """
    declared = schema.columns.get(column)
    if declared is None or isinstance(declared, NUMERIC) or declared.size != 2 or declared.codes:
        raise MethodError(f"Successes need a column of two levels without codes, not {column!r}.")
    if schema.n_rows is None:
        raise MethodError('Successes need a public number of rows; declare rows = "public".')
    return schema.n_rows
