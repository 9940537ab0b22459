"""The comparison of perturbed Gibbs samplers: its rows, its lines, its sums, its verdicts."""

import csv
import math
from dataclasses import replace

import numpy as np
import pytest

from understudy.engine import ExactCells
from understudy.errors import StudyError
from understudy.pipeline import planning
from understudy.privacy.mechanisms.records.imputers import Imputation
from understudy.privacy.mechanisms.records.key_counts import HashedRows
from understudy.schema import Schema
from understudy_studies import park_ghosh_2014
from understudy_studies.all_studies import STUDIES
from understudy_studies.framework import public_files
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.runner import run_study
from understudy_studies.park_ghosh_2014 import (
    claims,
    figures,
    hospital,
    intruder,
    patient_case,
    population,
    prepared,
    record_ways,
    simulation,
    table_distances,
)
from understudy_studies.park_ghosh_2014.pegs_papers import EPSILONS, PAPERS, PEGS, PMI, RESET
from understudy_studies.park_ghosh_2014.record_ways import (
    FULL,
    LINES,
    LONG_BLOCK,
    PEGS_READ,
    ROWS,
    TABLES,
    UNIFORM,
)
from understudy_studies.park_ghosh_2014.simulation import NUMBERS, Scenario, run, summarise
from understudy_studies.park_ghosh_2014.way_results import Results

AT_HAND = pytest.mark.skipif(not hospital.path().is_file(), reason="the public file is not at hand")

TINY = """
format = 1
rows = "private"
[unit]
rows_per_unit = 1
[columns.a]
kind = "categorical"
levels = ["x", "y"]
source = "test"
reviewed = true
[columns.b]
kind = "categorical"
levels = ["x", "y"]
source = "test"
reviewed = true
"""
TWO_COLUMNS = np.array([[0, 0, 1, 1], [0, 1, 0, 0]])


@pytest.fixture(scope="module")
def discharges():
    return patient_case.find(patient_case.DISCHARGES)


@pytest.fixture
def tiny(discharges):
    """Two columns, four rows, and nobody held out."""
    return replace(
        discharges,
        name="tiny",
        schema=Schema.loads(TINY),
        people=lambda: TWO_COLUMNS,
        n_rows=4,
        given=("a", "b"),
    )


def scenario(method, epsilon=None):
    total = None if epsilon is None else LINES[method].total(epsilon)
    return Scenario(patient_case.DISCHARGES, method, epsilon, total)


def test_the_simulated_table_is_as_large_as_the_papers(discharges):
    assert discharges.schema.domain.n_allowed == 1_018_967_040_000
    assert discharges.sizes == (6, 18, 3, 4, 7, 16, 16, 13, 9, 25, 25, 3, 2)
    assert discharges.table.shape == (13, 100_000)
    assert discharges.control.shape == (13, 20_000)
    for states, size in zip(population.discharges(), discharges.sizes, strict=True):
        assert states.min() >= 0
        assert states.max() < size
    assert "SIMULATED" in population.__doc__
    assert "no real ones" in discharges.words


def test_the_simulated_columns_hang_together(discharges):
    """The old are paid for by Medicare, newborns are medical and cheap, no man gives birth."""
    rows = dict(zip(discharges.schema.names, discharges.table, strict=True))
    old = population.AGES[rows["age"]] > 65
    assert (rows["pay"][old] == 0).mean() > 3 * (rows["pay"][~old] == 0).mean()
    born = rows["MDC"] == 14
    charge = population.CHARGES[rows["charge"]]
    assert np.nanmean(charge[born]) < np.nanmean(charge[~born]) / 2
    assert rows["cat"][born].mean() < 0.1
    assert ((rows["MDC"] == 13) & (rows["sex"] == 0)).sum() < 30


