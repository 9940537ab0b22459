"""A uniformly random order of some things: independent of the rows, so free, and public.

It is a mechanism only so that a continued run gets the order that the first one drew.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms


@dataclass(frozen=True)
class RandomOrder(Mechanism[Released[tuple[int, ...]], None]):
    """A random order of 0 … n - 1.

    Attributes:
        n: how many things.
    """

    name: ClassVar[str] = "random order"

    n: HowMany

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """Nothing: no row is looked at."""
        return ()

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[tuple[int, ...]]]:
        """Draw it."""
        return answer(tuple(source.permutation(self.n).tolist()))
