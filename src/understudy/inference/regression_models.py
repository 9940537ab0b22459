"""Regression models on each of several synthetic sets.

The design is laid out once for all sets together, so that `poly`, `center`, `bs` and the levels of
a factor mean the same in each set, and coefficients can be pooled. A level that occurs in some sets
only is an error: its coefficient cannot be estimated in the others.

Covariances: `ols` and `poisson` heteroscedasticity-consistent, HC1 (White 1980 with n/(n - p)),
since neither equal variances nor variance = mean is plausible; `logit` from the information matrix,
which a binary outcome leaves little to say against.

**Separation.** A logistic model has no finite estimate if some combination x'β is nowhere negative
where y = 1 and nowhere positive where y = 0, without being 0 everywhere. Iterations then run off
until they happen to stop, with an estimate that means nothing. Warnings of fitting programs neither
find all such cases nor only such cases; a linear programme decides it exactly (`find_separation`).
A Poisson model has none if x'β is 0 wherever y > 0, and nowhere positive, without being 0
everywhere.

Sources: Albert & Anderson (1984), Biometrika 71, 1-10; Konis (2007), "Linear programming
algorithms for detecting separated data in binary logistic regression models", thesis, Oxford;
Santos Silva & Tenreyro (2010), Economics Letters 107, 310-312, for Poisson.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy import linalg

from understudy._arrays import Floats
from understudy.errors import InferenceError, TooFewError
from understudy.inference import formulas
from understudy.inference.glm import FAMILIES, Family, solution
from understudy.inference.second_moments import LostInNoiseError

COVARIANCE = {
    "ols": "standard errors within each set are heteroscedasticity-consistent (HC1)",
    "poisson": "standard errors within each set are heteroscedasticity-consistent (HC1)",
    "logit": "standard errors within each set come from the information matrix",
}
_INTERCEPT = "Intercept"
_LARGE_PREDICTOR = 10.0  # beyond e^±10 look whether the likelihood has a maximum
_RANK = 1e-9
_ROUNDING = 1e-8
_TOLERANCE = 1e-7


class Designs(NamedTuple):
    """Outcome and predictors of each set.

    Attributes:
        names: p names of the coefficients.
        outcome: name of the outcome.
        pairs: outcome, shape (n,), and design, shape (n, p), of each set.
        layout: by which other numbers in these records are laid out in the same way.
        stacked: the records of all sets.
    """

    names: tuple[str, ...]
    outcome: str
    pairs: list[tuple[Floats, Floats]]
    layout: Any
    stacked: pd.DataFrame


def designs(
    kind: str, formula: str, frames: Sequence[pd.DataFrame], *, every_level: bool = False
) -> Designs:
    """Outcome and predictors of each set, by one layout for all of them.

    Args:
        kind: "ols", "logit" or "poisson".
        formula: with an outcome.
        frames: complete records of each set.
        every_level: of the schema, and not only those that some record has.

    Raises:
        InferenceError: the formula cannot be computed, or its outcome does not fit the kind.
    """
    stacked = pd.concat(frames, ignore_index=True)
    for name in () if every_level else stacked.columns[stacked.dtypes == "category"]:
        stacked[name] = stacked[name].cat.remove_unused_categories()
    both = formulas.matrices(formula, stacked)
    name, y, x = finite_values(kind, formula, both)
    cuts = np.cumsum([len(frame) for frame in frames])[:-1]
    pairs = list(zip(np.split(y, cuts), np.split(x, cuts), strict=True))
    return Designs(tuple(both.rhs.columns), name, pairs, both.model_spec, stacked)


def finite_values(kind: str, formula: str, both: Any) -> tuple[str, Floats, Floats]:
    """Name and values of the outcome, and the design."""
    name, y = _outcome(kind, both.lhs)
    x = both.rhs.to_numpy(dtype=np.float64)
    if not (np.isfinite(y).all() and np.isfinite(x).all()):
        raise InferenceError(
            f"The formula {formula!r} gives values that are not finite in complete records; change "
            "it, such as log(income) to log(income + 1)."
        )
    return name, y, x


def _outcome(kind: str, left: pd.DataFrame) -> tuple[str, Floats]:
    """Name and values of the outcome; of two levels the second one counts as 1."""
    if left.shape[1] > (2 if kind == "logit" else 1):
        raise InferenceError(formulas.not_an_outcome(kind))
    values = left.to_numpy(dtype=np.float64)[:, -1]
    name = str(left.columns[-1])
    finite = values[np.isfinite(values)]
    if kind == "logit" and not np.isin(finite, (0.0, 1.0)).all():
        raise InferenceError(
            f"The outcome of the kind logit must have two levels, or be 0 and 1; {name!r} has "
            f"other values, so write such as '{{{name} > 0}} ~ …'."
        )
    if kind == "poisson" and (finite < 0).any():
        raise InferenceError(f"The outcome of the kind poisson cannot be negative; {name!r} is.")
    return name, values


def fit(kind: str, laid: Designs, k: int) -> tuple[Floats, Floats]:
    """Coefficients of one set and their covariance.

    Args:
        kind: "ols", "logit" or "poisson".
        laid: the designs of all sets.
        k: which set, from 0.

    Returns:
        Shapes (p,) and (p, p); a variance is 0 where the outcome does not vary among the records
        that decide the coefficient.

    Raises:
        InferenceError: a coefficient cannot be estimated in this set; says which and why.
    """
    y, x = laid.pairs[k]
    _require_estimable(laid, y, x, k)
    if kind == "ols":
        estimates = np.asarray(np.linalg.lstsq(x, y)[0])
    else:
        estimates = _most_likely(kind, laid, k)
    found = influences(kind, y, x, estimates)
    robust = found.own.T @ found.own * (len(y) / (len(y) - x.shape[1]))
    return estimates, _without_rounding(found.inverse if kind == "logit" else robust, y, x)


class Influences(NamedTuple):
    """Influence of records on the coefficients of one set.

    Attributes:
        kind: of the model.
        beta: coefficients, shape (p,).
        inverse: A⁻¹, shape (p, p).
        own: influence of each record as it is, shape (n, p).
    """

    kind: str
    beta: Floats
    inverse: Floats
    own: Floats

    def of(self, y: Floats, x: Floats) -> Floats:
        """Influence of other records, shape (n, p)."""
        return np.asarray(
            x * (y - _FAMILIES[self.kind].mean(x @ self.beta))[:, None] @ self.inverse
        )


_FAMILIES: Final = {
    "ols": Family(mean=np.asarray, slope=np.ones_like, potential=lambda eta: eta**2 / 2),
    **FAMILIES,
}


def influences(kind: str, y: Floats, x: Floats, beta: Floats) -> Influences:
    """Compute how much each record moves the coefficients: A⁻¹x(y - μ), with A = Σ w·xx'."""
    family, linear = _FAMILIES[kind], x @ beta
    # Of the design itself: products of its columns have half the digits.
    root = np.linalg.pinv(x * np.sqrt(family.slope(linear))[:, None])
    inverse = np.asarray(root @ root.T)
    return Influences(kind, beta, inverse, x * (y - family.mean(linear))[:, None] @ inverse)


