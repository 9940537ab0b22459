"""From repetitions to one row for each estimand and way, with Monte Carlo errors."""

from __future__ import annotations

from collections import Counter

from understudy.studies.bootstrap import population
from understudy.studies.bootstrap.simulation import LEVEL, WAYS, Scenario
from understudy.studies.estimand import Estimand
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
    return head | (estimand.judged(given, scenario.n_rows, LEVEL) if given else {})
