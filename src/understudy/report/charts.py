"""One small chart per column, as an SVG that follows the colours of the page.

Matplotlib draws; it is handed placeholder texts and sentinel colours, which become the real texts
(escaped) and CSS variables afterwards. So labels need no font at drawing time, no label can be
taken for markup or mathematics, and the same release gives the same bytes.

Importing this module imports matplotlib, which takes a while: import it when a chart is wanted.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from understudy.report.shares import Bar
from understudy.report.text import clean, percent

WIDTH = 340.0  # in points; the SVG scales to its place, where 1 point is about 1 CSS pixel
_RIGHT = 50.0  # room for the shares in words
_ROW = 19.0  # height of one row
_PLOT = 132.0  # height of the upright bars
_LEFT = 34.0  # room for the scale of the upright bars
_LETTER = 7.0  # width of a letter, on average
_LABEL_LENGTH = 20  # most letters of a label
_LARGE, _SMALL = 12.0, 11.0

_VARIABLES = {  # sentinel colour → CSS variable
    "#010101": "--bar",
    "#010102": "--absent",
    "#010103": "--spike",
    "#010104": "--ink",
    "#010105": "--rule",
    "#010106": "--muted",
}
_SENTINELS = {variable: colour for colour, variable in _VARIABLES.items()}
_DECIMAL = re.compile(r"-?\d+\.\d+")

Box = tuple[float, float, float, float]  # x0, y0, x1, y1


def chart(bars: Sequence[Bar], *, label: str, line: bool) -> Markup:
    """Draw the bars of one column.

    Args:
        bars: states in order.
        label: what the chart shows, for those who cannot see it.
        line: whether the ordinary states lie on a number line (upright bars); else rows.
    """
    upright = [bar for bar in bars if line and not bar.absent]
    rows = [bar for bar in bars if not line or bar.absent]
    gap = 0.6 * (any(bar.absent for bar in rows) and not all(bar.absent for bar in rows))
    top = _PLOT + 36.0 if upright else 0.0
    depth = (len(rows) + gap) * _ROW + 6.0 if rows else 0.0
    pen = _Pen(top + depth, _highest(bars))
    if upright:
        _draw_line(pen.panel(_LEFT, 8.0, WIDTH - _LEFT - 10.0, _PLOT), upright)
    if rows:
        gutter = max(_LEFT, 14 + _LETTER * max(len(_shortened(bar.label)) for bar in rows))
        _draw_rows(pen.panel(gutter, top + 3.0, WIDTH - gutter - _RIGHT, depth - 6.0), rows, gap)
    return pen.svg(label)


def _highest(bars: Sequence[Bar]) -> float:
    """Upper end of the scale: the largest bar or band, a little more, never nothing."""
    tops = [
        max(bar.share or 0, (bar.measured or 0) + bar.half_width) for bar in bars if not bar.pooled
    ]
    return min(max([*tops, 0.01]), 1.5) * 1.04


class _Pen:
    """A figure, measured in points from its upper left corner."""

    def __init__(self, height: float, highest: float) -> None:
        self._height, self._highest = height, highest
        self._texts: list[str] = []
        self._figure = Figure(figsize=(WIDTH / 72, height / 72))
        self._figure.patch.set_visible(False)

    def panel(self, left: float, top: float, width: float, height: float) -> _Panel:
        bottom = self._height - top - height
        place = (left / WIDTH, bottom / self._height, width / WIDTH, height / self._height)
        axes = self._figure.add_axes(place)
        axes.set_axis_off()
        return _Panel(axes, self._texts, self._highest, width)

    def svg(self, label: str) -> Markup:
        buffer = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "understudy"}):
            self._figure.savefig(buffer, format="svg", metadata={"Date": None})
        body = Markup("").join(_elements(buffer.getvalue(), self._texts))
        return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
            f"{WIDTH:g}", f"{self._height:g}", clean(label), body
        )


class _Panel:
    """Axes, and what is drawn on them: each series as one path, so that the page stays small."""

    def __init__(self, axes: Axes, texts: list[str], highest: float, width: float) -> None:
        self.axes, self.highest, self.width = axes, highest, width
        self._texts = texts

    def fill(self, boxes: Sequence[Box], colour: str) -> None:
        corners = [[(a, b), (c, b), (c, d), (a, d), (a, b)] for a, b, c, d in boxes]
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
        self._add(corners, codes, facecolor=_SENTINELS[colour], edgecolor="none")

    def segments(self, segments: Sequence[Box], colour: str, width: float) -> None:
        ends = [[(a, b), (c, d)] for a, b, c, d in segments]
        edge = _SENTINELS[colour]
        codes = [Path.MOVETO, Path.LINETO]
        self._add(ends, codes, facecolor="none", edgecolor=edge, linewidth=width)

    def _add(
        self,
        pieces: Sequence[Sequence[tuple[float, float]]],
        codes: Sequence[Any],
        **style: str | float,
    ) -> None:
        if pieces:
            path = Path([xy for piece in pieces for xy in piece], list(codes) * len(pieces))
            self.axes.add_patch(PathPatch(path, clip_on=False, **style))

    def beside(self, x: float, y: float, text: str, colour: str, size: float = _LARGE) -> None:
        """Text that ends at x (in widths of the panel), in the middle of height y (in data)."""
        self.axes.text(
            x, y, self._placeholder(text), ha="right", va="center_baseline",
            fontsize=size, color=_SENTINELS[colour], transform=self.axes.get_yaxis_transform(),
        )  # fmt: skip

    def below(self, x: float, points: float, text: str, colour: str, *, last: bool = False) -> None:
        """Text centred at x (in data; the last one ends there), some points below the panel."""
        self.axes.text(
            x, -points / _PLOT, self._placeholder(text),
            ha="right" if last else "center", va="baseline",
            fontsize=_SMALL, color=_SENTINELS[colour], transform=self.axes.get_xaxis_transform(),
        )  # fmt: skip

    def _placeholder(self, text: str) -> str:
        self._texts.append(text)
        return f"t{len(self._texts) - 1}"


def _draw_rows(panel: _Panel, rows: Sequence[Bar], gap: float) -> None:
    """Lying bars; pooled states have their share in words alone, or they would dwarf the others."""
    places = [k + 0.5 + gap * bar.absent for k, bar in enumerate(rows)]
    panel.axes.set_xlim(0, panel.highest)
    panel.axes.set_ylim(len(rows) + gap, 0)
    panel.segments([(0, 0, 0, len(rows) + gap)], "--rule", 1.0)
    for absent, colour in ((False, "--bar"), (True, "--absent")):
        boxes = [
            (0.0, y - 0.32, bar.share, y + 0.32)
            for bar, y in zip(rows, places, strict=True)
            if bar.share and bar.absent == absent and not bar.pooled
        ]
        panel.fill(boxes, colour)
    along, across = _bands(rows, places, 0.42, panel.highest)
    panel.segments(along, "--ink", 1.4)
    panel.segments(across, "--ink", 1.4)
    for bar, y in zip(rows, places, strict=True):
        colour = "--muted" if bar.absent or bar.pooled else "--ink"
        panel.beside(-7 / panel.width, y, _shortened(bar.label), colour)
        shown = bar.share if bar.share is not None else bar.measured
        panel.beside(1 + _RIGHT / panel.width, y, percent(shown), "--muted")


def _draw_line(panel: _Panel, bars: Sequence[Bar]) -> None:
    panel.axes.set_xlim(0, len(bars))
    panel.axes.set_ylim(0, panel.highest)
    _draw_scale(panel, len(bars))
    places = [k + 0.5 for k in range(len(bars))]
    for spike, colour in ((False, "--bar"), (True, "--spike")):
        half = 0.28 if spike else 0.46
        boxes = [
            (x - half, 0.0, x + half, bar.share)
            for bar, x in zip(bars, places, strict=True)
            if bar.share and bar.spike == spike
        ]
        panel.fill(boxes, colour)
    for segments in _bands(bars, places, 0.36, panel.highest):
        panel.segments([(b, a, d, c) for a, b, c, d in segments], "--ink", 1.4)
    _draw_edges(panel, bars)


def _draw_scale(panel: _Panel, n: int) -> None:
    found = MaxNLocator(3).tick_values(0, panel.highest)
    ticks = [float(tick) for tick in found if 0 < tick <= panel.highest]
    panel.segments([(0, tick, n, tick) for tick in ticks], "--rule", 0.7)
    panel.segments([(0, 0, n, 0)], "--rule", 1.2)
    for tick in ticks:
        panel.beside(-4 / panel.width, tick, f"{100 * tick:.3g} %", "--muted", _SMALL)


def _draw_edges(panel: _Panel, bars: Sequence[Bar]) -> None:
    """Texts under the number line: values in the middle of a bar, or edges between bars."""
    if all(bar.start == bar.end for bar in bars):
        marks = [(k + 0.5, bar.start) for k, bar in enumerate(bars)]
    else:
        marks = [(float(k), bar.start) for k, bar in enumerate(bars) if not bar.spike]
        marks.append((float(len(bars)), bars[-1].end))
    longest = max(len(text) for _, text in marks)
    room = max(2, min(9, int(panel.width / (_LETTER * longest + 16))))
    step = max(1, -(-(len(marks) - 1) // (room - 1)))
    for x, text in marks[::step]:
        panel.below(x, 14, text, "--muted", last=longest > 5 and x == len(bars))
    for k, bar in enumerate(bars):
        if bar.spike:
            panel.below(k + 0.5, 27, "▲", "--spike")


def _bands(
    bars: Sequence[Bar], places: Sequence[float], half: float, highest: float
) -> tuple[list[Box], list[Box]]:
    """Segments for rows: the band along each bar, the noisy measurement across it.

    Negative noisy shares have no place on the scale: their band begins at zero, without a stroke.
    """
    along: list[Box] = []
    across: list[Box] = []
    for bar, place in zip(bars, places, strict=True):
        if bar.measured is None or bar.pooled:
            continue
        low = min(max(bar.measured - bar.half_width, 0), highest)
        high = min(max(bar.measured + bar.half_width, 0), highest)
        along.append((low, place, high, place))
        if 0 <= bar.measured <= highest:
            across.append((bar.measured, place - half, bar.measured, place + half))
    return along, across


def _elements(svg: str, texts: Sequence[str]) -> Iterable[Markup]:
    """Paths and texts of a figure in drawing order, without identifiers and fonts."""
    for element in ElementTree.fromstring(svg).iter():  # noqa: S314 - our own drawing, no input
        kind = element.tag.rpartition("}")[2]
        style = element.get("style", "")
        if kind == "path":
            yield _path(element.get("d", ""), style)
        elif kind == "text":
            yield _text(element, style, texts[int((element.text or "t0")[1:])])


def _path(outline: str, style: str) -> Markup:
    steps = " ".join(_DECIMAL.sub(lambda found: _short(found[0]), outline).split())
    for sentinel, variable in _VARIABLES.items():
        style = style.replace(sentinel, f"var({variable})")
    style = style.replace("; stroke-linejoin: miter", "").replace(": ", ":").replace("; ", ";")
    return Markup('<path d="{}" style="{}"/>').format(steps, style)


def _text(element: ElementTree.Element, style: str, text: str) -> Markup:
    """A text with classes in place of fonts and colours."""
    declared = dict(entry.split(": ", 1) for entry in style.split("; "))
    classes = ["s" if declared["font-size"] == f"{_SMALL:g}px" else "m"]
    classes += [declared.get("text-anchor", "start")]
    classes += [_VARIABLES[declared["fill"]].removeprefix("--")]
    x, y = _short(element.get("x", "0")), _short(element.get("y", "0"))
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(
        x, y, " ".join(classes), clean(text)
    )


@lru_cache(maxsize=4096)
def _short(number: str) -> str:
    return f"{float(number):.1f}".removesuffix(".0")


def _shortened(label: str) -> str:
    return label if len(label) <= _LABEL_LENGTH else label[: _LABEL_LENGTH - 1].rstrip() + "…"
