"""What `understudy methods NAME` tells: every option of every method, with a meaning of its own."""

import re
from dataclasses import dataclass, fields
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from understudy.methods.base import Names
from understudy.methods.registry import METHODS, configure, kind_of, options_of


@pytest.mark.parametrize("name", METHODS)
def test_all_options_are_told_in_their_order(name):
    found = options_of(kind_of(name))
    assert [one.name for one in found] == [field.name for field in fields(METHODS[name])]


@pytest.mark.parametrize("name", METHODS)
def test_each_option_has_a_type_and_a_meaning(name):
    """The meaning is more than the list of values that stands beside it."""
    for option in options_of(METHODS[name]):
        values = {*re.findall(r"[\w-]+", option.type), "or", "and", "always"}
        said = [word for word in re.findall(r"[\w-]+", option.meaning) if word not in values]
        assert len(said) >= 2, option
        assert option.meaning.endswith((".", ").")), option
        assert not re.search("typing|<class|annotated", option.type, re.IGNORECASE), option


@pytest.mark.parametrize("name", METHODS)
def test_the_defaults_are_those_of_the_configuration(name):
    """Given as they are told, options make the very method that none make."""
    told = {one.name: one.default for one in options_of(kind_of(name)) if one.default is not None}
    assert configure(name, told) == configure(name, {})


@dataclass(frozen=True, kw_only=True)
class Upper:
    """Something.

    Attributes:
        size: how large,
            in two lines.
        kept: whether it stays.

    Sources:
        nobody: not an option.
    """

    size: Annotated[int, Field(ge=1, le=9)] | None = None
    kept: bool = True


@dataclass(frozen=True, kw_only=True)
class Lower(Upper):
    """Something else.

    Attributes:
        form: its form.
        kept: said anew.
    """

    constant: ClassVar[int] = 1
    form: Literal["a", "b"] = "a"
    names: Names = ("x",)


def test_types_and_meanings_are_read_off_the_class_and_those_above():
    found = {one.name: one for one in options_of(Lower)}
    assert list(found) == ["size", "kept", "form", "names"]
    assert found["size"].type == "whole number ≥ 1 and ≤ 9; or none"
    assert found["size"].meaning == "how large, in two lines."
    assert found["kept"].meaning == "said anew."
    assert (found["kept"].type, found["kept"].default) == ("true or false", True)
    assert found["form"].type == "a, b"
    assert found["names"].default == ["x"]
    assert found["names"].meaning == ""
