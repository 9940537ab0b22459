"""A condition on records that are drawn from a released model: read, and told of each record.

It is written as expressions, which must all hold (`understudy.schema.expressions`)::

    where=["sex == 'f'", "age >= 30 and income / hours > 20", "stay > 'P3D'"]

or column by column::

    where={"sex": "f", "age": (30, 40), "region": ["North", "West"]}

A list names values, one of which the record has; a pair is from the first to the last, ends
included, and None is no end. A value that is absent fits no expression and no pair, and a list that
names its code. Derived columns may be named as others are.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any, Final

import numpy as np

from understudy.arguments import kind_of
from understudy.arrays import Flags
from understudy.errors import MethodError, suggestion
from understudy.models.given_states import Evidence
from understudy.schema import NUMERIC, Column, Ordinal, Schema, is_ordered
from understudy.schema.cell_values import Code, same_value, text_of
from understudy.schema.derived_columns import Cells
from understudy.schema.expression_values import faults_of, values_of
from understudy.schema.expressions import Expression, times_as_places

Span = tuple[float, float]

_ANYWHERE: Final = (-math.inf, math.inf)

_EXAMPLE = "{'sex': 'f', 'age': (30, 40)}, or an expression such as \"age >= 30\""


@dataclass(frozen=True)
class Demand:
    """What a condition asks of one column.

    Attributes:
        fits: which records have it, given the column.
        spans: of a numeric column, between which places its number then lies; any of them.
    """

    fits: Callable[[Cells], Flags]
    spans: tuple[Span, ...] = (_ANYWHERE,)

    def possible(self, column: Column) -> Flags:
        """States in which a record may have it, shape (states,)."""
        every = np.arange(column.size)
        if not isinstance(column, NUMERIC):
            return self.fits(Cells(every, np.empty(0)))
        found = self.fits(Cells(every, np.full(column.size, np.nan)))  # the codes of absence
        for k, one in enumerate(column.intervals):
            found[k] = any(one.low <= high and one.high >= low for low, high in self.spans)
        return found


@dataclass(frozen=True)
class Condition:
    """What drawn records must be.

    Attributes:
        schema: of the release.
        expressions: all of which must hold.
        demands: of single columns, by name, which must be met as well.
    """

    schema: Schema
    expressions: tuple[Expression, ...] = ()
    demands: Mapping[str, Demand] = field(default_factory=dict)

    @classmethod
    def of(cls, where: object, schema: Schema) -> Condition:
        """Read a condition; None is none.

        Raises:
            MethodError: it is none, or names what the schema does not have.
        """
        if where is None:
            return cls(schema)
        if isinstance(where, str):
            return cls(schema, (_expression(where, schema),))
        if isinstance(where, Mapping):
            _require_known([*where], schema)
            asked = {n: _demand(n, schema.stated[n], wanted) for n, wanted in where.items()}
            return cls(schema, (), asked)
        if isinstance(where, Iterable):
            return cls(schema, tuple(_expression(text, schema) for text in where))
        raise MethodError(f"where must be {_EXAMPLE}, not {kind_of(where)}.")

    @property
    def text(self) -> str:
        """What it is about, in a sentence."""
        named = [f"“{one.text}”" for one in self.expressions]
        return " and ".join(named) or f"the condition on {', '.join(self.demands)}"

    def holds(self, cells: Mapping[str, Cells]) -> Flags:
        """Which records fit.

        Args:
            cells: all declared columns, of n records each.

        Returns:
            Shape (n,).
        """
        columns = self.schema.stated
        fit = np.ones(len(next(iter(cells.values())).states), dtype=np.bool_)
        for name, demand in self.demands.items():
            fit &= demand.fits(cells[name])
        for one in self.expressions:
            numeric = {name for name in one.names if isinstance(columns[name], NUMERIC)}
            numbers = {name: cells[name].numbers for name in numeric}
            states = {n: (columns[n], cells[n].states) for n in one.names if n not in numeric}
            fit &= values_of(one, numbers, states) == 1
        return fit

    @property
    def evidence(self) -> Evidence:
        """States outside of which no record fits, by place of a measured column.

        Numbers that inequalities put in order may leave their bin, so their columns say nothing.
        """
        moved = {n for one in self.schema.relations if one.inequality for n in one.columns}
        found: dict[int, Flags] = {}
        for j, (name, column) in enumerate(self.schema.columns.items()):
            if name in moved and isinstance(column, NUMERIC):
                continue
            told = [demand for one, demand in self._single() if one == name]
            masks = [demand.possible(column) for demand in told]
            if masks and not np.all(masks):
                found[j] = np.logical_and.reduce(masks)
        return found

    def _single(self) -> Iterator[tuple[str, Demand]]:
        """What is asked of a column by itself."""
        yield from self.demands.items()
        for one in self.expressions:
            for part in _parts(one.tree):
                said = Expression(one.text, part)
                if isinstance(part, ast.Compare) and len(said.names) == 1:
                    (name,) = said.names
                    yield name, _compared(name, self.schema.stated[name], part)


def _require_known(names: list[Any], schema: Schema) -> None:
    for name in names:
        if name not in schema.stated:
            close = suggestion(name, schema.stated)
            raise MethodError(f"where names {name!r}, which is no column{close}.")


def _expression(text: object, schema: Schema) -> Expression:
    if not isinstance(text, str):
        raise MethodError(f"where must be {_EXAMPLE}, not a list with {kind_of(text)}.")
    try:
        found = Expression.read(times_as_places(text, schema.stated))
        faults = list(faults_of(found, schema.stated))
    except ValueError as error:
        faults = [str(error)]
    if faults:
        raise MethodError(f"The condition {text[:80]!r} cannot be used: {faults[0]}.")
    if not found.is_truth:
        raise MethodError(f"The condition {text[:80]!r} says neither yes nor no; compare it.")
    if not found.names:
        raise MethodError(f"The condition {text[:80]!r} names no column.")
    return found


def _parts(tree: ast.expr) -> Iterator[ast.expr]:
    """What is joined by & at the top."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitAnd):
        yield from _parts(tree.left)
        yield from _parts(tree.right)
    else:
        yield tree


