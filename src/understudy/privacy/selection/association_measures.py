"""How strongly the rows and columns of one contingency table go together, in records.

Three statistics and what is needed of their sensitivity; proofs in
`understudy.privacy.selection.dependence_scores`. Each is computed in whole numbers, so that its
value does not depend on the order of the sums.

Source: Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017), PrivBayes, ACM TODS 42(4), §4 and §5.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise.rejection_sampling import compiled

_Integers = NDArray[np.int64]

_LATTICE: Final = 2.0**-16
"""Step to which the terms of the mutual information are rounded, in bits. Public."""


def information_sensitivity(n_rows: int, *, binary: bool) -> Fraction:
    """Δ of the mutual information of up to n records, in bits times records, rounded up.

    Args:
        n_rows: public number of rows, or public limit of it.
        binary: whether X or Π has at most two levels in all candidates.

    Example:
        Of ten records, 10 times the paper's bounds:

        >>> [round(float(information_sensitivity(10, binary=b)), 3) for b in (True, False)]
        [4.691, 7.525]
    """
    n = max(n_rows, 1)
    exact = _step(n) if binary else 2 * _step((n + 1) / 2)
    # Rounding of each term, and that of x·log₂ x itself.
    rounding = 12 * (_LATTICE + max(1.0, n * math.log2(n)) * 2.0**-49)
    return Fraction(math.ceil((exact + rounding) * 1_000), 1_000)


def _step(k: float) -> float:
    """Return g(k) = k log₂ k - (k-1) log₂(k-1), which is 0 at 1."""
    return math.log2(k) - (k - 1) * math.log1p(-1 / k) / math.log(2) if k > 1 else 0.0


def mutual_information(counts: _Integers) -> float:
    """Mutual information in bits, times the number of records.

    Args:
        counts: shape (levels, parent combinations).

    Example:
        >>> float(mutual_information(np.array([[2, 0], [1, 1]])) / 4).__round__(4)
        0.3113
    """
    flat, rows, columns = _parts(counts)
    separate = _entropy(rows) + _entropy(columns)
    return (_entropy(flat) + _entropy(counts.sum(keepdims=True)) - separate) * _LATTICE


def distance_from_independence(counts: _Integers) -> float:
    """Half the L1 distance from the table with the same margins and no dependence, in records.

    Args:
        counts: shape (levels, parent combinations).

    Example:
        >>> distance_from_independence(np.array([[2, 0], [1, 1]])) / 4
        0.25
    """
    flat, rows, columns = _parts(counts)
    total = int(rows.sum())
    if total >= 2**31:  # n² does not fit: the same sum in integers of any size
        over = counts.astype(object) * total - np.outer(rows.astype(object), columns.astype(object))
        return int(over[over > 0].sum()) / total
    return int(_excess(flat, rows, columns, total)) / total if total else 0.0


def distance_from_dependence(counts: _Integers) -> float:
    """Minus half the L1 distance from the nearest table of maximal mutual information, in records.

    Args:
        counts: shape (2, parent combinations).

    Example:
        >>> distance_from_dependence(np.array([[2, 0], [0, 2]]))
        0.0
        >>> distance_from_dependence(np.array([[2, 0], [1, 1]]))
        -1.0
    """
    return -int(_least_misfit(counts, int(counts.sum()))) / 2


def _parts(counts: _Integers) -> tuple[_Integers, _Integers, _Integers]:
    """The cells in C order, row sums and column sums."""
    return counts.reshape(-1), counts.sum(axis=1), counts.sum(axis=0)


def _entropy(counts: _Integers) -> int:
    return int(_rounded_entropy(counts.reshape(-1), 1 / _LATTICE))


@compiled
def _rounded_entropy(counts: _Integers, steps: float) -> int:
    """Return Σ k log₂ k, each term a whole number of lattice steps."""
    total = 0
    for k in counts:
        if k > 1:
            total += int(np.rint(k * np.log2(k) * steps))
    return total


@compiled
def _excess(flat: _Integers, rows: _Integers, columns: _Integers, total: int) -> int:
    """Return n times Σ (c - r sᵀ/n)₊: only occupied cells have a positive part."""
    result = 0
    at = 0
    for i in range(rows.size):
        for j in range(columns.size):
            if flat[at] > 0:
                over = flat[at] * total - rows[i] * columns[j]
                if over > 0:
                    result += over
            at += 1
    return result


@compiled
def _least_misfit(counts: _Integers, total: int) -> int:
    """Return min over assignments of (n - 2K₀)₊ + (n - 2K₁)₊, by the largest K₁ for each K₀.

    K₀ beyond n/2 counts as n/2, rounded up.
    """
    top = (total + 1) // 2
    best = np.full(top + 1, -1, dtype=np.int64)
    best[0] = 0
    reach = 0
    for j in range(counts.shape[1]):
        zero, one = counts[0, j], counts[1, j]
        if zero + one == 0:
            continue
        further = min(top, reach + zero)
        beyond = -1
        for k in range(max(0, top - zero), reach + 1):
            beyond = max(beyond, best[k])
        for k in range(further, -1, -1):
            stay = best[k] + one if best[k] >= 0 else -1
            best[k] = max(stay, best[k - zero]) if k >= zero else stay
        if further == top:
            best[top] = max(best[top], beyond)
        reach = further
    least = 2 * total
    for k in range(reach + 1):
        if best[k] >= 0:
            least = min(least, max(0, total - 2 * k) + max(0, total - 2 * best[k]))
    return least
