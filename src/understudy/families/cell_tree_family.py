"""Counts of all nodes of a tree of cells, made consistent, and records drawn from them.

What STEPS and the universal histogram share: they differ in how the tree comes about.

1. L inner layers divide the cells by one column (or a group of columns) each; one more layer has
   every allowed cell as a leaf. A last column is no choice, so L is at most p − 1 of p columns.
2. All nodes of all L + 1 layers get noise, empty ones included, each layer at an equal share of the
   budget. The number of rows is the root.
3. Counts are made consistent (`understudy.models.tree_consistency`), and become shares of
   the leaves.

* **Consistency.** `gls` is exact least squares over the whole tree. `gls_inner` never writes the
  leaves out: their sums below each node of the last inner layer take part in the least squares, and
  records are drawn behind the gate, below a node in proportion to the positive noisy leaves. `auto`
  is `gls` up to four million cells and `gls_inner` beyond. `hay` (needs a constant fan-out) and
  `paper_phantom` are the published ones, for comparison.
* **Allocation.** `downward` hands shares down the tree, which keeps what is known of upper layers.
  `projected` takes the nearest table without negative counts, which drops most of what noise alone
  has raised: tables of other columns are usually kept better, upper layers less well. `leaves`
  draws in proportion to the positive leaves alone, as published.
* **As published** (`mode=paper`): each set has a tree of its own and its own noise, m runs at ε/m
  each. Every node gets continuous Laplace noise of scale mL/((1 − r)ε) for L layers and the share r
  of choices, also where the number of rows is public: noise for a record that is added or removed.
  Where columns are left to the cells below the L layers there are L + 1 layers of counts, so that
  they cost (L + 1)/L times what was charged. The guarantee is conditional, and names both. It
  holds at the stated ε for added and removed records where the leaves are one of the L layers, up
  to floating-point noise, and at (L + 1)/L times the part of counts elsewhere; twice that for
  replaced ones.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from understudy.errors import MethodError
from understudy.families.declared_tree import (
    DeclaredTree,
    in_branches,
    in_order,
    ordered_splits,
    require_nodes,
)
from understudy.families.effort import DENSE_CELLS
from understudy.families.measured_tree import (
    Allocation,
    MeasuredTree,
    PlannedLayer,
    known_layers,
)
from understudy.families.measurement_plan import Form, PlannedTable, natural_noise, planned
from understudy.families.method import Names, Prepared
from understudy.families.published_sets import PublishedSets
from understudy.models.tree_consistency import Consistency
from understudy.privacy.accounting.budget import Accounting, Budget, split
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.hierarchy_layer import layer_query
from understudy.privacy.mechanisms.counts.lazy_table import require_tokens_fit
from understudy.privacy.mechanisms.counts.noisy_table import MAX_CELLS
from understudy.privacy.noise.calibration import NoiseName, calibrate
from understudy.privacy.noise.distributions import DiscreteGaussian
from understudy.privacy.noise.perturbation import EXACTLY
from understudy.schema import Partition, Schema

DEFAULT_LAYERS = 2
PUBLISHED: dict[str, Consistency] = {"hay": "hay", "paper_phantom": "paper_phantom"}


@dataclass(frozen=True, kw_only=True)
class TreeMethod(PublishedSets):
    """Options of the methods that measure a tree of cells.

    Attributes:
        sets: "free" or "split"; the tree is one for all sets. Always "split" with mode=paper, a
            tree for each set.
        layers: inner layers L; None for all of `order`, or 2 where there is none.
        order: columns that divide the layers, the first one the root; "a+b" puts a group of columns
            in one layer, unless a column is called so. All nodes of a layer are divided alike, and
            nothing is spent on choosing.
        branches: a tree whose branches are divided each in its own way, and may be of unequal
            length: "a, a=x: b, a=x & b=y: c" divides the root by a, the node x by b, and so on;
            nothing is spent on choosing. A branch that has ended is counted in each layer below.
        noise: noise; "auto" is geometric for δ = 0 and Gaussian otherwise.
        consistency: "gls", "gls_inner", "hay", "paper_phantom", or "auto" (gls up to 2²² cells,
            gls_inner beyond).
        allocation: how records are shared out: "downward" the tree, "projected" on the nearest
            table without negative counts, or by the positive "leaves" alone, as published.
        mode: "strict"; or "paper" for a tree and noise for each set, continuous noise of scale L/ε
            in each of L layers and in the cells below them, at an L-th part of the budget each,
            although the number of rows is public.
    """

    bytes_per_cell: ClassVar[int] = 220  # benchmarks/hierarchy.py

    sets: Literal["free", "split"] = "free"
    layers: Annotated[int, Field(ge=1)] | None = None
    order: Names = ()
    branches: Names = ()
    noise: Literal["auto", "geometric", "laplace", "gaussian"] = "auto"
    consistency: Literal["auto", "gls", "gls_inner", "hay", "paper_phantom"] = "auto"
    allocation: Allocation = "downward"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The inner layers, and the leaves."""
        self.require(schema, budget)
        layers = self.inner(schema)
        shares = split(spend, [1] * (len(layers) + 1))
        distribution = self.noise_name(schema, budget.accounting)
        noise = partial(planned, mode=self.mode, overspend=self._overspend(schema, len(layers)))
        lazy = self.lazy(schema)
        if lazy:
            self._require_lazy(schema, shares[-1], budget, distribution)
        return (
            *(
                noise(
                    schema,
                    layer.columns,
                    share,
                    budget,
                    distribution,
                    form=Form.NODES,
                    n_cells=layer.nodes,
                    query=layer_query(layer.columns, depth, alike=layer.alike),
                )
                for depth, (layer, share) in enumerate(zip(layers, shares, strict=False), start=1)
            ),
            noise(
                schema,
                schema.names,
                shares[-1],
                budget,
                distribution,
                form=Form.LAZY if lazy else Form.DENSE,
                records=lazy,
            ),
        )

    @property
    def leaves_only(self) -> bool:
        """Unless shares are handed down the tree, which keeps its upper layers."""
        return self.allocation != "downward"

    def lazy(self, schema: Schema) -> bool:
        """Whether leaves are never written out: drawing records is part of the mechanism then."""
        if self.consistency == "auto":
            return self.mode == "strict" and schema.domain.n_cells > DENSE_CELLS
        return self.consistency == "gls_inner"

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """The tree, once for all fits."""
        schema = gate.schema
        self.require(schema, gate.budget)
        tree = self.grow(gate, spend)
        measured = MeasuredTree(
            tree=tree,
            lazy=self.lazy(schema),
            noise=self.noise_name(schema, gate.budget.accounting),
            consistency=PUBLISHED.get(self.consistency, "gls"),
            allocation=self.allocation,
            mode=self.mode,
            overspend=self._overspend(schema, tree.depth),
        )
        return Prepared(partial(measured.fit, gate), schema)

    @abstractmethod
    def grow(self, gate: Gate, spend: Fraction) -> Partition:
        """The inner layers: chosen, drawn at random, or those of the declared order."""

    @property
    def declares(self) -> bool:
        """Whether the tree is declared, so that nothing is chosen or drawn."""
        return bool(self.order or self.branches)

    def declared(self, schema: Schema) -> DeclaredTree | None:
        """The tree of `order` or `branches`; None if there is neither.

        Raises:
            MethodError: entries that make no tree.
        """
        if self.branches:
            if self.order or self.layers is not None:
                raise MethodError("The option branches says all; leave order and layers out.")
            return in_branches(schema, self.branches)
        return in_order(schema, self.order, self.layers) if self.order else None

    def known_tree(self, schema: Schema) -> Partition:
        """The declared tree; the root alone if there is none."""
        known = self.declared(schema)
        return Partition(schema.domain) if known is None else known.tree

    def inner(self, schema: Schema) -> tuple[PlannedLayer, ...]:
        """The inner layers, as far as they are known.

        Raises:
            MethodError: more than `MOST_NODES` nodes.
        """
        known = self.declared(schema)
        if known is not None:
            return known_layers(schema, known.tree)
        layers = self.unknown(schema)
        require_nodes(max((layer.nodes for layer in layers), default=1))
        return layers

    def unknown(self, schema: Schema) -> tuple[PlannedLayer, ...]:
        """Layers of one column each, of which it is not known which: the largest ones."""
        depth = min(self.layers or DEFAULT_LAYERS, len(schema.names) - 1)
        largest = sorted(schema.sizes, reverse=True)
        products = [math.prod(largest[: k + 1]) for k in range(depth)]
        return tuple(
            PlannedLayer((), min(product, schema.domain.n_allowed)) for product in products
        )

    def published_layers(self, schema: Schema) -> int:
        """L of the paper: layers that columns are put in; the last may be that of the leaves."""
        known = self.declared(schema)
        if known is not None:
            return known.published_layers
        return min(self.layers or DEFAULT_LAYERS, len(schema.names))

    def _overspend(self, schema: Schema, inner: int) -> Fraction:
        """How many times their cost counts are worth: as published an L-th part buys each layer."""
        if self.mode == "strict":
            return EXACTLY
        return Fraction(inner + 1, self.published_layers(schema))

    def noise_name(self, schema: Schema, accounting: Accounting) -> NoiseName:
        """The noise."""
        if self.noise != "auto":
            return self.noise
        return "geometric" if self.lazy(schema) else natural_noise(accounting)

    def require(self, schema: Schema, budget: Budget) -> None:
        """Refuse what cannot be done, from public facts alone.

        Raises:
            MethodError: says what would work.
        """
        self.require_numbered(schema)
        if self.mode == "paper":
            self._require_published(budget)
        if not self.lazy(schema):
            if schema.domain.n_cells > MAX_CELLS:
                other = "consistency=gls_inner, or " * (self.mode == "strict")
                raise MethodError(
                    f"The full table has {schema.domain.n_cells:.3g} cells, too many to write out "
                    f"(at most {MAX_CELLS:,}); take {other}coarser bins."
                )
        elif self.allocation != "downward":
            raise MethodError(
                "Leaves that are not written out are allocated downward; leave allocation at "
                "downward, or take consistency=gls."
            )
        if self.consistency == "hay":
            self._require_constant(schema)

    def _require_published(self, budget: Budget) -> None:
        self.require_pure(budget)
        if self.consistency == "gls_inner" or self.noise not in ("auto", "laplace"):
            raise MethodError(
                "mode=paper puts continuous Laplace noise into every cell; leave noise at auto, "
                "and take another consistency than gls_inner."
            )

    def _require_constant(self, schema: Schema) -> None:
        """The fan-out is the same everywhere, whichever columns are chosen."""
        if self.order:
            splits, same = ordered_splits(schema, self.order, self.layers), True
        else:
            depth = len(self.unknown(schema))
            splits = tuple((j,) for j in range(depth))
            same = len(set(schema.sizes)) == 1 and not self.branches
        used = {j for group in splits for j in group}
        rest = tuple(j for j in range(len(schema.sizes)) if j not in used)
        sizes = {math.prod(schema.sizes[j] for j in group) for group in (*splits, rest)}
        if not same or len(sizes) > 1 or schema.domain.boxes:
            raise MethodError(
                "consistency=hay needs the same number of children for every node, leaves "
                "included, and no structural zeros; take consistency=gls."
            )

    def _require_lazy(
        self, schema: Schema, share: Fraction, budget: Budget, distribution: NoiseName
    ) -> None:
        noise = calibrate(
            distribution, spend=share, accounting=budget.accounting, neighbours=schema.neighbours
        )
        if isinstance(noise, DiscreteGaussian):
            raise MethodError(
                "Leaves that are not written out need geometric or laplace noise; leave noise at "
                "auto, or take consistency=gls."
            )
        require_tokens_fit(schema.domain, noise)
