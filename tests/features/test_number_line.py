"""Kernels for numbers give, bit for bit, what a slow and obvious number line gives."""

import numpy as np
import pytest
from scipy.stats import norm

from oracles.number_line import NumberLine
from understudy.features.grids import line_of, normal_quantiles, settle_numbers
from understudy.schema import Schema

COLUMNS = {
    "plain": 'kind = "continuous"\nlower = -3\nupper = 7.5\nbins = 6',
    "rounded": 'kind = "continuous"\nlower = 0\nupper = 2\nbins = [0, 0.25, 0.5, 2]\ndecimals = 1',
    "spiked": 'kind = "continuous"\nlower = 0\nupper = 9\nspikes = [0, 4, 4.1, 9]\ndecimals = 1',
    "free": 'kind = "continuous"\nlower = 0\nupper = 9\nspikes = [0, 9]\nmissing = [""]',
    "across": 'kind = "integer"\nlower = 0\nupper = 9\nbins = 2\nspikes = [4, 5, 0]',
    "only": 'kind = "continuous"\nlower = 0\nupper = 1\nbins = 1\nspikes = [0, 1]\ndecimals = 0',
    "skewed": 'kind = "continuous"\nlower = 0\nupper = 1e6\nbins = [0, 1, 2, 5, 1e3, 1e6]',
    "whole": 'kind = "integer"\nlower = -5\nupper = 90\nbins = 7\nspikes = [0, 1, 90]',
    "point": 'kind = "integer"\nlower = 3\nupper = 3',
    "wide": 'kind = "continuous"\nlower = -1e30\nupper = 1e30\nbins = [-1e30, 0, 1e30]',
    "date": 'kind = "date"\nlower = 1990-01-01\nupper = 2020-06-30\nbins = 9',
}


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_settle_as_on_the_number_line(name):
    column = Schema.loads(f"[columns.x]\n{COLUMNS[name]}").columns["x"]
    rng, (low, high) = np.random.default_rng(1), column.bounds
    share = rng.uniform(-0.1, 1.1, 5000)
    with np.errstate(over="ignore"):
        drawn = low * (1 - share) + high * share
    edges = np.array([one.low for one in column.intervals] + [high])
    near = (edges[:, None] + [0, 0.05, 0.5, 1, -0.05, -0.5, -1, 1e-9, -1e-9]).ravel()
    numbers = np.concatenate([drawn, near, np.nextafter(edges, low), np.nextafter(edges, high)])
    line = NumberLine(column)
    states, found = settle_numbers(line_of(column), numbers)
    expected = line.settle(numbers)
    assert np.array_equal(found, expected)
    assert np.array_equal(states, line.states(expected))


def test_quantiles_are_those_of_the_normal_distribution_and_finite():
    uniforms = np.array([0.0, 1e-300, 0.025, 0.5, 0.975, 1.0])
    found = normal_quantiles(uniforms)
    assert found[1:5] == pytest.approx(norm.ppf(uniforms[1:5]))
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
