"""`--also` and `export` from the command line: files for SPSS, Stata and spreadsheets."""

import json
from pathlib import Path

import pytest

import understudy as us
from exported import SCHEMA, rows

pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat (the extra files) is absent")
ASK = ["synthesize", "p.csv", "--schema", "p.toml", "-e", "5", "-m", "independent", "--out"]


@pytest.fixture
def run(monkeypatch, understudy, tmp_path):
    """Run a command in a folder with a table and its schema, in this process."""
    monkeypatch.chdir(tmp_path)
    rows().write_csv("p.csv")
    SCHEMA.save("p.toml")
    return understudy


def test_a_release_with_files_for_others(run, capsys):
    assert run(*ASK, "r", "--also", "sav,dta", "--csv", "--quiet").code == 0
    made = {file.name for file in Path("r/synthetic").iterdir()}
    endings = {".parquet", ".csv", "-labels.csv", ".sav", ".dta"}
    assert made == {f"set-1{ending}" for ending in endings}
    assert us.Release.load("r").manifest.sets == 1
    told = run("export", "r", "out", "--also", "sav")
    assert (told.code, told.out.split()) == (0, ["out/set-1.sav"])
    inside, outside = (
        pyreadstat.read_sav(file, user_missing=True)[0]
        for file in ("r/synthetic/set-1.sav", "out/set-1.sav")
    )
    assert inside.equals(outside)
    told = run("export", "r", "raw", "--csv-raw", "--json")
    assert json.loads(told.out)["files"] == ["raw/set-1-labels.csv", "raw/set-1.csv"]
    assert "=e" in Path("raw/set-1.csv").read_text()


def test_what_cannot_be_written_is_told_before_anything_is_read_or_spent(run, monkeypatch):
    Path("p.csv").unlink()  # whatever asked for the rows would say so
    told = run(*ASK, "r", "--also", "spss")
    assert told.code == 2
    assert told.err.startswith("Error: A release cannot be written as 'spss'")
    monkeypatch.setattr("understudy._validation.find_spec", lambda _: None)
    told = run(*ASK, "r", "--also", "dta")
    assert told.code == 2
    assert "Writing Stata files needs pyreadstat, which is not installed" in told.err
    assert not Path("r").exists()


def test_an_export_leaves_a_release_as_it_is(run):
    assert run(*ASK, "r", "--quiet").code == 0
    before = {file: file.read_bytes() for file in Path("r").rglob("*") if file.is_file()}
    for out, why in (("r/more", "lies in the release"), ("r", "already exists")):
        told = run("export", "r", out, "--also", "csv")
        assert told.code == 2
        assert why in told.err
    assert run("export", "r", "out").code == 2
    after = {file: file.read_bytes() for file in Path("r").rglob("*") if file.is_file()}
    assert after == before
