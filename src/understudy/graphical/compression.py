"""Merged states: which to merge by a noisy table, a junction tree over them, and the way back.

A state with fewer records than noise only adds noise to every table that it is crossed with. So
rare levels share a group, and the values of an ordered column are cut into runs of about equal
mass. Later the records of a group are spread over its states as `shapes` says, by systematic
sampling. All of this is post-processing of a released table.

States that stand in different structural zeros (`understudy.schema.coarsening.signatures`) are
never merged, so that each group is wholly inside or outside of every rule.

Sources: merged rare levels, McKenna, Miklau & Sheldon (2021), "Winning the NIST contest"; runs of
equal noisy mass are the histograms of equal depth of databases.

**Rare levels merged along a public tree: with their siblings first, and only then further up.**

A group of rare siblings that together stand out from noise is kept: below it nothing can be told of
other columns, and at it something can. What does not stand out goes on to the next branching, where
it meets what is left of the branches beside it. All of this is post-processing of a released table.

**Where in its run of merged states a record lies, as the columns beside it say.**

A fit over merged states knows of an ordered column only in which run a record is. Were its place
there independent of all else, what goes together within runs would be lost, and with it much of a
strong relation between two numbers. But what a neighbour's chances are in this run and in the next
ones tells how they change along it: for a state y of a *partner*, P(y | run) is known at the middle
of each run, and is taken to be linear in between, and to go on as it came in the outer halves of
the first and of the last run. Records are spread over the places t of their run with the density

    p(t | y₁, y₂, …) ∝ Π_k P(y_k | t),

partners being taken as independent given the place, even between a few points of the run. Only the
*order* of places is used afterwards
(`understudy.graphical.compression.Expansion`): each state keeps its share of the
run to the record, whatever the partners are. Partners are columns of a measured table with this
one; everything here is post-processing of the fit.

Of two numbers that follow one another closely the chances are those along their ridge
(`graphical.ridges`). The first is placed by the run of the second, and the second by the place of
the first: within a cell of their table they follow one another too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy._arrays import Codes, Flags, Floats, Integers
from understudy.graphical.estimation import MaxEntropy
from understudy.graphical.pairs_beyond import PairsBeyond
from understudy.graphical.rank_exchange import RankExchange
from understudy.graphical.ridges import LEAST_CHANCE, POINTS, Ridge
from understudy.graphical.sampling import choose_balanced, choose_raked, times_drawn
from understudy.models.model import (
    Sample,
    States,
    dealt,
    impossible,
    rank_by_group,
    records_by_cell,
    replace_impossible,
    upper_ends,
)
from understudy.models.numeric import WithinBins
from understudy.models.tables import project
from understudy.schema import Domain

MOST_PARTNERS: Final = 3
LEAST_INFORMATION: Final = 0.005
"""Mutual information, in nats, of a partner; less may be noise, and would hardly move a record."""
_AT_ONCE: Final = 2**14

Shares = NDArray[np.float32]
Placed = Mapping[int, NDArray[np.int32]]
"""By place of a column, at which point of its run each record lies."""


@dataclass(frozen=True, eq=False)
class RunPlaces:
    """Statements of partners about the places of records in the runs of one column.

    Attributes:
        column: its place among all columns.
        ranks: of each of its groups along the line, −1 for one that is no run, shape (groups,).
        partners: places of other columns.
        chances: for each partner log P(state | place), shape (runs, states, `POINTS`); for the
            leader P(state and its point | place), shape (runs, states · `POINTS`, `POINTS`).
        leader: the partner whose point is known, because it is placed before; None if none is.
    """

    column: int
    ranks: Integers
    partners: tuple[int, ...]
    chances: tuple[Floats, ...]
    leader: int | None = None

    @classmethod
    def of(
        cls,
        fit: MaxEntropy,
        column: int,
        runs: Sequence[int],
        ridges: Mapping[int, Ridge | None] | None = None,
        leader: int | None = None,
    ) -> RunPlaces | None:
        """Return what a fit says of one column; None where no partner says anything.

        Of partners on ridges a leader tells most, and with its point. What others on ridges say is
        in that already: together they would say too much.

        Args:
            fit: over merged states.
            column: its place.
            runs: groups of the column that are runs, in their order on the line.
            ridges: by place of a partner, its ridge with this column; None for one not used.
            leader: one of these partners.
        """
        if len(runs) < 2:
            return None
        pairs = {k: fit.marginal((column, k))[[*runs]] for k in _beside(fit, column)}
        told = {k: _information(pair) for k, pair in pairs.items()}
        ordered = sorted((k for k in told if told[k] > LEAST_INFORMATION), key=lambda k: -told[k])
        along = ridges or {}
        if leader is not None:
            ordered = [leader, *(k for k in ordered if k not in along)]
        partners = tuple(ordered[:MOST_PARTNERS])
        if not partners:
            return None
        ranks = np.full(fit.tree.sizes[column], -1, dtype=np.int64)
        ranks[[*runs]] = np.arange(len(runs))
        masses = fit.marginal((column,))[[*runs]]
        chances = []
        for k in partners:
            own = _log_chances(pairs[k], masses)
            if (ridge := along.get(k)) is not None:
                own = ridge.log_chances(own, with_points=k == leader)
            chances.append(own)
        return cls(column, ranks, partners, tuple(chances), leader)

    def points(
        self,
        states: NDArray[np.int32],
        rng: np.random.Generator,
        placed: Placed | None = None,
    ) -> NDArray[np.int32]:
        """At which point of its run each record lies; 0 for records that are in no run.

        Args:
            states: merged ones of all columns, shape (columns, n).
            rng: source of random numbers.
            placed: the points of a leader, evened out, by its place.
        """
        points = np.zeros(states.shape[1], dtype=np.int32)
        ranks = self.ranks[states[self.column]]
        seen, tables = self._seen(states, placed), self._tables()
        for start in range(0, len(points), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            sums = self._sums(tables, ranks[part], [own[part] for own in seen])
            limits = rng.random(sums.shape[1], dtype=np.float32) * sums[-1]
            for below in sums[:-1]:
                points[part] += below <= limits
        points[ranks < 0] = 0
        return points

    def shares(self, states: NDArray[np.int32], placed: Placed | None = None) -> Floats:
        """Part of the records of each run at each point, before runs are evened out.

        Args:
            states: of records of a whole table, as for `points`.
            placed: as for `points`.

        Returns:
            Shape (runs, `POINTS`), adding up to 1; even for a run without records.
        """
        ranks = self.ranks[states[self.column]]
        inside = np.flatnonzero(ranks >= 0)
        found = np.zeros((len(self.chances[0]), POINTS))
        seen, tables = self._seen(states, placed), self._tables()
        for start in range(0, len(inside), _AT_ONCE):
            part = inside[start : start + _AT_ONCE]
            sums = self._sums(tables, ranks[part], [own[part] for own in seen])
            np.add.at(found, ranks[part], (np.diff(sums, axis=0, prepend=0) / sums[-1]).T)
        found[found.sum(axis=1) == 0] = 1.0
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def even_out(
        self,
        states: NDArray[np.int32],
        shares: Floats,
        rng: np.random.Generator,
        placed: Placed | None = None,
    ) -> Floats:
        """Place each record among those of its run in a whole table, in (0, 1); shape (n,).

        Args:
            states: as for `points`, of any records.
            shares: of the whole table.
            rng: source of random numbers; places of records that are in no run are uniform.
            placed: as for `points`.
        """
        points, runs = self.points(states, rng, placed), self.ranks[states[self.column]]
        within = rng.random(len(points))
        before = np.cumsum(shares, axis=1) - shares
        stands = before[runs, points] + within * shares[runs, points]
        return np.where(runs >= 0, stands, within)

    def _tables(self) -> list[Shares]:
        return [np.exp(chances).astype(np.float32) for chances in self.chances]

    def _seen(self, states: NDArray[np.int32], placed: Placed | None) -> list[Codes]:
        """Return what each partner has: its state, and of a leader its point as well."""
        points = placed or {}
        return [
            states[k] * np.int32(POINTS) + points[k] if k == self.leader else states[k]
            for k in self.partners
        ]

    def _sums(self, tables: Sequence[Shares], ranks: Integers, seen: Sequence[Codes]) -> Shares:
        """Densities up to each point, shape (`POINTS`, records); any, of records in no run."""
        inside, told = np.maximum(ranks, 0), np.ones((len(ranks), POINTS), dtype=np.float32)
        for own, table in zip(seen, tables, strict=True):
            cells = inside * table.shape[1] + own
            told *= table.reshape(-1, POINTS).take(cells, axis=0, mode="clip")
        sums = np.ascontiguousarray(told.T)
        for point in range(1, POINTS):  # along the records, as fast as memory is
            sums[point] += sums[point - 1]
        return sums


def _beside(fit: MaxEntropy, column: int) -> list[int]:
    """Columns that were measured in one table with this one."""
    tables = [table for table in fit.layout.tables if column in table]
    return sorted({k for table in tables for k in table} - {column})


def _information(pair: Floats) -> float:
    """Mutual information of the rows and columns of a table of records, in nats."""
    shares = np.maximum(pair, 0.0) / max(pair.sum(), LEAST_CHANCE)
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    ratios = np.divide(shares, alone, out=np.ones_like(shares), where=shares > 0)
    return float((shares * np.log(ratios)).sum())


def _log_chances(pair: Floats, masses: Floats) -> Floats:
    """Log P(state | place) at the points of each run.

    Args:
        pair: records by run, in order, and by state of the partner.
        masses: records of each run.
    """
    given = np.maximum(pair, 0.0) / np.maximum(masses, LEAST_CHANCE)[:, None]
    ends = np.cumsum(np.maximum(masses, 0.0))
    starts = ends - np.maximum(masses, 0.0)
    middles = (starts + ends) / 2
    along = (np.arange(POINTS) + 0.5) / POINTS
    places = starts[:, None] + along * (ends - starts)[:, None]
    knots = np.concatenate([[0.0], middles, ends[-1:]])
    known = np.stack(
        [_gone_on(middles, given), *given, _gone_on(ends[-1] - middles[::-1], given[::-1])]
    )
    chances = np.stack([np.interp(places, knots, shares) for shares in known.T], axis=1)
    return np.asarray(np.log(np.maximum(chances, LEAST_CHANCE)))


def _gone_on(middles: Floats, given: Floats) -> Floats:
    """Chances at place 0 by those at the middles of the first two runs, half of the first at least.

    What falls to next to nothing from one run to the next is a curve, not a line that ends below 0.
    """
    reach = middles[0] / max(float(middles[1] - middles[0]), LEAST_CHANCE)
    return np.asarray(np.maximum(given[0] - min(reach, 1.0) * (given[1] - given[0]), given[0] / 2))


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
    return number_groups(np.where(rare, -1 - rules, np.arange(len(counts))))


def merged_runs(
    noisy: ArrayLike,
    stddev: ArrayLike,
    *,
    bins: int,
    tails: bool = False,
    rare: float = RARE,
    signatures: ArrayLike | None = None,
    alone: ArrayLike | None = None,
    once: bool = False,
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
        once: whether counts are smooth, and runs are to be counted themselves: noise does not add
            up in them then.

    Returns:
        Group of each state, numbered in the order of their first states; shape (K,).

    Example:
        >>> merged_runs([9.0, 11, 10, 80, 1, 21, 13, 12, 13], 1.0, bins=8).tolist()
        [0, 0, 0, 1, 2, 2, 3, 3, 4]
    """
    counts = np.asarray(noisy, dtype=np.float64)
    rules, apart = _marks(len(counts), signatures, alone)
    mass = project(counts, counts.sum())
    noise = np.broadcast_to(rare * np.asarray(stddev, dtype=np.float64), mass.shape)
    names, total = np.arange(len(counts)), float(mass.sum())
    part = total / bins
    if tails and total and mass.max() >= HEAVY * total:
        light = mass[~apart & (mass < np.maximum(part, noise))].sum()
        part, noise = part * math.sqrt(light / total), noise / 2
    for stretch in _stretches(np.flatnonzero(~apart), rules):
        _close_run(stretch, mass, part, noise, names, power=0.0 if once else 0.5)
    return number_groups(names)


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


