"""Identifiers are never read; each synthetic set has fresh ones, at no cost."""

from dataclasses import replace

import pandas as pd
import polars as pl
import pytest

import understudy as us
from schemas import PEOPLE, column
from understudy.errors import ReleaseError, SchemaError
from understudy.release import load, sets
from understudy.workflow import synthesize

PATIENT = column("patient", "identifier", pattern="P{:04}", description="fresh")
SCHEMA = f"{PEOPLE}{PATIENT}"
ROWS = pd.DataFrame(
    {"city": ["Aa", "Bb"] * 150, "age": [k % 100 for k in range(300)], "patient": ["secret"] * 300}
)


def release(rows=ROWS, **more):
    return us.synthesize(rows, us.Schema.loads(SCHEMA), epsilon=5, insecure_noise_seed=1, **more)


def test_each_set_has_its_own_and_they_cost_nothing(tmp_path):
    made, without = (
        release(sets=2),
        us.synthesize(ROWS, us.Schema.loads(PEOPLE), epsilon=5, insecure_noise_seed=1, sets=2),
    )
    for table, plain in zip(made.tables, without.tables, strict=True):
        assert table["patient"].to_list() == [f"P{k:04}" for k in range(1, table.height + 1)]
        assert table.drop("patient").equals(plain)
    assert made.manifest.to_json()["ledger"] == without.manifest.to_json()["ledger"]
    saved = made.save(tmp_path / "out", csv=True)
    again = us.Release.load(saved)
    assert again.tables[0].equals(made.tables[0])
    assert b"secret" not in b"".join(p.read_bytes() for p in saved.rglob("*") if p.is_file())
    assert us.analyze(again, "mean", "age").valid


def test_the_rows_may_lack_the_column():
    lacking = release(ROWS.drop(columns="patient"))
    assert lacking.tables[0].equals(release().tables[0])


def test_long_sets_number_through_their_parts(monkeypatch, tmp_path):
    for module in (sets, synthesize, load):
        monkeypatch.setattr(module, "PART_ROWS", 100)
    made = release()
    numbers = made.tables[0]["patient"].to_list()
    assert len(made.tables.sizes) > 1
    assert numbers == [f"P{k:04}" for k in range(1, len(numbers) + 1)]
    again = us.Release.load(made.save(tmp_path / "out"))
    assert again.tables[0]["patient"].to_list() == numbers


def test_other_identifiers_are_refused_on_loading(tmp_path):
    made = release()
    table = made.tables[0].with_columns(pl.col("patient").str.to_lowercase())
    replace(made, tables=(table,)).save(tmp_path / "out")
    with pytest.raises(ReleaseError, match="other identifiers"):
        us.Release.load(tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PATIENT.replace("{:04}", ""), "exactly once"),
        (PATIENT.replace("{:04}", "{:>9}"), "exactly once"),
        (PATIENT.replace("{:04}", "{x}"), "exactly once"),
        (PATIENT + 'missing = [""]\n', "no such entry"),
    ],
)
def test_what_no_identifier_is(text, said):
    with pytest.raises(SchemaError, match=said):
        us.Schema.loads(f"{PEOPLE}{text}")
    with pytest.raises(SchemaError, match="nothing is measured"):
        us.Schema.loads(PATIENT)
