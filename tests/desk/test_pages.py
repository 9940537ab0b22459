"""Every page of the desk without a browser: what it shows, refuses, and never shows."""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import time
import zipfile
from fractions import Fraction
from html import unescape
from types import SimpleNamespace

import polars as pl
import pytest

import understudy as us
from desk_visits import Visitor, finished_project, hidden, refusal, survey
from made_members import tables
from understudy._storage import PROGRESS_VARIABLE, make_key
from understudy.cli.app import app
from understudy.desk import runs
from understudy.release.folder import checksums
from understudy.report.text import figure
from understudy.steward.review import Review

pytest.importorskip("starlette", reason="The desk is not installed (extra desk).")


@pytest.fixture
def in_this_process(monkeypatch):
    """Commands of ours, which the desk runs in processes of their own: each takes seconds to begin.
    `test_a_form_of_the_file_that_is_known…` runs one as it is."""

    def run(words, folder, stdout, stderr):
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            try:
                return app([*words], standalone_mode=False) or 0
            except us.UnderstudyError as error:
                stderr.write(f"Error: {error}")
                return 2

    as_it_is = runs._short

    def short(words, folder):
        if words[0] == "-c":
            return as_it_is(words, folder)
        said, wrong = io.StringIO(), io.StringIO()
        code = run(words[2:], folder, said, wrong)
        return not code, (said.getvalue() + wrong.getvalue() * bool(code)).strip()

    class Ended:
        """A process that has come to its end when it has begun."""

        pid = os.getpid()

        def __init__(self, words, *, cwd, stdout, stderr, env, **_):
            with (
                open(stdout, "w", closefd=False) as out,
                open(stderr, "w", closefd=False) as said,
                pytest.MonkeyPatch.context() as patch,
            ):
                patch.setenv(PROGRESS_VARIABLE, env[PROGRESS_VARIABLE])
                self.code = run(words[3:], cwd, out, said)

        def poll(self):
            return self.code

    monkeypatch.setattr(runs, "_short", short)
    given = {**vars(subprocess), "Popen": Ended}
    monkeypatch.setattr(runs, "subprocess", SimpleNamespace(**given))


def schema_of(n_columns, *, reviewed):
    """A schema, as a draft of so many columns or reviewed."""
    text = 'title = "People"\nrows = "public"\nn_rows = 5000\n'
    for k in range(n_columns):
        text += f"\n[columns.column_number_{k}]\n"
        if k % 3:
            text += 'kind = "categorical"\nlevels = ["a", "b", "c"]\n'
        else:
            text += 'kind = "integer"\nlower = 0\nupper = 100\nbins = 5\n'
        text += f'source = "codebook, page {k}"\nreviewed = {str(reviewed).lower()}\n'
    return text


@pytest.mark.parametrize("n_columns", [pytest.param(5, marks=pytest.mark.nightly), 35])
def test_every_page_before_a_release_is_shown(tmp_path, n_columns):
    visitor = Visitor(tmp_path)
    project = visitor.new_project()
    project.write_text("schema.toml", schema_of(n_columns, reviewed=True))
    asked = [{"kind": "mean", "formula": "column_number_0"}]
    project.write("questions.toml", {"analyses": asked})
    visitor.post("plan", do="save", epsilon="1", delta="1e-6", sets="2")
    for page in ("file", "schema", "questions", "plan", "approve", "release"):
        answer = visitor.get(page)
        assert answer.status_code == 200, page
        assert not refusal(answer), page
        assert "Show as command" in answer.text or page in ("file", "release")
        assert "style=" not in answer.text
        assert not re.search(r"<script(?! src)", answer.text)
    for page in ("look", "publish", "asked"):
        assert visitor.get(page).headers["location"].endswith("/release")


def test_one_decision_for_all_that_a_codebook_says(tmp_path):
    visitor = Visitor(tmp_path)
    visitor.new_project().write_text("schema.toml", schema_of(35, reviewed=False))
    page = visitor.get("schema")
    assert "Accept 35 from public sources" in page.text
    assert visitor.post("schema", do="accept sourced", stamp=hidden(page, "stamp")).is_redirect
    assert "All is decided" in visitor.get("schema").text
    visitor.post("schema", do="undo")
    assert "Accept 35 from public sources" in visitor.get("schema").text


