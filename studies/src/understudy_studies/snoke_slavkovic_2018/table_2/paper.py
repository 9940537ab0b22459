"""Table 2 of the paper: mean and variance of the pMSE, for ε = .25, .5, 1, 2, 4.

The variances that it prints for ε = 2 are those for ε = 1, digit by digit: a misprint. They are
left out here.
"""

from __future__ import annotations

import math

import numpy as np

from understudy._arrays import Floats
from understudy_studies.snoke_slavkovic_2018 import methods

MEANS: dict[str, tuple[float, ...]] = {
    methods.NON_PRIVATE: (0.00660, 0.00663, 0.00661, 0.00660, 0.00660),
    methods.PAPER: (0.09281, 0.03610, 0.02107, 0.01459, 0.01161),
    methods.BAYES: (0.20509, 0.17876, 0.14372, 0.11177, 0.07919),
    methods.SMOOTHED: (0.08206, 0.05398, 0.03278, 0.01892, 0.01129),
}

VARIANCES: dict[str, tuple[float, ...]] = {
    methods.NON_PRIVATE: (8.681e-7, 8.929e-7, 8.342e-7, math.nan, 8.671e-7),
    methods.PAPER: (1.347e-3, 8.020e-5, 1.648e-5, math.nan, 3.329e-6),
    methods.BAYES: (3.079e-3, 5.914e-3, 8.579e-3, math.nan, 9.087e-3),
    methods.SMOOTHED: (2.826e-5, 1.809e-5, 1.069e-5, math.nan, 5.964e-6),
}


def means(method: str) -> Floats:
    """Of a method, at all budgets."""
    return np.array(MEANS[method])
