"""Means, standard deviations and deciles of numbers: how far off, and whether they are kept.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Codes, Floats
from understudy.evaluation.comparison import Counts
from understudy.evaluation.definitions import DEFINITIONS
from understudy.evaluation.evaluation_results import Score
from understudy.evaluation.kept_details import NumberKept
from understudy.evaluation.utility.ordered_values import OrderedColumn, Scale

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
) -> tuple[tuple[Score, ...], tuple[NumberKept, ...]]:
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
            scores.append(Score.over_sets(DEFINITIONS[name], values, null=reference, note=note))
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
