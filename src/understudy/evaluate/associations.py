"""Associations of pairs of columns: how far from the original, and whether tests decide alike.

Two columns with an order (numbers, dates, ordinal levels, truth values) are compared by Spearman's
correlation: numbers by their values, ties by mid-ranks, over the records with a value in both, of
which there must be 20 in the original. One beyond ± 0.2 in the original is *kept* if it is within
0.1 in a set; a fresh sample keeps it with a probability that follows from the normal law of
Fisher's z, with variance 1.06/(n - 3). Every other pair is compared by Cramér's V over all states,
missing ones included.

Sources:
    Fieller, Hartley & Pearson (1957), "Tests for rank correlation coefficients. I", Biometrika 44,
    470-481.
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
pooled p-value, and pool by the rule of Li, Meng, Raghunathan & Rubin (1991), "Significance Levels
From Repeated p-Values With Multiply-Imputed Data", Statistica Sinica 1, 65-92: `class_table` with
`rule=LI`. It makes one p-value of a test with k degrees of freedom of those of m sets.

**Relations that every original record keeps, and the synthetic records that break them.**

Two kinds are looked for, over all pairs of columns:

* **a → b**: a determines b, so that the records of each state of a have one state of b. Both have
  at most 100 states that occur, and a at most one for 20 records, since a key determines
  everything. Missing values are states like any other. A synthetic record with a state of a that
  no original record has breaks nothing. a ↔ b stands for both directions.
* **a ≤ b** between two numbers or two dates, over the records that have both; a = b where both
  directions hold.

What could hardly be broken is no relation: if the two columns were independent, at least 1 % of the
original records, and 20 of them, would have to break it. That leaves out numbers of unlike range,
columns that hardly vary, and what a few records keep by chance.

These are exact statements about the rows. They are internal, and no release may be made from them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, chdtri, fdtrc, ndtr

from understudy._arrays import Codes, Flags, Floats, Integers
from understudy.errors import InferenceError
from understudy.evaluate.comparison import (
    MOST_WRITTEN_OUT,
    NOWHERE,
    Comparison,
    Counts,
    OrderedColumn,
    Scale,
    has_order,
)
from understudy.evaluate.marginals import pairs
from understudy.evaluate.scores import DEFINITIONS, CorrelationKept, Metric, RelationKept
from understudy.inference.combining import check_rule

PVALUE_RULES: Final = ("li1991", "partial")
# A p-value of 0 is a rounded one; without the cap its χ² would be infinite.
SMALLEST_PVALUE: Final = 1e-300


@dataclass(frozen=True)
class HypothesisTest:
    """A test of one hypothesis about k quantities.

    Attributes:
        statistic: D, to be compared with the F distribution; pooled from p-values it may be
            negative.
        df1: numerator degrees of freedom, k.
        df2: denominator degrees of freedom; infinite for the reference χ²_k/k.
        pvalue: probability of a statistic at least as large if the hypothesis is true.
        rule: name of the rule.
    """

    statistic: float
    df1: int
    df2: float
    pvalue: float
    rule: str


def pool_pvalues(pvalues: ArrayLike, k: int, rule: str = "li1991") -> HypothesisTest:
    """Pool the p-values of one test with k degrees of freedom on m sets.

    Each p-value is turned into d_l, the χ²_k that has it. With v the variance of the √d_l
    (divisor m - 1):

    * ``li1991``: r = (1 + 1/m)·v, D = (d̄/k - (m + 1)/(m - 1)·r)/(1 + r), as published. Made for
      missing data; conservative on partially synthetic sets.
    * ``partial``: r = v/m, D = (d̄/k - (m - 1)·r)/(1 + r), since on sets with fresh draws d̄/k
      exceeds the quadratic form of q̄ by (m - 1)·r on average. Slightly anti-conservative.

    Both use F(k, k^(-3/m)·(m - 1)·(1 + 1/r)²). On partially synthetic sets with m = 5, k = 1 and 4,
    b/ū = 0.1 and 1, the rejection rates at nominal 5 % are 1 to 4 % and 5 to 8 %
    (`tests/inference/test_pooled_tests.py`).

    Args:
        pvalues: shape (m,), each in [0, 1]; those below 1e-300 count as 1e-300.
        k: degrees of freedom of the test, at least 1.
        rule: "li1991" or "partial".

    Returns:
        The pooled test. A negative statistic has the p-value 1; for r = 0 the reference is χ²_k/k.

    Raises:
        InferenceError: unknown rule, fewer than 2 p-values, one outside [0, 1], or k < 1.

    Example:
        >>> from scipy.stats import chi2
        >>> test = pool_pvalues(chi2.sf([2.25, 3.95, 6.24, 5.27, 2.81], 4), 4)
        >>> round(test.statistic, 6), round(test.df2, 3), round(test.pvalue, 4)
        (0.592801, 59.199, 0.6692)
    """
    check_rule(rule, PVALUE_RULES)
    p = _read_pvalues(pvalues, k)
    d = chdtri(k, np.maximum(p, SMALLEST_PVALUE))
    statistic, df2 = pooled_chi_square(d, k, rule)
    return HypothesisTest(float(statistic), k, float(df2), float(f_tail(statistic, k, df2)), rule)


def pooled_chi_square(d: Floats, k: int, rule: str) -> tuple[Floats, Floats]:
    """Statistic and denominator degrees of freedom of `pool_pvalues` from χ²_k values.

    Args:
        d: values, shape (..., m), m ≥ 2, each at least 0.
        k: degrees of freedom of each.
        rule: "li1991" or "partial".

    Returns:
        Each of shape (...).

    Source: Li, Meng, Raghunathan & Rubin (1991) for "li1991".
    """
    m = d.shape[-1]
    roots = np.sqrt(d)
    # Distances from the first: equal values then give r = 0 exactly.
    spread = (roots - roots[..., :1]).var(axis=-1, ddof=1)
    r, bias = ((1 + 1 / m) * spread, (m + 1) / (m - 1)) if rule == "li1991" else (spread / m, m - 1)
    with np.errstate(divide="ignore", over="ignore"):
        df2 = k ** (-3 / m) * (m - 1) * (1 + 1 / r) ** 2
    return (d.mean(axis=-1) / k - bias * r) / (1 + r), np.asarray(df2)


def f_tail(statistic: ArrayLike, df1: int, df2: ArrayLike) -> Floats:
    """P(F ≥ statistic), elementwise; χ²_k/k where df2 is infinite, 1 for a negative statistic."""
    value = np.maximum(np.asarray(statistic, dtype=np.float64), 0.0)
    below = np.asarray(df2, dtype=np.float64)
    finite = np.where(np.isinf(below), 1.0, below)
    limit, exact = chdtrc(df1, value * df1), fdtrc(df1, finite, value)
    return np.asarray(np.where(np.isinf(below), limit, exact))


def _read_pvalues(pvalues: ArrayLike, k: int) -> Floats:
    if k < 1:
        raise InferenceError(f"Expected at least 1 degree of freedom, got {k}.")
    p = np.asarray(pvalues, dtype=np.float64)
    if p.ndim != 1 or p.size < 2:
        raise InferenceError(f"Expected at least 2 p-values in one row, got shape {p.shape}.")
    if not ((p >= 0) & (p <= 1)).all():
        raise InferenceError("Expected p-values between 0 and 1; one is outside or NaN.")
    return p


Association = Callable[[Counts], float]

STRONG = 0.2
"""Correlations beyond it in the original should be kept."""

KEPT_WITHIN = 0.1
FEWEST_BOTH = 20
"""Original records with both values that a pair must have: the correlation of fewer is chance."""

_SPEARMAN = 1.06


def spearman(x: Codes, y: Codes) -> float:
    """Spearman's correlation by mid-ranks, over the records with both values; 0 if one is constant.

    Args:
        x: place of each record's value in one column, or `NOWHERE`, shape (n,).
        y: the same in the other column.
    """
    both = (x != NOWHERE) & (y != NOWHERE)
    left, right = _centred_ranks(x[both]), _centred_ranks(y[both])
    spread = (left @ left) * (right @ right)
    return float(left @ right / np.sqrt(spread)) if spread > 0 else 0.0


def correlations(table: Sequence[Codes]) -> Floats:
    """Spearman's correlations of all pairs of columns of one table, shape (columns, columns).

    Args:
        table: the places of each column, as `spearman` takes them.
    """
    result = np.eye(len(table))
    whole = [j for j, places in enumerate(table) if (places != NOWHERE).all()]
    if whole:  # ranked once for all pairs
        ranks = np.stack([_centred_ranks(table[j]) for j in whole])
        length = np.sqrt((ranks**2).sum(axis=1, keepdims=True))
        ranks /= np.where(length > 0, length, 1.0)
        result[np.ix_(whole, whole)] = ranks @ ranks.T
    for i, j in itertools.combinations(range(len(table)), 2):
        if i not in whole or j not in whole:
            result[i, j] = result[j, i] = spearman(table[i], table[j])
    return result


def _centred_ranks(places: Codes) -> Floats:
    """Mid-ranks less their mean, by counting: as many steps as records and levels."""
    counts = np.bincount(places)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray((ranks - (len(places) + 1) / 2)[places])


def correlation_scores(
    columns: Sequence[OrderedColumn],
) -> tuple[tuple[Metric, ...], tuple[CorrelationKept, ...]]:
    """Differences of correlations, the share that is kept, and every pair, the worst first.

    Args:
        columns: the ordered columns.
    """
    pairs_of = [(a, b) for a, b in itertools.combinations(columns, 2) if _both(a, b) >= FEWEST_BOTH]
    if not pairs_of:
        return (), ()
    number = {column.name: k for k, column in enumerate(columns)}
    where = tuple(np.array([[number[a.name], number[b.name]] for a, b in pairs_of]).T)
    own = correlations([column.original for column in columns])[where]
    sets = range(len(columns[0].sets))
    made = np.stack([correlations([c.sets[k] for c in columns])[where] for k in sets], axis=1)
    off = np.abs(made - own[:, None])
    strong, kept = np.abs(own) > STRONG, off <= KEPT_WITHIN + 1e-12
    worst = int(off.mean(axis=1).argmax())
    names = f"{pairs_of[worst][0].name}, {pairs_of[worst][1].name}"
    errors = np.array([_sampling_error(*pair) for pair in pairs_of]) * (1 - own**2)
    scores = [
        Metric.over_sets(
            DEFINITIONS["difference of correlation"],
            off.mean(axis=0).tolist(),
            null=float(np.sqrt(2 / np.pi) * errors.mean()),
            note=f"Spearman; mean over {len(pairs_of):,} pairs, worst "
            f"{off.mean(axis=1)[worst]:.3f} ({names})",
        )
    ]
    if strong.any():
        by_chance = 2 * ndtr(KEPT_WITHIN / errors[strong]) - 1
        scores.append(
            Metric.over_sets(
                DEFINITIONS["correlations kept"],
                kept[strong].mean(axis=0).tolist(),
                null=float(by_chance.mean()),
                note=f"of {int(strong.sum()):,} beyond ± {STRONG:g} in the original, of "
                f"{len(pairs_of):,} pairs of ordered columns",
            )
        )
    details = [
        CorrelationKept(
            (a.name, b.name),
            float(own[i]),
            float(made[i].mean()),
            float(kept[i].mean()) if strong[i] else math.nan,
        )
        for i, (a, b) in enumerate(pairs_of)
    ]
    return tuple(scores), tuple(sorted(details, key=lambda one: -abs(one.synthetic - one.original)))


def _sampling_error(first: OrderedColumn, second: OrderedColumn) -> float:
    """Standard deviation of the difference of Fisher's z in two samples of one population."""
    n = _both(first, second)
    m = n * len(first.sets[0]) / len(first.original)
    return math.sqrt(_SPEARMAN * (1 / max(n - 3, 1) + 1 / max(m - 3, 1)))


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


