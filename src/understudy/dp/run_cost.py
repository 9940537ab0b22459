"""What a run cost as it ended: more than its prices where a choice left a rest that nobody spent.

In pure ε and in ρ that is the sum of the prices. Under Gaussian DP a choice that leaves a rest of
the budget is priced as if the rest will be spent (`gaussian_dp`, (2)). The stated budget bounds the
run whether it is or not. But whoever states what a run has spent, or takes back what it left, needs
the cost of the run as it ended: `gaussian_dp`, “As a run ended”, with the proof that these costs
add up, and that none is more than the budget of its run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from understudy.dp import gaussian_dp
from understudy.dp.budget import Accounting, pure_within

CHOICE: Final = "exponential mechanism"
"""How the ledger calls a choice."""

_BY_SCORE: Final = "score: "
"""How the sensitivity of a choice begins whose ε may rest on what is left after it."""

_FINEST: Final = 10**60
"""Costs are added up in whole units of this part: fractions would double at each choice."""


@dataclass(frozen=True)
class _Step:
    """A paid step, in units of 1/`_FINEST`.

    Attributes:
        price: that was charged, rounded up.
        left: what its budget still allowed after it, rounded up; None if that is not known.
        ideal: r = ε²/8 of a choice whose price rests on `left`, rounded up; 0 for any other step.
        alone: what that choice costs if nothing follows it, rounded up.
    """

    price: int
    left: int | None = None
    ideal: int = 0
    alone: int = 0

    def before(self, rest: int) -> int:
        """Cost of this step and of all that follows it.

        Args:
            rest: cost of what follows it.
        """
        if not self.ideal or (self.left is not None and rest >= self.left):
            return rest + self.price
        cost = self.alone
        if rest > self.ideal:
            cost = min(cost, -(-self.ideal * rest // (rest - self.ideal)))
        return rest + max(cost, self.price)


class RunCost:
    """Cost of a run if it ends now, kept up step by step.

    Args:
        accounting: unit of all costs.
        budget: all that the run may spend; None if that is not known, which costs no less.

    Example:
        >>> cost = RunCost("pure", Fraction(1))
        >>> cost.add(Fraction(1, 4), "noisy table", "L1 = 1")
        >>> cost.total
        Fraction(1, 4)
    """

    def __init__(self, accounting: Accounting, budget: Fraction | None) -> None:
        self._accounting: Accounting = accounting
        self._budget = budget
        self._prices = Fraction(0)
        self._steps: list[_Step] = []
        self._after_choice = Fraction(0)

    def add(self, price: Fraction, mechanism: str, sensitivity: str) -> None:
        """Count one more step.

        Args:
            price: that was charged, not below 0.
            mechanism: as the ledger names it.
            sensitivity: in the words of the ledger.
        """
        self._prices += price
        chosen = mechanism == CHOICE and sensitivity.startswith(_BY_SCORE)
        if self._accounting == "gdp" and chosen and price:
            self._add_choice(price)
        else:
            self._after_choice += price

    def allow(self, budget: Fraction) -> None:
        """Let the run spend more from here on, as an amendment does.

        Args:
            budget: all that it may spend, earlier steps included.
        """
        self._budget = budget

    @property
    def prices(self) -> Fraction:
        """The sum of what was charged."""
        return self._prices

    @property
    def total(self) -> Fraction:
        """Cost of the run if nothing more is asked: at least the prices, at most the budget."""
        if not self._steps:
            return self._prices
        rest = _up(self._after_choice)
        for step in reversed(self._steps):
            rest = step.before(rest)
        whole = max(Fraction(rest, _FINEST), self._prices)
        return whole if self._budget is None else min(whole, self._budget)

    def _add_choice(self, price: Fraction) -> None:
        """Count a choice: whether its ε rests on what is left follows from the larger of both."""
        left = None if self._budget is None else max(self._budget - self._prices, Fraction(0))
        ideal = price if left is None else price * left / (price + left)
        by_itself = (2 * pure_within(price, "gdp")) ** 2 / 8
        if ideal <= by_itself:
            self._after_choice += price
            return
        half_range = math.sqrt(2 * float(ideal)) * (1 + 1e-15)  # ε/2, ε = √(8r)
        alone = Fraction(gaussian_dp.amount_of_pure(half_range))
        # The steps since the choice before are one that costs what they cost together.
        self._steps += [_Step(_up(self._after_choice))] if self._after_choice else []
        known = None if left is None else _up(left)
        self._steps.append(_Step(_up(price), known, _up(ideal), _up(alone)))
        self._after_choice = Fraction(0)


def _up(amount: Fraction) -> int:
    return math.ceil(amount * _FINEST)
