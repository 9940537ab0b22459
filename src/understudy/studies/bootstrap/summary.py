"""From repetitions to one row for each estimand and way, with Monte Carlo errors."""

from __future__ import annotations

from collections import Counter

import numpy as np
from scipy import stats

from understudy.studies.bootstrap import population
from understudy.studies.bootstrap.population import Estimand
from understudy.studies.bootstrap.simulation import LEVEL, WAYS, Scenario
from understudy.studies.montecarlo import mean_and_error, share_and_error, share_interval
from understudy.studies.study import Row


def summarise(scenario: Scenario, rows: list[Row]) -> list[Row]:
    """Rows of `results.csv` for one scenario.

    Each has `asked`, the repetitions, and `n`, those that gave an interval; `why` is the commonest
    reason for a refusal. `coverage_low` and `coverage_high` are Wilson's 95 % interval of the
    coverage; `width_ratio` compares the mean width with that of an interval from real rows,
    `bias_ratio` the bias of estimates with their standard error.
    """
    found = []
    for estimand in population.estimands():
        for way in WAYS:
            here = [r for r in rows if r["estimand"] == estimand.name and r["way"] == way]
            found.append(_summary(scenario, estimand, way, here))
    return found


def _summary(scenario: Scenario, estimand: Estimand, way: str, rows: list[Row]) -> Row:
    given = [row for row in rows if row["low"] is not None]
    reasons = Counter(row["why"] for row in rows if row["why"])
    head = {
        "estimand": estimand.name,
        "truth": estimand.truth,
        "way": way,
        "asked": len(rows),
        "n": len(given),
        "why": reasons.most_common(1)[0][0] if reasons else "",
    }
    return head | (_measured(scenario, estimand, given) if given else {})


def _measured(scenario: Scenario, estimand: Estimand, rows: list[Row]) -> Row:
    estimate, low, high = (
        np.array([row[name] for row in rows], dtype=np.float64)
        for name in ("estimate", "low", "high")
    )
    hits = int(((low <= estimand.truth) & (estimand.truth <= high)).sum())
    coverage, coverage_error = share_and_error(hits, len(rows))
    coverage_low, coverage_high = share_interval(hits, len(rows))
    stderr = estimand.deviation / float(np.sqrt(scenario.n_rows))
    width, _ = mean_and_error(high - low)
    bias, bias_error = mean_and_error(estimate - estimand.truth)
    return {
        "coverage": coverage,
        "coverage_error": coverage_error,
        "coverage_low": coverage_low,
        "coverage_high": coverage_high,
        "width_ratio": width / (2 * float(stats.norm.ppf((1 + LEVEL) / 2)) * stderr),
        "bias_ratio": bias / stderr,
        "bias_ratio_error": bias_error / stderr,
        "rmse": float(np.sqrt(np.mean((estimate - estimand.truth) ** 2))),
    }
