"""Parquet files read in batches, each text once and simple types by Arrow, code as they do when all
of them are read as one table."""

import datetime
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.data.coding import ColumnCoder
from understudy.data.sources import open_rows
from understudy.data.table import Table
from understudy.schema import Boolean, Categorical, Continuous, Date, Integer, Schema

DAY = datetime.date
KINDS = {
    "levels": Categorical(
        kind="categorical", levels=("0", "1", 0.5, "true", "a", "\u00e4", DAY(2020, 2, 29))
    ),
    "truth": Boolean(kind="boolean", missing=("", 9), out_of_domain=-1),
    "whole": Integer(kind="integer", lower=0, upper=20, bins=4, spikes=(0, 7), missing=(-9,)),
    "real": Continuous(kind="continuous", lower=-1, upper=10, bins=(-1, 0.1, 0.7, 10)),
    "day": Date(kind="date", lower=DAY(1970, 1, 1), upper=DAY(2020, 12, 31), missing=("",)),
}
WHOLE = [0, 1, 2, 7, 9, 21, None, 100]
REAL = [0.0, -0.0, 0.1, 0.5, 0.7, float("nan"), float("inf"), None, -9.0]
TEXTS = ["0", "a", "A", None, "", "0.5", "true", "TRUE", " 7 ", "\u00e4", "2020-02-29", "x" * 50]
COLUMNS = {
    **{
        f"{sign}int{bits}": pa.array(WHOLE, f"{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "far": pa.array([2**53 + 1, -(2**62), 2**62, None], "int64"),
    "half": pa.array([np.float16(x) if x is not None else None for x in REAL], pa.float16()),
    "float": pa.array(REAL, pa.float32()),
    "double": pa.array(REAL, pa.float64()),
    "bool": pa.array([True, False, None]),
    "string": pa.array(TEXTS),
    "large": pa.array(TEXTS, pa.large_string()),
    "listed": pa.array(TEXTS).dictionary_encode(),
    "listed nothing": pa.nulls(2, pa.dictionary(pa.int32(), pa.string())),
    "listed numbers": pa.array(REAL, pa.float64()).dictionary_encode(),
    "bytes": pa.array([b"a", b"\xff", None, b"0"]),
    "no text": pa.Array.from_buffers(
        pa.string(), 4, [None, *map(pa.py_buffer, (np.array([0, 1, 3, 4, 4], "i4"), b"a\xff\xfe0"))]
    ),
    "days": pa.array([DAY(2020, 2, 29), DAY(1500, 1, 1), None]),
    "moments": pa.array([datetime.datetime(2020, 2, 29, 10, 30), None], pa.timestamp("us")),
    "elsewhere": pa.array([10**15, None], pa.timestamp("us", "Asia/Tokyo")),
    "decimals": pa.array([Decimal("0.50"), Decimal("7.00"), None]),
    "times": pa.array([datetime.time(10, 30), None]),
    "durations": pa.array([10, None], pa.duration("ms")),
    "lists": pa.array([[1], None]),
    "nothing": pa.nulls(3),
}


def written(folder, *, rows=40, listed=True, group=7):
    """A folder of two files with every column, in several groups of rows."""
    for part in range(2):
        table = pa.table({n: COLUMNS[n].take(pa.array(places(n, rows, part))) for n in COLUMNS})
        pq.write_table(
            table, folder / f"{part}.parquet", use_dictionary=listed, row_group_size=group
        )
    return folder


def places(name, rows, part):
    return np.random.default_rng([part, len(name)]).integers(0, len(COLUMNS[name]), rows)


@pytest.mark.parametrize("listed", [True, False])
def test_batches_are_coded_as_the_whole_table(tmp_path, listed):
    rows = open_rows(written(tmp_path, listed=listed, group=15))
    assert rows.files
    whole = rows.lazy.collect()
    batches = list(rows.batches(rows.columns))
    assert sum(len(batch) for batch in batches) == len(whole) == 80
    enums = {n for batch in batches for n in batch.columns if batch[n].dtype == pl.Enum}
    by_type = {"listed", "listed nothing"}
    assert enums == by_type | ({"string", "large", "no text"} if listed else set())
    for kind, column in KINDS.items():
        coder = ColumnCoder("c", column)
        for name in rows.columns:
            states = np.concatenate([coder.code(batch[name]) for batch in batches])
            np.testing.assert_array_equal(states, coder.code(whole[name]), f"{kind} of {name}")
            readings = [coder.read(batch[name]) for batch in batches]
            numbers = np.concatenate([one.number for one in readings])
            of_whole = coder.read(whole[name])
            np.testing.assert_array_equal(numbers, of_whole.number)
            absent = np.concatenate([one.absent for one in readings])
            np.testing.assert_array_equal(absent, of_whole.absent)


def test_texts_that_all_differ_are_read_as_they_are(tmp_path):
    texts = [f"{k:040}" for k in range(20_000)]
    pq.write_table(pa.table({"c": texts}), tmp_path / "a.parquet")
    batches = open_rows(tmp_path / "a.parquet").batches(["c"])
    assert {batch["c"].dtype for batch in batches} == {pl.String}


def test_one_file_of_another_type_makes_a_table_of_one_type(tmp_path):
    pq.write_table(pa.table({"c": [1, 2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"c": ["1", "x"]}), tmp_path / "2.parquet")
    schema = Schema.loads('[columns.c]\nkind = "integer"\nlower = 0\nupper = 3\nreviewed = true')
    assert not open_rows(tmp_path).files
    codes = Table(tmp_path, schema).code_rows().expose()[0]
    assert sorted(codes.tolist()) == [1, 1, 2, 4]
