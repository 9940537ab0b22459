"""Releases whose key combinations occur often or never: stamped, checked, and refused in time."""

import json
import shutil

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import understudy as us
import understudy_verify
from schemas import column
from understudy.cli.app import app
from understudy.errors import InferenceError, MethodError, ReleaseError
from understudy.inference.rules import facts_of, moved_reason, select_rule
from understudy.release import sets
from understudy.release.folder import MANIFEST, checksums
from understudy.workflow import synthesize as synthesizes

SCHEMA = us.Schema.loads(
    "row_limit = 2000\n"
    + column("job", "categorical", levels=["a", "b", "c"], missing=["?"], source="law")
    + column("city", "categorical", levels=["x", "y"], source="law")
    + column("age", "integer", lower=0, upper=99, bins=5, missing=[-9], source="law")
    + '[columns.old]\nkind = "boolean"\nderived = "age >= 60"\nmissing = [""]\n'
    + 'source = "law"\nreviewed = true\n'
)
ASKED = {"columns": ["job", "age"], "count": 20, "most_changed": "0.1"}
HOW = us.SynthesisOptions(
    method="marginals", sets=2, options={"sets": "posterior"}, minimum_count=ASKED
)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    job = rng.choice(["a", "b", "c", "?"], 1_800, p=[0.6, 0.37, 0.02, 0.01])
    age = np.where(rng.random(1_800) < 0.02, -9, rng.integers(0, 100, 1_800))
    age[job == "?"] = 7  # one combination alone
    return pl.DataFrame({"job": job, "city": np.where(job == "a", "x", "y"), "age": age})


def made(people, place, how=HOW, **run):
    run = us.RunOptions(checkpoint=place, **run)
    return us.synthesize(people, SCHEMA, epsilon=2, delta="1e-6", how=how, run=run)


@pytest.fixture(scope="module")
def published(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("counted")
    made(people, folder / "checkpoint").save(folder / "release")
    return folder / "release"


def combinations(table):
    """Slowly, by what a reader sees."""
    counts = {}
    for job, age in table.select("job", "age").iter_rows():
        key = job, "none" if age == -9 else age // 20
        counts[key] = counts.get(key, 0) + 1
    return counts


def test_each_set_keeps_it_and_the_release_says_so_everywhere(published):
    release = us.Release.load(published)
    kept = release.manifest.minimum_count
    assert (kept.columns, kept.count, kept.most_changed) == (("job", "age"), 20, "1/10")
    assert max(kept.changed) > 0
    for table in release.tables:
        assert min(combinations(table).values()) >= 20
        known = table.filter(pl.col("age") >= 0)
        assert (known["old"] == (known["age"] >= 60)).all()
    assert all(word != "broken" for _, word, _ in understudy_verify.verify(published))
    for name in ("README.md", "report.html"):
        text = " ".join((published / name).read_text(encoding="utf-8").split())
        assert "occur 20 times or never" in text
        assert "occurs in a synthetic set occurs there at least 20 times" in text


def test_sets_without_it_have_rare_combinations(people, tmp_path):
    without = us.SynthesisOptions(method="marginals", sets=2, options={"sets": "posterior"})
    release = made(people, tmp_path / "c", without)
    assert min(min(combinations(table).values()) for table in release.tables) < 20


def test_questions_about_keys_are_refused_of_the_sets_and_answered_by_noisy_tables(published):
    release = us.Release.load(published)
    assert us.analyze(release, "mean", "age").valid  # from what was measured
    with pytest.raises(InferenceError, match="minimum count"):
        us.analyze(release, "poisson", "age ~ city")
    assert select_rule(facts_of(release, "poisson", ["city"])).reason is not moved_reason


def test_more_changes_than_may_be_lose_nothing(people, tmp_path):
    strict = us.SynthesisOptions(
        method="marginals",
        sets=2,
        options={"sets": "posterior"},
        minimum_count={**ASKED, "most_changed": 0},
    )
    with pytest.raises(MethodError, match="at most 0 % may"):
        made(people, tmp_path / "c", strict, seed=4)
    release = made(people, tmp_path / "c", seed=4)
    again = made(people, tmp_path / "other", seed=4)
    assert release.guarantee.epsilon == again.guarantee.epsilon == 2
    assert max(release.manifest.minimum_count.changed) > 0


def test_it_needs_a_checkpoint(people):
    with pytest.raises(MethodError, match="state a checkpoint"):
        us.synthesize(people, SCHEMA, epsilon=2, how=HOW)


@pytest.mark.parametrize("claim", ["a rare record", "a larger count", "fewer sets"])
def test_a_release_that_does_not_keep_it_is_refused(published, tmp_path, claim):
    folder = tmp_path / "altered"
    shutil.copytree(published, folder)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    file = folder / "synthetic" / "set-1.parquet"
    if claim == "a rare record":
        table = pl.read_parquet(file)
        rare = pl.when(pl.int_range(pl.len()) == 0).then(-9).otherwise("age").alias("age")
        first = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("?")).otherwise("job")
        old = pl.when(pl.int_range(pl.len()) == 0).then(None).otherwise("old").alias("old")
        jobs = first.cast(table.schema["job"]).alias("job")
        table.with_columns(jobs, rare, old).write_parquet(file)
        manifest["files"]["synthetic/set-1.parquet"] = checksums(folder)["synthetic/set-1.parquet"]
    elif claim == "a larger count":
        manifest["minimum_count"]["count"] = 500
    else:
        manifest["minimum_count"]["changed"].pop()
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ReleaseError):
        us.Release.load(folder)
    assert ("sets", "broken") in [told[:2] for told in understudy_verify.verify(folder)]


