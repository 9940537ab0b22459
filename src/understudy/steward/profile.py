"""Profiles of the values of columns: the part of drafting a schema that reads the rows.

Three questions, so that memory stays small on tables of any length: what the texts are (one pass
over all columns), the ranges of the numbers (one pass over all columns), and, where it matters,
which values occur and how often (one pass for each such column).

Everything here is CONFIDENTIAL.

**Levels that the type of a column declares: categories of pandas, Polars and Arrow.**

A declared category is a level though no row has it, and the order is the declared one. All the same
it stands in the confidential table, and programs make categories of the values that occur; so a
draft marks them like what it reads from the rows.

**Lines behind the names of the columns that are no records. CONFIDENTIAL.**

Tools for surveys write the texts of questions and the names of fields there, loggers the units.

**What a draft asks about numbers: zeros and other values that many share, heaps, far bounds.**

Each of these decides how well records of a release look like the rows, and each is public knowledge
or none: that many earn nothing, that people tell incomes in thousands, that 9999 means "not known".
So the draft asks, and names the entry; a person answers from elsewhere. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa
from numpy.typing import NDArray

from understudy.data import excel
from understudy.data.csv import is_delimited
from understudy.data.frames import UNLIKE, is_pandas, text
from understudy.data.frames import column as named
from understudy.data.rows import Rows
from understudy.data.values import without_unit
from understudy.schema import Categorical, Column, Continuous, Integer, Ordinal
from understudy.schema.base import Code, number_of
from understudy.schema.temporal import DAY_SECONDS
from understudy.schema.time_expressions import (
    local_seconds,
    seconds_in_format,
    seconds_of_days,
    seconds_of_moments,
    seconds_of_spans,
    seconds_of_times,
)

Shape = Literal[
    "number", "date", "datetime", "time", "duration", "boolean", "text", "nothing", "unreadable"
]

# How people write "no value" in a column of numbers or dates, in lower case.
_NO_VALUE = ["", "na", "n/a", "#n/a", "nan", "null", "none", ".", "?", "-"]
ABSENT_WORDS: Final = tuple(
    dict.fromkeys(
        [*("NA", "NaN", "N/A", "None", "NULL"), *_NO_VALUE[1:], *map(str.upper, _NO_VALUE[1:])]
    )
)
"""The same in the letters in which programs write them: a public list, whatever a table holds."""
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_LEADING_ZERO = r"^[+-]?0[0-9]"  # "007" is a code, not the number 7
# As people write numbers and days that are read as text: € 5, 12%, −3, (4), 1_000, 24.12.2020.
_MARKED_NUMBER = r"^[\s\p{Sc}(+\u2212-]*\p{Nd}[\p{Nd}.,_'\s\u00a0\u202f]*[\s)%\p{Sc}]*$"
_OTHER_DAY = (
    r"^(?:[0-9]{1,4}[./-]\s?[0-9]{1,2}[./-]\s?[0-9]{1,4}|[0-9]{1,2}[ -][A-Za-z]{3,9}[ -][0-9]{4}"
    r"|[A-Za-z]{3,9} [0-9]{1,2}, ?[0-9]{4})(?:,? [0-9]{1,2}:[0-9:]+(?: ?[AaPp][Mm])?)?$"
)
_DAY_FORMATS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d %b %Y", "%d-%b-%Y", "%b %d, %Y"),
)
FORMATS: Final = tuple(
    f"{day}{time}"
    for day in _DAY_FORMATS
    for time in ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
)
"""In which people write days and moments: a public list, whatever a table holds."""
# A number with a unit behind it, or a currency before it: 130 EUR, 45 %, € -5, CHF 1'200.
_UNIT_BEHIND = r"(?:\s+\p{L}|\s*[\p{Sc}%‰°])[\p{L}\p{Sc}%‰°²³/. ]{0,19}"
_UNIT_BEFORE = r"[A-Z]{0,3}\p{Sc}|[A-Z]{3}\s|Fr\.|Rs\.?"
_DIGITS = r"[0-9](?:[0-9.,'’\s]*[0-9])?"
_MEASURED = (
    rf"^(?:(?:{_UNIT_BEFORE})?\s*[+-]?\s*{_DIGITS}|[+-]?\s*(?:{_UNIT_BEFORE})?\s*{_DIGITS}"
    rf"|[+-]?\s*{_DIGITS}(?:{_UNIT_BEHIND})?)$"
)
_NEARLY_ALL = 0.9
_INFINITE = r"^[+-]?inf(inity)?$"
_DAY = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ].*)?$"
_ZONE = r"[T ].*(Z|[+-][0-9:]+)$"
_FIRST = -719_162 * DAY_SECONDS  # of the year 1, since 1970-01-01
_MOST_DECIMALS = 6
_AT_ONCE = 8  # columns asked about in one pass, which takes the square of them to plan
_TIMES: Final = ("date", "datetime", "time", "duration")
_TEXT_TYPES = (pl.String, pl.Categorical, pl.Enum)


@dataclass(frozen=True)
class Profile:
    """The profile of one column.

    Attributes:
        name: the column's name.
        key: its name inside the queries.
        shape: what kind of values it holds.
        n_values: rows with a value of that kind.
        n_texts: about how many different texts it holds (for shape "text").
        n_different: about how many different numbers it holds.
        codes: what stands for an absent value: the empty text for empty cells, and words.
        exact: whether numbers are stored or written as whole ones, so that large ones name things.
        low: smallest value, on the number line; seconds for times of any kind.
        high: largest value, on the number line.
        whole: whether all numbers are whole.
        decimals: most digits behind the point, as numbers are written; None if some are powers of
            ten, or have too many digits to be written so by people.
        meant: what texts rather are, in words, though they are not written so that they are read as
            it; "" for none.
        timezone: where moments that name a zone are taken to be local.
        formats: in which days and moments of texts may be written; several where day and month
            cannot be told apart; none where they are in ISO form.
        unit: beside the numbers of texts.
    """

    name: str
    key: str
    shape: Shape
    n_values: int
    n_texts: int = 0
    n_different: int = 0
    codes: tuple[int | float | str, ...] = ()
    exact: bool = True
    low: float = 0.0
    high: float = 0.0
    whole: bool = True
    decimals: int | None = None
    meant: str = ""
    timezone: str = ""
    formats: tuple[str, ...] = ()
    unit: str = ""


class Profiler:
    """Answers questions about the columns of a table.

    Args:
        rows: the table.
        units: beside numbers of columns, from which they were taken off already.

    Raises:
        DataError: the table cannot be read to its end.
    """

    def __init__(self, rows: Rows, units: Mapping[str, str] | None = None) -> None:
        self._rows, self._units = rows, dict(units or {})
        readable = [name for name in rows.columns if name not in rows.unreadable]
        self._keys = {name: f"column_{k}" for k, name in enumerate(readable)}
        # Names of our own, since Polars takes some names ("*") for patterns.
        self._lazy = rows.lazy.select(
            cs.by_name([name]).alias(key) for name, key in self._keys.items()
        )
        self._types = dict(self._lazy.collect_schema())
        self.n_rows = rows.count() if readable else 0

    def profiles(self) -> list[Profile]:
        """One profile per column, in the order of the table."""
        texts = self._shapes_of_texts()
        ranges = self._ranges({key: shape for key, (shape, _) in texts.items()})
        return [self._profile(name, texts, ranges) for name in self._rows.columns]

    def units(self) -> dict[str, str]:
        """The unit of each column of texts that all are numbers, some with it, and none another."""
        names = {key: name for name, key in self._keys.items()}
        asked = self._ask(self._lazy, {key: _text_questions(key) for key in self._texts()})
        found = {key: _unit(seen) for key, seen in asked.items()}
        return {names[key]: unit for key, unit in found.items() if unit}

    def counts(self, profile: Profile) -> pl.DataFrame:
        """Count each value that occurs in a column of numbers, dates or texts.

        Returns:
            Columns `value` and `rows`, in no order; absent values left out.
        """
        if profile.shape == "text":
            value = pl.col(profile.key).cast(pl.String)
            query = self._lazy.select(value.alias("value"))
            query = query.filter(~pl.col("value").is_in(["", UNLIKE]))
        else:
            number = _number(profile.key, self._types[profile.key], profile.shape)
            query = self._lazy.select(number.alias("value")).filter(pl.col("value").is_not_null())
        return self._rows.ask(query.group_by("value").agg(pl.len().alias("rows")))

    def _profile(
        self,
        name: str,
        texts: dict[str, tuple[Shape, dict[str, Any]]],
        ranges: dict[str, dict[str, Any]],
    ) -> Profile:
        key = self._keys.get(name, "")
        if not key:
            return Profile(name, key, "unreadable", 0)
        shape, seen = texts.get(key) or (_typed_shape(self._types[key]), {})
        seen = {**seen, **ranges.get(key, {})}
        if shape == "datetime" and seen.get("whole_days"):
            shape = "date"
        n_values = seen.get("n_values", 0)
        if shape not in {"unreadable", "text"} and not n_values:
            return Profile(name, key, "nothing", 0)
        empty = ("",) if seen.get("n_empty") else ()
        words = () if shape == "text" else tuple(sorted(seen.get("words") or ()))
        return Profile(
            name,
            key,
            shape,
            n_values,
            n_texts=seen.get("n_texts", 0),
            n_different=seen.get("n_different", 0),
            codes=(*empty, *words),
            exact=not self._types[key].is_float(),
            low=seen.get("low") or 0.0,
            high=seen.get("high") or 0.0,
            whole=bool(seen.get("whole", True)),
            decimals=_decimals(seen),
            meant=_suggest_kind(seen) if shape == "text" else "",
            timezone=_zone(self._types[key], seen) if shape == "datetime" else "",
            formats=seen.get("formats", ()),
            unit=self._units.get(name) or seen.get("unit", ""),
        )

    def _shapes_of_texts(self) -> dict[str, tuple[Shape, dict[str, Any]]]:
        answers = self._ask(self._lazy, {key: _text_questions(key) for key in self._texts()})
        shapes = {key: (_shape(answers[key], self._types[key]), answers[key]) for key in answers}
        texts = {key: seen for key, (shape, seen) in shapes.items() if shape == "text"}
        formats = self._formats(texts)
        plain = {key: unit for key, seen in texts.items() if (unit := _unit(seen))}
        rewritten = {key: without_unit(pl.col(key), unit) for key, unit in plain.items()}
        rewritten |= {k: _in_iso(pl.col(k), v[0]) for k, v in formats.items() if len(v) == 1}
        lazy = self._lazy.with_columns(**rewritten)
        for key, seen in self._ask(lazy, {key: _text_questions(key) for key in rewritten}).items():
            shape = _shape(seen, self._types[key])
            if shape == "text":
                rewritten.pop(key)
            else:
                found = {"formats": formats.get(key, ()), "unit": plain.get(key, "")}
                shapes[key] = shape, seen | found
        for key, several in formats.items():
            if len(several) > 1:
                shapes[key] = "text", texts[key] | {"formats": several}
        self._lazy = self._lazy.with_columns(**rewritten)
        return shapes

    def _texts(self) -> list[str]:
        return [key for key, dtype in self._types.items() if dtype in _TEXT_TYPES]

    def _formats(self, texts: Mapping[str, dict[str, Any]]) -> dict[str, tuple[str, ...]]:
        """Formats that fit all days or moments of a column that are not in ISO form."""
        asked = {
            key: {
                format: seconds_in_format(pl.col(key), format).is_not_null().sum()
                for format in FORMATS
            }
            for key, seen in texts.items()
            if self._types[key] == pl.String
            and seen["n_other_days"]
            and seen["n_other_days"] + seen["n_moments"] == seen["n_values"]
        }
        fitting = {
            key: tuple(one for one, n in found.items() if n == texts[key]["n_other_days"])
            for key, found in self._ask(self._lazy, asked).items()
        }
        return {key: formats for key, formats in fitting.items() if formats}

    def _ranges(self, shapes: dict[str, Shape]) -> dict[str, dict[str, Any]]:
        questions: dict[str, dict[str, pl.Expr]] = {}
        numbers: list[pl.Expr] = []
        for key, dtype in self._types.items():
            shape = shapes.get(key) or _typed_shape(dtype)
            if shape in ("number", *_TIMES):
                numbers.append(_number(key, dtype, shape).alias(_as_number(key)))
                questions[key] = _range_questions(key, dtype, shape)
            elif shape == "boolean":
                questions[key] = _boolean_questions(key, dtype)
        # Polars takes a second over few rows if each question says again how a time is read.
        return self._ask(self._lazy.with_columns(numbers), questions)

    def _ask(
        self, lazy: pl.LazyFrame, questions: dict[str, dict[str, pl.Expr]]
    ) -> dict[str, dict[str, Any]]:
        """All questions about all columns, about a few of them in one pass."""
        answers: dict[str, dict[str, Any]] = {key: {} for key in questions}
        asked = [key for key in questions if questions[key]]
        for start in range(0, len(asked), _AT_ONCE):
            few = asked[start : start + _AT_ONCE]
            expressions = [
                expression.alias(f"{key}.{what}")
                for key in few
                for what, expression in questions[key].items()
            ]
            row = self._rows.ask(lazy.select(expressions)).row(0, named=True)
            for key in few:
                answers[key] = {what: row[f"{key}.{what}"] for what in questions[key]}
        return answers


def _typed_shape(dtype: pl.DataType) -> Shape:
    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_numeric():
        return "number"
    if dtype == pl.Date:
        return "date"
    if isinstance(dtype, pl.Datetime):
        return "datetime"
    return "nothing" if dtype == pl.Null else "unreadable"


def is_filled(text: pl.Expr) -> pl.Expr:
    """Return whether a text is a value: not empty, and no word that says so."""
    return (
        text.is_not_null() & ~text.str.strip_chars().str.to_lowercase().is_in(_NO_VALUE)
    ).fill_null(False)


def is_typed(text: pl.Expr) -> pl.Expr:
    """Return whether a text is a number, a time of any kind or a truth value."""
    word = text.str.strip_chars()
    times = [seconds_of_days(text), seconds_of_moments(text, "UTC"), seconds_of_times(text)]
    found = word.str.contains(_NUMBER) | word.str.to_lowercase().is_in(["true", "false"])
    for time in times:
        found |= time.is_not_null()
    return found


def _text_questions(key: str) -> dict[str, pl.Expr]:
    text = pl.col(key).cast(pl.String)
    word = text.str.strip_chars()
    lower = word.str.to_lowercase()
    empty = text.is_null() | (text == "")
    filled = ~empty & (text != UNLIKE)
    absent = filled & lower.is_in(_NO_VALUE)
    measured = filled & ~absent & word.str.contains(_MEASURED)
    unit = word.str.replace(_DIGITS, "").str.strip_chars(" +-")
    return {
        "n_empty": empty.sum(),
        "n_unlike": (text == UNLIKE).sum(),
        "n_values": (filled & ~absent).sum(),
        "n_numbers": word.str.contains(_NUMBER).sum(),
        "n_marked": word.str.contains(_MARKED_NUMBER).sum(),
        "n_other_days": (word.str.contains(_OTHER_DAY) & seconds_of_days(text).is_null()).sum(),
        "n_measured": measured.sum(),
        "units": unit.filter(measured & (unit != "")).unique().head(2).implode(),
        "n_codes": word.str.contains(_LEADING_ZERO).sum(),
        "n_infinite": lower.str.contains(_INFINITE).sum(),
        "n_days": seconds_of_days(text).is_not_null().sum(),
        "n_moments": seconds_of_moments(text, "UTC").is_not_null().sum(),
        "n_zones": word.str.contains(_ZONE).sum(),
        "n_times": seconds_of_times(text).is_not_null().sum(),
        "n_spans": seconds_of_spans(text).is_not_null().sum(),
        "n_truths": lower.is_in(["true", "false"]).sum(),
        "n_texts": text.approx_n_unique(),
        "words": text.filter(absent).unique().implode(),
    }


def _suggest_kind(seen: dict[str, Any]) -> str:
    """Describe what texts rather are; codes with leading zeros are texts."""
    least = _NEARLY_ALL * seen["n_values"]
    if seen["n_other_days"] > least:
        return "days, which are read as YYYY-MM-DD: write them so in the file, and draft again"
    written = seen["n_marked"] - seen["n_numbers"]
    if written and seen["n_marked"] > least and not seen["n_codes"]:
        return (
            "numbers, which are read as plain digits with a minus and a point: write them so, or "
            "say what marks the text file has, as --file thousands=, and draft again"
        )
    return ""


def _unit(seen: dict[str, Any]) -> str:
    """The one unit of numbers; "" if there is none, or not only numbers."""
    units = seen["units"]
    return str(units[0]) if len(units) == 1 and seen["n_measured"] == seen["n_values"] else ""


def _in_iso(text: pl.Expr, format: str) -> pl.Expr:
    """Moments in a format in ISO form, and other texts as they are."""
    moment = pl.from_epoch(seconds_in_format(text, format), "s")
    return pl.coalesce(moment.dt.strftime("%Y-%m-%dT%H:%M:%S"), text)


_SHAPES: Final[dict[Shape, str]] = {
    "datetime": "n_moments",
    "date": "n_days",
    "time": "n_times",
    "duration": "n_spans",
    "boolean": "n_truths",
}


def _shape(seen: dict[str, Any], dtype: pl.DataType) -> Shape:
    """Return what a column of texts holds; one that was declared categorical stays text."""
    n_values = seen["n_values"]
    if not n_values:
        return "text" if seen["words"] else "unreadable" if seen["n_unlike"] else "nothing"
    if dtype == pl.String:
        numbers = seen["n_numbers"] and seen["n_numbers"] + seen["n_infinite"] == n_values
        if numbers and not seen["n_codes"]:
            return "number"
        return next((shape for shape, n in _SHAPES.items() if seen[n] == n_values), "text")
    return "text"


def _as_number(key: str) -> str:
    """Name the column that holds the values of another one as numbers."""
    return f"{key}.number"


def _range_questions(key: str, dtype: pl.DataType, shape: Shape) -> dict[str, pl.Expr]:
    number = pl.col(_as_number(key))
    questions = {
        "n_values": number.is_not_null().sum(),
        "low": number.min(),
        "high": number.max(),
        "n_different": number.approx_n_unique(),
        "whole": (number == number.floor()).all(),
    }
    if shape == "datetime":
        questions["whole_days"] = (number % DAY_SECONDS == 0).all()
    if shape == "number":
        questions |= _digit_questions(key, dtype)
    if dtype not in _TEXT_TYPES:
        absent = pl.col(key).is_null()
        questions["n_empty"] = (absent | pl.col(key).is_nan() if dtype.is_float() else absent).sum()
    return questions


def _digit_questions(key: str, dtype: pl.DataType) -> dict[str, pl.Expr]:
    """Write queries for the number of digits behind the point, and for powers of ten."""
    if dtype.is_integer():
        return {}
    written = pl.col(key).cast(pl.String).str.strip_chars()
    # A real number that is stored is written with a digit behind the point, whole ones with 0.
    digits = r"\.([0-9]*)$" if dtype in _TEXT_TYPES else r"\.([0-9]*[1-9])0*$"
    return {
        "n_digits": written.str.extract(digits).str.len_chars().max(),
        "has_powers": written.str.contains(r"^[^iI]*[eE]").any(),
    }


def _decimals(seen: dict[str, Any]) -> int | None:
    n_digits = seen.get("n_digits") or 0
    return None if seen.get("has_powers") or n_digits > _MOST_DECIMALS else n_digits


def _boolean_questions(key: str, dtype: pl.DataType) -> dict[str, pl.Expr]:
    if dtype != pl.Boolean:
        return {}
    column = pl.col(key)
    return {"n_values": column.is_not_null().sum(), "n_empty": column.is_null().sum()}


def _number(key: str, dtype: pl.DataType, shape: Shape) -> pl.Expr:
    """The values of a column as 64-bit numbers (times as seconds), null where there is none."""
    column = pl.col(key)
    if shape in _TIMES:
        return _seconds(column, dtype, shape).cast(pl.Float64)
    if dtype in _TEXT_TYPES:
        column = column.cast(pl.String).str.strip_chars()
    elif dtype == pl.Float32:
        column = column.cast(pl.String)  # 0.1 stored in 32 bits is meant as 0.1
    number = column.cast(pl.Float64, strict=False)
    plain = pl.when(number == 0).then(0.0).otherwise(number)  # −0 is 0
    return pl.when(number.is_finite()).then(plain)


def _seconds(column: pl.Expr, dtype: pl.DataType, shape: Shape) -> pl.Expr:
    """The values of a column of times as seconds, null where there is none."""
    if dtype not in _TEXT_TYPES:
        seconds = local_seconds(column, dtype)
    elif shape == "datetime":
        seconds = seconds_of_moments(column.cast(pl.String), "UTC")
    else:
        return _SECONDS[shape](column.cast(pl.String))
    return pl.when(seconds >= _FIRST).then(seconds)


_SECONDS: Final = {
    "date": seconds_of_days,
    "time": seconds_of_times,
    "duration": seconds_of_spans,
}


def _zone(dtype: pl.DataType, seen: dict[str, Any]) -> str:
    """The zone of a type; UTC for texts that name one."""
    if isinstance(dtype, pl.Datetime):
        return dtype.time_zone or ""
    return "UTC" if seen.get("n_zones") else ""


@dataclass(frozen=True)
class Categories:
    """Levels that the type of a column declares.

    Attributes:
        levels: in the declared order, used or not.
        ordered: whether the order means something.
    """

    levels: tuple[Code, ...]
    ordered: bool


def declared_categories(data: object) -> Mapping[str, Categories]:
    """Categories by column; only of texts and numbers, since dates and truth values have kinds.

    Args:
        data: a table in memory; a path or a query declares none.
    """
    if is_pandas(data):
        return _find_categories(_of_pandas(data))
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        types = data.lazy().collect_schema()
        enums = {n: t for n, t in types.items() if isinstance(t, pl.Enum)}
        return _find_categories({n: (t.categories.to_list(), False) for n, t in enums.items()})
    if isinstance(data, pa.Table):
        return _find_categories(_of_arrow(data))
    return {}


def _of_pandas(frame: Any) -> dict[str, tuple[list[Any], bool]]:
    found = {}
    for name, dtype in frame.dtypes.items() if hasattr(frame, "dtypes") else ():
        if type(dtype).__name__ == "CategoricalDtype":
            found[str(name)] = (list(dtype.categories), bool(dtype.ordered))
    return found


def _of_arrow(table: pa.Table) -> dict[str, tuple[list[Any], bool]]:
    found = {}
    for name, values in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(values.type):
            lists = [chunk.dictionary.to_pylist() for chunk in values.chunks]
            levels = list(dict.fromkeys(level for one in lists for level in one))
            found[name] = (levels, bool(values.type.ordered))
    return found


def _find_categories(declared: Mapping[str, tuple[list[Any], bool]]) -> dict[str, Categories]:
    found = {}
    for name, (values, ordered) in declared.items():
        levels = [_level(value) for value in values]
        if levels and all(level is not None for level in levels):
            found[name] = Categories(tuple(one for one in levels if one is not None), ordered)
    return found


def _level(value: Any) -> Code | None:
    """A category as a level; None for one that is no text and no number."""
    if isinstance(value, str):
        return value if value and text(value) == value else None
    written = text(value)
    if written is None or written == UNLIKE or isinstance(value, bool):
        return None
    number = number_of(written)
    if number is None:  # an interval, say, which is told by its text
        return written if type(value).__name__ == "Interval" else None
    return int(number) if float(number).is_integer() else float(number)


_LINES = 200
_MOST = 3
_LEAST_FILLED = 3  # fewer values say little about what a column holds
_LEAST_TYPED = 2  # a word alone may be a value that somebody has mistyped


def may_have_more(data: object) -> bool:
    """Return whether data are a file into which people and tools write lines of words."""
    sheet = isinstance(data, str | Path) and Path(data).suffix.lower() in excel.ENDINGS
    return sheet or is_delimited(data)


def more_header_lines(rows: Rows) -> int:
    """Count the first rows that are words in all columns of numbers or times.

    Args:
        rows: of texts.

    Returns:
        0 to 3; 0 where fewer than two columns hold numbers or times alone.
    """
    names = [name for name, (dtype, *_) in rows.types().items() if dtype == pl.String]
    if not names:
        return 0
    texts = [named(name).alias(f"c{k}") for k, name in enumerate(names)]
    first = rows.ask(rows.lazy.head(_LINES).select(texts))
    cells = pl.col(first.columns)
    filled = first.select(is_filled(cells)).to_numpy()
    typed = first.select(is_typed(cells).fill_null(False)).to_numpy() & filled
    for k in range(_MOST, 0, -1):
        alike = (typed[k:] == filled[k:]).all(axis=0)
        alike &= filled[k:].sum(axis=0) >= _LEAST_FILLED
        words = filled[:k, alike] & ~typed[:k, alike]
        if alike.sum() >= _LEAST_TYPED and words.all():
            return k
    return 0


_MANY = 0.05  # of the rows
_STEPS = (5, 10, 50, 100, 500, 1000)
_OFTEN = 1.5  # times as often as if people did not round so
_FEW_DIFFERENT = 30  # values, of which each has a place of its own anyway
_FEW_NEGATIVE = 2  # different values below 0, which are rather codes beside twice as many others
_FAR = 10.0  # times as far from the middle as nearly all are
_NEARLY_ALL_WHOLE = 0.99
_CODES = re.compile("[789]+")  # what surveys write for "do not know", "refused" and the like

Values = NDArray[np.float64]


def questions(column: Column, profile: Profile, profiler: Profiler) -> Iterator[str]:
    """List what is to be asked about a column, without question marks and without a value.

    Args:
        column: as it is drafted.
        profile: of its values.
        profiler: of its table.
    """
    levels = [str(level) for level in getattr(column, "levels", ())]
    if len({level.strip().casefold() for level in levels}) < len(levels):
        yield "some levels differ in blanks or in upper and lower case alone: are they one"
    if isinstance(column, Categorical | Ordinal) and _has_codes(column.levels):
        yield "some levels lie apart from the others: are they codes that belong to `missing`"
    if not isinstance(column, Integer | Continuous) or column.derived or profile.shape != "number":
        return
    counts = profiler.counts(profile).sort("value")
    values = counts["value"].to_numpy().astype(np.float64)
    rows = counts["rows"].to_numpy().astype(np.float64)
    declared = {float(one) for one in column.spikes}
    negative = values[(values < 0) & ~np.isin(values, list(declared))]
    if 0 < len(negative) <= _FEW_NEGATIVE < len(values) // 2:
        yield "hardly any different numbers are below 0: are they codes that belong to `missing`"
    if profile.n_different <= _FEW_DIFFERENT:
        return
    share = rows / rows.sum()
    if share[np.isin(values, list(declared))].sum() > 0:  # a convention may declare what no row has
        yield "many rows share values in `spikes`: is one a code that belongs to `missing`"
    if 0.0 not in declared and share[values == 0].sum() > _MANY:
        yield "many rows are 0: do spikes = [0] belong to it"
    others = (values != 0) & ~np.isin(values, list(declared))
    steps = _heaps(values[others], share[others] / share[others].sum()) if others.any() else []
    if steps and not column.heaps:
        yield f"many numbers are round: do people tell them so, as in heaps = {steps}"
    if _are_far(values, share, declared):
        yield (
            "a few numbers lie far from the others, and wide bounds make all answers less exact: "
            "are they codes that belong to `missing`, or mistakes"
        )


def _has_codes(levels: Sequence[object]) -> bool:
    """Return whether numbers that count from 0 or 1 have others beside them, as 9 and -1 may be.

    Example:
        >>> _has_codes([1, 2, 3, 4, 5, 9]), _has_codes([-1, 1, 2]), _has_codes([0, 1, 88, 99])
        (True, True, True)
        >>> _has_codes([*range(11)]), _has_codes([-1, 0, 1]), _has_codes([10, 20, 30])
        (False, False, False)
    """
    numbers = sorted(one for one in levels if type(one) is int)
    usual = [one for one in numbers if one >= 0]
    run = [one for k, one in enumerate(usual) if one == usual[0] + k]
    if len(numbers) < len(levels) or len(run) <= 1:
        return False
    if numbers[0] < 0:
        return numbers[0] != -usual[-1]  # a scale from -2 to 2 is none
    beyond = usual[len(run) :]
    return bool(beyond) and all(_CODES.fullmatch(str(one)) for one in beyond)


def _heaps(values: Values, share: Values) -> list[int]:
    """Distances at which numbers are told much more often than finer ones, coarsest first."""
    found: list[tuple[int, float]] = [(1, 1.0)]
    for step in _STEPS:
        finer, of_finer = found[-1]
        on = float(share[values % step == 0].sum())
        if values[-1] - values[0] >= 5 * step and on > _OFTEN * of_finer * finer / step:
            found.append((step, on))
    heaps = []
    for (step, on), (_, coarser) in pairwise([*found[1:], (0, 0.0)]):
        by_chance = (1 - coarser) / step
        # A heap that has all numbers is the column's grid.
        if on - coarser > max(_MANY, _OFTEN * by_chance) and on < 1 - _MANY:
            heaps.append(step)
    return heaps[::-1]


def _are_far(values: Values, share: Values, spikes: set[float]) -> bool:
    """Return whether the smallest or largest number lies much farther out than most do."""
    usual = ~np.isin(values, list(spikes))
    values, share = values[usual], share[usual]
    if len(values) <= _FEW_DIFFERENT:
        return False
    up_to = np.cumsum(share) / share.sum()
    low, middle, high = (
        values[np.searchsorted(up_to, q)] for q in (1 - _NEARLY_ALL_WHOLE, 0.5, _NEARLY_ALL_WHOLE)
    )
    above, below = high - middle, middle - low
    far_above = above > 0 and values[-1] - middle > _FAR * above
    return bool(far_above or (below > 0 and middle - values[0] > _FAR * below))
