"""Verbs that let exact statistics leave: for classical baselines, and for what papers leak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from understudy.errors import MethodError
from understudy.privacy.admission import verb
from understudy.privacy.door import Door, query_of
from understudy.privacy.mechanisms.sums.moments import exact_moment
from understudy.privacy.mechanisms.sums.scatter import moments_of
from understudy.privacy.not_dp.exact_deviation import UNPAID, standard_deviation
from understudy.privacy.released import (
    NO_NOISE,
    ExactStatistics,
    NoisyCells,
    NoisyMoment,
    NoisyTable,
    Released,
)
from understudy.schema import NUMERIC


class Revealing(Door):
    """Exact statistics."""

    @verb
    def reveal(self, marginals: Sequence[tuple[str, ...]]) -> list[Released[NoisyTable]]:
        """Exact tables, for classical baselines: the release becomes not private.

        Raises:
            NotPrivateError: not permitted with `allow_nonprivate=True`.
        """
        self._require_unlimited()
        places = [self._places(names) for names in marginals]
        entries = [
            self._ledger.charge(
                None, "exact table", query_of(names), sensitivity="none", noise="", cells=0
            )
            for names in marginals
        ]
        self._used(list(marginals), entries)
        exact = self._secret_engine.count(places).expose()
        return [
            Released(
                NoisyTable(names, table.inside, float(table.outside), self._bins_of(names)),
                NO_NOISE,
                "exact table",
                entry,
            )
            for names, table, entry in zip(marginals, exact, entries, strict=True)
        ]

    @verb
    def reveal_moments(
        self, of: Sequence[str], by: Sequence[str] = ()
    ) -> list[Released[NoisyMoment]]:
        """Exact sums and scatters, in the order of `moments`: the release becomes not private.

        Raises:
            NotPrivateError: not permitted with `allow_nonprivate=True`.
            MethodError: columns that do not fit.
        """
        self._require_unlimited()
        wanted = moments_of(self.own_schema, of, by)
        entries = [
            self._ledger.charge(
                None, "exact moment", one.query, sensitivity="none", noise="", cells=0
            )
            for one in wanted
        ]
        columns = wanted[0].by
        self._used([columns] * len(entries), entries)
        places = self._places(columns), self._places(tuple(of))
        sums, bins = self._secret_engine.sums(*places).expose(), self._bins_of(columns)
        return [
            Released(replace(exact_moment(one, sums), bins=bins), NO_NOISE, "exact moment", entry)
            for one, entry in zip(wanted, entries, strict=True)
        ]

    @verb
    def reveal_cells(self) -> Released[NoisyCells]:
        """The exact full table, by its occupied cells: the release becomes not private.

        Raises:
            NotPrivateError: not permitted with `allow_nonprivate=True`.
            MethodError: more than 2⁶² cells.
        """
        self._require_unlimited()
        names = self.own_schema.names
        self._sparse_domain(names)
        entry = self._ledger.charge(
            None, "exact table", query_of(names), sensitivity="none", noise="", cells=0
        )
        self._used([names], [entry])
        exact = self._secret_cells()
        cells = NoisyCells(
            names, exact.codes, exact.counts, 1, float(exact.outside), self._bins_of(names)
        )
        return Released(cells, NO_NOISE, "exact table", entry)

    @verb
    def deviations(
        self, names: Sequence[str], *, mode: Literal["paper"]
    ) -> dict[str, Released[float]]:
        """Exact standard deviations, unpaid, for bins as published: the guarantee says so.

        Args:
            names: numeric columns.
            mode: there is no other; the strict way is `moments`.

        Raises:
            MethodError: a column that is not numeric.
        """
        places = self._places(tuple(names))
        if not all(isinstance(self.own_schema.columns[name], NUMERIC) for name in names):
            raise MethodError("Only numeric columns have a standard deviation.")
        self._concede(UNPAID)
        found = {}
        for name, place in zip(names, places, strict=True):
            query = f"standard deviation of {name}"
            entry = self._ledger.charge(
                Fraction(0),
                "exact deviation",
                query,
                sensitivity="not bounded",
                noise="none: unpaid",
                cells=1,
                left_in=True,
            )
            sums = self._secret_engine.sums((place,), (place,)).expose()
            exact = standard_deviation(sums, self.own_schema.columns[name])
            found[name] = Released(exact, NO_NOISE, "exact deviation", entry)
        return found

    def _used(self, columns: Sequence[tuple[str, ...]], entries: Sequence[int]) -> None:
        """Note that exact statistics leave, for the readers of the release."""
        self._measured.extend(
            Released(ExactStatistics(names), NO_NOISE, "exact statistics", entry)
            for names, entry in zip(columns, entries, strict=True)
        )
