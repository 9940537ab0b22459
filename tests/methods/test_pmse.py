"""The pMSE mechanism as a method: plans, refusals, what it learns, what its releases say."""

from __future__ import annotations

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
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError, InferenceError, MethodError
from understudy.methods.registry import METHODS, configure
from understudy.papers.generator_scores import CONVERGENCE, GREEDY
from understudy.papers.pmse import Pmse
from understudy.report.public_page import public_page
from understudy.report.sections import relations, sets_words
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

EVERYTHING = ("job", "income", "mood")
QUICK = {"candidates": 64, "records": 500}


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


def release_of(data, known, epsilon=1, sets=1, seed=None, **options):
    return us.synthesize(
        data,
        known,
        method="pmse",
        epsilon=epsilon,
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
        ({"search": "together"}, [EVERYTHING]),
        ({"search": "walk", "steps": 70}, [EVERYTHING]),
    ],
    ids=str,
)
@pytest.mark.parametrize("refinements", [0, 2])
def test_a_plan_has_a_choice_for_each_round_of_each_stage(options, steps, refinements):
    plan = us.plan(
        schema(),
        epsilon=1,
        method="pmse",
        budget={"rows": 0.1},
        options={"candidates": 50, "refinements": refinements, **options},
    )
    assert [step.form for step in plan.tables] == ["choice"] * len(steps) * (1 + refinements)
    assert sum(step.share for step in plan.tables) == Fraction(9, 10)
    assert max(s.share for s in plan.tables) - min(s.share for s in plan.tables) < 1e-9
    each = [step.query for step in plan.tables[:: 1 + refinements]]
    how = "a walk of 70 steps" if "steps" in options else "one of 50"
    for query, columns in zip(each, steps, strict=True):
        over = " × ".join(columns)
        assert query.startswith(f"parameters over {over}: {how} by all trees of depth 2")


def test_a_plan_foretells_the_ledger_of_a_release():
    plan = us.plan(schema(), epsilon=1, method="pmse", sets=2, options=QUICK | {"sets": "split"})
    options = QUICK | {"sets": "split"}
    release = us.synthesize(people(60), schema(), method="pmse", epsilon=1, sets=2, options=options)
    paid = [entry["query"] for entry in release.manifest.ledger]
    assert paid == ["number of rows", *[step.query for step in plan.tables] * 2]


def test_the_remark_says_how_coarse_the_candidates_are():
    def remark(**options):
        return " ".join(us.plan(schema(), epsilon=1, method="pmse", options=options).remarks)

    assert "1,024 candidates cover the" in remark(candidates=1024)
    few = remark(candidates=1024, parents=0)
    both = remark(candidates=1024, parents=0, search="together")
    assert "of a column" in few
    assert "of all columns" in both
    assert remark(search="walk") == ""


