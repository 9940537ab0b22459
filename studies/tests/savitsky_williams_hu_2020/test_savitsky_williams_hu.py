"""The comparison of weighted posteriors: its table, its laws, its mechanisms, its verdicts."""

import csv
import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from understudy.errors import StudyError
from understudy.papers.record_weights import vector_weights
from understudy.schema import Schema
from understudy_studies import savitsky_williams_hu_2020
from understudy_studies.all_studies import STUDIES
from understudy_studies.framework import public_files
from understudy_studies.framework.csv_numbers import joined, parted
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.runner import run_study
from understudy_studies.savitsky_williams_hu_2020 import (
    claims,
    consumer_case,
    consumer_files,
    figures,
    mechanism_results,
    mechanisms,
    population,
    resampling,
    risk_and_utility,
    simulation,
    violins,
)
from understudy_studies.savitsky_williams_hu_2020.mechanism_results import Results
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COUNT,
    COUNT_ALL,
    COUNT_FEW,
    DATA,
    MAIN,
    MECHANISMS,
    READINGS,
    SCALAR,
    SETS,
    SETTINGS,
    TABLE_2,
    UNWEIGHTED,
    VECTOR,
)
from understudy_studies.savitsky_williams_hu_2020.risk_findings import findings
from understudy_studies.savitsky_williams_hu_2020.simulation import Scenario, run, summarise

REAL = {
    consumer_case.DIARY: (consumer_files.DIARY, 5_916),
    consumer_case.HORNBY: (consumer_files.HORNBY, 5_571),
}
TWO_PREDICTORS = """
format = 1
rows = "public"
n_rows = 150
[unit]
rows_per_unit = 1
[columns.gender]
kind = "categorical"
levels = ["male", "female"]
source = "test"
reviewed = true
[columns.earner]
kind = "categorical"
levels = ["earner", "no earner"]
source = "test"
reviewed = true
[columns.income]
kind = "integer"
lower = -10000
upper = 2000000
bins = 1
source = "test"
reviewed = true
"""
MODEL = mechanisms.Model("asinh", 1_000.0)
SPIKED = """
format = 1
rows = "public"
n_rows = 4
[unit]
rows_per_unit = 1
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "test"
reviewed = true
[columns.income]
kind = "integer"
lower = -10
upper = 100
bins = 1
spikes = [0]
source = "test"
reviewed = true
"""


@pytest.fixture(scope="module")
def few():
    """150 consumers with two predictors, and chains of a few sweeps: no law is of interest here."""
    every = population.consumers()
    columns = {name: every[name][:150] for name in ("gender", "earner", "income")}
    schema = Schema.loads(TWO_PREDICTORS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "DRAWS", 24)
        patch.setattr(mechanisms, "BURN_IN", 2)
        patch.setattr(mechanisms, "THIN", 1)
        patch.setattr(resampling, "RESAMPLES", 20)
        yield consumer_case.Case(
            "few consumers", schema, lambda: columns, "", ("gender", "earner"), ("gender",)
        )


@pytest.fixture(scope="module")
def fitted(few):
    """All mechanisms at the main setting, by name."""
    found = mechanisms.fits(few, MODEL, Streams(3), settings=(MAIN,), readings=READINGS)
    return {one.mechanism: one for one in found}


# The simulated table


def test_the_simulated_table_has_the_papers_columns():
    found = population.consumers()
    sizes = [population.schema().columns[name].size for name in found]
    assert sizes == [2, 5, 8, 4, 2, 5, 3, 3, 11, 2, 1]
    assert {len(values) for values in found.values()} == {population.schema().n_rows} == {6_208}
    for name, size in zip(list(found)[:-1], sizes, strict=False):
        assert set(np.unique(found[name])) == set(range(size)), name
    assert "SIMULATED" in population.__doc__
    assert "no real ones" in population.WORDS


def test_simulated_incomes_are_skewed_over_the_papers_range():
    """Its range is about −7,000 to 1,800,000."""
    income = population.consumers()["income"]
    assert -8_000 < income.min() < -5_000
    assert 1_000_000 < income.max() < population.UPPER
    assert 2 < (income < 0).sum() < 20
    assert stats.skew(income) > 4
    assert 40_000 < np.median(income) < 60_000


