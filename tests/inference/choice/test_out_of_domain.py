"""Records that have no declared value: counted, and no answer counts them as a mix of levels."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.inference.refusals import RefusedError

COLUMNS = """
[columns.income]
kind = "integer"
lower = 0
upper = 100
reviewed = true
{missing}
[columns.ill]
kind = "boolean"
reviewed = true
{missing}
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 90
reviewed = true
"""


def absent(values, where):
    """Values, some of them empty cells."""
    return [None if empty else value for value, empty in zip(values.tolist(), where, strict=True)]


def release_of(missing=""):
    """One record in seven says nothing of `ill`, and another of `income`."""
    rng, n = np.random.default_rng(1), 4_000
    rows = pl.DataFrame(
        {
            "income": absent(rng.integers(10, 40, n), np.arange(n) % 7 == 1),
            "ill": absent(rng.random(n) < 0.1, np.arange(n) % 7 == 0),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(0, 91, n),
        }
    )
    schema = us.Schema.loads(COLUMNS.format(missing=missing))
    return us.synthesize(rows, schema, epsilon=3, delta="1e-6", insecure_noise_seed=1)


@pytest.fixture(scope="module")
def undeclared():
    return release_of()


RESTING = [
    ("ols", "ill ~ age", "ill"),
    ("ols", "age ~ income", "income"),
    ("correlation", "age + ill", "ill"),
    ("mean", "age ~ ill", "ill"),
    ("logit", "ill ~ age", "ill"),
]


@pytest.mark.parametrize(("kind", "formula", "column"), RESTING)
def test_an_answer_that_counts_them_as_a_mix_is_refused(kind, formula, column, undeclared):
    with pytest.raises(RefusedError, match=f"of {column} .*out of domain") as refused:
        us.analyze(undeclared, kind, formula)
    assert "missing" in str(refused.value)
    assert refused.value.advice.columns == (column,)


@pytest.mark.parametrize(
    ("kind", "formula"),
    [("mean", "income"), ("mean", "income ~ sex"), ("proportion", "ill"), ("ols", "age ~ sex")],
)
def test_other_questions_are_answered(kind, formula, undeclared):
    assert us.analyze(undeclared, kind, formula).valid


@pytest.mark.parametrize(("kind", "formula", "column"), RESTING)
@pytest.mark.nightly(every=5)
def test_the_declaration_that_is_advised_answers_it(kind, formula, column):
    declared = release_of('missing = [""]')
    assert us.analyze(declared, kind, formula).valid
