"""Columns: what each one may hold, declared in public before anyone looks at the rows.

Some lie on the number line (whole and real numbers, days, moments, times of day, durations), others
have levels (categorical, ordinal, boolean). A column has *states*: its levels (or, for numbers
and times, its intervals), then its not-applicable codes, its missing codes and, if declared, the
code for values outside the domain. States are numbered 0, 1, 2, … in that order; `size` counts
them. Values that fit no state are coded as the declared code for values outside the domain; without
one they are coded `size`, the undeclared out-of-domain state, which is counted but never sampled.

**The public tree over the levels of a column, such as chapters of diagnoses or of industries.**

**Columns of identifiers: never read, never measured; synthetic records get fresh ones.**
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator, model_validator

from understudy.errors import suggestion
from understudy.schema.base import (
    Code,
    Declaration,
    LevelMap,
    Reviewed,
    Value,
    find_duplicate,
    number_of,
    refuse_repeated_code,
    text_of,
)
from understudy.schema.numeric import LARGEST, Continuous, HeapAt, Integer
from understudy.schema.temporal import Calendar, Date, Datetime, Duration, Time


class LevelTree(BaseModel):
    """Branches of the levels: by the first letters of codes, or by name.

    Attributes:
        prefix: lengths of the beginnings of a code that name its branches: [1, 3] puts "A001" into
            "A00", and that into "A".
        parents: branch → its levels, and branches below it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    prefix: tuple[PositiveInt, ...] = ()
    parents: dict[str, tuple[Value, ...]] = Field(default={})

    @model_validator(mode="after")
    def _one_way(self) -> LevelTree:
        if bool(self.prefix) == bool(self.parents):
            raise ValueError("a hierarchy has either prefix or parents")
        if list(self.prefix) != sorted(set(self.prefix)):
            raise ValueError("lengths in `prefix` must increase")
        children = [text_of(child) for below in self.parents.values() for child in below]
        if twice := next((one for one in children if children.count(one) > 1), None):
            raise ValueError(f"{twice!r} has two parents in the hierarchy; keep one of them")
        for branch in self.parents:
            if branch in self._above(branch):
                raise ValueError(f"the branch {branch!r} of the hierarchy lies below itself")
        return self

    def require_known(self, levels: Sequence[Code]) -> None:
        """Check that all children are levels or branches.

        Raises:
            ValueError: names the one that is neither.
        """
        known = {*map(text_of, levels), *self.parents}
        for below in self.parents.values():
            for child in map(text_of, below):
                if child not in known:
                    raise ValueError(
                        f"the hierarchy names {child!r}, which is neither a level nor a branch"
                        f"{suggestion(child, known)}"
                    )

    def branches(self, levels: Sequence[Code]) -> tuple[tuple[str, ...], ...]:
        """The branch that each level is in, finest branching first; a level without one is its own.

        Example:
            >>> LevelTree(prefix=(1, 2)).branches(["A01", "A02", "B11"])
            (('A0', 'A0', 'B1'), ('A', 'A', 'B'))
        """
        texts = [text_of(level) for level in levels]
        if self.prefix:
            return tuple(tuple(text[:n] for text in texts) for n in reversed(self.prefix))
        paths = [(text, *self._above(text)) for text in texts]
        depth = max(map(len, paths))
        return tuple(tuple(p[min(k, len(p) - 1)] for p in paths) for k in range(1, depth))

    def _above(self, text: str) -> tuple[str, ...]:
        """Branches that a level or branch lies in, the nearest first; a circle is passed once."""
        found: list[str] = []
        while (text := self._parent.get(text, "")) and text not in found:
            found.append(text)
        return tuple(found)

    @cached_property
    def _parent(self) -> dict[str, str]:
        return {text_of(child): branch for branch, below in self.parents.items() for child in below}


_PATTERN = re.compile(r"[^{}]*\{(:0?[1-9][0-9]?)?\}[^{}]*")


class Identifier(Reviewed):
    """Names of records, such as a patient number. The rows may have the column or lack it.

    What the rows have in it is never read. Each synthetic record gets the number of its place in
    its set, which says nothing: the order is random. It costs nothing.

    Attributes:
        pattern: how identifiers are written: {} stands for the number of the record, {:06} for the
            same in at least six digits.
        description: one line for the reader of the release.

    Example:
        >>> Identifier(kind="identifier", pattern="P{:04}").write_identifier(7)
        'P0007'
    """

    kind: Literal["identifier"]
    pattern: str = "{}"
    description: str = ""

    @field_validator("pattern")
    @classmethod
    def _one_number(cls, pattern: str) -> str:
        if not _PATTERN.fullmatch(pattern):
            raise ValueError("pattern must have {}, or {:06} for leading zeros, exactly once")
        return pattern

    def write_identifier(self, number: int) -> str:
        """The identifier of a record.

        Args:
            number: of its place in its set, from 1.
        """
        return self.pattern.format(number)


class _Levels(Declaration):
    """A column with levels.

    Attributes:
        levels: the values, each a state of its own; 3, 3.0 and "3" are one level.
    """

    readable: ClassVar[tuple[str, ...]] = ("levels", *Declaration.readable)

    levels: tuple[Value, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> _Levels:
        twice = find_duplicate((*self.levels, *self.codes))
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
        random_groups: the rows have names of clusters here, such as primary sampling units, which
            are never released. Each cluster gets one of the levels by a keyed hash, whose key is
            drawn anew.
    """

    kind: Literal["categorical"]
    hierarchy: LevelTree | None = None
    random_groups: bool = False

    @model_validator(mode="after")
    def _known_children(self) -> Categorical:
        if self.hierarchy is not None:
            self.hierarchy.require_known(self.levels)
        return self

    @model_validator(mode="after")
    def _groups_alone(self) -> Categorical:
        if self.random_groups and (self.codes or self.hierarchy or self.derived):
            raise ValueError(
                "every value of a column with random_groups is put into a group; leave out its "
                "codes, its hierarchy and its rule"
            )
        return self


class Ordinal(_Levels):
    """Levels in a meaningful order, lowest first."""

    kind: Literal["ordinal"]

    @model_validator(mode="after")
    def _levels_can_be_summed(self) -> Ordinal:
        if any(isinstance(level, float) and abs(level) > LARGEST for level in self.levels):
            raise ValueError(
                f"levels that are numbers must lie within ±{LARGEST:.0e}, where sums of squares "
                "can be computed; write them in another unit, or as text"
            )
        return self


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
    """Return whether states next to each other are alike: numbers, times and ordinal levels."""
    return isinstance(column, (*NUMERIC, Ordinal))


@dataclass(frozen=True, eq=False)
class Cells:
    """A column of n records.

    Attributes:
        states: shape (n,); of a numeric column, any state of a bin for a number.
        numbers: on the number line, NaN where absent; empty for a column with levels.
    """

    states: NDArray[np.integer[Any]]
    numbers: NDArray[np.float64]
