"""The folder: whole or not at all, read back as it was, refused when it was changed."""

import json

import pandas as pd
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from understudy.errors import ReleaseError
from understudy.release.release import Release

SCHEMA = us.Schema.loads("""
title = "Small"
[columns."a b"]
kind = "categorical"
levels = ["x", "y"]
missing = [""]
source = "codebook"
reviewed = true
[columns.n]
kind = "integer"
lower = 0
upper = 4
source = "codebook"
reviewed = true
""")
DATA = pl.DataFrame({"a b": ["x", "y", None, "x"] * 20, "n": [0, 1, 2, 3] * 20})
FORMS = [
    ("independent", {}),
    ("laplace", {"form": "dense"}),
    ("laplace", {"form": "filtered"}),
    ("laplace", {"form": "lazy"}),
    ("laplace", {"form": "dense", "noise": "laplace"}),
]


def release(method="independent", options=None, **rest):
    return us.synthesize(
        DATA, SCHEMA, epsilon=2, method=method, options=options or {}, sets=2, **rest
    )


@pytest.mark.parametrize(("method", "options"), FORMS)
def test_a_release_is_read_back_as_it_was(tmp_path, method, options):
    before = release(method, options, seed=None)
    before.save(tmp_path / "r")
    after = Release.load(tmp_path / "r", frame="polars")
    assert after.manifest == before.manifest
    assert after.schema == before.schema
    assert all(a.equals(b) for a, b in zip(after.tables, before.tables, strict=True))
    for one, other in zip(after.measurements, before.measurements, strict=True):
        assert one.to_json() == other.to_json()
        assert one.codes.tolist() == other.codes.tolist()
        assert one.counts.tolist() == other.counts.tolist()


def test_saving_a_loaded_release_gives_the_same_files(tmp_path):
    release().save(tmp_path / "one")
    Release.load(tmp_path / "one").save(tmp_path / "two")
    manifests = [json.loads((tmp_path / k / "manifest.json").read_text()) for k in ("one", "two")]
    assert manifests[0] == manifests[1]


def test_every_file_is_named_with_its_checksum(tmp_path):
    release().save(tmp_path / "r", csv=True)
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    files = {f.relative_to(tmp_path / "r").as_posix() for f in (tmp_path / "r").rglob("*.*")}
    assert set(manifest["files"]) == files - {"manifest.json"}
    assert {
        "synthetic/set-2.csv",
        "noisy/table-1.parquet",
        "schema.toml",
        "README.md",
        "report.html",
    } <= files
    frame = pd.read_csv(tmp_path / "r" / "synthetic" / "set-1.csv")
    assert frame.columns.tolist() == ["a b", "n"]


def test_numbers_of_the_guarantee_are_decimals(tmp_path):
    release().save(tmp_path / "r")
    guarantee = json.loads((tmp_path / "r" / "manifest.json").read_text())["guarantee"]
    assert (guarantee["kind"], guarantee["epsilon"], guarantee["delta"]) == ("pure", "2", "0")
    assert guarantee["neighbours"] == "add_remove"


@pytest.mark.parametrize("name", ["synthetic/set-1.parquet", "schema.toml", "report.html"])
def test_a_changed_file_is_noticed(tmp_path, name):
    release().save(tmp_path / "r")
    with (tmp_path / "r" / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(ReleaseError, match="was changed"):
        Release.load(tmp_path / "r")


def test_a_missing_file_is_noticed(tmp_path):
    release().save(tmp_path / "r")
    (tmp_path / "r" / "noisy" / "table-1.parquet").unlink()
    with pytest.raises(ReleaseError, match="lacks its file"):
        Release.load(tmp_path / "r")


def test_a_manifest_cannot_point_outside_its_folder(tmp_path):
    release().save(tmp_path / "r")
    file = tmp_path / "r" / "manifest.json"
    manifest = json.loads(file.read_text())
    (tmp_path / "elsewhere").write_text("x")
    manifest["files"]["../elsewhere"] = "sha256:0"
    file.write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError, match="lacks its file"):
        Release.load(tmp_path / "r")


