"""Columns that are computed from others by a public rule: how they fit together, and their values.

A derived column is never measured: what is released of it is computed from what is released of the
columns that it names. A number is rounded to what the column holds and clipped to its bounds, as
numbers of rows are. Where the rule has no value, the column has the first of its `missing` codes.

**Columns of units that count members** are derived too: `derived = "count(person where age < 16)"`.

Such a column follows from the members of its unit alone. It is counted while units are read, and
measured like any column of units: a unit is one record, so a table of it has sensitivity 1. Of a
unit with more members than slots those count that are used, so that the released column is the
number of released members of that kind, in every unit.

What follows of it are structural zeros (`zeros_of_counts`). Where the canonical order puts members
of the kind first or last, these zeros fix every slot. Elsewhere they rule out what one slot can
tell: none of the kind beside a count of 0, and no more of the kind than members.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from understudy.errors import suggestion
from understudy.schema.base import Code, LevelMap, Value, same_value, text_of
from understudy.schema.columns import NUMERIC, Boolean, Cells, Column
from understudy.schema.constraints import Range, Rule
from understudy.schema.expressions import Expression, faults_of, level_state, span_of, values_of
from understudy.schema.numeric import Continuous, Integer

Columns = Mapping[str, Column]
_SHOWN: Final = 60  # characters of a rule in a message
_NO_VALUE = (
    "may have no value (where it divides by 0, takes a root of a negative number, or a value that "
    'it needs is absent); declare missing = [""], or another code'
)


def rule_text(column: Column) -> str:
    """The rule of a derived column in words; "" for one that is measured."""
    rule = column.derived
    if not isinstance(rule, LevelMap):
        return rule or ""
    groups = (f"{level} for {' or '.join(map(text_of, of))}" for level, of in rule.levels.items())
    return f"levels of {rule.of}: {'; '.join(groups)}"


def sources_of(column: Column) -> tuple[str, ...]:
    """Columns that the rule of a derived column names.

    Raises:
        ValueError: the rule cannot be read.
    """
    rule = column.derived
    if rule is None:
        return ()
    return (rule.of,) if isinstance(rule, LevelMap) else Expression.read(rule).names


def in_order(columns: Columns) -> tuple[str, ...]:
    """Derived columns, each behind those that it names.

    Args:
        columns: all that are declared.

    Raises:
        ValueError: a rule that cannot be read, or columns that are derived from each other.
    """
    derived = {name: sources_of(column) for name, column in columns.items() if column.derived}
    needed = {name: [one for one in named if one in derived] for name, named in derived.items()}
    try:
        return tuple(TopologicalSorter(needed).static_order())
    except CycleError as error:
        circle = " from ".join(repr(name) for name in error.args[1][::-1])
        raise ValueError(
            f"columns are derived in a circle, {circle}; derive one otherwise"
        ) from None


def derived_faults(columns: Columns) -> Iterator[str]:
    """List what is wrong with rules of derived columns, a sentence each.

    Args:
        columns: all that are declared.
    """
    faults = []
    for name, column in columns.items():
        if column.derived is not None:
            text = rule_text(column)
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
            place = f"column {name!r}, derived: the rule {shown!r} "
            faults += [f"{place}{fault}" for fault in _faults(column, columns)]
    if not faults:
        try:
            in_order(columns)
        except ValueError as error:
            faults.append(str(error))
    if all(column.derived is not None for column in columns.values()):
        faults.append("every column is derived, so that nothing is measured; declare what from")
    yield from faults


def _faults(column: Column, columns: Columns) -> Iterator[str]:
    if isinstance(column.derived, LevelMap):
        yield from _map_faults(column, column.derived, columns)
        return
    assert column.derived is not None
    try:
        expression = Expression.read(column.derived)
    except ValueError as error:
        yield f"cannot be used: {error}"
        return
    if faults := list(faults_of(expression, columns)):
        yield from faults
        return
    if not expression.names:
        yield "names no column; a constant needs none"
    yield from _kind_faults(column, expression)
    if span_of(expression, columns).lacks and not column.missing:
        yield _NO_VALUE


def _kind_faults(column: Column, expression: Expression) -> Iterator[str]:
    """List what keeps the rule from giving what the column holds."""
    if expression.cuts:
        wanted, found = len(expression.cuts) + 1, len(getattr(column, "levels", ()))
        if column.kind not in ("categorical", "ordinal"):
            yield f"gives levels, and the column is {column.kind}; make it ordinal"
        elif wanted != found:
            yield f"gives {wanted} levels, and the column has {found}; declare as many"
    elif expression.is_truth != isinstance(column, Boolean):
        gives = "yes or no" if expression.is_truth else "a number"
        fitting = "boolean" if expression.is_truth else "continuous or integer, or cut the number"
        yield f"gives {gives}, and the column is {column.kind}; make it {fitting}"
    elif not expression.is_truth and not isinstance(column, NUMERIC):
        yield f"gives a number, and the column is {column.kind}; make it continuous, or cut it"


def _map_faults(column: Column, rule: LevelMap, columns: Columns) -> Iterator[str]:
    own, other = getattr(column, "levels", ()), columns.get(rule.of)
    if other is None:
        yield f"names {rule.of!r}, which is no column{suggestion(rule.of, columns)}"
        return
    if isinstance(other, NUMERIC) or isinstance(column, NUMERIC):
        yield f"maps levels, and one of the two columns has none; use cut({rule.of}, …)"
        return
    labels = [text_of(level) for level in own]
    if unknown := [level for level in rule.levels if level not in labels]:
        yield f"names {unknown[0]!r}, which is no level of it{suggestion(unknown[0], labels)}"
        return
    found: list[int] = []
    for values in rule.levels.values():
        for value in values:
            try:
                found.append(level_state(rule.of, other, value))
            except ValueError as error:
                yield str(error)
                return
    if len(set(found)) < len(found):
        yield f"gives a level of {rule.of!r} twice; keep one of them"
    if (len(set(found)) < other.n_ordinary or other.codes) and not column.missing:
        yield (
            f"does not name every level of {rule.of!r}, or that column has codes of absence; name "
            'all, or declare missing = [""]'
        )


def compute_derived(columns: Columns, given: Mapping[str, Cells]) -> dict[str, Cells]:
    """The derived columns of some records.

    Args:
        columns: all that are declared.
        given: what is measured, of the same n records each; numbers as they are released.

    Returns:
        The derived ones, numbers rounded and clipped as the column holds them.

    Example:
        >>> from understudy.schema import Integer, Ordinal
        >>> age = Integer(kind="integer", lower=0, upper=99)
        >>> group = Ordinal(kind="ordinal", levels=("young", "old"), derived="cut(age, 60)")
        >>> known = {"age": Cells(np.zeros(3, dtype=np.int64), np.array([20.0, 60.0, 70.0]))}
        >>> compute_derived({"age": age, "group": group}, known)["group"].states.tolist()
        [0, 1, 1]
    """
    cells = dict(given)
    made: dict[str, Cells] = {}
    for name in in_order(columns):
        cells[name] = made[name] = round_to_column(
            columns[name], exact(columns[name], columns, cells)
        )
    return made


def exact(column: Column, columns: Columns, cells: Mapping[str, Cells]) -> NDArray[np.float64]:
    """Evaluate the rule of a column, numbers not rounded; levels as their number, NaN for none.

    Args:
        column: derived.
        columns: all that are declared.
        cells: of the columns that it names, of n records each.

    Returns:
        Shape (n,).
    """
    rule = column.derived
    if isinstance(rule, LevelMap):
        own = {text_of(level): k for k, level in enumerate(getattr(column, "levels", ()))}
        table = np.full(columns[rule.of].size + 1, np.nan)
        for level, values in rule.levels.items():
            table[[level_state(rule.of, columns[rule.of], value) for value in values]] = own[level]
        return np.asarray(table[cells[rule.of].states])
    assert rule is not None
    expression = Expression.read(rule)
    numeric = {n for n in expression.names if isinstance(columns[n], NUMERIC)}
    numbers = {name: cells[name].numbers for name in numeric}
    levels: dict[str, tuple[Column, NDArray[np.integer[Any]]]] = {
        name: (columns[name], cells[name].states)
        for name in expression.names
        if name not in numeric
    }
    return values_of(expression, numbers, levels)


def round_to_column(column: Column, values: NDArray[np.float64]) -> Cells:
    """Round the values of a derived column's rule to what the column holds; shape (n,)."""
    absent = np.isnan(values)
    code = column.n_ordinary + len(column.not_applicable)  # the first that says: not known
    if not isinstance(column, NUMERIC):
        states = np.where(absent, code, np.where(absent, 0, values)).astype(np.int64)
        return Cells(states, np.empty(0))
    decimals = column.decimals if isinstance(column, Continuous) else 0
    near = values if decimals is None else np.round(values, decimals)
    numbers = np.clip(near, *column.bounds) + 0.0
    return Cells(np.where(absent, code, 0), numbers)


