"""Checking data against a schema: every fault named once, no value shown."""

import json
import math
import re

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.data.rows import require_columns
from understudy.data.sources import open_rows
from understudy.errors import DataError
from understudy.schema import Schema
from understudy.schema.file_format import FileFormat
from understudy.steward.check import CheckReport, Finding, check

SCHEMA = Schema.loads("""
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
[columns.age]
kind = "integer"
lower = 0
upper = 99
missing = [-9]
[columns.income]
kind = "continuous"
lower = 0
upper = 1000
missing = [""]
[columns.born]
kind = "date"
lower = 1900-01-01
upper = 2020-12-31
[columns.voted]
kind = "boolean"
[[forbidden]]
where = { sex = "m", voted = true }
""")

GOOD = {
    "sex": ["f", "m", "f"],
    "age": [0, 99, -9],
    "income": [0.5, None, 1000.0],
    "born": ["1900-01-01", "2020-12-31", "1970-02-03"],
    "voted": [True, False, False],
}


def data(**changes):
    return pl.DataFrame({**GOOD, **changes}, strict=False)


def problems(report):
    return {(one.column, one.problem.split(",")[0], one.count) for one in report.findings}


def test_data_that_fit():
    report = check(data(), SCHEMA)
    assert report.ok
    assert report == CheckReport((), ())
    assert report.lines() == []


@pytest.mark.parametrize(
    ("changes", "column", "problem", "count"),
    [
        ({"sex": ["f", "w", "x"]}, "sex", "holds values that are not among the levels", 2),
        ({"sex": ["f", None, ""]}, "sex", "holds empty cells", 2),
        ({"age": [-1, 100, 5]}, "age", "holds values below lower or above upper", 2),
        ({"age": [0.5, 1.0, 2.0]}, "age", "holds numbers that are not whole", 1),
        ({"age": [math.inf, None, 2.0]}, "age", "holds infinite values", 1),
        ({"age": ["1", "two", "x"]}, "age", "holds values that are no numbers", 2),
        ({"income": ["inf", "", "3"]}, "income", "holds infinite values", 1),
        ({"income": [-0.1, 5.0, 5.0]}, "income", "holds values below lower or above upper", 1),
        ({"born": ["1899-12-31"] * 3}, "born", "holds values below lower or above upper", 3),
        ({"born": ["2020-02-30", "x", "1950-01-01"]}, "born", "holds values that are no dates", 2),
        ({"voted": ["yes", "TRUE", "0"]}, "voted", "holds values that are not true", 1),
    ],
)
def test_each_fault_is_named_with_its_column_and_rows(changes, column, problem, count):
    report = check(data(**changes), SCHEMA)
    found = [one for one in report.findings if one.column == column]
    assert any(one.problem.startswith(problem) and one.count == count for one in found)
    assert not report.ok


def test_everything_is_reported_in_one_go():
    frame = data(sex=["w", "m", ""], age=[-1, 1, 1], voted=[True, True, None]).drop("born")
    frame = frame.with_columns(extra=1, income=pl.struct(a=0.5))
    report = check(frame, SCHEMA)
    assert problems(report) == {
        ("born", "is missing; add it to the data", 0),
        ("income", "has the type Struct({'a': Float64}) in the data", 0),
        ("sex", "holds values that are not among the levels and codes", 1),
        ("sex", "holds empty cells", 1),
        ("age", "holds values below lower or above upper", 1),
        ("voted", "holds empty cells", 1),
        (None, "The forbidden combination sex = m and voted = true occurs", 1),
    }
    assert report.notes == (Finding("extra", "is not in the schema and will not be released", 0),)


def test_lines_withhold_counts_unless_asked():
    report = check(data(sex=["w", "w", "f"], voted=[True, False, None]), SCHEMA)
    withheld, shown = report.lines(), report.lines(counts=True)
    assert not any(digit in "".join(withheld) for digit in "0123456789"[3:])
    assert withheld[0] == (
        "Column 'sex' holds values that are not among the levels and codes, which will be counted "
        "as out of domain; correct the data, or declare these values."
    )
    assert shown[0] == withheld[0].removesuffix(".") + " (2 rows)."
    assert shown[1].endswith("(1 row).")
    assert "2" not in repr(report.findings[0])


def test_a_declared_code_turns_unfit_values_into_a_note():
    schema = Schema.loads(
        SCHEMA.dumps().replace('kind = "categorical"', 'kind = "categorical"\nout_of_domain = "?"')
    )
    report = check(data(sex=["w", "?", None]), schema)
    assert report.ok
    assert {(note.problem.split(",")[0], note.count) for note in report.notes} == {
        ("holds empty cells", 1),
        ("holds values that are not among the levels and codes", 1),
    }
    assert all("released under the code out_of_domain" in line for line in report.lines())
    assert all(line.startswith("Note: Column 'sex' ") for line in report.lines())


