"""Coding is a function of one cell's value alone: over readers, types and kinds of columns.

Each frame is made as people make them. One more row, or another order, leaves the codes of all
other rows as they were, and their cells on a number line and what sums and second moments add of
them, whatever the row holds and whatever type it gives to the column.
"""

import datetime
import io
import math
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from functools import cache
from itertools import product
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_workbook import day, fault, number, text, truth, write_workbook
from night import NIGHT
from understudy.data.coding import ColumnCoder
from understudy.data.rows import type_fault
from understudy.data.sources import open_rows
from understudy.data.sql import Query
from understudy.data.sums import on_lattice, scored_numbers
from understudy.features.grids import LineCells
from understudy.schema import (
    NUMERIC,
    Boolean,
    Categorical,
    Continuous,
    Date,
    Datetime,
    Duration,
    Integer,
    Ordinal,
    Time,
)

DAY = datetime.date
COLUMNS = {
    "text levels": Categorical(
        kind="categorical", levels=("0", "1", "0.1", "a", "2020-02-29"), missing=("",)
    ),
    "other text levels": Categorical(
        kind="categorical", levels=("True", "False", "007", "1e3", "10:30:00"), out_of_domain="?"
    ),
    "numeric levels": Categorical(kind="categorical", levels=(0, 1, 0.1, 0.2, 1e30)),
    "levels of all kinds": Categorical(
        kind="categorical", levels=(7, "a", 0.7, True, DAY(2020, 2, 29)), missing=("", -9)
    ),
    "truth levels": Categorical(kind="categorical", levels=(False, True), not_applicable=("x",)),
    "days as levels": Categorical(kind="categorical", levels=(DAY(2020, 2, 29), DAY(1500, 1, 1))),
    "ordinal": Ordinal(kind="ordinal", levels=(0, 0.1, "0.7", 2, "inf"), missing=("",)),
    "truth": Boolean(kind="boolean", missing=("", 9), out_of_domain=-1),
    "whole": Integer(
        kind="integer",
        lower=0,
        upper=20,
        bins=4,
        spikes=(0, 7),
        missing=("", -9),
        out_of_domain="?",
    ),
    "real": Continuous(
        kind="continuous", lower=-1, upper=10, bins=(-1.0, 0.1, 0.7, 10.0), spikes=(0, 0.2, 10)
    ),
    "real with codes": Continuous(
        kind="continuous", lower=0, upper=1.5, bins=3, missing=(-9, "", "x"), out_of_domain=-99.5
    ),
    "day": Date(
        kind="date", lower=DAY(1970, 1, 1), upper=DAY(2020, 12, 31), missing=(-9, DAY(9999, 12, 31))
    ),
    "moment": Datetime(
        kind="datetime",
        lower="1970-01-01T00:00",
        upper="2020-12-31T23:59",
        resolution="minute",
        bins=("1970-01-01T00:00", "2020-02-29T10:30", "2020-12-31T23:59"),
        missing=(-9, "", DAY(9999, 12, 31)),
    ),
    "moment in a zone": Datetime(
        kind="datetime",
        lower="1970-01-01T00:00",
        upper="2020-12-31T23:59",
        timezone="Asia/Tokyo",
        bins=("1970-01-01T00:00", "2020-02-29T19:00", "2020-12-31T23:59"),
        out_of_domain="?",
    ),
    "time of day": Time(kind="time", resolution="minute", missing=("x",)),
    "duration": Duration(kind="duration", lower="-P1D", upper="P3D", bins=9, missing=(1,)),
}
TIMES = {"moment", "moment in a zone", "time of day", "duration"}
CODERS = {name: ColumnCoder(name, column) for name, column in COLUMNS.items()}
WITH_DAYS = {"text levels", "levels of all kinds", "days as levels", "day", *TIMES}
REFUSED = "refused"


def read(data):
    """Column "c" of a table as the engine reads it, its types, and the kind of the table."""
    rows = open_rows(data)
    if "c" in rows.unreadable:
        return pl.Series([], dtype=pl.Null), (), REFUSED
    values = rows.lazy.select("c").collect().get_column("c")  # batches come in any order
    return values, rows.types()["c"], rows.kind


