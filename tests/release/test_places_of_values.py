"""Released times: the types of each frame, the way back, and what no schema allows."""

import datetime

import numpy as np
import polars as pl
import pytest

from understudy.release.consistency import require_rows
from understudy.release.decoding import decode, dtype_of, places_of, to_frame, with_iso_times
from understudy.release.shape import Fault
from understudy.schema import Datetime, Duration, Integer, Schema, Time

COLUMNS = {
    "seen": Datetime(
        kind="datetime", lower="1969-12-30T00:00", upper="1970-01-02T00:00", resolution="minute"
    ),
    "at": Time(kind="time", resolution="hour", missing=("",)),
    "stay": Duration(kind="duration", lower="-P1D", upper="P2D", resolution="minute"),
    "coded": Duration(kind="duration", lower="PT0S", upper="P2D", missing=("refused",)),
    "when": Datetime(
        kind="datetime", lower="2020-01-01T00:00", upper="2020-01-02T00:00", missing=("never",)
    ),
}
SCHEMA = Schema(columns=COLUMNS)


def released(n=400):
    rng = np.random.default_rng(1)
    return decode([rng.integers(0, one.size, n) for one in COLUMNS.values()], SCHEMA, rng)


def test_released_times_have_the_types_of_the_schema_and_lead_back_to_places():
    table = released()
    assert dict(table.schema) == {name: dtype_of(one) for name, one in COLUMNS.items()}
    require_rows(table, SCHEMA, table.height, SCHEMA)
    for name, column in COLUMNS.items():
        places = places_of(table[name], column)
        known = places[~np.isnan(places)]
        low, high = column.bounds
        assert ((known >= low) & (known <= high) & (known == np.floor(known))).all()
        texts = with_iso_times(table)[name].drop_nulls()
        read = {column.position(text) for text in texts} - {None}
        assert read == set(known.tolist())


def test_each_frame_has_its_own_types():
    table = released(20)
    pandas = to_frame(table, SCHEMA, "pandas")
    assert pandas.dtypes.astype(str).tolist()[:3] == ["datetime64[us]", "object", "timedelta64[us]"]
    arrow = to_frame(table, SCHEMA, "arrow")
    assert [str(one.type) for one in arrow.columns][:3] == [
        "timestamp[us]",
        "time64[ns]",
        "duration[us]",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seen", datetime.datetime(1970, 1, 1, 0, 0, 30)),  # no whole minute
        ("seen", datetime.datetime(1971, 1, 1)),
        ("stay", datetime.timedelta(days=3)),
        ("coded", "P3D"),
        ("coded", "soon"),
        ("when", "2020-01-01T10:00:00Z or so"),
    ],
)
def test_a_table_with_other_times_is_refused(name, value):
    table = released(5)
    column = pl.Series(name, [value] * 5, dtype=table.schema[name])
    with pytest.raises(Fault, match="not allow"):
        require_rows(table.with_columns(column), SCHEMA, 5, SCHEMA)


def test_numbers_are_their_own_place():
    column = Integer(kind="integer", lower=0, upper=9)
    assert places_of(pl.Series([3, None]), column)[0] == 3.0
