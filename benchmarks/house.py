"""The package as its source says: modules, what each imports, and how long it is.

Read from the text alone; nothing is imported or run. Used by `rooms.py` and `trusted.py`.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "understudy"
ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / PACKAGE
_SILENT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """Its statements of import that are run at some time."""
        kinds = ast.Import | ast.ImportFrom
        return [one for one in _statements(self.tree.body) if isinstance(one, kinds)]

    @property
    def parts(self) -> tuple[str, ...]:
        """Its name without the package: room, room within the room, file."""
        return tuple(self.name.split(".")[1:])

    @property
    def lines(self) -> int:
        """Lines of its text, all of them."""
        return len(self.text.splitlines())

    @property
    def code(self) -> int:
        """Lines that hold code: no comment, docstring or blank line counts."""
        return code_lines(self.text)

    @property
    def first_sentence(self) -> str:
        """First line of its docstring, without the full stop."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[0].rstrip(".")


House = dict[str, Module]
"""Module name → module."""


def read_house(source: Path = SOURCE) -> House:
    """Every module of the package under a folder, in the order of their names."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = [source.name, *path.relative_to(source).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        name = ".".join(parts)
        found[name] = Module(name, path.read_text(encoding="utf-8"))
    return found


def code_lines(text: str) -> int:
    r"""Lines of code in a text of Python.

    >>> code_lines('x = 1  # counted\n\n# not counted\n')
    1
    """
    held = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SILENT:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if _is_text(node):
            held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(held)


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a text and nothing else: a docstring, also of an attribute."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def imported(module: Module, house: House) -> set[str]:
    """Modules of the package that a module imports when it is loaded or when its functions run.

    What it imports for the type checker alone is left out: it is never run.
    """
    found = set[str]()
    for node in module.imports:
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif node.module:
            full = {f"{node.module}.{one.name}" for one in node.names}
            found |= full & house.keys()
            if not full <= house.keys():
                found.add(node.module)
    return found & house.keys() - {module.name}


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements, those within others too, but not what stands below `if TYPE_CHECKING`."""
    ahead = list(body)
    while ahead:
        node = ahead.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            ahead += node.orelse
            continue
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            ahead += getattr(node, part, [])


def closure(names: Iterable[str], house: House) -> set[str]:
    """Modules that some modules rest on: they, what they import, and so on.

    Packages on the way to a module belong to it, but not what they import, unless something is
    taken from the package itself: to ask one mechanism loads the table of all of them, and rests
    on that one. The package as a whole is left out: it loads a public name when that is asked for.
    """
    found, ahead = set[str](), list(names)
    while ahead:
        name = ahead.pop()
        if name not in found and name != PACKAGE:
            found.add(name)
            ahead += imported(house[name], house)
    return found.union(*(_packages(name) for name in found))


def _packages(name: str) -> set[str]:
    """The packages on the way to a module, without the whole."""
    parts = name.split(".")
    return {".".join(parts[:depth]) for depth in range(2, len(parts))}


def edges_between(house: House, place: Callable[[str], str]) -> dict[str, set[str]]:
    """Who imports whom, among the places that modules stand in; "" is no place."""
    edges: dict[str, set[str]] = {place(name): set() for name in house}
    for name, module in house.items():
        edges[place(name)] |= {place(other) for other in imported(module, house)} - {place(name)}
    return {here: {other for other in others if other} for here, others in edges.items() if here}


def storeys(edges: dict[str, set[str]]) -> dict[str, int]:
    """Room → its storey, from 0 at the top: just above the highest room that imports it.

    Raises:
        ValueError: rooms import each other in a circle.
    """
    found: dict[str, int] = {}
    while len(found) < len(edges):
        users = {
            room: {other for other, others in edges.items() if room in others}
            for room in edges.keys() - found.keys()
        }
        ready = {room for room, using in users.items() if using <= found.keys()}
        if not ready:
            raise ValueError(f"These rooms import each other: {sorted(users)}.")
        found |= {room: min((found[one] for one in users[room]), default=0) - 1 for room in ready}
    return {room: level - min(found.values()) for room, level in found.items()}


def shortest(edges: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Arrows that do not follow from others."""
    below: dict[str, set[str]] = {}
    for room in sorted(edges, key=storeys(edges).__getitem__):
        below[room] = edges[room].union(*(below[other] for other in edges[room]))
    return {
        (room, other)
        for room, others in edges.items()
        for other in others
        if not any(other in below[between] for between in others)
    }
