"""Independent columns, given that no impossible combination occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.models.model import Sample
from understudy.schema import Domain


@dataclass(frozen=True)
class ProductModel:
    """Product of one-way distributions, conditioned on the structural zeros.

    Attributes:
        domain: sizes and structural zeros of all columns.
        weights: non-negative weight of each state, one array per column. A column without weight
            is uniform; if no allowed cell has weight, records are uniform over the allowed cells.
    """

    domain: Domain
    weights: tuple[NDArray[Any], ...]

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw independent records."""
        weights = [np.maximum(w, 0).astype(np.float64) for w in self.weights]
        return Sample([*self.domain.draw(n_rows, rng.random, weights)])
