"""Rows in memory, and a random part of them that is held out.

A risk that is measured needs people who are *not* in the release: what an intruder learns about
them is what the population tells of anyone. So some rows are held out before a release is made.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import polars.selectors as cs

from understudy.engine import Table
from understudy.engine.reading.readers import open_rows
from understudy.errors import DataError
from understudy.schema import Schema


def rows_in_memory(data: object, schema: Schema) -> pl.DataFrame:
    """The columns of the schema as they are in the data, in the order of the data. CONFIDENTIAL.

    Args:
        data: pandas, Polars or Arrow table, or a path to CSV or Parquet (file or folder).
        schema: names the columns.

    Raises:
        DataError: a structural fault of the data, or there are no rows.
    """
    opened = open_rows(data, schema)
    Table(opened, schema)  # finds what cannot be read
    rows = opened.ask(opened.lazy.select(cs.by_name(list(schema.names))))
    if not rows.height:
        raise DataError("The table has no rows, so there is nothing to compare with.")
    return rows


def hold_out(
    rows: pl.DataFrame, share: float, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Members, and a control group of non-members, split at random.

    Args:
        rows: the table.
        share: of the rows that become the control group, in (0, 1); rounded to whole rows.
        rng: randomness of the split.

    Raises:
        DataError: there are too few rows for one in each part.
    """
    n_control = round(share * rows.height)
    if not 0 < n_control < rows.height:
        raise DataError(
            "The table has too few rows to hold a part of them out; take more rows, or another "
            "share."
        )
    order = rng.permutation(rows.height)
    control, members = np.sort(order[:n_control]), np.sort(order[n_control:])
    return rows[members], rows[control]
