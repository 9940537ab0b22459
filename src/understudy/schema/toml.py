"""Schemas as TOML text: all faults at once, entries in a fixed order, exact round trip.

The JSON Schema of the format has what the docstrings say about each entry. The docstrings'
`Attributes:` sections are the one place where entries are explained; editors show them from here.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import BaseModel, ValidationError

from understudy.arguments import path_of
from understudy.errors import SchemaError
from understudy.schema.diagnosis import all_faults
from understudy.schema.error_sentences import full_stop
from understudy.schema.reference_forms import with_references
from understudy.schema.references import resolved
from understudy.schema.toml_layout import entry_text, laid_out, with_lists

_Model = TypeVar("_Model", bound=BaseModel)

# What a column is, then its domain, then its codes, then what people say about it.
COLUMN_ORDER = (
    *("kind", "like", "pattern", "derived", "levels", "hierarchy", "lower", "upper", "resolution"),
    *("timezone", "bins", "spikes", "typical", "heaps", "decimals"),
    *("not_applicable", "missing"),
    *("out_of_domain", "value_labels", "description", "unit"),
    *("source", "reviewed", "confirmed", "drafted"),
)
_FILE_ORDER = (
    *("encoding", "separator", "quote", "decimal", "thousands", "multiline", "sheet"),
    *("source", "reviewed", "confirmed", "drafted"),
)
_RULE_ORDER = ("where", "source", "reviewed")
_RELATION_ORDER = ("inequality", "at", "hierarchy", "within", "source", "reviewed")


def loads(text: str, model: type[_Model], folder: Path | None = None) -> _Model:
    """Read TOML text into a pydantic model; lists, defaults and columns like others are resolved.

    Args:
        text: of a schema.
        model: of the whole.
        folder: where files that it refers to stand; None for a text that refers to none.

    Raises:
        SchemaError: not TOML, or not a schema; names every entry that is wrong, and the fix.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(_no_toml(str(error), text)) from None
    except RecursionError:
        raise SchemaError("The schema is not valid TOML: it is nested too deeply.") from None
    except ValueError:  # of the language, which reads no number of thousands of digits
        raise SchemaError("The schema is not valid TOML: a number in it is too long.") from None
    content = resolved(content, folder)
    try:
        return model.model_validate(content)
    except ValidationError:
        raise SchemaError(all_faults(content, model)) from None


def file_text(path: str | Path) -> str:
    """The text of a schema's file.

    Raises:
        SchemaError: it cannot be read.
    """
    try:
        return path_of("The schema's file", path, SchemaError).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SchemaError(f"The schema file {str(path)!r} cannot be read: {reason}.") from None


def write_text(path: str | Path, text: str) -> None:
    """Write a schema's file.

    Raises:
        SchemaError: it cannot be written.
    """
    place = path_of("The schema's file", path, SchemaError)
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SchemaError(
            f"The schema file {str(path)!r} cannot be written: {error.strerror}."
        ) from None


def _no_toml(reason: str, text: str) -> str:
    """What the reader of TOML says, with line and column first."""
    what, _, place = reason.removesuffix(")").rpartition(" (at ")
    if place == "end of document":
        lines = text.splitlines() or [""]
        place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
    hint = "; text stands in quotes, and true and false in lower case" * (what == "Invalid value")
    return full_stop(f"The schema is not valid TOML at {place}: {what}{hint}")


def dumps(content: Mapping[str, Any], *, lists: bool = False) -> str:
    """A schema's content as TOML text; columns keep their order, entries get a fixed one.

    Args:
        content: of the whole schema.
        lists: whether level lists that several columns share stand once, under `[lists]`.
    """
    whole = dict(with_lists(content) if lists else content)
    if "file" in whole:
        whole |= {"file": _ordered(whole["file"], _FILE_ORDER)}
    whole |= {"columns": {n: _ordered(one, COLUMN_ORDER) for n, one in whole["columns"].items()}}
    rules = [("forbidden", _ordered(one, _RULE_ORDER)) for one in whole.pop("forbidden", ())]
    rules += [("relations", _ordered(one, _RELATION_ORDER)) for one in whole.pop("relations", ())]
    last = ("lists", "columns")
    order = sorted(whole, key=lambda key: last.index(key) if key in last else -1)
    text = tomli_w.dumps(laid_out({key: whole[key] for key in order}))
    return text + "".join(f"\n[[{name}]]\n{_entries(rule)}" for name, rule in rules)


def _entries(table: Mapping[str, Any]) -> str:
    """A table's entries, each of them whole, so that the table can stand under one heading."""
    return "".join(entry_text(key, value) for key, value in table.items())


def _ordered(entry: Mapping[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    return {key: entry[key] for key in order if key in entry}


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
        **with_references(content),
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
