"""README and guides show only what runs and what is there: Python, schemas, commands, links."""

import io
import json
import os
import random
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import understudy as us
from schemas import column
from understudy import _parallel
from understudy.cli.app import app
from understudy.dp import randomness
from understudy.dp.budget import Budget
from understudy.inference.analyze import amended_answers
from understudy.ledger.account import Cost
from understudy.ledger.ledger import PopulationLedger
from understudy.methods.registry import METHODS
from understudy.workflow import synthesize
from understudy_verify import verify

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
WRITTEN = (
    "start",
    "how-to",
    "understand",
    "reference",
)  # evidence is generated, but for some pages
BY_HAND = ("answers", "literature", "precision", "records", "speed", "studies", "verdicts")
PAGES = (
    *(
        README,
        ROOT / "CONTRIBUTING.md",
        *(DOCS / f"evidence/{name}.md" for name in BY_HAND),
    ),
    *sorted(page for part in WRITTEN for page in (DOCS / part).glob("*.md")),
)
STEWARD = (
    *("steward", "runs", "declare", "regression", "minimum-count"),
    *("verdict", "look", "publish"),
)
ANALYST = ("analyst", "some-records", "models", "two-traits", "bins", "more", "draw", "export")
BLOCK = re.compile(r"^```([\w{}-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#([\w-]+))?\)|(?:src|srcset)=\"([^\"]+)\"")


def blocks(page, *languages):
    """Language and text of the blocks of a page that are run, from top to bottom."""
    return [one for one in BLOCK.findall(page.read_text(encoding="utf-8")) if one[0] in languages]


def run(page, scope):
    """Run a page as its reader would: commands, Python, and schemas, saved.

    These are the first one, and those whose first line names their file.
    """
    for language, text in blocks(page, "python", "console", "toml"):
        if language == "python":
            exec(text, scope)
        elif language == "console":
            for command in text.splitlines():
                program, *arguments = shlex.split(command)
                if program == "understudy-verify":
                    assert "broken" not in {said[1] for said in verify(Path(arguments[0]))}
                    continue
                assert program == "understudy"
                assert not app(arguments, standalone_mode=False), command
        elif named := re.match(r"# (\w+\.toml)\n", text):
            Path(named[1]).write_text(text, encoding="utf-8")
        elif not Path("people.toml").exists():
            Path("people.toml").write_text(text, encoding="utf-8")


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """An empty folder, and bits that are the same in each run.

    The pages show commands without seeds. Of their answers about one in a hundred is refused by a
    false alarm of the checks of bounds and domains, whose probability is stated there.
    """
    bits = random.Random(22)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())  # nobody answers what a review asks
    monkeypatch.setattr(randomness, "os", SimpleNamespace(urandom=bits.randbytes, getpid=os.getpid))
    monkeypatch.setattr(synthesize, "secrets", SimpleNamespace(randbits=bits.getrandbits))
    monkeypatch.setattr(_parallel, "processors", lambda: 1)  # others would load all this again
    return tmp_path


def test_the_readme_runs(workplace, capsys):
    scope: dict = {}
    run(README, scope)
    assert len(scope["release"].sets) == 5
    shown = capsys.readouterr().out
    assert "Approximate differential privacy with ε = 1, δ = 0.000001" in shown
    assert "correlation of age and yrs_married" in shown


@pytest.mark.nightly
def test_the_guides_run_from_top_to_bottom(workplace, capsys):
    scope: dict = {}
    run(DOCS / "how-to/steward.md", scope)
    assert scope["again"].manifest == scope["release"].manifest
    for name in (*STEWARD[1:], "ledger", *ANALYST):
        run(DOCS / f"how-to/{name}.md", {})
    run(DOCS / "understand/methods.md", {})
    run(DOCS / "how-to/choose.md", {})
    run(DOCS / "how-to/schema.md", {})
    shown = capsys.readouterr().out
    assert "CONFIDENTIAL" in shown
    assert "Approximate differential privacy with ε = 1, δ = 0.000001" in shown
    assert "Spent and reserved, at δ = 0.000001: ε = 1.45467107771" in shown
    assert "multiple-synthesis: Bayesian models" in shown


def test_the_guide_to_files_runs(workplace):
    for library in ("pyreadstat", "sqlglot"):
        pytest.importorskip(library, reason="an extra is not installed")
    run(DOCS / "how-to/files.md", scope := {})
    assert 'value_labels = { 1 = "men", 2 = "women", 9 = "refused" }' in Path(
        "people.draft.toml"
    ).read_text(encoding="utf-8")
    assert us.Schema.loads(scope["text"]).names == ("sex", "age")


