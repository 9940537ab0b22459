"""Answers about records that were not drawn one by one: design effects, and groups of clusters.

People of one household, or pupils of one school, are alike. An answer that takes them as drawn one
by one states too small an error by sampling. A public design effect says by what factor its
variance is larger (Kish 1965, chapter 8). Errors by synthesis and privacy noise stay as they are.

**A finite population.** A sample that has the part f of its population, drawn without replacement,
has the sampling variance V ≤ (1 − f)·V₁, V₁ the expectation of the variance of draws with
replacement. That is so to the terms of order 1/n and 1/N that linearisation leaves out anyway, with
f the *least* chance of any unit to be drawn, as follows. With z what a unit adds, weighted, to the
linearised estimate, and Σz = 0 over the population:

* *simple*: n of N, f = n/N: V = n(1 − f)S², and the n draws show V₁ = nS². Equal.
* *in strata*: V = Σn_h(1 − f_h)S_h² ≤ (1 − f)·Σn_hS_h², and V₁ = Σn_h(S_h² + z̄_h²) is no less than
  that sum. Among the records of one stratum f_h itself holds, since it is simple there.
* *one by one*, with chances π: V = Σ(1 − π)z²π ≤ (1 − f)·Σz²π = (1 − f)·V₁.
* *clusters*, f₁ = m/M of them, and of each the part f₂, k of its K: with S₁² between the means of
  clusters and S₂² within, V ∝ (1 − f₁)S₁² + (1 − f₂)S₂²/k and V₁, between drawn clusters,
  ∝ S₁² + (1 − f₂)S₂²/k. So V₁ − V ∝ f₁S₁², which is f₁f₂·V₁ or more where S₁² ≥ S₂²/K: where
  units of a cluster are no less alike than chance has them. Again f = f₁f₂ is the chance of a unit.
  The first fraction alone, f₁, would be too much.

It holds of *this* population as it was, not of what made it, nor of others: a superpopulation has
all of V₁ (Cochran 1977, sections 2.8 and 5.8, and 10.3 for clusters). Where a design effect
is declared, V₁ is of simple draws times the effect; the fraction then counts beside it only if the
effect is against draws without replacement. Noise is not less for all that: the fraction is public,
and nothing is claimed of it for privacy.

Intervals get shorter only where they follow from a variance: others may have ends that bins or
tests give, and stay.

**Random groups of clusters** show variances of whatever weighted second moments give.

Second moments of the records in each random group are sums over its clusters. An estimate is a
smooth function of the moments M of all records, with derivatives D, and group g has z_g = D·M_g of
it: Σt(y − R) over its records, in parts of Σt, for a ratio R; Σty for a total; A⁻¹Σtx(y − x'b) for
a linear model. A domain is no other case: records outside add 0.

**The variance.** Let z_j be the part of cluster j. The clusters of a stratum h were drawn one by
one, so their z_j have one mean μ_h and one variance σ_h², and the error of Σz_j is Σm_hσ_h² over
strata of m_h clusters. Let clusters be in G groups, whatever they say, and M_g the mean of z_g, the
sum of μ_h over the clusters of group g. Then

    B = G/(G − 1)·Σ(z_g − z̄)²  has the mean  Σm_hσ_h² + G/(G − 1)·Σ(M_g − M̄)²,

since each z_g has the variance of its own clusters, of which z̄ takes one part in G. So B is never
too small on average, and is right where each group has the same mean.

* *Dealt* in turn, stratum by stratum, groups have as many clusters of each stratum, or one more.
  So M_g are equal where m_h are multiples of G, and differ by single clusters elsewhere. What
  comes from strata and from a fixed number of clusters is in B. The plan of the survey has
  dealt them, so the group of a record is a word of its own.
* *Each by itself*, at the same chance: two clusters are together with the chance 1/G, so what M_g
  add is Σm_hμ_h². That is nothing for a ratio or a coefficient without strata. A total adds as if
  the number of clusters were by chance, and its interval is about √(1 + μ²/σ²) times as long.
  No group could be drawn within strata here, where it would depend on other records.

Sums by stratum and group would not help: M_g differ by how many clusters of a stratum a group has,
which no sum over records says.

**Few clusters.** A ratio or a model is fitted to the same clusters, so Σz_g is 0, and z_g lacks
what its group has of the fit. Let s_g be the part of the denominator that is in group g, and its
variance in proportion. Then Σz_g² has the mean V(1 − Q), Q = Σs_g², and 1/(1 − Q) stands in place
of G/(G − 1); both are the same where groups are equal. Groups without clusters have no part in Q.
There are (1 − Q)/Q degrees of freedom, one less than there seem to be groups. Below one, as where
one group has all clusters, no error is known: without a public design effect there is no answer.

**Noise.** Each released number of a group has noise of variance v, independent of all else. So z_g
has c = D²·v of it, and B has N = G·c more on average, which is known.

**The posterior of V.** B is (V + N)/ν times a χ² of ν degrees of freedom. With the usual prior of a
variance, 1/(V + N), cut where V would be negative, V + N is νB over a χ² that is at most νB/N. An
interval has the t distribution whose variance has the same two moments; without noise it is the
textbook's. Where N hides V, what stays likely of V is a part of N, and not all. What is said of V
is no smaller than the variance of records drawn one by one, but for dealt groups, since strata may
make it smaller. Over 4 to 100 groups and all V and N such intervals of 95 % hold at least 94 %.

**Degrees of freedom** ν of B are Satterthwaite's: of a variance V in all, group g has the part that
it has of the denominator, and the noise c. Few or unequal groups count as fewer. Below
`LEAST_DEGREES` B stays as it is, noise included. A public design effect takes over where noise
leaves fewer than these in V.

Sources: Wolter (2007), "Introduction to Variance Estimation", chapter 2; Satterthwaite (1946),
Biometrics Bulletin 2, 110-114; Box & Tiao (1973), "Bayesian Inference in Statistical Analysis", for
the posterior of a variance beside a known one. The mean of B, and what noise leaves, are ours;
`tests/inference/weighted/test_random_groups.py` compares with a slow formula, and simulates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from understudy._arrays import Flags, Floats
from understudy.errors import InferenceError, TooFewError
from understudy.features.scores import FeatureMap
from understudy.inference.combining import Pooled
from understudy.inference.conditions import state_values
from understudy.inference.linear import Inverted
from understudy.inference.question import Estimand
from understudy.inference.second_moments import MomentSource, average_numbers
from understudy.inference.two_way import Independence
from understudy.schema import Schema
from understudy.schema.design import Design, DesignEffect

LEAST_DEGREES: Final = 3.0
"""Least degrees of freedom of a variance between random groups that is told from its noise."""


_ONE_GROUP: Final = 1e-9
"""What other groups have of a denominator, at least, so that nothing is divided by 0."""


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Second moments of the records in each random group, as they were released.

    Attributes:
        column: of the groups.
        numbers: of each group, divided by their weight, in records, shape (groups, numbers).
        variances: of the noise in them, shape (numbers,).
        drawn: whether the noise is in them; not where they are expected ones.
    """

    column: str
    numbers: Floats
    variances: Floats
    drawn: bool = True

    @classmethod
    def of(
        cls,
        sources: Sequence[MomentSource],
        scores: FeatureMap,
        column: str,
        *,
        drawn: bool = True,
    ) -> GroupSums | None:
        """Those of some scores; None if a number is lacking.

        Args:
            sources: of records in groups, whose `group` says which.
            scores: of the moments of all records.
            column: of the groups.
            drawn: whether the noise is in them.
        """
        groups = sorted({one.group for one in sources})
        each = [
            average_numbers(scores, [one for one in sources if one.group == group])
            for group in groups
        ]
        if len(each) < 2 or not all(np.isfinite(noise).all() for _, noise in each):
            return None
        return cls(column, np.stack([numbers for numbers, _ in each]), each[0][1], drawn)


