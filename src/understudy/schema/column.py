"""Columns: what each one may hold, declared in public before anyone looks at the rows.

A column has *states*: its levels (or, for numbers and dates, its intervals), then its
not-applicable codes, its missing codes and, if declared, the code for values outside the domain.
States are numbered 0, 1, 2, … in that order; `size` counts them. Values that fit no state are coded
as the declared code for values outside the domain; without one they are coded `size`, the
undeclared out-of-domain state, which is counted but never sampled.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from understudy.schema.intervals import Interval, integer_intervals, real_intervals
from understudy.schema.values import Code, duplicated, number_of, text_of

DEFAULT_BINS = 20
ONE_BIN_EACH = 50  # integers with at most this many values get one bin each
EXACT_INTEGER = 2**53  # beyond it, float64 no longer holds every integer

_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def _finite(value: Code) -> Code:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            'NaN and infinity cannot be declared; "" stands for an empty cell, NaN included'
        )
    return value


Value = Annotated[Code, AfterValidator(_finite)]


class _Column(BaseModel):
    """What every kind of column declares.

    Attributes:
        description: one line for the reader of the release.
        unit: unit of measurement, in words.
        missing: codes that say *not known*; each is a state of its own. The empty text stands for
            an empty cell (null, NaN).
        not_applicable: codes that say *the question does not arise*; each a state of its own.
        out_of_domain: code under which values outside the domain are counted **and released**.
            Without it they are counted and never sampled.
        source: where levels or bounds come from: a codebook, a law, a judgement; never the rows.
        reviewed: somebody has confirmed that levels, bounds and bins are public knowledge.
        drafted: fingerprint that `schema draft` leaves, so that an entry taken over unchanged from
            the data is recognised. It never leaves with a release.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str = ""
    unit: str = ""
    missing: tuple[Value, ...] = ()
    not_applicable: tuple[Value, ...] = ()
    out_of_domain: Value | None = None
    source: str = ""
    reviewed: bool = False
    drafted: str = ""

    @property
    def codes(self) -> tuple[Code, ...]:
        """Codes of absence, in the order of their states."""
        declared = () if self.out_of_domain is None else (self.out_of_domain,)
        return (*self.not_applicable, *self.missing, *declared)

    @property
    def n_ordinary(self) -> int:
        """Number of ordinary states (levels or intervals); the codes of absence follow them."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of states; also the code of the undeclared out-of-domain state."""
        return self.n_ordinary + len(self.codes)

    @property
    def labels(self) -> tuple[str, ...]:
        """Text of each state, in order."""
        return (*self._ordinary_labels(), *(text_of(code) or "(empty)" for code in self.codes))

    def _ordinary_labels(self) -> tuple[str, ...]:
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Digest of what could have been read from the data: levels, bounds, bins, codes."""
        skip = {"description", "unit", "source", "reviewed", "drafted"}
        content = self.model_dump(mode="json", exclude=skip)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def unchanged_from_draft(self) -> bool:
        """Whether levels, bounds and bins still are what `schema draft` read from the data."""
        return bool(self.drafted) and self.drafted == self.fingerprint()


class _Levels(_Column):
    """A column with levels.

    Attributes:
        levels: the values, each a state of its own; 3, 3.0 and "3" are one level.
    """

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


class Boolean(_Column):
    """True or false; read from booleans, from 0 and 1, and from the words in any case."""

    kind: Literal["boolean"]

    @model_validator(mode="after")
    def _codes_apart(self) -> Boolean:
        _refuse_repeated_code(self.codes)
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


class _Numeric(_Column):
    """Bounds, bins and spikes of a column on the number line.

    Attributes:
        lower: smallest value; smaller ones are clipped to it.
        upper: largest value; larger ones are clipped to it.
        bins: a public number of bins of equal width, or the list of public edges from `lower` to
            `upper`.
        spikes: values that many records share exactly (a zero of a semicontinuous variable); each
            has a state of its own.
    """

    @model_validator(mode="after")
    def _codes_apart(self) -> _Numeric:
        _refuse_repeated_code(self.codes)
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

    def model_post_init(self, _context: Any, /) -> None:  # noqa: ANN401 - pydantic's signature
        """Lay the intervals once, so that bad edges are found when the schema is read."""
        assert self.intervals


class Integer(_Numeric):
    """Whole numbers from `lower` to `upper`, both included."""

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
        if self.bins is not None:
            return self.bins
        n_values = self.upper - self.lower + 1
        return n_values if n_values <= ONE_BIN_EACH else DEFAULT_BINS


class Continuous(_Numeric):
    """Real numbers from `lower` to `upper`.

    Attributes:
        decimals: number of decimals that released values are rounded to.
    """

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

    def position(self, value: Code) -> float | None:
        """Days since 1970-01-01 of a date, also of one written as text; else None."""
        if isinstance(value, str) and _ISO_DAY.fullmatch(value.strip()):
            try:
                value = datetime.date.fromisoformat(value.strip())
            except ValueError:
                return None
        return float(_day(value)) if isinstance(value, datetime.date) else None


Column = Annotated[
    Categorical | Ordinal | Boolean | Integer | Continuous | Date, Field(discriminator="kind")
]
NUMERIC = (Integer, Continuous, Date)

_EPOCH = datetime.date(1970, 1, 1).toordinal()


def _refuse_repeated_code(codes: tuple[Code, ...]) -> None:
    twice = duplicated(codes)
    if twice is not None:
        raise ValueError(f"code {text_of(twice)!r} is declared twice; keep one of them")


def _day(date: datetime.date) -> int:
    return date.toordinal() - _EPOCH


def _iso(day: int) -> str:
    return datetime.date.fromordinal(day + _EPOCH).isoformat()