def follows(
    name: str, columns: Columns, cells: Mapping[str, Cells], *, slack: float = 1e-9
) -> NDArray[np.bool_]:
    """Find the records that have in a derived column what its rule gives.

    A number may differ from that by what rounding takes, and by a little more, since powers differ
    in the last digit from machine to machine.

    Args:
        name: of the column.
        columns: all that are declared.
        cells: of the column and of those that it names, of n records each.
        slack: what is let pass besides, as a part of the column's range.

    Returns:
        Shape (n,).
    """
    column, own = columns[name], cells[name]
    values = exact(column, columns, cells)
    made = round_to_column(column, values)
    if not isinstance(column, NUMERIC):
        return np.asarray(made.states == own.states)
    absent = np.isnan(own.numbers)
    low, high = column.bounds
    decimals = column.decimals if isinstance(column, Continuous) else 0
    half = 0.0 if decimals is None else 0.5 * 10.0**-decimals
    reach = half + slack * max(high - low, abs(low), abs(high))
    # Rounded first, then clipped: a bound that is off the grid may be nearer than half a step.
    near = np.abs(own.numbers - np.clip(values, low, high)) <= reach
    return np.where(absent, np.isnan(values) & (own.states == made.states), near)


_COUNT = re.compile(r"\s*count\(\s*(?P<table>[^\s()]+)\s+where\s+(?P<condition>.+)\)\s*", re.DOTALL)
_HOW: Final = 'write derived = "count(person where age < 16)"'
_TURNED: Final = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


