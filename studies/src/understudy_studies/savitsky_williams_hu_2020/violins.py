"""Violins of distributions given by their quantile functions."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import gaussian_kde

from understudy._arrays import Floats
from understudy_studies.framework.charts import PAPER

Side = Literal["both", "left", "right"]

_HEIGHTS = 160
_SIDES: dict[Side, tuple[float, float]] = {"both": (1, 1), "left": (1, 0), "right": (0, 1)}


def violin(
    axes: Axes, place: float, quantiles: Floats, colour: str, *, width: float = 0.4,
    side: Side = "both", pale: bool = False,
) -> None:  # fmt: skip
    """Draw a violin with a mark at its median.

    Args:
        axes: where.
        place: its middle, across.
        quantiles: at evenly spaced probabilities, shape (q,).
        colour: of `understudy_studies.framework.charts`.
        width: of a half, at its widest.
        side: which halves.
        pale: whether it is only an outline.
    """
    heights, widths = outline(quantiles)
    left, right = (place + sign * part * width * widths for sign, part in
                   zip((-1, 1), _SIDES[side], strict=True))  # fmt: skip
    axes.fill_betweenx(heights, left, right, facecolor=PAPER if pale else colour,
                       edgecolor=colour, linewidth=1.0, alpha=None if pale else 0.75)  # fmt: skip
    middle = float(np.median(quantiles))
    ends = place - _SIDES[side][0] * width * 0.55, place + _SIDES[side][1] * width * 0.55
    axes.plot(ends, (middle, middle), color=colour if pale else PAPER, linewidth=1.2,
              solid_capstyle="butt")  # fmt: skip


def outline(quantiles: Floats) -> tuple[Floats, Floats]:
    """Heights, and widths there, the largest 1; both of shape (160,).

    The density is that of a kernel estimate on the quantiles, cut at the outermost of them. A
    distribution on one point gives a bar.
    """
    low, high = float(quantiles.min()), float(quantiles.max())
    if high - low < 1e-9 * max(1.0, abs(high)):
        return np.linspace(low, low, _HEIGHTS), np.ones(_HEIGHTS)
    heights = np.linspace(low, high, _HEIGHTS)
    widths = gaussian_kde(quantiles, bw_method=0.25)(heights)
    return heights, np.asarray(widths / widths.max())
