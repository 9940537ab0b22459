"""XML that anybody may have written, as a small tree: no entities, nothing from elsewhere.

The parser never fetches anything, and refuses declarations of entities, by which a few lines can
grow to gigabytes or name files of this machine. Namespaces are left off, since codebooks of one
format come in several. Elements that hold statistics of the rows are skipped as they are parsed:
what is in them is in no tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from understudy.schema.codebooks.codebook_file import CodebookFile

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


def parsed(file: CodebookFile, skipped: Collection[str] = ()) -> Element:
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
