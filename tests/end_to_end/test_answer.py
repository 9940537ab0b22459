"""Questions after a release: what they cost, what they bring, and what the amended release says."""

import json
import shutil
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import understudy as us
from schemas import column
from understudy.dp.budget import Budget
from understudy.errors import (
    InferenceError,
    InsufficientBudgetError,
    MethodError,
    NotPrivateError,
    ReleaseError,
)
from understudy.inference.analyze import amended_answers
from understudy.inference.question_file import question_file
from understudy.release.folder import MANIFEST, digest
from understudy.workflow.amend import Parent, purchases

SCHEMA = us.Schema.loads(
    "row_limit = 10000\n"
    + column("job", "categorical", levels=["a", "b", "c"], source="law")
    + column("city", "categorical", levels=["x", "y"], source="law")
    + column("age", "integer", lower=0, upper=99, bins=5, source="law")
    + column("income", "continuous", lower=0, upper=100, bins=5, source="law")
)
ANALYSES = '[[analyses]]\nkind = "ols"\nformula = "income ~ age"'
MEAN = {"kind": "mean", "formula": "income"}
MODEL = {"kind": "ols", "formula": "income ~ age + job"}
CROSSED = {"kind": "table", "formula": "job + city"}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    n = 2_000
    age = rng.integers(0, 100, n)
    income = np.clip(20 + 0.4 * age + rng.normal(0, 10, n), 0, 100).round(2)
    return pd.DataFrame(
        {
            "job": rng.choice(["a", "b", "c"], n),
            "city": rng.choice(["x", "y"], n),
            "age": age,
            "income": income,
        }
    )


@pytest.fixture(scope="module")
def published(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers") / "release"
    us.synthesize(people, SCHEMA, epsilon=1, delta="1e-6", sets=2, seed=3).save(folder)
    return folder


@pytest.fixture(scope="module")
def amended_folder(people, published, tmp_path_factory):
    folder = tmp_path_factory.mktemp("amended") / "release"
    question = {"title": "Income", "asked_by": "An analyst", "analyses": [MEAN, MODEL, CROSSED]}
    us.answer(question, people, published, epsilon="0.5").save(folder)
    return folder


@pytest.fixture(scope="module")
def amended(amended_folder):
    return us.Release.load(amended_folder)


@pytest.fixture(scope="module")
def answers(amended):
    """Of the three questions: before, of the new measurement alone, and pooled."""
    return amended_answers(amended)


def test_an_amended_release_states_all_that_was_paid(amended, published):
    first = us.Release.load(published)
    budget = Budget.of("1.5", "1e-6", "gdp")
    assert (amended.guarantee.epsilon, amended.guarantee.delta) == (F(3, 2), F(1, 10**6))
    assert amended.manifest.ledger[: len(first.manifest.ledger)] == first.manifest.ledger
    spent = sum(F(entry["half_mu_squared_exact"]) for entry in amended.manifest.ledger)
    assert spent <= budget.amount
    added = spent - sum(F(entry["half_mu_squared_exact"]) for entry in first.manifest.ledger)
    assert added == budget.amount - Budget.of(1, "1e-6", "gdp").amount


def test_it_is_the_same_release_chained_to_the_first(amended, published):
    first = us.Release.load(published)
    assert all(new.equals(old) for new, old in zip(amended.tables, first.tables, strict=True))
    assert amended.schema == first.schema
    behind = [one.to_json() for one in amended.behind_sets]
    assert behind == [one.to_json() for one in first.measurements]
    (amendment,) = amended.manifest.amendments
    assert amendment.parent == digest(published / MANIFEST)
    assert (amendment.title, amendment.asked_by) == ("Income", "An analyst")


def test_answers_are_narrower_and_pooled_by_precision(answers):
    """Sampling is most of the width of a share here, p(1 - p), with p as it was told: it differs by
    .003 (standard deviation of noise) between what is compared, and the width by up to .7 %."""
    for told in answers:
        for name, half in told.pooled.half_widths.items():
            known = [part.half_widths.get(name, np.inf) for part in (told.before, told.alone)]
            assert half <= 1.03 * min(known), (told.formula, name)
    mean = answers[0]
    (before, *_), (alone, *_), (pooled, *_) = (
        next(iter(part.intervals.values())) for part in (mean.before, mean.alone, mean.pooled)
    )
    # A mean is a ratio, and numbers of records are pooled as well: estimates that happen to agree
    # may have one beside both of them, by little of its interval: a tenth was seen among dozens.
    slack = 0.3 * next(iter(mean.pooled.half_widths.values()))
    assert min(before, alone) - slack <= pooled <= max(before, alone) + slack


def test_answers_hold_the_truth(amended, people):
    # Six standard errors each way: 10⁻⁸ that this fails by chance.
    slope = np.polyfit(people["age"], people["income"], 1)[0]
    model = us.analyze(amended, "ols", "income ~ age").to_frame()
    assert abs(model.loc["age", "estimate"] - slope) < 6 * model.loc["age", "stderr"]
    mean = us.analyze(amended, "mean", "income").to_frame().iloc[0]
    assert abs(mean["estimate"] - people["income"].mean()) < 6 * mean["stderr"]


def test_sets_do_not_know_what_was_measured_later(people, tmp_path):
    # `independent` keeps no pair; a table of two that is bought later changes no set.
    us.synthesize(people, SCHEMA, epsilon=1, method="independent", sets=2).save(tmp_path / "one")
    later = us.answer({"analyses": [CROSSED]}, people, tmp_path / "one", epsilon=1)
    assert us.analyze(later, "table", "job + city").valid

    def shares(frame):
        return frame["job"].eq("a").mean(), 0.01

    with pytest.raises(InferenceError):
        us.analyze(later, shares, "job + city")


@pytest.mark.nightly
def test_a_second_amendment_amends_the_first(people, amended, tmp_path):
    folder = tmp_path / "first"
    amended.save(folder)
    twice = us.answer({"analyses": [CROSSED], "chosen": "beforehand"}, people, folder, epsilon=1)
    twice.save(tmp_path / "second")
    loaded = us.Release.load(tmp_path / "second")
    assert loaded.guarantee.epsilon == F(5, 2)
    assert [one.parent for one in loaded.manifest.amendments][1] == digest(folder / MANIFEST)
    assert len(amended_answers(loaded)) == 4
    page = (tmp_path / "second" / "results.html").read_text(encoding="utf-8")
    assert "New measurement alone" in page
    assert "ε 1.5 → 2.5" in page


def altered(folder, place, change):
    """A copy of a release with another manifest."""
    shutil.copytree(folder, place)
    content = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    change(content)
    (place / MANIFEST).write_text(json.dumps(content), encoding="utf-8")
    return place


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["amendments"][0].update(entries=len(content["ledger"])),
        lambda content: content["amendments"][0].update(entries=2),
        lambda content: content["amendments"][0].update(budget=content["budget"]),
        lambda content: content["amendments"][0]["budget"].update(unit="rho"),
        lambda content: content["amendments"].append(content["amendments"][0]),
        lambda content: content["amendments"][0].update(parent="sha256:1"),
        lambda content: content.update(amendments=[]),
    ],
    ids=["beyond", "too few", "no more", "unit", "twice", "parent", "none"],
)
def test_an_altered_chain_is_refused(amended_folder, tmp_path, change):
    with pytest.raises(ReleaseError):
        us.Release.load(altered(amended_folder, tmp_path / "other", change))