def test_simulated_incomes_follow_the_predictors():
    rows = population.consumers()
    logs = np.log(np.maximum(rows["income"], 1))
    earns = rows["earner"] == 0
    assert logs[earns].mean() > logs[~earns].mean() + 0.5
    assert logs[rows["education"] == 7].mean() > logs[rows["education"] == 3].mean() + 0.5
    retired = (rows["age"] == 4) & ~earns
    assert retired.sum() > 0.5 * (~earns).sum()


def test_the_simulated_table_is_always_the_same():
    again = population.drawn(population.N_ROWS, np.random.default_rng(population.SEED))
    for name, values in population.consumers().items():
        assert (values == again[name]).all()
        assert not values.flags.writeable
    other = population.drawn(population.N_ROWS, np.random.default_rng(1))
    assert (other["income"] != again["income"]).mean() > 0.9


def test_records_say_which_incomes_are_spikes():
    columns = {"sex": np.array([0, 1, 1, 0]), "income": np.array([5, 0, -10, 100])}
    spiked = consumer_case.Case("tiny", Schema.loads(SPIKED), lambda: columns, "")
    income = spiked.records()["income"]
    assert income.states.tolist() == [0, 1, 0, 0]
    assert np.isnan(income.numbers).tolist() == [False, True, False, False]
    assert spiked.incomes_of(income).tolist() == [5, 0, -10, 100]
    assert spiked.own_unit == 1
    columns["income"] = np.array([5, 0, -11, 100])
    with pytest.raises(StudyError, match="outside its public bounds"):
        spiked.records()


# Laws under resampling


@pytest.mark.parametrize("level", [0.2, 0.5, 0.9])
def test_the_law_of_a_quantile_is_that_of_all_resamples(level):
    """All 5⁵ resamples of five values, each as likely."""
    values = np.array([7.0, 1.0, 4.0, 4.0, 9.0])
    k = int(np.ceil(level * 5))
    every = np.sort([np.sort(one)[k - 1] for one in itertools.product(values, repeat=5)])
    places = np.ceil(resampling.PROBABILITIES * len(every)).astype(int) - 1
    assert (resampling.law_of_quantile(values, level) == every[places]).all()


def test_the_law_of_a_mean_has_the_mean_and_error_of_the_set():
    """400 resamples: the mean is within 5 of its errors, the spread within 20 %, 5.6 of them."""
    rng = np.random.default_rng(5)
    values = rng.lognormal(size=(2, 800))
    counts = resampling.resampled_counts(800, rng)
    assert (counts.sum(axis=1) == 800).all()
    column_model = resampling.law_of_mean(values, counts)
    error = values.std(axis=1) / np.sqrt(800)
    assert column_model.shape == (2, resampling.POINTS)
    assert np.abs(column_model.mean(axis=1) - values.mean(axis=1)) == pytest.approx(
        [0, 0], abs=5 * error.max() / 20
    )
    assert column_model.std(axis=1) == pytest.approx(error, rel=0.2)


def test_the_barycentre_of_shifted_laws_is_the_one_between():
    base = stats.norm.ppf(resampling.PROBABILITIES)
    middle = resampling.barycentre(np.stack([base, base + 4]))
    assert middle == pytest.approx(base + 2)
    assert resampling.distance(middle, base) == pytest.approx(2)
    mixed = resampling.barycentre(np.stack([base, 3 * base]))
    assert mixed == pytest.approx(2 * base)  # a mixture would have thicker ends


def test_the_distance_is_the_wasserstein_distance():
    rng = np.random.default_rng(2)
    first, second = np.sort(rng.normal(size=(2, resampling.POINTS)), axis=1)
    expected = stats.wasserstein_distance(first, second)
    assert resampling.distance(first, second) == pytest.approx(expected)


# Mechanisms