def test_distances_are_those_worked_by_hand(tiny):
    """In a: ½, ½ against 1, 0; in b: ¾, ¼ against ½, ½; given a = y there is no record."""
    synthetic = np.array([[0, 0, 0, 0], [1, 1, 0, 0]])
    assert table_distances.marginal_distance(tiny, TWO_COLUMNS, synthetic) == pytest.approx(0.75)
    assert table_distances.conditional_distance(tiny, "a", TWO_COLUMNS, synthetic) == pytest.approx(
        1.0
    )
    # Given b = x (¾ of the rows): ⅓, ⅔ against 1, 0; given b = y (¼): 1, 0 against 1, 0.
    assert table_distances.conditional_distance(tiny, "b", TWO_COLUMNS, synthetic) == pytest.approx(
        1.0
    )
    assert table_distances.conditional_distance(tiny, "a", TWO_COLUMNS, TWO_COLUMNS) == 0


def test_regressions_leave_out_records_without_a_number(discharges):
    states = discharges.table[:, :3000]
    found = table_distances.coefficients(discharges, discharges.linear, states)
    terms = (discharges.linear.outcome, *discharges.linear.terms)
    y, *x = (term.of(discharges, states) for term in terms)
    known = ~np.isnan(np.stack([y, *x])).any(axis=0)
    assert 2_000 < known.sum() < 3_000
    design = np.stack([np.ones_like(y), *x], axis=1)[known]
    expected = np.linalg.lstsq(design, y[known], rcond=None)[0]
    assert found.estimate == pytest.approx(expected, abs=1e-8)


def test_coefficient_distances_are_those_worked_by_hand(discharges):
    true = table_distances.original_fit(discharges.name, "linear")
    assert table_distances.coefficient_distance(true, true) == 0
    shifted = replace(true, estimate=true.estimate + 10 * true.stderr)
    length = 10 * np.linalg.norm(true.stderr)
    assert table_distances.coefficient_distance(true, shifted) == pytest.approx(length)
    # 100,000 rows have a tenth of the standard errors of 1,000 records.
    assert table_distances.errors_apart(true, shifted, 100_000) == pytest.approx(1)
    lost = replace(true, estimate=np.full_like(true.estimate, np.nan))
    assert table_distances.coefficient_distance(true, lost) == pytest.approx(
        np.linalg.norm(true.estimate)
    )


def test_hashed_rows_are_those_of_a_release(discharges):
    sweep, rows = prepared.hashed(patient_case.DISCHARGES, read=False)
    place = discharges.place("charge")
    assert sweep.keys[place] == ("MDC", "age", "cat")
    key = sweep.keys_of(list(discharges.table))[place]
    codes, counts = np.unique(key * 25 + discharges.table[place], return_counts=True)
    expected = HashedRows.of(ExactCells(codes, counts, 0), 25)
    for name in ("keys", "first", "states", "before"):
        assert (getattr(rows[place], name) == getattr(expected, name)).all()


def test_keys_read_off_the_rows_have_the_most_telling_columns(tiny, discharges):
    """Of a column and its copy: log 2; of the two columns of the tiny table: 0.2158 by hand."""
    by_hand = 0.25 * math.log(0.25 / 0.375) + 0.25 * math.log(2) + 0.5 * math.log(0.5 / 0.375)
    assert prepared.mutual_information(tiny, 0, 1) == pytest.approx(by_hand)
    assert prepared.mutual_information(tiny, 0, 0) == pytest.approx(math.log(2))
    sweep, _ = prepared.hashed(patient_case.DISCHARGES, read=True)
    assert sweep.keys[discharges.place("ethncty")][0] == "race"
    assert max(sweep.n_keys) <= prepared.KEY_LIMIT


@pytest.mark.parametrize(
    ("name", "block", "shared"), [(PEGS, None, 1), (RESET, 10, 10), (LONG_BLOCK, 1000, 1)]
)
def test_priors_are_what_the_stated_budget_buys(name, block, shared, monkeypatch):
    """α = 1/(e^(ε/13) − 1), of a block of ten 1/(e^(10ε/13) − 1), rounded up."""
    asked = {}

    def kernel(rows, sweep, prior, n_rows, *, block=None, randomness):
        asked.update(prior=prior, n_rows=n_rows, block=block)
        return record_ways.Records(tuple(np.zeros((13, 2), dtype=np.int64)))

    monkeypatch.setattr(record_ways, "gibbs_records", kernel)
    monkeypatch.setattr(record_ways, "block_records", kernel)
    record_ways.records_of(patient_case.find(patient_case.DISCHARGES), name, 0.3, Streams(1))
    alpha = 1 / math.expm1(0.3 * shared / 13)
    assert alpha <= asked["prior"] < alpha * (1 + 1e-6)
    assert (asked["n_rows"], asked["block"]) == (1000, block)


