"""Which measurements are full tables of some columns; loads no library of statistics."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.release import Measurement
from understudy.release.measurement_content import Kind

MOST_CELLS = 2**20


def covers(measurement: Measurement, columns: Sequence[str]) -> bool:
    """Whether a measurement is an unbiased full table over at least these columns.

    In the schema's own bins and states, and with noise that was not redrawn until it fell within
    limits, which is not centred.
    """
    known = set(measurement.columns) - set(measurement.bins) - set(measurement.groups)
    centred = not measurement.family.is_truncated
    return measurement.kind is Kind.TABLE and centred and set(columns) <= known
