"""Codebook first, rows second: who gave what is marked, and the rows change nothing it says."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import SchemaError
from understudy.schema import Schema

pytestmark = pytest.mark.whole

BOOK = """variable,label,code,value,missing,type,lower,upper
sex,Sex,1,male,,,,
,,2,female,,,,
,,9,no answer,yes,,,
age,Age,,,,integer,0,120
income,Income,-9,unknown,yes,integer,,
weight,,,,,number,0,
town,,,,,text,,
plan,,,,,categorical,,
born,,,,,date,,
note,A remark,,,,,,
id,,,,,identifier,,
away,,,,,integer,0,9
"""


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.csv"
    path.write_text(BOOK)
    return path


def rows(n=300):
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "sex": rng.choice([1, 2, 9], n),
            "age": rng.integers(20, 70, n),
            "income": np.where(rng.random(n) < 0.2, -9, rng.integers(1000, 5000, n)),
            "weight": rng.integers(400, 900, n) / 10,
            "town": rng.choice(["A", "B"], n),
            "plan": rng.choice([3, 7], n),
            "born": pl.Series(rng.integers(0, 9000, n)).cast(pl.Date),
            "note": rng.choice(["x", "y"], n),
            "extra": rng.choice(["p", "q"], n),
        }
    )


def drafted(data, book):
    text = us.draft(data, codebook=book)
    return text, Schema.loads(text).declared


def test_what_the_codebook_says_stands_under_its_source_without_a_fingerprint(book):
    text, columns = drafted(rows(), book)
    for name in ("sex", "age"):
        assert columns[name].source == f"book.csv, variable {name}"
        assert columns[name].drafted == {}
        assert columns[name] == us.read_codebook(book).columns[name]
    assert "'id': the codebook says that it is an identifier" in text
    assert "'away': it stands in the codebook, but not in the data" in text
    assert list(columns) == [name for name in rows().columns if name != "id"]
    assert not any(column.reviewed for column in columns.values())


def test_what_the_rows_give_has_fingerprints(book):
    frame = rows()
    columns = drafted(frame, book)[1]
    income = columns["income"]
    assert (income.lower, income.upper, income.missing) == (1000, 5000, (-9,))
    assert income.value_labels == {"-9": "unknown"}
    assert income.left_as_drafted == ("lower", "upper")
    assert columns["weight"].lower == 0
    assert columns["weight"].left_as_drafted == ("upper",)
    assert columns["town"].levels == ("A", "B")
    assert columns["plan"].levels == (3, 7)
    assert columns["born"].lower == frame["born"].min().replace(day=1)
    for name in ("town", "plan", "note"):
        assert columns[name].left_as_drafted == ("levels",)
        assert columns[name].source == f"book.csv, variable {name}"
    assert columns["note"].description == "A remark"
    assert columns["extra"].source == ""
    assert columns["extra"].left_as_drafted == ("levels",)


def test_empty_cells_of_a_completed_column_are_a_code_that_was_read(book):
    frame = rows().with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("income")).alias("income")
    )
    income = drafted(frame, book)[1]["income"]
    assert income.missing == (-9, "")
    assert income.left_as_drafted == ("lower", "upper", "missing")


@pytest.mark.parametrize(
    "change",
    [
        {"sex": pl.lit(3)},
        {"sex": pl.lit(None, dtype=pl.Int64)},
        {"age": pl.lit(130)},
        {"age": pl.lit("ancient")},
    ],
)
@pytest.mark.nightly(every=2)
def test_rows_that_do_not_agree_are_told_without_a_value_and_change_nothing(book, change):
    ((name, value),) = change.items()
    text, columns = drafted(rows().with_columns(value.alias(name)), book)
    assert columns[name] == us.read_codebook(book).columns[name]
    told = text.partition("CONFIDENTIAL: rows and codebook do not agree")[2]
    heading = told.partition("\nformat = 1")[0]
    assert f"Column '{name}'" in heading
    assert not any(value in heading for value in ("130", "ancient", " 3 "))
    assert "do not agree" not in drafted(rows(), book)[0]


def test_rows_of_another_kind_than_the_codebook_says_leave_the_column_out(book):
    frame = rows().with_columns(pl.lit("x").alias("income"), pl.lit("y").alias("born"))
    text, columns = drafted(frame, book)
    assert not {"income", "born"} & set(columns)
    assert "'income': the codebook says that it is a number, and its values" in text
    assert "'born': the codebook says that it is a date, and its values" in text


def test_text_files_give_the_same_draft(book, tmp_path):
    rows().write_csv(tmp_path / "rows.csv")
    columns = drafted(tmp_path / "rows.csv", book)[1]
    expected = drafted(rows(), book)[1]
    assert columns.keys() == expected.keys()
    assert {name: one.drafted for name, one in columns.items()} == {
        name: one.drafted for name, one in expected.items()
    }


def test_a_range_that_may_have_been_observed_stays_marked_in_a_draft(tmp_path):
    path = tmp_path / "book.csv"
    path.write_text("variable,type,min,max\nage,integer,20,69\n")
    age = drafted(rows(), path)[1]["age"]
    assert age.left_as_drafted == ("lower", "upper")
    assert age.source == "book.csv, variable age"


def test_a_codebook_that_was_read_before_and_one_that_cannot_be(book):
    assert us.draft(rows(), codebook=us.read_codebook(book)) == us.draft(rows(), codebook=book)
    with pytest.raises(SchemaError, match="cannot be read"):
        us.draft(rows(), codebook="none.xml")


def test_a_file_with_labels_and_a_codebook(book, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra `files` is not installed")
    frame = rows().drop("born").to_pandas()
    pyreadstat.write_sav(
        frame,
        tmp_path / "rows.sav",
        column_labels={"sex": "another label"},
        variable_value_labels={"sex": {1: "M", 2: "F"}, "income": {-8: "refused"}},
        missing_ranges={"income": [-8]},
    )
    columns = drafted(tmp_path / "rows.sav", book)[1]
    assert columns["sex"] == us.read_codebook(book).columns["sex"]
    income = columns["income"]
    assert income.missing == (-9, -8)
    assert (income.lower, income.upper) == (1000, 5000)
    assert income.left_as_drafted == ("lower", "upper", "missing")
