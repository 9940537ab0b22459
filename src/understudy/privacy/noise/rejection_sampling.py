"""Exact noise by rejection: the samplers of Canonne, Kamath and Steinke, on integers only.

Every decision compares uniform integers, made from 64-bit words by rejection, with integers, so
the distributions are exact: there is no floating-point number in this file (Mironov 2012 shows what
those give away). Two building blocks carry everything.

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
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import compiled
from understudy.privacy.noise.randomness import Randomness

__all__ = [
    "GAUSSIAN_VARIANCE",
    "LAPLACE_TERMS",
    "bernoulli_exp",
    "compiled",
    "discrete_gaussian",
    "discrete_laplace",
    "exp_trial",
    "exponential",
    "fill",
    "word_below",
]

LAPLACE_TERMS: Final = 2**40
"""Largest numerator and denominator of a Laplace scale, and largest denominator anywhere."""

GAUSSIAN_VARIANCE: Final = 2**60
"""Largest numerator of a Gaussian variance; then b·t² ≤ 4a ≤ 2⁶² in `_gaussian`."""

_LONGEST_RUN: Final = 2**20
_CHUNK_WORDS: Final = 2**16
_WORDS_PER_DRAW: Final = 16

_Words = NDArray[np.uint64]
_Integers = NDArray[np.int64]
_Ratio = tuple[int, int]

_ONE: Final = cast(_Ratio, (np.int64(1), np.int64(1)))
"""Not of Python's integers, which the compiler takes for literals, with kernels of their own."""


# Kernels. `cursor` holds the index of the next word. Past the end a word reads as 0, the cursor
# keeps moving, and every loop ends; the caller sees `cursor[0] > words.size` and drops the draw.


@compiled(inline="always")
def _word(words: _Words, cursor: _Integers) -> np.uint64:
    at = cursor[0]
    cursor[0] = at + 1
    if at < words.size:
        return words[at]  # type: ignore[no-any-return]
    return np.uint64(0)


@compiled(inline="always")
def word_below(words: _Words, cursor: _Integers, bound: int) -> int:
    """Return an integer exactly uniform on {0, …, bound - 1}, 1 ≤ bound < 2⁶³ (kernel)."""
    size = np.uint64(bound)
    while True:
        word = _word(words, cursor)
        rest = word % size
        # `word - rest` starts a block of `size` words; keep it if the block ends by 2**64.
        if word - rest <= np.uint64(0) - size:
            return np.int64(rest)  # type: ignore[return-value]


@compiled(no_cpython_wrapper=True)
def _exp_chain(words: _Words, cursor: _Integers, first: _Ratio, second: _Ratio) -> bool:
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
def _exp_product(words: _Words, cursor: _Integers, part: _Ratio, rate: _Ratio) -> bool:
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
def exp_trial(words: _Words, cursor: _Integers, rate: _Ratio) -> bool:
    """Bernoulli(exp(-rate)), rate = (numerator, denominator) ≥ 0 of any size (kernel)."""
    return _exp_product(words, cursor, _ONE, rate)


@compiled(no_cpython_wrapper=True)
def exponential(words: _Words, cursor: _Integers, t: int) -> tuple[int, int]:
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
def _laplace(words: _Words, cursor: _Integers, scale: _Ratio) -> int:
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
    words: _Words, cursor: _Integers, y: tuple[int, int], variance: _Ratio, t: int
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
def _gaussian(words: _Words, cursor: _Integers, variance: _Ratio, t: int) -> int:
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
def _fill_exp(words: _Words, cursor: _Integers, out: _Integers, rate: _Ratio) -> None:
    for index in range(cursor[1], out.size):
        start = cursor[0]
        value = exp_trial(words, cursor, rate)
        if cursor[0] > words.size:
            cursor[0] = start
            return
        out[index] = value
        cursor[1] = index + 1


@compiled
def _fill_laplace(words: _Words, cursor: _Integers, out: _Integers, scale: _Ratio) -> None:
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
    words: _Words, cursor: _Integers, out: _Integers, variance: _Ratio, t: int
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
) -> _Integers:
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
