"""A tree of ranges over the states of one column, with a constant fan-out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.models.hierarchical.node_least_squares import Hierarchy, Integers


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