def taken(name, values):
    """What is counted and summed of each value: its state; and, in a column of numbers, its cell of
    a number line and the whole numbers that sums and second moments add."""
    column, reading = COLUMNS[name], CODERS[name].read(values)
    states = reading.replace_outside(column)
    if not isinstance(column, NUMERIC):
        return states.tolist()
    cells = LineCells(column).places(states, reading.number)
    scored = scored_numbers(column, states, reading.number, column.bounds)
    whole = on_lattice(reading, column), scored
    return list(zip(*(part.tolist() for part in (states, cells, *whole)), strict=True))


def coded(values, types, kind):
    """What is taken of values by every declaration; a word where their type is refused."""
    found = {}
    for name, coder in CODERS.items():
        refused = kind == REFUSED or type_fault(coder, types, kind) is not None
        found[name] = REFUSED if refused else taken(name, values)
    return found


def codes(data):
    return coded(*read(data))


class Heads:
    """Codes of the first n rows of many tables; what was read alike is coded once for all tests."""

    _known: ClassVar = {}

    def __init__(self, n):
        self._n = n

    def codes(self, data):
        return self.coded(*read(data))

    def coded(self, values, types, kind):
        """Codes of the first of some values that were read."""
        head = values.head(self._n)
        key = (str(head.dtype), str(types), kind, repr(head.to_physical().to_list()))
        if head.dtype == pl.Categorical:
            key = (*key[:-1], repr(head.cast(pl.String).to_list()))
        if key not in self._known:
            self._known[key] = coded(head, types, kind)
        return self._known[key]


# --- one value more -------------------------------------------------------------------------------


class Hostile:
    """An object that refuses everything it may be asked."""

    def _no(self, *_):
        raise RuntimeError("no")

    __str__ = __repr__ = __eq__ = __hash__ = __float__ = __int__ = __bool__ = __len__ = _no
    __class__ = property(_no)


class HostileNumber(float):
    __str__ = __repr__ = __float__ = __eq__ = __ne__ = Hostile._no
    __hash__ = float.__hash__


class HostileText(str):
    __str__ = __repr__ = __eq__ = __len__ = encode = Hostile._no
    __hash__ = str.__hash__


ODD = {
    "None": None,
    "NaN": np.nan,
    "text": "x",
    "empty text": "",
    "text of a number": "1",
    "half a character": "\ud800",
    "NUL": "\0",
    "true": True,
    "numpy's true": np.bool_(True),
    "whole number": 1,
    "large whole number": 2**60 + 1,
    "huge whole number": 10**30,
    "endless whole number": 10**5000,
    "real number": 0.5,
    "32 bits": np.float32(0.1),
    "infinity": np.inf,
    "tiny": 5e-324,
    "large": 1e300,
    "decimal": Decimal("1.5"),
    "signalling NaN": Decimal("sNaN"),
    "complex": 1j,
    "moment": datetime.datetime(2020, 2, 29, 10, 30),
    "moment somewhere": datetime.datetime(2020, 2, 29, 10, 30, tzinfo=datetime.UTC),
    "day long ago": DAY(1500, 1, 1),
    "time of day": datetime.time(10, 30),
    "duration": datetime.timedelta(1),
    "bytes": b"x",
    "broken bytes": b"\xff",
    "list": [1],
    "dictionary": {"a": 1},
    "object": object(),
    "hostile object": Hostile(),
    "hostile number": HostileNumber(1.5),
    "hostile text": HostileText("a"),
}
PANDAS_ODD = ODD | {
    "NA": pd.NA,
    "NaT": pd.NaT,
    "Timestamp": pd.Timestamp("2020-02-29 10:30"),
    "Timestamp elsewhere": pd.Timestamp("2020-02-29 23:30", tz="Asia/Tokyo"),
    "Timestamp far off": pd.Timestamp(np.datetime64("12000-01-01", "s")),
    "Timedelta": pd.Timedelta(1),
    "Period": pd.Period("2020-02", "M"),
    "Interval": pd.Interval(0, 1),
    "numpy's moment": np.datetime64("2020-02-29T10:30"),
    "numpy's text": np.str_("a"),
}

