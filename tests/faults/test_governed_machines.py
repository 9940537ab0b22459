"""Whatever a machine dies of while a population's ledger is charged: the ledger knows of all noise.

Each case is a folder with rows, schemas and a question, and a ledger beside it, in which the
release that is asked is entered. A run in it is killed, also in the middle of what SQLite does, or
its power is cut; then the ledger is held against what noise was drawn for, and the same command is
given again until it is done or refused.
"""

import json
import os
import random
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from postgres_server import programs, server
from schemas import AGE, CITY, column
from understudy.checkpoint import journal as journals
from understudy.checkpoint import replay
from understudy.ledger.account import Caps, Population
from understudy.ledger.ledger import PopulationLedger, manifest_digest, past_release
from understudy_verify import verify

pytestmark = pytest.mark.skipif(
    not (hasattr(os, "O_DSYNC") and os.path.isdir("/proc/self/fd")), reason="reads /proc"
)
EPSILON = 20
PARENT, ENTRY = 1, 3  # what the release that is asked cost; its reservation, a ledger's third entry
_GIVEN = ["p.csv", "p.toml"]
_SPEND = ["--epsilon", str(EPSILON), "--quiet"]
_OUT = [*_SPEND, "--out", "out"]
COMMANDS = {
    "release": ["synthesize", "p.csv", "--schema", "p.toml", "-m", "marginals", *_OUT],
    "regression": ["regress", *_GIVEN, "age ~ city", *_OUT],
    "k-norm": ["regress", *_GIVEN, "age ~ income", "--mechanism", "k-norm", *_SPEND],
    "question": ["answer", "q.toml", "p.csv", "--release", "../parent", "--yes", *_OUT],
    "verdict": ["verdict", *_GIVEN, "mean age > 10", "--assume-rows", "400", *_SPEND],
}
INCOME = column("income", "integer", lower=0, upper=9, bins=5, source="law")
HEAD = 'row_limit = 500\n[ledger]\npopulation = "adults"\n'
QUESTION = '[[analyses]]\nkind = "proportion"\nformula = "city"\n'


def made_ledger(place, cap):
    ledger = PopulationLedger.create(place)
    ledger.add(Population("adults", "adult", "board", "add_remove", Caps.of(pure=cap)))
    return ledger


@pytest.fixture
def case(tmp_path):
    """A new folder, by its name, and a ledger beside it with room for so many runs."""
    rng = np.random.default_rng(1)
    city, numbers = rng.choice(["Aa", "Bb", "Cc"], 80), {"age": 100, "income": 10}
    numbers = {name: rng.integers(0, upper, 80) for name, upper in numbers.items()}
    rows, schema = (
        pl.DataFrame({"city": city, **numbers}),
        us.Schema.loads(HEAD + CITY + AGE + INCOME),
    )
    before = made_ledger(tmp_path / "before.ledger", PARENT)
    us.synthesize(rows, schema, epsilon=PARENT, method="laplace", ledger=before.place).save(
        tmp_path / "parent"
    )
    parent = past_release(tmp_path / "parent")

    def made(name, runs):
        folder = tmp_path / name
        folder.mkdir()
        rows.write_csv(folder / "p.csv")
        schema.save(folder / "p.toml")
        (folder / "q.toml").write_text(QUESTION, encoding="utf-8")
        ledger = made_ledger(f"{folder}.ledger", Fraction(runs) * EPSILON + PARENT)
        assert ledger.enter(parent, "adults") == ENTRY
        return folder

    return made


