"""Second moments of the records that have a value of each of some columns.

With indicators 1_j of the absence of column j, what is wanted is Σ z_a z_b Π_j (1 − 1_j). A row of
column c is 0 already where c is absent, so only the other columns take part. Expanded, of products
of at most two columns all is measured: Σ z_a 1_j, Σ 1_j 1_j', and by squares among the records with
a code Σ z_a² 1_j. So where two columns are asked about, everything is known. With three or more
there are terms of three columns that are not:

* Σ z_a z_b 1_j, estimated as if a value were absent whatever the others are: as the share of j
  absent times Σ z_a z_b. Off by at most the records without j times the largest difference that a
  record can make;
* Σ z_a 1_j 1_j' and the like, for two absent values in one record: left out, so off by at most as
  many records times what one can make.

`CompleteCases.hidden` bounds both by the counts of such records, as measured plus twice the
standard deviation of their noise, and by the range of the scores. Nothing is assumed of who lacks a
value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from understudy.arrays import Floats, Integers

_FIRMLY = 2.0
Entries = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class CompleteCases:
    """Which records are wanted.

    Attributes:
        columns: rows of the matrix that belong to each column.
        absent: columns that must have a value, each with the rows of its codes.
        numeric: columns of numbers; the number has the first of their rows.
    """

    columns: Mapping[str, Integers]
    absent: Mapping[str, Sequence[int]]
    numeric: frozenset[str]

    def sums(self, whole: Floats, squares: Mapping[tuple[int, int], float]) -> Floats:
        """The matrix of the wanted records.

        Args:
            whole: that of all records, shape (R, R).
            squares: sums of squares of a number among records with a code, by rows.
        """
        wanted, names = whole.copy(), list(self.absent)
        wanted[0, 0] -= sum(self._sum(whole, self._absences(name)) for name in names)
        wanted[0, 0] += sum(self._sum(whole, self._both(*two)) for two in combinations(names, 2))
        shares = {name: self._sum(whole, self._absences(name)) / whole[0, 0] for name in names}
        for name, rows in self.columns.items():
            others = self._codes_beside(name)
            wanted[0, rows] -= whole[others][:, rows].sum(axis=0)
            wanted[rows, rows] = wanted[0, rows]
            if name in self.numeric:
                number = int(rows[0])
                left_out = sum(squares[number, code] for code in others)
                wanted[number, number] = whole[number, number] - left_out
        for one, other in combinations(self.columns, 2):
            kept = 1 - sum(shares[name] for name in names if name not in (one, other))
            wanted[np.ix_(self.columns[one], self.columns[other])] *= kept
        for codes in map(list, self.absent.values()):
            wanted[codes] = wanted[:, codes] = 0
        upper = np.triu(wanted)
        return np.asarray(upper + np.triu(wanted, 1).T)

    def pulled(
        self, derivatives: Floats, whole: Floats
    ) -> tuple[Floats, dict[tuple[int, int], Floats]]:
        """Derivatives in the matrix of all records, and in the squares among records with a code.

        Args:
            derivatives: in the matrix of the wanted records, symmetric, shape (q, R, R).
            whole: matrix of all records.
        """
        names, own = list(self.absent), derivatives.copy()
        for codes in map(list, self.absent.values()):
            own[:, codes] = own[:, :, codes] = 0
        free, slopes = own.copy(), {}
        n = own[:, 0, 0]
        for name in names:
            _add(free, self._absences(name), -n)
        for two in combinations(names, 2):
            _add(free, self._both(*two), n)
        for name, rows in self.columns.items():
            for row, code in product(rows.tolist(), self._codes_beside(name)):
                _add(free, ((row, code),), -2 * own[:, 0, row])
                if name in self.numeric and row == rows[0]:
                    slopes[row, code] = -own[:, row, row]
                else:
                    _add(free, ((row, code),), -own[:, row, row])
        for one, other in combinations(self.columns, 2):
            block = np.ix_(np.arange(len(own)), self.columns[one], self.columns[other])
            back = np.ix_(np.arange(len(own)), self.columns[other], self.columns[one])
            entries = whole[np.ix_(self.columns[one], self.columns[other])] / whole[0, 0]
            for name in names:
                if name not in (one, other):
                    share = self._sum(whole, self._absences(name)) / whole[0, 0]
                    free[block] -= share * own[block]
                    free[back] -= share * own[back]
                    slope = -2 * (own[block] * entries).sum(axis=(1, 2))
                    _add(free, self._absences(name), slope)
        return free, slopes

    def counted(self) -> list[Entries]:
        """Sums of entries whose noise `hidden` asks for."""
        names = list(self.absent)
        pairs = [self._both(*two) for two in combinations(names, 2)]
        return [self._absences(name) for name in names] + pairs

    def hidden(self, derivatives: Floats, whole: Floats, errors: Mapping[Entries, float]) -> Floats:
        """Bounds on what is not measured, to first order.

        Args:
            derivatives: in the matrix of the wanted records, shape (q, R, R).
            whole: matrix of all records.
            errors: standard deviation of the noise in each of `counted`.

        Returns:
            Shape (q,).
        """
        names, n = list(self.absent), whole[0, 0]
        free = np.abs(derivatives + derivatives.transpose(0, 2, 1))
        for codes in map(list, self.absent.values()):
            free[:, codes] = free[:, :, codes] = 0
        most = {
            name: max(0.0, self._sum(whole, at) + _FIRMLY * errors[at])
            for name in names
            for at in [self._absences(name)]
        }
        sizes = {
            (one, other): self._largest(free, whole / n, one, other)
            for one, other in combinations(self.columns, 2)
        }
        bound = np.zeros(len(free))
        for name in names:
            bound += most[name] * sum(
                (size for pair, size in sizes.items() if name not in pair), np.zeros(len(free))
            )
        for two in combinations(names, 2):
            at = self._both(*two)
            both = max(0.0, self._sum(whole, at) + _FIRMLY * errors[at])
            others = [name for name in self.columns if name not in two]
            if others:
                one = sum(self._alone(free, name) for name in others)
                pairs = sum(size for size in sizes.values())
                third = free[:, 0, 0] / 2 * (len(names) > 2)
                bound += min(both, *(most[name] for name in two)) * (one + pairs + third)
        return np.asarray(bound)

    def _largest(self, free: Floats, share: Floats, one: str, other: str) -> Floats:
        """The most that a product of two columns can differ from its mean, times the derivative."""
        block = np.ix_(self.columns[one], self.columns[other])
        slopes = free[:, block[0], block[1]]
        return np.asarray(
            slopes.max(axis=(1, 2)) + (slopes * np.abs(share[block])).sum(axis=(1, 2))
        )

    def _alone(self, free: Floats, name: str) -> Floats:
        """The most that the sum and the square of one column can take of a record."""
        rows = self.columns[name]
        squares = np.diagonal(free[:, rows][:, :, rows], axis1=1, axis2=2) / 2
        return np.asarray((free[:, 0, rows] + squares).max(axis=1))

    def _codes_beside(self, name: str) -> list[int]:
        """Rows of the codes of all columns but one."""
        others = (codes for other, codes in self.absent.items() if other != name)
        return [code for codes in others for code in codes]

    def _absences(self, name: str) -> Entries:
        return tuple((0, row) for row in self.absent[name])

    def _both(self, one: str, other: str) -> Entries:
        return tuple(product(self.absent[one], self.absent[other]))

    @staticmethod
    def _sum(whole: Floats, entries: Entries) -> float:
        return float(sum(whole[place] for place in entries))


def _add(free: Floats, entries: Entries, slope: Floats) -> None:
    """Add a slope in a sum of entries, half of it on each side of the diagonal."""
    for row, column in entries:
        free[:, row, column] += slope / 2
        free[:, column, row] += slope / 2
