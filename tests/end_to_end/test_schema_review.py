"""A draft, its review through a pipe, and the release that comes of it, by the command line."""

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.schema import Schema
from understudy.steward import check as check_file
from understudy.steward import draft
from understudy.steward.review import Review, UnnamedEntriesError, entries_of, split_source

SECRET = "SECRET-VALUE-77"


def drafts(rows, folder):
    """A folder with rows and their draft, as the command writes it."""
    rows.to_csv(folder / "rows.csv", index=False)
    (folder / "draft.toml").write_text(us.draft(folder / "rows.csv"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    rng = np.random.default_rng(4)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 300),
            "sex": rng.choice(["f", "m"], 300),
            "job": rng.choice(["none", "some", SECRET], 300, p=[0.5, 0.49, 0.01]),
            "mood": rng.choice([1, 2, 9], 300),
            "joy": rng.choice([1, 2, 9], 300),
        }
    )
    return drafts(rows, tmp_path_factory.mktemp("answers"))


@pytest.fixture
def drafted(answers, monkeypatch, understudy, tmp_path):
    """An empty folder with rows and their draft, and a function that reviews it by some answers."""
    shutil.copytree(answers, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def review(*answers, options=()):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{one}\n" for one in answers)))
        return understudy("schema", "review", "draft.toml", *options)

    return review


def schema():
    return Schema.load("draft.toml")


def test_from_a_draft_by_its_review_to_a_release(drafted, understudy):
    first = drafted(
        "?", "v sex in letters", "1", "q", options=["--data", "rows.csv", "--accept-sourced"]
    )
    assert first.code == 0
    assert "Accepted at once, 1 from public sources alone:\n  age: convention: ages" in first.out
    assert "CONFIDENTIAL, by the rows: the column holds values that are not among" in first.out
    assert "1  sex in letters: f, m" in first.out
    assert "c SOURCE" in first.out
    assert "2 decisions, 3 left as drafted." in first.out
    assert "Not reviewed: job, mood, joy." in first.out
    assert schema().columns["sex"].levels == ("f", "m")

    second = drafted('e levels = ["none", "some", "else"]', "c list of jobs", "c codebook", "=")
    assert "3 decisions are open" in second.out
    assert "4 decisions, 0 left as drafted." in second.out
    assert "The schema is reviewed. `understudy schema check` says" in second.out
    assert schema().columns["joy"].confirmed == {"levels": "codebook"}
    assert schema().columns["job"].source == "list of jobs"
    third = drafted()
    assert "0 decisions, 0 left as drafted." in third.out

    made = understudy(
        *("synthesize", "rows.csv", "--schema", "draft.toml", "-e", "1", "--out", "release"),
        *("--method", "independent", "--quiet"),
    )
    assert made.code == 0
    assert us.Release.load("release").guarantee.kind == "pure"
    assert "lists" not in Path("release/schema.toml").read_text(encoding="utf-8")


def test_what_is_kept_as_drafted_makes_the_guarantee_conditional(drafted):
    told = drafted("s", "k", "no", "k", "yes", options=["--data", "rows.csv", "--accept-sourced"])
    assert "conditional guarantee" in told.out
    assert "2 decisions, 3 left as drafted.\nNot reviewed: sex, mood, joy." in told.out
    kept = schema().columns["job"]
    assert kept.reviewed
    assert kept.left_as_drafted == ("levels",)


@pytest.mark.nightly
def test_conventions_are_accepted_at_once_only_where_the_rows_can_object(drafted, understudy):
    """Claim: without --data, no name alone decides; with it, none that the rows do not fit."""
    alone = drafted("q", options=["--accept-sourced"])
    assert "2 columns wait that names alone have proposed" in alone.out
    assert "Nothing is open that comes from public sources alone." in alone.out
    assert not any(one.reviewed for one in schema().columns.values())
    pd.DataFrame({"issue_month": ["Mar-2018", "Apr-2018"] * 30, "age": [1, 2] * 30}).to_csv(
        "loans.csv", index=False
    )
    assert understudy("schema", "draft", "loans.csv", "-o", "loans.toml").code == 0
    heading = Path("loans.toml").read_text(encoding="utf-8").partition("format")[0]
    assert "the rows do not fit the convention that these names speak of" in heading
    assert "'issue_month'" in heading
    assert "'age'" not in heading
    Path("loans.toml").replace("draft.toml")
    told = drafted("q", options=["--accept-sourced", "--data", "loans.csv"])
    assert told.code == 0
    assert [name for name, one in schema().columns.items() if one.reviewed] == ["age"]


@pytest.fixture
def numbers(drafted):
    """Rows of eight columns of numbers, and a function that reviews their draft."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({f"q{k}": rng.integers(100, 10**5, 300) for k in range(8)})
    drafts(rows, Path())
    return drafted, rows


@pytest.mark.nightly
def test_one_source_for_many_bounds_as_in_the_rows_is_asked_about_again(numbers):
    """Claim: from the fifth column on it is asked once, and no answer but yes confirms."""
    review, _ = numbers
    told = review(*["c codebook"] + ["="] * 3, "=", "no", "=", "yes", "=", "=", "=", "q")
    assert told.out.count("have bounds as the rows have them, and one source, codebook") == 2
    assert all(one.reviewed for one in schema().columns.values())


@pytest.mark.parametrize("with_rows", [True, False])
@pytest.mark.nightly(every=2)
def test_bounds_typed_in_that_are_those_of_the_rows_are_seen_with_the_rows_alone(
    numbers, with_rows
):
    review, rows = numbers
    answers = []
    for name in rows:
        low, high = rows[name].min(), rows[name].max()
        answers += [f"e lower = {low}, upper = {high}, bins = 10", "a codebook"]
    told = review(*answers, "no", "q", options=["--data", "rows.csv"] if with_rows else [])
    assert ("have bounds as the rows have them" in told.out) == with_rows
    n_reviewed = sum(one.reviewed for one in schema().columns.values())
    assert n_reviewed == (4 if with_rows else 8)


def test_columns_are_taken_out_skipped_and_refused(drafted):
    told = drafted(
        "s", "s", "x", "a", "c", "", "e nonsense", "e mood = 3", "k", "no", "x", "x", "q"
    )
    assert told.code == 0
    assert "levels were read from the rows; confirm them with a source" in told.out
    assert "A confirmation needs a source" in told.out
    assert "'nonsense' is no entry" in told.out
    assert "there is no such entry" in told.out
    assert "'joy' cannot be taken out" not in told.out
    assert list(schema().columns) == ["age", "sex"]


def test_an_edit_with_a_source_decides_all_that_it_names_and_nothing_else(
    monkeypatch, understudy, tmp_path
):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"days": np.arange(300) % 61}).to_csv("rows.csv", index=False)
    assert understudy("schema", "draft", "rows.csv", "-o", "draft.toml").code == 0
    before = Path("draft.toml").read_bytes()

    def review(answer):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{answer}\nq\n"))
        return understudy("schema", "review", "draft.toml").out

    told = review("e upper = 730; a form")
    assert "Column 'days': lower also came from the rows; name all of it in this edit" in told
    assert Path("draft.toml").read_bytes() == before
    whole = next(one for one in told.splitlines() if one.endswith("upper = 730; a form"))
    assert whole == f"e lower = {schema().columns['days'].lower}, upper = 730; a form"
    review(whole)
    days = schema().columns["days"]
    assert (days.upper, days.source, days.reviewed) == (730, "a form", True)
    assert (dict(days.confirmed), days.left_as_drafted) == ({"lower": "a form"}, ())


def test_the_whole_answer_to_a_half_edit_works_as_it_stands(tmp_path):
    """Also where levels have commas, quotes and semicolons, and are more than a line holds."""
    odd = ["a; b", "c, d", 'he said "e"', *(f"a long level, the {k}th" for k in range(12))]
    pd.DataFrame({"mood": [*odd, ""] * 30}).to_csv(tmp_path / "rows.csv", index=False)
    place = tmp_path / "draft.toml"
    place.write_text(us.draft(tmp_path / "rows.csv"), encoding="utf-8")
    review = Review.of(place)
    with pytest.raises(UnnamedEntriesError) as refused:
        review.edit(("columns", "mood"), 'description = "a mood"', "codebook, page 3")
    assert "a; b" not in str(refused.value)
    assert "\n" not in refused.value.answer
    decided = review.edit(("columns", "mood"), *split_source(refused.value.answer))
    mood = decided.schema.columns["mood"]
    assert (mood.levels, mood.description) == (review.schema.columns["mood"].levels, "a mood")
    assert (mood.reviewed, mood.left_as_drafted) == (True, ())


def test_a_card_has_the_questions_of_the_draft(monkeypatch, understudy, tmp_path):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    rows = pd.DataFrame({"view": rng.choice([1, 2, 3, 9], 300), "trust": rng.integers(1, 5, 300)})
    rows.to_csv("rows.csv", index=False)
    assert understudy("schema", "draft", "rows.csv", "-o", "draft.toml").code == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("c a form\ns\n"))
    first, second = understudy("schema", "review", "draft.toml").out.split("\ntrust")[:2]
    question = "some levels lie apart from the others: are they codes that belong to `missing`?"
    assert f"CONFIDENTIAL, by the rows: {question}" in first
    assert question not in second


def test_what_came_from_the_rows_is_shown_where_it_is_the_usual_value_too(tmp_path):
    hours = [f"{hour:02d}:{minute:02d}" for hour in range(24) for minute in (0, 30, 59)]
    pd.DataFrame({"begun": hours * 5}).to_csv(tmp_path / "rows.csv", index=False)
    place = tmp_path / "draft.toml"
    place.write_text(us.draft(tmp_path / "rows.csv"), encoding="utf-8")
    review, path = Review.of(place), ("columns", "begun")
    assert {"lower", "upper"} <= {*review.schema.columns["begun"].left_as_drafted}
    assert {"lower", "upper"} <= {*dict(entries_of(review.part(path)))}
    with pytest.raises(UnnamedEntriesError) as refused:
        review.edit(path, 'description = "when"', "a form")
    decided = review.edit(path, *split_source(refused.value.answer))
    assert decided.schema.columns["begun"].left_as_drafted == ()


def test_nobody_answers(drafted, understudy, monkeypatch):
    before = Path("draft.toml").read_bytes()
    told = drafted()
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert (
        "nobody answers there: run it in a terminal, or send the answers through a pipe" in told.err
    )
    monkeypatch.setattr(sys, "stdin", None)
    assert understudy("schema", "review", "draft.toml").err == told.err
    assert Path("draft.toml").read_bytes() == before


def test_several_entries_are_changed_together(drafted):
    told = drafted("e", "lower = 18", "bins = [18, 40, 120]", "", "a questionnaire", "q")
    assert told.code == 0
    age = schema().columns["age"]
    assert (age.lower, age.bins, age.source) == (18, (18, 40, 120), "questionnaire")
    assert age.reviewed


def test_an_entry_with_a_source_is_decided_and_undone(drafted):
    before = Path("draft.toml").read_text(encoding="utf-8")
    told = drafted("e lower = 18, bins = [18, 40, 120]; a questionnaire", "q")
    age = schema().columns["age"]
    assert (age.lower, age.upper, age.source, age.reviewed) == (18, 120, "a questionnaire", True)
    assert "1 decision," in told.out
    Path("draft.toml").write_text(before, encoding="utf-8")
    told = drafted("u", "e lower = 18, bins = [18, 40, 120]; a questionnaire", "u", "q")
    assert "no decision of this session" in told.out
    assert "taken back" in told.out
    assert Path("draft.toml").read_text(encoding="utf-8") == before


def test_many_columns_are_confirmed_by_one_source(drafted):
    told = drafted("m nothing*; codebook", "m sex mo* joy; codebook, page 3", "q")
    assert "No open column has such a name" in told.out
    assert "1 decision," in told.out
    columns = schema().columns
    assert [name for name, one in columns.items() if one.reviewed] == ["sex", "mood", "joy"]
    assert columns["mood"].sources == "codebook, page 3"
    assert not columns["age"].reviewed


class Terminal(io.StringIO):
    """Where a person types."""

    def isatty(self):
        return True


def test_a_title_and_a_unit_are_asked_for_on_a_terminal(drafted, understudy, monkeypatch):
    drafted("q")
    assert schema().title == ""
    monkeypatch.setattr(sys, "stdin", Terminal("A survey\none respondent\nq\n"))
    assert understudy("schema", "review", "draft.toml").code == 0
    assert schema().title == "A survey"
    assert schema().unit.description == "one respondent"
    monkeypatch.setattr(sys, "stdin", Terminal("q\n"))  # and once alone
    assert understudy("schema", "review", "draft.toml").code == 0
    assert not any(one.reviewed for one in schema().columns.values())


def test_no_count_is_shown_and_no_value_that_the_schema_does_not_declare(drafted):
    """Claim: by the rows it is said that something misfits, not what nor how often."""
    text = Path("draft.toml").read_text(encoding="utf-8").replace(f', "{SECRET}"', "")
    text = text.replace(f'"{SECRET}", ', "")
    Path("draft.toml").write_text(text, encoding="utf-8")
    told = drafted("s", "s", "s", "s", "s", options=["--data", "rows.csv"])
    findings = [line for line in told.out.split("\n") if "CONFIDENTIAL" in line]
    asked = [line for line in findings if line.endswith("?")]  # what the draft's heading asks
    assert len(findings) == 2 + len(asked)
    assert all("some levels lie apart" in line for line in asked)
    assert not any(char.isdigit() for line in findings for char in line)
    assert SECRET not in told.out


@pytest.mark.nightly
def test_a_review_that_is_killed_has_lost_no_decision(drafted):
    command = [sys.executable, "-m", "understudy", "schema", "review", "draft.toml"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write("a\nx\nc codebook\n")
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not schema().columns.get("job", schema().columns["age"]).confirmed:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    assert [name for name, one in schema().columns.items() if one.reviewed] == ["age", "job"]
    assert sorted(os.listdir()) == ["draft.toml", "rows.csv"]


def test_no_release_asks_what_a_check_finds(drafted, monkeypatch):
    """Claim: `synthesize` never runs the check, and rows that misfit release like any others."""

    def never(*_, **__):
        raise AssertionError("a release has run the check")

    wrong = pd.read_csv("rows.csv").assign(sex="neither", age=-1)
    declared = schema()
    columns = {
        name: one.model_copy(update={"reviewed": True}) for name, one in declared.columns.items()
    }
    declared = declared.model_copy(update={"columns": columns})
    assert not us.check(wrong, declared).ok
    monkeypatch.setattr(check_file, "check", never)
    monkeypatch.setattr(draft, "check_rows", never)
    made, right = (
        us.synthesize(rows, declared, epsilon=1, method="independent")
        for rows in (wrong, "rows.csv")
    )
    assert made.guarantee.statement == right.guarantee.statement
    assert made.manifest.ledger == right.manifest.ledger
