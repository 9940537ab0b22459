"""Bins of numeric columns: fine ones worth a table, that keep rules, of clocks, and crowded ones.

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

**Which value crowds a bin: bins that hold most of their neighbourhood, measured more finely.**

A heap on one value, a minimum wage or a default date, makes the fine bin around it much fuller than
the bins beside it. Counts of bins cannot tell which value it is. So such a bin is divided and
counted once more, for little: a heap stands out of far more noise than the rest of a fit bears.

1. **Crowded** is a bin of several values of whose estimated records at least `CROWDED` are more
   than the fuller one of its neighbours would let one expect, and more than noise.
2. It is divided into its values if they are few, else into `PARTS` of equal width and its roundest
   numbers. All crowded bins of a column are divided in one table, in which other bins are joined.
3. Parts that hold much of it are divided again, in up to `STAGES` tables.

What becomes of these counts: `understudy.models.number_line`. Bins follow from released counts, so
each table is a noisy table like any other; it is bought from what rounds may cost.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np
from pydantic import ValidationError

from understudy._arrays import Floats
from understudy.dp.budget import Budget
from understudy.dp.calibration import NoiseName, calibrate
from understudy.dp.gate import Gate
from understudy.dp.released import LEAST_STDDEV, NoisyTable
from understudy.errors import MethodError
from understudy.features.grids import Numeric, line_bins
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import known_rows
from understudy.models.numeric import POINT, bins_on_line, heaps_on_line
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
    in_these_bins,
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
        growing = _geometric_places(low, high, step, min(_GROWING, most // 2))
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


def _geometric_places(low: float, high: float, step: float, number: int) -> list[float]:
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


CROWDED = 1 / 3
"""Records of a bin that its neighbours do not explain, in parts of all of them."""
HEAVY = 0.01
"""The same, in parts of the records of the column."""
FULL, HEAP = 0.05, 0.25
"""Records of a full bin, in parts of the column, and of a heap in it that matters, in parts of the
bin (`benchmarks/number_shapes.py`, `heaped`, 20,000 rows)."""
CLEAR = 5.0
"""The same, in deviations of the noise of the bin."""
WANTED, LEAST = 40.0, 9.0
"""The same, in deviations of the noise of its parts: as many as are worth their cost, and at
least."""
DEAREST = Fraction(1, 16)
"""What all stages may cost, in parts of what is left for rounds; twice that without δ, where half
of the cost is twice the noise."""
STAGES = 3
PARTS, ROUND = 2048, 64
"""Parts of a bin, and its round numbers; a bin of as many values as parts is divided into these."""
MOST = 8
"""Bins of a column that are divided, the fullest ones."""
_APART = 2  # bins from one to its neighbours: an edge may divide what crowds
_CHEAPEST = 14  # halvings of the dearest cost


@dataclass(frozen=True)
class Crowd:
    """A stretch of a column that is fuller than what is beside it.

    Attributes:
        low: where it begins.
        high: where it ends, which is not part of it unless it is the upper bound.
        excess: records that its neighbours do not explain.
    """

    low: float
    high: float
    excess: float


def divide_bins(
    gate: Gate,
    noise: NoiseName,
    masses: Mapping[str, Floats],
    ones: Mapping[str, NoisyTable],
    left: Fraction,
) -> Fraction:
    """Count crowded bins more finely; what that cost.

    Args:
        gate: in whose bins columns were counted.
        noise: of the tables.
        masses: numeric column → estimated records of its states.
        ones: the one-way table of each column.
        left: for rounds.
    """
    columns = {
        name: column
        for name, column in gate.schema.columns.items()
        if isinstance(column, NUMERIC) and name in masses and not column.heaps
    }
    crowds = {}
    for name, column in columns.items():
        full = {one.low: one for one in find_full_bins(column, masses[name])}
        crowded = find_crowded_bins(column, masses[name], ones[name].stddev)
        both = full | {one.low: one for one in crowded}
        crowds[name] = sorted(both.values(), key=lambda one: -one.excess)[:MOST]
    spent, most = Fraction(0), left * DEAREST * (2 if gate.budget.accounting == "pure" else 1)
    for stage in range(STAGES):
        edges = {
            name: bins
            for name, own in crowds.items()
            if own and (bins := _bins_of_crowds(gate.schema, name, own))
        }
        edges, spend = _affordable(
            gate, noise, edges, crowds, most / 2 ** min(stage + 1, STAGES - 1)
        )
        if not edges:
            break
        tables = NoisyTables([(name,) for name in edges], noise=noise)
        counted = gate.rebin(edges).ask(tables, spend=spend)
        spent += spend
        crowds = {
            name: _full_parts(gate.schema, crowds[name], one.value)
            for name, one in zip(edges, counted, strict=True)
        }
    return spent


def divides(schema: Schema, table: NoisyTable) -> bool:
    """Return whether a table divides crowded bins: it is in other bins than those of its schema."""
    return any(not in_these_bins(schema.columns[name], bins) for name, bins in table.bins.items())


def find_crowded_bins(column: Numeric, masses: Floats, stddev: float) -> list[Crowd]:
    """The crowded bins of a column, the fullest first.

    Args:
        column: in its bins.
        masses: estimated records in each state.
        stddev: of the noise in each.

    Example:
        >>> from understudy.schema import Integer
        >>> pay = Integer(kind="integer", lower=0, upper=99, bins=10)
        >>> find_crowded_bins(pay, np.array([9.0, 11, 10, 90, 9, 10, 9, 4, 2, 1]), 2.0)
        [Crowd(low=30.0, high=40.0, excess=79.0)]
    """
    states, edges, single = bins_on_line(column)
    own = np.maximum(masses[states], 0.0)
    if len(own) < 2:
        return []
    apart, widths = heaps_on_line(own, single), np.diff(edges)
    density = np.where(apart, 0.0, own / widths)
    around = np.pad(density, _APART)
    beside = np.maximum(around[2 * _APART :], around[: -2 * _APART])
    excess = own - widths * beside
    found = ~single & (excess > CROWDED * own) & (excess > CLEAR * stddev)
    return _fullest(column, np.where(found & (excess > HEAVY * masses.sum()), excess, 0.0))


def find_full_bins(column: Numeric, masses: Floats) -> list[Crowd]:
    """The full bins of a column, the fullest first, each with the heap that it may hold.

    Args:
        column: in its bins.
        masses: estimated records in each state.
    """
    states, _, single = bins_on_line(column)
    own = np.maximum(masses[states], 0.0)
    return _fullest(column, np.where(~single & (own > FULL * masses.sum()), HEAP * own, 0.0))


def _fullest(column: Numeric, excess: Floats) -> list[Crowd]:
    """The bins with the largest excess, for each bin on the line; 0 is none."""
    states, _, _ = bins_on_line(column)
    lows = np.array([one.low for one in column.intervals], dtype=np.float64)[states]
    ends = np.append(lows[1:], column.bounds[1])
    fullest = sorted(np.flatnonzero(excess).tolist(), key=lambda k: -excess[k])[:MOST]
    return [Crowd(float(lows[k]), float(ends[k]), float(excess[k])) for k in fullest]


def _bins_of_crowds(schema: Schema, name: str, crowds: Sequence[Crowd]) -> tuple[object, ...]:
    """Bins that divide some stretches and join all others; () where none can be divided."""
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    inner = {place for one in crowds for place in _parts(column, one)}
    ends = {end for one in crowds for end in (one.low, one.high)}
    if not inner:
        return ()
    starts = sorted(place for place in {low, *ends, *inner} if low <= place < high)
    if any(one.spike for one in column.intervals):
        starts = merged_starts(column, starts, set())
    if isinstance(column, Calendar):  # as text, which a manifest can hold
        return tuple(column.text_at(int(place)) for place in (*starts, high))
    bins = declared_bins(column, starts)
    return bins if isinstance(bins, tuple) else ()


def _parts(column: Numeric, crowd: Crowd) -> list[float]:
    """List where parts of a stretch begin, but for the first one."""
    step, low, high = step_of(column), crowd.low, crowd.high
    wide = high - low
    if step and wide / step <= PARTS:
        places = low + step * np.arange(1, math.ceil(wide / step - 1e-6) + 1)
    else:
        narrow = step or POINT * (column.bounds[1] - column.bounds[0])
        even = low + wide * np.arange(1, PARTS) / PARTS
        rounds = _round_numbers(low, high)
        places = np.concatenate([even, rounds, rounds + narrow])
    if isinstance(column, Continuous):
        places = places if column.decimals is None else np.round(places, column.decimals)
        last = high
    else:
        places, last = np.ceil(places - 1e-9), min(high, column.bounds[1] - 1)
        return [float(place) for place in np.unique(places) if low < place <= last]
    return [float(place) for place in np.unique(places) if low < place < last]


def step_of(column: Numeric) -> float:
    """Distance of values next to each other; 0 if there is none."""
    if not isinstance(column, Continuous):
        return 1.0
    return 0.0 if column.decimals is None else 10.0**-column.decimals


def _round_numbers(low: float, high: float) -> Floats:
    """Multiples of 1 or 5 times a power of ten between two numbers, at most `ROUND`."""
    size = 10.0 ** math.floor(math.log10((high - low) / ROUND))
    step = next(size * times for times in (1, 5, 10, 50) if (high - low) / (size * times) < ROUND)
    multiples = np.arange(math.ceil(low / step), math.ceil(high / step))
    return np.array([float(f"{place:.12g}") for place in multiples * step])


def _affordable(
    gate: Gate,
    noise: NoiseName,
    edges: Mapping[str, tuple[object, ...]],
    crowds: Mapping[str, Sequence[Crowd]],
    most: Fraction,
) -> tuple[dict[str, tuple[object, ...]], Fraction]:
    """The columns whose crowds stand out of noise that can be paid for, and what they cost."""
    ordered = sorted(edges, key=lambda name: -crowds[name][0].excess)
    while ordered and most:
        lightest = crowds[ordered[-1]][0].excess
        n_rows, spend = max(known_rows(gate), 1), most
        room = [records_per_noise(gate, noise, spend / len(ordered)) / n_rows * lightest]
        if room[0] >= LEAST:
            for _ in range(_CHEAPEST):
                cheaper = spend / 2
                if (
                    records_per_noise(gate, noise, cheaper / len(ordered)) / n_rows * lightest
                    < WANTED
                ):
                    break
                spend = cheaper
            return {name: edges[name] for name in edges if name in ordered}, spend
        ordered.pop()
    return {}, Fraction(0)


def _full_parts(schema: Schema, crowds: Sequence[Crowd], table: NoisyTable) -> list[Crowd]:
    """Parts of several values that hold much of what was divided, the fullest first."""
    (name,) = table.columns
    column = schema.with_bins(table.bins).columns[name]
    assert isinstance(column, NUMERIC)
    states, _, single = bins_on_line(column)
    lows = np.array([one.low for one in column.intervals], dtype=np.float64)[states]
    ends, counts = np.append(lows[1:], column.bounds[1]), np.asarray(table.counts)[states]
    found, clear = [], ~single & (counts > CLEAR * table.noise.stddev)
    for crowd in crowds:
        inside = clear & (lows >= crowd.low) & (ends <= crowd.high)
        full = inside & (counts > CROWDED / 2 * crowd.excess)
        found += [
            Crowd(float(lows[k]), float(ends[k]), float(counts[k])) for k in np.flatnonzero(full)
        ]
    return sorted(found, key=lambda one: -one.excess)[:MOST]
