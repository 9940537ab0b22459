"""Public branches of levels: by the beginnings of codes, or by name."""

import pytest

from understudy.errors import SchemaError
from understudy.schema import Schema
from understudy.schema.columns import LevelTree

LEVELS = ("a", "b", "c", 7)


def schema(hierarchy):
    levels = '["a", "b", "c", 7]'
    return Schema.loads(
        f'[columns.x]\nkind = "categorical"\nlevels = {levels}\nhierarchy = {hierarchy}\n'
    )


def test_branches_by_name_may_have_branches():
    parents = {"north": ("a", "b"), "south": (7,), "land": ("north", "c")}
    assert LevelTree(parents=parents).branches(LEVELS) == (
        ("north", "north", "land", "south"),
        ("land", "land", "land", "south"),
    )


def test_the_file_keeps_the_tree():
    for text in (
        "{ prefix = [1, 3] }",
        '{ parents = { north = ["a", 7], "all of it" = ["north"] } }',
    ):
        declared = schema(text)
        assert declared.columns["x"].hierarchy is not None
        assert Schema.loads(declared.dumps()) == declared


@pytest.mark.parametrize(
    ("hierarchy", "said"),
    [
        ("{ }", "either prefix or parents"),
        ('{ prefix = [1], parents = { n = ["a"] } }', "either prefix or parents"),
        ("{ prefix = [3, 1] }", "must increase"),
        ("{ prefix = [0] }", "hierarchy"),
        ('{ parents = { n = ["a"], s = ["a"] } }', "'a' has two parents"),
        ('{ parents = { n = ["s"], s = ["n"] } }', "lies below itself"),
        ('{ parents = { n = ["aa"] } }', "'aa', which is neither a level nor a branch"),
        ("[1, 3]", "prefix = "),
    ],
)
def test_what_is_no_tree(hierarchy, said):
    with pytest.raises(SchemaError, match=said):
        schema(hierarchy)
