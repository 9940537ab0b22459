"""Coding against a slow, obvious reference: every kind of column, every way a value can come in."""

import datetime
import math
import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.data.coding import Coder, ColumnCoder, code_dtype
from understudy.data.sources import open_rows
from understudy.schema import (
    NUMERIC,
    Boolean,
    Categorical,
    Continuous,
    Date,
    Datetime,
    Integer,
    Ordinal,
    Schema,
)
from understudy.schema.base import text_of

pytestmark = pytest.mark.fuzz

reproducible = settings(derandomize=True, deadline=None, max_examples=30 if NIGHT else 12)
DAY = datetime.date

COLUMNS = {
    "plain": Categorical(kind="categorical", levels=("f", "m", "NA")),
    "mixed": Categorical(
        kind="categorical",
        levels=(3, "f", 1.5, True, DAY(2020, 2, 29), "x y", "1e3"),
        missing=("", -9),
        not_applicable=("?",),
    ),
    "zeros": Categorical(kind="categorical", levels=("03", "3", "007", "07")),
    "other": Ordinal(kind="ordinal", levels=("0.1", 2, "3.0"), out_of_domain="other"),
    "empty level": Categorical(kind="categorical", levels=("", "f")),
    "truth": Boolean(kind="boolean", missing=("", 9, "NA")),
    "count": Integer(kind="integer", lower=-5, upper=20, bins=4, spikes=(0, 20)),
    "coded": Integer(
        kind="integer",
        lower=0,
        upper=10,
        bins=(0, 3, 4, 10),
        missing=(-9, "NA", ""),
        not_applicable=(99.0,),
        out_of_domain=-1,
    ),
    "real": Continuous(
        kind="continuous",
        lower=-1,
        upper=10,
        bins=(-1.0, 0.0, 0.1, 3.5, 10.0),
        spikes=(0, 0.1, 10),
        missing=(-9, "nan"),
    ),
    "day": Date(
        kind="date",
        lower=DAY(1970, 1, 1),
        upper=DAY(2020, 12, 31),
        bins=7,
        missing=(-9, DAY(9999, 12, 31), "NA"),
    ),
}
each_column = pytest.mark.parametrize("name", COLUMNS)

# --- the reference -------------------------------------------------------------------------------

SPACES = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.I)
TIMED_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ].*)?")


def days(day):
    return float((day - DAY(1970, 1, 1)).days)


