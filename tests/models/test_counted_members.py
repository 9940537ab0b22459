"""Columns that count members: what zeros follow, and records that agree with their members."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from made_members import RULES, SCHEMA, tables
from understudy.data.sources import open_rows
from understudy.dp.released import NO_NOISE, Noise, NoisyTable
from understudy.errors import SchemaError
from understudy.models.counted_members import Counts, with_counts
from understudy.models.model import PosteriorPredictive, Sample
from understudy.release.load import require_relations
from understudy.release.shape import Fault
from understudy.schema import Schema

COUNTS = """
[tables.household.columns.children]
derived = "count(person where age < 16)"
source = "person sheet"
reviewed = true
[tables.household.columns.workers]
derived = "count(person where age >= 16 and work == 'true')"
source = "person sheet"
reviewed = true
"""
ROLE_FIRST, OLDEST = SCHEMA + COUNTS, (SCHEMA + COUNTS).replace('"role", "-age"', '"-age"')


def counted_in(two, condition):
    """The number of members of each unit for whom a condition is true, counted one by one."""
    own = two["person"].filter(condition).group_by("hid").len("counted")
    return two["household"].join(own, on="hid", how="left")["counted"].fill_null(0)


def test_a_count_is_a_measured_column_of_units():
    schema = Schema.loads(ROLE_FIRST)
    column = schema.columns["children"]
    assert (column.bounds, column.n_ordinary, column.derived) == ((0, 3), 4, None)
    assert [one.column for one in schema.members.counts] == ["children", "workers"]
    assert Schema.loads(schema.dumps()) == schema
    schema.require_reviewed()


@pytest.mark.parametrize("text", [ROLE_FIRST, OLDEST], ids=["by role", "oldest first"])
def test_units_are_read_with_their_counts(text):
    both = tables(300, seed=3, most=3)
    rows = open_rows(both, Schema.loads(text)).lazy.collect()
    for j, condition in (("children", "age"), ("workers", "work")):
        own = pl.col("age") < 16 if condition == "age" else (pl.col("age") >= 16) & pl.col("work")
        names = sorted(map(int, both["household"]["hid"].cast(pl.String).to_list()))
        slow = dict(zip(both["household"]["hid"].to_list(), counted_in(both, own), strict=True))
        in_order = [slow[name] for name in sorted(names, key=str)]
        assert rows[j].to_list() == in_order


def test_a_count_is_of_the_members_that_are_used_and_unknown_where_one_is():
    people = pl.DataFrame(
        {"hid": [1] * 5 + [2] * 2, "role": ["child"] * 7, "age": [3] * 5 + [3, None]}
    ).with_columns(work=pl.lit(value=False))
    homes = pl.DataFrame({"hid": [1, 2, 3], "region": ["north"] * 3, "income": [1.0] * 3})
    rows = open_rows({"household": homes, "person": people}, Schema.loads(ROLE_FIRST))
    assert rows.lazy.collect()["children"].to_list() == [3, None, 0]


def compositions(schema, columns):
    """Allowed combinations of the states of some columns."""
    mask = schema.table(columns).allowed_mask()
    return {tuple(map(int, place)) for place in np.argwhere(mask)}


@pytest.mark.parametrize("order", ['["-age"]', '["age"]', '["sex", "age"]'])
@pytest.mark.parametrize("empty", [False, True])
def test_zeros_allow_what_members_can_be_and_fix_slots_where_the_order_does(order, empty):
    """By enumeration: every unit of up to three members in canonical order is allowed. Where ages
    lead, nothing else is, of units with ages in that order."""
    schema = Schema.loads(f"""
