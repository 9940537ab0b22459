"""`understudy risk` from end to end, and every mistake: exit code 2 and one line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import understudy as us
from schemas import AGE, CITY, MEMBER

SCHEMA = us.Schema.loads(
    f'title = "Members"{CITY}{AGE}{MEMBER}'.replace("columns.city", 'columns."city, town"')
)


def people(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "city, town": rng.choice(["Aa", "Bb", "Cc"], n, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(0, 100, n),
            "member": rng.random(n) < 0.4,
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table, rows held out, and a release, made once."""
    folder = tmp_path_factory.mktemp("place")
    people(300, 1).to_csv(folder / "people.csv", index=False)
    people(200, 2).to_csv(folder / "others.csv", index=False)
    release = us.synthesize(
        people(300, 1), SCHEMA, epsilon=1, method="laplace", insecure_noise_seed=1
    )
    release.save(folder / "release")
    return folder


@pytest.fixture
def run(made, monkeypatch, understudy, tmp_path):
    """Run a command beside the table and its release; exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    for name in ("people.csv", "others.csv", "release"):
        (tmp_path / name).symlink_to(made / name)
    return lambda *arguments: tuple(understudy(*arguments))


GIVEN = ["people.csv", "release", "--control", "others.csv"]


def test_figures_in_the_terminal_and_a_page(run):
    code, out, err = run("risk", *GIVEN, "--keys", "age,member", "-o", "risk.html")
    assert (code, err) == (0, "")
    for words in (
        "INTERNAL",
        "The intruder knows age, member, and wants to know city, town.",
        "re-identification",
        "expected risk",
        "membership inference",
        "near the control",
        "advantage",
        "Internal page: ",
    ):
        assert words in out
    page = Path("risk.internal.html").read_text(encoding="utf-8")
    assert "not for release" in page
    assert "Disclosure risk" in page


def test_json_for_machines(run):
    code, out, _ = run("risk", *GIVEN, "--keys", "city, town", "--keys", "age", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["internal"] == "compares with confidential data, not for release"
    assert (found["keys"], found["secrets"]) == (["city, town", "age"], ["member"])
    assert all(len(one["interval"]) == 2 for one in found["risks"] if one["value"] is not None)


def test_without_a_control_it_says_how_to_hold_one_out(run):
    code, out, _ = run("risk", "people.csv", "release")
    assert code == 0
    assert "Set aside a random tenth" in out
    assert run("risk", "people.csv", "release", "--quiet") == (0, "", "")


@pytest.mark.nightly
def test_an_evaluation_shows_the_same_figures(run):
    code, out, _ = run("evaluate", *GIVEN, "--keys", "age", "--secrets", "member", "-o", "all.html")
    assert code == 0
    assert "The intruder knows age, and wants to know member." in out
    assert "Disclosure risk" in Path("all.internal.html").read_text(encoding="utf-8")


MISTAKES = {
    "no data": (["absent.csv", "release"], "does not exist"),
    "no control": (["people.csv", "release", "--control", "absent.csv"], "does not exist"),
    "no release": (["people.csv", "absent"], "is not a release"),
    "unknown key": ([*GIVEN, "--keys", "ages"], "did you mean 'age'"),
    "both": ([*GIVEN, "--keys", "age", "--secrets", "age"], "among the keys and among"),
    "no targets": ([*GIVEN, "--targets", "0"], "targets"),
    "into the release": ([*GIVEN, "-o", "release/page.html"], "cannot go into the release"),
}


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_sentence(run, arguments, words):
    before = sorted(path.name for path in Path().iterdir())
    code, out, err = run("risk", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == before
