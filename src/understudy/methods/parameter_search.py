"""How the pMSE mechanism looks for parameters: stages, rounds within a stage, and their prices.

A *stage* fixes some parameters of the generator: those of one column given the columns before it,
whose simulated records stand by then (`columns`), or all of them at once (`together`, `walk`). A
*round* of a stage chooses one of G public candidates. Those of the first round are points of the
prior; each further round costs as much again and lays its points around the one chosen before, in
a space that is narrower by a public factor. Finer steps are bought; nothing is tuned to the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.models.parameters import Prior
from understudy.models.sequential import SequentialGenerator
from understudy.models.simulated import SimulatedColumn, SimulatedRecords
from understudy.privacy.budget import split
from understudy.privacy.gate import Gate
from understudy.privacy.metropolis import Walk
from understudy.privacy.noise import Mode
from understudy.privacy.propensity_trees import PropensityTrees
from understudy.schema.drawn import Drawn
from understudy.trees import TreeClass

Floats = NDArray[np.float64]
Simulated = tuple[SimulatedColumn, ...] | tuple[SimulatedRecords, ...]
TreesOf = Callable[[tuple[str, ...]], TreeClass]
"""Columns → the class of trees that compares them."""


@dataclass(frozen=True)
class Search:
    """A search, described by public numbers.

    Attributes:
        by_column: whether the parameters of each column are a stage of their own.
        rounds: of each stage.
        candidates: G, of each round.
        shrink: by which factor the space narrows from round to round.
        steps: of a Metropolis walk, which then stands in place of candidates; None for none.
        width: of a walk's steps, in standard deviations of the prior.
        copies: how often each simulated record counts.
        mode: of the score.
    """

    by_column: bool
    rounds: int
    candidates: int
    shrink: float
    steps: int | None
    width: float
    copies: int
    mode: Mode

    def parameters(
        self,
        gate: Gate,
        generator: SequentialGenerator,
        worlds: Floats,
        trees_of: TreesOf,
        spend: Fraction,
    ) -> Floats:
        """Choose θ, stage by stage.

        Args:
            gate: in whose states the generator draws.
            generator: G(θ, ω).
            worlds: ω of each set that a candidate is judged by, shape (sets, columns, 2, records).
            trees_of: the class of trees for some columns.
            spend: cost of all stages together.
        """
        if not self.stages(generator):
            return generator.prior.means
        if self.by_column:
            return self._by_column(gate, generator, worlds, trees_of, spend)
        everything = tuple(SimulatedRecords(generator, world) for world in worlds)
        return self._chosen(gate, everything, trees_of, spend)

    def _by_column(
        self,
        gate: Gate,
        generator: SequentialGenerator,
        worlds: Floats,
        trees_of: TreesOf,
        spend: Fraction,
    ) -> Floats:
        """Each column among records of those before it, which follow from earlier choices."""
        theta, stages = generator.prior.means.copy(), self.stages(generator)
        shares = iter(split(spend, [1] * len(stages)))
        drawn: list[dict[str, Drawn]] = [{} for _ in worlds]
        for k, (law, part) in enumerate(zip(generator.laws, generator.parts, strict=True)):
            if k in stages:
                simulated = tuple(
                    SimulatedColumn(generator, k, dict(known), world[k])
                    for known, world in zip(drawn, worlds, strict=True)
                )
                theta[part] = self._chosen(gate, simulated, trees_of, next(shares))
            for known, world in zip(drawn, worlds, strict=True):
                known[law.column] = law.draw(theta[part], known, world[k])
        return theta

    def stages(self, generator: SequentialGenerator) -> tuple[int, ...]:
        """Which columns have a stage; (0,) stands for all columns at once.

        A column of one state needs none: nothing of it can be compared.
        """
        states = generator.schema.columns
        sizes = [len(law.prior.names) * (states[law.column].size > 1) for law in generator.laws]
        if self.by_column:
            return tuple(k for k, size in enumerate(sizes) if size)
        return (0,) if sum(sizes) else ()

    def _chosen(
        self, gate: Gate, simulated: Simulated, trees_of: TreesOf, spend: Fraction
    ) -> Floats:
        """The parameters of one stage."""
        prior = simulated[0].prior
        trees = trees_of(simulated[0].columns)
        for share in split(spend, [1] * self.rounds):
            theta = self._round(gate, simulated, trees, prior, share)
            prior = prior.around(theta, self.shrink)
        return theta

    def _round(
        self, gate: Gate, simulated: Simulated, trees: TreeClass, prior: Prior, spend: Fraction
    ) -> Floats:
        n = 1 if self.steps else self.candidates
        score = PropensityTrees(
            gate.schema, simulated, prior.points(n), trees, self.copies, self.mode
        )
        if self.steps:
            walk = Walk(prior, prior.means, self.width * prior.stddevs, self.steps)
            found = gate.walk_parameters(score, prior.names, walk, spend=spend)
        else:
            found = gate.choose_parameters(score, prior.names, spend=spend)
        return np.array(found.value.values)
