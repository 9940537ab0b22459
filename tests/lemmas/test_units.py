"""A unit with all its members is one row of the wide table: `data.households`, by enumeration.

Chance is coupled: every member of every unit has numbers of its own, whatever stands beside it in
the file. For such fixed randomness the wide table of several units holds, unit by unit, what each
unit alone gives. So one unit more is one row more, and a replaced unit is a replaced row. Rows of a
file stand in any order, under any keys. Every household over a tiny domain is added, removed and
put in the place of every other one.
"""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

from understudy import Schema
from understudy.data import households, sources
from understudy.data.households import widen_rows
from understudy.data.sources import open_rows
from understudy.schema.households import NO_MEMBER

CELLS = (("child", 3), ("adult", 3), ("adult", 8))
MORE = 1
"""Members beyond the slots, so that the cut chooses."""
OLDEST = "oldest first, cut by chance"
ORDERS = {
    OLDEST: ('order = ["-age"]', 'cut = "random"'),
    "by role, adults kept": (
        'order = ["role", "age"]',
        'cut = { first = "role", levels = ["adult"] }',
    ),
    "two by role, all else by chance": (
        'order = ["-age", { among = 2, by = ["role"] }]',
        'cut = "random"',
    ),
}
TOLD = 'source = "made"\nreviewed = true'


def schema_of(slots, how):
    """Two columns of members, one of units."""
    return Schema.loads(schema_text(slots, how))


def schema_text(slots, how):
    """The same as text."""
    order, cut = ORDERS[how]
    return f"""
[unit]
table = "home"
[tables.home]
key = "id"
[tables.home.columns.place]
kind = "categorical"
levels = ["x", "y"]
{TOLD}
[tables.person]
of = "home"
key = "id"
rows_per_unit = {slots}
{order}
{cut}
{TOLD}
[tables.person.columns.role]
kind = "ordinal"
levels = ["child", "adult"]
{TOLD}
[tables.person.columns.age]
kind = "integer"
lower = 0
upper = 9
bins = 10
{TOLD}
"""


def every_household(slots):
    """A place, or none where the unit is not in its table; and members, none to too many."""
    for place, n in product(("x", "y", None), range(slots + MORE + 1)):
        for members in combinations_with_replacement(CELLS, n):
            if members or place:
                yield place, members


class Coupled:
    """Chance by member: the same numbers for a member of a unit in whatever file it stands.

    Args:
        members: unit and place in it of each row of the file.
        seed: of all numbers.
    """

    def __init__(self, members, seed):
        self._members, self._seed, self._calls = members, seed, 0

    def bytes(self, n):
        self._calls += 1
        assert n == 8 * len(self._members)
        return b"".join(own_number(self._seed, self._calls, *member) for member in self._members)


@cache
def own_number(*key):
    """Eight bytes of a member."""
    return np.random.default_rng(key).bytes(8)


def wide(schema, units, *, seed, file=None):
    """Rows of the wide table, as a multiset.

    Args:
        schema: of it.
        units: number of each unit → the unit.
        seed: of coupled chance.
        file: seed of keys and of the order of rows in the file; in order if None.
    """
    rng = np.random.default_rng(file)
    names = dict(zip(units, rng.permutation(100) if file else range(100), strict=False))
    rows = [(u, k, *cell) for u, (_, own) in units.items() for k, cell in enumerate(own)]
    homes = [(u, place) for u, (place, _) in units.items() if place]
    if file:
        rows, homes = ([some[i] for i in rng.permutation(len(some))] for some in (rows, homes))
    people = pl.DataFrame(
        {
            "id": [f"k{names[u]}" for u, *_ in rows],
            "role": [role for *_, role, _ in rows],
            "age": [age for *_, age in rows],
        },
        schema={"id": pl.String, "role": pl.String, "age": pl.Int64},
    )
    table = pl.DataFrame(
        {"id": [f"k{names[u]}" for u, _ in homes], "place": [place for _, place in homes]},
        schema={"id": pl.String, "place": pl.String},
    )
    chance = Coupled([(u, k) for u, k, *_ in rows], seed)
    found = widen_rows(schema, open_rows(people), open_rows(table), chance)
    return Counter(found.lazy.collect().rows())


