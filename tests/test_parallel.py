"""Work side by side: order, counts, and what is said when a process dies.

The work is `list`: what other processes do must be importable there, which a test is not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from understudy._parallel import each, in_chunks
from understudy.errors import InferenceError, MethodError


class Deadly:
    """Ends the process that unpacks it."""

    def __reduce__(self):
        return os._exit, (1,)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_stand_in_the_order_of_the_items_whatever_the_number_of_processes(workers):
    told = []
    found = in_chunks(list, range(40), workers=workers, done=told.append, error=MethodError)
    assert found == list(range(40))
    assert told == sorted(told)
    assert told[-1] == 40
    assert len(told) > 1


def test_nothing_to_do_is_nothing():
    assert in_chunks(list, [], workers=1, done=print, error=MethodError) == []


@pytest.mark.parametrize("error", [MethodError, InferenceError])
def test_a_process_that_dies_is_an_error_of_the_caller(error):
    with pytest.raises(error, match="ended from outside, perhaps for want of memory"):
        in_chunks(list, [Deadly()] * 4, workers=2, done=print, error=error)


def test_threads_keep_the_order():
    assert each(lambda k: k**2, range(50)) == [k**2 for k in range(50)]


FORKED = """
import multiprocessing
from understudy.errors import UnderstudyError
from understudy._parallel import require_threads
def ask(used):
    try:
        require_threads()
    except UnderstudyError as error:
        return str(error)
with multiprocessing.get_context("fork").Pool(1) as early:
    assert early.apply(ask, (1,)) is None
require_threads()
with multiprocessing.get_context("fork").Pool(1) as late:
    print(late.apply(ask, (1,)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_a_child_that_was_forked_after_use_is_refused_and_does_not_hang():
    run = [sys.executable, "-c", FORKED]
    assert 'start it by the method "spawn"' in subprocess.check_output(run, text=True)


ORPHANS = """
import os, time
from understudy._parallel import pool
with pool(2) as processes:
    for one in [processes.submit(os.getpid) for _ in range(8)]:
        one.result()
    for one in [processes.submit(time.sleep, 600) for _ in range(2)]:
        pass
    print(*processes._processes, flush=True)
    time.sleep(600)
"""


def alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{number}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc")
def test_processes_end_with_a_parent_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE) as parent:
        numbers = [int(text) for text in parent.stdout.readline().split()]
        assert numbers
        assert all(map(alive, numbers))
        parent.send_signal(signal.SIGKILL)
    while any(map(alive, numbers)):  # which hangs, and fails by that, if one does not end
        time.sleep(0.05)