@pytest.mark.nightly
def test_fits_are_those_of_a_release(few, fitted):
    """Each by its own weighting: the scalar one is set by the vector weights' bound."""
    found = fitted
    assert set(found) == {*MECHANISMS, *READINGS}
    vector, scalar = found[VECTOR].posterior, found[SCALAR].posterior
    plain = found[UNWEIGHTED].posterior.after
    assert vector.before is scalar.before is plain  # one chain without weights for all
    expected = vector_weights(plain.by_record, scale=MAIN[0], shift=MAIN[1])
    assert (vector.weights == expected).all()
    alpha = min(1.0, vector.after.bound / plain.bound)
    assert scalar.weights == pytest.approx(np.full(150, alpha))
    assert (found[UNWEIGHTED].posterior.weights == 1).all()
    assert 0 < found[COUNT].posterior.weights.min() < found[COUNT].posterior.weights.max()
    assert (found[COUNT_ALL].posterior.weights == found[COUNT].posterior.weights).all()
    fewer = found[COUNT_FEW].posterior.weights  # of more records alike fewer are near
    assert (fewer != found[COUNT].posterior.weights).any()
    column_model = found[VECTOR].model.column_model.column_models[0]
    assert (column_model.response.form, column_model.response.unit) == ("asinh", 1_000.0)
    assert column_model.regression.prior.components == 5
    assert column_model.regression.power == "marginal"


@pytest.mark.nightly
def test_settings_and_models_are_those_asked_for(few):
    found = mechanisms.fits(few, MODEL, Streams(3), settings=SETTINGS[3:])
    assert [(one.mechanism, one.setting) for one in found] == [
        (UNWEIGHTED, MAIN),
        *((name, setting) for setting in SETTINGS[3:] for name in (VECTOR, SCALAR)),
        (COUNT, MAIN),
    ]
    other = mechanisms.Model("identity", 1.0, 1, "labels")
    first = next(mechanisms.fits(few, other, Streams(3)))
    column_model = first.model.column_model.column_models[0]
    assert (column_model.response.form, column_model.regression.prior.components) == ("identity", 1)
    assert column_model.regression.power == "labels"
    assert not first.marginal


@pytest.mark.nightly
def test_printed_bounds_are_those_of_weights_times_log_likelihoods(few, fitted):
    for name in MECHANISMS:
        fit = fitted[name]
        posterior, records = fit.posterior, few.records()
        matrix = np.concatenate(
            list(fit.model.column_model.log_likelihoods(posterior.theta, records))
        )
        largest = (np.abs(matrix) * posterior.weights).max(axis=1)
        kept = np.sort(largest)[: int(np.ceil(0.95 * len(largest)))]
        assert mechanisms.printed_bounds(fit, records).bound == pytest.approx(kept.max())
    plain = fitted[UNWEIGHTED]
    assert mechanisms.printed_bounds(plain, few.records()).bound == pytest.approx(
        plain.posterior.after.bound
    )
    raised = mechanisms.Model("asinh", 1_000.0, power="labels")
    *_, vector, _, _ = mechanisms.fits(few, raised, Streams(3), settings=(MAIN,))
    assert vector.mechanism == VECTOR
    printed = mechanisms.printed_bounds(vector, few.records()).bound
    assert 0 < printed != vector.posterior.after.bound


def test_only_the_papers_way_looks_at_confidential_incomes(few, fitted):
    """The same draws and uniform numbers on other incomes: sets with components from π stay."""
    fit = fitted[VECTOR]
    columns = few.columns()
    moved = replace(few, columns=lambda: {**columns, "income": columns["income"][::-1].copy()})
    ours, theirs = mechanisms.synthetic_sets(few, fit, Streams(7).randomness("sets"))
    again, others = mechanisms.synthetic_sets(moved, fit, Streams(7).randomness("sets"))
    assert ours.shape == theirs.shape == (SETS, 150)
    assert (ours == again).all()
    assert (theirs != others).mean() > 0.1
    assert ours.min() >= population.LOWER
    assert ours.max() <= population.UPPER


def test_rank_correlations_are_those_worked_by_hand():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    sets = np.array([[10.0, 20.0, 30.0, 40.0], [4.0, 3.0, 2.0, 1.0], [1.0, 3.0, 2.0, 4.0]])
    assert risk_and_utility.follows(sets, values) == pytest.approx((1 - 1 + 0.8) / 3)


