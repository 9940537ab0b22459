"""Quantiles of one set, with Woodruff's standard error.

The interval for the probability, p ± z√(p(1 - p)/n), is carried over to the numbers by the inverse
of the empirical distribution function; its width over 2z is the standard error. It asks for no
density. On a number that many records share the width can be 0: the quantile is then that number
with near certainty.

Source: Woodruff (1952), "Confidence intervals for medians and other position measures", JASA 47,
635-646.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from understudy.errors import InferenceError
from understudy.inference.records import Floats

_LEVEL = 0.95


def quantile(values: Floats, probability: float) -> tuple[float, float]:
    """Quantile of a sample and its standard error.

    Args:
        values: shape (n,).
        probability: in (0, 1).

    Raises:
        InferenceError: too few values for the interval to lie within them.
    """
    n = len(values)
    z = float(stats.norm.ppf((1 + _LEVEL) / 2))
    reach = z * math.sqrt(probability * (1 - probability) / n) if n else 1.0
    if not (probability - reach > 0 and probability + reach < 1):
        raise InferenceError(
            f"{n} records are too few for an interval around the {100 * probability:g} % quantile."
        )
    ordered = np.sort(values)
    low, middle, high = (
        float(ordered[max(math.ceil(n * p - 1e-9), 1) - 1])
        for p in (probability - reach, probability, probability + reach)
    )
    return middle, (high - low) / (2 * z)
