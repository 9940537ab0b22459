"""Codebooks in JSON: Frictionless, CSVW, one object a column, and SDV.

**Frictionless: a Table Schema, or a Data Package whose resources have one.**

`enum`, `minimum` and `maximum` are constraints: statements of what is valid, which count as public.
Read beside them are names, titles, descriptions, types, `categories` with their labels and order,
`missingValues` (an empty cell, unless the schema says otherwise), keys and `unique`. A schema that
stands in a file of its own has to be given itself: nothing is fetched.

**CSVW: the metadata of CSV on the Web (W3C), of one table or a group of tables.**

Read are names, titles, descriptions, datatypes with their bounds (constraints: statements of what
is valid), `null`, `required`, keys, and formats that list the words of a column (`"m|f"`). Nothing
that a file refers to is fetched.

**JSON with one object a column: a `domain.json` beside a table, or a dictionary of codes.**

`domain.json`: `{column: {"type": "categorical", "levels": […]} or {"type": "numeric", "lower": …,
"upper": …, "integer": true}}`, with `labels` (level → words), `missing` (the level that says *not
known*), `nullable` (empty cells say so) and `basis`. Whatever has another basis than "documented"
may have been observed.

A dictionary of codes: `{column: {"description": …, "values": {code: label, "min": …, "max": …}}}`.
It does not say where a minimum and maximum come from, so they may have been observed.

**Metadata of SDV, the Synthetic Data Vault.**

Of one table (`SINGLE_TABLE_V1`), of several (`V1`), and of its versions before 1.0 (`fields`). They
say what a column is, and neither levels nor bounds, so most of a schema is asked for. Identifiers
and personal details (a `pii` column, or one of a kind such as `email`) are left out. Inequalities
among the constraints are relations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from understudy.metadata.source import (
    CodebookFile,
    choose_table,
    items,
    read_list,
    table_of,
    text_in,
    write_value,
)
from understudy.metadata.variables import ABSENCES, CodedValue, ValueType, Variable

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
    """Return whether JSON is a Table Schema or Data Package."""
    return isinstance(content, dict) and (
        isinstance(content.get("resources"), list) or isinstance(content.get("fields"), list)
    )


def frictionless_title(content: Mapping[str, Any], table: str) -> str:
    """Title of the package, or the table's."""
    return text_in(content, "title") or text_in(content, "name") or table


def frictionless_variables(
    content: Mapping[str, Any], file: CodebookFile, table: str
) -> Iterator[Variable]:
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
        resources = read_list(content, "resources", file)
        described = {
            text_in(one, "name") or f"resource {k}": one
            for k, one in enumerate(resources, start=1)
            if "schema" in one
        }
        schema = choose_table(described, table, file).get("schema")
        if isinstance(schema, str):
            file.refuse("the schema of its table stands in another file; give that file")
    schema = table_of(schema, "schema", file)
    keys = schema.get("primaryKey", ())
    keys = [keys] if isinstance(keys, str) else keys
    absent = _absent(schema.get("missingValues", [""]))
    for one in read_list(schema, "fields", file):
        yield _frictionless_variable(one, absent, names_rows=keys == [one.get("name")])


def _frictionless_variable(
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
        lower=write_value(limits.get("minimum"))
        or _next(limits, "exclusiveMinimum", value_type, 1),
        upper=write_value(limits.get("maximum"))
        or _next(limits, "exclusiveMaximum", value_type, -1),
        on_a_scale=False,
        ordered=one.get("categoriesOrdered") is True,
        unit=text_in(one, "unit"),
        names_rows=names_rows or limits.get("unique") is True,
    )


def _next(limits: Mapping[str, Any], key: str, value_type: ValueType, step: int) -> str:
    """An excluded bound: of whole numbers the next one, of others the bound itself."""
    value = limits.get(key)
    if value_type == "integer" and isinstance(value, int):
        return write_value(value + step)
    return write_value(value)


def _categories(one: Mapping[str, Any]) -> tuple[CodedValue, ...]:
    """Codes with their labels, in either way of writing them."""
    return tuple(
        CodedValue(
            write_value(item.get("value")), text_in(item, "label") or write_value(item.get("value"))
        )
        if isinstance(item, dict)
        else CodedValue(write_value(item), write_value(item))
        for item in items(one.get("categories"))
    )


def _bare(values: Any) -> tuple[CodedValue, ...]:
    """Codes of a closed list: their own labels."""
    return tuple(CodedValue(write_value(item), write_value(item)) for item in items(values))


def _words(one: Mapping[str, Any]) -> tuple[CodedValue, ...]:
    """The words of a truth value, where they are not those that everybody uses."""
    said = [*items(one.get("falseValues")), *items(one.get("trueValues"))]
    if {write_value(word).lower() for word in said} <= _TRUTHS:
        return ()
    return _bare(said)


def _absent(codes: Any) -> tuple[CodedValue, ...]:
    return tuple(
        CodedValue(
            write_value(item.get("value")),
            text_in(item, "label"),
            ABSENCES.get(text_in(item, "absence"), "missing"),
        )
        if isinstance(item, dict)
        else CodedValue(write_value(item), "", "missing")
        for item in items(codes)
    )


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
    """Return whether JSON is metadata of CSV on the Web."""
    return isinstance(content, dict) and (
        "tableSchema" in content
        or isinstance(content.get("columns"), list)
        or (isinstance(content.get("tables"), list) and "csvw" in str(content.get("@context")))
    )


