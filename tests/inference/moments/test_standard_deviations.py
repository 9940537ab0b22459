"""Standard deviations: exact without noise, and within their error with it."""

import math

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from schemas import column
from understudy.errors import InferenceError
from understudy.inference.moment_answers import answer_of
from understudy.inference.noisy_tables import NoisyCounts, Sources
from understudy.inference.number_line import line_deviation
from understudy.inference.question import parse
from understudy.inference.records import Records
from understudy.inference.second_moments import LostInNoiseError

N, REPETITIONS = 2_000, 400 if NIGHT else 100
LEAST = 0.95 - 4.5 * np.sqrt(0.95 * 0.05 / REPETITIONS)
SHOWN = np.sqrt(2.0) * np.array([-1.0, 1.0])
"""Synthetic records of variance 2."""
SCHEMA = us.Schema.loads(
    column("works", "boolean")
    + column("pay", "integer", lower=0, upper=80, bins=[0, 40, 80], missing=[-1])
    + column("kids", "integer", lower=0, upper=9)
)


def drawn(rng):
    pay = np.where(rng.random(N) < 0.1, -1, np.minimum(rng.gamma(2, 10, N), 80).round())
    return {"works": rng.random(N) < 0.5, "pay": pay.astype(int), "kids": rng.binomial(9, 0.3, N)}


def answer(columns, formula, moments_of, stddev=0.0, rng=None):
    estimand = parse("std", formula, SCHEMA)
    records = Records.complete_of(pl.DataFrame(columns), SCHEMA, estimand.columns)
    matrix = moments_of(SCHEMA, columns, stddev, rng)
    return answer_of(estimand, matrix, SCHEMA, [records])


@pytest.mark.parametrize(
    ("formula", "values"),
    [
        ("kids", lambda c: c["kids"]),
        ("pay", lambda c: c["pay"][c["pay"] >= 0]),
        ("works", lambda c: c["works"].astype(float)),
        ("2 * kids + 1", lambda c: 2 * c["kids"] + 1),
    ],
)
def test_exact_second_moments_have_it(moments_of, formula, values):
    columns = drawn(np.random.default_rng(2))
    found = answer(columns, formula, moments_of).pooled
    assert found.estimate[0] == pytest.approx(values(columns).std(ddof=1), rel=1e-3)
    assert found.names == (f"standard deviation of {formula}",)
    assert np.isnan(found.pvalue).all()


@pytest.mark.parametrize(("formula", "truth"), [("works", 0.5), ("kids", np.sqrt(9 * 0.21))])
@pytest.mark.parametrize("stddev", [0.0, 15.0])
@pytest.mark.nightly
def test_intervals_from_moments_cover(moments_of, formula, truth, stddev):
    """Of even shares too, where the variance is flat and its error all of the second order."""
    rng, hits = np.random.default_rng(5), 0
    for _ in range(REPETITIONS):
        found = answer(drawn(rng), formula, moments_of, stddev, rng).pooled
        (low,), (high,) = found.interval()
        hits += low <= truth <= high
    assert hits / REPETITIONS >= LEAST


def test_what_varies_too_little_is_lost(moments_of):
    columns = {**drawn(np.random.default_rng(2)), "kids": np.full(N, 4)}
    columns["kids"][:9] = 5
    with pytest.raises(LostInNoiseError, match="varies too little"):
        answer(columns, "kids", moments_of, 30.0, np.random.default_rng(1))


def cells_of(numbers, stddev, rng):
    counts = np.bincount(numbers, minlength=10) + stddev * rng.standard_normal(10)
    variances = np.full(10, stddev**2)
    return NoisyCounts(counts, variances, Sources.independent(variances, np.arange(10), 10))


def test_exact_counts_of_each_number_have_it():
    rng = np.random.default_rng(3)
    numbers, estimand = drawn(rng)["kids"], parse("std", "kids", SCHEMA)
    found = line_deviation(estimand, cells_of(numbers, 0.0, rng), SCHEMA.part(["kids"]), 1, SHOWN)
    assert found.pooled.estimate[0] == pytest.approx(numbers.std(ddof=1), rel=1e-3)
    assert not found.varied


def test_a_line_whose_noise_hides_the_variance_is_lost():
    rng, schema = np.random.default_rng(3), SCHEMA.part(["kids"])
    counts = cells_of(drawn(rng)["kids"], 60.0, rng)
    with pytest.raises(LostInNoiseError, match="varies too little"):
        line_deviation(parse("std", "kids", schema), counts, schema, 1, SHOWN / 2)


