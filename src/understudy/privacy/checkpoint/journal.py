"""The journal of one run: what was charged and what came of it, on disk before it is used.

A text file of one line per record, each behind its checksum. `append` returns when the line has
reached the disk. A last line without its end was being written when the run was killed; it counts
as not written, which is safe, since nothing is computed before `append` has returned. Any other
damage is an error: a charge that was paid could be missing. So is a journal that has fewer lines
than its anchor says (`anchor`).

The first line says which request the journal belongs to, in public terms, the entropy of the
sampling, and what else its maker notes. Nothing is said about the rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from understudy import disk
from understudy.errors import CheckpointError
from understudy.privacy.checkpoint import anchor as anchors
from understudy.privacy.checkpoint import checked_lines
from understudy.privacy.checkpoint.anchor import Anchor, Mark
from understudy.privacy.checkpoint.checked_lines import Record, chained, line_of, lines_of
from understudy.privacy.checkpoint.spending import Spending

FORMAT: Final = 3
FILE: Final = "journal.jsonl"


class Journal:
    """The journal in a folder: read if it is there, made at the first record if not.

    Args:
        folder: of the checkpoint.
        request: what is asked for, as plain public data.
        seed: of the sampling, for a new journal.

    Attributes:
        seed: of the sampling, as the first run chose it.
        records: those of earlier runs, oldest first.
        run: number of this run, from 1.
        notes: facts that were noted when the journal was made.
        digest: chain of all whole lines written or read so far, the head included, in hexadecimal
            digits (`checked_lines.chained`).
        digests_of_charges: the same behind each charge of earlier runs, oldest first.

    Raises:
        CheckpointError: it belongs to another request, is damaged or shortened, in use, or cannot
            be opened.
    """

    def __init__(self, folder: Path, request: Mapping[str, Any], *, seed: int) -> None:
        self._path = folder / FILE
        self._head = {"format": FORMAT, "request": _plain(request), "seed": str(seed), "notes": {}}
        self._file: int | None = None
        self._anchor = Anchor(folder)
        self._waiting: list[Record] = []
        self._lines, self._spending = 0, Spending(request)
        self.seed, self.run = seed, 1
        self.records: tuple[Record, ...] = ()
        self.notes: dict[str, Any] = {}
        self.digest = checked_lines.START
        self.digests_of_charges: list[str] = []
        with self._told():
            if self._path.exists():
                self._file = self._opened(os.O_RDWR | os.O_APPEND)
            try:
                self._read()
            except BaseException:
                self.close()
                raise

    def note(self, **facts: Any) -> None:
        """Keep facts in the first line of a new journal.

        Args:
            facts: public, as plain data.

        Raises:
            ValueError: the first line is written.
        """
        if self._lines:
            raise ValueError("Facts are noted before the first record of a journal.")
        self.notes |= _plain(facts)

    def append(self, record: Record, *, wait: bool = False) -> None:
        """Write a record, and return when it is on disk.

        Args:
            record: plain data.
            wait: write it together with the next record, for what cost nothing.

        Raises:
            CheckpointError: it cannot be written; then nothing may be computed.
        """
        self._waiting.append({"run": self.run, **record})
        if not wait:
            with self._told():
                self._write()

    @property
    def begun(self) -> bool:
        """Whether anything is written in it."""
        return self._lines > 0

    def close(self) -> None:
        """Let go of the files; another run may then open them."""
        self._anchor.close()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _read(self) -> None:
        lines = [] if self._file is None else lines_of(self._path.read_bytes())
        head, *records = journal_records(lines, self._path) or [self._head]
        _require_same(head, self._head, self._path)
        digests = _chain(lines)
        self._require_anchored(digests)
        self._lines, self.digest, self._head = len(lines), digests[-1], head
        self.seed, self.notes, self.records = int(head["seed"]), head["notes"], tuple(records)
        self.run = 1 + max((record["run"] for record in records), default=0)
        self._spending.add(records)
        paid = (record.get("kind") == "charge" for record in records)
        self.digests_of_charges = [
            digest for digest, one in zip(digests[2:], paid, strict=False) if one
        ]
        if self._file is not None:
            os.ftruncate(self._file, sum(map(len, lines)))

    def _require_anchored(self, digests: list[str]) -> None:
        """Refuse a journal that is not what it was when a run last wrote it."""
        try:
            mark = self._anchor.last()
        except ValueError:
            raise damaged(self._path) from None
        if mark is None and len(digests) > 1:
            raise damaged(self._path)
        mark = mark or anchors.NOTHING
        if mark.lines >= len(digests) or digests[mark.lines] != mark.digest:
            raise CheckpointError(
                f"The checkpoint {str(self._path.parent)!r} has lost what was written in it. By "
                f"its anchor it has spent {mark.spent}, which counts; it cannot be continued."
            )

    def _write(self) -> None:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._opened(os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
        assert self._file is not None
        head = []
        if not self._lines:
            self._anchor.begin()
            head = [self._head | {"notes": self.notes}]
        lines = [line_of(record) for record in [*head, *self._waiting]]
        disk.write_all(self._file, b"".join(lines))
        os.fsync(self._file)
        if head:
            _sync_folder(self._path.parent)
            _sync_folder(self._path.parent.absolute().parent)
        self._spending.add(self._waiting)
        self._lines, self._waiting = self._lines + len(lines), []
        self.digest = _chain(lines, self.digest)[-1]
        self._anchor.set(Mark(self._lines, self.digest, str(self._spending)))

    def _opened(self, flags: int) -> int:
        """The file, locked: two runs would each draw noise for one charge."""
        file = os.open(self._path, flags, 0o600)
        try:
            disk.lock(file)
        except BaseException:
            os.close(file)
            raise
        return file

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (FileExistsError, BlockingIOError):
            raise in_use(self._path) from None
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {str(self._path.parent)!r} cannot be read or written: "
                f"{disk.reason(error)}; without it, no step is paid for. Mend that, and go on."
            ) from None


@contextmanager
def open_journal(
    folder: Path | None, request: Mapping[str, Any], seed: int
) -> Iterator[tuple[Journal | None, int]]:
    """The journal in a folder, if there is to be one, and the seed of the sampling.

    Args:
        folder: of the checkpoint; None for no journal.
        request: as in `Journal`.
        seed: of the sampling, unless an earlier run chose one.
    """
    if folder is None:
        yield None, seed
        return
    journal = Journal(folder, request, seed=seed)
    try:
        yield journal, journal.seed
    finally:
        journal.close()


def _plain(data: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(data, default=str))


def journal_records(lines: list[bytes], path: Path) -> list[Record]:
    """The records of whole lines.

    Raises:
        CheckpointError: one is not as it was written.
    """
    try:
        return [checked_lines.record_of(line) for line in lines]
    except ValueError:
        raise damaged(path) from None


def _chain(lines: list[bytes], start: str = checked_lines.START) -> list[str]:
    """The chain before the first line, and behind each."""
    digests = [start]
    for line in lines:
        digests.append(chained(digests[-1], line))
    return digests


def damaged(path: Path) -> CheckpointError:
    """What is said of a journal that is not as it was written."""
    return CheckpointError(
        f"The checkpoint {str(path.parent)!r} is damaged, so that a step that was paid for "
        "could be missing; it cannot be continued, and its spending counts."
    )


def _require_same(head: Record, expected: Record, path: Path) -> None:
    if head.get("format") != FORMAT:
        raise another_format(path)
    old, new = head["request"], expected["request"]
    differ = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    if differ:
        raise CheckpointError(
            f"The checkpoint {str(path.parent)!r} belongs to another request: "
            f"{', '.join(differ)} {'differ' if len(differ) > 1 else 'differs'}. Ask for the same "
            "again, or choose another place; what it has spent counts."
        )


def another_format(path: Path) -> CheckpointError:
    """What is said of a journal of another version."""
    return CheckpointError(
        f"The checkpoint {str(path.parent)!r} has another format than this version of "
        "Understudy reads; continue it with the version that made it."
    )


def in_use(path: Path) -> CheckpointError:
    """What is said of a journal that another process holds."""
    return CheckpointError(
        f"The checkpoint {str(path.parent)!r} is in use by another run; wait for its end."
    )


_sync_folder = disk.sync_folder
