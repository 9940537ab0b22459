r"""How hard simulated records are to tell from the rows: the score of the pMSE mechanism.

For a public set Z(θ) of ñ simulated records and a class 𝒯 of trees that is fixed beforehand, the
score of θ is

    q(θ) = min over T ∈ 𝒯 of SSE(T),   SSE(T) = Σ ab/(a + b) over the leaves of T,

a simulated records and b rows in a leaf: the larger, the less any tree can tell. In the terms of
the paper, with ñ = n, pMSE = 1/4 - q/(2n). With several sets Z₁(θ), …, Z_L(θ) q is their mean.

**Sensitivity.** Z does not depend on the rows: it is a function of θ and of numbers ω drawn before
they are seen. A row added raises q(θ) by something in [0, ñ/(ñ + 1)], for every θ; a row replaced
moves it by at most ñ/(ñ + 1) (`understudy.decision_trees.tree_class` has the proof, and the counts
for which both are attained); a mean over sets keeps both. So Δ = ñ/(ñ + 1), **monotone** under
add/remove, where the exponent is ε·q/Δ; under replace it is ε·q/(2Δ), in the paper's terms ε(n +
1)·pMSE where it has ε·n·pMSE/2. A row with a value out of its column's domain, or in an impossible
combination of these columns, is left out: that is decided row by row, so neighbours remain
neighbours or become equal.

**Which size.** Where Z is nearly like the rows, q falls with the squared relative differences of
the leaves in proportion to c²/(1 + c)³, c = ñ/n. That is largest at c = 2, a fifth above c = 1. A
simulated record may count several times (`copies`), which is a set like any other: with many rows
that is cheaper than to simulate as many records.

**Rounding.** Counts are whole. The computed q of k leaves is off by less than k·2⁻⁵² of itself, and
neither falls when a row comes in nor rises when one leaves
(`understudy.decision_trees.leaf_impurity`). The lattice of the exponential mechanism
(`understudy.privacy.selection.exponential_mechanism`) has steps of 2⁻²⁰Δ and room for 0.3 of one:
enough up to n·k = 2²⁹, half a billion rows for a stump, half a million for a tree of depth ten.

**As published** (`mode="paper"`): trees grown greedily, with a bound of 1/n on the pMSE, for rows
replaced and ñ = n: in units of q, Δ = 2. The bound is proven for optimal trees alone; greedy ones
exceed it (`tests/trees`, and the study `pmse-failure`), which the guarantee then says.

Source: Snoke & Slavković (2018), "pMSE Mechanism: Differentially Private Synthetic Data with
Maximal Distributional Similarity", §3 and theorem 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.decision_trees import Prepared, PreparedCounts, Trees, sensitivity
from understudy.errors import MethodError
from understudy.functions.simulated_tables import SimulatedColumn, SimulatedRecords
from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.noise.perturbation import Mode
from understudy.privacy.whole_rows import Codes, known_rows
from understudy.schema import Schema

Floats = NDArray[np.float64]

GREEDY = (
    "Simulated records were compared with the rows by trees grown greedily. The published bound on "
    "how much one row can change that comparison is proven for optimal trees; greedy ones exceed "
    "it, so one row can change the choice by more than ε says."
)
"""The unpaid leak of paper mode."""


@dataclass(frozen=True, eq=False)
class PropensityTrees:
    """The score of candidate parameters.

    Attributes:
        schema: in whose states rows and simulated records are.
        simulators: one for each set that a candidate is judged by, of the same columns and size.
        points: candidates, shape (G, p).
        trees: the class of trees, over the states of the columns.
        copies: how often each simulated record counts.
        mode: "strict"; or "paper", for the published bound on greedy trees.

    Raises:
        MethodError: trees that depend on the data in strict mode, or simulators that differ.
    """

    schema: Schema
    simulators: tuple[SimulatedColumn | SimulatedRecords, ...]
    points: Floats
    trees: Trees
    copies: int = 1
    mode: Mode = "strict"

    def __post_init__(self) -> None:
        """Check what is public, before anything is paid for."""
        if self.mode == "strict" and not self.trees.data_independent:
            raise MethodError(
                "These trees depend on the rows, so the score has no proven sensitivity; take a "
                "class that is fixed beforehand, or mode=paper."
            )
        if len({(simulator.columns, simulator.n_records) for simulator in self.simulators}) != 1:
            raise MethodError("The sets of a candidate need the same columns and size.")
        if self.copies < 1:
            raise MethodError("A simulated record counts once at least.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that rows and simulated records are compared in."""
        return self.simulators[0].columns

    @property
    def title(self) -> str:
        """What candidates are judged by, in words."""
        return self.trees.title

    @property
    def n_simulated(self) -> int:
        """ñ: simulated records of a set, copies counted."""
        return self.simulators[0].n_records * self.copies

    @property
    def monotone(self) -> bool:
        """Whether an added row raises the scores of all candidates, if it moves them."""
        return self.mode == "strict"

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of any candidate's score between neighbouring tables."""
        if self.mode == "paper":
            return Fraction(2)
        return sensitivity(self.n_simulated)

    @property
    def bound(self) -> str:
        """The sensitivity in words; their number follows from the number of rows, where bought."""
        return "2, as published" if self.mode == "paper" else "s/(s + 1) of s simulated records"

    def leaks(self, neighbours: Neighbours) -> tuple[str, ...]:
        """The unpaid leaks of the score.

        Raises:
            MethodError: the published form has no bound for these neighbours.
        """
        if self.mode == "strict":
            return ()
        if neighbours != "replace":
            raise MethodError(
                "The published bound is for a replaced row and a public number of rows; declare "
                'rows = "public" and n_rows, or leave mode=paper out.'
            )
        return (GREEDY,)

    def evaluate(self, coded: Sequence[Codes]) -> Floats:
        """Score of each candidate, shape (G,).

        Args:
            coded: states of all rows, one array per column of the schema.
        """
        comparison = self.against(coded)
        return np.array([comparison.score(theta) for theta in self.points])

    def against(self, coded: Sequence[Codes]) -> Comparison:
        """The rows as the trees want them, to be compared with any simulated set. CONFIDENTIAL."""
        rows = _table(known_rows(coded, self.schema, self.columns))
        return Comparison(self, self.trees.prepare(rows))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Rows prepared for comparison. CONFIDENTIAL.

    Attributes:
        how: simulators, trees and copies.
        rows: what the class of trees made of the rows.
    """

    how: PropensityTrees
    rows: Prepared

    def score(self, theta: Floats) -> float:
        """q(θ), the mean over the sets."""
        return float(np.mean([self._one(each.codes(theta)) for each in self.how.simulators]))

    def _one(self, codes: Sequence[Codes]) -> float:
        table = _table(codes)
        if isinstance(self.rows, PreparedCounts):
            return float(
                self.rows.smallest_sses_of(self.rows.trees.counts(table) * self.how.copies)
            )
        return self.rows.smallest_sse(np.repeat(table, self.how.copies, axis=0))


def _table(codes: Sequence[Codes]) -> NDArray[Any]:
    """States as the trees read them, shape (n, p)."""
    return np.stack(codes, axis=1)
