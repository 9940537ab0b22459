"""Columns as conventions have them: what is public about an age, a month or a code of countries.

**What decides** is a column's name, and whether its values are numbers, text, dates or truth
values: its type, which is no secret as its name is none. **Never a value of it.** Where a
convention has several forms (sex in words, in letters, as 1 and 2), the first one for that type is
proposed, whichever the rows have; of scales one with the ends that the name says ("trust, 0-10").
Another one is chosen by the person who reviews the schema. So what a convention proposes was not
read from the rows, and carries no fingerprints; it is a proposal all the same, which may not be
what the rows hold, and is not reviewed.

A name fits if all of it is one of the convention's words (in English, German, French, Spanish and
Dutch), or else its last word, or else its first one: "age", "mother's age", "edad de la madre".
Words of yes or no say so at the beginning alone: "has car", but no "largest amount ever". Of rates
("visits per week", "income/month"), and of numbers, groups and indices of something ("number of the
month", "age group", "sex ratio"), neither end says what they are.

Labels are not proposed where surveys differ: which sex is 1, no convention says of this table.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import TypeAdapter

from understudy.metadata.variables import stated_range
from understudy.schema import Calendar, Column, Continuous, Integer
from understudy.schema.base import Reviewed

Type = Literal["number", "date", "time", "boolean", "text"]
"""What the values of a column are, as far as a data dictionary says it by one word."""

_SOURCE = "convention: "
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RATES = {"per", "pro", "par", "por"}
_SLASH = re.compile(
    r"/(?=\s*(?:hour|day|week|month|year|h|mo|stunde|tag|woche|monat|jahr|heure|jour|semaine|mois|an|"
    r"hora|dia|semana|mes|ano|uur|dag|maand|jaar)\b)"
)
_COLUMN: TypeAdapter[Column] = TypeAdapter(Column)


@dataclass(frozen=True)
class Form:
    """One way to write down what a convention is about.

    Attributes:
        title: what it is, in words.
        type: of the values.
        language: that its levels are written in; "" for none.
        column: as it is declared, with the convention as its source, not reviewed.
    """

    title: str
    type: Type
    language: str
    column: Column


@dataclass(frozen=True)
class _Convention:
    """Public facts about columns of certain names.

    Attributes:
        names: words, in lower case and without accents, each with its language.
        forms: those to be preferred first.
        begins: whether the last word of a name says nothing.
    """

    names: Mapping[str, str]
    forms: tuple[Form, ...]
    begins: bool


def propose_form(name: str, type_: str) -> Form | None:
    """The form that a convention proposes for a column; None if none does.

    Args:
        name: of the column.
        type_: a `Type`, or the word for values that have none of these.

    Example:
        >>> propose_form("Age", "number").title
        'ages in whole years, 0 to 120, by five-year groups'
        >>> propose_form("age", "text"), propose_form("q7", "number")
        (None, None)
        >>> propose_form("satisfaction (0-10)", "number").title
        'a scale from 0 to 10'
    """
    stated = stated_range(name)
    return next((f for f in forms_for(name) if f.type == type_ and _reaches(f, stated)), None)


def _reaches(form: Form, stated: tuple[int, int] | None) -> bool:
    """Return whether levels begin and end as a name says; without levels a form may be wider."""
    levels = getattr(form.column, "levels", ())
    return not (stated and levels) or (levels[0], levels[-1]) == stated


def forms_for(name: str) -> tuple[Form, ...]:
    """All forms of the convention that a column's name speaks of, those in its language first."""
    words = _words(name)
    others = _RATES | _other_things()
    ends = [
        (words[at], at == -1)
        for at in (-1, 0)
        if len(words) > 1 and not others.intersection(words[:-1] if at else words[1:])
    ]
    for part, is_last in ((" ".join(words), False), *ends):
        for one in _conventions():
            if part in one.names and not (is_last and one.begins):
                own = ("", one.names[part])
                return tuple(sorted(one.forms, key=lambda form: form.language not in own))
    return ()


def is_proposed(column: Reviewed) -> bool:
    """Return whether a convention proposes what a column declares, whatever its rows hold."""
    return column.source.startswith(_SOURCE)


def all_forms() -> tuple[Form, ...]:
    """Every form there is, for whoever picks one by hand."""
    return tuple(form for one in _conventions() for form in one.forms)


def type_of(column: Column) -> Type:
    """The type that a declared column has."""
    if isinstance(column, Integer | Continuous):
        return "number"
    if isinstance(column, Calendar):
        return "date" if column.kind == "date" else "time"
    if column.kind == "boolean":
        return "boolean"
    numbers = all(
        isinstance(level, int | float) and not isinstance(level, bool)
        for level in getattr(column, "levels", ("",))
    )
    return "number" if numbers else "text"


def _words(name: str) -> list[str]:
    spread = _HUMP.sub(" ", name)
    plain = unicodedata.normalize("NFKD", spread.replace("ß", "ss"))
    bare = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return _WORDS.findall(_SLASH.sub(" per ", bare))


@cache
def _content() -> Mapping[str, Any]:
    text = (files("understudy.schema") / "conventions.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _other_things() -> frozenset[str]:
    return frozenset(_words(_content()["other_things"]))


@cache
def _conventions() -> tuple[_Convention, ...]:
    return tuple(
        _Convention(
            {
                " ".join(_words(name)): language
                for language, names in one["names"].items()
                for name in names.split(",")
            },
            tuple(_form(**form) for form in one["form"]),
            one.get("begins", False),
        )
        for one in _content()["convention"]
    )


def _form(
    title: str, codes: str = "", language: str = "", type: Type | None = None, **entries: Any
) -> Form:
    levels = {"levels": tuple(codes.split())} if codes else {}
    column = _COLUMN.validate_python({**entries, **levels, "source": f"{_SOURCE}{title}"})
    return Form(title, type or type_of(column), language, column)
