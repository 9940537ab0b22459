"""However a command ends, it says so in one sentence: what was spent, and how to go on."""

import importlib
import io
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

import understudy as us
from understudy import cli
from understudy.cli import console
from understudy.dp.accountant import PrivacyAccountant
from understudy.errors import MethodError
from understudy.methods.independent import Independent
from understudy.release.folder import hold_place


@pytest.fixture
def ask(small, tmp_path, monkeypatch):
    """A command that makes a release of three steps in an empty folder."""
    monkeypatch.chdir(tmp_path)
    data, schema = small.folder / "people.csv", small.folder / "people.toml"
    common = ["synthesize", data, "--schema", schema, "--epsilon", "1", "--method", "independent"]
    return [*map(str, common), "--out", "out"]


@pytest.fixture
def at_charge(monkeypatch):
    """`at_charge(k, act)`: act when the k-th step is charged, before it is computed. Steps of the
    rehearsal, of made-up records, do not count."""
    append, left, what = PrivacyAccountant._append, [-1], []
    workflow = importlib.import_module("understudy.workflow.synthesize")
    rehearse = workflow.rehearse

    def rehearsed(*args, **more):
        kept, left[0] = left[0], -1
        rehearse(*args, **more)
        left[0] = kept

    def appended(self, entry):
        append(self, entry)
        left[0] -= 1
        if left[0] == 0:
            what[-1]()

    monkeypatch.setattr(PrivacyAccountant, "_append", appended)
    monkeypatch.setattr(workflow, "rehearse", rehearsed)

    def plan(k, act):
        left[0] = k
        what.append(act)

    return plan


