"""The released second moments as a symmetric matrix that knows the noise in each of its entries.

Rows and columns of the matrix are the constant 1, the number of each column of numbers, and the
indicator of each state: of the levels and codes of a column of levels, of the bins (if they are
few) and codes of a column of numbers and of what is out of its domain. So entry (0, 0) is the
number of records n, (0, j) the sum of row j and (i, j) that of a product. An indicator is its own
square, and the product of two indicators of one column is 0 for every record; that of a number with
its own bins is not measured, and never asked for.

What was released are sums of the scores of `understudy.features.column_scores`, in which indicators
of levels are affine (`Basis`). What is estimated is a smooth function of the matrix; its variance
by noise is the sum over the released numbers of (derivative)² times their variance
(`MomentMatrix.noise_covariance`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.features.column_scores import UNIT, Scores
from understudy.inference.moments.complete_cases import CompleteCases, Entries
from understudy.inference.noise_aware.cell_scores import covers
from understudy.release import Measurement, Release
from understudy.release.measurement_content import Kind
from understudy.schema import NUMERIC, Schema

_FREE = -1


@dataclass(frozen=True, eq=False)
class Basis:
    """How the rows of the matrix and the released numbers belong together.

    Attributes:
        place: (column, state) → row; the state of a number is None.
        affine: rows in the constant and the scores, shape (R, s + 1).
        source: which released number an entry over the constant and the scores is, −1 for those of
            two scores of one column, shape (s + 1, s + 1); the number of records comes last.
        squares: row of each number → the released number of its square.
        beside: row of each number → rows of the records of its column that have none.
        coded: (row of a number, row of a code) → the released number of its square among them.
        columns: the rows of each column.
    """

    place: dict[tuple[str, int | None], int]
    affine: Floats
    source: Integers
    squares: dict[int, int]
    coded: dict[tuple[int, int], int]
    beside: dict[int, Integers]
    columns: dict[str, Integers]

    @classmethod
    def of(cls, scores: Scores, schema: Schema) -> Basis:
        """The rows that some scores tell.

        Args:
            scores: of the columns.
            schema: of the release.
        """
        place: dict[tuple[str, int | None], int] = {}
        blocks = [np.zeros((1, len(scores) + 1))]
        blocks[0][0, 0] = 1
        columns: dict[str, Integers] = {}
        beside: dict[int, Integers] = {}
        for name in scores.columns:
            states, block = _rows_of(name, scores, schema)
            start = len(place) + 1
            place |= {(name, state): start + k for k, state in enumerate(states)}
            columns[name] = np.arange(start, len(place) + 1)
            blocks.append(block)
            if None in states:
                k = schema.columns[name].n_ordinary
                other = [row for row, state in enumerate(states, start) if (state or 0) >= k]
                beside[start] = np.array(other, dtype=np.int64)
        size, front = len(scores), bool(scores.complete)
        source = np.full((size + 1, size + 1), _FREE, dtype=np.int64)
        first, second = scores.pairs
        source[0, 1:] = source[1:, 0] = front + np.arange(size)
        at = scores.n_sums + np.arange(len(first))
        source[first + 1, second + 1] = source[second + 1, first + 1] = at
        source[0, 0] = 0 if front else scores.size
        rows = [place[scores.each[k].column, None] for k in scores.numbers]
        at_squares = scores.n_sums + len(first)
        at_coded = at_squares + len(rows)
        return cls(
            place=place,
            affine=np.concatenate(blocks),
            source=source,
            squares={row: at_squares + k for k, row in enumerate(rows)},
            coded={
                (place[scores.each[s.place].column, None], place[s.column, s.state]): at_coded + k
                for k, s in enumerate(scores.coded)
            },
            beside=beside,
            columns=columns,
        )


def _rows_of(name: str, scores: Scores, schema: Schema) -> tuple[list[int | None], Floats]:
    """The states that have rows (None for a number), and these in the constant and the scores."""
    column, table = schema.columns[name], scores.tables[name] / UNIT
    places = np.array(scores.places(name), dtype=np.int64) + 1
    if not isinstance(column, NUMERIC):
        k = column.n_ordinary if name in scores.complete else column.size
        block = np.zeros((k, len(scores) + 1))
        block[:, 0], block[:, places] = _in_scores(table[:k])
        return list(range(k)), block
    k = column.n_ordinary
    codes = [j for j in range(1, len(places)) if table[k:, j].any()]
    bins = [j for j in range(1, len(places)) if j not in codes]
    shown = k if bins else 0
    block = np.zeros((1 + shown + len(codes), len(scores) + 1))
    block[0, places[0]] = 1
    if bins:
        constant, block[1 : 1 + k, places[bins]] = _in_scores(table[:k, bins])
        block[1 : 1 + k, 0] = constant
        block[1 : 1 + k, places[codes]] = -constant[:, None]  # of those that have a number
    block[np.arange(1 + shown, len(block)), places[codes]] = 1
    return [None, *range(shown), *(k + int(table[k:, j].argmax()) for j in codes)], block


def _in_scores(table: Floats) -> tuple[Floats, Floats]:
    """Indicators of k states in the constant, shape (k,), and in m scores, shape (k, m)."""
    k, m = table.shape
    if m == k:
        return np.zeros(k), np.asarray(np.linalg.inv(table).T, dtype=np.float64)
    inverse = np.linalg.inv(np.column_stack([np.ones(k), table]))  # of states in scores
    return inverse[0], inverse[1:].T


@dataclass(frozen=True, eq=False)
class MomentMatrix:
    """Noisy second moments of some columns.

    Attributes:
        scores: of the columns.
        basis: rows of the matrix.
        numbers: as released, sums divided by their weight, in records; the number of records last,
            shape (numbers + 1,).
        variances: of the noise in them, same shape.
        cases: what is known of the records with a value of some columns; None for all records.
    """

    scores: Scores
    basis: Basis
    numbers: Floats
    variances: Floats
    cases: CompleteCases | None = None

    @classmethod
    def of(
        cls,
        measurement: Measurement,
        schema: Schema,
        n: tuple[float, float],
        columns: Sequence[str] | None = None,
    ) -> MomentMatrix:
        """The matrix of a measurement.

        Args:
            measurement: of the kind `Kind.PRODUCTS`.
            schema: of the release.
            n: number of records, and the standard deviation of the noise in it.
            columns: that are asked about, in any order; all by default.
        """
        values = np.asarray(measurement.counts, dtype=np.float64)
        scores = measurement.scores(schema)
        if columns is not None:
            scores, kept = scores.part(columns)
            values = values[kept]
        return cls.from_numbers(scores, schema, values, measurement.stddev, n)

    @classmethod
    def from_numbers(
        cls,
        scores: Scores,
        schema: Schema,
        values: Floats,
        stddev: float,
        n: tuple[float, float],
    ) -> MomentMatrix:
        """The matrix of released numbers.

        Args:
            scores: of the columns.
            schema: of the release.
            values: as they are released (`NoisyProducts.values`), shape (numbers,).
            stddev: of the noise in each.
            n: number of records, and the standard deviation of the noise in it; passed over where
                only some count, which were counted.
        """
        weights = np.ones(len(values) + 1)
        weights[: scores.n_sums] = float(scores.weight)
        variances = np.append(np.full(len(values), stddev**2), n[1] ** 2)
        numbers = np.append(values, n[0]) / weights
        return cls(scores, Basis.of(scores, schema), numbers, variances / weights**2)

    @property
    def place(self) -> dict[tuple[str, int | None], int]:
        """Row of each number (state None) and indicator, by column and state."""
        return self.basis.place

    @property
    def n(self) -> float:
        """Number of records."""
        return float(self.sums[0, 0])

    @cached_property
    def sums(self) -> Floats:
        """The matrix, shape (R, R)."""
        return self.whole if self.cases is None else self.cases.sums(self.whole, self.square_sums)

    @cached_property
    def whole(self) -> Floats:
        """The matrix of all records that count, shape (R, R)."""
        known = self.basis.source != _FREE
        scored = np.where(known, self.numbers[self.basis.source], 0.0)
        sums = self.basis.affine @ scored @ self.basis.affine.T
        for rows in self.basis.columns.values():
            sums[np.ix_(rows, rows)] = np.diag(sums[0, rows])
        for row, at in self.basis.squares.items():
            present = sums[0, 0] - sums[0, self.basis.beside[row]].sum()
            sums[row, row] = (self.numbers[at] + present) / 2
        return np.asarray(sums)

    @property
    def square_sums(self) -> dict[tuple[int, int], float]:
        """Sums of squares of a number among the records with a code, by their rows."""
        return {
            (row, code): float(self.numbers[at] + (self.whole[0, code] - self._off(row, code)) / 2)
            for (row, code), at in self.basis.coded.items()
        }

    def _off(self, row: int, code: int) -> float:
        """Records with a code that have no number."""
        return float(self.whole[code, self.basis.beside[row]].sum())

    def among(self, columns: Sequence[str], schema: Schema) -> MomentMatrix:
        """The matrix of the records that have a value of each of some columns.

        Args:
            columns: names; those whose records were not chosen when the moments were measured.
            schema: of the release.
        """
        if not columns:
            return self
        absent = {
            name: [self.place[name, state] for state in _codes(schema, name)] for name in columns
        }
        numeric = frozenset(name for name, state in self.place if state is None)
        return replace(self, cases=CompleteCases(self.basis.columns, absent, numeric))

    def noise_covariance(self, derivatives: Floats) -> Floats:
        """Covariance by noise of q estimates, to first order.

        Args:
            derivatives: of each estimate in each entry of the matrix, as if all entries were free,
                shape (q, R, R).

        Returns:
            Shape (q, q).
        """
        gradient = self._gradient(derivatives)
        return np.asarray((gradient * self.variances) @ gradient.T)

    def hidden(self, derivatives: Floats) -> Floats:
        """How far q estimates may be off by what was not measured of records without a value.

        Args:
            derivatives: as for `noise_covariance`.

        Returns:
            Bounds, to first order, shape (q,); 0 where every record counts.
        """
        if self.cases is None:
            return np.zeros(len(derivatives))
        errors = {entries: self._stddev_of(entries) for entries in self.cases.counted()}
        return self.cases.hidden(derivatives, self.whole, errors)

    def _stddev_of(self, entries: Entries) -> float:
        """Of the noise in a sum of entries of the matrix of all records."""
        derivative = np.zeros((1, *self.whole.shape))
        for place in entries:
            derivative[0][place] += 1
        return float(np.sqrt(replace(self, cases=None).noise_covariance(derivative)[0, 0]))

    def _gradient(self, derivatives: Floats) -> Floats:
        """Derivatives in the released numbers, shape (q, numbers + 1)."""
        free = (derivatives + derivatives.transpose(0, 2, 1)) / 2
        gradient = np.zeros((len(free), len(self.numbers)))
        if self.cases is not None:
            free, coded = self.cases.pulled(free, self.whole)
            for (row, code), slope in coded.items():
                self._add_coded(gradient, free, row, code, slope)
        for row, at in self.basis.squares.items():
            slope = free[:, row, row].copy()
            gradient[:, at] += slope / 2
            free[:, 0, 0] += slope / 2
            beside = self.basis.beside[row]
            free[:, 0, beside] -= slope[:, None] / 4
            free[:, beside, 0] -= slope[:, None] / 4
            free[:, row, row] = 0
        for rows in self.basis.columns.values():
            own = np.diagonal(free[:, rows][:, :, rows], axis1=1, axis2=2).copy()
            free[:, rows[:, None], rows] = 0
            free[:, 0, rows] += own / 2
            free[:, rows, 0] += own / 2
        scored = self.basis.affine.T @ free @ self.basis.affine
        used = self.basis.source != _FREE
        for own_gradient, slopes in zip(gradient, scored, strict=True):
            np.add.at(own_gradient, self.basis.source[used], slopes[used])
        return gradient

    def _add_coded(
        self, gradient: Floats, free: Floats, row: int, code: int, slope: Floats
    ) -> None:
        """The derivatives of a square among the records with a code, which is less ½ of them."""
        gradient[:, self.basis.coded[row, code]] += slope
        free[:, 0, code] += slope / 4
        free[:, code, 0] += slope / 4
        for beside in self.basis.beside[row]:
            free[:, code, beside] -= slope / 4
            free[:, beside, code] -= slope / 4

    def form(self, left: Floats, right: Floats) -> Floats:
        """Sums over the records of products of two affine functions of the rows.

        Args:
            left: weights, shape (p, R).
            right: weights, shape (q, R).

        Returns:
            Shape (p, q).
        """
        return np.asarray(left @ self.sums @ right.T)


def _codes(schema: Schema, name: str) -> range:
    column = schema.columns[name]
    return range(column.n_ordinary, column.size)


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
        return refined(matrix, release.measurements, schema) if counts_all else matrix
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
