"""How isolated a record's value is among those like it: weights by count.

A record i with public pattern p (its combination of predictors) has the isolation risk

    IR_i = share of the records h of pattern p, itself among them, with |y_h - y_i| > r,

the chance that a guess at random among them misses y_i by more than r; and the weight
α_i = 1 - IR_i, the share within r. The only record of a pattern counts itself alone, and so weighs
1: this measure does not see that whoever knows the pattern knows the record.

**Guarantee: none.** A weight is a function of the values of all records of the pattern, and one
record replaced moves them all. The risk rests on how an intruder is supposed to guess; the pseudo
posterior under these weights has a Lipschitz bound (`record_weights` beside this file), which is
as little a guarantee as with any other weights from the rows.

**How it is computed.** Values are sorted within each pattern. The computed difference y_h - y_i
never falls as y_h rises (rounding is monotone), so the records within r are one run, whose two ends
are found by bisection on that very difference: O(n log n), and the same answer as comparing all
pairs, to the last bit.

Sources: Hu & Savitsky (2019), arXiv 1901.06462; the "count-weighted" synthesizer of Savitsky,
Williams & Hu (2020), §4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.noise.rejection_sampling import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]


def isolation_risks(values: Floats, patterns: Integers, radius: float | Floats) -> Floats:
    """IR_i of each record, O(n log n).

    A value that is not a finite number is within r of none, itself included: its risk is 1.

    Args:
        values: y, shape (n,).
        patterns: number of each record's pattern, shape (n,).
        radius: r ≥ 0, in the unit of the values; or one for each record, which is a public
            function of its own value, shape (n,).

    Returns:
        Shape (n,), in [0, 1].

    Raises:
        MethodError: a single radius below 0 or not a number, or lengths that differ.
    """
    if np.ndim(radius) == 0 and not radius >= 0:
        raise MethodError("The radius of the isolation risk must be 0 or more.")
    if values.ndim != 1 or patterns.shape != values.shape:
        raise MethodError("Isolation risks need a pattern for each value.")
    values = np.asarray(values, dtype=np.float64)
    clean = np.where(np.isfinite(values), values, np.inf)
    order = np.lexsort((clean, patterns))
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), values.shape)[order]
    risks = np.empty(len(values))
    risks[order] = _risks(clean[order], _starts(patterns[order]), radii)
    return risks


def count_weights(values: Floats, patterns: Integers, radius: float | Floats) -> Floats:
    """α_i = 1 - IR_i, shape (n,); arguments as for `isolation_risks`.

    >>> count_weights(np.array([1.0, 2.0, 9.0, 9.0]), np.array([0, 0, 0, 1]), 1.0).round(3).tolist()
    [0.667, 0.667, 0.333, 1.0]
    """
    return 1 - isolation_risks(values, patterns, radius)


def _starts(patterns: Integers) -> NDArray[np.int64]:
    """Where the patterns begin, and n at the end; patterns ascending."""
    changes = np.flatnonzero(patterns[1:] != patterns[:-1]) + 1
    ends = [len(patterns)] if len(patterns) else []
    return np.array([0, *changes, *ends], dtype=np.int64)


@compiled
def _risks(values: Floats, starts: NDArray[np.int64], radii: Floats) -> Floats:
    """Risks of records sorted by pattern, then by value, infinite values last (kernel)."""
    risks = np.ones(values.size)
    for place in range(starts.size - 1):
        start, stop = starts[place], starts[place + 1]
        for i in range(start, stop):
            if values[i] < np.inf:
                within = _end(values, i, stop, radii[i]) - _begin(values, start, i, radii[i])
                risks[i] = 1 - max(within, 0) / (stop - start)
    return risks


@compiled
def _end(values: Floats, i: int, high: int, radius: float) -> int:
    """First record from i on with values[h] - values[i] > radius (kernel)."""
    low = i
    while low < high:
        middle = (low + high) // 2
        if values[middle] < np.inf and values[middle] - values[i] <= radius:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _begin(values: Floats, low: int, i: int, radius: float) -> int:
    """First record up to i with values[i] - values[h] ≤ radius (kernel)."""
    high = i
    while low < high:
        middle = (low + high) // 2
        if values[i] - values[middle] <= radius:
            high = middle
        else:
            low = middle + 1
    return low
