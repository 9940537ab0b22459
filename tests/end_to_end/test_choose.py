"""A release that was chosen among secret tries: price, secrecy, continuation, and refusals."""

import inspect
import json
import shutil
from dataclasses import replace
from fractions import Fraction as F
from functools import partial

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import understudy as us
import understudy_verify
from schemas import column
from understudy.cli.app import app
from understudy.cli.release import _making, choose, synthesize
from understudy.dp.budget import Budget
from understudy.dp.gate import Gate
from understudy.errors import (
    CheckpointError,
    LedgerError,
    MethodError,
    NotPrivateError,
    ReleaseError,
)
from understudy.ledger.account import Caps, Population
from understudy.ledger.ledger import PopulationLedger, past_release
from understudy.mechanisms.private_selection import TableDistance, selection_words
from understudy.release.folder import MANIFEST
from understudy.workflow import choose as chooses

SCHEMA = us.Schema.loads(
    "row_limit = 10000\n"
    + column("job", "categorical", levels=["a", "b", "c"], source="law")
    + column("city", "categorical", levels=["x", "y"], source="law")
    + column("age", "integer", lower=0, upper=99, bins=5, source="law")
)
CANDIDATES = [us.SynthesisOptions(method="independent"), us.SynthesisOptions(method="mst")]
CHOICE = us.Choice(candidates=CANDIDATES, accept={"city & job": "0.05", "age": "0.2"}, tries=4)
FILE = """
tries = 4
[accept]
"city & job" = 0.05
age = 0.2
[[candidates]]
method = "independent"
[[candidates]]
method = "mst"
"""


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    job = rng.choice(["a", "b", "c"], 2_000, p=[0.6, 0.3, 0.1])
    city = np.where((job == "a") ^ (rng.random(2_000) < 0.1), "x", "y")
    return pl.DataFrame({"job": job, "city": city, "age": rng.integers(0, 100, 2_000)})


@pytest.fixture(scope="module")
def published(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("chosen") / "release"
    us.choose(people, SCHEMA, CHOICE, epsilon=4).save(folder)
    return folder


def test_the_ledger_has_the_best_try_and_the_price_of_all(published):
    release = us.Release.load(published)
    manifest = release.manifest
    *own, check, selection = manifest.ledger
    assert (check["mechanism"], selection["mechanism"]) == ("noisy distance", "private selection")
    one = sum(F(step["epsilon_exact"]) for step in (*own, check))
    assert one <= 2
    assert F(check["epsilon_exact"]) == F(1, 5)
    assert F(selection["epsilon_exact"]) == 2
    assert release.guarantee.kind == "pure"
    assert (release.guarantee.epsilon, release.guarantee.delta) == (4, 0)
    assert "nobody outside learns how long" in release.guarantee.statement
    assert manifest.choice["candidates"][1]["method"] == "mst"
    assert manifest.choice["accept"][0] == {"columns": ["job", "city"], "most": "1/20"}
    assert manifest.choice["met"] == (manifest.choice["excess"] <= 0)


def test_the_independent_checker_follows_it(published):
    found = understudy_verify.verify(published)
    assert {rule for rule, state, _ in found if state != "ok"} <= {"signature"}


def test_a_dependence_has_the_better_candidate_win(people, monkeypatch):
    """Independent columns miss the limit by about 1,000 records, and noise has some tens."""
    made, tried = chooses.measure_and_draw, []

    def noted(request, *rest):
        tried.append(request.name)
        return made(request, *rest)

    monkeypatch.setattr(chooses, "measure_and_draw", noted)
    monkeypatch.setattr(chooses.LawOfTries, "sample", lambda *_: 8)
    best = us.choose(people, SCHEMA, CHOICE, epsilon=4).manifest
    assert len(tried) == 8
    assert best.method == ("mst" if "mst" in tried else "independent")


@pytest.mark.parametrize("change", ["cheaper", "no choice", "another law", "no step"])
def test_a_selection_that_was_altered_is_refused(published, tmp_path, change):
    folder = shutil.copytree(published, tmp_path / "altered")
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    step = content["ledger"][-1]
    if change == "cheaper":
        step |= {"epsilon": "0.5", "epsilon_exact": "1/2"}
    elif change == "no choice":
        del content["choice"]
    elif change == "another law":
        step["sensitivity"] = step["sensitivity"].replace("η = 0", "η = 1")
    else:
        del content["ledger"][-1]
    (folder / MANIFEST).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ReleaseError, match="select"):
        us.Release.load(folder, compare_pages=False)
    broken = {rule for rule, found, _ in understudy_verify.verify(folder) if found == "broken"}
    assert broken == {"noise"}


