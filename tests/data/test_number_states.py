"""States of numbers: the compiled kernel against the same rules written with numpy, whole arrays at
a time; at the edges of everything that is declared, where one step of a float decides."""

import numpy as np
import pytest

from understudy.data.values import Keys, NumberStates
from understudy.schema import Continuous, Date, Integer
from understudy.schema.base import CLOSE

COLUMNS = {
    "none": None,
    "whole": Integer(kind="integer", lower=-3, upper=20, bins=5, spikes=(0, 7, 20)),
    "one value": Integer(kind="integer", lower=4, upper=4),
    "wide": Integer(kind="integer", lower=-(2**53), upper=2**53, bins=3),
    "real": Continuous(
        kind="continuous", lower=-1, upper=10, bins=(-1, 0.1, 0.3, 0.7, 10), spikes=(0, 0.1, 10)
    ),
    "fine": Continuous(kind="continuous", lower=0, upper=1, bins=3000),
    "uneven": Continuous(kind="continuous", lower=0, upper=1e9, bins=(0, 1e-300, 1e-9, 1, 1e9)),
    "tiny": Continuous(kind="continuous", lower=0, upper=1e-30, bins=2),
    "days": Date(kind="date", lower="1970-01-01", upper="2020-12-31", bins=7),
}
EXACT = Keys.of([(-9.0, 101), (99.0, 102), (np.inf, 103), (2.0**53 + 2, 104)])
NEAR = Keys.of([(-9.1, 111), (-9.1 * (1 + CLOSE), 112), (0.1, 113), (1e30, 114)], CLOSE)


def gap(keys, place, values):
    key = keys.numbers[place]
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.where(key == values, 0.0, np.abs(values - key))
        return np.where(found <= keys.close * np.abs(key), found, np.inf)


def named(keys, values):
    """By the nearest key within reach; the smaller of two that are as near."""
    if not len(keys.numbers):
        return np.full(len(values), -1)
    right = np.minimum(np.searchsorted(keys.numbers, values), len(keys.numbers) - 1)
    if not keys.close:
        return np.where(keys.numbers[right] == values, keys.states[right], -1)
    left = np.maximum(right - 1, 0)
    gaps = gap(keys, left, values), gap(keys, right, values)
    place = np.where(gaps[0] <= gaps[1], left, right)
    return np.where(np.isfinite(np.minimum(*gaps)), keys.states[place], -1)


def binned(column, values):
    """By bins and spikes, after clipping."""
    states = np.full(len(values), -1)
    whole = not isinstance(column, Continuous)
    fits = np.isfinite(values)
    if whole:
        fits &= values == np.floor(values)
    clipped = np.clip(values[fits], *column.bounds)
    bins = [(one.low, k) for k, one in enumerate(column.intervals) if not one.spike]
    spikes = [(one.low, k) for k, one in enumerate(column.intervals) if one.spike]
    starts = np.array([low for low, _ in bins], dtype=float)
    place = np.clip(np.searchsorted(starts, clipped, side="right") - 1, 0, None)
    for k in range(1, len(starts)):  # an edge as 32 bits hold it
        short = float(np.float32(starts[k]))
        if starts[k - 1] < short < starts[k] and short != np.floor(short):
            place[clipped == short] = k
    spike = named(Keys.of(spikes, 0.0 if whole else CLOSE), clipped)
    states[fits] = np.where(spike >= 0, spike, np.array([k for _, k in bins])[place])
    return states


def reference(column, values):
    found = named(EXACT, values)
    found = np.where(found >= 0, found, named(NEAR, values))
    if column is not None:
        low, high = column.bounds
        found[(values >= low) & (values <= high)] = -1
        found = np.where(found >= 0, found, binned(column, values))
    found[found < 0] = 900
    found[np.isnan(values)] = 901
    return found


def odd_values(column):
    """Random numbers, and everything that is declared with the floats around it."""
    rng = np.random.default_rng(1)
    low, high = (0.0, 1.0) if column is None else column.bounds
    declared = [0.0, -0.0, 1.0, 0.5, low, high, *EXACT.numbers, *NEAR.numbers]
    if column is not None:
        declared += [one.low for one in column.intervals[:50]]
    edges = np.array(declared, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):
        short = edges.astype(np.float32).astype(float)
        beside = [edges * (1 + k * CLOSE) for k in (-2, -1, 1, 2)] + [np.floor(edges), short]
        near = np.concatenate([edges, *beside])
        near = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
    inside = low + rng.random(500) * (high / 2 - low / 2) * 2
    extreme = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2.0**63, 1e15 + 0.5]
    return np.concatenate([near, inside, np.floor(inside), rng.normal(size=200) * 30, extreme])


@pytest.mark.parametrize("name", COLUMNS)
def test_the_kernel_finds_what_whole_arrays_say(name):
    column = COLUMNS[name]
    values = odd_values(column)
    found = NumberStates(EXACT, NEAR, column).find(values, absent=901, lost=900)
    np.testing.assert_array_equal(found, reference(column, values))


@pytest.mark.parametrize("name", COLUMNS)
def test_each_number_is_found_by_itself(name):
    column = COLUMNS[name]
    values = odd_values(column)
    states = NumberStates(EXACT, NEAR, column)
    order = np.random.default_rng(2).permutation(len(values))
    np.testing.assert_array_equal(states.find(values)[order], states.find(values[order]))
    alone = [states.find(values[k : k + 1])[0] for k in range(0, len(values), 7)]
    np.testing.assert_array_equal(states.find(values)[::7], alone)
