"""Labels of SPSS and Stata: syntax that is never run, and files without a row."""

import pandas as pd
import pytest

import understudy as us
from made_codebooks import DDI, SPSS, STATA
from understudy.errors import SchemaError


def read(folder, text, name):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return us.read_codebook(path)


def test_spss_syntax(tmp_path):
    text = """\
* Don't stop at an apostrophe.
variable labels
  q1 'It''s one' /q2 "Two" q3 'Three'.
var lab town 'Town'.
add value labels q1 to q3 1 'yes' 2 'no' 98 'not asked' 99 'refused'
 /town 'A' 'Aberdeen' 'B' 'Bath'.
missing values q1 to q3 (98 thru hi) /town ('B').
FORMATS income (F8.2) /born (EDATE10) /clock (TIME8).
DATA LIST FILE='x.dat' / q1 1-2.
"""
    book = read(tmp_path, text, "a.sps")
    q2 = book.columns["q2"]
    assert (q2.levels, q2.missing, q2.description) == ((1, 2), (98, 99), "Two")
    assert book.columns["q1"].description == "It's one"
    assert (book.columns["town"].levels, book.columns["town"].missing) == (("A",), ("B",))
    assert book.asked["income"].entries["decimals"] == 2
    assert book.asked["born"].entries["kind"] == "date"
    assert list(book.told) == ["clock"]


def test_a_label_that_a_published_file_breaks_is_whole(tmp_path):
    text = "VALUE LABELS a\n 1 'one of\n two'\n 2 'x'.\n"
    assert read(tmp_path, text, "a.sps").columns["a"].value_labels == {"1": "one of two", "2": "x"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("VARIABLE LABELS\n a 'x\n b 'y'.\n", "line 2 .*quotes does not end"),
        ("VALUE LABELS a 1.\n", "line 1 .*VALUE LABELS needs"),
        ("\n\nMISSING VALUES a.\n", "line 3 .*MISSING VALUES needs"),
        ("MISSING VALUES a (THRU 9).\n", "line 1 .*THRU"),
        ("VALUE LABELS a TO d 1 'x'.\n", "line 1 .*a TO d names variables"),
        ("FORMATS a (?).\n", "line 1 .*FORMATS needs"),
        ("GET FILE 'x'.\n", "no variable"),
    ],
)
def test_faults_of_spss_syntax_name_their_line(tmp_path, text, words):
    with pytest.raises(SchemaError, match=words):
        read(tmp_path, text, "a.sps")


def test_stata_syntax(tmp_path):
    book = read(tmp_path, STATA, "a.do")
    sex = book.columns["sex"]
    assert (sex.levels, sex.missing, sex.value_labels[".a"]) == ((1, 2), (".a",), "no answer")
    assert (book.title, sex.description) == ("People of a town", "Sex of the respondent")
    text = """\
/* a comment
of two lines */ #delimit ;
capture label define yn 0 "no; never"
  1 "yes" ;
lab val a b yn ;
#delimit cr
lab def yn 2 "perhaps", add
format %td born
format %9.2f income
exit
"""
    book = read(tmp_path, text.replace("of two lines */ ", "of two lines */\n"), "b.do")
    assert book.columns["b"].value_labels == {"0": "no; never", "1": "yes", "2": "perhaps"}
    assert book.asked["born"].entries["kind"] == "date"
    assert book.asked["income"].entries["decimals"] == 2
    words = read(tmp_path, 'label define f CN "Form CN"\nlabel values form f\n', "c.do")
    assert words.columns["form"].levels == ("CN",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\nlabel variable a x\n", "line 2 .*label variable needs"),
        ('label define yn 1 "a" 2\n', "line 1 .*label define needs"),
        ("label values a* yn\n", "line 1 .*not patterns"),
        ("label values a\n", "line 1 .*label values needs"),
        ('label variable a "x\n', "line 1 .*does not end"),
    ],
)
def test_faults_of_stata_syntax_name_their_line(tmp_path, text, words):
    with pytest.raises(SchemaError, match=words):
        read(tmp_path, text, "a.do")


def write_sav(path, rows):
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra `files` is not installed")
    frame = pd.DataFrame(
        {"sex": [1.0, 2.0, 9.0], "mood": [1.0, 2.0, 3.0], "age": [20.0, 30.0, 40.0]}
    )
    pyreadstat.write_sav(
        frame.head(rows),
        path,
        file_label="People of a town",
        column_labels={"sex": "Sex of the respondent"},
        variable_value_labels={
            "sex": {1: "male", 2: "female", 9: "no answer"},
            "mood": {1: "bad", 2: "so so", 3: "good"},
        },
        missing_ranges={"sex": [9]},
        variable_measure={"sex": "nominal", "mood": "ordinal", "age": "scale"},
        variable_format={"sex": "F3.0", "mood": "F3.0", "age": "F3.0"},
    )
    return path


def test_a_file_without_rows_is_a_codebook_and_one_with_rows_is_not(tmp_path):
    book = us.read_codebook(write_sav(tmp_path / "labels.sav", 0))
    (tmp_path / "a.sps").write_text(SPSS)
    same = us.read_codebook(tmp_path / "a.sps")
    assert book.columns == same.columns
    assert book.asked["age"].needed == ("lower", "upper")
    with pytest.raises(SchemaError, match="holds rows, so it is confidential"):
        us.read_codebook(write_sav(tmp_path / "rows.sav", 3))


def test_the_labels_of_a_file_and_its_ddi_say_the_same(tmp_path):
    book = us.read_codebook(write_sav(tmp_path / "labels.sav", 0))
    (tmp_path / "a.xml").write_text(DDI)
    same = us.read_codebook(tmp_path / "a.xml")
    assert book.columns == {name: same.columns[name] for name in ("sex", "mood")}


def test_a_draft_of_the_rows_with_their_labels_says_the_same_and_marks_it(tmp_path):
    (tmp_path / "a.xml").write_text(DDI)
    book = us.read_codebook(tmp_path / "a.xml")
    draft = us.Schema.loads(us.draft(write_sav(tmp_path / "rows.sav", 3))).declared
    for name in ("sex", "mood"):
        entries = ("kind", "levels", "missing", "value_labels", "description")
        said, read = (
            {key: getattr(c[name], key) for key in entries} for c in (book.columns, draft)
        )
        assert said == read
        assert book.columns[name].left_as_drafted == ()
        assert "levels" in draft[name].left_as_drafted


def test_labels_of_stata_without_rows(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra `files` is not installed")
    path = tmp_path / "labels.dta"
    frame = pd.DataFrame({"sex": [1, 2], "name": ["a", "b"], "income": [0.5, 1.5]})
    labels = {"sex": {1: "male", 2: "female"}}
    said = {"column_labels": {"sex": "Sex"}, "variable_value_labels": labels}
    pyreadstat.write_dta(frame.head(0), path, **said)
    book = us.read_codebook(path)
    assert (book.columns["sex"].levels, book.columns["sex"].description) == ((1, 2), "Sex")
    assert book.asked["income"].entries["kind"] == "continuous"
    assert list(book.told) == ["name"]
    pyreadstat.write_dta(frame, path, **said)
    with pytest.raises(SchemaError, match="holds rows"):
        us.read_codebook(path)
