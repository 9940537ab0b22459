"""RELEASED. Conjugate models with sufficient statistics.

**Bayesian models that see the rows only through sufficient statistics.**

A model of this kind needs nothing of the rows but a few numbers s (counts, sums, sums of squares).
So synthesis has two steps: θ from the posterior given s, then records from f(x | θ). With noisy
numbers in the place of s this is the synthesizer of Liu (2016); with exact ones it is classical
multiple synthesis (Raghunathan, Reiter & Rubin 2003; Reiter 2003). Everything here is
post-processing of s.

All arrays may have leading axes of repetitions, so that a simulation study runs the very code that
a release runs.

Blocks of columns may each have a model of its own, independent of each other. A record is then
drawn block by block. One in an impossible combination is drawn again, given the
parameters, and in the end uniformly over the allowed cells (`conditioning`).

**Yes or no: a Beta posterior of the probability, given a number of successes.**

p ~ Beta(α + s, α + n − s) with α = 1/3, the neutral prior of Kerman (2011); then records are
Bernoulli(p). Source: Liu (2016); Bowen & Liu (2020), §4.1.

Example:
    The posterior mean of 30 successes in 100 rows is (30 + 1/3) / (100 + 2/3) = .30132:

    >>> rng = np.random.default_rng(1)
    >>> p = binomial_posterior(np.full(100_000, 30.0), 100, rng)
    >>> abs(float(p.mean()) - 0.30132) < 0.001
    True
    >>> predict_binomial(p[:3], 100, rng).shape
    (3,)

**Cells of a table: a Dirichlet posterior of their shares, given counts.**

π ~ Dirichlet(α + n₁, …, α + n_K) with α = 1/3 in each cell, negative counts set to 0; then the
cells of records are drawn with probabilities π. Two cells are the Beta–Bernoulli model. Sources:
Liu (2016); Bowen & Liu (2020), §3.2; α as in Kerman (2011).

Example:
    Counts (3, −1, 0) have posterior mean (3⅓, ⅓, ⅓) / 4:

    >>> rng = np.random.default_rng(1)
    >>> shares = dirichlet_posterior(np.tile([3.0, -1.0, 0.0], (100_000, 1)), rng)
    >>> shares.mean(axis=0).round(2).tolist()
    [0.83, 0.08, 0.08]
    >>> predict_multinomial(shares[0], 10, rng).sum()
    np.int64(10)

**Cells with a normal distribution in each, of one covariance: the general location model.**

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

**One number: the normal model with the prior p(μ, σ²) ∝ 1/σ², given a mean and a variance.**

σ² ~ InvGamma((n − 1)/2, (n − 1)s²/2), μ ~ N(x̄, σ²/n), then x ~ N(μ, σ²), clipped to the public
bounds. Noisy statistics are first put into their admissible set: x̄ ∈ [lo, hi] and
s² ∈ [0, nR²/(4(n − 1))], R = hi − lo (thresholding; post-processing). Source: Liu (2016); Bowen &
Liu (2020), §4.2.

**Edges.** With fewer than 2 records the posterior does not exist; then μ is the middle of the
bounds and σ = R/6, whatever the statistics say. s² = 0 gives records that all equal x̄.

Example:
    x = (1, 2, 3, 4) within [0, 5] has mean 2.5 and variance 5/3, which is at most 25/3:

    >>> most_variance(4, (0.0, 5.0))
    8.333333333333334
    >>> rng = np.random.default_rng(1)
    >>> theta = normal_posterior(np.full(200_000, 2.5), 5 / 3, 4, rng, bounds=(0.0, 5.0))
    >>> abs(float(theta.mean.mean()) - 2.5) < 0.02
    True
    >>> drawn = NormalParameters(np.zeros(3), np.ones(3))
    >>> predict_normal(drawn, 10, rng, bounds=(-1.0, 1.0)).shape
    (3, 10)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Floats
from understudy.features.grids import Line, line_of, settle_numbers
from understudy.models.model import REDRAWS, Sample, replace_impossible
from understudy.models.tables import unravel
from understudy.schema import NUMERIC, Schema

S_contra = TypeVar("S_contra", contravariant=True)
P = TypeVar("P")


@dataclass(frozen=True)
class Drawn:
    """Synthetic records of one model.

    Attributes:
        cells: cell of each record in the table of the model's states, shape (..., n).
        values: numbers of each record, shape (..., n, p); without meaning where the cell says that
            there is no number.
    """

    cells: NDArray[np.int64]
    values: Floats


class BayesianModel(Protocol[S_contra, P]):
    """Sufficient statistics → parameters → records."""

    def posterior(self, statistics: S_contra, rng: np.random.Generator) -> P:
        """Draw parameters given the statistics, which may be noisy and out of range."""
        ...

    def predict(self, parameters: P, n_rows: int, rng: np.random.Generator) -> Drawn:
        """Draw records given the parameters, in an order that says nothing."""
        ...


@dataclass(frozen=True)
class Block:
    """Columns that are modelled together.

    Attributes:
        columns: names, one per axis of the model's table of cells.
        sizes: their numbers of states in that table, where `numbers` have a single bin.
        numbers: those of which the model draws the numbers, in the order of its values.
        model: posterior and prediction.
        statistics: what the model takes; exact or noisy.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    numbers: tuple[str, ...]
    model: BayesianModel[Any, Any]
    statistics: Any


