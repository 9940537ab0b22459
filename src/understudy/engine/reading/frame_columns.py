"""Columns of pandas and Arrow tables as Polars columns that are read alike, value by value.

The type of a pandas column follows from all of its rows, so it is only a faster way to the same
reading: what a fast way cannot take is read object by object, and each object is read as the same
value in a column of its own type would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from understudy.engine.reading.python_objects import UNLIKE, texts
from understudy.schema.time_expressions import FIRST_DAY, LAST_DAY

if TYPE_CHECKING:
    import pandas as pd


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
    """Whether data are of a class of pandas, or of one that somebody derived from it."""
    return any(base.__module__.partition(".")[0] == "pandas" for base in type(data).__mro__)


def is_spark(data: object) -> bool:
    """Whether data are a Spark data frame, classic or of Spark Connect."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.startswith("pyspark.sql.")
        for base in type(data).__mro__
    )


def is_readable(dtype: Any) -> bool:
    """Whether values of a type still are what they were.

    One complex number makes a column complex, and pandas then fills the empty cells of a column of
    whole numbers with whatever is in memory.
    """
    inner = dtype.categories.dtype if hasattr(dtype, "categories") else dtype
    return getattr(inner, "kind", "O") != "c"


def pandas_column(series: pd.Series) -> pl.Series:
    """One column; shape (n,). Null, NaN and their like become null or NaN."""
    try:
        values = _typed(series)
    except _FAULTS:  # half a character in a text, a moment that is too far away, …
        values = None
    return _objects(series) if values is None else values


def _typed(series: pd.Series) -> pl.Series | None:
    """The column by its type; None if its values have to be read one by one."""
    dtype: Any = series.dtype
    if isinstance(dtype, np.dtype):
        return _numpy(series.to_numpy())
    reader = _BY_TYPE.get(type(dtype).__name__)
    if reader is None and hasattr(dtype, "numpy_dtype"):  # numbers and truth values with a mask
        reader = _masked
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


def _masked(series: pd.Series) -> pl.Series:
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
    "StringDtype": _masked,
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
