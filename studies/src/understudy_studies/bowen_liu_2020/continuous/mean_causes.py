"""Why points of the paper about study 2 do not hold here, each checked by a table of its page.

**Sets drawn from bins.** A record of a histogram is its bin's middle and a uniform place within the
bin, of width h. Over repetitions the middles have the variance σ² + h²/12 (Sheppard 1897), so that
their mean, about which sets are drawn, has (σ² + h²/12)/n; a record has σ² + h²/6, of which a set
takes n. Without noise the mean of m sets has, in units of the variance σ²/n of the data's,

    (1 + r) + (1 + 2r)/m,   r = h²/(12σ²).

For one set that is 2 at least: the smoothed histogram cannot come to the data, nor to multiple
synthesis, 1 + 2/10.
"""

from __future__ import annotations

import math

from understudy_studies.framework.verdict_causes import contradiction, reading


def of_bins(width: float, sets: int) -> float:
    """RMSE for μ of m sets from a histogram, over that of the data, as noise vanishes.

    Args:
        width: of a bin, in standard deviations.
        sets: m.

    Example:
        >>> round(of_bins(0.0, 1), 3), round(of_bins(1.0, 10), 3)
        (1.414, 1.095)
    """
    ratio = width**2 / 12
    return math.sqrt(1 + ratio + (1 + 2 * ratio) / sets)


SMOOTHED_END = contradiction(
    "§3.1.2 releases a single set of the smoothed histogram, whose mean of n draws has at least "
    "twice the variance of the data’s mean, while ten sets of multiple synthesis have 1.2 times: "
    "√2/√1.2 = 1.29 at least, whatever ε is. See “Sets that are drawn”."
)
SMALL_VARIANCE = reading(
    "how far “smaller” budgets reach is lost; log ε from −2 to 4 here. Up to log ε = −1 the point "
    "holds in nearly all cases. Above, noise of scale R²·20/(nε) in the variance of MODIPS, split, "
    "is for n ≤ 100 as wide as the interval of possible variances, to which it is clipped, while "
    "the perturbed histogram has nearly its own. See “Error for σ² by budget”."
)
