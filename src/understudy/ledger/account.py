"""The account of a population: spent, reserved, and whether one more cost keeps every cap.

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

**Selections with δ.** The best of several tries has an ε and a δ and no amount in any other unit
(`mechanisms.private_selection`), and such costs add up as they are. A population may allot them an
ε_s and a δ_s beside its cap (ε, δ). Both are settled from the start: a selection fits if the ε of
all selections sum to at most ε_s and their δ to at most δ_s; any other cost fits as above. What is
released together is (ε + ε_s, δ + δ_s)-DP, in whatever order and however answers decide what is
asked next. Proof. Let P_i and Q_i be the laws of the i-th selection, given all that came before. As
it is (ε_i, δ_i)-DP, A_i = min(P_i, e^ε_i Q_i) lacks at most δ_i of the mass of P_i, and A_i ≤ e^ε_i
Q_i. Let P_A be the law of all that is released on the first table with A_i for each P_i; what is
lacking stops the whole. Each stop has at most the mass δ_i, given what came before, and these sum
to at most δ_s on every path, so P(S) ≤ P_A(S) + δ_s for every event S. Let H be P_A with laws of
the second table in all steps but selections. In P_A and H selections are the same chance, which
an analyst could have drawn alone: no data are in it. So P_A(S) ≤ e^ε H(S) + δ by what was shown
above. And H ≤ e^ε_s Q, as each path has the factors e^ε_i alone. Together P(S) ≤ e^(ε + ε_s) Q(S) +
δ + δ_s. ∎

The two parts must not lend to each other. An analyst who may choose, after looking at noise, to
give ε that is left to selections or δ that is left to Gaussian steps, gets two chances at one δ.

Totals in other units are what the costs sum to. Where prices depended on answers, it is the caps
that are promised in advance.

**What a release costs a population: in one unit as it was kept, and in every unit that follows.**

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

**A population: whose protection is counted together, under which neighbours, up to which caps.**
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, get_args

from understudy.dp import gaussian_dp
from understudy.dp.budget import (
    MOST_EPSILON,
    SIGNS,
    UNITS,
    Accounting,
    Approximate,
    Budget,
    Neighbours,
    Number,
    decimal_down,
    decimal_up,
    epsilon_of,
    exact,
    gdp_epsilon_of,
    mu_of,
)
from understudy.errors import BudgetError, LedgerError, line

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
        selected: ε of selections with δ, which are counted in none of the others.
        delta: their δ.
    """

    pure: Fraction | None = Fraction(0)
    zcdp: Fraction | None = Fraction(0)
    gdp: Fraction | None = Fraction(0)
    selected: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

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
        return Amounts(
            **{unit: _sum(self.of(unit), other.of(unit)) for unit in ACCOUNTINGS},
            selected=self.selected + other.selected,
            delta=self.delta + other.delta,
        )

    def to_json(self) -> dict[str, str | None]:
        """Plain data: decimals rounded up, and μ instead of its amount; None for no finite cost."""
        named = {"epsilon": self.pure, "rho": self.zcdp, "mu": self.mu}
        if self.selected:
            named |= {"selected_epsilon": self.selected, "selected_delta": self.delta}
        return {name: None if one is None else decimal_up(one) for name, one in named.items()}


NOTHING = Amounts()


