"""What a person vouches for: the source of an entry, its review, and what still stands as drafted.

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

import hashlib
import json
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from understudy.errors import suggestion
from understudy.schema.cell_values import number_of, text_of

_DIGITS = 8  # drafts of earlier versions have 12
_UNCONFIRMED = "unconfirmed"


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
        """What a draft leaves as `drafted`: entry → fingerprints of its values."""
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
            and (self.drafted.get(key) == _UNCONFIRMED or read.intersection(self._prints(key)))
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
        """Whether nobody said where some of its entries come from."""
        given = [key for key in self.readable if self._readings(key)]
        return not self.source.strip() and not (given and all(map(self._confirmation, given)))

    def marks(self) -> dict[str, str]:
        """What stands as `drafted` where all entries are left as drafted, without a fingerprint."""
        return dict.fromkeys(self.fingerprints(), _UNCONFIRMED)

    def without_fingerprints(self) -> Self:
        """The same as it may leave with a release: what is left as drafted is still marked.

        What confirms single entries becomes a part of the source, as `sources` has it.
        """
        marks = dict.fromkeys(self.left_as_drafted, _UNCONFIRMED)
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
