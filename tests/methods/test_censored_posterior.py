"""The censored posterior as a method: plans, refusals, what it learns, what its releases say.

Its ε is audited in `tests/mechanisms/choices/test_censored_column_likelihood.py`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import fields
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import understudy as us
from schemas import JOB_INCOME_MOOD as MIXED
from schemas import NO_INCOME_WITHOUT_JOB as RULE
from schemas import TWO_NUMBERS as NORMAL
from understudy.cli.app import app
from understudy.dp.budget import Budget
from understudy.errors import BudgetError, InferenceError, MethodError
from understudy.methods.registry import METHODS, configure
from understudy.papers.censored_posterior import CensoredPosterior
from understudy.papers.generator_scores import CONVERGENCE
from understudy.report.public_page import public_page
from understudy.report.sections import relations, sets_words
from understudy.schema import Schema

QUICK = {"candidates": 256}


def schema(columns=MIXED, n_rows=None):
    head = 'rows = "private"\nrow_limit = 5000\n'
    if n_rows is not None:
        head = f'rows = "public"\nn_rows = {n_rows}\n'
    head += 'title = "People"\n[unit]\ndescription = "one person"\n'
    return Schema.loads(head + columns)


def people(n, seed=1):
    """A third works, mostly in low spirits, and earns about 30; the others earn nothing."""
    rng = np.random.default_rng(seed)
    works = rng.random(n) < 0.7
    income = np.where(works, np.clip(rng.normal(30, 10, n), 1, 99), 0).round(1)
    mood = rng.choice(["low", "fair", "high", "?"], n, p=[0.6, 0.2, 0.1, 0.1])
    job = np.where(works, rng.choice(["worker", "boss"], n, p=[0.9, 0.1]), "none")
    return pl.DataFrame({"job": job, "income": income, "mood": mood})


def pairs(n, seed=1, slope=0.8):
    rng = np.random.default_rng(seed)
    x = rng.normal(1, 0.7, n)
    return pl.DataFrame({"x": x, "y": 1 + slope * x + rng.normal(0, 0.5, n)})


def release_of(data, known, epsilon=1, sets=1, seed=None, delta=0, **options):
    return us.synthesize(
        data,
        known,
        method="censored-posterior",
        epsilon=epsilon,
        delta=delta,
        sets=sets,
        options=QUICK | options,
        insecure_noise_seed=seed,
    )


# --- plans and refusals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, [("job",), ("job", "income"), ("income", "mood")]),
        ({"parents": 0}, [("job",), ("income",), ("mood",)]),
        (
            {"network": "mood, job<-mood, income<-job & mood"},
            [("mood",), ("mood", "job"), ("job", "mood", "income")],
        ),
        ({"search": "walk", "steps": 70}, [("job",), ("job", "income"), ("income", "mood")]),
    ],
    ids=str,
)
@pytest.mark.parametrize("refinements", [0, 2])
def test_a_plan_has_a_choice_for_each_round_of_each_column(options, steps, refinements):
    asked = {"candidates": 50, "refinements": refinements, "width": 2.5, **options}
    plan = us.plan(
        schema(), epsilon=1, method="censored-posterior", budget={"rows": 0.1}, options=asked
    )
    assert [step.form for step in plan.tables] == ["choice"] * len(steps) * (1 + refinements)
    assert sum(step.share for step in plan.tables) == Fraction(9, 10)
    walks = "steps" in options
    how = "a walk of 70 steps" if walks else "one of 50"
    form = "interval" if walks else "own-peak"
    for step, columns in zip(plan.tables[:: 1 + refinements], steps, strict=True):
        over = " × ".join(columns)
        judged = f"likelihoods censored to a width of 2.5 ({form})"
        assert step.query == f"parameters over {over}: {how} by {judged}"


@pytest.mark.parametrize("search", ["columns", "walk"])
def test_a_plan_foretells_the_ledger_of_a_release_with_a_theta_for_each_set(search):
    options = QUICK | {"sets": "split", "search": search, "steps": 5}
    asked = {"method": "censored-posterior", "epsilon": 1, "sets": 2, "options": options}
    plan = us.plan(schema(), **asked)
    release = us.synthesize(people(60), schema(), **asked)
    paid = [entry["query"] for entry in release.manifest.ledger]
    assert paid == ["number of rows", *[step.query for step in plan.tables] * 2]


def test_sets_have_a_theta_each_at_their_share_or_one_for_all_of_it():
    known, spent, values = schema(n_rows=60), {}, {}
    for kind in ("split", "free"):
        release = us.synthesize(
            people(60),
            known,
            method="censored-posterior",
            epsilon=1,
            sets=4,
            options=QUICK | {"sets": kind},
        )
        spent[kind] = [Fraction(entry["epsilon_exact"]) for entry in release.manifest.ledger]
        values[kind] = [one.totals for one in release.measurements if one.columns[-1] == "job"]
        assert sum(spent[kind]) == 1
    assert len(spent["split"]) == 12
    assert len(spent["free"]) == 3
    assert max(spent["split"]) == pytest.approx(Fraction(1, 12))
    assert len({tuple(one.values()) for one in values["split"]}) > 1


def test_without_a_width_it_follows_from_the_number_of_states():
    plan = us.plan(schema(), epsilon=1, method="censored-posterior")
    sizes = [schema().columns[name].size for name in ("job", "income", "mood")]
    assert sizes == [3, 9, 4]
    for step, size in zip(plan.tables, sizes, strict=True):
        assert f"a width of {math.log(size) + 2:.2f}".rstrip("0") in step.query


def test_the_remark_says_how_coarse_the_candidates_are():
    def remark(**options):
        asked = {"candidates": 1024} | options
        plan = us.plan(schema(), epsilon=1, method="censored-posterior", options=asked)
        return " ".join(plan.remarks)

    assert "1,024 candidates cover the" in remark()
    assert remark(search="walk") == ""


def test_more_candidates_rounds_and_parents_are_foretold_to_take_longer():
    def seconds(**options):
        return CensoredPosterior(**options).effort(schema(), (), Budget.of(1)).seconds

    assert seconds(candidates=4096) == pytest.approx(4 * seconds(candidates=1024))
    assert seconds(refinements=2) == pytest.approx(3 * seconds())
    assert seconds(parents=2) > 2 * seconds() > seconds(parents=0)
    assert seconds(search="walk", steps=500) == pytest.approx(
        seconds(search="walk", steps=2000) / 4
    )


@pytest.mark.parametrize(
    ("options", "known", "said"),
    [
        ({"model": "normal"}, schema(), "'job' is not numeric"),
        ({"network": "job, income<-age"}, schema(), "'age'"),
        ({"network": "job"}, schema(), "lacks the column 'income'"),
        ({"candidates": 0}, schema(), "candidates"),
        ({"shrink": 1}, schema(), "shrink"),
        ({"width": 0}, schema(), "width"),
        ({"width": "nan"}, schema(), "width"),
        ({"censoring": "own-weight", "search": "walk"}, schema(), "walk knows no list"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_before_rows_are_read(options, known, said):
    with pytest.raises(MethodError, match=said):
        us.synthesize("nowhere.csv", known, method="censored-posterior", epsilon=1, options=options)


@pytest.mark.parametrize(
    "options",
    [
        {"censoring": "vector"},
        {"censoring": "lipschitz"},
        {"censoring": [0.3, 0.7, 1.0]},
        {"weights": "vector"},
        {"weights": [0.3, 0.7, 1.0]},
    ],
    ids=str,
)
def test_weights_from_the_rows_have_no_way_in(options):
    """A record's contribution is one of a closed list of public functions of its own states."""
    with pytest.raises(MethodError, match=r"does not fit|has no option 'weights'"):
        us.synthesize(
            "nowhere.csv", schema(), method="censored-posterior", epsilon=1, options=options
        )
    assert not {"weights", "alpha"} & {one.name for one in fields(CensoredPosterior)}


