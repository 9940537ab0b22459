"""The 95 % intervals of an analyst who pools the sets of every repetition.

The rule of Bowen, Liu and Su for all of their methods: T = ū + b/m with a t reference (Reiter 2003;
Bowen & Liu 2016, eqs. 8-10). For one set T = u with a normal reference, which leaves the noise out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import stdtrit

from understudy.inference.combining.combining_rules import single_variance

LEVEL = 0.95

Values = NDArray[np.float64]


class Intervals(NamedTuple):
    """Intervals of all repetitions.

    Attributes:
        estimate: their middles, shape (...,).
        reach: half of their widths, shape (...,).
        usable: where there is one; elsewhere the numbers mean nothing. Shape (...,).
    """

    estimate: Values
    reach: Values
    usable: NDArray[np.bool_]


def pooled(q: Values, u: Values) -> Intervals:
    """Pool the m sets of every repetition; usable where the total variance is positive.

    Args:
        q: estimates, shape (..., m).
        u: variances that the analyst's software prints, shape (..., m).

    Example:
        >>> found = pooled(np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, 0.5]))
        >>> float(found.estimate), round(float(found.reach), 4)
        (2.0, 1.9802)
    """
    # Without noise of its own this rule is the partial one, and it is defined for one set too.
    totals = single_variance(q[..., None], u[..., None], 0.0)
    variance, df = totals.variance[..., 0], totals.df[..., 0]
    usable = np.isfinite(variance) & (variance > 0)
    normal = ~np.isfinite(df)
    quantile = np.where(
        normal,
        stats.norm.ppf((1 + LEVEL) / 2),
        stdtrit(np.where(normal, 1.0, df), (1 + LEVEL) / 2),
    )
    reach = quantile * np.sqrt(np.where(usable, variance, 0.0))
    return Intervals(totals.estimate[..., 0], reach, usable)


def pooled_where(present: NDArray[np.bool_], q: Values, u: Values) -> Intervals:
    """Pool those sets of every repetition that have an estimate; usable from two such sets on.

    Args:
        present: which sets have one, shape (..., m).
        q: estimates, shape (..., m); of any value where there is none.
        u: variances, shape (..., m).
    """
    shape, m = present.shape[:-1], present.shape[-1]
    order = np.argsort(~present, axis=-1, kind="stable")
    q = np.take_along_axis(q, order, axis=-1).reshape(-1, m)
    u = np.take_along_axis(u, order, axis=-1).reshape(-1, m)
    number = present.sum(axis=-1).reshape(-1)
    estimate, reach = np.zeros(number.size), np.zeros(number.size)
    usable = np.zeros(number.size, dtype=np.bool_)
    for sets in range(min(2, m), m + 1):
        here = np.flatnonzero(number == sets)
        found = pooled(q[here, :sets], u[here, :sets])
        estimate[here], reach[here], usable[here] = found
    return Intervals(estimate.reshape(shape), reach.reshape(shape), usable.reshape(shape))
