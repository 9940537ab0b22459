"""Columns that are computed from others by a public rule: how they fit together, and their values.

A derived column is never measured: what is released of it is computed from what is released of the
columns that it names. A number is rounded to what the column holds and clipped to its bounds, as
numbers of rows are. Where the rule has no value, the column has the first of its `missing` codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy.errors import suggestion
from understudy.schema.base import LevelMap, text_of
from understudy.schema.columns import NUMERIC, Boolean, Cells, Column
from understudy.schema.expressions import Expression, faults_of, level_state, span_of, values_of
from understudy.schema.numeric import Continuous

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
