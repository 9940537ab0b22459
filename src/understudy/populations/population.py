"""A population: whose protection is counted together, under which neighbours, up to which caps."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from understudy.errors import BudgetError, LedgerError, line
from understudy.populations.costs import fraction
from understudy.privacy.accounting.budget import (
    Approximate,
    Budget,
    Neighbours,
    Number,
    decimal_up,
    exact,
)

MOST_LETTERS = 200
MOST_WAVES = 1_000


@dataclass(frozen=True)
class Caps:
    """What all releases of a population may cost together; each may be absent, but not all.

    Attributes:
        pure: ε of pure differential privacy.
        approximate: ε with a δ above 0, and the accounting in which it is kept, for good: two
            filters for one cap would cost δ twice.
        rho: ρ of zCDP.
        mu: μ of Gaussian DP.
    """

    pure: Fraction | None = None
    approximate: Budget | None = None
    rho: Fraction | None = None
    mu: Fraction | None = None

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
    ) -> Caps:
        """Caps from numbers or text.

        Args:
            pure: as in `Caps`.
            epsilon: ε of the approximate cap; pure where δ is 0 or absent.
            delta: its δ.
            rho: as in `Caps`.
            mu: as in `Caps`.
            accounting: of the approximate cap.

        Raises:
            LedgerError: no cap, two pure ones, or δ without ε.
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
            raise LedgerError("A cap with a δ has an ε as well; give both.")
        sizes = {"pure": pure, "rho": rho, "mu": mu}
        if approximate is None and all(size is None for size in sizes.values()):
            raise LedgerError(
                "A population needs a cap, or nothing is ever refused; give an ε, an ε with a δ, "
                "a ρ or a μ."
            )
        amounts = {name: None if one is None else _size(one, name) for name, one in sizes.items()}
        return cls(approximate=approximate, **amounts)

    @property
    def words(self) -> tuple[str, ...]:
        """Each cap in signs."""
        said = [f"ε = {decimal_up(self.pure)}"] if self.pure is not None else []
        if (one := self.approximate) is not None:
            kept_in = "Gaussian DP" if one.approximate == "gdp" else "zCDP"
            size = f"ε = {decimal_up(one.epsilon)} with δ = {decimal_up(one.delta)}"
            said.append(f"{size} (kept in {kept_in})")
        said += [f"ρ = {decimal_up(self.rho)}"] if self.rho is not None else []
        return tuple(said + ([f"μ = {decimal_up(self.mu)}"] if self.mu is not None else []))

    def to_json(self) -> dict[str, Any]:
        """Plain data; numbers exactly, as text."""
        named: dict[str, Any] = {"pure": self.pure, "rho": self.rho, "mu": self.mu}
        found: dict[str, Any] = {k: str(one) for k, one in named.items() if one is not None}
        if (one := self.approximate) is not None:
            parts = {"epsilon": str(one.epsilon), "delta": str(one.delta)}
            found["approximate"] = parts | {"accounting": one.approximate}
        return found


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
            found = cls(**{**data, "caps": Caps.of(**sizes)})
        except (LedgerError, BudgetError, KeyError, TypeError, ValueError):
            raise ValueError("no population") from None
        if found.to_json() != data:
            raise ValueError("no population")
        return found


def _arguments(caps: Caps) -> dict[str, Any]:
    one = caps.approximate
    more = {} if one is None else {"epsilon": one.epsilon, "delta": one.delta}
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
    """What two names have in common that people would take for one another.

    Example:
        >>> likeness("Adults 2024") == likeness("ａdults-2024"), likeness("adults")
        (True, 'adults')
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(letter for letter in folded if letter.isalnum())


_SAME_LOOK = (("rn", "m"), ("vv", "w"), ("0", "o"), ("1", "l"), ("i", "l"), ("5", "s"))
"""Small letters and digits that look alike; capitals have become small ones by then."""


def taken_for(new: str, known: str) -> bool:
    """Whether people could take one name for another that is entered already.

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
    """What is seen of a name at a glance: letters without accents, as the first that look alike."""
    bare = unicodedata.normalize("NFKD", likeness(name))
    seen = "".join(letter for letter in bare if not unicodedata.combining(letter))
    for letters, like in _SAME_LOOK:
        seen = seen.replace(letters, like)
    return seen
