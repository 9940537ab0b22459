"""Answers to questions that were paid for after a release: before, by the new measurement, pooled.

The new measurement has noise of its own, so the mean by precision with what the release already had
is narrower than either. That mean is right only if the question did not depend on the values of the
release: whoever asks about the coefficient that looked largest asks about noise that pointed up,
and keeps a part of it in the mean. From the new measurement alone the answer is right in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.errors import InferenceError
from understudy.release.manifest import Amendment, bought_by
from understudy.release.measurement import Measurement
from understudy.release.release import Release

if TYPE_CHECKING:
    from understudy.inference.analysis import Analysis


POOLED_RIGHT: Final = (
    "Pooled intervals are right only if the question did not depend on the values of the release; "
    "if one of its numbers suggested the question, take the new measurement alone."
)


@dataclass(frozen=True)
class Told:
    """An answer, or why there is none.

    Attributes:
        analysis: estimates with their errors; None where there are none.
        refused: why; "" if there is an answer.
    """

    analysis: Analysis | None
    refused: str = ""

    @property
    def intervals(self) -> dict[str, tuple[float, float, float]]:
        """Estimate and both ends of its interval, by the names of the quantities."""
        if self.analysis is None:
            return {}
        pooled = self.analysis.pooled
        low, high = pooled.interval(self.analysis.level)
        ends = zip(pooled.estimate.tolist(), low.tolist(), high.tolist(), strict=True)
        return dict(zip(pooled.names, ends, strict=True))

    @property
    def half_widths(self) -> dict[str, float]:
        """Half the width of each interval, by the names of the quantities."""
        return {name: (high - low) / 2 for name, (_, low, high) in self.intervals.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"refused": self.refused} if self.analysis is None else self.analysis.to_json()


@dataclass(frozen=True)
class AmendedAnswer:
    """One analysis of an amendment.

    Attributes:
        amendment: that paid for it.
        kind: of the question.
        formula: of what.
        before: from what was measured before the amendment.
        alone: from what the amendment measured.
        pooled: from all that was measured.
    """

    amendment: Amendment
    kind: str
    formula: str
    before: Told
    alone: Told
    pooled: Told

    @property
    def question(self) -> str:
        """The question; of an answer, with where its numbers are cut off."""
        answer = self.pooled.analysis
        return answer.quantity if answer else f"{self.kind} of {self.formula}"

    @property
    def names(self) -> tuple[str, ...]:
        """Quantities that any of them has."""
        parts = (self.pooled, self.alone, self.before)
        return tuple(dict.fromkeys(name for told in parts for name in told.intervals))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        told = {"before": self.before, "alone": self.alone, "pooled": self.pooled}
        return {
            "kind": self.kind,
            "formula": self.formula,
            "chosen": self.amendment.chosen,
            **{name: one.to_json() for name, one in told.items()},
        }


def amended_answers(release: Release, *, level: float = 0.95) -> list[AmendedAnswer]:
    """Every analysis of every amendment of a release, with its three answers.

    Args:
        release: that may have amendments.
        level: confidence level of the intervals.
    """
    amendments, found = release.manifest.amendments, []
    for number, amendment in enumerate(amendments):
        earlier = [one for one in release.measurements if one.entry <= amendment.entries]
        own = bought_by(release.measurements, amendments, number)
        for asked in amendment.analyses:
            answers = (
                _answer_part(release, part, asked["kind"], asked["formula"], level)
                for part in (earlier, own, release.measurements)
            )
            found.append(AmendedAnswer(amendment, asked["kind"], asked["formula"], *answers))
    return found


def _answer_part(
    release: Release, measured: Sequence[Measurement], kind: str, formula: str, level: float
) -> Told:
    """The answer of a part of the measurements."""
    from understudy.inference.analyze import analyze_release  # loads the libraries of statistics

    part = replace(release, measurements=tuple(measured))
    try:
        return Told(analyze_release(part, kind, formula, level=level))
    except InferenceError as error:
        return Told(None, str(error))
