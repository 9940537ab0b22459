"""Intervals: a partition of the range, spikes apart; faults in one clear phrase."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.schema.numeric import integer_intervals, real_intervals

reproducible = settings(derandomize=True, deadline=None)


def states_of(intervals, number, *, whole):
    """All intervals that hold a number, by linear scan; a spike keeps it from the bin around it."""
    spikes = [k for k, one in enumerate(intervals) if one.spike and one.low == number]
    last = max(one.high for one in intervals)
    bins = [
        k
        for k, one in enumerate(intervals)
        if not one.spike
        and (
            one.low <= number <= one.high
            if whole
            else one.low <= number < one.high or number == one.high == last
        )
    ]
    return spikes or bins


@reproducible
@given(st.data())
def test_integer_intervals_hold_every_value_once(data):
    lower = data.draw(st.integers(-60, 60))
    upper = data.draw(st.integers(lower, lower + 80))
    bins = data.draw(st.integers(1, upper - lower + 1))
    spikes = tuple(data.draw(st.sets(st.integers(lower, upper), max_size=4)))
    starts = [lower + ((upper - lower + 1) * k) // bins for k in range(bins)] + [upper + 1]
    if any(set(range(a, b)) <= set(spikes) for a, b in pairwise(starts)):
        with pytest.raises(ValueError, match="nothing but spikes"):
            integer_intervals(lower, upper, bins, spikes, str)
        return
    intervals = integer_intervals(lower, upper, bins, spikes, str)
    for value in range(lower, upper + 1):
        assert len(states_of(intervals, value, whole=True)) == 1
    widths = {one.high - one.low + 1 for one in intervals if not one.spike}
    assert max(widths) - min(widths) <= 1
    assert len(intervals) == bins + len(spikes)
    assert [(one.low, not one.spike) for one in intervals] == sorted(
        (one.low, not one.spike) for one in intervals
    )


@reproducible
@given(st.sets(st.integers(-50, 50), min_size=2, max_size=12), st.data())
def test_integer_edges_open_bins_and_the_last_one_closes(edges, data):
    edges = tuple(sorted(edges))
    intervals = integer_intervals(edges[0], edges[-1], edges, (), str)
    assert [one.low for one in intervals] == list(edges[:-1])
    value = data.draw(st.integers(edges[0], edges[-1]))
    assert len(states_of(intervals, value, whole=True)) == 1


@reproducible
@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.integers(1, 30),
    st.lists(st.floats(0, 1), max_size=20),
    st.sets(st.sampled_from([0.0, 0.25, 0.5, 1.0])),
)
def test_real_intervals_hold_every_value_once(lower, width, bins, places, spike_places):
    upper = lower + width
    spikes = tuple({min(lower + p * width, upper) for p in spike_places})
    intervals = real_intervals(lower, upper, bins, spikes)
    edges = [one.low for one in intervals if not one.spike] + [upper]
    assert edges[0] == lower
    for value in [*(min(lower + p * width, upper) for p in places), *edges, *spikes]:
        assert len(states_of(intervals, value, whole=False)) == 1


def test_labels_say_which_end_is_in():
    labels = [one.label for one in real_intervals(0.0, 1.0, (0.0, 0.3, 1.0), (0.0,))]
    assert labels == ["0", "[0, 0.3)", "[0.3, 1]"]
    labels = [one.label for one in integer_intervals(0, 5, (0, 2, 3, 5), (4,), str)]
    assert labels == ["0 to 1", "2", "3 to 5", "4"]


def test_labels_of_close_large_edges_differ():
    labels = [one.label for one in real_intervals(1234567.0, 1234569.0, 4, ())]
    assert len(set(labels)) == 4


@pytest.mark.parametrize(
    ("bins", "spikes", "phrase"),
    [
        (0, (), "between 1 and the number of values, 6"),
        (7, (), "between 1 and the number of values, 6"),
        ((0, 3), (), "increase from lower to upper"),
        ((0, 3, 3, 5), (), "increase from lower to upper"),
        ((5,), (), "increase from lower to upper"),
        (2, (6,), "between lower and upper"),
        (2, (1, 1), "twice among the spikes"),
        (3, (2, 3), "nothing but spikes"),
    ],
)
def test_faulty_integer_bins_are_explained(bins, spikes, phrase):
    with pytest.raises(ValueError, match=phrase):
        integer_intervals(0, 5, bins, spikes, str)


@pytest.mark.parametrize(
    ("lower", "upper", "bins", "spikes", "phrase"),
    [
        (1.0, 1.0, 2, (), "lower must be below upper"),
        (2.0, 1.0, 2, (), "lower must be below upper"),
        (0.0, 1.0, 0, (), "at least 1"),
        (0.0, 1.0, (0.0, 0.5), (), "increase from lower to upper"),
        (0.0, 1.0, (0.0, float("nan"), 1.0), (), "increase from lower to upper"),
        (0.0, 1.0, 2, (1.5,), "between lower and upper"),
        (0.0, 1.0, 2, (float("nan"),), "between lower and upper"),
        (1e16, 1e16 + 2, 20, (), "narrower than numbers"),
        (-1.7e308, 1.7e308, 20, (), "within ±1e\\+30"),
        (0.0, 1e-300, 20, (), "at least 1e-30 apart"),
    ],
)
def test_faulty_real_bins_are_explained(lower, upper, bins, spikes, phrase):
    with pytest.raises(ValueError, match=phrase):
        real_intervals(lower, upper, bins, spikes)
