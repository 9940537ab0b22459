"""Calibration of the noise of a contingency table, with proofs; scales that can be drawn exactly.

**Sensitivity of a contingency table.** Coding is record by record, so each record adds 1 to exactly
one cell of a table (its out-of-domain count included).

* Add/remove: one cell changes by 1, so the L1 sensitivity is 1 and the L2 sensitivity is 1.
* Replace: the record leaves one cell and enters another, or stays: L1 at most 2, L2 at most √2.

Both are attained. Laplace-type noise of scale Δ₁/ε in every cell, empty ones included, is ε-DP
(Dwork & Roth 2014, Theorem 3.6; for the discrete distribution Ghosh, Roughgarden & Sundararajan
2012). Discrete Gaussian noise of variance Δ₂²/(2ρ) is ρ-zCDP (Canonne, Kamath & Steinke 2020,
Theorem 4 for integer-valued queries). In Gaussian DP it costs a little more (`gaussian_variance`).
`tests/dp/test_sensitivity.py` enumerates the neighbours.

A public number of rows is an equation between the counts, and no reason for another price. Gaussian
noise in all of them, projected onto that equation, is Gaussian noise of the same variance in every
direction in which neighbours can differ; so one number fewer would be bought for as much. Models
use the equation as if no record were out of domain: a count of a column of two states then has half
the variance of its noise. With Laplace-type noise of scale 2/ε, the difference of two states alone
would have half of the variance that is left; it is not bought, as both counts would have one noise.

**Real statistics on a public lattice, and what the lattice does to their sensitivity.**

Noise that is drawn as a floating-point number betrays what it was added to: which numbers
``x + noise`` can come out depends on ``x`` (Mironov 2012, "On Significance of the Least Significant
Bits for Differential Privacy"). So a statistic is first rounded to step·Z, with a step that is
public and a power of two, and noise on the same lattice is added (`LatticeLaplace`): then the set
of possible outputs is step·Z whatever the rows are, and the guarantee is that of integer noise.

Rounding moves neighbours apart, and that has to be paid for (`understudy.mechanisms.sums`). A sum
of floats in the order of the rows has a larger sensitivity than the formula says (Casacuberta et
al. 2022), a sum of integers has not. Hence the order is *record-wise*: each record's bounded
contribution is rounded, then integers are added.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from understudy.dp.budget import Accounting, Neighbours, pure_within
from understudy.dp.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteNoise,
    LatticeLaplace,
)
from understudy.dp.gaussian_dp import unit_variance
from understudy.dp.released import Noise
from understudy.dp.sampling import LAPLACE_TERMS
from understudy.errors import BudgetError, MethodError

NoiseName = Literal["geometric", "laplace", "gaussian"]

_FINENESS = 20  # a lattice Laplace distribution has about 2^20 steps per unit of its scale


def representable(scale: Fraction, step: Fraction = Fraction(1)) -> Fraction:
    """Round a scale or a variance *up* to one that the exact samplers can take.

    Noise with a larger scale than was charged for is still paid for, so rounding up is safe. A
    value whose numerator and denominator are at most 2⁴⁰ is returned as it is; one above 2⁴⁰ goes
    to the next integer. The relative excess is below 2⁻³⁸ < 10⁻¹¹, except below 2⁻⁴⁰: there the
    result is 2⁻⁴⁰, noise that differs from 0 with probability exp(-2⁴⁰).

    Args:
        scale: Positive scale (Laplace) or variance (Gaussian).
        step: For a lattice distribution, its step: ``scale/step`` is what is made representable.

    Returns:
        A fraction at least ``scale``.

    Raises:
        ValueError: If ``scale`` or ``step`` is not positive.

    Example:
        >>> representable(Fraction(100, 19))
        Fraction(100, 19)
        >>> 0 <= representable(Fraction(10**20 + 1, 3 * 10**19)) * 3 * 10**19 / (10**20 + 1) - 1
        True
    """
    if scale <= 0 or step <= 0:
        raise ValueError("representable: expected a positive scale and step")
    value = scale / step
    if max(value.numerator, value.denominator) <= LAPLACE_TERMS:
        return scale
    if value >= LAPLACE_TERMS:
        return math.ceil(value) * step
    if value >= 1:
        # A power of two, so that multiples of a step 2^-k stay representable too.
        denominator = 1 << ((LAPLACE_TERMS // math.ceil(value)).bit_length() - 1)
        return Fraction(math.ceil(value * denominator), denominator) * step
    numerator = math.floor(value * LAPLACE_TERMS)
    if numerator == 0:
        return Fraction(1, LAPLACE_TERMS) * step
    return Fraction(numerator, math.floor(numerator / value)) * step


def l1_sensitivity(neighbours: Neighbours) -> int:
    """Largest change of a contingency table in the L1 norm."""
    return 1 if neighbours == "add_remove" else 2


def l2_sensitivity_squared(neighbours: Neighbours) -> int:
    """Square of the largest change of a contingency table in the L2 norm."""
    return 1 if neighbours == "add_remove" else 2


def calibrate(
    distribution: NoiseName, *, spend: Fraction, accounting: Accounting, neighbours: Neighbours
) -> DiscreteNoise:
    """The noise for one contingency table.

    Args:
        distribution: "geometric" (discrete Laplace on the integers), "laplace" (on a fine public
            lattice), or "gaussian" (discrete Gaussian; needs zCDP or GDP accounting).
        spend: cost, in the unit of the accounting.
        accounting: pure ε, ρ of zCDP, or μ²/2 of GDP.
        neighbours: which tables count as neighbours.

    Raises:
        MethodError: Gaussian noise under pure accounting.
        BudgetError: so small a cost that the noise would be wider than can be drawn exactly.
    """
    if distribution == "gaussian" and accounting == "pure":
        raise MethodError(
            "Gaussian noise gives no pure guarantee; set delta above 0, or take geometric noise."
        )
    try:
        return _calibrate_noise(distribution, spend, accounting, neighbours)
    except (ValueError, ZeroDivisionError):
        raise BudgetError(
            "This budget leaves so little for a step that its noise would be wider than 10^12; "
            "raise epsilon, or ask for fewer sets or columns."
        ) from None


def _calibrate_noise(
    distribution: NoiseName, spend: Fraction, accounting: Accounting, neighbours: Neighbours
) -> DiscreteNoise:
    if distribution == "gaussian":
        squared = l2_sensitivity_squared(neighbours)
        variance = gaussian_variance(spend, accounting=accounting, squared=squared)
        return DiscreteGaussian(representable(variance))
    epsilon = pure_within(spend, accounting)
    scale = l1_sensitivity(neighbours) / epsilon
    if distribution == "geometric":
        return DiscreteLaplace(representable(scale))
    step = lattice_step(scale)
    return LatticeLaplace(representable(scale, step), step)


def gaussian_variance(spend: Fraction, *, accounting: Accounting, squared: int) -> Fraction:
    """Variance at which discrete Gaussian noise on whole numbers costs `spend`.

    Args:
        spend: cost, in ρ or in μ²/2, above 0.
        accounting: which of these.
        squared: square of the L2 sensitivity.
    """
    if accounting == "gdp":
        return unit_variance(spend / squared)
    return Fraction(squared) / (2 * spend)


def lattice_step(scale: Fraction) -> Fraction:
    """Public step of the lattice for a Laplace distribution.

    A power of two, at most 1, so that counts lie on the lattice and their sensitivity needs no
    correction for rounding.
    """
    step = Fraction(1)
    while step > Fraction(1, 2**40) and step * 2**_FINENESS > scale:
        step /= 2
    return step


def noise_of(distribution: DiscreteNoise) -> Noise:
    """Describe the noise in a released value."""
    scale = (
        distribution.variance if isinstance(distribution, DiscreteGaussian) else distribution.scale
    )
    return Noise(distribution.name, str(scale), distribution.stddev)


def describe(distribution: DiscreteNoise) -> str:
    """The distribution with its exact parameter, for the ledger."""
    if isinstance(distribution, DiscreteGaussian):
        return f"discrete Gaussian, variance {distribution.variance}"
    if isinstance(distribution, LatticeLaplace):
        return f"Laplace, scale {distribution.scale}, on the lattice of step {distribution.step}"
    return f"discrete Laplace (geometric), scale {distribution.scale}"


def sensitivity_text(distribution: DiscreteNoise, neighbours: Neighbours) -> str:
    """The sensitivity that the noise was calibrated to, for the ledger."""
    if isinstance(distribution, DiscreteGaussian):
        return "L2 = 1" if neighbours == "add_remove" else "L2 = √2"
    return f"L1 = {l1_sensitivity(neighbours)}"


def mean_positive(distribution: DiscreteNoise) -> float:
    """E max(noise, 0): records' worth of noise that an empty cell receives on average."""
    if isinstance(distribution, DiscreteGaussian):
        return distribution.stddev / math.sqrt(2 * math.pi)
    if isinstance(distribution, LatticeLaplace):
        return float(distribution.scale) / 2
    rate = float(1 / distribution.scale)
    # q / (1 − q²) with q = e^(−rate), in a form that neither overflows nor cancels.
    return math.exp(-rate) / -math.expm1(-2 * rate) if rate < 700 else 0.0


def public_step(sensitivity: Fraction, coordinates: int, precision_bits: int = 20) -> Fraction:
    """Return the largest power of two h with d·h ≤ Δ·2^-precision_bits.

    The step is made of public numbers only, and raises the sensitivity, hence the noise, by at
    most the factor 1 + 2^-precision_bits.

    Args:
        sensitivity: L1 sensitivity Δ > 0.
        coordinates: Number of coordinates d, at least 1.
        precision_bits: How fine; 20 bits cost one millionth more noise.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> public_step(Fraction(100), 3, precision_bits=4)
        Fraction(2, 1)
    """
    if sensitivity <= 0 or coordinates < 1 or precision_bits < 0:
        raise ValueError("public_step: expected sensitivity > 0, coordinates >= 1, bits >= 0")
    largest = sensitivity / (coordinates * 2**precision_bits)
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length()
    step = Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent)
    return step if step <= largest else step / 2