def require_counted(folder):
    """The ledger of a case is whole, keeps its cap, and knows of all that noise was drawn for."""
    ledger = PopulationLedger.open(f"{folder}.ledger")
    assert ledger.verify() == []  # each charge has its reservation before it, and fits into it
    totals = ledger.totals("adults")
    assert totals.spent.pure + totals.reserved.pure <= totals.population.caps.pure
    entries = [json.loads(row.public) for row in ledger.history()]
    entries = [entry for entry in entries if entry.get("reservation") != ENTRY]
    charged = {one["reservation"]: Fraction(one["spent"]) for one in of(entries, "charge")}
    assert sum(charged.values()) >= drawn(folder)
    assert len(of(entries, "charge")) >= answered(folder)
    if (folder / "out").exists():
        us.Release.load(folder / "out")
        digest = manifest_digest(folder / "out")
        assert digest in [one["release"] for one in of(entries, "commit")]
    return ledger, sum(charged.values())


def of(entries, kind):
    return [entry for entry in entries if entry["kind"] == kind]


def drawn(folder):
    """What noise was drawn for by all runs of a case together."""
    file = Path(f"{folder}.drawn")
    return sum(map(Fraction, file.read_text().split())) if file.exists() else 0


def answered(folder):
    """How many charges of the checkpoint have come to an answer."""
    place = folder / "out.checkpoint"
    begun = (place / journals.JOURNAL_FILE).exists() and replay.is_checkpoint(place)
    records = replay.read(place)[1] if begun else ()
    calls = {(one["call"], one["run"]) for one in records if one["kind"] == "answer"}
    return sum(one["kind"] == "charge" and (one["call"], one["run"]) in calls for one in records)


def followed(machine, folder, command):
    """What the next command says is followed to the end; "made", or why it is refused."""
    for _ in range(4):
        again = machine(folder, command, ledger=f"{folder}.ledger")
        ledger, _ = require_counted(folder)
        assert "Traceback" not in again["said"]
        if not again["code"]:
            return "made"
        assert (again["code"], again["said"].count("\n")) == (2, 1), again["said"]
        if "already exists" in again["said"]:
            return "made before"
        if "open reservations counted whole" not in again["said"]:
            for why in ("nothing is left of the budget", "was voided"):
                if why in again["said"]:
                    return why
            assert "go on with it by --resume" in again["said"], again["said"]
            command = [*command, "--resume"]
            continue
        if not ledger.totals("adults").open:
            return "refused"
        void(ledger)
    raise AssertionError(again["said"])


def void(ledger):
    for number in ledger.totals("adults").open:
        ledger.reservation(number).void(by="board")


def killed(machine, case, name, places):
    """Runs of a command that die at some of all moments or soon after, and some of them again."""
    command, chance, seen = COMMANDS[name], random.Random(name), Counter()
    whole = case(f"{name}-whole", 1)
    ended = machine(whole, command, ledger=f"{whole}.ledger")
    assert ended["code"] == 0, ended["said"]
    count = ended["count"]
    assert require_counted(whole)[1] == drawn(whole)

    def dies(folder, command):
        delay = chance.choice([0, 0, chance.uniform(0, 0.01)])
        died = machine(
            folder,
            command,
            ledger=f"{folder}.ledger",
            kill=chance.randrange(1, count + 1),
            delay=delay,
        )
        assert died["code"] in (-9, -14, 0, 2), died["said"]
        seen["killed"] += died["code"] < 0
        return require_counted(folder)

    for k in range(places):
        folder = case(f"{name}-{k}", chance.choice([1, Fraction(3, 2), 4]))
        dies(folder, command)
        for _ in range(k % 3):
            if replay.is_checkpoint(folder / "out.checkpoint") and not (folder / "out").exists():
                dies(folder, [*command, "--resume"])
                seen["killed again"] += 1
        seen[followed(machine, folder, command)] += 1
        ledger, charged = require_counted(folder)
        void(ledger)
        assert require_counted(folder)[0].totals("adults").spent.pure == charged + PARENT
        shutil.rmtree(folder)
    return seen