def test_another_format_version_is_refused(tmp_path):
    release().save(tmp_path / "r")
    file = tmp_path / "r" / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 99}))
    with pytest.raises(ReleaseError, match="format 99"):
        Release.load(tmp_path / "r")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}'])
def test_what_is_no_release_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ReleaseError, match="not a release"):
        Release.load(tmp_path)


def test_nothing_is_overwritten_and_nothing_half_written(tmp_path, monkeypatch):
    made = release()
    made.save(tmp_path / "r")
    with pytest.raises(ReleaseError, match="already exists"):
        made.save(tmp_path / "r")

    def fail(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", fail)
    with pytest.raises(ReleaseError, match="No space left"):
        made.save(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r"]


def test_fingerprints_of_the_draft_do_not_leave(tmp_path):
    column = SCHEMA.columns["n"]
    drafted = column.model_copy(update={"drafted": column.fingerprints()})
    schema = SCHEMA.model_copy(update={"columns": {**SCHEMA.columns, "n": drafted}})
    made = us.synthesize(DATA, schema, epsilon=1)
    made.save(tmp_path / "r")
    text = (tmp_path / "r" / "schema.toml").read_text()
    assert not [one for one in " ".join(drafted.drafted.values()).split() if one in text]
    assert "unchanged from a draft" in made.guarantee.leaks[0]
    assert "unchanged" in (tmp_path / "r" / "manifest.json").read_text()


@pytest.mark.parametrize("method", ["independent", "mst"])
def test_a_budget_of_many_digits_is_read_back(tmp_path, method):
    """ρ follows from ε and δ as they were stated, not from ε rounded for people."""
    budget = {"epsilon": "7.123456789123456789", "delta": "0.000001"}
    made = us.synthesize(DATA, SCHEMA, method=method, **budget)
    assert {key: made.manifest.budget[key] for key in budget} == budget
    made.save(tmp_path / "release")
    loaded = Release.load(tmp_path / "release")
    assert loaded.manifest.budget == made.manifest.budget
    assert loaded.manifest.guarantee.to_json() == made.manifest.guarantee.to_json()


EVERY_KIND = us.Schema.loads("""
[columns.whole]
kind = "integer"
lower = 0
upper = 100
spikes = [0, 40]
missing = [-1, 999]
reviewed = true
[columns.real]
kind = "continuous"
lower = 0.0
upper = 1.0
decimals = 2
spikes = [0.5]
missing = [-9]
reviewed = true
[columns.day]
kind = "date"
lower = 2020-01-01
upper = 2020-12-31
bins = [2020-01-01, 2020-07-01, 2020-12-31]
reviewed = true
[columns.truth]
kind = "boolean"
missing = [9]
reviewed = true
[columns.grade]
kind = "ordinal"
levels = [1, 2, 3]
missing = [-7]
reviewed = true
[[forbidden]]
where = { whole = 0, day = { lower = 2020-07-01, upper = 2020-12-31 } }
reviewed = true
[[forbidden]]
where = { real = 0.5, truth = true }
reviewed = true
""")


def test_numeric_codes_and_spikes_of_every_kind_are_read_back(tmp_path):
    """Whatever a schema can declare, a release with it is one that can be loaded."""
    n = 300
    days = pd.date_range("2020-01-01", periods=300).date
    rows = pl.DataFrame(
        {
            "whole": [(-1, 999, 0, 40, 57)[k % 5] for k in range(n)],
            "real": [(-9.0, 0.5, 0.25, 0.99)[k % 4] for k in range(n)],
            "day": [days[k] for k in range(n)],
            "truth": [(0, 1, 9)[k % 3] for k in range(n)],
            "grade": [(1, 2, 3, -7)[k % 4] for k in range(n)],
        }
    )
    for method in ("independent", "marginals") if NIGHT else ("independent",):
        made = us.synthesize(rows, EVERY_KIND, epsilon=5, method=method)
        made.save(tmp_path / method)
        again = Release.load(tmp_path / method, frame="polars")
        assert again.tables[0].equals(made.tables[0])
