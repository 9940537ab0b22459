"""An estimate with everything that belongs to it: error, degrees of freedom, interval, p-value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from understudy.arrays import Floats
from understudy.errors import InferenceError


@dataclass(frozen=True)
class Pooled:
    """Estimates of k quantities from one or several synthetic sets.

    Attributes:
        names: what is estimated, k names.
        estimate: point estimates, shape (k,).
        covariance: total covariance, shape (k, k); its diagonal is always known, entries beside
            the diagonal are NaN where only variances were given.
        df: degrees of freedom of the t reference of each, shape (k,); infinite for the normal.
        synthesis_share: share of each variance that comes from synthesis and privacy noise rather
            than from sampling, shape (k,); NaN where it is not known.
        rule: name of the rule that gave the variance.
        sets: how many sets were pooled.
        notes: what was assumed or replaced on the way, one sentence each; often empty.
    """

    names: tuple[str, ...]
    estimate: Floats
    covariance: Floats
    df: Floats
    synthesis_share: Floats
    rule: str
    sets: int
    notes: tuple[str, ...] = ()

    @property
    def stderr(self) -> Floats:
        """Standard errors, shape (k,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the confidence intervals, each of shape (k,).

        Args:
            level: confidence level in (0, 1).

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        if not 0 < level < 1:
            raise InferenceError(f"Expected a confidence level between 0 and 1, got {level!r}.")
        reach = self._quantile((1 + level) / 2) * self.stderr
        return self.estimate - reach, self.estimate + reach

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each quantity is 0, shape (k,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(self.estimate) / self.stderr
        normal = np.isinf(self.df)
        finite = np.where(normal, 1.0, self.df)
        return np.asarray(np.where(normal, 2 * stats.norm.sf(t), 2 * stats.t.sf(t, finite)))

    def _quantile(self, probability: float) -> Floats:
        normal = np.isinf(self.df)
        finite = np.where(normal, 1.0, self.df)
        quantile = np.where(normal, stats.norm.ppf(probability), stats.t.ppf(probability, finite))
        return np.asarray(quantile)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row per quantity: estimate, stderr, df, lower, upper, pvalue, synthesis_share."""
        lower, upper = self.interval(level)
        return pd.DataFrame(
            {
                "estimate": self.estimate,
                "stderr": self.stderr,
                "df": self.df,
                "lower": lower,
                "upper": upper,
                "pvalue": self.pvalue,
                "synthesis_share": self.synthesis_share,
            },
            index=pd.Index(self.names, name="term"),
        )

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """Plain data; numbers that are not finite become None."""
        rows = self.to_frame(level).reset_index().to_dict(orient="records")
        clean = [
            {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}
            for row in rows
        ]
        return {
            "rule": self.rule,
            "sets": self.sets,
            "level": level,
            "terms": clean,
            "notes": list(self.notes),
        }
