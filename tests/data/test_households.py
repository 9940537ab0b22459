"""Units and their members as rows of the wide table, against a slow and obvious reading of them."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import understudy as us
from made_members import RULES, SCHEMA, tables
from understudy.data.coding import ColumnCoder
from understudy.data.households import widen_rows
from understudy.data.sources import count_links, linked_tables, open_rows
from understudy.errors import DataError
from understudy.schema import Schema
from understudy.schema.base import text_of
from understudy.schema.households import NO_MEMBER

FLAT = Schema.loads(SCHEMA)
OUTSIDE = "outside"


def coded(data, schema=FLAT):
    """The states of every row of the wide table, in any order; OUTSIDE for what fits no state."""
    rows = open_rows(data, schema).lazy.collect()
    columns = []
    for name, column in schema.columns.items():
        states = ColumnCoder(name, column).read(rows.get_column(name)).states
        columns.append([OUTSIDE if k == column.size else column.labels[k] for k in states])
    return Counter(zip(*columns, strict=True))


def label(column, value):
    """The label of a value in plain words: of the level, the code, or the bin that it lies in."""
    if value is None:
        return "(empty)" if "" in column.codes else OUTSIDE
    if value == NO_MEMBER or hasattr(column, "levels"):
        word = text_of(value)
        return word if word in column.labels else OUTSIDE
    clipped = min(max(value, column.lower), column.upper)
    return [one.label for one in column.intervals if one.low <= clipped][-1]


def slowly(units, members, schema=FLAT):
    """The wide table of units that are no larger than their slots, without ties, row by row."""
    form, found = schema.members, []
    groups = defaultdict(list)
    for row in members.to_dicts():
        groups[row[form.key]].append(row)
    rows_of = defaultdict(list)
    for row in units.to_dicts():
        rows_of[row[form.key]].append(row)
    role = schema.columns["role_1"].levels
    for key in {*groups, *rows_of}:
        own = sorted(groups[key], key=lambda row: (role.index(row["role"]), -row["age"]))
        unit = rows_of[key][0] if len(rows_of[key]) == 1 else None
        told = {"size": len(own)}
        for name in ("region", "income"):
            told[name] = "\ufffd" if unit is None else unit[name]
        for j in range(form.rows_per_unit):
            for name in form.columns:
                told[f"{name}_{j + 1}"] = own[j][name] if j < len(own) else NO_MEMBER
        found.append(
            tuple(
                OUTSIDE
                if told[name] == "\ufffd" or (name == "size" and not told[name])
                else label(column, told[name])
                for name, column in schema.columns.items()
            )
        )
    return Counter(found)


def small(n=60, seed=3):
    """Units of at most three members of unlike ages."""
    both = tables(n, seed=seed, most=3)
    twice = (
        both["person"]
        .group_by("hid", "role", "age")
        .len()
        .filter(pl.col("len") > 1)["hid"]
        .to_list()
    )
    return {name: one.filter(~pl.col("hid").is_in(twice)) for name, one in both.items()}


def test_the_wide_table_is_that_of_a_slow_reading():
    both = small()
    assert coded(both) == slowly(both["household"], both["person"])
    assert sum(coded(both).values()) == both["household"].height


def test_the_order_of_rows_says_nothing():
    both = small()
    expected = coded(both)
    for seed in range(3):
        mixed = {
            name: one.sample(fraction=1, shuffle=True, seed=seed) for name, one in both.items()
        }
        assert coded(mixed) == expected


def test_one_table_of_members_with_columns_of_units_is_the_same():
    both = small()
    one = both["person"].join(both["household"], on="hid")
    assert coded(one) == coded(both) == coded({"person": one})


def test_a_unit_whose_rows_differ_in_its_columns_is_out_of_domain_in_these_alone():
    one = pl.DataFrame(
        {
            "hid": [1, 1, 2],
            "region": ["north", "south", "north"],
            "income": [5.0, 5.0, None],
            "role": ["reference", "partner", "reference"],
            "age": [40, 41, 42],
            "work": [True, True, False],
        }
    )
    assert sorted(row[:3] for row in coded(one)) == [
        ("north", OUTSIDE, "1"),
        (OUTSIDE, "[0, 25)", "2"),
    ]


def test_orphans_and_units_without_members_are_counted_and_no_error():
    both = small()
    orphan = pl.DataFrame(
        {"hid": [-1], "role": ["child"], "age": [3], "work": [False]},
        schema=both["person"].schema,
    )
    lonely = pl.DataFrame(
        {"hid": [-2], "region": ["north"], "income": [1.0]}, schema=both["household"].schema
    )
    odd = {
        "person": pl.concat([both["person"], orphan]),
        "household": pl.concat([both["household"], lonely]),
    }
    assert coded(odd) == slowly(odd["household"], odd["person"])
    extra = coded(odd) - coded(both)
    assert sorted(row[:3] for row in extra) == [
        ("north", "[0, 25)", OUTSIDE),
        (OUTSIDE, OUTSIDE, "1"),
    ]
    links = count_links(odd, FLAT)
    assert (links.orphans, links.empty, links.repeated, links.keyless) == (1, 1, 0, 0)


def test_a_unit_that_stands_twice_has_no_columns_of_its_own():
    both = small()
    twice = {**both, "household": pl.concat([both["household"], both["household"][:1]])}
    assert coded(twice) == slowly(twice["household"], twice["person"])
    assert count_links(twice, FLAT).repeated == 1
    assert sum(row[0] == OUTSIDE for row in coded(twice)) == 1


@pytest.mark.parametrize("absent", [None, ""])
def test_a_member_without_a_key_is_a_unit_of_its_own(absent):
    people = pl.DataFrame(
        {
            "hid": [absent, "a", absent, "a"],
            "role": ["reference", "reference", "child", "child"],
            "age": [40, 41, 3, 4],
            "work": [True, True, False, False],
        }
    )
    homes = pl.DataFrame({"hid": ["a", absent], "region": ["north"] * 2, "income": [1.0] * 2})
    rows = open_rows({"person": people, "household": homes}, FLAT).lazy.collect()
    assert sorted(rows["size"].to_list(), key=str) == [1, 1, 2, None]
    alone = rows.filter(pl.col("size") == 1)
    assert sorted(alone["role_1"].to_list()) == ["child", "reference"]
    assert not ({*alone["region"]} & {"north", "south"})
    assert count_links({"person": people, "household": homes}, FLAT).keyless == 2


KEYS = {
    "whole": lambda keys: keys,
    "real": lambda keys: keys.cast(pl.Float64),
    "text": lambda keys: keys.cast(pl.String),
    "small": lambda keys: keys.cast(pl.Int16),
    "levels": lambda keys: keys.cast(pl.String).cast(pl.Categorical),
    "decimal": lambda keys: keys.cast(pl.Decimal(12, 0)),
}


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(KEYS, 2)])
@pytest.mark.nightly(every=2)
def test_keys_of_other_types_are_the_same_keys(one, other):
    both = small()
    mixed = {
        "person": both["person"].with_columns(KEYS[one](both["person"]["hid"])),
        "household": both["household"].with_columns(KEYS[other](both["household"]["hid"])),
    }
    assert coded(mixed) == coded(both)


def test_keys_that_are_no_numbers_are_told_apart_as_texts():
    people = pl.DataFrame(
        {
            "hid": ["1", "01", "1.0", " 1", "x"],
            "role": ["reference"] * 5,
            "age": [30, 31, 32, 33, 34],
            "work": [True] * 5,
        }
    )
    homes = pl.DataFrame({"hid": ["1"], "region": ["north"], "income": [1.0]})
    rows = coded({"person": people, "household": homes})
    assert rows.total() == 5
    assert sum(row[0] == "north" for row in rows) == 1


def test_types_of_one_row_never_change_how_others_are_read():
    both = small()
    names = ["role", "age", "work", "hid"]
    plain = both["person"].select(names).to_dicts()
    homes = both["household"].to_pandas()
    expected = coded({"person": pd.DataFrame(plain, dtype=object), "household": homes})
    for odd in ({"age": "x"}, {"age": 2.5}, {"age": None}, {"hid": "z"}, {"hid": 0.5}, {"work": 7}):
        changed = [{**plain[0], **odd}, *plain[1:]]
        found = coded({"person": pd.DataFrame(changed, dtype=object), "household": homes})
        # One member differs, and with it at most the units that it left and came to.
        assert (expected - found).total() <= 1, odd
        assert (found - expected).total() <= 2, odd


FRAMES = {
    "polars": lambda frame, folder, name: frame,
    "lazy": lambda frame, folder, name: frame.lazy(),
    "pandas": lambda frame, folder, name: frame.to_pandas(),
    "arrow": lambda frame, folder, name: frame.to_arrow(),
    "csv": lambda frame, folder, name: _file(frame.write_csv, folder / f"{name}.csv"),
    "parquet": lambda frame, folder, name: _file(frame.write_parquet, folder / f"{name}.parquet"),
    "jsonl": lambda frame, folder, name: _file(frame.write_ndjson, folder / f"{name}.jsonl"),
    "feather": lambda frame, folder, name: _file(frame.write_ipc, folder / f"{name}.feather"),
}


def _file(write, place):
    write(place)
    return place


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.nightly(every=2)
def test_tables_of_every_kind_are_read_alike(kind, tmp_path):
    both = small()
    given = {name: FRAMES[kind](frame, tmp_path, name) for name, frame in both.items()}
    if kind == "arrow":
        assert isinstance(given["person"], pa.Table)
    assert coded(given) == coded(both)
    one = both["person"].join(both["household"], on="hid")
    assert coded(FRAMES[kind](one, tmp_path, "one")) == coded(both)


def test_tables_may_be_of_unlike_kinds(tmp_path):
    both = small()
    both["household"].write_csv(tmp_path / "homes.csv")
    mixed = {"person": both["person"].to_pandas(), "household": str(tmp_path / "homes.csv")}
    assert coded(mixed) == coded(both)


def test_a_wide_table_is_taken_as_it_is():
    wide = open_rows(small(), FLAT).lazy.collect()
    assert linked_tables(wide, FLAT) == []
    assert coded(wide) == coded(small())


def one_unit(n, **columns):
    people = {
        "hid": [7] * n,
        "role": ["reference"] * n,
        "age": [*range(20, 20 + n)],
        "work": [True] * n,
        **columns,
    }
    homes = {"hid": [7], "region": ["north"], "income": [1.0]}
    return {"person": pl.DataFrame(people), "household": pl.DataFrame(homes)}


def widened(data, schema, seed):
    (_, people, own), (_, homes, form) = linked_tables(data, schema)
    rng = np.random.default_rng(seed)
    wide = widen_rows(schema, open_rows(people, own), open_rows(homes, form), rng)
    return wide.lazy.collect()


def test_of_a_larger_unit_every_choice_is_as_likely():
    """A chi-square test over the 20 choices of 3 of 6; false alarms: 1e-4."""
    people = one_unit(6)["person"].drop("hid")
    every = pl.concat([people.with_columns(hid=pl.lit(key)) for key in range(2000)])
    homes = pl.DataFrame({"hid": [*range(2000)], "region": "north", "income": 1.0})
    wide = widened({"person": every, "household": homes}, FLAT, 1)
    assert {*wide["size"]} == {4}
    drawn = Counter(zip(wide["age_1"], wide["age_2"], wide["age_3"], strict=True))
    assert len(drawn) == 20
    assert all(sorted(ages, reverse=True) == [*ages] for ages in drawn)  # -age orders them
    assert stats.chisquare([*drawn.values()]).pvalue > 1e-4


def test_a_cut_keeps_first_whom_it_names():
    roles = ["child", "child", "child", "partner", "child", "reference"]
    text = 'cut = { first = "role", levels = ["reference", "partner"] }\n'
    schema = Schema.loads(SCHEMA.replace("rows_per_unit = 3\n", "rows_per_unit = 3\n" + text))
    thirds = set()
    for seed in range(20):
        row = widened(one_unit(6, role=roles), schema, seed).row(0, named=True)
        assert (row["role_1"], row["role_2"], row["role_3"]) == ("reference", "partner", "child")
        thirds.add(row["age_3"])
    assert thirds == {"20", "21", "22", "24"}


def test_whom_a_rule_wants_in_every_unit_is_kept_by_a_cut_by_chance():
    schema = Schema.loads(SCHEMA + RULES)
    assert schema.members.cut.levels == ("reference",)
    roles = ["child"] * 5 + ["reference"]
    firsts = {
        widened(one_unit(6, role=roles), schema, seed).row(0, named=True)["role_1"]
        for seed in range(12)
    }
    assert firsts == {"reference"}
    assert Schema.loads(SCHEMA).members.cut is None


def test_ties_are_put_in_order_by_chance():
    """Two members alike in the order, in two slots; false alarms: 2^-19."""
    data = one_unit(2, age=[30, 30], work=[True, False])
    firsts = {widened(data, FLAT, seed).row(0, named=True)["work_1"] for seed in range(15)}
    assert firsts == {"true", "false"}
    firsts = {open_rows(data, FLAT).lazy.collect()["work_1"][0] for _ in range(20)}
    assert firsts == {"true", "false"}


def test_what_fits_no_state_comes_last_in_the_order():
    data = one_unit(3, role=["boss", "child", "reference"])
    row = widened(data, FLAT, 0).row(0, named=True)
    assert (row["role_1"], row["role_2"], row["role_3"]) == ("reference", "child", "boss")


def test_the_first_few_may_be_put_in_another_order():
    order = 'order = ["-age", { among = 2, by = ["role"] }]'
    schema = Schema.loads(SCHEMA.replace('order = ["role", "-age"]', order))
    data = one_unit(3, role=["reference", "partner", "child"])
    row = widened(data, schema, 0).row(0, named=True)
    # Oldest first: child 22, partner 21, reference 20; of the first two the partner leads.
    assert [row[f"age_{j}"] for j in (1, 2, 3)] == ["21", "22", "20"]


def test_one_unit_changes_one_row_of_the_wide_table():
    """Neighbours: a unit comes, goes or is replaced; with the same randomness one row differs."""
    both = small(20)
    before, people = coded(both), both["person"]
    for key in both["household"]["hid"].to_list()[:3]:
        without = {name: one.filter(pl.col("hid") != key) for name, one in both.items()}
        assert (before - coded(without)).total() == 1
        assert not coded(without) - before
        grown = coded({**both, "person": pl.concat([people, people.filter(hid=key)[:1]])})
        assert (before - grown).total() == (grown - before).total() == 1


FAULTS = {
    "an unknown table": (
        lambda t: {**t, "persons": t["person"]},
        r"a table 'persons', which the schema does not declare.*'household' and 'person'",
    ),
    "no members": (
        lambda t: {"household": t["household"]},
        r"The table 'person' is absent; give it too",
    ),
    "no key of members": (
        lambda t: {**t, "person": t["person"].drop("hid")},
        r"lacks the key 'hid', by which the schema groups its rows",
    ),
    "no key of units": (
        lambda t: {**t, "household": t["household"].drop("hid")},
        r"lacks the key 'hid', by which the schema groups its rows",
    ),
    "a column is absent": (lambda t: {**t, "person": t["person"].drop("age")}, r"'age'"),
    "units alone": (lambda t: t["household"], r"'role'"),
}


@pytest.mark.parametrize(("change", "match"), FAULTS.values(), ids=[*FAULTS])
def test_tables_that_are_not_those_of_the_schema_are_refused_before_anything_is_read(change, match):
    with pytest.raises(DataError, match=f"(?s){match}"):
        open_rows(change(small()), FLAT)


def test_no_rows_at_all_are_no_units():
    both = {name: one.clear() for name, one in small().items()}
    assert open_rows(both, FLAT).lazy.collect().shape == (0, len(FLAT.columns))


def test_a_check_tells_of_each_table_what_does_not_fit():
    both = small()
    assert us.check(both, FLAT).lines() == []
    odd = {
        "person": both["person"].with_columns(
            role=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("boss")).otherwise(pl.col("role"))
        ),
        "household": both["household"].with_columns(income=pl.col("income") - 200, more=1),
    }
    lines = us.check(odd, FLAT).lines()
    assert lines[0].startswith("Table 'person': column 'role' holds values that are not among")
    assert lines[1].startswith("Table 'household': column 'income' holds values below lower")
    assert lines[2] == (
        "Note: Table 'household': column 'more' is not in the schema and will not be released."
    )
    assert len(lines) == 3
    assert "boss" not in " ".join(lines)


def test_a_check_tells_what_does_not_fit_together():
    both = tables(60, seed=5)
    people, homes = both["person"], both["household"]
    odd = {
        "person": pl.concat([people, people[:1].with_columns(hid=pl.lit(-1, pl.Int64))]),
        "household": pl.concat(
            [homes, homes[:1], homes[:1].with_columns(hid=pl.lit(-2, pl.Int64))]
        ),
    }
    lines = us.check(odd, Schema.loads(SCHEMA)).lines(counts=True)
    told = " ".join(lines)
    assert "Table 'person': has rows whose key is not in the table 'household'" in told
    assert "Table 'household': has a key more than once" in told
    assert "Table 'household': has units without a row in 'person'" in told
    assert "Note: Table 'person': has units of more than 3 members, of whom 3 are used" in told
    one = people.join(homes, on="hid").with_columns(region=pl.col("work").cast(pl.String))
    assert any("differ in columns of the unit" in line for line in us.check(one, FLAT).lines())


def test_a_check_of_a_table_without_its_key_says_so():
    both = small()
    (line,) = us.check({**both, "household": both["household"].drop("hid")}, FLAT).lines()
    assert line == (
        "Table 'household': column 'hid' is missing; it is the key, by which rows of one unit are "
        "known."
    )
