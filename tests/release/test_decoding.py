"""From states back to values: types from the schema, values inside their bins, absence kept."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.release.decoding import decode, dtype_of, to_frame
from understudy.schema import Schema

SCHEMA = Schema.loads("""
[columns.whole]
kind = "integer"
lower = 0
upper = 99
bins = [0, 10, 50, 99]
spikes = [5]
missing = [""]
[columns.coded]
kind = "integer"
lower = 0
upper = 9
missing = [-9]
not_applicable = [-8]
[columns.worded]
kind = "continuous"
lower = 0
upper = 1
bins = 4
missing = ["refused"]
[columns.money]
kind = "continuous"
lower = 0
upper = 10
bins = [0, 1, 10]
spikes = [0]
decimals = 2
[columns.level]
kind = "ordinal"
levels = ["low", "high"]
missing = [""]
[columns.number]
kind = "categorical"
levels = [1, 2, 4]
[columns.truth]
kind = "boolean"
missing = [""]
[columns.day]
kind = "date"
lower = 2020-01-01
upper = 2020-12-31
bins = 4
""")
DTYPES = {
    "whole": pl.Int64,
    "coded": pl.Int64,
    "worded": pl.String,
    "money": pl.Float64,
    "level": pl.Enum(["low", "high"]),
    "number": pl.Int64,
    "truth": pl.Boolean,
    "day": pl.Date,
}


def every_state(repeats=200):
    """Each state of each column, many times."""
    rng = np.random.default_rng(1)
    n = repeats * max(SCHEMA.sizes)
    return [rng.permutation(np.arange(n) % size) for size in SCHEMA.sizes]


@pytest.mark.parametrize("name", DTYPES)
def test_the_type_of_a_column_comes_from_the_schema(name):
    assert dtype_of(SCHEMA.columns[name]) == DTYPES[name]


def test_types_do_not_depend_on_the_values_drawn():
    full = decode(every_state(), SCHEMA, np.random.default_rng(1))
    empty = decode([np.zeros(0, dtype=int)] * len(SCHEMA.sizes), SCHEMA, np.random.default_rng(1))
    first = decode([np.zeros(3, dtype=int)] * len(SCHEMA.sizes), SCHEMA, np.random.default_rng(1))
    assert full.schema == empty.schema == first.schema
    for kind in ("pandas", "arrow"):
        frames = [to_frame(table, SCHEMA, kind) for table in (full, empty, first)]
        types = [str(f.dtypes.tolist() if kind == "pandas" else f.schema) for f in frames]
        assert types[0] == types[1] == types[2]


def test_decoded_values_code_back_to_the_same_states():
    """The release's values and the engine's coding agree, for every state of every kind."""
    states = every_state()
    table = decode(states, SCHEMA, np.random.default_rng(2))
    for source in (table, to_frame(table, SCHEMA, "pandas"), to_frame(table, SCHEMA, "arrow")):
        batches = list(Table(source, SCHEMA)._batches(range(len(states))))
        again = [np.concatenate([batch[j] for batch in batches]) for j in range(len(states))]
        for name, before, after in zip(SCHEMA.names, states, again, strict=True):
            assert (before == after).all(), name


def test_values_fill_their_bins():
    table = decode(every_state(2000), SCHEMA, np.random.default_rng(3))
    whole = table["whole"].drop_nulls()
    assert set(whole.unique()) == set(range(100))
    money = table["money"]
    assert (money * 100 - (money * 100).round()).abs().max() < 1e-9
    assert set(money.filter(money < 1).unique()) == {round(k / 100, 2) for k in range(100)}
    days = table["day"]
    assert (days.min(), days.max()) == (datetime.date(2020, 1, 1), datetime.date(2020, 12, 31))


def test_pandas_keeps_absence_order_and_nullable_types():
    frame = to_frame(decode(every_state(), SCHEMA, np.random.default_rng(4)), SCHEMA, "pandas")
    assert str(frame["whole"].dtype) == "Int64"
    assert str(frame["truth"].dtype) == "boolean"
    assert frame["level"].cat.ordered
    assert frame["level"].cat.categories.tolist() == ["low", "high"]
    assert frame["whole"].isna().any()
    assert {-9, -8} <= set(frame["coded"])
    assert "refused" in set(frame["worded"])
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == list(SCHEMA.names)


def test_a_bin_narrower_than_its_rounding_is_represented_by_its_middle():
    schema = Schema.loads("""
    [columns.x]
    kind = "continuous"
    lower = 0
    upper = 1
    bins = [0, 0.2, 0.4, 1]
    decimals = 0
    """)
    table = decode([np.array([0, 1, 2])], schema, np.random.default_rng(5))
    assert table["x"].to_list() == pytest.approx([0.0, 0.3, 1.0])


def test_given_numbers_are_rounded_bounded_and_used_where_the_state_is_a_bin():
    """States of money: spike 0, [0, 1), [1, 10]; of coded: 0 to 9, −8, −9."""
    n = 4
    states = [np.zeros(n, dtype=np.int64) for _ in SCHEMA.columns]
    money, coded = SCHEMA.names.index("money"), SCHEMA.names.index("coded")
    states[money] = np.array([0, 1, 2, 2])
    states[coded] = np.array([0, 3, 10, 11])
    values = {
        "money": np.array([7.0, 0.456, 9.999, 12.0]),
        "coded": np.array([0.4, 3.6, 5.0, 5.0]),
    }
    table = decode(states, SCHEMA, np.random.default_rng(1), values)
    assert table["money"].to_list() == [0.0, 0.46, 10.0, 10.0]
    assert table["coded"].to_list() == [0, 4, -8, -9]
