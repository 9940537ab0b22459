"""What number lines and tables of bins say of the sums of second moments, and how well.

The noisy counts of fine cells of a column of numbers (`inference.noise_aware.line_answers`) tell
how many records there are, the sum of the number and of its square, and how many have each code and
lie in each bin. Second moments have these sums too, with noise of their own. Both are put together
by generalised least squares: with f the sums of all columns asked about and C the covariance of
their noise, counts say y = Hf + noise of covariance R, and

    f̂ = f + K(y − Hf),   K = CH'(HCH' + R + D)⁻¹,   Ĉ = (I − KH)C(I − KH)' + KRK'.

A cell does not tell where in it a number lies. So the sums of y may be off by as much as the
half-widths of cells allow, b; D = diag(b²) makes them count for less accordingly, and what is left,
|K|·b, is a bound that every answer carries (`MomentMatrix.hidden`). Values out of domain are in no
cell, but have a sum of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.features.column_scores import UNIT
from understudy.features.line_cells import Numeric, coarse_states, is_finer
from understudy.inference.moments.moment_matrix import MomentMatrix, Together
from understudy.inference.noise_aware.full_tables import covers, line_of
from understudy.inference.noise_aware.line_tables import line_schema, line_table
from understudy.inference.noise_aware.noisy_tables import Sources, Table, marginal, pooled_table
from understudy.release import Measurement
from understudy.schema import NUMERIC, Schema

_FIRMLY = 2.0


@dataclass(frozen=True)
class _Said:
    """What the cells of a column say.

    Attributes:
        entries: released numbers that they tell; the number of records last.
        values: of them; the last one less the records out of domain.
        noise: covariance, shape (k, k).
        off: how far each may lie off, shape (k,).
        beside: the number of records out of domain, −1 if there is none.
    """

    entries: Integers
    values: Floats
    noise: Floats
    off: Floats
    beside: int


@dataclass(frozen=True)
class _Sums:
    """What is known of the sums of some columns.

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
    def of(cls, matrix: MomentMatrix, said: Sequence[_Said]) -> _Sums:
        """By second moments alone: the noise of different sums is independent."""
        beside = [one.beside for one in said if one.beside >= 0]
        told = np.concatenate([*(one.entries for one in said), beside])
        entries = np.unique(told).astype(np.int64)
        noise = np.diag(matrix.variances[entries])
        return cls(entries, matrix.numbers[entries], noise, np.zeros((len(entries), 0)))

    def improved(self, one: _Said) -> _Sums:
        """With what the cells of another column say."""
        tells = np.zeros((len(one.entries), len(self.entries)))
        tells[np.arange(len(one.entries)), np.searchsorted(self.entries, one.entries)] = 1
        if one.beside >= 0:
            tells[-1, np.searchsorted(self.entries, one.beside)] = -1
        spread = tells @ self.noise @ tells.T + one.noise + np.diag(one.off**2)
        # What is known without noise from both may leave no spread.
        gain = self.noise @ tells.T @ np.linalg.pinv(spread, hermitian=True)
        kept = np.eye(len(self.entries)) - gain @ tells
        open_ = one.off > 0
        return _Sums(
            self.entries,
            self.values + gain @ (one.values - tells @ self.values),
            kept @ self.noise @ kept.T + gain @ one.noise @ gain.T,
            np.hstack([kept @ self.off, gain[:, open_] * one.off[open_]]),
        )


class NumberCounts:
    """What the cells of columns of numbers tell of the sums of second moments.

    Args:
        measurements: of a release.
        schema: of the release.
    """

    def __init__(self, measurements: Sequence[Measurement], schema: Schema) -> None:
        self._measurements, self._schema = measurements, schema
        self._known: dict[str, tuple[Table, Numeric] | None] = {}

    def put_to(self, matrix: MomentMatrix) -> MomentMatrix:
        """The matrix with the sums of its columns of numbers as counts of cells tell them too.

        Args:
            matrix: second moments; those of some records alone stay as they are.
        """
        if matrix.scores.complete:
            return matrix
        said = list[_Said]()
        for name in matrix.scores.columns:
            column = self._schema.columns[name]
            if isinstance(column, NUMERIC):
                counted = self._of(name)
                if counted is not None:
                    said.append(_told(matrix, name, column, *counted))
        if not said:
            return matrix
        joined = _Sums.of(matrix, said)
        for one in said:
            joined = joined.improved(one)
        numbers, variances = matrix.numbers.copy(), matrix.variances.copy()
        numbers[joined.entries], variances[joined.entries] = joined.values, np.diag(joined.noise)
        together = Together(joined.entries, joined.noise, joined.off)
        return replace(matrix, numbers=numbers, variances=variances, together=together)

    def _of(self, name: str) -> tuple[Table, Numeric] | None:
        """Counts of the cells of a column, and their column; None where nothing counts them."""
        if name not in self._known:
            self._known[name] = _counts(self._measurements, self._schema, name)
        return self._known[name]


def _counts(
    measurements: Sequence[Measurement], schema: Schema, name: str
) -> tuple[Table, Numeric] | None:
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


def _told(matrix: MomentMatrix, name: str, column: Numeric, table: Table, cells: Numeric) -> _Said:
    """What counts say of the sums of one column."""
    scores, source = matrix.scores, matrix.basis.source
    places = np.array(scores.places(name), dtype=np.int64)
    states = scores.tables[name] / UNIT
    weights = states[coarse_states(cells, column)]
    middle, reach = _positions(cells)
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
    off[[0, -2]] = [_most(row, table) for row in wide]
    return _Said(
        entries=np.append(
            source[0, places[told] + 1], [matrix.basis.squares[number], source[0, 0]]
        ),
        values=rows @ table.counts,
        noise=_covariance(rows, table),
        off=off,
        beside=int(source[0, places[out[0]] + 1]) if len(out) else -1,
    )


def _positions(cells: Numeric) -> tuple[Floats, Floats]:
    """Middle and half the width of each ordinary cell, in scores."""
    low, high = cells.bounds
    ends = np.array([(cell.low, cell.high) for cell in cells.intervals], dtype=np.float64)
    scaled = (2 * ends - low - high) / (high - low or 1.0)  # one value alone has the score 0
    return scaled.mean(axis=1), np.diff(scaled, axis=1)[:, 0] / 2


def _most(row: Floats, table: Table) -> float:
    """A sum over the records that is not negative, or a bit more if noise may have hidden it."""
    if not row.any():
        return 0.0
    error = float(np.sqrt(_covariance(row[None], table)[0, 0]))
    return max(float(row @ table.counts), 0.0) + _FIRMLY * error


def _covariance(rows: Floats, table: Table) -> Floats:
    """Of the noise in sums of counts, shape (k, k)."""
    sources = table.sources or Sources(np.eye(len(table.variances)), table.variances)
    mixed = rows @ sources.mix
    return np.asarray((mixed * sources.variances) @ mixed.T)
