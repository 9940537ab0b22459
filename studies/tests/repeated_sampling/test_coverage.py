"""The coverage study: its population, its textbook intervals, its scenarios and its sums."""

import csv
import math
import sys

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from understudy import cli
from understudy.errors import MethodError
from understudy.inference import declarations
from understudy.methods.registry import METHODS
from understudy.workflow import plan as plan_module
from understudy_studies.repeated_sampling import coverage
from understudy_studies.repeated_sampling.coverage import naive, population, simulation
from understudy_studies.repeated_sampling.coverage.claims import findings
from understudy_studies.repeated_sampling.coverage.coverage_rows import Layout, summarise
from understudy_studies.repeated_sampling.coverage.simulation import Scenario

ESTIMANDS = {one.name: one for one in population.estimands()}


@pytest.fixture(scope="module")
def crowd() -> pl.DataFrame:
    return population.sample(400_000, np.random.default_rng(1))


@pytest.mark.parametrize("name", ESTIMANDS)
def test_truth_is_what_a_crowd_shows(crowd, name):
    """Six seeded comparisons beyond 4 standard errors: false alarm once in 2,600."""
    one = ESTIMANDS[name]
    estimate, low, high = naive.interval(crowd, one)
    stderr = one.stderr(crowd.height)
    assert abs(estimate - one.truth) < 4 * stderr
    assert (high - low) / (2 * stats.norm.ppf(0.975)) == pytest.approx(stderr, rel=0.02)


def test_slope_is_that_of_statsmodels():
    import statsmodels.formula.api as smf

    table = population.sample(500, np.random.default_rng(2))
    found = smf.ols("y ~ x + a", table.to_pandas()).fit()
    expected = [found.params["x"], *found.conf_int().loc["x"]]
    assert naive.interval(table, ESTIMANDS["slope"]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "expected"), [("rare share", 1 / 4), ("cell", 1 / 4), ("common share", 2 / 4)]
)
def test_shares_count_the_right_rows(name, expected):
    table = pl.DataFrame(
        {"a": ["p", "q", "q", "p"], "rare": [True, False, False, False], "x": [1, 1, 0, 0]}
    )
    share, low, high = naive.interval(table, ESTIMANDS[name])
    assert share == expected
    assert (low + high) / 2 == pytest.approx(expected)


@pytest.mark.parametrize("name", ESTIMANDS)
def test_an_empty_set_gives_no_interval(name):
    table = population.sample(10, np.random.default_rng(1)).clear()
    assert naive.interval(table, ESTIMANDS[name]) is None


def test_a_set_in_which_x_does_not_vary_gives_no_slope():
    table = population.sample(10, np.random.default_rng(1)).with_columns(x=pl.lit(1))
    assert naive.interval(table, ESTIMANDS["slope"]) is None


def test_samples_fit_the_schema():
    sample = population.sample(5_000, np.random.default_rng(3))
    assert us.check(sample, population.schema("private", 5_000)).ok


def test_every_method_is_in_the_study():
    scenarios = simulation.scenarios()
    assert len(set(scenarios)) == len(scenarios)
    methods = {one.method for one in scenarios} - {simulation.REAL_ROWS}
    assert methods | simulation.left_out().keys() == set(METHODS)
    layouts = {
        (one.options, one.sets, one.sets_kind) for one in scenarios if one.method == "laplace"
    }
    forms = ("form=dense", "form=filtered", "form=lazy")
    assert layouts == {
        (form, *sets) for form in forms for sets in ((1, "free"), (5, "free"), (5, "split"))
    }
    assert {one.epsilon for one in scenarios if one.method == "independent"} == {0.5, 1, 2, 5}


@pytest.mark.nightly
def test_methods_that_need_public_rows_get_them(monkeypatch):
    plan = plan_module.plan

    def refusing(schema, **arguments):
        if arguments["method"] == "laplace" and schema.rows == "private":
            raise MethodError("laplace needs public rows.")
        if arguments["method"] != "laplace":
            raise MethodError(f"{arguments['method']} needs another table.")
        return plan(schema, **arguments)

    monkeypatch.setattr(plan_module, "plan", refusing)
    released = [one for one in simulation.scenarios() if one.method != simulation.REAL_ROWS]
    assert {(one.method, one.rows) for one in released} == {("laplace", "public")}
    assert simulation.left_out() == {
        name: f"{name} needs another table." for name in METHODS if name != "laplace"
    }
    rows = simulation.run(released[0], 1, 1)
    assert {row["estimand"] for row in rows} == set(ESTIMANDS)


