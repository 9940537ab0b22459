"""How far work is, as people see it: bars in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from understudy.cli.terminal.streams import Screen

if TYPE_CHECKING:
    from understudy.pipeline.interruption import Progress

LINE_SECONDS = 10.0
"""Where there is no terminal: seconds between lines, and before the first one."""


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress]:
    """Tell how far each stage is, unless quiet.

    A bar for each stage, with elapsed and remaining time, on whichever of the error stream and the
    output is a terminal: `make` and shells often redirect one of them. Where neither is (a log of
    `make`, a pipe, a server), a plain line every ten seconds, so that short work says nothing.
    """
    watched = next(
        (console for console in (Screen(stderr=True), Screen()) if _can_draw(console)), None
    )
    if quiet:
        yield lambda _stage, _done, _total: None
    elif watched is None:
        lines = Screen(stderr=True, highlight=False, markup=False, soft_wrap=True)
        yield lines_of(lines.print)
    else:
        with _bars(watched) as tell:
            yield tell


def _can_draw(console: Console) -> bool:
    """Whether a console is a terminal that can draw over what it has drawn."""
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
