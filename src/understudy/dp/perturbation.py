"""Noise of every kind that is added to a statistic: strict, truncated, or as the papers draw it.

The strict distributions for counts and their proof are in `dp/calibration.py`, truncation and its
proof in `dp/truncated_laplace.py`. The unpaid leak of paper mode is said by `unpaid_leak`, which
the gate stamps on the guarantee.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.dp.budget import Accounting, Neighbours
from understudy.dp.calibration import (
    NoiseName,
    calibrate,
    describe,
    l1_sensitivity,
    noise_of,
    representable,
    sensitivity_text,
)
from understudy.dp.distributions import (
    ContinuousLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteNoise,
    LatticeLaplace,
)
from understudy.dp.randomness import Randomness
from understudy.dp.released import Noise
from understudy.dp.truncated_laplace import (
    TruncatedDiscreteLaplace,
    TruncatedLaplace,
    calibrated_scale,
)
from understudy.errors import BudgetError, MethodError
from understudy.schema import Schema

Bounds = Literal["threshold", "truncate"]
"""Out-of-bound numbers are left for post-processing to clip, or redrawn (calibrated for that)."""

Mode = Literal["strict", "paper"]
NoiseDistribution: TypeAlias = (
    DiscreteNoise | TruncatedDiscreteLaplace | ContinuousLaplace | TruncatedLaplace
)
DISTRIBUTIONS: Final = get_args(NoiseDistribution)
"""The same, as classes."""

EXACTLY = Fraction(1)
"""The worth of noise in units of what it costs."""

N = TypeVar("N", bound=np.number[Any])

FLOATING = (
    "Noise was drawn as floating-point numbers, whose last digits can give rows away "
    "(Mironov 2012)."
)
HALVED = (
    "The noise of counts allows for one record added or removed (L1 = 1), half of what a replaced "
    "record needs."
)
UNCALIBRATED = (
    "Noise was redrawn until it fell into its bounds and not calibrated for that, which realises "
    "up to twice the ε that was charged for it."
)


def perturb(
    statistics: NDArray[N], distribution: NoiseDistribution, source: Randomness
) -> NDArray[Any]:
    """Independent noise in every statistic; a truncated distribution draws the outcome itself.

    Args:
        statistics: any shape; whole numbers for a discrete distribution.
        distribution: calibrated noise.
        source: where the noise comes from.

    Returns:
        The same shape.
    """
    if isinstance(distribution, TruncatedDiscreteLaplace | TruncatedLaplace):
        return distribution.sample(statistics, source)
    drawn = distribution.sample(statistics.size, source)
    return np.asarray(statistics + drawn.reshape(statistics.shape))


def words(distribution: NoiseDistribution, unit: Fraction = Fraction(1)) -> str:
    """The distribution with its exact parameter, for the ledger.

    Args:
        distribution: in its own units.
        unit: what one of them is in the units of the statistic.
    """
    if isinstance(distribution, ContinuousLaplace | TruncatedLaplace):
        text = f"Laplace in floating point, scale {distribution.scale:.12g}"
    elif isinstance(distribution, TruncatedDiscreteLaplace):
        text = _on_lattice(distribution.scale, unit)
    elif isinstance(distribution, DiscreteLaplace) and unit != 1:
        return _on_lattice(distribution.scale, unit)
    else:
        return describe(distribution)
    if isinstance(distribution, ContinuousLaplace):
        return text
    how = " and calibrated for that" if isinstance(distribution, TruncatedDiscreteLaplace) else ""
    low, high = _format_bound(distribution.low, unit), _format_bound(distribution.high, unit)
    return f"{text}, redrawn until inside [{low}, {high}]{how}"


def _on_lattice(scale: Fraction, unit: Fraction) -> str:
    if unit == 1:
        return describe(DiscreteLaplace(scale))
    return f"Laplace, scale {scale * unit}, on the lattice of step {unit}"


def _format_bound(value: int | float, unit: Fraction) -> str:
    return f"{value:.12g}" if isinstance(value, float) else f"{float(value * unit):.12g}"


def describe_noise(distribution: NoiseDistribution, unit: Fraction = Fraction(1)) -> Noise:
    """Describe the noise in a released value; see `words` for the unit."""
    if isinstance(distribution, ContinuousLaplace | TruncatedLaplace):
        return Noise(distribution.name, repr(distribution.scale), distribution.stddev)
    if unit == 1 and not isinstance(distribution, TruncatedDiscreteLaplace):
        return noise_of(distribution)
    assert isinstance(distribution, DiscreteLaplace | TruncatedDiscreteLaplace)
    name = {DiscreteLaplace: LatticeLaplace.name, TruncatedDiscreteLaplace: distribution.name}[
        type(distribution)
    ]
    return Noise(name, str(distribution.scale * unit), distribution.stddev * float(unit))


def row_bound(schema: Schema) -> int:
    """Public upper limit of the number of rows, on which truncation rests.

    Raises:
        MethodError: the schema declares none.
    """
    limit = schema.most_rows
    if limit is None:
        raise MethodError(
            'bounds="truncate" needs a public upper limit of the number of rows; declare row_limit '
            'in the schema, or take bounds="threshold".'
        )
    return limit


def count_noise(
    distribution: NoiseName,
    *,
    spend: Fraction,
    accounting: Accounting,
    schema: Schema,
    bounds: Bounds = "threshold",
    mode: Mode = "strict",
    overspend: Fraction = EXACTLY,
) -> NoiseDistribution:
    """The noise for one contingency table.

    Truncated strictly, each cell lies in [0, limit]; a replaced record changes two of them by 1.
    In paper mode it is continuous Laplace noise of scale 1/ε, truncated without calibration if at
    all, whatever `distribution` and the neighbours are.

    Args:
        distribution: "geometric", "laplace" or "gaussian".
        spend: cost, in the unit of the accounting.
        accounting: pure ε, ρ of zCDP, or μ²/2 of Gaussian DP.
        schema: says which tables are neighbours, and the limit.
        bounds: "truncate" redraws numbers outside [0, limit].
        mode: "paper" for the noise of Bowen & Liu (2020).
        overspend: in paper mode, how many times its cost the noise is worth; at least 1.

    Raises:
        MethodError: combinations that no proof covers.
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    if overspend < 1 or (overspend > 1 and mode == "strict"):
        raise MethodError("Noise is worth what it costs; more of it is for mode=paper alone.")
    if bounds == "threshold" and mode == "strict":
        return calibrate(
            distribution, spend=spend, accounting=accounting, neighbours=schema.neighbours
        )
    require_pure(accounting)
    if mode == "paper" and bounds == "threshold":
        return ContinuousLaplace(float(1 / (overspend * spend)))
    limit = row_bound(schema)
    if mode == "paper":
        return TruncatedLaplace(float(1 / (overspend * spend)), 0.0, float(limit))
    if distribution != "geometric":
        raise MethodError('bounds="truncate" needs geometric noise.')
    delta = l1_sensitivity(schema.neighbours)
    return calibrate_truncated(spend, delta, (0, limit), coordinates=delta)


