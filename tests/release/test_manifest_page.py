"""`docs/reference/manifest.md` is what its command writes from the shape of a manifest."""

import sys
from pathlib import Path

import pytest

from understudy.release.shape import Kind, _Manifest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def written(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.delitem(sys.modules, "manifest", raising=False)
    import manifest

    return manifest


def test_the_page_is_current(written):
    """If not: `python benchmarks/manifest.py`."""
    assert written.PAGE.read_text(encoding="utf-8") == written.page()


def test_every_entry_and_every_kind_has_its_row(written):
    rows = {line.split("|")[1].strip(" ()`") for line in written.page().splitlines() if "|" in line}
    assert {*_Manifest.model_fields, *(kind.value for kind in Kind)} <= rows


def test_every_class_of_the_shape_has_its_table(written):
    import ast
    import inspect

    tree = ast.parse(inspect.getsource(written.shape))
    plain = {
        one.name
        for one in tree.body
        if isinstance(one, ast.ClassDef) and [ast.unparse(base) for base in one.bases] == ["_Plain"]
    }
    assert plain == {*written.TITLES}
    entries = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name in plain]
    for entry in entries:
        fields = [one for one in entry.body if isinstance(one, ast.AnnAssign)]
        assert len([*written.rows_of(entry)]) == len(fields), entry.name
