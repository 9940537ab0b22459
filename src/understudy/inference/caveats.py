"""Caveats: sentences to say beside the numbers of an analysis.

**Whether noise leaves the spread of columns as it is, so that a model may divide by it.**

A coefficient is a covariance over a variance. Redrawn sets count the noise in both as far as that
is a small part of the variance; of a level of thirty records, and noise of twenty, it is most of
it, and the coefficient has no normal error, nor one that a few sets show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from understudy._arrays import Floats
from understudy.inference.combining import Pooled
from understudy.inference.counts import Counted
from understudy.inference.moment_answers import TOTAL_NOTE
from understudy.inference.noisy_tables import line_of, select_covering
from understudy.inference.question import SHARES, Estimand
from understudy.inference.records import Records, is_binned, is_grouping
from understudy.inference.rules import RuleFacts, merged_columns
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Column, Schema

_NOTEWORTHY = 0.0005  # a share of misplaced records below this is not spoken of
_SIGMAS = 3.0  # a noisy number of records beyond this is not noise alone


def count_notes(
    measurements: Sequence[Measurement], estimand: Estimand, counted: Counted
) -> Iterator[str]:
    """List notes on an estimate from noisy counts."""
    used = select_covering(measurements, estimand.columns)
    if len(used) > 1:
        yield f"{len(used)} noisy tables were averaged, weighted by their precision."
    yield from _counted_notes(estimand, counted)


def draw_notes(estimand: Estimand, counted: Counted) -> Iterator[str]:
    """List notes on an estimate from records that were drawn from urns."""
    if counted.pooled.sets > 1:
        yield f"{counted.pooled.sets} sets were averaged."
    yield from _counted_notes(estimand, counted)
    yield (
        "No confidential record is taken to have a value outside the schema's domain: how many "
        "have one was not released."
    )


def _counted_notes(estimand: Estimand, counted: Counted) -> Iterator[str]:
    if estimand.kind == "total":
        yield TOTAL_NOTE
    if counted.dropped > _SIGMAS * counted.dropped_noise:
        yield (
            f"About {counted.dropped:,.0f} records (a noisy number) have an absent value in these "
            "columns and are left out."
        )


def drop_notes(dropped: tuple[int, ...]) -> Iterator[str]:
    """Note how many records of each set were left out."""
    if any(dropped):
        counts = ", ".join(f"{n:,}" for n in dropped)
        yield f"Records left out because a value is absent, set by set: {counts}."


def distortion_notes(facts: RuleFacts) -> Iterator[str]:
    """Note how many records of the sets are misplaced."""
    if facts.together and facts.distortion > _NOTEWORTHY:
        yield (
            f"About {100 * facts.distortion:.2g} % of each set's records are misplaced (negative "
            "noisy counts set to 0, a prior, a distribution chosen whole, or small cells left "
            "out); the bias by that is not in the error."
        )


def number_notes(
    release: Release, columns: Sequence[str], pooled: Pooled, kind: str, level: float = 0.95
) -> Iterator[str]:
    """Note what numbers within bins may change, or what is assumed of their distribution.

    Args:
        release: that is analysed.
        columns: whose numbers matter, not only their states.
        pooled: the answer.
        kind: of the question.
        level: of the intervals that are shown.
    """
    normal = release.manifest.inference.modelled
    drawn = [name for name in columns if name in normal]
    known = [name for name in columns if name not in normal]
    if kind == "quantile":
        yield from quantile_notes(release.schema, known)
    elif pooled.bias.any():
        yield from bin_notes(release.schema, known or columns, pooled, level)
    elif kind == "function":
        yield from _uncounted_notes(release.schema, known)
    if drawn and any(measurement.kind is Kind.POSTERIOR for measurement in release.measurements):
        yield f"{', '.join(drawn)} was drawn by a model, whose shape it has."
    elif drawn:
        yield (
            f"{', '.join(drawn)} was modelled as normal (within cells, if there are several) and "
            "cut to its bounds: quantiles and other features of its shape are the model's."
        )


def merged_notes(release: Release, facts: RuleFacts, *, counted: bool = False) -> Iterator[str]:
    """Name the columns that go together with others only through groups of their states.

    Args:
        release: that is analysed.
        facts: of the question.
        counted: whether intervals have room for what that hides.
    """
    merged = merged_columns(release.behind_sets, facts.columns) if len(facts.columns) > 1 else ()
    if merged:
        yield (
            f"States of {', '.join(merged)} were merged into groups before they were measured "
            "together with the other columns; within a group they go together with these as "
            "neighbouring groups do, "
            + (
                "and intervals have room for twice what that adds."
                if counted
                else "and what that changes is not in the error."
            )
        )


def bin_notes(
    schema: Schema, columns: Sequence[str], pooled: Pooled, level: float
) -> Iterator[str]:
    """Note how much of an interval is for what bins hide."""
    binned = [name for name in columns if is_binned(schema.columns[name])]
    lower, upper = pooled.interval(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.nan_to_num(2 * pooled.bias / (upper - lower)).max()
    yield (
        f"Up to {100 * share:.0f} % of the half-width is for where numbers of "
        f"{', '.join(binned)} lie within their bins, which the release does not tell; the error "
        "does not have it. Finer bins, and spikes where many share a number, make it less."
    )


def _uncounted_notes(schema: Schema, columns: Sequence[str]) -> Iterator[str]:
    binned = [name for name in columns if is_binned(schema.columns[name])]
    if binned:
        yield (
            f"Within its bins {', '.join(binned)} is as drawn for the sets; what that changes is "
            "not in the error."
        )


def clipping_notes(release: Release, columns: Sequence[str], kind: str) -> Iterator[str]:
    """Note which numbers beyond the bounds count as the bounds, where no line says how many."""
    if kind in SHARES or kind == "quantile":
        return
    open_ends = [
        (name, _open_bounds(release.schema.columns[name]))
        for name in columns
        if line_of(release.measurements, name) is None
    ]
    clipped = [f"{name} (beyond {' and '.join(ends)})" for name, ends in open_ends if ends]
    if clipped:
        yield (
            f"Numbers outside the declared bounds count as the bounds: {', '.join(clipped)}. How "
            "many there are is not known."
        )


def _open_bounds(column: Column) -> list[str]:
    """The bounds that are no spikes, onto which numbers beyond may have been clipped."""
    if not isinstance(column, NUMERIC):
        return []
    spikes = {interval.low for interval in column.intervals if interval.spike}
    ends = zip(column.bounds, (column.lower, column.upper), strict=True)
    return [
        f"{shown:,.12g}" if isinstance(shown, float | int) else str(shown)
        for place, shown in ends
        if place not in spikes
    ]


def line_notes(cells: Schema, estimand: Estimand, counted: Counted, level: float) -> Iterator[str]:
    """List notes on an answer from a number line.

    Args:
        cells: schema in the cells of the line.
        estimand: the question.
        counted: its answer.
        level: of the intervals that are shown.
    """
    yield from _counted_notes(estimand, counted)
    (name,) = estimand.columns
    if estimand.kind == "quantile":
        yield _QUANTILE_NOTE
        if is_binned(cells.columns[name]):
            yield (
                f"Of {name} only its fine histogram is known: the interval covers whole "
                "cells, and the estimate takes numbers in them as even."
            )
    elif counted.pooled.bias.any():
        yield from bin_notes(cells, (name,), counted.pooled, level)


_QUANTILE_NOTE = (
    "The interval has every number that could be the quantile, so it may be one number alone; a "
    "quantile of few values has no standard error."
)


def quantile_notes(schema: Schema, columns: Sequence[str]) -> Iterator[str]:
    """Note what an interval of a quantile covers."""
    yield _QUANTILE_NOTE
    binned = [name for name in columns if is_binned(schema.columns[name])]
    if binned:
        yield (
            f"Of {', '.join(binned)} only bins are known: the interval covers whole bins, wherever "
            "numbers lie in them, and the estimate takes them as even or as drawn."
        )


def cut_notes(
    kind: str, pooled: Pooled, level: float, limits: tuple[float, float]
) -> Iterator[str]:
    """Note where intervals leave the limits of the quantity."""
    lower, upper = pooled.interval(level)
    if not bool((lower < limits[0]).any() or (upper > limits[1]).any()):
        return
    ends = f"[{limits[0]:g}, 1]" if np.isfinite(limits[1]) else "0 and above"
    ends = "the bounds of the column" if kind in ("mean", "quantile") else ends
    what = "share" if kind in SHARES else "number"
    more = f", and an estimated {what} can be negative, since setting it to 0 would bias sums"
    yield (
        f"Intervals are cut to {ends} where they are shown; the numbers behind them are "
        f"not{more * (kind in (*SHARES, 'total'))}."
    )


MOST: Final = 0.2
"""Standard deviation of a variance over sets, in parts of it: a level has five of its noise."""


def are_steady(tables: Sequence[pl.DataFrame], schema: Schema, columns: Sequence[str]) -> bool:
    """Return whether the variances of some columns differ little from set to set.

    Args:
        tables: several sets.
        schema: of the release.
        columns: of a question; of levels each has a variance of its own.
    """
    found = [_variances(Records.complete_of(table, schema, columns)) for table in tables]
    spread, middle = np.std(found, axis=0, ddof=1), np.mean(found, axis=0)
    return bool((spread <= MOST * middle).all())


def _variances(records: Records) -> Floats:
    """Of each number, and of each level's indicator, among complete records."""
    variances = []
    for name, states in records.states.items():
        column = records.schema.columns[name]
        if name in records.numbers:
            variances.append(np.var(records.numbers[name]) if len(states) else 0.0)
        elif is_grouping(column) or column.n_ordinary == 2:
            shares = np.bincount(states, minlength=column.n_ordinary) / max(len(states), 1)
            variances += (shares * (1 - shares)).tolist()
        else:
            variances.append(np.var(states) if len(states) else 0.0)
    return np.array(variances, dtype=np.float64)
