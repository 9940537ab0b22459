"""Answers about the numbers of one column from its number line, with the tables of its bins.

How both are put together: `inference.number_line`.

**Which is taken** follows from public facts. A table leaves open where in a bin its records lie, up
to n/B of n records if B bins were alike; a line tells it up to noise, of which a number that cuts a
bin of m cells meets 1.96·σ·√m/2. The line is taken where that is less, and where there is no table.

**Counts of the fine cells of a number line, put together with the tables of its bins.**

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

import math
from collections.abc import Sequence

import numpy as np

from understudy.features.grids import LineCells, Numeric, coarse_states, is_finer
from understudy.inference.counts import Counted, table_estimates
from understudy.inference.noisy_tables import (
    Sources,
    Table,
    covering,
    line_of,
    marginal,
    pooled_table,
)
from understudy.inference.quantiles import table_quantiles
from understudy.inference.question import RATIOS, Estimand
from understudy.release import Measurement, Release
from understudy.schema import NUMERIC, Schema


def line_schema(line: Measurement, schema: Schema) -> Schema:
    """The column of a number line alone, in the bins of the line.

    Args:
        line: a number line.
        schema: of the release.
    """
    (name,) = line.columns
    alone = schema.part([name]).model_copy(update={"forbidden": ()})
    return line.binned(alone)


def line_table(line: Measurement, tables: Sequence[Measurement], schema: Schema) -> Table:
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
    return Table(mix @ numbers, mix**2 @ variances, Sources(mix, variances))


REASON = (
    "computed from the released noisy counts of a number line, whose noise is known exactly, not "
    "from the synthetic records"
)


def line_answer(estimand: Estimand, release: Release) -> tuple[Counted, Schema] | None:
    """The answer of a number line, and the schema in its cells; None where it has none to give.

    Args:
        estimand: the question.
        release: that it is asked of.

    Raises:
        InferenceError: the expression cannot be computed, or not record by record.
    """
    asked = (*RATIOS, "total", "quantile")
    if estimand.kind not in asked or not estimand.used or len(estimand.columns) > 1:
        return None
    (name,) = estimand.columns
    line = line_of(release.measurements, name)
    if line is None:
        return None
    cells = line_schema(line, release.schema)
    column, fine = release.schema.columns[name], cells.columns[name]
    assert isinstance(column, NUMERIC)
    assert isinstance(fine, NUMERIC)
    tables = covering(release.measurements, (name,))
    few = bool(tables) and not _tells_more(line, fine, column, release.manifest.n_rows)
    if few or not is_finer(fine, column):
        return None
    table = line_table(line, tables, release.schema)
    if estimand.kind == "quantile":
        heavy = not all(one.family.is_gaussian for one in (line, *tables))
        return table_quantiles(estimand, table, cells, 1 + len(tables), heavy=heavy), cells
    return table_estimates(estimand, table, cells, 1 + len(tables)), cells


def _tells_more(line: Measurement, fine: Numeric, coarse: Numeric, n_rows: int) -> bool:
    """Whether a line tells more of a number within a bin than that it is there."""
    cells, bins = (
        sum(not interval.spike for interval in column.intervals) for column in (fine, coarse)
    )
    return 1.96 * line.stddev * math.sqrt(cells / bins) / 2 < n_rows / bins
