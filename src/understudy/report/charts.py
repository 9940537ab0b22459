"""One small chart per column, as an SVG that follows the colours of the page.

Matplotlib draws; it is handed placeholder texts and sentinel colours, which become the real texts
(escaped) and CSS variables afterwards. So labels need no font at drawing time, no label can be taken
for markup or mathematics, and the same release gives the same bytes everywhere.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from understudy.report.shares import Bar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 380.0  # in points; the SVG scales to its place, and 1 point is about 1 CSS pixel there
_GUTTER, _MARGIN, _ROW, _PLOT = 128.0, 52.0, 19.0, 132.0
_LABEL_LENGTH = 20
_COLOURS = {  # sentinel → CSS variable
    "#010101": "--bar",
    "#010102": "--absent",
    "#010103": "--spike",
    "#010104": "--ink",
    "#010105": "--rule",
    "#010106": "--muted",
}
_SENTINEL = {name: colour for colour, name in _COLOURS.items()}
_NUMBER = re.compile(r"-?\d+\.\d+")
_SIZES = {9.5: "s", 11.0: "m"}

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
    return _Pen(upright, rows).svg(label)


class _Pen:
    """One figure: a histogram above, rows below; either may be absent."""

    def __init__(self, upright: Sequence[Bar], rows: Sequence[Bar]) -> None:
        from matplotlib.figure import Figure

        self._texts: list[str] = []
        gap = 0.6 * any(bar.absent for bar in rows) * any(not bar.absent for bar in rows)
        top = _PLOT + 34.0 if upright else 0.0
        depth = (len(rows) + gap) * _ROW + 6.0 if rows else 0.0
        self._height = top + depth
        self._figure: Figure = Figure(figsize=(WIDTH / 72, self._height / 72))
        self._figure.patch.set_visible(False)
        if upright:
            self._draw_line(self._axes(34.0, 8.0, WIDTH - 44.0, _PLOT), upright)
        if rows:
            width = WIDTH - _GUTTER - _MARGIN
            self._draw_rows(self._axes(_GUTTER, top + 3.0, width, depth - 6.0), rows, gap)

    def _axes(self, left: float, top: float, width: float, height: float) -> Axes:
        bottom = self._height - top - height
        axes = self._figure.add_axes(
            (left / WIDTH, bottom / self._height, width / WIDTH, height / self._height)
        )
        axes.set_axis_off()
        return axes

    def _draw_rows(self, axes: Axes, rows: Sequence[Bar], gap: float) -> None:
        places = [k + 0.5 + gap * bar.absent for k, bar in enumerate(rows)]
        axes.set_xlim(0, _highest(rows))
        axes.set_ylim(len(rows) + gap, 0)
        _segments(axes, [(0, 0, 0, len(rows) + gap)], "--rule", 1.0)
        for absent, colour in ((False, "--bar"), (True, "--absent")):
            boxes = [
                (0.0, y - 0.32, bar.share, y + 0.32)
                for bar, y in zip(rows, places, strict=True)
                if bar.share and bar.absent == absent
            ]
            _fill(axes, boxes, colour)
        _bands(axes, rows, places, 0.42, lambda a, b, c, d: (a, b, c, d))
        for bar, y in zip(rows, places, strict=True):
            colour = "--muted" if bar.absent else "--ink"
            where = axes.get_yaxis_transform()
            self._text(axes, -7 / 200, y, _shortened(bar.label), colour, where, ha="right")
            shown = _percent(bar.share if bar.share is not None else bar.measured)
            self._text(axes, 1 + 50 / 200, y, shown, "--muted", where, ha="right")

    def _draw_line(self, axes: Axes, bars: Sequence[Bar]) -> None:
        highest = _highest(bars)
        axes.set_xlim(0, len(bars))
        axes.set_ylim(0, highest)
        self._draw_scale(axes, highest, len(bars))
        places = [k + 0.5 for k in range(len(bars))]
        for spike, colour in ((False, "--bar"), (True, "--spike")):
            half = 0.28 if spike else 0.46
            boxes = [
                (x - half, 0.0, x + half, bar.share)
                for bar, x in zip(bars, places, strict=True)
                if bar.share and bar.spike == spike
            ]
            _fill(axes, boxes, colour)
        _bands(axes, bars, places, 0.36, lambda a, b, c, d: (b, a, d, c))
        self._draw_edges(axes, bars)

    def _draw_scale(self, axes: Axes, highest: float, n: int) -> None:
        from matplotlib.ticker import MaxNLocator

        ticks = [tick for tick in MaxNLocator(3).tick_values(0, highest) if 0 < tick <= highest]
        _segments(axes, [(0, tick, n, tick) for tick in ticks], "--rule", 0.7)
        _segments(axes, [(0, 0, n, 0)], "--rule", 1.2)
        for tick in ticks:
            where = axes.get_yaxis_transform()
            text = f"{100 * tick:.3g} %"
            self._text(axes, -4 / 336, tick, text, "--muted", where, ha="right", size=9.5)

    def _draw_edges(self, axes: Axes, bars: Sequence[Bar]) -> None:
        """Texts under the number line: values in the middle of a bar, or edges between bars."""
        where = axes.get_xaxis_transform()
        if all(bar.start == bar.end for bar in bars):
            marks = [(k + 0.5, bar.start) for k, bar in enumerate(bars)]
        else:
            marks = [(float(k), bar.start) for k, bar in enumerate(bars) if not bar.spike]
            marks.append((float(len(bars)), bars[-1].end))
        longest = max(len(text) for _, text in marks)
        room = max(2, min(9, int(300 / (7.0 * longest + 12))))
        step = max(1, -(-(len(marks) - 1) // (room - 1)))
        for x, text in marks[::step]:
            self._text(axes, x, -14 / _PLOT, text, "--muted", where, size=9.5)
        spikes = [k + 0.5 for k, bar in enumerate(bars) if bar.spike]
        for x in spikes:
            self._text(axes, x, -25 / _PLOT, "▲", "--spike", where, size=9.5)

    def _text(
        self, axes: Axes, x: float, y: float, text: str, colour: str, transform: object,
        *, ha: str = "center", size: float = 11.0,
    ) -> None:
        axes.text(
            x, y, f"t{len(self._texts)}", ha=ha, va="center_baseline" if ha == "right" else "baseline",
            fontsize=size, color=_SENTINEL[colour], transform=transform,  # type: ignore[arg-type]
        )
        self._texts.append(text)

    def svg(self, label: str) -> Markup:
        """The finished figure."""
        import matplotlib

        buffer = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "understudy"}):
            self._figure.savefig(buffer, format="svg", metadata={"Date": None})
        body = "".join(_elements(buffer.getvalue(), self._texts))
        size = f"0 0 {WIDTH:g} {self._height:g}"
        return Markup(f'<svg viewBox="{size}" role="img" aria-label="{escape(label)}">{body}</svg>')


def _highest(bars: Iterable[Bar]) -> float:
    """Upper end of the scale: the largest bar or band, a little more, never nothing."""
    tops = [max(bar.share or 0, (bar.measured or 0) + bar.half_width) for bar in bars]
    return min(max([*tops, 0.01]), 1.5) * 1.04


def _bands(
    axes: Axes, bars: Sequence[Bar], places: Sequence[float], half: float,
    turn: Callable[[float, float, float, float], Box],
) -> None:
    """The noisy measurement as a stroke across the bar, the band as a line along it."""
    highest = _highest(bars)
    along, across = [], []
    for bar, place in zip(bars, places, strict=True):
        if bar.measured is None:
            continue
        low = min(max(bar.measured - bar.half_width, 0), highest)
        high = min(max(bar.measured + bar.half_width, 0), highest)
        along.append(turn(low, place, high, place))
        if bar.measured >= 0:
            across.append(turn(bar.measured, place - half, bar.measured, place + half))
    _segments(axes, along, "--ink", 1.4)
    _segments(axes, across, "--ink", 1.4)


def _fill(axes: Axes, boxes: Sequence[Box], colour: str) -> None:
    corners = [[(a, b), (c, b), (c, d), (a, d), (a, b)] for a, b, c, d in boxes]
    _add(axes, corners, closed=True, face=_SENTINEL[colour])


def _segments(axes: Axes, segments: Sequence[Box], colour: str, width: float) -> None:
    ends = [[(a, b), (c, d)] for a, b, c, d in segments]
    _add(axes, ends, closed=False, edge=_SENTINEL[colour], width=width)


def _add(
    axes: Axes, pieces: Sequence[Sequence[tuple[float, float]]], *, closed: bool,
    face: str = "none", edge: str = "none", width: float = 0.0,
) -> None:
    """All pieces of one series as one path: the page stays small."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not pieces:
        return
    corners = [corner for piece in pieces for corner in piece]
    codes = [
        code
        for piece in pieces
        for code in (
            Path.MOVETO,
            *[Path.LINETO] * (len(piece) - 1 - closed),
            *[Path.CLOSEPOLY] * closed,
        )
    ]
    axes.add_patch(
        PathPatch(Path(corners, codes), facecolor=face, edgecolor=edge, linewidth=width, clip_on=False)
    )


