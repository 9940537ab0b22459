"""Columns of pandas and Arrow tables as Polars columns that are read alike, value by value.

The type of a pandas column follows from all of its rows, so it is only a faster way to the same
reading: what a fast way cannot take is read object by object, and each object is read as the same
value in a column of its own type would be.

Python objects as the text by which they are read: one object at a time, whatever the others are.

A data frame keeps Python objects where its values have no type in common, which one odd value is
enough for. So each object is written as the text that is read like the value itself would be in a
column of its own type: True as "true", 3 and 3.0 as "3", a moment as its day and time, bytes as
what they spell. Nothing here may stop the reading, and no method that an object could have
redefined is asked before it is known to be none of the ordinary types.

**Column types that are read as they are, and how each other type is turned into one of them.**

Truth values, numbers, texts, days and moments are read as they are. Times of day, durations and
bytes are text, and what can be no value of a column (a list) is a text that no level has.
Each value is turned by itself; no value stops the reading.

**SECRET. Where rows come from, and what one cell says: each by itself.**

**A table that is read batch by batch, anew for each pass, as a lazy one. CONFIDENTIAL.**
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.ipc
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from understudy.schema.base import EXACT_INTEGER
from understudy.schema.temporal import DAY_SECONDS
from understudy.schema.time_expressions import FIRST_DAY, LAST_DAY, PER_SECOND

if TYPE_CHECKING:
    import pandas as pd


UNLIKE: Final = "\ufffd"
"""Text of what is there and can be no level: broken text, an unwritable object."""

_DAY_LENGTH = len("2020-02-29")
_DIGITS = 400  # a whole number with more of them is infinite in 64 bits


def texts(values: Iterable[object]) -> pl.Series:
    """Text of each object, null where nothing is there; shape (n,)."""
    return pl.Series([text(value) for value in values], dtype=pl.String)


def text(value: object) -> str | None:
    """Text of one object; None if it stands for nothing (None, NaN, NaT, NA)."""
    try:
        return _reader(type(value))(value)
    except Exception:  # an object may refuse to be written
        return UNLIKE


def _reader(kind: type) -> Callable[[Any], str | None]:
    """Choose how objects of a type are written, by the type alone, never by what an object says."""
    reader = _READERS.get(kind)
    if reader is None and str(kind.__module__).partition(".")[0] == "pandas":
        reader = _PANDAS.get(kind.__name__)
    if reader is None:
        reader = next((read for base, read in _BASES if issubclass(kind, base)), _other)
    return reader


def _str(value: str) -> str:
    value = str.__str__(value)
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _bool(value: bool | np.bool_) -> str:
    return "true" if value else "false"


def _int(value: int) -> str:
    if int.bit_length(value) > 4 * _DIGITS:
        return "inf" if int.__gt__(value, 0) else "-inf"
    return int.__repr__(value)


def _float(value: float) -> str | None:
    value = float.__float__(value)
    if math.isnan(value):
        return None
    if not value.is_integer():  # infinities are no integers
        return repr(value)
    if abs(value) <= EXACT_INTEGER:
        return str(int(value))
    # A whole number may have been rounded to it, so its digits are not to be taken for a level's.
    return f"{value:.17e}"


def _complex(value: complex) -> str | None:
    """A number without imaginary part is what it was before another one made all complex."""
    real, imaginary = complex.__complex__(value).real, complex.__complex__(value).imag
    if math.isnan(real) or math.isnan(imaginary):
        return None
    return UNLIKE if imaginary else _float(real)


def _decimal(value: Decimal) -> str | None:
    return None if Decimal.is_nan(value) else _float(Decimal.__float__(value))


def _numpy_object(value: np.generic) -> str | None:
    if np.isnat(value) if isinstance(value, np.datetime64 | np.timedelta64) else False:
        return None
    if isinstance(value, np.datetime64):
        day = _day(str(value.astype("datetime64[D]")))
        return day if day == UNLIKE else str(value.astype("datetime64[s]"))
    if isinstance(value, np.floating):
        return _float(float(value))  # a long double has no Python type of its own
    if isinstance(value, np.complexfloating):
        return _complex(complex(value))
    return _numpy_span(value) if isinstance(value, np.timedelta64) else text(value.item())


_NANOSECONDS = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9}
_NANOSECONDS |= {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _numpy_span(value: np.timedelta64) -> str:
    unit, count = np.datetime_data(value.dtype)
    return _span(int(value.astype(np.int64)) * count * _NANOSECONDS[unit] // 1_000)


def _timedelta(value: datetime.timedelta) -> str:
    return _span((value.days * 86_400 + value.seconds) * 10**6 + value.microseconds)


def _span(micros: int) -> str:
    """A duration as its seconds."""
    seconds, part = divmod(abs(micros), 10**6)
    digits = f".{part:06d}" if part else ""
    return f"{'-' if micros < 0 else ''}PT{seconds}{digits}S"


def _bytes(value: bytes) -> str:
    return bytes(memoryview(value)).decode("utf-8")  # what is no UTF-8 is no text


def _timestamp(value: Any) -> str:
    """A moment; unlike those of Python's own, it may lie beyond the years 1 to 9999."""
    day = _day(f"{value.year:04d}-{value.month:02d}-{value.day:02d}")
    return day if day == UNLIKE else str(value.isoformat(timespec="seconds"))


