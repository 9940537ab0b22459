"""Effect sizes of two groups: odds ratio, ratio of means, standardised difference.

**The odds ratio of a noisy 2 × 2 table, with an interval by test inversion, without logarithms.**

A cell of expected count λ has a count with variance λ by sampling and v by noise. At an odds ratio
θ = λ₁₁λ₀₀/(λ₁₀λ₀₁) the counts fit worst by

    Q(θ) = Σ (ŷ − λ)²/(λ + v),  λ with this odds ratio and (ŷ − λ)/(λ + v) = −s·μ/λ,             (1)

s = 1 for the cells above, −1 for those below: λ is where a quasi-likelihood with that variance is
largest. The interval has every θ with Q(θ) − min Q ≤ χ². Without noise, λ = ŷ + sμ keeps the
margins, and this is Cornfield's interval (Pearson's test), which does not break down where a cell
has few records; the usual error of the log odds ratio, √Σ1/ŷ, does. A cell that is not told from 0
under its noise can have λ = 0, and the interval is open there.

Each λ is a root of a quadratic equation in μ, so all θ on one side of the estimate are run through
along the expected count of the cell that vanishes first.

Noise with the tails of a Laplace law makes large Q more likely: z = √Q is taken for the normal
score that the fourth cumulant of Σ s(ŷ − λ)/λ turns into z (Cornish & Fisher 1938).

Sources: Cornfield (1956), Proc. Third Berkeley Symposium 4, 135-148; McCullagh (1983), "Quasi-
Likelihood Functions", Annals of Statistics 11, 59-67; Gaboardi, Lim, Rogers & Vadhan (2016), ICML,
for tests of counts whose noise is part of the variance.

**The ratio of the means of two groups, as of two risks, from noisy sums.**

    ρ = ȳ₁/ȳ₀,   ȳ_g = S_g/n_g,

of a number or of what is 0 or 1 (then it is a relative risk). Its interval is that of `Inverted`,
with the errors of both means: so it is longer on the side where ȳ₀ may be nearer to 0, and has no
end where ȳ₀ is not told from 0. Sampling variances of the means are those within groups. A share
has its own, and no less than that of `edge_variance`. The variance of a number is that of its
counts within a group where each value was counted; else that of the synthetic records within the
group, brought to the size that the measured squares leave within both.

Source: Fieller (1954), JRSS B 16, 175-185, for the interval of a ratio of two means.

**The standardised difference of two groups (Cohen's d) from noisy sums.**

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
from dataclasses import dataclass, field

import numpy as np
from scipy.special import chdtrc, chdtri

from understudy._arrays import Floats
from understudy.inference.combining import Pooled, require_level
from understudy.inference.contributions import edge_variance
from understudy.inference.linear import Inverted, require_firm
from understudy.inference.second_moments import LostInNoiseError
from understudy.inference.two_way import GroupSums, NoisyCells, Shown, Trait, require_groups

_STEPS = np.geomspace(1e-12, 0.5, 300)
_SHARES = np.concatenate([_STEPS, 1 - _STEPS[-2::-1]])
_FINER = 3
_NEWTON = 25
_INNER = np.linspace(0, 1, 65)
OPEN_NOTE = (
    "A cell is not told from 0 under sampling and noise, so the interval has no end on that side."
)


@dataclass(frozen=True)
class _Path:
    """Odds ratios above (or, of the inverse table, below) the estimate, and how badly they fit.

    Attributes:
        theta: odds ratios, shape (points,).
        excess: Q − min Q, same shape.
    """

    theta: Floats
    excess: Floats


def _no_records() -> Floats:
    return np.zeros((2, 2))


@dataclass(frozen=True)
class OddsRatios(Pooled):
    """An odds ratio and its logarithm, with intervals and tests by inversion.

    Attributes:
        counts: ŷ as ((ŷ₀₀, ŷ₀₁), (ŷ₁₀, ŷ₁₁)), shape (2, 2).
        variances: v, shape (2, 2).
        fourth: fourth cumulants of the noise, shape (2, 2).
    """

    counts: Floats = field(default_factory=_no_records)
    variances: Floats = field(default_factory=_no_records)
    fourth: Floats = field(default_factory=_no_records)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends, each of shape (2,); 0 and infinite where a cell may be empty.

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        require_level(level)
        most = float(chdtri(1, 1 - level))
        upper = _farthest(self._table, most)
        lower = 1 / _farthest(self._table[:, ::-1], most)
        with np.errstate(divide="ignore"):
            return np.array([lower, np.log(lower)]), np.array([upper, np.log(upper)])

    @property
    def pvalue(self) -> Floats:
        """Of the hypothesis that the odds ratio is 1, both times, by the same test."""
        p = chdtrc(1, _excess_at_one(self._table))
        return np.array([p, p])

    @property
    def _table(self) -> Floats:
        return np.stack([self.counts, self.variances, self.fourth])


def odds_ratio(cells: NoisyCells, traits: Sequence[Trait]) -> OddsRatios:
    """The odds ratio of the second classes of two traits, and its logarithm.

    Args:
        cells: of shape (2, 2).
        traits: with two classes each.
    """
    y, v = cells.counts, cells.variances
    held = np.maximum(y, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = held[1, 1] * held[0, 0] / (held[1, 0] * held[0, 1])
        sampling, noise = float(np.sum(1 / y)), float(np.sum(v / y**2))
        log = np.log(estimate)
    if not (y > 0).all():
        sampling = noise = np.nan
    scale = np.array([estimate, 1.0])
    text = f"odds ratio of {traits[0].labels[1]} and {traits[1].labels[1]}"
    table = np.stack([y, v, cells.fourth])
    least = min(_cost_of_none(table), _cost_of_none(table[:, ::-1]))
    return OddsRatios(
        names=(text, f"log {text}"),
        estimate=np.array([estimate, log]),
        covariance=(sampling + noise) * np.multiply.outer(scale, scale),
        df=np.full(2, np.inf),
        synthesis_share=np.full(2, noise / (sampling + noise)),
        rule=cells.rule,
        sets=cells.sources,
        notes=(OPEN_NOTE,) if least <= chdtri(1, 0.05) else (),
        counts=y,
        variances=v,
        fourth=cells.fourth,
    )


def _farthest(table: Floats, most: float) -> float:
    """The largest odds ratio that fits up to `most`; infinite where there is none.

    Args:
        table: counts, variances and fourth cumulants, shape (3, 2, 2).
        most: largest Q − min Q.
    """
    if _cost_of_none(table) <= most:
        return float(np.inf)
    ends = []
    for lead in range(2):
        shares = _SHARES
        for _ in range(_FINER):
            path = _path(table, lead, shares)
            fits = np.flatnonzero(path.excess <= most)
            best = fits[path.theta[fits].argmax()]
            shares = _around(shares, best)
        ends.append(float(path.theta[best]))
    return max(ends)


def _excess_at_one(table: Floats) -> float:
    """Q − min Q of the best fit among the odds ratios of 1 and beyond, seen from the estimate."""
    held = np.maximum(table[0], 0.0)
    above, below = held[1, 1] * held[0, 0], held[1, 0] * held[0, 1]
    if above == below:
        return 0.0
    table = table[:, ::-1] if above > below else table
    least = _cost_of_none(table)
    for lead in range(2 if least > 0 else 0):
        shares = _SHARES
        for _ in range(_FINER):
            path = _path(table, lead, shares)
            beyond = np.where(path.theta >= 1, path.excess, np.inf)
            shares = _around(shares, int(beyond.argmin()))
            least = min(least, float(beyond.min()))
    return least


def _cost_of_none(table: Floats) -> float:
    """Q − min Q where one of both cells below has no records."""
    y, v, fourth = table[:, [1, 0], [0, 1]]
    if (y <= 0).any():
        return 0.0
    noisy = v > 0
    if not noisy.any():
        return float(np.inf)
    z = y[noisy] / np.sqrt(v[noisy])
    return float((_as_normal(z, fourth[noisy] / v[noisy] ** 2) ** 2).min())


def _around(shares: Floats, place: int) -> Floats:
    low, high = shares[max(place - 1, 0)], shares[min(place + 1, len(shares) - 1)]
    return np.asarray(low + (high - low) * _INNER)


def _path(table: Floats, lead: int, shares: Floats) -> _Path:
    """Expected counts along which one of both cells below, the leading one, vanishes.

    Args:
        table: counts, those below positive, variances and fourth cumulants, shape (3, 2, 2).
        lead: 0 for the cell (1, 0), 1 for (0, 1).
        shares: of its count that are left, in (0, 1).
    """
    places = [((1, 0), (0, 1))[lead], ((1, 0), (0, 1))[1 - lead], (0, 0), (1, 1)]
    y, v, fourth = (row[tuple(zip(*places, strict=True))][:, None] for row in table)
    lam = y[0] * shares
    push = (y[0] - lam) * lam / (lam + v[0])
    own = [lam, _root(y[1], v[1], -push), _root(y[2], v[2], push), _root(y[3], v[3], push)]
    fit = np.stack(own)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        theta = fit[2] * fit[3] / (fit[0] * fit[1])
        below = y < 0
        least = float((y[below] ** 2 / v[below]).sum())
        excess = ((y - fit) ** 2 / (fit + v)).sum(axis=0) - least
        spread = ((fit + v) / fit**2).sum(axis=0)
        kurtosis = (fourth / fit**4).sum(axis=0) / spread**2
    known = np.isfinite(theta) & np.isfinite(excess) & np.isfinite(kurtosis)
    z = np.sqrt(np.maximum(excess[known], 0.0))
    path = _Path(np.zeros(len(shares)), np.full(len(shares), np.inf))
    path.theta[known], path.excess[known] = theta[known], _as_normal(z, kurtosis[known]) ** 2
    return path


def _as_normal(z: Floats, kurtosis: Floats) -> Floats:
    """The normal score x with x + κ·max(x³ − 3x, 0)/24 = z, elementwise, by Newton's method."""
    if not kurtosis.any():
        return z
    x, a = z.copy(), kurtosis / 24
    for _ in range(_NEWTON):  # from above, on a convex function
        excess = x + a * (x**3 - 3 * x) - z
        x = np.where(z * z > 3, x - excess / (1 + a * (3 * x * x - 3)), z)
    return x


