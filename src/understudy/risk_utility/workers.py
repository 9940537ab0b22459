"""Repetitions in this process or in several; what they find does not depend on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool

from understudy.errors import MethodError
from understudy.parallel import one_thread_each, pool
from understudy.risk_utility.repetition import Outcome, Task, Trial, run_some

Done = Callable[[int], None]


def run_all(trial: Trial, tasks: Sequence[Task], *, workers: int, done: Done) -> list[Outcome]:
    """Outcomes of all tasks, in their order.

    Args:
        trial: rows and design.
        tasks: points with the numbers of their repetitions.
        workers: processes; with several, a script needs the guard `if __name__ == "__main__":`.
        done: called with how many tasks are finished.

    Raises:
        MethodError: a process was ended from outside.
        KeyboardInterrupt: after what is under way is finished.
    """
    if workers == 1:
        found = []
        for task in tasks:
            found += run_some(trial, [task])
            done(len(found))
        return found
    return _in_processes(trial, tasks, workers, done)


def _in_processes(trial: Trial, tasks: Sequence[Task], workers: int, done: Done) -> list[Outcome]:
    chunks = list(_chunks(tasks, workers))
    found: dict[int, list[Outcome]] = {}
    with one_thread_each(), pool(min(workers, len(chunks))) as processes:
        try:
            futures: dict[Future[list[Outcome]], int] = {
                processes.submit(run_some, trial, chunk): k for k, chunk in enumerate(chunks)
            }
            for future in as_completed(futures):
                found[futures[future]] = future.result()
                done(sum(map(len, found.values())))
        except BrokenProcessPool:
            raise MethodError(
                "A process was ended from outside, perhaps for want of memory; take fewer workers. "
                "(A script that uses several needs the guard if __name__ == '__main__'.)"
            ) from None
        finally:
            processes.shutdown(wait=True, cancel_futures=True)
    return [one for k in range(len(chunks)) for one in found[k]]


def _chunks(tasks: Sequence[Task], workers: int) -> Iterator[Sequence[Task]]:
    """A few tasks at a time: each chunk takes the rows along to its process."""
    size = max(1, len(tasks) // (8 * workers))
    for start in range(0, len(tasks), size):
        yield tasks[start : start + size]
