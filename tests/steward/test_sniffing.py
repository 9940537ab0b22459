"""Finding out how a text file is written, and drafts of files that are written in other ways."""

import gzip
import tomllib

import pandas as pd
import pytest

from made_workbook import text, write_workbook
from understudy.errors import DataError, SchemaError
from understudy.schema import Schema
from understudy.schema.file_format import FileFormat
from understudy.steward.check import check
from understudy.steward.column_draft import sniff_format
from understudy.steward.draft import draft_schema

CASES = {
    "as usual": ("a,b\nx,1.5\ny,2.5\n", {}),
    "tabs where they are usual": ("a\tb\nx\t1\n", {}),
    "semicolons": ("a;b\nx;1.5\ny;2.5\n", {"separator": ";"}),
    "bars": ("a|b|c\nx|1,2,z|3\n", {"separator": "|"}),
    "tabs": ("a\tb\nx,y\t1\n", {"separator": "\t"}),
    "decimal commas": ("a;b\nx;1,5\ny;2,5\nz;3\n", {"separator": ";", "decimal": ","}),
    "more points than commas": ("a;b;c\nx;1.5;1,5\ny;2.5;w\n", {"separator": ";"}),
    "a column of decimal commas": ("a\n1,5\n2,5\n", {"separator": ";", "decimal": ","}),
    "one column": ("a\nx\ny\n", {}),
    "one line": ("a;b\n", {"separator": ";"}),
    "separators inside quotes": ('a,b\n"x;y;z",1\n"u;v;w",2\n', {}),
    "quotes in quotes": ('"a";"b"\n"x ""y""";"1"\n', {"separator": ";"}),
    "single quotes": ("'a','b'\n'x,y','1'\n", {"quote": "'"}),
    "apostrophes": ("a,b\nO'Brien,1\nd'Arc,2\n", {}),
    "inches": ('a,b\n5" pipe,1\n7" pipe,2\n', {"quote": ""}),
    "a name over two lines": ('"a\nyears",b\nx,1\ny,2\n', {"multiline": True}),
    "levels over two lines": ('a,b\n"low\n(<5)",1\nhigh,2\n"low\n(<5)",3\n', {"multiline": True}),
    "remarks over two lines": (
        'a;b;c\nx;1;"one\n\ntwo, ""three""\n"\ny;2;"four\nfive"\n',
        {"separator": ";", "multiline": True},
    ),
    "one remark over two lines": ("a,b\n" + "x,1\n" * 50 + '"y\nz",2\n', {"multiline": True}),
    "a break far below": ("a,b\n" + "x,1\n" * 5000 + '"y\nz",2\n', {"multiline": True}),
    "quotes that open and never close": ('a,b\n"x,1\n' + "y,2\n" * 9 + '"z,3\n', {"quote": ""}),
    "one stray quote": ('a,b\n"x",1\n"y",2\n5" pipe,3\n', {}),
    "one line that is longer": ("a,b\n" + "x,1\n" * 20 + "x,1;2;3;4,5\n", {}),
    "UTF-8": ("a,b\n\u00f6,1\n", {}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.nightly(every=2)
def test_what_is_found(case, packed, tmp_path):
    text, expected = CASES[case]
    path = tmp_path / (
        ("a.tsv" if "usual" in case and "tabs" in case else "a.csv") + ".gz" * packed
    )
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert sniff_format(path) == FileFormat(**expected)
    path.write_bytes(path.read_bytes() if packed else text.replace("\n", "\r\n").encode())
    assert sniff_format(path) == FileFormat(**expected)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"\xf6,1\n", "windows-1252"),
        (b"\xf6\x81,1\n", "windows-1252"),
        ("\u00f6,1\n".encode() * 3 + b"\xf6,1\n", "utf-8"),
        ("\u00f6,1\n".encode() + b"\xf6,1\n" * 3, "windows-1252"),
        (b"x,1\n" * 2_000_000 + b"\xf6,1\n", "windows-1252"),
    ],
)
def test_the_encoding_is_that_of_most_characters(body, encoding, tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + body)
    assert sniff_format(tmp_path / "a.csv") == FileFormat(encoding=encoding)


