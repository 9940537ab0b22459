"""What the pMSE mechanism judges candidates by: how well their simulated records pass for the rows.

For one column the records of its parents follow from parameters that were chosen before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.decision_trees import Trees
from understudy.families.generators.parameter_search import ScoreOf
from understudy.features.column_draws import Drawn
from understudy.functions.sequential_generator import SequentialGenerator
from understudy.functions.simulated_tables import SimulatedColumn, SimulatedRecords
from understudy.privacy.noise.perturbation import Mode
from understudy.privacy.selection.tree_distinguisher_score import PropensityTrees

Floats = NDArray[np.float64]
Simulated = tuple[SimulatedColumn, ...] | tuple[SimulatedRecords, ...]
TreesOf = Callable[[tuple[str, ...]], Trees]
"""Columns → the class of trees that compares them."""


@dataclass(frozen=True, eq=False)
class SimulatedScoring:
    """Trees over simulated records and rows.

    Attributes:
        generator: G(θ, ω).
        worlds: ω of each set that a candidate is judged by, shape (sets, columns, 2, records).
        trees_of: the class of trees for some columns.
        copies: how often each simulated record counts.
        mode: of the score.
    """

    generator: SequentialGenerator
    worlds: Floats
    trees_of: TreesOf
    copies: int
    mode: Mode

    def __call__(self, place: int | None, theta: Floats) -> ScoreOf:
        """The score of one stage; see `Scoring`."""
        simulated = self._everything if place is None else tuple(self._column(place, theta))
        trees = self.trees_of(simulated[0].columns)
        schema = self.generator.schema

        def score_of(points: Floats) -> PropensityTrees:
            return PropensityTrees(schema, simulated, points, trees, self.copies, self.mode)

        return score_of

    @property
    def _everything(self) -> Simulated:
        return tuple(SimulatedRecords(self.generator, world) for world in self.worlds)

    def _column(self, place: int, theta: Floats) -> Iterator[SimulatedColumn]:
        """A column among records of those before it, which follow from θ."""
        before = tuple(zip(self.generator.laws, self.generator.parts, strict=True))[:place]
        for world in self.worlds:
            drawn: dict[str, Drawn] = {}
            for (law, part), own in zip(before, world, strict=False):
                drawn[law.column] = law.draw(theta[part], drawn, own)
            yield SimulatedColumn(self.generator, place, drawn, world[place])
