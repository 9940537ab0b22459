"""Merged states: which to merge by a noisy table, a junction tree over them, and the way back.

A state with fewer records than noise only adds noise to every table that it is crossed with. So
rare levels share a group, and the values of an ordered column are cut into runs of about equal
mass. Later the records of a group are spread over its states as `shapes` says, by systematic
sampling. All of this is post-processing of a released table.

States that stand in different structural zeros (`understudy.schema.coarsening.signatures`) are
never merged, so that each group is wholly inside or outside of every rule.

Sources: merged rare levels, McKenna, Miklau & Sheldon (2021), "Winning the NIST contest"; runs of
equal noisy mass are the histograms of equal depth of databases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.arrays import Codes, Flags, Floats, Integers
from understudy.models.even_draws import dealt, ranked, records_by_cell, upper_ends
from understudy.models.graphical.balanced_records import balanced, times_drawn
from understudy.models.graphical.max_entropy import MaxEntropy
from understudy.models.graphical.raked_records import raked
from understudy.models.graphical.rank_exchange import RankExchange
from understudy.models.graphical.run_places import POINTS, RunPlaces
from understudy.models.model import Sample, conditioned, impossible
from understudy.models.table_models import projected
from understudy.models.within_bins import WithinBins
from understudy.schema import Domain

RARE = 3.0
"""Deviations of the noise below which a state counts as rare."""
HEAVY = 0.5
"""Share of the records in one state, from which on the others may have lighter runs."""


def merged_levels(
    noisy: ArrayLike,
    stddev: ArrayLike,
    *,
    least: float = 0.0,
    signatures: ArrayLike | None = None,
    alone: ArrayLike | None = None,
) -> Integers:
    """Groups of an unordered column: those of rare levels, one for each signature, and singles.

    Args:
        noisy: released counts, shape (K,).
        stddev: of their noise, one number or shape (K,).
        least: count below which a level is rare, whatever the noise.
        signatures: equal numbers for states that may be merged, shape (K,); all may be if None.
        alone: states that are never merged, such as codes of absence, shape (K,).

    Returns:
        Group of each state, numbered in the order of their first states; shape (K,).

    Example:
        >>> merged_levels([90.0, 2.0, 40.0, -1.0, 3.0], 5.0, alone=[False] * 4 + [True]).tolist()
        [0, 1, 2, 1, 3]
    """
    counts = np.asarray(noisy, dtype=np.float64)
    rules, apart = _marks(len(counts), signatures, alone)
    rare = (counts < np.maximum(RARE * np.asarray(stddev), least)) & ~apart
    # Rare states are named by what stands in the same rules, the others by themselves.
    return numbered(np.where(rare, -1 - rules, np.arange(len(counts))))


def merged_runs(
    noisy: ArrayLike,
    stddev: ArrayLike,
    *,
    bins: int,
    tails: bool = False,
    rare: float = RARE,
    signatures: ArrayLike | None = None,
    alone: ArrayLike | None = None,
) -> Integers:
    """Groups of an ordered column: runs of states next to each other, of about equal mass.

    A run has at least the mass s, the larger of a part in `bins` and `rare` deviations of the noise
    in the sum of its counts, which grows with the root of their number. A state that has as much by
    itself ends the run before it and is a group of its own. So there are at most 2·`bins` + 1
    groups that no change of signature forces. What is left at the end of a stretch, with less than
    half of s, joins the run before it.

    **Tails.** Where most records share a value, as zeros of amounts do, a part in `bins` may be all
    that differs from it. If states lighter than that hold the share r of the mass, b runs of them
    cost r/b in a table of pairs, for what merging hides, and b times the noise of a cell: together
    least with b in proportion to √r. So if a state has the share `HEAVY` or more, a run has √r of
    the mass that it has otherwise, and half of the deviations. Of groups there are a quarter more
    then, at most, as 1 − r + √r is never above 5/4.

    Args:
        noisy: released counts, shape (K,).
        stddev: of their noise, one number or shape (K,).
        bins: into how many runs of equal mass, at most, at least 1.
        tails: whether light states are cut finer than that, as above.
        rare: deviations of the noise that a run holds at least.
        signatures: equal numbers for states that may be merged, shape (K,); all may be if None.
        alone: states that are never merged, such as codes of absence and spikes; runs pass over
            them; shape (K,).

    Returns:
        Group of each state, numbered in the order of their first states; shape (K,).

    Example:
        >>> merged_runs([9.0, 11, 10, 80, 1, 21, 13, 12, 13], 1.0, bins=8).tolist()
        [0, 0, 0, 1, 2, 2, 3, 3, 4]
    """
    counts = np.asarray(noisy, dtype=np.float64)
    rules, apart = _marks(len(counts), signatures, alone)
    mass = projected(counts, counts.sum())
    noise = np.broadcast_to(rare * np.asarray(stddev, dtype=np.float64), mass.shape)
    names, total = np.arange(len(counts)), float(mass.sum())
    part = total / bins
    if tails and total and mass.max() >= HEAVY * total:
        light = mass[~apart & (mass < np.maximum(part, noise))].sum()
        part, noise = part * math.sqrt(light / total), noise / 2
    for stretch in _stretches(np.flatnonzero(~apart), rules):
        _cut(stretch, mass, part, noise, names)
    return numbered(names)


def _marks(
    n_states: int, signatures: ArrayLike | None, alone: ArrayLike | None
) -> tuple[Integers, Flags]:
    rules = np.zeros(n_states, dtype=np.int64) if signatures is None else np.asarray(signatures)
    apart = np.zeros(n_states, dtype=np.bool_) if alone is None else np.asarray(alone, dtype=bool)
    return rules, apart


def _stretches(states: Integers, rules: Integers) -> list[Integers]:
    """The states, cut where the signature changes."""
    if not len(states):
        return []
    return np.split(states, np.flatnonzero(np.diff(rules[states])) + 1)


def _cut(stretch: Integers, mass: Floats, part: float, noise: Floats, names: Integers) -> None:
    """Name the states of a stretch by the first of their run, in place."""
    start, so_far = 0, 0.0
    joined = -1  # where the run before began, if a light one may still join it

    def least(k: int, state: int) -> float:
        """What the run up to before the k-th state of the stretch has to hold."""
        return float(max(part, noise[state] * np.sqrt(max(k - start, 1))))

    for k, state in enumerate(stretch):
        heavy = mass[state] >= max(part, noise[state])
        if k > start and (heavy or so_far + mass[state] / 2 >= least(k, state)):
            light = heavy and joined >= 0 and so_far < least(k, state) / 2
            names[stretch[start:k]] = stretch[joined if light else start]
            start, so_far, joined = k, 0.0, start
        so_far += mass[state]
        if heavy:
            start, so_far, joined = k + 1, 0.0, -1
    if start < len(stretch):
        light = joined >= 0 and so_far < least(len(stretch), stretch[-1]) / 2
        names[stretch[start:]] = stretch[joined if light else start]


def numbered(names: Integers) -> Integers:
    """The groups numbered in the order of their first states."""
    _, first, places = np.unique(names, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[places]


def shapes(estimates: ArrayLike, groups: ArrayLike, *, widths: ArrayLike | None = None) -> Floats:
    """Share of each state in its group.

    Args:
        estimates: of records, none negative, as `denoised` makes them of a whole column: what that
            tells of smoothness holds within the groups as well. Shape (..., K).
        groups: group of each state, numbered from 0, shape (K,).
        widths: public; what states would share alike, and 0 for one that cannot occur, shape (K,).

    Returns:
        Shape (..., K), with a sum of 1 in each group. A group without estimated records is shared
        in proportion to the widths.

    Example:
        >>> counts = [80.0, 24, 18, 21, 20, 19, 22, 60]
        >>> from understudy.models.share_tree import denoised
        >>> shapes(denoised(counts, 3.0), [0, 1, 1, 1, 2, 2, 2, 3]).round(2).tolist()
        [1.0, 0.36, 0.32, 0.32, 0.33, 0.32, 0.35, 1.0]
    """
    counts, numbers = np.asarray(estimates, dtype=np.float64), np.asarray(groups)
    wide = np.ones(len(numbers)) if widths is None else np.asarray(widths, dtype=np.float64)
    wide = _shares(wide, np.ones_like(wide), numbers)
    return _shares(counts, np.broadcast_to(wide, counts.shape), numbers)


def _shares(counts: Floats, otherwise: Floats, groups: Integers) -> Floats:
    """Counts over those of their group; where these are 0, what stands in `otherwise`."""
    member = groups == np.arange(groups.max() + 1)[:, None]
    largest = np.where(member, counts[..., None, :], 0.0).max(axis=-1)[..., groups]
    weights = np.where(largest > 0, counts / np.where(largest > 0, largest, 1.0), otherwise)
    shares: Floats = weights / (weights @ member.T)[..., groups]
    return shares


@dataclass(frozen=True)
class Expansion:
    """The states of a column whose model knows groups only.

    Attributes:
        groups: group of each state, shape (states,).
        shares: share of each state in its group, shape (states,); they add up to 1 in each.
    """

    groups: Codes
    shares: Floats

    def draw(
        self, groups: Codes, rng: np.random.Generator, points: Codes | None = None
    ) -> NDArray[np.int32]:
        """A state for each record, given its group.

        In each group as many records as its shares say, up to one: the expected number is exact.
        In random order nothing ties states to the order of records or to other columns.

        Args:
            groups: of each record, shape (n,).
            rng: source of random numbers.
            points: where in its group each record lies, from 0 to `POINTS` - 1: those further
                ahead take the first states. Anywhere if None.
        """
        firsts, states, ends = self._layout
        sizes = np.bincount(groups, minlength=len(firsts) - 1)
        counts = records_by_cell(ends, firsts, sizes, rng.random(len(sizes)))
        queue = np.repeat(states, counts)
        if points is None:
            return dealt(groups, sizes, queue, rng)
        places = groups * np.int32(POINTS) + points
        ranks = ranked(places, np.bincount(places, minlength=len(sizes) * POINTS), rng)
        drawn: NDArray[np.int32] = queue[ranks]
        return drawn

    def at(self, groups: Codes, places: Floats) -> NDArray[np.int32]:
        """The state at a place in (0, 1) of its group, for each record; shape (n,)."""
        starts, states, ends = self._layout
        drawn = np.empty(len(groups), dtype=np.int32)
        for group, (first, last) in enumerate(pairwise(starts)):
            rows = np.flatnonzero(groups == group)
            found = np.searchsorted(ends[first : last - 1], places[rows], side="right")
            drawn[rows] = states[first + found]
        return drawn

    @cached_property
    def _layout(self) -> tuple[Integers, NDArray[np.int32], Floats]:
        """Where each group begins, the states by group, and upper ends of their shares."""
        states = np.argsort(self.groups, kind="stable")
        firsts = np.concatenate(([0], np.cumsum(np.bincount(self.groups))))
        return firsts, states.astype(np.int32), upper_ends(self.shares[states], firsts)


@dataclass(frozen=True)
class MarginalModel:
    """A model of the whole table.

    Attributes:
        domain: sizes and structural zeros of all columns, states not merged.
        fit: the distribution over merged states.
        expansions: by place of a column, how its groups become states; none where nothing was
            merged.
        numbers: by name of a numeric column, its place and how its bins become numbers.
        places: by place of a column in runs, what other columns say of places within them.
        ranks: what was measured of ranks that go together, if anything.
    """

    domain: Domain
    fit: MaxEntropy
    expansions: Mapping[int, Expansion] = field(default_factory=dict)
    numbers: Mapping[str, tuple[int, WithinBins]] = field(default_factory=dict)
    places: Mapping[int, RunPlaces] = field(default_factory=dict)
    ranks: RankExchange | None = None

    in_parts: ClassVar[bool] = True

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records.

        Cells that a rule forbids have probability 0 in the fit as far as the rule's columns fit
        into the tree. Records that another rule forbids are drawn again, which conditions on it;
        what is left after some rounds is drawn uniformly over the allowed cells. Then records are
        taken by weights, so that they hold the measured tables again
        (`models.graphical.raked_records`). Of more records than are wanted those are kept that hold
        what the model says of pairs of columns.
        """
        n_drawn = n_rows * times_drawn(n_rows, len(self.domain.sizes))
        states = self._draw(n_drawn, rng)
        if n_rows and impossible(self.domain, [*states]).size:
            allowed = conditioned(
                Sample([*states]),
                self.domain,
                lambda n: Sample([*self._draw(n, rng, systematic=False)]),
                rng,
            )
            merged = [self._groups_of(j, own) for j, own in enumerate(allowed.states)]
            states = states[:, raked(merged, self._tables, rng)]
        if n_drawn > n_rows:
            states = states[:, balanced(states, n_rows, self.domain.sizes, rng)]
        values = {name: within.draw(states[j], rng) for name, (j, within) in self.numbers.items()}
        return Sample([*states], values)

    def _groups_of(self, column: int, states: Codes) -> Codes:
        """Group of each record."""
        known = self.expansions.get(column)
        return states if known is None else np.asarray(known.groups)[states]

    @cached_property
    def _tables(self) -> dict[tuple[int, ...], Floats]:
        """What the fit says of measured tables, and of every column."""
        alone = [(j,) for j in range(len(self.domain.sizes))]
        return {columns: self.fit.marginal(columns) for columns in [*self.fit.potentials, *alone]}

    def _draw(
        self, n_rows: int, rng: np.random.Generator, *, systematic: bool = True
    ) -> NDArray[np.int32]:
        merged = self.fit.draw(n_rows, rng, systematic=systematic)
        if self.ranks is not None and systematic:
            merged = self.ranks.exchanged(merged, rng)
        states = merged.copy()
        for j, expansion in self.expansions.items():
            points = self.places[j].points(merged, rng) if j in self.places else None
            states[j] = expansion.draw(merged[j], rng, points)
        return states
