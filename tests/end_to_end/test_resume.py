"""A killed run leaves no release, only a checkpoint; `--resume` makes the release of it.

Real processes are killed here (SIGKILL) and interrupted (SIGINT); which write they die at is played
through more thoroughly in `tests/checkpoint/test_journal.py`.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from schemas import AGE, CITY, MEMBER
from understudy.checkpoint import journal as journals
from understudy.checkpoint import replay
from understudy.cli import console
from understudy.data.table import Table
from understudy.dp.released import LOST
from understudy.errors import CheckpointError, DataError, MethodError
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import Facts, Method
from understudy.methods.independent import Independent
from understudy.methods.registry import METHODS as TABLE
from understudy.models.tables import ProductModel
from understudy.workflow.gates import NOTICE

SCHEMA = us.Schema.loads(f"row_limit = 500{CITY}{MEMBER}{AGE}")
ANALYSES = ["ols age ~ member", "mean age ~ city", "quantile age"]
REQUESTS = {
    "laplace": {"method": "laplace"},
    "split sets": {"method": "independent", "options": {"sets": "split"}},
    "independent with δ": {"method": "independent", "delta": "1e-6"},
    "privbayes": {"method": "privbayes", "options": {"sets": "split"}},
    "moments and lines": {"method": "independent", "budget": {"answers": "0.3", "lines": "0.2"}},
    "automatic": {"delta": "1e-6", "epsilon": 8},
    "declared": {"delta": "1e-6", "analyses": ANALYSES},
    "declared without δ": {"analyses": ANALYSES},
    "regression": {"delta": "1e-6", "formula": "age ~ member"},
    "a forest of pairs": {"delta": "1e-6"},
}


def people(n=80):
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "city": rng.choice(["Aa", "Bb", "Cc", "??"], n),
            "member": rng.random(n) < 0.4,
            "age": rng.integers(0, 100, n),
        }
    )


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
def dying(monkeypatch):
    """`dying(k)`: the process dies when the k-th record has reached the disk."""
    sync = os.fsync
    left = [-1]

    def synced(file):
        sync(file)
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(journals.os, "fsync", synced)
    monkeypatch.setattr(journals, "_sync_folder", lambda _: None)
    return lambda k: left.__setitem__(0, k)


def synthesize(folder, method, options, delta, **more):
    return us.synthesize(
        people(),
        SCHEMA,
        epsilon=2,
        delta=delta,
        method=method,
        options=options,
        sets=2,
        checkpoint=folder,
        **more,
    )


def asked(request, folder, **more):
    """One of the requests, its noise from a seed."""
    arguments = {"epsilon": 2, "checkpoint": folder, **REQUESTS[request], **more}
    arguments |= {"insecure_noise_seed": 3}
    if "formula" in arguments:
        return us.regress(people(), SCHEMA, **arguments).release
    return us.synthesize(people(), SCHEMA, **{"sets": 2, **arguments})


def spent(release):
    entries = release.manifest.ledger
    return sum(
        Fraction(value) for one in entries for name, value in one.items() if name.endswith("_exact")
    )


def content(release):
    measured = [(m.codes.tolist(), m.counts.tolist(), m.outside) for m in release.measurements]
    return [table.rows() for table in release.tables], measured, release.manifest.to_json()


# --- in Python --------------------------------------------------------------------------------


def continued(request, folder, undisturbed):
    """Go on with a run that broke off; whether nothing that was paid for was lost.

    Nothing is paid twice that was answered, and a charge whose answer did not reach the disk
    counts as spent. A run that lost nothing ends as if nothing had happened.
    """
    n_charges = len(undisturbed.manifest.ledger)
    records = (folder / journals.JOURNAL_FILE).read_text(encoding="utf-8").split("\n")[1:-1]
    charged = [json.loads(one[17:]) for one in records if '"kind":"charge"' in one]
    unanswered = bool(records) and '"kind":"charge"' in records[-1]
    exhausted = unanswered and len(charged) == n_charges
    chosen = [one["mechanism"] == "exponential mechanism" for one in undisturbed.manifest.ledger]
    forest = (True, True) in pairwise(chosen)  # in place of rounds, which may end at any time
    if exhausted and (forest or not TABLE[undisturbed.manifest.method].rounds):
        with pytest.raises(CheckpointError, match="nothing is left"):
            asked(request, folder)
        return False
    release = asked(request, folder)
    assert release.manifest.ended_early == exhausted  # a lost last round ends those before it
    assert not (folder / journals.JOURNAL_FILE).exists()
    ledger = release.manifest.ledger
    lost = [one for one in ledger if one["noise"] == LOST]
    assert bool(lost) == unanswered
    assert spent(release) <= Fraction(undisturbed.manifest.budget["amount"])
    assert len(release.tables) == len(undisturbed.tables)
    measured = len(undisturbed.measurements)
    if exhausted:  # a round is a choice and a table, or a table alone
        assert len(ledger) == n_charges
        assert measured - 2 * len(lost) <= len(release.measurements) < measured
    elif lost and TABLE[undisturbed.manifest.method].rounds:
        # What is measured next follows from what was released, and other noise from a number of
        # records on; the whole budget is spent all the same.
        assert spent(release) == spent(undisturbed)
        assert len(ledger) > len(lost) + len(SCHEMA.names)
    else:
        assert len(ledger) == n_charges + len(lost)
        assert len(release.measurements) == measured
    assert lost or content(release) == content(undisturbed)
    return not lost


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.nightly(every=12)
def test_a_run_that_dies_anywhere_is_continued_to_a_release(tmp_path, dying, request_name):
    """With its noise from a seed, a run that lost nothing ends as if it had never died.

    It dies at each of the first places, and at every third from there: charges and answers, which
    mostly take turns, are both among them.
    """
    undisturbed = asked(request_name, None)
    folder = tmp_path / "checkpoint"
    assert content(asked(request_name, folder)) == content(undisturbed)
    assert not folder.exists()
    same = 0
    for k in (*range(1, 9), *range(9, 100, 3)):
        folder = tmp_path / str(k)
        dying(k)
        try:
            asked(request_name, folder)
            break
        except Killed:
            dying(-1)
        same += continued(request_name, folder, undisturbed)
    assert k > 2
    assert same > 1


@pytest.fixture
def full():
    """`full(n)`: no file grows beyond n bytes, as if the disk were full; `full()` ends that."""
    limits = pytest.importorskip("resource")
    _, most = limits.getrlimit(limits.RLIMIT_FSIZE)

    def limited(n=most):
        limits.setrlimit(limits.RLIMIT_FSIZE, (n, most))

    yield limited
    limited()


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.nightly(every=12)
def test_a_full_disk_loses_nothing_that_is_on_it(tmp_path, full, request_name):
    """The disk is full at some places of the checkpoint, mostly in the middle of a record."""
    folder = tmp_path / "whole"
    undisturbed = asked(request_name, folder, keep_checkpoint=True)
    size, same = (folder / journals.JOURNAL_FILE).stat().st_size, 0
    for k in range(0, 10, 1 if NIGHT else 3):
        folder = tmp_path / str(k)
        full(size * k // 10)
        with pytest.raises(CheckpointError, match="without it, no step is paid for"):
            asked(request_name, folder)
        full()
        assert (folder / journals.JOURNAL_FILE).stat().st_size <= size * k // 10
        try:
            same += continued(request_name, folder, undisturbed)
        except CheckpointError as lost:
            # Of the last step the payment was written, its answer was not, and nothing is left.
            if k < 5 or "paid for its last step" not in str(lost):
                raise
    assert same > 1


def test_a_secure_run_is_continued_with_fresh_noise_and_the_same_answers(tmp_path, dying):
    folder = tmp_path / "checkpoint"
    dying(4)  # the number of rows and its answer, then two of three tables
    with pytest.raises(Killed):
        synthesize(folder, "independent", {}, "0", seed=5)
    dying(-1)
    kept = (folder / journals.JOURNAL_FILE).read_text(encoding="utf-8")
    release = synthesize(folder, "independent", {}, "0", seed=5)
    assert release.guarantee.kind == "pure"
    assert release.manifest.sampling_seed == 5
    ledger = release.manifest.ledger
    assert [one["noise"] == LOST for one in ledger] == [False, True, True, False, False, False]
    # Lost: 2 of 3 equal shares of what the rows left. A third is left for all three.
    share = Fraction(19, 10) / 3
    costs = [Fraction(one["epsilon_exact"]) for one in ledger[1:]]
    assert costs == [share, share, share / 3, share / 3, share / 3]
    rows = re.search(r'"answers":\{"tuple":\[(\d+)', kept).group(1)
    assert release.manifest.n_rows == int(rows)
    assert all(table.height == int(rows) for table in release.tables)


def test_a_lost_number_of_rows_is_bought_again_for_what_the_manifest_says(tmp_path, dying):
    folder = tmp_path / "checkpoint"
    dying(1)
    with pytest.raises(Killed):
        synthesize(folder, "laplace", {}, "0")
    dying(-1)
    manifest = synthesize(folder, "laplace", {}, "0").manifest
    paid = Fraction(1, 10) * Fraction(19, 20)
    assert [Fraction(one["epsilon_exact"]) for one in manifest.ledger[:2]] == [
        Fraction(1, 10),
        paid,
    ]
    assert "ε = 0.095 " in manifest.rows_obtained
    assert manifest.ledger[1]["noise"] in manifest.rows_obtained


def test_the_release_is_complete_before_the_checkpoint_goes(tmp_path):
    folder = tmp_path / "checkpoint"
    release = synthesize(folder, "laplace", {}, "0", seed=1, keep_checkpoint=True)
    again = synthesize(folder, "laplace", {}, "0", seed=1, keep_checkpoint=True)
    assert content(again)[1:] == content(release)[1:]
    assert [sorted(one.rows()) for one in again.tables] == [
        sorted(one.rows()) for one in release.tables
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 3}, "epsilon"),
        ({"sets": 3}, "sets"),
        ({"seed": 2}, "seeds"),
        ({"method": "independent"}, "method, options"),
        ({"budget": {"rows": 0.1}}, "rows_share"),
        ({"schema": SCHEMA.model_copy(update={"row_limit": 400})}, "schema"),
    ],
    ids=lambda one: str(list(one)) if isinstance(one, dict) else "",
)
def test_another_request_is_refused_by_what_differs(tmp_path, change, words):
    asked = {"schema": SCHEMA, "epsilon": 2, "method": "laplace", "sets": 2, "seed": 1}
    keep = {"checkpoint": tmp_path, "keep_checkpoint": True}
    us.synthesize(people(), **asked, **keep)
    before = (tmp_path / journals.JOURNAL_FILE).read_bytes()
    with pytest.raises(CheckpointError, match=f"another request: {words} differ"):
        us.synthesize(people(), **asked | change, **keep)
    assert (tmp_path / journals.JOURNAL_FILE).read_bytes() == before


class Unreadable:
    """Data that must not be looked at."""


def test_more_than_a_checkpoint_can_hold_is_refused_before_rows_are_read(tmp_path):
    """Eight million cells that would be written out; by its large cells alone it can be held."""
    wide = us.Schema.loads(f"row_limit = 500{CITY}{MEMBER}{AGE}").with_bins({"age": 100})
    bits = {f"b{k}": wide.columns["member"] for k in range(15)}
    huge = wide.model_copy(update={"columns": {**wide.columns, **bits}})
    asked = {"epsilon": 1, "method": "laplace", "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(MethodError, match="leave checkpoint out"):
        us.synthesize(Unreadable(), huge, options={"form": "dense"}, **asked)
    with pytest.raises(DataError, match="Unreadable"):
        us.synthesize(Unreadable(), huge, options={"form": "filtered"}, **asked)
    assert not (tmp_path / "checkpoint").exists()


def test_progress_says_how_much_is_spent(tmp_path, dying):
    told = []
    dying(4)
    with pytest.raises(Killed):
        synthesize(tmp_path, "independent", {}, "0")
    dying(-1)
    synthesize(tmp_path, "independent", {}, "0", progress=lambda *one: told.append(one))
    spending = [one for one in told if one[0].startswith("Measuring")]
    assert spending[0] == ("Measuring with noise, 5 % of ε spent", 5, 100)
    assert spending[-1] == ("Measuring with noise, 100 % of ε spent", 100, 100)
    shares = [done for _, done, _ in spending]
    assert shares == sorted(shares)
    assert len(set(shares)) > 4
    assert all(f", {done} %" in stage for stage, done, _ in spending)


def test_a_bar_whose_words_change_stays_one_bar(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with console.progress(quiet=False) as tell:
        for k in (0, 40, 100):
            tell(f"Measuring with noise, {k} % of ε spent", k, 100)
    last = capsys.readouterr().err.split("\r")[-1]
    assert last.count("Measuring") <= 1


# --- rounds and Ctrl-C ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Rounds(Method):
    """One-way tables once more in each round; presses Ctrl-C itself, at the rounds in `pressed`."""

    facts: ClassVar[Facts] = replace(Independent.facts, name="rounds")
    resumable: ClassVar[bool] = True
    rounds: ClassVar[bool] = True

    pressed: tuple[int, ...] = ()
    most: int = 6

    def plan(self, schema, spend, budget):
        return Independent().plan(schema, spend, budget)

    def fit(self, gate, spend, n_rows):
        names, share = gate.schema.names, spend / self.most
        for k in range(self.most):
            if k and gate.stopping:
                break
            tables = gate.ask(
                NoisyTables([(name,) for name in names], noise="geometric"), spend=share
            )
            for _ in range(self.pressed.count(k)):
                os.kill(os.getpid(), signal.SIGINT)
        return ProductModel(gate.schema.domain, tuple(table.value.counts for table in tables))


@pytest.fixture
def rounds(monkeypatch):
    monkeypatch.setitem(TABLE._places, "rounds", (Rounds.__module__, Rounds.__name__))


def in_rounds(folder=None, told=None, **options):
    return us.synthesize(
        people(),
        SCHEMA,
        epsilon=2,
        method="rounds",
        options=options,
        checkpoint=folder,
        progress=None if told is None else lambda *one: told.append(one),
    )


@pytest.mark.parametrize("kept", [True, False])
def test_ctrl_c_ends_the_rounds_with_a_complete_release(rounds, tmp_path, kept):
    told = []
    before = signal.getsignal(signal.SIGINT)
    release = in_rounds(tmp_path / "checkpoint" if kept else None, told, pressed=(2,))
    assert signal.getsignal(signal.SIGINT) is before
    assert (NOTICE, 0, 1) in told
    assert release.manifest.ended_early
    assert len(release.measurements) == 3 * 3
    assert spent(release) == Fraction(1, 10) + Fraction(19, 10) / 2
    assert release.guarantee.epsilon == 2
    loaded = us.Release.load(release.save(tmp_path / "out"))
    assert loaded.manifest.ended_early
    assert not in_rounds().manifest.ended_early


def test_the_second_ctrl_c_aborts_and_the_checkpoint_goes_on(rounds, tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    folder = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        in_rounds(folder, pressed=(2, 2))
    assert signal.getsignal(signal.SIGINT) is before
    kept = (folder / journals.JOURNAL_FILE).read_bytes()
    assert kept.count(b'"kind":"charge"') == 1 + 3 * 3
    monkeypatch.setattr(os, "kill", lambda *_: None)
    release = in_rounds(folder, pressed=(2, 2))
    assert not release.manifest.ended_early
    assert len(release.measurements) == 6 * 3
    assert spent(release) == 2


def test_without_rounds_ctrl_c_aborts_at_once(rounds, tmp_path, monkeypatch):
    monkeypatch.setattr(Rounds, "rounds", False)
    with pytest.raises(KeyboardInterrupt):
        in_rounds(tmp_path / "checkpoint", pressed=(2,))
    assert replay.is_checkpoint(tmp_path / "checkpoint")


def test_a_handler_of_the_program_is_left_alone(rounds):
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        assert not in_rounds(pressed=(2,)).manifest.ended_early
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [1]


# --- on the command line ----------------------------------------------------------------------


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().write_csv("people.csv")
    SCHEMA.save("people.toml")
    return tmp_path


ASK = ["synthesize", "people.csv", "--schema", "people.toml", "--epsilon", "2", "--out", "release"]


def test_a_checkpoint_stands_beside_the_release_until_it_is_written(understudy, place, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    rename = Path.rename
    monkeypatch.setattr(Path, "rename", stopped)
    result = understudy(*ASK)
    assert result.code == 130
    assert "no release was written" in result.err
    assert "release.checkpoint" in result.err
    assert not (place / "release").exists()
    assert (place / "release.checkpoint" / journals.JOURNAL_FILE).is_file()

    monkeypatch.setattr(Path, "rename", rename)
    refused = understudy(*ASK)
    assert (refused.code, "go on with it by --resume" in refused.err) == (2, True)
    another = understudy(*ASK, "--resume", "--sets", "3")
    assert another.code == 2
    assert "another request: sets differs" in another.err

    monkeypatch.setattr(Table, "count", stopped)
    made = understudy(*ASK, "--resume", "--quiet")
    assert (made.code, made.out, made.err) == (0, "", "")
    assert not (place / "release.checkpoint").exists()
    assert us.Release.load("release").manifest.method == "laplace"
    assert understudy(*ASK, "--resume").code == 2


def test_a_failure_says_what_is_kept(understudy, place, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    result = understudy(*ASK)
    assert result.code == 2
    assert "No space left on device" in result.err
    assert "kept in 'release.checkpoint'; go on by --resume" in result.err


def test_there_must_be_something_to_resume(understudy, place):
    result = understudy(*ASK, "--resume")
    assert (result.code, result.out) == (2, "")
    assert "no checkpoint 'release.checkpoint'" in result.err
    assert sorted(path.name for path in place.iterdir()) == ["people.csv", "people.toml"]


def test_what_costs_nothing_leaves_no_checkpoint(understudy, place):
    (place / "people.csv").write_text("city\nAa\n")
    assert understudy(*ASK).code == 2
    assert sorted(path.name for path in place.iterdir()) == ["people.csv", "people.toml"]


DYING = """
import os, signal, sys
import understudy.checkpoint.journal as journals
sync, left = os.fsync, [{writes}]
def synced(file):
    sync(file)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
