"""Opening tables: what is read alike from everywhere, and faults that show no value."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pytest

from understudy.data.frames import UNLIKE
from understudy.data.sources import open_rows
from understudy.errors import DataError

SECRET = "Aurelia-4711"
FRAME = pl.DataFrame({"a": ["x", None, "y"], "*": [1, 2, 3], "^a$": [0.5, None, 2.0]})


def read(data, columns=None):
    rows = open_rows(data)
    batches = rows.batches(columns or rows.columns)
    return pl.concat(batch.cast({cs.enum(): pl.String}) for batch in batches)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (FRAME, "polars"),
        (FRAME.lazy(), "polars"),
        (FRAME.to_arrow(), "arrow"),
        (FRAME.to_arrow().to_batches()[0], "arrow"),
        (FRAME.to_pandas(), "pandas"),
    ],
)
def test_data_frames_of_every_kind(data, kind):
    rows = open_rows(data)
    assert (rows.kind, rows.columns, rows.count()) == (kind, ("a", "*", "^a$"), 3)
    assert read(data).rows() == FRAME.rows()
    # Column names that Polars would take for patterns are names.
    assert read(data, ["*", "^a$"]).columns == ["*", "^a$"]


def test_files_of_every_kind(tmp_path):
    FRAME.write_parquet(tmp_path / "a.parquet")
    FRAME.write_csv(tmp_path / "a.csv")
    FRAME.write_csv(tmp_path / "a.tsv", separator="\t")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "a.csv").read_bytes())
    assert read(tmp_path / "a.parquet").rows() == FRAME.rows()
    as_text = [("x", "1", "0.5"), (None, "2", None), ("y", "3", "2.0")]
    for name in ("a.csv", "a.tsv", "b.csv.gz", "bom.csv"):
        rows = open_rows(str(tmp_path / name))
        assert (rows.kind, rows.columns, rows.count()) == ("pandas", ("a", "*", "^a$"), 3)
        assert read(tmp_path / name).rows() == as_text


def test_a_folder_of_parquet_files(tmp_path):
    (tmp_path / "year=2020").mkdir()
    FRAME.head(1).write_parquet(tmp_path / "year=2020" / "1.parquet")
    FRAME.tail(2).write_parquet(tmp_path / "2.parquet")
    assert sorted(read(tmp_path, ["*"])["*"]) == [1, 2, 3]


def test_a_table_of_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    rows = open_rows(tmp_path / "a.csv")
    assert (rows.columns, rows.count()) == (("a", "b"), 0)
    assert open_rows(pd.DataFrame()).columns == ()


def test_cells_of_csv_files_stay_text(tmp_path):
    (tmp_path / "a.csv").write_text('a,b\n007,"1,5"\n"",\n" x ",\n" x "\n')
    assert read(tmp_path / "a.csv").rows() == [
        ("007", "1,5"),
        ("", None),
        (" x ", None),
        ("\0", "\0"),
    ]


def test_pandas_objects_become_text():
    values = ["x", 3, 3.0, True, np.bool_(False), None, np.nan, pd.NA, pd.NaT, b"x", ("t",)]
    texts = read(pd.DataFrame({"a": pd.Series(values, dtype=object)}))["a"].to_list()
    assert texts == ["x", "3", "3", "true", "false", None, None, None, None, "x", UNLIKE]


class Unwritable:
    def __str__(self):
        raise RuntimeError("no")


def test_no_python_object_stops_the_reading():
    values = ["\ud800", 10**5000, Unwritable(), "fine"]
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    assert read(frame)["a"].to_list() == ["?", "inf", "\ufffd", "fine"]


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pd.Series(["b", "a", None], dtype="category"), ["b", "a", None]),
        (pd.Series([1.5, None, 2], dtype="category"), [1.5, None, 2.0]),
        (pd.Series([], dtype="category"), []),
        (pd.Series([True, None], dtype="boolean"), [True, None]),
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (pd.Series(["a", None], dtype="string"), ["a", None]),
        (pd.Series([1.5, np.nan]), [1.5, None]),
    ],
)
def test_pandas_types(series, expected):
    rows = open_rows(pd.DataFrame({"a": series}))
    assert rows.ask(rows.lazy)["a"].to_list() == expected


def test_a_column_that_cannot_be_read_is_a_fault_only_if_it_is_wanted():
    union = pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["x"])]
    )
    for frame, dtype in (
        (pa.table({"a": [1, 2], "b": union}), "dense_union"),
        (pl.DataFrame({"a": [1, 2], "b": [{"x": 1}, {"x": 2}]}), "Struct"),
    ):
        for part in (frame, frame.slice(0, 0)):  # known from the type alone
            rows = open_rows(part)
            assert rows.columns == ("a", "b")
            assert list(rows.unreadable) == ["b"]
            assert read(part, ["a"])["a"].to_list() == [1, 2][: rows.count()]
            with pytest.raises(DataError, match=f"Column 'b' has the type {dtype}.*cannot be read"):
                read(part, ["b"])


def write(folder, name, content):
    path = Path(folder) / name
    path.write_bytes(content)
    return path


FAULTY_FILES = {
    "no such file": ("nowhere.csv", None, "does not exist"),
    "empty": ("a.csv", b"", "is empty: it has no header line"),
    "unknown ending": ("a.docx", b"x", "ending that is not known"),
    "two headings": ("a.csv", b"a,b,a\n1,2,3\n", "two columns named 'a'"),
    "blank header": ("a.csv", b"\na,b\n", "is empty: it has no header line"),
    "open quote": ("a.csv", b'a,"b\n' + SECRET.encode() + b",2\n", "its header has a quote that"),
    "latin-1": ("a.csv", b"\xe9,b\n" + SECRET.encode() + b",2\n", "its header holds bytes that"),
    "UTF-16": ("a.csv", f"a,b\n{SECRET}".encode("utf-16"), "is UTF-16 text, which is not read"),
    "UTF-16 LE": ("a.csv", f"a,b\n{SECRET}".encode("utf-16-le"), "its header holds a NUL"),
    "old Mac": ("a.csv", b"a,b\r1,2\r", "has a carriage return inside its header"),
    "long header": ("a.csv", b"a," + b"b" * 2**20 + b"\n", "its header has more than 1,048,576"),
    "no Parquet": ("a.parquet", SECRET.encode(), "cannot be read"),
    "damaged gzip": ("a.csv.gz", gzip.compress(SECRET.encode() * 99)[:-30], "cannot be read"),
}


@pytest.mark.parametrize("case", FAULTY_FILES)
def test_faulty_files_are_explained_without_a_value(case, tmp_path):
    name, content, phrase = FAULTY_FILES[case]
    path = tmp_path / name if content is None else write(tmp_path, name, content)
    with pytest.raises(DataError, match=phrase) as caught:
        read(path)
    one_sentence(caught.value)


def test_truncated_parquet_is_explained_without_a_value(tmp_path):
    pl.DataFrame({"a": [SECRET] * 1000}).write_parquet(tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    damaged = bytearray(content)
    damaged[4:40] = b"\xff" * 36
    for bad in (content[:-20], bytes(damaged)):
        with pytest.raises(DataError) as caught:
            read(write(tmp_path, "b.parquet", bad))
        one_sentence(caught.value)


def test_an_empty_folder(tmp_path):
    with pytest.raises(DataError, match=r"holds no Parquet file \(\*\.parquet\)\.$"):
        open_rows(tmp_path)


@pytest.mark.parametrize(
    "data",
    [[SECRET], {"a": [SECRET]}, None, 3, pd.Series([SECRET]), pl.Series([SECRET]), pa.array([1])],
)
def test_what_is_no_table(data):
    with pytest.raises(DataError, match="must be a path, or a pandas, Polars or Arrow table") as e:
        open_rows(data)
    one_sentence(e.value)


def test_two_columns_of_one_name():
    twice = pa.table([[1], [2]], names=["a", "a"])
    for data in (
        twice,
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=["1", 1]),
    ):
        with pytest.raises(DataError, match="two columns of one name; rename"):
            open_rows(data)


def test_a_failing_query_shows_no_value():
    broken = pl.DataFrame({"a": [SECRET]}).lazy().select(pl.col("a").cast(pl.Int64))
    rows = open_rows(broken)
    for act in (lambda: read(broken), lambda: rows.ask(rows.lazy)):
        with pytest.raises(DataError) as caught:
            act()
        one_sentence(caught.value)


def one_sentence(error):
    message = str(error)
    assert SECRET not in message
    assert error.__cause__ is None  # the reader's own message may quote the data
    assert error.__suppress_context__ or error.__context__ is None
    assert message.endswith(".")
    assert not message.endswith("..")
