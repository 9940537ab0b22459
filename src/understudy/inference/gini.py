"""Gini coefficients of numbers from the counts of the cells of their line.

With c_j records in cell j, N of them and S the sum of their numbers, m_j the middle of the cell and
|m_i − m_j| the matrix M, the coefficient is

    G = c'Mc / (2NS),

half the mean distance of two records over the mean. c'Mc is quadratic in the counts, so noise with
the covariance C adds tr(CM) to it on average, which is taken off. To first order a record more in
cell j adds g_j = (Mc)_j/(NS) − G/N − G·m_j/S. So noise has the variance g'Cg, sampling Σ c_j g_j².
Of second order noise has 2·tr(CMCM)/(2NS)² more, which matters where cells are many and small.

**Where in its cell a number lies** is not known. With F_j the share of records up to cell j, x_j
the mean in the cell, and b_j = F_{j−1} + F_j − 1, half the mean distance is Σ p_j x_j b_j, and half
of p_j² times the mean distance within each cell, which is at most half its width. So G is a ratio
of linear functions of the x_j: it is least where these are at the low end of their cells if b_j > G
and at the high end if not, and largest the other way round (Dinkelbach's iteration finds these G).
What the bounds have of the noise of the counts is added twice.

Sources: Gastwirth (1972), "The Estimation of the Lorenz Curve and Gini Index", Review of Economics
and Statistics 54, 306-316, has such bounds for grouped data; Dinkelbach (1967), "On Nonlinear
Fractional Programming", Management Science 13, 492-498; the noise is ours.
"""

from __future__ import annotations

import numpy as np

from understudy._arrays import Floats
from understudy.errors import InferenceError
from understudy.inference.bin_bias import end_scores
from understudy.inference.combining import Untested
from understudy.inference.conditions import require_told
from understudy.inference.contributions import cell_scores
from understudy.inference.counts import FEWEST, Counted
from understudy.inference.linear import require_firm
from understudy.inference.noisy_tables import Counts, Sources
from understudy.inference.question import Estimand
from understudy.inference.records import ABSENT
from understudy.inference.second_moments import LostInNoiseError
from understudy.schema import Schema

_ITERATIONS = 50


def line_gini(
    estimand: Estimand, table: Counts, schema: Schema, tables: int, shown: Floats
) -> Counted:
    """The Gini coefficient of a number in the cells of its line.

    Args:
        estimand: the question.
        table: counts of the cells, with the sources of their noise.
        schema: in these cells.
        tables: how many measurements they rest on.
        shown: values of the synthetic records, which decide whether noise hides it.

    Raises:
        LostInNoiseError: noise hides the mean, or the counts show no records.
        InferenceError: the expression cannot be computed, or not record by record, or cells do not
            tell who meets a condition; it may be below 0, or its values in two cells overlap.
    """
    assert table.sources is not None
    require_told(estimand, schema)
    scores = cell_scores(estimand, schema)
    used = np.flatnonzero(scores.quantity != ABSENT)
    ends = end_scores(estimand, schema, scores) or (scores, scores)
    order = used[np.argsort(scores.value[used], kind="stable")]
    low, value, high = (one.value[order] for one in (ends[0], scores, ends[1]))
    _require_ranks(low, high, estimand.expression)
    counts, sources = table.counts[order], table.sources
    sources = Sources(sources.mix[order], sources.variances)
    n, total = float(counts.sum()), float(counts @ value)
    if n < FEWEST:
        raise LostInNoiseError("By the noisy counts there are no records.")
    noise_of_mean = sources.covariance(value, value) / n**2
    few = "The numbers add up to too little under the privacy noise"
    require_firm(np.array([shown.mean()]), np.array([float(noise_of_mean)]), few)
    if total <= 0:
        raise LostInNoiseError("By the noisy counts the numbers add up to nothing.")
    apart = np.abs(np.subtract.outer(value, value))
    mixed = sources.mix.T @ apart @ sources.mix
    added = float(np.diag(mixed) @ sources.variances)
    gini = (float(counts @ apart @ counts) - added) / (2 * n * total)
    influence = (apart @ counts) / (n * total) - gini / n - gini * value / total
    second = 2 * float(sources.variances @ mixed**2 @ sources.variances) / (2 * n * total) ** 2
    noise = float(sources.covariance(influence, influence)) + second
    sampling = max(float(counts @ influence**2), 0.0)
    bias = _bound(counts, (low, high), (gini, added / (2 * n**2)), sources)
    absent = np.flatnonzero(scores.quantity == ABSENT)
    pooled = Untested(
        names=estimand.names(schema),
        estimate=np.array([gini]),
        covariance=np.array([[noise + sampling]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([noise / max(noise + sampling, 1e-300)]),
        rule="noise-aware",
        sets=tables,
        bias=np.array([bias]),
    )
    return Counted(
        pooled=pooled,
        dropped=float(table.counts[absent].sum()),
        dropped_noise=float(np.sqrt(table.variances[absent].sum())),
        varied=bias > 0,
    )


def _require_ranks(low: Floats, high: Floats, expression: str) -> None:
    """Refuse numbers below 0, and cells that do not tell which of two numbers is larger."""
    if low.min(initial=0.0) < 0:
        raise InferenceError(
            f"A Gini coefficient needs numbers that are never below 0, and {expression} may be."
        )
    if (high[:-1] > low[1:] * (1 + 1e-12)).any():
        raise InferenceError(
            f"The fine histogram does not tell the order of {expression}; ask for the Gini "
            "coefficient of a column."
        )


def _bound(
    counts: Floats, ends: tuple[Floats, Floats], known: tuple[float, float], sources: Sources
) -> float:
    """How far the coefficient may lie off by where numbers lie in their cells.

    Args:
        counts: in the order of the cells.
        ends: least and largest number of each cell.
        known: the coefficient with numbers in their middles, and what noise adds to half the mean
            distance.
        sources: of the noise in the counts.
    """
    low, high = ends
    widths = high - low
    if not widths.any():
        return 0.0
    gini, added = known
    n = float(counts.sum())
    shares = counts / n
    upto = shares.cumsum()
    above = 2 * upto - shares - 1
    within = float(shares**2 @ widths) / 4
    found = []
    for first, last, apart in ((low, high, 0.0), (high, low, within)):
        at = gini
        for _ in range(_ITERATIONS):
            means = np.where(above > at, first, last)
            mean = float(shares @ means)
            if mean <= 0:
                raise LostInNoiseError("By the noisy counts the numbers add up to nothing.")
            before, at = at, (float(shares @ (means * above)) - added + apart) / mean
            if abs(at - before) < 1e-9:
                break
        found.append(abs(at - gini))
        room = widths / 2 * np.abs(above - at) / mean
        found[-1] += 2 * float(np.sqrt(sources.covariance(room, room))) / n
    return max(found)
