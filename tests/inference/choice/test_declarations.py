"""Refusals that name the declaration, and what can be asked of the same release instead.

`tests/contract/test_advice.py` follows every such advice over a grid of methods; here is when it is
given. Seeds are fixed.
"""

import shlex
from fractions import Fraction

import numpy as np
import pytest

import understudy as us
from made_matrices import SCHEMA, people
from understudy.cli.app import app
from understudy.inference.declarations import declaration
from understudy.inference.question import parse
from understudy.inference.refusals import RefusedError
from understudy.inference.second_moments import refuse_lost


@pytest.fixture(scope="module")
def rows():
    return people(np.random.default_rng(5), 3000)


@pytest.fixture(scope="module")
def alone(rows):
    """Columns measured one by one, with δ above 0."""
    made = {"epsilon": 2, "delta": "1e-6", "method": "independent", "insecure_noise_seed": 1}
    return us.synthesize(rows, SCHEMA, **made)


def refusal(release, kind, formula):
    with pytest.raises(RefusedError) as caught:
        us.analyze(release, kind, formula)
    return caught.value


@pytest.mark.parametrize(
    ("kind", "formula", "instead"),
    [
        ("ols", "y ~ x + sex", ()),
        ("correlation", "x + y", ()),
        ("mean", "wage ~ sex", ("mean wage",)),
        ("proportion", "rare ~ region", ("proportion rare",)),
        ("table", "sex + region", ("proportion sex", "proportion region")),
    ],
)
@pytest.mark.nightly(every=6)
def test_a_refusal_names_the_declaration_and_what_is_answered(alone, rows, kind, formula, instead):
    error = refusal(alone, kind, formula)
    assert error.advice.kind == "declare"
    assert f'--analysis "{kind} {formula}"' in str(error)
    assert error.instead == instead
    assert all(us.analyze(alone, *one.split(" ", 1)).valid for one in instead)
    budget = {"epsilon": error.advice.epsilon, "delta": error.advice.delta}
    made = us.synthesize(
        rows, SCHEMA, analyses=[error.advice.analysis], insecure_noise_seed=2, **budget
    )
    assert us.analyze(made, kind, formula).valid


@pytest.mark.nightly
def test_the_command_that_is_named_buys_the_answer(alone, rows, tmp_path):
    """As it is typed, with secure noise, of which the answer is far off."""
    error = refusal(alone, "ols", "y ~ x + sex")
    assert error.advice.half_width > 0
    assert f"{error.advice.command} (expected ± " in str(error)
    rows.write_csv(tmp_path / "rows.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.dumps(), "utf-8")
    files = {"DATA": "rows.csv", "SCHEMA": "schema.toml"}
    words = shlex.split(error.advice.command)[1:]
    typed = [str(tmp_path / files[word]) if word in files else word for word in words]
    app([*typed, "--out", str(tmp_path / "made"), "--quiet"], standalone_mode=False)
    found = us.analyze(tmp_path / "made", "ols", "y ~ x + sex")
    low, high = found.pooled.interval()
    assert 0.2 < np.median(high - low) / 2 / error.advice.half_width < 1.3


@pytest.mark.nightly
def test_fewer_predictors_are_offered_where_they_are_answered(rows):
    asked = ["ols y ~ x + sex"]
    alone = {"analyses": asked, "budget": {"layer": 0}}
    made = us.synthesize(rows, SCHEMA, epsilon=4, delta="1e-6", insecure_noise_seed=3, **alone)
    error = refusal(made, "ols", "y ~ x + sex + wage")
    assert error.instead == ("ols y ~ x + sex",)
    assert error.advice.analysis == "ols y ~ x + sex + wage"
    assert 'This release answers "ols y ~ x + sex"' in str(error)


@pytest.mark.parametrize(("kind", "formula"), [("ols", "log(x + 1) ~ y"), ("quantile", "y ~ sex")])
def test_one_is_named_where_moments_of_terms_or_a_table_answer(alone, kind, formula):
    advice = declaration(alone, parse(kind, formula, SCHEMA))
    assert advice.analysis == f"{kind} {formula}"
    assert advice.half_width > 0


@pytest.mark.parametrize(
    ("kind", "formula"),
    [("ols", "np.sqrt(x + 1) ~ y"), ("total", "sex + rare")],
)
def test_none_is_named_where_second_moments_do_not_answer(alone, kind, formula):
    assert declaration(alone, parse(kind, formula, SCHEMA)) is None
    assert refusal(alone, kind, formula).advice.kind == "release"


def test_less_budget_or_fewer_rows_need_a_larger_epsilon(rows):
    """At ε = 0.03 the noise hides what it does not at 2, and the advice says from where on."""

    def least(n, epsilon):
        made = {"epsilon": epsilon, "delta": "1e-6", "method": "independent"}
        release = us.synthesize(rows[:n], SCHEMA, insecure_noise_seed=2, **made)
        return Fraction(declaration(release, parse("ols", "y ~ x", SCHEMA)).epsilon)

    assert least(3000, "2") == 2
    assert Fraction("0.03") < least(3000, "0.03") <= 2
    assert least(600, "0.03") > least(3000, "0.03")


def test_columns_that_do_not_vary_are_not_promised_an_answer(alone):
    still = alone.tables[0].with_columns(x=alone.tables[0]["x"][0])
    release = us.Release((still,), alone.schema, alone.manifest, alone.measurements)
    assert declaration(release, parse("ols", "y ~ x", SCHEMA)) is None


@pytest.mark.parametrize(
    ("firmness", "needed", "words"),
    [
        (1.5, 3.0, "about 2.0 times the ε or the number of records would do"),
        (2.0, 6.0, "about 3.0 times the ε or the number of records would do"),
        (0.01, 3.0, "coarser levels, fewer columns would do"),
        (-1.0, 3.0, "about 0.0 standard deviations"),
    ],
)
def test_how_much_more_would_do_is_said_where_it_is_within_reach(firmness, needed, words):
    assert words in str(refuse_lost("A group is too small", firmness, needed))


@pytest.mark.nightly
def test_twice_the_noise_is_half_the_firmness(rows):
    """What the factor says holds: the refusal names about how much more ε ends it."""
    made = {"delta": "1e-6", "analyses": ["ols y ~ x + sex"], "insecure_noise_seed": 5}
    error = refusal(us.synthesize(rows, SCHEMA, epsilon="0.025", **made), "ols", "y ~ x + sex")
    factor = float(str(error).partition("or about ")[2].split(" times")[0])
    enough = us.synthesize(rows, SCHEMA, epsilon=str(round(0.025 * factor * 1.3, 3)), **made)
    assert us.analyze(enough, "ols", "y ~ x + sex").valid


def test_of_a_release_without_records_a_declared_quantile_is_refused_in_words(rows):
    made = {"epsilon": 50, "delta": "1e-6", "method": "independent", "insecure_noise_seed": 3}
    empty = us.synthesize(rows.head(0), SCHEMA, analyses=["quantile 0.5 wage ~ sex"], **made)
    assert empty.tables[0].height == 0
    assert "too few records" in str(refusal(empty, "quantile", "wage ~ sex"))
