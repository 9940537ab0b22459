"""Attacks on answers: questions that no release answers, and answers that hold no number.

A refusal names a release that would answer. A steward who pays for that release and is refused
again, for a reason that was known from the schema, was misled.
"""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import InferenceError
from understudy.inference.question import parse
from understudy.inference.refusals import RefusedError

SCHEMA = us.Schema.loads(
    '[columns.age]\nkind = "integer"\nlower = 0\nupper = 9\nreviewed = true\n'
    '[columns.job]\nkind = "categorical"\nlevels = ["a", "b", "c"]\nreviewed = true\n'
    '[columns.mark]\nkind = "ordinal"\nlevels = ["low", "mid", "high"]\nreviewed = true\n'
    '[columns.grade]\nkind = "ordinal"\nlevels = [1, 2, 3]\nreviewed = true\n'
    '[columns.works]\nkind = "boolean"\nreviewed = true\n'
)


def release(rows, method="independent", epsilon=1, seed=1, **more):
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "age": rng.integers(0, 10, rows),
            "job": rng.choice(["a", "b", "c"], rows),
            "mark": rng.choice(["low", "mid", "high"], rows),
            "grade": rng.choice([1, 2, 3], rows),
            "works": rng.random(rows) < 0.5,
        }
    )
    return us.synthesize(
        table, SCHEMA, epsilon=epsilon, method=method, insecure_noise_seed=seed, **more
    )


@pytest.mark.parametrize(
    ("kind", "formula", "words"),
    [
        ("ols", "job ~ age", "must be one column of numbers"),
        ("poisson", "mark ~ age", "must be one column of numbers"),
        ("logit", "job ~ age", "have two levels"),
        ("ols", "age ~ age", "among its own predictors"),
        ("logit", "works ~ age + works", "among its own predictors"),
        ("mean", "job ~ works", "has levels"),
        ("quantile", "mark ~ job", "has levels"),
    ],
)
def test_no_release_is_advised_for_what_no_release_answers(kind, formula, words):
    """Refusals advised, and stewards would have paid for, a release that refuses as well."""
    with pytest.raises(InferenceError, match=words) as caught:
        us.analyze(release(200), kind, formula)
    assert type(caught.value) is not RefusedError
    assert "a release of" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "formula"),
    [("ols", "grade ~ age"), ("logit", "works ~ age"), ("ols", "works ~ age"), ("mean", "grade")],
)
def test_columns_that_are_numbers_to_a_formula_are_still_asked_about(kind, formula):
    """Ordered numbers and truths are numbers: those questions stay."""
    answer = us.analyze(release(200, epsilon=20, sets=2), kind, formula, anyway=True)
    assert np.isfinite(answer.pooled.estimate).all()


def test_an_answer_without_any_number_is_refused():
    """A table whose noisy total is not above 0 gave a page of dashes that was called valid."""
    answers = [refusal(release(3, epsilon=0.05, seed=seed)) for seed in range(16)]
    refusals = [one for one in answers if one]
    assert 0 < len(refusals) < len(answers)
    words = "no records for job[a], job[b], job[c], so there is no estimate"
    assert all(words in one for one in refusals)


def refusal(made):
    """What the shares of a column are refused with; "" for an answer, which then has a number."""
    try:
        answer = us.analyze(made, "proportion", "job")
    except InferenceError as error:
        return str(error)
    assert np.isfinite(answer.pooled.estimate).any()
    return ""


@pytest.mark.parametrize("keys", [5, [3], "age"])
def test_columns_of_an_attack_that_are_no_names_are_refused_with_a_sentence(keys):
    """Numbers for names ended in a traceback."""
    with pytest.raises(us.UnderstudyError, match="keys must be"):
        us.risk("rows.csv", release(50), keys=keys)


@pytest.mark.parametrize("kind", ["ols", "correlation"])
def test_brackets_that_do_not_fit_are_a_sentence(kind):
    """Found by a search: the parser of formulas broke at a half bracket within another."""
    with pytest.raises(InferenceError, match="brackets do not fit together"):
        parse(kind, "age ~ grade (]" if kind == "ols" else "age (] + grade", SCHEMA)


@pytest.mark.parametrize(
    ("kind", "formula"), [("mean", "age > 5and age < 9"), ("ols", "age ~ {5or age}")]
)
def test_a_number_that_runs_into_a_word_is_a_sentence(kind, formula):
    """Python only warned of it, on the error stream; here warnings are errors."""
    with pytest.raises(InferenceError, match="invalid decimal literal"):
        parse(kind, formula, SCHEMA)
