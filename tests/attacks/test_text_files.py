"""Attacks on text files: one malformed record decides about itself, and about nothing else.

Each attack puts one record that was made to do harm into a file, at every place, and looks at the
codes of all the others, which must stay exactly as they were, and at the number of records.
"""

import gzip

import numpy as np
import pytest

from night import NIGHT
from understudy.data.table import Table
from understudy.errors import DataError
from understudy.schema import Schema

pytestmark = pytest.mark.fuzz

COLUMNS = """
[columns.city]
kind = "categorical"
levels = ["Ulm", "Bad, Aussee", "K\u00f6ln", "\\"X\\"", "\u2028"]
missing = [""]
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 100
missing = [""]
[columns.income]
kind = "continuous"
lower = 0
upper = 1000
bins = 1000
[columns.works]
kind = "boolean"
out_of_domain = "?"
"""
HEADER = "city,age,income,works\n"
RECORDS = [
    "Ulm,31,2.5,true",
    '"Bad, Aussee",0,999.5,false',
    "K\u00f6ln,,0.5,TRUE",
    '"""X""","47","12","1"',
    ",99,,",
    "\u2028,5,5,0",
]
SCHEMA = Schema.loads(COLUMNS)
OUT = [5 + 1, 99 + 2, 1000, 2]  # the state out of domain; of the last column, its declared code

ATTACKS = {
    "a stray quote at the start of a cell": b'"Ulm,31,2.5,true',
    "a stray quote inside a cell": b'Ul"m,31,2.5,true',
    "a stray quote at the end of the line": b'Ulm,31,2.5,tr"',
    "a quote that opens the last cell": b'Ulm,31,2.5,"',
    "a lone quote": b'"',
    "three quotes": b'"""',
    "text behind a closing quote": b'"Ulm"x,31,2.5,true',
    "a space before a quoted cell": b'Ulm, "31",2.5,true',
    "one cell too many": b"Ulm,31,2.5,true,x",
    "a separator too many": b"Ulm,31,2.5,true,",
    "one cell too few": b"Ulm,31,2.5",
    "one cell": b"Ulm",
    "nothing": b"",
    "a carriage return alone": b"\r",
    "only separators, too many": b",,,,,,,,",
    "a Latin-1 byte": b"K\xf6ln,31,2.5,true",
    "half a character at the end": b"Ulm,31,2.5,true\xc3",
    "half a character before a separator": b"Ulm\xe2\x80,31,2.5,true",
    "a surrogate in UTF-8": b"\xed\xa0\x80,31,2.5,true",
    "a NUL": b"Ulm\0,31,2.5,true",
    "the sign of a malformed record itself": b"\0,\0,\0,\0",
    "the sign of a line that is too long": b"\0long",
    "a carriage return behind a quoted cell": b'"Ulm"\r,31,2.5,true',
    "a line of 10 MB": b"Ulm,31,2.5," + b"x" * 10_000_000,
    "a line of 10 MB of quotes": b'"' * 10_000_000,
    "a line of 10 MB that would fit": b"Ulm,31,2.5,true" + b" " * 10_000_000,
    "just over the longest line": b" " * (2**20 - 8) + b"1,2,3,4,5",
}
HARMLESS = {
    "a carriage return inside a cell": (b"U\rlm,31,2.5,true", [6, 31, 2, 1]),
    "a byte order mark in the middle": (b"\xef\xbb\xbfUlm,31,2.5,true", [6, 31, 2, 1]),
    "Unicode line breaks": ("\u2028,\u2029\x85,\x0b\x0c,\x1c\x1e".encode(), [4, 101, 1000, 2]),
    "only separators": (b",,,", [5, 100, 1000, 2]),
    "quoted separators": (b'",,,",31,2.5,true', [6, 31, 2, 1]),
    "just the longest line": (b"Ulm,31,2.5," + b" " * (2**20 - 15) + b"true", [0, 31, 2, 1]),
}


def codes(path, schema=SCHEMA):
    """States of all records, shape (n, columns)."""
    return np.array(Table(path, schema).code_rows().expose()).astype(int).T


def file_of(folder, lines, *, end="\n", packed=False):
    """A file of these lines of bytes."""
    content = HEADER.encode() + end.encode().join([*lines, b""])
    path = folder / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    return path


GOOD = [record.encode() for record in RECORDS]
PLACES = range(len(GOOD) + 1)
"""For a malformed record; by day the first, one in the middle, and the last."""


