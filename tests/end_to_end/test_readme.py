"""The README shows only what runs: its Python, its schema and its commands, in order."""

import re
import shlex
from pathlib import Path

import pytest

import understudy as us
from understudy.cli import app

pytestmark = pytest.mark.whole

README = Path(__file__).parents[2] / "README.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_readme_runs_from_top_to_bottom(workplace, capsys):
    first, *later = blocks("python")
    scope: dict = {}
    exec(first, scope)
    schema, form = blocks("toml")
    assert us.Schema.loads(f"{schema}\n{form}").file.separator == ";"
    (workplace / "people.toml").write_text(schema, encoding="utf-8")
    commands = "".join(blocks("console")).splitlines()
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "understudy"
        app(arguments, standalone_mode=False)
    for block in later:
        exec(block, scope)
    assert scope["again"].manifest == scope["release"].manifest
    shown = capsys.readouterr().out
    assert "CONFIDENTIAL" in shown
    assert "Pure differential privacy with ε = 1" in shown
    assert "multiple-synthesis: Bayesian models" in shown
