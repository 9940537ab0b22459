"""The results page: every declared analysis with its answer, or the reason why it has none."""

import html
import json
import math
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from made_matrices import SCHEMA, people
from understudy.cli import render
from understudy.cli.app import app
from understudy.cli.render import show_results
from understudy.errors import MethodError, NotPrivateError
from understudy.inference.analysis import Analysis
from understudy.inference.analyze import Told
from understudy.inference.combining import Pooled
from understudy.inference.declared import Expected
from understudy.inference.refusals import RefusedError
from understudy.report import results_page as results
from understudy.report.results_page import MOST_DRAWN, DeclaredResult, declared_results
from understudy.report.text import figure

pytestmark = pytest.mark.whole

ASKED = [
    "ols y ~ x + sex",
    {"kind": "mean", "formula": "wage ~ region", "asked_by": "the <ministry>"},
    "logit rare ~ np.exp(x)",
    "quantile y",
]


HOW = {"epsilon": 4, "delta": "1e-6", "method": "independent"}


@pytest.fixture(scope="module")
def release():
    rows = people(np.random.default_rng(5), 3000)
    return us.synthesize(rows, SCHEMA, **HOW, analyses=ASKED, insecure_noise_seed=3)


@pytest.fixture(scope="module")
def folder(release, tmp_path_factory):
    return release.save(tmp_path_factory.mktemp("results") / "r")


def test_all_are_there_in_the_order_of_the_declaration(release, check):
    found = check(us.results_page(release))
    places = [found.text.index(text) for text in ("y ~ x + sex", "wage ~ region", "np.exp(x)")]
    assert places == sorted(places)
    assert "4 analyses were declared" in found.text
    assert "1 has no valid answer" in found.text
    assert "Asked for by the <ministry>" in found.text
    assert found.text.count("No answer.") == 1
    assert sum(tag == "svg" for tag, _ in found.tags) == 3


def test_numbers_are_those_of_analyze_and_reasons_those_of_the_refusal(release):
    page = us.results_page(release)
    for kind, formula in [("ols", "y ~ x + sex"), ("mean", "wage ~ region"), ("quantile", "y")]:
        for _, *texts in us.analyze(release, kind, formula).rows():
            for text in (texts[0], texts[3], texts[4]):
                assert f">{html.escape(text)}<" in page
    with pytest.raises(RefusedError) as caught:
        us.analyze(release, "logit", "rare ~ np.exp(x)")
    for line in str(caught.value).splitlines():
        assert html.escape(line, quote=False).replace("'", "&#39;") in page


def planned(release, kind, formula):
    """What `plan` says of the same request by default, by estimate."""
    plan = us.plan(SCHEMA, **HOW, analyses=ASKED)
    assert plan.assumed_rows == release.manifest.expected["records"] == 1000
    return {one.name: one for one in plan.expected if one.analysis == f"{kind} {formula}"}


def test_an_answer_that_tells_little_is_called_wide(check):
    rows = people(np.random.default_rng(5), 3000)
    asked = {**HOW, "epsilon": 0.03, "analyses": ["mean x", "mean wage"]}
    wide = us.synthesize(rows, SCHEMA, **asked, insecure_noise_seed=3)
    told = declared_results(wide)
    n_wide = sum(one.answer is not None and not one.counts for one in told)
    assert n_wide > 0
    assert check(us.results_page(wide)).text.count("Wide: more than 10 times") == n_wide
    assert [one.to_json()["counts"] for one in told] == [one.counts for one in told]


def test_the_plan_stands_beside_the_answer(release, check):
    results = declared_results(release)
    expected = planned(release, "ols", "y ~ x + sex")
    assert results[0].plans == expected
    answer = us.analyze(release, "ols", "y ~ x + sex").to_frame()
    realised = (answer["upper"] - answer["lower"]) / 2
    assert results[0].half_widths == pytest.approx(dict(realised))
    page = us.results_page(release)
    row = page[page.index('<th scope="row">sex[T.m]</th>') :].partition("</tr>")[0]
    low, high = expected["sex[T.m]"].ends
    assert low < high  # no one number says it, as nobody declared what is typical
    assert f'"Half-width" class="n">{figure(realised["sex[T.m]"], 2)}<' in row
    assert f'"Planned" class="n">{figure(low, 2)} to {figure(high, 2)}<' in row
    kept = release.manifest.expected["answers"]
    assert (low, high) in [(one["least"], one["largest"]) for one in kept if "least" in one]
    assert check(page).text.count("for 1,000 records drawn evenly over the schema") == 3
    assert results[3].plans == planned(release, *ASKED[3].split(" ", 1))  # by its number line


