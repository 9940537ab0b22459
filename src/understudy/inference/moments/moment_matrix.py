"""The released second moments as a symmetric matrix that knows the noise in each of its entries.

Rows and columns of the matrix are the constant 1, the number of each column of numbers, and the
indicator of each state: of the levels and codes of a column of levels, of the bins (if they are
few) and codes of a column of numbers and of what is out of its domain. So entry (0, 0) is the
number of records n, (0, j) the sum of row j and (i, j) that of a product. An indicator is its own
square, and the product of two indicators of one column is 0 for every record; that of a number with
its own bins is not measured, and never asked for.

What was released are sums of the scores of `understudy.features.column_scores`, in which indicators
of levels are affine (`understudy.inference.moments.moment_basis`). What is estimated is a smooth
function of the matrix; its variance by noise is the sum over the released numbers of (derivative)²
times their variance (`MomentMatrix.noise_covariance`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Final

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.features.column_scores import Scores
from understudy.inference.moments.complete_cases import CompleteCases, Entries
from understudy.inference.moments.moment_basis import FREE, Basis
from understudy.schema import NUMERIC, Integer, Schema

_AT_ONCE: Final = 2**22
"""Derivatives in entries of the matrix that are held at once: 32 MB."""


@dataclass(frozen=True, eq=False)
class Together:
    """Released numbers whose noise goes together, since counts of cells were put to them.

    Attributes:
        entries: which, shape (k,).
        covariance: of the noise in them, shape (k, k).
        off: how far each may lie off by where numbers lie within cells, a column for each sum that
            these leave open, shape (k, sums).
    """

    entries: Integers
    covariance: Floats
    off: Floats


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
        together: numbers with noise that goes together; None if that of all is independent.
    """

    scores: Scores
    basis: Basis
    numbers: Floats
    variances: Floats
    cases: CompleteCases | None = None
    together: Together | None = None

    @classmethod
    def of(
        cls,
        scores: Scores,
        schema: Schema,
        numbers: Floats,
        variances: Floats,
        n: tuple[float, float],
    ) -> MomentMatrix:
        """The matrix of released numbers.

        Args:
            scores: of the columns.
            schema: of the release.
            numbers: sums divided by their weight, in records, shape (numbers,).
            variances: of the noise in them, same shape.
            n: number of records, and the standard deviation of the noise in it; passed over where
                only some count, which were counted.
        """
        own = np.append(numbers, n[0]), np.append(variances, n[1] ** 2)
        return cls(scores, Basis.of(scores, schema), *own)

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
        known = self.basis.source != FREE
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
        impossible = [two for two in permutations(columns, 2) if _never_lacks(schema, *two)]
        cases = CompleteCases.of(self.basis.columns, absent, numeric, impossible, self.whole)
        return replace(self, cases=cases)

    def noise_covariance(self, derivatives: Floats) -> Floats:
        """Covariance by noise of q estimates, to first order.

        Args:
            derivatives: of each estimate in each entry of the matrix, as if all entries were free,
                shape (q, R, R).

        Returns:
            Shape (q, q).
        """
        gradient = self._gradient(derivatives)
        return np.asarray(self._weighted(gradient) @ gradient.T)

    def gradient_of_products(self, left: Floats, right: Floats) -> Floats:
        """Derivatives of sums of products of two affine functions in the released numbers.

        Some sums at a time: the derivatives in the entries of the matrix are far more numbers.

        Args:
            left: weights, shape (q, R).
            right: weights, shape (q, R).

        Returns:
            Shape (q, numbers + 1).
        """
        step = max(1, _AT_ONCE // self.whole.size)
        parts = [
            self._gradient(left[k : k + step, :, None] * right[k : k + step, None, :])
            for k in range(0, len(left), step)
        ]
        return np.concatenate(parts)

    def noise_between(self, one: Floats, other: Floats) -> Floats:
        """Covariances by noise of p estimates with q others, to first order.

        Args:
            one: derivatives in the released numbers, shape (p, numbers + 1).
            other: the same, shape (q, numbers + 1).

        Returns:
            Shape (p, q).
        """
        return np.asarray(self._weighted(one) @ other.T)

    def noise_of_pairs(self, one: Floats, other: Floats) -> Floats:
        """The same of each estimate with the one at its place among the others, shape (q,)."""
        return np.asarray(np.einsum("qn,qn->q", self._weighted(one), other))

    def _weighted(self, gradient: Floats) -> Floats:
        """A gradient times the covariance of the noise in the released numbers."""
        if self.together is None:
            return np.asarray(gradient * self.variances)
        entries, alone = self.together.entries, self.variances.copy()
        alone[entries] = 0
        found = gradient * alone
        found[:, entries] += gradient[:, entries] @ self.together.covariance
        return np.asarray(found)

    def hidden(self, derivatives: Floats) -> Floats:
        """How far q estimates may be off by what was not measured.

        That is what records without a value have elsewhere, and where numbers lie within cells.

        Args:
            derivatives: as for `noise_covariance`.

        Returns:
            Bounds, to first order, shape (q,); 0 where every record counts and no cell does.
        """
        within = self.within_cells(derivatives)
        if self.cases is None:
            return within
        errors = {entries: self._stddev_of(entries) for entries in self.cases.counted()}
        return within + self.cases.hidden(derivatives, self.whole, errors)

    def within_cells(self, derivatives: Floats) -> Floats:
        """How far q estimates may be off by where numbers lie within cells, shape (q,).

        Args:
            derivatives: as for `noise_covariance`.
        """
        return self.within_cells_by(self._gradient(derivatives))

    def within_cells_by(self, gradient: Floats) -> Floats:
        """The same.

        Args:
            gradient: derivatives in the released numbers, shape (q, numbers + 1).
        """
        return np.asarray(np.abs(self._offsets(gradient)).sum(axis=1))

    def cell_offsets(self, derivatives: Floats) -> Floats:
        """The same by sum that cells leave open, with signs that belong together.

        Args:
            derivatives: as for `noise_covariance`.

        Returns:
            Shape (q, sums).
        """
        return self._offsets(self._gradient(derivatives))

    def _offsets(self, gradient: Floats) -> Floats:
        if self.together is None or not self.together.off.size:
            return np.zeros((len(gradient), 0))
        return np.asarray(gradient[:, self.together.entries] @ self.together.off)

    def _stddev_of(self, entries: Entries) -> float:
        """Of the noise in a sum of entries of the matrix of all records."""
        derivative = np.zeros((1, *self.whole.shape))
        for row, column, weight in entries:
            derivative[0, row, column] += weight
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
        used = self.basis.source != FREE
        source = self.basis.source[used]
        for own_gradient, slopes in zip(gradient, free, strict=True):
            rows = np.flatnonzero(slopes.any(axis=0))  # of an indicator's sum few of many
            affine = self.basis.affine[rows]
            scored = affine.T @ slopes[np.ix_(rows, rows)] @ affine
            np.add.at(own_gradient, source, scored[used])
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

    def indicators(self, schema: Schema, name: str) -> Floats | None:
        """Weights of the indicators of the levels of a column, shape (levels, s + 1).

        Numbers have those of their bins, if they are few. Where they have none, a column of whole
        numbers that are one of two tells by its number which: with −1 and 1 for both, half the
        number and half of 1. None for other numbers.

        Args:
            schema: of the column.
            name: of the column.
        """
        column = schema.columns[name]
        n_levels = column.n_ordinary
        rows = np.zeros((n_levels, len(self.sums)))
        if isinstance(column, NUMERIC) and (name, 0) not in self.place:
            low, high = column.bounds
            if not (isinstance(column, Integer) and high - low == 1 and n_levels == 2):
                return None
            rows[:] = self.presence(schema, name) / 2
            first = 0 if column.intervals[0].low == low else 1
            rows[[first, 1 - first], self.place[name, None]] = -0.5, 0.5
            return rows
        rows[np.arange(n_levels), [self.place[name, state] for state in range(n_levels)]] = 1
        return rows

    def presence(self, schema: Schema, name: str) -> Floats:
        """Weights of whether a record has a value of a column, shape (s + 1,).

        Args:
            schema: of the column.
            name: of the column.
        """
        if not isinstance(schema.columns[name], NUMERIC):
            rows = self.indicators(schema, name)
            assert rows is not None
            return np.asarray(rows.sum(axis=0))
        weights = np.zeros(len(self.sums))
        weights[0], weights[self.basis.beside[self.place[name, None]]] = 1, -1
        return weights


def _never_lacks(schema: Schema, name: str, other: str) -> bool:
    """Whether the schema says that every record with a value of the other column has one of it."""
    if not any({name, other} <= set(box) for _, box in schema.boxes):
        return False
    domain = schema.table((name, other))
    allowed = domain.allowed_mask().reshape(domain.sizes)
    codes = list(_codes(schema, name))
    return not allowed[codes, : schema.columns[other].n_ordinary].any()


def _codes(schema: Schema, name: str) -> range:
    column = schema.columns[name]
    return range(column.n_ordinary, column.size)