def test_next_to_nothing_is_refused_and_nothing_is_spent():
    with pytest.raises(BudgetError):
        release_of(people(10), schema(), epsilon="1e-13")


# --- what it learns -----------------------------------------------------------------------------


@pytest.mark.nightly
def test_with_a_large_budget_it_comes_near_the_truth_and_refinements_nearer():
    """Slopes and intercepts of the true regressions; the prior's means are all off by more."""
    data, known = pairs(3000), schema(NORMAL, 3000)
    fitted = {}
    for rounds in (0, 4):
        found = release_of(
            data, known, epsilon=400, seed=3, model="normal", refinements=rounds, candidates=2048
        ).tables[0]
        x, y = found["x"].to_numpy(), found["y"].to_numpy()
        slope = np.cov(x, y)[0, 1] / x.var(ddof=1)
        fitted[rounds] = np.array([x.mean(), x.std(), slope, y.mean() - slope * x.mean()])
    truth = np.array([1, 0.7, 0.8, 1])
    assert np.abs(fitted[4] - truth).max() < 0.1
    assert np.abs(fitted[4] - truth).sum() < np.abs(fitted[0] - truth).sum()


def shares(rows):
    wanted = {"job": "none", "income": 0, "mood": "low"}
    return np.array([(rows[name] == value).mean() for name, value in wanted.items()])


@pytest.mark.parametrize(
    "options",
    [{}, {"censoring": "interval"}, {"search": "walk", "stride": 0.2}, {"delta": "0.000001"}],
    ids=str,
)
@pytest.mark.nightly(every=2)
def test_columns_one_by_one_beat_the_prior(options):
    """Shares at ε = 10; the prior's mean has 1/3 each, and half the incomes."""
    data, known = people(2000), schema(n_rows=2000)
    found = release_of(data, known, **{"epsilon": 10, "seed": 2, "steps": 300} | options).tables[0]
    assert np.abs(shares(found) - shares(data)).max() < 0.2
    assert np.abs(shares(found) - shares(data)).mean() < 0.12


