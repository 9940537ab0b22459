"""Derived columns that a codebook proposes: what it says of the column, with the rule it states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic import ValidationError

from understudy.schema.codebooks.described_column import Asked
from understudy.schema.codebooks.stated_rules import derived_of
from understudy.schema.columns import KINDS, Column
from understudy.schema.derived_columns import derived_faults
from understudy.schema.expression_values import faults_of, span_of
from understudy.schema.expressions import Expression

_ENDS = {"lower", "upper"}
_FAR = 10**9  # in place of bounds that are asked for


def proposed(
    commands: tuple[str, ...],
    name: str,
    columns: Mapping[str, Column],
    asked: Mapping[str, Asked],
) -> Column | Asked | None:
    """A column with the rule that a codebook states; None where it does not fit the column.

    Bounds that the codebook does not name are those that the rule gives, where it gives some; else
    they are asked for as before. Where the rule may have no value, the column has the empty code.

    Args:
        commands: what the codebook says.
        name: of the column.
        columns: that the codebook describes fully.
        asked: the others, with what it says of them.
    """
    others: dict[str, Column] = {n: c for n, c in columns.items() if n != name}
    firm = dict(others)
    others |= {n: c for n, one in asked.items() if n != name and (c := _stand_in(one))}
    own = columns.get(name) or (_stand_in(asked[name]) if name in asked else None)
    rule = None if own is None else derived_of(commands, name, {**others, name: own})
    if own is None or rule is None:
        return None
    entries = own.model_dump() if name in columns else dict(asked[name].entries)
    entries["derived"] = rule
    if name in asked and not _with_ends(entries, rule, firm):
        trial = {**entries, **{end: getattr(own, end) for end in asked[name].needed}}
        fitting = _fitting(trial, name, others)
        if fitting is None:
            return None
        missing = {"missing": fitting.missing} if fitting.missing else {}
        return replace(asked[name], entries={**entries, **missing})
    return _fitting(entries, name, others)


def _fitting(entries: dict[str, Any], name: str, others: Mapping[str, Column]) -> Column | None:
    """The column, with the empty code where its rule may have no value; None if it does not fit."""
    more: tuple[tuple[str, ...], ...] = ((),) if entries.get("missing") else ((), ("",))
    for missing in more:
        column = _made({**entries, "missing": (*entries.get("missing", ()), *missing)})
        if column is not None and not [*derived_faults({**others, name: column})]:
            return column
    return None


def _stand_in(asked: Asked) -> Column | None:
    """A column of numbers with far bounds in place of those that it lacks; None for others."""
    if not set(asked.needed) <= _ENDS:
        return None
    entries = {"lower": -_FAR, "upper": _FAR, **asked.entries}
    return _made({key: value for key, value in entries.items() if key != "drafted"})


def with_rules_that_hold(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The columns, without rules that do not fit them, or name a column that is not among them.

    A column whose rule falls is one like others.
    """
    found = dict(columns)
    while True:
        kept = {name: column for name, column in found.items() if not _falls(name, found)}
        if len(kept) == len(found):
            break
        found |= {
            n: c.model_copy(update={"derived": None}) for n, c in found.items() if n not in kept
        }
    if found and all(column.derived is not None for column in found.values()):
        return {n: column.model_copy(update={"derived": None}) for n, column in found.items()}
    return found


def _falls(name: str, columns: Mapping[str, Column]) -> bool:
    """Whether the rule of a column does not hold together with the others as they stand."""
    column = columns[name]
    if column.derived is None:
        return False
    plain = {n: c.model_copy(update={"derived": None}) for n, c in columns.items()}
    return bool([*derived_faults({**plain, name: column})])


def _with_ends(entries: dict[str, Any], rule: object, columns: Mapping[str, Column]) -> bool:
    """Put in the bounds that the rule gives; whether it gives some."""
    try:
        expression = Expression.read(str(rule)) if isinstance(rule, str) else None
    except ValueError:
        return False
    if expression is None or expression.cuts or [*faults_of(expression, columns)]:
        return False
    span = span_of(expression, columns)
    if not (math.isfinite(span.low) and math.isfinite(span.high)):
        return False
    whole = entries.get("kind") == "integer"
    ends = (math.floor(span.low), math.ceil(span.high)) if whole else (span.low, span.high)
    for key, end in zip(("lower", "upper"), ends, strict=True):
        entries.setdefault(key, end)
    return True


def _made(entries: dict[str, Any]) -> Column | None:
    try:
        return cast(Column, KINDS[str(entries.get("kind"))].model_validate(entries))
    except (ValidationError, KeyError):
        return None
