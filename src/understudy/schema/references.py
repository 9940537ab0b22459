"""Statements of a schema's file for many columns at once: lists of levels, defaults, and `like`.

Three ways to say a thing once, none of which exists after reading: a schema holds the entries that
they stand for, and so does the schema of a release, which refers to nothing outside itself.

- `levels = { list = "yes_no" }` takes `levels`, and what of `value_labels` fits the column, from
  the table `[lists.yes_no]`;
- `levels = { file = "icd.csv", column = "code", labels = "title" }` takes them from a text file
  with commas (.tsv: tabs) in UTF-8, whose first line names its columns. It stands in the folder of
  the schema's file, or below. All its codes are text, and each stands in it once, so that the rows
  of the table itself cannot pass for a code list;
- `totals = { file = "counties.csv", place = "county", value = "persons" }` takes exact totals of
  places (`[[geography.invariants]]`) from such a file, one place a line;
- `[[defaults]]` gives entries to all columns of the names or patterns (`*`, `?`) under `columns`;
- `like = "other"` takes over the entries of another column but its description, and but what
  confirms single entries of it, since that is said of one column at a time.

A column's own entries come first, then those of the column that it is like (own or by default),
then its defaults, of which later ones come first.

**References in the JSON Schema of a schema's file: what may stand in lists, defaults and `like`.**

Entries that a column has from elsewhere cannot be asked for in it. So a column that is like
another one, and all columns of a file with defaults, are checked entry by entry only.
"""

from __future__ import annotations

import copy
import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from understudy.errors import SchemaError, suggestion
from understudy.schema.base import text_of
from understudy.schema.validation import ENTRIES, told_together

_NOT_BY_DEFAULT = {"derived", "description", "confirmed", "drafted"}
_OF_ONE_COLUMN = ("description", "confirmed", "like")
_LIST = {"levels", "value_labels"}
_FORM = '{ list = "…" } or { file = "….csv", column = "…" } (and labels = "…")'
_CODES = ("missing", "not_applicable")
_TABLES = ("UnitTable", "MemberTable")
_MOST_BYTES = 2**26

Table = dict[str, Any]


def resolve_references(
    content: Mapping[str, Any], folder: Path | None, beside: Collection[str] = ()
) -> Table:
    """The content of a schema's file with all that it refers to written out.

    Args:
        content: as it was read from TOML; stays as it is.
        folder: where the schema's file stands; None for a text that may not refer to files.
        beside: columns of another table, which defaults may name as well.

    Raises:
        SchemaError: every reference that leads nowhere, by its place.
    """
    rest = {key: value for key, value in content.items() if key not in ("lists", "defaults")}
    if not isinstance(columns := rest.get("columns"), Mapping):
        return rest
    faults: list[str] = []
    lists = _Lists(content.get("lists", {}), folder, faults)
    found = {
        name: lists.with_levels(f"column {name!r}", column)
        if isinstance(column, Mapping)
        else column
        for name, column in columns.items()
    }
    given = _defaults(content.get("defaults", []), [*columns, *beside], lists, faults)
    rest["columns"] = {
        name: _whole(name, found, given, faults) if isinstance(column, Mapping) else column
        for name, column in found.items()
    }
    if faults:
        raise SchemaError(told_together([*dict.fromkeys(faults)]))
    rest["columns"] = {name: _with_labels(one) for name, one in rest["columns"].items()}
    return rest


def resolve_totals(content: Mapping[str, Any], folder: Path | None) -> Table:
    """The content of a schema's file with exact totals of places written out.

    Args:
        content: as it was read from TOML; stays as it is.
        folder: where the schema's file stands; None for a text that may not refer to files.

    Raises:
        SchemaError: a file that is none of totals.
    """
    geography = content.get("geography")
    given = geography.get("invariants") if isinstance(geography, Mapping) else None
    if not (isinstance(geography, Mapping) and isinstance(given, list)):
        return dict(content)
    faults: list[str] = []
    written = [_with_totals(one, folder, faults) for one in given]
    if faults:
        raise SchemaError(told_together([*dict.fromkeys(faults)]))
    return {**content, "geography": {**geography, "invariants": written}}


