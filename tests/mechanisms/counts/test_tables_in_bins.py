"""Tables in bins or groups of their own: what one record can change, and that each is there."""

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl

from one_cell_a_record import assert_one_cell_a_record
from schemas import column
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.mechanisms.tables import NoisyTables
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

SCHEMA = Schema.loads(
    column("age", "integer", lower=0, upper=99, bins=10, missing=[-1])
    + column("sex", "categorical", levels=["f", "m"])
)
BINS = {"age": (0, 63, 99)}
RECORDS = list(product([-1, 0, 62, 63, 99, 100], ["f", "m", "?"]))


def table(records):
    ages, sexes = zip(*records, strict=True)
    return Table(pl.DataFrame({"age": ages, "sex": sexes}), SCHEMA)


def exact(records):
    (counted,) = table(records).recode(SCHEMA.with_bins(BINS)).count([(0, 1)]).expose()
    return np.append(counted.inside.reshape(-1), counted.outside)


def test_one_record_changes_no_more_than_one_cell():
    assert_one_cell_a_record(exact, RECORDS)


def test_the_noisy_table_counts_in_its_bins_and_those_of_the_schema_stay():
    gate = open_gate(table(RECORDS), Budget.of(10**6), SeededRandomness(1))
    asked = NoisyTables([("age", "sex")], "geometric", bins=BINS)
    (own,) = gate.ask(asked, spend=Fraction(10**5))
    (other,) = gate.ask(NoisyTables([("age", "sex")], "geometric"), spend=Fraction(10**5))
    assert own.value.bins == BINS
    assert own.value.counts.tolist() == [[2, 2], [3, 3], [1, 1]]  # the code stands last
    assert own.value.outside == 6  # beyond the bound counts as the bound
    assert other.value.bins == {}
    assert other.value.counts.shape == (11, 2)
    assert [entry.cells for entry in gate.ledger] == [7, 23]


CODED = Schema.loads(
    column("job", "categorical", levels=list("abcdef"), missing=["-"])
    + column("sex", "categorical", levels=["f", "m"])
)
GROUPS = {"job": (0, 1, 0, 1, 1, 1, 2)}
CODED_RECORDS = list(product("abcdef-?", ["f", "m", "?"]))


def coded_table(records):
    jobs, sexes = zip(*records, strict=True)
    return Table(pl.DataFrame({"job": jobs, "sex": sexes}), CODED)


def exact_in_groups(records):
    grouped = coded_table(records).group(CODED.with_groups(GROUPS), GROUPS)
    (counted,) = grouped.count([(0, 1)]).expose()
    return np.append(counted.inside.reshape(-1), counted.outside)


def test_one_record_changes_no_more_than_one_cell_of_groups():
    assert_one_cell_a_record(exact_in_groups, CODED_RECORDS)


def test_the_noisy_table_counts_groups_and_levels_of_the_schema_stay():
    gate = open_gate(coded_table(CODED_RECORDS), Budget.of(10**6), SeededRandomness(1))
    asked = NoisyTables([("job", "sex")], "geometric", groups=GROUPS)
    (own,) = gate.ask(asked, spend=Fraction(10**5))
    (other,) = gate.ask(NoisyTables([("job", "sex")], "geometric"), spend=Fraction(10**5))
    assert own.value.groups == GROUPS
    assert own.value.counts.tolist() == [[2, 2], [4, 4], [1, 1]]
    assert own.value.outside == 10
    assert other.value.groups == {}
    assert [entry.cells for entry in gate.ledger] == [7, 15]
