"""Public simulated sets as functions of parameters: Z(θ) = G(θ, ω), with ω drawn once and for all.

ω never depends on rows. With it fixed, how well anything tells Z(θ) from a table is a function of θ
and the table alone, so that a score of θ has the sensitivity of the comparison, whatever ω is, and
a mixture over ω has the guarantee of each ω (methods with *fresh* records at each evaluation have
neither the density they state nor this argument).

Records here are not conditioned on structural zeros: that would need an unknown number of draws.
`GeneratedModel.sample` conditions on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.features.number_line import Drawn
from understudy.functions.parameter_prior import Prior, even_points
from understudy.functions.sequential_generator import SequentialGenerator

Codes = tuple[NDArray[np.int64], ...]


def even_numbers(sets: int, columns: int, n: int, seed: int) -> Floats:
    """ω, laid evenly rather than drawn: the luck of one ω would be a bias that all θ share.

    Each set has a scrambled Sobol sequence of its own, whose points are its records.

    Args:
        sets: how many.
        columns: of each record, at most 10,600.
        n: records of each set.
        seed: public.

    Returns:
        In (0, 1), shape (sets, columns, 2, n).
    """
    seeds = np.random.SeedSequence(seed).generate_state(sets).tolist()
    points = np.stack([even_points(n, 2 * columns, seed).T for seed in seeds])
    return np.ascontiguousarray(points).reshape(sets, columns, 2, n)


@dataclass(frozen=True, eq=False)
class SimulatedRecords:
    """All columns at once.

    Attributes:
        generator: G.
        uniforms: ω in (0, 1), shape (columns, 2, n), in the order in which columns are drawn.

    Raises:
        ValueError: uniforms of another shape.
    """

    generator: SequentialGenerator
    uniforms: Floats

    def __post_init__(self) -> None:
        if self.uniforms.ndim != 3 or self.uniforms.shape[:2] != (
            len(self.generator.column_models),
            2,
        ):
            raise ValueError("uniforms have the shape (columns, 2, n)")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the schema."""
        return self.generator.schema.names

    @property
    def n_records(self) -> int:
        """n, records in a set."""
        return int(self.uniforms.shape[-1])

    @property
    def prior(self) -> Prior:
        """Of all parameters."""
        return self.generator.prior

    def codes(self, theta: Floats) -> Codes:
        """States of the records, one array of shape (n,) per column.

        Args:
            theta: shape (p,).
        """
        drawn = self.generator.records(theta, self.uniforms)
        return tuple(drawn[name].states for name in self.columns)


@dataclass(frozen=True, eq=False)
class SimulatedColumn:
    """One column given its parents, whose records follow from parameters chosen before.

    Attributes:
        generator: G.
        place: of the column's model in the generator.
        drawn: records of the parents at least, n each.
        uniforms: the column's part of ω, in (0, 1), shape (2, n).

    Raises:
        ValueError: uniforms of another shape, or a parent that was not drawn.
    """

    generator: SequentialGenerator
    place: int
    drawn: Mapping[str, Drawn]
    uniforms: Floats

    def __post_init__(self) -> None:
        if self.uniforms.ndim != 2 or len(self.uniforms) != 2:
            raise ValueError("uniforms of one column have the shape (2, n)")
        if not set(self._model_parents) <= set(self.drawn):
            raise ValueError("a column is drawn after its parents")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the parents, then of the column."""
        column_model = self.generator.column_models[self.place]
        return (*column_model.parents, column_model.column)

    @property
    def n_records(self) -> int:
        """n, records in a set."""
        return int(self.uniforms.shape[-1])

    @property
    def prior(self) -> Prior:
        """Of the column's parameters."""
        return self.generator.column_models[self.place].prior

    def codes(self, theta: Floats) -> Codes:
        """States of the parents, which are the same for every θ, then of the column.

        Args:
            theta: the column's parameters, shape (p,).
        """
        column_model = self.generator.column_models[self.place]
        states = column_model.draw(theta, self.drawn, self.uniforms).states
        return (*(self.drawn[name].states for name in column_model.parents), states)

    @property
    def _model_parents(self) -> tuple[str, ...]:
        return self.generator.column_models[self.place].parents
