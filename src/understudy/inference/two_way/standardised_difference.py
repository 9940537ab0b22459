"""The standardised difference of two groups (Cohen's d) from noisy sums.

    d = (ȳ₁ − ȳ₀)/s,   s² = W/(n − 2),   W = Σ y² − S₀²/n₀ − S₁²/n₁,

with n_g records and sum S_g in group g: the difference of means in units of the deviation within
groups. All it needs are n₀, n₁, S₀, S₁ and Σ y². Its interval is that of `Inverted`, with the noise
in ȳ₁ − ȳ₀ − d·s and in s, to first order. Its sampling variance is that of the influence of a
record with u = (y − ȳ_g)/s,

    ±(n/n_g)·u − d(u² − 1)/2,

over n: right whatever the distributions and variances of both groups. Of counts it is known; of
numbers its third and fourth moments are those of the synthetic records, and it is no less than
1/n₀ + 1/n₁ + d²/2n, that of normal numbers with one variance.

Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, ch. 2; Hedges & Olkin
(1985), Statistical Methods for Meta-Analysis, ch. 5, for the variance of normal numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.arrays import Floats
from understudy.inference.moments.firmness import LostInNoiseError
from understudy.inference.moments.inverted import Inverted, require_firm
from understudy.inference.noise_aware.cell_scores import edge_variance
from understudy.inference.two_way.group_sums import GroupSums, Shown, require_groups

NOTE = "In units of the standard deviation within groups, pooled over both."


def standardised_difference(
    sums: GroupSums,
    drawn: Sequence[Shown],
    counted: Shown | None,
    *,
    name: str,
    rule: str,
) -> Inverted:
    """The difference of the second group and the first, in units of the deviation within.

    Args:
        sums: as they were measured.
        drawn: the groups of each synthetic set.
        counted: the same of noisy counts, none below 0, where each value was counted.
        name: of the estimate.
        rule: what answers.

    Raises:
        LostInNoiseError: a group, or the deviation, is not clearly above 0 under its noise.
    """
    drawn = require_groups(sums, drawn)
    _require_spread(sums, drawn)
    n = float(sums.sizes.sum())
    if sums.within <= 0 or sums.sizes.min() <= 0 or n <= 2:
        raise LostInNoiseError("The noisy sums of both groups fit no records.")
    s = float(np.sqrt(sums.within / (n - 2)))
    d = float(sums.means[1] - sums.means[0]) / s
    sign = np.array([-1.0, 1.0]) / sums.sizes
    top = np.array([*(-sign * sums.means), *sign, 0.0])
    bottom = sums.within_slopes / (2 * s * (n - 2))
    bottom[:2] -= s / (2 * (n - 2))
    both = np.stack([top - d * bottom, bottom])
    noise = both @ sums.noise @ both.T
    off = float(np.abs(both[0] @ sums.off).sum())
    sampling = _sampling(sums, drawn, counted, d, s)
    variance = noise[0, 0] / s**2 + sampling
    return Inverted(
        names=(name,),
        estimate=np.array([d]),
        covariance=np.array([[variance]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([noise[0, 0] / s**2 / variance]),
        rule=rule,
        sets=len(drawn),
        notes=(NOTE,),
        bias=np.array([off / s]),
        denominator=np.array([s]),
        mixed=np.array([noise[0, 1]]),
        squared=np.array([noise[1, 1]]),
    )


def _require_spread(sums: GroupSums, drawn: Sequence[Shown]) -> None:
    """Refuse a deviation that noise hides, by what the synthetic records have."""
    shown = [each.sums for each in drawn]
    slopes = np.mean([each.within_slopes for each in shown], axis=0)
    within = np.array([np.mean([each.within for each in shown])])
    noise = np.array([slopes @ sums.noise @ slopes])
    require_firm(within, noise, "The outcome varies too little under the privacy noise")


def _sampling(
    sums: GroupSums, drawn: Sequence[Shown], counted: Shown | None, d: float, s: float
) -> float:
    """Sampling variance of d."""
    n = float(sums.sizes.sum())
    normal = float((1 / sums.sizes).sum()) + d * d / (2 * n)
    if counted is None:
        spread = [_influence(each, sums.sizes / n, d) for each in drawn]
        return max(float(np.mean(spread)) / n, normal)
    edge = 0.0
    if np.isin(counted.value, (0.0, 1.0)).all():  # shares, of which none has an error of 0
        edge = float(edge_variance(sums.sizes).sum()) / s**2
    return max(_influence(counted, sums.sizes / n, d) / n, edge)


def _influence(shown: Shown, shares: Floats, d: float) -> float:
    """Mean square of the influence of a record, its groups brought to their measured shares."""
    sums = shown.sums
    if not ((sums.sizes > 0).all() and sums.within > 0):
        return 0.0
    s = np.sqrt(sums.within / sums.sizes.sum())
    u = (shown.value - sums.means[shown.group]) / s
    sign = np.where(shown.group == 1, 1.0, -1.0)
    squares = (sign * u / shares[shown.group] - d * (u * u - 1) / 2) ** 2
    weight = shown.weight * shares[shown.group] / sums.sizes[shown.group]
    return float(weight @ squares)
