"""A draft of which a codebook says the most: codebook first, rows second. CONFIDENTIAL.

What a codebook says is taken as it stands, under its source, and has no fingerprint. What it lacks
(a bound, a list of levels, a kind) is read from the rows, and has one. Where the rows do not agree
with it, the draft says so and changes nothing.

**What a column becomes in a draft whose file says what its codes stand for. CONFIDENTIAL.**

Files of SPSS and Stata hold labels, user-missing codes and levels of measurement. They stand in the
confidential file, so a draft marks what it takes from them like what it reads from the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import polars as pl
from pydantic import ValidationError

from understudy.data.frames import column as named
from understudy.data.rows import Rows
from understudy.metadata.codebook import Codebook
from understudy.metadata.variables import Asked, fingerprints_of, with_rules_that_hold
from understudy.schema import Categorical, Column, Continuous, Integer, Ordinal, Schema
from understudy.schema.base import Code, number_of, text_of
from understudy.schema.columns import KINDS
from understudy.schema.file_format import FileFormat
from understudy.schema.file_labels import LabelCode, VariableLabels
from understudy.schema.validation import describe_fault
from understudy.steward.check import Finding, check
from understudy.steward.column_draft import (
    MAX_LEVELS,
    LeftOutError,
    drafted_column,
    mark_drafted,
    read_column,
)
from understudy.steward.profile import Profile, Profiler

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
    unused: Mapping[LabelCode, str]


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
    column = _draft_measured(variable, profile, profiler)
    if isinstance(column, Continuous) and variable.decimals is not None:
        decimals = min(variable.decimals, _MOST_DECIMALS)
        column = column.model_copy(update={"decimals": decimals})
    single = (*getattr(column, "levels", ()), *getattr(column, "spikes", ()), *column.codes)
    known = {text_of(value) for value in single}
    told = {code: label for code, label in variable.value_labels.items() if label}
    labels = {text_of(code): label for code, label in told.items() if text_of(code) in known}
    update = {"description": variable.label, "value_labels": labels}
    unused = {code: label for code, label in told.items() if text_of(code) not in known}
    return LabelledColumn(mark_drafted(column.model_copy(update=update), profile), unused)


def _draft_measured(variable: VariableLabels, profile: Profile, profiler: Profiler) -> Column:
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


def different_values(profile: Profile, profiler: Profiler) -> list[LabelCode] | None:
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


def _of_levels(variable: VariableLabels, levels: Sequence[LabelCode], profile: Profile) -> Column:
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
) -> tuple[Rows, dict[str, tuple[LabelCode, ...]]]:
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
        name: _labelled_codes(
            variables[name], row[f"{key}.seen"] or [], empty=bool(row[f"{key}.empty"])
        )
        for name, key in keys.items()
    }
    kept = rows.lazy.with_columns(
        pl.when(~_is_missing(name, variable, types[name])).then(named(name)).alias(name)
        for name, variable in variables.items()
    )
    return replace(rows, lazy=kept), codes


def _labelled_codes(
    variable: VariableLabels, seen: Sequence[LabelCode], *, empty: bool
) -> tuple[LabelCode, ...]:
    told = [code for code in variable.value_labels if variable.is_missing(code)]
    whole = (int(one) if isinstance(one, float) and one.is_integer() else one for one in seen)
    every = [*variable.missing_codes, *told, *sorted(whole, key=text_of)]
    return (*([""] if empty else []), *dict.fromkeys(every))


def _is_missing(name: str, variable: VariableLabels, dtype: pl.DataType) -> pl.Expr:
    """Return whether a value is one that the file says is missing; false where there is none."""
    values = named(name)
    if dtype == pl.String and variable.holds != "text":
        return values.str.contains(_TAG).fill_null(False)
    if variable.holds not in ("numbers", "text"):
        return pl.lit(False)
    found = values.is_in(pl.Series(variable.missing_codes, dtype=dtype, strict=False).implode())
    for low, high in variable.missing_ranges:
        found |= values.is_between(low, high)
    return found.fill_null(False)


ABSENT = "it stands in the codebook, but not in the data"
_UNLIKE = "the codebook says that it is {kind}, and its values in the data are not"


def without_codes(rows: Rows, codebook: Codebook) -> tuple[Rows, frozenset[str]]:
    """The rows with nothing in place of the codes of absence of columns that are to be completed.

    Args:
        rows: the table.
        codebook: what is known of it.

    Returns:
        These rows, and which of the columns had empty cells before.
    """
    asked = {name: one for name, one in codebook.asked.items() if name in rows.columns}
    asked = {name: one for name, one in asked.items() if name not in rows.unreadable}
    if not asked:
        return rows, frozenset()
    types = rows.lazy.collect_schema()
    keys = {name: f"column_{k}" for k, name in enumerate(asked)}
    empty = [_is_empty(name, types[name]).any().alias(key) for name, key in keys.items()]
    row = rows.ask(rows.lazy.select(empty)).row(0, named=True)
    kept = rows.lazy.with_columns(
        pl.when(~_is_one_of(name, types[name], _codes(one))).then(named(name)).alias(name)
        for name, one in asked.items()
    )
    return replace(rows, lazy=kept), frozenset(name for name, key in keys.items() if row[key])


def complete_column(asked: Asked, profile: Profile, profiler: Profiler) -> Column:
    """The column of which a codebook says something, and the rows the rest.

    Args:
        asked: what the codebook says.
        profile: of the values but its codes of absence; with the other codes of absence there are.
        profiler: of the same values.

    Raises:
        LeftOutError: the rows are of another kind than the codebook says, or give nothing.
    """
    known = [text_of(code) for code in _codes(asked)]
    absent = tuple(code for code in dict.fromkeys(profile.codes) if text_of(code) not in known)
    read = _read(asked, profile, profiler)
    entries = {
        **read,
        **{key: value for key, value in asked.entries.items() if value not in ((), {}, "", None)},
        "missing": (*asked.entries.get("missing", ()), *absent),
    }
    prints = {**asked.entries.get("drafted", {})}
    try:
        column = KINDS[entries["kind"]].model_validate({**entries, "drafted": {}})
    except ValidationError as error:
        fault = next(iter(describe_fault(error.errors()[0])))
        raise LeftOutError(f"codebook and data do not go together: {fault}") from None
    own = column.fingerprints()
    prints |= {key: own[key] for key in read if key in own and key not in asked.entries}
    if absent:
        prints["missing"] = fingerprints_of(absent)
    return cast(Column, column.model_copy(update={"drafted": prints}))


def disagreements(
    data: object, columns: Mapping[str, Column], form: FileFormat
) -> tuple[Finding, ...]:
    """Describe what in the rows does not fit what was not read from them.

    Args:
        data: the table.
        columns: those of a codebook, or of conventions.
        form: how a text file is written.
    """
    if not columns:
        return ()
    return check(data, Schema(columns=with_rules_that_hold(columns), file=form)).findings


def _codes(asked: Asked) -> Sequence[Code]:
    return (*asked.entries.get("missing", ()), *asked.entries.get("not_applicable", ()))


def _is_empty(name: str, dtype: pl.DataType) -> pl.Expr:
    values = named(name)
    empty = values.is_null()
    return empty | (values == "") if dtype == pl.String else empty


def _is_one_of(name: str, dtype: pl.DataType, codes: Sequence[Code]) -> pl.Expr:
    """Return whether a value is one of some codes, as text or as a number."""
    values = named(name)
    numbers = [number for code in codes if (number := number_of(code)) is not None]
    if dtype.is_numeric():
        return values.cast(pl.Float64).is_in(numbers).fill_null(False)
    if dtype != pl.String:
        return pl.lit(False)
    bare = values.str.strip_chars()
    found = bare.is_in([text_of(code) for code in codes])
    return (found | bare.cast(pl.Float64, strict=False).is_in(numbers)).fill_null(False)


def _read(asked: Asked, profile: Profile, profiler: Profiler) -> dict[str, Any]:
    """Entries that the rows give."""
    kind = asked.entries.get("kind")
    if kind in {"categorical", "ordinal"}:
        levels = different_values(profile, profiler)
        if not levels:
            raise LeftOutError(_UNLIKE.format(kind=kind))
        return {"levels": tuple(levels)}
    drafted = read_column(replace(profile, codes=()), profiler)
    if kind is None:
        told = drafted.model_dump(exclude={"reviewed", "source", "drafted", "confirmed"})
        return {key: value for key, value in told.items() if value not in ((), {}, "", None)}
    if kind == "date":
        if drafted.kind != "date":
            raise LeftOutError(_UNLIKE.format(kind="a date"))
        return {"lower": drafted.lower, "upper": drafted.upper}
    if profile.shape != "number":
        raise LeftOutError(_UNLIKE.format(kind="a number"))
    low, high = _ends(drafted, profile)
    return {"lower": low, "upper": high} if kind == "continuous" else _whole(low, high)


def _ends(drafted: Column, profile: Profile) -> tuple[float, float]:
    """Bounds as a draft rounds them; those of few values are the first and last of these."""
    lower = getattr(drafted, "lower", profile.low)
    upper = getattr(drafted, "upper", profile.high)
    return lower, upper


def _whole(low: float, high: float) -> dict[str, Any]:
    return {"lower": math.floor(low), "upper": math.ceil(high)}
