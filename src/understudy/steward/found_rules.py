"""Columns that are functions of others, by the rows: proposed as derived in a draft. CONFIDENTIAL.

Much of a table follows from the rest of it: totals, differences, age groups, recodes, copies. Such
a column need not be measured, and records keep to its rule. So a draft proposes the rule, marked as
read from the rows: accepted without a source, it makes the guarantee conditional.

Rules that are tried: a column that is another one, or this and a constant; the sum, difference,
product or quotient of two; a sum of several with signs; the year of a date; groups of a number
(`cut`); groups of levels, or levels of other names. Arithmetic is of columns further left.

**No rule is proposed that chance may have made.** It holds for every row. Besides, by how often two
rows share a value of the column by chance, independent columns would agree so with a probability of
2^-40 at most, divided by the cube of the number of columns, for all that is tried. Arithmetic is
seen for at least 30 different inputs; groups in at least 300 rows beyond the first of each input,
so that a rule with one exception in a hundred rows is proposed with a probability below 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from understudy.data.coding import ColumnCoder
from understudy.data.frames import column as named
from understudy.data.rows import Rows, type_fault
from understudy.schema import (
    NUMERIC,
    Calendar,
    Categorical,
    Column,
    Continuous,
    Date,
    Datetime,
    Integer,
    Ordinal,
    Schema,
)
from understudy.schema.base import LevelMap, text_of
from understudy.schema.derived import derived_faults, in_order
from understudy.schema.expressions import quote_name
from understudy.steward.check import RuleTally, cells_of

_CELLS = 4_000_000  # that are looked at for proposals; all rows are read before one is made
_MOST_ROWS = 100_000
_FIRST_ROWS = 50  # rows that rule most pairs out
_GLANCE = 2_000  # and nearly all of the others
_LEAST_BITS = 40.0
_LEAST_INPUTS = 30
_LEAST_ROWS = 300
_LEAST_DIFFERENT = 5  # values of a number that is computed
_MOST_LEVELS = 50
_MOST_TERMS = 12
_MOST_YEARS = 150
_CLOSE = 1e-6
_ROUNDING = 1e-9  # of sums in floating point, in parts of their size, and much more

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Seen:
    """A column of n rows.

    Attributes:
        name: of the column.
        column: as it is drafted.
        numbers: on its line, NaN where it has none; of a column with levels, their places.
        places: of each different value, ascending; -1 where there is none; shape (n,).
        n_different: values.
        bits: how seldom two rows share a value, -log2 of their share among all pairs.
    """

    name: str
    column: Column
    numbers: Numbers
    places: Places
    n_different: int
    bits: float

    @classmethod
    def of(cls, name: str, column: Column, numbers: Numbers) -> _Seen:
        there = ~np.isnan(numbers)
        different, inverse = np.unique(numbers[there], return_inverse=True)
        places = np.full(len(numbers), -1)
        places[there] = inverse
        shares = np.bincount(inverse, minlength=1) / max(1, there.sum())
        bits = -math.log2(float(np.sum(shares**2)) or 1.0)
        return cls(name, column, numbers, places, len(different), bits)

    @property
    def is_number(self) -> bool:
        return isinstance(self.column, Integer | Continuous)

    @property
    def text(self) -> str:
        """Its name as an expression writes it."""
        return quote_name(self.name)


def with_found_rules(
    rows: Rows, columns: Mapping[str, Column], free: Collection[str]
) -> dict[str, Column]:
    """The columns, some of them with a rule that every row keeps to.

    Args:
        rows: the table.
        columns: as they are drafted.
        free: names of those that may get a rule; of the others something else is known.
    """
    coders = _coders(rows, columns)
    seen = _read_columns(rows, coders)
    if len(seen) < 2 or len(seen[0].places) < _LEAST_INPUTS:
        return dict(columns)
    least = _LEAST_BITS + 3 * math.log2(len(seen))
    sums = _may_be_sums(seen)
    found = dict(columns)
    for k, target in enumerate(seen):
        if target.name not in free or target.n_different < 2 or "`" in target.name:
            continue
        for column in _proposals(target, seen[:k], seen[k + 1 :], least, sums):
            trial = {**found, target.name: column}
            if _holds_together(target.name, trial):
                found = trial
                break
    return _keep_held_rules(rows, columns, found, coders)


def _coders(rows: Rows, columns: Mapping[str, Column]) -> list[ColumnCoder]:
    types = rows.types()
    coders = (ColumnCoder(name, one) for name, one in columns.items() if one.derived is None)
    return [
        coder
        for coder in coders
        if coder.name in types and type_fault(coder, types[coder.name], rows.kind) is None
    ]


def _read_columns(rows: Rows, coders: Sequence[ColumnCoder]) -> list[_Seen]:
    if not coders:
        return []
    n = min(_MOST_ROWS, _CELLS // len(coders))
    batch = rows.ask(rows.lazy.select(named(coder.name) for coder in coders).head(n))
    found = []
    for coder in coders:
        cells = cells_of(coder, batch)
        numbers = cells.numbers
        if not isinstance(coder.column, NUMERIC):
            ordinary = cells.states < coder.column.n_ordinary
            numbers = np.where(ordinary, cells.states.astype(np.float64), np.nan)
        found.append(_Seen.of(coder.name, coder.column, numbers))
    return found


def _holds_together(name: str, columns: Mapping[str, Column]) -> bool:
    plain = {n: c.model_copy(update={"derived": None}) for n, c in columns.items() if n != name}
    if [*derived_faults({**plain, name: columns[name]})]:
        return False
    try:
        in_order(columns)
    except ValueError:
        return False
    return any(column.derived is None for column in columns.values())


def _keep_held_rules(
    rows: Rows,
    before: Mapping[str, Column],
    found: Mapping[str, Column],
    coders: Sequence[ColumnCoder],
) -> dict[str, Column]:
    """The rules that every row keeps to."""
    names = [name for name in found if found[name] is not before[name]]
    if not names:
        return dict(before)
    schema = Schema(columns=dict(found))
    measured = [ColumnCoder(c.name, found[c.name]) for c in coders if c.name in schema.columns]
    tally = RuleTally.of(rows, schema, measured)
    for batch in rows.batches([coder.name for coder in tally.coders]):
        tally.add(batch)
    broken = {name for name, *_ in tally.list_breaches()}
    kept = set(tally.rules) - broken
    return {n: found[n] if n in kept or n not in names else before[n] for n in before}


# --- what a column may be -------------------------------------------------------------------------


def _proposals(
    target: _Seen,
    left: Sequence[_Seen],
    right: Sequence[_Seen],
    least: float,
    sums: Collection[str],
) -> Iterator[Column]:
    """Columns with a rule, the simplest first."""
    if target.is_number:
        for rule in _arithmetic(target, [one for one in left if one.is_number], least, sums):
            column = target.column.model_copy(update={"derived": rule})
            yield column
            if not column.missing:  # bounds may let the rule divide by 0, though no row does
                yield column.model_copy(update={"missing": ("",)})
    for source in sorted([*left, *right], key=lambda one: one.n_different):
        if "`" in source.name:
            continue
        if isinstance(source.column, Date | Datetime) and (years := _years(target, source)):
            yield years
        same = source.n_different == target.n_different
        if target.n_different > min(_MOST_LEVELS, source.n_different) or (same and source in right):
            continue
        is_number = isinstance(source.column, NUMERIC)
        if is_number and (same or not _lies_in_runs(target, source)):
            continue
        if not _is_function(target, source, least):
            continue
        grouped = _cut_into_groups(target, source) if is_number else _find_level_map(target, source)
        if grouped is not None:
            yield grouped


def _arithmetic(
    target: _Seen, sources: Sequence[_Seen], least: float, sums: Collection[str]
) -> Iterator[str]:
    """Expressions that give a column of numbers in all rows that are looked at."""
    if target.n_different < _LEAST_DIFFERENT or not sources:
        return
    y = target.numbers
    glance = np.flatnonzero(~np.isnan(y))[:_GLANCE]
    if len(glance) < _LEAST_INPUTS:
        return
    few = np.unique(np.linspace(0, len(glance) - 1, 16).astype(int))
    places = glance[few]
    x = np.stack([one.numbers[places] for one in sources], axis=1)
    gaps = y[places][:, None] - x
    for j in np.flatnonzero(_lie_close(gaps, 2 * _reach(target.column))).tolist():
        one = sources[j]
        shift = _constant_of(target, one, gaps[:, j])
        sign = "+" if (shift or 0.0) > 0 else "-"
        text = one.text if not shift else f"{one.text} {sign} {abs(shift):.12g}"
        if shift is not None and _is_given(target, [one], one.numbers + shift, least):
            yield text
    for text, give in _OF_TWO.items():
        with np.errstate(all="ignore"):
            for j, k in _pairs_that_give(y[places], x, give, _reach(target.column)):
                first, second = sources[j], sources[k]
                ordered = j < k or (j != k and give not in _EITHER_WAY)
                values = give(first.numbers, second.numbers)
                if ordered and _is_given(target, [first, second], values, least):
                    yield text.format(first.text, second.text)
    if target.name in sums:
        yield from _signed_sum(target, sources, glance, least)


def _lie_close(gaps: Numbers, most: float) -> NDArray[np.bool_]:
    """Columns whose numbers lie no further apart than they may about one constant."""
    with np.errstate(invalid="ignore"):
        highest, lowest = np.fmax.reduce(gaps, axis=0), np.fmin.reduce(gaps, axis=0)
        return np.asarray(highest - lowest <= most + _ROUNDING * np.fmax(highest, -lowest))


def _pairs_that_give(
    y: Numbers, x: Numbers, give: Callable[[Numbers, Numbers], Numbers], reach: float
) -> Iterator[tuple[int, int]]:
    """Pairs of columns of x that give y in each row; the first row rules most of them out."""
    first, second = np.nonzero(np.abs(give(x[0][:, None], x[0]) - y[0]) <= reach)
    for row, number in zip(x[1:], y[1:], strict=True):
        near = np.abs(give(row[first], row[second]) - number) <= reach
        first, second = first[near], second[near]
    yield from zip(first.tolist(), second.tolist(), strict=True)


def _may_be_sums(seen: Sequence[_Seen]) -> frozenset[str]:
    """Numbers that may be a sum of columns further left; of the others none need be looked for.

    One triangular decomposition has how far each column is, in some rows, from every sum of those
    before it. A rule leaves no more than rounding in any row.
    """
    numbers = [one for one in seen if one.is_number]
    names = frozenset(one.name for one in numbers)
    if not numbers:
        return names
    x = np.stack([one.numbers[:_GLANCE] for one in numbers], axis=1)
    x = x[np.isfinite(x).all(axis=1)][: 2 * len(numbers) + 50]
    if len(x) <= len(numbers):  # too few rows to tell
        return names
    far = np.abs(np.diag(np.linalg.qr(x, mode="r")))
    most = [math.sqrt(len(x)) * _reach(one.column) for one in numbers]
    sizes = np.linalg.norm(x, axis=0)
    pairs = zip(numbers, far <= np.array(most) * (1 + _CLOSE) + _ROUNDING * sizes, strict=True)
    return frozenset(one.name for one, may_be in pairs if may_be)


_OF_TWO: Final[dict[str, Callable[[Numbers, Numbers], Numbers]]] = {
    "{0} + {1}": np.add,
    "{0} - {1}": np.subtract,
    "{0} * {1}": np.multiply,
    "{0} / {1}": np.divide,
}
_EITHER_WAY = (np.add, np.multiply)


def _constant_of(target: _Seen, source: _Seen, gaps: Numbers) -> float | None:
    """A constant in the decimals of both that stands between two columns; None if none does."""
    if np.isnan(gaps).any():
        gaps = gaps[~np.isnan(gaps)]
    if not len(gaps):
        return None
    decimals = max(_decimals(target.column), _decimals(source.column))
    shift = round(float(np.median(gaps)), min(decimals, 6)) + 0.0
    return shift if _near(target, gaps, np.full(len(gaps), shift)) else None


def _decimals(column: Column) -> int:
    if isinstance(column, Continuous):
        return 12 if column.decimals is None else column.decimals
    return 0


def _near(target: _Seen, given: Numbers, wanted: Numbers) -> bool:
    """Return whether some numbers are wanted, and each that is wanted is given but for rounding."""
    near = np.abs(given - wanted) <= _reach(target.column)
    return bool(np.all(near | np.isnan(wanted)) and np.any(near))


def _reach(column: Column) -> float:
    """Bound how far a number may be from what its rule gives: by rounding, and a little more."""
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    decimals = _decimals(column)
    return (0.5 * 10.0**-decimals if decimals < 12 else 0.0) + _CLOSE * 1e-3 * (high - low)


def _is_given(target: _Seen, sources: Sequence[_Seen], values: Numbers, least: float) -> bool:
    """Return whether all rows agree, with too many different inputs for chance."""
    if not _near(target, values, target.numbers):
        return False
    there = ~np.isnan(target.numbers)
    inputs = np.unique(np.stack([one.places[there] for one in sources], axis=1), axis=0)
    return len(inputs) >= _LEAST_INPUTS and len(inputs) * target.bits >= least


def _signed_sum(
    target: _Seen, sources: Sequence[_Seen], glance: Places, least: float
) -> Iterator[str]:
    """Three or more columns, each added or taken off."""
    glance = glance[: 3 * len(sources) + 50]  # exact sums need no more
    x = np.stack([one.numbers[glance] for one in sources], axis=1)
    full = ~np.isnan(x).any(axis=1)
    if full.sum() < 2 * len(sources) or len(sources) < 3:
        return
    weights = np.linalg.lstsq(x[full], target.numbers[glance][full], rcond=None)[0]
    signs = np.rint(weights)
    terms = np.flatnonzero(signs)
    if np.abs(weights - signs).max() > _CLOSE or not 3 <= len(terms) <= _MOST_TERMS:
        return
    if np.abs(signs).max() > 1:
        return
    signed = [(sources[int(k)], float(signs[k])) for k in terms]
    used = [one for one, _ in signed]
    values = np.sum([sign * one.numbers for one, sign in signed], axis=0)
    if _is_given(target, used, values, least):
        parts = [("+ " if sign > 0 else "- ") + one.text for one, sign in signed]
        yield " ".join(parts).removeprefix("+ ")


# --- groups ---------------------------------------------------------------------------------------


def _is_function(target: _Seen, source: _Seen, least: float) -> bool:
    """Return whether each value of one column has one of the other, more often than by chance."""
    for n in (_FIRST_ROWS, _GLANCE, len(target.places)):
        there = (target.places[:n] >= 0) & (source.places[:n] >= 0)
        of, own = source.places[:n][there], target.places[:n][there]
        pairs = np.unique(of * target.n_different + own)
        if len(pairs) > len(np.unique(of)):
            return False
    n_repeats = len(of) - len(pairs)  # rows whose value of the source was met before
    told = n_repeats * target.bits
    if not isinstance(source.column, NUMERIC):
        return n_repeats >= _LEAST_ROWS and told >= least
    groups = np.bincount(pairs % target.n_different, minlength=target.n_different)
    return len(of) >= _LEAST_ROWS and told + _bits_of_order(groups) >= least


def _lies_in_runs(target: _Seen, source: _Seen) -> bool:
    """Return whether no group of a number reaches into another, in the first rows."""
    own, numbers = target.places[:_FIRST_ROWS], source.numbers[:_FIRST_ROWS]
    there = (own >= 0) & (source.places[:_FIRST_ROWS] >= 0)
    own = own[there][np.argsort(numbers[there])]
    return int(np.count_nonzero(np.diff(own))) < max(1, len(np.unique(own)))


def _bits_of_order(groups: Places) -> float:
    """Measure in bits how seldom different values, in any order, lie group by group."""
    log = math.lgamma(groups.sum() + 1) - sum(math.lgamma(g + 1) for g in groups)
    return max(0.0, (log - math.lgamma(len(groups) + 1)) / math.log(2))


def _cut_into_groups(target: _Seen, source: _Seen) -> Column | None:
    """Groups of a number as levels, in its order."""
    there = (target.places >= 0) & (source.places >= 0)
    x, own = source.numbers[there], target.places[there]
    ends = [(x[own == k].min(), x[own == k].max(), k) for k in np.unique(own)]
    ends.sort()
    if any(high >= low for (_, high, _), (low, _, _) in pairwise(ends)):
        return None
    cuts = [_roundest(high, low) for (_, high, _), (low, _, _) in pairwise(ends)]
    values = np.unique(target.numbers[there])
    levels = [_level(target.column, values[k]) for *_, k in ends]
    rule = f"cut({source.text}, {', '.join(f'{cut:.15g}' for cut in cuts)})"
    return _of_levels(target.column, levels, rule)


def _level(column: Column, value: float) -> object:
    levels = getattr(column, "levels", ())
    return levels[int(value)] if levels else int(value) if value == int(value) else float(value)


def _of_levels(column: Column, levels: Sequence[object], rule: str | LevelMap) -> Column | None:
    """A column of levels in the place of one that has these values."""
    kept = {key: getattr(column, key) for key in ("missing", "not_applicable", "description")}
    kept |= {key: getattr(column, key) for key in ("unit", "value_labels", "source", "drafted")}
    if isinstance(column, Categorical | Ordinal) and set(column.levels) - set(levels):
        return None  # a declared level that no row has would be lost
    try:
        return Ordinal.model_validate(
            {"kind": "ordinal", "levels": tuple(levels), "derived": rule, **kept}
        )
    except ValidationError:
        return None


def _roundest(above: float, upto: float) -> float:
    """The roundest number above one and not above another."""
    start = math.floor(math.log10(max(abs(above), abs(upto), 1e-9))) + 1
    for power in range(start, -13, -1):
        for digit in (5, 1):
            step = digit * 10.0**power
            found = math.floor(upto / step + 1e-12) * step
            if above < found <= upto:
                return round(found, max(0, 12 - start)) + 0.0
    return upto


def _find_level_map(target: _Seen, source: _Seen) -> Column | None:
    """Groups of levels, or other names for them."""
    own: tuple[object, ...] = getattr(target.column, "levels", ())
    of: tuple[object, ...] = getattr(source.column, "levels", ())
    if not (own and of):
        return None
    there = (target.places >= 0) & (source.places >= 0)
    pairs = np.unique(
        np.stack([target.numbers[there], source.numbers[there]], axis=1).astype(np.int64), axis=0
    )
    groups: dict[str, tuple[object, ...]] = {}
    for k, j in pairs.tolist():
        level = text_of(own[k])
        groups[level] = (*groups.get(level, ()), of[j])
    rule = LevelMap.model_validate({"of": source.name, "levels": groups})
    return target.column.model_copy(update={"derived": rule})


def _years(target: _Seen, source: _Seen) -> Column | None:
    """The year of a day or moment, as levels."""
    column = source.column
    if not target.is_number or not isinstance(column, Date | Datetime):
        return None
    first, last = column.lower.year, column.upper.year
    there = ~np.isnan(target.numbers) & ~np.isnan(source.numbers)
    if last - first > _MOST_YEARS or first < 1 or there.sum() < _LEAST_ROWS:
        return None
    begins = [_begin(column, year) for year in range(first + 1, last + 1)]
    if None in begins or not begins:
        return None
    cuts = [one for one in begins if one is not None]
    years = first + np.searchsorted(cuts, source.numbers[there], side="right")
    if not np.array_equal(years.astype(np.float64), target.numbers[there]):
        return None
    rule = f"cut({source.text}, {', '.join(f'{cut:.15g}' for cut in cuts)})"
    return _of_levels(target.column, range(first, last + 1), rule)


def _begin(column: Calendar, year: int) -> float | None:
    """Place of the first moment of a year."""
    moment = f"{year:04d}-01-01" + ("T00:00:00" if isinstance(column, Datetime) else "")
    return column.exact_position(moment)
