"""Examples in docstrings of the source give what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = [
    ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
    for source in (ROOT / "src", ROOT / "studies" / "src")
    for file in sorted(source.rglob("*.py"))
    if ">>> " in file.read_text("utf-8")
]
LONG = {name: [pytest.mark.whole] * name.startswith("understudy_studies") for name in MODULES}
"""Studies run for long, and their kernels are compiled anew."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=LONG[name]) for name in MODULES])
def test_examples_give_what_they_show(name, capsys):
    failed, attempted = doctest.testmod(import_module(name))
    assert attempted, name
    assert not failed, capsys.readouterr().out
