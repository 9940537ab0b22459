"""The joint law of several columns, one after the other, with independent priors.

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
from understudy.privacy.samplers.numeric_column import NumberLaw

__all__ = ["AnyLaw", "SequentialLaw"]

AnyLaw = NumberLaw | StateLogit | StateTable
"""Laws of columns (`Law`); the list is closed, since they see rows."""

Labels = Mapping[str, Integers]
"""Column → component of each record in the law of its number."""


@dataclass(frozen=True)
class SequentialLaw:
    """A joint law; arrays of θ are named "column: array".

    Attributes:
        laws: of the columns, parents before children; at least one.
        given: names of the columns that are given.

    Raises:
        ValueError: no law, two of one column, or parents that are neither given nor before.
    """

    laws: tuple[AnyLaw, ...]
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the order of the columns."""
        if not self.laws:
            raise ValueError("a sequence of laws has at least one")
        known = set(self.given)
        for law in self.laws:
            if law.column in known or not known.issuperset(law.parents):
                raise ValueError("each column has one law, and parents that are known before it")
            known.add(law.column)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that have a law, in the order in which they are drawn."""
        return tuple(law.column for law in self.laws)

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
        found: dict[str, Floats] = {}
        for law in self.laws:
            own = law.posterior(records, weights, source, draws=draws)
            found.update({f"{law.column}: {name}": array for name, array in own.items()})
        return found

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log f(x_i | θ_s) of the columns together. CONFIDENTIAL; chunks as in `Law`."""
        return _sums([law.log_likelihoods(self.part(draws, law), records) for law in self.laws])

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """Log c_i(θ_s) of the columns together. CONFIDENTIAL; chunks as in `Law`."""
        return _sums(
            [law.log_contributions(self.part(draws, law), records, weights) for law in self.laws]
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
        known, found = dict(drawn), dict[str, Drawn]()
        for law, own in zip(self.laws, uniforms, strict=True):
            part = self.part(theta, law)
            if labels is not None and isinstance(law, NumberLaw):
                new = law.draw_labelled(part, known, labels[law.column], own)
            else:
                new = law.draw(part, known, own)
            known[law.column] = found[law.column] = new
        return found

    def labels(self, theta: Theta, records: Records, uniforms: Floats) -> dict[str, Integers]:
        """Components of records given their own values, in the laws of numbers. CONFIDENTIAL.

        Args:
            theta: one draw.
            records: all columns and all that are given.
            uniforms: in (0, 1), shape (columns, n), in the order of `columns`.
        """
        return {
            law.column: law.labels(self.part(theta, law), records, own)
            for law, own in zip(self.laws, uniforms, strict=True)
            if isinstance(law, NumberLaw)
        }

    def part(self, theta: Theta, law: AnyLaw) -> Theta:
        """Arrays of one column's law, under its own names."""
        split = {name.rpartition(": "): array for name, array in theta.items()}
        return {name: array for (column, _, name), array in split.items() if column == law.column}


def _sums(parts: list[Iterator[Floats]]) -> Iterator[Floats]:
    """Chunks added up; they are cut alike."""
    first, *others = parts
    for found in first:
        total = np.array(found)
        for other in others:
            total += next(other)
        yield total
