"""A table that is read batch by batch, anew for each pass, as a lazy one. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import polars as pl
from polars.io.plugins import register_io_source

Batches = Callable[[list[str]], Iterator[pl.DataFrame]]
"""Names of columns → batches of these columns, from the first row on."""


def streamed(batches: Batches, types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
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
