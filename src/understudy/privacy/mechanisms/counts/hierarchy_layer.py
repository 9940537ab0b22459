"""Counts of the disjoint parts of one layer: nodes of a tree of cells, or ranges of a column.

**Nodes.** The nodes of one layer are disjoint and every record that fits the schema is in exactly
one of them. So the counts of a layer, with the number of records that do not fit as one more count,
change like a contingency table: one count by 1 under add/remove, at most two counts by 1 under
replace. All nodes get noise, empty ones included; nodes without an allowed cell do not exist.

**Ranges of one column's states.** The ranges of one layer are disjoint, and every record whose
value is in domain is in exactly one of them. So their counts, with the number of records out of
domain as one more count, change like a one-way table: one count by 1 under add/remove; under
replace one falls and another rises by 1, or none changes. Each layer has L1 sensitivity 1 or 2 (L2:
1 or √2), and the costs of layers add up. All ranges get noise, empty ones included, and so do
ranges of states that cannot occur.

**As published** (`mode=paper`, Bowen, Liu & Su 2021) nodes get continuous Laplace noise for a
record that is added or removed, also where the number of rows is public, and `overspend` times the
ε that is charged: the paper divides its budget by L, and counts L + 1 layers. What that leaves
unpaid is stamped on the guarantee (`understudy.privacy.noise.perturbation.unpaid_leak`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.domain.cell_tree import Partition
from understudy.engine import ExactCells
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import divided, split
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answers
from understudy.privacy.mechanisms.counts.noisy_table import count_charge, query_of
from understudy.privacy.mechanisms.counts.threshold_table import columns_of
from understudy.privacy.noise.calibration import NoiseName
from understudy.privacy.noise.distributions import DiscreteNoise
from understudy.privacy.noise.perturbation import (
    EXACTLY,
    Mode,
    NoiseDistribution,
    count_noise,
    perturb,
    unpaid_leak,
)
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyNodes, NoisyRanges, NoisyTable, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms, View


@dataclass(frozen=True)
class HierarchyLayers(Mechanism[tuple[Released[NoisyTable | NoisyNodes], ...], NoiseDistribution]):
    """Noisy counts of all nodes of some layers, of records that fit the schema.

    A layer is answered as a full table, if all nodes above it were divided alike; else by its
    nodes.

    Attributes:
        partition: a tree of this schema's cells.
        depths: which layers, from 1.
        noise: "geometric", "laplace" or "gaussian".
        weights: how the cost is divided among the layers; evenly if None.
        mode: "paper" for continuous Laplace noise of scale 1/ε, whatever the distribution; the
            guarantee then names the unpaid leak.
        overspend: how many times its cost the noise is worth, in paper mode; that is named, too.
    """

    name: ClassVar[str] = "noisy layer"

    partition: Partition
    depths: Sequence[int]
    noise: NoiseName
    weights: Sequence[int | Fraction] | None = None
    mode: Mode = "strict"
    overspend: Fraction = EXACTLY

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[NoiseDistribution], ...]:
        """One step for each layer.

        Raises:
            MethodError: noise that does not fit the accounting, a tree of another schema, splits
                of no tree, or layers that it does not have.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.tree_domain(self.partition)
        if not all(1 <= depth <= self.partition.depth for depth in self.depths):
            raise MethodError(f"The layers below the root are 1 to {self.partition.depth}.")
        shares = divided(spend, self.weights, len(self.depths))
        terms.require(spend)
        return tuple(
            count_charge(
                terms,
                self.name,
                _query(tree, terms.schema.names),
                distribution=self._noise(terms, share),
                cells=len(tree.layers[-1]) + 1,
                spend=share,
                mode=self.mode,
            )
            for share, tree in zip(shares, self._trees, strict=True)
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[NoiseDistribution], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyTable | NoisyNodes], ...]]:
        """Count the nodes, layer by layer."""
        exact = rows.cells(rows.view.schema.names)
        layers = [
            _noisy_layer(tree, rows.view, exact, charge.parameter, source)
            for tree, charge in zip(self._trees, charges, strict=True)
        ]
        leaks = unpaid_leak(rows.view.neighbours, "threshold", self.mode, self.overspend)
        return answers(layers, leaks=leaks)

    def _noise(self, terms: Terms, spend: Fraction) -> NoiseDistribution:
        """The noise of one layer."""
        terms.require(spend)
        return count_noise(
            self.noise,
            spend=spend,
            accounting=terms.accounting,
            schema=terms.schema,
            mode=self.mode,
            overspend=self.overspend,
        )

    @property
    def _trees(self) -> list[Partition]:
        return [self.partition.until(depth) for depth in self.depths]


