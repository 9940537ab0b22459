"""Points of the paper beside what was measured.

A verdict is computed from the results, never written down: a point is put as cases, each of which
holds or does not, and the verdict follows from their share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from understudy_studies.framework.result_curves import FEWEST
from understudy_studies.framework.study import RunRecord, TextTable

Word = Literal["agrees", "partly", "not"]
ALL, MOST = 0.95, 0.5
"""A point agrees if it holds in this share of its cases, and partly if in that."""


@dataclass(frozen=True)
class Verdict:
    """A point of the paper.

    Attributes:
        claim: what the paper says, in our words.
        measured: what we found, in words and numbers.
        word: whether they agree.
    """

    claim: str
    measured: str
    word: Word


def judged(claim: str, measured: str, cases: Sequence[bool]) -> Verdict:
    """The verdict on a point with these cases; without a case nothing agrees.

    Example:
        >>> judged("Greens are cheaper.", "So they are", [True] * 7 + [False] * 3)
        Verdict(claim='Greens are cheaper.', measured='So they are (7 of 10 cases)', word='partly')
    """
    holds = sum(map(bool, cases))
    share = holds / len(cases) if cases else 0.0
    word: Word = "agrees" if share >= ALL else "partly" if share >= MOST else "not"
    noun = "case" if len(cases) == 1 else "cases"
    return Verdict(claim, f"{measured} ({holds} of {len(cases)} {noun})", word)


def told(
    points: Callable[[], Sequence[Verdict]], run_record: RunRecord
) -> tuple[tuple[str, ...], TextTable | None]:
    """Findings, and the table of all points; of too few repetitions nothing is said.

    Args:
        points: gives the verdicts.
        run_record: how the study was run.
    """
    if run_record.repetitions[0] < FEWEST:
        return (f"With fewer than {FEWEST} repetitions nothing is said about the paper.",), None
    with np.errstate(divide="ignore", invalid="ignore"):  # errors of 0 in short runs
        verdicts = tuple(points())
    return (count(verdicts), *disagreements(verdicts)), comparison(verdicts)


def comparison(verdicts: Sequence[Verdict]) -> TextTable:
    """The table of all points."""
    return TextTable(
        caption=(
            "The paper beside our measurement. Each verdict is computed: a point agrees if it "
            f"holds in at least {100 * ALL:.0f} % of its cases, partly if in {100 * MOST:.0f} %."
        ),
        headings=("The paper says", "We measured", "Verdict"),
        rows=tuple((verdict.claim, verdict.measured, verdict.word) for verdict in verdicts),
        words=3,
        doubtful=frozenset(
            (i, 2) for i, verdict in enumerate(verdicts) if verdict.word != "agrees"
        ),
    )


def count(verdicts: Sequence[Verdict]) -> str:
    """How many points agree, in a sentence."""
    found = {
        word: sum(verdict.word == word for verdict in verdicts)
        for word in ("agrees", "partly", "not")
    }
    return (
        f"The paper makes {len(verdicts)} points that can be checked. Those that agree with our "
        f"measurement: {found['agrees']}; in part: {found['partly']}; not: {found['not']}."
    )


def disagreements(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The points that do not hold, in sentences."""
    for verdict in verdicts:
        if verdict.word == "not":
            yield f"It does not hold here: “{verdict.claim}” {verdict.measured}."
