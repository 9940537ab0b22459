"""Logistic and Poisson models from second moments: against the rows, and coverage with noise."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import understudy as us
from schemas import column
from understudy.errors import InferenceError
from understudy.inference import formulas, glm
from understudy.inference.glm import Shapes, calibrate_records, score_model
from understudy.inference.linear import affine_weights
from understudy.inference.question import parse
from understudy.inference.regression_models import designs, fit
from understudy.schema import Schema

# Half the width between bounds is a power of 2, so that scores are exact on their lattice.
SCHEMA = Schema.loads(
    'rows = "public"\nn_rows = 5000\n'
    + column("votes", "boolean")
    + column("rare", "boolean")
    + column("sex", "categorical", levels=["f", "m"])
    + column("job", "categorical", levels=["none", "worker", "boss"])
    + column("age", "integer", lower=18, upper=82)
    + column("kids", "integer", lower=0, upper=16)
)
N, NOISE = 5_000, 12.0
MODELS = {
    "votes ~ age + rare + sex": np.array([-1.2, 0.02, 0.8, 0.4]),
    "kids ~ age + sex": np.array([0.2, 0.006, -0.2]),
}
KINDS = {formula: "logit" if formula[0] == "v" else "poisson" for formula in MODELS}


def draw(n, rng):
    """Rows of a population with a relation among three predictors."""
    man = rng.random(n) < 0.5
    age = np.rint(18 + 64 * rng.beta(1.6, 2.4, n)).astype(int)
    rare = rng.random(n) < np.where(man & (age > 50), 0.14, 0.027)  # 5 % in all
    job = np.where(rng.random(n) < 0.3 + 0.3 * (age > 65), 0, 1 + (rng.random(n) < 0.3))
    eta = -1.2 + 0.4 * man + 0.02 * age + 0.8 * rare
    mean = np.exp(0.2 - 0.2 * man + 0.006 * age)
    return {
        "votes": rng.random(n) < 1 / (1 + np.exp(-eta)),
        "rare": rare,
        "sex": np.where(man, "m", "f"),
        "job": np.array(["none", "worker", "boss"])[job],
        "age": age,
        "kids": np.minimum(rng.negative_binomial(8, 8 / (8 + mean)), 16),
    }


def shuffled(rows, rng):
    """The same columns without any relation."""
    return {name: rng.permutation(values) for name, values in rows.items()}


parsed = cache(partial(parse, schema=SCHEMA))


def asked(kind, formula, matrix, records):
    """Weights of a model, and the designs of its records."""
    question = parsed(kind, formula)

    def terms(frame):
        both = formulas.matrices(formula, frame)
        return np.column_stack([both.lhs.to_numpy(float)[:, -1], both.rhs.to_numpy(float)])

    weights = affine_weights(terms, question.columns, SCHEMA, matrix)
    return weights, designs(kind, formula, [each.frame() for each in records])


def answered(kind, formula, matrix, *records):
    weights, laid = asked(kind, formula, matrix, records)
    return score_model(kind, matrix, weights[1:], weights[0], laid.pairs)


@pytest.fixture(scope="module")
def rows():
    return draw(N, np.random.default_rng(1))


@pytest.mark.parametrize(
    "formula",
    ["votes ~ rare", "votes ~ age", "votes ~ age + rare + job + sex", "rare ~ age + sex"],
)
@pytest.mark.nightly(every=2)
def test_a_logit_without_noise_is_that_of_the_rows(formula, rows, moments_of, as_records):
    matrix, records = moments_of(SCHEMA, rows), as_records(SCHEMA, rows)
    estimate, covariance = fit("logit", asked("logit", formula, matrix, [records])[1], 0)
    got = answered("logit", formula, matrix, records)
    np.testing.assert_allclose(got.estimate, estimate, atol=1e-6)
    np.testing.assert_allclose(got.sampling, covariance, rtol=1e-6, atol=1e-12)
    assert not got.noise.any()
    assert (got.explained > 0.95).all()


def test_a_poisson_model_without_noise_is_that_of_the_rows(rows, moments_of, as_records):
    formula, records = "kids ~ age + rare + sex", as_records(SCHEMA, rows)
    matrix = moments_of(SCHEMA, rows)
    estimate, covariance = fit("poisson", asked("poisson", formula, matrix, [records])[1], 0)
    got = answered("poisson", formula, matrix, records)
    np.testing.assert_allclose(got.estimate, estimate, atol=1e-6)
    # The size of the residuals is Σ y² − Σ μ², which is Σ (y − μ)² but for chance.
    np.testing.assert_allclose(np.diag(got.sampling), np.diag(covariance), rtol=0.03)


def test_two_sets_serve_as_one_of_twice_the_size(rows, moments_of, as_records):
    matrix, records = moments_of(SCHEMA, rows), as_records(SCHEMA, rows)
    alone = answered("logit", "votes ~ age + sex", matrix, records)
    twice = answered("logit", "votes ~ age + sex", matrix, records, records)
    np.testing.assert_allclose(twice.estimate, alone.estimate, rtol=1e-9)


@pytest.mark.parametrize("predictor", ["rare", "job"])
def test_one_predictor_of_levels_gives_the_log_odds_ratios_of_the_measured_table(
    predictor, rows, moments_of, as_records
):
    rng = np.random.default_rng(2)
    matrix = moments_of(SCHEMA, rows, 8.0, rng)
    records = as_records(SCHEMA, shuffled(rows, rng))  # knows nothing of the relation
    got = answered("logit", f"votes ~ {predictor}", matrix, records)
    yes = matrix.place["votes", 1]
    states = range(1, SCHEMA.columns[predictor].n_ordinary)
    places = [matrix.place[predictor, state] for state in states]
    size, events = matrix.sums[0, places], matrix.sums[yes, places]
    size = np.append(matrix.n - size.sum(), size)
    events = np.append(matrix.sums[0, yes] - events.sum(), events)
    odds = np.log(events / (size - events))
    np.testing.assert_allclose(got.estimate, np.append(odds[0], odds[1:] - odds[0]), rtol=1e-9)
    assert np.abs(got.misfit).max() < 1e-20


def test_two_predictors_of_two_levels_need_no_records(rows, moments_of, as_records):
    rng = np.random.default_rng(3)
    matrix = moments_of(SCHEMA, rows, 8.0, rng)
    estimates = [
        answered("logit", "votes ~ rare + sex", matrix, as_records(SCHEMA, drawn)).estimate
        for drawn in (rows, shuffled(rows, rng))
    ]
    np.testing.assert_allclose(*estimates, rtol=1e-9)


def test_wrong_relations_among_predictors_stay_within_the_misfit(rows, moments_of, as_records):
    """No noise: what the records have wrong is within three standard deviations of misfit."""
    matrix = moments_of(SCHEMA, rows)
    formula = "votes ~ age + rare + job + sex"
    right = answered("logit", formula, matrix, as_records(SCHEMA, rows))
    unrelated = shuffled(rows, np.random.default_rng(4))
    got = answered("logit", formula, matrix, as_records(SCHEMA, unrelated))
    off = np.abs(got.estimate - right.estimate)
    assert off.max() > 1e-4
    assert (off < 3 * np.sqrt(np.diag(got.misfit))).all()


REPETITIONS, FEWEST = 150, 132


@pytest.fixture(scope="module")
def times_covered(moments_of, as_records):
    """How often intervals hold the truth: with the whole variance, and with that by sampling."""
    rng = np.random.default_rng(5)
    whole = {formula: np.zeros(len(truth), dtype=int) for formula, truth in MODELS.items()}
    partly = {formula: np.zeros(len(truth), dtype=int) for formula, truth in MODELS.items()}
    for _ in range(REPETITIONS):
        rows = draw(N, rng)
        matrix = moments_of(SCHEMA, rows, NOISE, rng)
        records = as_records(SCHEMA, shuffled(rows, rng))
        for formula, truth in MODELS.items():
            got = answered(KINDS[formula], formula, matrix, records)
            off, sampling = np.abs(got.estimate - truth), np.diag(got.sampling)
            whole[formula] += off <= 1.96 * np.sqrt(sampling + np.diag(got.noise + got.misfit))
            partly[formula] += off <= 1.96 * np.sqrt(sampling)
    return whole, partly


@pytest.mark.statistical
@pytest.mark.parametrize("formula", MODELS)
@pytest.mark.nightly
def test_intervals_cover_with_noise_and_unrelated_records(formula, times_covered):
    """If all cover with 95 %, one of seven does so fewer than 132 times of 150 in 0.14 % of runs;
    one that covers with 85 % does so in 82 %, and with 80 % in 99 %.

    Every repetition has an answer, and the predictors include one of 5 % and a number.
    """
    whole, _ = times_covered
    assert (whole[formula] >= FEWEST).all()


@pytest.mark.statistical
@pytest.mark.nightly
def test_a_variance_without_noise_does_not_cover(times_covered):
    _, partly = times_covered
    assert all((covered < FEWEST).any() for covered in partly.values())


@pytest.mark.statistical
@pytest.mark.parametrize("formula", MODELS)
@pytest.mark.nightly(every=2)
def test_noise_is_counted_at_its_scale(formula, rows, moments_of, as_records):
    """Spread of estimates over fresh noise in the same rows, against the stated part of it.

    Of 30 draws a ratio of variances is off by 26 %, and that of several coefficients by less. A
    scale that is off by 30 % makes it 2.0 or 0.6, and is noticed.
    """
    rng, records = np.random.default_rng(12), as_records(SCHEMA, rows)
    matrices = moments_of(SCHEMA, rows, NOISE, rng, draws=30)
    found = [answered(KINDS[formula], formula, matrix, records) for matrix in matrices]
    spread = np.var([one.estimate for one in found], axis=0, ddof=1)
    ratio = np.mean(spread / np.mean([np.diag(one.noise) for one in found], axis=0))
    assert 0.7 < ratio < 1.5


def refusal(kind, formula, matrix, records):
    with pytest.raises(InferenceError) as error:
        answered(kind, formula, matrix, records)
    return str(error.value)


def test_what_noise_hides_is_refused(rows, moments_of, as_records):
    records = as_records(SCHEMA, rows)
    noisy = moments_of(SCHEMA, rows, 300.0, np.random.default_rng(6))
    assert "told apart" in refusal("logit", "votes ~ age + rare + job", noisy, records)


def with_entry(matrix, left, right, value):
    """The matrix with another number of records that have two levels, by their product alone."""
    rows = matrix.place[left], matrix.place[right]
    first, second = (np.flatnonzero(matrix.basis.affine[row, 1:])[0] + 1 for row in rows)
    slope = matrix.basis.affine[rows[0], first] * matrix.basis.affine[rows[1], second]
    numbers = matrix.numbers.copy()
    numbers[matrix.basis.source[first, second]] += (value - matrix.sums[rows]) / slope
    changed = replace(matrix, numbers=numbers)
    assert changed.sums[rows] == pytest.approx(value)
    return changed


@pytest.mark.parametrize("kind", ["logit", "poisson"])
def test_moments_below_nothing_are_refused(kind, rows, moments_of, as_records):
    """Under much noise a sum of squares can come out negative, and no scale of it is a number."""
    matrix = moments_of(SCHEMA, rows)
    below = replace(matrix, numbers=-100 * matrix.numbers)
    assert "told apart" in refusal(kind, "votes ~ age", below, as_records(SCHEMA, rows))


def test_an_outcome_that_noise_makes_impossible_is_refused(rows, moments_of, as_records):
    matrix = moments_of(SCHEMA, rows, 1.0, np.random.default_rng(7))
    impossible = with_entry(matrix, ("rare", 1), ("votes", 1), -3.0)
    text = refusal("logit", "votes ~ rare", impossible, as_records(SCHEMA, rows))
    assert "no finite estimate" in text


def test_a_lopsided_interval_is_refused(rows, moments_of, as_records):
    """The level stands far above its noise, and those with the outcome there do not."""
    few = rows | {"votes": rows["votes"] & (np.arange(N) % 80 == 0)}
    matrix = moments_of(SCHEMA, few, 14.0, np.random.default_rng(8))
    text = refusal("logit", "votes ~ job", matrix, as_records(SCHEMA, few))
    assert "lopsided" in text


def test_an_estimate_that_would_rest_on_the_records_is_refused(rows, moments_of, as_records):
    """Of a million times as many rows, all but what the records may have wrong is exact."""
    matrix = moments_of(SCHEMA, rows)
    many = replace(matrix, numbers=matrix.numbers * 1e6)
    records = as_records(SCHEMA, rows)
    assert "rest on" in refusal("logit", "votes ~ age + rare + job", many, records)
    assert answered("logit", "votes ~ job", many, records).estimate.shape == (3,)


@pytest.fixture(scope="module")
def release(rows, released, measured_moments):
    """A release of these rows themselves, with moments that have little noise."""
    moments = measured_moments(SCHEMA, rows, 2.0, np.random.default_rng(9))
    return released(
        {name: list(values) for name, values in rows.items()},
        schema=SCHEMA,
        measurements=(moments,),
    )


def test_analyze_answers_from_moments(release, rows, moments_of, as_records):
    got = us.analyze(release, "logit", "votes ~ age + C(job)")
    exact = answered(
        "logit", "votes ~ age + C(job)", moments_of(SCHEMA, rows), as_records(SCHEMA, rows)
    )
    shown = got.to_frame()
    assert got.valid
    assert list(shown.index) == ["Intercept", "age", "C(job)[T.worker]", "C(job)[T.boss]"]
    assert any("synthetic records" in note for note in got.notes)
    assert (np.abs(shown["estimate"] - exact.estimate) < 4 * shown["stderr"]).all()
    assert (shown["stderr"] ** 2 >= np.diag(exact.sampling) * 0.9).all()


def test_the_second_of_two_levels_is_the_outcome(release):
    first = us.analyze(release, "logit", "sex ~ age").to_frame()["estimate"]
    second = us.analyze(release, "logit", "{sex == 'm'} ~ age").to_frame()["estimate"]
    np.testing.assert_allclose(first, second, rtol=1e-9)


def test_a_number_that_is_not_0_or_1_is_no_outcome_of_a_logit(release):
    with pytest.raises(InferenceError, match="two levels"):
        us.analyze(release, "logit", "kids ~ age", anyway=True)


def test_analyze_answers_a_poisson_model(release):
    got = us.analyze(release, "poisson", "kids ~ sex")
    assert got.valid
    assert any("variance is not the mean" in note for note in got.notes)


def test_calibrated_records_have_the_measured_moments(rows, moments_of, as_records):
    rng = np.random.default_rng(11)
    matrix = moments_of(SCHEMA, rows, NOISE, rng)
    records = as_records(SCHEMA, shuffled(rows, rng))
    weights, laid = asked("logit", "votes ~ age + rare + job", matrix, [records])
    got = calibrate_records(matrix, weights[1:], weights[0], laid.pairs)
    x = got.x
    np.testing.assert_allclose(
        (x.T * got.weights) @ x, matrix.form(weights[1:], weights[1:]), rtol=1e-8, atol=1e-6
    )
    assert got.weights.sum() == pytest.approx(N)


def test_shapes_of_a_number_take_the_place_of_what_records_may_have_wrong(
    rows, moments_of, as_records
):
    """Records whose ages lie otherwise, with the same moments: sums of shapes bring them right."""
    rng, formula = np.random.default_rng(12), "votes ~ age + sex"
    other = {**rows, "age": np.rint(rng.normal(rows["age"].mean(), rows["age"].std(), N))}
    other["age"] = np.clip(other["age"], 18, 82).astype(int)
    matrix, records = moments_of(SCHEMA, rows), as_records(SCHEMA, other)
    weights, laid = asked("logit", formula, matrix, [records])

    def hats(ages):
        knots = np.array([18.0, 26, 34, 42, 50, 58, 70, 82])
        return np.stack([np.interp(ages, knots, one) for one in np.eye(8)], axis=1)

    def fitted(stddev):
        noise = rng.normal(0, stddev, 8)
        sums = hats(rows["age"]).sum(axis=0) + noise
        shapes = Shapes(hats(other["age"]), sums, np.eye(8) * stddev**2)
        return score_model("logit", matrix, weights[1:], weights[0], laid.pairs, shapes=shapes)

    alone = score_model("logit", matrix, weights[1:], weights[0], laid.pairs)
    exact, noisy = fitted(0.0), fitted(30.0)
    truth, _ = fit("logit", asked("logit", formula, matrix, [as_records(SCHEMA, rows)])[1], 0)
    off = [
        np.abs(one.estimate - truth)[1:] / np.sqrt(np.diag(one.sampling))[1:]
        for one in (alone, exact)
    ]
    assert off[1].max() < 0.02
    assert off[1].max() < 0.5 * off[0].max()
    assert (np.diag(exact.misfit) < np.diag(alone.misfit)).all()
    assert not exact.noise.any()
    assert (np.diag(noisy.noise) > 0).all()
    spread = np.std([fitted(30.0).estimate for _ in range(100)], axis=0)
    np.testing.assert_allclose(spread, np.sqrt(np.diag(noisy.noise)), rtol=0.3)


def test_an_estimate_without_information_is_refused(monkeypatch, rows, moments_of, as_records):
    """Where the outcome is as good as sure at a level, nothing is left to tell how sure it is."""
    sure = np.array([0.0, 1e4])
    monkeypatch.setattr(glm, "solution", lambda *_: sure)
    matrix, records = moments_of(SCHEMA, rows), as_records(SCHEMA, rows)
    assert "told apart" in refusal("logit", "votes ~ rare", matrix, records)
