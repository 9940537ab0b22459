"""Records of a junction tree's model whose states are within given ones.

The tree is given the evidence (`belief_propagation.given_weights`): of a column whose states were
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
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Flags, Floats
from understudy.models.graphical.belief_propagation import given_weights
from understudy.models.graphical.clique_sampling import drawn
from understudy.models.graphical.merged_state_model import Expansion, MarginalModel
from understudy.models.model import Sample

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
        merged, states = self._merged(self._found[0], n_rows, rng), {}
        for j, expansion in self.model.expansions.items():
            if j in self.model.places:
                states[j] = self._placed(j, merged, rng)
            else:
                states[j] = self._fitting(j, expansion).draw(merged[j], rng)
        columns = [states.get(j, merged[j]) for j in range(len(merged))]
        numbers = self.model.numbers.items()
        return Sample(columns, {name: own.draw(columns[j], rng) for name, (j, own) in numbers})

    def _placed(
        self, column: int, merged: NDArray[np.int32], rng: np.random.Generator
    ) -> NDArray[np.int32]:
        """States of a column in runs, by where records would stand in a whole table."""
        stands = self.model.places[column].evened(merged, self._shares[column], rng)
        return self.model.expansions[column].at(merged[column], stands)

    @cached_property
    def _shares(self) -> dict[int, Floats]:
        """How a whole table is spread over the runs of each column; the same whatever the seed."""
        found, rng = {}, np.random.default_rng(0)
        for column, places in self.model.places.items():
            only = {column: self.evidence[column]} if column in self.evidence else {}
            others = self._merged(self._given(only)[0], REFERENCES, rng)
            found[column] = places.shares(others)
        return found

    def _fitting(self, column: int, expansion: Expansion) -> Expansion:
        """How groups become states that fit the evidence."""
        if column not in self.evidence:
            return expansion
        shares, groups = expansion.shares * self.evidence[column], expansion.groups
        known = np.bincount(groups, weights=shares)[groups] > 0  # others are never drawn
        return Expansion(groups, np.where(known, shares, expansion.shares))

    @cached_property
    def _found(self) -> tuple[Floats, float]:
        return self._given(self.evidence)

    def _given(self, evidence: Mapping[int, Flags]) -> tuple[Floats, float]:
        """Cells of the tree given evidence, and the probability of it."""
        fit = self.model.fit
        weights = {j: self._weights(j, mask) for j, mask in evidence.items()}
        return given_weights(fit.layout, fit.probabilities, weights)

    def _weights(self, column: int, mask: Flags) -> Floats:
        """How much of each group fits; any part of a run counts as all of it."""
        expansion = self.model.expansions.get(column)
        if expansion is None:
            return mask.astype(np.float64)
        fitting: Floats = np.bincount(expansion.groups, expansion.shares * mask).astype(np.float64)
        return (fitting > 0).astype(np.float64) if column in self.model.places else fitting

    def _merged(self, cells: Floats, n_rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
        return drawn(self.model.fit.layout, cells, n_rows, rng)