def test_the_records_themselves(tmp_path):
    """What is attacked is not vacuous: every record has a code of its own."""
    expected = [
        [0, 31, 2, 1],
        [1, 0, 999, 0],
        [2, 100, 0, 1],
        [3, 47, 12, 1],
        [5, 99, 1000, 2],
        [4, 5, 5, 0],
    ]
    assert codes(file_of(tmp_path, GOOD)).tolist() == expected
    assert codes(file_of(tmp_path, GOOD, end="\r\n")).tolist() == expected
    assert codes(file_of(tmp_path, GOOD, packed=True)).tolist() == expected


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_malformed_record_is_one_record_out_of_domain(attack, tmp_path):
    """Claim: whatever a record holds, it is counted once, and every other one as without it."""
    before = codes(file_of(tmp_path, GOOD))
    for place in PLACES if NIGHT else PLACES[::3]:
        after = codes(file_of(tmp_path, [*GOOD[:place], ATTACKS[attack], *GOOD[place:]]))
        assert after[place].tolist() == OUT
        np.testing.assert_array_equal(np.delete(after, place, axis=0), before)


@pytest.mark.parametrize("attack", HARMLESS)
def test_odd_records_that_fit_are_read_cell_by_cell(attack, tmp_path):
    """Claim: what splits lines elsewhere (U+2028, U+0085, CR) splits none here."""
    record, expected = HARMLESS[attack]
    before = codes(file_of(tmp_path, GOOD))
    for place in range(len(GOOD) + 1):
        after = codes(file_of(tmp_path, [*GOOD[:place], record, *GOOD[place:]]))
        assert after[place].tolist() == expected
        np.testing.assert_array_equal(np.delete(after, place, axis=0), before)


@pytest.mark.parametrize("first", ['"Ulm,31,2.5,true', 'Ulm,31,2.5,"true', 'Ulm",31,2.5,true'])
def test_two_stray_quotes_swallow_nobody(first, tmp_path):
    """Claim: two stray quotes in different lines leave the lines between them alone."""
    before = codes(file_of(tmp_path, GOOD))
    bad = first.encode()
    for second in ('"', 'Ulm,31,2.5,true"', '",31,2.5,true'):
        after = codes(file_of(tmp_path, [GOOD[0], bad, *GOOD[1:-1], second.encode(), GOOD[-1]]))
        assert after[[1, -2]].tolist() == [OUT, OUT]
        np.testing.assert_array_equal(np.delete(after, [1, len(after) - 2], axis=0), before)


def test_a_record_that_holds_a_line_break_is_as_many_records_as_it_has_lines(tmp_path):
    """Claim: a line break ends a record inside quotes too; one cell makes two records."""
    before = codes(file_of(tmp_path, GOOD))
    after = codes(file_of(tmp_path, [*GOOD[:2], b'"Ulm\n",31,2.5,true', *GOOD[2:]]))
    assert after[2:4].tolist() == [OUT, OUT]
    np.testing.assert_array_equal(np.delete(after, [2, 3], axis=0), before)


@pytest.mark.parametrize("attack", ["a stray quote at the start of a cell", "a lone quote"])
def test_a_last_line_without_a_line_break(attack, tmp_path):
    """Claim: quotes that are open at the end of the file are the last record's own affair."""
    path = file_of(tmp_path, [*GOOD, ATTACKS[attack]])
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert codes(path)[-1].tolist() == OUT
    np.testing.assert_array_equal(codes(path)[:-1], codes(file_of(tmp_path, GOOD)))


@pytest.mark.parametrize("attack", [one for one, line in ATTACKS.items() if len(line) < 10**6])
def test_a_record_that_replaces_another_never_changes_the_number_of_rows(attack, tmp_path):
    """Claim: with a public number of rows, no record can make an error of the release."""
    schema = Schema.loads(f'rows = "public"\nn_rows = {len(GOOD)}\n' + COLUMNS)
    before = codes(file_of(tmp_path, GOOD))
    for place in PLACES[:-1] if NIGHT else PLACES[:-1:5]:
        path = file_of(tmp_path, [*GOOD[:place], ATTACKS[attack], *GOOD[place + 1 :]])
        after = codes(path, schema)
        assert after[place].tolist() == OUT
        np.testing.assert_array_equal(
            np.delete(after, place, axis=0), np.delete(before, place, axis=0)
        )


