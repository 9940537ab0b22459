"""How exact a simulation is: Monte Carlo errors of means and of shares.

Source: Morris, White & Crowther (2019), "Using simulation studies to evaluate statistical methods",
Statistics in Medicine 38, table 6; Wilson (1927) for the interval of a share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def mean_and_error(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    """The mean over repetitions and its Monte Carlo standard error.

    Example:
        >>> mean_and_error([1.0, 3.0])
        (2.0, 1.0)
        >>> mean_and_error([1.0])
        (1.0, nan)
    """
    n = len(values)
    if n == 0:
        return math.nan, math.nan
    error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return float(np.mean(values)), error


def share_and_error(hits: int, n: int) -> tuple[float, float]:
    """A share of repetitions and its Monte Carlo standard error.

    Example:
        >>> share_and_error(95, 100)[0], round(share_and_error(95, 100)[1], 4)
        (0.95, 0.0218)
    """
    if n == 0:
        return math.nan, math.nan
    share = hits / n
    return share, math.sqrt(share * (1 - share) / n)


def share_interval(hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a share; unlike the standard error it is honest at 0 and 1.

    Example:
        >>> low, high = share_interval(100, 100)
        >>> round(low, 3), high
        (0.963, 1.0)
    """
    if n == 0:
        return 0.0, 1.0
    z = float(stats.norm.ppf((1 + level) / 2))
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - reach), min(1.0, centre + reach)
