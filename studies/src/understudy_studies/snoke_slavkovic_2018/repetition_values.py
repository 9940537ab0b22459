"""Values of repetitions in rows of chunks, and what a page says of them.

Some errors have no variance to speak of, so that medians and quartiles go with the means; a row of
a chunk therefore keeps the values themselves, to six digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy_studies.framework.study import Row

_KEY = ("estimand", "method", "epsilon")


def kept(estimand: str, method: str, epsilon: float | None, values: ArrayLike) -> Row:
    """A row of a chunk.

    Args:
        estimand: what was measured.
        method: how the data were released.
        epsilon: budget; None for what has none.
        values: one for each repetition; those that do not exist are NaN.
    """
    numbers = np.asarray(values, dtype=np.float64).tolist()
    rounded = [float(f"{number:.6g}") if math.isfinite(number) else None for number in numbers]
    return dict(zip(_KEY, (estimand, method, epsilon), strict=True)) | {"values": rounded}


def summarise(_scenario: object, rows: Iterable[Row]) -> list[Row]:
    """Rows of `results.csv`: mean and variance with Monte Carlo errors, median, quartiles."""
    merged: dict[tuple[object, ...], list[float | None]] = {}
    for row in rows:
        merged.setdefault(tuple(row[name] for name in _KEY), []).extend(row["values"])
    return [dict(zip(_KEY, key, strict=True)) | summary(found) for key, found in merged.items()]


def summary(found: Iterable[float | None]) -> Row:
    """Of the values that exist.

    Example:
        >>> row = summary([1.0, 2.0, 3.0, None])
        >>> row["usable"], row["mean"], row["variance"], row["median"], round(row["mean_error"], 4)
        (3, 2.0, 1.0, 2.0, 0.5774)
    """
    every = list(found)
    values = np.array([one for one in every if one is not None], dtype=np.float64)
    n = len(values)
    head: Row = {"usable": n, "usable_share": n / max(1, len(every))}
    if not n:
        return head
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    head |= {"mean": float(values.mean()), "low": low, "median": middle, "high": high}
    if n < 2:
        return head
    squares = (values - values.mean()) ** 2
    variance = float(squares.sum() / (n - 1))
    return head | {
        "variance": variance,
        "mean_error": math.sqrt(variance / n),
        "variance_error": float(squares.std(ddof=1) / math.sqrt(n)),
        "median_error": _median_error(values),
    }


def _median_error(values: NDArray[np.float64]) -> float:
    """Half the distance of the order statistics one binomial deviation from the middle."""
    n, step = len(values), math.sqrt(len(values)) / 2
    ordered = np.sort(values)
    low = max(0, math.floor((n - 1) / 2 - step))
    high = min(n - 1, math.ceil((n - 1) / 2 + step))
    return float(ordered[high] - ordered[low]) / 2