def _without_rounding(covariance: Floats, y: Floats, x: Floats) -> Floats:
    """Variances that are rounding as the 0 that they are, say of an intercept if y is 0 there.

    Beside the variance that a coefficient would have were the outcome without relation to it.
    """
    spread = x.std(axis=0)
    unit = y.std() / (np.where(spread > 0, spread, 1.0) * np.sqrt(len(y)))
    with np.errstate(invalid="ignore"):
        certain = np.sqrt(np.diag(covariance)) < _ROUNDING * unit
    return np.where(certain[:, None] | certain, 0.0, covariance)


def _require_estimable(laid: Designs, y: Floats, x: Floats, k: int) -> None:
    """Refuse too few records, a constant, an absent level, a column that follows from others."""
    where = f"in set {k + 1}"
    if len(y) <= x.shape[1]:
        raise TooFewError(
            f"There are {len(y)} complete records {where}, too few for {x.shape[1]} coefficients."
        )
    if np.ptp(y) == 0:
        raise TooFewError(f"The outcome {laid.outcome!r} is constant {where}.")
    for name, column in zip(laid.names, x.T, strict=True):
        if not column.any():
            raise TooFewError(
                f"The coefficient of {name!r} cannot be estimated {where}: no record there has it; "
                "leave the column out, or take coarser levels."
            )
        if name != _INTERCEPT and np.ptp(column) == 0 and _INTERCEPT in laid.names:
            raise TooFewError(f"The predictor {name!r} is constant {where}; leave it out.")
    dependent = _dependent(x)
    if len(dependent):
        names = ", ".join(repr(laid.names[j]) for j in dependent)
        raise TooFewError(
            f"The coefficients cannot be told apart {where}: {names} follows from the other "
            "predictors; leave it out."
        )


