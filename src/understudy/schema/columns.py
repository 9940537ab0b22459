"""Columns: what each one may hold, declared in public before anyone looks at the rows.

Some lie on the number line (whole numbers, real numbers, dates), others have levels (categorical,
ordinal, boolean). A column has *states*: its levels (or, for numbers and dates, its intervals),
then its not-applicable codes, its missing codes and, if declared, the code for values outside the
domain. States are numbered 0, 1, 2, … in that order; `size` counts them. Values that fit no state
are coded as the declared code for values outside the domain; without one they are coded `size`, the
undeclared out-of-domain state, which is counted but never sampled.
"""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from understudy.schema.bins import Interval, integer_intervals, real_intervals
from understudy.schema.cell_values import EXACT_INTEGER, Code, duplicated, number_of, text_of
from understudy.schema.column_base import Declaration, Value, refuse_repeated_code


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
    """Unordered levels."""

    kind: Literal["categorical"]


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


DEFAULT_BINS = 20
ONE_BIN_EACH = 50  # integers with at most this many values get one bin each

_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
EPOCH = datetime.date(1970, 1, 1).toordinal()


class _Numeric(Declaration):
    """Bounds, bins and spikes of a column on the number line.

    Attributes:
        lower: smallest value; smaller ones are clipped to it.
        upper: largest value; larger ones are clipped to it.
        bins: a public number of bins of equal width, or the list of public edges from `lower` to
            `upper`.
        spikes: values that many records share exactly (a zero of a semicontinuous variable); each
            has a state of its own.
    """

    readable: ClassVar[tuple[str, ...]] = ("lower", "upper", "bins", *Declaration.readable)

    @model_validator(mode="after")
    def _codes_apart(self) -> _Numeric:
        refuse_repeated_code(self.codes)
        low, high = self.bounds
        for code in self.codes:
            place = self.position(code)
            if place is not None and low <= place <= high:
                raise ValueError(
                    f"code {text_of(code)!r} lies between lower and upper, so it cannot be told "
                    "from a value; narrow the bounds or take the code off the list"
                )
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound on the number line (dates: days since 1970-01-01)."""
        raise NotImplementedError

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Ordinary states, in the order of the number line; a spike precedes the bin it is in."""
        raise NotImplementedError

    @property
    def n_ordinary(self) -> int:
        """Number of bins and spikes."""
        return len(self.intervals)

    def position(self, value: Code) -> float | None:
        """Place of a declared value on the number line; None if it has none (text, say)."""
        return number_of(value)

    def _ordinary_labels(self) -> tuple[str, ...]:
        return tuple(interval.label for interval in self.intervals)

    def _readings(self, key: str) -> list[tuple[str, Any]]:
        value = getattr(self, key, None)
        if key == "bins" and isinstance(value, tuple):
            # The outer edges are the bounds, which answer for themselves.
            return [("value", edge) for edge in value[1:-1]]
        if key == "bins":  # a number of bins is no value; the usual one is the same for all rows
            return [(key, value)] if value not in (None, DEFAULT_BINS) else []
        return super()._readings(key)

    @property
    def left_as_drafted(self) -> tuple[str, ...]:
        """Entries in which a value still is one that the draft read, and nothing confirms it.

        A number of bins that follows from the bounds says nothing beyond them.
        """
        follows = getattr(self, "bins", None) == self._usual_bins
        return tuple(k for k in super().left_as_drafted if not (k == "bins" and follows))

    @property
    def _usual_bins(self) -> int:
        """The number of bins that a draft takes, given the bounds alone."""
        return DEFAULT_BINS

    def model_post_init(self, _context: Any, /) -> None:
        """Lay the intervals once, so that bad edges are found when the schema is read."""
        assert self.intervals


class Integer(_Numeric):
    """Whole numbers from `lower` to `upper`, both included."""

    readable: ClassVar[tuple[str, ...]] = ("spikes", *_Numeric.readable)

    kind: Literal["integer"]
    lower: int
    upper: int
    bins: int | tuple[int, ...] | None = None
    spikes: tuple[int, ...] = ()

    @field_validator("lower", "upper")
    @classmethod
    def _exact(cls, value: int) -> int:
        if abs(value) > EXACT_INTEGER:
            raise ValueError(
                "must lie within ±2^53; declare identifiers as categorical, or leave them out"
            )
        return value

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound."""
        return float(self.lower), float(self.upper)

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Bins of whole numbers, and spikes."""
        return integer_intervals(self.lower, self.upper, self._bins(), self.spikes, str)

    def _bins(self) -> int | tuple[int, ...]:
        return self._usual_bins if self.bins is None else self.bins

    @property
    def _usual_bins(self) -> int:
        n_values = self.upper - self.lower + 1
        return n_values if n_values <= ONE_BIN_EACH else DEFAULT_BINS


class Continuous(_Numeric):
    """Real numbers from `lower` to `upper`.

    Attributes:
        decimals: number of decimals that released values are rounded to.
    """

    readable: ClassVar[tuple[str, ...]] = ("spikes", "decimals", *_Numeric.readable)

    kind: Literal["continuous"]
    lower: float = Field(allow_inf_nan=False)
    upper: float = Field(allow_inf_nan=False)
    bins: int | tuple[float, ...] = DEFAULT_BINS
    spikes: tuple[float, ...] = ()
    decimals: int | None = Field(default=None, ge=0, le=12)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound."""
        return self.lower, self.upper

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Half-open bins (the last one closed), and spikes."""
        return real_intervals(self.lower, self.upper, self.bins, self.spikes)

    def _readings(self, key: str) -> list[tuple[str, Any]]:
        if key == "decimals":  # no value either
            return [] if self.decimals is None else [(key, self.decimals)]
        return super()._readings(key)


class Date(_Numeric):
    """Calendar days from `lower` to `upper`, both included."""

    kind: Literal["date"]
    lower: datetime.date
    upper: datetime.date
    bins: int | tuple[datetime.date, ...] = DEFAULT_BINS

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound in days since 1970-01-01."""
        return float(_day(self.lower)), float(_day(self.upper))

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Bins of days."""
        bins = self.bins if isinstance(self.bins, int) else tuple(_day(edge) for edge in self.bins)
        return integer_intervals(_day(self.lower), _day(self.upper), bins, (), _iso)

    @property
    def _usual_bins(self) -> int:
        low, high = self.bounds
        return min(DEFAULT_BINS, int(high - low) + 1)

    def position(self, value: Code) -> float | None:
        """Days since 1970-01-01 of a date, also of one written as text; else None."""
        if isinstance(value, str) and _ISO_DAY.fullmatch(value.strip()):
            try:
                value = datetime.date.fromisoformat(value.strip())
            except ValueError:
                return None
        return float(_day(value)) if isinstance(value, datetime.date) else None


def _day(date: datetime.date) -> int:
    return date.toordinal() - EPOCH


def _iso(day: int) -> str:
    return datetime.date.fromordinal(day + EPOCH).isoformat()


Column = Annotated[
    Categorical | Ordinal | Boolean | Integer | Continuous | Date, Field(discriminator="kind")
]
NUMERIC = (Integer, Continuous, Date)
KINDS: dict[str, type[Declaration]] = {
    "categorical": Categorical,
    "ordinal": Ordinal,
    "boolean": Boolean,
    "integer": Integer,
    "continuous": Continuous,
    "date": Date,
}
"""What a column of each kind declares."""
