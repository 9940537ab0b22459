"""From repetitions to one row for each estimand, role and rule, with Monte Carlo errors."""

from __future__ import annotations

import numpy as np
from scipy import stats

from understudy.studies.coverage import population
from understudy.studies.coverage.naive import LEVEL
from understudy.studies.coverage.population import Estimand
from understudy.studies.coverage.simulation import NAIVE, REFUSED, VALID, Scenario
from understudy.studies.montecarlo import mean_and_error, share_and_error, share_interval
from understudy.studies.study import Row

Key = tuple[str, str, str]


def summarise(scenario: Scenario, rows: list[Row]) -> list[Row]:
    """Rows of `results.csv` for one scenario.

    Each has `n`, the repetitions with this rule; where `analyze` refused, they are refusals and
    there is nothing else. `coverage_low` and `coverage_high` are Wilson's 95 % interval of the
    coverage; `width_ratio` compares the mean width with that of an interval from real rows,
    `bias_ratio` the bias with their standard error.
    """
    found: list[Row] = []
    for estimand in population.estimands():
        groups: dict[Key, list[Row]] = {}
        for row in rows:
            if row["estimand"] == estimand.name:
                groups.setdefault((row["role"], row["rule"], row["why"]), []).append(row)
        for key in sorted(groups, key=_order):
            found.append(_summary(scenario, estimand, key, groups[key]))
    return found


def _order(key: Key) -> tuple[int, bool, Key]:
    """The valid interval, its refusals, the naive interval."""
    return [VALID, NAIVE].index(key[0]), key[1] == REFUSED, key


def _summary(scenario: Scenario, estimand: Estimand, key: Key, rows: list[Row]) -> Row:
    role, rule, why = key
    head = {
        "estimand": estimand.name,
        "truth": estimand.truth,
        "role": role,
        "rule": rule,
        "why": why,
        "n": len(rows),
    }
    return head if rule == REFUSED else head | _measured(scenario, estimand, rows)


def _measured(scenario: Scenario, estimand: Estimand, rows: list[Row]) -> Row:
    estimate, low, high = (
        np.array([row[name] for row in rows], dtype=np.float64)
        for name in ("estimate", "low", "high")
    )
    hits = int(((low <= estimand.truth) & (estimand.truth <= high)).sum())
    coverage, coverage_error = share_and_error(hits, len(rows))
    coverage_low, coverage_high = share_interval(hits, len(rows))
    width, width_error = mean_and_error(high - low)
    bias, bias_error = mean_and_error(estimate - estimand.truth)
    stderr = estimand.stderr(scenario.n_rows)
    return {
        "coverage": coverage,
        "coverage_error": coverage_error,
        "coverage_low": coverage_low,
        "coverage_high": coverage_high,
        "width": width,
        "width_error": width_error,
        "width_ratio": width / (2 * float(stats.norm.ppf((1 + LEVEL) / 2)) * stderr),
        "bias": bias,
        "bias_error": bias_error,
        "bias_ratio": bias / stderr,
        "bias_ratio_error": bias_error / stderr,
        "rmse": float(np.sqrt(np.mean((estimate - estimand.truth) ** 2))),
    }
