"""Samplers: exact ones by rejection and inversion; binomial and other numbers of any size.

**Exact noise by rejection: the samplers of Canonne, Kamath and Steinke, on integers only.**

Every decision compares uniform integers, made from 64-bit words by rejection, with integers, so
the distributions are exact: there is no floating-point number in these samplers (Mironov 2012
shows what those give away). Two building blocks carry everything.

*Bernoulli(exp(-γ)), 0 ≤ γ ≤ 1* (von Neumann 1951; Canonne et al. 2020, algorithm 1): let K be the
first k for which Bernoulli(γ/k) fails. P(K > k) = γᵏ/k!, hence P(K odd) = Σ (-γ)ᵏ/k! = exp(-γ).
With γ a product of two fractions, n/d·m/e, the trial is an "and" of independent trials with
probabilities 1/k, n/d and m/e, so no product is ever formed and none can overflow.

*Words.* A draw is a function of the word stream. When a buffer ends inside a draw, the kernel hands
back the words of that draw and the caller appends fresh ones; the draw is replayed on the same
words. Starting it again on other words would favour draws that need few of them.

*Range.* Terms are bounded (`LAPLACE_TERMS`, `GAUSSIAN_VARIANCE`) so that each intermediate stays
below 2⁶³. The one unbounded quantity, a run of Bernoulli(exp(-1)) successes, stops at 2²⁰: an event
of probability exp(-2²⁰), against 2⁻²⁵⁶ for guessing the key that the words come from. No sampler
that returns 64-bit integers can do without such a stop.

Source: Canonne, Kamath & Steinke (2020), "The Discrete Gaussian for Differential Privacy",
algorithms 1 to 3.

**Exact noise by inversion: one 64-bit word, one table, one look-up.**

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

**Exactly binomial numbers: how many of n independent trials succeed, whatever n and p are.**

A trial of probability p compares a uniform number U with p. With U on a grid of 53 bits, any p
below 2⁻⁵³ becomes 0: what an empty cell could never show, an occupied one still can, and no ε
covers that. Here no number is rounded to the nearest, and p is only ever *enclosed*.

**Blocks.** The n trials are divided into blocks of N = 2ᵏ, the largest with N·p < 1 that the
enclosure of p shows, and a rest of r < N. Successes of disjoint sets of trials are independent, so
Binomial(n, p) is the sum of ⌊n/N⌋ draws of Binomial(N, p) and one of Binomial(r, p). A block has
less than one success on average, so that the work is of the order of n·p + 1, not n.

**Inversion.** A draw of Binomial(m, p) is the j with F(j-1) ≤ U < F(j), F its distribution
function. U is the number whose binary digits are an endless stream of fair bits, of which a word
shows the first 64: w/2⁶⁴ ≤ U < (w+1)/2⁶⁴. With l(j) ≤ F(j) ≤ h(j),

    (w+1)/2⁶⁴ ≤ l(j)  shows  U < F(j),     w/2⁶⁴ ≥ h(j-1)  shows  U ≥ F(j-1),

and both together decide for j whatever the unseen bits are. Where they do not, another word is
appended to U, F is enclosed by as many more bits, and the question is asked again. As h - l tends
to 0, and U is one of the countably many F(j) with probability 0, each draw ends with probability 1;
a word is left open with probability below (cells of the table)·2⁻⁶²; and what is drawn is F itself.

**Enclosures.** All are pairs of integers over a power of two; each product, power, quotient and sum
is rounded down in the lower bound and up in the upper. P(0) = (1-p)ᵐ by squaring, and P(j+1) =
P(j)·(m-j)/(j+1)·p/(1-p). The table ends where 1 - F is below the last bit that can be seen.

Sources: Devroye (1986), "Non-Uniform Random Variate Generation", §II.2 and §X.4; the lazy
comparison as above.

**Binomial, Poisson and negative binomial numbers of any size, from secure uniform numbers.**

Library quantile functions lose tiny probabilities (1 − p rounds to 1) and do not end for 10¹⁸
trials. The recursions here are exact in real arithmetic and take a number of steps logarithmic in
the size: they split the trials at a beta-distributed order statistic until few are left (Devroye
1986, "Non-Uniform Random Variate Generation", §X.4.3 and §X.3.3). Evaluated in double precision,
with 53-bit uniform numbers, their probabilities hold up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Integers, compiled
from understudy.dp.randomness import Randomness

LAPLACE_TERMS: Final = 2**40
"""Largest numerator and denominator of a Laplace scale, and largest denominator anywhere."""

GAUSSIAN_VARIANCE: Final = 2**60
"""Largest numerator of a Gaussian variance; then b·t² ≤ 4a ≤ 2⁶² in `_gaussian`."""

_LONGEST_RUN: Final = 2**20
_CHUNK_WORDS: Final = 2**16
_WORDS_PER_DRAW: Final = 16

_Words = NDArray[np.uint64]
_Ratio = tuple[int, int]

_ONE: Final = cast(_Ratio, (np.int64(1), np.int64(1)))
"""Not of Python's integers, which the compiler takes for literals, with kernels of their own."""


