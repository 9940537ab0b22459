"""Counts of a Spark data frame are those of the in-process engine, bit for bit."""

import datetime as dt
import os
import sys
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.data import base
from understudy.data.base import TableCounts
from understudy.data.sums import CodingPass
from understudy.data.table import Table
from understudy.errors import DataError, MethodError
from understudy.features.grids import LineCells
from understudy.features.scores import FeatureMap
from understudy.spark import rows as rows_module
from understudy.spark.jobs import Limits, pack, run_pass, unpack
from understudy.spark.rows import SparkRows

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")

SCHEMA = us.Schema.loads(
    """
[columns.a]
kind = "categorical"
levels = ["x", "y", "3", "03"]
missing = [""]
reviewed = true
[columns."b`. c"]
kind = "integer"
lower = 0
upper = 99
bins = 6
reviewed = true
[columns.real]
kind = "continuous"
lower = -1.0
upper = 2.0
bins = 5
missing = [-9]
reviewed = true
[columns.yes]
kind = "boolean"
out_of_domain = "?"
reviewed = true
[columns.day]
kind = "date"
lower = 2020-01-01
upper = 2021-12-31
bins = 4
reviewed = true
[columns.moment]
kind = "date"
lower = 2020-01-01
upper = 2021-12-31
bins = 4
reviewed = true
[columns.seen]
kind = "datetime"
lower = 2021-01-02T00:00:00
upper = 2021-01-20T00:00:00
resolution = "hour"
timezone = "Europe/Zurich"
bins = 2
reviewed = true
[columns.money]
kind = "continuous"
lower = 0.0
upper = 10.0
bins = 4
reviewed = true
[[forbidden]]
where = { a = "x", yes = true }
reviewed = true
"""
)
NAMES = SCHEMA.names


