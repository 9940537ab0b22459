"""What the internal page says in tables: worst columns and pairs, agreement, subgroups.

The distances of all pairs of columns stand in a triangle of coloured cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from understudy.evaluate.scores import Coefficient, CorrelationKept, Evaluation, Marginal, Subgroup
from understudy.report.svg import HEAT, LARGE, LETTER, SMALL, Anchor, Chart, Colour, Panel
from understudy.report.text import figure, percent, shorten_label

MOST_COLUMNS = 60
_WITH_NUMBERS = 14  # up to so many columns, each cell has its number
_LEGEND = 44.0
_STEP = 26.0  # width of one step of the legend
_LABEL = 30  # most letters of a name
_ENDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # of the colour scale; 0.1 keeps noise pale

Pairs = Mapping[tuple[str, str], float]


def choose_columns(pairs: Pairs, at_most: int = MOST_COLUMNS) -> list[str]:
    """Columns of the worst pairs, so many that none of the worst pairs is missed."""
    columns: dict[str, None] = {}
    for names in worst_first(pairs):
        if len({*columns, *names}) <= at_most:
            columns |= dict.fromkeys(names)
    return list(columns)


def worst_first(pairs: Pairs) -> list[tuple[str, str]]:
    """Names of the pairs, the most distant first, those without a number last."""
    return sorted(pairs, key=lambda names: (-_weight(pairs[names]), names))


def _weight(distance: float) -> float:
    return distance if math.isfinite(distance) else -1.0


def arrange_columns(names: Sequence[str], pairs: Pairs) -> tuple[list[str], NDArray[np.float64]]:
    """Columns in an order that puts distant pairs side by side, and the matrix of distances.

    Average linkage with optimal leaf order, columns being alike when their pair is badly kept; the
    worse half comes first.

    Returns:
        names, and distances of shape (names, names), NaN where a pair is missing.
    """
    place = {name: k for k, name in enumerate(sorted(names))}
    matrix = np.full((len(place), len(place)), np.nan)
    for (first, second), distance in pairs.items():
        if first in place and second in place and math.isfinite(distance):
            matrix[place[first], place[second]] = matrix[place[second], place[first]] = distance
    order = _order(np.nan_to_num(matrix))
    return [sorted(names)[k] for k in order], matrix[np.ix_(order, order)]


def _order(distances: NDArray[np.float64]) -> list[int]:
    n = len(distances)
    if n < 3:
        return list(range(n))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    alike = distances.max() - distances
    np.fill_diagonal(alike, 0)
    tree = linkage(squareform(alike, checks=False), "average", optimal_ordering=True)
    order = [int(k) for k in leaves_list(tree)]
    weights = distances.sum(axis=1)[order]
    return order if weights[: n // 2].sum() >= weights[-(n // 2) :].sum() else order[::-1]


def end_of_scale(distances: NDArray[np.float64]) -> float:
    """Upper end of the colour scale: a round number."""
    highest = float(np.nan_to_num(distances).max(initial=0.0))
    return next((end for end in _ENDS if highest <= end), highest)


def width(n: int, names: Sequence[str]) -> float:
    """Width of the drawing in points."""
    letters = max((len(shorten_label(name, _LABEL)) for name in names), default=0)
    return max(n * _square(n)[0] + 10 + LETTER * letters, 10 * _STEP + 120)


def _square(n: int) -> tuple[float, float]:
    if n <= _WITH_NUMBERS:
        return 46.0, 26.0
    return (22.0, 18.0) if n <= MOST_COLUMNS // 2 else (15.0, 15.0)


def heat(
    names: Sequence[str], distances: NDArray[np.float64], label: str, *, titles: bool
) -> Markup:
    """The lower triangle: a cell's row and column end at their names on the diagonal.

    Args:
        names: columns in order.
        distances: shape (names, names), NaN where a pair is missing.
        label: the chart in words.
        titles: whether each cell tells its pair and distance under the pointer.
    """
    n = len(names)
    wide, high = _square(n)
    chart = Chart(_LEGEND + n * high + 4, width(n, names))
    panel = chart.canvas()
    end = end_of_scale(distances)
    _draw_legend(panel, end)
    steps = np.minimum(10 * np.nan_to_num(distances) / end, 9).astype(int)
    for i in range(n):
        top = _LEGEND + i * high
        for j in range(i):
            if math.isnan(distances[i, j]):
                continue
            box = (j * wide + 0.5, top + 0.5, (j + 1) * wide - 0.5, top + high - 0.5)
            pair = f"{shorten_label(names[i], 40)} × {shorten_label(names[j], 40)}"
            words = f"{pair}: {distances[i, j]:.3f}"
            panel.fill([box], HEAT[steps[i, j]], title=words if titles else "")
            if n <= _WITH_NUMBERS:
                middle = ((j + 0.5) * wide, top + high / 2)
                colour = _ink_on(int(steps[i, j]))
                panel.text(*middle, f"{distances[i, j]:.2f}", colour, size=SMALL, anchor="center")
        size = LARGE if high >= LARGE + 5 else SMALL
        panel.text(i * wide + 4, top + high / 2, shorten_label(names[i], _LABEL), size=size)
    return chart.svg(label)


def _ink_on(step: int) -> Colour:
    return Colour.ON_LOW if step < 4 else Colour.ON_MID if step == 4 else Colour.ON_HIGH


def _draw_legend(panel: Panel, end: float) -> None:
    for k, colour in enumerate(HEAT):
        panel.fill([(k * _STEP, 2, (k + 1) * _STEP, 14)], colour)
    anchors: tuple[tuple[int, Anchor], ...] = ((0, "left"), (5, "center"), (10, "right"))
    for k, anchor in anchors:
        panel.text(k * _STEP, 24, f"{end * k / 10:g}", Colour.MUTED, size=SMALL, anchor=anchor)
    panel.text(10 * _STEP + 10, 8, "total variation", Colour.MUTED, size=SMALL)


CLASSES = ("p < .01", ".01 – .05", ".05 – .10", "p ≥ .10")
_LEVELS = (".01", ".05", ".10")
_LARGEST = 3  # states that a marginal's note names


@dataclass(frozen=True)
class Cell:
    """A cell of the table of decisions.

    Attributes:
        count: pairs of columns.
        share: of all pairs.
        step: place on the colour scale, 0 to 9.
        agrees: whether both fall into the same class.
    """

    count: int
    share: float
    step: int
    agrees: bool


@dataclass(frozen=True)
class Level:
    """Decisions at one level of significance, as shares of all pairs.

    Attributes:
        level: the level.
        agree: both significant, or both not.
        lost: significant in the original alone.
        invented: significant in the synthetic sets alone.
    """

    level: str
    agree: float
    lost: float
    invented: float


@dataclass(frozen=True)
class Agreement:
    """χ² decisions of the original (rows) and the synthetic sets (columns).

    Attributes:
        rows: cells, with the name of their row.
        levels: agreement at each level.
        total: pairs tested.
    """

    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    levels: tuple[Level, ...]
    total: int


def agreement(counts: Sequence[Sequence[int]]) -> Agreement | None:
    """Decisions in words; None if no pair was tested."""
    total = sum(map(sum, counts))
    if not total:
        return None
    rows = tuple(
        (name, tuple(_cell(n, total, i == j) for j, n in enumerate(row)))
        for i, (name, row) in enumerate(zip(CLASSES, counts, strict=True))
    )
    levels = tuple(_level(k, counts, total) for k in range(1, 4))
    return Agreement(rows, levels, total)


def _cell(count: int, total: int, agrees: bool) -> Cell:
    return Cell(count, count / total, min(int(10 * count / total), 9), agrees)


def _level(k: int, counts: Sequence[Sequence[int]], total: int) -> Level:
    """The first k classes are the significant ones."""
    lost = sum(sum(row[k:]) for row in counts[:k]) / total
    invented = sum(sum(row[:k]) for row in counts[k:]) / total
    return Level(_LEVELS[k - 1], 1 - lost - invented, lost, invented)


def worst_marginals(marginals: Sequence[Marginal]) -> list[Marginal]:
    """The most distant columns first, those without a number last."""
    return sorted(
        marginals,
        key=lambda marginal: -(marginal.distance if _is_number(marginal.distance) else -1.0),
    )


def _is_number(value: float) -> bool:
    return math.isfinite(value)


def gap_words(marginal: Marginal) -> str:
    """The states whose shares are furthest apart."""
    states = zip(marginal.labels, marginal.original, marginal.synthetic, strict=True)
    known = [state for state in states if _is_number(state[1]) and _is_number(state[2])]
    ordered = sorted(known, key=lambda state: -abs(state[1] - state[2]))[:_LARGEST]
    return "; ".join(f"{name}: {percent(a)} → {percent(b)}" for name, a, b in ordered if a != b)


def spoken_marginal(marginal: Marginal) -> str:
    """The chart of a column in words."""
    words = gap_words(marginal)
    largest = f" Largest gaps, original to synthetic: {words}." if words else ""
    return (
        f"Bar chart of {marginal.column}: shares of {len(marginal.labels)} states in original and "
        f"synthetic rows, distance {figure(marginal.distance)}.{largest}"
    )


def by_model(coefficients: Sequence[Coefficient]) -> dict[str, list[Coefficient]]:
    """Coefficients of each model, in the order given."""
    models: dict[str, list[Coefficient]] = {}
    for coefficient in coefficients:
        models.setdefault(coefficient.model, []).append(coefficient)
    return models


def shown_terms(coefficients: Sequence[Coefficient], at_most: int) -> list[Coefficient]:
    """Of a long model, the coefficients furthest apart, in the model's order."""
    ranked = sorted(
        range(len(coefficients)), key=lambda k: -_or_infinity(coefficients[k].standardised)
    )
    return [coefficients[k] for k in sorted(ranked[:at_most])]