def test_a_refusal_keeps_its_plan(release):
    answered = declared_results(release)[0]
    asked = replace(answered, answer=None, refused="Lost.")
    assert asked.half_widths == {}
    told, before = asked.to_json()["planned"], answered.to_json()["planned"]
    assert [one.pop("realised") for one in told] == [None] * 3
    assert all(one.pop("realised") > 0 for one in before)
    assert told == before


def test_the_plan_may_be_for_records_like_those_of_a_release(release, tmp_path):
    asked = {**HOW, "analyses": ["mean y"]}
    asked |= {"assume_rows": 700, "like": release}
    rows = people(np.random.default_rng(6), 500)
    made = us.synthesize(rows, SCHEMA, insecure_noise_seed=3, **asked)
    loaded = us.Release.load(made.save(tmp_path / "r"))
    (result,) = declared_results(loaded)
    assert tuple(result.plans.values()) == us.plan(SCHEMA, **asked).expected
    assert result.planned_for == "700 records like those of an earlier release"
    assert loaded.manifest == made.manifest


def test_no_manifest_expects_what_follows_from_unprotected_records(release):
    asked = {"epsilon": 4, "delta": "1e-6", "analyses": ["mean y"]}
    with pytest.raises(NotPrivateError, match="is not private"):
        us.synthesize("no rows are read", SCHEMA, like=release, **asked)


def test_an_assumption_that_is_none_is_refused_before_rows_are_read(release):
    asked = {"epsilon": 4, "delta": "1e-6", "analyses": ["mean y"], "insecure_noise_seed": 1}
    with pytest.raises(MethodError, match="assume_rows"):
        us.synthesize("no rows are read", SCHEMA, assume_rows=0, **asked)
    columns = {**SCHEMA.columns, "more": SCHEMA.columns["x"]}
    wider = SCHEMA.model_copy(update={"columns": columns})
    with pytest.raises(MethodError, match="lacks the column 'more'"):
        us.synthesize("no rows are read", wider, like=release, **asked)


def test_a_folder_from_before_has_no_plan_and_is_read(folder, tmp_path):
    """Folders of this format that say nothing of it, and none that expect what was not declared."""
    place = tmp_path / "r"
    shutil.copytree(folder, place)
    manifest = place / "manifest.json"
    content = json.loads(manifest.read_text("utf-8"))
    expected = content.pop("expected")
    assert "expected" not in content
    manifest.write_text(json.dumps(content), encoding="utf-8")
    older = us.Release.load(place, compare_pages=False)  # its pages were of its own version
    results = declared_results(older)
    assert [(one.plans, one.planned_for) for one in results] == [({}, "")] * 4
    assert "planned" not in us.results_page(older).lower()
    expected["answers"][0]["analysis"] = "mean of all"
    manifest.write_text(json.dumps(content | {"expected": expected}), encoding="utf-8")
    with pytest.raises(us.UnderstudyError, match="was not declared"):
        us.Release.load(place)
    expected["answers"][0]["noise"] = -1
    manifest.write_text(json.dumps(content | {"expected": expected}), encoding="utf-8")
    with pytest.raises(us.UnderstudyError, match="expected"):
        us.Release.load(place)


def test_it_is_saved_with_a_release_that_has_any_and_read_back(release, folder):
    assert (folder / "results.html").read_text("utf-8") == us.results_page(release)
    assert "results.html" in (folder / "README.md").read_text("utf-8")
    assert "results.html" in (folder / "report.html").read_text("utf-8")
    us.Release.load(folder)


def test_a_release_without_any_has_no_such_page(tmp_path):
    rows = people(np.random.default_rng(5), 200)
    made = us.synthesize(rows, SCHEMA, epsilon=1, method="independent", insecure_noise_seed=1)
    place = made.save(tmp_path / "r")
    assert not (place / "results.html").exists()
    assert "results.html" not in (place / "README.md").read_text("utf-8")
    assert "No analyses were declared" in us.results_page(made)


def test_a_changed_page_is_noticed(folder, tmp_path):
    place = shutil.copytree(folder, tmp_path / "r")
    page = place / "results.html"
    page.write_text(page.read_text("utf-8").replace("Declared", "Undeclared"), encoding="utf-8")
    with pytest.raises(us.UnderstudyError, match=r"results\.html"):
        us.Release.load(place)


