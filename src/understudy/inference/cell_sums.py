"""What noisy counts of cells say of the sums of second moments, and how all of it is put together.

The counts y of a table are sums over records, as the released numbers f of second moments are. As
far as y tells f it is linear: Hy' = Tf + noise of covariance R, with H the weights of cells and T
what the weighted counts are of the numbers. f is known with noise of covariance C, and that is
independent of R, as each measurement was paid for by itself. Generalised least squares is

    f̂ = f + K(Hy − Tf),   K = CT'(TCT' + R + D)⁻¹,
    f̂ − f* = (I − KT)(f − f*) + K·noise + K·o,   Ĉ = (I − KT)C(I − KT)' + KRK',

f* the true numbers. The second line holds for every K, so the variance is right whatever D is; for
D = 0, K has the least variance of all that are unbiased. A further measurement starts from f̂ and Ĉ.
With the noise of each independent of all before, this is the estimate from all at once.

**Cells in which a number lies anywhere.** Then Hy is off by some o with |o| ≤ b, known from the
half-widths of cells and the counts. D = diag(b²) makes it count for less, and what is left, |K|·b,
is a bound that every answer carries (`MomentMatrix.bound_hidden`). Alone, beside a number with
variance c that is measured without noise otherwise, K = c/(c + b²), and both together have the
half-width

    z·√c·t/(1 + t) + √c·√t/(1 + t),   t = b²/c,

which is less than z·√c just where √t < z. So what has b ≥ z·√c is left out: it would make intervals
wider.

**A table of several columns** tells sums and products of their scores, those of one and of two
columns at a time. Over its cells a function of a column that is a combination of its scores, times
one of another, has as its sum that combination of the released products. Where states are merged,
the functions are those that do not differ within a group: of levels these are combinations of
contrasts, with mean 0 over the states, so that a record out of domain counts 0 in both. Merged
levels say less, and nothing false. Of a number merged cells are wide ones.

The choice of a table may rest on earlier noise, as methods choose those that their fit misses. The
noise of the chosen table is independent of that choice, so Ĉ is right over all releases, and for
those with one certain choice nearly.

Sources: Aitken (1935), Proc. Roy. Soc. Edinburgh 55, 42-48; the update is that of Kalman (1960), J.
Basic Engineering 82, 35-45, with the covariance of Joseph for any gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from understudy._arrays import Z_95, Floats, Integers
from understudy.features.grids import Numeric
from understudy.features.scores import UNIT
from understudy.inference.noisy_tables import Counts, marginal
from understudy.inference.second_moments import MomentMatrix
from understudy.release.measurement import Measurement
from understudy.schema import NUMERIC, Schema

_FIRMLY = 2.0  # standard deviations that a sum may be larger than it seems
_EXACT = 1e-9  # of 1, that a function of merged states may miss


@dataclass(frozen=True, eq=False)
class Said:
    """What counts say of released numbers: `values` = `tells` · numbers + noise, nearly.

    Attributes:
        entries: released numbers, none twice, shape (k,).
        tells: weights of these, shape (rows, k).
        values: what the counts say, shape (rows,).
        noise: covariance, shape (rows, rows).
        off: how far each may lie off, shape (rows,).
    """

    entries: Integers
    tells: Floats
    values: Floats
    noise: Floats
    off: Floats


@dataclass(frozen=True, eq=False)
class JoinedSums:
    """What is known of some released numbers.

    Attributes:
        entries: released numbers, ascending, shape (k,).
        values: f, shape (k,).
        noise: C, shape (k, k).
        off: how far each may lie off, by what cells leave open, shape (k, sums).
    """

    entries: Integers
    values: Floats
    noise: Floats
    off: Floats

    @classmethod
    def of(cls, matrix: MomentMatrix, said: Sequence[Said]) -> JoinedSums:
        """By second moments alone, with independent noise, and all that is said of their numbers.

        Args:
            matrix: second moments.
            said: by counts; what is said without bias is best first.
        """
        entries = np.unique(np.concatenate([one.entries for one in said])).astype(np.int64)
        noise = np.diag(matrix.variances[entries])
        found = cls(entries, matrix.numbers[entries], noise, np.zeros((len(entries), 0)))
        for one in said:
            found = found.improve(one)
        return found

    def improve(self, one: Said) -> JoinedSums:
        """With what counts say that make intervals narrower.

        Args:
            one: of numbers that are among the entries.
        """
        tells = np.zeros((len(one.values), len(self.entries)))
        tells[:, np.searchsorted(self.entries, one.entries)] = one.tells
        mixed = tells @ self.noise
        before = np.einsum("rk,rk->r", mixed, tells)
        used = one.off <= Z_95 * np.sqrt(np.maximum(before, 0.0))
        if not used.any():
            return self
        tells, mixed, off = tells[used], mixed[used], one.off[used]
        spread = mixed @ tells.T + one.noise[np.ix_(used, used)]
        # What is known without noise from both may leave no spread.
        gain = mixed.T @ np.linalg.pinv(spread + np.diag(off**2), hermitian=True)
        left = self.noise - gain @ mixed - mixed.T @ gain.T + gain @ spread @ gain.T
        open_ = off > 0
        return JoinedSums(
            self.entries,
            self.values + gain @ (one.values[used] - tells @ self.values),
            (left + left.T) / 2,
            np.hstack([self.off - gain @ (tells @ self.off), gain[:, open_] * off[open_]]),
        )


def table_sums(
    matrix: MomentMatrix, table: Measurement, columns: Sequence[str], schema: Schema
) -> Said | None:
    """What the counts of a table say of the sums and products of the scores of some columns.

    Args:
        matrix: second moments of at least these columns, of all records.
        table: a full table over these and perhaps others, in the schema's own bins.
        columns: names.
        schema: of the release.

    Returns:
        None where it says nothing.
    """
    counted = marginal(table, columns, schema)
    axes = [_axis(matrix, table, name, schema) for name in columns]
    chosen = [
        places
        for places in product(*(range(axis.values.shape[1]) for axis in axes))
        if 1 <= np.count_nonzero(places) <= 2 and _is_released(axes, places)
    ]
    if not chosen:
        return None
    rows = np.ones((len(chosen), 1))
    most = np.ones((len(chosen), 1))
    for axis, place in zip(axes, np.array(chosen).T, strict=True):
        own, reach = axis.values[:, place].T, axis.reach[:, place].T
        rows = (rows[:, :, None] * own[:, None, :]).reshape(len(chosen), -1)
        most = (most[:, :, None] * (np.abs(own) + reach)[:, None, :]).reshape(len(chosen), -1)
    tells = np.zeros((len(chosen), len(matrix.numbers)))
    for row, places in zip(tells, chosen, strict=True):
        used = [(axis, place) for axis, place in zip(axes, places, strict=True) if place]
        if len(used) == 1:
            used.insert(0, (used[0][0], 0))
        (one, first), (other, second) = used
        if other.is_square(second):
            row[other.square] = 1
            continue
        left, right = one.weights[first], other.weights[second]
        source = matrix.basis.source[np.ix_(np.flatnonzero(left), np.flatnonzero(right))]
        np.add.at(row, source, np.multiply.outer(left[left != 0], right[right != 0]))
    entries = np.flatnonzero(tells.any(axis=0))
    return Said(
        entries=entries,
        tells=tells[:, entries],
        values=rows @ counted.counts,
        noise=covariance_of(rows, counted),
        off=np.array([most_of(row, counted) for row in most - np.abs(rows)]),
    )


@dataclass(frozen=True, eq=False)
class _Axis:
    """Functions of the states of a column, in the cells of a table; the first is 1 for all.

    Attributes:
        values: of each function in each state, shape (states, functions).
        weights: of the constant and the scores in each function, shape (functions, s + 1).
        reach: how far values may differ from those, shape (states, functions).
        square: the released number of the square that the last function is; −1 if it is none.
    """

    values: Floats
    weights: Floats
    reach: Floats
    square: int

    def is_square(self, place: int) -> bool:
        """Return whether a function is that of the square of a number."""
        return self.square >= 0 and place == self.values.shape[1] - 1


def _is_released(axes: Sequence[_Axis], places: Sequence[int]) -> bool:
    """Return whether products of functions are combinations of what was released."""
    squares = any(axis.is_square(place) for axis, place in zip(axes, places, strict=True))
    return not squares or np.count_nonzero(places) == 1


def _axis(matrix: MomentMatrix, table: Measurement, name: str, schema: Schema) -> _Axis:
    scores, column = matrix.scores, schema.columns[name]
    places = np.array(scores.places(name), dtype=np.int64) + 1
    states = scores.tables[name][: column.size] / UNIT
    group_of = np.array(table.groups.get(name, range(column.size)))
    numeric, merged = isinstance(column, NUMERIC), name in table.groups
    levels, own = (states[:, 1:], places[1:]) if numeric else (states, places)
    told, solved = _unmerged(levels, group_of, merged, numeric=numeric)
    if not numeric and len(own) == column.size and not merged:
        told, solved = told[:, :-1], solved[:-1]  # indicators of all states, that add up to 1
    values = np.column_stack([np.ones(len(told)), told])
    weights = np.zeros((values.shape[1], len(scores) + 1))
    weights[0, 0] = 1
    weights[1:, own] = solved
    reach, square = np.zeros_like(values), -1
    if isinstance(column, NUMERIC) and not _mixes(column, group_of):
        middle, half, present = _numbers(column, group_of, *scores.limits[name])
        far = 2 * half * (2 * np.abs(middle) + half)
        values = np.column_stack([values, middle, 2 * middle**2 - present])
        reach = np.column_stack([reach, half, far])
        weights = np.vstack([weights, np.zeros((2, weights.shape[1]))])
        weights[-2, places[0]] = 1
        square = matrix.basis.squares[matrix.basis.place[name, None]]
    return _Axis(values, weights, reach, square)


def _unmerged(
    scores: Floats, group_of: Integers, merged: bool, *, numeric: bool
) -> tuple[Floats, Floats]:
    """Combinations of scores that do not differ within groups of states.

    Args:
        scores: of each state, shape (states, m).
        group_of: group of each state.
        merged: whether a group has several states.
        numeric: whether scores are of codes and bins, with values of 0 elsewhere.

    Returns:
        Their values by group, shape (groups, functions), and weights, shape (functions, m).
    """
    told = scores.any(axis=0)
    if not merged:
        return scores[:, told], np.eye(scores.shape[1])[told]
    wanted = np.equal.outer(group_of, np.arange(group_of.max() + 1)).astype(np.float64)
    if not numeric:  # means of 0, as contrasts have, which leave one of them to the others
        wanted = (wanted - wanted.mean(axis=0))[:, :-1]
    solved, *_ = np.linalg.lstsq(scores, wanted, rcond=None)
    made = scores @ solved
    # Scores are rounded, so that what they make may differ a little within groups.
    fits = (np.abs(made - wanted).max(axis=0) < len(scores) * 2 / UNIT) & wanted.any(axis=0)
    first = np.unique(group_of, return_index=True)[1]
    return wanted[first][:, fits], solved.T[fits]


def _mixes(column: Numeric, group_of: Integers) -> bool:
    """Return whether a group of states has codes and numbers."""
    return bool(np.isin(group_of[: column.n_ordinary], group_of[column.n_ordinary :]).any())


def _numbers(
    column: Numeric, group_of: Integers, low: float, high: float
) -> tuple[Floats, Floats, Floats]:
    """Middle and half the width of each group of states, in scores, and whether it has numbers."""
    k, n_groups = column.n_ordinary, int(group_of.max()) + 1
    middle, half = positions(column, low, high)
    least, largest = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(least, group_of[:k], middle - half)
    np.maximum.at(largest, group_of[:k], middle + half)
    present = np.isfinite(least)
    least[~present] = largest[~present] = 0.0
    return (least + largest) / 2, (largest - least) / 2, present.astype(np.float64)


def positions(cells: Numeric, low: float, high: float) -> tuple[Floats, Floats]:
    """Middle and half the width of each ordinary cell, in scores, cut off at limits.

    Args:
        cells: of a column of numbers.
        low: limit.
        high: limit.
    """
    whole = np.array([(cell.low, cell.high) for cell in cells.intervals], dtype=np.float64)
    ends = np.clip(whole, low, high)
    scaled = (2 * ends - low - high) / (high - low or 1.0)  # one value alone has the score 0
    return scaled.mean(axis=1), np.diff(scaled, axis=1)[:, 0] / 2


def most_of(row: Floats, table: Counts) -> float:
    """A sum over the records that is not negative, or a bit more if noise may have hidden it.

    Args:
        row: weights of cells, none below 0, shape (cells,).
        table: counts of them.
    """
    if not row.any():
        return 0.0
    error = float(np.sqrt(covariance_of(row[None], table)[0, 0]))
    return max(float(row @ table.counts), 0.0) + _FIRMLY * error


def covariance_of(rows: Floats, table: Counts) -> Floats:
    """Of the noise in sums of counts, shape (k, k).

    Args:
        rows: weights of cells, shape (k, cells).
        table: counts of them.
    """
    if table.sources is None:
        return np.asarray((rows * table.variances) @ rows.T)
    mixed = rows @ table.sources.mix
    return np.asarray((mixed * table.sources.variances) @ mixed.T)
