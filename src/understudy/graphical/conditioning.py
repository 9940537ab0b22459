"""Models given that some columns have certain states, as far as a model can be told so.

Evidence says for some columns which states there can be. A table keeps the cells in it, a product
the states in it, and a junction tree has its own way (`graphical.conditioning`). Others
draw as before. So whoever takes records looks at each whether it fits, and finds that most do.

**Records of a junction tree's model whose states are within given ones.**

The tree is given the evidence (`factors.given_weights`): of a column whose states were
merged, how much of each group fits it. What stands between groups and states is drawn as for
a whole table:

* states of rare levels by their shares among those that fit;
* states of runs by the place of the record in its run. A whole table evens out the places of its
  records, so that each state keeps its share; records that fit the evidence have no such shares of
  their own. So their places are evened out as those of a whole table are, of which so many records
  as `REFERENCES` are drawn, without the evidence on other columns. Of a run all states are drawn,
  and those that do not fit have to be left out by whoever takes the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Flags, Floats
from understudy.graphical.compression import Expansion, MarginalModel
from understudy.graphical.factors import given_weights
from understudy.graphical.ridges import POINTS
from understudy.graphical.sampling import draw_records
from understudy.models.model import Model, Sample
from understudy.models.tables import ProductModel, TableModel, unravel

REFERENCES: Final = 2**16
"""Records of a whole table."""


@dataclass(frozen=True, eq=False)
class ConditionalRecords:
    """Records of a model given evidence; some of them may not fit it, or break a rule.

    Attributes:
        model: of the whole table.
        evidence: by place of a column, which of its states are given, shape (states,).
    """

    model: MarginalModel
    evidence: Mapping[int, Flags]

    in_parts: ClassVar[bool] = True

    @property
    def mass(self) -> float:
        """Probability of groups in which the evidence holds."""
        return self._found[1]

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records; there is some probability of the evidence."""
        merged, states = self._draw_merged(self._found[0], n_rows, rng), {}
        placed: dict[int, NDArray[np.int32]] = {}
        for j in sorted(self.model.expansions, key=self.model.n_leaders):
            expansion = self.model.expansions[j]
            if j in self.model.places:
                stands = self._place(j, merged, self._shares[j], rng, placed)
                states[j] = expansion.at(merged[j], stands)
            else:
                states[j] = self._restrict(j, expansion).draw(merged[j], rng)
        columns = [states.get(j, merged[j]) for j in range(len(merged))]
        numbers = self.model.numbers.items()
        return Sample(columns, {name: own.draw(columns[j], rng) for name, (j, own) in numbers})

    def _place(
        self,
        column: int,
        merged: NDArray[np.int32],
        shares: Floats,
        rng: np.random.Generator,
        placed: dict[int, NDArray[np.int32]],
    ) -> Floats:
        """Where records would stand in a whole table; their points are kept for the next column."""
        stands = self.model.places[column].even_out(merged, shares, rng, placed)
        placed[column] = (stands * POINTS).astype(np.int32)
        return stands

    @cached_property
    def _shares(self) -> dict[int, Floats]:
        """Spread of a whole table over the runs of each column; the same whatever the seed."""
        found: dict[int, Floats] = {}
        rng = np.random.default_rng(0)
        for column in sorted(self.model.places, key=self.model.n_leaders):
            only = {column: self.evidence[column]} if column in self.evidence else {}
            others = self._draw_merged(self._condition_cells(only)[0], REFERENCES, rng)
            placed: dict[int, NDArray[np.int32]] = {}
            for leader in self.model.leaders(column):
                self._place(leader, others, found[leader], rng, placed)
            found[column] = self.model.places[column].shares(others, placed)
        return found

    def _restrict(self, column: int, expansion: Expansion) -> Expansion:
        """Restrict the states that groups become to those that fit the evidence."""
        if column not in self.evidence:
            return expansion
        shares, groups = expansion.shares * self.evidence[column], expansion.groups
        known = np.bincount(groups, weights=shares)[groups] > 0  # others are never drawn
        return Expansion(groups, np.where(known, shares, expansion.shares))

    @cached_property
    def _found(self) -> tuple[Floats, float]:
        return self._condition_cells(self.evidence)

    def _condition_cells(self, evidence: Mapping[int, Flags]) -> tuple[Floats, float]:
        """Cells of the tree given evidence, and the probability of it."""
        fit = self.model.fit
        weights = {j: self._weights(j, mask) for j, mask in evidence.items()}
        return given_weights(fit.layout, fit.probabilities, weights)

    def _weights(self, column: int, mask: Flags) -> Floats:
        """Compute how much of each group fits; any part of a run counts as all of it."""
        expansion = self.model.expansions.get(column)
        if expansion is None:
            return mask.astype(np.float64)
        fitting: Floats = np.bincount(expansion.groups, expansion.shares * mask).astype(np.float64)
        return (fitting > 0).astype(np.float64) if column in self.model.places else fitting

    def _draw_merged(
        self, cells: Floats, n_rows: int, rng: np.random.Generator
    ) -> NDArray[np.int32]:
        return draw_records(self.model.fit.layout, cells, n_rows, rng)


Evidence = Mapping[int, NDArray[np.bool_]]
"""By place of a column, which of its states are given, shape (states,)."""

SELDOM: Final = 100
"""Of so many whole records drawn, one has to fit, or only fitting ones are drawn."""


def condition_on(model: Model, evidence: Evidence) -> Model | None:
    """A model whose records that fit the evidence are those of another one that do.

    Args:
        model: the other one.
        evidence: what is given.

    Returns:
        A model most of whose records fit, or the model itself where it cannot be told, or where it
        has measured ranks, which records take in together, and one in `SELDOM` fits; None where no
        record of it fits. Rarer records follow the tables alone.
    """
    if not evidence:
        return model
    if isinstance(model, MarginalModel):
        found = ConditionalRecords(model, evidence)
        if model.ranks is not None and found.mass * SELDOM >= 1:
            return model
        return found if found.mass > 0 else None
    if isinstance(model, ProductModel):
        return _product(model, evidence)
    return _table(model, evidence) if isinstance(model, TableModel) else model


def _product(model: ProductModel, evidence: Evidence) -> ProductModel | None:
    """Its weights without those of other states; what has no weight counts as even, as there."""
    weights = [own if own.any() else np.ones_like(own) for own in model.factors]
    if not model.domain.has_weight(weights):
        weights = [np.ones_like(own) for own in weights]
    fitting = [own * evidence.get(j, True) for j, own in enumerate(weights)]
    if not model.domain.has_weight(fitting):
        return None
    return replace(model, weights=tuple(fitting), are_factors=True)


def _table(model: TableModel, evidence: Evidence) -> TableModel | None:
    """Its cells that fit; one without weight draws evenly, and cannot be told."""
    if not model.weights.sum() > 0:
        return model
    states = unravel(model.codes, model.domain.sizes)
    fit = np.logical_and.reduce([mask[states[j]] for j, mask in evidence.items()])
    weights = model.weights[fit]
    return TableModel(model.domain, model.codes[fit], weights) if weights.sum() > 0 else None
