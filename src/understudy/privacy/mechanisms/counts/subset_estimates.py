"""What each subset of records says of a mean, a correlation or a coefficient; kernels.

Each number follows from the records of its own subset alone, *to the last bit*: a kernel goes
through them one after the other, in their order, and adds up as it goes. Sums that a library takes
apart for speed could depend on where in memory a subset begins, which other records decide.

A subset that tells nothing (too few records, a term that follows from the others, no convergence, a
number that overflows) gives NaN; nothing is raised.

Small subsets are biased, above all where a column is skewed; each estimate is corrected so that
about half of the subsets lie above the truth:

* a mean by μ̂₃/(6σ̂²m), by which its median falls short (Johnson 1978, "Modified t tests and
  confidence intervals for asymmetrical populations", his expansion of the median);
* a correlation by r/(2(m − 1)) on the scale of artanh (Fisher 1921; Hotelling 1953);
* coefficients of a logistic regression by the score of Firth (1993), "Bias reduction of maximum
  likelihood estimates", which is finite under separation too (Heinze & Schemper 2002).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from understudy.arrays import Floats, Integers, compiled

LEAST: Final = 1e-9
"""A term follows from others if less of its length than this is left beside them."""
_STEPS: Final = 60
_LONGEST: Final = 3.0  # of a step of Newton's, for terms of variance about 1
_CLOSE: Final = 1e-8


@compiled
def means(values: Floats, starts: Integers) -> Floats:
    """Mean of each subset, corrected for its skewness.

    Args:
        values: of the records, subset by subset, shape (n,).
        starts: where each subset begins, and the end of the last, shape (k + 1,).

    Returns:
        Shape (k,); NaN for a subset without records.
    """
    found = np.full(len(starts) - 1, np.nan)
    for s in range(len(found)):
        m = starts[s + 1] - starts[s]
        if m == 0:
            continue
        total = 0.0
        for i in range(starts[s], starts[s + 1]):
            total += values[i]
        mean, second, third = total / m, 0.0, 0.0
        for i in range(starts[s], starts[s + 1]):
            gap = values[i] - mean
            second += gap * gap
            third += gap * gap * gap
        found[s] = mean + (third / (6 * m * second) if second > 0 else 0.0)
    return found


@compiled
def correlations(x: Floats, y: Floats, starts: Integers) -> Floats:
    """Correlation within each subset, as artanh, corrected for its bias.

    Args:
        x: of the records, subset by subset, shape (n,).
        y: likewise.
        starts: where each subset begins, and the end of the last, shape (k + 1,).

    Returns:
        Shape (k,); NaN for fewer than three records, or where a column is constant.
    """
    found = np.full(len(starts) - 1, np.nan)
    for s in range(len(found)):
        m = starts[s + 1] - starts[s]
        if m < 3:
            continue
        x_sum, y_sum = 0.0, 0.0
        for i in range(starts[s], starts[s + 1]):
            x_sum += x[i]
            y_sum += y[i]
        xx, yy, xy = 0.0, 0.0, 0.0
        for i in range(starts[s], starts[s + 1]):
            x_gap, y_gap = x[i] - x_sum / m, y[i] - y_sum / m
            xx += x_gap * x_gap
            yy += y_gap * y_gap
            xy += x_gap * y_gap
        if xx > 0 and yy > 0:
            r = xy / np.sqrt(xx) / np.sqrt(yy)
            found[s] = np.arctanh(min(max(r, -1.0), 1.0)) - r / (2 * (m - 1))
    return found


@compiled
def last_coefficients(design: Floats, outcome: Floats, starts: Integers, logit: bool) -> Floats:
    """Coefficient of the last term in each subset, by least squares or a logistic regression.

    Terms before it that follow from others, such as a level that no record of the subset has, are
    left out; the last coefficient is the same whichever of them stay.

    Args:
        design: terms of the records, subset by subset, shape (n, p).
        outcome: shape (n,); 0 or 1 for a logistic regression.
        starts: where each subset begins, and the end of the last, shape (k + 1,).
        logit: whether it is a logistic one.

    Returns:
        Shape (k,); NaN where the subset does not tell.
    """
    found = np.full(len(starts) - 1, np.nan)
    for s in range(len(found)):
        first, end = starts[s], starts[s + 1]
        unit, kept, length = _orthonormal(design[first:end])
        if length == 0.0 or kept >= end - first:
            continue
        if logit:
            root = np.sqrt(end - first)
            for j in range(kept):
                for i in range(end - first):
                    unit[j, i] *= root
            found[s] = _firth(unit[:kept], outcome[first:end]) * root / length
        else:
            found[s] = _dot(unit[kept - 1], outcome[first:end]) / length
    return found


@compiled
def _orthonormal(design: Floats) -> tuple[Floats, int, float]:
    """Orthonormal terms, how many stay, and what is left of the last; 0 if it does not stay.

    By the modified method of Gram and Schmidt, in the order of the terms. Shape (p, m); those that
    stay come first.
    """
    m, p = design.shape
    unit, kept, rest = np.empty((p, m)), 0, 0.0
    for j in range(p):
        for i in range(m):
            unit[kept, i] = design[i, j]
        whole = np.sqrt(_dot(unit[kept], unit[kept]))
        for q in range(kept):
            along = _dot(unit[q], unit[kept])
            for i in range(m):
                unit[kept, i] -= along * unit[q, i]
        rest = np.sqrt(_dot(unit[kept], unit[kept]))
        if rest > LEAST * whole and rest < np.inf:
            for i in range(m):
                unit[kept, i] /= rest
            kept += 1
        else:
            rest = 0.0
    return unit, kept, rest


@compiled
def _firth(terms: Floats, outcome: Floats) -> float:
    """The last coefficient of a logistic regression by Firth's score; NaN without convergence.

    Args:
        terms: orthogonal, of mean square 1, shape (p, m).
        outcome: 0 or 1, shape (m,).
    """
    p, m = terms.shape
    beta, mean, weight = np.zeros(p), np.empty(m), np.empty(m)
    for _ in range(_STEPS):
        for i in range(m):
            mean[i] = 1 / (1 + np.exp(-_dot(beta, terms[:, i].copy())))
            weight[i] = mean[i] * (1 - mean[i])
        information = _products(terms, weight)
        if not _factor(information):
            return np.nan
        score = np.zeros(p)
        for i in range(m):
            half = _forward(information, terms[:, i].copy())
            leverage = weight[i] * _dot(half, half)
            for j in range(p):
                score[j] += (outcome[i] - mean[i] + leverage * (0.5 - mean[i])) * terms[j, i]
            weight[i] *= 1 + leverage
        # Of the score as it is, y + h/2 − (1 + h)·π, with leverages held: without them it circles.
        slope = _products(terms, weight)
        if not _factor(slope):
            return np.nan
        step = _backward(slope, _forward(slope, score))
        size = np.max(np.abs(step))
        if not size < np.inf:
            return np.nan
        for j in range(p):
            beta[j] += step[j] * min(1.0, _LONGEST / max(size, _CLOSE))
        if size < _CLOSE:
            return float(beta[p - 1])
    return np.nan


@compiled
def _products(terms: Floats, weight: Floats) -> Floats:
    """Weighted sums of products of two terms, below and on the diagonal, shape (p, p)."""
    p, m = terms.shape
    found = np.zeros((p, p))
    for i in range(m):
        for j in range(p):
            for q in range(j + 1):
                found[j, q] += weight[i] * terms[j, i] * terms[q, i]
    return found


@compiled
def _factor(matrix: Floats) -> bool:
    """Cholesky's factor in the place of a lower triangle; whether there is one."""
    for j in range(len(matrix)):
        for i in range(j, len(matrix)):
            for q in range(j):
                matrix[i, j] -= matrix[i, q] * matrix[j, q]
            if i == j:
                if not matrix[j, j] > 0:
                    return False
                matrix[j, j] = np.sqrt(matrix[j, j])
            else:
                matrix[i, j] /= matrix[j, j]
    return True


@compiled
def _forward(lower: Floats, right: Floats) -> Floats:
    """The solution x of L·x = right."""
    x = right.copy()
    for i in range(len(x)):
        for q in range(i):
            x[i] -= lower[i, q] * x[q]
        x[i] /= lower[i, i]
    return x


@compiled
def _backward(lower: Floats, right: Floats) -> Floats:
    """The solution x of Lᵀ·x = right."""
    x = right.copy()
    for i in range(len(x) - 1, -1, -1):
        for q in range(i + 1, len(x)):
            x[i] -= lower[q, i] * x[q]
        x[i] /= lower[i, i]
    return x


@compiled
def _dot(left: Floats, right: Floats) -> float:
    """Sum of products, one after the other."""
    total = 0.0
    for i in range(len(left)):
        total += left[i] * right[i]
    return total
