"""Exact standard deviations, for bins as the papers choose them: a leak, which the gate concedes.

Bins by Scott's rule follow the standard deviation of the rows, and the number of bins is published.
No noise hides it and nothing is paid for it, so no ε holds for it. The strict ways to choose bins
are a public number, a public deviation, and one bought by `moments.py`.
"""

from __future__ import annotations

import math
from fractions import Fraction

from understudy.engine.bounded_sums import STEPS, ExactSums, holds_numbers
from understudy.schema import NUMERIC, Column

UNPAID = (
    "The bins follow the exact standard deviations of the rows (Scott's rule as published), which "
    "were not paid for."
)


def standard_deviation(sums: ExactSums, column: Column) -> float:
    """Standard deviation (divisor n − 1) of the numbers in one column; 0 if there are fewer than 2.

    Args:
        sums: over the table of this column alone.
        column: its declaration.
    """
    assert isinstance(column, NUMERIC)
    holds = holds_numbers(column)
    n = int(sums.counts[holds].sum())
    if n < 2:
        return 0.0
    total, squares = int(sums.sums[0, holds].sum()), int(sums.products[0, holds].sum())
    low, high = column.bounds
    return math.sqrt(Fraction(n * squares - total**2, n * (n - 1))) * (high - low) / STEPS