def test_the_published_width_learns_a_tip_of_the_likelihood():
    """W = ε of a column: whoever gives a few records the highest probability wins."""
    data, known = people(2000), schema(n_rows=2000)
    off = {
        width: np.abs(
            shares(release_of(data, known, epsilon=1.5, seed=4, width=width).tables[0])
            - shares(data)
        ).mean()
        for width in (None, 0.25)
    }
    assert off[0.25] > 2 * off[None]


def test_a_column_of_one_state_costs_nothing():
    one = 'one = { kind = "categorical", levels = ["a"], source = "x", reviewed = true }\n'
    alone = Schema.loads(f"n_rows = 5\nrows = 'public'\n[columns]\n{one}")
    assert us.plan(alone, epsilon=1, method="censored-posterior").tables == ()
    rows = pl.DataFrame({"one": ["a"] * 5})
    assert release_of(rows, alone).tables[0]["one"].to_list() == ["a"] * 5


def test_impossible_records_never_come_out():
    known = schema(MIXED + RULE, 300)
    found = release_of(people(300), known, seed=4, parents=0).tables[0]
    assert not ((found["job"] == "none") & (found["income"] >= 50)).any()
    assert (found["job"] == "none").any()


@pytest.mark.parametrize(
    ("n", "search", "epsilon"),
    list(itertools.product([0, 1], ["columns", "walk"], ["0.00001", 10**6])),
)
def test_hardly_any_rows_are_no_error(n, search, epsilon):
    found = release_of(people(n), schema(n_rows=n), search=search, steps=5, epsilon=epsilon)
    assert found.tables[0].height == n


# --- what a release says ------------------------------------------------------------------------


def test_it_is_pure_and_publishes_its_parameters():
    release = release_of(people(300), schema(n_rows=300))
    assert release.guarantee.kind == "pure"
    assert release.guarantee.leaks == ()
    assert [one.kind for one in release.measurements] == ["parameters"] * 3
    names = [name for one in release.measurements for name in one.totals]
    assert names[:2] == ["job = worker: intercept", "job = boss: intercept"]
    for entry in release.manifest.ledger:
        assert entry["sensitivity"].startswith("score: a record's log-likelihood, censored to")


def test_with_delta_a_choice_costs_an_eighth_of_its_square():
    release = release_of(people(300), schema(n_rows=300), delta="0.000001")
    assert release.guarantee.kind == "approximate"
    assert len(release.manifest.ledger) == 3


def test_a_walk_is_conditional():
    release = release_of(people(50), schema(n_rows=50), search="walk", steps=20)
    assert release.guarantee.kind == "conditional"
    assert CONVERGENCE in release.guarantee.conditions
    assert not release.guarantee.is_nominal


@pytest.mark.parametrize("kind", ["free", "split"])
def test_intervals_are_refused_with_the_reason(kind):
    release = us.synthesize(
        people(300),
        schema(n_rows=300),
        method="censored-posterior",
        epsilon=1,
        sets=3,
        options=QUICK | {"sets": kind},
    )
    with pytest.raises(InferenceError, match="chosen at random") as caught:
        us.analyze(release, "mean", "income")
    assert "hard to tell" not in str(caught.value)
    assert "generator" in sets_words(release)
    assert "pass for" not in sets_words(release)
    assert "generator" in relations(release).sentence


def test_the_recipient_is_told_what_the_rows_are(tmp_path):
    release = release_of(people(300), schema(n_rows=300))
    release.save(tmp_path / "release")
    text = (tmp_path / "release" / "README.md").read_text(encoding="utf-8")
    assert "drawn from a generator whose parameters were chosen" in text
    assert us.Release.load(tmp_path / "release").measurements[1].totals == (
        release.measurements[1].totals
    )
    assert "parameters of a generator, chosen" in public_page(release)


def test_the_table_of_methods_has_it():
    names = list(METHODS)
    assert names.index("censored-posterior") == names.index("pmse") + 1
    assert configure("censored-posterior", {"network": "a, b<-a"}).network == ("a", "b<-a")


def test_the_command_line_tells_the_steward_alone_how_walks_went(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(60).write_csv(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(schema().dumps(), encoding="utf-8")
    asked = ["synthesize", "people.csv", "--schema", "people.toml", "--epsilon", "1"]
    asked += ["--method", "censored-posterior", "--option", "search=walk", "--option", "steps=30"]
    found = CliRunner().invoke(app, [*asked, "--out", "made"], env={"COLUMNS": "300"})
    assert found.exit_code == 0, found.output
    assert found.stderr.count("INTERNAL, not for release: the walk took") == 3
    held = "".join(one.read_text() for one in (tmp_path / "made").glob("*.*"))
    assert "INTERNAL" not in held