def _close_run(
    stretch: Integers, mass: Floats, part: float, noise: Floats, names: Integers, *, power: float
) -> None:
    """Name the states of a stretch by the first of their run, in place.

    Noise in k states grows as k to the power.
    """
    start, so_far = 0, 0.0
    joined = -1  # where the run before began, if a light one may still join it

    def least(k: int, state: int) -> float:
        """Bound from below what the run up to before the k-th state of the stretch holds."""
        return float(max(part, noise[state] * max(k - start, 1) ** power))

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


def number_groups(names: Integers) -> Integers:
    """The groups numbered in the order of their first states."""
    _, first, places = np.unique(names, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[places]


def shapes(estimates: ArrayLike, groups: ArrayLike, *, widths: ArrayLike | None = None) -> Floats:
    """Share of each state in its group.

    Args:
        estimates: of records, none negative, as `denoise` makes them of a whole column: what that
            tells of smoothness holds within the groups as well. Shape (..., K).
        groups: group of each state, numbered from 0, shape (K,).
        widths: public; what states would share alike, and 0 for one that cannot occur, shape (K,).

    Returns:
        Shape (..., K), with a sum of 1 in each group. A group without estimated records is shared
        in proportion to the widths.

    Example:
        >>> counts = [80.0, 24, 18, 21, 20, 19, 22, 60]
        >>> from understudy.models.number_line import denoise
        >>> shapes(denoise(counts, 3.0), [0, 1, 1, 1, 2, 2, 2, 3]).round(2).tolist()
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

    def draw(self, groups: Codes, rng: np.random.Generator) -> NDArray[np.int32]:
        """A state for each record, given its group.

        In each group as many records as its shares say, up to one: the expected number is exact.
        In random order nothing ties states to the order of records or to other columns.

        Args:
            groups: of each record, shape (n,).
            rng: source of random numbers.
        """
        queue, sizes = self._queue(groups, rng)
        return dealt(groups, sizes, queue, rng)

    def draw_placed(
        self, groups: Codes, rng: np.random.Generator, points: Codes
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """A state for each record, as `draw` does it, and its point among those of its group.

        Args:
            groups: of each record, shape (n,).
            rng: source of random numbers.
            points: where in its group each record lies, from 0 to `POINTS` - 1: those further
                ahead take the first states.

        Returns:
            The states, and the points evened out: as many records of a group are at each.
        """
        queue, sizes = self._queue(groups, rng)
        places = groups * np.int32(POINTS) + points
        ranks = rank_by_group(places, np.bincount(places, minlength=len(sizes) * POINTS), rng)
        before = np.cumsum(sizes) - sizes
        evened = (ranks - before[groups]) * POINTS // sizes[groups]
        return queue[ranks], evened.astype(np.int32)

    def _queue(self, groups: Codes, rng: np.random.Generator) -> tuple[NDArray[np.int32], Integers]:
        """States of the records by group, in their order; and records of each group."""
        firsts, states, ends = self._layout
        sizes = np.bincount(groups, minlength=len(firsts) - 1)
        counts = records_by_cell(ends, firsts, sizes, rng.random(len(sizes)))
        return np.repeat(states, counts), sizes

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
        """Start of each group, the states by group, and upper ends of their shares."""
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
        beyond: what is known of pairs of columns that no table holds, if anything.
    """

    domain: Domain
    fit: MaxEntropy
    expansions: Mapping[int, Expansion] = field(default_factory=dict)
    numbers: Mapping[str, tuple[int, WithinBins]] = field(default_factory=dict)
    places: Mapping[int, RunPlaces] = field(default_factory=dict)
    ranks: RankExchange | None = None
    beyond: PairsBeyond | None = None

    in_parts: ClassVar[bool] = True

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records.

        Cells that a rule forbids have probability 0 in the fit as far as the rule's columns fit
        into the tree. Records that another rule forbids are drawn again, which conditions on it;
        what is left after some rounds is drawn uniformly over the allowed cells. Then records are
        taken by weights, so that they hold the measured tables again
        (`graphical.sampling`). Of more records than are wanted those are kept that hold
        what the model says of pairs of columns.
        """
        n_drawn = n_rows * times_drawn(n_rows, len(self.domain.sizes))
        states = self._draw(n_drawn, rng)
        if n_rows and impossible(self.domain, states).size:
            allowed = replace_impossible(
                Sample(states),
                self.domain,
                lambda n: Sample(self._draw(n, rng, systematic=False)),
                rng,
            )
            merged = [self._groups_of(j, own) for j, own in enumerate(allowed.states)]
            chosen = choose_raked(merged, self._tables, rng)
            states = [own[chosen] for own in states]
        if n_drawn > n_rows:
            chosen = choose_balanced(np.array(states), n_rows, self.domain.sizes, rng)
            states = [own[chosen] for own in states]
        values = {name: within.draw(states[j], rng) for name, (j, within) in self.numbers.items()}
        return Sample(states, values)

    def _groups_of(self, column: int, states: Codes) -> Codes:
        """Group of each record."""
        known = self.expansions.get(column)
        return states if known is None else np.asarray(known.groups)[states]

    @cached_property
    def _tables(self) -> dict[tuple[int, ...], Floats]:
        """Estimates of the fit for measured tables, and for every column."""
        alone = [(j,) for j in range(len(self.domain.sizes))]
        return {columns: self.fit.marginal(columns) for columns in [*self.fit.potentials, *alone]}

    def _draw(self, n_rows: int, rng: np.random.Generator, *, systematic: bool = True) -> States:
        """States of each column; those that were not merged are those of the fit, and no copy."""
        merged = self.fit.draw(n_rows, rng, systematic=systematic)
        if self.ranks is not None and systematic:
            merged = self.ranks.exchange_values(merged, rng)
        if self.beyond is not None and systematic:
            merged = self.beyond.choose_records(merged, rng)
        states: States = [*merged]
        placed: dict[int, NDArray[np.int32]] = {}
        for j in sorted(self.expansions, key=self.n_leaders):
            if j in self.places:
                points = self.places[j].points(merged, rng, placed)
                states[j], placed[j] = self.expansions[j].draw_placed(merged[j], rng, points)
            else:
                states[j] = self.expansions[j].draw(merged[j], rng)
        return states

    def leaders(self, column: int) -> list[int]:
        """Columns that are placed one after the other before this one, all by their places."""
        leader = self.places[column].leader if column in self.places else None
        return [] if leader is None else [*self.leaders(leader), leader]

    def n_leaders(self, column: int) -> int:
        """Return the number of leaders."""
        return len(self.leaders(column))


def merged_branches(
    noisy: ArrayLike,
    stddev: float,
    branches: Sequence[ArrayLike],
    *,
    least: float = 0.0,
    signatures: ArrayLike | None = None,
) -> Integers:
    """Groups of an unordered column with a tree: single levels, and rare ones of one branch.

    The counts of m rare levels have noise of √m deviations in their sum; a group is kept where the
    sum is at least three times that. What is left at the end is one group for each signature.

    Args:
        noisy: released counts, shape (K,).
        stddev: of their noise.
        branches: the branch that each state is in, finest branching first, each of shape (K,).
        least: records that a group has to hold besides.
        signatures: equal numbers for states that may be merged, shape (K,); all may be if None.

    Returns:
        Group of each state, numbered in the order of their first states; shape (K,).

    Example:
        >>> counts = [90.0, 9.0, 8.0, 9.0, 1.0, 2.0, -1.0, 3.0]
        >>> merged_branches(counts, 5.0, [[0, 0, 0, 0, 1, 1, 2, 2]]).tolist()
        [0, 1, 1, 1, 2, 2, 2, 2]
    """
    counts = np.asarray(noisy, dtype=np.float64)
    rules = np.zeros(len(counts), dtype=np.int64) if signatures is None else np.asarray(signatures)
    names, n_groups = np.arange(len(counts)), len(counts)
    left = np.flatnonzero(counts < max(RARE * stddev, least))
    for branch in branches:
        pairs = np.stack([np.asarray(branch)[left], rules[left]])
        _, member = np.unique(pairs, axis=1, return_inverse=True)
        sizes = np.bincount(member)
        sums = np.bincount(member, counts[left])
        kept = sums >= np.maximum(RARE * stddev * np.sqrt(sizes), least)
        names[left] = n_groups + member
        n_groups += len(sizes)
        left = left[~kept[member]]
    names[left] = n_groups + rules[left]
    return number_groups(names)
