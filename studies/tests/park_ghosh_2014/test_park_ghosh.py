"""The comparison of perturbed Gibbs samplers: its rows, its lines, its sums, its verdicts."""

import csv
import math
from dataclasses import replace

import numpy as np
import pytest

from understudy.data.base import ExactCells
from understudy.errors import StudyError
from understudy.evaluate.attacks import uniqueness
from understudy.papers.gibbs_mechanisms import HashedRows
from understudy.papers.imputation_draws import Imputation
from understudy.papers.perturbed_gibbs import diverse_weights
from understudy.schema import Schema
from understudy.workflow import plan
from understudy_studies import park_ghosh_2014
from understudy_studies.all_studies import STUDIES
from understudy_studies.framework import public_files
from understudy_studies.framework.claim_verdicts import UNEXPLAINED
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.runner import run_study
from understudy_studies.park_ghosh_2014 import (
    block_drift,
    causes,
    claims,
    figures,
    hospital,
    intruder,
    patient_case,
    population,
    prepared,
    record_ways,
    sampling_trace,
    sensitivity_tables,
    simulation,
    table_distances,
)
from understudy_studies.park_ghosh_2014.key_readings import COLUMNS, OTHERS, PUBLIC, PUBLISHED
from understudy_studies.park_ghosh_2014.pegs_papers import (
    EPSILONS,
    LEVELS,
    PAPERS,
    PEGS,
    PMI,
    RESET,
)
from understudy_studies.park_ghosh_2014.record_lines import (
    ALL_FULL,
    BY_MARGINALS_READ,
    DIVERSE,
    EVERY,
    FULL,
    LINES,
    LONG_BLOCK,
    LONG_READ,
    MARGINALS,
    PEGS_READ,
    PMI_READ,
    RESET_READ,
    ROWS,
    TABLES,
    UNIFORM,
    Ways,
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
    total = None if epsilon is None else EVERY[method].total(epsilon)
    return Scenario(patient_case.DISCHARGES, method, epsilon, total)


@pytest.mark.nightly
def test_the_simulated_table_is_as_large_as_the_papers(discharges):
    assert discharges.schema.domain.n_allowed == 1_018_967_040_000
    assert discharges.sizes == LEVELS == (6, 18, 3, 4, 7, 16, 16, 13, 9, 25, 25, 3, 2)
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
    sweep, rows = prepared.hashed(patient_case.DISCHARGES, PUBLIC)
    place = discharges.place("charge")
    assert sweep.keys[place] == ("MDC", "age", "cat")
    key = sweep.keys_of(list(discharges.table))[place]
    codes, counts = np.unique(key * 25 + discharges.table[place], return_counts=True)
    expected = HashedRows.of(ExactCells(codes, counts, 0), 25)
    for name in ("keys", "first", "states", "before"):
        assert (getattr(rows[place], name) == getattr(expected, name)).all()


@pytest.mark.nightly
def test_keys_read_off_the_rows_have_the_most_telling_columns(tiny, discharges):
    """Of a column and its copy: log 2; of the two columns of the tiny table: 0.2158 by hand."""
    by_hand = 0.25 * math.log(0.25 / 0.375) + 0.25 * math.log(2) + 0.5 * math.log(0.5 / 0.375)
    assert prepared.mutual_information(tiny, 0, 1) == pytest.approx(by_hand)
    assert prepared.mutual_information(tiny, 0, 0) == pytest.approx(math.log(2))
    for reading in (PUBLISHED, *OTHERS):
        sweep, _ = prepared.hashed(patient_case.DISCHARGES, reading)
        assert sweep.keys[discharges.place("ethncty")][0] == "race"
        if reading.limit:
            assert max(sweep.n_keys) <= reading.limit
        else:
            assert {len(key) for key in sweep.keys} == {reading.columns}
    assert PUBLISHED.columns == COLUMNS


@pytest.mark.parametrize(
    ("name", "block", "shared"),
    [
        (PEGS, None, 1),
        (PEGS_READ, None, 1),
        (BY_MARGINALS_READ, None, 1),
        (RESET, 10, 10),
        (RESET_READ, 10, 10),
        (LONG_BLOCK, 1000, 1),
        (LONG_READ, 1000, 1),
    ],
)
def test_priors_are_what_the_stated_budget_buys(name, block, shared, monkeypatch):
    """α = 1/(e^(ε/13) − 1), of a block of ten 1/(e^(10ε/13) − 1), rounded up."""
    asked = {}

    def kernel(rows, sweep, prior, n_rows, *, block=None, randomness, shares):
        seeds = type(sweep.domain)
        asked.update(prior=prior, n_rows=n_rows, block=block, form=shares.form, seeds=seeds)
        return record_ways.Records(tuple(np.zeros((13, 2), dtype=np.int64)))

    monkeypatch.setattr(record_ways, "gibbs_records", kernel)
    monkeypatch.setattr(record_ways, "block_records", kernel)
    record_ways.records_of(patient_case.find(patient_case.DISCHARGES), name, 0.3, Streams(1))
    alpha = 1 / math.expm1(0.3 * shared / 13)
    assert alpha <= asked["prior"] < alpha * (1 + 1e-6)
    assert (asked["n_rows"], asked["block"]) == (1000, block)
    assert asked["form"] == ("paper" if name == BY_MARGINALS_READ else "even")
    assert (asked["seeds"] is prepared.Pool) == ("as published" in name)


@pytest.mark.nightly
def test_a_trace_goes_from_a_record_of_the_table_to_what_the_kernel_drew(discharges):
    """Each step changes its own column at most; at a larger ε more columns stay as they were."""
    steps = sampling_trace.steps(discharges, 1.0)
    assert len(steps) == 14
    for i in range(13):
        assert [k for k in range(13) if steps[i][k] != steps[i + 1][k]] in ([], [i])
    seeds, drawn = sampling_trace.swept(discharges, 1.0)
    labels = [discharges.schema.columns[name].labels for name in discharges.schema.names]
    for states, step in ((seeds[:, 0], steps[0]), (drawn[:, 0], steps[13])):
        assert step == tuple(str(own[k]) for own, k in zip(labels, states, strict=True))
    table = {tuple(one) for one in discharges.table.T.tolist()}
    assert all(tuple(one) in table for one in seeds.T[:50].tolist())
    (few, error), (many, _) = (sampling_trace.unchanged(discharges, one) for one in (0.1, 100.0))
    assert many - few > 20 * error


def test_records_of_a_block_drift_from_their_seed():
    """At ε = 1, 1,000 records of each place; a distance has a standard error of some 0.01."""
    found = block_drift.drift(patient_case.DISCHARGES, 1.0)
    assert found.reset[0] == found.kept[0]
    assert found.reset[0] + 0.05 < found.reset[2] < found.reset[-1]
    assert found.kept[-1] < found.reset[-1]


def test_rows_are_diverse_in_what_the_intruder_wants(discharges, monkeypatch):
    asked = {}

    def kernel(rows, sweep, n_rows, *, diversity, sensitive, randomness):
        asked.update(diversity=diversity, sensitive=sensitive, rows=rows)
        return record_ways.Records(tuple(np.zeros((13, 2), dtype=np.int64)))

    monkeypatch.setattr(record_ways, "diverse_records", kernel)
    record_ways.records_of(discharges, DIVERSE[1], None, Streams(1))
    assert (asked["diversity"], asked["sensitive"]) == (4, discharges.places(("MDC", "charge")))
    weights = diverse_weights(asked["rows"][discharges.place("MDC")], 25, 4)
    assert (weights > 0).mean() > 0.1


def test_uniques_are_those_of_the_evaluation(discharges):
    synthetic = discharges.control[:, :1_500]
    keys = list(discharges.places(discharges.intruder.unique))
    slow = uniqueness(discharges.table[keys].T, synthetic[keys].T)
    expected = float(slow.synthetic.mean()), float(slow.synthetic_too.mean())
    assert intruder.uniques(discharges, synthetic) == pytest.approx(expected)
    assert 0 < expected[1] < expected[0]


@pytest.mark.nightly
def test_all_rows_with_replacement_are_as_many(discharges):
    drawn = record_ways.records_of(discharges, ALL_FULL, None, Streams(1))
    assert drawn.shape == (13, 100_000)
    assert 0.6 < len(np.unique(drawn, axis=1).T) / len(np.unique(discharges.table, axis=1).T) < 0.7


def test_totals_are_a_thousandfold_for_what_is_paid_by_the_record():
    assert all(LINES[one].total(0.3) == pytest.approx(300) for one in (*PAPERS, PEGS_READ))
    assert LINES[TABLES].total(0.3) == LINES[LONG_BLOCK].total(0.3) == 0.3
    assert [LINES[MARGINALS].made_at(one) for one in (0.3, 1.0)] == [False, True]
    simulated = simulation.simulated()
    assert len({(one.method, one.epsilon) for one in simulated}) == len(simulated)
    totals = [one.total for one in simulated if one.method == PMI]
    assert totals == pytest.approx([1000 * one for one in EPSILONS])


@pytest.mark.parametrize("name", [one for one, line in LINES.items() if line.method])
@pytest.mark.parametrize("table", [patient_case.DISCHARGES, patient_case.INPATIENTS])
def test_every_method_can_be_planned(name, table):
    """From the schema alone, at the smallest budget."""
    line = LINES[name]
    assert plan.plan(
        patient_case.find(table).schema,
        epsilon=line.total(EPSILONS[0]),
        method=line.method,
        options=dict(line.options),
    )


@pytest.mark.parametrize(
    "name", [PEGS, RESET_READ, BY_MARGINALS_READ, DIVERSE[0], TABLES, PMI, PMI_READ, FULL, UNIFORM]
)
@pytest.mark.nightly(every=9)
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


@pytest.mark.nightly
def test_seeds_of_the_pool_are_real_records(discharges):
    pool = prepared.Pool(discharges.sizes, records=discharges.table)
    drawn = np.stack(pool.draw(50, Streams(1).randomness("seeds").uniforms))
    table = {tuple(one) for one in discharges.table.T.tolist()}
    assert all(tuple(one) in table for one in drawn.T.tolist())


def test_the_table_itself_is_no_distance_away_and_tells_of_its_people(discharges):
    """2,000 targets: the gap of 8 points is some 5 standard errors."""
    (found,) = run(scenario(ROWS), 1, 1)
    assert [found[one.name] for one in table_distances.UTILITIES] == [0] * 7
    assert [found[rows.name] for _, rows in table_distances.APART] == [0, 0]
    assert found["level_error_matched"] == found["level_error"]
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
    rows[0]["number_error_matched"] = math.nan
    (found,) = summarise(None, rows)
    assert (found["marginal"], found["marginal_se"]) == (2.0, 1.0)
    assert (found["level_error_gap"], found["level_error_gap_se"]) == (0.25, 0.25)
    assert (found["linear_coefficients"], found["linear_coefficients_se"]) == ("1.5 4", "0.5 nan")
    assert found["number_error_matched"] == 1


WEIGHTS = {PEGS: 1.0, RESET: 0.4, PMI: 1.2}


def made_up(one, reverse=False):
    """A row in which all of the paper's points hold, or their opposites."""
    step = 0 if one.epsilon is None else EPSILONS.index(one.epsilon)
    way = next((way for way in (RESET, PEGS, PMI) if one.method.startswith(way)), "")
    known = one.epsilon is not None and way
    weight = WEIGHTS[way] if known else 0.05
    if way == PEGS and step >= 5:
        weight = 0.2
    distance = weight * (1 - step / 8)
    coefficient = (0.1 if way == RESET else 1.0) * (1 - step / 80)
    row = dict.fromkeys(NUMBERS, 2 - distance if reverse else distance)
    row |= {
        item.name: 2 - coefficient if reverse else coefficient
        for item in table_distances.COEFFICIENTS
    }
    attack = 10.5 - step / 100 + (way in (PEGS, RESET)) / 100 if known else 10.0
    row |= {item.name: 20 - attack if reverse else attack for item in intruder.ATTACKS}
    unique = 0.2 if known else 0.1
    row["unique"] = 1 - unique if reverse else unique
    block = one.method.startswith(LONG_BLOCK) != reverse
    for uniform, rows in table_distances.APART:
        row[uniform.name], row[rows.name] = (0.1, 0.9) if block else (0.9, 0.1)
    return row | made_up_texts(one, true=one.method == ROWS, block=block, reverse=reverse)


def made_up_texts(one, *, true, block, reverse):
    """Coefficients and shares of such a row."""
    table = patient_case.find(one.table)
    slopes = [1.0 if true else 1.5 if reverse else 0.5] * len(table.linear.terms)
    others = [1.0] * len(table.logistic.names)
    intercept = 1.0 if true else 0.5 if reverse else 2.0
    row = {
        "linear_coefficients": table_distances.joined([intercept, *slopes]),
        "logistic_coefficients": table_distances.joined(others),
    }
    for text, column in zip(table_distances.HISTOGRAMS, table.histograms, strict=True):
        size = table.sizes[table.place(column)]
        towards = 1.0 if true else 0.0 if block else 0.5
        row[text] = table_distances.joined(
            np.full(size, (1 - towards) / size) + towards * (np.arange(size) == 0)
        )
    return row


def made_up_results(reverse=False):
    return Results(
        {**vars(one), **summarise(one, [made_up(one, reverse)] * 2)[0]}
        for one in simulation.simulated()
    )


def judged(discharges, results, reading=PUBLISHED):
    own = causes.causes(discharges, results)
    return claims.about_study(discharges, results, Ways.of(reading), 30, own)


@pytest.mark.nightly
def test_verdicts_can_say_yes_and_no(discharges):
    """Under every reading; the opposites of what lies within 10 % do so as well."""
    for reading in (PUBLISHED, PUBLIC, OTHERS[0]):
        yes = judged(discharges, made_up_results(), reading)
        assert [one.word for one in yes] == ["agrees"] * len(claims.POINTS)
    no = judged(discharges, made_up_results(reverse=True))
    within = [k for k, one in enumerate(claims.POINTS) if one.name in ("no way safer",)]
    near = [k for k, one in enumerate(claims.POINTS) if one.name == "number comparable"]
    words = [one.word for one in no]
    assert [k for k, word in enumerate(words) if word == "agrees"] == sorted(within + near)
    assert words.count("not") >= len(claims.POINTS) - 3


@pytest.mark.nightly
def test_every_point_that_has_failed_has_a_cause(discharges):
    """Causes are there for whatever did not hold on either table; their numbers are computed."""
    found = causes.causes(discharges, made_up_results(reverse=True))
    names = [point.name for point in claims.POINTS]
    assert set(found) <= set(names)
    assert len(set(names)) == len(names) == 14
    assert all("nan" not in one.words for one in found.values())
    assert "beside PMI it holds in 0 of 9 cases" in found["PeGS.rs ahead at small ε"].words


@pytest.mark.nightly
def test_sensitivity_tables_count_the_cases_of_each_reading(discharges):
    keys, bootstraps, ratios, terms = sensitivity_tables.tables(discharges, made_up_results())
    assert len(keys.headings) == len(sensitivity_tables.READINGS) + 1 == 9
    assert keys.rows[0] == ("long block", *["28 of 28"] * 8)
    assert keys.rows[-1] == ("points that agree", *["14"] * 8)
    assert bootstraps.rows[0][3:] == ("21 of 21", "10.0", "21 of 21")
    assert ratios.rows[0][2:4] == ("1.05", "1.05")
    assert len(terms.rows) == len(discharges.logistic.names) + len(discharges.linear.names)


@pytest.fixture
def inpatients_at_random(monkeypatch):
    """Rows in place of the public file, which need not be at hand."""
    caches = (patient_case.find, prepared.hashed, block_drift.drift)
    states = np.stack(
        [np.random.default_rng(1).integers(0, size, 71_518) for size in hospital.schema().sizes]
    )
    for one in caches:
        one.cache_clear()
    monkeypatch.setattr(hospital, "inpatients", lambda: states)
    yield
    for one in caches:
        one.cache_clear()


@pytest.mark.parametrize(
    "study", [park_ghosh_2014.PEGS, park_ghosh_2014.PEGS_HOSPITAL], ids=lambda one: one.name
)
@pytest.mark.nightly
def test_the_page_is_written(study, serial, inpatients_at_random, tmp_path, monkeypatch):
    """With scores that are made up, and figures of one page only; the runner does all else."""
    monkeypatch.setattr(hospital, "require", lambda: None)
    if study is park_ghosh_2014.PEGS_HOSPITAL:
        monkeypatch.setattr(figures, "charts", lambda *_: ())
    fake = replace(study, run=lambda one, repetitions, seed: [made_up(one)] * repetitions)
    out = tmp_path / "out"
    page = run_study(fake, out, reps=30, jobs=1).read_text(encoding="utf-8")
    drawn = 6 if study is park_ghosh_2014.PEGS else 0
    assert page.count("<svg") == drawn
    assert ("cost 1,000·ε in all" in page) == bool(drawn)
    assert ("data in this study are simulated" in page) == (study is park_ghosh_2014.PEGS)
    markdown = (out / f"{study.name}.md").read_text(encoding="utf-8")
    assert "The paper makes 14 points" in markdown
    assert UNEXPLAINED not in markdown
    assert "| PeGS | 1,000 |" in markdown
    assert "| PeGS, as published | 1,000 |" in markdown
    assert ("| seed | " in markdown) == (study is park_ghosh_2014.PEGS)
    assert "Records by their place in a block" in markdown
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
