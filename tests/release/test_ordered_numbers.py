"""Values that are drawn keep to every rule and relation, whichever cells they are drawn in."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from schemas import Day, column
from understudy.release.decoding import decode, dtype_of, to_frame
from understudy.release.load import require_relations
from understudy.release.shape import Fault
from understudy.schema import Schema


def inequality(text, at=None):
    return f'\n[[relations]]\ninequality = "{text}"\n' + (f"at = {at}\n" if at else "")


def drawn(schema, n=400, seed=1, values=None):
    rng = np.random.default_rng(seed)
    return decode(schema.domain.draw(n, rng.random), schema, rng, values)


KINDS = st.sampled_from(
    [
        {"kind": "integer", "bins": 3, "spikes": [0, 7]},
        {"kind": "integer", "bins": 10, "missing": [-9]},
        {"kind": "continuous", "bins": 2},
        {"kind": "continuous", "bins": 4, "decimals": 1, "missing": ["", "refused"]},
        {"kind": "continuous", "bins": 3, "decimals": 0, "spikes": [0]},
    ]
)
STEPS = st.sampled_from(["{} <= {}", "{} < {}"])


@given(st.tuples(KINDS, KINDS, KINDS), st.tuples(STEPS, STEPS), st.integers(0, 99))
@settings(max_examples=40 if NIGHT else 15, deadline=None)
def test_chains_of_every_kind_hold_in_every_record(kinds, steps, seed):
    told = "".join(
        column(name, lower=0, upper=12, **kind) for name, kind in zip("abc", kinds, strict=True)
    )
    texts = [text.format(*pair) for text, pair in zip(steps, ("ab", "bc"), strict=True)]
    schema = Schema.loads(told + "".join(map(inequality, texts)))
    table = drawn(schema, seed=seed)
    require_relations(table, schema)
    for name in "abc":
        numbers = table.get_column(name).cast(pl.Float64, strict=False).drop_nulls()
        assert numbers.is_between(-9, 12).all()
    for text, (small, large) in zip(texts, ("ab", "bc"), strict=True):
        one, other = (
            table.get_column(name).cast(pl.Float64, strict=False) for name in (small, large)
        )
        known = (one >= 0) & (other >= 0)
        broken = (one > other) if "=" in text else (one >= other)
        assert not (known & broken).any()


def test_given_numbers_keep_their_bins_and_together_their_values():
    told = column("s", "continuous", lower=0, upper=10, bins=2)
    schema = Schema.loads(told + told.replace("columns.s", "columns.e") + inequality("s <= e"))
    rng = np.random.default_rng(1)
    states = [np.zeros(1000, dtype=int), np.zeros(1000, dtype=int)]
    numbers = {"s": rng.uniform(0, 5, 1000), "e": rng.uniform(0, 5, 1000)}
    table = decode(states, schema, rng, numbers)
    s, e = table["s"].to_numpy(), table["e"].to_numpy()
    np.testing.assert_allclose(s, np.minimum(*numbers.values()))
    np.testing.assert_allclose(e, np.maximum(*numbers.values()))


def test_what_keeps_to_the_relation_is_not_touched():
    told = column("s", "integer", lower=0, upper=9, bins=1)
    other = told.replace("columns.s", "columns.e")
    numbers = {"s": np.array([1.0, 8.0]), "e": np.array([2.0, 3.0])}
    states = [np.zeros(2, dtype=int)] * 2
    table = decode(
        states, Schema.loads(told + other + inequality("s < e")), np.random.default_rng(1), numbers
    )
    assert table.to_dict(as_series=False) == {"s": [1, 3], "e": [2, 8]}


def test_bins_finer_than_the_thresholds_are_put_in_order_too():
    day = column("s", "date", lower=Day("2000-01-01"), upper=Day("2009-12-31"), bins=200)
    told = day + day.replace("columns.s", "columns.e").replace("200", "150", 1)
    schema = Schema.loads(told + inequality("s < e", at="[2003-01-01, 2006-01-01]"))
    assert len(schema.domain.boxes) == 2
    table = drawn(schema, 3000)
    assert (table["s"] < table["e"]).all()


RULES = (
    column("a", "integer", lower=0, upper=9)
    + column("q", "continuous", lower=0, upper=5, decimals=2, derived="b / a", missing=[-1])
    + column("b", "continuous", lower=0, upper=9, decimals=1, missing=[""])
    + column("old", "boolean", derived="a >= 5")
    + column("band", "ordinal", levels=["low", "high"], derived="cut(a, 3)")
    + column("day", "date", lower=Day("2000-01-01"), upper=Day("2001-01-01"))
    + column("due", "date", lower=Day("2000-01-01"), upper=Day("2002-01-01"), derived="day + 30")
    + column("level", "integer", lower=0, upper=99, missing=[""], derived="floor(q * 10)")
)
SCHEMA = Schema.loads(RULES)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_derived_columns_have_their_place_and_their_type(kind):
    frame = to_frame(drawn(SCHEMA), SCHEMA, kind)
    names = frame.column_names if kind == "arrow" else list(frame.columns)
    assert names == list(SCHEMA.declared)
    table = pl.from_pandas(frame) if kind == "pandas" else pl.DataFrame(frame)
    found = {name: table.schema[name] for name in ("q", "old", "level", "due")}
    expected = {name: dtype_of(SCHEMA.declared[name]) for name in found}
    expected["due"] = found["due"] if kind == "pandas" else expected["due"]  # pandas has no days
    assert found == expected


def test_derived_values_follow_from_the_row():
    table = drawn(SCHEMA)
    for row in table.iter_rows(named=True):
        a, b = row["a"], row["b"]
        expected = -1 if b is None or a == 0 else min(b / a, 5)
        assert row["q"] == pytest.approx(expected, abs=0.0051)
        assert row["old"] == (a >= 5)
        assert row["band"] == ("low" if a < 3 else "high")
        assert (row["due"] - row["day"]).days == 30
        assert (row["level"] is None) == (row["q"] == -1)
    require_relations(table, SCHEMA)


EDITS = {
    "q": pl.lit(1.23),
    "old": ~pl.col("old"),
    "band": pl.lit("low"),
    "due": pl.col("due").dt.offset_by("1d"),
    "level": pl.lit(None, dtype=pl.Int64),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_table_in_which_a_rule_fails_is_noticed(name):
    table = drawn(SCHEMA)
    edited = table.with_columns(EDITS[name].cast(table.schema[name]).alias(name))
    with pytest.raises(Fault, match=f"the column '?{name}'? does not follow"):
        require_relations(edited, SCHEMA)


def test_a_table_in_which_a_relation_fails_is_noticed():
    told = column("s", "integer", lower=0, upper=9) + column("e", "integer", lower=0, upper=9)
    within = '\n[[relations]]\nhierarchy = ["c", "p"]\nwithin = { x = ["a"], y = ["b"] }\n'
    levels = column("c", "categorical", levels=["a", "b"]) + column(
        "p", "categorical", levels=["x", "y"]
    )
    schema = Schema.loads(told + levels + inequality("s <= e") + within)
    table = drawn(schema)
    require_relations(table, schema)
    with pytest.raises(Fault, match="s <= e"):
        require_relations(table.with_columns(s=pl.col("e") + 1), schema)
    with pytest.raises(Fault, match="c lies within p"):
        require_relations(table.with_columns(p=pl.lit("x", dtype=table.schema["p"])), schema)
