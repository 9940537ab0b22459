"""A step of a ledger that a folder states, with all that its price was made from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from understudy.privacy.accounting.budget import Accounting, Budget
from understudy.privacy.released import Noise
from understudy.schema import Schema

_STEP: Final = re.compile(r"on the lattice of step ([0-9]+(?:/[1-9][0-9]*)?)")

Priced = tuple[str, str, Noise | None]
"""Sensitivity and noise in words, and what a measurement states of it; None if no such is known."""


@dataclass(frozen=True)
class StatedStep:
    """A step of a ledger that has a price, and what it is priced from.

    Attributes:
        entry: plain data.
        price: cost.
        budget: of the release.
        schema: of the release.
        n_rows: records of each set.
        leaks: that the guarantee names.
        measured: entry in the manifest of what it measured; None if it measured nothing.
    """

    entry: Mapping[str, Any]
    price: Fraction
    budget: Budget
    schema: Schema
    n_rows: int
    leaks: str
    measured: Mapping[str, Any] | None

    @property
    def accounting(self) -> Accounting:
        """The unit of the price."""
        return self.budget.accounting

    @property
    def noise(self) -> str:
        """The noise in words."""
        return str(self.entry["noise"])

    @property
    def is_replaced(self) -> bool:
        """Whether neighbours differ by a replaced record."""
        return self.schema.neighbours == "replace"

    @property
    def lattice(self) -> Fraction:
        """Step of its lattice.

        Raises:
            ValueError: it names none.
        """
        return Fraction(found_in(_STEP, self.noise)[1])

    def priced_by(self, mechanism: Any) -> Iterator[Priced]:
        """What a mechanism announces, if it is what the step says that was asked.

        Args:
            mechanism: one of this package's, made from what was measured.
        """
        from understudy.privacy.terms import Terms, View

        terms = Terms(view=View(schema=self.schema), budget=self.budget, left=self.budget.amount)
        (charge,) = mechanism.price(terms, self.price)
        if (charge.query, charge.cells) == (self.entry["query"], self.entry["cells"]):
            yield charge.sensitivity, charge.noise, charge.recorded


def found_in(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    """Where a pattern stands in a text.

    Raises:
        ValueError: nowhere.
    """
    found = pattern.search(text)
    if found is None:
        raise ValueError
    return found