def test_totals_are_a_thousandfold_for_what_is_paid_by_the_record():
    assert all(LINES[one].total(0.3) == pytest.approx(300) for one in (*PAPERS, PEGS_READ))
    assert LINES[TABLES].total(0.3) == LINES[LONG_BLOCK].total(0.3) == 0.3
    simulated = simulation.simulated()
    assert len({(one.method, one.epsilon) for one in simulated}) == len(simulated)
    totals = [one.total for one in simulated if one.method == PMI]
    assert totals == pytest.approx([1000 * one for one in EPSILONS])


@pytest.mark.parametrize("name", [one for one, line in LINES.items() if line.method])
@pytest.mark.parametrize("table", [patient_case.DISCHARGES, patient_case.INPATIENTS])
def test_every_method_can_be_planned(name, table):
    """From the schema alone, at the smallest budget."""
    line = LINES[name]
    assert planning.plan(
        patient_case.find(table).schema,
        epsilon=line.total(EPSILONS[0]),
        method=line.method,
        options=dict(line.options),
    )


@pytest.mark.parametrize("name", [PEGS, RESET, PEGS_READ, TABLES, PMI, FULL, UNIFORM])
def test_a_chunk_is_reproducible(name, monkeypatch):
    """With regressions on few rows; every way by the kernel that a release calls."""
    monkeypatch.setattr(prepared, "IMPUTATION", Imputation(penalty=0.1, most_rows=200))
    prepared.imputers.cache_clear()
    one = scenario(name, None if LINES[name].budget == "none" else 1.0)
    found = run(one, 1, 7)
    assert found == run(one, 1, 7)
    assert found != run(one, 1, 8)
    assert set(found[0]) == {*NUMBERS, *table_distances.TEXTS}
    prepared.imputers.cache_clear()


def test_seeds_of_the_pool_are_real_records(discharges):
    pool = prepared.Pool(discharges.sizes, records=discharges.table)
    drawn = np.stack(pool.draw(50, Streams(1).randomness("seeds").uniforms))
    table = {tuple(one) for one in discharges.table.T.tolist()}
    assert all(tuple(one) in table for one in drawn.T.tolist())


def test_the_table_itself_is_no_distance_away_and_tells_of_its_people(discharges):
    """2,000 targets: the gap of 8 points is some 5 standard errors."""
    (found,) = run(scenario(ROWS), 1, 1)
    assert [found[one.name] for one in table_distances.UTILITIES] == [0] * 7
    assert found["unmatched"] == 0
    assert found["unique_too"] == 1
    assert found["level_error_control"] - found["level_error"] > 0.03
    uniform = intruder.attacked(
        discharges,
        record_ways.records_of(discharges, UNIFORM, None, Streams(1)),
        np.random.default_rng(1),
    )
    assert abs(uniform["level_error_control"] - uniform["level_error"]) < 0.03
    assert uniform["unmatched"] > 0.8


def test_sums_are_those_worked_by_hand():
    rows = [
        dict.fromkeys(NUMBERS, 1.0) | dict.fromkeys(table_distances.TEXTS, "1 nan")
        for _ in range(2)
    ]
    rows[1] |= {"marginal": 3.0, "level_error": 0.5, "linear_coefficients": "2 4"}
    (found,) = summarise(None, rows)
    assert (found["marginal"], found["marginal_se"]) == (2.0, 1.0)
    assert (found["level_error_gap"], found["level_error_gap_se"]) == (0.25, 0.25)
    assert found["linear_coefficients"] == "1.5 4"


