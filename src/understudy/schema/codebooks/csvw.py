"""CSVW: the metadata of CSV on the Web (W3C), of one table or a group of tables.

Read are names, titles, descriptions, datatypes with their bounds (constraints: statements of what
is valid), `null`, `required`, keys, and formats that list the words of a column (`"m|f"`). Nothing
that a file refers to is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.json_entries import chosen, listed, table_of, text_in, written
from understudy.schema.codebooks.variable import CodedValue, ValueType, Variable

_WHOLE: Final = dict.fromkeys(("integer", "int", "long", "short", "byte", "gYear"), ("", "")) | {
    "nonNegativeInteger": ("0", ""),
    "unsignedLong": ("0", ""),
    "unsignedInt": ("0", ""),
    "unsignedShort": ("0", ""),
    "unsignedByte": ("0", ""),
    "positiveInteger": ("1", ""),
    "nonPositiveInteger": ("", "0"),
    "negativeInteger": ("", "-1"),
}
"""Datatypes of whole numbers, and the bound that follows from the word itself."""

_TEXT: Final = frozenset({"string", "normalizedString", "token", "language", "Name", "NMTOKEN"})
_REAL: Final = frozenset({"number", "decimal", "double", "float"})
_ANY: Final = frozenset({"any", "anyAtomicType"})
_WORDS: Final = re.compile(r"\^?\(?([^()\[\]{}*+?\\.^$]+)\)?\$?")


def is_csvw(content: Any) -> bool:
    """Whether JSON is metadata of CSV on the Web."""
    return isinstance(content, dict) and (
        "tableSchema" in content
        or isinstance(content.get("columns"), list)
        or (isinstance(content.get("tables"), list) and "csvw" in str(content.get("@context")))
    )


def title_of(content: Mapping[str, Any], table: str) -> str:
    """Title of the table, or of the group."""
    return text_in(content, "dc:title") or text_in(content, "title") or table


def variables(content: Mapping[str, Any], file: CodebookFile, table: str) -> Iterator[Variable]:
    """Variables of a table.

    Args:
        content: of the file.
        file: of the codebook.
        table: its `url`; "" for the only one.

    Raises:
        SchemaError: several tables and none named, or a schema that is not in this file.
    """
    described: Mapping[str, Any] = content
    if "columns" in content:
        described = {"tableSchema": content}
    elif "tableSchema" not in content:
        tables = listed(content, "tables", file)
        described = chosen(
            {text_in(one, "url") or f"table {k}": one for k, one in enumerate(tables, start=1)},
            table,
            file,
        )
    schema = described.get("tableSchema", content.get("tableSchema"))
    if isinstance(schema, str):
        file.refuse("the schema of its table stands in another file; give that file")
    schema = table_of(schema, "tableSchema", file)
    key = schema.get("primaryKey")
    key = key[0] if isinstance(key, list) and len(key) == 1 else key
    # Columns inherit what the schema, the table and the group say.
    above = {**content, **described, **schema}
    for one in listed(schema, "columns", file):
        if one.get("virtual") is not True:
            yield _variable(one, above, key)


def _variable(one: Mapping[str, Any], above: Mapping[str, Any], key: Any) -> Variable:
    datatype = one.get("datatype", above.get("datatype", "string"))
    form = {"base": datatype} if isinstance(datatype, str) else datatype
    form = form if isinstance(form, dict) else {}
    base = text_in(form, "base") or "string"
    value_type = _value_type(base)
    implied = _WHOLE.get(base, ("", ""))
    values = _words(form, value_type)
    required = one.get("required", above.get("required")) is True
    null = one.get("null", above.get("null", ""))
    absent = null if isinstance(null, list) else [null]
    codes = () if required else tuple(CodedValue(written(x), "", "missing") for x in absent)
    # The header of the file has the title; the name is for machines.
    title, name = text_in(one, "titles"), text_in(one, "name")
    return Variable(
        name=title or name,
        label=text_in(one, "dc:description") or text_in(one, "description"),
        value_type="text" if values else value_type,
        values=(*values, *codes),
        lower=_first(form, "minimum", "minInclusive", "minExclusive") or implied[0],
        upper=_first(form, "maximum", "maxInclusive", "maxExclusive") or implied[1],
        names_rows=key in (name or title, title or name),
    )


def _value_type(base: str) -> ValueType:
    if base in _WHOLE:
        return "integer"
    if base in _REAL:
        return "number"
    if base in _TEXT:
        return "text"
    if base in _ANY:
        return ""
    return "boolean" if base == "boolean" else "date" if base == "date" else "other"


def _first(form: Mapping[str, Any], *keys: str) -> str:
    return next((text for key in keys if (text := written(form.get(key)))), "")


def _words(form: Mapping[str, Any], value_type: ValueType) -> tuple[CodedValue, ...]:
    """Words of a format that is a mere list of them, such as "m|f" or "Y|N"."""
    found = _WORDS.fullmatch(text_in(form, "format"))
    words = found.group(1).split("|") if found else []
    if len(words) < 2 or value_type not in {"text", "boolean"}:
        return ()
    if value_type == "boolean" and {word.lower() for word in words} <= {"true", "false", "1", "0"}:
        return ()
    return tuple(CodedValue(word, word) for word in words)
