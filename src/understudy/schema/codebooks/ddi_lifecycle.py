"""DDI Lifecycle 3.1 to 3.3, as far as files describe variables: code lists, categories, ranges.

A variable points to its code list, and that to its categories; both are looked up by identifier,
in this file alone. Codes of absence are categories with `isMissing`, those of a
`ManagedMissingValuesRepresentation`, and the texts of `missingValue`. Ranges of numbers may have
been observed, as those of DDI Codebook. Statistics are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from understudy.schema.cell_values import number_of
from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.variable import CodedValue, ValueType, Variable
from understudy.schema.codebooks.xml_tree import Element

STATISTICS: Final = frozenset(
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


def title_of(root: Element) -> str:
    """Title of the study unit, or of the first thing that has one."""
    for one in root.below("StudyUnit", "DDIInstance", "PhysicalInstance"):
        if title := one.text_at("Citation", "Title", "String") or one.text_at("Citation", "Title"):
            return title
    return root.text_at("Citation", "Title")


def variables(root: Element, file: CodebookFile, table: str) -> Iterator[Variable]:
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
    """What can be pointed to, by identifier.

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
        said = self._said(form)
        level = "" if said is None else said.get("classificationLevel")
        decimals = "" if said is None else said.get("decimalPositions")
        low, high = _range(said)
        return Variable(
            name=name or one.text_at("ID") or one.get("id"),
            label=_label(one),
            value_type=_value_type(said, decimals, (low, high)),
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
        """How a variable was computed: the commands of its generation instructions, else words."""
        processing = [*one.below("ProcessingInstructionReference", "GenerationInstruction")]
        inside = () if form is None else form.below("ProcessingInstructionReference")
        for place in {id(found): found for found in (*processing, *inside)}.values():
            own = place if place.name == "GenerationInstruction" else self._instruction(place)
            commands = [found.text for found in own.below("CommandContent") if found.text]
            words = [text for text in (own.text_at("Description"), _label(own)) if text]
            yield from commands or words[:1]

    def _instruction(self, place: Element) -> Element:
        """What is pointed to; the pointer itself where it leads out of the file."""
        return next((self._named[key] for key in _keys(place) if key in self._named), place)

    def _said(self, form: Element | None) -> Element | None:
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


def _value_type(said: Element | None, decimals: str, ends: tuple[str, str]) -> ValueType:
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
