"""The page of errors has every class, code and message, each with what to do."""

import re
import sys
from pathlib import Path

import pytest

from understudy.inference.rules import CODES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import errors_page
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return errors_page


def test_every_code_has_its_cause_and_its_remedy(page):
    assert sorted(page.causes()) == sorted(page.CODES) == sorted(CODES)
    guide = (ROOT / "docs/how-to/analyst.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \|$", guide, re.MULTILINE)
    assert sorted(told) == sorted(CODES)


def test_every_class_has_a_remedy_and_most_have_messages(page):
    names = [one.__name__ for one in page.classes()]
    assert names == list(page.REMEDIES)
    found = page.messages(ROOT)
    assert sum(map(len, found.values())) > 800
    assert len(found) > len(names) - 3


def test_a_message_stands_there_with_what_to_do(page):
    text = "\n".join(page.errors_page(ROOT))
    assert "| The checkpoint … is in use by another run. | Wait for its end. |" in text
    rows = re.findall(r"^\| .* \|$", text, re.MULTILINE)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 4}


def test_commands_that_are_advised_are_there(page):
    from typer.main import get_command

    from understudy.cli.app import app

    commands = get_command(app).commands
    advised = re.findall(r"understudy ([a-z]+)", " ".join(page.REMEDIES.values()))
    assert len(advised) > 4
    assert set(advised) <= set(commands)
