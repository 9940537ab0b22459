"""A Bayesian network over the columns: each is drawn given its parents, one after the other.

The conditional distributions come from noisy tables. A negative count is set to 0. A column is
conditioned by the table of itself and its parents, or by a larger one with the other columns summed
out. Parents that no positive count stands behind leave the column its margin in that table, as far
as the states are allowed with them; without a margin it is uniform.

Each table keeps to the structural zeros over its own columns. A record that is impossible by a rule
over columns of different tables is drawn again, which is exact conditioning on the rules; after
some rounds whatever is left is drawn uniformly over the allowed cells.

Source: Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017), PrivBayes, ACM TODS 42(4), §3.

**Shares of noisy counts within groups, drawn towards given ones as far as noise made them.**

The counts c of a group with total T are shrunk towards e, given shares of T, by the factor
1 − (k − 1)σ²/Σ(c − e)² of James and Stein, and cut at 0, so that noise alone makes no shape.

Source: James & Stein (1961), Fourth Berkeley Symposium 1, 361-379.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers, compiled
from understudy.dp.released import NoisyTable
from understudy.models.model import REDRAWS, Edge, Sample, replace_impossible, require_network
from understudy.schema import Domain, Schema

_CHUNK = 2**14
"""Records drawn at once, so that their states stay in the cache."""


@dataclass(frozen=True)
class Conditional:
    """The distribution of a column given its parents.

    Attributes:
        column: its place in the schema.
        parents: places of the parents, the last one runs fastest in `shares`.
        shares: probability of each state, shape (combinations of the parents, states).
    """

    column: int
    parents: tuple[int, ...]
    shares: Floats

    @cached_property
    def edges(self) -> Floats:
        """Upper ends of the states' parts of [0, 1]; the last state with a share ends at 1."""
        ends = np.cumsum(self.shares, axis=1)
        return np.asarray(ends / ends[:, -1:])


