"""Work that reads rows, in processes of their own, by public commands.

A run goes on when the desk ends. Whether one is still at work is told by a lock on `run.lock`,
which its process holds until it ends in whatever way, so that no number of a process is mistaken.
What it says stands in `run.txt`, and how far it is in `log.jsonl`, by public stages alone.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy import _storage
from understudy.desk.project import Project
from understudy.desk.words import refusal
from understudy.errors import DeskError, escape_controls

_LOCK, _SAID, _ABOUT = "run.lock", "run.txt", "run.json"


@dataclass(frozen=True)
class Run:
    """The last run of a project, if there was one.

    Attributes:
        what: "draft", "check", "release", "evaluate" or "answer"; "" before the first.
        command: as it would be typed.
        active: whether it is at work.
        said: the last that it said, which holds no value of any row.
        stage: how far it is, in words.
    """

    what: str = ""
    command: str = ""
    active: bool = False
    said: str = ""
    stage: str = ""


def as_typed(words: Sequence[str]) -> str:
    """Return a command as one would type it.

    Args:
        words: of it, after the program's name.

    Example:
        >>> as_typed(["plan", "--schema", "my schema.toml"])
        "understudy plan --schema 'my schema.toml'"
    """
    return shlex.join(["understudy", *words])


def start(project: Project, what: str, words: Sequence[str], into: str = "") -> None:
    """Start a command in the project's folder.

    Args:
        project: whose.
        what: it is for.
        words: of the command, after the program's name.
        into: file of the project that gets what it prints; else nothing keeps that.

    Raises:
        DeskError: another run is at work, or this one does not start.
    """
    with _probing:
        lock = _try_lock(project)
    if lock is None:
        raise refusal("A run of this project is at work; wait for it, or stop it.")
    try:
        about: dict[str, Any] = {"what": what, "command": as_typed(words)}
        project.write_text(_ABOUT, json.dumps(about))
        project.note("run", run=what)
        said = _new(project, _SAID)
        printed = _new(project, into) if into else os.open(os.devnull, os.O_WRONLY)
        try:
            child = subprocess.Popen(  # noqa: S603 — this program itself, and words without a shell
                [sys.executable, "-m", "understudy", *words],
                cwd=project.folder,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=said,
                env={**os.environ, _storage.PROGRESS_VARIABLE: str(project.folder / "log.jsonl")},
                start_new_session=True,
                pass_fds=(lock,),
            )
        finally:
            os.close(said)
            os.close(printed)
        project.write_text(_ABOUT, json.dumps({**about, "pid": child.pid}))
        _children.append(child)
    except OSError as error:
        raise refusal("The run does not start: %(why)s.", why=_storage.reason(error)) from None
    finally:
        os.close(lock)


_probing = threading.Lock()
"""While it is looked whether a run is at work, so that no look is taken for one."""
_children: list[subprocess.Popen[bytes]] = []
"""Those of this process, so that their ends are taken note of and none stays behind."""


def last(project: Project) -> Run:
    """Return how the last run of a project is."""
    for child in [*_children]:
        if child.poll() is not None:
            _children.remove(child)
    if not (about := project.read_json(_ABOUT)):
        return Run()
    active = _is_active(project)
    place = project.place(_SAID)
    said = place.read_text(encoding="utf-8", errors="replace") if place.exists() else ""
    stages = [one["stage"] for one in _since_start(project.log()) if "stage" in one]
    return Run(
        what=str(about.get("what", "")),
        command=str(about.get("command", "")),
        active=active,
        said=escape_controls(said[-4_000:]).strip(),
        stage=str(stages[-1]) if stages else "",
    )


def stop(project: Project, *, early: bool) -> None:
    """End a run: what is paid for is kept, and can be gone on with.

    Args:
        project: whose.
        early: whether a method that works in rounds is to make a release of those that are done.

    Raises:
        DeskError: no run is at work.
    """
    if not _is_active(project):
        raise refusal("No run of this project is at work.")
    pid = (project.read_json(_ABOUT) or {}).get("pid")
    if not isinstance(pid, int):
        raise refusal("The run begins just now; try again.")
    project.note("ended early" if early else "stopped")
    os.kill(pid, signal.SIGINT if early else signal.SIGTERM)  # it holds the lock: it is this one


def output(words: Sequence[str], folder: Path) -> str:
    """Run a short command that reads no rows, and return what it said.

    Args:
        words: of the command.
        folder: that it runs in.

    Raises:
        DeskError: what the command was refused with.
    """
    good, said = _short(["-m", "understudy", *words], folder)
    if not good:
        raise DeskError(said.removeprefix("Error: "))
    return said


def verify(release: str, folder: Path) -> tuple[bool, str]:
    """Run the independent checker, and return whether the release is whole and what it said.

    Args:
        release: its folder.
        folder: that holds this.
    """
    good, said = _short(
        ["-c", "import understudy_verify; understudy_verify.main()", release], folder
    )
    return good and bool(said), said  # one that says nothing has checked nothing


def _short(words: Sequence[str], folder: Path) -> tuple[bool, str]:
    done = subprocess.run(  # noqa: S603 — this program itself, and words without a shell
        [sys.executable, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    said = done.stdout if done.returncode == 0 else done.stdout + done.stderr
    return done.returncode == 0, escape_controls(said.decode("utf-8", "replace")).strip()


def _since_start(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    starts = [k for k, one in enumerate(log) if one.get("what") == "run"]
    return log[starts[-1] :] if starts else []


def _is_active(project: Project) -> bool:
    with _probing:
        lock = _try_lock(project)
        if lock is not None:
            os.close(lock)
    return lock is None


def _try_lock(project: Project) -> int | None:
    """Lock the place of runs; None if one is at work."""
    file = os.open(project.place(_LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _storage.lock(file)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _new(project: Project, name: str) -> int:
    place = project.place(name)
    return os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
