"""Why a point of a paper does not hold here: one of five causes, in words.

A cause names what shows it: a table of the same page, or a command.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["reading", "contradiction", "wording", "difference", "repetitions"]

BEGINNINGS: dict[Kind, str] = {
    "reading": "Our reading of a setting that is lost or not stated",
    "contradiction": "The paper contradicts itself",
    "wording": "The paper’s wording",
    "difference": "A real difference",
    "repetitions": "Not enough repetitions",
}


@dataclass(frozen=True)
class Cause:
    """Why a point does not hold.

    Attributes:
        kind: which of the five causes.
        words: a sentence that says what exactly, and what shows it.
    """

    kind: Kind
    words: str

    @property
    def sentence(self) -> str:
        """The cause in full.

        Example:
            >>> Cause("wording", "It says “all” of four of five.").sentence
            'The paper’s wording: It says “all” of four of five.'
        """
        return f"{BEGINNINGS[self.kind]}: {self.words}"


def reading(words: str) -> Cause:
    """A setting that the paper does not state, or that is lost; the words say what others give."""
    return Cause("reading", words)


def contradiction(words: str) -> Cause:
    """Text, formula or table of the paper that contradict each other; the words say where."""
    return Cause("contradiction", words)


def wording(words: str) -> Cause:
    """A point that is put more strongly, or more loosely, than what the paper itself shows."""
    return Cause("wording", words)


def difference(words: str) -> Cause:
    """A real difference under the paper's own conditions; the words say what shows it."""
    return Cause("difference", words)


def not_enough(repetitions: int, needed: float, why: Cause | None = None) -> Cause:
    """Chance alone could turn the verdict.

    Args:
        repetitions: how many there were.
        needed: how many would tell; infinite if none would.
        why: the cause if chance is not it.
    """
    number = f"{math.ceil(needed):,}" if needed < 1e6 else "over a million"
    after = "" if why is None else f" Should it stay: {why.sentence}"
    return Cause(
        "repetitions", f"of {repetitions:,} here; about {number} would tell every case.{after}"
    )