def unpowered(machine, case, name, every):
    """A whole run, of which disk and ledger are looked at after every moment."""
    folder = case(name, 1)
    ended = machine(folder, COMMANDS[name], power=True, ledger=f"{folder}.ledger")
    assert (ended["code"], ended["said"]) == (0, "")
    cuts = sorted(
        folder.parent.glob(f"{name}.*.charged"), key=lambda one: int(one.suffixes[-2][1:])
    )
    assert len(cuts) >= 5
    seen = Counter()
    for k, charged in enumerate(cuts):
        left = charged.with_suffix("")
        if k % every == 0:
            require_counted(left)
            seen[followed(machine, left, COMMANDS[name])] += 1
    return seen


def require_room_kept(machine, case, place, command, crowd):
    """As many of a crowd as there is room for, and one sentence for each other."""
    folder = case("crowd", 1)
    room = crowd // 4
    made_ledger(place, room * EPSILON + Fraction(1, 2))
    ended = machine(folder, command, ledger=place, crowd=crowd)
    assert Counter(one["code"] for one in ended) == {0: room, 2: crowd - room}
    for one in ended:
        assert one["said"].count("\n") == (one["code"] == 2)
        assert ("is left, open reservations counted whole" in one["said"]) == (one["code"] == 2)
    ledger = PopulationLedger.open(place)
    assert ledger.verify() == []
    assert ledger.totals("adults").spent.pure == room * EPSILON == drawn(folder)


@pytest.mark.whole
@pytest.mark.nightly
def test_a_sample_of_all_below(machine, case):
    assert killed(machine, case, "verdict", 2)["killed"] == 2


@pytest.mark.nightly
def test_a_full_disk_under_the_ledger_ends_a_run_before_it_computes(machine, case):
    """Whichever entry is the first that finds no room; when there is, the run goes on."""
    folder, refused = case("full", 1), 0
    command = [word.replace("marginals", "independent") for word in COMMANDS["release"]]
    place, checkpoint = f"{folder}.ledger", folder / "out.checkpoint"
    for most in range(os.path.getsize(place), 10**6, 4096 if NIGHT else 16_384):
        resume = ["--resume"] * replay.is_checkpoint(checkpoint)
        ended = machine(folder, [*command, *resume], ledger=place, most=most)
        require_counted(folder)
        if "The ledger" not in ended["said"]:
            break
        assert (ended["code"], ended["said"].count("\n")) == (2, 1)
        assert "the disk or its file system failed" in ended["said"]
        refused += 1
        if not replay.is_checkpoint(checkpoint):
            void(PopulationLedger.open(place))
    assert refused
    assert followed(machine, folder, command) in {"made", "made before"}
    us.Release.load(folder / "out")
    assert [found for found in verify(folder / "out") if found[1] == "broken"] == []


@pytest.mark.faults
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_anywhere_the_ledger_knows_of_all_noise(machine, case, name):
    """Forty places of each command; half as many of the one that takes longest."""
    places = 20 if name == "regression" else 40
    seen = killed(machine, case, name, places)
    assert seen["killed"] > 0.8 * places
    assert seen["made"] > 0.25 * places


@pytest.mark.faults
@pytest.mark.parametrize("name", COMMANDS)
def test_without_power_anywhere_the_ledger_knows_of_all_noise(machine, case, name):
    """The disk after every moment, of which every fifth is gone on with."""
    assert unpowered(machine, case, name, every=5)["made"] > 0


@pytest.mark.faults
@pytest.mark.parametrize("name", ["verdict", "k-norm"])
def test_a_crowd_spends_a_file(machine, case, name, tmp_path):
    require_room_kept(machine, case, str(tmp_path / "shared.ledger"), COMMANDS[name], 50)


@pytest.mark.faults
def test_a_crowd_spends_a_server(machine, case):
    if programs() is None:
        pytest.skip("There is no server of PostgreSQL on this machine (initdb was not found).")
    pytest.importorskip("psycopg", reason="The driver of PostgreSQL is not installed.")
    with server() as address:
        require_room_kept(machine, case, address, COMMANDS["verdict"], 50)
