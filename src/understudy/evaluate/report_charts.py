"""Charts of the internal page: original beside synthetic.

**The few scores that stand at the head of an internal page, and how to read them.**
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from understudy._arrays import Z_95
from understudy.evaluate.associations import KEPT_WITHIN
from understudy.evaluate.scores import Better, Coefficient, Headline, Marginal, Metric
from understudy.report.svg import LETTER, SMALL, WIDTH, Chart, Colour, Panel, percent_scale
from understudy.report.text import distance, figure, percent, shorten_label

_MOST, _FEWEST = 6, 4
_CHANCE = 2.0  # standard deviations that still count as chance


@dataclass(frozen=True)
class Gauge:
    """A score on its own scale.

    Attributes:
        value: the score.
        spread: its standard deviation over the sets.
        null: what a fresh sample would score.
        null_sd: standard deviation of that.
    """

    value: float
    spread: float | None
    null: float | None
    null_sd: float | None


@dataclass(frozen=True)
class Tile:
    """One score of the strip.

    Attributes:
        name: short name.
        variant: which of several scores of that name it is.
        value: the figure.
        uncertainty: its spread over the sets.
        null: what the yardstick scores.
        standing: what follows from that; "" without a null.
        beyond: whether it is worse than chance explains.
        reading: how to read it.
        gauge: the numbers behind it.
    """

    name: str
    variant: str
    value: str
    uncertainty: str
    null: str
    standing: str
    beyond: bool
    reading: str
    gauge: Gauge


@dataclass(frozen=True)
class _Kind:
    """A kind of score that belongs into the strip.

    Attributes:
        name: name in the strip.
        headline: which scores can stand for it; None for any other score.
        reading: how to read it.
        by_null: whether it is shown as a multiple of its null.
    """

    name: str
    headline: Headline | None
    reading: str
    by_null: bool = False


_TSTR = _Kind(
    "Train on synthetic",
    Headline.TRAINED,
    "Prediction of original rows by a model trained on synthetic ones (TSTR), "
    "beside one trained on original rows (TRTR). Equal: nothing is lost.",
)
_KINDS = (
    _Kind(
        "pMSE / fresh",
        Headline.PMSE,
        "How well a model tells synthetic rows from original ones. "
        "1 = as good as a fresh sample from the same population.",
        by_null=True,
    ),
    _Kind(
        "SPECKS",
        Headline.SPECKS,
        "Largest gap between the model's probabilities for original and for synthetic rows. "
        "0 = it cannot tell them apart, 1 = it always can.",
    ),
    _Kind(
        "Total variation, 1-way",
        Headline.ONE_WAY,
        "Share of rows that would have to change to make a column's distribution right, "
        "mean over columns. 0 = identical.",
    ),
    _Kind(
        "Total variation, 2-way",
        Headline.TWO_WAY,
        "The same for pairs of columns: lost associations show here. 0 = identical.",
    ),
    _Kind(
        "Total variation, 3-way",
        Headline.THREE_WAY,
        "The same for triples. 0 = identical.",
    ),
    _TSTR,
)


def verdict(scores: Sequence[Metric]) -> tuple[Tile, ...]:
    """The strip: the known kinds of scores; if they are few, others in order of importance."""
    chosen: list[tuple[_Kind, Metric]] = []
    for kind in _KINDS:
        score = _choose_score(kind, scores)
        if score is not None:
            chosen.append((kind, score))
    shown = [score for _, score in chosen]
    others = [other for other in scores if other not in shown]
    for score in others[: max(0, _FEWEST - len(chosen))]:
        chosen.append((_Kind(score.name, None, score.note or score.better.sentence), score))
    return tuple(_tile(kind, score) for kind, score in chosen[:_MOST])


def _choose_score(kind: _Kind, scores: Sequence[Metric]) -> Metric | None:
    """The score of a kind; of several, the one furthest beyond a fresh sample."""
    matching = [
        score for score in scores if score.definition and score.definition.headline is kind.headline
    ]
    # A model that cannot see a fault must not hide one that another model sees.
    return max(matching, key=_rank, default=None)


def _rank(score: Metric) -> float:
    """Compute how many times worse it is than its null; -1 where that is not known."""
    ratio = score.ratio
    if ratio is None or math.isnan(ratio):
        return -1.0
    if score.better is Better.LOW:
        return ratio
    return 1 / ratio if ratio > 0 else math.inf


def _tile(kind: _Kind, score: Metric) -> Tile:
    ratio = score.ratio if kind.by_null else None
    unit = score.null if score.null and ratio is not None and math.isfinite(ratio) else 1.0
    gauge = _gauge(score, unit)
    standing, beyond = (_loss if kind is _TSTR else _judge_score)(score)
    yardstick = "trained on original rows" if kind is _TSTR else "fresh sample"
    return Tile(
        name=kind.name if ratio is not None else kind.name.removesuffix(" / fresh"),
        variant=score.variant if kind.headline else "",
        value=figure(gauge.value),
        uncertainty="one set" if gauge.spread is None else f"± {figure(gauge.spread, 2)} over sets",
        null=_null_words(yardstick, gauge),
        standing=standing,
        beyond=beyond,
        reading=kind.reading,
        gauge=gauge,
    )


def _gauge(score: Metric, unit: float) -> Gauge:
    rest = (score.spread, score.null, score.null_sd)
    return Gauge(score.value / unit, *(None if x is None else x / unit for x in rest))


def _null_words(yardstick: str, gauge: Gauge) -> str:
    if gauge.null is None:
        return ""
    spread = "" if gauge.null_sd is None else f" ± {figure(gauge.null_sd, 2)}"
    return f"{yardstick}: {figure(gauge.null)}{spread}"


def _judge_score(score: Metric) -> tuple[str, bool]:
    """Place a score against a fresh sample, and judge whether chance explains the difference."""
    far, ratio = score.standardised, score.ratio
    if far is not None and math.isfinite(far):
        if abs(far) <= _CHANCE:
            return "Within chance of a fresh sample.", False
        if (far > 0) == (score.better is Better.LOW):
            return f"{figure(abs(far))} sd worse than a fresh sample.", True
        return (
            f"{figure(abs(far))} sd closer than a fresh sample: "
            "expected of a fit without noise, otherwise look for copied rows.",
            False,
        )
    if ratio is None or not math.isfinite(ratio):
        return "", False
    # Without the spread of chance, only a large ratio counts as beyond it.
    return f"{figure(ratio)} × a fresh sample.", score.better is Better.LOW and ratio > _CHANCE


def _loss(score: Metric) -> tuple[str, bool]:
    """Trained on synthetic against trained on original rows."""
    if score.null is None or not math.isfinite(score.null - score.value):
        return "", False
    loss = (score.null - score.value) * (1 if score.better is Better.HIGH else -1)
    beyond = loss > _CHANCE * math.hypot(score.spread or 0.0, score.null_sd or 0.0)
    words = "A loss" if loss > 0 else "A gain" if loss < 0 else "A difference"
    return f"{words} of {figure(abs(loss), 2)}{'' if beyond else ', within chance'}.", beyond


Curve = tuple[Sequence[float], Sequence[float], Sequence[float]]

MOST_ROWS = 12  # states with a row each
MOST_STATES = 40  # states of an upright chart
MOST_TERMS = 24  # coefficients of one chart

_ROW, _BAR = 31.0, 12.0  # height of a state's row, and of each of its two bars
_RIGHT = 50.0  # room for the shares in words
_LEFT = 34.0  # room for a scale
_PLOT = 132.0  # height of upright charts
_CURVES = 160.0  # height of the curves
_SQUARE = 280.0  # side of the plot of correlations
_TERM = 46.0  # height of a coefficient
_LEAST_REACH, _MOST_REACH = 5.0, 20.0  # half width of the scale, in standard errors


def bars(marginal: Marginal, label: str) -> Markup:
    """Shares of one column, original above synthetic."""
    if MOST_ROWS < len(marginal.labels) <= MOST_STATES:
        return _upright(marginal, label)
    return _rows(marginal, label)


def bar_length(share: float) -> float:
    """The length of a bar; nothing for what is not a number."""
    return share if math.isfinite(share) else 0.0


def gaps(marginal: Marginal) -> list[float]:
    """Measure how far the shares of each state are apart."""
    pairs = zip(marginal.original, marginal.synthetic, strict=True)
    return [abs(bar_length(a) - bar_length(b)) for a, b in pairs]


def _rows(marginal: Marginal, label: str) -> Markup:
    states, rest = _worst_states(marginal)
    chart = Chart((len(states) + bool(rest)) * _ROW + 4)
    panel = chart.canvas()
    names = [shorten_label(marginal.labels[k]) for k in states]
    others = f"{len(rest):,} other states"
    gutter = max(_LEFT, 14 + LETTER * max(map(len, [*names, others if rest else ""]), default=0))
    both = (marginal.original, marginal.synthetic)
    highest = max([bar_length(shares[k]) for shares in both for k in states] + [0.01])
    scale = (WIDTH - gutter - _RIGHT) / highest
    panel.segments([(gutter, 2, gutter, len(states) * _ROW + 2)], Colour.RULE, 1.0)
    for shares, colour, top in ((both[0], Colour.ORIGINAL, 4.0), (both[1], Colour.BAR, 4.0 + _BAR)):
        places = [(bar_length(shares[k]), j * _ROW + top) for j, k in enumerate(states)]
        boxes = [(gutter, y, gutter + s * scale, y + _BAR - 1.5) for s, y in places if s > 0]
        panel.fill(boxes, colour)
        for k, (_, y) in zip(states, places, strict=True):
            share = shares[k] if math.isfinite(shares[k]) else None
            panel.text(
                WIDTH, y + _BAR / 2 - 0.75, percent(share), Colour.MUTED, size=SMALL, anchor="right"
            )
    for j, name in enumerate(names):
        panel.text(gutter - 7, j * _ROW + 3.25 + _BAR, name, anchor="right")
    if rest:
        # The pooled states have their shares in words alone, or they would dwarf the others.
        y = len(states) * _ROW + 3.25 + _BAR
        before, after = (percent(sum(bar_length(shares[k]) for k in rest)) for shares in both)
        panel.text(gutter - 7, y, others, Colour.MUTED, anchor="right")
        panel.text(WIDTH, y, f"{before} → {after}", Colour.MUTED, size=SMALL, anchor="right")
    return chart.svg(label)


def _worst_states(marginal: Marginal) -> tuple[list[int], list[int]]:
    """States that get a row each, in order, and those that are pooled: the least different ones."""
    states = range(len(marginal.labels))
    if len(states) <= MOST_ROWS:
        return list(states), []
    apart = gaps(marginal)
    kept = sorted(sorted(states, key=lambda k: -apart[k])[: MOST_ROWS - 1])
    return kept, [k for k in states if k not in kept]


def _upright(marginal: Marginal, label: str) -> Markup:
    n = len(marginal.labels)
    chart = Chart(_PLOT + 32)
    highest = 1.04 * max([*map(bar_length, (*marginal.original, *marginal.synthetic)), 0.01])
    panel = chart.panel((_LEFT, 8.0, WIDTH - 4, 8.0 + _PLOT), (0, n), (0, highest))
    percent_scale(panel, n, highest)
    for shares, colour, start in (
        (marginal.original, Colour.ORIGINAL, 0.1),
        (marginal.synthetic, Colour.BAR, 0.5),
    ):
        places = [(k + start, bar_length(share)) for k, share in enumerate(shares)]
        panel.fill([(x, 0.0, x + 0.4, s) for x, s in places if s > 0], colour)
    names = [shorten_label(name, 14) for name in marginal.labels]
    room = max(2, int(panel.width / (LETTER * max(map(len, names)) + 14)))
    for k in range(0, n, -(-n // room)):
        panel.below(k + 0.5, 14, names[k], Colour.MUTED)
    return chart.svg(label)


def curves(curve: Curve, share: float, label: str) -> Markup:
    """Distributions of the propensities of original and synthetic rows, with their largest gap.

    Args:
        curve: grid, ECDF of the original, ECDF of the synthetic rows.
        share: share of synthetic rows in all, where both would stand if nothing told them apart.
        label: the chart in words.
    """
    points = finite(curve)
    low, high, step = _reach([x for x, *_ in points], share)
    chart = Chart(_CURVES + 42)
    panel = chart.panel((_LEFT, 18.0, WIDTH - 12, 18.0 + _CURVES), (low, high), (0, 1))
    panel.segments([(low, y, high, y) for y in (0.5, 1.0)], Colour.RULE, 0.7)
    panel.segments([(low, 0, high, 0)], Colour.RULE, 1.2)
    panel.segments([(share, 0, share, 1)], Colour.ABSENT, 1.0)
    for y in (0.5, 1.0):
        panel.beside(-5, y, f"{100 * y:g} %", Colour.MUTED, SMALL)
    for k in range(round((high - low) / step) + 1):
        panel.below(low + k * step, 14, f"{low + k * step:.2g}", Colour.MUTED)
    panel.line(
        _steps([(x, original) for x, original, _ in points], low, high), Colour.ORIGINAL, 1.8
    )
    panel.line(_steps([(x, synthetic) for x, _, synthetic in points], low, high), Colour.BAR, 1.8)
    _mark_gap(panel, points)
    return chart.svg(label)


def finite(curve: Curve) -> list[tuple[float, float, float]]:
    """Points of two curves in order, without those that are not numbers."""
    points = [point for point in zip(*curve, strict=False) if all(map(math.isfinite, point))]
    return sorted(points)


def widest(points: Sequence[tuple[float, float, float]]) -> tuple[float, float, float] | None:
    """The point where two curves are furthest apart."""
    return max(points, key=lambda point: abs(point[1] - point[2]), default=None)


def _reach(grid: Sequence[float], share: float) -> tuple[float, float, float]:
    """Ends of the scale, the propensities rounded outwards to a round step, and that step."""
    low, high = min([*grid, share]), max([*grid, share])
    step = next(step for step in (0.02, 0.05, 0.1, 0.25, math.inf) if high - low <= 4 * step)
    first, last = math.floor(low / step), math.ceil(high / step)
    return first * step, max(last, first + 1) * step, step


def _steps(points: Sequence[tuple[float, float]], low: float, high: float) -> list[Any]:
    """Corners of a step function; points closer than a hair are drawn as one."""
    corners, level = [(low, 0.0)], 0.0
    hair = (high - low) / 600
    for k, (x, y) in enumerate(points):
        if x - corners[-1][0] < hair and 0 < k < len(points) - 1:
            continue
        corners += [(x, level), (x, y)]
        level = y
    return [*corners, (high, level)]


def _mark_gap(panel: Panel, points: Sequence[tuple[float, float, float]]) -> None:
    top = widest(points)
    if top is None or top[1] == top[2]:
        return
    x, original, synthetic = top
    panel.segments([(x, original, x, synthetic)], Colour.SPIKE, 2.2)
    words = f"gap {figure(abs(original - synthetic))}"
    panel.text(x, 1 + 10 / _CURVES, words, Colour.SPIKE, size=SMALL, anchor="center")


def scatter(points: Sequence[tuple[float, float]], label: str) -> Markup:
    """Correlations, original to the right and synthetic upwards, with the band that is kept.

    Args:
        points: original and synthetic correlation of each pair.
        label: the chart in words.
    """
    chart = Chart(_SQUARE + 50)
    panel = chart.panel((_LEFT, 8.0, _LEFT + _SQUARE, 8.0 + _SQUARE), (-1, 1), (-1, 1))
    for tick in (-1.0, -0.5, 0.0, 0.5, 1.0):
        panel.segments([(-1, tick, 1, tick), (tick, -1, tick, 1)], Colour.RULE, 0.7)
        words = f"{tick:g}".replace("-", "−")
        panel.beside(-5, tick, words, Colour.MUTED, SMALL)
        panel.below(tick, 14, words, Colour.MUTED)
    for shift in (-KEPT_WITHIN, KEPT_WITHIN):
        low, high = max(-1.0, -1.0 - shift), min(1.0, 1.0 - shift)
        panel.line([(low, low + shift), (high, high + shift)], Colour.ABSENT, 1.2)
    panel.below(0, 30, "original", Colour.MUTED)
    half = 4 / _SQUARE  # a dot of four points
    panel.fill([(x - half, y - half, x + half, y + half) for x, y in points], Colour.BAR)
    return chart.svg(label)


def whiskers(coefficients: Sequence[Coefficient], label: str) -> Markup:
    """Estimates with their intervals, in standard errors of the original around its estimate."""
    chart = Chart(len(coefficients) * _TERM + 38)
    panel = chart.canvas()
    reach = _reach_of(coefficients)
    scale = (WIDTH / 2 - 8) / reach
    bottom = len(coefficients) * _TERM
    for tick in _ticks(reach):
        x = WIDTH / 2 + tick * scale
        lines = [(x, k * _TERM + 16, x, k * _TERM + 38) for k in range(len(coefficients))]
        panel.segments(lines, Colour.RULE, 1.4 if tick == 0 else 0.7)
        words = f"{tick:+g}".replace("-", "−") if tick else "0"
        panel.text(x, bottom + 11, words, Colour.MUTED, size=SMALL, anchor="center")
    words = "standard errors of the original"
    panel.text(WIDTH / 2, bottom + 27, words, Colour.MUTED, size=SMALL, anchor="center")
    for k, coefficient in enumerate(coefficients):
        _whisker_row(panel, coefficient, k * _TERM, scale)
    return chart.svg(label)


def standard_error(coefficient: Coefficient) -> float | None:
    """Standard error of the original, from its interval; None if it has none."""
    _, low, high = coefficient.original
    error = (high - low) / (2 * Z_95)
    return error if math.isfinite(error) and error > 0 else None


def width_ratio(coefficient: Coefficient) -> float | None:
    """Width of the synthetic interval over that of the original."""
    _, low, high = coefficient.synthetic
    error = standard_error(coefficient)
    return None if error is None else (high - low) / (2 * Z_95 * error)


def _place_estimates(coefficient: Coefficient) -> list[list[float]]:
    """Both estimates and intervals in standard errors around the original estimate."""
    error, middle = standard_error(coefficient), coefficient.original[0]
    if error is None or not math.isfinite(middle):
        return []
    return [
        [(x - middle) / error for x in row] for row in (coefficient.original, coefficient.synthetic)
    ]


def _reach_of(coefficients: Sequence[Coefficient]) -> float:
    ends = [
        abs(x) for coefficient in coefficients for row in _place_estimates(coefficient) for x in row
    ]
    furthest = max([x for x in ends if math.isfinite(x)], default=0.0)
    return min(max(_LEAST_REACH, math.ceil(furthest)), _MOST_REACH)


def _ticks(reach: float) -> list[float]:
    step = 2.0 if reach <= 8 else 5.0
    n = int(reach / step)
    return [step * k for k in range(-n, n + 1)]


def _whisker_row(panel: Panel, coefficient: Coefficient, top: float, scale: float) -> None:
    panel.text(0, top + 9, shorten_label(coefficient.term, 24))
    width = width_ratio(coefficient)
    words = f"overlap {distance(coefficient.overlap, 2)} · width × {distance(width, 2)}"
    panel.text(WIDTH, top + 9, words, Colour.MUTED, size=SMALL, anchor="right")
    placed = _place_estimates(coefficient)
    if not placed:
        panel.text(WIDTH / 2, top + 26, "no interval", Colour.MUTED, size=SMALL, anchor="center")
        return
    error, middle = standard_error(coefficient), coefficient.original[0]
    assert error is not None
    nothing = WIDTH / 2 - middle / error * scale
    if 2 < nothing < WIDTH - 2:
        panel.segments([(nothing, top + 16, nothing, top + 37)], Colour.SPIKE, 1.2)
    original, synthetic = placed
    for row, colour, y in ((original, Colour.ORIGINAL, 22), (synthetic, Colour.BAR, 31)):
        _whisker(panel, [WIDTH / 2 + x * scale for x in row], top + y, colour)


def _whisker(panel: Panel, row: Sequence[float], y: float, colour: Colour) -> None:
    """A dot with its whisker; what leaves the scale ends in an arrow head."""
    if not all(map(math.isfinite, row)):
        return
    dot, low, high = row
    left, right = 3.0, WIDTH - 3.0
    a, b = min(max(low, left), right), min(max(high, left), right)
    panel.segments([(a, y, b, y)], colour, 2.0)
    if left <= dot <= right:
        panel.fill([(dot - 3, y - 3, dot + 3, y + 3)], colour)
    if low < left:
        panel.line([(left + 4, y - 4), (left, y), (left + 4, y + 4)], colour, 1.6)
    if high > right:
        panel.line([(right - 4, y - 4), (right, y), (right - 4, y + 4)], colour, 1.6)


def gauge(score: Gauge, label: str) -> Markup | str:
    """A score on its scale, with the band that a fresh sample would fall into."""
    spread, sd = score.spread or 0.0, score.null_sd or 0.0
    ends = [score.value - spread, score.value + spread, 0.0]
    if score.null is not None:
        ends += [score.null - 2 * sd, score.null + 2 * sd]
    if not all(map(math.isfinite, ends)) or min(ends) == max(ends):
        return ""
    low, high = min(ends), max(ends)
    chart = Chart(22, 220)
    panel = chart.canvas()
    scale = 208 / (high - low)

    def place(x: float) -> float:
        return 6 + (x - low) * scale

    panel.segments([(6, 11, 214, 11)], Colour.RULE, 1.2)
    if score.null is not None:
        a, b = place(score.null - 2 * sd), place(score.null + 2 * sd)
        panel.fill([(min(a, (a + b) / 2 - 1), 3, max(b, (a + b) / 2 + 1), 19)], Colour.ABSENT)
    x, left, right = map(place, (score.value, score.value - spread, score.value + spread))
    panel.segments([(left, 11, right, 11)], Colour.BAR, 3)
    panel.fill([(x - 3.5, 6, x + 3.5, 16)], Colour.BAR)
    return chart.svg(label)
