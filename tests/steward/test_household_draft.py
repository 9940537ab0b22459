"""Units with their members: drafted from two tables or one, and gone through part by part."""

import io
import sys

import polars as pl
import pytest

import understudy as us
from made_members import RULES, SCHEMA, tables
from understudy.cli.app import app
from understudy.errors import DataError, SchemaError
from understudy.schema import Schema
from understudy.steward.review import Review, column_of, is_rule, left_as_drafted

pytestmark = pytest.mark.whole

SLOTS = ("tables", "person")
AGE = (*SLOTS, "columns", "age")


def reviewed(text):
    """A draft whose every entry somebody has confirmed with one source."""
    text = text.replace('source = ""\nreviewed = false', 'source = "law"\nreviewed = true')
    return text.replace("drafted =", "# drafted =")


@pytest.mark.parametrize("given", ["two tables", "one table"])
def test_a_draft_proposes_both_tables_and_decides_nothing(given):
    named = pl.format("H{}", pl.col("hid"))
    both = {name: one.with_columns(hid=named) for name, one in tables(150, seed=1).items()}
    persons = both["person"].join(both["household"], on="hid")
    text = us.draft(both) if given == "two tables" else us.draft(persons, key="hid")
    schema = Schema.loads(text)
    form = schema.members
    assert (form.of, form.table, form.key, form.columns) == (
        "household",
        "person",
        "hid",
        ("role", "age", "work"),
    )
    assert {"region", "income"} <= set(form.unit_columns(schema.columns))
    assert form.rows_per_unit == 5
    with pytest.raises(SchemaError, match="not reviewed"):
        schema.require_reviewed()
    assert schema.declared["size"].left_as_drafted == ("upper",)
    heading = " ".join(line.strip("# ") for line in text.partition("format =")[0].splitlines())
    assert "'hid' is proposed as the key" in heading
    assert "how many rows of 'person' can a unit have" in heading
    beside = "'income' are the same in all rows of each unit" in heading
    assert beside == (given == "one table")
    assert not any(key in text for key in both["household"]["hid"])


def test_a_reviewed_draft_of_both_tables_fits_them():
    both = tables(150, seed=1)
    schema = Schema.loads(reviewed(us.draft(both)))
    schema.require_reviewed()
    assert us.check(both, schema).ok


def test_units_without_members_are_asked_about_and_not_declared():
    both = tables(150, seed=1)
    fewer = both["person"].filter(pl.col("hid") != both["household"]["hid"][0])
    text = us.draft({"household": both["household"], "person": fewer})
    assert "some units have no row of 'person'" in text
    assert Schema.loads(text).columns["size"].lower == 1


def test_slots_leave_the_few_largest_units_out():
    both = tables(500, seed=2)
    one = pl.DataFrame({"hid": [-1] * 20, "role": ["child"] * 20, "age": 3, "work": False})
    home = pl.DataFrame({"hid": [-1], "region": ["north"], "income": [0.0]})
    more = {
        "household": pl.concat([both["household"], home]),
        "person": pl.concat([both["person"], one.cast({"age": pl.Int64})]),
    }
    assert Schema.loads(us.draft(more)).members.rows_per_unit == 5


def test_a_codebook_speaks_of_both_tables(tmp_path):
    book = tmp_path / "list.csv"
    book.write_text(
        "variable,label,code,value\nregion,Part,north,North\n,,south,South\nrole,Who,reference,R\n"
        ",,partner,P\n,,child,C\nother,Not here,1,One\n"
    )
    text = us.draft(tables(100, seed=1), codebook=book)
    schema = Schema.loads(text)
    assert "list.csv" in schema.declared["region"].source
    assert "list.csv" in schema.declared["role_1"].source
    assert text.count("'other'") == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda both: {"person": both["person"], "household": both["household"]}, "units first"),
        (lambda both: {"household": both["household"]}, "two tables"),
        (lambda both: both | {"household": both["household"].rename({"hid": "id"})}, "links both"),
        (
            lambda both: {
                name: one.with_columns(other=pl.col("hid") * 2) for name, one in both.items()
            },
            "'hid', 'other'",
        ),
    ],
)
def test_tables_that_do_not_belong_together_are_refused(change, told):
    with pytest.raises(DataError, match=told):
        us.draft(change(tables(40, seed=1)))


