"""Declarations of every column: codes of absence, source, review; and its numbered states.

**Values as they stand in a schema, and when two of them are the same.**

Numbers are compared as 64-bit floats. Beyond ±2^53 these no longer hold every whole number, so such
numbers are declared as text and meant by that text only.

>>> text_of(3.0), text_of("03"), text_of(True)
('3', '03', 'true')
>>> same_value(3, "3.0"), same_value("03", "3")
(True, False)

**What a person vouches for: the source of an entry, its review, and what still stands as drafted.**

A draft reads levels, bounds and bins off the rows, and each such value is a leak until somebody
knew it from elsewhere. So a draft leaves a fingerprint of every single value: the lower bound, the
upper bound, each level, each edge. A changed number of bins then excuses no bound that is still the
sample's maximum, a level that was added excuses none of the others, and a bound that became a level
or a code still is the value that was read. What a codebook confirms is said entry by entry, in
`confirmed`.

Names, order and kind of the columns have no fingerprint: they belong to the question that was
asked, nearly always stand as drafted, and are vouched for by `reviewed`. So is that an entry is
absent (no spikes, no codes).
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from understudy.errors import suggestion

Code = bool | int | float | datetime.date | str

EXACT_INTEGER = 2**53  # beyond it, float64 no longer holds every integer

CLOSE = 2.0**-23
"""Largest relative difference between a number and the declared one that is meant by it."""

# What the reader of the rows takes for a number, too: no "1_000", no "١", no "inf".
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_number(value: Code) -> bool:
    """Return whether a code was written as a number (not as text, truth value or date)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_of(value: Code) -> str:
    """Canonical text of a value: whole numbers without a point, dates in ISO form."""
    if type(value) is str:  # most are, and there may be very many
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value)


def time_as_text(value: object) -> object:
    """A time of day, or a moment that is not midnight, as its text; other values as they are."""
    if isinstance(value, datetime.datetime):
        return value.isoformat() if value.tzinfo or value.time() != datetime.time() else value
    return value.isoformat() if isinstance(value, datetime.time) else value


def number_of(value: Code) -> float | None:
    """The number that a value denotes, or None: 3, 3.0 and "3" all denote 3.0."""
    if isinstance(value, bool | datetime.date | datetime.time):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def same_value(left: Code, right: Code) -> bool:
    """Return whether two values are one level.

    Equal texts are one. Texts that are both written as text and differ ("03", "3") are two levels;
    otherwise equal numbers are one.
    """
    if text_of(left) == text_of(right):
        return True
    if isinstance(left, str) and isinstance(right, str):
        return False
    number = number_of(left)
    return number is not None and number == number_of(right)


def find_duplicate(values: Iterable[Code]) -> Code | None:
    """The first value that stands for the same level as an earlier one, or None."""
    values = tuple(values)
    if set(map(type, values)) <= {str} and len(set(values)) == len(values):
        return None  # texts that differ are two levels; a column may have very many
    texts: set[str] = set()
    numbers: dict[float, list[Code]] = {}
    for value in values:
        text = text_of(value)
        number = number_of(value)
        alike: Sequence[Code] = numbers.get(number, ()) if number is not None else ()
        if text in texts or any(same_value(value, other) for other in alike):
            return value
        texts.add(text)
        if number is not None:
            numbers.setdefault(number, []).append(value)
    return None


_DIGITS = 8  # drafts of earlier versions have 12
UNCONFIRMED = "unconfirmed"


