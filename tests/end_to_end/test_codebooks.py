"""A codebook on the command line: a schema of it, a draft with it, and what goes wrong."""

import shutil

import pytest

from made_codebooks import DDI, DICTIONARY
from understudy.cli.app import app, main
from understudy.schema import Schema


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.xml").write_text(DDI)
    (tmp_path / "book.csv").write_text(DICTIONARY)
    lines = [f"{1 + k % 2},{1 + k % 3},{20 + k % 50}" for k in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,mood,age", *lines, ""]))
    return tmp_path


def run(*arguments):
    return app(list(arguments), standalone_mode=False)


def fails(capsys, monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["understudy", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_from_codebook_to_reviewed_schema(workplace, capsys):
    run("schema", "from-codebook", "book.csv", "-o", "people.toml")
    assert "3 of 3 variables are complete" in " ".join(capsys.readouterr().out.split())
    text = (workplace / "people.toml").read_text()
    (workplace / "people.toml").write_text(text.replace("reviewed = false", "reviewed = true"))
    run("schema", "check", "people.csv", "people.toml")
    schema = Schema.load("people.toml")
    schema.require_reviewed()
    assert not any(part.left_as_drafted or part.is_unsourced for _, part in schema.vouched[1:])


def test_some_columns(workplace):
    run("schema", "from-codebook", "book.xml", "-o", "s.toml", "--columns", "age,sex", "--quiet")
    assert list(Schema.load("s.toml").declared) == ["sex", "age"]


def test_draft_with_a_codebook(workplace, capsys):
    run("schema", "draft", "people.csv", "--codebook", "book.xml", "-o", "draft.toml")
    assert "CONFIDENTIAL" in capsys.readouterr().out
    schema = Schema.load("draft.toml")
    assert schema.title == "People of a town"
    assert schema.declared["mood"].source == "People of a town, variable mood"
    assert not schema.declared["mood"].drafted


def test_mistakes_end_with_a_sentence_and_write_nothing(workplace, capsys, monkeypatch):
    shutil.copy("people.csv", "there.toml")
    from_codebook = ("schema", "from-codebook")
    cases = [
        ((*from_codebook, "book.xml", "-o", "there.toml"), "already exists"),
        ((*from_codebook, "none.xml", "-o", "s.toml"), "cannot be read: No such file"),
        ((*from_codebook, "people.csv", "-o", "s.toml"), "header with a column `variable`"),
        ((*from_codebook, "book.xml", "-o", "s.toml", "--columns", "agee"), "did you mean 'age'"),
        ((*from_codebook, "book.xml", "-o", "s.toml", "--table", "x"), "no data file 'x'"),
        (("schema", "draft", "people.csv", "--codebook", "no.xml", "-o", "s.toml"), "no.xml"),
    ]
    for arguments, words in cases:
        assert words in fails(capsys, monkeypatch, *arguments)
        assert not (workplace / "s.toml").exists()