@dataclass(frozen=True)
class Cost:
    """The cost of a release, an answer or a step, in the unit that it was kept in.

    Attributes:
        accounting: pure ε, zCDP or Gaussian DP.
        amount: ε, ρ or μ²/2, not below 0; exact, but rounded up where its denominator has more than
            300 digits.
        neighbours: which tables it cannot tell apart.
        delta: δ of a selection, whose amount is its ε; 0 for all that adds up in its unit.

    Raises:
        LedgerError: no such accounting or neighbours, no finite amount, or no such δ.

    Example:
        >>> Cost("pure", Fraction(1), "add_remove").amounts.zcdp
        Fraction(1, 2)
    """

    accounting: Accounting
    amount: Fraction
    neighbours: Neighbours
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse what is no cost; nothing is taken for 0."""
        if self.accounting not in ACCOUNTINGS or self.neighbours not in get_args(Neighbours):
            raise LedgerError(
                f"A cost is kept in {', '.join(ACCOUNTINGS)}, for add_remove or replace; "
                "this one is in none of them."
            )
        object.__setattr__(self, "amount", round_cost(self.amount))
        object.__setattr__(self, "delta", round_cost(self.delta))
        if self.delta >= 1 or (self.delta and self.accounting != "pure"):
            raise LedgerError("A δ is one of a selection, with its ε, and below 1.")

    def of(self, amount: Fraction) -> Cost:
        """Another amount of the same kind; a selection keeps its δ."""
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
        delta = self.delta and _delta_of_two(self.amount, self.delta)
        return Cost(self.accounting, self.amount * factor, neighbours, delta)

    @property
    def amounts(self) -> Amounts:
        """The cost in every unit in which it is finite."""
        if not self.amount:
            return NOTHING
        if self.delta:
            return Amounts(selected=self.amount, delta=self.delta)
        if self.accounting == "zcdp":
            return Amounts(None, self.amount, None)
        if self.accounting == "gdp":
            return Amounts(None, self.amount, self.amount)
        return Amounts(self.amount, self.amount**2 / 2, gdp_of_pure(self.amount))

    @property
    def words(self) -> str:
        """Sign and amount, rounded up."""
        size = f"{SIGNS[UNITS[self.accounting]]} = {decimal_up(self.amount)}"
        return f"{size} with δ = {decimal_up(self.delta)}" if self.delta else size

    def to_json(self) -> dict[str, str]:
        """Plain data; the amount exactly."""
        return {
            "accounting": self.accounting,
            "amount": str(self.amount),
            "neighbours": self.neighbours,
            **({"delta": str(self.delta)} if self.delta else {}),
        }

    @classmethod
    def from_json(cls, data: Any) -> Cost:
        """Read back what `to_json` wrote.

        Raises:
            ValueError: plain data that it did not write.
        """
        try:
            delta = fraction(data.get("delta", "0"))
            cost = cls(data["accounting"], fraction(data["amount"]), data["neighbours"], delta)
        except (LedgerError, KeyError, TypeError, AttributeError):
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


def round_cost(amount: object) -> Fraction:
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
        return round_cost(epsilon**2)
    return Fraction(gaussian_dp.amount_of_pure(float(epsilon)))


def _delta_of_two(epsilon: Fraction, delta: Fraction) -> Fraction:
    """δ of what is (ε, δ)-DP for two steps from one table to another, rounded up: (1 + e^ε)δ.

    Raises:
        LedgerError: it says nothing any more.
    """
    if epsilon < _MOST_EXPONENT:
        grown = Fraction(math.exp(float(epsilon))) * (1 + Fraction(1, 10**9))
        if (found := round_cost((1 + grown) * delta)) < 1:
            return found
    raise LedgerError(
        "For replaced records the δ of this selection would be 1 or more, which promises nothing; "
        "take a smaller ε or δ."
    )


_MOST_EXPONENT: Final = 700


def _sum(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if one is None or other is None else one + other


MOST_LETTERS = 200
MOST_WAVES = 1_000


@dataclass(frozen=True)
class Caps:
    """Caps on what all releases of a population cost together; each may be absent, but not all.

    Attributes:
        pure: ε of pure differential privacy.
        approximate: ε with a δ above 0, and the accounting in which it is kept, for good: two
            filters for one cap would cost δ twice.
        rho: ρ of zCDP.
        mu: μ of Gaussian DP.
        selection: ε and δ of all selections with δ, beside `approximate`; None for none of them.
    """

    pure: Fraction | None = None
    approximate: Budget | None = None
    rho: Fraction | None = None
    mu: Fraction | None = None
    selection: Budget | None = None

    @classmethod
    def of(
        cls,
        *,
        pure: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        accounting: Approximate = "gdp",
        selection_epsilon: Number | None = None,
        selection_delta: Number | None = None,
    ) -> Caps:
        """Caps from numbers or text.

        Args:
            pure: as in `Caps`.
            epsilon: ε of the approximate cap; pure where δ is 0 or absent.
            delta: its δ.
            rho: as in `Caps`.
            mu: as in `Caps`.
            accounting: of the approximate cap.
            selection_epsilon: ε of all selections with δ, beside the approximate cap.
            selection_delta: their δ.

        Raises:
            LedgerError: no cap, two pure ones, δ without ε, or a part for selections that is not
                one of ε and δ beside an approximate cap alone.
            BudgetError: not a number, or out of its range.
        """
        if accounting not in get_args(Approximate):
            raise LedgerError("A cap with a δ is kept in gdp or in zcdp; name one of the two.")
        approximate = None
        if epsilon is not None:
            stated = Budget.of(epsilon, 0 if delta is None else delta, accounting)
            if stated.delta:
                approximate = stated
            elif pure is None:
                pure = stated.epsilon
            else:
                raise LedgerError("There are two caps in pure ε; give one, or a δ to the other.")
        elif delta is not None:
            raise LedgerError("A cap with a δ needs an ε too; give both.")
        sizes = {"pure": pure, "rho": rho, "mu": mu}
        if approximate is None and all(size is None for size in sizes.values()):
            raise LedgerError(
                "A population needs a cap, or nothing is ever refused; give an ε, an ε with a δ, "
                "a ρ or a μ."
            )
        amounts = {name: None if one is None else _size(one, name) for name, one in sizes.items()}
        selection = _selection(selection_epsilon, selection_delta)
        alone = approximate is not None and all(size is None for size in sizes.values())
        if selection is not None and not alone:
            raise LedgerError(
                "Selections with δ have a part beside a cap of ε and δ, and no cap in pure ε, ρ or "
                "μ holds for them; give an ε with a δ, and no other cap."
            )
        return cls(approximate=approximate, selection=selection, **amounts)

    @property
    def words(self) -> tuple[str, ...]:
        """Each cap in signs."""
        said = [f"ε = {decimal_up(self.pure)}"] if self.pure is not None else []
        if (one := self.approximate) is not None:
            kept_in = "Gaussian DP" if one.approximate == "gdp" else "zCDP"
            size = f"ε = {decimal_up(one.epsilon)} with δ = {decimal_up(one.delta)}"
            said.append(f"{size} (kept in {kept_in})")
        said += [f"ρ = {decimal_up(self.rho)}"] if self.rho is not None else []
        said += [f"μ = {decimal_up(self.mu)}"] if self.mu is not None else []
        if (one := self.selection) is not None:
            size = f"ε = {decimal_up(one.epsilon)} with δ = {decimal_up(one.delta)}"
            said.append(f"{size} for selections (added to the former)")
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        """Plain data; numbers exactly, as text."""
        named: dict[str, Any] = {"pure": self.pure, "rho": self.rho, "mu": self.mu}
        found: dict[str, Any] = {k: str(one) for k, one in named.items() if one is not None}
        if (one := self.approximate) is not None:
            parts = {"epsilon": str(one.epsilon), "delta": str(one.delta)}
            found["approximate"] = parts | {"accounting": one.approximate}
        if (one := self.selection) is not None:
            found["selection"] = {"epsilon": str(one.epsilon), "delta": str(one.delta)}
        return found


def _selection(epsilon: Number | None, delta: Number | None) -> Budget | None:
    """The part of selections; None for none."""
    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None or not (stated := Budget.of(epsilon, delta)).delta:
        raise LedgerError("The part of selections is an ε with a δ above 0; give both.")
    return stated


def _size(number: Number, name: str) -> Fraction:
    return fraction(str(Budget.of(exact(number, name)).epsilon))


@dataclass(frozen=True)
class Population:
    """Whose releases are counted together.

    Attributes:
        name: by which it is asked for; text that is shown as it is, in Unicode's composed form.
        unit: whom one row stands for, in words.
        governor: who decides about its caps.
        neighbours: which tables no release may tell apart.
        caps: what all its releases may cost together.
        waves: for how many waves of releases they are; with the k-th open, all may cost k/waves of
            each cap.

    Raises:
        LedgerError: a text that is empty, too long or not shown as it is, or no such neighbours.

    Example:
        >>> Population("adults", "adult", "census office", "add_remove", Caps.of(rho=1)).caps.words
        ('ρ = 1',)
    """

    name: str
    unit: str
    governor: str
    neighbours: Neighbours
    caps: Caps
    waves: int = 1

    def __post_init__(self) -> None:
        """Refuse what no one could ask for again, or read."""
        object.__setattr__(self, "name", plain_text("The name of a population", self.name))
        object.__setattr__(self, "unit", plain_text("The unit of a population", self.unit))
        object.__setattr__(self, "governor", plain_text("The governor", self.governor))
        if self.neighbours not in get_args(Neighbours):
            raise LedgerError(
                "The neighbours of a population are add_remove or replace; name one of the two."
            )
        if type(self.waves) is not int or not 1 <= self.waves <= MOST_WAVES:
            raise LedgerError(f"The number of waves is a whole number from 1 to {MOST_WAVES}.")
        Caps.of(**_arguments(self.caps))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "caps": self.caps.to_json()}

    @classmethod
    def from_json(cls, data: Any) -> Population:
        """Read back what `to_json` wrote.

        Raises:
            ValueError: plain data that it did not write.
        """
        try:
            sizes = dict(data["caps"])
            sizes |= sizes.pop("approximate", {})
            own = sizes.pop("selection", {})
            sizes |= {f"selection_{name}": own[name] for name in own}
            found = cls(**{**data, "caps": Caps.of(**sizes)})
        except (LedgerError, BudgetError, KeyError, TypeError, ValueError):
            raise ValueError("no population") from None
        if found.to_json() != data:
            raise ValueError("no population")
        return found


def _arguments(caps: Caps) -> dict[str, Any]:
    one = caps.approximate
    more = {} if one is None else {"epsilon": one.epsilon, "delta": one.delta}
    if (own := caps.selection) is not None:
        more |= {"selection_epsilon": own.epsilon, "selection_delta": own.delta}
    accounting = "gdp" if one is None else one.approximate
    return {"pure": caps.pure, "rho": caps.rho, "mu": caps.mu, "accounting": accounting} | more


def plain_text(name: str, text: object, *, least: int = 1) -> str:
    """A text that is shown as it is: one line, nothing hidden, composed.

    Args:
        name: of the argument, to begin a sentence.
        text: what came.
        least: fewest letters.

    Raises:
        LedgerError: another type, hidden or odd characters, or too few or too many letters.
    """
    if type(text) is not str:
        raise LedgerError(f"{name} must be text, and not of a type of its own.")
    composed = unicodedata.normalize("NFC", text)
    odd = any(unicodedata.category(letter) in {"Cc", "Cf", "Co", "Cs"} for letter in composed)
    if odd or line(composed) != composed or composed != " ".join(composed.split()):
        raise LedgerError(
            f"{name} holds a character that is not seen, or a space too many; type it again."
        )
    if not least <= len(composed) <= MOST_LETTERS:
        raise LedgerError(f"{name} needs {least} to {MOST_LETTERS} letters.")
    return composed


def likeness(name: str) -> str:
    """Return what two names have in common that people would take for one another.

    Example:
        >>> likeness("Adults 2024") == likeness("ａdults-2024"), likeness("adults")
        (True, 'adults')
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(letter for letter in folded if letter.isalnum())


