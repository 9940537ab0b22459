"""The distribution of highest entropy that fits noisy marginals as far as their noise allows.

Over all distributions p of N records on the allowed cells, with y_c, σ_c² the noisy counts and
variances of marginal c and μ_c(p) its true shares, it minimises

    λ·N·KL(p ‖ uniform) + Σ_c ‖(N·μ_c(p) − y_c)/σ_c‖² / 2.

The minimum has the form p ∝ exp(Σ θ_c), and θ minimises the dual, smooth and strongly convex,

    N·log Z(θ) − ⟨θ, y⟩ + λ/2·Σ_c σ_c²·‖θ_c‖²,    gradient N·μ − y + λ·σ²·θ.

(Fenchel duality: the conjugate of ‖·/σ‖²/2 is ‖σ·‖²/2, that of λ·N·KL is λ·N·log of a mean; θ is
the dual variable divided by λ.) At the solution θ_c = (y_c − N·μ_c)/(λ·σ_c²): λ trades how far the
fit may stay from the noisy counts against how far the model may move away from uniform. Where
effects of columns are to be kept firmly, a matrix stands for σ² (below).

Each step of the search is one calibration of a junction tree (`calibrate`). It ends when the
gradient's root mean square, in standard deviations of the noise, is below a tolerance; whether it
got there is reported, and is not a matter of a number of steps.

Source: McKenna, Sheldon & Miklau (2019), "Graphical-model based estimation and inference for
differential privacy", ICML (the model and the tree); Dudík, Phillips & Schapire (2007) for the
dual of entropy with a quadratic penalty.

Memory: 8 bytes per cell of the tree, and about 180 per cell of the measured marginals (the search's
vectors and eight pairs of steps). Where cliques are much larger than the marginals in them, that is
12 per cell of the tree; where they are the marginals themselves, 190.

**Noisy marginals as a model fitted by least squares sees them: columns, counts, variances.**

Changes of the potentials that leave the distribution as it is.

Two tables that share columns S can hand a function of x_S to each other: θ_c + f and θ_c' − f give
the same distribution. Along such directions only the small ridge λ·σ² bends the dual function, and
a search with a diagonal preconditioner crawls. They are known beforehand, though. Decomposed like
an analysis of variance, a table is the sum of its *effects*: for each set S of its columns, its
mean over the other columns less all effects of subsets of S. What the tables that hold S share is
the sum of their effects of S; whatever keeps this sum is redundant.

`extract_redundant` takes the redundant part Q·v of a direction: the effects of each S less their
sum, divided among the tables in the proportion a_c ∝ 1/(σ_c²·n), n being the cells of the table for
each state of S, which is what the ridge likes best. Q is a projection, and orthogonal in the metric
of the ridge where a table's variances are all alike. `apply_transpose` is its transpose.

**How far columns of a table go together, kept more firmly than its single cells.**

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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.graphical.factors import (
    ADD,
    FORBIDDEN,
    MOVE,
    SCALE,
    SUM,
    Box,
    Program,
    Recipe,
    Span,
    TreeLayout,
    calibrate,
    enforceable,
    find_excluded,
    marginal,
)
from understudy.graphical.junction_tree import Columns, JunctionTree
from understudy.graphical.lbfgs import Problem, dot, minimise
from understudy.graphical.sampling import draw_records
from understudy.models.tables import project
from understudy.schema import Column, is_ordered


@dataclass(frozen=True)
class Observation:
    """A noisy marginal as the fit sees it: cells of the model, by its places of columns.

    No `NoisyTable`: states may be merged after they were measured, and counts scaled up, so that
    the noise of each cell has a variance of its own.

    Attributes:
        columns: distinct columns, in any order; () observes the number of records.
        counts: noisy counts, with an axis for each of the columns, in their order.
        variance: of the noise in each cell; a number, or an array of the shape of `counts`, for
            example where a cell stands for several that were merged.
    """

    columns: tuple[int, ...]
    counts: Floats
    variance: float | Floats

    def check(self, sizes: Sequence[int]) -> Observation:
        """The same in order of the columns, all variances written out.

        Raises:
            ValueError: columns, shapes or variances that cannot be; no count is shown.
        """
        if len(set(self.columns)) < len(self.columns) or not set(self.columns) <= {
            *range(len(sizes))
        }:
            raise ValueError(f"an observation has distinct columns of the table: {self.columns}")
        shape = tuple(sizes[j] for j in self.columns)
        counts = np.asarray(self.counts, dtype=np.float64)
        variance = np.asarray(self.variance, dtype=np.float64)
        if counts.shape != shape or variance.shape not in {(), shape}:
            raise ValueError(f"an observation of columns {self.columns} has shape {shape}")
        if not (np.isfinite(counts).all() and np.isfinite(variance).all() and (variance > 0).all()):
            raise ValueError("an observation has finite counts and positive, finite variances")
        order = np.argsort(self.columns).tolist()
        return Observation(
            tuple(self.columns[k] for k in order),
            counts.transpose(order),
            np.broadcast_to(variance, shape).transpose(order),
        )

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(np.shape(self.counts))

    def margin(self, column: int) -> tuple[Floats, Floats]:
        """Counts of one of the columns, and their variances."""
        others = tuple(k for k, j in enumerate(self.columns) if j != column)
        variance = np.broadcast_to(self.variance, np.shape(self.counts))
        return np.sum(self.counts, axis=others), np.sum(variance, axis=others)


def merge_observations(
    sizes: Sequence[int], observations: Iterable[Observation]
) -> tuple[Observation, ...]:
    """Repeated observations of the same columns taken together, each cell by inverse variance.

    Args:
        sizes: of all columns.
        observations: in any order, columns in any order.

    Returns:
        One observation for each set of columns, columns ascending, sorted by columns.

    Raises:
        ValueError: as in `Observation.check`.

    Example:
        >>> a = Observation((0,), np.array([3.0, 5.0]), 1.0)
        >>> b = Observation((0,), np.array([6.0, 5.0]), 2.0)
        >>> [mean] = merge_observations((2,), [a, b])
        >>> mean.counts.tolist(), mean.variance.round(3).tolist()
        ([4.0, 5.0], [0.667, 0.667])
    """
    together: dict[tuple[int, ...], Observation] = {}
    for given in observations:
        new = given.check(sizes)
        old = together.get(new.columns)
        together[new.columns] = new if old is None else _combine(old, new)
    return tuple(together[columns] for columns in sorted(together))


def _combine(first: Observation, other: Observation) -> Observation:
    """The mean by inverse variance, written so that it neither over- nor underflows."""
    share = first.variance / (first.variance + other.variance)  # of the other
    counts = first.counts + share * (other.counts - first.counts)
    return Observation(first.columns, counts, share * other.variance)


class _Slot(NamedTuple):
    """A set of columns in one table.

    Attributes:
        table: its number.
        columns: the set.
        below: slots of subsets in the same table.
        cells: of the table for each state of the set.
        share: a of the slot.
    """

    table: int
    columns: Columns
    below: tuple[int, ...]
    cells: float
    share: float


class Redundancy:
    """The redundant directions of the tables of a layout.

    Args:
        layout: the tables.
        variances: mean variance of the noise in each table.
    """

    def __init__(self, layout: TreeLayout, variances: Sequence[float]) -> None:
        slots, size = _slots(layout, variances), layout.tree.cells_of
        sets = list(dict.fromkeys(slot.columns for slot in slots))
        # Memory of a run: the tables, the result, the effects, and their sums over all tables.
        parts = [*layout.tables, *layout.tables, *(slot.columns for slot in slots), *sets]
        starts = np.cumsum([0, *map(size, parts)]).tolist()
        self._cells, self._memory = starts[len(layout.tables)], starts[-1]
        spans = [*pairwise(starts)]
        forth = [(slot.share, 1.0) for slot in slots]
        back = [(1 / slot.cells, slot.share * slot.cells) for slot in slots]
        self._forth = _program(layout, slots, sets, spans, forth)
        self._back = _program(layout, slots, sets, spans, back)

    def extract_redundant(self, vector: Floats) -> Floats:
        """The redundant part of a change of the potentials; all tables in one vector."""
        return self._run(self._forth, vector)

    def apply_transpose(self, vector: Floats) -> Floats:
        """The transpose of `extract_redundant`."""
        return self._run(self._back, vector)

    def _run(self, program: Program, vector: Floats) -> Floats:
        memory = np.zeros(self._memory)
        memory[: self._cells] = vector
        program.run(memory)
        return memory[self._cells : 2 * self._cells]


def _subsets(columns: Columns) -> list[Columns]:
    return [subset for k in range(len(columns) + 1) for subset in combinations(columns, k)]


def _slots(layout: TreeLayout, variances: Sequence[float]) -> list[_Slot]:
    """All sets that several tables share, table by table, a subset before the whole."""
    often = Counter(subset for table in layout.tables for subset in _subsets(table))
    size, weights = layout.tree.cells_of, dict[Columns, float]()
    slots: list[_Slot] = []
    for t, table in enumerate(layout.tables):
        first = len(slots)
        for columns in (subset for subset in _subsets(table) if often[subset] > 1):
            below = tuple(k for k in range(first, len(slots)) if {*slots[k].columns} < {*columns})
            cells = size(table) / size(columns)
            weight = 1 / (cells * variances[t])
            weights[columns] = weights.get(columns, 0.0) + weight
            slots.append(_Slot(t, columns, below, cells, weight))
    return [slot._replace(share=slot.share / weights[slot.columns]) for slot in slots]


def _program(
    layout: TreeLayout,
    slots: Sequence[_Slot],
    sets: Sequence[Columns],
    spans: Sequence[Span],
    weights: Sequence[tuple[float, float]],
) -> Program:
    """Effects e_c of each set become e_c − given_c·Σ taken_c'·e_c'; their sum in each table.

    Args:
        layout: of the tables.
        slots: of all tables.
        sets: of columns.
        spans: of tables, results, effects and sums in memory; those behind are zeros at first.
        weights: of each slot, given and taken.
    """
    recipe, n = Recipe(), len(layout.tables)
    tables, results, effects = spans[:n], spans[n : 2 * n], spans[2 * n :]
    sums = dict(zip(sets, spans[2 * n + len(slots) :], strict=True))
    for slot, effect, (_, taken) in zip(slots, effects, weights, strict=False):
        link = layout.steps(layout.tables[slot.table], slot.columns)
        recipe.join(SUM, tables[slot.table], effect, link)
        recipe.change(SCALE, effect, number=-slot.cells)  # so that effects of subsets are added
        for k in slot.below:
            recipe.join(ADD, effect, effects[k], layout.steps(slot.columns, slots[k].columns))
        recipe.change(SCALE, effect, number=-1.0)
        recipe.change(MOVE, effect, sums[slot.columns], taken)
    for slot, effect, (given, _) in zip(slots, effects, weights, strict=False):
        recipe.change(MOVE, sums[slot.columns], effect, -given)
        link = layout.steps(layout.tables[slot.table], slot.columns)
        recipe.join(ADD, results[slot.table], effect, link)
    return recipe.program()


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
            effects = [layout.flatten(one, table) for one in effects_of(layout, table, contrasts)]
            if effects:
                turned = _orthonormalise(np.array(effects) * possible[cells], variance[cells])
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


def _orthonormalise(effects: Floats, variance: Floats) -> Floats:
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


MOST_CELLS = 2.0**20
"""Default size of the tree up to which rules get a clique of their own."""
_LEAST_START = 0.3
"""Least count, in standard deviations of its noise, that a state's first guess is made of."""


