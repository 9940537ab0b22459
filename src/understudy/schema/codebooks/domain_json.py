"""JSON with one object a column: a `domain.json` beside a table, or a dictionary of codes.

`domain.json`: `{column: {"type": "categorical", "levels": […]} or {"type": "numeric", "lower": …,
"upper": …, "integer": true}}`, with `labels` (level → words), `missing` (the level that says *not
known*), `nullable` (empty cells say so) and `basis`. Whatever has another basis than "documented"
may have been observed.

A dictionary of codes: `{column: {"description": …, "values": {code: label, "min": …, "max": …}}}`.
It does not say where a minimum and maximum come from, so they may have been observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.json_entries import table_of, text_in, written
from understudy.schema.codebooks.variable import CodedValue, ValueType, Variable

_ENDS: Final = ("min", "max")


def is_known(content: Any) -> bool:
    """Whether JSON is of one of the two forms."""
    return _is_domain(content) or _each(
        content, lambda one: "description" in one or "values" in one
    )


def variables(content: Mapping[str, Any], file: CodebookFile) -> Iterator[Variable]:
    """Variables of either.

    Args:
        content: of the file.
        file: of the codebook.

    Raises:
        SchemaError: levels, labels or codes that are none.
    """
    read = _of_domain if _is_domain(content) else _of_dictionary
    return read(content, file)


def _is_domain(content: Any) -> bool:
    return _each(content, lambda one: one.get("type") in ("categorical", "numeric"))


def _each(content: Any, fits: Callable[[dict[str, Any]], bool]) -> bool:
    return (
        isinstance(content, dict)
        and bool(content)
        and all(isinstance(one, dict) and fits(one) for one in content.values())
    )


def _of_domain(content: Mapping[str, Any], file: CodebookFile) -> Iterator[Variable]:
    for name, one in content.items():
        observed = text_in(one, "basis") != "documented"
        labels = table_of(one.get("labels", {}), "labels", file)
        missing = one.get("missing")
        levels = one.get("levels", [])
        if not isinstance(levels, list):
            file.refuse(f"the levels of {name!r} must be a list; correct the file")
        values = [
            CodedValue(
                written(level),
                written(labels.get(written(level))),
                "missing" if level == missing else "",
                maybe_observed=observed,
            )
            for level in levels
        ]
        if one.get("nullable") is True:
            values.append(CodedValue("", "", "missing"))
        kind: ValueType = "integer" if one.get("integer") is True else "number"
        yield Variable(
            name=name,
            label=text_in(one, "description"),
            value_type="text" if one["type"] == "categorical" else kind,
            values=tuple(values),
            lower=written(one.get("lower")),
            upper=written(one.get("upper")),
            bounds_maybe_observed=observed,
        )


def _of_dictionary(content: Mapping[str, Any], file: CodebookFile) -> Iterator[Variable]:
    for name, one in content.items():
        codes = table_of(one.get("values") or {}, "values", file)
        lower, upper = (written(codes.get(end)) for end in _ENDS)
        yield Variable(
            name=name,
            label=text_in(one, "description"),
            values=tuple(
                CodedValue(code, written(label) or code)
                for code, label in codes.items()
                if code not in _ENDS
            ),
            lower=lower,
            upper=upper,
            bounds_maybe_observed=bool(lower or upper),
        )
