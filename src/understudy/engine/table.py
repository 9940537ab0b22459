"""The in-process engine: rows coded once, or coded again on each pass if there are too many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.engine.bounded_sums import ExactSums, sum_rows
from understudy.engine.coding import Coder, Codes, ColumnCoder, Reading
from understudy.engine.confidential import Confidential, ExactCells, ExactTable
from understudy.engine.kept_codes import KEEP_BYTES, KeptCodes
from understudy.engine.line_counts import line_counts
from understudy.engine.marginal_counter import MarginalCounter
from understudy.engine.occupied_cells import OccupiedCounter
from understudy.engine.reading.column_types import require_types
from understudy.engine.reading.readers import FrameKind, Rows, open_rows
from understudy.engine.score_products import ExactProducts, score_products
from understudy.errors import DataError
from understudy.features.column_scores import Scores
from understudy.features.line_cells import LineCells
from understudy.parallel import require_threads
from understudy.schema import Schema, private_copy

WIDE_CELLS = 2**22
"""Tables of more cells, out-of-domain states included, are counted by their occupied cells."""


class Table:
    """Rows coded against a schema, in this process.

    The first pass codes every row and so finds structural faults before any budget is spent. The
    codes (a byte or two per value) are kept if they fit into `keep_bytes`. Otherwise each later
    question reads the input again, or, with a spill, the codes from there, which lie on disk
    encrypted (`understudy.engine.spill`). Without a spill nothing is written to disk.

    Args:
        data: pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder).
        schema: what the rows are coded against.
        keep_bytes: most memory to keep coded rows in.
        spill: folder for a spill.

    Raises:
        DataError: a structural fault: unreadable, a column missing or of an unreadable type, or
            another number of rows than the schema declares as public; or the spill cannot be
            written.
    """

    def __init__(
        self,
        data: object,
        schema: Schema,
        *,
        keep_bytes: int = KEEP_BYTES,
        spill: str | Path | None = None,
    ) -> None:
        require_threads()
        self._given = schema
        self._schema = schema = private_copy(schema)
        self._keep_bytes = keep_bytes
        self._spill = None if spill is None else Path(spill)
        first = not isinstance(data, Rows)  # else something may have been paid for already
        self._kept = KeptCodes(keep_bytes, self._spill, required=first)
        self._rows = data if isinstance(data, Rows) else open_rows(data, schema)
        self._require_columns(self._rows)
        self._coder = Coder(schema)
        require_types(self._rows, self._coder.columns)
        self._n_rows = 0
        self._sums: dict[tuple[tuple[int, ...], tuple[int, ...]], ExactSums] = {}
        self._cells: dict[tuple[int, ...], ExactCells] = {}
        self._first_pass()

    def __repr__(self) -> str:
        return f"Table({len(self._schema.names)} columns, rows withheld)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A table of confidential rows cannot be pickled or copied.")

    @property
    def schema(self) -> Schema:
        """The public schema the rows are coded against, as it was handed in.

        Rows are coded by a copy of it: what somebody plants on this one never meets them.
        """
        return self._given

    @property
    def frame_kind(self) -> FrameKind:
        """Which kind of data frame came in."""
        return self._rows.kind

    def recoded(self, schema: Schema) -> Table:
        """The same rows, read once more and coded against another schema of the same columns.

        They have a spill of their own, or, where there is no room for one, are read on each pass.
        """
        return Table(self._rows, schema, keep_bytes=self._keep_bytes, spill=self._spill)

    def grouped(self, schema: Schema, groups: Mapping[str, Sequence[int]]) -> GroupedTable:
        """The same rows with states merged into groups.

        Args:
            schema: with the grouped columns (`Schema.with_groups`).
            groups: column → group of each of its states.
        """
        return GroupedTable(self, schema, groups)

    def total(self) -> Confidential[int]:
        """Number of rows, those with out-of-domain values included."""
        return Confidential(self._n_rows)

    def count(self, marginals: Sequence[tuple[int, ...]]) -> Confidential[list[ExactTable]]:
        """Contingency tables of sets of columns, in one pass over the rows; large ones in another.

        With a further state for each column a table of many columns is many times as large.
        """
        sizes = [size + 1 for size in self._schema.sizes]
        wide = {m for m in marginals if math.prod(sizes[j] for j in m) > WIDE_CELLS}
        narrow = [columns for columns in marginals if columns not in wide]
        table_of = {columns: self._scattered(columns) for columns in wide}
        if narrow:
            counter = MarginalCounter(sizes, narrow)
            for columns in self._batches():
                counter.add(columns)
            tables = [ExactTable.fold(table) for table in counter.tables()]
            table_of |= dict(zip(narrow, tables, strict=True))
        return Confidential([table_of[columns] for columns in marginals])

    def _scattered(self, columns: tuple[int, ...]) -> ExactTable:
        """A table written out from its occupied cells."""
        cells, sizes = self._known_cells(columns), [self._schema.sizes[j] for j in columns]
        inside = np.zeros(math.prod(sizes), dtype=np.int64)
        inside[cells.codes] = cells.counts
        return ExactTable(inside.reshape(sizes), cells.outside)

    def occupied(self, columns: tuple[int, ...]) -> Confidential[ExactCells]:
        """Occupied cells of one contingency table of up to 2⁶² cells, counted once."""
        return Confidential(self._known_cells(columns))

    def _known_cells(self, columns: tuple[int, ...]) -> ExactCells:
        if columns not in self._cells:
            self._cells[columns] = self._count_cells(columns)
        return self._cells[columns]

    def _count_cells(self, columns: tuple[int, ...]) -> ExactCells:
        sizes = [self._schema.sizes[j] for j in columns]
        counter = OccupiedCounter(sizes)
        outside = 0
        for batch in self._batches():
            used = [batch[j] for j in columns]
            inside = np.ones(len(used[0]), dtype=np.bool_)
            for codes, size in zip(used, sizes, strict=True):
                inside &= codes < size
            counter.add(used, inside)
            outside += int(len(inside) - inside.sum())
        cells, counts = counter.cells()
        return ExactCells(cells, counts, outside)

    def sums(self, columns: tuple[int, ...], of: tuple[int, ...]) -> Confidential[ExactSums]:
        """Sums of numeric columns by cell of a table.

        The input is read once more for a new question; every set of a release asks the same one.
        """
        if (columns, of) not in self._sums:
            self._sums[columns, of] = sum_rows(self._rows, self._schema, columns, of)
        return Confidential(self._sums[columns, of])

    def score_products(self, scores: Scores) -> Confidential[ExactProducts]:
        """Sums of the scores of all records, and of their products; the input is read once more."""
        return Confidential(score_products(self._rows, self._schema, scores))

    def line_counts(
        self, lines: Mapping[str, LineCells]
    ) -> Confidential[dict[str, NDArray[np.int64]]]:
        """Counts over number lines; the input is read once more, for all of them together."""
        return Confidential(line_counts(self._rows, self._schema, lines))

    def coded(self) -> Confidential[list[Codes]]:
        """State of every value: one array of shape (n,) per column, in the order of the schema."""
        batches = list(self._batches())
        return Confidential([np.concatenate(parts) for parts in zip(*batches, strict=True)])

    def read(self, names: Sequence[str]) -> Confidential[list[Reading]]:
        """Some columns as they were read, numbers unclipped; the input is read once more.

        Args:
            names: columns of the schema.

        Returns:
            One reading per name; its arrays have shape (n,), rows in one order for all of them.
        """
        coders = [ColumnCoder(name, self._schema.columns[name]) for name in names]
        parts: list[list[Reading]] = [[] for _ in names]
        for batch in self._rows.batches(names):
            for coder, readings in zip(coders, parts, strict=True):
                readings.append(coder.read(batch.get_column(coder.name)))
        return Confidential([Reading.join(readings) for readings in parts])

    def _require_columns(self, rows: Rows) -> None:
        absent = [name for name in self._schema.names if name not in rows.columns]
        if absent:
            names = ", ".join(repr(name) for name in absent[:5])
            more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
            raise DataError(
                f"{rows.place} lacks the column {names}{more} that the schema declares; "
                "add it to the data, or take it out of the schema."
            )

    def _first_pass(self) -> None:
        for columns in self._coded():
            self._n_rows += len(columns[0])
            self._kept.add(columns)
        self._kept.seal()
        if self._schema.rows == "public" and self._n_rows != self._schema.n_rows:
            raise DataError(
                f"The schema declares n_rows = {self._schema.n_rows} as public, but the data have "
                'another number of rows; correct n_rows, or declare rows = "private".'
            )

    def _coded(self) -> Iterator[list[Codes]]:
        for batch in self._rows.batches(self._schema.names):
            yield self._coder.code(batch)

    def _batches(self) -> Iterator[list[Codes]]:
        kept = self._kept.batches()
        return self._coded() if kept is None else kept

    def _in_memory(self) -> list[list[Codes]] | None:
        return self._kept.in_memory


class GroupedTable(Table):
    """The rows of another table, seen through groups of states; for counts only.

    Codes are mapped once if the other table has them in memory, else on each pass.

    Args:
        table: the rows.
        schema: its schema with the grouped columns.
        groups: column → group of each of its states.
    """

    def __init__(self, table: Table, schema: Schema, groups: Mapping[str, Sequence[int]]) -> None:
        self._fine = table
        self._given = self._schema = schema
        self._n_rows = table._n_rows
        self._cells = {}
        self._maps = [_group_of(groups.get(name)) for name in schema.names]
        kept = table._in_memory()
        self._grouped = None if kept is None else [self._mapped(batch) for batch in kept]

    def recoded(self, schema: Schema) -> Table:
        """Rows are put into other bins before they are grouped."""
        raise NotImplementedError("grouped rows cannot be coded again")

    def sums(self, columns: tuple[int, ...], of: tuple[int, ...]) -> Confidential[ExactSums]:
        """Groups have no numbers."""
        raise NotImplementedError("grouped rows have no numbers to sum")

    def score_products(self, scores: Scores) -> Confidential[ExactProducts]:
        """Groups have no numbers."""
        raise NotImplementedError("grouped rows have no numbers to multiply")

    def line_counts(
        self, lines: Mapping[str, LineCells]
    ) -> Confidential[dict[str, NDArray[np.int64]]]:
        """Groups have no numbers."""
        raise NotImplementedError("grouped rows have no numbers to count")

    def read(self, names: Sequence[str]) -> Confidential[list[Reading]]:
        """Groups have no numbers."""
        raise NotImplementedError("grouped rows have no numbers to read")

    def _batches(self) -> Iterator[list[Codes]]:
        if self._grouped is not None:
            return iter(self._grouped)
        return map(self._mapped, self._fine._batches())

    def _in_memory(self) -> list[list[Codes]] | None:
        return self._grouped

    def _mapped(self, columns: list[Codes]) -> list[Codes]:
        pairs = zip(columns, self._maps, strict=True)
        return [codes if table is None else table[codes] for codes, table in pairs]


def _group_of(groups: Sequence[int] | None) -> Codes | None:
    """Group of each state; the state out of domain stays out of domain."""
    if groups is None:
        return None
    n_groups = max(groups) + 1
    return np.array([*groups, n_groups], dtype=np.min_scalar_type(n_groups))
