"""What the exponential mechanism over parameters asks of a score.

A score says how well each of some public candidates suits the rows; larger is better. Everything
but `evaluate` and `against` is public. How far one row moves it is proved where a score is defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.budget import Neighbours
from understudy.privacy.known_rows import Codes
from understudy.schema import Schema

Floats = NDArray[np.float64]


class Comparison(Protocol):
    """Rows, prepared for any parameters. CONFIDENTIAL."""

    def score(self, theta: Floats) -> float:
        """The score of parameters, shape (p,)."""
        ...


class CandidateScore(Protocol):
    """A score of candidate parameters."""

    @property
    def schema(self) -> Schema:
        """In whose states rows are."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the rows that it looks at."""
        ...

    @property
    def points(self) -> Floats:
        """Candidates, shape (G, p)."""
        ...

    @property
    def title(self) -> str:
        """What candidates are judged by, in the words of the ledger."""
        ...

    @property
    def bound(self) -> str:
        """The sensitivity in words."""
        ...

    @property
    def monotone(self) -> bool:
        """Whether an added row moves the scores of all candidates one way."""
        ...

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of any candidate's score between neighbouring tables."""
        ...

    def leaks(self, neighbours: Neighbours) -> tuple[str, ...]:
        """What the score leaves in, unpaid.

        Raises:
            MethodError: it has no bound for these neighbours.
        """
        ...

    def evaluate(self, coded: Sequence[Codes]) -> Floats:
        """Score of each candidate, shape (G,). CONFIDENTIAL.

        Args:
            coded: states of all rows, one array per column of the schema.
        """
        ...

    def against(self, coded: Sequence[Codes]) -> Comparison:
        """The rows, to be compared with any parameters. CONFIDENTIAL."""
        ...
