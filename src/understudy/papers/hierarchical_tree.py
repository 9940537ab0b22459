"""Counts of all nodes of a tree of cells, made consistent, and records drawn from them.

What STEPS and the universal histogram share: they differ in how the tree comes about.

1. L inner layers divide the cells by one column (or a group of columns) each; one more layer has
   every allowed cell as a leaf. A last column is no choice, so L is at most p − 1 of p columns.
2. All nodes of all L + 1 layers get noise, empty ones included, each layer at an equal share of the
   budget. The number of rows is the root.
3. Counts are made consistent (below), and become shares of
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

**A tree of cells as its user declares it: alike in all nodes of a layer, or branch by branch.**

Everything here is public: names, values and the options; nothing is spent on such a tree.

**Branches.** Entries come one after the other. Each divides all ends of the tree, as it then is, in
which the columns that it names before the colon have the values that it gives:

    a; a=x: b; a=x & b=y: c+d

divides the root by a, the node x by b, and the node x, y by c and d together. Ends that no entry
divides stay as they are: branches need not be of the same length, as in figure 1 of Bowen, Liu & Su
(2021). (The paper says of no chosen branch when it ends.) A branch that ended is counted once more
in every layer below, at no cost: a layer costs what it costs whichever of its nodes a record is in.

**A tree of cells: its layers, planned and measured, and records drawn from their counts.**

**Consistent counts.** A parent's count is the sum of its children's, but independent noise knows
nothing of that. Least squares puts it right (`understudy.models.spine`), and `downward` is a
function of what it gives: post-processing.

Every function takes any number of leading axes of repetitions: counts of a layer have shape
(..., nodes). It works layer by layer, in time linear in the number of nodes.

**Consistent counts of a tree whose layers were measured, with records out of domain.**

The number of rows counts every record, the layers below count those that fit the schema and, as one
more number, those that do not. For least squares the latter are one more child of the root, and a
chain with one node in every layer.

Consistent counts by the closed form for a constant fan-out, and as STEPS prints it.

`understudy.models.spine.gls` does more and is what releases use; these are here for comparison.

* `hay`: least squares for trees in which every node has b children and all counts have the same
  variance (Hay, Rastogi, Miklau & Suciu 2010).
* `paper_phantom`: equations (2) and (3) of Bowen, Liu & Su (2021) as printed. Nodes with fewer
  children are padded with phantom categories, and the result is neither additive nor least squares.

A tree of ranges over the states of one column, with a constant fan-out.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from understudy._arrays import Floats, Integers
from understudy.dp.budget import Accounting, Budget, split
from understudy.dp.calibration import NoiseName, calibrate
from understudy.dp.distributions import DiscreteGaussian
from understudy.dp.gate import Gate
from understudy.dp.mechanism import Form
from understudy.dp.perturbation import EXACTLY, Mode
from understudy.dp.released import NoisyNodes, NoisyTable
from understudy.errors import MethodError, suggestion
from understudy.mechanisms.sparse_tables import require_tokens_fit
from understudy.mechanisms.tables import MAX_CELLS, NoisyTables
from understudy.methods.base import DENSE_CELLS, Names, PaidRecords, Prepared, PublishedSets
from understudy.methods.plan import PlannedTable, natural_noise, plan_table
from understudy.models.model import InferenceFacts, Model
from understudy.models.spine import Hierarchy, gls
from understudy.models.tables import TableModel, project
from understudy.papers.hierarchy_mechanisms import (
    HierarchyLayers,
    LazyLeaves,
    LeafRecords,
    layer_query,
)
from understudy.schema import Partition, Schema
from understudy.schema.partitions import FREE, Layer, Split


def downward(
    tree: Hierarchy,
    consistent: Sequence[NDArray[Any]],
    sizes: Sequence[ArrayLike] | None = None,
) -> list[Floats]:
    """Shares of all nodes, from the root down, which keep what is known of upper layers.

    A node hands its share down in proportion to the positive parts of its children's counts. Where
    no child has a positive one, in proportion to their sizes. Clipping the leaves alone would
    instead hand most of the mass to nodes with many leaves, as each has noise of its own.

    Args:
        tree: the tree.
        consistent: counts of all nodes, by layer, each of shape (..., nodes); the root's is not
            looked at.
        sizes: allowed cells of each node, whole numbers, by layer, each of shape (nodes,); the
            number of leaves if None.

    Returns:
        Non-negative shares by layer, each of shape (..., nodes). The root has 1, and children sum
        to their parent.

    Example:
        >>> tree = Hierarchy(tuple(map(np.array, ([0], [0, 0], [0, 0, 0, 1, 1]))))
        >>> downward(tree, [[0], [30, 10], [-1, -2, 0, 5, -9]])[2].round(2).tolist()
        [0.25, 0.25, 0.25, 0.25, 0.0]
    """
    places = tree.leaves if sizes is None else [np.asarray(size, np.float64) for size in sizes]
    shares = [np.ones((*np.asarray(consistent[-1]).shape[:-1], 1))]
    for layer in range(tree.depth):
        positive = np.maximum(np.asarray(consistent[layer + 1], dtype=np.float64), 0)
        above, total = tree.parents[layer + 1], tree.sums(layer, positive)
        even = places[layer + 1] / np.maximum(tree.sums(layer, places[layer + 1]), 1)[above]
        shared = (total > 0)[..., above]
        parts = np.where(shared, positive / np.where(total > 0, total, 1)[..., above], even)
        shares.append(shares[layer][..., above] * parts)
    return shares


Consistency = Literal["gls", "hay", "paper_phantom"]


@dataclass(frozen=True, eq=False)
class NoisyLayer:
    """The measurement of one layer.

    Attributes:
        counts: noisy counts of its nodes, shape (..., nodes).
        outside: noisy number of records out of domain, shape (...).
        variance: of one noisy number.
        summed: how many noisy numbers are summed in each count, shape (nodes,) or a number.
    """

    counts: NDArray[Any]
    outside: NDArray[Any] | float
    variance: float
    summed: ArrayLike = 1


def consistent(
    tree: Hierarchy,
    layers: Sequence[NoisyLayer],
    total: ArrayLike,
    total_variance: float,
    how: Consistency = "gls",
) -> list[Floats]:
    """Consistent counts of all nodes.

    Args:
        tree: the nodes of records that fit the schema.
        layers: what was measured of each layer below the root.
        total: number of rows, shape (...).
        total_variance: of the noise in it; 0 if it is public.
        how: "gls" weighs everything by its variance. "hay" and "paper_phantom" take the number of
            rows less the mean of the layers' `outside` as exact, and all other noise as equal.

    Returns:
        Counts by layer, the root's first, each of shape (..., nodes).

    Raises:
        ValueError: a tree that does not fit "hay" or "paper_phantom".

    Example:
        >>> tree = Hierarchy((np.array([0]), np.array([0, 0])))
        >>> layer = NoisyLayer(np.array([50, 40]), 4, 2.0)
        >>> [counts.tolist() for counts in consistent(tree, [layer], 100, 0.0)]
        [[94.0], [52.0, 42.0]]
    """
    n_rows = np.asarray(total, dtype=np.float64)
    if how != "gls":
        outside = [np.asarray(layer.outside) for layer in layers]
        inside = n_rows - np.mean(outside, axis=0) if layers else n_rows
        known = [inside[..., None], *(layer.counts for layer in layers)]
        return (hay if how == "hay" else paper_phantom)(tree, known, inside)
    counts = [n_rows[..., None], *(_with_outside(layer) for layer in layers)]
    variances: list[ArrayLike] = [total_variance, *(_variances(layer) for layer in layers)]
    estimates = gls(tree.with_chain(), counts, variances)
    below = [estimate[..., :-1] for estimate in estimates[1:]]
    root = tree.sums(0, below[0]) if below else estimates[0]
    return [root, *below]


def _with_outside(layer: NoisyLayer) -> NDArray[Any]:
    outside = np.broadcast_to(layer.outside, layer.counts.shape[:-1])
    return np.concatenate([layer.counts, outside[..., None]], axis=-1)


def _variances(layer: NoisyLayer) -> Floats:
    """Of each node's count, and of the number out of domain."""
    width = layer.counts.shape[-1]
    summed = np.broadcast_to(np.asarray(layer.summed, dtype=np.float64), (width,))
    return np.append(layer.variance * summed, layer.variance)


