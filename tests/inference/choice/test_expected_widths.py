"""Expected widths: those that `analyze` gives, where the population is as it is assumed to be.

Rows are drawn evenly and independently, and widths, which hardly depend on the noise, are compared
with the real ones. Seeds are fixed.
"""

from functools import cache

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.errors import InferenceError
from understudy.inference.answered_questions import Answerable, ExpectedWidths, QuestionKind

SCHEMA = us.Schema.loads(
    column("x", "continuous", lower=0.0, upper=10.0, bins=21)
    + column("y", "continuous", lower=-20.0, upper=40.0, bins=9)
    + column("k", "integer", lower=0, upper=20, bins=21, missing=[-1])
    + column("sex", "categorical", levels=["f", "m"])
    + column("b", "boolean")
    + column("region", "categorical", levels=["a", "b", "c", "d"])
)
RANGE = {"x": 10.0, "y": 60.0, "k": 20.0}
BIN = {"x": 1 / 21, "y": 1 / 9, "k": 1 / 20}
REQUESTS = {
    "layer": {"epsilon": 1, "delta": "1e-6"},
    "alone": {"epsilon": 3, "method": "independent"},
    "declared": {
        "epsilon": 2,
        "delta": "1e-6",
        "analyses": ["ols y ~ x + sex", "mean k ~ region", "logit b ~ x"],
    },
    "priority": {"epsilon": 1, "delta": "1e-6", "priority": ["x", "k", "sex"]},
    "one table": {"epsilon": 20, "method": "laplace", "sets": 1},
}


def rows(n):
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "x": rng.uniform(0, 10, n),
            "y": rng.uniform(-20, 40, n),
            "k": rng.integers(0, 21, n),
            "sex": rng.choice(["f", "m"], n),
            "b": rng.random(n) < 0.5,
            "region": rng.choice(list("abcd"), n),
        }
    )


@cache
def release(name, n=8000):
    table, schema = rows(n), SCHEMA
    if name == "one table":
        schema = us.Schema(columns={k: SCHEMA.columns[k] for k in ("y", "sex", "region")})
        table = table.select("y", "sex", "region")
    return us.synthesize(table, schema, insecure_noise_seed=2, **REQUESTS[name])


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.nightly(every=3)
def test_the_width_of_the_rows_is_that_of_the_answer_without_its_noise(name):
    """Sampling alone, as the answer itself splits its variance; a bin's bound is none of it."""
    made = release(name)
    found = ExpectedWidths(made)
    asked = [
        ("proportion", " + ", found.shares(), False),
        ("table", " + ", found.tables(), False),
        ("mean", " ~ ", found.means(), True),
        ("mean", " ~ ", found.group_means(), True),
        ("correlation", " + ", found.correlations(), False),
    ]
    compared = 0
    for kind, between, answers, number in asked:
        assert answers.of_rows.keys() == answers.widths.keys()
        for columns, width in answers.of_rows.items():
            pooled = us.analyze(made, kind, between.join(columns)).pooled
            own = 1.96 * np.median(pooled.stderr * np.sqrt(1 - pooled.synthesis_share))
            scale = RANGE[columns[0]] if number else 1.0
            assert own / scale == pytest.approx(width, rel=0.15), (kind, columns)
            compared += 1
    assert compared >= 6


def half(made, kind, formula):
    """The median half-width of the answer."""
    lower, upper = us.analyze(made, kind, formula).pooled.interval()
    return (upper - lower) / 2


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.nightly(every=6)
def test_shares_tables_and_means_are_as_wide_as_expected(name):
    made = release(name)
    found = ExpectedWidths(made)
    asked = [
        ("proportion", " + ", found.shares(), False),
        ("table", " + ", found.tables(), False),
        ("mean", " ~ ", found.means(), True),
        ("mean", " ~ ", found.group_means(), True),
    ]
    compared = 0
    for kind, between, answers, number in asked:
        for columns, width in answers.widths.items():
            own = np.median(half(made, kind, between.join(columns)))
            scale = RANGE[columns[0]] if number else 1.0
            assert own / scale == pytest.approx(width, rel=0.12), (kind, columns)
            compared += 1
    assert compared >= 6


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.nightly(every=5)
def test_quantiles_are_at_most_half_a_bin_wider_than_expected(name):
    made = release(name)
    for (number,), width in ExpectedWidths(made).quantiles().widths.items():
        (own,) = half(made, "quantile", number) / RANGE[number]
        assert abs(own - width) <= BIN[number] / 2 + 0.2 * width


