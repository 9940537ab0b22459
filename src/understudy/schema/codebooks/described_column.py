"""What a column becomes of what a codebook says about it; nothing is made up.

- Codes that the codebook labels are the levels, in its order: ordinal if it says so, else
  categorical. Numbers are levels as numbers, but a column in which one code has a leading zero
  ("01"), or that is declared as text, keeps texts.
- A number without such a list is integer or continuous. If it lacks a bound, that bound is asked
  for by name. Labelled values of a longer line ("0: none", "90: 90 and above") are spikes if the
  bins are wide, and a labelled value next to the range continues it; labelled values farther off,
  words among numbers, and labels of nothing but -9, 98, 999 and the like, are codes of absence, and
  a note says so.
- Values and bounds that may have been read from the rows (a range that a program computed, codes
  that are listed without a label) leave fingerprints, as those of a draft do.
- Identifiers are left out. So is text without a list, unless the rows give one to a draft.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from pydantic import ValidationError

from understudy.errors import line
from understudy.schema.calendar_columns import Date
from understudy.schema.cell_values import Code, number_of, text_of
from understudy.schema.codebooks.listed_codes import ListedCodes, is_reserved
from understudy.schema.codebooks.variable import Variable
from understudy.schema.columns import KINDS, Categorical, Column
from understudy.schema.error_sentences import worded
from understudy.schema.number_columns import ONE_BIN_EACH, Integer

_KINDS: Final = {"number": "continuous", "text": "categorical", "categories": "categorical"}

_MOST_RANGES: Final = 100
_IDENTIFIER: Final = "the codebook says that it is an identifier"
_FREE_TEXT: Final = (
    "it is text without a list of its values; declare its levels by hand, if they are public"
)
_OTHER: Final = (
    "its values are moments, times, places or of another kind that is not taken from codebooks; "
    "declare it by hand"
)


@dataclass(frozen=True)
class Asked:
    """A column of which the codebook does not say enough.

    Attributes:
        entries: what it says, as entries of the column.
        needed: names of the entries that it lacks.
        in_words: why it is not written into a schema, but told in its heading; "" if it is written.
    """

    entries: dict[str, Any]
    needed: tuple[str, ...]
    in_words: str = ""


@dataclass(frozen=True)
class LeftOut:
    """A variable of which no column is made.

    Attributes:
        why: in words, without a full stop.
    """

    why: str


Described = Column | Asked | LeftOut


def described(variable: Variable, source: str) -> tuple[Described, tuple[str, ...]]:
    """The column that a codebook describes, and what a reviewer should know of it.

    Args:
        variable: what the codebook says.
        source: which codebook, as it will stand in the column's `source`.
    """
    if reason := _reason_against(variable):
        return LeftOut(reason), ()
    codes = ListedCodes.of(variable)
    said = {
        "description": line(" ".join(variable.label.split())),
        "unit": line(" ".join(variable.unit.split())),
        "source": source,
    }
    try:
        if codes.are_a_list:
            return _listed(variable, codes, said), ()
        return _on_a_line(variable, codes, said)
    except ValidationError as error:
        fault = next(iter(worded(error.errors()[0])))
        return LeftOut(f"what the codebook says of it does not hold together: {fault}"), ()


def _reason_against(variable: Variable) -> str:
    if variable.why_not:
        return variable.why_not
    if variable.names_rows:
        return _IDENTIFIER
    if len(variable.absent_ranges) > _MOST_RANGES:
        return f"it names more than {_MOST_RANGES} ranges of missing codes"
    return ""


def _listed(variable: Variable, codes: ListedCodes, said: dict[str, str]) -> Column:
    """A column with levels."""
    if _are_truths(codes.proper, as_numbers=variable.value_type == "boolean"):
        return _column({"kind": "boolean", **_absences(codes), **said})
    entries = {
        "kind": "ordinal" if variable.ordered else "categorical",
        "levels": codes.proper,
        **codes.entries(codes.proper),
        **said,
    }
    column = _column(entries)
    read = {"levels": fingerprints_of(codes.maybe_observed)} if codes.maybe_observed else {}
    return column.model_copy(update={"drafted": read}) if read else column


def _are_truths(values: Iterable[Code], *, as_numbers: bool) -> bool:
    texts = {text_of(value).lower() for value in values}
    return texts == {"true", "false"} or (as_numbers and texts <= {"true", "false", "0", "1"})


def _absences(codes: ListedCodes) -> dict[str, Any]:
    return codes.entries(())


def _on_a_line(
    variable: Variable, codes: ListedCodes, said: dict[str, str]
) -> tuple[Described, tuple[str, ...]]:
    """A column of numbers, dates or truth values; or what it lacks."""
    kind = _kind(variable, codes)
    if kind == "boolean":
        return _column({"kind": kind, **_absences(codes), **said}), ()
    if kind == "categorical":
        known = {"kind": kind, **_absences(codes), **said}
        told = _FREE_TEXT if variable.value_type == "text" else ""
        return Asked(known, ("levels",), told), ()
    if kind in {"", "other"}:
        told = _OTHER if kind else ""
        return Asked({**_absences(codes), **said}, ("kind",), told), ()
    bounds = {"lower": _bound(variable.lower, kind), "upper": _bound(variable.upper, kind)}
    named = {end: value for end, value in bounds.items() if value is not None}
    codes, named, notes = _with_marks(codes, named)
    decimals = {} if kind != "continuous" else {"decimals": variable.decimals}
    entries = {"kind": kind, **named, **decimals, **codes.entries(()), **said}
    if variable.bounds_maybe_observed:
        entries["drafted"] = {end: fingerprints_of((value,)) for end, value in named.items()}
    if needed := tuple(end for end in bounds if end not in named):
        return Asked(entries, needed), notes
    return _with_spikes(entries, codes), notes


def _kind(variable: Variable, codes: ListedCodes) -> str:
    if variable.value_type:
        return _KINDS.get(variable.value_type, variable.value_type)
    numbers = [number_of(text) for text in (variable.lower, variable.upper) if text]
    if not numbers:
        return ""
    whole = all(number is not None and number == int(number) for number in numbers)
    whole &= all(number_of(code) in {None, number_of(text_of(code))} for code in codes.proper)
    return "integer" if whole and not variable.decimals else "continuous"


def _bound(text: str, kind: str) -> Any:
    """A bound as a value; text that is none stays, so that the check of the column tells of it."""
    if not text:
        return None
    if kind == "date":
        try:
            return datetime.date.fromisoformat(text.strip())
        except ValueError:
            return text
    number = number_of(text)
    if number is None:
        return text
    return int(number) if number == int(number) else number


def _with_marks(
    codes: ListedCodes, bounds: dict[str, Any]
) -> tuple[ListedCodes, dict[str, Any], tuple[str, ...]]:
    """Listed values of a line: those beside it continue it, those far off are codes of absence."""
    inside: list[Code] = []
    outside: list[Code] = []
    ends = dict(bounds)
    for code in codes.proper:
        number = number_of(code)
        if number is None or (not bounds and is_reserved(code)):
            outside.append(code)
        elif len(ends) < 2 or not all(isinstance(end, int | float) for end in ends.values()):
            inside.append(code)
        elif ends["lower"] - 1 <= number <= ends["upper"] + 1:
            ends = {"lower": min(ends["lower"], code), "upper": max(ends["upper"], code)}
            inside.append(code)
        else:
            outside.append(code)
    note = (
        "values that it labels and that are far from its range, are no numbers, or are kept for "
        "absence by custom (-9, 98, 999) are taken for codes of absence"
    )
    marked = replace(codes, proper=tuple(inside), missing=(*codes.missing, *outside))
    return marked, ends, (note,) if outside else ()


def _with_spikes(entries: dict[str, Any], codes: ListedCodes) -> Column:
    """The column, its labelled values spikes where bins are wide enough to hold more than them."""
    column = _column(entries)
    few = isinstance(column, Integer) and column.upper - column.lower < ONE_BIN_EACH
    spikes = tuple(code for code in codes.proper if text_of(code) in codes.labels)
    if not spikes or few or isinstance(column, Date):
        return column
    try:
        return _column({**entries, "spikes": spikes, **codes.entries(spikes)})
    except ValidationError:  # they fill a bin, or lie in none
        return column


def _column(entries: dict[str, Any]) -> Column:
    return cast(Column, KINDS[entries["kind"]].model_validate(entries))


def fingerprints_of(values: Sequence[Code]) -> str:
    """Fingerprints of values, as a draft leaves them."""
    return Categorical(kind="categorical", levels=tuple(values)).fingerprints()["levels"]
