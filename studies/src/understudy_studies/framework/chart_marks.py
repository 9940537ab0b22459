"""What figures share: intervals of Monte Carlo error, and names beside lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from understudy_studies.framework.charts import MUTED

MOST_LINES = 5
"""Of more colours than this a legend is not told apart: lines have their names beside them."""
NAMES = "names of lines"
_LETTER = 7.0  # size of a name, in points
_Z95 = 1.96
_LEADER = {"arrowstyle": "-", "linewidth": 0.4, "shrinkB": 0, "relpos": (0, 0.5)}


def intervals(
    axes: Axes, places: ArrayLike, means: ArrayLike, errors: ArrayLike, colour: str
) -> None:
    """95 % Monte Carlo intervals of means; none where an error is not known.

    Args:
        axes: where.
        places: of the means, across, shape (n,).
        means: shape (n,).
        errors: their standard errors, shape (n,).
        colour: that of the line.
    """
    middle, half = np.asarray(means, dtype=float), _Z95 * np.asarray(errors, dtype=float)
    spans(axes, places, middle - half, middle + half, colour)


def spans(axes: Axes, places: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str) -> None:
    """Intervals from low to high, each of shape (n,); none where an end is not known."""
    across, ends = np.asarray(places, dtype=float), np.array([low, high], dtype=float)
    known = np.isfinite(ends).all(axis=0)
    axes.vlines(across[known], *ends[:, known], color=colour, linewidth=0.8, zorder=2)


def name_lines(axes: Axes) -> None:
    """Write the label of each line beside its right end, apart from each other.

    To be called when limits and places of the axes are final; lines without a label have none.
    """
    lines = [one for one in axes.get_lines() if not str(one.get_label()).startswith("_")]
    ends = [(*_end(axes, one), one) for one in lines]
    found = sorted(((x, y, one) for x, y, one in ends if np.isfinite(y)), key=lambda end: end[1])
    heights = _inside(_apart([y for _, y, _ in found], _gap(axes)))
    for (x, y, line), height in zip(found, heights, strict=True):
        axes.annotate(
            str(line.get_label()),
            (x, y),
            (1.04, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=_LETTER,
            color=line.get_color(),
            va="center",
            gid=NAMES,
            annotation_clip=False,
            arrowprops={**_LEADER, "color": MUTED},
        )


def _end(axes: Axes, line: Line2D) -> tuple[float, float]:
    """The last known point of a line, as fractions of its axes; NaN where there is none."""
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    known = np.isfinite(x) & np.isfinite(y)
    if axes.get_yscale() == "log":
        known &= y > 0
    if not known.any():
        return np.nan, np.nan
    place = line.get_transform().transform((x[known][-1], y[known][-1]))
    across, up = axes.transAxes.inverted().transform(place)
    return float(across), float(np.clip(up, 0, 1))


def _gap(axes: Axes) -> float:
    """Height of a name as a fraction of its axes."""
    points = 72 * axes.get_window_extent().height / axes.figure.dpi
    return 1.25 * _LETTER / float(points)


def _apart(heights: Sequence[float], gap: float) -> NDArray[np.float64]:
    """Ascending heights moved as little as it takes to lie a gap apart, about their middle.

    Example:
        >>> _apart([0.5, 0.5, 0.9], 0.1).round(2).tolist()
        [0.45, 0.55, 0.9]
    """
    groups: list[list[float]] = []  # each lies a gap apart around its mean
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _ends(groups[-2], gap)[1] + gap > _ends(groups[-1], gap)[0]:
            groups[-2:] = [groups[-2] + groups[-1]]
    return np.array([place for group in groups for place in _spread(group, gap)])


def _inside(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Heights that were pushed over an edge of their axes, moved back together."""
    if not heights.size:
        return heights
    moved = max(0.0, -float(heights[0])) - max(0.0, float(heights[-1]) - 1)
    return np.asarray(heights + moved)


def _spread(group: Sequence[float], gap: float) -> list[float]:
    first = float(np.mean(group)) - gap * (len(group) - 1) / 2
    return [first + gap * k for k in range(len(group))]


def _ends(group: Sequence[float], gap: float) -> tuple[float, float]:
    places = _spread(group, gap)
    return places[0], places[-1]
