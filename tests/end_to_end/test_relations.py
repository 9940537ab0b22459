"""Rules and relations from end to end: at no cost, in every set, by command, and in answers."""

import hashlib
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.errors import InferenceError, ReleaseError

MEASURED = (
    column("age", "integer", lower=0, upper=99, bins=[0, 18, 65, 99], source="law")
    + column("start", "integer", lower=0, upper=40, bins=4, source="law")
    + column("end", "integer", lower=0, upper=40, bins=5, missing=[""], source="law")
    + column("county", "categorical", levels=["a", "b", "c"], source="law")
    + column("state", "categorical", levels=["N", "S"], source="law")
)
DERIVED = (
    column("span", "integer", lower=0, upper=40, missing=[""], derived="end - start", source="law")
    + column("adult", "boolean", derived="age >= 18", source="law")
    + column("group", "ordinal", levels=["young", "mid", "old"], derived="cut(age, 18, 65)")
    + """
[columns.coast]
kind = "boolean"
derived = { of = "county", levels = { true = ["a"], false = ["b", "c"] } }
source = "map"
reviewed = true
"""
)
RELATIONS = """
[[relations]]
inequality = "start <= end"
source = "definition"
reviewed = true

[[relations]]
hierarchy = ["county", "state"]
within = { N = ["a", "b"], S = ["c"] }
source = "map"
reviewed = true
"""
ROWS_PUBLIC = 'rows = "public"\nn_rows = 400\n'
PLAIN = us.Schema.loads(MEASURED + RELATIONS)
SCHEMA = us.Schema.loads(MEASURED + DERIVED + RELATIONS)


def people(n=400):
    rng = np.random.default_rng(1)
    start = rng.integers(0, 30, n)
    county = rng.integers(0, 3, n)
    end = pd.array(start + rng.integers(0, 10, n), dtype="Int64")
    end[::10] = pd.NA
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "start": start,
            "end": end,
            "county": np.array(["a", "b", "c"])[county],
            "state": np.array(["N", "N", "S"])[county],
        }
    )


def holds(table):
    later = table["end"].fillna(99) >= table["start"]
    state = table["county"].astype(str).map({"a": "N", "b": "N", "c": "S"})
    return (
        later.all()
        and (state == table["state"].astype(str)).all()
        and (table["adult"] == (table["age"] >= 18)).all()
        and (table["coast"] == (table["county"].astype(str) == "a")).all()
        and (
            table["group"].astype(str)
            == np.where(table["age"] < 18, "young", np.where(table["age"] < 65, "mid", "old"))
        ).all()
        and (
            (table["end"] - table["start"]).astype("Int64").fillna(-1) == table["span"].fillna(-1)
        ).all()
    )


@pytest.mark.parametrize("method", ["marginals", "mst", "independent", "laplace"])
@pytest.mark.nightly(every=4)
def test_every_set_keeps_to_them_at_no_cost(method):
    rows = people()
    release = us.synthesize(rows, SCHEMA, epsilon=1, method=method, sets=2, insecure_noise_seed=3)
    assert all(list(table.columns) == list(SCHEMA.declared) for table in release.sets)
    assert all(holds(table) for table in release.sets)
    plain = us.synthesize(rows, PLAIN, epsilon=1, method=method, sets=2, insecure_noise_seed=3)
    assert plain.manifest.ledger == release.manifest.ledger
    assert [m.counts.tolist() for m in plain.measurements] == [
        m.counts.tolist() for m in release.measurements
    ]
    for one, other in zip(plain.sets, release.sets, strict=True):
        pd.testing.assert_frame_equal(one, other[list(PLAIN.names)])


def test_derived_columns_of_the_rows_are_never_read():
    rows = people()
    wrong = rows.assign(adult="neither", group=None, span=[object()] * len(rows))
    made = [
        us.synthesize(r, SCHEMA, epsilon=1, method="laplace", insecure_noise_seed=3)
        for r in (rows, wrong)
    ]
    pd.testing.assert_frame_equal(made[0].sets[0], made[1].sets[0])


def test_a_column_that_is_kept_as_it_stands_cannot_be_put_in_order():
    options = {"sensitive": "end, county"}
    with pytest.raises(us.UnderstudyError, match=r"'start' is to be kept.*add it to the option"):
        us.plan(SCHEMA, epsilon=1, method="pseudo-posterior", options=options)


@pytest.fixture(scope="module")
def made():
    return us.synthesize(people(), SCHEMA, epsilon=20, method="independent", insecure_noise_seed=3)


