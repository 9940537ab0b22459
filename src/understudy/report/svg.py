"""The drawing kit of the pages: a figure in points that becomes an SVG in the page's own colours.

Matplotlib draws; it is handed placeholder texts and sentinel colours, which become the real texts
(escaped) and CSS variables afterwards. So labels need no font at drawing time, no label can be
taken for markup or mathematics, and the same drawing gives the same bytes.

Importing this module imports matplotlib, which takes a while: import it when a chart is wanted.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from understudy.report.number_text import clean

WIDTH = 340.0  # of a chart in a card, in points; it scales to its place, 1 point is about 1 pixel
LETTER = 7.0  # width of a letter, on average
LARGE, SMALL = 12.0, 11.0  # sizes of text

HEAT = tuple(f"--heat-{k}" for k in range(10))  # the colour scale, from nothing to the most
_NAMES = ("--bar", "--absent", "--spike", "--ink", "--rule", "--muted", "--original", *HEAT)
_NAMES += ("--on-low", "--on-mid", "--on-high")
KINDS = tuple(f"--kind-{k}" for k in range(1, 7))  # kinds without an order
_NAMES += KINDS
_VARIABLES = {f"#01{k:04x}": name for k, name in enumerate(_NAMES, start=0x0101)}
_SENTINELS = {variable: colour for colour, variable in _VARIABLES.items()}
_SENTINEL = re.compile("#01[0-9a-f]{4}")
_DECIMAL = re.compile(r"-?\d+\.\d+")
_PLACEHOLDER = re.compile(r"t\d+")

Box = tuple[float, float, float, float]  # x0, y0, x1, y1
Point = tuple[float, float]
Anchor = Literal["left", "center", "right"]


class Pen:
    """A figure, measured in points from its upper left corner.

    Attributes:
        width: width in points.
        height: height in points.
    """

    def __init__(self, height: float, width: float = WIDTH) -> None:
        self.width, self.height = width, height
        self._texts: list[str] = []
        self._figure = Figure(figsize=(width / 72, height / 72))
        self._figure.patch.set_visible(False)

    def panel(self, left: float, top: float, width: float, height: float) -> Panel:
        """Axes at a place; whoever draws sets their limits."""
        bottom = self.height - top - height
        place = (left / self.width, bottom / self.height, width / self.width, height / self.height)
        axes = self._figure.add_axes(place)
        axes.set_axis_off()
        return Panel(axes, self._texts, width, height)

    def canvas(self) -> Panel:
        """The whole figure, its data coordinates being points."""
        panel = self.panel(0, 0, self.width, self.height)
        panel.axes.set_xlim(0, self.width)
        panel.axes.set_ylim(self.height, 0)
        return panel

    def svg(self, label: str) -> Markup:
        """The finished drawing.

        Args:
            label: what the chart shows, for those who cannot see it.
        """
        buffer = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "understudy"}):
            self._figure.savefig(buffer, format="svg", metadata={"Date": None})
        body = Markup("").join(_elements(buffer.getvalue(), self._texts))
        return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
            f"{self.width:g}", f"{self.height:g}", clean(label), body
        )


class Panel:
    """Axes, and what is drawn on them: each series as one path, so that the page stays small."""

    def __init__(self, axes: Axes, texts: list[str], width: float, height: float) -> None:
        self.axes, self.width, self.height = axes, width, height
        self._texts = texts

    def fill(self, boxes: Sequence[Box], colour: str, *, title: str = "") -> None:
        """Filled boxes; `title` is shown while the pointer rests on them."""
        corners = [[(a, b), (c, b), (c, d), (a, d), (a, b)] for a, b, c, d in boxes]
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
        self._add(corners, codes, title, facecolor=_SENTINELS[colour], edgecolor="none")

    def shape(self, corners: Sequence[Point], colour: str, *, title: str = "") -> None:
        """A filled polygon; `title` is shown while the pointer rests on it."""
        codes = [Path.MOVETO, *[Path.LINETO] * (len(corners) - 1), Path.CLOSEPOLY]
        closed = [*corners, corners[0]]
        self._add([closed], codes, title, facecolor=_SENTINELS[colour], edgecolor="none")

    def segments(self, segments: Sequence[Box], colour: str, width: float) -> None:
        """Straight strokes."""
        ends = [[(a, b), (c, d)] for a, b, c, d in segments]
        edge = _SENTINELS[colour]
        codes = [Path.MOVETO, Path.LINETO]
        self._add(ends, codes, "", facecolor="none", edgecolor=edge, linewidth=width)

    def line(self, points: Sequence[Point], colour: str, width: float) -> None:
        """One line through points."""
        codes = [Path.MOVETO, *[Path.LINETO] * (len(points) - 1)]
        pieces = [points] if points else []
        edge = _SENTINELS[colour]
        self._add(pieces, codes, "", facecolor="none", edgecolor=edge, linewidth=width)

    def _add(
        self,
        pieces: Sequence[Sequence[Point]],
        codes: Sequence[Any],
        title: str,
        **style: str | float,
    ) -> None:
        if not pieces:
            return
        path = Path([xy for piece in pieces for xy in piece], list(codes) * len(pieces))
        patch = PathPatch(path, clip_on=False, **style)
        if title:
            patch.set_gid(self._placeholder(title))
        self.axes.add_artist(
            patch
        )  # unlike add_patch, does not work out limits that are set anyway

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: str = "--ink",
        *,
        size: float = LARGE,
        anchor: Anchor = "left",
    ) -> None:
        """Text at a place in data, in the middle of height y."""
        self.axes.text(
            x, y, self._placeholder(text), ha=anchor, va="center_baseline",
            fontsize=size, color=_SENTINELS[colour],
        )  # fmt: skip

    def beside(self, x: float, y: float, text: str, colour: str, size: float = LARGE) -> None:
        """Text that ends at x (in widths of the panel), in the middle of height y (in data)."""
        self.axes.text(
            x, y, self._placeholder(text), ha="right", va="center_baseline",
            fontsize=size, color=_SENTINELS[colour], transform=self.axes.get_yaxis_transform(),
        )  # fmt: skip

    def below(self, x: float, points: float, text: str, colour: str, *, last: bool = False) -> None:
        """Text centred at x (in data; the last one ends there), some points below the panel."""
        self.axes.text(
            x, -points / self.height, self._placeholder(text),
            ha="right" if last else "center", va="baseline",
            fontsize=SMALL, color=_SENTINELS[colour], transform=self.axes.get_xaxis_transform(),
        )  # fmt: skip

    def _placeholder(self, text: str) -> str:
        self._texts.append(text)
        return f"t{len(self._texts) - 1}"


def percent_scale(panel: Panel, n: int, highest: float) -> None:
    """Level lines of an upright chart of shares, and their values on its left; n is its width."""
    found = MaxNLocator(3).tick_values(0, highest)
    ticks = [float(tick) for tick in found if 0 < tick <= highest]
    panel.segments([(0, tick, n, tick) for tick in ticks], "--rule", 0.7)
    panel.segments([(0, 0, n, 0)], "--rule", 1.2)
    for tick in ticks:
        panel.beside(-4 / panel.width, tick, f"{100 * tick:.3g} %", "--muted", SMALL)


def _elements(svg: str, texts: Sequence[str]) -> Iterable[Markup]:
    """Paths and texts of a figure in drawing order, without identifiers and fonts."""
    title = ""
    for element in ElementTree.fromstring(svg).iter():  # noqa: S314 - our own drawing, no input
        kind = element.tag.rpartition("}")[2]
        style = element.get("style", "")
        if kind == "g" and _PLACEHOLDER.fullmatch(element.get("id", "")):
            title = texts[int(element.get("id", "")[1:])]
        elif kind == "path":
            yield _titled(_path(element.get("d", ""), style), title)
            title = ""
        elif kind == "text":
            yield _text(element, style, texts[int((element.text or "t0")[1:])])


def _titled(path: Markup, title: str) -> Markup:
    return Markup("<g><title>{}</title>{}</g>").format(clean(title), path) if title else path


def _path(outline: str, style: str) -> Markup:
    steps = " ".join(_DECIMAL.sub(lambda found: _short(found[0]), outline).split())
    style = _SENTINEL.sub(lambda found: f"var({_VARIABLES[found[0]]})", style)
    style = style.replace("; stroke-linejoin: miter", "").replace(": ", ":").replace("; ", ";")
    return Markup('<path d="{}" style="{}"/>').format(steps, style)


def _text(element: ElementTree.Element, style: str, text: str) -> Markup:
    """A text with classes in place of fonts and colours."""
    declared = dict(entry.split(": ", 1) for entry in style.split("; "))
    classes = ["s" if declared["font-size"] == f"{SMALL:g}px" else "m"]
    classes += [declared.get("text-anchor", "start")]
    classes += [_VARIABLES[declared["fill"]].removeprefix("--")]
    x, y = _short(element.get("x", "0")), _short(element.get("y", "0"))
    return Markup('<text x="{}" y="{}" class="{}">{}</text>').format(
        x, y, " ".join(classes), clean(text)
    )


@lru_cache(maxsize=4096)
def _short(number: str) -> str:
    return f"{float(number):.1f}".removesuffix(".0")
