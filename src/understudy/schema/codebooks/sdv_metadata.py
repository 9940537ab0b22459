"""Metadata of SDV, the Synthetic Data Vault.

Of one table (`SINGLE_TABLE_V1`), of several (`V1`), and of its versions before 1.0 (`fields`). They
say what a column is, and neither levels nor bounds, so most of a schema is asked for. Identifiers
and personal details (a `pii` column, or one of a kind such as `email`) are left out. Inequalities
among the constraints are relations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.json_entries import chosen, items, table_of, text_in, written
from understudy.schema.codebooks.variable import CodedValue, ValueType, Variable

_TYPES: Final[Mapping[str, ValueType]] = {
    "numerical": "number",
    "categorical": "categories",
    "boolean": "boolean",
    "datetime": "other",
    "unknown": "",
}
_DETAIL: Final = "the metadata says that it is a personal detail or an identifier"


def is_sdv(content: Any) -> bool:
    """Whether JSON is SDV's."""
    if not isinstance(content, dict):
        return False
    if "METADATA_SPEC_VERSION" in content:
        return True
    described = content.get("fields", content.get("tables", content.get("columns")))
    return isinstance(described, dict)


def variables(content: Mapping[str, Any], file: CodebookFile, table: str) -> Iterator[Variable]:
    """Variables of a table.

    Args:
        content: of the file.
        file: of the codebook.
        table: its name; "" for the only one.

    Raises:
        SchemaError: several tables and none named, or no columns.
    """
    one = content
    if "tables" in content:
        one = chosen(table_of(content["tables"], "tables", file), table, file)
    columns = table_of(one.get("columns", one.get("fields")), "columns", file)
    for name, column in columns.items():
        form = table_of(column, name, file)
        yield _variable(name, form, names_rows=name == one.get("primary_key"))


def inequalities(
    content: Mapping[str, Any], file: CodebookFile, table: str
) -> tuple[tuple[str, str, bool], ...]:
    """Inequalities among its `constraints`: smaller column, larger one, whether they must differ.

    Those of versions before 1.0 (`GreaterThan`, `low` and `high`) and later ones (`Inequality`).

    Args:
        content: of the file.
        file: of the codebook.
        table: its name; "" for the only one.
    """
    one = (
        chosen(table_of(content["tables"], "tables", file), table, file)
        if "tables" in content
        else content
    )
    said = one.get("constraints", content.get("constraints"))
    listed = [*said.values()] if isinstance(said, dict) else said if isinstance(said, list) else []
    found = []
    for entry in listed:
        if not isinstance(entry, dict):
            continue
        kind = str(entry.get("constraint_class") or entry.get("constraint") or "")
        inner = entry.get("constraint_parameters", entry.get("parameters", entry))
        if not kind.endswith(("Inequality", "GreaterThan")) or not isinstance(inner, dict):
            continue
        low = inner.get("low_column_name", inner.get("low"))
        high = inner.get("high_column_name", inner.get("high"))
        if isinstance(low, str) and isinstance(high, str):
            strict = inner.get("strict_boundaries", inner.get("strict", False))
            found.append((low, high, strict is True))
    return tuple(found)


def _variable(name: str, form: Mapping[str, Any], *, names_rows: bool) -> Variable:
    sdtype = text_in(form, "sdtype") or text_in(form, "type")
    whole = text_in(form, "computer_representation").startswith(("Int", "UInt"))
    whole |= text_in(form, "subtype") == "integer"
    time = "%H" in text_in(form, "datetime_format") or "%I" in text_in(form, "datetime_format")
    value_type = _TYPES.get(sdtype, "other")
    why_not = ""
    if sdtype == "datetime":
        value_type = "other" if time else "date"
    elif sdtype not in _TYPES or form.get("pii") is True:
        why_not = _DETAIL
    order = items(form.get("order"))
    return Variable(
        name=name,
        values=tuple(CodedValue(written(level), written(level)) for level in order),
        value_type="integer" if sdtype == "numerical" and whole else value_type,
        ordered=bool(order),
        names_rows=names_rows or sdtype == "id",
        why_not=why_not,
    )