def _datetime(value: datetime.datetime) -> str:
    return datetime.datetime.isoformat(value, timespec="seconds")


def _day(written: str) -> str:
    """A day, if four digits are enough for its year: in a column of moments no other is a day."""
    plain = len(written) == _DAY_LENGTH and not written.startswith("-")
    return written if plain else UNLIKE


def _pandas_span(value: Any) -> str:
    return _numpy_span(value.to_timedelta64())


def _other(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _unlike(_value: object) -> str:
    return UNLIKE


def _accept(_value: object) -> None:
    return None


_READERS: dict[type, Callable[[Any], str | None]] = {
    type(None): _accept,
    str: _str,
    bool: _bool,
    np.bool_: _bool,
    int: _int,
    float: _float,
    np.float64: _float,
    datetime.date: datetime.date.isoformat,
    datetime.datetime: _datetime,
    datetime.timedelta: _timedelta,
}
_PANDAS: dict[str, Callable[[Any], str | None]] = {
    "NaTType": _accept,
    "NAType": _accept,
    "Timestamp": _timestamp,
    "Timedelta": _pandas_span,
}
# Text and numbers of numpy first: some of them are Python's, too.
_BASES: list[tuple[type, Callable[[Any], str | None]]] = [
    (str, _str),
    (bytes, _bytes),
    (bytearray, _bytes),
    (memoryview, _bytes),
    (int, _int),
    (float, _float),
    (complex, _complex),
    (np.generic, _numpy_object),
    (Decimal, _decimal),
    (datetime.datetime, _datetime),
    (datetime.date, datetime.date.isoformat),
    (datetime.time, datetime.time.isoformat),
    (datetime.timedelta, _timedelta),
    # What holds other values is none itself, as in a column of lists.
    *((several, _unlike) for several in (list, tuple, dict, set, frozenset, np.ndarray)),
]


_UNITS = (("ns", 1), ("us", 1), ("ms", 1))
_MS = "datetime64[ms]"
_FAULTS = (
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException),
    *(ValueError, TypeError, NotImplementedError, ArithmeticError, AttributeError, ImportError),
)
_ARROW_TYPES = (
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_null),
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_date),
)


def is_pandas(data: object) -> bool:
    """Return whether data are of a class of pandas, or of one that somebody derived from it."""
    return any(base.__module__.partition(".")[0] == "pandas" for base in type(data).__mro__)


def is_spark(data: object) -> bool:
    """Return whether Spark holds the data: a data frame, classic or of Spark Connect, or texts."""
    return any(
        (base.__name__ == "DataFrame" and base.__module__.startswith("pyspark.sql."))
        or (base.__name__ == "SparkTexts" and base.__module__ == "understudy.spark.texts")
        for base in type(data).__mro__
    )


def is_readable(dtype: Any) -> bool:
    """Return whether values of a type still are what they were.

    One complex number makes a column complex, and pandas then fills the empty cells of a column of
    whole numbers with whatever is in memory.
    """
    inner = dtype.categories.dtype if hasattr(dtype, "categories") else dtype
    return getattr(inner, "kind", "O") != "c"


def pandas_column(series: pd.Series) -> pl.Series:
    """One column; shape (n,). Null, NaN and their like become null or NaN."""
    try:
        values = _read_by_type(series)
    except _FAULTS:  # half a character in a text, a moment that is too far away, …
        values = None
    return _objects(series) if values is None else values


def _read_by_type(series: pd.Series) -> pl.Series | None:
    """The column by its type; None if its values have to be read one by one."""
    dtype: Any = series.dtype
    if isinstance(dtype, np.dtype):
        return _numpy(series.to_numpy())
    reader = _BY_TYPE.get(type(dtype).__name__)
    if reader is None and hasattr(dtype, "numpy_dtype"):  # numbers and truth values with a mask
        reader = _read_masked
    return None if reader is None else reader(series)


