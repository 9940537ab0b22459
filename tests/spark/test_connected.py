"""Spark Connect: a client that knows a plan as it was written, and a server of its own."""

import json
import os
import subprocess
import sys

import pytest

from one_machine import SETTINGS

SCRIPT = '''
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from pyspark.sql import SparkSession, functions as F
import understudy as us
from understudy.data.table import Table
from understudy.spark.plan import premises_of_relation
from understudy.spark.rows import open_spark
from understudy.spark.rows import SparkRows
from understudy.errors import DataError

schema = us.Schema.loads("""
[columns.a]
kind = "integer"
lower = 0
upper = 3
reviewed = true
[columns.b]
kind = "continuous"
lower = 0.0
upper = 30.0
bins = 4
reviewed = true
""")
place = sys.argv[1]
settings = json.loads(sys.argv[2]) | {"spark.sql.warehouse.dir": place + "/warehouse"}
spark = SparkSession.builder.remote("local[1]").config(map=settings).getOrCreate()
spark.range(40).selectExpr("id % 5 AS a", "id / 2 AS b").write.parquet(place + "/rows")
frame = spark.read.parquet(place + "/rows")

def refusal(ask):
    try:
        ask()
    except DataError as error:
        return str(error)
    return ""

assert "trusted_cluster=True" in refusal(lambda: SparkRows(frame, schema))
there, here = SparkRows(frame, schema, trusted_cluster=True), Table(place + "/rows", schema)
assert "Spark Connect" in there.premises.conditions[0] and not there.premises.unproved
for one, other in zip(there.count([(0, 1), (1,)]).expose(), here.count([(0, 1), (1,)]).expose()):
    assert np.array_equal(one.inside, other.inside) and one.outside == other.outside
assert np.array_equal(there.sums((0, 1), (1,)).expose().sums, here.sums((0, 1), (1,)).expose().sums)

for odd in (
    frame.withColumn("r", F.rand()), frame.limit(3), frame.sample(0.5), frame.filter("a > 1"),
    frame.groupBy("a").count(), frame.join(frame, "a"), spark.sql("SELECT 1 AS a"),
    frame.withColumn("t", F.now()), frame.select(F.udf(lambda x: x, "long")("a")),
):
    assert "each pass over the rows could see others" in refusal(lambda: premises_of_relation(odd))
simple = frame.filter(F.col("b").isNotNull()).withColumn("c", F.col("a")).drop("c")
assert premises_of_relation(simple).unproved == premises_of_relation(simple).conditions == ()
assert "set_op" in premises_of_relation(simple.union(frame)).conditions[0]
for odd, what in (
    (frame.filter(F.col("a") > 1), "the function >"),
    (frame.withColumn("c", F.col("a") + 1), "the function +"),
    (frame.withColumn("c", F.col("a").cast("int")), "a conversion of types"),
    (spark.read.csv(place + "/rows"), "a table or source by its name"),
):
    assert what in premises_of_relation(odd).unproved[0], what
(frame.toPandas().astype(int)).to_csv(place + "/rows.csv", index=False)
texts = open_spark(place + "/rows.csv", schema)
there, here = SparkRows(texts, schema, trusted_cluster=True), Table(place + "/rows.csv", schema)
assert not there.premises.unproved
for one, other in zip(there.count([(0, 1)]).expose(), here.count([(0, 1)]).expose()):
    assert np.array_equal(one.inside, other.inside) and one.outside == other.outside
frame.createOrReplaceTempView("people")
assert "by its name" in premises_of_relation(spark.table("people")).unproved[0]
print("all of it holds")
spark.stop()
'''


@pytest.mark.nightly
def test_a_client_counts_alike_and_refuses_what_it_cannot_look_into(spark_is_here, tmp_path):
    pytest.importorskip("grpc", reason="the client of Spark Connect is not installed")
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    environment.pop("SPARK_REMOTE", None)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), json.dumps(SETTINGS)]
    run = subprocess.run(
        command,
        check=False,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "all of it holds" in run.stdout, run.stderr[-3000:]
