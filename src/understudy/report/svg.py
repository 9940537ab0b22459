"""Charts as SVG in the page's own colours, written directly.

A chart is measured in points from its upper left corner; panels on it have scales of their own.
Colours are CSS variables of the page, so a chart follows its light and dark mode, and texts have
classes instead of fonts. Every text is escaped, and the same chart gives the same bytes.

What has a coordinate that is not a finite number has no place on a chart: it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Literal

from markupsafe import Markup

from understudy.report.text import clean

WIDTH = 340.0  # of a chart in a card, in points; it scales to its place, 1 point is about 1 pixel
LETTER = 7.0  # width of a letter, on average
LARGE, SMALL = 12.0, 11.0  # sizes of text
_RISE = 0.36  # half the height of a capital letter, in sizes of its text

Box = tuple[float, float, float, float]  # x0, y0, x1, y1
Point = tuple[float, float]
Anchor = Literal["left", "center", "right"]
_ANCHORS: dict[Anchor, str] = {"left": "start", "center": "middle", "right": "end"}


class Colour(StrEnum):
    """Colours of the pages: CSS variables that their style sheets set for light and dark."""

    BAR = "--bar"
    ABSENT = "--absent"
    SPIKE = "--spike"
    INK = "--ink"
    RULE = "--rule"
    MUTED = "--muted"
    ORIGINAL = "--original"
    ON_LOW = "--on-low"
    ON_MID = "--on-mid"
    ON_HIGH = "--on-high"
    HEAT_0 = "--heat-0"
    HEAT_1 = "--heat-1"
    HEAT_2 = "--heat-2"
    HEAT_3 = "--heat-3"
    HEAT_4 = "--heat-4"
    HEAT_5 = "--heat-5"
    HEAT_6 = "--heat-6"
    HEAT_7 = "--heat-7"
    HEAT_8 = "--heat-8"
    HEAT_9 = "--heat-9"
    KIND_1 = "--kind-1"
    KIND_2 = "--kind-2"
    KIND_3 = "--kind-3"
    KIND_4 = "--kind-4"
    KIND_5 = "--kind-5"
    KIND_6 = "--kind-6"

    @property
    def class_name(self) -> str:
        """Class of texts in this colour."""
        return self.removeprefix("--")

    @property
    def filled(self) -> str:
        """Style of a filled shape."""
        return f"fill:var({self})"

    def stroke_style(self, width: float) -> str:
        """Style of a stroke of some points."""
        return f"fill:none;stroke:var({self});stroke-width:{width:g}"


HEAT = tuple(Colour(f"--heat-{k}") for k in range(10))  # a scale, from nothing to the most
KINDS = tuple(Colour(f"--kind-{k}") for k in range(1, 7))  # kinds without an order


class Chart:
    """A chart, measured in points from its upper left corner; later pieces lie on earlier ones.

    Attributes:
        width: width in points.
        height: height in points.
    """

    def __init__(self, height: float, width: float = WIDTH) -> None:
        self.width, self.height = width, height
        self._pieces: list[Markup] = []

    def panel(self, place: Box, x: Point, y: Point) -> Panel:
        """A part of the chart with its own scales.

        Args:
            place: its left, top, right and bottom edge, in points.
            x: numbers at its left and right edge.
            y: numbers at its bottom and top edge.
        """
        return Panel(self._pieces, place, x, y)

    def canvas(self) -> Panel:
        """The whole chart, its scales being points to the right and down."""
        return self.panel((0, 0, self.width, self.height), (0, self.width), (self.height, 0))

    def svg(self, label: str, *, legible: bool = False) -> Markup:
        """The finished chart.

        Args:
            label: what it shows, for those who cannot see it.
            legible: whether it keeps its size, so that a narrow place has to scroll, and its texts
                can be read on a phone.
        """
        size = Markup(' style="width:{}px"').format(short(self.width))
        return Markup('<svg viewBox="0 0 {} {}"{} role="img" aria-label="{}">{}</svg>').format(
            f"{self.width:g}",
            f"{self.height:g}",
            size if legible else Markup(""),
            clean(label),
            Markup("").join(self._pieces),
        )

    def file(self, label: str, style: str) -> str:
        """The finished chart as a file of its own, which brings its colours and its ground.

        Args:
            label: what it shows, for those who cannot see it.
            style: a style sheet that sets the colours for light and dark.
        """
        width, height = f"{self.width:g}", f"{self.height:g}"
        size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        page = Markup('<rect width="100%" height="100%" style="fill:var(--page)"/>')
        return str(
            Markup(
                '<svg xmlns="{}" {} role="img" aria-label="{}"><style>{}</style>{}</svg>\n'
            ).format(
                "http://www.w3.org/2000/svg",
                Markup(size),  # noqa: S704 - two numbers
                clean(label),
                Markup(style),  # noqa: S704 - a file of this package
                page + Markup("").join(self._pieces),
            )
        )


class Panel:
    """A part of a chart, and what is drawn on it: each series as one path, so pages stay small.

    Attributes:
        width: width in points.
    """

    def __init__(self, pieces: list[Markup], place: Box, x: Point, y: Point) -> None:
        self._left, self._top, self._right, self._bottom = place
        self.width = self._right - self._left
        self._pieces = pieces
        self._x, self._y = x, y

    def fill(self, boxes: Iterable[Box], colour: Colour, *, title: str = "") -> None:
        """Filled boxes; `title` is shown while the pointer rests on them."""
        placed = [self._place(a, b) + self._place(c, d) for a, b, c, d in boxes]
        outlines = [
            f"M{short(a)} {short(b)}H{short(c)}V{short(d)}H{short(a)}z"
            for a, b, c, d in filter(_finite, placed)
        ]
        self._path(outlines, colour.filled, title)

    def shape(self, corners: Sequence[Point], colour: Colour, *, title: str = "") -> None:
        """A filled polygon; `title` is shown while the pointer rests on it."""
        placed = [self._place(x, y) for x, y in corners]
        if all(map(_finite, placed)):
            self._path([f"{join_points(placed)}z"], colour.filled, title)

    def segments(self, segments: Iterable[Box], colour: Colour, width: float) -> None:
        """Straight strokes."""
        ends = [(self._place(a, b), self._place(c, d)) for a, b, c, d in segments]
        strokes = [join_points(two) for two in ends if all(map(_finite, two))]
        self._path(strokes, colour.stroke_style(width))

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """A line through points; it is broken where a point has no place."""
        placed = [self._place(x, y) for x, y in points]
        runs = [join_points(list(run)) for known, run in groupby(placed, _finite) if known]
        self._path(runs, colour.stroke_style(width))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: Colour = Colour.INK,
        *,
        size: float = LARGE,
        anchor: Anchor = "left",
    ) -> None:
        """Text at a place on the scales, in the middle of height y."""
        across, down = self._place(x, y)
        self._text((across, down + _RISE * size), text, colour, size, anchor)

    def beside(
        self, points: float, y: float, text: str, colour: Colour, size: float = LARGE
    ) -> None:
        """Text that ends so many points right of the left edge, in the middle of height y."""
        down = self._place(0, y)[1]
        self._text((self._left + points, down + _RISE * size), text, colour, size, "right")

    def below(
        self, x: float, points: float, text: str, colour: Colour, *, last: bool = False
    ) -> None:
        """Text centred at x (the last one ends there), some points below the panel."""
        across = self._place(x, 0)[0]
        anchor: Anchor = "right" if last else "center"
        self._text((across, self._bottom + points), text, colour, SMALL, anchor)

    def _place(self, x: float, y: float) -> Point:
        (first, last), (lowest, highest) = self._x, self._y
        across = self._left + (x - first) / (last - first) * self.width
        down = self._bottom - (y - lowest) / (highest - lowest) * (self._bottom - self._top)
        return across, down

    def _path(self, outlines: Sequence[str], style: str, title: str = "") -> None:
        if not outlines:
            return
        path = Markup('<path d="{}" style="{}"/>').format("".join(outlines), style)
        if title:
            path = Markup("<g><title>{}</title>{}</g>").format(clean(title), path)
        self._pieces.append(path)

    def _text(self, place: Point, text: str, colour: Colour, size: float, anchor: Anchor) -> None:
        if not _finite(place):
            return
        classes = f"{'s' if size == SMALL else 'm'} {_ANCHORS[anchor]} {colour.class_name}"
        self._pieces.append(
            Markup('<text x="{}" y="{}" class="{}">{}</text>').format(
                *map(short, place), classes, clean(text)
            )
        )


def percent_scale(panel: Panel, n: int, highest: float) -> None:
    """Level lines of an upright chart of shares, and their values on its left; n is its width."""
    ticks = [tick for tick in nice_ticks(0, highest, 4) if tick > 0]
    panel.segments([(0, tick, n, tick) for tick in ticks], Colour.RULE, 0.7)
    panel.segments([(0, 0, n, 0)], Colour.RULE, 1.2)
    for tick in ticks:
        panel.beside(-4, tick, f"{100 * tick:.3g} %", Colour.MUTED, SMALL)


def nice_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high`, evenly spaced by 1, 2, 2.5 or 5 times a power of ten.

    Args:
        low: start of a scale.
        high: its end, above it.
        most: most steps that the scale has room for, at least 2; there are more than half of it.

    Example:
        >>> nice_ticks(0, 0.37, 3), nice_ticks(-0.3, 1.1, 6)
        ([0.0, 0.2], [-0.25, 0.0, 0.25, 0.5, 0.75, 1.0])
    """
    power = math.floor(math.log10((high - low) / most))
    steps = ((leading, k) for k in (power, power + 1) for leading in (1, 2, 2.5, 5))
    leading, power = next(
        (leading, k) for leading, k in steps if (high - low) <= most * leading * 10.0**k
    )
    step, digits = leading * 10.0**power, max(0, 1 - power)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(k * step, digits) for k in range(first, last + 1)]


def join_points(points: Sequence[Point]) -> str:
    """The outline of a line through points."""
    return "M" + "L".join(f"{short(x)} {short(y)}" for x, y in points)


def short(number: float) -> str:
    """A coordinate, to a tenth of a point.

    Example:
        >>> short(2.0), short(2.25), short(-0.01)
        ('2', '2.2', '0')
    """
    rounded = f"{number:.1f}".removesuffix(".0")
    return "0" if rounded == "-0" else rounded


def _finite(numbers: Iterable[float]) -> bool:
    return all(map(math.isfinite, numbers))
