"""Associations of pairs of columns: how far from the original, and whether tests decide alike.

Two columns with an order (numbers, dates, ordinal levels, truth values) are compared by Pearson's
correlation of their state numbers, over records with an ordinary state in both. Every other pair is
compared by Cramér's V over all states, missing ones included.

Sources:
    Bergsma (2013), "A bias-correction for Cramér's V and Tschuprow's T", J. Korean Statistical
    Society 42, 323-328: without the correction, V of two independent columns grows with the number
    of their states.

Do χ² tests of independence come to the same decisions on the synthetic sets? Every pair of columns
is tested by Pearson's χ² on the original and on every set, over all states, empty rows and columns
dropped. The decisions of each set are compared with those of the original, and those of all sets
together: from five sets on their p-values are pooled. Of two to four sets the median p-value is
taken instead. The reference distribution of the pooling rule has k^(-3/m)·(m - 1)·(1 + 1/r)²
degrees of freedom, which for few sets m and a test of k degrees of freedom is close to 0: it would
then hardly ever reject.

The χ² approximation is poor for tables with few records in a cell, on either side alike; with
many records nearly every pair of columns is dependent, and agreement is then easy to come by.

Bowen, Liu & Su (2021, section 4.3) count the pairs of columns by class of the original's and of the
pooled p-value, and pool by the rule of Li, Meng, Raghunathan & Rubin (1991): `class_table` with
`rule=LI`. Statistica Sinica 1, 65-92.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import chdtrc

from understudy.evaluation.comparison import Comparison, Counts
from understudy.evaluation.definitions import DEFINITIONS
from understudy.evaluation.evaluation_results import Score
from understudy.evaluation.utility.marginal_distances import pairs
from understudy.inference.pooled_tests import pool_pvalues
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
    by_kind: dict[str, list[tuple[str, list[float]]]] = {"correlation": [], "Cramér's V": []}
    for (i, j), original, sets in comparison.tables(pairs(comparison)):
        first, second = comparison.columns[i], comparison.columns[j]
        names = f"{comparison.schema.names[i]}, {comparison.schema.names[j]}"
        if is_ordered(first) and is_ordered(second):
            used = slice(first.n_ordinary), slice(second.n_ordinary)
            differences = _differences(correlation, original[used], [t[used] for t in sets])
            by_kind["correlation"].append((names, differences))
        else:
            by_kind["Cramér's V"].append((names, _differences(cramers_v, original, sets)))
    notes = {
        "correlation": "Pearson on ordered states",
        "Cramér's V": "bias-corrected, pairs with an unordered column",
    }
    return tuple(_score(kind, rows, notes[kind]) for kind, rows in by_kind.items() if rows)


def _differences(
    measure: Association, original: Counts, sets: tuple[Counts, ...] | list[Counts]
) -> list[float]:
    true = measure(original)
    return [abs(measure(table) - true) for table in sets]


def _score(kind: str, rows: list[tuple[str, list[float]]], note: str) -> Score:
    values = np.array([differences for _, differences in rows])
    worst = int(values.mean(axis=1).argmax())
    return Score.over_sets(
        DEFINITIONS[f"difference of {kind}"],
        values.mean(axis=0),
        note=f"{note}; mean over {len(rows):,} pairs, "
        f"worst {values.mean(axis=1)[worst]:.3f} ({rows[worst][0]})",
    )


LEVELS = (0.01, 0.05, 0.10)
RULE, LI = "partial", "li1991"
"""The first is the default, since its size is about right for synthetic sets. The second is that of
Li et al. (1991), which is conservative."""

FEWEST_POOLED = 5

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
    return float(chdtrc(df, statistic)), df


def joint_pvalue(tests: Sequence[tuple[float, int]], rule: str = RULE) -> float:
    """P-value of the test on several sets together.

    Sets may have lost other rows and columns, hence other degrees of freedom: pooling takes their
    rounded mean, since it works on p-values.

    Args:
        tests: p-value and degrees of freedom in each set.
        rule: "partial" or "li1991", as
            `understudy.inference.pooled_tests.pool_pvalues` has them.
    """
    pvalues = [p for p, _ in tests]
    df = round(float(np.mean([df for _, df in tests])))
    if len(tests) < FEWEST_POOLED or df < 1:
        return float(np.median(pvalues))
    return float(pool_pvalues(pvalues, df, rule=rule).pvalue)


def consistency(comparison: Comparison) -> tuple[tuple[Score, ...], Table]:
    """Shares of agreeing decisions, and the 4 × 4 table of p-value classes.

    Returns:
        A score for each significance level, mean over the sets taken one by one; pairs of columns
        by class of the original (rows) and of the sets together (columns), classes p < .01, .01 to
        .05, .05 to .10, and .10 or more.
    """
    table, single = _classes(comparison, RULE)
    scores = tuple(_decided(table, single, k) for k in (1, 2, 3)) if table.any() else ()
    return scores, tuple(tuple(int(count) for count in row) for row in table)


def class_table(comparison: Comparison, *, rule: str = RULE) -> Counts:
    """Pairs of columns by class of the original (rows) and of the sets together (columns).

    Args:
        comparison: original and sets.
        rule: how p-values of five sets or more are pooled, "partial" or "li1991".

    Returns:
        Shape (4, 4); classes p < .01, .01 to .05, .05 to .10, and .10 or more.
    """
    return _classes(comparison, rule)[0]


def _classes(comparison: Comparison, rule: str) -> tuple[Counts, Counts]:
    """The table of all sets together, shape (4, 4), and of each of them, shape (m, 4, 4)."""
    m = len(comparison.sets)
    table, single = np.zeros((4, 4), dtype=np.int64), np.zeros((m, 4, 4), dtype=np.int64)
    for _, original, sets in comparison.tables(pairs(comparison)):
        row = _class(pearson(original)[0])
        tests = [pearson(counts) for counts in sets]
        table[row, _class(joint_pvalue(tests, rule))] += 1
        for k, (pvalue, _) in enumerate(tests):
            single[k, row, _class(pvalue)] += 1
    return table, single


def _decided(table: Counts, single: Counts, k: int) -> Score:
    joined = f"pooled by the rule {RULE}" if len(single) >= FEWEST_POOLED else "by median"
    together = f"; all sets, p-values {joined}: {agreement(table, k):.3f}" * (len(single) > 1)
    return Score.over_sets(
        DEFINITIONS["χ² decisions agreeing"],
        [agreement(decisions, k) for decisions in single],
        detail=f" at {LEVELS[k - 1]:g}",
        note=f"of {int(table.sum()):,} pairs of columns{together}",
    )


def agreement(table: Counts, k: int) -> float:
    """Share of pairs on the same side of the k-th significance level, from the 4 × 4 table."""
    return float((table[:k, :k].sum() + table[k:, k:].sum()) / table.sum())


def _class(pvalue: float) -> int:
    return int(np.searchsorted(LEVELS, pvalue, side="right"))
