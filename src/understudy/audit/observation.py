"""Everything that a release shows, as numbers with names.

Counts, totals and parameters, chosen columns, lines of the ledger, the number of rows, what the
synthetic sets hold, and in which order: whatever could tell one table of rows from another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.privacy.accounting.ledger import Entry
from understudy.privacy.released import Released
from understudy.release import Measurement

SETS = 2
"""Sets that are looked at; more show the same."""

Observation = dict[str, float]


def observed(
    n_rows: Released[int],
    measurements: Sequence[Measurement],
    tables: Sequence[pl.DataFrame],
    ledger: Sequence[Entry],
) -> Observation:
    """What one release shows.

    Args:
        n_rows: its number of rows.
        measurements: what it measured.
        tables: its synthetic sets.
        ledger: what it paid.
    """
    found = {"number of rows": float(n_rows.value), "ledger": float(len(ledger))}
    for place, entry in enumerate(ledger):
        found[f"ledger {place}: {entry.mechanism}, {entry.query}, {entry.cells}"] = 1.0
    for place, measurement in enumerate(measurements):
        found.update(_of_measurement(place, measurement))
    for place, table in enumerate(tables[:SETS]):
        found.update(_of_set(place, table))
    return found


def _of_measurement(place: int, measurement: Measurement) -> Iterator[tuple[str, float]]:
    """Its numbers; which columns it has is one of them, since these may have been chosen."""
    name = f"{place}: {measurement.kind.value} {' '.join(measurement.columns)}"
    yield name, 1.0
    yield f"{name}, outside", float(measurement.outside)
    yield f"{name}, cells", float(len(measurement.codes))
    for code, count in zip(measurement.codes.tolist(), measurement.counts.tolist(), strict=True):
        yield f"{name}, {code}", float(count)
    for key, value in (measurement.totals or {}).items():
        yield f"{name}, {key}", float(value)
    for column, groups in measurement.groups.items():
        yield f"{name}, groups of {column}: {groups}", 1.0
    for column, bins in measurement.bins.items():
        yield f"{name}, bins of {column}: {bins}", 1.0


def _of_set(place: int, table: pl.DataFrame) -> Iterator[tuple[str, float]]:
    """Records in each combination of values and of each value, sums, and where they stand."""
    yield f"set {place}", float(table.height)
    if not table.height:
        return
    texts = []
    for name in table.columns:
        values = table.get_column(name).to_list()
        if isinstance(values[0], float):
            given = [value for value in values if value is not None]
            yield f"set {place}, {name}: sum", float(sum(given))
            continue
        texts.append(values)
        for value, n in Counter(values).items():
            yield f"set {place}, {name}: {value}", float(n)
        yield f"set {place}, {name}: first is {values[0]}", 1.0
        yield f"set {place}, {name}: changes", float(np.count_nonzero(_changes(values)))
    if len(texts) > 1:
        for cell, n in Counter(zip(*texts, strict=True)).items():
            yield f"set {place}: {cell}", float(n)


def _changes(values: Sequence[object]) -> NDArray[np.bool_]:
    """Where a record has another value than the one before: sorted records have few of these."""
    return np.array([a != b for a, b in pairwise(values)], dtype=np.bool_)


def matrix(
    observations: Sequence[Observation], names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Observations as rows of a matrix; what one does not show is 0 there.

    Args:
        observations: of as many releases.
        names: of the columns; None for all that occur, in the order of their first sight.

    Returns:
        The names, and numbers of shape (releases, names).
    """
    if names is None:
        names = list(dict.fromkeys(name for one in observations for name in one))
    places = {name: k for k, name in enumerate(names)}
    values = np.zeros((len(observations), len(names)), dtype=np.float32)
    for row, one in enumerate(observations):
        for name, value in one.items():
            if name in places:
                values[row, places[name]] = value
    return tuple(names), values
