"""A tree of cells that is known: its layers are measured, and records drawn from their counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.domain.cell_tree import Layer
from understudy.families.measurement_plan import PlannedTable
from understudy.families.method import Method
from understudy.models import Model, TableModel
from understudy.models.full_table import unravel
from understudy.models.hierarchical.consistency import Consistency, NoisyLayer, consistent
from understudy.models.hierarchical.node_least_squares import Floats, Hierarchy, downward
from understudy.models.nonnegative_projection import projected
from understudy.privacy.accounting.budget import Budget, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.hierarchy_layer import HierarchyLayers
from understudy.privacy.mechanisms.counts.lazy_leaves import LazyLeaves, LeafRecords
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.noise.calibration import LawName
from understudy.privacy.released import NoisyNodes, NoisyTable, Records, Released
from understudy.schema import Partition, Schema

Allocation = Literal["downward", "projected", "leaves"]


@dataclass(frozen=True, kw_only=True)
class GrownTree(Method):
    """A method that knows its tree.

    Attributes:
        method: whose tree it is.
        tree: the inner layers.
        law: noise.
        consistency: "gls", "hay" or "paper_phantom".
        allocation: "downward", "projected" or "leaves".
    """

    method: Method
    tree: Partition
    law: LawName
    consistency: Consistency
    allocation: Allocation

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """As planned without the tree."""
        return self.method.plan(schema, spend, budget)

    def draws_records(self, schema: Schema) -> bool:
        """As without the tree."""
        return self.method.draws_records(schema)

    def fit(self, gate: Gate, spend: Fraction) -> Model:
        """Measure every layer, all cells included."""
        gate.require(spend)
        *shares, last = split(spend, [1] * (self.tree.depth + 1))
        layers = self._measured(gate, sum(shares, Fraction(0)))
        (table,) = gate.ask(NoisyTables([gate.schema.names], law=self.law), spend=last)
        codes, parents = self._leaves
        leaves = table.value.counts.reshape(-1)[codes]
        variance = table.noise.stddev**2
        layers.append(NoisyLayer(leaves, table.value.outside, variance))
        weights = self._weights(gate, Hierarchy((*self._parents, parents)), layers)
        return TableModel(gate.schema.domain, codes, weights)

    def synthesize(self, gate: Gate, n_rows: int, spend: Fraction) -> Released[Records]:
        """Measure the inner layers and the sums of the leaves; records are drawn from those."""
        gate.require(spend)
        *shares, last = split(spend, [1] * (self.tree.depth + 1))
        layers = self._measured(gate, sum(shares, Fraction(0)))
        leaves = gate.ask(LazyLeaves(self.tree, law=self.law), spend=last)
        sums = leaves.value
        variance = leaves.noise.stddev**2
        layers.append(NoisyLayer(sums.counts, sums.outside, variance, sums.summed))
        nodes = np.arange(len(sums.counts))
        weights = self._weights(gate, Hierarchy((*self._parents, nodes)), layers)
        return gate.ask(LeafRecords(leaves, weights, n_rows=n_rows))

    def _measured(self, gate: Gate, spend: Fraction) -> list[NoisyLayer]:
        """The inner layers."""
        if not self.tree.depth:
            return []
        depths = range(1, self.tree.depth + 1)
        found = gate.ask(HierarchyLayers(self.tree, depths, law=self.law), spend=spend)
        return [
            NoisyLayer(
                _of_nodes(one.value, layer, gate.schema), one.value.outside, one.noise.stddev**2
            )
            for one, layer in zip(found, self.tree.layers[1:], strict=True)
        ]

    def _weights(self, gate: Gate, tree: Hierarchy, layers: list[NoisyLayer]) -> Floats:
        """Weights of the nodes of the last layer."""
        rows = gate.n_rows
        found = consistent(tree, layers, rows.value, rows.noise.stddev**2, self.consistency)
        if self.allocation == "leaves":
            return np.maximum(found[-1], 0)
        if self.allocation == "projected":
            return projected(found[-1], found[0][..., 0])
        sizes = [one.sizes for one in self.tree.layers]
        last = sizes[-1] if self.draws_records(gate.schema) else np.ones(len(found[-1]))
        return downward(tree, found, [*sizes, last])[-1]

    @property
    def _parents(self) -> tuple[NDArray[np.int64], ...]:
        return tuple(one.parents for one in self.tree.layers)

    @cached_property
    def _leaves(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of the allowed cells, ascending, and the node of the last inner layer of each."""
        domain = self.tree.domain
        codes = np.flatnonzero(domain.allowed_mask())
        states = [one.astype(np.uint32) for one in unravel(codes, domain.sizes)]
        return codes, self.tree.locate(states)


def _of_nodes(value: NoisyTable | NoisyNodes, layer: Layer, schema: Schema) -> NDArray[np.generic]:
    """Counts in the order of the nodes."""
    if isinstance(value, NoisyNodes):
        return value.counts
    places = [schema.names.index(name) for name in value.columns]
    return np.asarray(value.counts[tuple(layer.states[:, places].T)])
