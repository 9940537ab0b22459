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

**The columns as a DDI codebook** (DDI Codebook 2.5).

It holds no statistic, neither of the synthetic tables nor of anything else: names, labels, bounds,
codes, what says that a value is absent, and how the study was made. Of units with members it also
describes both tables of each set. They are record groups of a relational file: that of units names
that of members as its own, and each names the variable that holds its key.
"""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from understudy import _storage
from understudy._storage import NOT_REAL
from understudy.errors import escape_controls
from understudy.release.decoding import dtype_of
from understudy.release.export_values import Category, Variable, has_numbers, variables
from understudy.release.households import FOLDER, linked_files, table_schemas
from understudy.release.manifest import Manifest, citation
from understudy.release.measurement import Measurement
from understudy.release.sets import part_names, part_sizes
from understudy.release.shape import Fault
from understudy.schema import Identifier, Schema
from understudy.schema.base import number_of, text_of

_SPACE: Final = "ddi:codebook:2_5"
_NO_CHARACTERS: Final = str.maketrans("\ufffe\uffff", "\ufffd\ufffd")
_NATURES = {
    **{"categorical": "nominal", "boolean": "nominal", "ordinal": "ordinal"},
    "identifier": "nominal",
}
_TIMES = {"date": "date", "datetime": "date", "time": "time"}

Told = list[tuple[str, str, list[tuple[str, str, str]]]]
"""Name and label of each variable; value, label and kind of absence of its categories."""


Tables = Mapping[str, Sequence[Variable]]
"""Columns of the table of units, and of that of their members, by the name of the table."""


def codebook_xml(
    manifest: Manifest, schema: Schema, columns: Sequence[Variable], linked: Tables | None = None
) -> str:
    """The codebook as XML text.

    Args:
        manifest: how the release was made.
        schema: what is public.
        columns: of the schema.
        linked: of both tables, units first, where the schema has members.
    """
    root = ET.Element("codeBook", {"xmlns": _SPACE, "version": "2.5"})
    _study(ET.SubElement(root, "stdyDscr"), manifest, schema)
    for k in range(1, manifest.sets + 1):
        file = ET.SubElement(root, "fileDscr", ID=f"F{k}")
        text = ET.SubElement(file, "fileTxt")
        _add(text, "fileName", f"synthetic/set-{k}")
        sizes = ET.SubElement(text, "dimensns")
        _add(sizes, "caseQnty", str(manifest.n_rows))
        _add(sizes, "varQnty", str(len(columns)))
        _add(text, "fileType", "Apache Parquet")
    described = [(columns, " ".join(f"F{k}" for k in range(1, manifest.sets + 1)))]
    described += _linked_files(root, manifest, schema, linked or {}, len(columns))
    data = ET.SubElement(root, "dataDscr")
    every = ((variable, files) for several, files in described for variable in several)
    for number, (variable, files) in enumerate(every, start=1):
        _variable(data, variable, number, files)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _linked_files(
    root: ET.Element, manifest: Manifest, schema: Schema, linked: Tables, before: int
) -> list[tuple[Sequence[Variable], str]]:
    """Describe the files of both tables; their columns, and the files that have them.

    Args:
        root: of the codebook.
        manifest: how the release was made.
        schema: of the wide table.
        linked: columns of both tables, units first.
        before: number of variables that are described before them.
    """
    described, key = [], schema.members.key if schema.members else ""
    for place, (name, columns) in enumerate(linked.items(), start=1):
        own = []
        at = next(k for k, one in enumerate(columns, start=before + 1) if one.name == key)
        for k in range(1, manifest.sets + 1):
            file = ET.SubElement(root, "fileDscr", ID=f"F{manifest.sets * place + k}")
            text = ET.SubElement(file, "fileTxt")
            _add(text, "fileName", f"linked/set-{k}-{name}")
            structure = ET.SubElement(text, "fileStrc", type="relational")
            group = {"ID": f"R{k}-{place}", "rectype": name, "keyvar": f"V{at}"}
            below = {"recGrp": f"R{k}-{place + 1}"} if place < len(linked) else {}
            _add(ET.SubElement(structure, "recGrp", group | below), "labl", name)
            sizes = ET.SubElement(text, "dimensns")
            if place == 1:
                _add(sizes, "caseQnty", str(manifest.n_rows))
            _add(sizes, "varQnty", str(len(columns)))
            _add(text, "fileType", "Apache Parquet")
            own.append(f"F{manifest.sets * place + k}")
        described.append((columns, " ".join(own)))
        before += len(columns)
    return described


def require_codebook(text: str, columns: Iterable[Variable]) -> None:
    """Refuse a codebook that says something else of the columns than their schema.

    Args:
        text: of the file.
        columns: of the release, and of its linked tables behind them.

    Raises:
        Fault: says what does not fit.
    """
    if "<!" in text:
        raise Fault("its codebook declares things that no codebook of a release does")
    try:
        told = _read_variables(ET.fromstring(text))  # noqa: S314 - no declarations, so no entities
    except ET.ParseError:
        raise Fault("its codebook is no XML") from None
    if told != _list_variables(columns):
        raise Fault("its codebook describes other columns than its schema")


def _study(study: ET.Element, manifest: Manifest, schema: Schema) -> None:
    cited = ET.SubElement(study, "citation")
    _add(ET.SubElement(cited, "titlStmt"), "titl", schema.heading)
    version = manifest.software.get("understudy", "")
    production = ET.SubElement(cited, "prodStmt")
    _add(production, "software", "Understudy", version=version)
    _add(cited, "biblCit", citation(manifest, schema))
    info = ET.SubElement(study, "stdyInfo")
    _add(info, "abstract", f"{NOT_REAL} {manifest.guarantee.statement}")
    _add(ET.SubElement(info, "sumDscr"), "dataKind", "synthetic microdata")
    method = ET.SubElement(study, "method")
    notes = f"Synthetic records, made with the method {manifest.method!r}."
    _add(method, "notes", notes)


def _variable(data: ET.Element, variable: Variable, number: int, files: str) -> None:
    kind = variable.column.kind
    entry = ET.SubElement(
        data,
        "var",
        ID=f"V{number}",
        name=_plain(variable.name),
        files=files,
        intrvl="contin" if kind == "continuous" else "discrete",
        nature=_NATURES.get(kind, "interval"),
    )
    if variable.decimals is not None:
        entry.set("dcml", str(variable.decimals))
    if variable.description:
        _add(entry, "labl", variable.description)
    if variable.bounds is not None:
        low, high = variable.bounds
        ET.SubElement(ET.SubElement(entry, "valrng"), "range", min=low, max=high)
    if variable.absent:
        invalid = ET.SubElement(entry, "invalrng")
        for one in variable.absent:
            ET.SubElement(invalid, "item", VALUE=_plain(one.text))
    if variable.rule:
        _add(entry, "txt", f"Computed by the rule {variable.rule}")
    for one in variable.categories:
        _ddi_category(entry, one)
    text = kind == "identifier" or not (
        variable.is_numeric or kind == "boolean" or has_numbers(variable)
    )
    form = ET.SubElement(entry, "varFormat", type="character" if text else "numeric")
    if kind in _TIMES:
        form.set("category", _TIMES[kind])


def _ddi_category(entry: ET.Element, one: Category) -> None:
    category = ET.SubElement(entry, "catgry")
    if one.absence:
        category.set("missing", "Y")
        category.set("missType", one.absence)
    _add(category, "catValu", one.text)
    if one.label:
        _add(category, "labl", one.label)


def _add(parent: ET.Element, name: str, text: str, **attributes: str) -> None:
    """An element with text."""
    ET.SubElement(parent, name, attributes).text = _plain(text)


def _plain(text: str) -> str:
    """A text without the signs that XML cannot hold."""
    return escape_controls(text).translate(_NO_CHARACTERS)


def _read_variables(root: ET.Element) -> Told:
    """Read what a codebook says of variables."""

    def text(entry: ET.Element, name: str) -> str:
        return entry.findtext(f"{{{_SPACE}}}{name}") or ""

    found: Told = []
    for entry in root.iter(f"{{{_SPACE}}}var"):
        categories = [
            (text(one, "catValu"), text(one, "labl"), one.get("missType", ""))
            for one in entry.iter(f"{{{_SPACE}}}catgry")
        ]
        found.append((entry.get("name", ""), text(entry, "labl"), categories))
    return found


def _list_variables(columns: Iterable[Variable]) -> Told:
    found: Told = []
    for variable in columns:
        categories = [
            (_plain(one.text), _plain(one.label), str(one.absence)) for one in variable.categories
        ]
        found.append((_plain(variable.name), _plain(variable.description), categories))
    return found


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
