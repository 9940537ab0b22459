"""A map as one self-contained HTML page, stamped internal unless its rows are public.

**One figure of a map: risk to the right, a utility loss upwards, a line for each method.**

Methods are told apart by colour and by marker, whiskers are Monte Carlo intervals in both
directions; labels stand beside their points without lying on each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from understudy.evaluate.evaluate import LOSSES
from understudy.evaluate.tradeoff import (
    LEAK,
    MOST_TARGETS,
    PUBLIC,
    RISKS,
    STAMP,
    Axis,
    Interval,
    Tradeoff,
    TradeoffPoint,
    budget_axis,
    linear_axis,
    loss_axis,
)
from understudy.methods.registry import METHODS
from understudy.report import text as templates
from understudy.report.svg import (
    KINDS,
    LETTER,
    SMALL,
    Anchor,
    Box,
    Chart,
    Colour,
    Point,
    join_points,
)
from understudy.report.text import figure as written
from understudy.report.text import shorten_label

_AWAY = 8.0  # points from a marker to its text
_CORNERS = ((1, -1), (-1, -1), (1, 1), (-1, 1), (1, 0), (-1, 0))


def place_labels(
    points: Sequence[Point], texts: Sequence[str], taken: Sequence[Box]
) -> Iterator[tuple[float, float, Anchor]]:
    """A place beside each point: the first of six that is free, else the one above to the right.

    Args:
        points: markers.
        texts: of each.
        taken: boxes (left, top, right, bottom) that no text may lie on.

    Yields:
        Place and anchor of each text, in order.
    """
    reach = _AWAY - 2
    occupied = [*taken, *((x - reach, y - reach, x + reach, y + reach) for x, y in points)]
    for (x, y), text in zip(points, texts, strict=True):
        boxes = [_box(x, y, text, corner) for corner in _CORNERS]
        free = [
            k for k, box in enumerate(boxes) if not any(_meet(box, other) for other in occupied)
        ]
        k = free[0] if free else 0
        occupied.append(boxes[k])
        aside, down = _CORNERS[k]
        yield x + aside * _AWAY, y + down * 9.0, "left" if aside > 0 else "right"


def _box(x: float, y: float, text: str, corner: tuple[int, int]) -> Box:
    aside, down = corner
    start = x + aside * _AWAY
    end = start + aside * LETTER * len(text)
    middle = y + down * 9.0
    return min(start, end), middle - SMALL / 2, max(start, end), middle + SMALL / 2


def _meet(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


WIDTH, HEIGHT = 470.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 18.0, 14.0, 48.0
_RADIUS = 5.0
_BESIDE = 5.0  # points between the places of two methods at one budget
_DASH = 7.0
_CLOSE = 30.0  # ticks nearer than this are not both written


@dataclass(frozen=True)
class Mark:
    """A point where it is drawn.

    Attributes:
        x: its place.
        y: its place.
        whiskers: from low to high in risk and in loss.
        label: the budget, where the axis does not tell it.
        title: all of it in words.
    """

    x: float
    y: float
    whiskers: tuple[Box, ...]
    label: str
    title: str


class Drawing:
    """The map of one loss.

    Args:
        tradeoff: the map.
        loss: name of the loss.
    """

    def __init__(self, tradeoff: Tradeoff, loss: str) -> None:
        self._tradeoff, self._loss = tradeoff, loss
        self._by_budget = tradeoff.risk == "epsilon"
        self._chart = Chart(HEIGHT, WIDTH)
        self._panel = self._chart.canvas()
        self._x, self._y = self._axes()

    @property
    def logarithmic(self) -> bool:
        """True if the axis of the loss is."""
        return self._y.logarithmic

    def svg(self, label: str) -> Markup:
        """The drawing.

        Args:
            label: what it shows, for those who cannot see it.
        """
        self._draw_axes()
        for k, method in enumerate(self._tradeoff.methods):
            self._draw_reference(method, k)
        marks = [list(self._marks(method, k)) for k, method in enumerate(self._tradeoff.methods)]
        for k, series in enumerate(marks):
            self._panel.line([(mark.x, mark.y) for mark in series], colour_of(k), 1.6)
            self._panel.segments(
                [box for mark in series for box in mark.whiskers], colour_of(k), 1.3
            )
        for k, series in enumerate(marks):
            for mark in series:
                self._panel.shape(outline(k, mark.x, mark.y), colour_of(k), title=mark.title)
        if not self._by_budget:
            self._write_budgets([(k, mark) for k, series in enumerate(marks) for mark in series])
        return self._chart.svg(label)

    def _write_budgets(self, marks: list[tuple[int, Mark]]) -> None:
        points = [(mark.x, mark.y) for _, mark in marks]
        places = place_labels(points, [mark.label for _, mark in marks], [])
        for (k, mark), (x, y, anchor) in zip(marks, places, strict=True):
            self._panel.text(x, y, mark.label, colour_of(k), size=SMALL, anchor=anchor)

    def _axes(self) -> tuple[Axis, Axis]:
        points = [point for method in self._tradeoff.methods for point in self._tradeoff.of(method)]
        losses = [point.utility[self._loss] for point in points]
        y = loss_axis(
            [loss.mean for loss in losses],
            [end for loss in losses for end in loss.ends],
            HEIGHT - _BOTTOM,
            _TOP,
        )
        across = (_LEFT, WIDTH - _RIGHT)
        if self._by_budget:
            return budget_axis(
                sorted({float(point.epsilon) for point in points if point.epsilon}), *across
            ), y
        ends = [end for point in points if point.risk for end in point.risk.ends]
        return linear_axis([RISKS[self._tradeoff.risk].harmless, *ends], *across), y

    def _draw_axes(self) -> None:
        panel, bottom, right = self._panel, HEIGHT - _BOTTOM, WIDTH - _RIGHT
        for tick in self._y.ticks:
            y = self._y.place(tick)
            panel.segments([(_LEFT, y, right, y)], Colour.RULE, 0.7)
            panel.text(_LEFT - 7, y, f"{tick:.3g}", Colour.MUTED, size=SMALL, anchor="right")
        panel.segments([(_LEFT, bottom, right, bottom)], Colour.MUTED, 1.0)
        last = -math.inf
        for tick in self._x.ticks:
            x = self._x.place(tick)
            panel.segments([(x, bottom, x, bottom + 4)], Colour.MUTED, 1.0)
            if x - last >= _CLOSE:
                words = f"{tick:.3g}".replace("-", "−")
                panel.text(x, bottom + 14, words, Colour.MUTED, size=SMALL, anchor="center")
                last = x
        scale = RISKS[self._tradeoff.risk].scale
        panel.text(WIDTH / 2, bottom + 34, scale, Colour.MUTED, size=SMALL, anchor="center")
        if not self._by_budget:
            x = self._x.place(RISKS[self._tradeoff.risk].harmless)
            panel.segments([(x, _TOP, x, bottom)], Colour.MUTED, 1.0)
            panel.text(x, _TOP - 7, "no gain", Colour.MUTED, size=SMALL, anchor="center")

    def _draw_reference(self, method: str, k: int) -> None:
        """A method without ε has no place on the axis of budgets: it is a level across."""
        for point in self._tradeoff.of(method):
            loss = point.utility[self._loss].mean
            if point.epsilon or not self._by_budget or not math.isfinite(loss):
                continue
            y, n = self._y.place(loss), int((WIDTH - _LEFT - _RIGHT) / _DASH)
            dashes = [(_LEFT + i * _DASH, y, _LEFT + (i + 0.5) * _DASH, y) for i in range(n)]
            self._panel.segments(dashes, colour_of(k), 1.6)
            words = f"{shorten_label(method)}: no guarantee"
            self._panel.text(WIDTH - _RIGHT, y - 9, words, Colour.MUTED, size=SMALL, anchor="right")

    def _marks(self, method: str, k: int) -> Iterator[Mark]:
        aside = (k - (len(self._tradeoff.methods) - 1) / 2) * _BESIDE
        for point in self._tradeoff.of(method):
            loss, risk = point.utility[self._loss], point.risk
            if not math.isfinite(loss.mean) or (self._by_budget and not point.epsilon):
                continue
            y, budget = (
                self._y.place(loss.mean),
                f"ε = {point.epsilon}" if point.epsilon else "no ε",
            )
            words = f"{method}, {budget}: loss {describe_interval(loss)}"
            if risk is None:
                x = self._x.place(float(point.epsilon)) + aside
                yield Mark(x, y, self._whiskers(x, y, None, loss), "", words)
            else:
                x, label = self._x.place(risk.mean), point.epsilon or "no ε"
                whiskers = self._whiskers(x, y, risk, loss)
                yield Mark(x, y, whiskers, label, f"{words}; risk {describe_interval(risk)}")

    def _whiskers(
        self, x: float, y: float, risk: Interval | None, loss: Interval
    ) -> tuple[Box, ...]:
        low, high = map(self._y.place, loss.ends)
        upright = (x, low, x, high)
        if risk is None:
            return (upright,)
        left, right = map(self._x.place, risk.ends)
        return upright, (left, y, right, y)


def describe_interval(interval: Interval) -> str:
    """A mean with half its interval.

    Example:
        >>> describe_interval(Interval(0.25, 0.0123)), describe_interval(Interval(0.25))
        ('0.25 ± 0.012', '0.25')
    """
    half = "" if interval.half is None else f" ± {written(interval.half, 2)}"
    return f"{written(interval.mean)}{half}"


def colour_of(k: int) -> Colour:
    """A method's colour by its place."""
    return KINDS[k % len(KINDS)]


