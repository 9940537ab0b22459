"""The second moments that a release has of some columns, with what its noisy tables say of them.

Tables of levels tell sums of contrasts (`refined`), lines and tables of numbers their sums as well
(`inference.moments.number_sums`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.features.column_scores import UNIT
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.inference.moments.number_sums import with_number_counts
from understudy.inference.noise_aware.full_tables import covers
from understudy.release import Measurement, Release
from understudy.release.measurement_content import Kind
from understudy.schema import NUMERIC, Schema


def matrix_of(release: Release, columns: Sequence[str]) -> MomentMatrix | None:
    """The second moments of some columns, refined by noisy tables; None if there are none.

    Those of the very records that have a value of each column are taken first; else those of all.

    Args:
        release: that is asked.
        columns: of the question.
    """
    schema, manifest = release.schema, release.manifest
    coded = {name for name in columns if schema.columns[name].codes}
    measured = [
        measurement
        for measurement in release.measurements
        if measurement.kind is Kind.PRODUCTS
        and set(columns) <= set(measurement.columns)
        and set(measurement.of) in (set(), coded)
    ]
    for measurement in sorted(measured, key=lambda measurement: -len(measurement.of)):
        about = float(manifest.n_rows), manifest.inference.rows_stddev
        matrix = MomentMatrix.of(measurement, schema, about, columns)
        counts_all = not matrix.scores.complete
        if not counts_all:
            return matrix
        return with_number_counts(refined(matrix, release.measurements, schema), release)
    return None


def refined(
    matrix: MomentMatrix, measurements: Sequence[Measurement], schema: Schema
) -> MomentMatrix:
    """The matrix with sums of scores averaged with those that noisy tables have.

    A full table over one or two columns tells sums and products of their scores as well, with noise
    of its own: contrasts are orthogonal over its cells, so that it is independent. The mean by
    precision has less. Cells that cannot occur have no noise, and are counted as if they had it.

    Args:
        matrix: second moments of all records.
        measurements: of the release.
        schema: of the release.
    """
    numbers, variances = matrix.numbers.copy(), matrix.variances.copy()
    for table in measurements:
        known = set(table.columns) <= set(matrix.scores.columns)
        if not (known and len(table.columns) <= 2 and covers(table, table.columns)):
            continue
        if len(table.columns) == 1 and isinstance(schema.columns[table.columns[0]], NUMERIC):
            continue  # `with_number_counts` has these
        for entries, values, factors in _told(matrix, table, schema):
            noise = factors * table.stddev**2
            weight = variances[entries] / (variances[entries] + noise)
            numbers[entries] += weight * (values - numbers[entries])
            variances[entries] *= 1 - weight
    return replace(matrix, numbers=numbers, variances=variances)


def _told(
    matrix: MomentMatrix, table: Measurement, schema: Schema
) -> list[tuple[Integers, Floats, Floats]]:
    """Released numbers that a table tells as well: which, what it says, and its noise in them.

    Noise is in variances of that in a cell. No cell tells a number, or what is out of domain.
    """
    scores, source = matrix.scores, matrix.basis.source
    counts = np.asarray(table.counts, dtype=np.float64).reshape(schema.table(table.columns).sizes)
    states, places = [], []
    for name in table.columns:
        own = np.array(scores.places(name), dtype=np.int64)
        told = ~np.isin(own, scores.numbers) & scores.tables[name][:-1].any(axis=0)
        states.append(scores.tables[name][:-1][:, told] / UNIT)
        places.append(own[told] + 1)
    squares = [(state**2).sum(axis=0) for state in states]
    if len(places) == 1:
        return [(source[0, places[0]], states[0].T @ counts, squares[0])]
    (left, right), (first, second), k = states, places, counts.shape
    return [
        (source[0, first], left.T @ counts.sum(axis=1), k[1] * squares[0]),
        (source[0, second], right.T @ counts.sum(axis=0), k[0] * squares[1]),
        (source[np.ix_(first, second)], left.T @ counts @ right, np.outer(*squares)),
    ]
