"""Columns that hardly fit: whoever sits at a terminal is told in words, and nobody else.

The command is run for real, at a pseudo-terminal or with its streams in files. What is told depends
on the rows; that the exit code, the release and all files do not is looked at too.
"""

import os
import pty
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.confidential import Internal, Misfits, misfits
from understudy.workflow import synthesize as synthesize_module

SCHEMA = """
row_limit = 1000
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
source = "law"
reviewed = true
[columns.income]
kind = "continuous"
lower = 0
upper = 100
bins = 4
source = "judgement"
reviewed = true
[columns.city]
kind = "categorical"
levels = ["Aa", "Bb"]
source = "codebook"
reviewed = true
[columns.size]
kind = "integer"
lower = 0
upper = 9
missing = [""]
source = "codebook"
reviewed = true
"""
N = 400
TOLD = ("nearly nothing fits", "over a tenth does not fit", "nearly everything is missing")


def rows(age=0.0, income=0.0, size=0.0):
    """Rows of which these shares of the columns do not fit, or have no size."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 100, N).astype(object),
            "income": rng.uniform(0, 100, N).round(1).astype(object),
            "city": rng.choice(["Aa", "Bb"], N),
            "size": rng.integers(0, 10, N).astype(object),
        }
    )
    frame.loc[: int(age * N) - 1, "age"] = "about forty"
    frame.loc[: int(income * N) - 1, "income"] = "much"
    frame.loc[: int(size * N) - 1, "size"] = None
    return frame


@pytest.fixture
def place(tmp_path):
    (tmp_path / "people.toml").write_text(SCHEMA, encoding="utf-8")
    rows(age=1, income=0.2, size=1).to_csv(tmp_path / "bad.csv", index=False)
    rows(income=0.05, size=0.5).to_csv(tmp_path / "good.csv", index=False)
    rows()[:0].to_csv(tmp_path / "empty.csv", index=False)
    return tmp_path


class Run:
    """A command that ended: its exit code, and what each stream was given."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, " ".join(out.split()), " ".join(err.split())


def synthesize(place, data, *switches, out="release", terminal=("out", "err")):
    """Run the command with these streams at a pseudo-terminal, and the others in files."""
    ends, files = {}, {}
    for stream in ("out", "err"):
        if stream in terminal:
            ends[stream], files[stream] = pty.openpty()
        else:
            files[stream] = os.open(place / f"{out}.{stream}", os.O_CREAT | os.O_WRONLY)
    command = [
        *(sys.executable, "-m", "understudy", "synthesize", data, "--schema", "people.toml"),
        *("--epsilon", "1", "--method", "independent", "--insecure-noise-seed", "1"),
        *("--out", out, *switches),
    ]
    process = subprocess.Popen(
        command,
        cwd=place,
        stdout=files["out"],
        stderr=files["err"],
        env=os.environ | {"COLUMNS": "120"},
    )
    for file in files.values():
        os.close(file)
    with ThreadPoolExecutor() as pool:  # both at once: a terminal that nobody reads holds little
        shown = dict(zip(ends, pool.map(drained, ends.values()), strict=True))
    code = process.wait(timeout=60)
    for stream in {"out", "err"} - set(terminal):
        shown[stream] = (place / f"{out}.{stream}").read_text(encoding="utf-8")
    return Run(code, shown["out"], shown["err"])


def drained(end):
    """All that comes from the other end of a pseudo-terminal, until it is closed there."""
    parts = []
    while True:
        try:
            part = os.read(end, 65_536)
        except OSError:  # so Linux says that it is closed
            part = b""
        if not part:
            os.close(end)
            return b"".join(parts).decode("utf-8", "replace")
        parts.append(part)


def words_in(text):
    return [words for words in TOLD if words in text]


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@pytest.mark.nightly
def test_a_terminal_is_told_and_release_and_exit_code_do_not_depend_on_it(place):
    at_terminal = synthesize(place, "bad.csv", out="one")
    assert at_terminal.code == 0
    assert "INTERNAL, not for release: column 'age': nearly nothing fits" in at_terminal.err
    assert "column 'income': over a tenth does not fit" in at_terminal.err
    assert "column 'size': nearly everything is missing" in at_terminal.err
    assert "'city'" not in at_terminal.err
    assert "not covered by ε" in at_terminal.err
    assert words_in(at_terminal.out) == []

    in_files = synthesize(place, "bad.csv", out="two", terminal=())
    assert in_files.code == 0
    assert in_files.err == ""
    assert words_in(in_files.out) == []
    assert content(place / "one") == content(place / "two")
    for run in (at_terminal, in_files):
        assert "understudy schema check bad.csv people.toml" in run.out
    kept = b" ".join(content(place).values()).decode("utf-8", "replace")
    assert words_in(kept) == []


