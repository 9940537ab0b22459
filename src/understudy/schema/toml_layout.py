"""How a schema's content stands on the page: lists in lines that are filled, small tables in one.

A list takes one line where it fits, else as many as it fills: a level a line is more than anybody
reads. Level lists that several columns share can stand once, under `[lists]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import tomli_w

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
        return _Written(_filled(value, LINE_LENGTH - len(tomli_w.dumps({key: 0})) + 2))
    return value


def _in_one_line(table: Mapping[str, Any]) -> str:
    inner = {
        k: _Written(_in_one_line(v)) if isinstance(v, Mapping) else v for k, v in table.items()
    }
    entries = (tomli_w.dumps(laid_out({key: value})).strip() for key, value in inner.items())
    return f"{{ {', '.join(entries)} }}"


def _filled(values: Sequence[Any], room: int) -> str:
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