@dataclass(frozen=True, eq=False)
class MaxEntropy:
    """A fitted model.

    Attributes:
        layout: the tree, and where its tables lie.
        probabilities: of the cells of each clique, as the layout says.
        potentials: θ of each measured marginal, by its columns (ascending, as the axes).
        total: number of records N.
        residual: root mean square of the gradient, in standard deviations of the noise.
        converged: whether it is within the tolerance that was asked for.
        steps: of the search.
        evaluations: calibrations.
        unenforced: rules that no clique of the tree holds; records drawn may break them.
    """

    layout: TreeLayout
    probabilities: Floats
    potentials: Mapping[Columns, Floats]
    total: float
    residual: float
    converged: bool
    steps: int
    evaluations: int
    unenforced: tuple[Box, ...]

    @property
    def tree(self) -> JunctionTree:
        """The junction tree."""
        return self.layout.tree

    def marginal(self, columns: Sequence[int]) -> Floats:
        """Expected counts of any columns, axes in the order given; exact.

        Args:
            columns: distinct; the result has one cell for each combination of their states.
        """
        return self.total * marginal(self.layout, self.probabilities, columns)

    def draw(
        self, n_rows: int, rng: np.random.Generator, *, systematic: bool = True
    ) -> NDArray[np.int32]:
        """Draw records, in random order.

        Args:
            n_rows: how many.
            rng: randomness.
            systematic: whether numbers of records are as near to expected ones as whole numbers
                can be, see `graphical.sampling`; if not, records are independent.

        Returns:
            States, shape (columns, n_rows).
        """
        return draw_records(self.layout, self.probabilities, n_rows, rng, systematic=systematic)


