"""The compiled steps of chains; their distribution and why they are exact: `gibbs_chain`.

`cursor` holds the index of the next word. Past the end words read as 0, and the step is dropped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise.rejection_sampling import compiled, word_below

__all__ = ["run"]

_Integers = NDArray[np.int64]
_Words = NDArray[np.uint64]
_Tables = tuple[_Integers, _Integers, NDArray[np.int32], _Integers, _Integers, int]
"""Keys, first cells, states, records before each cell, weights of rows, and k."""
_Shape = tuple[_Integers, _Integers, _Integers, _Words, _Integers, NDArray[np.bool_], _Integers]
"""First row of each table, sizes, strides, which rules states can complete (`chains`), and running
sums of the weights of each column's states; none where these do not differ within a row."""


@compiled
def _place(keys: _Integers, low: int, high: int, key: int) -> int:
    """Where a key stands among keys[low:high], ascending; −1 if it does not (kernel)."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < end and keys[low] == key else -1


@compiled
def _behind(ascending: _Integers, low: int, high: int, token: int) -> int:
    """The first of ascending[low:high] above a token, of which there is one (kernel)."""
    while low < high - 1:
        middle = (low + high - 1) >> 1
        if ascending[middle] > token:
            high = middle + 1
        else:
            low = middle + 1
    return low


@compiled
def _weighted_state(
    words: _Words,
    cursor: _Integers,
    row: int,
    edges: _Integers,
    tables: _Tables,
) -> int:
    """A state where all are open, and weights differ by state (kernel)."""
    _, first, states, before, _, shift = tables
    prior, real, low, high = edges[-1], 0, 0, 0
    if row >= 0:
        low, high = first[row], first[row + 1]
        real = before[high] - before[low]
    token = word_below(words, cursor, prior + (real << shift))
    if token < prior:
        return _behind(edges, 0, edges.size, token)
    record = before[low] + ((token - prior) >> shift)
    return states[_behind(before, low + 1, high + 1, record) - 1]  # type: ignore[no-any-return]


@compiled
def _weighted_open_state(
    source: tuple[_Words, _Integers],
    row: int,
    edges: _Integers,
    is_open: NDArray[np.bool_],
    tables: _Tables,
) -> int:
    """A state among the open ones, and weights differ by state (kernel)."""
    words, cursor = source
    _, first, states, before, _, shift = tables
    size = is_open.size
    weights = np.zeros(size, dtype=np.int64)
    for state in range(size):
        if is_open[state]:
            weights[state] = edges[state] - (edges[state - 1] if state else 0)
    if row >= 0:
        for cell in range(first[row], first[row + 1]):
            if is_open[states[cell]]:
                weights[states[cell]] += (before[cell + 1] - before[cell]) << shift
    token = word_below(words, cursor, weights.sum())
    for state in range(size):
        token -= weights[state]
        if token < 0:
            return state
    return 0


@compiled
def _any_state(
    words: _Words,
    cursor: _Integers,
    row: int,
    size: int,
    tables: _Tables,
) -> int:
    """A state where all are open (kernel)."""
    _, first, states, before, weights, shift = tables
    if row < 0 or weights[row] < 0:
        return word_below(words, cursor, size)
    low, high = first[row], first[row + 1]
    prior = size * weights[row]
    token = word_below(words, cursor, prior + ((before[high] - before[low]) << shift))
    if token < prior:
        return token // weights[row]  # type: ignore[no-any-return]
    record = before[low] + ((token - prior) >> shift)
    while high - low > 1:  # the cell that holds this record
        middle = (low + high) >> 1
        if before[middle] <= record:
            low = middle
        else:
            high = middle
    return states[low]  # type: ignore[no-any-return]


@compiled
def _open_state(
    words: _Words,
    cursor: _Integers,
    row: int,
    is_open: NDArray[np.bool_],
    tables: _Tables,
) -> int:
    """A state among the open ones, of which there is at least one (kernel)."""
    _, first, states, before, weights, shift = tables
    n_open, real, weight = is_open.sum(), 0, 1
    low, high = 0, 0
    if row >= 0 and weights[row] >= 0:
        low, high = first[row], first[row + 1]
        for cell in range(low, high):
            if is_open[states[cell]]:
                real += before[cell + 1] - before[cell]
        weight = weights[row] if real > 0 else 1
    token = word_below(words, cursor, n_open * weight + (real << shift))
    if token < n_open * weight:
        rank = token // weight
        for state in range(is_open.size):
            rank -= is_open[state]
            if rank < 0:
                return state
    record = (token - n_open * weight) >> shift
    for cell in range(low, high):
        if is_open[states[cell]]:
            record -= before[cell + 1] - before[cell]
            if record < 0:
                return states[cell]  # type: ignore[no-any-return]
    return 0


@compiled
def _open_states(
    record: _Integers, column: int, size: int, marks: _Words, offsets: _Integers
) -> NDArray[np.bool_]:
    """Which states of a column complete no rule, the others being as they are (kernel)."""
    is_open = np.ones(size, dtype=np.bool_)
    for w in range(marks.shape[1]):
        live = ~np.uint64(0)
        for j in range(record.size):
            if j != column:
                live &= marks[offsets[j] + record[j], w]
        if live != 0:
            for state in range(size):
                if live & marks[offsets[column] + state, w] != 0:
                    is_open[state] = False
    return is_open


@compiled
def _step(
    source: tuple[_Words, _Integers],
    record: _Integers,
    at: tuple[int, int],
    tables: _Tables,
    shape: _Shape,
) -> int:
    """The new state of a column, from a row (kernel)."""
    words, cursor = source
    column, row = at
    _, sizes, _, marks, offsets, ruled, all_edges = shape
    size = sizes[column]
    edges = all_edges[offsets[column] : offsets[column] + size]
    if ruled[column]:
        is_open = _open_states(record, column, size, marks, offsets)
        if not is_open.all():
            if edges.size:
                return _weighted_open_state((words, cursor), row, edges, is_open, tables)
            return _open_state(words, cursor, row, is_open, tables)
    if edges.size:
        return _weighted_state(words, cursor, row, edges, tables)
    return _any_state(words, cursor, row, size, tables)


@compiled
def _start(
    seeds: _Integers, chain: int, record: _Integers, keys: _Integers, strides: _Integers
) -> None:
    """Take a seed as the current record, and compute its keys (kernel)."""
    record[:] = seeds[:, chain]
    keys[:] = 0
    for i in range(record.size):
        for j in range(record.size):
            keys[i] += strides[i, j] * record[j]


@compiled
def run(
    words: _Words,
    so_far: tuple[_Integers, _Integers, _Integers, _Integers, _Integers, _Integers],
    tables: _Tables,
    shape: _Shape,
    how: tuple[int, int, bool],
) -> int:
    """Go on from record, sweep and column `at` until all is drawn or words end (kernel).

    Returns:
        How many words were used by complete steps.
    """
    at, record, keys, last, drawn, seeds = so_far
    length, sweeps, resetting = how
    first_row, strides = shape[0], shape[2]
    cursor = np.zeros(1, dtype=np.int64)
    d = record.size
    while at[0] < drawn.shape[1]:
        chain, column = at[0] // length, at[2]
        if at[0] % length == 0 and at[1] == 0 and column == 0:
            _start(seeds, chain, record, keys, strides)
        start = cursor[0]
        row = _place(tables[0], first_row[column], first_row[column + 1], keys[column])
        used = row < 0 or (resetting and last[row] == chain)
        state = _step((words, cursor), record, (column, -1 if used else row), tables, shape)
        if cursor[0] > words.size:
            return start  # type: ignore[no-any-return]
        if row >= 0:
            last[row] = chain
        change = state - record[column]
        record[column] = state
        for i in range(d):
            keys[i] += strides[i, column] * change
        at[2] += 1
        if at[2] == d:
            at[1], at[2] = at[1] + 1, 0
        if at[1] == sweeps:
            drawn[:, at[0]] = record
            at[0], at[1] = at[0] + 1, 0
    return cursor[0]  # type: ignore[no-any-return]
