"""Outcomes of multinomial logits, drawn by inversion from the linear predictors of `features`.

P(k) ∝ exp(η_k), where outcome 0 is the reference with η = 0. What is drawn is the first outcome
whose cumulative probability exceeds the uniform number.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from understudy.features.design import Floats, Integers, Linear, Parents, predictors


def outcomes_of(linear: Linear, parents: Parents, uniforms: Floats) -> Integers:
    """Draw an outcome for each record; outcome 0 is the reference.

    Args:
        linear: predictors of the m other outcomes.
        parents: their records.
        uniforms: in (0, 1), shape (n,).

    Returns:
        Shape (n,), from 0 to m.
    """
    weights = _below_top(predictors(linear, parents))
    return np.asarray(_pick(np.exp(weights, out=weights), uniforms))


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]  # no types
def _below_top(predictors: Floats) -> Floats:
    """Predictors of all outcomes less the largest, the reference's 0 first; shape (n, 1 + m)."""
    n, m = predictors.shape
    found = np.empty((n, m + 1))
    for i in range(n):
        top = 0.0
        for k in range(m):
            top = max(top, predictors[i, k])
        found[i, 0] = -top
        for k in range(m):
            found[i, k + 1] = predictors[i, k] - top
    return found


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _pick(weights: Floats, uniforms: Floats) -> Integers:
    """The first outcome up to which the share of the weights exceeds the uniform number."""
    found = np.empty(len(uniforms), dtype=np.int64)
    for i in range(len(uniforms)):
        row = weights[i]
        level = uniforms[i] * row.sum()
        state, below = 0, row[0]
        while state < len(row) - 1 and below <= level:
            state += 1
            below += row[state]
        found[i] = state
    return found