def test_the_command_answers_all_and_writes_the_page(release, folder, tmp_path, capsys):
    place = tmp_path / "all.html"
    assert not app(
        ["analyze", str(folder), "--declared", "--page", str(place)], standalone_mode=False
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert "asked for by the <ministry>" in shown
    assert "No valid error bars (not-measured): " in shown
    assert "all.html" in shown
    assert place.read_text("utf-8") == us.results_page(release)
    app(["analyze", str(folder), "--declared", "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in found] == ["ols", "mean", "logit", "quantile"]
    assert [bool(one.get("terms")) for one in found] == [True, True, False, True]
    assert found[2]["refused"].startswith("No valid error bars")
    assert "those planned for 1,000 records drawn evenly" in shown
    for term, plan in zip(found[0]["terms"], found[0]["planned"], strict=True):
        half = (term["upper"] - term["lower"]) / 2
        assert plan["realised"] == pytest.approx(half)
        assert plan["half_width"] == pytest.approx(math.hypot(plan["noise"], plan["sampling"]))
        assert f"± {half:,.3g}" in shown
        assert f"± {plan['least']:,.3g} to {plan['largest']:,.3g}" in shown


def test_a_picture_is_written_and_never_over_a_file(folder, tmp_path, capsys):
    place = tmp_path / "y.svg"
    arguments = ["analyze", str(folder), "ols", "y ~ x", "--plot", str(place)]
    app(arguments, standalone_mode=False)
    assert place.read_text("utf-8") == us.plot(us.analyze(folder, "ols", "y ~ x"))
    with pytest.raises(MethodError, match="already exists"):
        app(arguments, standalone_mode=False)
    with pytest.raises(MethodError, match="cannot go into the release"):
        app([*arguments[:-1], str(folder / "y.svg")], standalone_mode=False)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mean"], "Give a kind and a formula"),
        ([], "Give a kind and a formula"),
        (["mean", "y", "--declared"], "leave kind, formula"),
        (["--declared", "--plot", "a.svg"], "leave kind, formula"),
        (["mean", "y", "--page", "a.html"], "give --declared"),
    ],
)
def test_one_question_or_all_declared_ones(folder, arguments, words):
    with pytest.raises(MethodError, match=words):
        app(["analyze", str(folder), *arguments], standalone_mode=False)


@pytest.mark.parametrize(
    ("formula", "quoted"),
    [("{sex == 'f'} ~ y", "\"{sex == 'f'} ~ y\""), ('{a == "$b"} ~ y', "'{a == \"$b\"} ~ y'")],
)
def test_a_formula_is_quoted_for_a_shell(formula, quoted):
    assert DeclaredResult("ols", formula, "").command == f"understudy analyze release ols {quoted}"


def test_a_long_table_has_no_picture_but_its_numbers(check):
    levels = list(range(MOST_DRAWN + 5))
    column = {"kind": "categorical", "levels": levels, "source": "s", "reviewed": True}
    schema = us.Schema.model_validate({"columns": {"a": column}})
    rows = {"a": np.random.default_rng(1).choice(levels, 5000)}
    made = us.synthesize(
        pd.DataFrame(rows), schema, epsilon=5, analyses=["proportion a"], insecure_noise_seed=1
    )
    (result,) = declared_results(made)
    found = check(us.results_page(made))
    assert len(result.rows) == len(levels)
    assert not any(tag == "svg" for tag, _ in found.tags)
    assert found.text.count(result.rows[-1][1]) >= 1


def without_ends():
    """An answer whose interval has no end, declared with a plan that has none either."""
    pooled = Pooled(
        names=("slope",),
        estimate=np.array([1.5]),
        covariance=np.array([[np.inf]]),
        df=np.array([np.inf]),
        synthesis_share=np.array([1.0]),
        rule="second-moments",
        sets=1,
    )
    answer = Analysis("ols", "y ~ x", pooled, True, "", (), (0.0,))
    planned = (Expected("ols y ~ x", "slope", math.inf, 0.1),)
    return DeclaredResult("ols", "y ~ x", "", answer, "", planned, "1,000 records")


def test_what_tells_nothing_is_no_information_wherever_it_is_printed(capsys):
    result = without_ends()
    assert result.rows == (("slope", "1.5", "no information"),)
    show_results([result], None)
    said = capsys.readouterr().out
    told = Told(result.answer)
    said += f"{results._told_text(told, 'slope')} {render._format_answer(told, 'slope')}"
    said += str(results._table(result))
    assert said.count("no information") >= 6
    assert not re.search(r"\b(nan|inf)\b|∞", said, re.IGNORECASE)
