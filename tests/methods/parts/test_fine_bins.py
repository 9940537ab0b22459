"""Fine bins: public, no more than asked for, and every edge and rule of the schema kept."""

import datetime
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from understudy.data.coding import Coder
from understudy.features.grids import line_bins
from understudy.methods.binning import LEVELS, bins_for, coarse_again, fine_bins
from understudy.release.decoding import decode
from understudy.schema import Schema
from understudy.schema.coarsening import cuts_of, state_words, states_in, with_cuts

COLUMNS = {
    "amount": 'kind = "continuous"\nlower = 0\nupper = 250000',
    "signed": 'kind = "continuous"\nlower = -5000\nupper = 100000\nspikes = [0]',
    "cents": 'kind = "continuous"\nlower = 0\nupper = 999.99\ndecimals = 2',
    "tenths": 'kind = "continuous"\nlower = 0\nupper = 12.5\ndecimals = 1\nspikes = [0, 0.1]',
    "above": 'kind = "continuous"\nlower = 3\nupper = 70000',
    "below": 'kind = "continuous"\nlower = -70000\nupper = -3.5',
    "tiny": 'kind = "continuous"\nlower = 0\nupper = 1e-7',
    "huge": 'kind = "continuous"\nlower = -1e30\nupper = 1e30',
    "age": 'kind = "integer"\nlower = 0\nupper = 110',
    "income": 'kind = "integer"\nlower = 0\nupper = 999999\nspikes = [0, 999999]',
    "spiked": 'kind = "integer"\nlower = 0\nupper = 100\nspikes = [0, 100]',
    "days": 'kind = "date"\nlower = 2020-01-10\nupper = 2020-06-30',
    "weeks": 'kind = "date"\nlower = 2020-01-10\nupper = 2021-12-30',
    "months": 'kind = "date"\nlower = 2014-01-15\nupper = 2021-12-30',
    "years": 'kind = "date"\nlower = 1900-01-01\nupper = 2021-12-30',
    "centuries": 'kind = "date"\nlower = 0001-01-01\nupper = 9999-12-31',
}


def schema(*names, more=""):
    columns = [f'[columns.{n}]\n{COLUMNS[n]}\nsource = "codebook"\nreviewed = true' for n in names]
    return Schema.loads("\n".join([*columns, more]))


def starts(column):
    return [one.low for one in column.intervals if not one.spike]


@pytest.mark.parametrize("name", COLUMNS)
def test_every_own_edge_stays_and_there_are_many_bins(name):
    of = schema(name)
    fine = of.with_bins(fine_bins(of))
    own, found = starts(of.columns[name]), starts(fine.columns[name])
    assert set(own) <= set(found)
    assert 3 * len(own) < len(found) <= 256
    assert fine.columns[name].model_copy(update={"bins": of.columns[name].bins}) == of.columns[name]


CUTS = [("amount", 333.3), ("cents", 0.3), ("age", 63.0), ("income", 1_234.0), ("years", 7.0)]


@pytest.mark.parametrize(("name", "cut"), CUTS)
@pytest.mark.parametrize("most", LEVELS)
@pytest.mark.nightly(every=4)
def test_a_further_bin_leaves_the_fine_ones_and_is_found_again(name, cut, most):
    of = schema(name)
    further = of.with_bins({name: with_cuts(of.columns[name], [cut]).bins})
    assert cuts_of(further.columns[name]) == (cut,)
    fine = further.with_bins(fine_bins(further, most))
    without = starts(of.with_bins(fine_bins(of, most)).columns[name])
    assert starts(fine.columns[name]) == sorted({*without, cut})
    again = coarse_again(fine)
    assert again.columns[name] == (of if cut in without else further).columns[name]
    lines = [one.with_bins({name: line_bins(one.columns[name])}) for one in (of, further)]
    assert starts(lines[1].columns[name]) == sorted({*starts(lines[0].columns[name]), cut})


def test_an_edge_right_beside_another_takes_its_place():
    of = Schema.loads('[columns]\nx = { kind = "continuous", lower = 0, upper = 1 }')
    column = of.columns["x"]
    assert 0.3 not in starts(column)  # but .30000000000000004
    cut = with_cuts(column, [0.3])
    assert len(starts(cut)) == 20
    assert 0.3 in starts(cut)
    assert cuts_of(cut) == (0.3,)


