"""The released second moments as a symmetric matrix that knows the noise in each of its entries.

Rows and columns of the matrix are the constant 1, the number of each column of numbers, and the
indicator of each state: of the levels and codes of a column of levels, of the bins (if they are
few) and codes of a column of numbers and of what is out of its domain. So entry (0, 0) is the
number of records n, (0, j) the sum of row j and (i, j) that of a product. An indicator is its own
square, and the product of two indicators of one column is 0 for every record; that of a number with
its own bins is not measured, and never asked for.

What was released are sums of the scores of `understudy.features.scores`, in which indicators
of levels are affine (below). What is estimated is a smooth
function of the matrix; its variance by noise is the sum over the released numbers of (derivative)²
times their variance (`MomentMatrix.noise_covariance`).

**How the rows of a matrix of second moments and the released numbers belong together.**

Rows are the constant 1, the number of each column of numbers, and indicators of states; what is
released are sums of scores (`understudy.features.scores`) and of their products. Indicators
of levels and bins are affine in the contrasts between them.

**Several measurements of second moments, put together number by number.**

Each was paid for by itself, so its noise is independent of that of the others. Every released
number estimates one sum over records, and two measurements may have the same one: of the same
scores, among records that differ at most in those where the scores are 0 anyway. Generalised least
squares of all that was released is then the mean of each number by precision, and noise stays
independent from number to number.

**Which numbers are the same.** Scores of a column are known by what they are of each of its states,
which follows from the column, from whether absent values are left out, and from the unit of the
budget; weights of sums are divided out before. Where a value of the columns C must be there to
count, a score of column c is 0 wherever c is absent. So the sum over records with all of C, of
something that is 0 without columns E, is the sum over records with all of C but E. Measurements
with the columns C and C' have the same number of E wherever C and C' differ in columns of E alone:
the products of income and age among those who told their income are the products among all.

A question about a, b and c needs the numbers of each pair. Where no measurement has one of the
pairs, there is no answer, whatever the others have.

**Second moments that are expected of stated records, before any are measured.**

**What is lost in the noise of second moments: how far it must stand out, and what is said of it.**

Loads no library of statistics, so that what is known beforehand can be said quickly.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from typing import Final, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.errors import InferenceError
from understudy.features.scores import TICKS, UNIT, FeatureMap, Limits, Weighting
from understudy.inference.complete_cases import CompleteCases, Entries
from understudy.inference.records import ABSENT, Records
from understudy.mechanisms.second_moments import SecondMoments, WeightedMoments
from understudy.release.households import present_in
from understudy.release.measurement import Measurement
from understudy.schema import NUMERIC, Integer, Schema
from understudy.schema.households import NO_MEMBER, state_of_nobody

FREE = -1
"""Of entries that are no released number."""


@dataclass(frozen=True, eq=False)
class Basis:
    """The rows that some scores tell.

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
    def of(cls, scores: FeatureMap, schema: Schema) -> Basis:
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
        size, (first, second) = len(scores), scores.pairs
        counted, sums, products, squares, coded = scores.order.places
        source = np.full((size + 1, size + 1), FREE, dtype=np.int64)
        source[0, 1:] = source[1:, 0] = sums
        source[first + 1, second + 1] = source[second + 1, first + 1] = products
        source[0, 0] = counted[0] if len(counted) else scores.size
        rows = [place[scores.each[k].column, None] for k in scores.numbers]
        return cls(
            place=place,
            affine=np.concatenate(blocks),
            source=source,
            squares=dict(zip(rows, squares.tolist(), strict=True)),
            coded={
                (place[scores.each[s.place].column, None], place[s.column, s.state]): at
                for at, s in zip(coded.tolist(), scores.coded, strict=True)
            },
            beside=beside,
            columns=columns,
        )


def _rows_of(name: str, scores: FeatureMap, schema: Schema) -> tuple[list[int | None], Floats]:
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


