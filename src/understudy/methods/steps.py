"""STEPS: a tree of columns, chosen privately, whose nodes are counted with noise at every level.

1. Each node of a layer is divided by the open column of smallest AIC (or BIC, `utility=bic`),
   chosen by the exponential mechanism, for L layers; different nodes may take different columns.
   `split=groups` instead chooses a group of columns that divides the root, and leaves all others to
   the leaves; with `groups=unordered` first how the columns fall into two groups, then which comes
   first. With `order`, or `branches` of unequal length, the columns are declared and nothing is
   chosen.
2. All nodes of the L layers and all cells of the full table get noise; counts are made consistent,
   and records drawn in proportion to them (`understudy.families.cell_tree_family`).

What stands near the root is counted once per layer below, and by few large nodes; that is kept
best.

* **Measures** at most L choices, once for all sets, at `choice_share` of the budget, in equal
  parts; then L + 1 layers in equal parts. With `mode=paper` both for each set, at its part.
* **Public**: the schema with its bins and structural zeros, the options. An empty node is divided
  and perturbed like any other, so the shape of the tree tells nothing beyond the choices.
* **Guarantee**: pure ε-DP, or (ε, δ)-DP through zCDP if δ > 0; add/remove and replace; conditional
  in paper mode. A layer of choices costs ε once (`understudy.privacy.selection.aic_score`,
  `bic_score`), as does a layer of counts (`understudy.privacy.mechanisms.counts.hierarchy_layer`),
  since its nodes are disjoint; layers add up.
* **Costs** records × layers + nodes + cells (`gls`), or + occupied cells and records instead of
  cells (`gls_inner`), which goes up to 2⁶² cells.
* **Choose it** where a few columns matter most, among many cells. **Do not** choose it where all
  pairs of columns matter alike, or for a handful of cells, where layers only divide the budget.

As published: `mode=paper`, a tree and noise for each set; `allocation=leaves`; and
`consistency=paper_phantom`. The equations as printed leave the leaves uncorrected, so that the
synthetic data of that form are those of the flat sanitizer, at the leaves' share of the budget.
With a public number of rows a column is chosen by equation (5). The groups of §2.2.3 are those of
`groups=unordered`; figure 1 is a tree of `branches`.

Source: Bowen, Liu & Su (2021), "Differentially private data release via statistical election to
partition sequentially", METRON 79, arXiv:1803.06763, algorithm 1; with budgets for the layers that
are really measured, and exact least squares for unequal fan-out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, final

from pydantic import Field

from understudy.errors import MethodError
from understudy.families.cell_tree_family import TreeMethod
from understudy.families.measured_tree import PlannedLayer
from understudy.families.measurement_plan import PlannedTable, planned_choice
from understudy.families.method import Facts
from understudy.privacy.accounting.budget import Budget, exact, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.choices.tree_split import (
    MOST_GROUPED,
    ColumnSplits,
    GroupSplit,
    Utility,
    choice_query,
)
from understudy.privacy.mechanisms.counts.noisy_table import MAX_CELLS
from understudy.schema import Partition, Schema


@final
@dataclass(frozen=True, kw_only=True)
class Steps(TreeMethod):
    """Configuration.

    Attributes:
        split: "columns": each node is divided by one column; "groups": a group of columns divides
            the root, and there is one inner layer.
        groups: "ordered": a group is chosen among all of them; "unordered": for half of what
            choices may cost how the columns fall into two groups, by how far the groups are apart,
            and for the other half which of them divides the root. With mode=paper the better one
            does, unpaid.
        utility: "aic", or "bic", whose sensitivity grows with the most states of a column.
        choice_share: part of the budget that choices may spend, once for all sets.
    """

    facts: ClassVar[Facts] = Facts(
        name="steps",
        title="a tree of columns chosen by AIC, counted at every level",
        paper="Bowen, Liu & Su (2021), algorithm 1",
        guarantee="pure ε, or (ε, δ); add/remove and replace (conditional in paper mode)",
        data="columns of unequal importance; up to 2⁶² cells",
        cost="rows × layers + nodes + cells (gls) or occupied cells (gls_inner)",
        cost_class="fast",
    )

    split: Literal["columns", "groups"] = "columns"
    groups: Literal["ordered", "unordered"] = "ordered"
    utility: Utility = "aic"
    choice_share: Annotated[float, Field(gt=0, lt=1)] = 0.1

    def setup_share(self, schema: Schema) -> Fraction:
        """Nothing where the order is declared, or where there is nothing to choose."""
        return exact(self.choice_share) if self._chooses(schema) else Fraction(0)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """One choice per inner layer, for all of its nodes."""
        if not self._chooses(schema):
            return ()
        if self.split == "groups":
            return self._plan_groups(schema, spend, budget)
        nodes = [1, *(layer.nodes for layer in self.inner(schema))][:-1]
        return tuple(
            planned_choice(
                schema,
                choice_query(depth, utility=self.utility),
                share,
                budget,
                n_cells=n,
                chosen=depth > 1,
            )
            for depth, (n, share) in enumerate(
                zip(nodes, split(spend, [1] * len(nodes)), strict=True), start=1
            )
        )

    def _plan_groups(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """The choices among groups: their numbers of candidates, and what they cost."""
        every = 2 ** len(schema.names) - 2
        first = choice_query(1, groups=True, utility=self.utility)
        if not self._apart(schema):
            return (planned_choice(schema, first, spend, budget, n_cells=every),)
        query = choice_query(1, groups=True, utility=self.utility, apart=True)
        shares = self._group_shares(spend)
        steps = [(query, every // 2), (first, 2)][: len(shares)]
        return tuple(
            planned_choice(schema, said, share, budget, n_cells=n)
            for (said, n), share in zip(steps, shares, strict=True)
        )

    def _apart(self, schema: Schema) -> bool:
        """Whether groups are chosen before their order; two columns have one way to part."""
        return self.groups == "unordered" and len(schema.names) > 2

    def _group_shares(self, spend: Fraction) -> list[Fraction]:
        """What the choice of two groups costs, and that of their order, unless it is unpaid."""
        return [spend] if self.mode == "paper" else split(spend, [1, 1])

    def grow(self, gate: Gate, spend: Fraction) -> Partition:
        """The declared tree, or one that is chosen layer by layer."""
        if not self._chooses(gate.schema):
            return self.known_tree(gate.schema)
        tree = Partition(gate.schema.domain)
        if self.split == "groups":
            return self._grouped(gate, tree, spend)
        for share in split(spend, [1] * len(self.inner(gate.schema))):
            splits = gate.ask(ColumnSplits(tree, self.utility), spend=share).value
            tree = tree.divided(splits)
        return tree

    def _grouped(self, gate: Gate, tree: Partition, spend: Fraction) -> Partition:
        """The root, divided by a chosen group."""
        if not self._apart(gate.schema):
            return tree.divided(gate.ask(GroupSplit(tree, self.utility), spend=spend).value)
        first, *second = self._group_shares(spend)
        parted = GroupSplit(tree, self.utility, apart=True, mode=self.mode)
        (group,) = gate.ask(parted, spend=first).value
        for share in second:
            rest = tuple(j for j in range(len(gate.schema.names)) if j not in group)
            ordered = GroupSplit(tree, self.utility, groups=(group, rest))
            (group,) = gate.ask(ordered, spend=share).value
        return tree.divided([group])

    def unknown(self, schema: Schema) -> tuple[PlannedLayer, ...]:
        """The largest possible layers; of groups, all columns but the smallest."""
        if self.split == "columns":
            return super().unknown(schema)
        if len(schema.names) == 1:
            return ()
        largest = math.prod(schema.sizes) // min(schema.sizes)
        return (PlannedLayer((), min(largest, schema.domain.n_allowed)),)

    def published_layers(self, schema: Schema) -> int:
        """Two groups are two layers, the other group's that of the leaves."""
        if self.split == "groups":
            return min(2, len(schema.names))
        return super().published_layers(schema)

    def require(self, schema: Schema, budget: Budget) -> None:
        """Refuse what cannot be done, from public facts alone."""
        super().require(schema, budget)
        if self.declares and self.split == "groups":
            raise MethodError("The tree is declared already; leave split at columns.")
        if self.groups == "unordered" and self.split == "columns":
            raise MethodError("The option groups belongs to split=groups; set both.")
        if not self._chooses(schema):
            return
        if self.split == "groups" and len(schema.names) > MOST_GROUPED:
            raise MethodError(
                f"Groups can be chosen among up to {MOST_GROUPED} columns, and the schema has "
                f"{len(schema.names)}; take split=columns, or declare the order."
            )
        counted = max([1, *(layer.nodes for layer in self.inner(schema)[:-1])]) * max(schema.sizes)
        if counted > MAX_CELLS:
            raise MethodError(
                f"Choosing a column may need {counted:,} counts, more than {MAX_CELLS:,}; take "
                "fewer layers, declare the order, or take coarser bins."
            )

    def _chooses(self, schema: Schema) -> bool:
        return not self.declares and bool(self.unknown(schema))
