"""Noisy tables in the nodes of a tree of places, made consistent, each with its standard error.

A parent's count is the sum of its children's, but independent noise knows nothing of that.
`TreeNoise` puts single counts right by exact generalised least squares, for any tree: unequal
fan-out, unequal variances, unobserved and exact nodes. With σ² the variance of a node's own count
h, and z, v the best estimate from its subtree alone and its variance:

* up: z = h, v = σ² in a leaf; else, with S = Σ z and V = Σ v over the children,
  z = (V·h + σ²·S)/(σ² + V) and v = σ²·V/(σ² + V);
* down: n̄ = z in the root; else n̄ = z + v/V·(n̄[parent] − S), with V and S of the parent.

The first is inverse-variance weighting of two independent unbiased estimates. In the second the
residual of the parent is spread over the children in proportion to their variances, which is least
squares under the constraint that they sum to n̄[parent]. Both are linear in noisy counts.

**Variances.** Given their parent's true count, children of one node vary by v, less the part that
their sum fixes, and families do not depend on each other. So the covariance of two sums Σ aₖ n̄ₖ and
Σ bₖ n̄ₖ over any nodes is found by one pass up: each family adds Σ (a − ā)(b − b̄)·v, where
ā = Σ a·v/V is what its parent takes over as weight, and the root adds a·b times its own variance.
That holds for one place, two siblings, or any set of places that is no node itself.

**Tables.** `SpineFit` does the same for tables of several axes of which some nodes measured some
marginals, each with a variance of its own. In an orthonormal basis of each axis whose first vector
is constant, cells fall into 2^d subspaces (of two axes: total, rows, columns, interaction), and a
marginal measures those of its own axes alone, with one precision each. So least squares over all
places and cells is one scalar problem for each coordinate, with one variance for each place and
subspace. An axis that all tables have needs no basis.

It works layer by layer, in time linear in the number of places times cells. Places turn into the
basis one by one, and coordinates do not meet in least squares. So tables are turned in blocks of
places, and some coordinates are fitted at a time: beside the tables there is one number for each
place and cell in memory. All of it is post-processing of released or published values.

Sources: Hay, Rastogi, Miklau & Suciu (2010), "Boosting the accuracy of differentially private
histograms through consistency", for the two passes; Xiao, He, Zhang & Kifer (2023), "An optimal and
scalable matrix mechanism for noisy marginals under convex loss functions", for the subspaces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree, layer by layer; nodes without children may stand in any layer.

    Attributes:
        parents: for each layer, the root's first, the place of each node's parent in the layer
            above, in any order, shape (nodes,); the root's own entry is 0.

    Raises:
        ValueError: not a tree with one root.
    """

    parents: tuple[Integers, ...]

    def __post_init__(self) -> None:
        """The first layer is the root; each parent stands in the layer above."""
        widths = [1, *(len(parents) for parents in self.parents)]
        for parents, width in zip(self.parents, widths, strict=False):
            if parents.size and not 0 <= parents.min() <= parents.max() < width:
                raise ValueError("a node's parent must be in the layer above")
        if widths[1:2] != [1]:
            raise ValueError("a hierarchy needs one root")

    @property
    def depth(self) -> int:
        """Layers below the root."""
        return len(self.parents) - 1

    def sums(self, layer: int, values: NDArray[Any]) -> Floats:
        """Sums over the children of each node of a layer.

        Args:
            layer: of the parents, above the last.
            values: of the layer below, shape (..., nodes there).

        Returns:
            Shape (..., nodes of the layer); 0 where there are no children.
        """
        places, width = self.parents[layer + 1], len(self.parents[layer])
        rows = values.reshape(-1, values.shape[-1])
        summed = [np.bincount(places, weights=row, minlength=width) for row in rows]
        return np.array(summed, dtype=np.float64).reshape(*values.shape[:-1], width)

    @cached_property
    def fan_outs(self) -> tuple[Integers, ...]:
        """Number of children of each node, by layer, each of shape (nodes,)."""
        below = [
            np.bincount(places, minlength=len(above)).astype(np.int64)
            for above, places in zip(self.parents, self.parents[1:], strict=False)
        ]
        return (*below, np.zeros(len(self.parents[-1]), dtype=np.int64))

    @cached_property
    def leaves(self) -> tuple[Floats, ...]:
        """Number of leaves in each node, by layer, each of shape (nodes,); 1 in a leaf."""
        leaves = [np.ones(len(self.parents[-1]))]
        for layer in range(self.depth - 1, -1, -1):
            leaves.append(np.where(self.fan_outs[layer] > 0, self.sums(layer, leaves[-1]), 1.0))
        return tuple(leaves[::-1])

    @property
    def fan_out(self) -> int | None:
        """The fan-out of all nodes above the last layer, if it is one and the same and not 0."""
        fan_outs = {int(fan_out) for counts in self.fan_outs[:-1] for fan_out in np.unique(counts)}
        return fan_outs.pop() if len(fan_outs) == 1 and fan_outs != {0} else None

    def with_chain(self) -> Hierarchy:
        """With a further child of the root, its only child, and so on down to the last layer.

        The nodes of the chain stand last in their layers.
        """
        below = self.parents[1:]
        # A chain's node stands behind all of its layer.
        chain = [0, *(len(nodes) for nodes in below)]
        longer = [np.append(nodes, place) for nodes, place in zip(below, chain, strict=False)]
        return Hierarchy((self.parents[0], *longer))


