"""Which value crowds a bin: bins that hold most of their neighbourhood, measured more finely.

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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from understudy._arrays import Floats
from understudy.dp.calibration import NoiseName
from understudy.dp.gate import Gate
from understudy.dp.released import NoisyTable
from understudy.features.grids import Numeric
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import known_rows
from understudy.methods.binning import declared_bins, merged_starts, records_per_noise
from understudy.models.numeric import POINT, bins_on_line, heaps_on_line
from understudy.schema import NUMERIC, Calendar, Continuous, Schema
from understudy.schema.coarsening import in_these_bins

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
            if own and (bins := _bins(gate.schema, name, own))
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
    apart, widths = heaps_on_line(edges, own, single), np.diff(edges)
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


def _bins(schema: Schema, name: str, crowds: Sequence[Crowd]) -> tuple[object, ...]:
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
