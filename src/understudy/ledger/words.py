"""Entries of a population ledger in words: who did what, and what it spent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, Final

from understudy.dp.budget import decimal_up
from understudy.ledger.account import Cost
from understudy.ledger.entries import Row

_DIGEST: Final = 12
"""Digits of a digest that are shown."""


@dataclass(frozen=True)
class Told:
    """One entry, or charges of one reservation that follow each other.

    Attributes:
        numbers: of the entries.
        time: of the last, in UTC; "" where that is not known.
        population: its name.
        entry: its kind, or how many charges.
        about: what it says besides.
        by: who did it; "" if nobody said.
    """

    numbers: str
    time: str
    population: str
    entry: str
    about: str
    by: str


def told(rows: Sequence[Row]) -> Iterator[Told]:
    """Tell of entries, in their order.

    Args:
        rows: as they are stored.
    """
    for (kind, _), group in groupby(rows, key=_run):
        *first, last = group
        said: dict[str, Any] = json.loads(last.public)
        yield Told(
            numbers=f"{first[0].number}–{last.number}" if first else str(last.number),
            time=last.time.replace("T", " ").rstrip("Z"),
            population=last.population,
            entry=f"{len(first) + 1} charges" if first else kind,
            about=_words(said),
            by=said["by"],
        )


def _run(row: Row) -> tuple[str, int]:
    """Charges of one reservation go together; every other entry stands alone."""
    if row.kind != "charge":
        return row.kind, row.number
    return row.kind, json.loads(row.public)["reservation"]


def _words(said: dict[str, Any]) -> str:
    """Describe what an entry says besides."""
    parts = [f"of {said[name]}" for name in ("reservation", "internal") if name in said]
    parts += [said["what"]] if "what" in said else []
    if cost := said.get("cost"):
        parts.append(Cost.from_json(cost).words)
    parts += [f"spent {decimal_up(Fraction(said['spent']))}"] if "spent" in said else []
    parts += [f"{name} {said[name][:_DIGEST]}" for name in ("request", "release") if said.get(name)]
    return ", ".join(parts)
