"""References in the JSON Schema of a schema's file: what may stand in lists, defaults and `like`.

Entries that a column has from elsewhere cannot be asked for in it. So a column that is like
another one, and all columns of a file with defaults, are checked entry by entry only.
"""

from __future__ import annotations

import copy
from typing import Any

_WITH_LEVELS = ("Categorical", "Ordinal")
_LIST = {
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
        definitions[name]["properties"]["levels"] = _either(given, _LIST, _FILE)
    kinds = entries["columns"]["additionalProperties"]
    definitions["Entries"] = _entries(definitions, kinds)
    like = {"allOf": [{"$ref": "#/$defs/Entries"}, {"required": ["like"]}]}
    entries["columns"]["additionalProperties"] = {"$ref": "#/$defs/Entries"}
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
        "items": _defaults(definitions["Entries"]),
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


def _defaults(entries: dict[str, Any]) -> dict[str, Any]:
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