def raising(error):
    def act():
        raise error

    return act


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_sigterm_says_what_is_kept_and_how_to_go_on(understudy, ask, at_charge, tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    at_charge(2, lambda: os.kill(os.getpid(), signal.SIGTERM))
    code, out, err = understudy(*ask)
    assert (code, out, err.count("\n")) == (143, "", 1)
    assert "Ended by SIGTERM; no release was written. ε = 0.525 of 1 was spent, which" in err
    assert "kept in 'out.checkpoint': add --resume" in err
    assert signal.getsignal(signal.SIGTERM) is before
    refused = understudy(*ask)
    assert refused.code == 2
    assert "It has spent ε = 0.525 of 1, which counts; go on with it by --resume" in refused.err
    assert understudy(*ask, "--resume", "--quiet").code == 0
    assert names(tmp_path) == ["out"]


@pytest.fixture
def unkept(monkeypatch):
    """No form keeps a checkpoint."""
    monkeypatch.setattr(Independent, "can_resume", lambda *_: False)


ENDS = {
    "full": (OSError(28, "No space left on device"), 2, "refused to go on: No space left"),
    "memory": (MemoryError(), 2, "too little memory"),
    "part": (ImportError("No module named 'x'"), 2, "cannot be loaded: No module named 'x'"),
    "Ctrl-C": (KeyboardInterrupt(), 130, "Interrupted; no release was written"),
}


@pytest.mark.parametrize("end", ENDS)
def test_without_a_checkpoint_it_says_that_it_is_spent(
    understudy, ask, at_charge, tmp_path, unkept, end
):
    error, expected, words = ENDS[end]
    at_charge(2, raising(error))
    code, out, err = understudy(*ask)
    assert (code, out, err.count("\n")) == (expected, "", 1)
    assert words in err
    assert "ε = 0.525 of 1 was spent, which counts." in err
    assert names(tmp_path) == []


def test_what_cannot_be_saved_is_lost_without_a_checkpoint(
    understudy, ask, tmp_path, unkept, monkeypatch
):
    monkeypatch.setattr("pathlib.Path.rename", raising_any(OSError(5, "Input/output error")))
    code, _, err = understudy(*ask)
    assert code == 2
    assert "Input/output error; nothing was left behind there. Its budget is spent and" in err
    assert names(tmp_path) == []


def raising_any(error):
    def act(*_, **__):
        raise error

    return act


def test_a_late_starter_is_refused_before_it_pays(understudy, ask, at_charge, tmp_path):
    """Another run holds the place: neither its checkpoint nor a second ε is at stake."""
    holding = (
        "import sys; from pathlib import Path; from understudy.release.folder import hold_place\n"
        "with hold_place(Path('out')): print('held', flush=True); sys.stdin.read()"
    )
    at_charge(1, raising(AssertionError("it paid")))
    run = [sys.executable, "-c", holding]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        assert "Another run makes the release 'out'" in understudy(*ask).err
        other.kill()
    assert names(tmp_path) == [".out.understudy"]
    with hold_place(tmp_path / "out"):
        pass
    assert names(tmp_path) == []


class Hidden:
    """Makes a module one that is not installed."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    "name", ["understudy.report.results_page", "understudy.release.readme", "formulaic"]
)
def test_what_is_needed_late_is_missed_before_anything_is_paid(small, at_charge, monkeypatch, name):
    at_charge(1, raising(AssertionError("it paid")))
    known = {one: module for one, module in sys.modules.items() if f"{name}.".startswith(f"{one}.")}
    for loaded in [one for one in known if one != "understudy"]:
        package, _, own = loaded.rpartition(".")
        if package:  # it would be another module for all later tests
            monkeypatch.setattr(known[package], own, known[loaded])
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(sys, "meta_path", [Hidden(name), *sys.meta_path])
    with pytest.raises(MethodError, match=r"mend the installation\. Nothing was spent"):
        us.synthesize(small.rows, small.schema, epsilon=1)


@contextmanager
def streams_of(encoding):
    """Output and errors in an encoding, as they are read by somebody else."""
    before, kept = (sys.stdout, sys.stderr), (io.BytesIO(), io.BytesIO())
    sys.stdout, sys.stderr = (io.TextIOWrapper(one, encoding=encoding) for one in kept)
    try:
        yield kept
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            stream.detach()
    finally:
        sys.stdout, sys.stderr = before


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_every_encoding_shows_a_release_and_its_json(small, monkeypatch, encoding):
    show = ["understudy", "show", str(small.folder / "release")]
    for more in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", [*show, *more])
        with streams_of(encoding) as (out, _), pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code
        text = out.getvalue().decode(encoding)
        assert "ε" in text or r"\u03b5" in text
    assert "ε = 5" in json.loads(text)["guarantee"]["statement"]


VERSION = "from understudy import cli; import sys; sys.argv = ['', '--version']; cli.main()"


@pytest.mark.parametrize(("out", "code", "said"), [(">&-", 0, ""), ("> /dev/full", 2, "No space")])
def test_an_output_that_cannot_be_written_is_no_traceback(out, code, said):
    run = ["bash", "-c", f'"$0" -c "$1" {out}', sys.executable, VERSION]
    ended = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False)
    assert said in ended.stderr


def test_a_reader_that_has_gone_is_no_error():
    """As with `| head`."""
    read, write = os.pipe()
    os.close(read)
    run = [sys.executable, "-c", VERSION]
    ended = subprocess.run(run, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_closed_stream_takes_no_number_of_a_file(tmp_path, capfd):
    """Else what is printed would be written into whatever file is opened next."""
    code = (
        "import os; os.close(1); from understudy.cli import console; console.tolerate()\n"
        "raise SystemExit(os.open('new', os.O_CREAT | os.O_WRONLY) == 1)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert run.returncode == 0
    assert console.holds("plain")


def test_a_release_that_is_made_is_not_called_a_failure(understudy, ask, monkeypatch, tmp_path):
    monkeypatch.setattr(
        "understudy.cli.render.show_release", raising_any(OSError(28, "No space left"))
    )
    code, _, err = understudy(*ask)
    assert code == 2
    assert "The release is written to 'out' and whole, but what there is to say of it" in err
    assert us.Release.load("out").guarantee.epsilon == 1
    assert names(tmp_path) == ["out"]
