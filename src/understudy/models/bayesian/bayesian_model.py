"""Bayesian models that see the rows only through sufficient statistics.

A model of this kind needs nothing of the rows but a few numbers s (counts, sums, sums of squares).
So synthesis has two steps: θ from the posterior given s, then records from f(x | θ). With noisy
numbers in the place of s this is the synthesizer of Liu (2016); with exact ones it is classical
multiple synthesis (Raghunathan, Reiter & Rubin 2003; Reiter 2003). Everything here is
post-processing of s.

All arrays may have leading axes of repetitions, so that a simulation study runs the very code that
a release runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats

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