def hay(
    tree: Hierarchy, counts: Sequence[ArrayLike], total: ArrayLike | None = None
) -> list[Floats]:
    """Consistent counts for a constant fan-out b and equal variances, in closed form.

    With η the height of a node (1 in a leaf), z = h in a leaf, else
    z = ((b^η − b^(η−1))·h + (b^(η−1) − 1)·Σ z)/(b^η − 1), the sum over its children; then n̄ = z in
    the root, else n̄ = z + (n̄[parent] − Σ z)/b, the sum over the node and its siblings.

    Args:
        tree: all leaves in the last layer, and the same number of children everywhere.
        counts: noisy counts, by layer, each of shape (..., nodes).
        total: exact count of the root, shape (...); None if it has noise like all others.

    Returns:
        Counts by layer, each of shape (..., nodes); equal to those of `gls`.

    Raises:
        ValueError: fan-out that is not constant.

    Source: Hay, Rastogi, Miklau & Suciu (2010), Theorem 3.

    Example:
        >>> tree = Hierarchy((np.array([0]), np.array([0, 0])))
        >>> [counts.tolist() for counts in hay(tree, ([10], [3, 4]))]
        [[9.0], [4.0, 5.0]]
    """
    if tree.depth and tree.fan_out is None:
        raise ValueError("hay needs the same number of children for every node")
    return _constant(tree, counts, tree.fan_out or 1, total, raised=1, leaves_corrected=True)


