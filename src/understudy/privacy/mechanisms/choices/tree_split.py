"""Verbs that choose what divides the nodes of a tree of cells.

A node that holds no record is divided like any other: the tree follows from the schema and from
paid choices alone. Scores, sensitivity and the cost of a layer:
`understudy.privacy.selection.aic_score`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.domain.cell_tree import Split
from understudy.errors import MethodError
from understudy.privacy.admission import verb
from understudy.privacy.door import CHOICE, Door
from understudy.privacy.mechanisms.counts.empty_cells import columns_of
from understudy.privacy.mechanisms.counts.noisy_table import MAX_CELLS
from understudy.privacy.released import NO_NOISE, Choice, Released
from understudy.privacy.selection import aic_score
from understudy.schema import Partition

MOST_GROUPED = 15
"""Columns of which all groups are candidates: 2¹⁵ of them."""

Floats = NDArray[np.float64]


class Dividing(Door):
    """Trees of cells."""

    @verb
    def divide(self, partition: Partition, *, spend: Fraction) -> Released[Partition]:
        """One layer more: each node is divided by the open column of smallest AIC, privately.

        Args:
            partition: a tree of this schema's cells; each last node leaves a column open.
            spend: cost of all choices together.

        Raises:
            MethodError: too many nodes, one that leaves no column open, or splits of no tree.
            InsufficientBudgetError: more than is left.
        """
        sizes = self._tree_domain(partition).sizes
        nodes = len(partition.layers[-1])
        if nodes * max(sizes) > MAX_CELLS:
            raise MethodError("The tree has too many nodes to choose from; take fewer layers.")
        if not all(partition.open_columns(node) for node in range(nodes)):
            raise MethodError("Every column divides a node already; nothing is left to choose.")
        monotone = self.neighbours == "add_remove"
        query = choice_query(partition.depth + 1)
        pick, entry = self._pay_choice(
            query, sensitivity=aic_score.SENSITIVITY, monotone=monotone, cells=nodes, spend=spend
        )
        scores = -self._secret_aic(partition)
        splits: list[Split] = []
        for node in range(nodes):
            columns = list(partition.open_columns(node))
            splits.append((columns[pick(scores[node, columns])],))
        return self._divided(partition, splits, entry)

    @verb
    def divide_in_groups(self, partition: Partition, *, spend: Fraction) -> Released[Partition]:
        """The first layer: a group of columns divides the root, all others are left to the leaves.

        Args:
            partition: a tree of one node.
            spend: cost.

        Raises:
            MethodError: more than `MOST_GROUPED` columns, or fewer than two, or more nodes.
            InsufficientBudgetError: more than is left.
        """
        n_columns = len(self._tree_domain(partition).sizes)
        if partition.depth:
            raise MethodError("A group of columns divides the root alone; take a tree of one node.")
        if not 2 <= n_columns <= MOST_GROUPED:
            raise MethodError(
                f"Groups can be chosen among 2 to {MOST_GROUPED} columns, and the schema has "
                f"{n_columns}; take split=columns, or declare the order."
            )
        groups = aic_score.ordered_groups(range(n_columns))
        sensitivity = aic_score.group_sensitivity(self.neighbours)
        query = choice_query(1, groups=True)
        pick, entry = self._pay_choice(
            query, sensitivity=sensitivity, monotone=False, cells=len(groups), spend=spend
        )
        scores = aic_score.group_scores(self._secret_aic(partition)[0], groups)
        return self._divided(partition, [groups[pick(scores)]], entry)

    def _secret_aic(self, partition: Partition) -> Floats:
        """AIC of each column in each last node, shape (nodes, columns); 0 where it is not open."""
        exact = self._secret_cells()
        columns = columns_of(exact.codes, partition.domain)
        place, last = partition.locate(columns), partition.layers[-1]
        scores = np.zeros(last.states.shape)
        for j, (states, size) in enumerate(zip(columns, partition.domain.sizes, strict=True)):
            cells = place * size + states
            counts = np.bincount(cells, weights=exact.counts, minlength=len(last) * size)
            scores[:, j] = aic_score.aic(counts.reshape(len(last), size))
        return scores

    def _divided(
        self, partition: Partition, splits: Sequence[Split], entry: int
    ) -> Released[Partition]:
        chosen = dict.fromkeys(self.own_schema.names[j] for split in splits for j in split)
        self._measured.append(Released(Choice(tuple(chosen)), NO_NOISE, CHOICE, entry))
        return Released(partition.divided(splits), NO_NOISE, CHOICE, entry)


def choice_query(layer: int, *, groups: bool = False) -> str:
    """What is chosen, in the words of the ledger.

    Args:
        layer: from 1.
        groups: whether it is a group of columns.
    """
    what = "the columns that divide" if groups else "a column that divides each node of"
    return f"{what} layer {layer - 1}, by AIC"
