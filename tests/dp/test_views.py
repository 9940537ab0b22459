"""Views in other bins: one ledger and one budget, other tables; and what paper mode concedes."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.perturbation import FLOATING
from understudy.dp.randomness import SecureRandomness
from understudy.errors import InsufficientBudgetError, MethodError
from understudy.mechanisms.tables import NoisyTables, RowCount
from understudy.release.measurement import Measurement
from understudy.workflow.gates import open_gate

SCHEMA = us.Schema.loads("""
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "codebook"
reviewed = true
[columns.pay]
kind = "continuous"
lower = 0
upper = 100
bins = 4
spikes = [0]
missing = [""]
source = "codebook"
reviewed = true
""")
FRAME = pl.DataFrame(
    {"sex": ["f", "m", "m", "f", "f"], "pay": [0.0, 10.0, 99.0, None, 50.0]},
)


def gate(epsilon=10_000):
    return open_gate(Table(FRAME, SCHEMA), Budget.of(epsilon), SecureRandomness())


def counted(door, spend=5_000):
    (table,) = door.ask(NoisyTables([("sex", "pay")], noise="geometric"), spend=Fraction(spend))
    return table.value


def test_a_view_counts_the_same_rows_in_other_bins():
    """At ε = 5,000 a count is off with probability below e^-5000."""
    value = counted(gate().rebin({"pay": 1}))
    assert value.counts.tolist() == [[1, 1, 1], [0, 2, 0]]
    assert dict(value.bins) == {"pay": 1}


def test_a_table_in_the_schemas_bins_says_nothing_of_bins():
    value = counted(gate())
    assert value.counts.tolist() == [[1, 0, 0, 1, 0, 1], [0, 1, 0, 0, 1, 0]]
    assert dict(value.bins) == {}


def test_views_share_ledger_budget_measurements_and_conditions():
    door = gate(2)
    view = door.rebin({"pay": 2})
    counted(view, 1)
    assert len(door.ledger) == len(door.measured) == 1
    assert door.remaining == view.remaining == 1
    with pytest.raises(InsufficientBudgetError):
        counted(door, Fraction(3, 2))
    published = NoisyTables([("pay",)], noise="geometric", mode="paper")
    view.ask(published, spend=Fraction(1, 2))
    promise = door.guarantee()
    assert promise.kind == "conditional"
    assert promise.leaks == (FLOATING,)
    assert f"Left in, unpaid: {FLOATING}" in promise.statement


def test_a_view_is_made_once_and_no_bins_are_no_view():
    door = gate()
    assert door.rebin({"pay": 2}) is door.rebin({"pay": 2})
    assert door.rebin({}) is door
    assert door.rebin({"pay": 2}).rebin({"pay": 3}).schema.columns["pay"].n_ordinary == 4


def test_the_number_of_rows_is_known_to_views_once_it_is_bought():
    door = gate()
    view = door.rebin({"pay": 2})
    with pytest.raises(MethodError, match="not measured yet"):
        _ = view.n_rows
    bought = door.ask(RowCount(), spend=Fraction(1))
    assert view.n_rows == bought
    object.__setattr__(view.n_rows, "value", 10**6)
    object.__setattr__(bought, "value", 10**6)
    assert door.n_rows.value != 10**6, "what was given out does not come back"


def test_a_measurement_in_other_bins_is_labelled_written_and_read_by_them():
    door = gate().rebin({"pay": (0.0, 20.0, 100.0)})
    counted(door)
    one = Measurement.from_released(door.measured[0], "table-1", SCHEMA)
    frame = one.frame(SCHEMA)
    labels = frame.get_column("pay").dtype.categories.to_list()
    assert labels == ["0", "[0, 20)", "[20, 100]", "(empty)"]
    again = Measurement.from_json(one.to_json(), frame, SCHEMA)
    assert again.to_json() == one.to_json()
    np.testing.assert_array_equal(again.codes, one.codes)
    np.testing.assert_array_equal(again.counts, one.counts)


def test_bins_that_are_the_schemas_own_are_not_named():
    door = gate().rebin({"pay": 4})
    counted(door)
    assert not Measurement.from_released(door.measured[0], "table-1", SCHEMA).bins
