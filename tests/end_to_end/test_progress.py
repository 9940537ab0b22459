"""Progress: bars on whichever stream is a terminal, a line now and then where none is."""

import os
import re
import subprocess
import sys

import pytest

from understudy.cli import console

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal, which Windows has not")
STAGE = "Drawing synthetic sets"


# One process for several commands, since a new one loads for as long as a command takes.
RUN = """
import sys
from understudy.cli import main
for arguments in {commands!r}:
    sys.argv = ["understudy", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    print({end!r}, flush=True)
    print({end!r}, file=sys.stderr, flush=True)
"""
END = "a command ended"


def ask(small, folder, out="out"):
    return [
        *("synthesize", str(small.folder / "people.csv")),
        *("--schema", str(small.folder / "people.toml"), "--epsilon", "1"),
        *("--out", str(folder / out)),
    ]


def new_process(*arguments):
    return [sys.executable, "-m", "understudy", *arguments]


def watched(arguments, *, terminal, **environment):
    """What a terminal shows of a run one stream of which it is; the other is a pipe.

    Returns:
        What the terminal got, and what went into the pipe, as text.
    """
    here, there = pty.openpty()
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, terminal: there}
    process = subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, env={**os.environ, **environment}, **streams
    )
    os.close(there)
    shown = b""
    try:
        while read := os.read(here, 65_536):
            shown += read
    except OSError:  # how Linux says that nobody writes any more
        pass
    os.close(here)
    out, err = process.communicate()
    assert process.returncode == 0, shown
    return shown.decode(), (err if out is None else out).decode()


@pytest.mark.nightly
def test_a_terminal_on_standard_output_shows_bars(small, tmp_path):
    run = new_process(*ask(small, tmp_path))
    shown, piped = watched(run, terminal="stdout", TERM="xterm")
    assert STAGE in shown
    assert "━" in shown
    assert STAGE not in piped


@pytest.mark.nightly
def test_a_terminal_on_standard_error_shows_bars_but_if_quiet_nothing(small, tmp_path):
    commands = [ask(small, tmp_path), [*ask(small, tmp_path, "two"), "--quiet"]]
    code = RUN.format(commands=commands, end=END)
    shown, piped = watched([sys.executable, "-c", code], terminal="stderr", TERM="xterm")
    (loud, quiet, _), (out, nothing, _) = (
        text.replace("\r\n", "\n").split(END + "\n") for text in (shown, piped)
    )
    assert STAGE in loud
    assert "━" in loud
    assert STAGE not in out
    assert quiet == nothing == ""


@pytest.mark.nightly
def test_bars_show_under_make(small, tmp_path):
    """`make` hands its own streams on; here its output is a pipe and its errors are a terminal."""
    makefile = tmp_path / "Makefile"
    command = " ".join(new_process(*ask(small, tmp_path)))
    makefile.write_text(f"all:\n\t{command}\n", encoding="utf-8")
    shown, piped = watched(["make", "-s", "-f", makefile], terminal="stderr", TERM="xterm")
    assert "━" in shown
    assert "Release written" in piped


def test_without_a_terminal_short_work_says_nothing(small, tmp_path, understudy):
    code, out, err = understudy(*ask(small, tmp_path))
    assert (code, err) == (0, "")
    assert STAGE not in out


def test_long_work_without_a_terminal_writes_a_line_now_and_then():
    """A clock that is told: 100 steps of one second each."""
    now = [0.0]
    said = []
    tell = console.lines_of(said.append, clock=lambda: now[0])
    for k in range(1, 101):
        now[0] += 1
        tell("Measuring with noise, 43 % of ε spent" if k <= 50 else STAGE, k, 100)
    assert len(said) == 10
    assert said[0] == "Measuring with noise, 43 % of ε spent (10 s)"
    assert said[-1] == f"{STAGE}: 100 of 100 (100 s)"
    assert all(re.search(r"\(\d+ s\)$", line) for line in said)


def test_a_terminal_that_cannot_draw_gets_lines(monkeypatch, capsys):
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)
    with console.progress(quiet=False) as tell:
        tell("[bold]Stage[/bold]", 1, 2)
    assert capsys.readouterr().err.startswith("[bold]Stage[/bold]: 1 of 2 (")