def drafted(visitor, n_columns=1):
    """A project with a draft, as the command leaves it."""
    data = visitor.root / "rows.csv"
    pl.DataFrame(
        {f"c{k}": [400 + 7 * (i * 37 % 60) for i in range(600)] for k in range(n_columns)}
    ).write_csv(data)
    text = us.draft(data)
    visitor.new_project().write_text("schema.toml", text)
    return text


def test_what_was_read_from_the_rows_is_shown_in_the_confidential_view_alone(tmp_path):
    visitor = Visitor(tmp_path)
    text = drafted(visitor)
    upper = re.search(r"upper = (\d+)", text)[1]
    assert upper not in visitor.get("schema").text.partition("<main")[2]
    visitor.post("schema", do="confidential")
    assert upper in visitor.get("schema").text
    assert "CONFIDENTIAL" in visitor.get("schema").text
    assert [one["what"] for one in visitor.project.log()][-1] == "confidential view opened"
    visitor.post("schema", do="confidential")
    assert upper not in visitor.get("schema").text.partition("<main")[2]


@pytest.mark.usefixtures("in_this_process")
def test_where_rows_do_not_fit_is_told_in_the_confidential_view_alone(tmp_path):
    visitor = Visitor(tmp_path)
    text = drafted(visitor)
    visitor.project.update(data=str(tmp_path / "rows.csv"))
    visitor.project.write_text("schema.toml", re.sub(r"lower = \d+", "lower = 500", text))
    visitor.post("schema", do="confidential")
    assert visitor.post("schema", do="check", at="0").is_redirect
    assert "holds values below" in wait(visitor, "schema").text
    visitor.post("schema", do="confidential")
    assert "holds values" not in visitor.get("schema").text


def test_one_source_for_bounds_of_many_is_asked_about_twice(tmp_path):
    visitor = Visitor(tmp_path)
    drafted(visitor, 6)
    stamp = hidden(visitor.get("schema"), "stamp")
    form = {"do": "confirm many", "tick": [*"012345"], "many_source": "codebook, page 2"}
    asked = visitor.post("schema", stamp=stamp, **form)
    assert "states these very bounds" in asked.text
    assert not visitor.post("schema", stamp=stamp, **form).is_redirect
    assert visitor.post("schema", stamp=stamp, bounds="yes", **form).is_redirect
    assert "All is decided" in visitor.get("schema").text


def test_a_card_is_changed_kept_and_taken_out(tmp_path):
    visitor = Visitor(tmp_path)
    drafted(visitor, 3)

    def decide(at, **form):
        stamp = hidden(visitor.get("schema"), "stamp")
        return visitor.post("schema", at=at, stamp=stamp, **form)

    assert "confirm them with a source" in refusal(decide("0", do="accept"))
    assert "needs a source" in refusal(decide("0", do="confirm"))
    assert "no entry" in refusal(decide("0", do="edit", entry="nonsense"))
    assert decide(
        "0", do="edit", entry="lower = 0, upper = 900, bins = 9", source="law"
    ).is_redirect
    assert "Tick that" in refusal(decide("1", do="keep"))
    assert decide("1", do="keep", sure="yes").is_redirect
    assert decide("2", do="exclude").is_redirect
    found = visitor.get("schema?at=1").text
    assert "conditional" in found
    assert "[columns.c2]" not in (visitor.project.folder / "schema.toml").read_text()


@pytest.mark.parametrize(
    ("picked", "formula"),
    [
        ({"kind": "mean", "first": "column_number_0"}, "column_number_0"),
        (
            {"kind": "ols", "first": "column_number_0", "others": ["column_number_1"]},
            "column_number_0 ~ column_number_1",
        ),
        (
            {"kind": "correlation", "first": "column_number_0", "others": ["column_number_3"]},
            "column_number_0 + column_number_3",
        ),
    ],
)
def test_questions_are_picked(tmp_path, picked, formula):
    visitor = Visitor(tmp_path)
    visitor.new_project().write_text("schema.toml", schema_of(5, reviewed=True))
    assert visitor.post("questions", do="add", **picked).is_redirect
    assert visitor.project.read("questions.toml")["analyses"] == [
        {"kind": picked["kind"], "formula": formula}
    ]
    assert "there already" in refusal(visitor.post("questions", do="add", **picked))
    assert visitor.post("questions", do="remove:0").is_redirect
    assert not visitor.project.has("questions.toml")


