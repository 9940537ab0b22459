"""The ratio of the means of two groups, as of two risks, from noisy sums.

    ρ = ȳ₁/ȳ₀,   ȳ_g = S_g/n_g,

of a number or of what is 0 or 1 (then it is a relative risk). Its interval is that of `Inverted`,
with the errors of both means: so it is longer on the side where ȳ₀ may be nearer to 0, and has no
end where ȳ₀ is not told from 0. Sampling variances of the means are those within groups. A share
has its own, and no less than that of `edge_variance`. The variance of a number is that of its
counts within a group where each value was counted; else that of the synthetic records within the
group, brought to the size that the measured squares leave within both.

Source: Fieller (1954), JRSS B 16, 175-185, for the interval of a ratio of two means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.arrays import Floats
from understudy.inference.moments.firmness import LostInNoiseError
from understudy.inference.moments.inverted import Inverted, require_firm
from understudy.inference.noise_aware.cell_scores import edge_variance
from understudy.inference.two_way.group_sums import GroupSums, Shown, require_groups

NOTE = "The mean of the second group over that of the first; 1 where both are the same."


def ratio_of_means(
    sums: GroupSums,
    drawn: Sequence[Shown],
    counted: Shown | None,
    *,
    name: str,
    rule: str,
) -> Inverted:
    """The mean of the second group over that of the first.

    Args:
        sums: as they were measured.
        drawn: the groups of each synthetic set.
        counted: the same of noisy counts, none below 0, where each value was counted.
        name: of the estimate.
        rule: what answers.

    Raises:
        LostInNoiseError: a group, or the mean of the first, is not clearly off 0 under its noise.
    """
    drawn = require_groups(sums, drawn)
    if sums.sizes.min() <= 1:
        raise LostInNoiseError("The noisy sums of both groups fit no records.")
    first, second = sums.means
    slopes = np.zeros((2, 5))  # of both means in sizes, sums and squares
    slopes[[0, 1], [0, 1]], slopes[[0, 1], [2, 3]] = -sums.means / sums.sizes, 1 / sums.sizes
    noise = slopes @ sums.noise @ slopes.T
    shown = np.array([abs(np.mean([each.sums.means[0] for each in drawn]))])
    require_firm(shown, noise[:1, 0], "The mean of the first group is near 0")
    sampling = _sampling(sums, drawn, counted)
    ratio = float(second / first)
    turned = np.array([-ratio, 1.0])  # of both means in ȳ₁ − ρȳ₀
    variance = turned @ (noise + np.diag(sampling)) @ turned
    off = float(np.abs(turned @ slopes @ sums.off).sum())
    return Inverted(
        names=(name,),
        estimate=np.array([ratio]),
        covariance=np.array([[variance / first**2]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([turned @ noise @ turned / variance]),
        rule=rule,
        sets=len(drawn),
        notes=(NOTE,),
        bias=np.array([off / abs(first)]),
        null=1.0,
        denominator=np.array([first]),
        mixed=np.array([turned @ noise[:, 0] - ratio * sampling[0]]),
        squared=np.array([noise[0, 0] + sampling[0]]),
    )


def _sampling(sums: GroupSums, drawn: Sequence[Shown], counted: Shown | None) -> Floats:
    """Sampling variances of both means, shape (2,)."""
    values = [each.value for each in ([counted] if counted is not None else drawn)]
    if all(np.isin(value, (0.0, 1.0)).all() for value in values):
        share = np.clip(sums.means, 0.0, 1.0)
        own = share * (1 - share) / np.maximum(sums.sizes - 1, 1.0)
        return np.maximum(own, edge_variance(sums.sizes))
    if counted is not None:
        return np.asarray(_spread(counted) / sums.sizes)
    spread = np.mean([_spread(each) for each in drawn], axis=0)
    left = sums.within / max(float(sums.sizes.sum()) - 2, 1.0)
    noise = float(np.sqrt(sums.within_slopes @ sums.noise @ sums.within_slopes))
    left = max(left, noise / float(sums.sizes.sum()))
    pooled = float(spread @ sums.sizes / sums.sizes.sum())
    return np.asarray(spread * (left / pooled if pooled > 0 else 1.0) / sums.sizes)


def _spread(shown: Shown) -> Floats:
    """Variance of the number within each group, shape (2,)."""
    sums = shown.sums
    squares = np.bincount(shown.group, shown.weight * shown.value**2, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = squares / sums.sizes - sums.means**2
    return np.asarray(np.maximum(np.nan_to_num(spread), 0.0))