def test_states_keep_their_words_and_numbers_in_finer_bins():
    of = schema("spiked")
    coarse = of.columns["spiked"]
    fine = of.with_bins(fine_bins(of)).columns["spiked"]
    chosen = [k for k, one in enumerate(coarse.intervals) if 20 <= one.low < 70 or one.low == 100]
    found = states_in(coarse, fine, chosen)
    assert {int(fine.intervals[k].low) for k in found} == {*range(20, 70), 100}
    assert state_words(fine, found) == state_words(coarse, chosen) == "20 to 69 or 100"


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("most", LEVELS)
@pytest.mark.nightly(every=5)
def test_the_schema_with_fine_bins_survives_being_written(name, most):
    fine = schema(name).with_bins(fine_bins(schema(name), most))
    assert Schema.loads(fine.dumps()) == fine


@pytest.mark.parametrize("name", COLUMNS)
def test_fewer_bins_are_fewer_and_keep_every_own_edge(name):
    """With the default ones beside them, and those that set 0 and the bounds apart."""
    of = schema(name)
    own, found = starts(of.columns[name]), [starts(at(of, name, most)) for most in LEVELS]
    assert [len(one) for one in found] == sorted(len(one) for one in found)
    for most, one in zip(LEVELS, found, strict=True):
        assert set(own) <= set(one)
        assert len(one) <= max(most, most // 2 + len(own) + 8)
    assert len(found[0]) < len(found[-1])


def at(of, name, most):
    """The column in at most so many bins."""
    return of.with_bins(fine_bins(of, most)).columns[name]


def test_bins_are_as_many_as_the_root_of_records_in_noise():
    """Noise adds up as the bins do, and what they hide falls as they grow."""
    records = 2.0 ** np.arange(-20, 30)
    found = [bins_for(one) for one in records]
    assert found == sorted(found)
    assert set(found) == set(LEVELS)
    assert bins_for(0.0) == LEVELS[0]
    for more in (4.0, 16.0):
        twice = [bins_for(more * one) / bins_for(one) for one in (12.0, 15.0)]
        assert twice == [more**0.5] * 2


@pytest.mark.parametrize("name", ["amount", "cents", "income", "signed"])
def test_there_is_resolution_near_zero_and_at_the_bounds(name):
    of = schema(name)
    low, high = of.columns[name].bounds
    edges = [*starts(of.with_bins(fine_bins(of)).columns[name]), high]
    widths = np.diff(edges)
    after_zero = widths[edges.index(next(e for e in edges if e >= 0))]
    assert after_zero <= max(1e-4 * high, 1)
    assert widths.max() <= (high - low) / 19.9
    if name != "income":  # the last value of these is a spike, the bin before it needs no care
        assert widths[-1] < (high - low) / 500


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("cents", (0.0, 0.01)),
        ("age", (0, 1)),
        ("income", (0, 1)),
        ("years", (datetime.date(1900, 1, 1), datetime.date(1900, 1, 2))),
    ],
)
@pytest.mark.parametrize("most", LEVELS)
def test_zero_and_the_lower_bound_share_their_bin_with_no_other_value(name, values, most):
    """So counts tell a heap there from numbers beside it; the smallest numbers likewise."""
    of = schema(name)
    coder = Coder(of.with_bins(fine_bins(of, most)))
    high = of.columns[name].upper
    (states,) = coder.code(pl.DataFrame({name: pl.Series([*values, high])}))
    assert len(np.unique(states)) == 3


def test_the_upper_bound_of_decimals_has_a_bin_of_its_own():
    of = schema("cents")
    last = of.columns["cents"].upper
    coder = Coder(of.with_bins(fine_bins(of)))
    (states,) = coder.code(pl.DataFrame({"cents": [last - 0.01, last]}))
    assert states[0] != states[1]


@pytest.mark.parametrize("name", ["amount", "cents", "income", "signed"])
def test_edges_of_the_number_line_are_among_them(name):
    """So that counts of both can be put together."""
    of = schema(name)
    line = of.with_bins({name: line_bins(of.columns[name])})
    found = starts(of.with_bins(fine_bins(of)).columns[name])
    assert set(starts(line.columns[name])) <= set(found)


