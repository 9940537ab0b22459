"""Conditions and other expressions, as the states of their columns tell them.

An expression such as `income > 25000` has one value in each state of its columns, or it is not told
by them: bins that have numbers on both sides of 25000 do not say who has more.

A declared question brings the bins that tell it: where nobody declared others, `age >= 63` begins a
bin at 63. A declaration is public, and so are these bins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from understudy._arrays import Floats
from understudy.dp.released import Bins
from understudy.errors import InferenceError, SchemaError
from understudy.features.grids import own_bins
from understudy.inference import formulas
from understudy.inference.bin_bias import end_scores
from understudy.inference.contributions import cell_scores
from understudy.inference.question import MODELS, OF_GROUPS, TWO_WAY, Estimand
from understudy.inference.records import ABSENT, is_binned, numbers_around, probe_records
from understudy.schema import NUMERIC, Continuous, Schema
from understudy.schema.coarsening import cuts_of, in_these_bins, with_cuts
from understudy.schema.expressions import names_in, quote_name, split_outside, without_braces
from understudy.schema.numeric import Numeric


class UntoldError(InferenceError):
    """An expression that states do not tell."""


def state_values(text: str, schema: Schema) -> tuple[tuple[str, ...], Floats]:
    """The columns of an expression, and its value in each combination of their states.

    Args:
        text: the expression.
        schema: whose states these are.

    Returns:
        Columns in the order of the schema, and values of all cells, the last column fastest; NaN
        where a column has no value. They are worked out once for a schema.

    Raises:
        UntoldError: states do not tell them.
        InferenceError: the expression cannot be computed.
    """
    known: dict[str, tuple[tuple[str, ...], Floats]] = schema.worked_out.setdefault("values", {})
    if text not in known:
        known[text] = _state_values(text, schema)
    return known[text]


def _state_values(text: str, schema: Schema) -> tuple[tuple[str, ...], Floats]:
    columns = formulas.columns_of(formulas.as_formula(text), schema.names)
    asked = Estimand("mean", text, columns, expression=text)
    scores = cell_scores(asked, schema)
    if end_scores(asked, schema, scores) is not None:
        raise UntoldError(
            f"The bins of {', '.join(columns)} do not tell the values of {text!r}: some bin "
            f"has numbers with several. {_edges(text, columns, schema)}"
        )
    values = np.where(scores.quantity != ABSENT, scores.value, np.nan)
    values.flags.writeable = False
    return columns, values


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


def require_computable(estimand: Estimand, schema: Schema) -> None:
    """Refuse an expression that is no finite number for some of the declared values.

    Of a model each factor is laid out by itself: products of levels could be too many.

    Raises:
        InferenceError: it is none, or a factor of a model cannot be computed.
    """
    if estimand.kind in MODELS:
        probes = probe_records(schema, estimand.columns).frame()
        for factor in formulas.codes_in(estimand.formula):
            formulas.matrices(f"0 + {{{factor}}}", probes)
    elif estimand.expression:
        named = formulas.columns_of(formulas.as_formula(estimand.expression), schema.names)
        formulas.evaluate(estimand.expression, probe_records(schema, named).frame())


def require_varying(estimand: Estimand, schema: Schema) -> None:
    """Refuse a model whose outcome is the same for all declared values: nothing explains it.

    Raises:
        InferenceError: it is.
    """
    if estimand.kind not in MODELS:
        return
    outcome = without_braces(split_outside(estimand.formula, "~")[0])
    try:
        columns, values = state_values(outcome, schema)
    except InferenceError:  # states do not tell it, so it varies
        return
    if len(np.unique(values[~np.isnan(values)])) < 2:
        raise InferenceError(
            f"The outcome {outcome!r} is the same for all declared values of "
            f"{', '.join(columns)}, so nothing explains it; take another outcome."
        )


def are_told(estimand: Estimand, schema: Schema) -> bool:
    """Return whether states tell the conditions of a question."""
    try:
        require_told(estimand, schema)
    except UntoldError:
        return False
    return True


def schema_that_tells(asked: Iterable[Estimand], schema: Schema, *, of_any: bool = False) -> Schema:
    """The schema with bins that tell each comparison of some questions, where it is of one column.

    Bins that a rule names stay as they are, and so do those of slots of members.

    Args:
        asked: declared questions.
        schema: public.
        of_any: whether bins that were declared get further ones, too.
    """
    for text in dict.fromkeys(text for estimand in asked for text in _comparisons(estimand)):
        schema = _bins_that_tell(text, schema, of_any=of_any)
    return schema


def fewest_bins(estimand: Estimand, schema: Schema, kept: Collection[str]) -> Bins:
    """Bins of numbers that begin nowhere but where a question compares them with something.

    Where no such bins tell what it says of a number, this one keeps those of the schema.

    Args:
        estimand: the question.
        schema: public.
        kept: columns whose bins stay as they are, as those of slots of members do.

    Returns:
        Column → bins, where these are others than those of the schema.
    """
    numbers = (name for name in estimand.columns if isinstance(schema.columns[name], NUMERIC))
    wide = {name: 1 for name in numbers if name not in kept and not is_in_slot(name, schema)}
    told = schema.with_bins(wide)
    compared = [text for text in dict.fromkeys(_comparisons(estimand)) if _names_any(text, wide)]
    for text in compared:
        told = _bins_that_tell(text, told, of_any=True)
    open_to = {
        name
        for text in compared
        if not _tells(told, text)
        for name in formulas.columns_of(formulas.as_formula(text), schema.names)
    }
    columns = ((name, told.columns[name]) for name in wide if name not in open_to)
    found = {name: own_bins(column) for name, column in columns if isinstance(column, NUMERIC)}
    return {
        name: bins for name, bins in found.items() if not in_these_bins(schema.columns[name], bins)
    }


def _names_any(text: str, columns: Collection[str]) -> bool:
    return bool(names_in(text) & {*columns})


def require_bins(estimand: Estimand, schema: Schema) -> None:
    """Refuse comparisons that bins do not tell, of a question that rests on states alone.

    Raises:
        UntoldError: a bin has numbers for which one holds, and others.
    """
    numbers = [name for name, column in schema.columns.items() if isinstance(column, NUMERIC)]
    for text in _conditions(estimand):
        if _names_any(text, numbers):
            state_values(text, schema)


def _conditions(estimand: Estimand) -> Iterator[str]:
    """Comparisons that decide in which group a record is, or whether it counts."""
    for text in estimand.conditions:
        yield from formulas.split_comparisons(formulas.as_formula(text))
    if estimand.kind in (*TWO_WAY, *OF_GROUPS):
        yield from formulas.split_comparisons(estimand.formula)


def _comparisons(estimand: Estimand) -> Iterator[str]:
    """Comparisons in all that a question says."""
    yield from _conditions(estimand)
    if estimand.kind in MODELS:
        yield from formulas.split_comparisons(estimand.formula)
    elif estimand.expression:
        yield from formulas.split_comparisons(formulas.as_formula(estimand.expression))


def _bins_that_tell(text: str, schema: Schema, *, of_any: bool) -> Schema:
    """The schema with bins of a column that tell a comparison; as it is where there are none."""
    columns = formulas.columns_of(formulas.as_formula(text), schema.names)
    column = schema.columns[columns[0]] if len(columns) == 1 else None
    if not isinstance(column, NUMERIC) or _tells(schema, text):
        return schema
    if not of_any and (cuts_of(column) is None or is_in_slot(columns[0], schema)):
        return schema
    for places in _places(text, column):
        found = _with_cuts(schema, columns[0], places, of_any=of_any)
        if found is not schema and _tells(found, text):
            return found
    return schema


def is_in_slot(name: str, schema: Schema) -> bool:
    """Return whether a column holds one of several members, whose bins are all the same."""
    form = schema.members
    return form is not None and any(name in slot for slot in form.slots)


def _with_cuts(schema: Schema, name: str, places: set[float], *, of_any: bool) -> Schema:
    """The schema with further bins of a column; as it is where they do not fit."""
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    try:
        cut = with_cuts(column, places, name)
        assert cut.bins is not None
        changed = schema.with_bins({name: cut.bins})
    except SchemaError:
        return schema
    if not of_any and cuts_of(cut) is None:  # too many
        return schema
    return changed if len(changed.forbidden) == len(schema.forbidden) else schema


def _tells(schema: Schema, text: str) -> bool:
    try:
        state_values(text, schema)
    except UntoldError:
        return False
    return True


def _places(text: str, column: Numeric) -> Iterator[set[float]]:
    """Where bins may have to begin within the bounds for a comparison, the fewest first."""
    low, high = column.bounds
    named = formulas.constants(formulas.as_formula(text))
    if isinstance(column, Continuous):
        at = {*named}
        after = {numbers_around(number, column.decimals)[-1] for number in named}
    else:
        at = {float(np.floor(number)) for number in named}
        after = {number + 1 for number in at}
    for places in (at, after, at | after):
        yield {number for number in places if low < number < high}


def _edges(text: str, columns: Sequence[str], schema: Schema) -> str:
    """A condition that bins do tell, near the numbers that the expression names."""
    name, *others = (name for name in columns if is_binned(schema.columns[name]))
    if others:
        return (
            "Two numbers in bins do not tell which is larger, or how far apart they are: ask for a "
            "table with a column of its own for it, or with a bin for each number."
        )
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    lows = [interval.low for interval in column.intervals if not interval.spike]
    named = formulas.constants(formulas.as_formula(text)) or (sum(column.bounds) / 2,)
    near = min(lows, key=lambda low: min(abs(low - number) for number in named))
    return (
        f"One begins at {near:.12g}: take a condition such as {quote_name(name)} >= {near:.12g}, "
        "or a schema whose bins begin where yours needs them."
    )