class TreeNoise:
    """Least squares of counts in a tree: what follows from variances alone, whatever was counted.

    Args:
        tree: the tree.
        variances: of the noise in each count, by layer, each a number or an array that broadcasts
            to the counts; inf: not observed, 0: exact.
    """

    def __init__(self, tree: Hierarchy, variances: Sequence[ArrayLike]) -> None:
        own = [_variance(one, len(p)) for one, p in zip(variances, tree.parents, strict=True)]
        self.tree, self._own, noise = tree, own, list(own)
        self._weights: list[Floats] = []
        for layer in range(tree.depth - 1, -1, -1):
            spread = tree.sums(layer, noise[layer + 1])
            known, weight = noise[layer], _weight(noise[layer], spread)
            inner = tree.fan_outs[layer] > 0
            noise[layer] = np.where(inner, _shrunk(weight, known, spread), known)
            self._weights.insert(0, weight)
        self._subtree = noise  # variance of the best estimate from each subtree alone
        self._parts = [_part(tree, layer, noise[layer + 1]) for layer in range(tree.depth)]

    def estimate(self, counts: Sequence[ArrayLike]) -> list[Floats]:
        """Consistent counts of all nodes, in two passes.

        Args:
            counts: noisy counts, by layer, each of shape (..., nodes); not looked at where they
                were not observed.

        Returns:
            Counts by layer, each of shape (..., nodes); each parent is the sum of its children.
            What the observations leave open among leaves is shared evenly.
        """
        tree = self.tree
        z = [
            np.where(np.isinf(v), 0.0, np.asarray(h, dtype=np.float64))
            for h, v in zip(counts, self._own, strict=True)
        ]
        sums: list[Floats] = []
        for layer in range(tree.depth - 1, -1, -1):
            below, observed = tree.sums(layer, z[layer + 1]), z[layer]
            consistent = below + self._weights[layer] * (observed - below)
            z[layer] = np.where(tree.fan_outs[layer] > 0, consistent, observed)
            sums.insert(0, below)
        result = [z[0]]
        for layer in range(tree.depth):
            residual = (result[layer] - sums[layer])[..., tree.parents[layer + 1]]
            result.append(z[layer + 1] + self._parts[layer] * residual)
        return result

    @cached_property
    def variances(self) -> tuple[Floats, ...]:
        """Variance of each estimate, by layer, each of shape (nodes,); inf if it is left open."""
        found = [self._subtree[0]]
        for layer in range(self.tree.depth):
            places, own = self.tree.parents[layer + 1], self._subtree[layer + 1]
            part, unknown = self._parts[layer], np.isinf(own)
            known = np.where(unknown, 0.0, own)
            beside = self.tree.sums(layer, known)[..., places] - known
            several = self.tree.sums(layer, unknown)[..., places] > 1
            spread = (1 - part) ** 2 * known + part**2 * (beside + found[layer][..., places])
            found.append(np.where(unknown & several, np.inf, spread))
        return tuple(found)

    def covariance(self, first: Sequence[ArrayLike], second: Sequence[ArrayLike]) -> float:
        """Covariance of two weighted sums of estimates.

        Args:
            first: weights of the nodes in one sum, by layer, each of shape (nodes,) or a number.
            second: in the other.

        Returns:
            The covariance; inf or −inf, where the observations leave it open.
        """
        tree = self.tree
        ours, theirs = ([_variance(w, len(p)) for w, p in zip(one, tree.parents, strict=True)]
                        for one in (first, second))  # fmt: skip
        found, a, b = 0.0, ours[-1], theirs[-1]
        for layer in range(tree.depth - 1, -1, -1):
            part, spread = self._parts[layer], self._subtree[layer + 1]
            means = [tree.sums(layer, weights * part) for weights in (a, b)]
            left = [
                _beyond(weights, mean[tree.parents[layer + 1]])
                for weights, mean in zip((a, b), means, strict=True)
            ]
            found += _weigh_variances(left[0] * left[1], spread)
            a, b = ours[layer] + means[0], theirs[layer] + means[1]
        return found + _weigh_variances(a * b, self._subtree[0])


