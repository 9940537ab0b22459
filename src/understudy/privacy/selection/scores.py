"""Scores that the exponential mechanism may use: named, with a proved sensitivity each.

A score sees exact tables, so it lives here and not in a method. The gate accepts the classes of
`Score` and nothing else (`understudy.privacy.admission`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.engine import ExactTable
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.selection.dependence_scores import (
    DistanceFromDependence,
    DistanceFromIndependence,
    MutualInformation,
)
from understudy.privacy.selection.model_error_score import DistanceFromModel
from understudy.schema import Schema


@dataclass(frozen=True)
class CellCount:
    """Number of records in each cell of one table: choosing its most frequent cell.

    **Sensitivity.** A record is in one cell: 1 under add/remove; under replace each single score
    changes by at most 1. **Monotone** under add/remove: adding a record lowers no count, so the
    exponent ε·u/Δ, twice the usual one, already is ε-DP (Dwork & Roth 2014, §3.4). Under replace
    one count rises while another falls, and the monotone rule does not apply.

    Attributes:
        marginal: column indices of the table; its cells, in C order, are the candidates.
    """

    marginal: tuple[int, ...]

    title: ClassVar[str] = "count of a cell"
    monotone = True

    @staticmethod
    def sensitivity(neighbours: Neighbours) -> Fraction:
        """Largest change of any candidate's score between neighbouring tables."""
        return Fraction(1)

    def queries(self) -> Sequence[tuple[int, ...]]:
        """Tables to be counted."""
        return (self.marginal,)

    def evaluate(self, tables: Sequence[ExactTable]) -> NDArray[np.float64]:
        """Score of each cell, shape (cells,)."""
        return tables[0].inside.reshape(-1).astype(np.float64)


Score = (
    CellCount
    | DistanceFromDependence
    | DistanceFromIndependence
    | DistanceFromModel
    | MutualInformation
)
"""All scores of tables; the list is closed."""


def n_judged(score: Score, schema: Schema) -> int:
    """How many candidates a score has a value for.

    Raises:
        MethodError: it counts a column that does not exist.
    """
    if not isinstance(score, CellCount):
        return len(score.candidates)
    if not set(score.marginal) <= set(range(len(schema.sizes))):
        raise MethodError("The score counts a column that is not in the schema.")
    if len(set(score.marginal)) < len(score.marginal):
        raise MethodError("The score counts a column twice.")
    return math.prod(schema.sizes[j] for j in score.marginal)
