"""Texts and tables in a terminal; one console for all of them.

**Streams that no text and no reader can end: encodings without our signs, pipes that close.**

**How far work is, as people see it: bars in a terminal, a line now and then elsewhere.**
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rich import markup
from rich.console import Console

from understudy._storage import PROGRESS_VARIABLE
from understudy.errors import UnderstudyWarning, line

if TYPE_CHECKING:
    from understudy.workflow.options import Progress


class Screen(Console):
    """A console that goes on in silence when whoever read it has gone, as `| head` does.

    What a command does besides, such as a release that is paid for, must not end with its reader.
    """

    def on_broken_pipe(self) -> None:
        """Send what follows nowhere."""
        self.quiet = True
        silence(self.file.fileno())


def silence(stream: int) -> None:
    """Let an open stream lead nowhere.

    Args:
        stream: its number.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream)
    finally:
        os.close(nowhere)


def tolerate() -> None:
    """Have signs that an encoding lacks written by their numbers, where they would be an error.

    A stream that is closed leads nowhere from here on: the next file to be opened would get its
    number, and what is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Write what waits, so that a pipe that is closed says nothing when the process ends.

    Raises:
        OSError: it cannot be written.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except BrokenPipeError:
                silence(stream.fileno())


def is_terminal() -> bool:
    """Return whether somebody looks at the output, and no file or pipe keeps it."""
    return sys.stdout is not None and sys.stdout.isatty()


def holds(text: str) -> bool:
    """Return whether the output can show a text as it is.

    Args:
        text: to be shown.
    """
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


MOST_ROWS = 20
"""Rows of a table; the others are in the output with --json."""

out = Screen(highlight=False)


def escape(text: str) -> str:
    """A text as it is, on one line: no markup, and nothing that the terminal would obey."""
    return markup.escape(line(text))


def sets_words(number: int, kind: str) -> str:
    """Say how many sets there are, and of which kind."""
    return f"{number} {kind} sets" if number > 1 else "1 set"


LINE_SECONDS = 10.0
"""Where there is no terminal: seconds between lines, and before the first one."""


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress]:
    """Tell how far each stage is, and note it in the file that `UNDERSTUDY_PROGRESS` names.

    Args:
        quiet: whether nothing is shown.
    """
    with _show_progress(quiet=quiet) as tell:
        place = os.environ.get(PROGRESS_VARIABLE)
        yield _note_stages(tell, place) if place else tell


def _note_stages(tell: Progress, place: str) -> Progress:
    """The listener, which also adds a line to a file as a stage changes.

    Numbers of what is done are left out: they may be of rows.
    """
    noted = ""

    def note_and_tell(stage: str, done: int, total: int) -> None:
        nonlocal noted
        if stage != noted:
            noted = stage
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            entry = json.dumps({"time": now, "stage": stage}) + "\n"
            with suppress(OSError):  # nobody may watch any more
                flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
                with open(os.open(place, flags), "a", encoding="utf-8") as file:
                    file.write(entry)
        tell(stage, done, total)

    return note_and_tell


@contextmanager
def _show_progress(*, quiet: bool) -> Iterator[Progress]:
    """Tell how far each stage is, and what should be known before anything is spent, unless quiet.

    A bar for each stage, with elapsed and remaining time, on whichever of the error stream and the
    output is a terminal: `make` and shells often redirect one of them. Where neither is (a log of
    `make`, a pipe, a server), a plain line every ten seconds, so that short work says nothing.
    """
    watched = next(
        (console for console in (Screen(stderr=True), Screen()) if _can_draw(console)), None
    )
    plain = Screen(stderr=True, highlight=False, markup=False, soft_wrap=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default", UnderstudyWarning)
        warnings.showwarning = _told_by(plain, warnings.showwarning)
        if quiet:
            yield lambda _stage, _done, _total: None
        elif watched is None:
            yield lines_of(plain.print)
        else:
            with _bars(watched) as tell:
                yield tell


def _told_by(console: Console, usual: Callable[..., None]) -> Callable[..., None]:
    """Show our own warnings as a line, and others as usual."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, UnderstudyWarning):
            console.print(line(str(message)))
        else:
            usual(message, category, *where, **more)

    return show


def _can_draw(console: Console) -> bool:
    """Return whether a console is a terminal that can draw over what it has drawn."""
    return console.is_terminal and not console.is_dumb_terminal


@contextmanager
def _bars(console: Console) -> Iterator[Progress]:
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        *(SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn()),
        *(TimeElapsedColumn(), TimeRemainingColumn()),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console) as bars:

        def tell(stage: str, done: int, total: int) -> None:
            name = _name(stage)
            whole = None if total == 1 and not done else total
            if name not in tasks:
                tasks[name] = bars.add_task(stage, total=whole)
            bars.update(tasks[name], description=stage, completed=done, total=whole)

        yield tell


def lines_of(
    write: Callable[[str], object], clock: Callable[[], float] = time.monotonic
) -> Progress:
    """A listener that writes a line at most every `LINE_SECONDS`.

    Args:
        write: takes a line.
        clock: seconds.
    """
    begun = last = clock()

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if now - last >= LINE_SECONDS:
            last = now
            share = f": {done:,} of {total:,}" if total > 1 and stage == _name(stage) else ""
            write(f"{stage}{share} ({now - begun:.0f} s)")

    return tell


def _name(stage: str) -> str:
    """A stage without what changes meanwhile, which stands behind a comma."""
    return stage.partition(",")[0]
