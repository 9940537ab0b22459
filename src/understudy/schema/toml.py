"""Schemas as TOML text: reading with one clear sentence per fault, writing, exact round trip."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from understudy.errors import SchemaError
from understudy.schema.schema import Schema


def loads(text: str) -> Schema:
    """Read a schema from TOML text.

    Raises:
        SchemaError: not TOML, or not a schema; names the entry and the fix.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"The schema is not valid TOML: {error}.") from None
    try:
        return Schema.model_validate(content)
    except ValidationError as error:
        raise SchemaError(_sentence(error)) from None


def load(path: Path) -> Schema:
    """Read a schema from a TOML file.

    Raises:
        SchemaError: the file cannot be read, or its content is no schema.
    """
    try:
        return loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SchemaError(f"The schema file {str(path)!r} cannot be read: {reason}.") from None


def dumps(schema: Schema) -> str:
    """The schema as TOML text; defaults are left out, the order of columns is kept."""
    content = schema.model_dump(exclude_defaults=True)
    content = {"format": schema.format, "rows": schema.rows, **content}
    unit = {"unit": {"rows_per_unit": schema.unit.rows_per_unit, **content.pop("unit", {})}}
    tables = {key: content.pop(key) for key in ("columns", "forbidden") if key in content}
    return tomli_w.dumps({**content, **unit, **tables})


def _sentence(error: ValidationError) -> str:
    """The first fault of a schema, in the user's words."""
    first = error.errors(include_url=False)[0]
    place = _place(first["loc"])
    message = _reworded(first["type"], first["msg"], first.get("ctx", {}))
    more = error.error_count() - 1
    tail = f" ({more} more fault{'s' if more > 1 else ''} after this one.)" if more else ""
    return f"The schema does not hold together: {place}{message}.{tail}"


def _place(loc: tuple[int | str, ...]) -> str:
    if not loc:
        return ""
    parts = list(loc)
    if parts[0] == "columns" and len(parts) > 1:
        inner = [str(part) for part in parts[3:] if not _is_type_tag(part)]
        entry = f", {inner[0]}" if inner else ""
        return f"column {parts[1]!r}{entry}: "
    if parts[0] == "forbidden" and len(parts) > 1:
        return f"forbidden combination {int(parts[1]) + 1}: "
    return f"{parts[0]}: "


def _is_type_tag(part: int | str) -> bool:
    return isinstance(part, str) and ("[" in part or part in {"int", "float", "str", "bool"})


def _reworded(kind: str, message: str, context: dict[str, Any]) -> str:
    if kind == "value_error":
        return message.removeprefix("Value error, ").rstrip(".")
    if kind == "extra_forbidden":
        return "there is no such entry; check the spelling, or take it out"
    if kind == "missing":
        return "this entry is required; add it"
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        return "kind must be one of categorical, ordinal, boolean, integer, continuous, date"
    return message[:1].lower() + message[1:]