def calibrate_truncated(
    epsilon: Fraction, sensitivity: int, interval: tuple[int, int], *, coordinates: int
) -> TruncatedDiscreteLaplace:
    """Calibrated truncated noise for whole numbers.

    Args:
        epsilon: cost.
        sensitivity: L1 sensitivity.
        interval: smallest and largest outcome.
        coordinates: how many numbers one record can change.

    Raises:
        BudgetError: so small a cost that the noise could not be drawn exactly.
    """
    low, high = interval
    scale = calibrated_scale(
        epsilon, sensitivity, high - low, coordinates=coordinates, discrete=True
    )
    try:
        return TruncatedDiscreteLaplace(scale, low, high)
    except ValueError:
        raise too_little() from None


def additive(scale: Fraction) -> DiscreteLaplace:
    """Discrete Laplace noise of at least this scale.

    Raises:
        BudgetError: a scale too wide to be drawn exactly.
    """
    try:
        return DiscreteLaplace(representable(scale))
    except ValueError:
        raise too_little() from None


def too_little() -> BudgetError:
    """Return the error for noise that is too wide to be drawn."""
    return BudgetError(
        "This budget leaves so little for a step that its noise would be too wide to be drawn "
        "exactly; raise epsilon, or ask for fewer sets or columns."
    )


def require_pure(accounting: Accounting) -> None:
    """Refuse noise whose proof is for pure ε under another accounting.

    Raises:
        MethodError: another accounting than pure ε.
    """
    if accounting != "pure":
        raise MethodError("This noise gives a pure guarantee; leave delta at 0.")


def count_sensitivity(distribution: NoiseDistribution, neighbours: Neighbours, mode: Mode) -> str:
    """The sensitivity that the noise of a contingency table was calibrated to, for the ledger."""
    if mode == "paper":
        return "L1 = 1"
    if isinstance(distribution, DiscreteGaussian):
        return sensitivity_text(distribution, neighbours)
    return f"L1 = {l1_sensitivity(neighbours)}"


def unpaid_leak(
    neighbours: Neighbours, bounds: Bounds, mode: Mode, overspend: Fraction = EXACTLY
) -> tuple[str, ...]:
    """The unpaid leak of noise on counts; arguments are those of `count_noise`."""
    if mode == "strict":
        return ()
    halved = (HALVED,) if neighbours == "replace" else ()
    dearer = (overspent(overspend),) if overspend > 1 else ()
    return (FLOATING, *halved, *dearer, *((UNCALIBRATED,) if bounds == "truncate" else ()))


def overspent(overspend: Fraction) -> str:
    """The unpaid leak of counts whose noise is worth more than they are charged.

    Example:
        >>> overspent(Fraction(3, 2))
        'Layers of counts have the noise of 3/2 times the ε that was charged for them.'
    """
    return f"Layers of counts have the noise of {overspend} times the ε that was charged for them."
