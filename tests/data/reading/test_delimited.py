"""Reading delimited text: against a slow reader of single lines, in blocks of any size."""

import gzip

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.data import csv
from understudy.data.csv import MALFORMED, Delimited, cells_of, decode_text, is_delimited
from understudy.data.sources import open_rows
from understudy.data.table import Table
from understudy.schema import Schema
from understudy.schema.file_format import RECORD_LINES, FileFormat

pytestmark = pytest.mark.fuzz

reproducible = settings(
    derandomize=True,
    deadline=None,
    max_examples=300 if NIGHT else 100,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def read(path, form=None, **options):
    """All cells, row by row."""
    file = Delimited(path, form or FileFormat(), **options)
    return file.lazy().collect().rows()


def slow_cells(text, separator, quote):
    """The cells of one record, character by character: "open" in a quote, None if malformed."""
    cells, at = [], 0
    while True:
        if quote and text[at : at + 1] == quote:
            cell, at = "", at + 1
            while True:
                if at == len(text):
                    return "open"
                if text[at : at + 2] == 2 * quote:
                    cell, at = cell + quote, at + 2
                elif text[at] == quote:
                    break
                else:
                    cell, at = cell + text[at], at + 1
            cells.append(cell)
            at += 1
            if text[at:] in ("", "\r"):
                return cells
            if text[at] != separator:
                return None
        else:
            end = text.find(separator, at)
            last = end < 0
            cell = text[at:].removesuffix("\r") if last else text[at:end]
            if quote and quote in cell:
                return None
            cells.append(cell or None)
            if last:
                return cells
            at = end
        at += 1


def slow_records(body, n, form, separator):
    """Every record of the lines behind the header, read by itself."""
    lines = body.split(b"\n")
    if not lines[-1]:
        lines.pop()
    most, at, found = RECORD_LINES if form.multiline else 1, 0, []
    while at < len(lines):
        cells, used = None, 0
        while used < min(most, len(lines) - at):
            used += 1
            try:
                text = b"\n".join(lines[at : at + used]).decode(form.encoding)
            except UnicodeDecodeError:
                cells = None
                break
            cells = None if "\0" in text else slow_cells(text, separator, form.quote)
            if cells != "open":
                break
        fits = isinstance(cells, list) and len(cells) == n
        found.append(tuple(cells) if fits else (MALFORMED,) * n)
        at += used if fits else 1
    return found


FORMS = [
    FileFormat(),
    FileFormat(multiline=True),
    FileFormat(separator=";", quote="'"),
    FileFormat(separator="\t", quote="", encoding="windows-1252"),
    FileFormat(encoding="latin-1", multiline=True),
]
PARTS = [
    b"a",
    b"1",
    b" ",
    b",",
    b",",
    b";",
    b"\t",
    b'"',
    b'"',
    b"'",
    b"\r",
    b"\0",
    b"\xc3",
    b"\xa9",
]
WHOLE = [b'"a\nb",c\n', b'1,"\n\n"\n', b'"a\r\nb","""\n"\r\n', b"1,2\n", b"'1\n';2\n", b'1,"2']
BODIES = st.lists(st.sampled_from(WHOLE), max_size=6) | st.lists(
    st.sampled_from([*PARTS, b"\x81", b"\n", b"\n", b"\n", b'","', b"\xe2\x80\xa8"])
)


@reproducible
@given(BODIES.map(b"".join), st.sampled_from(FORMS), st.sampled_from([1, 3, 16, 2**22]))
def test_every_record_is_what_a_slow_reader_makes_of_it_alone(tmp_path, body, form, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "BLOCK_BYTES", block)
        patch.setattr(csv, "_CELLS_AT_ONCE", max(1, block // 8))
        path = tmp_path / "a.csv"
        separator = form.separator or ","
        path.write_bytes(separator.join("xy").encode() + b"\n" + body)
        assert read(path, form) == slow_records(body, 2, form, separator)


@reproducible
@given(BODIES.map(b"".join), st.sampled_from([FORMS[0], *FORMS[2:4]]))
def test_the_words_for_a_fault_belong_to_the_lines_that_have_one(tmp_path, body, form):
    separator = form.separator or ","
    path = tmp_path / "a.csv"
    path.write_bytes(separator.join("xy").encode() + b"\n" + body)
    rows = read(path, form)
    told, count = Delimited(path, form).faults(10**9)
    bad = [k for k, row in enumerate(rows) if row == (MALFORMED, MALFORMED)]
    assert [int(line.split()[1]) - 2 for line in told] == bad
    assert count == len(bad)
    lines = body.split(b"\n")
    for k, row in enumerate(rows):
        cells = cells_of(
            decode_text(lines[k].removesuffix(b"\r"), form.encoding).decode(), separator, form
        )
        fits = isinstance(cells, list) and len(cells) == 2
        assert fits == (k not in bad)
        if fits:
            assert [one or "" for one in row] == cells


LONGEST = 40


@reproducible
@given(
    st.lists(st.sampled_from([b"1,2", b"a" * 39, b"a" * 40, b"a" * 41, b"a" * 99, b"", b",\r"])),
    st.sampled_from([1, 7, 64, 2**22]),
    st.booleans(),
)
def test_lines_that_are_too_long_are_malformed_and_never_held(tmp_path, lines, block, ends):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "LINE_BYTES", LONGEST)
        patch.setattr(csv, "BLOCK_BYTES", block)
        body = b"\n".join(lines) + b"\n" * ends
        path = tmp_path / "a.csv"
        path.write_bytes(b"x\n" + body)
        found = read(path)
        pieces = body.removesuffix(b"\n").split(b"\n") if body else []
        short = [one.removesuffix(b"\r").decode() for one in pieces]
        expected = [
            MALFORMED if len(one) > LONGEST or b"," in one else text or None
            for one, text in zip(pieces, short, strict=True)
        ]
        assert [cell for (cell,) in found] == expected
        with path.open("rb") as stream:
            held = [len(piece) for piece in csv.pieces(path, stream)]
        assert max(held) <= LONGEST + block + 1


def test_what_is_a_text_file(tmp_path):
    for name in ("a.csv", "A.TSV", "a.txt.gz", tmp_path / "a.CSV.GZ"):
        assert is_delimited(name)
    for other in ("a.parquet", "csv", "a.gz", None, pl.DataFrame()):
        assert not is_delimited(other)


@pytest.mark.parametrize(
    ("name", "content", "form", "expected"),
    [
        ("a.csv", b"a,b\n1,2\n", {}, [("1", "2")]),
        ("a.csv", b"\xef\xbb\xbfa,b\r\n1,2\r\n", {}, [("1", "2")]),
        ("a.tsv", b"a\tb\n1\t2\n", {}, [("1", "2")]),
        ("a.tsv", b"a,b\n1,2\n", {"separator": ","}, [("1", "2")]),
        ("a.txt", b"a|b\n1|2\n", {"separator": "|"}, [("1", "2")]),
        ("a.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), {}, [("1", "2")]),
        ("a.csv.gz", b"a,b\n1,2\n", {}, [("1", "2")]),
        ("a.csv", '"\u00e4","b,b"\n"1","2"'.encode(), {}, [("1", "2")]),
        ("a.csv", b'"a\nb","c"\n1,"x\ny"\n', {"multiline": True}, [("1", "x\ny")]),
        ("a.csv", b"a\n1\n\n2\n\n", {}, [("1",), (None,), ("2",), (None,)]),
        ("a.csv", b'a,b\n"",\n""""," "\n', {}, [("", None), ('"', " ")]),
        ("a.csv", b"a,b", {}, []),
        ("a.csv", b"a,b\n", {}, []),
    ],
)
def test_files_of_every_form(name, content, form, expected, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name, FileFormat(**form)) == expected


def test_headings_keep_their_names(tmp_path):
    (tmp_path / "a.csv").write_bytes('"a,""b""",,*,^x$,\u00e4 '.encode())
    assert Delimited(tmp_path / "a.csv", FileFormat()).columns == (
        'a,"b"',
        "",
        "*",
        "^x$",
        "\u00e4 ",
    )


def test_columns_are_read_in_the_order_they_are_asked_for(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    lazy = Delimited(tmp_path / "a.csv", FileFormat()).lazy()
    assert lazy.select("c", "a").collect().rows() == [("3", "1"), ("6", "4")]
    assert lazy.filter(pl.col("b") == "5").select("a").collect().rows() == [("4",)]
    assert lazy.head(1).collect().rows() == [("1", "2", "3")]
    assert lazy.select(pl.len()).collect().item() == 2


NUMBERS = Schema.loads("""
[file]
separator = ";"
decimal = ","
[columns.real]
kind = "continuous"
lower = 0
upper = 100
bins = 100
missing = [-9.5, "", "."]
[columns.grade]
kind = "ordinal"
levels = [0.5, 1, "1.500"]
[columns.code]
kind = "categorical"
levels = ["01.11", "1,5"]
[columns.day]
kind = "date"
lower = 2020-01-01
upper = 2020-12-31
""")


def test_a_decimal_comma_is_read_in_columns_of_numbers_alone(tmp_path):
    (tmp_path / "a.csv").write_text(
        "real;grade;code;day\n"
        " 3,5 ;0,5;01.11;2020-01-01\n"
        "1.5;0.5;1,5;2020-01-01\n"  # a point is no decimal mark here
        "1.500;1,500;1.5;2020-01-01\n"
        "-9,5;1,0;1.12;2020-01-01\n"
        ".;1;1,50;2020-01-01\n"
        "1e1;x,y;;2020-01-01\n"
        ",5;;01,11;2020-01-01\n"
        "1,2,3;1.500;;2020-01-01\n"
    )
    real, grade, code, _ = (
        part.tolist() for part in Table(tmp_path / "a.csv", NUMBERS).code_rows().expose()
    )
    none, size = 103, 3
    assert real == [3, none, none, 100, 102, 10, 0, none]
    assert grade == [0, size, 2, 1, 1, size, size, size]
    assert code == [0, 1, 2, 2, 2, 2, 2, 2]


def test_other_tables_have_no_form(tmp_path):
    frame = pl.DataFrame({"real": [3.5], "grade": [0.5], "code": ["1,5"], "day": ["2020-01-01"]})
    frame.write_parquet(tmp_path / "a.parquet")
    for data in (frame, tmp_path / "a.parquet"):
        assert open_rows(data, NUMBERS).count() == 1
        assert [int(part[0]) for part in Table(data, NUMBERS).code_rows().expose()][:3] == [3, 0, 1]


@pytest.mark.parametrize(
    ("thousands", "decimal", "cells", "plain"),
    [
        (".", ",", ["1.234,5", "1.234.567", "1234", "12.34", "-1.000"], None),
        (",", ".", ["1,234.5", "1,234,567", "1234", "12,34", "-1,000"], None),
        (" ", ".", ["1 234.5", "1\u00a0234\u202f567", "1234", "12 34", "-1\u2009000"], None),
        ("'", ".", ["1'234.5", "1'234'567", "1234", "12'34", "-1'000"], None),
    ],
)
def test_marks_between_thousands_are_read_where_they_stand_rightly(
    thousands, decimal, cells, plain, tmp_path
):
    path = tmp_path / "a.csv"
    path.write_text("n;t\n" + "".join(f"{cell};{cell}\n" for cell in cells), encoding="utf-8")
    form = FileFormat(separator=";", decimal=decimal, thousands=thousands)
    rows = Delimited(path, form, {"n": ""}).lazy().collect()
    numbers = rows["n"].cast(pl.Float64, strict=False).to_list()
    assert numbers == [1234.5, 1234567.0, 1234.0, plain, -1000.0]
    assert rows["t"].to_list() == cells
