"""The same table in other bins: spikes and codes stay, rules that would cut a bin go."""

import datetime

import pytest

from understudy.errors import SchemaError
from understudy.schema import Schema

SCHEMA = Schema.loads("""
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
[columns.pay]
kind = "continuous"
lower = 0
upper = 100
bins = 4
spikes = [0]
missing = [""]
[columns.age]
kind = "integer"
lower = 0
upper = 9
[columns.day]
kind = "date"
lower = 2020-01-01
upper = 2020-12-31
[[forbidden]]
where = { sex = "f", pay = { lower = 50, upper = 100 } }
[[forbidden]]
where = { sex = "m", age = 3 }
[[forbidden]]
where = { sex = "m", pay = 0 }
""")


def test_one_bin_keeps_spikes_and_codes_apart():
    binned = SCHEMA.with_bins({"pay": 1})
    assert binned.columns["pay"].labels == ("0", "[0, 100]", "(empty)")
    assert binned.columns["age"] == SCHEMA.columns["age"]


def test_rules_that_would_cut_a_bin_are_left_out_and_others_kept():
    texts = [rule.text for rule in SCHEMA.with_bins({"pay": 1}).forbidden]
    assert texts == ["sex = m and age = 3", "sex = m and pay = 0"]
    assert len(SCHEMA.with_bins({"pay": 2}).forbidden) == 3
    assert len(SCHEMA.with_bins({"age": 2}).forbidden) == 2


def test_edges_of_any_kind_of_number():
    edges = (datetime.date(2020, 1, 1), datetime.date(2020, 7, 1), datetime.date(2020, 12, 31))
    binned = SCHEMA.with_bins({"pay": (0.0, 10.0, 100.0), "age": (0, 5, 9), "day": edges})
    assert [binned.columns[name].n_ordinary for name in ("pay", "age", "day")] == [3, 2, 2]


def test_the_domain_of_other_bins_is_counted_anew():
    assert SCHEMA.domain.n_cells == 2 * 6 * 10 * 20
    assert SCHEMA.with_bins({"pay": 1, "day": 1}).domain.n_cells == 2 * 3 * 10


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ({"sex": 2}, "no numeric column 'sex'"),
        ({"wage": 2}, "no numeric column 'wage'"),
        ({"pay": 0}, "bins must be at least 1"),
        ({"age": (0, 3)}, "increase from lower to upper"),
    ],
)
def test_bins_that_do_not_fit_are_refused(bins, message):
    with pytest.raises(SchemaError, match=message):
        SCHEMA.with_bins(bins)
