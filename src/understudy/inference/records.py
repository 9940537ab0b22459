"""Records as an analysis sees them: numbers and levels, with coded absence taken for absence.

A released set writes absence as it is written in the data (−9, "refused", an empty cell). The
schema says which values those are. Here each record has, for each column, an ordinary state (its
level, bin or spike) or none, and for numeric columns its number or NaN.

The cells of a noisy table are given the same form: `cell_points` puts into each bin a few numbers
that stand for it, so that one definition of an estimand serves sets and tables alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.features.scores import Limits
from understudy.release.decoding import places_of
from understudy.release.release import Release, once
from understudy.release.sets import first_parts
from understudy.schema import NUMERIC, Boolean, Column, Continuous, Ordinal, Schema
from understudy.schema.base import Code, is_number, number_of, text_of
from understudy.schema.numeric import Interval

if TYPE_CHECKING:
    import pandas as pd

ABSENT = -1
MOST_POINTS = 2**20
_POINTS_PER_BIN = 64
_PROBES, _MOST_PROBES = 128, 1024


@dataclass(frozen=True)
class Records:
    """Records in the form that analyses need.

    Attributes:
        schema: what the states mean.
        states: column → ordinary state of each record, `ABSENT` where it has none, shape (n,).
        numbers: numeric column → number of each record (dates: days since 1970-01-01), NaN where
            absent, shape (n,).
        units: number of the unit that each record belongs to, shape (n,); None where each is one.
    """

    schema: Schema
    states: dict[str, Integers]
    numbers: dict[str, Floats]
    units: Integers | None = None

    @classmethod
    def of(cls, table: pl.DataFrame, schema: Schema, columns: Sequence[str]) -> Records:
        """The records of a released set, for some columns."""
        states, numbers = {}, {}
        for name in columns:
            column, series = schema.columns[name], table.get_column(name).alias("")
            if isinstance(column, NUMERIC):
                numbers[name] = _numbers(series, column)
                states[name] = _bins(numbers[name], column)
            else:
                states[name] = _levels(series, column)
        return cls(schema, states, numbers)

    @classmethod
    def complete_of(cls, table: pl.DataFrame, schema: Schema, columns: Sequence[str]) -> Records:
        """Those of a released set that have a value in each of some columns."""
        records = cls.of(table, schema, columns)
        return records.take(records.complete())

    @staticmethod
    def states_of(numbers: Floats, column: Column) -> Integers:
        """The bin or spike of each number of a numeric column, `ABSENT` for NaN, shape (n,)."""
        return _bins(numbers, column)

    @property
    def unit_numbers(self) -> Integers:
        """The unit of each record, shape (n,); each is one of its own where none are known."""
        if self.units is not None:
            return self.units
        columns = (*self.states.values(), *self.numbers.values())
        return np.arange(len(columns[0]))

    def complete(self) -> NDArray[np.bool_]:
        """Mark records with a value in every column, shape (n,)."""
        present = [states != ABSENT for states in self.states.values()]
        return np.asarray(np.logical_and.reduce(present))

    def take(self, rows: NDArray[np.bool_] | Integers) -> Records:
        """Some of the records."""
        return Records(
            self.schema,
            {name: states[rows] for name, states in self.states.items()},
            {name: numbers[rows] for name, numbers in self.numbers.items()},
            None if self.units is None else self.units[rows],
        )

    def cut_off(self, limits: Limits) -> Records:
        """The same records, with numbers beyond limits counted as these; states stay."""
        if not limits:
            return self
        cut = {name: np.clip(self.numbers[name], *ends) for name, ends in limits.items()}
        return replace(self, numbers=self.numbers | cut)

    def frame(self) -> pd.DataFrame:
        """Complete records as a data frame for formulas.

        Numeric columns, and ordinal ones whose levels are all numbers, are floats; dates are days
        since 1970-01-01; booleans are booleans; other columns are categories with the levels of
        the schema, whether those are texts or numbers.
        """
        import pandas as pd

        return pd.DataFrame({name: self._values(name) for name in self.states})

    def within(self, schema: Schema) -> Records:
        """The same records, complete ones, with the states of their numbers in other bins."""
        if schema is self.schema:
            return self
        states = {
            name: _bins(self.numbers[name], schema.columns[name])
            if name in self.numbers
            else states
            for name, states in self.states.items()
        }
        return replace(self, schema=schema, states=states)

    def _values(self, name: str) -> object:
        column, states = self.schema.columns[name], self.states[name]
        if isinstance(column, NUMERIC):
            return self.numbers[name]
        if isinstance(column, Boolean):
            return states.astype(np.bool_)
        levels = level_values(column)
        if not is_grouping(column):
            return np.array(levels, dtype=np.float64)[states]
        import pandas as pd

        return pd.Categorical.from_codes(
            states, categories=list(levels), ordered=isinstance(column, Ordinal)
        )


def complete_records(release: Release, columns: Sequence[str]) -> list[Records]:
    """Complete records of the first part of each set, for some columns."""
    schema, tables = release.schema, first_parts(release.tables)
    if sum(table.height for table in tables) * len(schema.names) > _KEPT_VALUES:
        return [Records.complete_of(table, schema, columns) for table in tables]
    found = []
    for k in range(len(tables)):
        each = [_column_records(release, name)[k] for name in columns]
        states = {name: states for one in each for name, states in one.states.items()}
        numbers = {name: numbers for one in each for name, numbers in one.numbers.items()}
        records = Records(schema, states, numbers)
        found.append(records.take(records.complete()))
    return found


_KEPT_VALUES = 2**21


@once
def _column_records(release: Release, name: str) -> tuple[Records, ...]:
    """One column of each set: many questions may be asked of it, of a page by itself."""
    return tuple(Records.of(table, release.schema, [name]) for table in first_parts(release.tables))


def probe_records(schema: Schema, columns: Sequence[str]) -> Records:
    """Made-up records with most levels of each column, and numbers all over their bounds.

    Args:
        schema: public.
        columns: to make up.
    """
    most = max((schema.columns[name].n_ordinary for name in columns), default=1)
    n, rng = min(max(_PROBES, 2 * most), _MOST_PROBES), np.random.default_rng(0)
    states, numbers = {}, {}
    for name in columns:
        column = schema.columns[name]
        if isinstance(column, NUMERIC):
            low, high = column.bounds
            drawn = low + (high - low) * rng.permutation(n) / (n - 1)
            drawn = drawn if isinstance(column, Continuous) else np.rint(drawn)
            numbers[name] = np.clip(drawn, low, high)
            states[name] = Records.states_of(numbers[name], column)
        else:
            states[name] = rng.permutation(np.arange(n) % column.n_ordinary)
    return Records(schema, states, numbers)


def is_grouping(column: Column) -> bool:
    """Return whether formulas see the levels of a column, not one number or truth a record."""
    if isinstance(column, (*NUMERIC, Boolean)):
        return False
    numbers = all(is_number(level) for level in level_values(column))
    return not (isinstance(column, Ordinal) and numbers)


def level_values(column: Column) -> tuple[Code, ...]:
    """Levels of a column as formulas see them: numbers if all but the empty one are, else texts."""
    assert not isinstance(column, NUMERIC)
    named = [level for level in column.levels if level != ""]
    if isinstance(column, Boolean) or all(is_number(level) for level in named):
        return tuple("(empty)" if level == "" else level for level in column.levels)
    return column.labels[: column.n_ordinary]


def cell_points(
    schema: Schema, columns: Sequence[str], spread: Sequence[str]
) -> tuple[Records, Integers]:
    """Numbers that stand for the cells of a table.

    In each bin of the columns in `spread` stand up to 64 numbers: all that a record could have, if
    they are so few, else evenly spread ones. Records are drawn into synthetic sets uniformly
    within the bin as well, unless a number line or a mean was measured, so that a mean over these
    numbers is what a set shows on average.

    Args:
        schema: the public schema.
        columns: columns of the table.
        spread: those of them whose numbers matter, not only their states.

    Returns:
        The points as records, and the cell (mixed-radix number, last column fastest) of each.
    """
    per_bin = _POINTS_PER_BIN
    axes = [_axis(schema.columns[name], per_bin if name in spread else 1) for name in columns]
    while per_bin > 1 and _product(axes) > MOST_POINTS:
        per_bin //= 2
        axes = [_axis(schema.columns[name], per_bin if name in spread else 1) for name in columns]
    return _crossed_points(schema, columns, axes)


def cell_corners(
    schema: Schema, columns: Sequence[str], spread: Sequence[str]
) -> tuple[Records, Integers]:
    """The ends of the bins of some columns, crossed: a record of a cell lies between its corners.

    Args:
        schema: the public schema.
        columns: columns of the table.
        spread: those of them whose numbers matter, not only their states.

    Returns:
        The corners as records, and the cell of each, as `cell_points` has them.
    """
    axes = []
    for name in columns:
        column = schema.columns[name]
        if name in spread and isinstance(column, NUMERIC):
            ends = [state_ends(column, state) for state in range(column.size)]
            axes.append((np.repeat(np.arange(column.size), 2), np.concatenate(ends)))
        else:
            axes.append(_axis(column, 1))
    return _crossed_points(schema, columns, axes)


def state_ends(column: Column, state: int) -> Floats:
    """Smallest and largest number of a state of a numeric column, shape (2,); NaN for an absence.

    Of whole numbers and decimals those that occur; of other bins the edges.
    """
    assert isinstance(column, NUMERIC)
    grid = grid_numbers(column, state, _POINTS_PER_BIN)
    if len(grid) < _POINTS_PER_BIN:  # every number is there
        return grid[[0, -1]]
    interval = column.intervals[state]
    return np.array([interval.low, interval.high])


def is_binned(column: Column) -> bool:
    """Return whether some state of a column has more than one number."""
    return isinstance(column, NUMERIC) and any(
        len(grid_numbers(column, state, 2)) > 1 for state in range(column.n_ordinary)
    )


def _crossed_points(
    schema: Schema, columns: Sequence[str], axes: Sequence[tuple[Integers, Floats]]
) -> tuple[Records, Integers]:
    place = np.indices([len(axis[0]) for axis in axes]).reshape(len(axes), -1)
    cells = np.zeros(place.shape[1], dtype=np.int64)
    states, numbers = {}, {}
    for name, (full, number), at in zip(columns, axes, place, strict=True):
        column = schema.columns[name]
        cells = cells * column.size + full[at]
        states[name] = np.where(full[at] < column.n_ordinary, full[at], ABSENT)
        if isinstance(column, NUMERIC):
            numbers[name] = number[at]
    return Records(schema, states, numbers), cells


def grid_numbers(column: Column, state: int, most: int) -> Floats:
    """Numbers that stand for a state of a numeric column, at most `most`; NaN for an absence."""
    assert isinstance(column, NUMERIC)
    intervals = column.intervals
    if state >= len(intervals):
        return np.array([np.nan])
    interval = intervals[state]
    decimals = column.decimals if isinstance(column, Continuous) else 0
    if interval.spike or interval.low == interval.high:
        return np.array([interval.low])
    if decimals is None:
        return interval.low + (np.arange(most) + 0.5) / most * (interval.high - interval.low)
    unit = 10.0**decimals
    # Not exactly the last one: of a real bin its upper edge belongs to the next bin.
    first, last = np.ceil(interval.low * unit), np.floor(interval.high * unit)
    if (
        isinstance(column, Continuous)
        and interval.high < column.upper
        and last / unit >= interval.high
    ):
        last -= 1
    if last - first + 1 > most:
        return np.asarray((first + (np.arange(most) + 0.5) / most * (last - first)) / unit)
    grid = np.arange(first, last + 1) / unit
    spikes = spikes_beside(intervals, state)
    free = grid[~np.isin(grid, spikes)] if spikes else grid
    return free if len(free) else np.array([(interval.low + interval.high) / 2])


def spikes_beside(intervals: Sequence[Interval], state: int) -> list[float]:
    """Spikes at the ends of a bin or within it: as intervals ascend, they stand right beside it."""
    found = [intervals[state - 1].low] if state and intervals[state - 1].spike else []
    for after in range(state + 1, len(intervals)):  # of thousands of bins only those near are read
        if not intervals[after].spike:
            break
        found.append(intervals[after].low)
    return found


def _axis(column: Column, per_bin: int) -> tuple[Integers, Floats]:
    """State and number of each point along one column of a table."""
    if not isinstance(column, NUMERIC):
        return np.arange(column.size), np.full(column.size, np.nan)
    points = [grid_numbers(column, state, per_bin) for state in range(column.size)]
    states = np.repeat(np.arange(column.size), [len(numbers) for numbers in points])
    return states, np.concatenate(points)


def _product(axes: Sequence[tuple[Integers, Floats]]) -> int:
    total = 1
    for states, _ in axes:
        total *= len(states)
    return total


def _numbers(series: pl.Series, column: Column) -> Floats:
    """Numbers of a released column; every code of absence lies outside the bounds, or is text."""
    assert isinstance(column, NUMERIC)
    values = places_of(series, column)
    low, high = column.bounds
    with np.errstate(invalid="ignore"):
        return np.where((values >= low) & (values <= high), values, np.nan)


def _bins(numbers: Floats, column: Column) -> Integers:
    """Interval of each number: a spike if it is exactly one, else the bin around it."""
    assert isinstance(column, NUMERIC)
    bins = np.array([k for k, interval in enumerate(column.intervals) if not interval.spike])
    lows = np.array([column.intervals[k].low for k in bins])
    present = ~np.isnan(numbers)
    place = np.searchsorted(lows, np.where(present, numbers, lows[0]), side="right") - 1
    states = np.where(present, bins[np.maximum(place, 0)], ABSENT)
    for k, interval in enumerate(column.intervals):
        if interval.spike:
            states[numbers == interval.low] = k
    return states


def _levels(series: pl.Series, column: Column) -> Integers:
    """Level of each value; codes of absence, and nulls that are no level, have none."""
    assert not isinstance(column, NUMERIC)
    empty = next((k for k, level in enumerate(column.levels) if level == ""), ABSENT)
    named = {
        _as_released(level, series.dtype): k for k, level in enumerate(column.levels) if level != ""
    }
    if isinstance(series.dtype, pl.Enum):  # each text has one place already
        texts = series.dtype.categories.to_list()
        states = np.array([*(named.get(text, ABSENT) for text in texts), empty], dtype=np.int64)
        return np.asarray(states[series.to_physical().fill_null(len(texts)).to_numpy()])
    codes = series.replace_strict(
        pl.Series(list(named), dtype=series.dtype),
        pl.Series(list(named.values()), dtype=pl.Int64),
        default=ABSENT,
        return_dtype=pl.Int64,
    )
    return np.where(series.is_null().to_numpy(), empty, codes.fill_null(ABSENT).to_numpy())


def _as_released(level: object, dtype: pl.DataType) -> object:
    if dtype == pl.Float64:
        return number_of(level)  # type: ignore[arg-type]
    return text_of(level) if dtype in (pl.Enum, pl.String) else level  # type: ignore[arg-type]


def state_places(column: Column, named: Sequence[float], most: int) -> Floats:
    """Numbers that show how an expression runs within each ordinary state of a numeric column.

    Both ends that a record can have, so none that is a spike or the start of the next bin; `most`
    numbers between them; and `named` numbers with their neighbours, as far as they lie within.

    Args:
        column: whole numbers, real ones or dates.
        named: numbers at which something may jump.
        most: see above.

    Returns:
        Shape (`n_ordinary`, places); in a short row some stand several times.
    """
    assert isinstance(column, NUMERIC)
    decimals = column.decimals if isinstance(column, Continuous) else 0
    near = [place for number in named for place in numbers_around(number, decimals)]
    spikes = {interval.low for interval in column.intervals if interval.spike}
    rows = []
    for state in range(column.n_ordinary):
        low, high = _inner_ends(column, state)
        inside = [place for place in near if low <= place <= high and place not in spikes]
        rows.append(np.unique([low, high, *grid_numbers(column, state, most), *inside]))
    widest = max(map(len, rows))
    return np.stack([np.pad(row, (0, widest - len(row)), mode="edge") for row in rows])


def numbers_around(number: float, decimals: int | None) -> tuple[float, ...]:
    """The numbers before a number, at it and after it, of those that a column can have.

    Args:
        number: any; of decimals the last one up to it counts as it.
        decimals: of the column; None for numbers as they are stored.
    """
    if decimals is None:
        return float(np.nextafter(number, -np.inf)), number, float(np.nextafter(number, np.inf))
    unit = 10.0**decimals
    return tuple(float((np.floor(number * unit) + k) / unit) for k in (-1, 0, 1))


def _inner_ends(column: Column, state: int) -> tuple[float, float]:
    """Smallest and largest number that a record of a state can have."""
    assert isinstance(column, NUMERIC)
    intervals = column.intervals
    interval, spikes = intervals[state], spikes_beside(intervals, state)
    low, high = (float(x) for x in state_ends(column, state))
    if interval.spike or low == high:
        return low, high
    open_above = isinstance(column, Continuous) and high == interval.high < column.bounds[1]
    step = 1.0 if not isinstance(column, Continuous) else 0.0
    if low in spikes:
        low = low + step if step else float(np.nextafter(low, high))
    if open_above or high in spikes:
        high = high - step if step else float(np.nextafter(high, low))
    return low, high
