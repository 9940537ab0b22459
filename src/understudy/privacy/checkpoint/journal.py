"""The journal of one run: what was charged and what came of it, on disk before it is used.

A text file of one line per record, each behind its checksum. `append` returns when the line has
reached the disk. A last line without its end was being written when the run was killed; it counts
as not written, which is safe, since nothing is computed before `append` has returned. Any other
damage is an error: a charge that was paid could be missing.

The first line says which request the journal belongs to, in public terms, and the entropy of the
sampling. Nothing is said about the rows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from understudy.errors import CheckpointError

try:
    import fcntl
except ImportError:  # not on Windows, where nothing hinders a second run of the same checkpoint
    fcntl = None  # type: ignore[assignment]

FORMAT = 2
FILE = "journal.jsonl"
_SUM = 16

Record = dict[str, Any]


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

    Raises:
        CheckpointError: it belongs to another request, is damaged, in use, or cannot be opened.
    """

    def __init__(self, folder: Path, request: Mapping[str, Any], *, seed: int) -> None:
        self._path = folder / FILE
        self._head = {"format": FORMAT, "request": _plain(request), "seed": str(seed)}
        self._file: int | None = None
        self._waiting: list[Record] = []
        self.seed, self.run = seed, 1
        self.records: tuple[Record, ...] = ()
        with self._told():
            if self._path.exists():
                self._file = _locked(os.open(self._path, os.O_RDWR | os.O_APPEND), self._path)
                try:
                    self._read(self._file)
                except BaseException:
                    self.close()
                    raise

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

    def close(self) -> None:
        """Let go of the file; another run may then open it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _read(self, file: int) -> None:
        lines, end = _whole_lines(self._path.read_bytes(), self._path)
        if lines:
            head, *records = lines
            _require_same(head, self._head, self._path)
            self.seed, self.records = int(head["seed"]), tuple(records)
            self.run = 1 + max((record["run"] for record in records), default=0)
        os.ftruncate(file, end)

    def _write(self) -> None:
        new = self._file is None
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
            self._file = _locked(os.open(self._path, flags, 0o600), self._path)
        head = [self._head] if os.fstat(self._file).st_size == 0 else []
        data = b"".join(_line(record) for record in [*head, *self._waiting])
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)
        self._waiting = []
        if new:
            _sync_folder(self._path.parent)
            _sync_folder(self._path.parent.absolute().parent)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except FileExistsError:
            raise _in_use(self._path) from None
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {str(self._path.parent)!r} cannot be read or written: "
                f"{error.strerror}; without it, no step is paid for."
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


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder holds a journal."""
    return (folder / FILE).exists()


def remove(folder: Path) -> None:
    """Remove a checkpoint whose release was made; no harm if there is none."""
    (folder / FILE).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # there is none, or somebody keeps other files in it
        folder.rmdir()


def _plain(data: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(data, default=str))


def _line(record: Record) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return _sum(text) + b" " + text + b"\n"


def _sum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_SUM].encode("ascii")


def _whole_lines(data: bytes, path: Path) -> tuple[list[Record], int]:
    """The records, and where the last whole line ends."""
    end = data.rfind(b"\n") + 1
    records = []
    for line in data[:end].split(b"\n")[:-1]:
        if line[:_SUM] != _sum(line[_SUM + 1 :]):
            raise CheckpointError(
                f"The checkpoint {str(path.parent)!r} is damaged, so that a step that was paid for "
                "could be missing; it cannot be continued, and its spending counts."
            )
        records.append(json.loads(line[_SUM + 1 :]))
    return records, end


def _require_same(head: Record, expected: Record, path: Path) -> None:
    if head.get("format") != FORMAT:
        raise CheckpointError(
            f"The checkpoint {str(path.parent)!r} has another format than this version of "
            "Understudy reads; continue it with the version that made it."
        )
    old, new = head["request"], expected["request"]
    differ = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    if differ:
        raise CheckpointError(
            f"The checkpoint {str(path.parent)!r} belongs to another request: "
            f"{', '.join(differ)} {'differ' if len(differ) > 1 else 'differs'}. Ask for the same "
            "again, or choose another place; what it has spent counts."
        )


def _locked(file: int, path: Path) -> int:
    """One run at a time: two would each draw noise for one charge. Released when a process ends."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise _in_use(path) from None
    return file


def _in_use(path: Path) -> CheckpointError:
    return CheckpointError(
        f"The checkpoint {str(path.parent)!r} is in use by another run; wait for its end."
    )


def _sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder survives a loss of power."""
    if os.name != "nt":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
