"""What the documentation shows of the code, read off the source: its rooms, and what to trust."""

import re
import subprocess
import sys
from fractions import Fraction

import pytest

import house
import rooms
import trusted
from understudy.demo import demo_schema
from understudy.dp.budget import Budget

TEXT = '''"""A docstring.

Of several lines.
"""

import os  # counted


# not counted
class A:
    """Not counted."""

    x = """counted,
twice"""
    """Of an attribute: not counted."""

    def f(self):
        """Not counted."""
        return os.sep
'''
SIZE = re.compile(r"\b\d[\d,]*\b")


def test_only_code_is_counted():
    assert house.code_lines(TEXT) == 1 + 1 + 2 + 2
    assert house.Module("x", TEXT).lines == len(TEXT.splitlines())


@pytest.fixture(scope="module")
def package():
    return house.read_house()


def made_house(**texts):
    """A house of made-up modules: `a__b` stands for `a.b`."""
    names = {"": "", **texts}
    return {
        name: house.Module(name, text)
        for part, text in names.items()
        for name in [".".join(filter(None, [house.PACKAGE, *part.split("__")]))]
    }


def test_a_closure_follows_imports_in_functions_and_what_is_taken_from_a_package():
    found = made_house(
        a="from understudy.b import c",
        b="from understudy.unused import thing",
        b__c="def f():\n    import understudy.e\n    from understudy.d import thing",
        d="try:\n    from understudy.d.inner import thing\nfinally:\n    pass",
        d__inner="thing = 1",
        e="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import understudy.unused",
        unused="thing = 1",
    )
    names = {one.removeprefix("understudy.") for one in house.closure({"understudy.a"}, found)}
    assert names == {"a", "b", "b.c", "d", "d.inner", "e"}


@pytest.mark.parametrize("module", [trusted.GATE, trusted.ENGINE])
@pytest.mark.nightly
def test_a_closure_holds_all_that_an_import_loads(module, package):
    """Of the module and of its room, whose first file runs too."""
    code = f"import sys, {module}\nprint(*(n for n in sys.modules if n[:11] == 'understudy.'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert len(loaded) > 10
    assert loaded <= house.closure({module, module.rpartition(".")[0]}, package)


def test_a_room_stands_just_above_the_rooms_that_import_it():
    edges = {"a": set(), "b": {"a"}, "c": {"b", "a"}, "late": set(), "d": {"c", "late"}}
    assert house.storeys(edges) == {"a": 0, "b": 1, "c": 2, "late": 2, "d": 3}
    assert house.shortest(edges) == {("b", "a"), ("c", "b"), ("d", "c"), ("d", "late")}
    with pytest.raises(ValueError, match="import each other"):
        house.storeys({"a": {"b"}, "b": {"a"}})


def test_what_a_mechanism_is_handed_counts_as_well():
    held = (1, {"score": [Budget(epsilon=Fraction(1)), demo_schema()]})
    noisy_marginals = set(trusted.modules_of(held))
    assert {"understudy.dp.budget", "understudy.schema.schema"} <= noisy_marginals


def test_parts_of_what_is_trusted_share_no_module_and_hold_all(package):
    some = {"understudy.dp.confidential"}
    split = trusted.parts(some, package)
    names = [name for one in split.values() for name in one]
    assert len(names) == len(set(names))
    assert set(names) == house.closure({trusted.GATE, trusted.ENGINE, *some}, package)


def content(picture):
    """What a picture says, without the numbers; and the numbers."""
    texts = re.findall(r"<(?:text|title)[^>]*>([^<]*)<", picture)
    numbers = [int(one.replace(",", "")) for one in SIZE.findall("\n".join(texts))]
    return [SIZE.sub("", text) for text in texts], numbers


def test_the_picture_of_the_rooms_is_up_to_date(package):
    """Rooms, what they say, and arrows exactly; a size may be a tenth out, or two files: whoever
    adds a file to a room need not draw the house again."""
    stored, old = content(rooms.PICTURE.read_text(encoding="utf-8"))
    drawn, new = content(rooms.picture(package))
    assert stored == drawn, "run: python benchmarks/rooms.py"
    assert len(old) == len(new) > 40
    outdated = [(a, b) for a, b in zip(old, new, strict=True) if abs(a - b) > max(2, b / 10)]
    assert not outdated, "run: python benchmarks/rooms.py"


def test_the_picture_shows_a_look_at_the_rows_that_is_new(package):
    planted = house.Module("understudy.report.x", "from understudy.data import Table")
    drawn = [rooms.picture(one) for one in (package, package | {planted.name: planted})]
    looks = [text.count('class="look"') for text in drawn]
    assert looks[1] == looks[0] + 1
