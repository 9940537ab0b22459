"""How many records of a set clipping, thresholds and priors misplaced.

Negative noisy counts are set to 0, cells below a threshold are left out, a prior adds records
everywhere: what a set is drawn from has another mass than the unbiased counts behind it. The share
of records that this puts into cells, or takes out of them, biases all sets alike, so that their
differences do not show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from understudy.domain.network import Edge
from understudy.release import Measurement
from understudy.release.measurement_kind import Kind
from understudy.schema import Schema

_DISTORTING = (
    *(Kind.TABLE, Kind.CELLS, Kind.TOTALS),
    *(Kind.LEAF_SUMS, Kind.DRAWS, Kind.DISTRIBUTION),
)
"""Kinds of measurements that say how many records are misplaced."""


def distortion(
    measured: Sequence[Measurement],
    columns: Sequence[str],
    n_rows: int,
    schema: Schema,
    *,
    prior: float = 0.0,
    network: Sequence[Edge] | None = None,
) -> float:
    """Share of a set's records that clipping, a threshold or a prior misplaced, estimated, 0 to 1.

    Mean over the measurements of one table (one for each split set). The least over several tables
    that cover the columns, as what is drawn keeps to the best of them; in a network the sum over
    the tables of the columns and of all that they descend from. 0 if no table covers them.

    Args:
        measured: what was released.
        columns: names of the columns in question; all of them, if records are drawn from the cells
            of the full table alone.
        n_rows: number of rows, as declared or released.
        schema: the public schema.
        prior: records that the method adds to each cell.
        network: the network that sets are drawn from, if it is one.
    """
    return distorted(misplaced(measured, n_rows, schema, prior=prior), columns, network=network)


def misplaced(
    measured: Sequence[Measurement], n_rows: int, schema: Schema, *, prior: float = 0.0
) -> dict[frozenset[str], float]:
    """What share each table misplaced, by its columns; arguments as in `distortion`."""
    shares: dict[frozenset[str], list[float]] = {}
    for measurement in measured:
        if measurement.kind in _DISTORTING:
            share = _misplaced(measurement, n_rows, schema, prior)
            shares.setdefault(frozenset(measurement.columns), []).append(share)
    return {table: sum(several) / len(several) for table, several in shares.items()}


def distorted(
    shares: Mapping[frozenset[str], float],
    columns: Sequence[str],
    *,
    network: Sequence[Edge] | None = None,
) -> float:
    """`distortion` of some columns, from what each table `misplaced`."""
    if network is None:
        return _least(shares, columns)
    needed = ancestors(network, columns)
    families = [(column, *parents) for column, parents in network if column in needed]
    return min(1.0, sum(_least(shares, family) for family in families))


def _least(shares: Mapping[frozenset[str], float], columns: Sequence[str]) -> float:
    """The least share among the tables that cover some columns."""
    return min((share for table, share in shares.items() if set(columns) <= table), default=0.0)


def _misplaced(measurement: Measurement, n_rows: int, schema: Schema, prior: float) -> float:
    """With P the mass that records are drawn from and Y the unbiased number of records: 1 - Y/P.

    For a full table Y is the sum of all noisy counts and P that of the positive ones; for totals
    of a table that was never written out, Y is the number of rows. A filtered table has gained the
    mass S of empty cells that noise alone lifted over the threshold, known in expectation, and lost
    cells below it: the larger of the shares S/P and 1 - (P - S)/n. What a prior adds to each cell
    of a full table, or to the rows, is misplaced too. Of a distribution that the exponential
    mechanism chose no bias is known, only the size of its error, so that stands for it.
    """
    if measurement.kind is Kind.DISTRIBUTION:
        return min(1.0, measurement.stddev / max(n_rows, 1))
    if measurement.kind is Kind.DRAWS:
        urn = measurement.totals or {}
        return _share(n_rows, n_rows + urn["prior"] * urn["cells"])
    if measurement.kind in (Kind.TOTALS, Kind.LEAF_SUMS):
        mass = (measurement.totals or {}).get("positive_mass", 0.0)
        return _share(n_rows, mass)
    counts = measurement.counts
    mass = float(counts[counts > 0].sum())
    if measurement.family.is_truncated:  # its noise is not centred where counts are small
        return _share(n_rows, mass)
    if measurement.kind is Kind.CELLS:
        real = mass - _spurious(measurement, schema)
        return max(_share(real, mass), _share(real, n_rows))
    return _share(float(counts.sum()), mass + prior * _n_allowed(measurement, schema))


def _n_allowed(measurement: Measurement, schema: Schema) -> int:
    return measurement.domain(schema).n_allowed


def _spurious(measurement: Measurement, schema: Schema) -> float:
    """Expected mass of empty cells that noise alone lifted over the threshold."""
    scale, least = float(Fraction(measurement.scale)), float(measurement.threshold or 0)
    # A Laplace-type tail: half of it lies above 0, and it exceeds any threshold by one scale.
    return _n_allowed(measurement, schema) * 0.5 * math.exp(-least / scale) * (least + scale)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, 1 - part / whole)) if whole > 0 else 1.0


def ancestors(network: Sequence[Edge], columns: Iterable[str]) -> set[str]:
    """Some columns and all that they descend from.

    Args:
        network: each column with its parents, which stand before it.
        columns: names.

    Example:
        >>> sorted(ancestors((("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ())), ["c"]))
        ['a', 'b', 'c']
    """
    needed = set(columns)
    for column, parents in reversed(network):
        if column in needed:
            needed.update(parents)
    return needed
