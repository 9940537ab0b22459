"""The impurity of one leaf, what follows from its sum, and how the kernels are compiled.

A leaf with a synthetic and b original points has ab/(a + b): the sum of squared errors of the 0/1
label around its mean in the leaf, and (a + b)/2 times the Gini index 2·a·b/(a + b)² (Breiman et
al. 1984). An empty leaf has 0.

In double precision a·b is exact up to 2⁵³ and the quotient is correctly rounded, so that the
computed value, too, never falls when a point comes in, and nor do sums and minima of such values.
Every exact class of this room therefore returns a value that is a function of the counts alone
(whatever branches of the search were cut off), is monotone as a computed number, and lies within
k·2⁻⁵³ of the true one, relatively, for a tree of k leaves (2k·2⁻⁵³ with a penalty). Rounded
divisions and sums are not reordered: kernels are compiled without the rules that would allow it.

The smallest sum over the leaves (SSE) gives pMSE; `tree_class` proves the sensitivity of both.

Which roots of an ordered column may still win is found by halving its thresholds. Let L(t) and R(t)
be the smallest costs of the two sides of a root x ≤ t, over trees of one level less. A point that
comes in never lowers a smallest cost (`tree_class`, for both labels alike), so L rises and R falls
in t, and no root strictly between t' and t'' costs less than L(t') + R(t''). The thresholds are
halved again and again, and an interval is given up as soon as that bound reaches the best cost so
far. Computed values are monotone too (`leaf`), so that rounding loses nothing.

The stack is an array of shape (129, 4): line 0 begins with the number of open intervals; the others
hold an interval each: t', t'', L(t') and R(t''). An interval that is taken off stays behind the
last open one until it is split.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy import arrays
from understudy.arrays import Floats

Counts = NDArray[np.int32]
Codes = NDArray[np.int32]

compiled = arrays.compiled(fastmath={"nnan", "nsz"})
"""Compile a kernel of this room.

Division by zero cannot happen and is not looked for, and no number is NaN: both let loops run in
vector registers without changing a value.
"""


@compiled
def leaf(a: float, b: float) -> float:
    """a·b/(a + b), 0 for an empty leaf (kernel)."""
    size = a + b
    return a * b / max(size, 1.0)


@compiled
def least(costs: Floats, spare: Floats) -> float:
    """The smallest of some costs, ∞ of none; `spare` is scratch (kernel).

    Numbers that are not negative are in the order of their bits, and whole numbers are compared
    many at a time.
    """
    spare[0] = np.inf
    bits, least = costs.view(np.int64), spare[:1].view(np.int64)
    best = least[0]
    for k in range(len(bits)):
        best = min(best, bits[k])
    least[0] = best
    return float(spare[0])


_Number = TypeVar("_Number", float, Floats)


def pmse(sse: _Number, n_original: int, n_synthetic: int) -> _Number:
    """c(1 − c) − SSE/N: the mean squared distance of a tree's propensity scores from c.

    N = n + ñ points, of which a share c = ñ/N is synthetic; a leaf's propensity score is its share
    of synthetic points. For ñ = n this is 1/4 − SSE/N. The total sum of squares N·c(1 − c) is that
    within leaves (SSE) and that between them (N·pMSE).

    Args:
        sse: Σ ab/(a + b) over the leaves, of any shape.
        n_original: n, not negative.
        n_synthetic: ñ, not negative.

    Returns:
        pMSE, of the same shape; 0 where there are no points.

    Source:
        Snoke & Slavković (2018), "pMSE Mechanism: Differentially Private Synthetic Data with
        Maximal Distributional Similarity", section 3.

    Example:
        >>> from understudy.decision_trees import Stumps
        >>> sse = Stumps().smallest_sse([[0], [0], [1]], [[0], [1], [1]])
        >>> round(sse, 6), round(pmse(sse, 3, 3), 6)
        (1.333333, 0.027778)
    """
    total = n_original + n_synthetic
    if total == 0:
        return sse * 0.0
    return (n_original / total) * (n_synthetic / total) - sse / total


def sensitivity(n_synthetic: int) -> Fraction:
    """ñ/(ñ + 1): by how much the smallest SSE of a fixed class moves with one original record.

    It holds when one record is replaced, and when one is added or removed, where the smallest SSE
    can only rise with an added one; both bounds are attained. In units of pMSE with ñ = n, for a
    replaced record: 1/(2(n + 1)).
    """
    return Fraction(n_synthetic, n_synthetic + 1)


@compiled
def all_cuts(cuts: int, penalty: float) -> Floats:
    """A stack with all cuts 0 … cuts − 1; an empty side is a leaf (kernel)."""
    stack = np.empty((129, 4))  # fewer than 2³¹ cuts: each halving leaves one interval behind
    stack[0, 0] = 1.0
    stack[1] = np.array([-1.0, float(cuts), penalty, penalty])
    return stack


@compiled
def next_cut(stack: Floats, best: float) -> int:
    """The middle of an interval that may hold a cost below the best; −1 if there is none (kernel).

    The interval is taken off.
    """
    while stack[0, 0] > 0:
        low, high, below, above = stack[int(stack[0, 0])]
        stack[0, 0] -= 1.0
        if high - low >= 2 and below + above < best:
            return int(low + high) // 2
    return -1


@compiled
def bound_above(stack: Floats) -> float:
    """What the right side costs at least, of all roots in the interval just taken off (kernel)."""
    return float(stack[int(stack[0, 0]) + 1, 3])


@compiled
def split(stack: Floats, cut: int, left: float, right: float) -> None:
    """Put back the two parts of the interval just taken off, given costs at the cut (kernel)."""
    last = int(stack[0, 0]) + 1
    stack[last + 1, 0], stack[last + 1, 1] = cut, stack[last, 1]
    stack[last + 1, 2], stack[last + 1, 3] = left, stack[last, 3]
    stack[last, 1], stack[last, 3] = cut, right
    stack[0, 0] += 2.0