def test_a_row_holds_what_was_measured(few, fitted):
    """Of sets that are the data themselves: no distance, and a correlation of 1."""
    fit = fitted[VECTOR]
    counts = resampling.resampled_counts(150, np.random.default_rng(1))
    same = np.tile(few.values, (SETS, 1))
    row = risk_and_utility.of_fit(few, fit, (same, same + 1_000), counts)
    assert set(row) == {
        "mechanism",
        "scale",
        "shift",
        *risk_and_utility.NUMBERS,
        *risk_and_utility.TEXTS,
    } - {"values"}
    assert row["mean_off"] == pytest.approx(0, abs=1e-6)
    assert row["percentile_off"] == row["percentile_single"] == 0
    assert row["mean_peeking_off"] == pytest.approx(1_000)
    assert row["percentile_peeking_off"] == pytest.approx(1_000)
    assert row["follows"] == pytest.approx(1)
    risks = parted(row["risks"])
    assert (np.diff(risks) >= 0).all()
    assert risks[-1] == pytest.approx(row["bound"], rel=1e-5)
    assert row["untruncated"] >= row["bound"]
    low, mean, high = (parted(row[f"weights_{one}"]) for one in ("low", "mean", "high"))
    assert len(mean) == risk_and_utility.GROUPS
    assert (low <= high).all()
    assert mean.mean() == pytest.approx(fit.posterior.weights.mean(), rel=0.05)


@pytest.mark.nightly
def test_a_chunk_is_reproducible(few, monkeypatch):
    monkeypatch.setattr(consumer_case, "find", lambda _name: few)
    one = Scenario(few.name, "asinh", 1_000.0, 10, "marginal", False)
    found = run(one, 2, 7)
    names = [DATA, UNWEIGHTED, VECTOR, SCALAR, COUNT]
    assert [row["mechanism"] for row in found] == names * 2
    assert found[:5] == run(one, 1, 7)
    assert len({found[2]["bound"], found[7]["bound"], run(one, 1, 8)[2]["bound"]}) == 3
    whole = run(replace(one, whole=True), 1, 7)
    assert [(row["scale"], row["shift"]) for row in whole if row["mechanism"] == SCALAR] == [
        *SETTINGS
    ]
    assert whole[2]["bound"] == found[2]["bound"]
    assert [row["mechanism"] for row in whole[-2:]] == [*READINGS]


def test_effective_draws_are_those_of_a_known_chain():
    """An autoregression of 0.8 has (1 − 0.8)/(1 + 0.8) of its draws; within a third, over 20."""
    rng = np.random.default_rng(4)
    chains = np.zeros((20, 4_000))
    for t in range(1, 4_000):
        chains[:, t] = 0.8 * chains[:, t - 1] + rng.normal(size=20)
    found = np.mean([risk_and_utility.effective_draws(one) for one in chains])
    assert found == pytest.approx(4_000 / 9, rel=0.33)
    alone = np.mean([risk_and_utility.effective_draws(one) for one in rng.normal(size=(20, 4_000))])
    assert 3_000 < alone <= 4_000
    assert risk_and_utility.effective_draws(np.ones(50)) == 50


def test_sums_are_those_worked_by_hand():
    numbers = dict.fromkeys(risk_and_utility.NUMBERS, 1.0)
    texts = dict.fromkeys(risk_and_utility.TEXTS, "1 2")
    place = {"scale": 0.7, "shift": 0.0}
    rows = [{"mechanism": VECTOR, **place, **numbers, **texts} for _ in range(2)]
    rows[1] |= {"bound": 3.0, "risks": "2 5"}
    rows.append({"mechanism": DATA, **place, "mean": "4 6", "values": "7"})
    rows.append({"mechanism": VECTOR, **place, **numbers, **texts, "scale": 0.6})
    vector, data, other = summarise(None, rows)
    assert data == {"mechanism": DATA, **place, "mean": "4 6", "values": "7"}
    assert (vector["bound"], vector["bound_se"], vector["bound_each"]) == (2.0, 1.0, "1 3")
    assert vector["risks"] == "1.5 3.5"
    assert (other["scale"], other["bound_each"]) == (0.6, "1")


# What is told


