"""The paper's points, put to several readings of its mechanism.

The paper has one pMSE mechanism; what it says of it can be asked of the mechanism as published, and
of one that keeps its promise. A verdict therefore belongs to a reading, and the count of those that
hold is given by reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy._arrays import Flags, Floats
from understudy_studies.framework.claim_verdicts import (
    Verdict,
    comparison,
    disagreements,
    judged_by_margins,
)
from understudy_studies.framework.result_curves import FEWEST
from understudy_studies.framework.study import RunRecord, TextTable
from understudy_studies.framework.verdict_causes import Cause
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.limits import LEAST_EFFECTIVE
from understudy_studies.snoke_slavkovic_2018.proposals import CANDIDATES

PUBLISHED = f"as published, m = {methods.SETS}"
STRICT = "strictly private, by column"
OTHERS = "the other methods"


@dataclass(frozen=True)
class Measured:
    """Numbers with their standard errors, case by case.

    Attributes:
        values: shape (...).
        errors: of the same shape.
        usable: the fewest repetitions of a case.
        effective: the fewest effective candidates of a case; infinite where there are none.
    """

    values: Floats
    errors: Floats
    usable: float
    effective: float = math.inf

    def over(self, other: Measured) -> Measured:
        """The ratio, of independent samples."""
        ratio = self.values / other.values
        spread = np.hypot(self.errors / self.values, other.errors / other.values)
        return self._with(ratio, np.abs(ratio) * spread, other)

    def minus(self, other: Measured) -> Measured:
        """The difference, of independent samples."""
        return self._with(self.values - other.values, np.hypot(self.errors, other.errors), other)

    def at(self, places: Flags | Sequence[int] | slice) -> Measured:
        """Some of the cases, as an index picks them."""
        return replace(self, values=self.values[places], errors=self.errors[places])

    def logarithms(self) -> Measured:
        """Of the numbers."""
        return replace(self, values=np.log(self.values), errors=self.errors / np.abs(self.values))

    def at_most(self, bound: float) -> Measured:
        """By how much each number stays below a bound."""
        return replace(self, values=bound - self.values)

    def at_least(self, bound: float) -> Measured:
        """By how much each number is above a bound."""
        return replace(self, values=self.values - bound)

    def within(self, factor: float) -> Measured:
        """By how much each number is between 1/factor and the factor, in logarithms."""
        found = self.logarithms()
        return replace(found, values=math.log(factor) - np.abs(found.values))

    def beside(self, other: Measured) -> Measured:
        """The cases of both."""
        values, errors = (
            np.concatenate([np.ravel(one), np.ravel(two)])
            for one, two in ((self.values, other.values), (self.errors, other.errors))
        )
        return self._with(values, errors, other)

    def _with(self, values: Floats, errors: Floats, other: Measured) -> Measured:
        usable = min(self.usable, other.usable)
        return Measured(values, errors, usable, min(self.effective, other.effective))


def of_margins(
    claim: str, measured: str, margins: Measured, *, why: Cause | None = None
) -> Verdict:
    """The verdict on a point whose cases hold if their margins are not negative.

    A point of fewer than `FEWEST` repetitions a case, or of fewer than `LEAST_EFFECTIVE` effective
    candidates, is not judged: its cause is how many would be enough.

    Args:
        claim: what the paper says, in our words.
        measured: what we found.
        margins: of all cases.
        why: the cause, should it not hold in nearly all of them.
    """
    if margins.usable < FEWEST:
        words = f"of {margins.usable:.0f} a case here; {FEWEST} are needed."
        return Verdict(claim, f"{measured}; not judged", "not", Cause("repetitions", words))
    if margins.effective < LEAST_EFFECTIVE:
        needed = math.ceil(CANDIDATES * LEAST_EFFECTIVE / margins.effective)
        words = (
            f"the law of the mechanism rests on {margins.effective:.0f} effective candidates of "
            f"{CANDIDATES:,} in its worst case; {LEAST_EFFECTIVE} are needed, of about {needed:,}."
        )
        return Verdict(claim, f"{measured}; not judged", "not", Cause("repetitions", words))
    pairs = list(
        zip(np.ravel(margins.values).tolist(), np.ravel(margins.errors).tolist(), strict=True)
    )
    return judged_by_margins(claim, measured, pairs, repetitions=int(margins.usable), why=why)


@dataclass(frozen=True)
class Read:
    """Verdicts on one reading.

    Attributes:
        reading: its name.
        verdicts: on the paper's points.
    """

    reading: str
    verdicts: tuple[Verdict, ...]

    @property
    def words(self) -> str:
        """How many points agree.

        Example:
            >>> Read("a", (Verdict("c", "m", "agrees"), Verdict("c", "m", "not"))).words
            'a: 1 of 2 agree, 0 in part, 1 not'
        """
        found = [
            sum(verdict.word == word for verdict in self.verdicts) for word in ("partly", "not")
        ]
        agree = f"{len(self.verdicts) - sum(found)} of {len(self.verdicts)} agree"
        return f"{self.reading}: {agree}, {found[0]} in part, {found[1]} not"


def told(
    points: Callable[[], Sequence[Read]], run_record: RunRecord
) -> tuple[tuple[str, ...], TextTable | None]:
    """How many points hold, by reading, and the table of all; nothing of too few repetitions."""
    if run_record.repetitions[0] < FEWEST:
        return (f"With fewer than {FEWEST} repetitions nothing is said about the paper.",), None
    with np.errstate(divide="ignore", invalid="ignore"):
        found = tuple(points())
    named = [
        replace(each, claim=f"{one.reading}: {each.claim}")
        for one in found
        for each in one.verdicts
    ]
    counts = "; ".join(one.words for one in found)
    words = f"The paper’s points beside our measurement. {_sentence(counts)}."
    return (words, *disagreements(named)), comparison(named)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
