"""Synthetic tables as SPSS files: labels, order, measurement levels and user-missing values.

Levels in text with labels of their own stay texts where SPSS can mark a text as missing (at most 8
bytes each); other texts become labelled numbers (`numbered_values`). Codes of absence are declared
missing: three single ones, or a range in which there is no value and one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from understudy.errors import ReleaseError, line
from understudy.release.decoding import dtype_of
from understudy.release.exports.adapted_names import NameRules, adapted, shortened
from understudy.release.exports.numbered_values import Numbered, has_numbers, numbered
from understudy.release.exports.variable_facts import Variable, variables
from understudy.schema import NUMERIC, Calendar, Date, Datetime, Identifier, Schema
from understudy.schema.cell_values import text_of

_WORDS: Final = (
    *("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"),
)
_NAMES: Final = NameRules(64, frozenset(_WORDS))
_LONGEST_LABEL, _LONGEST_VALUE_LABEL, _LONGEST_TITLE = 255, 120, 64
_LONGEST_MISSING_TEXT = 8
_SINGLE = 3
_EPOCH = 12_219_379_200.0  # seconds from 1582-10-14, where SPSS begins, to 1970-01-01
_FORMATS = {"date": "SDATE10", "datetime": "DATETIME20", "time": "TIME8", "duration": "DTIME15"}
_MEASURES = {
    **{"categorical": "nominal", "boolean": "nominal", "identifier": "nominal"},
    "ordinal": "ordinal",
}


@dataclass(frozen=True)
class _Variable:
    """How one column is written.

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
            found = {_placed(self.numbers, k): text for k, text in self.numbers.labels.items()}
        return {k: shortened(text, _LONGEST_VALUE_LABEL) for k, text in found.items()}

    @property
    def format(self) -> str | None:
        if self.numbers is None:
            return None
        if isinstance(self.variable.column, Calendar):
            return _FORMATS[self.variable.column.kind]
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
        _written(variable)


def write_sav(table: pl.DataFrame, schema: Schema, file: Path, title: str) -> None:
    """Write one synthetic table.

    Args:
        table: of the types that the schema says.
        schema: of the release.
        file: to be written.
        title: of the file, for people.
    """
    import pyreadstat

    columns = [_written(variable) for variable in variables(schema)]
    names = adapted((one.variable.name for one in columns), _NAMES)
    by_name = {names[one.variable.name]: one for one in columns}
    frame = pl.DataFrame([one.series(table).alias(name) for name, one in by_name.items()])
    pyreadstat.write_sav(
        frame,
        file,
        file_label=shortened(line(title), _LONGEST_TITLE),
        column_labels={name: _label(one.variable, name) for name, one in by_name.items()},
        row_compress=True,
        variable_value_labels={name: one.labels for name, one in by_name.items() if one.labels},
        missing_ranges={name: one.missing for name, one in by_name.items() if one.missing},
        variable_measure={
            name: _MEASURES.get(one.variable.column.kind, "scale") for name, one in by_name.items()
        },
        variable_format={name: told for name, one in by_name.items() if (told := one.format)},
    )


def _label(variable: Variable, name: str) -> str | None:
    """Its description; the name as well, where it had to be adapted."""
    parts = [variable.name] * (name != variable.name) + [variable.description]
    return shortened(line(": ".join(filter(None, parts))), _LONGEST_LABEL) or None


def _written(variable: Variable) -> _Variable:
    if isinstance(variable.column, Identifier):
        return _Variable(variable, None, [])
    if _stays_text(variable):
        texts = [one.text for one in variable.absent if one.text]
        if len(texts) <= _SINGLE:
            return _Variable(variable, None, texts)
    numbers = numbered(variable)
    codes = [_placed(numbers, number) for number in numbers.absent]
    return _Variable(variable, numbers, _missing(codes, variable, numbers))


def _stays_text(variable: Variable) -> bool:
    """Whether levels are texts that have labels of their own, and are short."""
    column = variable.column
    if isinstance(column, Identifier) or dtype_of(column) != pl.Enum or column.kind == "boolean":
        return False
    if has_numbers(variable):
        return False
    short = all(len(one.text.encode()) <= _LONGEST_MISSING_TEXT for one in variable.categories)
    return short and any(one.label for one in variable.levels)


def _placed(numbers: Numbered, number: float) -> float:
    return number + _start(numbers.variable)


def _start(variable: Variable) -> float:
    """What SPSS adds to numbers: it counts the seconds of days and moments from its own day."""
    return _EPOCH if isinstance(variable.column, Date | Datetime) else 0.0


def _missing(codes: Sequence[float], variable: Variable, numbers: Numbered) -> list[Any]:
    """Codes one by one, or as a range without a value in it and one more."""
    if len(codes) <= _SINGLE:
        return list(codes)
    codes = sorted(codes)
    for apart in (None, codes[0], codes[-1]):
        run = [code for code in codes if code != apart]
        if not _holds_value(run[0], run[-1], variable, numbers):
            return [{"lo": run[0], "hi": run[-1]}, *([] if apart is None else [apart])]
    raise ReleaseError(
        f"The column {line(variable.name)!r} has codes of absence on both sides of its values, and "
        "SPSS takes three of them, or a range and one more; give them other numbers in the schema, "
        "or leave sav out of what is written."
    )


def _holds_value(low: float, high: float, variable: Variable, numbers: Numbered) -> bool:
    """Whether a value of the column may lie in a range."""
    column = variable.column
    if isinstance(column, NUMERIC):
        unit = column.unit_seconds if isinstance(column, Calendar) else 1
        first, last = (_placed(numbers, bound * unit) for bound in column.bounds)
        return first <= high and low <= last
    return any(low <= numbers.numbers[one.text] <= high for one in variable.levels if one.text)