class Sums(Protocol):
    """Second moments of some rows with the noise in them; rows are functions of a record."""

    @property
    def n(self) -> float:
        """Number of records."""

    @property
    def sums(self) -> Floats:
        """Sums of products of two rows, shape (R, R)."""

    @property
    def constant(self) -> Floats:
        """Weights of 1 for each record, shape (R,)."""

    def form(self, left: Floats, right: Floats) -> Floats:
        """Sums of products of two affine functions, of shapes (p, R) and (q, R)."""

    def noise_covariance(self, derivatives: Floats) -> Floats:
        """Covariance by noise of estimates with derivatives of shape (q, R, R)."""

    def bound_hidden(self, derivatives: Floats) -> Floats:
        """Bound on the error of such estimates by what was not measured, shape (q,)."""


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

    scores: FeatureMap
    basis: Basis
    numbers: Floats
    variances: Floats
    cases: CompleteCases | None = None
    together: Together | None = None

    @classmethod
    def of(
        cls,
        scores: FeatureMap,
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
    def constant(self) -> Floats:
        """Weights of 1 for each record, shape (R,)."""
        return np.asarray(np.eye(1, len(self.basis.affine))[0])

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
        return self.noise_along(self.gradient(derivatives))

    def noise_along(self, gradient: Floats) -> Floats:
        """Covariance by noise of q estimates, to first order, shape (q, q).

        Args:
            gradient: derivatives in the released numbers, shape (q, numbers + 1).
        """
        found = self.noise_between(gradient, gradient)
        # What several sources leave of next to no noise is a difference, and may round to below 0.
        np.fill_diagonal(found, np.maximum(np.diagonal(found), 0.0))
        return found

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
            self.gradient(left[k : k + step, :, None] * right[k : k + step, None, :])
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
        return np.asarray(self._weigh_gradient(one) @ other.T)

    def noise_of_pairs(self, one: Floats, other: Floats) -> Floats:
        """The same of each estimate with the one at its place among the others, shape (q,)."""
        return np.asarray(np.einsum("qn,qn->q", self._weigh_gradient(one), other))

    def _weigh_gradient(self, gradient: Floats) -> Floats:
        """A gradient times the covariance of the noise in the released numbers."""
        if self.together is None:
            return np.asarray(gradient * self.variances)
        entries, alone = self.together.entries, self.variances.copy()
        alone[entries] = 0
        found = gradient * alone
        found[:, entries] += gradient[:, entries] @ self.together.covariance
        return np.asarray(found)

    def bound_hidden(self, derivatives: Floats) -> Floats:
        """Bound the error of q estimates by what was not measured.

        That is what records without a value have elsewhere, and where numbers lie within cells.

        Args:
            derivatives: as for `noise_covariance`.

        Returns:
            Bounds, to first order, shape (q,); 0 where every record counts and no cell does.
        """
        within = self.within_cells(derivatives)
        if self.cases is None:
            return within
        errors = {entries: self._stddev_of(entries) for entries in self.cases.list_entries()}
        return within + self.cases.bound_hidden(derivatives, self.whole, errors)

    def within_cells(self, derivatives: Floats) -> Floats:
        """Bound the error of q estimates by where numbers lie within cells, shape (q,).

        Args:
            derivatives: as for `noise_covariance`.
        """
        return self.within_cells_by(self.gradient(derivatives))

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
        return self._offsets(self.gradient(derivatives))

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

    def gradient(self, derivatives: Floats) -> Floats:
        """Derivatives of q estimates in the released numbers, shape (q, numbers + 1).

        Args:
            derivatives: as for `noise_covariance`.
        """
        free = (derivatives + derivatives.transpose(0, 2, 1)) / 2
        gradient = np.zeros((len(free), len(self.numbers)))
        if self.cases is not None:
            free, coded = self.cases.pull_back(free, self.whole)
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

    def classes(self, schema: Schema, name: str, class_of: Integers, k: int) -> Floats | None:
        """Weights of the indicators of classes of levels, shape (k, s + 1); None as above.

        Args:
            schema: of the column.
            name: of the column.
            class_of: class of each of its states, levels first.
            k: classes.
        """
        rows = self.indicators(schema, name)
        if rows is None:
            return None
        weights = np.zeros((k, len(self.sums)))
        np.add.at(weights, class_of[: len(rows)], rows)
        return weights

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
    """Return whether the schema gives each record with a value of the other column one of it."""
    if not any({name, other} <= set(box) for _, box in schema.boxes):
        return False
    domain = schema.table((name, other))
    allowed = domain.allowed_mask().reshape(domain.sizes)
    codes = list(_codes(schema, name))
    return not allowed[codes, : schema.columns[other].n_ordinary].any()


def _codes(schema: Schema, name: str) -> range:
    column = schema.columns[name]
    return range(column.n_ordinary, column.size)


Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, eq=False)
class MomentSource:
    """The parts of one measurement of moments.

    Attributes:
        scores: of its columns.
        numbers: as released, sums divided by their weight, in records, shape (numbers,).
        variances: of the noise in them, same shape.
        pure: whether its budget had no δ, so that levels have indicators and not contrasts.
        group: of which state of a column its records are, where sums were taken apart by it.
    """

    scores: FeatureMap
    numbers: Floats
    variances: Floats
    pure: bool = False
    group: int = 0

    @classmethod
    def of(cls, measurement: Measurement, schema: Schema) -> MomentSource:
        """Read the source from a measurement of the kind `Kind.PRODUCTS`.

        Args:
            measurement: of a release.
            schema: of the release.
        """
        values = np.asarray(measurement.counts, dtype=np.float64)
        pure = measurement.family.is_laplace
        return cls.from_values(measurement.scores(schema), values, measurement.stddev, pure=pure)

    @classmethod
    def each_of(cls, measurement: Measurement, schema: Schema) -> tuple[MomentSource, ...]:
        """Read those of each state where a measurement's sums were taken apart, or the one of all.

        Args:
            measurement: of the kind `Kind.PRODUCTS` or `Kind.WEIGHTED`.
            schema: of the release.
        """
        scores = measurement.scores(schema)
        values = np.asarray(measurement.counts, dtype=np.float64).reshape(-1, scores.size)
        pure, stddev = measurement.family.is_laplace, measurement.stddev
        found = (cls.from_values(scores, own, stddev, pure=pure) for own in values)
        return tuple(replace(one, group=group) for group, one in enumerate(found))

    @classmethod
    def from_values(
        cls, scores: FeatureMap, values: Floats, stddev: float, *, pure: bool
    ) -> MomentSource:
        """Make the source from numbers as they are released.

        Args:
            scores: of the columns.
            values: with weights (`NoisyProducts.values`), shape (numbers,).
            stddev: of the noise in each.
            pure: whether the budget had no δ.
        """
        weights = scores.factors
        return cls(scores, values / weights, (stddev / weights) ** 2, pure)

    def part(self, columns: Sequence[str]) -> MomentSource:
        """Select what it has of some columns, with all of those of which values must be there."""
        scores, kept = self.scores.part(columns)
        return replace(
            self, scores=scores, numbers=self.numbers[kept], variances=self.variances[kept]
        )


