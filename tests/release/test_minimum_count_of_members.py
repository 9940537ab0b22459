"""Members of rare key combinations move to near frequent ones, and all rules of units hold."""

from collections import Counter

import numpy as np
import pytest

import understudy as us
from made_members import RULES, SCHEMA
from understudy.errors import MethodError
from understudy.models.counted_members import Counts
from understudy.models.model import Sample
from understudy.release.minimum_count import KeptCount, KeyMoves, MinimumCount
from understudy.schema.households import NO_MEMBER

COUNT = """
[tables.household.columns.children]
derived = "count(person where age < 16)"
source = "sheets"
reviewed = true
"""
PERSON = "\n[tables.person]\n"
TEXT = (SCHEMA + RULES).replace(PERSON, COUNT + PERSON, 1)
OWN = RULES.partition("[[tables.person.rules]]")[0]
EMPTY = (SCHEMA + OWN).replace(PERSON, COUNT + PERSON, 1)
EMPTY = EMPTY.replace('key = "hid"\n', 'key = "hid"\nempty = true\n', 1)
KEYS = ("role", "age")


def drawn(schema, n, seed):
    """Units that rules allow, and whose counts agree with their members."""
    rng = np.random.default_rng(seed)
    found = [np.array(one, dtype=np.int64) for one in schema.domain.draw(40 * n, rng.random)]
    counts = Counts.of(schema)
    fits = counts.agree(found) & ~schema.domain.find_forbidden(found)
    rows = np.flatnonzero(fits)[:n]
    assert len(rows)
    return Sample([one[rows] for one in found], {})


def members(schema, sample, keys=KEYS):
    """The keys of each member by what a reader sees, slowly: unit by unit."""
    at = {name: k for k, name in enumerate(schema.names)}
    units = []
    for i in range(len(sample.states[0])):
        own = []
        for j in range(1, 4):
            labels = []
            for name in keys:
                column = schema.columns[f"{name}_{j}"]
                labels.append(column.labels[int(sample.states[at[f"{name}_{j}"]][i])])
            if NO_MEMBER not in labels:
                own.append(tuple(labels))
        units.append(own)
    return units


@pytest.mark.parametrize("text", [TEXT, EMPTY], ids=["filled", "some empty"])
@pytest.mark.parametrize("count", [2, 5, 25])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.nightly(every=3)
def test_members_have_frequent_combinations_and_units_keep_their_rules(text, count, seed):
    schema = us.Schema.loads(text)
    sample = drawn(schema, 120, seed)
    sample.values["age_1"] = np.full(len(sample.states[0]), 40.0)
    before = [one.copy() for one in sample.states]
    asked = MinimumCount(KEYS, count)
    moves = KeyMoves.of(asked, schema, [sample])
    found, changed, copies = moves.keep(asked, schema, sample, np.random.default_rng(seed))
    assert all(map(np.array_equal, before, sample.states))
    old, new = members(schema, sample), members(schema, found)
    occurs = Counter(key for unit in new for key in unit)
    assert min(occurs.values()) >= count
    was = Counter(key for unit in old for key in unit)
    assert set(occurs) <= {key for key, n in was.items() if n >= count}
    assert not schema.domain.find_forbidden(found.states).any()
    assert Counts.of(schema).agree(found.states).all()
    others = [k for k, name in enumerate(schema.names) if name.rpartition("_")[0] not in KEYS]
    counted = {schema.names.index("children")}
    same = [
        all(sample.states[k][i] == found.states[k][i] for k in {*others} - counted)
        for i in range(len(old))
    ]
    assert same.count(False) <= copies <= changed
    assert sum(one != other for one, other in zip(old, new, strict=True)) <= changed
    assert moves.changed <= changed
    rare = [any(was[key] < count for key in unit) for unit in old]
    assert moves.changed == sum(rare)
    kept = [one == other for one, other in zip(old, new, strict=True)]
    if not copies:
        assert all(k or r for k, r in zip(kept, rare, strict=True))
    age = schema.names.index("age_1")
    moved = (found.states[age] != sample.states[age]) & (found.values["age_1"] != 40)
    assert np.isnan(found.values["age_1"][moved]).all()


def test_keys_of_units_are_counted_over_units():
    schema = us.Schema.loads(TEXT)
    sample = drawn(schema, 60, 2)
    at = schema.names.index("region")
    sample.states[at][:] = 0
    sample.states[at][:3] = 1
    asked = MinimumCount(("region",), 4)
    moves = KeyMoves.of(asked, schema, [sample])
    found, changed, copies = moves.keep(asked, schema, sample, np.random.default_rng(0))
    assert (changed, copies) == (3, 0)
    assert not found.states[at].any()
    unmoved = [k for k in range(len(schema.names)) if k != at]
    assert all(np.array_equal(found.states[k], sample.states[k]) for k in unmoved)


