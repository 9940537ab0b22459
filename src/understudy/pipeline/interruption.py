"""What whoever waits sees of long work, and how Ctrl-C ends it with a complete release.

Ctrl-C ends the rounds of a method that measures in rounds. The first Ctrl-C only notes the wish;
the method sees it between two rounds (`gate.stopping`) and ends with what it has paid for. The
second aborts, as the first does with any other method. When to stop is decided by whoever waits,
who has seen nothing but the clock and what was spent; it is no statistic of the rows.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # progress is named by the help of commands, which loads nothing heavy
    from understudy.families.method import Method

NOTICE = "Finishing with what was paid for; Ctrl-C again aborts (a checkpoint stays)"


@contextmanager
def ending_rounds(
    method: Method, tell: Callable[[str, int, int], None]
) -> Iterator[Callable[[], bool]]:
    """Catch the first Ctrl-C while this is open, for a method in rounds.

    Nothing is changed outside the main thread, or where the program has a handler of its own.

    Args:
        method: that measures.
        tell: is told that the rounds end, as a stage.

    Yields:
        Says whether Ctrl-C was pressed.
    """
    pressed = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            signal.default_int_handler(number, frame)
        pressed.set()
        tell(NOTICE, 0, 1)

    if not (method.rounds and _ours()):
        yield pressed.is_set
        return
    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, previous)


def _ours() -> bool:
    """Whether Ctrl-C comes here and means what it usually does."""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


Progress = Callable[[str, int, int], None]
"""Called with a stage, and how much of how much is done."""
