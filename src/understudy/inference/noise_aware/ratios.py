"""Ratios of sums: their value, and their variance by sampling.

Source: the classical ratio estimator (Cochran 1977, Sampling Techniques, ch. 2 and 6). Within a
group of D records the share or mean R has sampling variance (Q/D - R²)/(D - 1), where Q is the sum
of squared values: p(1 - p)/(D - 1) for a share, s²/D for a mean. Two quantities of one group that
no record adds to both have covariance -R_a·R_b/(D - 1).

p(1 - p)/(D - 1) vanishes with p, yet where none of D records has a trait, 3.7/D may have it in the
population, at 95 %. `edge_variance` is the variance of a share of z² = 3.84 records; no share is
given less, so that an interval around 0 reaches 3.8/D, and one around 1 as far down. Shares of at
least four records, and of all but four, keep their own. (Wilson's interval ends at z²/(D + z²).)
"""

from __future__ import annotations

import numpy as np

from understudy.inference.estimates.analysis_records import Floats, Ints

_EDGE = 1.959963984540054**2


def ratio(sums: Floats, sizes: Floats) -> Floats:
    """Sums over group sizes, elementwise; NaN where a group is empty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(sizes != 0, sums / sizes, np.nan))


def edge_variance(sizes: Floats) -> Floats:
    """Least sampling variance of a share in groups of these sizes, elementwise."""
    share = np.minimum(_EDGE / np.maximum(sizes, 1.0), 0.5)
    return np.asarray(share * (1 - share) / np.maximum(sizes - 1, 1.0))


def sampling_covariance(values: Floats, squares: Floats, sizes: Floats, group_of: Ints) -> Floats:
    """Sampling covariance of ratios, from sums over records or unbiased estimates of these.

    Args:
        values: ratios R, shape (..., k).
        squares: sums Q of the squared values, shape (..., k).
        sizes: size D of the group of each quantity, shape (..., k).
        group_of: group of each quantity, shape (k,).

    Returns:
        Shape (..., k, k). Estimated squares can be so small that a variance comes out negative, as
        p(1 - p) does for p < 0; such a variance, and its covariances, are set to 0.
    """
    k = values.shape[-1]
    degrees = np.maximum(sizes - 1, 1.0)
    shared = -values[..., :, None] * values[..., None, :] / degrees[..., :, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # of an empty group, NaN
        own = (squares / sizes - values**2) / degrees
        positive = own > 0
    kept = (group_of[:, None] == group_of) & positive[..., :, None] & positive[..., None, :]
    return np.where(np.eye(k, dtype=np.bool_), np.maximum(own, 0.0)[..., None, :], shared * kept)
