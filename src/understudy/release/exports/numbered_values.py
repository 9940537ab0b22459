"""Columns as SPSS and Stata hold them: numbers, of which some have labels and some mean absence.

A number stays what it is. Levels that are not all numbers become 1, 2, 3 … in their order, with the
texts as labels. A code of absence that is written as a number keeps it; one in words gets a number
that is none of the column's, the highest of as many nines as it takes (999, 998 … where ages end at
120), and its words as label. Days, moments, times of day and durations are counted in seconds here,
the first two since 1970-01-01; of these the last days of the year 9999 stand for absence. An empty
cell is a number that is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from understudy.release.decoding import dtype_of
from understudy.release.exports.variable_facts import Category, Variable
from understudy.release.places_of_values import places_of
from understudy.schema import NUMERIC, Calendar, Column, Date, Datetime, Identifier
from understudy.schema.cell_values import number_of, text_of

_LAST_DAY = 253_402_214_400.0  # 9999-12-31
_DAY = 86_400.0


@dataclass(frozen=True)
class Numbered:
    """Which number stands for each single value of a column.

    Attributes:
        variable: the column.
        numbers: text of a level, a labelled spike or a code of absence → its number; without the
            empty one.
    """

    variable: Variable
    numbers: Mapping[str, float]

    @property
    def absent(self) -> dict[float, Category]:
        """Numbers that stand for absence, in the order of the schema."""
        return self._numbered(self.variable.absent)

    @property
    def labels(self) -> dict[float, str]:
        """Labels of numbers: those of the schema, and words where a number is not the value.

        Where one level is not its own number, all have labels.
        """
        levels, absent = self._numbered(self.variable.levels), self.absent
        recoded = any(text_of(number) != one.text for number, one in levels.items())
        found = {k: one.words for k, one in levels.items() if one.label or recoded}
        more = {k: one.words for k, one in absent.items() if one.label or text_of(k) != one.text}
        return found | more

    def _numbered(self, categories: Iterable[Category]) -> dict[float, Category]:
        return {self.numbers[one.text]: one for one in categories if one.text}

    def series(self, values: pl.Series) -> pl.Series:
        """A column of a release in these numbers; null for an empty cell.

        Args:
            values: of the type that the schema gives it.
        """
        if values.dtype in (pl.Enum, pl.Boolean):
            return self._coded(values.cast(pl.String))
        column = self.variable.column
        if isinstance(column, Calendar):
            seconds = pl.Series(places_of(values, column) * column.unit_seconds).fill_nan(None)
            return self._coded(values).fill_null(seconds) if values.dtype == pl.String else seconds
        if values.dtype != pl.String:
            return values if self.keeps_numbers else self._renumbered(values)
        return self._coded(values).fill_null(values.cast(pl.Float64, strict=False))

    @property
    def keeps_numbers(self) -> bool:
        """Whether each level that is a number stands for itself."""
        return all(number_of(text) in (None, number) for text, number in self.numbers.items())

    def _renumbered(self, values: pl.Series) -> pl.Series:
        own = [number_of(text) for text in self.numbers]
        return values.cast(pl.Float64).replace_strict(own, list(self.numbers.values()))

    def _coded(self, texts: pl.Series) -> pl.Series:
        """Numbers of single values; null for other texts."""
        values, numbers = list(self.numbers), list(self.numbers.values())
        return texts.replace_strict(values, numbers, default=None, return_dtype=pl.Float64)


def numbered(variable: Variable, *, by_place: bool = False) -> Numbered:
    """The numbers of a column with levels, or on the number line.

    Args:
        variable: the column.
        by_place: whether levels that are numbers are counted as texts are: 1, 2, 3 …
    """
    column, levels = variable.column, [one.text for one in variable.levels if one.text]
    assert not isinstance(column, Identifier), "identifiers are texts"
    if variable.is_numeric:
        numbers = {text: number for text in levels if (number := number_of(text)) is not None}
    elif column.kind == "boolean" or dtype_of(column) == pl.Boolean:
        numbers = {text: float(text == "true") for text in levels}
    elif by_place or not has_numbers(variable):
        numbers = {text: float(place) for place, text in enumerate(levels, start=1)}
    else:
        numbers = {text: number for text in levels if (number := number_of(text)) is not None}
    absent = [one.text for one in variable.absent if one.text]
    return Numbered(variable, numbers | _absent_numbers(variable, absent, set(numbers.values())))


def has_numbers(variable: Variable) -> bool:
    """Whether all levels of a column are numbers, told apart by these: "03" and "3" are texts."""
    numbers = [(number_of(one.text), one.text) for one in variable.levels if one.text]
    return all(number is not None and text_of(number) == text for number, text in numbers)


def _absent_numbers(variable: Variable, codes: list[str], taken: set[float]) -> dict[str, float]:
    """Their own numbers, if they have any that nothing else has; else fresh ones."""
    column, found = variable.column, dict[str, float]()
    for code in codes:
        own = _own_number(column, code)
        if own is not None and own not in taken:
            found[code] = own
            taken.add(own)
    rest = [code for code in codes if code not in found]
    if isinstance(column, Date | Datetime):
        fresh = _days_after_all(len(rest), taken)
    else:
        high = column.bounds[1] if isinstance(column, NUMERIC) else 0.0
        unit = column.unit_seconds if isinstance(column, Calendar) else 1
        fresh = _nines(len(rest), max([high * unit, *taken]))
    found |= dict(zip(rest, fresh, strict=True))
    return {code: found[code] for code in codes}


def _own_number(column: Column | Identifier, code: str) -> float | None:
    if not isinstance(column, NUMERIC):
        return number_of(code)
    place = column.position(code)
    if place is None or not isinstance(column, Calendar):
        return place
    return place * column.unit_seconds


def _nines(n: int, above: float) -> list[float]:
    """The last n numbers that end in as many nines as it takes to be above another.

    Example:
        >>> _nines(2, 120.0), _nines(1, 2.0), _nines(3, 7.0)
        ([998.0, 999.0], [9.0], [97.0, 98.0, 99.0])
    """
    power = 10.0
    while power - n <= above:
        power *= 10
    return [power - n + k for k in range(n)]


def _days_after_all(n: int, taken: set[float]) -> list[float]:
    """The last n days of the year 9999 that are not taken."""
    days = (_LAST_DAY - k * _DAY for k in range(n + len(taken)))
    return sorted(day for day in days if day not in taken)[-n:] if n else []
