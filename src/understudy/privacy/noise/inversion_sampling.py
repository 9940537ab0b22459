"""Exact noise by inversion: one 64-bit word, one table, one look-up.

A symmetric distribution P(x) ∝ exp(-γ(|x|)), γ(k) = linear·k + quadratic·k(k-1)/2, holds both the
discrete Laplace (1/scale, 0) and the discrete Gaussian (1/(2σ²), 1/σ²). The lowest bit of a word is
the sign; the other 63 are the first bits of a uniform number U, and the magnitude is the k with
F(k-1) ≤ U < F(k), where F is the distribution function of |x|. The sign of a zero is ignored.

**Why this is exact.** U lies in [m, m+1)/2⁶³, m the 63-bit number, and T(k) = ⌊2⁶³·F(k)⌋.
If m < T(k) then m + 1 ≤ T(k) ≤ 2⁶³F(k), so U < F(k); if m > T(k) then m ≥ T(k) + 1 > 2⁶³F(k), so
U > F(k). Hence T(k-1) < m < T(k) decides for k whatever the unseen bits of U are. Only m = T(k)
leaves it open: that word is *ambiguous*, more words are appended to U, and F is computed to as many
more bits, until U's interval lies inside one cell. Nothing is rounded to the nearest, so the
drawn distribution is F itself. The table ends with the first threshold 2⁶³ - 1; F(k) < 1, so each
word is either decided or ambiguous, and no word lies beyond the table. A word is ambiguous with
probability (number of cells)/2⁶³, below 10⁻¹³ for the largest table.

**Why the thresholds are right.** `_cells` brackets F between integers of ``precision`` bits: each
product, sum and tail is rounded down in one bound and up in the other, and the exponentials come
from `decimal` (correctly rounded) with directed slack. A threshold is used only when both bounds
give the same floor; otherwise the precision is raised.

The guide table of Chen & Asau (1974) starts the search at the first bits of the word, so that the
expected number of comparisons is below 2.
"""

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.rejection_sampling import compiled

__all__ = ["InversionTable", "build_table", "draw", "exp_bracket", "table_cells"]

LARGEST_TABLE: Final = 2**17
"""Most cells a table may have: a discrete Laplace of scale 2,600, a Gaussian of stddev 13,000."""

_BITS: Final = 63
_GUARD_BITS: Final = 96
_TOP: Final = 2**_BITS - 1
_CHUNK: Final = 2**16
_UNDECIDED: Final = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, eq=False)
class InversionTable:
    """Thresholds of one symmetric distribution and the guide into them.

    Attributes:
        linear: γ(1), the exponent's linear coefficient.
        quadratic: γ(2) - 2γ(1), its quadratic coefficient.
        thresholds: ⌊2⁶³·P(|x| ≤ k)⌋ for k = 0, 1, …, int64, shape ``(cells,)``; the last is
            2⁶³ - 1.
        guide: For each leading part of a word, the first cell it can fall in, int32, shape
            ``(2**guide_bits,)``.
        shift: 63 - guide_bits.
    """

    linear: Fraction
    quadratic: Fraction
    thresholds: NDArray[np.int64]
    guide: NDArray[np.int32]
    shift: int


@dataclass(frozen=True, slots=True)
class _Cells:
    """Integer brackets: low[k]/total_high ≤ P(|x| ≤ k) ≤ high[k]/total_low."""

    low: list[int]
    high: list[int]
    total_low: int
    total_high: int


def table_cells(linear: Fraction, quadratic: Fraction) -> float:
    """Return an upper estimate of a table's cells: where γ passes 50 (tables end near 63·log 2)."""
    reach = 50.0
    slope, curve = float(linear), float(quadratic)
    if curve == 0.0:
        return 1.0 + reach / slope
    return 1.0 + 2.0 * reach / (slope + math.sqrt(slope**2 + 2.0 * reach * curve))


def exp_bracket(exponent: Fraction, precision: int) -> tuple[int, int]:
    """Return integers low ≤ 2^precision·exp(-exponent) ≤ high."""
    if exponent == 0:
        return 1 << precision, 1 << precision
    if exponent > precision:
        return 0, 1
    digits = precision // 3 + 20  # 10 bits are more than 3 digits: 20 digits to spare.
    top, bottom = Decimal(exponent.numerator), Decimal(exponent.denominator)
    bounds = []
    for rounding in (ROUND_CEILING, ROUND_FLOOR):
        context = Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)
        # `-x` would round to the thread's own, shorter context.
        value = context.exp(context.divide(top, bottom).copy_negate())
        bounds.append(int(context.multiply(value, Decimal(1 << precision))))
    # The few roundings in the last of `digits` digits are far below one unit here.
    return max(bounds[0] - 1, 0), bounds[1] + 2


