"""Bins of numeric columns: fine ones worth a table, that keep rules, and of clocks.

**The finest bins that are worth a table.**

A method that merges states by their noisy counts can begin with many bins, at no loss where there
are few records. Bins of equal width alone are wrong for most amounts: nearly all records lie in the
first of them, or the tail does. So a column gets fine bins, from its public bounds alone:

* each value a bin of its own, if there are few (whole numbers, days, decimals);
* days and moments else minutes, hours, days, weeks, months, quarters, years or multiples, as on
  the clock and the calendar;
* else about half of the bins of equal width, those of the column's number line
  (`features.grids`), so that a release that has both can put them together; and the other half
  of widths that grow in proportion to the distance from 0, or from the bound next to 0 where 0 is
  out of bounds; narrow ones at the bounds keep what was clipped to them together;
* and 0 and both bounds stand alone, as zeros and top codes do: in a bin of that value (edges cannot
  set the largest whole number apart, so it shares one with the value before it), or in one of
  `POINT` of the range where no decimals are declared (`models.numeric`).

Bins that the schema declares are left as they are: a list of edges, or a number other than the
default. All edges of the schema stay edges, so that rules that name whole bins still do.

Where a table has few records beside its noise, so many bins hold noise alone. Sums of them have
more of it than a bin as wide has, and no smoothing makes up for that. `bins_for` says how many are
worth their noise.

**Edges of bins that keep to the structural zeros.**

A rule about numbers names whole bins, so other bins must have its edges among theirs: then the same
values are forbidden as before. These edges are as public as the schema.

**Edges of bins on the clock and the calendar: minutes, hours, days, weeks, months and years.**

**What noise leaves room for, from the number of rows that is declared or was bought.**

A table of more cells than this has mostly noise in each of them.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np
from pydantic import ValidationError

from understudy.dp.budget import Budget
from understudy.dp.calibration import NoiseName, calibrate
from understudy.dp.gate import Gate
from understudy.dp.released import LEAST_STDDEV
from understudy.errors import MethodError
from understudy.features.grids import Numeric, line_bins
from understudy.methods.base import known_rows
from understudy.models.numeric import POINT
from understudy.schema import (
    NUMERIC,
    Calendar,
    Column,
    Continuous,
    Date,
    Datetime,
    Range,
    Rule,
    Schema,
    Time,
)
from understudy.schema.coarsening import (
    MOST_CUTS,
    bin_starts,
    cuts_of,
    join_starts,
    usual_bins,
    with_cuts,
)
from understudy.schema.numeric import has_values, integer_intervals, real_intervals
from understudy.schema.temporal import DAY_SECONDS, EPOCH

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
    """List the edges that bins need so that the rule names whole ones."""
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
    if isinstance(column, Continuous) and column.decimals is None:
        return starts  # each bin holds a value that is no spike
    scale = 10.0**column.decimals if isinstance(column, Continuous) and column.decimals else 1.0
    spikes = {round(interval.low * scale) for interval in column.intervals if interval.spike}
    k = 0
    while k < len(starts) and len(starts) > 1:
        end = starts[k + 1] if k + 1 < len(starts) else math.inf
        first = math.ceil(starts[k] * scale)
        high = math.floor(column.bounds[1] * scale)
        if has_values(first, high if end == math.inf else math.ceil(end * scale) - 1, spikes):
            k += 1
        elif k > 0 and starts[k] not in kept:
            del starts[k]
            k -= 1
        else:  # the schema's own bins keep to the rules, so one of the two edges can go
            del starts[min(k + 1, len(starts) - 1)]
    return starts


_CLOCK_STEPS = (60, 300, 600, 900, 1_800, 3_600, 10_800, 21_600, 43_200, DAY_SECONDS)
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000)


def calendar_edges(column: Date | Datetime | Time, most: int) -> list[float]:
    """Places on which minutes, hours, days or longer periods begin: the shortest that fit."""
    low, high = (int(bound) for bound in column.bounds)
    per_day = DAY_SECONDS // column.unit_seconds
    for seconds in _CLOCK_STEPS:
        step = seconds // column.unit_seconds
        if step and (high - low) / step < most:
            return [float(k * step) for k in range(low // step + 1, high // step + 1)]
    days = _calendar(low // per_day, high // per_day, most)
    return [day * per_day for day in days]


def _calendar(low: int, high: int, most: int) -> list[float]:
    """Days on which weeks, months or longer periods begin: the shortest that fit."""
    if (high - low) / 7 < most:
        monday = low + (7 - datetime.date.fromordinal(low + EPOCH).weekday()) % 7
        return [float(day) for day in range(monday, high + 1, 7)]
    first, last = (_month(datetime.date.fromordinal(day + EPOCH)) for day in (low, high))
    months = next((m for m in _MONTHS if (last - first) / m < most), _MONTHS[-1])
    begin = [k for k in range(first + 1, last + 1) if k % months == 0]
    return [float(datetime.date(k // 12, k % 12 + 1, 1).toordinal() - EPOCH) for k in begin]


def _month(day: datetime.date) -> int:
    return day.year * 12 + day.month - 1


LEVELS = (32, 64, 128, 256)
"""About how many bins a column gets; and values, up to which each has one: heaps show there."""
PER_ROOT = 8.5
"""Bins for the root of records in deviations of noise: with k bins, noise adds up as k, and what
bins hide falls as 1/k."""
_TIMES = 128  # bins of a calendar, at most
_GROWING = 62  # growing bins, at most
_LINED = 128  # bins, from which on those of the number line are among them
_SMALLEST = 1e-6  # first width of the growing ones, in parts of the distance that they cover
_SLOWEST = 1.08  # ratio of their ends: finer ones would hold hardly any record more
_RELATIVE = 2.0**-46  # least width of a bin, in parts of its numbers, for them to tell it apart
_EDGE = 1 / 2048  # width of the bins at the bounds, in parts of the range

FineBins = dict[str, int | tuple[Any, ...]]


def bins_for(records: float) -> int:
    """Choose how many bins are worth their noise, one of `LEVELS`.

    Args:
        records: all rows, in standard deviations of the noise in one bin.

    Example:
        >>> [bins_for(records) for records in (10, 100, 1000)]
        [32, 64, 256]
    """
    wanted = PER_ROOT * math.sqrt(max(records, 1e-9))
    return min(LEVELS, key=lambda level: abs(math.log(level / wanted)))


def fine_bins(schema: Schema, most: int = LEVELS[-1], *, points: bool = True) -> FineBins:
    """Fine bins of the numeric columns whose bins are the default ones.

    A schema file does not tell a declared number of bins from the default if both are 20.

    Args:
        schema: the public schema.
        most: about how many, one of `LEVELS`; the default ones beside it.
        points: whether 0 and the bounds stand alone; older releases lack these bins.

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
    found = {
        name: _fine_bins(_ByValue(schema.columns[name]), most, points)
        for name in numeric_columns(schema)
    }
    return {name: bins for name, bins in found.items() if bins is not None}


