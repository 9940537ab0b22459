"""Edges of bins: those that keep to the structural zeros, and the finest that are worth a table.

A rule about numbers names whole bins, so other bins must have its edges among theirs: then the same
values are forbidden as before. These edges are as public as the schema.

A method that merges states by their noisy counts can begin with many bins, at no loss where there
are few records. Bins of equal width alone are wrong for most amounts: nearly all records lie in the
first of them, or the tail does. So a column gets fine bins, from its public bounds alone:

* each value a bin of its own, if there are few (whole numbers, days, decimals);
* days and moments else minutes, hours, days, weeks, months, quarters, years or multiples, as on
  the clock and the calendar;
* else about half of the bins of equal width, those of the column's number line
  (`features.line_cells`), so that a release that has both can put them together; and the other half
  of widths that grow in proportion to the distance from 0, or from the bound next to 0 where 0 is
  out of bounds; narrow ones at the bounds keep what was clipped to them together.

Bins that the schema declares are left as they are: a list of edges, or a number other than the
default. All edges of the schema stay edges, so that rules that name whole bins still do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from understudy.errors import MethodError
from understudy.families.calendar_edges import calendar_edges
from understudy.features.line_cells import Numeric, line_bins
from understudy.schema import (
    NUMERIC,
    Calendar,
    Column,
    Continuous,
    Date,
    Datetime,
    Integer,
    Schema,
    Time,
)
from understudy.schema.bins import integer_intervals, real_intervals
from understudy.schema.number_columns import DEFAULT_BINS
from understudy.schema.structural_zeros import Range, Rule

MOST_BINS = 2**20


def numeric_columns(schema: Schema) -> tuple[str, ...]:
    """Names of the columns on the number line, but for those with a single value."""
    return tuple(
        name
        for name, column in schema.columns.items()
        if isinstance(column, NUMERIC) and column.bounds[0] < column.bounds[1]
    )


def bins_with_rules(schema: Schema, numbers: Mapping[str, int]) -> dict[str, int | tuple[Any, ...]]:
    """Bins of equal width, so many for each column, cut further where rules have their edges.

    There are no more bins than values that the column can hold, and none that only spikes could
    fill. A rule about the very largest whole number gives each value a bin of its own, as edges
    cannot set it apart.

    Args:
        schema: the public schema.
        numbers: numeric column → number of bins, at least 1.

    Returns:
        What `Schema.with_bins` takes.

    Raises:
        MethodError: bins narrower than floating-point numbers can tell apart.
    """
    bins = {}
    for name, number in numbers.items():
        column = schema.columns[name]
        kept = {e for rule in schema.forbidden for e in _edges_of(rule, name, schema.columns)}
        bins[name] = _bins(column, number, kept)
    return bins


def _edges_of(rule: Rule, name: str, columns: dict[str, Column]) -> set[float]:
    """Where bins must begin so that the rule names whole ones."""
    column = columns[name]
    if name not in rule.where or not isinstance(column, NUMERIC):
        return set()
    states, ranges = rule.states(columns)[name], isinstance(rule.where[name], Range)
    bins = [
        (k in states, interval.low)
        for k, interval in enumerate(column.intervals)
        if not interval.spike
    ]
    # Single values each need a bin of their own; of a range, the ends do.
    return {
        low
        for (before, _), (named, low) in pairwise(bins)
        if before != named or (named and not ranges)
    }


def _bins(column: Column, number: int, kept: set[float]) -> int | tuple[Any, ...]:
    assert isinstance(column, NUMERIC)
    number = min(number, _most(column))
    equal = _equal_starts(column, number)
    apart = [place for place in equal if not any(math.isclose(place, edge) for edge in kept)]
    starts = merged_starts(column, sorted({equal[0], *apart, *kept}), kept)
    return number if starts == equal else declared_bins(column, starts)


def declared_bins(column: Column, starts: list[float]) -> int | tuple[Any, ...]:
    """Bins that begin at these places on the number line, as a schema declares them.

    A bin that holds the largest whole number alone needs a bin for each value: edges cannot say it.
    """
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    if isinstance(column, Continuous):
        return (*starts, high)
    if starts[-1] == high:
        return int(high - low) + 1
    whole = [int(edge) for edge in (*starts, high)]
    if isinstance(column, Calendar):
        return tuple(column.entry_at(place) for place in whole)
    return tuple(whole)


def _most(column: Column) -> int:
    """Most bins of equal width of which each holds a value."""
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    if not isinstance(column, Continuous):
        return int(high - low) + 1
    if column.decimals is None:
        return MOST_BINS
    return max(1, min(MOST_BINS, math.floor((high - low) * 10.0**column.decimals)))


def _equal_starts(column: Column, number: int) -> list[float]:
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    if isinstance(column, Continuous):
        try:
            return [interval.low for interval in real_intervals(low, high, number, ())]
        except ValueError:
            raise MethodError(
                f"{number:,} bins between {low} and {high} would be narrower than numbers of this "
                "size can tell apart; take fewer."
            ) from None
    return [interval.low for interval in integer_intervals(int(low), int(high), number, (), str)]


def merged_starts(column: Column, starts: list[float], kept: set[float]) -> list[float]:
    """Bins that nothing but spikes could fill go to a neighbour on the same side of every rule.

    Args:
        column: numeric.
        starts: where bins begin, ascending; changed in place.
        kept: those among them that rules need.
    """
    assert isinstance(column, NUMERIC)
    k = 0
    while k < len(starts) and len(starts) > 1:
        end = starts[k + 1] if k + 1 < len(starts) else math.inf
        if _holds_values(column, starts[k], end):
            k += 1
        elif k > 0 and starts[k] not in kept:
            del starts[k]
            k -= 1
        else:  # the schema's own bins keep to the rules, so one of the two edges can go
            del starts[min(k + 1, len(starts) - 1)]
    return starts


def _holds_values(column: Column, low: float, end: float) -> bool:
    """Whether a bin from `low` to before `end` holds a value that is no spike."""
    assert isinstance(column, NUMERIC)
    scale = 1.0
    if isinstance(column, Continuous):
        if column.decimals is None:
            return True
        scale = 10.0**column.decimals
    high = column.bounds[1]
    first = math.ceil(low * scale)
    last = math.floor(high * scale) if end == math.inf else math.ceil(end * scale) - 1
    spikes = {round(interval.low * scale) for interval in column.intervals if interval.spike}
    return last - first + 1 > sum(first <= spike <= last for spike in spikes)


_EACH = 256  # values, up to which each has a bin of its own: heaps show there
_TIMES = 128  # bins of a calendar
_GROWING = 62  # growing bins
_SMALLEST = 1e-6  # first width of the growing ones, in parts of the distance that they cover
_SLOWEST = 1.08  # ratio of their ends: finer ones would hold hardly any record more
_EDGE = 1 / 2048  # width of the bins at the bounds, in parts of the range

FineBins = dict[str, int | tuple[Any, ...]]


def fine_bins(schema: Schema) -> FineBins:
    """Fine bins of the numeric columns whose bins are the default ones.

    A schema file does not tell a declared number of bins from the default if both are 20.

    Args:
        schema: the public schema.

    Returns:
        What `Schema.with_bins` takes; columns that keep their bins are left out.

    Example:
        >>> schema = Schema.loads('''
        ... [columns]
        ... age = { kind = "integer", lower = 0, upper = 100, spikes = [0] }
        ... born = { kind = "date", lower = 1990-06-15, upper = 2020-01-01, bins = 2 }
        ... ''')
        >>> schema.with_bins(fine_bins(schema)).sizes  # 0 is a spike; 99 and 100 share a bin
        (100, 2)
    """
    bins: FineBins = {}
    for name in numeric_columns(schema):
        column = schema.columns[name]
        if _by_default(column):
            declared = [interval.low for interval in column.intervals if not interval.spike]  # type: ignore[union-attr]
            starts = merged_starts(column, _starts(column, declared), set(declared))
            if len(starts) > len(declared):
                bins[name] = _declared(column, starts)
    return bins


def _by_default(column: Column) -> bool:
    if isinstance(column, Integer):
        return column.bins is None
    return isinstance(column, NUMERIC) and column.bins == DEFAULT_BINS


def _declared(column: Column, starts: list[float]) -> int | tuple[Any, ...]:
    """As a schema says it: edges cannot set the largest whole number apart by itself."""
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    if not isinstance(column, Continuous) and starts[-1] == high and len(starts) <= high - low:
        del starts[-1]
    return declared_bins(column, starts)


def _starts(column: Column, declared: list[float]) -> list[float]:
    """Where bins begin, those of the schema among them, ascending."""
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    step = _step(column)
    if step and (high - low) / step < _EACH:
        places = [low + k * step for k in range(round((high - low) / step) + 1)]
    elif isinstance(column, Date | Datetime | Time):
        places = calendar_edges(column, _TIMES - len(declared))
    else:
        margin = (high - low) * _EDGE
        places = [*_even(column), *_growing(low, high, step), low + margin, high - margin]
    last = high - (step or (high - low) * 1e-9) if isinstance(column, Continuous) else high
    return _apart([_on_grid(column, place) for place in places], declared, last)


def _step(column: Column) -> float:
    """Distance of values next to each other; 0 if there is none."""
    if not isinstance(column, Continuous):
        return 1.0
    return 0.0 if column.decimals is None else 10.0**-column.decimals


def _on_grid(column: Column, place: float) -> float:
    if not isinstance(column, Continuous):
        return float(math.ceil(place))
    return place if column.decimals is None else round(place, column.decimals)


def _apart(places: list[float], declared: list[float], last: float) -> list[float]:
    """Own places, and wanted ones that are within the bounds and not next to another."""
    least = (last - declared[0]) * 1e-9
    kept: list[float] = []
    fixed = set(declared)
    for place in sorted({*places, *declared}):
        if place not in fixed and not declared[0] < place <= last:
            continue
        while kept and place - kept[-1] < least and kept[-1] not in fixed:
            kept.pop()
        if place in fixed or not kept or place - kept[-1] >= least:
            kept.append(place)
    return kept


def _even(column: Numeric) -> list[float]:
    """Where cells of the number line begin."""
    fine = column.model_copy(update={"bins": line_bins(column)})
    return [interval.low for interval in fine.intervals if not interval.spike]


def _growing(low: float, high: float, step: float) -> list[float]:
    """Places at distances from 0, or the bound next to it, in fixed ratio."""
    origin = min(max(low, 0.0), high)
    reaches = [side for side in (low - origin, high - origin) if side]
    return [origin, *(origin + far for r in reaches for far in _ratios(r, step, reaches))]


def _ratios(reach: float, step: float, reaches: list[float]) -> Iterator[float]:
    first = max(abs(reach) * _SMALLEST, step)
    finest = math.log(abs(reach) / first) / math.log(_SLOWEST) if first < abs(reach) else 0
    places = min(_GROWING // len(reaches), math.ceil(finest))
    for distance in np.geomspace(first, abs(reach), max(places, 1), endpoint=False):
        yield math.copysign(float(f"{distance:.4g}"), reach)