def made_up(one, reverse=False):
    """A row in which all of the paper's points hold, or their opposites."""
    step = 0 if one.epsilon is None else EPSILONS.index(one.epsilon)
    late = step >= 5
    weight = {RESET: 0.4, PEGS: 0.2 if late else 1.0, PMI: 1.2}
    weight |= {record_ways.RESET_READ: 0.4, PEGS_READ: weight[PEGS]}
    distance = weight.get(one.method, 0.05) * (1 - step / 8)
    coefficient = {RESET: 0.1, record_ways.RESET_READ: 0.1}.get(one.method, 1.0)
    row = dict.fromkeys(NUMBERS, 2 - distance if reverse else distance)
    row |= {
        item.name: 2 - coefficient if reverse else coefficient
        for item in table_distances.COEFFICIENTS
    }
    attack = 10.0 if one.method == FULL else 10.5 - step / 100
    row |= {item.name: 20 - attack if reverse else attack for item in intruder.ATTACKS}
    unique = 0.1 if one.method in (ROWS, FULL) else 0.2
    row["unique"] = 1 - unique if reverse else unique
    table = patient_case.find(one.table)
    true = one.method == ROWS
    slopes = [1.0 if true else 1.5 if reverse else 0.5] * len(table.linear.terms)
    row["linear_coefficients"] = table_distances.joined([1.0 if true or reverse else 2.0, *slopes])
    row["logistic_coefficients"] = "1"
    for text, column in zip(table_distances.HISTOGRAMS, table.histograms, strict=True):
        size = table.sizes[table.place(column)]
        towards = 1.0 if true else 0.0 if (one.method == LONG_BLOCK) != reverse else 0.5
        row[text] = table_distances.joined(
            np.full(size, (1 - towards) / size) + towards * (np.arange(size) == 0)
        )
    return row


def made_up_results(reverse=False):
    return Results(
        {**vars(one), **summarise(one, [made_up(one, reverse)] * 2)[0]}
        for one in simulation.simulated()
    )


def test_verdicts_can_say_yes_and_no(discharges):
    yes = claims.about_study(discharges, made_up_results())
    assert [one.word for one in yes] == ["agrees"] * 15
    no = claims.about_study(discharges, made_up_results(reverse=True))
    assert [one.word for one in no].count("not") >= 12


@pytest.mark.parametrize(
    "study", [park_ghosh_2014.PEGS, park_ghosh_2014.PEGS_HOSPITAL], ids=lambda one: one.name
)
def test_the_page_is_written(study, serial, tmp_path, monkeypatch):
    """With scores that are made up, and figures of one page only; the runner does all else."""
    monkeypatch.setattr(hospital, "require", lambda: None)
    if study is park_ghosh_2014.PEGS_HOSPITAL:
        monkeypatch.setattr(figures, "charts", lambda *_: ())
    fake = replace(study, run=lambda one, repetitions, seed: [made_up(one)] * repetitions)
    out = tmp_path / "out"
    page = run_study(fake, out, reps=20, jobs=1).read_text(encoding="utf-8")
    drawn = 6 if study is park_ghosh_2014.PEGS else 0
    assert page.count("<svg") == drawn
    assert ("cost 1,000·ε in all" in page) == bool(drawn)
    assert ("data in this study are simulated" in page) == (study is park_ghosh_2014.PEGS)
    markdown = (out / f"{study.name}.md").read_text(encoding="utf-8")
    assert "The paper makes 15 points" in markdown
    assert "| PeGS | 1,000 |" in markdown
    assert "nan" not in markdown
    with (out / "results.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(study.scenarios())
    assert {row["total"] for row in rows if row["method"] == PEGS} == {
        f"{1000 * one:.6g}" for one in EPSILONS
    }


def test_without_the_file_the_study_of_real_rows_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv(public_files.FOLDER, str(tmp_path))
    with pytest.raises(StudyError, match=r"hospital_diabetes130.parquet.*UNDERSTUDY_DATA"):
        park_ghosh_2014.PEGS_HOSPITAL.scenarios()


@AT_HAND
def test_the_real_rows_fit_their_schema():
    found = patient_case.find(patient_case.INPATIENTS)
    assert found.schema.domain.n_allowed == 9_646_221_312_000
    assert found.table.shape == (13, 64_000)
    assert found.control.shape == (13, 7_518)
    fit = table_distances.original_fit(found.name, "logistic")
    assert not fit.shrunk
    assert np.isfinite(fit.estimate).all()


def test_the_studies_are_in_the_table():
    assert STUDIES["pegs"] is park_ghosh_2014.PEGS
    assert STUDIES["pegs-hospital"] is park_ghosh_2014.PEGS_HOSPITAL
