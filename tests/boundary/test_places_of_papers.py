"""Each place that `docs/evidence/papers.md` names is reached from a public name of its package.

A definition is reached if a public name is it, or if a definition that is reached refers to it in
its code, or by its place: its module and its name, as tables of what is loaded have them.
Annotations, docstrings and imports for the type checker are no references, and an import that
nothing uses is none either. A place is reached if one of its definitions is. What cannot be seen is
a method of a class that is reached, and whether a condition ever holds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from source_trees import tree_of

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "src", ROOT / "studies/src")
PLACES = sorted(
    set(
        re.findall(
            r"`((?:studies/)?src/[\w/]+\.py)`", (ROOT / "docs/evidence/papers.md").read_text()
        )
    )
)
ROOTS = ("understudy", "understudy_studies.all_studies")
Node = tuple[str, str]
Imports = dict[str, tuple[str, str]]


def module_of(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_for_the_type_checker(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports_in(nodes: Iterator[ast.AST]) -> Imports:
    """What each imported name stands for: a module, and a name in it or ""."""
    found: Imports = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.split(".")[0]] = (
                    one.name if one.asname else one.name.split(".")[0],
                    "",
                )
        if isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                found[one.asname or one.name] = node.module, one.name
    return found


def code_of(node: ast.AST) -> Iterator[ast.AST]:
    """All of a definition but annotations, in any order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not (
                    isinstance(child, ast.stmt) and is_for_the_type_checker(child)
                ):
                    waiting.append(child)


class Package:
    """Definitions of modules, and which refer to which.

    Args:
        trees: of modules by their names.
    """

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self.definitions: dict[Node, list[ast.stmt]] = {}
        self.imports: dict[str, Imports] = {}
        self.exports: dict[str, Imports] = {}
        for module, tree in trees.items():
            body = tree.body
            plain = [one for one in body if not is_for_the_type_checker(one)]
            self.imports[module] = imports_in(iter(plain))
            told = [
                one for block in body if is_for_the_type_checker(block) for one in ast.walk(block)
            ]
            self.exports[module] = imports_in(iter(told))  # of names that `__getattr__` loads
            for statement in plain:
                for name in self._names(statement):
                    self.definitions.setdefault((module, name), []).append(statement)

    @staticmethod
    def _names(statement: ast.stmt) -> list[str]:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return [statement.name]
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return []
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            return [
                one.id for each in targets for one in ast.walk(each) if isinstance(one, ast.Name)
            ]
        return [""]  # runs as soon as the module is loaded

    def resolved(self, module: str, name: str) -> Node | None:
        """Where a name of a module is defined; of a module itself, with the name ""."""
        seen = set()
        while (module, name) not in seen:
            seen.add((module, name))
            if f"{module}.{name}" in self.imports:
                return f"{module}.{name}", ""
            if (module, name) in self.definitions:
                return module, name
            known = self.imports.get(module, {}) | self.exports.get(module, {})
            if name not in known:
                return None
            module, name = known[name]
            if not name:
                return (module, "") if module in self.imports else None
        return None

    def referred(self, node: Node) -> Iterator[Node]:
        """Definitions that one refers to."""
        module, _ = node
        for statement in self.definitions.get(node, ()):
            inside = list(code_of(statement))
            local = self.imports[module] | imports_in(iter(inside))
            for one in inside:
                if isinstance(one, ast.Name):
                    found = self._named(module, one.id, local)
                elif isinstance(one, ast.Attribute):
                    found = self._attribute(module, one, local)
                elif isinstance(one, ast.Tuple):
                    found = self._place(one)
                else:
                    continue
                if found is not None:
                    yield found

    def _named(self, module: str, name: str, local: Imports) -> Node | None:
        if name in local:
            home, own = local[name]
            return self.resolved(home, own) if own else (home, "")
        return (module, name) if (module, name) in self.definitions else None

    def _place(self, node: ast.Tuple) -> Node | None:
        """What a table says where to load."""
        parts = [one.value for one in node.elts if isinstance(one, ast.Constant)]
        if len(parts) != 2 or parts[0] not in self.imports:
            return None
        return self.resolved(str(parts[0]), str(parts[1]))

    def _attribute(self, module: str, node: ast.Attribute, local: Imports) -> Node | None:
        """Of a module that was imported."""
        owner: Node | None = None
        if isinstance(node.value, ast.Name):
            owner = self._named(module, node.value.id, local)
        elif isinstance(node.value, ast.Attribute):
            owner = self._attribute(module, node.value, local)
        if owner is None or owner[1] or owner[0] not in self.imports:
            return None
        return self.resolved(owner[0], node.attr)

    def reached(self, roots: list[Node]) -> set[Node]:
        """Definitions that some lead to."""
        found: set[Node] = set()
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if node in found:
                continue
            found.add(node)
            waiting += [*self.referred(node), (node[0], "")]
        return found


@cache
def reached() -> set[Node]:
    """From the public names of the package, and from the table of studies."""
    trees = {
        module_of(path, source): tree_of(path)
        for source in SOURCES
        for path in source.rglob("*.py")
    }
    package = Package(trees)
    public = ast.literal_eval(
        next(
            ast.unparse(one.value)
            for one in trees["understudy"].body
            if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__all__"
        )
    )
    roots = [package.resolved("understudy", name) for name in public]
    assert None not in roots
    tables = [node for node in package.definitions if node[0] == ROOTS[1]]
    return package.reached([node for node in (*roots, *tables) if node is not None])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.nightly(every=12)
def test_a_place_is_reached_from_a_public_name(place):
    path = ROOT / place
    source = next(source for source in SOURCES if path.is_relative_to(source))
    module = module_of(path, source)
    assert any(one == module and name for one, name in reached()), place


def test_places_are_found():
    assert len(PLACES) > 40


TEXTS = {
    "made": "from made.home import used\nfrom made import other\n"
    "if TYPE_CHECKING:\n    from made.checked import checked\n"
    "def public():\n    from made.late import late\n    return used(), late(), other.by_module()\n",
    "made.home": "from made.idle import idle\n"
    "from made.annotated import annotated\n"
    "def used(x: annotated) -> annotated:\n    '''idle'''\n    return helper\n"
    "helper = 1\n"
    "def dead():\n    return idle\n",
    "made.late": "def late():\n    pass\n",
    "made.other": "def by_module():\n    pass\ndef beside():\n    pass\n",
    "made.idle": "def idle():\n    pass\n",
    "made.annotated": "class annotated:\n    pass\n",
    "made.checked": "def checked():\n    pass\n",
}


def test_what_is_only_imported_annotated_or_used_by_what_is_dead_is_not_reached():
    trees = {module: ast.parse(text) for module, text in TEXTS.items()}
    found = {node for node in Package(trees).reached([("made", "public")]) if node[1]}
    assert found == {
        ("made", "public"),
        ("made.home", "used"),
        ("made.home", "helper"),
        ("made.late", "late"),
        ("made.other", "by_module"),
    }
