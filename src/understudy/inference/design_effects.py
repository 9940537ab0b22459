"""Answers about records that were not drawn one by one: their error by sampling, grown or shrunk.

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
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from understudy._arrays import Floats
from understudy.errors import InferenceError
from understudy.inference.combining import Pooled
from understudy.inference.conditions import state_values
from understudy.inference.linear import Inverted
from understudy.inference.question import Estimand
from understudy.inference.two_way import Independence
from understudy.schema import Schema
from understudy.schema.design import Design, DesignEffect


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