class Reviewed(BaseModel):
    """Entries of which some may have been read from the rows.

    Attributes:
        source: where the entries come from: a codebook, a law, a judgement; never the rows.
        reviewed: somebody has confirmed that they are public knowledge.
        confirmed: entry → the place (codebook and page, say) that confirms its values, though they
            are those of the draft. It never leaves with a release: there it is a part of `source`.
        drafted: entry → fingerprints of the values that `schema draft` read from the rows,
            separated by spaces. They never leave with a release: in its schema, "unconfirmed"
            stands for those of an entry left as drafted, which its guarantee names anyway.
    """

    # A fault must not print what was read from the rows, nor its fingerprints.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    readable: ClassVar[tuple[str, ...]] = ()
    """Entries that a draft can read from the rows."""

    source: str = ""
    reviewed: bool = False
    confirmed: dict[str, str] = {}
    drafted: dict[str, str] = {}

    @field_validator("drafted", mode="before")
    @classmethod
    def _value_by_value(cls, drafted: Any) -> Any:
        if isinstance(drafted, str):
            raise ValueError(
                "this is the mark of an older draft, which cannot tell what was changed from what "
                "was not; draft the schema anew, and carry the review over"
            )
        return drafted

    @model_validator(mode="after")
    def _confirms_entries(self) -> Self:
        unknown = [key for key in self.confirmed if key not in self.readable]
        if unknown:
            raise ValueError(
                "\n".join(
                    f"`confirmed` names {key!r}, which is no entry that could be confirmed here"
                    f"{suggestion(key, self.readable)}; they are {', '.join(self.readable)}"
                    for key in unknown
                )
            )
        return self

    def fingerprints(self) -> dict[str, str]:
        """Compute what a draft leaves as `drafted`: entry → fingerprints of its values."""
        return {key: " ".join(prints) for key in self.readable if (prints := self._prints(key))}

    @property
    def left_as_drafted(self) -> tuple[str, ...]:
        """Entries in which a value still is one that the draft read, and nothing confirms it."""
        read = {one[:_DIGITS] for one in " ".join(self.drafted.values()).split()}
        if not read:
            return ()
        return tuple(
            key
            for key in self.readable
            if not self._confirmation(key)
            and (self.drafted.get(key) == UNCONFIRMED or read.intersection(self._prints(key)))
        )

    @property
    def sources(self) -> str:
        """The source, and what confirms single entries, in one text; "" if nobody said.

        Which entries needed a confirmation it does not tell: those stand as they were read from
        the rows, and a bound that does is the smallest or largest value, or near it.
        """
        said = (self.source.strip(), *map(self._confirmation, self.readable))
        return "; ".join(dict.fromkeys(filter(None, said)))

    @property
    def is_unsourced(self) -> bool:
        """True if nobody said where some of its entries come from."""
        given = [key for key in self.readable if self._readings(key)]
        return not self.source.strip() and not (given and all(map(self._confirmation, given)))

    def marks(self) -> dict[str, str]:
        """Return the marks `drafted` where all entries are as drafted, without fingerprints."""
        return dict.fromkeys(self.fingerprints(), UNCONFIRMED)

    def without_fingerprints(self) -> Self:
        """The same as it may leave with a release: what is left as drafted is still marked.

        What confirms single entries becomes a part of the source, as `sources` has it.
        """
        marks = dict.fromkeys(self.left_as_drafted, UNCONFIRMED)
        if marks == self.drafted and not self.confirmed:
            return self
        source = self.source if self.is_unsourced else self.sources
        return self.model_copy(update={"drafted": marks, "confirmed": {}, "source": source})

    def _confirmation(self, key: str) -> str:
        return self.confirmed.get(key, "").strip()

    def _readings(self, key: str) -> list[tuple[str, Any]]:
        """The values of an entry, each with the name that it is recognised under."""
        value = getattr(self, key, None)
        values = value if isinstance(value, tuple) else (value,)
        return [(key, item) for item in values if item is not None]

    def _prints(self, key: str) -> list[str]:
        """A fingerprint of each value of an entry; none where it is not given."""
        return [_print(name, value) for name, value in self._readings(key)]


def _print(name: str, value: Any) -> str:
    # A value written in another way is the same value: 3, 3.0 and "03", a date and its text.
    number = number_of(value)
    plain = text_of(value).strip() if number is None else text_of(number)
    return hashlib.sha256(json.dumps([name, plain]).encode()).hexdigest()[:_DIGITS]


