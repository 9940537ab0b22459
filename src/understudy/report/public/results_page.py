"""The results page: every analysis that was declared before the release was made, with its answer.

None is left out: one that the release cannot answer stands there with the reason. Like the public
page it is one file made from the release alone, and is saved with a release that has any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from understudy.errors import InferenceError
from understudy.inference.amended_answers import POOLED_RIGHT
from understudy.inference.choice.advice import quoted
from understudy.inference.declared_analyses import Expected, ExpectedAnswers
from understudy.release import Release
from understudy.release.promise_block import promise_block
from understudy.report import guarantee_text
from understudy.report import number_text as templates
from understudy.report.public.paid_answers import paid_questions

if TYPE_CHECKING:
    from understudy.inference.analysis import Analysis

MOST_DRAWN = 60  # rows of a picture; a longer table has none
_MOST_ROWS = 400  # of one table
_FIGURES = 600_000  # bytes of all pictures


@dataclass(frozen=True)
class DeclaredResult:
    """A declared analysis, and its answer or why there is none.

    Attributes:
        kind: of the question.
        formula: of what.
        asked_by: who asked; "" if that is not said.
        answer: estimates with their errors; None where there are none.
        refused: why there is no answer; "" if there is one.
        planned: what was expected of its estimates before anything was spent.
        planned_for: of which records; "" where nothing was expected.
    """

    kind: str
    formula: str
    asked_by: str
    answer: Analysis | None = None
    refused: str = ""
    planned: tuple[Expected, ...] = ()
    planned_for: str = ""

    @property
    def question(self) -> str:
        """Kind and formula."""
        return f"{self.kind} of {self.formula}"

    @property
    def command(self) -> str:
        """What asks it again."""
        return f"understudy analyze release {self.kind} {quoted(self.formula)}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        asked = {"kind": self.kind, "formula": self.formula, "asked_by": self.asked_by}
        found = self.answer.to_json() if self.answer else {"refused": self.refused}
        return {**asked, **found, "planned_for": self.planned_for, "planned": self._beside()}

    def _beside(self) -> list[dict[str, Any]]:
        """What was planned of each estimate, and what came of it."""
        half, beside = self.half_widths, []
        for one in self.planned:
            told, realised = one.to_json(), half.get(one.name, math.nan)
            del told["analysis"]
            told["half_width"] = None if one.refused else one.half_width
            beside.append(told | {"realised": realised if math.isfinite(realised) else None})
        return beside

    @property
    def half_widths(self) -> dict[str, float]:
        """Half the width of each interval."""
        if self.answer is None:
            return {}
        low, high = self.answer.pooled.interval(self.answer.level)
        halves = ((high - low) / 2).tolist()
        return dict(zip(self.answer.pooled.names, halves, strict=True))

    @property
    def plans(self) -> dict[str, Expected]:
        """What was expected, by the names of estimates; none where no answer was."""
        return {one.name: one for one in self.planned if not one.refused}

    @property
    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Name, estimate and interval of each estimate, as text."""
        rows = self.answer.rows() if self.answer else []
        return tuple((name, text[0], f"{text[3]} to {text[4]}") for name, *text in rows)


def declared_results(release: Release) -> list[DeclaredResult]:
    """Every analysis that was declared when the release was made; none is left out."""
    told = release.manifest.expected
    expected = None if told is None else ExpectedAnswers.from_json(told)
    return [_result(release, entry, expected) for entry in release.manifest.analyses]


def results_page(release: Release) -> str:
    """The declared analyses of a release and their answers, with pictures.

    Args:
        release: the release; nothing else is looked at.

    Returns:
        HTML text, the same for the same release.
    """
    manifest, results = release.manifest, declared_results(release)
    return templates.template("results.html.jinja").render(
        title=release.schema.title or "Synthetic data release",
        badge=guarantee_text.badge(release.guarantee),
        private=not guarantee_text.is_not_private(release.guarantee) and manifest.secure,
        n_rows=manifest.n_rows,
        statement=release.guarantee.statement,
        promise=promise_block(manifest),
        results=results,
        n_refused=sum(bool(result.refused) for result in results),
        figures=_figures(results),
        tables=[_table(result) for result in results],
        paid=paid_questions(release),
        warning=POOLED_RIGHT,
    )


def _result(
    release: Release, entry: Mapping[str, str], expected: ExpectedAnswers | None
) -> DeclaredResult:
    from understudy.inference.answering import analyze_release  # loads the libraries of statistics

    kind, formula = entry["kind"], entry["formula"]
    plan = (expected.of(kind, formula), expected.words) if expected else ((), "")
    asked = partial(DeclaredResult, kind, formula, entry.get("asked_by", ""))
    try:
        return asked(analyze_release(release, kind, formula), "", *plan)
    except InferenceError as error:
        return asked(None, str(error), *plan)


def _figures(results: list[DeclaredResult]) -> list[Markup | None]:
    """A picture of each answer, as long as the room lasts."""
    from understudy.report.public.forest_plot import forest_plot

    drawn: list[Markup | None] = []
    room = _FIGURES
    for result in results:
        small = result.answer is not None and len(result.rows) <= MOST_DRAWN
        picture = forest_plot(result.answer) if result.answer is not None and small else None
        room -= templates.size(picture or "")
        drawn.append(picture if room >= 0 else None)
    return drawn


def _table(result: DeclaredResult) -> dict[str, Any]:
    """Rows of a table, each with both half-widths, and how many were left out."""
    rows = result.answer.rows() if result.answer else []
    plans, halves, shown = result.plans, result.half_widths, []
    for row in rows[:_MOST_ROWS]:
        plan = plans.get(row[0])
        planned = "–" if plan is None else templates.figure(plan.half_width, 2)
        shown.append((*row, templates.figure(halves[row[0]], 2), planned))
    return {"rows": shown, "more": max(0, len(rows) - _MOST_ROWS)}