def test_what_is_no_question_is_refused_with_a_sentence(tmp_path):
    visitor = Visitor(tmp_path)
    visitor.new_project().write_text("schema.toml", schema_of(5, reviewed=True))
    for form in (
        {"kind": "mean", "first": ""},
        {"kind": "ols", "first": "column_number_0"},
        {"kind": "correlation", "first": "column_number_0"},
        {"kind": "mean", "formula": "income"},
        {"kind": "median", "first": "column_number_0", "others": ["column_number_1"]},
    ):
        assert refusal(visitor.post("questions", do="add", **form)).endswith((".", "?"))


def test_a_wanted_width_gives_the_least_epsilon_and_is_kept(tmp_path):
    visitor = Visitor(tmp_path)
    visitor.new_project().write_text("schema.toml", schema_of(5, reviewed=True))
    visitor.post("questions", do="add", kind="mean", first="column_number_0")
    form = {"epsilon": "1", "delta": "1e-6", "sets": "2", "wanted_0": "1.5"}
    found = visitor.post("plan", do="least", **form)
    epsilon = re.search(r'name="epsilon" value="([^"]+)"', found.text)[1]
    assert 0.01 < float(epsilon) < 1
    assert "sampling alone leaves" in refusal(
        visitor.post("plan", do="least", **form | {"wanted_0": "0.001"})
    )
    assert "a number such as" in refusal(
        visitor.post("plan", do="least", **form | {"wanted_0": "much"})
    )
    assert visitor.post("plan", do="save", **form | {"epsilon": epsilon}).is_redirect
    kept = visitor.project.read("plan.toml")
    assert kept["wanted"] == {"mean column_number_0": "1.5"}
    assert kept["epsilon"] == epsilon


def test_a_budget_that_cannot_be_is_refused_beside_the_slider(tmp_path):
    visitor = Visitor(tmp_path)
    visitor.new_project().write_text("schema.toml", schema_of(5, reviewed=True))
    for form in ({"epsilon": "-1"}, {"epsilon": "1", "delta": "2"}, {"epsilon": "much"}):
        assert refusal(visitor.post("plan", do="preview", **form))
        assert visitor.post("plan", do="save", **form).status_code == 422
    assert not visitor.project.has("plan.toml")
    moved = visitor.post("plan", do="slide:epsilon", slide_epsilon="1000", epsilon="1")
    assert 'name="epsilon" value="20"' in moved.text


def half_width(page):
    return float(re.search(r"± ([\d.]+)", page.text)[1])


def test_sliders_of_delta_and_of_parts_move_the_intervals_and_the_command(tmp_path):
    visitor = Visitor(tmp_path)
    project = visitor.new_project()
    project.write_text("schema.toml", schema_of(5, reviewed=True).replace("public", "private"))
    text = (project.folder / "schema.toml").read_text().replace("n_rows", "row_limit")
    project.write_text("schema.toml", text)
    visitor.post("questions", do="add", kind="mean", first="column_number_0")
    form = {"epsilon": "1", "delta": "1e-6", "sets": "2"}
    usual = visitor.post("plan", do="preview", **form)
    assert 'name="answers" value="" placeholder="0.5"' in usual.text
    assert "Places" not in usual.text
    asked = {"epsilon": 1, "delta": "1e-6", "sets": 2, "analyses": ["mean column_number_0"]}
    least, largest = us.plan(project.folder / "schema.toml", **asked).expected[0].ends
    assert f"± {figure(least)} to {figure(largest)}<" in usual.text
    more = visitor.post("plan", do="slide:answers", slide_answers="80", **form)
    assert 'name="answers" value="0.8"' in more.text
    assert half_width(more) < half_width(usual)
    less = visitor.post("plan", do="slide:delta", slide_delta="7", **form)
    assert 'name="delta" value="1e-10"' in less.text
    assert half_width(less) > half_width(usual)
    parts = {"rows": "0.1", "answers": "0.6", "lines": "0.05", "layer": "0.1"}
    whole = visitor.post("plan", do="preview", **form, **parts)
    command = "--budget rows=0.1,answers=0.6,lines=0.05,layer=0.1"
    assert command in whole.text
    assert "The records have the rest: 25 %" in whole.text
    beyond = visitor.post("plan", do="slide:lines", slide_lines="40", **form, **parts)
    assert "must leave something for the records" in refusal(beyond)
    assert 'id="slide_lines"' in beyond.text
    assert visitor.post("plan", do="save", **form, **parts).is_redirect
    assert command in visitor.get("approve").text
    assert project.read("plan.toml")["rows"] == "0.1"


