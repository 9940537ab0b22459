"""Where a noisy line of numbers holds records at all, and how its tails run out.

Bounds are often many times wider than the data. Then most states of a column hold nobody, and the
positive part of their noise would become records that lie far out: a few of them decide a mean and
a standard deviation. So before a noisy table is smoothed (`models.share_tree`),

* **open states** are told from empty ones. A stretch of 1, 2, 4, … closed states opens if its noisy
  sum is above `FIRM` standard deviations of its own noise, and a stretch of up to four next to an
  open state if it is above `NEAR`: records are likelier beside others. So does what lies between
  open states and is no longer than all of them together: few columns have holes of that size, and
  with little budget noise makes them. What is left is empty, as long as noise alone explains how
  many records the open states lack; else the thresholds fall, those beside open states first.
* **bounds** hold what is beyond them. A narrow bin at a bound that is open while its neighbour is
  empty keeps its noisy count: the rest of the line says nothing of a heap of top codes.
* **tails** of about `TAIL` standard deviations of noise are given the shape of a generalised Pareto
  distribution, to which tails beyond high thresholds tend. Its scale and shape have a grid of
  values, and a tail the mean over the grid, weighted by how likely each makes the noisy counts. So
  single records that no noisy count can show lie as the rest of the tail lets one expect. A tail
  that holds a heap, a cap or a second hill, which the distribution misses clearly, begins beyond
  it.

All of it is post-processing of released values.

Sources: Pickands (1975), Annals of Statistics 3(1), for the tails; scans over stretches of all
lengths, Glaz, Naus & Wallenstein (2001), "Scan statistics".
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers
from understudy.models.share_tree import denoised
from understudy.models.within_bins import bins_on_line, ends_apart, state_widths
from understudy.schema import Calendar, Continuous, Integer

FIRM, NEAR = 4.5, 2.0
"""Standard deviations of noise from which on a stretch of states by itself, or beside an open one,
is not explained by noise."""
AT_BOUNDS = 3.3
"""The same of the states at the bounds, onto which everything beyond is clipped."""
HEAVIER = 1.5
"""By how much these are higher for noise of Laplace."""
LEAST_HELD = 0.5
"""Estimated records from which on a state holds any."""
TAIL = 16.0
"""Records of a tail, in standard deviations of the noise of a state."""
_LOWER = (
    *((1.0, 1.0), (1.0, 0.75), (1.0, 0.5), (1.0, 0.35)),
    *((0.85, 0.5), (0.75, 0.5), (0.5, 0.5), (0.25, 0.25)),
)
"""Parts of `FIRM` and `NEAR` that are tried in turn: what open states lack is likelier beside them
than far out, where one false stretch decides a mean."""
_BESIDE = (1, 2, 4)
_LACK = 3.0
_APART = 3  # bins from one part of a column to another
_MOST = 0.25  # of all records, in a tail
_MISSED = 4.0  # standard deviations by which a count is clearly missed
_SHAPES = np.linspace(-0.5, 0.5, 11)
_SHAPE = (0.1, 0.2)  # prior mean and deviation of the shape
_SCALES = 40

Mask = NDArray[np.bool_]


def held_states(
    column: Integer | Continuous | Calendar,
    counts: Floats,
    stddev: float,
    inside: float,
    *,
    normal: bool = True,
) -> Mask:
    """Which states of a column of numbers hold records: open ones, and all codes of absence.

    Args:
        column: in the bins that the states are of.
        counts: noisy ones, shape (`column.size`,).
        stddev: of the noise in each.
        inside: records in all states.
        normal: whether noise is.
    """
    held, ordinary = np.ones(column.size, dtype=np.bool_), column.n_ordinary
    total = inside - float(counts[ordinary:].sum())
    held[:ordinary] = open_states(counts[:ordinary], stddev, total, normal=normal)
    return held


def estimated_records(
    column: Integer | Continuous | Calendar, counts: Floats, stddev: float, total: float, held: Mask
) -> Floats:
    """Records in each state: smooth between the states that hold any, and at the tails.

    Args:
        column: in the bins that the states are of.
        counts: noisy ones, shape (`column.size`,).
        stddev: of the noise in each.
        total: of the estimates.
        held: which states hold records; others have their part of a tail alone.
    """
    bins, edges = bins_on_line(column)
    clipped = np.zeros(column.size, dtype=np.bool_)
    clipped[bins[ends_apart(edges, held[bins].astype(np.float64))]] = True
    own = np.where(clipped, np.clip(counts, 0.0, max(total, 0.0) / 2), 0.0)
    widths = np.where(held & ~clipped, state_widths(column), 0.0)
    masses = own + denoised(counts, stddev, total=total - own.sum(), widths=widths)
    masses[bins] = with_tails(masses[bins], counts[bins], stddev, edges, held[bins])
    return masses


def with_runs(
    masses: Floats, stddev: float, runs: Integers, noisy: Floats, spread: float
) -> Floats:
    """Masses whose sums over runs of states are averaged, by precision, with noisy counts of runs.

    Args:
        masses: estimated records in each state, shape (K,).
        stddev: of the noise in a state.
        runs: run of each state, numbered from 0, shape (K,).
        noisy: counts of the runs, shape (runs,).
        spread: standard deviation of their noise.
    """
    sums, held = np.bincount(runs, masses), np.bincount(runs, masses > LEAST_HELD)
    own, other = np.maximum(held, 1) * stddev**2, spread**2
    wanted = np.maximum((sums * other + noisy * own) / (own + other), LEAST_HELD)
    scaled = masses * (wanted / np.where(sums > 0, sums, 1.0))[runs]
    return np.asarray(scaled * (masses.sum() / max(scaled.sum(), LEAST_HELD)))


def open_states(noisy: Floats, stddev: float, total: float, *, normal: bool = True) -> Mask:
    """Which states hold records, as far as noise does not explain their counts.

    Args:
        noisy: counts of ordered states, shape (K,).
        stddev: of the noise in each.
        total: records in all of them.
        normal: whether noise is; that of Laplace has heavier tails.

    Returns:
        Shape (K,); all True if the counts do not tell.

    Example:
        >>> open_states(np.array([3.0, -4, 60, 90, 8, 5, -6, 2]), 5.0, 160).astype(int).tolist()
        [0, 0, 1, 1, 0, 0, 0, 0]
    """
    if stddev <= 0:
        return noisy > 0 if (noisy > 0).any() else np.ones(len(noisy), dtype=np.bool_)
    for parts in _LOWER:
        found = _scanned(noisy / stddev, *(part * (1.0 if normal else HEAVIER) for part in parts))
        lack = (total - noisy[found].sum()) / stddev
        if found.any() and lack <= _LACK * np.sqrt(found.sum()):
            return _filled(found)
    return np.ones(len(noisy), dtype=np.bool_)


def _filled(found: Mask) -> Mask:
    """With the closed stretches between open states that are no longer than all open ones."""
    filled, places = found.copy(), np.flatnonzero(found)
    for before, after in pairwise(places):
        if after - before - 1 <= len(places):
            filled[before:after] = True
    return filled


def _scanned(scaled: Floats, part: float, beside: float) -> Mask:
    """Open states at these parts of the thresholds; counts in units of the noise."""
    found = np.zeros(len(scaled), dtype=np.bool_)
    found[[0, -1]] = scaled[[0, -1]] > AT_BOUNDS * part
    length = 1
    while length <= len(scaled):
        for start in _stretches(scaled, found, length, FIRM * part):
            found[start : start + length] = True
        length *= 2
    return _grown(scaled, found, NEAR * beside)


def _stretches(scaled: Floats, found: Mask, length: int, least: float) -> list[int]:
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


def _grown(scaled: Floats, found: Mask, least: float) -> Mask:
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


def with_tails(masses: Floats, noisy: Floats, stddev: float, edges: Floats, held: Mask) -> Floats:
    """Masses whose tails at both ends are smooth; the sum of each tail is kept.

    The ends are those of the part with the most records; what lies far beyond it, with empty bins
    between, stays as it is. So do tails that are shorter than what lies between them: how records
    lie there matters little, and the shape of a long tail is no guide to it.

    Args:
        masses: estimated records of the bins, none negative, shape (bins,).
        noisy: their noisy counts, same shape.
        stddev: of the noise in each.
        edges: of the bins, ascending, shape (bins + 1,).
        held: which bins are open, shape (bins,).
    """
    smooth, (first, last) = masses.copy(), _largest(masses, held)
    if stddev <= 0 or last - first < 2:
        return smooth
    own, line = noisy[first:last], edges[first : last + 1]
    upper = _tailed(masses[first:last], own, stddev, line)
    smooth[first:last] = _tailed(upper[::-1], own[::-1], stddev, -line[::-1])[::-1]
    return smooth


def _largest(masses: Floats, held: Mask) -> tuple[int, int]:
    """The part with the most records, and the empty bins up to the next one on either side."""
    found = np.flatnonzero(held)
    if not len(found):
        return 0, 0
    parts = np.split(found, np.flatnonzero(np.diff(found) > _APART) + 1)
    most = int(np.argmax([masses[part].sum() for part in parts]))
    first = int(parts[most - 1][-1]) + 1 if most > 0 else 0
    last = int(parts[most + 1][0]) if most + 1 < len(parts) else len(masses)
    return first, last


def _tailed(masses: Floats, noisy: Floats, stddev: float, edges: Floats) -> Floats:
    """The same for the upper end."""
    beyond = np.cumsum(masses[::-1])[::-1]
    enough = min(TAIL * stddev, _MOST * beyond[0])
    if enough < TAIL * stddev / 2:
        return masses
    start = int(np.flatnonzero(beyond >= enough)[-1])
    middle = edges[start] - edges[int(np.searchsorted(beyond[0] - beyond, enough))]
    if edges[-1] - edges[start] < middle:
        return masses
    while beyond[start] >= TAIL * stddev / 2 and start < len(masses) - 1:
        mass, own = float(beyond[start]), noisy[start:]
        tail = mass * _tail_shares(own, mass, stddev, edges[start:] - edges[start])
        missed = np.flatnonzero(np.abs(own - tail) > _MISSED * stddev)
        if not len(missed):
            return np.concatenate([masses[:start], tail])
        start += int(missed[-1]) + 1
        if start >= len(masses):
            break
    return masses


def _tail_shares(noisy: Floats, mass: float, stddev: float, places: Floats) -> Floats:
    """Mean shares of the bins of a tail, from 0 on, over the grid of distributions."""
    scales = np.geomspace(places[1] / 8, places[-1], _SCALES)
    below = _below(places, scales[:, None, None], _SHAPES[:, None])
    shares = np.diff(below, axis=-1)
    misfit = (((noisy - mass * shares) / stddev) ** 2).sum(axis=-1)
    logs = -misfit / 2 - ((_SHAPES - _SHAPE[0]) / _SHAPE[1]) ** 2 / 2
    weights = np.exp(logs - logs.max())
    return np.asarray(np.tensordot(weights / weights.sum(), shares, axes=2))


def _below(places: Floats, scales: Floats, shapes: Floats) -> Floats:
    """Generalised Pareto distribution functions, cut at the last place."""
    along = places / scales
    flat = np.abs(shapes) < 1e-9
    power = np.where(flat, 1.0, shapes)
    inside = np.maximum(1 + power * along, 0.0)
    with np.errstate(divide="ignore"):
        left = np.where(flat, np.exp(-along), inside ** (-1 / power))
    below = 1 - left
    return np.asarray(below / below[..., -1:])
