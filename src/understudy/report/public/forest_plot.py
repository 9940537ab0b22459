"""Estimates with their intervals as a forest plot: a row each, on one scale.

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
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from understudy.inference.analysis import Analysis
from understudy.inference.estimates.estimands import MODELS
from understudy.report import number_text as templates
from understudy.report.svg import LETTER, SMALL, Chart, Colour, Panel, nice_ticks

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
    chart, label = _drawn(analysis, heading=False)
    return chart.svg(label)


def plot(analysis: Analysis) -> str:
    """A forest plot of estimates with their intervals, as the text of an SVG file.

    It follows the light or dark mode of whoever looks at it, and asks nothing of the network.

    Args:
        analysis: what `understudy.analyze` gave.
    """
    chart, label = _drawn(analysis, heading=True)
    style = templates.template("figure.css").render()
    return chart.file(label, f"{style}svg {{ font-family: {_FONT}; }}\n")


def _row(
    text: tuple[str, ...], estimate: float, values: Mapping[Hashable, float], cut: Ends, z: float
) -> ForestRow:
    shown, low, high = text[1], text[4], text[5]
    answered = math.isfinite(estimate)
    words = f"{shown} ({low} to {high})".replace("-", "−") if answered else "no answer"
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


def _drawn(analysis: Analysis, *, heading: bool) -> tuple[Chart, str]:
    """The chart and what it shows in words."""
    rows = forest_rows(analysis)
    names = [textwrap.wrap(row.name, _LETTERS, max_lines=_LINES, placeholder="…") for row in rows]
    heights = [max(_ROW, _LINE * len(lines) + 10) for lines in names]
    gutter = LETTER * max(len(line) for lines in names for line in lines) + _GAP
    words = _SMALL_LETTER * max(len(row.words) for row in rows)
    width = gutter + _PLOT + _GAP + words + 4
    head = _heading(analysis, int(width / LETTER)) if heading else []
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
    return chart, _spoken(analysis, rows)


def _heading(analysis: Analysis, letters: int) -> list[str]:
    """What was asked, and whether the intervals hold."""
    stamp = "" if analysis.valid else "NOT VALID: "
    asked = textwrap.wrap(f"{stamp}{analysis.kind} of {analysis.formula}", letters)
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

    def clamped(ends: Ends) -> Ends:
        low, high = (min(max(end, scale[0]), scale[1]) for end in ends)
        return low, high

    a, b = clamped(row.interval)
    panel.segments([(a, y, b, y)], Colour.INK, 1.4)
    for ends, height in ((row.with_noise, _NOISE), (row.sampling, _SAMPLING)):
        if not any(map(math.isnan, ends)):
            left, right = clamped(ends)
            panel.fill([(left, y + height / 2, right, y - height / 2)], Colour.BAR, title=row.name)
    if row.interval[0] < scale[0]:
        panel.line([(a + 6 * point, y - 5), (a, y), (a + 6 * point, y + 5)], Colour.INK, 1.6)
    if row.interval[1] > scale[1]:
        panel.line([(b - 6 * point, y - 5), (b, y), (b - 6 * point, y + 5)], Colour.INK, 1.6)
    if scale[0] <= row.estimate <= scale[1]:
        panel.segments([(row.estimate, y - 7, row.estimate, y + 7)], Colour.INK, 2.0)


def _legend(page: Panel, rows: Sequence[ForestRow], x: float, y: float) -> None:
    """What the heights mean, as far as they occur."""
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


def _spoken(analysis: Analysis, rows: Sequence[ForestRow]) -> str:
    """The picture in words; its table has the rest."""
    first = "; ".join(f"{row.name}: {row.words}" for row in rows[:5])
    more = f" and {len(rows) - 5:,} more" * (len(rows) > 5)
    title = f"{analysis.kind} of {analysis.formula}"
    return f"Estimates and {100 * analysis.level:g} % intervals, {title}. {first}{more}."