BESIDE = {7: ("y", (CELLS[2], CELLS[1], CELLS[0], CELLS[0], CELLS[1], CELLS[2])), 8: ("x", ())}
"""Units that stand in every table; one of them is cut, and one has nobody."""


@pytest.mark.parametrize(
    ("slots", "how"),
    [
        case
        if case in zip((2, 2, 3), ORDERS, strict=True)
        else pytest.param(*case, marks=pytest.mark.nightly)
        for case in product((2, 3, 4), ORDERS)
    ],
)
def test_neighbouring_tables_differ_in_one_row(slots, how):
    schema = schema_of(slots, how)
    alone = wide(schema, BESIDE, seed=slots)
    added = set()
    for k, one in enumerate(every_household(slots)):
        table = wide(schema, {**BESIDE, 1: one}, seed=slots, file=k + 1)
        assert not alone - table
        (row,) = (table - alone).elements()  # so that of two such tables one row differs
        added.add(row)
    assert len(added) > len(CELLS)


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("how", ORDERS)
def test_chance_of_a_unit_is_its_own(how):
    """The rows of a table are those which its units give one by one: the cut too."""
    schema = schema_of(2, how)
    some = dict(enumerate(every_household(2)))
    assert wide(schema, some, seed=1, file=1) == sum(
        (wide(schema, {number: one}, seed=1) for number, one in some.items()), Counter()
    )


@pytest.mark.parametrize("seed", range(3))
def test_neither_keys_nor_the_file_say_anything(seed):
    schema = schema_of(2, "two by role, all else by chance")
    some = dict(enumerate(every_household(2)))
    tables = [wide(schema, some, seed=seed, file=file) for file in (None, 1, 2)]
    assert tables[0] == tables[1] == tables[2]


def test_two_cuts_differ():
    """Another run keeps others; so the tests above would notice a cut that chance does not move."""
    schema = schema_of(2, OLDEST)
    assert len({tuple(sorted(wide(schema, BESIDE, seed=seed))) for seed in range(20)}) > 1


def test_all_measurements_see_one_cut():
    """It is drawn once, by secure randomness, and rows are read as often as is needed."""
    ages = [age for age in range(9) for _ in range(100)]
    people = pl.DataFrame({"id": [*range(100)] * 9, "role": ["adult"] * 900, "age": ages})
    homes = pl.DataFrame({"id": [*range(100)], "place": ["x"] * 100})
    rows = sources.open_rows({"home": homes, "person": people}, schema_of(2, OLDEST))
    assert rows.lazy.collect().equals(rows.lazy.collect())


def persons_schema():
    """The same two tables, with members protected by themselves."""
    text = schema_text(2, OLDEST).replace('table = "home"', 'table = "person"', 1)
    return Schema.loads(text)


@cache
def persons(unit):
    """Records of members by themselves, of a unit and two others, as a multiset."""
    units = {**BESIDE, 1: unit}
    rows = [(u, *cell) for u, (_, own) in units.items() for cell in own]
    people = pl.DataFrame(rows, {"id": pl.Int64, "role": pl.String, "age": pl.Int64}, orient="row")
    homes = pl.DataFrame(
        [(u, place) for u, (place, _) in units.items() if place],
        {"id": pl.Int64, "place": pl.String},
        orient="row",
    )
    found = open_rows({"home": homes, "person": people}, persons_schema())
    return Counter(found.lazy.collect().rows())


def every_neighbour(unit):
    """The unit with one member more, one less, or one changed."""
    place, own = unit
    for k, cell in product(range(len(own)), (None, *CELLS)):
        yield place, (*own[:k], *((cell,) if cell else ()), *own[k + 1 :])
    yield from ((place, (*own, cell)) for cell in CELLS)