# Kernels. `cursor` holds the index of the next word. Past the end a word reads as 0, the cursor
# keeps moving, and every loop ends; the caller sees `cursor[0] > words.size` and drops the draw.


@compiled(inline="always")
def _word(words: _Words, cursor: Integers) -> np.uint64:
    at = cursor[0]
    cursor[0] = at + 1
    if at < words.size:
        return words[at]  # type: ignore[no-any-return]
    return np.uint64(0)


@compiled(inline="always")
def word_below(words: _Words, cursor: Integers, bound: int) -> int:
    """Return an integer exactly uniform on {0, …, bound - 1}, 1 ≤ bound < 2⁶³ (kernel)."""
    size = np.uint64(bound)
    while True:
        word = _word(words, cursor)
        rest = word % size
        # `word - rest` starts a block of `size` words; keep it if the block ends by 2**64.
        if word - rest <= np.uint64(0) - size:
            return np.int64(rest)  # type: ignore[return-value]


@compiled(no_cpython_wrapper=True)
def _exp_chain(words: _Words, cursor: Integers, first: _Ratio, second: _Ratio) -> bool:
    """Bernoulli(exp(-first·second)), both ratios in [0, 1]; False when the words run out."""
    n, d = first
    m, e = second
    if n == 0 or m == 0:
        return True
    k = 1
    while cursor[0] <= words.size:
        for part, whole in ((1, k), (n, d), (m, e)):  # one call is compiled, not three
            if part < whole and word_below(words, cursor, whole) >= part:
                return k % 2 == 1
        k += 1
    return False


@compiled(no_cpython_wrapper=True)
def _exp_product(words: _Words, cursor: Integers, part: _Ratio, rate: _Ratio) -> bool:
    """Bernoulli(exp(-part·rate)), part in [0, 1], rate ≥ 0 of any size."""
    if part[0] == 0:
        return True
    whole = rate[0] // rate[1]
    for trial in range(whole + 1):
        last = (rate[0] % rate[1], rate[1])
        if not _exp_chain(words, cursor, part, last if trial == whole else _ONE):
            return False
    return True


@compiled(inline="always")
def exp_trial(words: _Words, cursor: Integers, rate: _Ratio) -> bool:
    """Bernoulli(exp(-rate)), rate = (numerator, denominator) ≥ 0 of any size (kernel)."""
    return _exp_product(words, cursor, _ONE, rate)


