"""Names, labels and texts within the limits of a format; nothing is ever cut without a sign."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SIGN = "…"
_FOREIGN = re.compile(r"\W")  # what is neither letter, digit nor underscore, in any script


@dataclass(frozen=True)
class NameRules:
    """What a format allows as the name of a variable.

    Attributes:
        longest: bytes in UTF-8.
        reserved: words that it does not take, in small letters.
    """

    longest: int
    reserved: frozenset[str]


def adapted(names: Iterable[str], rules: NameRules) -> dict[str, str]:
    """A name for each name that the format takes, no two alike in small letters.

    Names that it takes as they are stay; in others whatever is no letter, digit or underscore
    becomes an underscore, and those that would be alike are numbered.

    Example:
        >>> rules = NameRules(8, frozenset({"all"}))
        >>> adapted(["age", "net income", "net_inco", "1st", "all"], rules).values()
        dict_values(['age', 'net_in_2', 'net_inco', 'v1st', 'vall'])
    """
    names = list(names)
    found: dict[str, str] = {}
    taken: set[str] = set()
    fitting = [name for name in names if _fitting(name, rules) == name]
    for name in [*fitting, *(name for name in names if name not in fitting)]:
        new, number = _fitting(name, rules), 1
        while new.casefold() in taken:
            number += 1
            ending = f"_{number}"
            new = shortened(_fitting(name, rules), rules.longest - len(ending), sign="") + ending
        found[name] = new
        taken.add(new.casefold())
    return {name: found[name] for name in names}


def _fitting(name: str, rules: NameRules) -> str:
    plain = _FOREIGN.sub("_", name)
    if not plain[:1].isalpha() or plain.casefold() in rules.reserved:
        plain = f"v{plain}"
    plain = shortened(plain, rules.longest, sign="")
    return plain.rstrip("_") or plain if plain.endswith("_") else plain


def shortened(text: str, longest: int, *, sign: str = _SIGN, in_bytes: bool = True) -> str:
    """A text of at most so many bytes in UTF-8, or characters, with a sign where it was cut.

    Example:
        >>> shortened("übergroß", 6), shortened("übergroß", 6, in_bytes=False), shortened("ab", 6)
        ('üb…', 'überg…', 'ab')
    """
    if len(text.encode() if in_bytes else text) <= longest:
        return text
    if not in_bytes:
        return text[: longest - len(sign)].rstrip() + sign
    kept = text.encode()[: longest - len(sign.encode())]
    return kept.decode(errors="ignore").rstrip() + sign
