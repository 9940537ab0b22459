"""The yardstick of questions: what it asks, what it takes for the truth, and what it calls low."""

import argparse
from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy import stats

import question_scores
import questions
from natural_questions import ASKED_AS, QUESTIONS, Question, read
from noisy_statistics import NoisyStatistics
from populations import POPULATIONS, population
from question_scores import Cell
from row_answers import row_answer
from understudy.inference import question as question_module
from understudy.inference.analysis import WIDEST

pytestmark = pytest.mark.whole


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.nightly(every=12)
def test_questions_are_many_of_every_kind_and_about_every_column(name):
    asked, schema = read(QUESTIONS[name]), population(name).schema("private", 0)
    kinds = Counter(one.kind for one in asked)
    assert len(set(asked)) == len(asked) >= 36
    assert set(kinds) == set(ASKED_AS)
    assert max(kinds.values()) <= len(asked) / 6
    parsed = [question_module.parse(ASKED_AS[one.kind], one.formula, schema) for one in asked]
    assert {column for one in parsed for column in one.columns} == set(schema.names)


def test_the_difficult_questions_are_among_them():
    rare, skewed, bins = (population(n).people for n in ("rare", "skewed", "default bins"))
    assert rare["disabled"].mean() == pytest.approx(0.05, abs=0.005)
    assert rare["member"].mean() == pytest.approx(0.01, abs=0.001)
    assert Question("difference", "poor ~ disabled") in read(QUESTIONS["rare"])
    income, wealth = (stats.skew(skewed[name].to_numpy()) for name in ("income", "wealth"))
    assert min(income, wealth) > 3
    assert Question("correlation", "income + wealth") in read(QUESTIONS["skewed"])
    x, y = (bins[name].to_numpy() for name in ("income", "food"))
    slope, start = np.polyfit(x, y, 1)
    off = (y - start - slope * x) ** 2
    low, high = np.quantile(x, [0.2, 0.8])
    assert off[x > high].mean() > 5 * off[x < low].mean()
    assert Question("ols", "food ~ income") in read(QUESTIONS["default bins"])


def test_a_fifth_of_incomes_is_on_the_bound_and_of_assets_beyond_it():
    people, schema = population("top-coded").people, population("top-coded").schema("public", 9)
    assert (people["income"] == schema.columns["income"].upper).mean() == pytest.approx(
        0.2, abs=0.015
    )
    assert (people["assets"] > schema.columns["assets"].upper).mean() == pytest.approx(
        1 / 6, abs=0.015
    )
    truth = row_answer(Question("mean", "assets"), people, population("top-coded"))
    assert truth.estimate[0] == pytest.approx(people["assets"].mean())


def test_a_population_is_always_the_same():
    again = POPULATIONS["rare"](np.random.default_rng(1))
    assert again.people.equals(population("rare").people)


def test_the_rows_of_complete_records_give_means_and_shares():
    whole = population("readme")
    rows = whole.people.head(400)
    known = rows.drop_nulls()
    found = row_answer(Question("mean", "income"), rows, whole)
    half = stats.norm.ppf(0.975) * known["income"].std() / np.sqrt(known.height)
    assert known.height < 400
    assert found.estimate[0] == pytest.approx(known["income"].mean())
    assert found.upper[0] - found.estimate[0] == pytest.approx(half)
    assert (found.low, found.high) == (0, 200_000)
    share = row_answer(Question("share", "works"), rows, whole)
    n_works = int(rows["works"].sum())
    wilson = stats.binomtest(n_works, 400).proportion_ci(0.95, method="wilson")
    assert (share.lower[1], share.upper[1]) == pytest.approx((wilson.low, wilson.high))


def test_the_rows_of_a_group_give_its_mean():
    whole = population("readme")
    rows = whole.people.head(400)
    found = row_answer(Question("group mean", "age ~ sex"), rows, whole)
    own = rows.filter(pl.col("sex") == "m")["age"]
    assert found.names == ("age | sex[f]", "age | sex[m]")
    assert found.estimate[1] == pytest.approx(own.mean())
    half = stats.norm.ppf(0.975) * own.std() / np.sqrt(len(own))
    assert found.upper[1] - found.estimate[1] == pytest.approx(half)


def test_a_model_has_coefficients_without_the_intercept_and_a_difference_its_range():
    whole = population("readme")
    rows = whole.people.head(400)
    found = row_answer(Question("difference", "age ~ sex"), rows, whole)
    means = [rows.filter(pl.col("sex") == sex)["age"].mean() for sex in ("f", "m")]
    assert found.names == ("sex[T.m]",)
    assert found.estimate[0] == pytest.approx(means[1] - means[0])
    assert (found.low, found.high) == (-81, 81)
    assert row_answer(Question("ols", "age ~ sex"), rows, whole).high == np.inf


