"""DDI Codebook 1.2 to 2.6: the XML that most archives and statistical offices publish.

Read are names, labels, formats, codes with their labels, codes of absence (`missing="Y"`, and
`missType` where it says that the question does not arise), ranges of these (`invalrng`), the order
of codes (`nature`) and whether numbers are continuous (`intrvl`). A range of valid values
(`valrng`) is mostly written by a program that looked at the rows, and so are codes without a label:
both are marked as maybe observed. How a variable was computed (`derivation`) is a rule
(`stated_rules`). Statistics and frequencies (`sumStat`, `catStat`) are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from understudy.schema.cell_values import number_of
from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.variable import ABSENCES, Absence, CodedValue, ValueType, Variable
from understudy.schema.codebooks.xml_tree import Element

STATISTICS: Final = frozenset({"sumStat", "catStat", "catgryGrp", "dataItem", "nCube"})
"""Elements that tell of the rows, and those that describe tables of totals."""

_DATES: Final = ("date", "datetime", "time")


def title_of(root: Element) -> str:
    """Title of the study."""
    return root.text_at("stdyDscr", "citation", "titlStmt", "titl") or root.text_at(
        "docDscr", "citation", "titlStmt", "titl"
    )


def variables(root: Element, file: CodebookFile, table: str) -> Iterator[Variable]:
    """Variables of a codebook.

    Args:
        root: the element `codeBook`.
        file: of the codebook.
        table: name or ID of the data file whose variables are meant; "" for all.

    Raises:
        SchemaError: the codebook describes no data file of that name.
    """
    wanted = _ids_of(root, file, table)
    for one in root.all("dataDscr", "var"):
        places = {place.get("fileid") for place in one.all("location")}
        if not wanted or wanted & {*one.get("files").split(), *places}:
            yield _variable(one)


def _ids_of(root: Element, file: CodebookFile, table: str) -> frozenset[str]:
    if not table:
        return frozenset()
    named = {
        text: one.get("ID") or text
        for one in root.all("fileDscr")
        for text in (one.text_at("fileTxt", "fileName"), one.get("ID"))
        if text
    }
    if table not in named:
        file.refuse(
            f"it describes no data file {table!r}; it has {', '.join(map(repr, named)) or 'none'}"
        )
    return frozenset({named[table]})


def _variable(one: Element) -> Variable:
    ranges = one.all("valrng", "range")
    lower, upper = _bound(ranges, "min"), _bound(ranges, "max")
    decimals = one.get("dcml")
    return Variable(
        name=one.get("name") or one.get("ID"),
        label=_own_label(one),
        value_type=_value_type(one, (lower, upper)),
        values=tuple(_values(one)),
        lower=lower,
        upper=upper,
        bounds_maybe_observed=bool(lower or upper),
        absent_ranges=tuple(
            (low.get("min") or low.get("minExclusive"), low.get("max") or low.get("maxExclusive"))
            for low in one.all("invalrng", "range")
        ),
        on_a_scale=one.get("intrvl") == "contin" or one.get("nature") in {"interval", "ratio"},
        in_categories=one.get("nature") in {"nominal", "ordinal"},
        ordered=one.get("nature") == "ordinal",
        decimals=min(int(decimals), 12) if decimals.isdecimal() and len(decimals) < 4 else None,
        unit=one.get("measUnit"),
        rules=tuple(_rules(one)),
    )


def _rules(one: Element) -> Iterator[str]:
    """How a variable was computed: the commands that say so, else the words."""
    for derivation in one.all("derivation"):
        commands = [command.text for command in derivation.all("drvcmd") if command.text]
        words = [said.whole_text for said in derivation.all("drvdesc") if said.whole_text]
        yield from commands or words


def _own_label(one: Element) -> str:
    """The label of a variable or code, in the language that comes first."""
    return next((text for label in one.all("labl") if (text := label.whole_text)), "")


def _bound(ranges: list[Element], end: str) -> str:
    """The outermost end of several ranges; "" if one of them is open."""
    texts = [one.get(end) or one.get(f"{end}Exclusive") for one in ranges]
    if not texts or not all(texts):
        return ""
    chosen = max if end == "max" else min
    return chosen(texts, key=lambda text: number_of(text) or 0.0)


def _value_type(one: Element, bounds: tuple[str, str]) -> ValueType:
    form = one.first("varFormat")
    if form is None:
        return ""
    if form.get("category") in _DATES:
        return "date" if form.get("category") == "date" else "other"
    if form.get("type") == "character":
        return "text"
    if form.get("type") != "numeric":
        return ""
    decimals = one.get("dcml")
    if decimals:
        return "integer" if decimals.strip("0") == "" else "number"
    whole = all(number is None or number == int(number) for number in map(number_of, bounds))
    return "integer" if whole and any(bounds) else "number"


def _values(one: Element) -> Iterator[CodedValue]:
    listed = set()
    for category in one.all("catgry"):
        code = category.first("catValu")
        absence = _absence(category)
        if code is None or not (code.text or absence):
            continue  # a heading over categories
        label = _own_label(category)
        listed.add(code.text)
        yield CodedValue(code.text, label, absence, maybe_observed=not (label or absence))
    for item in one.all("invalrng", "item"):
        if "VALUE" in item.attributes and item.get("VALUE") not in listed:
            yield CodedValue(item.get("VALUE"), "", "missing")


def _absence(category: Element) -> Absence:
    if category.get("missing").upper() not in {"Y", "YES", "TRUE", "1"}:
        return ""
    return ABSENCES.get(category.get("missType").lower(), "missing")
