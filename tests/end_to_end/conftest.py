"""How the command line is run in tests."""

import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from schemas import PEOPLE
from understudy import cli
from understudy.cli import console


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A small table with its schema and its release, in memory and in a folder."""
    folder = tmp_path_factory.mktemp("small")
    rng = np.random.default_rng(1)
    city, age = rng.choice(["Aa", "Bb", "Cc"], 300), rng.integers(0, 100, 300)
    rows = pd.DataFrame({"city": city, "age": age})
    rows.to_csv(folder / "people.csv", index=False)
    (folder / "people.toml").write_text(PEOPLE, encoding="utf-8")
    schema = us.Schema.load(folder / "people.toml")
    release = us.synthesize(rows, schema, epsilon=5, seed=1)
    release.save(folder / "release")
    return SimpleNamespace(folder=folder, rows=rows, schema=schema, release=release)


class Result:
    """What a command said and how it ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __iter__(self):
        return iter((self.code, self.out, self.err))

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def understudy(monkeypatch, capsys):
    """Run a command in this process: `understudy("plan", …)`; on a busy machine too it says nothing
    of how long it takes."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(console, "LINE_SECONDS", math.inf)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["understudy", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        shown = capsys.readouterr()
        return Result(end.value.code or 0, shown.out, shown.err)

    return command
