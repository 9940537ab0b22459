"""A model whose parameters are drawn anew for each set of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from understudy.models.model import Model, Sample


@dataclass(frozen=True)
class Redrawn:
    """Parameters first, then records.

    Attributes:
        refit: draws parameters, as a model.
    """

    refit: Callable[[np.random.Generator], Model]

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records of one set."""
        return self.refit(rng).sample(n_rows, rng)
