"""The paper's points, put to several readings of its mechanism.

The paper has one pMSE mechanism; what it says of it can be asked of the mechanism as published,
with as many sets as one likes, and of one that keeps its promise. A verdict therefore belongs to a
reading, and the count of those that hold is given by reading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from understudy_studies.framework.claim_verdicts import Verdict, comparison
from understudy_studies.framework.result_curves import FEWEST
from understudy_studies.framework.study import RunRecord, TextTable
from understudy_studies.snoke_slavkovic_2018 import methods

PUBLISHED_TEN = f"as published, m = {methods.SETS}"
PUBLISHED_ONE = "as published, m = 1"
STRICT = "strictly private, by column"
OTHERS = "the other methods"


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
        Verdict(f"{one.reading}: {each.claim}", each.measured, each.word)
        for one in found
        for each in one.verdicts
    ]
    counts = "; ".join(one.words for one in found)
    return (f"The paper’s points beside our measurement. {_sentence(counts)}.",), comparison(named)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
