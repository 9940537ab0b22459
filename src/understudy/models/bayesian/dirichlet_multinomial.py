"""Cells of a table: a Dirichlet posterior of their shares, given counts.

π ~ Dirichlet(α + n₁, …, α + n_K) with α = 1/3 in each cell, negative counts set to 0; then the
cells of records are drawn with probabilities π. Two cells are the Beta–Bernoulli model. Sources:
Liu (2016); Bowen & Liu (2020), §3.2; α as in Kerman (2011).

Example:
    Counts (3, −1, 0) have posterior mean (3⅓, ⅓, ⅓) / 4:

    >>> rng = np.random.default_rng(1)
    >>> shares = posterior(np.tile([3.0, -1.0, 0.0], (100_000, 1)), rng)
    >>> shares.mean(axis=0).round(2).tolist()
    [0.83, 0.08, 0.08]
    >>> predict(shares[0], 10, rng).sum()
    np.int64(10)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.arrays import Floats
from understudy.models.bayesian.bayesian_model import Drawn

PRIOR = 1 / 3


def posterior(
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


def predict(shares: Floats, n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many of `n_rows` records fall into each cell; shape (..., K), as the shares."""
    return np.asarray(rng.multinomial(n_rows, shares), dtype=np.int64)


def records(counts: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[np.int64]:
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
        return posterior(statistics, rng, prior=self.prior, allowed=self.allowed)

    def predict(self, parameters: Floats, n_rows: int, rng: np.random.Generator) -> Drawn:
        """Draw records."""
        cells = records(predict(parameters, n_rows, rng), rng)
        return Drawn(cells, np.empty((*cells.shape, 0)))
