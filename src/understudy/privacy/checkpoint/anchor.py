"""How far a journal had come: so that one that was emptied or shortened is found out.

Beside the journal stands a file with a line for each time that it was written: how many lines it
had then, their chain, and what they say was spent. Its line reaches the disk after the journal's
and before anything is computed. So the journal may be ahead of it by what nothing came of; it can
never be behind, unless somebody took lines away. Who takes lines from both is not found out here.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from understudy import disk
from understudy.privacy.checkpoint import checked_lines

FILE: Final = "anchor.jsonl"
_THROUGH: Final = getattr(os, "O_DSYNC", 0)
"""Has each write reach the disk before it returns; elsewhere that is asked for by itself."""


@dataclass(frozen=True)
class Mark:
    """How far a journal had come.

    Attributes:
        lines: how many lines it had.
        digest: their chain (`checked_lines.chained`).
        spent: what their charges cost, in words.
    """

    lines: int
    digest: str
    spent: str


NOTHING: Final = Mark(0, checked_lines.START, "nothing")


class Anchor:
    """The marks beside one journal.

    Args:
        folder: of the checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._file: int | None = None

    def last(self) -> Mark | None:
        """The last mark; None where no run has made one.

        Raises:
            OSError: it cannot be read.
            ValueError: it is damaged.
        """
        if not self._path.exists():
            return None
        marks = [
            Mark(**checked_lines.record_of(line))
            for line in checked_lines.lines_of(self._path.read_bytes())
        ]
        return marks[-1] if marks else None

    def begin(self) -> None:
        """Say that a journal begins, before it does; the journal syncs the folder of both.

        Raises:
            OSError: it cannot be written.
        """
        self._write(os.O_TRUNC, NOTHING)

    def set(self, mark: Mark) -> None:
        """Write a mark, and return when it is on the disk.

        Raises:
            OSError: it cannot be written.
        """
        self._write(0, mark)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, more: int, mark: Mark) -> None:
        if self._file is None:
            if not more:
                self._cut()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _THROUGH | more
            self._file = os.open(self._path, flags, 0o600)
        disk.write_all(self._file, checked_lines.line_of(asdict(mark)))
        if not _THROUGH:
            os.fsync(self._file)

    def _cut(self) -> None:
        """Take away a last line that was not written to its end."""
        whole = b"".join(checked_lines.lines_of(self._path.read_bytes()))
        os.truncate(self._path, len(whole))
