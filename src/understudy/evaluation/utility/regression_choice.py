"""Which regressions are compared: those that the user wrote, or default ones.

By default up to three columns are each regressed on the main effects of the others: numbers by
least squares, columns of two states by logistic regression. In these models a column with levels
keeps its five most frequent ones of at least 1 % (in the original); the others are pooled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.errors import InferenceError, MethodError
from understudy.inference.estimates import formulas as reading
from understudy.inference.estimates.analysis_records import Records
from understudy.schema import NUMERIC, Column, Schema

MOST_COEFFICIENTS = 60
MOST_LEVELS = 6
MOST_MODELS = 3
_MOST_ABSENT = 0.5


@dataclass(frozen=True)
class Model:
    """One reference regression.

    Attributes:
        name: for people.
        formula: what is computed.
        columns: columns that it needs.
        pooled: whether rare levels are pooled first.
    """

    name: str
    formula: str
    columns: tuple[str, ...]
    pooled: bool = False


def written_models(formulas: Sequence[str], schema: Schema) -> tuple[Model, ...]:
    """Models that the user wrote.

    Raises:
        MethodError: a formula cannot be read, has no outcome, or names no column of the release.
    """
    models = []
    for formula in formulas:
        try:
            columns = reading.columns_of(formula, schema.names)
        except InferenceError as error:
            raise MethodError(str(error)) from None
        left, _, right = formula.partition("~")
        if not (left.strip() and right.strip() and columns):
            raise MethodError(
                f"The formula {formula!r} has no outcome or no column; expected something like "
                "'income ~ age + C(region)'."
            )
        models.append(Model(formula, formula, columns))
    return tuple(models)


def default_models(
    original: Records, target: str | None
) -> tuple[tuple[Model, ...], tuple[str, ...]]:
    """Up to three columns on the main effects of the others, and what was left out of them.

    Outcomes are the target, if it is a number or has two states; then numbers (ordinal ones last)
    and columns of two states in turn.
    """
    schema = original.schema
    present = {n: float((original.states[n] >= 0).mean()) for n in schema.names}
    sparse = [n for n in schema.names if present[n] < _MOST_ABSENT]
    usable = [n for n in schema.names if n not in sparse]
    warnings = [
        f"{name} is not in the default regressions: it is missing in more than half of the records."
        for name in sparse
    ]
    models = []
    for outcome in _outcomes(schema, usable, target)[:MOST_MODELS]:
        predictors, left_out = _within_limit(schema, [n for n in usable if n != outcome])
        if not predictors:
            continue
        formula = f"{_response(schema, outcome)} ~ {' + '.join(f'`{n}`' for n in predictors)}"
        models.append(Model(f"{outcome} ~ other columns", formula, (outcome, *predictors), True))
        if left_out:
            warnings.append(
                f"The regression of {outcome} leaves out {', '.join(left_out)}: it is limited to "
                f"{MOST_COEFFICIENTS} coefficients."
            )
    if not models:
        warnings.append(
            "There is no default regression: it takes two columns, one of them a number or of two "
            "states; give formulas."
        )
    return tuple(models), tuple(warnings)


def _outcomes(schema: Schema, usable: list[str], target: str | None) -> list[str]:
    binary = [n for n in usable if schema.columns[n].n_ordinary == 2]
    numbers = [n for n in usable if _is_number(schema.columns[n]) and n not in binary]
    numbers.sort(key=lambda n: not isinstance(schema.columns[n], NUMERIC))
    turns: list[str] = []
    for k in range(max(len(binary), len(numbers))):
        turns += numbers[k : k + 1] + binary[k : k + 1]
    if target in turns:
        turns.remove(target)
        turns.insert(0, target)
    return turns


def _is_number(column: Column) -> bool:
    return isinstance(column, NUMERIC) or (
        column.kind == "ordinal" and all(isinstance(v, int | float) for v in column.levels)
    )


def _response(schema: Schema, name: str) -> str:
    """A column of two states by its second one, whatever its kind; else the column."""
    column = schema.columns[name]
    if column.n_ordinary == 2 and _is_number(column) and not isinstance(column, NUMERIC):
        second = max(column.levels)
        return f"{{`{name}` == {second!r}}}"
    return f"`{name}`"


def _within_limit(schema: Schema, names: list[str]) -> tuple[list[str], list[str]]:
    room, taken, left_out = MOST_COEFFICIENTS - 1, [], []
    for name in names:
        column = schema.columns[name]
        cost = 1 if _is_number(column) else min(column.n_ordinary, MOST_LEVELS) - 1
        if cost <= room:
            room -= cost
            taken.append(name)
        else:
            left_out.append(name)
    return taken, left_out
