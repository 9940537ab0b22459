"""The odds ratio of a noisy 2 × 2 table, with an interval by test inversion, without logarithms.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import chdtrc, chdtri

from understudy.arrays import Floats
from understudy.inference.set_estimates import Pooled, require_level
from understudy.inference.two_way.noisy_cells import NoisyCells
from understudy.inference.two_way.traits import Trait

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
