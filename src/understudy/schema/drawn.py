"""Values of one column of some records: states, and places on the number line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Drawn:
    """Records of one column.

    Attributes:
        states: in the schema's bins, shape (n,).
        numbers: of a numeric column: the place on the number line where the state is a bin, rounded
            to what the column holds and within its bounds, and NaN elsewhere; shape (n,). None for
            other columns.
    """

    states: NDArray[np.int64]
    numbers: NDArray[np.float64] | None = None
