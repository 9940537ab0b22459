"""Coefficients of a linear regression from noisy normal equations: post-processing throughout.

The noisy statistics (`understudy.mechanisms.regression`) are laid out as a
symmetric matrix A, that of the products of (1, x₁, …, x_d), and a vector b, that of their products
with the response; all columns are scaled to [−1, 1]. Coefficients minimise βᵀAβ − 2bᵀβ, which has a
minimum only if A is positive definite, and a noisy A need not be. Then it is repaired (Zhang et al.
2012, §6):

* **"ridge"** adds λ = 4 standard deviations of the noise in one number to the diagonal, for Laplace
  noise 4·√2·Δ₁/ε. A matrix that is still not positive definite is trimmed after that.
* **"trim"** removes the eigenvectors of eigenvalues that are not positive, and minimises over the
  span of the others. If none is left, all coefficients are 0: the middle of the bounds.

Slopes and intercept are then put back into the units of the columns.

**No standard errors.** Neither mechanism comes with any: repaired or not, the coefficients are a
non-linear function of the noise, biased, and far off where an eigenvalue happens to be small. The
noisy statistics are kept with their noise, for whoever wants to model it.

**A regression with its errors, kept together with the release that it was answered from.**
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Floats
from understudy.dp.accountant import Entry
from understudy.dp.guarantee import Guarantee
from understudy.dp.released import Noise, Released
from understudy.errors import InferenceError, suggestion
from understudy.mechanisms.regression import NoisyRegression, NormalEquations
from understudy.release.release import Release
from understudy.schema.expressions import read_name

if TYPE_CHECKING:
    import pandas as pd

    from understudy.inference.analysis import Analysis


Repair = Literal["ridge", "trim"]
REPAIRS: Final = ("ridge", "trim")
INTERCEPT: Final = "Intercept"
RIDGE: Final = 4.0
"""Standard deviations of the noise that a ridge adds."""

_SMALLEST: Final = 1e-12  # of the largest eigenvalue: below it is what rounding leaves of 0
_NAME = r"(?:`(?:[^`]|``)+`|[^\W\d][\w.]*)"
_FORMULA = re.compile(rf"\s*({_NAME})\s*~\s*({_NAME}(?:\s*\+\s*{_NAME})*)\s*")


class Solved(NamedTuple):
    """Coefficients, and how they came about.

    Attributes:
        coefficients: intercept, then slopes, shape (..., d + 1).
        repaired: where the matrix was not positive definite, shape (...).
    """

    coefficients: Floats
    repaired: NDArray[np.bool_]


@dataclass(frozen=True)
class PrivateRegression:
    """A linear regression under differential privacy, without standard errors.

    Attributes:
        formula: as it was asked.
        coefficients: "Intercept" and the names of the predictors, in the units of the columns
            (dates: days since 1970-01-01).
        mechanism: that made the noisy statistics.
        repair: what is done to a matrix that is not positive definite.
        repaired: whether it was not.
        noisy: the noisy statistics, for other post-processing.
        noise: in each of them, in records.
        guarantee: what is promised.
        ledger: what was paid.
    """

    formula: str
    coefficients: Mapping[str, float]
    mechanism: str
    repair: Repair
    repaired: bool
    noisy: NoisyRegression
    noise: Noise
    guarantee: Guarantee
    ledger: tuple[Entry, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data, without the noisy statistics."""
        return {
            "kind": "ols",
            "formula": self.formula,
            "mechanism": self.mechanism,
            "coefficients": dict(self.coefficients),
            "repair": self.repair,
            "repaired": self.repaired,
            "guarantee": self.guarantee.to_json(),
            "ledger": [entry.to_json() for entry in self.ledger],
        }

    def __repr__(self) -> str:
        """One line."""
        terms = ", ".join(f"{name} {value:.6g}" for name, value in self.coefficients.items())
        return f"PrivateRegression({self.formula}; {self.guarantee.brief}; {terms})"