def _number(many, _source):
    return many


def test_nothing_of_the_tries_is_told(people, monkeypatch):
    """With one try or with many: the same stages, charges and progress."""
    told = []
    for many in (1, 3):
        monkeypatch.setattr(chooses.LawOfTries, "sample", partial(_number, many))
        stages = []
        run = us.RunOptions(progress=lambda *what, to=stages: to.append(what))
        us.choose(people, SCHEMA, CHOICE, epsilon=4, run=run)
        told.append(stages)
    assert told[0] == told[1]


def test_a_try_that_fails_is_the_worst_and_ends_nothing(people, monkeypatch):
    made, tried = chooses.measure_and_draw, []

    def failing(request, *rest):
        tried.append(request.name)
        if len(tried) != 1:
            raise MethodError("something that was measured")
        return made(request, *rest)

    monkeypatch.setattr(chooses, "measure_and_draw", failing)
    monkeypatch.setattr(chooses.LawOfTries, "sample", lambda *_: 3)
    best = us.choose(people, SCHEMA, CHOICE, epsilon=4).manifest
    assert len(tried) == 3
    assert best.method == tried[0]
    with pytest.raises(MethodError, match="No candidate could make a release"):
        us.choose(people, SCHEMA, CHOICE, epsilon=4)


def test_a_continued_run_draws_nothing_again(people, tmp_path, monkeypatch):
    """It ends after its second try; the tries, their noise and their number stay as they were."""
    seen, asked = [], Gate.ask

    def ask(gate, mechanism, **spend):
        answer = asked(gate, mechanism, **spend)
        if isinstance(mechanism, TableDistance):
            seen.append(answer.value)
            if len(seen) == 2:
                raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(chooses.LawOfTries, "sample", lambda *_: 4)
    monkeypatch.setattr(Gate, "ask", ask)
    run = us.RunOptions(checkpoint=tmp_path / "checkpoint", seed=3)
    with pytest.raises(KeyboardInterrupt):
        us.choose(people, SCHEMA, CHOICE, epsilon=4, run=run)
    monkeypatch.setattr(chooses.LawOfTries, "sample", lambda *_: pytest.fail("drawn again"))
    with pytest.raises(CheckpointError, match="another request"):
        us.choose(people, SCHEMA, CHOICE, epsilon=5, run=run)
    release = us.choose(people, SCHEMA, CHOICE, epsilon=4, run=run)
    assert len(seen) == 6
    assert seen[2:4] == seen[:2]
    assert release.manifest.choice["excess"] == min(seen)
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            {"candidates": [us.SynthesisOptions(method="contingency-table")]},
            NotPrivateError,
            "guarantee",
        ),
        ({"candidates": CANDIDATES[:1] * 2}, MethodError, "listed twice"),
        ({"accept": {"height": 0.1}}, MethodError, "no column"),
    ],
)
def test_what_can_fail_fails_before_rows_are_read(change, error, words):
    choice = replace(CHOICE, **change)
    with pytest.raises(error, match=words):
        us.plan_choice(SCHEMA, choice, epsilon=4)
    with pytest.raises(error, match=words):
        us.choose("no such file", SCHEMA, choice, epsilon=4)


