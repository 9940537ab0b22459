"""A noisy line of numbers: where it holds records, how many in each state, its tails.

**Where a noisy line of numbers holds records at all.**

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

**Records in each state of a noisy line of numbers: smooth ones, and how its tails run out.**

Which states hold records at all is known before (`models.number_line`). A noisy table of these is
smoothed (`models.number_line`), but for

* **bounds**, which hold what is beyond them. A narrow bin at a bound that is open while the one
  beside it is empty keeps its noisy count: the rest of the line says nothing of a heap of top
  codes.
* **heaps**, bins of one value that hold more than all bins beside them: they are no part of a tail
  (`models.numeric`).
* **tails** of about `TAIL` standard deviations of noise. They are given the shape of a generalised
  Pareto distribution, to which tails beyond high thresholds tend. Its scale and shape have a grid
  of values, and so has how rough the tail is (even numbers, multiples of 5). A tail has the mean
  over the grid, weighted by how likely each makes the noisy counts, and how likely the body makes
  the shape. So single records that no noisy count can show are as many, and lie, as the rest of the
  column lets one expect. A tail that holds a heap, a cap or a second hill, which the distribution
  misses clearly, begins beyond it.

All of it is post-processing of released values.

Source: Pickands (1975), Annals of Statistics 3(1), for the tails.

**Shares of many states from one noisy table: a tree of halves, with a prior that it learns.**

The states stand in a row, and the row is halved again and again. A part of mass M that is known
from above falls into a left half of mass θM and a right one of (1 − θ)M, of which noisy sums l and
r were released, with variances V and W. Given M, all they say of θM is

* z = (l·W + (M − r)·V)/(V + W), with variance V·W/(V + W).

The prior of θ is a mixture: the halves are as even as their widths; or unlike by a normal deviate
of one of four sizes, cut to [0, 1]; or one half is empty. Its weights are learned for each
layer from the noisy sums of that layer (empirical Bayes, by expectation–maximisation), so that a
smooth column is smoothed, while heaps, jumps and gaps stay. The posterior mean of θ takes the mass
one layer down. Nothing becomes negative, and the sum is kept.

Where halves begin is arbitrary: the result is the mean over 16 places of the row in its tree, for
unordered states over 16 fixed arrangements.

What is approximate: a part's mass is taken as known once the layers above gave it, and other noise
is treated as normal with the same variance. That costs accuracy, never privacy: all of it is
post-processing.

Sources: Haar wavelets with shifts, Coifman & Donoho (1995), "Translation-invariant de-noising";
multiscale priors of splits, Kolaczyk (1999), "Bayesian multiscale models for Poisson processes";
scale mixtures learned by empirical Bayes, Stephens (2017), "False discovery rates: a new deal".

A better one-way table from a noisy one: post-processing of released values alone.

A column of hundreds of states, bought with a small share of the budget, has more noise than
records in most of them. What is known beside the noisy counts: they are not negative, their sum
is known well, and states next to each other are often alike. `denoise` uses all three
(`tree_shares`).

When not: as data of a least-squares fit, or of an estimate that is to be unbiased. It pulls counts
towards smoothness, which lowers the total error and biases single counts.

**How records of divided bins lie in their parts, by noisy counts of these.**

A bin that was counted more finely (`understudy.methods.binning`) has up to two thousand
parts, most of them with far fewer records than noise. So

1. *peaks* are parts whose counts are clearly more than noise, and far more than the rest of the bin
   would put there. They keep their counts: noise alone makes none but in one of hundreds of divided
   bins, and a bin that is merely dense has none;
2. what is left of the bin lies where a scan of stretches finds records at all
   (`estimate_support`), and is smooth there (`denoise`); evenly
   in the whole bin where the scan does not tell.

Post-processing of released counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Flags, Floats, Integers
from understudy.models.numeric import bins_on_line, ends_apart, heaps_on_line, state_widths, without
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


def estimate_support(
    column: Integer | Continuous | Calendar,
    counts: Floats,
    stddev: Floats,
    inside: float,
    *,
    normal: bool = True,
) -> Flags:
    """Find the states of a column of numbers that hold records: open ones, and codes of absence.

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
    """Find the states that hold records, as far as noise does not explain their counts.

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
    heavier = 1.0 if normal else HEAVIER
    at_bounds = heavier * (_CERTAIN[0][0] * FIRM if certain else AT_BOUNDS)
    for parts in _CERTAIN if certain else _LOWER:
        firm, near = (part * heavier for part in parts)
        found = _scan_line(noisy / stddev, firm, near, at_bounds)
        lack = total - noisy[found].sum()
        if found.any() and lack <= _LACK * np.linalg.norm(stddev[found]):
            return _fill_gaps(found)
    return np.ones(len(noisy), dtype=np.bool_)


def _fill_gaps(found: Flags) -> Flags:
    """With the closed stretches between open states that are no longer than all open ones."""
    filled, places = found.copy(), np.flatnonzero(found)
    for before, after in pairwise(places):
        if after - before - 1 <= len(places):
            filled[before:after] = True
    return filled


def _scan_line(scaled: Floats, part: float, beside: float, at_bounds: float) -> Flags:
    """Open states at these parts of the thresholds; counts in units of the noise."""
    found = np.zeros(len(scaled), dtype=np.bool_)
    found[[0, -1]] = scaled[[0, -1]] > at_bounds
    length = 1
    while length <= len(scaled):
        for start in _stretches(scaled, found, length, FIRM * part):
            found[start : start + length] = True
        length *= 2
    return _grow_stretches(scaled, found, NEAR * beside)


def _stretches(scaled: Floats, found: Flags, length: int, least: float) -> list[int]:
    """Find where closed stretches begin that are clear by themselves, best first, none twice."""
    sums = _moving_sums(scaled, length) / np.sqrt(length)
    taken = found.copy()
    kept = []
    for start in np.argsort(-sums, kind="stable"):
        if sums[start] <= least:
            break
        if not taken[start : start + length].any():
            taken[start : start + length] = True
            kept.append(int(start))
    return kept


def _grow_stretches(scaled: Floats, found: Flags, least: float) -> Flags:
    """With the stretches beside open states that have more than noise, again and again."""
    grown = found.copy()
    while True:
        before = grown.copy()
        for length in _BESIDE:
            if length >= len(scaled):
                break
            sums = _moving_sums(scaled, length) / np.sqrt(length)
            closed = _moving_sums((~grown).astype(np.float64), length) > length - 0.5
            after = np.append(grown[length:], False)
            prior = np.insert(grown[:-length], 0, False)
            for start in np.flatnonzero(closed & (after | prior) & (sums > least)):
                grown[start : start + length] = True
        if (grown == before).all():
            return grown


def _moving_sums(values: Floats, length: int) -> Floats:
    """Sums of `length` values next to each other."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    return np.asarray(sums[length:] - sums[:-length])