def rows(n, seed=1):
    rng = np.random.default_rng(seed)
    days = [dt.date(2019, 12, 1) + dt.timedelta(int(k)) for k in rng.integers(0, 900, n)]
    moments = [dt.datetime(2021, 1, 1, 23) + dt.timedelta(hours=int(k)) for k in range(n)]
    return pl.DataFrame(
        {
            "a": rng.choice(["x", "y", "3", "03", "", None], n).tolist(),
            "b`. c": rng.integers(-20, 130, n),
            "real": rng.choice([0.1, -9.0, np.nan, np.inf, 1.9, 5.0, -0.3], n),
            "yes": [None if k == 2 else bool(k) for k in rng.integers(0, 3, n)],
            "day": days,
            "moment": moments,
            "seen": [one + dt.timedelta(minutes=17) for one in moments],
            "money": [Decimal(int(k)) / 4 for k in rng.integers(-3, 50, n)],
            "unread": rng.random(n),
        },
        schema_overrides={"a": pl.String, "money": pl.Decimal(8, 2), "yes": pl.Boolean},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three parts, one of them without a row, one much larger than the other."""
    place = tmp_path_factory.mktemp("parts") / "rows"
    place.mkdir()
    whole = rows(700)
    for k, part in enumerate((whole[:650], whole[650:650], whole[650:])):
        pq.write_table(part.to_arrow(compat_level=pl.CompatLevel.oldest()), place / f"{k}.parquet")
    return place


SHAPES = {
    "as it is": lambda frame: frame,
    "skewed": lambda frame: frame.repartition(5, "yes"),
    "no row": lambda frame: frame.filter("day < DATE'1900-01-01'"),
}


def same(ours, theirs):
    """Whether two answers have the very same numbers."""
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if hasattr(theirs, "__dataclass_fields__"):
        return same(vars(ours), vars(theirs))
    return np.array_equal(ours, theirs) and np.asarray(ours).shape == np.asarray(theirs).shape


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.nightly(every=3)
def test_every_pass_sums_what_the_in_process_engine_does(spark, folder, shape, monkeypatch):
    frame = SHAPES[shape](spark.read.parquet(str(folder)))
    here = Table(folder, SCHEMA) if shape != "no row" else Table(rows(700)[:0], SCHEMA)
    there = SparkRows(frame, SCHEMA)
    assert there.premises.unproved == ()
    assert not there.has_records
    scores = FeatureMap.of(SCHEMA, ("a", "b`. c", "real"))
    lines = {name: LineCells.of(SCHEMA, name) for name in ("real", "money", "moment")}
    monkeypatch.setattr(base, "WIDE_CELLS", 400)  # the last one by its cells
    asked = [(0, 1), (3, 0), (4,), (2, 5, 6), (0, 1, 2, 3)]
    assert there.total().expose() == here.total().expose()
    assert same(there.count(asked).expose(), here.count(asked).expose())
    assert same(there.count_occupied((6, 0)).expose(), here.count_occupied((6, 0)).expose())
    assert same(there.sums((0, 2, 1), (1, 2)).expose(), here.sums((0, 2, 1), (1, 2)).expose())
    assert same(there.score_products(scores).expose(), here.score_products(scores).expose())
    assert same(there.line_counts(lines).expose(), here.line_counts(lines).expose())


def test_other_bins_and_groups_are_counted_alike(spark, folder):
    here, there = Table(folder, SCHEMA), SparkRows(spark.read.parquet(str(folder)), SCHEMA)
    finer = SCHEMA.with_bins({"real": 9})
    size = SCHEMA.columns["b`. c"].size
    groups = {"b`. c": [k // 2 for k in range(size)]}
    coarser = SCHEMA.with_groups(groups)
    asked = [(1, 2), (2, 1), (2,), (1,), (0, 3), (3, 1, 0)]
    for one, other in (
        (there.recode(finer), here.recode(finer)),
        (there.group(coarser, groups), here.group(coarser, groups)),
    ):
        assert one.total().expose() == 700
        assert same(one.count(asked).expose(), other.count(asked).expose())
    grouped = there.group(coarser, groups)
    for ask in (
        lambda: grouped.sums((1,), (1,)),
        lambda: grouped.recode(finer),
        there.code_rows,
        lambda: there.read(("a",)),
    ):
        with pytest.raises(NotImplementedError):
            ask()
    assert "700" not in repr(there)
    with pytest.raises(TypeError, match="pickled"):
        there.__reduce__()


@pytest.mark.nightly
def test_a_table_that_was_counted_is_known_and_long_messages_come_from_few_tasks(
    spark, folder, monkeypatch
):
    said, limits = [], []

    def noted(frame, begun, asked):
        limits.append(asked)
        return run_pass(frame, begun, asked)

    monkeypatch.setattr(rows_module, "run_pass", noted)
    there = SparkRows(spark.read.parquet(str(folder)), SCHEMA)
    here = Table(folder, SCHEMA)
    asked = [(0, 1), (2, 0), (1,)]  # all counted with each column by itself
    assert same(there.count(asked).expose(), here.count(asked).expose())
    assert limits == [Limits(4)]
    asked = [(1, 0, 2), (0, 3)]
    assert same(there.count(asked).expose(), here.count(asked).expose())
    assert same(there.count(asked[:1]).expose(), here.count(asked[:1]).expose())
    assert limits == [Limits(4)] * 2
    monkeypatch.setattr(rows_module, "MOST_AHEAD", 20)  # of 21 pairs
    one = SparkRows(there._frame, SCHEMA)
    assert len(limits) == 3
    assert same(one.count([(0, 1)]).expose(), here.count([(0, 1)]).expose())
    assert len(limits) == 4
    frame = there._frame
    monkeypatch.setattr(type(frame), "coalesce", lambda f, n: said.append(n) or f, raising=True)
    counts = partial(CodingPass, partial(TableCounts, SCHEMA.sizes, [(0, 1)]), SCHEMA, {})
    size = counts().sums()[0].nbytes
    for room in (0, size, 3 * size, 100 * size):
        found = run_pass(frame, counts, Limits(8, room))
        assert same(found, here.count([(0, 1)]).expose())
    assert said == [1, 1, 3, 8]


def dying(marker, begun):
    """A pass whose first task is killed half-way, outside the driver."""
    from pyspark import TaskContext

    if TaskContext.get() is not None and not Path(marker).exists():
        Path(marker).touch()
        os._exit(1)
    return begun()


def test_a_task_that_is_killed_is_counted_once(spark, folder, tmp_path):
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    frame, marker = spark.read.parquet(str(folder)), tmp_path / "died"
    counts = partial(TableCounts, SCHEMA.sizes, [(0, 1), (3,)])
    coding = partial(CodingPass, counts, SCHEMA, {})
    try:
        found = run_pass(frame, partial(dying, str(marker), coding), Limits(8))
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert marker.exists()
    assert same(found, Table(folder, SCHEMA).count([(0, 1), (3,)]).expose())


@pytest.mark.parametrize(("method", "delta"), [("auto", 1e-6), ("mst", 1e-6), ("laplace", 0)])
@pytest.mark.nightly(every=3)
def test_a_release_is_the_one_that_is_made_in_process(spark, folder, method, delta):
    schema = SCHEMA.part(("a", "b`. c", "yes"))
    asked = {"epsilon": 1, "delta": delta, "method": method, "insecure_noise_seed": 3}
    here, said = us.synthesize(folder, schema, **asked), []
    frame = spark.read.parquet(str(folder))
    there = us.synthesize(frame, schema, **asked, progress=lambda *now: said.append(now[0]))
    assert said[0].startswith("Reading and coding rows in Spark, pass 1 of at least ")
    assert there.tables[0].equals(here.tables[0])
    assert there.manifest.ledger == here.manifest.ledger
    assert there.guarantee == here.guarantee
    for one, other in zip(there.measurements, here.measurements, strict=True):
        assert one.to_json() == other.to_json()


@pytest.mark.nightly
def test_minimum_counts_are_kept_in_records_of_rows_that_spark_counts(spark, folder, tmp_path):
    schema, keys = SCHEMA.part(("a", "b`. c", "yes")), ["a", "yes"]
    kept = {"columns": keys, "count": 20, "most_changed": 1}
    run = us.RunOptions(checkpoint=tmp_path / "kept", insecure_noise_seed=3)
    frame = spark.read.parquet(str(folder))
    release = us.synthesize(frame, schema, epsilon=1, delta=1e-6, minimum_count=kept, run=run)
    often = release.tables[0].group_by(keys).len()["len"]
    assert often.min() >= 20
    assert release.manifest.minimum_count is not None


def test_what_needs_whole_records_is_refused_before_anything_is_read(spark, folder):
    frame = spark.read.parquet(str(folder)).withColumn("a", spark_rand())
    with pytest.raises(MethodError, match=r"pmse needs whole records.* marginals, aim, mst"):
        us.synthesize(frame, SCHEMA, epsilon=1, method="pmse")
    with pytest.raises(DataError, match="Whole records are needed here"):
        us.verdict(frame, SCHEMA, "share yes < 0.5", epsilon=1, assume_rows=500)


def spark_rand():
    from pyspark.sql import functions

    return functions.rand()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda f: f.drop("real"), "lacks the column 'real'"),
        (lambda f: f.withColumnRenamed("unread", "REAL"), "Spark takes for one: 'real'"),
        (
            lambda f: (
                f.selectExpr("*", "INTERVAL '1' YEAR AS i").drop("a").withColumnRenamed("i", "a")
            ),
            "'a' has the type interval year",
        ),
        (lambda f: f.selectExpr("* EXCEPT (a)", "real AS a"), "'a' has the type Float64"),
    ],
)
def test_structural_faults_are_refused(spark, folder, changed, said):
    frame = changed(spark.read.parquet(str(folder)))
    with pytest.raises(DataError, match=said):
        SparkRows(frame, SCHEMA)


def test_another_number_of_rows_than_is_public_is_refused(spark, folder):
    schema = SCHEMA.model_copy(update={"rows": "public", "n_rows": 699})
    with pytest.raises(DataError, match="n_rows = 699 as public"):
        SparkRows(spark.read.parquet(str(folder)), schema)


def test_a_job_that_fails_shows_no_value(spark, folder):
    from pyspark.sql import functions

    raising = functions.expr("CASE WHEN yes THEN a ELSE raise_error('SECRET') END")
    with pytest.raises(DataError, match="job that reads the Spark data frame failed") as caught:
        SparkRows(spark.read.parquet(str(folder)).withColumn("a", raising), SCHEMA)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_messages_hold_what_was_packed_in_lengths_that_are_powers_of_two():
    sums = [np.arange(5, dtype=np.uint32), np.array(7), np.zeros((2, 0))]
    message = pack(sums)
    assert len(message).bit_count() == 1
    assert same(unpack(message), sums)
