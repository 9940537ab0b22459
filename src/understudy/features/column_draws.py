"""Values of one column of some records: states, and places on the number line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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

    def taken(self, rows: NDArray[np.integer[Any]]) -> Drawn:
        """Some of the records, by their numbers; a record may come more than once."""
        return Drawn(self.states[rows], None if self.numbers is None else self.numbers[rows])
