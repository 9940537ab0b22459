"""Total variation distances of marginals, and what they would be for a fresh sample.

Missing values and values outside the domain are states like any other.

Sources:
    Total variation: half the L1 distance of two distributions, the share of records that would have
    to move. Conditional distance: Park & Ghosh (2014), "PeGS: Perturbed Gibbs Samplers that
    Generate Privacy-Compliant Synthetic Data"; the formulas are lost there, this is our reading.
    Mean deviation of a hypergeometric count: Ramasubban (1958), Biometrika 45, 549-556.

**Means, standard deviations and deciles of numbers: how far off, and whether they are kept.**

A column of numbers is a numeric column, or an ordinal one whose levels are numbers; dates are not.
Records without a value are left out, and their shares stand apart.

* The **mean** is kept if it is within 5 % of the original mean, or within two of its standard
  errors (of the original rows), whichever is wider. The relative error is given for means that are
  more than two standard errors away from 0.
* The **standard deviation** is kept if it is within 15 %; one of 0 if it is 0 again.
* **Deciles** are judged by rank: with F the distribution function of the original values, the k-th
  synthetic decile q is off by the distance of k/10 from the interval [F(q−), F(q)], which is more
  than a point where many records have one value. They are kept if no decile is off by more than
  .03.

The reference is what two samples of the original values score, each drawn with replacement and as
large as the table that it stands for: mean of some repetitions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from understudy._arrays import Codes, Floats
from understudy.evaluate.comparison import (
    MOST_WRITTEN_OUT,
    Comparison,
    Counts,
    OrderedColumn,
    Scale,
)
from understudy.evaluate.scores import DEFINITIONS, GroupKept, Marginal, Metric, NumberKept
from understudy.schema import NUMERIC

MOST_TRIPLES = 500
_TRIPLES_SEED = 20240601  # public: the triples depend on their number alone
_WORDS = {1: "columns", 2: "pairs of columns", 3: "triples of columns"}


@dataclass(frozen=True)
class Distances:
    """Total variation distances of several marginals.

    Attributes:
        marginals: columns of each.
        values: distances, shape (n_marginals, n_sets).
        nulls: mean distance of a fresh sample of the same population, shape (n_marginals,).
        population: how many marginals there are in all, if these are a sample of them.
    """

    marginals: tuple[tuple[int, ...], ...]
    values: Floats
    nulls: Floats
    population: int

    @property
    def means(self) -> Floats:
        """Mean over the sets, shape (n_marginals,)."""
        return np.asarray(self.values.mean(axis=1))


def total_variation(first: Counts, second: Counts) -> float:
    """Total variation distance of two tables of counts of one shape, each with a positive sum.

    >>> total_variation(np.array([1, 1]), np.array([4, 0]))
    0.5
    """
    return float(np.abs(first / first.sum() - second / second.sum()).sum() / 2)


def expected_variation(first: Counts, second: Counts) -> float:
    """Mean distance if the two tables were random parts of their pooled records; exact.

    With t records of n + ñ in a cell, the count a of the first table is hypergeometric, and
    a/n - (t - a)/ñ = (1/n + 1/ñ)(a - nt/(n + ñ)): the mean distance is a sum of mean deviations.

    Args:
        first: counts of the first table.
        second: counts of the second, same shape.

    >>> round(expected_variation(np.array([1, 0]), np.array([0, 1])), 12)  # always disjoint
    1.0
    """
    n, m = int(first.sum()), int(second.sum())
    pooled, times = np.unique(np.ravel(first + second), return_counts=True)
    return float((1 / n + 1 / m) / 2 * (times * _mean_deviation(pooled, n, n + m)).sum())


def _mean_deviation(t: Counts, n: int, total: int) -> Floats:
    """E|a - nt/total| for a hypergeometric: n drawn of total, t of which are marked; shape of t.

    De Moivre's way of summing: Σ_{j ≥ x} (j - μ) P(j) = x (total - n - t + x)/total · P(x).
    """
    mean = n * t / total
    x = np.floor(mean).astype(np.int64) + 1  # the first value above the mean
    possible = (x <= t) & (x <= n)
    x = np.where(possible, x, 0)
    rest = total - n - t + x
    possible &= rest >= 0
    rest = np.maximum(rest, 0)
    log = (
        (gammaln(t + 1) - gammaln(x + 1) - gammaln(t - x + 1))
        + (gammaln(total - t + 1) - gammaln(n - x + 1) - gammaln(rest + 1))
        - (gammaln(total + 1) - gammaln(n + 1) - gammaln(total - n + 1))
    )
    return np.where(possible, 2 * x * rest / total * np.exp(np.where(possible, log, 0)), 0.0)


def marginal_distances(
    comparison: Comparison, order: int, *, most_cells: int | None = None
) -> Distances:
    """Distances of all marginals of so many columns; of triples at most 500.

    Args:
        comparison: original and sets.
        order: number of columns of a marginal.
        most_cells: tables of more cells, of declared states, are left out; none if None.
    """
    candidates = [
        columns
        for columns in itertools.combinations(range(len(comparison.sizes)), order)
        if most_cells is None
        or math.prod(comparison.schema.sizes[j] for j in columns) <= most_cells
    ]
    chosen = candidates if order < 3 else triples(candidates)
    marginals, values, nulls = [], [], []
    for columns, original, sets in comparison.tables(chosen):
        marginals.append(columns)
        values.append([total_variation(original, table) for table in sets])
        nulls.append(np.mean([expected_variation(original, table) for table in sets]))
    shape = (len(marginals), len(comparison.sets))
    return Distances(
        tuple(marginals), np.reshape(values, shape).astype(float), np.array(nulls), len(candidates)
    )


def triples(candidates: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """500 of the candidates in their order, the same ones whenever there are as many; or all."""
    if len(candidates) <= MOST_TRIPLES:
        return list(candidates)
    rng = np.random.default_rng(_TRIPLES_SEED)
    return [candidates[k] for k in sorted(rng.choice(len(candidates), MOST_TRIPLES, replace=False))]


def distance_scores(comparison: Comparison, distances: Distances) -> tuple[Metric, ...]:
    """Mean distance and worst distance of the marginals of one order."""
    if not distances.marginals:
        return ()
    order = len(distances.marginals[0])
    name = f"total variation, {order}-way"
    if order > 2:  # another name where it is another quantity
        drawn = len(distances.marginals) < distances.population
        name += f" ({MOST_TRIPLES} triples)" if drawn else " (all triples)"
    worst = int(distances.means.argmax())
    names = ", ".join(comparison.schema.names[j] for j in distances.marginals[worst])
    mean = Metric.over_sets(
        DEFINITIONS[name],
        distances.values.mean(axis=0),
        null=float(distances.nulls.mean()),
        note=f"mean over {_which(distances)}",
    )
    if order > 2:
        return (mean,)
    return (
        mean,
        Metric.over_sets(
            DEFINITIONS[f"total variation, worst {order}-way"],
            distances.values[worst],
            null=float(distances.nulls[worst]),
            note=f"of {names}; null: of these columns, not of the worst in a fresh sample",
        ),
    )


def _which(distances: Distances) -> str:
    order, n = len(distances.marginals[0]), len(distances.marginals)
    if n == distances.population:
        return f"all {n:,} {_WORDS.get(order, 'marginals')}"
    missing = np.sqrt(1 - n / distances.population)  # a sample without replacement
    error = distances.means.std(ddof=1) / np.sqrt(n) * missing
    return (
        f"{n:,} of {distances.population:,} {_WORDS.get(order, 'marginals')}, drawn at random; "
        f"standard error of drawing them {error:.2g}"
    )


def marginals(comparison: Comparison, distances: Distances) -> tuple[Marginal, ...]:
    """Every column with the shares of its states, the worst first."""
    result = []
    for (columns, original, sets), distance in zip(
        comparison.tables([(j,) for j in range(len(comparison.sizes))]),
        distances.means,
        strict=True,
    ):
        shares = np.mean([table / table.sum() for table in sets], axis=0)
        labels, kept = comparison.labels(columns[0]), len(original)
        if not original[-1] and not shares[-1]:
            kept -= 1  # nothing is outside the domain
        result.append(
            Marginal(
                comparison.schema.names[columns[0]],
                labels[:kept],
                tuple((original / original.sum())[:kept].tolist()),
                tuple(shares[:kept].tolist()),
                float(distance),
            )
        )
    return tuple(sorted(result, key=lambda marginal: -marginal.distance))


def conditional_distance(original: Counts, synthetic: Counts) -> float:
    """L1 distance of the second column's distributions given the first, mean over its states.

    Σ_g p(g) ‖p(·|g) - p̃(·|g)‖₁; a state g that the synthetic rows lack counts 2, as much as two
    distributions can differ.

    Args:
        original: counts of a pair of columns, shape (states of g, states of the other).
        synthetic: the same shape.
    """
    rows, others = original.sum(axis=1), synthetic.sum(axis=1)
    present = rows > 0
    given = original[present] / rows[present, None]
    with np.errstate(invalid="ignore"):
        copied = synthetic[present] / others[present, None]
    lengths = np.where(others[present] > 0, np.abs(given - copied).sum(axis=1), 2.0)
    return float((rows[present] * lengths).sum() / rows.sum())


def conditional_score(comparison: Comparison) -> Metric | None:
    """Mean over all ordered pairs of columns; None for one column, or tables too large."""
    values: list[list[float]] = []
    for _, original, sets in comparison.tables(pairs(comparison)):
        values.append([conditional_distance(original, table) for table in sets])
        values.append([conditional_distance(original.T, table.T) for table in sets])
    if not values:
        return None
    return Metric.over_sets(
        DEFINITIONS["conditional distance"],
        np.mean(values, axis=0),
        note="L1 (0 to 2) between the distributions of one column given another; mean over ordered "
        "pairs",
    )


def pairs(comparison: Comparison) -> Sequence[tuple[int, int]]:
    """All pairs of columns whose table can be written out."""
    candidates = itertools.combinations(range(len(comparison.sizes)), 2)
    return [columns for columns in candidates if comparison.n_cells(columns) <= MOST_WRITTEN_OUT]


GROUP_SHARES = (0.02, 0.06)
"""Shares of the original records of the groups that are looked into."""

MOST_GROUPS = 60


def group_scores(comparison: Comparison) -> tuple[tuple[Metric, ...], tuple[GroupKept, ...]]:
    """Mean distance of the other columns within small groups, and every group, the worst first.

    Groups are levels of columns that are no numbers, with 2 to 6 % of the original records; of more
    than 60, as many evenly spread ones. A set without records of a group has distance 1 there.
    """
    groups = _groups(comparison)
    found: dict[tuple[int, int], list[list[float]]] = {group: [] for group in groups}
    grouping = {j for j, _ in groups}
    used = [pair for pair in pairs(comparison) if grouping & set(pair)]
    for columns, original, sets in comparison.tables(used):
        for turn in (False, True):
            tables = [one.T if turn else one for one in (original, *sets)]
            for column, state in groups:
                if column == columns[turn]:
                    found[column, state].append(_within(tables[0], tables[1:], state))
    values = {group: np.mean(rows, axis=0) for group, rows in found.items() if rows}
    if not values:
        return (), ()
    details = [
        GroupKept(
            comparison.schema.names[j],
            comparison.labels(j)[state],
            rows := int((comparison.original[j] == state).sum()),
            rows / comparison.n_original,
            float(np.mean(row[2:])),
            float(row[0]),
            float(row[1]),
        )
        for (j, state), row in values.items()
    ]
    means = np.mean(list(values.values()), axis=0)
    score = Metric.over_sets(
        DEFINITIONS["within-group distance"],
        means[2:].tolist(),
        null=float(means[0]) if np.isfinite(means[0]) else None,
        note=f"mean over {len(details):,} groups; columns of all original records would have "
        f"{means[1]:.3g}",
    )
    return (score,), tuple(sorted(details, key=lambda one: -one.distance))


def _groups(comparison: Comparison) -> list[tuple[int, int]]:
    """Column and state of each group."""
    low, high = GROUP_SHARES
    found: list[tuple[int, int]] = []
    for j, column in enumerate(comparison.columns):
        if not isinstance(column, NUMERIC):
            counts = np.bincount(comparison.original[j], minlength=column.size + 1)
            shares = counts[: column.n_ordinary] / comparison.n_original
            found += [(j, int(g)) for g in np.flatnonzero((shares >= low) & (shares <= high))]
    if len(found) <= MOST_GROUPS:
        return found
    return [found[k] for k in np.linspace(0, len(found) - 1, MOST_GROUPS).round().astype(int)]


def _within(original: Counts, sets: Sequence[Counts], state: int) -> list[float]:
    """For one other column: what a fresh sample has, what all records have, and each set."""
    own = original[state]
    copies = [table[state] for table in sets]
    fresh = [expected_variation(own, copy) for copy in copies if copy.any()]
    distances = [total_variation(own, copy) if copy.any() else 1.0 for copy in copies]
    whole = total_variation(own, original.sum(axis=0))
    return [float(np.mean(fresh)) if fresh else np.nan, whole, *distances]


MEAN_WITHIN, ERRORS_WITHIN = 0.05, 2.0
SD_WITHIN = 0.15
RANKS_WITHIN = 0.03
_REPETITIONS = 10


@dataclass(frozen=True)
class NumberDistance:
    """One column of one set against the original; NaN where there is no figure.

    Attributes:
        mean: synthetic mean.
        sd: synthetic standard deviation.
        relative_error: |difference of means| over |original mean|.
        standard_errors: |difference of means| over the standard error of the original mean.
        sd_error: |ratio of standard deviations less 1|.
        rank_error: largest error of a decile's rank, 0 to 1; 1 without synthetic values.
        kept: whether mean, standard deviation and deciles are kept.
    """

    mean: float
    sd: float
    relative_error: float
    standard_errors: float
    sd_error: float
    rank_error: float
    kept: tuple[bool, bool, bool]


def number_distance(levels: Floats, original: Counts, synthetic: Counts) -> NumberDistance:
    """Compare two samples of numbers.

    Args:
        levels: values, rising, shape (k,).
        original: original records at each value, at least one, shape (k,).
        synthetic: the same of a set, which may have none.
    """
    mean, sd = moments(levels, original)
    n = int(original.sum())
    if not synthetic.any():
        none = float("nan")
        return NumberDistance(none, none, none, none, none, 1.0, (False, False, False))
    copied, spread = moments(levels, synthetic)
    off, error = abs(copied - mean), sd / np.sqrt(n)
    reach = max(MEAN_WITHIN * abs(mean), ERRORS_WITHIN * error)
    sd_error = abs(spread / sd - 1) if sd > 0 else (0.0 if spread == 0 else float("nan"))
    ranks = rank_error(original, synthetic)
    return NumberDistance(
        copied,
        spread,
        off / abs(mean) if abs(mean) > ERRORS_WITHIN * error else float("nan"),
        off / error if error > 0 else (0.0 if off == 0 else float("nan")),
        sd_error,
        ranks,
        (bool(off <= reach), sd_error <= SD_WITHIN, ranks <= RANKS_WITHIN),
    )


def moments(levels: Floats, counts: Counts) -> tuple[float, float]:
    """Mean and standard deviation (divisor n − 1; 0 for one record) of values that are counted.

    >>> moments(np.array([0.0, 2.0]), np.array([2, 2]))[0]
    1.0
    """
    n = int(counts.sum())
    used = counts > 0
    if used.sum() == 1:  # exact, so that a constant column has no rounding for a spread
        return float(levels[used][0]), 0.0
    mean = float(counts @ levels / n)
    return mean, float(np.sqrt(counts @ (levels - mean) ** 2 / (n - 1)))


def rank_error(original: Counts, synthetic: Counts) -> float:
    """Largest distance of k/10 from the original ranks of the k-th synthetic decile, 0 to 0.9.

    The k-th decile is the smallest value that at least k/10 of the records do not exceed.

    Args:
        original: original records at each of some rising values, at least one, shape (k,).
        synthetic: the same of a set, at least one.

    >>> rank_error(np.array([5, 5]), np.array([5, 5]))
    0.0
    >>> rank_error(np.array([5, 5]), np.array([10, 0]))  # nine tenths lie at rank one half
    0.4
    """
    tenths = np.arange(1, 10)
    up_to = np.cumsum(synthetic)
    place = np.searchsorted(10 * up_to, tenths * up_to[-1], side="left")
    known = np.cumsum(original)
    n = known[-1]
    below = tenths * n - 10 * known[place]  # in tenths of records, so that ties are exact
    above = 10 * (known[place] - original[place]) - tenths * n
    return float(np.maximum(np.maximum(below, above), 0).max() / (10 * n))


def number_scores(
    columns: Sequence[OrderedColumn], rng: np.random.Generator
) -> tuple[tuple[Metric, ...], tuple[NumberKept, ...]]:
    """Errors of the numbers and shares of them that are kept; and every column, worst first.

    Args:
        columns: ordered columns; those that are no numbers are left out.
        rng: draws the samples of the reference.
    """
    counted = ((one, one.counts(one.original)) for one in columns if one.scale is Scale.NUMBER)
    numbers = [(one, counts) for one, counts in counted if counts.any()]
    if not numbers:
        return (), ()
    sets = range(len(numbers[0][0].sets))
    found = [
        [number_distance(column.levels, counts, column.counts(column.sets[k])) for k in sets]
        for column, counts in numbers
    ]
    fresh = _fresh(numbers, rng)
    scores = []
    for name, null in zip(_SCORES, fresh, strict=True):
        values = [_SCORES[name]([row[k] for row in found]) for k in sets]
        if np.isfinite(values).all():
            note = f"over {len(numbers):,} columns of numbers"
            reference = float(null) if np.isfinite(null) else None
            scores.append(Metric.over_sets(DEFINITIONS[name], values, null=reference, note=note))
    details = [_detail(*number, row) for number, row in zip(numbers, found, strict=True)]
    return tuple(scores), tuple(sorted(details, key=lambda one: (sum(one.kept), -one.rank_error)))


def _fresh(numbers: Sequence[tuple[OrderedColumn, Counts]], rng: np.random.Generator) -> Floats:
    """Each score of two samples of the original values, mean of the repetitions."""
    drawn: list[list[NumberDistance]] = [[] for _ in range(_REPETITIONS)]
    for column, counts in numbers:
        used = counts > 0
        levels, shares = column.levels[used], counts[used] / counts.sum()
        size = round(counts.sum() * len(column.sets[0]) / len(column.original))
        for rows in drawn:
            first = rng.multinomial(counts.sum(), shares)
            rows.append(number_distance(levels, first, rng.multinomial(size, shares)))
    values = [[score(rows) for score in _SCORES.values()] for rows in drawn]
    return np.asarray(np.mean(values, axis=0))


def _median(values: Sequence[float]) -> float:
    known = [one for one in values if np.isfinite(one)]
    return float(np.median(known)) if known else float("nan")


_Score = Callable[[Sequence[NumberDistance]], float]


def _share(which: int) -> _Score:
    return lambda rows: float(np.mean([row.kept[which] for row in rows]))


_SCORES: dict[str, _Score] = {
    "relative error of means, median": lambda rows: _median([r.relative_error for r in rows]),
    "relative error of standard deviations, median": lambda rows: _median(
        [r.sd_error for r in rows]
    ),
    "rank error of deciles": lambda rows: float(np.mean([r.rank_error for r in rows])),
    "means kept": _share(0),
    "standard deviations kept": _share(1),
    "deciles kept": _share(2),
}


def _detail(column: OrderedColumn, counts: Counts, rows: Sequence[NumberDistance]) -> NumberKept:
    mean, sd = moments(column.levels, counts)

    def over(name: str) -> float:
        return float(np.mean([getattr(row, name) for row in rows]))

    return NumberKept(
        column.name,
        (mean, sd),
        (over("mean"), over("sd")),
        (_absent(column.original), float(np.mean([_absent(one) for one in column.sets]))),
        over("relative_error"),
        over("standard_errors"),
        over("sd") / sd if sd > 0 else float("nan"),
        over("rank_error"),
        tuple(np.mean([row.kept for row in rows], axis=0).tolist()),
    )


def _absent(places: Codes) -> float:
    return float((places < 0).mean())