@dataclass(frozen=True, eq=False)
class _ByValue:
    """A column that is found again by its value: one table asks many times for the same bins."""

    column: Column

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByValue) and self.column == other.column

    def __hash__(self) -> int:
        assert isinstance(self.column, NUMERIC)
        return hash((type(self.column), self.column.bounds))


@lru_cache(maxsize=1024)
def _fine_bins(key: _ByValue, most: int, points: bool) -> int | tuple[Any, ...] | None:
    """Fine bins of a numeric column; None if it keeps its own."""
    column = key.column
    assert isinstance(column, NUMERIC)
    cuts = cuts_of(column)
    if cuts is None:
        return None
    declared, plain = bin_starts(column), usual_bins(column)
    own = _starts(plain, bin_starts(plain), most, _points(plain) if points else [])
    starts = merged_starts(column, join_starts(column, own, cuts), set(declared))
    return _declare_bins(column, starts) if len(starts) > len(declared) else None


def coarse_again(schema: Schema) -> Schema:
    """A schema that had fine bins instead of the default ones, with the default ones.

    Bins that a declared condition brought stay.

    Args:
        schema: of a release; columns in other bins stay as they are.
    """
    coarse = {
        name: _default_bins(_ByValue(schema.columns[name])) for name in numeric_columns(schema)
    }
    changed = {name: column for name, column in coarse.items() if column is not None}
    return schema.model_copy(update={"columns": {**schema.declared, **changed}})


@lru_cache(maxsize=256)
def _default_bins(key: _ByValue) -> Column | None:
    """A numeric column in the default bins; None if these are not what its bins were made of."""
    own = key.column
    assert isinstance(own, NUMERIC)
    coarse = usual_bins(own)
    try:
        former = Schema(columns={"column": coarse})
    except ValidationError:
        return None  # too few values for the default bins, or spikes fill one: bins were declared
    starts, found = bin_starts(own), list[set[float]]()
    for k, points in product(LEVELS, (True, False)):
        fine = former.with_bins(fine_bins(former, k, points=points)).columns["column"]
        if fine == own:
            return coarse
        assert isinstance(fine, NUMERIC)
        cuts = {*starts}.difference(bin_starts(fine))
        if 0 < len(cuts) <= MOST_CUTS and starts == join_starts(own, bin_starts(fine), cuts):
            found.append(cuts)
    return with_cuts(coarse, min(found, key=len)) if found else None


