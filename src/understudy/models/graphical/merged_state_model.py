"""A junction tree over merged states, and what turns these into states and numbers again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.models.graphical.max_entropy import MaxEntropy
from understudy.models.model import Sample
from understudy.models.states.state_expansion import Expansion
from understudy.models.states.within_bins import WithinBins
from understudy.models.structural_zero_rejection import conditioned
from understudy.schema import Domain


@dataclass(frozen=True)
class MarginalModel:
    """A model of the whole table.

    Attributes:
        domain: sizes and structural zeros of all columns, states not merged.
        fit: the distribution over merged states.
        expansions: by place of a column, how its groups become states; none where nothing was
            merged.
        numbers: by name of a numeric column, its place and how its bins become numbers.
    """

    domain: Domain
    fit: MaxEntropy
    expansions: Mapping[int, Expansion] = field(default_factory=dict)
    numbers: Mapping[str, tuple[int, WithinBins]] = field(default_factory=dict)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records.

        Cells that a rule forbids have probability 0 in the fit as far as the rule's columns fit
        into the tree. Records that another rule forbids are drawn again, which conditions on it;
        what is left after some rounds is drawn uniformly over the allowed cells.
        """
        states = self._draw(n_rows, rng)
        conditioned(
            Sample([*states]),
            self.domain,
            lambda n: Sample([*self._draw(n, rng, systematic=False)]),
            rng,
        )
        values = {name: within.draw(states[j], rng) for name, (j, within) in self.numbers.items()}
        return Sample([*states], values)

    def _draw(
        self, n_rows: int, rng: np.random.Generator, *, systematic: bool = True
    ) -> NDArray[np.int32]:
        states = self.fit.draw(n_rows, rng, systematic=systematic)
        for j, expansion in self.expansions.items():
            states[j] = expansion.draw(states[j], rng)
        return states
