"""Columns that may name households are found by their runs, and told without a value."""

import numpy as np
import polars as pl
import pytest

from made_members import tables
from understudy.cli import console
from understudy.cli.app import app
from understudy.steward.draft import unit_keys


def persons():
    return tables(200, seed=1)["person"].sort("hid")


def test_a_key_of_households_is_found_and_no_other_column():
    assert unit_keys(persons()) == ["hid"]


def test_a_key_in_a_file_is_found(tmp_path):
    persons().write_csv(tmp_path / "people.csv")
    assert unit_keys(tmp_path / "people.csv") == ["hid"]


@pytest.mark.parametrize(
    "values",
    [
        np.arange(400),  # each row its own
        np.repeat(np.arange(4), 100),  # groups of many
        np.tile(np.arange(200), 2),  # twice, and not in runs
        np.repeat(np.arange(10), 3),  # too few to tell
    ],
)
def test_other_columns_are_none(values):
    assert unit_keys(pl.DataFrame({"x": values})) == []


def test_the_steward_is_told_on_a_terminal_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people = persons().with_columns(hid="H" + pl.col("hid").cast(pl.String))
    people.write_csv("people.csv")
    app(["schema", "draft", "people.csv", "-o", "one.toml"], standalone_mode=False)
    assert "name units" not in " ".join(capsys.readouterr().out.split())
    monkeypatch.setattr(console, "is_terminal", lambda: True)
    app(["schema", "draft", "people.csv", "-o", "two.toml"], standalone_mode=False)
    told = " ".join(capsys.readouterr().out.split())
    assert "same value of column 'hid' stand together" in told
    assert "If it names units, such as the households of persons" in told
    assert "[tables.household] and [tables.person] with of, key = 'hid'" in told
    assert not any(key in told for key in people["hid"])