def paper_phantom(
    tree: Hierarchy,
    counts: Sequence[ArrayLike],
    total: ArrayLike,
    *,
    as_printed: bool = True,
) -> list[Floats]:
    """Equations (2) and (3) of Bowen, Liu & Su, with phantom categories.

    Nodes are padded to the largest fan-out b by children that hold 0 and stay at 0. As printed,
    the exponents are one lower than those of `hay`, so that children have weight 0 just above the
    leaves, and leaves are not corrected. Even with the exponents and the leaves of `hay`, a phantom
    child swallows its b-th part of each residual: neither form is additive or least squares.

    Args:
        tree: all leaves in the last layer.
        counts: noisy counts, by layer, each of shape (..., nodes); the root's is not looked at.
        total: count of the root, shape (...).
        as_printed: False for the exponents and the leaves of Hay et al.

    Returns:
        Counts by layer, each of shape (..., nodes).

    Raises:
        ValueError: a leaf above the last layer.

    Source: Bowen, Liu & Su (2021), METRON 79, §2.2.2, equations (2) and (3).

    Example:
        A node 52.8 with children (29.2, 25.2), that is 54.4, where least squares has 53.33:

        >>> tree = Hierarchy(tuple(map(np.array, ([0], [0, 0], [0, 0, 1, 1, 1, 1]))))
        >>> counts = [0], [52, 0], [30, 26, 0, 0, 0, 0]
        >>> fixed = paper_phantom(tree, counts, 52.8, as_printed=False)
        >>> [layer.round(1)[:2].tolist() for layer in fixed[1:]]
        [[52.8, 0.0], [29.2, 25.2]]
        >>> [layer[:2].tolist() for layer in paper_phantom(tree, counts, 52)[1:]]
        [[52.0, 0.0], [30.0, 26.0]]
    """
    if not all(fan_outs.all() for fan_outs in tree.fan_outs[:-1]):
        raise ValueError("paper_phantom needs all leaves in the last layer")
    widest = max((int(fan_outs.max()) for fan_outs in tree.fan_outs[:-1]), default=1)
    return _constant(
        tree,
        counts,
        widest,
        total,
        raised=0 if as_printed else 1,
        leaves_corrected=not as_printed,
    )


