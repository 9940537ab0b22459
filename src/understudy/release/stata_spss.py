"""Synthetic tables as files of Stata and SPSS: labels, dates, and codes of absence.

**Synthetic tables as Stata files: labels, dates, and codes of absence as .a to .z.**

Stata has no user-missing numbers: a code such as 99 would count as a number in each mean. So each
code of absence becomes an extended missing value, in the order of the schema, and keeps its words
as label; a code that is written `.a` already stays what it is. An empty cell is `.`.

**Synthetic tables as SPSS files: labels, order, measurement levels and user-missing values.**

Levels in text with labels of their own stay texts where SPSS can mark a text as missing (at most 8
bytes each); other texts become labelled numbers (`release.export_values`). Codes of absence are
declared missing: three single ones, or a range in which there is no value and one more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final

import polars as pl

from understudy.errors import ReleaseError, line
from understudy.release.decoding import dtype_of
from understudy.release.export_values import (
    NameRules,
    Numbered,
    Variable,
    adapt_names,
    has_numbers,
    number_levels,
    shorten_text,
    variables,
)
from understudy.schema import NUMERIC, Calendar, Date, Datetime, Identifier, Schema
from understudy.schema.base import text_of

_WORDS: Final = ("byte", "double", "float", "if", "in", "int", "long", "strl", "using", "with")
_RESERVED: Final = frozenset([*_WORDS, *(f"str{n}" for n in range(2046))])
_LONGEST_NAME: Final = 32
_LONGEST_LABEL, _LONGEST_TITLE = 80, 80
_LARGEST = 2_147_483_620  # of a number with a label
_DAY = 86_400.0
_EPOCH = 3_653 * _DAY  # seconds from 1960-01-01, where Stata begins, to 1970-01-01
_FORMATS = {
    "date": "%tdCCYY-NN-DD",
    "datetime": "%tc",
    "time": "%tcHH:MM:SS",
}


@dataclass(frozen=True)
class _Variable:
    """The form in which one column is written.

    Attributes:
        variable: the column.
        numbers: which numbers stand for its values; None where it is written as text.
        letters: text of a code of absence → the letter of its missing value.
    """

    variable: Variable
    numbers: Numbered | None
    letters: Mapping[str, str]

    def series(self, table: pl.DataFrame) -> pl.Series:
        """Numbers, and letters where a value is absent; null for an empty cell."""
        values = table.get_column(self.variable.name).alias("")
        if self.numbers is None:
            return values
        found = self.numbers.series(values)
        letters = {number: self.letters[one.text] for number, one in self.numbers.absent.items()}
        moved = _convert_time(found, self.variable)
        if not letters:
            return moved
        mixed = [
            letters.get(number, value)
            for number, value in zip(found.to_list(), moved.to_list(), strict=True)
        ]
        return pl.Series(mixed, dtype=pl.Object)

    @property
    def labels(self) -> dict[Any, str]:
        """Labels of whole numbers, which are all that Stata labels, and of letters."""
        if self.numbers is None:
            return {}
        absent = self.numbers.absent
        found: dict[Any, str] = {
            int(number): text
            for number, text in self.numbers.labels.items()
            if number not in absent and number == int(number) and abs(number) <= _LARGEST
        }
        told = {self.letters[one.text]: one for one in absent.values()}
        found |= {
            letter: one.words
            for letter, one in told.items()
            if one.label or one.text != f".{letter}"
        }
        return found


def require_letters(schema: Schema) -> None:
    """Refuse more codes of absence than Stata has.

    Raises:
        ReleaseError: names the column and what to do.
    """
    for variable in variables(schema):
        _letters(variable)


def write_dta(table: pl.DataFrame, schema: Schema, file: Path, title: str) -> None:
    """Write one synthetic table.

    Args:
        table: of the types that the schema says.
        schema: of the release.
        file: to be written.
        title: of the file, for people.
    """
    import pyreadstat

    columns = [
        _Variable(variable, _number_variable(variable), _letters(variable))
        for variable in variables(schema)
    ]
    names = adapt_names((one.variable.name for one in columns), _rules(columns))
    by_name = {names[one.variable.name]: one for one in columns}
    # Of Polars: of pandas, pyreadstat takes letters and numbers for texts if letters come first.
    frame = pl.DataFrame([one.series(table).alias(name) for name, one in by_name.items()])
    pyreadstat.write_dta(
        frame,
        file,
        file_label=shorten_text(line(title), _LONGEST_TITLE, in_bytes=False),
        column_labels={name: _label(one.variable, name) for name, one in by_name.items()},
        variable_value_labels={name: one.labels for name, one in by_name.items() if one.labels},
        missing_user_values={
            name: sorted(one.letters.values()) for name, one in by_name.items() if one.letters
        },
        variable_format={
            name: _FORMATS[one.variable.column.kind]
            for name, one in by_name.items()
            if one.variable.column.kind in _FORMATS
        },
    )


def _rules(columns: Sequence[_Variable]) -> NameRules:
    """Return the rules for names: pyreadstat names a set of labels by variable and number."""
    n_sets = sum(bool(one.labels) for one in columns)
    number = len(str(n_sets - 1)) if n_sets else 0
    return NameRules(_LONGEST_NAME - number, _RESERVED)


def _convert_time(seconds: pl.Series, variable: Variable) -> pl.Series:
    """Days and milliseconds of times, as Stata counts them; of durations seconds."""
    kind = variable.column.kind
    if kind == "date":
        return (seconds + _EPOCH) / _DAY
    if kind == "datetime":
        return (seconds + _EPOCH) * 1_000
    return seconds * 1_000 if kind == "time" else seconds


def _label(variable: Variable, name: str) -> str | None:
    """Its description; the name as well, where it had to be adapted."""
    parts = ([variable.name] if name != variable.name else []) + [variable.description]
    whole = line(": ".join(filter(None, parts)))
    return shorten_text(whole, _LONGEST_LABEL, in_bytes=False) or None


def _number_variable(variable: Variable) -> Numbered | None:
    """Levels that are no whole numbers, or too large ones, are counted where they have labels."""
    if isinstance(variable.column, Identifier):
        return None
    plain = number_levels(variable)
    labelled = any(one.label for one in variable.levels)
    if variable.is_numeric or not (labelled and has_numbers(variable)):
        return plain
    own = (plain.numbers[one.text] for one in variable.levels if one.text)
    fit = all(number == int(number) and abs(number) <= _LARGEST for number in own)
    return plain if fit else number_levels(variable, by_place=True)


def _letters(variable: Variable) -> dict[str, str]:
    """The letter of each code of absence: its own, if it is written as one; else the next."""
    codes = [one.text for one in variable.absent if one.text]
    own = {text: text[1] for text in codes if _is_letter(text)}
    free = [letter for letter in ascii_lowercase if letter not in own.values()]
    rest = [text for text in codes if text not in own]
    if len(rest) > len(free):
        raise ReleaseError(
            f"The column {line(variable.name)!r} has {len(codes)} missing-value codes, and Stata "
            f"knows {len(ascii_lowercase)}; leave dta out of what is written."
        )
    own |= dict(zip(rest, free, strict=False))
    return {text: own[text] for text in codes}


def _is_letter(text: str) -> bool:
    return len(text) == 2 and text[0] == "." and text[1] in ascii_lowercase


_SAV_WORDS: Final = (
    *("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"),
)
_NAMES: Final = NameRules(64, frozenset(_SAV_WORDS))
_SAV_LONGEST_LABEL, _LONGEST_VALUE_LABEL, _SAV_LONGEST_TITLE = 255, 120, 64
_LONGEST_MISSING_TEXT = 8
_SINGLE = 3
_SAV_EPOCH = 12_219_379_200.0  # seconds from 1582-10-14, where SPSS begins, to 1970-01-01
_SAV_FORMATS = {"date": "SDATE10", "datetime": "DATETIME20", "time": "TIME8", "duration": "DTIME15"}
_MEASURES = {
    **{"categorical": "nominal", "boolean": "nominal", "identifier": "nominal"},
    "ordinal": "ordinal",
}


@dataclass(frozen=True)
class _SavVariable:
    """The form in which one column is written.

    Attributes:
        variable: the column.
        numbers: which numbers stand for its values; None where it is written as text.
        missing: its user-missing values and ranges.
    """

    variable: Variable
    numbers: Numbered | None
    missing: list[Any]

    def series(self, table: pl.DataFrame) -> pl.Series:
        values = table.get_column(self.variable.name).alias("")
        if self.numbers is None:
            return values.cast(pl.String).fill_null("")
        found = self.numbers.series(values)
        return found.cast(pl.Float64) + _start(self.variable)

    @property
    def labels(self) -> dict[Any, str]:
        if self.numbers is None:
            found: dict[Any, str] = {
                one.text: one.label for one in self.variable.categories if one.text and one.label
            }
        else:
            found = {_shift_code(self.numbers, k): text for k, text in self.numbers.labels.items()}
        return {k: shorten_text(text, _LONGEST_VALUE_LABEL) for k, text in found.items()}

    @property
    def format(self) -> str | None:
        if self.numbers is None:
            return None
        if isinstance(self.variable.column, Calendar):
            return _SAV_FORMATS[self.variable.column.kind]
        shown = max((_decimals(number) for number in self.numbers.numbers.values()), default=0)
        decimals = self.variable.decimals if self.variable.is_numeric else shown
        decimals = 6 if decimals is None else decimals
        largest = [*self.numbers.numbers.values()]
        column = self.variable.column
        largest += column.bounds if isinstance(column, NUMERIC) else ()
        whole = max((len(str(int(number))) for number in largest), default=1)
        return f"F{min(whole + decimals + (decimals > 0), 40)}.{min(decimals, 16)}"


def _decimals(number: float) -> int:
    return len(text_of(number).partition(".")[2])


def require_missing_values(schema: Schema) -> None:
    """Refuse codes of absence that SPSS cannot declare missing.

    Raises:
        ReleaseError: names the column and what to do.
    """
    for variable in variables(schema):
        _make_variable(variable)


def write_sav(table: pl.DataFrame, schema: Schema, file: Path, title: str) -> None:
    """Write one synthetic table.

    Args:
        table: of the types that the schema says.
        schema: of the release.
        file: to be written.
        title: of the file, for people.
    """
    import pyreadstat

    columns = [_make_variable(variable) for variable in variables(schema)]
    names = adapt_names((one.variable.name for one in columns), _NAMES)
    by_name = {names[one.variable.name]: one for one in columns}
    frame = pl.DataFrame([one.series(table).alias(name) for name, one in by_name.items()])
    pyreadstat.write_sav(
        frame,
        file,
        file_label=shorten_text(line(title), _SAV_LONGEST_TITLE),
        column_labels={name: _sav_label(one.variable, name) for name, one in by_name.items()},
        row_compress=True,
        variable_value_labels={name: one.labels for name, one in by_name.items() if one.labels},
        missing_ranges={name: one.missing for name, one in by_name.items() if one.missing},
        variable_measure={
            name: _MEASURES.get(one.variable.column.kind, "scale") for name, one in by_name.items()
        },
        variable_format={name: told for name, one in by_name.items() if (told := one.format)},
    )


def _sav_label(variable: Variable, name: str) -> str | None:
    """Its description; the name as well, where it had to be adapted."""
    parts = ([variable.name] if name != variable.name else []) + [variable.description]
    return shorten_text(line(": ".join(filter(None, parts))), _SAV_LONGEST_LABEL) or None


def _make_variable(variable: Variable) -> _SavVariable:
    if isinstance(variable.column, Identifier):
        return _SavVariable(variable, None, [])
    if _stays_text(variable):
        texts = [one.text for one in variable.absent if one.text]
        if len(texts) <= _SINGLE:
            return _SavVariable(variable, None, texts)
    numbers = number_levels(variable)
    codes = [_shift_code(numbers, number) for number in numbers.absent]
    return _SavVariable(variable, numbers, _missing_codes(codes, variable, numbers))


def _stays_text(variable: Variable) -> bool:
    """Return whether levels are texts that have labels of their own, and are short."""
    column = variable.column
    if isinstance(column, Identifier) or dtype_of(column) != pl.Enum or column.kind == "boolean":
        return False
    if has_numbers(variable):
        return False
    short = all(len(one.text.encode()) <= _LONGEST_MISSING_TEXT for one in variable.categories)
    return short and any(one.label for one in variable.levels)


def _shift_code(numbers: Numbered, number: float) -> float:
    return number + _start(numbers.variable)


def _start(variable: Variable) -> float:
    """Return what SPSS adds to numbers: it counts seconds of days and moments from its own day."""
    return _SAV_EPOCH if isinstance(variable.column, Date | Datetime) else 0.0


def _missing_codes(codes: Sequence[float], variable: Variable, numbers: Numbered) -> list[Any]:
    """Codes one by one, or as a range without a value in it and one more."""
    if len(codes) <= _SINGLE:
        return list(codes)
    codes = sorted(codes)
    for apart in (None, codes[0], codes[-1]):
        run = [code for code in codes if code != apart]
        if not _holds_value(run[0], run[-1], variable, numbers):
            return [{"lo": run[0], "hi": run[-1]}, *([] if apart is None else [apart])]
    raise ReleaseError(
        f"The column {line(variable.name)!r} has missing-value codes on both sides of its values. "
        "SPSS takes three codes, or a range and one more; give them other numbers in the schema, "
        "or leave sav out."
    )


def _holds_value(low: float, high: float, variable: Variable, numbers: Numbered) -> bool:
    """Return whether a value of the column may lie in a range."""
    column = variable.column
    if isinstance(column, NUMERIC):
        unit = column.unit_seconds if isinstance(column, Calendar) else 1
        first, last = (_shift_code(numbers, bound * unit) for bound in column.bounds)
        return first <= high and low <= last
    return any(low <= numbers.numbers[one.text] <= high for one in variable.levels if one.text)
