"""Do χ² tests of independence come to the same decisions on the synthetic sets?

Every pair of columns is tested by Pearson's χ² on the original and on every set, over all states,
empty rows and columns dropped. The p-values of the sets are pooled, and decisions compared.

The large-sample χ² law is poor for tables with few records in a cell, on either side alike; with
many records nearly every pair of columns is dependent, and agreement is then easy to come by.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import stats

from understudy.evaluation.comparison import Comparison, Counts
from understudy.evaluation.distances import pairs
from understudy.evaluation.results import Score
from understudy.inference.hypothesis import pool_pvalues

LEVELS = (0.01, 0.05, 0.10)
RULE = "partial"
"""Its size is about right for synthetic sets; the rule of Li et al. (1991) is conservative."""

Table = tuple[tuple[int, ...], ...]


def pearson(counts: Counts) -> tuple[float, int]:
    """P-value and degrees of freedom of the test of independence; (1, 0) if there is nothing to it.

    Args:
        counts: contingency table, shape (a, b).
    """
    used = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    df = max(0, used.shape[0] - 1) * max(0, used.shape[1] - 1)
    if not df:
        return 1.0, 0
    expected = used.sum(axis=1, keepdims=True) * used.sum(axis=0) / used.sum()
    statistic = ((used - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, df)), df


def pooled_pvalue(tables: Iterable[Counts]) -> float:
    """P-value of the test on several sets together.

    Sets may have lost other rows and columns, hence other degrees of freedom: pooling takes their
    rounded mean, since it works on p-values.
    """
    found = [pearson(one) for one in tables]
    pvalues = [p for p, _ in found]
    df = round(float(np.mean([df for _, df in found])))
    if len(found) == 1 or df < 1:
        return float(np.mean(pvalues))
    return float(pool_pvalues(pvalues, df, rule=RULE).pvalue)


def consistency(comparison: Comparison) -> tuple[tuple[Score, ...], Table]:
    """Shares of agreeing decisions, and the 4 × 4 table of p-value classes.

    Returns:
        A score for each significance level; pairs of columns by class of the original (rows) and of
        the sets (columns), classes p < .01, .01 to .05, .05 to .10, and .10 or more.
    """
    table = np.zeros((4, 4), dtype=np.int64)
    for _, original, sets in comparison.tables(pairs(comparison)):
        table[_class(pearson(original)[0]), _class(pooled_pvalue(sets))] += 1
    plain = tuple(tuple(int(count) for count in row) for row in table)
    total = int(table.sum())
    if not total:
        return (), plain
    scores = tuple(
        Score(
            f"χ² decisions agreeing at {level:g}",
            agreement(table, k),
            better="high",
            note=f"of {total:,} pairs of columns; p-values of the sets pooled by the rule {RULE}",
        )
        for k, level in enumerate(LEVELS, start=1)
    )
    return scores, plain


def agreement(table: Counts, k: int) -> float:
    """Share of pairs on the same side of the k-th significance level, from the 4 × 4 table."""
    return float((table[:k, :k].sum() + table[k:, k:].sum()) / table.sum())


def _class(pvalue: float) -> int:
    return int(np.searchsorted(LEVELS, pvalue, side="right"))