def worst_coefficients(coefficients: Sequence[Coefficient]) -> list[Coefficient]:
    """The coefficients furthest apart first."""
    return sorted(coefficients, key=lambda coefficient: -_or_infinity(coefficient.standardised))


def _or_infinity(value: float) -> float:
    return math.inf if math.isnan(value) else value


def mean_overlap(coefficients: Sequence[Coefficient]) -> float | None:
    """Mean interval overlap, of those that have one."""
    known = [coefficient.overlap for coefficient in coefficients if _is_number(coefficient.overlap)]
    return sum(known) / len(known) if known else None


def select_judged(pairs: Sequence[CorrelationKept]) -> list[CorrelationKept]:
    """Correlations that are strong enough to be kept or lost, the furthest off first."""
    return [pair for pair in pairs if not math.isnan(pair.kept)]


def names_of_scores(subgroups: Sequence[Subgroup]) -> list[str]:
    """Scores that any subgroup has, in order of appearance."""
    return list(dict.fromkeys(name for group in subgroups for name in group.scores))


def share_of_synthetic(evaluation: Evaluation) -> float:
    """Share of one synthetic set in the rows that a propensity model sees."""
    total = evaluation.n_original + evaluation.n_synthetic
    return evaluation.n_synthetic / total if total else 0.5
