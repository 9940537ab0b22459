"""A release as a data package of Frictionless Data (version 2), from schema and manifest alone.

The columns of all synthetic tables are described in one file beside it, a table schema.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from understudy import strict_json
from understudy.release.citation import citation
from understudy.release.exports.variable_facts import Category, Variable
from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement
from understudy.release.shape import Fault
from understudy.release.synthetic_sets import part_names, part_sizes
from understudy.schema import Schema
from understudy.schema.cell_values import number_of, text_of

_PROFILE: Final = "https://datapackage.org/profiles/2.0/datapackage.json"
_TABLE_PROFILE: Final = "https://datapackage.org/profiles/2.0/tableschema.json"
_PARQUET: Final = {"format": "parquet", "mediatype": "application/vnd.apache.parquet"}
TABLE: Final = "tableschema.json"
"""Name of the file that describes the columns."""
_TYPES = {
    **{"integer": "integer", "continuous": "number", "boolean": "boolean", "identifier": "string"},
    **{kind: kind for kind in ("date", "datetime", "time", "duration")},
}


def data_package(
    manifest: Manifest,
    schema: Schema,
    measurements: tuple[Measurement, ...],
    *,
    parted: bool,
) -> str:
    """The data package as JSON text.

    Args:
        manifest: how the release was made.
        schema: what is public.
        measurements: that are released.
        parted: whether the synthetic tables come in parts.
    """
    parts = part_names(len(part_sizes(manifest.n_rows))) if parted else []
    sets = [f"synthetic/set-{k}" for k in range(1, manifest.sets + 1)]
    rows = [
        {
            "name": place.rpartition("/")[2],
            "path": [f"{place}/{part}" for part in parts] or f"{place}.parquet",
            "title": "Synthetic records",
            **_PARQUET,
            "schema": TABLE,
        }
        for place in sets
    ]
    noisy = [
        {
            "name": f"noisy-{one.name.lower()}",
            "path": f"noisy/{one.name}.parquet",
            "title": "Noisy measurement",
            **_PARQUET,
        }
        for one in measurements
        if one.name
    ]
    content = {
        "$schema": _PROFILE,
        "title": schema.title or "Synthetic data release",
        "description": f"Synthetic microdata. {manifest.guarantee.statement}",
        "citation": citation(manifest, schema),
        "resources": [*rows, *noisy],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def table_schema(columns: Sequence[Variable]) -> str:
    """The columns of the synthetic tables as JSON text, one to a line."""
    fields = [json.dumps(one, ensure_ascii=False, allow_nan=False) for one in map(_field, columns)]
    lines = ",\n  ".join(fields)
    return f'{{\n "$schema": "{_TABLE_PROFILE}",\n "fields": [\n  {lines}\n ]\n}}\n'


def require_table_schema(text: str, columns: Sequence[Variable]) -> None:
    """Refuse a table schema that says something else of the columns than their schema.

    Args:
        text: of the file.
        columns: of the release.

    Raises:
        Fault: says what does not fit.
    """
    try:
        told = [_said(field) for field in strict_json.parse(text)["fields"]]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise Fault("its table schema is malformed") from None
    if told != [_said(_field(one)) for one in columns]:
        raise Fault("its table schema describes other columns than its schema")


def require_data_package(text: str, n_sets: int) -> None:
    """Refuse a data package that describes the synthetic tables in another way.

    Args:
        text: of the file.
        n_sets: number of synthetic tables.

    Raises:
        Fault: says what does not fit.
    """
    try:
        described = [
            one["schema"] for one in strict_json.parse(text)["resources"] if "schema" in one
        ]
    except (ValueError, LookupError, TypeError):
        raise Fault("its data package is malformed") from None
    if described != [TABLE] * n_sets:
        raise Fault("its data package describes its tables elsewhere than it should")


def _said(field: dict[str, Any]) -> dict[str, Any]:
    """What a field says of values and labels; bounds and types are told by the tables."""
    return {
        name: field.get(name) for name in ("name", "description", "categories", "missingValues")
    }


def _field(variable: Variable) -> dict[str, Any]:
    kind = variable.column.kind
    levels = [one for one in variable.levels if one.text]
    field: dict[str, Any] = {
        "name": variable.name,
        "type": _TYPES.get(kind, _type(levels)),
        "kind": kind,
    }
    if variable.description:
        field["description"] = variable.description
    if variable.rule:
        field["derived"] = variable.rule
    if variable.bounds is not None:
        codes = any(one.text for one in variable.absent)  # which lie beyond the bounds
        if not codes and kind != "duration":  # whose size the format does not compare
            low, high = (_typed(text, field["type"]) for text in variable.bounds)
            field["constraints"] = {"minimum": low, "maximum": high}
    elif kind not in ("boolean", "identifier"):
        field["categories"] = [_category(one, field["type"]) for one in levels]
        field["categoriesOrdered"] = kind == "ordinal"
    if variable.absent:
        labels = [one.label for one in variable.absent]
        field["missingValues"] = [_missing(one, labels) for one in variable.absent]
    return field


def _type(levels: list[Category]) -> str:
    """Numbers, if all levels are told apart by them: "03" and "3" are two texts."""
    numbers = [number_of(one.text) for one in levels]
    if any(n is None or text_of(n) != one.text for n, one in zip(numbers, levels, strict=True)):
        return "string"
    return "integer" if all(number == int(number or 0) for number in numbers) else "number"


def _typed(text: str, kind: str) -> Any:
    if kind not in ("integer", "number"):
        return text
    number = number_of(text)
    assert number is not None
    return int(text) if kind == "integer" else number


def _category(one: Category, kind: str) -> dict[str, Any]:
    value = _typed(one.text, kind)
    return {"value": value, "label": one.label} if one.label else {"value": value}


def _missing(one: Category, labels: list[str]) -> dict[str, str]:
    """A code of absence, and its label where no other has it, as the format demands."""
    told = {"value": one.text, "absence": str(one.absence)}
    return told | ({"label": one.label} if labels.count(one.label) == 1 and one.label else {})
