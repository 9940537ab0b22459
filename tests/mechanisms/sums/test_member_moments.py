"""Second moments of members: what one household can change, and what plans assume of them."""

import itertools
from functools import cache

import numpy as np
import polars as pl
import pytest

from understudy.data.sources import open_rows
from understudy.data.table import Table
from understudy.features.scores import FeatureMap
from understudy.inference.member_slots import asked_members
from understudy.inference.second_moments import assumed_moments
from understudy.mechanisms.second_moments import ONE, SecondMoments, Sensitivity, stack_sums
from understudy.schema import Schema

SCHEMA = """
[unit]
table = "household"
[tables.household]
key = "hid"
empty = true
[tables.household.columns.region]
kind = "categorical"
levels = ["a", "b"]
reviewed = true
[tables.person]
of = "household"
key = "hid"
rows_per_unit = 2
order = ["-age", "sex"]
reviewed = true
[tables.person.columns.age]
kind = "integer"
lower = 0
upper = 2
reviewed = true
[tables.person.columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
"""
WIDE = Schema.loads(SCHEMA)
PUBLIC = Schema.loads('rows = "public"\nn_rows = 1\n' + SCHEMA)
MEMBERS = asked_members("age ~ sex + region", WIDE)
COLUMNS = MEMBERS.wide_columns(("region", "age", "sex"))
PERSONS = [*itertools.product((0, 2), ("f", "m")), (7, "m")]


def households():
    """Every household of up to two persons, and some with one more than there are slots; those of
    the other region have persons alike."""
    sizes = [itertools.combinations_with_replacement(PERSONS, k) for k in range(3)]
    more = [((0, "f"),) * 3, ((0, "f"), (2, "m"), (2, "m"))]
    yield from itertools.product("a", [*itertools.chain(*sizes), *more])
    yield from itertools.product("b", [(), *((one, one) for one in PERSONS)])


@cache
def wide_rows():
    """The wide record of each household."""
    every = [*households()]
    units = [(key, region) for key, (region, _) in enumerate(every)]
    own = [(key, *one) for key, (_, persons) in enumerate(every) for one in persons]
    both = {
        "household": pl.DataFrame(units, schema=["hid", "region"], orient="row"),
        "person": pl.DataFrame(own, schema=["hid", "age", "sex"], orient="row"),
    }
    return open_rows(both, WIDE).lazy.collect().select(WIDE.names)


def added_by(row, scores):
    """All that one household adds to the sums, in records."""
    return stack_sums(Table(row, WIDE).score_products(scores).expose(), scores) / ONE


@pytest.mark.parametrize("pure", [False, True], ids=["squares", "sizes"])
def test_one_household_changes_no_more_than_what_its_slots_can(pure):
    """Added with all its members, or in place of another; noise for one person is too small."""
    scores = FeatureMap.of(WIDE, COLUMNS, pure=pure)
    each = np.array([added_by(row, scores) for row in wide_rows().iter_slices(1)])
    added = Sensitivity.of(WIDE, scores)
    assert added.numbers == each.shape[1]
    sizes, squares = np.abs(each).sum(axis=1).max(), (each**2).sum(axis=1).max()
    largest, bound = (sizes, added.l1) if pure else (squares, added.squared_l2)
    assert 0.8 * float(bound) < largest <= float(bound) * 1.001
    gram = each @ each.T
    norms = np.diag(gram)
    apart = (norms[:, None] + norms - 2 * gram).max()
    replaced = Sensitivity.of(PUBLIC, scores)
    assert apart <= float(replaced.squared_l2) * 1.001
    assert max(np.abs(one - each).sum(axis=1).max() for one in each) <= float(replaced.l1) * 1.001
    person = FeatureMap.of(MEMBERS.schema, ("region", "age", "sex"), pure=pure)
    alone = Sensitivity.of(MEMBERS.schema, person)
    assert largest > 2 * float(alone.l1 if pure else alone.squared_l2)


@pytest.mark.parametrize("pure", [False, True])
def test_what_a_plan_assumes_of_stated_records_is_what_would_be_summed(pure):
    """Slots without a member count as that, in sums and in squares of numbers beside them."""
    rows = wide_rows().filter(pl.all_horizontal(pl.col("age_1", "age_2").cast(pl.String) != "7"))
    scores = FeatureMap.of(WIDE, COLUMNS, pure=pure)
    moments = assumed_moments(WIDE, rows, SecondMoments(COLUMNS), COLUMNS, 0.0, pure=pure)
    assert len(scores.coded)
    assert moments.numbers * scores.factors == pytest.approx(added_by(rows, scores), abs=0.02)
