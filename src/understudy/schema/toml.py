"""Schemas as TOML text: all faults at once, entries in a fixed order, exact round trip.

The JSON Schema of the format has what the docstrings say about each entry. The docstrings'
`Attributes:` sections are the one place where entries are explained; editors show them from here.

How a delimited text file is written stands in the `[file]` table: public facts. A text file is read
line by line, and what becomes of one line is decided by its own bytes and by what stands here, and
by nothing else: so all of this must be known without looking at the rows.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

import tomli_w
from pydantic import BaseModel, Field, ValidationError, model_validator

from understudy.arguments import path_of
from understudy.errors import SchemaError
from understudy.schema.diagnosis import all_faults
from understudy.schema.error_sentences import full_stop
from understudy.schema.reference_forms import with_references
from understudy.schema.references import resolved
from understudy.schema.review import Reviewed
from understudy.schema.toml_layout import laid_out, with_lists

LINE_BYTES = 2**20
"""Most bytes of a line, the line break not counted; a longer one is malformed."""

RECORD_LINES = 100
"""Most lines of a record where `multiline = true`."""

Encoding = Literal[
    "utf-8",
    "latin-1",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "iso-8859-2",
    "iso-8859-3",
    "iso-8859-4",
    "iso-8859-5",
    "iso-8859-6",
    "iso-8859-7",
    "iso-8859-8",
    "iso-8859-9",
    "iso-8859-10",
    "iso-8859-11",
    "iso-8859-13",
    "iso-8859-14",
    "iso-8859-15",
    "iso-8859-16",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "cp437",
    "cp850",
    "cp852",
    "cp855",
    "cp858",
    "cp866",
]
"""UTF-8, and encodings of one byte a character that agree with ASCII: a byte 0x0A is a line break
in each of them, whatever stands before it. UTF-16 is not among them: a line with an odd number of
bytes would put every later one out of step."""


class FileFormat(Reviewed):
    """The form of a text file with one record a line. Other tables (Parquet, frames) have none.

    Attributes:
        encoding: how its bytes are read as text. A line that cannot be read so is one record out of
            domain.
        separator: the ASCII character between cells; by default a comma, or a tab in files whose
            name ends in .tsv.
        quote: the ASCII character around cells that hold a separator (doubled inside them), or ""
            for none.
        decimal: the decimal mark of its numbers. With "," a number such as 1.5 is none.
        multiline: whether a line break inside quotes belongs to the cell, in records of at most 100
            lines. The guarantee is then conditional, since a stray quote can hide the records that
            follow it.
    """

    readable: ClassVar[tuple[str, ...]] = ("encoding", "separator", "quote", "decimal")

    encoding: Encoding = "utf-8"
    separator: str = Field(default="", max_length=1)
    quote: str = Field(default='"', max_length=1)
    decimal: Literal[".", ","] = "."
    multiline: bool = False

    @model_validator(mode="after")
    def _marks_fit(self) -> Self:
        for name in ("separator", "quote"):
            mark = getattr(self, name)
            if mark and (not mark.isascii() or mark.isalnum() or mark in "\0\r\n"):
                raise ValueError(
                    f"{name} must be one ASCII character that is no letter, digit or line break"
                )
        if self.quote == " ":
            raise ValueError("quote must not be a space")
        if self.decimal == "," and not self.separator:
            raise ValueError('decimal = "," needs a separator that is no comma; name it')
        marks = [mark for mark in (self.separator or ",", self.quote, self.decimal) if mark]
        if len(set(marks)) < len(marks):
            raise ValueError("separator, quote and decimal must be different characters")
        return self

    def separator_in(self, name: str) -> str:
        """The character between cells in a file of this name."""
        by_ending = "\t" if name.lower().removesuffix(".gz").endswith(".tsv") else ","
        return self.separator or by_ending

    @property
    def told(self) -> str:
        """The entries that are not the default, in words; "" if all are."""
        fields = type(self).model_fields
        entries = (*self.readable, "multiline")
        return ", ".join(
            f"{key} {'true' if value is True else repr(value)}"
            for key in entries
            if (value := getattr(self, key)) != fields[key].default
        )


_Model = TypeVar("_Model", bound=BaseModel)

# What a column is, then its domain, then its codes, then what people say about it.
COLUMN_ORDER = (
    *("kind", "like", "derived", "levels", "lower", "upper", "bins", "spikes", "decimals"),
    *("not_applicable", "missing", "out_of_domain", "value_labels"),
    *("description", "unit", "source", "reviewed", "confirmed", "drafted"),
)
_FILE_ORDER = (
    *("encoding", "separator", "quote", "decimal", "multiline"),
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
    if rules := [_ordered(rule, _RULE_ORDER) for rule in whole.get("forbidden", ())]:
        whole |= {"forbidden": rules}
    if relations := [_ordered(one, _RELATION_ORDER) for one in whole.get("relations", ())]:
        whole |= {"relations": relations}
    last = ("lists", "columns", "forbidden", "relations")
    order = sorted(whole, key=lambda key: last.index(key) if key in last else -1)
    return tomli_w.dumps(laid_out({key: whole[key] for key in order}))


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
