"""One thread per fit, several fits at once.

The fits are many and small: libraries that split each of them over all processors wait for each
other more than they compute, and badly so on a machine that is busy with other work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits

T = TypeVar("T")
S = TypeVar("S")


def single_threaded() -> AbstractContextManager[object]:
    """Within it, numerical libraries use one thread in each thread that calls them."""
    return cast(AbstractContextManager[object], threadpool_limits(limits=1))


def each(function: Callable[[T], S], items: Iterable[T]) -> list[S]:
    """Results of a function for each item, computed side by side, in the order of the items.

    Worth while for functions that spend their time in compiled code outside the interpreter's lock.
    """
    with (
        single_threaded(),
        ThreadPoolExecutor(os.cpu_count(), initializer=_single) as pool,
    ):
        return list(pool.map(function, items))


def _single() -> None:
    threadpool_limits(limits=1)  # OpenMP counts for each calling thread by itself
