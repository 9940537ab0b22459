"""Where in its run of merged states a record lies, as the columns beside it say.

A fit over merged states knows of an ordered column only in which run a record is. Were its place
there independent of all else, what goes together within runs would be lost, and with it much of a
strong relation between two numbers. But what a neighbour's chances are in this run and in the next
ones tells how they change along it: for a state y of a *partner*, P(y | run) is known at the middle
of each run, and is taken to be linear in between, and to go on as it came in the outer halves of
the first and of the last run. Records are spread over the places t of their run with the density

    p(t | y₁, y₂, …) ∝ Π_k P(y_k | t),

partners being taken as independent given the place, even between a few points of the run. Only the
*order* of places is used afterwards
(`understudy.models.graphical.merged_state_model.Expansion`): each state keeps its share of the
run to the record, whatever the partners are. Partners are columns of a measured table with this
one; everything here is post-processing of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats, Integers
from understudy.models.graphical.max_entropy import MaxEntropy

MOST_PARTNERS: Final = 3
POINTS: Final = 8
"""Places in a run at which the density is worked out; between them it is even."""
LEAST_INFORMATION: Final = 0.005
"""Mutual information, in nats, of a partner; less may be noise, and would hardly move a record."""
_LEAST_CHANCE: Final = 1e-9
"""Three of them multiplied are no 0 in single precision."""
_AT_ONCE: Final = 2**14

Shares = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class RunPlaces:
    """What partners say of the places of records in the runs of one column.

    Attributes:
        column: its place among all columns.
        ranks: of each of its groups along the line, −1 for one that is no run, shape (groups,).
        partners: places of other columns.
        chances: for each partner log P(state | place), shape (runs, states, `POINTS`).
    """

    column: int
    ranks: Integers
    partners: tuple[int, ...]
    chances: tuple[Floats, ...]

    @classmethod
    def of(cls, fit: MaxEntropy, column: int, runs: Sequence[int]) -> RunPlaces | None:
        """What a fit says of one column; None where no partner says anything.

        Args:
            fit: over merged states.
            column: its place.
            runs: groups of the column that are runs, in their order on the line.
        """
        if len(runs) < 2:
            return None
        pairs = {k: fit.marginal((column, k))[[*runs]] for k in _beside(fit, column)}
        told = {k: _information(pair) for k, pair in pairs.items()}
        ordered = sorted((k for k in told if told[k] > LEAST_INFORMATION), key=lambda k: -told[k])
        partners = tuple(ordered[:MOST_PARTNERS])
        if not partners:
            return None
        ranks = np.full(fit.tree.sizes[column], -1, dtype=np.int64)
        ranks[[*runs]] = np.arange(len(runs))
        masses = fit.marginal((column,))[[*runs]]
        return cls(column, ranks, partners, tuple(_log_chances(pairs[k], masses) for k in partners))

    def points(self, states: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
        """At which point of its run each record lies; 0 for records that are in no run.

        Args:
            states: merged ones of all columns, shape (columns, n).
            rng: source of random numbers.
        """
        points = np.zeros(states.shape[1], dtype=np.int32)
        ranks = self.ranks[states[self.column]]
        tables = self._tables()
        for start in range(0, len(points), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            sums = self._sums(tables, ranks[part], states[:, part])
            limits = rng.random(sums.shape[1], dtype=np.float32) * sums[-1]
            for below in sums[:-1]:
                points[part] += below <= limits
        points[ranks < 0] = 0
        return points

    def shares(self, states: NDArray[np.int32]) -> Floats:
        """Part of the records of each run at each point, before runs are evened out.

        Args:
            states: of records of a whole table, as for `points`.

        Returns:
            Shape (runs, `POINTS`), adding up to 1; even for a run without records.
        """
        ranks = self.ranks[states[self.column]]
        inside = np.flatnonzero(ranks >= 0)
        found = np.zeros((len(self.chances[0]), POINTS))
        tables = self._tables()
        for start in range(0, len(inside), _AT_ONCE):
            part = inside[start : start + _AT_ONCE]
            sums = self._sums(tables, ranks[part], states[:, part])
            np.add.at(found, ranks[part], (np.diff(sums, axis=0, prepend=0) / sums[-1]).T)
        found[found.sum(axis=1) == 0] = 1.0
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def evened(self, states: NDArray[np.int32], shares: Floats, rng: np.random.Generator) -> Floats:
        """Where each record stands among those of its run in a whole table, in (0, 1); shape (n,).

        Args:
            states: as for `points`, of any records.
            shares: of the whole table.
            rng: source of random numbers; places of records that are in no run are uniform.
        """
        points, runs = self.points(states, rng), self.ranks[states[self.column]]
        within = rng.random(len(points))
        before = np.cumsum(shares, axis=1) - shares
        stands = before[runs, points] + within * shares[runs, points]
        return np.where(runs >= 0, stands, within)

    def _tables(self) -> list[Shares]:
        return [np.exp(chances).astype(np.float32) for chances in self.chances]

    def _sums(self, tables: Sequence[Shares], ranks: Integers, states: NDArray[np.int32]) -> Shares:
        """Densities up to each point, shape (`POINTS`, records); any, of records in no run."""
        inside, told = np.maximum(ranks, 0), np.ones((len(ranks), POINTS), dtype=np.float32)
        for k, table in zip(self.partners, tables, strict=True):
            cells = inside * table.shape[1] + states[k]
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
    shares = np.maximum(pair, 0.0) / max(pair.sum(), _LEAST_CHANCE)
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    ratios = np.divide(shares, alone, out=np.ones_like(shares), where=shares > 0)
    return float((shares * np.log(ratios)).sum())


def _log_chances(pair: Floats, masses: Floats) -> Floats:
    """Log P(state | place) at the points of each run.

    Args:
        pair: records by run, in order, and by state of the partner.
        masses: records of each run.
    """
    given = np.maximum(pair, 0.0) / np.maximum(masses, _LEAST_CHANCE)[:, None]
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
    return np.asarray(np.log(np.maximum(chances, _LEAST_CHANCE)))


def _gone_on(middles: Floats, given: Floats) -> Floats:
    """Chances at place 0 by those at the middles of the first two runs, half of the first at least.

    What falls to next to nothing from one run to the next is a curve, not a line that ends below 0.
    """
    reach = middles[0] / max(float(middles[1] - middles[0]), _LEAST_CHANCE)
    return np.asarray(np.maximum(given[0] - min(reach, 1.0) * (given[1] - given[0]), given[0] / 2))
