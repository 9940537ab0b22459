"""Questions that nobody should ask, and some do: each is answered, or refused in words."""

import json
import re

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.errors import InferenceError
from understudy.inference.declared import declared_analyses
from understudy.schema.expressions import quote_name

N = 3_000
COLUMNS = {
    "sex": {"kind": "categorical", "levels": ["f", "m", "x"]},
    "works": {"kind": "boolean"},
    "age": {"kind": "integer", "lower": 18, "upper": 80},
    "pay": {"kind": "continuous", "lower": 0, "upper": 1000, "spikes": [0]},
}
MADE = {"epsilon": 8, "delta": "1e-6", "insecure_noise_seed": 4}


def _schema(names):
    told = (column(json.dumps(names.get(one, one)), **own) for one, own in COLUMNS.items())
    return us.Schema.loads("".join(told))


def _rows():
    rng = np.random.default_rng(4)
    works = rng.random(N) < 0.6
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], N),
            "works": works,
            "age": rng.integers(18, 81, N),
            "pay": np.where(works, rng.gamma(2, 100, N).clip(0, 1000), 0.0),
        }
    )


@pytest.fixture(scope="module")
def release():
    return us.synthesize(_rows(), _schema({}), **MADE)


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


NAMES = {"age": "(a * b)`", "pay": "class", "sex": "in {2} ~ it's", "works": "works: yes, no"}
DECLARED = [
    "mean pay where age >= 40",
    "ols log(pay + 1) ~ age * works",
    "count sex in ['f'] and works == True",
]


@pytest.fixture(scope="module")
def alike():
    """Two releases of the same rows and noise: with plain names, and with others."""
    found = []
    for names in ({}, NAMES):
        rows = _rows().rename(names)
        declared = [_called(text, names) for text in DECLARED]
        found.append(us.synthesize(rows, _schema(names), analyses=declared, **MADE))
    return found


def _called(question, names):
    plain = "|".join(COLUMNS)
    return re.sub(plain, lambda found: quote_name(names.get(found[0], found[0])), question)


@pytest.mark.parametrize(
    "question",
    [
        *DECLARED,
        "mean pay ~ works",
        "mean pay + 2 * age",
        "total pay ~ {works}",
        "mean age ~ {sex == 'f'}",
        "proportion sex ~ works",
        "proportion {pay > 100}",
        "count 20 <= age < 50",
        "table sex + works",
        "quantile 0.9 pay",
        "median pay where pay > 0",
        "std pay ~ {pay > 0}",
        "gini pay",
        "correlation pay + age",
        "odds-ratio works + {sex == 'f'}",
        "independence sex + works",
        "ratio age ~ works",
        "standardised-difference age ~ works",
        "ols pay ~ age + C(sex)",
        "ols {pay} ~ works",
    ],
)
def test_columns_of_any_name_answer_alike(alike, question):
    plain, odd = alike
    kind, formula = question.split(" ", 1)
    one = us.analyze(plain, kind, formula).pooled
    other = us.analyze(odd, kind, _called(formula, NAMES)).pooled
    np.testing.assert_allclose(one.estimate, other.estimate)
    np.testing.assert_allclose(one.interval(), other.interval())


