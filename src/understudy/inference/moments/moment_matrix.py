"""The released second moments as a symmetric matrix that knows the noise in each of its entries.

Row and column 0 stand for the constant 1, the others for the scores of
`understudy.features.column_scores.Scores`, so that entry (0, 0) is the number of records n, (0, j)
the sum of score j and (i, j) that of a product. An indicator is its own square, and the product of
two scores of one column is 0 for every record: such entries share the noise of a sum, or have none.
What is estimated is a smooth function of the matrix; its variance by noise is the sum over the
released numbers of (derivative)² times their variance (`MomentMatrix.noise_covariance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.features.column_scores import Scores
from understudy.inference.noise_aware.cell_scores import covers
from understudy.release import Measurement, Release
from understudy.release.measurement_content import Kind
from understudy.schema import NUMERIC, Schema

_KNOWN = -1


@dataclass(frozen=True)
class MomentMatrix:
    """Noisy second moments of the scores of some columns.

    Attributes:
        scores: of the columns; entry k stands in row k + 1.
        sums: the matrix, shape (s + 1, s + 1).
        source: which released number each entry is, −1 for those without noise, same shape; the
            number of records comes last.
        variances: of the noise in the released numbers, shape (numbers,).
    """

    scores: Scores
    sums: Floats
    source: Integers
    variances: Floats

    @classmethod
    def of(
        cls, measurement: Measurement, schema: Schema, n: float, n_stddev: float
    ) -> MomentMatrix:
        """The matrix of a measurement.

        Args:
            measurement: of the kind `Kind.PRODUCTS`.
            schema: of the release.
            n: number of records.
            n_stddev: of the noise in it; 0 where it is public.
        """
        scores = Scores.of(schema, measurement.columns, measurement.of)
        values, stddev = np.asarray(measurement.counts), measurement.stddev
        if scores.complete:
            return cls.from_numbers(scores, values[1:], stddev, float(values[0]), stddev)
        return cls.from_numbers(scores, values, stddev, n, n_stddev)

    @classmethod
    def from_numbers(
        cls, scores: Scores, values: Floats, stddev: float, n: float, n_stddev: float
    ) -> MomentMatrix:
        """The matrix of sums and products.

        Args:
            scores: of the columns.
            values: sums, then products by `Scores.pairs`, in records, shape (numbers,).
            stddev: of the noise in each.
            n: number of records.
            n_stddev: of the noise in it.
        """
        size = len(scores)
        first, second = scores.pairs
        source = np.full((size + 1, size + 1), _KNOWN, dtype=np.int64)
        place = np.arange(size)
        source[0, 1:] = source[1:, 0] = place
        indicators = np.flatnonzero([score.state is not None for score in scores.each])
        source[indicators + 1, indicators + 1] = indicators
        source[first + 1, second + 1] = source[second + 1, first + 1] = size + np.arange(len(first))
        source[0, 0] = len(values)
        sums = np.where(source == _KNOWN, 0.0, np.append(values, n)[source])
        variances = np.append(np.full(len(values), stddev**2), n_stddev**2)
        return cls(scores, sums, source, variances)

    @property
    def n(self) -> float:
        """Number of records."""
        return float(self.sums[0, 0])

    @property
    def numbers(self) -> Floats:
        """The released numbers, the number of records last, shape (numbers,)."""
        numbers = np.zeros(len(self.variances))
        known = self.source != _KNOWN
        numbers[self.source[known]] = self.sums[known]
        return numbers

    @cached_property
    def place(self) -> dict[tuple[str, int | None], int]:
        """Row of each score, by column and state."""
        each = enumerate(self.scores.each, start=1)
        return {(score.column, score.state): k for k, score in each}

    def noise_covariance(self, derivatives: Floats) -> Floats:
        """Covariance by noise of q estimates, to first order.

        Args:
            derivatives: of each estimate in each entry of the matrix, as if all entries were free,
                shape (q, s + 1, s + 1).

        Returns:
            Shape (q, q).
        """
        used = self.source != _KNOWN
        gradient = np.zeros((len(derivatives), len(self.variances)))
        for row, derivative in zip(gradient, derivatives, strict=True):
            np.add.at(row, self.source[used], derivative[used])
        return np.asarray((gradient * self.variances) @ gradient.T)

    def form(self, left: Floats, right: Floats) -> Floats:
        """Sums over the records of products of two affine functions of their scores.

        Args:
            left: weights, shape (p, s + 1).
            right: weights, shape (q, s + 1).

        Returns:
            Shape (p, q).
        """
        return np.asarray(left @ self.sums @ right.T)


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
        noise = manifest.inference.rows_stddev
        matrix = MomentMatrix.of(measurement, schema, float(manifest.n_rows), noise)
        counts_all = not matrix.scores.complete
        return refined(matrix, release.measurements, schema) if counts_all else matrix
    return None


def refined(
    matrix: MomentMatrix, measurements: Sequence[Measurement], schema: Schema
) -> MomentMatrix:
    """The matrix with counts of levels, and of pairs of them, averaged with those of noisy tables.

    A cell of a full table over one or two columns of levels counts what an entry counts, with noise
    of its own, so their mean by precision has less. Each table is used once: entries stay
    independent.

    Args:
        matrix: second moments.
        measurements: of the release.
        schema: of the release.
    """
    numbers, variances = matrix.numbers.copy(), matrix.variances.copy()
    for table in measurements:
        levels = all(
            name in matrix.scores.columns and not isinstance(schema.columns[name], NUMERIC)
            for name in table.columns
        )
        if not (levels and len(table.columns) <= 2 and covers(table, table.columns)):
            continue
        for entry, count in _entries(matrix, table, schema):
            weight = variances[entry] / (variances[entry] + table.stddev**2)
            numbers[entry] += weight * (count - numbers[entry])
            variances[entry] *= 1 - weight
    sums = np.where(matrix.source == _KNOWN, 0.0, numbers[matrix.source])
    return replace(matrix, sums=sums, variances=variances)


def _entries(
    matrix: MomentMatrix, table: Measurement, schema: Schema
) -> Iterator[tuple[int, float]]:
    """The released number that each cell of a table counts, and its count; no impossible cells."""
    domain = schema.table(table.columns)
    allowed = domain.allowed_mask()
    counts = table.counts.reshape(domain.sizes)
    for cell in np.argwhere(allowed):
        rows = [matrix.place[key] for key in zip(table.columns, cell.tolist(), strict=True)]
        yield int(matrix.source[rows[0], rows[-1]]), float(counts[tuple(cell)])