def _both(first: OrderedColumn, second: OrderedColumn) -> int:
    """Original records with both values."""
    return int(((first.original != NOWHERE) & (second.original != NOWHERE)).sum())


def association_scores(comparison: Comparison) -> tuple[Metric, ...]:
    """Mean absolute difference of Cramér's V, over pairs of columns one of which has no order."""
    rows: list[tuple[str, list[float]]] = []
    for (i, j), original, sets in comparison.tables(pairs(comparison)):
        if not (has_order(comparison.columns[i]) and has_order(comparison.columns[j])):
            names = f"{comparison.schema.names[i]}, {comparison.schema.names[j]}"
            rows.append((names, _differences(cramers_v, original, sets)))
    note = "bias-corrected, pairs with an unordered column"
    return (_score("Cramér's V", rows, note),) if rows else ()


def _differences(
    measure: Association, original: Counts, sets: tuple[Counts, ...] | list[Counts]
) -> list[float]:
    true = measure(original)
    return [abs(measure(table) - true) for table in sets]


def _score(kind: str, rows: list[tuple[str, list[float]]], note: str) -> Metric:
    values = np.array([differences for _, differences in rows])
    worst = int(values.mean(axis=1).argmax())
    return Metric.over_sets(
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
            `understudy.evaluate.associations.pool_pvalues` has them.
    """
    pvalues = [p for p, _ in tests]
    df = round(float(np.mean([df for _, df in tests])))
    if len(tests) < FEWEST_POOLED or df < 1:
        return float(np.median(pvalues))
    return float(pool_pvalues(pvalues, df, rule=rule).pvalue)


def consistency(comparison: Comparison) -> tuple[tuple[Metric, ...], Table]:
    """Shares of agreeing decisions, and the 4 × 4 table of p-value classes.

    Returns:
        A score for each significance level, mean over the sets taken one by one; pairs of columns
        by class of the original (rows) and of the sets together (columns), classes p < .01, .01 to
        .05, .05 to .10, and .10 or more.
    """
    table, single = _classes(comparison, RULE)
    scores = tuple(_score_decisions(table, single, k) for k in (1, 2, 3)) if table.any() else ()
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


def _score_decisions(table: Counts, single: Counts, k: int) -> Metric:
    joined = f"pooled by the rule {RULE}" if len(single) >= FEWEST_POOLED else "by median"
    together = (
        f"; all sets, p-values {joined}: {agreement(table, k):.3f}" if len(single) > 1 else ""
    )
    return Metric.over_sets(
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


MOST_STATES = 100
RECORDS_A_STATE = 20
FEWEST_BREAKING, LEAST_SHARE = 20, 0.01
_UNSEEN = -1
_GLANCE = 1_000  # records that tell most pairs of numbers to have no order


@dataclass(frozen=True)
class Relation:
    """A relation that every original record keeps.

    Attributes:
        words: the relation in words.
        records: original records that it is about.
        unrelated: share of them that would break it if the columns were independent.
        breaking: which records break it: of each set, shape (n_synthetic,).
    """

    words: str
    records: int
    unrelated: float
    breaking: tuple[Flags, ...]


def relation_scores(
    comparison: Comparison, columns: Sequence[OrderedColumn]
) -> tuple[tuple[Metric, ...], tuple[RelationKept, ...]]:
    """Share of synthetic records that break a relation, and every relation, worst first.

    Args:
        comparison: original and sets.
        columns: their ordered columns.

    Returns:
        No score where no relation holds in the original.
    """
    any_broken = [np.zeros(len(rows[0]), dtype=np.bool_) for rows in comparison.sets]
    details = []
    for one in itertools.chain(dependencies(comparison), orders(columns)):
        for k, mask in enumerate(one.breaking):
            any_broken[k] |= mask
        broken = float(np.mean([mask.mean() for mask in one.breaking]))
        details.append(RelationKept(one.words, one.records, broken, one.unrelated))
    if not details:
        return (), ()
    details.sort(key=lambda one: (-one.broken, one.relation))
    note = f"of {len(details):,} that hold in every original record; worst "
    note += f"{details[0].broken:.3g} ({details[0].relation})"
    values = [float(mask.mean()) for mask in any_broken]
    score = Metric.over_sets(DEFINITIONS["relations broken"], values, null=0.0, note=note)
    return (score,), tuple(details)


def dependencies(comparison: Comparison) -> Iterator[Relation]:
    """Columns that another one determines."""
    occurring = [len(np.unique(codes)) for codes in comparison.original]
    coarse = [j for j, number in enumerate(occurring) if 2 <= number <= MOST_STATES]
    names = comparison.schema.names
    narrow = [
        pair
        for pair in itertools.combinations(coarse, 2)
        if comparison.n_cells(pair) <= MOST_WRITTEN_OUT
    ]
    for (i, j), original, _ in comparison.tables(narrow):
        there, back = _find_determined_states(original), _find_determined_states(original.T)
        if there is not None:
            words = f"{names[i]} {'→' if back is None else '↔'} {names[j]}"
            yield _dependency(comparison, (i, j), there, back, words)
        elif back is not None:
            yield _dependency(comparison, (j, i), back, None, f"{names[j]} → {names[i]}")


def _find_determined_states(counts: Counts) -> tuple[Integers, float] | None:
    """State of the second column for each of the first, and what chance would break; or None."""
    used = counts.sum(axis=1)
    n = int(used.sum())
    if ((counts > 0).sum(axis=1) > 1).any() or (used > 0).sum() * RECORDS_A_STATE > n:
        return None
    states = np.where(used > 0, counts.argmax(axis=1), _UNSEEN)
    second = counts.sum(axis=0) / n
    unrelated = 1 - float(used[used > 0] @ second[states[used > 0]]) / n
    return (states, unrelated) if _matters(unrelated, n) else None


def _matters(unrelated: float, n: int) -> bool:
    return unrelated >= LEAST_SHARE and unrelated * n >= FEWEST_BREAKING


def _dependency(
    comparison: Comparison,
    columns: tuple[int, int],
    there: tuple[Integers, float],
    back: tuple[Integers, float] | None,
    words: str,
) -> Relation:
    first, second = columns
    breaking = []
    for rows in comparison.sets:
        broken = _breaks(there[0], rows[first], rows[second])
        if back is not None:
            broken |= _breaks(back[0], rows[second], rows[first])
        breaking.append(broken)
    return Relation(words, comparison.n_original, there[1], tuple(breaking))


def _breaks(states: Integers, first: Codes, second: Codes) -> Flags:
    known = states[first]
    return np.asarray((known != _UNSEEN) & (known != second))


def orders(columns: Sequence[OrderedColumn]) -> Iterator[Relation]:
    """Numbers, and dates, of which one never exceeds another."""
    comparable = [one for one in columns if one.scale is not Scale.ORDER]
    values = {one.name: one.values(one.original) for one in comparable}
    for a, b in itertools.combinations(comparable, 2):
        if a.scale is not b.scale:
            continue
        x, y = values[a.name], values[b.name]
        if (x[:_GLANCE] > y[:_GLANCE]).any() and (x[:_GLANCE] < y[:_GLANCE]).any():
            continue
        both = np.isfinite(x) & np.isfinite(y)
        below, above = not (x > y).any(), not (x < y).any()  # absent values compare as False
        lower, upper = (a, b) if below else (b, a)
        if not both.any() or not (below or above):
            continue
        unrelated = _probability_of_exceeding(lower, upper, both)
        if _matters(unrelated, int(both.sum())):
            equal = below and above
            words = f"{lower.name} {'=' if equal else '≤'} {upper.name}"
            breaking = tuple(
                _exceeds(lower.values(p), upper.values(q), equal=equal)
                for p, q in zip(lower.sets, upper.sets, strict=True)
            )
            yield Relation(words, int(both.sum()), unrelated, breaking)


def _exceeds(x: Floats, y: Floats, *, equal: bool) -> Flags:
    return np.asarray((x > y) | (x < y) if equal else x > y)


def _probability_of_exceeding(lower: OrderedColumn, upper: OrderedColumn, both: Flags) -> float:
    """Probability that a value of the first exceeds one of the second, drawn by itself."""
    first, second = lower.counts(lower.original[both]), upper.counts(upper.original[both])
    under = np.concatenate([[0], np.cumsum(second)])
    smaller = under[np.searchsorted(upper.levels, lower.levels, side="left")]
    n = int(both.sum())
    return float(first @ smaller / (n * n))
