"""Contingency tables as models, of all columns or of each; the nearest without negative counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Floats
from understudy.dp.released import NoisyCells, NoisyTable
from understudy.models.model import Sample, States
from understudy.models.numeric import WithinBins
from understudy.schema import Domain


@dataclass(frozen=True)
class TableModel:
    """Cells and their weights; cells that are not listed have weight 0.

    Attributes:
        domain: sizes and structural zeros of all columns.
        codes: mixed-radix number of each cell, shape (cells,).
        weights: non-negative, shape (cells,). If all are 0, records are uniform over the allowed
            cells of the domain.

    Example:
        Counts (3, 1, 0, 0) with noise (.5, −2, .25, −.1) give shares (.9333, 0, .0667, 0):

        >>> from understudy.dp.released import NO_NOISE
        >>> noisy = NoisyTable(("x",), np.array([3.5, -1.0, 0.25, -0.1]), 0, NO_NOISE)
        >>> TableModel.dense(noisy, Domain((4,))).shares.round(4).tolist()
        [0.9333, 0.0, 0.0667, 0.0]
    """

    domain: Domain
    codes: NDArray[np.int64]
    weights: NDArray[Any]

    in_parts: ClassVar[bool] = True

    @classmethod
    def dense(cls, table: NoisyTable, domain: Domain) -> TableModel:
        """From a noisy table over all columns; negative counts are set to 0."""
        weights = np.maximum(table.counts.reshape(-1), 0)
        return cls(domain, np.arange(weights.size, dtype=np.int64), weights)

    @classmethod
    def sparse(cls, cells: NoisyCells, domain: Domain) -> TableModel:
        """From the cells that reached a threshold."""
        return cls(domain, cells.codes, np.maximum(cells.counts, 0))

    @property
    def shares(self) -> NDArray[np.float64]:
        """Probability of each listed cell, shape (cells,); all 0 if no cell has weight."""
        total = self.weights.sum()
        return self.weights / total if total > 0 else np.zeros(len(self.weights))

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw independent records in proportion to the weights."""
        edges = np.cumsum(self.weights, dtype=np.float64)
        if not len(edges) or edges[-1] <= 0:
            return Sample([*self.domain.draw(n_rows, rng.random)])
        places = np.searchsorted(edges, rng.random(n_rows) * edges[-1], side="right")
        codes = self.codes[np.minimum(places, len(edges) - 1)]
        return Sample(unravel(codes, self.domain.sizes))


def unravel(codes: NDArray[np.int64], sizes: tuple[int, ...]) -> States:
    """States per column of mixed-radix codes; works for domains beyond numpy's index limit."""
    columns: States = []
    for size in reversed(sizes):
        codes, states = np.divmod(codes, size)
        columns.append(states)
    return columns[::-1]


@dataclass(frozen=True)
class ProductModel:
    """Columns with given one-way distributions, independent but for the structural zeros.

    Factors of the product are such that records have these distributions given the rules, as far as
    that can be (`Domain.rake`).

    Attributes:
        domain: sizes and structural zeros of all columns.
        weights: non-negative weight of each state, one array per column. A column without weight
            is uniform; if no allowed cell has weight, records are uniform over the allowed cells.
        numbers: by name of a column of numbers, its place and how its bins become numbers; others
            are spread over their bins.
        are_factors: whether the weights are those of the product itself, which records are drawn
            by as they are.
    """

    domain: Domain
    weights: tuple[NDArray[Any], ...]
    numbers: Mapping[str, tuple[int, WithinBins]] = field(default_factory=dict)
    are_factors: bool = False

    in_parts: ClassVar[bool] = True

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw independent records."""
        states: States = [*self.domain.draw(n_rows, rng.random, self.factors)]
        values = {name: within.draw(states[j], rng) for name, (j, within) in self.numbers.items()}
        return Sample(states, values)

    @cached_property
    def factors(self) -> list[NDArray[np.float64]]:
        """Weight of each state in the product, one array per column."""
        weights = [np.maximum(w, 0).astype(np.float64) for w in self.weights]
        as_they_are = self.are_factors or not self.domain.boxes
        return weights if as_they_are else self.domain.rake(weights)


def project(counts: ArrayLike, total: ArrayLike) -> Floats:
    """The non-negative numbers of a given sum that are nearest in the mean square.

    They are max(x − τ, 0), with the τ at which they have this sum. Setting negative counts to 0 and
    rescaling the others would keep the noise of each empty cell that it happened to raise; here
    most of these fall below τ. Found by sorting: with x₁ ≥ x₂ ≥ …, τ is the largest of
    (x₁ + … + x_k − total)/k.

    Args:
        counts: noisy counts, shape (..., K).
        total: their sum afterwards, shape (...); negative counts as 0.

    Returns:
        Shape (..., K).

    Sources: Held, Wolfe & Crowder (1974); Wang et al. (2020), "Locally differentially private
    frequency estimation with consistency", where it is called Norm-Sub.

    Example:
        >>> project([5.0, 3.0, 0.5, -2.0], 6.0).tolist()
        [4.0, 2.0, 0.0, 0.0]
    """
    x = np.asarray(counts, dtype=np.float64)
    totals = np.maximum(np.asarray(total, dtype=np.float64), 0)[..., None]
    sums = np.cumsum(-np.sort(-x, axis=-1), axis=-1)
    tau = ((sums - totals) / np.arange(1, x.shape[-1] + 1)).max(axis=-1, keepdims=True)
    nearest: Floats = np.maximum(x - tau, 0)
    return nearest