@dataclass(frozen=True)
class BayesianNetwork:
    """A model of the whole table.

    Attributes:
        domain: sizes and structural zeros of all columns.
        conditionals: one per column, parents before children.
        redraws: how often impossible records are drawn again.

    Example:
        A column x and a copy of it, y:

        >>> from understudy.dp.released import NO_NOISE
        >>> tables = [NoisyTable(("x", "y"), np.array([[3.0, -0.2], [0.0, 1.0]]), 0, NO_NOISE)]
        >>> edges = (("x", ()), ("y", ("x",)))
        >>> for conditional in conditionals(tables, edges, Domain((2, 2)), ("x", "y")):
        ...     print(conditional.shares.tolist())
        [[0.75, 0.25]]
        [[1.0, 0.0], [0.0, 1.0]]
    """

    domain: Domain
    conditionals: tuple[Conditional, ...]
    redraws: int = field(default=REDRAWS, kw_only=True)

    in_parts: ClassVar[bool] = True

    @classmethod
    def of_tables(
        cls,
        schema: Schema,
        edges: Sequence[Edge],
        tables: Sequence[NoisyTable],
        *,
        margin: bool = True,
    ) -> BayesianNetwork:
        """From noisy tables.

        Args:
            schema: the columns.
            edges: each column with its parents, which stand before it.
            tables: for each column at least one that covers it and its parents; of several, the
                smallest is taken.
            margin: whether a column has its margin where nothing is known of its parents; uniform
                if not.

        Raises:
            ValueError: edges that are no network, or a column that no table covers.
        """
        require_network(edges, schema.names)
        how = conditionals(tables, edges, schema.domain, schema.names, margin=margin)
        return cls(schema.domain, how)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw independent records."""

        def draw(n: int) -> Sample:
            return Sample([*self._draw(n, rng)])

        return replace_impossible(draw(n_rows), self.domain, draw, rng, redraws=self.redraws)

    def _draw(self, n_rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """States, shape (columns, records), rules over several tables left aside."""
        states = np.empty((len(self.domain.sizes), n_rows), dtype=np.int32)
        for start in range(0, n_rows, _CHUNK):
            for conditional in self.conditionals:
                used = [
                    (j, self.domain.sizes[j]) for j in (*conditional.parents, conditional.column)
                ]
                axes = np.array(used, dtype=np.int64)
                uniforms = rng.random(min(_CHUNK, n_rows - start))
                _draw_column(states, start, axes, conditional.edges, uniforms)
        return states


def conditionals(
    tables: Sequence[NoisyTable],
    edges: Sequence[Edge],
    domain: Domain,
    names: Sequence[str],
    *,
    margin: bool = True,
) -> tuple[Conditional, ...]:
    """The distribution of each column given its parents.

    Args:
        tables: noisy tables; each edge needs one that covers it, of several the smallest is taken.
        edges: a column with its parents each.
        domain: sizes and structural zeros of all columns.
        names: of all columns.
        margin: whether a column has its margin where nothing is known of its parents; uniform if
            not.

    Raises:
        ValueError: a column that no table covers.
    """
    place = {name: j for j, name in enumerate(names)}
    fitted = []
    for column, parents in edges:
        weights = _weights(tables, (*parents, column))
        used = tuple(place[name] for name in parents)
        allowed = domain.project((*used, place[column])).allowed_mask().reshape(weights.shape)
        fitted.append(Conditional(place[column], used, row_shares(weights, allowed, margin=margin)))
    return tuple(fitted)


def _weights(tables: Sequence[NoisyTable], names: tuple[str, ...]) -> Floats:
    """Positive noisy counts of some columns, shape (combinations of all but the last, states)."""
    covering = [table for table in tables if set(names) <= set(table.columns)]
    if not covering:
        raise ValueError(f"no table covers {', '.join(names)}")
    table = min(covering, key=lambda table: table.counts.size)
    kept = [name for name in table.columns if name in names]
    others = tuple(axis for axis, name in enumerate(table.columns) if name not in names)
    summed = np.maximum(table.counts, 0).sum(axis=others, dtype=np.float64)
    ordered = summed.transpose([kept.index(name) for name in names])
    return np.ascontiguousarray(ordered).reshape(-1, ordered.shape[-1])


def row_shares(weights: Floats, allowed: NDArray[np.bool_], *, margin: bool = True) -> Floats:
    """Weights as shares by row; where a row has none, those of the margin among allowed states.

    Args:
        weights: not negative, shape (rows, states).
        allowed: states that can occur, by row; a row without any becomes uniform over all states.
        margin: whether there is a margin to fall back on; allowed states are alike if not.
    """
    empty = np.flatnonzero(weights.sum(axis=1) <= 0)
    filled = weights.copy() if empty.size else weights
    even = np.ones(weights.shape[1])
    for fallback in (weights.sum(axis=0), even) if margin else (even,):
        filled[empty] = np.where(allowed[empty], fallback, 0.0)
        empty = empty[filled[empty].sum(axis=1) <= 0]
    filled[empty] = 1.0  # parents that are impossible themselves: such a record is drawn again
    return np.asarray(filled / filled.sum(axis=1, keepdims=True))


def find_kept_columns(edges: Sequence[Edge]) -> tuple[frozenset[str], ...]:
    """Columns whose joint distribution a network keeps, whatever the true one is.

    A column X with parents Π is drawn from P(X | Π), and so (X, Π) has its true distribution if Π
    has; otherwise X alone may not even have its own. Π has if it is empty or part of columns that
    are kept. With one parent each, every column is kept with its parent. With more, parents that
    were never together in one table go together as the network says, which is not as in the rows:
    a bias that sets drawn from one network have in common, and their differences do not show.

    Args:
        edges: each column with its parents, which stand before it.

    Example:
        >>> edges = (("a", ()), ("b", ("a",)), ("c", ("a",)), ("d", ("b", "c")), ("e", ("a", "c")))
        >>> [sorted(family) for family in find_kept_columns(edges)]
        [['a'], ['a', 'b'], ['a', 'c'], ['a', 'c', 'e']]
    """
    families: list[frozenset[str]] = []
    for column, parents in edges:
        if not parents or any(set(parents) <= family for family in families):
            families.append(frozenset((column, *parents)))
    return tuple(families)


@compiled
def _draw_column(
    states: NDArray[np.int32],
    start: int,
    axes: NDArray[np.int64],
    edges: Floats,
    uniforms: Floats,
) -> None:
    """Draw the last of some columns given the others, in place, from record `start` on.

    A record has the first state whose end exceeds its uniform number. `axes` has a line for each
    of the columns: its place and its size.
    """
    last = edges.shape[1] - 1
    for k in range(uniforms.size):
        i = start + k
        row = 0
        for a in range(len(axes) - 1):
            row = row * axes[a, 1] + states[axes[a, 0], i]
        low, high = 0, last
        while low < high:
            middle = (low + high) >> 1
            if edges[row, middle] > uniforms[k]:
                high = middle
            else:
                low = middle + 1
        states[axes[-1, 0], i] = low


def shrunk(counts: Floats, groups: Integers, even: Floats, stddev: float) -> Floats:
    """Shares in each group, in any unit; none negative.

    Args:
        counts: noisy ones, shape (cells,).
        groups: of each cell, shape (cells,).
        even: shares towards which they are drawn, in any unit within a group, shape (cells,).
        stddev: of the noise in each count.

    Returns:
        Shape (cells,); those of `even` where all of a group would be cut at 0.
    """
    weights = even.copy()
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        total = counts[own].sum()
        flat = total * even[own] / even[own].sum()
        spread = float(((counts[own] - flat) ** 2).sum())
        kept = max(0.0, 1 - (len(own) - 1) * stddev**2 / spread) if spread > 0 else 0.0
        shaped = np.maximum(flat + kept * (counts[own] - flat), 0.0)
        if shaped.any():
            weights[own] = shaped
    return weights
