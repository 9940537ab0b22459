"""What an expression is for each record, and what it can be at all by the declarations alone.

Each node of the tree is computed in 64-bit floats. A value that is absent is NaN here, and so is
what has no value: a division by 0, a root of a negative number, a result too large to write. What
rests on NaN is NaN.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import suggestion
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.expressions import (
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    LOGIC,
    Expression,
    cut_one,
    level_state,
    level_test,
)

Values = NDArray[np.float64]
Numbers = Mapping[str, Values]
"""Numbers of numeric columns, each of shape (n,); NaN where absent."""
States = Mapping[str, tuple[Column, NDArray[np.integer[Any]]]]
"""Declaration and states, shape (n,), of columns with levels; what is no level is absent."""


@dataclass(frozen=True)
class Span:
    """What an expression can be, by the declarations alone.

    Attributes:
        low: no value is less.
        high: no value is larger.
        lacks: whether some records may have no value.
    """

    low: float
    high: float
    lacks: bool


def faults_of(expression: Expression, columns: Mapping[str, Column]) -> Iterator[str]:
    """What does not fit the columns, a sentence each.

    Args:
        expression: as it was read.
        columns: those that it may name.
    """
    unknown = [name for name in expression.names if name not in columns]
    for name in unknown:
        yield f"names {name!r}, which is no column{suggestion(name, columns)}"
    if unknown:
        return
    try:
        span_of(expression, columns)
    except ValueError as error:
        yield str(error)


def span_of(expression: Expression, columns: Mapping[str, Column]) -> Span:
    """What an expression can be, given what its columns can; of a cut, what is cut.

    Raises:
        ValueError: a column with levels where a number is needed, or an unknown level.

    Example:
        >>> from understudy.schema.columns import Integer
        >>> span_of(Expression.read("1 / a"), {"a": Integer(kind="integer", lower=1, upper=4)})
        Span(low=0.25, high=1.0, lacks=False)
    """
    with np.errstate(all="ignore"):
        return _span(cut_one(expression.tree), columns)


def values_of(expression: Expression, numbers: Numbers, states: States) -> Values:
    """The value of an expression for each record.

    Args:
        expression: as it was read.
        numbers: of the numeric columns that it names.
        states: of the columns with levels that it names.

    Returns:
        Shape (n,), or () for a constant; truth values as 0 and 1, intervals of a cut as 0, 1, …

    Example:
        >>> bmi = Expression.read("weight / height ** 2")
        >>> values_of(bmi, {"weight": np.array([80.0]), "height": np.array([2.0])}, {}).tolist()
        [20.0]
    """
    with np.errstate(all="ignore"):
        found = _value(cut_one(expression.tree), numbers, states)
    result = np.where(np.isfinite(found), found, np.nan)
    if cuts := expression.cuts:
        place = np.searchsorted(np.array(cuts), result, side="right").astype(np.float64)
        return np.where(np.isnan(result), np.nan, place)
    return result


def _value(
    node: ast.expr,
    numbers: Numbers,
    states: States,
) -> Any:
    if isinstance(node, ast.Constant):
        return np.float64(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return numbers[node.id]
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, numbers, states)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        return FUNCTIONS[node.func.id](_value(node.args[0], numbers, states))
    if isinstance(node, ast.Compare):
        return _compared(node, numbers, states)
    assert isinstance(node, ast.BinOp)
    left, right = (_value(side, numbers, states) for side in (node.left, node.right))
    function = ARITHMETIC.get(type(node.op)) or LOGIC[type(node.op)]
    found = function(left, right)
    return np.where(np.isnan(left) | np.isnan(right) | np.isinf(found), np.nan, found)


def _compared(node: ast.Compare, numbers: Numbers, states: States) -> Values:
    """Whether a comparison holds: 1 or 0."""
    compare, test = COMPARISONS[type(node.ops[0])], level_test(node)
    if test is not None and test[0] in states:
        column, codes = states[test[0]]
        hit = compare(codes, level_state(test[0], column, test[1])).astype(np.float64)
        return np.where((codes >= 0) & (codes < column.n_ordinary), hit, np.nan)
    left, right = (_value(side, numbers, states) for side in (node.left, node.comparators[0]))
    held = compare(left, right).astype(np.float64)
    return np.where(np.isnan(left) | np.isnan(right), np.nan, held)


def _span(node: ast.expr, columns: Mapping[str, Column]) -> Span:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            raise ValueError("a text stands only beside == or != and a column with levels")
        return Span(float(node.value), float(node.value), lacks=False)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        column = columns[node.id]
        if not isinstance(column, NUMERIC):
            raise ValueError(
                f"takes {node.id!r} for a number, and it has levels; compare it with one of them, "
                f'{node.id} == "…", or make it numeric'
            )
        return Span(*column.bounds, lacks=bool(column.codes))
    if isinstance(node, ast.UnaryOp):
        inner = _span(node.operand, columns)
        turned = isinstance(node.op, ast.USub)
        return Span(-inner.high, -inner.low, inner.lacks) if turned else inner
    if isinstance(node, ast.Call):
        inner = _span(node.args[0], columns)
        assert isinstance(node.func, ast.Name)
        ends = [float(FUNCTIONS[node.func.id](end)) for end in (inner.low, inner.high)]
        turns = [0.0] * (inner.low < 0 < inner.high)  # of abs; floor passes it as well
        return Span(min(*ends, *turns), max(ends), inner.lacks)
    if isinstance(node, ast.Compare):
        return Span(0.0, 1.0, _lacks_in_comparison(node, columns))
    assert isinstance(node, ast.BinOp)
    return _joined(node, _span(node.left, columns), _span(node.right, columns))


def _lacks_in_comparison(node: ast.Compare, columns: Mapping[str, Column]) -> bool:
    test = level_test(node)
    if test is not None and not isinstance(columns[test[0]], NUMERIC):
        level_state(test[0], columns[test[0]], test[1])
        return bool(columns[test[0]].codes)
    return any(_span(side, columns).lacks for side in (node.left, node.comparators[0]))


def _joined(node: ast.BinOp, left: Span, right: Span) -> Span:
    """What two spans give together; wide, and perhaps without a value, where that is not plain."""
    lacks = left.lacks or right.lacks
    if type(node.op) in LOGIC:
        return Span(0.0, 1.0, lacks)
    by_zero = isinstance(node.op, ast.Div) and right.low <= 0 <= right.high
    whole = right.low == right.high and right.low == int(right.low) >= 0
    no_root = isinstance(node.op, ast.Pow) and left.low <= 0 and not whole
    function = ARITHMETIC[type(node.op)]
    ends = [float(function(a, b)) for a in (left.low, left.high) for b in (right.low, right.high)]
    if isinstance(node.op, ast.Pow) and left.low < 0 < left.high:
        ends.append(0.0)
    if by_zero or no_root or not np.isfinite(ends).all():
        return Span(-np.inf, np.inf, lacks=True)
    return Span(min(ends), max(ends), lacks)
