"""The in-process engine: rows coded once, or coded again on each pass if there are too many.

**Where coded rows stay between passes: in memory while they are few, in a spill, or nowhere.**
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from understudy._parallel import require_threads
from understudy.data.base import CellCounts, Confidential, ExactCells, SummedRows
from understudy.data.coding import (
    Coder,
    ColumnCoder,
    Reading,
    StateCodes,
    coded_alike,
    part_of,
)
from understudy.data.marginals import MAX_CODES
from understudy.data.rows import FrameKind, Rows, require_columns, require_types
from understudy.data.sources import open_rows
from understudy.data.spill import Spill, require_folder
from understudy.data.sums import CodePass, RowPass, T, group_of, in_groups_of
from understudy.errors import DataError
from understudy.schema import Schema, private_copy

KEEP_BYTES = 2**30
SPILL_BYTES = 2**26
"""Codes of more bytes go into the spill, where there is one; fewer never reach a disk."""


class KeptCodes:
    """Coded rows, kept for later passes.

    Args:
        keep_bytes: most memory to keep them in.
        spill: folder for those that need more than that, or than `SPILL_BYTES`; None for none.
        required: whether a spill that cannot be written is an error. Otherwise nothing is kept.

    Raises:
        DataError: a spill that is required cannot be opened in its folder.
    """

    def __init__(self, keep_bytes: int, spill: Path | None, *, required: bool = True) -> None:
        self._most = keep_bytes if spill is None else min(keep_bytes, SPILL_BYTES)
        self._folder = spill
        self._required = required
        self._used = 0
        self._memory: list[list[StateCodes]] | None = []
        self._spill: Spill | None = None
        if spill is not None and required:
            require_folder(spill)

    def add(self, columns: list[StateCodes]) -> None:
        """Keep some rows; one array of shape (n,) per column.

        Raises:
            DataError: the spill cannot be written, and is required.
        """
        if self._memory is not None:
            self._used += sum(codes.nbytes for codes in columns)
            self._memory.append(columns)
            if self._used > self._most:
                self._leave_memory()
        elif self._spill is not None:
            self._write([columns])

    def seal(self) -> None:
        """There are no more rows.

        Raises:
            DataError: as for `add`.
        """
        if self._spill is not None:
            self._write([])

    @property
    def in_memory(self) -> list[list[StateCodes]] | None:
        """All rows, batch by batch, if they are kept in memory."""
        return self._memory

    def batches(self) -> Iterator[list[StateCodes]] | None:
        """All rows, batch by batch; None if they are not kept.

        Raises:
            DataError: while they are read, if the spill was damaged.
        """
        if self._memory is not None:
            return iter(self._memory)
        return None if self._spill is None else self._spill.batches()

    def _leave_memory(self) -> None:
        kept, self._memory = self._memory or [], None
        if self._folder is not None:
            self._write(kept)

    def _write(self, batches: list[list[StateCodes]]) -> None:
        """Write some batches; the last of the table if there is none."""
        try:
            if self._spill is None:
                assert self._folder is not None
                self._spill = Spill(self._folder, [codes.dtype for codes in batches[0]])
            for columns in batches:
                self._spill.add(columns)
            if not batches:
                self._spill.seal()
        except DataError:
            if self._required:
                raise
            self._spill = None


class Table(SummedRows):
    """Rows coded against a schema, in this process.

    The first pass codes every row and so finds structural faults before any budget is spent. The
    codes (a byte or two per value) are kept if they fit into `keep_bytes`. Otherwise each later
    question reads the input again, or, with a spill, the codes from there, which lie on disk
    encrypted (`understudy.data.spill`). Without a spill nothing is written to disk.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`.
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
        super().__init__(schema, private_copy(schema))
        schema = self._schema
        self._keep_bytes = keep_bytes
        self._spill = None if spill is None else Path(spill)
        first = not isinstance(data, Rows)  # else something may have been paid for already
        self._kept = KeptCodes(keep_bytes, self._spill, required=first)
        self._rows = data if isinstance(data, Rows) else open_rows(data, schema)
        self.premises, self._version = self._rows.premises, self._rows.version
        require_columns(self._rows.columns, schema, self._rows.place)
        self._coder = self._new_coder()
        require_types(self._rows, self._coder.columns)
        self._first_pass()

    def __repr__(self) -> str:
        return f"Table({len(self._schema.names)} columns, rows withheld)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A table of confidential rows cannot be pickled or copied.")

    @property
    def frame_kind(self) -> FrameKind:
        """Kind of data frame that came in."""
        return self._rows.kind

    def recode(self, schema: Schema) -> Table:
        """The same rows, coded against another schema of the same columns.

        They are read once more: only columns that have other codes, if the rows are the same as
        before (`Rows.version`) and their codes are kept. Codes have a spill of their own, or, where
        there is no room for one, rows are read on each pass.

        Raises:
            DataError: a file was changed while it was read.
        """
        return _RecodedTable(self, schema)

    def group(self, schema: Schema, groups: Mapping[str, Sequence[int]]) -> GroupedTable:
        """The same rows with states merged into groups.

        Args:
            schema: with the grouped columns (`Schema.with_groups`).
            groups: column → group of each of its states.
        """
        return GroupedTable(self, schema, groups)

    def count_occupied(
        self, columns: tuple[int, ...], *, start: int = 0, most: int = MAX_CODES
    ) -> Confidential[ExactCells]:
        """Occupied cells; of more than `most`, so many are counted and held on each pass."""
        if columns not in self._cells:
            begun = partial(CellCounts, self._schema.sizes, columns, start, most)
            found = self._through_codes(begun)
            if start > 0 or len(found.codes) == most:
                return Confidential(found)
            self._cells[columns] = found
        return super().count_occupied(columns, start=start, most=most)

    def code_rows(self) -> Confidential[list[StateCodes]]:
        """State of every value: one array of shape (n,) per column, in the order of the schema."""
        batches = list(self._batches(range(len(self._schema.names))))
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

    def _new_coder(self) -> Coder:
        return Coder(self._schema)

    def _first_pass(self) -> None:
        for columns in self._coded_batches():
            self._n_rows += len(columns[0])
            self._kept.add(columns)
        self._kept.seal()
        self._require_declared_number()

    def _coded_batches(self) -> Iterator[list[StateCodes]]:
        """States of all columns, read and coded."""
        return map(self._coder.code, self._rows.batches(self._schema.names))

    def _through_codes(self, begun: Callable[[], CodePass[T]]) -> T:
        over = begun()
        for columns in self._batches(over.places):
            over.add(columns)
        return over.answer()

    def _through_rows(self, begun: Callable[[], RowPass[T]]) -> T:
        over = begun()
        for batch in self._rows.batches(over.names):
            over.add(batch)
        return over.answer()

    def _batches(self, places: Sequence[int]) -> Iterator[list[StateCodes]]:
        """States of some columns; where none are kept, only those that play a part are read."""
        kept = self._kept.batches()
        if kept is not None:
            return ([columns[j] for j in places] for columns in kept)
        part = part_of(self._schema, places)
        coder = Coder(part, self._coder.columns)
        at = [part.names.index(self._schema.names[j]) for j in places]
        coded = map(coder.code, self._rows.batches(part.names))
        return ([columns[k] for k in at] for columns in coded)

    def _in_memory(self) -> list[list[StateCodes]] | None:
        return self._kept.in_memory


class _RecodedTable(Table):
    """The rows of another table, coded against another schema of the same columns.

    Args:
        table: the rows.
        schema: what they are coded against.
    """

    def __init__(self, table: Table, schema: Schema) -> None:
        self._former = table
        super().__init__(table._rows, schema, keep_bytes=table._keep_bytes, spill=table._spill)
        del self._former

    def _new_coder(self) -> Coder:
        return Coder(self._schema, self._former._coder.columns)

    def _coded_batches(self) -> Iterator[list[StateCodes]]:
        former = self._former
        same, kept = coded_alike(former._schema, self._schema), former._kept.batches()
        if not same or kept is None or former._version is None or former._version != self._version:
            return super()._coded_batches()
        known = [j for j, name in enumerate(former._schema.names) if name in same]
        return self._code_others(same, ([columns[j] for j in known] for columns in kept))

    def _code_others(
        self, same: frozenset[str], kept: Iterator[list[StateCodes]]
    ) -> Iterator[list[StateCodes]]:
        """States of all columns, of which some are known, and of these no copy is made.

        Raises:
            DataError: a file was changed meanwhile, so that its rows are not those of the codes.
        """
        names = self._schema.names
        others = [j for j, name in enumerate(names) if name not in same]
        if not others:
            yield from kept
            return
        part = part_of(self._schema, others)
        coder = Coder(part, self._coder.columns)
        known, start = next(kept), 0
        for batch in self._rows.batches(part.names):
            new, done = coder.code(batch), 0
            while True:
                taken = min(len(batch) - done, len(known[0]) - start)
                own = (codes[start : start + taken] for codes in known)
                read = {
                    name: codes[done : done + taken]
                    for name, codes in zip(part.names, new, strict=True)
                }
                yield [next(own) if name in same else read[name] for name in names]
                done, start = done + taken, start + taken
                if done == len(batch):
                    break
                if (following := next(kept, None)) is None:
                    raise self._changed_error()
                known, start = following, 0
        if self._rows.version != self._version:
            raise self._changed_error()

    def _changed_error(self) -> DataError:
        return DataError(
            f"{self._rows.place} was changed while it was read; leave it as it is until the run "
            "ends, and begin again."
        )


class GroupedTable(Table):
    """The rows of another table, seen through groups of states; for counts only.

    Codes are mapped once if the other table has them in memory, else on each pass.

    Args:
        table: the rows.
        schema: its schema with the grouped columns.
        groups: column → group of each of its states.
    """

    def __init__(self, table: Table, schema: Schema, groups: Mapping[str, Sequence[int]]) -> None:
        SummedRows.__init__(self, schema, schema)
        self._fine, self._n_rows = table, table._n_rows
        self._maps = [group_of(groups.get(name)) for name in schema.names]
        kept, every = table._in_memory(), range(len(schema.names))
        self._grouped = None if kept is None else [self._map_states(batch, every) for batch in kept]

    def recode(self, schema: Schema) -> Table:
        """Rows are put into other bins before they are grouped."""
        raise NotImplementedError("grouped rows cannot be coded again")

    def read(self, names: Sequence[str]) -> Confidential[list[Reading]]:
        """Groups have no numbers."""
        raise NotImplementedError("grouped rows have no numbers to read")

    def _batches(self, places: Sequence[int]) -> Iterator[list[StateCodes]]:
        if self._grouped is not None:
            return ([columns[j] for j in places] for columns in self._grouped)
        return (self._map_states(columns, places) for columns in self._fine._batches(places))

    def _in_memory(self) -> list[list[StateCodes]] | None:
        return self._grouped

    def _through_rows(self, begun: Callable[[], RowPass[T]]) -> T:
        """Groups have no numbers."""
        raise NotImplementedError("grouped rows have no numbers to sum")

    def _map_states(self, columns: list[StateCodes], places: Sequence[int]) -> list[StateCodes]:
        pairs = zip(columns, places, strict=True)
        return [in_groups_of(codes, self._maps[j]) for codes, j in pairs]