ARRANGEMENTS = 16
_SIZES = (0.03, 0.1, 0.3, 2.0)  # of the deviates from even halves, in parts of M
_EVEN = 1.0  # prior number of even splits in a layer of each tree: doubt is for smoothness
_ROUNDS = 20
_LEAST = 1e-12  # least mass of a part, and its least deviation is 1000 times that; of a mass of 1
_HALF_LOG_2PI = 0.9189385332046727


def tree_shares(noisy: Floats, variance: Floats, widths: Floats, *, ordered: bool = True) -> Floats:
    """Shares of the states.

    Args:
        noisy: noisy shares of a whole that is known to be 1, shape (K,).
        variance: of the noise in them, shape (K,).
        widths: what the states would share alike, such as widths of bins; 0 for a state that cannot
            occur; shape (K,).
        ordered: whether states next to each other are alike.

    Returns:
        Shape (K,): not negative, with a sum of 1 unless all widths are 0.
    """
    known = widths > 0
    used = _Sums(
        np.where(known, noisy, 0.0),
        np.where(known, np.maximum(variance, (1e3 * _LEAST) ** 2), 0.0),
        np.where(known, widths, 0.0),
    )
    places = _places(len(noisy), ordered)
    leaves = used.spread(places, 1 << int(places.max()).bit_length())
    shares = np.take_along_axis(_down(leaves), places, axis=1).mean(axis=0)
    return np.asarray(shares, dtype=np.float64)


