"""A data dictionary as a table of text: one line a variable, or one line a code.

The header names what a column holds, in any order and case, and only these are read:

- `variable` (required): its name in the data. An empty cell means the variable of the line above.
- `label` (or `description`): what the variable is.
- `code`: one of its codes, and `value` (or `value label`): what the code stands for.
- `missing`: yes, true, 1 or x if the code says *not known*; `not applicable` if it says that the
  question does not arise.
- `type`: integer, number, text, date, boolean, categorical, ordinal or identifier.
- `lower`, `upper`: bounds that hold by definition. `min`, `max`: bounds that may be observed ones.
- `decimals`, `unit`.

Cells are separated by commas, semicolons or tabs, whichever the header has.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from understudy.metadata.source import CodebookFile
from understudy.metadata.variables import ABSENCES, Absence, CodedValue, ValueType, Variable

_NAMES: Final[Mapping[str, str]] = {
    **{name: name for name in ("variable", "label", "code", "value", "missing", "type")},
    **{name: name for name in ("lower", "upper", "min", "max", "decimals", "unit")},
    "description": "label",
    "value label": "value",
    "value_label": "value",
}
_TYPES: Final[Mapping[str, ValueType]] = {
    "": "",
    "integer": "integer",
    "number": "number",
    "text": "text",
    "date": "date",
    "boolean": "boolean",
    "categorical": "categories",
    "ordinal": "categories",
    "identifier": "text",
}
_YES: Final = frozenset({"yes", "true", "1", "x", "y"})


def variables(file: CodebookFile) -> Iterator[Variable]:
    """Variables of a data dictionary.

    Args:
        file: the codebook.

    Raises:
        SchemaError: no column `variable`, a column named twice, a line with more cells than the
            header, or a cell that is not what its column asks for; names the line.
    """
    text = file.text()
    header = text.partition("\n")[0]
    separator = max(",;\t", key=header.count)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=separator, strict=True)
    described: dict[str, _Lines] = {}
    name = ""
    try:
        places = _places(next(reader, []), file)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(places):
                file.refuse("it has more cells than the header; correct it", reader.line_num)
            pairs = zip(places, cells, strict=False)
            entries = {key: cell.strip() for key, cell in pairs if key}
            name = entries.get("variable") or name
            if not name:
                file.refuse("it names no variable; fill in the cell", reader.line_num)
            described.setdefault(name, _Lines(file, name)).add(entries, reader.line_num)
    except csv.Error as error:
        file.refuse(f"{error}; correct its quotes", reader.line_num)
    for lines in described.values():
        yield lines.variable()


def _places(header: list[str], file: CodebookFile) -> list[str]:
    """Return what each column holds; "" for one that is not read."""
    places = [_NAMES.get(" ".join(cell.lower().split()), "") for cell in header]
    if "variable" not in places:
        file.refuse(
            "its first line must be a header with a column `variable` (and label, code, value, "
            "missing, type, lower, upper, min, max, decimals or unit)",
            1,
        )
    if twice := next((key for key in places if key and places.count(key) > 1), ""):
        file.refuse(f"two columns of its header are read as {twice!r}; take one out", 1)
    return places


@dataclass
class _Lines:
    """The lines about one variable.

    Attributes:
        file: of the codebook.
        name: of the variable.
        said: what they say of it, each entry once.
        values: its codes.
    """

    file: CodebookFile
    name: str
    said: dict[str, str] = field(default_factory=dict)
    values: list[CodedValue] = field(default_factory=list)

    def add(self, entries: dict[str, str], number: int) -> None:
        """One line more."""
        code, label = entries.pop("code", ""), entries.pop("value", "")
        absence = self._absence(entries.pop("missing", ""), number)
        if code or absence:  # an empty cell can be a code of absence itself
            self.values.append(CodedValue(code, label or ("" if absence else code), absence))
        elif label:
            self.file.refuse("it labels no code; fill in the cell `code`", number)
        for key, text in entries.items():
            if not text:
                continue
            if self.said.setdefault(key, text) != text:
                self.file.refuse(
                    f"it says another {key!r} of {self.name!r} than an earlier line; correct one",
                    number,
                )
            self._check(key, text, number)

    def variable(self) -> Variable:
        """The variable that they describe."""
        said = self.said
        return Variable(
            name=self.name,
            label=said.get("label", ""),
            value_type=_TYPES[said.get("type", "").lower()],
            values=tuple(self.values),
            lower=said.get("lower", "") or said.get("min", ""),
            upper=said.get("upper", "") or said.get("max", ""),
            bounds_maybe_observed=bool(said.keys() & {"min", "max"}),
            ordered=said.get("type", "").lower() == "ordinal",
            decimals=int(said["decimals"]) if "decimals" in said else None,
            unit=said.get("unit", ""),
            names_rows=said.get("type", "").lower() == "identifier",
        )

    def _absence(self, text: str, number: int) -> Absence:
        word = " ".join(text.lower().replace("_", " ").split())
        if word in ABSENCES:
            return ABSENCES[word]
        if word and word not in _YES | {"no", "false", "0", "n"}:
            self.file.refuse("`missing` must be yes, no or not applicable", number)
        return "missing" if word in _YES else ""

    def _check(self, key: str, text: str, number: int) -> None:
        if key == "type" and text.lower() not in _TYPES:
            self.file.refuse(f"`type` must be one of {', '.join(filter(None, _TYPES))}", number)
        if key == "decimals" and not (text.isdecimal() and text.isascii() and len(text) < 3):
            self.file.refuse("`decimals` must be a whole number", number)
