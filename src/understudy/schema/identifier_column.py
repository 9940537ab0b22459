"""Columns of identifiers: never read, never measured; synthetic records get fresh ones."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import field_validator

from understudy.schema.review import Reviewed

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
        >>> Identifier(kind="identifier", pattern="P{:04}").written(7)
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

    def written(self, number: int) -> str:
        """The identifier of a record.

        Args:
            number: of its place in its set, from 1.
        """
        return self.pattern.format(number)