def joined_matrix(
    sources: Sequence[MomentSource],
    schema: Schema,
    columns: Sequence[str],
    n: tuple[float, float],
) -> MomentMatrix | None:
    """The matrix of some columns from all that was measured; None if a number is lacking.

    That of the very records that have a value of each column is taken first; else that of all.
    Sources that weigh records weigh them alike, and are of all.

    Args:
        sources: measurements.
        schema: of the release.
        columns: of the question.
        n: number of records, and the standard deviation of the noise in it.
    """
    names = tuple(name for name in schema.names if name in columns)
    coded = tuple(name for name in names if schema.columns[name].codes)
    parts = list(_parts(sources, names))
    ways = sorted({(source.pure, source.scores.many) for source in parts})
    weighting = parts[0].scores.weighting if parts else None
    if weighting is not None:
        coded = ()
    for complete, limits in product(dict.fromkeys((coded, ())), _limits_of(parts)):
        for pure, many in ways:
            scores = FeatureMap.of(
                schema, names, complete, pure=pure, limits=limits, many=many, weighting=weighting
            )
            numbers, variances = average_numbers(scores, parts)
            if np.isfinite(variances).all():
                return MomentMatrix.of(scores, schema, numbers, variances, n)
    return None


def _limits_of(sources: Sequence[MomentSource]) -> list[Limits]:
    """List the limits of numbers that measurements have, each once."""
    found: list[Limits] = []
    for source in sources:
        if source.scores.limits not in found:
            found.append(source.scores.limits)
    return found


