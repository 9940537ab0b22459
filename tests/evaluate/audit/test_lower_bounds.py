"""Bounds from frequencies: as the library has them, and too high as seldom as they say."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from understudy.evaluate.audit import Stated, at_least, at_most, lower_bound, reach


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (3, 20), (20, 20), (731, 1000)])
def test_probabilities_are_bounded_as_the_library_bounds_them(hits, n):
    exact = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="exact")
    assert at_least(hits, n, 0.025) == pytest.approx(exact.low, abs=1e-12)
    assert at_most(hits, n, 0.025) == pytest.approx(exact.high, abs=1e-12)


@pytest.mark.parametrize("stated", [Stated("epsilon", 1.0), Stated("mu", 1.0)])
def test_a_bound_is_too_high_as_seldom_as_it_says(stated):
    """Of 4,000 audits of the hardest mechanism at most 5 % may be: 262 would be four deviations."""
    rng = np.random.default_rng(1)
    likely = 1 / (1 + math.exp(-1)) if stated.unit == "epsilon" else norm.cdf(0.5)
    times, others = rng.binomial(1000, likely, 4000), rng.binomial(1000, 1 - likely, 4000)
    above = int((lower_bound(times, others, 1000, stated) > stated.value).sum())
    assert above <= 262
    halved = Stated(stated.unit, stated.value / 2)
    assert (lower_bound(times, others, 1000, halved) > halved.value).mean() > 0.99


def test_delta_is_taken_off_the_likely_event():
    with_delta = lower_bound(700, 300, 1000, Stated("epsilon", 1.0, 0.1))
    assert with_delta < lower_bound(700, 300, 1000, Stated("epsilon", 1.0))
    assert lower_bound(5, 0, 1000, Stated("epsilon", 1.0, 0.1)) == 0


def test_more_releases_show_more_of_the_promise():
    for stated in (Stated("epsilon", 2.0), Stated("mu", 0.8)):
        shown = [reach(n, stated) for n in (100, 10_000, 1_000_000)]
        assert shown == sorted(shown)
        assert 0.98 * stated.value < shown[-1] < stated.value