def made_up(one, reverse=False):
    """Rows in which all of the paper's points hold, or their opposites."""
    column_model = 1.6e5 + 3e3 * stats.norm.ppf(resampling.PROBABILITIES)
    groups = np.geomspace(1e3, 1e6, risk_and_utility.GROUPS)
    rows = [
        {"mechanism": DATA, "values": joined(groups), "scale": MAIN[0], "shift": MAIN[1]}
        | dict.fromkeys(risk_and_utility.STATISTICS, joined(column_model))
    ]
    for step, setting in enumerate(SETTINGS if one.whole else (MAIN,)):
        bounds = {UNWEIGHTED: 50.0, VECTOR: TABLE_2[step], SCALAR: TABLE_2[step] + 0.1, COUNT: 11.0}
        off = {UNWEIGHTED: 3e3, VECTOR: 3e3, SCALAR: (4 + step) * 1e3, COUNT: 8e3}
        if reverse:
            bounds = {UNWEIGHTED: 1.0, VECTOR: 10.0 + step, SCALAR: 40.0, COUNT: 5.0}
            off = {UNWEIGHTED: 1e3, VECTOR: (9 + 9 * step) * 1e3, SCALAR: 8e3, COUNT: 2e3}
        names = MECHANISMS if setting == MAIN else (VECTOR, SCALAR)
        for name in names:
            row = _made_up_row(name, bounds[name], off[name], column_model, reverse)
            rows.append({**row, "scale": setting[0], "shift": setting[1]})
    if one.whole:
        rows += [{**rows[4], "mechanism": name} for name in READINGS]
    return rows


def _made_up_row(name, bound, off, column_model, reverse):
    risks = np.linspace(0, 1, len(risk_and_utility.RISK_POINTS)) ** 4 * bound
    row = dict.fromkeys(risk_and_utility.NUMBERS, 0.5)
    row |= {one: off for one in risk_and_utility.NUMBERS if one.endswith("_off")}
    row |= {
        one: 9e3 if reverse else 1e3 for one in risk_and_utility.NUMBERS if one.endswith("_single")
    }
    row |= {"bound": bound, "printed": bound, "untruncated": bound * (2 if reverse else 1.05)}
    row["typical"] = 2.0 if (name == SCALAR) == reverse else 1.0
    groups = joined(np.linspace(0.3, 0.7, risk_and_utility.GROUPS))
    row |= {one: groups for one in risk_and_utility.TEXTS if one.startswith("weights_")}
    row |= {one: joined(column_model + off) for one in risk_and_utility.WAYS_OF}
    return {"mechanism": name, **row, "risks": joined(risks)}


def made_up_results(reverse=False):
    return Results(
        {**vars(one), **row}
        for one in simulation.simulated()
        for row in summarise(one, made_up(one, reverse) * 3)
    )


def test_verdicts_can_say_yes_and_no():
    yes = list(claims.about(made_up_results()))
    assert [one.word for one in yes] == ["agrees"] * 15
    no = list(claims.about(made_up_results(reverse=True)))
    assert [one.word for one in no] == ["not"] * 15
    assert all(one.cause is not None for one in no)


def test_pairs_of_settings_are_compared_at_their_own_bounds():
    """Made up: scalar bounds are above those of the same setting, and below those before it."""
    words = list(findings(made_up_results()))
    assert any("There are 10 pairs of settings" in one and "in 0 of them" in one for one in words)
    assert any("11.4 to 20.2 by its table 2" in one for one in words)


def test_the_reported_model_is_kept_apart_from_other_readings():
    results = made_up_results()
    assert results.reported.words == "asinh(income/$1,000)"
    assert [one.words for one in results.others] == [
        "asinh(income/$20,000)",
        "asinh(income/$1,000), 10 regressions",
        "asinh(income/$1,000), 10 regressions, powers of components",
        "income in dollars",
        "asinh(income/$1,000), one regression",
    ]
    assert [one.model.unit for one in results.scales] == [1_000, 20_000]
    assert results.reported.every("bound", VECTOR).shape == (5, 3)
    assert results.others[0].every("bound", VECTOR).shape == (1, 3)


@pytest.mark.nightly
def test_quantiles_over_repetitions_and_their_errors():
    """Of 400 samples of 30 normal numbers: errors within a fifth (5 of what their mean varies)."""
    samples = np.random.default_rng(6).normal(size=(400, 30))
    for level in (0.1, 0.5, 0.9):
        found = np.array([mechanism_results.quantile_and_error(one, level) for one in samples])
        spread = found[:, 0].std(ddof=1)
        assert abs(found[:, 0].mean() - stats.norm.ppf(level)) < 0.1
        assert np.sqrt((found[:, 1] ** 2).mean()) == pytest.approx(spread, rel=0.2)
    mean, error = mechanism_results.mean_and_error_of(samples[0])
    assert (mean, error) == pytest.approx((samples[0].mean(), stats.sem(samples[0])))


