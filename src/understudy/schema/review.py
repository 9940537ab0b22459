"""What a person vouches for: the source of an entry, its review, and what still stands as drafted.

A draft reads levels, bounds and bins off the rows, and each such value is a leak until somebody
knew it from elsewhere. So a draft leaves a fingerprint of every single value: the lower bound, the
upper bound, each level, each edge. A changed number of bins then excuses no bound that is still the
sample's maximum, and a level that was added excuses none of the others. What a codebook confirms
is said entry by entry, in `confirmed`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

_DIGITS = 12


class Reviewed(BaseModel):
    """Entries of which some may have been read from the rows.

    Attributes:
        source: where the entries come from: a codebook, a law, a judgement; never the rows.
        reviewed: somebody has confirmed that they are public knowledge.
        confirmed: entry → the place (codebook and page, say) that confirms its values, though they
            are those of the draft.
        drafted: entry → fingerprints of the values that `schema draft` read from the rows,
            separated by spaces. They never leave with a release.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    readable: ClassVar[tuple[str, ...]] = ()
    """Entries that a draft can read from the rows."""

    source: str = ""
    reviewed: bool = False
    confirmed: dict[str, str] = {}
    drafted: dict[str, str] = {}

    def fingerprints(self) -> dict[str, str]:
        """What a draft leaves as `drafted`: entry → fingerprints of its values."""
        content = self.model_dump(mode="json", include=set(self.readable))
        return {key: " ".join(prints) for key in self.readable if (prints := _prints(content, key))}

    @property
    def left_as_drafted(self) -> tuple[str, ...]:
        """Entries in which a value still is what the draft read, and nothing confirms it."""
        now = self.model_dump(mode="json", include=set(self.readable))
        return tuple(
            key
            for key in self.readable
            if not self.confirmed.get(key, "").strip()
            and set(_prints(now, key)) & set(self.drafted.get(key, "").split())
        )


def _prints(content: Mapping[str, Any], key: str) -> list[str]:
    """A fingerprint of each value of an entry; none where it is not given."""
    value = content.get(key)
    values = value if isinstance(value, list) else [value]
    return [_print(key, one) for one in values if one is not None]


def _print(key: str, value: Any) -> str:
    # 3 and 3.0 are one value: a bound written the other way is still the same bound.
    plain = int(value) if isinstance(value, float) and value.is_integer() else value
    return hashlib.sha256(json.dumps([key, plain]).encode()).hexdigest()[:_DIGITS]
