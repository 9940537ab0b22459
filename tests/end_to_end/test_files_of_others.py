"""From the files and databases that people have to a release, by the command line."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from made_workbook import number, text, write_workbook
from schemas import PEOPLE as SCHEMA
from understudy.schema import Schema

N = 200


@pytest.fixture
def run(monkeypatch, understudy, tmp_path):
    """Run a command in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)
    Path("people.toml").write_text(SCHEMA, encoding="utf-8")
    return understudy


def people():
    rng = np.random.default_rng(1)
    cities = rng.choice(["Aa", "Bb", "Cc"], N)
    return pd.DataFrame({"city": cities, "age": rng.integers(0, 100, N).astype(float)})


def released(run, data, *more):
    """The guarantee of a release of some data, by the schema of people."""
    options = ("--schema", "people.toml", "--epsilon", "1", "--out", "release", "--quiet")
    code, out, err = run("synthesize", data, *options, *more)
    assert (code, out) == (0, ""), err
    return json.loads(Path("release/manifest.json").read_text(encoding="utf-8"))


def written(name):
    """A table of people as a file of that name, and whether there is a library for it."""
    frame = people()
    ending = Path(name).suffix
    if ending in (".sav", ".dta", ".xpt"):
        pyreadstat = pytest.importorskip("pyreadstat", reason="the extra files is not installed")
        write = {".sav": "write_sav", ".dta": "write_dta", ".xpt": "write_xport"}[ending]
        getattr(pyreadstat, write)(frame, name)
    elif ending == ".xlsx":
        pytest.importorskip("fastexcel", reason="the extra files is not installed")
        cells = [(text(city), number(age)) for city, age in frame.itertuples(index=False)]
        write_workbook(name, [(text("city"), text("age")), *cells])
    elif ending == ".jsonl":
        pl.from_pandas(frame).write_ndjson(name)
    else:
        pl.from_pandas(frame).write_ipc(name)
    return name


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt", ".xlsx", ".jsonl", ".arrow"])
@pytest.mark.nightly(every=3)
def test_every_file_is_checked_and_released(run, ending):
    name = written(f"people{ending}")
    assert run("schema", "check", name, "people.toml").code == 0
    assert released(run, name)["guarantee"]["kind"] == "pure"


def test_a_file_of_spss_is_drafted_reviewed_and_released(run):
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra files is not installed")
    frame = people().assign(sex=np.tile([1.0, 2.0, 9.0, 1.0], N // 4))
    pyreadstat.write_sav(
        frame,
        "people.sav",
        variable_value_labels={"sex": {1.0: "men", 2.0: "women", 9.0: "refused"}},
        missing_ranges={"sex": [9.0]},
    )
    assert run("schema", "draft", "people.sav", "-o", "draft.toml").code == 0
    drafted = Schema.load("draft.toml")
    assert drafted.columns["sex"].levels == (1, 2)
    assert run("synthesize", "people.sav", *OPTIONS, "--out", "no").code == 2  # not reviewed
    text = Path("draft.toml").read_text(encoding="utf-8")
    Path("draft.toml").write_text(
        text.replace("reviewed = false", "reviewed = true").replace('source = ""', 'source = "law"')
    )
    assert run("synthesize", "people.sav", *OPTIONS, "--out", "release").code == 0
    manifest = json.loads(Path("release/manifest.json").read_text(encoding="utf-8"))
    assert manifest["guarantee"]["kind"] == "conditional"  # nothing confirms what was read
    assert Schema.load("release/schema.toml").columns["sex"].value_labels["9"] == "refused"


OPTIONS = ("--schema", "draft.toml", "--epsilon", "1")


def test_a_table_and_a_query_of_a_database_are_released(run):
    pytest.importorskip("sqlglot", reason="the extra database is not installed")
    with closing(sqlite3.connect("people.db")) as link:
        people().to_sql("people", link, index=False)
    address = "sqlite:///people.db"
    assert run("schema", "draft", address, "--table", "people", "-o", "draft.toml").code == 0
    assert set(Schema.load("draft.toml").columns) == {"city", "age"}
    assert run("schema", "check", address, "people.toml", "--table", "people").code == 0
    manifest = released(run, address, "--query", "SELECT city, age FROM people WHERE age >= 1")
    assert manifest["guarantee"]["kind"] == "pure"
    assert "people.db" not in json.dumps(manifest)


def test_mistakes_about_databases_are_one_sentence_without_a_password(run):
    secret = "postgresql://owner:hidden-1234@localhost:1/people"
    for arguments, told in (
        ((secret, "people.toml"), "A database needs --query or --table, and not both"),
        ((secret, "people.toml", "--table", "a"), "'people' on a server cannot be asked"),
        (("people.csv", "people.toml", "--table", "a"), "give its address, such as sqlite:///"),
        (("mysql://owner:hidden-1234@x", "people.toml", "--table", "a"), "must begin with sqlite"),
    ):
        pytest.importorskip("adbc_driver_postgresql", reason="the extra database is not installed")
        code, out, err = run("schema", "check", *arguments)
        assert (code, out) == (2, "")
        assert told in " ".join(err.split())
        assert "hidden-1234" not in err
