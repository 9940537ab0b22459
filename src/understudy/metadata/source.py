"""The file of a codebook, read once, and its text; with a limit, since it may come from anybody.

**Entries of JSON that anybody may have written; what is of another form is told, or left out.**

**XML that anybody may have written, as a small tree: no entities, nothing from elsewhere.**

The parser never fetches anything, and refuses declarations of entities, by which a few lines can
grow to gigabytes or name files of this machine. Namespaces are left off, since codebooks of one
format come in several. Elements that hold statistics of the rows are skipped as they are parsed:
what is in them is in no tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from understudy import _storage
from understudy._validation import path_of
from understudy.errors import SchemaError, line
from understudy.schema.base import text_of

MOST_BYTES = 2**27
"""A codebook of 10,000 variables with long lists of codes has some 20 MB."""


@dataclass(frozen=True)
class CodebookFile:
    """The file of a codebook.

    Attributes:
        path: where it is.
        content: its bytes.
    """

    path: Path
    content: bytes

    @classmethod
    def read(cls, path: str | Path) -> CodebookFile:
        """Read it.

        Raises:
            SchemaError: it cannot be read, is empty or too large.
        """
        place = path_of("The codebook", path, SchemaError)
        try:
            with place.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise SchemaError(
                f"The codebook {str(path)!r} cannot be read: {error.strerror}."
            ) from None
        file_itself = cls(place, content)
        if len(content) > MOST_BYTES:
            file_itself.refuse(
                f"it has more than {MOST_BYTES // 2**20} MiB; take out what is no description of "
                "variables, or split it"
            )
        if not content.strip():
            file_itself.refuse("it is empty")
        return file_itself

    @property
    def name(self) -> str:
        """Name of the file, without its folder."""
        return self.path.name

    def refuse(self, reason: str, at_line: int | None = None) -> NoReturn:
        """End with a sentence about this file.

        Args:
            reason: what is wrong, and the remedy, without a full stop.
            at_line: where.

        Raises:
            SchemaError: always.
        """
        place = "" if at_line is None else f", line {at_line}"
        raise SchemaError(
            f"The codebook {str(self.path)!r}{place} cannot be read: {line(reason)}."
        ) from None

    def text(self) -> str:
        """Its text.

        Raises:
            SchemaError: it is not UTF-8.
        """
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            at_line = self.content[: error.start].count(b"\n") + 1
            self.refuse("it is not UTF-8 text; save it as UTF-8", at_line)

    def json(self) -> Any:
        """Its content as JSON.

        Raises:
            SchemaError: it is none, or ambiguous.
        """
        text = self.text()
        try:
            return _storage.parse(text)
        except ValueError as error:
            self.refuse(f"{error}; correct the file")


def write_value(value: Any) -> str:
    """A value as it would stand in a cell; "" for none, and for what is no single value.

    Example:
        >>> write_value(3.0), write_value(True), write_value(None), write_value(["a"])
        ('3', 'true', '', '')
    """
    return text_of(value) if isinstance(value, str | int | float) else ""


def items(value: Any) -> list[Any]:
    """The items of a list; none of what is no list."""
    return value if isinstance(value, list) else []


def text_in(entries: Mapping[str, Any], key: str) -> str:
    """A text, also one that comes in languages (the first) or in a list (the first); else ""."""
    value = entries.get(key)
    while isinstance(value, list | dict) and value:
        value = value[0] if isinstance(value, list) else _read_value(value)
    return value.strip() if isinstance(value, str) else ""


def _read_value(value: dict[str, Any]) -> Any:
    return value["@value"] if "@value" in value else next(iter(value.values()))


def read_list(entries: Mapping[str, Any], key: str, file: CodebookFile) -> list[dict[str, Any]]:
    """A list of objects.

    Raises:
        SchemaError: it is none.
    """
    items = entries.get(key)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        file.refuse(f"{key!r} must be a list of objects; correct the file")
    return items


def table_of(value: Any, what: str, file: CodebookFile) -> dict[str, Any]:
    """An object.

    Raises:
        SchemaError: it is none.
    """
    if not isinstance(value, dict):
        file.refuse(f"{what!r} must be an object; correct the file")
    return value


def choose_table(tables: Mapping[str, Any], table: str, file: CodebookFile) -> dict[str, Any]:
    """The table that is meant.

    Args:
        tables: name → its description.
        table: the name; "" for the only one.
        file: of the codebook.

    Raises:
        SchemaError: there is none of that name, or several and none is named.
    """
    names = ", ".join(map(repr, tables)) or "none"
    if not table and len(tables) != 1:
        file.refuse(
            f"it describes {len(tables)} tables; say by `table` (--table) which one is meant of "
            f"{names}"
            if tables
            else "it describes no table with columns"
        )
    name = table or next(iter(tables))
    if name not in tables:
        file.refuse(f"it describes no table {table!r}; it has {names}")
    return table_of(tables[name], name, file)


_DEEPEST = 100
_MOST_ELEMENTS = 5 * 10**6


@dataclass(slots=True)
class Element:
    """An element.

    Attributes:
        name: without namespace.
        attributes: likewise; of several with one name, one.
        line: of the file.
        children: elements inside.
        pieces: text right inside, not that of children.
    """

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its own text, blanks around it taken off."""
        return "".join(self.pieces).strip()

    @property
    def whole_text(self) -> str:
        """Its text with that of all elements inside, as one line."""
        parts = ["".join(self.pieces), *(child.whole_text for child in self.children)]
        return " ".join(" ".join(parts).split())

    def get(self, attribute: str) -> str:
        """An attribute; "" if it is absent."""
        return self.attributes.get(attribute, "").strip()

    def all(self, *names: str) -> list[Element]:
        """Children of a name, and so on down the path."""
        found = [self]
        for name in names:
            found = [child for one in found for child in one.children if child.name == name]
        return found

    def first(self, *names: str) -> Element | None:
        """The first of these; None if there is none."""
        found = self.all(*names)
        return found[0] if found else None

    def text_at(self, *names: str) -> str:
        """Text of the first of these that has any; "" otherwise."""
        return next((text for one in self.all(*names) if (text := one.whole_text)), "")

    def below(self, *names: str) -> Iterator[Element]:
        """Elements of some names at any depth, in the order of the file."""
        ahead = [*reversed(self.children)]
        while ahead:
            one = ahead.pop()
            if one.name in names:
                yield one
            ahead += reversed(one.children)


