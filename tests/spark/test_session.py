"""Tables by path and name, as the command line takes them."""

import polars as pl
import pytest
from typer.testing import CliRunner

import understudy as us
from night import NIGHT
from understudy.cli.app import app
from understudy.data.table import Table
from understudy.errors import DataError, MethodError
from understudy.spark.rows import SparkRows, open_spark

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")

TEXT = """
[columns.word]
kind = "categorical"
levels = ["a", "3", "say \\"so\\", twice"]
missing = [""]
reviewed = true
[columns.size]
kind = "integer"
lower = 0
upper = 9
bins = 5
reviewed = true
"""
SCHEMA = us.Schema.loads(TEXT)
FRAME = pl.DataFrame(
    {
        "word": ["a", "3", "", None, 'say "so", twice', " a"] * 4,
        "size": ["1", "9", "", "12", "x", "3.0"] * 4,
    }
)


@pytest.fixture
def places(spark, tmp_path):
    """The same rows in three forms."""
    FRAME.write_csv(tmp_path / "rows.csv")
    FRAME.write_csv(tmp_path / "rows.tsv", separator="\t")
    FRAME.write_parquet(tmp_path / "rows.parquet")
    spark.read.parquet(str(tmp_path / "rows.parquet")).createOrReplaceTempView("words")
    return tmp_path


@pytest.mark.parametrize("form", ["rows.csv", "rows.tsv", "rows.parquet", "words"])
@pytest.mark.nightly(every=4)
def test_paths_and_names_give_the_rows_that_are_read_in_process(places, form):
    known = places / (form if "." in form else "rows.parquet")
    place = str(known) if "." in form else form
    there, here = SparkRows(open_spark(place, SCHEMA), SCHEMA), Table(known, SCHEMA)
    (one,), (other,) = (rows.count([(0, 1)]).expose() for rows in (there, here))
    assert (one.inside.tolist(), one.outside) == (other.inside.tolist(), other.outside)


def test_random_groups_are_refused_since_tasks_would_divide_a_cluster(places):
    grouped = us.Schema.loads(TEXT.replace('missing = [""]', "random_groups = true"))
    for place in ("rows.csv", "rows.parquet"):
        with pytest.raises(DataError, match="'word' has random_groups"):
            SparkRows(open_spark(str(places / place), grouped), grouped)


def test_what_spark_cannot_read_is_refused(places, monkeypatch):
    for place in ("nowhere", "no/where", str(places / "none.parquet")):
        with pytest.raises(DataError, match="Spark cannot read"):
            open_spark(place, SCHEMA)
    several = us.Schema.loads("[file]\nmultiline = true\nreviewed = true\n" + TEXT)
    for place, schema in (("rows.csv", several), ("rows.csv.zip", SCHEMA)):
        with pytest.raises(DataError, match=r"convert .* to Parquet"):
            open_spark(str(places / place), schema)
    (places / "none.csv").write_bytes(b"")
    with pytest.raises(DataError, match="is empty: it has no header line"):
        open_spark(str(places / "none.csv"), SCHEMA)


LINES = [
    *(
        b"a,1",
        b"3,9\r",
        b"",
        b"a",
        b"a,1,2",
        b",".join([b"a"] * 21_000),
        b'"a,1',
        b"\xff,1",
        b"a,\0",
    ),
    *(
        b"a\rb,2",
        b'"say ""so"", twice",3',
        b"word,size",
        b" a,3.0",
        b"x" * 2_000_000,
        b"\xef\xbb\xbfa,1",
    ),
]


def test_lines_of_a_text_are_split_as_in_process(spark, tmp_path):
    """Whatever a line holds, and wherever Spark divides the file."""
    name, size = (
        "spark.sql.files.maxPartitionBytes",
        spark.conf.get("spark.sql.files.maxPartitionBytes"),
    )
    spark.conf.set(name, "65536")
    try:
        each = [b"a,1", *LINES] if NIGHT else []
        for k, line in enumerate([*each, b"\n".join(LINES * 3)]):
            path = tmp_path / f"{k}.csv"
            path.write_bytes(
                b"word,size\r\n" + b"3,4\n" * 20_000 + line + b"\n" + b"a,7\n" * 20_000
            )
            there, here = SparkRows(open_spark(str(path), SCHEMA), SCHEMA), Table(path, SCHEMA)
            (one,), (other,) = (rows.count([(0, 1)]).expose() for rows in (there, here))
            assert (one.inside.tolist(), one.outside) == (other.inside.tolist(), other.outside), k
            assert there.premises.unproved == there.premises.conditions == ()
    finally:
        spark.conf.set(name, size)


