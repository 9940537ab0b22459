"""Values of ordered columns as places on one line."""

import numpy as np
import polars as pl

import understudy as us
from understudy.evaluate.comparison import NOWHERE, Scale, ordered_columns, ordered_names
from understudy.inference.records import Records

SCHEMA = us.Schema.loads(
    """
    [columns.city]
    kind = "categorical"
    levels = ["Aa", "Bb"]
    [columns.age]
    kind = "integer"
    lower = 0
    upper = 9
    missing = [-1]
    [columns.rooms]
    kind = "ordinal"
    levels = [2, 5, 9]
    missing = [99]
    [columns.grade]
    kind = "ordinal"
    levels = ["low", "high"]
    [columns.day]
    kind = "date"
    lower = 2020-01-01
    upper = 2020-12-31
    """
)


def records(**columns):
    rows = {"city": ["Aa"] * 3, "day": ["2020-01-01", "2020-01-03", "2020-02-01"], **columns}
    frame = pl.DataFrame(rows).with_columns(pl.col("day").str.to_date())
    return Records.of(frame, SCHEMA, SCHEMA.names)


def test_values_of_all_tables_share_their_levels():
    original = records(age=[3, -1, 7], rooms=[9, 2, 99], grade=["low", "high", "low"])
    copy = records(age=[4, 3, -1], rooms=[2, 2, 5], grade=["high", "high", "high"])
    assert ordered_names(SCHEMA) == ("age", "rooms", "grade", "day")
    age, rooms, grade, day = ordered_columns(original, [copy])
    assert [one.scale for one in (age, rooms, grade, day)] == [
        *(Scale.NUMBER, Scale.NUMBER, Scale.ORDER, Scale.DATE)
    ]
    assert age.levels.tolist() == [3, 4, 7]
    assert age.original.tolist() == [0, NOWHERE, 2]
    assert age.sets[0].tolist() == [1, 0, NOWHERE]
    assert rooms.levels.tolist() == [2, 5, 9]
    assert rooms.values(rooms.original).tolist()[:2] == [9, 2]
    assert np.isnan(rooms.values(rooms.original)[2])
    assert rooms.counts(rooms.sets[0]).tolist() == [2, 1, 0]
    assert grade.levels.tolist() == [0, 1]
    assert np.diff(day.levels).tolist() == [2, 29]
