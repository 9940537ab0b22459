"""Bowen & Liu, study 1: its kernels are those of a release, its verdicts can say no."""

import csv
import math
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.mechanisms.tables import BinomialCount
from understudy.mechanisms.urn import Urn
from understudy.papers.bayesian_models import Bernoulli
from understudy.schema import Schema
from understudy.workflow.gates import open_gate
from understudy_studies.bowen_liu_2020 import BOWEN_LIU_1
from understudy_studies.bowen_liu_2020.binary import simulation as binary
from understudy_studies.bowen_liu_2020.binary import usable
from understudy_studies.bowen_liu_2020.binary.page import verdicts as binary_verdicts
from understudy_studies.framework import interval_tally as sums
from understudy_studies.framework.result_curves import Curves
from understudy_studies.framework.runner import run_study

BINARY = Schema.loads(
    """
rows = "public"
n_rows = 40
[columns.x]
kind = "categorical"
levels = ["no", "yes"]
reviewed = true
"""
)


def binary_gate(ones, seed):
    rows = pl.DataFrame({"x": ["no"] * (40 - ones) + ["yes"] * ones})
    return open_gate(Table(rows, BINARY), Budget.of(50.0), SeededRandomness(seed))


def binary_sample(ones, epsilon, seed=3):
    return binary.Sample(
        np.array([ones]), 40, epsilon, np.random.default_rng(seed), SeededRandomness(seed)
    )


@pytest.mark.parametrize("bounds", ["threshold", "truncate"])
@pytest.mark.nightly(every=2)
def test_one_repetition_of_modips_is_what_the_gate_gives(bounds):
    synthesize = {"threshold": binary.modips_threshold, "truncate": binary.modips_truncation}
    found = synthesize[bounds](binary_sample(12, 1.5))
    gate, rng = binary_gate(12, 3), np.random.default_rng(3)
    noisy = [
        gate.ask(BinomialCount("x", bounds=bounds, mode="paper"), spend=Fraction(1.5) / 10)
        for _ in range(10)
    ]
    model = Bernoulli(40)
    p = model.posterior(np.array([[one.value.successes for one in noisy]]), rng)
    assert found.tolist() == rng.binomial(40, p).tolist()


@pytest.mark.parametrize("reinforced", [True, False])
def test_one_repetition_of_an_urn_is_what_the_gate_gives(reinforced):
    found = binary.from_urn(binary_sample(12, 1.5), 1, reinforced=reinforced)
    released = binary_gate(12, 3).ask(
        Urn(columns=("x",), reinforced=reinforced, n_rows=40), spend=Fraction(1.5)
    )
    assert found.tolist() == [[int(released.value.columns[0].sum())]]


def test_the_urn_gives_the_beta_binomial_law():
    """Ones of MD have mean and variance of the beta-binomial law, within 4.5 standard errors."""
    n, ones, sets = 40, 10, 40_000
    sample = binary.Sample(
        np.full(sets, ones), n, 10.0, np.random.default_rng(1), SeededRandomness(1)
    )
    found = binary.from_urn(sample, 1, reinforced=True)[:, 0]
    alpha = n / math.expm1(10.0)
    distribution = stats.betabinom(n, ones + alpha, n - ones + alpha)
    assert abs(found.mean() - distribution.mean()) < 4.5 * distribution.std() / math.sqrt(sets)
    assert abs(found.var() / distribution.var() - 1) < 4.5 * math.sqrt(2 / sets)


@pytest.mark.parametrize(("scale", "agree"), [(1.0, True), (1.3, False)])
def test_usable_shares_are_those_that_the_paper_prints(scale, agree):
    """54 shares at 5,000 repetitions; noise that is 30 % too wide is noticed."""
    rng, source, entries = np.random.default_rng(5), SeededRandomness(5), []
    for (pi, n), shares in usable.PRINTED.items():
        for log_epsilon, printed in zip(usable.BUDGETS, shares, strict=True):
            ones = rng.binomial(n, pi, size=usable.REPETITIONS)
            epsilon = math.exp(log_epsilon) / scale
            drawn = binary.laplace(binary.Sample(ones, n, epsilon, rng, source))
            measured = float(binary.share_intervals(drawn, n).usable.mean())
            z = usable.difference(printed, usable.REPETITIONS, measured, usable.REPETITIONS)
            entries.append(usable.Compared(pi, n, log_epsilon, printed, measured, z))
    assert usable.tables_agree(tuple(entries)) is agree


def test_study_1_shows_what_is_known():
    """At (40, .15, e⁻¹⁰) MODIPS covers 62 % with bias .35; at (1000, .25, e³) 95 %.

    Within 4 Monte Carlo errors of 2,000 repetitions, some more for the rounding of the targets.
    """

    def measured(pi, n, log_epsilon):
        rng = np.random.default_rng(7)
        ones = rng.binomial(n, pi, size=2_000)
        sample = binary.Sample(ones, n, math.exp(log_epsilon), rng, SeededRandomness(7))
        found = binary.share_intervals(binary.modips_threshold(sample), n)
        row = sums.totals("π", "m", None, found, pi)
        return sums.summarise(None, [row])[0]

    small, fair = measured(0.15, 40, -10), measured(0.25, 1000, 3)
    assert small["coverage"] == pytest.approx(0.62, abs=0.05)
    assert small["bias"] == pytest.approx(0.35, abs=0.02)
    assert fair["coverage"] == pytest.approx(0.95, abs=0.02)
    assert abs(fair["bias"]) < 0.002