@compiled(no_cpython_wrapper=True)
def exponential(words: _Words, cursor: Integers, t: int) -> tuple[int, int]:
    """Return (u, v), 0 ≤ u < t, with P(u + tv = x) ∝ exp(-x/t) on x = 0, 1, 2, … (kernel)."""
    u = 0
    while cursor[0] <= words.size:
        u = word_below(words, cursor, t)
        if _exp_chain(words, cursor, (u, t), _ONE):
            break
    v = 0
    while v < _LONGEST_RUN and _exp_chain(words, cursor, _ONE, _ONE):
        v += 1
    return u, v


@compiled(inline="always")
def _laplace(words: _Words, cursor: Integers, scale: _Ratio) -> int:
    """P(x) ∝ exp(-|x|/scale): algorithm 2. With scale = t/s no number exceeds 2⁴⁰ + 2⁶⁰."""
    t, s = scale
    while cursor[0] <= words.size:
        u, v = exponential(words, cursor, t)
        magnitude = (u + t * v) // s
        negative = (_word(words, cursor) & np.uint64(1)) == np.uint64(1)
        # Zero would come twice, once per sign; "minus zero" is drawn again.
        if magnitude > 0 or not negative:
            return -magnitude if negative else magnitude
    return 0


@compiled(inline="always")
def _gaussian_accepts(
    words: _Words, cursor: Integers, y: tuple[int, int], variance: _Ratio, t: int
) -> bool:
    """Bernoulli(exp(-(y - σ²/t)²/(2σ²))), y = u + tv given as (u, v), σ² = a/b, t > σ.

    With |y - σ²/t|/t = i + f (i whole, 0 ≤ f < 1), h = t²/(2σ²) and g = f·h the exponent is
    h·(i + f)² = i²·h + 2i·g + f·g: that many independent trials. f = top/full, h = full/2a and
    g = top/2a with full = b·t², the largest product formed. A trial of h or g repeats at most
    about σ⁻² times, and only while each repetition succeeds, so small variances cost nothing.
    """
    u, i = y
    a, b = variance
    full = b * t * t
    top = u * b * t - a
    if top < 0 and i > 0:
        i, top = i - 1, top + full
    elif top < 0:
        top = -top
    for trial in range(i * i + 2 * i + 1):
        # h each of the first, g each of the next, f·g at last; one call is compiled, not three.
        part = (top, full) if trial == i * i + 2 * i else _ONE
        if not _exp_product(words, cursor, part, (full if trial < i * i else top, 2 * a)):
            return False
    return True


@compiled(inline="always")
def _gaussian(words: _Words, cursor: Integers, variance: _Ratio, t: int) -> int:
    """P(x) ∝ exp(-x²/(2σ²)): algorithm 3, discrete Laplace proposals of scale t = ⌊σ⌋ + 1."""
    while cursor[0] <= words.size:
        u, v = exponential(words, cursor, t)
        magnitude = u + t * v
        negative = (_word(words, cursor) & np.uint64(1)) == np.uint64(1)
        if magnitude == 0 and negative:
            continue
        if _gaussian_accepts(words, cursor, (u, v), variance, t):
            return -magnitude if negative else magnitude
    return 0


@compiled
def _fill_exp(words: _Words, cursor: Integers, out: Integers, rate: _Ratio) -> None:
    for index in range(cursor[1], out.size):
        start = cursor[0]
        value = exp_trial(words, cursor, rate)
        if cursor[0] > words.size:
            cursor[0] = start
            return
        out[index] = value
        cursor[1] = index + 1


@compiled
def _fill_laplace(words: _Words, cursor: Integers, out: Integers, scale: _Ratio) -> None:
    for index in range(cursor[1], out.size):
        start = cursor[0]
        value = _laplace(words, cursor, scale)
        if cursor[0] > words.size:
            cursor[0] = start
            return
        out[index] = value
        cursor[1] = index + 1


@compiled
def _fill_gaussian(
    words: _Words, cursor: Integers, out: Integers, variance: _Ratio, t: int
) -> None:
    for index in range(cursor[1], out.size):
        start = cursor[0]
        value = _gaussian(words, cursor, variance, t)
        if cursor[0] > words.size:
            cursor[0] = start
            return
        out[index] = value
        cursor[1] = index + 1


