"""No value in the rows, however odd, stops a release or becomes an error: an error is an output.

Only the *type* of a column may: it is known without looking at a row.
"""

import csv
import datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import understudy as us
from night import NIGHT

pytestmark = pytest.mark.fuzz

SCHEMA = us.Schema.loads(
    """
row_limit = 100
[columns.word]
kind = "categorical"
levels = ["a", "3", 4, ""]
source = "codebook"
reviewed = true
[columns.yes]
kind = "boolean"
out_of_domain = "?"
source = "codebook"
reviewed = true
[columns.whole]
kind = "integer"
lower = -5
upper = 5
spikes = [0]
bins = 2
missing = [-9]
source = "codebook"
reviewed = true
[columns.real]
kind = "continuous"
lower = 0.0
upper = 1.5
bins = 3
not_applicable = ["none"]
source = "codebook"
reviewed = true
[columns.day]
kind = "date"
lower = 1999-12-01
upper = 2000-01-31
bins = 2
missing = [""]
source = "codebook"
reviewed = true
[[forbidden]]
where = { word = "a", whole = 0 }
source = "law"
reviewed = true
"""
)
METHODS = [("laplace", {}), ("laplace", {"form": "lazy"}), ("independent", {})]
FEW = settings(
    max_examples=40 if NIGHT else 6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

# Values that nearly fit beside those that do not fit at all.
NEAR = st.sampled_from(
    [
        *("a", "A", " a ", "3", "3.0", "03", "4", "", " ", "-0", "1e0", "1e999", "nan", "inf"),
        *("true", "TRUE", "no", "0", "none", "None", "1999-12-31", "1999-13-31", "2000-01-01T99"),
    ]
)
WORDS = NEAR | st.text()
NUMBERS = st.integers() | st.floats() | st.booleans() | st.decimals() | st.complex_numbers()
TIMES = st.dates() | st.datetimes() | st.times() | st.timedeltas() | st.just(pd.NaT)
THINGS = st.binary() | st.lists(st.integers()) | st.just({}) | st.just(object())
ANYTHING = WORDS | NUMBERS | TIMES | THINGS | st.none() | st.just(pd.NA)
RECORDS = st.lists(st.tuples(*[ANYTHING] * len(SCHEMA.names)), max_size=8)
TEXTS = st.lists(st.tuples(*[WORDS] * len(SCHEMA.names)), max_size=8)

TYPED = {
    pl.String: WORDS,
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.UInt64: st.integers(0, 2**64 - 1),
    pl.Int8: st.integers(-128, 127),
    pl.Float64: st.floats(),
    pl.Float32: st.floats(width=32),
    pl.Boolean: st.booleans(),
    pl.Categorical: WORDS,
    pl.Null: st.none(),
    pl.Decimal(20, 4): st.decimals(-(10**15), 10**15, places=4).map(Decimal),
}
DAYS = {
    pl.Date: st.dates(datetime.date(1, 1, 1)),
    pl.Datetime("ns"): st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)),
    pl.Datetime("us", "UTC"): st.datetimes(timezones=st.just(datetime.UTC)),
    pl.String: WORDS,
}


@st.composite
def typed_frames(draw):
    """A Polars table whose columns have types that their kinds can be read from."""
    n, columns = draw(st.integers(0, 8)), {}
    for name in SCHEMA.names:
        types = DAYS if name == "day" else TYPED
        dtype = draw(st.sampled_from(list(types)))
        values = draw(st.lists(types[dtype] | st.none(), min_size=n, max_size=n))
        columns[name] = pl.Series(name, values, dtype=dtype)
    return pl.DataFrame(columns)


def require_release(data):
    """A release of every method, with rows that the schema allows."""
    for method, options in METHODS:
        release = us.synthesize(data, SCHEMA, epsilon=1, method=method, options=options)
        table = release.tables[0]
        assert table.columns == list(SCHEMA.names)
        assert not table.filter(pl.col("word") == "a", pl.col("whole") == 0).height


@FEW
@given(records=RECORDS)
def test_any_objects_in_a_pandas_table(records):
    require_release(pd.DataFrame(records, columns=list(SCHEMA.names), dtype=object))


@FEW
@given(frame=typed_frames())
def test_any_values_in_a_typed_table(frame):
    require_release(frame)


@FEW
@given(records=TEXTS)
def test_any_text_in_a_file(records, tmp_path):
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerows([SCHEMA.names, *records])
    require_release(path)


@FEW
@given(records=TEXTS)
def test_any_text_as_categories(records):
    frame = pd.DataFrame(records, columns=list(SCHEMA.names), dtype=object)
    require_release(frame.astype("category"))


@pytest.mark.parametrize("dtype", [pl.List(pl.Int64), pl.Duration, pl.Binary, pl.Time, pl.Date])
@pytest.mark.parametrize("rows", [0, 1])
def test_a_type_that_fits_nothing_is_out_of_domain_whatever_the_rows(dtype, rows):
    """One row can decide the type of a column, so hardly a type is an error."""
    table = pl.DataFrame({name: ["a"] * rows for name in SCHEMA.names})
    require_release(table.with_columns(pl.lit(None, dtype=dtype).alias("whole")))


LOST = {
    "structs, beside which Polars makes null of numbers": ("whole", pl.Struct({"a": pl.Int64})),
    "numbers, which Polars makes of days": ("day", pl.Int64),
}


@pytest.mark.parametrize("case", LOST)
@pytest.mark.parametrize("rows", [0, 1])
def test_a_type_in_which_values_are_lost_is_refused_whatever_the_rows(case, rows):
    name, dtype = LOST[case]
    table = pl.DataFrame({name: ["a"] * rows for name in SCHEMA.names})
    table = table.with_columns(pl.lit(None, dtype=dtype).alias(name))
    with pytest.raises(us.UnderstudyError, match=f"Column '{name}' has the type"):
        us.synthesize(table, SCHEMA, epsilon=1)
