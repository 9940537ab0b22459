r"""Elastic-net multinomial logistic regression of a column on indicators of other columns.

Fitted by scikit-learn's `LogisticRegression`: over intercepts b_c and coefficients W_{f,c} of
indicators f and states c it minimises

    Σᵢ wᵢ · −log softmax(b + xᵢW)_{yᵢ}  +  λ · (r · ‖W‖₁ + (1 − r)/2 · ‖W‖²),   Σᵢ wᵢ = 1,

where xᵢ holds one indicator for each column that the column is regressed on (its user guide,
"Logistic regression", with C = 1/(nλ) and l1_ratio = r; Friedman, Hastie & Tibshirani 2010,
equation 21). Of two states it regresses the second alone, and penalises that one's coefficients.
The solver is SAGA (Defazio, Bach & Lacoste-Julien 2014), whose step is that of rows of weight 1
at most: weights are scaled to a largest one of 1, as heavier rows would throw it off. It begins at
the shares of the states, because its intercepts move slowly where indicators are sparse.

What a fit finds is exact statistics: CONFIDENTIAL. No guarantee rests on it
(`understudy.privacy.mechanisms.records.imputation_draws`). Whatever the rows are, a fit comes to an
end and says nothing, if its caller silences warnings: visits of rows are counted, absent states get
no coefficients, and where the solver gives up, the plain shares of the states take its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, get_index_dtype
from scipy.special import softmax

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FINE: Final = (1e-3, 100_000)
"""When a fit ends: relative change of the coefficients in a pass, or so many visits of rows."""
_COARSE: Final = (1e-2, 20_000)
"""Enough to compare penalties."""
_LARGEST: Final = 1e9
"""Of a coefficient; even without a penalty no visit of a row moves one by more than 2."""
_LEAST_SHARE: Final = 1e-6
"""Of a state, where the loss of held-out rows is measured: one that was never seen costs 14."""


def indicators_of(places: Integers, n_indicators: int) -> Any:
    """Sparse design of rows that are given by the places of the indicators that are 1.

    Args:
        places: shape (n, columns).
        n_indicators: how many indicators there are.

    Returns:
        A `csr_array` of shape (n, n_indicators).
    """
    n, columns = places.shape
    index = get_index_dtype(maxval=max(places.size, n_indicators))  # SAGA takes 32 bits alone
    ones, starts = np.ones(places.size), np.arange(n + 1, dtype=index) * index(columns)
    return csr_array((ones, places.reshape(-1).astype(index), starts), shape=(n, n_indicators))


@dataclass(frozen=True)
class Regression:
    """Coefficients of a column's states. CONFIDENTIAL.

    Attributes:
        intercepts: shape (states,); −∞ for states that no row has.
        weights: shape (indicators, states).
    """

    intercepts: Floats
    weights: Floats

    def probabilities(self, indicators: Any) -> Floats:
        """Fitted probabilities of the states.

        Args:
            indicators: design of `indicators_of`, shape (n, indicators).

        Returns:
            Shape (n, states); rows sum to 1 up to rounding.
        """
        shares: Floats = softmax(indicators @ self.weights + self.intercepts, axis=1)
        return shares


@dataclass(frozen=True)
class Observations:
    """Rows of a regression. CONFIDENTIAL.

    Attributes:
        indicators: design of `indicators_of`, shape (n, indicators).
        states: shape (n,).
        weights: non-negative, shape (n,).
        n_states: how many states the column has.
    """

    indicators: Any
    states: Integers
    weights: Floats
    n_states: int

    def take(self, rows: NDArray[np.bool_]) -> Observations:
        """Some of the rows."""
        return Observations(
            self.indicators[rows], self.states[rows], self.weights[rows], self.n_states
        )

    def loss(self, regression: Regression) -> float:
        """Weighted sum of −log p of the states."""
        p = regression.probabilities(self.indicators)[np.arange(len(self.states)), self.states]
        return float(-(self.weights * np.log(np.maximum(p, _LEAST_SHARE))).sum())


def fit_path(
    sample: Observations,
    penalties: Floats,
    mixing: float,
    seed: int,
    ending: tuple[float, int] = _FINE,
) -> list[Regression]:
    """Regressions at falling penalties, each fit beginning where the last one ended.

    Args:
        sample: rows; none will do, and so will rows of a single state.
        penalties: λ ≥ 0, the largest first.
        mixing: r in [0, 1]: 0 is ridge, 1 is lasso.
        seed: of the order in which rows are visited, from 0 to 2³² − 1.
        ending: relative change of the largest coefficient in a pass over the rows at which a fit
            ends, and about how many visits of rows end it at the latest.
    """
    sample = sample.take(sample.weights > 0)
    shares = np.bincount(sample.states, sample.weights, sample.n_states).astype(np.float64)
    start = _plain(shares if shares.any() else shares + 1, sample.indicators.shape[1])
    if np.count_nonzero(shares) < 2 or not sample.indicators.nnz:
        return [start] * len(penalties)
    weights = sample.weights / sample.weights.max()
    model = _begun(start, mixing, seed, ending, len(weights))
    path: list[Regression] = []
    for penalty in penalties:
        try:
            model.C = 1 / float(penalty * weights.sum()) if penalty else np.inf
            model.fit(sample.indicators, sample.states, weights)
        except (ValueError, ArithmeticError):  # numbers that are not finite, penalties near ∞
            return path + [start] * (len(penalties) - len(path))
        path.append(_fitted(model, start))
    return path


def best_penalty(
    sample: Observations, grid: Floats, mixing: float, folds: Integers, seed: int
) -> float:
    """The penalty of a grid that predicts held-out rows best, times the number of rows fitted.

    Args:
        sample: rows.
        grid: n·λ, n the rows fitted, the largest first.
        mixing: r in [0, 1].
        folds: part of each row, shape (n,); each part is held out once.
        seed: as in `fit_path`.
    """
    losses = np.zeros(len(grid))
    for fold in np.unique(folds):
        fitted, held = sample.take(folds != fold), sample.take(folds == fold)
        penalties = grid / max(1, len(fitted.states))
        path = fit_path(fitted, penalties, mixing, seed, _COARSE)
        losses += [held.loss(regression) for regression in path]
    return float(grid[np.argmin(losses)])


def _plain(shares: Floats, n_indicators: int) -> Regression:
    """The shares of the states, whatever the indicators are."""
    intercepts = np.full(len(shares), -np.inf)
    np.log(shares / shares.sum(), where=shares > 0, out=intercepts)
    return Regression(intercepts, np.zeros((n_indicators, len(shares))))


def _begun(
    start: Regression, mixing: float, seed: int, ending: tuple[float, int], n: int
) -> LogisticRegression:
    """The solver, with coefficients to begin at; two states share one row of them."""
    from sklearn.linear_model import LogisticRegression

    tolerance, visits = ending
    model = LogisticRegression(
        solver="saga",
        l1_ratio=mixing,
        tol=tolerance,
        max_iter=1 + visits // n,
        random_state=seed,
        warm_start=True,
    )
    logs = start.intercepts[np.isfinite(start.intercepts)]
    model.intercept_ = logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()
    model.coef_ = np.zeros((len(model.intercept_), len(start.weights)))
    return model


def _fitted(model: LogisticRegression, start: Regression) -> Regression:
    """What was found, with the absent states; the plain shares if a number is not finite."""
    b, w = model.intercept_, model.coef_
    if not max(np.abs(b).max(), np.abs(w).max()) < _LARGEST:  # NaN is not below it
        return start
    intercepts, weights = np.full_like(start.intercepts, -np.inf), np.zeros_like(start.weights)
    intercepts[model.classes_] = 0.0
    states = model.classes_[-len(b) :]  # of two states only the second one has coefficients
    intercepts[states], weights[:, states] = b, w.T
    return Regression(intercepts, weights)
