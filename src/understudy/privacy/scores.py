"""Scores that the exponential mechanism may use: named, with a proved sensitivity each.

A score sees exact tables, so it lives here and not in a method. The gate accepts the classes of
`SCORES` and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.engine import ExactTable
from understudy.privacy.budget import Neighbours
from understudy.privacy.dependence import (
    Dependence,
    DistanceFromDependence,
    DistanceFromIndependence,
    MutualInformation,
)


@dataclass(frozen=True)
class MarginalDistance:
    """How far a contingency table is from a released estimate of it: ‖n − ŷ‖₁.

    The score of MST and AIM (McKenna, Miklau & Sheldon 2021, 2022).

    **Sensitivity.** For fixed ŷ, |‖n − ŷ‖₁ − ‖n′ − ŷ‖₁| ≤ ‖n − n′‖₁ by the triangle inequality: 1
    under add/remove, 2 under replace. A record can raise one score and lower another, so the
    score is not monotone.

    Attributes:
        marginals: column indices of each candidate table.
        estimates: released estimate of each, of the table's shape.
    """

    marginals: tuple[tuple[int, ...], ...]
    estimates: tuple[NDArray[Any], ...]

    title: ClassVar[str] = "distance of a marginal"
    monotone = False

    @staticmethod
    def sensitivity(neighbours: Neighbours) -> Fraction:
        """Largest change of any candidate's score between neighbouring tables."""
        return Fraction(1 if neighbours == "add_remove" else 2)

    def queries(self) -> Sequence[tuple[int, ...]]:
        """Tables to be counted."""
        return self.marginals

    def evaluate(self, tables: Sequence[ExactTable]) -> NDArray[np.float64]:
        """Score of each candidate, shape (candidates,)."""
        pairs = zip(tables, self.estimates, strict=True)
        return np.array([float(np.abs(t.inside - estimate).sum()) for t, estimate in pairs])


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


Score = MarginalDistance | CellCount | Dependence
SCORES = (
    MarginalDistance,
    CellCount,
    MutualInformation,
    DistanceFromIndependence,
    DistanceFromDependence,
)
