"""A release in the Croissant format (1.0) that catalogues of data sets read, from public facts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from understudy import strict_json
from understudy.release.citation import citation
from understudy.release.decoding import dtype_of
from understudy.release.exports.variable_facts import Variable
from understudy.release.manifest import Manifest
from understudy.release.shape import Fault
from understudy.schema import Identifier, Schema

_MOST_LABELS: Final = 40
_TYPES: Final[dict[type[pl.DataType], str]] = {
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
    title = schema.title or "Synthetic data release"
    content = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": title,
        "description": f"Synthetic microdata. {manifest.guarantee.statement}",
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
        content = strict_json.parse(text)
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
    fields = [_field(one, k, path, place) for k, one in numbered if _has_type(one)]
    return {"@type": "cr:RecordSet", "@id": place, "name": place, "field": fields}


def _field(variable: Variable, number: int, path: str, place: str) -> dict[str, Any]:
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{place}/V{number}",
        "name": variable.name,
        "dataType": _type(variable),
        "source": {"fileObject": {"@id": path}, "extract": {"column": variable.name}},
    }
    if words := _words(variable):
        field["description"] = words
    return field


def _has_type(variable: Variable) -> bool:
    """Whether the format has a type for a column: it has none for durations."""
    column = variable.column
    return isinstance(column, Identifier) or dtype_of(column) != pl.Duration


def _type(variable: Variable) -> str:
    """Type of what the files hold: of numbers with codes in words that is text."""
    column = variable.column
    if isinstance(column, Identifier):
        return "sc:Text"
    return _TYPES.get(dtype_of(column).base_type(), "sc:Text")


def _words(variable: Variable) -> str:
    """Description, and what its values stand for."""
    labelled = [one for one in variable.categories if one.label or one.absence]
    told = [f"{one.text or '(empty)'} = {one.label or one.absence}" for one in labelled]
    more = ["…"] * (len(told) > _MOST_LABELS)
    parts = [variable.description, "; ".join([*told[:_MOST_LABELS], *more])]
    return ". ".join(part for part in parts if part)