def read_formula(formula: str) -> tuple[str, tuple[str, ...]]:
    """Response and predictors of "y ~ x1 + x2".

    Raises:
        InferenceError: anything but sums of column names.

    Example:
        >>> read_formula("income ~ age + `years at school`")
        ('income', ('age', 'years at school'))
    """
    match = _FORMULA.fullmatch(formula)
    if match is None:
        raise InferenceError(
            f"The formula {formula!r} cannot be read: expected names of columns, 'income ~ age + "
            "size', in back-ticks where they have spaces or signs. An intercept is always included."
        )
    response, *predictors = re.findall(_NAME, formula)
    return read_name(response), tuple(map(read_name, predictors))


def require_repair(repair: str) -> None:
    """Refuse an unknown way to repair.

    Raises:
        InferenceError: unknown.
    """
    if repair not in REPAIRS:
        raise InferenceError(
            f"There is no repair {repair!r}{suggestion(repair, REPAIRS)}; take one of "
            f"{', '.join(REPAIRS)}."
        )


def matrices(
    statistics: ArrayLike, equations: NormalEquations, n_rows: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """The symmetric matrix A and the vector b of the normal equations.

    Args:
        statistics: shape (..., size), in records.
        equations: which statistics.
        n_rows: number of records, shape (...), where it is not one of the statistics.

    Returns:
        Shapes (..., d + 1, d + 1) and (..., d + 1).
    """
    values = np.asarray(statistics, dtype=np.float64)
    p = equations.predictors + 1
    if equations.counted:
        count, values = values[..., :1], values[..., 1:]
    else:
        assert n_rows is not None
        count = np.broadcast_to(np.asarray(n_rows, dtype=np.float64), values.shape[:-1])
        count = count[..., np.newaxis]
    # Products of all columns with 1, x₁, …, x_d, y, but for y·y: a full matrix lacking its corner.
    full = np.zeros((*values.shape[:-1], p + 1, p + 1))
    upper = tuple(index[:-1] for index in np.triu_indices(p + 1))
    full[..., upper[0], upper[1]] = np.concatenate([count, values], axis=-1)
    full[..., upper[1], upper[0]] = full[..., upper[0], upper[1]]
    return full[..., :p, :p], full[..., :p, p]


def solve(gram: ArrayLike, cross: ArrayLike, *, stddev: float, repair: Repair = "ridge") -> Solved:
    """Minimise βᵀAβ − 2bᵀβ, repairing A where it is not positive definite.

    Args:
        gram: A, symmetric, shape (..., k, k).
        cross: b, shape (..., k).
        stddev: standard deviation of the noise in one number of A; sets the ridge.
        repair: "ridge" or "trim".
    """
    eigenvalues, vectors = np.linalg.eigh(np.asarray(gram, dtype=np.float64))
    least = _SMALLEST * np.abs(eigenvalues).max(axis=-1, keepdims=True)
    deficient = eigenvalues[..., :1] <= least
    if repair == "ridge":
        eigenvalues = eigenvalues + deficient * (RIDGE * stddev)
    kept = eigenvalues > least
    inverse = np.divide(1.0, eigenvalues, out=np.zeros_like(eigenvalues), where=kept)
    along = np.einsum("...ji,...j->...i", vectors, np.asarray(cross, dtype=np.float64))
    return Solved(np.einsum("...ij,...j->...i", vectors, along * inverse), deficient[..., 0])


def in_units(coefficients: ArrayLike, bounds: Sequence[tuple[float, float]]) -> Floats:
    """Coefficients of columns in [−1, 1] as those of the columns in their own units.

    Args:
        coefficients: intercept, then slopes, shape (..., d + 1).
        bounds: lower and upper bound of each predictor, then of the response.

    Returns:
        The same shape.
    """
    scaled = np.asarray(coefficients, dtype=np.float64)
    low, high = np.asarray(bounds, dtype=np.float64).T
    middle, half = low + (high - low) / 2, (high - low) / 2
    slopes = scaled[..., 1:] * (half[-1] / half[:-1])
    intercept = middle[-1] + half[-1] * scaled[..., 0] - slopes @ middle[:-1]
    return np.concatenate([intercept[..., np.newaxis], slopes], axis=-1)


def coefficients(
    statistics: ArrayLike,
    equations: NormalEquations,
    bounds: Sequence[tuple[float, float]],
    *,
    stddev: float,
    n_rows: ArrayLike | None = None,
    repair: Repair = "ridge",
) -> Solved:
    """From noisy statistics to coefficients in the units of the columns.

    Args:
        statistics: shape (..., size), in records; leading axes are repetitions.
        equations: which statistics.
        bounds: lower and upper bound of each predictor, then of the response.
        stddev: standard deviation of the noise in one statistic, in records.
        n_rows: number of records, shape (...), where it is not one of the statistics.
        repair: "ridge" or "trim".
    """
    gram, cross = matrices(statistics, equations, n_rows)
    solved = solve(gram, cross, stddev=stddev, repair=repair)
    return Solved(in_units(solved.coefficients, bounds), solved.repaired)


def private_regression(
    released: Released[NoisyRegression],
    formula: str,
    repair: Repair,
    *,
    guarantee: Guarantee,
    ledger: tuple[Entry, ...],
) -> PrivateRegression:
    """Release the answer of a regression; `guarantee` and `ledger` are those of the gate."""
    noisy = released.value
    solved = coefficients(
        noisy.statistics,
        noisy.equations,
        noisy.bounds,
        stddev=released.noise.stddev,
        n_rows=noisy.n_rows,
        repair=repair,
    )
    names = (INTERCEPT, *noisy.columns[:-1])
    return PrivateRegression(
        formula=formula,
        coefficients=dict(zip(names, solved.coefficients.tolist(), strict=True)),
        mechanism=released.mechanism,
        repair=repair,
        repaired=bool(solved.repaired),
        noisy=noisy,
        noise=released.noise,
        guarantee=guarantee,
        ledger=ledger,
    )


_LOST = "No coefficient can be told, though the budget is spent"


@dataclass(frozen=True)
class RegressionRelease:
    """A regression with its errors, and the release that it was answered from.

    Attributes:
        release: of the formula's columns; other questions to it cost nothing.
        analysis: the estimates; None where the answer is lost in the noise.
        refused: why there is none; "" if there is one.
    """

    release: Release
    analysis: Analysis | None
    refused: str = ""

    @classmethod
    def of(cls, release: Release, level: float = 0.95) -> RegressionRelease:
        """Read from a release the answer to the analysis that was declared for it.

        A refusal is an answer too: what was paid for must not be lost by it.

        Args:
            release: of one declared analysis.
            level: confidence level of the intervals shown.
        """
        from understudy.inference.analyze import analyze_release

        (asked,) = release.manifest.analyses
        try:
            found = analyze_release(release, asked["kind"], asked["formula"], level=level)
        except InferenceError as error:
            reason = getattr(error, "reason", str(error)).rstrip(".")
            return cls(release, None, f"{_LOST}: {reason}.")
        return cls(release, found)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release."""
        return self.release.guarantee

    @property
    def ledger(self) -> tuple[dict[str, Any], ...]:
        """Ledger of what was paid, as plain data."""
        return self.release.manifest.ledger

    @property
    def coefficients(self) -> dict[str, float]:
        """Estimates by their names.

        Raises:
            InferenceError: there is no answer.
        """
        pooled = self._require_answer().pooled
        return dict(zip(pooled.names, pooled.estimate.tolist(), strict=True))

    def to_frame(self) -> pd.DataFrame:
        """One row per coefficient: estimate, standard error, interval, p-value.

        Raises:
            InferenceError: there is no answer.
        """
        return self._require_answer().to_frame()

    def to_json(self) -> dict[str, Any]:
        """Plain data: the analysis or why there is none, guarantee and ledger."""
        (asked,) = self.release.manifest.analyses
        found = self.analysis.to_json() if self.analysis else {**asked, "refused": self.refused}
        return {**found, "guarantee": self.guarantee.to_json(), "ledger": list(self.ledger)}

    def save(self, path: str | Path) -> Path:
        """Write the release to a new folder; see `Release.save`.

        Raises:
            ReleaseError: the folder exists and is not empty, or cannot be written.
        """
        return self.release.save(path)

    def __repr__(self) -> str:
        """As it is printed."""
        return str(self)

    def __str__(self) -> str:
        """The table with its notes, or why there is none; and the promise."""
        return f"{self.analysis or self.refused}\n{self.guarantee.statement}"

    def _require_answer(self) -> Analysis:
        if self.analysis is None:
            raise InferenceError(self.refused)
        return self.analysis
