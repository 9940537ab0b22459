"""The columns of a release as a DDI codebook (DDI Codebook 2.5), from schema and manifest alone.

It holds no statistic, neither of the synthetic tables nor of anything else: names, labels, bounds,
codes, what says that a value is absent, and how the study was made. Of units with members it also
describes both tables of each set. They are record groups of a relational file: that of units names
that of members as its own, and each names the variable that holds its key.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from understudy._storage import NOT_REAL
from understudy.errors import escape_controls
from understudy.release.export_values import Category, Variable, has_numbers
from understudy.release.manifest import Manifest, citation
from understudy.release.shape import Fault
from understudy.schema import Schema

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
        _category(entry, one)
    text = kind == "identifier" or not (
        variable.is_numeric or kind == "boolean" or has_numbers(variable)
    )
    form = ET.SubElement(entry, "varFormat", type="character" if text else "numeric")
    if kind in _TIMES:
        form.set("category", _TIMES[kind])


def _category(entry: ET.Element, one: Category) -> None:
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
