"""Several models of one table: equally many records from each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.models.model import Model, Sample


@dataclass(frozen=True)
class Blend:
    """What split sets are drawn from, taken together.

    Attributes:
        models: one for each fit, all over the same columns and with numbers for the same ones.
    """

    models: tuple[Model, ...]

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records, those of one model after those of another; the first have one more."""
        m = len(self.models)
        sizes = [n_rows // m + (k < n_rows % m) for k in range(m)]
        parts = [one.sample(n, rng) for one, n in zip(self.models, sizes, strict=True)]
        states = [np.concatenate(column) for column in zip(*(p.states for p in parts), strict=True)]
        names = parts[0].values
        return Sample(states, {n: np.concatenate([p.values[n] for p in parts]) for n in names})
