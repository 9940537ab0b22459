"""A first version of a schema, read from the rows. CONFIDENTIAL until a person has reviewed it.

Reading bounds and levels off the data is the commonest leak in the field: a maximum is one
person's value. So a draft marks each entry as not reviewed, carries a fingerprint by which an entry
taken over unchanged is recognised later, and cannot be used as it is.

Columns of certain names (ages, months, sex) are drafted as conventions have them
(`understudy.steward.conventions`); of these only the codes of absence are read from the rows.

What becomes what of the others:

- true and false (also as text): boolean; calendar days (also as ISO text): date. Days with a time
  of day: datetime, to the minute; times of day: time, all of them; durations: duration;
- whole numbers, also if stored as real numbers or as text: categorical, if there are at most 12
  different ones, each on 5 rows on average, that look like codes: two of them; 1, 2, 3, … up to 6
  at most; or with a gap among the first five (1, 2, 9). Others, such as counts (0, 1, 2, …) and
  years, are integer, with one bin for each value if there are at most 50 between the bounds, else
  20 bins between bounds rounded like those of other numbers. Text with leading zeros ("007") stays
  text;
- other numbers: continuous, 20 bins, bounds rounded outward to two digits of the range; with at
  most 12 different values, each on 5 rows on average, they are the grades of a scale: ordinal;
- bins are of equal width, unless the numbers crowd together (incomes, durations): then their edges
  are round numbers near the quantiles;
- a value that more than a tenth of the rows share, and at least 5, is a spike of a column with
  wide bins;
- text: categorical; categories that a type declares are the levels, used or not, in its order,
  and ordinal if the type says that they are ordered;
- numbers with a few digits behind the point keep as many as `decimals`;
- in files of SPSS and Stata, labelled codes are levels, in the file's order; user-missing codes are
  missing codes; the level of measurement decides between levels in order, levels without one and
  numbers; what they are called becomes the description and the labels;
- empty cells, and words such as "NA" or "?" in a column that otherwise holds numbers, dates or
  truth values: missing codes. Infinite values stay out of the domain.

How a text file is written is found out too (`understudy.steward.column_draft`), and what is not
the default goes to the table [file]. Lines that do not fit are left out of the draft, and so are
lines of words behind the names (`understudy.steward.profile`).

Columns that are functions of others in every row are proposed as derived
(`understudy.steward.found_rules`).

Columns that look like identifiers, hold nothing or have a type that cannot be read are left out,
and the heading says so.

**For the steward before a release: a schema drafted and checked. No mechanism uses it.**

**Drafting a schema from rows, and checking rows against it: for the steward.**
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from understudy._validation import require_mapping, require_text
from understudy.data.coding import ColumnCoder
from understudy.data.csv import MALFORMED, Delimited, is_delimited
from understudy.data.frames import column as named
from understudy.data.jsonl import JsonLines, is_json_lines
from understudy.data.rows import Rows, type_fault
from understudy.data.sources import is_workbook, open_rows
from understudy.errors import DataError, SchemaError, line, name_fault, suggestion
from understudy.metadata.codebook import Codebook, read_codebook, write_comments
from understudy.metadata.variables import with_rules_that_hold
from understudy.schema import NUMERIC, Column, Relation, Schema, toml
from understudy.schema.base import text_of
from understudy.schema.file_format import FileFormat
from understudy.schema.file_labels import LabelCode, is_statistical, read_file_labels
from understudy.schema.households import MOST_MEMBERS, MemberTable
from understudy.schema.schema import given_schema
from understudy.steward.check import CheckReport
from understudy.steward.check import check as check_rows
from understudy.steward.codebook_draft import (
    ABSENT,
    complete_column,
    disagreements,
    labelled_column,
    without_codes,
    without_missing,
)
from understudy.steward.column_draft import LeftOutError, drafted_column, sniff_format
from understudy.steward.conventions import is_proposed
from understudy.steward.found_rules import with_found_rules
from understudy.steward.profile import (
    Profile,
    Profiler,
    declared_categories,
    may_have_more,
    more_header_lines,
    questions,
)

_SHARE_BEYOND = 0.01
"""Of units that may have more members than the slots that are proposed."""
_LEAST_UNITS = 20
_ROWS_A_UNIT = 1.2, 12.0


class Extremes:
    """Ends of the numbers of each column. CONFIDENTIAL: they are held, and never given out.

    Args:
        data: the table.
        schema: what is declared of it.

    Raises:
        DataError: the table cannot be read.
    """

    def __init__(self, data: object, schema: Schema) -> None:
        rows = open_rows(data, schema)
        types = rows.types()
        coders = [
            coder
            for coder in (ColumnCoder(name, column) for name, column in schema.columns.items())
            if isinstance(coder.column, NUMERIC)
            and coder.name in types
            and type_fault(coder, types[coder.name], rows.kind) is None
        ]
        self._ends: dict[str, tuple[float, float]] = {}
        for batch in rows.batches([coder.name for coder in coders]) if coders else ():
            for coder in coders:
                reading = coder.read(batch.get_column(coder.name))
                ordinary = reading.number[reading.states < coder.column.n_ordinary]
                numbers = ordinary[np.isfinite(ordinary)]
                if len(numbers):
                    low, high = self._ends.get(coder.name, (np.inf, -np.inf))
                    ends = min(low, float(numbers.min())), max(high, float(numbers.max()))
                    self._ends[coder.name] = ends

    def are_bounds_of(self, name: str, schema: Schema) -> bool:
        """Return whether a column is declared to begin or to end where its rows do.

        Args:
            name: of the column.
            schema: as it stands now.
        """
        column = schema.columns.get(name)
        if not isinstance(column, NUMERIC) or name not in self._ends:
            return False
        return any(x == y for x, y in zip(column.bounds, self._ends[name], strict=True))


_HEADING = """\
# CONFIDENTIAL: what the lines `drafted` name was read from confidential rows.
# Do not publish this file, and do not use it, before every entry is confirmed against public
# knowledge (a codebook, a law, a judgement made without looking at the rows), its `source` is
# named and `reviewed = true` is set: `understudy schema review` asks column by column. Numbers such
# as -9 or 999 that stand for "not known" belong into `missing`; the bounds then leave them out.
# What has a `source` already was proposed by a codebook or the column's name, not by the rows.
"""
_DEFAULTS = """\
[[defaults]]
columns = ["*"]
source = ""
reviewed = false

