r"""The likelihood of one column given others, record by record and censored: a score of candidates.

A candidate θ_g is judged by Σ c_i(θ_g) over the rows, c_i the censored logarithm of
P(state of the column | states of its parents; θ_g): the score of `censored_likelihood`, whose proof
it rests on. So under add/remove a choice at ε has odds exp(ε·u/W), under replace exp(ε·u/(2W)), u
the score and W the width: the posterior, of the censored likelihood, to the power ε/W or ε/(2W).

What the proof asks for holds for these reasons.

* A record contributes a function of its own states: the column model is asked for one combination
  of the parents' states at a time (`ColumnGenerator`), so there is nothing else that its answer
  could depend on.
* A row without a state in one of the columns, or in an impossible combination of them, is left out:
  that is decided row by row, so neighbours stay neighbours or become equal.
* Contributions are whole numbers of steps. Equal rows are counted, and a count times a contribution
  is what they contribute together, exactly.

**Walks.** A walk goes where no list of candidates reaches, so a record's own peak is the supremum
over all θ. For the regressions of this software it is log 1 = 0, whatever the record: an intercept
far out, or a mean with a tiny σ, makes any state as good as certain. So over a continuum `own-peak`
*is* the form `interval` with the upper end 0, and that is what `against` wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.functions.sequential_generator import ColumnGenerator
from understudy.privacy.accounting.budget import Neighbours
from understudy.privacy.mechanisms.choices.censored_likelihood import (
    CensoredLikelihood,
    Censoring,
    censored_title,
)
from understudy.privacy.whole_rows import Codes, known_rows
from understudy.schema import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """Densities of records that are states of the parents, then of the column.

    It is a `RecordModel`.

    Attributes:
        column_model: of the column.
        points: candidates, shape (G, p).
    """

    column_model: ColumnGenerator
    points: Floats

    def log_densities(self, records: Floats) -> Floats:
        """Shape (m, G); records of shape (m, parents + 1), whole numbers."""
        densities = np.empty((len(records), len(self.points)))
        states = records.astype(np.int64)
        changes = (states[1:, :-1] != states[:-1, :-1]).any(axis=1)
        for rows in np.split(np.arange(len(states)), 1 + np.flatnonzero(changes)):
            if len(rows):
                given, outcomes = states[rows[0], :-1], states[rows, -1]
                densities[rows] = self.column_model.log_shares(self.points, given, outcomes)
        return densities


@dataclass(frozen=True, eq=False)
class ColumnLikelihood:
    """The score of candidates for the parameters of one column; see the head of this file.

    Attributes:
        schema: in whose states rows are.
        column_model: of the column given its parents.
        points: candidates, shape (G, p).
        censoring: what a record contributes.
    """

    schema: Schema
    column_model: ColumnGenerator
    points: Floats
    censoring: Censoring

    @property
    def columns(self) -> tuple[str, ...]:
        """The parents, then the column."""
        return (*self.column_model.parents, self.column_model.column)

    @property
    def title(self) -> str:
        """What candidates are judged by, in words."""
        return censored_title(self.censoring)

    @property
    def bound(self) -> str:
        """The sensitivity in words."""
        return self._likelihood.bound

    @property
    def monotone(self) -> bool:
        """Whether an added row moves the scores of all candidates one way: none up."""
        return self._likelihood.monotone

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of a score between neighbours, in steps of the width."""
        return self._likelihood.sensitivity(neighbours)

    def leaks(self, neighbours: Neighbours) -> tuple[str, ...]:
        """Nothing is leaked unpaid."""
        return ()

    def evaluate(self, coded: Sequence[Codes]) -> Floats:
        """Score of each candidate, in steps of W·2⁻³⁰, shape (G,). CONFIDENTIAL.

        Args:
            coded: states of all rows, one array per column of the schema.
        """
        return self._likelihood.evaluate(*self._cells(coded))

    def against(self, coded: Sequence[Codes]) -> CellComparison:
        """The rows, counted by cell. CONFIDENTIAL.

        Raises:
            MethodError: another form than `interval`, which is the one a walk can have.
        """
        if self.censoring.form != "interval":
            raise MethodError("A walk knows no candidates; it needs the form interval.")
        return CellComparison(self, *self._cells(coded))

    @property
    def _likelihood(self) -> CensoredLikelihood:
        return CensoredLikelihood(Cells(self.column_model, self.points), self.censoring)

    def _cells(self, coded: Sequence[Codes]) -> tuple[Floats, NDArray[np.integer[Any]]]:
        """Cells that hold rows, those of the same parents side by side; and how many."""
        columns = known_rows(coded, self.schema, self.columns)
        place = np.zeros(len(columns[0]), dtype=np.int64)
        for states in columns:  # places of cells, numbered again each time: no product overflows
            wide = place * (1 + int(states.max(initial=0))) + states
            place = np.unique(wide, return_inverse=True)[1].ravel()
        _, first, counts = np.unique(place, return_index=True, return_counts=True)
        return np.stack([column[first] for column in columns], axis=1).astype(np.float64), counts


@dataclass(frozen=True, eq=False, repr=False)
class CellComparison:
    """Rows counted by cell. CONFIDENTIAL.

    Attributes:
        how: column model and censoring.
        cells: those that hold rows, shape (m, columns).
        counts: rows in each, shape (m,).
    """

    how: ColumnLikelihood
    cells: Floats
    counts: NDArray[np.integer[Any]]

    def score(self, theta: Floats) -> float:
        """The score of parameters, in steps of W·2⁻³⁰."""
        model = Cells(self.how.column_model, theta[None])
        likelihood = CensoredLikelihood(model, self.how.censoring)
        return float(likelihood.evaluate(self.cells, self.counts)[0])
