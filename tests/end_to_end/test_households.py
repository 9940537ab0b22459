"""Households on the command line: two files, one file, what is refused, and killed runs."""

import json
import os
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
import understudy_verify
from made_members import RULES, SCHEMA, tables
from schemas import CITY
from understudy.checkpoint import journal as journals
from understudy.cli.app import app
from understudy.errors import DataError, InferenceError

SMALL = (SCHEMA + RULES).replace("rows_per_unit = 3", "rows_per_unit = 2")
BUDGET = ("--epsilon", "3", "--delta", "1e-6", "--method", "independent", "--sets", "1")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    both = tables(60, seed=1)
    both["household"].write_csv("homes.csv")
    both["person"].write_csv("people.csv")
    both["person"].join(both["household"], on="hid").write_parquet("one.parquet")
    (tmp_path / "schema.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "flat.toml").write_text(CITY, encoding="utf-8")
    return tmp_path


def told(capsys):
    return " ".join(capsys.readouterr().out.split())


def test_two_files_become_a_release_that_is_shown_checked_and_evaluated(place, capsys):
    both = ("homes.csv", "--members", "people.csv")
    app(
        ["synthesize", *both, "--schema", "schema.toml", *BUDGET, "--out", "out"],
        standalone_mode=False,
    )
    shown = told(capsys)
    assert "understudy schema check homes.csv schema.toml --members people.csv" in shown
    assert {state for _, state, _ in understudy_verify.verify(place / "out")} == {
        "ok",
        "not checked",
    }
    app(["show", "out"], standalone_mode=False)
    shown = told(capsys)
    assert "row of the table 'household' with all its rows of the table 'person'" in shown
    assert "size = 3 says that there were more" in shown
    app(["evaluate", *both[:1], "out", *both[1:], "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["n_original"] == 60
    app(["risk", *both[:1], "out", *both[1:], "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)
    app(["export", "out", "files", "--csv"], standalone_mode=False)
    assert {one.name for one in (place / "files").iterdir()} == {
        *("set-1.csv", "set-1-household.csv", "set-1-person.csv", "datapackage.json"),
    }
    readme = (place / "out" / "README.md").read_text(encoding="utf-8")
    assert "`linked/set-1-household.parquet`" in readme
    assert "known from noisy counts alone" in readme
    page = (place / "out" / "report.html").read_text(encoding="utf-8")
    assert "row of the table &#39;household&#39; with all its rows" in page
    whats = [one.what for one in us.Release.load("out").guarantee.public_inputs]
    assert any("a row of the table 'household' with its rows of 'person'" in one for one in whats)


def test_one_file_of_members_with_columns_of_their_units_will_do(place, capsys):
    app(["schema", "check", "one.parquet", "schema.toml"], standalone_mode=False)
    app(
        ["synthesize", "one.parquet", "--schema", "schema.toml", *BUDGET, "--out", "out", "-q"],
        standalone_mode=False,
    )
    linked = us.Release.load("out", frame="polars").linked_sets[0]
    assert linked["person"].join(linked["household"], on="hid", how="anti").height == 0


def test_a_check_names_the_table_and_ends_with_2(place, capsys):
    odd = pl.read_csv("people.csv").with_columns(role=pl.lit("boss"))
    odd.write_csv("odd.csv")
    arguments = ["schema", "check", "homes.csv", "schema.toml", "--members", "odd.csv"]
    assert app(arguments, standalone_mode=False) == 2
    shown = told(capsys)
    assert "Table 'person': column 'role' holds values that are not among the levels" in shown
    assert "boss" not in shown


def test_a_plan_says_what_the_unit_costs(place, capsys):
    asked = ("--epsilon", "3", "--delta", "1e-6", "--method", "mst")
    app(["plan", "--schema", "schema.toml", *asked], standalone_mode=False)
    shown = told(capsys)
    assert "It costs no more than any record; the 6 columns of its slots share the budget" in shown
    # Nine columns with two slots, six with one.
    assert "rows_per_unit = 2 makes 9 columns of what was declared; one slot fewer would" in shown
    assert "about 18 % less noise" in shown


def test_a_declared_question_about_members_is_refused_with_what_answers_it():
    schema = us.Schema.loads(SCHEMA + RULES)
    with pytest.raises(InferenceError, match=r"about rows of 'person', .* without"):
        us.plan(schema, epsilon=1, analyses=["median age"])


def test_a_declared_question_about_members_is_priced_bought_and_answered():
    schema, both = us.Schema.loads(SCHEMA + RULES), tables(4000, seed=3, most=3)
    asked = ["mean age ~ role", "ols age ~ income"]
    how = {"epsilon": 2, "delta": "1e-6", "method": "independent", "analyses": asked}
    plan = us.plan(schema, **how, assume_rows=4000)
    assert all(one.counts for one in plan.expected)
    release = us.synthesize(both, schema, **how, insecure_noise_seed=1)
    assert any("income, role_1, age_1, role_2" in one["query"] for one in release.manifest.ledger)
    persons = both["person"].join(both["household"], on="hid")
    means = us.analyze(release, "mean", "age ~ role").pooled
    by_role = dict(persons.group_by("role").agg(pl.col("age").mean()).iter_rows())
    line = us.analyze(release, "ols", "age ~ income").pooled
    slope, intercept = np.polyfit(persons["income"], persons["age"], 1)
    truths = [*(by_role[role] for role in ("reference", "partner", "child")), intercept, slope]
    for pooled, own in ((means, truths[:3]), (line, truths[3:])):
        noise = np.sqrt(np.diag(pooled.covariance) * pooled.synthesis_share)
        assert (np.abs(pooled.estimate - own) < 4 * noise).all()
        low, high = pooled.interval()
        expected = [one.half_width for one in plan.expected if one.name in pooled.names]
        assert (np.abs(np.log((high - low) / 2 / expected)) < np.log(3)).all()


@pytest.mark.parametrize("text", ["std age", "ols age ~ income * role", "mean age where age >= 16"])
def test_what_moments_of_members_do_not_answer_is_refused_by_the_plan(text):
    with pytest.raises(InferenceError, match=r"about rows of 'person', .* leave it out"):
        us.plan(us.Schema.loads(SCHEMA + RULES), epsilon=1, delta="1e-6", analyses=[text])


@pytest.mark.parametrize("command", ["synthesize", "check", "evaluate"])
def test_members_of_a_flat_table_are_refused(place, command, capsys):
    arguments = {
        "synthesize": ["synthesize", "homes.csv", "--schema", "flat.toml", *BUDGET, "--out", "out"],
        "check": ["schema", "check", "homes.csv", "flat.toml"],
        "evaluate": ["evaluate", "homes.csv", "flat"],
    }[command]
    if command == "evaluate":
        flat = pl.DataFrame({"city": ["Aa", "Bb"] * 20})
        us.synthesize(flat, us.Schema.loads(CITY), epsilon=1, sets=1).save("flat")
    with pytest.raises(DataError, match=r"--members is the file of members.*one flat table"):
        app([*arguments, "--members", "people.csv"], standalone_mode=False)
    assert not (place / "out").exists()


def test_members_and_spark_are_refused_before_anything_is_started(place):
    with pytest.raises(DataError, match="put together in this process"):
        app(
            [
                "synthesize",
                "homes.csv",
                "--members",
                "people.csv",
                "--schema",
                "schema.toml",
                *BUDGET,
                "--out",
                "out",
                "--engine",
                "spark",
            ],
            standalone_mode=False,
        )


def test_a_map_of_two_files_is_the_same_every_time(place, capsys):
    words = ["tradeoff", "homes.csv", "--members", "people.csv", "--schema", "schema.toml"]
    words += ["--methods", "independent", "--epsilons", "3", "--repetitions", "1", "--jobs", "1"]
    words += ["--utility", "one-way", "--json"]
    found = []
    for _ in range(2):  # three in ten units are cut by chance
        app(words, standalone_mode=False)
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert found[0]["n_rows"] == 60
    assert 0 < found[0]["points"][0]["utility"]["one-way"]["mean"] < 0.5
    with pytest.raises(DataError, match="one flat table"):
        app([*words[:5], "flat.toml", *words[6:]], standalone_mode=False)


def test_units_alone_are_refused_before_budget_is_spent(place):
    with pytest.raises(DataError, match="'role'"):
        app(
            ["synthesize", "homes.csv", "--schema", "schema.toml", *BUDGET, "--out", "out"],
            standalone_mode=False,
        )
    assert not (place / "out").exists()


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("records", [1, 3, 6])
@pytest.mark.nightly(every=3)
def test_a_killed_run_goes_on_with_units_cut_anew_and_pays_once(place, monkeypatch, records):
    sync, left = os.fsync, [records]

    def synced(file):
        sync(file)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(journals.os, "fsync", synced)
    both, schema = tables(60, seed=4), us.Schema.loads(SMALL)
    asked = {"epsilon": 2, "delta": "1e-6", "method": "independent"}
    run = us.RunOptions(checkpoint=place / "run", keep_checkpoint=True)
    with pytest.raises(Killed):
        us.synthesize(both, schema, **asked, run=run)
    left[0] = -1
    release = us.synthesize(both, schema, **asked, run=run)
    paid = sum(
        (Fraction(one["half_mu_squared_exact"]) for one in release.manifest.ledger), Fraction(0)
    )
    assert paid <= Fraction(release.manifest.budget["amount"])
    release.save(place / "out")
    assert "broken" not in {state for _, state, _ in understudy_verify.verify(place / "out")}


def one_home(**columns):
    people = {"hid": [1], "role": ["reference"], "age": [40], "work": [True], **columns}
    homes = pl.DataFrame({"hid": [1], "region": ["north"], "income": [5.0]})
    return {"household": homes, "person": pl.DataFrame(people, schema_overrides={"hid": pl.Int64})}


EMPTY = SCHEMA.replace('key = "hid"\n', 'key = "hid"\nempty = true\n', 1)
NOTHING = {"hid": [], "role": [], "age": [], "work": []}
CORNERS = {
    "one household": (SMALL, one_home()),
    "no members at all": (EMPTY, one_home(**NOTHING)),
    "no members, undeclared": (SMALL, one_home(**NOTHING)),
    "nothing is there": (SMALL, {name: one.clear() for name, one in one_home().items()}),
    "every cell is absent": (
        SMALL,
        one_home(role=[None], age=[None], work=[None]),
    ),
    "one slot": (SCHEMA.replace("rows_per_unit = 3", "rows_per_unit = 1"), tables(40, seed=2)),
    "public number of households": (
        f'rows = "public"\nn_rows = 40\n{SMALL}',
        tables(40, seed=2),
    ),
}


@pytest.mark.parametrize("method", ["independent", "mst"])
@pytest.mark.parametrize(("text", "both"), CORNERS.values(), ids=[*CORNERS])
@pytest.mark.nightly(every=3)
def test_whatever_stands_in_the_tables_makes_a_release_that_holds(text, both, method, tmp_path):
    schema = us.Schema.loads(text)
    release = us.synthesize(both, schema, epsilon=1, delta="1e-6", method=method, sets=1)
    release.save(tmp_path / "out")
    assert "broken" not in {state for _, state, _ in understudy_verify.verify(tmp_path / "out")}
    assert us.Release.load(tmp_path / "out").linked_sets
    us.check(both, schema)


@pytest.mark.parametrize("formats", ["csv", "sav", "dta"])
@pytest.mark.nightly
def test_both_tables_are_written_for_other_programs(place, formats):
    if formats != "csv":
        pytest.importorskip("pyreadstat", reason="an extra is not installed")
    schema = us.Schema.loads(SMALL)
    release = us.synthesize(tables(60, seed=2), schema, epsilon=1, delta="1e-6", method="mst")
    release.save("out", also=formats)
    for name in ("household", "person"):
        assert (place / "out" / "linked" / f"set-1-{name}.{formats}").exists()
    assert "broken" not in {state for _, state, _ in understudy_verify.verify(place / "out")}
    us.Release.load("out")
    files = {one.name for one in release.export("files", also=formats)}
    assert files - {"datapackage.json"} == {
        f"set-1{name}.{formats}" for name in ("", "-household", "-person")
    }
    assert ("datapackage.json" in files) == (formats == "csv")


def test_a_verdict_counts_households_with_all_their_members(place, capsys):
    for name, one in tables(900, seed=1).items():
        one.write_csv(place / {"household": "homes.csv", "person": "people.csv"}[name])
    app(
        [
            *("verdict", "homes.csv", "schema.toml", "mean income > 0", "--epsilon", "8"),
            *("--members", "people.csv", "--assume-rows", "900", "--json"),
        ],
        standalone_mode=False,
    )
    assert json.loads(capsys.readouterr().out)["verdict"] == "yes"


def test_a_regression_of_household_columns_reads_both_tables(place, capsys):
    app(
        [
            *("regress", "homes.csv", "schema.toml", "income ~ region", "--epsilon", "9"),
            *("--delta", "1e-6", "--members", "people.csv", "--out", "out", "--json"),
        ],
        standalone_mode=False,
    )
    assert json.loads(capsys.readouterr().out)["release"] == "out"
    assert "broken" not in {state for _, state, _ in understudy_verify.verify(place / "out")}