def test_pages_are_the_same_for_two_tables_with_one_schema(tmp_path):
    pages = []
    for value in ("1", "2"):
        root = tmp_path / "same"
        root.mkdir()
        visitor = Visitor(root)
        (root / "rows.csv").write_text(f"column_number_0\n{value}\n")
        project = visitor.new_project()
        project.update(data=str(root / "rows.csv"), title="T", unit="one person", rows="public")
        project.write_text("schema.toml", schema_of(5, reviewed=True))
        visitor.post("plan", do="save", epsilon="1", delta="1e-6", sets="2")
        found = [
            visitor.get(page).text.replace(visitor.app.door.csrf, "")
            for page in ("/", "file", "schema", "questions", "plan", "approve")
        ]
        found.append(
            visitor.post("file", do="picking:data").text.replace(visitor.app.door.csrf, "")
        )
        pages.append(found)
        root.rename(tmp_path / f"done-{value}")
    assert pages[0] == pages[1]


@pytest.mark.usefixtures("in_this_process")
def test_a_ledgers_page_shows_what_is_spent(tmp_path):
    pytest.importorskip("sqlalchemy")
    from understudy.ledger.account import Caps, Cost, Population
    from understudy.ledger.ledger import PopulationLedger

    visitor = Visitor(tmp_path)
    ledger = PopulationLedger.create(tmp_path / "ledger.db")
    caps = Caps.of(epsilon=2, delta="1e-6")
    ledger.add(Population("adults", "one adult", "census office", "replace", caps))
    assert "ledger" in refusal(visitor.post("/ledger", ledger="nothing.db")).lower()
    assert visitor.post("/ledger", ledger="ledger.db").is_redirect
    page = visitor.get("/ledger").text
    assert "adults" in page
    assert "0 % spent" in page
    project = visitor.new_project()
    text = schema_of(5, reviewed=True) + '\n[ledger]\npopulation = "adults"\n'
    project.write_text("schema.toml", text)
    project.update(ledger=str(tmp_path / "ledger.db"), population="adults")
    planned = visitor.post("plan", do="preview", epsilon="1", delta="1e-6").text
    share = float(re.search(r"([\d.]+) % planned", planned)[1])
    assert 15 < share < 35  # half of ε is about a quarter of what a cap in Gaussian DP holds
    beyond = visitor.post("plan", do="preview", epsilon="3", delta="1e-6").text
    assert "more than the cap leaves" in beyond
    project.write_text(
        "schema.toml", text.replace("\n[", '\n[unit]\ndescription = "one adult"\n[', 1)
    )
    visitor.post("plan", do="save", epsilon="3", delta="1e-6", sets="2")
    form = {"by": "A. Steward", "do": "approve"}
    digest = hidden(visitor.get("approve"), "digest")
    assert "cap" in refusal(visitor.post("approve", digest=digest, **form))
    visitor.post("plan", do="save", epsilon="1", delta="1e-6", sets="2")
    digest = hidden(visitor.get("approve"), "digest")
    assert visitor.post("approve", digest=digest, **form).is_redirect
    more = Cost("gdp", Fraction(1, 100), "replace")
    ledger.reserve("adults", more, "release", "ab" * 8, "B. Clerk")
    entries = visitor.get("/ledger").text
    assert "<td>B. Clerk</td><td>adults</td><td>reserve</td><td>release, μ²/2 = 0.01" in entries


