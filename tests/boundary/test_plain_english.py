"""Helps, messages, docstrings and pages keep to `docs/reference/plain-english.md`."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from typer.main import get_command

import understudy as us
from source_trees import calls_in, tree_of
from understudy.cli.app import app

ROOT = Path(__file__).parents[2]
RULES = ROOT / "docs/reference/plain-english.md"
ROW = re.compile(r"^\| (?!Turn\b|-)([^|]+?) \| [^|]+ \|$", re.MULTILINE)
TOLD_BY = ("Error", "Fault", "fault", "refuse", "warn")


def turns():
    """What is not written, from the table of the page."""
    return ROW.findall(RULES.read_text(encoding="utf-8"))


def found(texts):
    """Each place with a turn that is not written, wherever its lines break."""
    banned = re.compile(rf"\b(?:{'|'.join(map(re.escape, turns()))})\b", re.IGNORECASE)
    lines = ((place, " ".join(text.split())) for place, text in texts)
    return [(place, banned.search(text)[0]) for place, text in lines if banned.search(text)]


def helps(command, path="understudy"):
    """The help of every command and of every option."""
    yield path, command.help or ""
    for one in command.params:
        yield f"{path} {one.name}", getattr(one, "help", None) or ""
    for name, sub in getattr(command, "commands", {}).items():
        yield from helps(sub, f"{path} {name}")


def written(node):
    """The text that an expression writes, with a letter for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(written(part) or "X" for part in parts)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return written(left) + written(right)
    return ""


def messages():
    """The sentences that errors, refusals and warnings are made from."""
    for file in sorted((ROOT / "src/understudy").rglob("*.py")):
        for node in calls_in(tree_of(file)):
            if name_of(node.func).endswith(TOLD_BY):
                place = f"{file.relative_to(ROOT)}:{node.lineno}"
                yield from ((place, written(argument)) for argument in node.args)


def name_of(function):
    """The last part of what is called: `ast.unparse` of every call would take seconds."""
    return getattr(function, "attr", getattr(function, "id", ""))


def docstrings():
    """The docstrings of public names, and of what is public in their classes."""
    for name in us.__all__:
        thing = getattr(us, name)
        yield f"us.{name}", inspect.getdoc(thing) or ""
        for part, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not part.startswith("_"):
                yield f"us.{name}.{part}", inspect.getdoc(value) or ""


def pages():
    """Pages for people, without what programs read or print."""
    docs = ROOT / "docs"
    listed = [ROOT / "README.md", ROOT / "CHANGELOG.md", docs / "reference/glossary.md"]
    for room in ("start", "how-to", "understand"):
        listed += sorted((docs / room).glob("*.md"))
    for page in listed:
        code = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
        yield page.name, code.sub("", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("texts", "least"),
    [(lambda: helps(get_command(app)), 250), (messages, 1_000), (docstrings, 60), (pages, 20)],
    ids=["helps", "messages", "docstrings", "pages"],
)
def test_turns_of_the_list_are_not_written(texts, least):
    texts = list(texts())
    assert sum(bool(text) for _, text in texts) >= least, "not all were found"
    assert found(texts) == []


def test_a_turn_of_the_list_is_found():
    assert len(turns()) > 10
    assert "Turn" not in turns()
    assert found([("here", "A number\nline buys it."), ("there", "of whichever")]) == [
        ("here", "number line")
    ]


@pytest.mark.parametrize("name", ["start/first-release", "start/answers", "start/project"])
def test_a_tutorial_says_for_whom_and_how_long(name):
    first = (ROOT / f"docs/{name}.md").read_text("utf-8").split("\n\n")[1]
    assert first.startswith("For ")
    assert "At the end you" in first
    assert re.search(r"It\s+takes\s+\w+\s+minutes", first)