def average_numbers(scores: FeatureMap, sources: Sequence[MomentSource]) -> tuple[Floats, Floats]:
    """The numbers of some scores, each the mean by precision of those that sources have.

    Args:
        scores: whose numbers are wanted.
        sources: measurements.

    Returns:
        Numbers and their variances, infinite where no source has one, each of shape (numbers,).
    """
    numbers, variances = np.zeros(scores.size), np.full(scores.size, np.inf)
    for source in sources:
        at = _places(source.scores, scores)
        known = at != FREE
        improve(numbers, variances, at[known], source.numbers[known], source.variances[known])
    return numbers, variances


def improve(
    numbers: Floats, variances: Floats, at: Integers, values: Floats, noise: Floats
) -> None:
    """Average some numbers, in place, with others of independent noise, by precision.

    Args:
        numbers: to be improved, shape (numbers,).
        variances: of the noise in them, infinite where nothing is known yet, same shape.
        at: places of those that are known again.
        values: what they are there, shape of `at`.
        noise: variances of these, same shape.
    """
    before = variances[at]
    new = np.isinf(before)
    both = np.where(new, 1.0, before + noise)
    weight = np.where(new, 1.0, np.divide(before, both, out=np.zeros_like(both), where=both > 0))
    numbers[at] += weight * (values - numbers[at])
    variances[at] = np.where(new, noise, weight * noise)


def _parts(sources: Sequence[MomentSource], columns: Sequence[str]) -> Iterator[MomentSource]:
    """List parts of sources on some columns; none where other columns must have a value."""
    for source in sources:
        common = set(source.scores.columns) & set(columns)
        if common and set(source.scores.complete) <= common:
            yield source.part(tuple(common))


def _places(own: FeatureMap, wanted: FeatureMap) -> Integers:
    """Find the places of the numbers of some scores among others; `FREE` where there is none."""
    score = _same_scores(own, wanted)
    counted, sums, products, squares, coded = wanted.order.places
    pair = np.full((len(wanted) + 1,) * 2, FREE, dtype=np.int64)  # the last row for no score
    first, second = wanted.pairs
    pair[first, second] = pair[second, first] = products
    square = dict(zip(wanted.numbers.tolist(), squares.tolist(), strict=True))
    by_code = {
        (one.place, one.column, one.state): at
        for at, one in zip(coded.tolist(), wanted.coded, strict=True)
    }
    found = own.order.join(
        (
            counted if len(counted) else np.array([FREE]),
            np.append(sums, FREE)[score],
            pair[score[own.pairs[0]], score[own.pairs[1]]],
            _looked_up(square, score[own.numbers].tolist()),
            _looked_up(by_code, [(int(score[s.place]), s.column, s.state) for s in own.coded]),
        )
    )
    return np.where(_among_the_same(own, wanted), found, FREE)


def _looked_up(places: Mapping[Key, int], keys: Sequence[Key]) -> Integers:
    return np.array([places.get(key, FREE) for key in keys], dtype=np.int64)


def _same_scores(own: FeatureMap, wanted: FeatureMap) -> Integers:
    """Find which of the wanted scores each is; `FREE` for none."""
    known = {_identity(wanted, place): place for place in range(len(wanted))}
    same = [known.get(_identity(own, place), FREE) for place in range(len(own))]
    return np.array(same, dtype=np.int64)