[tables.h]
key = "k"
empty = {str(empty).lower()}
[tables.h.columns.young]
derived = "count(p where age < 2)"
reviewed = true
[tables.h.columns.one]
derived = "count(p where age == 1)"
reviewed = true
[tables.h.columns.old]
derived = "count(p where age > 2)"
reviewed = true
[tables.p]
of = "h"
key = "k"
rows_per_unit = 3
order = {order}
reviewed = true
[tables.p.columns.age]
kind = "integer"
lower = 0
upper = 3
reviewed = true
[tables.p.columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
""")
    down = order == '["-age"]'
    columns = ["size", "young", "one", "old", "age_1", "age_2", "age_3"]
    least = 0 if empty else 1
    true = set()
    for n in range(least, 4):
        for ages in itertools.product(range(4), repeat=n):
            if "sex" in order or list(ages) == sorted(ages, reverse=down):
                young, one, old = (sum(a in k for a in ages) for k in ((0, 1), (1,), (3,)))
                slots = (*ages, *[4] * (3 - n))
                true.add((n - least, young, one, old, *slots))
                if n == 3:
                    true.add((n - least + 1, young, one, old, *slots))
    found = compositions(schema, columns)
    assert true <= found
    lied = {
        cell
        for cell in found - true
        if list(ages := [a for a in cell[4:] if a < 4]) == sorted(ages, reverse=down)
        and cell[1] != sum(a < 2 for a in ages)
    }
    assert (not lied) == ("sex" not in order)


class Uneven:
    """A model whose counts hardly follow its members: independent columns."""

    def __init__(self, schema):
        self.schema = schema

    def sample(self, n, rng):
        states = self.schema.domain.draw(n, rng.random)
        return Sample(states, {"income": rng.random(n)})


@pytest.mark.parametrize("drawn_first", [False, True])
def test_records_agree_with_their_members_and_keep_the_joint_table_of_counts(drawn_first):
    schema = Schema.loads(ROLE_FIRST)
    model, counts = Uneven(schema), Counts.of(schema)
    plain = model.sample(6000, np.random.default_rng(1))
    assert counts.agree(plain.states).mean() < 0.5
    own = PosteriorPredictive(lambda _: model) if drawn_first else model
    tables_of = [("size", "children"), ("region", "workers"), ("age_2", "age_1")]
    measured = [table_of(plain, schema, columns) for columns in tables_of]
    drawn = with_counts(own, schema, measured).sample(6000, np.random.default_rng(1))
    assert counts.agree(drawn.states).all()
    assert not schema.domain.find_forbidden(drawn.states).any()
    tables = [margin.columns for margin in counts.margins(measured)]
    for columns in (*tables[:2], *((k,) for k in counts.places)):
        wanted = shares(counts.keys(plain.states, columns))
        close = np.abs(shares(counts.keys(drawn.states, columns)) - wanted).sum() / 2
        again = shares(counts.keys(counts.count(plain).states, columns))
        assert close < 0.1
        assert close < 0.5 * np.abs(again - wanted).sum() / 2


def shares(keys):
    """Shares of the cells of a table."""
    return np.bincount(keys, minlength=100) / len(keys)


def table_of(sample, schema, columns, stddev=0.0, seed=0):
    """The table of records with noise in each cell."""
    sizes = [schema.columns[name].size for name in columns]
    places = [sample.states[schema.names.index(name)] for name in columns]
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(places), 1)
    if not stddev:
        return NoisyTable(columns, counts, 0.0, NO_NOISE)
    counts += np.random.default_rng(seed).normal(0, stddev, sizes)
    return NoisyTable(columns, counts, 0.0, Noise("gaussian", str(stddev**2), stddev))


class Follows:
    """A model whose members are right, and whose two counts follow a noisy table and exact ones."""

    def __init__(self, model, schema, table, true):
        self.model, self.at = model, [schema.names.index(name) for name in table.columns]
        shares = np.maximum(table.counts, 1e-9)
        for axis in [0, 1] * 20:
            shares *= true.sum(axis, keepdims=True) / shares.sum(axis, keepdims=True)
        shares = shares.ravel()
        self.shares, self.sizes = shares / shares.sum(), table.counts.shape

    def sample(self, n, rng):
        drawn = self.model.sample(n, rng)
        cells = rng.choice(len(self.shares), n, p=self.shares)
        states = list(drawn.states)
        for k, own in zip(self.at, np.unravel_index(cells, self.sizes), strict=True):
            states[k] = own
        return Sample(states, drawn.values)


def test_a_noisy_table_of_counts_does_no_harm_and_an_exact_one_is_kept():
    schema, columns, n = Schema.loads(ROLE_FIRST), ("children", "workers"), 1500
    counts, plain = Counts.of(schema), Uneven(schema)
    members = counts.count(plain.sample(n, np.random.default_rng(1)))
    at = [schema.names.index(name) for name in columns]
    total = table_of(members, schema, ("region",))
    true = table_of(members, schema, columns).counts

    def lacking(stddev, told, seed):
        """What records lack of the true table, where its noise is told so."""
        table = table_of(members, schema, columns, stddev, seed)
        stated = Noise("gaussian", str(told**2), told) if told else NO_NOISE
        model = with_counts(
            Follows(plain, schema, table, true), schema, [total, replace(table, noise=stated)]
        )
        drawn = model.sample(n, np.random.default_rng(seed))
        assert len(drawn.states[0]) == n
        assert counts.agree(drawn.states).all()
        assert not schema.domain.find_forbidden(drawn.states).any()
        one, two = (shares(counts.keys(x.states, at)) for x in (drawn, members))
        return np.abs(one - two).sum() / 2

    assert lacking(0.0, 0.0, 1) < 0.04
    before, after = (np.mean([lacking(500.0, told, k) for k in (1, 2, 3)]) for told in (0.0, 500.0))
    assert before > 0.2  # its noise taken for exact
    assert after < 0.5 * before


def test_a_share_is_that_of_the_least_expected_error():
    """Of many tables with noise, the mean share is the best one, by its errors at each share."""
    schema, columns, n = Schema.loads(ROLE_FIRST), ("children", "workers"), 6000
    counts = Counts.of(schema)
    members = counts.count(Uneven(schema).sample(n, np.random.default_rng(1)))
    own = table_of(members, schema, columns).counts
    true = own + np.random.default_rng(2).normal(0, 40, own.shape)
    true += (own.sum() - true.sum()) / own.size
    at = tuple(schema.names.index(name) for name in columns)
    grid, errors, told = np.linspace(0, 1, 101), np.zeros(101), []
    noises = np.random.default_rng(3).normal(0, 40, (400, *own.shape))
    for noise in noises - noises.mean(axis=(1, 2), keepdims=True):
        table = NoisyTable(columns, true + noise, 0.0, Noise("gaussian", "1600", 40.0))
        (margin,) = counts.margins([table])
        assert margin.columns == at
        told.append(margin.share(members.states, np.ones(n), float(n)))
        errors += [((own + b * (true + noise - own) - true) ** 2).sum() for b in grid]
    assert np.mean(told) == pytest.approx(grid[errors.argmin()], abs=0.08)


def test_few_records_and_none_are_drawn():
    schema = Schema.loads(ROLE_FIRST)
    model = with_counts(Uneven(schema), schema)
    for n in (0, 1, 5):
        drawn = model.sample(n, np.random.default_rng(n))
        assert len(drawn.states[0]) == len(drawn.values["income"]) == n
        assert Counts.of(schema).agree(drawn.states).all()


def test_a_schema_without_counts_has_the_model_itself():
    schema = Schema.loads(SCHEMA)
    model = Uneven(schema)
    assert with_counts(model, schema) is model


@pytest.fixture(scope="module")
def release():
    run = us.RunOptions(insecure_noise_seed=3, seed=4)
    schema = Schema.loads(ROLE_FIRST + RULES)
    return us.synthesize(
        tables(600, seed=5, most=3), schema, epsilon=4, delta=1e-6, method="mst", run=run
    )


def test_released_counts_are_those_of_the_released_members(release):
    (two,) = release.linked_sets
    grown = (pl.col("age") >= 16) & pl.col("work")
    for name, condition in (("children", pl.col("age") < 16), ("workers", grown)):
        assert (two["household"][name] == counted_in(two, condition)).all()
    assert two["household"]["children"].max() > 0


def test_a_question_about_a_count_is_one_about_units(release):
    found = us.analyze(release, "proportion", "children").to_frame()
    slow = counted_in(tables(600, seed=5, most=3), pl.col("age") < 16)
    shares = [(slow == k).mean() for k in range(4)]
    assert ((found["lower"] <= shares) & (shares <= found["upper"])).all()


def test_more_records_agree_too(release):
    drawn = us.sample(release, 300, where={"children": 1}, seed=1)
    ages = [drawn[f"age_{j}"].cast(pl.Float64, strict=False).fill_null(99) for j in (1, 2, 3)]
    assert (sum((age < 16).cast(pl.Int64) for age in ages) == 1).all()


def test_an_altered_count_is_refused(release):
    wide = release.tables[0]
    require_relations(wide, release.schema)
    wrong = wide.with_columns(children=(pl.col("children") + 1) % 4)
    with pytest.raises(Fault, match=r"children.* does not count the members that there are"):
        require_relations(wrong, release.schema)


FAULTS = {
    "another table": ("count(persons where age < 16)", "counts 'persons', and the members are"),
    "no condition": ("count(person)", r"cannot be read; write derived = \"count"),
    "or": ("count(person where age < 3 or age > 60)", "joined by another word than `and`"),
    "unknown": ("count(person where agee < 16)", "names 'agee', which is no column of the members"),
    "a cut bin": ("count(person where age < 18)", r"cuts the bin .* of 'age' in two"),
    "a text": ("count(person where age == 'x')", "compares the numbers of 'age' with the text"),
    "an order of levels": ("count(person where role < 3)", "which has no numbers"),
    "an unknown level": ("count(person where role == 'kid')", "which is no level of 'role'"),
    "nobody": ("count(person where age > 200)", "leaves no number of 'age' within its bounds"),
    "contradiction": (
        "count(person where age < 16 and age >= 30)",
        "leaves no number of 'age' over",
    ),
    "two columns": ("count(person where age < income)", "compares something else than a column"),
}


@pytest.mark.parametrize(("rule", "match"), FAULTS.values(), ids=[*FAULTS])
def test_a_condition_that_cannot_be_counted_is_refused_in_words(rule, match):
    text = ROLE_FIRST.replace("count(person where age < 16)", rule, 1)
    with pytest.raises(SchemaError, match=f"(?s)column 'children'.*{match}"):
        Schema.loads(text)


def test_other_bounds_are_refused():
    text = ROLE_FIRST.replace(
        "[tables.household.columns.children]\n", "[tables.household.columns.children]\nupper = 9\n"
    )
    with pytest.raises(SchemaError, match=r"column 'children', upper: .*leave upper out"):
        Schema.loads(text)
