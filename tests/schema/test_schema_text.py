"""The text of a schema under change: what was asked is changed, and nothing else."""

import tomllib
from itertools import pairwise

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.errors import SchemaError
from understudy.schema.toml import SchemaText, entry_text, laid_out

reproducible = settings(derandomize=True, deadline=None, max_examples=60 if NIGHT else 25)

TEXT = '''# head
format = 1

# about age
[columns.age] # the age
kind = "integer"
lower = 0 # low
  # and the other bound
upper = 9
source = """
[columns.fake]
lower = 3
"""
missing = [
  # a comment
  "[x]",
]

# about the next one
[columns."b.c ]"]
kind = "categorical"
levels = [
"a",
  "x"]
[columns."b.c ]".value_labels]
a = "A"

# about rules
[[forbidden]]
where = { age = 3 }
'''


def changed(path, **entries):
    return str(SchemaText.of(TEXT).with_entries(path, entries))


def test_a_text_is_the_sum_of_its_pieces():
    text = SchemaText.of(TEXT)
    assert str(text) == TEXT
    assert len(text.pieces) == 5


def test_an_entry_is_changed_where_it_stands_and_comments_stay():
    assert changed(("columns", "age"), lower=5) == TEXT.replace("lower = 0 # low", "lower = 5")
    assert changed(("columns", "age"), source="law") == TEXT.replace(
        TEXT[TEXT.index('source = """') : TEXT.index("missing")], 'source = "law"\n'
    )
    assert changed(("columns", "age"), upper=None) == TEXT.replace("upper = 9\n", "")
    assert changed(("columns", "age"), reviewed=True) == TEXT.replace(
        '  "[x]",\n]\n', '  "[x]",\n]\nreviewed = true\n'
    )


def test_an_entry_with_a_table_of_its_own_moves_into_its_column():
    text = changed(("columns", "b.c ]"), value_labels={"a": "B"})
    assert 'value_labels = { a = "B" }' in text
    assert "# about rules" in text
    assert tomllib.loads(text)["columns"]["b.c ]"]["value_labels"] == {"a": "B"}


def test_a_block_is_taken_out_with_its_tables_and_written_anew():
    text = SchemaText.of(TEXT)
    block = text.block("columns", "b.c ]")
    assert block.startswith('[columns."b.c ]"]')
    assert block.endswith('a = "A"\n')
    assert str(text.with_block(("columns", "b.c ]"), block)) == TEXT
    without = str(text.with_block(("columns", "b.c ]"), "# gone"))
    assert list(tomllib.loads(without)["columns"]) == ["age"]
    assert all(comment in without for comment in ("# about the next", "# gone", "# about rules"))


def test_a_table_without_a_heading_is_told():
    text = SchemaText.of("columns.a.kind = 'boolean'")
    with pytest.raises(SchemaError, match=r"no table \[columns\.a\] under a heading of its own"):
        text.with_entries(("columns", "a"), {"reviewed": True})


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
values = words | st.integers(-(2**60), 2**60) | st.booleans() | st.lists(words, max_size=30)
tables = st.dictionaries(words, values, max_size=4)


@reproducible
@given(st.dictionaries(words, tables, min_size=1, max_size=4), st.data())
def test_whatever_is_changed_is_read_back_and_the_rest_too(columns, data):
    text = tomli_w.dumps({"columns": {k: laid_out(v) for k, v in columns.items()}})
    assert tomllib.loads(text)["columns"] == columns
    name = data.draw(st.sampled_from(sorted(columns)))
    key, value = data.draw(words), data.draw(values)
    after = SchemaText.of(text).with_entries(("columns", name), {key: value})
    expected = {**columns, name: {**columns[name], key: value}}
    assert tomllib.loads(str(after))["columns"] == expected
    assert list(tomllib.loads(str(after))["columns"]) == list(columns)
    gone = after.with_block(("columns", name), "# gone\n")
    left = {other: table for other, table in columns.items() if other != name}
    assert tomllib.loads(str(gone)).get("columns", {}) == left


@reproducible
@given(words, st.lists(values.filter(lambda one: not isinstance(one, list)), max_size=60))
def test_lists_fill_their_lines(key, items):
    text = entry_text(key, items)
    assert tomllib.loads(text) == {key: items}
    first, *inner = text.rstrip("\n").split("\n")
    assert len(first) <= 100
    for line, after in pairwise(inner[:-1]):
        value = tomli_w.dumps({"x": tomllib.loads(f"x = [{after}]")["x"][:1]}).split("\n")[1]
        assert len(line) <= 100 < len(line) + 1 + len(value.strip()), "full, and not too full"
