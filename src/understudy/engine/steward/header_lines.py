"""Lines behind the names of the columns that are no records. CONFIDENTIAL.

Tools for surveys write the texts of questions and the names of fields there, loggers the units.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from understudy.engine.reading import workbook
from understudy.engine.reading.delimited import is_delimited
from understudy.engine.reading.parquet import column as named
from understudy.engine.reading.table_rows import Rows
from understudy.engine.steward.column_profile import is_filled, is_typed

_LINES = 200
_MOST = 3
_LEAST_FILLED = 3  # fewer values say little about what a column holds
_LEAST_TYPED = 2  # a word alone may be a value that somebody has mistyped


def may_have_more(data: object) -> bool:
    """Whether data are a file that people and tools write lines of words into: text, or a sheet."""
    sheet = isinstance(data, str | Path) and Path(data).suffix.lower() in workbook.ENDINGS
    return sheet or is_delimited(data)


def more_header_lines(rows: Rows) -> int:
    """How many of the first rows are words in all columns that hold numbers or times below them.

    Args:
        rows: of texts.

    Returns:
        0 to 3; 0 where fewer than two columns hold numbers or times alone.
    """
    names = [name for name, (dtype, *_) in rows.types().items() if dtype == pl.String]
    if not names:
        return 0
    texts = [named(name).alias(f"c{k}") for k, name in enumerate(names)]
    first = rows.ask(rows.lazy.head(_LINES).select(texts))
    cells = pl.col(first.columns)
    filled = first.select(is_filled(cells)).to_numpy()
    typed = first.select(is_typed(cells).fill_null(False)).to_numpy() & filled
    for k in range(_MOST, 0, -1):
        alike = (typed[k:] == filled[k:]).all(axis=0)
        alike &= filled[k:].sum(axis=0) >= _LEAST_FILLED
        words = filled[:k, alike] & ~typed[:k, alike]
        if alike.sum() >= _LEAST_TYPED and words.all():
            return k
    return 0
