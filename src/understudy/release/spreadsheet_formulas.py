"""Texts that a spreadsheet would take for a formula and run, when it opens a CSV.

A level is whatever the schema calls it, and a spreadsheet evaluates a cell that begins with "=",
"+", "-", "@", a tab or a line break, quoted or not. An apostrophe before it makes it a text.
Numbers are left alone: −9 is a number to everybody.
"""

from __future__ import annotations

import polars as pl

from understudy.schema.cell_values import number_of

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def has_formulas(table: pl.DataFrame) -> bool:
    """Whether a column or a value of it would be taken for a formula."""
    names = any(_acts(name) for name in table.columns)
    return names or any(_acts(text) for one in _texts(table) for text in _distinct(one))


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before each such text, in its header as well.

    Example:
        >>> table = pl.DataFrame({"=x": ["=1+1", "-9", "ok"]})
        >>> without_formulas(table).to_dict(as_series=False)
        {"'=x": ["'=1+1", '-9', 'ok']}
    """
    changed = []
    for one in _texts(table):
        quoted = {text: f"'{text}" for text in _distinct(one) if _acts(text)}
        if quoted:
            changed.append(one.cast(pl.String).replace(quoted).alias(one.name))
    renamed = {name: _plain(name, table.columns) for name in table.columns if _acts(name)}
    return table.with_columns(changed).rename(renamed)


def _plain(name: str, taken: list[str]) -> str:
    """The name behind as many apostrophes as it takes to be no other column's."""
    found = f"'{name}"
    return found if found not in taken else _plain(found, taken)


def _texts(table: pl.DataFrame) -> list[pl.Series]:
    return [one for one in table if one.dtype in (pl.String, pl.Enum)]


def _distinct(series: pl.Series) -> list[str]:
    return [text for text in series.unique().to_list() if text is not None]


def _acts(text: str) -> bool:
    return text.startswith(_STARTS) and number_of(text) is None
