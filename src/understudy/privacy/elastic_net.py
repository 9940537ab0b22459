r"""Elastic-net multinomial logistic regression of a column on indicators of other columns.

Minimises, over intercepts b_c and coefficients W_{f,c} of indicators f and states c,

    Σᵢ wᵢ · −log softmax(b + xᵢW)_{yᵢ}  +  λ · (r · ‖W‖₁ + (1 − r)/2 · ‖W‖²),   Σᵢ wᵢ = 1,

where xᵢ holds one indicator for each column that the column is regressed on (Friedman, Hastie &
Tibshirani 2010, equation 21; scikit-learn's C is 1/(nλ)). What a fit finds is exact statistics:
CONFIDENTIAL. No guarantee rests on it (`understudy.privacy.imputation`).

**Descent.** Accelerated proximal gradient steps (Beck & Teboulle 2009), momentum dropped where it
points uphill (O'Donoghue & Candès 2015). Indicators are centred, which leaves the problem as it is,
because intercepts are free, and its Hessian with blocks: it is at most ½ diag(1, κD), D the shares
of the indicators and κ the largest eigenvalue of D^{−½}X'XD^{−½} (softmax: Böhning 1992). So each
indicator has a step of its own, and rare states are learned as fast as common ones.

Whatever the rows are, a fit comes to an end and says nothing: steps are counted, absent states get
no coefficients, and what is not finite is given up for the plain shares of the states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.elastic_kernels import (
    Floats,
    Integers,
    descend,
    largest_eigenvalue,
    predict,
)

_MOST_STEPS: Final = 200
_TOLERANCE: Final = 1e-3
"""Held-out losses then differ from those at the minimum by less than 0.1 %."""
_COARSE: Final = 1e-2
"""Enough to compare penalties, in a fifth of the time."""
_POWER_STEPS: Final = 20
_MARGIN: Final = 1.1
"""Power iteration approaches the largest eigenvalue from below."""
_LEAST_SHARE: Final = 1e-6
"""Of a state, where the loss of held-out rows is measured: one that was never seen costs 14."""


@dataclass(frozen=True)
class Regression:
    """Coefficients of a column's states. CONFIDENTIAL.

    Attributes:
        intercepts: shape (states,); −∞ for states that no row has.
        weights: shape (indicators, states).
    """

    intercepts: Floats
    weights: Floats

    def probabilities(self, indicators: Integers) -> Floats:
        """Fitted probabilities of the states.

        Args:
            indicators: places of the indicators that are 1, shape (n, columns).

        Returns:
            Shape (n, states); rows sum to 1 up to rounding.
        """
        found = np.empty((len(indicators), len(self.intercepts)))
        predict(indicators, self.intercepts, self.weights, found)
        return found


@dataclass(frozen=True)
class Observations:
    """Rows of a regression. CONFIDENTIAL.

    Attributes:
        indicators: places of the indicators that are 1, shape (n, columns).
        states: shape (n,).
        weights: non-negative, with a positive sum, shape (n,).
        n_indicators: how many indicators there are.
        n_states: how many states the column has.
    """

    indicators: Integers
    states: Integers
    weights: Floats
    n_indicators: int
    n_states: int

    def take(self, rows: NDArray[np.bool_]) -> Observations:
        """Some of the rows."""
        kept = self.indicators[rows], self.states[rows], self.weights[rows]
        return Observations(*kept, self.n_indicators, self.n_states)

    def loss(self, regression: Regression) -> float:
        """Weighted sum of −log p of the states."""
        p = regression.probabilities(self.indicators)[np.arange(len(self.states)), self.states]
        return float(-(self.weights * np.log(np.maximum(p, _LEAST_SHARE))).sum())


def fit_path(
    sample: Observations,
    penalties: Floats,
    mixing: float,
    *,
    tolerance: float = _TOLERANCE,
    most_steps: int = _MOST_STEPS,
) -> list[Regression]:
    """Regressions at falling penalties, each descent beginning where the last one ended.

    Args:
        sample: rows; none will do, and so will rows of a single state.
        penalties: λ ≥ 0, the largest first.
        mixing: r in [0, 1]: 0 is ridge, 1 is lasso.
        tolerance: a descent ends when a step is shorter, in the metric in which it is steepest.
        most_steps: of a descent.
    """
    total = sample.weights.sum()
    if not total > 0:
        return [_plain(np.ones(sample.n_states), sample.n_indicators)] * len(penalties)
    weights = sample.weights / total
    shares: Floats = np.bincount(sample.states, weights, sample.n_states).astype(np.float64)
    present = np.flatnonzero(shares)
    start = _plain(shares, sample.n_indicators)
    if len(present) == 1:
        return [start] * len(penalties)
    place = np.zeros(sample.n_states, dtype=np.int64)
    place[present] = np.arange(len(present))
    centre, steps = _metric(sample, weights)
    w = np.zeros((1 + sample.n_indicators, len(present)))
    w[0] = np.log(shares[present])
    found = []
    for penalty in penalties:
        descend(
            sample.indicators,
            place[sample.states],
            weights,
            (centre, steps),
            w,
            (penalty * mixing, penalty * (1 - mixing)),
            (most_steps, tolerance),
        )
        found.append(_scattered(w[0] - centre @ w, w[1:], present, start))
    return found


def tuned(
    sample: Observations, penalties: Floats, mixing: float, folds: Integers
) -> tuple[Regression, float]:
    """The regression at the penalty that predicts held-out rows best.

    Args:
        sample: rows.
        penalties: λ ≥ 0, the largest first.
        mixing: r in [0, 1].
        folds: part of each row, shape (n,); each part is held out once.

    Returns:
        The regression of all rows, and its penalty.
    """
    losses = np.zeros(len(penalties))
    for fold in np.unique(folds):
        path = fit_path(sample.take(folds != fold), penalties, mixing, tolerance=_COARSE)
        held = sample.take(folds == fold)
        losses += [held.loss(one) for one in path]
    best = int(np.argmin(losses))
    return fit_path(sample, penalties[best : best + 1], mixing)[0], float(penalties[best])


def _plain(shares: Floats, n_indicators: int) -> Regression:
    """The shares of the states, whatever the indicators are."""
    intercepts = np.full(len(shares), -np.inf)
    np.log(shares / shares.sum(), where=shares > 0, out=intercepts)
    return Regression(intercepts, np.zeros((n_indicators, len(shares))))


def _scattered(b: Floats, w: Floats, present: Integers, start: Regression) -> Regression:
    """A copy, with the absent states; the plain shares if a number is not finite."""
    if not (np.isfinite(b).all() and np.isfinite(w).all()):
        return start
    intercepts, weights = np.full_like(start.intercepts, -np.inf), np.zeros_like(start.weights)
    intercepts[present], weights[:, present] = b, w
    return Regression(intercepts, weights)


def _metric(sample: Observations, weights: Floats) -> tuple[Floats, Floats]:
    """Centres and steps of the intercept and of the indicators; no steps of what is never 1."""
    n_columns, f = sample.indicators.shape[1], sample.n_indicators
    each = np.repeat(weights, n_columns)
    centre: Floats = np.bincount(sample.indicators.reshape(-1), each, f).astype(np.float64)
    scale = np.zeros(f)
    np.divide(1, np.sqrt(centre), where=centre > 0, out=scale)
    largest = largest_eigenvalue(sample.indicators, weights, centre, scale, _POWER_STEPS)
    bound = min(max(1.0, _MARGIN * largest), float(max(1, n_columns)))
    # ½ bounds the softmax; the intercept's indicator is 1 and is not centred.
    return np.append(0.0, centre), np.append(2.0, 2 * scale**2 / bound)