def _identity(scores: FeatureMap, place: int) -> tuple[object, ...]:
    """Return what tells a score from others: its column, its limits, and what each state has."""
    score = scores.each[place]
    first = scores.places(score.column)[0]
    limits = scores.limits[score.column] if score.number else None
    return score.column, limits, scores.tables[score.column][:, place - first].tobytes()


def _among_the_same(own: FeatureMap, wanted: FeatureMap) -> NDArray[np.bool_]:
    """Return whether numbers are sums over the same records, but for some where they are 0."""
    differing = set(own.complete) ^ set(wanted.complete)
    held = np.array([one.column in differing for one in own.each], dtype=np.int64)
    first, second = own.pairs
    coded = np.array([square.place for square in own.coded], dtype=np.int64)
    none, products = np.zeros(1, dtype=np.int64), held[first] + held[second]
    of = own.order.join((none, held, products, held[own.numbers], held[coded]))
    return np.asarray(of == len(differing))


def assumed_moments(
    schema: Schema,
    rows: pl.DataFrame,
    asked: SecondMoments | WeightedMoments,
    columns: Sequence[str],
    stddev: float,
    *,
    pure: bool,
) -> MomentSource:
    """Exact second moments of stated records, with the noise that they would have.

    Args:
        schema: of the records.
        rows: the records: synthetic ones, or drawn from public facts.
        asked: what would be measured.
        columns: those of its columns that matter; and those of which values must be there.
        stddev: of the noise in each number.
        pure: whether the budget has no δ.
    """
    if isinstance(asked, WeightedMoments):
        return _assumed_weighted(schema, rows, asked, columns, stddev, pure=pure)
    kept = tuple(name for name in asked.columns if name in {*columns, *asked.complete})
    records = Records.of(rows, schema, kept)
    if asked.complete:
        known = Records.of(rows, schema, asked.complete).complete()
        records = records.take(known)
    whole = FeatureMap.of(schema, asked.columns, asked.complete, pure=pure, limits=asked.limits)
    scores, _ = whole.part(kept)
    empty = {} if asked.complete else _nobody(schema, rows, kept)
    sums = _sums(scores, schema, records, np.ones(len(records.complete())), empty)
    return MomentSource.from_values(scores, sums, stddev, pure=pure)


def _assumed_weighted(
    schema: Schema,
    rows: pl.DataFrame,
    asked: WeightedMoments,
    columns: Sequence[str],
    stddev: float,
    *,
    pure: bool,
) -> MomentSource:
    """The same of records with weights."""
    weighting = Weighting(asked.column, asked.bound, asked.power, asked.by)
    whole = FeatureMap.of(schema, asked.columns, pure=pure, weighting=weighting)
    scores, _ = whole.part([name for name in asked.columns if name in columns])
    records = Records.of(rows, schema, scores.columns)
    weights = Records.of(rows, schema, (asked.column,)).numbers[asked.column]
    empty = _nobody(schema, rows, scores.columns)
    sums = _sums(scores, schema, records, weighting.ticks(weights) / TICKS, empty)
    return MomentSource.from_values(scores, sums, stddev, pure=pure)


def apart(source: MomentSource, schema: Schema) -> tuple[MomentSource, ...]:
    """Return the expectation of each group of records, as if they were alike; else of all.

    Args:
        source: of all stated records.
        schema: of these.
    """
    weighting = source.scores.weighting
    if weighting is None or not weighting.by:
        return (source,)
    groups = weighting.blocks(schema)
    alike = replace(source, numbers=source.numbers / groups)
    return tuple(replace(alike, group=group) for group in range(groups))


def _nobody(
    schema: Schema, rows: pl.DataFrame, columns: Sequence[str]
) -> dict[str, NDArray[np.bool_]]:
    """Of each column of a slot that may be empty, which units have no member there."""
    found: dict[str, NDArray[np.bool_]] = {}
    for j, slot in enumerate(() if schema.members is None else schema.members.slots, start=1):
        used = [n for n in slot if n in columns and NO_MEMBER in schema.columns[n].codes]
        if used and schema.members is not None:
            found |= dict.fromkeys(used, ~present_in(rows, schema.members, j).to_numpy())
    return found


