"""What a text of the source names in back-quotes is there: files, modules, functions."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from source_trees import nodes_of, tree_of

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PLACES = (ROOT, SOURCE, SOURCE / "understudy", ROOT / "tests", ROOT / "studies" / "src")
QUOTED = re.compile(r"`([A-Za-z_][\w./]*)(?:\([^`]*\))?`")
FOREIGN = {"json_serialize_plan", "SINGLE_TABLE_V1"}
"""Names of other programs."""


@cache
def trees():
    """Path → syntax tree, of every file of the source."""
    return {path: tree_of(path) for path in sorted(SOURCE.rglob("*.py"))}


@cache
def known_names():
    """Every name in the source, and every short text: a key, an option, a column of a file."""
    found = {path.stem for path in trees()} | {path.parent.name for path in trees()} | FOREIGN
    for tree in trees().values():
        for node in nodes_of(tree):
            for kind in ("name", "id", "attr", "arg", "asname"):
                if isinstance(name := getattr(node, kind, None), str):
                    found |= set(name.split("."))
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} if len(node.value) < 60 else set()
    return found


def lacking(text):
    """What a text names that is not there; a single word may be any word."""
    for name in QUOTED.findall(text):
        if "/" in name or name.endswith(".py"):
            if name.endswith(".py") and not any((place / name).exists() for place in PLACES):
                yield name
        elif ("_" in name or name.startswith("understudy.")) and not is_known(name.rstrip(".")):
            yield name


def is_known(name):
    """Whether each part of a name is one; after a module's name, one of its own."""
    parts, place = name.split("."), SOURCE
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if place != SOURCE and parts:
        file = place / f"{parts.pop(0)}.py"
        if not file.exists():  # a public name
            return place == SOURCE / "understudy" and set(parts) <= known_names()
        own = {getattr(node, "name", "") for node in trees()[file].body}
        own |= {node.id for node in nodes_of(trees()[file]) if isinstance(node, ast.Name)}
        return not parts or (parts[0] in own and set(parts) <= known_names())
    return set(parts) <= known_names()


def dotted(path):
    """The name of a module."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=dotted)
def test_what_is_named_is_there_and_elsewhere(path):
    text = path.read_text("utf-8")
    assert not list(lacking(text))
    assert f"`{dotted(path)}`" not in text, "a module that sends its reader to itself"


@pytest.mark.parametrize(
    "text", ["see `understudy.models.given`", "by `tree_sampling`", "in `dp/nowhere.py`"]
)
def test_what_is_not_there_is_noticed(text):
    assert list(lacking(text))


def places_in_contributing():
    """Each row of the table of CONTRIBUTING that says where something is: files and names."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = text.partition("| Where is … |")[2].partition("\n\n")[0]
    return [row.split("|")[2] for row in table.splitlines()[2:]]


def test_the_table_of_places_is_right():
    rows = places_in_contributing()
    assert len(rows) > 10
    for row in rows:
        for part in row.split(";"):
            file, *names = re.findall(r"`([^`]+)`", part)
            if file.endswith(".py"):
                body = trees()[SOURCE / "understudy" / file].body
                assert {getattr(node, "name", "") for node in body} >= set(names), part


def test_files_that_contributing_names_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for name in re.findall(r"`([\w/]+\.(?:py|md|json|toml|svg)|[\w/]+/)`", text):
        assert any((place / name).exists() for place in PLACES), name
