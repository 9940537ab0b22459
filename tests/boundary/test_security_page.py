"""The threat model: claims about the boundary name tests that hold them, and these are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "understand" / "threat-model.md"
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def claims(*headings):
    """The points of some sections."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = [one for one in sections if one.splitlines()[0] in headings]
    assert len(texts) == len(headings)
    return [point for text in texts for point in re.split(r"^\* ", text, flags=re.MULTILINE)[1:]]


@pytest.mark.parametrize(
    "claim", claims("The boundary", "Several releases", "Releases from others")
)
def test_a_claim_names_its_tests(claim):
    assert REFERENCE.search(claim), claim


def test_the_tests_that_are_named_exist():
    named = set(REFERENCE.findall(PAGE.read_text(encoding="utf-8")))
    assert len(named) > 30
    for path, function in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {function or 'test_'}" in text, (path, function)