def _elements(svg: str, texts: Sequence[str]) -> Iterable[str]:
    """Paths and texts of a figure in drawing order, without identifiers and fonts."""
    for element in ElementTree.fromstring(svg).iter():  # noqa: S314 - our own drawing, no input
        kind = element.tag.rpartition("}")[2]
        style = element.get("style", "")
        if kind == "path":
            yield _path(element.get("d", ""), style)
        elif kind == "text":
            yield _text_element(element, style, texts[int((element.text or "t0")[1:])])


def _path(outline: str, style: str) -> str:
    steps = re.sub(r"\s+", " ", _NUMBER.sub(lambda found: _short(found[0]), outline)).strip()
    return f'<path d="{steps}" style="{_with_variables(style)}"/>'


def _text_element(element: ElementTree.Element, style: str, text: str) -> str:
    anchor = re.search(r"text-anchor: (\w+)", style)
    size = re.search(r"font-size: ([\d.]+)px", style)
    fill = re.search(r"fill: (#\w+)", style)
    assert size and fill
    classes = f"{_SIZES[float(size[1])]} {anchor[1] if anchor else 'start'}"
    colour = _COLOURS[fill[1]]
    classes += "" if colour == "--ink" else f" {colour[2:]}"
    x, y = _short(element.get("x", "0")), _short(element.get("y", "0"))
    return f'<text x="{x}" y="{y}" class="{classes}">{escape(text)}</text>'


def _with_variables(style: str) -> str:
    for sentinel, variable in _COLOURS.items():
        style = style.replace(sentinel, f"var({variable})")
    return style.replace("; stroke-linejoin: miter", "").replace(": ", ":").replace("; ", ";")


@lru_cache(maxsize=4096)
def _short(number: str) -> str:
    return f"{float(number):.1f}".removesuffix(".0")


def _shortened(label: str) -> str:
    return label if len(label) <= _LABEL_LENGTH else label[: _LABEL_LENGTH - 1].rstrip() + "…"


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"
