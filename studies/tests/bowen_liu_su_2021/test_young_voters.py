"""The voter study: its population, its lines, its sums, and verdicts that can say no."""

import csv
import itertools
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.coding import Coder
from understudy.errors import StudyError
from understudy.evaluate.comparison import Comparison
from understudy.release.decoding import decode
from understudy.workflow import plan as plan_module
from understudy_studies.all_studies import STUDIES
from understudy_studies.bowen_liu_su_2021 import STEPS_VOTER, STEPS_VOTER_CPS
from understudy_studies.bowen_liu_su_2021.young_voters import (
    claims,
    original_tables,
    page,
    population,
    simulation,
    standin,
    voter_case,
    voter_utilities,
)
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    CELL_COUNTS,
    LAPLACE,
    LOG_EPSILONS,
    MISPRINTED,
    PRINTED,
    PRIVBAYES,
    SAME_CLASS,
    SUMS,
)
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import PAPERS as SIX
from understudy_studies.bowen_liu_su_2021.young_voters.release_lines import (
    DOWNWARD,
    LINES,
    MORE_LAYERS,
    ONE_NETWORK,
    REPLACED,
    STATED,
    STRICT,
    TOLD,
    Line,
)
from understudy_studies.bowen_liu_su_2021.young_voters.simulation import Scenario, run, summarise
from understudy_studies.bowen_liu_su_2021.young_voters.utility_results import Results
from understudy_studies.bowen_liu_su_2021.young_voters.voter_utilities import MEASURES, PAPERS
from understudy_studies.framework import public_files
from understudy_studies.framework.runner import run_study
from understudy_studies.framework.study import TextTable
from understudy_studies.measures.rank_sums import rank_sums

PAGE = page
NO_TABLE = {
    "cells_by_size": lambda table, printed: TextTable("Cells", ("records",), (("0",),)),
    "shares_of_levels": lambda table, printed: (),
}
AT_HAND = pytest.mark.skipif(not standin.path().is_file(), reason="the public file is not at hand")


@pytest.fixture(scope="module")
def voters():
    return population.voters()


@pytest.mark.nightly
def test_the_simulated_voters_have_the_printed_shares(voters):
    assert voters.height == 44_821
    for name, shares in population.SHARES.items():
        assert sum(shares) == pytest.approx(100)
        levels = population.schema().columns[name].levels
        found = [100 * (voters[name].cast(str) == str(level)).mean() for level in levels]
        assert found == pytest.approx(list(shares), abs=0.3)
    income = sorted(population.SHARES["income"])
    assert (income[0], (income[6] + income[7]) / 2, income[-1]) == pytest.approx((3.1, 5.9, 26.5))


def test_the_table_is_as_large_and_as_empty_as_the_papers(voters):
    schema = population.schema()
    assert schema.domain.n_allowed == 1_290_240
    assert us.check(voters, schema).ok
    assert voters.filter((pl.col("voted") == "yes") & (pl.col("registered") == "no")).is_empty()
    counts = voters.group_by(schema.names).len()["len"]
    assert 100 * (1 - len(counts) / 1_290_240) == pytest.approx(98.35, abs=0.1)
    assert (counts == 1).sum() == pytest.approx(14_061, rel=0.1)
    assert (counts > 5).sum() == pytest.approx(1_050, rel=0.2)


def test_the_population_says_that_it_is_simulated():
    assert "SIMULATED" in population.__doc__
    assert "Simulated" in population.schema().title
    assert voter_case.find(voter_case.SIMULATED).words.startswith("Simulated rows, no real ones")


def test_systematic_draws_keep_each_probability_and_all_sums():
    """2,000 draws of 40 records: beyond 4.5 standard errors once in 1,700 seeds."""
    rng = np.random.default_rng(1)
    probability = rng.dirichlet([1, 2, 3], 40)
    draws = np.stack([population.systematic(probability, rng) for _ in range(2000)])
    for level in range(3):
        p = probability[:, level]
        error = np.sqrt(p * (1 - p) / 2000)
        assert (np.abs((draws == level).mean(axis=0) - p) < 4.5 * error + 1e-3).all()
    assert np.abs((draws == 0).sum(axis=1) - probability[:, 0].sum()).max() <= 1


def test_predictors_have_the_signs_that_are_written(voters):
    """Voting given registration: more with college, less for those who registered at the DMV."""
    registered = voters.filter(pl.col("registered") == "yes")
    share = {
        (name, level): (group["voted"] == "yes").mean()
        for name in ("college", "dmv", "registered")
        for (level,), group in registered.group_by(name)
    }
    assert share["college", "yes"] > share["college", "no"] + 0.05
    assert share["dmv", "yes"] < share["dmv", "no"]


