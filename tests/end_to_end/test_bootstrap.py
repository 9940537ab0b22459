"""`understudy analyze --uncertainty bootstrap`: from a folder to numbers, by several processes."""

import json

import pandas as pd
import pytest

import understudy as us

SCHEMA = """
rows = "private"
row_limit = 5000
[columns.city]
kind = "categorical"
levels = ["Aa", "Bb"]
source = "codebook"
reviewed = true
[columns.kids]
kind = "integer"
lower = 0
upper = 2
bins = 3
source = "law"
reviewed = true
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rows = pd.DataFrame({"city": ["Aa", "Bb", "Bb"] * 100, "kids": [0, 1, 1, 2] * 75})
    release = us.synthesize(
        rows, us.Schema.loads(SCHEMA), epsilon=5, method="laplace", insecure_noise_seed=1
    )
    return release.save(tmp_path_factory.mktemp("bootstrap") / "release")


@pytest.mark.nightly
def test_the_answer_does_not_depend_on_the_number_of_processes(understudy, folder):
    asked = ("analyze", folder, "ols", "kids ~ city", "--uncertainty", "bootstrap", "--json")
    answers = []
    for jobs in ("1", "2"):
        code, out, _ = understudy(*asked, "--repeats", "40", "--seed", "3", "--jobs", jobs)
        assert code == 0
        answers.append(json.loads(out))
    assert answers[0] == answers[1]
    assert answers[0]["repeats"] == 40
    assert answers[0]["rule"] == "bootstrap (basic)"
    assert answers[0]["valid"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--uncertainty", "guess"), "'rules' or 'bootstrap'"),
        (("--uncertainty", "bootstrap", "--interval", "bc"), "an interval among basic"),
        (("--uncertainty", "bootstrap", "--repeats", "10"), "at least 39 replicates"),
    ],
)
def test_a_mistake_is_one_sentence(understudy, folder, more, said):
    code, _, error = understudy("analyze", folder, "mean", "kids", *more)
    assert code == 2
    assert said in " ".join(error.split())
    assert "Traceback" not in error
