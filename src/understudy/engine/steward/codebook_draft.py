"""A draft of which a codebook says the most: codebook first, rows second. CONFIDENTIAL.

What a codebook says is taken as it stands, under its source, and has no fingerprint. What it lacks
(a bound, a list of levels, a kind) is read from the rows, and has one. Where the rows do not agree
with it, the draft says so and changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import polars as pl
from pydantic import ValidationError

from understudy.engine.reading.parquet import column as named
from understudy.engine.reading.table_rows import Rows
from understudy.engine.steward.check import Finding, check
from understudy.engine.steward.column_profile import Profile, Profiler
from understudy.engine.steward.drafted_column import LeftOutError, read_column
from understudy.engine.steward.labelled_column import different_values
from understudy.schema import Column, Schema
from understudy.schema.cell_values import Code, number_of, text_of
from understudy.schema.codebooks.codebook import Codebook
from understudy.schema.codebooks.derived_proposals import with_rules_that_hold
from understudy.schema.codebooks.described_column import Asked, fingerprints_of
from understudy.schema.columns import KINDS
from understudy.schema.error_sentences import worded
from understudy.schema.file_format import FileFormat

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


def completed(asked: Asked, profile: Profile, profiler: Profiler) -> Column:
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
        fault = next(iter(worded(error.errors()[0])))
        raise LeftOutError(f"codebook and data do not go together: {fault}") from None
    own = column.fingerprints()
    prints |= {key: own[key] for key in read if key in own and key not in asked.entries}
    if absent:
        prints["missing"] = fingerprints_of(absent)
    return cast(Column, column.model_copy(update={"drafted": prints}))


def disagreements(
    data: object, columns: Mapping[str, Column], form: FileFormat
) -> tuple[Finding, ...]:
    """What in the rows does not fit what was not read from them.

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
    """Whether a value is one of some codes, as text or as a number."""
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