@dataclass(frozen=True)
class BlocksModel:
    """A model of the whole table. Each call of `sample` draws parameters afresh.

    Attributes:
        schema: columns in their own bins, with the structural zeros.
        blocks: each column is in one of them.
        redraws: how often impossible records are drawn again.
    """

    schema: Schema
    blocks: tuple[Block, ...]
    redraws: int = field(default=REDRAWS, kw_only=True)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw parameters, then records."""
        theta = [block.model.posterior(block.statistics, rng) for block in self.blocks]
        sample = self._draw(theta, n_rows, rng)
        return replace_impossible(
            sample,
            self.schema.domain,
            lambda n: self._draw(theta, n, rng),
            rng,
            redraws=self.redraws,
        )

    def _draw(self, theta: Sequence[Any], n_rows: int, rng: np.random.Generator) -> Sample:
        states: dict[str, NDArray[np.integer[Any]]] = {}
        values: dict[str, Floats] = {}
        for block, parameters in zip(self.blocks, theta, strict=True):
            drawn = block.model.predict(parameters, n_rows, rng)
            self._take(block, drawn, states, values)
        return Sample([states[name] for name in self.schema.names], values)

    def _take(
        self,
        block: Block,
        drawn: Drawn,
        states: dict[str, NDArray[np.integer[Any]]],
        values: dict[str, Floats],
    ) -> None:
        """States in the schema's own bins, and numbers that fit their column."""
        axes = dict(zip(block.columns, unravel(drawn.cells, block.sizes), strict=True))
        for j, name in enumerate(block.numbers):
            line, recoded = self._lines[name]
            bins, values[name] = settle_numbers(line, drawn.values[:, j])
            fixed = recoded[axes[name]]
            axes[name] = np.where(fixed < 0, bins, fixed)
        states.update(axes)

    @cached_property
    def _lines(self) -> dict[str, tuple[Line, NDArray[np.int64]]]:
        """For each drawn column: its number line, and states of the block's table → own states.

        The single bin is −1 there.
        """
        lines = {}
        for name in (name for block in self.blocks for name in block.numbers):
            column = self.schema.columns[name]
            assert isinstance(column, NUMERIC)
            spikes = [k for k, interval in enumerate(column.intervals) if interval.spike]
            place = single_bin(self.schema, name)
            states = [*spikes[:place], -1, *spikes[place:], *range(column.n_ordinary, column.size)]
            lines[name] = line_of(column), np.array(states, dtype=np.int64)
        return lines


def single_bin(schema: Schema, name: str) -> int:
    """State of the only bin of a numeric column, if it had one bin, its spikes and its codes."""
    column = schema.with_bins({name: 1}).columns[name]
    assert isinstance(column, NUMERIC)
    return next(k for k, interval in enumerate(column.intervals) if not interval.spike)


