"""What each column is drawn given, as a measurement has it: "column<-column & column"."""

from __future__ import annotations

import re
from collections.abc import Sequence


def key_of(text: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """The column and those that it is drawn given; None if the text is no key.

    Names may hold an arrow or an ampersand themselves.

    Args:
        text: of a measurement.
        names: of all columns.

    Example:
        >>> key_of("a & b<-c & d", ("a & b", "c", "d"))
        ('a & b', 'c', 'd')
        >>> key_of("c", ("c",)), key_of("c<-d", ("c",))
        (('c',), None)
    """
    one = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    found = re.fullmatch(f"({one})(?:<-((?:(?:{one}) & )*(?:{one}))?)?", text)
    if found is None:
        return None
    parents: list[str] = []
    rest = found[2] or ""
    while rest:
        first = re.match(f"({one})(?: & (?=(?:(?:{one}) & )*(?:{one})$)|$)", rest)
        assert first is not None  # by the pattern above
        parents.append(first[1])
        rest = rest[first.end() :]
    return (found[1], *parents)
