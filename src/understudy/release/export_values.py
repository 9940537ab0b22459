"""Columns as SPSS and Stata hold them: numbers, of which some have labels and some mean absence.

A number stays what it is. Levels that are not all numbers become 1, 2, 3 … in their order, with the
texts as labels. A code of absence that is written as a number keeps it; one in words gets a number
that is none of the column's, the highest of as many nines as it takes (999, 998 … where ages end at
120), and its words as label. Days, moments, times of day and durations are counted in seconds here,
the first two since 1970-01-01; of these the last days of the year 9999 stand for absence. An empty
cell is a number that is not there.

**Names, labels and texts within the limits of a format; nothing is ever cut without a sign.**

**What is public of each column of a release, in words that every format of metadata takes.**
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from understudy.errors import line
from understudy.release.decoding import dtype_of, places_of
from understudy.schema import (
    NUMERIC,
    Calendar,
    Column,
    Continuous,
    Date,
    Datetime,
    Identifier,
    Schema,
)
from understudy.schema.base import Code, number_of, text_of
from understudy.schema.derived import rule_text

_SIGN = "…"
_FOREIGN = re.compile(r"\W")  # what is neither letter, digit nor underscore, in any script


@dataclass(frozen=True)
class NameRules:
    """The names of variables that a format allows.

    Attributes:
        longest: bytes in UTF-8.
        reserved: words that it does not take, in small letters.
    """

    longest: int
    reserved: frozenset[str]


def adapt_names(names: Iterable[str], rules: NameRules) -> dict[str, str]:
    """A name for each name that the format takes, no two alike in small letters.

    Names that it takes as they are stay; in others whatever is no letter, digit or underscore
    becomes an underscore, and those that would be alike are numbered.

    Example:
        >>> rules = NameRules(8, frozenset({"all"}))
        >>> adapt_names(["age", "net income", "net_inco", "1st", "all"], rules).values()
        dict_values(['age', 'net_in_2', 'net_inco', 'v1st', 'vall'])
    """
    names = list(names)
    found: dict[str, str] = {}
    taken: set[str] = set()
    fitting = [name for name in names if _valid_name(name, rules) == name]
    for name in [*fitting, *(name for name in names if name not in fitting)]:
        new, number = _valid_name(name, rules), 1
        while new.casefold() in taken:
            number += 1
            ending = f"_{number}"
            new = (
                shorten_text(_valid_name(name, rules), rules.longest - len(ending), sign="")
                + ending
            )
        found[name] = new
        taken.add(new.casefold())
    return {name: found[name] for name in names}


def _valid_name(name: str, rules: NameRules) -> str:
    plain = _FOREIGN.sub("_", name)
    if not plain[:1].isalpha() or plain.casefold() in rules.reserved:
        plain = f"v{plain}"
    plain = shorten_text(plain, rules.longest, sign="")
    return plain.rstrip("_") or plain if plain.endswith("_") else plain


def shorten_text(text: str, longest: int, *, sign: str = _SIGN, in_bytes: bool = True) -> str:
    """A text of at most so many bytes in UTF-8, or characters, with a sign where it was cut.

    Example:
        >>> shorten_text("übergroß", 6), shorten_text("übergroß", 6, in_bytes=False)
        ('üb…', 'überg…')
        >>> shorten_text("ab", 6)
        'ab'
    """
    if len(text.encode() if in_bytes else text) <= longest:
        return text
    if not in_bytes:
        return text[: longest - len(sign)].rstrip() + sign
    kept = text.encode()[: longest - len(sign.encode())]
    return kept.decode(errors="ignore").rstrip() + sign


Absence = Literal["", "not applicable", "missing", "out of domain"]
"""Why there is no value; "" where there is one."""


@dataclass(frozen=True)
class Category:
    """A single value that a column may hold.

    Attributes:
        text: the value; "" for an empty cell.
        label: what it stands for, in words; "" if that is not said.
        absence: why it is no value.
    """

    text: str
    label: str
    absence: Absence = ""

    @property
    def words(self) -> str:
        """Its label, or else the value itself."""
        return self.label or self.text or "(empty)"


@dataclass(frozen=True)
class Variable:
    """A column of a release.

    Attributes:
        name: as in the synthetic tables.
        column: what the schema declares.
        categories: levels, labelled spikes and codes of absence, in the order of the schema.
    """

    name: str
    column: Column | Identifier
    categories: tuple[Category, ...]

    @property
    def description(self) -> str:
        """One line for the reader, with the unit."""
        unit = "" if isinstance(self.column, Identifier) else self.column.unit
        return line(
            f"{self.column.description} ({unit})" if unit else self.column.description
        ).strip()

    @property
    def rule(self) -> str:
        """The rule by which it follows from other columns; "" if it was drawn."""
        if isinstance(self.column, Identifier) or self.column.derived is None:
            return ""
        return line(rule_text(self.column))

    @property
    def is_numeric(self) -> bool:
        """True if it lies on the number line."""
        return isinstance(self.column, NUMERIC)

    @property
    def bounds(self) -> tuple[str, str] | None:
        """Declared lower and upper bound as text; None where there are none."""
        column = self.column
        if isinstance(column, Calendar):
            low, high = (column.text_at(int(bound)) for bound in column.bounds)
            return low, high
        if not isinstance(column, NUMERIC):
            return None
        return text_of(column.lower), text_of(column.upper)

    @property
    def decimals(self) -> int | None:
        """Decimals of its numbers; None where they are not declared, or it has no numbers."""
        if isinstance(self.column, Continuous):
            return self.column.decimals
        return 0 if self.is_numeric else None

    @property
    def levels(self) -> tuple[Category, ...]:
        """The categories that are values."""
        return tuple(one for one in self.categories if not one.absence)

    @property
    def absent(self) -> tuple[Category, ...]:
        """The categories that say that there is no value."""
        return tuple(one for one in self.categories if one.absence)


def variables(schema: Schema) -> tuple[Variable, ...]:
    """The columns of a release, in order."""
    return tuple(
        Variable(name, column, _categories(column)) for name, column in schema.declared.items()
    )


def _categories(column: Column | Identifier) -> tuple[Category, ...]:
    if isinstance(column, Identifier):
        return ()
    spikes = getattr(column, "spikes", ())
    levels: tuple[Code, ...] = getattr(column, "levels", ())
    values = levels or tuple(spike for spike in spikes if text_of(spike) in column.value_labels)
    absent: list[tuple[Code, Absence]] = [
        (code, "not applicable") for code in column.not_applicable
    ]
    absent += [(code, "missing") for code in column.missing]
    if column.out_of_domain is not None:
        absent.append((column.out_of_domain, "out of domain"))
    said: list[tuple[Code, Absence]] = [*((value, "") for value in values), *absent]
    labels = {text: line(label) for text, label in column.value_labels.items()}
    named = ((text_of(value), absence) for value, absence in said)
    return tuple(Category(text, labels.get(text, ""), absence) for text, absence in named)


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
        return self._number_categories(self.variable.absent)

    @property
    def labels(self) -> dict[float, str]:
        """Labels of numbers: those of the schema, and words where a number is not the value.

        Where one level is not its own number, all have labels.
        """
        levels, absent = self._number_categories(self.variable.levels), self.absent
        recoded = any(text_of(number) != one.text for number, one in levels.items())
        found = {k: one.words for k, one in levels.items() if one.label or recoded}
        more = {k: one.words for k, one in absent.items() if one.label or text_of(k) != one.text}
        return found | more

    def _number_categories(self, categories: Iterable[Category]) -> dict[float, Category]:
        return {self.numbers[one.text]: one for one in categories if one.text}

    def series(self, values: pl.Series) -> pl.Series:
        """A column of a release in these numbers; null for an empty cell.

        Args:
            values: of the type that the schema gives it.
        """
        if values.dtype in (pl.Enum, pl.Boolean):
            return self._code_texts(values.cast(pl.String))
        column = self.variable.column
        if isinstance(column, Calendar):
            seconds = pl.Series(places_of(values, column) * column.unit_seconds).fill_nan(None)
            return (
                self._code_texts(values).fill_null(seconds)
                if values.dtype == pl.String
                else seconds
            )
        if values.dtype != pl.String:
            return values if self.keeps_numbers else self._renumber(values)
        return self._code_texts(values).fill_null(values.cast(pl.Float64, strict=False))

    @property
    def keeps_numbers(self) -> bool:
        """True if each level that is a number stands for itself."""
        return all(number_of(text) in (None, number) for text, number in self.numbers.items())

    def _renumber(self, values: pl.Series) -> pl.Series:
        own = [number_of(text) for text in self.numbers]
        return values.cast(pl.Float64).replace_strict(own, list(self.numbers.values()))

    def _code_texts(self, texts: pl.Series) -> pl.Series:
        """Numbers of single values; null for other texts."""
        values, numbers = list(self.numbers), list(self.numbers.values())
        return texts.replace_strict(values, numbers, default=None, return_dtype=pl.Float64)


def number_levels(variable: Variable, *, by_place: bool = False) -> Numbered:
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
    """Return whether all levels are numbers, told apart by these: "03" and "3" are texts."""
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
