"""The ledger: every step that touched the rows, what it cost, and with which noise.

**What a run cost as it ended**: more than its prices where a choice left a rest that nobody spent.
In pure ε and in ρ that is the sum of the prices. Under Gaussian DP a choice that leaves a rest of
the budget is priced as if the rest will be spent (`gaussian_dp`, (2)). The stated budget bounds the
run whether it is or not. But whoever states what a run has spent, or takes back what it left, needs
the cost of the run as it ended: `gaussian_dp`, “As a run ended”, with the proof that these costs
add up, and that none is more than the budget of its run.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from understudy.dp import gaussian_dp
from understudy.dp.budget import UNITS, Accounting, Budget, decimal_down, decimal_up, pure_within
from understudy.dp.randomness import this_process
from understudy.errors import BudgetError, InsufficientBudgetError, MethodError


@dataclass(frozen=True)
class Entry:
    """One paid step.

    Attributes:
        number: position in the ledger, from 1.
        mechanism: what was run (a named mechanism in `understudy.dp`).
        query: what was asked, in words; public.
        accounting: unit of `spent`: pure ε, ρ of zCDP, or μ²/2 of Gaussian DP.
        spent: cost in that unit; None stands for an infinite one, 0 for an unpaid leak of a
            published form of a method.
        sensitivity: by how much a neighbouring table can change the answer, in the norm of the
            mechanism, in words and numbers.
        noise: distribution of the noise with its exact parameter, or "".
        cells: how many numbers were perturbed.
    """

    number: int
    mechanism: str
    query: str
    accounting: Accounting
    spent: Fraction | None
    sensitivity: str
    noise: str
    cells: int

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest; the cost as a decimal (rounded up) and exactly."""
        unit = UNITS[self.accounting]
        return {
            "number": self.number,
            "mechanism": self.mechanism,
            "query": self.query,
            unit: None if self.spent is None else decimal_up(self.spent),
            f"{unit}_exact": None if self.spent is None else str(self.spent),
            "sensitivity": self.sensitivity,
            "noise": self.noise,
            "cells": self.cells,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], accounting: Accounting) -> Entry:
        """Read back what `to_json` wrote.

        Args:
            data: of one step.
            accounting: unit of its cost.
        """
        unit = UNITS[accounting]
        told = {name: value for name, value in data.items() if not name.startswith(unit)}
        exact = data[f"{unit}_exact"]
        spent = None if exact is None else Fraction(exact)
        return cls(**told, accounting=accounting, spent=spent)


def require_payable(amount: Fraction, left: Fraction, budget: Budget) -> None:
    """Refuse an amount that cannot be paid.

    Raises:
        MethodError: not positive.
        InsufficientBudgetError: more than is left.
    """
    if amount <= 0:
        raise MethodError("A step must cost more than nothing.")
    if amount > left:
        raise InsufficientBudgetError(decimal_up(amount), decimal_down(left), budget.unit)


class PrivacyAccountant:
    """The steps of one release, and what its budget still allows.

    Prices add up in every unit (`budget.sequential`). Requests may depend on what was released
    before: with every request refused that would exceed the budget, the sum is a privacy filter and
    holds under fully adaptive composition (Rogers, Roth, Ullman & Vadhan 2016 for pure ε; Feldman &
    Zrnic 2021 for zCDP; Smith & Thakurta 2022 for Gaussian DP, with a proof in `gaussian_dp`).

    A filter is a filter only if no request is checked against a sum that another one is about to
    change: the check, the guards, the entry and those who are told of it are one step (`alone`),
    whichever thread or view of a gate asks. The process that made a ledger is the only one that may
    spend it, since a forked child holds a copy.

    Args:
        budget: all that may be spent.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        # Kept apart from the entries and the budget, which are shown to whoever asks.
        self._left = Fraction(budget.amount)
        self._cost = RunCost(budget.accounting, self._left)
        self._entries: list[Entry] = []
        self._listeners: list[Callable[[Entry], None]] = []
        self._home = this_process()
        self._lock = threading.RLock()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While this is open, no other thread pays; for costs that follow from what is left.

        Raises:
            BudgetError: in a forked child.
        """
        # First the process: a child may have got the lock closed by a thread that it has not.
        self.require_home()
        with self._lock:
            yield

    def require_home(self) -> None:
        """Refuse a forked child, which would spend again what its parent spends.

        Raises:
            BudgetError: in a forked child.
        """
        if self._home != this_process():
            raise BudgetError(
                "This budget belongs to the process that opened it, and a forked child would spend "
                "it a second time; open another there, or start new processes instead of forks."
            )

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every step so far."""
        return tuple(self._entries)

    @property
    def remaining(self) -> Fraction:
        """Amount left, in the budget's unit (infinite steps not counted)."""
        return Fraction(self._left)

    @property
    def spent(self) -> Fraction:
        """Cost of the run if it ends now (`RunCost`), infinite steps not counted.

        It is at least the sum of the prices, and with `remaining` it may be more than the budget.
        """
        return self._cost.total

    def listen(self, listener: Callable[[Entry], None]) -> None:
        """Have every new entry told, when it stands in the ledger and nothing is computed yet.

        Args:
            listener: is told after those that came before it; an error of one stops the step.
        """
        self._listeners.append(listener)

    def restore(self, entry: Entry) -> None:
        """Take over a step that an earlier run has paid for, under its number.

        Raises:
            InsufficientBudgetError: more than is left.
            ValueError: another number is due.
        """
        with self.alone():
            if entry.number != len(self._entries) + 1 or entry.accounting != self.budget.accounting:
                raise ValueError("The entries of a ledger are restored in their order.")
            if entry.spent:
                self.require(entry.spent)
            self._append(entry)

    def require(self, amount: Fraction) -> None:
        """Refuse an amount that cannot be paid; what another thread pays meanwhile, `charge` sees.

        Raises:
            MethodError: not positive.
            InsufficientBudgetError: more than is left.
            BudgetError: in a forked child.
        """
        with self.alone():
            remaining = self.remaining
        require_payable(amount, remaining, self.budget)

    def charge(
        self,
        amount: Fraction | None,
        mechanism: str,
        query: str,
        *,
        sensitivity: str,
        noise: str,
        cells: int,
        left_in: bool = False,
    ) -> int:
        """Pay for a step that has not been computed yet.

        Args:
            amount: its cost; None stands for an infinite one.
            mechanism: as in `Entry`, and so are the others.
            query: in words.
            sensitivity: in words.
            noise: in words.
            cells: how many numbers are perturbed.
            left_in: whether a published form of a method reads it off the rows without paying; the
                cost is 0 then.

        Returns:
            The number of the entry.

        Raises:
            InsufficientBudgetError: more than is left; nothing was written.
            BudgetError: in a forked child.
        """
        with self.alone():
            if amount is not None and not (left_in and amount == 0):
                self.require(amount)
            return self._write(
                mechanism, query, spent=amount, sensitivity=sensitivity, noise=noise, cells=cells
            )

    def _write(self, mechanism: str, query: str, **rest: Any) -> int:
        number = len(self._entries) + 1
        self._append(
            Entry(
                number=number,
                mechanism=mechanism,
                query=query,
                accounting=self.budget.accounting,
                **rest,
            )
        )
        return number

    def _append(self, entry: Entry) -> None:
        self._left -= entry.spent or Fraction(0)
        self._cost.add(entry.spent or Fraction(0), entry.mechanism, entry.sensitivity)
        self._entries.append(entry)
        for listener in self._listeners:
            listener(entry)


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