def fit_max_entropy(
    sizes: Sequence[int],
    observations: Iterable[Observation],
    total: float,
    *,
    regularisation: float,
    forbidden: Sequence[Box] = (),
    contrasts: Mapping[int, Floats] | None = None,
    share: float = SHARE,
    warm: MaxEntropy | None = None,
    tolerance: float = 0.02,
    steps: int = 200,
    most_cells: float = MOST_CELLS,
    firm: Sequence[Columns] = (),
) -> MaxEntropy:
    """Fit the model to noisy marginals.

    Args:
        sizes: number of states of each column.
        observations: noisy marginals; repeats of the same columns are allowed.
        total: number of records N; below 0 counts as 0.
        regularisation: λ, in 1/counts; 0.3 over the median σ is a good choice.
        forbidden: rules; each maps columns to the states that cannot occur together.
        contrasts: column → contrasts of its states, whose effects are kept more firmly.
        share: part of their variance that effects have then, above 0 and at most 1.
        warm: an earlier fit over the same columns, from which the search starts.
        tolerance: of the gradient's root mean square, in standard deviations of the noise.
        steps: most steps of the search.
        most_cells: size of the tree up to which a rule that no marginal covers gets a clique.
        firm: columns of rules that get one before others.

    Raises:
        ValueError: observations or options that cannot be, or rules that allow nothing.
    """
    if not (math.isfinite(total) and 0 < regularisation < math.inf):
        raise ValueError("a fit needs a finite total and a positive regularisation")
    known = merge_observations(sizes, observations)
    tables = [o.columns for o in known]
    covered, kept, left = enforceable(sizes, tables, forbidden, most_cells, firm)
    layout = TreeLayout(JunctionTree.of(sizes, covered), tables)
    dual = _Dual(
        layout,
        known,
        find_excluded(layout, kept),
        max(total, 0.0),
        regularisation,
        effects=(contrasts or {}, share),
    )
    start = _start(known, max(total, 0.0), {} if warm is None else warm.potentials)
    solution = minimise(dual.problem, dual.vector(start), tolerance=tolerance, steps=steps)
    return MaxEntropy(
        layout,
        dual.probabilities(solution.x),
        dual.tables(solution.x),
        max(total, 0.0),
        solution.size,
        solution.converged,
        solution.steps,
        solution.evaluations,
        left,
    )