def _declare_bins(column: Column, starts: list[float]) -> int | tuple[Any, ...]:
    """As a schema says it: edges cannot set the largest whole number apart by itself."""
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    if not isinstance(column, Continuous) and starts[-1] == high and len(starts) <= high - low:
        del starts[-1]
    return declared_bins(column, starts)


def _points(column: Column) -> list[float]:
    """List edges that set 0 and the bounds apart; none that numbers cannot tell apart."""
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    step, before = _step(column) or POINT * (high - low), 1.0
    if step < _RELATIVE * max(abs(low), abs(high)) or high - low < 4 * step:
        return []
    timed = isinstance(column, Date | Datetime | Time)
    first = {low, low if timed else min(max(low, 0.0), high)}
    after = [place + step for place in first]
    if isinstance(column, Continuous) and column.decimals is not None:
        after, before = [round(place, column.decimals) for place in after], 0.5
    points = {*first, *after, high - before * step}
    return sorted(place for place in points if low < place < high)


def _starts(column: Column, declared: list[float], most: int, points: list[float]) -> list[float]:
    """List where bins begin, those of the schema among them, ascending."""
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    step = _step(column)
    if step and (high - low) / step < most:
        places = [low + k * step for k in range(round((high - low) / step) + 1)]
    elif isinstance(column, Date | Datetime | Time):
        places = calendar_edges(column, max(min(_TIMES, most) - len(declared), 1))
    else:
        margin = (high - low) * _EDGE
        even = _even(column) if most >= _LINED else []
        growing = _growing(low, high, step, min(_GROWING, most // 2))
        places = [*even, *growing, low + margin, high - margin]
    last = high - (step or (high - low) * 1e-9) if isinstance(column, Continuous) else high
    on_grid = [_on_grid(column, place) for place in places]
    return _apart(on_grid, [*declared, *points], last)


def _step(column: Column) -> float:
    """Distance of values next to each other; 0 if there is none."""
    if not isinstance(column, Continuous):
        return 1.0
    return 0.0 if column.decimals is None else 10.0**-column.decimals


def _on_grid(column: Column, place: float) -> float:
    if not isinstance(column, Continuous):
        return float(math.ceil(place))
    return place if column.decimals is None else round(place, column.decimals)


def _apart(places: list[float], wanted: list[float], last: float) -> list[float]:
    """Wanted places, and others that are within the bounds and not next to another.

    Those that are wanted begin with the lower bound.
    """
    least = (last - wanted[0]) * 1e-9
    kept: list[float] = []
    fixed = set(wanted)
    for place in sorted({*places, *wanted}):
        if place not in fixed and not wanted[0] < place <= last:
            continue
        while kept and place - kept[-1] < least and kept[-1] not in fixed:
            kept.pop()
        if place in fixed or not kept or place - kept[-1] >= least:
            kept.append(place)
    return kept


def _even(column: Numeric) -> list[float]:
    """List where cells of the number line begin, evenly."""
    fine = column.model_copy(update={"bins": line_bins(column)})
    return [interval.low for interval in fine.intervals if not interval.spike]


def _growing(low: float, high: float, step: float, number: int) -> list[float]:
    """Places at distances from 0, or the bound next to it, in fixed ratio."""
    origin = min(max(low, 0.0), high)
    reaches = [side for side in (low - origin, high - origin) if side]
    return [
        origin,
        *(origin + far for r in reaches for far in _ratios(r, step, number // len(reaches))),
    ]


def _ratios(reach: float, step: float, most: int) -> Iterator[float]:
    first = max(abs(reach) * _SMALLEST, step)
    finest = math.log(abs(reach) / first) / math.log(_SLOWEST) if first < abs(reach) else 0
    places = min(most, math.ceil(finest))
    for distance in np.geomspace(first, abs(reach), max(places, 1), endpoint=False):
        yield math.copysign(float(f"{distance:.4g}"), reach)


def records_per_noise(gate: Gate, noise: NoiseName, spend: Fraction) -> float:
    """Records of all rows, in standard deviations of the noise in one cell of a table.

    Args:
        gate: with the number of rows.
        noise: of the table.
        spend: what the table costs; for nothing there is no room.
    """
    return known_rows(gate) / cell_noise(gate.schema, gate.budget, noise, spend) if spend else 0.0


def cell_noise(schema: Schema, budget: Budget, noise: NoiseName, spend: Fraction) -> float:
    """Compute the standard deviation of the noise in one cell of a table.

    Args:
        schema: says which tables are neighbours.
        budget: for its accounting.
        noise: of the table.
        spend: what the table costs, above 0.
    """
    found = calibrate(
        noise, spend=spend, accounting=budget.accounting, neighbours=schema.neighbours
    )
    return max(found.stddev, LEAST_STDDEV)
