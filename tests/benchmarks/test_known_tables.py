"""Tables of the utility benchmark: what becomes of a domain."""

import json

import polars as pl
import pytest

import known_tables
import understudy as us
from known_tables import Design

DOMAIN = {
    "grade": {"type": "categorical", "levels": ["0", "1", "2"]},
    "place": {"type": "categorical", "levels": ["N", "7", "8"]},
    "age": {"type": "numeric", "lower": 2, "upper": 5},
    "unused": {"type": "categorical", "levels": ["a"]},
}
COLUMNS = ("grade", "place", "age")
ROWS = "grade,place,age,unused\n2,N,2,a\n0,8,5,a\n1,7,4,a\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "small.csv").write_text(ROWS)
    (tmp_path / "small" / "domain.json").write_text(json.dumps(DOMAIN))
    return tmp_path


def load(folder, monkeypatch, **design):
    monkeypatch.setitem(known_tables.DESIGNS, "small", Design(columns=COLUMNS, **design))
    return known_tables.load(folder, "small")


def test_codes_are_the_places_of_levels_in_the_domain(folder, monkeypatch):
    table = load(folder, monkeypatch, target="place")
    assert table.codes(table.frame).tolist() == [[2, 0, 0], [0, 2, 3], [1, 1, 2]]
    assert table.sizes == [3, 3, 4]
    assert table.target == 1


def test_the_schema_declares_order_and_codes(folder, monkeypatch):
    table = load(folder, monkeypatch, ordered=("grade", "age"), not_applicable="N")
    columns = table.schema("private").columns
    assert [column.kind for column in columns.values()] == ["ordinal", "categorical", "ordinal"]
    assert columns["place"].not_applicable == ("N",)
    assert columns["place"].levels == ("7", "8")
    assert columns["age"].levels == (2, 3, 4, 5)
    assert table.schema("private").n_rows is None
    assert table.schema("public").n_rows == 3


def test_the_last_level_can_stand_for_a_missing_value(folder, monkeypatch):
    columns = load(folder, monkeypatch, unordered=("place",), last_missing=True).schema("public")
    assert columns.columns["grade"].missing == (2,)
    assert columns.columns["grade"].kind == "ordinal"
    assert columns.columns["place"].kind == "categorical"


def test_a_release_is_coded_like_the_rows(folder, monkeypatch):
    table = load(folder, monkeypatch, ordered=("grade",), not_applicable="N")
    release = us.synthesize(
        table.frame,
        table.schema("public"),
        epsilon=10**6,
        method="independent",
        insecure_noise_seed=1,
    )
    made = table.codes(release.tables[0])
    for column, (name, levels) in enumerate(table.levels.items()):
        values = release.tables[0][name].cast(pl.String).to_list()
        assert [levels[code] for code in made[:, column]] == values
        assert set(values) <= set(table.frame[name].cast(pl.String))  # noise is far below a record


def test_a_table_that_is_not_there_is_told(folder):
    assert known_tables.is_there(folder, "small")
    (folder / "small" / "domain.json").unlink()
    assert not known_tables.is_there(folder, "small")
    assert not known_tables.is_there(folder, "msnbc")
