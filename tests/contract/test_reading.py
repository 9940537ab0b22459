"""Coding is a function of one cell's value alone: over readers, types and kinds of columns.

Each frame is made as people make them. One more row, or another order, leaves the codes of all
other rows as they were, whatever the row holds and whatever type it gives to the column.
"""

import datetime
import warnings
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from understudy.engine.coding import ColumnCoder
from understudy.engine.frames import open_rows
from understudy.engine.types import type_fault
from understudy.schema import Boolean, Categorical, Continuous, Date, Integer, Ordinal

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
}
CODERS = {name: ColumnCoder(name, column) for name, column in COLUMNS.items()}
WITH_DAYS = {"text levels", "levels of all kinds", "days as levels", "day"}
REFUSED = "refused"


def read(data):
    """Column "c" of a table as the engine reads it, its types, and the kind of the table."""
    rows = open_rows(data)
    if "c" in rows.unreadable:
        return pl.Series([], dtype=pl.Null), (), REFUSED
    parts = [batch.get_column("c") for batch in rows.batches(["c"])]
    return pl.concat(parts[1:] or parts), rows.types()["c"], rows.kind


def coded(values, types, kind):
    """Codes of values against every declaration; a word where their type is refused."""
    found = {}
    for name, coder in CODERS.items():
        refused = kind == REFUSED or type_fault(coder, types, kind) is not None
        found[name] = REFUSED if refused else coder.code(values).tolist()
    return found


def codes(data):
    return coded(*read(data))


class Heads:
    """Codes of the first n rows of many tables; what was read alike is coded once."""

    def __init__(self, n):
        self._n = n
        self._known = {}

    def codes(self, data):
        values, types, kind = read(data)
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
    "complex": lambda: pd.Series(NUMBERS, dtype="complex128"),
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


def concatenated_as_object(series, odd):
    last = pd.Series([None], dtype=object)
    last.iloc[0] = odd
    return pd.concat([pd.DataFrame({"c": series}), pd.DataFrame({"c": last})], ignore_index=True)


def enlarged(series, odd):
    frame = pd.DataFrame({"c": series})
    frame.loc[len(frame)] = [odd]
    return frame


def overwritten(series, odd):
    """One row more of the same type, whose value is then set."""
    frame = pd.concat([pd.DataFrame({"c": series})] * 2, ignore_index=True).astype(object)
    frame.iloc[len(series), 0] = odd
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
    *(TypeError, ValueError, OverflowError, RuntimeError, ArithmeticError, KeyError),
    *(pa.ArrowException, pl.exceptions.PolarsError, UnicodeError, NotImplementedError),
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
        if after[name] == REFUSED and name in lost:
            continue
        assert after[name] != REFUSED, (name, context)
        assert after[name][:n] == wanted[:n], (name, context)


@pytest.mark.parametrize("base", BASES)
def test_one_row_more_in_a_pandas_frame(base):
    series = BASES[base]()
    n, heads = len(series), Heads(len(series))
    before = codes(pd.DataFrame({"c": series}))
    cases = [(maker, odd) for maker in PANDAS_MAKERS.values() for odd in PANDAS_ODD]
    cases += [(maker, odd) for maker in RECAST.values() for odd in FEW]
    tried = 0
    for maker, odd in cases:
        frame = made(maker, series, PANDAS_ODD[odd])
        if frame is not None:
            tried += 1
            require_same(before, heads.codes(frame), n, (maker, odd))
    assert tried > 0.8 * len(cases)


@pytest.mark.parametrize("base", BASES)
def test_another_order_of_rows_in_a_pandas_frame(base):
    series = BASES[base]()
    order = np.random.default_rng(1).permutation(len(series))
    before = codes(pd.DataFrame({"c": series}))
    after = codes(pd.DataFrame({"c": series.iloc[order]}))
    assert after == {name: [found[k] for k in order] for name, found in before.items()}


@pytest.mark.parametrize("odd", PANDAS_ODD)
def test_no_value_stops_the_reading_and_each_is_read_alike_beside_all_others(odd):
    alone = pd.Series([None], dtype=object)
    alone.iloc[0] = PANDAS_ODD[odd]
    found = codes(pd.DataFrame({"c": alone}))
    for base in BASES.values():
        frame = made(concatenated_as_object, base(), PANDAS_ODD[odd])
        if frame is not None and frame["c"].dtype == object:
            values, types, kind = read(frame)
            assert coded(values.tail(1), types, kind) == found
