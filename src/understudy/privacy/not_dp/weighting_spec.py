"""How records are weighted in a pseudo posterior, described by public numbers.

* `unweighted`: α_i = 1, the plain posterior, as a baseline.
* `vector`: α_i falls with the record's Lipschitz bound under the plain posterior, from c + g where
  it is smallest to g where it is largest (`record_weights`).
* `scalar`: one α for all records, the exponential mechanism with the log-likelihood as its score;
  such that the largest bound would come down to a wanted one, were the parameters to stay.
* `count`: the share of the records with the same predictors whose value lies near the record's own
  (below). It is for one numeric column given others. A code of absence is near itself alone.

None of them makes a guarantee of differential privacy: each weight depends on other records.

**Weights by count** tell how isolated a record's value is among those like it. A record i with
public pattern p (its combination of predictors) has the isolation risk

    IR_i = share of the records h of pattern p, itself among them, with |y_h - y_i| > r,

the chance that a guess at random among them misses y_i by more than r; and the weight
α_i = 1 - IR_i, the share within r. The only record of a pattern counts itself alone, and so weighs
1: this measure does not see that whoever knows the pattern knows the record. Which predictors make
the pattern is what the intruder is supposed to know (`columns`): with many of them most records
are alone and weigh 1, with few of them most weigh little.

A weight by count carries no guarantee, as a weight is a function of the values of all records of
the pattern, and one record replaced moves them all. The risk rests on how an intruder is supposed
to guess; the pseudo posterior under these weights has a Lipschitz bound (`record_weights` beside
this file), which is as little a guarantee as with any other weights from the rows.

**How it is computed.** Values are sorted within each pattern. The computed difference y_h - y_i
never falls as y_h rises (rounding is monotone), so the records within r are one run, whose two ends
are found by bisection on that very difference: O(n log n), and the same answer as comparing all
pairs, to the last bit.

Sources: Savitsky, Williams & Hu (2020), "Bayesian Pseudo Posterior Mechanism under Differential
Privacy", §3.1, §3.2 and §4, with its "count-weighted" synthesizer; Hu & Savitsky (2019), arXiv
1901.06462.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.features.number_line import Drawn
from understudy.privacy.noise.rejection_sampling import compiled
from understudy.privacy.samplers.column_model import Floats
from understudy.schema import NUMERIC, Column

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


Form = Literal["unweighted", "vector", "scalar", "count"]

_APART: Final = 2.0**1000
"""From one state of absence to the next, where values are compared: farther than any radius."""


@dataclass(frozen=True, kw_only=True)
class Weighting:
    """A form of weights and its numbers, all of them public.

    Attributes:
        form: which.
        scale: c ≥ 0, of vector weights.
        shift: g, of vector weights.
        level: of the quantile of Δ_h above which a draw is dropped, in (0, 1]; 1 drops none.
        bound: of scalar weights, the wanted Lipschitz bound Δ_α; None: that which vector weights
            of the same c and g reach.
        radius: of count weights, how far a value lies from one near it, as a part of its size.
        columns: of count weights, the predictors that the intruder is supposed to know; none
            are all.
        reweight: k in (0, 1]: weights are then raised once, to k·α_i·Δ_α/Δ_{α,i}; None leaves
            them.

    Raises:
        MethodError: a number out of range.
    """

    form: Form = "vector"
    scale: float = 1.0
    shift: float = 0.0
    level: float = 0.95
    bound: float | None = None
    radius: float = 0.2
    reweight: float | None = None
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check what is public."""
        if not (0 <= self.scale < math.inf and abs(self.shift) < math.inf):
            raise MethodError("Weights need a scale of 0 or more, and a finite shift.")
        if not 0 < self.level <= 1:
            raise MethodError(
                f"The quantile that truncates the draws is in (0, 1], not {self.level}."
            )
        if self.bound is not None and not 0 < self.bound < math.inf:
            raise MethodError("The wanted bound of scalar weights must be positive and finite.")
        if not 0 <= self.radius < math.inf:
            raise MethodError("The radius of count weights must be 0 or more, and finite.")
        if self.columns and self.form != "count":
            raise MethodError("The intruder's columns are for count weights; leave them out.")
        if self.reweight is not None and self.form == "unweighted":
            raise MethodError("There are no weights to raise; take reweight with other weights.")
        if self.reweight is not None and not 0 < self.reweight <= 1:
            raise MethodError(f"The share of the bound is in (0, 1], not {self.reweight}.")

    @property
    def compares(self) -> bool:
        """Whether weights are made from the bounds of the plain posterior."""
        return self.form in ("vector", "scalar")


def isolation_weights(
    column: Column, drawn: Drawn, given: Sequence[Drawn], radius: float
) -> Floats:
    """Count weights of records of one numeric column. CONFIDENTIAL.

    Args:
        column: as the schema declares it.
        drawn: the column, n records.
        given: the predictors; records with the same states have one pattern.
        radius: as a part of the size of a record's own value.

    Returns:
        α, shape (n,).
    """
    values, radii = _comparable(column, drawn, radius)
    return count_weights(values, _patterns(given, len(values)), radii)


def _comparable(column: Column, drawn: Drawn, radius: float) -> tuple[Floats, Floats]:
    """Values that can be compared, and how far one near them lies; each of shape (n,)."""
    assert isinstance(column, NUMERIC)
    assert drawn.numbers is not None
    spikes = [interval.low if interval.spike else 0.0 for interval in column.intervals]
    codes = [_APART * (k + 1) for k in range(column.size - column.n_ordinary)]
    named = np.array([*spikes, *codes], dtype=np.float64)[drawn.states]
    values = np.where(np.isnan(drawn.numbers), named, drawn.numbers)
    return values, np.where(values < _APART, radius * np.abs(values), 0.0)


def _patterns(given: Sequence[Drawn], n: int) -> NDArray[np.int64]:
    """Number of each record's combination of states, shape (n,)."""
    patterns = np.zeros(n, dtype=np.int64)
    for drawn in given:
        pairs = np.stack([patterns, drawn.states])
        _, patterns = np.unique(pairs, axis=1, return_inverse=True)
    return patterns.reshape(-1).astype(np.int64)