def test_printed_sums_follow_from_printed_numbers():
    for budget, of in PRINTED.items():
        sums = rank_sums([of[method] for method in SIX], [one.better for one in PAPERS])
        for method, found, printed in zip(SIX, sums, SUMS[budget], strict=True):
            assert found == MISPRINTED.get((budget, method), printed)
    assert set(PRINTED) == set(SUMS) == set(LOG_EPSILONS)
    assert set(SAME_CLASS) == set(SIX)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("table", [voter_case.SIMULATED, voter_case.STAND_IN])
@pytest.mark.nightly(every=6)
def test_every_line_can_be_planned(name, table):
    """From the schema alone, at the smallest budget, as it is run."""
    found, line = voter_case.find(table), LINES[name]
    plan = plan_module.plan(
        line.schema_for(found),
        epsilon=simulation.spent(Scenario(table, name, -2)),
        method=line.method,
        sets=simulation.SETS,
        options=line.options_for(found),
    )
    assert plan


def scale(name, n):
    """Scale of the noise in a count times ε: sensitivity, sets, layers or tables, share of ε."""
    layers = {"UH-2": 2, "STEPS-2": 2, "UH-3": 3, "STEPS-3": 3}
    published = {LAPLACE: 5.0, **{key: 5.0 * depth for key, depth in layers.items()}}
    downward = {key: published[tree] for tree, key in DOWNWARD.items()}
    stated = 2 * (15 - 2) * 5 / 0.5
    return {
        **published,
        **downward,
        PRIVBAYES: stated / n,
        **dict.fromkeys((STATED, TOLD, ONE_NETWORK, STRICT[PRIVBAYES]), stated),
        REPLACED: 2 * 5 * 2,
        MORE_LAYERS: 5 * 3,
        STRICT[LAPLACE]: 2 * 5,
        STRICT["UH-2"]: 2 * 5 * 3,
        STRICT["STEPS-2"]: 2 * 5 * 3,
    }[name]


@pytest.mark.parametrize("name", LINES)
def test_noise_is_of_the_stated_scale(name):
    """At ε = e², from the plan: noise of scale b has a standard deviation of b√2.

    Geometric noise has a little less, by 1/12 of a record squared; large scales, so 1 part in 400.
    """
    found, line = voter_case.find(voter_case.SIMULATED), LINES[name]
    one = Scenario(voter_case.SIMULATED, name, 2)
    plan = plan_module.plan(
        line.schema_for(found),
        epsilon=simulation.spent(one),
        method=line.method,
        sets=simulation.SETS,
        options=line.options_for(found),
    )
    wanted = math.sqrt(2) * scale(name, found.n_rows) / one.epsilon
    noisy = [table.stddev for table in plan.tables if table.stddev]
    assert noisy
    assert noisy == pytest.approx([wanted] * len(noisy), rel=0.06 if wanted < 2 else 0.003)


def test_only_privbayes_is_not_told_the_structural_zero():
    found = voter_case.find(voter_case.SIMULATED)
    told = {name: line.schema_for(found).domain.n_allowed for name, line in LINES.items()}
    assert {told[name] for name in SIX if name != PRIVBAYES} == {1_290_240}
    assert {told[name] for name in (PRIVBAYES, STATED, ONE_NETWORK)} == {1_720_320}
    assert told[TOLD] == told[STRICT[PRIVBAYES]] == 1_290_240


@pytest.mark.parametrize("table", [voter_case.SIMULATED, voter_case.STAND_IN])
def test_state_numbers_are_those_of_the_coder(table):
    """Of a release's sets, and of columns that are written otherwise."""
    schema = voter_case.find(table).without_zeros
    rng = np.random.default_rng(3)
    states = [rng.integers(0, size, 500) for size in schema.sizes]
    frame = decode(states, schema, rng)
    texts = frame.with_columns(pl.col(pl.Enum).cast(pl.String))
    other = frame.with_columns(pl.col("voted").cast(pl.String).cast(pl.Enum(["yes", "no"])))
    for one in (frame, texts, other):
        found, expected = voter_utilities.state_numbers(schema, one), Coder(schema).code(one)
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        assert [a.dtype for a in found] == [b.dtype for b in expected]
    assert found[0].tolist() == states[0].tolist()


@pytest.mark.nightly
def test_a_record_that_cannot_be_is_measured_as_it_is():
    """It would count as one outside the domain in both columns, which no analyst would see."""
    table = voter_case.find(voter_case.SIMULATED)
    rows = table.rows()
    registered = pl.when(pl.col("voted") == "yes").then(pl.lit("no")).otherwise(pl.lit("yes"))
    turned = rows.with_columns(registered.alias("registered"))
    states = voter_utilities.state_numbers(table.without_zeros, turned)
    assert all(one.max() < size for one, size in zip(states, table.schema.sizes, strict=True))
    found = voter_utilities.measured(table, [turned] * 2)
    assert found["overlap_group"] < 0.9