def test_what_is_bought_follows_from_the_question():
    def bought(*analyses):
        asked = question_file({"analyses": list(analyses)})
        found = purchases(asked.analyses, SCHEMA, Budget.of(1), {}, {})
        assert sum(purchase.share for purchase in found) == 1
        return [type(purchase.mechanism).__name__ for purchase in found]

    assert bought(CROSSED) == ["NoisyTables"]
    assert bought(MODEL) == ["SecondMoments"]
    assert bought(MEAN) == ["NumberLines", "SecondMoments"]
    assert bought({"kind": "quantile", "formula": "income"}) == ["NumberLines"]
    assert bought({"kind": "mean", "formula": "log(income + 1)"}) == ["NumberLines"]
    assert bought({"kind": "odds-ratio", "formula": "city + {age >= 40}"}) == ["NoisyTables"]
    assert bought(CROSSED, MODEL, MEAN) == ["NoisyTables", "NumberLines", "SecondMoments"]


def test_answers_have_the_tables_of_declared_questions(people, tmp_path):
    """Conditions on numbers that no bin of the release tells, and on levels, which are grouped."""
    us.synthesize(people, SCHEMA, epsilon=1, method="independent").save(tmp_path / "one")
    share = {"kind": "proportion", "formula": "city ~ job where age >= 37"}
    ratio = {"kind": "odds-ratio", "formula": "city + {age >= 37} where job in ['a', 'c']"}
    asked = {"analyses": [share, ratio]}
    us.answer(asked, people, tmp_path / "one", epsilon=8).save(tmp_path / "two")
    later = us.Release.load(tmp_path / "two")
    first, second = [one for one in later.measurements if one.beside]
    assert first.bins == second.bins == {"age": (0, 37, 99)}
    assert second.groups == {"job": (0, 1, 0)}
    kept = people[(people["age"] >= 37) & (people["job"] == "a")]
    found = us.analyze(later, **share).to_frame().loc["city[x] | job[a]"]
    truth = kept["city"].eq("x").mean()
    assert abs(found["estimate"] - truth) < 6 * found["stderr"] < 0.3
    assert us.analyze(later, **ratio).valid


def test_what_a_release_has_in_finer_bins_than_a_line_is_counted_in_these():
    asked = question_file({"analyses": [{"kind": "quantile", "formula": "income"}]})
    fine = SCHEMA.with_bins({"income": tuple(range(101))})
    (purchase,) = purchases(asked.analyses, fine, Budget.of(1), {}, {})
    assert purchase.mechanism.marginals == (("income",),)


