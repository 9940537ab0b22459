"""Points of the paper beside what was measured, and why they differ where they do.

A verdict is computed from the results, never written down: a point is put as cases, each of which
holds or does not, and the verdict follows from their share. What is written down is the cause of a
verdict that is not "agrees" (`verdict_causes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from understudy_studies.framework.result_curves import FEWEST
from understudy_studies.framework.study import RunRecord, TextTable
from understudy_studies.framework.verdict_causes import Cause, not_enough

Word = Literal["agrees", "partly", "not"]
ALL, MOST = 0.95, 0.5
"""A point agrees if it holds in this share of its cases, and partly if in that."""

UNEXPLAINED = "**no cause is known**"
"""Stands where a cause is missing; no page of the documentation may have it."""


@dataclass(frozen=True)
class Verdict:
    """A point of the paper.

    Attributes:
        claim: what the paper says, in our words.
        measured: what we found, in words and numbers.
        word: whether they agree.
        cause: why they do not; None if they do, or if it is not known.
        cases: in how many it holds, and of how many; None if it is not judged by cases.
    """

    claim: str
    measured: str
    word: Word
    cause: Cause | None = None
    cases: tuple[int, int] | None = None

    @property
    def why(self) -> str:
        """The cause in words, for a table."""
        if self.word == "agrees":
            return "–"
        return UNEXPLAINED if self.cause is None else self.cause.sentence


def judged(
    claim: str, measured: str, cases: Sequence[bool], *, why: Cause | None = None
) -> Verdict:
    """The verdict on a point with these cases; without a case nothing agrees.

    Args:
        claim: what the paper says, in our words.
        measured: what we found.
        cases: whether it holds, case by case.
        why: the cause, should it not hold in nearly all of them.

    Example:
        >>> print(judged("Greens are cheaper.", "So they are", [True] * 7 + [False] * 3).measured)
        So they are (7 of 10 cases)
    """
    holds = sum(map(bool, cases))
    noun = "case" if len(cases) == 1 else "cases"
    word = _word(holds, len(cases))
    measured = f"{measured} ({holds} of {len(cases)} {noun})"
    cause = None if word == "agrees" else why
    return Verdict(claim, measured, word, cause, (holds, len(cases)))


def judged_by_margins(
    claim: str,
    measured: str,
    margins: Sequence[tuple[float, float]],
    *,
    repetitions: int,
    why: Cause | None = None,
) -> Verdict:
    """The verdict on a point whose cases are margins with errors.

    A case holds if its margin is not negative. Where other signs of the margins that are within
    two standard errors of 0 could make another verdict, the cause is the number of repetitions.

    Args:
        claim: what the paper says, in our words.
        measured: what we found.
        margins: for each case by how much it holds, and the standard error of that.
        repetitions: how many there were, at least 1.
        why: the cause, should it not hold and chance not be enough to explain it.
    """
    gaps = np.array([gap for gap, _ in margins], dtype=float)
    errors = np.array([error for _, error in margins], dtype=float)
    verdict = judged(claim, measured, [bool(gap >= 0) for gap in gaps], why=why)
    near = np.abs(gaps) < 2 * errors
    sure, possible = int(((gaps >= 0) & ~near).sum()), int(((gaps >= 0) | near).sum())
    if verdict.word == "agrees" or _word(possible, len(gaps)) == _word(sure, len(gaps)):
        return verdict
    needed = repetitions * float(np.max((2 * errors[near] / np.abs(gaps[near]).clip(1e-9)) ** 2))
    return replace(verdict, cause=not_enough(repetitions, needed, why))


def _word(holds: int, n: int) -> Word:
    share = holds / n if n else 0.0
    return "agrees" if share >= ALL else "partly" if share >= MOST else "not"


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
        headings=("The paper says", "We measured", "Verdict", "Why it differs"),
        rows=tuple(
            (verdict.claim, verdict.measured, verdict.word, verdict.why) for verdict in verdicts
        ),
        words=4,
        doubtful=frozenset(
            (i, 2) for i, verdict in enumerate(verdicts) if verdict.word != "agrees"
        ),
    )


def by_reading(readings: Mapping[str, Sequence[Verdict]]) -> TextTable:
    """The same points, judged under several readings.

    Args:
        readings: name of each → its verdicts, in one order.
    """
    first = next(iter(readings.values()))
    columns = [[_in_short(verdict) for verdict in verdicts] for verdicts in readings.values()]
    return TextTable(
        caption="The same points under other readings: verdict, and cases in which it holds",
        headings=("The paper says", *readings),
        rows=tuple(zip([verdict.claim for verdict in first], *columns, strict=True)),
        words=1 + len(readings),
    )


def _in_short(verdict: Verdict) -> str:
    found = "–" if verdict.cases is None else "{} of {}".format(*verdict.cases)
    return f"{verdict.word}, {found}"


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
    """The points that do not hold, in sentences, each with its cause."""
    for verdict in verdicts:
        if verdict.word == "not":
            yield f"It does not hold here: “{verdict.claim}” {verdict.measured}. {verdict.why}"