def _with_totals(one: Any, folder: Path | None, faults: list[str]) -> Any:
    """One of the invariants, with its totals written out."""
    named = one.get("totals") if isinstance(one, Mapping) else None
    if not isinstance(named, Mapping) or not isinstance(named.get("file"), str):
        return one
    place = f"[geography] invariants of {one.get('level')!r}, totals: "
    texts = [named.get(key) for key in ("place", "value")]
    if set(named) != {"file", "place", "value"} or not all(isinstance(t, str) for t in texts):
        faults.append(f'{place}must be {{ file = "….csv", place = "…", value = "…" }}')
        return {**one, "totals": {}}
    try:
        found = _read(_path_of(named["file"], folder), str(texts[0]), str(texts[1]))
        if not all(re.fullmatch(r"[0-9]{1,15}", text) for text in found.values()):
            raise _UnreadableError("has a total that is no whole number; correct it")
    except _UnreadableError as reason:
        faults.append(f"{place}the file {named['file']!r} {reason}")
        return {**one, "totals": {}}
    return {**one, "totals": {code: int(text) for code, text in found.items()}}


class _Listed(list[Any]):
    """Levels that were written elsewhere, and their labels.

    Args:
        levels: values.
        labels: value as text → label; None for none.
    """

    def __init__(self, levels: Iterable[Any], labels: Any = None) -> None:
        super().__init__(levels)
        self.labels = labels


def _with_labels(column: Any) -> Any:
    """A column with the labels of its list that stand for a value of its own."""
    levels = column.get("levels") if isinstance(column, Mapping) else None
    if not isinstance(levels, _Listed):
        return column
    rest = {**column, "levels": [*levels]}
    if not levels.labels or "value_labels" in rest:
        return rest
    labels = levels.labels
    if isinstance(labels, Mapping):
        absent = [rest[key] for key in _CODES if isinstance(rest.get(key), list)]
        values = [*levels, *(code for codes in absent for code in codes), rest.get("out_of_domain")]
        known = {text_of(value) for value in values if value is not None}
        labels = {text: label for text, label in labels.items() if text in known}
    return {**rest, "value_labels": labels}


def _whole(
    name: str, columns: Mapping[str, Any], given: Mapping[str, Table], faults: list[str]
) -> Table:
    """A column's own entries, those of the columns that it is like, and defaults."""
    chain = [name]
    while isinstance(column := columns.get(chain[-1]), Mapping) and "like" in column:
        other = column["like"]
        place = f"column {chain[-1]!r}, like: "
        if not isinstance(other, str) or not isinstance(columns.get(other), Mapping):
            hint = suggestion(other, columns) if isinstance(other, str) else ""
            faults.append(f"{place}must be the name of another column{hint}")
            break
        if other in chain:
            circle = ", ".join(repr(one) for one in sorted(chain[chain.index(other) :]))
            faults.append(
                f"the columns {circle} are like one another in a circle; write one of them out"
            )
            break
        chain.append(other)
    whole: Table = {}
    for one in reversed(chain):
        entries = columns[one]
        prints = _together(whole.get("drafted"), entries.get("drafted"))
        kept = {key: value for key, value in whole.items() if key not in _OF_ONE_COLUMN}
        whole = {**given[one], **kept, **entries, **({"drafted": prints} if prints else {})}
    return {key: value for key, value in whole.items() if key != "like"}


def _together(first: Any, second: Any) -> Any:
    """Fingerprints of both: a value that was read from the rows stays one in another column."""
    texts = [
        isinstance(one, Mapping) and all(isinstance(text, str) for text in one.values())
        for one in (first, second)
    ]
    if not all(texts):
        return first if second is None else second
    keys = dict.fromkeys((*first, *second))
    return {key: " ".join(filter(None, (first.get(key), second.get(key)))) for key in keys}


