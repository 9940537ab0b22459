"""Whatever a machine dies of, and whenever: nothing is spent twice, and no release is half.

Each case is a folder with rows and schema. A run in it is killed, or its power is cut; then the
same command is given again, and what it says is followed.
"""

import os
import random
import re
import shutil
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import AGE, CITY, MEMBER
from understudy.checkpoint import journal as journals
from understudy.checkpoint import replay
from understudy.errors import CheckpointError

pytestmark = pytest.mark.skipif(
    not (hasattr(os, "O_DSYNC") and os.path.isdir("/proc/self/fd")), reason="reads /proc"
)
COMMON = ["--epsilon", "20", "--out", "out", "--quiet"]
COMMANDS = {
    "small": ["synthesize", "p.csv", "--schema", "p.toml", "--method", "laplace", *COMMON],
    "release": ["synthesize", "p.csv", "--schema", "p.toml", "--delta", "1e-6", *COMMON],
    "regression": ["regress", "p.csv", "p.toml", "age ~ member", *COMMON],
}
INPUTS = {"p.csv", "p.toml"}


@pytest.fixture
def case(tmp_path):
    """A new folder with rows and schema, by its name.

    Of so many rows that no noise at ε = 20 looks like a tenth of them out of domain, for which an
    answer would be refused.
    """
    rng = np.random.default_rng(1)
    city, member = rng.choice(["Aa", "Bb", "Cc"], 800), rng.random(800) < 0.4
    rows = pl.DataFrame({"city": city, "member": member, "age": rng.integers(0, 100, 800)})

    def made(name):
        folder = tmp_path / name
        folder.mkdir()
        rows.write_csv(folder / "p.csv")
        us.Schema.loads(f"row_limit = 2000{CITY}{MEMBER}{AGE}").save(folder / "p.toml")
        return folder

    return made


def names(folder):
    return {entry.name for entry in folder.iterdir()}


def spent(entries):
    costs = ((v for k, v in entry.items() if k.endswith("_exact")) for entry in entries)
    return sum(Fraction(cost) for entry in costs for cost in entry)


def charges(folder):
    """Charges in the checkpoint of a case, whole lines only."""
    file = folder / "out.checkpoint" / journals.JOURNAL_FILE
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return sum(b'"kind":"charge"' in line for line in lines)


def followed(machine, folder, command):
    """What the next command says is followed to the end; whether there is a release then."""
    again = machine(folder, command)
    assert "Traceback" not in again["said"]
    if again["code"]:
        assert again["code"] == 2
        assert again["said"].count("\n") == 1
        if "already exists" in again["said"]:
            us.Release.load(folder / "out")
            return True
        assert "An interrupted run left the checkpoint" in again["said"]
        assert re.search(r"It has spent (ε = \S+ of 20,|\d+ % of ε = 20 and δ)", again["said"])
        assert "counts; go on with it by --resume" in again["said"]
        again = machine(folder, [*command, "--resume"])
        if again["code"]:
            assert "nothing is left of the budget" in again["said"]
            assert not (folder / "out").exists()
            return False
    assert names(folder) == {*INPUTS, "out"}
    manifest = us.Release.load(folder / "out").manifest
    assert spent(manifest.ledger) <= Fraction(manifest.budget["amount"])
    return True


def killed(machine, case, name, places):
    """Runs of a command that die at some of all moments, half of them once more.

    How many moments there are depends on the noise, so that some come to their end.
    """
    command, chance = COMMANDS[name], random.Random(name)
    whole = case(f"{name}-whole")
    count = machine(whole, command)["count"]
    ended = 0
    for k in range(places):
        folder = case(f"{name}-{k}")
        died = machine(folder, command, kill=chance.randrange(1, count + 1))
        assert died["code"] == -9 or (died["code"] == 0 and (folder / "out").exists())
        if k % 2 and (folder / "out.checkpoint").exists() and not (folder / "out").exists():
            machine(folder, [*command, "--resume"], kill=chance.randrange(1, count + 1))
        ended += followed(machine, folder, command)
        shutil.rmtree(folder)
    return ended


def unpowered(machine, case, name, every):
    """A whole run, of which the disk is looked at after every moment."""
    folder = case(name)
    ended = machine(folder, COMMANDS[name], power=True)
    assert (ended["code"], ended["said"]) == (0, "")
    cuts = sorted(
        folder.parent.glob(f"{name}.*.charged"), key=lambda one: int(one.suffixes[-2][1:])
    )
    assert len(cuts) > 20
    begun = ended = 0
    for k, charged in enumerate(cuts):
        left = charged.with_suffix("")
        if (left / "out").exists():
            us.Release.load(left / "out")
            ended += 1
        else:
            assert charges(left) >= int(charged.read_text(encoding="utf-8"))
            begun += charges(left) > 0
        if k % every == 0:
            followed_or_lost(machine, left, COMMANDS[name])
    assert begun
    assert ended


def followed_or_lost(machine, folder, command):
    """As `followed`; a checkpoint of which names alone reached the disk may be damaged."""
    try:
        replay.spent_of(folder / "out.checkpoint")
    except CheckpointError:
        assert charges(folder) == 0
        return
    followed(machine, folder, command)


@pytest.mark.whole
@pytest.mark.nightly
def test_a_sample_of_all_below(machine, case):
    assert killed(machine, case, "small", 2) >= 1
    unpowered(machine, case, "small", every=1000)


@pytest.mark.faults
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_anywhere_nothing_is_spent_twice_and_no_release_is_half(machine, case, name):
    """Seventy places of each command."""
    assert killed(machine, case, name, 70) > 30


@pytest.mark.faults
@pytest.mark.parametrize("name", COMMANDS)
def test_without_power_anywhere_what_was_drawn_is_on_the_disk(machine, case, name):
    """The disk after every moment, of which every third is gone on with."""
    unpowered(machine, case, name, every=3)
