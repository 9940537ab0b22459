"""A network of columns that is known: its tables are measured, and become a Bayesian network."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from understudy.families.measurement_plan import PlannedTable, announced
from understudy.families.method import Method
from understudy.functions.declared_network import Edge
from understudy.models import Model
from understudy.models.bayesian_network import BayesianNetwork
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.noise.calibration import LawName
from understudy.schema import Schema


@dataclass(frozen=True, kw_only=True)
class KnownNetwork(Method):
    """A method that knows its network.

    Attributes:
        edges: each column and its parents.
        tables: names of the columns of each table; one of them covers each edge.
        law: noise.
    """

    edges: tuple[Edge, ...]
    tables: tuple[tuple[str, ...], ...]
    law: LawName

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The tables, in equal parts."""
        tables = NoisyTables(self.tables, law=self.law)
        return announced(tables, schema, spend, budget, self.tables)

    def fit(self, gate: Gate, spend: Fraction) -> Model:
        """Measure the tables."""
        tables = gate.ask(NoisyTables(self.tables, law=self.law), spend=spend)
        return BayesianNetwork.fitted(gate.schema, self.edges, [one.value for one in tables])
