"""Programs of steps on tables that lie in one array, run by one kernel.

A step joins a table with a smaller one of some of its columns (sums, products and maxima), or
changes two tables cell by cell. What differs between uses is the program: the one kernel that runs
them all is compiled once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from understudy.arrays import Floats, Integers, compiled

FORBIDDEN = -1e300
"""Stands for the logarithm of 0: sums of it stay finite."""
_LOWEST = 2 * FORBIDDEN
_IMPOSSIBLE = -1e200
_LEAST_SHARE = 1e-150
_CHUNK = 512

_LEAST_LOG = -345.0
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93145751953125e-1
_LN2_LOW = 1.42860682030941723212e-6
_SHIFT = 6755399441055744.0
"""1.5·2⁵²: adding it rounds to a whole number and leaves that in the low bits."""

ADD: Final = 0
"""Add the smaller table to the larger."""
MULTIPLY: Final = 1
"""Multiply the larger table by the smaller."""
SUM: Final = 2
"""The smaller table becomes the sums of the larger."""
LARGEST: Final = 3
"""The smaller table becomes the largest cells of the larger."""
EXPONENTIATE: Final = 4
"""x becomes e^x."""
NEGATE: Final = 5
"""y becomes −x; 0 where x is the logarithm of 0."""
ADD_LOG: Final = 6
"""Add log y to x; that of 0 where y is not positive."""
DIVIDE: Final = 7
"""y becomes x / y; 0 where either is 0, or nearly."""
SCALE: Final = 8
"""Divide x by a number."""
MOVE: Final = 9
"""Add a number times x to y."""

Span = tuple[int, int]
"""Where the cells of a table start, and their end."""
Link = tuple[Sequence[int], Sequence[int]]
"""Cells along groups of neighbouring axes of the larger table, two groups or more, the last is
innermost; and how far one goes in the smaller along each, 0 where it is summed over."""


class Program(NamedTuple):
    """What the kernel runs.

    Attributes:
        steps: of each its kind, start and end of the first table (x, or the larger), start and end
            of the second, where its link starts, and its end; shape (steps, 7).
        numbers: of each step, shape (steps,).
        extents: of all links, one after the other.
        strides: the same.
    """

    steps: Integers
    numbers: Floats
    extents: Integers
    strides: Integers

    def run(self, memory: Floats) -> None:
        """Run it on the tables in an array."""
        # Allocated here: kernels that allocate nothing are compiled sooner.
        digits = np.zeros((self.steps[:, 6] - self.steps[:, 5]).max(initial=0), dtype=np.int64)
        scale = np.empty(_CHUNK)
        _run(self, memory, digits, (scale, scale.view(np.int64)))


class Recipe:
    """A program in the making."""

    def __init__(self) -> None:
        self._steps: list[tuple[int, ...]] = []
        self._numbers: list[float] = []
        self._extents: list[int] = []
        self._strides: list[int] = []

    def join(self, kind: int, large: Span, small: Span, link: Link) -> None:
        """Join two tables, in one of the ways up to `LARGEST`."""
        start = len(self._extents)
        self._extents += link[0]
        self._strides += link[1]
        self._steps.append((kind, *large, *small, start, len(self._extents)))
        self._numbers.append(0.0)

    def change(self, kind: int, x: Span, y: Span = (0, 0), number: float = 0.0) -> None:
        """Change a table, or two of as many cells, in one of the other ways."""
        self._steps.append((kind, *x, *y, 0, 0))
        self._numbers.append(number)

    def program(self) -> Program:
        """What is to be run."""
        steps = np.array(self._steps, dtype=np.int64).reshape(-1, 7)
        extents = np.array(self._extents, dtype=np.int64)
        strides = np.array(self._strides, dtype=np.int64)
        return Program(steps, np.array(self._numbers, dtype=np.float64), extents, strides)


@compiled(fastmath={"nnan", "ninf", "nsz", "reassoc"})
def _run(program: Program, memory: Floats, digits: Integers, work: tuple[Floats, Integers]) -> None:
    """One step after the other.

    Args:
        program: the steps.
        memory: the tables.
        digits: zeros, and zeros again in the end; as many as the longest link has groups.
        work: see `exponentiate`.
    """
    steps, numbers, all_extents, all_strides = program
    scale, bits = work
    for i in range(len(steps)):
        kind = steps[i, 0]
        x, y = memory[steps[i, 1] : steps[i, 2]], memory[steps[i, 3] : steps[i, 4]]
        if kind == EXPONENTIATE:
            exponentiate(x, scale, bits)
        elif kind > EXPONENTIATE:
            _change(kind, x, y, numbers[i])
        else:
            first, end = steps[i, 5], steps[i, 6]
            _join(kind, x, y, (all_extents[first:end], all_strides[first:end]), digits)


@compiled(inline="always")
def _change(kind: int, x: Floats, y: Floats, number: float) -> None:
    """Cell by cell."""
    for k in range(len(x)):
        if kind == NEGATE:
            y[k] = -x[k] if x[k] > _IMPOSSIBLE else 0.0
        elif kind == ADD_LOG:
            x[k] = x[k] + np.log(y[k]) if y[k] > 0 else FORBIDDEN
        elif kind == DIVIDE:
            y[k] = x[k] / y[k] if x[k] > _LEAST_SHARE and y[k] > 0 else 0.0
        elif kind == SCALE:
            x[k] /= number
        else:
            y[k] += number * x[k]


@compiled(inline="always")
def _join(
    kind: int, large: Floats, small: Floats, link: tuple[Integers, Integers], digits: Integers
) -> None:
    """Run by run of the larger table."""
    extents, strides = link
    last = len(extents) - 1
    rows, width = extents[last - 1], extents[last]
    if kind >= SUM:
        small[:] = 0.0 if kind == SUM else _LOWEST
    start, base = 0, 0
    while start < len(large):
        at = base
        for _ in range(rows):
            row = large[start : start + width]
            if strides[last] == 0:
                _join_cell(kind, row, small, at)
            else:
                _join_row(kind, row, small[at : at + width])
            start += width
            at += strides[last - 1]
        for k in range(last - 2, -1, -1):  # count on over the other groups
            digits[k] += 1
            base += strides[k]
            if digits[k] < extents[k]:
                break
            base -= strides[k] * extents[k]
            digits[k] = 0


@compiled(inline="always")
def _join_row(kind: int, row: Floats, other: Floats) -> None:
    """A run whose cells belong to one cell each."""
    if kind == ADD:
        for j in range(len(row)):
            row[j] += other[j]
    elif kind == MULTIPLY:
        for j in range(len(row)):
            row[j] *= other[j]
    elif kind == SUM:
        for j in range(len(row)):
            other[j] += row[j]
    else:
        for j in range(len(row)):
            other[j] = row[j] if row[j] > other[j] else other[j]


@compiled(inline="always")
def _join_cell(kind: int, row: Floats, small: Floats, at: int) -> None:
    """A run whose cells all belong to one."""
    value = small[at]
    if kind == ADD:
        for j in range(len(row)):
            row[j] += value
    elif kind == MULTIPLY:
        for j in range(len(row)):
            row[j] *= value
    elif kind == SUM:
        total = 0.0
        for j in range(len(row)):
            total += row[j]
        small[at] = value + total
    else:
        for j in range(len(row)):
            value = row[j] if row[j] > value else value
        small[at] = value


@compiled
def exponentiate(numbers: Floats, scale: Floats, bits: Integers) -> None:
    """Raise e to numbers up to 0, in place; 0 where it would be below e⁻³⁴⁵.

    The library's function is called once for each number; this one is compiled to vector
    instructions. e^x = 2^k·e^r with |r| ≤ ln 2 / 2, and a Taylor polynomial of degree 13 (an error
    of 5e−18, less than rounding) for e^r. No fast-math here: it would undo the rounding.

    Args:
        numbers: shape (n,).
        scale: written to; chunks of its length are raised at once.
        bits: the same memory as whole numbers.
    """
    for start in range(0, len(numbers), len(scale)):
        x = numbers[start : start + len(scale)]
        for i in range(len(x)):
            scale[i] = (x[i] if x[i] > _LEAST_LOG else _LEAST_LOG) * _LOG2_E + _SHIFT
        for i in range(len(x)):
            k = scale[i] - _SHIFT
            r = ((x[i] if x[i] > _LEAST_LOG else _LEAST_LOG) - k * _LN2_HIGH) - k * _LN2_LOW
            x[i] = _polynomial(r) if x[i] > _LEAST_LOG else 0.0
        for i in range(len(x)):
            bits[i] = (bits[i] + 1023) << 52
        for i in range(len(x)):
            x[i] *= scale[i]


@compiled(no_cpython_wrapper=True, fastmath={"contract"})
def _polynomial(r: float) -> float:
    """Taylor's, degree 13."""
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    return p * r + 1.0