@pytest.mark.parametrize(
    ("options", "known", "said"),
    [
        ({"mode": "paper"}, schema(), "public number of rows"),
        ({"model": "normal"}, schema(), "'job' is not numeric"),
        ({"depth": 3}, schema(), "depth is for partitions"),
        ({"flat": True}, schema(), "flat is for model=normal"),
        ({"network": "job, income<-age"}, schema(), "'age'"),
        ({"network": "job"}, schema(), "lacks the column 'income'"),
        ({"candidates": 0}, schema(), "candidates"),
        ({"shrink": 1}, schema(), "shrink"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_before_rows_are_read(options, known, said):
    with pytest.raises(MethodError, match=said):
        us.synthesize("nowhere.csv", known, method="pmse", epsilon=1, options=options)


def test_next_to_nothing_is_refused_and_nothing_is_spent():
    with pytest.raises(BudgetError):
        release_of(people(10), schema(), epsilon="1e-13")


# --- what it learns -----------------------------------------------------------------------------


@pytest.mark.nightly
def test_with_a_large_budget_the_candidates_come_near_the_truth_and_refinements_nearer():
    """Slopes and intercepts of the true regressions; the prior's means are all off by more."""
    data, known = pairs(3000), schema(NORMAL, 3000)
    fitted = {}
    for rounds in (0, 4):
        found = release_of(
            data, known, epsilon=4000, seed=3, model="normal", refinements=rounds, candidates=256
        ).tables[0]
        x, y = found["x"].to_numpy(), found["y"].to_numpy()
        slope = np.cov(x, y)[0, 1] / x.var(ddof=1)
        fitted[rounds] = np.array([x.mean(), x.std(), slope, y.mean() - slope * x.mean()])
    truth = np.array([1, 0.7, 0.8, 1])
    assert np.abs(fitted[4] - truth).max() < 0.15
    assert np.abs(fitted[4] - truth).sum() < np.abs(fitted[0] - truth).sum()


def test_the_published_prior_is_far_too_flat_to_learn_from():
    """Nothing near the rows is a candidate; the mean of the prior, with a huge spread, is best."""
    data, known = pairs(1000), schema(NORMAL, 1000)
    found = release_of(data, known, epsilon=50, seed=1, model="normal", flat=True).tables[0]
    assert found["x"].to_numpy().std() > 3 * data["x"].to_numpy().std()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"trees": "partitions", "depth": 4},
        {"trees": "depth-1"},
        {"trees": "depth-3", "records": 200},
        {"draws": 3},
    ],
    ids=str,
)
@pytest.mark.nightly(every=3)
def test_columns_one_by_one_beat_the_prior(options):
    """Shares of the categories at ε = 200; the prior's mean has 1/3 each, and half the incomes."""
    data, known = people(2000), schema(n_rows=2000)
    found = release_of(data, known, epsilon=200, seed=2, **options).tables[0]

    def shares(rows):
        wanted = {"job": "none", "income": 0, "mood": "low"}
        return np.array([(rows[name] == value).mean() for name, value in wanted.items()])

    assert np.abs(shares(found) - shares(data)).max() < 0.2
    assert np.abs(shares(found) - shares(data)).mean() < 0.12


def test_simulated_records_count_as_often_as_rows_ask():
    method = Pmse(records=100)
    assert method._sizes(0) == (1, 1)
    assert method._sizes(10) == (20, 1)
    assert method._sizes(1_000) == (100, 20)
    assert Pmse(mode="paper")._sizes(70) == (70, 1)


def test_a_column_of_one_state_costs_nothing():
    one = 'one = { kind = "categorical", levels = ["a"], source = "x", reviewed = true }\n'
    alone = Schema.loads(f"n_rows = 5\nrows = 'public'\n[columns]\n{one}")
    assert us.plan(alone, epsilon=1, method="pmse").tables == ()
    found = us.synthesize(pl.DataFrame({"one": ["a"] * 5}), alone, method="pmse", epsilon=1)
    assert found.tables[0]["one"].to_list() == ["a"] * 5


def test_impossible_records_never_come_out():
    known = schema(MIXED + RULE, 300)
    found = release_of(people(300), known, seed=4, parents=0).tables[0]
    assert not ((found["job"] == "none") & (found["income"] >= 50)).any()
    assert (found["job"] == "none").any()


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("search", ["columns", "together", "walk"])
def test_hardly_any_rows_are_no_error(n, search):
    found = release_of(people(n), schema(n_rows=n), search=search, steps=5, epsilon="0.00001")
    assert found.tables[0].height == n


# --- what a release says ------------------------------------------------------------------------


def test_the_strict_form_is_pure_and_publishes_its_parameters():
    release = release_of(people(300), schema(n_rows=300))
    assert release.guarantee.kind == "pure"
    assert release.guarantee.leaks == ()
    assert [one.kind for one in release.measurements] == ["parameters"] * 3
    names = [name for one in release.measurements for name in one.totals]
    assert len(set(names)) == len(names) == sum(len(one.totals) for one in release.measurements)
    assert names[:2] == ["job = worker: intercept", "job = boss: intercept"]


