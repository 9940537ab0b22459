"""From state numbers back to values: dtypes, order and absent values come from the schema alone.

In a CSV, texts are guarded that a spreadsheet would take for a formula and run. A level is whatever
the schema calls it, and a spreadsheet evaluates a cell that begins with "=", "+", "-", "@", a tab
or a line break, quoted or not. An apostrophe before it makes it a text. Numbers are left alone: −9
is a number to everybody.

**Numbers of records in the order that inequalities declare.**

Which bins stand together is the models' affair, and no cell that an inequality rules out is drawn.
Where the bins of two columns overlap, a record may still have its numbers the wrong way round.
Then:

1. the two are exchanged, where each lies in the bin of the other and on its grid (with `at`, which
   keeps models to an inequality at fewer places than bins begin: within the other's bounds). That
   is a draw from the two bins given the order, if both were uniform in one bin, and it keeps the
   numbers of both columns taken together;
2. else, column after column from the smallest on, a number stays where it leaves room for those
   behind it, and is drawn anew, evenly, within its bin where it does not;
3. else, where bins finer than those thresholds leave no room, the same within the bounds of the
   columns.

What happens to a record depends on its own numbers and the schema alone: post-processing.

**Places on the number line of released values, and released values of places.**

Numbers are their own place; days, moments, times of day and durations count units of the column's
line. A column with codes in words holds text.

**Columns that count members, as the members of each released unit have it: post-processing.**

Records of a model agree with their members already (`models.counted_members`), but where it has
too few that do, and where a number was moved to keep to an inequality.

**Numbers of the members of a unit in the distances that rules declare.**

Bins that cannot keep to them are ruled out by the model. Within the declared bins numbers are moved
as little as is needed: first the larger one up, then the smaller one down. They never leave their
declared bin. What happens to a unit depends on its own numbers and the schema alone:
post-processing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._arrays import Codes
from understudy.errors import ReleaseError
from understudy.schema import (
    NUMERIC,
    Calendar,
    Column,
    Continuous,
    Date,
    Datetime,
    Duration,
    Relation,
    Schema,
    Time,
)
from understudy.schema.base import Code, is_number, number_of, text_of
from understudy.schema.columns import Cells
from understudy.schema.constraints import Grid
from understudy.schema.derived import compute_derived, count_members
from understudy.schema.households import LeastDistance, slot_column
from understudy.schema.time_expressions import (
    seconds_of_days,
    seconds_of_moments,
    seconds_of_spans,
    seconds_of_times,
)

Numbers = dict[str, NDArray[np.float64]]


def put_in_order(
    cells: Mapping[str, Cells], schema: Schema, rng: np.random.Generator
) -> dict[str, Cells]:
    """The columns of some records, with numbers that keep to every inequality.

    Args:
        cells: the columns that are measured, of n records each.
        schema: with the inequalities.
        rng: randomness of numbers that are drawn anew.
    """
    order = _Order.of(schema)
    if not order.steps:
        return dict(cells)
    numbers = {name: cells[name].numbers.copy() for name in order.names}
    states = {name: cells[name].states for name in order.names}
    for step in order.steps:
        order.exchange(step, numbers, states)
    for whole in (False, True):
        wrong = order.find_broken(numbers)
        if len(wrong):
            own = {name: array[wrong] for name, array in numbers.items()}
            part = {name: array[wrong] for name, array in states.items()}
            order.redraw(own, *order.ends(part, whole=whole), rng)
            for name, array in own.items():
                numbers[name][wrong] = array
    return {**cells, **{name: Cells(states[name], numbers[name]) for name in order.names}}


@dataclass(frozen=True, eq=False)
class _Order:
    """Inequalities between numbers.

    Attributes:
        steps: one by one.
        names: their columns, each behind those that are smaller.
        grids: what the columns can hold.
        bounds: of the columns.
    """

    steps: tuple[Relation, ...]
    names: tuple[str, ...]
    grids: dict[str, Grid]
    bounds: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, schema: Schema) -> _Order:
        columns = {n: c for n, c in schema.columns.items() if isinstance(c, NUMERIC)}
        steps = tuple(
            one for one in schema.relations if one.inequality and one.columns[0] in columns
        )
        smaller: dict[str, list[str]] = {}
        for step in steps:
            smaller.setdefault(step.columns[1], []).append(step.columns[0])
        names = tuple(TopologicalSorter(smaller).static_order())
        grids = {name: Grid.of(columns[name]) for name in names}
        return cls(steps, names, grids, {name: columns[name].bounds for name in names})

    def find_broken(self, numbers: Numbers) -> NDArray[np.int64]:
        """Numbers of the records that break an inequality."""
        return np.flatnonzero(np.any([_breaks(step, numbers) for step in self.steps], axis=0))

    def exchange(self, step: Relation, numbers: Numbers, states: Mapping[str, Codes]) -> None:
        """Exchange the two numbers of a record, where they are the wrong way round and may be."""
        small, large = step.columns
        if self.grids[small].scale != self.grids[large].scale:
            return
        rows = np.flatnonzero(_breaks(step, numbers) & (numbers[small] != numbers[large]))
        one, other = numbers[small][rows], numbers[large][rows]
        fits = self._holds(small, None if step.at else states[small][rows], other)
        fits &= self._holds(large, None if step.at else states[large][rows], one)
        numbers[small][rows[fits]], numbers[large][rows[fits]] = other[fits], one[fits]

    def _holds(
        self, name: str, states: Codes | None, values: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return whether values lie in the bins of these states, or in their column's bounds."""
        low, high = self.bounds[name]
        if states is None:
            return np.asarray((values >= low) & (values <= high))
        grid = self.grids[name]
        return np.asarray((values >= grid.lows[states]) & (values <= grid.highs[states]))

    def ends(self, states: Mapping[str, Codes], *, whole: bool) -> tuple[Numbers, Numbers]:
        """Between what each number may lie: in its bin, or in the bounds of its column."""
        lows, highs = {}, {}
        for name in self.names:
            grid, own = self.grids[name], np.minimum(states[name], len(self.grids[name].lows) - 1)
            low, high = self.bounds[name]
            lows[name] = np.full(len(own), low) if whole else grid.lows[own]
            highs[name] = np.full(len(own), high) if whole else grid.highs[own]
            lows[name] = grid.from_on(lows[name], strict=False)
            highs[name] = grid.up_to(highs[name], strict=False)
        return lows, highs

    def redraw(
        self, numbers: Numbers, lows: Numbers, highs: Numbers, rng: np.random.Generator
    ) -> None:
        """Move numbers that leave no room; between ends that have no room nothing is moved."""
        for name in reversed(self.names):
            for step in self._with(name, side=0):
                room = self.grids[name].up_to(highs[step.columns[1]], strict=step.is_strict)
                absent = np.isnan(numbers[step.columns[1]])
                highs[name] = np.minimum(highs[name], np.where(absent, np.inf, room))
        for name in self.names:
            for step in self._with(name, side=1):
                least = self.grids[name].from_on(numbers[step.columns[0]], strict=step.is_strict)
                lows[name] = np.fmax(lows[name], least)
            low, high, now = lows[name], highs[name], numbers[name]
            moved = np.flatnonzero(((now < low) | (now > high)) & (low <= high))
            now[moved] = self.grids[name].draw(low[moved], high[moved], rng)

    def _with(self, name: str, *, side: int) -> Sequence[Relation]:
        return [step for step in self.steps if step.columns[side] == name]


