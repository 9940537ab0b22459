"""The draws of an urn: each record is one exactly uniform integer, a token.

Let the prior weight of a cell be A/2ᵏ. Record i of an urn with n real records and K cells draws a
token below K·A + 2ᵏ(n + i), or below K·A + 2ᵏn if draws add no weight. The first K·A tokens are the
prior's, A for each cell in turn; so such a token also names its cell, and nothing is looked up. Of
those that follow, 2ᵏ belong to each real record, and then 2ᵏ to each synthetic record so far, of
which the new one is a copy. All decisions compare integers, so the distribution is exact.

A draw is a function of the word stream. When a buffer of words ends within a draw, that draw is
repeated on the same words and fresh ones behind them; starting it again would favour draws that
need few words.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.rejection_sampling import compiled

__all__ = ["draw_urn"]

_CHUNK_WORDS: Final = 2**16
_LARGEST_TOTAL: Final = 2**63

_Words = NDArray[np.uint64]
_Integers = NDArray[np.int64]


def draw_urn(
    counts: _Integers,
    n_cells: int,
    prior: Fraction,
    n_rows: int,
    *,
    reinforced: bool,
    randomness: Randomness,
) -> _Integers:
    """Draw records from urns, one urn per repetition, exactly.

    Cost: one word and about 10 ns a record (20 ns where real records and prior are equally likely),
    as long as 2ᵏ(n + ñ) + K·2ᵏα < 2⁶³; beyond that Python integers take about 3 µs a record.

    Args:
        counts: real records in the listed cells, shape (repetitions, J); all cells that are not
            listed hold none.
        n_cells: allowed cells K, listed or not.
        prior: weight of each cell, in records, as from `prior_weight`.
        n_rows: records to draw in each repetition.
        reinforced: whether draws add to the weight of their cell.
        randomness: source of every draw.

    Returns:
        Shape (repetitions, n_rows). A number r ≥ 0 is a place among the listed cells. A number
        below 0 was drawn from the prior: cell number −1 − r (in NumPy: ``~r``) of the K allowed
        ones, listed ones included.

    Raises:
        ValueError: no cell, a negative n_rows, or a prior that is not a positive multiple of 2⁻ᵏ.

    Example:
        >>> from understudy.privacy.noise.randomness import SeededRandomness
        >>> one = SeededRandomness(1)
        >>> draw_urn(np.array([[9, 5]]), 3, Fraction(2), 8, reinforced=True, randomness=one)
        array([[-1, -1, -1,  1, -3,  0,  0,  0]])
    """
    unit = prior.denominator
    if n_cells < 1 or n_rows < 0 or prior <= 0 or unit & (unit - 1):
        raise ValueError("draw_urn: expected cells, rows and a positive multiple of 2**-k")
    drawn = np.empty((len(counts), n_rows), dtype=np.int64)
    ends = np.cumsum(counts, axis=1, dtype=np.int64)
    most = (int(ends.max(initial=0)) + n_rows) * unit + n_cells * prior.numerator
    if most >= _LARGEST_TOTAL:
        _fill_wide(drawn, (ends, unit, prior.numerator, n_cells, reinforced), randomness)
        return drawn
    terms = (ends, unit.bit_length() - 1, prior.numerator, n_cells, reinforced)
    done, words = 0, np.empty(0, dtype=np.uint64)
    while done < drawn.size:
        fresh = randomness.words(min(_CHUNK_WORDS, drawn.size - done + 16))
        words = np.concatenate((words, fresh))
        done, used = _fill(words, drawn, done, terms)
        words = words[used:]
    return drawn


@compiled
def _product_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """⌊ab / 2⁶⁴⌋ (kernel)."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    low, high = b & mask, b >> half
    middle = (a >> half) * low + (((a & mask) * low) >> half)
    other = (a & mask) * high + (middle & mask)
    return (a >> half) * high + (middle >> half) + (other >> half)


@compiled
def _token(words: _Words, cursor: _Integers, total: np.uint64) -> np.uint64:
    """Return an integer exactly uniform on {0, …, total − 1}, total ≤ 2⁶³ (kernel).

    ⌊w·total/2⁶⁴⌋, where words are redrawn that would give some tokens one word more than others
    (Lemire 2019, "Fast random integer generation in an interval"). Past the end of the words the
    cursor moves on and the draw is to be dropped.
    """
    at = cursor[0]
    while True:
        word = words[at] if at < words.size else np.uint64(0)
        at += 1
        rest = word * total
        if at > words.size or rest >= total or rest >= (np.uint64(0) - total) % total:
            cursor[0] = at
            return _product_high(word, total)


@compiled
def _place(ends: _Integers, r: int, record: np.int64) -> int:
    """The first place whose cumulative count in row r exceeds `record` (kernel, binary search)."""
    low, length = 0, ends.shape[1]
    while length > 1:
        half = length >> 1
        low += half * np.int64(ends[r, low + half - 1] <= record)
        length -= half
    return low


@compiled
def _fill(
    words: _Words,
    drawn: _Integers,
    done: int,
    terms: tuple[_Integers, int, int, int, bool],
) -> tuple[int, int]:
    """Fill `drawn` from flat index `done`; (records complete, words used by them) (kernel)."""
    ends, digits, weight, n_cells, reinforced = terms
    shift, share = np.uint64(digits), np.uint64(weight)
    mass = share * np.uint64(n_cells)
    cursor = np.zeros(1, dtype=np.int64)
    n_rows, listed = drawn.shape[1], ends.shape[1]
    r = done // n_rows
    i = done - r * n_rows
    for index in range(done, drawn.size):
        start = cursor[0]
        n = ends[r, listed - 1] if listed else 0
        weighty = np.uint64(n + i if reinforced else n)
        token = _token(words, cursor, (weighty << shift) + mass)
        if cursor[0] > words.size:
            return index, start
        if token < mass:
            drawn[r, i] = -1 - np.int64(token // share)
        else:
            record = np.int64((token - mass) >> shift)
            drawn[r, i] = _place(ends, r, record) if record < n else drawn[r, record - n]
        i += 1
        if i == n_rows:
            r, i = r + 1, 0
    return drawn.size, cursor[0]


def _fill_wide(
    drawn: _Integers, terms: tuple[_Integers, int, int, int, bool], randomness: Randomness
) -> None:
    """The same with integers of any size, one record at a time."""
    ends, unit, weight, n_cells, reinforced = terms
    mass = n_cells * weight
    for records, row in zip(drawn, ends, strict=True):
        n = int(row[-1]) if len(row) else 0
        for i in range(len(records)):
            token = _below((n + i * reinforced) * unit + mass, randomness)
            record = (token - mass) // unit
            if token < mass:
                records[i] = ~(token // weight)
            elif record < n:
                records[i] = np.searchsorted(row, record, side="right")
            else:
                records[i] = records[record - n]


def _below(bound: int, randomness: Randomness) -> int:
    """An integer exactly uniform on {0, …, bound − 1}, of any size, by rejection."""
    digits = bound.bit_length()
    n_words = -(-digits // 64)
    while True:
        bits = int.from_bytes(randomness.words(n_words).tobytes(), "little")
        if (token := bits >> (64 * n_words - digits)) < bound:
            return token
