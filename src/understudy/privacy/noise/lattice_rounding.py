"""Real statistics on a public lattice, and what the lattice does to their sensitivity.

Noise that is drawn as a floating-point number betrays what it was added to: which numbers
``x + noise`` can come out depends on ``x`` (Mironov 2012, "On Significance of the Least Significant
Bits for Differential Privacy"). So a statistic is first rounded to step·Z, with a step that is
public and a power of two, and noise on the same lattice is added (`LatticeLaplace`): then the set
of possible outputs is step·Z whatever the rows are, and the guarantee is that of integer noise.

Rounding moves neighbours apart, and that has to be paid for: `lattice_sensitivity`. The exact sums
that a statistic is made of are the engine's part: a sum of floats in the order of the rows has a
larger sensitivity than the formula says (Casacuberta et al. 2022), a sum of integers has not.
Hence the better order is *record-wise*: round each record's bounded contribution, then add
integers.
"""

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["lattice_sensitivity", "public_step", "round_to_lattice"]

_LARGEST_STEPS: Final = 2.0**52


def _check_step(step: Fraction) -> None:
    top, bottom = step.as_integer_ratio()
    if top <= 0 or top & (top - 1) or bottom & (bottom - 1) or max(top, bottom) > 2**500:
        raise ValueError("lattice: expected step to be a power of two, 2**-500 to 2**500")


def round_to_lattice(value: ArrayLike, step: Fraction) -> NDArray[np.float64]:
    """Return the multiple of ``step`` nearest to each value (ties to the even multiple).

    Dividing by a power of two, rounding to an integer and multiplying back are all exact in
    float64, so this is the mathematical rounding, not an approximation to it. Values beyond 2⁵²
    steps are clipped there: clipping never moves two values further apart, and an error would be
    an output that depends on the rows.

    Args:
        value: Finite numbers, any shape.
        step: Power of two.

    Returns:
        float64 of the same shape.

    Raises:
        ValueError: If ``step`` is not a power of two in range, or a value is NaN or infinite
            (bound and clip first); the message shows no value.
    """
    _check_step(step)
    array = np.asarray(value, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError("round_to_lattice: expected finite values; clip to public bounds first")
    with np.errstate(over="ignore", under="ignore"):
        steps = np.clip(array / float(step), -_LARGEST_STEPS, _LARGEST_STEPS)
    return np.rint(steps) * float(step)


def lattice_sensitivity(sensitivity: Fraction, step: Fraction, coordinates: int) -> Fraction:
    """Return an L1 sensitivity that holds after rounding to the lattice.

    Let f have L1 sensitivity Δ, d coordinates, and let r round to the nearest multiple of h.

    *Whole statistic.* |r(a) - a| ≤ h/2 for each coordinate, so |r(a) - r(b)| ≤ |a - b| + h, and
    over all coordinates ‖r(f(D)) - r(f(D'))‖₁ ≤ Δ + d·h. The left side is a multiple of h, so it is
    at most h·⌊Δ/h + d⌋, which is returned.

    *Record-wise sums.* If f adds contributions c with ‖c‖₁ ≤ Δ and each is rounded before the exact
    sum, then adding or removing a record changes the sum by r(c), ‖r(c)‖₁ ≤ Δ + d·h/2; replacing
    one by another changes it by r(c) - r(c'), which is the case above if ‖c - c'‖₁ ≤ Δ. Both are
    covered by the returned value.

    Args:
        sensitivity: L1 sensitivity before rounding, Δ ≥ 0.
        step: Spacing h of the lattice.
        coordinates: Number of coordinates d that one record can change, at least 1.

    Returns:
        A multiple of ``step``, at least 0 and at most Δ + d·h.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> lattice_sensitivity(Fraction(1, 3), Fraction(1, 4), 2)
        Fraction(3, 4)
    """
    _check_step(step)
    if sensitivity < 0 or coordinates < 1:
        raise ValueError("lattice_sensitivity: expected sensitivity >= 0 and coordinates >= 1")
    return step * math.floor(sensitivity / step + coordinates)


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
