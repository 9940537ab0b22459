"""Counts of violations, the largest change, and how changes are spread.

All in units of n·ΔpMSE = −ΔSSE/2, in which the published bound is 1 and the true one n/(2(n + 1)).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from understudy._arrays import Floats
from understudy.papers.trees_greedy import sensitivity
from understudy_studies.framework.study import Row
from understudy_studies.snoke_slavkovic_2018.bound_violations.trees import Line

KEY = ("move", "method", "depth", "complexity")
WIDTH = 0.25
"""Width of the bins that changes are counted in."""
LEVEL = 0.95
_ROUNDING = 1e-9
"""A change by the bound itself, which can be attained, is none beyond it."""


def row(move: str, line: Line, changes: Floats, n_rows: int) -> Row:
    """Sums over repetitions.

    Args:
        move: where the record went.
        line: the trees.
        changes: by how much the SSE rises, shape (repetitions,).
        n_rows: n.
    """
    size = np.abs(changes)
    return {
        "move": move,
        "method": line.method,
        "depth": line.depth,
        "complexity": line.complexity,
        "n": len(changes),
        "over_published": int((size > 2.0 + _ROUNDING).sum()),
        "over_true": int((size > sensitivity(n_rows) + _ROUNDING).sum()),
        "largest": float(size.max(initial=0.0) / 2),
        "spread": as_text(Counter(bins(-changes / 2).tolist())),
    }


def summarise(_scenario: Any, rows: Iterable[Row]) -> list[Row]:
    """Rows of `results.csv`: the sums of all chunks put together, with rates.

    `…_low` and `…_high` are the 95 % interval of Clopper & Pearson (1934). `largest` is the largest
    n·|ΔpMSE|: an empirical lower bound of n times the sensitivity, and the ε that the usual proof
    gives where the published mechanism says 1.
    """
    merged: dict[tuple[object, ...], Row] = {}
    for row in rows:
        before = merged.setdefault(
            tuple(row[name] for name in KEY),
            {name: row[name] for name in KEY}
            | {"n": 0, "over_published": 0, "over_true": 0, "largest": 0.0, "spread": ""},
        )
        for name in ("n", "over_published", "over_true"):
            before[name] += row[name]
        before["largest"] = max(before["largest"], row["largest"])
        before["spread"] = as_text(counts(before["spread"]) + counts(row["spread"]))
    return [row | _rates(row) for row in merged.values() if row["n"]]


def _rates(one: Row) -> Row:
    found: Row = {}
    for bound in ("published", "true"):
        low, high = interval(one[f"over_{bound}"], one["n"])
        found |= {
            f"rate_{bound}": one[f"over_{bound}"] / one["n"],
            f"{bound}_low": low,
            f"{bound}_high": high,
        }
    return found


def interval(hits: int, n: int) -> tuple[float, float]:
    """The interval of Clopper & Pearson for a share; it covers at least as often as it says.

    Example:
        >>> low, high = interval(0, 100)
        >>> low, round(high, 4)
        (0.0, 0.0362)
    """
    tail = (1 - LEVEL) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high


def bins(values: Floats) -> NDArray[np.int64]:
    """Bin k > 0 holds values in ((k − 1)·width, k·width], bin −k their negatives, bin 0 only 0.

    So the published bound is an edge, and a value that attains it stays within.

    Example:
        >>> bins(np.array([-0.3, 0.0, 0.1, 1.0])).tolist()
        [-2, 0, 1, 4]
    """
    size = np.ceil(np.abs(values) / WIDTH - _ROUNDING)
    return np.asarray((np.sign(values) * size).astype(np.int64))


def counts(text: str) -> Counter[int]:
    """How many values are in each bin.

    Example:
        >>> counts("-1:3 0:8")
        Counter({0: 8, -1: 3})
    """
    return Counter({int(k): int(n) for k, n in (pair.split(":") for pair in text.split())})


def as_text(found: Mapping[int, int]) -> str:
    """The counts of bins in a cell of a table.

    Example:
        >>> as_text({0: 8, -1: 3})
        '-1:3 0:8'
    """
    return " ".join(f"{k}:{found[k]}" for k in sorted(found))
