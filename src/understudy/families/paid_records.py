"""Records that a mechanism drew, as a model: so a method has one way to answer.

Where drawing records is the mechanism, each record is paid for, and there are no more of them than
were drawn. They are handed out in the order in which they were drawn, each of them once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from understudy.models import Sample
from understudy.privacy.released import Records, Released


@dataclass(eq=False)
class PaidRecords:
    """Records that were paid for, of all sets of a fit together.

    Attributes:
        columns: states of each column of the schema, of shape (records,) each.
        given: how many were handed out already.
    """

    columns: tuple[NDArray[np.int64], ...]
    given: int = field(default=0, init=False)

    @classmethod
    def of(cls, released: Released[Records]) -> Self:
        """From what the gate gave out."""
        return cls(released.value.columns)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """The next records; nothing is left to chance.

        Raises:
            ValueError: more than were paid for.
        """
        rest = slice(self.given, self.given + n_rows)
        drawn = [column[rest] for column in self.columns]
        if any(len(column) < n_rows for column in drawn):
            raise ValueError("more records are wanted than were paid for")
        self.given += n_rows
        return Sample([*drawn])
