"""Moments, times of day and durations from end to end, by the commands."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.errors import DataError

SCHEMA = """
row_limit = 5000
[columns.seen]
kind = "datetime"
lower = 2021-01-01T00:00:00
upper = 2021-12-31T23:59:59
resolution = "minute"
timezone = "Europe/Zurich"
missing = [""]
source = "codebook"
reviewed = true
[columns.at]
kind = "time"
resolution = "hour"
missing = ["refused"]
source = "codebook"
reviewed = true
[columns.stay]
kind = "duration"
lower = "PT0S"
upper = "P10D"
resolution = "hour"
source = "codebook"
reviewed = true
"""
SUMMER = datetime.datetime(2021, 7, 1, 12, 0, 59)


def visits(n=300):
    rng = np.random.default_rng(3)
    minutes = rng.integers(0, 525_600, n)
    seen = [datetime.datetime(2021, 1, 1) + datetime.timedelta(minutes=int(k)) for k in minutes]
    stay = [datetime.timedelta(hours=int(k)) for k in rng.integers(0, 200, n)]
    at = [datetime.time(int(hour), 30) for hour in rng.integers(6, 20, n)]
    return pl.DataFrame({"seen": seen, "at": at, "stay": stay})


def test_one_value_in_each_form_is_one_state():
    """The hour of noon in Zurich, written in ways that files have."""
    schema = us.Schema.loads(SCHEMA).part(["seen"])
    forms = ["2021-07-01 12:00", "2021-07-01T12:00:59.9", "2021-07-01T10:00Z", SUMMER]
    forms += [
        pd.Timestamp(SUMMER, tz="Europe/Zurich"),
        np.datetime64(SUMMER),
        "2021-07-01T05:00-05",
    ]
    numbers = {number(one, schema) for one in forms}
    assert numbers == {(SUMMER - datetime.datetime(1970, 1, 1)) // datetime.timedelta(minutes=1)}


def number(value, schema):
    table = Table(pd.DataFrame({"seen": pd.Series([value], dtype=object)}), schema)
    return int(table.read(["seen"]).expose()[0].number[0])


def test_the_main_job_on_times(understudy, tmp_path):
    rows, folder = visits(), tmp_path / "release"
    rows.write_parquet(tmp_path / "visits.parquet")
    (tmp_path / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    drafted = understudy(
        "schema", "draft", tmp_path / "visits.parquet", "--out", tmp_path / "d.toml"
    )
    assert drafted.code == 0, drafted.err
    draft = us.Schema.load(tmp_path / "d.toml")
    assert [column.kind for column in draft.columns.values()] == ["datetime", "time", "duration"]
    rows_path, schema_path = tmp_path / "visits.parquet", tmp_path / "visits.toml"
    assert understudy("schema", "check", rows_path, schema_path).code == 0
    options = ("--epsilon", 20, "--out", folder, "--csv", "--seed", 1, "--sets", 1)
    made = understudy("synthesize", rows_path, "--schema", schema_path, *options)
    assert made.code == 0, made.err
    release = us.Release.load(folder)
    table = release.tables[0]
    assert dict(table.schema) == {
        "seen": pl.Datetime("us"),
        "at": pl.String(),
        "stay": pl.Duration("us"),
    }
    assert set(table["at"]) <= {f"{hour:02d}:00:00" for hour in range(24)} | {"refused"}
    assert (table["stay"].dt.total_seconds() % 3600 == 0).all()
    assert release.sets[0].dtypes.astype(str).tolist()[::2] == [
        "datetime64[us]",
        "timedelta64[us]",
    ]
    header, first = (folder / "synthetic" / "set-1.csv").read_text().splitlines()[:2]
    assert header == "seen,at,stay"
    schema = us.Schema.loads(SCHEMA)
    how = {"epsilon": 1, "method": "independent", "seed": 1}
    again = us.synthesize(folder / "synthetic" / "set-1.csv", schema, **how)
    assert first.split(",")[2].startswith("P")
    assert again.manifest.n_rows > 0
    asked = understudy("analyze", folder, "mean", "stay", "--json")
    assert asked.code == 0
    hours = rows["stay"].dt.total_hours().mean()
    assert abs(asked.json["terms"][0]["estimate"] - hours) < 20
    assert understudy("evaluate", rows_path, folder).code == 0


def test_a_zone_that_polars_may_have_made_is_refused():
    schema = us.Schema.loads(SCHEMA).part(["seen"])
    frame = pl.DataFrame({"seen": [SUMMER]}).with_columns(
        pl.col("seen").dt.replace_time_zone("UTC")
    )
    with pytest.raises(DataError, match="bring them to the declared zone"):
        us.synthesize(frame, schema, epsilon=1)
    local = frame.with_columns(pl.col("seen").dt.convert_time_zone("Europe/Zurich"))
    us.synthesize(local, schema, epsilon=1, method="independent", seed=1)
