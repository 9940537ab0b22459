"""Pages for newcomers avoid the turns that `docs/reference/plain-english.md` lists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = ROOT / "docs" / "reference" / "plain-english.md"
BANNED = tuple(re.findall(r"^\* (.+)$", RULES.read_text("utf-8"), re.MULTILINE))
FOR_NEWCOMERS = (
    ROOT / "README.md",
    *sorted((ROOT / "docs/start").glob("*.md")),
    *sorted((ROOT / "docs/understand").glob("*.md")),
    ROOT / "docs/reference/glossary.md",
)


def turns(text):
    """The banned turns in a text, wherever its lines break."""
    words = " ".join(text.lower().split())
    return [turn for turn in BANNED if re.search(rf"\b{re.escape(turn)}\b", words)]


def test_a_banned_turn_is_noticed_across_lines():
    assert len(BANNED) > 8
    assert turns("A table\nin the place\nof another.") == ["in the place of"]


@pytest.mark.parametrize("page", FOR_NEWCOMERS, ids=lambda page: page.name)
def test_a_page_for_newcomers_has_none(page):
    assert turns(page.read_text("utf-8")) == []


@pytest.mark.parametrize("name", ["start/first-release", "start/answers", "start/project"])
def test_a_tutorial_says_for_whom_and_how_long(name):
    first = (ROOT / f"docs/{name}.md").read_text("utf-8").split("\n\n")[1]
    assert first.startswith("For ")
    assert "At the end you" in first
    assert re.search(r"It\s+takes\s+\w+\s+minutes", first)
