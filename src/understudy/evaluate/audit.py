"""Audits of methods, end to end: lower bounds on what their releases cost, by looking at them.

**Audits: what releases of neighbouring tables show, against what they promise.**

For each line many releases are made of both tables. An event is learned on one half of them and
counted on the other, which bounds ε or μ from below (`understudy.evaluate.audit_bounds`). A bound
above what is stated, in an audit that errs once in a million, is an alarm: the promise does not
hold. No alarm is no proof; how much of the promise was seen says how hard the audit looked.

Only made tables are released: an audit is about methods, and sees no confidential rows.

Source:
    Ding, Wang, Wang, Zhang & Kifer (2018), "Detecting Violations of Differential Privacy";
    Jagielski, Ullman & Oprea (2020), "Auditing Differentially Private Machine Learning".

**What audits found, kept in a file: a line of JSON for each line that was audited.**

A full audit takes hours. Each result is written as soon as it is there, so an audit that ended
early goes on with what is left, and several processes may divide methods among themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from understudy._parallel import in_chunks
from understudy._validation import require_extra
from understudy.errors import MethodError
from understudy.evaluate.audit_bounds import Matrix, Shown, Stated, distinguish, reach
from understudy.evaluate.audit_lines import AuditCase, matrix, observations_of, stated_by

_CHUNK = 250
"""Releases that are made in one go."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Verdict:
    """The findings of an audit about one line.

    Attributes:
        line: what was audited.
        stated: what its releases promise.
        shown: by what an event showed of releases that it was not learned from.
        reach: what as many releases would show of the hardest mechanism that keeps the promise.
    """

    line: AuditCase
    stated: Stated
    shown: Shown
    reach: float

    @property
    def alarm(self) -> bool:
        """True if the promise does not hold; one of a million audits says so where it does."""
        return self.shown.certain > self.stated.value

    @property
    def share(self) -> float:
        """The lower bound over what is stated."""
        return self.shown.bound / self.stated.value

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "line": str(self.line),
            "method": self.line.method,
            "worst_case": self.line.worst,
            "unit": self.stated.unit,
            "stated": self.stated.value,
            "delta": self.stated.delta,
            "shown": round(self.shown.bound, 4),
            "certain": round(self.shown.certain, 4),
            "reach": round(self.reach, 4),
            "event": self.shown.event,
            "times": list(self.shown.times),
            "releases": 2 * self.shown.n,
            "alarm": self.alarm,
        }


def audit(
    line: AuditCase,
    *,
    releases: int | None = None,
    seed: int | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Audit one line.

    Args:
        line: what is audited.
        releases: of each of its tables; None for as many as a full audit makes.
        seed: of all noise, for tests; None for the operating system's entropy, as releases have it.
        jobs: processes.
        progress: called with how many releases of how many are made.

    Raises:
        MethodError: fewer than 100 releases, or scikit-learn is not installed.
    """
    require_extra("evaluate", "An audit")
    n = line.releases if releases is None else releases
    if n < 100:
        raise MethodError(f"An audit needs at least 100 releases of each table, not {n}.")
    tell = progress or (lambda _done, _total: None)
    frames = line.frames()
    work = partial(_observe_chunks, line, seed)
    chunks = [
        (side, start, min(_CHUNK, n - start)) for side in (0, 1) for start in range(0, n, _CHUNK)
    ]
    found = in_chunks(
        work, chunks, workers=jobs, done=lambda k: tell(k, len(chunks)), error=MethodError
    )
    names = tuple(dict.fromkeys(name for its, _ in found for name in its))
    sides = [_together(found[: len(found) // 2], names), _together(found[len(found) // 2 :], names)]
    stated = stated_by(line.trial(), frames[0])
    shown = distinguish(sides[0], sides[1], names, stated)
    return Verdict(line, stated, shown, reach(shown.n, stated))


def _observe_chunks(
    line: AuditCase, seed: int | None, chunks: Sequence[tuple[int, int, int]]
) -> list[tuple[tuple[str, ...], Matrix]]:
    """Observations of some chunks of releases, each chunk as a matrix with its names."""
    trial, frames = line.trial(), line.frames()
    found = []
    for side, start, n in chunks:
        # Streams of both tables are apart: an audit that pairs them would see less noise.
        first = None if seed is None else 2 * (seed * 10**7 + start) + side
        seeds = [None if first is None else first + 2 * k for k in range(n)]
        found.append(matrix(observations_of(trial, frames[side], seeds)))
    return found


def _together(parts: Sequence[tuple[tuple[str, ...], Matrix]], names: tuple[str, ...]) -> Matrix:
    """Matrices below each other, with columns of one order."""
    places = {name: k for k, name in enumerate(names)}
    whole = np.zeros((sum(len(values) for _, values in parts), len(names)), dtype=np.float32)
    row = 0
    for its, values in parts:
        whole[row : row + len(values), [places[name] for name in its]] = values
        row += len(values)
    return whole


def results(path: Path) -> Iterator[dict[str, Any]]:
    """Read audits and their days from a file; nothing if there is no file.

    Raises:
        MethodError: a line of it is no result.
    """
    if not path.exists():
        return
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            found = json.loads(text)
            found["line"], found["releases"], found["day"]
        except (ValueError, LookupError, TypeError):
            raise MethodError(f"Line {number} of {path.name} is no result of an audit.") from None
        yield found


def lines_left(
    lines: tuple[AuditCase, ...], path: Path, releases: int | None
) -> tuple[AuditCase, ...]:
    """Those that were not audited yet with as many releases.

    Args:
        lines: what is to be audited.
        path: of the file.
        releases: of each table; None for as many as a full audit makes.
    """
    seen = {found["line"]: int(found["releases"]) for found in results(path)}
    return tuple(line for line in lines if seen.get(str(line), 0) < (releases or line.releases))


def add_result(path: Path, verdict: Verdict) -> None:
    """Write one result below the others."""
    day = datetime.now(UTC).date().isoformat()
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"day": day, **verdict.to_json()}, ensure_ascii=False) + "\n")