_SAME_LOOK = (("rn", "m"), ("vv", "w"), ("0", "o"), ("1", "l"), ("i", "l"), ("5", "s"))
"""Small letters and digits that look alike; capitals have become small ones by then."""


def taken_for(new: str, known: str) -> bool:
    """Return whether people could take one name for another that is entered already.

    Letters beyond ASCII, which older ledgers may have, can look like any letter.

    Args:
        new: of ASCII alone.
        known: any name.

    Example:
        >>> taken_for("adu1ts", "adults"), taken_for("adults", "\u0430dults"), taken_for("a", "b")
        (True, True, False)
    """
    if likeness(new) == likeness(known):
        return True
    pattern = "".join(re.escape(c) if c.isascii() else ".{1,3}" for c in _look(known))
    return re.fullmatch(pattern, _look(new)) is not None


def require_plain_letters(name: str) -> None:
    """Refuse a new name that is not of ASCII alone: many letters elsewhere look like one of it.

    Raises:
        LedgerError: there is another letter.
    """
    if not name.isascii() or not any(map(str.isalnum, name)):
        raise LedgerError(
            f"The name {name!r} of a new population needs letters from a to z or digits, and no "
            "letters beyond ASCII, which can look like others; spell it with plain letters."
        )


def _look(name: str) -> str:
    """Return a name as seen at a glance: letters without accents, as the first that look alike."""
    bare = unicodedata.normalize("NFKD", likeness(name))
    seen = "".join(letter for letter in bare if not unicodedata.combining(letter))
    for letters, like in _SAME_LOOK:
        seen = seen.replace(letters, like)
    return seen


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
        self._selected, self._delta = Fraction(0), Fraction(0)

    def add(self, amounts: Amounts, sign: int = 1) -> None:
        """Add a cost, or take it back with sign -1."""
        for unit in ACCOUNTINGS:
            amount = amounts.of(unit)
            if amount is None:
                self._without[unit] += sign
            else:
                self._sums[unit] += sign * amount
        self._selected += sign * amounts.selected
        self._delta += sign * amounts.delta

    @property
    def amounts(self) -> Amounts:
        """The sum; None in a unit where a cost is not finite."""
        units = {u: None if self._without[u] else self._sums[u] for u in ACCOUNTINGS}
        return Amounts(**units, selected=self._selected, delta=self._delta)


