"""A design whose rows share their halves, so that sums over records are sums over few patterns.

Predictors that are states of a few columns make many different rows, but few different first
halves and few different second halves. Both are kept once. Then x'β costs one addition a record,
and Σ_i w_i x_i x_i' one product of a weight and a half row: with halves a_g and b_h of the records'
patterns g(i) and h(i), and W_g = Σ w_i over the records of g,

    Σ w aa' = Σ_g W_g a_g a_g',   Σ w bb' = Σ_h W_h b_h b_h',   Σ w ba' = Σ_g T_g a_g',

T_g = Σ w_i b_{h(i)} over the records of g. Where no two records are alike, as with measured
numbers, the sums are as right, and as slow as without.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.privacy.noise.rejection_sampling import compiled
from understudy.privacy.samplers.column_model import Floats, Integers

_Half = tuple[Integers, Floats]
"""Pattern of each record, shape (n,), and the patterns, shape (patterns, columns)."""


@dataclass(frozen=True, eq=False)
class GroupedDesign:
    """Rows by the patterns of their halves.

    Attributes:
        first: of the first columns.
        second: of the others.

    Example:
        >>> x = np.array([[1.0, 0.0, 2.0], [1.0, 1.0, 2.0], [1.0, 0.0, 3.0]])
        >>> grouped = GroupedDesign.of(x)
        >>> grouped.fitted(np.array([1.0, 10.0, 100.0])).tolist()
        [201.0, 211.0, 301.0]
        >>> lower, right = grouped.sums(np.array([1.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.0]))
        >>> lower.tolist(), right.tolist()
        ([[4.0, 0.0, 0.0], [1.0, 1.0, 0.0], [10.0, 2.0, 26.0]], [1.0, 0.0, 2.0])
    """

    first: _Half
    second: _Half

    @classmethod
    def of(cls, design: Floats) -> GroupedDesign:
        """Group the rows of a design of shape (n, p), cut where both halves have like many."""
        first, second = _runs(design), _runs(design[:, ::-1])
        p = design.shape[1]
        cut = next((k for k in range(p) if _count(first[k]) > _count(second[p - k])), p)
        cut = max(cut - 1, 0)
        return cls(_half(design[:, :cut], first[cut]), _half(design[:, cut:], second[p - cut]))

    def fitted(self, coefficients: Floats) -> Floats:
        """x'β, shape (n,)."""
        (a, of_a), (b, of_b) = self.first, self.second
        cut = of_a.shape[1]
        sums = (of_a @ coefficients[:cut])[a]
        sums += (of_b @ coefficients[cut:])[b]
        return np.asarray(sums)

    def sums(self, squares: Floats, products: Floats) -> tuple[Floats, Floats]:
        """Σ v xx', of which only the lower part is right, and Σ w x.

        Args:
            squares: v, shape (n,).
            products: w, shape (n,).

        Returns:
            Shapes (p, p) and (p,).
        """
        (a, of_a), (b, of_b) = self.first, self.second
        matrix: Floats = _squares((a, b), (of_a, of_b), squares)
        of_first = np.bincount(a, products, minlength=len(of_a)) @ of_a
        of_second = np.bincount(b, products, minlength=len(of_b)) @ of_b
        return matrix, np.concatenate([of_first, of_second])


def _runs(design: Floats) -> list[Integers]:
    """The pattern of each record in the first 0, 1, …, p columns; p + 1 arrays of shape (n,)."""
    runs = [np.zeros(len(design), dtype=np.int64)]
    for column in design.T:
        values, places = np.unique(column, return_inverse=True)
        _, patterns = np.unique(runs[-1] * len(values) + places, return_inverse=True)
        runs.append(patterns.astype(np.int64))
    return runs


def _count(patterns: Integers) -> int:
    return int(patterns.max(initial=-1)) + 1


def _half(part: Floats, patterns: Integers) -> _Half:
    of = np.empty((_count(patterns), part.shape[1]))
    of[patterns] = part
    return patterns, of


@compiled
def _squares(
    places: tuple[Integers, Integers], patterns: tuple[Floats, Floats], weights: Floats
) -> Floats:
    """Σ v xx' in its lower part, shape (p, p) (kernel)."""
    (a, b), (of_a, of_b) = places, patterns
    cut, rest = of_a.shape[1], of_b.shape[1]
    in_a, in_b = np.zeros(len(of_a)), np.zeros(len(of_b))
    across = np.zeros((len(of_a), rest))
    for i in range(weights.size):
        g, h, weight = a[i], b[i], weights[i]
        in_a[g] += weight
        in_b[h] += weight
        for j in range(rest):
            across[g, j] += weight * of_b[h, j]
    matrix = np.zeros((cut + rest, cut + rest))
    _add_squares(in_a, of_a, matrix[:cut, :cut])
    _add_squares(in_b, of_b, matrix[cut:, cut:])
    for g in range(len(of_a)):
        for j in range(rest):
            part = across[g, j]
            for m in range(cut):
                matrix[cut + j, m] += part * of_a[g, m]
    return matrix


@compiled
def _add_squares(weights: Floats, patterns: Floats, matrix: Floats) -> None:
    """Add Σ_g W_g a_g a_g' to the lower part of a matrix (kernel)."""
    for g in range(len(weights)):
        for j in range(patterns.shape[1]):
            part = weights[g] * patterns[g, j]
            if part != 0.0:
                for m in range(j + 1):
                    matrix[j, m] += part * patterns[g, m]
