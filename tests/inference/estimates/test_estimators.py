"""Estimates from each set, against statsmodels, pandas and hand computation."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import understudy as us
from understudy.errors import InferenceError
from understudy.inference import formulas
from understudy.inference.estimators import estimate_by, estimate_sets
from understudy.inference.question import parse
from understudy.inference.records import Records
from understudy.inference.regression_models import find_separation

AWKWARD = """
[columns."my col"]
kind = "integer"
lower = 0
upper = 9
missing = ["refused"]
[columns.scale]
kind = "categorical"
levels = [1, 2, ""]
[columns.log]
kind = "date"
lower = 2000-01-01
upper = 2009-12-31
missing = [""]
[columns.day]
kind = "date"
lower = 2000-01-01
upper = 2009-12-31
missing = ["unknown"]
"""


@pytest.fixture
def sets(released, people):
    """Three sets of 500 rows, absent values included."""
    return released(*(people(500, seed) for seed in range(3)))


def clean(table: pl.DataFrame) -> pd.DataFrame:
    """The rows of a set in pandas, codes of absence as NaN, by hand."""
    frame = table.to_pandas()
    frame["age"] = frame["age"].where(frame["age"] != -9)
    frame["income"] = frame["income"].where(frame["income"] != -1)
    frame["job"] = frame["job"].astype(str).replace("?", np.nan)
    frame["smokes"] = frame["smokes"].astype(float)
    frame["edu"] = frame["edu"].astype(float)
    return frame


def ask(release, kind, formula, **more):
    estimand = parse(kind, formula, release.schema, **more)
    return estimate_sets(estimand, release.tables, release.schema)


def refusal(release, kind, formula, **more):
    """The sentence of a refusal: one line, to its end."""
    with pytest.raises(InferenceError) as caught:
        ask(release, kind, formula, **more)
    text = str(caught.value)
    assert re.fullmatch(r"[^\n]{20,400}[.?]", text)
    return text


# --- numbers ------------------------------------------------------------------------------------


def test_models_equal_statsmodels(sets):
    found = {
        "ols": ask(sets, "ols", "income ~ age + sex + C(edu)"),
        "logit": ask(sets, "logit", "smokes ~ age + sex + job"),
        "poisson": ask(sets, "poisson", "edu ~ age + sex"),
    }
    for k, table in enumerate(sets.tables):
        frame = clean(table)
        frame["job"] = pd.Categorical(frame["job"], ["none", "worker", "boss"])
        by_hand = {
            "ols": smf.ols("income ~ age + sex + C(edu)", frame).fit(cov_type="HC1"),
            "logit": smf.logit("smokes ~ age + sex + job", frame).fit(disp=0),
            "poisson": smf.poisson("edu ~ age + sex", frame).fit(disp=0, cov_type="HC1"),
        }
        for kind, expected in by_hand.items():
            order = [found[kind].names.index(name) for name in expected.params.index]
            np.testing.assert_allclose(
                found[kind].estimates[k][order], expected.params, rtol=1e-5, atol=1e-7
            )
            n, p = expected.nobs, len(order)
            factor = n / (n - p) if kind == "poisson" else 1  # its HC1 lacks this for counts
            np.testing.assert_allclose(
                found[kind].covariances[k][np.ix_(order, order)],
                factor * expected.cov_params(),
                rtol=1e-4,
                atol=1e-8,
            )
            assert found[kind].dropped[k] == 500 - expected.nobs


def test_means_by_group_equal_pandas(sets):
    found = ask(sets, "mean", "log(income + 1) ~ sex")
    assert found.names == ("log(income + 1) | sex[f]", "log(income + 1) | sex[m]")
    for k, table in enumerate(sets.tables):
        frame = clean(table)
        groups = np.log(frame["income"] + 1).groupby(frame["sex"], observed=True)
        np.testing.assert_allclose(found.estimates[k], groups.mean())
        np.testing.assert_allclose(np.diag(found.covariances[k]), groups.var() / groups.count())
        assert found.covariances[k][0, 1] == 0
        assert found.dropped[k] == frame["income"].isna().sum()


def test_shares_equal_pandas(sets):
    found = ask(sets, "proportion", "job")
    frame = clean(sets.tables[0])
    shares = frame["job"].value_counts(normalize=True).loc[["none", "worker", "boss"]].to_numpy()
    n = frame["job"].count()
    np.testing.assert_allclose(found.estimates[0], shares)
    multinomial = (np.diag(shares) - np.outer(shares, shares)) / (n - 1)
    np.testing.assert_allclose(found.covariances[0], multinomial, atol=1e-15)
    condition = ask(sets, "proportion", "income > 40")
    assert condition.estimates[0, 0] == pytest.approx((frame["income"].dropna() > 40).mean())


def test_a_cross_tabulation_holds_every_cell_in_the_order_written(sets):
    found = ask(sets, "table", "sex + job")
    frame = clean(sets.tables[1]).dropna(subset=["job"])
    shares = pd.crosstab(frame["sex"], frame["job"], normalize=True)[["none", "worker", "boss"]]
    assert found.names[1] == "sex[f]:job[worker]"
    np.testing.assert_allclose(found.estimates[1], shares.to_numpy().reshape(-1))
    assert found.estimates[1].sum() == pytest.approx(1)
    turned = ask(sets, "table", "job + sex")
    np.testing.assert_allclose(turned.estimates[1], shares.to_numpy().T.reshape(-1))


def test_shares_of_a_numeric_column_are_those_of_its_bins(sets):
    found = ask(sets, "proportion", "income")
    income = clean(sets.tables[0])["income"].dropna()
    expected = [(income == 0).mean(), income.between(1e-9, 49.99).mean(), (income >= 50).mean()]
    np.testing.assert_allclose(found.estimates[0], expected)


def test_transformations_mean_the_same_in_every_set(sets):
    """`poly` and `center` are laid out for all sets together, or coefficients would not pool."""
    found = ask(sets, "ols", "income ~ poly(age, 2)")
    ages = pd.concat([clean(table) for table in sets.tables])
    complete = ages.dropna(subset=["age", "income"])
    raw = complete["age"].to_numpy()
    basis = np.linalg.qr(np.vander(raw, 3, increasing=True))[0][:, 1:]
    n = (clean(sets.tables[0]).dropna(subset=["age", "income"])).shape[0]
    fit = sm.OLS(complete["income"].to_numpy()[:n], sm.add_constant(basis[:n])).fit()
    np.testing.assert_allclose(np.abs(found.estimates[0]), np.abs(fit.params), rtol=1e-6)


def test_own_functions_see_absence_and_declared_levels(sets):
    seen = []

    def ratio(frame):
        seen.append(frame)
        return {"ratio": frame["income"].mean() / frame["age"].mean()}, [0.1]

    found = estimate_by(ratio, ("age", "income", "sex"), sets.tables, sets.schema)
    assert found.names == ("ratio",)
    assert not seen[0].isna().any().any()
    assert (seen[0][["age", "income"]] >= 0).all().all()
    assert list(seen[0]["sex"].cat.categories) == ["f", "m"]
    assert found.dropped[0] == 500 - len(seen[0])


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"a": 1.0}, "must give a pair"),
        (([1.0, 2.0], [1.0]), "expected (k,)"),
        ((["x"], [1.0]), "must give numbers"),
    ],
)
def test_own_functions_must_give_estimates_and_variances(sets, result, words):
    with pytest.raises(InferenceError, match=re.escape(words)):
        estimate_by(lambda frame: result, ("age",), sets.tables, sets.schema)


def test_every_kind_of_absence_and_every_type_is_read(released, schema, people):
    rows = people(50, 2) | {
        "age": [-9, 0, 17, 18, 99] * 10,
        "income": [-1.0, 0.0, 0.1, 50.0, 100.0] * 10,
        "smokes": [None, True, False, True, False] * 10,
        "job": ["?", "none", "worker", "boss", "none"] * 10,
    }
    records = Records.of(released(rows).tables[0], schema, schema.names)
    assert records.states["age"][:5].tolist() == [-1, 0, 0, 1, 2]
    assert records.states["income"][:5].tolist() == [-1, 0, 1, 2, 2]
    assert records.states["smokes"][:5].tolist() == [-1, 1, 0, 1, 0]
    assert records.states["job"][:5].tolist() == [-1, 0, 1, 2, 0]
    frame = records.take(records.complete()).frame()
    assert frame.dtypes.astype(str).to_dict() == {
        "sex": "category",
        "age": "float64",
        "job": "category",
        "income": "float64",
        "smokes": "bool",
        "edu": "float64",
    }


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", ["incme", "log(incme)", "income ~ sx"])
def test_an_unknown_name_gets_a_suggestion(sets, formula):
    text = refusal(sets, "mean", formula)
    assert "did you mean" in text
    assert "'income'" in text or "'sex'" in text


def test_a_level_that_does_not_exist_is_refused(sets):
    for kind, formula in [
        ("proportion", "sex == 'F'"),
        ("proportion", "(age > 30) & ('x' != `job`)"),
        ("mean", "edu == 10"),
        ("ols", "age ~ {smokes == 'yes'}"),
    ]:
        assert "has no level" in refusal(sets, kind, formula)
    for formula in ("sex == 'f'", "job != 'boss'", "edu == 12", "smokes == True", "{job > 'none'}"):
        assert 0 < ask(sets, "proportion", formula).estimates[0, 0] < 1


def test_awkward_names_levels_and_dates(released):
    schema = us.Schema.loads(AWKWARD)
    rows = {
        "my col": ["refused", "3", "9", "0"] * 25,
        "scale": [1, 2, None, 2] * 25,
        "log": [None, datetime.date(2000, 1, 2), datetime.date(2000, 1, 1)] * 33 + [None],
        "day": ["unknown", "2000-01-31"] * 50,
    }
    made = released(rows, schema=schema)
    assert ask(made, "mean", "`my col` + 1").estimates[0, 0] == pytest.approx(5)
    assert ask(made, "proportion", "scale == 1").estimates[0, 0] == 0.25
    assert ask(made, "proportion", "scale").names[2] == "scale[(empty)]"
    assert ask(made, "mean", "log").estimates[0, 0] == 10957.5
    assert ask(made, "mean", "day").estimates[0, 0] == 10987


def test_no_name_reaches_python_unasked(sets):
    for formula in ("__import__('os')", "open('x')", "age.__class__"):
        refusal(sets, "mean", formula)


@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        ("mean", "income +"),
        ("mean", "(income"),
        ("mean", "income ~"),
        ("mean", "~ sex"),
        ("mean", ""),
        ("ols", "income"),
        ("ols", "income ~ (age"),
        ("ols", "income ~ age | sex"),
        ("ols", "income ~ age +* sex"),
        ("table", "sex + log(income)"),
        ("mean", "1"),
    ],
)
def test_a_faulty_formula_is_refused_in_a_sentence(sets, kind, formula):
    refusal(sets, kind, formula)


def test_an_unknown_kind_gets_a_suggestion(sets):
    assert "Did you mean 'mean'?" in refusal(sets, "meen", "income")


def test_perfect_separation_is_refused(released, people):
    rows = people(300, 1)
    rows["smokes"] = [None if age == -9 else age > 60 for age in rows["age"]]
    text = refusal(released(people(300, 2), rows), "logit", "smokes ~ age + sex")
    assert "set 2" in text
    assert "separation" in text
    assert "age" in text


def test_a_level_that_predicts_perfectly_is_refused(released, people):
    """Quasi-separation: the fit stops somewhere without a warning that says so."""
    rows = people(300, 1)
    rows["smokes"] = [
        True if job == "boss" else x for job, x in zip(rows["job"], rows["smokes"], strict=True)
    ]
    text = refusal(released(rows), "logit", "smokes ~ age + job")
    assert "job[T.boss] predicts 'smokes' perfectly" in text


def test_a_level_without_events_is_refused_in_poisson(released, people):
    rows = people(300, 1)
    rows["income"] = [0.0 if job == "boss" else 3.0 + k % 4 for k, job in enumerate(rows["job"])]
    assert "job[T.boss]" in refusal(released(rows), "poisson", "income ~ job + age")


def test_separation_is_decided_exactly():
    x = np.column_stack([np.ones(6), [0, 1, 2, 3, 4, 5.0]])
    assert find_separation("logit", np.array([0, 0, 0, 1, 1, 1.0]), x) is not None
    assert find_separation("logit", np.array([0, 0, 1, 0, 1, 1.0]), x) is None
    assert find_separation("poisson", np.array([0, 0, 2, 3, 1, 1.0]), x) is None
    with_group = np.column_stack([x, [0, 0, 0, 0, 1, 1.0]])
    direction = find_separation("poisson", np.array([1, 3, 2, 3, 0, 0.0]), with_group)
    np.testing.assert_allclose(direction, [0, 0, -1], atol=1e-9)


def test_a_large_but_finite_coefficient_is_not_separation(released, people):
    rng = np.random.default_rng(4)
    age = np.r_[rng.integers(0, 100, 999), 50]
    rows = people(1_000, 1) | {"age": age.tolist(), "job": ["none"] * 1_000}
    rows["smokes"] = (rng.random(1_000) < 1 / (1 + np.exp(-0.6 * (age - 50)))).tolist()
    found = ask(released(rows), "logit", "smokes ~ age")
    assert found.estimates[0, 1] == pytest.approx(0.6, abs=0.25)


def test_a_level_missing_from_one_set_is_named_with_the_set(released, people):
    one, two = people(100, 1), people(100, 2)
    two["job"] = ["worker" if job == "boss" else job for job in two["job"]]
    for kind, formula in [
        ("ols", "income ~ job"),
        ("ols", "income ~ C(job)"),
        ("mean", "income ~ job"),
    ]:
        text = refusal(released(one, two), kind, formula)
        assert re.search(r"[Ss]et 2", text)
        assert "boss" in text
    # Of a level that no set has, nothing is asked.
    assert ask(released(two, two), "ols", "income ~ job").names == ("Intercept", "job[T.worker]")


def test_constants_are_named(released, people):
    rows = people(100, 1) | {"income": [5.0] * 100, "edu": [9] * 100}
    assert "outcome 'income' is constant in set 1" in refusal(released(rows), "ols", "income ~ age")
    assert "'edu' is constant in set 1" in refusal(released(rows), "ols", "age ~ edu")


def test_predictors_that_follow_from_each_other_are_named(sets):
    text = refusal(sets, "ols", "income ~ age + {age * 2} + sex")
    assert "cannot be told apart in set 1" in text


def test_no_complete_record_is_refused(released, people):
    rows = people(100, 1) | {"income": [-1.0] * 100}
    assert "Set 1 has no record" in refusal(released(rows), "mean", "income")
    assert "too few" in refusal(released(people(3, 1)), "ols", "income ~ age + sex + edu")


def test_outcomes_must_fit_the_model(sets):
    assert "two levels" in refusal(sets, "logit", "income ~ age")
    assert "two levels" in refusal(sets, "logit", "job ~ age")
    assert "one column of numbers" in refusal(sets, "ols", "job ~ age")
    assert "negative" in refusal(sets, "poisson", "{age - 50} ~ sex")


def test_a_two_level_outcome_models_the_second_level(sets):
    found = ask(sets, "logit", "sex ~ age")
    other = ask(sets, "logit", "{sex == 'm'} ~ age")
    np.testing.assert_allclose(found.estimates, other.estimates)
    assert "Outcome sex[m]" in found.notes[0]


def test_levels_have_no_mean_and_numbers_no_share(sets):
    assert "has levels" in refusal(sets, "mean", "job")
    assert "true or false" in refusal(sets, "proportion", "income + 1")


def test_numbers_that_are_not_finite_are_refused(sets):
    assert "log(income + 1)" in refusal(sets, "mean", "log(income - 200)")
    assert "log(income + 1)" in refusal(sets, "ols", "log(income - 200) ~ age")


def test_coefficients_without_error_have_a_variance_of_zero(released, people):
    """Nobody in the group of reference has another outcome: rounding alone gave it p = .002."""
    rows = people(300, 1)
    income = [
        0.0 if sex == "f" else value for sex, value in zip(rows["sex"], rows["income"], strict=True)
    ]
    made = released(rows | {"income": income}, rows | {"income": income})
    found = ask(made, "ols", "income ~ sex")
    assert (found.covariances[:, 0, 0] == 0).all()
    assert (found.covariances[:, 1, 1] > 0).all()
    exact = ask(made, "ols", "I(2 * edu) ~ edu")
    assert (exact.covariances == 0).all()


@pytest.mark.parametrize("name", ["x", "b", "log", "t"])
def test_a_plain_column_is_what_its_formula_gives(name):
    frame = pd.DataFrame({"x": [1.5, -2.0], "b": [True, False], "log": [3.0, 4.0], "t": ["u", "v"]})
    assert formulas.is_plain(name, frame) == (name != "t")
    if name != "t":
        slow = formulas.matrices(formulas.as_formula(name), frame).to_numpy(dtype=float)[:, 0]
        assert formulas.evaluate(name, frame).tolist() == slow.tolist()
    with pytest.raises(InferenceError, match="not a finite number"):
        formulas.evaluate("x", pd.DataFrame({"x": [1.0, np.inf]}))
