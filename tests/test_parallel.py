"""Work side by side: order, counts, and what is said when a process dies.

The work is `list`: what other processes do must be importable there, which a test is not.
"""

from __future__ import annotations

import os

import pytest

from understudy.errors import InferenceError, MethodError
from understudy.parallel import each, in_chunks


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
