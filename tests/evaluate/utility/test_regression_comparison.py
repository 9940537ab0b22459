"""Fits against statsmodels, overlap by hand, and what regressions of a release say."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

from understudy.errors import MethodError
from understudy.evaluate.propensity import default_models, written_models
from understudy.evaluate.regression import (
    OTHER,
    Compared,
    coefficient_scores,
    coefficients,
    compare,
    compare_models,
    expected_overlap,
    interval_overlap,
)
from understudy.evaluate.robust_regression import (
    COLLINEAR,
    EXACT,
    SEPARATED,
    UNFITTED,
    diagnose_fit,
    find_undetermined,
    fit,
    independent,
)
from understudy.inference.records import Records
from understudy.release.decoding import decode


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 2), (1, 3), 0.5),
        ((0, 2), (0, 2), 1),
        ((0, 1), (2, 3), 0),
        ((0, 4), (1, 2), (1 / 4 + 1) / 2),  # nested: more than a half, however wide
        ((0, 0), (-1, 1), 0.5),  # a point inside: wholly in the other, nothing of the other in it
        ((0, 0), (0, 0), 1),
    ],
)
def test_overlap_by_hand(one, other, expected):
    """Karr et al. (2006)."""
    assert interval_overlap(one, other) == pytest.approx(expected)
    assert interval_overlap(other, one) == pytest.approx(expected)


@pytest.mark.parametrize("n_synthetic", [1000, 3000])
def test_the_expected_overlap_of_a_fresh_sample(n_synthetic):
    """100,000 draws have a standard error below 0.001; tolerance 5 of them."""
    rng = np.random.default_rng(0)
    one, other = 1 / np.sqrt(1000), 1 / np.sqrt(n_synthetic)
    x, y = one * rng.normal(size=100_000), other * rng.normal(size=100_000)
    low = np.maximum(x - 1.96 * one, y - 1.96 * other)
    high = np.minimum(x + 1.96 * one, y + 1.96 * other)
    inside = np.maximum(high - low, 0)
    drawn = (inside / (3.92 * one) + inside / (3.92 * other)).mean() / 2
    assert expected_overlap(1000, n_synthetic) == pytest.approx(drawn, abs=0.005)


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.3]).astype(float)
    return x, x @ [1.0, 0.5, -1.0], rng


def test_least_squares_with_robust_errors():
    x, mean, rng = data()
    y = mean + rng.normal(size=400) * (1 + np.abs(x[:, 1]))
    found = fit(y, x, binary=False)
    slow = sm.OLS(y, x).fit(cov_type="HC1", use_t=True)
    np.testing.assert_allclose(found.estimate, slow.params)
    np.testing.assert_allclose(found.stderr, slow.bse)
    np.testing.assert_allclose(np.column_stack([found.lower, found.upper]), slow.conf_int())


def test_logistic_regression():
    x, mean, rng = data()
    y = (rng.random(400) < 1 / (1 + np.exp(-mean))).astype(float)
    found = fit(y, x, binary=True)
    slow = sm.Logit(y, x).fit(disp=0)
    np.testing.assert_allclose(found.estimate, slow.params, rtol=1e-6)
    np.testing.assert_allclose(found.stderr, slow.bse, rtol=1e-6)
    assert not found.shrunk


def test_separated_outcomes_are_shrunk_and_flagged():
    x, _, _ = data()
    found = fit((x[:, 1] > 0).astype(float), x, binary=True)
    assert found.shrunk
    assert np.isfinite(found.estimate).all()
    assert np.isfinite(found.stderr).all()


def test_what_cannot_be_told_apart_is_nan():
    x, mean, _ = data()
    wide = np.column_stack([x, x[:, 1] + x[:, 2], np.zeros(400)])
    assert independent(wide).tolist() == [True, True, True, False, False]
    found = fit(mean + x[:, 1] ** 2, wide, binary=False)
    assert np.isnan(found.estimate).tolist() == [False, False, False, True, True]
    np.testing.assert_allclose(
        found.estimate[:3], fit(mean + x[:, 1] ** 2, x, binary=False).estimate
    )


def test_a_constant_outcome_or_too_few_rows_give_nothing():
    x, mean, _ = data()
    assert np.isnan(fit(np.ones(400), x, binary=True).estimate).all()
    assert np.isnan(fit(mean[:3], x[:3], binary=False).estimate).all()


@pytest.fixture
def records(schema, draw):
    """Records of two tables of one law; all values inside the domain."""

    def make(n, seed):
        states = [np.minimum(c, s - 1) for c, s in zip(draw(n, seed), schema.sizes, strict=True)]
        rng = np.random.default_rng(seed)
        return Records.of(decode(states, schema, rng), schema, schema.names)

    return make


def test_a_written_formula_is_fitted_to_complete_records(records, schema):
    (model,) = written_models(["age ~ C(city) + grade"], schema)
    original, sets = records(500, 1), [records(300, 2), records(300, 3)]
    compared = compare(model, original, sets)
    assert compared.model == "age ~ C(city) + grade (ols)"
    complete = (original.states["age"] >= 0) & (original.states["city"] >= 0)
    complete &= original.states["grade"] >= 0
    city = original.states["city"][complete]
    grade = original.states["grade"][complete] + 1
    x = np.column_stack([np.ones(len(city)), city == 1, city == 2, city == 3, grade]).astype(float)
    slow = sm.OLS(original.numbers["age"][complete], x).fit(cov_type="HC1")
    found = dict(zip(compared.terms, compared.original.estimate, strict=True))
    expected = dict(zip(["Intercept", *compared.terms[1:]], slow.params, strict=True))
    assert found == pytest.approx(expected)
    rows = coefficients(compared)
    assert [row.term for row in rows] == list(compared.terms)
    first = compared.sets[0].estimate, compared.sets[1].estimate
    assert rows[1].synthetic[0] == pytest.approx((first[0][1] + first[1][1]) / 2)


def test_two_levels_are_fitted_by_logistic_regression(records, schema):
    for formula in ("member ~ age", "{city == 'Aa'} ~ age"):
        compared = compare(written_models([formula], schema)[0], records(400, 1), [records(400, 2)])
        assert compared.model.endswith("(logit)")


def test_default_models_take_numbers_and_two_states_in_turn(records):
    models, warnings = default_models(records(400, 1), None)
    assert [m.name.split(" ~")[0] for m in models] == ["age", "member", "grade"]
    assert warnings == ()
    first, *_ = default_models(records(400, 1), "grade")[0]
    assert first.name.startswith("grade")


def test_rare_levels_are_pooled(records):
    original, other = records(400, 1), records(400, 2)
    original.states["city"][original.states["city"] == 3] = 2
    models, _ = default_models(original, None)
    compared = compare(models[0], original, [other])
    assert any(OTHER in term for term in compared.terms)


def test_a_level_that_a_set_lacks_has_overlap_zero(records, schema):
    one = records(400, 2)
    one.states["city"][one.states["city"] == 3] = 2
    models = written_models(["age ~ C(city)"], schema)
    compared, warnings = compare_models(models, records(400, 1), [one], lambda *_: None)
    (warning,) = warnings
    assert "1 of 4 coefficients is lost, collinear in a set" in warning
    assert "overlap counts 0" in warning
    scores = coefficient_scores(compared, 400, 400)
    assert scores[0].name == "confidence-interval overlap"
    assert scores[0].value < 0.8


def test_every_term_of_a_collinear_combination_is_undetermined():
    """A fit leaves out the last one only; what is left is "a given b" in no other table."""
    x, mean, _ = data()
    wide = np.column_stack([x, x[:, 1] + x[:, 2], np.zeros(400), np.full(400, 3.0)])
    assert find_undetermined(wide).tolist() == [True] * 6
    wide = np.column_stack([x, x[:, 1] + x[:, 2], np.zeros(400)])
    assert find_undetermined(wide).tolist() == [False, True, True, True, True]
    found = diagnose_fit(fit(mean + x[:, 1] ** 2, wide, binary=False), mean, wide, binary=False)
    assert found.reasons[1:] == (COLLINEAR,) * 4


def test_coefficients_without_error_are_exact():
    """The outcome is 0 for all in the reference group, so the intercept has no error."""
    x, _, rng = data()
    x = x[:, [0, 2]]
    y = np.where(x[:, 1] == 1, rng.normal(size=400), 0.0)
    found = diagnose_fit(fit(y, x, binary=False), y, x, binary=False)
    assert found.stderr[0] < 1e-7
    assert found.reasons == (EXACT, "")
    both = diagnose_fit(fit(3 * x[:, 1], x, binary=False), 3 * x[:, 1], x, binary=False)
    assert both.reasons == (EXACT, EXACT)
    nothing = np.ones(400)
    assert diagnose_fit(fit(nothing, x, binary=False), nothing, x, binary=False).reasons == (
        UNFITTED,
        UNFITTED,
    )


@pytest.mark.parametrize("combined", [False, True])
def test_separated_coefficients_are_named_and_no_others(combined):
    """By one indicator, or by a sum of two numbers, which no indicator shows; c tells nothing."""
    rng = np.random.default_rng(5)
    a, b, c = rng.integers(0, 4, (3, 3_000)).astype(float)
    if combined:
        total = a + b
        y = np.where(total == 3, rng.random(3_000) < 0.5, total > 3).astype(float)
        x = np.column_stack([np.ones(3_000), a, b, c])
        expected = (SEPARATED, SEPARATED, SEPARATED, "")
    else:
        y = np.where(a == 3, 1.0, rng.random(3_000) < 0.3).astype(float)
        x = np.column_stack([np.ones(3_000), a == 3, b, c]).astype(float)
        expected = ("", SEPARATED, "", "")
    found = diagnose_fit(fit(y, x, binary=True), y, x, binary=True)
    assert found.reasons == expected


def test_a_clean_logistic_regression_determines_everything():
    x, mean, rng = data()
    y = (rng.random(400) < 1 / (1 + np.exp(-mean))).astype(float)
    assert diagnose_fit(fit(y, x, binary=True), y, x, binary=True).reasons == ("", "", "")


@pytest.mark.nightly
def test_a_fresh_sample_has_the_expected_scores(records):
    """20 pairs of tables, 4 standard errors of the mean: false alarm below 1e-4 each."""
    overlap, shift, width = [], [], []
    for seed in range(20):
        original, other = records(500, 100 + seed), records(500, 200 + seed)
        models, _ = default_models(original, None)
        compared, _ = compare_models(models, original, [other], lambda *_: None)
        scores = {s.name: s for s in coefficient_scores(compared, 500, 500)}
        overlap.append(scores["confidence-interval overlap"])
        shift.append(scores["standardised coefficient shift, median"])
        width.append(scores["interval width ratio, median"])
    for found in (overlap, shift, width):
        values = np.array([score.value - score.null for score in found])
        assert abs(values.mean()) < 4 * values.std(ddof=1) / np.sqrt(20) + 0.02


@pytest.mark.parametrize(
    "formula",
    ["age ~ nothing", "age", "age ~ ", "~ age", "age ~ log(", "1 ~ 1", "age ~ __import__('os')"],
)
def test_a_faulty_formula_is_refused(formula, schema):
    with pytest.raises(MethodError):
        written_models([formula], schema)


@pytest.mark.parametrize("formula", ["city ~ age", "age ~ log(grade - 1)", "age ~ foo.bar + age"])
def test_a_formula_that_cannot_be_computed_shows_no_value(formula, records, schema):
    with pytest.raises(MethodError) as fault:
        compare(written_models([formula], schema)[0], records(200, 1), [records(200, 2)])
    assert "Aa" not in str(fault.value)


@pytest.mark.parametrize("outcome", ["grade ~ twice + age", "{grade > 2} ~ twice + age"])
def test_widths_stay_finite_beside_coefficients_that_are_not_determined(outcome, records, schema):
    """An outcome that a column determines once had a ratio of widths of 10¹⁴."""
    formula = outcome.replace("twice", "I(2 * grade)")
    honest = written_models(["age ~ grade + member"], schema)
    compared, warnings = compare_models(
        (*written_models([formula], schema), *honest),
        records(500, 1),
        [records(500, 2)],
        lambda *_: None,
    )
    assert any("left out" in warning for warning in warnings)
    scores = {score.name: score for score in coefficient_scores(compared, 500, 500)}
    assert 0.5 < scores["interval width ratio, median"].value < 2
    assert scores["standardised coefficient shift, median"].value < 5
    assert (
        "of 6 coefficients, which the original determines"
        in scores["interval width ratio, median"].note
    )


def fitted(seed, near=False):
    """A regression on 30 columns, of which two are nearly one and an estimate is anywhere."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(2_000), rng.normal(size=(2_000, 30))])
    if near:
        x[:, 2] = x[:, 1] + 1e-4 * rng.normal(size=2_000)
    y = x.sum(axis=1) + rng.normal(size=2_000)
    found = diagnose_fit(fit(y, x, binary=False), y, x, binary=False)
    return replace(found, estimate=found.estimate + near * 1e7 * np.eye(31)[1])


