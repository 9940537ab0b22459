"""What is said of the questions that a release can answer: how many, which, how exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from understudy.report.number_text import shortened

if TYPE_CHECKING:
    from understudy.inference.answered_questions import Answered
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


def pairs(asked: Answered, what: str) -> str:
    """How many pairs of something have error bars, of those that were asked about.

    Args:
        asked: what came of it.
        what: they are pairs of, "columns".
    """
    n, refused = len(asked.answered), len(asked.refused)
    if asked.is_complete:
        said = f"Error bars for {n:,} {'pair' if n == 1 else 'pairs'} of {what}."
        return said + f" {refused:,} more {'is' if refused == 1 else 'are'} refused." * bool(
            refused
        )
    possible = len(asked.kind.found.widths) + refused
    return (
        f"Error bars for {n:,} of {asked.asked:,} pairs of {what} that were asked about, out of "
        f"{possible:,} whose noise allows them."
    )


def lost(found: Answerable) -> str:
    """How many are lost in the noise."""
    n = len(found.lost)
    return f" {n:,} {'pair' if n == 1 else 'pairs'} would be lost in the noise." if n else ""
