"""Records in each state of a noisy line of numbers: smooth ones, and how its tails run out.

Which states hold records at all is known before (`models.held_states`). A noisy table of these is
smoothed (`models.share_tree`), but for

* **bounds**, which hold what is beyond them. A narrow bin at a bound that is open while the one
  beside it is empty keeps its noisy count: the rest of the line says nothing of a heap of top
  codes.
* **heaps**, bins of one value that hold more than all bins beside them: they are no part of a tail
  (`models.within_bins`).
* **tails** of about `TAIL` standard deviations of noise. They are given the shape of a generalised
  Pareto distribution, to which tails beyond high thresholds tend. Its scale and shape have a grid
  of values, and so has how rough the tail is (even numbers, multiples of 5). A tail has the mean
  over the grid, weighted by how likely each makes the noisy counts, and how likely the body makes
  the shape. So single records that no noisy count can show are as many, and lie, as the rest of the
  column lets one expect. A tail that holds a heap, a cap or a second hill, which the distribution
  misses clearly, begins beyond it.

All of it is post-processing of released values.

Source: Pickands (1975), Annals of Statistics 3(1), for the tails.
"""

from __future__ import annotations

import numpy as np

from understudy.arrays import Flags, Floats, Integers
from understudy.models.share_tree import denoised
from understudy.models.within_bins import (
    bins_on_line,
    ends_apart,
    heaps_on_line,
    state_widths,
    without,
)
from understudy.schema import Calendar, Continuous, Integer

LEAST_HELD = 0.5
"""Estimated records from which on a state holds any."""
TAIL = 16.0
"""Records of a tail, in standard deviations of the noise of a state."""
_CLEAR = 5.0  # standard deviations of its noise above which a count is no noise
_APART = 3  # bins from one part of a column to another
_MOST = 0.25  # of all records, in a tail
_MISSED = 4.0  # standard deviations by which a count is clearly missed
_SHAPES = np.linspace(-0.5, 0.5, 11)
_LIGHT, _SKEWED, _LIMITS = -0.15, 0.23, (-0.3, 0.35)  # prior mean of the shape, by the body's skew
_SPREAD = 0.15  # and its deviation
_HEAP = 0.25  # of the records in one state
_SCALES = 40
_ROUGHNESS = np.array([0.0, 0.3, 0.8])  # deviation of a state from the tail, in parts of its own
_ODDS = np.array([1.0, 0.1, 0.1])
_DOUBT = 0.3  # deviation of how many records a tail has, in parts of those in open states


def estimated_records(
    column: Integer | Continuous | Calendar,
    counts: Floats,
    stddev: Floats,
    total: float,
    held: Flags,
) -> Floats:
    """Records in each state: smooth between the states that hold any, and at the tails.

    Args:
        column: in the bins that the states are of.
        counts: noisy ones, shape (`column.size`,).
        stddev: of the noise in each, same shape.
        total: of the estimates.
        held: which states hold records; others have their part of a tail alone.
    """
    bins, edges, single = bins_on_line(column)
    heaps = heaps_on_line(edges, np.where(held[bins], counts[bins], 0.0), single)
    heaps &= counts[bins] > _CLEAR * stddev[bins]
    clipped = np.zeros(column.size, dtype=np.bool_)
    clipped[bins[ends_apart(edges, held[bins].astype(np.float64))]] = True
    own = np.where(clipped, np.maximum(counts, 0.0), 0.0)
    own *= min(1.0, max(total, 0.0) / max(float(own.sum()), LEAST_HELD))
    widths = np.where(held & ~clipped, state_widths(column), 0.0)
    masses = own + denoised(counts, stddev, total=total - own.sum(), widths=widths)
    line = bins[~heaps]
    cut = without(edges, heaps)
    masses[line] = with_tails(masses[line], counts[line], stddev[line], cut, held[line])
    return masses


def with_runs(
    masses: Floats, stddev: Floats, runs: Integers, noisy: Floats, spread: float
) -> Floats:
    """Masses whose sums over runs of states are averaged, by precision, with noisy counts of runs.

    Args:
        masses: estimated records in each state, shape (K,).
        stddev: of the noise in each, same shape.
        runs: run of each state, numbered from 0, shape (K,).
        noisy: counts of the runs, shape (runs,).
        spread: standard deviation of their noise.
    """
    sums, variances = np.bincount(runs, masses), stddev**2
    own = np.bincount(runs, np.where(masses > LEAST_HELD, variances, 0.0))
    own, other = np.maximum(own, variances.min()), spread**2
    wanted = np.maximum((sums * other + noisy * own) / (own + other), LEAST_HELD)
    scaled = masses * (wanted / np.where(sums > 0, sums, 1.0))[runs]
    return np.asarray(scaled * (masses.sum() / max(scaled.sum(), LEAST_HELD)))