def test_a_plan_reads_no_rows_and_foretells_the_widths(published, answers):
    plan = us.plan_answer(
        {"title": "Income", "analyses": [MEAN, MODEL, CROSSED]}, published, epsilon="0.5"
    )
    realised = {name: half for told in answers for name, half in told.pooled.half_widths.items()}
    for gain in plan.gains:
        assert gain.pooled == pytest.approx(realised[gain.name], rel=0.5)
    slope = {"kind": "ols", "formula": "income ~ age", "half_width": 0.05, "term": "age"}
    wanted = us.plan_answer({"analyses": [slope]}, published)
    assert all(gain.reached for gain in wanted.gains)
    assert 0.001 < float(wanted.epsilon) < 10


@pytest.mark.parametrize(
    ("question", "kind", "words"),
    [
        ({}, InferenceError, "analyses"),
        ({"analyses": [MEAN], "claims": ["x"]}, InferenceError, "not both"),
        ({"analyses": [{"kind": "mean", "formula": "wage"}]}, InferenceError, "wage"),
        ({"analyses": [{**MEAN, "code": "import os"}]}, InferenceError, "code"),
        ({"analyses": [{**MEAN, "half_width": -1}]}, InferenceError, "half_width"),
        ({"claims": ["mean income > 3"]}, MethodError, "verdict"),
        ({"analyses": [MEAN], "title": "x" * 3_000}, InferenceError, "title"),
        (7, InferenceError, "path"),
    ],
)
def test_what_is_no_question_is_refused_before_rows_are_read(published, question, kind, words):
    with pytest.raises(kind, match=words):
        us.answer(question, object(), published, epsilon=1)


def test_releases_that_cannot_be_amended(people, published, tmp_path):
    seeded = us.synthesize(people, SCHEMA, epsilon=1, method="independent", insecure_noise_seed=1)
    seeded.save(tmp_path / "seeded")
    with pytest.raises(NotPrivateError, match="not private"):
        us.answer({"analyses": [MEAN]}, people, tmp_path / "seeded", epsilon=1)
    with pytest.raises(ReleaseError):
        us.answer({"analyses": [MEAN]}, people, tmp_path / "none", epsilon=1)
    fake = us.answer({"analyses": [MEAN]}, people, published, epsilon=1, insecure_noise_seed=1)
    assert fake.guarantee.epsilon is None
    assert not fake.manifest.secure


def test_an_answer_spends_what_it_adds_and_no_more(published, people):
    parent = Parent.of(published)
    from understudy.data.table import Table
    from understudy.dp.randomness import SeededRandomness
    from understudy.mechanisms.tables import RowCount
    from understudy.workflow.gates import open_gate

    budget = parent.extend_budget("0.5")
    rows = Table(people, SCHEMA)
    gate = open_gate(rows, budget, SeededRandomness(1), earlier=parent.entries)
    assert gate.remaining == budget.amount - sum(entry.spent for entry in parent.entries)
    with pytest.raises(InsufficientBudgetError):
        gate.ask(RowCount(), spend=budget.amount - parent.budget.amount + F(1, 10**6))


@pytest.mark.nightly
def test_the_command_shows_the_cost_first(understudy, people, published, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    asked = tmp_path / "question.toml"
    asked.write_text(f'title = "Income"\n{ANALYSES}\n', encoding="utf-8")
    told = understudy("answer", asked, "--release", published, "--epsilon", "0.5", "--plan")
    assert (told.code, "1 → 1.5" in told.out) == (0, True)
    out = tmp_path / "amended"
    request = ("answer", asked, tmp_path / "people.csv", "--release", published, "-e", "0.5")
    refused = understudy(*request, "--out", out)
    assert (refused.code, "--yes" in refused.err, out.exists()) == (2, True, False)
    done = understudy(*request, "--out", out, "--yes")
    assert (done.code, "pooled" in done.out) == (0, True)
    assert us.Release.load(out).guarantee.epsilon == F(3, 2)
    again = understudy(*request, "--out", out, "--yes")
    assert (again.code, "already exists" in again.err) == (2, True)


@pytest.mark.parametrize("claims", [False, True])
@pytest.mark.nightly(every=2)
def test_spark_is_opened_for_what_was_approved(
    understudy, published, tmp_path, monkeypatch, claims
):
    """What a session would have read is not asked for: approval comes first."""
    opened = []
    monkeypatch.setattr("understudy.workflow.gates.in_spark", lambda *asked: opened.append(asked))
    asked = tmp_path / "question.toml"
    means = 'claims = ["mean income > 10"]' if claims else ANALYSES
    asked.write_text(f'title = "Income"\n{means}\n', encoding="utf-8")
    request = ["answer", asked, "people", "--release", published, "-e", "0.5", "--engine", "spark"]
    request += [] if claims else ["--out", tmp_path / "amended"]
    refused = understudy(*request)
    assert (refused.code, "--yes" in refused.err, opened) == (2, True, [])
    assert "ask a database" in understudy(*request, "--table", "people", "--yes").err
    assert not opened
    understudy(*request, "--yes")
    ((name, schema),) = opened
    assert (name, schema.names) == ("people", SCHEMA.names)
