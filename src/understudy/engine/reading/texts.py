"""What texts say: numbers, truth values and days, each text by itself."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

WORDS: Final = {"false": 0, "true": 1}
"""Truth values as words, in lower case; in the rows they stand in any case."""

_DAY = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ].*)?$"


def numbers_of(text: pl.Series) -> NDArray[np.float64]:
    """The number that each text denotes, NaN where there is none; shape (n,).

    "true" and "false" are 1 and 0, as they are where a table holds truth values beside numbers.
    """
    word = text.str.strip_chars()
    number = word.cast(pl.Float64, strict=False)
    found = as_floats(number)
    rest = (number.is_null() & word.is_not_null()).arg_true()
    if len(rest):
        found[rest.to_numpy()] = truths_of(word.gather(rest))
    return found


def truths_of(text: pl.Series) -> NDArray[np.float64]:
    """1 for "true" and 0 for "false" in any case, NaN for other texts; shape (n,)."""
    word = text.str.strip_chars().str.to_lowercase()
    truth = word.replace_strict(
        list(WORDS), list(WORDS.values()), default=None, return_dtype=pl.Float64
    )
    return as_floats(truth)


def days_of(text: pl.Series) -> NDArray[np.float64]:
    """Days since 1970-01-01 of each text, NaN where it is no day; shape (n,).

    A day is written YYYY-MM-DD. A time of day is cut off; anything else behind it makes it no day.
    """
    day = text.str.strip_chars().str.extract(_DAY, 1).str.to_date("%Y-%m-%d", strict=False)
    return as_floats(day.to_physical())


def as_floats(values: pl.Series) -> NDArray[np.float64]:
    """Numbers in 64 bits, NaN for null; shape (n,), an array of its own."""
    numbers = values.cast(pl.Float64, strict=False).fill_null(np.nan)
    return numbers.to_numpy().astype(np.float64)