def text_in(cell):
    """The text that a cell is; None if it came as a number or day."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell if isinstance(cell, str) else None


def truth_in(value):
    """The truth value that a cell or a declared value says, or None."""
    if isinstance(value, str) and value.strip(SPACES).lower() in {"true", "false"}:
        return value.strip(SPACES).lower() == "true"
    return value if isinstance(value, bool) else None


def number_in(value):
    """The number that a cell or a declared value denotes, or None; a truth value is 1 or 0."""
    if truth_in(value) is not None:
        return float(truth_in(value))
    if isinstance(value, str):
        word = value.strip(SPACES)
        return float(word) if NUMBER.fullmatch(word) else None
    return None if isinstance(value, DAY) else float(value)


def day_in(value):
    """The day that a cell or a declared value denotes, or None."""
    if isinstance(value, datetime.datetime):
        return days(value.date())
    if isinstance(value, DAY):
        return days(value)
    match = TIMED_DAY.fullmatch(value.strip(SPACES)) if isinstance(value, str) else None
    if match is None:
        return None
    if match.group(1).startswith("0000-"):  # no year 0 in Python; before all bounds anyway
        return -1e6 if match.group(1) == "0000-01-01" else None
    try:
        return days(DAY.fromisoformat(match.group(1)))
    except ValueError:
        return None


def named_states(column):
    codes = [(code, column.n_ordinary + k) for k, code in enumerate(column.codes)]
    if isinstance(column, NUMERIC):
        return codes
    return codes + [(level, k) for k, level in enumerate(column.levels)]


def means(column, number, value):
    """Distance from a number to a declared value that it means, or None."""
    wanted = number_in(value)
    if wanted is None or number is None:
        return None
    if wanted == number:
        return 0.0
    whole = isinstance(column, Integer | Date) or isinstance(value, str | bool)
    if (whole and wanted == int(wanted)) or not math.isfinite(number):
        return None
    gap = abs(Fraction(number) - Fraction(wanted))
    return gap if gap <= Fraction(abs(wanted)) / 2**23 else None


def single(found, plain):
    """The one state of several values, or the one that is written plainly, or None."""
    states = [state for value, state in found if text_of(value) == plain]
    return states[0] if states else found[0][1] if len(found) == 1 else None


def named_by(column, cell):
    """The state that a cell means by its truth value, day or number, or None."""
    named, truth, day, number = (
        *(named_states(column), truth_in(cell), day_in(cell), number_in(cell)),
    )
    if truth is not None:
        alike = [(v, k) for v, k in named if truth_in(v) is truth]
        state = single(alike, text_of(truth))
        if state is not None:
            return state
    if day is not None:
        state = single([(v, k) for v, k in named if day_in(v) == day], "")
        if state is not None:
            return state
    if isinstance(column, Integer | Continuous) and number is not None:
        low, high = column.bounds
        if low <= number <= high:
            return None
    gaps = [(means(column, number, v), number_in(v), v, k) for v, k in named]
    near = sorted(((gap, n) for gap, n, _, _ in gaps if gap is not None))
    if not near:
        return None
    alike = [(v, k) for gap, n, v, k in gaps if gap is not None and n == near[0][1]]
    return single(alike, text_of(near[0][1]))


def interval_of(column, number):
    low, high = column.bounds
    if not math.isfinite(number) or (column.kind != "continuous" and number != int(number)):
        return None
    number = min(max(number, low), high)
    spikes = [(abs(one.low - number), k) for k, one in enumerate(column.intervals) if one.spike]
    for gap, k in sorted(spikes):
        reach = abs(column.intervals[k].low) * 2.0**-23 if column.kind == "continuous" else 0
        if gap <= reach:
            return k
    for k, one in enumerate(column.intervals):
        if one.spike:
            continue
        closed = column.kind != "continuous" or one.high == high
        if one.low <= number < one.high or (closed and number == one.high):
            return k
    raise AssertionError("the intervals leave a gap")


def reference(column, cell):
    """The state of one cell, by the rules as they stand in the documentation."""
    lost = column.size if column.out_of_domain is None else column.size - 1
    texts = {text_of(value): state for value, state in named_states(column)}
    if cell is None or cell == "" or cell != cell:
        return texts.get("", lost)
    text = text_in(cell)
    if text is not None and text in texts:
        return texts[text]
    state = named_by(column, cell)
    place = day_in(cell) if isinstance(column, Date) else number_in(cell)
    if state is None and isinstance(column, NUMERIC) and place is not None:
        state = interval_of(column, place)
    return lost if state is None else state


# --- values --------------------------------------------------------------------------------------

WORDS = (
    *("f", "m", "x y", "other", "NA", "?", "", "true", "TRUE", " False ", "t", "yes"),
    *("3", "3.0", "03", "003", "007", "07", "7", " 3 ", "+3", "3.", "-9", "-9.0", "99", "9"),
    *("0", "-0", "0.1", ".1", "1e-1", "1.5", "3.5", "10", "20", "1000", "1e3", "1_000", "٣"),
    *("inf", "-Infinity", "nan", "NaN", "1e400", "1e300", "-1", "-2", "10000000000000000000"),
    *("2020-02-29", "2019-02-29", "2020-2-9", " 2020-02-29 ", "2020-02-29 10:00", "9999-12-31"),
    *("2020-02-29T23:59:59Z", "2020-02-29x", "0000-01-01", "1969-12-23", "1900-01-01", "18262"),
)
words = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
numbers = (
    st.sampled_from([0.0, -0.0, 0.1, 1.0, 1.5, 2.0, 3.0, 3.5, 7.0, 9.0, 10.0, 20.0, 99.0, -9.0])
    | st.sampled_from([math.inf, -math.inf, math.nan, 1e300, -1e300, 1000.0, 0.0999999999, -1.0])
    | st.floats(-12, 30)
)
integers = st.sampled_from([0, 1, 2, 3, 7, 9, 10, 20, 21, 99, 1000, -1, -9, 2**62]) | st.integers(
    -12, 30
)
dates = st.sampled_from([DAY(2020, 2, 29), DAY(1969, 12, 23), DAY(9999, 12, 31)]) | st.dates()


def columns_of(cells):
    return st.lists(st.none() | cells, max_size=12)


CODERS = {id(column): ColumnCoder("c", column) for column in COLUMNS.values()}
"""Of the columns above, which are coded thousands of times."""


def coded(column, values):
    coder = CODERS.get(id(column)) or ColumnCoder("c", column)
    return coder.code(values).tolist()


def read_back(data):
    """The column `c` of some input, as the engine reads it."""
    batches = open_rows(data).batches(["c"])
    return pl.concat(batch.cast({cs.enum(): pl.String}) for batch in batches)["c"]


def expected(column, cells):
    return [reference(column, cell) for cell in cells]


# --- all kinds, all inputs -----------------------------------------------------------------------


@each_column
@reproducible
@given(cells=columns_of(words))
@pytest.mark.nightly(every=3)
def test_texts(name, cells):
    column = COLUMNS[name]
    wanted = expected(column, cells)
    series = pl.Series("c", cells, dtype=pl.String)
    assert coded(column, series) == wanted
    assert coded(column, series.cast(pl.Categorical)) == wanted
    assert coded(column, read_back(pd.DataFrame({"c": pd.Series(cells, dtype=object)}))) == wanted


@each_column
@settings(reproducible, max_examples=10 if NIGHT else 5)
@given(cells=columns_of(words))
@pytest.mark.nightly(every=3)
def test_texts_in_every_container(name, cells, tmp_path_factory):
    column = COLUMNS[name]
    wanted = expected(column, cells)
    frame = pl.DataFrame({"c": pl.Series(cells, dtype=pl.String), "d": ["x"] * len(cells)})
    folder = tmp_path_factory.mktemp("files")
    in_one_line = [not set(cell or "") & set("\n\0") for cell in cells]
    frame.filter(in_one_line).write_csv(folder / "a.csv", quote_style="non_numeric")
    frame.write_parquet(folder / "a.parquet")
    pandas = frame.to_pandas()
    assert coded(column, read_back(frame.to_arrow())) == wanted
    assert coded(column, read_back(frame.lazy())) == wanted
    of_lines = [one for one, fits in zip(wanted, in_one_line, strict=True) if fits]
    assert coded(column, read_back(folder / "a.csv")) == of_lines
    assert coded(column, read_back(folder / "a.parquet")) == wanted
    assert coded(column, read_back(pandas)) == wanted
    assert coded(column, read_back(pandas.astype({"c": "string"}))) == wanted
    assert coded(column, read_back(pandas.astype({"c": "category"}))) == wanted


NOT_DATES = [name for name in COLUMNS if name != "day"]


@pytest.mark.parametrize("name", NOT_DATES)
@reproducible
@given(cells=columns_of(numbers))
@pytest.mark.nightly(every=3)
def test_real_numbers(name, cells):
    column = COLUMNS[name]
    wanted = expected(column, cells)
    assert coded(column, pl.Series("c", cells, dtype=pl.Float64)) == wanted
    assert (
        coded(column, read_back(pd.DataFrame({"c": pd.Series(cells, dtype="float64")}))) == wanted
    )
    assert (
        coded(column, read_back(pd.DataFrame({"c": pd.Series(cells, dtype="Float64")}))) == wanted
    )
    assert coded(column, read_back(pa.table({"c": pa.array(cells, pa.float64())}))) == wanted


@pytest.mark.parametrize("name", NOT_DATES)
@reproducible
@given(cells=columns_of(integers))
@pytest.mark.nightly(every=3)
def test_whole_numbers(name, cells):
    column = COLUMNS[name]
    wanted = expected(column, cells)
    assert coded(column, pl.Series("c", cells, dtype=pl.Int64)) == wanted
    assert coded(column, pl.Series("c", cells, dtype=pl.Decimal(38, 2))) == wanted
    assert coded(column, read_back(pd.DataFrame({"c": pd.Series(cells, dtype="Int64")}))) == wanted
    small = [cell for cell in cells if cell is not None and abs(cell) < 100]
    wanted = expected(column, small)
    assert coded(column, pl.Series("c", small, dtype=pl.Int8)) == wanted
    assert coded(column, read_back(pd.DataFrame({"c": np.array(small, dtype=np.int8)}))) == wanted


TRUTHS = [twice * 2 for n in range(4) for twice in combinations((None, True, False), n)]


@pytest.mark.parametrize("cells", TRUTHS, ids=str)
@pytest.mark.parametrize("name", NOT_DATES)
@pytest.mark.nightly(every=3)
def test_truth_values(name, cells):
    """Every set of values that a column can have; each record is coded by itself."""
    column = COLUMNS[name]
    wanted = expected(column, cells)
    assert coded(column, pl.Series("c", cells, dtype=pl.Boolean)) == wanted
    assert (
        coded(column, read_back(pd.DataFrame({"c": pd.Series(cells, dtype="boolean")}))) == wanted
    )
    objects = pd.Series([None if c is None else np.bool_(c) for c in cells], dtype=object)
    assert coded(column, read_back(pd.DataFrame({"c": objects}))) == wanted
    assert coded(column, pl.Series("c", [c if c is None else str(c) for c in cells])) == wanted
    assert coded(column, pl.Series("c", cells, dtype=pl.Boolean).cast(pl.Float32)) == wanted


@each_column
@reproducible
@given(cells=columns_of(dates), hour=st.integers(0, 23))
@pytest.mark.nightly(every=3)
def test_dates(name, cells, hour):
    column = COLUMNS[name]
    wanted = expected(column, cells)
    assert coded(column, pl.Series("c", cells, dtype=pl.Date)) == wanted
    assert coded(column, read_back(pa.table({"c": pa.array(cells, pa.date32())}))) == wanted
    assert coded(column, read_back(pd.DataFrame({"c": pd.Series(cells, dtype=object)}))) == wanted
    times = [c and datetime.datetime(c.year, c.month, c.day, hour) for c in cells]
    assert coded(column, pl.Series("c", times, dtype=pl.Datetime("ms"))) == wanted
    moments = pd.Series(times, dtype="datetime64[s]")
    assert coded(column, read_back(pd.DataFrame({"c": moments}))) == wanted


def test_a_moment_counts_on_its_local_day():
    column = COLUMNS["day"]
    moment = datetime.datetime(2020, 6, 30, 23, tzinfo=datetime.UTC)
    tokyo = pl.Series("c", [moment]).dt.convert_time_zone("Asia/Tokyo")
    assert ColumnCoder("c", column).read(tokyo).number.tolist() == [days(DAY(2020, 7, 1))]


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_numbers_stored_in_32_bits_are_what_they_say(dtype):
    values = pl.Series("c", [0.1, 0.0, 1.5, 3.5, None, math.nan, math.inf], dtype=dtype)
    cells = [0.1, 0.0, 1.5, 3.5, None, math.nan, math.inf]
    for name in ("mixed", "other", "real"):
        assert coded(COLUMNS[name], values) == expected(COLUMNS[name], cells)


@each_column
def test_a_column_of_nothing(name):
    column = COLUMNS[name]
    wanted = expected(column, [None, None])
    assert coded(column, pl.Series("c", [None, None])) == wanted
    assert coded(column, pl.Series("c", ["", None])) == wanted
    for dtype in (pl.String, pl.Null):
        assert coded(column, pl.Series("c", [], dtype=dtype)) == []


# --- the cases that the documentation names ------------------------------------------------------


def test_three_is_three_however_it_is_written():
    column = Categorical(kind="categorical", levels=("a", 3))
    for values in ([3], [3.0], ["3"], ["3.0"], ["03"]):
        assert coded(column, pl.Series("c", values)) == [1]
    column = Categorical(kind="categorical", levels=("03", "3"))
    assert coded(column, pl.Series("c", ["03", "3", "3.0", "003"])) == [0, 1, 1, 1]
    assert coded(column, pl.Series("c", [3, 4])) == [1, 2]


def test_codes_are_no_values_and_out_of_range_is_clipped():
    column = COLUMNS["coded"]
    states = coded(column, pl.Series("c", [-9.0, -8.0, 99.0, 98.0, -1.0, 3.5, 0.0, 10.0]))
    labels = [column.labels[k] for k in states]
    assert labels == ["-9", "0 to 2", "99", "4 to 10", "-1", "-1", "0 to 2", "4 to 10"]


def test_a_code_of_a_date_column_is_not_a_day():
    column = COLUMNS["day"]  # −9 days would be 1969-12-23
    assert coded(column, pl.Series("c", ["1969-12-23", "-9"])) == [0, 7]


def test_unfit_values_go_to_the_declared_code_or_beyond_all_states():
    declared, undeclared = COLUMNS["other"], COLUMNS["plain"]
    assert coded(declared, pl.Series("c", ["x", None, "other"])) == [3, 3, 3]
    assert coded(undeclared, pl.Series("c", ["x", None])) == [3, 3]
    assert (declared.size, undeclared.size) == (4, 3)


@each_column
@settings(reproducible, max_examples=20)
@given(first=columns_of(words), second=columns_of(words))
@pytest.mark.nightly(every=3)
def test_each_record_is_coded_by_itself(name, first, second):
    column = COLUMNS[name]
    a, b = (pl.Series("c", cells, dtype=pl.String) for cells in (first, second))
    assert coded(column, pl.concat([a, b])) == coded(column, a) + coded(column, b)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("day", pl.Series("c", [1])),
        ("day", pl.Series("c", [True])),
        ("count", pl.Series("c", [DAY(2020, 1, 1)])),
        ("real", pl.Series("c", [datetime.datetime(2020, 1, 1)])),
        ("plain", pl.Series("c", [[1]])),
        ("plain", pl.Series("c", [{"a": 1}])),
        ("real", pl.Series("c", [datetime.timedelta(1)])),
        ("real", pl.Series("c", [datetime.time(1)])),
        ("plain", pl.Series("c", [b"\xff"])),
    ],
)
def test_values_of_another_kind_are_out_of_domain(kind, values):
    column = COLUMNS[kind]
    assert coded(column, values) == [column.size]
    assert coded(column, values.clear()) == []


def test_bytes_and_times_are_the_texts_that_they_spell():
    column = Categorical(kind="categorical", levels=("f", "10:30:00", "10:30:00.500000"))
    assert coded(column, pl.Series("c", [b"f", b"m", None])) == [0, 3, 3]
    times = [datetime.time(10, 30), datetime.time(10, 30, 0, 500_000), datetime.time(11)]
    assert coded(column, pl.Series("c", times)) == [1, 2, 3]


def test_state_numbers_take_little_room():
    assert [code_dtype(n) for n in (255, 256, 65535, 65536)] == [
        *(np.uint8, np.uint16, np.uint16, np.uint32)
    ]
    wide = Integer(kind="integer", lower=0, upper=299, bins=300)
    assert ColumnCoder("c", wide).code(pl.Series("c", [299.0, 2.5])).tolist() == [299, 300]


# --- whole records -------------------------------------------------------------------------------

SCHEMA = Schema.loads("""
[columns.a]
kind = "categorical"
levels = ["x", "y"]
missing = [""]
out_of_domain = "other"
[columns."^b$"]
kind = "integer"
lower = 0
upper = 3
[columns."*"]
kind = "boolean"
[[forbidden]]
where = { a = ["x", "other"], "^b$" = { lower = 2, upper = 3 } }
[[forbidden]]
where = { "^b$" = 0, "*" = true }
""")


@reproducible
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["x", "y", "", None, "z", "other"]),
            st.sampled_from([0, 1, 2, 3, 4, -1, None]),
            st.booleans() | st.none(),
        ),
        max_size=20,
    )
)
def test_records_in_a_forbidden_combination_leave_the_domain(records):
    columns = [list(column) for column in zip(*records, strict=True)] or [[], [], []]
    types = (pl.String, pl.Int64, pl.Boolean)
    batch = pl.DataFrame(
        {
            name: pl.Series(cells, dtype=dtype)
            for name, cells, dtype in zip(SCHEMA.names, columns, types, strict=True)
        }
    )
    wanted = []
    for record in records:
        states = [reference(c, v) for c, v in zip(SCHEMA.columns.values(), record, strict=True)]
        final = list(states)
        for box in SCHEMA.domain.boxes:
            if all(states[j] in allowed for j, allowed in box.items()):
                for j in box:
                    final[j] = SCHEMA.sizes[j]
        wanted.append(final)
    states = Coder(SCHEMA).code(batch)
    assert [list(record) for record in zip(*(c.tolist() for c in states), strict=True)] == wanted
    assert not SCHEMA.domain.find_forbidden(states).any()


def test_a_declared_unit_or_format_is_read_cell_by_cell():
    pay = Continuous(kind="continuous", lower=0, upper=100, bins=(0, 50, 100), unit="EUR")
    cells = ["7 EUR", "EUR60", "60", "+60EUR", "6 USD", "EUR", "6 EUR 7", "1,5 EUR"]
    assert ColumnCoder("x", pay).code(pl.Series(cells)).tolist() == [0, 1, 1, 1, 2, 2, 2, 2]
    ends = {"lower": "2020-01-01", "upper": "2020-01-03"}
    day = Date(kind="date", **ends, format="%d/%m/%Y")
    cells = [
        "01/01/2020",
        "2/1/2020",
        "2020-01-03",
        "1/2/20",
        "01/13/2020",
        "31/02/2020",
        "1.1.2020",
    ]
    assert ColumnCoder("x", day).code(pl.Series(cells)).tolist() == [0, 1, 2, 3, 3, 3, 3]
    moment = Datetime(kind="datetime", **ends, resolution="hour", format="%b %d, %Y %I:%M %p")
    cells = ["Jan 1, 2020 12:05 AM", "January 01, 2020 1:00 PM", "Mai 1, 2020 1:00 PM"]
    states = ColumnCoder("x", moment).code(pl.Series(cells)).tolist()
    assert states == [0, 5, moment.size]
    for format in ("%d.%m.%y", "%d.%m", "%H:%M", "%d.%m.%Y %H", "%d %d %m %Y", "DD.MM.YYYY"):
        with pytest.raises(ValueError, match="format must be written as"):
            Date(kind="date", **ends, format=format)