@pytest.mark.nightly
def test_study_1_follows_from_the_seed_alone():
    scenario = binary.Scenario(0.25, 40)
    first = binary.run(scenario, 20, 9)
    assert binary.run(scenario, 20, 9) == first
    assert binary.run(scenario, 20, 10) != first
    keys = {(row["method"], row["log_epsilon"]) for row in first}
    assert len(keys) == len(first) == 2 + len(binary.METHODS) * len(binary.LOG_EPSILONS)


def planted_binary(names):
    """Results with the paper's pattern; `names` says which method gets whose numbers."""
    where = {  # log ε at which half of the bias is gone, for n = 40
        binary.LAPLACE: -3.0,
        binary.THRESHOLD: -1.0,
        binary.TRUNCATION: -0.5,
        binary.DP_PRIOR: 1.5,
        binary.MD: 2.5,
    }
    rows = []
    for scenario in binary.scenarios():
        stderr = math.sqrt(scenario.pi * (1 - scenario.pi) / scenario.n_rows)
        shift = math.log(scenario.n_rows / 40)
        head = {"pi": scenario.pi, "n_rows": scenario.n_rows, "estimand": "π", "usable": 5_000}
        head |= {"usable_share": 1.0, "bias_error": stderr / 50, "coverage_high": 1.0}
        for method in (binary.ORIGINAL, binary.MS):
            row = {"bias": 0.0, "rmse": stderr, "coverage": 0.95}
            rows.append(head | row | {"method": method, "log_epsilon": None})
        for method, budget in product(where, binary.LOG_EPSILONS):
            whose = names.get(method, method)
            half = where[whose] - (0 if whose in {binary.MD, binary.DP_PRIOR} else shift)
            left = 1 / (1 + math.exp(2 * min(budget - half, 50)))
            noise = {binary.LAPLACE: 0.3, binary.MD: -0.7}.get(whose, 0.05)
            bias = (0.5 - scenario.pi) * left
            wide = math.hypot(bias, stderr) * (1 + noise * (budget < -4))
            covers = 0.95 if whose == binary.THRESHOLD else 0.95 * (1 - left)
            end = 0.8 if whose == binary.DP_PRIOR else 0.95
            row = {"bias": bias, "rmse": wide, "coverage": min(covers, end)}
            rows.append(head | row | {"method": method, "log_epsilon": budget})
    return Curves(rows, ("pi", "n_rows"))


@pytest.mark.parametrize(
    ("claim", "swapped"),
    [
        ("MD has the largest bias", (binary.MD, binary.LAPLACE)),
        ("Laplace sanitizer has the smallest bias", (binary.MD, binary.LAPLACE)),
        ("bias of MODIPS, threshold is smaller than that of DP-prior",
         (binary.THRESHOLD, binary.DP_PRIOR)),
        ("Laplace sanitizer has the largest RMSE, and MD the smallest",
         (binary.MD, binary.LAPLACE)),
        ("Laplace has the smallest RMSE, MD the largest", (binary.MD, binary.LAPLACE)),
        ("has the coverage nearest to 95 %", (binary.THRESHOLD, binary.MD)),
        ("coverage of the DP-prior does not come", (binary.DP_PRIOR, binary.THRESHOLD)),
        ("bias of MD stays", (binary.MD, binary.LAPLACE)),
        ("MODIPS, truncation has a smaller RMSE than DP-prior",
         (binary.TRUNCATION, binary.DP_PRIOR)),
    ],
)  # fmt: skip
@pytest.mark.nightly(every=9)
def test_a_wrong_pattern_of_study_1_is_called_wrong(claim, swapped):
    def word(names):
        found = [one for one in binary_verdicts(planted_binary(names), 5_000) if claim in one.claim]
        assert len(found) == 1
        return found[0].word

    assert word({}) == "agrees"
    assert word(dict([swapped, swapped[::-1]])) == "not"


def test_planted_shares_that_are_not_the_papers_do_not_agree():
    (found,) = (
        one for one in binary_verdicts(planted_binary({}), 5_000) if "54 shares" in one.claim
    )
    assert found.word == "not"


@pytest.mark.nightly
def test_study_1_runs_to_its_page(tmp_path, serial, monkeypatch):
    monkeypatch.setattr(binary, "LOG_EPSILONS", (*range(-10, -3), 0, 1, 10))
    page = run_study(BOWEN_LIU_1, tmp_path / "out", reps=30, jobs=1).read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    assert "Beside the paper" in page
    with (tmp_path / "out" / "results.csv").open(encoding="utf-8") as stream:
        results = list(csv.DictReader(stream))
    assert len(results) == 9 * (2 + len(binary.METHODS) * len(binary.LOG_EPSILONS))
    assert {one["repetitions"] for one in results} == {"30"}
    markdown = (tmp_path / "out" / "bowen-liu-1.md").read_text(encoding="utf-8")
    assert "## Beside the paper" in markdown
    assert "--reps 30 --seed 1" in markdown
