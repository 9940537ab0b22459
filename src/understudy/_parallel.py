"""Work side by side: threads for small fits, processes for long work, each with one thread.

Libraries that split each of many small fits over all processors wait for each other more than they
compute, and badly so on a machine that is busy with other work. Processes are deaf to Ctrl-C, which
is for their parent, and end with it, in whatever way it does.

A fork copies one thread of a process, and the locks that all of them hold: the threads of Polars
and numba are gone in the child, and whatever waits for them waits for ever. So the processes here
are no forks, and a child that somebody else has forked is refused.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits

from understudy.errors import UnderstudyError

_threads_begun, _threads_lost = threading.Event(), threading.Event()

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


def require_threads() -> None:
    """Refuse a forked child whose parent had begun to use the threads of libraries.

    To be called where work with them begins.

    Raises:
        UnderstudyError: this process is such a child, and would hang.
    """
    if _threads_lost.is_set():
        raise UnderstudyError(
            "This process was forked from one that had used Understudy before, and would wait for "
            'ever for threads that only its parent has; start it by the method "spawn" or '
            '"forkserver" of multiprocessing.'
        )
    _threads_begun.set()


def _lose_threads() -> None:
    if _threads_begun.is_set():
        _threads_lost.set()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_lose_threads)


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
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_follow_parent)


def processors() -> int:
    """Processors that may be used."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _single() -> None:
    threadpool_limits(limits=1)  # OpenMP counts for each calling thread by itself


def _follow_parent() -> None:
    """Leave interrupts to the parent, and end when it does: a killed one ends nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
