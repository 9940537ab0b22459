"""The second moments that a release has of some columns, with what its noisy tables say of them.

Tables of levels tell sums of contrasts (`refine_matrix`), lines and tables of numbers their sums as
well (`inference.measured_moments`).

**What number lines and tables of bins say of the sums of second moments, and how well.**

The noisy counts of fine cells of a column of numbers (`inference.number_line`) tell how many
records there are, the sum of the number and of its square, and how many have each code and lie in
each bin. Second moments have these sums too, with noise of their own. So have tables of several
columns, their states merged or not. All are put together by generalised least squares
(`inference.cell_sums`). Values out of domain are in no cell of a line, but have a sum of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from understudy._arrays import Floats, Integers
from understudy.features.grids import LineCells, Numeric, coarse_states, find_limits, is_finer
from understudy.features.scores import UNIT, Limits
from understudy.inference.cell_sums import (
    JoinedSums,
    Said,
    covariance_of,
    most_of,
    positions,
    table_sums,
)
from understudy.inference.line_tables import line_schema, line_table
from understudy.inference.noisy_tables import (
    Counts,
    covers,
    line_of,
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
    """What the cells of columns of numbers tell of the sums of second moments.

    Args:
        measurements: of a release.
        schema: of the release.
    """

    def __init__(self, measurements: Sequence[Measurement], schema: Schema) -> None:
        self._measurements, self._schema = measurements, schema
        self._known: dict[str, tuple[Counts, Numeric] | None] = {}

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

    def _of(self, name: str) -> tuple[Counts, Numeric] | None:
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
) -> tuple[Counts, Numeric] | None:
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
    matrix: MomentMatrix, name: str, column: Numeric, table: Counts, cells: Numeric
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
    for table, columns in _shared(matrix, measurements):
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
    """What tables say beside `refine_matrix`: of numbers, merged states and three columns.

    Args:
        matrix: second moments; nothing is said of those of some records alone.
        measurements: of the release.
        schema: of the release.
    """
    if matrix.scores.complete:
        return
    for table, columns in _shared(matrix, measurements):
        if _is_of_levels(table, columns, schema) or _is_of_a_number(table, schema):
            continue
        said = table_sums(matrix, table, columns, schema)
        if said is not None:
            yield table, said


def _shared(
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
