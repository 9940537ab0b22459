"""Frictionless: a Table Schema, or a Data Package whose resources have one.

`enum`, `minimum` and `maximum` are constraints: statements of what is valid, which count as public.
Read beside them are names, titles, descriptions, types, `categories` with their labels and order,
`missingValues` (an empty cell, unless the schema says otherwise), keys and `unique`. A schema that
stands in a file of its own has to be given itself: nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.json_entries import (
    chosen,
    items,
    listed,
    table_of,
    text_in,
    written,
)
from understudy.schema.codebooks.variable import ABSENCES, CodedValue, ValueType, Variable

_TYPES: Final[Mapping[str, ValueType]] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "date": "date",
    "year": "integer",
    "": "text",
    "any": "",
}
_TRUTHS: Final = frozenset({"true", "false", "1", "0"})


def is_frictionless(content: Any) -> bool:
    """Whether JSON is a Table Schema or Data Package."""
    return isinstance(content, dict) and (
        isinstance(content.get("resources"), list) or isinstance(content.get("fields"), list)
    )


def title_of(content: Mapping[str, Any], table: str) -> str:
    """Title of the package, or the table's."""
    return text_in(content, "title") or text_in(content, "name") or table


def variables(content: Mapping[str, Any], file: CodebookFile, table: str) -> Iterator[Variable]:
    """Variables of a Table Schema, or of one resource of a package.

    Args:
        content: of the file.
        file: of the codebook.
        table: name of the resource; "" for the only one.

    Raises:
        SchemaError: several resources and none named, or a schema that is not in this file.
    """
    schema: Any = content
    if "fields" not in content:
        resources = listed(content, "resources", file)
        described = {
            text_in(one, "name") or f"resource {k}": one
            for k, one in enumerate(resources, start=1)
            if "schema" in one
        }
        schema = chosen(described, table, file).get("schema")
        if isinstance(schema, str):
            file.refuse("the schema of its table stands in another file; give that file")
    schema = table_of(schema, "schema", file)
    keys = schema.get("primaryKey", ())
    keys = [keys] if isinstance(keys, str) else keys
    absent = _absent(schema.get("missingValues", [""]))
    for one in listed(schema, "fields", file):
        yield _variable(one, absent, names_rows=keys == [one.get("name")])


def _variable(
    one: Mapping[str, Any], absent: tuple[CodedValue, ...], *, names_rows: bool
) -> Variable:
    limits = one.get("constraints")
    limits = limits if isinstance(limits, dict) else {}
    value_type = _TYPES.get(text_in(one, "type"), "other")
    values = _categories(one) or _bare(limits.get("enum"))
    if value_type == "boolean" and not values:
        values = _words(one)
    codes = absent if "missingValues" not in one else _absent(one["missingValues"])
    kept = () if limits.get("required") is True else codes
    codes_of_absence = {value.text for value in kept}
    return Variable(
        name=text_in(one, "name"),
        label=text_in(one, "title") or text_in(one, "description"),
        value_type="text" if value_type == "boolean" and values else value_type,
        values=(*(value for value in values if value.text not in codes_of_absence), *kept),
        lower=written(limits.get("minimum")) or _next(limits, "exclusiveMinimum", value_type, 1),
        upper=written(limits.get("maximum")) or _next(limits, "exclusiveMaximum", value_type, -1),
        on_a_scale=False,
        ordered=one.get("categoriesOrdered") is True,
        unit=text_in(one, "unit"),
        names_rows=names_rows or limits.get("unique") is True,
    )


def _next(limits: Mapping[str, Any], key: str, value_type: ValueType, step: int) -> str:
    """An excluded bound: of whole numbers the next one, of others the bound itself."""
    value = limits.get(key)
    if value_type == "integer" and isinstance(value, int):
        return written(value + step)
    return written(value)


def _categories(one: Mapping[str, Any]) -> tuple[CodedValue, ...]:
    """Codes with their labels, in either way of writing them."""
    return tuple(
        CodedValue(written(item.get("value")), text_in(item, "label") or written(item.get("value")))
        if isinstance(item, dict)
        else CodedValue(written(item), written(item))
        for item in items(one.get("categories"))
    )


def _bare(values: Any) -> tuple[CodedValue, ...]:
    """Codes of a closed list: their own labels."""
    return tuple(CodedValue(written(item), written(item)) for item in items(values))


def _words(one: Mapping[str, Any]) -> tuple[CodedValue, ...]:
    """The words of a truth value, where they are not those that everybody uses."""
    said = [*items(one.get("falseValues")), *items(one.get("trueValues"))]
    if {written(word).lower() for word in said} <= _TRUTHS:
        return ()
    return _bare(said)


def _absent(codes: Any) -> tuple[CodedValue, ...]:
    return tuple(
        CodedValue(
            written(item.get("value")),
            text_in(item, "label"),
            ABSENCES.get(text_in(item, "absence"), "missing"),
        )
        if isinstance(item, dict)
        else CodedValue(written(item), "", "missing")
        for item in items(codes)
    )
