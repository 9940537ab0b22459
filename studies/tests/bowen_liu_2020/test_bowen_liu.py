"""What the studies of Bowen & Liu share: intervals, sums, streams, verdicts."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from understudy.inference.combining import pool
from understudy_studies.all_studies import STUDIES
from understudy_studies.bowen_liu_2020 import BOWEN_LIU_1, BOWEN_LIU_2, BOWEN_LIU_3
from understudy_studies.bowen_liu_2020.panels import Panel, spread
from understudy_studies.framework import interval_tally as sums
from understudy_studies.framework.claim_verdicts import (
    UNEXPLAINED,
    comparison,
    count,
    judged,
    told,
)
from understudy_studies.framework.interval_tally import Intervals, pooled, pooled_where
from understudy_studies.framework.random_streams import Streams
from understudy_studies.framework.result_curves import FEWEST, Curves, Reading
from understudy_studies.framework.runner import run_study
from understudy_studies.framework.study import RunRecord


def test_intervals_are_those_of_pool():
    rng = np.random.default_rng(1)
    q, u = rng.normal(size=(20, 3, 5)), rng.exponential(size=(20, 3, 5))
    u[0] = 0.0
    q[1] = 1.0  # no variance between sets
    found = pooled(q, u)
    for place in product(range(20), range(3)):
        expected = pool(q[place], u[place])
        low, high = expected.interval()
        assert found.estimate[place] == pytest.approx(expected.estimate[0])
        assert 2 * found.reach[place] == pytest.approx(high[0] - low[0])
    assert found.usable.all()


def test_an_interval_without_variance_is_not_usable():
    found = pooled(np.zeros((2, 10)), np.array([[0.0] * 10, [1.0] * 10]))
    assert found.usable.tolist() == [False, True]


def test_sets_without_an_estimate_are_left_out():
    rng = np.random.default_rng(2)
    q, u = rng.normal(size=(30, 6)), rng.exponential(size=(30, 6))
    present = rng.random((30, 6)) < 0.5
    found = pooled_where(present, np.where(present, q, np.nan), np.where(present, u, np.nan))
    for r in range(30):
        here = present[r]
        assert found.usable[r] == (here.sum() >= 2)
        if found.usable[r]:
            expected = pooled(q[r, here], u[r, here])
            assert found.estimate[r] == pytest.approx(float(expected.estimate))
            assert found.reach[r] == pytest.approx(float(expected.reach))


def test_sums_of_chunks_are_those_worked_by_hand():
    one = Intervals(np.array([0.1, 0.5, 9.0]), np.array([0.2, 0.1, 9.0]), np.array([1, 1, 0]) > 0)
    two = Intervals(np.array([0.3]), np.array([0.3]), np.array([True]))
    rows = [sums.totals("x", "m", 1.0, found, truth=0.25) for found in (one, two)]
    (row,) = sums.summarise(None, rows)
    errors = np.array([-0.15, 0.25, 0.05])
    assert (row["usable"], row["usable_share"]) == (3, 3 / 4)
    assert row["bias"] == pytest.approx(errors.mean())
    assert row["bias_error"] == pytest.approx(errors.std(ddof=1) / math.sqrt(3))
    assert row["rmse"] == pytest.approx(math.sqrt((errors**2).mean()))
    assert row["coverage"] == pytest.approx(2 / 3)
    assert row["width"] == pytest.approx(np.mean([0.4, 0.2, 0.6]))
    nothing = Intervals(np.zeros(2), np.zeros(2), np.zeros(2, dtype=bool))
    (row,) = sums.summarise(None, [sums.totals("x", "m", 1.0, nothing, truth=0.0)])
    assert row["usable_share"] == 0
    assert "bias" not in row


def test_streams_are_apart_and_follow_from_the_seed():
    def first(streams, *purpose):
        return streams.generator(*purpose).integers(2**62), int(
            streams.randomness(*purpose).words(1)[0]
        )

    found = [first(Streams(seed), *purpose) for seed in (1, 2) for purpose in (("a", 1), ("a", 2))]
    assert len({number for pair in found for number in pair}) == 8
    assert first(Streams(1), "a", 1) == found[0]


@pytest.mark.parametrize(
    ("holding", "word"),
    [(20, "agrees"), (19, "agrees"), (18, "partly"), (10, "partly"), (9, "not")],
)
def test_verdicts_follow_from_the_cases(holding, word):
    found = judged("c", "m", [True] * holding + [False] * (20 - holding))
    assert found.word == word
    assert f"({holding} of 20 cases)" in found.measured


def test_without_a_case_nothing_agrees():
    verdicts = [judged("c", "m", []), judged("d", "m", [True])]
    assert verdicts[0].word == "not"
    assert comparison(verdicts).doubtful == {(0, 2)}
    assert "not: 1" in count(verdicts)


def test_of_a_trial_run_nothing_is_said():
    def unasked():
        raise AssertionError

    run_record = RunRecord("", 1, (FEWEST - 1, FEWEST - 1), 1, "", 0.0)
    findings, table = told(unasked, run_record)
    assert table is None
    assert len(findings) == 1
    findings, table = told(
        lambda: (judged("c", "m", [False]),), replace(run_record, repetitions=(FEWEST, FEWEST))
    )
    assert table is not None
    assert f"It does not hold here: “c” m (0 of 1 case). {UNEXPLAINED}" in findings


@pytest.mark.parametrize("study", [BOWEN_LIU_1, BOWEN_LIU_2, BOWEN_LIU_3], ids=lambda one: one.name)
def test_the_studies_are_in_the_table(study):
    assert STUDIES[study.name] is study
    scenarios = study.scenarios()
    assert len(set(scenarios)) == len(scenarios)


def test_a_study_has_repetitions_and_chunks_of_its_own(tiny):
    assert BOWEN_LIU_1.repetitions_of(BOWEN_LIU_1.scenarios()[0]) == 5_000
    assert BOWEN_LIU_1.chunk_of(BOWEN_LIU_1.scenarios()[0]) == 500
    dice = tiny.study()
    assert dice.repetitions_of(dice.scenarios()[0]) == 1_000
    assert dice.chunk_of(dice.scenarios()[0]) == 25


def test_the_frame_runs_a_study_in_chunks_of_its_own(tiny, tmp_path, serial):
    dice = replace(tiny.study(sides=(6,)), repetitions=7, chunk=3)
    page = run_study(dice, tmp_path / "out", jobs=1)
    assert sorted(tiny.TRACE.read_text().splitlines()) == ["6 1", "6 3", "6 3"]
    tiny.TRACE.unlink()
    run_study(replace(dice, repetitions=9), tmp_path / "out", jobs=1)
    assert tiny.TRACE.read_text().splitlines() == ["6 3"]
    assert "Beside the paper" not in page.read_text(encoding="utf-8")


def curve(estimand, method, budget, usable, bias):
    row = {"n": 1, "estimand": estimand, "method": method, "log_epsilon": budget}
    return row | {"usable": usable, "bias": bias}


def test_places_that_rest_on_few_repetitions_are_left_out():
    rows = [curve("x", "m", 0, FEWEST - 1, 5.0), curve("x", "m", 1, FEWEST, 1.0)]
    curves = Curves([*rows, curve("x", "base", None, 100, 2.0)], ("n",))
    assert np.isnan(curves.trusted("bias", (1,), "x", "m")).tolist() == [True, False]
    assert curves.trusted("bias", (1,), "x", "base").tolist() == [2, 2]
    assert Reading(curves, "x").first("bias", (1,), "m") == 1
    assert curves.at("bias", (1,), "x", "m", 0) == 5
    trial = Curves(rows[:1], ("n",))
    assert trial.trusted("bias", (1,), "x", "m").tolist() == [5]


def test_a_panel_of_many_estimands_draws_quartiles_of_sizes():
    rows = [curve(f"x {k}", "m", 0, 100, bias) for k, bias in enumerate((-4, -3, 2, 1, 0))]
    curves = Curves(rows, ("n",))
    panel = Panel("", (1,), curves.estimands, "bias")
    assert spread(curves, panel, "m").ravel().tolist() == [1, 2, 3]
    one = Panel("", (1,), ("x 0",), "bias")
    assert spread(curves, one, "m").ravel().tolist() == [-4, -4, -4]