def _root(y: Floats, v: Floats, push: Floats) -> Floats:
    """The larger λ with (λ − y)·λ = push·(λ + v), NaN where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt((y + push) ** 2 + 4 * push * v)
        large = np.where(y + push > 0, (y + push + root) / 2, 2 * push * v / (root - y - push))
        return np.where((push >= 0) | (y + push > 0), large, np.nan)


RATIO_NOTE = "The mean of the second group over that of the first; 1 where both are the same."


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
    sampling = _ratio_sampling(sums, drawn, counted)
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
        notes=(RATIO_NOTE,),
        bias=np.array([off / abs(first)]),
        null=1.0,
        denominator=np.array([first]),
        mixed=np.array([turned @ noise[:, 0] - ratio * sampling[0]]),
        squared=np.array([noise[0, 0] + sampling[0]]),
    )


def _ratio_sampling(sums: GroupSums, drawn: Sequence[Shown], counted: Shown | None) -> Floats:
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


DIFFERENCE_NOTE = "In units of the standard deviation within groups, pooled over both."


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
    sampling = _difference_sampling(sums, drawn, counted, d, s)
    variance = noise[0, 0] / s**2 + sampling
    return Inverted(
        names=(name,),
        estimate=np.array([d]),
        covariance=np.array([[variance]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([noise[0, 0] / s**2 / variance]),
        rule=rule,
        sets=len(drawn),
        notes=(DIFFERENCE_NOTE,),
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


def _difference_sampling(
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