def _numpy(values: np.ndarray[Any, Any]) -> pl.Series | None:
    kind = values.dtype.kind
    if kind in "bui":
        return pl.Series(values)
    if kind == "f":
        with np.errstate(over="ignore"):  # a long double beyond 64 bits is infinite
            return pl.Series(values.astype(np.float64), nan_to_null=True)
    if kind == "M":
        return _moments(values)
    if kind == "m" and np.datetime_data(values.dtype) in _UNITS:
        return pl.Series(values)
    if kind == "O":
        # Texts and empty cells at one go; any other number among them is a fault.
        plain = set(map(type, values.tolist())) <= {str, type(None), float}
        return pl.Series(pa.array(values, pa.large_string(), from_pandas=True)) if plain else None
    return None


def _moments(moments: np.ndarray[Any, Any]) -> pl.Series:
    """Moments in a unit of Polars; those that cannot be written with four digits share two."""
    if np.datetime_data(moments.dtype) in _UNITS:
        return pl.Series(moments)
    days = moments.astype("datetime64[D]").astype(np.int64)
    first, last = (np.datetime64(day, "D") for day in (FIRST_DAY - 1, LAST_DAY + 1))
    near = np.where(days < FIRST_DAY, first, np.where(days > LAST_DAY, last, moments))
    return pl.Series(np.where(np.isnat(moments), np.datetime64("NaT", "s"), near).astype(_MS))


def _read_masked(series: pd.Series) -> pl.Series:
    return pl.Series(pl.from_pandas(series))


def _aware(series: pd.Series) -> pl.Series | None:
    """Moments of a zone; None for one that has no name that Polars knows for sure."""
    zone = series.dt.tz
    if type(zone).__module__.partition(".")[0] not in ("zoneinfo", "pytz", "datetime"):
        return None
    utc = _moments(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    return utc.dt.replace_time_zone("UTC").dt.convert_time_zone(str(zone))


def _arrow(series: pd.Series) -> pl.Series | None:
    arrow = series.array.__arrow_array__()
    if pa.types.is_timestamp(arrow.type):
        return arrow_column(pa.chunked_array([arrow]))
    known = any(is_type(arrow.type) for is_type in _ARROW_TYPES)
    return pl.Series(arrow) if known else None


def _sparse(series: pd.Series) -> pl.Series:
    return pandas_column(series.sparse.to_dense())


def _category(series: pd.Series) -> pl.Series:
    """Each category is read once, and not once per row."""
    codes = series.cat.codes.to_numpy().astype(np.int64)
    places = pl.Series(codes).set(pl.Series(codes < 0), None)
    labels = pandas_column(series.cat.categories.to_series())
    # A column that was declared categorical is drafted so.
    return (labels.cast(pl.Categorical) if labels.dtype == pl.String else labels).gather(places)


def _objects(series: pd.Series) -> pl.Series:
    return texts(_each(series.array))


def _each(values: Any) -> Iterator[object]:
    """One value after the other, of which each may fail to become a Python object."""
    for k in range(len(values)):
        try:
            yield values[k]
        except Exception:  # a moment that Python's calendar does not reach
            yield UNLIKE


_BY_TYPE = {
    "ArrowDtype": _arrow,
    "CategoricalDtype": _category,
    "DatetimeTZDtype": _aware,
    "SparseDtype": _sparse,
    "StringDtype": _read_masked,
}


_UNREADABLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    pa.ArrowException,
    ValueError,
)
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


def arrow_column(column: pa.ChunkedArray) -> pl.Series | None:
    """One column; shape (n,). None if its type cannot be read, whatever its values."""
    try:
        _series(column.slice(0, 0))
    except _UNREADABLE:
        return None
    return _series(column)


def _series(column: pa.ChunkedArray) -> pl.Series:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if any(is_text(column.type) for is_text in _TEXTS):
        # Arrow does not look whether a text is one; bytes are read one value at a time.
        column = column.cast(pa.large_binary())
    return pl.Series(column)


_TEXT = (pl.String, pl.Categorical, pl.Enum)


def is_text(dtype: pl.DataType) -> bool:
    """Return whether values of a plain type are texts."""
    return dtype in _TEXT


def different_texts(values: pl.Series) -> tuple[pl.Series, NDArray[np.integer]]:
    """The texts of a column, each once, null first; and the place of each value among them.

    Args:
        values: text, shape (n,).
    """
    nothing = pl.Series([None], dtype=pl.String)
    if isinstance(values.dtype, pl.Enum):
        texts, places = values.dtype.categories, values.to_physical().cast(pl.Int32)
    else:
        encoded = values.cast(pl.String).to_arrow().dictionary_encode()
        texts, places = pl.Series(encoded.dictionary), pl.Series(encoded.indices)
    return nothing.append(texts.cast(pl.String)), places.fill_null(-1).to_numpy() + 1


