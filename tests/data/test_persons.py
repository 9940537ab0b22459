"""Members protected by themselves: read with columns of their units, released as one table."""

import polars as pl
import pytest

import understudy as us
import understudy_verify
from made_members import RULES, SCHEMA, tables
from understudy.data.sources import open_rows
from understudy.errors import DataError, SchemaError
from understudy.schema import Schema

PERSONS = SCHEMA.replace('table = "household"', 'table = "person"')
COUNT = '[tables.household.columns.n]\nderived = "count(person where age < 16)"\nreviewed = true\n'


def test_the_schema_is_flat_and_written_and_read_as_it_is():
    schema = Schema.loads(PERSONS)
    assert [*schema.columns] == ["region", "income", "role", "age", "work"]
    assert schema.members is None
    assert schema.unit.beside == ("region", "income")
    assert Schema.loads(schema.dumps()) == schema
    without = PERSONS.replace("rows_per_unit = 3\n", "").replace('order = ["role", "-age"]\n', "")
    assert Schema.loads(without) == schema


def test_each_member_is_read_with_the_columns_of_its_unit():
    both = tables(80, seed=2)
    rows = open_rows(both, Schema.loads(PERSONS)).lazy.collect()
    slow = both["person"].join(both["household"], on="hid")
    found = rows.with_columns(pl.col("age", "income").cast(pl.Float64))
    wanted = slow.select("region", "income", "role", pl.col("age").cast(pl.Float64), "work")
    assert rows.height == both["person"].height
    assert sorted(found.select("region", "income", "role", "age").rows()) == sorted(
        wanted.select("region", "income", "role", "age").rows()
    )


def test_what_has_no_unit_has_columns_out_of_domain_and_empty_units_nothing():
    people = pl.DataFrame({"hid": [1, 2, 3, None], "role": ["child"] * 4, "age": [1, 2, 3, 4]})
    people = people.with_columns(work=pl.lit(value=False))
    homes = pl.DataFrame({"hid": [1, 2, 2, 9], "region": ["north"] * 4, "income": [1.0] * 4})
    rows = open_rows({"household": homes, "person": people}, Schema.loads(PERSONS)).lazy.collect()
    assert [one == "north" for one in rows["region"]] == [True, False, False, False]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (PERSONS + RULES, "rules across members and columns that count them tell of several"),
        (PERSONS + COUNT, "rules across members and columns that count them tell of several"),
        (PERSONS.replace("columns.income", "columns.age"), "both tables have a column 'age'"),
        (
            SCHEMA.replace('table = "household"', 'table = "persons"'),
            "which is no table",
        ),
    ],
)
def test_what_tells_of_several_members_is_refused_in_words(text, match):
    with pytest.raises(SchemaError, match=match):
        Schema.loads(text)


def test_a_table_that_is_absent_is_named():
    both = tables(5, seed=1)
    with pytest.raises(DataError, match="The table 'household' is absent"):
        open_rows({"person": both["person"]}, Schema.loads(PERSONS))


def test_a_release_says_who_is_protected_and_that_members_are_alike(tmp_path):
    rule = RULES.partition("[[tables.person.rules]]")[0]
    both, schema = tables(300, seed=1), Schema.loads(PERSONS + rule)
    plan = us.plan(schema, epsilon=2, delta=1e-6, method="independent")
    assert any(
        "The promise is about one row of 'person', not about all" in one for one in plan.remarks
    )
    run = us.RunOptions(insecure_noise_seed=1, seed=2)
    made = us.synthesize(both, schema, epsilon=2, delta=1e-6, method="independent", run=run)
    (table,) = made.tables
    assert table.columns == ["region", "income", "role", "age", "work"]
    assert abs(table.height - both["person"].height) < 60
    made.save(tmp_path / "r")
    assert {state for _, state, _ in understudy_verify.verify(tmp_path / "r")} == {
        *("ok", "not checked")
    }
    for name in ("README.md", "report.html"):
        told = (tmp_path / "r" / name).read_text(encoding="utf-8").replace("&#39;", "'")
        assert "The promise is about one row of 'person'" in told
    loaded = us.Release.load(tmp_path / "r")
    whats = [one.what for one in loaded.guarantee.public_inputs]
    assert any("protected as a group of so many records is" in what for what in whats)
    assert "those of one household are alike" in us.analyze(loaded, "mean", "age").notes[-1]


def test_flat_rows_with_the_columns_beside_will_do():
    both = tables(50, seed=1)
    flat = both["person"].join(both["household"], on="hid").drop("hid")
    assert open_rows(flat, Schema.loads(PERSONS)).lazy.collect().height == flat.height


def test_a_check_tells_what_does_not_fit_together():
    both = tables(30, seed=1)
    found = us.check({**both, "household": both["household"][:-1]}, Schema.loads(PERSONS))
    assert any("whose key is not in the table 'household'" in one.problem for one in found.findings)