def gls(
    tree: Hierarchy, counts: Sequence[ArrayLike], variances: Sequence[ArrayLike]
) -> list[Floats]:
    """Generalised least squares: consistent counts of all nodes, in two passes (`TreeNoise`).

    Args:
        tree: the tree.
        counts: noisy counts, by layer, each of shape (..., nodes).
        variances: of the noise in each count, by layer, each a number or an array that broadcasts
            to the counts; inf: not observed (the count is not looked at), 0: exact.

    Returns:
        Counts by layer, each of shape (..., nodes); each parent is the sum of its children. What
        the observations leave open among leaves that were not observed is shared evenly.

    Example:
        A root (100) of two nodes, 52 of leaves (20, 15, 11) and 50 of (30, 26), equal variances:

        >>> tree = Hierarchy(tuple(map(np.array, ([0], [0, 0], [0, 0, 0, 1, 1]))))
        >>> counts = [100], [52, 50], [20, 15, 11, 30, 26]
        >>> [layer.round(4).tolist() for layer in gls(tree, counts, [2, 2, 2])][:2]
        [[101.0345], [49.7241, 51.3103]]
        >>> [layer.round(4).tolist() for layer in gls(tree, counts, [0, 2, 2])][:2]
        [[100.0], [49.1765, 50.8235]]
    """
    return TreeNoise(tree, variances).estimate(counts)


def _variance(value: ArrayLike, width: int) -> Floats:
    """As an array with an entry for each node."""
    array = np.asarray(value, dtype=np.float64)
    return array if array.ndim and array.shape[-1] == width else np.broadcast_to(array, (width,))


def _weight(known: Floats, spread: Floats) -> Floats:
    """Weight V/(σ² + V) of a node's own count, against the sum of its children."""
    with np.errstate(invalid="ignore"):
        weight = spread / (known + spread)
    # An exact node over exact children keeps its count; an unobserved one takes their sum.
    weight = np.where((known == 0) | np.isinf(spread), 1.0, weight)
    return np.where(np.isinf(known), 0.0, weight)


def _shrunk(weight: Floats, known: Floats, spread: Floats) -> Floats:
    """Variance σ²·V/(σ² + V) of the weighted mean."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(known), spread, weight * known)


def _part(tree: Hierarchy, layer: int, noise: Floats) -> Floats:
    """Part v/V of its parent's residual that falls to each node below a layer."""
    places = tree.parents[layer + 1]
    unknown = np.isinf(noise)
    if unknown.any():
        # Nodes that nothing is known of take all of it, evenly.
        noise = np.where(tree.sums(layer, unknown)[..., places] > 0, unknown, noise)
    spread = tree.sums(layer, noise)[..., places]
    return np.asarray(noise / np.where(spread > 0, spread, 1))


def _beyond(weights: Floats, mean: Floats) -> Floats:
    """Weights less the mean that their parent takes over; what rounding leaves of 0 is 0."""
    left = weights - mean
    return np.where(np.abs(left) <= 1e-12 * np.abs(weights), 0.0, left)


def _weigh_variances(products: Floats, variances: Floats) -> float:
    """Sum of products times variances, where nothing times an unknown variance is nothing."""
    asked = products != 0
    return float((products[asked] * np.broadcast_to(variances, asked.shape)[asked]).sum())