def _defaults(given: Any, names: list[str], lists: _Lists, faults: list[str]) -> dict[str, Table]:
    """Entries by default, by column."""
    found: dict[str, Table] = {name: {} for name in names}
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        faults.append("defaults: must be tables [[defaults]], each with `columns` and entries")
        return found
    for k, one in enumerate(given):
        place = f"defaults {k + 1}"
        known = [key for key in ENTRIES if key not in _NOT_BY_DEFAULT]
        for key in (key for key in one if key not in known and key != "columns"):
            faults.append(f"{place}, {key}: no default can be given{suggestion(key, known)}")
        patterns = one.get("columns")
        if not isinstance(patterns, list) or not all(isinstance(text, str) for text in patterns):
            faults.append(f'{place}, columns: must be a list of names or patterns, such as ["q*"]')
            continue
        entries = {key: value for key, value in one.items() if key != "columns"}
        entries = lists.with_levels(place, entries)
        for pattern in patterns:
            meant = [name for name in names if _fits(name, pattern)]
            if not meant:
                hint = suggestion(pattern, names)
                faults.append(f"{place}, columns: {pattern!r} fits no column{hint}")
            for name in meant:
                found[name] |= entries
    return found


def _fits(name: str, pattern: str) -> bool:
    parts = re.split(r"([*?])", pattern)
    signs = {"*": ".*", "?": "."}
    regex = "".join(signs.get(part, re.escape(part)) for part in parts)
    return name == pattern or re.fullmatch(regex, name, re.DOTALL) is not None


class _Lists:
    """Lists of levels that a schema's file names.

    Args:
        tables: `[lists]`, as it was read.
        folder: where files stand; None for no files.
        faults: takes what is wrong.
    """

    def __init__(self, tables: Any, folder: Path | None, faults: list[str]) -> None:
        self._folder, self._faults = folder, faults
        self._files: dict[tuple[str, ...], Table] = {}
        self._lists: dict[str, Table] = {}
        if not isinstance(tables, Mapping):
            faults.append("lists: must be tables, each with `levels`: [lists.yes_no]")
            return
        for name, table in tables.items():
            place = f"list {name!r}"
            entries = table if isinstance(table, Mapping) else {}
            for key in (key for key in entries if key not in _LIST):
                faults.append(f"{place}, {key}: there is no such entry{suggestion(key, _LIST)}")
            levels = entries.get("levels")
            if isinstance(levels, Mapping) and "list" not in levels:
                self._lists[name] = self.with_levels(place, {"levels": levels})
                continue
            if not isinstance(levels, list):
                faults.append(f"{place}, levels: must be a list of values, or name a file")
                levels = []
            self._lists[name] = {"levels": _Listed(levels, entries.get("value_labels"))}

    def with_levels(self, place: str, entries: Mapping[str, Any]) -> Table:
        """Entries with the levels that they refer to.

        Args:
            place: where the entries stand, in words.
            entries: of a column, defaults or a list.
        """
        levels = entries.get("levels")
        if not isinstance(levels, Mapping):
            return dict(entries)
        found: Table = {}
        if set(levels) == {"list"} and isinstance(levels["list"], str):
            found = self._find_list(place, levels["list"])
        elif {"file", "column"} <= set(levels) <= {"file", "column", "labels"} and all(
            isinstance(text, str) for text in levels.values()
        ):
            found = self._of_file(place, levels)
        else:
            self._faults.append(f"{place}, levels: must be a list of values, or {_FORM}")
        return {**entries, "levels": [], **found}

    def _find_list(self, place: str, name: str) -> Table:
        if name not in self._lists:
            hint = suggestion(name, self._lists)
            self._faults.append(f"{place}, levels: there is no list {name!r}{hint}")
        return self._lists.get(name, {})

    def _of_file(self, place: str, levels: Mapping[str, str]) -> Table:
        key = (levels["file"], levels["column"], levels.get("labels", ""))
        if key not in self._files:
            try:
                found = _read(_path_of(key[0], self._folder), key[1], key[2])
                told = {code: text for code, text in found.items() if text and text != code}
                self._files[key] = {"levels": _Listed(found, told)}
            except _UnreadableError as reason:
                self._faults.append(f"{place}, levels: the file {key[0]!r} {reason}")
                self._files[key] = {}
        return self._files[key]


