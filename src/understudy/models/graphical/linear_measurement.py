"""Noisy marginals as a model fitted by least squares sees them: columns, counts, variances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.models.hierarchical.node_least_squares import Floats


@dataclass(frozen=True)
class Observation:
    """A noisy marginal.

    Attributes:
        columns: distinct columns, in any order; () observes the number of records.
        counts: noisy counts, with an axis for each of the columns, in their order.
        variance: of the noise in each cell; a number, or an array of the shape of `counts`, for
            example where a cell stands for several that were merged.
    """

    columns: tuple[int, ...]
    counts: Floats
    variance: float | Floats

    def checked(self, sizes: Sequence[int]) -> Observation:
        """The same in order of the columns, all variances written out.

        Raises:
            ValueError: columns, shapes or variances that cannot be; no count is shown.
        """
        if len(set(self.columns)) < len(self.columns) or not set(self.columns) <= {
            *range(len(sizes))
        }:
            raise ValueError(f"an observation has distinct columns of the table: {self.columns}")
        shape = tuple(sizes[j] for j in self.columns)
        counts = np.asarray(self.counts, dtype=np.float64)
        variance = np.asarray(self.variance, dtype=np.float64)
        if counts.shape != shape or variance.shape not in {(), shape}:
            raise ValueError(f"an observation of columns {self.columns} has shape {shape}")
        if not (np.isfinite(counts).all() and np.isfinite(variance).all() and (variance > 0).all()):
            raise ValueError("an observation has finite counts and positive, finite variances")
        order = np.argsort(self.columns).tolist()
        return Observation(
            tuple(self.columns[k] for k in order),
            counts.transpose(order),
            np.broadcast_to(variance, shape).transpose(order),
        )

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(np.shape(self.counts))

    def margin(self, column: int) -> tuple[Floats, Floats]:
        """Counts of one of the columns, and their variances."""
        others = tuple(k for k, j in enumerate(self.columns) if j != column)
        variance = np.broadcast_to(self.variance, np.shape(self.counts))
        return np.sum(self.counts, axis=others), np.sum(variance, axis=others)


def merged(sizes: Sequence[int], observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """Repeated observations of the same columns taken together, each cell by inverse variance.

    Args:
        sizes: of all columns.
        observations: in any order, columns in any order.

    Returns:
        One observation for each set of columns, columns ascending, sorted by columns.

    Raises:
        ValueError: as in `Observation.checked`.

    Example:
        >>> a = Observation((0,), np.array([3.0, 5.0]), 1.0)
        >>> b = Observation((0,), np.array([6.0, 5.0]), 2.0)
        >>> [one] = merged((2,), [a, b])
        >>> one.counts.tolist(), one.variance.round(3).tolist()
        ([4.0, 5.0], [0.667, 0.667])
    """
    together: dict[tuple[int, ...], Observation] = {}
    for given in observations:
        new = given.checked(sizes)
        old = together.get(new.columns)
        together[new.columns] = new if old is None else _combined(old, new)
    return tuple(together[columns] for columns in sorted(together))


def _combined(one: Observation, other: Observation) -> Observation:
    """The mean by inverse variance, written so that it neither over- nor underflows."""
    share = one.variance / (one.variance + other.variance)  # of the other
    counts = one.counts + share * (other.counts - one.counts)
    return Observation(one.columns, counts, share * other.variance)
