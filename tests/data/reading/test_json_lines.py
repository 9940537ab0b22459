"""JSON lines: one object a line, columns from the schema, values as they are written."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.data.csv import MALFORMED
from understudy.data.frames import UNLIKE
from understudy.data.jsonl import JsonLines, is_json_lines
from understudy.errors import DataError
from understudy.schema import Schema
from understudy.steward.check import check

AGES = Schema.loads(
    '[columns.age]\nkind = "integer"\nlower = 0\nupper = 120\nmissing = [""]\nreviewed = true'
)


def cells(path, *names):
    return JsonLines(path, names).lazy().collect().rows()


def test_each_value_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"a": 1, "b": "x"}\n{"b": true}\r\n{"a": 12345678901234567890, "b": null}\n'
        b'{"a": 2.50, "b": [1]}\n{"a": NaN, "b": -Infinity}\n{"a": 1e999, "b": "\\u0000"}'
    )
    assert cells(path, "a", "b") == [
        *[("1", "x"), (None, "true"), ("12345678901234567890", None)],
        *[("2.50", UNLIKE), (None, "-Infinity"), ("1e999", UNLIKE)],
    ]
    assert cells(path, "never") == [(None,)] * 6


def test_a_line_that_is_no_record_is_one_out_of_domain_and_told(tmp_path):
    path = tmp_path / "a.ndjson.gz"
    lines = [b'{"age": 1}', b"[]", b"", b'{"age": 1, "age": 2}', b"{", b"\xff", b'{"age": 2}']
    path.write_bytes(b"\n".join(lines))
    assert cells(path, "age") == [("1",), *[(MALFORMED,)] * 5, ("2",)]
    report = check(path, AGES)
    assert len(report.findings) == 1
    assert report.findings[0].count == 5
    for told in ("line 2 holds no JSON object", "line 3 is blank", "line 4 has an object that"):
        assert told in report.findings[0].problem


def test_a_draft_has_every_key_that_occurs(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\nno\n{"b": 2, "a": 3}\n')
    assert JsonLines.with_all_keys(path).columns == ("a", "b")


def test_a_damaged_file_is_one_sentence(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(b"\x1f\x8b broken")
    with pytest.raises(DataError, match="truncated, damaged"):
        JsonLines.with_all_keys(path)
    assert is_json_lines(path)
    assert not is_json_lines("a.json")


SINGLE = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), SINGLE), max_size=6))
def test_what_python_writes_is_read(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    for found, record in zip(cells(path, "a", "b", "c"), records, strict=True):
        for cell, name in zip(found, "abc", strict=True):
            value = record.get(name)
            if isinstance(value, str):
                broken = any("\ud800" <= mark <= "\udfff" for mark in value)
                assert broken or cell == (UNLIKE if "\0" in value else value)
            else:
                assert cell == (None if value is None else json.dumps(value))
