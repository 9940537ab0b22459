"""Made-up rows of many columns, for timings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

import understudy as us


def made_up(n_rows: int, sizes: Sequence[int]) -> tuple[pl.DataFrame, us.Schema]:
    """Rows, and their schema with a public number of rows; each column is tied to one before it.

    Args:
        n_rows: how many.
        sizes: number of states of each column.
    """
    rng = np.random.default_rng(1)
    states: list[np.ndarray] = []
    for j, size in enumerate(sizes):
        fresh = (size * rng.random(n_rows) ** 3).astype(int)
        tied = states[rng.integers(j)] % size if j else fresh
        states.append(np.where(rng.random(n_rows) < 0.6, tied, fresh))
    columns = [
        f'[columns.x{j}]\nkind = "integer"\nlower = 0\nupper = {size - 1}\nbins = {size}\n'
        'reviewed = true\nsource = "codebook"\n'
        for j, size in enumerate(sizes)
    ]
    head = f'rows = "public"\nn_rows = {n_rows}\n'
    frame = pl.DataFrame({f"x{j}": column for j, column in enumerate(states)})
    return frame, us.Schema.loads(head + "".join(columns))
