"""What every column declares: codes of absence, source, review; and its numbered states."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, WithJsonSchema

from understudy.schema.values import EXACT_INTEGER, Code, duplicated, text_of


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
    Code, AfterValidator(_finite), WithJsonSchema({"type": ["string", "number", "boolean"]})
]


class Declaration(BaseModel):
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


def refuse_repeated_code(codes: tuple[Code, ...]) -> None:
    """Check that no code stands for the same value as another.

    Raises:
        ValueError: names the code.
    """
    twice = duplicated(codes)
    if twice is not None:
        raise ValueError(f"code {text_of(twice)!r} is declared twice; keep one of them")