def test_the_number_of_members_stays_that_of_the_members():
    schema = us.Schema.loads(TEXT)
    sample = drawn(schema, 200, 3)
    asked = MinimumCount(("region", "size"), 40)
    moves = KeyMoves.of(asked, schema, [sample])
    found, _, copies = moves.keep(asked, schema, sample, np.random.default_rng(0))
    size, region = (found.states[schema.names.index(name)] for name in ("size", "region"))
    assert min(Counter(zip(size.tolist(), region.tolist(), strict=True)).values()) >= 40
    assert copies
    assert not schema.domain.find_forbidden(found.states).any()
    filled = [len(unit) for unit in members(schema, found)]
    assert [min(int(one) + 1, 3) for one in size] == filled


def test_copies_that_make_others_rare_are_counted_again():
    schema = us.Schema.loads(TEXT)
    names = schema.names
    first = drawn(schema, 400, 5)
    units = members(schema, first)
    pair = next(i for i, unit in enumerate(units) if len(unit) == 2)
    rows = np.array([pair] * 3 + [i for i, unit in enumerate(units) if len(unit) == 1][:20])
    sample = Sample([one[rows] for one in first.states], {})
    assert "size" in names
    for count in range(2, 8):
        asked = MinimumCount(("role", "age", "work"), count, 1)
        moves = KeyMoves.of(asked, schema, [sample])
        if not len(moves.frequent):
            continue
        found, _, _ = moves.keep(asked, schema, sample, np.random.default_rng(0))
        keys = [key for unit in members(schema, found, asked.columns) for key in unit]
        assert min(Counter(keys).values()) >= count
        assert not schema.domain.find_forbidden(found.states).any()


def test_a_set_without_members_has_nothing_to_keep():
    schema = us.Schema.loads(EMPTY)
    column = [schema.columns[name] for name in schema.names]
    empty = [one.labels.index(NO_MEMBER) if NO_MEMBER in one.labels else 0 for one in column]
    nobody = Sample([np.full(40, state) for state in empty], {})
    assert not schema.domain.find_forbidden(nobody.states).any()
    asked = MinimumCount(KEYS, 50)
    moves = KeyMoves.of(asked, schema, [nobody])
    assert moves.keep(asked, schema, nobody, np.random.default_rng(0))[1:] == (0, 0)


def test_where_all_combinations_are_rare_nothing_is_published():
    schema = us.Schema.loads(TEXT)
    sample = drawn(schema, 30, 1)
    for columns in (KEYS, ("region",)):
        asked = MinimumCount(columns, 1000, 1)
        moves = KeyMoves.of(asked, schema, [sample])
        with pytest.raises(MethodError, match=r"No combination .* paid is kept in the checkpoint"):
            moves.keep(asked, schema, sample, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["region", "role"], "'region' of 'household' and 'role' of 'person'"),
        (["children"], "counts members and follows from them"),
        (["age_1"], "no column"),
        (["rolle"], "did you mean 'role'"),
        (["income"], "declared bins of an integer"),
        (["hid"], "identifier"),
    ],
)
def test_keys_of_no_table_or_of_two_are_refused_by_the_plan(columns, told):
    schema = us.Schema.loads(TEXT)
    asked = {"columns": columns, "count": 5}
    with pytest.raises(MethodError, match=told):
        us.plan(schema, epsilon=1, method="independent", minimum_count=asked)


def test_a_count_that_all_slots_together_cannot_give_is_refused():
    schema = us.Schema.loads("row_limit = 100\n" + TEXT)
    asked = {"columns": ["work"], "count": 100}
    us.plan(schema, epsilon=1, method="independent", minimum_count=asked)  # 3 of 300 in 3 slots
    with pytest.raises(MethodError, match="101 records in each of 3 combinations of work"):
        us.plan(schema, epsilon=1, method="independent", minimum_count={**asked, "count": 101})


def test_columns_of_every_slot_and_counts_by_a_key_are_touched():
    schema = us.Schema.loads(TEXT)
    kept = KeptCount(("age",), 5, "1/20", (3,), (0,), "person")
    assert all(kept.touches([name], schema) for name in ("age", "age_2", "children"))
    assert not any(kept.touches([name], schema) for name in ("region", "role_1", "size"))
    assert not KeptCount(("region",), 5, "1/20", (3,), (0,)).touches(["children"], schema)
    assert KeptCount.from_json(kept.to_json()) == kept
    assert "table" not in KeptCount(("age",), 5, "1/20", (3,), (0,)).to_json()
    assert "5 times among the rows of person" in kept.told