@dataclass(frozen=True)
class CapShares:
    """The part of one cap that is taken; None where what takes it has no finite cost there.

    Attributes:
        words: the cap in signs.
        spent: share that is spent, of 1.
        reserved: share of runs that are open.
        planned: share that a plan would take.
    """

    words: str
    spent: float | None
    reserved: float | None
    planned: float | None


@dataclass(frozen=True)
class Totals:
    """The costs of a population so far.

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
        """ε of all that is spent and reserved, at `delta`; None without such a cap."""
        cap = self.population.caps.approximate
        counted = self.spent + self.reserved
        if cap is None:
            return None
        amount, kept_in_gdp = counted.of(cap.accounting), cap.accounting == "gdp"
        ways = [] if counted.pure is None else [counted.pure]
        if amount:
            ways.append((gdp_epsilon_of if kept_in_gdp else epsilon_of)(amount, cap.delta))
        return min(ways) + counted.selected if ways else None

    @property
    def delta(self) -> Fraction | None:
        """δ of the cap and of all selections that are spent or reserved; None without a cap."""
        cap, counted = self.population.caps.approximate, self.spent + self.reserved
        return None if cap is None else cap.delta + counted.delta

    def shares(self, planned: Cost | None = None) -> tuple[CapShares, ...]:
        """Shares of each cap, for all waves, in the order of `Caps.words`.

        Args:
            planned: what a plan would cost; None for nothing.

        Raises:
            LedgerError: this population cannot count such a cost.
        """
        caps = self.population.caps
        sizes: list[tuple[Accounting, Fraction]] = []
        sizes += [("pure", caps.pure)] if caps.pure is not None else []
        if (one := caps.approximate) is not None:
            sizes.append((one.accounting, one.amount))
        sizes += [("zcdp", caps.rho)] if caps.rho is not None else []
        sizes += [("gdp", caps.mu**2 / 2)] if caps.mu is not None else []
        more = planned and planned.under(self.population.neighbours).amounts
        parts = (self.spent, self.reserved, more or Amounts())
        found = [tuple(_share(part.of(unit), size) for part in parts) for unit, size in sizes]
        if (own := caps.selection) is not None:
            pairs = [(part.selected / own.epsilon, part.delta / own.delta) for part in parts]
            found.append(tuple(float(max(pair)) for pair in pairs))
        pairs_of_words = zip(caps.words, found, strict=True)
        return tuple(CapShares(words, *shares) for words, shares in pairs_of_words)

    def to_json(self) -> dict[str, Any]:
        """Plain data; decimals rounded up, None where a cost is not finite."""
        parts = {"spent": self.spent, "reserved": self.reserved, "internal": self.internal}
        return {
            "population": self.population.to_json(),
            **{name: amounts.to_json() for name, amounts in parts.items()},
            "epsilon_at_delta": None if self.epsilon is None else decimal_up(self.epsilon),
            **({"delta": decimal_up(self.delta)} if self.delta is not None else {}),
            "open": list(self.open),
            "wave": self.wave,
        }


def _share(amount: Fraction | None, size: Fraction) -> float | None:
    return None if amount is None else float(amount / size)


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
        """Compute what it costs to publish an internal use, if that fits below every cap.

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
        """Sum what was counted so far."""
        return Totals(
            self.population,
            self._spent.amounts,
            self._reserved.amounts,
            self._internal.amounts,
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
        if asked.selected:
            self._require_selection(before, asked)

    def _require_selection(self, before: Amounts, asked: Amounts) -> None:
        """Refuse a selection that does not fit in the part of selections."""
        part, name = self.population.caps.selection, self.population.name
        size = f"ε = {decimal_up(asked.selected)} with δ = {decimal_up(asked.delta)}"
        if part is None:
            raise LedgerError(
                f"The population {name!r} has no part for selections with δ, and {size} adds up in "
                "no other unit. Choose without δ, or have a population that is declared with a "
                "part for them (--selection-epsilon, --selection-delta). Nothing was entered."
            )
        now, left = Fraction(self.wave, self.population.waves), []
        for most, used in ((part.epsilon, before.selected), (part.delta, before.delta)):
            left.append(max(most * now - used, Fraction(0)))
        if asked.selected > left[0] or asked.delta > left[1]:
            raise LedgerError(
                f"The population {name!r} has the part {self.population.caps.words[-1]}"
                f"{self._by_now}. Only ε = {decimal_down(left[0])} with δ = "
                f"{decimal_down(left[1])} is left, open reservations counted whole, and {size} was "
                "asked; nothing was entered. Ask for less, or void what will not be made."
            )

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
        return zip(caps.words, now, strict=False)  # the part of selections comes last

    @property
    def _by_now(self) -> str:
        """Open waves in words; "" where there is one."""
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
                f"The population {name!r} has the cap {words}, and nothing of it is left: earlier "
                f"releases have no finite cost in {_KEPT_IN[unit]}. Nothing was entered."
            )
        raise LedgerError(
            f"The population {name!r} has the cap {words}. Only {sign} = "
            f"{decimal_down(max(most - used, Fraction(0)))} is left, open reservations counted "
            f"whole, and {sign} = {decimal_up(more)} was asked; nothing was entered. Ask for less, "
            "or void what will not be made."
        )

    def _amounts(self, cost: Cost) -> Amounts:
        return cost.under(self.population.neighbours).amounts if cost.amount else NOTHING


def _fits(total: Amounts, unit: Accounting, limit: Fraction) -> bool:
    amount = total.of(unit)
    return amount is not None and amount <= limit
