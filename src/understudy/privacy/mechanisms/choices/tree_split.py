"""What divides the nodes of a tree of cells, by the exponential mechanism.

A node that holds no record is divided like any other: the tree follows from the schema and from
paid choices alone. Scores, sensitivity and the cost of a layer, in which each record is in one node
only: `understudy.privacy.selection.aic_score`. The answer is the splits of the new layer; the
release says which columns they are of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.domain.cell_tree import Partition, Split
from understudy.errors import MethodError
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.counts.noisy_table import MAX_CELLS
from understudy.privacy.mechanisms.counts.threshold_table import columns_of
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Choice, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.selection import aic_score
from understudy.privacy.selection.choice_charge import CHOICE, Choosing, choice_charge
from understudy.privacy.terms import Terms, View

MOST_GROUPED = 15
"""Columns of which all groups are candidates: 2¹⁵ of them."""

Floats = NDArray[np.float64]
Splits = tuple[Split, ...]


@dataclass(frozen=True)
class ColumnSplits(Mechanism[Released[Splits], Choosing]):
    """One layer more: each node is divided by the open column of smallest AIC, privately.

    Attributes:
        partition: a tree of this schema's cells; each last node leaves a column open.
    """

    name: ClassVar[str] = CHOICE

    partition: Partition

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[Choosing], ...]:
        """One step for all choices of the layer.

        Raises:
            MethodError: too many nodes, one that leaves no column open, or splits of no tree.
            BudgetError: more than is left, or next to nothing.
        """
        sizes = terms.view.tree_domain(self.partition).sizes
        nodes = len(self.partition.layers[-1])
        if nodes * max(sizes) > MAX_CELLS:
            raise MethodError("The tree has too many nodes to choose from; take fewer layers.")
        if not all(self.partition.open_columns(node) for node in range(nodes)):
            raise MethodError("Every column divides a node already; nothing is left to choose.")
        charge = choice_charge(
            terms,
            choice_query(self.partition.depth + 1),
            sensitivity=aic_score.SENSITIVITY,
            monotone=True,
            cells=nodes,
            spend=spend,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[Splits]]:
        """Choose a column for each node."""
        scores, splits = -_exact_aic(self.partition, rows), []
        for node, score in enumerate(scores):
            columns = list(self.partition.open_columns(node))
            splits.append((columns[charges[0].parameter.pick(score[columns], source)],))
        return _published(splits, rows.view)


@dataclass(frozen=True)
class GroupSplit(Mechanism[Released[Splits], Choosing]):
    """The first layer: a group of columns divides the root, all others are left to the leaves.

    Attributes:
        partition: a tree of one node.
    """

    name: ClassVar[str] = CHOICE

    partition: Partition

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[Choosing], ...]:
        """One step.

        Raises:
            MethodError: more than `MOST_GROUPED` columns, or fewer than two, or more nodes.
            BudgetError: more than is left, or next to nothing.
        """
        n_columns = len(terms.view.tree_domain(self.partition).sizes)
        if self.partition.depth:
            raise MethodError("A group of columns divides the root alone; take a tree of one node.")
        if not 2 <= n_columns <= MOST_GROUPED:
            raise MethodError(
                f"Groups can be chosen among 2 to {MOST_GROUPED} columns, and the schema has "
                f"{n_columns}; take split=columns, or declare the order."
            )
        charge = choice_charge(
            terms,
            choice_query(1, groups=True),
            sensitivity=aic_score.group_sensitivity(terms.neighbours),
            monotone=False,
            cells=len(aic_score.ordered_groups(range(n_columns))),
            spend=spend,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[Splits]]:
        """Choose a group for the root."""
        groups = aic_score.ordered_groups(range(len(rows.view.schema.names)))
        scores = aic_score.group_scores(_exact_aic(self.partition, rows)[0], groups)
        return _published([groups[charges[0].parameter.pick(scores, source)]], rows.view)


def choice_query(layer: int, *, groups: bool = False) -> str:
    """What is chosen, in the words of the ledger.

    Args:
        layer: from 1.
        groups: whether it is a group of columns.
    """
    what = "the columns that divide" if groups else "a column that divides each node of"
    return f"{what} layer {layer - 1}, by AIC"


def _exact_aic(partition: Partition, rows: SecretRows) -> Floats:
    """AIC of each column in each last node, shape (nodes, columns); 0 where it is not open."""
    exact = rows.cells(rows.view.schema.names)
    columns = columns_of(exact.codes, partition.domain)
    place, last = partition.locate(columns), partition.layers[-1]
    scores = np.zeros(last.states.shape)
    for j, (states, size) in enumerate(zip(columns, partition.domain.sizes, strict=True)):
        cells = place * size + states
        counts = np.bincount(cells, weights=exact.counts, minlength=len(last) * size)
        scores[:, j] = aic_score.aic(counts.reshape(len(last), size))
    return scores


def _published(splits: Sequence[Split], view: View) -> Outcome[Released[Splits]]:
    """Splits, of which the release names the columns."""
    chosen = dict.fromkeys(view.schema.names[j] for split in splits for j in split)
    return answer(tuple(splits), [Choice(tuple(chosen))])
