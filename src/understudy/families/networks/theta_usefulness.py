"""How large a table may be so that its counts stand out of their noise."""

from __future__ import annotations

import math
from fractions import Fraction

from understudy.privacy.accounting.budget import Budget
from understudy.privacy.noise.calibration import LawName, calibrate
from understudy.schema import Schema


def useful_cells(
    schema: Schema, n_rows: int, spend: Fraction, budget: Budget, *, law: LawName, theta: float
) -> float:
    """Cells at which the records in one are θ times the scale of its noise, on average.

    For Laplace noise of scale b that is n/cells ≥ θ·b; other laws count by their standard
    deviation, which is b·√2 there.

    Args:
        schema: whose neighbours count.
        n_rows: records.
        spend: cost of the table.
        budget: the whole budget, for its accounting.
        law: noise.
        theta: least number of records per cell and scale of noise.

    Source: Zhang, Cormode, Procopiuc, Srivastava & Xiao (2017), PrivBayes, ACM TODS 42(4), §4.5.
    """
    noise = calibrate(law, spend=spend, accounting=budget.accounting, neighbours=schema.neighbours)
    return n_rows * math.sqrt(2) / max(theta * noise.stddev, 1e-300)