def _cells(linear: Fraction, quadratic: Fraction, bits: int) -> _Cells:
    """Bracket F finely enough for questions of ``bits`` bits.

    Weights are w(0) = 1 and 2·exp(-γ(k)); w(k+1) = w(k)·r(k) and r(k+1) = r(k)·exp(-quadratic).
    The tail beyond k is at most the geometric series with ratio r(k), and equals it for
    quadratic = 0. Cells go on until the tail is below 2^-(bits + 8) and known within
    2^-(bits + 64).
    """
    precision = bits + _GUARD_BITS
    one = 1 << precision
    ratio_low, ratio_high = exp_bracket(linear, precision)
    decay_low, decay_high = exp_bracket(quadratic, precision)
    weight_low = weight_high = 2 * one
    sum_low = sum_high = one
    low, high = [one], [one]
    while True:
        weight_low = weight_low * ratio_low >> precision
        weight_high = (weight_high * ratio_high >> precision) + 1
        if quadratic:
            ratio_low = ratio_low * decay_low >> precision
            ratio_high = (ratio_high * decay_high >> precision) + 1
        tail_high = (weight_high << precision) // (one - ratio_high) + 1
        if not tail_high >> (_GUARD_BITS - 8):
            tail_low = weight_low if quadratic else (weight_low << precision) // (one - ratio_low)
            if not (tail_high - tail_low) >> (_GUARD_BITS - 64):
                return _Cells(low, high, sum_low + tail_low, sum_high + tail_high)
        sum_low += weight_low
        sum_high += weight_high
        low.append(sum_low)
        high.append(sum_high)


def _thresholds(linear: Fraction, quadratic: Fraction) -> NDArray[np.int64]:
    """Return ⌊2⁶³·F(k)⌋ up to the first that is 2⁶³ - 1, certain to the last bit."""
    bits = _BITS
    while True:
        cells = _cells(linear, quadratic, bits)
        low = [(part << _BITS) // cells.total_high for part in cells.low]
        # F(k) < 1 always, so no floor is above 2⁶³ - 1.
        high = [min((part << _BITS) // cells.total_low, _TOP) for part in cells.high]
        if low == high and low[-1] == _TOP:
            values = np.array(low, dtype=np.int64)
            return values[: np.searchsorted(values, _TOP) + 1]
        bits += 64


@lru_cache(maxsize=32)
def build_table(linear: Fraction, quadratic: Fraction) -> InversionTable:
    """Return the table of P(x) ∝ exp(-linear·|x| - quadratic·|x|(|x|-1)/2); the last 32 are kept.

    Args:
        linear: Positive.
        quadratic: At least 0.

    Raises:
        ValueError: If a coefficient is out of range or the table would exceed `LARGEST_TABLE`.
    """
    if linear <= 0 or quadratic < 0:
        raise ValueError("build_table: expected linear > 0 and quadratic >= 0")
    if table_cells(linear, quadratic) > LARGEST_TABLE:
        raise ValueError("build_table: the distribution is too wide for a table; use rejection")
    thresholds = _thresholds(linear, quadratic)
    guide_bits = max(8, (2 * thresholds.size - 1).bit_length())
    shift = _BITS - guide_bits
    starts = np.arange(2**guide_bits, dtype=np.int64) << shift
    guide = np.searchsorted(thresholds, starts, side="left").astype(np.int32)
    thresholds.flags.writeable = guide.flags.writeable = False
    return InversionTable(linear, quadratic, thresholds, guide, shift)


@compiled
def _look_up(
    words: NDArray[np.uint64],
    thresholds: NDArray[np.int64],
    guide: NDArray[np.int32],
    shift: int,
    out: NDArray[np.int64],
) -> int:
    """Write the draws into ``out``; return how many words are ambiguous (marked in ``out``)."""
    ambiguous = 0
    for index in range(words.size):
        word = words[index]
        leading = np.int64(word >> np.uint64(1))
        cell = np.int64(guide[leading >> shift])
        while thresholds[cell] < leading:
            cell += 1
        if thresholds[cell] == leading:
            ambiguous += 1
            out[index] = _UNDECIDED
        else:
            negative = np.int64(word & np.uint64(1))
            out[index] = (cell ^ -negative) + negative
    return ambiguous


def _decide(cells: _Cells, prefix: int, bits: int) -> int | None:
    """Return the cell that holds all of [prefix, prefix + 1)/2^bits, or None if not certain."""
    for k, (low, high) in enumerate(zip(cells.low, cells.high, strict=True)):
        if (prefix + 1) * cells.total_high <= low << bits:
            return k
        if prefix * cells.total_low < high << bits:
            return None
    return None


def _resolve(table: InversionTable, word: int, source: Randomness) -> int:
    """Return the draw of an ambiguous word, from as many further words as it takes."""
    prefix, bits = word >> 1, _BITS
    magnitude = None
    while magnitude is None:
        prefix = (prefix << 64) | int(source.words(1)[0])
        bits += 64
        magnitude = _decide(_cells(table.linear, table.quadratic, bits), prefix, bits)
    return -magnitude if word & 1 else magnitude


def draw(table: InversionTable, size: int, source: Randomness) -> NDArray[np.int64]:
    """Return ``size`` exact draws of the table's distribution.

    Args:
        table: From `build_table`.
        size: Number of draws.
        source: Where the words come from.

    Returns:
        Integers, shape ``(size,)``.
    """
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _CHUNK):
        part = out[start : start + _CHUNK]
        words = source.words(part.size)
        if _look_up(words, table.thresholds, table.guide, table.shift, part):
            for index in np.flatnonzero(part == _UNDECIDED):
                part[index] = _resolve(table, int(words[index]), source)
    return out
