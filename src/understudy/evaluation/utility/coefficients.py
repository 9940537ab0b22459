"""How coefficients and their intervals survive synthesis.

A coefficient that a table does not determine (as `robust_regression` says) has no interval. Where
that is so in the original there is nothing to compare, and it is left out. Where it is so in a set
alone, the set has lost it: its overlap counts 0, and widths and shifts leave it out. Both are
counted in the notes, and `understudy.evaluation.utility.regression_comparison` says which and why.
Widths and shifts are summarised by their median: a mean of a few dozen ratios is that of the
largest.

The overlap of intervals is that of Karr et al. (2006); its null is what a fresh sample would have.
The overlap does not see width alone: a synthetic interval that is far too wide and holds the
original one still scores more than 0.5. Read it beside the ratio of widths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from understudy.evaluation.definitions import DEFINITIONS
from understudy.evaluation.evaluation_results import Coefficient, Score
from understudy.evaluation.utility.regression_comparison import Compared

Interval = tuple[float, float]


def interval_overlap(one: Interval, other: Interval) -> float:
    """Mean of the shares of each interval that lies in the other, 0 to 1.

    An interval of length 0 counts as wholly inside or outside.

    >>> interval_overlap((0, 2), (1, 3))
    0.5
    >>> interval_overlap((0, 1), (2, 3))
    0.0
    """
    low, high = max(one[0], other[0]), min(one[1], other[1])
    if high < low:
        return 0.0
    shares = [(high - low) / (end - start) if end > start else 1.0 for start, end in (one, other)]
    return float(sum(shares) / 2)


def expected_overlap(n_original: int, n_synthetic: int) -> float:
    """Mean overlap of the 95 % intervals of two independent samples of one population.

    Estimates are taken as normal with variances in proportion to 1/n: numeric integral over their
    difference.

    >>> round(expected_overlap(1000, 1000), 3)
    0.713
    """
    one, other = 1 / math.sqrt(n_original), 1 / math.sqrt(n_synthetic)
    grid = np.linspace(0, 8, 4001)
    weight = stats.norm.pdf(grid)
    reach = stats.norm.ppf(0.975)
    values = [
        interval_overlap(
            (-reach * one, reach * one),
            (
                z * math.hypot(one, other) - reach * other,
                z * math.hypot(one, other) + reach * other,
            ),
        )
        for z in grid
    ]
    return float((weight * np.array(values)).sum() / weight.sum())


_ENDS = ("estimate", "lower", "upper")


def coefficients(compared: Compared) -> tuple[Coefficient, ...]:
    """Every coefficient that the original and a set determine; ends are means over such sets."""
    result = []
    one = compared.original
    for j in map(int, np.flatnonzero(one.determined)):
        able = [f for f in compared.sets if f.determined[j]]
        if not able:
            continue
        means = [float(np.mean([getattr(f, end)[j] for f in able])) for end in _ENDS]
        result.append(
            Coefficient(
                compared.model,
                compared.terms[j],
                (float(one.estimate[j]), float(one.lower[j]), float(one.upper[j])),
                (means[0], means[1], means[2]),
                float(np.mean(_overlaps(compared, j))),
                float(np.nanmean(_shifts(compared, j))),
            )
        )
    return tuple(result)


def _overlaps(compared: Compared, j: int) -> list[float]:
    """Overlap in each set; 0 in one that does not determine the coefficient."""
    one = compared.original
    return [
        interval_overlap((one.lower[j], one.upper[j]), (f.lower[j], f.upper[j]))
        if f.determined[j]
        else 0.0
        for f in compared.sets
    ]


def coefficient_scores(
    compared: Sequence[Compared], n_original: int, n_synthetic: int
) -> tuple[Score, ...]:
    """Overlap, width and shift over the coefficients, and the distance in each model.

    Args:
        compared: models on all tables.
        n_original: rows of the original.
        n_synthetic: rows of each set.
    """
    wanted = [(one, int(j)) for one in compared for j in np.flatnonzero(one.original.determined)]
    if not wanted:
        return ()
    n_terms = sum(len(one.terms) for one in compared)
    about = f"{len(wanted):,} of {n_terms:,} coefficients, which the original determines"
    overlap = np.mean([_overlaps(one, j) for one, j in wanted], axis=0)
    lost = np.mean([[not f.determined[j] for f in one.sets] for one, j in wanted], axis=0)
    scores = [
        Score.over_sets(
            DEFINITIONS["confidence-interval overlap"],
            overlap,
            null=expected_overlap(n_original, n_synthetic),
            note=f"mean over {about}, {100 * lost.mean():.2g} % of them lost in a set on average, "
            "which counts 0; intervals of a set do not count privacy noise",
        )
    ]
    if (lost < 1).all():
        widths = np.nanmedian([_widths(one, j) for one, j in wanted], axis=0)
        shifts = np.nanmedian([_shifts(one, j) for one, j in wanted], axis=0)
        ratio = n_original / n_synthetic
        among = f"median over {about}, less those that the set lost"
        scores += [
            Score.over_sets(
                DEFINITIONS["interval width ratio, median"],
                widths.tolist(),
                null=math.sqrt(ratio),
                note=f"{among}; synthetic / original; the overlap does not see wide intervals",
            ),
            Score.over_sets(
                DEFINITIONS["standardised coefficient shift, median"],
                shifts.tolist(),
                null=float(stats.norm.ppf(0.75)) * math.sqrt(1 + ratio),
                note=f"{among}; |difference| over the standard error of the original",
            ),
        ]
    return (*scores, *(score for one in compared for score in _distance(one)))


def _distance(one: Compared) -> list[Score]:
    """Euclidean distance of all coefficients that every table determines."""
    able = np.logical_and.reduce([found.determined for found in (one.original, *one.sets)])
    if not able.any():
        return []
    values = [float(np.linalg.norm((f.estimate - one.original.estimate)[able])) for f in one.sets]
    note = f"Euclidean, {int(able.sum())} of {len(able)} coefficients in their own units"
    distance = DEFINITIONS["coefficient distance"]
    return [Score.over_sets(distance, values, detail=f", {one.model}", note=note)]


def _widths(one: Compared, j: int) -> list[float]:
    """Widths over that of the original; NaN in a set that lost the coefficient."""
    width = float(one.original.upper[j] - one.original.lower[j])
    return [
        float(f.upper[j] - f.lower[j]) / width if f.determined[j] else math.nan for f in one.sets
    ]


def _shifts(one: Compared, j: int) -> list[float]:
    """Shifts in standard errors of the original; NaN in a set that lost the coefficient."""
    unit = float(one.original.stderr[j])
    return [
        abs(float(f.estimate[j] - one.original.estimate[j])) / unit if f.determined[j] else math.nan
        for f in one.sets
    ]