class _Dual:
    """The dual function of the measured tables' potentials, all in one vector.

    A cell of a measured table that cannot occur has no say: its noisy count and its potential
    are 0.
    """

    def __init__(
        self,
        layout: TreeLayout,
        observations: Sequence[Observation],
        forbidden: Integers,
        total: float,
        regularisation: float,
        *,
        effects: tuple[Mapping[int, Floats], float],
    ) -> None:
        self._layout, self._forbidden, self._total = layout, forbidden, total
        self._cells = layout.cells()
        if calibrate(layout.calibration, forbidden, self._cells) < FORBIDDEN / 2:
            raise ValueError("the rules allow no record at all")
        self._possible = self._cells.nodes[layout.measured] > 0
        self._counts = self.vector({o.columns: o.counts for o in observations})
        variance = [layout.flatten(np.asarray(o.variance), o.columns) for o in observations]
        self._variance = np.concatenate([*variance, np.zeros(0)])
        self._ridge = regularisation * self._variance
        self._effects = LinearEffects(layout, self._ridge, self._possible, *effects)
        self._redundancy = Redundancy(layout, [float(np.mean(part)) for part in variance])

    @property
    def problem(self) -> Problem:
        """As the search takes it."""
        return Problem(self.value, self._diagonal, self._precondition, self._size)

    def vector(self, tables: Mapping[Columns, Floats]) -> Floats:
        """Tables by their columns as one vector, 0 where a cell cannot occur or no table is."""
        sizes = self._layout.tree.cells_of
        parts = [
            self._layout.flatten(tables[names], names)
            if names in tables
            else np.zeros(sizes(names))
            for names in self._layout.tables
        ]
        return np.where(self._possible, np.concatenate([*parts, np.zeros(0)]), 0.0)

    def tables(self, vector: Floats) -> dict[Columns, Floats]:
        """The inverse of `vector`."""
        ends = np.cumsum([self._layout.tree.cells_of(columns) for columns in self._layout.tables])
        parts = np.split(vector, ends[:-1]) if len(ends) else []
        pairs = zip(self._layout.tables, parts, strict=True)
        return {columns: self._layout.read(part, columns, columns) for columns, part in pairs}

    def value(self, x: Floats) -> tuple[float, Floats]:
        """The function and its gradient."""
        self._cells.nodes[:] = 0.0
        measured = self._cells.nodes[self._layout.measured]
        measured[:] = x
        constant = calibrate(self._layout.calibration, self._forbidden, self._cells)
        pull = self._ridge * x
        self._effects.take_off(pull, x)
        gradient = self._total * measured - self._counts + pull
        return self._total * constant - dot(x, self._counts - 0.5 * pull), gradient

    def probabilities(self, x: Floats) -> Floats:
        """Of the cells of all cliques."""
        self.value(x)
        return self._cells.cliques.copy()  # without the memory of the other tables

    def _diagonal(self, x: Floats, gradient: Floats) -> Floats:
        """The inverse of λ·σ² and of the cell's variance, about.

        That is its expected count, or between it and the count that it is drawn up to: a small
        expected count says too little of how it will grow.
        """
        pull = self._ridge * x
        expected = np.maximum(gradient + self._counts - pull, 0.0)
        reached = np.maximum(self._counts - pull, expected)
        return np.asarray(1.0 / (np.sqrt(expected * reached) + self._ridge))

    def _precondition(self, vector: Floats, diagonal: Floats, scale: float) -> Floats:
        """γ·P·D·Pᵀ + Q·(λ·σ²)⁻¹·Qᵀ with P = 1 − Q: exact along redundant directions."""
        redundant = self._redundancy.apply_transpose(vector)
        change = scale * diagonal * (vector - redundant)
        change += self._redundancy.extract_redundant(redundant / self._ridge - change)
        return np.where(self._possible, change, 0.0)

    def _size(self, gradient: Floats) -> float:
        n = max(int(np.count_nonzero(self._possible)), 1)
        squares = dot(gradient, gradient / self._variance)
        return math.sqrt(squares / n)


