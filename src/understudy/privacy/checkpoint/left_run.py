"""What an interrupted run left: whether there is a checkpoint, what it spent, and its removal."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from understudy import disk
from understudy.errors import CheckpointError
from understudy.privacy.checkpoint import anchor as anchors
from understudy.privacy.checkpoint.anchor import Anchor
from understudy.privacy.checkpoint.checked_lines import Record, lines_of
from understudy.privacy.checkpoint.journal import (
    FILE,
    FORMAT,
    another_format,
    damaged,
    in_use,
    journal_records,
)
from understudy.privacy.checkpoint.spending import Spending


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder holds a journal that was written to, or the anchor of one that is lost."""
    path = folder / FILE
    try:
        mark = Anchor(folder).last()
        return bool(mark and mark.lines) or (path.exists() and b"\n" in path.read_bytes())
    except (OSError, ValueError):
        return True


def spent_of(folder: Path) -> str:
    """What a checkpoint has spent, in words, whether it can be continued or not.

    Args:
        folder: of the checkpoint; one that another run writes may be read.

    Raises:
        CheckpointError: it cannot be read, or is damaged.
    """
    path = folder / FILE
    try:
        lines = lines_of(path.read_bytes()) if path.exists() else []
        mark = Anchor(folder).last()
    except (OSError, ValueError):
        raise damaged(path) from None
    head, *records = journal_records(lines, path) or [{}]
    if not head or (mark is not None and mark.lines > len(lines)):
        return anchors.NOTHING.spent if mark is None else mark.spent
    spending = Spending(head["request"])
    spending.add(records)
    return str(spending)


def read(folder: Path) -> tuple[Record, tuple[Record, ...], str]:
    """What the journal of an interrupted run says, of whichever request it is.

    Args:
        folder: of the checkpoint; no run may be using it.

    Returns:
        What was asked for, the records, oldest first, and the SHA-256 of all of it, in hex.

    Raises:
        CheckpointError: it is not there, damaged, in use, or of another format.
    """
    path = folder / FILE
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            disk.lock(file)
            lines = lines_of(path.read_bytes())
        finally:
            os.close(file)
    except BlockingIOError:
        raise in_use(path) from None
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {str(folder)!r} cannot be read: {error.strerror}."
        ) from None
    head, *records = journal_records(lines, path) or [{}]
    if head.get("format") != FORMAT:
        raise another_format(path)
    return head["request"], tuple(records), hashlib.sha256(b"".join(lines)).hexdigest()


def remove(folder: Path) -> None:
    """Remove a checkpoint whose release was made; no harm if there is none."""
    for name in (FILE, anchors.FILE):
        (folder / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # there is none, or somebody keeps other files in it
        folder.rmdir()
