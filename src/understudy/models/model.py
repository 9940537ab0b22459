"""What every model answers: it holds released values only, and records are drawn from it freely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

States = list[NDArray[np.integer[Any]]]


@dataclass(frozen=True)
class Sample:
    """Synthetic records.

    Attributes:
        states: one array of states per column of the schema, each of shape (n,).
        values: for numeric columns of which the model draws the values themselves: places on the
            number line within the bounds, shape (n,); they stand where the state is a bin. Of other
            columns, and where the place is NaN, a value is drawn uniformly within its bin.
    """

    states: States
    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


class Model(Protocol):
    """A fitted model of the whole table."""

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records."""
        ...