@dataclass(frozen=True, eq=False)
class Influence:
    """The first-order effect of released numbers on some estimates.

    Attributes:
        gradient: derivatives of each, shape (k, numbers or more).
        sizes: of the denominator of each, of the same shape.
        alone: sampling covariance of records drawn one by one, shape (k, k).
        noise: variance of each by noise, shape (k,).
        fitted: whether what groups have of each adds up to 0, as of ratios and models; not of
            totals.
    """

    gradient: Floats
    sizes: Floats
    alone: Floats
    noise: Floats
    fitted: bool = True


@dataclass(frozen=True, eq=False)
class Clustered:
    """Sampling errors of estimates from clusters.

    Attributes:
        sampling: covariance, shape (k, k).
        df: degrees of freedom, infinite where a public design effect took over, shape (k,).
        noisy: of which noise hides much, shape (k,).
        few: which have clusters in few groups, and no design effect, shape (k,).
    """

    sampling: Floats
    df: Floats
    noisy: Flags
    few: Flags

    def mask_unknown(self, estimates: Floats) -> Floats:
        """Estimates, with NaN where less than one degree of freedom is left, shape (k,).

        Raises:
            TooFewError: none has more.
        """
        lost = self.few & (self.df < 1)
        if lost.all():
            raise TooFewError(ONE_GROUP)
        return np.where(lost, np.nan, estimates)

    def put_into(self, pooled: Inverted) -> Inverted:
        """Estimates that have these degrees of freedom.

        Args:
            pooled: with this sampling covariance.

        Raises:
            TooFewError: none has one of them.
        """
        estimate = self.mask_unknown(pooled.estimate)
        return replace(pooled, estimate=estimate, df=self.df, notes=(*pooled.notes, *self.notes))

    @property
    def notes(self) -> tuple[str, ...]:
        """Say of how many noise hides much, and how many have few groups of clusters, if any."""
        counted = (NOISY_NOTE, int((self.noisy & ~self.few).sum())), (FEW_NOTE, int(self.few.sum()))
        return tuple(note.format(k) for note, k in counted if k)


