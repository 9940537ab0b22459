"""Second moments of the records that have a value of each of some columns.

With indicators 1_j of the absence of column j, what is wanted is Σ z_a z_b Π_j (1 − 1_j). A row of
column c is 0 already where c is absent, so only the other columns take part. Expanded, of products
of at most two columns all is measured: Σ z_a 1_j, Σ 1_j 1_j', and by squares among the records with
a code Σ z_a² 1_j. So where two columns are asked about, everything is known. With three or more
there are terms of three columns that are not:

* Σ z_a z_b 1_j. If a has codes too, only records without j that have a take part, and how many
  there are is measured. Σ z_a z_b 1_j is estimated by their share among the records that have a,
  times Σ z_a z_b, as if a value were absent whatever the others are; of a and b, by the one that
  leaves fewer. Off by at most as many records times the largest difference that one can make.
* Σ z_a 1_j 1_j' and the like, for two absent values in one record: left out, so off by at most as
  many records times what one can make.

**Values that are absent together**, as answers about work are of those without: if most records
without j lack j' too, j is left out of the product, since to have j' says almost everything. That
is off by at most the records without j that have j' (`inside`), where left out terms would be most
of the absences. A schema may say that there are none; then nothing is hidden.

`CompleteCases.bound_hidden` bounds all of this by the counts of such records, as measured plus
twice the standard deviation of their noise, and by the range of the scores. Nothing is assumed of
who lacks a value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np

from understudy._arrays import Floats, Integers

_FIRMLY = 2.0
Entries = tuple[tuple[int, int, float], ...]
"""A weighted sum of entries of a matrix: rows, columns, weights."""
Two = tuple[str, str]


@dataclass(frozen=True, eq=False)
class CompleteCases:
    """Which records are wanted.

    Attributes:
        columns: rows of the matrix that belong to each column.
        absent: columns that must have a value, each with the rows of its codes.
        numeric: columns of numbers; the number has the first of their rows.
        inside: of columns whose absences are almost all absences of another one as well, that one.
        impossible: a column that no record lacks which has the other one.
        nearest: of a column and two others, the one of these which the fewest records without the
            column have; None if neither has codes.
    """

    columns: Mapping[str, Integers]
    absent: Mapping[str, Sequence[int]]
    numeric: frozenset[str]
    inside: Mapping[str, str]
    impossible: frozenset[Two]
    nearest: Mapping[tuple[str, Two], str | None]

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Integers],
        absent: Mapping[str, Sequence[int]],
        numeric: frozenset[str],
        impossible: Collection[Two],
        whole: Floats,
    ) -> CompleteCases:
        """With what counts tell of values that are absent together.

        Args:
            columns: as above, like the next three.
            absent: likewise.
            numeric: likewise.
            impossible: likewise.
            whole: matrix of all records.
        """
        least = {two: _sum(whole, _without(absent, *two)) for two in permutations(absent, 2)}
        least |= dict.fromkeys(set(impossible) & set(least), 0.0)
        size = {name: _sum(whole, _absences(absent, name)) for name in absent}
        inside: dict[str, str] = {}
        for name in sorted(absent, key=lambda name: size[name]) if len(columns) > 2 else ():
            others = [other for other in absent if other != name and other not in inside]
            best = min(others, key=lambda other: least[name, other], default=None)
            if best is not None and least[name, best] < size[name] / 2:
                inside[name] = best
        nearest: dict[tuple[str, Two], str | None] = {}
        for name, two in product(absent, combinations(columns, 2)):
            coded = [one for one in two if one in absent and one != name]
            nearest[name, two] = min(coded, key=lambda one: least[name, one], default=None)
        return cls(columns, absent, numeric, inside, frozenset(impossible), nearest)

    @property
    def names(self) -> list[str]:
        """Columns by which records are left out."""
        return [name for name in self.absent if name not in self.inside]

    def sums(self, whole: Floats, squares: Mapping[tuple[int, int], float]) -> Floats:
        """The matrix of the wanted records.

        Args:
            whole: that of all records, shape (R, R).
            squares: sums of squares of a number among records with a code, by rows.
        """
        wanted, names = whole.copy(), self.names
        wanted[0, 0] -= sum(_sum(whole, _absences(self.absent, name)) for name in names)
        wanted[0, 0] += sum(_sum(whole, _both(self.absent, *two)) for two in combinations(names, 2))
        for name, rows in self.columns.items():
            others = self._codes_beside(name)
            wanted[0, rows] -= whole[others][:, rows].sum(axis=0)
            wanted[rows, rows] = wanted[0, rows]
            if name in self.numeric:
                number = int(rows[0])
                left_out = sum(squares[number, code] for code in others)
                wanted[number, number] = whole[number, number] - left_out
        for two in combinations(self.columns, 2):
            kept = 1 - sum(self._share(whole, name, two) for name in names if name not in two)
            wanted[np.ix_(self.columns[two[0]], self.columns[two[1]])] *= kept
        for codes in map(list, self.absent.values()):
            wanted[codes] = wanted[:, codes] = 0
        upper = np.triu(wanted)
        return np.asarray(upper + np.triu(wanted, 1).T)

    def pull_back(
        self, derivatives: Floats, whole: Floats
    ) -> tuple[Floats, dict[tuple[int, int], Floats]]:
        """Derivatives in the matrix of all records, and in the squares among records with a code.

        Args:
            derivatives: in the matrix of the wanted records, symmetric, shape (q, R, R).
            whole: matrix of all records.
        """
        names, own = self.names, derivatives.copy()
        for codes in map(list, self.absent.values()):
            own[:, codes] = own[:, :, codes] = 0
        free, slopes = own.copy(), {}
        n = own[:, 0, 0]
        for name in names:
            _add(free, _absences(self.absent, name), -n)
        for two in combinations(names, 2):
            _add(free, _both(self.absent, *two), n)
        for name, rows in self.columns.items():
            for row, code in product(rows.tolist(), self._codes_beside(name)):
                _add(free, ((row, code, 1.0),), -2 * own[:, 0, row])
                if name in self.numeric and row == rows[0]:
                    slopes[row, code] = -own[:, row, row]
                else:
                    _add(free, ((row, code, 1.0),), -own[:, row, row])
        for two in combinations(self.columns, 2):
            block = np.ix_(np.arange(len(own)), *(self.columns[name] for name in two))
            back = np.ix_(np.arange(len(own)), *(self.columns[name] for name in two[::-1]))
            total = (own[block] * whole[np.ix_(*(self.columns[name] for name in two))]).sum(
                axis=(1, 2)
            )
            for name in names:
                if name not in two and not self._is_none(name, two):
                    share = self._share(whole, name, two)
                    free[block] -= share * own[block]
                    free[back] -= share * own[back]
                    size = _sum(whole, self._records_with(name, two))
                    _add(free, self._records_without(name, two), -2 * total / size)
                    _add(free, self._records_with(name, two), 2 * total * share / size)
        return free, slopes

    def list_entries(self) -> list[Entries]:
        """Sums of entries whose noise `bound_hidden` asks for."""
        pairs = [_both(self.absent, *two) for two in combinations(self.names, 2)]
        lacking = [
            self._records_without(name, two)
            for name, two in product(self.names, combinations(self.columns, 2))
            if name not in two
        ]
        inside = [_without(self.absent, *two) for two in self.inside.items()]
        alone = [_absences(self.absent, name) for name in self.names]
        return list(dict.fromkeys([*alone, *pairs, *lacking, *inside]))

    def bound_hidden(
        self, derivatives: Floats, whole: Floats, errors: Mapping[Entries, float]
    ) -> Floats:
        """Bounds on what is not measured, to first order.

        Args:
            derivatives: in the matrix of the wanted records, shape (q, R, R).
            whole: matrix of all records.
            errors: standard deviation of the noise in each of `list_entries`.

        Returns:
            Shape (q,).
        """
        free = np.abs(derivatives + derivatives.transpose(0, 2, 1))
        for codes in map(list, self.absent.values()):
            free[:, codes] = free[:, :, codes] = 0

        def most(entries: Entries) -> float:
            return max(0.0, _sum(whole, entries) + _FIRMLY * errors[entries])

        pairs = list(combinations(self.columns, 2))
        bound = np.zeros(len(free))
        for name, two in product(self.names, pairs):
            if name not in two and not self._is_none(name, two):
                size = _sum(whole, self._records_with(name, two))
                bound += most(self._records_without(name, two)) * self._largest(
                    free, whole / size, *two
                )
        largest = {two: self._largest(free, whole / whole[0, 0], *two) for two in pairs}
        for two in combinations(self.names, 2):
            others = [name for name in self.columns if name not in two]
            if others:
                records = min(
                    most(_both(self.absent, *two)),
                    *(most(_absences(self.absent, name)) for name in two),
                )
                third = free[:, 0, 0] / 2 * (len(self.names) > 2)
                bound += records * (self._of_sums(free, others) + sum(largest.values()) + third)
        for name, other in self.inside.items():
            if (name, other) not in self.impossible:
                kept = [two for two in pairs if name not in two]
                each = free[:, 0, 0] / 2 + sum(largest[two] for two in kept)
                others = [one for one in self.columns if one != name]
                records = most(_without(self.absent, name, other))
                bound += records * (each + self._of_sums(free, others))
        return np.asarray(bound)

    def _share(self, whole: Floats, name: str, two: Two) -> float:
        """Of the records that may have both of two columns, those without another one."""
        if self._is_none(name, two):
            return 0.0
        return _sum(whole, self._records_without(name, two)) / _sum(
            whole, self._records_with(name, two)
        )

    def _is_none(self, name: str, two: Two) -> bool:
        """Return whether no record without a column has both of two others."""
        return any((name, other) in self.impossible for other in two)

    def _records_without(self, name: str, two: Two) -> Entries:
        """Records without a column that have the nearest of two others."""
        near = self.nearest[name, two]
        return _absences(self.absent, name) if near is None else _without(self.absent, name, near)

    def _records_with(self, name: str, two: Two) -> Entries:
        """Records that have the nearest of two columns."""
        near = self.nearest[name, two]
        absent = () if near is None else _absences(self.absent, near)
        return ((0, 0, 1.0), *((row, column, -weight) for row, column, weight in absent))

    def _largest(self, free: Floats, share: Floats, one: str, other: str) -> Floats:
        """The most that a product of two columns can differ from its mean, times the derivative."""
        block = np.ix_(self.columns[one], self.columns[other])
        slopes = free[:, block[0], block[1]]
        return np.asarray(
            slopes.max(axis=(1, 2)) + (slopes * np.abs(share[block])).sum(axis=(1, 2))
        )

    def _of_sums(self, free: Floats, names: Sequence[str]) -> Floats:
        """The most that sums and squares of some columns can take of a record."""
        found = np.zeros(len(free))
        for rows in (self.columns[name] for name in names):
            squares = np.diagonal(free[:, rows][:, :, rows], axis1=1, axis2=2) / 2
            found += (free[:, 0, rows] + squares).max(axis=1)
        return found

    def _codes_beside(self, name: str) -> list[int]:
        """Rows of the codes by which records are left out, of all columns but one."""
        return [code for other in self.names if other != name for code in self.absent[other]]


def _absences(absent: Mapping[str, Sequence[int]], name: str) -> Entries:
    """Records without a column."""
    return tuple((0, row, 1.0) for row in absent[name])


def _both(absent: Mapping[str, Sequence[int]], one: str, other: str) -> Entries:
    """Records without either of two columns."""
    return tuple((row, column, 1.0) for row, column in product(absent[one], absent[other]))


def _without(absent: Mapping[str, Sequence[int]], name: str, other: str) -> Entries:
    """Records without a column that have another one."""
    both = ((row, column, -weight) for row, column, weight in _both(absent, name, other))
    return (*_absences(absent, name), *both)


def _sum(whole: Floats, entries: Entries) -> float:
    return float(sum(weight * whole[row, column] for row, column, weight in entries))


def _add(free: Floats, entries: Entries, slope: Floats) -> None:
    """Add a slope in a sum of entries, half of it on each side of the diagonal."""
    for row, column, weight in entries:
        free[:, row, column] += weight * slope / 2
        free[:, column, row] += weight * slope / 2
