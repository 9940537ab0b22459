"""Progress: bars on whichever stream is a terminal, a line now and then where none is."""

import os
import re
import subprocess
import sys

import pytest

from understudy.cli.terminal import progress_bar

pytestmark = pytest.mark.whole

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal, which Windows has not")
STAGE = "Drawing synthetic sets"


def ask(small, folder):
    return [
        *(sys.executable, "-m", "understudy", "synthesize", str(small.folder / "people.csv")),
        *("--schema", str(small.folder / "people.toml"), "--epsilon", "1"),
        *("--out", str(folder / "out")),
    ]


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


@pytest.mark.parametrize("terminal", ["stderr", "stdout"])
def test_a_terminal_on_either_stream_shows_bars(small, tmp_path, terminal):
    shown, piped = watched(ask(small, tmp_path), terminal=terminal, TERM="xterm")
    assert STAGE in shown
    assert "━" in shown
    assert STAGE not in piped


def test_bars_show_under_make(small, tmp_path):
    """`make` hands its own streams on; here its output is a pipe and its errors are a terminal."""
    makefile = tmp_path / "Makefile"
    makefile.write_text("all:\n\t" + " ".join(ask(small, tmp_path)) + "\n", encoding="utf-8")
    shown, piped = watched(["make", "-s", "-f", makefile], terminal="stderr", TERM="xterm")
    assert "━" in shown
    assert "Release written" in piped


def test_without_a_terminal_short_work_says_nothing(small, tmp_path):
    run = subprocess.run(ask(small, tmp_path), capture_output=True, text=True, check=True)
    assert run.stderr == ""


def test_quiet_shows_nothing(small, tmp_path):
    shown, piped = watched([*ask(small, tmp_path), "--quiet"], terminal="stderr", TERM="xterm")
    assert shown == piped == ""


def test_long_work_without_a_terminal_writes_a_line_now_and_then():
    """A clock that is told: 100 steps of one second each."""
    now = [0.0]
    said = []
    tell = progress_bar.lines_of(said.append, clock=lambda: now[0])
    for k in range(1, 101):
        now[0] += 1
        tell("Measuring with noise, 43 % of ε spent" if k <= 50 else STAGE, k, 100)
    assert len(said) == 10
    assert said[0] == "Measuring with noise, 43 % of ε spent (10 s)"
    assert said[-1] == f"{STAGE}: 100 of 100 (100 s)"
    assert all(re.search(r"\(\d+ s\)$", line) for line in said)


def test_a_terminal_that_cannot_draw_gets_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress_bar, "LINE_SECONDS", 0.0)
    with progress_bar.progress(quiet=False) as tell:
        tell("[bold]Stage[/bold]", 1, 2)
    assert capsys.readouterr().err.startswith("[bold]Stage[/bold]: 1 of 2 (")
