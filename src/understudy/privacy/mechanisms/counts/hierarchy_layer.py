"""Counts of the disjoint nodes of one layer of a tree of cells.

The nodes of one layer are disjoint and every record that fits the schema is in exactly one of them.
So the counts of a layer, with the number of records that do not fit as one more count, change like
a contingency table: one count by 1 under add/remove, at most two counts by 1 under replace. All
nodes get noise, empty ones included; nodes without an allowed cell do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from understudy.domain.cell_tree import Partition
from understudy.engine import ExactCells
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import divided
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answers
from understudy.privacy.mechanisms.counts.empty_cells import columns_of
from understudy.privacy.mechanisms.counts.noisy_table import count_charge, query_of
from understudy.privacy.noise.calibration import LawName
from understudy.privacy.noise.distributions import NoiseLaw
from understudy.privacy.noise.perturbation import perturb
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyNodes, NoisyTable, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms, View


@dataclass(frozen=True)
class HierarchyLayers(Mechanism[tuple[Released[NoisyTable | NoisyNodes], ...], NoiseLaw]):
    """Noisy counts of all nodes of some layers, of records that fit the schema.

    A layer is answered as a full table, if all nodes above it were divided alike; else by its
    nodes.

    Attributes:
        partition: a tree of this schema's cells.
        depths: which layers, from 1.
        law: "geometric", "laplace" or "gaussian".
        weights: how the cost is divided among the layers; evenly if None.
    """

    name: ClassVar[str] = "noisy layer"

    partition: Partition
    depths: Sequence[int]
    law: LawName
    weights: Sequence[int | Fraction] | None = None

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[NoiseLaw], ...]:
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
                law=terms.calibrated(self.law, share),
                cells=len(tree.layers[-1]) + 1,
                spend=share,
            )
            for share, tree in zip(shares, self._trees, strict=True)
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[NoiseLaw], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyTable | NoisyNodes], ...]]:
        """Count the nodes, layer by layer."""
        exact = rows.cells(rows.view.schema.names)
        return answers(
            [
                _noisy_layer(tree, rows.view, exact, one.parameter, source)
                for tree, one in zip(self._trees, charges, strict=True)
            ]
        )

    @property
    def _trees(self) -> list[Partition]:
        return [self.partition.until(depth) for depth in self.depths]


def _noisy_layer(
    tree: Partition, view: View, exact: ExactCells, law: NoiseLaw, source: Randomness
) -> NoisyTable | NoisyNodes:
    nodes = tree.layers[-1]
    place = tree.locate(columns_of(exact.codes, tree.domain))
    counts = np.bincount(place, weights=exact.counts, minlength=len(nodes)).astype(np.int64)
    noisy = perturb(np.append(counts, exact.outside), law, source)
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