@pytest.mark.usefixtures("in_this_process")
def test_an_approval_reserves_in_the_ledger_until_it_is_withdrawn(tmp_path):
    pytest.importorskip("sqlalchemy")
    from understudy.ledger.account import Caps, Population
    from understudy.ledger.ledger import PopulationLedger

    visitor = Visitor(tmp_path)
    ledger = PopulationLedger.create(tmp_path / "ledger.db")
    ledger.add(Population("adults", "adult", "board", "replace", Caps.of(pure=6)))
    project = visitor.new_project()
    text = schema_of(5, reviewed=True).replace(
        'rows = "public"\nn_rows', 'rows = "private"\nrow_limit'
    )
    text = text.replace("\n[", '\n[unit]\ndescription = "one adult"\n[', 1)
    project.write_text("schema.toml", f'{text}\n[ledger]\npopulation = "adults"\n')
    pl.DataFrame(
        {f"column_number_{k}": ["a"] * 99 if k % 3 else [9] * 99 for k in range(5)}
    ).write_csv(tmp_path / "rows.csv")
    project.update(
        ledger=str(tmp_path / "ledger.db"), population="adults", data=str(tmp_path / "rows.csv")
    )

    def approve(epsilon):
        visitor.post("plan", do="save", epsilon=epsilon, delta="0", sets="1")
        digest = hidden(visitor.get("approve"), "digest")
        return visitor.post("approve", do="approve", by="A. Steward", digest=digest)

    def reserved():
        totals = ledger.totals("adults")
        return totals.reserved.pure, len(totals.open)

    assert approve("2").is_redirect
    assert approve("2").is_redirect
    assert reserved() == (4, 1)  # rows whose number is private count double
    (number,) = ledger.totals("adults").open
    page = visitor.get("approve").text
    assert f"Reserved under number {number}." in page
    assert "66.7 % reserved, 0 % planned" in page
    visitor.post("plan", do="save", epsilon="2.5", delta="0", sets="1")
    page = visitor.get("approve").text
    assert "66.7 % reserved, 83.3 % planned" in page
    assert f"Reserved under number {number}, for an earlier approval" in page
    assert "more than the cap leaves" not in page
    assert approve("2.5").is_redirect  # what was reserved before is given back first
    assert reserved() == (5, 1)
    assert "cap" in refusal(approve("4"))
    assert reserved() == (0, 0)
    assert approve("1").is_redirect
    assert visitor.post("approve", do="withdraw").is_redirect
    assert reserved() == (0, 0)
    assert "not approved" in refusal(visitor.post("release", do="start"))
    assert approve("1").is_redirect
    assert visitor.post("release", do="start").is_redirect
    assert "The release is made" in wait(visitor, "release").text
    assert (ledger.totals("adults").spent.pure, reserved()) == (2, (0, 0))
    assert ledger.verify() == []


def test_a_form_of_the_file_that_is_known_is_not_asked_about(tmp_path):
    visitor = Visitor(tmp_path)
    rows = "".join(f"{k % 7},5^{'ab'[k % 2]}\n" for k in range(200))
    (tmp_path / "rows.csv").write_text(f"x^y\n{rows}")
    visitor.new_project()
    assert "<details><summary>How the file is written" in visitor.get("file").text
    form = {"separator": "^", "decimal": ",", "source": "manual, page 3"}
    said = {"title": "People", "unit": "one person", "rows": "private", "data": "rows.csv"}
    assert visitor.post("file", do="save", **said, **form).is_redirect
    assert "A run of this project" in refusal(visitor.post("file", do="save", **said, **form))
    page = wait(visitor, "schema").text
    assert "How the text file is written" not in page
    assert us.Schema.load(schema_at(visitor)).file.sources == "manual, page 3"


def wait(visitor, page):
    """Until the run is done."""
    for _ in range(600):
        if not runs.last(visitor.project).active:
            return visitor.get(page)
        time.sleep(0.2)
    raise AssertionError("The run does not end.")


@pytest.mark.usefixtures("in_this_process")
def test_documents_are_written_beside_the_release(tmp_path):
    visitor = Visitor(tmp_path)
    visitor.visit(finished_project(tmp_path))
    for kind in ("citation", "thresholds"):
        assert visitor.post("publish", do=kind).is_redirect
    assert "needs a curator" in refusal(visitor.post("publish", do="registry", curator="Office A"))
    told = {"curator": "Office A", "use": "Teaching", "region": "Nowhere"}
    assert visitor.post("publish", do="registry", published="2026-11-28", **told).is_redirect
    folder = visitor.project.folder / "documents"
    names = ["citation.txt", "registry.yaml", "thresholds.txt"]
    assert sorted(one.name for one in folder.iterdir()) == names
    page = visitor.get("publish").text
    assert "codebook in DDI" in page
    for name in names:
        assert checksums(folder)[name].removeprefix("sha256:") in page
    assert "Office A" in (folder / "registry.yaml").read_text(encoding="utf-8")
    assert us.Release.load(visitor.project.folder / "release").manifest.sets == 2