@pytest.fixture(scope="module")
def with_delta(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("approximate") / "release"
    candidates = [*CANDIDATES, us.SynthesisOptions(method="marginals")]
    choice = replace(CHOICE, candidates=candidates)
    us.choose(people, SCHEMA, choice, epsilon=4, delta="1e-6").save(folder)
    return folder


def test_with_delta_a_try_has_the_rho_that_the_law_allows_and_the_best_has_none(with_delta):
    manifest = us.Release.load(with_delta).manifest
    *own, selection = [F(step["rho_exact"]) for step in manifest.ledger]
    allowed = CHOICE.law_of_tries.rho_within(F(4), F(1, 10**6))
    assert allowed * F(99, 100) < sum(own) <= allowed
    assert sum(own) + selection == Budget.of(4, "1e-6").amount
    promise = manifest.guarantee
    assert (promise.kind, promise.epsilon, promise.delta) == ("approximate", 4, F(1, 10**6))
    assert promise.rho is None
    assert all(word != "broken" for _, word, _ in understudy_verify.verify(with_delta))
    page = (with_delta / "report.html").read_text(encoding="utf-8")
    assert "by Rényi divergences of the best of several tries" in page
    assert "zero-concentrated" not in page


def test_with_delta_a_plan_says_what_a_try_costs():
    plan = us.plan_choice(SCHEMA, CHOICE, epsilon=4, delta="1e-6")
    allowed = CHOICE.law_of_tries.rho_within(F(4), F(1, 10**6))
    assert allowed * F(99, 100) < plan.shares.one.amount <= allowed
    assert plan.shares.run.amount + plan.shares.check == plan.shares.one.amount
    assert all(one.budget == plan.shares.run for one in plan.plans)
    assert "costs ε = 4, δ = 0.000001" in plan.remarks[0]


def test_with_delta_nothing_is_added_to_it(people, with_delta, tmp_path):
    question = {"title": "Age", "asked_by": "Ann", "analyses": [{"kind": "mean", "formula": "age"}]}
    with pytest.raises(MethodError, match="no answer can be added"):
        us.answer(question, people, with_delta, epsilon=1)


BOUND = us.Schema.loads(SCHEMA.dumps() + '\n[ledger]\npopulation = "adults"\n')
ALLOTTED = {"epsilon": 1, "delta": "1e-6", "selection_epsilon": 9, "selection_delta": "3e-6"}


def governed(tmp_path, neighbours="add_remove", **caps):
    ledger = PopulationLedger.create(tmp_path / "people.ledger")
    ledger.add(Population("adults", "adult", "board", neighbours, Caps.of(**caps)))
    return ledger


def test_with_delta_a_ledger_without_a_part_for_it_refuses_before_rows_are_read(
    with_delta, tmp_path
):
    ledger = governed(tmp_path, rho=5)
    run = us.RunOptions(ledger=tmp_path / "people.ledger", by="Ann")
    with pytest.raises(LedgerError, match="no part for selections with δ"):
        us.choose("no such file", BOUND, CHOICE, epsilon=4, delta="1e-6", run=run)
    with pytest.raises(LedgerError, match="no part for selections with δ"):
        ledger.enter(past_release(with_delta), "adults")
    assert len(ledger.history()) == 2


def test_with_delta_a_run_costs_its_epsilon_and_delta_even_if_it_is_continued(
    people, tmp_path, monkeypatch
):
    ledger, asked = governed(tmp_path, **ALLOTTED), Gate.ask

    def ask(gate, mechanism, **spend):
        answer = asked(gate, mechanism, **spend)
        if isinstance(mechanism, TableDistance):
            raise KeyboardInterrupt
        return answer

    place = tmp_path / "checkpoint"
    run = us.RunOptions(ledger=tmp_path / "people.ledger", by="Ann", checkpoint=place)
    with monkeypatch.context() as patched:
        patched.setattr(Gate, "ask", ask)
        with pytest.raises(KeyboardInterrupt):
            us.choose(people, BOUND, CHOICE, epsilon=4, delta="1e-6", run=run)
    assert ledger.totals("adults").reserved.selected == 4
    us.choose(people, BOUND, CHOICE, epsilon=4, delta="1e-6", run=run).save(tmp_path / "out")
    assert [row.kind for row in ledger.history()[2:]] == ["reserve", "charge", "commit", "commit"]
    totals = ledger.totals("adults")
    assert (totals.spent.selected, totals.spent.delta) == (4, F(1, 10**6))
    assert (totals.spent.zcdp, totals.reserved.selected) == (0, 0)
    assert (totals.epsilon, totals.delta) == (4, F(2, 10**6))
    with pytest.raises(LedgerError, match=r"Only ε = 5 with δ = 0\.000002 is left"):
        us.choose("no such file", BOUND, CHOICE, epsilon=6, delta="1e-6", run=run)
    assert ledger.verify() == []


def test_with_delta_answers_come_from_a_second_release_that_the_usual_part_pays_for(
    people, with_delta, tmp_path
):
    ledger = governed(tmp_path, **ALLOTTED)
    ledger.enter(past_release(with_delta), "adults")
    run = us.RunOptions(ledger=tmp_path / "people.ledger", by="Ann")
    asked = {"delta": "1e-6", "analyses": ["mean age ~ job"], "method": "independent"}
    second = us.synthesize(people, BOUND, epsilon="0.9", run=run, **asked)
    second.save(tmp_path / "answers")
    low, high = us.analyze(second, "mean", "age ~ job").pooled.interval()
    middle, half = (low + high) / 2, (high - low) / 2
    assert (half < 12).all()
    assert (abs(middle - 49.5) < 3 * half).all(), "six standard errors: even ages from 0 to 99"
    totals = ledger.totals("adults")
    assert (totals.spent.selected, totals.spent.delta) == (4, F(1, 10**6))
    assert totals.delta == F(2, 10**6)
    assert totals.epsilon == pytest.approx(4.9, rel=1e-9)
    with pytest.raises(LedgerError, match="nothing was entered"):
        us.synthesize("no such file", BOUND, epsilon="0.9", run=run, **asked)
    assert ledger.verify() == []


def test_with_delta_what_was_made_before_is_entered_as_its_epsilon_and_delta(
    people, with_delta, tmp_path, monkeypatch
):
    """An interrupted run too: the ρ of its journal is a price, and no ρ of what it gave out."""
    place, asked = tmp_path / "checkpoint", Gate.ask

    def ask(gate, mechanism, **spend):
        answer = asked(gate, mechanism, **spend)
        if isinstance(mechanism, TableDistance):
            raise KeyboardInterrupt
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(Gate, "ask", ask)
        with pytest.raises(KeyboardInterrupt):
            us.choose(
                people,
                SCHEMA,
                CHOICE,
                epsilon=4,
                delta="1e-6",
                run=us.RunOptions(checkpoint=place),
            )
    ledger = governed(tmp_path, **ALLOTTED)
    ledger.enter(past_release(with_delta), "adults")
    with pytest.raises(LedgerError, match="entered before"):
        ledger.enter(past_release(with_delta), "adults")
    ledger.enter(past_release(place), "adults")
    spent = ledger.totals("adults").spent
    assert (spent.selected, spent.delta, spent.zcdp) == (8, F(2, 10**6), 0)
    assert ledger.verify() == []


def test_commands_declare_a_part_for_selections_and_show_it(with_delta, tmp_path):
    place = str(tmp_path / "people.ledger")
    of = ["--ledger", place, "--unit", "adult", "--governor", "board", "--epsilon", "1"]
    part = ["--delta", "1e-6", "--selection-epsilon", "9", "--selection-delta", "3e-6"]
    for words in (
        ["ledger", "init", "--ledger", place],
        ["ledger", "population", "adults", *of, *part],
        ["ledger", "add", str(with_delta), "--ledger", place, "-p", "adults"],
    ):
        assert CliRunner().invoke(app, words).exit_code == 0
    shown = CliRunner().invoke(app, ["ledger", "show", "--ledger", place])
    told = " ".join(shown.output.split())
    assert "ε, selections 4 0 0" in told
    assert "δ, selections 0.000001 0 0" in told
    assert "Spent and reserved, at δ = 0.000002: ε = 4" in told
    assert "ε = 9 with δ = 0.000003 for selections (added to the former)" in told


def test_with_delta_a_law_that_allows_less_to_a_try_is_refused(with_delta, tmp_path):
    folder = tmp_path / "altered"
    shutil.copytree(with_delta, folder)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["ledger"][-1]["sensitivity"] = selection_words(F(1), F(1, 100))
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ReleaseError, match="selection cost less"):
        us.Release.load(folder)
    told = {rule: (word, why) for rule, word, why in understudy_verify.verify(folder)}
    assert told["noise"] == ("broken", "its selection cost less than its tries")