class _UnreadableError(Exception):
    """A file of codes that cannot be read; the message goes on after its name."""


def _path_of(name: str, folder: Path | None) -> Path:
    """Where a file stands that a schema's file names.

    Raises:
        _UnreadableError: it may not be named, or not so.
    """
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if folder is None:
        raise _UnreadableError(
            "cannot be referred to by a schema that is no file of its own; write out what it holds"
        )
    if Path(name).is_absolute() or not parts or parts[0] == "/" or ".." in parts:
        raise _UnreadableError(
            "must stand in the folder of the schema's file, or below; name it from there"
        )
    return folder.joinpath(*parts)


def _read(path: Path, column: str, labels: str) -> dict[str, str]:
    """Codes of a file, and what stands beside each in another column; "" without one.

    Raises:
        _UnreadableError: it is none.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _UnreadableError("is too large for a list of codes (more than 64 MiB)")
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _codes(_lines(file, path), column, labels)
    except UnicodeDecodeError:
        raise _UnreadableError("is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise _UnreadableError(f"cannot be read: {error.strerror}") from None
    except csv.Error:
        raise _UnreadableError("is no text file with one code a line") from None


def _lines(file: Any, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Cells of each line that is not empty, with its number."""
    tabs = path.suffix.lower() == ".tsv"
    reader = csv.reader(file, delimiter="\t" if tabs else ",", strict=True)
    return ((reader.line_num, cells) for cells in reader if cells)


def _codes(lines: Iterator[tuple[int, list[str]]], column: str, labels: str) -> dict[str, str]:
    _, names = next(lines, (0, []))
    for name in filter(None, (column, labels)):
        if names.count(name) != 1:
            hint = suggestion(name, names)
            raise _UnreadableError(f"has no column {name!r}, or several, in its first line{hint}")
    place = names.index(column)
    label = names.index(labels) if labels else None
    found: dict[str, str] = {}
    for number, cells in lines:
        if len(cells) != len(names) or not cells[place]:
            raise _UnreadableError(
                f"has line {number} without a code, or of another number of cells; correct it"
            )
        if cells[place] in found:
            raise _UnreadableError(
                f"names the code of line {number} twice; a list of codes has each once (it is "
                "not the table itself)"
            )
        found[cells[place]] = cells[label] if label is not None else ""
    if not found:
        raise _UnreadableError("holds no code")
    return found


_WITH_LEVELS = ("Categorical", "Ordinal")
_FORM_LIST = {
    "type": "object",
    "properties": {"list": {"type": "string", "description": "A table under [lists]."}},
    "required": ["list"],
    "additionalProperties": False,
}
_FILE = {
    "type": "object",
    "properties": {
        "file": {
            "type": "string",
            "description": "A text file of codes in the folder of the schema's file, or below.",
        },
        "column": {"type": "string", "description": "Its column with the codes."},
        "labels": {"type": "string", "description": "Its column with their labels."},
    },
    "required": ["file", "column"],
    "additionalProperties": False,
}
_TOTALS = {
    "type": "object",
    "properties": {
        "file": {
            "type": "string",
            "description": "A public text file in the folder of the schema's file, or below.",
        },
        "place": {"type": "string", "description": "Its column with the codes of the places."},
        "value": {"type": "string", "description": "Its column with their totals."},
    },
    "required": ["file", "place", "value"],
    "additionalProperties": False,
}


