"""Regressions on released sets: what is measured, and that the verdicts can say no."""

import csv

import numpy as np
import pytest

from understudy_studies.all_studies import STUDIES
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.result_curves import Curves
from understudy_studies.framework.runner import run_study
from understudy_studies.snoke_slavkovic_2018 import methods, repetition_values
from understudy_studies.snoke_slavkovic_2018.candidates import TRUTH
from understudy_studies.snoke_slavkovic_2018.conditions import CONDITIONS, PAPER
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS, Regressions, records
from understudy_studies.snoke_slavkovic_2018.readings import OTHERS, PUBLISHED, STRICT
from understudy_studies.snoke_slavkovic_2018.regressions import PMSE_REGRESSION, claims, simulation
from understudy_studies.snoke_slavkovic_2018.regressions.page import METHODS
from understudy_studies.snoke_slavkovic_2018.regressions.simulation import (
    COEFFICIENTS,
    REACHES,
    SLOPE,
    Scenario,
)

pytestmark = pytest.mark.usefixtures("few_candidates")


@pytest.fixture
def two_budgets(monkeypatch):
    monkeypatch.setattr(methods, "EPSILONS", (0.5, 4.0))


def means(rows, estimand=SLOPE, value="median"):
    found = repetition_values.summarise(None, rows)
    return {
        (row["method"], row["epsilon"]): row[value] for row in found if row["estimand"] == estimand
    }


def test_estimates_are_means_of_least_squares():
    sets = records(Regressions.of(TRUTH, (2, 3)), 50, np.random.default_rng(1))
    found = simulation.estimated(sets)
    for k in range(2):
        fits = [np.polyfit(one[:, 0], one[:, 1], 1)[::-1] for one in sets[k]]
        assert found[k] == pytest.approx(np.mean(fits, axis=0))


def test_a_set_without_a_slope_is_not_usable():
    sets = records(Regressions.of(TRUTH, (2, 2)), 50, np.random.default_rng(1))
    sets[0, 1, :, 0] = 4.0
    assert np.isnan(simulation.estimated(sets)).all(axis=1).tolist() == [True, False]


def test_errors_are_distances_from_the_records_own_regression():
    tables = records(Regressions.of(TRUTH, (2,)), N_ROWS, np.random.default_rng(2))
    sample = simulation.Sample(tables, CONDITIONS[PAPER], Streams(1))
    off = simulation.estimated(tables[:, None]) + np.array([[0.5, -0.25]])
    rows = {row["estimand"]: row["values"] for row in sample.errors("m", 1.0, off)}
    assert rows == {"intercept": [0.5, 0.5], "slope": [0.25, 0.25]}


@pytest.mark.nightly
def test_rows_follow_from_the_seed_alone(two_budgets):
    scenario = Scenario("bounded")
    first = simulation.run(scenario, 2, 9)
    assert simulation.run(scenario, 2, 9) == first
    assert simulation.run(scenario, 2, 10) != first


@pytest.mark.nightly
def test_every_method_of_the_page_is_simulated(two_budgets):
    names = {
        row["method"]
        for one in simulation.scenarios()
        if one.condition == PAPER
        for row in simulation.run(one, 1, 2)
    }
    assert names == set(METHODS)


@pytest.mark.nightly
def test_bounded_methods_are_as_in_an_independent_computation(two_budgets):
    """Slopes of 40 tables, against what theory says of each method."""
    median = means(simulation.run(Scenario("bounded"), 40, 3))
    uniform = median[methods.within(methods.SMOOTHED, 4.0), 0.5]
    assert uniform == pytest.approx(1.0, abs=0.05)
    for name in simulation.MECHANISMS:
        assert (
            median[methods.within(name, 4.0), 4.0] < 0.25 * median[methods.within(name, 4.0), 0.5]
        )
        assert median[methods.within(name, 2.0), 4.0] < median[methods.within(name, 10.0), 4.0]
    assert median[methods.within(methods.BAYES, 4.0), 0.5] > 10
    exact, published = (
        median[methods.within(one, 4.0), 0.5] for one in (methods.FUNCTIONAL, methods.FUNCTIONAL_8)
    )
    assert 1.1 * exact < published < 2.5 * exact  # 1.6 times the noise


