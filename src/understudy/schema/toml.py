"""Schemas as TOML text: one sentence per fault, entries in a fixed order, exact round trip."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, TypeVar

import tomli_w
from pydantic import BaseModel, ValidationError

from understudy.errors import SchemaError
from understudy.schema.faults import full_stop, sentence

_Model = TypeVar("_Model", bound=BaseModel)

# What a column is, then its domain, then its codes, then what people say about it.
_COLUMN_ORDER = (
    *("kind", "levels", "lower", "upper", "bins", "spikes", "decimals"),
    *("not_applicable", "missing", "out_of_domain"),
    *("description", "unit", "source", "reviewed", "drafted"),
)
_FILE_ORDER = (
    *("encoding", "separator", "quote", "decimal", "multiline"),
    *("source", "reviewed", "confirmed", "drafted"),
)
_RULE_ORDER = ("where", "source", "reviewed")


def loads(text: str, model: type[_Model]) -> _Model:
    """Read TOML text into a pydantic model.

    Raises:
        SchemaError: not TOML, or not a schema; names the entry and the fix.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(full_stop(f"The schema is not valid TOML: {error}")) from None
    except RecursionError:
        raise SchemaError("The schema is not valid TOML: it is nested too deeply.") from None
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise SchemaError(sentence(error)) from None


def dumps(content: Mapping[str, Any]) -> str:
    """A schema's content as TOML text; columns keep their order, entries get a fixed one."""
    head = {key: value for key, value in content.items() if key not in {"columns", "forbidden"}}
    if "file" in head:
        head["file"] = _ordered(head["file"], _FILE_ORDER)
    columns = {name: _ordered(entry, _COLUMN_ORDER) for name, entry in content["columns"].items()}
    rules = [_ordered(rule, _RULE_ORDER) for rule in content.get("forbidden", ())]
    return tomli_w.dumps({**head, "columns": columns, **({"forbidden": rules} if rules else {})})


def _ordered(entry: Mapping[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    return {key: entry[key] for key in order if key in entry}
