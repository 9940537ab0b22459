"""A first version of a schema, read from the rows. CONFIDENTIAL until a person has reviewed it.

Reading bounds and levels off the data is the commonest leak in the field: a maximum is one
person's value. So a draft marks each entry as not reviewed, carries a fingerprint by which an entry
taken over unchanged is recognised later, and cannot be used as it is.

What becomes what:

- true and false (also as text): boolean; calendar days (also as ISO text): date. Days with a time
  of day are left out, since a date would lose it;
- whole numbers, also if stored as real numbers or as text: categorical, if there are at most 12
  different ones, each on 5 rows on average, that look like codes: two of them; 1, 2, 3, … up to 6
  at most; or with a gap among the first five (1, 2, 9). Others, such as counts (0, 1, 2, …) and
  years, are integer, with one bin for each value if there are at most 50 between the bounds, else
  20 bins. Text with leading zeros ("007") stays text;
- other numbers: continuous, 20 bins, bounds rounded outward to two digits of the range; with at
  most 12 different values, each on 5 rows on average, they are the grades of a scale: ordinal;
- bins are of equal width, unless the numbers crowd together (incomes, durations): then their edges
  are round numbers near the quantiles;
- a value that more than a tenth of the rows share, and at least 5, is a spike of a column with
  wide bins;
- text: categorical;
- in files of SPSS and Stata, labelled codes are levels, in the file's order; user-missing codes are
  missing codes; the level of measurement decides between levels in order, levels without one and
  numbers; what they are called becomes the description and the labels;
- empty cells, and words such as "NA" or "?" in a column that otherwise holds numbers, dates or
  truth values: missing codes. Infinite values stay out of the domain.

How a text file is written is found out too (`understudy.engine.steward.sniffing`), and what is not
the default goes to the table [file]. Lines that do not fit are left out of the draft.

Columns that look like identifiers, hold nothing or have a type that cannot be read are left out,
and the heading says so.

Rows are read by days (`understudy.engine.reading.plain_types`), so which columns hold moments that
are more than days is asked for drafts alone.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
import pyarrow as pa

from understudy.engine.reading.databases.query import Query
from understudy.engine.reading.delimited import Delimited, is_delimited
from understudy.engine.reading.frame_columns import is_pandas
from understudy.engine.reading.json_lines import JsonLines, is_json_lines
from understudy.engine.reading.parquet import column
from understudy.engine.reading.plain_types import has_time
from understudy.engine.reading.readers import open_rows
from understudy.engine.reading.table_paths import is_parquet
from understudy.engine.reading.table_rows import Rows
from understudy.engine.reading.text_records import MALFORMED
from understudy.engine.steward.column_profile import Profiler
from understudy.engine.steward.drafted_column import LeftOutError, drafted_column
from understudy.engine.steward.labelled_column import labelled_column, without_missing
from understudy.engine.steward.sniffing import sniffed
from understudy.errors import DataError
from understudy.schema import Column, Schema, toml
from understudy.schema.cell_values import text_of
from understudy.schema.file_format import FileFormat
from understudy.schema.file_labels import Code, VariableLabels, is_statistical, read_file_labels

_HEADING = """\
# CONFIDENTIAL: the levels and bounds below were read from confidential rows, and so was how a text
# file is written ([file]).
# Do not publish this file, and do not use it, before every entry is confirmed against public
# knowledge (a codebook, a law, a judgement made without looking at the rows), its `source` is
# named and `reviewed = true` is set. Numbers such as -9 or 999 that stand for "not known" belong
# into `missing`; the bounds then leave them out.
"""


def draft(data: object, *, title: str = "") -> str:
    """Draft a schema from the data.

    Args:
        data: pandas, Polars or Arrow table, a path, or a `Query`.
        title: name of the table, for people.

    Returns:
        TOML text that `Schema.loads` reads and `Schema.require_reviewed` refuses. CONFIDENTIAL.

    Raises:
        DataError: the data cannot be read, or no column can be drafted.
    """
    rows, form = _opened(data)
    labels = read_file_labels(str(data)).variables if is_statistical(data) else {}
    rows, missing = without_missing(rows, labels) if labels else (rows, {})
    profiler = Profiler(rows, _timed(data, labels))
    columns: dict[str, Column] = {}
    left_out: dict[str, str] = {}
    unused: dict[str, Mapping[Code, str]] = {}
    for profile in profiler.profiles():
        name = profile.name
        try:
            if name in labels:
                told = replace(profile, codes=missing[name])
                labelled = labelled_column(labels[name], told, profiler)
                columns[name], unused[name] = labelled.column, labelled.unused
            else:
                columns[name] = drafted_column(profile, profiler)
        except LeftOutError as reason:
            left_out[name] = str(reason)
    if not columns:
        raise DataError(
            f"{rows.place} has no column that can be drafted: each one is empty, looks like an "
            "identifier, or has a type that cannot be read; write the schema by hand."
        )
    notes = _left_out_text(left_out) + _unused_text(unused)
    return f"{_HEADING}{notes}\n{_text(title, columns, form)}"


def _opened(data: object) -> tuple[Rows, FileFormat]:
    """The rows to be drafted, and how they are written; lines that do not fit are left out."""
    if is_json_lines(data) and Path(str(data)).is_file():
        return _rows(JsonLines.drafted(Path(str(data)))), FileFormat()
    if not is_delimited(data) or not Path(str(data)).is_file():
        return open_rows(data), FileFormat()
    path = Path(str(data))
    form = sniffed(path)
    file = Delimited(path, form)
    if form.decimal == "," or form.thousands:
        # A cell such as 1,5 or 1.234 is a number only in a column that holds nothing else.
        profiles = Profiler(_rows(replace(file, numbers=file.columns))).profiles()
        file = replace(
            file, numbers=[profile.name for profile in profiles if profile.shape == "number"]
        )
    return _rows(file), form


def _rows(file: Delimited | JsonLines) -> Rows:
    fits = cs.by_name(file.columns[0]) != MALFORMED
    place = f"The file {str(file.path)!r}"
    return Rows(file.lazy().filter(fits.fill_null(True)), file.columns, "pandas", place)


def _timed(data: object, labels: Mapping[str, VariableLabels]) -> Collection[str]:
    """Columns of days that have a time of day, which rows of days do not show."""
    if labels:
        return [name for name, variable in labels.items() if variable.holds == "moments"]
    if isinstance(data, Query) or (isinstance(data, str | Path) and not is_parquet(data)):
        return ()
    return with_times_of_day(data)


def _unused_text(unused: Mapping[str, Mapping[Code, str]]) -> str:
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


def _text(title: str, columns: dict[str, Column], form: FileFormat) -> str:
    """The schema with every entry written out that a reviewer has to fill in."""
    schema = Schema(title=title, columns=columns)
    entries = {name: _entries(column) for name, column in schema.columns.items()}
    head = {"format": schema.format, **({"title": title} if title else {}), "rows": schema.rows}
    file = {"file": _file_entries(form)} if form.told else {}
    unit = {"rows_per_unit": schema.unit.rows_per_unit}
    return toml.dumps({**head, **file, "unit": unit, "columns": entries})


def _entries(column: Column) -> dict[str, Any]:
    content = column.model_copy(update={"drafted": column.fingerprints()}).model_dump()
    entries = {key: value for key, value in content.items() if value not in ((), {}, "", None)}
    return {**entries, "source": ""}


def _file_entries(form: FileFormat) -> dict[str, Any]:
    """What is not the default; the rest was not taken from the rows."""
    entries = form.model_dump(exclude_defaults=True)
    prints = {
        key: fingerprint for key, fingerprint in form.fingerprints().items() if key in entries
    }
    return {**entries, "source": "", "reviewed": False, "drafted": prints}


def with_times_of_day(data: object) -> frozenset[str]:
    """Names of the columns in which a typed moment is not at midnight, in its own time zone.

    Args:
        data: a table, or a path to Parquet, that `open_rows` has opened; text files have no types.
    """
    if isinstance(data, str | Path):
        path = Path(data)
        parts = sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]
        return frozenset().union(*(_of_lazy(pl.scan_parquet(part, glob=False)) for part in parts))
    if isinstance(data, pl.LazyFrame | pl.DataFrame):
        return _of_lazy(data.lazy())
    if is_pandas(data):
        return frozenset(_of_pandas(data))
    return _of_lazy(_moments(pa.table(data)).lazy())


def _of_lazy(lazy: pl.LazyFrame) -> frozenset[str]:
    types = lazy.collect_schema()
    asked = {
        name: has_time(column(name), dtype).any()
        for name, dtype in types.items()
        if isinstance(dtype, pl.Datetime)
    }
    if not asked:
        return frozenset()
    keys = [f"column_{k}" for k in range(len(asked))]
    named = [test.alias(key) for test, key in zip(asked.values(), keys, strict=True)]
    flags = lazy.select(named).collect(engine="streaming").row(0)
    return frozenset(name for name, has in zip(asked, flags, strict=True) if has)


def _moments(table: pa.Table) -> pl.DataFrame:
    names = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    return pl.DataFrame(table.select(names)) if names else pl.DataFrame()


def _of_pandas(frame: Any) -> Iterator[str]:
    for k, name in enumerate(frame.columns):
        values = frame.iloc[:, k]
        if values.dtype == object:
            moments = (value for value in values if isinstance(value, datetime.datetime))
        elif hasattr(values, "dt") and hasattr(values.dt, "normalize"):
            moments = iter(values[values != values.dt.normalize()].dropna())
        else:
            continue
        if any(moment.time() != datetime.time() for moment in moments if moment == moment):  # noqa: PLR0124
            yield str(name)
