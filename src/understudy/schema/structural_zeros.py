"""Structural zeros: combinations of values that cannot occur, whoever is in the table.

A rule names, for two or more columns, the values that cannot stand together::

    [[forbidden]]
    where = { voted = "yes", registered = "no" }
    source = "law: only registered persons can vote"

Values of numeric columns are given as a range over whole bins, `{ lower = 0, upper = 15 }`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from understudy.errors import SchemaError, suggestion
from understudy.schema.bins import Interval
from understudy.schema.calendar_columns import Calendar, Date, Datetime, Duration, Time
from understudy.schema.cell_values import Code, same_value, text_of, time_as_text
from understudy.schema.column_base import Value
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.number_columns import Continuous, Integer

_ENDS = {Date: "dates", Datetime: "dates and times", Time: "times of day", Duration: "durations"}
_SUBJECT = "A forbidden combination "
_LONGEST = 80  # of a rule's text in a message


End = Annotated[int | float | datetime.date | str, BeforeValidator(time_as_text)]


class Range(BaseModel):
    """Values from `lower` to `upper`.

    Whole numbers and times include `upper`; real numbers do not, unless it is the column's upper
    bound.

    Attributes:
        lower: first value; an edge of a bin.
        upper: last value; an edge of a bin.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    lower: End
    upper: End


class States(BaseModel):
    """States of a column by their numbers: of rules that are made here, not written in a file.

    Attributes:
        states: numbers, ascending.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    states: tuple[int, ...]


Selector = (
    Range | SkipJsonSchema[States] | Annotated[tuple[Value, ...], Field(min_length=1)] | Value
)


class Rule(BaseModel):
    """One forbidden combination: a record that fits every entry of `where` cannot exist.

    Attributes:
        where: column name → the values concerned (one, a list, or a range).
        source: why it cannot occur (law, questionnaire, arithmetic).
        reviewed: somebody has confirmed that it holds for everyone, not only for these rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    where: dict[str, Selector] = Field(min_length=1)
    source: str = ""
    reviewed: bool = False

    @classmethod
    def of_states(cls, box: Mapping[str, frozenset[int]]) -> Rule:
        """The rule that some states cannot stand together."""
        where = {name: States(states=tuple(sorted(states))) for name, states in box.items()}
        return cls(where=where, reviewed=True)

    @property
    def text(self) -> str:
        """The rule in words, for people."""
        return " and ".join(f"{name} = {_selector_text(sel)}" for name, sel in self.where.items())

    def states(self, columns: dict[str, Column]) -> dict[str, frozenset[int]]:
        """State numbers that the rule names in each of its columns.

        Raises:
            SchemaError: an unknown column or value, or a range that cuts a bin.
        """
        return {name: self._states_of(name, columns) for name in self.where}

    def faults(self, columns: dict[str, Column]) -> Iterator[str]:
        """What in the rule does not fit the columns, one sentence for each of its columns."""
        text = self.text if len(self.text) <= _LONGEST else f"{self.text[:_LONGEST]}…"
        for name in self.where:
            try:
                self._states_of(name, columns)
            except SchemaError as error:
                yield f"forbidden combination {text!r} {str(error).removeprefix(_SUBJECT)}"

    def _states_of(self, name: str, columns: dict[str, Column]) -> frozenset[int]:
        if name not in columns:
            raise SchemaError(
                f"A forbidden combination names the column {name!r}, which the schema does not "
                f"have{suggestion(name, columns)}; correct the name or remove the rule."
            )
        column, selector = columns[name], self.where[name]
        if isinstance(selector, States):
            if not all(0 <= state < column.size for state in selector.states):
                raise SchemaError(
                    f"A forbidden combination names states of {name!r} that there are not; name "
                    "its values instead."
                )
            return frozenset(selector.states)
        if isinstance(selector, Range):
            return _range_states(name, column, selector)
        values = selector if isinstance(selector, tuple) else (selector,)
        return frozenset(_state_of(name, column, value) for value in values)


def _selector_text(selector: Selector) -> str:
    if isinstance(selector, Range):
        return f"{text_of(selector.lower)} to {text_of(selector.upper)}"
    if isinstance(selector, States):
        return f"{len(selector.states)} states"
    if isinstance(selector, tuple):
        return " or ".join(text_of(value) or "(empty)" for value in selector)
    return text_of(selector) or "(empty)"


def _state_of(name: str, column: Column, value: Code) -> int:
    """The state that a value names: by its text, else as a number, else as a bin of its own."""
    levels = () if isinstance(column, NUMERIC) else column.levels
    stated = (*levels, *column.codes)
    first = column.n_ordinary - len(levels)
    texts = [text_of(one) for one in stated]
    if (text := text_of(value)) in texts:
        return first + texts.index(text)
    for k, one in enumerate(stated):
        if same_value(one, value):
            return first + k
    if isinstance(column, NUMERIC):
        place = column.position(value)
        for k, interval in enumerate(column.intervals):
            if interval.low == interval.high == place:
                return k
        raise SchemaError(
            f"A forbidden combination names one value of {name!r} that has no bin of "
            "its own; give a range over whole bins, {lower = …, upper = …}, or "
            "declare the value among the spikes."
        )
    raise SchemaError(
        f"A forbidden combination names the value {text_of(value)!r} of {name!r}, which is neither "
        f"among its levels nor among its codes{suggestion(text_of(value), column.labels)}; add it "
        "or correct it."
    )


def _range_states(name: str, column: Column, limits: Range) -> frozenset[int]:
    if not isinstance(column, NUMERIC):
        raise SchemaError(
            f"A forbidden combination gives a range for {name!r}, which has levels; "
            "list the levels."
        )
    low, high = _place(name, column, limits.lower), _place(name, column, limits.upper)
    whole = isinstance(column, Integer | Calendar)
    inside = set()
    for k, interval in enumerate(column.intervals):
        if _within(interval, low, high, whole=whole, last=column.bounds[1]):
            inside.add(k)
        elif _touches(interval, low, high, whole=whole):
            raise SchemaError(
                f"A forbidden combination cuts the bin {interval.label} of {name!r} "
                "in two; let the range begin and end at edges of bins."
            )
    if not inside:
        raise SchemaError(
            f"A forbidden combination gives a range for {name!r} that holds no bin; "
            "correct its lower and upper."
        )
    return frozenset(inside)


def _place(name: str, column: Integer | Continuous | Calendar, end: Code) -> float:
    place = column.position(end)
    if place is None:
        kind = _ENDS.get(type(column), "numbers")
        raise SchemaError(
            f"A forbidden combination gives a range for {name!r} whose ends are not "
            f"{kind}; correct its lower and upper."
        )
    return place


def _within(interval: Interval, low: float, high: float, *, whole: bool, last: float) -> bool:
    if interval.low < low:
        return False
    if interval.spike and not whole:
        return interval.low < high or high == last == interval.low
    return interval.high <= high


def _touches(interval: Interval, low: float, high: float, *, whole: bool) -> bool:
    if whole:
        return interval.low <= high and interval.high >= low
    if interval.spike:
        return False
    return interval.low < high and interval.high > low