def test_a_file_without_a_header_or_in_utf_16_is_refused(tmp_path):
    for content, phrase in ((b"", "no header line"), ("a;b\n1;2\n".encode("utf-16"), "UTF-16")):
        (tmp_path / "a.csv").write_bytes(content)
        with pytest.raises(DataError, match=phrase):
            sniff_format(tmp_path / "a.csv")
        with pytest.raises(DataError, match=phrase):
            draft_schema(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_bytes(b"\x81,b\n1,2\n")
    with pytest.raises(DataError, match="header holds bytes that are not windows-1252"):
        draft_schema(tmp_path / "a.csv")
    with pytest.raises(DataError, match="does not exist"):
        draft_schema(tmp_path / "nowhere.csv")


TABLE = pd.DataFrame(
    {
        "city": ["K\u00f6ln", "Bonn; Beuel", "Ulm"] * 20,
        "weight": [k / 8 for k in range(60)],
        "grade": [0.5, 1.5, 2.5] * 20,
        "code": ["1,5", "x", "1.5"] * 20,
        "sex": [1, 2, 2] * 20,
    }
)


def german(path):
    TABLE.to_csv(path, sep=";", decimal=",", encoding="windows-1252", index=False)
    return path


def test_a_draft_of_a_file_of_another_form_has_its_columns_and_says_how_it_is_written(tmp_path):
    path = german(tmp_path / "a.csv")
    text = draft_schema(path)
    written = tomllib.loads(text)
    assert written["columns"].keys() == set(TABLE.columns)
    told = {"encoding": "windows-1252", "separator": ";", "decimal": ","}
    assert {key: written["file"][key] for key in told} == told
    assert written["file"]["reviewed"] is False
    assert written["file"]["drafted"].keys() == told.keys()
    schema = Schema.loads(text)
    assert schema.columns["city"].levels == ("Bonn; Beuel", "K\u00f6ln", "Ulm")
    assert schema.columns["grade"].levels == (0.5, 1.5, 2.5)
    assert schema.columns["code"].levels == ("1.5", "1,5", "x")
    assert schema.columns["sex"].levels == (1, 2)
    assert (schema.columns["weight"].kind, schema.columns["weight"].upper) == ("continuous", 7.4)
    report = check(path, schema)
    assert report.ok, report.lines()


def test_what_a_draft_read_off_the_file_needs_review(tmp_path):
    text = draft_schema(german(tmp_path / "a.csv"))
    head, mark, rest = text.partition("reviewed = false")
    schema = Schema.loads(head + mark + rest.replace("reviewed = false", "reviewed = true"))
    assert schema.file.left_as_drafted == ("encoding", "separator", "decimal")
    with pytest.raises(SchemaError, match=r"confirm that the entries of the table \[file\] come"):
        schema.require_reviewed()
    Schema.loads(text.replace("reviewed = false", "reviewed = true")).require_reviewed()


def test_line_breaks_in_cells_are_proposed_and_need_review(tmp_path):
    """Claim: no half of a cell becomes a level, and what one cell decides has a mark."""
    path = tmp_path / "a.csv"
    path.write_text('"x\nyears",g\n' + '"low\n(<5)",d\nhigh,e\n' * 40, encoding="utf-8")
    text = draft_schema(path)
    schema = Schema.loads(text)
    assert schema.columns["x\nyears"].levels == ("high", "low\n(<5)")
    assert schema.columns["g"].levels == ("d", "e")
    assert schema.file == FileFormat(multiline=True, drafted=schema.file.drafted)
    assert schema.file.left_as_drafted == ("multiline",)
    with pytest.raises(SchemaError, match=r"the table \[file\]"):
        schema.require_reviewed()
    assert check(path, schema).ok


@pytest.mark.parametrize(
    "text",
    [
        "x,y,z\n" + ('1,2,"' + "word\n" * 150 + '"\n') * 20,  # cells of more lines than are read
        "Survey of 2024\n\nx,y,z\n" + "1,2,3\n" * 20,  # a title above the names
    ],
)
def test_a_file_most_of_whose_lines_fit_no_form_is_not_drafted(text, tmp_path):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="cannot be drafted: most of its lines"):
        draft_schema(tmp_path / "a.csv")