@pytest.mark.whole
@pytest.mark.usefixtures("in_this_process")
def test_from_the_file_to_the_archive_and_the_same_as_the_command(tmp_path):
    pytest.importorskip("statsmodels")
    survey(tmp_path)
    visitor = Visitor(tmp_path)
    visitor.new_project()
    fields = {"data": "fair.csv", "ready": "fair.toml", "rows": "private"}
    assert visitor.post("file", do="save", **fields).is_redirect
    visitor.post("questions", do="add", kind="mean", first="affairs")
    visitor.post("plan", do="save", epsilon="1", delta="1e-6", sets="2")
    digest = hidden(visitor.get("approve"), "digest")
    visitor.post("approve", do="approve", by="A. Steward", digest=digest)
    shown = re.search(r"<code>.*?\n(understudy synthesize .*?)</code>", visitor.get("release").text)
    assert visitor.post("release", do="start").is_redirect
    assert "The release is made" in wait(visitor, "release").text
    assert "release already" in refusal(visitor.post("release", do="start"))
    folder = visitor.project.folder
    assert not (folder / "release.checkpoint" / "journal.jsonl").exists()
    manifest = json.loads((folder / "release" / "manifest.json").read_text())
    assert shown is not None
    assert "--epsilon 1 --delta 1e-6 --sets 2 --analyses questions.toml" in shown[1]
    assert manifest["budget"]["epsilon"] == "1"
    assert manifest["sets"] == 2
    assert [one["formula"] for one in manifest["analyses"]] == ["affairs"]
    assert "6366" not in (folder / "log.jsonl").read_text()
    assert visitor.get("framed/report.html").status_code == 200
    assert "not accepted" in refusal(visitor.post("publish", do="archive"))
    assert "Say why" in refusal(visitor.post("look", do="accepted"))
    visitor.post("look", do="accepted", reason="fit for its use")
    assert "manifest.json" in visitor.get("publish").text
    assert 'class="good"' in visitor.post("publish", do="verify").text
    make_key(tmp_path / "key.pem")
    assert 'class="good"' in visitor.post("publish", do="sign", key="key.pem").text
    assert visitor.post("publish", do="archive").is_redirect
    names = zipfile.ZipFile(folder / "release.zip").namelist()
    assert "release/manifest.sig" in names
    assert not [name for name in names if not name.startswith("release/")]


@pytest.mark.usefixtures("in_this_process")
def test_two_tables_are_drafted_shown_and_confirmed(tmp_path):
    visitor = Visitor(tmp_path)
    for name, table in tables(40, seed=1).items():
        table.write_csv(tmp_path / f"{name}.csv")
    visitor.new_project()
    said = {"title": "People", "unit": "a household", "rows": "private"}
    files = {"data": "household.csv", "members": "person.csv"}
    assert visitor.post("file", do="save", **said, **files).is_redirect
    page = wait(visitor, "schema")
    assert "age (person)" in page.text
    assert "slots of person" in page.text
    at = next(k for k, path in enumerate(Review.of(schema_at(visitor)).parts) if len(path) == 2)
    confirmed = {"do": "confirm", "at": str(at), "source": "page 3"}
    assert visitor.post("schema", stamp=hidden(page, "stamp"), **confirmed).is_redirect
    form = Review.of(schema_at(visitor))
    assert form.part(("tables", "person")).source == "page 3"
    assert form.schema.declared["size"].reviewed
    asked = visitor.get("questions").text
    assert 'value="age"' in asked
    assert "age_1" not in asked
    project = visitor.project.read("project.toml")
    visitor.post("file", do="save", data=project["data"], members=str(tmp_path / "no.csv"))
    assert visitor.project.read("project.toml")["members"] == project["members"]
    assert visitor.post("schema", do="check", at="0").is_redirect
    wait(visitor, "schema")
    assert json.loads(visitor.project.place("check.json").read_text())["findings"] == []


def schema_at(visitor):
    """Where the schema of a project stands."""
    return visitor.project.place("schema.toml")


