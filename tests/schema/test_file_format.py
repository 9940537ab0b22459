"""The table [file]: what may be declared, what a draft's mark does, and what leaves."""

import re
from typing import get_args

import pytest

from understudy.dp.guarantee import drafted_leaks, file_conditions, public_inputs
from understudy.errors import SchemaError
from understudy.schema import Schema
from understudy.schema.file_format import RECORD_LINES, Encoding, FileFormat

COLUMN = '\n[columns.a]\nkind = "boolean"\nsource = "law"\nreviewed = true\n'


def schema(file):
    return Schema.loads(f"[file]\n{file}{COLUMN}")


@pytest.mark.parametrize("encoding", get_args(Encoding))
def test_a_line_break_is_one_byte_in_every_encoding_and_no_part_of_another(encoding):
    if encoding == "utf-8":
        characters = "".join(map(chr, [*range(0x80, 0xD800), *range(0xE000, 0x110000)]))
        assert min(characters.encode()) >= 0x80
        return
    single = [bytes([byte]).decode(encoding, "surrogateescape") for byte in range(256)]
    assert all(len(one) == 1 for one in single)
    assert "".join(single[:128]) == "".join(map(chr, range(128)))
    assert not any(one.isascii() for one in single[128:])


FAULTS = [
    ("encoding = 'utf-16'", "file, encoding: must be one of the encodings"),
    ("encoding = 'UTF-8'", "file, encoding: must be one of the encodings"),
    ("separator = ';;'", "file, separator: must be one character"),
    ("separator = 'a'", "separator must be one ASCII character that is no letter"),
    ("separator = '\u00a7'", "separator must be one ASCII character that is no letter"),
    ('separator = "\\n"', "separator must be one ASCII character that is no letter"),
    ('quote = "\\u0000"', "quote must be one ASCII character that is no letter"),
    ("quote = ' '", "quote must not be a space"),
    ("quote = ','", "must be different characters"),
    ("quote = ';'\nseparator = ';'", "must be different characters"),
    ("decimal = ','", "needs a separator that is no comma"),
    ("decimal = ','\nseparator = ','", "must be different characters"),
    ("decimal = '\u066b'", 'file, decimal: must be "." or ","'),
    ("separator = '.'", "must be different characters"),
    ("multiline = 1.5", "file, multiline: must be true or false"),
    ("lines = 3", "file, lines: there is no such entry"),
]


@pytest.mark.parametrize(("file", "phrase"), FAULTS, ids=[phrase for _, phrase in FAULTS])
def test_faults_are_told(file, phrase):
    with pytest.raises(SchemaError, match=re.escape(phrase)):
        schema(file)


@pytest.mark.parametrize(
    ("file", "name", "separator"),
    [
        ("", "a.csv", ","),
        ("", "a.txt.gz", ","),
        ("", "A.TSV", "\t"),
        ("", "a.tsv.gz", "\t"),
        ("separator = ';'", "a.tsv", ";"),
        ("separator = ' '", "a.csv", " "),
    ],
)
def test_the_separator_of_a_file(file, name, separator):
    assert schema(file).file.separator_in(name) == separator


FULL = 'encoding = "latin-1"\nseparator = ";"\nquote = ""\ndecimal = ","\nmultiline = true\n'


def test_entries_have_an_order_and_the_usual_ones_are_left_out():
    text = schema(f'reviewed = true\nsource = "letter"\n{FULL}').dumps()
    table = text.partition("[file]\n")[2].partition("\n\n")[0]
    assert table == f'{FULL}source = "letter"\nreviewed = true'
    assert Schema.loads(text).dumps() == text
    assert "[file]" not in schema("encoding = 'utf-8'").dumps()


def drafted(**entries):
    form = FileFormat(**entries)
    return form.model_copy(update={"drafted": form.fingerprints()})


def test_what_a_draft_found_needs_review_and_is_a_leak_until_it_is_confirmed():
    form = drafted(separator=";", encoding="windows-1252")
    plain = schema("")
    found = plain.model_copy(update={"file": form})
    with pytest.raises(SchemaError, match=r"the entries of the table \[file\] come from public"):
        found.require_reviewed()
    reviewed = plain.model_copy(update={"file": form.model_copy(update={"reviewed": True})})
    reviewed.require_reviewed()
    (leak,) = drafted_leaks(reviewed)
    assert "unchanged from a draft" in leak
    assert "encoding" in leak
    places = {"encoding": "letter of 3 May", "separator": "the same"}
    places |= {"quote": "the same", "decimal": "the same"}
    known = form.model_copy(update={"reviewed": True, "confirmed": places})
    assert drafted_leaks(plain.model_copy(update={"file": known})) == ()
    changed = form.model_copy(update={"encoding": "latin-1", "separator": "|"})
    assert set(changed.left_as_drafted) == {"quote", "decimal"}
    assert set(found.strip_fingerprints().file.drafted.values()) == {"unconfirmed"}
    assert found.strip_fingerprints().file.separator == ";"
    assert "drafted" not in plain.model_copy(update={"file": known}).strip_fingerprints().dumps()


def test_a_form_that_was_written_by_hand_needs_no_review():
    schema('separator = ";"').require_reviewed()


def test_what_is_declared_about_the_file_is_among_the_public_inputs():
    assert [one.what for one in public_inputs(schema(""))] == ["levels of a"]
    (_, told) = public_inputs(schema('separator = ";"\nmultiline = true'))
    assert told.what == "how a text file is written: separator ';', multiline true"
    assert told.note == "no source named"
    (_, told) = public_inputs(schema('separator = ";"\nsource = "letter"'))
    assert (told.source, told.note) == ("letter", "")


def test_line_breaks_inside_quotes_are_a_condition():
    assert file_conditions(schema("")) == ()
    (condition,) = file_conditions(schema("multiline = true"))
    assert f"can hide up to {RECORD_LINES - 1} lines" in condition