def with_tails(masses: Floats, noisy: Floats, stddev: Floats, edges: Floats, held: Flags) -> Floats:
    """Masses whose tails at both ends are smooth; the sum of all is kept.

    The ends are those of the part with the most records; what lies far beyond it, with empty bins
    between, stays as it is.

    Args:
        masses: estimated records of the bins, none negative, shape (bins,).
        noisy: their noisy counts, same shape.
        stddev: of the noise in each, same shape.
        edges: of the bins, ascending, shape (bins + 1,).
        held: which bins are open, shape (bins,).
    """
    smooth, (first, last) = masses.copy(), _largest(masses, held)
    if not stddev.all() or last - first < 2:
        return smooth
    own, noise, line = noisy[first:last], stddev[first:last], edges[first : last + 1]
    upper = _tailed(masses[first:last], own, noise, line)
    smooth[first:last] = _tailed(upper[::-1], own[::-1], noise[::-1], -line[::-1])[::-1]
    return smooth


def _largest(masses: Floats, held: Flags) -> tuple[int, int]:
    """The part with the most records, and the empty bins up to the next one on either side."""
    found = np.flatnonzero(held)
    if not len(found):
        return 0, 0
    parts = np.split(found, np.flatnonzero(np.diff(found) > _APART) + 1)
    most = int(np.argmax([masses[part].sum() for part in parts]))
    first = int(parts[most - 1][-1]) + 1 if most > 0 else 0
    last = int(parts[most + 1][0]) if most + 1 < len(parts) else len(masses)
    return first, last


def _tailed(masses: Floats, noisy: Floats, stddev: Floats, edges: Floats) -> Floats:
    """The same for the upper end."""
    beyond = np.cumsum(masses[::-1])[::-1]
    usual = TAIL * float(np.median(stddev))
    enough = min(usual, _MOST * beyond[0])
    if enough < usual / 2:
        return masses
    start, expected = int(np.flatnonzero(beyond >= enough)[-1]), _expected_shape(masses, edges)
    while beyond[start] >= usual / 2 and start < len(masses) - 1:
        own, noise = noisy[start:], stddev[start:]
        places = edges[start:] - edges[start]
        tail, off = _fitted_tail(own, float(beyond[start]), noise, places, expected)
        missed = np.flatnonzero(np.abs(off) > _MISSED)
        if not len(missed):
            rest = (beyond[0] - tail.sum()) / (beyond[0] - beyond[start] or 1.0)
            smooth = np.concatenate([masses[:start] * max(rest, 0.0), tail])
            return np.asarray(smooth * (beyond[0] / smooth.sum())) if smooth.any() else masses
        start += int(missed[-1]) + 1
        if start >= len(masses):
            break
    return masses


def _expected_shape(masses: Floats, edges: Floats) -> float:
    """Shape that the body lets one expect: of lognormal numbers it grows by .3 of their deviation.

    It follows how much farther the upper decile is from the median than the lower one, heaps left
    out.
    """
    spread = np.where(masses > _HEAP * masses.sum(), 0.0, masses)
    if not spread.any():
        return _LIGHT
    ranks = np.append(0.0, np.cumsum(spread)) / spread.sum()
    low, middle, high = np.interp((0.1, 0.5, 0.9), ranks, edges)
    least = edges[-1] - edges[0]
    skew = np.log(max(high - middle, 1e-9 * least) / max(middle - low, 1e-9 * least))
    return float(np.clip(_LIGHT + _SKEWED * skew, *_LIMITS))


def _fitted_tail(
    noisy: Floats, mass: float, stddev: Floats, places: Floats, expected: float
) -> tuple[Floats, Floats]:
    """Mean records of the bins of a tail, from 0 on, over the grid of distributions.

    States that seem empty hold part of it, so how many records it has is fitted as well: by normal
    counts, from a normal prior about those that the states held, cut at 0. Where numbers lie on
    heaps no distribution fits the states: those of a rough tail deviate from it, and what noise
    does not explain of that stays with them.

    Returns:
        Records, and by how many standard deviations, of noise and roughness, the noisy counts are
        off the distribution; both of shape (bins,).
    """
    scales = np.geomspace(places[1] / 8, places[-1], _SCALES)
    below = _below(places, scales[:, None, None], _SHAPES[:, None])
    shares = np.diff(below, axis=-1)
    uneven = (_ROUGHNESS[:, None, None, None] * shares * mass) ** 2
    variances = uneven + stddev**2
    precise = (shares**2 / variances).sum(axis=-1) + 1 / (_DOUBT * mass) ** 2
    told = (shares * noisy / variances).sum(axis=-1) + 1 / (_DOUBT**2 * mass)
    masses = np.maximum(told / precise, 0.0)
    prior = ((_SHAPES - expected) / _SPREAD) ** 2 + np.log(precise)
    missed = (noisy**2 / variances + np.log(variances)).sum(axis=-1)
    logs = (masses**2 * precise - prior - missed) / 2 + np.log(_ODDS)[:, None, None]
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    smooth = masses[..., None] * shares
    tails = smooth + uneven / variances * (noisy - smooth)
    means, tail, spread = (np.tensordot(weights, one, axes=3) for one in (smooth, tails, variances))
    return np.maximum(tail, 0.0), (noisy - means) / np.sqrt(spread)


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
