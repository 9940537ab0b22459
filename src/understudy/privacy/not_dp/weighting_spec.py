"""How records are weighted in a pseudo posterior, described by public numbers.

* `unweighted`: α_i = 1, the plain posterior, as a baseline.
* `vector`: α_i falls with the record's Lipschitz bound under the plain posterior, from c + g where
  it is smallest to g where it is largest (`record_weights`).
* `scalar`: one α for all records, the exponential mechanism with the log-likelihood as its score;
  such that the largest bound would come down to a wanted one, were the parameters to stay.
* `count`: the share of the records with the same predictors whose value lies near the record's own
  (`isolation_risk`). It is for one numeric column given others. A code of absence is near itself
  alone.

None of them makes a guarantee of differential privacy: each weight depends on other records.

Source: Savitsky, Williams & Hu (2020), "Bayesian Pseudo Posterior Mechanism under Differential
Privacy", §3.1, §3.2 and §4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.features.number_line import Drawn
from understudy.privacy.not_dp.isolation_risk import count_weights
from understudy.privacy.samplers.column_model import Floats
from understudy.schema import NUMERIC, Column

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
    spikes = [one.low if one.spike else 0.0 for one in column.intervals]
    codes = [_APART * (k + 1) for k in range(column.size - column.n_ordinary)]
    named = np.array([*spikes, *codes], dtype=np.float64)[drawn.states]
    values = np.where(np.isnan(drawn.numbers), named, drawn.numbers)
    return values, np.where(values < _APART, radius * np.abs(values), 0.0)


def _patterns(given: Sequence[Drawn], n: int) -> NDArray[np.int64]:
    """Number of each record's combination of states, shape (n,)."""
    patterns = np.zeros(n, dtype=np.int64)
    for one in given:
        pairs = np.stack([patterns, one.states])
        _, patterns = np.unique(pairs, axis=1, return_inverse=True)
    return patterns.reshape(-1).astype(np.int64)
