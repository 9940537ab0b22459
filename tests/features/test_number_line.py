"""Kernels for numbers give, bit for bit, what a slow and obvious number line gives."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from scipy.stats import norm

from understudy.features.number_line import line_of, normal_quantiles, reach_of, settled, step_off
from understudy.schema import Continuous, Date, Integer, Schema


@dataclass(frozen=True)
class NumberLine:
    """The ordinary states of a numeric column, in its own bins.

    A drawn number is rounded to what the column holds and kept within the bounds. One that then
    falls on a spike, or so near that it would be read as one, is moved by the least step towards
    the middle: whether a record sits on a spike is decided by its cell, so a number drawn for the
    bin must not add to the spike.

    Attributes:
        column: as the schema declares it.

    Example:
        >>> line = NumberLine(Integer(kind="integer", lower=0, upper=9, bins=2, spikes=(0,)))
        >>> settled = line.settle(np.array([-3.0, 0.4, 4.4, 12.0]))
        >>> settled.tolist(), line.states(settled).tolist()
        ([1.0, 1.0, 4.0, 9.0], [1, 1, 1, 2])
    """

    column: Integer | Continuous | Date

    def settle(self, numbers):
        """Round, keep within the bounds, step off spikes; shape (n,)."""
        settled = self._rounded(numbers)
        for _ in range(len(self._spikes)):
            on = self._on_spikes(settled)
            if not on.any():
                break
            settled[on] = self._rounded(settled[on] + self._inwards(settled[on]))
        return settled

    def states(self, numbers):
        """State of each settled number, shape (n,)."""
        lows, places = self._starts
        states = places[np.clip(np.searchsorted(lows, numbers, side="right") - 1, 0, None)]
        for k, one in enumerate(self.column.intervals):
            if one.spike:  # only where there is no number but spikes
                states[numbers == one.low] = k
        return states

    @cached_property
    def _decimals(self):
        return self.column.decimals if isinstance(self.column, Continuous) else 0

    @cached_property
    def _spikes(self):
        return np.array([one.low for one in self.column.intervals if one.spike])

    def _on_spikes(self, numbers):
        on = np.zeros(len(numbers), dtype=np.bool_)
        for spike, reach in zip(self._spikes, reach_of(self.column, self._spikes), strict=True):
            on |= np.abs(numbers - spike) <= reach
        return on

    @cached_property
    def _starts(self):
        """Where bins begin, ascending, and their states."""
        bins = [(one.low, k) for k, one in enumerate(self.column.intervals) if not one.spike]
        return np.array([low for low, _ in bins]), np.array([k for _, k in bins])

    def _rounded(self, numbers):
        rounded = numbers if self._decimals is None else np.round(numbers, self._decimals)
        return np.clip(rounded, *self.column.bounds)

    def _inwards(self, numbers):
        low, high = self.column.bounds
        step = step_off(self.column)
        return np.where(numbers > (low + high) / 2, -step, step)


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
    "wide": 'kind = "continuous"\nlower = -1.7e308\nupper = 1.7e308\nbins = [-1.7e308, 0, 1.7e308]',
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
    states, found = settled(line_of(column), numbers)
    expected = line.settle(numbers)
    assert np.array_equal(found, expected)
    assert np.array_equal(states, line.states(expected))


def test_quantiles_are_those_of_the_normal_distribution_and_finite():
    uniforms = np.array([0.0, 1e-300, 0.025, 0.5, 0.975, 1.0])
    found = normal_quantiles(uniforms)
    assert found[1:5] == pytest.approx(norm.ppf(uniforms[1:5]))
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