def test_the_page_on_the_promise_says_what_it_prints(workplace, capsys):
    page = DOCS / "understand/promise.md"
    run(page, {})
    first, *_ = shown = capsys.readouterr().out.splitlines()
    rows = re.findall(
        r"^\| ([\d.]+) \| ([\d.]+ of 100) \| (\d+ %) \|$", page.read_text("utf-8"), re.M
    )
    assert [f"{one}: {found}, {believed}" for one, found, believed in rows] == shown[:5]
    assert "μ = 0.2367: 8.0 of 100" in shown
    assert first == "0.1: 5.5 of 100, 11 %"


def printed(page):
    """What a page says that its blocks print: its blocks without a language."""
    return [" ".join(text.split()) for _, text in blocks(page, "")]


def test_the_pages_on_epsilon_and_on_cells_say_what_they_print(workplace, capsys):
    page = DOCS / "understand/epsilon.md"
    run(page, scope := {})
    shown = " ".join(capsys.readouterr().out.split())
    assert len(printed(page)) == 4
    assert all(text in shown for text in printed(page))
    ledger = PopulationLedger.open("board.ledger")
    a_year = [Budget.of(epsilon, "1e-6", approximate="gdp") for epsilon in ("0.94", "0.95")]
    costs = [Cost("gdp", budget.amount, "add_remove") for budget in a_year]
    ledger.require("members", costs[0])
    with pytest.raises(us.UnderstudyError, match="1 of 4 waves"):
        ledger.require("members", costs[1])
    assert scope["one_year"] == pytest.approx(0.943, abs=5e-4)
    run(DOCS / "understand/disclosure.md", {})
    shown = capsys.readouterr().out.splitlines()
    assert sum("cannot be told from 0" in line for line in shown) == 9


def test_the_page_on_what_is_public_says_what_it_prints(workplace, capsys):
    page = DOCS / "understand/public.md"
    run(page, {})
    shown = " ".join(capsys.readouterr().out.split())
    assert len(printed(page)) == 2
    assert all(text in shown for text in printed(page))


def test_the_guide_to_the_desk_writes_what_it_walks_over(workplace):
    pytest.importorskip("statsmodels", reason="an extra is not installed")
    run(DOCS / "start/desk.md", {})
    assert us.Schema.load("desk/fair.toml").names
    assert Path("desk/fair.csv").exists()


@pytest.mark.nightly
def test_the_guide_to_households_runs(workplace, capsys):
    run(DOCS / "how-to/households.md", scope := {})
    shown = " ".join(capsys.readouterr().out.split())
    assert "Every column fits the schema" in shown
    assert "row of the table 'household' with all its rows of the table 'person'" in shown
    assert "region[north]" in shown
    assert "works[yes]" in shown
    assert "sampling error is that of a sample of household units" in shown
    assert "records as drawn one by one, and those of one household are alike" in shown
    assert scope["release"].schema.members.rows_per_unit == 3
    assert "spells >= 1" in shown
    assert scope["panel"].schema.members.order == ("wave",)
    assert "Weighted by w" in shown
    assert "10 to 30 % of its finite population (sampling plan)" in shown


def test_the_guides_to_tables_and_places_of_others_run(workplace, capsys):
    run(DOCS / "how-to/read.md", scope := {})
    assert scope["release"].guarantee.kind == "none"
    run(DOCS / "how-to/places.md", scope := {})
    assert scope["places"].total("all").estimate == pytest.approx(474)
    assert abs(scope["found"].total("n2").estimate - 150) < 60
    assert scope["better"].total("n2").error < scope["found"].total("n2").error
    shown = capsys.readouterr().out
    assert "As stated by Statistical Office of Freedonia: ε = 1" in shown
    assert "table of sex + age, rule noise-aware" in shown


@pytest.mark.nightly
def test_the_first_two_tutorials_are_followed_to_the_letter(workplace, capsys):
    """From a table of 20 columns to a folder that is checked, answered from, and refuses."""
    run(DOCS / "start/first-release.md", scope := {})
    assert scope["people"].shape[1] == len(us.Schema.load("people.toml").names) == 20
    run(DOCS / "start/answers.md", scope)
    shown = capsys.readouterr().out
    assert "mean of income ~ sex" in shown
    assert "No valid error bars (not-measured)" in shown
    assert "Ask the publisher: understudy synthesize" in shown
    assert len(scope["table"]) == 2
    assert {"lower", "upper"} <= set(scope["table"])


