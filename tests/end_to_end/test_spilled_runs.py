"""Runs whose coded rows lie in a spill: the same results, and nothing left."""

import pytest

import understudy as us
from schemas import column
from understudy.data import spill
from understudy.data import table as table_module
from understudy.errors import DataError

SCHEMA = us.Schema.loads(
    "row_limit = 5000\n"
    + column("city", "categorical", levels=["Aa", "Bb", "Cc"], source="law")
    + column("age", "integer", lower=0, upper=99, bins=5, source="law")
)
SEEDED = {"insecure_noise_seed": 3}


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Where spills lie; every table has one, of chunks of 128 rows."""
    monkeypatch.setattr(table_module, "SPILL_BYTES", 0)
    monkeypatch.setattr(spill, "CHUNK_ROWS", 128)
    place = tmp_path / "spills"
    place.mkdir()
    return place


@pytest.fixture
def written(monkeypatch):
    """How many chunks have been written."""
    chunks, write = [], spill.Spill._write

    def noted(made):
        chunks.append(made)
        write(made)

    monkeypatch.setattr(spill.Spill, "_write", noted)
    return chunks


def same(one, two):
    assert one.guarantee == two.guarantee
    assert [table.rows() for table in one.tables] == [table.rows() for table in two.tables]
    for left, right in zip(one.measurements, two.measurements, strict=True):
        assert left.to_json() == right.to_json()


def test_a_release_and_an_answer(small, folder, written, tmp_path):
    asked = {"epsilon": 5, "method": "marginals", "seed": 1, **SEEDED}
    kept = us.synthesize(small.rows, SCHEMA, **asked)
    assert not written
    same(kept, us.synthesize(small.rows, SCHEMA, spill=folder, **asked))
    assert len(written) >= 3
    us.synthesize(small.rows, SCHEMA, epsilon=1, seed=1).save(tmp_path / "release")
    question = {"analyses": [{"kind": "mean", "formula": "age"}]}
    asked = {"question": question, "data": small.rows, "release": tmp_path / "release"}
    asked |= {"epsilon": 1, **SEEDED}
    n = len(written)
    us.answer(spill=str(folder), **asked)
    assert len(written) > n
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("ask", "arguments"),
    [
        (us.verdict, {"claim": "mean age > 30", "assume_rows": 300}),
        (us.regress, {"formula": "age ~ city"}),
    ],
)
@pytest.mark.nightly(every=2)
def test_a_verdict_and_a_regression(small, folder, written, ask, arguments):
    asked = {"epsilon": 5, **SEEDED, **arguments}
    kept = ask(small.rows, SCHEMA, **asked)
    assert not written
    found = ask(small.rows, SCHEMA, spill=folder, **asked)
    assert written
    assert found.to_json() == kept.to_json()
    assert list(folder.iterdir()) == []


def test_a_command(small, folder, written, understudy, tmp_path):
    given = (small.folder / "people.csv", "--schema", small.folder / "people.toml", "-e", "1")
    code, _, err = understudy(
        "synthesize", *given, "--out", tmp_path / "out", "--spill", folder, "--quiet"
    )
    assert (code, err) == (0, "")
    assert written
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused_before_anything_is_paid(small, tmp_path):
    kept = tmp_path / "kept"
    with pytest.raises(DataError, match="nothing was spent"):
        us.synthesize(small.rows, SCHEMA, epsilon=1, spill=tmp_path / "no", checkpoint=kept)
    assert not list(kept.glob("*"))
    with pytest.raises(DataError, match="spill must be a path"):
        us.synthesize(small.rows, SCHEMA, epsilon=1, spill=3)
