"""Files by their endings: of Arrow, and workbooks."""

import polars as pl
import pyarrow as pa
import pytest

import understudy as us
from made_workbook import fault, number, text, write_workbook
from understudy.data.sources import open_rows
from understudy.errors import DataError
from understudy.schema import Schema

FRAME = pl.DataFrame({"a": [1, 2, None], "b": ["x", None, "y"], "c": [None] * 3})


def write_arrow(table, path, **options):
    """What Feather files are from their second version on, as PyArrow writes them."""
    how = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_file(path, table.schema, options=how) as file:
        file.write_table(table)


def test_files_and_streams_of_arrow_are_read_by_their_types(tmp_path):
    FRAME.write_ipc(tmp_path / "a.arrow", compression="lz4")
    FRAME.write_ipc_stream(tmp_path / "b.arrow")
    write_arrow(FRAME.to_arrow(), tmp_path / "c.feather", compression="lz4")
    for name in ("a.arrow", "b.arrow", "c.feather"):
        rows = open_rows(tmp_path / name)
        assert rows.lazy.collect().equals(FRAME)
        assert rows.count() == 3
        assert (rows.kind, rows.columns) == ("arrow", ("a", "b", "c"))


class Streaming:
    """A table of some other library: all that is known of it is that it gives an Arrow stream."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_whatever_gives_an_arrow_stream_is_a_table():
    for table in (Streaming(FRAME.to_arrow()), FRAME.to_arrow().to_reader(max_chunksize=2)):
        rows = open_rows(table)
        assert rows.columns == ("a", "b", "c")
        assert rows.lazy.collect().equals(FRAME)
    with pytest.raises(DataError, match=r"gives an Arrow stream.*, not Streaming"):
        open_rows(Streaming(FRAME["a"]))  # a column


def test_a_relation_of_duckdb_is_a_table_like_any_other():
    duckdb = pytest.importorskip("duckdb", reason="the extra database is not installed")
    with duckdb.connect() as connection:
        asked = "SELECT range % 3 AS city, range % 2 = 0 AS works FROM range(300)"
        relation = connection.sql(asked)
        schema = Schema.loads(
            "n_rows = 300\nrows = 'public'\n"
            "[columns.city]\nkind = 'integer'\nlower = 0\nupper = 2\n"
            "source = 'x'\nreviewed = true\n"
            "[columns.works]\nkind = 'boolean'\nsource = 'x'\nreviewed = true\n"
        )
        assert us.check(relation, schema).findings == ()
        made = [
            us.synthesize(data, schema, epsilon=1, insecure_noise_seed=1, frame="polars")
            for data in (relation, connection.sql(asked).pl())
        ]
    assert made[0].tables[0].equals(made[1].tables[0])


def test_a_damaged_file_of_arrow_is_one_sentence(tmp_path):
    path = tmp_path / "a.arrow"
    FRAME.write_ipc(path)
    whole = path.read_bytes()
    for part in (b"", b"x", whole[:40], whole[:-20]):
        path.write_bytes(part)
        with pytest.raises(DataError, match="truncated, damaged, or not what its name says"):
            open_rows(path).count()


def test_a_column_of_arrow_that_cannot_be_read_is_named(tmp_path):
    intervals = pa.array([pa.MonthDayNano([1, 2, 3])])
    table = pa.table({"a": [1], "b": intervals})
    write_arrow(table, tmp_path / "a.feather")
    rows = open_rows(tmp_path / "a.feather")
    assert list(rows.unreadable) == ["b"]
    assert rows.lazy.collect().columns == ["a"]


def sheet(name):
    return Schema.loads(f'[file]\nsheet = "{name}"\n[columns.a]\nkind = "boolean"')


def test_a_sheet_is_read_under_its_first_row(tmp_path):
    pytest.importorskip("fastexcel", reason="the extra files is not installed")
    path = tmp_path / "a.xlsx"
    rows = [(text("a"), text("b")), (number(1), None), (None, None), (fault("#N/A"), number("0.5"))]
    write_workbook(path, rows, ("One", "Two"))
    for schema in (None, sheet("Two")):
        assert open_rows(path, schema).lazy.collect().rows() == [("1", None), (None, "0.5")]
    with pytest.raises(DataError, match=r"has no sheet 'Three'; its sheets are 'One', 'Two'"):
        open_rows(path, sheet("Three"))


@pytest.mark.parametrize(
    ("rows", "fault_told"),
    [
        ([], "has no row that names|is empty"),
        ([(text("a"), text("a"))], "has two columns named 'a'"),
        ([(text("a"), None, text("b")), (number(1),) * 3], "no name in the first row of column 2"),
    ],
)
def test_a_sheet_without_names_is_refused(rows, fault_told, tmp_path):
    pytest.importorskip("fastexcel", reason="the extra files is not installed")
    write_workbook(tmp_path / "a.xlsx", rows)
    with pytest.raises(DataError, match=fault_told):
        open_rows(tmp_path / "a.xlsx")


def test_what_is_no_workbook_is_one_sentence(tmp_path):
    pytest.importorskip("fastexcel", reason="the extra files is not installed")
    for name in ("a.xlsx", "a.xls", "a.ods"):
        (tmp_path / name).write_bytes(b"PK no")
        with pytest.raises(DataError, match="locked with a password, or not what its name says"):
            open_rows(tmp_path / name)
