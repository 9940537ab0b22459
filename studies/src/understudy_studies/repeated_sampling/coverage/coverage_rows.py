"""Rows of results of the coverage study: how they are made of repetitions, and what each is about.

One row for each estimand, role and rule, with Monte Carlo errors.
"""

from __future__ import annotations

from dataclasses import dataclass

from understudy_studies.framework.interval_tally import Estimand
from understudy_studies.framework.study import Row
from understudy_studies.repeated_sampling.coverage import population
from understudy_studies.repeated_sampling.coverage.naive import LEVEL
from understudy_studies.repeated_sampling.coverage.simulation import (
    NAIVE,
    REAL_ROWS,
    REFUSED,
    VALID,
    Scenario,
)

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


@dataclass(frozen=True)
class Layout:
    """A way to make a release, but for its budget.

    Attributes:
        method: method with its form, or `REAL_ROWS`.
        sets: number and kind of sets, and whether rows had to be public.
    """

    method: str
    sets: str

    @classmethod
    def of(cls, row: Row) -> Layout:
        """The layout of a row of results."""
        if row["method"] == REAL_ROWS:
            return cls(REAL_ROWS, "–")
        form = row["options"].removeprefix("form=")
        sets = "1" if row["sets"] == 1 else f"{row['sets']} {row['sets_kind']}"
        public = ", rows public" if row["rows"] == "public" else ""
        return cls(f"{row['method']} {form}".strip(), sets + public)

    def __str__(self) -> str:
        return self.method if self.method == REAL_ROWS else f"{self.method}, {self.sets}"
