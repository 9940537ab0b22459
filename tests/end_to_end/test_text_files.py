"""Text files from end to end: drafted, checked, released and compared, in the form they have."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.evaluate.evaluate import rows_in_memory
from understudy.schema import Schema

COLUMNS = """
[columns.city]
kind = "categorical"
levels = ["K\u00f6ln", "Ulm"]
source = "law"
reviewed = true
[columns.share]
kind = "continuous"
lower = 0
upper = 1
bins = 4
decimals = 2
source = "law"
reviewed = true
"""
FORM = '[file]\nencoding = "windows-1252"\nseparator = ";"\ndecimal = ","\nsource = "letter"\n'
GERMAN = Schema.loads(FORM + COLUMNS)


def table(n=400):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"city": rng.choice(["K\u00f6ln", "Ulm"], n), "share": rng.random(n).round(2)}
    )


@pytest.fixture
def german(tmp_path, monkeypatch):
    """A file as many offices write them, with one malformed line."""
    monkeypatch.chdir(tmp_path)
    table().to_csv("a.csv", sep=";", decimal=",", encoding="windows-1252", index=False)
    with Path("a.csv").open("ab") as stream:
        stream.write(b'"K\x81;1\n')
    return "a.csv"


def test_a_file_of_another_form_is_released_whatever_its_lines_hold(german):
    release = us.synthesize(german, GERMAN, method="independent", epsilon=1000)
    assert release.guarantee.kind == "pure"
    inputs = {one.what: one.source for one in release.guarantee.public_inputs}
    form = "how a text file is written: encoding 'windows-1252', separator ';', decimal ','"
    assert inputs[form] == "letter"
    made = release.sets[0]  # both distances are six standard deviations: false alarms below 1e-8
    assert abs((made["city"] == "Ulm").mean() - (table()["city"] == "Ulm").mean()) < 0.15
    assert abs(made["share"].mean() - table()["share"].mean()) < 0.1
    release.save("release")
    assert Schema.load("release/schema.toml").file == GERMAN.file


def test_the_release_says_on_what_line_breaks_inside_quotes_rest(german):
    schema = Schema.loads(FORM + "multiline = true\n" + COLUMNS)
    release = us.synthesize(german, schema, method="independent", epsilon=1)
    assert release.guarantee.kind == "conditional"
    assert "can hide up to 99 lines that follow it" in release.guarantee.statement


def test_a_form_that_stands_as_it_was_drafted_makes_the_guarantee_conditional(german):
    text = us.draft(german)
    schema = Schema.loads(text)
    drafted = schema.file.model_copy(update={"reviewed": True})
    release = us.synthesize(
        german, GERMAN.model_copy(update={"file": drafted}), method="independent", epsilon=1
    )
    assert release.guarantee.kind == "conditional"
    assert any("encoding, separator, decimal" in leak for leak in release.guarantee.leaks)
    release.save("release")
    assert not any(
        print_ in Path("release/schema.toml").read_text(encoding="utf-8")
        for print_ in schema.file.drafted.values()
    )


def test_comparisons_read_the_file_in_the_form_of_the_schema(german):
    rows = rows_in_memory(german, GERMAN)
    assert rows.height == len(table()) + 1
    assert rows["share"].to_list()[:3] == [f"{x:.2f}".rstrip("0") for x in table()["share"][:3]]
    release = us.synthesize(german, GERMAN, method="independent", epsilon=1)
    assert us.evaluate(german, release) is not None
    points = us.tradeoff(
        german, GERMAN, public=True, methods=["independent"], epsilons=[1], repetitions=1
    ).points
    assert [one.refused for one in points] == [""]


def test_commands_draft_and_check_a_file_of_another_form(german, understudy):
    assert understudy("schema", "draft", german, "--out", "draft.toml").code == 0
    text = Path("draft.toml").read_text(encoding="utf-8")
    assert 'separator = ";"' in text
    assert 'levels = ["K\u00f6ln", "Ulm"]' in text
    refused = understudy(
        "synthesize", german, "--schema", "draft.toml", "--epsilon", "1", "--out", "release"
    )
    assert refused.code == 2
    assert "[file]" in refused.err
    checked = understudy("schema", "check", german, "draft.toml")
    assert checked.code == 2
    said = " ".join((checked.out + checked.err).split())
    assert "line 402 holds bytes that are not windows-1252 text" in said
    assert "holds values" not in said
    Path("a.csv").write_bytes(Path("a.csv").read_bytes().replace(b'"K\x81;1\n', b""))
    assert understudy("schema", "check", german, "draft.toml").code == 0
