"""What a release costs a population: in one unit as it was kept, and in every unit that follows.

**From one unit to another.** ε-DP implies ε²/2-zCDP (Bun & Steinke 2016, Proposition 1.4). μ-GDP
implies μ²/2-zCDP: its trade-off function lies on or above that of N(0, 1) against N(μ, 1), so by
Blackwell's theorem it is a function of one draw of these (Dong, Roth & Su 2022, Theorem 2.10). That
raises no Rényi divergence, and theirs of order α is αμ²/2. zCDP implies no μ, neither implies a
pure ε, and what has no finite cost in a unit is never counted as 0 there.

**Pure ε in GDP.** ε-DP implies μ-GDP with

    μ(ε) = -2 Φ⁻¹(1 / (1 + e^ε)),                                                            (1)

the smallest such μ. Proof. The trade-off function of what is ε-DP lies on or above f(α) = max(0, 1
- e^ε α, e^-ε (1 - α)) (Wasserman & Zhou 2010; Dong et al., Proposition 2.5), which is that of
randomised response: it joins (0, 1), (p, p) and (1, 0), p = 1/(1 + e^ε), by straight lines. G_μ is
convex with the same ends, so it lies on or below f if and only if it does at (p, p), that is if
Φ(-Φ⁻¹(p) - μ) ≤ p, which is (1). (`gaussian_dp` proves it as a case of bounded range.)

**A sum in ε is turned at once.** A release in pure ε is settled to the sum of its steps, and that
sum is turned by (1), though the steps, chosen as answers came, are what a filter adds up. No sum of
their amounts is more: h(ε) = μ(ε)²/2 is convex, h(0) = 0, hence h(a) + h(b) ≤ h(a + b). Proof. With
z = -Φ⁻¹(p), h = 2z² and z' = u(z) = Φ(z)Φ(-z)/φ(z), so h'' = 4u·(zu)'. Here z·u = Φ(z)·zM(z), M
Mills' ratio, and zM(z) = ∫ exp(-s - s²/(2z²)) ds over s > 0; both factors are positive and increase
in z > 0. The same holds for ε²/2.

**Other neighbours.** To replace a record is to remove one and to add one. A step for records added
or removed so costs a population of replaced records 2ε (and (1 + e^ε)δ), 4ρ (group privacy of zCDP,
Bun & Steinke 2016, Proposition 1.9), 2μ (Dong et al., Theorem 2.14), hence four times μ²/2. Pure ε
is doubled before it is turned into another unit, which costs no more: μ(ε) is concave, so μ(2ε) ≤
2μ(ε).
The other way round there is no such factor: a step for replaced records took their number as
public, and may say of it what no ε bounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, get_args

from understudy.errors import LedgerError
from understudy.privacy.accounting import gaussian_dp
from understudy.privacy.accounting.budget import (
    MOST_EPSILON,
    SIGNS,
    UNITS,
    Accounting,
    Neighbours,
    decimal_up,
    mu_of,
)

ACCOUNTINGS: Final[tuple[Accounting, ...]] = get_args(Accounting)
_FINEST = 10**300
"""Denominators up to here are kept as they are; finer numbers are rounded up."""
_AMOUNT = re.compile(r"[0-9]{1,320}(/[1-9][0-9]{0,319})?")
_TINY = Fraction(1, 10**100)


@dataclass(frozen=True)
class Amounts:
    """One cost in every unit; None where it has no finite cost.

    Attributes:
        pure: ε.
        zcdp: ρ.
        gdp: μ²/2.
    """

    pure: Fraction | None = Fraction(0)
    zcdp: Fraction | None = Fraction(0)
    gdp: Fraction | None = Fraction(0)

    def of(self, accounting: Accounting) -> Fraction | None:
        """The cost in one unit."""
        amount: Fraction | None = getattr(self, accounting)
        return amount

    @property
    def mu(self) -> Fraction | None:
        """μ, rounded up."""
        return mu_of(self.gdp) if self.gdp else self.gdp

    def __add__(self, other: Amounts) -> Amounts:
        """Costs add up in every unit (`budget.sequential`); what is infinite stays so."""
        return Amounts(*(_sum(self.of(unit), other.of(unit)) for unit in ACCOUNTINGS))

    def to_json(self) -> dict[str, str | None]:
        """Plain data: decimals rounded up, and μ instead of its amount; None for no finite cost."""
        named = {"epsilon": self.pure, "rho": self.zcdp, "mu": self.mu}
        return {name: None if one is None else decimal_up(one) for name, one in named.items()}


NOTHING = Amounts()


@dataclass(frozen=True)
class Cost:
    """What a release, an answer or a step costs, in the unit that it was kept in.

    Attributes:
        accounting: pure ε, zCDP or Gaussian DP.
        amount: ε, ρ or μ²/2, not below 0; exact, but rounded up where its denominator has more than
            300 digits.
        neighbours: which tables it cannot tell apart.

    Raises:
        LedgerError: no such accounting or neighbours, or no finite amount.

    Example:
        >>> Cost("pure", Fraction(1), "add_remove").amounts.zcdp
        Fraction(1, 2)
    """

    accounting: Accounting
    amount: Fraction
    neighbours: Neighbours

    def __post_init__(self) -> None:
        """Refuse what is no cost; nothing is taken for 0."""
        if self.accounting not in ACCOUNTINGS or self.neighbours not in get_args(Neighbours):
            raise LedgerError(
                f"A cost is kept in {', '.join(ACCOUNTINGS)}, for add_remove or replace; "
                "this one is in none of them."
            )
        object.__setattr__(self, "amount", kept(self.amount))

    def of(self, amount: Fraction) -> Cost:
        """Another amount of the same kind."""
        return replace(self, amount=amount)

    def under(self, neighbours: Neighbours) -> Cost:
        """The same for a population whose neighbours may be others.

        Args:
            neighbours: of the population.

        Raises:
            LedgerError: a cost for replaced records, whose number was public, where records are
                added or removed.
        """
        if self.neighbours == neighbours:
            return self
        if neighbours == "add_remove":
            raise LedgerError(
                "The step protects records that are replaced, and took their number as public; a "
                "population whose records are added or removed cannot count it. Declare rows = "
                '"private" in the schema, or enter it into a population with neighbours "replace".'
            )
        factor = 2 if self.accounting == "pure" else 4
        return Cost(self.accounting, self.amount * factor, neighbours)

    @property
    def amounts(self) -> Amounts:
        """The cost in every unit in which it is finite."""
        if not self.amount:
            return NOTHING
        if self.accounting == "zcdp":
            return Amounts(None, self.amount, None)
        if self.accounting == "gdp":
            return Amounts(None, self.amount, self.amount)
        return Amounts(self.amount, self.amount**2 / 2, gdp_of_pure(self.amount))

    @property
    def words(self) -> str:
        """Sign and amount, rounded up."""
        return f"{SIGNS[UNITS[self.accounting]]} = {decimal_up(self.amount)}"

    def to_json(self) -> dict[str, str]:
        """Plain data; the amount exactly."""
        return {
            "accounting": self.accounting,
            "amount": str(self.amount),
            "neighbours": self.neighbours,
        }

    @classmethod
    def from_json(cls, data: Any) -> Cost:
        """Read back what `to_json` wrote.

        Raises:
            ValueError: plain data that it did not write.
        """
        try:
            cost = cls(data["accounting"], fraction(data["amount"]), data["neighbours"])
        except (LedgerError, KeyError, TypeError):
            raise ValueError("no cost") from None
        if cost.to_json() != data:
            raise ValueError("no cost")
        return cost


def fraction(text: object) -> Fraction:
    """An amount as it was written down.

    Raises:
        ValueError: no whole number or ratio of two, or one of more digits than are written.
    """
    if type(text) is not str or not _AMOUNT.fullmatch(text):
        raise ValueError("no amount")
    number = Fraction(text)
    if str(number) != text:
        raise ValueError("no amount")
    return number


def kept(amount: object) -> Fraction:
    """An amount as it is kept: exact, or rounded up where it is finer than can be written down.

    Raises:
        LedgerError: no fraction, below 0, or above what a budget may be.
    """
    if type(amount) is not Fraction or not 0 <= amount <= MOST_EPSILON:
        raise LedgerError(
            "A cost is a fraction from 0 to 10^15; a step without a finite cost cannot be entered."
        )
    if amount.denominator <= _FINEST:
        return amount
    return Fraction(-(-amount.numerator * _FINEST // amount.denominator), _FINEST)


@lru_cache(maxsize=4096)
def gdp_of_pure(epsilon: Fraction) -> Fraction:
    """μ²/2 of what is ε-DP, rounded up: (1).

    Args:
        epsilon: ε, above 0.
    """
    if epsilon < _TINY:  # where floating point could lose it; μ(ε)²/2 is about 0.79 ε² there
        return kept(epsilon**2)
    return Fraction(gaussian_dp.amount_of_pure(float(epsilon)))


def _sum(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if one is None or other is None else one + other
