"""From repetitions to one row for each estimand, role and rule, with Monte Carlo errors."""

from __future__ import annotations

from understudy.studies.coverage import population
from understudy.studies.coverage.naive import LEVEL
from understudy.studies.coverage.simulation import NAIVE, REFUSED, VALID, Scenario
from understudy.studies.estimand import Estimand
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
    return head if rule == REFUSED else head | estimand.judged(rows, scenario.n_rows, LEVEL)
