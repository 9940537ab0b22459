"""What a population has spent and reserved, and whether one more cost keeps every cap.

**Filters.** What is asked next may depend on earlier answers, and so may its price. Each cap is a
privacy filter: a cost is refused unless it fits, with all that is spent, and all that is reserved
counted whole. Then the whole sequence of releases, chosen as it may be, keeps the cap: in pure ε by
Rogers, Roth, Ullman & Vadhan (2016), in ρ by Feldman & Zrnic (2021), in μ²/2 by Smith & Thakurta
(2022; `gaussian_dp` has a proof). A reservation that ends early gives back what was not charged:
at any time no more was charged than was counted, and the filters are about what was charged.

**One cap of ε and δ, two ways to keep it.** It is kept in one accounting A, ρ or μ²/2, whose amount
c within (ε, δ) is known (`rho_within`, `gdp_within`). A cost fits if the amounts sum to at most c,
or if all so far are pure and sum to at most ε. That is (ε, δ)-DP. Proof. Let P and Q be the laws of
all that is released, on neighbouring tables, and split any event by which of the two holds when all
is done: E = E₁ ∪ E₂, E₁ where the amounts sum to at most c. A curator who refuses what would bring
the amounts beyond c has the same law on E₁, where it never happened, so P(E₁) ≤ e^ε Q(E₁) + δ by
the filter of A. In the same way P(E₂) ≤ e^ε Q(E₂) by the pure filter. The sum has δ once. Filters
of two accountings that each cost δ could not be joined so; hence one is fixed from the start.

Totals in other units are what the costs sum to. Where prices depended on answers, it is the caps
that are promised in advance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from understudy.errors import LedgerError
from understudy.populations.costs import ACCOUNTINGS, NOTHING, Amounts, Cost
from understudy.populations.population import Population
from understudy.privacy.accounting.budget import (
    SIGNS,
    UNITS,
    Accounting,
    decimal_down,
    decimal_up,
    epsilon_of,
    gdp_epsilon_of,
)

_KEPT_IN = {"pure": "pure ε", "zcdp": "zCDP", "gdp": "Gaussian DP"}
_REMEDY = {
    "pure": "ask for δ = 0, and for a method that keeps its budget in pure ε",
    "gdp": "take a method that keeps its budget in Gaussian DP, or pure ε",
}


class Tally:
    """A running sum of costs in every unit, from which costs can be taken back.

    What has no finite cost in a unit is counted there, so that it can be taken back as well.
    """

    def __init__(self) -> None:
        self._sums: dict[Accounting, Fraction] = dict.fromkeys(ACCOUNTINGS, Fraction(0))
        self._without: dict[Accounting, int] = dict.fromkeys(ACCOUNTINGS, 0)

    def add(self, amounts: Amounts, sign: int = 1) -> None:
        """Add a cost, or take it back with sign -1."""
        for unit in ACCOUNTINGS:
            amount = amounts.of(unit)
            if amount is None:
                self._without[unit] += sign
            else:
                self._sums[unit] += sign * amount

    @property
    def amounts(self) -> Amounts:
        """The sum; None in a unit where a cost is not finite."""
        return Amounts(*(None if self._without[u] else self._sums[u] for u in ACCOUNTINGS))


@dataclass(frozen=True)
class Totals:
    """What a population has cost so far.

    Attributes:
        population: which.
        spent: by what was committed, voided after charges, or published.
        reserved: by runs that are open, counted whole.
        internal: by the releases of entries that stay inside, outside ε.
        open: numbers of the open reservations.
        wave: how many of its waves are open.
    """

    population: Population
    spent: Amounts
    reserved: Amounts
    internal: Amounts
    open: tuple[int, ...]
    wave: int = 1

    @property
    def epsilon(self) -> Fraction | None:
        """ε of all that is spent and reserved at the δ of the cap; None without such a cap."""
        cap = self.population.caps.approximate
        counted = self.spent + self.reserved
        if cap is None:
            return None
        amount, kept_in_gdp = counted.of(cap.accounting), cap.accounting == "gdp"
        ways = [] if counted.pure is None else [counted.pure]
        if amount:
            ways.append((gdp_epsilon_of if kept_in_gdp else epsilon_of)(amount, cap.delta))
        return min(ways, default=None)

    def to_json(self) -> dict[str, Any]:
        """Plain data; decimals rounded up, None where a cost is not finite."""
        parts = {"spent": self.spent, "reserved": self.reserved, "internal": self.internal}
        return {
            "population": self.population.to_json(),
            **{name: amounts.to_json() for name, amounts in parts.items()},
            "epsilon_at_delta": None if self.epsilon is None else decimal_up(self.epsilon),
            "open": list(self.open),
            "wave": self.wave,
        }


@dataclass
class Account:
    """Spending of one population, kept up entry by entry.

    Args:
        population: which.
        wave: how many of its waves are open.
    """

    population: Population
    wave: int = 1
    _spent: Tally = field(default_factory=Tally)
    _reserved: Tally = field(default_factory=Tally)
    _internal: Tally = field(default_factory=Tally)
    _open: dict[int, Cost] = field(default_factory=dict)
    _inside: dict[int, Cost | None] = field(default_factory=dict)

    def reserve(self, number: int, cost: Cost) -> None:
        """Count a reservation whole."""
        self._open[number] = cost
        self._reserved.add(self._amounts(cost))

    def settle(self, number: int, spent: Fraction) -> None:
        """Count of an open reservation what was charged; a closed one is settled already."""
        cost = self._open.pop(number, None)
        if cost is not None:
            self._reserved.add(self._amounts(cost), -1)
            self._spent.add(self._amounts(cost.of(spent)))

    def open_wave(self) -> int:
        """Open the next wave; what is not spent in the waves before is there for it as well.

        Raises:
            LedgerError: all that were planned are open.
        """
        if self.wave >= self.population.waves:
            raise LedgerError(
                f"The population {self.population.name!r} was planned for {self.population.waves} "
                "waves, and all are open; its caps stay as they are."
            )
        self.wave += 1
        return self.wave

    def keep_inside(self, number: int, cost: Cost | None) -> None:
        """Note an internal use; None for one of no finite cost."""
        self._inside[number] = cost
        self._internal.add(Amounts(None, None, None) if cost is None else self._amounts(cost))

    def require_publishable(self, number: int) -> Cost:
        """What it costs to publish an internal use, if that fits below every cap.

        Raises:
            LedgerError: it does not fit, was published before, or has no finite cost.
        """
        cost = self._inside.get(number)
        if cost is None:
            raise LedgerError(
                f"Entry {number} of the population {self.population.name!r} cannot be published: "
                "it is no internal entry of a finite cost, or was published before."
            )
        self.require(cost)
        return cost

    def publish(self, number: int) -> None:
        """Count an internal use as spent; one that is not there has no cost to count."""
        cost = self._inside.pop(number, None)
        if cost is not None:
            self._internal.add(self._amounts(cost), -1)
            self._spent.add(self._amounts(cost))

    def totals(self) -> Totals:
        """What was counted so far."""
        return Totals(
            self.population,
            *(self._spent.amounts, self._reserved.amounts, self._internal.amounts),
            tuple(self._open),
            self.wave,
        )

    def require(self, cost: Cost) -> None:
        """Refuse a cost that does not fit below every cap, with all that is spent and reserved.

        Raises:
            LedgerError: says which cap, what is left there, and what was asked.
        """
        if not cost.amount:
            raise LedgerError("A step must cost more than nothing; nothing was entered.")
        before = self._spent.amounts + self._reserved.amounts
        asked = self._amounts(cost)
        for words, ways in self._limits():
            if not any(_fits(before + asked, unit, limit) for unit, limit in ways):
                self._refuse(f"{words}{self._by_now}", ways[0], before, asked)

    def _limits(self) -> Iterable[tuple[str, list[tuple[Accounting, Fraction]]]]:
        """Each cap in words, and the ways to keep it; one of them is enough."""
        caps = self.population.caps
        ways: list[list[tuple[Accounting, Fraction]]] = []
        if caps.pure is not None:
            ways.append([("pure", caps.pure)])
        if (one := caps.approximate) is not None:
            ways.append([(one.accounting, one.amount), ("pure", one.epsilon)])
        if caps.rho is not None:
            ways.append([("zcdp", caps.rho)])
        if caps.mu is not None:
            ways.append([("gdp", caps.mu**2 / 2)])
        part = Fraction(self.wave, self.population.waves)  # below the cap, so filters hold
        now = ([(unit, limit * part) for unit, limit in one] for one in ways)
        return zip(caps.words, now, strict=True)

    @property
    def _by_now(self) -> str:
        """Which waves are open, in words; "" where there is one."""
        waves = self.population.waves
        return f", {self.wave} of {waves} waves open" if waves > 1 else ""

    def _refuse(
        self, words: str, limit: tuple[Accounting, Fraction], before: Amounts, asked: Amounts
    ) -> None:
        unit, most = limit
        sign, name = SIGNS[UNITS[unit]], self.population.name
        used, more = before.of(unit), asked.of(unit)
        if more is None:
            raise LedgerError(
                f"The population {name!r} has the cap {words}, and what was asked has no finite "
                f"cost in {_KEPT_IN[unit]}; {_REMEDY[unit]}. Nothing was entered."
            )
        if used is None:
            raise LedgerError(
                f"The population {name!r} has the cap {words}, of which nothing is left: earlier "
                f"releases have no finite cost in {_KEPT_IN[unit]}. Nothing was entered."
            )
        raise LedgerError(
            f"The population {name!r} has the cap {words}, of which {sign} = "
            f"{decimal_down(max(most - used, Fraction(0)))} is left, open reservations counted "
            f"whole, and {sign} = {decimal_up(more)} was asked; nothing was entered. Ask for less, "
            "or void what will not be made."
        )

    def _amounts(self, cost: Cost) -> Amounts:
        return cost.under(self.population.neighbours).amounts if cost.amount else NOTHING


def _fits(total: Amounts, unit: Accounting, limit: Fraction) -> bool:
    amount = total.of(unit)
    return amount is not None and amount <= limit