"""
_FIRST_OF_COLUMNS = re.compile(r"^\[(lists|columns|tables)\.", re.MULTILINE)


def draft_schema(
    data: object,
    *,
    title: str = "",
    codebook: Codebook | None = None,
    key: str = "",
    file: Mapping[str, Any] | None = None,
) -> str:
    """Draft a schema from the data.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`; two of them by name, units first.
        title: name of the table, for people.
        codebook: what is publicly known of it; the rows then give only what it lacks.
        key: column that names units of several rows; "" for a flat table, and to find the column
            that links two tables.
        file: how the file is written, as `draft` has it; None to read it off the file.

    Returns:
        TOML text that `Schema.loads` reads and `Schema.require_reviewed` refuses. CONFIDENTIAL.

    Raises:
        DataError: the data cannot be read, no column can be drafted, or one has a name that no
            schema can declare.
        SchemaError: no file is written as `file` says.
    """
    book, form = codebook or Codebook.empty(), _told_form(file)
    if key or isinstance(data, Mapping):
        return _draft_tables(data, key, title, book, form)
    opened = _Opened.of(data, form)
    absent = [name for name in book.order if name not in opened.rows.columns]
    drafted = _draft_table(opened, book, absent)
    _require_columns(opened, drafted)
    text = _text(title or book.title, drafted.columns, opened.form, drafted.relations)
    return f"{_HEADING}{drafted.notes}\n{text}"


def _require_columns(opened: _Opened, drafted: _Drafted) -> None:
    if not drafted.columns:
        raise DataError(
            f"{opened.rows.place} has no column that can be drafted: each one is empty, looks like "
            "an identifier, or has a type that cannot be read; write the schema by hand."
        )


@dataclass(frozen=True)
class _Opened:
    """A table to be drafted.

    Attributes:
        data: as it was given.
        rows: of it, without lines that do not fit and lines of names.
        form: how they are written.
        n_headers: how many lines more than one are names.
        units: of columns of numbers, that were taken off them.
    """

    data: object
    rows: Rows
    form: FileFormat
    n_headers: int
    units: dict[str, str]

    @classmethod
    def of(cls, data: object, told: Schema | None) -> _Opened:
        """Open it.

        Args:
            data: as it was given.
            told: how it is written; None if nobody said.

        Raises:
            DataError: it cannot be read, or has a name that no schema can declare.
        """
        rows, form, n_headers, units = _open_for_draft(data, told)
        _require_names(rows.columns)
        return cls(data, rows, form, n_headers, units)

    def only(self, names: Sequence[str], *, once_a: str = "") -> _Opened:
        """The same without other columns.

        Args:
            names: of those that stay.
            once_a: column of whose values the first row alone stays; "" for all rows.
        """
        lazy, files = self.rows.lazy, self.rows.files
        if once_a:
            # By a name of our own, since Polars takes some names for patterns.
            mark = "".join(("key of units", *names))
            lazy, files = lazy.with_columns(named(once_a).alias(mark)).unique(mark, keep="any"), ()
        readable = [name for name in names if name not in self.rows.unreadable]
        lazy = lazy.select(cs.by_name(readable))
        rows = replace(self.rows, lazy=lazy, columns=tuple(names), files=files)
        return replace(self, rows=rows)


@dataclass(frozen=True)
class _Drafted:
    """The draft of one table.

    Attributes:
        columns: name → column, in the order of the table.
        relations: between them, as a codebook has them.
        notes: lines of the schema's heading.
    """

    columns: dict[str, Column]
    relations: list[Relation]
    notes: str


def _draft_table(
    opened: _Opened, book: Codebook, absent: Sequence[str] = (), *, derives: bool = True
) -> _Drafted:
    """Draft the columns of one table.

    Args:
        opened: the table.
        book: what is publicly known of it.
        absent: variables of the codebook that the table lacks.
        derives: whether columns may be derived from others.
    """
    whole, data = opened.rows, opened.data
    labels = read_file_labels(str(data)).variables if is_statistical(data) else {}
    labels = {name: one for name, one in labels.items() if name in whole.columns}
    rows, missing = without_missing(whole, labels) if labels else (whole, {})
    rows, empty = without_codes(rows, book)
    profiler = Profiler(rows, opened.units)
    columns = {name: book.columns[name] for name in rows.columns if name in book.columns}
    sourced = dict(columns)
    left_out = {name: book.left_out[name] for name in rows.columns if name in book.left_out}
    categories = declared_categories(data)
    unused: dict[str, Mapping[LabelCode, str]] = {}
    profiles = profiler.profiles()
    for profile in profiles:
        name = profile.name
        if name in columns or name in left_out:
            continue
        try:
            if name in book.asked:
                words = tuple(code for code in profile.codes if code)
                codes = missing.get(name, (("",) if name in empty else ()) + words)
                told = replace(profile, codes=codes)
                columns[name] = complete_column(book.asked[name], told, profiler)
                sourced[name] = columns[name]
            elif name in labels:
                told = replace(profile, codes=missing[name])
                labelled = labelled_column(labels[name], told, profiler)
                columns[name], unused[name] = labelled.column, labelled.unused
            else:
                columns[name] = drafted_column(profile, profiler, categories.get(name))
        except LeftOutError as reason:
            left_out[name] = str(reason)
    columns = with_rules_that_hold({n: columns[n] for n in rows.columns if n in columns})
    if derives:
        columns = _with_rules(whole, columns, known=sourced)
    else:
        computed = [name for name, one in columns.items() if one.derived is not None]
        left_out |= dict.fromkeys(computed, "is derived; derive it from the released table")
        columns = _keep_measured(columns)
    sourced = {name: columns[name] for name in sourced if name in columns}
    proposed = {n: c for n, c in columns.items() if n not in sourced and is_proposed(c)}
    alike = whole.lazy if opened.n_headers else data
    found = disagreements(alike, {**sourced, **proposed}, opened.form)
    left_out |= dict.fromkeys(absent, ABSENT)
    notes = _header_text(opened.n_headers) + _left_out_text(left_out) + _unused_text(unused)
    notes += _meant_text([one for one in profiles if one.name in columns])
    notes += _asked_text(columns, profiles, profiler)
    notes += _book_text(book, [one.line() for one in found if one.column not in proposed])
    notes += _proposed_text([name for name in proposed if any(o.column == name for o in found)])
    relations = [Relation(**one) for one in book.proposed_relations(columns)]
    relations = [one for one in relations if not [*one.faults(_keep_measured(columns))]]
    return _Drafted(columns, relations, notes)


def _draft_tables(data: object, key: str, title: str, book: Codebook, told: Schema | None) -> str:
    """Draft a schema of units with their members.

    Args:
        data: two tables by name, units first; or one of members.
        key: that links them; "" to find it in two tables.
        title: for people.
        book: what is publicly known of both.
        told: how both are written; None if nobody said.

    Raises:
        DataError: the tables do not belong together, or cannot be drafted.
        SchemaError: a name that no schema of both can have.
    """
    if isinstance(data, Mapping):
        if len(data) != 2:
            raise DataError("A draft of units and their members needs two tables, units first.")
        of, table = map(str, data)
        units, members = (_Opened.of(one, told) for one in data.values())
        key = _linking_key(units.rows, members.rows, key)
        own = [name for name in members.rows.columns if name != key]
        above = [name for name in units.rows.columns if name != key]
        beside = list[str]()
    else:
        of, table = "household", "person"
        units = members = _Opened.of(data, told)
        if key not in members.rows.columns:
            raise DataError(
                f"{members.rows.place} has no column {key!r}"
                f"{suggestion(key, members.rows.columns)}; name the column that tells units apart."
            )
        others = [name for name in members.rows.columns if name != key]
        above = beside = _same_within(members.rows, key, others)
        own = [name for name in others if name not in above]
    form = _common_form(units, members)
    absent = [name for name in book.order if name not in (*above, *own, key)]
    once_a = "" if isinstance(data, Mapping) else key
    drafted = _draft_table(units.only(above, once_a=once_a), _part_of(book, above), absent)
    of_members = members.only(own)
    drafted_own = _draft_table(of_members, _part_of(book, own), derives=False)
    _require_columns(of_members, drafted_own)
    sizes = _sizes(units.rows, members.rows, key)
    slots = {"of": of, "key": key, "rows_per_unit": _slots(sizes)}
    asked = [*_questions(table, slots, drafted_own.columns)]
    if beside:
        asked.append(
            f"{', '.join(map(repr, beside))} are the same in all rows of each unit: do they belong "
            f"to the table {of!r}, and all others to {table!r}? Move a column by its heading"
        )
    if len(sizes) and not sizes.min():
        asked.append(f"some units have no row of {table!r}: can that be? Write empty = true then")
    notes = f"{_units_text(asked)}{drafted.notes}{drafted_own.notes}"
    head = {**_head(title or book.title, form), "unit": {"table": of}}
    whole = f"{_HEADING}{notes}\n{_tables_text(head, drafted, (table, slots, drafted_own))}"
    toml.loads(whole, Schema)
    return whole


def _part_of(book: Codebook, names: Sequence[str]) -> Codebook:
    """Return what a codebook says of some columns."""
    known = [name for name in book.order if name in names]
    return book.only(known) if known else Codebook.empty()


def _linking_key(units: Rows, members: Rows, key: str) -> str:
    """The one column that both tables have, and that no two units share.

    Raises:
        DataError: there is none, or more than one.
    """
    both = [name for name in units.columns if name in members.columns and key in ("", name)]
    readable = [name for name in both if name not in {*units.unreadable, *members.unreadable}]
    keys = [name for name in readable if _is_unique(units, name)]
    if len(keys) == 1 and not _is_unique(members, keys[0]):
        return keys[0]
    if len(keys) > 1:
        raise DataError(
            f"Both tables have the columns {', '.join(map(repr, keys))}, in which no two units are "
            "alike; name the one that links them by key (--key)."
        )
    if any(_is_unique(members, name) for name in readable):
        raise DataError(
            "Each row of the members has a key of its own; give the table of units first, and that "
            "of their members second."
        )
    raise DataError(
        "No column links both tables: the key has one name in both, and no two units share it."
    )


def _is_unique(rows: Rows, name: str) -> bool:
    values = named(name)
    twice = (values.n_unique() < pl.len()).alias("twice")
    return not rows.ask(rows.lazy.select(twice)).item()


def _same_within(rows: Rows, key: str, names: Sequence[str]) -> list[str]:
    """Columns that are the same in all rows of each unit. CONFIDENTIAL."""
    readable = [name for name in names if name not in rows.unreadable]
    query = rows.lazy.group_by(named(key).alias("unit")).agg(
        (named(name).n_unique() == 1).alias(f"same {k}") for k, name in enumerate(readable)
    )
    told = rows.ask(query.select(pl.exclude("unit").all())).row(0, named=True)
    return [name for k, name in enumerate(readable) if told[f"same {k}"]]


def _sizes(units: Rows, members: Rows, key: str) -> NDArray[np.int64]:
    """Number of members of each unit, 0 of those that are known as units alone. CONFIDENTIAL."""
    counts = members.lazy.select(named(key).alias("unit")).group_by("unit").len()
    sizes = members.ask(counts.select("len")).to_series().to_numpy().astype(np.int64)
    several = 0 if units is members else units.count() - len(sizes)
    return np.concatenate((sizes, np.zeros(max(0, several), dtype=np.int64)))


def _slots(sizes: NDArray[np.int64]) -> int:
    """As many slots as nearly all units have members at most."""
    most = int(np.quantile(sizes, 1 - _SHARE_BEYOND, method="higher")) if len(sizes) else 1
    return min(max(most, 1), MOST_MEMBERS)


def _common_form(units: _Opened, members: _Opened) -> FileFormat:
    """Return how both files are written.

    Raises:
        DataError: one is written in another way.
    """
    if units.data is members.data or units.form == members.form:
        return members.form
    apart = units.form.model_dump(exclude_defaults=True)
    together = {**apart, **members.form.model_dump(exclude_defaults=True)}
    for key in (key for key in apart if together[key] != apart[key]):
        raise DataError(
            f"Both files must be written in one way, and they differ in `{key}`; write one anew."
        )
    form = FileFormat.model_validate(together)
    for one in (units, members):
        path = Path(str(one.data))
        if is_delimited(one.data) and Delimited(path, form).columns != one.rows.columns:
            raise DataError("Both files must be written in one way; write one of them anew.")
    return form


def _require_names(names: Sequence[str]) -> None:
    """Refuse a table with a name that no schema can declare.

    Raises:
        DataError: says which column, and the fix.
    """
    for place, name in enumerate(names, start=1):
        if fault := name_fault(name):
            of_r = "" if name else " (R writes one of row names unless row.names = FALSE)"
            raise DataError(
                f"Column {place} of the table {fault}{of_r}; rename it, or leave it out."
            )


def _with_rules(
    rows: Rows, columns: dict[str, Column], known: Collection[str]
) -> dict[str, Column]:
    """The columns, with rules that the rows keep to, where nothing else is known of a column."""
    free = [name for name, one in columns.items() if name not in known and one.derived is None]
    found = with_found_rules(rows, columns, free)
    for name in free:
        column = found[name]
        if column.derived is not None:
            own = column.fingerprints()
            read = {"derived": own["derived"], **{k: own[k] for k in column.drafted if k in own}}
            read |= {"levels": own["levels"]} if "levels" in own else {}
            found[name] = column.model_copy(update={"drafted": read})
    return found


def _told_form(entries: Mapping[str, Any] | None) -> Schema | None:
    """A schema that says how a file is written, as somebody does who knows it, and nothing else.

    Raises:
        SchemaError: no file is written so.
    """
    if not entries:
        return None
    require_mapping("file", entries, SchemaError, '{"separator": ";"}')
    words = {"tab": "\t", "space": " ", "none": "", "true": True}
    form = {name: words.get(str(text), text) for name, text in entries.items()} | {"reviewed": True}
    told = "".join(toml.entry_text(name, value) for name, value in form.items())
    column = '[columns.any]\nkind = "integer"\nlower = 0\nupper = 1\n'
    return toml.loads(f"[file]\n{told}{column}", Schema)


def _open_for_draft(
    data: object, told: Schema | None
) -> tuple[Rows, FileFormat, int, dict[str, str]]:
    """The rows to be drafted, how they are written, and how many lines more than one are names.

    Besides, units of columns that were taken off already, as marks of thousands are. Lines that do
    not fit are left out, and so are those of names.
    """
    usual = told.file if told else FileFormat()
    if is_json_lines(data) and Path(str(data)).is_file():
        return _rows(JsonLines.with_all_keys(Path(str(data)))), usual, 0, {}
    if not is_delimited(data) or not Path(str(data)).is_file():
        rows = open_rows(data, told)
        rows = (
            replace(rows, lazy=_drop_misfits(rows.lazy, rows.columns))
            if is_workbook(data)
            else rows
        )
        n_headers = more_header_lines(rows) if may_have_more(data) else 0
        return _below(rows, n_headers), usual, n_headers, {}
    path = Path(str(data))
    form = told.file if told else sniff_format(path)
    file = Delimited(path, form)
    of_numbers = _rows(replace(file, numbers=dict.fromkeys(file.columns, "")))
    n_headers, units = more_header_lines(of_numbers), {}
    if form.decimal == "," or form.thousands:
        # A cell such as 1,5 or 1.234 is a number only in a column that holds nothing else.
        units = Profiler(_below(_rows(file), n_headers)).units()
        numbers = {name: units.get(name, "") for name in file.columns}
        profiles = Profiler(_below(_rows(replace(file, numbers=numbers)), n_headers)).profiles()
        numbers = {one.name: numbers[one.name] for one in profiles if one.shape == "number"}
        units = {name: unit for name, unit in units.items() if name in numbers}
        file = replace(file, numbers=numbers)
    return _below(_rows(file), n_headers), form, n_headers, units


def _below(rows: Rows, n_headers: int) -> Rows:
    return replace(rows, lazy=rows.lazy.slice(n_headers)) if n_headers else rows


def _rows(file: Delimited | JsonLines) -> Rows:
    place = f"The file {str(file.path)!r}"
    return Rows(_drop_misfits(file.lazy(), file.columns), file.columns, "pandas", place)


def _drop_misfits(lazy: pl.LazyFrame, columns: Sequence[str]) -> pl.LazyFrame:
    """Without the records that do not fit the header."""
    return lazy.filter((cs.by_name(columns[0]) != MALFORMED).fill_null(True))


def _header_text(n_headers: int) -> str:
    """Lines that stand among the rows and are none, for the heading."""
    if not n_headers:
        return ""
    lines = (
        "line behind the names of the columns holds"
        if n_headers == 1
        else (f"{n_headers} lines behind the names of the columns hold")
    )
    return (
        f"#\n# The first {lines} words in all columns\n# of numbers and times. This draft leaves "
        "them out: take them out of the file, too.\n"
    )


def _unused_text(unused: Mapping[str, Mapping[LabelCode, str]]) -> str:
    """Labelled values that have no state of their own, for the heading."""
    lines = [
        f"#   {name!r}: {', '.join(f'{text_of(code)} {label!r}' for code, label in told.items())}."
        for name, told in unused.items()
        if told
    ]
    if not lines:
        return ""
    head = ["#", "# Labelled values of columns of numbers; some may belong into `missing`:"]
    return "\n".join([*head, *lines, ""])


def _left_out_text(left_out: dict[str, str]) -> str:
    if not left_out:
        return ""
    # repr keeps a line break in a name from ending the comment.
    lines = (f"#   {name!r}: {reason}.\n" for name, reason in left_out.items())
    return "#\n# Columns left out of this draft, which will not be released:\n" + "".join(lines)


def _book_text(book: Codebook, findings: list[str]) -> str:
    """Describe what was taken from a codebook, and what in the rows does not agree with it."""
    if not book.order:
        return ""
    told = (
        f"#\n# From the codebook {book.place!r}: all columns whose `source` names it. What the "
        "rows\n# gave beside it has fingerprints in `drafted`.\n"
    )
    if findings:
        told += "#\n# CONFIDENTIAL: rows and codebook do not agree here; no entry was changed:\n"
        told += "".join(f"#   {line(finding)}\n" for finding in findings)
    return told + write_comments("Worth knowing", book.notes)


def _meant_text(profiles: Sequence[Profile]) -> str:
    """Columns of texts that rather are something else, for the heading."""
    lines = [f"#   {one.name!r}: {one.meant}.\n" for one in profiles if one.meant]
    head = (
        "#\n# CONFIDENTIAL: texts that look like something else, which they are read as only if "
        "the file\n# writes them so:\n"
    )
    return head + "".join(lines) if lines else ""


def _asked_text(
    columns: Mapping[str, Column], profiles: Sequence[Profile], profiler: Profiler
) -> str:
    """Describe what is to be asked about columns of numbers, for the heading."""
    lines = [
        f"#   {profile.name!r}: {question}?\n"
        for profile in profiles
        if profile.name in columns
        for question in questions(columns[profile.name], profile, profiler)
    ]
    head = (
        "#\n# CONFIDENTIAL: questions that the rows raise. Answer them by what is known of them:\n"
    )
    return head + "".join(lines) if lines else ""


def _proposed_text(names: Sequence[str]) -> str:
    """Columns whose rows do not fit what their names speak of, for the heading."""
    if not names:
        return ""
    return (
        "#\n# CONFIDENTIAL: the rows do not fit the convention that these names speak of. Choose "
        "another\n# form (v in `understudy schema review`), or declare the column by hand:\n"
        f"#   {', '.join(map(repr, names))}.\n"
    )


def _keep_measured(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Those that are not derived."""
    return {name: column for name, column in columns.items() if column.derived is None}


def _text(
    title: str, columns: dict[str, Column], form: FileFormat, relations: Sequence[Relation]
) -> str:
    """The schema, with what a reviewer has to fill in once for all columns."""
    schema = Schema(title=title, columns=columns, relations=tuple(relations))
    entries = {name: _entries(column) for name, column in schema.stated.items()}
    unit = {"rows_per_unit": schema.unit.rows_per_unit}
    told = [one.model_dump(include={"inequality", "source", "reviewed"}) for one in relations]
    rules = {"relations": told} if told else {}
    head = {**_head(title, form), "unit": unit}
    return _with_defaults(toml.dumps({**head, "columns": entries, **rules}, lists=True))


def _head(title: str, form: FileFormat) -> dict[str, Any]:
    """Return what stands before the columns."""
    named = {"title": title} if title else {}
    file = {"file": _file_entries(form)} if form.told else {}
    return {"format": Schema.model_fields["format"].default, **named, "rows": "private", **file}


def _questions(
    table: str, slots: Mapping[str, Any], columns: Mapping[str, Column]
) -> Iterator[str]:
    """Return questions about the key, the number of slots and their order."""
    yield f"{slots['key']!r} is proposed as the key: does it name units whom the promise is about?"
    yield (
        f"rows_per_unit = {slots['rows_per_unit']} was read from the rows: how many rows of "
        f"{table!r} can a unit have, by a questionnaire or a law?"
    )
    number = next((name for name, one in columns.items() if isinstance(one, NUMERIC)), None)
    order = "in no order" if number is None else f"by {number!r}, largest first"
    yield (
        f"rows of one unit fill slots {order}: does a column tell who is who, such as a role? "
        'Write order = ["role", "-age"] then'
    )


def _units_text(asked: Sequence[str]) -> str:
    """Questions about units and their members, for the heading."""
    head = "#\n# CONFIDENTIAL: questions about units. Answer them by what is known of them:\n"
    return head + "".join(
        textwrap.fill(
            f"{question}.".replace("?.", "?"),
            100,
            initial_indent="#   ",
            subsequent_indent="#     ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        + "\n"
        for question in asked
    )


def _tables_text(
    head: Mapping[str, Any], units: _Drafted, members: tuple[str, Mapping[str, Any], _Drafted]
) -> str:
    """The schema of two tables, with what a reviewer has to fill in once for all columns.

    Args:
        head: what stands before the tables.
        units: their table.
        members: the name of their table, how it belongs to that of units, and its columns.
    """
    table, slots, own = members
    taken = {*units.columns, slots["key"]}
    size = next(one for one in ("size", "members", f"number of {table}") if one not in taken)
    prints = MemberTable.model_construct(**slots).fingerprints()
    tables = {
        slots["of"]: {
            "key": slots["key"],
            **({"size": size} if size != "size" else {}),
            "columns": _order_columns(units.columns),
        },
        table: {
            **slots,
            **{"source": "", "reviewed": False, "drafted": prints},
            "columns": _order_columns(own.columns),
        },
    }
    text = toml.dumps({**head, "tables": tables})
    for place, one in (("relations", units), (f"tables.{table}.relations", own)):
        for relation in one.relations:
            entries = relation.model_dump(include={"inequality", "source", "reviewed"})
            text += f"\n[[{place}]]\n" + "".join(toml.entry_text(*e) for e in entries.items())
    return _with_defaults(text)


def _with_defaults(text: str) -> str:
    first = _FIRST_OF_COLUMNS.search(text)
    assert first is not None
    return f"{text[: first.start()]}{_DEFAULTS}{text[first.start() :]}"


def _order_columns(columns: Mapping[str, Column]) -> dict[str, Any]:
    return {name: toml.in_order(_entries(column)) for name, column in columns.items()}


def _entries(column: Column) -> dict[str, Any]:
    content = column.model_dump(exclude={"reviewed"})
    usual = {key: field.default for key, field in type(column).model_fields.items()}
    return {
        key: value
        for key, value in content.items()
        if value not in ((), {}, "", None) and value != usual[key]
    }


def _file_entries(form: FileFormat) -> dict[str, Any]:
    """Return what is not the default; the rest was not taken from the rows."""
    entries = form.model_dump(exclude_defaults=True)
    if form.reviewed:  # somebody said it
        return entries
    prints = {
        key: fingerprint for key, fingerprint in form.fingerprints().items() if key in entries
    }
    return {**entries, "source": "", "reviewed": False, "drafted": prints}


def draft(
    data: object,
    *,
    title: str = "",
    codebook: Codebook | str | Path | None = None,
    key: str = "",
    file: Mapping[str, Any] | None = None,
) -> str:
    """Draft a schema from the data, as TOML text.

    The text is confidential: it holds levels and bounds read from the rows, and cannot be used
    before every entry is reviewed.

    Args:
        data: a table, or a path to one; of units with their members two by name, units first.
        title: of the table; by default the codebook's.
        codebook: what is publicly known of the table (or the path of the file that says it). Its
            entries are taken first and keep it as their source; the rows give what it lacks.
        key: column that tells units apart, such as households. One table of their members then
            becomes two: columns that are the same in all rows of each unit are proposed as those of
            units. Of two tables it is found if one column alone links them.
        file: how the file is written, if that is publicly known: entries of `[file]`, such as
            {"separator": ";", "decimal": ",", "source": "manual, page 3"} or {"sheet": "Answers"}.
            The words tab, space and none stand for marks. What it leaves out is the usual. Without
            it the form is read off the file, and has to be confirmed.

    Raises:
        DataError: the data cannot be read, or no column can be drafted; two tables do not belong
            together.
        SchemaError: the codebook cannot be read, or no file is written as `file` says.
    """
    require_text("title", title, SchemaError, "People")
    require_text("key", key, SchemaError, "hid")
    book = codebook
    if book is not None and not isinstance(book, Codebook):
        book = read_codebook(book)
    return draft_schema(data, title=title, codebook=book, key=key, file=file)


def unit_keys(data: object, file: Mapping[str, Any] | None = None) -> list[str]:
    """Columns whose values stand in runs of a few rows each, as keys of households. CONFIDENTIAL.

    Each value stands in one run of rows and nowhere else, and a run has 1.2 to 12 rows on average.

    Args:
        data: a table, or a path to one.
        file: how it is written, as for `draft`.

    Raises:
        DataError: the data cannot be read.
    """
    rows, *_ = _open_for_draft(data, _told_form(file))
    names = [name for name in rows.columns if name not in rows.unreadable]
    told = rows.ask(
        rows.lazy.select(
            *(named(name).n_unique().alias(f"different {k}") for k, name in enumerate(names)),
            *(named(name).rle_id().max().alias(f"runs {k}") for k, name in enumerate(names)),
            pl.len().alias("rows"),
        )
    ).row(0, named=True)
    found = []
    for k, name in enumerate(names):
        different = told[f"different {k}"]
        in_runs = different >= _LEAST_UNITS and told[f"runs {k}"] + 1 == different
        low, high = (many * different for many in _ROWS_A_UNIT)
        if in_runs and low <= told["rows"] <= high:
            found.append(name)
    return found


def extremes(data: object, schema: Schema) -> Extremes:
    """Ends of the rows' numbers, with which bounds can be compared. CONFIDENTIAL.

    Args:
        data: a table, or a path to one.
        schema: what is declared of it.

    Raises:
        DataError: the data cannot be read.
    """
    return Extremes(data, schema)


def check(data: object, schema: Schema | str | Path, *, examples: bool = False) -> CheckReport:
    """Check the data against the schema. For the steward; spends nothing, releases nothing.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`; of units with members two by
            name. What does not fit is told of each.
        schema: a schema, or the path of its file.
        examples: gather some of the values that do not fit, which `lines(examples=True)` shows.
            CONFIDENTIAL.

    Raises:
        SchemaError: not a schema.
        DataError: the data cannot be read.
    """
    return check_rows(data, given_schema(schema), examples=examples)
