"""How coefficients and their intervals survive synthesis.

A coefficient that a table does not determine (as `robust_regression` says) has no interval. Where
that is so in the original there is nothing to compare, and it is left out. Where it is so in a set
alone, the set has lost it: its overlap counts 0, and widths and shifts leave it out. Both are
counted in the notes, and `understudy.evaluation.utility.regression_comparison` says which and why.

A term that is *nearly* determined by others has an estimate, with a standard error as large as its
freedom is small; in its own units it can be off by any amount. So no summary adds up sizes: widths
and shifts have their medians over terms (and each term its median over sets), overlaps are bounded,
and the last score counts the terms whose two estimates differ by more than the two standard errors
together explain. One term of p moves the mean of overlaps and the share of terms by at most 1/p.

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

_CRITICAL = 1.959963984540054


def interval_overlap(first: Interval, second: Interval) -> float:
    """Mean of the shares of each interval that lies in the other, 0 to 1.

    An interval of length 0 counts as wholly inside or outside.

    >>> interval_overlap((0, 2), (1, 3))
    0.5
    >>> interval_overlap((0, 1), (2, 3))
    0.0
    """
    low, high = max(first[0], second[0]), min(first[1], second[1])
    if high < low:
        return 0.0
    shares = [
        (high - low) / (end - start) if end > start else 1.0 for start, end in (first, second)
    ]
    return float(sum(shares) / 2)


def expected_overlap(n_original: int, n_synthetic: int) -> float:
    """Mean overlap of the 95 % intervals of two independent samples of one population.

    Estimates are taken as normal with variances in proportion to 1/n: numeric integral over their
    difference.

    >>> round(expected_overlap(1000, 1000), 3)
    0.713
    """
    original, synthetic = 1 / math.sqrt(n_original), 1 / math.sqrt(n_synthetic)
    grid = np.linspace(0, 8, 4001)
    weight = stats.norm.pdf(grid)
    reach = stats.norm.ppf(0.975)
    values = [
        interval_overlap(
            (-reach * original, reach * original),
            (
                z * math.hypot(original, synthetic) - reach * synthetic,
                z * math.hypot(original, synthetic) + reach * synthetic,
            ),
        )
        for z in grid
    ]
    return float((weight * np.array(values)).sum() / weight.sum())


_ENDS = ("estimate", "lower", "upper")


def coefficients(compared: Compared) -> tuple[Coefficient, ...]:
    """Every coefficient that the original and a set determine; ends are medians over such sets."""
    result = []
    original = compared.original
    for j in map(int, np.flatnonzero(original.determined)):
        able = [f for f in compared.sets if f.determined[j]]
        if not able:
            continue
        middle = [float(np.median([getattr(f, end)[j] for f in able])) for end in _ENDS]
        result.append(
            Coefficient(
                compared.model,
                compared.terms[j],
                (float(original.estimate[j]), float(original.lower[j]), float(original.upper[j])),
                (middle[0], middle[1], middle[2]),
                float(np.mean(_overlaps(compared, j))),
                float(np.nanmedian(_shifts(compared, j))),
            )
        )
    return tuple(result)


def _overlaps(compared: Compared, j: int) -> list[float]:
    """Overlap in each set; 0 in one that does not determine the coefficient."""
    original = compared.original
    return [
        interval_overlap((original.lower[j], original.upper[j]), (f.lower[j], f.upper[j]))
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
    determined = [
        (model, int(j)) for model in compared for j in np.flatnonzero(model.original.determined)
    ]
    if not determined:
        return ()
    n_terms = sum(len(model.terms) for model in compared)
    about = f"{len(determined):,} of {n_terms:,} coefficients, which the original determines"
    overlap = np.mean([_overlaps(model, j) for model, j in determined], axis=0)
    lost = np.mean([[not f.determined[j] for f in model.sets] for model, j in determined], axis=0)
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
        widths = np.nanmedian([_widths(model, j) for model, j in determined], axis=0)
        shifts = np.nanmedian([_shifts(model, j) for model, j in determined], axis=0)
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
    beyond = np.mean([_beyond(model, j) for model, j in determined], axis=0)
    scores.append(
        Score.over_sets(
            DEFINITIONS["coefficients beyond chance"],
            beyond.tolist(),
            null=2 * float(stats.norm.sf(_CRITICAL)),
            note=f"{about}; one that a set lost counts as beyond",
        )
    )
    return tuple(scores)


def _beyond(compared: Compared, j: int) -> list[bool]:
    """In each set, whether the estimates differ by more than both standard errors explain."""
    original = compared.original
    return [
        not f.determined[j]
        or bool(
            abs(f.estimate[j] - original.estimate[j])
            > _CRITICAL * math.hypot(f.stderr[j], original.stderr[j])
        )
        for f in compared.sets
    ]


def _widths(compared: Compared, j: int) -> list[float]:
    """Widths over that of the original; NaN in a set that lost the coefficient."""
    width = float(compared.original.upper[j] - compared.original.lower[j])
    return [
        float(f.upper[j] - f.lower[j]) / width if f.determined[j] else math.nan
        for f in compared.sets
    ]


def _shifts(compared: Compared, j: int) -> list[float]:
    """Shifts in standard errors of the original; NaN in a set that lost the coefficient."""
    unit = float(compared.original.stderr[j])
    return [
        abs(float(f.estimate[j] - compared.original.estimate[j])) / unit
        if f.determined[j]
        else math.nan
        for f in compared.sets
    ]
