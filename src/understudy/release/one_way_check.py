"""A check that synthetic records have the one-way tables that were measured, in units of noise.

Records are drawn from a model of noisy tables. A model that did not come to fit them, or records
that were drawn again until no rule forbade them, may contradict a table that is known nearly
without noise, and nothing in the records shows it. So every set is compared with what was measured
of each column by itself; where that was not measured, with the sums of the least noisy table that
has it. This takes released values and known noise alone: it is post-processing, and whoever has
the folder can do it again.

**What noise and chance explain.** Let a set of n records have the share p of a state, of which y
records were measured with noise of variance v, N being the number of records and u how many were
out of domain. Then N·p and y·N/(N − u) differ by

* the noise of y, and by as much again, since the fit has an error of its own, and by what noise
  each set has of its own: variance 2v, 3v where noise is drawn again for each of several sets;
* the noise of u and N, p times;
* the chance of n draws: √(N²·p(1 − p)/n), at most. Most methods draw more evenly than that.

Three things are asked of a column: each state; of an ordered one, all values up to each; and the
sum of squares of all states in units of these variances, for what is spread over many of them.

**False alarms.** Limits hold with a chance of `ALARM` over all that is asked of a release: tails of
the law of the noise (Gaussian, or Laplace) and of binomial counts (Bernstein), added up over the
questions. A method that lets its fit stay farther from a table than that table's own noise would
raise more; `tests/contract` runs every method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.release.measurement import Measurement
from understudy.release.shape import Kind
from understudy.schema import Schema, is_ordered

ALARM: Final = 1e-3
"""Chance of a release that something is noted of it although it is as it should be."""
_NAMED: Final = 8
"""Columns that the note names."""
_FIT = 1.0
"""Variance that the error of a fit may have, in parts of that of the noise."""


@dataclass(frozen=True)
class Contradiction:
    """A column whose records contradict what was measured of it.

    Attributes:
        column: its name.
        distance: share of the records of a set, the worst one, that would have to have another
            value for the measured table to hold: half of the summed differences.
        noise: the same as noise and chance are expected to make it.
    """

    column: str
    distance: float
    noise: float

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        return {**vars(self)}


def describe_contradictions(found: Sequence[Contradiction]) -> str:
    """Describe for people what the sets contradict; "" where they contradict nothing.

    Args:
        found: all of it.

    Example:
        >>> describe_contradictions([Contradiction("size", 0.19, 0.004)])[:72]
        'The records contradict what was measured of size: up to 19.0 % of them w'
    """
    if not found:
        return ""
    worst = max(found, key=lambda one: one.distance)
    names = [one.column for one in sorted(found, key=lambda one: -one.distance)]
    more = f" and {len(names) - _NAMED} more columns" if len(names) > _NAMED else ""
    return (
        f"The records contradict what was measured of {', '.join(names[:_NAMED])}{more}: up to "
        f"{worst.distance:.1%} of them would need another value, where noise explains about "
        f"{worst.noise:.1%}. Answers from the measurements hold; do not count these columns in the "
        "records."
    ).replace("%", " %")


@dataclass(frozen=True, eq=False)
class DrawnOneWays:
    """Counts of each state in a set.

    Attributes:
        counts: of the states of each column, in the order of the schema.
        n_records: that were counted.
    """

    counts: tuple[Integers, ...]
    n_records: int

    @classmethod
    def of(cls, states: Sequence[NDArray[np.integer[Any]]], schema: Schema) -> DrawnOneWays:
        """Count the states of some records.

        Args:
            states: of each column, shape (n,).
            schema: of the release.
        """
        pairs = zip(states, schema.sizes, strict=True)
        counts = tuple(np.bincount(own, minlength=size)[:size] for own, size in pairs)
        return cls(counts, len(states[0]) if states else 0)


@dataclass(frozen=True, eq=False)
class _OneWay:
    """The measurement of one column.

    Attributes:
        counts: noisy, of each group of states, shape (groups,).
        variance: of the noise in each of them.
        groups: group of each state, shape (states,).
        outside: noisy number of records out of domain.
        outside_variance: of the noise in that.
        laplace: whether its noise has the tails of Laplace noise.
        ordered: whether the groups stand in the order of values.
    """

    counts: Floats
    variance: float
    groups: Integers
    outside: float
    outside_variance: float
    laplace: bool
    ordered: bool

    @property
    def questions(self) -> int:
        """Number of comparisons for each set."""
        return (1 + self.ordered) * len(self.counts) + 1


def contradictions(
    sets: Sequence[DrawnOneWays],
    measurements: Sequence[Measurement],
    schema: Schema,
    *,
    n_rows: float,
    rows_stddev: float,
    own_noise: float,
) -> tuple[Contradiction, ...]:
    """The columns whose records contradict what was measured of them.

    Args:
        sets: what was drawn, of each set.
        measurements: of the release.
        schema: of the release.
        n_rows: number of records, as it was released.
        rows_stddev: of the noise in it.
        own_noise: variance of the noise that each set has of its own, in parts of that of all
            measurements: 0 for sets from one fit, 1 where noise is drawn again for each, the number
            of sets where the budget is split.
    """
    measured = [_pool_measured(measurements, name, schema) for name in schema.names]
    asked = len(sets) * sum(one.questions for one in measured if one is not None)
    tail = math.log(4 * max(asked, 1) / ALARM)
    found = []
    for column, one in enumerate(measured):
        if one is None or n_rows <= max(one.outside, 0.0):
            continue  # Noise says that there are no records: nothing can be compared with them.
        told = [
            _compare_set(one, own.counts[column], (n_rows, rows_stddev), 1 + _FIT + own_noise, tail)
            for own in sets
            if own.counts[column].any()
        ]
        distance, noise = max((own for own in told if own is not None), default=(0.0, 0.0))
        if distance:
            found.append(Contradiction(schema.names[column], distance, noise))
    return tuple(found)


def own_noise(sets_kind: str, sets: int) -> float:
    """The argument of `contradictions`, of some sets.

    Args:
        sets_kind: how they were made.
        sets: how many.
    """
    return {"posterior": float(sets > 1), "split": sets * float(sets > 1)}.get(sets_kind, 0.0)


def _compare_set(
    one: _OneWay, counts: Integers, rows: tuple[float, float], variances: float, tail: float
) -> tuple[float, float] | None:
    """Distance of a set and what is expected of it, if that is more than noise explains.

    Args:
        one: what was measured.
        counts: of the states of the set.
        rows: number of records, and the deviation of its noise.
        variances: of a count, in parts of that of the noise.
        tail: logarithm of one over the chance that a limit does not hold.
    """
    n_rows, rows_stddev = rows
    groups = len(one.counts)
    shares = np.bincount(one.groups, weights=counts, minlength=groups) / counts.sum()
    scale = n_rows / (n_rows - one.outside)
    apart = n_rows * shares - scale * one.counts
    noise = np.full(groups, variances * scale**2 * one.variance)
    whole, draws = one.outside_variance + rows_stddev**2, n_rows**2 / float(counts.sum())
    steps = [(shares, apart, noise)]
    if one.ordered:
        steps.append((np.cumsum(shares), np.cumsum(apart), np.cumsum(noise)))
    beyond = False
    for p, difference, variance in steps:
        spread = variance + p**2 * whole
        chance = p * np.maximum(1 - p, 0) * draws
        noisy = np.sqrt(spread) * (tail / math.sqrt(2) if one.laplace else math.sqrt(2 * tail))
        drawn = np.sqrt(2 * tail * chance) + draws / n_rows * 2 * tail / 3
        beyond = beyond or bool((np.abs(difference) > noisy + drawn).any())
    every = noise + shares**2 * whole + shares * (1 - shares) * draws + (draws / n_rows) ** 2
    squares = float((apart**2 / every).sum())
    heavy = 5.0 if one.laplace else 1.0  # of a square: 5 is the variance of Laplace noise's
    single = (tail**2 / 2 if one.laplace else 2 * tail) * (1 + draws / n_rows)
    beyond = beyond or squares > groups + 2 * math.sqrt(heavy * groups * tail) + single
    expected = math.sqrt(2 / math.pi) * np.sqrt(every).sum() / 2 / n_rows
    distance = float(np.abs(apart).sum()) / 2 / n_rows
    return (distance, float(expected)) if beyond else None


def _pool_measured(
    measurements: Sequence[Measurement], name: str, schema: Schema
) -> _OneWay | None:
    """The best that was measured of a column by itself, or in tables; None where nothing was."""
    tables = [one for one in measurements if _counts(one) and name in one.columns]
    alone = [one for one in tables if len(one.columns) == 1]
    found = [_sum_table(one, name, schema) for one in alone or tables]
    if not found:
        return None
    finest = max(len(one.counts) for one in found)
    same = [one for one in found if len(one.counts) == finest]
    weights = np.array([1 / one.variance for one in same])
    weights /= weights.sum()
    return replace(
        same[0],
        counts=weights @ np.array([one.counts for one in same]),
        variance=float(weights**2 @ [one.variance for one in same]),
        outside=float(weights @ [one.outside for one in same]),
        outside_variance=float(weights**2 @ [one.outside_variance for one in same]),
        laplace=any(one.laplace for one in same),
    )


def _counts(one: Measurement) -> bool:
    """Return whether it is a table with noise that is centred, in the bins of the release."""
    family = one.family
    known = family.is_gaussian or (family.is_laplace and not family.is_truncated)
    return one.kind is Kind.TABLE and known and not one.bins and one.stddev > 0


def _sum_table(one: Measurement, name: str, schema: Schema) -> _OneWay:
    """A table summed over all columns but one."""
    sizes = one.domain(schema).sizes
    axis = one.columns.index(name)
    others = tuple(k for k in range(len(sizes)) if k != axis)
    groups = np.array(one.groups.get(name, range(sizes[axis])))
    column = schema.columns[name]
    return _OneWay(
        np.asarray(one.counts, dtype=np.float64).reshape(sizes).sum(axis=others),
        one.stddev**2 * math.prod(sizes[k] for k in others),
        groups,
        float(one.outside),
        one.stddev**2,
        one.family.is_laplace,
        is_ordered(column) and bool((np.diff(groups[: column.n_ordinary]) >= 0).all()),
    )