@pytest.mark.parametrize(
    "study",
    [
        savitsky_williams_hu_2020.PSEUDO_POSTERIOR,
        savitsky_williams_hu_2020.PSEUDO_POSTERIOR_DIARY,
        savitsky_williams_hu_2020.PSEUDO_POSTERIOR_HORNBY,
    ],
    ids=lambda one: one.name,
)
@pytest.mark.nightly
def test_the_page_is_written(study, serial, tmp_path, monkeypatch):
    """With numbers that are made up, and figures of one page only; the runner does all else."""
    real = not study.simulated
    monkeypatch.setattr(consumer_files, "require", lambda _folder: None)
    monkeypatch.setattr(
        consumer_files, "consumers", lambda _folder: {"income": np.array([1, 2, 3])}
    )
    if real:
        monkeypatch.setattr(figures, "charts", lambda *_: ())
    fake = replace(study, run=lambda one, repetitions, seed: made_up(one) * repetitions)
    out = tmp_path / "out"
    page = run_study(fake, out, reps=3, jobs=1).read_text(encoding="utf-8")
    assert page.count("<svg") == (0 if real else 7)
    assert "What hangs on the readings" in page
    assert ("data in this study are simulated" in page) == (not real)
    markdown = (out / f"{study.name}.md").read_text(encoding="utf-8")
    assert "None of these sets is differentially private" in markdown
    assert "| 0.6, −0.1 | 7.30 | 14.6 |" in markdown
    assert "nan" not in markdown
    assert "no cause is known" not in markdown
    with (out / "results.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == (1 + 2 * 5 + 2 + 2) + 5 * 5
    assert len(rows[0]["percentile"].split()) == resampling.POINTS


@pytest.mark.nightly
def test_of_few_repetitions_nothing_is_said(serial, tmp_path):
    study = savitsky_williams_hu_2020.PSEUDO_POSTERIOR
    fake = replace(study, run=lambda one, repetitions, seed: made_up(one) * repetitions)
    page = run_study(fake, tmp_path / "out", reps=1, jobs=1).read_text(encoding="utf-8")
    assert "With fewer than 30 repetitions nothing is said about the paper" in page


def test_violins_are_as_wide_as_their_law_is_dense():
    normal = stats.norm.ppf(resampling.PROBABILITIES)
    heights, widths = violins.outline(normal)
    assert (heights[0], heights[-1]) == (normal[0], normal[-1])
    assert widths.max() == 1
    inside = np.abs(heights) < 1.5
    assert widths[inside] == pytest.approx(np.exp(-(heights[inside] ** 2) / 2), abs=0.05)
    heights, widths = violins.outline(np.full(5, 3.0))
    assert set(heights) == {3.0}
    assert set(widths) == {1.0}


# Real rows


@pytest.mark.parametrize("name", REAL)
def test_without_the_file_the_studies_of_real_rows_say_so(name, monkeypatch, tmp_path):
    monkeypatch.setenv(public_files.FOLDER, str(tmp_path))
    scenarios = {consumer_case.DIARY: simulation.diary, consumer_case.HORNBY: simulation.hornby}[
        name
    ]
    with pytest.raises(StudyError, match=rf"{REAL[name][0]}.csv.*UNDERSTUDY_DATA"):
        scenarios()


@pytest.mark.parametrize("name", REAL)
def test_the_real_rows_fit_their_schema(name):
    folder, n = REAL[name]
    if not consumer_files.path(folder).is_file():
        pytest.skip("the public file is not at hand")
    found = consumer_case.find(name)
    records = found.records()
    assert found.schema.n_rows == n == len(found.values)
    for one in found.predictors:
        assert records[one].states.min() >= 0
        assert records[one].states.max() < found.schema.columns[one].size
    assert (found.incomes_of(records["income"]) == found.values).all()
    spikes = ~np.isnan(found.spikes)
    assert spikes.any() == (name == consumer_case.HORNBY)
    assert 40_000 < np.median(found.values) < 60_000


def test_the_studies_are_in_the_table():
    assert STUDIES["pseudo-posterior"] is savitsky_williams_hu_2020.PSEUDO_POSTERIOR
    assert STUDIES["pseudo-posterior-diary"] is savitsky_williams_hu_2020.PSEUDO_POSTERIOR_DIARY
    assert STUDIES["pseudo-posterior-hornby"] is savitsky_williams_hu_2020.PSEUDO_POSTERIOR_HORNBY
