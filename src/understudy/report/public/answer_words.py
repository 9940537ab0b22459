"""What is said of the questions that a release can answer: how many, which, how exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from understudy.report.number_text import shortened

if TYPE_CHECKING:
    from understudy.inference.choice.question_kinds import Answerable

_MOST_NAMES = 6


def many(n: int, total: int, single: str, several: str) -> str:
    """For how many of all there are error bars.

    Args:
        n: with them.
        total: of all.
        single: what they are, "column".
        several: the same for many.
    """
    if not n:
        return f"No {single} has error bars from noisy counts."
    which = f"all {total:,} {several}" if n == total > 1 else f"{n:,} of {total:,} {several}"
    return f"Error bars for {which}."


def named(known: Sequence[str], of: Sequence[str]) -> str:
    """For how many columns there are error bars, and for which, or which not if these are few.

    Args:
        known: names of those with them.
        of: names of all.
    """
    words = many(len(known), len(of), "column", "columns")
    others = [name for name in of if name not in set(known)]
    if not known or not others:
        return words
    if len(others) <= min(len(known), _MOST_NAMES):
        return f"{words} Not: {', '.join(map(shortened, others))}."
    more = f" and {len(known) - _MOST_NAMES:,} more" * (len(known) > _MOST_NAMES)
    return f"{words} These: {', '.join(map(shortened, known[:_MOST_NAMES]))}{more}."


def pairs(n: int, what: str) -> str:
    """For how many pairs of something there are error bars."""
    return f"Error bars for {n:,} {'pair' if n == 1 else 'pairs'} of {what}."


def lost(found: Answerable) -> str:
    """How many are lost in the noise."""
    n = len(found.lost)
    return f" {n:,} {'pair' if n == 1 else 'pairs'} would be lost in the noise." if n else ""


def example(kind: str, columns: tuple[str, ...]) -> str:
    """A command that asks about columns; none where a name would need quoting of its own."""
    plain = columns and all(name.isidentifier() for name in columns)
    return f'understudy analyze release {kind} "{" + ".join(columns)}"' if plain else ""