def fill(
    kernel: Callable[..., None], terms: tuple[Any, ...], size: int, source: Randomness
) -> Integers:
    """Run ``kernel`` until ``size`` draws are complete, feeding it words; shape ``(size,)``.

    The kernel is called with (words, cursor, draws, ``*terms``). The cursor holds the index of the
    next word and that of the next draw; the kernel leaves it behind the last complete draw and its
    words. The words behind stay in the stream.
    """
    out = np.empty(size, dtype=np.int64)
    words: _Words = np.empty(0, dtype=np.uint64)
    cursor = np.zeros(2, dtype=np.int64)
    while cursor[1] < size:
        n_words = min(_CHUNK_WORDS, _WORDS_PER_DRAW * (size - int(cursor[1])) + 64)
        words = np.concatenate((words, source.words(n_words)))
        cursor[0] = 0
        kernel(words, cursor, out, *terms)
        words = words[cursor[0] :]
    return out


def bernoulli_exp(gamma: Fraction, size: int, source: Randomness) -> NDArray[np.bool_]:
    """Return ``size`` exact draws of Bernoulli(exp(-gamma)).

    Args:
        gamma: Exponent, at least 0, with terms below 2⁶².
        size: Number of draws.
        source: Where the words come from.

    Returns:
        Booleans, shape ``(size,)``.

    Raises:
        ValueError: If ``gamma`` is negative or its terms are too large.
    """
    if gamma < 0 or max(gamma.numerator, gamma.denominator) >= 2**62:
        raise ValueError("bernoulli_exp: expected gamma >= 0 with terms below 2**62")
    return fill(_fill_exp, (gamma.as_integer_ratio(),), size, source).astype(np.bool_)


def discrete_laplace(scale: Fraction, size: int, source: Randomness) -> NDArray[np.int64]:
    """Return ``size`` exact draws of P(x) ∝ exp(-|x|/scale) on the integers.

    Args:
        scale: Positive, numerator and denominator at most `LAPLACE_TERMS`.
        size: Number of draws.
        source: Where the words come from.

    Returns:
        Integers, shape ``(size,)``.

    Raises:
        ValueError: If ``scale`` is out of range.
    """
    if scale <= 0 or max(scale.numerator, scale.denominator) > LAPLACE_TERMS:
        raise ValueError("discrete_laplace: expected scale > 0 with terms at most 2**40")
    return fill(_fill_laplace, (scale.as_integer_ratio(),), size, source)


