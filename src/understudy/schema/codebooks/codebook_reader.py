"""A codebook of any format that is read: which one it is, by its ending and by what is in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.arguments import require_text
from understudy.errors import SchemaError
from understudy.schema.codebooks import (
    csv_dictionary,
    csvw,
    ddi_cdi,
    ddi_codebook,
    ddi_lifecycle,
    domain_json,
    frictionless,
    label_sets,
    sdv_metadata,
)
from understudy.schema.codebooks.codebook import Codebook
from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.spss_syntax import SpssSyntax
from understudy.schema.codebooks.stata_syntax import StataSyntax
from understudy.schema.codebooks.variable import Variable
from understudy.schema.codebooks.xml_tree import Element, parsed
from understudy.schema.file_labels import is_statistical

_KNOWN = (
    "DDI (XML, JSON-LD), Frictionless, CSVW, SDV, domain.json or a dictionary of codes (JSON), a "
    "data dictionary (.csv, .tsv), SPSS or Stata syntax (.sps, .do), or a file of SPSS, Stata or "
    "SAS without rows"
)


def read_codebook(path: str | Path, table: str = "") -> Codebook:
    """Read a codebook: what is publicly said about the columns of a table. No row is read.

    Args:
        path: of the file, which must be another than that of the rows.
        table: which of several tables it describes: the name of a resource, data file or table.

    Raises:
        SchemaError: it cannot be read, is of no known format, or describes several tables and
            `table` says none of them.
        MethodError: the library for its format is not installed.
    """
    require_text("table", table, SchemaError, "people")
    file = CodebookFile.read(path)
    try:
        title, variables = _read(file, table)
        book = Codebook.of(title, file.name, variables)
        return replace(book, relations=_relations(file, table))
    except RecursionError:
        return file.refuse("it is nested too deeply; split it")


def _read(file: CodebookFile, table: str) -> tuple[str, Iterable[Variable]]:
    ending = file.path.suffix.lower()
    start = file.content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if is_statistical(file.path):
        labels = label_sets.labels_of(file)
        return labels.title, label_sets.variables(labels)
    if ending in {".sps", ".do"}:
        syntax = SpssSyntax(file) if ending == ".sps" else StataSyntax(file)
        return syntax.title, syntax.variables()
    if ending == ".xml" or start == b"<" or file.content[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return _from_xml(file, table)
    if ending in {".json", ".jsonld"} or start in {b"{", b"["}:
        return _from_json(file, file.json(), table)
    if ending in {".csv", ".tsv", ".txt"}:
        return "", csv_dictionary.variables(file)
    return file.refuse(f"its format is not known; those that are read: {_KNOWN}")


def _relations(file: CodebookFile, table: str) -> tuple[str, ...]:
    """Inequalities between columns that can be named in a rule."""
    if file.content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
        return ()
    content = file.json()
    if ddi_cdi.is_cdi(content) or csvw.is_csvw(content) or not sdv_metadata.is_sdv(content):
        return ()
    found = sdv_metadata.inequalities(content, file, table)
    return tuple(
        f"{low} {'<' if strict else '<='} {high}"
        for low, high, strict in dict.fromkeys(found)
        if low.isidentifier() and high.isidentifier() and low != high
    )


def _from_xml(file: CodebookFile, table: str) -> tuple[str, Iterable[Variable]]:
    skipped = ddi_codebook.STATISTICS | ddi_lifecycle.STATISTICS | ddi_cdi.STATISTICS
    root = parsed(file, skipped)
    if root.name == "codeBook":
        return ddi_codebook.title_of(root), ddi_codebook.variables(root, file, table)
    if _has(root, "DDICDIModels", "InstanceVariable"):
        content = ddi_cdi.CrossDomain(root, file, table)
        return content.title, content.variables()
    if _has(root, "Variable"):
        return ddi_lifecycle.title_of(root), ddi_lifecycle.variables(root, file, table)
    return file.refuse(
        f"it is XML with the root {root.name!r} and describes no variable in a way that is known; "
        f"what is read: {_KNOWN}"
    )


def _has(root: Element, *names: str) -> bool:
    return root.name in names or next(root.below(*names), None) is not None


def _from_json(file: CodebookFile, content: Any, table: str) -> tuple[str, Iterable[Variable]]:
    if ddi_cdi.is_cdi(content):
        found = ddi_cdi.CrossDomain(content, file, table)
        return found.title, found.variables()
    if csvw.is_csvw(content):
        return csvw.title_of(content, table), csvw.variables(content, file, table)
    if sdv_metadata.is_sdv(content):
        return table, sdv_metadata.variables(content, file, table)
    if frictionless.is_frictionless(content):
        return frictionless.title_of(content, table), frictionless.variables(content, file, table)
    if domain_json.is_known(content):
        return "", domain_json.variables(content, file)
    return file.refuse(f"it is JSON of a form that is not known; those that are read: {_KNOWN}")
