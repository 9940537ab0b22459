"""What was measured after a release, for questions that came later: a section of both pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from understudy.inference.amended_answers import AmendedAnswer, Told, amended_answers
from understudy.inference.choice.advice import quoted
from understudy.release import Release
from understudy.release.amendment import Amendment
from understudy.report import number_text as templates

_CHOSEN = {
    "beforehand": "It is said to be chosen beforehand, so the pooled answer is the one to take",
    "from the release": (
        "Numbers of the release suggested it, so the answer from the new measurement alone is the "
        "one to take"
    ),
    "": "How it came about is not said; take the new measurement alone if in doubt",
}
_MOST_ROWS = 60


@dataclass(frozen=True)
class PaidAnswer:
    """One analysis, as text.

    Attributes:
        question: kind and formula.
        command: what asks it again.
        rows: name, and estimate with interval before, alone and pooled.
        refused: why there is no pooled answer; "" if there is one.
        more: rows that were left out.
    """

    question: str
    command: str
    rows: tuple[tuple[str, str, str, str], ...]
    refused: str
    more: int


@dataclass(frozen=True)
class PaidQuestion:
    """One amendment, as text.

    Attributes:
        title: of the question.
        asked_by: who asked; "" if that is not said.
        chosen: how it came about, in words.
        budget: ε before and after.
        answers: to its analyses.
    """

    title: str
    asked_by: str
    chosen: str
    budget: str
    answers: tuple[PaidAnswer, ...]


def paid_questions(release: Release) -> list[PaidQuestion]:
    """Every amendment of a release, in the order in which they were paid for."""
    amendments, told = release.manifest.amendments, amended_answers(release)
    budgets = [*(one.budget for one in amendments), release.manifest.budget]
    return [
        PaidQuestion(
            title=amendment.title or f"Question {number}",
            asked_by=amendment.asked_by,
            chosen=_CHOSEN[amendment.chosen],
            budget=f"ε {amendment.budget['epsilon']} → {later['epsilon']}",
            answers=tuple(_answers(amendment, told)),
        )
        for number, (amendment, later) in enumerate(
            zip(amendments, budgets[1:], strict=True), start=1
        )
    ]


def _answers(amendment: Amendment, told: list[AmendedAnswer]) -> Iterator[PaidAnswer]:
    for one in told:
        if one.amendment is amendment:
            parts = (one.before, one.alone, one.pooled)
            rows = [_row(name, *parts) for name in one.names]
            yield PaidAnswer(
                question=f"{one.kind} of {one.formula}",
                command=f"understudy analyze release {one.kind} {quoted(one.formula)}",
                rows=tuple(rows[:_MOST_ROWS]),
                refused=one.pooled.refused,
                more=max(0, len(rows) - _MOST_ROWS),
            )


def _row(name: str, before: Told, alone: Told, pooled: Told) -> tuple[str, str, str, str]:
    return name, _text(before, name), _text(alone, name), _text(pooled, name)


def _text(told: Told, name: str) -> str:
    if name not in told.intervals:
        return "–"
    estimate, low, high = told.intervals[name]
    width = templates.figure((high - low) / 2, 2)
    return f"{templates.figure(estimate)} ± {width}"