def _places(n_states: int, ordered: bool) -> NDArray[np.int64]:
    """Leaf of each state in each tree, shape (trees, K)."""
    row = np.arange(n_states)
    if ordered:
        n_trees = min(ARRANGEMENTS, 1 << (n_states - 1).bit_length())
        return row + np.arange(n_trees)[:, None]
    rng = np.random.default_rng(0)  # fixed and public: these are no random results
    return rng.permuted(np.tile(row, (ARRANGEMENTS, 1)), axis=1)


@dataclass(frozen=True)
class _Sums:
    """Noisy sums, their variances and widths: of states, or of the parts of a layer."""

    noisy: Floats
    variance: Floats
    width: Floats

    def spread(self, places: NDArray[np.int64], n_leaves: int) -> _Sums:
        """The states as leaves of trees; leaves without a state have no width."""
        spread = []
        for array in (self.noisy, self.variance, self.width):
            leaves = np.zeros((len(places), n_leaves))
            np.put_along_axis(leaves, places, np.broadcast_to(array, places.shape), axis=1)
            spread.append(leaves)
        return _Sums(*spread)

    def every_other(self, start: int) -> _Sums:
        """Left halves (0) or right ones (1)."""
        return _Sums(*(array[:, start::2] for array in (self.noisy, self.variance, self.width)))

    def halve(self) -> _Sums:
        """The layer above."""
        pairs = (self.noisy, self.variance, self.width)
        return _Sums(*(pair[:, 0::2] + pair[:, 1::2] for pair in pairs))

    def only(self, chosen: NDArray[np.bool_]) -> _Sums:
        """Some parts of all trees, in one row."""
        return _Sums(self.noisy[chosen], self.variance[chosen], self.width[chosen])


def _down(leaves: _Sums) -> Floats:
    """Masses of the leaves, from the roots down; shape (trees, leaves)."""
    layers = [leaves]
    while layers[-1].noisy.shape[1] > 1:
        layers.append(layers[-1].halve())
    mass = np.ones((len(leaves.noisy), 1))
    for layer in layers[-2::-1]:
        mass = _divide_mass(mass, layer.every_other(0), layer.every_other(1))
    return mass


def _divide_mass(mass: Floats, left: _Sums, right: _Sums) -> Floats:
    """Masses of the next layer, shape (trees, 2·parts)."""
    share = (left.width > 0).astype(np.float64)
    open_ = (left.width > 0) & (right.width > 0)
    if open_.any():
        known = np.maximum(mass[open_], _LEAST)
        share[open_] = _split(known, left.only(open_), right.only(open_), trees=len(mass))
    return np.stack([mass * share, mass * (1 - share)], axis=-1).reshape(len(mass), -1)


def _split(mass: Floats, left: _Sums, right: _Sums, *, trees: int) -> Floats:
    """Posterior mean of θ for each part of a layer, shape (parts,)."""
    both = left.variance + right.variance
    seen = (left.noisy * right.variance + (mass - right.noisy) * left.variance) / both / mass
    variance = np.maximum(left.variance * right.variance / both / mass**2, 1e-30)
    means, logs = _components(seen, variance, left.width / (left.width + right.width))
    likelihoods = np.exp(logs - logs.max(axis=0))
    chances = likelihoods * _weights(likelihoods, _EVEN * trees)[:, None]
    return np.asarray((chances * means).sum(axis=0) / chances.sum(axis=0))


