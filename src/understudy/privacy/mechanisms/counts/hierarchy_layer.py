"""Verbs that count the layers of a tree of cells.

The nodes of one layer are disjoint and every record that fits the schema is in exactly one of them.
So the counts of a layer, with the number of records that do not fit as one more count, change like
a contingency table: one count by 1 under add/remove, at most two counts by 1 under replace. All
nodes get noise, empty ones included; nodes without an allowed cell do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.engine import ExactCells
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import divided
from understudy.privacy.admission import HowMany, verb
from understudy.privacy.door import Door, query_of
from understudy.privacy.mechanisms.counts.empty_cells import ROUNDING, columns_of
from understudy.privacy.mechanisms.counts.lazy_leaves import noisy_leaves, records_below
from understudy.privacy.mechanisms.counts.lazy_table import require_tokens_fit
from understudy.privacy.noise.calibration import LawName, noise_of
from understudy.privacy.noise.distributions import DiscreteGaussian, NoiseLaw
from understudy.privacy.noise.perturbation import perturb
from understudy.privacy.released import NoisyNodes, NoisyTable, Records, Released
from understudy.schema import Partition

_LAYER = "noisy layer"


class Layering(Door):
    """Layers of trees of cells."""

    @verb
    def count_nodes(
        self,
        partition: Partition,
        depths: Sequence[int],
        *,
        spend: Fraction,
        law: LawName,
        weights: Sequence[int | Fraction] | None = None,
    ) -> list[Released[NoisyTable | NoisyNodes]]:
        """Noisy counts of all nodes of some layers, of records that fit the schema.

        Args:
            partition: a tree of this schema's cells.
            depths: which layers, from 1.
            spend: cost of all of them together.
            law: "geometric", "laplace" or "gaussian".
            weights: how the cost is divided among the layers; evenly if None.

        Returns:
            For each layer a full table, if all nodes above it were divided alike; else its nodes.

        Raises:
            MethodError: noise that does not fit the accounting, a tree of another schema, splits
                of no tree, or layers that it does not have.
            InsufficientBudgetError: more than is left.
        """
        self._tree_domain(partition)
        if not all(1 <= depth <= partition.depth for depth in depths):
            raise MethodError(f"The layers below the root are 1 to {partition.depth}.")
        shares = divided(spend, weights, len(depths))
        self._ledger.require(spend)
        laws = [self._calibrate(law, share) for share in shares]
        trees = [partition.until(depth) for depth in depths]
        entries = [
            self._charge(
                share, "noisy layer", self._layer_query(tree), noise, len(tree.layers[-1]) + 1
            )
            for share, noise, tree in zip(shares, laws, trees, strict=True)
        ]
        exact = self._secret_cells()
        released: list[Released[NoisyTable | NoisyNodes]] = [
            Released(self._noisy_layer(tree, exact, noise), noise_of(noise), _LAYER, entry)
            for tree, noise, entry in zip(trees, laws, entries, strict=True)
        ]
        self._measured.extend(released)
        return released

    @verb
    def count_leaves(
        self, partition: Partition, *, spend: Fraction, law: LawName
    ) -> Released[NoisyNodes]:
        """Noise in every cell of the full table, never written out: its sums below each last node.

        The noisy leaves stay behind the gate for `records_below`. Proof:
        `understudy.privacy.mechanisms.counts.lazy_leaves`.

        Args:
            partition: a tree of this schema's cells.
            spend: cost of the leaves and of the records together.
            law: "geometric" or "laplace".

        Raises:
            MethodError: a table too large for it, or Gaussian noise.
            InsufficientBudgetError: more than is left.
        """
        domain = self._tree_domain(partition)
        noise = self._calibrate(law, spend)
        if isinstance(noise, DiscreteGaussian):
            raise MethodError("Leaves that are not written out need geometric or laplace noise.")
        require_tokens_fit(domain, noise)
        names = self.own_schema.names
        entry = self._charge(spend, "lazy leaf layer", query_of(names), noise, domain.n_allowed + 1)
        self._under(ROUNDING)
        leaves, sums = noisy_leaves(
            self._secret_cells(), names, partition, noise, self._secret_randomness
        )
        self._secret_leaves[entry] = leaves
        sums = replace(sums, bins=self._bins_of(names))
        released = Released(sums, noise_of(noise), "lazy leaf layer", entry)
        self._measured.append(released)
        return released

    @verb
    def records_below(
        self, leaves: Released[NoisyNodes], weights: NDArray[np.float64], *, n_rows: HowMany
    ) -> Released[Records]:
        """Records on the leaves that `count_leaves` paid for; once, at no further cost.

        Args:
            leaves: what `count_leaves` gave.
            weights: of each last node, non-negative, shape (nodes,); from released values.
            n_rows: how many records.

        Raises:
            MethodError: leaves whose records were drawn already.
            BudgetError: in a forked child, which would draw them a second time.
        """
        self._ledger.require_home()
        kept = self._secret_leaves.pop(leaves.entry, None)
        if kept is None:
            raise MethodError("Records can be drawn once from leaves that were counted here.")
        drawn = records_below(kept, weights, n_rows, self._secret_randomness)
        return Released(drawn, leaves.noise, leaves.mechanism, leaves.entry)

    def _noisy_layer(
        self, tree: Partition, exact: ExactCells, noise: NoiseLaw
    ) -> NoisyTable | NoisyNodes:
        nodes = tree.layers[-1]
        place = tree.locate(columns_of(exact.codes, tree.domain))
        counts = np.bincount(place, weights=exact.counts, minlength=len(nodes)).astype(np.int64)
        noisy = perturb(np.append(counts, exact.outside), noise, self._secret_randomness)
        counts, outside = noisy[:-1], float(noisy[-1])
        order, alike = tree.order
        names = tuple(self.own_schema.names[j] for j in order)
        if alike:
            table = np.zeros([tree.domain.sizes[j] for j in order], dtype=noisy.dtype)
            table[tuple(nodes.states[:, order].T)] = counts
            return NoisyTable(names, table, outside, bins=self._bins_of(names))
        ones = np.ones(len(nodes), dtype=np.int64)
        states = nodes.states[:, order]
        return NoisyNodes(names, states, counts, outside, ones, bins=self._bins_of(names))

    def _layer_query(self, tree: Partition) -> str:
        order, alike = tree.order
        return layer_query(tuple(self.own_schema.names[j] for j in order), tree.depth, alike=alike)


def layer_query(columns: tuple[str, ...], depth: int, *, alike: bool) -> str:
    """A layer in the words of the ledger.

    Args:
        columns: columns that divide it and the layers above.
        depth: from 1.
        alike: whether all nodes of one layer are divided by the same columns.
    """
    return query_of(columns) if alike else f"counts of the nodes of layer {depth}"