def test_the_papers_lines_are_as_the_paper_has_them():
    found = voter_case.find(voter_case.SIMULATED)
    assert set(SIX) < set(LINES)
    orders = [LINES[name].options_for(found).get("order") for name in ("STEPS-2", "STEPS-3")]
    assert orders == ["voted,college", "voted,college,preregistration"]
    assert all(line.options_for(found)["sets"] == "split" for line in LINES.values())
    assert [round(Scenario("", "", k).epsilon, 3) for k in LOG_EPSILONS] == [
        0.135, 0.368, 1.0, 2.718, 7.389
    ]  # fmt: skip


def quick(monkeypatch):
    monkeypatch.setitem(LINES, LAPLACE, Line("independent"))


@pytest.mark.nightly
def test_a_repetition_is_a_release_and_its_measures(monkeypatch, voters):
    """Seeded; what is measured does not depend on the order of the rows or of the sets."""
    quick(monkeypatch)
    monkeypatch.setattr(simulation, "SETS", 2)
    found = run(Scenario(voter_case.SIMULATED, "flat Laplace", 2), 1, 7)
    assert found == run(Scenario(voter_case.SIMULATED, "flat Laplace", 2), 1, 7)
    assert {one.name for one in MEASURES} < set(found[0])
    assert 0.3 < found[0]["specks"] < 0.6
    assert found[0]["shrunk_sets"] == 2
    table = voter_case.find(voter_case.SIMULATED)
    copies = voter_utilities.measured(table, [voters.reverse()] * 2)
    assert copies["specks"] == 0
    assert [copies[f"agree_{k}"] for k in (1, 5, 10)] == [1, 1, 1]
    assert copies["same_class"] == 105
    assert copies["overlap"] == pytest.approx(1, abs=1e-6)
    assert copies["width"] == pytest.approx(1)


@pytest.mark.nightly
def test_most_pairs_of_the_simulated_voters_are_dependent(voters):
    """The paper's file: 89, 1, 4 and 11 pairs by class of p-value."""
    comparison = Comparison.of(population.schema(), voters, [voters])
    table = voter_utilities.class_table(comparison)
    assert np.trace(table) == table.sum() == 105
    assert table[0, 0] == pytest.approx(89, abs=8)
    assert table[3, 3] == pytest.approx(11, abs=8)


def result_rows(table, score):
    """Rows as the runner has them, from a function of measure, method and budget."""
    rows = []
    for name, budget in itertools.product(LINES, LOG_EPSILONS):
        if budget not in LINES[name].log_epsilons:
            continue
        row = {one.name: score(one, name, budget) for one in MEASURES}
        row |= {f"{one.name}_sd": 0.001 for one in MEASURES}
        head = {"table": table, "method": name, "log_epsilon": budget, "repetitions": 30}
        rows.append({**head, **row, "classes": " ".join(["1"] * 16)})
    return rows


def as_printed(measure, method, budget):
    if measure in PAPERS and method in SIX:
        return PRINTED[budget][method][PAPERS.index(measure)]
    return 0.5


def test_the_papers_own_numbers_bear_out_its_points():
    """In every case, or in most."""
    words = [one.word for one in claims.about_study(Results(result_rows("", as_printed)))]
    assert words[0] == words[2] == "agrees"
    assert words[7] == "agrees"
    assert "not" not in words


def test_verdicts_can_say_no():
    """With all scores turned round."""
    rows = result_rows("", lambda *key: 1 - as_printed(*key))
    found = claims.about_study(Results(rows))
    assert [one.word for one in found].count("not") >= 5
    assert found[0].word == "not"
    assert found[0].claim.startswith(PRIVBAYES)


def test_sums_are_those_worked_by_hand():
    head = {one.name: 0.0 for one in MEASURES} | {"classes": "a"}
    rows = [head | {"specks": 0.2}, head | {"specks": 0.4, "classes": "b"}]
    (found,) = summarise(Scenario("", "", 0), rows)
    assert found["specks"] == pytest.approx(0.3)
    assert found["specks_sd"] == pytest.approx(0.1414214)
    assert found["classes"] == "a"
    (single,) = summarise(Scenario("", "", 0), rows[:1])
    assert np.isnan(single["specks_sd"])
    (unknown,) = summarise(Scenario("", "", 0), [head | {"width": None}, head | {"width": 3.0}])
    assert unknown["width"] == 3.0


