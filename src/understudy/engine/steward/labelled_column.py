"""What a column becomes in a draft whose file says what its codes stand for. CONFIDENTIAL.

Files of SPSS and Stata hold labels, user-missing codes and levels of measurement. They stand in the
confidential file, so a draft marks what it takes from them like what it reads from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from understudy.engine.reading.parquet import column as named
from understudy.engine.reading.table_rows import Rows
from understudy.engine.steward.column_profile import Profile, Profiler
from understudy.engine.steward.drafted_column import (
    MAX_LEVELS,
    LeftOutError,
    drafted_column,
    marked,
)
from understudy.schema import Categorical, Column, Continuous, Integer, Ordinal
from understudy.schema.cell_values import number_of, text_of
from understudy.schema.file_labels import Code, VariableLabels

_TAG = r"^\.[A-Za-z_]$"
_MOST_DECIMALS = 12


@dataclass(frozen=True)
class LabelledColumn:
    """A drafted column.

    Attributes:
        column: the draft.
        unused: labelled values that it has no state for, each with its label.
    """

    column: Column
    unused: Mapping[Code, str]


def labelled_column(
    variable: VariableLabels, profile: Profile, profiler: Profiler
) -> LabelledColumn:
    """The column that a file's labels and the profile of its values suggest.

    Args:
        variable: what the file says.
        profile: of the values but those that it says are missing; its codes are these.
        profiler: of the same values.

    Raises:
        LeftOutError: none can be drafted.
    """
    column = _measured(variable, profile, profiler)
    if isinstance(column, Continuous) and variable.decimals is not None:
        decimals = min(variable.decimals, _MOST_DECIMALS)
        column = column.model_copy(update={"decimals": decimals})
    single = (*getattr(column, "levels", ()), *getattr(column, "spikes", ()), *column.codes)
    known = {text_of(value) for value in single}
    told = {code: label for code, label in variable.value_labels.items() if label}
    labels = {text_of(code): label for code, label in told.items() if text_of(code) in known}
    update = {"description": variable.label, "value_labels": labels}
    unused = {code: label for code, label in told.items() if text_of(code) not in known}
    return LabelledColumn(marked(column.model_copy(update=update), profile), unused)


def _measured(variable: VariableLabels, profile: Profile, profiler: Profiler) -> Column:
    absent = {text_of(code) for code in profile.codes}
    levels = [code for code in variable.value_labels if text_of(code) not in absent]
    values = different_values(profile, profiler)
    if values is not None and (levels or variable.measure in ("nominal", "ordinal")):
        # Labels of a text variable are texts, and its values numbers where all of them are.
        known = {code if (place := number_of(code)) is None else place for code in levels}
        others = [code for code in values if code not in known]
        coded = variable.measure != "scale" and len(others) <= len(levels)
        if not others or coded or variable.measure in ("nominal", "ordinal"):
            return _of_levels(variable, [*levels, *others], profile)
    column = drafted_column(profile, profiler)
    whole = profile.shape == "number" and profile.whole
    if variable.measure == "scale" and whole and isinstance(column, Categorical):
        # Few whole numbers, which the file says are measured.
        low, high = int(profile.low), int(profile.high)
        return Integer(kind="integer", lower=low, upper=high, missing=profile.codes)
    return column


def different_values(profile: Profile, profiler: Profiler) -> list[Code] | None:
    """The values that occur, in order; None where they are too many, or no codes.

    Args:
        profile: of the column.
        profiler: of its table.
    """
    if profile.shape == "nothing":
        return []
    if profile.shape not in ("number", "text"):
        return None
    if max(profile.n_texts, profile.n_different) > 2 * MAX_LEVELS:
        return None
    counts = profiler.counts(profile)
    if counts.height > MAX_LEVELS:
        return None
    values = sorted(counts["value"].to_list())
    if profile.shape == "text":
        return values
    return [int(value) if value.is_integer() else value for value in values]


def _of_levels(variable: VariableLabels, levels: Sequence[Code], profile: Profile) -> Column:
    if not levels:
        raise LeftOutError("it holds no value and no label, so nothing can be said about it")
    graded = variable.measure == "ordinal" or (variable.measure == "scale" and len(levels) > 2)
    content = {"levels": tuple(levels), "missing": profile.codes}
    if graded:
        return Ordinal(kind="ordinal", **content)
    return Categorical(kind="categorical", **content)


# --- what the file says is missing ---------------------------------------------------------------


def without_missing(
    rows: Rows, variables: Mapping[str, VariableLabels]
) -> tuple[Rows, dict[str, tuple[Code, ...]]]:
    """The rows with nothing in place of what a file says is missing, and its codes by column.

    Codes are those that the file names, and those of its ranges that occur; "" for empty cells.

    Raises:
        DataError: the file breaks off.
    """
    types = rows.lazy.collect_schema()
    keys = {name: f"column_{k}" for k, name in enumerate(variables)}
    asked = []
    for name, key in keys.items():
        missing, values = _is_missing(name, variables[name], types[name]), named(name)
        asked.append(values.filter(missing).unique().implode().alias(f"{key}.seen"))
        asked.append(_is_empty(name, types[name]).any().alias(f"{key}.empty"))
    row = rows.ask(rows.lazy.select(asked)).row(0, named=True)
    codes = {
        name: _codes(variables[name], row[f"{key}.seen"] or [], empty=bool(row[f"{key}.empty"]))
        for name, key in keys.items()
    }
    kept = rows.lazy.with_columns(
        pl.when(~_is_missing(name, variable, types[name])).then(named(name)).alias(name)
        for name, variable in variables.items()
    )
    return replace(rows, lazy=kept), codes


def _codes(variable: VariableLabels, seen: Sequence[Code], *, empty: bool) -> tuple[Code, ...]:
    told = [code for code in variable.value_labels if variable.is_missing(code)]
    whole = (int(one) if isinstance(one, float) and one.is_integer() else one for one in seen)
    every = [*variable.missing_codes, *told, *sorted(whole, key=text_of)]
    return (*([""] if empty else []), *dict.fromkeys(every))


def _is_missing(name: str, variable: VariableLabels, dtype: pl.DataType) -> pl.Expr:
    """Whether a value is one that the file says is missing; false where there is none."""
    values = named(name)
    if dtype == pl.String and variable.holds != "text":
        return values.str.contains(_TAG).fill_null(False)
    if variable.holds not in ("numbers", "text"):
        return pl.lit(False)
    found = values.is_in(pl.Series(variable.missing_codes, dtype=dtype, strict=False).implode())
    for low, high in variable.missing_ranges:
        found |= values.is_between(low, high)
    return found.fill_null(False)


def _is_empty(name: str, dtype: pl.DataType) -> pl.Expr:
    values = named(name)
    empty = values.is_null()
    return empty | (values == "") if dtype == pl.String else empty