def test_released_parameters_draw_the_same_records_again():
    """Whoever has the release and the same version can draw as many records as he likes."""
    known = schema(n_rows=200)
    release = release_of(people(200), known)
    theta = np.array([value for one in release.measurements for value in one.totals.values()])
    generator = configure("pmse", release.manifest.options)._generator(known)
    assert [*generator.prior.names] == [n for one in release.measurements for n in one.totals]
    uniforms = np.random.default_rng(1).uniform(0.01, 0.99, (3, 2, 50))
    assert set(generator.records(theta, uniforms)) == set(known.names)


def test_a_walk_is_conditional_and_the_steward_can_see_how_it_went():
    told, known = [], schema(n_rows=50)
    engine = Table(people(50), known)
    gate = open_gate(engine, Budget.of(1), SeededRandomness(1), confide=told.append)
    Pmse(search="walk", steps=20, records=50).fit(gate, Fraction(1), 10)
    assert len(told) == 1
    assert 0 <= told[0].value.accepted <= 1
    assert not hasattr(gate, "travelled")
    release = release_of(people(50), known, search="walk", steps=20)
    assert release.guarantee.kind == "conditional"
    assert CONVERGENCE in release.guarantee.conditions
    assert not release.guarantee.is_nominal


@pytest.mark.parametrize("search", ["columns", "together", "walk"])
@pytest.mark.nightly(every=3)
def test_the_published_form_is_stamped(search):
    release = release_of(
        pairs(80),
        schema(NORMAL, 80),
        mode="paper",
        model="normal",
        search=search,
        steps=20,
        depth=2,
        candidates=8,
    )
    assert release.guarantee.is_nominal
    assert GREEDY in release.guarantee.leaks
    assert all("2, as published" in entry["sensitivity"] for entry in release.manifest.ledger)
    assert all("greedy trees of depth 2" in one["query"] for one in release.manifest.ledger)


@pytest.mark.parametrize("kind", ["free", "split"])
def test_intervals_are_refused_with_the_reason(kind):
    known = schema(n_rows=300)
    release = us.synthesize(
        people(300), known, method="pmse", epsilon=1, sets=3, options=QUICK | {"sets": kind}
    )
    with pytest.raises(InferenceError, match="chosen at random"):
        us.analyze(release, "mean", "income")
    assert "generator" in sets_words(release)
    assert "generator" in relations(release).sentence


def test_the_recipient_is_told_what_the_rows_are(tmp_path):
    release = release_of(people(300), schema(n_rows=300))
    release.save(tmp_path / "release")
    text = (tmp_path / "release" / "README.md").read_text(encoding="utf-8")
    assert "drawn from a generator whose parameters were chosen" in text
    assert "drawn by the generator" in text
    assert "normal law" not in text
    assert us.Release.load(tmp_path / "release").measurements[1].totals == (
        release.measurements[1].totals
    )


def test_the_table_of_methods_has_it():
    assert METHODS["pmse"].facts.cost_class == "slow"
    assert configure("pmse", {"network": "a, b<-a"}).network == ("a", "b<-a")
    with pytest.raises(MethodError):
        configure("pmse", {"trees": "depth-9"})


def test_the_public_page_counts_parameters_and_shows_no_band():
    release = release_of(people(300), schema(n_rows=300))
    page = public_page(release)
    n = sum(len(one.totals) for one in release.measurements)
    assert f"The {n} parameters of the generator were chosen, not measured" in page
    assert "parameters of a generator, chosen" in page
    assert "No band: records were drawn from a generator whose parameters were chosen." in page


def test_the_command_line_tells_the_steward_alone_how_a_walk_went(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(60).write_csv(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(schema().dumps(), encoding="utf-8")
    asked = ["synthesize", "people.csv", "--schema", "people.toml", "--epsilon", "1"]
    walk = ["--method", "pmse", "--option", "search=walk", "--option", "steps=30", "--out", "made"]
    found = CliRunner().invoke(app, [*asked, *walk], env={"COLUMNS": "300"})
    assert found.exit_code == 0, found.output
    assert "INTERNAL, not for release: the walk took" in found.stderr
    assert "Conditional differential privacy" in found.stdout
    held = "".join(one.read_text() for one in (tmp_path / "made").glob("*.*"))
    assert "INTERNAL" not in held
    assert "of its steps" not in held