@pytest.mark.parametrize("name", ["layer", pytest.param("declared", marks=pytest.mark.nightly)])
def test_models_and_correlations_are_as_wide_as_expected(name):
    made = release(name)
    found = ExpectedWidths(made)
    assert ("x", "y") in found.correlations().widths
    (own,) = half(made, "correlation", "x + y")
    assert own == pytest.approx(found.correlations().widths["x", "y"], rel=0.1)
    slope = half(made, "ols", "y ~ x")[1] * RANGE["x"] / RANGE["y"]
    assert slope == pytest.approx(found.linear().widths["x", "y"], rel=0.1)
    odds = half(made, "logit", "b ~ x")[1] * RANGE["x"] / 12**0.5
    assert odds == pytest.approx(found.logistic().widths["x", "b"], rel=0.1)


def test_columns_with_absences_are_among_them():
    """The layer has all columns; k has a code, so a record may lack it."""
    found = ExpectedWidths(release("layer"))
    assert ("y", "k") in found.linear().widths
    assert ("k", "sex") in found.group_means().widths
    for kind, formula in [("mean", "k ~ sex"), ("ols", "y ~ k")]:
        assert us.analyze(release("layer"), kind, formula).valid


def test_nothing_is_expected_where_nothing_was_measured():
    found = ExpectedWidths(release("alone"))
    assert found.tables().ends is None
    assert found.linear().widths == found.correlations().widths == {}
    assert len(found.shares().widths) == 6


def few(n):
    """Without number lines, of whose bounds few records would tell too little."""
    asked = REQUESTS["layer"] | {"budget": {"lines": 0, "answers": 0.25}}
    return us.synthesize(rows(n), SCHEMA, insecure_noise_seed=2, **asked)


def test_what_is_lost_in_noise_is_refused_and_the_rest_is_answered():
    made = few(400)
    assert ("x", "sex") in ExpectedWidths(made).group_means().widths
    assert us.analyze(made, "mean", "x ~ sex").valid
    fewer = few(200)
    found = ExpectedWidths(fewer)
    assert ("x", "region") in found.group_means().lost
    with pytest.raises(InferenceError, match="noise"):
        us.analyze(fewer, "mean", "x ~ region")
    assert ("x", "b") in found.logistic().lost
    with pytest.raises(InferenceError, match="noise"):
        us.analyze(fewer, "logit", "b ~ x")


def test_many_columns_take_no_time():
    """Pairs of 60 columns are counted once, whatever the number of tables; no clock is read."""
    names = [f"c{k}" for k in range(60)]
    column = {"kind": "boolean", "source": "s", "reviewed": True}
    schema = us.Schema.model_validate({"columns": dict.fromkeys(names, column)})
    table = pl.DataFrame(dict.fromkeys(names, [True, False] * 50))
    made = us.synthesize(table, schema, epsilon=1, method="independent", insecure_noise_seed=1)
    found = ExpectedWidths(made)
    assert len(found.shares().widths) == 60
    assert found.tables().widths == {}


@pytest.mark.parametrize(
    ("widths", "words"),
    [
        ((0.014, 0.0301), "± 1.4 to 3 % of the range"),
        ((0.9949, 1.432, 23.4), "± 99 to 2,340 % of the range"),
        ((0.996,), "± 100 % of the range"),
        ((), ""),
    ],
)
def test_widths_are_shown_without_powers_of_ten(widths, words):
    found = Answerable({(str(k),): width for k, width in enumerate(widths)})
    assert QuestionKind("", "quantile", "", "columns", 3, found, "% of the range").width == words
