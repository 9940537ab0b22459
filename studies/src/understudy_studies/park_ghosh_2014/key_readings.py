"""Readings of what the paper draws a column given, and of where its records start.

The paper orders the other columns by their mutual information with the one that is drawn, in the
rows, and keeps the first so many of them; how many is lost in the text that we have, or was never
told. Its seeds are real records. Ours, which need no unpaid look at the rows, are a public order,
keys of at most 1,000 values, and uniform seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Reading:
    """How keys and seeds are taken.

    Attributes:
        name: in words, after the name of a way.
        columns: how many columns a key has; None where the number of its values decides.
        limit: most values of a key; None where the number of columns decides.
        read: whether orders are read off the rows, and seeds are real records.
    """

    name: str
    columns: int | None = None
    limit: int | None = None
    read: bool = True


PUBLIC: Final = Reading("uniform seeds, public order", limit=1_000, read=False)
"""Nothing is read off the rows, as in a release."""
COLUMNS: Final = 3
"""Columns of a key in what is judged; fitted to what the paper says (`page`)."""
PUBLISHED: Final = Reading("as published", columns=COLUMNS)
"""The paper's conditions, as far as they are told."""
OTHERS: Final = (
    *(Reading(f"keys of {k}", columns=k) for k in (1, 2, 4, 5)),
    *(Reading(f"{limit:,} keys", limit=limit) for limit in (1_000, 30_000)),
)
"""Other readings of the length of a key, with seeds and orders as published."""
