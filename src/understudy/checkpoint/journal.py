"""The journal of a run, so that a killed one can go on, and the anchor beside it.

**How far a journal had come: so that one that was emptied or shortened is found out.**

Beside the journal stands a file with a line for each time that it was written: how many lines it
had then, their chain, and what they say was spent. Its line reaches the disk after the journal's
and before anything is computed. So the journal may be ahead of it by what nothing came of; it can
never be behind, unless somebody took lines away. Who takes lines from both is not found out here.

**Records as lines of a text file, each behind its checksum; and the chain of all lines so far.**

A last line without its end was being written when a run was killed: it counts as not written. Any
other damage is an error. The chain is H₀ = 64 zeros, Hₖ = SHA-256(Hₖ₋₁ ‖ line k), where ‖ puts one
text behind the other: two files of one chain have the same lines.

**The journal of one run: what was charged and what came of it, on disk before it is used.**

A text file of one line per record, each behind its checksum. `append` returns when the line has
reached the disk. A last line without its end was being written when the run was killed; it counts
as not written, which is safe, since nothing is computed before `append` has returned. Any other
damage is an error: a charge that was paid could be missing. So is a journal that has fewer lines
than its anchor says (`Anchor`).

The first line says which request the journal belongs to, in public terms, the entropy of the
sampling, and what else its maker notes. Nothing is said about the rows.

**Released values as plain data that JSON can hold, and back: type, shape and every bit.**

What can be packed is listed here; anything else is refused, so that nothing confidential can reach
a journal by mistake (`Confidential` and exact tables are not on the list).

**Killed runs continue: what was paid, and what came of it.**

**What a killed run has cost as it ended, by its journal: in words for whoever finds it.**
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
from pydantic import BaseModel

from understudy import _storage
from understudy.dp.accountant import Entry, RunCost
from understudy.dp.budget import SIGNS, UNITS, Approximate, Budget, decimal_up
from understudy.dp.mechanism import Outcome
from understudy.dp.released import Noise, Published, Records, Released
from understudy.errors import CheckpointError
from understudy.features.scores import Weighting
from understudy.mechanisms.regression import NoisyRegression, NormalEquations

Record = dict[str, Any]
START: Final = "0" * 64
"""The chain of no lines."""
_SUM: Final = 16


def line_of(record: Record) -> bytes:
    r"""A record as it is written.

    Args:
        record: plain data.

    Example:
        >>> line_of({"run": 1})
        b'1e5cd4c674c30be1 {"run":1}\n'
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return _sum(text) + b" " + text + b"\n"


def lines_of(data: bytes) -> list[bytes]:
    """The whole lines of a file, each with its end.

    Args:
        data: of the file.
    """
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def record_of(line: bytes) -> Record:
    """The record of a whole line.

    Raises:
        ValueError: it is not as it was written.
    """
    if line[:_SUM] != _sum(line[_SUM + 1 : -1]):
        raise ValueError("A line does not fit its checksum.")
    return dict(json.loads(line[_SUM + 1 : -1]))


def chain_line(digest: str, line: bytes) -> str:
    """The chain with one more line.

    Args:
        digest: of the lines before.
        line: with its end.

    Returns:
        64 hexadecimal digits.
    """
    return hashlib.sha256(digest.encode("ascii") + line).hexdigest()


def _sum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_SUM].encode("ascii")


ANCHOR_FILE: Final = "anchor.jsonl"
_THROUGH: Final = getattr(os, "O_DSYNC", 0)
"""Has each write reach the disk before it returns; elsewhere that is asked for by itself."""


@dataclass(frozen=True)
class Mark:
    """The place that a journal had come to.

    Attributes:
        lines: how many lines it had.
        digest: their chain (`journal.chain_line`).
        spent: what their charges cost, in words.
    """

    lines: int
    digest: str
    spent: str


NOTHING: Final = Mark(0, START, "nothing")


class Anchor:
    """The marks beside one journal.

    Args:
        folder: of the checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ANCHOR_FILE
        self._file: int | None = None

    def last(self) -> Mark | None:
        """The last mark; None where no run has made one.

        Raises:
            OSError: it cannot be read.
            ValueError: it is damaged.
        """
        if not self._path.exists():
            return None
        marks = [Mark(**record_of(line)) for line in lines_of(self._path.read_bytes())]
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
                self._cut_last_line()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _THROUGH | more
            self._file = os.open(self._path, flags, 0o600)
        _storage.write_all(self._file, line_of(asdict(mark)))
        if not _THROUGH:
            os.fsync(self._file)

    def _cut_last_line(self) -> None:
        """Take away a last line that was not written to its end."""
        whole = b"".join(lines_of(self._path.read_bytes()))
        os.truncate(self._path, len(whole))


_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(Entry, Noise, Outcome, Records, Released, Weighting),
        *(NoisyRegression, NormalEquations),
        *get_args(Published),
    )
}
_NUMBERS = "biuf"
"""Kinds of numpy's numbers: bool, signed, unsigned, floating."""