def _constant(
    tree: Hierarchy,
    counts: Sequence[ArrayLike],
    fan_out: int,
    total: ArrayLike | None,
    *,
    raised: int,
    leaves_corrected: bool,
) -> list[Floats]:
    """The two passes of `hay` for a fan-out b; exponents are depth − layer + `raised`."""
    z = [np.asarray(layer, dtype=np.float64) for layer in counts]
    below: list[Floats] = []
    for layer in range(tree.depth - 1, -1, -1):
        below.insert(0, tree.sums(layer, z[layer + 1]))
        height = tree.depth - layer + raised
        # (b^η − b^(η−1))/(b^η − 1) = 1/(1 + b⁻¹ + … + b^(1−η)), which also holds for b = 1.
        weight = 1 / sum(float(fan_out) ** -k for k in range(height))
        z[layer] = weight * z[layer] + (1 - weight) * below[0]
    root = z[0] if total is None else np.asarray(total, dtype=np.float64)[..., None]
    result = [np.broadcast_to(root, z[0].shape)]
    for layer in range(tree.depth):
        residual = (result[layer] - below[layer])[..., tree.parents[layer + 1]]
        corrected = leaves_corrected or layer + 1 < tree.depth
        result.append(z[layer + 1] + corrected * residual / fan_out)
    return result


@dataclass(frozen=True)
class RangeTree:
    """The root holds all states; each range is divided into `fan_out` ranges of equal width.

    Attributes:
        size: number of states.
        fan_out: at least 2.
        padded: whether states that cannot occur follow until every node has all its children;
            else the last nodes are narrower, or have fewer children.

    Example:
        >>> [edges.tolist() for edges in RangeTree(5, 2).edges]
        [[0, 4, 5], [0, 2, 4, 5], [0, 1, 2, 3, 4, 5]]
        >>> RangeTree(5, 2, padded=True).edges[0].tolist()
        [0, 4, 8]
    """

    size: int
    fan_out: int
    padded: bool = False

    @property
    def depth(self) -> int:
        """Layers below the root, the states themselves included; at least 1."""
        depth = 1
        while self.fan_out**depth < self.size:
            depth += 1
        return depth

    @property
    def n_leaves(self) -> int:
        """Nodes of the last layer."""
        return self.fan_out**self.depth if self.padded else self.size

    @cached_property
    def edges(self) -> tuple[Integers, ...]:
        """For each layer below the root, first states of its ranges, and the end of the last."""
        end = self.n_leaves
        widths = [self.fan_out**k for k in range(self.depth - 1, -1, -1)]
        return tuple(np.append(np.arange(0, end, width), end) for width in widths)

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The ranges as nodes."""
        lengths = [1, *(len(edges) - 1 for edges in self.edges)]
        parents = [np.zeros(lengths[1], dtype=np.int64)]
        parents += [np.arange(length, dtype=np.int64) // self.fan_out for length in lengths[2:]]
        return Hierarchy((np.zeros(1, dtype=np.int64), *parents))

    @cached_property
    def sizes(self) -> tuple[Integers, ...]:
        """States that can occur in each node, by layer, the root's first."""
        below = [np.diff(np.minimum(edges, self.size)) for edges in self.edges]
        return (np.array([self.size]), *below)


@dataclass(frozen=True)
class PlannedLayer:
    """An inner layer, as far as the schema and the options tell.

    Attributes:
        columns: names of the columns that divide it and the layers above; () if not known.
        nodes: how many it has; the largest possible number if the columns are not known.
        alike: whether all nodes above it are known to be divided alike.
    """

    columns: tuple[str, ...]
    nodes: int
    alike: bool = False


def known_layers(schema: Schema, tree: Partition) -> tuple[PlannedLayer, ...]:
    """The layers of a tree that is known.

    Args:
        schema: the public schema.
        tree: its inner layers.
    """
    found = []
    for depth in range(1, tree.depth + 1):
        above = tree.until(depth)
        order, alike = above.order
        names = tuple(schema.names[j] for j in order)
        found.append(PlannedLayer(names, len(above.layers[-1]), alike))
    return tuple(found)