def discrete_gaussian(variance: Fraction, size: int, source: Randomness) -> NDArray[np.int64]:
    """Return ``size`` exact draws of P(x) ∝ exp(-x²/(2·variance)) on the integers.

    Args:
        variance: Positive, numerator at most `GAUSSIAN_VARIANCE`, denominator `LAPLACE_TERMS`.
        size: Number of draws.
        source: Where the words come from.

    Returns:
        Integers, shape ``(size,)``.

    Raises:
        ValueError: If ``variance`` is out of range.
    """
    a, b = variance.as_integer_ratio()
    if a <= 0 or a > GAUSSIAN_VARIANCE or b > LAPLACE_TERMS:
        raise ValueError("discrete_gaussian: expected 0 < variance, terms at most 2**60 / 2**40")
    return fill(_fill_gaussian, ((a, b), math.isqrt(a // b) + 1), size, source)


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


Enclosure = Callable[[int], tuple[int, int]]
"""bits → (low, high) with low ≤ 2^bits·p ≤ high; the gap tends to 0 against 2^bits."""

_WORD: Final = 64
_GUARD: Final = 128
"""More bits than are asked of F: errors of p count up to 2⁶² times in (1-p)ᵐ."""


def survival(scale: Fraction, threshold: int) -> Enclosure:
    """P(noise ≥ threshold) of a discrete Laplace distribution: q^t/(1 + q), q = e^(-1/scale).

    Args:
        scale: of the distribution, positive.
        threshold: t, whole, at least 1.
    """

    def enclose(bits: int) -> tuple[int, int]:
        one = 1 << bits
        low, high = exp_bracket(1 / scale, bits)
        least, most = exp_bracket(threshold / scale, bits)
        return (least << bits) // (one + high), min(one, -(-(most << bits) // (one + low)))

    return enclose


def successes(trials: int, probability: Enclosure, randomness: Randomness) -> int:
    """An exact draw of Binomial(trials, p).

    Args:
        trials: n, from 0 to 2⁶².
        probability: encloses p, which is below 1/2.
        randomness: where the words come from.

    Raises:
        ValueError: more trials than that.
    """
    if not 0 <= trials <= 2**62:
        raise ValueError("successes: expected between 0 and 2**62 trials")
    bits = _WORD + _GUARD
    _, high = probability(bits)
    block = 1 << (bits - high.bit_length())
    whole, rest = divmod(trials, block)
    return _draw_sum(block, whole, probability, randomness) + _draw_sum(
        rest, 1, probability, randomness
    )


@dataclass(frozen=True)
class _Steps:
    """Integer enclosures of F(0), F(1), …, each over 2^precision, as far as words can see.

    F(0) is at least 1/4, since a block has N·p < 1 and p is below 1/2: no bound is below 1.
    """

    low: list[int]
    high: list[int]
    precision: int


def _steps(trials: int, probability: Enclosure, seen: int) -> _Steps:
    """Enclose F of Binomial(trials, p) finely enough for questions of `seen` bits."""
    precision = seen + _GUARD
    one = 1 << precision
    p_low, p_high = probability(precision)
    q_low, q_high = one - p_high, one - p_low
    term_low, term_high = _power(q_low, trials, precision)[0], _power(q_high, trials, precision)[1]
    low, high = [term_low], [min(one, term_high)]
    # `one - low` bounds the tail; below 2^-(seen + 8) no word of `seen` bits is decided by more.
    while len(low) <= trials and (one - low[-1]) >> (precision - seen - 8):
        j = len(low) - 1
        term_low = term_low * (trials - j) * p_low // ((j + 1) * q_high)
        term_high = -(-term_high * (trials - j) * p_high // ((j + 1) * q_low))
        low.append(low[-1] + term_low)
        high.append(min(one, high[-1] + term_high))
    if len(low) > trials:
        low[-1] = one  # F(trials) = 1
    return _Steps(low, high, precision)


def _power(base: int, exponent: int, precision: int) -> tuple[int, int]:
    """Enclose (base/2^precision)^exponent, by squaring, in units of 2^-precision."""
    low = high = 1 << precision
    for bit in format(exponent, "b"):
        low = low * low >> precision
        high = -(-high * high >> precision)
        if bit == "1":
            low = low * base >> precision
            high = -(-high * base >> precision)
    return low, high


def _draw_sum(trials: int, size: int, probability: Enclosure, randomness: Randomness) -> int:
    """The sum of `size` draws of Binomial(trials, p)."""
    if not trials or not size:
        return 0
    steps = _steps(trials, probability, _WORD)
    shift = steps.precision - _WORD
    # U < F(j) is shown by words up to below[j], U ≥ F(j) by those after above[j].
    below = np.array([(low >> shift) - 1 for low in steps.low], dtype=np.uint64)
    above = np.array([-(-high >> shift) - 1 for high in steps.high], dtype=np.uint64)
    total = 0
    for start in range(0, size, _CHUNK):
        words = randomness.words(min(_CHUNK, size - start))
        drawn = np.searchsorted(below, words, side="left")
        left_open = (drawn == len(below)) | ((drawn > 0) & (words <= above[drawn - 1]))
        total += int(drawn[~left_open].sum())
        total += sum(
            _resolve_draw(trials, int(word), probability, randomness) for word in words[left_open]
        )
    return total


def _resolve_draw(trials: int, word: int, probability: Enclosure, randomness: Randomness) -> int:
    """The draw of a word that leaves it open, from as many further words as it takes."""
    prefix, seen = word, _WORD
    while True:
        prefix = prefix << _WORD | int(randomness.words(1)[0])
        seen += _WORD
        steps = _steps(trials, probability, seen)
        shift = steps.precision - seen
        for j, low in enumerate(steps.low):
            if (prefix + 1) << shift <= low:
                if not j or prefix << shift >= steps.high[j - 1]:
                    return j
                break


_FEW = 64


class Uniforms:
    """Uniform numbers in (0, 1), one at a time.

    Args:
        randomness: where they come from.
    """

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._left: list[float] = []

    def __call__(self) -> float:
        """The next one."""
        if not self._left:
            self._left = self._randomness.uniforms(_FEW).tolist()
        return self._left.pop()


def binomial(n: int, p: float, uniform: Uniforms) -> int:
    """Successes in n trials of probability p.

    If B is the i-th smallest of n uniform numbers, then B ≤ p makes i of them successes and leaves
    the n − i larger ones open; otherwise the i − 1 smaller ones are open.
    """
    successes = 0
    while n > _FEW and 0 < p < 1:
        i = (n + 1) // 2
        b = beta(i, n + 1 - i, uniform)
        if b <= p:
            successes, n, p = successes + i, n - i, (p - b) / (1 - b)
        else:
            n, p = i - 1, p / b
    if p <= 0:
        return successes
    return successes + (n if p >= 1 else sum(uniform() < p for _ in range(n)))


def poisson(mean: float, uniform: Uniforms) -> int:
    """Events of a unit-rate Poisson process in a time `mean`: jump to a late event, fill in."""
    events = 0
    while mean > _FEW:
        m = int(mean * 7 / 8)
        time = gamma(m, uniform)
        if time > mean:
            return events + binomial(m - 1, mean / time, uniform)
        events, mean = events + m, mean - time
    product = uniform()
    limit = math.exp(-mean)
    while product > limit:
        events, product = events + 1, product * uniform()
    return events


def negative_binomial(n: int, odds: float, uniform: Uniforms) -> int:
    """Sum of n geometric numbers (from 0) of mean `odds`: a Poisson number of gamma mean."""
    if n == 0 or odds <= 0:
        return 0
    return poisson(gamma(n, uniform) * odds, uniform)


def beta(a: int, b: int, uniform: Uniforms) -> float:
    """Beta(a, b) for a, b ≥ 1."""
    x = gamma(a, uniform)
    return x / (x + gamma(b, uniform))


def gamma(shape: int, uniform: Uniforms) -> float:
    """Gamma(shape, 1) for shape ≥ 1 (Marsaglia & Tsang 2000).

    The acceptance test compares log u with x²/2 + d(1 − v + log v), v = (1 + cx)³. For large d its
    terms cancel almost wholly; in t = cx it reads 3(log(1+t) − t) − 3t² − t³, without cancellation.
    """
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = normal(uniform)
        t = c * x
        if t <= -1:
            continue
        gain = 3 * log1p_minus(t) - 3 * t * t - t**3
        if math.log(uniform()) < x * x / 2 + d * gain:
            return float(d * (1 + t) ** 3)


def normal(uniform: Uniforms) -> float:
    """Standard normal number (Box & Muller 1958)."""
    return math.sqrt(-2 * math.log(uniform())) * math.cos(2 * math.pi * uniform())


def log1p_minus(t: float) -> float:
    """log(1 + t) − t, accurate near 0."""
    if abs(t) > 0.01:
        return math.log1p(t) - t
    return sum((-1.0) ** (k + 1) * t**k / k for k in range(2, 10))