@pytest.mark.nightly
def test_the_life_of_one_project(workplace, capsys):
    (schema,) = (text for _, text in blocks(DOCS / "start/project.md", "toml"))
    Path("residents.toml").write_text(schema, encoding="utf-8")
    run(DOCS / "start/project.md", {})
    shown = capsys.readouterr().out
    assert "is left, open reservations counted whole" in shown, "the third question is refused"
    assert "Yes: mean income > 25000" in shown
    before, after = (us.Release.load(name) for name in ("survey", "survey-2"))
    (told,) = amended_answers(after)
    for name, half in half_widths(before).items():
        assert told.pooled.half_widths[name] < 0.9 * half
    ledger = PopulationLedger.open("board.ledger")
    whats = [json.loads(row.public)["what"] for row in ledger.history() if row.kind == "reserve"]
    assert whats == ["release", "question", "verdict", "release"]
    assert ledger.verify() == []
    assert ledger.totals("residents").epsilon < 3


def half_widths(release):
    frame = us.analyze(release, "ols", "income ~ trained + age").to_frame()
    return dict((frame["upper"] - frame["lower"]) / 2)


def test_the_guide_of_codebooks(workplace, capsys):
    scope: dict = {}
    run(DOCS / "how-to/codebooks.md", scope)
    assert scope["book"].columns["age"].left_as_drafted == ("lower", "upper")
    assert "2 of 4 variables are complete" in " ".join(capsys.readouterr().out.split())
    text = Path("draft.toml").read_text(encoding="utf-8")
    assert "Column 'sex' holds values that are not among the levels and codes" in text
    drafted = us.Schema.loads(text).declared
    assert drafted["income"].left_as_drafted == ("lower", "upper")
    assert drafted["sex"].left_as_drafted == ()


@pytest.mark.nightly
def test_the_guide_to_weights(workplace, capsys):
    """What it says of each number holds in the run, which draws noise anew."""
    schema, finite, grouped, dealt = (
        text for _, text in blocks(DOCS / "how-to/weights.md", "toml")
    )
    Path("survey.toml").write_text(schema, encoding="utf-8")
    others = "[columns.w]" + schema.partition("[columns.w]")[2]
    assert us.Schema.loads(grouped + "\n" + others).design.groups == "village"
    numbered = grouped[grouped.index("[columns.village]") :].replace("random_groups = true", "")
    numbered = numbered.replace("village", "group", 1)
    assert us.Schema.loads(f"{dealt}\n{others}\n{numbered}").design.groups == "group"
    fractions = us.Schema.loads(finite + "\n" + others).design.fpc
    assert fractions.strata == {"town": 0.4}
    scope: dict = {}
    run(DOCS / "how-to/weights.md", scope)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Weighted by w" in shown
    assert "public design effect 1.3 (quality report 2024, table 5)" in shown
    assert "10 to 40 % of its finite population (sampling plan, table 2)" in shown
    assert us.Schema.load("finite.toml").design.fpc == fractions
    low, high = scope["weighted"].pooled.interval()
    assert low[0] < 32_000 < high[0], "of the population; of the records it is 36,000"
    assert scope["records"]["calibrated_weight"].sum() == pytest.approx(10_000)


def test_the_schemas_that_are_shown_can_be_read():
    names = ("steward", "files", "rules")
    (schema,), (form,), (rules, relations) = (
        [text for _, text in blocks(DOCS / f"how-to/{name}.md", "toml")] for name in names
    )
    assert us.Schema.loads(f"{schema}\n{form}").file.separator == ";"
    body = [column(name, "continuous", lower=1, upper=200) for name in ("weight", "height")]
    stay = [column(name, "integer", lower=0, upper=99) for name in ("admitted", "discharged")]
    levels = {"county": ["North", "West", "Middle"], "state": ["Coast", "Inland"]}
    places = [column(name, "categorical", levels=names) for name, names in levels.items()]
    whole = us.Schema.loads("\n".join([schema, *body, *stay, *places, rules, relations]))
    assert (len(whole.derived), len(whole.relations)) == (3, 2)


def test_the_kinds_that_are_shown_can_be_read():
    times, heaps, identifier, codes = (
        text for _, text in blocks(DOCS / "reference/kinds.md", "toml")
    )
    schema = us.Schema.loads(times + identifier + codes)
    schema.require_reviewed()
    assert [len(column.heaps) for column in us.Schema.loads(heaps).columns.values()] == [3, 2, 2]
    assert list(schema.identifiers) == ["patient"]
    assert schema.columns["county"].hierarchy.branches(schema.columns["county"].levels) == (
        ("north", "north", "south", "south"),
    )