def along(schema: Schema, splits: tuple[Split, ...]) -> Partition:
    """The tree in which all nodes of a layer are divided alike.

    Args:
        schema: the public schema.
        splits: places of the columns that divide each layer.
    """
    tree = Partition(schema.domain)
    for group in splits:
        tree = tree.divide([group] * len(tree.layers[-1]))
    return tree


Allocation = Literal["downward", "projected", "leaves"]


@dataclass(frozen=True, kw_only=True)
class MeasuredTree:
    """A tree whose layers are to be measured.

    Attributes:
        tree: the inner layers.
        lazy: whether the leaves are never written out, so that records are drawn behind the gate.
        noise: noise.
        consistency: "gls", "hay" or "paper_phantom".
        allocation: "downward", "projected" or "leaves".
        mode: "paper" for the noise as published.
        overspend: how many times its cost that noise is worth.
    """

    tree: Partition
    lazy: bool
    noise: NoiseName
    consistency: Consistency
    allocation: Allocation
    mode: Mode = "strict"
    overspend: Fraction = EXACTLY

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure every layer, and draw records in proportion to the counts.

        Args:
            gate: in whose cells the tree is.
            spend: cost of all layers together.
            n_rows: records to be drawn.
        """
        gate.require(spend)
        return self._below(gate, spend, n_rows) if self.lazy else self._of_cells(gate, spend)

    def _of_cells(self, gate: Gate, spend: Fraction) -> Model:
        """Measure every layer, all cells included."""
        *shares, last = split(spend, [1] * (self.tree.depth + 1))
        layers = self._measure_layers(gate, sum(shares, Fraction(0)))
        cells = NoisyTables(
            [gate.schema.names], noise=self.noise, mode=self.mode, overspend=self.overspend
        )
        (table,) = gate.ask(cells, spend=last)
        codes, parents = self._leaves
        leaves = table.value.counts.reshape(-1)[codes]
        variance = table.noise.stddev**2
        layers.append(NoisyLayer(leaves, table.value.outside, variance))
        weights = self._weights(gate, Hierarchy((*self._parents, parents)), layers)
        return TableModel(gate.schema.domain, codes, weights)

    def _below(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure the inner layers and the sums of the leaves; records are drawn from those."""
        *shares, last = split(spend, [1] * (self.tree.depth + 1))
        layers = self._measure_layers(gate, sum(shares, Fraction(0)))
        leaves = gate.ask(LazyLeaves(self.tree, noise=self.noise), spend=last)
        sums = leaves.value
        variance = leaves.noise.stddev**2
        layers.append(NoisyLayer(sums.counts, sums.outside, variance, sums.summed))
        nodes = np.arange(len(sums.counts))
        weights = self._weights(gate, Hierarchy((*self._parents, nodes)), layers)
        records = gate.ask(LeafRecords(leaves, weights, n_rows=n_rows))
        return PaidRecords.of(records)

    def _measure_layers(self, gate: Gate, spend: Fraction) -> list[NoisyLayer]:
        """The inner layers."""
        if not self.tree.depth:
            return []
        depths = range(1, self.tree.depth + 1)
        asked = HierarchyLayers(
            self.tree, depths, noise=self.noise, mode=self.mode, overspend=self.overspend
        )
        nodes = gate.ask(asked, spend=spend)
        return [
            NoisyLayer(
                _of_nodes(counted.value, layer, gate.schema),
                counted.value.outside,
                counted.noise.stddev**2,
            )
            for counted, layer in zip(nodes, self.tree.layers[1:], strict=True)
        ]

    def _weights(self, gate: Gate, tree: Hierarchy, layers: list[NoisyLayer]) -> Floats:
        """Weights of the nodes of the last layer."""
        rows = gate.n_rows
        counts = consistent(tree, layers, rows.value, rows.noise.stddev**2, self.consistency)
        if self.allocation == "leaves":
            return np.maximum(counts[-1], 0)
        if self.allocation == "projected":
            return project(counts[-1], counts[0][..., 0])
        sizes = [layer.sizes for layer in self.tree.layers]
        last = sizes[-1] if self.lazy else np.ones(len(counts[-1]))
        return downward(tree, counts, [*sizes, last])[-1]

    @property
    def _parents(self) -> tuple[NDArray[np.int64], ...]:
        return tuple(layer.parents for layer in self.tree.layers)

    @cached_property
    def _leaves(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of the allowed cells, ascending, and the node of the last inner layer of each.

        States of columns that divide no layer are not needed, and not worked out.
        """
        domain = self.tree.domain
        codes = domain.allowed_codes
        dividing = {j for splits in self.tree.splits for split in splits for j in split}
        none = np.broadcast_to(np.uint32(0), codes.shape)
        states = [
            _states(codes, domain.sizes, j) if j in dividing else none
            for j in range(len(domain.sizes))
        ]
        return codes, self.tree.locate(states)


def _states(codes: NDArray[np.int64], sizes: Sequence[int], j: int) -> NDArray[np.uint32]:
    """States of one column in mixed-radix codes."""
    return np.asarray(codes // math.prod(sizes[j + 1 :]) % sizes[j]).astype(np.uint32)


def _of_nodes(value: NoisyTable | NoisyNodes, layer: Layer, schema: Schema) -> NDArray[np.generic]:
    """Counts in the order of the nodes."""
    if isinstance(value, NoisyNodes):
        return value.counts
    places = [schema.names.index(name) for name in value.columns]
    return np.asarray(value.counts[tuple(layer.states[:, places].T)])


MOST_NODES = 2**20
"""Nodes of the largest inner layer."""

Node = tuple[int, ...]
"""State of each column, or `FREE`."""


@dataclass(frozen=True)
class DeclaredTree:
    """The inner layers.

    Attributes:
        tree: the layers above that of all cells.
        published_layers: layers that are declared; the last of them is that of all cells, and not
            in the tree, if the declaration leaves no column open.
    """

    tree: Partition
    published_layers: int


def in_order(schema: Schema, order: Sequence[str], layers: int | None) -> DeclaredTree:
    """The tree in which all nodes of a layer are divided alike.

    Args:
        schema: the columns.
        order: an entry for each layer, a column or several with + between.
        layers: how many of the entries; all if None.

    Raises:
        MethodError: an unknown column, one that stands there twice, or too many layers or nodes.
    """
    splits = ordered_splits(schema, order, layers)
    require_nodes(math.prod(schema.sizes[j] for group in splits for j in group))
    return DeclaredTree(along(schema, splits), len(order[:layers]))


def ordered_splits(schema: Schema, order: Sequence[str], layers: int | None) -> tuple[Split, ...]:
    """The columns that divide each inner layer; arguments and errors are those of `in_order`."""
    groups = [_group(schema, entry, "order") for entry in order]
    used = [j for group in groups for j in group]
    if len(set(used)) < len(used):
        raise MethodError("The option order names a column twice.")
    if layers is not None and layers > len(groups):
        raise MethodError(f"The option order has {len(groups)} layers, fewer than layers={layers}.")
    # A group that leaves no column open is the layer of the leaves.
    whole = layers is None or layers == len(order)
    closes = whole and len(used) == len(schema.names)
    return tuple(groups[:layers][: -1 if closes else None])


def in_branches(schema: Schema, entries: Sequence[str]) -> DeclaredTree:
    """The tree of some branches.

    Args:
        schema: the columns.
        entries: as above.

    Raises:
        MethodError: an unknown column or value, an entry that fits no end of the tree, one that
            divides by a column that divides it already, or too many nodes.
    """
    splits: dict[Node, Split] = {}
    ends: list[Node] = [(FREE,) * len(schema.names)]
    for entry in entries:
        where, split = _parse_entry(schema, entry)
        fitting = [end for end in ends if all(end[j] == state for j, state in where.items())]
        if not fitting:
            raise MethodError(
                f"The entry {entry!r} of the option branches fits no end of the tree; entries "
                "divide what those before them have left."
            )
        if any(end[j] != FREE for end in fitting for j in split):
            raise MethodError(f"The entry {entry!r} of the option branches divides by one twice.")
        width = math.prod(schema.sizes[j] for j in split)
        require_nodes(len(ends) + len(fitting) * (width - 1))
        splits |= dict.fromkeys(fitting, split)
        kept = [end for end in ends if end not in splits]
        ends = kept + [child for end in fitting for child in _split_node(schema, end, split)]
    tree = _build_layers(schema, splits)
    closed = all(size == 1 for size in tree.layers[-1].sizes)
    return DeclaredTree(tree.above if closed else tree, tree.depth)


def require_nodes(nodes: int) -> None:
    """Refuse inner layers that are too large.

    Raises:
        MethodError: more than `MOST_NODES` nodes.
    """
    if nodes > MOST_NODES:
        raise MethodError(
            f"The inner layers may have up to {nodes:,} nodes, more than {MOST_NODES:,}; take "
            "fewer layers, declare the order of columns with few states, or coarser bins."
        )


def _build_layers(schema: Schema, splits: dict[Node, Split]) -> Partition:
    """Layer by layer; a node that no split is declared for stays whole."""
    tree = Partition(schema.domain)
    while True:
        below = [splits.get(tuple(row), ()) for row in tree.layers[-1].states.tolist()]
        if not any(below):
            return tree
        tree = tree.divide(below)


def _split_node(schema: Schema, node: Node, split: Split) -> Iterator[Node]:
    for states in product(*(range(schema.sizes[j]) for j in split)):
        child = [*node]
        for j, state in zip(split, states, strict=True):
            child[j] = state
        yield tuple(child)


def _parse_entry(schema: Schema, entry: str) -> tuple[dict[int, int], Split]:
    """Parse which ends an entry divides, and by which columns."""
    conditions, colon, columns = ("", "", entry)
    if entry not in schema.names:
        conditions, colon, columns = entry.rpartition(":")
    where = {}
    for condition in conditions.split("&") if colon else ():
        name, _, label = (part.strip() for part in condition.partition("="))
        place = _place(schema, name)
        labels = schema.columns[schema.names[place]].labels
        if label not in labels:
            raise MethodError(
                f"The option branches gives {name!r} the value {label!r}, which it does not have"
                f'{suggestion(label, labels)}; write it like "age, age=young: job".'
            )
        where[place] = labels.index(label)
    split = _group(schema, columns.strip(), "branches")
    if len(set(split)) < len(split):
        raise MethodError(f"The entry {entry!r} of the option branches names a column twice.")
    return where, split


def _group(schema: Schema, entry: str, option: str) -> Split:
    """Places of the columns in one entry."""
    names = [entry] if entry in schema.names else [part.strip() for part in entry.split("+")]
    return tuple(_place(schema, name, option) for name in names)


def _place(schema: Schema, name: str, option: str = "branches") -> int:
    if name not in schema.names:
        raise MethodError(f"The option {option} names {name!r}, which is no column of the schema.")
    return schema.names.index(name)


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
        noise = partial(plan_table, mode=self.mode, overspend=self._overspend(schema, len(layers)))
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
            ),
        )

    def inference_facts(self, schema: Schema) -> InferenceFacts:
        """Shares that are handed down the tree keep its upper layers."""
        return InferenceFacts(leaves_only=self.allocation != "downward")

    def lazy(self, schema: Schema) -> bool:
        """Return whether leaves are never written out: drawing is part of the mechanism then."""
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
        """True if the tree is declared, so that nothing is chosen or drawn."""
        return bool(self.order or self.branches)

    def declare_tree(self, schema: Schema) -> DeclaredTree | None:
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
        known = self.declare_tree(schema)
        return Partition(schema.domain) if known is None else known.tree

    def inner(self, schema: Schema) -> tuple[PlannedLayer, ...]:
        """The inner layers, as far as they are known.

        Raises:
            MethodError: more than `MOST_NODES` nodes.
        """
        known = self.declare_tree(schema)
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
        known = self.declare_tree(schema)
        if known is not None:
            return known.published_layers
        return min(self.layers or DEFAULT_LAYERS, len(schema.names))

    def _overspend(self, schema: Schema, inner: int) -> Fraction:
        """Compute how many times their cost counts are worth: as published 1/L buys a layer."""
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
                other = "consistency=gls_inner, or " if self.mode == "strict" else ""
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
