"""The second moments that a release has of some columns, with what its noisy tables say of them.

The noisy counts of fine cells of a column of numbers (`inference.number_line`) tell how many
records there are, the sum of the number and of its square, and how many have each code and lie in
each bin. Second moments have these sums too, with noise of their own. So have tables of several
columns, their states merged or not, and tables of levels tell sums of contrasts (`refine_matrix`).
Values out of domain are in no cell of a line, but have a sum of their own.

**How all of it is put together.** The counts y of a table are sums over records, as the released
numbers f of second moments are. As far as y tells f it is linear: Hy' = Tf + noise of covariance R,
with H the weights of cells and T what the weighted counts are of the numbers. f is known with noise
of covariance C, and that is independent of R, as each measurement was paid for by itself.
Generalised least squares is

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from understudy._arrays import Z_95, Floats, Integers
from understudy.features.grids import LineCells, Numeric, coarse_states, find_limits, is_finer
from understudy.features.scores import UNIT, Limits
from understudy.inference.noisy_tables import (
    NoisyCounts,
    covers,
    line_of,
    line_schema,
    line_table,
    marginal,
    pooled_table,
)
from understudy.inference.second_moments import (
    MomentMatrix,
    MomentSource,
    Together,
    improve,
    joined_matrix,
)
from understudy.release.measurement import Measurement
from understudy.release.release import Release, once
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Schema


class NumberCounts:
    """Information of the cells of columns of numbers about the sums of second moments.

    Args:
        measurements: of a release.
        schema: of the release.
    """

    def __init__(self, measurements: Sequence[Measurement], schema: Schema) -> None:
        self._measurements, self._schema = measurements, schema
        self._known: dict[str, tuple[NoisyCounts, Numeric] | None] = {}

    def put_to(self, matrix: MomentMatrix, said: Sequence[Said] = ()) -> MomentMatrix:
        """The matrix with the sums of its columns of numbers as counts of cells tell them too.

        Args:
            matrix: second moments; those of some records alone stay as they are.
            said: what other counts, with noise of their own, say of the same numbers.
        """
        if matrix.scores.complete:
            return matrix
        every = list(said)
        for name in matrix.scores.columns:
            column = self._schema.columns[name]
            if isinstance(column, NUMERIC):
                counted = self._of(name)
                if counted is not None:
                    every.append(_told_by_numbers(matrix, name, column, *counted))
        if not every:
            return matrix
        joined = JoinedSums.of(matrix, every)
        numbers, variances = matrix.numbers.copy(), matrix.variances.copy()
        numbers[joined.entries], variances[joined.entries] = joined.values, np.diag(joined.noise)
        together = Together(joined.entries, joined.noise, joined.off)
        return replace(matrix, numbers=numbers, variances=variances, together=together)

    def _of(self, name: str) -> tuple[NoisyCounts, Numeric] | None:
        """Counts of the cells of a column, and their column; None where nothing counts them."""
        if name not in self._known:
            self._known[name] = _counts(self._measurements, self._schema, name)
        return self._known[name]


def counted_mean(
    measurements: Sequence[Measurement], schema: Schema, name: str
) -> tuple[float, float] | None:
    """The mean of a column by counts of its cells alone, and the standard deviation of its noise.

    Numbers count as the middles of their cells.

    Args:
        measurements: of a release.
        schema: of the release.
        name: of the column.

    Returns:
        None where nothing counts them, or they seem to be none.
    """
    counted = _counts(measurements, schema, name)
    if counted is None:
        return None
    table, cells = counted
    k = cells.n_ordinary
    rows = np.zeros((2, cells.size))
    rows[0, :k] = [(one.low + one.high) / 2 for one in cells.intervals]
    rows[1, :k] = 1
    total, size = rows @ table.counts
    if size < 1:
        return None
    mean = float(total / size)
    off = np.array([[1.0, -mean]]) @ rows
    return mean, float(np.sqrt(covariance_of(off, table)[0, 0]) / size)


def bound_excess(
    measurements: Sequence[Measurement], schema: Schema, name: str, bound: float
) -> float | None:
    """Bound the sum of what numbers of a column are above a bound, by counts of its cells.

    Each counts as the upper end of its cell. The counts are noisy, of sensitivity 1 a cell, and the
    sum is taken two standard deviations of its noise higher.

    Args:
        measurements: of a release.
        schema: of the release.
        name: of the column.
        bound: above which numbers are cut off.

    Returns:
        None where nothing counts them.
    """
    counted = _counts(measurements, schema, name)
    if counted is None:
        return None
    table, cells = counted
    row = np.zeros(cells.size)
    ends = np.array([float(one.high) for one in cells.intervals])
    row[: cells.n_ordinary] = np.maximum(ends - bound, 0.0)
    return most_of(row, table)


def _counts(
    measurements: Sequence[Measurement], schema: Schema, name: str
) -> tuple[NoisyCounts, Numeric] | None:
    """Counts of the cells of a column, from its line and its own tables; None without either."""
    line = line_of(measurements, name)
    tables = [one for one in measurements if one.columns == (name,) and covers(one, [name])]
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    if line is not None:
        cells = line_schema(line, schema).columns[name]
        assert isinstance(cells, NUMERIC)
        if is_finer(cells, column):
            return line_table(line, tables, schema), cells
    if not tables:
        return None
    return pooled_table([marginal(one, (name,), schema) for one in tables]), column


def _told_by_numbers(
    matrix: MomentMatrix, name: str, column: Numeric, table: NoisyCounts, cells: Numeric
) -> Said:
    """Read from counts what they say of the sums of one column."""
    scores, source = matrix.scores, matrix.basis.source
    places = np.array(scores.places(name), dtype=np.int64)
    states = scores.tables[name] / UNIT
    weights = states[coarse_states(cells, column)]
    middle, reach = positions(cells, *scores.limits[name])
    k = cells.n_ordinary
    weights[:k, 0] = middle
    out = np.flatnonzero(states[-1] > 0)
    told = np.setdiff1d(np.arange(len(places)), out)
    number = matrix.basis.place[name, None]
    square, present = np.zeros(cells.size), np.arange(cells.size) < k
    square[:k] = 2 * middle**2
    square -= present
    rows = np.vstack([weights[:, told].T, square, np.ones(cells.size)])
    wide = np.zeros((2, cells.size))
    wide[0, :k], wide[1, :k] = reach, 2 * reach * (2 * np.abs(middle) + reach)
    off = np.zeros(len(rows))
    off[[0, -2]] = [most_of(row, table) for row in wide]
    entries = np.append(source[0, places[told] + 1], [matrix.basis.squares[number], source[0, 0]])
    tells = np.eye(len(entries))
    if len(out):  # which are no cell of a line
        entries = np.append(entries, source[0, places[out[0]] + 1])
        tells = np.column_stack([tells, -tells[:, -1]])
    return Said(entries, tells, rows @ table.counts, covariance_of(rows, table), off)


_RECENT = 32  # matrices that are kept: several kinds of questions are asked of the same columns
_CLEARLY = 4.0  # standard deviations
_CENTRED = 0.01  # of the sum of scores over the states, which are rounded


class MeasuredMoments:
    """All that a release knows of second moments; what no question changes is worked out once.

    Args:
        measurements: of a release.
        schema: of the release.
        n: number of records, and the standard deviation of the noise in it.
    """

    def __init__(
        self, measurements: Sequence[Measurement], schema: Schema, n: tuple[float, float]
    ) -> None:
        self._measurements, self._schema, self._n = measurements, schema, n
        self._counts = NumberCounts(measurements, schema)
        self._recent: dict[frozenset[str], MomentMatrix | None] = {}

    @cached_property
    def _sources(self) -> tuple[MomentSource, ...]:
        products = (one for one in self._measurements if one.kind is Kind.PRODUCTS)
        return tuple(MomentSource.of(one, self._schema) for one in products)

    def matrix(self, columns: Sequence[str]) -> MomentMatrix | None:
        """The second moments of some columns, from all that has them; None if there are none.

        Those of the very records that have a value of each column are taken first; else those of
        all.

        Args:
            columns: of the question.
        """
        asked, recent = frozenset(columns), dict(self._recent)
        if asked not in recent:
            recent[asked] = self._join_matrix(columns)
            kept = [*recent.items()][-_RECENT:]
            self._recent = dict(kept)  # a whole new one, as another thread may ask as well
        return recent[asked]

    def _join_matrix(self, columns: Sequence[str]) -> MomentMatrix | None:
        matrix = joined_matrix(self._sources, self._schema, columns, self._n)
        if matrix is None:
            return None
        refined = refine_matrix(matrix, self._measurements, self._schema)
        tables = joint_tables(refined, self._measurements, self._schema)
        return self._counts.put_to(refined, [said for _, said in tables])


def matrix_of(release: Release, columns: Sequence[str]) -> MomentMatrix | None:
    """The second moments of some columns, as `MeasuredMoments` has them.

    Args:
        release: that is asked.
        columns: of the question.
    """
    return _moments(release).matrix(columns)


@once
def _moments(release: Release) -> MeasuredMoments:
    about = float(release.manifest.n_rows), release.manifest.inference.rows_stddev
    return MeasuredMoments(release.measurements, release.schema, about)


def moments_of(
    measurements: Sequence[Measurement],
    schema: Schema,
    columns: Sequence[str],
    n: tuple[float, float],
) -> MomentMatrix | None:
    """The same, of measurements that no release has yet.

    Args:
        measurements: that were made.
        schema: of the release.
        columns: of the question.
        n: number of records, and the standard deviation of the noise in it.
    """
    return MeasuredMoments(measurements, schema, n).matrix(columns)


def refine_matrix(
    matrix: MomentMatrix, measurements: Sequence[Measurement], schema: Schema
) -> MomentMatrix:
    """The matrix with sums of scores averaged with those that tables of one or two levels have.

    A full table tells sums and products of the scores of one or two columns of levels as well, with
    noise of its own: contrasts are orthogonal over its cells, so that it is independent. The mean
    by precision has less. Cells that cannot occur have no noise, and are counted as if they had it.
    Of records that must have a value of some columns, tables of all of these tell, by their cells
    with such values.

    Args:
        matrix: second moments.
        measurements: of the release.
        schema: of the release.
    """
    numbers, variances = matrix.numbers.copy(), matrix.variances.copy()
    needed = set(matrix.scores.complete)
    for table, columns in _shared_tables(matrix, measurements):
        whole = _is_of_levels(table, columns, schema) or (needed and _is_whole(table, columns))
        if not whole or not needed <= set(columns) or _is_of_a_number(table, schema):
            continue
        for entries, values, factors in _told_by_levels(matrix, table, columns, schema):
            noise = factors * table.stddev**2
            improve(numbers, variances, entries.ravel(), values.ravel(), noise.ravel())
    return replace(matrix, numbers=numbers, variances=variances)


def joint_tables(
    matrix: MomentMatrix, measurements: Sequence[Measurement], schema: Schema
) -> Iterator[tuple[Measurement, Said]]:
    """Return what tables say beside `refine_matrix`: of numbers, merged states and three columns.

    Args:
        matrix: second moments; nothing is said of those of some records alone.
        measurements: of the release.
        schema: of the release.
    """
    if matrix.scores.complete:
        return
    for table, columns in _shared_tables(matrix, measurements):
        if _is_of_levels(table, columns, schema) or _is_of_a_number(table, schema):
            continue
        said = table_sums(matrix, table, columns, schema)
        if said is not None:
            yield table, said


def _shared_tables(
    matrix: MomentMatrix, measurements: Sequence[Measurement]
) -> Iterator[tuple[Measurement, tuple[str, ...]]]:
    """Tables with the columns that they share with a matrix, but for those in other bins.

    Left out are tables that clearly lack records that are out of domain in others of their columns.
    """
    for table in measurements:
        columns = tuple(
            name
            for name in table.columns
            if name in matrix.scores.columns and name not in table.bins
        )
        whole = table.kind is Kind.TABLE and not table.family.is_truncated
        lacks = len(table.columns) > 1 and table.outside > _CLEARLY * table.stddev
        if columns and whole and not lacks:
            yield table, columns


def _is_of_a_number(table: Measurement, schema: Schema) -> bool:
    """Return whether a table is of one column of numbers, which `NumberCounts` has."""
    return len(table.columns) == 1 and isinstance(schema.columns[table.columns[0]], NUMERIC)


def _is_whole(table: Measurement, columns: Sequence[str]) -> bool:
    """Return whether a table has all states of one or two columns."""
    return len(columns) <= 2 and not set(columns) & set(table.groups)


def _is_of_levels(table: Measurement, columns: Sequence[str], schema: Schema) -> bool:
    """Return whether a table has all states of one or two columns of levels."""
    numeric = any(isinstance(schema.columns[name], NUMERIC) for name in columns)
    return _is_whole(table, columns) and not numeric


def _told_by_levels(
    matrix: MomentMatrix, table: Measurement, columns: Sequence[str], schema: Schema
) -> Iterator[tuple[Integers, Floats, Floats]]:
    """Released numbers that a table tells as well: which, what it says, and its noise in them.

    Noise is in variances of that in a cell. No cell tells a number, or what is out of domain. Where
    the scores of a column are not centred, as indicators are not, the sums of the other column's
    would share noise with the products, and are left to them.
    """
    scores, source = matrix.scores, matrix.basis.source
    counted = marginal(table, columns, schema)
    counts = counted.counts.reshape([schema.columns[name].size for name in columns])
    behind = table.domain(schema).n_cells / counts.size  # cells of the table in each of these
    states, places = [], []
    for axis, name in enumerate(columns):
        column, own = schema.columns[name], np.array(scores.places(name), dtype=np.int64)
        k = column.n_ordinary if name in scores.complete else column.size
        values = scores.tables[name][:k]
        told = ~np.isin(own, scores.numbers) & values.any(axis=0)
        states.append(values[:, told] / UNIT)
        places.append(own[told] + 1)
        counts = counts.take(np.arange(k), axis=axis)
    squares = [(state**2).sum(axis=0) for state in states]
    if len(places) == 1:
        yield source[0, places[0]], states[0].T @ counts, behind * squares[0]
        return
    (left, right), (first, second), k_cells = states, places, counts.shape
    yield source[np.ix_(first, second)], left.T @ counts @ right, behind * np.outer(*squares)
    if _is_centred(right):
        yield source[0, first], left.T @ counts.sum(axis=1), behind * k_cells[1] * squares[0]
    if _is_centred(left):
        yield source[0, second], right.T @ counts.sum(axis=0), behind * k_cells[0] * squares[1]


def _is_centred(states: Floats) -> bool:
    return bool((np.abs(states.sum(axis=0)) < _CENTRED).all())


def limits_of(release: Release) -> Limits:
    """Where a release cuts numbers off for second moments; by its number lines, if it has none.

    Args:
        release: that is published.
    """
    moments = [one for one in release.measurements if one.kind is Kind.PRODUCTS]
    if moments:
        return {name: ends for one in moments for name, ends in one.limits.items()}
    found = dict[str, tuple[float, float]]()
    for name in release.schema.names:
        line = line_of(release.measurements, name)
        if line is not None:
            cells = LineCells.of(line.bin_schema(release.schema), name)
            counts = line.counts.astype(np.float64)
            limits = find_limits(counts, line.stddev, cells, release.manifest.n_rows)
            found |= {name: limits} if limits else {}
    return found


RULE = "moments"
MEASURED = "second moments were measured of the values themselves, with known noise"
REASON = f"{MEASURED}; sampling and noise are both counted"
_FIRMLY = 2.0  # standard deviations that a sum may be larger than it seems
_EXACT = 1e-9  # of 1, that a function of merged states may miss


@dataclass(frozen=True, eq=False)
class Said:
    """Statements of counts about released numbers: `values` = `tells` · numbers + noise, nearly.

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
    """Estimates of some released numbers.

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
    """Return what the counts of a table say of the sums and products of the scores of some columns.

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
    told, solved = _split_scores(levels, group_of, merged, numeric=numeric)
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


def _split_scores(
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


def most_of(row: Floats, table: NoisyCounts) -> float:
    """A sum over the records that is not negative, or a bit more if noise may have hidden it.

    Args:
        row: weights of cells, none below 0, shape (cells,).
        table: counts of them.
    """
    if not row.any():
        return 0.0
    error = float(np.sqrt(covariance_of(row[None], table)[0, 0]))
    return max(float(row @ table.counts), 0.0) + _FIRMLY * error


def covariance_of(rows: Floats, table: NoisyCounts) -> Floats:
    """Of the noise in sums of counts, shape (k, k).

    Args:
        rows: weights of cells, shape (k, cells).
        table: counts of them.
    """
    if table.sources is None:
        return np.asarray((rows * table.variances) @ rows.T)
    mixed = table.sources.weights(rows)
    return np.asarray((mixed * table.sources.variances) @ mixed.T)
