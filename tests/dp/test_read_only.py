"""What the gate gives out cannot alter what is published, and errors have no other behind them."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.dp.released import read_only
from understudy.errors import DataError


@dataclass(frozen=True)
class Table:
    counts: np.ndarray
    more: dict
    parts: tuple


def test_every_array_of_a_value_is_closed():
    value = Table(np.arange(3), {"a": np.ones(2)}, (np.zeros(1), [np.zeros(1)]))
    for copied in (True, False):
        closed = read_only(value, copied=copied)
        arrays = [closed.counts, closed.more["a"], closed.parts[0], closed.parts[1][0]]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7
        assert np.shares_memory(closed.counts, value.counts) is not copied
    assert value.counts.flags.writeable


SCHEMA = """
row_limit = 50
[columns.a]
kind = "categorical"
levels = ["x", "y"]
source = "made"
reviewed = true
"""


def test_an_error_has_no_other_behind_it():
    """What Polars says of a cell that it cannot read holds the cell; no program finds it here."""
    secret = "THE-CELL"
    broken = pl.DataFrame({"a": [secret]}).lazy().select(pl.col("a").cast(pl.Int64))
    with pytest.raises(DataError) as caught:
        us.synthesize(broken, us.Schema.loads(SCHEMA), epsilon=1, method="laplace")
    error = caught.value
    assert error.__context__ is None
    assert BaseException.__context__.__get__(error) is None
    assert error.__cause__ is None
    assert secret not in "".join((str(error), repr(error.args), *getattr(error, "__notes__", ())))