def test_a_word_of_python_without_back_ticks_is_said(alike):
    with pytest.raises(InferenceError, match="'class' stands in back-ticks, `class`"):
        us.analyze(alike[1], "mean", "class + 1")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("mean min(pay)", "min takes two numbers or more"),
        ("mean log(pay)", "not a finite number for every complete record"),
        ("mean sqrt(age - 40)", "not a finite number for every complete record"),
        ("mean int(age)", "no column or function 'int'"),
        ("mean pay if works else 0", "is not one number for each record"),
        ("mean [age]", "not one number for each record"),
        ("mean age where 1", "names no column"),
        ("ols pay ~ {age / 0}", "not finite"),
        ("logit {age >= 18} ~ works", "the same for all declared values of age"),
        ("ols 0 * age ~ pay", "the same for all declared values of age"),
    ],
)
def test_what_cannot_be_computed_is_said_in_a_sentence(release, question, words):
    kind, formula = question.split(" ", 1)
    with pytest.raises(InferenceError, match=words):
        us.analyze(release, kind, formula, anyway=True)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("mean 'net pay' ~ sex", "'net pay' is a text; the column is written `net pay`."),
        ('mean age ~ "sex"', "'sex' is a text; the column is written sex."),
        ("mean age where 'age' > 50", "'age' is a text; the column is written age."),
        ("mean Net Pay ~ sex", "'net pay' stands in back-ticks, `net pay`."),
        ("mean net", "did you mean `net pay`?"),
        ("mean age where sex == f", "a level stands in quotes, as in sex == 'f'."),
        ("mean age where day > 2024-05-31", "a date stands in quotes, '2024-05-31'."),
        ("mean age by sex", "groups stand behind a tilde"),
        ("mean 5 ~ sex", "asks of no column"),
    ],
)
def test_quotes_and_back_ticks_that_are_wrong_are_said(question, words):
    day = column("day", "date", lower="2024-01-01", upper="2024-12-31")
    schema = us.Schema.loads(_schema({"pay": "net pay"}).dumps() + day)
    with pytest.raises(InferenceError, match=re.escape(words)):
        declared_analyses([question], schema)[0].estimand(schema)


def test_times_are_shown_as_times():
    """Of answers, conditions and advice; their numbers count from somewhere."""
    day = column("day", "date", lower="2024-01-01", upper="2024-12-31")
    schema = us.Schema.loads(_schema({}).dumps() + day)
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 12, 31), eager=True)
    rows = _rows().with_columns(days.sample(N, with_replacement=True, seed=1).alias("day"))
    made = us.synthesize(rows, schema, **MADE)
    found = us.analyze(made, "median", "day")
    assert re.search(r"median of day is 2024-\d\d-\d\d, from 2024-\d\d-\d\d to 2024", str(found))
    asked = us.analyze(made, "proportion", "day >= '2024-07-01'")
    assert asked.pooled.names == ("day >= '2024-07-01'",)
    assert "19905" not in str(asked)
    with pytest.raises(us.UnderstudyError, match="where day >= '2024-07-01'"):
        us.analyze(made, "median", "age where day >= '2024-07-01'")


@pytest.mark.parametrize(
    "question",
    [
        *("mean log(pay)", "total 1 / (age - 18)", "mean {min(pay)} ~ sex"),
        *("ols pay ~ log(sex)", "ols pay ~ {sex > 1}", "logit works ~ np.foo(age)"),
    ],
)
def test_what_cannot_be_computed_of_declared_values_is_refused_before_it_is_paid_for(question):
    with pytest.raises(InferenceError):
        us.plan(_schema({}), epsilon=1, delta="1e-6", analyses=[question])


@pytest.mark.parametrize("kind", ["mean", "total", "proportion", "count", "quantile", "std"])
def test_both_groups_of_a_condition_are_as_where_has_them(release, kind):
    """By the sources of the column alone: estimates and widths are the same."""
    asked = "pay >= 250" if kind in ("proportion", "count") else "pay"
    both = us.analyze(release, kind, f"{asked} ~ {{pay >= 100}}").pooled
    for place, where in enumerate(("pay >= 100", "not pay >= 100")):
        one = us.analyze(release, kind, f"{asked} where {where}").pooled
        np.testing.assert_allclose(both.estimate[place], one.estimate[0])
        np.testing.assert_allclose(
            np.array(both.interval())[:, place], np.array(one.interval())[:, 0]
        )


def test_a_difference_is_an_outcome_by_itself(release):
    """A formula would read `pay - age` as pay without age, and say nothing."""
    bare, braced = (
        us.analyze(release, "ols", f"{one} ~ works") for one in ("pay - age", "{pay - age}")
    )
    np.testing.assert_allclose(bare.pooled.estimate, braced.pooled.estimate)
