"""`understudy analyze`: numbers from a release folder, and every mistake in one sentence."""

import json

import numpy as np
import pandas as pd
import pytest

import understudy as us
from schemas import AGE, CITY

SCHEMA = us.Schema.loads(f"row_limit = 5000{CITY}{AGE}")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A release that measures the full table in split sets, and one that measures columns alone."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(
        {"city": rng.choice(["Aa", "Bb", "Cc"], 900), "age": rng.integers(0, 100, 900)}
    )
    place = tmp_path_factory.mktemp("analyze")
    made = {}
    for method in ("laplace", "independent"):
        release = us.synthesize(
            rows,
            SCHEMA,
            epsilon=10,
            method=method,
            sets=3,
            options={"sets": "split"},
            insecure_noise_seed=1,
        )
        made[method] = release.save(place / method)
    return made


@pytest.fixture
def run(understudy):
    """Run `understudy analyze`; exit code, standard output, standard error."""
    return lambda *arguments: tuple(understudy("analyze", *arguments))


@pytest.mark.parametrize(
    ("kind", "formula", "rule"),
    [
        ("mean", "log(age + 1) ~ city", "noise-aware"),
        ("proportion", "age > 39", "noise-aware"),
        ("table", "city + age", "noise-aware"),
        ("total", "city", "noise-aware"),
        ("quantile", "age", "noise-aware"),
        ("ols", "age ~ city", "partial"),
        ("logit", "{city == 'Aa'} ~ age", "partial"),
        ("poisson", "age ~ C(city)", "partial"),
    ],
)
@pytest.mark.nightly(every=3)
def test_every_kind_gives_the_numbers_of_the_library(run, folders, kind, formula, rule):
    code, out, err = run(folders["laplace"], kind, formula, "--json", "--level", "0.9")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["rule"], found["valid"], found["level"]) == (rule, True, 0.9)
    assert found == json.loads(
        json.dumps(us.analyze(folders["laplace"], kind, formula, level=0.9).to_json())
    )


def test_people_get_a_table_with_its_notes(run, folders):
    code, out, err = run(folders["laplace"], "ols", "age ~ city")
    assert (code, err) == (0, "")
    for words in (
        "T = ū + b/m",
        "city[T.Bb]",
        "synth.",
        "95 % interval",
        "HC1",
        "lie within their bins",
    ):
        assert words in out


def test_probability_reaches_the_quantile(run, folders):
    low, high = (
        json.loads(run(folders["laplace"], "quantile", "age", "--json", "--probability", p)[1])
        for p in ("0.2", "0.8")
    )
    assert low["terms"][0]["estimate"] < high["terms"][0]["estimate"] - 30


def test_anyway_gives_stamped_numbers(run, folders):
    code, out, err = run(folders["independent"], "ols", "age ~ city", "--anyway")
    assert (code, err) == (0, "")
    assert "NOT VALID" in out
    assert "never measured together" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ols", "age ~ cty"), "did you mean 'city'?"),
        (("mean", "(age"), "cannot be read"),
        (("men", "age"), "Did you mean 'mean'?"),
        (("mean", "city"), "has levels"),
        (("mean", "age", "--level", "95"), "between 0 and 1"),
        (("quantile", "age", "--probability", "2"), "between 0 and 1"),
        (("mean",), "Give a kind and a formula"),
    ],
)
def test_a_mistake_ends_with_one_sentence_and_code_2(run, folders, arguments, words):
    code, out, err = run(folders["independent"], *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert words in err
    assert err.count("\n") == 1


def test_a_refusal_has_three_lines_and_code_2(run, folders):
    code, out, err = run(folders["independent"], "ols", "age ~ city")
    assert (code, out) == (2, "")
    assert err.startswith("Error: No valid error bars (not-measured)")
    assert "never measured together" in err
    assert err.count("\n") == 3


def test_a_folder_that_is_no_release_is_refused(run, tmp_path):
    code, out, err = run(tmp_path, "mean", "age")
    assert (code, out) == (2, "")
    assert "is not a release" in err
