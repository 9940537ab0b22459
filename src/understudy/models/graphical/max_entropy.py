"""The distribution of highest entropy that fits noisy marginals as far as their noise allows.

Over all distributions p of N records on the allowed cells, with y_c, σ_c² the noisy counts and
variances of marginal c and μ_c(p) its true shares, it minimises

    λ·N·KL(p ‖ uniform) + Σ_c ‖(N·μ_c(p) − y_c)/σ_c‖² / 2.

The minimum has the form p ∝ exp(Σ θ_c), and θ minimises the dual, smooth and strongly convex,

    N·log Z(θ) − ⟨θ, y⟩ + λ/2·Σ_c σ_c²·‖θ_c‖²,    gradient N·μ − y + λ·σ²·θ.

(Fenchel duality: the conjugate of ‖·/σ‖²/2 is ‖σ·‖²/2, that of λ·N·KL is λ·N·log of a mean; θ is
the dual variable divided by λ.) At the solution θ_c = (y_c − N·μ_c)/(λ·σ_c²): λ trades how far the
fit may stay from the noisy counts against how far the model may move away from uniform. Where
effects of columns are to be kept firmly, a matrix stands for σ² (`linear_effects`).

Each step of the search is one calibration of a junction tree (`calibrate`). It ends when the
gradient's root mean square, in standard deviations of the noise, is below a tolerance; whether it
got there is reported, and is not a matter of a number of steps.

Source: McKenna, Sheldon & Miklau (2019), "Graphical-model based estimation and inference for
differential privacy", ICML (the model and the tree); Dudík, Phillips & Schapire (2007) for the
dual of entropy with a quadratic penalty.

Memory: 8 bytes per cell of the tree, and about 180 per cell of the measured marginals (the search's
vectors and eight pairs of steps). Where cliques are much larger than the marginals in them, that is
12 per cell of the tree; where they are the marginals themselves, 190.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers
from understudy.functions.triangulation import Columns
from understudy.models.graphical.belief_propagation import calibrate, marginal
from understudy.models.graphical.clique_layout import Box, TreeLayout, enforceable, excluded
from understudy.models.graphical.clique_sampling import drawn
from understudy.models.graphical.factor_kernels import FORBIDDEN
from understudy.models.graphical.junction_tree import JunctionTree
from understudy.models.graphical.lbfgs import Problem, dot, minimised
from understudy.models.graphical.linear_effects import SHARE, LinearEffects
from understudy.models.graphical.linear_measurement import Observation, Redundancy, merged
from understudy.models.table_models import projected

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
                can be, see `tree_sampling`; if not, records are independent.

        Returns:
            States, shape (columns, n_rows).
        """
        return drawn(self.layout, self.probabilities, n_rows, rng, systematic=systematic)


def fitted(
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
    known = merged(sizes, observations)
    tables = [o.columns for o in known]
    covered, kept, left = enforceable(sizes, tables, forbidden, most_cells, firm)
    layout = TreeLayout(JunctionTree.of(sizes, covered), tables)
    dual = _Dual(
        *(layout, known, excluded(layout, kept), max(total, 0.0), regularisation),
        effects=(contrasts or {}, share),
    )
    start = _start(known, max(total, 0.0), {} if warm is None else warm.potentials)
    solution = minimised(dual.problem, dual.vector(start), tolerance=tolerance, steps=steps)
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
        variance = [layout.stored(np.asarray(o.variance), o.columns) for o in observations]
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
            self._layout.stored(tables[names], names) if names in tables else np.zeros(sizes(names))
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
        redundant = self._redundancy.parted_back(vector)
        change = scale * diagonal * (vector - redundant)
        change += self._redundancy.parted(redundant / self._ridge - change)
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
    nearest = projected(counts, sensible)
    least: Floats = _LEAST_START * np.sqrt(variance)
    shares: Floats = np.maximum(nearest, least)
    return np.asarray(np.log(shares) - np.log(shares.sum()))
