"""Columns: what each one may hold, declared in public before anyone looks at the rows.

Some lie on the number line (whole and real numbers, days, moments, times of day, durations), others
have levels (categorical, ordinal, boolean). A column has *states*: its levels (or, for numbers
and times, its intervals), then its not-applicable codes, its missing codes and, if declared, the
code for values outside the domain. States are numbered 0, 1, 2, … in that order; `size` counts
them. Values that fit no state are coded as the declared code for values outside the domain; without
one they are coded `size`, the undeclared out-of-domain state, which is counted but never sampled.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, model_validator

from understudy.schema.calendar_columns import Calendar, Date, Datetime, Duration, Time
from understudy.schema.cell_values import duplicated, number_of, text_of
from understudy.schema.column_base import Declaration, LevelMap, Value, refuse_repeated_code
from understudy.schema.heaps import HeapAt
from understudy.schema.identifier_column import Identifier
from understudy.schema.level_tree import LevelTree
from understudy.schema.number_columns import Continuous, Integer
from understudy.schema.review import Reviewed


class _Levels(Declaration):
    """A column with levels.

    Attributes:
        levels: the values, each a state of its own; 3, 3.0 and "3" are one level.
    """

    readable: ClassVar[tuple[str, ...]] = ("levels", *Declaration.readable)

    levels: tuple[Value, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> _Levels:
        twice = duplicated((*self.levels, *self.codes))
        if twice is not None:
            raise ValueError(
                f"{text_of(twice)!r} stands twice among the levels and codes "
                "(3, 3.0 and '3' are one level); keep one of them"
            )
        return self

    @property
    def n_ordinary(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def _ordinary_labels(self) -> tuple[str, ...]:
        return tuple(text_of(level) or "(empty)" for level in self.levels)


class Categorical(_Levels):
    """Unordered levels.

    Attributes:
        hierarchy: public branches of the levels: { prefix = [1, 3] } by the beginnings of codes, or
            { parents = { north = ["a", "b"] } }. Where levels are too rare to be measured together
            with other columns, those of one branch are.
    """

    kind: Literal["categorical"]
    hierarchy: LevelTree | None = None

    @model_validator(mode="after")
    def _known_children(self) -> Categorical:
        if self.hierarchy is not None:
            self.hierarchy.require_known(self.levels)
        return self


class Ordinal(_Levels):
    """Levels in a meaningful order, lowest first."""

    kind: Literal["ordinal"]


class Boolean(Declaration):
    """True or false; read from booleans, from 0 and 1, and from the words in any case."""

    kind: Literal["boolean"]

    @model_validator(mode="after")
    def _codes_apart(self) -> Boolean:
        refuse_repeated_code(self.codes)
        for code in self.codes:
            if text_of(code).lower() in {"true", "false"} or number_of(code) in {0.0, 1.0}:
                raise ValueError(
                    f"code {text_of(code)!r} cannot be told from true or false; use another code, "
                    "or declare the column as categorical"
                )
        return self

    @property
    def levels(self) -> tuple[bool, bool]:
        """The two levels."""
        return (False, True)

    @property
    def n_ordinary(self) -> int:
        """Two."""
        return 2

    def _ordinary_labels(self) -> tuple[str, ...]:
        return ("false", "true")


Column = Annotated[
    Categorical | Ordinal | Boolean | Integer | Continuous | Date | Datetime | Time | Duration,
    Field(discriminator="kind"),
]
"""A column with states."""
AnyColumn = Annotated[
    Categorical
    | Ordinal
    | Boolean
    | Integer
    | Continuous
    | Date
    | Datetime
    | Time
    | Duration
    | Identifier,
    Field(discriminator="kind"),
]
NUMERIC = (Integer, Continuous, Calendar)
KINDS: dict[str, type[Reviewed]] = {
    "categorical": Categorical,
    "ordinal": Ordinal,
    "boolean": Boolean,
    "integer": Integer,
    "continuous": Continuous,
    "date": Date,
    "datetime": Datetime,
    "time": Time,
    "duration": Duration,
    "identifier": Identifier,
}
"""What a column of each kind declares."""
COLUMN_MODELS: tuple[type[BaseModel], ...] = (LevelMap, LevelTree, HeapAt, *KINDS.values())
"""These, and what stands inside them."""


def is_ordered(column: object) -> bool:
    """Whether states next to each other are alike: numbers, times and ordinal levels."""
    return isinstance(column, (*NUMERIC, Ordinal))