@pytest.mark.nightly
def test_decimal_commas_and_folders_of_texts_are_read_as_well(spark, tmp_path):
    form = '[file]\nseparator = ";"\ndecimal = ","\nthousands = "."\nreviewed = true\n'
    schema = us.Schema.loads(form + TEXT)
    (tmp_path / "all").mkdir()
    for k in range(3):
        (tmp_path / "all" / f"{k}.csv").write_bytes(b"word;size\na;1,0\n3;9,0\n" * 1)
    there = SparkRows(open_spark(str(tmp_path / "all" / "*.csv"), schema), schema)
    assert there.total().expose() == 6
    assert there.count([(0,)]).expose()[0].inside.tolist() == [3, 3, 0, 0]
    (tmp_path / "all" / "3.csv").write_bytes(b"size;word\n1;a\n")
    with pytest.raises(DataError, match="job that reads the Spark data frame failed"):
        SparkRows(open_spark(str(tmp_path / "all" / "*.csv"), schema), schema)


def test_without_spark_there_is_no_table(places, monkeypatch):
    monkeypatch.setattr("understudy.spark.rows.find_spec", lambda _name: None)
    with pytest.raises(MethodError, match=r"install understudy\[spark\]"):
        open_spark("words", SCHEMA)


@pytest.mark.nightly
def test_the_command_releases_a_table_by_its_name(places):
    schema, out = places / "schema.toml", places / "release"
    schema.write_text(TEXT, encoding="utf-8")
    asked = ["--schema", str(schema), "--epsilon", "1", "--out", str(out), "--engine", "spark"]
    ended = CliRunner().invoke(app, ["synthesize", "words", *asked])
    assert ended.exit_code == 0, ended.output
    assert us.Release.load(out).guarantee.kind == "pure"


def test_regressions_and_answers_are_summed_in_spark(spark, tmp_path):
    numbers = "\n".join(
        f'[columns.{name}]\nkind = "continuous"\nlower = 0.0\nupper = 9.0\nreviewed = true'
        for name in "xy"
    )
    schema = us.Schema.loads(numbers)
    FRAME.select(x=pl.int_range(24) % 9.0, y=pl.int_range(24) % 7.0).write_parquet(
        tmp_path / "rows.parquet"
    )
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    asked = {"epsilon": 10, "mechanism": "functional", "insecure_noise_seed": 2}
    here = us.regress(tmp_path / "rows.parquet", schema, "y ~ x", **asked)
    assert us.regress(frame, schema, "y ~ x", **asked).to_json() == here.to_json()
    us.synthesize(frame, schema, epsilon=1).save(tmp_path / "release")
    question = tmp_path / "question.toml"
    question.write_text(
        'title = "one"\nchosen = "beforehand"\nasked_by = "us"\n'
        '[[analyses]]\nkind = "mean"\nformula = "y"\n',
        encoding="utf-8",
    )
    amended = us.answer(question, frame, tmp_path / "release", epsilon=1)
    assert len(amended.manifest.amendments) == 1


@pytest.mark.nightly
def test_commands_ask_spark_for_regressions_and_answers(places):
    """Also a question after a release: the rows of both are counted where they are."""
    schema, out = places / "schema.toml", places / "asked"
    schema.write_text(TEXT, encoding="utf-8")
    there, noise = ["--engine", "spark"], ["--insecure-noise-seed", "3"]
    rows = str(places / "whole.parquet")
    whole = FRAME.select(word=pl.lit("a"), size=pl.int_range(24).cast(pl.String).str.slice(0, 1))
    whole.write_parquet(rows)
    regress = ["regress", rows, str(schema), "size ~ 1", "--epsilon", "9", "--json", *noise]
    runs = [CliRunner().invoke(app, [*regress, *more]) for more in ([], there)]
    assert [run.exit_code for run in runs] == [0, 0], runs
    assert runs[0].output == runs[1].output
    made = ["synthesize", rows, "--schema", str(schema), "--epsilon", "40", "--out", str(out)]
    assert CliRunner().invoke(app, [*made, *there]).exit_code == 0
    question = places / "question.toml"
    question.write_text(
        'title = "one"\nchosen = "beforehand"\nasked_by = "us"\n'
        '[[analyses]]\nkind = "mean"\nformula = "size"\n',
        encoding="utf-8",
    )
    ask = ["answer", str(question), rows, "--release", str(out), "--epsilon", "40", "--yes"]
    answered = CliRunner().invoke(app, [*ask, "--out", str(places / "amended"), *there])
    assert answered.exit_code == 0, answered.output
    assert len(us.Release.load(places / "amended").manifest.amendments) == 1


@pytest.mark.parametrize("more", [("--query", "SELECT a FROM t"), ("--table", "t")])
def test_a_query_of_a_database_is_none_of_spark(places, more):
    schema = places / "schema.toml"
    schema.write_text(TEXT, encoding="utf-8")
    asked = ["words", "--schema", str(schema), "--epsilon", "1", "--out", str(places / "none")]
    ended = CliRunner().invoke(app, ["synthesize", *asked, "--engine", "spark", *more])
    assert isinstance(ended.exception, DataError)
    assert "with --engine spark give a path" in str(ended.exception)
