"""Records of rare key combinations move to near frequent ones, and nothing else changes."""

from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from schemas import column
from understudy.errors import MethodError
from understudy.models.model import Sample
from understudy.release.minimum_count import KeptCount, KeyMoves, MinimumCount, kept_count

SCHEMA = us.Schema.loads(
    "row_limit = 10000\n"
    + column("job", "categorical", levels=["a", "b", "c"], missing=["?"], source="law")
    + column("size", "ordinal", levels=["s", "m", "l", "xl"], source="law")
    + column("age", "integer", lower=0, upper=99, bins=5, source="law")
    + column("city", "categorical", levels=["x", "y"], source="law")
)
RULE = """
[[forbidden]]
where = { job = "a", city = "y" }
source = "law"
reviewed = true
"""
RULED = us.Schema.loads(SCHEMA.dumps() + RULE)
KEYS = ("job", "size")


def records(schema, rows):
    """Records with these states."""
    return Sample([np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)])


def moved(schema, sample, asked, seed=0):
    moves = KeyMoves.of(asked, schema, [sample])
    return (moves, *moves.apply(sample, np.random.default_rng(seed)))


def distance(schema, one, other):
    """Of two records with key columns alone, slowly."""
    total = F(0)
    for name, a, b in zip(KEYS, one, other, strict=True):
        known = schema.columns[name]
        ordered = known.kind == "ordinal" and max(a, b) < len(known.levels)
        total += F(abs(a - b), len(known.levels) - 1) if ordered else F(a != b)
    return total


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(*(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), st.integers(0, 1))),
        min_size=1,
        max_size=40,
    ),
    st.integers(2, 6),
    st.booleans(),
    st.integers(0, 3),
)
def test_each_combination_occurs_often_or_never_and_rare_ones_go_to_the_nearest(
    rows, count, ruled, seed
):
    schema = RULED if ruled else SCHEMA
    rows = [row for row in rows if not ruled or (row[0], row[3]) != (0, 1)] or [(1, 0, 0, 0)]
    sample = records(schema, rows)
    before = [column.copy() for column in sample.states]
    moves, found, copies = moved(schema, sample, MinimumCount(KEYS, count), seed)
    assert all(map(np.array_equal, before, sample.states))
    counts = Counter(row[:2] for row in rows)
    frequent = {key: n for key, n in counts.items() if n >= count}
    rare = [i for i, row in enumerate(rows) if row[:2] not in frequent]
    assert moves.changed == len(rare)
    after = [tuple(map(int, row)) for row in zip(*found.states, strict=True)]
    if not frequent:
        assert after == rows
        return
    assert set(Counter(row[:2] for row in after)) == set(frequent)
    assert all(n >= count for n in Counter(row[:2] for row in after).values())
    assert not schema.domain.find_forbidden(found.states).any()
    whole = 0
    for i, (old, new) in enumerate(zip(rows, after, strict=True)):
        if i not in rare:
            assert old == new
            continue
        open_ = [k for k in frequent if not (ruled and k[0] == 0 and old[3] == 1)]
        if not open_:
            whole += 1
            assert new in rows
            continue
        assert old[2:] == new[2:]
        least = min(distance(schema, old[:2], key) for key in open_)
        assert distance(schema, old[:2], new[:2]) == least
    assert len(copies) == whole


def test_equally_near_combinations_are_drawn_by_their_records():
    rows = [(0, 0, 0, 0)] * 3000 + [(1, 0, 0, 0)] * 1000 + [(2, 0, 0, 0)] * 900
    _, found, _ = moved(SCHEMA, records(SCHEMA, rows), MinimumCount(KEYS, 1000))
    share = np.mean(found.states[0][-900:] == 0)
    assert abs(share - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 900)


def test_parts_of_a_set_are_counted_together_and_moved_apart():
    rows = [(0, 0, 0, 0)] * 3 + [(1, 3, 0, 1)] + [(0, 0, 0, 1)] * 3 + [(1, 3, 1, 1)] * 2
    first, last = records(SCHEMA, rows[:5]), records(SCHEMA, rows[5:])
    moves = KeyMoves.of(MinimumCount(KEYS, 4), SCHEMA, [first, last])
    assert moves.changed == 3
    for part in (first, last):
        found, _ = moves.apply(part, np.random.default_rng(0))
        assert not found.states[0].any()