def is_plain(dtype: pl.DataType) -> bool:
    """Return whether values of a type are read as they are."""
    known = dtype in (*_TEXT, pl.Boolean, pl.Date, pl.Null) or isinstance(dtype, pl.Datetime)
    return known or dtype.is_numeric()


def plain(values: pl.Series) -> pl.Series:
    """A column of any type as one of a plain type; shape (n,)."""
    if is_plain(values.dtype):
        return values
    frame = pl.DataFrame([values.alias("values")])
    return frame.select(as_plain(pl.col("values"), values.dtype)).to_series()


def as_plain(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The expression that turns a column of a type into one of a plain type."""
    if is_plain(dtype):
        return column
    if dtype == pl.Time:
        return column.dt.strftime("%H:%M:%S%.6f").str.strip_suffix(".000000")
    if isinstance(dtype, pl.Duration):
        return _span_of_type(column, dtype)
    if dtype == pl.Object:
        return column.map_batches(texts, return_dtype=pl.String)
    if dtype == pl.Binary:
        return column.map_batches(decode_bytes, return_dtype=pl.String)
    return pl.when(column.is_not_null()).then(pl.lit(UNLIKE, dtype=pl.String))


def as_text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The expression that turns a column of a plain type into text that is read alike."""
    if dtype.is_float():
        return column.cast(pl.Float64).fill_nan(None).cast(pl.String)
    if dtype == pl.Date:
        return _or_unlike(column, _can_be_written(column), "%Y-%m-%d")
    if isinstance(dtype, pl.Datetime):
        return _moment_text(column, dtype)
    return column.cast(pl.String)


def decode_bytes(values: pl.Series) -> pl.Series:
    """Bytes as text: at one go if all are UTF-8, else one by one, to the same end."""
    try:
        return values.cast(pl.String)
    except pl.exceptions.PolarsError:
        return texts(values)


def _can_be_written(day: pl.Expr) -> pl.Expr:
    return day.to_physical().is_between(FIRST_DAY, LAST_DAY)


def _or_unlike(column: pl.Expr, written: pl.Expr, form: str) -> pl.Expr:
    """Text of what can be written with four digits for its year."""
    text = pl.when(written).then(column).dt.strftime(form)
    return pl.coalesce(text, pl.when(column.is_not_null()).then(pl.lit(UNLIKE)))


def _moment_text(column: pl.Expr, dtype: pl.Datetime) -> pl.Expr:
    per_day = PER_SECOND[dtype.time_unit] * DAY_SECONDS
    low, high = (FIRST_DAY + 1) * per_day, LAST_DAY * per_day
    near = column.is_not_null()
    if low >= -(2**63):
        near = column.to_physical().is_between(low, high)
    zone = "%:z" if dtype.time_zone else ""
    return _or_unlike(column, near, f"%Y-%m-%dT%H:%M:%S{zone}")


def _span_of_type(column: pl.Expr, dtype: pl.Duration) -> pl.Expr:
    """A duration as its seconds, to the microsecond."""
    per_second = PER_SECOND[dtype.time_unit]
    micros = column.to_physical()
    if per_second > 10**6:
        micros = micros.floordiv(per_second // 10**6)
    unit = min(per_second, 10**6)
    size, sign = micros.abs(), pl.when(micros < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    digits = (size % unit * (10**6 // unit)).cast(pl.String).str.zfill(6)
    part = pl.when(size % unit == 0).then(pl.lit("")).otherwise(pl.concat_str(pl.lit("."), digits))
    return pl.concat_str(sign, pl.lit("PT"), (size // unit).cast(pl.String), part, pl.lit("S"))


Batches = Callable[[list[str]], Iterator[pl.DataFrame]]
"""Names of columns → batches of these columns, from the first row on."""


def stream_batches(batches: Batches, types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """A table of these columns and types, in the order in which its batches come."""

    def read(
        names: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        _size: int | None,
    ) -> Iterator[pl.DataFrame]:
        for batch in batches(list(types) if names is None else names):
            rows = batch if n_rows is None else batch.head(n_rows)
            yield rows if predicate is None else rows.filter(predicate)
            if n_rows is not None:
                n_rows -= rows.height
                if n_rows == 0:
                    return

    return register_io_source(read, schema=pl.Schema(types))


def plain_columns(lazy: pl.LazyFrame) -> pl.LazyFrame:
    """The same table with columns of plain types only."""
    schema = lazy.collect_schema()
    other = {name: dtype for name, dtype in schema.items() if not is_plain(dtype)}
    return lazy.with_columns(
        as_plain(column(name), dtype).alias(name) for name, dtype in other.items()
    )


def column(name: str) -> pl.Expr:
    """The column of that very name; Polars takes some names ("*", "^a$") for patterns."""
    return cs.by_name([name]).as_expr()