NUMBERS = [0.0, 0.1, 0.2, 0.7, 1.0, 7.0, -9.0]
MOMENTS = [pd.Timestamp("2020-02-29 10:30"), pd.Timestamp("1999-12-31"), pd.Timestamp("1970-01-01")]
BASES: dict[str, Callable[[], pd.Series]] = {
    "bool": lambda: pd.Series([True, False, True]),
    "boolean": lambda: pd.Series([True, False, None], dtype="boolean"),
    "int64": lambda: pd.Series([0, 1, 2, 7, -9]),
    "int8": lambda: pd.Series([0, 1, 2, 7, -9], dtype="int8"),
    "uint64": lambda: pd.Series([0, 1, 2**63 + 5], dtype="uint64"),
    "Int64": lambda: pd.Series([0, 1, None, 7], dtype="Int64"),
    "float64": lambda: pd.Series(NUMBERS),
    "float32": lambda: pd.Series(NUMBERS, dtype="float32"),
    "float16": lambda: pd.Series([0.0, 1.0, 7.0], dtype="float16"),
    "Float64": lambda: pd.Series([*NUMBERS, None], dtype="Float64"),
    "Float32": lambda: pd.Series(NUMBERS, dtype="Float32"),
    "str": lambda: pd.Series(["0", "1", "0.1", "a", "True", "7", "2020-02-29", "007", None]),
    "string": lambda: pd.Series(["0", "1.0", "TRUE", " 7 ", None], dtype="string"),
    "object": lambda: pd.Series([True, 0, 0.1, "a", "7", MOMENTS[0], DAY(2020, 2, 29), None]),
    "decimals": lambda: pd.Series([Decimal("0.10"), Decimal(1), Decimal("7.0")]),
    "days": lambda: pd.Series([DAY(2020, 2, 29), DAY(1970, 1, 1)]),
    "datetime64[us]": lambda: pd.Series(MOMENTS).dt.as_unit("us"),
    "datetime64[ns]": lambda: pd.Series(MOMENTS).dt.as_unit("ns"),
    "datetime64[s]": lambda: pd.Series(
        np.array(["2020-02-29", "12000-01-01", "0000-01-01", "NaT"], dtype="datetime64[s]")
    ),
    "moments somewhere": lambda: pd.Series(MOMENTS).dt.tz_localize("Asia/Tokyo"),
    "timedelta64": lambda: pd.Series(pd.to_timedelta([1, 2], unit="D")),
    "period": lambda: pd.Series(pd.period_range("2020-02-29", periods=2, freq="D")),
    "interval": lambda: pd.Series(pd.interval_range(0, 2)),
    "times": lambda: pd.Series([datetime.time(10, 30), datetime.time(11)]),
    "bytes": lambda: pd.Series([b"a", b"0"]),
    "sparse": lambda: pd.Series(pd.arrays.SparseArray([0, 1, 0])),
    "Arrow bool": lambda: pd.Series([True, False, None], dtype="bool[pyarrow]"),
    "Arrow float": lambda: pd.Series([0.1, 0.7, None], dtype="float[pyarrow]"),
    "Arrow moments": lambda: pd.Series(MOMENTS).astype("timestamp[us][pyarrow]"),
    "Arrow decimals": lambda: pd.Series(
        [Decimal("0.10"), Decimal("7.00")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))
    ),
    "category of texts": lambda: pd.Series(["a", "0", None], dtype="category"),
    "category of numbers": lambda: pd.Series([0.1, 7.0, None], dtype="category"),
    "category of whole numbers": lambda: pd.Series([0, 7, None], dtype="category"),
    "category of truths": lambda: pd.Series([True, False, None], dtype="category"),
    "category of moments": lambda: pd.Series(MOMENTS, dtype="category"),
    "nothing": lambda: pd.Series([None, None]),
    "no rows": lambda: pd.Series([], dtype=object),
}


def concatenated(series, odd):
    return pd.concat([pd.DataFrame({"c": series}), pd.DataFrame({"c": [odd]})], ignore_index=True)


def lone(odd):
    """A frame of one Python object, whatever it is."""
    cell = np.empty(1, dtype=object)
    cell[0] = odd
    return pd.DataFrame({"c": pd.Series(cell, dtype=object)})


def concatenated_as_object(series, odd):
    return pd.concat([pd.DataFrame({"c": series}), lone(odd)], ignore_index=True)


def enlarged(series, odd):
    frame = pd.DataFrame({"c": series})
    frame.loc[len(frame)] = [odd]
    return frame


def overwritten(series, odd):
    """One row more of the same type, whose value is then set."""
    frame = concatenated_as_object(series, None).astype(object)
    frame.iloc[-1, 0] = odd
    return frame


def recast(dtype):
    def make(series, odd):
        return concatenated_as_object(series, odd).astype(dtype)

    return make