def test_long_sets_keep_it_in_all_their_parts(people, tmp_path, monkeypatch):
    for module in (sets, synthesizes):
        monkeypatch.setattr(module, "PART_ROWS", 500)
    release = made(people, tmp_path / "c")
    assert isinstance(release.tables, sets.PartedSets)
    for table in release.tables:
        assert min(combinations(table).values()) >= 20


def test_more_records_say_that_it_does_not_hold_in_them(published, tmp_path):
    told = CliRunner().invoke(
        app, ["sample", str(published), "-n", "5", "--out", str(tmp_path / "more.csv")]
    )
    assert told.exit_code == 0
    assert "holds in its own sets" in " ".join(told.output.split())


def test_commands_and_choices_take_it(people, tmp_path):
    SCHEMA.save(tmp_path / "schema.toml")
    people.write_csv(tmp_path / "people.csv")
    asked = ["--schema", str(tmp_path / "schema.toml"), "--epsilon", "2"]
    keys = ["--keys", "job,city", "--minimum-count", "10", "--most-changed", "0.2"]
    out = tmp_path / "release"
    run = CliRunner().invoke(
        app,
        [
            *("synthesize", str(tmp_path / "people.csv"), *asked, *keys),
            *("-m", "independent", "--out", str(out)),
        ],
    )
    assert run.exit_code == 0, run.output
    assert us.Release.load(out).manifest.minimum_count.count == 10
    refused = CliRunner().invoke(app, ["plan", *asked, "--keys", "job"])
    assert "state it too" in str(refused.exception)
    file = tmp_path / "choice.toml"
    file.write_text(
        'tries = 2\n[accept]\njob = 0.1\n[[candidates]]\nmethod = "independent"\n'
        '[candidates.minimum_count]\ncolumns = ["job", "age"]\ncount = 20\nmost_changed = "0.1"\n',
        encoding="utf-8",
    )
    choice = us.Choice.load(file)
    assert dict(choice.candidates[0].minimum_count) == ASKED
    run = us.RunOptions(checkpoint=tmp_path / "c")
    release = us.choose(people, SCHEMA, choice, epsilon=4, run=run)
    assert min(combinations(release.tables[0]).values()) >= 20
