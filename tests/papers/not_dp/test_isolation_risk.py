"""Isolation risks against their definition, over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.errors import MethodError
from understudy.papers.record_weights import count_weights, isolation_risks


def slow_risks(values, patterns, radius):
    """All pairs of a pattern."""
    radii = np.broadcast_to(radius, values.shape)
    found = []
    for y, pattern, r in zip(values, patterns, radii, strict=True):
        others = values[patterns == pattern]
        with np.errstate(invalid="ignore"):
            within = np.isfinite(others) & (np.abs(others - y) <= r)
        found.append(1 - within.sum() / len(others))
    return np.array(found)


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.3, 2.0, 1e9])
@pytest.mark.parametrize("decimals", [1, 15])
@pytest.mark.nightly(every=4)
def test_they_are_the_share_of_the_pattern_beyond_the_radius(radius, decimals):
    """Decimals of 0.1 make ties, and differences that are only just 0.1 or only just not."""
    rng = np.random.default_rng(decimals)
    values = rng.normal(0, 1, 400).round(decimals)
    patterns = rng.integers(-3, 4, 400)
    patterns[0] = 99
    found = isolation_risks(values, patterns, radius)
    np.testing.assert_allclose(found, slow_risks(values, patterns, radius), atol=1e-15)
    assert found[0] == 0
    np.testing.assert_array_equal(count_weights(values, patterns, radius), 1 - found)


def test_a_radius_may_be_a_share_of_the_own_value():
    rng = np.random.default_rng(7)
    values, patterns = rng.lognormal(10, 1, 300), rng.integers(0, 5, 300)
    radii = 0.2 * values
    found = isolation_risks(values, patterns, radii)
    np.testing.assert_allclose(found, slow_risks(values, patterns, radii), atol=1e-15)
    assert found[np.argmax(values)] > np.median(found)


def test_the_order_of_records_has_no_part_in_it():
    rng = np.random.default_rng(8)
    values, patterns = rng.normal(size=200).round(1), rng.integers(0, 3, 200)
    order = rng.permutation(200)
    np.testing.assert_array_equal(
        isolation_risks(values, patterns, 0.5)[order],
        isolation_risks(values[order], patterns[order], 0.5),
    )


def test_a_value_that_is_no_number_is_near_none():
    values = np.array([1.0, np.nan, np.inf, -np.inf, 1.0, np.nan])
    patterns = np.array([0, 0, 0, 0, 0, 1])
    assert isolation_risks(values, patterns, 5.0).tolist() == [0.6, 1, 1, 1, 0.6, 1]
    assert isolation_risks(values, patterns, np.full(6, np.inf)).tolist() == [0.6, 1, 1, 1, 0.6, 1]


def test_no_records_and_public_mistakes():
    assert isolation_risks(np.zeros(0), np.zeros(0, dtype=int), 1.0).shape == (0,)
    for radius in (-1.0, np.nan):
        with pytest.raises(MethodError, match="radius"):
            isolation_risks(np.zeros(2), np.zeros(2, dtype=int), radius)
    with pytest.raises(MethodError, match="pattern"):
        isolation_risks(np.zeros(2), np.zeros(3, dtype=int), 1.0)


def test_one_record_replaced_moves_the_weights_of_others():
    """Which is why weights by count carry no guarantee."""
    patterns = np.zeros(4, dtype=int)
    before = count_weights(np.array([1.0, 1.0, 1.0, 1.0]), patterns, 0.5)
    after = count_weights(np.array([1.0, 1.0, 1.0, 9.0]), patterns, 0.5)
    assert before.tolist() == [1, 1, 1, 1]
    assert after.tolist() == [0.75, 0.75, 0.75, 0.25]
