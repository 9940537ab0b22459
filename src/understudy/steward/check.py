"""Checks of the data against the schema: for the steward, before any budget is spent.

INTERNAL: that something does not fit is known from the rows. The report names columns and kinds of
faults. How many rows are concerned, and some of the values, it says only when asked. Of a text file
it names the first lines that do not fit, and why.

**In how many rows a declared rule or relation does not hold: for the steward, before a release.**

INTERNAL: numbers of rows are known from the rows. Nothing else reads a derived column.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.coding import ColumnCoder, Reading
from understudy.data.csv import MALFORMED, UNCLOSED
from understudy.data.frames import column as named
from understudy.data.frames import is_text
from understudy.data.rows import Rows, separator_meant, told_separator, type_fault
from understudy.data.sources import count_links, is_workbook, linked_tables, open_rows, text_file
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
from understudy.schema.columns import Cells
from understudy.schema.constraints import breaks
from understudy.schema.derived import follows, sources_of
from understudy.schema.domain import box_contains
from understudy.steward.profile import ABSENT_WORDS, may_have_more

_SLACK = 1e-6  # of a column's range: rows may have been rounded in other places than ours


@dataclass(frozen=True)
class RuleTally:
    """Counts rows batch by batch.

    Attributes:
        schema: with the rules.
        coders: of the columns that are read.
        rules: derived columns that can be compared.
        related: places of the relations whose columns are there.
    """

    schema: Schema
    coders: tuple[ColumnCoder, ...]
    rules: tuple[str, ...]
    related: tuple[int, ...]
    _counts: Counter[str | int] = field(default_factory=Counter, init=False, repr=False)

    @classmethod
    def of(cls, rows: Rows, schema: Schema, coders: Sequence[ColumnCoder]) -> RuleTally:
        """Of what there is to compare: rows may lack a derived column.

        Args:
            rows: the data.
            schema: of them.
            coders: of the measured columns that can be read.
        """
        types = rows.types() if schema.derived else {}
        there = {coder.name: coder for coder in coders}
        for name, column in schema.derived.items():
            coder = ColumnCoder(name, column)
            readable = name in types and name not in rows.unreadable
            if readable and type_fault(coder, types[name], rows.kind) is None:
                there[name] = coder
        rules = [
            name
            for name, column in schema.derived.items()
            if {name, *sources_of(column)} <= set(there)
        ]
        related = [k for k, one in enumerate(schema.relations) if set(one.columns) <= set(there)]
        read = {name: there[name] for name in there if name in schema.columns or name in rules}
        return cls(schema, tuple(read.values()), tuple(rules), tuple(related))

    def add(self, batch: pl.DataFrame) -> None:
        """Count the rows of a batch that do not keep to a rule or relation."""
        if not (self.rules or self.related):
            return
        cells = {coder.name: cells_of(coder, batch) for coder in self.coders}
        for name in self.rules:
            held = follows(name, self.schema.stated, cells, slack=_SLACK)
            self._counts[name] += int((~held).sum())
        for k in self.related:
            off = breaks(self.schema.relations[k], self.schema.columns, cells)
            self._counts[k] += int(off.sum())

    def list_breaches(self) -> Iterator[tuple[str | None, str, int]]:
        """Column (None for a relation), what does not hold, and in how many rows."""
        for name in self.rules:
            if self._counts[name]:
                yield (
                    name,
                    "differs from what its rule gives, and is not read: the release will have what "
                    "the rule gives; correct the data, or the rule",
                    self._counts[name],
                )
        for k in self.related:
            if self._counts[k]:
                yield (
                    None,
                    f"The relation {self.schema.relations[k].text} does not hold, and rows whose "
                    "bins rule it out will be counted as out of domain; correct the data, or take "
                    "the relation out",
                    self._counts[k],
                )


def cells_of(coder: ColumnCoder, batch: pl.DataFrame) -> Cells:
    """A column as it is coded; a value that fits no state is absent.

    Args:
        coder: of the column.
        batch: n rows that have it.
    """
    reading = coder.read(batch.get_column(coder.name))
    if not isinstance(coder.column, NUMERIC):
        return Cells(reading.states, np.empty(0))
    ordinary = reading.states < coder.column.n_ordinary
    numbers = np.clip(reading.number, *coder.column.bounds)
    return Cells(reading.states, np.where(ordinary, numbers, np.nan))


_CLIPPED = (
    "holds values below lower or above upper, which will be clipped to them; widen the bounds, or "
    "correct the data"
)
_LINES_TOLD = 5
_EXAMPLES = 3
_HEADER_LINES = 3
"""Most lines behind the names that tools for surveys fill with texts of questions and the like."""

_LEAST_TYPED = 2  # columns of numbers or times, without which words say little about a row
_REMEDY = "correct the data, or declare these values"


@dataclass(frozen=True)
class Finding:
    """One thing that does not fit.

    Attributes:
        column: the column's name; None if the whole table or several columns are concerned.
        problem: what does not fit, what will happen and what to do, without a value.
        count: rows concerned; 0 if it is not about single rows. CONFIDENTIAL.
        examples: some of the values; none unless they were asked for. CONFIDENTIAL.
        table: which of two tables; "" where there is one.
    """

    column: str | None
    problem: str
    count: int = field(default=0, repr=False)
    examples: tuple[str, ...] = field(default=(), repr=False, compare=False)
    table: str = ""

    def line(self, *, counts: bool = False, examples: bool = False) -> str:
        """The finding as a sentence; numbers of rows and values are withheld unless asked for."""
        place = "" if self.column is None else f"Column {self.column!r} "
        if self.table:
            place = f"Table {self.table!r}: {place[:1].lower()}{place[1:]}"
        told = []
        if counts and self.count:
            told.append(f"{self.count} row{'s' if self.count > 1 else ''}")
        if examples and self.examples:
            told.append(f"such as {', '.join(map(repr, self.examples))}")
        more = f" ({'; '.join(told)})" if told else ""
        return f"{place}{self.problem}{more}."


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
        """True if everything fits; notes do not count."""
        return not self.findings

    def lines(self, counts: bool = False, examples: bool = False) -> list[str]:
        """One sentence per finding and note; no data value, and no count unless asked for.

        Args:
            counts: say how many rows are concerned. Such lines are confidential.
            examples: show the values that were gathered. Such lines are confidential.
        """
        return [
            *(one.line(counts=counts, examples=examples) for one in self.findings),
            *(f"Note: {one.line(counts=counts, examples=examples)}" for one in self.notes),
        ]


def check(data: object, schema: Schema, *, examples: bool = False) -> CheckReport:
    """Compare the data with the schema, column by column.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`; of units with members two by
            name, or one of members.
        schema: what the data should look like.
        examples: gather some values of each kind that does not fit. CONFIDENTIAL.

    Raises:
        DataError: the data cannot be read at all; single columns are reported as findings.
    """
    tables = linked_tables(data, schema)
    if schema.linked is None or not tables:
        return _check_table(data, schema, examples=examples)
    key, reports, whole = schema.linked.key, list[tuple[str, CheckReport]](), True
    for name, own, form in tables:
        reports.append((name, _check_table(own, form, examples=examples, key=key)))
        rows = open_rows(own, form)
        whole = whole and key in rows.columns and not _readable(rows, form)[0]
    findings = [replace(one, table=name) for name, each in reports for one in each.findings]
    notes = [replace(one, table=name) for name, each in reports for one in each.notes]
    if not whole:  # they cannot be put together
        return CheckReport(tuple(findings), tuple(notes))
    wide = _check_table(open_rows(data, schema), schema, examples=False)
    findings += [one for one in wide.findings if one.column is None]
    linked, beyond = _linked_findings(data, schema)
    return CheckReport((*findings, *linked), (*notes, *beyond))


def _linked_findings(data: object, schema: Schema) -> tuple[list[Finding], list[Finding]]:
    """Return how keys link two tables: what should be corrected, and what is worth knowing."""
    form, counts = schema.linked, count_links(data, schema)
    assert form is not None
    whole = schema.members
    told = [
        (form.table, "has rows without a key, each of which is a unit of its own", counts.keyless),
        (
            form.table,
            f"has rows whose key is not in the table {form.of!r}, so that columns of their units "
            "will be counted as out of domain",
            counts.orphans,
        ),
        (
            form.of,
            "has a key more than once, so that columns of these units will be counted as out of "
            "domain",
            counts.repeated,
        ),
        (
            form.of,
            f"has units without a row in {form.table!r}, which will be counted as out of domain; "
            "if such units exist, write empty = true in their table",
            counts.empty if whole and whole.least(schema.columns) else 0,
        ),
        (
            form.table,
            "has rows of one unit that differ in columns of the unit, which will be counted as out "
            "of domain",
            counts.unlike,
        ),
    ]
    beyond = (
        f"has units of more than {form.rows_per_unit} members, of whom {form.rows_per_unit} are "
        "used, drawn by chance; raise rows_per_unit if more should be"
    )
    return (
        [Finding(None, problem, count, table=name) for name, problem, count in told if count],
        [Finding(None, beyond, counts.beyond, table=form.table)] if counts.beyond else [],
    )


def _check_table(
    data: object, schema: Schema, *, examples: bool, key: str | None = None
) -> CheckReport:
    """Compare one table with its schema.

    Args:
        data: the table, or rows that are open.
        schema: what they should look like.
        examples: gather values.
        key: column that links two tables, which is read for nothing else; None for a table alone.
    """
    rows = data if isinstance(data, Rows) else open_rows(data, schema)
    if key is not None and key not in rows.columns:
        problem = "is missing; it is the key, by which rows of one unit are known"
        return CheckReport((Finding(key, problem),))
    absent = [name for name in schema.names if name not in rows.columns]
    if mark := separator_meant(rows.columns, absent):
        return CheckReport((Finding(None, f"The table has {told_separator(mark)}"),))
    faulty, coders = _readable(rows, schema)
    tally, off = _Tally(schema, coders, examples=examples), RuleTally.of(rows, schema, coders)
    n_rows, lines = 0, [*_find_malformed(data, schema), *_beside(data, rows)]
    lines += _more_header_lines(data, rows, coders)
    for batch in rows.batches([coder.name for coder in off.coders]) if coders else ():
        n_rows += batch.height
        # A malformed line is told as one fault, and not once more in every column.
        sound = batch.filter(batch.to_series(0).ne_missing(MALFORMED)) if lines else batch
        tally.add(sound)
        off.add(sound)
    n_rows = n_rows if coders else rows.count()
    broken = [Finding(name, problem, count) for name, problem, count in off.list_breaches()]
    findings = [*lines, *faulty, *tally.findings(), *broken, *_row_findings(schema, n_rows)]
    known = {*schema.declared, key}
    extra = [name for name in rows.columns if name not in known]
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


def _find_malformed(data: object, schema: Schema) -> Iterator[Finding]:
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
            f"{which}; correct them, or the table [file]{_breaks(lines, schema)}",
            count,
        )


def _beside(data: object, rows: Rows) -> Iterator[Finding]:
    """Rows of a workbook with a cell beside the columns."""
    if not is_workbook(data):
        return
    first = named(rows.columns[0])
    count = rows.lazy.select((first == MALFORMED).sum()).collect().item()
    if count:
        yield Finding(
            None,
            "The sheet has rows with a cell beside its columns, each of which will be counted as "
            "one record out of domain; empty these cells, or name their columns in the first row",
            count,
        )


def _breaks(causes: Sequence[str], schema: Schema) -> str:
    """Suggest what to do where line breaks inside quotes may be why lines do not fit."""
    if schema.file.multiline or not any(UNCLOSED in cause for cause in causes):
        return ""
    return (
        ". If cells have line breaks inside their quotes, write multiline = true in the table "
        "[file], which makes the guarantee conditional"
    )


def _more_header_lines(
    data: object, rows: Rows, coders: Sequence[ColumnCoder]
) -> Iterator[Finding]:
    """Lines behind the names that are words in all columns of numbers and times."""
    typed = [one for one in coders if isinstance(one.column, NUMERIC)]
    if not may_have_more(data) or len(typed) < _LEAST_TYPED:
        return
    first = rows.ask(rows.lazy.head(_HEADER_LINES).select(named(one.name) for one in typed))
    readings = [(one.column, one.read(first.get_column(one.name))) for one in typed]
    words = [(r.states == c.size) & ~r.absent & np.isnan(r.number) for c, r in readings]
    found = np.logical_and.reduce(words)
    sound = first.to_series(0).ne_missing(MALFORMED).to_numpy()
    count = int(np.argmin([*(found & sound), False]))
    if count:
        which = "line" if count == 1 else f"{count} lines"
        yield Finding(
            None,
            f"The first {which} behind the names of the columns holds words in every column of "
            "numbers and times, as the texts of questions that tools for surveys write there; take "
            "out what is no record",
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

    def __init__(self, schema: Schema, coders: Sequence[ColumnCoder], *, examples: bool) -> None:
        self._schema = schema
        self._coders = coders
        self._most = _EXAMPLES if examples else 0
        self._faults: Counter[tuple[str, str]] = Counter()
        self._examples: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self._rules = [0] * len(schema.forbidden)

    def add(self, batch: pl.DataFrame) -> None:
        """Count the faults of one batch."""
        sizes = self._schema.sizes
        columns = [np.full(batch.height, size) for size in sizes]  # a column not read fits no rule
        for coder in self._coders:
            values = batch.get_column(coder.name)
            reading = coder.read(values)
            columns[self._schema.names.index(coder.name)] = reading.states
            for problem, rows in _faults(coder.column, reading, values):
                self._faults[coder.name, problem] += int(rows.sum())
                self._show((coder.name, problem), values, rows)
        boxes = self._schema.domain.boxes[: len(self._rules)]  # those of relations follow
        for r, box in enumerate(boxes):
            self._rules[r] += int(box_contains(box, sizes, columns).sum())

    def _show(self, key: tuple[str, str], values: pl.Series, rows: NDArray[np.bool_]) -> None:
        """Gather examples of a fault, each once."""
        known = self._examples[key]
        if len(known) >= self._most or not rows.any():
            return
        different = values.filter(pl.Series(rows)).cast(pl.String).drop_nulls().unique()
        for text in different.head(self._most):
            if len(known) < self._most:
                known[text] = None

    def findings(self) -> Iterator[Finding]:
        """Faults of columns in the order of the schema, then of rules."""
        yield from (self._find(key) for key in self._list_faults() if not self._is_note(*key))
        for rule, count in zip(self._schema.forbidden, self._rules, strict=True):
            if count:
                yield Finding(
                    None,
                    f"The forbidden combination {rule.text} occurs, and will be counted as out of "
                    "domain; correct the data, or take the rule out",
                    count,
                )

    def notes(self) -> Iterator[Finding]:
        """List what is out of domain but has a declared code under which it is released."""
        yield from (self._find(key) for key in self._list_faults() if self._is_note(*key))

    def _list_faults(self) -> Iterator[tuple[str, str]]:
        return (key for key, count in self._faults.items() if count)

    def _find(self, key: tuple[str, str]) -> Finding:
        return Finding(*key, self._faults[key], tuple(self._examples[key]))

    def _is_note(self, name: str, problem: str) -> bool:
        return problem != _CLIPPED and self._schema.columns[name].out_of_domain is not None


def _faults(
    column: Column, reading: Reading, values: pl.Series
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
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
    for word in ABSENT_WORDS if is_text(values.dtype) and left.any() else ():
        absent = left & values.cast(pl.String).is_in([word]).fill_null(False).to_numpy()
        remedy = f"declare missing = [{json.dumps(word)}] if it says that there is no value"
        yield _problem(column, f"the word {word!r}", remedy), absent
        left &= ~absent
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
