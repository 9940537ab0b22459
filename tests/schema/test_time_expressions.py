"""What expressions read from texts at once, against what plain Python reads from each."""

import datetime
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.schema.temporal import (
    seconds_of_moment,
    seconds_of_span,
    seconds_of_time,
    span_text,
)
from understudy.schema.time_expressions import (
    seconds_of_moments,
    seconds_of_spans,
    seconds_of_times,
)

reproducible = settings(derandomize=True, deadline=None, max_examples=60 if NIGHT else 15)
digits = st.integers(0, 99).map(lambda n: f"{n:02d}") | st.integers(0, 9).map(str)
odd = st.sampled_from(["", " ", "٣", "x", "-", "+", "T", "P", "Z", "\n", "null", "1:2", "PT"])
clocks = st.tuples(digits, digits, digits).map(":".join)
fractions = st.sampled_from(["", ".5", ",000", ".123456789", "."])
times = st.tuples(clocks, fractions).map("".join) | clocks.map(lambda text: text[:5])
days = st.dates().map(str) | st.sampled_from(["2019-02-29", "2020-1-1", "9999-12-31"])
moments = st.tuples(days, st.sampled_from(["T", " ", "", "t"]), times).map("".join) | days
parts = st.tuples(*(st.just("") | digits.map(lambda n, u=u: n + u) for u in "WDHMS"))
spans = parts.map(lambda p: f"P{p[0]}{p[1]}T{p[2]}{p[3]}{p[4]}") | st.tuples(
    st.sampled_from(["", "-", "+"]), st.sampled_from(["", "1 day, ", "2 days ", "3 days +"]), times
).map("".join)
texts = st.lists(moments | times | spans | spans.map("-".__add__) | odd, min_size=1, max_size=30)


@reproducible
@given(texts)
@example(["-1 day, 23:59:59.5", "-PT0.5S", "-01:30:00.1", "P", "PT", "P1DT", "P1W2D", "1 days"])
def test_each_text_is_read_as_by_itself(found):
    table = pl.DataFrame({"t": found}, schema={"t": pl.String})
    column = pl.col("t")
    for at_once, alone in (
        (seconds_of_moments(column, ""), seconds_of_moment),
        (seconds_of_times(column), seconds_of_time),
        (seconds_of_spans(column), seconds_of_span),
    ):
        assert table.select(at_once).to_series().to_list() == [alone(text) for text in found]


@reproducible
@given(st.integers(-(10**9), 10**9))
def test_a_duration_is_read_as_it_is_written(seconds):
    assert seconds_of_span(span_text(seconds)) == seconds
    polars = pl.Series([datetime.timedelta(seconds=seconds)]).dt.to_string("iso")[0]
    assert seconds_of_span(polars) == seconds


@pytest.mark.parametrize("zone", ["Europe/Zurich", "UTC", "Asia/Kathmandu"])
def test_moments_that_name_a_zone_are_brought_to_the_declared_one(zone):
    """Through both changes of the clock, against the standard library."""
    first = datetime.datetime(2021, 3, 28, 0, 30, tzinfo=datetime.UTC)
    found = [first + datetime.timedelta(minutes=30 * k) for k in range(8)]
    found += [one.replace(month=10, day=31) for one in found]
    texts = [one.isoformat().replace("+00:00", "Z") for one in found]
    texts += [one.astimezone(ZoneInfo("America/New_York")).isoformat() for one in found]
    read = pl.DataFrame({"t": texts}).select(seconds_of_moments(pl.col("t"), zone)).to_series()
    local = [one.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for one in found]
    start = datetime.datetime(1970, 1, 1)
    assert read.to_list() == 2 * [(one - start).total_seconds() for one in local]