@pytest.mark.parametrize(
    ("kind", "asked", "meant"),
    [
        ("proportion", "adult", "age >= 18"),
        ("proportion", "group == 'old'", "age >= 65"),
        ("proportion", "group != 'mid'", "(age < 18) | (age >= 65)"),
        ("mean", "{adult}", "age >= 18"),
        ("proportion", "coast == True", "county == 'a'"),
    ],
)
def test_a_question_about_a_derived_column_is_one_about_its_rule(made, kind, asked, meant):
    analysis, rule = us.analyze(made, kind, asked), us.analyze(made, kind, meant)
    np.testing.assert_allclose(analysis.to_frame().to_numpy(), rule.to_frame().to_numpy())
    assert analysis.formula == asked
    assert "was not measured" in analysis.notes[-1]
    assert "was not measured" not in " ".join(rule.notes)


@pytest.mark.parametrize(
    ("kind", "formula", "said"),
    [
        ("proportion", "group", "derived by the rule cut.*share of one level"),
        ("table", "group + state", "derived by the rule"),
        ("mean", "age ~ group", "derived by the rule"),
        ("ols", "start ~ group", "derived by the rule"),
        ("proportion", "group == 'odd'", "'odd', which is no level"),
        ("mean", "span", "No valid error bars"),
        (lambda frame: (frame.mean(), frame.var()), "span", "derived by the rule"),
    ],
)
def test_what_is_not_known_of_a_rule_is_refused(made, kind, formula, said):
    with pytest.raises(InferenceError, match=said):
        us.analyze(made, kind, formula)


def test_declared_analyses_and_regressions_take_rules():
    asked = "proportion group == 'old'"
    release = us.synthesize(
        *(people(), SCHEMA),
        **{"epsilon": 5, "delta": 1e-6, "method": "independent"},
        analyses=[asked, "ols end ~ adult"],
    )
    assert [one["formula"] for one in release.manifest.analyses] == [
        "group == 'old'",
        "end ~ adult",
    ]
    assert us.analyze(release, "proportion", "group == 'old'").valid
    answer = us.regress(people(), SCHEMA, "start ~ {adult}", epsilon=5, delta=1e-6)
    assert "age >= 18" in " ".join(answer.to_frame().index)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    SCHEMA.save("people.toml")
    return tmp_path


@pytest.mark.nightly
def test_the_whole_way_on_the_command_line(place, understudy):
    assert understudy("schema", "check", "people.csv", "people.toml").code == 0
    told = people().assign(adult=True)
    told.loc[1, "start"] = 40
    told.to_csv("off.csv", index=False)
    checked = understudy("schema", "check", "off.csv", "people.toml")
    assert checked.code != 0
    assert "start <= end" in checked.out + checked.err
    assert "'adult' differs from what its rule gives" in checked.out + checked.err
    options = ("--schema", "people.toml", "--epsilon", 1, "--out", "r", "--csv")
    made = understudy("synthesize", "people.csv", *options)
    assert made.code == 0, made.err
    table = pd.read_csv("r/synthetic/set-1.csv")
    assert list(table.columns) == list(SCHEMA.declared)
    assert holds(table.astype({"end": "Int64", "span": "Int64"}))
    assert "Computed by the rule" in (place / "r/README.md").read_text(encoding="utf-8")
    assert "computed by the rule age &gt;= 18" in (place / "r/report.html").read_text(
        encoding="utf-8"
    )
    assert us.Release.load("r").schema.derived == SCHEMA.derived
    asked = understudy("analyze", "r", "proportion", "adult")
    assert asked.code == 0
    assert "computed by the rule age >= 18" in " ".join(asked.out.split())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.with_columns(adult=~pl.col("adult")), "adult.* does not follow"),
        (lambda t: t.with_columns(span=pl.col("span") + 1), "span.* does not follow"),
        (
            lambda t: t.with_columns(start=pl.lit(40, pl.Int64), span=pl.lit(None, pl.Int64)),
            "follow|start <= end",
        ),
        (
            lambda t: t.with_columns(state=pl.lit("N", dtype=t.schema["state"])),
            "county lies within",
        ),
        (lambda t: t.drop("group"), "other columns than its schema"),
    ],
)
def test_an_edited_folder_is_refused(tmp_path, made, change, said):
    folder = made.save(tmp_path / "r")
    file = folder / "synthetic" / "set-1.parquet"
    change(pl.read_parquet(file)).write_parquet(file)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest["files"]["synthetic/set-1.parquet"] = f"sha256:{digest}"
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ReleaseError, match=said):
        us.Release.load(folder)
