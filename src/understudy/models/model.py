"""What every model answers: it holds released values only, and records are drawn from it freely."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

States = list[NDArray[np.integer[Any]]]


class Model(Protocol):
    """A fitted model of the whole table."""

    def sample(self, n_rows: int, rng: np.random.Generator) -> States:
        """Draw records: one array of states per column of the schema, each of shape (n_rows,)."""
        ...