@pytest.mark.parametrize("study", [STEPS_VOTER, STEPS_VOTER_CPS], ids=lambda one: one.name)
@pytest.mark.nightly
def test_the_page_is_written(study, serial, tmp_path, monkeypatch):
    """With scores that are made up; the runner does everything else."""
    monkeypatch.setattr(standin, "require", lambda: None)
    monkeypatch.setattr(standin, "rows", lambda: population.voters().head(0))
    for name in ("cells_by_size", "shares_of_levels"):
        if study is STEPS_VOTER_CPS:
            monkeypatch.setattr(PAGE, name, NO_TABLE[name])

    def fake(scenario, repetitions, seed):
        score = {
            one.name: as_printed(one, scenario.method, scenario.log_epsilon) for one in MEASURES
        }
        return [{**score, "classes": " ".join(map(str, range(16)))}] * repetitions

    out = tmp_path / "out"
    page = run_study(replace(study, run=fake), out, jobs=1).read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    markdown = (out / f"{study.name}.md").read_text(encoding="utf-8")
    assert "## Beside the paper" in markdown
    assert ("simulated" in markdown) == (study is STEPS_VOTER)
    assert markdown.count("by p-value on the original") == len(SIX) + 1
    assert "| −2 | flat Laplace | 0.981 (6) | 0.190 (1) |" in markdown
    assert ("21,329" in markdown) == ("Δ = 2 |" in markdown) == (study is STEPS_VOTER)
    with (out / "results.csv").open(encoding="utf-8") as stream:
        assert len(list(csv.DictReader(stream))) == len(study.scenarios())


@pytest.mark.nightly
def test_of_few_repetitions_nothing_is_said(serial, tmp_path):
    def fake(scenario, repetitions, seed):
        score = dict.fromkeys((one.name for one in MEASURES), 0.5)
        return [{**score, "classes": " ".join(map(str, range(16)))}] * repetitions

    out = tmp_path / "out"
    run_study(replace(STEPS_VOTER, run=fake), out, reps=10, jobs=1)
    markdown = (out / "steps-voter.md").read_text(encoding="utf-8")
    assert "nothing is said about the paper" in markdown
    assert "## Beside the paper" not in markdown
    with (out / "results.csv").open(encoding="utf-8") as stream:
        assert {row["repetitions"] for row in csv.DictReader(stream)} == {"10", "2"}


def test_other_readings_put_lines_in_the_place_of_others():
    rows = result_rows("", as_printed)
    found = Results(rows).read_as({LAPLACE: PRIVBAYES})
    specks = PAPERS[0]
    assert found.along(specks, LAPLACE)[0] == PRINTED[-2][PRIVBAYES][0]
    assert found.along(specks, PRIVBAYES)[0] == PRINTED[-2][PRIVBAYES][0]
    assert found.repetitions(SIX) == 30


def test_margins_are_differences_with_their_errors():
    """To the best of the other five, ties counting; or to the worst of them."""
    results = Results(result_rows("", as_printed))
    specks = PAPERS[0]
    gap, error = claims.leads(results, specks, PRIVBAYES)[0]
    assert gap == pytest.approx(0.956 - 0.462 + 0.0005)
    assert error == pytest.approx(math.sqrt(2) * 0.001 / math.sqrt(30))
    gap, _ = claims.leads(results, specks, PRIVBAYES, behind=True)[0]
    assert gap == pytest.approx(0.462 - 0.981 + 0.0005)


def test_cells_are_counted_by_their_records(voters):
    """Against a count of the rows themselves; sums of the printed table are those of its text."""
    table = voter_case.find(voter_case.SIMULATED)
    records = voters.group_by(table.schema.names).len()["len"]
    counts = original_tables.cell_counts(table)
    assert counts[1:6] == tuple((records == k).sum() for k in range(1, 6))
    assert counts[6] == (records > 5).sum()
    assert sum(counts) == sum(CELL_COUNTS) == 1_290_240
    (shown,) = original_tables.shares_of_levels(table, printed=True)
    assert ("age", "20.5, 19.7, 20.0, 20.0, 19.8", "20.5, 19.7, 20.0, 20.0, 19.8") in shown.rows


def test_without_the_file_the_study_of_real_rows_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv(public_files.FOLDER, str(tmp_path))
    with pytest.raises(StudyError, match="UNDERSTUDY_DATA"):
        STEPS_VOTER_CPS.scenarios()
    assert STEPS_VOTER.scenarios()


def test_the_stand_in_has_about_as_many_cells():
    assert standin.schema().domain.n_allowed == 1_053_000
    states = " ".join(standin.DIVISIONS.values()).split()
    assert len(states) == len(set(states)) == 51


@AT_HAND
def test_the_real_rows_fit_their_schema():
    rows = standin.rows()
    assert rows.height == 5_497
    assert us.check(rows, standin.schema()).ok
    assert rows.filter((pl.col("voted") == "yes") & (pl.col("registered") == "no")).is_empty()


def test_the_studies_are_in_the_table():
    assert STUDIES["steps-voter"] is STEPS_VOTER
    assert STUDIES["steps-voter-cps"] is STEPS_VOTER_CPS
