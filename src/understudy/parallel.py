"""Work side by side: threads for small fits, processes for long work, each with one thread.

Libraries that split each of many small fits over all processors wait for each other more than they
compute, and badly so on a machine that is busy with other work. Processes are deaf to Ctrl-C, which
is for their parent.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits

from understudy.errors import UnderstudyError

T = TypeVar("T")
S = TypeVar("S")

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Processes that are started meanwhile have one thread in every numerical library.

    The libraries read these variables when they are loaded, so a process must be born with them.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def single_threaded() -> AbstractContextManager[object]:
    """Within it, numerical libraries use one thread in each thread that calls them."""
    return cast(AbstractContextManager[object], threadpool_limits(limits=1))


def each(function: Callable[[T], S], items: Iterable[T]) -> list[S]:
    """Results of a function for each item, computed in threads, in the order of the items.

    Worth while for functions that spend their time in compiled code outside the interpreter's lock.
    """
    with (
        single_threaded(),
        ThreadPoolExecutor(os.cpu_count(), initializer=_single) as threads,
    ):
        return list(threads.map(function, items))


def in_chunks(
    work: Callable[[Sequence[T]], list[S]],
    items: Sequence[T],
    *,
    workers: int,
    done: Callable[[int], None],
    error: type[UnderstudyError],
) -> list[S]:
    """Results of some work on all items, in their order: here, or in processes, by a few at a time.

    Args:
        work: what is done with some of the items; one result for each. Processes get it whole.
        items: what there is to do.
        workers: processes; with several, a script needs the guard `if __name__ == "__main__":`.
        done: called with how many items are finished.
        error: what is raised if a process is ended from outside.

    Raises:
        KeyboardInterrupt: after what is under way is finished.
    """
    if workers > 1:
        return _in_processes(work, items, workers, done, error)
    results: list[S] = []
    for item in items:
        results += work([item])
        done(len(results))
    return results


def _in_processes(
    work: Callable[[Sequence[T]], list[S]],
    items: Sequence[T],
    workers: int,
    done: Callable[[int], None],
    error: type[UnderstudyError],
) -> list[S]:
    size = max(1, len(items) // (8 * workers))  # each chunk takes all that the work needs along
    chunks = [items[start : start + size] for start in range(0, len(items), size)]
    results: dict[int, list[S]] = {}
    with one_thread_each(), pool(min(workers, len(chunks))) as processes:
        try:
            futures: dict[Future[list[S]], int] = {
                processes.submit(work, chunk): k for k, chunk in enumerate(chunks)
            }
            for future in as_completed(futures):
                results[futures[future]] = future.result()
                done(sum(map(len, results.values())))
        except BrokenProcessPool:
            raise error(
                "A process was ended from outside, perhaps for want of memory; take fewer workers. "
                "(A script that uses several needs the guard if __name__ == '__main__'.)"
            ) from None
        finally:
            processes.shutdown(wait=True, cancel_futures=True)
    return [result for k in range(len(chunks)) for result in results[k]]


def pool(jobs: int) -> ProcessPoolExecutor:
    """New processes, not forks: a fork copies locks that threads of this process may hold."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_leave_interrupts_to_parent)


def processors() -> int:
    """Processors that may be used."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _single() -> None:
    threadpool_limits(limits=1)  # OpenMP counts for each calling thread by itself


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
