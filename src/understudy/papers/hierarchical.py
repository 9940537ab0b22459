"""Trees of cells with noise at every level: STEPS, and the universal histogram.

**STEPS: a tree of columns, chosen privately, whose nodes are counted with noise at every level.**

1. Each node of a layer is divided by the open column of smallest AIC (or BIC, `utility=bic`),
   chosen by the exponential mechanism, for L layers; different nodes may take different columns.
   `split=groups` instead chooses a group of columns that divides the root, and leaves all others to
   the leaves; with `groups=unordered` first how the columns fall into two groups, then which comes
   first. With `order`, or `branches` of unequal length, the columns are declared and nothing is
   chosen.
2. All nodes of the L layers and all cells of the full table get noise; counts are made consistent,
   and records drawn in proportion to them (`understudy.papers.hierarchical_tree`).

What stands near the root is counted once per layer below, and by few large nodes; that is kept
best.

* **Measures** at most L choices, once for all sets, at `choice_share` of the budget, in equal
  parts; then L + 1 layers in equal parts. With `mode=paper` both for each set, at its part.
* **Public**: the schema with its bins and structural zeros, the options. An empty node is divided
  and perturbed like any other, so the shape of the tree tells nothing beyond the choices.
* **Guarantee**: pure ε-DP, or (ε, δ)-DP through zCDP if δ > 0; add/remove and replace; conditional
  in paper mode. A layer of choices costs ε once, as does a layer of counts, since its nodes are
  disjoint; layers add up (`papers.hierarchy_mechanisms`).
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

**The universal histogram: a tree with noise at every level, whose order nothing has chosen.**

* **`form=layers`**: the comparator of STEPS. Columns divide the layers in random order, the same
  in all nodes of a layer, or in a declared `order`; then all is as in `steps`, without a choice to
  pay for.
* **`form=ranges`**: the original, for each column alone. Its states are the leaves of a tree of
  ranges, in which each node has `fanout` children; all ranges are counted with noise, made
  consistent, and columns are drawn independently, given that no impossible combination occurs.

Sums over ranges of states, such as quantiles of an ordered column, then need a few large nodes
instead of many noisy leaves: the error of a range grows like a power of the logarithm of its
length. For single states it is worse than that of `independent` at the same budget.

* **Measures** L + 1 layers at equal shares (`layers`); for each column, at an equal share, the
  layers of its tree, at equal shares (`ranges`).
* **Public**: the schema with its bins and structural zeros; the random order, which is drawn
  without the rows.
* **Consistency.** For ranges `hay` (the default, as published) pads each tree to a power of the
  fan-out with states that cannot occur, whose noise is counted in; `gls` needs no padding and is a
  little more exact. For layers see `understudy.papers.hierarchical_tree`.
* **Fan-out.** 2 in the original; 16 by default, near the best for the mean error of all ranges over
  a large domain (Qardaji, Yang & Li 2013).
* **Guarantee**: pure ε-DP, or (ε, δ)-DP through zCDP if δ > 0; add/remove and replace; conditional
  in paper mode. The nodes of a layer are disjoint; layers and columns add up.
* **As compared with STEPS**: `mode=paper`, for layers: an order and noise for each set, each of L
  layers, and the cells below them, at an L-th part of its budget; with `allocation=leaves`.
* **Costs** rows × columns + nodes.
* **Choose it** (`ranges`) for distribution functions and quantiles of columns of many ordered
  states, or (`layers`) to see what STEPS' choices are worth. **Do not** choose `ranges` where
  relations between columns matter.

Sources: Hay, Rastogi, Miklau & Suciu (2010), "Boosting the accuracy of differentially private
histograms through consistency"; Qardaji, Yang & Li (2013), "Understanding hierarchical methods for
differentially private histograms"; Bowen, Liu & Su (2021), §3, for the form with columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import Field

from understudy._arrays import Floats
from understudy.dp.budget import Budget, exact, split
from understudy.dp.gate import Gate
from understudy.dp.released import NoisyRanges, Released
from understudy.errors import MethodError
from understudy.mechanisms.selection import RandomOrder
from understudy.mechanisms.tables import MAX_CELLS
from understudy.methods.base import Facts, Prepared
from understudy.methods.plan import AnyGate, PlannedTable, PlanningGate, planned_choice
from understudy.models.model import Model
from understudy.models.tables import ProductModel, project
from understudy.papers.hierarchical_tree import (
    Allocation,
    Consistency,
    NoisyLayer,
    PlannedLayer,
    RangeTree,
    TreeMethod,
    along,
    consistent,
    downward,
)
from understudy.papers.hierarchy_mechanisms import (
    MOST_GROUPED,
    ColumnSplits,
    GroupSplit,
    RangeCounts,
    Utility,
    choice_query,
)
from understudy.schema import Partition, Schema


@final
@dataclass(frozen=True, kw_only=True)
class Steps(TreeMethod):
    """STEPS, as configured.

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
        """Return whether groups are chosen before their order; two columns have one way to part."""
        return self.groups == "unordered" and len(schema.names) > 2

    def _group_shares(self, spend: Fraction) -> list[Fraction]:
        """Divide the cost between the choice of two groups and that of their order, if paid."""
        return [spend] if self.mode == "paper" else split(spend, [1, 1])

    def grow(self, gate: Gate, spend: Fraction) -> Partition:
        """The declared tree, or one that is chosen layer by layer."""
        if not self._chooses(gate.schema):
            return self.known_tree(gate.schema)
        tree = Partition(gate.schema.domain)
        if self.split == "groups":
            return self._divide_by_group(gate, tree, spend)
        for share in split(spend, [1] * len(self.inner(gate.schema))):
            splits = gate.ask(ColumnSplits(tree, self.utility), spend=share).value
            tree = tree.divide(splits)
        return tree

    def _divide_by_group(self, gate: Gate, tree: Partition, spend: Fraction) -> Partition:
        """The root, divided by a chosen group."""
        if not self._apart(gate.schema):
            return tree.divide(gate.ask(GroupSplit(tree, self.utility), spend=spend).value)
        first, *second = self._group_shares(spend)
        parted = GroupSplit(tree, self.utility, apart=True, mode=self.mode)
        (group,) = gate.ask(parted, spend=first).value
        for share in second:
            rest = tuple(j for j in range(len(gate.schema.names)) if j not in group)
            ordered = GroupSplit(tree, self.utility, groups=(group, rest))
            (group,) = gate.ask(ordered, spend=share).value
        return tree.divide([group])

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


