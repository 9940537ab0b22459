"""The page of the schema has every entry, with an example that is one."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SCHEMA = json.loads((DOCS / "schema.json").read_text(encoding="utf-8"))
PARTS = {"": SCHEMA} | {name: one for name, one in SCHEMA["$defs"].items() if name != "Entries"}


@pytest.fixture(scope="module")
def page():
    sys.path.insert(0, str(DOCS))
    try:
        import schema_page
    finally:
        sys.path.remove(str(DOCS))
    return schema_page


@pytest.mark.parametrize("name", PARTS)
def test_every_entry_has_an_example_of_its_type(page, name):
    jsonschema = pytest.importorskip("jsonschema", reason="an extra is not installed")
    examples = page.every_example(ROOT, SCHEMA)
    for key, entry in PARTS[name]["properties"].items():
        text = examples[name, key]
        assert text, f"{name}.{key} needs an example in ALONE"
        if text.startswith("["):
            assert key in text.strip("[]").split("."), "a heading"
            continue
        content = tomllib.loads(text)
        assert set(content) == {key}
        plain = json.loads(json.dumps(content[key], default=str))
        read = jsonschema.Draft202012Validator(entry | {"$defs": SCHEMA["$defs"]})
        assert [one.message for one in read.iter_errors(plain)] == []


def test_the_page_says_all_that_the_schema_has(page):
    text = "\n".join(page.schema_page(ROOT))
    for part in PARTS.values():
        for key, entry in part["properties"].items():
            assert f"| `{key}` |" in text
            assert entry.get("description", "").replace("|", "&#124;") in text
    assert "`levels = [" in text
    assert page.type_words({"enum": ["a", 1]}) == '`"a"` or `1`'
    assert (
        page.type_words({"type": "integer", "minimum": 1, "maximum": 30})
        == "whole number from 1 to 30"
    )