def test_a_plan_says_what_tries_cost():
    plan = us.plan_choice(SCHEMA, replace(CHOICE, tries=20), epsilon=4)
    assert plan.shares.one.epsilon == 2
    assert [one.budget.epsilon for one in plan.plans] == [F(9, 5)] * 2
    assert 0.5 < plan.chance < 1
    assert plan.law.expected == pytest.approx(20, rel=0.01)


def test_the_command_makes_and_plans_it(people, tmp_path):
    people.write_csv(tmp_path / "people.csv")
    SCHEMA.save(tmp_path / "people.toml")
    (tmp_path / "choice.toml").write_text(FILE)
    told = ["choose", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "people.toml")]
    told += ["--choice", str(tmp_path / "choice.toml"), "-e", "4", "--out", str(tmp_path / "out")]
    planned = CliRunner().invoke(app, [*told, "--plan"])
    assert planned.exit_code == 0
    assert "costs 2 times that" in planned.output
    made = CliRunner().invoke(app, [*told, "--json"])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["choice"]["tries"] == 4
    assert us.Release.load(tmp_path / "out").guarantee.epsilon == 4
    assert not (tmp_path / "out.checkpoint").exists()


def test_a_ledger_is_told_of_one_charge_however_many_tries_there_are(people, tmp_path, monkeypatch):
    ledger = PopulationLedger.create(tmp_path / "people.ledger")
    ledger.add(Population("adults", "adult", "board", "add_remove", Caps.of(pure=5)))
    bound = us.Schema.loads(SCHEMA.dumps() + '\n[ledger]\npopulation = "adults"\n')
    monkeypatch.setattr(chooses.LawOfTries, "sample", lambda *_: 3)
    run = us.RunOptions(ledger=tmp_path / "people.ledger", by="Ann")
    us.choose(people, bound, CHOICE, epsilon=4, run=run).save(tmp_path / "release")
    assert [row.kind for row in ledger.history()[2:]] == ["reserve", "charge", "commit", "commit"]
    assert ledger.totals("adults").spent.pure == 4
    with pytest.raises(LedgerError):
        us.choose(people, bound, CHOICE, epsilon=4, run=run)


def test_an_answer_can_be_added_to_it(people, published):
    question = {"title": "Age", "asked_by": "Ann", "analyses": [{"kind": "mean", "formula": "age"}]}
    amended = us.answer(question, people, published, epsilon=1)
    assert amended.guarantee.epsilon == 5
    assert amended.manifest.choice == us.Release.load(published).manifest.choice


def test_the_command_shares_the_options_of_releases_with_synthesize():
    groups = [set(inspect.signature(function).parameters) for function in (choose, synthesize)]
    shared = set(inspect.signature(_making).parameters)
    assert {"out", "seed", "csv_raw", "sign", "members", "resume"} <= shared
    assert all(shared <= group for group in groups)