def test_the_schema_that_says_nothing_twice_can_be_read():
    (text,) = (text for _, text in blocks(DOCS / "how-to/schema.md", "toml"))
    columns = us.Schema.loads(text).columns
    assert columns["view_roads"] == columns["view_taxes"]
    assert columns["view_roads"].value_labels["-9"] == "do not know"
    assert columns["region"].source == "questionnaire, part B"


def test_no_block_that_could_be_run_is_left_out():
    """What a test runs has a language; without one stand commands of make, pip and studies.

    What is in R is run by `tests/r/test_r_package.py`.
    """
    for page in PAGES:
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            assert language in {"", "python", "console", "toml", "r", "{code-cell}"}, (
                page,
                language,
            )
            if not language:
                assert not re.search(r"^understudy (?!study )", text, re.MULTILINE), (page, text)
    names = (
        *(
            "start/first-release",
            "start/answers",
            "start/project",
            "understand/epsilon",
            "understand/methods",
            "understand/public",
            "reference/kinds",
        ),
        *(f"how-to/{name}" for name in (*STEWARD, "rules", "choose", *ANALYST)),
        *(f"how-to/{name}" for name in ("ledger", "files", "schema", "codebooks")),
        *(f"how-to/{name}" for name in ("households", "places", "read", "weights")),
    )
    run_here = {DOCS / f"{name}.md" for name in names} | {README}
    run_here |= {DOCS / "reference/release-format.md"}  # tests/test_understudy_verify.py
    assert {page for page in PAGES if blocks(page, "console", "toml")} <= run_here
    assert {page for page in PAGES if blocks(page, "r")} == {DOCS / "how-to/r.md"}


def anchors(page):
    """Where a link into a page may lead: its headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert links or page.parent.name == "reference"
    for path, anchor, picture in links:
        target = page.parent / (path or picture)
        assert "://" in path or target.exists(), path or picture
        assert not anchor or anchor in anchors(target), (path, anchor)


def test_every_point_of_the_readme_that_sets_it_apart_names_its_test():
    text = README.read_text(encoding="utf-8").partition("## What sets it apart")[2]
    points = [row for row in text.partition("\n## ")[0].splitlines() if row.startswith("| **")]
    assert len(points) > 3
    for point in points:
        assert re.search(r"\(tests/[\w/]+\.py\)", point), point


def test_the_guide_to_methods_names_no_other_and_each_once():
    text = (DOCS / "understand/methods.md").read_text(encoding="utf-8")
    named = [
        name
        for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", row)
    ]
    assert len(named) > 20
    assert len(set(named)) == len(named)
    assert set(named) <= set(METHODS)


def test_answers_with_numbers_say_what_their_studies_say():
    """Each bold number stands in a page that its answer links to."""
    _, *answers = (DOCS / "evidence/answers.md").read_text("utf-8").split("\n## ")
    assert len(answers) == 10
    for answer in answers:
        linked = [DOCS / "evidence" / path for path, *_ in LINK.findall(answer)]
        text = " ".join(" ".join(page.read_text("utf-8") for page in linked).split())
        numbers = re.findall(r"\*\*(.+?)\*\*", " ".join(answer.split()))
        assert len(numbers) > 1
        assert [one for one in numbers if one not in text.replace("**", "")] == [], answer[:40]
        assert "`understudy " in answer or "`python " in answer or "`make " in answer
    certificate = (DOCS / "evidence/certificate.md").read_text("utf-8")
    lines = re.findall(r"^\| .* \| (no|yes) \| 20\d\d-.*\|$", certificate, re.MULTILINE)
    worst = re.findall(r"\(worst case\) \|.*?\|.*?\| ([\d.]+) \|.*\| 20\d\d-", certificate)
    passed, unseen = (certificate.count(f"Audit: **{word}**") for word in ("passed", "no evidence"))
    assert set(lines) == {"no"}, "No line of an audit raised one."
    assert 0 < passed < unseen, "More than half have no evidence."
    assert {min(worst), max(worst)} == {"0.90", "0.99"}


def test_the_guide_to_studies_names_all_that_make_runs():
    names = re.findall(r"understudy study ([\w-]+)", (ROOT / "Makefile").read_text("utf-8"))
    assert len(names) > 8
    text = (DOCS / "evidence/studies.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in names)


def test_the_readme_is_one_page():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 110
