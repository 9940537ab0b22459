"""Answers about records that were not drawn one by one: their error by sampling, grown.

People of one household, or pupils of one school, are alike. An answer that takes them as drawn one
by one states too small an error by sampling. A public design effect says by what factor its
variance is larger (Kish 1965, chapter 8). Errors by synthesis and privacy noise stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

from understudy._arrays import Floats
from understudy.inference.combining import Pooled
from understudy.inference.two_way import Independence
from understudy.schema.design import DesignEffect


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
        below = (self.estimate - lower - self.bias) * self.factor + self.bias
        above = (upper - self.estimate - self.bias) * self.factor + self.bias
        return self.estimate - below, self.estimate + above

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each quantity is 0, shape (k,)."""
        return np.asarray(2 * ndtr(ndtri(np.asarray(self.plain.pvalue) / 2) / self.factor))


def grow(pooled: Pooled, effect: DesignEffect) -> Pooled:
    """Multiply the sampling part of each variance by a public design effect.

    Args:
        pooled: of records as if drawn one by one. Where it does not say which part of a variance is
            sampling, all of it is taken to be, and is not made smaller.
        effect: the factor, and where it is published.
    """
    sampling = np.clip(1 - pooled.synthesis_share, 0, 1)
    most = max(effect.default, 1.0)
    growth = np.where(np.isnan(sampling), most, 1 + (effect.default - 1) * sampling)
    factor = np.sqrt(growth)
    grown = {
        "covariance": pooled.covariance * np.outer(factor, factor),
        "synthesis_share": pooled.synthesis_share / growth,
    }
    if isinstance(pooled, Independence):  # a χ² by the effect, to first order (Rao and Scott 1981)
        tested = float(chdtrc(pooled.df[0], pooled.estimate[0] / most))
        return replace(pooled, **grown, test_pvalue=max(tested, pooled.test_pvalue))
    kept = ("names", "estimate", "df", "rule", "sets", "bias")
    own = {name: getattr(pooled, name) for name in kept}
    return Grown(**own, **grown, plain=pooled, factor=factor)


def effect_note(effect: DesignEffect) -> str:
    """Say by what the sampling variance is multiplied."""
    return (
        f"The sampling variance is multiplied by the public design effect {effect.default:g} "
        f"({effect.source}), and holds if that does."
    )
