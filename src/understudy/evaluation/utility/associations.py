"""How far the association of each pair of columns is from the original one.

Two columns with an order (numbers, dates, ordinal levels, truth values) are compared by Pearson's
correlation of their state numbers, over records with an ordinary state in both. Every other pair is
compared by Cramér's V over all states, missing ones included.

Sources:
    Bergsma (2013), "A bias-correction for Cramér's V and Tschuprow's T", J. Korean Statistical
    Society 42, 323-328: without the correction, V of two independent columns grows with the number
    of their states.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from understudy.evaluation.comparison import Comparison, Counts
from understudy.evaluation.definitions import DEFINITIONS
from understudy.evaluation.evaluation_results import Score
from understudy.evaluation.utility.marginal_distances import pairs
from understudy.schema import Categorical, Column

Association = Callable[[Counts], float]


def is_ordered(column: Column) -> bool:
    """Whether the ordinary states of a column have an order."""
    return not isinstance(column, Categorical)


def correlation(counts: Counts) -> float:
    """Pearson's correlation of the state numbers of two columns; 0 if one of them is constant.

    Args:
        counts: contingency table of their ordinary states, shape (a, b).
    """
    total = counts.sum()
    if not total:
        return 0.0
    shares = counts / total
    row, column = shares.sum(axis=1), shares.sum(axis=0)
    x = np.arange(len(row)) - row @ np.arange(len(row))
    y = np.arange(len(column)) - column @ np.arange(len(column))
    spread = (row @ x**2) * (column @ y**2)
    return float(x @ shares @ y / np.sqrt(spread)) if spread > 0 else 0.0


def cramers_v(counts: Counts) -> float:
    """Bias-corrected Cramér's V, 0 to 1; 0 if one of the columns is constant.

    Args:
        counts: contingency table, shape (a, b); empty rows and columns are dropped.
    """
    n = int(counts.sum())
    used = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    r, k = used.shape
    if n < 2 or min(r, k) < 2:
        return 0.0
    expected = used.sum(axis=1, keepdims=True) * used.sum(axis=0) / n
    phi = ((used - expected) ** 2 / expected).sum() / n
    phi = max(0.0, phi - (k - 1) * (r - 1) / (n - 1))
    side = min(k - (k - 1) ** 2 / (n - 1), r - (r - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(phi / side))) if side > 0 else 0.0


def association_scores(comparison: Comparison) -> tuple[Score, ...]:
    """Mean absolute differences of the correlations, and of Cramér's V, over pairs of columns."""
    found: dict[str, list[tuple[str, list[float]]]] = {"correlation": [], "Cramér's V": []}
    for (i, j), original, sets in comparison.tables(pairs(comparison)):
        one, other = comparison.columns[i], comparison.columns[j]
        names = f"{comparison.schema.names[i]}, {comparison.schema.names[j]}"
        if is_ordered(one) and is_ordered(other):
            used = slice(one.n_ordinary), slice(other.n_ordinary)
            differences = _differences(correlation, original[used], [t[used] for t in sets])
            found["correlation"].append((names, differences))
        else:
            found["Cramér's V"].append((names, _differences(cramers_v, original, sets)))
    notes = {
        "correlation": "Pearson on ordered states",
        "Cramér's V": "bias-corrected, pairs with an unordered column",
    }
    return tuple(_score(kind, rows, notes[kind]) for kind, rows in found.items() if rows)


def _differences(
    measure: Association, original: Counts, sets: tuple[Counts, ...] | list[Counts]
) -> list[float]:
    true = measure(original)
    return [abs(measure(one) - true) for one in sets]


def _score(kind: str, rows: list[tuple[str, list[float]]], note: str) -> Score:
    values = np.array([differences for _, differences in rows])
    worst = int(values.mean(axis=1).argmax())
    return Score.over_sets(
        DEFINITIONS[f"difference of {kind}"],
        values.mean(axis=0),
        note=f"{note}; mean over {len(rows):,} pairs, "
        f"worst {values.mean(axis=1)[worst]:.3f} ({rows[worst][0]})",
    )