def _dependent(x: Floats) -> list[int]:
    """Columns that are linear combinations of the others, by QR with pivoting."""
    scaled = x / np.linalg.norm(x, axis=0)
    r, order = linalg.qr(scaled, mode="r", pivoting=True)
    sizes = np.abs(np.diag(r[: x.shape[1]]))
    return [int(j) for j in order[sizes < _RANK * len(x)]]


def _most_likely(kind: str, laid: Designs, k: int) -> Floats:
    """Coefficients of the largest likelihood; a fit that has none is refused."""
    y, x = laid.pairs[k]
    try:
        beta = solution(FAMILIES[kind], x, np.ones(len(y)), x.T @ y)
        linear, converged = x @ beta, True
        if max(np.ptp(linear), np.abs(linear).max()) < _LARGE_PREDICTOR:
            return beta
    except LostInNoiseError:
        converged = False
    direction = find_separation(kind, y, x)
    if direction is not None:
        guilty = [n for n, d in zip(laid.names, direction, strict=True) if abs(d) > 1e-6]
        terms = [name for name in guilty if name != _INTERCEPT] or guilty
        raise TooFewError(
            f"The {kind} model has no finite estimate in set {k + 1}: {', '.join(terms[:4])} "
            f"predict{'s' if len(terms) == 1 else ''} {laid.outcome!r} perfectly for some records "
            "(separation); leave out or merge what separates them."
        )
    if not converged:
        raise TooFewError(
            f"The {kind} model did not converge in set {k + 1}; bring the predictors to a similar "
            "scale, or take fewer."
        )
    return beta


def find_separation(kind: str, outcome: Floats, design: Floats) -> Floats | None:
    """A direction along which the likelihood only grows, or None.

    Args:
        kind: "logit" or "poisson".
        outcome: 0 or 1, or counts, shape (n,).
        design: shape (n, p), of full column rank.

    Returns:
        Weights of the terms, shape (p,), the largest of them 1 in size; or None if the maximum
        exists. Columns of the design are first brought to a largest size of 1.
    """
    scaled = design / np.abs(design).max(axis=0)
    records = np.unique(np.column_stack([outcome > 0, scaled]), axis=0)
    positive, x = records[:, 0] > 0, records[:, 1:]
    if kind == "logit":
        fixed, grows = np.empty((0, x.shape[1])), np.where(positive[:, None], x, -x)
    else:
        fixed, grows = x[positive], -x[~positive]
    if not len(grows):
        return None
    from scipy.optimize import linprog  # takes long, and few answers need it

    optimum = linprog(
        c=-grows.sum(axis=0),
        A_ub=-grows,
        b_ub=np.zeros(len(grows)),
        A_eq=fixed if len(fixed) else None,
        b_eq=np.zeros(len(fixed)) if len(fixed) else None,
        bounds=(-1, 1),
        method="highs",
    )
    if not optimum.success or -optimum.fun <= _TOLERANCE * len(grows):
        return None
    return np.asarray(optimum.x / np.abs(optimum.x).max())
