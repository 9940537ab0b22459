"""Which measurements count every cell of some columns; loads no library of statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.release import Measurement
from understudy.release.measurement_kind import Kind

MOST_CELLS = 2**20
_CLEARLY = 4.0  # standard deviations


def covers(measurement: Measurement, columns: Sequence[str]) -> bool:
    """Whether a measurement is an unbiased full table over at least these columns.

    In the schema's own bins and states, and with noise that was not redrawn until it fell within
    limits, which is not centred.
    """
    own, coarse = measurement.columns, (measurement.bins, measurement.groups)
    return (
        measurement.kind is Kind.TABLE
        and all(name in own and not any(name in merged for merged in coarse) for name in columns)
        and not measurement.family.is_truncated
    )


def covering(
    measurements: Sequence[Measurement], columns: Sequence[str]
) -> tuple[Measurement, ...]:
    """The tables that count every cell of some columns, without those that lack records.

    A table over more columns lacks the records that are out of domain in these. Where it clearly
    lacks more than another one does, by the noisy numbers of them, it is left aside. The noise in
    these numbers is independent of that in cells, so the choice says nothing of the errors there.

    Args:
        measurements: of a release.
        columns: of a question.
    """
    found = tuple(one for one in measurements if covers(one, columns))

    def lacks_more(one: Measurement, other: Measurement) -> bool:
        return one.outside - other.outside > _CLEARLY * math.hypot(one.stddev, other.stddev)

    return tuple(one for one in found if not any(lacks_more(one, other) for other in found))


def line_of(measurements: Sequence[Measurement], name: str) -> Measurement | None:
    """The number line of a column, from all that have its cells; None where none was measured.

    Counts of the same cells, each with noise of its own, are averaged by precision. Lines of other
    cells than the most exact one are left aside.

    Args:
        measurements: of a release.
        name: of the column.
    """
    lines = [one for one in measurements if one.kind is Kind.LINE and one.columns == (name,)]
    if not lines:
        return None
    best = min(lines, key=lambda line: line.stddev)
    same = [line for line in lines if line.bins == best.bins]
    if len(same) == 1 or not best.stddev:
        return best
    precision = np.array([line.stddev**-2 for line in same])
    weights = precision / precision.sum()
    tailed = next((line for line in same if not line.family.is_gaussian), best)
    variance = float(1 / precision.sum())
    scale = math.sqrt(variance / 2) if tailed.family.is_laplace else variance
    return replace(
        tailed,  # noise that is normal in part only is taken for what has the heavier tails
        counts=weights @ np.stack([line.counts for line in same]),
        outside=float(weights @ [line.outside for line in same]),
        stddev=math.sqrt(variance),
        scale=str(scale),
    )