def outline(k: int, x: float, y: float, radius: float = _RADIUS) -> list[Point]:
    """Corners of a method's marker by its place; markers come round later than colours.

    Args:
        k: place of the method.
        x: middle of the marker.
        y: middle of the marker.
        radius: of the marker.
    """
    shapes = (
        _start_ring_at(16, 0.0),
        _square(),
        _start_ring_at(3, -90.0),
        _start_ring_at(4, 0.0),
        _start_ring_at(3, 90.0),
        _cross(),
    )
    shape = shapes[(k + k // len(KINDS)) % len(shapes)]
    return [(x + radius * a, y + radius * b) for a, b in shape]


def _start_ring_at(corners: int, first: float) -> list[Point]:
    size = 1.0 if corners > 4 else 1.3
    angles = [math.radians(first + 360 * k / corners) for k in range(corners)]
    return [(size * math.cos(a), size * math.sin(a)) for a in angles]


def _square() -> list[Point]:
    return [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]


def _cross() -> list[Point]:
    a, b = 0.4, 1.2
    return [(-a, -b), (a, -b), (a, -a), (b, -a), (b, a), (a, a),
            (a, b), (-a, b), (-a, a), (-b, a), (-b, -a), (-a, -a)]  # fmt: skip


def key(k: int) -> Markup:
    """Line and marker of a method for a legend."""
    colour, corners = colour_of(k), join_points(outline(k, 16, 7))
    return Markup(
        '<svg viewBox="0 0 32 14" aria-hidden="true">'
        '<path d="M0 7H32" style="{}"/><path d="{}z" style="{}"/></svg>'
    ).format(colour.stroke_style(1.6), corners, colour.filled)


@dataclass(frozen=True)
class Picture:
    """One figure with its heading.

    Attributes:
        title: what is kept or lost.
        scale: what its upward axis is.
        drawing: the figure.
        logarithmic: whether that axis is.
    """

    title: str
    scale: str
    drawing: Markup
    logarithmic: bool


def page(tradeoff: Tradeoff) -> str:
    """The page: one figure per loss, all numbers, and how they were made.

    Args:
        tradeoff: the map; nothing else is looked at.

    Returns:
        HTML text, the same for the same map.
    """
    context: dict[str, Any] = {
        "map": tradeoff,
        "title": f"Risk and utility: {tradeoff.title}",
        "stamp": STAMP,
        "leak": LEAK,
        "public": PUBLIC,
        "risk": RISKS[tradeoff.risk],
        "most_targets": MOST_TARGETS,
        "losses": [LOSSES[name] for name in tradeoff.utility],
        "pictures": [_picture(tradeoff, name) for name in tradeoff.utility],
        "legend": [(key(k), name) for k, name in enumerate(tradeoff.methods)],
        "headings": _headings(tradeoff),
        "rows": [(row, _cells(row, tradeoff)) for row in tradeoff.points],
        "methods": [_about(name, tradeoff) for name in tradeoff.methods],
        "epsilons": _budgets(tradeoff),
    }
    return templates.template("tradeoff.html.jinja").render(context)


def _picture(tradeoff: Tradeoff, name: str) -> Picture:
    loss, drawing = LOSSES[name], Drawing(tradeoff, name)
    return Picture(
        loss.title, loss.scale, drawing.svg(_describe_figure(tradeoff, name)), drawing.logarithmic
    )


def _describe_figure(tradeoff: Tradeoff, name: str) -> str:
    """The means of a figure for those who cannot see it."""
    said = []
    for method in tradeoff.methods:
        values = [
            written(point.utility[name].mean)
            + (f" at ε = {point.epsilon}" if point.epsilon else "")
            for point in tradeoff.of(method)
        ]
        said.append(f"{method}: {', '.join(values) or 'refused'}")
    return f"{LOSSES[name].title}, loss by method and budget. {'; '.join(said)}."


def _headings(tradeoff: Tradeoff) -> list[str]:
    """Names of the cells of a point that has figures."""
    risk = RISKS[tradeoff.risk]
    return [
        *([risk.title] if risk.measure else []),
        *(LOSSES[name].name for name in tradeoff.utility),
    ]


def _cells(point: TradeoffPoint, tradeoff: Tradeoff) -> list[str]:
    """Risk if it was measured, then the losses."""
    risks = [] if point.risk is None else [describe_interval(point.risk)]
    return [
        *risks,
        *(describe_interval(point.utility[name]) for name in tradeoff.utility if point.utility),
    ]


def _about(name: str, tradeoff: Tradeoff) -> tuple[str, str, str, str]:
    """Name, title, guarantee and options of a method."""
    given = ", ".join(f"{k} = {v}" for k, v in tradeoff.options.get(name, {}).items())
    if name not in METHODS:
        return name, "chosen from schema and budget", "that of the chosen method", given
    facts = METHODS[name].facts
    return name, facts.title, facts.guarantee, given


def _budgets(tradeoff: Tradeoff) -> str:
    return (
        ", ".join(dict.fromkeys(point.epsilon for point in tradeoff.points if point.epsilon))
        or "none"
    )
