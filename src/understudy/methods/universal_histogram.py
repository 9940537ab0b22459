"""The universal histogram: a tree with noise at every level, whose order nothing has chosen.

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
  little more exact. For layers see `understudy.families.cell_tree_family`.
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

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import Field

from understudy.arrays import Floats
from understudy.errors import MethodError
from understudy.families.cell_tree_family import TreeMethod
from understudy.families.measured_tree import Allocation, along
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Facts, Prepared
from understudy.models import Model, ProductModel
from understudy.models.node_least_squares import downward
from understudy.models.table_models import projected
from understudy.models.tree_consistency import Consistency, NoisyLayer, RangeTree, consistent
from understudy.privacy.accounting.budget import Budget, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.choices.candidate import RandomOrder
from understudy.privacy.mechanisms.counts.hierarchy_layer import RangeCounts
from understudy.privacy.mechanisms.counts.noisy_table import MAX_CELLS
from understudy.schema import Partition, Schema


@final
@dataclass(frozen=True, kw_only=True)
class UniversalHistogram(TreeMethod):
    """Configuration.

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
        distribution = self.noise_name(schema, budget.accounting)
        steps: list[PlannedTable] = []
        for name, tree, shares in self._trees(schema, spend):
            ranges, columns = (
                RangeCounts(name, tree.edges, noise=distribution),
                [(name,)] * len(shares),
            )
            whole = sum(shares, Fraction(0))
            steps += announced(ranges, schema, whole, budget, columns, form=Form.RANGES)
        return tuple(steps)

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
        """Measure the ranges of each column."""
        gate.require(spend)
        trees = self._trees(gate.schema, spend)
        weights = [self._column(gate, name, tree, sum(shares)) for name, tree, shares in trees]
        return ProductModel(gate.schema.domain, tuple(weights))

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
        for name, tree, _ in self._trees(schema, Fraction(1)):
            if tree.n_leaves > MAX_CELLS:
                raise MethodError(
                    f"The tree of {name} would have more than {MAX_CELLS:,} leaves; take a smaller "
                    "fanout, consistency=gls, or coarser bins."
                )

    @property
    def _closed(self) -> Consistency:
        return "gls" if self.consistency == "gls" else "hay"

    def _trees(
        self, schema: Schema, spend: Fraction
    ) -> list[tuple[str, RangeTree, list[Fraction]]]:
        """Each column, its tree, and the cost of each layer."""
        padded = self._closed == "hay"
        trees = [RangeTree(size, self.fanout, padded) for size in schema.sizes]
        shares = split(spend, [1] * len(trees))
        return [
            (name, tree, split(share, [1] * tree.depth))
            for name, tree, share in zip(schema.names, trees, shares, strict=True)
        ]

    def _column(self, gate: Gate, name: str, tree: RangeTree, spend: Fraction | int) -> Floats:
        """Weights of the states of one column."""
        distribution = self.noise_name(gate.schema, gate.budget.accounting)
        measured = gate.ask(
            RangeCounts(name, tree.edges, noise=distribution), spend=Fraction(spend)
        )
        layers = [
            NoisyLayer(layer.value.counts, layer.value.outside, layer.noise.stddev**2)
            for layer in measured
        ]
        rows = gate.n_rows
        counts = consistent(tree.hierarchy, layers, rows.value, rows.noise.stddev**2, self._closed)
        return range_weights(tree, counts, self.allocation)


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
        return projected(real[-1][..., : tree.size], real[0][..., 0])
    return downward(tree.hierarchy, real, tree.sizes)[-1][..., : tree.size]
