"""A table that can be read: as batches of one kind, as often as it is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl
import polars.selectors as cs
import pyarrow as pa

from understudy.engine.confidential import NO_PREMISES, Premises
from understudy.engine.reading.parquet import parquet_batches
from understudy.errors import DataError

FrameKind = Literal["pandas", "polars", "arrow"]
BATCH_ROWS = 250_000
READ_FAULTS = (
    *(pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError, TypeError),
    *(NotImplementedError, OverflowError, pl.exceptions.PanicException),
)


@dataclass(frozen=True)
class Rows:
    """A readable table.

    Attributes:
        lazy: the table, not read yet.
        columns: column names, in the order of the input.
        kind: which kind of data frame came in (for paths: pandas).
        place: where the rows are, in words, for error messages.
        unreadable: columns whose type cannot be read, with the name of that type; they are among
            `columns` but not in `lazy`.
        parts: types of the columns that do not have one type in all files of a folder.
        files: Parquet files of one schema that hold the rows; none for rows from elsewhere.
        premises: what a guarantee takes for granted of them.
    """

    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    kind: FrameKind
    place: str
    unreadable: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, tuple[pl.DataType, ...]] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    premises: Premises = NO_PREMISES

    def types(self) -> dict[str, tuple[pl.DataType, ...]]:
        """The types that each readable column has; several if files of a folder differ.

        Raises:
            DataError: they cannot be told.
        """
        try:
            schema = self.lazy.collect_schema()
        except READ_FAULTS:
            raise self._broken() from None
        return {name: self.parts.get(name, (dtype,)) for name, dtype in schema.items()}

    def require_readable(self, name: str) -> None:
        """Check that the type of a column can be read.

        Raises:
            DataError: names the column, its type and the remedy.
        """
        if name in self.unreadable:
            raise DataError(
                f"Column {name!r} has the type {self.unreadable[name]}, which cannot be read; "
                "convert it to numbers, text or dates."
            )

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Read some columns, in batches of at most about 250,000 rows, in any order of rows.

        The first batch is empty. Texts may be `Enum`, of other texts in each batch.

        Raises:
            DataError: a column's type cannot be read, or the input breaks off or is malformed.
        """
        for name in columns:
            self.require_readable(name)
        try:
            # By exact name: Polars takes "*" and "^…$" in a plain select for patterns.
            chosen = self.lazy.select(cs.by_name(list(columns)))
            # The types first, so that one that cannot be read is an error whatever the rows.
            yield pl.DataFrame(schema=chosen.collect_schema())
            if self.files:
                yield from parquet_batches(self.files, columns)
            else:
                yield from chosen.collect_batches(chunk_size=BATCH_ROWS)
        except READ_FAULTS:
            raise self._broken() from None

    def count(self) -> int:
        """Number of rows. CONFIDENTIAL unless the schema declares it as public.

        Raises:
            DataError: the input breaks off or is malformed.
        """
        return int(self.ask(self.lazy.select(pl.len())).item())

    def ask(self, query: pl.LazyFrame) -> pl.DataFrame:
        """Answer a query over `lazy`, reading in batches. CONFIDENTIAL.

        Raises:
            DataError: the input breaks off or is malformed.
        """
        try:
            return query.collect(engine="streaming")
        except READ_FAULTS:
            raise self._broken() from None

    def _broken(self) -> DataError:
        return DataError(
            f"{self.place} cannot be read to the end: it is truncated, damaged, or not what its "
            "name says; repair it (nothing was spent)."
        )


def names_of(lazy: pl.LazyFrame, place: str) -> tuple[str, ...]:
    """Names of the columns of a table.

    Raises:
        DataError: they cannot be told, or there are none.
    """
    try:
        return tuple(lazy.collect_schema().names())
    except pl.exceptions.NoDataError:
        raise DataError(
            f"{place} is empty: it has no header line that names the columns."
        ) from None
    except READ_FAULTS:
        raise unknown(place) from None


def unknown(place: str) -> DataError:
    """That a table cannot be read at all."""
    return DataError(
        f"{place} cannot be read: it is truncated, damaged, or not what its name says."
    )
