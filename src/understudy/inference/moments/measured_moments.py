"""The second moments that a release has of some columns, with what its noisy tables say of them.

Tables of levels tell sums of contrasts (`refined`), lines and tables of numbers their sums as well
(`inference.moments.number_sums`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.features.column_scores import UNIT
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.inference.moments.moment_sources import MomentSource, improve, joined_matrix
from understudy.inference.moments.number_sums import NumberCounts
from understudy.inference.noise_aware.full_tables import covers
from understudy.release import Measurement, Release
from understudy.release.measurement_kind import Kind
from understudy.release.once import once
from understudy.schema import NUMERIC, Schema

_RECENT = 32  # matrices that are kept: several kinds of questions are asked of the same columns
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
            recent[asked] = self._joined(columns)
            kept = [*recent.items()][-_RECENT:]
            self._recent = dict(kept)  # a whole new one, as another thread may ask as well
        return recent[asked]

    def _joined(self, columns: Sequence[str]) -> MomentMatrix | None:
        matrix = joined_matrix(self._sources, self._schema, columns, self._n)
        if matrix is None:
            return None
        return self._counts.put_to(refined(matrix, self._measurements, self._schema))


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


def refined(
    matrix: MomentMatrix, measurements: Sequence[Measurement], schema: Schema
) -> MomentMatrix:
    """The matrix with sums of scores averaged with those that noisy tables have.

    A full table over one or two columns tells sums and products of their scores as well, with noise
    of its own: contrasts are orthogonal over its cells, so that it is independent. The mean by
    precision has less. Cells that cannot occur have no noise, and are counted as if they had it. Of
    records that must have a value of some columns, tables of all of these tell, by their cells with
    such values.

    Args:
        matrix: second moments.
        measurements: of the release.
        schema: of the release.
    """
    numbers, variances = matrix.numbers.copy(), matrix.variances.copy()
    known, needed = set(matrix.scores.columns), set(matrix.scores.complete)
    for table in measurements:
        own = set(table.columns)
        if not (needed <= own <= known and len(own) <= 2 and covers(table, table.columns)):
            continue
        if len(table.columns) == 1 and isinstance(schema.columns[table.columns[0]], NUMERIC):
            continue  # `NumberCounts` has these
        for entries, values, factors in _told(matrix, table, schema):
            noise = factors * table.stddev**2
            improve(numbers, variances, entries.ravel(), values.ravel(), noise.ravel())
    return replace(matrix, numbers=numbers, variances=variances)


def _told(
    matrix: MomentMatrix, table: Measurement, schema: Schema
) -> Iterator[tuple[Integers, Floats, Floats]]:
    """Released numbers that a table tells as well: which, what it says, and its noise in them.

    Noise is in variances of that in a cell. No cell tells a number, or what is out of domain. Where
    the scores of a column are not centred, as indicators are not, the sums of the other column's
    would share noise with the products, and are left to them.
    """
    scores, source = matrix.scores, matrix.basis.source
    counts = np.asarray(table.counts, dtype=np.float64).reshape(schema.table(table.columns).sizes)
    states, places = [], []
    for axis, name in enumerate(table.columns):
        column, own = schema.columns[name], np.array(scores.places(name), dtype=np.int64)
        k = column.n_ordinary if name in scores.complete else column.size
        values = scores.tables[name][:k]
        told = ~np.isin(own, scores.numbers) & values.any(axis=0)
        states.append(values[:, told] / UNIT)
        places.append(own[told] + 1)
        counts = counts.take(np.arange(k), axis=axis)
    squares = [(state**2).sum(axis=0) for state in states]
    if len(places) == 1:
        yield source[0, places[0]], states[0].T @ counts, squares[0]
        return
    (left, right), (first, second), k_cells = states, places, counts.shape
    yield source[np.ix_(first, second)], left.T @ counts @ right, np.outer(*squares)
    if _is_centred(right):
        yield source[0, first], left.T @ counts.sum(axis=1), k_cells[1] * squares[0]
    if _is_centred(left):
        yield source[0, second], right.T @ counts.sum(axis=0), k_cells[0] * squares[1]


def _is_centred(states: Floats) -> bool:
    return bool((np.abs(states.sum(axis=0)) < _CENTRED).all())
