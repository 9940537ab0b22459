"""Two numbers that follow one another, within the cells of their table in runs.

A table over runs of two columns tells how many records are in each of its cells, and nothing of
where they are in it. If one number follows the other closely, nearly all records are in a few cells
along a ridge, and the ridge is narrower than these. Spread independently within cells they would
lie beside it.

A pair has a ridge if its ranks go together (`LEAST_RANKS`). Places are ranks, from 0 to 1, in
`POINTS` parts of each run; x and y are their normal scores. What y is, given x, is taken to be a
mixture of the normal conditionals

    y | x ~ N(ρx + hσ, σ²),   σ² = 1 − ρ²,

of several correlations ρ and shifts h. One ρ alone is the normal copula; a mixture has heavier
tails, and its shifts make it skew. Each run has weights of its own, for a ridge may be wide at one
end and narrow at the other. They are fitted to the cells of the run by the EM algorithm, are drawn
a little to those of all runs, and move evenly from the middle of a run to that of the next.

Either column says so how places of both go together, and the mean of both tables is taken. It is
raked to the cells of the table in runs, and to even places in every run: **what was measured
stays**. A small part is spread evenly within cells, so that no place is impossible. All of this is
post-processing of the table.

Sources: Sklar (1959) for copulas; Dempster, Laird & Rubin (1977) for the EM algorithm; Deming &
Stephan (1940) for raking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from understudy._arrays import Floats
from understudy.graphical.estimation import MaxEntropy

POINTS: Final = 8
"""Places in a run at which a density is worked out; between them it is even."""
LEAST_RANKS: Final = 0.8
"""Correlation of ranks, in size, from which on a pair has a ridge."""
MOST_RUNS: Final = 64
"""A table of more runs shows by itself where its ridge is."""
LEAST_CHANCE: Final = 1e-9
"""Three of them multiplied are no 0 in single precision."""
EVEN: Final = 0.02
"""Part of the records of a cell that are spread evenly in it."""
_CORRELATIONS: Final = (0.0, *np.tanh(np.linspace(0.5, 4.0, 8)))
_SHIFTS: Final = (-1.0, 0.0, 1.0)
_POOLED: Final = 0.02  # weight of all runs in those of one, in records of a mean run
_STEPS: Final = 60
_SWEEPS: Final = 20
_TINY: Final = 1e-300


@dataclass(frozen=True, eq=False)
class Ridge:
    """Dependence between the places of two columns that follow one another.

    Attributes:
        places: records at each two places, of this column and of its partner (`place_along`).
        runs: groups of the partner that are runs, in their order on the line.
    """

    places: Floats
    runs: tuple[int, ...]

    def log_chances(self, otherwise: Floats, *, with_points: bool) -> Floats:
        """Log P(state of the partner | place), or of its state and point.

        Args:
            otherwise: for states that are no runs, without a ridge; shape (runs, states, `POINTS`).
            with_points: whether of each point of the partner.

        Returns:
            Shape (runs, states, `POINTS`), or (runs, states · `POINTS`, `POINTS`).
        """
        n_runs, n_states, _ = otherwise.shape
        found = np.repeat(np.exp(otherwise)[:, :, None] / POINTS, POINTS, axis=2)
        others = [state for state in range(n_states) if state not in self.runs]
        left = 1 - found[:, others].sum(axis=(1, 2))
        told = self.places.reshape(n_runs, POINTS, len(self.runs), POINTS).transpose(0, 2, 3, 1)
        held = np.maximum(told.sum(axis=(1, 2)), LEAST_CHANCE)
        found[:, [*self.runs]] = told * (np.maximum(left, 0.0) / held)[:, None, None]
        if not with_points:
            found = found.sum(axis=2)
        return np.log(np.maximum(found, LEAST_CHANCE)).reshape(n_runs, -1, POINTS)


def find_ridges(
    fit: MaxEntropy, runs: Mapping[int, Sequence[int]]
) -> tuple[dict[int, dict[int, Ridge | None]], dict[int, int]]:
    """Find the ridges of columns that were measured in one table, and by which to place each.

    Args:
        fit: over merged states.
        runs: by place of a column, its groups that are runs, in their order on the line.

    Returns:
        By place of a column, its ridges by place of the partner, None for one by which neither is
        placed; and the leaders, as `choose_leaders` gives them.
    """
    tables = [sorted(runs.keys() & {*table}) for table in fit.layout.tables]
    ranks: dict[int, dict[int, float]] = {}
    pairs: dict[tuple[int, int], Floats] = {}
    for j, k in sorted({pair for table in tables for pair in combinations(table, 2)}):
        pair = np.maximum(fit.marginal((j, k))[np.ix_(runs[j], runs[k])], 0.0)
        if has_ridge(pair):
            pairs[j, k], pairs[k, j] = pair, pair.T
            close = abs(rank_correlation(pair))
            ranks.setdefault(j, {})[k] = ranks.setdefault(k, {})[j] = close
    leaders = choose_leaders(ranks)
    found: dict[int, dict[int, Ridge | None]] = {j: dict.fromkeys(own) for j, own in ranks.items()}
    for j, k in leaders.items():
        places = place_along(pairs[j, k])
        found[j][k] = Ridge(places, (*runs[k],))
        found[k][j] = Ridge(places.T, (*runs[j],))
    return found, leaders


def choose_leaders(ranks: Mapping[int, Mapping[int, float]]) -> dict[int, int]:
    """Choose by which partner's place each column is placed: a spanning forest of closest ridges.

    Args:
        ranks: correlation of ranks, in size, of columns with a ridge, by place of either.

    Returns:
        Place of the leader by place of a column; none for the first of each tree.
    """
    leaders: dict[int, int] = {}
    placed: set[int] = set()
    while left := ranks.keys() - placed:
        steps = [(ranks[j][k], j, k) for j in left for k in ranks[j].keys() & placed]
        if steps:
            _, column, leader = max(steps)
            leaders[column] = leader
        else:
            column = max(left, key=lambda j: (sum(ranks[j].values()), -j))
        placed.add(column)
    return leaders


def has_ridge(pair: Floats) -> bool:
    """Tell whether ranks go together enough in a table of records over runs of two columns."""
    sizes = sorted(pair.shape)
    return sizes[0] >= 2 and sizes[1] <= MOST_RUNS and abs(rank_correlation(pair)) >= LEAST_RANKS


def rank_correlation(pair: Floats) -> float:
    """Correlation of ranks in a table of two columns in order; 0 where one has a single state.

    Args:
        pair: records in each cell, none negative.
    """
    shares = pair / max(pair.sum(), _TINY)
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    left, right = (np.cumsum(one) - one / 2 - 0.5 for one in (rows, columns))
    squares = float((rows @ left**2) * (columns @ right**2))
    return float(left @ shares @ right) / squares**0.5 if squares > _TINY else 0.0


def place_along(pair: Floats) -> Floats:
    """Tell how places within runs of two columns with a ridge go together.

    Args:
        pair: records in each cell, none negative, over runs of both columns in their order.

    Returns:
        Records at each two places, shape (runs · `POINTS`, runs · `POINTS`). They add up to the
        cells of the pair, and are as many at each place of a run.
    """
    total, sign = float(pair.sum()), float(np.sign(rank_correlation(pair)))
    cells = pair / total
    found = (_given_rows(cells, sign) + _given_rows(cells.T, sign).T) / 2
    even = np.kron(cells, np.full((POINTS, POINTS), 1 / POINTS**2))
    return total * _rake((1 - EVEN) * found + EVEN * even, cells)


def _given_rows(cells: Floats, sign: float) -> Floats:
    """Share at each two places, by a mixture for each run of the rows."""
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    fine = np.stack([_conditional(rows, columns, sign * r, h) for r, h in _components()])
    coarse = fine.reshape(len(fine), len(rows), POINTS, len(columns), POINTS)
    coarse = coarse.mean(axis=2).sum(axis=3)
    weights = np.full((1, len(fine)), 1 / len(fine))
    prior = np.zeros_like(weights)
    for of_all in (True, False):
        for _ in range(_STEPS):
            mixed = np.einsum(
                "rk,krc->rc", np.broadcast_to(weights, (len(rows), len(fine))), coarse
            )
            held = weights * np.einsum("rc,krc->rk", cells / np.maximum(mixed, _TINY), coarse)
            held = held.sum(axis=0, keepdims=True) if of_all else held + prior
            weights = held / held.sum(axis=1, keepdims=True)
        prior = weights * _POOLED / len(rows) if of_all else prior
    middles = np.cumsum(rows) - rows / 2
    between = np.stack([np.interp(_places(rows), middles, own) for own in weights.T])
    return np.asarray(np.einsum("kp,kpq->pq", between, fine) * _spread(rows)[:, None])


def _components() -> list[tuple[float, float]]:
    """Correlations and shifts; one alone if nothing goes together."""
    return [(r, h) for r in _CORRELATIONS for h in (_SHIFTS if r else (0.0,))]


def _conditional(rows: Floats, columns: Floats, correlation: float, shift: float) -> Floats:
    """Share of each place of the columns, by place of the rows."""
    from scipy.special import ndtri  # a plan needs none of it

    x, y = (ndtri(np.clip(_places(one), 1e-6, 1 - 1e-6)) for one in (rows, columns))
    deviation = (1 - correlation**2) ** 0.5
    z = (y - correlation * x[:, None]) / deviation - shift
    log = (y**2 - z**2) / 2
    shares = np.exp(log - log.max(axis=1, keepdims=True)) * _spread(columns)
    return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), _TINY))


def _places(masses: Floats) -> Floats:
    """The middle of each place."""
    along = (np.arange(POINTS) + 0.5) / POINTS - 1
    return np.asarray((np.cumsum(masses)[:, None] + along * masses[:, None]).ravel())


def _spread(masses: Floats) -> Floats:
    """Share of each place."""
    return np.repeat(masses, POINTS) / POINTS


def _rake(found: Floats, cells: Floats) -> Floats:
    """The shares raked to even places of every run, and to the cells."""
    rows, columns = _spread(cells.sum(axis=1)), _spread(cells.sum(axis=0))
    by_cell = found.reshape(len(cells), POINTS, -1, POINTS)
    for _ in range(_SWEEPS):
        found *= (rows / np.maximum(found.sum(axis=1), _TINY))[:, None]
        found *= columns / np.maximum(found.sum(axis=0), _TINY)
        held = by_cell.sum(axis=(1, 3))
        by_cell *= (cells / np.maximum(held, _TINY))[:, None, :, None]
    return found