@pytest.mark.nightly
def test_a_stream_in_a_file_is_told_nothing(place):
    """Errors go to a log: nothing of it is in the log, nor on the terminal of the other stream."""
    found = synthesize(place, "bad.csv", terminal=("out",))
    assert (found.code, words_in(found.out), found.err) == (0, [], "")


@pytest.fixture
def watched(place, understudy, monkeypatch):
    """Run the command in this process, at what it takes for a terminal."""
    monkeypatch.chdir(place)

    def run(data, *switches):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        ask = ("--schema", "people.toml", "--epsilon", "1", "--out", "release")
        how = ("--method", "independent")
        return Run(*understudy("synthesize", data, *ask, *how, *switches))

    return run


@pytest.mark.parametrize("switch", ["--json", "--quiet"])
def test_machines_and_the_quiet_are_told_nothing(watched, switch):
    found = watched("bad.csv", switch)
    assert (found.code, words_in(found.out + found.err)) == (0, [])


def test_what_fits_is_not_talked_about(watched):
    found = watched("good.csv")
    assert found.code == 0
    assert "INTERNAL" not in found.out + found.err
    assert "understudy schema check good.csv people.toml" in found.out


def test_a_header_without_rows_is_told_too(watched):
    found = watched("empty.csv")
    assert found.code == 0
    assert "INTERNAL, not for release: the data have no rows" in found.err


# --- in Python --------------------------------------------------------------------------------


def confided(data, **more):
    told = []
    release = us.synthesize(
        data,
        us.Schema.loads(SCHEMA),
        epsilon=1,
        method="independent",
        insecure_noise_seed=1,
        confide=told.append,
        **more,
    )
    return told, release


def test_in_python_confide_is_told_and_nothing_else_changes():
    data = rows(age=1, income=0.2, size=1)
    (told,), release = confided(data)
    assert isinstance(told, Internal)
    assert told.value == Misfits(
        no_rows=False,
        columns=(
            ("age", TOLD[0]),
            ("income", TOLD[1]),
            ("size", TOLD[2]),
        ),
    )
    unheard, other = confided(data, confide_misfits=False)
    assert unheard == []
    assert release.manifest.to_json() == other.manifest.to_json()
    assert all(a.equals(b) for a, b in zip(release.tables, other.tables, strict=True))


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"age": 0.1}, ()),
        ({"age": 0.105}, (("age", TOLD[1]),)),
        ({"age": 0.95}, (("age", TOLD[1]),)),
        ({"age": 0.955}, (("age", TOLD[0]),)),
        ({"size": 0.95}, ()),
    ],
)
def test_the_words_are_as_coarse_as_they_say(shares, expected):
    told, _ = confided(rows(**shares))
    assert tuple(line for one in told for line in one.value.columns) == expected


def test_what_a_release_tells_by_a_declared_code_is_not_confided():
    data = rows(age=1)
    text = SCHEMA.replace("bins = 5", 'bins = 5\nout_of_domain = "other"')
    assert list(misfits(Table(data, us.Schema.loads(text)))) == []


def test_nothing_is_counted_where_nobody_listens(place, understudy, monkeypatch):
    """Piped, quiet, or without `confide`: the figure does not come into being."""

    def counted(_rows):
        raise AssertionError("the rows were looked at")

    monkeypatch.setattr(synthesize_module, "misfits", counted)
    monkeypatch.chdir(place)
    ask = ("synthesize", "bad.csv", "--schema", "people.toml", "--epsilon", "1")
    ask += ("--method", "independent", "--out")
    assert understudy(*ask, "one").code == 0
    assert understudy(*ask, "two", "--quiet").code == 0
    us.synthesize(rows(age=1), us.Schema.loads(SCHEMA), epsilon=1, method="independent")
    with pytest.raises(AssertionError, match="looked at"):
        confided(rows(age=1))


def test_a_continued_run_tells_it_and_no_checkpoint_has_it(tmp_path):
    told, _ = confided(rows(age=1), checkpoint=tmp_path / "kept", keep_checkpoint=True)
    again, _ = confided(rows(age=1), checkpoint=tmp_path / "kept", keep_checkpoint=True)
    assert [one.value for one in told] == [one.value for one in again]
    assert len(told) == 1
    kept = content(tmp_path / "kept")
    assert kept
    assert words_in(b" ".join(kept.values()).decode("utf-8", "replace")) == []
