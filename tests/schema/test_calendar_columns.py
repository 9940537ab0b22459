"""Days, moments, times of day and durations: whole units on a line."""

import datetime

import pytest
from pydantic import ValidationError

from understudy.errors import SchemaError
from understudy.schema import Date, Datetime, Duration, Relation, Rule, Schema, Time
from understudy.schema.constraints import Grid


def moment(**entries):
    given = {"lower": "2020-01-01T00:00", "upper": "2020-01-02T12:00", "resolution": "hour"}
    return Datetime(kind="datetime", **(given | entries))


def duration(**entries):
    return Duration(kind="duration", **({"lower": "PT0S", "upper": "P2D"} | entries))


def test_moments_count_whole_units_and_bounds_are_cut_to_them():
    column = moment(lower="1969-12-31T23:59:59", upper="1970-01-01T02:59", bins=4)
    assert column.bounds == (-1.0, 2.0)
    assert column.labels[0] == "1969-12-31T23:00:00"
    assert column.position("1970-01-01 01:30") == 1.0
    assert column.position(datetime.date(1970, 1, 2)) == 24.0
    assert column.position("1970-01-01T01:30Z") is None
    assert column.position("soon") is column.position(3) is None


def test_times_of_day_have_a_bin_for_each_hour():
    assert Time(kind="time").n_ordinary == Time(kind="time", resolution="hour").n_ordinary == 24
    part = Time(kind="time", lower="08:30", upper="10:00", resolution="minute")
    labels = ["08:30:00 to 08:59:00", "09:00:00 to 10:00:00"]
    assert list(part.labels) == labels
    assert Time(kind="time", lower="08:30", upper="08:30").n_ordinary == 1
    grid = Grid.of(Time(kind="time", resolution="hour"))
    assert grid.lows.tolist() == grid.highs.tolist() == list(range(24))


def test_durations_are_written_plainly():
    column = duration(bins=("PT0S", "36:00:00", "P2D"), resolution="hour")
    assert column.bins == ("PT0S", "P1DT12H", "P2D")
    assert column.labels == ("PT0S to P1DT11H", "P1DT12H to P2D")
    assert duration(lower=datetime.timedelta(hours=-1)).bounds == (-3600.0, 172_800.0)


def test_a_short_line_has_one_bin_for_each_unit_and_a_long_one_has_20():
    assert Date(kind="date", lower="2020-01-01", upper="2020-01-05").n_ordinary == 5
    assert moment(upper="2020-01-01T02:00").n_ordinary == 3
    assert duration(upper="PT9S").n_ordinary == 10
    assert duration().n_ordinary == moment().n_ordinary == 20


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda: moment(timezone="Mars/Olympus"), "name of the time zone database"),
        (lambda: moment(timezone="+09:00"), "name of the time zone database"),
        (lambda: moment(missing=("2020-01-01T10:00",)), "between lower and upper"),
        (lambda: moment(bins=38), "number of values, 37"),
        (lambda: duration(missing=("PT1H",)), "between lower and upper"),
        (lambda: duration(lower="P3D"), "exchanged"),
        (lambda: Time(kind="time", lower="18:00", upper="08:00"), "exchanged"),
    ],
)
def test_what_does_not_hold_together(declare, said):
    with pytest.raises(ValidationError, match=said):
        declare()


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ('kind = "datetime"\nlower = 5\nupper = 2020-01-01T00:00:00', "a date and time such as"),
        ('kind = "datetime"\nlower = "noon"\nupper = 2020-01-01T00:00:00', "date and time such as"),
        ('kind = "time"\nlower = "25:00"', "a time of day such as"),
        ('kind = "duration"\nlower = 0\nupper = "P1D"', 'a duration such as "PT90M"'),
        ('kind = "duration"\nlower = "P1M"\nupper = "P1Y"', "a duration such as"),
        ('kind = "time"\nresolution = "hours"', "did you mean .hour"),
        (
            'kind = "datetime"\nlower = 2020-01-01T00:00:00Z\nupper = 2021-01-01T00:00:00',
            "without an offset",
        ),
    ],
)
def test_a_wrong_entry_is_named_in_one_sentence(entries, said):
    with pytest.raises(SchemaError, match=said) as caught:
        Schema.loads(f"[columns.x]\n{entries}\nreviewed = true\n")
    assert "'x'" in str(caught.value)


def test_the_file_keeps_all():
    text = """
[columns.seen]
kind = "datetime"
lower = 2020-01-01T00:00:00
upper = 2020-12-31T23:59:00
resolution = "minute"
timezone = "Europe/Zurich"
missing = ["", 9999-12-31T23:59:00]
[columns.at]
kind = "time"
upper = 18:00:00
[columns.stay]
kind = "duration"
lower = "PT0S"
upper = "P9W"
"""
    schema = Schema.loads(text)
    assert Schema.loads(schema.dumps()) == schema
    assert schema.columns["seen"].missing == ("", "9999-12-31T23:59:00")


def test_rules_and_relations_name_times():
    columns = {
        "came": moment(bins=("2020-01-01T00:00", "2020-01-02T00:00", "2020-01-02T12:00")),
        "went": moment(bins=2),
        "stay": duration(bins=2),
    }
    rule = Rule(
        where={"came": {"lower": datetime.datetime(2020, 1, 2), "upper": "2020-01-02T12:00"}}
    )
    assert rule.states(columns) == {"came": frozenset({1})}
    bad = Rule(where={"stay": {"lower": 0, "upper": 1}})
    assert "whose ends are not durations" in next(bad.faults(columns))
    assert not list(Relation(inequality="came <= went").faults(columns))
    assert "datetime with a duration" in next(Relation(inequality="came <= stay").faults(columns))
    finer = {**columns, "went": moment(resolution="minute")}
    assert "another resolution" in next(Relation(inequality="came <= went").faults(finer))