def with_references(content: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a schema's file, with what is said once for many columns.

    Args:
        content: the JSON Schema of what is left after reading; is not changed.
    """
    content = copy.deepcopy(content)
    definitions, entries = content["$defs"], content["properties"]
    levels = definitions["Categorical"]["properties"]["levels"]
    for name in _WITH_LEVELS:
        given = definitions[name]["properties"]["levels"]
        definitions[name]["properties"]["levels"] = _either(given, _FORM_LIST, _FILE)
    exact = definitions["ExactTotals"]["properties"]
    exact["totals"] = _either(exact["totals"], _TOTALS)
    kinds = entries["columns"]["additionalProperties"]
    definitions["Entries"] = _entries(definitions, kinds)
    like = {"allOf": [{"$ref": "#/$defs/Entries"}, {"required": ["like"]}]}
    entries["columns"]["additionalProperties"] = {"$ref": "#/$defs/Entries"}
    for name in _TABLES:
        columns = definitions[name]["properties"]["columns"]
        columns["additionalProperties"] = {"$ref": "#/$defs/Entries"}
    for key, name in (("forbidden", "Rule"), ("relations", "Relation")):
        definitions["MemberTable"]["properties"][key]["items"] = {"$ref": f"#/$defs/{name}"}
    entries["tables"] = {
        "type": "object",
        "description": "Units and their members, in place of columns: a table of each.",
        "minProperties": 2,
        "maxProperties": 2,
        "propertyNames": {"pattern": "^[A-Za-z0-9_]{1,64}$"},
        "additionalProperties": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in _TABLES]},
    }
    content["required"].remove("columns")
    content["oneOf"] = [{"required": ["columns"]}, {"required": ["tables"]}]
    strict = {"properties": {"columns": {"additionalProperties": {"anyOf": [kinds, like]}}}}
    labels = definitions["Categorical"]["properties"]["value_labels"]
    entries["lists"] = {
        "type": "object",
        "description": "Lists of levels: name → levels and what they stand for.",
        "additionalProperties": {
            "type": "object",
            "properties": {"levels": _either(levels, _FILE), "value_labels": labels},
            "required": ["levels"],
            "additionalProperties": False,
        },
    }
    entries["defaults"] = {
        "type": "array",
        "description": "Entries of all columns that have no other, by names and patterns (*, ?).",
        "items": _form_defaults(definitions["Entries"]),
    }
    return {**content, "if": {"not": {"required": ["defaults"]}}, "then": strict}


def _either(given: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    told = {key: given[key] for key in ("description",) if key in given}
    plain = {key: value for key, value in given.items() if key not in told}
    return {"anyOf": [plain, *others], **told}


def _entries(definitions: dict[str, Any], kinds: dict[str, Any]) -> dict[str, Any]:
    """Entries of a column of any kind, none of them required."""
    names = [str(choice["$ref"]).rsplit("/", 1)[-1] for choice in kinds["oneOf"]]
    found: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        for key, entry in definitions[name]["properties"].items():
            if entry not in found.setdefault(key, []):
                found[key].append(entry)
    properties = {key: some[0] if len(some) == 1 else _any_of(some) for key, some in found.items()}
    properties["kind"] = {"enum": [*kinds["discriminator"]["mapping"]]}
    properties["like"] = {
        "type": "string",
        "description": "Another column, whose entries this one takes over but for its own.",
    }
    return {
        "type": "object",
        "description": "Entries of a column, of which others may be said elsewhere.",
        "properties": properties,
        "additionalProperties": False,
    }


def _any_of(some: list[dict[str, Any]]) -> dict[str, Any]:
    plain = [{k: v for k, v in one.items() if k not in ("description", "default")} for one in some]
    different = [one for k, one in enumerate(plain) if one not in plain[:k]]
    return {"anyOf": different, "description": some[0].get("description", "")}


def _form_defaults(entries: dict[str, Any]) -> dict[str, Any]:
    apart = ("derived", "description", "confirmed", "drafted", "like")
    names = {
        "type": "array",
        "items": {"type": "string"},
        "description": "Names or patterns; each must fit a column.",
    }
    some = {key: entry for key, entry in entries["properties"].items() if key not in apart}
    return {
        "type": "object",
        "properties": {"columns": names, **some},
        "required": ["columns"],
        "additionalProperties": False,
    }
