"""Which process this is, also where numbers of processes repeat.

What must not be used twice (a stream of noise, a budget) belongs to the process that made it. A
forked child has a copy of it. Numbers tell the child from its parent but for two cases: a number
that is used again, and a child in a new PID namespace, in which counting starts again. So forks are
also counted by the interpreter itself: it calls back in each child before any other code runs. The
number is kept beside the count, for forks that the interpreter does not see.
"""

from __future__ import annotations

import os

_forks = [0]


def this_process() -> tuple[int, int]:
    """A value that differs between a process and every fork of it."""
    return os.getpid(), _forks[0]


def _count_fork() -> None:
    _forks[0] += 1


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_count_fork)
