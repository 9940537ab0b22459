"""Conditions and other expressions, as the states of their columns tell them.

An expression such as `income > 25000` has one value in each state of its columns, or it is not told
by them: bins that have numbers on both sides of 25000 do not say who has more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy._arrays import Floats
from understudy.errors import InferenceError
from understudy.inference import formulas
from understudy.inference.bin_bias import end_scores
from understudy.inference.contributions import cell_scores
from understudy.inference.question import Estimand
from understudy.inference.records import ABSENT, is_binned
from understudy.schema import NUMERIC, Schema


class UntoldError(InferenceError):
    """An expression that states do not tell."""


def state_values(text: str, schema: Schema) -> tuple[tuple[str, ...], Floats]:
    """The columns of an expression, and its value in each combination of their states.

    Args:
        text: the expression.
        schema: whose states these are.

    Returns:
        Columns in the order of the schema, and values of all cells, the last column fastest; NaN
        where a column has no value.

    Raises:
        UntoldError: states do not tell them.
        InferenceError: the expression cannot be computed.
    """
    columns = formulas.columns_of(formulas.as_formula(text), schema.names)
    asked = Estimand("mean", text, columns, expression=text)
    scores = cell_scores(asked, schema)
    if end_scores(asked, schema, scores) is not None:
        raise UntoldError(
            f"The bins of {', '.join(columns)} do not tell the values of {text!r}: some bin "
            f"has numbers with several. {_edges(text, columns, schema)}"
        )
    return columns, np.where(scores.quantity != ABSENT, scores.value, np.nan)


def require_told(estimand: Estimand, schema: Schema) -> None:
    """Refuse conditions that states do not tell, or that no record can meet.

    Args:
        estimand: with conditions by which records count, or are in groups.
        schema: whose states these are.

    Raises:
        UntoldError: a bin has records that meet a condition, and others.
        InferenceError: within bounds and levels nobody meets it, or a group would have nobody.
    """
    for condition in estimand.conditions:
        columns, values = state_values(condition, schema)
        meets = values[~np.isnan(values)] == 1
        if not meets.any() or (condition == estimand.split and meets.all()):
            all_or_none = "All" if meets.any() else "No"
            raise InferenceError(
                f"{all_or_none} declared values of {', '.join(columns)} meet {condition!r}."
            )


def are_told(estimand: Estimand, schema: Schema) -> bool:
    """Return whether states tell the conditions of a question."""
    try:
        require_told(estimand, schema)
    except UntoldError:
        return False
    return True


def _edges(text: str, columns: Sequence[str], schema: Schema) -> str:
    """A condition that bins do tell, near the numbers that the expression names."""
    name = next(name for name in columns if is_binned(schema.columns[name]))
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    lows = [interval.low for interval in column.intervals if not interval.spike]
    named = formulas.constants(formulas.as_formula(text)) or (sum(column.bounds) / 2,)
    near = min(lows, key=lambda low: min(abs(low - number) for number in named))
    return (
        f"One begins at {near:.12g}: take a condition such as {name} >= {near:.12g}, or a schema "
        "whose bins begin where yours needs them."
    )