def _finite(value: Code) -> Code:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            'NaN and infinity cannot be declared; "" stands for an empty cell, NaN included'
        )
    if isinstance(value, int) and abs(value) > EXACT_INTEGER:
        raise ValueError(
            "a whole number beyond ±2^53 cannot be told from its neighbours where numbers are "
            "stored in 64 bits; declare it as text"
        )
    return value


Value = Annotated[
    Code,
    BeforeValidator(time_as_text),
    AfterValidator(_finite),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]


class LevelMap(BaseModel):
    """Levels of one column by those of another.

    Attributes:
        of: the other column.
        levels: level → those of the other column that it stands for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    of: str
    levels: dict[str, Annotated[tuple[Value, ...], Field(min_length=1)]] = Field(min_length=1)


class Declaration(Reviewed):
    """The declarations that every kind of column has.

    Attributes:
        derived: the rule by which the column is computed from others: an expression such as
            "weight / height ** 2", "income > 0" or "cut(age, 18, 65)", or a table { of = "county",
            levels = { north = ["a", "b"] } }. It is not measured, and costs nothing.
        description: one line for the reader of the release.
        unit: unit of measurement, in words. A text may have it before or behind its number,
            as in "130 EUR".
        missing: codes that say *not known*; each is a state of its own. The empty text stands for
            an empty cell (null, NaN).
        not_applicable: codes that say *the question does not arise*; each a state of its own.
        out_of_domain: code under which values outside the domain are counted **and released**.
            Without it they are counted and never sampled.
        value_labels: what a level, a spike or a code of absence stands for, in words: the value as
            text → its label.
    """

    readable: ClassVar[tuple[str, ...]] = (
        *("missing", "not_applicable", "out_of_domain", "value_labels", "derived", "unit"),
    )

    derived: str | LevelMap | None = None
    description: str = ""
    unit: str = ""
    missing: tuple[Value, ...] = ()
    not_applicable: tuple[Value, ...] = ()
    out_of_domain: Value | None = None
    value_labels: dict[str, Annotated[str, Field(min_length=1)]] = Field(default={})

    @model_validator(mode="after")
    def _labels_stand_for_values(self) -> Self:
        single = (*getattr(self, "levels", ()), *getattr(self, "spikes", ()), *self.codes)
        known = {text_of(value) for value in single}
        unknown = [text for text in self.value_labels if text not in known]
        if unknown:
            raise ValueError(
                f"`value_labels` names {unknown[0]!r}, which is no level, spike or code of this "
                f"column{suggestion(unknown[0], sorted(known))}; declare it, or leave its label out"
            )
        return self

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

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with changes; what was computed once is not taken over.

        Args:
            update: entries to change; they are not checked.
            deep: whether entries are copied as well.
        """
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Text of each state, in order."""
        return (*self._ordinary_labels(), *(text_of(code) or "(empty)" for code in self.codes))

    def _ordinary_labels(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _readings(self, key: str) -> list[tuple[str, Any]]:
        if key == "derived":  # a rule as a whole: what it names is no value
            rule = self.derived
            text = rule if rule is None or isinstance(rule, str) else rule.model_dump_json()
            return [] if text is None else [(key, text)]
        if key in ("format", "unit"):  # of the text of every row
            written = getattr(self, key)
            return [(key, written)] if written else []
        if key == "value_labels":
            return [("label", f"{text}: {label}") for text, label in self.value_labels.items()]
        # One name for all: a bound that became a level, or a level that became a code of absence,
        # still is the value that was read.
        return [("value", value) for _, value in super()._readings(key)]


def refuse_repeated_code(codes: tuple[Code, ...]) -> None:
    """Check that no code stands for the same value as another.

    Raises:
        ValueError: names the code.
    """
    twice = find_duplicate(codes)
    if twice is not None:
        raise ValueError(f"code {text_of(twice)!r} is declared twice; keep one of them")
