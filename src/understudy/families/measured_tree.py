"""A tree of cells: its layers, planned and measured, and records drawn from their counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.domain.cell_tree import Layer, Split
from understudy.families.paid_records import PaidRecords
from understudy.models import Model, TableModel
from understudy.models.node_least_squares import Hierarchy, downward
from understudy.models.table_models import projected
from understudy.models.tree_consistency import Consistency, NoisyLayer, consistent
from understudy.privacy.accounting.budget import split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.hierarchy_layer import HierarchyLayers
from understudy.privacy.mechanisms.counts.lazy_leaves import LazyLeaves, LeafRecords
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.noise.calibration import NoiseName
from understudy.privacy.noise.perturbation import EXACTLY, Mode
from understudy.privacy.released import NoisyNodes, NoisyTable
from understudy.schema import Partition, Schema


@dataclass(frozen=True)
class PlannedLayer:
    """An inner layer, as far as the schema and the options tell.

    Attributes:
        columns: names of the columns that divide it and the layers above; () if not known.
        nodes: how many it has; the largest possible number if the columns are not known.
        alike: whether all nodes above it are known to be divided alike.
    """

    columns: tuple[str, ...]
    nodes: int
    alike: bool = False


def known_layers(schema: Schema, tree: Partition) -> tuple[PlannedLayer, ...]:
    """The layers of a tree that is known.

    Args:
        schema: the public schema.
        tree: its inner layers.
    """
    found = []
    for depth in range(1, tree.depth + 1):
        above = tree.until(depth)
        order, alike = above.order
        names = tuple(schema.names[j] for j in order)
        found.append(PlannedLayer(names, len(above.layers[-1]), alike))
    return tuple(found)


def along(schema: Schema, splits: tuple[Split, ...]) -> Partition:
    """The tree in which all nodes of a layer are divided alike.

    Args:
        schema: the public schema.
        splits: places of the columns that divide each layer.
    """
    tree = Partition(schema.domain)
    for group in splits:
        tree = tree.divided([group] * len(tree.layers[-1]))
    return tree


Allocation = Literal["downward", "projected", "leaves"]


@dataclass(frozen=True, kw_only=True)
class MeasuredTree:
    """A tree whose layers are to be measured.

    Attributes:
        tree: the inner layers.
        lazy: whether the leaves are never written out, so that records are drawn behind the gate.
        noise: noise.
        consistency: "gls", "hay" or "paper_phantom".
        allocation: "downward", "projected" or "leaves".
        mode: "paper" for the noise as published.
        overspend: how many times its cost that noise is worth.
    """

    tree: Partition
    lazy: bool
    noise: NoiseName
    consistency: Consistency
    allocation: Allocation
    mode: Mode = "strict"
    overspend: Fraction = EXACTLY

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure every layer, and draw records in proportion to the counts.

        Args:
            gate: in whose cells the tree is.
            spend: cost of all layers together.
            n_rows: records to be drawn.
        """
        gate.require(spend)
        return self._below(gate, spend, n_rows) if self.lazy else self._of_cells(gate, spend)

    def _of_cells(self, gate: Gate, spend: Fraction) -> Model:
        """Measure every layer, all cells included."""
        *shares, last = split(spend, [1] * (self.tree.depth + 1))
        layers = self._measured(gate, sum(shares, Fraction(0)))
        cells = NoisyTables(
            [gate.schema.names], noise=self.noise, mode=self.mode, overspend=self.overspend
        )
        (table,) = gate.ask(cells, spend=last)
        codes, parents = self._leaves
        leaves = table.value.counts.reshape(-1)[codes]
        variance = table.noise.stddev**2
        layers.append(NoisyLayer(leaves, table.value.outside, variance))
        weights = self._weights(gate, Hierarchy((*self._parents, parents)), layers)
        return TableModel(gate.schema.domain, codes, weights)

    def _below(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure the inner layers and the sums of the leaves; records are drawn from those."""
        *shares, last = split(spend, [1] * (self.tree.depth + 1))
        layers = self._measured(gate, sum(shares, Fraction(0)))
        leaves = gate.ask(LazyLeaves(self.tree, noise=self.noise), spend=last)
        sums = leaves.value
        variance = leaves.noise.stddev**2
        layers.append(NoisyLayer(sums.counts, sums.outside, variance, sums.summed))
        nodes = np.arange(len(sums.counts))
        weights = self._weights(gate, Hierarchy((*self._parents, nodes)), layers)
        records = gate.ask(LeafRecords(leaves, weights, n_rows=n_rows))
        return PaidRecords.of(records)

    def _measured(self, gate: Gate, spend: Fraction) -> list[NoisyLayer]:
        """The inner layers."""
        if not self.tree.depth:
            return []
        depths = range(1, self.tree.depth + 1)
        asked = HierarchyLayers(
            self.tree, depths, noise=self.noise, mode=self.mode, overspend=self.overspend
        )
        nodes = gate.ask(asked, spend=spend)
        return [
            NoisyLayer(
                _of_nodes(counted.value, layer, gate.schema),
                counted.value.outside,
                counted.noise.stddev**2,
            )
            for counted, layer in zip(nodes, self.tree.layers[1:], strict=True)
        ]

    def _weights(self, gate: Gate, tree: Hierarchy, layers: list[NoisyLayer]) -> Floats:
        """Weights of the nodes of the last layer."""
        rows = gate.n_rows
        counts = consistent(tree, layers, rows.value, rows.noise.stddev**2, self.consistency)
        if self.allocation == "leaves":
            return np.maximum(counts[-1], 0)
        if self.allocation == "projected":
            return projected(counts[-1], counts[0][..., 0])
        sizes = [layer.sizes for layer in self.tree.layers]
        last = sizes[-1] if self.lazy else np.ones(len(counts[-1]))
        return downward(tree, counts, [*sizes, last])[-1]

    @property
    def _parents(self) -> tuple[NDArray[np.int64], ...]:
        return tuple(layer.parents for layer in self.tree.layers)

    @cached_property
    def _leaves(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of the allowed cells, ascending, and the node of the last inner layer of each.

        States of columns that divide no layer are not needed, and not worked out.
        """
        domain = self.tree.domain
        codes = domain.allowed_codes
        dividing = {j for splits in self.tree.splits for split in splits for j in split}
        none = np.broadcast_to(np.uint32(0), codes.shape)
        states = [
            _states(codes, domain.sizes, j) if j in dividing else none
            for j in range(len(domain.sizes))
        ]
        return codes, self.tree.locate(states)


def _states(codes: NDArray[np.int64], sizes: Sequence[int], j: int) -> NDArray[np.uint32]:
    """States of one column in mixed-radix codes."""
    return np.asarray(codes // math.prod(sizes[j + 1 :]) % sizes[j]).astype(np.uint32)


def _of_nodes(value: NoisyTable | NoisyNodes, layer: Layer, schema: Schema) -> NDArray[np.generic]:
    """Counts in the order of the nodes."""
    if isinstance(value, NoisyNodes):
        return value.counts
    places = [schema.names.index(name) for name in value.columns]
    return np.asarray(value.counts[tuple(layer.states[:, places].T)])
