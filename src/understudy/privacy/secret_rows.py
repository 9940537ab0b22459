"""The rows, as a mechanism sees them that is paid for. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy.engine import Engine, ExactCells
from understudy.engine.bounded_sums import ExactSums
from understudy.engine.coding import Codes
from understudy.engine.confidential import ExactTable
from understudy.engine.score_products import ExactProducts
from understudy.errors import MethodError
from understudy.features.column_scores import Scores
from understudy.features.heap_cells import NumberCells
from understudy.features.rank_scores import RankScores
from understudy.privacy.internal import Confide, Diagnostic, Internal
from understudy.privacy.released import Bins, Groups
from understudy.privacy.terms import View
from understudy.privacy.whole_rows import NumberedRows

MOST_CELLS: Final = 2**24
"""Occupied cells of a huge table that are held at once, at a few dozen bytes each."""


class SecretRows:
    """Exact answers, and what mechanisms remember of these rows from one step to the next.

    Args:
        engine: the rows.
        view: how they are coded.
        tell: takes what a mechanism tells the steward, and nobody else.

    Attributes:
        view: how they are coded; public.
    """

    def __init__(self, engine: Engine, view: View, tell: Confide) -> None:
        self.view = view
        self._secret_engine, self._secret_tell = engine, tell
        self._secret_memory: dict[type, dict[Any, Any]] = {}
        self._secret_coded: list[Codes] | None = None
        self._secret_numbers: NumberedRows | None = None

    def __repr__(self) -> str:
        return "SecretRows(withheld)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("Confidential rows cannot be pickled or copied.")

    def require_records(self, name: str, *, needed: bool) -> None:
        """Refuse a mechanism that needs `states` or `numbers` where there are sums alone.

        Args:
            name: of the mechanism.
            needed: whether it is such a one.

        Raises:
            MethodError: the engine has no whole records, whatever they are.
        """
        if needed and not self._secret_engine.has_records:
            raise MethodError(
                f"The mechanism {name!r} needs whole records, and these rows give sums alone; "
                "hand in a table that is read in this process."
            )

    def total(self) -> int:
        """Number of rows, those with out-of-domain values included."""
        return self._secret_engine.total().expose()

    def tables(self, marginals: Sequence[tuple[str, ...]]) -> list[ExactTable]:
        """Contingency tables, in one pass over the rows.

        Args:
            marginals: names of the columns of each.
        """
        places = [self.view.places(names) for names in marginals]
        return self._secret_engine.count(places).expose()

    def cells(self, columns: tuple[str, ...]) -> ExactCells:
        """Occupied cells of one table of up to 2⁶² cells."""
        return self._secret_engine.occupied(self.view.places(columns)).expose()

    def cells_in_parts(self, columns: tuple[str, ...]) -> Iterator[ExactCells]:
        """The same, `MOST_CELLS` at a time at most, ascending; at least one part."""
        places, start = self.view.places(columns), 0
        while True:
            part = self._secret_engine.occupied(places, start=start, most=MOST_CELLS).expose()
            yield part
            if len(part.codes) < MOST_CELLS:
                return
            start = int(part.codes[-1]) + 1

    def sums(self, columns: tuple[str, ...], of: tuple[str, ...]) -> ExactSums:
        """Sums of bounded numbers, and of their products, by cell of a table.

        Args:
            columns: names of the table's columns.
            of: names of the numbers' columns, each also one of `columns`.
        """
        places = self.view.places(columns), self.view.places(of)
        return self._secret_engine.sums(*places).expose()

    def score_products(self, scores: Scores) -> ExactProducts:
        """Sums of the scores of all records, and of their products, in one pass over the rows."""
        return self._secret_engine.score_products(scores).expose()

    def rank_sums(self, scores: RankScores) -> NDArray[np.int64]:
        """Sums of products of the rank scores of all pairs of columns, shape (pairs,)."""
        places = self.view.places(scores.columns)
        return self._secret_engine.rank_sums(places, scores).expose()

    def line_counts(self, lines: Mapping[str, NumberCells]) -> dict[str, NDArray[np.int64]]:
        """Counts over cells of numeric columns, lines or heaps, those out of domain last."""
        return self._secret_engine.line_counts(lines).expose()

    def states(self) -> list[Codes]:
        """States of all rows, one array of shape (n,) per column; read once."""
        if self._secret_coded is None:
            self._secret_coded = self._secret_engine.coded().expose()
        return self._secret_coded

    def numbers(self) -> NumberedRows:
        """All rows with their numbers; read once."""
        if self._secret_numbers is None:
            self._secret_numbers = NumberedRows.read(self._secret_engine, self.view.schema)
        return self._secret_numbers

    @property
    def engine(self) -> Engine:
        """For scores, which ask for tables of their own."""
        return self._secret_engine

    def memory(self, of: type) -> dict[Any, Any]:
        """What one kind of mechanism remembers of these rows; empty at first."""
        return self._secret_memory.setdefault(of, {})

    def tell(self, diagnostic: Diagnostic) -> None:
        """Tell the steward, and nobody else."""
        self._secret_tell(Internal(diagnostic))

    def rebinned(self, bins: Bins) -> SecretRows:
        """The same rows, seen through other bins."""
        view = self.view.rebinned(bins)
        return SecretRows(self._secret_engine.recoded(view.schema), view, self._secret_tell)

    def grouped(self, groups: Groups) -> SecretRows:
        """The same rows, seen through coarser columns; for counts and choices."""
        view = self.view.grouped(groups)
        engine = self._secret_engine.grouped(view.schema, groups)
        return SecretRows(engine, view, self._secret_tell)
