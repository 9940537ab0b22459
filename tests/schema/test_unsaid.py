"""What a schema does not say of its table is told before a release is made, and in the release."""

import pytest
from typer.testing import CliRunner

import understudy as us
from understudy.cli.app import app
from understudy.demo import demo_schema
from understudy.schema import Schema

COLUMN = """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "codebook"
reviewed = true
"""
UNIT = '[unit]\ndescription = "one respondent"\n'


@pytest.mark.parametrize(
    ("head", "unsaid", "words"),
    [
        ("", ("title", "unit"), "what a release is called or whom one row stands for"),
        (UNIT, ("title",), 'set title = "…" there'),
        ('title = "People"\n', ("unit",), 'set [unit] description = "one …" there'),
        (f'title = "People"\n{UNIT}', (), ""),
    ],
)
def test_a_plan_says_what_the_release_will_not_say(head, unsaid, words):
    schema = Schema.loads(head + COLUMN)
    assert schema.unsaid == unsaid
    assert words in schema.unsaid_words
    assert bool(unsaid) == bool(schema.unsaid_words)
    remarks = us.plan(schema, epsilon=1).remarks
    assert (schema.unsaid_words in remarks) == bool(unsaid)


def test_a_bundled_schema_says_all():
    assert demo_schema().unsaid == ()


def test_the_command_and_the_release_say_so(tmp_path):
    (tmp_path / "rows.csv").write_text("sex\n" + "f\nm\n" * 50)
    (tmp_path / "schema.toml").write_text(COLUMN)
    words = ["synthesize", tmp_path / "rows.csv", "--schema", tmp_path / "schema.toml"]
    words += ["--epsilon", "1", "--out", tmp_path / "release"]
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output
    assert "whom one row stands for" in done.stdout
    page = (tmp_path / "release" / "report.html").read_text(encoding="utf-8")
    assert "Untitled synthetic data" in page
    assert "whom it stands for is not said" in page
