"""`understudy evaluate` from end to end, and every mistake: exit code 2 and one line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import understudy as us
from schemas import AGE, CITY, MEMBER

SECRET = "SECRET-VALUE-1234"
SCHEMA = us.Schema.loads(f'title = "Members"{CITY}{AGE}{MEMBER}')


def people(n=200):
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(
        {
            "city": rng.choice(["Aa", "Bb", "Cc"], n, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(0, 100, n),
            "member": rng.random(n) < 0.4,
            "note": [SECRET] * n,
        }
    )
    rows.loc[0, "city"] = SECRET
    return rows


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table and a release of it, made once."""
    folder = tmp_path_factory.mktemp("place")
    people().to_csv(folder / "people.csv", index=False)
    how = {"method": "independent", "sets": 2, "insecure_noise_seed": 1}
    release = us.synthesize(people(), SCHEMA, epsilon=1, **how)
    release.save(folder / "release")
    return folder


@pytest.fixture
def run(made, monkeypatch, understudy, tmp_path):
    """Run `understudy evaluate` beside the table and its release; exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").symlink_to(made / "people.csv")
    (tmp_path / "release").symlink_to(made / "release")
    return lambda *arguments: tuple(understudy("evaluate", *arguments))


def files_of(folder):
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_scores_in_the_terminal_and_a_page(run, made):
    before = files_of(made / "release")
    code, out, err = run("people.csv", "release", "--out", "internal.html", "--by", "city")
    assert (code, err) == (0, "")
    assert "INTERNAL" in out
    for words in ("pMSE, CART", "total variation, 3-way", "overlap", "Small group: city = Cc"):
        assert words in out
    page = Path("internal.html").read_text(encoding="utf-8")
    assert "not for release" in page
    assert "Members" in page
    assert SECRET not in page + out
    assert files_of(made / "release") == before


def test_json_for_machines(run):
    formulas = ["--formula", "age ~ member", "-f", "member ~ age"]
    code, out, _ = run("people.csv", "release", "--json", *formulas, "--target", "city")
    assert code == 0
    found = json.loads(out)
    assert found["internal"] == "compares with confidential data, not for release"
    assert (found["n_original"], found["sets"]) == (200, 2)
    assert {c["model"] for c in found["coefficients"]} == {
        *("age ~ member (ols)", "member ~ age (logit)")
    }
    assert any("accuracy for city" in score["name"] for score in found["scores"])
    assert SECRET not in out


@pytest.mark.nightly
def test_quiet_says_nothing_and_names_a_page_as_internal(run):
    assert run("people.csv", "release", "--quiet", "--out", "page.html") == (0, "", "")
    assert Path("page.internal.html").is_file()
    assert not Path("page.html").exists()


def without_age():
    people().drop(columns="age").to_csv("less.csv", index=False)
    return ["less.csv", "release"]


def a_taken_name():
    Path("taken.internal.html").touch()
    return ["people.csv", "release", "--out", "taken.html"]


MISTAKES = {
    "no data": (lambda: ["absent.csv", "release"], "does not exist"),
    "no release": (lambda: ["people.csv", "absent"], "is not a release"),
    "another schema": (without_age, "lacks the column 'age'"),
    "unknown group": (lambda: ["people.csv", "release", "--by", "town"], "no column"),
    "unknown target": (lambda: ["people.csv", "release", "--target", "ages"], "did you mean 'age'"),
    "unknown name": (lambda: ["people.csv", "release", "-f", "age ~ ags"], "'ags'"),
    "no outcome": (lambda: ["people.csv", "release", "-f", "age"], "no outcome"),
    "outcome of levels": (lambda: ["people.csv", "release", "-f", "city ~ age"], "two levels"),
    "taken": (a_taken_name, "already exists"),
    "into the release": (
        lambda: ["people.csv", "release", "--out", "release/page.html"],
        "cannot go into the release",
    ),
    "no folder": (lambda: ["people.csv", "release", "--out", "no/page.html"], "does not exist"),
    "negative seed": (lambda: ["people.csv", "release", "--seed", "-1"], "seed"),
}


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_sentence(run, arguments, words):
    given = arguments()
    before = sorted(path.name for path in Path().iterdir())
    code, out, err = run(*given)
    assert code == 2
    assert out == ""
    assert words in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert SECRET not in err
    assert sorted(path.name for path in Path().iterdir()) == before
