"""Exact interquartile ranges, for bins as published. **Not** differentially private.

Bins by the rule of Freedman & Diaconis follow the quartiles of the rows, and the number of bins is
published. No noise hides it and nothing is paid for it, so no ε holds for it: one record can move a
quartile across the whole width of the bounds. The strict form takes a public range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answers
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.not_dp.exact_statistics import unpaid_charges
from understudy.privacy.released import Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms

UNPAID_QUARTILES = (
    "The bins follow the exact quartiles of the rows (the rule of Freedman & Diaconis as "
    "published), which were not paid for."
)


@dataclass(frozen=True)
class ExactQuartileRanges(Mechanism[tuple[Released[float], ...], None]):
    """Exact interquartile ranges, unpaid, for bins as published.

    Attributes:
        columns: names of numeric columns.
    """

    name: ClassVar[str] = "exact interquartile range"
    needs_records: ClassVar[bool] = True

    columns: Sequence[str]

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """A step for each column that costs nothing: an unpaid leak.

        Raises:
            MethodError: an unknown column, or one that is not numeric.
        """
        return unpaid_charges(terms, self.columns, self.name, ("interquartile range", "quartiles"))

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[tuple[Released[float], ...]]:
        """Compute them; they decide on bins, which the release has, and are not published."""
        drawn = rows.numbers().drawn
        ranges = []
        for name in self.columns:
            numbers = drawn[name].numbers
            assert numbers is not None
            ranges.append(quartile_range(numbers[~np.isnan(numbers)]))
        return answers(ranges, (), leaks=(UNPAID_QUARTILES,))


def quartile_range(numbers: NDArray[np.float64]) -> float:
    """Distance of the quartiles, interpolated between records; 0 of fewer than two numbers.

    Args:
        numbers: shape (n,), none of them NaN.

    Example:
        >>> quartile_range(np.array([1.0, 2.0, 3.0, 10.0, 4.0]))
        2.0
    """
    if numbers.size < 2:
        return 0.0
    low, high = np.quantile(numbers, [0.25, 0.75])
    return float(high - low)