def _components(seen: Floats, variance: Floats, even: Floats) -> tuple[Floats, Floats]:
    """Posterior mean of θ, and log marginal likelihood, under each component of the prior.

    Args:
        seen: z/M, shape (parts,).
        variance: its variance, shape (parts,).
        even: θ of even halves, shape (parts,).

    Returns:
        Two arrays of shape (components, parts): even halves first, an empty one last.
    """
    means, logs = [even], [-((seen - even) ** 2) / variance / 2]
    halves, place = np.unique(even, return_inverse=True)  # few differ where a column has many parts
    sizes = np.array(_SIZES)[:, None]
    wide = sizes**2 + variance
    middle = (even * variance + seen * sizes**2) / wide
    mean, inside = _truncated_normal(middle, sizes * np.sqrt(variance / wide))
    before = _truncated_normal(halves, np.broadcast_to(sizes, (len(_SIZES), len(halves))))[1][
        :, place
    ]
    means.extend(mean)
    logs.extend(inside - before - (seen - even) ** 2 / wide / 2 - np.log(wide / variance) / 2)
    for end in (0.0, 1.0):
        means.append(np.full_like(even, end))
        logs.append(-((seen - end) ** 2) / variance / 2)
    return np.stack(means), np.stack(logs)


def _truncated_normal(middle: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """Mean of a normal distribution cut to [0, 1], and the log probability of that interval."""
    from scipy.special import log_ndtr

    low, high = -middle / deviation, (1 - middle) / deviation
    mirrored = low > 0  # the lower tail is where logarithms of probabilities are exact
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    below, upto = log_ndtr(low), log_ndtr(high)
    inside = upto + np.log1p(-np.exp(np.minimum(below - upto, -1e-12)))
    # Far out these exponents are lost to rounding; there the limit below is the nearer end.
    at_low = np.exp(np.minimum(-(low**2) / 2 - _HALF_LOG_2PI - inside, 30.0))
    at_high = np.exp(np.minimum(-(high**2) / 2 - _HALF_LOG_2PI - inside, 30.0))
    shift = np.where(mirrored, -1.0, 1.0) * (at_low - at_high)
    return np.clip(middle + deviation * shift, 0.0, 1.0), inside


def _weights(likelihoods: Floats, even: float) -> Floats:
    """Weights of the components that make the layer most likely, shape (components,)."""
    weights = np.full(len(likelihoods), 1 / len(likelihoods))
    for _ in range(_ROUNDS):
        chances = likelihoods * weights[:, None]
        weights = (chances / chances.sum(axis=0)).sum(axis=1)
        weights[0] += even
        weights[-2:] = (weights[-2] + weights[-1]) / 2  # which half is empty is a matter of names
        weights /= weights.sum()
    return weights


def denoise(
    noisy: ArrayLike,
    stddev: ArrayLike,
    *,
    total: ArrayLike | None = None,
    widths: ArrayLike | None = None,
    ordered: bool = True,
) -> Floats:
    """Counts without most of their noise: not negative, with a given sum.

    Args:
        noisy: noisy counts of all states of a column, shape (..., K).
        stddev: of the noise in them, one number or shape (K,).
        total: sum afterwards, shape (...), at least 0; that of the noisy counts if None.
        widths: public; what the states would share alike, such as widths of bins, and 0 for a state
            that cannot occur; shape (K,), 1 each if None.
        ordered: whether states next to each other are alike. Spikes and codes of absence need not
            be taken out: the tree sees that they are like no other.

    Returns:
        Shape (..., K).

    Example:
        >>> denoise([4.0, -3.0, 1.0, 998.0], 5.0, total=1000).round().tolist()
        [0.0, 0.0, 0.0, 1000.0]
    """
    counts = np.asarray(noisy, dtype=np.float64)
    n_states = counts.shape[-1]
    sums = counts.sum(axis=-1) if total is None else np.asarray(total, dtype=np.float64)
    variance = np.broadcast_to(np.asarray(stddev, dtype=np.float64) ** 2, (n_states,))
    wide = np.ones(n_states) if widths is None else np.asarray(widths, dtype=np.float64)
    rows = counts.reshape(-1, n_states)
    positive = np.broadcast_to(np.maximum(sums, 0.0), counts.shape[:-1]).reshape(-1)
    result = np.zeros(rows.shape)
    for k in np.flatnonzero(positive):
        whole = positive[k]
        shares = tree_shares(rows[k] / whole, variance / whole**2, wide, ordered=ordered)
        result[k] = whole * shares
    return result.reshape(counts.shape)


LEAST_HELD = 0.5
"""Estimated records from which on a state holds any."""
TAIL = 16.0
"""Records of a tail, in standard deviations of the noise of a state."""
FEW = 32.0
"""Records of a line that is all tail, in standard deviations of the noise of a state."""
_CLEAR = 5.0  # standard deviations of its noise above which a count is no noise
_APART = 3  # bins from one part of a column to another
_MOST = 0.25  # of all records, in a tail
_MISSED = 4.0  # standard deviations by which a count is clearly missed
_SHAPES = np.linspace(-0.5, 0.6, 12)
_LIGHT, _SKEWED, _LIMITS = -0.2, 0.31, (-0.3, 0.5)  # prior mean of the shape, by the skew
_SPREAD = 0.15  # and its deviation
_HEAP = 0.25  # of the records in one state
_SCALES = 40
_ROUGHNESS = np.array([0.0, 0.3, 0.8])  # deviation of a state from the tail, in parts of its own
_ODDS = np.array([1.0, 0.1, 0.1])
_SIGMAS = np.array([0.25, 0.5, 0.8, 1.2, 1.7])  # of lognormal numbers
_USUAL = 0.1  # prior mean of the shape of few records
_NARROWEST = 1e-6  # least scale of few records, in parts of the line
_MOST_HEAPS = 6  # among few records
_UNKNOWN = 1e9  # deviation of the noise in a count that says nothing
_DOUBT = 0.3  # deviation of how many records a tail has, in parts of those in open states


@dataclass(frozen=True, eq=False)
class Counted:
    """Noisy counts of the bins of a line, and of runs of them, with independent noise.

    Attributes:
        noisy: counts of the bins, shape (bins,).
        stddev: of the noise in each, same shape.
        sums: which bins a run has, shape (runs, bins).
        runs: noisy counts of the runs, shape (runs,).
        spread: deviations of the noise in these, same shape.
    """

    noisy: Floats
    stddev: Floats
    sums: Floats
    runs: Floats
    spread: Floats

    @classmethod
    def of(cls, noisy: Floats, stddev: Floats) -> Counted:
        """Of bins alone."""
        none = np.zeros(0)
        return cls(noisy, stddev, np.zeros((0, len(noisy))), none, none)

    def take(self, bins: Integers, masses: Floats) -> Counted:
        """Return what is said of some bins, in their order, if the others hold so many records.

        Args:
            bins: places of those that are left.
            masses: estimated records of all bins, shape (bins,).
        """
        others = np.ones(len(masses), dtype=np.bool_)
        others[bins] = False
        told = self.sums[:, bins].any(axis=1)
        outside = self.sums[told] * others
        return Counted(
            self.noisy[bins],
            self.stddev[bins],
            self.sums[told][:, bins],
            self.runs[told] - outside @ masses,
            np.sqrt(self.spread[told] ** 2 + outside @ self.stddev**2),
        )

    def hide(self, bins: Flags) -> Counted:
        """The same, if of some bins and of the runs with them nothing is known."""
        unknown = self.sums @ bins > 0
        return Counted(
            self.noisy,
            np.where(bins, _UNKNOWN, self.stddev),
            self.sums,
            self.runs,
            np.where(unknown, _UNKNOWN, self.spread),
        )


def estimated_records(
    column: Integer | Continuous | Calendar,
    counts: Floats,
    stddev: Floats,
    total: float,
    held: Flags,
    *,
    over: tuple[Integers, Floats, float] | None = None,
) -> Floats:
    """Records in each state: smooth between the states that hold any, and at the tails.

    Args:
        column: in the bins that the states are of.
        counts: noisy ones, shape (`column.size`,).
        stddev: of the noise in each, same shape.
        total: of the estimates.
        held: which states hold records; others have their part of a tail alone.
        over: run of each state, noisy counts of the runs, and the deviation of their noise, if runs
            were counted as well.
    """
    bins, edges, single = bins_on_line(column)
    heaps = heaps_on_line(np.where(held[bins], counts[bins], 0.0), single)
    heaps &= counts[bins] > _CLEAR * stddev[bins]
    clipped = np.zeros(column.size, dtype=np.bool_)
    clipped[bins[ends_apart(edges, held[bins].astype(np.float64))]] = True
    own = np.where(clipped, np.maximum(counts, 0.0), 0.0)
    own *= min(1.0, max(total, 0.0) / max(float(own.sum()), LEAST_HELD))
    widths = np.where(held & ~clipped, state_widths(column), 0.0)
    masses = own + denoise(counts, stddev, total=total - own.sum(), widths=widths)
    line, cut = bins[~heaps], without(edges, heaps)
    counted = Counted.of(counts, stddev)
    if over is not None:
        runs, noisy, spread = over
        sums = (np.arange(len(noisy))[:, None] == runs).astype(np.float64)
        counted = Counted(counts, stddev, sums, noisy, np.full(len(noisy), spread))
    if column.bounds[0] >= 0 and _is_faint(masses[line], stddev[line]):
        masses = _share_with_others(masses, line, counted)
        masses[line] = _fit_whole(masses[line], counted.take(line, masses), cut)
        return masses
    if over is not None:
        masses = with_runs(masses, stddev, *over)
    masses[line] = with_tails(masses[line], counted.take(line, masses), cut, held[line])
    return masses


def _is_faint(masses: Floats, stddev: Floats) -> bool:
    """Return whether a line has so few records that all of it is a tail."""
    few = FEW * float(np.median(stddev)) if len(masses) > 2 else 0.0
    return bool(stddev.all() and LEAST_HELD < masses.sum() < few)


def _share_with_others(masses: Floats, line: Integers, counted: Counted) -> Floats:
    """Masses of which those off the line are averaged with runs of them; the line has the rest."""
    apart = np.ones(len(masses), dtype=np.bool_)
    apart[line] = False
    shared, total = masses.copy(), float(masses.sum())
    for sums, noisy, spread in zip(counted.sums, counted.runs, counted.spread, strict=True):
        own = sums > 0
        if not own.any() or not apart[own].all():
            continue
        held, variance = float(masses[own].sum()), float((counted.stddev[own] ** 2).sum())
        mean = max((held * spread**2 + noisy * variance) / (spread**2 + variance), 0.0)
        shared[own] *= mean / max(held, LEAST_HELD)
    rest = total - float(shared[apart].sum())
    shared[line] *= max(rest, LEAST_HELD) / float(masses[line].sum())
    return shared


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
    means, doubts = (sums * other + noisy * own) / (own + other), own * other / (own + other)
    wanted = _with_sum(means, doubts, float(sums.sum()))
    return np.asarray(masses * (wanted / np.where(sums > 0, sums, 1.0))[runs])


def _with_sum(means: Floats, variances: Floats, total: float) -> Floats:
    """The numbers of a given sum, none negative, that are nearest in deviations; shape (K,).

    They are max(m − τ·v, 0), with the τ at which they have this sum: found by sorting.
    """
    order = np.argsort(-means / variances)
    m, v = np.cumsum(means[order]), np.cumsum(variances[order])
    tau = ((m - total) / v).max()
    return np.asarray(np.maximum(means - tau * variances, 0.0))


def with_tails(masses: Floats, counted: Counted, edges: Floats, held: Flags) -> Floats:
    """Masses whose tails at both ends are smooth; the sum of all is kept.

    The ends are those of the part with the most records; what lies far beyond it, with empty bins
    between, stays as it is.

    Args:
        masses: estimated records of the bins, none negative, shape (bins,).
        counted: what is known of them.
        edges: of the bins, ascending, shape (bins + 1,).
        held: which bins are open, shape (bins,).
    """
    smooth, (first, last) = masses.copy(), _largest(masses, held)
    if not counted.stddev.all() or last - first < 2:
        return smooth
    for bins, sign in ((np.arange(first, last), 1.0), (np.arange(first, last)[::-1], -1.0)):
        line = sign * edges[first : last + 1][:: int(sign)]
        smooth[bins] = _fit_upper_tail(smooth[bins], counted.take(bins, smooth), line)
    return smooth


def _fit_whole(masses: Floats, counted: Counted, edges: Floats) -> Floats:
    """Few records, of which no bin tells for certain: the mean over simple distributions.

    Bins that all of these miss clearly are heaps: they keep what noise does not explain.
    """
    places, total, heaps = edges - edges[0], float(masses.sum()), np.zeros(len(masses))
    scales = np.geomspace(max(places[1] / 8, places[-1] * _NARROWEST), places[-1] / 2, _SCALES)
    falling = _below(places, scales[:, None, None], _SHAPES[:, None])
    humped = _below_lognormal(places, scales[:, None, None], _SIGMAS[:, None])
    shares = np.diff(np.concatenate([falling, humped], axis=1), axis=-1)
    prior = np.append(((_SHAPES - _USUAL) / _SPREAD) ** 2 / 2, np.zeros(len(_SIGMAS)))
    doubt = min(2 * float(np.median(counted.stddev)) / total, _DOUBT)
    for _ in range(_MOST_HEAPS):
        rest = max(total - float(heaps.sum()), LEAST_HELD)
        shown = counted.hide(heaps > 0) if heaps.any() else counted
        fitted, off = _mean_of_fits(shares, prior, rest, shown, doubt)
        off = np.where(heaps > 0, 0.0, off)
        worst = int(np.argmax(off))
        if off[worst] <= _MISSED:
            break
        heaps[worst] = counted.noisy[worst]
    smooth = np.where(heaps > 0, heaps, fitted)
    return np.asarray(smooth * (total / max(float(smooth.sum()), LEAST_HELD)))


def _below_lognormal(places: Floats, medians: Floats, sigmas: Floats) -> Floats:
    """Lognormal distribution functions, cut at the last place."""
    from scipy.special import ndtr

    with np.errstate(divide="ignore"):
        below = ndtr(np.log(places / medians) / sigmas)
    return np.asarray(below / below[..., -1:])


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


def _fit_upper_tail(masses: Floats, counted: Counted, edges: Floats) -> Floats:
    """The same for the upper end."""
    beyond = np.cumsum(masses[::-1])[::-1]
    usual = TAIL * float(np.median(counted.stddev))
    enough = min(usual, _MOST * beyond[0])
    if enough < usual / 2:
        return masses
    start, expected = int(np.flatnonzero(beyond >= enough)[-1]), _expected_shape(masses, edges)
    while beyond[start] >= usual / 2 and start < len(masses) - 1:
        own = counted.take(np.arange(start, len(masses)), masses)
        places = edges[start:] - edges[start]
        tail, off = _fitted_tail(own, float(beyond[start]), places, expected)
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
    """Shape that the body lets one expect: of lognormal numbers it grows by .4 of their deviation.

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
    counted: Counted, mass: float, places: Floats, expected: float
) -> tuple[Floats, Floats]:
    """Mean records of the bins of a tail, from 0 on, over the grid of distributions.

    Returns:
        As `_mean_of_fits`.
    """
    scales = np.geomspace(places[1] / 8, places[-1], _SCALES)
    shares = np.diff(_below(places, scales[:, None, None], _SHAPES[:, None]), axis=-1)
    prior = ((_SHAPES - expected) / _SPREAD) ** 2 / 2
    return _mean_of_fits(shares, prior, mass, counted, _DOUBT)


def _mean_of_fits(
    shares: Floats, prior: Floats, mass: float, counted: Counted, doubt: float
) -> tuple[Floats, Floats]:
    """Mean records of bins over distributions, weighted by how likely each makes noisy counts.

    States that seem empty hold part of it, so how many records there are is fitted as well: by
    normal counts, from a normal prior about those that the states held, cut at 0. Where numbers
    lie on heaps no distribution fits the states: those of a rough one deviate from it, and what
    noise does not explain of that stays with them.

    Args:
        shares: of the bins, by each distribution, shape (scales, shapes, bins).
        prior: what the logarithm of the odds of each shape lacks, shape (shapes,).
        mass: records of all bins, as otherwise known.
        counted: what was counted.
        doubt: deviation of that, in parts of it.

    Returns:
        Records, and by how many standard deviations, of noise and roughness, the noisy counts are
        off the distribution; both of shape (bins,).
    """
    n_bins = len(counted.noisy)
    uneven = (_ROUGHNESS[:, None, None, None] * shares * mass) ** 2
    both, rough = shares, uneven
    if len(counted.runs):
        both = np.concatenate([shares, shares @ counted.sums.T], axis=-1)
        rough = np.concatenate([uneven, uneven @ counted.sums.T], axis=-1)
    noisy = np.concatenate([counted.noisy, counted.runs])
    variances = rough + np.concatenate([counted.stddev, counted.spread]) ** 2
    precise = (both**2 / variances).sum(axis=-1) + 1 / (doubt * mass) ** 2
    told = (both * noisy / variances).sum(axis=-1) + 1 / (doubt**2 * mass)
    masses = np.maximum(told / precise, 0.0)
    missed = (noisy**2 / variances + np.log(variances)).sum(axis=-1) + np.log(precise)
    logs = (masses**2 * precise - missed) / 2 - prior + np.log(_ODDS)[:, None, None]
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    smooth = masses[..., None] * shares
    noisy, variances = noisy[:n_bins], variances[..., :n_bins]
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


PEAK = 4.6
"""Deviations of the noise of a part above which its count is no noise."""
HEAVIER_PART = 1.7
"""By how much that is higher for noise of Laplace."""
TIMES = 4.0
"""Records of a peak, in those that the rest of its bin would put there."""


def shares_of_parts(
    counts: Floats, widths: Floats, stddev: float, total: float, *, normal: bool
) -> Floats | None:
    """Shares of the parts of one bin.

    Args:
        counts: noisy ones, shape (parts,).
        widths: of the parts, same shape.
        stddev: of the noise in each.
        total: records of the bin, as otherwise known.
        normal: whether noise is.

    Returns:
        Shape (parts,), summing to 1; None where counts do not tell more than widths.

    Example:
        >>> counts, widths = np.array([3.0, 88, -4, 2]), np.ones(4)
        >>> shares_of_parts(counts, widths, 3.0, 100.0, normal=True).round(2).tolist()
        [0.04, 0.88, 0.04, 0.04]
    """
    peaks = peaks_among(counts, widths / widths.sum(), stddev, total, normal=normal)
    held = float(counts[peaks].sum())
    rest = max(total - held, 0.0)
    if rest <= 2 * stddev * np.sqrt(peaks.sum()) or peaks.all():
        return np.where(peaks, counts, 0.0) / held if held else None
    others, deviations = np.flatnonzero(~peaks), np.full(int((~peaks).sum()), stddev)
    found = open_states(counts[others], deviations, rest, normal=normal, certain=True)
    if found.all() and not held:
        return None
    shares, even = np.where(peaks, counts, 0.0), rest * widths[others] / widths[others].sum()
    inside = np.where(found, widths[others], 0.0)
    smooth = denoise(counts[others], deviations, total=rest, widths=inside)
    shares[others] = even if found.all() else smooth
    return np.asarray(shares / shares.sum())


def peaks_among(
    counts: Floats, even: Floats, stddev: float, total: float, *, normal: bool
) -> Flags:
    """Find parts that hold far more than noise, and than the rest of their bin; shape (parts,)."""
    least = PEAK * (1.0 if normal else HEAVIER_PART) * stddev
    others = np.maximum(total - counts, 0.0) / np.maximum(1 - even, 1e-12)
    return np.asarray((counts > least) & (counts > TIMES * even * others))
