"""Kernels of the elastic net: gradient, proximal step, probabilities. All they see is CONFIDENTIAL.

Rows are given by the places of their indicators that are 1, so a row costs columns × states.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.rejection import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def largest_eigenvalue(
    indicators: Integers, weights: Floats, centre: Floats, scale: Floats, steps: int
) -> float:
    """Of D^{−½}X'XD^{−½}, X the centred indicators, by power iteration.

    Args:
        indicators: places of the indicators that are 1, shape (n, columns).
        weights: of the rows, shape (n,).
        centre: shares D of the indicators.
        scale: D^{−½}, 0 where the share is 0.
        steps: how many.
    """
    n, d = indicators.shape
    f = len(centre)
    v = np.cos(1.0 + np.arange(f) * 2.399963)
    value = 0.0
    for _ in range(steps):
        v = v * scale
        mean = (centre * v).sum()
        image = np.zeros(f)
        total = 0.0
        for i in range(n):
            z = -mean
            for j in range(d):
                z += v[indicators[i, j]]
            z *= weights[i]
            total += z
            for j in range(d):
                image[indicators[i, j]] += z
        v = (image - total * centre) * scale
        value = np.sqrt((v * v).sum())
        if not value > 0.0:
            return 0.0
        v = v / value
    return value


@compiled
def descend(  # noqa: PLR0917  # numba takes no keywords
    indicators: Integers,
    states: Integers,
    row_weights: Floats,
    scales: tuple[Floats, Floats],
    found: Floats,
    penalties: tuple[float, float],
    ending: tuple[int, float],
) -> int:
    """Descend with centred indicators; the loss is in `understudy.privacy.elastic_net`.

    Args:
        indicators: places of the indicators that are 1, shape (n, columns).
        states: shape (n,).
        row_weights: shape (n,), of sum 1.
        scales: centre and step of the intercept and of each indicator, shape (1 + indicators,).
        found: where to begin, and, in place, what is found, shape (1 + indicators, states).
        penalties: of absolute values, and of squares.
        ending: most steps, and the length of a step that is the last one.

    Returns:
        Steps taken.
    """
    centre, steps = scales
    ahead, gradient = found.copy(), np.empty(found.shape)
    momentum = 1.0
    for step in range(ending[0]):
        _gradient(indicators, states, row_weights, centre, ahead, gradient)
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0
        pull = (momentum - 1.0) / following
        moved = uphill = 0.0
        for j in range(len(steps)):
            if steps[j] > 0.0:
                lasso, ridge = (penalties[0], penalties[1]) if j > 0 else (0.0, 0.0)
                far, up = _move(found[j], ahead[j], gradient[j], steps[j], lasso, ridge, pull)
                moved, uphill = moved + far, uphill + up
        momentum = following
        if uphill > 0.0:
            momentum = 1.0
            ahead[:] = found
        if moved < ending[1] * ending[1]:
            return step + 1
    return ending[0]


@compiled
def _gradient(  # noqa: PLR0917
    indicators: Integers,
    states: Integers,
    row_weights: Floats,
    centre: Floats,
    ahead: Floats,
    gradient: Floats,
) -> None:
    """Of the loss; row 0 belongs to the intercept, and row 1 + f to indicator f."""
    n, d = indicators.shape
    c = ahead.shape[1]
    gradient[:] = 0.0
    base = ahead[0] - centre @ ahead
    logits = np.empty(c)
    for i in range(n):
        logits[:] = base
        for j in range(d):
            row = ahead[1 + indicators[i, j]]
            for k in range(c):
                logits[k] += row[k]
        _softmax(logits, row_weights[i])
        logits[states[i]] -= row_weights[i]
        gradient[0] += logits
        for j in range(d):
            row = gradient[1 + indicators[i, j]]
            for k in range(c):
                row[k] += logits[k]
    for j in range(1, len(centre)):
        gradient[j] -= centre[j] * gradient[0]


@compiled
def _move(  # noqa: PLR0917
    found: Floats,
    ahead: Floats,
    gradient: Floats,
    size: float,
    lasso: float,
    ridge: float,
    pull: float,
) -> tuple[float, float]:
    """A proximal step of one row: its squared length, and how far momentum pointed uphill."""
    moved = uphill = 0.0
    for k in range(len(found)):
        new = ahead[k] - size * gradient[k]
        new = np.sign(new) * max(abs(new) - size * lasso, 0.0) / (1.0 + size * ridge)
        moved += (new - ahead[k]) ** 2 / size
        uphill += (ahead[k] - new) * (new - found[k]) / size
        ahead[k] = new + pull * (new - found[k])
        found[k] = new
    return moved, uphill


@compiled
def _softmax(logits: Floats, total: float) -> None:
    """Turn logits into probabilities times a total, in place."""
    top, mass = logits.max(), 0.0
    for k in range(len(logits)):
        logits[k] = np.exp(logits[k] - top)
        mass += logits[k]
    for k in range(len(logits)):
        logits[k] *= total / mass


@compiled
def predict(indicators: Integers, intercepts: Floats, weights: Floats, out: Floats) -> None:
    """Probabilities of the states of each row, written to `out`, shape (n, states)."""
    n, d = indicators.shape
    for i in range(n):
        row = out[i]
        row[:] = intercepts
        for j in range(d):
            row += weights[indicators[i, j]]
        _softmax(row, 1.0)