PANDAS_MAKERS = {
    "concat": concatenated,
    "concat of objects": concatenated_as_object,
    "loc": enlarged,
}
# The same frame with its type changed; a few values are enough.
RECAST = {
    "iloc": overwritten,
    "astype(object)": recast(object),
    "astype(category)": recast("category"),
}
FEW = ("None", "text", "true", "whole number", "real number", "moment", "object", "bytes")


# What the maker itself does not take is no frame, and nothing for us to read.
UNMAKEABLE = (
    *(TypeError, ValueError, OverflowError, RuntimeError, ArithmeticError, KeyError, IndexError),
    *(pa.ArrowException, pl.exceptions.PolarsError, UnicodeError, NotImplementedError),
    pl.exceptions.PanicException,
)


def made(maker, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas tells of changes to come
        try:
            return maker(*arguments)
        except UNMAKEABLE:
            return None


def require_same(before, after, n, context, *, lost=frozenset()):
    """The first n codes are as before; only declarations in `lost` may refuse the type."""
    for name, wanted in before.items():
        if REFUSED in (wanted, after[name]):
            assert name in lost, (name, context)
            continue
        assert after[name][:n] == wanted[:n], (name, context)


@cache
def enlarged_and_read(maker, base, odd):
    """A frame with one row more: the type of its column, and what the engine reads."""
    frame = made(maker, BASES[base](), PANDAS_ODD[odd])
    return None if frame is None else (frame["c"].dtype, read(frame))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.nightly(every=16)
def test_one_row_more_in_a_pandas_frame(base):
    series = BASES[base]()
    n, heads = len(series), Heads(len(series))
    before = codes(pd.DataFrame({"c": series}))
    cases = [(maker, odd) for maker in PANDAS_MAKERS.values() for odd in PANDAS_ODD]
    cases += [(maker, odd) for maker in RECAST.values() for odd in FEW]
    tried = 0
    for maker, odd in cases:
        found = enlarged_and_read(maker, base, odd)
        if found is not None:
            tried += 1
            dtype, values = found
            if getattr(dtype, "kind", "O") == "c":  # what pandas altered is refused
                assert set(heads.coded(*values).values()) == {REFUSED}, (maker, odd)
                continue
            require_same(before, heads.coded(*values), n, (maker, odd))
    assert tried > 0.8 * len(cases)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.nightly(every=4)
def test_another_order_of_rows_in_a_pandas_frame(base):
    series = BASES[base]()
    order = np.random.default_rng(1).permutation(len(series))
    before = codes(pd.DataFrame({"c": series}))
    after = codes(pd.DataFrame({"c": series.iloc[order]}))
    assert after == {name: [found[k] for k in order] for name, found in before.items()}


@pytest.mark.parametrize("odd", PANDAS_ODD)
@pytest.mark.nightly(every=4)
def test_no_value_stops_the_reading_and_each_is_read_alike_beside_all_others(odd):
    found, _, _ = read(lone(PANDAS_ODD[odd]))
    assert set(coded(found, (found.dtype,), "pandas")) == set(COLUMNS)
    for base in BASES:
        dtype, beside = enlarged_and_read(concatenated_as_object, base, odd) or (None, None)
        if beside and pd.api.types.is_object_dtype(dtype):
            if base == "sparse" and odd in ("moment somewhere", "Timestamp elsewhere"):
                continue  # pandas makes UTC without a zone of it there
            values, _, _ = beside
            assert values.tail(1).to_list() == found.to_list()


# --- Polars, Arrow, Parquet, and text that pandas parses ------------------------------------------

VALUES = {
    "truths": [True, False, True, None],
    "whole numbers": [0, 1, 2, 7, -9, None],
    "numbers": [*NUMBERS, None],
    "texts": ["0", "1", "0.1", "a", "True", "7", "2020-02-29", "007", ""],
    "days": [DAY(2020, 2, 29), DAY(1970, 1, 1), None],
    "moments": [datetime.datetime(2020, 2, 29, 10, 30), datetime.datetime(1999, 12, 31)],
    "decimals": [Decimal("0.10"), Decimal("7.00")],
    "times": [datetime.time(10, 30), datetime.time(11)],
    "durations": [datetime.timedelta(1)],
    "bytes": [b"a", b"0"],
    "nothing": [None, None],
}
POLARS_MAKERS = {
    "from_dicts": lambda values, odd: pl.from_dicts([{"c": value} for value in [*values, odd]]),
    "not strict": lambda values, odd: pl.DataFrame({"c": [*values, odd]}, strict=False),
    "relaxed": lambda values, odd: pl.concat(
        [pl.DataFrame({"c": values}), pl.DataFrame({"c": [odd]})], how="vertical_relaxed"
    ),
    "diagonal": lambda values, odd: pl.concat(
        [pl.DataFrame({"c": values}), pl.DataFrame({"c": [odd], "d": 1})], how="diagonal_relaxed"
    ),
    "lazy": lambda values, odd: pl.concat(
        [pl.LazyFrame({"c": values}), pl.LazyFrame({"c": [odd]})], how="vertical_relaxed"
    ),
}
ARROW_MAKERS = {
    "from_pylist": lambda values, odd: pa.Table.from_pylist([{"c": one} for one in [*values, odd]]),
    "from_pandas": lambda values, odd: pa.Table.from_pandas(
        pd.DataFrame({"c": pd.Series([*values, odd], dtype=object)})
    ),
    "dictionary": lambda values, odd: pa.table({"c": pa.array([*values, odd]).dictionary_encode()}),
}


# Polars makes whole numbers of these as soon as one row holds a number.
COUNTED = {"days", "moments", "times", "durations"}
# What Polars and Arrow break off at in a way that cannot be caught, before we see a table.
FATAL = {"endless whole number", "hostile object", "hostile number", "hostile text"}
TYPED_ODD = {name: value for name, value in ODD.items() if name not in FATAL}


def without_days(found):
    return {name: one for name, one in found.items() if name not in WITH_DAYS}


@pytest.mark.parametrize("base", VALUES)
@pytest.mark.nightly(every=3)
def test_one_row_more_in_a_polars_table(base):
    values = VALUES[base]
    n, heads, tried = len(values), Heads(len(values)), 0
    before = codes(pl.DataFrame({"c": values}))
    for maker, odd in product(POLARS_MAKERS, TYPED_ODD):
        table = made(POLARS_MAKERS[maker], values, TYPED_ODD[odd])
        table = made(table.collect) if isinstance(table, pl.LazyFrame) else table
        if table is None or (base, maker) == ("durations", "not strict"):
            continue  # Polars makes null of durations beside moments there
        tried += 1
        after = heads.codes(table.lazy() if maker == "lazy" else table)
        if base in COUNTED and table.schema["c"].is_numeric():
            assert {after[name] for name in WITH_DAYS} == {REFUSED}
        else:  # beside a struct, Polars makes null of numbers
            lost = set(COLUMNS) if odd == "dictionary" else WITH_DAYS
            require_same(before, after, n, (maker, odd), lost=lost)
    assert tried > 2 * len(POLARS_MAKERS)


@pytest.mark.parametrize("base", VALUES)
@pytest.mark.nightly(every=3)
def test_one_row_more_in_an_arrow_table(base):
    values = VALUES[base]
    n, heads, tried = len(values), Heads(len(values)), 0
    before = codes(pa.table({"c": values}))
    for maker, odd in product(ARROW_MAKERS, TYPED_ODD):
        table = made(ARROW_MAKERS[maker], values, TYPED_ODD[odd])
        if table is not None:
            tried += 1
            require_same(before, heads.codes(table), n, (maker, odd))
    assert tried > 2 * len(ARROW_MAKERS)


@pytest.mark.parametrize("base", VALUES)
@pytest.mark.nightly(every=3)
def test_the_same_values_are_read_alike_from_everywhere(base, tmp_path):
    values = VALUES[base]
    before = codes(pd.DataFrame({"c": pd.Series(values, dtype=object)}))
    table = pa.table({"c": values})
    frame = pl.DataFrame({"c": values})
    frame.write_parquet(tmp_path / "polars.parquet")
    pa.parquet.write_table(table, tmp_path / "arrow.parquet")
    for data in (
        *(pd.DataFrame({"c": values}), pd.DataFrame({"c": pd.Series(values, dtype="category")})),
        *(table, table.to_batches()[0], table.to_pandas()),
        *(tmp_path / "polars.parquet", tmp_path / "arrow.parquet"),
    ):
        assert codes(data) == before
    for data in (frame, frame.lazy()):
        found = codes(data)
        if frame.schema["c"].is_numeric():
            assert {found[name] for name in WITH_DAYS} == {REFUSED}
            assert without_days(found) == without_days(before)
        else:
            assert found == before


# Parts of a folder: each with the type that its own rows give it.
PARTS = {
    "null": pa.nulls(1),
    "text": pa.array(["x"]),
    "text of a number": pa.array(["1"]),
    "truth": pa.array([True]),
    "whole number": pa.array([7]),
    "8 bits": pa.array([7], pa.int8()),
    "number": pa.array([0.5]),
    "32 bits": pa.array([0.1], pa.float32()),
    "decimal": pa.array([Decimal("1.50")]),
    "day": pa.array([DAY(2020, 2, 29)]),
    "day long ago": pa.array([-(2**31)], pa.int32()).cast(pa.date32()),
    "moment": pa.array([datetime.datetime(2020, 2, 29)]),
    "moment far off": pa.array([2**62], pa.timestamp("us", "Asia/Tokyo")),
    "moment further off": pa.array([2**62], pa.timestamp("ms", "Asia/Tokyo")),
    "duration": pa.array([datetime.timedelta(1)]),
    "time": pa.array([datetime.time(10, 30)]),
    "bytes": pa.array([b"\xff"]),
    "category": pa.array(["a"]).dictionary_encode(),
    "list": pa.array([[1]]),
    "struct": pa.array([{"a": 1}]),
    "no such column": None,
}


@pytest.mark.parametrize("base", VALUES)
@pytest.mark.nightly(every=8)
def test_one_part_more_in_a_folder_of_parquet_files(base, tmp_path):
    values = VALUES[base]
    first = tmp_path / "1.parquet"
    pa.parquet.write_table(pa.table({"c": values, "^c$": [1] * len(values)}), first)
    before = codes(first)
    heads = Heads(len(values))
    for part, odd in PARTS.items():
        table = pa.table({"d": [1]}) if odd is None else pa.table({"c": odd})
        pa.parquet.write_table(table, tmp_path / "2.parquet")
        require_same(before, heads.codes(tmp_path), len(values), part)
        alone = lone(None) if odd is None else tmp_path / "2.parquet"
        last, one = read(tmp_path)[0], read(alone)[0]
        assert len(last) == len(values) + 1
        for name in ("text levels", "real"):
            assert CODERS[name].code(last.tail(1)) == CODERS[name].code(one)


CELLS = {
    "truths": ["True", "False", "TRUE", "true", ""],
    "whole numbers": ["0", "1", "007", "7", "-9"],
    "numbers": ["0.1", "0.70", "7.0", "1e3", "10", "inf"],
    "days": ["2020-02-29", "1999-12-31"],
    "moments": ["2020-02-29 10:30", "1999-12-31 23:59:59"],
}


@pytest.mark.parametrize("odd", ["", "x", "True", "1", "0.5", "1" * 40, "2020-02-29", "1e999"])
@pytest.mark.parametrize("base", CELLS)
@pytest.mark.nightly(diagonal=True)
def test_one_line_more_in_a_file_that_pandas_parses(base, odd):
    cells = CELLS[base]

    def parsed(cells):
        text = "c,d\n" + "".join(f"{cell},1\n" for cell in cells)
        dates = ["c"] if base in {"days", "moments"} else False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pd.read_csv(io.StringIO(text), parse_dates=dates)

    before = codes(parsed(cells))
    assert before == codes(pl.DataFrame({"c": [cell or None for cell in cells]}))
    require_same(before, codes(parsed([*cells, odd])), len(cells), odd)


@settings(derandomize=True, deadline=None, max_examples=12 if NIGHT else 5)
@given(
    st.lists(
        st.none()
        | st.booleans()
        | st.integers(-20, 20)
        | st.floats(width=32)
        | st.floats(-12, 12)
        | st.sampled_from(["a", "True", "0.1", "2020-02-29"])
        | st.dates(DAY(1990, 1, 1), DAY(2020, 12, 31)),
        max_size=8,
    )
)
def test_a_mixed_column_is_coded_cell_by_cell(cells):
    together = codes(pd.DataFrame({"c": pd.Series(cells, dtype=object)}))
    apart = [codes(pd.DataFrame({"c": [cell]})) for cell in cells]
    assert together == {name: [one[name][0] for one in apart] for name in CODERS}


# --- what has lost values is refused from the type alone ------------------------------------------

UNCLEAR = {
    "zeros": (Categorical(kind="categorical", levels=("03", "3")), [3], ["03"]),
    "long": (Categorical(kind="categorical", levels=("9007199254740993",)), [3], ["3"]),
    "code": (
        Integer(kind="integer", lower=0, upper=9, missing=("99999999999999999",)),
        [1.5],
        ["1"],
    ),
    "truth as text": (Categorical(kind="categorical", levels=("true", "1")), [1], ["1"]),
    "truths": (Categorical(kind="categorical", levels=("True", "true")), [True], ["True"]),
    "infinite": (Ordinal(kind="ordinal", levels=("1e400", "inf")), [1.5], ["inf"]),
    "times": (
        Categorical(kind="categorical", levels=("2020-01-01 10:00", "2020-01-01")),
        [pd.Timestamp("2020-01-01")],
        ["2020-01-01"],
    ),
}


@pytest.mark.parametrize("lost", UNCLEAR)
def test_a_type_that_cannot_tell_the_levels_apart_is_refused_whatever_the_rows(lost):
    column, lossy, text = UNCLEAR[lost]
    coder = ColumnCoder("c", column)

    def fault(frame):
        _, types, kind = read(frame)
        return type_fault(coder, types, kind)

    for frame in (pd.DataFrame({"c": lossy}), pd.DataFrame({"c": lossy}).astype("category")):
        for part in (frame, frame.head(0)):
            for same in (part, pl.from_pandas(part), pa.Table.from_pandas(part)):
                assert "cannot tell all of its levels and codes apart" in fault(same)
    kept = pd.DataFrame({"c": text})
    assert fault(kept) is None
    assert fault(kept.astype(object)) is None


# --- files of other programs, and databases -------------------------------------------------------

SECONDS = 13_797_216_000.0  # 2020-01-01, as SPSS counts
WRITERS = {
    ".sav": "write_sav",
    ".zsav": "write_sav",
    ".por": "write_por",
    ".dta": "write_dta",
    ".xpt": "write_xport",
}
STATISTICAL = {
    "numbers": ([0.0, 1.0, 0.1, 0.7, 7.0, -9.0, None], {}),
    "texts": (["0", "1", "0.1", "a", "True", "2020-02-29", ""], {}),
    "days": ([0.0, 18_321.0, 21_974.0, None], {"dta": "%td", "xpt": "DATE9"}),
    "moments": ([SECONDS, SECONDS + 37_800, None], {"sav": "DATETIME20", "zsav": "DATETIME20"}),
    "days of seconds": ([SECONDS, SECONDS + 86_400, None], {"sav": "DATE11", "por": "DATE11"}),
    "times": ([0.0, 37_800.0, None], {"sav": "TIME8", "xpt": "TIME8"}),
    "durations": ([0.0, 37_800.0, None], {"sav": "DTIME20"}),
}
ODD_NUMBERS = [1.0, None, math.inf, -math.inf, 1e300, -1e300, 5e-324, 2.0**60, -0.5, 1e17]
ODD_TEXTS = ["x", "", "é", "1", " ", "a ", "\x7f", "x" * 200]


def written(path, values, formats):
    """A file of one column by another program's library; None where it has no such file."""
    pyreadstat = pytest.importorskip("pyreadstat", reason="the extra files is not installed")
    dtype = object if any(isinstance(value, str) for value in values) else float
    frame = pd.DataFrame({"C" if path.suffix == ".por" else "c": pd.Series(values, dtype=dtype)})
    ending = path.suffix.removeprefix(".")
    if formats and ending not in formats:
        return None
    options = {"variable_format": {frame.columns[0]: formats[ending]}} if formats else {}
    if ending == "zsav":
        options["compress"] = True
    try:
        getattr(pyreadstat, WRITERS[path.suffix])(frame, str(path), **options)
    except Exception:  # a text that the format cannot hold
        return None
    return path


def read_statistical(path):
    rows = open_rows(path)
    (name,) = rows.columns
    return rows.lazy.collect().to_series().alias("c"), rows.types()[name], rows.kind


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("base", STATISTICAL)
@pytest.mark.nightly(diagonal=True)
def test_one_row_more_in_a_file_of_another_program(base, ending, tmp_path):
    values, formats = STATISTICAL[base]
    first = written(tmp_path / f"before{ending}", values, formats)
    if first is None:
        return
    n, heads = len(values), Heads(len(values))
    before = coded(*read_statistical(first))
    tried = 0
    for odd in ODD_TEXTS if base == "texts" else ODD_NUMBERS:
        path = written(tmp_path / f"after{ending}", [*values, odd], formats)
        if path is not None:
            tried += 1
            require_same(before, heads.coded(*read_statistical(path)), n, odd)
    assert tried >= 5


LINES = {
    "whole numbers": ["0", "1", "7", "-9", "null"],
    "numbers": ["0.1", "0.70", "7.0", "1e3", "-9"],
    "texts": ['"0"', '"a"', '"2020-02-29"', '"007"', '""'],
    "truths": ["true", "false", '"True"'],
}
ODD_LINES = [
    *(b'{"c": 1}', b'{"c": "x"}', b'{"c": [1]}', b'{"c": {"c": 1}}', b'{"c": 1e999}', b"{}"),
    *(b'{"c": 1, "c": 2}', b'{"c": NaN}', b'{"c": "\\ud800"}', b'{"c": "\\u0000"}', b'{"c": 01}'),
    *(b"", b"[1]", b"x", b'{"c": 1', b"\xff", b'"c"', b"\xef\xbb\xbf{}", b"[" * 100_000),
    *(b'{"c": ' + b"9" * 5000 + b"}", b'{"c": "' + b"x" * 2**20 + b'"}', b'{"d": 1}', b"\0"),
]


@pytest.mark.parametrize("base", LINES)
def test_one_line_more_in_a_file_of_json_lines(base, tmp_path):
    path = tmp_path / "a.jsonl"
    body = b"".join(b'{"c": %s}\n' % cell.encode() for cell in LINES[base])
    path.write_bytes(body)
    n, heads, before = len(LINES[base]), Heads(len(LINES[base])), codes(path)
    for odd in ODD_LINES:
        path.write_bytes(body + odd + b"\n")
        after = heads.codes(path)
        require_same(before, after, n, odd[:40])
        assert read(path)[0].len() == n + 1


SHEETS = {
    "numbers": [number(0), number(1), number("0.1"), number(7), None],
    "texts": [text("0"), text("a"), text("007"), text("2020-02-29")],
    "days": [day(43_831), day(43_890), None],
    "truths": [truth(1), truth(0)],
}
ODD_CELLS = [
    *(text("x"), text("1"), number(1), number("1e300"), number("nan"), number("x"), truth(1)),
    *(day(43_831), day(-5), day("1e300"), day(99_999_999), fault("#N/A"), fault("#DIV/0!"), None),
]


@pytest.mark.parametrize("base", SHEETS)
def test_one_row_more_in_a_workbook(base, tmp_path):
    pytest.importorskip("fastexcel", reason="the extra files is not installed")
    path, cells = tmp_path / "a.xlsx", [(cell, number(1)) for cell in SHEETS[base]]
    head = (text("c"), text("d"))
    write_workbook(path, [head, *cells])
    before, heads = codes(path), Heads(len(cells))
    for k, odd in enumerate(ODD_CELLS):
        write_workbook(path, [head, *cells, (odd, number(2))])
        require_same(before, heads.codes(path), len(cells), k)
        assert read(path)[0].len() == len(cells) + 1


SQLITE = {
    "INTEGER": [0, 1, 2, 7, -9, None],
    "REAL": [0.0, 0.1, 0.7, None],
    "TEXT": ["0", "1", "a", "007", "", None],
    "DATE": ["2020-02-29", "1999-12-31"],
    "": [0, "a", 0.1, None],
}
ODD_VALUES = [
    *("'x'", "''", "x'ff'", "x'61'", "cast(x'ff' as text)", "9007199254740993", "1e999", "0.5"),
    *("'1' || char(0) || '2'", "-1e999", "null", "7"),
]


@pytest.mark.parametrize("declared", SQLITE)
def test_one_row_more_in_a_table_of_sqlite(declared, tmp_path):
    pytest.importorskip("sqlglot", reason="the extra database is not installed")
    path, values = tmp_path / "a.db", SQLITE[declared]
    query = Query(f"sqlite:///{path}", "SELECT c FROM t ORDER BY rowid")
    with closing(sqlite3.connect(path)) as link:
        link.execute(f"CREATE TABLE t (c {declared})")
        link.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
        link.commit()
        before, heads = codes(query), Heads(len(values))
        for odd in ODD_VALUES:
            link.execute(f"INSERT INTO t VALUES ({odd})")
            link.commit()
            require_same(before, heads.codes(query), len(values), odd)
            link.execute("DELETE FROM t WHERE rowid = (SELECT max(rowid) FROM t)")
            link.commit()