def _compared(name: str, column: Column, part: ast.Compare) -> Demand:
    """A comparison that names one column."""
    said = Expression(name, part)

    def fits(cells: Cells) -> Flags:
        if isinstance(column, NUMERIC):
            return np.asarray(values_of(said, {name: cells.numbers}, {}) == 1)
        return np.asarray(values_of(said, {}, {name: (column, cells.states)}) == 1)

    left, right, op = part.left, part.comparators[0], type(part.ops[0])
    if isinstance(left, ast.Constant):
        left, right, op = right, left, _TURNED.get(op, op)
    if not (isinstance(left, ast.Name) and isinstance(right, ast.Constant) and op in _SPANS):
        return Demand(fits)
    if not isinstance(column, NUMERIC):
        return Demand(fits)
    return Demand(fits, (_SPANS[op](float(right.value)),))  # type: ignore[arg-type]


_TURNED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
"""What a comparison is with its sides exchanged."""
_SPANS: Final[dict[type[ast.cmpop], Callable[[float], Span]]] = {
    ast.Eq: lambda place: (place, place),
    ast.Lt: lambda place: (-math.inf, place),
    ast.LtE: lambda place: (-math.inf, place),
    ast.Gt: lambda place: (place, math.inf),
    ast.GtE: lambda place: (place, math.inf),
}


def _demand(name: str, column: Column, wanted: object) -> Demand:
    """What is wanted of one column."""
    if isinstance(wanted, tuple):
        return _between(name, column, wanted)
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes | Mapping)
    values = [*wanted] if several else [wanted]  # type: ignore[misc]  # an Iterable, as was asked
    if not values:
        raise MethodError(f"where lists no value of {name!r}, so that no record fits; name one.")
    for value in values:
        _require_value(name, value)
    each = [_equal(name, column, "" if value is None else value) for value in values]
    return Demand(
        lambda cells: np.logical_or.reduce([one.fits(cells) for one in each]),
        tuple(span for one in each for span in one.spans),
    )


def _equal(name: str, column: Column, value: Any) -> Demand:
    """One value, or a code of absence."""
    levels: tuple[Code, ...] = () if isinstance(column, NUMERIC) else column.levels
    for values, first in ((levels, 0), (column.codes, column.n_ordinary)):
        for state, one in enumerate(values, start=first):
            if same_value(one, value):
                return Demand(partial(_in_state, state), ())
    if value == "":
        raise MethodError(
            f"where asks for an absent value of {name!r}, whose codes do not hold an empty one."
        )
    if not isinstance(column, NUMERIC):
        known = [text_of(level) for level in levels]
        raise MethodError(
            f"where asks for {text_of(value)!r} of {name!r}, which is none of its values"
            f"{suggestion(text_of(value), known)}."
        )
    place = _place(name, column, value)
    return Demand(lambda cells: cells.numbers == place, ((place, place),))


def _in_state(state: int, cells: Cells) -> Flags:
    return np.asarray(cells.states == state)


def _between(name: str, column: Column, wanted: tuple[Any, ...]) -> Demand:
    """From one value to another."""
    if len(wanted) != 2 or not is_ordered(column):
        raise MethodError(
            f"where gives {name!r} a tuple, which stands for a range of numbers, dates or ordered "
            "levels, (first, last); give a list of values instead."
        )
    first, last = wanted
    low = -math.inf if first is None else _place(name, column, first)
    high = math.inf if last is None else _place(name, column, last)
    if low > high:
        raise MethodError(f"where gives {name!r} a range that ends before it begins; turn it.")

    def fits(cells: Cells) -> Flags:
        places = cells.numbers
        if not isinstance(column, NUMERIC):
            places = np.where(cells.states < column.n_ordinary, cells.states, np.nan)
        return np.asarray((places >= low) & (places <= high))

    return Demand(fits, ((low, high),))


def _require_value(name: str, value: object) -> None:
    """Refuse what is no value of any column."""
    if not (value is None or isinstance(value, bool | int | float | str | date | np.generic)):
        raise MethodError(
            f"where must give {name!r} a value, a list of values or a range (first, last), not "
            f"{kind_of(value)}."
        )


def _place(name: str, column: Column, value: Any) -> float:
    """Place of a value on the number line, or among ordered levels."""
    _require_value(name, value)
    if isinstance(column, Ordinal):
        for k, level in enumerate(column.levels):
            if same_value(level, value):
                return float(k)
        raise MethodError(f"where asks for {text_of(value)!r} of {name!r}, which is no level.")
    assert isinstance(column, NUMERIC)
    place = column.position(value)
    if place is None:
        example = "a date such as 2020-12-31" if column.kind == "date" else "a number"
        raise MethodError(f"where must give {name!r} {example}, not {kind_of(value)}.")
    return place