@pytest.mark.whole
@pytest.mark.nightly
def test_a_release_of_the_desk_is_that_of_the_command_that_it_shows(tmp_path, monkeypatch):
    """With noise from a seed, byte by byte."""
    pytest.importorskip("statsmodels")
    survey(tmp_path)
    visitor = Visitor(tmp_path)
    project = visitor.new_project()
    fields = {"data": "fair.csv", "ready": "fair.toml", "rows": "private"}
    visitor.post("file", do="save", **fields)
    visitor.post("questions", do="add", kind="mean", first="affairs")
    visitor.post("plan", do="save", epsilon="1", delta="1e-6", sets="2", answers="0.4")
    digest = hidden(visitor.get("approve"), "digest")
    visitor.post("approve", do="approve", by="A. Steward", digest=digest)
    found = re.search(r"<code>.*?\nunderstudy (.*?)</code>", visitor.get("release").text)
    assert "answers=0.4" in found[1]
    seeds = ["--insecure-noise-seed", "5", "--seed", "5"]
    start = runs.start
    monkeypatch.setattr(runs, "start", lambda own, what, words: start(own, what, [*words, *seeds]))
    visitor.post("release", do="start")
    assert "The release is made" in wait(visitor, "release").text
    other = tmp_path / "other"
    other.mkdir()
    for name in ("schema.toml", "questions.toml"):
        shutil.copy(project.folder / name, other)
    runs.output([*shlex.split(unescape(found[1])), *seeds], other)
    assert checksums(other / "release") == checksums(project.folder / "release")


@pytest.mark.whole
@pytest.mark.usefixtures("in_this_process")
def test_questions_that_came_are_answered_or_refused_with_a_reason(tmp_path):
    pytest.importorskip("statsmodels")
    visitor = Visitor(tmp_path)
    folder = visitor.visit(finished_project(tmp_path)).folder
    place = tmp_path / "question.toml"
    text = 'title = "Does it differ?"\n[[analyses]]\nkind = "mean"\nformula = "age"\n'
    place.write_text(text + "half_width = 0.6\n")
    asked = visitor.post("asked", do="plan", question="question.toml")
    assert "the answer adds" in asked.text
    form = {"question": "question.toml", "epsilon": hidden(asked, "epsilon")}
    form["digest"] = hidden(asked, "digest")
    assert "Say why" in refusal(visitor.post("asked", do="refuse", **form))
    assert visitor.post("asked", do="refuse", reason="too dear", **form).is_redirect
    assert "question refused: too dear" in visitor.get("asked").text
    assert "name of whoever approves" in refusal(visitor.post("asked", do="approve", **form))
    place.write_text(text + "half_width = 0.5\n")
    changed = visitor.post("asked", do="approve", by="A. Steward", **form)
    assert "changed since its cost was shown" in refusal(changed)
    place.write_text(text + "half_width = 0.6\n")
    assert visitor.post("asked", do="approve", by="A. Steward", **form).is_redirect
    page = wait(visitor, "asked").text
    assert "amends <code>release-2</code>" in page
    assert "question approved, by A. Steward" in page
    amended = us.Release.load(folder / "release-2")
    assert amended.manifest.amendments[-1].title == "Does it differ?"
    before = us.Release.load(folder / "release").guarantee.epsilon
    assert float(amended.guarantee.epsilon - before) == pytest.approx(float(form["epsilon"]))


@pytest.mark.whole
@pytest.mark.nightly
@pytest.mark.usefixtures("in_this_process")
def test_claims_that_came_have_verdicts(tmp_path):
    pytest.importorskip("statsmodels")
    visitor = Visitor(tmp_path)
    visitor.visit(finished_project(tmp_path))
    place = tmp_path / "question.toml"
    place.write_text('claims = ["mean age > 20", "mean affairs > 9"]\n')
    form = {"question": "question.toml"}
    assert "which ε" in refusal(visitor.post("asked", do="plan", **form))
    planned = visitor.post("asked", do="plan", most="8", **form)
    assert "The verdicts cost ε = 8 together" in planned.text
    form |= {name: hidden(planned, name) for name in ("digest", "epsilon")}
    assert visitor.post("asked", do="approve", by="A. Steward", **form).is_redirect
    assert "<strong>Yes</strong>: mean age &gt; 20" in wait(visitor, "asked").text
