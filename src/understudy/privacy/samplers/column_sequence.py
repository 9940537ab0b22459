"""The joint model of several columns, one after the other, with independent priors.

    f(x | θ) = ∏_j f_j(x_j | parents of j, θ_j),

each column's parents being public columns or columns before it. Under record weights the posterior
is the product of the columns' own, so that they are drawn one by one, and what a record contributes
is the sum of what it contributes to each.

Fully synthetic records begin with no column given; partially synthetic ones with all columns that
are published as they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from understudy.features.number_line import Drawn
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.categorical_logit import StateLogit
from understudy.privacy.samplers.categorical_table import StateTable
from understudy.privacy.samplers.column_model import Floats, Integers, Records, Theta
from understudy.privacy.samplers.numeric_column import NumberModel

__all__ = ["AnyColumnModel", "SequentialModel"]

AnyColumnModel = NumberModel | StateLogit | StateTable
"""Models of columns (`ColumnModel`); the list is closed, since they see rows."""

Labels = Mapping[str, Integers]
"""Column → component of each record in the model of its number."""


@dataclass(frozen=True)
class SequentialModel:
    """A joint model; arrays of θ are named "column: array".

    Attributes:
        column_models: of the columns, parents before children; at least one.
        given: names of the columns that are given.

    Raises:
        ValueError: no model, two of one column, or parents that are neither given nor before.
    """

    column_models: tuple[AnyColumnModel, ...]
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the order of the columns."""
        if not self.column_models:
            raise ValueError("a sequence of models has at least one")
        known = set(self.given)
        for column_model in self.column_models:
            if column_model.column in known or not known.issuperset(column_model.parents):
                raise ValueError("each column has one model, and parents that are known before it")
            known.add(column_model.column)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that have a model, in the order in which they are drawn."""
        return tuple(column_model.column for column_model in self.column_models)

    def posterior(
        self, records: Records, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Draws of all parameters under record weights. CONFIDENTIAL.

        Args:
            records: all columns and all that are given.
            weights: α, shape (n,).
            source: where the randomness comes from.
            draws: S ≥ 1.
        """
        theta: dict[str, Floats] = {}
        for column_model in self.column_models:
            arrays = column_model.posterior(records, weights, source, draws=draws)
            column = column_model.column
            theta.update({f"{column}: {name}": array for name, array in arrays.items()})
        return theta

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log f(x_i | θ_s) of the columns together. CONFIDENTIAL; chunks as in `ColumnModel`."""
        return _sums(
            [
                column_model.log_likelihoods(self.part(draws, column_model), records)
                for column_model in self.column_models
            ]
        )

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """Log c_i(θ_s) of the columns together. CONFIDENTIAL; chunks as in `ColumnModel`."""
        return _sums(
            [
                column_model.log_contributions(self.part(draws, column_model), records, weights)
                for column_model in self.column_models
            ]
        )

    def sample(
        self, theta: Theta, drawn: Records, uniforms: Floats, labels: Labels | None = None
    ) -> dict[str, Drawn]:
        """New values of all columns, a function of the arguments alone.

        Args:
            theta: one draw, without leading axis.
            drawn: records of the given columns, n each.
            uniforms: in (0, 1), shape (columns, 3, n), in the order of `columns`.
            labels: components of records, as `labels` gives them; CONFIDENTIAL, and so is what is
                drawn with them. None draws them from θ.

        Returns:
            The columns in their order; the given ones are not among them.
        """
        known, values = dict(drawn), dict[str, Drawn]()
        for column_model, u in zip(self.column_models, uniforms, strict=True):
            part = self.part(theta, column_model)
            if labels is not None and isinstance(column_model, NumberModel):
                new = column_model.draw_labelled(part, known, labels[column_model.column], u)
            else:
                new = column_model.draw(part, known, u)
            known[column_model.column] = values[column_model.column] = new
        return values

    def labels(self, theta: Theta, records: Records, uniforms: Floats) -> dict[str, Integers]:
        """Components of records given their own values, in the models of numbers. CONFIDENTIAL.

        Args:
            theta: one draw.
            records: all columns and all that are given.
            uniforms: in (0, 1), shape (columns, n), in the order of `columns`.
        """
        return {
            column_model.column: column_model.labels(self.part(theta, column_model), records, u)
            for column_model, u in zip(self.column_models, uniforms, strict=True)
            if isinstance(column_model, NumberModel)
        }

    def part(self, theta: Theta, column_model: AnyColumnModel) -> Theta:
        """Arrays of one column's model, under its own names."""
        split = {name.rpartition(": "): array for name, array in theta.items()}
        return {
            name: array
            for (column, _, name), array in split.items()
            if column == column_model.column
        }


def _sums(parts: list[Iterator[Floats]]) -> Iterator[Floats]:
    """Chunks added up; they are cut alike."""
    first, *others = parts
    for chunk in first:
        total = np.array(chunk)
        for other in others:
            total += next(other)
        yield total
