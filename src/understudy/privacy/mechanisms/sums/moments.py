"""Noisy sums of bounded numbers by cell, and noisy scatters pooled within cells.

The sufficient statistics of normal models, in a form whose sensitivity is finite, public and proven
for both relations of neighbours (`moment_noise.py`). Bowen & Liu (2020, §3.2), after Liu
(2016), add noise to cell means and covariances instead, with sensitivities that rest on private
counts.

Which distribution in which units is worked out in `moment_noise.py`:

* **Split.** Each statistic gets a share of ε, equal or by weights, and discrete Laplace noise of
  scale Δ/share on a public lattice; shares add up.
* **Non-split** (BL §3.2) gives all statistics noise of one scale, ΣΔ/ε in their own units. That is
  nothing but shares in proportion to Δ, for then Δ/share = ΣΔ/ε. The units are those of means and
  (co)variances if the number of rows n is public (a sum divided by n, a scatter by n − 1), and
  those of sums and scatters if not. It makes sense where all units are alike.
* **Truncation**, if wanted, is calibrated (`noise/truncated_laplace.py`): sums of at
  most N records lie within ±N·R/2, scatters within ±N·R²/4, those of a column with itself from 0
  on.
* **Paper mode** draws continuous noise, truncates without calibration, and takes scatters of two
  columns to change by R₁R₂ only. With several cells it adds the noise to their **means**, with the
  published sensitivity R/n_k of a mean of n_k records (BL §4.3). That is no valid bound: n_k is not
  public, so the scale of the noise tells it, and a record that changes its cell moves two means, an
  emptied cell by as much as R. The mean of an empty cell, which does not exist, is the middle of
  the bounds, without noise. `unpaid_leak` says all of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.engine.bounded_sums import ExactSums
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answers
from understudy.privacy.mechanisms.sums.moment_noise import (
    Calibration,
    MomentNoise,
    moment_noises,
    sensitivity_in,
)
from understudy.privacy.mechanisms.sums.scatter import Moment, exact_statistic, holding_cells
from understudy.privacy.noise import perturbation
from understudy.privacy.noise.floating_point_laplace import ContinuousLaplace
from understudy.privacy.noise.perturbation import Bounds, Mode, require_pure
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.truncated_laplace import TruncatedLaplace
from understudy.privacy.released import NoisyMoment, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import Schema

ONE_CELL = (
    "The noise of a scatter of two columns does not allow for a record that changes its cell "
    "(L1 = R₁R₂ instead of 2R₁R₂)."
)
BY_COUNT = (
    "The noise of a cell's mean has the scale R/n_k with the private number n_k of its records, "
    "does not allow for a record that changes its cell, and is absent from an empty cell."
)


@dataclass(frozen=True)
class Moments(Mechanism[tuple[Released[NoisyMoment], ...], MomentNoise]):
    """Noisy sums of bounded numbers by cell, and their scatters pooled within cells.

    The p sums (means, in paper mode with several cells) come in the order of `of`, then the
    p(p+1)/2 scatters (0, 0), (0, 1), ….

    Attributes:
        of: numeric columns, each with a single bin in the gate's schema (`Gate.rebinned`).
        by: columns of the table of cells; those of `of` that it lacks are appended.
        weights: how ε is divided, one weight per statistic; evenly if None.
        calibration: "split", or "nonsplit" for noise of one scale in all statistics.
        bounds: "truncate" draws numbers inside their admissible intervals, calibrated for that.
        mode: "paper" for the noise of Bowen & Liu (2020); the guarantee then says what that leaves
            in.
    """

    name: ClassVar[str] = "noisy moment"

    of: Sequence[str]
    by: Sequence[str] = ()
    weights: Sequence[int | Fraction] | None = None
    calibration: Calibration = "split"
    bounds: Bounds = "threshold"
    mode: Mode = "strict"

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[MomentNoise], ...]:
        """One step for each statistic.

        Raises:
            MethodError: columns or options that do not fit, or another accounting than pure ε.
            BudgetError: more than is left, or too little to draw the noise exactly.
        """
        require_pure(terms.accounting)
        terms.require(spend)
        noises = moment_noises(
            terms.schema,
            self.of,
            self.by,
            spend=spend,
            weights=self.weights,
            calibration=self.calibration,
            bounds=self.bounds,
            mode=self.mode,
        )
        return tuple(
            Charge(
                spent=noise.share,
                mechanism=self.name,
                query=noise.query,
                sensitivity=noise.bound,
                noise=noise.noise,
                cells=noise.n_cells,
                parameter=noise,
                recorded=noise.recorded,
            )
            for noise in noises
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[MomentNoise], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyMoment], ...]]:
        """Sum in one pass, and add noise to each statistic."""
        noises, view = [charge.parameter for charge in charges], rows.view
        columns = noises[0].moment.by
        sums, bins = rows.sums(columns, tuple(self.of)), view.bins_of(columns)
        moments = [
            replace(noisy_moment(noise, sums, view.schema, source), bins=bins) for noise in noises
        ]
        return answers(moments, leaks=unpaid_leak(noises, view.schema))


def sanitise(
    statistics: NDArray[np.int64], noise: MomentNoise, source: Randomness
) -> NDArray[np.float64]:
    """Add the noise of one statistic.

    Args:
        statistics: exact whole numbers, shape (..., k); leading axes are repetitions.
        noise: which one; independent in each number.
        source: where it comes from.

    Returns:
        Shape (..., k), in the columns' units.
    """
    if isinstance(noise.distribution, ContinuousLaplace | TruncatedLaplace):
        return perturbation.perturb(
            statistics * float(noise.moment.unit), noise.distribution, source
        )
    rounded = (statistics + noise.coarseness // 2) // noise.coarseness
    noisy: NDArray[Any] = perturbation.perturb(rounded, noise.distribution, source)
    return noisy.astype(np.float64) * float(noise.step)


def noisy_moment(
    noise: MomentNoise, sums: ExactSums, schema: Schema, source: Randomness
) -> NoisyMoment:
    """One statistic with its noise; cells that cannot hold a number are 0 and get none.

    Args:
        noise: the statistic and its noise.
        sums: exact sums by the cells of its table.
        schema: the schema that it was worked out for.
        source: where the noise comes from.
    """
    moment, exact = noise.moment, exact_statistic(noise.moment, sums)
    if moment.statistic == "scatter":
        values = sanitise(exact, noise, source)
    elif moment.statistic == "mean":
        values = np.zeros(exact.shape)
        holds = holding_cells(schema, moment.by, moment.of[0]) & (sums.counts > 0)
        values[holds] = noisy_means(exact[holds], sums.counts[holds], noise, source)
    else:
        holds = holding_cells(schema, moment.by, moment.of[0])
        values = np.zeros(exact.shape)
        values[holds] = sanitise(exact[holds], noise, source)
    return NoisyMoment(moment.statistic, moment.of, moment.by, values)


def noisy_means(
    totals: NDArray[np.int64],
    counts: NDArray[np.int64],
    noise: MomentNoise,
    source: Randomness,
) -> NDArray[np.float64]:
    """Means of cells with noise of scale R/(n_k·share), as published: **not** a valid guarantee.

    Args:
        totals: exact sums as whole numbers, shape (k,).
        counts: n_k ≥ 1, shape (k,).
        noise: of a cell with one record.
        source: where it comes from.

    Returns:
        Means less the middle of the bounds, in the columns' units, shape (k,).
    """
    exact, distribution = totals * float(noise.moment.unit) / counts, noise.distribution
    if isinstance(distribution, TruncatedLaplace):
        drawn = [
            perturbation.perturb(mean, replace(distribution, scale=distribution.scale / n), source)
            for mean, n in zip(exact[:, None], counts, strict=True)
        ]
        return np.concatenate([np.zeros(0), *drawn])
    assert isinstance(distribution, ContinuousLaplace)
    return exact + distribution.sample(exact.size, source) / counts


def exact_moment(moment: Moment, sums: ExactSums) -> NoisyMoment:
    """One statistic without noise, for classical baselines."""
    values = exact_statistic(moment, sums).astype(np.float64) * float(moment.unit)
    return NoisyMoment(moment.statistic, moment.of, moment.by, values)


def unpaid_leak(noises: Sequence[MomentNoise], schema: Schema) -> tuple[str, ...]:
    """The unpaid leaks of the noise of a request."""
    if not any(
        isinstance(noise.distribution, ContinuousLaplace | TruncatedLaplace) for noise in noises
    ):
        return ()
    truncated = any(isinstance(noise.distribution, TruncatedLaplace) for noise in noises)
    strict = [sensitivity_in(noise.moment, schema, "strict") for noise in noises]
    short = any(noise.sensitivity < bound for noise, bound in zip(noises, strict, strict=True))
    return (
        perturbation.FLOATING,
        *((perturbation.UNCALIBRATED,) if truncated else ()),
        *((ONE_CELL,) if short else ()),
        *((BY_COUNT,) if any(noise.is_mean for noise in noises) else ()),
    )
