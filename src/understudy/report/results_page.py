"""The results page: every analysis that was declared before a release, or paid after it, answered.

None is left out: one that the release cannot answer stands there with the reason. Like the public
page it is one file made from the release alone, and is saved with a release that has any. What was
measured after a release, for questions that came later, is a section of both pages.

**Estimates with their intervals as a forest plot: a row each, on one scale.**

The bar of a row has up to three heights: the highest is the interval that sampling alone would
give, the middle one that with privacy noise, and a line what numbers may hide within their bins.
So the share of the width that is noise is seen, in black and white too. An end that is infinite, or
beyond the scale, is an arrow.

The scale has the middle of the rows: an interval many times as wide as most, and the intercept of a
model, which is in other units than slopes, may leave it. The numbers stand beside each row.
"""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from understudy.errors import InferenceError
from understudy.inference.analysis import NO_INFORMATION, WIDEST, Analysis, answer_counts
from understudy.inference.analyze import POOLED_RIGHT, AmendedAnswer, Told, amended_answers
from understudy.inference.declared import Expected, ExpectedAnswers
from understudy.inference.question import MODELS
from understudy.inference.refusals import quote_text
from understudy.release.manifest import Amendment, promise_block
from understudy.release.release import Release, once
from understudy.report import text as templates
from understudy.report.svg import LETTER, SMALL, Chart, Colour, Panel, nice_ticks
from understudy.report.text import badge, figure, is_not_private

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
        """The question; of an answer, with where its numbers are cut off."""
        return self.answer.quantity if self.answer else f"{self.kind} of {self.formula}"

    @property
    def command(self) -> str:
        """Command that asks it again."""
        return f"understudy analyze release {self.kind} {quote_text(self.formula)}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        asked = {"kind": self.kind, "formula": self.formula, "asked_by": self.asked_by}
        found = self.answer.to_json() if self.answer else {"refused": self.refused}
        told = {"counts": self.counts, "planned_for": self.planned_for}
        return {**asked, **found, **told, "planned": self._beside()}

    def _beside(self) -> list[dict[str, Any]]:
        """List what was planned of each estimate, and what came of it."""
        half, beside = self.half_widths, []
        for one in self.planned:
            told, realised = one.to_json(), half.get(one.name, math.nan)
            del told["analysis"]
            told["half_width"] = None if one.refused else one.half_width
            beside.append(told | {"realised": realised if math.isfinite(realised) else None})
        return beside

    @property
    def counts(self) -> bool:
        """True if there is an answer, and not one that is so wide that it tells nothing."""
        if self.answer is None:
            return False
        expected = all(one.counts for one in self.planned)
        return answer_counts(self.answer.pooled, expected=expected)

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
        """Expected widths by the names of estimates; none where there was no answer."""
        return {one.name: one for one in self.planned if not one.refused}

    @property
    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Name, estimate and interval of each estimate, as text."""
        rows = self.answer.rows() if self.answer else []
        return tuple((name, text[0], " to ".join(filter(None, text[3:5]))) for name, *text in rows)


@once
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
    manifest = release.manifest
    results = declared_results(release)
    return templates.template("results.html.jinja").render(
        title=release.schema.heading,
        badge=badge(release.guarantee),
        private=not is_not_private(release.guarantee) and manifest.secure,
        n_rows=manifest.n_rows,
        statement=release.guarantee.statement,
        promise=promise_block(manifest),
        results=results,
        n_refused=sum(bool(result.refused) for result in results),
        n_wide=sum(result.answer is not None and not result.counts for result in results),
        widest=f"{WIDEST:g}",
        half_width=_half_width,
        figures=_figures(results),
        tables=[_table(result) for result in results],
        paid=paid_questions(release),
        warning=POOLED_RIGHT,
    )


def _result(
    release: Release, entry: Mapping[str, str], expected: ExpectedAnswers | None
) -> DeclaredResult:
    from understudy.inference.analyze import analyze_release  # loads the libraries of statistics

    kind, formula = entry["kind"], entry["formula"]
    plan = (expected.of(kind, formula), expected.words) if expected else ((), "")
    asked = partial(DeclaredResult, kind, formula, entry.get("asked_by", ""))
    try:
        return asked(analyze_release(release, kind, formula), "", *plan)
    except InferenceError as error:
        return asked(None, str(error), *plan)


def _figures(results: Sequence[DeclaredResult]) -> list[Markup | None]:
    """A picture of each answer, as long as the room lasts."""
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
        planned = "–" if plan is None else plan.words(_half_width)
        shown.append((*row, _half_width(halves[row[0]]), planned))
    return {"rows": shown, "more": max(0, len(rows) - _MOST_ROWS)}


def _half_width(width: float) -> str:
    return templates.figure(width, 2) if math.isfinite(width) else NO_INFORMATION


_ABOUT_ZERO = (*MODELS, "correlation")  # kinds whose estimates are read against 0
_LETTERS, _LINES = 34, 3  # of a name
_LINE, _ROW = 14.0, 26.0  # height of a line of a name, and least height of a row
_PLOT, _GAP = 300.0, 14.0  # width of the scale, and of what stands between the parts
_SMALL_LETTER = 6.4
_NOISE, _SAMPLING = 5.0, 11.0  # heights of the bars
_FOOT = 58.0  # room for the scale and the legend
_FURTHEST = 8.0  # half-widths of most rows, beyond which an interval leaves the scale
_DWARFED = 2.5  # times as long a scale as that of the slopes, for an intercept to be left out
_FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif"

Ends = tuple[float, float]


@dataclass(frozen=True)
class ForestRow:
    """One estimate.

    Attributes:
        name: what is estimated.
        words: estimate and interval, rounded.
        estimate: the number; NaN where there is no answer.
        interval: its ends; infinite where they are not bounded.
        with_noise: ends without what bins may hide.
        binned: whether bins may hide anything.
        sampling: ends by sampling alone; both NaN where its share is not known.
    """

    name: str
    words: str
    estimate: float
    interval: Ends
    with_noise: Ends
    sampling: Ends
    binned: bool


def forest_rows(analysis: Analysis) -> list[ForestRow]:
    """The rows of the picture of an analysis, in its order."""
    frame, texts = analysis.to_frame(), analysis.rows()
    numbers = frame[["stderr", "lower", "upper", "synthesis_share", "bias_bound"]]
    each = zip(texts, frame["estimate"], numbers.to_dict("records"), strict=True)
    z = statistics.NormalDist().inv_cdf((1 + analysis.level) / 2)
    return [
        _row(text, float(estimate), values, analysis.limits, z) for text, estimate, values in each
    ]


def forest_plot(analysis: Analysis) -> Markup:
    """The picture for a page, which has the colours."""
    chart, label = _draw_chart(analysis, heading=False)
    return chart.svg(label, legible=True)


def plot(analysis: Analysis) -> str:
    """A forest plot of estimates with their intervals, as the text of an SVG file.

    It follows the light or dark mode of whoever looks at it, and asks nothing of the network.

    Args:
        analysis: what `understudy.analyze` gave.
    """
    chart, label = _draw_chart(analysis, heading=True)
    style = templates.template("figure.css").render()
    return chart.file(label, f"{style}svg {{ font-family: {_FONT}; }}\n")


def _row(
    text: tuple[str, ...], estimate: float, values: Mapping[Hashable, float], cut: Ends, z: float
) -> ForestRow:
    shown, low, high = text[1], text[4], text[5]
    answered = math.isfinite(estimate)
    words = f"{shown} ({low} to {high})".replace("-", "−") if answered else "no answer"
    if answered and low == NO_INFORMATION:
        words = NO_INFORMATION
    lower, upper, bias = values["lower"], values["upper"], values["bias_bound"]
    noisy = (min(lower + bias, estimate), max(upper - bias, estimate))
    share = values["synthesis_share"]
    part = math.sqrt(max(1 - share, 0.0)) if math.isfinite(share) else math.nan
    alone = z * values["stderr"]
    own = [alone if math.isinf(end) else abs(end - estimate) for end in noisy]
    return ForestRow(
        name=text[0],
        words=words,
        estimate=estimate,
        interval=_within((lower, upper), cut),
        with_noise=_within(noisy, cut),
        sampling=_within((estimate - part * own[0], estimate + part * own[1]), cut),
        binned=bias > 0,
    )


def _within(ends: Ends, cut: Ends) -> Ends:
    low, high = (end if math.isnan(end) else min(max(end, cut[0]), cut[1]) for end in ends)
    return low, high


def _draw_chart(analysis: Analysis, *, heading: bool) -> tuple[Chart, str]:
    """The chart and what it shows in words."""
    rows = forest_rows(analysis)
    names = [textwrap.wrap(row.name, _LETTERS, max_lines=_LINES, placeholder="…") for row in rows]
    heights = [max(_ROW, _LINE * len(lines) + 10) for lines in names]
    gutter = LETTER * max(len(line) for lines in names for line in lines) + _GAP
    words = _SMALL_LETTER * max(len(row.words) for row in rows)
    width = gutter + _PLOT + _GAP + words + 4
    head = _write_heading(analysis, int(width / LETTER)) if heading else []
    top = 8.0 + 18.0 * len(head)
    bottom = top + sum(heights)
    chart = Chart(bottom + _FOOT, width)
    page = chart.canvas()
    for k, line in enumerate(head):
        colour = Colour.MUTED if k else Colour.INK
        page.text(4, 12 + 18.0 * k, line, colour)
    low, high = _scale(rows, analysis.kind)
    panel = chart.panel((gutter, top, gutter + _PLOT, bottom), (low, high), (bottom, top))
    _lines(panel, (low, high), (top, bottom))
    for row, lines, height in zip(rows, names, heights, strict=True):
        middle = top + height / 2
        for k, line in enumerate(lines):
            page.text(4, middle + _LINE * (k - (len(lines) - 1) / 2), line)
        page.text(width - 4, middle, row.words, Colour.MUTED, size=SMALL, anchor="right")
        _interval(panel, row, middle, (low, high))
        top += height
    _legend(page, rows, 4, bottom + 44)
    return chart, _describe_picture(analysis, rows)


def _write_heading(analysis: Analysis, letters: int) -> list[str]:
    """Write the heading: what was asked, and whether the intervals hold."""
    stamp = "" if analysis.valid else "NOT VALID: "
    asked = textwrap.wrap(f"{stamp}{analysis.quantity}", letters)
    return [*asked, f"Estimates with {100 * analysis.level:g} % intervals"]


def _scale(rows: Sequence[ForestRow], kind: str) -> Ends:
    """Ends of the scale: of all rows, or without an intercept that would dwarf the others."""
    slopes = [row for row in rows if row.name != "Intercept"]
    every, own = _reach(rows, kind), _reach(slopes or rows, kind)
    low, high = own if every[1] - every[0] > _DWARFED * (own[1] - own[0]) else every
    margin = 0.04 * (high - low) or max(abs(low), 1.0) / 2
    return low - margin, high + margin


def _reach(rows: Sequence[ForestRow], kind: str) -> Ends:
    """From the least to the greatest end of most rows, and 0 where estimates are read against it.

    Of an endless interval counts what it would be by sampling alone.
    """
    known = [row for row in rows if math.isfinite(row.estimate)]
    ends = [
        (row.estimate, [whole if math.isfinite(whole) else own for whole, own in both])
        for row in known
        for both in [zip(row.interval, row.sampling, strict=True)]
    ]
    halves = [abs(end - middle) for middle, own in ends for end in own if math.isfinite(end)]
    furthest = _FURTHEST * statistics.median(halves) if halves else 0.0
    places = [0.0] if kind in _ABOUT_ZERO else []
    for middle, own in ends:
        there = [end for end in own if not math.isnan(end)]
        near = [min(max(end, middle - furthest), middle + furthest) for end in there]
        places += [middle, *near]
    return min(places, default=0.0), max(places, default=0.0)


def _lines(panel: Panel, scale: Ends, edges: Ends) -> None:
    """Level lines with their numbers, and a stronger one at 0."""
    top, bottom = edges
    for tick in nice_ticks(*scale, 4):
        panel.segments([(tick, top, tick, bottom)], Colour.RULE, 0.7)
        panel.below(tick, 14, templates.figure(tick), Colour.MUTED)
    if scale[0] < 0 < scale[1]:
        panel.segments([(0, top, 0, bottom)], Colour.MUTED, 1.4)


def _interval(panel: Panel, row: ForestRow, y: float, scale: Ends) -> None:
    """The three bars of a row, the estimate, and arrows where an end is beyond the scale."""
    if not math.isfinite(row.estimate):
        return
    point = (scale[1] - scale[0]) / _PLOT

    def clamp(ends: Ends) -> Ends:
        low, high = (min(max(end, scale[0]), scale[1]) for end in ends)
        return low, high

    a, b = clamp(row.interval)
    panel.segments([(a, y, b, y)], Colour.INK, 1.4)
    for ends, height in ((row.with_noise, _NOISE), (row.sampling, _SAMPLING)):
        if not any(map(math.isnan, ends)):
            left, right = clamp(ends)
            panel.fill([(left, y + height / 2, right, y - height / 2)], Colour.BAR, title=row.name)
    if row.interval[0] < scale[0]:
        panel.line([(a + 6 * point, y - 5), (a, y), (a + 6 * point, y + 5)], Colour.INK, 1.6)
    if row.interval[1] > scale[1]:
        panel.line([(b - 6 * point, y - 5), (b, y), (b - 6 * point, y + 5)], Colour.INK, 1.6)
    if scale[0] <= row.estimate <= scale[1]:
        panel.segments([(row.estimate, y - 7, row.estimate, y + 7)], Colour.INK, 2.0)


def _legend(page: Panel, rows: Sequence[ForestRow], x: float, y: float) -> None:
    """Explain what the heights mean, as far as they occur."""
    known = not all(math.isnan(row.sampling[0]) for row in rows)
    binned = any(row.binned for row in rows)
    entries = [(_SAMPLING, "sampling alone")] * known
    entries += [(_NOISE, "with privacy noise" if known else "interval")]
    entries += [(1.4, "with what bins hide")] * binned
    for height, words in entries:
        colour = Colour.INK if height < 2 else Colour.BAR
        page.fill([(x, y + height / 2, x + 22, y - height / 2)], colour)
        page.text(x + 28, y, words, Colour.MUTED, size=SMALL)
        x += 28 + _SMALL_LETTER * len(words) + 16


def _describe_picture(analysis: Analysis, rows: Sequence[ForestRow]) -> str:
    """The picture in words; its table has the rest."""
    first = "; ".join(f"{row.name}: {row.words}" for row in rows[:5])
    more = f" and {len(rows) - 5:,} more" if len(rows) > 5 else ""
    title = analysis.quantity
    return f"Estimates and {100 * analysis.level:g} % intervals, {title}. {first}{more}."


_CHOSEN = {
    "beforehand": "It is said to be chosen beforehand, so the pooled answer is the one to take",
    "from the release": (
        "Numbers of the release suggested it, so the answer from the new measurement alone is the "
        "one to take"
    ),
    "": "How it came about is not said; take the new measurement alone if in doubt",
}


_MOST_PAID = 60


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
            answers=tuple(_paid_answers(amendment, told)),
        )
        for number, (amendment, later) in enumerate(
            zip(amendments, budgets[1:], strict=True), start=1
        )
    ]


def _paid_answers(amendment: Amendment, told: list[AmendedAnswer]) -> Iterator[PaidAnswer]:
    for one in told:
        if one.amendment is amendment:
            parts = (one.before, one.alone, one.pooled)
            rows = [_paid_row(name, *parts) for name in one.names]
            yield PaidAnswer(
                question=one.question,
                command=f"understudy analyze release {one.kind} {quote_text(one.formula)}",
                rows=tuple(rows[:_MOST_PAID]),
                refused=one.pooled.refused,
                more=max(0, len(rows) - _MOST_PAID),
            )


def _paid_row(name: str, before: Told, alone: Told, pooled: Told) -> tuple[str, str, str, str]:
    return name, _told_text(before, name), _told_text(alone, name), _told_text(pooled, name)


def _told_text(told: Told, name: str) -> str:
    if name not in told.intervals:
        return "–"
    estimate, low, high = told.intervals[name]
    width = (high - low) / 2
    if not math.isfinite(width):
        return NO_INFORMATION
    return f"{figure(estimate)} ± {figure(width, 2)}"
