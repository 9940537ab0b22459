"""Verdicts read back from pages, and the page that sums up the papers."""

import re
import sys
from pathlib import Path

import pytest

import understudy as us
from understudy.methods.registry import configure
from understudy_studies.all_studies import STUDIES
from understudy_studies.framework.claim_verdicts import comparison, count, judged
from understudy_studies.framework.page_verdicts import (
    UNKNOWN,
    PagePoint,
    about,
    counted,
    kinds,
    points_of,
)
from understudy_studies.framework.page_writer import markdown_table
from understudy_studies.framework.verdict_causes import difference, reading

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
import verdicts as command  # noqa: E402

PAGE = (ROOT / "docs" / "evidence" / "papers.md").read_text(encoding="utf-8")
SPANS = re.findall(r"`([^`\n]+)`", PAGE)
METHODS = {facts.name for facts in us.list_methods()}
STUDIES_OF_PAPERS = sorted(name for studies in command.PAPERS.values() for name in studies)
LOST = reading("x | y is lost; see a table.")


def test_points_are_read_back_as_they_were_written():
    written = (
        judged("Tea is |warm|.", "So it is", [True] * 20),
        judged("Tea | is green.", "Some is", [True, False], why=LOST),
        judged("All is.", "None", [False], why=difference("it is not; see a table.")),
        judged("Why?", "No", [False]),
    )
    page = f"# A\n\n{markdown_table(comparison(written))}\n\n| other | table |\n|---|---|\n"
    assert points_of(page) == (
        PagePoint("Tea is |warm|.", "agrees", ""),
        PagePoint("Tea | is green.", "partly", "reading"),
        PagePoint("All is.", "not", "difference"),
        PagePoint("Why?", "not", UNKNOWN),
    )
    assert points_of("no table") == ()


def test_points_are_counted_and_chosen_by_words():
    points = (PagePoint("Warm tea", "agrees", ""), PagePoint("Cold TEA", "not", "wording"))
    assert counted(points) == {"agrees": 1, "partly": 0, "not": 1}
    assert about(points, ["cold"]) == points[1:]
    assert about(points, ["tea", "x"]) == about(points, []) == points
    assert kinds(points) == "wording 1"


@pytest.mark.parametrize("name", STUDIES_OF_PAPERS)
def test_a_page_has_as_many_points_as_it_says(name):
    """Its own sentence of findings counts the same."""
    page = command.page_of(name)
    found = counted(points_of(page))
    assert sum(found.values()) > 0
    said = re.search(r"agree with our measurement: (\d+); in part: (\d+); not: (\d+)\.", page)
    if said is not None:
        assert [int(number) for number in said.groups()] == list(found.values())
    assert count([]).startswith("The paper makes 0 points")


def test_every_study_beside_a_paper_is_counted():
    pages = {name for name in STUDIES if (ROOT / "docs" / "evidence" / f"{name}.md").exists()}
    beside = {name for name in pages if points_of(command.page_of(name))}
    assert set(STUDIES_OF_PAPERS) <= beside
    assert beside - set(STUDIES_OF_PAPERS) <= {"coverage", "bootstrap-coverage", "utility"}


def test_both_pages_of_papers_have_the_verdicts_of_the_studies():
    """`python benchmarks/verdicts.py --write` makes it so."""
    found = command.pages()
    assert command.with_verdicts(PAGE, found) == PAGE
    assert command.summary(found) == command.COUNTS.read_text(encoding="utf-8")


def test_a_row_that_names_no_point_is_refused():
    pages = {"pegs": (PagePoint("Tea.", "agrees", ""),)}
    with pytest.raises(SystemExit, match="no study 'pigs'"):
        command.with_verdicts("| a | <!-- pigs --> |", pages)
    with pytest.raises(SystemExit, match="No point of pegs"):
        command.with_verdicts("| a | <!-- pegs: coffee --> |", pages)


def test_every_file_and_page_that_it_names_exists():
    files = [span for span in SPANS if re.fullmatch(r"[\w/.-]+\.(py|toml|md)", span)]
    links = re.findall(r"\]\(([\w./-]+)\)", PAGE)
    assert len(files) > 80
    assert [one for one in files if not (ROOT / one).exists()] == []
    assert [one for one in links if not (ROOT / "docs" / "evidence" / one).exists()] == []


def test_every_method_and_option_that_it_names_exists():
    named = [span for span in SPANS if span.split()[0] in METHODS]
    assert sum("=" in span for span in named) > 40
    for span in named:
        name, *options = span.split()
        pairs = [option.split("=", 1) for option in options]
        configure(name, {key: value.split(",") if "," in value else value for key, value in pairs})


def test_every_method_of_the_papers_has_a_row():
    """But for those whose papers are others."""
    others = {"marginals", "aim", "mst", "independent", "censored-posterior"}
    named = {span.split()[0] for span in SPANS}
    assert others < METHODS
    assert METHODS - others - named == set()


def test_every_row_of_a_table_is_whole():
    tables = re.split(r"\n\n", PAGE)
    for table in tables:
        rows = [line for line in table.splitlines() if line.startswith("|")]
        widths = {len(re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in rows}
        assert len(widths) <= 1, rows[0]
