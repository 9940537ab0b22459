"""Entries of JSON that anybody may have written; what is of another form is told, or left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.schema.cell_values import text_of
from understudy.schema.codebooks.codebook_file import CodebookFile


def written(value: Any) -> str:
    """A value as it would stand in a cell; "" for none, and for what is no single value.

    Example:
        >>> written(3.0), written(True), written(None), written(["a"])
        ('3', 'true', '', '')
    """
    return text_of(value) if isinstance(value, str | int | float) else ""


def items(value: Any) -> list[Any]:
    """The items of a list; none of what is no list."""
    return value if isinstance(value, list) else []


def text_in(entries: Mapping[str, Any], key: str) -> str:
    """A text, also one that comes in languages (the first) or in a list (the first); else ""."""
    value = entries.get(key)
    while isinstance(value, list | dict) and value:
        value = value[0] if isinstance(value, list) else _said(value)
    return value.strip() if isinstance(value, str) else ""


def _said(value: dict[str, Any]) -> Any:
    return value["@value"] if "@value" in value else next(iter(value.values()))


def listed(entries: Mapping[str, Any], key: str, file: CodebookFile) -> list[dict[str, Any]]:
    """A list of objects.

    Raises:
        SchemaError: it is none.
    """
    items = entries.get(key)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        file.refuse(f"{key!r} must be a list of objects; correct the file")
    return items


def table_of(value: Any, what: str, file: CodebookFile) -> dict[str, Any]:
    """An object.

    Raises:
        SchemaError: it is none.
    """
    if not isinstance(value, dict):
        file.refuse(f"{what!r} must be an object; correct the file")
    return value


def chosen(tables: Mapping[str, Any], table: str, file: CodebookFile) -> dict[str, Any]:
    """The table that is meant.

    Args:
        tables: name → its description.
        table: the name; "" for the only one.
        file: of the codebook.

    Raises:
        SchemaError: there is none of that name, or several and none is named.
    """
    names = ", ".join(map(repr, tables)) or "none"
    if not table and len(tables) != 1:
        file.refuse(
            f"it describes {len(tables)} tables; say by `table` (--table) which one is meant of "
            f"{names}"
            if tables
            else "it describes no table with columns"
        )
    name = table or next(iter(tables))
    if name not in tables:
        file.refuse(f"it describes no table {table!r}; it has {names}")
    return table_of(tables[name], name, file)