def with_rows(entry):
    return Schema.loads(f"{entry}\n" + SCHEMA.dumps().replace('rows = "private"\n', ""))


def test_the_number_of_rows():
    assert check(data(), with_rows('rows = "public"\nn_rows = 3')).ok
    assert check(data(), with_rows("row_limit = 3")).ok
    report = check(data(), with_rows('rows = "public"\nn_rows = 4'))
    assert "another number of rows than the public n_rows = 4" in report.lines()[0]
    report = check(data(), with_rows("row_limit = 2"))
    assert "more rows than row_limit = 2" in report.lines()[0]
    nothing = check(pl.DataFrame({"x": [1, 2, 3]}), with_rows("row_limit = 2"))
    assert len(nothing.findings) == 6  # five columns and the limit


def test_files_and_empty_tables(tmp_path):
    data().write_csv(tmp_path / "a.csv")
    assert check(tmp_path / "a.csv", SCHEMA).ok
    data().head(0).write_csv(tmp_path / "b.csv")
    assert check(tmp_path / "b.csv", SCHEMA).ok
    assert not check(pd.DataFrame(), SCHEMA).ok


def test_a_table_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_text('sex,"age\nf,1\n')
    with pytest.raises(DataError, match="header has a quote that is not closed"):
        check(tmp_path / "a.csv", SCHEMA)


def test_lines_of_a_text_file_that_make_no_record_are_named_with_their_cause(tmp_path):
    path = tmp_path / "a.csv"
    data().write_csv(path)
    good = path.read_bytes()
    secret = b"Aurelia"
    bad = [
        *(b"f,1," + secret, b"", b'"' + secret + b",1,2,1970-02-03,true", secret + b"\xe9,1,2,3,4"),
        *(b'f,1"' + secret + b",1,1970-02-03,true", b'f,"1"' + secret + b",1,2,3", b"\0,,,,"),
    ]
    path.write_bytes(good + b"\n".join(bad) + b"\n")
    report = check(path, SCHEMA)
    assert [(one.column, one.count) for one in report.findings] == [(None, 7)]
    line = report.lines()[0]
    for told in (
        "line 5 has 3 cells where the header has 5",
        "line 6 is blank",
        "line 7 has a quote that is not closed in it",
        "line 8 holds bytes that are not utf-8 text",
        "line 9 has a quote inside a cell that does not begin with one",
        "each of which will be counted as one record out of domain",
    ):
        assert told in line
    assert "line 10" not in line
    assert secret.decode() not in line


def test_numbers_of_lines_count_lines_where_records_have_several(tmp_path):
    schema = SCHEMA.model_copy(update={"file": FileFormat(multiline=True)})
    rows = 'f,1,"1\n\n",1970-02-03,true\n' * 2 + "f\n" + 'f,1,"1\n'
    (tmp_path / "a.csv").write_text(f"{','.join(SCHEMA.names)}\n{rows}")
    (line,) = [one for one in check(tmp_path / "a.csv", schema).lines() if "The file" in one]
    assert "line 8 has 1 cell where" in line
    assert "line 9 has a quote that is not closed" in line


def test_an_unreadable_column_is_a_finding():
    structs = pl.struct(a=1)
    report = check(data().with_columns(income=structs), SCHEMA)
    assert [one.column for one in report.findings] == ["income"]
    assert "Struct({'a': Int32})" in report.lines()[0]
    assert check(data().with_columns(extra=structs), SCHEMA).ok


def test_values_of_another_type_are_a_finding_like_any_that_do_not_fit():
    frame = data().to_pandas().assign(income=pd.Timedelta("1D"))
    wanted = {("income", "holds values that are no numbers", 3)}
    assert problems(check(frame, SCHEMA)) == wanted
    assert problems(check(frame.astype({"income": object}), SCHEMA)) == wanted


def test_complex_numbers_are_a_finding_by_their_type_and_as_objects_by_their_values():
    """pandas makes complex numbers of others, and leaves its empty cells to chance."""
    frame = data().to_pandas().assign(income=1j)
    assert problems(check(frame, SCHEMA)) == {("income", "has the type complex128 in the data", 0)}
    wanted = {("income", "holds values that are no numbers", 3)}
    assert problems(check(frame.astype({"income": object}), SCHEMA)) == wanted


def test_a_type_that_has_lost_the_levels_is_a_finding():
    schema = Schema.loads('[columns.code]\nkind = "categorical"\nlevels = ["03", "3"]')
    for rows in (0, 2):
        (fault,) = check(pd.DataFrame({"code": [3, 4]}).head(rows), schema).findings
        assert fault.problem.startswith("has the type Int64 in the data, which cannot tell all")
    assert check(pd.DataFrame({"code": ["03", "3"]}), schema).ok


