"""A release of households whose persons' key combinations occur often or never."""

import json
import shutil
from collections import Counter

import numpy as np
import polars as pl
import pytest

import understudy as us
import understudy_verify
from made_members import RULES, SCHEMA, tables
from understudy.cli.app import app
from understudy.errors import InferenceError, ReleaseError
from understudy.release.folder import MANIFEST

COUNT = """
[tables.household.columns.children]
derived = "count(person where age < 16)"
source = "sheets"
reviewed = true
"""
SMALL = (SCHEMA + RULES).replace("\n[tables.person]\n", COUNT + "\n[tables.person]\n", 1)
KEYS = ["--keys", "role,age", "--minimum-count", "30", "--most-changed", "0.4"]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counted")
    both = tables(600, seed=1, most=3)
    both["household"].write_csv(folder / "homes.csv")
    both["person"].write_csv(folder / "people.csv")
    (folder / "schema.toml").write_text(SMALL, encoding="utf-8")
    files = [str(folder / "homes.csv"), "--members", str(folder / "people.csv")]
    how = ["--schema", str(folder / "schema.toml"), "--epsilon", "3", "--method", "independent"]
    out = ["--out", str(folder / "out"), "--quiet", "--insecure-noise-seed", "1", "--seed", "1"]
    app(["synthesize", *files, *how, *KEYS, *out], standalone_mode=False)
    return folder / "out"


def ages(persons):
    """By declared bin, slowly."""
    return Counter(
        (role, int(np.searchsorted([16, 30, 50], age, side="right")))
        for role, age in persons.select("role", "age").iter_rows()
    )


def test_persons_are_counted_and_every_household_keeps_its_rules(published):
    release = us.Release.load(published, frame="polars")
    kept = release.manifest.minimum_count
    assert (kept.table, kept.columns, kept.count) == ("person", ("role", "age"), 30)
    assert kept.changed[0] > 0
    both = release.linked_sets[0]
    persons, homes = both["person"], both["household"]
    assert min(ages(persons).values()) >= 30
    assert set(persons["hid"]) == set(homes["hid"])
    for (_,), unit in persons.group_by("hid"):
        roles = Counter(unit["role"].to_list())
        assert roles["reference"] == 1
        assert roles["partner"] <= 1
        parent = unit.filter(pl.col("role") == "reference")["age"][0]
        children = unit.filter(pl.col("role") == "child")["age"]
        assert (parent >= children + 14).all()
    young = persons.filter(pl.col("age") < 16)
    assert young.filter(pl.col("work").cast(pl.String) == "true").is_empty()
    counted = young.group_by("hid").len().rename({"len": "young"})
    joined = homes.join(counted, on="hid", how="left").fill_null(0)
    assert (joined["children"] == joined["young"]).all()
    assert all(word != "broken" for _, word, _ in understudy_verify.verify(published))


def test_noisy_tables_answer_and_sets_do_not(published):
    release = us.Release.load(published)
    assert us.analyze(release, "proportion", "role").valid
    with pytest.raises(InferenceError, match="minimum count"):
        us.analyze(release, "poisson", "children ~ region")


@pytest.mark.parametrize("claim", ["a larger count", "another table", "no table"])
def test_a_release_that_says_more_is_refused(published, tmp_path, claim):
    folder = tmp_path / "altered"
    shutil.copytree(published, folder)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    kept = manifest["minimum_count"]
    if claim == "a larger count":
        kept["count"] = 1_000
    elif claim == "another table":
        kept["table"] = "household"
    else:
        del kept["table"]
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ReleaseError):
        us.Release.load(folder)
    assert ("sets", "broken") in [told[:2] for told in understudy_verify.verify(folder)]


def test_a_household_too_few_is_refused(published, tmp_path):
    """Keys of households are counted over households."""
    folder = tmp_path / "altered"
    shutil.copytree(published, folder)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    del manifest["minimum_count"]["table"]
    manifest["minimum_count"] |= {"columns": ["region"], "count": 2}
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    assert ("sets", "ok") in [told[:2] for told in understudy_verify.verify(folder)]
    manifest["minimum_count"]["count"] = 599
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    assert ("sets", "broken") in [told[:2] for told in understudy_verify.verify(folder)]