def pack(value: Any) -> Any:
    """A value as plain data.

    Args:
        value: None, bool, int, float, str, fraction, date, array of numbers; a tuple, list or
            mapping of such; a released value, what it holds, or a ledger entry.

    Raises:
        TypeError: anything else.

    Example:
        >>> pack((1, Fraction(1, 3)))
        {'tuple': [1, {'fraction': '1/3'}]}
    """
    kind = type(value)
    if kind in _KINDS.values():
        content = {field.name: pack(getattr(value, field.name)) for field in fields(kind)}
        return {"kind": kind.__name__, "content": content}
    if isinstance(value, tuple | list):
        return {"tuple" if isinstance(value, tuple) else "list": [pack(item) for item in value]}
    if isinstance(value, Mapping):
        return {"map": [[pack(key), pack(item)] for key, item in value.items()]}
    if isinstance(value, np.ndarray | np.generic):
        return _packed_array(np.asarray(value), scalar=isinstance(value, np.generic))
    return _packed_atom(value)


def _packed_atom(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if type(value) is datetime.date:
        return {"date": value.isoformat()}
    raise TypeError(f"A {type(value).__name__} cannot be written into a journal.")


def _packed_array(array: np.ndarray[Any, Any], *, scalar: bool) -> dict[str, Any]:
    if array.dtype.kind not in _NUMBERS:
        raise TypeError("Only arrays of numbers can be written into a journal.")
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    name = "scalar" if scalar else "array"
    return {name: data, "dtype": array.dtype.str, "shape": list(array.shape)}


def unpack(data: Any) -> Any:
    """The value that `pack` was given.

    Raises:
        ValueError: plain data that `pack` did not make.
    """
    if not isinstance(data, dict):
        return data
    name, content = next(iter(data.items()))
    if name == "kind":
        return _KINDS[content](**{key: unpack(item) for key, item in data["content"].items()})
    if name in ("array", "scalar"):
        flat = np.frombuffer(base64.b64decode(content), dtype=np.dtype(data["dtype"]))
        array = flat.reshape(data["shape"]).copy()
        return array if name == "array" else array[()]
    if name in ("tuple", "list"):
        inner = [unpack(item) for item in content]
        return tuple(inner) if name == "tuple" else inner
    if name == "map":
        return {unpack(key): unpack(item) for key, item in content}
    return _unpacked_atom(name, content)


def _unpacked_atom(name: str, content: str) -> Any:
    if name == "float":
        return float.fromhex(content)
    if name == "fraction":
        return Fraction(content)
    if name == "date":
        return datetime.date.fromisoformat(content)
    raise ValueError(f"A journal cannot hold {name!r}.")


def fingerprint(value: Any) -> str:
    """A digest of public values: equal for equal ones, whatever machine made them.

    Args:
        value: as fields of mechanisms may hold (`understudy.dp.admission`).
    """
    text = json.dumps(_canonical(value), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:24]


def _canonical(value: Any) -> Any:
    """Values as nested lists of text."""
    kind = type(value).__name__
    if isinstance(value, BaseModel):
        return [kind, value.model_dump_json()]
    if is_dataclass(value):
        named = [field.name for field in fields(value) if field.init]
        return [kind, *([name, _canonical(getattr(value, name))] for name in named)]
    if isinstance(value, np.ndarray):
        data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return [kind, value.dtype.str, list(value.shape), data]
    if isinstance(value, Mapping):
        return [kind, *([_canonical(key), _canonical(item)] for key, item in value.items())]
    if isinstance(value, tuple | list | range):
        return [kind, *map(_canonical, value)]
    return [kind, repr(value)]


class JournalCost:
    """The cost of the charges among some records.

    Args:
        request: of their journal; it states the budget, unless a program of its own made it.

    Example:
        >>> str(JournalCost({"epsilon": "1", "delta": "0", "accounting": "pure"}))
        'ε = 0 of 1'
    """

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._accounting = request.get("accounting", "pure")
        unit: Approximate = "gdp" if self._accounting == "gdp" else "zcdp"
        stated = request.get("epsilon")
        self._budget = None if stated is None else Budget.of(stated, request.get("delta", 0), unit)
        amount = None if self._budget is None else self._budget.amount
        self._cost, self._unbounded = RunCost(self._accounting, amount), False

    def add(self, records: Iterable[Record]) -> None:
        """Count the charges among further records, answered or not.

        Args:
            records: of the journal, without its head.
        """
        for record in records:
            if record.get("kind") == "charge":
                entry = unpack(record["entry"])
                self._unbounded |= entry.spent is None
                self._cost.add(entry.spent or Fraction(0), entry.mechanism, entry.sensitivity)

    def __str__(self) -> str:
        """Describe what was spent, and of how much."""
        sign = SIGNS[UNITS[self._accounting]]
        if self._unbounded:
            return f"{sign} without bound"
        budget, spent = self._budget, self._cost.total
        words = f"{sign} = {decimal_up(spent)}"
        if budget is None:
            return words
        words += f" of {decimal_up(budget.amount)}"
        if self._accounting == "pure":
            return words
        whole = f"ε = {decimal_up(budget.epsilon)} and δ = {decimal_up(budget.delta)}"
        return f"{math.ceil(100 * spent / budget.amount)} % of {whole} ({words})"


FORMAT: Final = 4
WITHDRAWN: Final = "withdrawn"
"""Kind of a record that takes back the charge before it, and of that charge as it is read."""
JOURNAL_FILE: Final = "journal.jsonl"


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
            digits (`journal.chain_line`).
        digests_of_charges: the same behind each charge of earlier runs, oldest first.

    Raises:
        CheckpointError: it belongs to another request, is damaged or shortened, in use, or cannot
            be opened.
    """

    def __init__(self, folder: Path, request: Mapping[str, Any], *, seed: int) -> None:
        self._path = folder / JOURNAL_FILE
        self._head = {"format": FORMAT, "request": _plain(request), "seed": str(seed), "notes": {}}
        self._file: int | None = None
        self._anchor = Anchor(folder)
        self._waiting: list[Record] = []
        self._last: Record = {}
        self._lines, self._spending = 0, JournalCost(request)
        self.seed, self.run = seed, 1
        self.records: tuple[Record, ...] = ()
        self.notes: dict[str, Any] = {}
        self.digest = START
        self.digests_of_charges: list[str] = []
        with self._translate_errors():
            if self._path.exists():
                self._file = self._open_locked(os.O_RDWR | os.O_APPEND)
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
        self._last = {"run": self.run, **record}
        self._waiting.append(self._last)
        if not wait:
            with self._translate_errors():
                self._write()

    def withdraw(self, entry: Entry) -> None:
        """Take back the charge that this run has just written, as nothing is computed for it.

        Nothing happens if that is not the last record, or if an earlier run wrote it.

        Args:
            entry: of the charge.

        Raises:
            CheckpointError: it cannot be written; then the charge counts.
        """
        if self._last.get("kind") == "charge" and self._last["entry"] == pack(entry):
            self.append(self._last | {"kind": WITHDRAWN})

    @property
    def begun(self) -> bool:
        """True if anything is written in it."""
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
            raise damage_error(self._path) from None
        if mark is None and len(digests) > 1:
            raise damage_error(self._path)
        mark = mark or NOTHING
        if mark.lines >= len(digests) or digests[mark.lines] != mark.digest:
            raise CheckpointError(
                f"The checkpoint {str(self._path.parent)!r} has lost what was written in it. By "
                f"its anchor it has spent {mark.spent}, which counts; it cannot be continued."
            )

    def _write(self) -> None:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open_locked(os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
        assert self._file is not None
        head = []
        if not self._lines:
            self._anchor.begin()
            head = [self._head | {"notes": self.notes}]
        lines = [line_of(record) for record in [*head, *self._waiting]]
        _storage.write_all(self._file, b"".join(lines))
        os.fsync(self._file)
        if head:
            _sync_folder(self._path.parent)
            _sync_folder(self._path.parent.absolute().parent)
        self._spending.add(self._waiting)
        self._lines, self._waiting = self._lines + len(lines), []
        self.digest = _chain(lines, self.digest)[-1]
        self._anchor.set(Mark(self._lines, self.digest, str(self._spending)))

    def _open_locked(self, flags: int) -> int:
        """The file, locked: two runs would each draw noise for one charge."""
        file = os.open(self._path, flags, 0o600)
        try:
            _storage.lock(file)
        except BaseException:
            os.close(file)
            raise
        return file

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (FileExistsError, BlockingIOError):
            raise in_use(self._path) from None
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {str(self._path.parent)!r} cannot be read or written: "
                f"{_storage.reason(error)}; without it, no step is paid for. Mend that, and go on."
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
    """The records of whole lines; a charge that was taken back is no charge.

    Raises:
        CheckpointError: one is not as it was written.
    """
    try:
        records = [record_of(line) for line in lines]
    except ValueError:
        raise damage_error(path) from None
    for charge, record in pairwise(records):
        if record.get("kind") == WITHDRAWN:
            charge["kind"] = WITHDRAWN
    return records


def _chain(lines: list[bytes], start: str = START) -> list[str]:
    """The chain before the first line, and behind each."""
    digests = [start]
    for line in lines:
        digests.append(chain_line(digests[-1], line))
    return digests


def damage_error(path: Path) -> CheckpointError:
    """Return the error for a journal that is not as it was written."""
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
    """Return the error for a journal of another version."""
    return CheckpointError(
        f"The checkpoint {str(path.parent)!r} has another format than this version of "
        "Understudy reads; continue it with the version that made it."
    )


def in_use(path: Path) -> CheckpointError:
    """Return the error for a journal that another process holds."""
    return CheckpointError(
        f"The checkpoint {str(path.parent)!r} is in use by another run; wait for its end."
    )


_sync_folder = _storage.sync_folder
