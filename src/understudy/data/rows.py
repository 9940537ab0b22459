"""A table that can be read: as batches of one kind, as often as it is asked.

**Which types a column may have, decided from type and schema alone, before any row is looked at.**

Almost every type may: values that fit nothing are out of domain, since an error would be an output.
Refused is a type whose values have lost what the column needs, where the loss may follow from the
other rows:

- numbers, where a column has states that differ as texts only ("03" and "3") or are whole numbers
  beyond ±2⁵³ declared as text: readers of files make numbers of such texts as long as every row
  allows it, and pandas rounds large whole numbers as soon as one cell is empty. Truth values
  ("true" and "True") and days (with and without a time of day) likewise;
- in Polars tables, numbers for a column of days: Polars makes whole numbers of days as soon as one
  row holds a number;
- in Polars tables, moments of another zone than the declared one, which Polars makes of days as
  soon as one row names a zone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl
import polars.selectors as cs
import pyarrow as pa

from understudy.data.coding import ColumnCoder, is_of_clusters
from understudy.data.parquet import parquet_batches
from understudy.data.premises import NO_PREMISES, Premises
from understudy.data.values import Family
from understudy.errors import DataError
from understudy.schema import Calendar, Datetime, Schema

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
        in_memory: whether they lie in a table in memory.
    """

    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    kind: FrameKind
    place: str
    unreadable: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, tuple[pl.DataType, ...]] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    premises: Premises = NO_PREMISES
    in_memory: bool = False

    @property
    def version(self) -> tuple[object, ...] | None:
        """What passes have in common that read the same rows in the same order; None if none do.

        A table in memory stays as it is, and a Parquet file until it is written to or replaced. A
        lazy table may be another one in each pass.
        """
        try:
            marks = [file.stat() for file in self.files]
        except OSError:
            return None
        if not (marks or self.in_memory):
            return None
        return tuple((m.st_dev, m.st_ino, m.st_size, m.st_mtime_ns, m.st_ctime_ns) for m in marks)

    def types(self) -> dict[str, tuple[pl.DataType, ...]]:
        """The types that each readable column has; several if files of a folder differ.

        Raises:
            DataError: they cannot be told.
        """
        try:
            schema = self.lazy.collect_schema()
        except DataError:  # of a reader of this package that Polars asks for rows
            raise
        except READ_FAULTS:
            raise self._broken_rows_error() from None
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
        """Read some columns, in batches of at most about 250,000 rows.

        Rows that have a `version` come in their order, others in any. The first batch is empty.
        Texts may be `Enum`, of other texts in each batch.

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
                yield from chosen.collect_batches(
                    chunk_size=BATCH_ROWS, maintain_order=self.in_memory
                )
        except DataError:  # of a reader of this package that Polars asks for rows
            raise
        except READ_FAULTS:
            raise self._broken_rows_error() from None

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
        except DataError:  # of a reader of this package that Polars asks for rows
            raise
        except READ_FAULTS:
            raise self._broken_rows_error() from None

    def _broken_rows_error(self) -> DataError:
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
    except DataError:
        raise
    except READ_FAULTS:
        raise unknown(place) from None


def unknown(place: str) -> DataError:
    """That a table cannot be read at all."""
    return DataError(
        f"{place} cannot be read: it is truncated, damaged, or not what its name says."
    )


_LOST = {
    "numbers": "which cannot tell all of its levels and codes apart, such as '03' from '3' or "
    "whole numbers beyond ±2^53",
    "truth values": "which cannot tell all of its levels and codes apart, such as 'True' from "
    "'true'",
    "days": "which cannot tell all of its levels and codes apart, such as a day from one with a "
    "time of day",
}
CHECK = "`understudy schema check` tells at once all that does not fit."
"""How whoever meets one fault of a column finds the others."""


def type_fault(coder: ColumnCoder, types: Sequence[pl.DataType], kind: FrameKind) -> str | None:
    """Explain why a column cannot be read from such types: the end of a sentence, None if it can.

    Args:
        coder: of the column.
        types: plain types that it has in the data.
        kind: what kind of table the data are.
    """
    named = coder.named
    for dtype in types:
        if kind == "polars" and isinstance(coder.column, Datetime):
            zone, own = getattr(dtype, "time_zone", None), coder.column.timezone
            if zone and own and zone != own:
                return (
                    f"holds moments of the zone {zone}, which Polars also makes of days without "
                    f'one; bring them to the declared zone with .dt.convert_time_zone("{own}")'
                )
        family = _family(dtype)
        if is_of_clusters(coder.column):  # any other type reads each name alike
            if family in ("truth values", "days"):
                return f"has the type {dtype} in the data, and names clusters; convert it to text"
            continue
        if family in named.unclear:
            return f"has the type {dtype} in the data, {_LOST[family]}; convert the column to text"
        days = isinstance(coder.column, Calendar) or bool(len(named.days.numbers))
        if family == "numbers" and days and kind == "polars":
            return (
                f"has the type {dtype} in the data, which Polars also makes of days that stand "
                "beside a number; convert the column to days or text"
            )
    return None


def require_columns(names: Sequence[str], schema: Schema, place: str) -> None:
    """Check that a table has all columns of a schema.

    Args:
        names: those that it has.
        schema: what is declared.
        place: where the rows are, in words.

    Raises:
        DataError: names what is absent, and the remedy.
    """
    absent = [name for name in schema.names if name not in names]
    if absent:
        quoted = ", ".join(repr(name) for name in absent[:5])
        more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
        if mark := separator_meant(names, absent):
            raise DataError(f"{place} has {told_separator(mark)}. {CHECK}")
        raise DataError(
            f"{place} lacks the column {quoted}{more} that the schema declares; "
            f"add it to the data, or take it out of the schema. {CHECK}"
        )


def separator_meant(names: Sequence[str], absent: Sequence[str]) -> str:
    """A separator that stands between names of columns which were read as one; "" for none.

    Args:
        names: those that the table has.
        absent: those that the schema declares besides.

    Example:
        >>> separator_meant(['age;"sex"'], ["age", "sex"])
        ';'
    """
    for mark in (";", "\t", "|", ","):
        parts = {part.strip("\"' ") for name in names for part in name.split(mark)}
        if len(parts) > len(names) and 2 * len(parts.intersection(absent)) > len(absent):
            return mark
    return ""


def told_separator(mark: str) -> str:
    """Describe a header that has another separator, and what to do, as a predicate."""
    return (
        f"the names of its columns with {mark!r} between them, and the schema says that another "
        f"character separates cells; write separator = {json.dumps(mark)} in the table [file] of "
        'the schema, and decimal = "," if its numbers have decimal commas'
    )


def require_types(rows: Rows, coders: Iterable[ColumnCoder]) -> None:
    """Check the types of all columns of a schema.

    Args:
        rows: the table, which has these columns.
        coders: one for each column.

    Raises:
        DataError: names the first column whose type cannot be read, and the remedy.
    """
    types = rows.types()
    for coder in coders:
        rows.require_readable(coder.name)
        fault = type_fault(coder, types[coder.name], rows.kind)
        if fault is not None:
            raise DataError(f"Column {coder.name!r} {fault}. {CHECK}")


def _family(dtype: pl.DataType) -> Family | None:
    if dtype.is_numeric():
        return "numbers"
    if dtype == pl.Boolean:
        return "truth values"
    return "days" if dtype == pl.Date or isinstance(dtype, pl.Datetime) else None
