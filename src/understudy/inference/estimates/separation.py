"""Whether a likelihood has no maximum because the predictors separate the outcomes.

A logistic model has no finite estimate if some combination x'β is nowhere negative where y = 1 and
nowhere positive where y = 0, without being 0 everywhere. Iterations then run off until they happen
to stop, with an estimate that means nothing. Warnings of fitting programs neither find all such
cases nor only such cases; the linear programme below decides it exactly. A Poisson model has none
if x'β is 0 wherever y > 0, and nowhere positive, without being 0 everywhere.

Sources: Albert & Anderson (1984), Biometrika 71, 1-10; Konis (2007), "Linear programming
algorithms for detecting separated data in binary logistic regression models", thesis, Oxford;
Santos Silva & Tenreyro (2010), Economics Letters 107, 310-312, for Poisson.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from understudy.inference.estimates.analysis_records import Floats

_TOLERANCE = 1e-7


def separating(kind: str, outcome: Floats, design: Floats) -> Floats | None:
    """A direction along which the likelihood only grows, or None.

    Args:
        kind: "logit" or "poisson".
        outcome: 0 or 1, or counts, shape (n,).
        design: shape (n, p), of full column rank.

    Returns:
        Weights of the terms, shape (p,), the largest of them 1 in size; or None if the maximum
        exists. Columns of the design are first brought to a largest size of 1.
    """
    scaled = design / np.abs(design).max(axis=0)
    records = np.unique(np.column_stack([outcome > 0, scaled]), axis=0)
    positive, x = records[:, 0] > 0, records[:, 1:]
    if kind == "logit":
        fixed, grows = np.empty((0, x.shape[1])), np.where(positive[:, None], x, -x)
    else:
        fixed, grows = x[positive], -x[~positive]
    if not len(grows):
        return None
    found = linprog(
        c=-grows.sum(axis=0),
        A_ub=-grows,
        b_ub=np.zeros(len(grows)),
        A_eq=fixed if len(fixed) else None,
        b_eq=np.zeros(len(fixed)) if len(fixed) else None,
        bounds=(-1, 1),
        method="highs",
    )
    if not found.success or -found.fun <= _TOLERANCE * len(grows):
        return None
    return np.asarray(found.x / np.abs(found.x).max())
