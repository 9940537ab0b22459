"""What divides the nodes of a tree of cells, by the exponential mechanism.

A node that holds no record is divided like any other: the tree follows from the schema and from
paid choices alone. Scores, sensitivity and the cost of a layer, in which each record is in one node
only: `understudy.privacy.selection.aic_score`, or `bic_score`. The answer is the splits of the new
layer; the release says which columns they are of.

**Two groups in any order** (`apart`) are chosen by the absolute difference of their means, which
costs what a choice among ordered ones does, and which of them divides the root is a second choice,
among two. As published (`mode=paper`) that one is read off the rows, unpaid, and the guarantee says
so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.domain.cell_tree import Partition, Split
from understudy.errors import MethodError
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.counts.noisy_table import MAX_CELLS
from understudy.privacy.mechanisms.counts.threshold_table import columns_of
from understudy.privacy.noise.perturbation import Mode
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Choice, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.selection import aic_score, bic_score
from understudy.privacy.selection.choice_charge import CHOICE, Choosing, choice_charge
from understudy.privacy.terms import Terms, View

MOST_GROUPED = 15
"""Columns of which all groups are candidates: 2¹⁵ of them."""

ORDER_READ = "Which of the two groups of columns divides the root was read off the rows."

Floats = NDArray[np.float64]
Splits = tuple[Split, ...]
Utility = Literal["aic", "bic"]


@dataclass(frozen=True)
class ColumnSplits(Mechanism[Released[Splits], Choosing]):
    """One layer more: each node is divided by the open column of smallest AIC or BIC, privately.

    Attributes:
        partition: a tree of this schema's cells; each last node leaves a column open.
        utility: "aic" or "bic".
    """

    name: ClassVar[str] = CHOICE

    partition: Partition
    utility: Utility = "aic"

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
        change = aic_score.SENSITIVITY if self.utility == "aic" else bic_score.sensitivity(sizes)
        charge = choice_charge(
            terms,
            choice_query(self.partition.depth + 1, utility=self.utility),
            sensitivity=change,
            monotone=True,
            cells=nodes,
            spend=spend,
            stated=bic_score.words(change),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[Splits]]:
        """Choose a column for each node."""
        scores, splits = -_exact(self.partition, rows, self.utility), []
        for node, score in enumerate(scores):
            columns = list(self.partition.open_columns(node))
            splits.append((columns[charges[0].parameter.pick(score[columns], source)],))
        return _published(splits, rows.view)


@dataclass(frozen=True)
class GroupSplit(Mechanism[Released[Splits], Choosing]):
    """The first layer: a group of columns divides the root, all others are left to the leaves.

    Attributes:
        partition: a tree of one node.
        utility: "aic" or "bic".
        groups: groups to choose from; all of them if None.
        apart: choose how all columns are divided into two groups, whichever comes first; the answer
            is one of the two.
        mode: "paper" to answer with the better of two that were chosen so, unpaid.
    """

    name: ClassVar[str] = CHOICE

    partition: Partition
    utility: Utility = "aic"
    groups: Sequence[Split] | None = None
    apart: bool = False
    mode: Mode = "strict"

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[Choosing], ...]:
        """One step.

        Raises:
            MethodError: more than `MOST_GROUPED` columns, or fewer than two, or more nodes; or
                groups that leave no other group.
            BudgetError: more than is left, or next to nothing.
        """
        sizes = terms.view.tree_domain(self.partition).sizes
        n_columns = len(sizes)
        if self.partition.depth:
            raise MethodError("A group of columns divides the root alone; take a tree of one node.")
        if not 2 <= n_columns <= MOST_GROUPED:
            raise MethodError(
                f"Groups can be chosen among 2 to {MOST_GROUPED} columns, and the schema has "
                f"{n_columns}; take split=columns, or declare the order."
            )
        groups = self._candidates(n_columns)
        if not groups or not set(groups) <= set(aic_score.ordered_groups(range(n_columns))):
            raise MethodError("A group is of some columns in their order, and leaves others.")
        change = aic_score.group_sensitivity(terms.neighbours)
        if self.utility == "bic":
            change = bic_score.group_sensitivity(sizes, terms.neighbours)
        charge = choice_charge(
            terms,
            choice_query(1, groups=True, utility=self.utility, apart=self.apart),
            sensitivity=change,
            monotone=False,
            cells=len(groups),
            spend=spend,
            stated=bic_score.words(change),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[Splits]]:
        """Choose a group for the root."""
        n_columns = len(rows.view.schema.names)
        groups = self._candidates(n_columns)
        exact = _exact(self.partition, rows, self.utility)[0]
        scores = aic_score.group_scores(exact, groups)
        chosen = charges[0].parameter.pick(np.abs(scores) if self.apart else scores, source)
        group, read = groups[chosen], self.apart and self.mode == "paper"
        if read and scores[chosen] < 0:
            group = tuple(j for j in range(n_columns) if j not in group)
        return _published([group], rows.view, leaks=(ORDER_READ,) * read)

    def _candidates(self, n_columns: int) -> list[Split]:
        if self.groups is not None:
            return [*self.groups]
        columns = range(n_columns)
        every = aic_score.unordered_groups if self.apart else aic_score.ordered_groups
        return every(columns)


def choice_query(
    layer: int, *, groups: bool = False, utility: Utility = "aic", apart: bool = False
) -> str:
    """What is chosen, in the words of the ledger.

    Args:
        layer: from 1.
        groups: whether it is a group of columns.
        utility: by which score.
        apart: whether it is how all columns are divided into two groups.
    """
    what = "the columns that divide" if groups else "a column that divides each node of"
    where = "two groups of columns" if apart else f"{what} layer {layer - 1}"
    return f"{where}, by {utility.upper()}"


def _exact(partition: Partition, rows: SecretRows, utility: Utility) -> Floats:
    """Score of each column in each last node, shape (nodes, columns); 0 where it is not open."""
    score = aic_score.aic if utility == "aic" else bic_score.bic
    exact = rows.cells(rows.view.schema.names)
    columns = columns_of(exact.codes, partition.domain)
    place, last = partition.locate(columns), partition.layers[-1]
    scores = np.zeros(last.states.shape)
    for j, (states, size) in enumerate(zip(columns, partition.domain.sizes, strict=True)):
        cells = place * size + states
        counts = np.bincount(cells, weights=exact.counts, minlength=len(last) * size)
        scores[:, j] = score(counts.reshape(len(last), size))
    return scores


def _published(
    splits: Sequence[Split], view: View, leaks: tuple[str, ...] = ()
) -> Outcome[Released[Splits]]:
    """Splits, of which the release names the columns."""
    chosen = dict.fromkeys(view.schema.names[j] for split in splits for j in split)
    return answer(tuple(splits), [Choice(tuple(chosen))], leaks=leaks)
