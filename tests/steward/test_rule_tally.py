"""What the steward learns of rules that the rows do not keep to: which, and in how many rows."""

import polars as pl
import pytest

from schemas import column
from understudy.data.coding import Coder
from understudy.schema import Schema
from understudy.steward.check import check

SCHEMA = Schema.loads(
    column("s", "integer", lower=0, upper=9, bins=2)
    + column("e", "integer", lower=0, upper=9, bins=2, missing=[""])
    + column("gap", "integer", lower=-9, upper=9, derived="e - s", missing=[""])
    + column("long", "boolean", derived="gap > 3", missing=[""])
    + '\n[[relations]]\ninequality = "s <= e"\nreviewed = true\n'
)
ROWS = pl.DataFrame({"s": [1, 3, 9, 2], "e": [2, 1, 0, None], "gap": [1, -2, -9, 5]})


def test_rows_off_a_rule_or_relation_are_counted():
    told = check(ROWS, SCHEMA)
    lines = " ".join(told.lines(counts=True))
    assert "Column 'gap' differs from what its rule gives" in lines
    assert "(1 row)" in lines
    assert "The relation s <= e does not hold" in lines
    assert "(2 rows)" in lines
    assert not told.notes  # a derived column is no column that the schema lacks


def test_rows_need_no_derived_column():
    told = check(ROWS.drop("gap").filter(pl.col("s") < 2), SCHEMA)
    assert told.ok


@pytest.mark.parametrize("values", [["x"] * 4, [None] * 4, [[1]] * 4])
def test_a_derived_column_of_any_type_stops_nothing(values):
    lines = check(ROWS.with_columns(pl.Series("gap", values)), SCHEMA).lines()
    assert any("s <= e" in line for line in lines)


def test_only_rows_whose_bins_rule_it_out_leave_the_domain():
    s, e = Coder(SCHEMA).code(ROWS)
    assert s.tolist() == [0, 0, 2, 0]
    assert e.tolist() == [0, 0, 3, 2]
