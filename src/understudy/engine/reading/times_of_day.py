"""Which columns hold moments that are more than days: asked for drafts alone. CONFIDENTIAL.

Rows are read by days (`understudy.engine.reading.plain_types`), so a draft that looked at them
could not tell what a column of days would lose.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from understudy.engine.reading.pandas_columns import is_pandas
from understudy.engine.reading.parquet import column
from understudy.engine.reading.plain_types import has_time


def with_times_of_day(data: object) -> frozenset[str]:
    """Names of the columns in which a typed moment is not at midnight, in its own time zone.

    Args:
        data: a table, or a path to Parquet, that `open_rows` has opened; text files have no types.
    """
    if isinstance(data, str | Path):
        path = Path(data)
        parts = sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]
        return frozenset().union(*(_of_lazy(pl.scan_parquet(one, glob=False)) for one in parts))
    if isinstance(data, pl.LazyFrame | pl.DataFrame):
        return _of_lazy(data.lazy())
    if is_pandas(data):
        return frozenset(_of_pandas(data))
    return _of_lazy(_moments(pa.table(data)).lazy())


def _of_lazy(lazy: pl.LazyFrame) -> frozenset[str]:
    types = lazy.collect_schema()
    asked = {
        name: has_time(column(name), dtype).any()
        for name, dtype in types.items()
        if isinstance(dtype, pl.Datetime)
    }
    if not asked:
        return frozenset()
    keys = [f"column_{k}" for k in range(len(asked))]
    named = [one.alias(key) for one, key in zip(asked.values(), keys, strict=True)]
    found = lazy.select(named).collect(engine="streaming").row(0)
    return frozenset(name for name, has in zip(asked, found, strict=True) if has)


def _moments(table: pa.Table) -> pl.DataFrame:
    names = [one.name for one in table.schema if pa.types.is_timestamp(one.type)]
    return pl.DataFrame(table.select(names)) if names else pl.DataFrame()


def _of_pandas(frame: Any) -> Iterator[str]:
    for k, name in enumerate(frame.columns):
        values = frame.iloc[:, k]
        if values.dtype == object:
            moments = (one for one in values if isinstance(one, datetime.datetime))
        elif hasattr(values, "dt") and hasattr(values.dt, "normalize"):
            moments = iter(values[values != values.dt.normalize()].dropna())
        else:
            continue
        if any(one.time() != datetime.time() for one in moments if one == one):  # noqa: PLR0124
            yield str(name)
