"""Drawn numbers fit their column, and lie in the states that somebody who reads them back finds."""

import numpy as np
import pytest

from understudy.data.coding import Coder
from understudy.features.grids import line_of, settle_numbers
from understudy.release.decoding import decode
from understudy.schema import Schema

COLUMNS = {
    "plain": 'kind = "continuous"\nlower = -3\nupper = 7.5\nbins = 6',
    "rounded": 'kind = "continuous"\nlower = 0\nupper = 2\nbins = [0, 0.25, 0.5, 2]\ndecimals = 1',
    "spiked": 'kind = "continuous"\nlower = 0\nupper = 9\nspikes = [0, 4, 4.1, 9]\ndecimals = 1',
    "free": 'kind = "continuous"\nlower = 0\nupper = 9\nspikes = [0, 9]\nmissing = [""]',
    "whole": 'kind = "integer"\nlower = -5\nupper = 90\nbins = 7\nspikes = [0, 1, 90]',
    "date": 'kind = "date"\nlower = 1990-01-01\nupper = 2020-06-30\nbins = 9',
}


def schema(name):
    text = f'[columns.x]\n{COLUMNS[name]}\nsource = "codebook"\nreviewed = true'
    return Schema.loads(text)


@pytest.mark.parametrize("name", COLUMNS)
def test_states_are_those_that_the_released_numbers_are_read_back_into(name):
    of, rng = schema(name), np.random.default_rng(1)
    column = of.columns["x"]
    low, high = column.bounds
    width = high - low
    drawn = rng.uniform(low - width / 4, high + width / 4, 20_000)
    edges = np.repeat([one.low for one in column.intervals], 50)
    drawn = np.concatenate([drawn, edges + rng.choice([-1e-9, 0, 1e-9], edges.size)])
    line = line_of(column)
    states, numbers = settle_numbers(line, drawn)
    spikes = [k for k, one in enumerate(column.intervals) if one.spike]
    assert not np.isin(states, spikes).any()
    released = decode([states], of, rng, {"x": numbers})
    assert (Coder(of).code(released)[0] == states).all()
    assert (settle_numbers(line, numbers)[1] == numbers).all()


@pytest.mark.parametrize("name", COLUMNS)
def test_where_no_number_is_given_one_is_drawn_within_the_bin(name):
    of, rng = schema(name), np.random.default_rng(1)
    states = rng.integers(0, of.columns["x"].size, 5000)
    released = decode([states], of, rng, {"x": np.full(5000, np.nan)})
    assert (Coder(of).code(released)[0] == states).all()


def test_a_column_with_nothing_but_spikes_on_its_grid_keeps_them():
    of = Schema.loads(
        '[columns.x]\nkind = "continuous"\nlower = 0\nupper = 1\nbins = 1\nspikes = [0, 1]\n'
        'decimals = 0\nsource = "codebook"\nreviewed = true'
    )
    states, numbers = settle_numbers(line_of(of.columns["x"]), np.array([0.2, 0.9]))
    assert states.tolist() == [{0.0: 0, 1.0: 2}[number] for number in numbers.tolist()]
