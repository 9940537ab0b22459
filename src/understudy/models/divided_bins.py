"""How records of divided bins lie in their parts, by noisy counts of these.

A bin that was counted more finely (`understudy.families.crowded_bins`) has up to two thousand
parts, most of them with far fewer records than noise. So

1. *peaks* are parts whose counts are clearly more than noise, and far more than the rest of the bin
   would put there. They keep their counts: noise alone makes none but in one of hundreds of divided
   bins, and a bin that is merely dense has none;
2. what is left of the bin lies where a scan of stretches finds records at all
   (`understudy.models.held_states`), and is smooth there (`understudy.models.share_tree`); evenly
   in the whole bin where the scan does not tell.

Post-processing of released counts.
"""

from __future__ import annotations

import numpy as np

from understudy.arrays import Flags, Floats
from understudy.models.held_states import open_states
from understudy.models.share_tree import denoised

PEAK = 4.6
"""Deviations of the noise of a part above which its count is no noise."""
HEAVIER = 1.7
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
    smooth = denoised(counts[others], deviations, total=rest, widths=inside)
    shares[others] = even if found.all() else smooth
    return np.asarray(shares / shares.sum())


def peaks_among(
    counts: Floats, even: Floats, stddev: float, total: float, *, normal: bool
) -> Flags:
    """Which parts hold far more than noise, and than the rest of their bin; shape (parts,)."""
    least = PEAK * (1.0 if normal else HEAVIER) * stddev
    others = np.maximum(total - counts, 0.0) / np.maximum(1 - even, 1e-12)
    return np.asarray((counts > least) & (counts > TIMES * even * others))
