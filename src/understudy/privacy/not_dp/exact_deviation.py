"""Exact standard deviations, for bins as the papers choose them: a leak, which the gate concedes.

Bins by Scott's rule follow the standard deviation of the rows, and the number of bins is published.
No noise hides it and nothing is paid for it, so no ε holds for it. The strict ways to choose bins
are a public number, a public deviation, and one bought by `moments.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.engine.bounded_sums import STEPS, ExactSums, holds_numbers
from understudy.errors import MethodError
from understudy.privacy.accounting.promise import Unpaid
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answers
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import NUMERIC, Column

UNPAID = (
    "The bins follow the exact standard deviations of the rows (Scott's rule as published), which "
    "were not paid for."
)


@dataclass(frozen=True)
class ExactDeviations(Mechanism[tuple[Released[float], ...], None]):
    """Exact standard deviations, unpaid, for bins as published.

    Attributes:
        columns: names of numeric columns.
    """

    name: ClassVar[str] = "exact deviation"

    columns: Sequence[str]

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """A step for each column that costs nothing, and is left in.

        Raises:
            MethodError: an unknown column, or one that is not numeric.
        """
        terms.view.places(tuple(self.columns))
        if not all(isinstance(terms.schema.columns[name], NUMERIC) for name in self.columns):
            raise MethodError("Only numeric columns have a standard deviation.")
        return tuple(
            Charge(
                spent=Fraction(0),
                mechanism=self.name,
                query=f"standard deviation of {name}",
                sensitivity="not bounded",
                noise="none: unpaid",
                cells=1,
                parameter=None,
                unpaid=Unpaid.LEFT_IN,
            )
            for name in self.columns
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[tuple[Released[float], ...]]:
        """Compute them; they decide on bins, which the release has, and are not published."""
        declared = rows.view.schema.columns
        found = [
            standard_deviation(rows.sums((name,), (name,)), declared[name]) for name in self.columns
        ]
        return answers(found, (), leaks=(UNPAID,))


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