SECRETS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map("secret ".__add__)


@settings(derandomize=True, deadline=None, max_examples=30 if NIGHT else 10)
@given(st.lists(SECRETS, min_size=3, max_size=3))
def test_no_value_stops_the_check_or_shows_up(values):
    frame = pl.DataFrame(dict.fromkeys(SCHEMA.names, values))
    report = check(frame, SCHEMA)
    assert {one.column for one in report.findings} == set(SCHEMA.names)
    text = "\n".join(report.lines(counts=True)) + repr(report)
    assert not any(value in text for value in values)


def test_values_are_shown_only_where_they_were_asked_for_twice():
    frame = data(sex=["w", "w", "f"], age=["1", "Aurelia", "Aurelia"])
    silent, told = check(frame, SCHEMA), check(frame, SCHEMA, examples=True)
    assert silent == told
    assert "Aurelia" not in "".join(silent.lines(counts=True, examples=True))
    assert "Aurelia" not in "".join(told.lines(counts=True)) + repr(told)
    assert told.lines(counts=True, examples=True)[1].endswith("(2 rows; such as 'Aurelia').")
    many = check(
        data(
            sex=[f"level {k}" for k in range(3)] * 9,
            age=[1] * 27,
            income=[1.0] * 27,
            born=["1950-01-01"] * 27,
            voted=[False] * 27,
        ),
        SCHEMA,
        examples=True,
    )
    assert len(many.findings[0].examples) == 3


@pytest.mark.parametrize("word", ["NA", "NaN", "n/a", "NULL", "?", "."])
def test_words_for_no_value_are_told_with_the_code_to_declare(word):
    (line,) = check(data(income=["1", word, "3"]), SCHEMA).lines()
    assert f"holds the word {word!r}, which will be counted as out of domain" in line
    assert f'declare missing = ["{word}"] if it says that there is no value' in line
    declared = SCHEMA.columns["income"].model_copy(update={"missing": ("", word)})
    columns = {**SCHEMA.columns, "income": declared}
    assert check(data(income=["1", word, "3"]), SCHEMA.model_copy(update={"columns": columns})).ok


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize("quoting", [0, 1])
def test_another_separator_is_one_finding_that_names_it(mark, quoting, tmp_path):
    path = tmp_path / "a.csv"
    data().to_pandas().to_csv(path, sep=mark, index=False, quoting=quoting)
    said = f"separator = {json.dumps(mark)}"
    if quoting:
        with pytest.raises(DataError, match=re.escape(f"(separator = {mark!r})")):
            check(path, SCHEMA)
    else:
        (line,) = check(path, SCHEMA).lines()
        assert said in line
        with pytest.raises(DataError, match=re.escape(said)):
            require_columns(open_rows(path, SCHEMA).columns, SCHEMA, "The file")
    form = {"file": FileFormat(separator=mark)}
    assert check(path, SCHEMA.model_copy(update=form)).ok


def test_columns_that_are_missing_are_no_matter_of_the_separator():
    report = check(data().drop("sex", "age"), SCHEMA)
    assert [one.column for one in report.findings] == ["sex", "age"]


HEADERS = {
    "texts of questions and names of fields": (
        'Your sex?,Your age?,"Your\nincome?",Born on?,Voted?\n{a},{b},{c},{d},{e}\n',
        "first 2 lines",
    ),
    "units": ("-,years,euro,day,-\n", "first line"),
    "a record": ("f,5,3,1950-01-01,false\n", None),
    "a record with a fault": ("f,five,3,1950-01-01,false\n", None),
    "no answer at all": (",,,,\n", None),
}


@pytest.mark.parametrize("case", HEADERS)
def test_lines_of_a_header_that_stand_among_the_rows_are_found(case, tmp_path):
    lines, told = HEADERS[case]
    head, _, rest = data().write_csv().partition("\n")
    (tmp_path / "a.csv").write_text(f"{head}\n{lines}{rest}", encoding="utf-8")
    schema = SCHEMA.model_copy(update={"file": FileFormat(multiline=True)})
    found = [one for one in check(tmp_path / "a.csv", schema).lines() if "behind the names" in one]
    assert len(found) == (told is not None)
    assert told is None or f"The {told} behind the names" in found[0]


def test_line_breaks_in_cells_are_told_with_the_entry_that_reads_them(tmp_path):
    (tmp_path / "a.csv").write_text(data().write_csv() + 'f,1,"1\n",1950-01-01,false\n')
    report = check(tmp_path / "a.csv", SCHEMA)
    assert "write multiline = true in the table [file]" in report.lines()[0]
    form = {"file": FileFormat(multiline=True)}
    assert "multiline" not in "".join(
        check(tmp_path / "a.csv", SCHEMA.model_copy(update=form)).lines()
    )
