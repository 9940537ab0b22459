"""How many bins of equal width a histogram takes: the three rules that Bowen & Liu compare.

* **Sturges** (1926): K = ⌈1 + log₂ n⌉, from the number of records alone.
* **Scott** (1979): bins of width 3.49·σ·n^(−1/(2 + p)), σ the standard deviation of the column.
* **Freedman & Diaconis** (1981): bins of width 2·Q·n^(−1/(2 + p)), Q its interquartile range.

The exponent is 1/3 for one numeric column (p = 1). For p > 1 it is Scott's, by which the total
error of a histogram of p numbers falls fastest; the rule of Freedman & Diaconis is given for p = 1
only, and has the same exponent here. Sturges' rule has none: K bins for each column.

σ and Q are of the rows, hence private: see `histogram_bins.py` for what takes their place.

Sources: Sturges (1926), "The choice of a class interval"; Scott (1979, 2015, §3.2 and §3.4);
Freedman & Diaconis (1981); Bowen & Liu (2020), §4.2.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

WidthRule = Literal["scott", "fd"]
"""Rules that take a spread: a standard deviation (scott) or an interquartile range (fd)."""

WIDTHS: Final[dict[WidthRule, float]] = {"scott": 3.49, "fd": 2.0}
"""Width of a bin in spreads, for one record."""

QUARTILES: Final = 1.349
"""Interquartile range of a normal distribution, in standard deviations."""


def bins_by_width(
    rule: WidthRule,
    width: ArrayLike,
    spread: ArrayLike,
    n_rows: ArrayLike,
    n_numeric: int = 1,
) -> NDArray[np.int64]:
    """Numbers of bins by the rule of Scott, or of Freedman & Diaconis.

    Args:
        rule: which.
        width: of the bounds, any shape; all arguments are broadcast.
        spread: standard deviation or interquartile range, in the same unit.
        n_rows: number of rows; 0 counts as 1.
        n_numeric: numeric columns p.

    Returns:
        At least 1, and 1 where the spread is 0.

    Example:
        >>> bins_by_width("fd", 7.0, 1.349, [40, 100, 1000]).tolist()
        [9, 13, 26]
    """
    rows = np.maximum(np.asarray(n_rows, dtype=np.float64), 1)
    spreads = np.asarray(spread, dtype=np.float64)
    bin_width = WIDTHS[rule] * spreads * rows ** (-1 / (2 + n_numeric))
    wide = np.where(bin_width > 0, bin_width, np.inf)
    return np.maximum(np.ceil(np.asarray(width) / wide), 1).astype(np.int64)


def scott_bins(
    width: ArrayLike, deviation: ArrayLike, n_rows: ArrayLike, n_numeric: int = 1
) -> NDArray[np.int64]:
    """Numbers of bins by Scott's rule; see `bins_by_width`.

    Example:
        >>> scott_bins(7.0, 1.0, [40, 100, 1000]).tolist()
        [7, 10, 21]
    """
    return bins_by_width("scott", width, deviation, n_rows, n_numeric)


def sturges_bins(n_rows: ArrayLike) -> NDArray[np.int64]:
    """Numbers of bins by Sturges' rule; 1 for no row.

    Example:
        >>> sturges_bins([0, 1, 40, 64, 100, 1000]).tolist()
        [1, 1, 7, 7, 8, 11]
    """
    rows = np.maximum(np.asarray(n_rows, dtype=np.float64), 1)
    numbers: NDArray[np.int64] = np.ceil(1 + np.log2(rows)).astype(np.int64)
    return numbers
