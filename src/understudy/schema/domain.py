"""The cells of the full cross-tabulation: how many there are, which are impossible.

A cell is one state for each column. Rules declare boxes of cells that cannot occur. Everything
here is public: it follows from the schema alone.

All three jobs (count the allowed cells exactly, recognise forbidden ones, draw allowed ones) walk
the columns with a *live set*: the rules that every state so far has matched. A cell is forbidden if
a rule is still live at the end. The number of distinct live sets, not the number of cells, bounds
the work, so 10¹² cells and more cost no more than a few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Uniforms = Callable[[int], NDArray[np.float64]]


@dataclass(frozen=True)
class Domain:
    """Sizes of the columns and the forbidden boxes over them.

    Attributes:
        sizes: number of states of each column.
        boxes: each maps a column index to the states concerned; a cell in all of them is forbidden.
    """

    sizes: tuple[int, ...]
    boxes: tuple[dict[int, frozenset[int]], ...] = ()

    @property
    def n_cells(self) -> int:
        """All cells, forbidden ones included; exact for any size."""
        product = 1
        for size in self.sizes:
            product *= size
        return product

    @cached_property
    def n_allowed(self) -> int:
        """Cells that can occur, counted exactly; only live sets of rules are enumerated."""
        if not self.boxes:
            return self.n_cells
        return int(self._futures([np.ones(size, dtype=object) for size in self.sizes])[0][self._all])

    def project(self, columns: Sequence[int]) -> Domain:
        """The domain of some columns, with the rules that mention no other column."""
        place = {column: k for k, column in enumerate(columns)}
        boxes = tuple(
            {place[column]: states for column, states in box.items()}
            for box in self.boxes
            if box.keys() <= place.keys()
        )
        return Domain(tuple(self.sizes[column] for column in columns), boxes)

    def forbidden(self, columns: Sequence[NDArray[np.unsignedinteger]]) -> NDArray[np.bool_]:
        """Which records lie in a forbidden box.

        Args:
            columns: one array of states per column, all of shape (n,).

        Returns:
            Shape (n,). Out-of-domain states (equal to the size) match no rule.
        """
        result = np.zeros(len(columns[0]) if columns else 0, dtype=np.bool_)
        for box in self.boxes:
            result |= box_contains(box, self.sizes, columns)
        return result

    def allowed_mask(self) -> NDArray[np.bool_]:
        """Dense array of shape `sizes`: True where a cell can occur. For small domains."""
        mask = np.ones(self.sizes, dtype=np.bool_)
        for box in self.boxes:
            index = [sorted(box.get(j, range(size))) for j, size in enumerate(self.sizes)]
            mask[np.ix_(*index)] = False
        return mask

    def draw(
        self, n: int, uniforms: Uniforms, weights: Sequence[NDArray[np.float64]] | None = None
    ) -> list[NDArray[np.int64]]:
        """Draw allowed cells: uniformly, or with probability ∝ the product of column weights.

        Exact conditioning on the rules, without rejection: suffix sums over live sets, then one
        column after the other.

        Args:
            n: number of cells, drawn independently.
            uniforms: source of uniform numbers in (0, 1), called with how many are needed.
            weights: one array of non-negative weights per column, shape (size,); uniform if None.

        Returns:
            One array of states per column, each of shape (n,). If no allowed cell has positive
            weight, the draw is uniform over the allowed cells.
        """
        plain = [np.full(size, 1 / size) for size in self.sizes]
        used = plain if weights is None else [_share(w) for w in weights]
        futures = self._futures(used)
        if not futures[0][self._all] > 0:
            used, futures = plain, self._futures(plain)
        live = np.zeros(n, dtype=np.int64)  # index into `groups`
        groups: list[int] = [self._all]
        result: list[NDArray[np.int64]] = []
        for j in range(len(self.sizes)):
            states, live, groups = self._draw_column(j, live, groups, used[j], futures, uniforms)
            result.append(states)
        return result

    @property
    def _all(self) -> int:
        return (1 << len(self.boxes)) - 1

    @cached_property
    def _signatures(self) -> list[list[int]]:
        """For each column and state, the set of rules that the state leaves live (as bits)."""
        table = [[self._all] * size for size in self.sizes]
        for r, box in enumerate(self.boxes):
            for j, states in box.items():
                for state in set(range(self.sizes[j])) - states:
                    table[j][state] &= ~(1 << r)
        return table

    @cached_property
    def _reachable(self) -> list[set[int]]:
        """Live sets that can stand before each column, and after the last one."""
        levels = [{self._all}]
        for j in range(len(self.sizes)):
            distinct = set(self._signatures[j])
            levels.append({live & sig for live in levels[-1] for sig in distinct})
        return levels

    def _futures(self, weights: Sequence[NDArray[np.generic]]) -> list[dict[int, float]]:
        """Total weight of allowed completions, by column and live set."""
        after: dict[int, float] = {live: 0 if live else 1 for live in self._reachable[-1]}
        levels = [after]
        for j in range(len(self.sizes) - 1, -1, -1):
            by_signature: dict[int, float] = {}
            for state, signature in enumerate(self._signatures[j]):
                by_signature[signature] = by_signature.get(signature, 0) + weights[j][state]
            levels.append(
                {
                    live: sum(w * levels[-1][live & sig] for sig, w in by_signature.items())
                    for live in self._reachable[j]
                }
            )
        return levels[::-1]

    def _draw_column(
        self,
        j: int,
        live: NDArray[np.int64],
        groups: list[int],
        weights: NDArray[np.float64],
        futures: list[dict[int, float]],
        uniforms: Uniforms,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """States of column j for every draw, and the live sets afterwards."""
        n = len(live)
        states = np.zeros(n, dtype=np.int64)
        next_sets = sorted({group & sig for group in groups for sig in set(self._signatures[j])})
        position = {s: k for k, s in enumerate(next_sets)}
        next_live = np.zeros(n, dtype=np.int64)
        u = uniforms(n)
        for g, group in enumerate(groups):
            rows = np.flatnonzero(live == g)
            if not len(rows):
                continue
            to = [group & sig for sig in self._signatures[j]]
            mass = np.array([float(w * futures[j + 1][s]) for w, s in zip(weights, to, strict=True)])
            edges = np.cumsum(mass)
            picked = np.searchsorted(edges, u[rows] * edges[-1], side="right")
            states[rows] = np.minimum(picked, np.flatnonzero(mass)[-1])
            next_live[rows] = np.array([position[s] for s in to])[states[rows]]
        return states, next_live, next_sets


def _share(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights as shares, so that products over many columns neither overflow nor vanish."""
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))


def box_contains(
    box: dict[int, frozenset[int]],
    sizes: Sequence[int],
    columns: Sequence[NDArray[np.unsignedinteger]],
) -> NDArray[np.bool_]:
    """Which records (states per column, shape (n,)) lie in one forbidden box."""
    inside = np.ones(len(columns[0]), dtype=np.bool_)
    for j, states in box.items():
        table = np.zeros(sizes[j] + 1, dtype=np.bool_)
        table[list(states)] = True
        inside &= table[columns[j]]
    return inside
