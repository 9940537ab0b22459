"""How far columns of a table go together, kept more firmly than its single cells.

A fit may stay λ·σ²·θ from each noisy count. Where a relation is strong, these remainders have its
own shape: every cell off the diagonal gets a few records, every cell on it loses some, and so do
cells whose noisy counts are below 0. Each cell is well within its noise, but a slope, which sums
all of them, is not. So a table's *linear effects* a'y are kept more firmly than cells: a is the
product of a contrast of one column and a contrast of another (of an ordered column its evenly
spaced scores), over all states of the rest.

With D the variances of a table's cells and A its effects, one a row, the fit has

    S = D − (1 − κ)·D·A'·(A·D·A')⁻¹·A·D

in place of D: noise whose effects have κ times the variance, and which is as before in everything
that is not correlated with them. For 0 < κ ≤ 1 it is positive definite. Where no count has to be
moved, tables by themselves are fitted as before; where cells cannot follow their effects as well
as their counts, it is the counts that give way. Of one column alone a table has no effects: these
are known from tables of the column, and kept firmly in every table that has it they take four times
as many steps.

Sources: Agresti (2013), Categorical Data Analysis, section 10.4, for linear-by-linear association;
Abowd et al. (2022), Harvard Data Science Review, special issue 2, for counts that have to be at
least 0 and sums of them that go first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.functions.triangulation import Columns
from understudy.models.graphical.clique_layout import TreeLayout
from understudy.schema import Column, is_ordered

SHARE = 0.1
"""κ by default: of a strong relation at much noise, 1 leaves slopes 5 % too small, .2 still 1 %."""
FEW_LEVELS = 5
"""Groups of a column without an order, up to which it has contrasts."""
_LEAST = 1e-9
"""Effects that, but for this part of their variance, are made of others are left out."""


@dataclass(frozen=True)
class _Part:
    """Effects of one table.

    Attributes:
        cells: where its cells lie.
        turned: √(1 − κ) times D·A' in an orthonormal basis, shape (effects, cells).
    """

    cells: slice
    turned: Floats


class LinearEffects:
    """The effects of the tables of a fit.

    Args:
        layout: of the tables.
        variance: of the noise in each of their cells, all in one vector.
        possible: which of these cells can occur.
        contrasts: column → contrasts of its states, shape (contrasts, states). A column without
            any has no effects; two columns with several each have none together.
        share: κ.
    """

    def __init__(
        self,
        layout: TreeLayout,
        variance: Floats,
        possible: NDArray[np.bool_],
        contrasts: Mapping[int, Floats],
        share: float = SHARE,
    ) -> None:
        ends = np.cumsum([0, *map(layout.tree.cells_of, layout.tables)])
        self._parts: list[_Part] = []
        for k, table in enumerate(layout.tables):
            cells = slice(int(ends[k]), int(ends[k + 1]))
            effects = [layout.stored(one, table) for one in effects_of(layout, table, contrasts)]
            if effects:
                turned = _turned(np.array(effects) * possible[cells], variance[cells])
                self._parts.append(_Part(cells, math.sqrt(1 - share) * turned))

    def take_off(self, pull: Floats, vector: Floats) -> None:
        """Make a penalty D·x into S·x, in place."""
        for part in self._parts:
            pull[part.cells] -= (part.turned @ vector[part.cells]) @ part.turned


def effects_of(layout: TreeLayout, table: Columns, contrasts: Mapping[int, Floats]) -> list[Floats]:
    """The effects of one table, each with an axis for each of its columns.

    Args:
        layout: with the sizes of all columns.
        table: its columns.
        contrasts: column → contrasts of its states.
    """
    sizes, found = [layout.tree.sizes[j] for j in table], []
    for a, b in combinations(range(len(table)), 2):
        first, other = (contrasts.get(table[axis], ()) for axis in (a, b))
        if min(len(first), len(other)) == 1:
            found += [
                along(x, a, len(sizes)) * along(y, b, len(sizes)) for x in first for y in other
            ]
    return [np.broadcast_to(effect, sizes) for effect in found]


def along(contrast: Floats, axis: int, axes: int) -> Floats:
    """A contrast, or scores, of one column in a table of several."""
    return contrast.reshape([-1 if j == axis else 1 for j in range(axes)])


def _turned(effects: Floats, variance: Floats) -> Floats:
    """D·A' as rows that are orthonormal in the metric D⁻¹, without those made of others."""
    weighted = effects * variance
    size, vectors = np.linalg.eigh(weighted @ effects.T)
    kept = size > _LEAST * max(float(size[-1]), _LEAST)
    return np.asarray((vectors[:, kept] / np.sqrt(size[kept])).T @ weighted)


def contrasts_of(column: Column, groups: Sequence[int] | None = None) -> Floats:
    """Contrasts of the values of a column: of mean 0 and length 1, 0 for codes of absence.

    Of numbers and ordered levels one, evenly spaced; of up to `FEW_LEVELS` levels without an order
    each with the mean of those before it; of more, and of a column that does not vary, none.

    Args:
        column: states not merged.
        groups: of its states, if they are merged; values first, as their states come.

    Returns:
        Shape (contrasts, groups).

    Example:
        >>> from understudy.schema import Ordinal
        >>> contrasts_of(Ordinal(kind="ordinal", levels=("low", "fair", "high"))).round(3).tolist()
        [[-0.707, 0.0, 0.707]]
    """
    into = range(column.size) if groups is None else groups
    values = list(dict.fromkeys(into[: column.n_ordinary]))
    ordered = is_ordered(column)
    if len(values) < 2 or not (ordered or len(values) <= FEW_LEVELS):
        return np.zeros((0, max(into) + 1))
    steps = np.arange(len(values), dtype=np.float64)
    rows = [steps] if ordered else [k * (steps == k) - (steps < k) for k in steps[1:]]
    contrasts = np.zeros((len(rows), max(into) + 1))
    contrasts[:, values] = [row - row.mean() for row in rows]
    return np.asarray(contrasts / np.linalg.norm(contrasts, axis=1, keepdims=True))