@pytest.mark.parametrize(
    ("question", "name"),
    [
        (Question("correlation", "income + wealth"), "skewed"),
        (Question("quantile", "income", 0.9), "skewed"),
        (Question("ols", "food ~ income"), "default bins"),
        (Question("difference", "poor ~ disabled"), "rare"),
        (Question("logit", "employed ~ age"), "skewed"),
    ],
)
@pytest.mark.nightly(every=5)
def test_intervals_of_the_rows_hold_the_truth(question, name):
    # 300 intervals at 95 % (93 % for the skewed ones): fewer than 264 hold with chance 6·10⁻⁴.
    whole, rng = population(name), np.random.default_rng(2)
    truth, held = row_answer(question, whole.people, whole).estimate[0], 0
    for _ in range(300):
        rows = whole.people[rng.integers(whole.people.height, size=4_000)]
        found = row_answer(question, rows, whole)
        held += found.lower[0] <= truth <= found.upper[0]
    assert 264 <= held <= 298


@pytest.mark.parametrize("name", ["rare", "survey"])
def test_noisy_statistics_without_noise_say_what_the_rows_do(name):
    """Estimates of all quantities that they tell; variances are those of a normal model."""
    whole, told = population(name), Counter()
    rows, schema = whole.people.head(4_000), population(name).schema("private", 0)
    exact, noisy = (
        NoisyStatistics.of(rows, schema, (epsilon, "1e-6"), np.random.default_rng(1))
        for epsilon in ("1e6", "1")
    )
    for asked in read(QUESTIONS[name]):
        own, found, wider = row_answer(asked, rows, whole), exact.answer(asked), noisy.answer(asked)
        for k, quantity in enumerate(own.names):
            if quantity in found:
                told[asked.kind] += 1
                lower, upper = found[quantity]
                half = (own.upper[k] - own.lower[k]) / 2
                assert (lower + upper) / 2 == pytest.approx(own.estimate[k], abs=0.1 * half)
                assert 0.4 * half < (upper - lower) / 2 < 2 * half
                if quantity in wider and asked.kind == "share":
                    assert np.subtract(*wider[quantity][::-1]) > upper - lower
    assert set(told) == {*ASKED_AS} - {"quantile", "logit"}


def test_coverage_of_independent_intervals_is_judged_by_the_binomial_test():
    for held in range(160, 200):
        covers = np.arange(200) < held
        expected = stats.binom.cdf(held, 200, question_scores.LEAST) < question_scores.ALARM
        assert question_scores.is_low(covers, np.arange(200)) == expected


def test_intervals_that_go_together_count_as_one():
    covers = np.arange(20) >= 3
    assert question_scores.is_low(np.repeat(covers, 50), np.arange(1_000))
    assert not question_scores.is_low(np.repeat(covers, 50), np.repeat(np.arange(20), 50))


@pytest.mark.nightly
def test_every_question_is_judged_in_every_repetition():
    cell, asked = Cell("rare", 2_000), read(QUESTIONS["rare"])
    table, again = (
        questions.frame(questions.measured(cell, repetitions, seed=1)).drop("ms")
        for repetitions in (2, 1)
    )
    assert table.filter(repetition=0).equals(again, null_equal=True)
    assert table.select("kind", "asked", "repetition").n_unique() == 2 * len(asked)
    answered = table.filter("counts")
    assert answered.height > 0
    assert answered["width"].max() <= WIDEST
    lines = question_scores.by_kind(table.with_columns(ms=1.0), cell).columns[0].cells
    assert set(lines) == {*ASKED_AS, "all"}


def test_intervals_of_samples_of_the_rows_have_a_mean_width_and_hold_the_truth():
    whole, asked = population("rare"), Question("share", "poor")
    truth = row_answer(asked, whole.people, whole)
    for n, seed in ((1_000, 1), (4_000, 2)):
        own = questions.of_rows(asked, truth, whole, n, seed)["poor[true]"]
        half = 1.96 * np.sqrt(truth.estimate[1] * (1 - truth.estimate[1]) / n)
        assert own.width == pytest.approx(2 * half, rel=0.05)
        assert own.covers >= 0.8  # of 30, at 95 %; fewer with chance 3·10⁻³


def test_the_grid_has_every_population_and_at_least_sixty_cells():
    given = argparse.Namespace(grid=True, populations=list(POPULATIONS))
    grid = questions.cells(given)
    assert len(set(grid)) == len(grid) >= 60
    assert {cell.population for cell in grid} == set(POPULATIONS)
    assert {cell.n for cell in grid} == {500, 5_000, 20_000, 50_000}
    assert {"0.1", "1", "50"} < {cell.epsilon for cell in grid}


def test_an_interval_of_all_that_is_possible_is_no_answer(monkeypatch):
    whole, asked = population("readme"), Question("quantile", "age")
    truth = row_answer(asked, whole.people, whole)
    own = {"quantile": questions.OfRows(width=30.0, covers=0.95)}
    for ends, counted in (((18, 99), False), ((19, 99), True)):
        monkeypatch.setattr(questions, "answer", lambda *_, ends=ends: ({"": ends}, {}, None))
        assert next(questions.judged(asked, truth, own, None))["counts"] is counted
