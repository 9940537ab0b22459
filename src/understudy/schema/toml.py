"""Schemas as TOML text: all faults at once, entries in a fixed order, exact round trip.

The JSON Schema of the format has what the docstrings say about each entry. The docstrings'
`Attributes:` sections are the one place where entries are explained; editors show them from here.

**How a schema's content stands on the page: lists in lines that are filled, small tables in one.**

A list takes one line where it fits, else as many as it fills: a level a line is more than anybody
reads. Level lists that several columns share can stand once, under `[lists]`.

The text of a schema, changed entry by entry: whatever else stands in it stays as it was written.

A schema's file has comments, lists and defaults of its own, which a schema that was read does not
know. So an entry is put where it belongs in the text itself. Where a table begins, and an entry
ends, the reader of TOML says: a piece of text that it can read by itself, before a line that begins
another one, is whole.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar

import tomli_w
from pydantic import BaseModel, ValidationError

from understudy._validation import explain_attributes, path_of
from understudy.errors import SchemaError
from understudy.schema.households import TABLES, MemberRule, widen_tables
from understudy.schema.references import resolve_references, resolve_totals, with_references
from understudy.schema.validation import all_faults, full_stop

LINE_LENGTH = 100
_INDENT = "    "
_IN_ONE_LINE = ("value_labels", "confirmed", "drafted")
_SHARED_FROM = 24
"""Characters of a list from which on a name for it is shorter to read."""


class _Written(int):
    """A value as it stands in the text. The writer takes it for a number, and writes its text.

    Args:
        text: TOML.
    """

    def __new__(cls, _text: str) -> Self:
        """The number does not matter."""
        return super().__new__(cls)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def laid_out(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a schema, with values that TOML's writer writes as they should stand.

    Args:
        content: tables within tables; lists hold single values, or tables.
    """
    return {key: _laid_out(key, value) for key, value in content.items()}


def entry_text(key: str, value: Any) -> str:
    r"""One entry of a table as TOML, ending in a line break.

    Example:
        >>> entry_text("levels", ("f", "m"))
        'levels = ["f", "m"]\n'
    """
    if isinstance(value, Mapping):
        value = _Written(_in_one_line(value))
    return tomli_w.dumps(laid_out({key: value}))


