"""States by tables: multinomial in each cell of the parents, with Dirichlet priors.

In each combination of the parents' states ("cell") the column has a state with probabilities θ of
its own, θ ~ Dirichlet(a, …, a). Under record weights the posterior is conjugate and exact:

    p(θ_cell | records) = Dirichlet(a + Σ α_i over the records of the cell in each state),

and a record contributes θ^α. Cells without records keep the prior: the table is dense, so that what
can be drawn does not tell which combinations occur. Ordinal columns are treated as categorical.

Draws are independent and exact up to rounding, some five million probabilities in a second.

Source: Gelman, Carlin, Stern, Dunson, Vehtari & Rubin (2013), Bayesian Data Analysis, §3.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from understudy.errors import MethodError
from understudy.features.number_line import Drawn
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.noise.rejection_sampling import compiled
from understudy.privacy.samplers.column_model import Floats, Records, Theta, slices
from understudy.privacy.samplers.conjugate_draws import many_log_gammas
from understudy.schema import NUMERIC, Schema

__all__ = ["LARGEST", "LOGS", "StateTable"]

Integers = NDArray[np.int64]

LARGEST: Final = 10_000
"""Probabilities in a table, at most."""
LOGS: Final = "log_probabilities"
"""Name of the one array of θ."""


@dataclass(frozen=True)
class StateTable:
    """The model of a column's states; θ is "log_probabilities", shape (S, cells, states).

    Attributes:
        column: its name.
        size: how many states it has.
        given: the parents and how many states each has; the last one changes fastest in cells.
        concentration: a.

    Raises:
        MethodError: a table with more than `LARGEST` probabilities, or a that is not positive.

    Example:
        >>> table = StateTable("job", 4, {"sex": 2, "region": 3})
        >>> table.cells
        6
    """

    column: str
    size: int
    given: Mapping[str, int] = field(default_factory=dict)
    concentration: float = 0.5

    def __post_init__(self) -> None:
        """Check what is public."""
        if not 0 < self.concentration < math.inf:
            raise MethodError("The concentration of a table's prior is positive and finite.")
        if self.cells * self.size > LARGEST:
            raise MethodError(
                f"The table of {self.column!r} given {', '.join(map(repr, self.given))} would have "
                f"{self.cells * self.size:,} probabilities, and {LARGEST:,} is the most; give it "
                "fewer parents, or coarser states."
            )

    @classmethod
    def of(
        cls, schema: Schema, column: str, parents: tuple[str, ...], *, concentration: float = 0.5
    ) -> StateTable:
        """The table of a column of a schema.

        Raises:
            MethodError: a numeric column, which has numbers beside its states, or too large a
                table.
        """
        if isinstance(schema.columns[column], NUMERIC):
            raise MethodError(f"The column {column!r} has numbers, and a table is for states only.")
        sizes = {name: schema.columns[name].size for name in parents}
        return cls(column, schema.columns[column].size, sizes, concentration)

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents."""
        return tuple(self.given)

    @cached_property
    def cells(self) -> int:
        """Combinations of the parents' states; 1 without parents."""
        return math.prod(self.given.values())

    def posterior(
        self, records: Records, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Independent exact draws; see `ColumnModel`."""
        at = self._places(records)
        totals = np.bincount(at, weights, minlength=self.cells * self.size)
        shapes = self.concentration + totals.reshape(self.cells, self.size)
        logs = np.empty((draws, *shapes.shape))
        for part in slices(draws, shapes.size):
            drawn = logs[part]
            drawn[:] = many_log_gammas(np.broadcast_to(shapes, drawn.shape), source)
            drawn -= logsumexp(drawn, axis=2, keepdims=True)
        return {LOGS: logs}

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log θ of each record's cell and state; see `ColumnModel`."""
        return self.log_contributions(draws, records, np.ones(len(records[self.column].states)))

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """α·log θ; see `ColumnModel`."""
        at = self._places(records)
        logs = draws[LOGS].reshape(len(draws[LOGS]), -1)
        for part in slices(len(logs), len(at)):
            yield _weighted(logs[part], at, weights)

    def draw(self, theta: Theta, drawn: Records, uniforms: Floats) -> Drawn:
        """States by inversion of the first row of uniform numbers; see `ColumnModel`."""
        ends = np.cumsum(np.exp(theta[LOGS]), axis=1)
        ends /= ends[:, -1:]
        return Drawn(_inverted(ends, self._cells(drawn, uniforms.shape[1]), uniforms[0]))

    def _places(self, records: Records) -> Integers:
        """Of the records' probabilities in the table laid flat, shape (n,)."""
        states = records[self.column].states
        return self._cells(records, len(states)) * self.size + states

    def _cells(self, records: Records, n: int) -> Integers:
        cells = np.zeros(n, dtype=np.int64)
        for name, size in self.given.items():
            cells = cells * size + records[name].states
        return cells


def _weighted(logs: Floats, at: Integers, weights: Floats) -> Floats:
    weighted = logs[:, at]
    weighted *= weights
    return np.asarray(weighted)


@compiled
def _inverted(ends: Floats, cells: Integers, uniforms: Floats) -> Integers:
    """The first state whose end lies above the uniform number, or the last (kernel)."""
    states = np.empty(len(cells), dtype=np.int64)
    last = ends.shape[1] - 1
    for i in range(len(cells)):
        state = 0
        while state < last and ends[cells[i], state] <= uniforms[i]:
            state += 1
        states[i] = state
    return states
