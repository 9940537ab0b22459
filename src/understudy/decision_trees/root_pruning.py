"""Which roots of an ordered column may still win, by halving its thresholds.

Let L(t) and R(t) be the smallest costs of the two sides of a root x ≤ t, over trees of one level
less. A point that comes in never lowers a smallest cost (`tree_class`, for both labels alike), so L
rises and R falls in t, and no root strictly between t' and t'' costs less than L(t') + R(t''). The
thresholds are halved again and again, and an interval is given up as soon as that bound reaches the
best cost so far. Computed values are monotone too (`leaf`), so that rounding loses nothing.

The stack is an array of shape (129, 4): line 0 begins with the number of open intervals; the others
hold an interval each: t', t'', L(t') and R(t''). An interval that is taken off stays behind the
last open one until it is split.
"""

from __future__ import annotations

import numpy as np

from understudy.arrays import Floats
from understudy.decision_trees.leaf_impurity import compiled


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
