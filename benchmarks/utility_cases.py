"""What the utility benchmark runs, and what is hoped for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ADULT, ACS, LOANS, MSNBC = "adult_coded", "nist_acs_national2019", "loans_coded", "msnbc"
TABLES = (ADULT, ACS, LOANS, MSNBC)
COPY, SHUFFLED = "real rows, drawn again", "exact columns, independent"
REFERENCES = (COPY, SHUFFLED)
DELTAS = ("0", "1e-9")
ROWS = ("public", "private")
BEST = "marginals"
AUTO = "auto"
"""The usual release: the method that the table suggests, and second moments to answer from."""


@dataclass(frozen=True)
class Case:
    """What is run.

    Attributes:
        table: name of a known table.
        method: name of a method, or one of `REFERENCES`, which are not private.
        epsilon: of the whole release.
        delta: of the whole release.
        rows: "public" or "private".
        options: of the method.
    """

    table: str
    method: str
    epsilon: str = "1"
    delta: str = "1e-9"
    rows: str = "public"
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def label(self) -> str:
        """The case in one line, for filters and records."""
        options = [f"{name}={value}" for name, value in sorted(self.options.items())]
        budget = [] if self.method in REFERENCES else [self.epsilon, self.delta, self.rows]
        return "/".join([self.table, self.method, *budget, *options])


@dataclass(frozen=True)
class Goal:
    """A case, and the bounds that its mean scores should keep.

    Attributes:
        name: what the goal is called.
        case: with a public number of rows.
        bounds: key of a score → bound; an upper one, but for "trained_auc".
        beats_independent: whether it should have a smaller tv2 and three_way than the exact columns
            of the table, drawn independently.
    """

    name: str
    case: Case
    bounds: dict[str, float]
    beats_independent: bool = False


def _bounds(
    tv2: float, three_way: float, specks: float, auc: float, cpu_s: float
) -> dict[str, float]:
    return {
        "tv2": tv2,
        "three_way": three_way,
        "specks": specks,
        "trained_auc": auc,
        "cpu_s": cpu_s,
    }


_SMALL = {"peak_mb": 500.0}
GOALS = (
    Goal("MST", Case(ADULT, "mst"), _bounds(0.054, 0.132, 0.075, 0.81, 3) | _SMALL),
    Goal("best", Case(ADULT, BEST, "0.1"), _bounds(0.1, 0.18, 0.26, 0.85, 6) | _SMALL),
    Goal("best", Case(ADULT, BEST), _bounds(0.034, 0.09, 0.055, 0.895, 20) | _SMALL),
    Goal("best, stretch", Case(ADULT, BEST), _bounds(0.03, 0.08, 0.04, 0.91, 10) | _SMALL),
    Goal("best", Case(ADULT, BEST, "10"), _bounds(0.021, 0.068, 0.015, 0.91, 30) | _SMALL),
    Goal("best", Case(ACS, BEST), _bounds(0.034, 0.084, 0.065, 0.72, 20)),
    Goal("best", Case(LOANS, BEST), {"cpu_s": 45}, beats_independent=True),
    Goal("best", Case(MSNBC, BEST), {"tv2": 0.015, "three_way": 0.03, "cpu_s": 40}),
    Goal(
        "with answers",
        Case(ADULT, AUTO),
        {"tv2": 0.029, "three_way": 0.08, "specks": 0.035, "trained_auc": 0.90},
    ),
    Goal("with answers", Case(ACS, AUTO), {"tv2": 0.03, "three_way": 0.072}),
    Goal("with answers", Case(LOANS, AUTO), {"tv2": 0.06}),
    Goal("with answers", Case(MSNBC, AUTO), {"tv2": 0.0085, "three_way": 0.02}),
)


def references() -> list[Case]:
    """What there is to compare with, without privacy."""
    return [Case(table, name) for table in TABLES for name in REFERENCES]


def goal_cases(rows: tuple[str, ...] = ROWS) -> list[Case]:
    """The goals' cases, each once, with a public and with a private number of rows."""
    cases = [
        Case(goal.case.table, goal.case.method, goal.case.epsilon, goal.case.delta, kind)
        for goal in GOALS
        for kind in rows
    ]
    return list(dict.fromkeys(cases))


def comparison_cases(methods: list[str]) -> list[Case]:
    """Every method on one table at ε = 1: pure and with δ, with public and with private rows."""
    return [
        Case(ADULT, method, "1", delta, rows)
        for method in methods
        for delta in DELTAS
        for rows in ROWS
    ]
