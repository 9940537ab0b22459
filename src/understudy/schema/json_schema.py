"""The file format as JSON Schema, with what the docstrings say about each entry.

The docstrings' `Attributes:` sections are the one place where entries are explained; editors show
them from here.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from pydantic import BaseModel

_SECTION = re.compile(r"^Attributes:\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", re.MULTILINE | re.DOTALL)


def json_schema(model: type[BaseModel], *others: type[BaseModel], title: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of a model.

    Args:
        model: the whole document.
        others: models that stand inside it.
        title: title of the document.
    """
    content = model.model_json_schema()
    _explain(content, model)
    for other in others:
        _explain(content["$defs"][other.__name__], other)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **content,
        "title": title,
    }


def _explain(definition: dict[str, Any], model: type[BaseModel]) -> None:
    """Put the docstring's first paragraph and its attributes where they belong."""
    definition["description"] = _unfolded((inspect.getdoc(model) or "").partition("\n\n")[0])
    explained: dict[str, str] = {}
    for ancestor in reversed(model.__mro__):
        explained |= _attributes(inspect.cleandoc(ancestor.__dict__.get("__doc__") or ""))
    for name, entry in definition["properties"].items():
        entry.pop("title", None)
        _without_null(entry)
        if name in explained:
            entry["description"] = explained[name]


def _without_null(entry: dict[str, Any]) -> None:
    """An entry that may be absent is left out of the file; TOML has no null to write for it."""
    if "default" in entry and entry["default"] is None:
        del entry["default"]
        choices = [choice for choice in entry.pop("anyOf") if choice != {"type": "null"}]
        entry.update(choices[0] if len(choices) == 1 else {"anyOf": choices})


def _attributes(docstring: str) -> dict[str, str]:
    section = _SECTION.search(docstring)
    entries = _ENTRY.findall(section.group(1)) if section else []
    return {name: _unfolded(text) for name, text in entries}


def _unfolded(text: str) -> str:
    return " ".join(text.split())