def csvw_title(content: Mapping[str, Any], table: str) -> str:
    """Title of the table, or of the group."""
    return text_in(content, "dc:title") or text_in(content, "title") or table


def csvw_variables(
    content: Mapping[str, Any], file: CodebookFile, table: str
) -> Iterator[Variable]:
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
        tables = read_list(content, "tables", file)
        described = choose_table(
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
    for one in read_list(schema, "columns", file):
        if one.get("virtual") is not True:
            yield _csvw_variable(one, above, key)


def _csvw_variable(one: Mapping[str, Any], above: Mapping[str, Any], key: Any) -> Variable:
    datatype = one.get("datatype", above.get("datatype", "string"))
    form = {"base": datatype} if isinstance(datatype, str) else datatype
    form = form if isinstance(form, dict) else {}
    base = text_in(form, "base") or "string"
    value_type = _value_type(base)
    implied = _WHOLE.get(base, ("", ""))
    values = _csvw_words(form, value_type)
    required = one.get("required", above.get("required")) is True
    null = one.get("null", above.get("null", ""))
    absent = null if isinstance(null, list) else [null]
    codes = () if required else tuple(CodedValue(write_value(x), "", "missing") for x in absent)
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
    return next((text for key in keys if (text := write_value(form.get(key)))), "")


def _csvw_words(form: Mapping[str, Any], value_type: ValueType) -> tuple[CodedValue, ...]:
    """Words of a format that is a mere list of them, such as "m|f" or "Y|N"."""
    found = _WORDS.fullmatch(text_in(form, "format"))
    words = found.group(1).split("|") if found else []
    if len(words) < 2 or value_type not in {"text", "boolean"}:
        return ()
    if value_type == "boolean" and {word.lower() for word in words} <= {"true", "false", "1", "0"}:
        return ()
    return tuple(CodedValue(word, word) for word in words)


_ENDS: Final = ("min", "max")


def is_known(content: Any) -> bool:
    """Return whether JSON is of one of the two forms."""
    return _is_domain(content) or _each(
        content, lambda one: "description" in one or "values" in one
    )


def domain_variables(content: Mapping[str, Any], file: CodebookFile) -> Iterator[Variable]:
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
                write_value(level),
                write_value(labels.get(write_value(level))),
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
            lower=write_value(one.get("lower")),
            upper=write_value(one.get("upper")),
            bounds_maybe_observed=observed,
        )


def _of_dictionary(content: Mapping[str, Any], file: CodebookFile) -> Iterator[Variable]:
    for name, one in content.items():
        codes = table_of(one.get("values") or {}, "values", file)
        lower, upper = (write_value(codes.get(end)) for end in _ENDS)
        yield Variable(
            name=name,
            label=text_in(one, "description"),
            values=tuple(
                CodedValue(code, write_value(label) or code)
                for code, label in codes.items()
                if code not in _ENDS
            ),
            lower=lower,
            upper=upper,
            bounds_maybe_observed=bool(lower or upper),
        )


_SDV_TYPES: Final[Mapping[str, ValueType]] = {
    "numerical": "number",
    "categorical": "categories",
    "boolean": "boolean",
    "datetime": "other",
    "unknown": "",
}
_DETAIL: Final = "the metadata says that it is a personal detail or an identifier"


def is_sdv(content: Any) -> bool:
    """Return whether JSON is SDV's."""
    if not isinstance(content, dict):
        return False
    if "METADATA_SPEC_VERSION" in content:
        return True
    described = content.get("fields", content.get("tables", content.get("columns")))
    return isinstance(described, dict)


def sdv_variables(content: Mapping[str, Any], file: CodebookFile, table: str) -> Iterator[Variable]:
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
        one = choose_table(table_of(content["tables"], "tables", file), table, file)
    columns = table_of(one.get("columns", one.get("fields")), "columns", file)
    for name, column in columns.items():
        form = table_of(column, name, file)
        yield _sdv_variable(name, form, names_rows=name == one.get("primary_key"))


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
        choose_table(table_of(content["tables"], "tables", file), table, file)
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


def _sdv_variable(name: str, form: Mapping[str, Any], *, names_rows: bool) -> Variable:
    sdtype = text_in(form, "sdtype") or text_in(form, "type")
    whole = text_in(form, "computer_representation").startswith(("Int", "UInt"))
    whole |= text_in(form, "subtype") == "integer"
    time = "%H" in text_in(form, "datetime_format") or "%I" in text_in(form, "datetime_format")
    value_type = _SDV_TYPES.get(sdtype, "other")
    why_not = ""
    if sdtype == "datetime":
        value_type = "other" if time else "date"
    elif sdtype not in _SDV_TYPES or form.get("pii") is True:
        why_not = _DETAIL
    order = items(form.get("order"))
    return Variable(
        name=name,
        values=tuple(CodedValue(write_value(level), write_value(level)) for level in order),
        value_type="integer" if sdtype == "numerical" and whole else value_type,
        ordered=bool(order),
        names_rows=names_rows or sdtype == "id",
        why_not=why_not,
    )
