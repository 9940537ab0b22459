"""Columns: what each one may hold, declared in public before anyone looks at the rows.

A column has *states*: its levels (or, for numbers and dates, its intervals), then its
not-applicable codes, its missing codes and, if declared, the code for values outside the domain.
States are numbered 0, 1, 2, … in that order; `size` counts them. Values that fit no state are coded
as the declared code for values outside the domain; without one they are coded `size`, the
undeclared out-of-domain state, which is counted but never sampled.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from understudy.schema.column_base import Declaration
from understudy.schema.numeric_columns import (
    Boolean,
    Categorical,
    Continuous,
    Date,
    Integer,
    Ordinal,
)

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
