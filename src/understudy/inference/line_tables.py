"""Counts of the fine cells of a number line, put together with the tables of its bins.

A number line has noisy counts of fine cells (`understudy.features.grids`), a table of the
column has counts of its bins, with independent noise and less of it. Both are unbiased, and a bin
is the sum of its cells, so generalised least squares puts them together: with y_j the count of cell
j, v_j its variance, V the sum of these over the bin, T the count of the bin and u its variance,

    N̂_j = y_j + v_j/(V + u)·(T − Σ y),

the sum over a bin being the average of T and Σ y by inverse variance. What is beyond the bounds
counts as the bound, as in the table: its cells are added to those that hold the bounds. As noise of
cells then goes together, it is kept by its sources: N̂ = mix·(line, table).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.features.grids import LineCells, coarse_states
from understudy.inference.noisy_tables import Counts, Sources, marginal, pooled_table
from understudy.release.measurement import Measurement
from understudy.schema import NUMERIC, Schema


def line_schema(line: Measurement, schema: Schema) -> Schema:
    """The column of a number line alone, in the bins of the line.

    Args:
        line: a number line.
        schema: of the release.
    """
    (name,) = line.columns
    alone = schema.part([name]).model_copy(update={"forbidden": ()})
    return line.bin_schema(alone)


def line_table(line: Measurement, tables: Sequence[Measurement], schema: Schema) -> Counts:
    """Counts of the states of a column in the bins of its line, from all that was measured of it.

    Args:
        line: a number line.
        tables: full tables that cover its column; may be none.
        schema: of the release.
    """
    (name,) = line.columns
    fine, coarse = line_schema(line, schema).columns[name], schema.columns[name]
    assert isinstance(fine, NUMERIC)
    assert isinstance(coarse, NUMERIC)
    fold = np.eye(fine.size, fine.size + 2)
    fold[LineCells(fine).ends, (fine.size, fine.size + 1)] = 1.0
    numbers, variances = line.counts.astype(np.float64), np.full(fine.size + 2, line.stddev**2)
    mix = fold
    if tables:
        table = pooled_table([marginal(one, (name,), schema) for one in tables])
        inside = np.equal.outer(np.arange(coarse.size), coarse_states(fine, coarse))
        own = fold @ variances
        share = (inside * own / (inside @ own + table.variances)[:, np.newaxis]).T
        mix = np.hstack([fold - share @ (inside @ fold), share])
        numbers = np.concatenate([numbers, table.counts])
        variances = np.concatenate([variances, table.variances])
    return Counts(mix @ numbers, mix**2 @ variances, Sources(mix, variances))


def bin_table(tables: Sequence[Measurement], schema: Schema, name: str) -> Counts:
    """Counts of the states of a column by its tables, with the sources of their noise.

    Args:
        tables: full tables that cover it.
        schema: of the release.
        name: of the column.
    """
    found = pooled_table([marginal(one, (name,), schema) for one in tables])
    return replace(found, sources=Sources(np.eye(len(found.counts)), found.variances))