def _breaks(step: Relation, numbers: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Mark records that break an inequality; an absent number (NaN) breaks none."""
    small, large = (numbers[name] for name in step.columns)
    return np.asarray(small >= large if step.is_strict else small > large)


_FORMS = {Datetime: "%Y-%m-%dT%H:%M:%S", Time: "%H:%M:%S"}


def dtype_of_times(column: Calendar) -> pl.DataType:
    """Type of a released column of times without codes."""
    if isinstance(column, Date):
        return pl.Date()
    if isinstance(column, Time):
        return pl.Time()
    return pl.Duration("us") if isinstance(column, Duration) else pl.Datetime("us")


def place_of(values: pl.Expr, dtype: pl.DataType, column: Column) -> pl.Expr:
    """Place of each value; null for what has none, such as a code in words.

    Args:
        values: of a release.
        dtype: their type.
        column: numeric.
    """
    if not isinstance(column, Calendar):
        return values.cast(pl.Float64, strict=dtype != pl.String)
    if dtype == pl.String:
        number, per_unit = _seconds(values, column), column.unit_seconds
    else:
        number, per_unit = values.to_physical().cast(pl.Int64), _per_unit(column)
    return pl.when(number % per_unit == 0).then(number.floordiv(per_unit)).cast(pl.Float64)


def places_of(values: pl.Series, column: Column) -> NDArray[np.float64]:
    """Place of each released value, NaN for what has none; shape (n,), an array of its own."""
    if not isinstance(column, Calendar):  # as `place_of` has it
        numbers = values.cast(pl.Float64, strict=values.dtype != pl.String)
        return np.array(numbers.to_numpy())
    place = place_of(pl.col("value"), values.dtype, column)
    found = values.to_frame("value").select(place.alias("place")).to_series()
    return found.fill_null(np.nan).to_numpy().copy()


def values_of(places: NDArray[np.float64], column: Calendar, dtype: pl.DataType) -> pl.Series:
    """Released values of places, of the type that the column has, shape (n,)."""
    whole = np.rint(places).astype(np.int64) * _per_unit(column)
    days = isinstance(column, Date)
    typed = pl.Series(whole, dtype=pl.Int32 if days else pl.Int64).cast(dtype_of_times(column))
    return typed if dtype != pl.String else as_text(typed)


def as_text(values: pl.Series) -> pl.Series:
    """Days, moments, times of day and durations as ISO 8601."""
    if values.dtype == pl.Date:
        return values.cast(pl.String)
    if isinstance(values.dtype, pl.Duration):
        return values.dt.to_string("iso")
    return values.dt.to_string(_FORMS[Time if values.dtype == pl.Time else Datetime])


def with_iso_times(table: pl.DataFrame) -> pl.DataFrame:
    """The table as CSV has it: moments, times of day and durations as ISO 8601."""
    timed = [one for one in table if one.dtype.is_temporal() and one.dtype != pl.Date]
    return table.with_columns(as_text(one.alias("")).alias(one.name) for one in timed)


def _seconds(text: pl.Expr, column: Calendar) -> pl.Expr:
    if isinstance(column, Time):
        return seconds_of_times(text)
    if isinstance(column, Duration):
        return seconds_of_spans(text)
    return seconds_of_moments(text, "") if isinstance(column, Datetime) else seconds_of_days(text)


def _per_unit(column: Calendar) -> int:
    """Units of the type in a unit of the line."""
    if isinstance(column, Date):
        return 1
    return column.unit_seconds * (10**9 if isinstance(column, Time) else 10**6)


_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def has_formulas(table: pl.DataFrame) -> bool:
    """Return whether a column or a value of it would be taken for a formula."""
    names = any(_acts(name) for name in table.columns)
    return names or any(_acts(text) for column in _texts(table) for text in _distinct(column))


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before each such text, in its header as well.

    Example:
        >>> table = pl.DataFrame({"=x": ["=1+1", "-9", "ok"]})
        >>> without_formulas(table).to_dict(as_series=False)
        {"'=x": ["'=1+1", '-9', 'ok']}
    """
    changed = []
    for column in _texts(table):
        quoted = {text: f"'{text}" for text in _distinct(column) if _acts(text)}
        if quoted:
            plain = column.alias("").cast(pl.String)
            changed.append(plain.replace(quoted).alias(column.name))
    renamed = {name: _plain(name, table.columns) for name in table.columns if _acts(name)}
    return table.with_columns(changed).rename(renamed)


def _plain(name: str, taken: list[str]) -> str:
    """The name behind as many apostrophes as it takes to be no other column's."""
    quoted = f"'{name}"
    return quoted if quoted not in taken else _plain(quoted, taken)


def _texts(table: pl.DataFrame) -> list[pl.Series]:
    return [column for column in table if column.dtype in (pl.String, pl.Enum)]


def _distinct(series: pl.Series) -> list[str]:
    return [text for text in series.alias("").unique().to_list() if text is not None]


def _acts(text: str) -> bool:
    return text.startswith(_STARTS) and number_of(text) is None


FrameKind = Literal["pandas", "polars", "arrow"]


def require_frame(frame: object) -> None:
    """Refuse a kind of data frame that is not known.

    Raises:
        ReleaseError: it is none of "pandas", "polars" and "arrow".
    """
    if frame not in get_args(FrameKind):
        raise ReleaseError(f"frame must be one of {', '.join(get_args(FrameKind))}.")


def dtype_of(column: Column) -> pl.DataType:
    """Type of a released column; a function of the schema alone.

    A numeric column with codes in text ("refused") becomes text, so that no code is lost. The
    empty code is a null in every type.
    """
    codes = [code for code in column.codes if code != ""]
    if isinstance(column, NUMERIC):
        return _numeric_dtype(column, codes)
    values = [*(level for level in column.levels if level != ""), *codes]
    if values and all(isinstance(value, bool) for value in values):
        return pl.Boolean()
    if all(is_number(value) for value in values):
        return pl.Int64() if all(isinstance(value, int) for value in values) else pl.Float64()
    return pl.Enum([text_of(value) for value in values])


def _numeric_dtype(column: Column, codes: Sequence[Code]) -> pl.DataType:
    if isinstance(column, Calendar):
        return pl.String() if codes else dtype_of_times(column)
    if not all(is_number(code) for code in codes):
        return pl.String()
    whole = column.kind == "integer" and all(isinstance(code, int) for code in codes)
    return pl.Int64() if whole else pl.Float64()


def decode(
    states: Sequence[NDArray[np.integer[Any]]],
    schema: Schema,
    rng: np.random.Generator,
    values: Mapping[str, NDArray[np.float64]] | None = None,
) -> pl.DataFrame:
    """Values for coded records; numbers that are not given are drawn uniformly within their bin.

    Numbers are put in the order that inequalities declare, and derived columns are computed;
    identifiers are left to `understudy.release.sets`.

    Args:
        states: one array of state numbers per column, each of shape (n,).
        schema: what the states mean.
        rng: randomness for places within bins.
        values: numbers that are given, by column, each of shape (n,); used where the state is a
            bin, and rounded to what the column holds. NaN stands for one that is not given.
    """
    return pl.DataFrame([*decode_columns(states, schema, rng, dict(values or {}))])


def decode_columns(
    states: Iterable[NDArray[np.integer[Any]]],
    schema: Schema,
    rng: np.random.Generator,
    values: dict[str, NDArray[np.float64]],
) -> Iterator[pl.Series]:
    """The columns of `decode`, one after the other; no more states are asked for than are needed.

    Args:
        states: as for `decode`, and so are the others.
        schema: what the states mean.
        rng: randomness for places within bins.
        values: numbers that are given; they are taken out as they are used.
    """
    if schema.relations or schema.derived or schema.members:
        cells = cells_of([*states], schema, rng, values)
        yield from (_series(name, column, cells[name]) for name, column in schema.stated.items())
        return
    for (name, column), codes in zip(schema.columns.items(), states, strict=True):
        yield _series(name, column, _cells(column, codes, rng, values.pop(name, None)))


def cells_of(
    states: Sequence[NDArray[np.integer[Any]]],
    schema: Schema,
    rng: np.random.Generator,
    values: Mapping[str, NDArray[np.float64]],
) -> dict[str, Cells]:
    """Compute the cells that `decode` writes: all declared columns of some records."""
    pairs = zip(schema.columns.items(), states, strict=True)
    cells = {name: _cells(col, codes, rng, values.get(name)) for (name, col), codes in pairs}
    if schema.relations:
        cells = put_in_order(cells, schema, rng)
    cells = keep_counts(keep_distances(cells, schema), schema)
    if schema.derived:
        cells |= compute_derived(schema.stated, cells)
    return cells


def assemble_table(cells: Mapping[str, Cells], schema: Schema) -> pl.DataFrame:
    """Records as a table, from all of their columns."""
    return pl.DataFrame([_series(name, col, cells[name]) for name, col in schema.stated.items()])


def _cells(
    column: Column,
    states: NDArray[np.integer[Any]],
    rng: np.random.Generator,
    given: NDArray[np.float64] | None,
) -> Cells:
    """States, and the numbers of those that are bins or spikes; NaN for others."""
    if not isinstance(column, NUMERIC):
        return Cells(states, np.empty(0))
    return Cells(states, _numbers(column, states, given, rng))


def _series(name: str, column: Column, cells: Cells) -> pl.Series:
    """A column of a release from its states and numbers."""
    dtype, states, numbers = dtype_of(column), cells.states, cells.numbers
    if not isinstance(column, NUMERIC):
        named = pl.Series(
            [_as(value, dtype) for value in (*column.levels, *column.codes)], dtype=dtype
        )
        return named.gather(pl.Series(states.astype(np.uint32))).alias(name)
    absent = np.flatnonzero(states >= column.n_ordinary)
    if not len(absent):
        return _numbers_as(numbers, column, dtype).alias(name)
    numbers = numbers.copy()
    numbers[absent] = column.bounds[0]
    codes = pl.Series([_as(code, dtype) for code in column.codes], dtype=dtype)
    found = codes.gather(states[absent] - column.n_ordinary)
    return _numbers_as(numbers, column, dtype).scatter(absent, found).alias(name)


def _as(value: Code, dtype: pl.DataType) -> Any:
    if value == "":
        return None
    if dtype in (pl.Enum, pl.String):
        return text_of(value)
    number = number_of(value) if dtype == pl.Float64 else None
    return value if number is None else number


def _numbers_as(numbers: NDArray[np.float64], column: Column, dtype: pl.DataType) -> pl.Series:
    if isinstance(column, Calendar):
        return values_of(numbers, column, dtype)
    if column.kind == "integer":
        values = pl.Series(numbers.astype(np.int64))
    else:
        values = pl.Series(numbers)
    return values.cast(dtype)


def _numbers(
    column: Column,
    states: NDArray[np.integer[Any]],
    given: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """The given numbers, and drawn ones where none is given; NaN where a state has none.

    A spike stands where it is the state, whatever is given.
    """
    assert isinstance(column, NUMERIC)
    ordinary = states < column.n_ordinary
    numbers = np.full(len(states), np.nan)
    if given is not None:
        decimals = column.decimals if isinstance(column, Continuous) else 0
        rounded = given if decimals is None else np.round(given, decimals)
        numbers = np.clip(rounded, *column.bounds)
        numbers[~ordinary] = np.nan
    if any(one.spike for one in column.intervals):
        spikes = np.full(column.size + 1, np.nan)
        spikes[: column.n_ordinary] = [one.low if one.spike else np.nan for one in column.intervals]
        own = spikes.take(states, mode="clip")
        numbers = np.where(np.isnan(own), numbers, own)
    rows = np.flatnonzero(ordinary & np.isnan(numbers))
    if len(rows):
        numbers[rows] = drawn_numbers(column, states[rows], rng)
    return numbers


def drawn_numbers(
    column: Column, states: NDArray[np.integer[Any]], rng: np.random.Generator
) -> NDArray[np.float64]:
    """A number inside the interval of each record, on the grid of whole numbers or decimals.

    Args:
        column: of numbers or dates.
        states: of bins or spikes, shape (n,).
        rng: randomness.

    Returns:
        Shape (n,). Multiples of the grid that are spikes are left out of the bins; the middle
        stands for a bin that is narrower than the rounding.
    """
    assert isinstance(column, NUMERIC)
    decimals = column.decimals if isinstance(column, Continuous) else 0
    lows, highs = np.array([(one.low, one.high) for one in column.intervals]).T
    uniforms = rng.random(len(states))
    if decimals is None:
        return np.asarray(lows[states] + uniforms * (highs - lows)[states])
    grid = 10.0**decimals
    spikes = np.sort([round(one.low * grid) for one in column.intervals if one.spike])
    ends = [_grid_ends(column, one.low, one.high, grid) for one in column.intervals]
    # Places among the values of the grid that are no spikes.
    limits = np.array(ends, dtype=np.float64) + np.array([0, 1])
    firsts, afters = (one - np.searchsorted(spikes, one) for one in limits.T)
    point = np.array([one.spike or one.low == one.high for one in column.intervals])
    fixed = np.where(point, lows, np.where(afters > firsts, np.nan, (lows + highs) / 2))
    free = firsts[states] + np.floor(uniforms * (afters - firsts)[states])
    if len(spikes):
        free += np.searchsorted(spikes - np.arange(len(spikes)), free, side="right")
    drawn = fixed[states]
    return np.asarray(np.where(np.isnan(drawn), free / grid, drawn))


def _grid_ends(column: Column, low: float, high: float, grid: float) -> tuple[int, int]:
    first, last = int(np.ceil(low * grid)), int(np.floor(high * grid))
    open_end = isinstance(column, Continuous) and high < column.upper and last / grid >= high
    return first, last - open_end


def to_frame(table: pl.DataFrame, schema: Schema, kind: FrameKind) -> Any:
    """The table as the kind of data frame that is wanted; dtypes depend on the schema alone.

    In pandas, whole numbers and truth values that may be absent have the nullable types, ordinal
    levels an ordered category.
    """
    if kind == "polars":
        return table
    if kind == "arrow":
        return table.to_arrow()
    frame = table.to_pandas()
    for name, column in schema.stated.items():
        nullable = "" in column.codes or "" in getattr(column, "levels", ())
        dtype = table.schema[name]
        if dtype in (pl.Int64, pl.Boolean) and nullable:
            plain = table.get_column(name).to_list()
            frame[name] = _nullable(plain, "Int64" if dtype == pl.Int64 else "boolean")
        elif dtype == pl.Enum:
            frame[name] = (
                frame[name].cat.as_ordered()
                if column.kind == "ordinal"
                else (frame[name].cat.as_unordered())
            )
    return frame


def _nullable(values: list[Any], dtype: str) -> Any:
    import pandas as pd

    return pd.array(values, dtype=dtype)


def keep_counts(cells: Mapping[str, Cells], schema: Schema) -> dict[str, Cells]:
    """The columns of some records, in which counts of members are those of the members there are.

    Args:
        cells: the columns that are measured, of n records each.
        schema: of the wide table.
    """
    made = {
        name: Cells(np.zeros(len(own), dtype=np.int64), own.astype(np.float64))
        for name, own in counts_of(cells, schema).items()
    }
    return {**cells, **made}


def counts_of(cells: Mapping[str, Cells], schema: Schema) -> dict[str, NDArray[np.int64]]:
    """Members of each kind that a column counts, in each record; column → shape (n,).

    Args:
        cells: of the slots' columns, of n records each.
        schema: of the wide table.
    """
    form = schema.members
    if form is None or not form.counts:
        return {}
    own = form.member_columns(schema.declared)
    used = dict.fromkeys(name for one in form.counts for name in one.where)
    slots = range(1, form.rows_per_unit + 1)
    there = [{name: cells[slot_column(name, j)] for name in used} for j in slots]
    return count_members(form.counts, own, there)


def keep_distances(cells: Mapping[str, Cells], schema: Schema) -> dict[str, Cells]:
    """The columns of some records, with numbers that keep to every inequality between members.

    Args:
        cells: the columns that are measured, of n records each.
        schema: of the wide table.
    """
    found = dict(cells)
    for rule in () if schema.members is None else schema.members.distances:
        pairs = [*_pairs(schema, rule, {name: one.states for name, one in found.items()})]
        for large, small, rows in pairs:
            need = _end_below(rule.starts, found[small].numbers[rows]) + rule.distance
            numbers = found[large].numbers.copy()
            room = np.minimum(need, _end_above(rule.ends, numbers[rows]))
            numbers[rows] = np.maximum(numbers[rows], room)
            found[large] = Cells(found[large].states, numbers)
        for large, small, rows in pairs:
            numbers = found[small].numbers.copy()
            most = found[large].numbers[rows] - rule.distance
            numbers[rows] = np.minimum(numbers[rows], most)
            found[small] = Cells(found[small].states, numbers)
    return found


def _pairs(
    schema: Schema, rule: LeastDistance, states: Mapping[str, NDArray[Any]]
) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Columns of the larger and the smaller number, and the records that are concerned."""
    for i, j in _slots(schema, rule):
        if i != j:
            hit = _has_level(schema, slot_column(rule.role, j), rule.smaller, states)
            hit &= _has_level(schema, slot_column(rule.role, i), rule.larger, states)
            large, small = (slot_column(rule.columns[k], place) for k, place in ((0, i), (1, j)))
            for name in (large, small):
                hit &= states[name] < schema.columns[name].n_ordinary
            if hit.any():
                yield large, small, np.flatnonzero(hit)


def _slots(schema: Schema, rule: LeastDistance) -> Iterator[tuple[int, int]]:
    """Slots that may hold the larger and the smaller number."""
    every = range(1, schema.members.rows_per_unit + 1) if schema.members else range(0)
    return itertools.product(every[:1] if rule.first else every, every)


def _has_level(
    schema: Schema, name: str, level: Any, states: Mapping[str, NDArray[Any]]
) -> NDArray[np.bool_]:
    levels = [text_of(one) for one in getattr(schema.columns[name], "levels", ())]
    return np.asarray(states[name] == levels.index(text_of(level)))


def _end_below(starts: Sequence[float], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lower end of the declared bin of each number."""
    ends = np.asarray(starts)
    return ends[np.clip(np.searchsorted(ends, numbers, side="right") - 1, 0, None)]


def _end_above(ends: Sequence[float], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The upper end of the declared bin of each number."""
    found = np.asarray(ends)
    return found[np.clip(np.searchsorted(found, numbers), None, len(found) - 1)]


def breaks_distances(table: pl.DataFrame, schema: Schema) -> bool:
    """Return whether an inequality between members does not hold in a wide table."""
    for rule in () if schema.members is None else schema.members.distances:
        for i, j in _slots(schema, rule):
            if i != j:
                large, small = (
                    _numbers_of(table, schema, slot_column(rule.columns[k], place))
                    for k, place in ((0, i), (1, j))
                )
                concerned = _says(table, rule.role, i, rule.larger) & _says(
                    table, rule.role, j, rule.smaller
                )
                if (concerned & (large < small + rule.distance).fill_null(value=False)).any():
                    return True
    return False


def _numbers_of(table: pl.DataFrame, schema: Schema, name: str) -> pl.Series:
    """The numbers of a column; null for codes, which may look like numbers."""
    texts = table.get_column(name).cast(pl.String)
    codes = [text_of(code) for code in schema.columns[name].codes]
    return texts.set(texts.is_in(codes), None).cast(pl.Float64, strict=False)


def _says(table: pl.DataFrame, name: str, j: int, level: Any) -> pl.Series:
    texts = table.get_column(slot_column(name, j)).cast(pl.String)
    return (texts == text_of(level)).fill_null(value=False)


def add_identifiers(table: pl.DataFrame, schema: Schema, start: int = 0) -> pl.DataFrame:
    """The table with its identifiers, columns in the order of the schema.

    Args:
        table: of all other columns, in its last order.
        schema: of the release.
        start: records of the set before this part of it.
    """
    if not schema.identifiers:
        return table
    numbers = range(start + 1, start + table.height + 1)
    fresh = [
        pl.Series(name, map(column.write_identifier, numbers), dtype=pl.String)
        for name, column in schema.identifiers.items()
    ]
    return table.with_columns(fresh)[list(schema.declared)]


def are_fresh(table: pl.DataFrame, schema: Schema, start: int = 0) -> bool:
    """Return whether a table, or a part of one, has the identifiers that it was given."""
    return add_identifiers(table, schema, start).equals(table)