def _laid_out(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        if value and (key in _IN_ONE_LINE or set(value) == {"list"}):
            line = _in_one_line(value)
            if key != "value_labels" or len(f"{key} = {line}") <= LINE_LENGTH:
                return _Written(line)
        return laid_out(value)
    if isinstance(value, list | tuple):
        if any(isinstance(item, Mapping) for item in value):
            return [_laid_out("", item) for item in value]
        return _Written(_fill_lines(value, LINE_LENGTH - len(tomli_w.dumps({key: 0})) + 2))
    return value


def _in_one_line(table: Mapping[str, Any]) -> str:
    inner = {
        k: _Written(_in_one_line(v)) if isinstance(v, Mapping) else v for k, v in table.items()
    }
    entries = (tomli_w.dumps(laid_out({key: value})).strip() for key, value in inner.items())
    return f"{{ {', '.join(entries)} }}"


def _fill_lines(values: Sequence[Any], room: int) -> str:
    """A list of single values: in one line if there is room, else in lines that are full."""
    texts = [line[len(_INDENT) : -1] for line in tomli_w.dumps({"x": values}).split("\n")[1:-2]]
    if (line := f"[{', '.join(texts)}]") and len(line) <= room:
        return line
    return "\n".join(("[", *_lines(texts), "]"))


def _lines(texts: Iterable[str]) -> Iterator[str]:
    line = ""
    for text in texts:
        if line and len(_INDENT) + len(line) + len(text) + 2 > LINE_LENGTH:
            yield _INDENT + line
            line = ""
        line = f"{line} {text}," if line else f"{text},"
    yield _INDENT + line


def with_lists(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a schema in which longer level lists of several columns stand once.

    A list is named after the first column that has it. Labels stand with it where all columns that
    share it have the same.

    Args:
        content: of a whole schema, levels written out.
    """
    columns = {name: dict(column) for name, column in content["columns"].items()}
    found = {name: _domain(column) for name, column in columns.items()}
    shared = {domain: k for domain, k in Counter(found.values()).items() if domain and k > 1}
    lists: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for name, column in columns.items():
        if (domain := found[name]) in shared:
            taken = {key: column.pop(key) for key in ("levels", "value_labels") if key in column}
            if domain not in names:
                names[domain] = name
                lists[name] = taken
            columns[name] = {**column, "levels": {"list": names[domain]}}
    return {**content, **({"lists": lists} if lists else {}), "columns": columns}


def _domain(column: Mapping[str, Any]) -> str:
    """Levels and labels as one text; "" where they are few, or no list."""
    if not isinstance(column.get("levels"), list | tuple):
        return ""
    levels = entry_text("levels", column["levels"])
    labels = column.get("value_labels") or {}
    text = levels + (entry_text("value_labels", labels) if labels else "")
    return text if len(text) >= _SHARED_FROM else ""


_Model = TypeVar("_Model", bound=BaseModel)

# What a column is, then its domain, then its codes, then what people say about it.
COLUMN_ORDER = (
    *("kind", "like", "pattern", "derived", "levels", "random_groups", "hierarchy"),
    *("lower", "upper", "format", "resolution"),
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


def loads(text: str, model: type[_Model], path: Path | None = None) -> _Model:
    """Read TOML text into a pydantic model; lists, defaults and columns like others are resolved.

    Args:
        text: of a schema.
        model: of the whole.
        path: of its file, beside which files stand that it refers to; None for a text alone.

    Raises:
        SchemaError: not TOML, or not a schema; names every entry that is wrong, and the fix.
    """
    said, folder = ("The schema", None) if path is None else (f"{path.name!r}", path.parent)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(_no_toml(str(error), text, said)) from None
    except RecursionError:
        raise SchemaError(f"{said} is not valid TOML: it is nested too deeply.") from None
    except ValueError:  # of the language, which reads no number of thousands of digits
        raise SchemaError(f"{said} is not valid TOML: a number in it is too long.") from None
    content = resolve_totals(content, folder)
    if "tables" in content:
        content = widen_tables(content, model, folder)
    else:
        content = resolve_references(content, folder)
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


def _no_toml(reason: str, text: str, said: str) -> str:
    """Reword an error of the reader of TOML, with line and column first."""
    what, _, place = reason.removesuffix(")").rpartition(" (at ")
    if place == "end of document":
        lines = text.splitlines() or [""]
        place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
    hint = (
        "; text stands in quotes, and true and false in lower case"
        if what == "Invalid value"
        else ""
    )
    return full_stop(f"{said} is not valid TOML at {place}: {what}{hint}")


def dumps(content: Mapping[str, Any], *, lists: bool = False) -> str:
    """A schema's content as TOML text; columns keep their order, entries get a fixed one.

    Args:
        content: of the whole schema; or its head with two tables, whose rules are added behind.
        lists: whether level lists that several columns share stand once, under `[lists]`.
    """
    whole = dict(with_lists(content) if lists else content)
    if "file" in whole:
        whole |= {"file": _order_entries(whole["file"], _FILE_ORDER)}
    if "columns" in whole:
        whole |= {"columns": {name: in_order(one) for name, one in whole["columns"].items()}}
    rules = [("forbidden", _order_entries(one, _RULE_ORDER)) for one in whole.pop("forbidden", ())]
    rules += [
        ("relations", _order_entries(one, _RELATION_ORDER)) for one in whole.pop("relations", ())
    ]
    last = ("lists", "columns", "tables")
    order = sorted(whole, key=lambda key: last.index(key) if key in last else -1)
    text = tomli_w.dumps(laid_out({key: whole[key] for key in order}))
    return text + "".join(f"\n[[{name}]]\n{_entries(rule)}" for name, rule in rules)


def _entries(table: Mapping[str, Any]) -> str:
    """A table's entries, each of them whole, so that the table can stand under one heading."""
    return "".join(entry_text(key, value) for key, value in table.items())


def in_order(column: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a column in the order in which they stand in a file."""
    return _order_entries(column, COLUMN_ORDER)


def _order_entries(entry: Mapping[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    return {key: entry[key] for key in order if key in entry}


def json_schema(model: type[BaseModel], *others: type[BaseModel], title: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of a model.

    Args:
        model: the whole document.
        others: models that stand inside it.
        title: title of the document.
    """
    content = model.model_json_schema()
    for table in TABLES:
        own = table.model_json_schema()
        content["$defs"] |= {**own.pop("$defs", {}), table.__name__: own}
    _explain(content, model)
    within: tuple[type[BaseModel], ...] = (*others, *TABLES, MemberRule)
    for other in within:
        _explain(content["$defs"][other.__name__], other)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **with_references(content),
        "title": title,
    }


def _explain(definition: dict[str, Any], model: type[BaseModel]) -> None:
    """Put the docstring's first paragraph and its attributes where they belong."""
    about = (inspect.getdoc(model) or "").partition("\n\n")[0]
    definition["description"] = " ".join(about.split())
    explained = explain_attributes(model)
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


_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_ENTRY_LINE = re.compile(r"^[ \t]*[\w\"'-]", re.MULTILINE)
_TRAILING = re.compile(r"(?:^[ \t]*(?:#[^\n]*)?\n)*\Z", re.MULTILINE)


@dataclass(frozen=True)
class SchemaText:
    """The text of a schema that can be read.

    Attributes:
        pieces: what stands before the first table, then each table with what follows it.
    """

    pieces: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Self:
        """The text in its pieces.

        Args:
            text: TOML.
        """
        return cls(tuple(_pieces(text if text.endswith("\n") else f"{text}\n", _TABLE)))

    def __str__(self) -> str:
        return "".join(self.pieces)

    def block(self, *path: str) -> str:
        """The table at a path as it is written, with its heading and the tables inside it.

        Raises:
            SchemaError: the table does not stand under a heading of its own.
        """
        self._place(path)
        text = "".join(piece for own, piece in self._with_paths() if own[: len(path)] == path)
        return text.removesuffix(_trailing_comments(text))

    def with_entries(self, path: Sequence[str], entries: Mapping[str, Any]) -> Self:
        """The text with some entries of a table changed or added; None takes an entry out.

        Args:
            path: of the table, as ("columns", "age"); () for what stands before the first table.
            entries: name → value.

        Raises:
            SchemaError: the table does not stand under a heading of its own.
        """
        k = self._place(path)
        text = self.pieces[k]
        for key, value in entries.items():
            text = _with_entry(text, key, value)
        apart = [(*path, key) for key in entries]  # entries that have a table of their own
        kept = list(self.pieces[:k])
        kept.append(text)
        for own, piece in self._with_paths()[k + 1 :]:
            if any(own[: len(one)] == one for one in apart):
                kept[-1] += _trailing_comments(piece)
            else:
                kept.append(piece)
        return type(self)(tuple(kept))

    def with_block(self, path: Sequence[str], text: str) -> Self:
        """The text with another one in the place of a table.

        Args:
            path: of the table.
            text: TOML; or a comment, which takes the table out.

        Raises:
            SchemaError: the table does not stand under a heading of its own.
        """
        k, inside = self._place(path), tuple(path)
        new = text.rstrip("\n") + "\n"
        kept = [
            (new if j == k else "") + _trailing_comments(piece)
            if own[: len(inside)] == inside
            else piece
            for j, (own, piece) in enumerate(self._with_paths())
        ]
        return type(self).of("".join(kept))

    def _with_paths(self) -> list[tuple[tuple[str, ...], str]]:
        """Each piece with its path; the tables of an array have a number behind its name."""
        last: dict[tuple[str, ...], int] = {}
        found = []
        for piece in self.pieces:
            path = _path(piece)
            if _is_array(piece) and path:
                last[path] = last.get(path, -1) + 1
            for k in range(1, len(path) + 1):
                if path[:k] in last:
                    path = (*path[:k], str(last[path[:k]]), *path[k:])
                    break
            found.append((path, piece))
        return found

    def _place(self, path: Sequence[str]) -> int:
        if not path:
            return 0
        paths = [own for own, _ in self._with_paths()]
        found = [k for k, own in enumerate(paths) if k and own == tuple(path)]
        if not found:
            raise SchemaError(
                f"The schema has no table [{'.'.join(path)}] under a heading of its own; write it "
                "so."
            )
        return found[0]


def _pieces(text: str, begins: re.Pattern[str]) -> Iterator[str]:
    """The text cut before each line at which a table, or an entry, can begin."""
    places = [match.start() for match in begins.finditer(text)]
    start = 0
    for place in (*places, len(text)):
        if place > start or place == len(text):
            if _is_whole(text[start:place]):
                yield text[start:place]
                start = place
        elif place == start == 0:
            yield ""
    if start < len(text):
        yield text[start:]


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


def _is_array(piece: str) -> bool:
    """Return whether a piece is one table of an array."""
    match = _TABLE.match(piece)
    return match is not None and piece[match.end() : match.end() + 1] == "["


@lru_cache(4096)
def _path(piece: str) -> tuple[str, ...]:
    """The path in the heading of a piece; () without a heading."""
    if not _TABLE.match(piece):
        return ()
    path: list[str] = []
    # The heading is read alone; one that is cut off would not be whole.
    for end in (match.end() for match in re.finditer(r"\]", piece)):
        try:
            table = tomllib.loads(piece[:end])
        except tomllib.TOMLDecodeError:
            continue
        while table and isinstance(table, dict):
            ((name, table),) = table.items()
            path.append(name)
        break
    return tuple(path)


def _with_entry(text: str, key: str, value: Any) -> str:
    end = _trailing_comments(text)
    heading, *statements = _pieces(text[: len(text) - len(end)], _ENTRY_LINE)
    new = "" if value is None else entry_text(key, value)
    for k, statement in enumerate(statements):
        if key in tomllib.loads(statement):
            # Comments between this entry and the next one belong to the next one.
            statements[k] = new + _trailing_comments(statement)
            new = ""
    return "".join((heading, *statements, new, end))


def _trailing_comments(text: str) -> str:
    """Empty lines and comments at the end of a piece: they belong to what follows it."""
    match = _TRAILING.search(text)
    return match[0] if match else ""