def _start(
    observations: Sequence[Observation], total: float, known: Mapping[Columns, Floats]
) -> dict[Columns, Floats]:
    """First potentials: known ones; else those of independent columns.

    The best observed margin of each column, made a distribution, goes into the smallest table that
    holds the column. A search from zero would need many steps for states that are rare.
    """
    start = {o.columns: known[o.columns] for o in observations if o.columns in known}
    seen = {j for columns in start for j in columns}
    margins: dict[int, tuple[float, Observation]] = {}
    for table in observations:
        for j in {*table.columns} - seen:
            noise = float(np.mean(table.margin(j)[1]))
            if j not in margins or (noise, table.cells) < (margins[j][0], margins[j][1].cells):
                margins[j] = noise, table
    for j, (_, table) in margins.items():
        guess = _log_shares(*table.margin(j), total)
        shape = [-1 if i == j else 1 for i in table.columns]
        start[table.columns] = start.get(table.columns, 0.0) + np.broadcast_to(
            guess.reshape(shape), table.counts.shape
        )
    return start


def _log_shares(counts: Floats, variance: Floats, total: float) -> Floats:
    """Logarithms of the nearest distribution, kept above what noise could hide."""
    sensible = max(total, float(np.sqrt(variance.sum())))
    nearest = project(counts, sensible)
    least: Floats = _LEAST_START * np.sqrt(variance)
    shares: Floats = np.maximum(nearest, least)
    return np.asarray(np.log(shares) - np.log(shares.sum()))