def test_one_nearly_collinear_term_does_not_move_the_summaries():
    terms = tuple(f"x{k}" for k in range(31))
    scores = []
    for copy in (fitted(2), fitted(2, near=True)):
        assert copy.determined.all()
        compared = Compared("m", terms, fitted(1), (copy,))
        scores.append({s.name: s.value for s in coefficient_scores([compared], 2_000, 2_000)})
    whole, near = scores
    assert set(whole) == set(near)
    for name, value in near.items():
        assert abs(value - whole[name]) < 0.25, name
    compared = Compared("m", terms, fitted(1), (fitted(2), fitted(3, near=True), fitted(4)))
    assert abs(coefficients(compared)[1].synthetic[0] - 1) < 0.2  # the median over the sets


def test_coefficients_beyond_chance_are_counted():
    one = fitted(1)
    moved = replace(one, estimate=one.estimate + 3 * one.stderr * (np.arange(31) < 4))
    lost = replace(moved, reasons=("", *moved.reasons[1:-1], COLLINEAR))
    terms = tuple(f"x{k}" for k in range(31))
    scores = coefficient_scores([Compared("m", terms, one, (one, moved, lost))], 2_000, 2_000)
    [score] = [s for s in scores if s.name == "coefficients beyond chance"]
    assert score.value == pytest.approx(np.mean([0, 4 / 31, 5 / 31]))
    assert score.null == pytest.approx(0.05)
