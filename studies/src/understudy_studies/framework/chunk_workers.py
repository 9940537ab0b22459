"""Worker processes: each simulates chunks with one thread, and writes what it has finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from understudy._parallel import one_thread_each
from understudy._parallel import pool as new_pool
from understudy.errors import StudyError
from understudy_studies.framework import chunk_files
from understudy_studies.framework.chunk_files import Chunk
from understudy_studies.framework.study import Row

Run = Callable[[Any, int, int], list[Row]]
Work = tuple[Any, Chunk]
"""A scenario, and one chunk of it."""


def simulate(
    run: Run, work: Sequence[Work], folder: Path, *, jobs: int, done: Callable[[Chunk], None]
) -> None:
    """Simulate chunks in processes; each chunk is written by the process that finished it.

    A lone job has a process of its own too: so every chunk is computed with one thread, and sums
    come out alike to the last digit whatever the number of jobs.

    Args:
        run: simulates the repetitions of a chunk.
        work: scenarios with their chunks.
        folder: where finished chunks go.
        jobs: number of processes.
        done: called with each chunk that is finished.

    Raises:
        StudyError: a process was ended from outside.
        KeyboardInterrupt: after the chunks that were under way are finished and written.
    """
    with one_thread_each(), new_pool(min(jobs, len(work))) as pool:
        try:
            futures: dict[Future[None], Chunk] = {
                pool.submit(simulate_one, run, scenario, chunk, folder): chunk
                for scenario, chunk in work
            }
            for future in as_completed(futures):
                future.result()
                done(futures[future])
        except BrokenProcessPool:
            raise StudyError(
                "A worker process was ended from outside, perhaps for want of memory; finished "
                "chunks are kept. Run the same command again, with fewer jobs."
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def simulate_one(run: Run, scenario: Any, chunk: Chunk, folder: Path) -> None:
    """Simulate a chunk and write it."""
    start = time.perf_counter()
    rows = run(scenario, chunk.repetitions, chunk.entropy)
    chunk_files.write(folder, chunk, rows, time.perf_counter() - start)