def _noisy_layer(
    tree: Partition,
    view: View,
    exact: ExactCells,
    distribution: NoiseDistribution,
    source: Randomness,
) -> NoisyTable | NoisyNodes:
    nodes = tree.layers[-1]
    place = tree.locate(columns_of(exact.codes, tree.domain))
    counts = np.bincount(place, weights=exact.counts, minlength=len(nodes)).astype(np.int64)
    noisy = perturb(np.append(counts, exact.outside), distribution, source)
    counts, outside = noisy[:-1], float(noisy[-1])
    order, alike = tree.order
    names = tuple(view.schema.names[j] for j in order)
    if alike:
        table = np.zeros([tree.domain.sizes[j] for j in order], dtype=noisy.dtype)
        table[tuple(nodes.states[:, order].T)] = counts
        return NoisyTable(names, table, outside, bins=view.bins_of(names))
    ones = np.ones(len(nodes), dtype=np.int64)
    return NoisyNodes(
        names, nodes.states[:, order], counts, outside, ones, bins=view.bins_of(names)
    )


def _query(tree: Partition, names: tuple[str, ...]) -> str:
    order, alike = tree.order
    return layer_query(tuple(names[j] for j in order), tree.depth, alike=alike)


def layer_query(columns: tuple[str, ...], depth: int, *, alike: bool) -> str:
    """A layer in the words of the ledger.

    Args:
        columns: columns that divide it and the layers above.
        depth: from 1.
        alike: whether all nodes of one layer are divided by the same columns.
    """
    return query_of(columns) if alike else f"counts of the nodes of layer {depth}"


@dataclass(frozen=True)
class RangeCounts(Mechanism[tuple[Released[NoisyRanges], ...], DiscreteNoise]):
    """Noisy counts of ranges of states, layer by layer, at equal cost.

    Attributes:
        column: its name.
        layers: for each layer the first states of its ranges, ascending from 0, and the end of the
            last one: at least the number of states. Beyond it there are no records.
        noise: "geometric", "laplace" or "gaussian".
    """

    name: ClassVar[str] = "noisy ranges"

    column: str
    layers: Sequence[NDArray[np.int64]]
    noise: NoiseName

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[DiscreteNoise], ...]:
        """One step for each layer.

        Raises:
            MethodError: ranges that do not hold every state, or noise that does not fit.
            BudgetError: more than is left, or next to nothing.
        """
        (place,) = terms.view.places((self.column,))
        size = terms.schema.sizes[place]
        for edges in self.layers:
            if len(edges) < 2 or edges[0] != 0 or edges[-1] < size or (np.diff(edges) < 1).any():
                raise MethodError("Ranges must ascend from state 0 and hold every state.")
        shares = split(spend, [1] * len(self.layers)) if self.layers else []
        terms.require(spend)
        return tuple(
            count_charge(
                terms,
                self.name,
                range_query(self.column, len(edges) - 1),
                distribution=terms.calibrated(self.noise, share),
                cells=len(edges),
                spend=share,
            )
            for share, edges in zip(shares, self.layers, strict=True)
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[DiscreteNoise], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyRanges], ...]]:
        """Count the column once, and sum it up layer by layer."""
        (exact,) = rows.tables([(self.column,)])
        bins, ranges = rows.view.bins_of((self.column,)), []
        for edges, charge in zip(self.layers, charges, strict=True):
            counts = np.append(_sums(exact.inside, edges), exact.outside)
            noisy = perturb(counts, charge.parameter, source)
            ranges.append(NoisyRanges((self.column,), edges, noisy[:-1], float(noisy[-1]), bins))
        return answers(ranges)


def range_query(column: str, n_ranges: int) -> str:
    """A layer of ranges in the words of the ledger."""
    return f"counts of {n_ranges} ranges of {column}"


def _sums(counts: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Records in each range; 0 beyond the last state."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    return np.diff(ends[np.minimum(edges, len(counts))])
