"""The study of bootstrap intervals: its population, its rows, its sums and its page."""

import math

import numpy as np
import pytest

import understudy as us
from understudy.inference.estimators import Question
from understudy_studies.all_studies import STUDIES, find
from understudy_studies.framework.study import RunRecord
from understudy_studies.repeated_sampling.bootstrap import population, simulation
from understudy_studies.repeated_sampling.bootstrap.page import findings, page_text
from understudy_studies.repeated_sampling.bootstrap.simulation import WAYS, Scenario, summarise

ESTIMANDS = {one.name: one for one in population.estimands()}
ROWS = 200_000


@pytest.fixture(scope="module")
def crowd():
    return population.sample(ROWS, np.random.default_rng(1))


@pytest.mark.parametrize("name", ESTIMANDS)
@pytest.mark.nightly(every=5)
def test_truth_is_what_a_crowd_shows(crowd, name):
    """Five seeded comparisons beyond 4 standard errors: false alarm once in 3,000."""
    one = ESTIMANDS[name]
    schema = population.schema(ROWS)
    found = Question.of(one.kind, one.formula, schema).answer([crowd], schema)
    place = found.names.index(one.term)
    stderr = one.deviation / math.sqrt(ROWS)
    assert abs(found.estimates[0, place] - one.truth) < 4 * stderr
    assert math.sqrt(found.covariances[0, place, place]) == pytest.approx(stderr, rel=0.02)


def test_samples_fit_the_schema():
    sample = population.sample(3_000, np.random.default_rng(3))
    assert us.check(sample, population.schema(3_000)).ok


def test_probabilities_add_up():
    states, probability = population.cells()
    assert probability.sum() == pytest.approx(1)
    assert len(probability) == 960
    assert (probability > 0).all()
    for level, share in enumerate(population.P_A):
        assert probability[states["a"] == level].sum() == pytest.approx(share)


@pytest.fixture(scope="module")
def rows():
    return simulation.run(Scenario("mst", 5.0, n_rows=1_000, refits=39), 1, 7)


@pytest.mark.nightly
def test_a_repetition_has_a_row_for_each_estimand_and_way(rows):
    assert {(r["estimand"], r["way"]) for r in rows} == {(e, w) for e in ESTIMANDS for w in WAYS}
    assert len(rows) == len(ESTIMANDS) * len(WAYS)
    for row in rows:
        assert (row["low"] is None) == bool(row["why"])
        if row["low"] is not None:
            assert row["low"] < row["high"]


@pytest.mark.nightly
def test_repetitions_follow_from_the_seed(rows):
    assert simulation.run(Scenario("mst", 5.0, n_rows=1_000, refits=39), 1, 7) == rows


def made(estimand, way, estimate, reach, why=""):
    low, high = (None, None) if why else (estimate - reach, estimate + reach)
    estimate = None if why else estimate
    return {
        "estimand": estimand, "way": way, "why": why,
        "estimate": estimate, "low": low, "high": high,
    }  # fmt: skip


def test_sums():
    one = ESTIMANDS["slope"]
    stderr = one.deviation / math.sqrt(simulation.N_ROWS)
    given = [made("slope", "basic", one.truth + k * stderr, 1.5 * stderr) for k in (0, 1, 2)]
    refused = [made("slope", "basic", 0.0, 0.0, why="no")]
    summed = summarise(Scenario("mst", 1.0), given + refused)
    (row,) = (r for r in summed if r["estimand"] == "slope" and r["way"] == "basic")
    assert (row["asked"], row["n"], row["why"]) == (4, 3, "no")
    assert row["coverage"] == pytest.approx(2 / 3)
    assert row["bias_ratio"] == pytest.approx(1)
    assert row["width_ratio"] == pytest.approx(1.5 / 1.96, rel=1e-3)


@pytest.mark.nightly
def test_the_page_says_what_is_poor(rows):
    head = {"method": "marginals", "epsilon": 5.0}
    one = ESTIMANDS["slope"]
    far = [made("slope", "basic", one.truth + 9, 1.0) for _ in range(60)]
    results = [head | row for row in summarise(Scenario("marginals", 5.0), far)]
    told = " ".join(findings(results))
    assert "Basic is poor for slope by marginals, ε = 5 (0 %)" in told
    page = page_text(results, RunRecord("", 1, (60, 60), 1, "", 1.0))
    (grid,) = (g for g in page.tables if g.caption.startswith("Slope: coverage"))
    assert grid.doubtful == {(0, 4)}


def test_the_study_is_in_the_table():
    study = find("bootstrap-coverage")
    assert study is STUDIES["bootstrap-coverage"]
    scenarios = study.scenarios()
    assert len(set(scenarios)) == len(scenarios) == 3
    assert {one.epsilon for one in scenarios} == {0.5, 1.0, 5.0}
