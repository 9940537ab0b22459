"""`understudy study`, found by its entry point: what it says, and what it does not load."""

import importlib.metadata
import json
import os
import subprocess
import sys

import pytest

from understudy import cli
from understudy_studies.all_studies import STUDIES
from understudy_studies.framework import runner


@pytest.fixture
def command(installed, monkeypatch, capsys):
    """Run a command in this process: exit code, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["understudy", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code or 0, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["study", "dise", "--out", "out"], "no study 'dise' (did you mean 'dice'?)"),
        (["study"], "Name a study"),
        (["study", "dice"], "--out DIR"),
        (["study", "dice", "--out", "out", "--reps", "0"], "--reps"),
        (["study", "dice", "--out", "full"], "not a folder of the study dice"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_sentence(
    tiny, tmp_path, monkeypatch, command, arguments, sentence
):
    monkeypatch.setitem(STUDIES, "dice", tiny.study())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_studies_are_listed(tiny, monkeypatch, command):
    monkeypatch.setitem(STUDIES, "dice", tiny.study())
    code, out, _ = command("study", "--list")
    assert code == 0
    assert "Means of dice" in out
    assert "coverage" in out


def test_a_quiet_study_says_nothing(tiny, tmp_path, monkeypatch, command, serial):
    monkeypatch.setitem(STUDIES, "dice", tiny.study())
    assert command("study", "dice", "--out", tmp_path / "out", "--reps", 2, "-q") == (0, "", "")
    assert (tmp_path / "out" / "index.html").exists()


def test_an_interrupted_command_says_how_to_go_on(tiny, tmp_path, monkeypatch, command):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setitem(STUDIES, "dice", tiny.study())
    monkeypatch.setattr(runner, "simulate", interrupted)
    code, _, err = command("study", "dice", "--out", tmp_path / "out", "--reps", 2)
    assert code == 130
    assert "Run the same command again" in err
    assert "nothing was written" not in err


def test_help_is_that_of_the_installed_command(command):
    for asked in ("--help", "-h"):
        code, out, _ = command("study", asked)
        assert code == 0
        assert "Usage: understudy study [OPTIONS] [name]" in out
        assert "--reps" in out


def test_a_wrong_option_is_one_sentence_that_names_the_help(command):
    code, out, err = command("study", "--repz", 3)
    assert (code, out) == (2, "")
    assert "--repz" in err
    assert "See understudy study --help." in err


def test_without_the_studies_one_sentence_says_how_to_install_them(command, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    for arguments in (["study"], ["study", "coverage", "--out", "x"], ["study", "--help"]):
        code, out, err = command(*arguments)
        assert (code, out) == (2, "")
        assert "make studies-install" in err
        assert err.count("\n") == 1
    assert command("--help")[0] == 0


HEAVY = {
    *("numpy", "scipy", "numba", "polars", "pandas", "sklearn", "statsmodels", "matplotlib"),
    *("formulaic", "jinja2", "cryptography", "understudy_studies.all_studies"),
}


@pytest.mark.parametrize("arguments", [["--help"], ["study", "--help"]])
@pytest.mark.nightly(every=2)
def test_nothing_heavy_is_loaded_for_help(installed, arguments):
    code = f"""
import json, sys
sys.argv = ["understudy", *{arguments!r}]
from understudy.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""
    path = os.pathsep.join([str(installed), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert "study" in done.stdout
    assert not set(json.loads(done.stderr)) & HEAVY
