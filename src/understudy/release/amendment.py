"""Amendments: what was measured after a release was out, to answer a question better.

An amended release is the same release with more measurements: the same records, the same schema, a
longer ledger, and a promise about all of it together. It names the release that it amends by the
checksum of its manifest, so that a chain of amendments leads back to the first one.

The records were drawn before, so they know nothing of what was measured later; whoever asks how the
sets were made looks at the measurements before the first amendment (`Release.behind_sets`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from understudy.release.measurement import Measurement
from understudy.release.shape import Fault

Chosen = Literal["beforehand", "from the release", ""]
"""How a question came about: "beforehand" if no number of the release suggested it; "" unsaid."""


_LATER = "amendment-"


@dataclass(frozen=True)
class Amendment:
    """One question that was paid for after a release.

    Attributes:
        parent: checksum of the manifest of the release that it amends, "sha256:…".
        entries: how many steps of the ledger were paid before.
        budget: the stated budget before, as in the manifest.
        title: of the question.
        asked_by: who asked; "" if that is not said.
        chosen: how the question came about.
        analyses: what was asked: kind and formula.
    """

    parent: str
    entries: int
    budget: dict[str, str]
    title: str
    asked_by: str
    chosen: Chosen
    analyses: tuple[Mapping[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        return {**vars(self), "analyses": [dict(analysis) for analysis in self.analyses]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Amendment:
        """Read back what `to_json` wrote."""
        return cls(**{**data, "analyses": tuple(data["analyses"])})


def name_of(amendment: int, table: int) -> str:
    """Name of a measurement of an amendment; both count from 1."""
    return f"{_LATER}{amendment}-table-{table}"


def require_named_later(measurements: Sequence[Measurement], behind: Sequence[Measurement]) -> None:
    """Refuse measurements of an amendment that pass for some that the sets were drawn from.

    Args:
        measurements: of a release.
        behind: those before its first amendment.

    Raises:
        Fault: a name says the one, and the manifest the other.
    """
    first = {one.entry for one in behind}
    named = (one for one in measurements if one.name)
    if any(one.name.startswith(_LATER) == (one.entry in first) for one in named):
        raise Fault("its manifest and the names of its measurements differ on what came later")


def before(
    measurements: Sequence[Measurement], amendments: Sequence[Amendment]
) -> tuple[Measurement, ...]:
    """What was measured before the first amendment; all of it where there is none."""
    if not amendments:
        return tuple(measurements)
    return tuple(one for one in measurements if one.entry <= amendments[0].entries)


def bought_by(
    measurements: Sequence[Measurement], amendments: Sequence[Amendment], number: int
) -> tuple[Measurement, ...]:
    """What one amendment measured.

    Args:
        measurements: of the release.
        amendments: of the release, in order.
        number: of the amendment, from 0.
    """
    first = amendments[number].entries
    last = amendments[number + 1].entries if number + 1 < len(amendments) else None
    return tuple(
        one for one in measurements if first < one.entry and (last is None or one.entry <= last)
    )


def require_chain(
    amendments: Sequence[Amendment], ledger: Sequence[Mapping[str, Any]], unit: str
) -> None:
    """Refuse amendments that bought nothing, or stand in no order.

    Args:
        amendments: of a manifest.
        ledger: of the same.
        unit: of its budget.

    Raises:
        Fault: says what does not fit.
    """
    last = 0
    for amendment in amendments:
        if not last < amendment.entries < len(ledger):
            raise Fault("its amendments are out of order, or bought nothing")
        if amendment.budget["unit"] != unit:
            raise Fault("an amendment is of a release in another unit of budget")
        last = amendment.entries
