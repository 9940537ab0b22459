"""Exact statistics, for classical baselines. **Not** differentially private.

Each step has an infinite cost and needs permission; the release is stamped. What a release
publishes of it is that exact statistics of these columns were used, and not the statistics.

**Standard deviations**, for bins as the papers choose them, are an unpaid leak.
Bins by Scott's rule follow the standard deviation of the rows, and the number of bins is published.
No noise hides it and nothing is paid for it, so no ε holds for it. The strict ways to choose bins
are a public number, a public deviation, and one bought by `Moments`.

**Exact interquartile ranges, for bins as published. **Not** differentially private.**

Bins by the rule of Freedman & Diaconis follow the quartiles of the rows, and the number of bins is
published. No noise hides it and nothing is paid for it, so no ε holds for it: one record can move a
quartile across the whole width of the bounds. The strict form takes a public range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.guarantee import Unpaid
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer, answers
from understudy.dp.randomness import Randomness
from understudy.dp.released import (
    NO_NOISE,
    ExactStatistics,
    NoisyCells,
    NoisyMoment,
    NoisyTable,
    Released,
)
from understudy.errors import MethodError
from understudy.features.grids import STEPS, holds_numbers
from understudy.mechanisms.sums import exact_moment, moments_of
from understudy.mechanisms.tables import query_of
from understudy.schema import NUMERIC, Column

if TYPE_CHECKING:
    from understudy.data.sums import ExactSums

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

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
        """A step for each column that costs nothing: an unpaid leak.

        Raises:
            MethodError: an unknown column, or one that is not numeric.
        """
        return unpaid_charges(
            terms, self.columns, self.name, ("standard deviation", "a standard deviation")
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[tuple[Released[float], ...]]:
        """Compute them; they decide on bins, which the release has, and are not published."""
        declared = rows.view.schema.columns
        deviations = [
            standard_deviation(rows.sums((name,), (name,)), declared[name]) for name in self.columns
        ]
        return answers(deviations, (), leaks=(UNPAID,))


def unpaid_charges(
    terms: PublicContext, columns: Sequence[str], mechanism: str, statistic: tuple[str, str]
) -> tuple[Charge[None], ...]:
    """A step for each column that costs nothing: an unpaid leak.

    Args:
        terms: of the gate.
        columns: names.
        mechanism: its name.
        statistic: of each column, in words; and what only numeric columns have.

    Raises:
        MethodError: an unknown column, or one that is not numeric.
    """
    terms.view.places(tuple(columns))
    of_column, numeric = statistic
    if not all(isinstance(terms.schema.columns[name], NUMERIC) for name in columns):
        raise MethodError(f"Only numeric columns have {numeric}.")
    return tuple(
        Charge(
            spent=Fraction(0),
            mechanism=mechanism,
            query=f"{of_column} of {name}",
            sensitivity="not bounded",
            noise="none: unpaid",
            cells=1,
            parameter=None,
            unpaid=Unpaid.LEFT_IN,
        )
        for name in columns
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


@dataclass(frozen=True)
class ExactTables(Mechanism[tuple[Released[NoisyTable], ...], None]):
    """Exact contingency tables.

    Attributes:
        marginals: column names of each.
    """

    name: ClassVar[str] = "exact table"
    form: ClassVar[Form] = Form.DENSE

    marginals: Sequence[tuple[str, ...]]

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
        """A step of infinite cost for each table.

        Raises:
            MethodError: an unknown column.
        """
        for names in self.marginals:
            terms.view.places(names)
        return tuple(_charge(self.name, query_of(names), names) for names in self.marginals)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyTable], ...]]:
        """Count all of them in one pass."""
        tables = [
            NoisyTable(
                names, table.inside, float(table.outside), NO_NOISE, rows.view.bins_of(names)
            )
            for names, table in zip(self.marginals, rows.tables(self.marginals), strict=True)
        ]
        return answers(tables, [ExactStatistics(names) for names in self.marginals])


@dataclass(frozen=True)
class ExactFullTable(Mechanism[Released[NoisyCells], None]):
    """The exact full table, by its occupied cells."""

    name: ClassVar[str] = "exact table"
    form: ClassVar[Form] = Form.DENSE

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
        """One step of infinite cost.

        Raises:
            MethodError: more than 2⁶² cells.
        """
        terms.view.sparse_domain(terms.schema.names)
        return (_charge(self.name, query_of(terms.schema.names), terms.schema.names),)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[NoisyCells]]:
        """Count."""
        names = rows.view.schema.names
        exact, bins = rows.cells(names), rows.view.bins_of(names)
        cells = NoisyCells(names, exact.codes, exact.counts, 1, float(exact.outside), bins)
        return answer(cells, [ExactStatistics(names)])


@dataclass(frozen=True)
class ExactMoments(Mechanism[tuple[Released[NoisyMoment], ...], None]):
    """Exact sums and scatters, in the order of `sums.moments_of`.

    Attributes:
        of: numeric columns that are summed, each with a single bin.
        by: columns of the table of cells.
    """

    name: ClassVar[str] = "exact moment"
    form: ClassVar[Form] = Form.MOMENTS

    of: Sequence[str]
    by: Sequence[str] = ()

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
        """A step of infinite cost for each of them.

        Raises:
            MethodError: columns that do not fit.
        """
        moments = moments_of(terms.schema, self.of, self.by)
        return tuple(_charge(self.name, moment.query, moment.by) for moment in moments)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyMoment], ...]]:
        """Sum up."""
        moments = moments_of(rows.view.schema, self.of, self.by)
        columns = moments[0].by
        sums, bins = rows.sums(columns, tuple(self.of)), rows.view.bins_of(columns)
        exact = [replace(exact_moment(moment, sums), bins=bins) for moment in moments]
        return answers(exact, [ExactStatistics(columns)] * len(exact))


def _charge(mechanism: str, query: str, columns: tuple[str, ...]) -> Charge[None]:
    """The line of the ledger for one exact statistic."""
    return Charge(
        spent=None,
        mechanism=mechanism,
        query=query,
        sensitivity="none",
        noise="",
        cells=0,
        parameter=None,
        unpaid=Unpaid.EXACT,
        columns=columns,
    )


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

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
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
