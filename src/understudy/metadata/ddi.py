"""DDI in three forms: Codebook, Lifecycle and Cross Domain Integration.

**DDI Codebook 1.2 to 2.6: the XML that most archives and statistical offices publish.**

Read are names, labels, formats, codes with their labels, codes of absence (`missing="Y"`, and
`missType` where it says that the question does not arise), ranges of these (`invalrng`), the order
of codes (`nature`) and whether numbers are continuous (`intrvl`). A range of valid values
(`valrng`) is mostly written by a program that looked at the rows, and so are codes without a label:
both are marked as maybe observed. How a variable was computed (`derivation`) is a rule
(`metadata.variables`). Statistics and frequencies (`sumStat`, `catStat`) are never read.

**DDI Lifecycle 3.1 to 3.3, as far as files describe variables: code lists, categories, ranges.**

A variable points to its code list, and that to its categories; both are looked up by identifier,
in this file alone. Codes of absence are categories with `isMissing`, those of a
`ManagedMissingValuesRepresentation`, and the texts of `missingValue`. Ranges of numbers may have
been observed, as those of DDI Codebook. Statistics are never read.

**DDI-CDI (Cross Domain Integration) as XML or JSON-LD, as far as files describe variables.**

An instance variable takes its substantive values from one domain and its sentinel values, the
codes of absence, from another; a domain has a list of codes (DDI-CDI's own, or a concept scheme of
SKOS) or a description with a minimum and maximum, which may have been observed. Data points and
statistics are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.metadata.source import CodebookFile, Element, write_value
from understudy.metadata.variables import ABSENCES, Absence, CodedValue, ValueType, Variable
from understudy.schema.base import number_of

CODEBOOK_STATISTICS: Final = frozenset({"sumStat", "catStat", "catgryGrp", "dataItem", "nCube"})
"""Elements that tell of the rows, and those that describe tables of totals."""

_DATES: Final = ("date", "datetime", "time")


def codebook_title(root: Element) -> str:
    """Title of the study."""
    return root.text_at("stdyDscr", "citation", "titlStmt", "titl") or root.text_at(
        "docDscr", "citation", "titlStmt", "titl"
    )


def codebook_variables(root: Element, file: CodebookFile, table: str) -> Iterator[Variable]:
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
    lower, upper = _find_bound(ranges, "min"), _find_bound(ranges, "max")
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
    """List how a variable was computed: the commands that say so, else the words."""
    for derivation in one.all("derivation"):
        commands = [command.text for command in derivation.all("drvcmd") if command.text]
        words = [said.whole_text for said in derivation.all("drvdesc") if said.whole_text]
        yield from commands or words


def _own_label(one: Element) -> str:
    """The label of a variable or code, in the language that comes first."""
    return next((text for label in one.all("labl") if (text := label.whole_text)), "")


def _find_bound(ranges: list[Element], end: str) -> str:
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


LIFECYCLE_STATISTICS: Final = frozenset(
    {
        *("VariableStatistics", "SummaryStatistic", "CategoryStatistic", "CategoryStatistics"),
        *("PhysicalInstance", "RecordSet", "DataSet"),
    }
)
"""Elements that tell of the rows."""

_LISTS: Final = ("CodeList", "CodeScheme")
_MANAGED: Final = (
    *("ManagedNumericRepresentation", "ManagedTextRepresentation"),
    *("ManagedDateTimeRepresentation", "ManagedMissingValuesRepresentation"),
    "RepresentedVariable",
)
_WHOLE: Final = ("integer", "int", "long", "short", "count")


def lifecycle_title(root: Element) -> str:
    """Title of the study unit, or of the first thing that has one."""
    for one in root.below("StudyUnit", "DDIInstance", "PhysicalInstance"):
        if title := one.text_at("Citation", "Title", "String") or one.text_at("Citation", "Title"):
            return title
    return root.text_at("Citation", "Title")


def lifecycle_variables(root: Element, file: CodebookFile, table: str) -> Iterator[Variable]:
    """Variables, in the order of the file.

    Args:
        root: of the file.
        file: of the codebook.
        table: must be "", since variables here belong to no one table.

    Raises:
        SchemaError: a table is asked for, or a code list is pointed to that the file lacks.
    """
    if table:
        file.refuse("it does not say which variables belong to which table; leave `table` out")
    known = _Items(root, file)
    for one in root.below("Variable"):
        yield known.variable(one)


class _Items:
    """Items that can be pointed to, by identifier.

    Args:
        root: of the file.
        file: of the codebook.
    """

    def __init__(self, root: Element, file: CodebookFile) -> None:
        self._file = file
        self._named: dict[str, Element] = {}
        for one in root.below(*_LISTS, "Category", "GenerationInstruction", *_MANAGED):
            for key in _keys(one):
                self._named.setdefault(key, one)

    def variable(self, one: Element) -> Variable:
        """The variable that an element describes."""
        form = one.first("VariableRepresentation") or one.first("Representation")
        if form is None and (above := one.first("RepresentedVariableReference")) is not None:
            form = self._at(above)
        name = (
            one.text_at("VariableName", "String")
            or one.text_at("VariableName")
            or one.text_at("Name")
        )
        unit = "" if form is None else form.text_at("MeasurementUnit")
        said = self._find_representation(form)
        level = "" if said is None else said.get("classificationLevel")
        decimals = "" if said is None else said.get("decimalPositions")
        low, high = _range(said)
        return Variable(
            name=name or one.text_at("ID") or one.get("id"),
            label=_label(one),
            value_type=_lifecycle_value_type(said, decimals, (low, high)),
            values=tuple(self._values(form, said)),
            lower=low,
            upper=high,
            bounds_maybe_observed=bool(low or high),
            on_a_scale=level in {"Interval", "Ratio", "Continuous"},
            in_categories=level in {"Nominal", "Ordinal"},
            ordered=level == "Ordinal",
            decimals=int(decimals) if decimals.isdecimal() and len(decimals) < 3 else None,
            unit=unit,
            rules=tuple(self._rules(one, form)),
        )

    def _rules(self, one: Element, form: Element | None) -> Iterator[str]:
        """List how a variable was computed: commands of its generation instructions, else words."""
        processing = [*one.below("ProcessingInstructionReference", "GenerationInstruction")]
        inside = () if form is None else form.below("ProcessingInstructionReference")
        for place in {id(found): found for found in (*processing, *inside)}.values():
            own = place if place.name == "GenerationInstruction" else self._instruction(place)
            commands = [found.text for found in own.below("CommandContent") if found.text]
            words = [text for text in (own.text_at("Description"), _label(own)) if text]
            yield from commands or words[:1]

    def _instruction(self, place: Element) -> Element:
        """Return what is pointed to; the pointer itself where it leads out of the file."""
        return next((self._named[key] for key in _keys(place) if key in self._named), place)

    def _find_representation(self, form: Element | None) -> Element | None:
        """The representation itself, which may stand elsewhere."""
        for one in () if form is None else form.children:
            if one.name.endswith("RepresentationReference"):
                return self._at(one)
            if one.name.endswith("Representation"):
                return one
        return None

    def _values(self, form: Element | None, said: Element | None) -> Iterator[CodedValue]:
        if said is None or form is None:
            return
        if said.name == "CodeRepresentation":
            yield from self._codes(said)
        texts = [*said.get("missingValue").split(), *form.get("missingValue").split()]
        for text in dict.fromkeys(texts):
            yield CodedValue(text, "", "missing")
        if "true" in {said.get("blankIsMissingValue"), form.get("blankIsMissingValue")}:
            yield CodedValue("", "", "missing")
        for place in form.all("MissingValuesReference"):
            for one in self._at(place).below("MissingCodeRepresentation"):
                for value in self._codes(one):
                    yield CodedValue(value.text, value.label, "missing")

    def _codes(self, said: Element) -> Iterator[CodedValue]:
        for place in (*said.all("CodeListReference"), *said.all("CodeSchemeReference")):
            for code in self._at(place).below("Code"):
                pointer = code.first("CategoryReference")
                category = self._at(pointer) if pointer is not None else code
                label = _label(category) or category.text_at("CategoryName", "String")
                absent = category.get("isMissing").lower() in {"true", "1"} or category.get(
                    "missing"
                ).lower() in {"true", "1"}
                text = code.text_at("Value")
                yield CodedValue(text, label, "missing" if absent else "", maybe_observed=not label)

    def _at(self, place: Element) -> Element:
        for key in _keys(place):
            if key in self._named:
                return self._named[key]
        return self._file.refuse(
            f"{place.name} points to something that does not stand in this file; add it",
            place.line,
        )


def _keys(one: Element) -> list[str]:
    """Identifiers of an element, or of what it points to; with and without a version."""
    urn, name, agency = (
        one.text_at("URN"),
        one.text_at("ID") or one.get("id"),
        one.text_at("Agency"),
    )
    parts = [part for part in (agency, name) if part]
    canonical = [":".join(parts)] if len(parts) == 2 else []
    if urn.lower().startswith("urn:ddi:"):
        pieces = urn[len("urn:ddi:") :].split(":")
        canonical += [":".join(pieces[:2])]
    return [key for key in (urn, *canonical, name) if key]


def _label(one: Element) -> str:
    return one.text_at("Label", "Content") or one.text_at("Label")


def _range(said: Element | None) -> tuple[str, str]:
    if said is None:
        return "", ""
    places = [*said.all("NumberRange"), *said.all("NumericRange")]
    ends = [
        [text for one in places if (text := one.text_at(end) or one.text_at(longer))]
        for end, longer in (("Low", "LowCode"), ("High", "HighCode"))
    ]
    low = min(ends[0], key=lambda text: number_of(text) or 0.0, default="")
    high = max(ends[1], key=lambda text: number_of(text) or 0.0, default="")
    return low, high


def _lifecycle_value_type(said: Element | None, decimals: str, ends: tuple[str, str]) -> ValueType:
    name = "" if said is None else said.name.removeprefix("Managed")
    if said is None or name == "CodeRepresentation":
        return ""
    if name == "TextRepresentation":
        return "text"
    if name == "DateTimeRepresentation":
        kind = (said.text_at("DateTypeCode") or said.get("type")).lower()
        return "date" if kind == "date" else "other"
    if name != "NumericRepresentation":
        return "other"
    kind = (said.text_at("NumericTypeCode") or said.get("type")).lower()
    if kind in _WHOLE or decimals == "0":
        return "integer"
    whole = all(number is None or number == int(number) for number in map(number_of, ends))
    return "integer" if not kind and not decimals and any(ends) and whole else "number"


CDI_STATISTICS: Final = frozenset(
    {
        *("DataPoint", "Datum", "InstanceValue", "DataPointPosition", "Key", "KeyMember"),
        *(
            "Statistic",
            "Statistics",
            "CategoryStatistic",
            "CategoryStatistics",
            "StatisticsCollection",
        ),
    }
)
"""Classes that hold the rows, or tell of them."""

_PROPERTY: Final = re.compile(r"(?:[A-Z]\w*?_)?([a-z]\w*?)(?:_[A-Z]\w*)?")
_TYPES: Final[dict[str, ValueType]] = {
    **dict.fromkeys(("integer", "int", "long", "short", "nonNegativeInteger"), "integer"),
    **dict.fromkeys(("decimal", "double", "float", "numeric", "real", "number"), "number"),
    **dict.fromkeys(("string", "text", "character"), "text"),
    **dict.fromkeys(("datetime", "time"), "other"),
    "boolean": "boolean",
    "date": "date",
}


_TEXTS: Final = ("name", "entryValue", "content", "locationVariant", "languageSpecificString")
_DEEPEST = 5  # things that stand between a property and its text


@dataclass
class _Node:
    """One thing of the file.

    Attributes:
        kinds: its classes.
        said: property → texts, or identifiers of other things.
    """

    kinds: set[str] = field(default_factory=set)
    said: dict[str, list[str]] = field(default_factory=dict)


def is_cdi(content: Any) -> bool:
    """Return whether JSON is DDI-CDI: its context, or the name of its list, says so."""
    if not isinstance(content, dict) or not content.keys() & {"@graph", "DDICDIModels", "@type"}:
        return False
    context = str(content.get("@context")).lower()
    return "cdi" in context or "DDICDIModels" in content


class CrossDomain:
    """The content of a file of DDI-CDI.

    Args:
        content: the root of the XML, or the content of the JSON.
        file: of the codebook.
        table: must be "", since variables here belong to no one table.

    Raises:
        SchemaError: a table is asked for.
    """

    def __init__(self, content: Element | dict[str, Any], file: CodebookFile, table: str) -> None:
        if table:
            file.refuse("it does not say which variables belong to which table; leave `table` out")
        self._nodes: dict[str, _Node] = {}
        if isinstance(content, Element):
            for one in (
                content.below("DDICDIModels") if content.name != "DDICDIModels" else [content]
            ):
                for child in one.children:
                    self._take_element(child)
        else:
            graph = content.get("@graph", content.get("DDICDIModels", [content]))
            for item in graph if isinstance(graph, list) else [graph]:
                self._take_json(item)

    @property
    def title(self) -> str:
        """Title of the data set, if it has one."""
        for node in self._nodes.values():
            if any(kind.endswith("DataSet") for kind in node.kinds):
                return self._text(node, "name") or self._text(node, "title")
        return ""

    def variables(self) -> Iterator[Variable]:
        """The variables, in the order of the file."""
        for node in list(self._nodes.values()):
            if "InstanceVariable" in node.kinds:
                yield self._variable(node)

    def _variable(self, node: _Node) -> Variable:
        domains = self._find_linked(node, "takesSubstantiveValuesFrom")
        about = [one for domain in domains for one in self._find_linked(domain, "isDescribedBy")]
        low = self._find_bound(about, "minimumValueInclusive", "minimumValueExclusive")
        high = self._find_bound(about, "maximumValueInclusive", "maximumValueExclusive")
        level = next(
            (text for one in about if (text := self._text(one, "classificationLevel"))), ""
        )
        absent = [
            CodedValue(value.text, value.label, "missing")
            for domain in self._find_linked(node, "takesSentinelValuesFrom")
            for value in self._codes(domain, "missing")
        ]
        gone = {value.text for value in absent}
        proper = [
            value
            for domain in domains
            for value in self._codes(domain, "")
            if value.text not in gone
        ]
        return Variable(
            name=self._text(node, "name"),
            label=self._text(node, "displayLabel"),
            value_type="" if proper else self._value_type(node, domains),
            values=(*proper, *absent),
            lower=low,
            upper=high,
            bounds_maybe_observed=bool(low or high),
            on_a_scale=level in {"Interval", "Ratio", "Continuous"},
            in_categories=level in {"Nominal", "Ordinal"},
            ordered=level == "Ordinal",
            unit=self._text(node, "simpleUnitOfMeasure"),
        )

    def _codes(self, domain: _Node, absence: Absence) -> Iterator[CodedValue]:
        for codes in self._find_linked(domain, "takesValuesFrom"):
            listed = [
                code
                for one in (codes, *self._find_linked(codes, "references"))
                for key in ("has", "hasTopConcept", "member")
                for code in self._find_linked(one, key)
            ]
            for code in listed:
                text = self._text(code, "notation") or self._notation(code)
                label = self._text(code, "prefLabel")
                for category in self._find_linked(code, "denotes"):
                    label = label or self._text(category, "displayLabel", "name", "descriptiveText")
                if text:
                    yield CodedValue(text, label, absence, maybe_observed=not label)

    def _notation(self, code: _Node) -> str:
        return next(
            (
                text
                for one in self._find_linked(code, "uses")
                if (text := self._text(one, "content", "name"))
            ),
            self._text(code, "identifier") if not code.said.get("uses") else "",
        )

    def _find_bound(self, about: list[_Node], *keys: str) -> str:
        return next((text for one in about for key in keys if (text := self._text(one, key))), "")

    def _value_type(self, node: _Node, domains: list[_Node]) -> ValueType:
        texts = [self._text(one, "recommendedDataType") for one in domains]
        texts += [self._text(node, "hasIntendedDataType"), self._text(node, "physicalDataType")]
        for text in texts:
            word = re.split(r"[#/:]", text)[-1]
            for name in (word, word.lower()):
                if name in _TYPES:
                    return _TYPES[name]
        return ""

    def _find_linked(self, node: _Node, key: str) -> list[_Node]:
        """Things that a property points to and that stand in this file."""
        return [self._nodes[name] for name in node.said.get(key, ()) if name in self._nodes]

    def _text(self, node: _Node, *keys: str, depth: int = 0) -> str:
        """The first text of some properties; where it points to a thing with one, that thing's."""
        for key in keys:
            for text in node.said.get(key, ()):
                inside = self._nodes.get(text)
                if inside is None:
                    return text
                if depth < _DEEPEST and (found := self._text(inside, *_TEXTS, depth=depth + 1)):
                    return found
        return ""

    def _take_element(self, one: Element) -> None:
        name = one.text_at("identifier", "ddiIdentifier", "dataIdentifier") or f"line {one.line}"
        node = self._nodes.setdefault(name, _Node())
        node.kinds.add(one.name)
        for child in one.children:
            link = child.text_at("ddiReference", "dataIdentifier")
            node.said.setdefault(_plain(child.name), []).append(link or child.whole_text)

    def _take_json(self, item: Any) -> str:
        """Note a thing and those inside; returns its identifier."""
        if not isinstance(item, dict):
            return write_value(item)
        if "@value" in item:
            return write_value(item["@value"])
        name = write_value(item.get("@id", item.get("id"))) or f"thing {len(self._nodes)}"
        kinds = item.get("@type", item.get("type", []))
        kinds = {write_value(kind).rpartition(":")[2] for kind in _many(kinds)}
        if kinds & CDI_STATISTICS:
            return name
        if item.keys() <= {"@id"}:
            return name
        node = self._nodes.setdefault(name, _Node())
        node.kinds |= kinds
        for key, value in item.items():
            if key not in {"@id", "@type", "id", "type", "@context"}:
                texts = [text for one in _many(value) if (text := self._take_json(one))]
                node.said.setdefault(_plain(key), []).extend(texts)
        return name


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _plain(name: str) -> str:
    """A property without namespace, and without the classes that it stands between."""
    bare = name.rpartition(":")[2]
    found = _PROPERTY.fullmatch(bare)
    return found.group(1) if found else bare
