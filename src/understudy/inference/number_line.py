"""Answers about the numbers of one column from its number line, with the tables of its bins.

How both are put together: `inference.line_tables`.

**Which is taken** follows from public facts. A table leaves open where in a bin its records lie, up
to n/B of n records if B bins were alike; a line tells it up to noise, of which a number that cuts a
bin of m cells meets 1.96·σ·√m/2. The line is taken where that is less, and where there is no table.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from understudy._arrays import Z_95
from understudy.features.grids import Numeric, is_finer
from understudy.inference.conditions import are_told
from understudy.inference.counts import Counted, table_estimates
from understudy.inference.deviations import line_deviation
from understudy.inference.gini import line_gini
from understudy.inference.line_tables import bin_table, line_schema, line_table
from understudy.inference.noisy_tables import covering, line_of
from understudy.inference.quantiles import table_quantiles
from understudy.inference.question import RATIOS, Estimand
from understudy.inference.records import ABSENT, Records
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.schema import NUMERIC, Schema

REASON = (
    "computed from the released noisy counts of a fine histogram, whose noise is known exactly, "
    "not from the synthetic records"
)


def line_answer(estimand: Estimand, release: Release) -> tuple[Counted, Schema] | None:
    """The answer of a number line, and the schema in its cells; None where it has none to give.

    Args:
        estimand: the question.
        release: that it is asked of.

    Raises:
        InferenceError: the expression cannot be computed, or not record by record.
    """
    asked = (*RATIOS, "total", "quantile", "std", "gini")
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
    few = (
        bool(tables)
        and not _tells_more(line, fine, column, release.manifest.n_rows)
        and are_told(estimand, release.schema)
    )
    coarse = few or not is_finer(fine, column)
    if coarse and estimand.kind != "gini":
        return None
    if coarse and tables:
        cells, table = release.schema.part([name]), bin_table(tables, release.schema, name)
    else:
        table = line_table(line, tables, release.schema)
    measured = (line, *tables)
    counted: Counted
    if estimand.kind == "quantile":
        heavy = not all(one.family.is_gaussian for one in measured)
        counted = table_quantiles(estimand, table, cells, len(measured), heavy=heavy)
    elif estimand.kind in _BY_CELLS:
        known = Records.complete_of(release.tables[0], release.schema, (name,))
        scores = estimand.scores(known)
        counts = scores.quantity != ABSENT
        shown = scores.value[counts] if counts.any() else np.zeros(1)
        counted = _BY_CELLS[estimand.kind](estimand, table, cells, len(measured), shown)
    else:
        counted = table_estimates(estimand, table, cells, len(measured))
    return counted, cells


_BY_CELLS: Final = {"std": line_deviation, "gini": line_gini}
"""Kinds that are not linear in the counts."""


def _tells_more(line: Measurement, fine: Numeric, coarse: Numeric, n_rows: int) -> bool:
    """Return whether a line tells more of a number within a bin than that it is there."""
    cells, bins = (
        sum(not interval.spike for interval in column.intervals) for column in (fine, coarse)
    )
    return Z_95 * line.stddev * math.sqrt(cells / bins) / 2 < n_rows / bins
