"""Exact statistics, for classical baselines. **Not** differentially private.

Each step has an infinite cost and needs permission; the release is stamped. What a release
publishes of it is that exact statistics of these columns were used, and not the statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from understudy.privacy.accounting.promise import Unpaid
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer, answers
from understudy.privacy.mechanisms.counts.noisy_table import query_of
from understudy.privacy.mechanisms.sums.moments import exact_moment
from understudy.privacy.mechanisms.sums.scatter import moments_of
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import (
    ExactStatistics,
    NoisyCells,
    NoisyMoment,
    NoisyTable,
    Released,
)
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms


@dataclass(frozen=True)
class ExactTables(Mechanism[tuple[Released[NoisyTable], ...], None]):
    """Exact contingency tables.

    Attributes:
        marginals: column names of each.
    """

    name: ClassVar[str] = "exact table"

    marginals: Sequence[tuple[str, ...]]

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """A step of infinite cost for each table.

        Raises:
            MethodError: an unknown column.
        """
        for names in self.marginals:
            terms.view.places(names)
        return tuple(_charge(self.name, query_of(names)) for names in self.marginals)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyTable], ...]]:
        """Count all of them in one pass."""
        found = [
            NoisyTable(names, table.inside, float(table.outside), rows.view.bins_of(names))
            for names, table in zip(self.marginals, rows.tables(self.marginals), strict=True)
        ]
        return answers(found, [ExactStatistics(names) for names in self.marginals])


@dataclass(frozen=True)
class ExactFullTable(Mechanism[Released[NoisyCells], None]):
    """The exact full table, by its occupied cells."""

    name: ClassVar[str] = "exact table"

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """One step of infinite cost.

        Raises:
            MethodError: more than 2⁶² cells.
        """
        terms.view.sparse_domain(terms.schema.names)
        return (_charge(self.name, query_of(terms.schema.names)),)

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
    """Exact sums and scatters, in the order of `scatter.moments_of`.

    Attributes:
        of: numeric columns that are summed, each with a single bin.
        by: columns of the table of cells.
    """

    name: ClassVar[str] = "exact moment"

    of: Sequence[str]
    by: Sequence[str] = ()

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """A step of infinite cost for each of them.

        Raises:
            MethodError: columns that do not fit.
        """
        wanted = moments_of(terms.schema, self.of, self.by)
        return tuple(_charge(self.name, one.query) for one in wanted)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyMoment], ...]]:
        """Sum up."""
        wanted = moments_of(rows.view.schema, self.of, self.by)
        columns = wanted[0].by
        sums, bins = rows.sums(columns, tuple(self.of)), rows.view.bins_of(columns)
        found = [replace(exact_moment(one, sums), bins=bins) for one in wanted]
        return answers(found, [ExactStatistics(columns)] * len(found))


def _charge(mechanism: str, query: str) -> Charge[None]:
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
    )