@pytest.mark.nightly
def test_repetitions_follow_from_the_seed_alone():
    scenario = Scenario("independent", "", 5, "split", 1.0, "private")
    first = simulation.run(scenario, 3, 7)
    assert simulation.run(scenario, 3, 7) == first
    assert simulation.run(scenario, 2, 7) == first[: 2 * len(first) // 3]
    assert simulation.run(scenario, 3, 8) != first


@pytest.mark.parametrize(
    ("message", "short"),
    [
        ("No valid error bars (sets-not-valid): the 5 sets are drawn from one noisy fit and share "
         "its noise, which …", "the sets share their noise"),
        ("No valid error bars (sets-not-valid): about 3.1 % of the records are misplaced, by …",
         "too many records are misplaced"),
        ("Set 3 has 1 records for 'a[p]'; at least 2 are needed.",
         "Set … has … records for 'a[p]'"),
    ],
)  # fmt: skip
def test_refusals_are_put_in_short(message, short):
    assert simulation.short_reason(message) == short


def row(low, high, *, role="valid", rule="partial", why=""):
    refused = rule == "refused"
    return {
        "estimand": "rare share",
        "role": role,
        "rule": rule,
        "why": why,
        "estimate": None if refused else (low + high) / 2,
        "low": None if refused else low,
        "high": None if refused else high,
    }


def test_sums_are_those_worked_by_hand():
    """The truth is 0.019; two intervals of three hold it."""
    rows = [row(0.01, 0.02), row(0.015, 0.025), row(0.02, 0.03)]
    rows += [
        row(0, 0, rule="refused", why="no"),
        row(0.01, 0.03, role="naive", rule="naive, set 1"),
    ]
    scenario = Scenario("laplace", "form=dense", 5, "split", 1.0, "private", n_rows=2_000)
    partial, refused, taken = summarise(scenario, rows)
    assert (partial["rule"], partial["n"], partial["coverage"]) == ("partial", 3, 2 / 3)
    assert partial["coverage_error"] == pytest.approx(math.sqrt(2 / 27))
    assert (partial["coverage_low"], partial["coverage_high"]) == pytest.approx(
        tuple(stats.binomtest(2, 3).proportion_ci(method="wilson"))
    )
    assert partial["width"] == pytest.approx(0.01)
    assert partial["bias"] == pytest.approx(0.02 - 0.019)
    assert partial["bias_error"] == pytest.approx(0.005 / math.sqrt(3))
    stderr = math.sqrt(0.019 * 0.981 / 2_000)
    assert partial["width_ratio"] == pytest.approx(0.01 / (2 * 1.959964 * stderr))
    assert partial["rmse"] == pytest.approx(math.sqrt((0.004**2 + 0.001**2 + 0.006**2) / 3))
    assert (refused["rule"], refused["why"], refused["n"]) == ("refused", "no", 1)
    assert "coverage" not in refused
    assert (taken["role"], taken["n"], taken["coverage"]) == ("naive", 1, 1)


def test_poor_coverage_is_said():
    scenario = Scenario("laplace", "form=lazy", 5, "split", 0.5, "private")
    head = {name: getattr(scenario, name) for name in scenario.__dataclass_fields__}
    bad = [row(0.5, 0.6)] * 60 + [row(0.01, 0.02)] * 40
    sentences = "\n".join(findings([head | one for one in summarise(scenario, bad)]))
    assert "Coverage is poor (below 93 %, beyond Monte Carlo error) in 1 of 1" in sentences
    assert "rare share by laplace lazy, 5 split (partial, ε = 0.5: 40.0 %)" in sentences
    few = "\n".join(findings([head | one for one in summarise(scenario, bad[:10])]))
    assert few == "Not judged: 1 case with fewer than 20 intervals."
    good = [row(0.01, 0.02)] * 95 + [row(0.5, 0.6)] * 5
    sentences = "\n".join(findings([head | one for one in summarise(scenario, good)]))
    assert "In none of 1 valid cases is coverage below 93 %" in sentences


@pytest.fixture
def little_advice(monkeypatch):
    """What to declare instead is looked for at the first refusal of each method alone: it takes a
    third of the time of all repetitions, and the study keeps nothing of it."""
    seen, look = set(), declarations.declaration

    def first(release, estimand):
        method = release.manifest.method
        if method in seen:
            return None
        seen.add(method)
        return look(release, estimand)

    monkeypatch.setattr(declarations, "declaration", first)


@pytest.mark.nightly
def test_the_study_runs_over_all_methods_from_the_command_line(
    installed, serial, little_advice, tmp_path, monkeypatch, capsys
):
    """With a repetition at one budget, as `understudy study coverage --out DIR --reps 1`."""
    monkeypatch.setattr(simulation, "EPSILONS", (2.0,))
    out = tmp_path / "out"
    arguments = ["study", "coverage", "--out", str(out), "--reps", "1", "--jobs", "1"]
    monkeypatch.setattr(sys, "argv", ["understudy", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert not end.value.code
    assert "index.html" in capsys.readouterr().out
    with (out / "results.csv").open(encoding="utf-8") as stream:
        results = list(csv.DictReader(stream))
    assert {one["method"] for one in results} == {simulation.REAL_ROWS, *METHODS} - set(
        simulation.left_out()
    )
    assert {one["estimand"] for one in results} == set(ESTIMANDS)
    assert {one["why"] for one in results} <= {"", *simulation._SHORT.values()}
    for one in results:
        assert (one["rule"] == "refused") == (one["coverage"] == "")
    asked = sum(int(one["n"]) for one in results if one["role"] == "valid")
    assert asked == len(ESTIMANDS) * len(simulation.scenarios())
    page = (out / "index.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    markdown = (out / "coverage.md").read_text(encoding="utf-8")
    assert "understudy study coverage --out DIR --reps 1 --seed 1" in markdown
    layouts = {Layout.of({**one, "sets": int(one["sets"])}) for one in results}
    assert all(f"| {layout.method} | {layout.sets} |" in markdown for layout in layouts)


def test_the_study_is_in_the_table():
    from understudy_studies.all_studies import STUDIES, find

    assert find("coverage") is STUDIES["coverage"] is coverage.COVERAGE