def test_few_values_have_a_bin_each():
    of = schema("age", "days", "tenths")
    fine = of.with_bins(fine_bins(of))
    assert starts(fine.columns["age"]) == list(range(111))
    assert np.diff(starts(fine.columns["days"])).tolist() == [1] * 172
    values = np.round(np.arange(126) / 10, 1)  # 0 and 0.1 are spikes
    tenths = schema("tenths")
    coder = Coder(tenths.with_bins(fine_bins(tenths)))
    (states,) = coder.code(pl.DataFrame({"tenths": values}))
    assert len(np.unique(states)) == 126


def test_dates_begin_with_weeks_months_and_years():
    epoch = datetime.date(1970, 1, 1).toordinal()
    of = schema("weeks", "months", "years")
    fine = of.with_bins(fine_bins(of, points=False))
    for name, begins in (
        ("weeks", lambda day: day.weekday() == 0),
        ("months", lambda day: day.day == 1),
        ("years", lambda day: (day.day, day.month) == (1, 1)),
    ):
        new = set(starts(fine.columns[name])) - set(starts(of.columns[name]))
        days = [datetime.date.fromordinal(int(day) + epoch) for day in new]
        assert len(days) > 50
        assert all(begins(day) for day in days)


def test_declared_bins_are_respected():
    of = Schema.loads("""
    [columns]
    listed = { kind = "continuous", lower = 0, upper = 9, bins = [0, 2, 9] }
    counted = { kind = "integer", lower = 0, upper = 9000, bins = 30 }
    dated = { kind = "date", lower = 1990-06-15, upper = 2020-01-01, bins = 12 }
    few = { kind = "integer", lower = 1, upper = 20 }
    one = { kind = "integer", lower = 3, upper = 3 }
    level = { kind = "categorical", levels = ["a", "b"] }
    """)
    assert fine_bins(of) == {}


def test_rules_forbid_the_same_values_as_before():
    of = schema(
        "income",
        "age",
        "amount",
        more="""
        [[forbidden]]
        where = { age = { lower = 0, upper = 10 }, income = { lower = 100000, upper = 999999 } }
        [[forbidden]]
        where = { amount = { lower = 12500, upper = 250000 }, income = 0 }
        """,
    )
    fine = of.with_bins(fine_bins(of))
    assert len(fine.forbidden) == 2
    rng = np.random.default_rng(1)
    drawn = [rng.integers(0, size, 20_000) for size in of.sizes]
    records = decode(drawn, of, rng)
    forbidden = of.domain.find_forbidden(drawn)
    codes = Coder(fine).code(records)  # what a rule forbids is out of domain
    outside = np.any([one == n for one, n in zip(codes, fine.sizes, strict=True)], axis=0)
    assert forbidden.any()
    assert (outside == forbidden).all()


def test_rows_are_not_asked_for():
    """The same bounds give the same bins, whatever else the schema says."""
    one = schema("amount")
    other = one.model_copy(update={"rows": "public", "n_rows": 10})
    assert fine_bins(one) == fine_bins(other)
    assert all(a < b for a, b in pairwise(fine_bins(one)["amount"]))


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("most", LEVELS)
@pytest.mark.nightly(every=5)
def test_a_schema_with_fine_bins_tells_that_they_were_default_ones(name, most):
    """So that whoever has a release asks again for what was asked: the same lines and tables."""
    of = schema(name)
    fine = of.with_bins(fine_bins(of, most))
    again = coarse_again(Schema.loads(fine.dumps()))
    assert again.with_bins(fine_bins(again, most)).columns == fine.columns
    assert again.columns == of.columns
    assert line_bins(again.columns[name]) == line_bins(of.columns[name])


def test_declared_bins_stay():
    declared = 'kind = "integer"\nlower = 0\nupper = 9000\nbins = [0, 40, 900, 9000]'
    of = Schema.loads(f"[columns.x]\n{declared}\nreviewed = true")
    assert coarse_again(of) == of


def test_bins_stay_where_spikes_fill_a_default_bin():
    """Each value has a bin by default, and one of spikes alone cannot be."""
    declared = 'kind = "integer"\nlower = -5\nupper = 5\nbins = [-5, 0, 5]\nspikes = [0]'
    of = Schema.loads(f"[columns.x]\n{declared}\nreviewed = true")
    assert coarse_again(of) == of


@pytest.mark.parametrize("name", COLUMNS)
def test_bins_of_older_releases_are_the_default_ones_as_well(name):
    of = schema(name)
    older = of.with_bins(fine_bins(of, points=False))
    assert coarse_again(Schema.loads(older.dumps())).columns == of.columns
