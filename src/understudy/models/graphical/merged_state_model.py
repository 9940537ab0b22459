"""A junction tree over merged states, and what turns these into states and numbers again.

From groups of states back to states goes systematic sampling, by their shares in the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Codes, Floats, compiled
from understudy.models.graphical.max_entropy import MaxEntropy
from understudy.models.model import Sample, conditioned
from understudy.models.within_bins import WithinBins
from understudy.schema import Domain


@dataclass(frozen=True)
class Expansion:
    """The states of a column whose model knows groups only.

    Attributes:
        groups: group of each state, shape (states,).
        shares: share of each state in its group, shape (states,); they add up to 1 in each.
    """

    groups: Codes
    shares: Floats

    def draw(self, groups: Codes, rng: np.random.Generator) -> NDArray[np.int32]:
        """A state for each record, given its group.

        In each group as many records as its shares say, up to one, in random order: the expected
        number is exact, and nothing ties states to the order of records or to other columns.

        Args:
            groups: of each record, shape (n,).
            rng: source of random numbers.
        """
        order = rng.permutation(len(groups))
        phases = rng.random(len(self._layout[0]) - 1)
        found: NDArray[np.int32] = _expand(groups.astype(np.int64), order, phases, self._layout)
        return found

    @cached_property
    def _layout(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """Where each group begins, the states by group, and upper ends of their shares."""
        states = np.argsort(self.groups, kind="stable")
        counts = np.bincount(self.groups)
        starts = np.concatenate(([0], np.cumsum(counts)))
        ends = np.empty(len(states))
        for first, last in pairwise(starts):
            part = np.cumsum(self.shares[states[first:last]])
            ends[first:last] = part / part[-1]
        return starts, states, ends


@compiled
def _expand(
    groups: NDArray[np.int64],
    order: NDArray[np.int64],
    phases: Floats,
    layout: tuple[NDArray[np.int64], NDArray[np.int64], Floats],
) -> NDArray[np.int32]:
    """Walk the records in random order; the k-th of a group takes place (k + phase)/n in it."""
    starts, states, ends = layout
    sizes = np.zeros(phases.size, dtype=np.int64)
    for group in groups:
        sizes[group] += 1
    seen = np.zeros(phases.size, dtype=np.int64)
    found = np.empty(groups.size, dtype=np.int32)
    for i in order:
        group = groups[i]
        place = (seen[group] + phases[group]) / sizes[group]
        seen[group] += 1
        low, high = starts[group], starts[group + 1] - 1
        while low < high:
            middle = (low + high) >> 1
            if ends[middle] > place:
                high = middle
            else:
                low = middle + 1
        found[i] = states[low]
    return found


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
