"""A release in the formats that others read, from what is public alone.

* Rows: `.csv`, `.sav` and `.dta`, asked for by name (`release.tables`). What SPSS and Stata write
  as numbers, and which of these say that a value is absent, is worked out in
  `release.export_values`.
* What the columns are (`release.export_values`): a DDI codebook, a data package of Frictionless
  Data, and Croissant, which every release has (below).

**A release as a data package of Frictionless Data (version 2), from schema and manifest alone.**

The columns of all synthetic tables are described in one file beside it, a table schema. Tables of
units and of their members have a package of their own, in their folder, which says how they link.

**A release in the Croissant format (1.0) that catalogues of data sets read, from public facts.**

**The descriptions that every release has for programs: written, and held against its schema.**

All that they say follows from schema and manifest. Whoever changes a folder can make its checksums
fit again, and programs believe these files: so what they say of columns is compared when a release
is read. Releases of earlier versions have none.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from understudy import _storage
from understudy._storage import NOT_REAL
from understudy.release.ddi import codebook_xml, require_codebook
from understudy.release.decoding import dtype_of
from understudy.release.export_values import Category, Variable, variables
from understudy.release.households import FOLDER, linked_files, table_schemas
from understudy.release.manifest import Manifest, citation
from understudy.release.measurement import Measurement
from understudy.release.sets import part_names, part_sizes
from understudy.release.shape import Fault
from understudy.schema import Identifier, Schema
from understudy.schema.base import number_of, text_of

_PROFILE: Final = "https://datapackage.org/profiles/2.0/datapackage.json"
_TABLE_PROFILE: Final = "https://datapackage.org/profiles/2.0/tableschema.json"
_PARQUET: Final = {"format": "parquet", "mediatype": "application/vnd.apache.parquet"}
_CSV: Final = {"format": "csv", "mediatype": "text/csv", "encoding": "utf-8"}
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
        "title": schema.heading,
        "description": f"{NOT_REAL} {manifest.guarantee.statement}",
        "citation": citation(manifest, schema),
        "resources": [*rows, *noisy],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def linked_package(schema: Schema, n_sets: int, *, csv: bool = False) -> str:
    """The data package of both tables as JSON text: their columns, and the keys that link them.

    Args:
        schema: of the wide table.
        n_sets: number of synthetic sets.
        csv: whether it describes the same tables as CSV.
    """
    form, kind = schema.members, _CSV if csv else _PARQUET
    assert form is not None
    fields = {name: [_field(one) for one in own] for name, own in _linked_columns(schema).items()}
    resources = []
    for path, (k, name) in linked_files(schema, n_sets).items():
        own: dict[str, Any] = {"fields": fields[name]}
        if name == form.of:
            own["primaryKey"] = [form.key]
        else:
            reference = {"resource": f"set-{k + 1}-{form.of}".lower(), "fields": [form.key]}
            own["foreignKeys"] = [{"fields": [form.key], "reference": reference}]
        file = f"{Path(path).stem}.{kind['format']}"
        told = {"name": f"set-{k + 1}-{name}".lower(), "path": file}
        resources.append({**told, **kind, "schema": own})
    content = {
        "$schema": _PROFILE,
        "title": schema.heading,
        "resources": resources,
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _linked_columns(schema: Schema) -> dict[str, tuple[Variable, ...]]:
    """Columns of both tables by name, units first; {} of a flat schema."""
    forms = table_schemas(schema) if schema.members is not None else {}
    return {name: variables(form) for name, form in forms.items()}


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
        told = [_select_labels(field) for field in _storage.parse(text)["fields"]]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise Fault("its table schema is malformed") from None
    if told != [_select_labels(_field(one)) for one in columns]:
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
        described = [one["schema"] for one in _storage.parse(text)["resources"] if "schema" in one]
    except (ValueError, LookupError, TypeError):
        raise Fault("its data package is malformed") from None
    if described != [TABLE] * n_sets:
        raise Fault("its data package describes its tables elsewhere than it should")


def _select_labels(field: dict[str, Any]) -> dict[str, Any]:
    """Select from a field what it says of values and labels; tables tell bounds and types."""
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
            low, high = (_convert_text(text, field["type"]) for text in variable.bounds)
            field["constraints"] = {"minimum": low, "maximum": high}
    elif kind not in ("boolean", "identifier"):
        field["categories"] = [_category(one, field["type"]) for one in levels]
        field["categoriesOrdered"] = kind == "ordinal"
    if variable.absent:
        labels = [one.label for one in variable.absent]
        field["missingValues"] = [_missing_code(one, labels) for one in variable.absent]
    return field


def _type(levels: list[Category]) -> str:
    """Numbers, if all levels are told apart by them: "03" and "3" are two texts."""
    numbers = [number_of(one.text) for one in levels]
    if any(n is None or text_of(n) != one.text for n, one in zip(numbers, levels, strict=True)):
        return "string"
    return "integer" if all(number == int(number or 0) for number in numbers) else "number"


def _convert_text(text: str, kind: str) -> Any:
    if kind not in ("integer", "number"):
        return text
    number = number_of(text)
    assert number is not None
    return int(text) if kind == "integer" else number


def _category(one: Category, kind: str) -> dict[str, Any]:
    value = _convert_text(one.text, kind)
    return {"value": value, "label": one.label} if one.label else {"value": value}


def _missing_code(one: Category, labels: list[str]) -> dict[str, str]:
    """A code of absence, and its label where no other has it, as the format demands."""
    told = {"value": one.text, "absence": str(one.absence)}
    return told | ({"label": one.label} if labels.count(one.label) == 1 and one.label else {})


_MOST_LABELS: Final = 40
_CROISSANT_TYPES: Final[dict[type[pl.DataType], str]] = {
    pl.Int64: "sc:Integer",
    pl.Float64: "sc:Float",
    pl.Boolean: "sc:Boolean",
    pl.Date: "sc:Date",
    pl.Datetime: "sc:DateTime",
    pl.Time: "sc:Time",
}
_CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(
    manifest: Manifest,
    schema: Schema,
    columns: Sequence[Variable],
    checksums: Mapping[str, str],
) -> str:
    """The description as JSON-LD text.

    Args:
        manifest: how the release was made.
        schema: what is public.
        columns: of the schema.
        checksums: path of each file of synthetic rows → its SHA-256, as in the manifest.
    """
    title = schema.heading
    content = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": title,
        "description": f"{NOT_REAL} {manifest.guarantee.statement}",
        "citeAs": citation(manifest, schema),
        "distribution": [_file(path, checksum) for path, checksum in sorted(checksums.items())],
        "recordSet": [_records(path, columns) for path in sorted(checksums)],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def require_croissant(text: str, columns: Sequence[Variable], checksums: Mapping[str, str]) -> None:
    """Refuse a description of other files or columns than there are.

    Args:
        text: of the file.
        columns: of the release.
        checksums: path of each file of synthetic rows → its SHA-256, as in the manifest.

    Raises:
        Fault: says what does not fit.
    """
    try:
        content = _storage.parse(text)
        files = {one["contentUrl"]: f"sha256:{one['sha256']}" for one in content["distribution"]}
        told = [
            [(field["name"], field.get("description", "")) for field in records["field"]]
            for records in content["recordSet"]
        ]
    except (ValueError, LookupError, TypeError):
        raise Fault("its Croissant description is malformed") from None
    if files != dict(checksums):
        raise Fault("its Croissant description is of other files")
    expected = [(one.name, _words(one)) for one in columns if _has_type(one)]
    if any(fields != expected for fields in told):
        raise Fault("its Croissant description is of other columns than its schema")


def _file(path: str, checksum: str) -> dict[str, str]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "encodingFormat": "application/x-parquet",
        "sha256": checksum.removeprefix("sha256:"),
    }


def _records(path: str, columns: Sequence[Variable]) -> dict[str, Any]:
    place = path.removesuffix(".parquet").removeprefix("synthetic/")
    numbered = enumerate(columns, start=1)
    fields = [_croissant_field(one, k, path, place) for k, one in numbered if _has_type(one)]
    return {"@type": "cr:RecordSet", "@id": place, "name": place, "field": fields}


def _croissant_field(variable: Variable, number: int, path: str, place: str) -> dict[str, Any]:
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{place}/V{number}",
        "name": variable.name,
        "dataType": _croissant_type(variable),
        "source": {"fileObject": {"@id": path}, "extract": {"column": variable.name}},
    }
    if words := _words(variable):
        field["description"] = words
    return field


def _has_type(variable: Variable) -> bool:
    """Return whether the format has a type for a column: it has none for durations."""
    column = variable.column
    return isinstance(column, Identifier) or dtype_of(column) != pl.Duration


def _croissant_type(variable: Variable) -> str:
    """Type of what the files hold: of numbers with codes in words that is text."""
    column = variable.column
    if isinstance(column, Identifier):
        return "sc:Text"
    return _CROISSANT_TYPES.get(dtype_of(column).base_type(), "sc:Text")


def _words(variable: Variable) -> str:
    """Description, and what its values stand for."""
    labelled = [one for one in variable.categories if one.label or one.absence]
    told = [f"{one.text or '(empty)'} = {one.label or one.absence}" for one in labelled]
    more = ["…"] if len(told) > _MOST_LABELS else []
    parts = [variable.description, "; ".join([*told[:_MOST_LABELS], *more])]
    return ". ".join(part for part in parts if part)


CODEBOOK: Final = "codebook.xml"
PACKAGE: Final = "datapackage.json"
CROISSANT: Final = "croissant.json"
METADATA: Final = (CODEBOOK, PACKAGE, TABLE, CROISSANT)
LINKED: Final = f"{FOLDER}/{PACKAGE}"
"""What describes the tables of units and of members, of a schema that has both."""


def metadata_texts(
    manifest: Manifest,
    schema: Schema,
    measurements: tuple[Measurement, ...],
    checksums: Mapping[str, str],
    *,
    parted: bool,
) -> dict[str, str]:
    """Name → text of each description.

    Args:
        manifest: how the release was made.
        schema: what is public.
        measurements: that are released.
        checksums: path of each Parquet file of synthetic rows → its SHA-256.
        parted: whether the synthetic tables come in parts.
    """
    columns = variables(schema)
    linked = {LINKED: linked_package(schema, manifest.sets)} if schema.members else {}
    return {
        **linked,
        CODEBOOK: codebook_xml(manifest, schema, columns, _linked_columns(schema)),
        PACKAGE: data_package(manifest, schema, measurements, parted=parted),
        TABLE: table_schema(columns),
        CROISSANT: croissant(manifest, schema, columns, checksums),
    }


def require_metadata(folder: Path, files: Mapping[str, str], schema: Schema, n_sets: int) -> None:
    """Refuse descriptions that say something else of columns and files than the release does.

    Args:
        folder: of the release.
        files: path → checksum, as its manifest lists them.
        schema: of the release.
        n_sets: number of synthetic tables.

    Raises:
        Fault: says what does not fit.
    """
    texts = {
        name: (folder / name).read_text(encoding="utf-8") for name in METADATA if name in files
    }
    columns = variables(schema) if texts else ()
    if CODEBOOK in texts:
        several = _linked_columns(schema).values()
        require_codebook(texts[CODEBOOK], itertools.chain(columns, *several))
    if schema.members is not None:
        found = (folder / LINKED).read_text(encoding="utf-8")
        if found != linked_package(schema, n_sets):
            raise Fault("what describes the linked tables is not of this release")
    if PACKAGE in texts:
        require_data_package(texts[PACKAGE], n_sets)
    if TABLE in texts:
        require_table_schema(texts[TABLE], columns)
    if CROISSANT in texts:
        require_croissant(texts[CROISSANT], columns, row_files(files))


def row_files(files: Mapping[str, str]) -> dict[str, str]:
    """The files of synthetic rows in Parquet among all files."""
    return {
        name: checksum
        for name, checksum in files.items()
        if name.startswith("synthetic/") and name.endswith(".parquet")
    }