def test_two_keys_are_told_apart_by_name():
    both = {
        name: one.with_columns(other=pl.col("hid") * 2) for name, one in tables(40, seed=1).items()
    }
    assert Schema.loads(us.draft(both, key="hid")).members.key == "hid"
    with pytest.raises(DataError, match="did you mean 'hid'"):
        us.draft(both["person"], key="hit")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with both files and their schema, of which nothing is reviewed."""
    monkeypatch.chdir(tmp_path)
    for name, table in tables(60, seed=1).items():
        table.write_csv(f"{name}.csv")
    text = (SCHEMA + RULES).replace("reviewed = true", "reviewed = false")
    (tmp_path / "schema.toml").write_text(text, encoding="utf-8")
    return tmp_path / "schema.toml"


def test_a_review_holds_each_part_of_both_tables_once(place):
    review = Review.of(place)
    assert [column_of(path) for path in review.open if column_of(path)] == [
        *("region", "income"),
        *("role", "age", "work"),
    ]
    rules = [review.name(path) for path in review.open if is_rule(path)]
    assert len(rules) == 4
    assert "exactly 1 with role = reference" in rules[1]
    assert SLOTS in review.open
    done = review.accept(*review.open)
    done.schema.require_reviewed()
    assert not done.open


def test_decisions_stand_where_they_belong(place):
    review = Review.of(place)
    review = review.edit(SLOTS, "rows_per_unit = 4", "sheet 3").confirm(AGE, "sheet 4")
    rule = (*SLOTS, "rules", "1")
    review = review.confirm(rule, "page 1")
    assert review.schema.members.rows_per_unit == 4
    assert review.schema.declared["age_4"].source == "sheet 4"
    assert review.part(rule).source == "page 1"
    assert review.part((*SLOTS, "rules", "0")).source == "questionnaire"
    without = review.exclude(rule)
    assert len(without.schema.forbidden) < len(review.schema.forbidden)
    income = ("tables", "household", "columns", "income")
    assert review.alike(income, "age").part(income).upper == 99
    assert review.name(AGE) == "Column 'age' of the table 'person'"
    with pytest.raises(SchemaError, match="order names 'role'"):
        review.exclude((*SLOTS, "columns", "role"))
    with pytest.raises(SchemaError, match="cannot be taken out"):
        review.exclude(SLOTS)


def test_a_number_of_slots_from_the_rows_is_confirmed_or_makes_releases_conditional(tmp_path):
    place = tmp_path / "draft.toml"
    place.write_text(us.draft(tables(100, seed=1)), encoding="utf-8")
    review = Review.of(place)
    assert left_as_drafted(review.part(SLOTS)) == ("rows_per_unit",)
    with pytest.raises(SchemaError, match="rows_per_unit were read from the rows"):
        review.accept(SLOTS, source="law")
    assert review.keep(SLOTS).schema.declared["size"].left_as_drafted == ("upper",)
    confirmed = review.confirm(SLOTS, "sheet 3")
    assert not confirmed.schema.declared["size"].left_as_drafted
    assert confirmed.schema.declared["size"].source == "sheet 3"
    assert not review.edit(SLOTS, "rows_per_unit = 4").part(SLOTS).left_as_drafted


def test_a_review_of_members_by_themselves_has_no_slots(place):
    text = place.read_text(encoding="utf-8").partition("[[tables.person.rules]]")[0]
    place.write_text(text.replace('table = "household"', 'table = "person"'), encoding="utf-8")
    review = Review.of(place)
    assert SLOTS not in review.open
    done = review.accept(*review.open)
    done.schema.require_reviewed()
    assert not done.open


def test_both_tables_are_gone_through_in_the_terminal(place, monkeypatch, capsys):
    persons = pl.read_csv("person.csv").with_columns(pl.col("role").replace("child", "ward"))
    persons.write_csv("person.csv")
    answers = "a\nc law\ne rows_per_unit = 4; sheet 3\nm role age; page 3\na\na\na\na\na\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    words = ["schema", "review", str(place), "--data", "household.csv", "--members", "person.csv"]
    app(words, standalone_mode=False)
    told = " ".join(capsys.readouterr().out.split())
    assert "role of the table person (7 open) kind" in told
    assert "CONFIDENTIAL, by the rows: the column holds values" in told
    assert "The schema is reviewed" in told
    Schema.load(place).require_reviewed()


def test_two_files_are_drafted_by_the_command(place):
    app(
        ["schema", "draft", "household.csv", "--members", "person.csv", "-o", "new.toml"],
        standalone_mode=False,
    )
    assert Schema.load("new.toml").members.table == "person"
