"""Questions that nobody should ask, and some do: each is answered, or refused in words."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.errors import InferenceError

N = 3_000
SCHEMA = us.Schema.loads(
    column("sex", "categorical", levels=["f", "m", "x"])
    + column("works", "boolean")
    + column("age", "integer", lower=18, upper=80)
    + column("pay", "continuous", lower=0, upper=1000, spikes=[0])
)


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(4)
    works = rng.random(N) < 0.6
    rows = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], N),
            "works": works,
            "age": rng.integers(18, 81, N),
            "pay": np.where(works, rng.gamma(2, 100, N).clip(0, 1000), 0.0),
        }
    )
    return us.synthesize(rows, SCHEMA, epsilon=8, delta="1e-6", insecure_noise_seed=4)


@pytest.mark.parametrize(
    "model",
    [
        "ols pay ~ age + I(2 * age)",
        "ols pay ~ works + {works == True}",
        "ols pay ~ {age > 3}",
        "logit works ~ age + {age + 1}",
        "poisson age ~ pay + {pay / 7}",
    ],
)
def test_a_predictor_that_follows_from_others_is_refused_in_words(release, model):
    kind, formula = model.split(" ", 1)
    with pytest.raises(InferenceError, match=r"follows from the others.*leave it out"):
        us.analyze(release, kind, formula)


@pytest.mark.parametrize("kind", ["ols", "logit"])
def test_a_model_of_nothing_is_refused(release, kind):
    with pytest.raises(InferenceError, match="has no predictor"):
        us.analyze(release, kind, "works ~ 0")


@pytest.mark.parametrize(
    "question", ["mean pay ~ pay", "proportion works ~ works", "count age>40 ~ age"]
)
def test_a_column_is_no_group_of_itself(release, question):
    kind, formula = question.split(" ", 1)
    with pytest.raises(InferenceError, match="take another column on one of them"):
        us.analyze(release, kind, formula)


@pytest.mark.parametrize("kind", ["mean", "total"])
def test_groups_by_a_condition_on_the_number_itself(release, kind):
    found = us.analyze(release, kind, "pay ~ {pay > 0}")
    lower, upper = found.pooled.interval(0.999)
    assert lower[0] < {"mean": 200, "total": 200 * 0.6 * N}[kind] < upper[0]
    assert lower[1] <= 0 <= upper[1]


def test_a_column_in_braces_is_a_group(release):
    bare, braced = (us.analyze(release, "mean", f"age ~ {group}") for group in ("works", "{works}"))
    np.testing.assert_allclose(bare.pooled.estimate, braced.pooled.estimate)


def test_shown_intervals_of_counts_begin_at_zero(release):
    """Five counts of nobody: some noise is below 0, and the numbers behind are as they are."""
    found = us.analyze(release, "count", "sex")
    place = list(found.pooled.names).index("sex[x]")
    assert found.pooled.interval()[0][place] < 0
    assert float(found.rows()[place][4].replace(",", "")) == 0
    assert any("cut to 0 and above" in note for note in found.notes)


@pytest.fixture(scope="module")
def keywords():
    """A release whose columns are called like words of Python."""
    schema = us.Schema.loads(
        column("class", "categorical", levels=["a", "b"])
        + column("in", "continuous", lower=0, upper=100)
    )
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 500)
    rows = pl.DataFrame({"class": group, "in": rng.uniform(0, 50, 500) + 50 * (group == "b")})
    return us.synthesize(rows, schema, epsilon=8, delta="1e-6", insecure_noise_seed=1)


@pytest.mark.parametrize(
    ("kind", "formula", "truth"),
    [
        ("proportion", "`class` == 'a'", 0.5),
        ("mean", "`in` where `class` == 'b'", 75),
        ("mean", "`in` where `class` in ['a']", 25),
        ("mean", "`in` ~ {`class` == 'a'}", 75),
        ("ols", "`in` ~ C(`class`)", 50),
        ("ols", "`in` ~ `class`", 50),
        ("proportion", "`in` > 50", 0.5),
    ],
)
def test_words_of_python_are_columns_in_back_ticks(keywords, kind, formula, truth):
    found = us.analyze(keywords, kind, formula)
    assert not any(
        "class " in name.replace("` ", "") or "in `" in name for name in found.pooled.names
    )
    lower, upper = found.pooled.interval()
    assert ((lower < truth) & (truth < upper)).any()


def test_a_word_of_python_without_back_ticks_is_said(keywords):
    with pytest.raises(InferenceError, match="called 'class' stands in back-ticks, `class`"):
        us.analyze(keywords, "proportion", "class == 'a'")
