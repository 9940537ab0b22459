"""Plans that may give other rows in each pass, and clusters that are open."""

import tempfile

import pytest

import understudy as us
from understudy.errors import DataError
from understudy.spark.plan import DISK, LOGS, NETWORK, PAGES, lacking_settings, premises_of_plan
from understudy.spark.plan import premises_of_cluster as premises

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")

SCHEMA = us.Schema.loads(
    """
[columns.a]
kind = "integer"
lower = 0
upper = 3
reviewed = true
"""
)
CLOSED = {
    "spark.master": "spark://host:7077",
    "spark.io.encryption.enabled": "true",
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    place = str(tmp_path_factory.mktemp("plans") / "rows")
    spark.sql("SELECT id % 4 AS a, id AS b FROM range(40)").write.parquet(place)
    frame = spark.read.parquet(place)
    frame.createOrReplaceTempView("people")
    return frame


def same(rows):
    yield from rows


REFUSED = {
    "a draw": lambda f: f.selectExpr("*", "rand(3) AS r"),
    "a draw in a filter": lambda f: f.filter("rand() < 0.5"),
    "a name of chance": lambda f: f.selectExpr("*", "uuid() AS u"),
    "a number by its place": lambda f: f.selectExpr("*", "monotonically_increasing_id() AS k"),
    "a part of it": lambda f: f.selectExpr("*", "spark_partition_id() AS k"),
    "the first rows": lambda f: f.limit(10),
    "the later rows": lambda f: f.offset(10),
    "the first by an order": lambda f: f.orderBy("a").limit(10),
    "a sample": lambda f: f.sample(0.5, 1),
    "a clock": lambda f: f.filter("b < unix_timestamp(now())"),
    "a cut within": lambda f: f.filter("a IN (SELECT a FROM people LIMIT 2)"),
    "a draw in a query with a name": lambda f: f.sparkSession.sql(
        "WITH some AS (SELECT * FROM people WHERE rand() < 0.5) SELECT * FROM some"
    ),
    "a function that says so": lambda f: f.select(ours().asNondeterministic()("a").alias("a")),
}
ROW_WISE = {
    "files": lambda f: f,
    "a view": lambda f: f.sparkSession.table("people"),
    "a query with a name": lambda f: f.sparkSession.sql(
        "WITH some AS (SELECT * FROM people WHERE a > 1) SELECT * FROM some"
    ),
    "columns and rows": lambda f: f.filter("b > 3 AND a IN (1, 2)").withColumn("c", f["a"]),
    "another order": lambda f: f.repartition(3).sort("b"),
    "memory": lambda f: f.sparkSession.range(5).withColumnRenamed("id", "a"),
}
RELATED = {
    "Join": lambda f: f.join(f.sparkSession.table("people"), "b"),
    "Generate": lambda f: f.selectExpr("explode(array(a, b)) AS a"),
    "Filter": lambda f: f.filter("a IN (SELECT a FROM people)"),
    "Union": lambda f: f.union(f),
}
UNKNOWN = {
    "Aggregate": lambda f: f.groupBy("a").count(),
    "Deduplicate": lambda f: f.dropDuplicates(["a"]),
    "Window": lambda f: f.selectExpr("*", "row_number() OVER (ORDER BY b) AS k"),
    "LogicalRDD": lambda f: f.localCheckpoint(),
    "MapInArrow": lambda f: f.mapInArrow(same, "a long, b long"),
    "functions of its own": lambda f: f.select(ours()("a").alias("a")),
    "the expression Add": lambda f: f.withColumn("c", f["a"] + 1),
    "the expression UnaryMinus": lambda f: f.filter("-a < 100"),
    "a conversion of types": lambda f: f.selectExpr("a", "CAST(CAST(b AS STRING) AS INT) AS b"),
    "CSVFileFormat": lambda f: written(f, "csv"),
    "JsonFileFormat": lambda f: written(f, "json"),
}


def written(frame, form):
    """The same rows, as Spark's own readers of texts give them."""
    place = tempfile.mkdtemp()
    frame.write.mode("overwrite").format(form).save(place)
    return frame.sparkSession.read.format(form).schema("a long, b long").load(place)


def ours():
    from pyspark.sql import functions

    return functions.udf(lambda value: value, "long")


@pytest.mark.parametrize("what", REFUSED)
def test_a_plan_that_draws_numbers_or_cuts_off_rows_is_refused(table, what):
    with pytest.raises(DataError, match="each pass over the rows could see others"):
        premises_of_plan(REFUSED[what](table))


@pytest.mark.parametrize("what", ROW_WISE)
def test_a_plan_that_goes_row_by_row_takes_nothing_for_granted(table, what):
    found = premises_of_plan(ROW_WISE[what](table))
    assert found.conditions == found.unproved == ()


@pytest.mark.parametrize("what", RELATED)
def test_rows_that_rest_on_several_are_said_to(table, what):
    found = premises_of_plan(RELATED[what](table))
    assert what in found.conditions[0]
    assert found.unproved == ()


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_cannot_be_told_from_a_plan_makes_the_guarantee_conditional(table, what):
    found = premises_of_plan(UNKNOWN[what](table))
    assert what in found.conditions[0]
    assert what in found.unproved[0]


def test_files_that_are_skipped_when_they_cannot_be_read_are_said_to_be(table):
    spark = table.sparkSession
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        assert "files that are skipped" in premises_of_plan(table).unproved[0]
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    assert premises_of_plan(table).unproved == ()


def test_a_release_of_such_rows_says_so(table):
    release = us.synthesize(UNKNOWN["LogicalRDD"](table), SCHEMA, epsilon=1, method="independent")
    assert release.guarantee.kind == "conditional"
    assert "same rows in each pass" in release.guarantee.statement


def test_settings_that_leave_a_cluster_open_are_named():
    assert lacking_settings(CLOSED) == []
    assert lacking_settings({"spark.master": "yarn"}) == [DISK, NETWORK, PAGES]
    assert lacking_settings({"spark.master": "local[*]"}) == [DISK, PAGES]
    assert lacking_settings({"spark.master": "local-cluster[2,1,1024]"}) == [DISK, NETWORK, PAGES]
    assert lacking_settings(CLOSED | {"spark.authenticate": "false"}) == [NETWORK]
    assert lacking_settings(CLOSED | {"spark.eventLog.enabled": "TRUE"}) == [LOGS]
    tls = {"spark.network.crypto.enabled": "false", "spark.ssl.rpc.enabled": "true"}
    assert lacking_settings(CLOSED | tls) == []
    assert lacking_settings(CLOSED | {"spark.ui.enabled": "true"}) == [PAGES]
    assert lacking_settings(CLOSED | {"spark.ui.enabled": "1", "spark.acls.enable": "true"}) == []


def test_an_open_cluster_is_refused_unless_it_is_trusted(table, monkeypatch):
    assert premises(table, connected=False, trusted=True).conditions == ()
    monkeypatch.setattr("understudy.spark.plan.lacking_settings", lambda _set_to: [DISK, LOGS])
    with pytest.raises(DataError, match=r"spark\.io\.encryption\.enabled=true; spark\.eventLog"):
        us.synthesize(table, SCHEMA, epsilon=1)
    asked = {"epsilon": 1, "trusted_cluster": True, "method": "independent"}
    release = us.synthesize(table, SCHEMA, **asked)
    assert release.guarantee.kind == "pure"
    (said,) = release.manifest.to_json()["guarantee"]["conditions"]
    assert "cluster that the steward trusts" in said
    assert DISK in said
