"""Answers about the numbers of one column from its number line, with the tables of its bins.

How both are put together: `inference.line_tables`.

**Which is taken** follows from public facts. A table leaves open where in a bin its records lie, up
to n/B of n records if B bins were alike; a line tells it up to noise, of which a number that cuts a
bin of m cells meets 1.96·σ·√m/2. The line is taken where that is less, and where there is no table.
"""

from __future__ import annotations

import math

from understudy.features.grids import Numeric, is_finer
from understudy.inference.conditions import are_told
from understudy.inference.counts import Counted, table_estimates
from understudy.inference.deviations import line_deviation
from understudy.inference.line_tables import line_schema, line_table
from understudy.inference.noisy_tables import covering, line_of
from understudy.inference.quantiles import table_quantiles
from understudy.inference.question import RATIOS, Estimand
from understudy.inference.records import Records
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.schema import NUMERIC, Schema

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
    asked = (*RATIOS, "total", "quantile", "std")
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
    if few or not is_finer(fine, column):
        return None
    table = line_table(line, tables, release.schema)
    if estimand.kind == "quantile":
        heavy = not all(one.family.is_gaussian for one in (line, *tables))
        return table_quantiles(estimand, table, cells, 1 + len(tables), heavy=heavy), cells
    if estimand.kind == "std":
        records = Records.complete_of(release.tables[0], release.schema, (name,))
        shown = float(estimand.scores(records).value.var()) if len(records.complete()) else 0.0
        return line_deviation(estimand, table, cells, 1 + len(tables), shown), cells
    return table_estimates(estimand, table, cells, 1 + len(tables)), cells


def _tells_more(line: Measurement, fine: Numeric, coarse: Numeric, n_rows: int) -> bool:
    """Return whether a line tells more of a number within a bin than that it is there."""
    cells, bins = (
        sum(not interval.spike for interval in column.intervals) for column in (fine, coarse)
    )
    return 1.96 * line.stddev * math.sqrt(cells / bins) / 2 < n_rows / bins
