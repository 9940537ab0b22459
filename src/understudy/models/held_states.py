"""Where a noisy line of numbers holds records at all.

Bounds are often many times wider than the data. Then most states of a column hold nobody, and the
positive part of their noise would become records that lie far out: a few of them decide a mean and
a standard deviation. So open states are told from empty ones. A stretch of 1, 2, 4, … closed states
opens if its noisy sum is above `FIRM` standard deviations of its own noise, and a stretch of up to
four next to an open state if it is above `NEAR`: records are likelier beside others. So does what
lies between open states and is no longer than all of them together: few columns have holes of that
size, and with little budget noise makes them. What is left is empty, as long as noise alone
explains how many records the open states lack; else the thresholds fall, those beside open states
first.

All of it is post-processing of released values.

Source: scans over stretches of all lengths, Glaz, Naus & Wallenstein (2001), "Scan statistics".
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from understudy.arrays import Flags, Floats
from understudy.schema import Calendar, Continuous, Integer

FIRM, NEAR = 4.5, 2.0
"""Standard deviations of noise from which on a stretch of states by itself, or beside an open one,
is not explained by noise."""
AT_BOUNDS = 3.3
"""The same of the states at the bounds, onto which everything beyond is clipped."""
HEAVIER = 1.5
"""By how much these are higher for noise of Laplace."""
_LOWER = (
    *((1.0, 1.0), (1.0, 0.75), (1.0, 0.5), (1.0, 0.35)),
    *((0.85, 0.5), (0.75, 0.5), (0.5, 0.5), (0.25, 0.25)),
)
"""Parts of `FIRM` and `NEAR` that are tried in turn: what open states lack is likelier beside them
than far out, where one false stretch decides a mean."""
_CERTAIN = ((1.25, 1.25),)
"""The same where thousands of states are scanned and no stretch may open by chance."""
_BESIDE = (1, 2, 4)
_LACK = 3.0


def held_states(
    column: Integer | Continuous | Calendar,
    counts: Floats,
    stddev: Floats,
    inside: float,
    *,
    normal: bool = True,
) -> Flags:
    """Which states of a column of numbers hold records: open ones, and all codes of absence.

    Args:
        column: in the bins that the states are of.
        counts: noisy ones, shape (`column.size`,).
        stddev: of the noise in each, same shape.
        inside: records in all states.
        normal: whether noise is.
    """
    held, ordinary = np.ones(column.size, dtype=np.bool_), column.n_ordinary
    total = inside - float(counts[ordinary:].sum())
    held[:ordinary] = open_states(counts[:ordinary], stddev[:ordinary], total, normal=normal)
    return held


def open_states(
    noisy: Floats, stddev: Floats, total: float, *, normal: bool = True, certain: bool = False
) -> Flags:
    """Which states hold records, as far as noise does not explain their counts.

    Args:
        noisy: counts of ordered states, shape (K,).
        stddev: of the noise in each, same shape.
        total: records in all of them.
        normal: whether noise is; that of Laplace has heavier tails.
        certain: whether thresholds are higher, those at the bounds as well, and do not fall where
            open states lack records.

    Returns:
        Shape (K,); all True if the counts do not tell.

    Example:
        >>> noisy = np.array([3.0, -4, 60, 90, 8, 5, -6, 2])
        >>> open_states(noisy, np.full(8, 5.0), 160).astype(int).tolist()
        [0, 0, 1, 1, 0, 0, 0, 0]
    """
    if not stddev.all():
        return noisy > 0 if (noisy > 0).any() else np.ones(len(noisy), dtype=np.bool_)
    at_bounds = FIRM if certain else AT_BOUNDS
    for parts in _CERTAIN if certain else _LOWER:
        firm, near = (part * (1.0 if normal else HEAVIER) for part in parts)
        found = _scanned(noisy / stddev, firm, near, at_bounds)
        lack = total - noisy[found].sum()
        if found.any() and lack <= _LACK * np.linalg.norm(stddev[found]):
            return _filled(found)
    return np.ones(len(noisy), dtype=np.bool_)


def _filled(found: Flags) -> Flags:
    """With the closed stretches between open states that are no longer than all open ones."""
    filled, places = found.copy(), np.flatnonzero(found)
    for before, after in pairwise(places):
        if after - before - 1 <= len(places):
            filled[before:after] = True
    return filled


def _scanned(scaled: Floats, part: float, beside: float, at_bounds: float) -> Flags:
    """Open states at these parts of the thresholds; counts in units of the noise."""
    found = np.zeros(len(scaled), dtype=np.bool_)
    found[[0, -1]] = scaled[[0, -1]] > at_bounds * part
    length = 1
    while length <= len(scaled):
        for start in _stretches(scaled, found, length, FIRM * part):
            found[start : start + length] = True
        length *= 2
    return _grown(scaled, found, NEAR * beside)


def _stretches(scaled: Floats, found: Flags, length: int, least: float) -> list[int]:
    """Where closed stretches begin that are clear by themselves, best ones first, none twice."""
    sums = _moving(scaled, length) / np.sqrt(length)
    taken = found.copy()
    kept = []
    for start in np.argsort(-sums, kind="stable"):
        if sums[start] <= least:
            break
        if not taken[start : start + length].any():
            taken[start : start + length] = True
            kept.append(int(start))
    return kept


def _grown(scaled: Floats, found: Flags, least: float) -> Flags:
    """With the stretches beside open states that have more than noise, again and again."""
    grown = found.copy()
    while True:
        before = grown.copy()
        for length in _BESIDE:
            if length >= len(scaled):
                break
            sums = _moving(scaled, length) / np.sqrt(length)
            closed = _moving((~grown).astype(np.float64), length) > length - 0.5
            after = np.append(grown[length:], False)
            prior = np.insert(grown[:-length], 0, False)
            for start in np.flatnonzero(closed & (after | prior) & (sums > least)):
                grown[start : start + length] = True
        if (grown == before).all():
            return grown


def _moving(values: Floats, length: int) -> Floats:
    """Sums of `length` values next to each other."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    return np.asarray(sums[length:] - sums[:-length])
