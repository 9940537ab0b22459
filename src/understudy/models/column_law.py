"""What a generator of records is made of: the law of one column given columns drawn before it.

A law turns parameters θ, the parents' records and uniform numbers ω into records. Nothing else is
random: the same θ and ω give the same records, so that what is computed from them is a function of
θ alone, and how it changes with θ is no matter of chance (common random numbers).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from understudy.models.parameters import Floats, Prior
from understudy.schema.drawn import Drawn


class ColumnLaw(Protocol):
    """The law of one column given its parents."""

    @property
    def column(self) -> str:
        """Name of the column."""
        ...

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the columns that it is drawn given."""
        ...

    @property
    def prior(self) -> Prior:
        """Of its p parameters."""
        ...

    def draw(self, theta: Floats, drawn: Mapping[str, Drawn], uniforms: Floats) -> Drawn:
        """Draw the column.

        Args:
            theta: its parameters, shape (p,).
            drawn: records of the parents at least, n each.
            uniforms: in (0, 1), shape (2, n): for the state or the kind of state, and for the
                number.
        """
        ...