def _sums(
    scores: FeatureMap,
    schema: Schema,
    records: Records,
    factors: Floats,
    empty: Mapping[str, NDArray[np.bool_]],
) -> Floats:
    """Compute the sums of the records without noise; absences count as evenly spread.

    Args:
        scores: that are summed.
        schema: of the records.
        records: with the columns of the scores.
        factors: with which each record counts, shape (n,).
        empty: column of a slot → which records have no member there, which they all do count as.
    """
    z = score_values(scores, schema, records)
    states = {name: state_of_nobody(schema.columns[name]) for name in empty}
    for name, rows in empty.items():
        own = scores.tables[name][states[name]] / UNIT
        own[: isinstance(schema.columns[name], NUMERIC)] = 0  # who is not there has no number
        places = np.array(scores.places(name), dtype=np.int64)
        z[np.ix_(np.flatnonzero(rows), places)] = own
    first, second = scores.pairs
    present = [records.states[scores.each[k].column] != ABSENT for k in scores.numbers]
    squares = [
        (factors[own] * (2 * z[own, k] ** 2 - 1)).sum()
        for own, k in zip(present, scores.numbers, strict=True)
    ]
    counted, absent = np.array([factors.sum()]), np.zeros(len(scores.coded))
    for k, square in enumerate(scores.coded):
        if states.get(square.column) == square.state:
            own = records.states[scores.each[square.place].column] != ABSENT
            own = own & empty[square.column]
            absent[k] = (factors[own] * (z[own, square.place] ** 2 - 0.5)).sum()
    products = (z.T @ (factors[:, None] * z))[first, second]
    parts: list[Floats] = [counted, factors @ z, products, np.array(squares), absent]
    return np.asarray(scores.order.join(parts) * scores.factors)


def score_values(scores: FeatureMap, schema: Schema, records: Records) -> Floats:
    """Scores of records, shape (records, scores); 0 where a value is absent."""
    blocks = []
    for name in scores.columns:
        column, states = schema.columns[name], records.states[name]
        block = scores.tables[name][states] / UNIT
        if isinstance(column, NUMERIC):
            low, high = scores.limits[name]
            numbers = np.clip(records.numbers[name], low, high)
            block[:, 0] = (numbers - (low + high) / 2) / ((high - low) / 2 or 1.0)
        block[states == ABSENT] = 0
        blocks.append(block)
    return np.hstack(blocks)


FIRM = 3.0
"""Least denominator, in standard deviations of its noise, of which an interval is given."""
FIRM_MODEL = 6.0
"""The same of the information of a logistic or Poisson model, in its weakest direction."""
_FURTHEST = 20.0  # times the noise, beyond which no factor is named


class LostInNoiseError(InferenceError):
    """A question that second moments have an answer to, which is lost in their noise.

    Attributes:
        short: how far what has to stand out from its noise falls short, in standard deviations of
            it; infinite where that is not known.
    """

    short: float = float("inf")


def refuse_lost(what: str, firmness: float, needed: float = FIRM) -> LostInNoiseError:
    """The refusal of what does not stand out from its noise, and what would make it.

    What is measured grows with the number of records, its noise falls with ε: so both are called
    for in the same proportion.

    Args:
        what: does not stand out, as the beginning of a sentence.
        firmness: how far it does, in standard deviations of its noise.
        needed: how far it must.

    Example:
        >>> str(refuse_lost("A group is too small", 1.5)).partition(": ")[2]
        'coarser levels, fewer columns, or about 2.0 times the ε or the number of records would do.'
    """
    factor = needed / firmness if firmness > 0 else float("inf")
    more = (
        f", or about {factor:.1f} times the ε or the number of records"
        if factor <= _FURTHEST
        else ""
    )
    error = LostInNoiseError(
        f"{what} (about {max(firmness, 0.0):.1f} standard deviations of noise above 0; "
        f"{needed:g} are needed): coarser levels, fewer columns{more} would do."
    )
    error.short = needed - firmness
    return error