@final
@dataclass(frozen=True, kw_only=True)
class UniversalHistogram(TreeMethod):
    """The universal histogram, as configured.

    Attributes:
        form: "layers" of columns in one tree, or "ranges" of the states of each column alone.
        fanout: children of each range, for form=ranges.
    """

    facts: ClassVar[Facts] = Facts(
        name="universal-histogram",
        title="a tree of counts in random order, or of ranges of each column",
        paper="Hay, Rastogi, Miklau & Suciu (2010); Bowen, Liu & Su (2021)",
        guarantee="pure ε, or (ε, δ); add/remove and replace (conditional in paper mode)",
        data="columns of many ordered states (ranges); few columns (layers)",
        cost="rows × columns + nodes",
        cost_class="fast",
    )

    form: Literal["layers", "ranges"] = "layers"
    fanout: Annotated[int, Field(ge=2)] = 16

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The layers; for form=ranges, of each column."""
        if self.form == "layers":
            return super().plan(schema, spend, budget)
        self.require(schema, budget)
        gate = PlanningGate(schema, budget)
        self._ask_ranges(gate, spend)
        return tuple(gate.steps)

    def lazy(self, schema: Schema) -> bool:
        """Only where the leaves of the full table are not written out."""
        return self.form == "layers" and super().lazy(schema)

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """The order of the columns, once for all fits; free."""
        if self.form == "layers":
            return super().setup(gate, spend, fits=fits)
        return Prepared(partial(self._ranges, gate), gate.schema)

    def grow(self, gate: Gate, spend: Fraction) -> Partition:
        """The tree of the declared columns, or of columns in random order."""
        schema = gate.schema
        if self.declares:
            return self.known_tree(schema)
        order = gate.ask(RandomOrder(len(schema.names))).value[: len(self.unknown(schema))]
        return along(schema, tuple((j,) for j in order))

    def _ranges(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure the ranges of each column, and make them consistent."""
        rows, weights = gate.n_rows, []
        for tree, measured in self._ask_ranges(gate, spend):
            layers = [
                NoisyLayer(layer.value.counts, layer.value.outside, layer.noise.stddev**2)
                for layer in measured
            ]
            known = rows.value, rows.noise.stddev**2
            counts = consistent(tree.hierarchy, layers, *known, self._closed)
            weights.append(range_weights(tree, counts, self.allocation))
        return ProductModel(gate.schema.domain, tuple(weights))

    def _ask_ranges(
        self, gate: AnyGate, spend: Fraction
    ) -> list[tuple[RangeTree, tuple[Released[NoisyRanges], ...]]]:
        """The ranges of each column, at equal shares."""
        gate.require(spend)
        noise = self.noise_name(gate.schema, gate.budget.accounting)
        names, trees = gate.schema.names, self._trees(gate.schema)
        return [
            (tree, gate.ask(RangeCounts(name, tree.edges, noise=noise), spend=share))
            for name, tree, share in zip(names, trees, split(spend, [1] * len(names)), strict=True)
        ]

    def require(self, schema: Schema, budget: Budget) -> None:
        """Refuse what cannot be done, from public facts alone."""
        if self.form == "layers":
            super().require(schema, budget)
            return
        if self.layers is not None or self.declares:
            raise MethodError("The options layers, order and branches belong to form=layers.")
        if self.mode == "paper":
            raise MethodError("mode=paper is the form with layers; leave form at layers.")
        if self.consistency not in ("auto", "gls", "hay"):
            raise MethodError("form=ranges is made consistent by hay or gls.")
        for name, tree in zip(schema.names, self._trees(schema), strict=True):
            if tree.n_leaves > MAX_CELLS:
                raise MethodError(
                    f"The tree of {name} would have more than {MAX_CELLS:,} leaves; take a smaller "
                    "fanout, consistency=gls, or coarser bins."
                )

    @property
    def _closed(self) -> Consistency:
        return "gls" if self.consistency == "gls" else "hay"

    def _trees(self, schema: Schema) -> list[RangeTree]:
        """The tree of each column."""
        padded = self._closed == "hay"
        return [RangeTree(size, self.fanout, padded) for size in schema.sizes]


def range_weights(tree: RangeTree, counts: list[Floats], allocation: Allocation) -> Floats:
    """Weights of the states that can occur.

    Args:
        tree: of ranges.
        counts: consistent counts by layer, each of shape (..., ranges).
        allocation: "downward", "projected" or "leaves".

    Returns:
        Non-negative, shape (..., states).
    """
    real = [np.where(size > 0, layer, 0.0) for size, layer in zip(tree.sizes, counts, strict=True)]
    if allocation == "leaves":
        return np.maximum(real[-1][..., : tree.size], 0)
    if allocation == "projected":
        return project(real[-1][..., : tree.size], real[0][..., 0])
    return downward(tree.hierarchy, real, tree.sizes)[-1][..., : tree.size]
