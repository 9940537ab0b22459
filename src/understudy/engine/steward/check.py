"""What in the data does not fit the schema: for the steward, before any budget is spent.

INTERNAL: that something does not fit is known from the rows. The report names columns and kinds of
faults and never shows a value; how many rows are concerned it says only when asked. Of a text file
it names the first lines that do not fit, and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.domain.domain import box_contains
from understudy.engine.coding import ColumnCoder, Reading
from understudy.engine.reading.column_types import type_fault
from understudy.engine.reading.readers import open_rows
from understudy.engine.reading.table_paths import text_file
from understudy.engine.reading.table_rows import Rows
from understudy.engine.reading.text_records import MALFORMED
from understudy.engine.steward.rule_tally import RuleTally
from understudy.schema import (
    NUMERIC,
    Boolean,
    Calendar,
    Column,
    Date,
    Datetime,
    Duration,
    Integer,
    Schema,
    Time,
)

_CLIPPED = (
    "holds values below lower or above upper, which will be clipped to them; widen the bounds, or "
    "correct the data"
)
_LINES_TOLD = 5
_REMEDY = "correct the data, or declare these values"


@dataclass(frozen=True)
class Finding:
    """One thing that does not fit.

    Attributes:
        column: the column's name; None if the whole table or several columns are concerned.
        problem: what does not fit, what will happen and what to do, without a value.
        count: rows concerned; 0 if it is not about single rows. CONFIDENTIAL.
    """

    column: str | None
    problem: str
    count: int = field(default=0, repr=False)

    def line(self, *, counts: bool = False) -> str:
        """The finding as a sentence; the number of rows is withheld unless asked for."""
        place = "" if self.column is None else f"Column {self.column!r} "
        rows = (
            f" ({self.count} row{'s' if self.count > 1 else ''})" if counts and self.count else ""
        )
        return f"{place}{self.problem}{rows}."


@dataclass(frozen=True)
class CheckReport:
    """Everything that does not fit, in one go.

    Attributes:
        findings: what should be corrected, in the data or in the schema.
        notes: what is worth knowing and needs no correction.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything fits; notes do not count."""
        return not self.findings

    def lines(self, counts: bool = False) -> list[str]:
        """One sentence per finding and note; no data value, and no count unless asked for.

        Args:
            counts: say how many rows are concerned. Such lines are confidential.
        """
        return [
            *(finding.line(counts=counts) for finding in self.findings),
            *(f"Note: {note.line(counts=counts)}" for note in self.notes),
        ]


def check(data: object, schema: Schema) -> CheckReport:
    """Compare the data with the schema, column by column.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`.
        schema: what the data should look like.

    Raises:
        DataError: the data cannot be read at all; single columns are reported as findings.
    """
    rows = open_rows(data, schema)
    faulty, coders = _readable(rows, schema)
    tally, off, n_rows = _Tally(schema, coders), RuleTally.of(rows, schema, coders), 0
    lines = list(_malformed(data, schema))
    for batch in rows.batches([coder.name for coder in off.coders]) if coders else ():
        n_rows += batch.height
        # A malformed line is told as one fault, and not once more in every column.
        sound = batch.filter(batch.to_series(0).ne_missing(MALFORMED)) if lines else batch
        tally.add(sound)
        off.add(sound)
    n_rows = n_rows if coders else rows.count()
    broken = [Finding(name, problem, count) for name, problem, count in off.found()]
    findings = [*lines, *faulty, *tally.findings(), *broken, *_row_findings(schema, n_rows)]
    extra = [name for name in rows.columns if name not in schema.declared]
    notes = [Finding(name, "is not in the schema and will not be released") for name in extra]
    return CheckReport(tuple(findings), (*tally.notes(), *notes))


def _readable(rows: Rows, schema: Schema) -> tuple[list[Finding], list[ColumnCoder]]:
    """Columns that can be coded; the others as findings."""
    findings, coders = [], []
    types = rows.types()
    for name, column in schema.columns.items():
        coder, fault = ColumnCoder(name, column), None
        if name not in rows.columns:
            fault = "is missing; add it to the data, or take it out of the schema"
        elif name in rows.unreadable:
            fault = (
                f"has the type {rows.unreadable[name]} in the data, which cannot be read as "
                f"{column.kind}; convert the column, or correct its kind in the schema"
            )
        else:
            fault = type_fault(coder, types[name], rows.kind)
        if fault is None:
            coders.append(coder)
        else:
            findings.append(Finding(name, fault))
    return findings, coders


def _malformed(data: object, schema: Schema) -> Iterator[Finding]:
    """Lines of a text file that make no record."""
    file = text_file(data, schema)
    if file is None:
        return
    lines, count = file.faults(_LINES_TOLD)
    if count:
        which = "; ".join(lines) if count == len(lines) else f"first, {'; '.join(lines)}"
        yield Finding(
            None,
            "The file has lines that are not written as its header and the table [file] of the "
            "schema say, each of which will be counted as one record out of domain: "
            f"{which}; correct them, or the table [file]",
            count,
        )


def _row_findings(schema: Schema, n_rows: int) -> Iterator[Finding]:
    if schema.n_rows is not None and n_rows != schema.n_rows:
        yield Finding(
            None,
            f"The data have another number of rows than the public n_rows = {schema.n_rows}; "
            'correct n_rows, or declare rows = "private"',
            n_rows,
        )
    if schema.row_limit is not None and n_rows > schema.row_limit:
        yield Finding(
            None,
            f"The data have more rows than row_limit = {schema.row_limit}, so the release will "
            "have fewer rows than the data; raise the limit, or take it out",
            n_rows,
        )


class _Tally:
    """Counts faults batch by batch."""

    def __init__(self, schema: Schema, coders: Sequence[ColumnCoder]) -> None:
        self._schema = schema
        self._coders = coders
        self._faults: Counter[tuple[str, str]] = Counter()
        self._rules = [0] * len(schema.forbidden)

    def add(self, batch: pl.DataFrame) -> None:
        """Count the faults of one batch."""
        sizes = self._schema.sizes
        columns = [np.full(batch.height, size) for size in sizes]  # a column not read fits no rule
        for coder in self._coders:
            reading = coder.read(batch.get_column(coder.name))
            columns[self._schema.names.index(coder.name)] = reading.states
            for problem, rows in _faults(coder.column, reading):
                self._faults[coder.name, problem] += int(rows.sum())
        boxes = self._schema.domain.boxes[: len(self._rules)]  # those of relations follow
        for r, box in enumerate(boxes):
            self._rules[r] += int(box_contains(box, sizes, columns).sum())

    def findings(self) -> Iterator[Finding]:
        """Faults of columns in the order of the schema, then of rules."""
        yield from (Finding(*key, count) for key, count in self._found() if not self._is_note(*key))
        for rule, count in zip(self._schema.forbidden, self._rules, strict=True):
            if count:
                yield Finding(
                    None,
                    f"The forbidden combination {rule.text} occurs, and will be counted as out of "
                    "domain; correct the data, or take the rule out",
                    count,
                )

    def notes(self) -> Iterator[Finding]:
        """What is not in the domain but has a declared code under which it is released."""
        yield from (Finding(*key, count) for key, count in self._found() if self._is_note(*key))

    def _found(self) -> Iterator[tuple[tuple[str, str], int]]:
        return ((key, count) for key, count in self._faults.items() if count)

    def _is_note(self, name: str, problem: str) -> bool:
        return problem != _CLIPPED and self._schema.columns[name].out_of_domain is not None


def _faults(column: Column, reading: Reading) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Each kind of fault that a column can have, and which rows have it; a row has at most one."""
    number = reading.number
    outside = reading.states == column.size
    yield (
        _problem(column, "empty cells", 'declare missing = [""], or fill them'),
        (outside & reading.absent),
    )
    left = outside & ~reading.absent
    if isinstance(column, NUMERIC):
        low, high = column.bounds
        binned = reading.states < column.n_ordinary
        yield _CLIPPED, binned & ((number < low) | (number > high))
        infinite = left & np.isinf(number)
        yield _problem(column, "infinite values", "replace them in the data"), infinite
        left &= ~infinite
    if isinstance(column, Integer):
        fractional = left & np.isfinite(number)
        remedy = "round them, or declare the column as continuous"
        yield _problem(column, "numbers that are not whole", remedy), fractional
        left &= ~fractional
    yield _problem(column, f"values that are {_unlike(column)}", _REMEDY), left


def _problem(column: Column, what: str, remedy: str) -> str:
    fate = (
        "counted as out of domain"
        if column.out_of_domain is None
        else "released under the code out_of_domain"
    )
    return f"holds {what}, which will be {fate}; {remedy}"


_UNLIKE: dict[type[Calendar], str] = {
    Date: "no dates (YYYY-MM-DD)",
    Datetime: "no local dates and times (YYYY-MM-DDThh:mm:ss)",
    Time: "no times of day (hh:mm:ss)",
    Duration: "no durations (P1DT2H, 26:00:00)",
}


def _unlike(column: Column) -> str:
    if isinstance(column, Boolean):
        return "not true, false, 0 or 1"
    if isinstance(column, Calendar):
        return _UNLIKE[type(column)]
    if isinstance(column, NUMERIC):
        return "no numbers"
    return "not among the levels and codes"