journals.os.fsync = synced
journals._sync_folder = lambda _: None
from understudy import cli
sys.argv = ["understudy", *{arguments}]
cli.main()
"""


DECLARED = [*ASK, "--delta", "1e-6", *(part for one in ANALYSES for part in ("--analysis", one))]
REGRESS = ["regress", "people.csv", "people.toml", "age ~ member", "--epsilon", "2"]
COMMANDS = {"declared": (DECLARED, 6), "regress": ([*REGRESS, "--out", "release"], 4)}
"""Commands, and the record at which the answer of second moments is on the disk."""


@pytest.fixture(params=COMMANDS)
def commanded(request, understudy, place):
    """A command whose noise comes from a seed, what it makes, and that record."""
    ask, writes = COMMANDS[request.param]
    ask = [*ask, "--insecure-noise-seed", "3"]
    assert understudy(*ask, "--quiet").code == 0
    undisturbed = content(us.Release.load("release"))
    shutil.rmtree("release")
    return ask, writes, undisturbed


@pytest.mark.nightly
def test_a_process_killed_after_second_moments_goes_on_to_the_same_release(
    commanded, understudy, place
):
    ask, writes, undisturbed = commanded
    code = DYING.format(writes=writes, arguments=ask)
    killed = subprocess.run([sys.executable, "-c", code], cwd=place, check=False)
    assert killed.returncode == -signal.SIGKILL
    *_, last = (
        (place / "release.checkpoint" / journals.JOURNAL_FILE).read_text("utf-8").splitlines()
    )
    assert '"kind":"answer"' in last
    assert '"mechanism":"SecondMoments"' in last
    assert understudy(*ask, "--resume", "--quiet").code == 0
    assert content(us.Release.load("release")) == undisturbed
    assert not (place / "release.checkpoint").exists()


@pytest.mark.nightly
def test_a_disk_too_full_for_the_release_keeps_what_was_paid_for(
    commanded, understudy, place, full, monkeypatch
):
    ask, _, undisturbed = commanded
    full(20_000)  # the checkpoint has room, a page has none
    result = understudy(*ask, "--quiet")
    full()
    assert result.code == 2
    assert "nothing was left behind" in result.err
    assert "kept in 'release.checkpoint'; go on by --resume" in result.err
    names = sorted(path.name for path in place.iterdir())
    assert names == ["people.csv", "people.toml", "release.checkpoint"]
    for asked_again in ("count", "score_products", "line_counts"):
        monkeypatch.setattr(Table, asked_again, None)
    assert understudy(*ask, "--resume", "--quiet").code == 0
    assert content(us.Release.load("release")) == undisturbed


@pytest.mark.parametrize("writes", [2, 3, 4])
@pytest.mark.nightly
def test_a_killed_process_leaves_a_checkpoint_and_no_release(understudy, place, writes):
    """2: the rows were answered. 3: a charge was lost. 4: all is there but the release."""
    ask = [*ASK, "--method", "laplace", "--seed", "1"]
    code = DYING.format(writes=writes, arguments=ask)
    killed = subprocess.run([sys.executable, "-c", code], cwd=place, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (place / "release").exists()
    resumed = understudy(*ask, "--resume", "--json")
    if writes == 3:
        assert resumed.code == 2
        assert "nothing is left of the budget" in resumed.err
        return
    assert resumed.code == 0
    assert json.loads(resumed.out)["guarantee"]["epsilon"] == "2"
    release = us.Release.load("release")
    assert [one["epsilon_exact"] for one in release.manifest.ledger] == ["1/10", "19/10"]
    assert not (place / "release.checkpoint").exists()