PRIOR = 1 / 3


def dirichlet_posterior(
    counts: ArrayLike,
    rng: np.random.Generator,
    *,
    prior: float = PRIOR,
    allowed: NDArray[np.bool_] | None = None,
) -> Floats:
    """Draw the share of each cell.

    Args:
        counts: noisy or not, shape (..., K); negative ones count as 0.
        rng: randomness.
        prior: α of each allowed cell, in records; may be 0.
        allowed: cells that can occur, shape (K,); all if None. The others get share 0.

    Returns:
        Shape (..., K), sums of 1. Where no allowed cell has weight, all allowed cells are alike.
    """
    weights = np.maximum(np.asarray(counts, dtype=np.float64), 0) + prior
    mask = np.ones(weights.shape[-1], dtype=np.bool_) if allowed is None else allowed
    drawn = rng.standard_gamma(np.where(mask, weights, 0.0))
    total = drawn.sum(axis=-1, keepdims=True)
    # Gamma variates of a tiny shape can all be 0 in floating point, as they are for weights of 0.
    uniform = mask / mask.sum()
    return np.where(total > 0, drawn / np.where(total > 0, total, 1.0), uniform)


def predict_multinomial(shares: Floats, n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many of `n_rows` records fall into each cell; shape (..., K), as the shares."""
    return np.asarray(rng.multinomial(n_rows, shares), dtype=np.int64)


def multinomial_records(
    counts: NDArray[np.integer[Any]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Records with given numbers in each cell, in random order.

    Args:
        counts: shape (..., K); each repetition has the same total n.
        rng: randomness.

    Returns:
        Cell of each record, shape (..., n).
    """
    lead, n_cells = counts.shape[:-1], counts.shape[-1]
    n_rows = int(counts.reshape(-1, n_cells)[0].sum())
    cells = np.tile(np.arange(n_cells), math.prod(lead))
    ordered = np.repeat(cells, counts.reshape(-1)).reshape(*lead, n_rows)
    return rng.permuted(ordered, axis=-1)


@dataclass(frozen=True)
class Multinomial:
    """The model of a table of cells.

    Attributes:
        allowed: cells that can occur, shape (K,).
        prior: α of each allowed cell, in records.
    """

    allowed: NDArray[np.bool_]
    prior: float = PRIOR

    def posterior(self, statistics: Floats, rng: np.random.Generator) -> Floats:
        """Draw the shares given counts, shape (..., K)."""
        return dirichlet_posterior(statistics, rng, prior=self.prior, allowed=self.allowed)

    def predict(self, parameters: Floats, n_rows: int, rng: np.random.Generator) -> Drawn:
        """Draw records."""
        cells = multinomial_records(predict_multinomial(parameters, n_rows, rng), rng)
        return Drawn(cells, np.empty((*cells.shape, 0)))


def binomial_posterior(
    successes: ArrayLike, n_rows: int, rng: np.random.Generator, *, prior: float = PRIOR
) -> Floats:
    """Draw the probability of a success.

    Args:
        successes: number of them, whole or not; clipped to [0, n_rows] (thresholding). Any shape.
        n_rows: public number of records.
        rng: randomness.
        prior: both parameters of the Beta prior; positive.

    Returns:
        One probability per number of successes, of the same shape.
    """
    clipped = np.clip(np.asarray(successes, dtype=np.float64), 0, n_rows)
    return np.asarray(rng.beta(prior + clipped, prior + n_rows - clipped))


def predict_binomial(p: float | Floats, n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the number of successes among `n_rows` records, for each probability."""
    return np.asarray(rng.binomial(n_rows, p), dtype=np.int64)


def binomial_records(
    successes: NDArray[np.integer[Any]], n_rows: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Records with given numbers of successes, in random order.

    Args:
        successes: shape (...).
        n_rows: length of each set.
        rng: randomness.

    Returns:
        0 or 1, shape (..., n_rows).
    """
    ordered = np.arange(n_rows) < np.asarray(successes)[..., None]
    return rng.permuted(ordered.astype(np.int64), axis=-1)


@dataclass(frozen=True)
class Bernoulli:
    """The model of one column of two levels, of which the second is the success.

    Attributes:
        n_rows: public number of records.
        prior: both parameters of the Beta prior.
    """

    n_rows: int
    prior: float = PRIOR

    def posterior(self, statistics: Floats, rng: np.random.Generator) -> Floats:
        """Draw the probability given the number of successes, shape (...)."""
        return binomial_posterior(statistics, self.n_rows, rng, prior=self.prior)

    def predict(self, parameters: Floats, n_rows: int, rng: np.random.Generator) -> Drawn:
        """Draw records."""
        cells = binomial_records(predict_binomial(parameters, n_rows, rng), n_rows, rng)
        return Drawn(cells, np.empty((*cells.shape, 0)))


STDDEVS_WIDE = 6
"""Width of the bounds in standard deviations, where nothing is known."""
_LEAST_GAMMA = 1e-290
_BLOCK = 2**14


@dataclass(frozen=True)
class NormalParameters:
    """μ and σ, one of each per repetition, of any shape (...)."""

    mean: Floats
    stddev: Floats


def most_variance(n_rows: int, bounds: tuple[float, float]) -> float:
    """Largest variance (divisor n − 1) that n ≥ 2 numbers within the bounds can have."""
    return n_rows * (bounds[1] - bounds[0]) ** 2 / (4 * (n_rows - 1))


def normal_posterior(
    mean: ArrayLike,
    variance: ArrayLike,
    n_rows: int,
    rng: np.random.Generator,
    *,
    bounds: tuple[float, float],
) -> NormalParameters:
    """Draw μ and σ.

    Args:
        mean: noisy or not, shape (...); clipped to the bounds.
        variance: with divisor n − 1, shape (...); clipped to what is possible.
        n_rows: public number of records.
        rng: randomness.
        bounds: public bounds of the numbers.
    """
    low, high = bounds
    centre, spread = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
    if n_rows < 2:
        middle = np.full(centre.shape, (low + high) / 2)
        return NormalParameters(middle, np.full(centre.shape, (high - low) / STDDEVS_WIDE))
    spread = np.clip(spread, 0, most_variance(n_rows, bounds))
    half = (n_rows - 1) / 2
    gamma = np.maximum(rng.standard_gamma(half, size=centre.shape), _LEAST_GAMMA)
    stddev = np.sqrt(half * spread) / np.sqrt(gamma)
    drawn = rng.standard_normal(centre.shape)
    return NormalParameters(np.clip(centre, low, high) + drawn * stddev / np.sqrt(n_rows), stddev)


def predict_normal(
    parameters: NormalParameters,
    n_rows: int,
    rng: np.random.Generator,
    *,
    bounds: tuple[float, float],
    out: Floats | None = None,
) -> Floats:
    """Draw records, clipped to the bounds.

    Works through one piece after the other that fits into the processor's cache.

    Args:
        parameters: of shape (...).
        n_rows: records of each repetition.
        rng: randomness.
        bounds: public bounds of the numbers.
        out: where to write, C-contiguous, of shape (..., n_rows); a new array if None.

    Returns:
        Shape (..., n_rows).
    """
    shape = (*parameters.mean.shape, n_rows)
    result = np.empty(shape) if out is None else out
    rows = result.reshape(-1, n_rows) if n_rows else result.reshape(-1, 1)[:0]
    mean, stddev = parameters.mean.reshape(-1, 1), parameters.stddev.reshape(-1, 1)
    step = max(1, _BLOCK // max(n_rows, 1))
    for start in range(0, len(rows), step):
        piece = rows[start : start + step]
        rng.standard_normal(out=piece)
        piece *= stddev[start : start + step]
        piece += mean[start : start + step]
        np.clip(piece, *bounds, out=piece)
    return result


@dataclass(frozen=True)
class NormalStatistics:
    """Mean and variance (divisor n − 1), exact or noisy, of any shape (...)."""

    mean: Floats
    variance: Floats


@dataclass(frozen=True)
class Normal:
    """The model of one number that every record has.

    Attributes:
        bounds: public bounds.
        n_rows: public number of records that the statistics are about.
    """

    bounds: tuple[float, float]
    n_rows: int

    def posterior(self, statistics: NormalStatistics, rng: np.random.Generator) -> NormalParameters:
        """Draw μ and σ."""
        return normal_posterior(
            statistics.mean, statistics.variance, self.n_rows, rng, bounds=self.bounds
        )

    def predict(self, parameters: NormalParameters, n_rows: int, rng: np.random.Generator) -> Drawn:
        """Draw records; there is one cell."""
        values = predict_normal(parameters, n_rows, rng, bounds=self.bounds)
        return Drawn(np.zeros(values.shape, dtype=np.int64), values[..., None])


_LEAST_SHARE = 1e-12  # of a Beta variate, which can be 0 in floating point


@dataclass(frozen=True)
class LocationStatistics:
    """Statistics of the rows that the model needs, exact or noisy.

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
class LocationParameters:
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
        >>> found = LocationStatistics(
        ...     np.array([500.0, 1500.0]), np.array([[-1500.0], [4500.0]]), np.array([[2000.0]])
        ... )
        >>> theta = model.posterior(found, np.random.default_rng(1))
        >>> theta.means.round(0).tolist(), theta.shares.round(1).tolist()
        ([[2.0], [8.0]], [0.3, 0.7])
    """

    bounds: Floats
    present: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    prior: float = PRIOR

    @property
    def _middle(self) -> Floats:
        return np.asarray(self.bounds.mean(axis=-1))

    @property
    def _range(self) -> Floats:
        return np.asarray(self.bounds[:, 1] - self.bounds[:, 0])

    def posterior(
        self, statistics: LocationStatistics, rng: np.random.Generator
    ) -> LocationParameters:
        """Draw π, μ and Σ."""
        counts = np.asarray(statistics.counts, dtype=np.float64)
        shares = dirichlet_posterior(counts, rng, prior=self.prior, allowed=self.allowed)
        records, degrees = self._pairs(statistics, self._n_rows(statistics), shares)
        given = self._root(statistics.scatter, records, degrees)
        factor = _diagonal(degrees)
        # In units of the ranges, and back: the floor of the eigenvalues has no unit.
        root = inverse_wishart_root(given, factor.max(axis=-1), rng) * self._range[:, None]
        root *= _draw_widening(factor, rng)[..., None]
        centres = self._centres(counts, statistics.sums)
        normal = rng.standard_normal(centres.shape) @ np.swapaxes(root, -1, -2)
        means = centres + normal / np.sqrt(np.maximum(counts, 1))[..., None]
        return LocationParameters(shares, means, root)

    def predict(
        self, parameters: LocationParameters, n_rows: int, rng: np.random.Generator
    ) -> Drawn:
        """Draw records."""
        cells = multinomial_records(predict_multinomial(parameters.shares, n_rows, rng), rng)
        return Drawn(cells, self.numbers(parameters, cells, rng))

    def numbers(
        self, parameters: LocationParameters, cells: NDArray[np.int64], rng: np.random.Generator
    ) -> Floats:
        """Numbers for records of given cells, shape (..., n) → (..., n, p)."""
        p = len(self.bounds)
        values: Floats = rng.standard_normal((*cells.shape, p)) @ np.swapaxes(
            parameters.root, -1, -2
        )
        values += np.take_along_axis(parameters.means, cells[..., None], axis=-2)
        return np.asarray(np.clip(values, self.bounds[:, 0], self.bounds[:, 1]), dtype=np.float64)

    def _n_rows(self, statistics: LocationStatistics) -> Floats:
        """Number of records, shape (...): the known one, or the sum of the counts, at least 0."""
        total = statistics.counts[..., self.allowed].sum(axis=-1)
        known = total if statistics.n_rows is None else statistics.n_rows
        return np.asarray(np.maximum(np.broadcast_to(known, total.shape), 0), dtype=np.float64)

    def _pairs(
        self, statistics: LocationStatistics, n_rows: Floats, shares: Floats
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


def _draw_widening(degrees: Floats, rng: np.random.Generator) -> Floats:
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
