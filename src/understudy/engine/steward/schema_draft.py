"""A first version of a schema, read from the rows. CONFIDENTIAL until a person has reviewed it.

Reading bounds and levels off the data is the commonest leak in the field: a maximum is one
person's value. So a draft marks each entry as not reviewed, carries a fingerprint by which an entry
taken over unchanged is recognised later, and cannot be used as it is.

What becomes what:

- true and false (also as text): boolean; calendar days (also as ISO text): date. Days with a time
  of day: datetime, to the minute; times of day: time, all of them; durations: duration;
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
- empty cells, and words such as "NA" or "?" in a column that otherwise holds numbers, dates or
  truth values: missing codes. Infinite values stay out of the domain.

How a text file is written is found out too (`understudy.engine.steward.sniffing`), and what is not
the default goes to the table [file]. Lines that do not fit are left out of the draft.

Columns that look like identifiers, hold nothing or have a type that cannot be read are left out,
and the heading says so.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars.selectors as cs

from understudy.engine.reading.delimited import Delimited, is_delimited
from understudy.engine.reading.readers import Rows, open_rows
from understudy.engine.reading.text_records import MALFORMED
from understudy.engine.steward.column_profile import Profiler
from understudy.engine.steward.drafted_column import LeftOutError, drafted_column
from understudy.engine.steward.sniffing import sniffed
from understudy.errors import DataError
from understudy.schema import Column, Schema, toml
from understudy.schema.toml import FileFormat

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
        data: pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder).
        title: name of the table, for people.

    Returns:
        TOML text that `Schema.loads` reads and `Schema.require_reviewed` refuses. CONFIDENTIAL.

    Raises:
        DataError: the data cannot be read, or no column can be drafted.
    """
    rows, form = _opened(data)
    profiler = Profiler(rows)
    columns: dict[str, Column] = {}
    left_out: dict[str, str] = {}
    for profile in profiler.profiles():
        try:
            columns[profile.name] = drafted_column(profile, profiler)
        except LeftOutError as reason:
            left_out[profile.name] = str(reason)
    if not columns:
        raise DataError(
            f"{rows.place} has no column that can be drafted: each one is empty, looks like an "
            "identifier, or has a type that cannot be read; write the schema by hand."
        )
    return f"{_HEADING}{_left_out_text(left_out)}\n{_text(title, columns, form)}"


def _opened(data: object) -> tuple[Rows, FileFormat]:
    """The rows to be drafted, and how they are written; lines that do not fit are left out."""
    if not is_delimited(data) or not Path(str(data)).is_file():
        return open_rows(data), FileFormat()
    path = Path(str(data))
    form = sniffed(path)
    file = Delimited(path, form)
    if form.decimal == ",":
        # A cell such as 1,5 is a number only in a column that holds nothing else.
        profiles = Profiler(_rows(replace(file, numbers=file.columns))).profiles()
        file = replace(
            file, numbers=[profile.name for profile in profiles if profile.shape == "number"]
        )
    return _rows(file), form


def _rows(file: Delimited) -> Rows:
    fits = cs.by_name(file.columns[0]) != MALFORMED
    place = f"The file {str(file.path)!r}"
    return Rows(file.lazy().filter(fits.fill_null(True)), file.columns, "pandas", place)


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