@pytest.mark.parametrize("most", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_a_member_by_itself_is_one_record_without_a_cut(most):
    for unit in every_household(most):
        alone = persons(unit)
        for place, other in every_neighbour(unit):
            changed = persons((place, tuple(sorted(other))))
            less, more = alone - changed, changed - alone
            assert max(less.total(), more.total()) <= 1


def pooled(schema, unit, *, seed):
    """Members that a cut leaves of a unit, as a multiset."""
    (row,) = wide(schema, {1: unit}, seed=seed)
    cells = [tuple(row[k : k + 2]) for k in range(2, len(row), 2)]
    return Counter(cell for cell in cells if NO_MEMBER not in cell)


@pytest.mark.parametrize("slots", [2, pytest.param(3, marks=pytest.mark.nightly)])
def test_a_cut_would_double_what_a_member_changes(slots):
    """Why there is none: of more than `slots` members, who comes may push another one out."""
    schema, most = schema_of(slots, OLDEST), 0
    full = [u for u in every_household(slots - 1) if u[0] == "x" and len(u[1]) == slots][:2]
    for unit, seed in product(full, range(4)):
        for cell in CELLS:
            one = pooled(schema, unit, seed=seed)
            other = pooled(schema, (unit[0], (*unit[1], cell)), seed=seed)
            most = max(most, (one - other).total() + (other - one).total())
    assert most == 2


# --- faults that the tests above must notice ---


def count_members(monkeypatch):
    """Every member is a unit of its own."""
    found = households._Units.of.__func__

    def alone(cls, members, rows=None):
        return found(cls, pl.Series([f"{k}" for k in range(len(members))], dtype=pl.String), rows)

    monkeypatch.setattr(households._Units, "of", classmethod(alone))


def order_ties_by_file(monkeypatch):
    """Who stands first in the file comes first among equals, and is kept."""
    places = staticmethod(lambda n, rng: np.arange(n, dtype=np.uint64))
    monkeypatch.setattr(households, "_by_chance", places)


def tell_the_place_of_a_key(monkeypatch):
    """The wide table has the number of the unit among all."""
    found = households._columns_of_units

    def numbered(homes, names, units):
        numbers = pl.Series("number", range(units.number), dtype=pl.String, strict=False)
        return [*found(homes, names, units), numbers]

    monkeypatch.setattr(households, "_columns_of_units", numbered)


def cut_by_all_rows(monkeypatch):
    """Chance is drawn anew by the number of rows, so that a unit moves the cut of all others."""
    monkeypatch.setattr(
        households,
        "_by_chance",
        lambda n, rng: np.random.default_rng(n).integers(0, 2**63, n).astype(np.uint64),
    )


def tell_the_size(monkeypatch):
    """Beside every member stands how many there are in its unit."""
    joined = sources.join_rows

    def sized(schema, members, units):
        found = joined(schema, members, units)
        keys = members.lazy.collect()["id"]
        size = pl.DataFrame({"id": keys}).select(pl.len().over("id").alias("size"))
        return replace(found, lazy=found.lazy.collect().hstack(size).lazy())

    monkeypatch.setattr(sources, "join_rows", sized)


def cut_anew(monkeypatch):
    """Every measurement draws another cut."""
    drawn_once = households.widen_rows

    class DrawnAnew:
        def __init__(self, *given):
            self._given = given

        @property
        def lazy(self):
            return drawn_once(*self._given).lazy

    monkeypatch.setattr(sources, "widen_rows", DrawnAnew)


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (count_members, lambda: test_neighbouring_tables_differ_in_one_row(2, OLDEST)),
        (order_ties_by_file, lambda: test_neither_keys_nor_the_file_say_anything(0)),
        (
            tell_the_place_of_a_key,
            lambda: test_neighbouring_tables_differ_in_one_row(2, OLDEST),
        ),
        (tell_the_place_of_a_key, lambda: test_neither_keys_nor_the_file_say_anything(0)),
        (cut_by_all_rows, lambda: test_neighbouring_tables_differ_in_one_row(2, OLDEST)),
        (cut_anew, test_all_measurements_see_one_cut),
        (cut_by_all_rows, lambda: test_chance_of_a_unit_is_its_own(OLDEST)),
        (tell_the_size, lambda: test_a_member_by_itself_is_one_record_without_a_cut(2)),
    ],
)
def test_a_fault_is_noticed(fault, test, monkeypatch):
    persons.cache_clear()
    fault(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):  # ValueError: not one row more
        test()
    persons.cache_clear()