@pytest.mark.nightly
def test_columns_do_better_than_one_grid(two_budgets):
    parts = (simulation.run(Scenario(part), 12, 3) for part in ("counted", "searches"))
    median = means([row for rows in parts for row in rows])
    assert median[methods.COLUMNS, 4.0] < 0.2 * median[methods.GRID_2, 4.0]
    assert median[methods.NON_PRIVATE, None] < 0.03


LEVELS = {"depth 1": 0.9, "depth 2": 0.4, "depth 5": 0.2, "unlimited": 0.19}


def planted(changes=None):
    """Errors with the paper's pattern; `changes` gives some methods other levels."""
    level = dict.fromkeys(METHODS, 0.5) | {methods.COLUMNS: 0.2}
    for name in METHODS:
        level |= [(name, size) for kind, size in LEVELS.items() if f"greedy {kind}" in name]
        for reach, factor in zip(REACHES, (0.6, 1.0, 1.2, 3.0), strict=True):
            if name.endswith(f", {reach:g} sd"):
                level[name] = factor * (0.18 if "mechanism" in name else 0.45)
    level |= changes or {}
    return [
        {
            "estimand": estimand,
            "method": method,
            "condition": PAPER,
            "epsilon": epsilon,
            "usable": 1_000,
            "median": size / epsilon,
            "median_error": 0.005 * size / epsilon,
        }
        for method, size in level.items()
        for epsilon in methods.EPSILONS
        for estimand in COEFFICIENTS
    ]


def words(rows):
    reads = claims.about_regression(Curves(rows, ("condition",), budget="epsilon"))
    return {(one.reading, verdict.claim): verdict.word for one in reads for verdict in one.verdicts}


def test_the_papers_pattern_agrees():
    assert set(words(planted()).values()) == {"agrees"}


@pytest.mark.parametrize(
    ("changes", "reading", "claim"),
    [
        ({methods.published(2, 10): 1.0}, PUBLISHED, "from trees of depth 1"),
        ({methods.published(5, 10): 0.5}, PUBLISHED, "from trees of depth 2"),
        ({methods.published(None, 10): 0.1}, PUBLISHED, "little change"),
        ({methods.published(2, 10): 5.0}, PUBLISHED, "Depth 2 is about the same"),
        ({methods.COLUMNS: 5.0}, STRICT, f"better than {methods.BAYES}"),
        ({methods.COLUMNS: 0.3}, STRICT, "almost as good"),
        ({methods.within(methods.KNORM, 2.0): 5.0}, OTHERS, f"({methods.KNORM})"),
    ],
)
def test_another_pattern_is_called_wrong(changes, reading, claim):
    found = [
        word
        for (name, said), word in words(planted(changes)).items()
        if name == reading and claim in said
    ]
    assert found
    assert set(found) == {"not"}


def test_loose_bounds_that_do_no_harm_are_called_so():
    same = {methods.within(one, 10.0): 0.2 for one in claims.BOUNDED}
    found = words(planted(same))
    assert found[OTHERS, "Loose bounds of 10 sd do quite poorly."] == "not"


@pytest.mark.nightly
def test_the_study_runs_to_its_page(tmp_path, serial, monkeypatch):
    assert STUDIES["pmse-regression"] is PMSE_REGRESSION
    page = run_study(PMSE_REGRESSION, tmp_path / "out", reps=1, jobs=1).read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    text = (tmp_path / "out" / "pmse-regression.md").read_text(encoding="utf-8")
    assert "nan" not in text
    assert methods.VIOLATED in text
    with (tmp_path / "out" / "results.csv").open(encoding="utf-8") as file:
        parts = {row["part"] for row in csv.DictReader(file)}
    assert parts == {"counted", "bounded", "searches", "rounds", "limits"}
