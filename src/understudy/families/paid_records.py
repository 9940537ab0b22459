"""Methods whose mechanism draws the records: paid records as a model, by urns.

Records that a mechanism drew are a model, so that a method has one way to answer. Where drawing
records is the mechanism, each record is paid for, and there are no more of them than were drawn.
They are handed out in the order in which they were drawn, each of them once.

Urn methods ask one step; the mechanism, its distribution and its proof stand in
`understudy.privacy.mechanisms.records.urn`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Method
from understudy.models import Model, Sample
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.records.urn import Urn, prior_weight
from understudy.privacy.released import Records, Released
from understudy.schema import Schema


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


@dataclass(frozen=True, kw_only=True)
class UrnMethod(Method):
    """A method whose records are drawn from real ones and a prior.

    Attributes:
        sets: always "split": each set is drawn at a cost of its own.
    """

    sets: Literal["split"] = "split"

    @abstractmethod
    def urn(self, columns: tuple[str, ...], n_rows: int) -> Urn:
        """The mechanism: what happens to a record that was drawn.

        Args:
            columns: names of all columns.
            n_rows: records to be drawn.
        """

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all columns.

        Nothing is added to a number, so its standard deviation is 0. Its noise mass is the prior
        weight of all cells together, or 0 where that depends on a private number of rows.
        """
        self._require(schema, budget)
        known = schema.n_rows if schema.rows == "public" else None
        urn, columns = self.urn(schema.names, known or 1), [schema.names]
        how = {"form": Form.DRAWS, "records": True}
        (table,) = announced(urn, schema, spend, budget, columns, **how)
        if known is None:
            return (table,)
        prior = prior_weight(known, spend, reinforced=urn.reinforced)
        return (replace(table, noise_mass=float(table.n_cells * prior)),)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Draw the records through the gate."""
        self._require(gate.schema, gate.budget)
        return PaidRecords.of(gate.ask(self.urn(gate.schema.names, n_rows), spend=spend))

    def _require(self, schema: Schema, budget: Budget) -> None:
        self.require_pure(budget)
        self.require_numbered(schema)
