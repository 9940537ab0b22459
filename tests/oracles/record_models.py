"""Densities of single records at public candidates, each from its own record alone.

`censored_likelihood` rests on that: what a record contributes must not depend on
the others, to the last bit. So nothing here is a product of matrices, whose sums some libraries
arrange by the number of rows: `NormalRegression` sums in one fixed order, in additions and
multiplications that are each rounded as the standard says, and `Tabulated` looks up a public table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import compiled
from understudy.errors import MethodError

Floats = NDArray[np.float64]

_HALF_LOG_2PI: Final = 0.5 * math.log(2 * math.pi)


def normal_ceiling(smallest_stddev: float) -> float:
    """Supremum of log f, normal or mixture of normals, σ ≥ σ_min: -log(σ_min·√(2π)).

    Attained by one normal at its mean; a mixture is a mean of values below it.

    Args:
        smallest_stddev: σ_min, public.

    Raises:
        MethodError: a σ_min that is not positive: the density has no bound.
    """
    if not 0 < smallest_stddev < math.inf:
        raise MethodError("A density has a ceiling only above a positive standard deviation.")
    return -math.log(smallest_stddev) - _HALF_LOG_2PI


@dataclass(frozen=True, eq=False)
class NormalRegression:
    """y ~ N(x'β, σ²); a record is (y, x₁, …, x_p), θ is (β₁, …, β_p, σ).

    Attributes:
        points: public candidates, shape (G, p + 1), σ > 0 last.

    Raises:
        MethodError: a candidate that is not finite, or σ that is not positive.
    """

    points: Floats

    def __post_init__(self) -> None:
        """Check what is public."""
        if self.points.ndim != 2 or not np.all(np.isfinite(self.points)):
            raise MethodError("Candidates are rows of finite coefficients and one σ.")
        if not np.all(self.points[:, -1] > 0):
            raise MethodError("The standard deviation of a candidate must be positive.")

    @property
    def ceiling(self) -> float:
        """Supremum of log f over all records and the candidates."""
        return normal_ceiling(float(self.points[:, -1].min()))

    def log_densities(self, records: Floats) -> Floats:
        """Logarithms of f(y | x, θ), shape (m, G); records of shape (m, p + 1)."""
        scales = self.points[:, -1]
        offsets = np.log(scales) + _HALF_LOG_2PI
        return _normal(
            np.ascontiguousarray(records, dtype=np.float64),
            np.ascontiguousarray(self.points[:, :-1].T),
            1 / scales,
            offsets,
        )


@compiled
def _normal(records: Floats, slopes: Floats, precisions: Floats, offsets: Floats) -> Floats:
    """-r²/2 - log σ√(2π) with r = (y - x'β)/σ, for each record and candidate (kernel)."""
    found = np.empty((records.shape[0], offsets.size))
    for i in range(records.shape[0]):
        row = found[i]
        for g in range(row.size):
            row[g] = records[i, 0]
        for j in range(slopes.shape[0]):
            for g in range(row.size):
                row[g] -= records[i, j + 1] * slopes[j, g]
        for g in range(row.size):
            residual = row[g] * precisions[g]
            row[g] = -0.5 * residual * residual - offsets[g]
    return found


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Any law over public states, written out; a record is (state,).

    A record with another number than that of a state counts as one that says nothing of θ.

    Attributes:
        points: public candidates, shape (G, p).
        table: log f of each state at each candidate, shape (states, G); -∞ where it is impossible.

    Raises:
        MethodError: a table of another width than the candidates.
    """

    points: Floats
    table: Floats

    def __post_init__(self) -> None:
        """Check what is public."""
        if self.table.ndim != 2 or self.table.shape[1] != len(self.points):
            raise MethodError("The table of densities needs a column for each candidate.")

    def log_densities(self, records: Floats) -> Floats:
        """Logarithms of f(state | θ), shape (m, G); records of shape (m, 1)."""
        known = np.vstack([self.table, np.full((1, len(self.points)), np.nan)])
        states = records[:, 0]
        inside = (states >= 0) & (states < len(self.table)) & (states == np.floor(states))
        return known[np.where(inside, states, len(self.table)).astype(np.intp)]