_BLOCK: Final = 2**22
"""Numbers that are worked on at once, beside those that are kept."""


@dataclass(frozen=True, eq=False)
class LevelTable:
    """A table that was measured in the places of one level.

    Attributes:
        level: layer of the tree, 0 for the root.
        axes: axes of the cells that it has, ascending; it is summed over the others.
        counts: noisy counts, shape (places of the level, states of each of these axes).
        variance: of the noise in one count, a number or of shape (places,); 0 where the table is
            exact, inf in places where it was not measured.
    """

    level: int
    axes: tuple[int, ...]
    counts: NDArray[Any]
    variance: ArrayLike


class SpineFit:
    """Consistent tables of all places, by least squares over everything that was measured.

    Args:
        tree: the places.
        sizes: states of each axis of the cells.
        tables: what was measured; of one level there may be several, and of some levels none.

    Raises:
        ValueError: a table that does not fit the tree or the axes, a negative variance, or two
            exact tables that contradict each other.

    Example:
        A country of two areas, each with a table of two cells, and a total of the country:

        >>> tree = Hierarchy((np.array([0]), np.array([0, 0])))
        >>> areas = LevelTable(1, (0,), np.array([[10.0, 20.0], [30.0, 44.0]]), 4.0)
        >>> fit = SpineFit(tree, (2,), [areas, LevelTable(0, (), np.array([100.0]), 1.0)])
        >>> fit.counts(1).round(2).tolist(), fit.variances(1).round(3).tolist()
        ([[9.06, 19.06], [29.06, 43.06]], [3.059, 3.059])
        >>> estimate, variance = fit.answer({0: [1.0]})
        >>> round(estimate, 3), round(variance, 4)
        (100.235, 0.9412)
    """

    def __init__(self, tree: Hierarchy, sizes: Sequence[int], tables: Sequence[LevelTable]) -> None:
        self.tree, self.sizes = tree, tuple(sizes)
        for table in tables:
            self._require(table)
        axes = range(len(self.sizes))
        self._split = [j for j in axes if any(j not in table.axes for table in tables)]
        self._bases = [
            _residual_basis(k) if j in self._split else None for j, k in enumerate(self.sizes)
        ]
        own, variances = self._collect(tables)
        self._noise = {
            space: TreeNoise(tree, [one[space] for one in variances]) for space in self._spaces
        }
        flat = [one.reshape(-1, one.shape[-1]) for one in own]
        most = max(1, _BLOCK // sum(one.shape[-1] for one in own))
        for space, noise in self._noise.items():
            places = np.arange(len(flat[0])).reshape(self.sizes)[self._cells(space)].reshape(-1)
            for some in np.split(places, range(most, len(places), most)):
                for layer, estimate in zip(
                    flat, noise.estimate([z[some] for z in flat]), strict=True
                ):
                    layer[some] = estimate
        self._found = own

    def counts(
        self, level: int, axes: Sequence[int] | None = None, places: Sequence[int] | None = None
    ) -> Floats:
        """Estimates of the places of a level, in their order.

        Args:
            level: of the places, 0 for the root.
            axes: of the cells that are kept, ascending; all of them if None.
            places: that are asked for; all of the level if None.

        Returns:
            Shape (places, states of each of these axes); children sum to their parent, cells to
            marginals. They may be negative.
        """
        kept = self._kept_axes(axes)
        found, bases = self._found[level], list(self._bases)
        found = found if places is None else found[..., list(places)]
        for j in reversed(range(len(self.sizes))):
            basis = bases[j]
            if j in kept:
                found = found if basis is None else _along(found, basis, j)
            else:
                found = found.sum(axis=j) if basis is None else _first(found, j, self.sizes[j])
        return np.ascontiguousarray(np.moveaxis(found, -1, 0))

    def variances(self, level: int, axes: Sequence[int] | None = None) -> Floats:
        """Variance of each cell of `counts`, shape (places,): cells of one place have the same."""
        kept = self._kept_axes(axes)
        found = np.zeros(len(self.tree.parents[level]))
        for space, noise in self._noise.items():
            if share := self._share(space, kept):
                found += share * noise.variances[level]
        return found

    def answer(
        self, places: Mapping[int, ArrayLike], cells: ArrayLike = 1.0
    ) -> tuple[float, float]:
        """Any weighted sum of places and cells, and the variance of its noise.

        Args:
            places: level → weight of each of its places, shape (places,).
            cells: weight of each cell, broadcast to the sizes of the axes.
        """
        weights = self._weights(places)
        turned = self._rotate(cells)
        total = sum(
            float(np.tensordot(turned, layer @ weight, axes=len(self.sizes)))
            for layer, weight in zip(self._found, weights, strict=True)
        )
        return total, self._spread(weights, turned, weights, turned)

    def covariance(
        self,
        first: Mapping[int, ArrayLike],
        second: Mapping[int, ArrayLike],
        cells: ArrayLike = 1.0,
        others: ArrayLike | None = None,
    ) -> float:
        """Covariance of two weighted sums.

        Args:
            first: places of one, as in `answer`.
            second: places of the other.
            cells: weight of each cell in the first.
            others: in the second; the same if None.
        """
        ours = self._rotate(cells)
        theirs = ours if others is None else self._rotate(others)
        return self._spread(self._weights(first), ours, self._weights(second), theirs)

    def _spread(
        self, first: list[Floats], ours: Floats, second: list[Floats], theirs: Floats
    ) -> float:
        """Covariance of two sums, over the subspaces."""
        found = 0.0
        for space, noise in self._noise.items():
            cells = self._cells(space)
            if share := float((ours[cells] * theirs[cells]).sum()):
                found += share * noise.covariance(first, second)
        return found

    def _weights(self, places: Mapping[int, ArrayLike]) -> list[Floats]:
        """Weights of all nodes, by layer."""
        if unknown := set(places) - set(range(self.tree.depth + 1)):
            raise ValueError(f"there is no level {min(unknown)}")
        parents = enumerate(self.tree.parents)
        return [_variance(places.get(level, 0.0), len(nodes)) for level, nodes in parents]

    def _rotate(self, cells: ArrayLike) -> Floats:
        """Weights of cells in the coordinates of the basis."""
        turned = np.broadcast_to(np.asarray(cells, dtype=np.float64), self.sizes)
        for j, basis in enumerate(self._bases):
            turned = turned if basis is None else _along(turned, basis.T, j)
        # What rounding leaves of 0 must not meet the variance of what nobody measured.
        return np.where(np.abs(turned) <= 1e-12 * np.linalg.norm(turned), 0.0, turned)

    @cached_property
    def _spaces(self) -> list[tuple[bool, ...]]:
        """The subspaces: for each axis with a basis, whether beyond its constant."""
        return list(product((False, True), repeat=len(self._split)))

    def _cells(self, space: tuple[bool, ...]) -> tuple[slice, ...]:
        """Where the coordinates of a subspace stand."""
        beyond = dict(zip(self._split, space, strict=True))
        parts = {True: slice(1, None), False: slice(0, 1)}
        return tuple(parts[beyond[j]] if j in beyond else slice(None) for j in self._axes)

    @property
    def _axes(self) -> range:
        return range(len(self.sizes))

    def _share(self, space: tuple[bool, ...], kept: Sequence[int]) -> float:
        """Squared length of a cell's indicator within a subspace, summed over axes not kept."""
        share = float(math.prod(k for j, k in enumerate(self.sizes) if j not in kept))
        for j, beyond in zip(self._split, space, strict=True):
            if j in kept:
                share = share * (
                    (self.sizes[j] - 1) / self.sizes[j] if beyond else 1 / self.sizes[j]
                )
            elif beyond:
                return 0.0
        return share

    def _kept_axes(self, axes: Sequence[int] | None) -> tuple[int, ...]:
        kept = tuple(self._axes if axes is None else axes)
        if list(kept) != sorted(set(kept) & set(self._axes)):
            raise ValueError("axes must be those of the cells, ascending")
        return kept

    def _require(self, table: LevelTable) -> None:
        """Refuse a table that does not fit."""
        if not 0 <= table.level <= self.tree.depth:
            raise ValueError(f"there is no level {table.level}")
        sizes = [self.sizes[j] for j in self._kept_axes(table.axes)]
        wanted = (len(self.tree.parents[table.level]), *sizes)
        if np.shape(table.counts) != wanted:
            raise ValueError(f"a table of shape {np.shape(table.counts)} should have {wanted}")
        if not (np.asarray(table.variance) >= 0).all():
            raise ValueError("a variance is below 0")

    def _collect(
        self, tables: Sequence[LevelTable]
    ) -> tuple[list[Floats], list[dict[tuple[bool, ...], Floats]]]:
        """Each place's own measurement of each coordinate, and its variance in each subspace."""
        widths = [len(nodes) for nodes in self.tree.parents]
        own = [np.zeros((*self.sizes, width)) for width in widths]
        precise = [{space: np.zeros(width) for space in self._spaces} for width in widths]
        exact = [{space: np.zeros(width, np.bool_) for space in self._spaces} for width in widths]
        # Exact tables come first and decide: weights of others are 0 where one was.
        most = max(1, _BLOCK // math.prod(self.sizes))
        for decided, table in product((True, False), tables):
            level, noise = table.level, _variance(table.variance, widths[table.level])
            told = (noise == 0) == decided
            if not told.any():
                continue
            summed = math.prod(k for j, k in enumerate(self.sizes) if j not in table.axes)
            weight = np.where(told, 1.0 if decided else summed / np.where(told, noise, 1.0), 0.0)
            for start in range(0, widths[level], most):
                block = slice(start, start + most)
                measured = self._own_coordinates(table, block) / math.sqrt(summed)
                measured = np.where(weight[block] > 0, measured, 0.0)
                for space in self._measured_subspaces(table.axes):
                    cells, fixed = self._cells(space), exact[level][space][block]
                    ours = own[level][..., block][cells]
                    _require_equal(ours, measured[cells], fixed & told[block] & decided)
                    used = np.where(fixed, 0.0, weight[block])
                    ours += used * measured[cells]
                    precise[level][space][block] += used
                    fixed |= told[block] & decided
        for layer, amounts in zip(own, precise, strict=True):
            for space, amount in amounts.items():
                layer[self._cells(space)] /= np.where(amount > 0, amount, 1.0)
        with np.errstate(divide="ignore"):
            variances = [
                {s: np.where(exact[k][s], 0.0, 1 / amount) for s, amount in amounts.items()}
                for k, amounts in enumerate(precise)
            ]
        return own, variances

    def _own_coordinates(self, table: LevelTable, block: slice) -> Floats:
        """Return the coordinates in the basis of what a table measured in some places.

        Axes that it is summed over have one coordinate.
        """
        counts = np.moveaxis(np.asarray(np.asarray(table.counts)[block], dtype=np.float64), 0, -1)
        for place, j in enumerate(table.axes):
            basis = self._bases[j]
            counts = counts if basis is None else _along(counts, basis.T, place)
        for j in self._axes:
            counts = counts if j in table.axes else np.expand_dims(counts, j)
        return counts

    def _measured_subspaces(self, axes: Sequence[int]) -> Iterator[tuple[bool, ...]]:
        """Subspaces that a table over these axes measures."""
        for space in self._spaces:
            if all(j in axes for j, beyond in zip(self._split, space, strict=True) if beyond):
                yield space


def _require_equal(first: Floats, second: Floats, where: NDArray[np.bool_]) -> None:
    """Refuse two exact tables of one place that differ."""
    if where.any() and not np.allclose(first[..., where], second[..., where], rtol=1e-9, atol=1e-6):
        raise ValueError("two exact tables of one place contradict each other")


def _residual_basis(size: int) -> Floats:
    """Orthonormal basis of Helmert: the first column is constant, the others sum to 0.

    Example:
        >>> _residual_basis(2).round(3).tolist()
        [[0.707, 0.707], [0.707, -0.707]]
    """
    steps = np.arange(1, size)
    contrasts = np.triu(np.ones((size, size - 1))) / np.sqrt(steps * (steps + 1.0))
    contrasts[steps, steps - 1] = -np.sqrt(steps / (steps + 1.0))
    return np.column_stack([np.full(size, size**-0.5), contrasts])


def _along(values: Floats, matrix: Floats, axis: int) -> Floats:
    """Multiply one axis by a matrix."""
    return np.asarray(np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis))


def _first(values: Floats, axis: int, size: int) -> Floats:
    """Sums over an axis, by its constant coordinate."""
    return np.asarray(np.take(values, 0, axis=axis) * math.sqrt(size))