def test_numbers_of_a_key_column_are_drawn_anew_where_its_bin_changes():
    sample = records(SCHEMA, [(0, 0, 1, 0)] * 4 + [(0, 0, 4, 0)])
    sample = Sample(sample.states, {"age": np.array([20.0, 21, 22, 23, 90])})
    _, found, _ = moved(SCHEMA, sample, MinimumCount(("age",), 2))
    assert found.states[2].tolist() == [1] * 5
    assert np.isnan(found.values["age"]).tolist() == [False] * 4 + [True]


def test_more_than_may_change_is_refused_with_the_share_and_the_fix():
    asked = MinimumCount(KEYS, 5, F(1, 10))
    assert kept_count(asked, [(3, 0), (10, 1)], 100).changed == (3, 10)
    with pytest.raises(MethodError, match=r"would change 11 % .* at most 10 % .*checkpoint"):
        kept_count(asked, [(3, 0), (11, 0)], 100)


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        (5, "mapping"),
        ({"columns": ["job"]}, "columns and count"),
        ({"columns": "job", "count": 5}, "list of names"),
        ({"columns": ["job", "job"], "count": 5}, "twice"),
        ({"columns": ["job"], "count": 1}, "at least 2"),
        ({"columns": ["job"], "count": 5, "most_changed": 2}, "share from 0 to 1"),
        ({"columns": ["job"], "count": 5, "least": 2}, "no entry 'least'"),
    ],
)
def test_what_is_no_minimum_count_is_refused(stated, told):
    with pytest.raises(MethodError, match=told):
        MinimumCount.of(stated)
    with pytest.raises(MethodError, match=told):
        us.SynthesisOptions(minimum_count=stated)


OTHERS = us.Schema.loads(
    "row_limit = 100\n"
    + column("job", "categorical", levels=["a", "b"], source="law")
    + column("income", "continuous", lower=0, upper=100, bins=4, source="law")
    + column("age", "integer", lower=0, upper=99, source="law")
    + column("start", "integer", lower=0, upper=9, bins=2, source="law")
    + column("end", "integer", lower=0, upper=9, bins=2, source="law")
    + column("id", "identifier", source="law")
    + '[columns.old]\nkind = "boolean"\nderived = "age >= 60"\nsource = "law"\nreviewed = true\n'
    + '[[relations]]\ninequality = "start <= end"\nsource = "law"\nreviewed = true\n'
)


@pytest.mark.parametrize(
    ("columns", "count", "told"),
    [
        (["jop"], 5, "no column"),
        (["income"], 5, "declared bins of an integer"),
        (["age"], 5, "declared bins of an integer"),
        (["start"], 5, "inequality"),
        (["old"], 5, "follows from other columns; name age"),
        (["id"], 5, "identifier"),
        (["job"], 101, "more than the 100 rows"),
        (["job"], 51, "51 records in each of 2 combinations"),
    ],
)
def test_keys_and_counts_that_public_facts_rule_out_are_refused_by_the_plan(columns, count, told):
    asked = {"columns": columns, "count": count}
    with pytest.raises(MethodError, match=told):
        us.plan(OTHERS, epsilon=1, method="independent", minimum_count=asked)


def test_a_method_without_a_guarantee_is_refused():
    with pytest.raises(MethodError, match="with a guarantee"):
        us.plan(
            SCHEMA,
            epsilon=1,
            method="pegs-diverse",
            minimum_count={"columns": ["job"], "count": 5},
        )


def test_columns_that_follow_from_a_key_are_touched_too():
    kept = KeptCount(("age",), 5, "1/20", (0, 3), (0, 0))
    assert kept.touches(["old"], OTHERS)
    assert not kept.touches(["job"], OTHERS)
    assert KeptCount(("age",), 5, "1/20", (3,), (1,)).touches(["job"], OTHERS)
    assert not KeptCount(("age",), 5, "1/20", (0,), (0,)).touches(["age"], OTHERS)
    assert KeptCount.from_json(kept.to_json()) == kept