ONE_GROUP: Final = (
    "Its clusters are in one random group or nearly so, so that nothing tells how they differ; a "
    "release with a public deff in [design] has the answer."
)
FEW_NOTE: Final = (
    "Clusters of {} of these are in fewer than four random groups, so that intervals are long, and "
    "none is given for one group. A public deff in [design] would take its place."
)
NOISY_NOTE: Final = (
    "Noise hides how the random groups differ in {} of these, so that intervals allow for what it "
    "may hide, and are longer than need be. A public deff in [design] would take its place."
)


@dataclass(frozen=True, eq=False)
class Clustering:
    """The clusters of a question and how they count.

    Attributes:
        sums: of each random group.
        effect: public design effect that takes over where noise hides how they differ; None if
            none is declared.
        remaining: part of the sampling variance that a finite population leaves, shape (k,).
        dealt: whether each group has as many clusters of each stratum.
    """

    sums: GroupSums
    effect: float | None
    remaining: Floats
    dealt: bool = False

    def errors(self, own: Influence) -> Clustered:
        """Sampling errors of some estimates; those of single records if nothing says more.

        Args:
            own: of the estimates.
        """
        sums = self.sums
        groups, k = sums.numbers.shape
        gradient, sizes = own.gradient[:, :k], own.sizes[:, :k]
        z = sums.numbers @ gradient.T
        noise = gradient**2 @ sums.variances
        each = np.maximum(sums.numbers @ sizes.T, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = each / each.sum(axis=0)
        rest = np.clip(np.nan_to_num(1 - (shares**2).sum(axis=0)), _ONE_GROUP, 1 - 1 / groups)
        over = 1 / rest if own.fitted else groups / (groups - 1)
        heard = over * (groups - 1) * noise
        spread = over * ((z - z.mean(axis=0)) ** 2).sum(axis=0)
        spread += 0.0 if sums.drawn else heard
        alone = np.diag(own.alone)
        least = np.zeros(len(alone)) if self.dealt and sums.drawn else alone
        left, about = self.remaining, np.maximum(spread - heard, least)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = about * shares + noise
            told = rest * (left * about + own.noise) ** 2 / (left**2 * (parts**2).sum(axis=0))
            degrees = rest * (about + groups * noise) ** 2 / (parts**2).sum(axis=0)
        few, known = ~(told >= LEAST_DEGREES), ~(degrees < LEAST_DEGREES)
        mean, deviation = remaining_variance(spread, degrees, heard)
        variance, df = t_moments(left * mean + own.noise, left * deviation, degrees)
        variance = np.where(known, variance - own.noise, left * spread)
        variance, df = np.maximum(variance, left * least), np.where(known, df, degrees)
        if self.effect is not None:
            variance = np.where(few, left * self.effect * alone, variance)
            df = np.where(few, np.inf, df)
        df = np.where(left > 0, df, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            growth = np.sqrt(np.where(alone > 0, variance / alone, left))
        sampling = own.alone * np.multiply.outer(growth, growth)
        np.fill_diagonal(sampling, variance)
        noisy = few & np.isfinite(alone) & (self.effect is None)
        return Clustered(sampling, df, noisy, noisy & (rest / (1 - rest) < LEAST_DEGREES))


_FLOOR: Final = 0.5
"""A spread below this part of the noise in it counts as that: it only lengthens intervals."""


def remaining_variance(spread: Floats, degrees: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of a variance, given its sum with that of noise.

    Args:
        spread: estimate of the sum, shape (k,).
        degrees: of freedom of that, above 2; below, the mean is NaN; same shape.
        noise: known variance of the noise, same shape.

    Returns:
        Both of shape (k,); the deviation is infinite at 4 degrees or fewer.

    Example:
        >>> of = np.array([3.0]), np.array([19.0]), np.array([2.0])
        >>> [round(float(one[0]), 2) for one in remaining_variance(*of)]
        [1.48, 1.18]
    """
    from scipy.special import gammainc

    spread = np.maximum(spread, _FLOOR * noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(noise > 0, degrees * spread / noise, np.inf) / 2
        whole = gammainc(degrees / 2, most)
        mean = degrees * spread / (degrees - 2) * gammainc(degrees / 2 - 1, most) / whole
        square = degrees * spread / (degrees - 4) * gammainc(degrees / 2 - 2, most)
        square *= degrees * spread / (degrees - 2) / whole
    mean = np.where(degrees > 2, mean, np.nan)
    square = np.where(degrees > 4, square, np.inf)
    return mean - noise, np.sqrt(np.maximum(square - mean**2, 0.0))


def t_moments(mean: Floats, deviation: Floats, degrees: Floats) -> tuple[Floats, Floats]:
    """Squared scale and degrees of freedom of the t whose random variance has these moments.

    Args:
        mean: of the variance, shape (k,).
        deviation: of it, infinite at 4 degrees of freedom or fewer, same shape.
        degrees: which it has then, same shape.

    Returns:
        Both of shape (k,).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(np.isfinite(deviation), 4 + 2 * (mean / deviation) ** 2, degrees)
        scale = np.where(np.isfinite(df), mean * (1 - 2 / df), mean)
    return scale, df


@dataclass(frozen=True)
class Grown(Pooled):
    """Estimates with larger errors by sampling.

    Attributes:
        plain: as if records were drawn one by one.
        factor: of each standard error, shape (k,).
    """

    plain: Pooled = field(kw_only=True)
    factor: Floats = field(kw_only=True)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends: each is as many times farther from its estimate, but for the bias.

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        lower, upper = self.plain.interval(level)
        bias = np.nan_to_num(self.bias)  # quantiles have none beside their intervals
        down, up = bias - self.lean, bias + self.lean
        below = (self.estimate - lower - down) * self.factor + down
        above = (upper - self.estimate - up) * self.factor + up
        return self.estimate - below, self.estimate + above

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each quantity is 0, shape (k,)."""
        return np.asarray(2 * ndtr(ndtri(np.asarray(self.plain.pvalue) / 2) / self.factor))


def grow(pooled: Pooled, effects: Floats) -> Pooled:
    """Multiply the sampling part of each variance by the effects of a design.

    Args:
        pooled: of records as if drawn one by one. Where it does not say which part of a variance is
            sampling, all of it is taken to be, and is not made smaller.
        effects: the factors, shape (k,). Those below 1 count where intervals follow from variances.
    """
    sampling = np.clip(1 - pooled.synthesis_share, 0, 1)
    least = np.maximum(effects, 1.0)
    growth = np.where(np.isnan(sampling), least, 1 + (effects - 1) * sampling)
    closed = follows_variance(pooled)
    growth = growth if closed else np.maximum(growth, 1.0)
    factor = np.sqrt(growth)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(growth > 0, pooled.synthesis_share / growth, pooled.synthesis_share)
    grown = {"covariance": pooled.covariance * np.outer(factor, factor), "synthesis_share": share}
    if isinstance(pooled, Independence):  # a χ² by the effect, to first order (Rao and Scott 1981)
        tested = float(chdtrc(pooled.df[0], pooled.estimate[0] / least[0]))
        return replace(pooled, **grown, test_pvalue=max(tested, pooled.test_pvalue))
    if closed and (growth < 1).any():
        return replace(pooled, **grown)
    kept = ("names", "estimate", "df", "rule", "sets", "bias", "lean")
    own = {name: getattr(pooled, name) for name in kept}
    return Grown(**own, **grown, plain=pooled, factor=factor)


def follows_variance(pooled: Pooled) -> bool:
    """Return whether intervals are functions of the variances that they are stated with."""
    return type(pooled) in (Pooled, Inverted)


def fractions_of(estimand: Estimand | None, schema: Schema, k: int) -> Floats:
    """The sampling fraction of the units that each quantity is about, shape (k,); 0 without any.

    Of a stratum its own, and of several the least of theirs.

    Args:
        estimand: the question; None for one that is about any records.
        schema: whose design it is, with the columns of the question.
        k: number of quantities.
    """
    found = schema.design.fractions(schema.columns)
    least, strata = found.pop(""), schema.design.strata
    if not found or estimand is None:
        return np.full(k, least)
    each = np.array([*found.values()])
    least = float(each[_strata_met(estimand, schema)].min())
    if strata not in estimand.groups:
        return np.full(k, least)
    sizes = [schema.columns[name].n_ordinary for name in estimand.groups]
    along = [-1 if name == strata else 1 for name in estimand.groups]
    of_groups = np.broadcast_to(each.reshape(along), sizes).reshape(-1)
    levels, rest = divmod(k, len(of_groups))
    return np.full(k, least) if rest else np.repeat(of_groups, levels)


def _strata_met(estimand: Estimand, schema: Schema) -> NDArray[np.bool_]:
    """Strata that have some of the records that a question is about, shape (strata,)."""
    strata = schema.design.strata
    size = schema.columns[strata].n_ordinary
    everywhere = np.ones(size, dtype=np.bool_)
    if not estimand.where:
        return everywhere
    try:
        columns, values = state_values(estimand.where, schema)
    except InferenceError:
        return everywhere
    if columns != (strata,):
        return everywhere
    met = values[:size] == 1
    return met if met.any() else everywhere


def effect_note(effect: DesignEffect) -> str:
    """Say by what the sampling variance is multiplied."""
    return (
        f"The sampling variance is multiplied by the public design effect {effect.default:g} "
        f"({effect.source}), and holds if that does."
    )


def effect_notes(design: Design, fractions: Floats, *, counted: bool = True) -> tuple[str, ...]:
    """Say what the effects of a design are, where any is declared; arguments as `finite_note`."""
    declared = () if design.deff is None else (effect_note(design.deff),)
    return (*declared, *finite_note(design, fractions, counted=counted))


def finite_note(design: Design, fractions: Floats, *, counted: bool = True) -> tuple[str, ...]:
    """Say which population an answer is about, where a sampling fraction is declared.

    Args:
        design: of the schema.
        fractions: that are counted, shape (k,).
        counted: whether they are.
    """
    if design.fpc is None:
        return ()
    if not counted:
        return ("That the population is finite (fpc) is not counted in this answer.",)
    ends = sorted({100 * float(fractions.min()), 100 * float(fractions.max())})
    shown = " to ".join(f"{end:.3g}" for end in ends)
    return (
        f"The sampling variance counts that the sample has {shown} % of its finite population "
        f"({design.fpc.source}): the answer is about that population, and about no larger one.",
    )
