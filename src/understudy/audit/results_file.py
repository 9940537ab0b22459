"""What audits found, kept in a file: a line of JSON for each line that was audited.

A full audit takes hours. Each result is written as soon as it is there, so an audit that ended
early goes on with what is left, and several processes may divide methods among themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from understudy.audit.audit import Verdict
from understudy.audit.audited_release import Line
from understudy.errors import MethodError


def results(path: Path) -> Iterator[dict[str, Any]]:
    """What stands in a file, with the day of each audit; nothing if there is no file.

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


def lines_left(lines: tuple[Line, ...], path: Path, releases: int | None) -> tuple[Line, ...]:
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
