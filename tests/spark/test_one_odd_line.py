"""One record is one record in Spark too, whatever it holds: pairs of records enumerated."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import understudy as us
from night import NIGHT
from one_cell_a_record import assert_one_cell_a_record
from understudy.spark.rows import SparkRows, open_spark

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")

SCHEMA = us.Schema.loads(
    """
[columns.x]
kind = "integer"
lower = 0
upper = 5
reviewed = true
[columns.y]
kind = "categorical"
levels = ["u", "v"]
reviewed = true
"""
)
LINES = (
    b"1,u",
    b"5,v",
    b"",
    b"1,u,surprise",
    b'1,"u',
    b"\xff,u",
    b"1\r,u",
    b",".join([b"1"] * 21_000),
)
PAIRS = ((0.0, "u"), (5.0, "v"), (1e300, "u"), (float("nan"), "u"), (None, None), (1.0, "\0"))


def counted(rows):
    assert rows.premises.unproved == ()
    (found,) = rows.count([(0, 1)]).expose()
    return np.array([*found.inside.ravel().tolist(), found.outside])


def test_lines(spark, tmp_path):
    path = tmp_path / "a.csv"

    def exact(records):
        path.write_bytes(b"\n".join([b"x,y", *records, b""]))
        return counted(SparkRows(open_spark(str(path), SCHEMA), SCHEMA))

    assert_one_cell_a_record(exact, LINES if NIGHT else LINES[1:5:3])


def test_parquet(spark, tmp_path):
    path = str(tmp_path / "a.parquet")

    def exact(records):
        xs, ys = zip(*records, strict=True)
        table = pa.table({"x": pa.array(xs, pa.float64()), "y": pa.array(ys, pa.string())})
        pa.parquet.write_table(table, path)
        return counted(SparkRows(spark.read.parquet(path), SCHEMA))

    assert_one_cell_a_record(exact, PAIRS if NIGHT else PAIRS[::3])
