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
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.inference.moments.firmness import LostInNoiseError
from understudy.inference.moments.inverted import Inverted, require_firm
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.inference.noise_aware.cell_scores import edge_variance
from understudy.inference.two_way.noisy_cells import NoisyCells

_AGREE = np.array([[1.0, 1, 0, 0, 0, -1, 0], [0, 0, 1, 1, 0, 0, -1]])
NOTE = "In units of the standard deviation within groups, pooled over both."


@dataclass(frozen=True)
class GroupSums:
    """What a standardised difference is computed from.

    Attributes:
        sizes: n_g, shape (2,).
        totals: S_g, shape (2,).
        squares: Σ y² of both groups.
        noise: covariance of the noise in sizes, totals and squares, shape (5, 5).
    """

    sizes: Floats
    totals: Floats
    squares: float
    noise: Floats

    @property
    def means(self) -> Floats:
        """Mean of each group, shape (2,)."""
        return np.asarray(self.totals / self.sizes)

    @property
    def within(self) -> float:
        """W."""
        return float(self.squares - (self.totals**2 / self.sizes).sum())

    @property
    def within_slopes(self) -> Floats:
        """Derivatives of W, shape (5,)."""
        return np.array([*self.means**2, *(-2 * self.means), 1.0])


@dataclass(frozen=True)
class Shown:
    """Both groups as the synthetic records have them, or as counts have.

    Attributes:
        group: of each record, or class of records, 0 or 1, shape (N,).
        value: y, shape (N,).
        weight: records that each stands for, shape (N,).
    """

    group: Integers
    value: Floats
    weight: Floats

    @property
    def sums(self) -> GroupSums:
        """Sizes, sums and squares of these records, free of noise."""
        sizes = np.asarray(np.bincount(self.group, self.weight, 2), dtype=np.float64)
        totals = np.asarray(np.bincount(self.group, self.weight * self.value, 2), dtype=np.float64)
        squares = float(self.weight @ self.value**2)
        return GroupSums(sizes, totals, squares, np.zeros((5, 5)))


def counted_sums(cells: NoisyCells, values: Floats) -> GroupSums:
    """Sums from counts of the values of the outcome.

    Args:
        cells: counts of each value by group, shape (k, 2).
        values: numbers, shape (k,).
    """
    k = len(values)
    maps = np.zeros((5, k, 2))
    for group in range(2):
        maps[group, :, group], maps[2 + group, :, group] = 1.0, values
    maps[4] = (values**2)[:, None]
    flat = maps.reshape(5, -1)
    sums = flat @ cells.counts.reshape(-1)
    return GroupSums(sums[:2], sums[2:4], float(sums[4]), flat @ cells.noise @ flat.T)


def moment_sums(matrix: MomentMatrix, value: Floats, present: Floats, groups: Floats) -> GroupSums:
    """Sums from second moments.

    Sizes and sums of both groups were measured, and so were those of all records: they are made to
    agree by generalised least squares, which takes noise off all of them.

    Args:
        matrix: in which every record has a group.
        value: weights of the outcome, 0 for a record without one, shape (s + 1,).
        present: weights of whether a record has an outcome, shape (s + 1,).
        groups: weights of the indicators of both groups, shape (2, s + 1).
    """
    left = np.stack([present, present, value, value, value, present, value])
    right = np.stack([*groups, *groups, value, present, present])
    numbers = np.array(
        [matrix.form(a[None], b[None])[0, 0] for a, b in zip(left, right, strict=True)]
    )
    noise = matrix.noise_covariance(left[:, :, None] * right[:, None, :])
    gain = noise @ _AGREE.T @ np.linalg.pinv(_AGREE @ noise @ _AGREE.T, hermitian=True)
    numbers, noise = numbers - gain @ _AGREE @ numbers, noise - gain @ _AGREE @ noise
    return GroupSums(numbers[:2], numbers[2:4], float(numbers[4]), noise[:5, :5])


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
    drawn = [shown for shown in drawn if (shown.sums.sizes > 0).all()]
    _require_firm(sums, drawn)
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
        denominator=np.array([s]),
        mixed=np.array([noise[0, 1]]),
        squared=np.array([noise[1, 1]]),
    )


def _require_firm(sums: GroupSums, drawn: Sequence[Shown]) -> None:
    """Refuse groups or deviations that noise hides, by what the synthetic records have."""
    if not drawn:
        raise LostInNoiseError("No synthetic record is in one of the groups; merge it with others.")
    shown = [each.sums for each in drawn]
    sizes = np.mean([each.sizes for each in shown], axis=0)
    require_firm(sizes, np.diag(sums.noise)[:2], "A group is too small under the privacy noise")
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
