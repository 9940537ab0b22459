"""DDI-CDI (Cross Domain Integration) as XML or JSON-LD, as far as files describe variables.

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

from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.json_entries import written
from understudy.schema.codebooks.variable import Absence, CodedValue, ValueType, Variable
from understudy.schema.codebooks.xml_tree import Element

STATISTICS: Final = frozenset(
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
    """Whether JSON is DDI-CDI: its context, or the name of its list, says so."""
    if not isinstance(content, dict) or not content.keys() & {"@graph", "DDICDIModels", "@type"}:
        return False
    context = str(content.get("@context")).lower()
    return "cdi" in context or "DDICDIModels" in content


class CrossDomain:
    """What a file of DDI-CDI says.

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
        domains = self._linked(node, "takesSubstantiveValuesFrom")
        about = [one for domain in domains for one in self._linked(domain, "isDescribedBy")]
        low = self._bound(about, "minimumValueInclusive", "minimumValueExclusive")
        high = self._bound(about, "maximumValueInclusive", "maximumValueExclusive")
        level = next(
            (text for one in about if (text := self._text(one, "classificationLevel"))), ""
        )
        absent = [
            CodedValue(value.text, value.label, "missing")
            for domain in self._linked(node, "takesSentinelValuesFrom")
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
        for codes in self._linked(domain, "takesValuesFrom"):
            listed = [
                code
                for one in (codes, *self._linked(codes, "references"))
                for key in ("has", "hasTopConcept", "member")
                for code in self._linked(one, key)
            ]
            for code in listed:
                text = self._text(code, "notation") or self._notation(code)
                label = self._text(code, "prefLabel")
                for category in self._linked(code, "denotes"):
                    label = label or self._text(category, "displayLabel", "name", "descriptiveText")
                if text:
                    yield CodedValue(text, label, absence, maybe_observed=not label)

    def _notation(self, code: _Node) -> str:
        return next(
            (
                text
                for one in self._linked(code, "uses")
                if (text := self._text(one, "content", "name"))
            ),
            self._text(code, "identifier") if not code.said.get("uses") else "",
        )

    def _bound(self, about: list[_Node], *keys: str) -> str:
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

    def _linked(self, node: _Node, key: str) -> list[_Node]:
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
            return written(item)
        if "@value" in item:
            return written(item["@value"])
        name = written(item.get("@id", item.get("id"))) or f"thing {len(self._nodes)}"
        kinds = item.get("@type", item.get("type", []))
        kinds = {written(kind).rpartition(":")[2] for kind in _many(kinds)}
        if kinds & STATISTICS:
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