@pytest.mark.parametrize("stddev", [0.0, 15.0])
def test_intervals_from_lines_cover(stddev):
    rng, hits, schema = np.random.default_rng(7), 0, SCHEMA.part(["kids"])
    estimand = parse("std", "kids", schema)
    for _ in range(REPETITIONS):
        found = line_deviation(
            estimand, cells_of(drawn(rng)["kids"], stddev, rng), schema, 1, SHOWN
        )
        (low,), (high,) = found.pooled.interval()
        hits += low <= np.sqrt(9 * 0.21) <= high
    assert hits / REPETITIONS >= LEAST


def test_wherever_in_its_cell_a_number_lies_the_interval_holds_it():
    """Cells of half a range each: at their ends, in their middles, and all at one end."""
    schema, rng = SCHEMA.part(["pay"]), np.random.default_rng(1)
    estimand = parse("std", "pay", schema)
    variances = np.zeros(3)
    sources = Sources.independent(variances, np.arange(3), 3)
    counts = NoisyCounts(np.array([1200.0, 800.0, 0.0]), variances, sources)
    (low,), (high,) = line_deviation(estimand, counts, schema, 1, 10 * SHOWN).pooled.interval()
    for first, second in [(0, 80), (39, 40), (20, 60), (0, 40), (39, 80)]:
        spread = np.repeat([first, second], [1200, 800]).std()
        assert low <= spread <= high
    ends = np.concatenate([rng.choice([0, 39], 1200), rng.choice([40, 80], 800)])
    assert low <= ends.std() <= high


def test_of_those_that_meet_a_condition_on_the_number_cells_have_it():
    rng, schema = np.random.default_rng(3), SCHEMA.part(["kids"])
    numbers, estimand = drawn(rng)["kids"], parse("std", "kids where kids > 2", schema)
    found = line_deviation(estimand, cells_of(numbers, 0.0, rng), schema, 1, SHOWN)
    assert found.pooled.estimate[0] == pytest.approx(numbers[numbers > 2].std(ddof=1), rel=1e-3)
    assert found.dropped == (numbers <= 2).sum()
    pay = SCHEMA.part(["pay"])
    with pytest.raises(InferenceError, match="do not tell the values"):
        line_deviation(
            parse("std", "pay where pay > 37", pay), cells_of([], 0.0, rng), pay, 1, SHOWN
        )


@pytest.mark.parametrize("stddev", [0.0, 5.0])
@pytest.mark.nightly
def test_intervals_of_some_cover(stddev):
    rng, hits, schema = np.random.default_rng(8), 0, SCHEMA.part(["kids"])
    estimand = parse("std", "kids where kids > 2", schema)
    law = np.array([math.comb(9, k) * 0.3**k * 0.7 ** (9 - k) for k in range(3, 10)])
    law /= law.sum()
    mean = law @ np.arange(3, 10)
    truth = np.sqrt(law @ (np.arange(3, 10) - mean) ** 2)
    for _ in range(REPETITIONS):
        counts = cells_of(drawn(rng)["kids"], stddev, rng)
        found = line_deviation(estimand, counts, schema, 1, SHOWN)
        (low,), (high,) = found.pooled.interval()
        hits += low <= truth <= high
    assert hits / REPETITIONS >= LEAST


def test_a_release_answers_it_of_some_by_the_number_line():
    rows = pl.DataFrame(drawn(np.random.default_rng(4)))
    release = us.synthesize(rows, SCHEMA, epsilon=5, delta="1e-6", insecure_noise_seed=1)
    found = us.analyze(release, "std", "pay", where="pay >= 20")
    numbers = rows["pay"].to_numpy()
    lower, upper = found.pooled.interval()
    assert lower[0] <= numbers[numbers >= 20].std() <= upper[0]


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("kids where works", "answered from second moments"),
        ("kids ~ works", "answered from second moments"),
        ("pay where pay > 90", "No declared values"),
    ],
)
@pytest.mark.nightly(every=3)
def test_of_others_it_is_refused(formula, said):
    rows = pl.DataFrame(drawn(np.random.default_rng(4)))
    release = us.synthesize(rows, SCHEMA, epsilon=3, delta="1e-6", insecure_noise_seed=1)
    assert us.analyze(release, "std", "kids").valid
    with pytest.raises(InferenceError, match=said):
        us.analyze(release, "std", formula)