class MemberCount(BaseModel):
    """A column of units that counts their members of a kind.

    Attributes:
        column: its name.
        where: column of the members → values or range that those who count have, in all of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    column: str
    where: dict[str, Range | tuple[Value, ...]] = Field(min_length=1)

    def faults(self, columns: Mapping[str, Column]) -> Iterator[str]:
        """List what does not fit the columns of the members, a sentence each."""
        for fault in Rule(where=self.where).faults(dict(columns)):
            told = fault.partition("' ")[2]
            yield f"column {self.column!r} counts members by a condition that {told}"

    def states(self, columns: Mapping[str, Column]) -> dict[str, frozenset[int]]:
        """States of the members who count, by column.

        Args:
            columns: of the members.

        Raises:
            SchemaError: the condition cuts a bin.
        """
        return Rule(where=self.where).states(dict(columns))

    def holds(self, columns: Mapping[str, Column], cells: Mapping[str, Cells]) -> NDArray[np.bool_]:
        """Return who counts, shape (n,); nobody with a code in place of a value does.

        Args:
            columns: of the members.
            cells: of n members.
        """
        found = [_has(columns[name], cells[name], self.where[name]) for name in self.where]
        return np.asarray(np.logical_and.reduce(found))


def _has(column: Column, cells: Cells, values: Range | tuple[Value, ...]) -> NDArray[np.bool_]:
    if not isinstance(values, Range):
        levels = () if isinstance(column, NUMERIC) else column.levels
        places = [k for k, one in enumerate(levels) if any(same_value(one, v) for v in values)]
        return np.isin(cells.states, places)
    low, high = _ends(values)
    numbers = np.where(np.isfinite(cells.numbers), cells.numbers, np.nan)
    assert isinstance(column, NUMERIC)
    whole = isinstance(column, Integer) or high == column.bounds[1]
    with np.errstate(invalid="ignore"):
        return np.asarray((numbers >= low) & ((numbers <= high) if whole else (numbers < high)))


def _ends(values: Range) -> tuple[float, float]:
    """The ends of a range of numbers; whole ones as whole numbers."""
    low, high = (float(str(end)) for end in (values.lower, values.upper))
    return (
        int(low) if low.is_integer() else low,
        int(high) if high.is_integer() else high,
    )


def is_count(rule: object) -> bool:
    """Return whether the rule of a derived column counts members."""
    return isinstance(rule, str) and rule.lstrip().startswith("count(")


def read_count(name: str, rule: str, table: str, columns: Mapping[str, Any]) -> MemberCount:
    """Read the rule of a column that counts members.

    Args:
        name: of the column.
        rule: such as "count(person where age < 16)"; conditions are joined by `and`.
        table: name of the members' table.
        columns: of the members.

    Raises:
        ValueError: it cannot be read, or names what there is not; says what.

    Example:
        >>> age = Integer(kind="integer", lower=0, upper=99, bins=(0, 16, 99))
        >>> read_count("children", "count(person where age < 16)", "person", {"age": age}).where
        {'age': Range(lower=0, upper=15)}
    """
    found = _COUNT.fullmatch(rule)
    if found is None:
        raise ValueError(f"cannot be read; {_HOW}")
    if found["table"] != table:
        known = suggestion(found["table"], [table])
        raise ValueError(f"counts {found['table']!r}, and the members are {table!r}{known}")
    where: dict[str, Range | tuple[Value, ...]] = {}
    for node in _comparisons(Expression.read(found["condition"]).tree):
        own, values = _read_comparison(node, columns)
        where[own] = _both(own, where[own], values) if own in where else values
    return MemberCount(column=name, where=where)


def _comparisons(node: ast.expr) -> Iterator[ast.Compare]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        yield from _comparisons(node.left)
        yield from _comparisons(node.right)
    elif isinstance(node, ast.Compare):
        yield node
    else:
        raise ValueError(
            f"has a condition that is no comparison, or several joined by another word than `and`; "
            f"{_HOW}, and count other kinds in columns of their own"
        )


def _read_comparison(
    node: ast.Compare, columns: Mapping[str, Any]
) -> tuple[str, Range | tuple[Value, ...]]:
    """The column of a comparison with a constant, and the values for which it is true."""
    left, right, sign = node.left, node.comparators[0], type(node.ops[0])
    if isinstance(right, ast.Name):
        left, right, sign = right, left, _TURNED.get(sign, sign)
    value = _constant(right)
    if not isinstance(left, ast.Name) or value is None:
        raise ValueError(f"compares something else than a column with a value; {_HOW}")
    name, column = left.id, columns.get(left.id)
    if column is None:
        raise ValueError(
            f"names {name!r}, which is no column of the members{suggestion(name, columns)}"
        )
    if isinstance(column, Integer | Continuous):
        return name, _range(name, column, sign, value)
    if isinstance(column, NUMERIC) or sign not in (ast.Eq, ast.NotEq):
        raise ValueError(
            f"compares {name!r}, which has no numbers; compare a column of numbers, or a level "
            "with == or !="
        )
    place = level_state(name, column, value)
    chosen = [k for k in range(len(column.levels)) if (k == place) == (sign is ast.Eq)]
    if not chosen:
        raise ValueError(f"leaves no level of {name!r} over; count the members by `size`")
    return name, tuple(column.levels[k] for k in chosen)


def _constant(node: ast.expr) -> Code | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _constant(node.operand)
        return -inner if isinstance(inner, int | float) else None
    return node.value if isinstance(node, ast.Constant) else None  # type: ignore[return-value]


def _range(name: str, column: Integer | Continuous, sign: type[ast.cmpop], value: Code) -> Range:
    """The range of numbers for which a comparison is true."""
    if not isinstance(value, int | float):
        raise ValueError(f"compares the numbers of {name!r} with the text {text_of(value)!r}")
    low, high = column.lower, column.upper
    whole = isinstance(column, Integer)
    if sign is ast.NotEq or (not whole and sign not in (ast.Lt, ast.GtE)):
        fit = "<, <=, >, >= or ==" if whole else "< or >="
        raise ValueError(f"compares {name!r} in a way that is no range; use {fit}")
    if sign in (ast.Lt, ast.LtE):
        high = min(high, value if not whole else _below(value, own=sign is ast.LtE))
    elif sign in (ast.Gt, ast.GtE):
        low = max(low, value if not whole else -_below(-value, own=sign is ast.GtE))
    else:
        low, high = max(low, math.ceil(value)), min(high, math.floor(value))
    if low > high or (low == high and not whole):
        raise ValueError(f"leaves no number of {name!r} within its bounds; correct the condition")
    return Range(lower=low, upper=high)


def _below(value: float, *, own: bool) -> int:
    """The largest whole number below a value, or up to it."""
    return math.floor(value) if own else math.ceil(value) - 1


def _both(
    name: str, one: Range | tuple[Value, ...], other: Range | tuple[Value, ...]
) -> Range | tuple[Value, ...]:
    if isinstance(one, Range) and isinstance(other, Range):
        (a, b), (c, d) = _ends(one), _ends(other)
        low, high = max(a, c), min(b, d)
        if low > high:
            raise ValueError(f"leaves no number of {name!r} over; correct the condition")
        return Range(lower=low, upper=high)
    assert isinstance(one, tuple)
    assert isinstance(other, tuple)
    left = tuple(value for value in one if value in other)
    if not left:
        raise ValueError(f"leaves no level of {name!r} over; correct the condition")
    return left


Places = dict[str, frozenset[int]]
"""States of a kind of members, by column."""


def zeros_of_counts(
    counts: Sequence[MemberCount],
    columns: Mapping[str, Any],
    *,
    slots: int,
    size: tuple[str, int],
    order: Sequence[object],
) -> Iterator[dict[str, Any]]:
    """Combinations that cannot occur since columns count members, as entries of `where`.

    Args:
        counts: columns that count.
        columns: of the members.
        slots: most members that are used.
        size: column of the number of members, and the least number.
        order: canonical order of the members.
    """
    known: list[tuple[str, Places]] = []
    for one in counts:
        states = one.states(columns)
        yield from _no_more_than_members(one.column, slots, size)
        place = _place_in_order(states, columns, order)
        if place == "first":
            yield from _zeros_of_first(one, columns, slots)
        elif place == "last":
            yield from _zeros_of_last(one, columns, slots, size)
        else:
            yield from ({one.column: 0, **_in_slot(one.where, j)} for j in range(1, slots + 1))
        for other, theirs in known:
            yield from _zeros_of_two((one.column, states), (other, theirs), slots, size)
        known.append((one.column, states))


def _in_slot(where: Mapping[str, Any], j: int) -> dict[str, Any]:
    return {f"{name}_{j}": _entry(values) for name, values in where.items()}


def _entry(values: Range | tuple[Value, ...]) -> Any:
    return values.model_dump() if isinstance(values, Range) else [*values]


def _up(k: int, slots: int) -> dict[str, int]:
    return {"lower": k, "upper": slots}


def _no_more_than_members(name: str, slots: int, size: tuple[str, int]) -> Iterator[dict[str, Any]]:
    for k in range(max(size[1], 0), slots):
        yield {size[0]: {"lower": k, "upper": k}, name: _up(k + 1, slots)}


def _place_in_order(states: Places, columns: Mapping[str, Any], order: Sequence[object]) -> str:
    """Return whether members of a kind are the "first" or "last" of a unit; else ""."""
    if len(states) != 1 or not order or not all(isinstance(step, str) for step in order):
        return ""
    ((name, own),) = states.items()
    step, column = str(order[0]), columns[name]
    if step.removeprefix("-") != name:
        return ""
    among = [state in own for state in _in_order(column, descending=step.startswith("-"))]
    if among == sorted(among, reverse=True):
        return "first"
    # Who has a code in place of a value stands last.
    return "last" if among == sorted(among) and not column.codes else ""


def _in_order(column: Any, *, descending: bool) -> list[int]:
    """States that are values, as the canonical order has them."""
    states = [*range(column.n_ordinary)]
    if isinstance(column, NUMERIC):
        states.sort(key=lambda k: (column.intervals[k].low, column.intervals[k].high))
    return states[::-1] if descending else states


def _zeros_of_first(
    one: MemberCount, columns: Mapping[str, Any], slots: int
) -> Iterator[dict[str, Any]]:
    """Slot j holds one of the kind if and only if there are at least j."""
    for j in range(1, slots + 1):
        yield {one.column: {"lower": 0, "upper": j - 1}, **_in_slot(one.where, j)}
        for values in _others(one, columns):
            yield {one.column: _up(j, slots), **{f"{n}_{j}": v for n, v in values.items()}}


def _zeros_of_last(
    one: MemberCount, columns: Mapping[str, Any], slots: int, size: tuple[str, int]
) -> Iterator[dict[str, Any]]:
    """Of s members, slot j holds one of the kind if and only if there are more than s − j."""
    for s in range(max(size[1], 1), slots + 1):
        # What stands for more members has all slots filled.
        many = {"lower": s, "upper": s if s < slots else slots + 1}
        for j in range(1, s + 1):
            few = {"lower": 0, "upper": s - j}
            yield {size[0]: many, one.column: few, **_in_slot(one.where, j)}
            for values in _others(one, columns):
                own = {f"{n}_{j}": v for n, v in values.items()}
                yield {size[0]: many, one.column: _up(s - j + 1, slots), **own}


def _others(one: MemberCount, columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All other values of the one column by which members are told apart."""
    ((name, values),) = one.where.items()
    column = columns[name]
    if column.codes:
        yield {name: [*column.codes]}
    if not isinstance(values, Range):
        rest = [v for v in column.levels if not any(same_value(v, own) for own in values)]
        if rest:
            yield {name: rest}
        return
    step, (first, last) = int(isinstance(column, Integer)), _ends(values)
    for low, high in (
        (column.lower, first - step),
        (last + step, column.upper),
    ):
        if low < high or (step and low == high):
            yield {name: {"lower": low, "upper": high}}


