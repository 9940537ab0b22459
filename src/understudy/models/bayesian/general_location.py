"""Cells with a normal distribution in each, of one covariance: the general location model.

The cell of a record is multinomial with shares π; given cell k, its p numbers are N(μ_k, Σ). Prior:
Dirichlet(α) for π and p(μ, Σ) ∝ |Σ|^(−(p+1)/2). With counts n_k, sums by cell of (x − middle of the
bounds), and the scatter S pooled within cells, all of them noisy or not, the posterior is drawn
after the statistics were put into their admissible set:

* x̄_k = middle + sum_k / max(n_k, 1), clipped to the bounds; the middle where n_k ≤ 0;
* S: sums of squares clipped to [0, nR²/4], then the nearest positive definite matrix;
* Σ ~ InvWishart(ν, S), μ_k ~ N(x̄_k, Σ/max(n_k, 1)), π ~ Dirichlet(α + max(n_k, 0)), and numbers are
  clipped to the bounds.

**Degrees of freedom.** ν = max(n − number of occupied cells, p + 2). Exact counts tell how many
cells are occupied. Of noisy ones only the positive part is known, so the expected number
Σ 1 − (1 − π_k)^n is taken, which is K where every cell has many records.

**Cells without a number.** A column can be absent from a cell (its state is a code or a spike).
Its value there means nothing, and it adds nothing to sums and scatter. Then S_jl / ν_jl, each with
the degrees of freedom of the cells that have both numbers, estimates Σ_jl. Σ is drawn with the
largest ν_jj, and the scale of each column that has fewer is widened by an independent factor so
that Σ_jj has the posterior of its own ν_jj. This is a simplification: the exact posterior of such a
pattern is not inverse Wishart, and correlations are taken for a little more certain than they are.

**Edges.** With fewer than 2 records, all means are in the middle of the bounds and Σ is
(R_j/6)² on the diagonal, as in `normal`. One cell and p = 1 is the model `normal` (n ≥ 4), one
cell the multivariate normal model.

Sources: Olkin & Tate (1961); Little & Rubin (2002), ch. 14; Liu (2016); Bowen & Liu (2020), §4.3.
Unlike there, the statistics are sums, whose sensitivity does not depend on a private n_k.

Covariance matrices: the nearest admissible scatter, and the inverse Wishart distribution.

All functions take leading axes of repetitions and have no loop over them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.models.bayesian import dirichlet_multinomial
from understudy.models.bayesian.bayesian_model import Drawn
from understudy.models.bayesian.normal import STDDEVS_WIDE

_LEAST_SHARE = 1e-12  # of a Beta variate, which can be 0 in floating point


@dataclass(frozen=True)
class Statistics:
    """What the model needs of the rows, exact or noisy.

    Attributes:
        counts: records in each cell, shape (..., K).
        sums: of (x − middle of the bounds) by cell, in units of the columns, shape (..., K, p).
        scatter: pooled within cells, shape (..., p, p), symmetric.
        n_rows: number of records if it is known better than by the sum of the counts, shape (...)
            or a plain number.
        exact: whether the counts are without noise.
    """

    counts: Floats
    sums: Floats
    scatter: Floats
    n_rows: float | Floats | None = None
    exact: bool = False


@dataclass(frozen=True)
class Parameters:
    """A draw from the posterior.

    Attributes:
        shares: π, shape (..., K).
        means: μ in units of the columns, shape (..., K, p).
        root: F with F Fᵀ = Σ, in units of the columns, shape (..., p, p).
    """

    shares: Floats
    means: Floats
    root: Floats


@dataclass(frozen=True)
class Mixture:
    """The model of cells and p numbers.

    Attributes:
        bounds: public bounds of the numbers, shape (p, 2).
        present: which numbers a record of a cell has, shape (K, p).
        allowed: cells that can occur, shape (K,).
        prior: α of each allowed cell, in records.

    Example:
        Two cells with one number in [0, 10], whose means are 2 and 8:

        >>> model = Mixture(np.array([[0.0, 10.0]]), np.full((2, 1), True), np.full(2, True))
        >>> found = Statistics(
        ...     np.array([500.0, 1500.0]), np.array([[-1500.0], [4500.0]]), np.array([[2000.0]])
        ... )
        >>> theta = model.posterior(found, np.random.default_rng(1))
        >>> theta.means.round(0).tolist(), theta.shares.round(1).tolist()
        ([[2.0], [8.0]], [0.3, 0.7])
    """

    bounds: Floats
    present: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    prior: float = dirichlet_multinomial.PRIOR

    @property
    def _middle(self) -> Floats:
        return np.asarray(self.bounds.mean(axis=-1))

    @property
    def _range(self) -> Floats:
        return np.asarray(self.bounds[:, 1] - self.bounds[:, 0])

    def posterior(self, statistics: Statistics, rng: np.random.Generator) -> Parameters:
        """Draw π, μ and Σ."""
        counts = np.asarray(statistics.counts, dtype=np.float64)
        shares = dirichlet_multinomial.posterior(
            counts, rng, prior=self.prior, allowed=self.allowed
        )
        records, degrees = self._pairs(statistics, self._n_rows(statistics), shares)
        given = self._root(statistics.scatter, records, degrees)
        factor = _diagonal(degrees)
        # In units of the ranges, and back: the floor of the eigenvalues has no unit.
        root = inverse_wishart_root(given, factor.max(axis=-1), rng) * self._range[:, None]
        root *= _widened(factor, rng)[..., None]
        centres = self._centres(counts, statistics.sums)
        normal = rng.standard_normal(centres.shape) @ np.swapaxes(root, -1, -2)
        means = centres + normal / np.sqrt(np.maximum(counts, 1))[..., None]
        return Parameters(shares, means, root)

    def predict(self, parameters: Parameters, n_rows: int, rng: np.random.Generator) -> Drawn:
        """Draw records."""
        cells = dirichlet_multinomial.records(
            dirichlet_multinomial.predict(parameters.shares, n_rows, rng), rng
        )
        return Drawn(cells, self.numbers(parameters, cells, rng))

    def numbers(
        self, parameters: Parameters, cells: NDArray[np.int64], rng: np.random.Generator
    ) -> Floats:
        """Numbers for records of given cells, shape (..., n) → (..., n, p)."""
        p = len(self.bounds)
        values: Floats = rng.standard_normal((*cells.shape, p)) @ np.swapaxes(
            parameters.root, -1, -2
        )
        values += np.take_along_axis(parameters.means, cells[..., None], axis=-2)
        return np.asarray(np.clip(values, self.bounds[:, 0], self.bounds[:, 1]), dtype=np.float64)

    def _n_rows(self, statistics: Statistics) -> Floats:
        """Number of records, shape (...): the known one, or the sum of the counts, at least 0."""
        total = statistics.counts[..., self.allowed].sum(axis=-1)
        known = total if statistics.n_rows is None else statistics.n_rows
        return np.asarray(np.maximum(np.broadcast_to(known, total.shape), 0), dtype=np.float64)

    def _pairs(
        self, statistics: Statistics, n_rows: Floats, shares: Floats
    ) -> tuple[Floats, Floats]:
        """For each pair of columns: records that have both, and ν_jl; both of shape (..., p, p)."""
        p = len(self.bounds)
        having = (self.present & self.allowed[:, None]).astype(np.float64)
        both = (having[:, :, None] * having[:, None, :]).reshape(-1, p * p)
        if statistics.exact:
            occupied = (statistics.counts > 0).astype(np.float64)
        else:
            # 1 − (1 − π)^n, without cancelling where π is small.
            missed = np.log1p(-np.minimum(shares, 1 - 1e-15)) * n_rows[..., None]
            occupied = -np.expm1(missed)
        everywhere = both.sum(axis=0) == self.allowed.sum()
        total = n_rows[..., None]
        records = np.where(everywhere, total, np.clip(statistics.counts @ both, 0, total))
        degrees = np.maximum(records - occupied @ both, p + 2)
        lead = n_rows.shape
        return records.reshape(*lead, p, p), degrees.reshape(*lead, p, p)

    def _root(self, scatter: Floats, records: Floats, degrees: Floats) -> Floats:
        """Root of an admissible S for the common ν, in units of the ranges."""
        common = _diagonal(degrees).max(axis=-1)[..., None]
        # Each number of the range 1 adds at most ¼ to a sum of squares.
        most = _diagonal(records) / 4 * common / _diagonal(degrees)
        scaled = scatter / (self._range[:, None] * self._range) * common[..., None] / degrees
        unknown = np.eye(len(self.bounds)) * np.sqrt(common)[..., None] / STDDEVS_WIDE
        few = np.all(_diagonal(records) < 2, axis=-1, keepdims=True)[..., None]
        return np.where(few, unknown, admissible_root(scaled, most))

    def _centres(self, counts: Floats, sums: Floats) -> Floats:
        """x̄_k, shape (..., K, p)."""
        shifted = np.where(counts > 0, 1 / np.maximum(counts, 1), 0.0)[..., None] * sums
        return np.clip(self._middle + shifted, self.bounds[:, 0], self.bounds[:, 1])


def _widened(degrees: Floats, rng: np.random.Generator) -> Floats:
    """Factors by which the scale of each column is widened, shape (..., p), for its own ν_jj.

    Σ_jj ~ S_jj / χ²(ν − p + 1), and χ²(a)·Beta(b/2, (a − b)/2) is χ²(b).
    """
    most = degrees.max(axis=-1, keepdims=True)
    fewer = degrees < most
    if not fewer.any():
        return np.ones_like(degrees)
    below = degrees.shape[-1] - 1
    lost = np.where(fewer, most - degrees, 1.0)
    kept = np.maximum(rng.beta((degrees - below) / 2, lost / 2), _LEAST_SHARE)
    return np.where(fewer, np.sqrt(degrees / most / kept), 1.0)


def _diagonal(matrices: Floats) -> Floats:
    return np.asarray(np.diagonal(matrices, axis1=-2, axis2=-1))


FLOOR = 1e-8
"""Least eigenvalue of a scatter of numbers that are in units of their range."""


def admissible_root(scatter: Floats, most: Floats) -> Floats:
    """A root C, S = C Cᵀ, of the nearest scatter matrix S that numbers within bounds could have.

    Sums of squares are clipped to [0, most], products to what Cauchy and Schwarz allow; then
    eigenvalues below a small floor are raised to it (the nearest such matrix in the Frobenius
    norm; Higham 1988). The root is made of eigenvectors, so no factorisation can fail.

    Args:
        scatter: symmetric, of centred sums of products, in units of the ranges, shape (..., p, p).
        most: largest possible sum of squares of each column, shape (..., p).

    Example:
        >>> noisy = np.array([[4.0, 9.0], [9.0, -3.0]])
        >>> root = admissible_root(noisy, np.array([2.0, 2.0]))
        >>> (root @ root.T).round(6).tolist()
        [[2.0, 0.0], [0.0, 0.0]]
    """
    squares = np.clip(np.diagonal(scatter, axis1=-2, axis2=-1), 0, most)
    limit = np.sqrt(squares[..., :, None] * squares[..., None, :])
    clipped = np.clip(scatter, -limit, limit)
    values, vectors = np.linalg.eigh(clipped)
    return np.asarray(vectors * np.sqrt(np.maximum(values, FLOOR))[..., None, :])


def inverse_wishart_root(root: Floats, degrees: Floats, rng: np.random.Generator) -> Floats:
    """A matrix F with F Fᵀ ~ InvWishart(ν, S), by Bartlett's decomposition.

    With S = C Cᵀ and A lower triangular, A_ii² ~ χ²(ν − i) for i = 0, 1, …, and standard normal
    below the diagonal, A Aᵀ ~ Wishart(ν, I), so that C (A Aᵀ)⁻¹ Cᵀ is the draw and F = C A⁻ᵀ.
    Any root C serves, since Wishart(ν, I) does not change under rotations.

    Args:
        root: C, not singular, shape (..., p, p).
        degrees: ν > p − 1, shape (...).
        rng: randomness.

    Returns:
        Shape (..., p, p); not triangular.
    """
    p = root.shape[-1]
    shape = (np.asarray(degrees)[..., None] - np.arange(p)) / 2
    bartlett = np.tril(rng.standard_normal(root.shape), -1)
    places = np.arange(p)
    bartlett[..., places, places] = np.sqrt(2 * rng.standard_gamma(shape))
    # F = C A⁻ᵀ, that is A Fᵀ = Cᵀ.
    return np.swapaxes(np.linalg.solve(bartlett, np.swapaxes(root, -1, -2)), -1, -2)
