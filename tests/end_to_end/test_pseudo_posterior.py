"""The pseudo posterior mechanism from the command line: the bundled demo, and kept columns."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy.demo import demo_data, demo_schema

FAST = ("--option", "draws=20", "--option", "model=normal")
SCHEMA = """
rows = "public"
n_rows = 120
[columns.city]
kind = "categorical"
levels = ["Aa", "Bb", "Cc"]
source = "codebook"
reviewed = true
[columns.pay]
kind = "continuous"
lower = 0
upper = 1000
source = "law"
reviewed = true
"""


@pytest.fixture
def run(monkeypatch, understudy, tmp_path):
    """Run `synthesize` in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)

    def command(data, schema, *more):
        fixed = ("--epsilon", "1", "--method", "pseudo-posterior", "--out", "out")
        return understudy("synthesize", data, "--schema", schema, *fixed, *more)

    return command


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(1)
    frame = {"city": rng.choice(["Aa", "Bb", "Cc"], 120), "pay": rng.lognormal(4, 0.5, 120)}
    pd.DataFrame(frame).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def words(text):
    return " ".join(text.split())


@pytest.mark.nightly
def test_the_bundled_survey_whole(run, tmp_path):
    demo_data().to_csv(tmp_path / "fair.csv", index=False)
    (tmp_path / "fair.toml").write_text(demo_schema().dumps(), encoding="utf-8")
    made = run("fair.csv", "fair.toml", "--sets", "2", "--allow-nonprivate", *FAST)
    assert made.code == 0
    assert "NOT differentially private at its number of rows" in words(made.out)
    told = words(made.err)
    assert told.startswith("INTERNAL, not for release: 6,366 records weigh from 0 to 1")
    assert "which is no guarantee" in told
    manifest = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))
    assert manifest["guarantee"]["kind"] == "asymptotic"
    assert [one["mechanism"] for one in manifest["ledger"][1:]] == ["pseudo posterior"] * 2
    assert len(list(Path("out/synthetic").glob("*.parquet"))) == 2


def test_one_sensitive_column_beside_kept_ones(run, place):
    made = run(
        "people.csv", "people.toml", "--allow-nonprivate", "--option", "sensitive=pay", *FAST
    )
    assert made.code == 0
    real = pd.read_csv("people.csv")
    found = pd.read_parquet("out/synthetic/set-1.parquet")
    assert sorted(found["city"]) == sorted(real["city"])
    assert found["city"].tolist() != real["city"].tolist()
    assert not set(found["pay"]) & set(real["pay"])
    assert "city are published as they stand" in words(made.out)


def test_the_steward_hears_nothing_where_nobody_watches(run, place):
    made = run("people.csv", "people.toml", "--allow-nonprivate", "--quiet", *FAST)
    assert (made.code, made.err) == (0, "")


MISTAKES = {
    "permission": ([], "--allow-nonprivate"),
    "column": (["--allow-nonprivate", "--option", "sensitive=py"], "did you mean 'pay'"),
    "count": (["--allow-nonprivate", "--option", "weights=count"], "one numeric column"),
    "log": (["--allow-nonprivate", "--option", "transform=log"], "'pay' goes down to 0"),
}


@pytest.mark.parametrize(("more", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_sentence_and_leaves_nothing_behind(run, place, more, said):
    refused = run("people.csv", "people.toml", *FAST, *more)
    assert refused.code == 2
    assert said in words(refused.err)
    assert not Path("out").exists()