@pytest.mark.parametrize(
    ("file", "record"),
    [
        ('encoding = "windows-1252"', b"K\x81ln,31,2.5,true"),
        ('encoding = "windows-1252"', b'"K\xf6ln,31,2.5,true'),
        ('encoding = "latin-1"', b"K\xf6ln,31,2.5,true,x"),
        ('quote = ""', b"Ulm,31,2.5,true,x"),
        ('quote = "\'"', b"'Ulm,31,2.5,true"),
        ('separator = ";"\ndecimal = ","', b"Ulm;31;2,5"),
        ('separator = ";"\ndecimal = ","', b'"Ulm;31;2,5;true'),
        ("multiline = true", b'Ul"m,31,2.5,true'),
        ("multiline = true", b"Ulm,31,2.5,true,x"),
    ],
)
def test_a_malformed_record_in_a_file_of_another_form(file, record, tmp_path):
    """Claim: the same holds in every declared encoding, with every mark."""
    schema = Schema.loads(f"[file]\n{file}\n{COLUMNS}")
    form = schema.file
    lines = [one for one in RECORDS if '"' not in one and "\u2028" not in one]
    lines = [one.replace(".", form.decimal) if form.decimal != "." else one for one in lines]
    if form.separator:
        fields = [one.split(",") for one in HEADER.strip().split("\n") + RECORDS[:1] + RECORDS[4:5]]
        lines = [form.separator.join(one).replace(".", form.decimal) for one in fields]
    else:
        lines = [HEADER.strip(), *lines]
    head, *good = (line.encode(form.encoding) for line in lines)
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n".join([head, *good, b""]))
    before = codes(path, schema)
    assert (before[:, 0] < 6).all()
    assert before[0].tolist() == [0, 31, 2, 1]
    for place in range(len(good) + 1):
        path.write_bytes(b"\n".join([head, *good[:place], record, *good[place:], b""]))
        after = codes(path, schema)
        assert after[place].tolist() == OUT
        np.testing.assert_array_equal(np.delete(after, place, axis=0), before)


MULTILINE = Schema.loads(f"[file]\nmultiline = true\n{COLUMNS}")


def test_line_breaks_inside_quotes_where_they_are_declared(tmp_path):
    """Claim: `multiline = true` reads quoted line breaks; a stray quote that never closes hides
    nobody, and one that a later one closes hides at most the 99 lines behind it."""
    before = codes(file_of(tmp_path, GOOD), MULTILINE)
    np.testing.assert_array_equal(before, codes(file_of(tmp_path, GOOD)))
    broken = codes(file_of(tmp_path, [*GOOD[:2], b'"Ulm\n",31,2.5,true', *GOOD[2:]]), MULTILINE)
    assert broken[2].tolist() == [6, 31, 2, 1]
    np.testing.assert_array_equal(np.delete(broken, 2, axis=0), before)
    stray = codes(file_of(tmp_path, [*GOOD[:2], b'"Ulm,31,2.5,true', *GOOD[2:]]), MULTILINE)
    assert stray[2].tolist() == OUT
    np.testing.assert_array_equal(np.delete(stray, 2, axis=0), before)


@pytest.mark.parametrize("between", [0, 98, 99, 100, 5000])
def test_how_far_a_stray_quote_reaches_where_line_breaks_in_quotes_are_declared(between, tmp_path):
    """Claim: a record has at most 100 lines; what would have more is one malformed line each."""
    lines = [b'"Ulm', *[b"Ulm,31,2.5,true"] * between, b'",31,2.5,true']
    found = codes(file_of(tmp_path, [*lines, *GOOD]), MULTILINE)
    hidden = between <= 98
    n_before = 1 if hidden else between + 2
    assert len(found) == n_before + len(GOOD)
    np.testing.assert_array_equal(found[n_before:], codes(file_of(tmp_path, GOOD)))
    if not hidden:
        assert found[[0, between + 1]].tolist() == [OUT, OUT]
        assert (found[1 : between + 1] == [0, 31, 2, 1]).all()


def test_what_is_structural_is_an_error_before_anything_is_spent(tmp_path):
    """Claim not made: a damaged gzip file, or a broken header, is an error and is documented."""
    path = file_of(tmp_path, GOOD * 10_000, packed=True)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="cannot be read to the end"):
        codes(path)
