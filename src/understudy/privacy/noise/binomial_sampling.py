"""Exactly binomial numbers: how many of n independent trials succeed, whatever n and p are.

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
comparison as in `understudy.privacy.noise.inversion_sampling`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from understudy.privacy.noise.inversion_sampling import exp_bracket
from understudy.privacy.noise.randomness import Randomness

__all__ = ["Enclosure", "successes", "survival"]

Enclosure = Callable[[int], tuple[int, int]]
"""bits → (low, high) with low ≤ 2^bits·p ≤ high; the gap tends to 0 against 2^bits."""

_WORD: Final = 64
_GUARD: Final = 128
"""More bits than are asked of F: errors of p count up to 2⁶² times in (1-p)ᵐ."""
_CHUNK: Final = 2**16


def survival(scale: Fraction, threshold: int) -> Enclosure:
    """P(noise ≥ threshold) of a discrete Laplace distribution: q^t/(1 + q), q = e^(-1/scale).

    Args:
        scale: of the distribution, positive.
        threshold: t, whole, at least 1.
    """

    def enclosed(bits: int) -> tuple[int, int]:
        one = 1 << bits
        low, high = exp_bracket(1 / scale, bits)
        least, most = exp_bracket(threshold / scale, bits)
        return (least << bits) // (one + high), min(one, -(-(most << bits) // (one + low)))

    return enclosed


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
    return _drawn(block, whole, probability, randomness) + _drawn(rest, 1, probability, randomness)


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


def _drawn(trials: int, size: int, probability: Enclosure, randomness: Randomness) -> int:
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
            _resolved(trials, int(word), probability, randomness) for word in words[left_open]
        )
    return total


def _resolved(trials: int, word: int, probability: Enclosure, randomness: Randomness) -> int:
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
