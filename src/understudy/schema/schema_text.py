"""The text of a schema, changed entry by entry: whatever else stands in it stays as it was written.

A schema's file has comments, lists and defaults of its own, which a schema that was read does not
know. So an entry is put where it belongs in the text itself. Where a table begins, and an entry
ends, the reader of TOML says: a piece of text that it can read by itself, before a line that begins
another one, is whole.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

from understudy.errors import SchemaError
from understudy.schema.toml_layout import entry_text

_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_ENTRY = re.compile(r"^[ \t]*[\w\"'-]", re.MULTILINE)
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
        return text.removesuffix(_trailing(text))

    def with_entries(self, path: Sequence[str], entries: Mapping[str, Any]) -> Self:
        """The text with some entries of a table changed or added; None takes an entry out.

        Args:
            path: of the table, as ("columns", "age").
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
                kept[-1] += _trailing(piece)
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
            (new if j == k else "") + _trailing(piece) if own[: len(inside)] == inside else piece
            for j, (own, piece) in enumerate(self._with_paths())
        ]
        return type(self).of("".join(kept))

    def _with_paths(self) -> list[tuple[tuple[str, ...], str]]:
        """Each piece with its path; the tables of an array have a number behind its name."""
        last: dict[str, int] = {}
        found = []
        for piece in self.pieces:
            path = _path(piece)
            if _is_array(piece) and path:
                last[path[0]] = last.get(path[0], -1) + 1
            if path and path[0] in last:
                path = (path[0], str(last[path[0]]), *path[1:])
            found.append((path, piece))
        return found

    def _place(self, path: Sequence[str]) -> int:
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
    """Whether a piece is one table of an array."""
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
    end = _trailing(text)
    heading, *statements = _pieces(text[: len(text) - len(end)], _ENTRY)
    new = "" if value is None else entry_text(key, value)
    for k, statement in enumerate(statements):
        if key in tomllib.loads(statement):
            # Comments between this entry and the next one belong to the next one.
            statements[k] = new + _trailing(statement)
            new = ""
    return "".join((heading, *statements, new, end))


def _trailing(text: str) -> str:
    """Empty lines and comments at the end of a piece: they belong to what follows it."""
    match = _TRAILING.search(text)
    return match[0] if match else ""
