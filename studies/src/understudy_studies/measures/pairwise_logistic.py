"""SPECKS by a logistic regression on all columns and all pairs of them, fast on large tables.

`understudy.evaluate.propensity` groups states until a few hundred parameters are left,
and gives a null. Here nothing is grouped: every state has an indicator but the most frequent of its
column, and every pair of indicators of two columns has a product, as in Bowen, Liu & Su (2021). For
15 columns that makes some 500 parameters on 90,000 rows.

What makes it fast: no design is written out (`indicator_layout`). The sets of one
release resemble each other, so the fit to one starts at the estimate of the one before and keeps
its information matrix as long as that serves.

Estimates are those under a normal prior of standard deviation 10 on every parameter but the
intercept: products that occur in one table alone have no finite estimate otherwise. The search
stops when the likelihood can rise by less than `TOLERANCE`/2. Against a search to the end this
moves the distance by less than 0.001 (`tests/evaluate/test_pairwise.py`).

Sources:
    Bowen, Liu & Su (2021), METRON 79, section 2.4. The distance itself stands
    in `understudy.evaluate.propensity`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import expit

from understudy._arrays import Floats
from understudy.evaluate.comparison import Comparison
from understudy_studies.measures.indicator_layout import (
    Grouped,
    Layout,
    add_gradient,
    add_information,
    row_scores,
)

PRIOR_SD = 10.0
TOLERANCE = 0.02
_STEPS = 60
_HALVINGS = 30
_SLOW = 0.2
"""A step with an old information matrix shall leave less than this part of the decrement."""


@dataclass(frozen=True)
class State:
    """Where a search stands, and where the next one may start.

    Attributes:
        estimate: parameters, shape (P,).
        factor: Cholesky factor of the information matrix, for SciPy.
    """

    estimate: Floats
    factor: tuple[Any, Any]


@dataclass
class Memory:
    """Where the search of the last set of a release ended; releases by one line are alike.

    Attributes:
        numbers: which indicators there were, by column.
        state: where it ended; None before the first.
    """

    numbers: tuple[tuple[int, ...], ...] = ()
    state: State | None = None


def pairwise_specks(
    comparison: Comparison, *, tolerance: float = TOLERANCE, memory: Memory | None = None
) -> tuple[float, ...]:
    """SPECKS of each set: 0 if nothing tells it from the original, 1 if everything does.

    Args:
        comparison: original and sets, at least one row each.
        tolerance: twice the logarithm of the likelihood that may be missing at the end.
        memory: where a search begins and what is left for the next release; from nothing if None.

    Returns:
        Kolmogorov-Smirnov distance of the fitted propensities of original and synthetic rows.
    """
    found = fitted_scores(comparison, tolerance=tolerance, memory=memory)
    return tuple(distance(scores, ends) for scores, ends in found)


def fitted_scores(
    comparison: Comparison, *, tolerance: float = TOLERANCE, memory: Memory | None = None
) -> Iterator[tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]:
    """Log odds of the distinct rows of the original and of each set, and how often they occur."""
    layout = Layout.of(comparison)
    original = layout.grouped(comparison.original)
    kept = Memory() if memory is None else memory
    state = kept.state if kept.numbers == layout.numbers else None
    for rows in comparison.sets:
        synthetic = layout.grouped(rows)
        search = Search(layout, (original, synthetic))
        state = search.run(state, tolerance)
        yield search.scores(state.estimate), (original.count, synthetic.count)
    kept.numbers, kept.state = layout.numbers, state


def distance(scores: tuple[Floats, Floats], counts: tuple[Floats, Floats]) -> float:
    """Kolmogorov-Smirnov distance of two weighted samples; ties are taken jointly.

    Args:
        scores: values of both, of shapes (k,) and (l,).
        counts: how often each occurs.

    Example:
        >>> distance((np.array([1.0, 2.0]), np.array([2.0])), (np.array([3, 1]), np.array([5])))
        0.75
    """
    joined = np.concatenate(scores)
    order = np.argsort(joined, kind="stable")
    distributions = []
    for k, count in enumerate(counts):
        weight = np.zeros(len(joined))
        start = 0 if k == 0 else len(scores[0])
        weight[start : start + len(count)] = count / count.sum()
        distributions.append(np.cumsum(weight[order]))
    ordered = joined[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return float(np.abs(distributions[0] - distributions[1])[last].max())


@dataclass(frozen=True)
class Search:
    """The maximum of the penalised likelihood of one set against the original.

    Attributes:
        layout: the parameters.
        tables: distinct rows of the original and of the set.
    """

    layout: Layout
    tables: tuple[Grouped, Grouped]

    def run(self, start: State | None, tolerance: float) -> State:
        """Newton's method with halved steps; an information matrix is kept while it serves.

        Args:
            start: where to begin; all parameters 0 if None.
            tolerance: the search ends when the decrement, twice what the likelihood can still rise
                by as far as its curvature tells, is below this.
        """
        estimate = np.zeros(self.layout.n_parameters) if start is None else start.estimate
        scores = self.scores(estimate)
        factor = self._factor(scores) if start is None else start.factor
        before = np.inf  # decrement of the last step, if it was made with this factor
        for _ in range(_STEPS):
            gradient = self._gradient(scores, estimate)
            step = linalg.cho_solve(factor, gradient)
            decrement = float(gradient @ step)
            if decrement < tolerance:
                break
            if decrement > _SLOW * before:
                factor, before = self._factor(scores), np.inf
                continue
            estimate, scores = self._ahead(estimate, scores, step, decrement)
            before = decrement
        return State(estimate, factor)

    def scores(self, estimate: Floats) -> tuple[Floats, Floats]:
        """Log odds of the distinct rows of both tables."""
        weights = np.zeros(self.layout.parameter.shape)
        weights[self.layout.parameter >= 0] = estimate
        first, second = (row_scores(table.active, weights) for table in self.tables)
        return first, second

    def _ahead(
        self, estimate: Floats, scores: tuple[Floats, Floats], step: Floats, decrement: float
    ) -> tuple[Floats, tuple[Floats, Floats]]:
        """A step, halved until the likelihood rises by a part of what it promises."""
        value, length = self._value(scores, estimate), 1.0
        for _ in range(_HALVINGS):
            ahead = estimate + length * step
            reached = self.scores(ahead)
            if self._value(reached, ahead) >= value + 1e-4 * length * decrement:
                break
            length /= 2
        return ahead, reached

    def _value(self, scores: tuple[Floats, Floats], estimate: Floats) -> float:
        original, synthetic = self.tables
        lost = original.count @ np.logaddexp(0, scores[0])
        lost += synthetic.count @ np.logaddexp(0, -scores[1])
        return float(-lost - _penalty(len(estimate)) @ estimate**2 / 2)

    def _gradient(self, scores: tuple[Floats, Floats], estimate: Floats) -> Floats:
        original, synthetic = self.tables
        found = -_penalty(len(estimate)) * estimate
        residuals = (-original.count * expit(scores[0]), synthetic.count * expit(-scores[1]))
        for table, residual in zip(self.tables, residuals, strict=True):
            add_gradient(table.active, residual, self.layout.parameter, found)
        return found

    def _factor(self, scores: tuple[Floats, Floats]) -> tuple[Any, Any]:
        n = self.layout.n_parameters
        upper = np.zeros((n, n))
        for table, one in zip(self.tables, scores, strict=True):
            mean = expit(one)
            add_information(
                table.active, table.count * mean * (1 - mean), self.layout.parameter, upper
            )
        upper[np.diag_indices(n)] += _penalty(n)
        return linalg.cho_factor(upper, lower=False, overwrite_a=True, check_finite=False)  # type: ignore[no-any-return]


def _penalty(n: int) -> Floats:
    """Precision of the prior; a trace of it for the intercept keeps the matrix regular."""
    precision = np.full(n, PRIOR_SD**-2)
    precision[0] = 1e-8
    return precision