def test_a_usual_file_has_nothing_to_review(tmp_path):
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    assert "[file]" not in draft_schema(tmp_path / "a.csv").partition("format")[2]
    assert "[file]" not in draft_schema(TABLE).partition("format")[2]


def test_malformed_lines_do_not_make_columns_text(tmp_path):
    path = german(tmp_path / "a.csv")
    path.write_bytes(path.read_bytes() + b'"\n1;2\n\n\x81;1;1;1;1\n')
    schema = Schema.loads(draft_schema(path))
    assert [column.kind for column in schema.columns.values()] == [
        *("categorical", "continuous", "ordinal", "categorical", "categorical")
    ]
    (told,) = check(path, schema).lines()
    assert "line 62 has a quote" in told


@pytest.mark.parametrize(
    ("cells", "decimal", "thousands"),
    [
        (("1.234,50", "12,25", "3"), ",", "."),
        (("1,234.50", "12.25", "3"), ".", ","),
        (("1 234,50", "12,25"), ",", " "),
        (("1\u00a0234.50", "12\u202f345"), ".", " "),
        (("1'234.50", "12.25"), ".", "'"),
        (("1.234.567", "12"), ",", "."),
        (("1.234", "12.5"), ".", ""),
        (("1234", "12"), ".", ""),
    ],
)
def test_marks_between_thousands_are_found(cells, decimal, thousands, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b\n" + "".join(f"{cell};x\n" for cell in cells), encoding="utf-8")
    form = sniff_format(path)
    assert (form.decimal, form.thousands) == (decimal, thousands)


def test_a_form_that_is_known_is_not_read_off_the_file(tmp_path):
    place = tmp_path / "people.csv"
    place.write_text("x^y\n" + "".join(f"{k % 7},5^{'ab'[k % 2]}\n" for k in range(200)))
    with pytest.raises(DataError, match="--file separator"):
        draft_schema(place)
    form = {"separator": "^", "decimal": ",", "quote": "none", "source": "manual, page 3"}
    schema = Schema.loads(draft_schema(place, file=form))
    assert schema.names == ("x", "y")
    assert schema.columns["x"].labels[0] == "0.5"
    assert (schema.file.quote, schema.file.source) == ("", "manual, page 3")
    assert not schema.file.drafted
    assert check(place, schema).findings == ()
    place.write_text(place.read_text().replace("^", "\t"))
    tabs = Schema.loads(draft_schema(place, file={"separator": "tab", "decimal": ","}))
    assert tabs.file.separator == "\t"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"separator": "^^"}, "one character"),
        ({"seperator": ";"}, "no such entry"),
        ({"encoding": "utf-16"}, "one of the encodings"),
        ({"decimal": ","}, "separator"),
        ("separator=;", "file"),
    ],
)
def test_a_form_that_no_file_has_is_refused(tmp_path, form, words):
    (tmp_path / "people.csv").write_text("a;b\n1;2\n")
    with pytest.raises(SchemaError, match=words):
        draft_schema(tmp_path / "people.csv", file=form)


def test_the_sheet_of_a_workbook_is_named(tmp_path):
    pytest.importorskip("fastexcel", reason="an extra is not installed")
    rows = [[text("job")], *([text(one)] for one in "abab" * 20)]
    write_workbook(tmp_path / "people.xlsx", rows, names=("Notes", "Answers"))
    schema = Schema.loads(draft_schema(tmp_path / "people.xlsx", file={"sheet": "Answers"}))
    assert (schema.names, schema.file.sheet) == (("job",), "Answers")
    with pytest.raises(DataError, match="sheet"):
        draft_schema(tmp_path / "people.xlsx", file={"sheet": "Others"})
