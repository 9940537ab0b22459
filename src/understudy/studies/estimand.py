"""A quantity of a population whose true value is known, and how intervals for it are judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from understudy.studies.montecarlo import mean_and_error, share_and_error, share_interval
from understudy.studies.study import Row


@dataclass(frozen=True)
class Estimand:
    """A quantity of the population, and how an analyst asks a release for it.

    Attributes:
        name: short name.
        kind: kind of analysis.
        formula: what is asked.
        term: name of the quantity among the terms of the answer.
        truth: its true value.
        deviation: √n times its standard error with n real rows.
    """

    name: str
    kind: str
    formula: str
    term: str
    truth: float = math.nan
    deviation: float = math.nan

    def stderr(self, n: int) -> float:
        """Its standard error with n real rows."""
        return self.deviation / float(np.sqrt(n))

    def judged(self, rows: Sequence[Row], n: int, level: float) -> Row:
        """Coverage, width and bias of intervals, with Monte Carlo errors.

        `coverage_low` and `coverage_high` are Wilson's 95 % interval of the coverage; `width_ratio`
        compares the mean width with that of an interval from real rows, `bias_ratio` the bias with
        their standard error.

        Args:
            rows: of repetitions, with `estimate`, `low` and `high`.
            n: number of real rows.
            level: of the intervals.
        """
        estimate, low, high = (
            np.array([row[name] for row in rows], dtype=np.float64)
            for name in ("estimate", "low", "high")
        )
        hits = int(((low <= self.truth) & (self.truth <= high)).sum())
        coverage, coverage_error = share_and_error(hits, len(rows))
        coverage_low, coverage_high = share_interval(hits, len(rows))
        width, width_error = mean_and_error(high - low)
        bias, bias_error = mean_and_error(estimate - self.truth)
        stderr = self.stderr(n)
        return {
            "coverage": coverage,
            "coverage_error": coverage_error,
            "coverage_low": coverage_low,
            "coverage_high": coverage_high,
            "width": width,
            "width_error": width_error,
            "width_ratio": width / (2 * float(stats.norm.ppf((1 + level) / 2)) * stderr),
            "bias": bias,
            "bias_error": bias_error,
            "bias_ratio": bias / stderr,
            "bias_ratio_error": bias_error / stderr,
            "rmse": float(np.sqrt(np.mean((estimate - self.truth) ** 2))),
        }
