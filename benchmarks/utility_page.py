"""The page of the utility benchmark, from its records."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from understudy.evaluate.scores import DEFINITIONS, Definition
from utility_cases import (
    ADULT,
    COPY,
    DELTAS,
    GOALS,
    REFERENCES,
    ROWS,
    SHUFFLED,
    TABLES,
    Case,
    Goal,
)
from utility_words import (
    BESIDE,
    COMPARED,
    COSTS,
    DEFINED,
    EVALUATED,
    LOOKED_UP,
    REPLACED,
    WAS,
    WHAT_WAS_DONE,
    WITHOUT,
)
from yardstick import FORMER, FRESH, TITLES

Record = dict[str, Any]
SCORES = {**TITLES, **FORMER, "cpu_s": "CPU s", "peak_mb": "peak MB"}
PLACES = {
    **{"cpu_s": 1, "peak_mb": 0, "pmse": 1, "pmse_ratio": 1},
    **dict.fromkeys(("trained_auc", "trained_accuracy", "auc", "accuracy"), 3),
    **dict.fromkeys(("means_kept", "sds_kept", "deciles_kept", "correlations_kept"), 2),
}
UTILITY = (
    *("tv1", "tv2", "three_way", "specks", "specks_tree", "pmse"),
    *("trained_auc", "trained_accuracy"),
)
KEPT = tuple(key for key in TITLES if key not in UTILITY)
DASH = "–"


class Records:
    """Records by case: the runs with a warm cache, the one with an empty one, refusals."""

    def __init__(self, records: Iterable[Record]):
        self._by_label: dict[str, list[Record]] = {}
        for record in records:
            self._by_label.setdefault(record["label"], []).append(record)

    def runs(self, case: Case) -> list[Record]:
        """The runs with a warm cache."""
        return [one for one in self._of(case) if one["run"] and "refused" not in one]

    def mean(self, case: Case, score: str) -> float | None:
        """Mean of a score over the runs; None if there is none."""
        found = [one[score] for one in self.runs(case) if score in one]
        return statistics.fmean(found) if found else None

    def spread(self, case: Case, score: str) -> float | None:
        """Standard deviation of a score from run to run."""
        found = [one[score] for one in self.runs(case) if score in one]
        return statistics.stdev(found) if len(found) > 1 else None

    def cold_extra(self, case: Case) -> float | None:
        """Processor seconds that an empty cache costs, over the whole process."""
        cold = [one for one in self._of(case) if one["run"] == 0 and "refused" not in one]
        warm = self.mean(case, "process_cpu_s")
        return cold[0]["process_cpu_s"] - warm if cold and warm is not None else None

    def refusal(self, case: Case) -> str | None:
        """Why a case was not run."""
        said = [one["refused"] for one in self._of(case) if "refused" in one]
        return str(said[0]) if said else None

    def methods(self) -> list[str]:
        """Names of the methods that the records know, in their order."""
        names = [ones[0]["method"] for ones in self._by_label.values()]
        return [name for name in dict.fromkeys(names) if name not in REFERENCES]

    def scored(self) -> tuple[str, ...]:
        """The scores of distances and models, and former ones that a record has."""
        there = {key for ones in self._by_label.values() for one in ones for key in one}
        return (*UTILITY, *(key for key in FORMER if key in there))

    def _of(self, case: Case) -> list[Record]:
        return self._by_label.get(case.label, [])


def page(records: list[Record]) -> str:
    """The whole page, as Markdown."""
    known = Records(records)
    parts = [
        "<!-- Written by benchmarks/utility.py; do not edit. -->",
        "# How good the synthetic tables are, and what they cost",
        _introduction(records),
        "## Goals",
        _goals(known),
        "## Every method at one budget",
        _comparison(known),
        "## What is kept",
        _kept(known),
        "## What a release costs",
        _costs(known),
        "## Without privacy",
        _references(known),
        "## What was done",
        WHAT_WAS_DONE,
        "## What the scores are",
        definitions(),
    ]
    return "\n\n".join(parts) + "\n"


def definitions() -> str:
    """Every score of this page and of `understudy evaluate`: no name means two things."""
    ours = [one for one in DEFINITIONS.values() if one.short]
    others = [one for one in DEFINITIONS.values() if not one.short]
    former = ["| score | what it was |", "| --- | --- |"]
    former += [f"| {FORMER[key]} | {text} |" for key, text in WAS.items()]
    return "\n\n".join(
        [DEFINED, _defined(ours), EVALUATED, _defined(others), REPLACED, "\n".join(former), BESIDE]
    )


def _defined(scores: Sequence[Definition]) -> str:
    short = any(one.short for one in scores)
    head = ["here"] * short + ["score", "what it is", "range", "better"]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for one in scores:
        cells = [one.short] * short + [one.name, one.meaning, one.range, one.better]
        plain = (cell.replace("|", "\\|") for cell in cells)  # absolute values are no cells
        lines.append(f"| {' | '.join(plain)} |")
    return "\n".join(lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, numbers to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(score: str, value: float | None) -> str:
    """A score as it is printed."""
    return DASH if value is None else f"{value:.{PLACES.get(score, 4)}f}"


def _introduction(records: list[Record]) -> str:
    warm = [one["run"] for one in records if "refused" not in one]
    mixed = len({one["sources"] for one in records}) > 1
    text = (
        f"Means of {max(warm, default=0)} releases with fresh, secure noise each, or of as many as "
        "“runs” says. Made by `python benchmarks/utility.py --data DIR --render`. "
        "Lower is better, but for AUC, accuracy and what is kept."
    )
    if mixed:
        text += " **The records come from more than one state of the code.**"
    return text


def _goals(known: Records) -> str:
    """Each goal with its bounds and whether they hold, with public and with private rows."""
    scores = ("tv2", "three_way", "specks", "trained_auc", "cpu_s", "peak_mb")
    head = ("goal", "table", "ε, δ", "rows", "runs", *(SCORES[s] for s in scores), "all hold")
    rows = []
    for goal in GOALS:
        for kind in ROWS:
            case = Case(goal.case.table, goal.case.method, goal.case.epsilon, goal.case.delta, kind)
            judged = [_judged(known, goal, case, score) for score in scores]
            verdict = _verdict(goal, [holds for _, holds in judged if holds is not None])
            name = f"{goal.name} ({case.method})"
            runs = str(len(known.runs(case)))
            budget = f"{case.epsilon}, {case.delta}"
            rows.append(
                [name, case.table, budget, kind, runs, *(text for text, _ in judged), verdict]
            )
    return (
        "In brackets the bound, an upper one but for AUC; ± is the standard deviation from release "
        "to release. Bounds of AUC are those of a former score, by which real rows reached .925 "
        f"on coded Adult and .833 on ACS.\n\n{table(head, rows)}"
    )


def _verdict(goal: Goal, held: list[bool]) -> str:
    """Whether all bounds hold; not said before each has been judged, unless one fails."""
    expected = len(goal.bounds) + 2 * goal.beats_independent
    if all(held) and len(held) < expected:
        return DASH
    return "yes" if all(held) else "**no**"


def _judged(known: Records, goal: Goal, case: Case, score: str) -> tuple[str, bool | None]:
    """A score beside its bound, and whether it keeps it; None if one of the two is not there."""
    value, bound = known.mean(case, score), goal.bounds.get(score)
    if goal.beats_independent and score in {"tv2", "three_way"}:
        bound = known.mean(Case(case.table, SHUFFLED), score)
    text, spread = number(score, value), known.spread(case, score)
    if spread is not None and score in {"tv2", "three_way", "specks", "trained_auc"}:
        text += f" ± {number(score, spread)}"
    if bound is None:
        return text, None
    sign = "≥" if score == "trained_auc" else "≤"
    limit = f"({sign} {bound:.3g})"
    if value is None:
        return f"{text} {limit}", None
    holds = value >= bound if score == "trained_auc" else value <= bound
    return f"{text if holds else f'**{text}**'} {limit}", holds


def _comparison(known: Records) -> str:
    """All methods on one table at ε = 1; a method that cannot says why below."""
    scores = (*known.scored(), "cpu_s")
    lines, reasons = _methods(known, scores)
    notes = [f"[{place}] {reason}" for reason, place in reasons.items()]
    head = ("method", "δ", "rows", "runs", *(SCORES[score] for score in scores))
    return "\n\n".join([f"{COMPARED}\n\n{table(head, lines)}", *notes])


def _kept(known: Records) -> str:
    """The same releases by what users look up first."""
    head = ("method", "δ", "rows", "runs", *(SCORES[score] for score in KEPT))
    lines = [line for line in _methods(known, KEPT)[0] if not line[3].startswith(DASH)]
    return f"{LOOKED_UP}\n\n{table(head, lines)}"


def _methods(known: Records, scores: Sequence[str]) -> tuple[list[list[str]], dict[str, int]]:
    """A line for each method, and why some cannot, with their numbers."""
    rows: list[list[str]] = []
    reasons: dict[str, int] = {}
    for name in REFERENCES:
        rows.append(_line(known, Case(ADULT, name), [f"*{name}*", "", ""], "", scores))
    for method in known.methods():
        for delta in DELTAS:
            for kind in ROWS:
                case = Case(ADULT, method, "1", delta, kind)
                reason = known.refusal(case)
                if reason is None and not known.runs(case):
                    continue
                mark = "" if reason is None else f" [{_place(reasons, reason)}]"
                rows.append(_line(known, case, [method, delta, kind], mark, scores))
    return rows, reasons


def _line(
    known: Records, case: Case, start: list[str], mark: str, scores: Sequence[str]
) -> list[str]:
    runs = str(len(known.runs(case)) or DASH) + mark
    return [*start, runs, *(number(score, known.mean(case, score)) for score in scores)]


def _place(reasons: dict[str, int], reason: str) -> int:
    return reasons.setdefault(reason, len(reasons) + 1)


def _costs(known: Records) -> str:
    """Time and memory of every method on one table, and of the goals on the others."""
    head = ("method", "table", "ε, δ", "CPU s", "largest", "wall s", "peak MB", "extra CPU s, cold")
    cases = [Case(ADULT, m, "1", delta, "public") for m in known.methods() for delta in DELTAS]
    cases += [goal.case for goal in GOALS]
    rows = [
        _cost(known, case, known.runs(case)) for case in dict.fromkeys(cases) if known.runs(case)
    ]
    return f"{COSTS}\n\n{table(head, rows)}"


def _cost(known: Records, case: Case, runs: list[Record]) -> list[str]:
    def largest(score: str) -> float:
        return float(max(one[score] for one in runs))

    return [
        case.method,
        case.table,
        f"{case.epsilon}, {case.delta}",
        number("cpu_s", known.mean(case, "cpu_s")),
        number("cpu_s", largest("cpu_s")),
        number("cpu_s", known.mean(case, "wall_s")),
        number("peak_mb", largest("peak_mb")),
        number("cpu_s", known.cold_extra(case)),
    ]


def _references(known: Records) -> str:
    """What there is to compare with on each table."""
    parts = [WITHOUT]
    for scores in (known.scored(), KEPT):
        head = ("table", "what", "runs", *(SCORES[score] for score in scores))
        rows = []
        for name in TABLES:
            for method in REFERENCES:
                case = Case(name, method)
                cells = [number(score, known.mean(case, score)) for score in scores]
                rows.append([name, method, str(len(known.runs(case))), *cells])
            copy = Case(name, COPY)
            cells = [number(score, _fresh(known, copy, score)) for score in scores]
            rows.append([name, "fresh sample, expected", "", *cells])
        parts.append(table(head, rows))
    return "\n\n".join(parts)


def _fresh(known: Records, case: Case, score: str) -> float | None:
    """What a fresh sample is expected to score, as the copy of the rows tells."""
    if score == "pmse":
        return 1.0 if known.mean(case, score) is not None else None
    return known.mean(case, score + FRESH)