def parse_xml(file: CodebookFile, skipped: Collection[str] = ()) -> Element:
    """The root of an XML file.

    Args:
        file: the codebook.
        skipped: names of elements of which nothing is kept.

    Raises:
        SchemaError: not XML, or XML that declares entities, nests too deeply or has too much.
    """
    return _Reader(file, frozenset(skipped)).root()


class _Reader:
    """Builds the tree from what the parser reports.

    Args:
        file: the codebook.
        skipped: names of elements to leave out.
    """

    def __init__(self, file: CodebookFile, skipped: frozenset[str]) -> None:
        self._file = file
        self._skipped = skipped
        self._document = Element("", {}, 0)
        self._open = [self._document]
        self._shut = 0  # how many skipped elements are open, one in the other
        self._count = 0
        # Without a check of namespaces: prefixes are cut off, and one left undeclared does no harm.
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._entity

    def root(self) -> Element:
        """Parse the whole file."""
        try:
            self._parser.Parse(self._file.content, True)
        except expat.ExpatError as error:
            self._file.refuse(
                f"it is not well-formed XML ({expat.errors.messages[error.code]}); correct it, or "
                "save it as UTF-8",
                error.lineno,
            )
        except SchemaError:  # of what the parser calls, which is a ValueError too
            raise
        except (LookupError, ValueError):  # of an encoding that Python does not know
            self._file.refuse(
                "it says that it is written in an encoding that is not known; save it as UTF-8", 1
            )
        return self._document.children[0]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if self._shut or name in self._skipped:
            self._shut += 1
            return
        self._count += 1
        if len(self._open) > _DEEPEST or self._count > _MOST_ELEMENTS:
            self._refuse("it is nested too deeply, or has too many elements; split it")
        plain = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        element = Element(name, plain, self._parser.CurrentLineNumber)
        self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, _name: str) -> None:
        if self._shut:
            self._shut -= 1
        else:
            self._open.pop()

    def _text(self, text: str) -> None:
        if not self._shut:
            self._open[-1].pieces.append(text)

    def _entity(self, *_declared: Any) -> None:
        self._refuse("it declares entities, which are not read; write out what they stand for")

    def _refuse(self, reason: str) -> None:
        self._file.refuse(reason, self._parser.CurrentLineNumber)
