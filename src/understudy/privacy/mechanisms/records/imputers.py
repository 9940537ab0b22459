"""Regressions of each column on all others, fitted to rows: what an imputation draws from.

No ε rests on any of this: `understudy.privacy.mechanisms.records.imputation_draws` perturbs
whatever probabilities come out of it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.extras import require_extra
from understudy.privacy.mechanisms.records.elastic_net import (
    Floats,
    Integers,
    Observations,
    Regression,
    best_penalty,
    fit_path,
    indicators_of,
)
from understudy.privacy.noise.randomness import Randomness

MOST_STATES: Final = 8_000
"""States of all columns together: coefficients number about the square of it."""

_FOLDS: Final = 3
_PENALTIES: Final = np.array([30.0, 10.0, 3.0, 1.0])
"""Grid of n·λ: a penalty is a prior, which loses weight as rows are added."""
_USUAL: Final = 3.0
_TUNED_ROWS: Final = range(100, 2_001)
"""Rows that penalties are compared on; fewer cannot tell them apart, and have the usual one."""


@dataclass(frozen=True, kw_only=True)
class Imputation:
    """Specification: elastic-net regressions of each column on all others, and sweeps over them.

    Attributes:
        sweeps: how often each column of a record is drawn.
        penalty: λ of the elastic net; None: the best of a public grid, by cross-validation on
            2,000 rows, or the usual one where there are fewer than 100.
        mixing: share of the absolute penalty in it, from 0 (ridge) to 1 (lasso).
        most_rows: fitted to a random choice of so many rows, if there are more.
    """

    sweeps: int = 1
    penalty: float | None = None
    mixing: float = 0.5
    most_rows: int = 10_000


@dataclass(frozen=True)
class Imputers:
    """A regression for each column. CONFIDENTIAL.

    Attributes:
        regressions: one for each column; they share one numbering of all columns' states.
        offsets: number of the first state of each column in it.
    """

    regressions: tuple[Regression, ...]
    offsets: tuple[int, ...]

    def probabilities(self, column: int, states: Sequence[Integers]) -> Floats:
        """Fitted probabilities of a column's states, given the other columns.

        Args:
            column: its place.
            states: one array per column, each of shape (n,); that of the column is not looked at.

        Returns:
            Shape (n, size).
        """
        regression = self.regressions[column]
        indicators = _indicators(states, self.offsets, column, len(regression.weights))
        return regression.probabilities(indicators)


def require_imputable(sizes: Sequence[int]) -> None:
    """Refuse columns with too many states, or a missing library; a public check.

    Raises:
        MethodError: more than `MOST_STATES`, or scikit-learn is not installed.
    """
    require_extra("evaluate", "A method that imputes")
    if sum(sizes) > MOST_STATES:
        raise MethodError(
            f"The columns have {sum(sizes):,} states together, too many to regress each column on "
            f"all others (at most {MOST_STATES:,}); take coarser bins or fewer columns."
        )


def fit_imputers(
    states: Sequence[NDArray[np.integer]],
    sizes: Sequence[int],
    imputation: Imputation,
    randomness: Randomness,
    *,
    weights: Floats | None = None,
) -> Imputers:
    """Regress each column on all others; columns side by side, on all processors.

    Args:
        states: rows, one array per column, each of shape (n,), in domain; none will do.
        sizes: number of states of each column.
        imputation: how.
        randomness: chooses rows, if there are too many, the folds of the cross-validation, and the
            order in which the solver visits rows.
        weights: of the rows, non-negative, shape (n,); equal if None.
    """
    offsets = tuple(int(sum(sizes[:j])) for j in range(len(sizes)))
    order = randomness.permutation(len(states[0]))[: imputation.most_rows]
    seeds = randomness.below(2**31, len(sizes)).tolist()
    rows = [np.asarray(column[order], dtype=np.int64) for column in states]
    used = np.ones(len(order)) if weights is None else weights[order]

    def regression(j: int) -> Regression:
        indicators = _indicators(rows, offsets, j, sum(sizes))
        sample = Observations(indicators, rows[j], used, sizes[j])
        return _regression(sample, imputation, seeds[j])

    longest_first = sorted(range(len(sizes)), key=lambda j: -sizes[j])
    # Filters of warnings belong to the process, so they are set here, before threads begin.
    with warnings.catch_warnings(), ThreadPoolExecutor(os.cpu_count()) as pool:
        warnings.simplefilter("ignore")
        regressions = dict(zip(longest_first, pool.map(regression, longest_first), strict=True))
    return Imputers(tuple(regressions[j] for j in range(len(sizes))), offsets)


def _regression(sample: Observations, imputation: Imputation, seed: int) -> Regression:
    """Fit at the given penalty, or at the best one; the order of the rows is random."""
    if imputation.penalty is not None:
        penalty = imputation.penalty
    else:
        penalty = _best(sample, imputation.mixing, seed) / max(1, len(sample.states))
    return fit_path(sample, np.array([penalty]), imputation.mixing, seed)[0]


def _best(sample: Observations, mixing: float, seed: int) -> float:
    """The best n·λ of the grid."""
    if len(sample.states) < _TUNED_ROWS.start:
        return _USUAL
    few = sample.take(np.arange(len(sample.states)) < _TUNED_ROWS[-1])
    return best_penalty(few, _PENALTIES, mixing, np.arange(len(few.states)) % _FOLDS, seed)


def _indicators(
    states: Sequence[Integers], offsets: Sequence[int], column: int, n_indicators: int
) -> Any:
    """Design of the indicators of all columns but one."""
    others = [codes + offset for codes, offset in zip(states, offsets, strict=True)]
    del others[column]
    shape = (len(states[0]), len(others))
    return indicators_of(np.array(others, dtype=np.int64).reshape(shape[::-1]).T, n_indicators)