def _zeros_of_two(
    one: tuple[str, Places], other: tuple[str, Places], slots: int, size: tuple[str, int]
) -> Iterator[dict[str, Any]]:
    """A kind within another is no more than it; two that nobody is of at once fill all slots."""
    for (small, few), (large, many) in ((one, other), (other, one)):
        if all(name in few and few[name] <= states for name, states in many.items()):
            for k in range(slots):
                yield {large: {"lower": k, "upper": k}, small: _up(k + 1, slots)}
            return
    if any(name in other[1] and not (states & other[1][name]) for name, states in one[1].items()):
        for s in range(max(size[1], 1), slots + 1):
            filled = {"lower": s, "upper": s if s < slots else slots + 1}
            for k in range(1, s + 1):
                just = {"lower": k, "upper": k}
                yield {size[0]: filled, one[0]: just, other[0]: _up(s - k + 1, slots)}


def count_members(
    counts: Sequence[MemberCount],
    columns: Mapping[str, Column],
    slots: Sequence[Mapping[str, Cells]],
) -> dict[str, NDArray[np.int64]]:
    """Count the members of each kind in units; name of the column → shape (n,).

    Args:
        counts: columns that count.
        columns: of the members.
        slots: cells of the members in each slot, under their names in the members' table.
    """
    found = {}
    for one in counts:
        there = [one.holds(columns, cells) for cells in slots]
        found[one.column] = np.asarray(np.sum(there, axis=0, dtype=np.int64))
    return found
