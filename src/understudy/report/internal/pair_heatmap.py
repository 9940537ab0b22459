"""The distances of all pairs of columns as a triangle of coloured cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from understudy.report.number_text import shortened
from understudy.report.svg import HEAT, LARGE, LETTER, SMALL, Anchor, Chart, Colour, Panel

MOST_COLUMNS = 60
_WITH_NUMBERS = 14  # up to so many columns, each cell has its number
_LEGEND = 44.0
_STEP = 26.0  # width of one step of the legend
_LABEL = 30  # most letters of a name
_ENDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # of the colour scale; 0.1 keeps noise pale

Pairs = Mapping[tuple[str, str], float]


def chosen(pairs: Pairs, at_most: int = MOST_COLUMNS) -> list[str]:
    """Columns of the worst pairs, so many that none of the worst pairs is missed."""
    found: dict[str, None] = {}
    for names in worst_first(pairs):
        if len({*found, *names}) <= at_most:
            found |= dict.fromkeys(names)
    return list(found)


def worst_first(pairs: Pairs) -> list[tuple[str, str]]:
    """Names of the pairs, the most distant first, those without a number last."""
    return sorted(pairs, key=lambda names: (-_weight(pairs[names]), names))


def _weight(distance: float) -> float:
    return distance if math.isfinite(distance) else -1.0


def arranged(names: Sequence[str], pairs: Pairs) -> tuple[list[str], NDArray[np.float64]]:
    """Columns in an order that puts distant pairs side by side, and the matrix of distances.

    Average linkage with optimal leaf order, columns being alike when their pair is badly kept; the
    worse half comes first.

    Returns:
        names, and distances of shape (names, names), NaN where a pair is missing.
    """
    place = {name: k for k, name in enumerate(sorted(names))}
    matrix = np.full((len(place), len(place)), np.nan)
    for (one, other), distance in pairs.items():
        if one in place and other in place and math.isfinite(distance):
            matrix[place[one], place[other]] = matrix[place[other], place[one]] = distance
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
    letters = max((len(shortened(name, _LABEL)) for name in names), default=0)
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
            words = f"{shortened(names[i], 40)} × {shortened(names[j], 40)}: {distances[i, j]:.3f}"
            panel.fill([box], HEAT[steps[i, j]], title=words if titles else "")
            if n <= _WITH_NUMBERS:
                middle = ((j + 0.5) * wide, top + high / 2)
                colour = _ink_on(int(steps[i, j]))
                panel.text(*middle, f"{distances[i, j]:.2f}", colour, size=SMALL, anchor="center")
        size = LARGE if high >= LARGE + 5 else SMALL
        panel.text(i * wide + 4, top + high / 2, shortened(names[i], _LABEL), size=size)
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
