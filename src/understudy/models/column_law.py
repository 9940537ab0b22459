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
from understudy.schema.features import Integers


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

    def log_shares(self, points: Floats, given: Integers, states: Integers) -> Floats:
        """Log probabilities of states, given one combination of the parents' states.

        It is a function of θ and of these states alone, to the last bit. Numeric parents stand at
        the middle of their bins (see `state_shares`).

        Args:
            points: θ, shape (G, p).
            given: states of the parents, shape (parents,).
            states: of the column, shape (k,).

        Returns:
            Shape (k, G).
        """
        ...
